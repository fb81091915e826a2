#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_fork.py - what a fork of libgomp waits for its threads is wait, and no work

In tests/e2e/openmp_fork.c a thread of the pool comes late to the second region. Whether the thread that forks it spins
until then or sleeps, its time is wait. The report is that of the journal. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

from profiled import profiled_environment, read, run, verify
from results import Results

SOURCE = pathlib.Path(__file__).with_suffix(".c")
FLAGS = ["-O2", "-g", "-fopenmp"]
# How often it looks before it sleeps, the argument, and the least of its wait and of that on a processor. It has used
# 0.05 s of CPU time when the other thread goes on, or is asleep for so long.
CASES = (("20000000", "spins", 0.025, 0.025), ("0", "asleep", 0.04, 0))


def check(results, folder, program):
    for looks, way, wait_s, spun_s in CASES:
        dump = folder / f"{way}.dump"
        run([program, way], env=profiled_environment(dump, CPA_JOURNAL="16M", GOMP_SPINCOUNT=looks))
        forks = next(thread for thread in read(dump)["threads"] if thread["number"] == 1)
        found = {name: forks[name] for name in ("wait_s", "wait_cpu_s", "external_s")}
        good = found["wait_s"] >= wait_s and found["wait_cpu_s"] >= spun_s
        results.check(good, f"a fork, {way}: {found}")
        good, said = verify(dump)
        results.check(good, f"a fork, {way}: {said}")


if __name__ == "__main__":
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp_fork.", dir=os.environ.get("CPA_TMP")))
    program = folder / "fork"
    run(["gcc", *FLAGS, SOURCE, "-o", program])
    check(results, folder, program)
    sys.exit(results.end(folder))
