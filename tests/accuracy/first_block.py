#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/first_block.py - what a program waited for before cpa's clock began is no part of its first block

A program starts on the processor of a busy loop, so it waits for that processor before it sleeps for the
first time. The kernel ends no sleep early: all of it is a sleep, and none is run-queue time. The same of
a child that the program makes. If the thread loses its processor once more while it reads how long it waited for
one, that counts, too, and the sleep is as much shorter. Prints TAP.
"""

import os
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from profiled import profiled_environment, read
from results import Results

SLEEP_S = 0.05
RATE = 0.001  # by which cpa's clock and the kernel's may run apart
RUNS = 3
LOOP_S = 60  # at most
COMMANDS = {
    "a program": ["sleep", str(SLEEP_S)],
    "a child": ["sh", "-c", f"sleep {SLEEP_S}; :"],
}


def slept_s(dump):
    components = read(dump)["components"]
    found = [c for c in components if c["kind"] == "external" and c["name"] == "sleep"]
    return sum(c["critical_path_s"] for c in found)


def main():
    results = Results()
    processor = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    with tempfile.TemporaryDirectory(prefix="first_block.") as folder, subprocess.Popen(
        ["timeout", str(LOOP_S), "sh", "-c", "while :; do :; done"]
    ) as loop:
        for run in range(RUNS):
            for name, command in COMMANDS.items():
                dump = os.path.join(folder, "run.dump")
                subprocess.run(command, env=profiled_environment(dump), check=True)
                found = slept_s(dump)
                text = f"{name} sleeps, run {run + 1}: all of it is a sleep"
                text += f": {found:.6f} of {SLEEP_S} s"
                results.check(found >= SLEEP_S * (1 - RATE), text)
                os.unlink(dump)
        loop.terminate()
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
