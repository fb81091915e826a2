#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/jumps.py - a signal handler that jumps out of a call leaves nothing behind that cpa waits for

cpa opens no descriptor while a call of the program takes a number. After jumps out of such calls, and after
switches of coroutines in them, it must open its file with a thread's delay on the run queue as in a program
whose handlers return. Prints TAP and a
summary.
"""

import os
import pathlib
import sys
import tempfile

from profiled import PROGRAMS, profiled_environment, run
from results import Results


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
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
