#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/untimed_locks.py - locks that are not timed each time, with every kind of sampler

What such locks cost in exactness hangs on samples: programs that know their own path run with
other rates, with the timer as sampler, and with all signals blocked. The path must be what the
program says, but for what the report admits; the lock's share must be right in the middle one of
several runs. Prints TAP and a summary.
"""

import argparse
import functools
import json
import os
import pathlib
import signal
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import known_paths
import looks
from machine import PERF_EVENT_OPEN, hold_perf_event
from results import Results
from surroundings import TIMER_CREATE, deny

PROGRAMS = ("private_lock", "long_section", "burst_locks")
LOCKS = {"private_lock": "private_lock", "long_section": "short_lock", "burst_locks": "burst_lock"}
TILES = 0.001  # of the wall time
PATH = 0.01  # of itself, beside what the report says that edges are short of
SHARE = 0.02  # of the path
RUNS = 5  # the middle one of which must be it
# With a hundred samples each, or so many that their interrupts count: one such share is 0.01 off, most times.
MORE_RUNS = 9
NESTED = 0.05  # of the time; a section that ends where the inner read does is 0.37 short


def block_signals():
    """To be called in the child: the sampler's signal never arrives."""
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))


def get_report(arguments, folder, program, settings, prepare):
    dump = str(folder / "dump")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
    environment.update(settings, CPA_OUTPUT=dump, CPA_QUIET="1")
    environment["LD_PRELOAD"] = str(arguments.build / "libcpa.so")
    command = [str(arguments.build / "tests/programs" / program)]
    options = {"env": environment, "preexec_fn": prepare}
    expected = json.loads(known_paths.run_undisturbed(command, dump, **options))
    report = known_paths.run([str(arguments.build / "cpa-report"), "--format", "json", dump])
    os.unlink(dump)
    return expected, json.loads(report)


def check(name, expected, report, untimed):
    """Return the look at one run. @untimed: whether locks can go untimed, with this sampler."""
    look = known_paths.Look()
    whole, diagnostics = report["program"], report["diagnostics"]
    count = diagnostics["untimed"]
    look.check((count > 0) == untimed, f"{name}: uses of locks were not timed: {untimed}", count)

    wall_s = whole["wall_s"]
    segments = sum(report["program"]["observed_segments"].values())
    look.close(f"{name}: the observed path", segments, wall_s, TILES * wall_s)
    for key in ("critical_path_s", "saved_s"):
        most = max(report["components"], key=lambda c: c[key])
        good = most[key] <= whole["critical_path_s"] + 1e-6
        look.check(good, f"{name}: {key} is no more than the whole path", most["name"])

    path_s = expected["critical_path_s"]
    if not untimed:
        return look  # what the profiler took is in the program's own clock, and seen there
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


def nested(results, arguments, folder):
    """A read inside another of the same lock neither ends that one nor counts twice."""
    shares = []
    for _ in range(RUNS):
        dump = str(folder / "nested.dump")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
        environment.update(CPA_OUTPUT=dump, CPA_QUIET="1")
        environment["LD_PRELOAD"] = str(arguments.build / "libcpa.so")
        wanted = float(
            known_paths.run([str(arguments.build / "tests/programs/nested_reads")], env=environment)
        )
        text = known_paths.run([str(arguments.build / "cpa-report"), "--format", "json", dump])
        os.unlink(dump)
        report = json.loads(text)
        lock = [c for c in report["components"] if c["name"] == "nested_lock"]
        path_s = report["program"]["critical_path_s"]
        shares.append(lock[0]["critical_path_s"] / path_s if lock else 0)
    got = sorted(shares)[RUNS // 2]
    text = f"nested_reads: the lock's share, in the middle of {RUNS} runs"
    results.compare(abs(got - wanted) <= NESTED, text, f"{got:.4f}", f"{wanted:.4f} +- {NESTED}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    build = os.environ.get("CPA_BUILD", "build")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(build))
    parser.add_argument("program", nargs="*", default=PROGRAMS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    arguments.build = arguments.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-untimed."))
    results = Results()
    hold_perf_event()
    no_perf = deny(PERF_EVENT_OPEN, error=13)
    cases = (
        ("no samples", {"CPA_SAMPLE_HZ": "0"}, None, False),
        ("100 Hz", {"CPA_SAMPLE_HZ": "100"}, None, True),
        ("10000 Hz", {"CPA_SAMPLE_HZ": "10000"}, None, True),
        ("timer", {}, no_perf, True),
        ("no sampler", {}, deny(PERF_EVENT_OPEN, TIMER_CREATE), False),
        ("signals blocked", {}, block_signals, True),
        ("no rseq", {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}, None, False),
    )
    for case, settings, prepare, untimed in cases:
        for program in arguments.program:
            if case == "no rseq" and program != "burst_locks":
                continue  # a system call for each event: they take their time
            if case == "10000 Hz" and program == "burst_locks":
                continue  # 5 % of its time are the samples' interrupts: its own claim is off
            name = f"{program}, {case}"
            run = functools.partial(get_report, arguments, folder, program, settings, prepare)
            try:
                often = MORE_RUNS if case in ("100 Hz", "10000 Hz") else RUNS
                runs = [run() for _ in range(often if untimed else 1)]
                looks.decide(results, [check(name, *each, untimed) for each in runs])
                if untimed:
                    check_shares(results, name, program, runs)
            except looks.Busy as error:
                results.skip(name, error)
            except (RuntimeError, ValueError, KeyError) as error:
                results.check(False, f"{name}: {error!r}")
    nested(results, arguments, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
