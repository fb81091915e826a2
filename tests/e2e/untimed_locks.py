#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/untimed_locks.py - whether locks are timed each time, with every kind of sampler and clock

A lock that one thread keeps is timed now and then where samples tell its share, and each time where
there are none. In either case the report adds up, and it is its journal's to the tick. A sample makes the
next lock timed, so that the activity it is in ends there: functions have their shares all the same. Whether the
times of locks are right is looked at by tests/accuracy/untimed_locks.py. Prints TAP and a summary.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from profiled import PROGRAMS, TIMEOUT_S, Profiler, check_contradictions, profiled_environment
from profiled import read, verify
from results import Results
from surroundings import PERF_EVENT_OPEN, TIMER_CREATE, deny

LOCKS = {"private_lock": "private_lock", "long_section": "short_lock", "burst_locks": "burst_lock"}


def block_signals():
    """To be called in the child: the sampler's signal never arrives."""
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))


# A name, settings, what prepares the child, and whether locks can go untimed.
CASES = (
    ("no samples", {"CPA_SAMPLE_HZ": "0"}, None, False),
    ("100 Hz", {"CPA_SAMPLE_HZ": "100"}, None, True),
    ("10000 Hz", {"CPA_SAMPLE_HZ": "10000"}, None, True),
    ("timer", {}, deny(PERF_EVENT_OPEN, error=13), True),
    ("no sampler", {}, deny(PERF_EVENT_OPEN, TIMER_CREATE), False),
    ("signals blocked", {}, block_signals, True),
    ("no rseq", {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}, None, False),
)


def cases():
    """Each of CASES with the programs that can be run so; @name of both, program and the rest."""
    for case, settings, prepare, untimed in CASES:
        for program in LOCKS:
            if case == "no rseq" and program != "burst_locks":
                continue  # a system call for each event: they take their time
            if case == "10000 Hz" and program == "burst_locks":
                continue  # 5 % of its time are the samples' interrupts: its own claim is off
            yield f"{program}, {case}", program, settings, prepare, untimed


def check(results, name, program, settings, prepare, untimed, folder):
    dump = folder / "dump"
    environment = profiled_environment(dump, CPA_JOURNAL="64M", **settings)
    # Whether its threads had the time that it claims is its own affair: known_paths.py.
    subprocess.run(
        [PROGRAMS / program],
        env=environment,
        preexec_fn=prepare,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    report = read(dump)
    count = report["diagnostics"]["untimed"]
    text = f"{name}: {count} uses of locks were not timed"
    results.check((count > 0) == untimed, f"{text}: {'some' if untimed else 'none'} can be")
    check_contradictions(results, name, report)
    good, text = verify(dump)
    results.check(good, f"{name}: {'as its journal' if good else text}")
    found = [o for o in report["objects"] if o["class"] == LOCKS[program]]
    results.check(len(found) == 1, f"{name}: its lock is one object: {len(found)}")
    dump.unlink()


def check_functions(results, kind, folder):
    """The program's share by construction, and five standard deviations of as many samples."""
    report, _ = Profiler(folder).profile("locks_between", kind)
    total = {
        c["name"]: c["total_s"]
        for c in report["components"]
        if c["kind"] == "function" and c["name"] in ("nine_parts", "one_part")
    }
    share = total.get("nine_parts", 0) / (sum(total.values()) or 1)
    samples = report["diagnostics"]["samples"]
    margin = 5 * (0.9 * 0.1 / max(samples, 1)) ** 0.5
    text = f"locks_between {kind}: nine parts of ten have {share:.3f}, by {samples} samples"
    results.check(abs(share - 0.9) <= margin, f"{text}: at most {margin:.3f} off")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="untimed.", dir=os.environ.get("CPA_TMP")))
    for case in cases():
        check(results, *case, folder)
    for kind in ("mutex", "read"):
        check_functions(results, kind, folder)
    report, _ = Profiler(folder).profile("nested_reads")
    count = report["diagnostics"]["untimed"]
    results.check(count > 0, f"nested_reads: {count} were not timed")
    check_contradictions(results, "nested_reads", report)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
