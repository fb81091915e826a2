#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/e2e/thread_roles.py - threads of one start routine and different names are different components:
each has the CPU time that the program's own clocks say
"""

import json
import pathlib
import re
import sys
import tempfile

from profiled import BUILD, profiled_environment, run, verify
from results import Results

NEAR = 0.05  # of the time; some calls between the program's clock and cpa's
results = Results()


def components(dump):
    """CPU time by name and place of the threads of each component."""
    report = json.loads(run([BUILD / "cpa-report", "--format", "json", dump]))
    rows = [c for c in report["components"] if c["kind"] == "thread"]
    return report, {c["name"]: c for c in rows}


def clocks(text):
    """The program's own figures, in seconds, by pattern of the name."""
    own = {}
    for line in text.splitlines():
        name, ns = line.rsplit(" ", 1)
        name = re.sub(r"\d+$", "*", name)
        own[name] = own.get(name, 0) + int(ns) / 1e9
    return own


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "roles.dump"
    own = clocks(run([BUILD / "tests/programs/thread_roles"], env=profiled_environment(path)))
    whole, found = components(path)
    journal = pathlib.Path(folder) / "journal.dump"
    run([BUILD / "tests/programs/thread_roles"],
        env=profiled_environment(journal, CPA_JOURNAL="64M"))
    exact = verify(journal)
for name, wanted in own.items():
    cpu = found[name]["cpu_s"] if name in found else 0
    results.check(abs(cpu - wanted) < NEAR * wanted, f"{name}: {cpu:.4f} s of {wanted:.4f} s")
location = found.get("worker-*", {}).get("location", "")
results.check(re.match(r"routine at thread_roles\.c:\d+$", location),
              f"the place of a named thread is its start routine: {location}")
results.check({t["start_routine"] for t in whole["threads"] if t["name"] == "reader"} ==
              {"routine"}, "its row says so, too")
lasts = [t["name"] for t in whole["threads"] if t["start_routine"] == "many"]
results.check(lasts == ["twi item 5999"], f"a row has the last name: {lasts}")
results.check(*exact)
sys.exit(results.end())
