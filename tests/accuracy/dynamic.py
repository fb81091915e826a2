#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/dynamic.py - loops recorded with a static schedule, predicted with a dynamic one, and really tried

The loop of tests/accuracy/balanced.c is recorded with OMP_SCHEDULE=static,N. The critical path that cpa-report
--what-if 'loop:*=dynamic' gives is compared with that of runs with OMP_SCHEDULE=dynamic,N, each as a share of
all work: how fast a processor is depends on what the others do. Of the real runs the best counts, as other
programs decide which thread gets which chunk. Prints a table of the errors, TAP and a summary.
"""

import os
import pathlib
import statistics
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from openmp_builds import builds, record
from profiled import read
from results import Results

SOURCE = pathlib.Path(__file__).with_name("balanced.c")
SHAPES = ("triangle", "block", "even")
CHUNKS = (1, 8, 48)  # the last so large that the threads do not end together
THREADS = [threads for threads in (2, 4) if threads <= len(os.sched_getaffinity(0))]
TRIES = 9
MEDIAN, WORST = 0.03, 0.08


def profiled_run(folder, program, shape, threads, schedule):
    dump, _ = record(folder, program, shape, threads, schedule)
    return dump, read(dump)["program"]


def check(errors, folder, program, shape, threads, chunk):
    dump, profile = profiled_run(folder, program, shape, threads, f"static,{chunk}")
    answer = read(dump, "--what-if", "loop:*=dynamic")
    found = answer["divided_critical_path_s"] / profile["cpu_s"]
    before = answer["critical_path_s"] / profile["cpu_s"]
    tried = [profiled_run(folder, program, shape, threads, f"dynamic,{chunk}")[1] for _ in range(TRIES)]
    real = min(each["critical_path_s"] / each["cpu_s"] for each in tried)
    errors.append(abs(found / real - 1))
    print(f"# {program.name:14} {shape:9} {threads} threads, chunks of {chunk:2}: path / work static {before:.3f}, "
          f"predicted {found:.3f}, really {real:.3f}, {100 * (found / real - 1):+.1f} %", flush=True)


def main():
    results, errors = Results(), []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dynamic.", dir=os.environ.get("CPA_TMP")))
    for program in builds(results, folder, SOURCE, "even"):
        for shape in SHAPES:
            for threads in THREADS:
                for chunk in CHUNKS:
                    check(errors, folder, program, shape, threads, chunk)
    median, worst = statistics.median(errors), max(errors)
    results.compare(median <= MEDIAN, "median error", f"{median:.3f}", f"{MEDIAN}")
    results.compare(worst <= WORST, "largest error", f"{worst:.3f}", f"{WORST}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
