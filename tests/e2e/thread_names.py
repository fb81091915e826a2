#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads have the names that programs give them; one whose start was not seen is no "main"."""
import json
import os
import pathlib
import subprocess
import tempfile

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or pathlib.Path(__file__).parents[2] / "build")


def profile():
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "names.dump"
        environment = dict(os.environ, LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump))
        subprocess.run([BUILD / "tests/programs/thread_names"], env=environment, check=True)
        report = [BUILD / "cpa-report", "--format", "json", dump]
        return json.loads(subprocess.run(report, check=True, capture_output=True).stdout)


def cpu(figures, name):
    """The share of the CPU time of the threads of one routine."""
    total = sum(c["cpu_s"] for c in figures["components"] if c["kind"] == "thread")
    return sum(c["cpu_s"] for c in figures["components"]
               if c["kind"] == "thread" and c["name"] == name) / total


def lives(figures, routine):
    """How many threads of one routine there were."""
    return sum(1 + t["earlier_threads"] for t in figures["threads"] if t["start_routine"] == routine)


found = profile()
threads = {t["start_routine"]: t["name"] for t in found["threads"]}
rows = [(t["start_routine"], t["name"]) for t in found["threads"]]
results = [
    (threads.get("by_creator") == "of its creator", "by its creator"),
    (threads.get("by_itself") == "fifteen letters", "by itself"),
    (threads.get("by_prctl") == "longer than fif", "by prctl, cut as the kernel does"),
    (threads.get("main") == "first", "the first thread"),
    (threads.get("(start not seen)") == "", "a thread whose start was not seen"),
    (cpu(found, "(start not seen)") > 0, "its work is not main's"),
    (sum(r == ("named", "former user") for r in rows) > 0, "a row with a name"),
    (not any(r == ("reused", "former user") for r in rows), "not kept for another thread"),
    (lives(found, "named") == lives(found, "reused") > 512, "a row that is used again is one of its kind"),
    ([(q["producers"], q["consumers"]) for q in found["queues"]] == [(1, 1)],
     "a row beyond those that are kept is not taken for another"),
]
for number, (good, what) in enumerate(results, 1):
    print("ok" if good else "not ok", number, "-", what)
    if not good:
        print("#", sorted(set(rows))[:20])
print(f"1..{len(results)}")
