#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/instrumented.py - exact procedures of builds with -finstrument-functions

tests/programs/instrumented_* print what each of their functions burned, who had called it, and what
else their CPU clock counted in it. From that follow time alone, time with callees, and what zeroing
either saves: no less than was burned, and no more than was counted. The report of that run must say
the same. Built by the Makefile's compiler, and here by others, without optimization and as a
shared library. Prints TAP and a summary; the dump of a run that fails is kept.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import layout
import looks
from surroundings import Results

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "programs"
TIMEOUT_S = 240
TIME = 0.02  # of a function's own time
FLOOR_S = 0.0002  # what starting threads and delivering signals takes
BURNED, COUNTED = 0, 1  # the times of a spell
(USED,) = layout.values("offsetof(struct cpa_header, used)")
CALLS = {
    "instrumented_calls": {
        "main": 1,
        "parent": 1,
        "child": 9,
        "inlined": 1,
        "direct": 5,
        "even": 3,
        "odd": 3,
        "lander": 1,
        "passed": 5,
        "jumper": 5,
        "handled": 1,
        "raiser": 1,
        "on_signal": 1,
        "common": 3,
        "extra": 1,
        "long_thread": 1,
        "short_thread": 1,
    },
    "instrumented_throws": {"main": 1, "catcher": 1, "passed": 5, "thrower": 15, "after": 5},
}
ALLOCATOR_ROUNDS = 1 << 16
# Beyond these a run lost count of something. clang makes no exit calls for exceptions.
GUESSED = {("instrumented_throws", "clang"): 5}


def run(command, **options):
    """Return the completed process. Raise RuntimeError with what the command said if it failed."""
    done = subprocess.run(
        [str(each) for each in command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        **options,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit status {done.returncode}: {done.stderr.strip()}")
    return done


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


def plain(name):
    """Without the parameters of C++."""
    return re.sub(r"\(.*", "", name)


def reported(report):
    functions = {}
    for each in report["components"]:
        if each["kind"] == "function" and "calls" in each:
            functions[plain(each["name"])] = {
                "self": each["cpu_s"],
                "inclusive": each["inclusive_s"],
                "saves": each["saved_s"],
                "saves with callees": each.get("inclusive_saved_s"),
                "calls": each["calls"],
            }
    return functions


def look_at_time(look, label, figure, limits, base):
    """Whether @figure, s, is between @limits, to so much of @base."""
    error = TIME * base + FLOOR_S
    good = figure is not None and min(limits) - error <= figure <= max(limits) + error
    look.time(good, label, f"{figure}, expected {limits[0]:.4f} to {limits[1]:.4f} s")


def look_at(label, program, library, report_tool, dump):
    """Run it once. Return what that showed."""
    look, name = looks.Look(), program.stem
    start = "start" if label.startswith("library") else "main"
    environment = dict(os.environ, LD_PRELOAD=str(library), CPA_OUTPUT=str(dump), CPA_QUIET="1")
    dump.unlink(missing_ok=True)
    spells = json.loads(run([program], env=environment).stdout)
    natively = json.loads(run([program]).stdout)
    same = [each[:2] for each in natively] == [each[:2] for each in spells]
    look.check(same, f"{label}: does what it does without us")
    report = json.loads(run([report_tool, "--format", "json", dump]).stdout)
    functions = reported(report)
    functions["main"] = functions.get(start, {})
    for function, calls in CALLS[name].items():
        got = functions.get(function, {})
        look.check(got.get("calls") == calls, f"{label}: {function}: {calls} calls:", got)
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
    check_guessed(look, label, report, GUESSED.get((name, label.split()[0]), 0))
    return look


def check_program(results, label, program, library, report_tool, folder):
    dump = folder / f"{label.replace(' ', '_')}.dump"
    failed = results.failed
    looks.check(results, lambda: look_at(label, program, library, report_tool, dump))
    if results.failed > failed:
        kept = tempfile.mkdtemp(prefix="cpa.")
        shutil.copy(dump, kept)
        print(f"# {label}: dump kept in {kept}")


def check_guessed(results, label, report, most):
    notes = [n for n in report["diagnostics"]["notes"] if "left in ways that were not seen" in n]
    guessed = int(re.search(r"\d+", notes[0]).group()) if notes else 0
    results.check(guessed <= most, f"{label}: at most {most} calls guessed: {guessed}")


def check_cost(results, program, library, report_tool, folder):
    """Very many calls: all counted, and no memory for them. Prints what they cost."""
    used = []
    for calls in (100_000, 1_000_000):
        dump = folder / f"cost.{calls}.dump"
        environment = dict(os.environ, LD_PRELOAD=str(library), CPA_OUTPUT=str(dump), CPA_QUIET="1")
        with_us = run([program, calls, 11], env=environment)
        without = run([program, calls, 11])
        results.check(with_us.stdout == without.stdout, f"cost: same result of {calls} calls")
        report = json.loads(run([report_tool, "--format", "json", dump]).stdout)
        functions = reported(report)
        expected = {"tiny": 11 * calls, "two": 50_001, "leaf_of_two": 50_000, "main": 1}
        for function, count in expected.items():
            got = functions.get(function, {}).get("calls")
            results.check(got == count, f"cost: {function}: {count} calls: {got}")
        check_guessed(results, "cost", report, 0)
        with dump.open("rb") as file:
            head = file.read(USED + 8)
        used.append(struct.unpack_from("<Q", head, USED)[0])
        print(f"# {calls} calls: {with_us.stderr.strip()}, without us {without.stderr.strip()}")
    good = used[1] <= used[0] + ALLOCATOR_ROUNDS
    results.check(good, f"cost: memory of the profile does not grow with calls: {used}")


def check_odd(results, build, library, report_tool, folder):
    """Calls in places where nobody expects them change nothing."""
    program, dump = build / "tests" / "programs" / "instrumented_odd", folder / "odd.dump"
    environment = dict(os.environ, LD_PRELOAD=str(library), CPA_OUTPUT=str(dump), CPA_QUIET="1")
    natively = run([program]).stdout
    with_us = run([program], env=environment).stdout
    results.check(with_us == natively, f"odd: same output: {with_us.split()}")
    report = json.loads(run([report_tool, "--format", "json", dump]).stdout)
    functions = reported(report)
    # The first thread's: the child's are its own.
    for function, calls in {"switch_over": 2000, "ends_deep": 11, "waits_deep": 11}.items():
        got = functions.get(function, {}).get("calls")
        results.check(got == calls, f"odd: {function}: {calls} calls: {got}")
    whole = report["program"]["cpu_s"]
    parts = sum(each["self"] for each in functions.values())
    results.check(0 < parts <= whole, f"odd: functions took {parts} s of {whole} s")


def check_jumps(results, build, library, report_tool, folder):
    """Handlers that jump out of our own code, at its first calls as later, do not end the profile."""
    program, dump = build / "tests" / "programs" / "instrumented_jumps", folder / "jumps.dump"
    environment = dict(os.environ, LD_PRELOAD=str(library), CPA_OUTPUT=str(dump), CPA_QUIET="1")
    results.check(run([program], env=environment).stdout == "done\n", "jumps: ran to its end")
    report = json.loads(run([report_tool, "--format", "json", dump]).stdout)
    seen = sum(each["acquisitions"] for each in report["objects"] if each["kind"] == "mutex")
    results.check(seen == 12000, f"jumps: 12000 acquisitions seen: {seen}")
    work = reported(report).get("work", {})
    results.check(
        work.get("inclusive", 0) >= work.get("self", 1), f"jumps: times fit together: {work}"
    )


def builds(folder, build):
    """(label, program) of each compiler and way to build."""
    for name in CALLS:
        yield f"make {name}", build / "tests" / "programs" / name
    flags = ["-g", "-pthread", "-finstrument-functions", "-I", ROOT]
    for compilers in (("gcc", "g++"), ("clang", "clang++")):
        for level in ("-O0", "-O3"):
            for name, suffix in (("instrumented_calls", ".c"), ("instrumented_throws", ".cpp")):
                compiler = compilers[suffix == ".cpp"]
                label = f"{compilers[0]} {level} {name}"
                if not shutil.which(compiler):
                    yield label, None
                    continue
                program = folder / label.replace(" ", "") / name
                program.parent.mkdir()
                source = SOURCES / (name + suffix)
                run([compiler, level, *flags, "-o", program, source])
                yield label, program
    # As a library: the program itself has no instrumented function.
    start = folder / "start.c"
    start.write_text("int start(void);\nint main(void) { return start(); }\n", encoding="utf-8")
    where = folder / "library"
    where.mkdir()
    source = SOURCES / "instrumented_calls.c"
    library = where / "libcalls.so"
    run(["gcc", "-O2", "-fPIC", "-shared", "-Dmain=start", *flags, "-o", library, source])
    program = where / "instrumented_calls"
    run(["gcc", "-o", program, start, library, f"-Wl,-rpath,{where}"])
    yield "library instrumented_calls", program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD") or str(ROOT / "build"))
    parser.add_argument("only", nargs="*", help="only builds whose label contains one of these")
    arguments = parser.parse_args()
    build = pathlib.Path(arguments.build).resolve()
    library, report_tool = build / "libcpa.so", build / "cpa-report"
    results = Results()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as name:
        folder = pathlib.Path(name)
        for label, program in builds(folder, build):
            if arguments.only and not any(each in label for each in arguments.only):
                continue
            if not program:
                results.skip(label, "no such compiler")
                continue
            check_program(results, label, program, library, report_tool, folder)
        program = build / "tests" / "programs" / "instrumented_cost"
        check_cost(results, program, library, report_tool, folder)
        check_odd(results, build, library, report_tool, folder)
        check_jumps(results, build, library, report_tool, folder)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
