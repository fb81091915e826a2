#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_late.py - a prediction of other schedules gives a thread no chunk before it really began

In tests/e2e/openmp_late.c one of two threads begins when the other one has done half of a loop, all that a
static schedule gives it. With a dynamic schedule the first thread has done half of the loop by then as well, and
takes every second chunk of the rest: three quarters of the work. Prints TAP and a summary.
"""

import os
import pathlib
import shutil
import sys
import tempfile

from profiled import clean_environment, profiled_environment, read, run
from results import Results

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


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp_late.", dir=os.environ.get("CPA_TMP")))
    for compiler in ("gcc", "clang"):
        program = folder / f"late-{compiler}"
        try:
            run([compiler, *FLAGS, SOURCE, "-o", program])
            run([program], env=clean_environment(**SETTINGS))
        except (RuntimeError, OSError):
            results.skip(f"OpenMP of {compiler}", "it is not installed" if not shutil.which(compiler) else "no runtime")
            continue
        check(results, folder, program)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
