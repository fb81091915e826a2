#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/instrumented.py - procedures of builds with -finstrument-functions

tests/programs/instrumented_* know how often each of their functions is called. They do what they do
without us, the report of a run has those calls, and its times fit together; whether they are right is
looked at by tests/accuracy/procedures.py. Built by the Makefile's compiler, and here by others,
without optimization and as a shared library. Prints TAP and a summary.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile

import layout
from profiled import PROGRAMS, ROOT, check_contradictions, clean_environment
from profiled import profiled_environment, read, run
from results import Results

SOURCES = ROOT / "tests" / "programs"
ROUNDING_S = 1e-6
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


def start_of(label):
    """What main is called in that build."""
    return "start" if label.startswith("library") else "main"


def check_functions(results, label, functions):
    """No function has more time than with its callees, nor saves more."""
    odd = [
        name
        for name, each in functions.items()
        if each["self"] > each["inclusive"] + ROUNDING_S
        or each["saves"] > (each["saves with callees"] or each["saves"]) + ROUNDING_S
    ]
    results.check(not odd, f"{label}: no function has less with its callees {odd or ''}".rstrip())


def check_alone(results, label, report, functions):
    """All functions together have no more time than the program."""
    alone_s, cpu_s = sum(each["self"] for each in functions.values()), report["program"]["cpu_s"]
    good = alone_s <= cpu_s + ROUNDING_S * len(functions)
    results.check(good, f"{label}: functions have {alone_s:.6f} s of {cpu_s:.6f} s")


def check_program(results, label, program, folder):
    dump = folder / f"{label.replace(' ', '_')}.dump"
    spells = json.loads(run([program], env=profiled_environment(dump)))
    natively = json.loads(run([program], env=clean_environment()))
    same = [each[:2] for each in natively] == [each[:2] for each in spells]
    results.check(same, f"{label}: does what it does without us")
    report = read(dump)
    functions = reported(report)
    check_functions(results, label, functions)
    check_alone(results, label, report, functions)
    functions["main"] = functions.get(start_of(label), {})
    for function, calls in CALLS[program.stem].items():
        got = functions.get(function, {})
        results.check(got.get("calls") == calls, f"{label}: {function}: {calls} calls: {got}")
    check_guessed(results, label, report, GUESSED.get((program.stem, label.split()[0]), 0))
    check_contradictions(results, label, report)


def check_guessed(results, label, report, most):
    notes = [n for n in report["diagnostics"]["notes"] if "left in a way that cpa did not see" in n]
    guessed = int(re.search(r"\d+", notes[0]).group()) if notes else 0
    results.check(guessed <= most, f"{label}: at most {most} calls guessed: {guessed}")


def check_cost(results, folder):
    """Very many calls: all counted, and no memory for them. Prints what they cost."""
    used = []
    for calls in (100_000, 1_000_000):
        dump = folder / f"cost.{calls}.dump"
        program = PROGRAMS / "instrumented_cost"
        with_us = run([program, calls, 11], env=profiled_environment(dump))
        without = run([program, calls, 11], env=clean_environment())
        results.check(with_us == without, f"cost: same result of {calls} calls")
        report = read(dump)
        functions = reported(report)
        expected = {"tiny": 11 * calls, "two": 50_001, "leaf_of_two": 50_000, "main": 1}
        for function, count in expected.items():
            got = functions.get(function, {}).get("calls")
            results.check(got == count, f"cost: {function}: {count} calls: {got}")
        check_guessed(results, "cost", report, 0)
        with dump.open("rb") as file:
            head = file.read(USED + 8)
        used.append(struct.unpack_from("<Q", head, USED)[0])
    good = used[1] <= used[0] + ALLOCATOR_ROUNDS
    results.check(good, f"cost: memory of the profile does not grow with calls: {used}")


def check_odd(results, folder):
    """Calls in places where nobody expects them change nothing."""
    program, dump = PROGRAMS / "instrumented_odd", folder / "odd.dump"
    natively = run([program], env=clean_environment())
    with_us = run([program], env=profiled_environment(dump))
    results.check(with_us == natively, f"odd: same output: {with_us.split()}")
    report = read(dump)
    functions = reported(report)
    # The first thread's: the child's are its own.
    for function, calls in {"switch_over": 2000, "ends_deep": 11, "waits_deep": 11}.items():
        got = functions.get(function, {}).get("calls")
        results.check(got == calls, f"odd: {function}: {calls} calls: {got}")
    whole = report["program"]["cpu_s"]
    parts = sum(each["self"] for each in functions.values())
    results.check(0 < parts <= whole, f"odd: functions took {parts} s of {whole} s")


def check_jumps(results, folder):
    """Handlers that jump out of our own code, at its first calls as later, do not end the profile."""
    program, dump = PROGRAMS / "instrumented_jumps", folder / "jumps.dump"
    said = run([program], env=profiled_environment(dump))
    results.check(said == "done\n", "jumps: ran to its end")
    report = read(dump)
    seen = sum(each["acquisitions"] for each in report["objects"] if each["kind"] == "mutex")
    results.check(seen == 12000, f"jumps: 12000 acquisitions seen: {seen}")
    # A function's own time may exceed its inclusive time here. Of a call in progress when a part began
    # there is own time, by what was seen between the same events, but no call. And a jump out of the
    # code that ends a call may lose its inclusive time: the report has a note of that. What no jump
    # can do is give a time to two functions. See also tests/accuracy/procedures.py.
    check_alone(results, "jumps", report, reported(report))


def builds(folder):
    """(label, program) of each compiler and way to build."""
    for name in CALLS:
        yield f"make {name}", PROGRAMS / name
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
    parser.add_argument("only", nargs="*", help="only builds whose label contains one of these")
    only = parser.parse_args().only
    results = Results()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as name:
        folder = pathlib.Path(name)
        for label, program in builds(folder):
            if only and not any(each in label for each in only):
                continue
            if program:
                check_program(results, label, program, folder)
            else:
                results.skip(label, "no such compiler")
        check_cost(results, folder)
        check_odd(results, folder)
        check_jumps(results, folder)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
