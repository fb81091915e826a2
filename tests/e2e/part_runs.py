# SPDX-License-Identifier: MIT
"""tests/e2e/part_runs.py - runs with parts, and what is asked of each: for parts.py and switches.py"""
import json
import os
import subprocess
import time

import layout
from profiled import contradictions

BUILD = os.path.abspath(os.environ.get("CPA_BUILD", "build"))
TMP = os.environ.get("CPA_TMP", "/tmp")
TILES_S = 1e-3
EPOCH, = layout.values("offsetof(struct cpa_header, epoch)")


def environment(dump, **more):
    if os.path.exists(dump):
        os.unlink(dump)
    return dict(os.environ, LD_PRELOAD=f"{BUILD}/libcpa.so", CPA_OUTPUT=dump, CPA_QUIET="1", **more)


def report(dump):
    done = subprocess.run([f"{BUILD}/cpa-report", "--format", "json", dump],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def ctl(*arguments):
    return subprocess.run([f"{BUILD}/cpa", "ctl", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def await_true(condition):
    """Not a limit on speed: what takes this long hangs."""
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("hangs")
        time.sleep(0.01)


def epoch(dump):
    """One begins with each switch: 1 is on from the start, 2 off, and so on. 0: none yet."""
    try:
        with open(dump, "rb") as file:
            file.seek(EPOCH)
            return int.from_bytes(file.read(8), "little")
    except FileNotFoundError:
        return 0


def await_window(dump, before):
    """
    Somebody who keeps a budget has begun a window, and so is ready, since epoch @before. (Not a new part in the
    report: that lacks the present part until a thread has had an event in it.)
    """
    await_true(lambda: epoch(dump) >= before + 1 + before % 2)


def tiles(found):
    program = found["program"]
    return abs(program["observed_path_s"] - program["wall_s"]) < TILES_S


def sums(results, name, found):
    odd = list(contradictions(found))
    results.check(not odd, f"{name}: the report adds up {'; '.join(odd)}".rstrip())
