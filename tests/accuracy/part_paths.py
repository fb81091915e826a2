#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/part_paths.py - how long the paths of the parts of a run are

tests/programs/parts switches its profile on and off, and says how long the path of its parts is.
Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from parts import NAMES
from profiled import Profiler
from results import Results

PATH_S = 0.003  # by which a path may be off; all are of 85 ms or more
TRIES = 3  # of which one must be within it: the machine may take its time for other things
ALONE_S, CPU_S = 0.090, 0.01  # CPU time of main's parts, and by how much it may be off


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="parts.", dir=os.environ.get("CPA_TMP")))
    profiler = Profiler(folder)
    for name in (*NAMES, "often"):
        for _ in range(TRIES):
            report, output = profiler.profile("parts", name, CPA_START="off")
            wanted_s, path_s = int(output) / 1000, report["program"]["critical_path_s"]
            good = abs(path_s - wanted_s) < PATH_S
            if good:
                break
        limits = f"{wanted_s:.4f} s +- {PATH_S} s"
        results.compare(good, f"{name}: path", f"{path_s:.4f} s", limits)
    report, _ = profiler.profile("parts", "alone", CPA_START="off")
    cpu_s = report["program"]["cpu_s"]
    good = abs(cpu_s - ALONE_S) < CPU_S
    results.compare(good, "CPU time of parts only", f"{cpu_s:.4f} s", f"{ALONE_S} s +- {CPU_S} s")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
