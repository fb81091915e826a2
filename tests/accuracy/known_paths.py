#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/known_paths.py - what the report says of programs that know their own path

Each program of tests/programs runs under libcpa.so; how often: looks.py. Its standard output says
what the report of that very run must contain; see tests/programs/known_path.h. Prints TAP and a
summary; the dump of a program that fails is kept.

--loops N: beside N busy loops, which change no critical path. A run in which the program's own clocks do
not confirm its formula was no such program, as if a time slice ended in a critical section; how often
that was is printed. Nothing else is run again, and programs whose shares samples tell have one run.
"""

import argparse
import copy
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import exact  # noqa: E402,F401, the modules of tests/e2e
import looks  # noqa: E402
from looks import Busy  # noqa: E402
from machine import hold_perf_event  # noqa: E402
from profiled import run  # noqa: E402
from results import Results  # noqa: E402
from stable import Loops  # noqa: E402

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "programs"
PATH = 0.01  # length of the critical path, of itself
COMPONENT = 0.02  # a component's share and saving, of the path; its CPU time, of the process's
BRIEF_SAVING = 1.5  # times that, of a saving where most activities have no sample
CPU = 0.005  # CPU time of the threads of a start routine and of the process
# What interrupts and hypervisors take from a thread is in its time until it looks at the kernel's
# clock again; it does so at the end of all that seems to have taken longer than this.
UNSEEN_S = 0.00025
TILES = 0.001  # the observed path and the sum of its segments, of the wall time
OBSERVED = 0.02  # process and external time of the observed path, of the wall time
TRIES = 4  # until a program's own clocks confirm what it claims
CONTROLS = 2  # runs without the profiler that must do so, where no profiled one does
WALL = 0.01  # wall time as the program sees it
ROUNDING = 2e-6  # seconds are printed with six decimals


class Beside:
    """Busy loops beside all runs, and runs that were not what the program claims to be."""

    loops = 0
    runs = missed = 0


class Look(looks.Look):
    """With figures that are nearly as expected."""

    def close(self, label, got, expected, tolerance_s):
        """Both in seconds. A figure that is not there fails."""
        if not isinstance(got, (int, float)) or not math.isfinite(got):
            return self.check(False, label, f"found {got!r}, expected {expected:.4f} s")
        good = abs(got - expected) <= tolerance_s + ROUNDING
        return self.time(good, label, f"{got:.4f} s", f"{expected:.4f} s +- {tolerance_s:.4f} s")


def check_expectation(look, name, expected):
    """What must hold of any program's own figures."""
    path_s = expected["critical_path_s"]
    components = expected["components"]
    threads = [c for c in components if c["kind"] == "thread"]
    rounding = ROUNDING * (len(components) + 1)

    share_s = sum(c["critical_path_s"] for c in threads)
    look.close(f"{name}: sum of its threads' shares", share_s, path_s, rounding)
    cpu_s = sum(t["cpu_s"] for t in expected["threads"])
    look.close(f"{name}: sum of its threads' CPU time", cpu_s, expected["cpu_s"], rounding)
    odd = [
        c["name"]
        for c in components
        if not 0 <= c["saved_s"] <= c["critical_path_s"] + ROUNDING
        or c["critical_path_s"] > min(path_s, c["cpu_s"] + c["external_s"]) + ROUNDING
    ]
    look.check(not odd, f"{name}: 0 <= saved <= share <= time active", " ".join(odd))


def matching(components, expected):
    def same(name):
        if expected["match"] == "contains":
            return expected["name"] in name
        return expected["name"] == name

    return [c for c in components if c["kind"] == expected["kind"] and same(c["name"])]


def mean(values):
    return sum(values) / len(values)


def check_component(look, name, runs, index):
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
            look.check(False, f"{label % 'components'}: one expected, found {names}")
            return
        got.append(found[0] if found else {"critical_path_s": 0, "saved_s": 0, "cpu_s": 0})

    def close(key, tolerance_s):
        expected_s = mean([each[key] for each in wanted])
        look.close(label % key, mean([each[key] for each in got]), expected_s, tolerance_s)

    tolerance_s = COMPONENT * mean([expected["critical_path_s"] for expected, _ in runs])
    if any(each["tied"] for each in wanted):
        look.skip(label % "critical_path_s", "another path is nearly as long in this run")
    else:
        close("critical_path_s", tolerance_s)
    close("saved_s", tolerance_s * (BRIEF_SAVING if is_brief(name) else 1))
    # What a component's CPU time is while it blocks is not fixed.
    if all(each["external_s"] == 0 for each in wanted):
        close("cpu_s", COMPONENT * mean([expected["cpu_s"] for expected, _ in runs]))


def check_cpu(look, name, expected, report):
    for thread in expected["threads"]:
        routine = thread["start_routine"]
        cpu_s = sum(t["cpu_s"] for t in report["threads"] if t["start_routine"] == routine)
        text = f"{name}: cpu_s of threads of {routine}"
        look.close(text, cpu_s, thread["cpu_s"], max(CPU * thread["cpu_s"], UNSEEN_S))
    cpu_s = expected["cpu_s"]
    look.close(f"{name}: program.cpu_s", report["program"]["cpu_s"], cpu_s, CPU * cpu_s)


def check_observed(look, name, expected, program):
    wall_s = program["wall_s"]
    segments = program["observed_segments"]
    look.close(f"{name}: wall_s", wall_s, expected["observed_path_s"], WALL * wall_s)
    look.close(f"{name}: observed_path_s", program["observed_path_s"], wall_s, TILES * wall_s)
    parts = ("process_s", "external_s", "runqueue_s", "handoff_s", "probe_s")
    text = f"{name}: sum of observed_segments"
    look.close(text, sum(segments[part] for part in parts), wall_s, TILES * wall_s)
    for part in ("process_s", "external_s"):
        text = f"{name}: observed_segments.{part}"
        if expected["observed"]["tied"]:
            look.skip(text, "a release and an arrival were simultaneous in this run")
        else:
            look.close(text, segments[part], expected["observed"][part], OBSERVED * wall_s)


def without_probes(expected, report):
    """
    The program's own clock cannot tell the profiler's time in a thread from the program's, and the
    path has none of it: take from each thread's figures the part that the report says was ours. On
    the observed path that is also what ours waited for, which the program's CPU clock has not.
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
    ours_s = sum(t["probe_s"] for t in report["threads"])
    seen_s = report["program"]["observed_segments"]["probe_s"]
    expected["observed"]["process_s"] -= min(ours_s, seen_s)
    return expected


def check_report(look, name, expected, report):
    """What one run must show, which hangs on no sample."""
    path_s = expected["critical_path_s"]
    got_s = report["program"]["critical_path_s"]
    look.close(f"{name}: critical_path_s", got_s, path_s, PATH * path_s)
    check_cpu(look, name, expected, report)
    check_observed(look, name, expected, report["program"])


def run_claiming(command, **options):
    """Return standard output, None if the program's own clocks do not confirm its own formula."""
    Beside.runs += 1
    try:
        return run(command, **options)
    except RuntimeError as error:
        if "claimed" not in str(error):
            raise
        Beside.missed += 1
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


def run_undisturbed(command, dump, **options):
    """The same, while nobody else uses the machine."""

    def once():
        pathlib.Path(dump).unlink(missing_ok=True)
        return run_confirmed(command, dump, **options)

    return once() if Beside.loops else looks.left_alone(once)


def profile(name, build, dump):
    """Run the program under the profiler. Return what it says must be reported, and the report."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
    environment.update(LD_PRELOAD=str(build / "libcpa.so"), CPA_OUTPUT=dump, CPA_QUIET="1")
    program = str(build / "tests/programs" / name)
    expected = json.loads(run_undisturbed([program], dump, env=environment))
    report = json.loads(run([str(build / "cpa-report"), "--format", "json", dump]))
    return expected, report


def check_run(name, expected, report, components=True):
    """Return the look at one run."""
    look = Look()
    check_expectation(look, name, expected)
    expected = without_probes(expected, report)
    check_report(look, name, expected, report)
    for index in range(len(expected["components"]) if components else 0):
        check_component(look, name, [(expected, report)], index)
    return look


def check_sampled(results, name, take):
    """A program whose shares are told by samples: these are means of several runs."""
    runs = [take() for _ in range(looks.LOOKS)]
    means = Look()
    looks.decide(results, [check_run(name, *each, components=False) for each in runs])
    runs = [(without_probes(*each), each[1]) for each in runs]
    for index in range(len(runs[0][0]["components"])):
        check_component(means, name, runs, index)
    looks.decide(results, [means])


def check_program(results, name, arguments, folder):
    failed = results.failed
    dump = folder / f"{name}.dump"
    begin = time.monotonic()
    try:
        if name == "known_path_check":
            run([str(arguments.build / "tests/programs" / name)])
            results.check(True, f"{name}: the search finds paths that are known")
        elif arguments.native:
            program = str(arguments.build / "tests/programs" / name)
            look = Look()
            check_expectation(look, name, json.loads(run([program])))
            looks.decide(results, [look])
        elif Beside.loops:
            looks.decide(results, [check_run(name, *profile(name, arguments.build, str(dump)))])
        elif is_sampled(name):
            check_sampled(results, name, lambda: profile(name, arguments.build, str(dump)))
        else:
            take = lambda: check_run(name, *profile(name, arguments.build, str(dump)))
            looks.check(results, take)
    except Busy as error:
        results.skip(name, error)
    except (RuntimeError, ValueError) as error:
        results.check(False, f"{name}: {error}")
    except (KeyError, TypeError) as error:
        results.check(False, f"{name}: not in the report: {error!r}")
    print(f"# {name}: {time.monotonic() - begin:.1f} s")
    if dump.exists():
        if results.failed == failed:
            dump.unlink()
        else:
            print(f"# {name}: dump kept: {dump}")


def text_of(name):
    return (SOURCES / f"{name}.c").read_text(encoding="utf-8")


def is_brief(name):
    """Whether most of its activities are too brief to have a sample of their functions."""
    return "have no sample" in text_of(name)


def is_sampled(name):
    """Whether samples tell the shares: also of locks that are not timed each time."""
    return "kp_use(" in text_of(name) or is_brief(name)


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
    parser.add_argument("--loops", type=int, default=0, metavar="N", help="beside N busy loops")
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

    Beside.loops = arguments.loops
    with Loops(arguments.loops):
        for name in arguments.program:
            check_program(results, name, arguments, folder)
    if arguments.loops:
        print(f"# beside {arguments.loops} loops: {Beside.missed} of {Beside.runs} runs were not what "
              "the program claims to be")
    if not any(folder.iterdir()):
        shutil.rmtree(folder)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
