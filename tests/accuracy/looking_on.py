#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/looking_on.py - cpa makes threads block neither more often nor less often

A mutex is looked on before it is blocked for, for as long as cpa makes a section longer. In
lock_only one thread computes, and one does nothing but lock, which blocks in 0.1 to 90 % of the
sections natively: that hangs on the machine and on what else runs there. So the program runs
natively, with cpa, and with cpa that does not look on (CPA_LOOK_ON=off), in turns. Prints TAP.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
TURNS = 7
APART = 0.10  # of the sections


def blocked(dump, settings):
    """In how many sections the thread blocked that does nothing else, as a share of all."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CPA_")}
    if settings is not None:
        dump.unlink(missing_ok=True)  # or the next run is not profiled
        environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), **settings)
    program = BUILD / "tests/programs/lock_only"
    done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, check=True)
    if settings is not None and not dump.exists():
        raise FileNotFoundError("lock_only left no dump")
    found = json.loads(done.stdout)
    return found["blocked"] / found["sections"]


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-looking-on."))
    ways = {"native": None, "cpa": {}, "cpa, not looking on": {"CPA_LOOK_ON": "off"}}
    found = {way: [] for way in ways}
    for _ in range(TURNS):
        for way, settings in ways.items():
            found[way].append(blocked(folder / "dump", settings))
    middle = {way: statistics.median(shares) for way, shares in found.items()}
    for way, shares in found.items():
        print(f"# {way}: {' '.join(f'{share:.1%}' for share in sorted(shares))}")
    for other in ("native", "cpa, not looking on"):
        good = abs(middle["cpa"] - middle[other]) <= APART
        results.check(good, f"sections blocked in: cpa {middle['cpa']:.1%}, {other} {middle[other]:.1%}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
