#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_short.py - a prediction from one thread says what it does not know of short regions

What starting threads takes is in no run with one thread. Where regions have less than 1 ms of work, --threads
says so, and how often that is. Prints TAP and a summary.
"""

import pathlib
import sys

from openmp_built import check_built
from profiled import profiled_environment, read, run

SOURCE = pathlib.Path(__file__).with_suffix(".c")
FLAGS = ["-O2", "-fopenmp"]
SAID = "To start more threads takes some us for each region"
# Times, steps, threads, and the begin of what is said. Ten million steps take some milliseconds at least.
CASES = (
    (300, 100, 1, "Each of the 300 regions had one thread"),
    (3, 10000000, 1, None),
    (300, 100, 2, None),
)


def check(results, folder, program):
    for times, steps, threads, begin in CASES:
        dump = folder / f"{program.name}.{times}.{threads}.dump"
        settings = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
        run([program, times, steps], env=profiled_environment(dump, CPA_JOURNAL="16M", **settings))
        said = [note for note in read(dump, "--threads", "1,2")["notes"] if SAID in note]
        good = len(said) == 1 and said[0].startswith(begin) if begin else not said
        results.check(good, f"{program.name}: {times} times {steps} steps, {threads} threads: {said}")


if __name__ == "__main__":
    sys.exit(check_built(SOURCE, FLAGS, check))
