#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/balanced.py - what balance saves, beside the program's own clocks and a real change

tests/accuracy/balanced.c has a loop whose iterations are not alike. Work of its threads, load balance and
what balance saves are compared with its own clocks; the balanced path with that of a run whose schedule is
dynamic; and what another number of threads would take with a run that has so many. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from openmp_builds import builds, record
from profiled import read
from results import Results

SOURCE = pathlib.Path(__file__).with_name("balanced.c")
SHAPES = ("triangle", "block", "even")
TRIES = 5  # other programs on the machine decide who takes which iteration
BY_CLOCK, BY_CHANGE, BY_THREADS = 0.02, 0.03, 0.08


def profiled_run(folder, program, shape, threads, schedule):
    """Return the dump, its report, and each thread's seconds by round."""
    dump, text = record(folder, program, shape, threads, schedule)
    return dump, read(dump), [[float(each) for each in line.split()] for line in text.splitlines()]


def of_work(report, seconds):
    """@seconds as a share of all work: how fast a processor is depends on what the others do."""
    return seconds / report["program"]["cpu_s"]


def near(results, label, found, wanted, share, of):
    good = abs(found - wanted) <= share * of
    results.compare(good, label, f"{found:.5f}", f"{wanted:.5f} +- {share * of:.5f}")


def check_clocks(results, label, report, rounds):
    row = next(row for row in report["openmp"]["rows"] if row["kind"] == "region")
    works = sorted((sum(column) for column in zip(*rounds)), reverse=True)
    most_s = sum(max(each) for each in rounds)
    even_s = sum(sum(each) / len(each) for each in rounds)
    for i, (thread, work_s) in enumerate(zip(row["threads"], works)):
        near(results, f"{label}: work of thread {i}, s", thread["work_s"], work_s, BY_CLOCK, work_s)
    balance = sum(works) / len(works) / works[0]
    near(results, f"{label}: load balance", row["efficiency"]["load_balance"], balance, BY_CLOCK, 1)
    near(results, f"{label}: balance saves, s", row["balanced_saved_s"], most_s - even_s, BY_CLOCK, most_s)


def check_schedule(results, folder, program, shape, threads):
    """The path of a run that is really balanced: the best of some, as others may take processors."""
    _, report, rounds = profiled_run(folder, program, shape, threads, "static")
    label = f"{program.name} {shape} {threads}"
    check_clocks(results, label, report, rounds)
    if shape == "even":
        return
    found = of_work(report, report["program"]["critical_path_s"] - report["openmp"]["balanced_saved_s"])
    real = [profiled_run(folder, program, shape, threads, "dynamic,1")[1] for _ in range(TRIES)]
    least = min(of_work(each, each["program"]["critical_path_s"]) for each in real)
    near(results, f"{label}: path / work, balanced, and schedule(dynamic)", found, least, BY_CHANGE, least)


def check_threads(results, folder, program):
    """An even loop of one thread, predicted for more, and with so many."""
    dump, report, _ = profiled_run(folder, program, "even", 1, "static")
    for threads in (2, 4, 8):
        change = ["--what-if", f"region:main() parallel* threads={threads}", "--cores", "8"]
        found = of_work(report, read(dump, *change)["predictions"][0]["changed_s"])
        real = [profiled_run(folder, program, "even", threads, "static")[1] for _ in range(TRIES)]
        least = min(of_work(each, each["program"]["critical_path_s"]) for each in real)
        near(results, f"{program.name}: path / work with {threads} threads", found, least, BY_THREADS, least)


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="balanced.", dir=os.environ.get("CPA_TMP")))
    for program in builds(results, folder, SOURCE, "even"):
        for shape in SHAPES:
            for threads in (2, 4):
                if threads <= len(os.sched_getaffinity(0)):
                    check_schedule(results, folder, program, shape, threads)
        check_threads(results, folder, program)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
