#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/window_observed.py - is the observed path of windows that of the whole run?

tests/programs/same_again does the same again and again, in four ways. It is profiled as a whole, and in
windows of 50 ms between gaps of random length, side by side: other work on the machine is then the
same for both. Compared are the shares of the observed path that are no CPU
time. Prints TAP.
"""

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

WAYS = "turns", "lock", "poll", "brief"
RUN_MS = 20000
WINDOW_S, GAP_S = 0.05, 0.15
OFF = {"handoff_s": 0.02, "runqueue_s": 0.10, "external_s": 0.10}  # of the path; windows cut waits and idle time


def start(dump, way, *options):
    command = [BUILD / "cpa", "run", "-q", "-o", dump, *options, "--", PROGRAMS / "same_again", way, str(RUN_MS)]
    return subprocess.Popen(command, env=clean_environment())


def switch(run, dump, dice):
    while run.poll() is None:
        for what, wait_s in ("start", WINDOW_S), ("stop", GAP_S * dice.uniform(0.5, 1.5)):
            subprocess.run([BUILD / "cpa-ctl", dump, what], stderr=subprocess.DEVNULL, check=False)
            time.sleep(wait_s)


def shares(dump):
    observed = read(dump)["program"]["observed_segments"]
    return {key: observed[key] / sum(observed.values()) for key in OFF}


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="observed.", dir=os.environ.get("CPA_TMP")))
    seed = int(os.environ.get("CPA_SEED", random.randrange(1 << 30)))
    print(f"# seed {seed}")
    dice = random.Random(seed)
    for way in WAYS:
        whole, windows = folder / f"{way}.whole.dump", folder / f"{way}.windows.dump"
        beside = start(whole, way)
        run = start(windows, way, "--delay", "1h")
        switch(run, windows, dice)
        beside.wait()
        wanted, found = shares(whole), shares(windows)
        for key, off in OFF.items():
            good = abs(found[key] - wanted[key]) <= off
            results.compare(good, f"{way}: {key}", f"{found[key]:.1%}", f"{wanted[key]:.1%} +- {off:.0%}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
