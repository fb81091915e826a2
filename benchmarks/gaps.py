#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a component has of the critical path in windows of a run, by their length and by the gaps between them.

    benchmarks/gaps.py [--build DIR] [--rounds N] [--seconds N] NAME KIND COMPONENT WINDOWS...

WINDOWS: ON/OFF, in ms, or the share of CPU time of a budget, as 2%. Runs of program NAME (overhead.py, with the input of
half a minute) are profiled that way for --seconds each, in turns, and ended. ON of some seconds and OFF of some ms are
an exact run, without the start. Prints means and their standard errors. Nothing is timed against a limit.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measure
import overhead
import programs
from measure import Cpa, interleaved, start, stop, table

STARTS_S = 0.7  # the program starts: not profiled
HEAD = ["windows, ms", "profiled, s a run", "% of the path", "% of CPU time", "CPU time a use, us", "of it in the lock"]


def control(cpa, process, *words):
    return start([f"{cpa.build}/cpa", "ctl", str(process.pid), *words], errors=subprocess.DEVNULL)


def profile(cpa, process, windows, seconds):
    """Until @seconds have passed, or the program has ended."""
    end = time.monotonic() + seconds
    if "%" in windows:
        keeper = control(cpa, process, "budget", windows)
        time.sleep(seconds)
        stop(keeper)
        return
    on, off = (float(ms) / 1e3 for ms in windows.split("/"))
    while time.monotonic() < end and process.poll() is None:
        control(cpa, process, "start").wait()
        time.sleep(on)
        control(cpa, process, "stop").wait()
        time.sleep(off)


def once(cpa, options, windows):
    """The cells of a run below HEAD."""
    process = start(overhead.words_of(options.name, cpa.folder, 2), cpa.environment(CPA_START="off"), cpa.folder)
    with measure.bounded(process, None):
        time.sleep(STARTS_S)
        profile(cpa, process, windows, options.seconds)
        if process.poll() is None:
            stop(process)
    found = programs.report(cpa.build, cpa.path())
    program = found["program"]
    rows = [c for c in found["components"] if (c["kind"], c["name"]) == (options.kind, options.component)]
    path, cpu = (sum(c[key] or 0 for c in rows) for key in ("critical_path_s", "cpu_s"))
    uses = sum(o["acquisitions"] for o in found["objects"] if o["class"] == options.component)
    return (program["wall_s"], 100 * path / program["critical_path_s"], 100 * cpu / program["cpu_s"],
            1e6 * program["cpu_s"] / uses if uses else 0, 1e6 * cpu / uses if uses else 0)


def cell(values):
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{statistics.mean(values):.2f} +- {error:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("name", choices=overhead.MINUTES)
    parser.add_argument("kind")
    parser.add_argument("component")
    parser.add_argument("windows", nargs="+")
    options = parser.parse_args()
    measure.end_by_signal()
    folder = tempfile.mkdtemp(prefix="cpa-gaps.")
    cpa = Cpa(options.build, folder)
    try:
        overhead.prepare(folder, [options.name], long=True)
        runs = interleaved({windows: lambda windows=windows: once(cpa, options, windows) for windows in options.windows},
                           options.rounds)
    finally:
        shutil.rmtree(folder)
    print(table(HEAD, [[windows, *map(cell, zip(*runs[windows]))] for windows in runs]), end="")


if __name__ == "__main__":
    sys.exit(main())
