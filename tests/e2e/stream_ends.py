#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/stream_ends.py - the end of a stream depends on who made it, and on nobody who did not

tests/programs/stream_ends and random_ends have a pipe whose last descriptor for writing is closed by a process that cpa
follows, however late; or by one that it does not, after all that it does have closed theirs. A wait for the
end is no time of input from outside in the first cases. In the others it is: the ends that were seen came
before the wait. Prints TAP and a summary.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

from profiled import PROGRAMS, TIMEOUT_S, profiled_environment, read, verify, waited_or_ready_s
from results import Results

UNIT_S = 0.02
PIECE = 0.03  # as in streams.py
ASLEEP_S = 0.02  # for which who is not seen lets a reader sleep, at least
SKIPPED = 77
SEEN = ("late", "late_cancelled", "overtaken", "copied", "program", "opened_again", "refused")
# With how many units on the path. Those of `late`, `late_cancelled` and `overtaken` have waits of the tracer, too.
PATHS = {"copied": 6, "program": 6, "opened_again": 6, "refused": 6}
# What closes the pipe last.
UNSEEN = (
    "killed",
    "aborted",
    "faulted",
    "strange_program",
    "strange_output",
    "unused",
    "vfork",
    "spawn",
    "bare_fork",
    "clone",
    "message",
    "cancelled",
    "raw_fork",
)


SEEDS = 12  # of each kind


def cases(chosen):
    """Name, command, whether all ends are seen. @chosen: names and seeds; empty: all, and seeds at random."""
    first = 2 * random.randrange(1 << 30)
    for name in SEEN + UNSEEN:
        if not chosen or name in chosen:
            yield name, ["stream_ends", name], name in SEEN
    for seed in filter(str.isdigit, chosen) if chosen else range(first, first + 2 * SEEDS):
        yield f"random {seed}", ["random_ends", str(seed)], None


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stream_ends.", dir=os.environ.get("CPA_TMP")))
    for name, command, seen in cases(sys.argv[1:]):
        dump = folder / "run.dump"
        done = subprocess.run(
            [PROGRAMS / command[0], command[1]],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env=profiled_environment(dump, CPA_JOURNAL="16M"),
        )
        if done.returncode == SKIPPED:
            results.skip(name, "no process may be traced here")
            continue
        if not results.check(done.returncode == 0, f"{name}: {done.returncode} {done.stderr!r}"):
            continue
        if command[0] == "random_ends":
            seen = "unseen 0" in done.stderr
        profile = read(dump)
        external = {
            c["name"]: c["total_s"] for c in profile["components"] if c["kind"] == "external"
        }
        waited = external.get("input", 0)
        if seen:
            results.check(not waited, f"{name}: no wait for input from outside: {external}")
        else:
            good = waited_or_ready_s(profile, "input") >= ASLEEP_S
            results.check(good, f"{name}: the wait was for input: {external}")
        if name in PATHS:
            least = PATHS[name] * UNIT_S * (1 - PIECE)
            path = profile["program"]["critical_path_s"]
            results.check(path >= least, f"{name}: a path of {path:.4f} s, at least {least:.4f} s")
        good, text = verify(dump)
        results.check(good, f"{name}: {text}")
        dump.unlink()
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
