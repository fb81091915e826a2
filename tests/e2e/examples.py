#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/examples.py - docs/tutorial.md is true: each program of examples/ has the answer it claims

What is compared is the order of savings, of components that are measured and not sampled. It follows
from the amounts of work in each program, in whatever order threads get processors or locks. Prints TAP
and a summary.
"""

import os
import pathlib
import sys
import tempfile

from profiled import BUILD, check_contradictions, profiled_environment, read, run
from results import Results

# Program, kind, and components of that kind: each saves more than the one behind it.
EXAMPLES = [
    ("lock", "lock", ["table_lock", "stats_lock"]),
    ("pipeline", "thread", ["encode_frames", "write_frames"]),
    ("pipeline", "thread", ["encode_frames", "read_frames"]),
    ("pipeline", "queue", ["raw frames", "encoded frames"]),
    ("rounds", "region", ["edge", "interior"]),
]


def saved(report, kind, name):
    return sum(c["saved_s"] for c in report["components"] if (c["kind"], c["name"]) == (kind, name))


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="examples.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    reports = {}
    for name in dict.fromkeys(each[0] for each in EXAMPLES):
        dump = folder / f"{name}.dump"
        run([BUILD / "examples" / name], env=profiled_environment(dump))
        reports[name] = read(dump)
        check_contradictions(results, name, reports[name])
    for name, kind, (first, second) in EXAMPLES:
        more, less = (saved(reports[name], kind, each) for each in (first, second))
        results.check(
            more > less, f"{name}: {kind} {first} saves more ({more:.3f} s) than {second} ({less:.3f} s)"
        )
        of_kind = [c["name"] for c in reports[name]["components"] if c["kind"] == kind]
        results.check(
            of_kind[:1] == [first], f"{name}: of kind {kind} the report names {first} first: {of_kind}"
        )
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
