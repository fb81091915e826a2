#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/search.py - the search for the top components, in programs with far more than slots

tests/programs/many.h: ten thousand functions, lock classes or regions, of which five have most of the
run's first half, and five others of its second. A row for each would be too many; what is named has
no more than the path, since no earlier than the run's begin; and the report adds up. Which are named,
and with which shares, is looked at by tests/accuracy/search.py. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

from profiled import ROUNDING_S, Profiler, check_contradictions
from results import Results

RUNS = (
    ("instrumented_many", (), "function"),
    ("many_sections", ("locks",), "lock"),
    ("many_sections", ("regions",), "region"),
    ("many_sampled", (), "function"),
)
MOST_NAMED = 64


def check(results, profiler, program, arguments, kind):
    label = " ".join([program, *arguments])
    # Not the default, which is lower after a thread's first samples.
    report, _ = profiler.profile(program, *arguments, CPA_SAMPLE_HZ="1000")
    check_contradictions(results, label, report)
    named = [c for c in report["components"] if c["kind"] == kind and c.get("among", 0) > 1]
    results.check(0 < len(named) <= MOST_NAMED, f"{label}: {len(named)} named among others")
    wall_s = report["program"]["wall_s"]
    odd = [
        c["name"]
        for c in named
        if not 0 <= c["since_critical_path_s"] <= wall_s
        or c["since_critical_path_s"] + c["critical_path_s"]
        > report["program"]["critical_path_s"] + ROUNDING_S
    ]
    results.check(not odd, f"{label}: what is named has no more than came since {odd or ''}".rstrip())


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="search.", dir=os.environ.get("CPA_TMP")))
    profiler = Profiler(folder)
    for run in RUNS:
        check(results, profiler, *run)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
