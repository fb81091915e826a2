#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_rows.py - in the tables each region is a row of its own, and barriers have places in the program

tests/e2e/openmp_rows.c has 40 regions, more than LULESH, each with a barrier and another one as the last thing that it
does: its function calls that by a jump, and seems to be left. Prints TAP and a summary.
"""

import collections
import pathlib
import sys

from openmp_built import check_built
from profiled import profiled_environment, read, run

SOURCE = pathlib.Path(__file__).with_suffix(".c")
FLAGS = ["-O2", "-g", "-fopenmp"]
REGIONS = 40


def check(results, folder, program):
    dump = folder / f"{program.name}.dump"
    run([program], env=profiled_environment(dump, CPA_JOURNAL="16M"))
    report = read(dump)
    regions = [c for c in report["components"] if c["kind"] == "region"]
    shared = [c["name"] for c in regions if c["shared"]]
    results.check(len(regions) == REGIONS and not shared, f"{program.name}: {len(regions)} regions, shared: {shared}")
    rows = [row for row in report["openmp"]["rows"] if row["kind"] == "construct"]
    names = collections.Counter(row["name"] for row in rows)
    files = {(row["location"] or SOURCE.name).rpartition("/")[2].partition(":")[0] for row in rows}
    results.check(files == {SOURCE.name}, f"{program.name}: barriers are in {files}")
    wanted = names["up to a barrier"] == names["up to its last barrier"] == REGIONS
    results.check(wanted, f"{program.name}: {dict(names)}")


if __name__ == "__main__":
    sys.exit(check_built(SOURCE, FLAGS, check))
