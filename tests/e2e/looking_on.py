#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/looking_on.py - a mutex that another thread has for a moment need not be blocked for

To block takes many times as long as a short section, which cpa makes longer. In lock_only one thread
computes, and one does nothing but lock, which blocks in many sections without cpa. With cpa it must
look on instead, though it computes nothing itself.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import looks
from machine import hold_perf_event
from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
LABEL = "a thread that does nothing but lock blocks in few of the other's sections"
OFTEN = 0.05  # of the sections; where it does so in fewer without cpa, that is no measure
LESS = 4  # times; 40 times and more were seen


def blocked(environment):
    """In how many sections the thread blocked that does nothing else, as a share of all."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CPA_")}
    done = subprocess.run([BUILD / "tests/programs/lock_only"], env={**clean, **environment},
                          stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    return found["blocked"] / found["sections"]


def profiled(dump):
    dump.unlink(missing_ok=True)  # or the next run is not profiled
    share = blocked({"LD_PRELOAD": str(BUILD / "libcpa.so"), "CPA_OUTPUT": str(dump),
                     "CPA_QUIET": "1"})
    if not dump.exists():
        raise FileNotFoundError("lock_only left no dump")
    return share


def take(dump):
    look = looks.Look()
    native = looks.left_alone(lambda: blocked({}))
    with_cpa = looks.left_alone(lambda: profiled(dump))
    good = with_cpa <= max(native, OFTEN) / LESS
    look.time(good, LABEL, f"({with_cpa:.1%}; without cpa {native:.1%})")
    return look


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-looking-on."))
    hold_perf_event()
    try:
        looks.check(results, lambda: take(folder / "dump"))
    except looks.Busy as error:
        results.skip(LABEL, error)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
