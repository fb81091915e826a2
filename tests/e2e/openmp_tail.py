#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_tail.py - a region has the name and the line of its function, also if that jumps to the runtime

libomp tells the return address, which is then that of the function: where it is called. Prints TAP and a summary.
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
    functions = zip(("halve", "square", "clear"), regions_of(SOURCE))
    wanted = {f"{name}() parallel at {SOURCE.name}:{line}" for name, line in functions}
    found = {c["name"] for c in read(dump)["components"] if c["kind"] == "region"}
    results.check(found == wanted, f"{program.name}: {sorted(found)}")


if __name__ == "__main__":
    sys.exit(check_built(SOURCE, FLAGS, check))
