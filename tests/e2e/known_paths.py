#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/known_paths.py - what the report says of programs that know their own path

Each program of tests/programs runs under libcpa.so: once, and often where what it is compared by are
samples. Its standard output says what the report of that very run must contain; see
tests/programs/known_path.h. Prints TAP and a summary; the dump of a program that fails is kept.
"""

import argparse
import copy
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from machine import Others, hold_perf_event
from results import Results as Lines

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "programs"
TIMEOUT_S = 120
PATH = 0.01  # length of the critical path, of itself
COMPONENT = 0.02  # a component's share and saving, of the path; its CPU time, of the process's
CPU = 0.005  # CPU time of the threads of a start routine and of the process
TILES = 0.001  # the observed path and the sum of its segments, of the wall time
OBSERVED = 0.02  # process and external time of the observed path, of the wall time
TRIES = 4  # until a program's own clocks confirm what it claims
CONTROLS = 2  # runs without the profiler that must do so, where no profiled one does
RUNS = 4  # whose mean is compared, of a program with locks whose shares are told by samples
OTHERS = 0.05  # of the processors: a run beside others who had more was not left alone
LOOKS = 2  # runs, until one was left alone
WALL = 0.01  # wall time as the program sees it
ROUNDING = 2e-6  # seconds are printed with six decimals


class Results(Lines):
    """With figures that are nearly as expected, of runs that were left alone."""

    disturbed = None  # or why the run at hand tells nothing where it is not as expected

    def figure(self, good, text):
        """A figure that others on the machine change: then it counts only if it is good."""
        if good or not self.disturbed:
            return self.check(good, text)
        self.skip(text, self.disturbed)
        return False

    def close(self, text, got, expected, tolerance_s):
        """Both in seconds. A figure that is not there fails."""
        if not isinstance(got, (int, float)) or not math.isfinite(got):
            return self.check(False, f"{text} {got!r}, expected {expected:.4f} s")
        good = abs(got - expected) <= tolerance_s + ROUNDING
        limit = f"may differ by {tolerance_s:.4f} s"
        return self.figure(good, f"{text} {got:.4f} s, expected {expected:.4f} s, {limit}")


def run(command, **options):
    """Return standard output. Raise RuntimeError with what the command said if it failed."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **options
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from error
    if done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip()).replace("\n", "; ")
        raise RuntimeError(f"{command[0]}: exit status {done.returncode}: {text}")
    return done.stdout


def check_expectation(results, name, expected):
    """What must hold of any program's own figures."""
    path_s = expected["critical_path_s"]
    components = expected["components"]
    threads = [c for c in components if c["kind"] == "thread"]
    rounding = ROUNDING * (len(components) + 1)

    share_s = sum(c["critical_path_s"] for c in threads)
    results.close(f"{name}: sum of its threads' shares", share_s, path_s, rounding)
    cpu_s = sum(t["cpu_s"] for t in expected["threads"])
    results.close(f"{name}: sum of its threads' CPU time", cpu_s, expected["cpu_s"], rounding)
    odd = [
        c["name"]
        for c in components
        if not 0 <= c["saved_s"] <= c["critical_path_s"] + ROUNDING
        or c["critical_path_s"] > min(path_s, c["cpu_s"] + c["external_s"]) + ROUNDING
    ]
    results.check(not odd, f"{name}: 0 <= saved <= share <= time active {' '.join(odd)}".rstrip())


def matching(components, expected):
    def same(name):
        if expected["match"] == "contains":
            return expected["name"] in name
        return expected["name"] == name

    return [c for c in components if c["kind"] == expected["kind"] and same(c["name"])]


def mean(values):
    return sum(values) / len(values)


def check_component(results, name, runs, index):
    """
    @runs: what was expected and reported, of each run. The means are compared. Without time a
    component need not be listed: then its figures are 0.
    """
    one = runs[0][0]["components"][index]
    label = f"{name}: %s of {one['kind']}:{one['name']}"
    wanted, got = [], []
    for expected, report in runs:
        wanted.append(expected["components"][index])
        found = matching(report["components"], wanted[-1])
        if len(found) > 1:
            names = ", ".join(f"{c['name']} ({c.get('location')})" for c in found)
            results.check(False, f"{label % 'components'}: one expected, found {names}")
            return
        got.append(found[0] if found else {"critical_path_s": 0, "saved_s": 0, "cpu_s": 0})

    def close(key, tolerance_s):
        expected_s = mean([each[key] for each in wanted])
        results.close(label % key, mean([each[key] for each in got]), expected_s, tolerance_s)

    tolerance_s = COMPONENT * mean([expected["critical_path_s"] for expected, _ in runs])
    if any(each["tied"] for each in wanted):
        results.skip(label % "critical_path_s", "another path is nearly as long in this run")
    else:
        close("critical_path_s", tolerance_s)
    close("saved_s", tolerance_s)
    # What a component's CPU time is while it blocks is not fixed.
    if all(each["external_s"] == 0 for each in wanted):
        close("cpu_s", COMPONENT * mean([expected["cpu_s"] for expected, _ in runs]))


def check_cpu(results, name, expected, report):
    for thread in expected["threads"]:
        routine = thread["start_routine"]
        cpu_s = sum(t["cpu_s"] for t in report["threads"] if t["start_routine"] == routine)
        text = f"{name}: cpu_s of threads of {routine}"
        results.close(text, cpu_s, thread["cpu_s"], CPU * thread["cpu_s"])
    cpu_s = expected["cpu_s"]
    results.close(f"{name}: program.cpu_s", report["program"]["cpu_s"], cpu_s, CPU * cpu_s)


def check_observed(results, name, expected, program):
    wall_s = program["wall_s"]
    segments = program["observed_segments"]
    results.close(f"{name}: wall_s", wall_s, expected["observed_path_s"], WALL * wall_s)
    results.close(f"{name}: observed_path_s", program["observed_path_s"], wall_s, TILES * wall_s)
    parts = ("process_s", "external_s", "runqueue_s", "handoff_s", "probe_s")
    text = f"{name}: sum of observed_segments"
    results.close(text, sum(segments[part] for part in parts), wall_s, TILES * wall_s)
    for part in ("process_s", "external_s"):
        text = f"{name}: observed_segments.{part}"
        if expected["observed"]["tied"]:
            results.skip(text, "a release and an arrival were simultaneous in this run")
        else:
            results.close(text, segments[part], expected["observed"][part], OBSERVED * wall_s)


def without_probes(expected, report):
    """
    The program's own clock cannot tell the profiler's time in a thread from the program's, and the
    path has none of it: take from each thread's figures the part that the report says was ours.
    """
    expected = copy.deepcopy(expected)
    for c in expected["components"]:
        if c["kind"] != "thread" or c["cpu_s"] == 0:
            continue
        threads = [t for t in report["threads"] if t["start_routine"] == c["name"]]
        ours = sum(t["probe_s"] for t in threads) / c["cpu_s"]
        expected["critical_path_s"] -= ours * c["critical_path_s"]
        for key in ("critical_path_s", "saved_s", "cpu_s"):
            c[key] -= ours * c[key]
    expected["observed"]["process_s"] -= report["program"]["observed_segments"]["probe_s"]
    return expected


def check_report(results, name, expected, report):
    """What one run must show, which hangs on no sample."""
    path_s = expected["critical_path_s"]
    got_s = report["program"]["critical_path_s"]
    results.close(f"{name}: critical_path_s", got_s, path_s, PATH * path_s)
    check_cpu(results, name, expected, report)
    check_observed(results, name, expected, report["program"])


class Busy(Exception):
    """The machine left no run alone, with the profiler or without."""


def run_claiming(command, **options):
    """Return standard output, None if the program's own clocks do not confirm its own formula."""
    try:
        return run(command, **options)
    except RuntimeError as error:
        if "claimed" not in str(error):
            raise
        print(f"# {error}")
        return None


def run_confirmed(command, dump, **options):
    """
    Run a program whose own clocks must confirm its own formula. Where they do not, the machine
    was too busy for the program to be what it claims; nothing of cpa was looked at yet. If it is
    not too busy without the profiler, it is the profiler who changes what the program is.
    """
    alone = dict(options, env={k: v for k, v in options["env"].items() if k != "LD_PRELOAD"})
    for control in range(CONTROLS + 1):
        for _ in range(TRIES):
            output = run_claiming(command, **options)
            if output is not None:
                return output
            pathlib.Path(dump).unlink(missing_ok=True)
        if control < CONTROLS and run_claiming(command, **alone) is None:
            raise Busy("the machine left no run alone, with the profiler or without")
    raise RuntimeError(f"{command[0]} is what it claims to be without the profiler only")


def run_undisturbed(results, command, dump, **options):
    """The same, preferably while nobody else uses the machine. Let @results know whether."""
    for _ in range(LOOKS):
        pathlib.Path(dump).unlink(missing_ok=True)
        others = Others()
        output = run_confirmed(command, dump, **options)
        share = others.share()
        results.disturbed = f"others had {share:.0%} of the processors" if share > OTHERS else None
        if not results.disturbed:
            break
    return output


def profile(results, name, build, folder):
    """Run the program under the profiler and check the report against what it printed."""
    dump = str(folder / f"{name}.dump")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
    environment.update(LD_PRELOAD=str(build / "libcpa.so"), CPA_OUTPUT=dump, CPA_QUIET="1")
    program = str(build / "tests/programs" / name)
    runs, disturbed = [], None
    for _ in range(RUNS if has_uses(name) else 1):
        expected = json.loads(run_undisturbed(results, [program], dump, env=environment))
        disturbed = disturbed or results.disturbed
        check_expectation(results, name, expected)
        report = json.loads(run([str(build / "cpa-report"), "--format", "json", dump]))
        expected = without_probes(expected, report)
        check_report(results, name, expected, report)
        runs.append((expected, report))
    results.disturbed = disturbed
    for index in range(len(runs[0][0]["components"])):
        check_component(results, name, runs, index)


def check_program(results, name, arguments, folder):
    failed = results.failed
    results.disturbed = None
    begin = time.monotonic()
    try:
        if name == "known_path_check":
            run([str(arguments.build / "tests/programs" / name)])
            results.check(True, f"{name}: the search finds paths that are known")
        elif arguments.native:
            program = str(arguments.build / "tests/programs" / name)
            check_expectation(results, name, json.loads(run([program])))
        else:
            profile(results, name, arguments.build, folder)
    except Busy as error:
        results.skip(name, error)
    except (RuntimeError, ValueError) as error:
        results.check(False, f"{name}: {error}")
    except (KeyError, TypeError) as error:
        results.check(False, f"{name}: not in the report: {error!r}")
    print(f"# {name}: {time.monotonic() - begin:.1f} s")
    dump = folder / f"{name}.dump"
    if dump.exists():
        if results.failed == failed:
            dump.unlink()
        else:
            print(f"# {name}: dump kept: {dump}")


def has_uses(name):
    """Whether it has locks that are not timed each time: their shares come from samples."""
    return "kp_use(" in (SOURCES / f"{name}.c").read_text(encoding="utf-8")


def known_programs():
    names = []
    for source in sorted(SOURCES.glob("*.c")):
        text = source.read_text(encoding="utf-8")
        if "kp_begin();" in text or source.stem == "known_path_check":
            names.append(source.stem)
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = known_programs()
    build = os.environ.get("CPA_BUILD") or SOURCES.parents[1] / "build"
    parser.add_argument("program", nargs="*", help="only these; default: all")
    parser.add_argument("--build", type=pathlib.Path, default=build, help="default: %(default)s")
    parser.add_argument(
        "--native", action="store_true", help="without the profiler: only what the programs check"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.program if name not in names]
    if unknown:
        parser.error(f"no such program: {' '.join(unknown)} (there are {' '.join(names)})")
    arguments.program = arguments.program or names
    arguments.build = pathlib.Path(arguments.build).resolve()
    return arguments


def main():
    arguments = parse_arguments()
    results = Results()
    hold_perf_event()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="known_paths."))

    for name in arguments.program:
        check_program(results, name, arguments, folder)
    if not any(folder.iterdir()):
        shutil.rmtree(folder)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
