#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/by_callers.py - what parts of a function have and save: cpa run --by caller:N

tests/programs/callers.c knows, by the CPU clocks of its threads: of a pair of rounds the path has 7 units of common()
called by first() and 3 called by second(). Without the former the first round would take second()'s 5, without the
latter the second round first()'s 1: either part saves 2. In CPU time they have 8 each. Prints TAP.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from profiled import PROGRAMS, profiled_environment, read
from results import Results

PAIRS = 100  # some 1000 samples on the path
UNIT_S = 0.004
OFF = 0.03  # of the path
UNITS = {"first": {"critical_path_s": 7, "saved_s": 2, "total_s": 8},
         "second": {"critical_path_s": 3, "saved_s": 2, "total_s": 8}}
TIMES = 3


def check(results, folder, number, turn):
    dump = folder / f"{number}.{turn}.dump"
    environment = profiled_environment(dump, CPA_BY=f"caller:{number}")
    subprocess.run([PROGRAMS / "callers", str(PAIRS)], env=environment, stdout=subprocess.DEVNULL, check=True)
    report = read(dump)
    path_s = 10 * PAIRS * UNIT_S
    for name, units in UNITS.items():
        own = [c for c in report["components"] if c.get("function") == "common" and c["called_by"][0] == name]
        for key, count in units.items():
            share, known = sum(c[key] for c in own) / path_s, count / 10
            limits = f"{known - OFF:.3f} to {known + OFF:.3f}"
            label = f"caller:{number}, run {turn}: {name}: {key}"
            results.compare(abs(share - known) <= OFF, label, f"{share:.3f}", limits)


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="by_callers.", dir=os.environ.get("CPA_TMP")))
    for number in (1, 2):
        for turn in range(1, TIMES + 1):
            check(results, folder, number, turn)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
