#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/e2e/thread_roles.py - threads of one start routine and different names are different components:
each has the CPU time that the program's own clocks say. So are threads named while profiling is off

No component has less than that, and together they have no more than the threads: so none has another
one's time. What the threads did besides, with no clock of their own, may be anybody's.
"""

import json
import pathlib
import re
import sys
import tempfile

from profiled import BUILD, check_contradictions, profiled_environment, run, verify
from results import Results

# What a role did is at least as long as its own clock says, which cpa's differs from by so much.
PIECE = 0.03
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
    parts = pathlib.Path(folder) / "parts.dump"
    run([BUILD / "tests/programs/named_off"], env=profiled_environment(parts, CPA_START="off"))
    off, of_parts = components(parts)
for name, wanted in own.items():
    cpu = found[name]["cpu_s"] if name in found else 0
    results.check(cpu >= wanted * (1 - PIECE), f"{name}: {cpu:.4f} s, {wanted:.4f} s and more")
check_contradictions(results, "all", whole)
summed, all_s = sum(c["cpu_s"] for c in found.values()), whole["program"]["cpu_s"]
results.check(summed <= all_s + 1e-6 * len(found), f"together {summed:.4f} s of {all_s:.4f} s")
location = found.get("worker-*", {}).get("location", "")
results.check(re.match(r"routine at thread_roles\.c:\d+$", location),
              f"the place of a named thread is its start routine: {location}")
results.check({t["start_routine"] for t in whole["threads"] if t["name"] == "reader"} ==
              {"routine"}, "its row says so, too")
lasts = [t["name"] for t in whole["threads"] if t["start_routine"] == "many"]
results.check(lasts == ["twi item 5999"], f"a row has the last name: {lasts}")
results.check(*exact)
wanted = {"left-*", "right", "first", "second", "fourth", "by another"}
of_parts = {name for name, c in of_parts.items() if c["cpu_s"]}
results.compare(wanted <= of_parts and not of_parts & {"routine", "child"}, "named while off", of_parts, wanted)
threads = sorted(t["name"] for t in off["threads"] if t["start_routine"] == "routine")
wanted = ["by another", "fourth", "left-1", "left-2", "right"]
results.compare(threads == wanted, "their rows", threads, wanted)
sys.exit(results.end())
