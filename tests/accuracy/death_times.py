#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/death_times.py - the CPU time of processes that end or are killed, and the kernel's

CPA_SEED repeats the moments. Prints TAP and a summary.
"""

import os
import pathlib
import random
import statistics
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from death import SEED, Life, ways
from results import Results

KILLS = 30
CLOCKS_S = 1e-3  # that two readings of clocks are apart
# Until a thread looks at the kernel's clock again, it cannot tell its time from what the hypervisor or
# an interrupt took, if that was brief (333 looks): of some of the threads.
UNSEEN_S = 1e-3
# The latest that it looks: by then so much at most is one thread's of a process that was killed.
LATEST_S = 4e-3


def beyond(life):
    """CPU time, s, that the report has more than the kernel."""
    return life.report()["program"]["cpu_s"] - life.used()


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="death.", dir=os.environ.get("CPA_TMP")))
    dice = random.Random(SEED)
    print(f"# CPA_SEED={SEED}")
    for number, (how, _, complete) in enumerate(ways()):
        life = Life(folder, f"way{number}", how)
        more_s, most_s = beyond(life), CLOCKS_S + (UNSEEN_S if complete else LATEST_S)
        text = f"{how}: CPU time beyond the kernel's"
        results.compare(more_s <= most_s, text, f"{more_s:.4f} s", f"{most_s:.4f} s at most")
    lives = [
        Life(folder, f"kill{i}", "live", kill_after=dice.random() * 0.1) for i in range(KILLS)
    ]
    more_s = statistics.median(map(beyond, lives))
    text = f"killed {KILLS} times: CPU time beyond the kernel's, in the middle"
    results.compare(more_s <= CLOCKS_S, text, f"{more_s:.4f} s", f"{CLOCKS_S} s at most")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
