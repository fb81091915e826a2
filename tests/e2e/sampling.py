#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/sampling.py - with each kind of sampler and without one, the figures fit together

The programs block signals from some time on, only at first, or now and then. In others the sampler changes in an
activity or in a wait, or threads spin in waits. How many samples there are and what they tell is looked at by
tests/accuracy/sampling.py. Prints TAP and a summary.
"""

import ctypes
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from profiled import PROGRAMS, ROUNDING_S, TIMEOUT_S, check_contradictions, profiled_environment
from profiled import read, run, verify
from results import Results
from surroundings import PERF_EVENT_OPEN, TIMER_CREATE, deny

UNSAMPLED = "(not sampled)"
# A name, settings, what prepares the child, and whether there is a sampler.
CASES = (
    ("default", {}, None, True),
    ("1000 a second", {"CPA_SAMPLE_HZ": "1000"}, None, True),
    ("the timer", {"CPA_SAMPLE_HZ": "250"}, deny(PERF_EVENT_OPEN, error=13), True),
    ("no sampler", {}, deny(PERF_EVENT_OPEN, TIMER_CREATE, error=13), False),
    ("no samples", {"CPA_SAMPLE_HZ": "0"}, None, False),
)


def check(results, program, case, folder):
    name, settings, prepare, sampled = case
    label, dump = f"{program}, {name}", folder / "dump"
    subprocess.run(
        [PROGRAMS / program],
        env=profiled_environment(dump, CPA_JOURNAL="64M", **settings),
        preexec_fn=prepare,
        stdout=subprocess.DEVNULL,
        timeout=TIMEOUT_S,
        check=True,
    )
    report = read(dump)
    samples = report["diagnostics"]["samples"]
    results.check((samples > 0) == sampled, f"{label}: {samples} samples")
    functions = [c for c in report["components"] if c["kind"] == "function"]
    if not sampled:
        names = [c["name"] for c in functions]
        results.check(names == [UNSAMPLED], f"{label}: all is no function's: {names}")
    cpu_s, whole_s = sum(c["cpu_s"] for c in functions), report["program"]["cpu_s"]
    good = 0 < cpu_s <= whole_s + ROUNDING_S * (len(functions) + 1)
    results.check(good, f"{label}: functions have {cpu_s:.6f} s of {whole_s:.6f} s")
    check_contradictions(results, label, report)
    good, text = verify(dump)
    results.check(good, f"{label}: {'as its journal' if good else text}")
    dump.unlink()


def check_wait(results, folder):
    """The time of a change of the sampler in a wait is on the observed path once."""
    source, dump = pathlib.Path(__file__).with_name("slow_barrier.c"), folder / "dump"
    program, library = folder / "slow_barrier", folder / "slow_barrier.so"
    run(["gcc", "-O2", "-pthread", source, "-o", program])
    run(["gcc", "-O2", "-D_GNU_SOURCE", "-DLIBRARY", "-shared", "-fPIC", source, "-o", library])
    settings = profiled_environment(dump, CPA_JOURNAL="64M")
    settings["LD_PRELOAD"] += f":{library}"
    run([program], env=settings)
    report = read(dump)
    check_contradictions(results, f"a slow barrier, {report['diagnostics']['samples']} samples", report)
    good, text = verify(dump)
    results.check(good, f"a slow barrier: {'as its journal' if good else text}")
    dump.unlink()


def check_parts(results, folder, filters):
    """Time without profiling is none in which samples stay away: the timer that a stop left goes on."""
    for name, prepare in ("a perf event", None), ("no perf event", deny(PERF_EVENT_OPEN, error=13)):
        if prepare and not filters:
            continue
        settings = profiled_environment(folder / "dump")
        said = run([PROGRAMS / "sampled_parts"], env=settings, preexec_fn=prepare)
        pairs = {tuple(line.split()) for line in said.splitlines()}
        good = len(pairs) == 1 and len(set(*pairs)) == 1
        results.check(good, f"parts of a run, {name}: the timer's interval is the same, in us: {pairs}")
        (folder / "dump").unlink()


def check_masked(results, folder):
    """Time in which a thread blocks the timer's signal is not that of the function that lets it in."""
    dump = folder / "dump"
    for settings in {}, {"CPA_BY": "caller:1"}:
        run([PROGRAMS / "masked_often"], env=profiled_environment(dump, **settings),
            preexec_fn=deny(PERF_EVENT_OPEN, error=13))
        functions = {c["name"].removesuffix(" <- main"): c["cpu_s"] for c in read(dump)["components"] if c["kind"] == "function"}
        cpu_s = sum(functions.values())
        # A period of the timer in which a block begins or ends counts for either.
        open_s, unknown_s = (functions.get(name, 0) / cpu_s for name in ("open_to_all", UNSAMPLED))
        results.check(open_s > 0.4 and unknown_s > 0.4,
                      f"signals are blocked half of the time, {settings}: {functions}")
        dump.unlink()


def may_open_perf_event():
    """Whether the kernel gives this process a perf event of its CPU time, without samples of the kernel."""
    only_user = 1 << 5 | 1 << 6  # exclude_kernel, exclude_hv
    attr = struct.pack("IIQQQQQ", 1, 112, 0, 1000000, 0, 0, only_user).ljust(112, b"\0")
    fd = ctypes.CDLL(None, use_errno=True).syscall(PERF_EVENT_OPEN, attr, 0, -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def check_blocked(results, folder):
    """A thread that no longer blocks signals keeps no perf event, whether profiling is on or off."""
    for state in ("on", "off"):
        settings = profiled_environment(folder / "dump", CPA_START=state)
        said = run([PROGRAMS / "unblocks_later"], env=settings).split()
        if not may_open_perf_event():
            results.skip("blocked signals", "the kernel refuses perf events")
            break
        results.check(said == ["1", "0"], f"profiling {state}: perf events of a child that blocks signals, "
                      f"and that does no more: {said}")
        (folder / "dump").unlink(missing_ok=True)


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sampling.", dir=os.environ.get("CPA_TMP")))
    refuse = deny(PERF_EVENT_OPEN, error=13)
    filters = subprocess.run(["true"], preexec_fn=refuse, check=False).returncode == 0
    for case in CASES:
        if case[2] and not filters:
            results.skip(case[0], "no seccomp filters here")
            continue
        for program in ("masked_late", "one_activity", "spin_wait"):
            check(results, program, case, folder)
    check_wait(results, folder)
    check_parts(results, folder, filters)
    if filters:
        check_masked(results, folder)
    check_blocked(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
