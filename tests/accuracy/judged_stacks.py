#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/judged_stacks.py - stacks have the frames that gdb finds

gdb stops programs of Debian, stripped as they are, wherever they happen to be: STACKS stacks of each. Equal
means: as many frames, and the same function in each, from the innermost one to the thread's start. Prints
TAP. Arguments: programs, default all.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from callers import COMMANDS, COMPLETE, INPUT
from profiled import BUILD, clean_environment
from results import Results

STACKS = os.environ.get("STACKS", "100")
TIMEOUT_S = 900
JUDGE = pathlib.Path(__file__).with_name("gdb_frames.py")


def judge(folder, command):
    """What gdb says of the program that the shell's @command runs."""
    settings = {"LD_PRELOAD": BUILD / "libcpa.so", "CPA_OUTPUT": folder / "judged.dump",
                "CPA_QUIET": "1"}
    (folder / "judged.dump").unlink(missing_ok=True)
    options = ["-q", "-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "set debuginfod enabled off"]
    for name, value in settings.items():
        options += ["-ex", f"set environment {name} {value}"]
    gdb = " ".join(f"'{each}'" for each in [*options, "-x", str(JUDGE), "--args"])
    done = subprocess.run(
        command.replace("LD_PRELOAD=$CPA ", f"gdb {gdb} "), shell=True, cwd=folder, capture_output=True,
        env=clean_environment(STACKS=STACKS), timeout=TIMEOUT_S, check=False,
    )
    return done.stdout.decode(errors="replace")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="judged.", dir=os.environ.get("CPA_TMP")))
    if shutil.which("gdb"):
        subprocess.run(INPUT, shell=True, cwd=folder, check=True)
    for name, command in COMMANDS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        if not shutil.which("gdb") or not shutil.which(name):
            results.skip(f"{name}: frames", "it is not installed, or gdb")
            continue
        text = judge(folder, command)
        found = re.search(r"(\d+) of (\d+) stacks are equal, with (\d+) frames; (\d+) in", text)
        for line in re.findall(r"^not equal: .*", text, re.MULTILINE)[:5]:
            print(f"# {line}")
        if not found:
            results.check(False, f"{name}: gdb ran: {' '.join(text.split()[-20:])}")
            continue
        equal, stacks, frames, others = map(int, found.groups())
        label = f"{name}: stacks as gdb has them, of {stacks}, with {frames} frames ({others} where gdb guesses)"
        results.compare(stacks and equal / stacks >= COMPLETE, label, str(equal), f"{COMPLETE} of them")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
