#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/recorded_order.py - a prediction that is shorter than the path, and says so

On one core a pool's threads take turns: who has most of the tasks then makes the path longer than it
is where all take some. That the path is no bound is said there, and only there. Which thread gets how
many tasks is the scheduler's affair. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from profiled import BUILD, profiled_environment, read, run
from results import Results


def record(folder):
    dump = folder / "dump"
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        environment = profiled_environment(dump, CPA_JOURNAL="64M")
        run([BUILD / "benchmarks/changed_pool"], env=environment)
    finally:
        os.sched_setaffinity(0, cores)
    return dump


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="order.", dir=os.environ.get("CPA_TMP")))
    dump = record(folder)
    path_s = read(dump)["program"]["critical_path_s"]
    for cores, less in ((1, False), (64, True)):
        answer = read(dump, "--cores", str(cores))
        predicted_s = answer["predictions"][0]["unchanged_s"]
        expected = f"{'less' if less else 'no less'} than the path, {path_s:.4f} s"
        label = f"changed_pool: predicted on {cores} cores"
        results.compare((predicted_s < path_s) == less, label, f"{predicted_s:.4f} s", expected)
        said = any("threads get locks and work items" in note for note in answer["notes"])
        results.compare(said == less, f"{label}: it says that the path is no bound", said, less)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
