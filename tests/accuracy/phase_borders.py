#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/phase_borders.py - where the phases of a run are, and what has their paths

A program prints its own borders, and another one marks them. They are looked at in a run that had the
processors it asked for, by the program's own clocks. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from machine import hold_perf_event
from profiled import BUILD, Profiler, run
from results import Results

MS = 700
TRIES = 6
WORKERS = 2
# A phase of a quarter more than its work was not left alone.
SLOWER = 1.25


def run_undisturbed(profiler):
    """
    Return the borders by the program's own clock, the report, and whether the program had the
    processors it asked for. Its workers are equal: where they take turns at having the longest path,
    the path of that phase has no shares, and it is looked at again.
    """
    undisturbed = None
    for _ in range(TRIES):
        report, output = profiler.profile("serial_parallel", str(MS))
        border = [float(line.split()[0]) for line in output.splitlines()]
        longest = max(b - a for a, b in zip(border, border[1:]))
        if longest >= SLOWER * MS / 1000:
            print(f"# a phase took {longest:.3f} s for {MS} ms of work: once more")
            continue
        undisturbed = border, report
        if not any(p["path_changed"] for p in report["phases"]["phases"]):
            break
        print("# another path became the longest in a phase: once more")
    return undisturbed


def check_borders(results, report, border):
    """The clock of the program and that of the report end together."""
    found = [p for p in report["phases"]["phases"] if p["by"] == "found"]
    offset = report["program"]["wall_s"] - border[-1]
    expected = [b + offset for b in border[1:-1]]
    got = [p["from_s"] for p in found[1:]]
    width = report["phases"]["interval_s"]
    if not results.compare(len(got) == len(expected), "borders", got, expected):
        return
    for number, (a, b) in enumerate(zip(got, expected), 1):
        limits = f"{b:.3f} s +- {2 * width:.3f} s"
        results.compare(abs(a - b) <= 2 * width, f"border {number}", f"{a:.3f} s", limits)
    for phase, name, parallelism in zip(found, ("start_up", "worker", "merge"), (1, WORKERS, 1)):
        check_phase(results, phase, name, parallelism, width)


def check_phase(results, phase, name, parallelism, width):
    """@name has the path of the @phase, but for an interval on each side."""
    share = next(c for c in phase["components"] if (c["kind"], c["name"]) == ("function", name))
    off = 2 * width / (phase["to_s"] - phase["from_s"])
    label, least = phase["name"], parallelism / SLOWER - off
    text = f"{least:.3f} to {parallelism + off:.3f}"
    good = least <= phase["p"] <= parallelism + off
    results.compare(good, f"{label}: parallelism", f"{phase['p']:.3f}", text)
    limit = f"{1 - off:.1%} at least"
    if phase["path_changed"]:
        results.skip(f"{label}: {name}'s part of its path", "another path became the longest")
    else:
        part = share["critical_path_s"] / phase["critical_path_s"]
        results.compare(part >= 1 - off, f"{label}: {name}'s part of its path", f"{part:.1%}", limit)
    saved = share["saved_s"] / phase["critical_path_s"]
    results.compare(saved >= 1 - off, f"{label}: saved without {name}", f"{saved:.1%}", limit)


def check_found(results, profiler):
    undisturbed = run_undisturbed(profiler)
    if not undisturbed:
        results.skip("where the phases are", f"the machine let none of {TRIES} runs alone")
        return
    border, report = undisturbed
    check_borders(results, report, border)
    text = run([BUILD / "cpa-report", profiler.dump()])
    good = "\nphases  " in text and "(--phases)" in text
    results.check(good, "the first screen names the phases")


def share_within(component, samples, begin, end):
    """Of the growth of the component's share, how much lies between two moments."""
    inside, before_s, before_at = 0, 0, 0
    for value, sample in zip(component["critical_path_s"], samples):
        at, width = sample["at_s"], sample["at_s"] - before_at
        part = max(min(at, end) - max(before_at, begin), 0) / width if width > 0 else 0
        inside += (value - before_s) * part
        before_s, before_at = value, at
    return inside / before_s if before_s else 0


def check_intervals(results, report):
    """Over time, too, the share of each phase's thread is from its phase."""
    intervals, end = report["intervals"], report["program"]["wall_s"]
    period = intervals["period_s"]
    begin = [m["at_s"] for m in report["marks"]] + [end]
    for i, name in enumerate(("first_phase", "second_phase", "third_phase")):
        found = next(
            c for c in intervals["components"] if (c["kind"], c["name"]) == ("thread", name)
        )
        # An interval on each side is in part another phase's.
        border = begin[i] - period, begin[i + 1] + period
        inside = share_within(found, intervals["samples"], *border)
        text = f"{name}: of its share over time from its phase"
        results.compare(inside > 0.98, text, f"{inside:.1%}", "over 98%")


def check_marked(results, profiler):
    report, _ = profiler.profile("phases", "500")
    marked = [p for p in report["phases"]["phases"] if p["by"] == "marked"]
    width = report["phases"]["interval_s"]
    for phase, name in zip(marked[1:], ("first_phase", "second_phase", "third_phase")):
        off = 2 * width / (phase["to_s"] - phase["from_s"])
        share = next(c for c in phase["components"] if (c["kind"], c["name"]) == ("thread", name))
        label = f"{name}: its part of the path of its phase"
        if phase["path_changed"]:
            results.skip(label, "another path became the longest")
            continue
        part = share["critical_path_s"] / phase["critical_path_s"]
        results.compare(part >= 1 - off, label, f"{part:.1%}", f"{1 - off:.1%} at least")
    check_intervals(results, report)


def main():
    results = Results()
    hold_perf_event()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="phases.", dir=os.environ.get("CPA_TMP")))
    profiler = Profiler(folder)
    check_found(results, profiler)
    check_marked(results, profiler)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
