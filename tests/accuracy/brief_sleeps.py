#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/brief_sleeps.py - a thread that looks again and again, with brief sleeps in between, is idle

How much CPU time a sleep itself takes depends on the machine: so this is statistical. Prints TAP.
"""

import os
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from profiled import BUILD, profiled_environment, read
from results import Results

MOST = 0.02  # of the critical path


def main():
    results = Results()
    with tempfile.TemporaryDirectory(prefix="brief_sleeps.") as folder:
        for us in (0, 1, 20, 100, 1000):
            dump = os.path.join(folder, f"{us}.dump")
            program = [BUILD / "tests/programs/brief_sleeps", str(us)]
            subprocess.run(program, env=profiled_environment(dump), check=True)
            profile = read(dump)
            path_s = profile["program"]["critical_path_s"]
            kinds = [c for c in profile["components"] if c["kind"] == "external"]
            slept_s = sum(c["critical_path_s"] for c in kinds)
            work = [c for c in profile["components"] if c["name"] == "work" and c["kind"] == "thread"][0]
            text = f"sleeps of {us} us: {slept_s:.4f} of {path_s:.4f} s of the path, work {work['cpu_s']:.4f} s"
            results.check(slept_s <= MOST * path_s and path_s <= (1 + MOST) * work["cpu_s"], text)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
