#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/threads.py - other numbers of OpenMP threads, predicted and really tried

Programs of tests/accuracy/tasks.c and balanced.c are recorded with some threads. What cpa-report --threads says
of their critical path with other numbers is compared with that of runs with so many, each as a share of all
work: how fast a processor is depends on what the others do. Of the real runs the best counts, as other programs
decide which thread gets which task. Prints a table of the errors, TAP and a summary.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from openmp_builds import builds, record
from profiled import BUILD, read
from results import Results

FOLDER = pathlib.Path(__file__).parent
# Source, schedule of its loops, shapes.
PROGRAMS = (
    ("tasks.c", "static", ("unequal", "tree", "wavefront", "chain", "serial")),
    ("balanced.c", "static", ("even",)),
    ("balanced.c", "dynamic,4", ("triangle", "block")),
    ("balanced.c", "static,4", ("triangle",)),
)
RECORDED = (1, 2, 4)
TRIED = [threads for threads in (1, 2, 4) if threads <= len(os.sched_getaffinity(0))]
TRIES = 9
MEDIAN, WORST = 0.03, 0.08


def profiled_run(folder, program, shape, threads, schedule):
    dump, _ = record(folder, program, shape, threads, schedule)
    return dump, read(dump)["program"]


def share(program):
    """The critical path as a share of all work."""
    return 1 / program["max_parallelism"]


def predict(dump):
    """Predictions by threads; none if cpa-report says that it cannot know."""
    report = [BUILD / "cpa-report", "--format", "json", "--threads", ",".join(map(str, TRIED)), dump]
    done = subprocess.run(report, capture_output=True, text=True, check=False)
    if done.returncode == 1 and "record it with two threads" in done.stderr:
        return {}
    return {row["threads"]: row["critical_path_s"] for row in json.loads(done.stdout)["predictions"]}


def check(errors, folder, program, shape, schedule):
    real = {}
    for threads in TRIED:
        tried = [profiled_run(folder, program, shape, threads, schedule)[1] for _ in range(TRIES)]
        real[threads] = min(map(share, tried))
    for recorded in RECORDED:
        dump, profile = profiled_run(folder, program, shape, recorded, schedule)
        for threads, path_s in predict(dump).items():
            # One thread takes all work, by definition. With one recorded nobody sees which part of a program without tasks is serial.
            if threads in (1, recorded) or (recorded == 1 and shape == "serial"):
                continue
            found = path_s / profile["critical_path_s"] * share(profile)
            off = found / real[threads] - 1
            errors.append(abs(off))
            print(f"# {program.name:14} {shape:10} {schedule:9} {recorded} -> {threads}: "
                  f"path / work {found:.3f}, really {real[threads]:.3f}, {100 * off:+.1f} %")


def main():
    results, errors = Results(), []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="threads.", dir=os.environ.get("CPA_TMP")))
    for source, schedule, shapes in PROGRAMS:
        for program in builds(results, folder, FOLDER / source, shapes[0]):
            for shape in shapes:
                check(errors, folder, program, shape, schedule)
    median, worst = statistics.median(errors), max(errors)
    results.compare(median <= MEDIAN, "median error", f"{median:.3f}", f"{MEDIAN}")
    results.compare(worst <= WORST, "largest error", f"{worst:.3f}", f"{WORST}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
