#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/capacity.py - very many threads over a run, a few at a time

Each is in the figures, as are its operations, and the session does not grow with them: it is as large
with twice as many. 40,000 threads; with CPA_LONG=1 as many as are promised, 1,000,000. Prints TAP
and a summary.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
PROGRAM = BUILD / "tests/programs/passing_threads"
COUNT = 1_000_000 if os.environ.get("CPA_LONG") else 40_000
# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 850
# A thread has some 36 KiB of the session until its row is used again, and how many wait for that changes
# from run to run. With half of the threads all have been in use: what is more is that of 30 threads.
GROWTH = 1 << 20
STATUS = 3


class Run:
    """@count threads under libcpa.so."""

    def __init__(self, folder, count):
        dump = folder / f"{count}.dump"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
        environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump))
        begin = time.monotonic()
        done = subprocess.run(
            [PROGRAM, str(count)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=environment,
            check=False,
        )
        self.seconds = time.monotonic() - begin
        self.said = (done.stdout, done.stderr, done.returncode)
        self.bytes = dump.stat().st_blocks * 512
        text = subprocess.run(
            [BUILD / "cpa-report", "--format", "json", "--top", "100000", dump],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        ).stdout
        self.report = json.loads(text)
        dump.unlink()


def check(results, run, count):
    good = run.said == (f"{count}\n", "", STATUS)
    results.check(good, f"{count} threads: prints and returns what it should {run.said}")
    threads = run.report["threads"]
    found = sum(1 + thread["earlier_threads"] for thread in threads)
    text = f"{count} threads: {found} in {len(threads)} rows, with main"
    results.check(found == count + 1, text)
    used = {each["kind"]: each["acquisitions"] for each in run.report["objects"]}
    good = used.get("mutex") == count + 1 and used.get("semaphore") == count // 4
    results.check(good, f"{count} threads: operations {used}")
    lost = {k: v for k, v in run.report["diagnostics"].items() if "untracked" in k or "refused" in k}
    results.check(not any(lost.values()), f"{count} threads: nothing is lost {lost}")
    print(f"# {count} threads: {run.seconds:.1f} s, {run.bytes >> 10} KiB")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="capacity.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    few, many = (Run(folder, count) for count in (COUNT // 2, COUNT))
    check(results, few, COUNT // 2)
    check(results, many, COUNT)
    text = f"the session of twice as many: {few.bytes >> 10} KiB, then {many.bytes >> 10} KiB"
    results.check(many.bytes <= few.bytes + GROWTH, text)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
