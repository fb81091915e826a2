#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/jumps.py - a signal handler that jumps out of a call leaves nothing behind that cpa waits for

cpa opens no descriptor while a call of the program takes a number. After jumps out of such calls, and after
switches of coroutines in them, it must open its file with a thread's delay on the run queue as in a program
whose handlers return. A thread may jump out of the code of cpa in the middle of an event. Then the journal has no
record of that event, and `cpa-report --verify` says that events are missing, and reports no difference.
"""

import os
import pathlib
import sys
import tempfile

from profiled import PROGRAMS, profiled_environment, run, verify
from results import Results

# How a thread leaves cpa's code for good, and what it did: tests/programs/leave_inside.c
LEAVES = {"jump": "jumps out of it", "exit": "ends in it", "stop": "is in it when the program ends"}


def leave_inside(results, folder):
    """It is not known whether the threads were in the middle of events; of so many some nearly always were."""
    for how, what in LEAVES.items():
        dump = folder / f"inside-{how}.dump"
        run([PROGRAMS / "leave_inside", how], env=profiled_environment(dump, CPA_JOURNAL="64M"))
        equal, said = verify(dump)
        half = "in the middle of an event" in said and "equal: events" in said
        unknown = "events have no record" in said or half
        results.check(equal or (unknown and "DIFFERENT" not in said), f"a thread {what}: {said}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jumps.", dir=os.environ.get("CPA_TMP")))
    said = {}
    for how in ("stay", "jump", "switch"):
        said[how] = run([PROGRAMS / "jump_numbers", how], env=profiled_environment(folder / f"{how}.dump")).strip()
    if said["stay"] == "open":
        results.check(said["jump"] == "open", f"after jumps out of dup() the delay's file is {said['jump']}")
        results.check(said["switch"] == "open", f"after jumps to another stack and back it is {said['switch']}")
    else:
        results.skip("the delay on the run queue", "the kernel does not show it")
    leave_inside(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
