#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_bodies.py - the body of a parallel region has the name of the function in which it is written

clang calls the bodies .omp_outlined..1 wherever they are written. Prints TAP and a summary.
"""

import pathlib
import sys

from openmp_built import check_built, regions_of
from profiled import profiled_environment, read, run

SOURCE = pathlib.Path(__file__).with_suffix(".c")
FLAGS = ["-O2", "-g", "-fopenmp"]


def check(results, folder, program):
    dump = folder / f"{program.name}.dump"
    run([program], env=profiled_environment(dump))
    wanted = {f"{name}() body at {SOURCE.name}:{line}" for name, line in zip(("relax", "smooth"), regions_of(SOURCE))}
    found = {c["name"] for c in read(dump)["components"] if c["kind"] == "function" and "body" in c["name"]}
    results.check(found == wanted, f"{program.name}: {sorted(found)}")


if __name__ == "__main__":
    sys.exit(check_built(SOURCE, FLAGS, check))
