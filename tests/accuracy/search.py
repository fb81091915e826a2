#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/search.py - the search for the top components, in programs with far more than slots

tests/programs/many.h: ten thousand functions, lock classes or regions, of which five have most of
the run's first half, and five others of its second. Each must be named, alone, while its half
lasts, with a share within the bounds that the report states and such as it had from then on. The
program measures what is true. Prints TAP and a summary.
"""

import argparse
import json
import math
import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from profiled import ROOT, run
from results import Results

# program, argument, kind of component, its name by number, exact, how many of each half to look for
RUNS = (
    ("instrumented_many", None, "function", "f{:04}", True, 5),
    ("many_sections", "locks", "lock", "many_lock[{}]", True, 5),
    ("many_sections", "regions", "region", "r{:04}", True, 5),
    # Of a sampled function's small share too few samples fall in an interval.
    ("many_sampled", None, "function", "f{:03}", False, 2),
)
TIME, FLOOR_S = 0.03, 0.002
SAMPLE_S = 0.001
SIGMAS = 5
UNEVEN = 0.1  # of what a component has of its half, by rounds
MOST_NAMED = 64


def tolerance(seconds, exact):
    return TIME * seconds + (FLOOR_S if exact else SIGMAS * math.sqrt(seconds * SAMPLE_S))


def check_planted(results, label, row, truth, path, half, exact):
    """@row, or None, is what the report has of a component that used @truth seconds in @half."""
    begin, end = half
    named = row is not None and row.get("among", 0) > 1
    if not results.check(named, f"{label}: named among others: {row}"):
        return
    share, since = row["critical_path_s"], row["since_critical_path_s"]
    good = begin <= since < end
    results.compare(good, f"{label}: since", f"{since:.3f} s", f"{begin:.3f} to {end:.3f} s, its half")
    margin = tolerance(truth, exact)
    least = share - row["error_at_most_s"]
    most = share + row["error_at_most_s"] + row["before_at_most_s"]
    good = least - margin <= truth <= most + margin
    text = f"{least:.3f} to {most:.3f} s, +- {margin:.3f} s"
    results.compare(good, f"{label}: time, within the bounds of the report", f"{truth:.3f} s", text)
    rest = truth * (end - since) / (end - begin)
    margin = tolerance(rest, exact) + row["error_at_most_s"] + UNEVEN * truth
    text = f"{rest:.3f} s +- {margin:.3f} s"
    results.compare(abs(share - rest) <= margin, f"{label}: time since then", f"{share:.3f} s", text)
    results.check(share <= path, f"{label}: part of the path")


def check_run(results, build, folder, plan):
    program, argument, kind, pattern, exact, wanted = plan
    label = f"{program} {argument or ''}".strip()
    dump = folder / f"{program}{argument}.dump"
    environment = dict(
        os.environ,
        LD_PRELOAD=str(build / "libcpa.so"),
        CPA_OUTPUT=str(dump),
        CPA_QUIET="1",
        # Not the default, which is lower after a thread's first samples.
        CPA_SAMPLE_HZ=str(round(1 / SAMPLE_S)),
    )
    command = [build / "tests" / "programs" / program] + ([argument] if argument else [])
    halves = json.loads(run(command, env=environment))
    report = json.loads(run([build / "cpa-report", "--format", "json", dump]))
    dump.unlink()
    found = {
        each["name"]: each
        for each in report["components"]
        if each["kind"] == kind and not each["shared"]
    }
    path = report["program"]["critical_path_s"]
    # The path has a little more than what was burned.
    scale = path / (halves[-1]["end_ns"] * 1e-9)
    results.check(1 <= scale < 1.2, f"{label}: the path is all that was done, times {scale:.3f}")
    for half in halves:
        bounds = half["begin_ns"] * 1e-9 * scale, half["end_ns"] * 1e-9 * scale
        planted = sorted(half["used_ns"].items(), key=lambda each: -each[1])
        for number, ns in planted[:wanted]:
            name = pattern.format(int(number))
            check_planted(
                results, f"{label}: {name}", found.get(name), ns * 1e-9, path, bounds, exact
            )
    named = sum("among" in each for each in found.values())
    results.check(named <= MOST_NAMED, f"{label}: not everything is named: {named}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD") or str(ROOT / "build"))
    parser.add_argument("only", nargs="*", help="only programs whose name contains one of these")
    arguments = parser.parse_args()
    build = pathlib.Path(arguments.build).resolve()
    results = Results()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as name:
        for plan in RUNS:
            if arguments.only and not any(each in str(plan) for each in arguments.only):
                continue
            check_run(results, build, pathlib.Path(name), plan)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
