#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/slow_ends.py - the end of a stream depends on who made it, however long that call takes

With tests/plugins/slow_close.so each close(), close_range() and shutdown() takes 50 ms before the kernel does
it, as if the thread lost its processor there. The descriptors of the streams of tests/programs/slow_ends are
not counted, but for those of "range"; nor are those of the pipe of `parts inherited`. A wait for an end that was
made by who is seen is no time of input from outside; for one made by another process, later, it is.
"""

import os
import pathlib
import sys
import tempfile

from profiled import BUILD, PROGRAMS, profiled_environment, read, run, verify, waited_or_ready_s
from results import Results

SLOW_CLOSE = BUILD / "tests/plugins/slow_close.so"
UNIT_S = 0.02
PIECE = 0.03  # as in streams.py
# With how many units on the path.
SEEN = {"closed": 6, "met": 6, "two": 6, "shut": 6, "range": 6}
UNSEEN = ("cancelled", "left", "copied")
ASLEEP_S = 0.02  # for which who is not seen lets a reader sleep, at least
INHERITED_S = 0.060 + 0.040  # of work on the path


def check(results, name, command, folder, least_s, **settings):
    """@least_s: of the path; None: whoever makes the end is not seen."""
    dump = folder / f"{name}.dump"
    environment = profiled_environment(dump, CPA_JOURNAL="16M", **settings)
    environment["LD_PRELOAD"] += f":{SLOW_CLOSE.resolve(strict=True)}"
    run(command, env=environment)
    profile = read(dump)
    external = {c["name"]: c["total_s"] for c in profile["components"] if c["kind"] == "external"}
    waited = external.get("input", 0)
    if least_s is None:
        good = waited_or_ready_s(profile, "input") >= ASLEEP_S
        results.check(good, f"{name}: the wait was for input: {external}")
    else:
        results.check(not waited, f"{name}: no wait for input from outside: {external}")
        path_s, least_s = profile["program"]["critical_path_s"], least_s * (1 - PIECE)
        results.check(path_s >= least_s, f"{name}: a path of {path_s:.4f} s, at least {least_s:.4f} s")
    good, text = verify(dump)
    results.check(good, f"{name}: {text}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slow_ends.", dir=os.environ.get("CPA_TMP")))
    program = PROGRAMS / "slow_ends"
    for name, units in SEEN.items():
        check(results, name, [program, name], folder, units * UNIT_S)
    for name in UNSEEN:
        check(results, name, [program, name], folder, None)
    command = [PROGRAMS / "parts", "inherited"]
    check(results, "inherited", command, folder, INHERITED_S, CPA_START="off")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
