#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/window_margins.py - do the margins of a run in windows hold the figures of the whole run?

tests/programs/all_day does the same all day. It is profiled as a whole, which is the truth, and in many
windows, switched from outside at random moments, whose sums are read one by one. Runs of 20 to 40
windows are then drawn from these: of 100 such runs about 95 should have an interval, computed as
docs/parts.md says, in which the truth lies. How far the mean of all windows is off is what windows lack
at their borders. Prints TAP.
"""

import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import exact  # noqa: F401, the modules of tests/e2e
from profiled import BUILD, PROGRAMS, clean_environment, read
from results import Results

WINDOW_S = 0.05  # as those of a budget
WINDOWS = int(os.environ.get("WINDOWS", 160))
WHOLE_S = 30
DRAWS = 2000
LEAST, MOST = 20, 40  # windows of a drawn run
HOLD = 0.90  # of the drawn runs, at least; of independent windows it would be 0.95
OFF = 0.02  # by which the mean of all windows may be off, as a share of the critical path
LOCKS = "narrow", "wide"  # of which also the waits, in relation to the time that was profiled
ROWS = ("lock", "narrow"), ("lock", "wide"), ("function", "narrow_work"), ("function", "pass")
# Quantiles of the t distribution, 97.5 %: degrees of freedom.
STUDENT = {9: 2.262, 15: 2.131, 19: 2.093, 20: 2.086, 24: 2.064, 29: 2.045, 30: 2.042}


def student(freedom):
    return STUDENT[max(n for n in STUDENT if n <= freedom)]


def sums(report):
    """Of each figure the part and the whole: what a row has of the path, what it saves, waits for a lock."""
    program, found = report["program"], {}
    rows = {(c["kind"], c["name"]): c for c in report["components"]}
    waits = {o["class"]: o["wait_s"] for o in report["objects"]}
    for row in ROWS:
        for what, key in ("path", "critical_path_s"), ("saves", "saved_s"):
            found[f"{' '.join(row)}, {what}"] = rows.get(row, {}).get(key, 0), program["critical_path_s"]
    for lock in LOCKS:
        found[f"lock {lock}, waits"] = waits.get(lock, 0), program["wall_s"]
    return found


def start(dump, *options):
    return subprocess.Popen(
        [BUILD / "cpa", "run", "-q", "-o", dump, *options, "--", PROGRAMS / "all_day", "100000"],
        env=clean_environment(),
    )


def whole(folder):
    run = start(folder / "whole.dump")
    time.sleep(WHOLE_S)
    run.terminate()
    run.wait()
    return sums(read(folder / "whole.dump"))


def windows(folder, dice):
    """What each window had, as whole() has it of the run."""
    dump = folder / "windows.dump"
    run = start(dump, "--delay", "1h")
    found, before = [], {}

    def switch(what):
        return subprocess.run([BUILD / "cpa-ctl", dump, what], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    while not switch("start"):
        time.sleep(0.1)
    while len(found) < WINDOWS:
        time.sleep(WINDOW_S)
        switch("stop")
        time.sleep(0.05 + 0.2 * dice.random())  # for each thread to meet the stop
        now = sums(read(dump))
        found.append({name: tuple(a - b for a, b in zip(pair, before.get(name, (0, 0)))) for name, pair in now.items()})
        before = now
        switch("start")
    run.terminate()
    run.wait()
    return found


def interval(batch):
    """Ratio and margin of pairs (part, whole)."""
    part, path = (sum(each) for each in zip(*batch))
    ratio, count = part / path, len(batch)
    squares = sum((a - ratio * b) ** 2 for a, b in batch)
    return ratio, student(count - 1) * math.sqrt(squares / (count - 1) / count) / (path / count)


def batches(run):
    """At most 31, of neighbours."""
    size = 1
    while len(run) // size > 31:
        size *= 2
    return [tuple(sum(each) for each in zip(*run[i * size:(i + 1) * size])) for i in range(len(run) // size)]


def check(results, name, truth, pairs, dice):
    mean = interval(pairs)
    held = 0
    for _ in range(DRAWS):
        ratio, margin = interval(batches(dice.sample(pairs, dice.randint(LEAST, MOST))))
        held += abs(ratio - truth) <= margin
    results.compare(
        abs(mean[0] - truth) <= OFF, f"{name}: share of all {len(pairs)} windows",
        f"{mean[0]:.1%} +- {mean[1]:.1%}", f"{truth:.1%} +- {OFF:.0%}",
    )
    results.compare(
        held >= HOLD * DRAWS, f"{name}: runs of {LEAST} to {MOST} windows whose interval holds that",
        f"{held / DRAWS:.1%}", f"{HOLD:.0%} or more",
    )


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="margins.", dir=os.environ.get("CPA_TMP")))
    seed = int(os.environ.get("CPA_SEED", random.randrange(1 << 30)))
    print(f"# seed {seed}")
    dice = random.Random(seed)
    truth, found = whole(folder), windows(folder, dice)
    for name, (part, of) in truth.items():
        check(results, name, part / of, [each[name] for each in found], dice)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
