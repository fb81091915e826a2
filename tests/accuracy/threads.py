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
from profiled import BUILD, clean_environment, profiled_environment, read, run
from results import Results

FOLDER = pathlib.Path(__file__).parent
PROGRAMS = {"tasks.c": ("unequal", "tree", "wavefront", "chain", "serial"), "balanced.c": ("even",)}
RECORDED = (1, 2, 4)
TRIED = [threads for threads in (1, 2, 4) if threads <= len(os.sched_getaffinity(0))]
TRIES = 9
MEDIAN, WORST = 0.03, 0.08


def record(folder, program, shape, threads):
    dump = folder / f"{program.name}.{shape}.{threads}.dump"
    dump.unlink(missing_ok=True)
    environment = profiled_environment(
        dump, CPA_JOURNAL="64M", OMP_SCHEDULE="static", OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0"
    )
    run([program, shape, str(threads)], env=environment)
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


def check(errors, folder, program, shape):
    real = {}
    for threads in TRIED:
        real[threads] = min(share(record(folder, program, shape, threads)[1]) for _ in range(TRIES))
    for recorded in RECORDED:
        dump, profile = record(folder, program, shape, recorded)
        for threads, path_s in predict(dump).items():
            # One thread takes all work, by definition. With one recorded nobody sees which part of a program without tasks is serial.
            if threads in (1, recorded) or (recorded == 1 and shape == "serial"):
                continue
            found = path_s / profile["critical_path_s"] * share(profile)
            off = found / real[threads] - 1
            errors.append(abs(off))
            print(f"# {program.name:14} {shape:10} {recorded} -> {threads}: "
                  f"path / work {found:.3f}, really {real[threads]:.3f}, {100 * off:+.1f} %")


def main():
    results, errors = Results(), []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="threads.", dir=os.environ.get("CPA_TMP")))
    for source, shapes in PROGRAMS.items():
        for compiler in ("gcc", "clang"):
            program = folder / f"{pathlib.Path(source).stem}-{compiler}"
            try:
                run([compiler, "-O2", "-g", "-fopenmp", FOLDER / source, "-o", program])
                run([program, shapes[0], "2"], env=clean_environment())
            except (RuntimeError, OSError):
                results.skip(f"OpenMP of {compiler}", "it is not installed")
                continue
            for shape in shapes:
                check(errors, folder, program, shape)
    median, worst = statistics.median(errors), max(errors)
    results.compare(median <= MEDIAN, "median error", f"{median:.3f}", f"{MEDIAN}")
    results.compare(worst <= WORST, "largest error", f"{worst:.3f}", f"{WORST}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
