#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/procedures.py - times of procedures in builds with -finstrument-functions

tests/programs/instrumented_* print what each of their functions burned, who had called it, and what
else their CPU clock counted in it. From that follow time alone, time with callees, and what zeroing
either saves: no less than was burned, and no more than was counted. The report of that run must say
the same, but for the time that the hypervisor took. Where handlers jump out of functions at any point,
no function may have less time with its callees than alone. Prints TAP and a summary; the dump of a run
that fails is kept.
"""

import collections
import json
import os
import pathlib
import shutil
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import looks
from instrumented import builds, reported, start_of
from profiled import PROGRAMS, profiled_environment, read, run
from results import Results

TIME = 0.02  # of a function's own time
FLOOR_S = 0.0002  # what starting threads and delivering signals takes
BURNED, COUNTED = 0, 1  # the times of a spell


def longest(spells, ns, without=lambda stack: False):
    """The path of main, with the longer one of the other threads in between."""
    threads = collections.Counter()
    for thread, stack, *times in spells:
        if not without(stack):
            threads[thread] += times[ns] * 1e-9
    return threads.pop("main", 0) + max(threads.values(), default=0)


def expected_of(spells, name, ns):
    """Own time of function @name, time with callees, and what each saves."""

    def alone(stack):
        return stack[-1:] == [name]

    def inside(stack):
        return name in stack

    length = longest(spells, ns)
    return {
        "self": sum(times[ns] for _, stack, *times in spells if alone(stack)) * 1e-9,
        "inclusive": sum(times[ns] for _, stack, *times in spells if inside(stack)) * 1e-9,
        "saves": length - longest(spells, ns, alone),
        "saves with callees": length - longest(spells, ns, inside),
    }


def look_at_time(look, label, figure, limits, base):
    """Whether @figure, s, is between @limits, to so much of @base."""
    error = TIME * base + FLOOR_S
    good = figure is not None and min(limits) - error <= figure <= max(limits) + error
    look.time(good, label, f"{figure} s", f"{limits[0]:.4f} to {limits[1]:.4f} s, +- {error:.4f} s")


def look_at(label, program, dump):
    """Run it once. Return what that showed."""
    look = looks.Look()
    dump.unlink(missing_ok=True)
    spells = json.loads(run([program], env=profiled_environment(dump)))
    report = read(dump)
    functions = reported(report)
    functions["main"] = functions.get(start_of(label), {})
    for function in sorted({each for _, stack, *_ in spells for each in stack}):
        burned, counted = (expected_of(spells, function, ns) for ns in (BURNED, COUNTED))
        for what, least in burned.items():
            if least == 0:
                continue  # it burned nothing: what it takes to call others is not known
            # What it saves is a difference of paths, each right to so much of itself.
            base = least if what in ("self", "inclusive") else max(least, 0.05)
            figure = functions.get(function, {}).get(what)
            look_at_time(look, f"{label}: {function}: {what}", figure, (least, counted[what]), base)
    limits = [longest(spells, ns) for ns in (BURNED, COUNTED)]
    path_s = report["program"]["critical_path_s"]
    look_at_time(look, f"{label}: path", path_s, limits, limits[0])
    return look


def look_at_jumps(dump):
    """
    Run the program of jumps once. It has one part, so each call has been seen to begin. What a jump out
    of our code loses is the inclusive time of one call.
    """
    look = looks.Look()
    dump.unlink(missing_ok=True)
    run([PROGRAMS / "instrumented_jumps", 2000, 0], env=profiled_environment(dump))
    functions = reported(read(dump))
    for name in ("main", "all", "run", "run_within", "work", "tiny", "locks"):
        each = functions.get(name, {})
        alone_s, inclusive_s = each.get("self", 1), each.get("inclusive", 0)
        good = alone_s <= inclusive_s * (1 + TIME) + FLOOR_S
        look.time(good, f"jumps: {name}: self", f"{alone_s} s", f"at most inclusive, {inclusive_s} s")
    return look


def check_program(results, label, program, folder):
    dump = folder / f"{label.replace(' ', '_')}.dump"
    failed = results.failed
    looks.check(results, lambda: look_at(label, program, dump))
    if results.failed > failed:
        kept = tempfile.mkdtemp(prefix="cpa.")
        shutil.copy(dump, kept)
        print(f"# {label}: dump kept in {kept}")


def main():
    results = Results()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as name:
        folder = pathlib.Path(name)
        for label, program in builds(folder):
            if program:
                check_program(results, label, program, folder)
            else:
                results.skip(label, "no such compiler")
        looks.check(results, lambda: look_at_jumps(folder / "jumps.dump"))
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
