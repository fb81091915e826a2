#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_late.py - a prediction of other schedules gives a thread no chunk before it really began

In tests/e2e/openmp_late.c one of two threads begins when the other one has done half of a loop, all that a
static schedule gives it. With a dynamic schedule the first thread has done half of the loop by then as well, and
takes every second chunk of the rest: three quarters of the work. Prints TAP and a summary.
"""

import pathlib
import sys

from openmp_built import check_built
from profiled import profiled_environment, read, run

SOURCE = pathlib.Path(__file__).with_suffix(".c")
FLAGS = ["-O2", "-g", "-fopenmp"]
SETTINGS = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "OMP_SCHEDULE": "static,1"}
# Half of the work, if both began at once, and three quarters: more only if the first thread has no processor.
LEAST = 0.65


def check(results, folder, program):
    dump = folder / f"{program.name}.dump"
    said = run([program], env=profiled_environment(dump, CPA_JOURNAL="64M", **SETTINGS)).strip()
    results.check(said == "late", f"{program.name}: the second thread begins {said}")
    answer, profile = read(dump, "--what-if", "loop:*=dynamic"), read(dump)["program"]
    share = answer["divided_critical_path_s"] / answer["critical_path_s"] / profile["max_parallelism"]
    results.check(share >= LEAST, f"{program.name}: the first thread has {share:.3f} of the work, {LEAST} at least")


if __name__ == "__main__":
    sys.exit(check_built(SOURCE, FLAGS, check, **SETTINGS))
