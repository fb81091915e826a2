#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/by_callers.py - what parts of a function have and save: cpa run --by caller:N

tests/programs/callers.c knows, by the CPU clocks of its threads: of a pair of rounds the path has 7 units of common()
called by first() and 3 called by second(). Without the former the first round would take second()'s 5, without the
latter the second round first()'s 1: either part saves 2. In CPU time they have 8 each. The main thread of
tests/plugins/call_trees.cpp calls leaf() in nine ways, one after the other in a single activity, so that samples
divide it. tests/programs/many_parts.c has 401 functions in one activity. Prints TAP.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from call_trees import BUILDS, WAYS, build, is_installed
from profiled import PROGRAMS, profiled_environment, read, run
from results import Results

PAIRS = 100  # some 1000 samples on the path
UNIT_S = 0.004
LARGEST = 0.02  # share of a function that has 0.002
OFF = 0.03  # of the path
UNITS = {"first": {"critical_path_s": 7, "saved_s": 2, "total_s": 8},
         "second": {"critical_path_s": 3, "saved_s": 2, "total_s": 8}}
TIMES = 3
ROUNDS = "40"  # 4 s, some 1000 samples
LEFT_OUT = "signal handler on a stack of its own"  # the sampler's signal would wait


def check(results, folder, number, turn):
    dump = folder / f"{number}.{turn}.dump"
    environment = profiled_environment(dump, CPA_BY=f"caller:{number}")
    subprocess.run([PROGRAMS / "callers", str(PAIRS)], env=environment, stdout=subprocess.DEVNULL, check=True)
    report = read(dump)
    path_s = 10 * PAIRS * UNIT_S
    for name, units in UNITS.items():
        own = [c for c in report["components"] if c.get("function") == "common" and c["called_by"][0] == name]
        for key, count in units.items():
            share, known = sum(c[key] for c in own) / path_s, count / 10
            limits = f"{known - OFF:.3f} to {known + OFF:.3f}"
            label = f"caller:{number}, run {turn}: {name}: {key}"
            results.compare(abs(share - known) <= OFF, label, f"{share:.3f}", limits)


def check_kinds(results, folder):
    """Way i has 2 i + 3 ms of each round, below the function leaf; one thread: all of it is saved."""
    compiler, options, stripped = BUILDS[1]
    if not is_installed(compiler, options):
        results.skip("kinds of callers", f"{compiler} is not installed")
        return
    dump = folder / "kinds.dump"
    burnt_ms = {way: 2 * i + 3 for i, way in enumerate(WAYS) if way != LEFT_OUT}
    command = [*build(folder, compiler, options, stripped), ROUNDS]
    run(command, env=profiled_environment(dump, CPA_BY="caller:1"))
    report = read(dump)
    path_s = report["program"]["critical_path_s"]
    for way, ms in burnt_ms.items():
        own = [c for c in report["components"] if c.get("function") == "leaf" and c["called_by"] == WAYS[way][:1]]
        known = ms / sum(burnt_ms.values())
        for key in ("critical_path_s", "saved_s"):
            share = sum(c[key] for c in own) / path_s
            limits = f"{known - OFF:.3f} to {known + OFF:.3f}"
            results.compare(abs(share - known) <= OFF, f"{way}: {key}", f"{share:.3f}", limits)


def check_many(results, folder):
    """
    Of 401 functions in one activity the sampler tells 256 apart: frequent() has a fifth of the time, each other one
    2 in 1000. What is not known of a part is of none; a function may get 1 / 256 of the activity too much.
    """
    for by in {"CPA_BY": "caller:1"}, {}:
        dump = folder / f"many.{len(by)}.dump"
        run([PROGRAMS / "many_parts"], env=profiled_environment(dump, **by))
        check_shares(results, f"one of many{', by caller' * len(by)}", read(dump))


def check_shares(results, what, report):
    path_s = report["program"]["critical_path_s"]
    shares = {c.get("function", c["name"]): c["critical_path_s"] / path_s
              for c in report["components"] if c["kind"] == "function"}
    share = shares.pop("frequent", 0)
    results.compare(abs(share - 0.2) <= OFF, f"{what}: frequent", f"{share:.3f}", f"{0.2 - OFF:.3f} to {0.2 + OFF:.3f}")
    shares.pop("(not sampled)", None)
    share = max(shares.values())
    results.compare(share <= LARGEST, f"{what}: the largest other one", f"{share:.3f}", f"at most {LARGEST}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="by_callers.", dir=os.environ.get("CPA_TMP")))
    for number in (1, 2):
        for turn in range(1, TIMES + 1):
            check(results, folder, number, turn)
    check_kinds(results, folder)
    check_many(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
