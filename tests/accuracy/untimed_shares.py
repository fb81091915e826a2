#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/untimed_shares.py - times and shares of locks that are not timed each time

What such locks cost in exactness hangs on samples: programs that know their own path run with
other rates, with the timer as sampler, and with all signals blocked. The path must be what the
program says, but for what the report admits; the lock's share must be right in the middle one of
several runs. Prints TAP and a summary.
"""

import functools
import json
import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import known_paths
import looks
from machine import hold_perf_event
from profiled import PROGRAMS, Profiler, profiled_environment, read
from results import Results
from untimed_locks import LOCKS, cases

PATH = 0.01  # of itself, beside what the report says that edges are short of
SHARE = 0.02  # of the path
RUNS = 5  # the middle one of which must be it
# With a hundred samples each, or so many that their interrupts count: one such share is 0.01 off, most times.
MORE_RUNS = 9
NESTED = 0.05  # of the time; a section that ends where the inner read does is 0.37 short


def get_report(folder, program, settings, prepare):
    dump = folder / "dump"
    command = [str(PROGRAMS / program)]
    options = {"env": profiled_environment(dump, **settings), "preexec_fn": prepare}
    expected = json.loads(known_paths.run_undisturbed(command, dump, **options))
    report = read(dump)
    dump.unlink()
    return expected, report


def look_at(name, expected, report):
    """Return the look at one run."""
    look = known_paths.Look()
    whole, diagnostics = report["program"], report["diagnostics"]
    path_s = expected["critical_path_s"]
    short_s = path_s - whole["critical_path_s"]
    # The program's own clock cannot tell the profiler's time, which is not on its path, from its own.
    limit_s = diagnostics["untimed_handoffs_s"] + diagnostics["probe_s"] + PATH * path_s
    good = -PATH * path_s <= short_s <= limit_s
    limits = f"{-PATH * path_s:.4f} s to {limit_s:.4f} s, which is admitted"
    found = f"{short_s:.4f} s of {path_s:.4f} s"
    look.time(good, f"{name}: the path is short by", found, limits)
    return look


def lock_share(program, expected, report):
    """What the report says of the lock, and what the program does, both of the path."""
    wanted = [c for c in expected["components"] if c["name"] == LOCKS[program]]
    found = [c for c in report["components"] if (c["kind"], c["name"]) == ("lock", LOCKS[program])]
    got_s = found[0]["critical_path_s"] if found else 0
    path_s = expected["critical_path_s"]
    return got_s / path_s, wanted[0]["critical_path_s"] / path_s


def check_shares(results, name, program, runs):
    """
    The lock's share is right in the middle of the runs. That of one hangs on a hundred samples, and
    one that the hypervisor lengthens a section of counts as a whole period.
    """
    shares = sorted((lock_share(program, *run) for run in runs), key=lambda each: each[0] - each[1])
    got, wanted = shares[len(shares) // 2]
    text = f"{name}: the lock's share, in the middle of {len(runs)} runs"
    results.compare(abs(got - wanted) <= SHARE, text, f"{got:.4f}", f"{wanted:.4f} +- {SHARE}")


def nested(results, folder):
    """A read inside another of the same lock neither ends that one nor counts twice."""
    profiler, shares = Profiler(folder), []
    for _ in range(RUNS):
        report, wanted = profiler.profile("nested_reads")
        lock = [c for c in report["components"] if c["name"] == "nested_lock"]
        path_s = report["program"]["critical_path_s"]
        shares.append(lock[0]["critical_path_s"] / path_s if lock else 0)
    got, wanted = sorted(shares)[RUNS // 2], float(wanted)
    text = f"nested_reads: the lock's share, in the middle of {RUNS} runs"
    results.compare(abs(got - wanted) <= NESTED, text, f"{got:.4f}", f"{wanted:.4f} +- {NESTED}")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="untimed.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    hold_perf_event()
    for name, program, settings, prepare, untimed in cases():
        if not untimed:
            continue  # what the profiler took is in the program's own clock, and seen there
        run = functools.partial(get_report, folder, program, settings, prepare)
        try:
            often = MORE_RUNS if "00 Hz" in name else RUNS
            runs = [run() for _ in range(often)]
            looks.decide(results, [look_at(name, *each) for each in runs])
            check_shares(results, name, program, runs)
        except looks.Busy as error:
            results.skip(name, error)
        except (RuntimeError, ValueError, KeyError) as error:
            results.check(False, f"{name}: {error!r}")
    nested(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
