#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/gate.py - the script of docs/ci.md, with what real runs take

A program that takes twice its CPU time breaks the limits, the same program does not. Prints TAP.
"""

import sys

import exact  # noqa: F401, the modules of tests/e2e
import compare


def main():
    compare.check_worked_example(compare.BUILD)
    return compare.results.end()


if __name__ == "__main__":
    sys.exit(main())
