#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/known_paths.py - programs that know their own path: what holds however busy the machine

Each program of tests/programs that begins with kp_begin() runs under libcpa.so, with a journal: what
it uses is in the report, the report adds up, and it is that of the journal to the tick. Its path lies
between what follows from the work that the program asked for. Whether all times are the program's
own is looked at by tests/accuracy/known_paths.py. Prints TAP and a summary.
"""

import json
import os
import pathlib
import sys
import tempfile

from profiled import BUILD, PROGRAMS, ROOT, check_contradictions
from profiled import profiled_environment, read, run, run_known, verify
from results import Results

SOURCES = ROOT / "tests/programs"
SLOW_KILL = BUILD / "tests/plugins/slow_kill.so"
SAMPLED = "function"  # a component of that kind is known by samples
RATE = 0.001  # by which cpa's clock and the kernel's may run apart
SAVES = 0.01  # of the path; one that saves less may be on no path of the run


def known_programs():
    return [
        source.stem
        for source in sorted(SOURCES.glob("*.c"))
        if "kp_begin();" in source.read_text(encoding="utf-8")
    ]


def matching(components, expected):
    """Of the report those that are @expected, which has a name or a part of one."""
    for each in components:
        same = expected["name"] == each["name"]
        if expected["match"] == "contains":
            same = expected["name"] in each["name"]
        if same and expected["kind"] == each["kind"]:
            yield each


def check_components(results, name, expected, report):
    least_s = SAVES * expected["critical_path_s"]
    for each in expected["components"]:
        if each["kind"] == SAMPLED or each["saved_s"] < least_s:
            continue
        found = list(matching(report["components"], each))
        text = f"{name}: {each['kind']} {each['name']} is one component"
        results.check(len(found) == 1, f"{text}: {len(found)}")
    routines = {t["start_routine"] for t in expected["threads"]}
    found = {t["start_routine"] for t in report["threads"]}
    results.check(found == routines, f"{name}: threads of {sorted(found)}")


def check_path(results, name, expected, report):
    """
    An activity takes no less than it is asked to, so the path is no shorter than the longest path of
    that; and by no more than all that was not asked for is it longer.
    """
    program = report["program"]
    asked_s, other_s = expected["asked_path_s"], program["cpu_s"] + program["external_s"]
    other_s -= expected["asked_s"]
    least_s = asked_s * (1 - RATE) - report["diagnostics"]["probe_s"]
    most_s = asked_s + other_s + RATE * expected["asked_s"]
    text = f"{program['critical_path_s']:.4f} s, {least_s:.4f} to {most_s:.4f} s"
    results.check(least_s <= program["critical_path_s"] <= most_s, f"{name}: the path, {text}")


def check_program(results, program, folder, beside=None):
    """@beside: a library that is loaded behind cpa."""
    name = f"{program} with {beside.stem}" if beside else program
    dump = folder / f"{name}.dump"
    environment = profiled_environment(dump, CPA_JOURNAL="64M")
    if beside:
        environment["LD_PRELOAD"] += f":{beside.resolve(strict=True)}"
    said = run_known([PROGRAMS / program], environment)
    expected = json.loads(said)
    report = read(dump)
    check_contradictions(results, name, report)
    check_components(results, name, expected, report)
    check_path(results, name, expected, report)
    good, text = verify(dump)
    results.check(good, f"{name}: {'as its journal' if good else text}")
    if good:
        dump.unlink()


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="known_paths.", dir=os.environ.get("CPA_TMP")))
    run([BUILD / "tests/programs/known_path_check"])
    results.check(True, "known_path_check: the search finds paths that are known")
    jobs = [(name, None) for name in sys.argv[1:] or known_programs()]
    # The thread that sends a signal gets to do so long after it could have.
    jobs += [(name, SLOW_KILL) for name, _ in jobs if name == "suspended"]
    for name, beside in jobs:
        try:
            check_program(results, name, folder, beside)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            results.check(False, f"{name}: {error!r}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
