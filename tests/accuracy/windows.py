#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/windows.py - figures of windows lie within their intervals of the whole run's

Programs that know their path run while profiling is switched on for a while at random moments. Each
component's share of the critical path is compared with the program's own: it should be within its
95 % interval about 95 times of 100. CPA_TRIES: runs of each program. Prints TAP and a summary.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import exact  # noqa: F401, the modules of tests/e2e
from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
PROGRAMS = ("mix_rotate", "two_locks", "sem_ring", "pipeline", "readers_writer")
TRIES = int(os.environ.get("CPA_TRIES", "10"))
WINDOW_S = float(os.environ.get("CPA_WINDOW_S", "0.05"))
GAP_S = 2 * WINDOW_S  # at most
LEAST = 0.02  # share of the path of a component that is looked at
ENOUGH = 0.9  # of the figures: few of them are independent


def profile(name, dump, dice):
    """The program's own account, and the report of random windows of its run."""
    environment = dict(os.environ, LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump))
    environment.update(CPA_QUIET="1", CPA_START="off")
    program = BUILD / "tests/programs" / name
    process = subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True)
    while process.poll() is None:
        for what, seconds in ("stop", dice.random() * GAP_S), ("start", WINDOW_S):
            subprocess.run([BUILD / "cpa-ctl", dump, what], stderr=subprocess.DEVNULL, check=False)
            time.sleep(seconds)
    known = json.loads(process.stdout.read())
    done = subprocess.run(
        [BUILD / "cpa-report", "--format", "json", dump], stdout=subprocess.PIPE, check=True
    )
    dump.unlink()
    return known, json.loads(done.stdout)


def look(known, report):
    """For each component of both: how far the share is off, in halves of its interval."""
    path_s = report["program"]["critical_path_s"]
    found = {(c["kind"], c["name"]): c for c in report["components"]}
    for one in known["components"]:
        share = one["critical_path_s"] / known["critical_path_s"]
        component = found.get((one["kind"], one["name"]))
        if share < LEAST or not component or "critical_path_error_s" not in component:
            continue
        off = component["critical_path_s"] / path_s - share
        yield one["name"], abs(off), component["critical_path_error_s"] / path_s


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="windows.", dir=os.environ.get("CPA_TMP")))
    seed = int(os.environ.get("CPA_SEED", random.randrange(1 << 30)))
    dice = random.Random(seed)
    for name in PROGRAMS:
        looks = []
        for _ in range(TRIES):
            looks += look(*profile(name, folder / "windows.dump", dice))
        if not looks:
            results.skip(name, "the windows are too short for it here: no interval")
            continue
        within = sum(off <= error for _, off, error in looks)
        worst = max(looks, key=lambda one: one[1])
        mean = sum(error for *_, error in looks) / len(looks)
        results.check(
            within >= ENOUGH * len(looks),
            f"{name}: {within} of {len(looks)} shares within their intervals, of +-{mean:.1%} in "
            f"the mean; farthest off: {worst} (seed {seed})",
        )
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
