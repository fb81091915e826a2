#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/clocks.py - CPU time by thread, as the threads themselves see it

With each clock that cpa has. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from profiled import BUILD
from surroundings import CLOCKS, Tests

OFF, OFF_S = 0.01, 0.001


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="clocks.", dir=os.environ.get("CPA_TMP")))
    tests = Tests(BUILD, folder)
    for each in CLOCKS:
        for routine, used_s, got_s in tests.clock(*each):
            off_s = OFF * used_s + OFF_S
            text = f"{used_s:.4f} s +- {off_s:.4f} s"
            label = f"{each[0]}: CPU time of {routine}"
            tests.results.compare(abs(got_s - used_s) <= off_s, label, f"{got_s:.4f} s", text)
    return tests.results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
