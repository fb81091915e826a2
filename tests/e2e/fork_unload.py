#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/fork_unload.py - forks while libraries are unloaded: tests/e2e/fork_unload.c

The program runs as without cpa, and the child of a library's destructor has its part in the profile.
Prints TAP and a summary.
"""

import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile

from profiled import TIMEOUT_S, clean_environment, component, profiled_environment, read
from results import Results

SOURCE = pathlib.Path(__file__).with_suffix(".c")
COMPILE = [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-g", "-D_GNU_SOURCE", "-pthread",
           "-fno-optimize-sibling-calls", "-fPIC", SOURCE]


def run(folder, how, environment):
    """Exit status and output."""
    done = subprocess.run(
        [folder / "program", how, folder / "library.so"], env=environment, capture_output=True,
        text=True, timeout=TIMEOUT_S, check=False,
    )
    return done.returncode, done.stdout, done.stderr


def main():
    results = Results()
    if platform.machine() != "x86_64":
        results.skip("forks while libraries are unloaded", "the program is for x86-64")
        return results.end()
    folder = pathlib.Path(tempfile.mkdtemp())
    subprocess.run([*COMPILE, "-o", folder / "program"], check=True)
    subprocess.run([*COMPILE, "-DLIBRARY", "-shared", "-o", folder / "library.so"], check=True)
    for how in ("stale", "handler", "destructor"):
        dump = folder / f"{how}.cpa"
        wanted = run(folder, how, clean_environment())
        found = run(folder, how, profiled_environment(dump))
        results.check(found == wanted, f"{how}: {found}, without cpa {wanted}")
    report = read(folder / "destructor.cpa")
    results.check(component(report, "function", "work_of_child")["cpu_s"] > 0,
                  "destructor: samples of its child have their function")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
