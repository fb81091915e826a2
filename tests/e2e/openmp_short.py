#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_short.py - a prediction from one thread says what it does not know of short regions

What starting threads takes is in no run with one thread. Where regions have less than 1 ms of work, --threads
says so, and how often that is. Prints TAP and a summary.
"""

import os
import pathlib
import shutil
import sys
import tempfile

from profiled import profiled_environment, read, run
from results import Results

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


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp_short.", dir=os.environ.get("CPA_TMP")))
    for compiler in ("gcc", "clang"):
        program = folder / f"short-{compiler}"
        try:
            run([compiler, *FLAGS, SOURCE, "-o", program])
        except (RuntimeError, OSError):
            results.skip(f"OpenMP of {compiler}", "it is not installed" if not shutil.which(compiler) else "no runtime")
            continue
        check(results, folder, program)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
