#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_waits.py - waits of OpenMP: spinning, of one thread, the first of a team, with an unknown end

Prints TAP and a summary.
"""

import collections
import json
import os
import pathlib
import sys
import tempfile

from openmp_built import FLAGS, is_own, programs
from profiled import BUILD, check_contradictions, profiled_environment, read, run, verify
from results import Results

HERE = pathlib.Path(__file__)
FIRST = HERE.with_name("openmp_first.c")
LAST = HERE.with_name("openmp_last.c")
UNNAMED = HERE.with_name("openmp_waits.c")
RATE = 0.001  # by which cpa's clock and the kernel's may run apart
CHILDREN = 60  # as many as have rows of their own


def check_spinning(results, folder, program):
    """Threads that spin in a barrier have that time as wait on a processor, not as work."""
    label, dump = f"{program.name} spins", folder / f"{program.name}.spins.dump"
    environment = profiled_environment(dump, OMP_WAIT_POLICY="active", KMP_BLOCKTIME="infinite")
    expected = json.loads(run([program, "imbalanced", "2"], env=environment))
    report = read(dump)
    cpu_s, spun_s = report["program"]["cpu_s"], report["program"]["wait_cpu_s"]
    threads_s = sum(thread["wait_cpu_s"] for thread in report["threads"])
    work_s = cpu_s - spun_s - report["diagnostics"]["probe_s"]
    asked_s = expected["asked_us"] / 1e6
    good = 0 < spun_s < cpu_s and abs(threads_s - spun_s) < 1e-6 and work_s >= asked_s * (1 - RATE)
    results.check(good, f"{label}: {spun_s:.4f} s of {cpu_s:.4f} s, work {work_s:.4f} s of {asked_s:.4f} s")
    text = run([BUILD / "cpa-report", "--level", "thread", dump])
    said = "spinning on a processor" in text
    results.check(said == (spun_s >= 0.01 * cpu_s), f"{label}: the report says it if it is much")


def check_spinning_last(results, folder, compiler):
    """Threads of the pool that spin behind their last region are no threads that cpa did not meet."""
    program, dump = folder / f"last-{compiler}", folder / f"last-{compiler}.dump"
    run([compiler, *FLAGS, LAST, "-o", program])
    run([program], env=profiled_environment(dump, OMP_WAIT_POLICY="active", KMP_BLOCKTIME="infinite"))
    notes, missing = read(dump)["diagnostics"]["notes"], "threads or activities are missing"
    text = run([BUILD / "cpa-report", dump])
    good = not any(missing in note for note in notes) and "This may be off" not in text
    results.check(good, f"{program.name} spins to its end: {notes}")


def check_waits(results, folder, compiler):
    """A wait is on the observed path also if what ended it is not known."""
    program = folder / f"waits-{compiler}"
    run([compiler, *FLAGS, UNNAMED, "-o", program])
    for case in run([program]).split():
        label, dump = f"{program.name} {case}", folder / f"{program.name}.{case}.dump"
        if "clang" in compiler and case == "later_source":
            results.skip(label, "libomp waits for each iteration itself")
            continue
        run([program, case], env=profiled_environment(dump, CPA_JOURNAL="64M"))
        check_contradictions(results, label, read(dump))
        good, text = verify(dump)
        results.check(good, f"{label}: {'as its journal' if good else text}")


def check_alone(results, folder, program):
    """A team of one thread waits at its barriers for nobody."""
    for case in ("balanced", "rotating", "single"):
        dump = folder / f"{program.name}.{case}.alone.dump"
        run([program, case, "1"], env=profiled_environment(dump, CPA_JOURNAL="64M"))
        good = not any("without a release" in note for note in read(dump)["diagnostics"]["notes"])
        results.check(good and verify(dump)[0], f"{program.name} {case} alone: no wait is for nobody")


def check_first(results, folder):
    """No arrival at a barrier is lost where both threads meet it for the first time: all children do the same."""
    program, dump = folder / "first", folder / "first.dump"
    run(["gcc", *FLAGS, FIRST, "-o", program])
    run([program, CHILDREN], env=profiled_environment(dump))
    events = collections.defaultdict(collections.Counter)
    for thread in read(dump)["threads"]:
        events[thread["start_routine"]][thread["events"]] += 1
    good = sorted(map(dict.__len__, events.values())) == [1, 1, 1]
    text = ", ".join(f"{name}: {dict(counts)}" for name, counts in events.items())
    results.check(good, f"{program.name}: threads have as many events in each child: {text}")


def check_one_processor(results, folder, program):
    """The line of efficiencies says that processors were missing, where they were."""
    dump, one = folder / f"{program.name}.one.dump", {min(os.sched_getaffinity(0))}
    environment = profiled_environment(dump, CPA_JOURNAL="64M", OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0")
    run([program, "balanced", "2"], env=environment, preexec_fn=lambda: os.sched_setaffinity(0, one))
    text = " ".join(run([BUILD / "cpa-report", "--level", "region", dump]).split())
    said = "Transfer is low, as for" in text and "of the run the next step waited for a processor." in text
    results.check(said, f"{program.name} with one processor: {text[:400]}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp_waits.", dir=os.environ.get("CPA_TMP")))
    check_first(results, folder)
    for name, compiler, program in programs(results, folder):
        if is_own(name, compiler):
            check_waits(results, folder, compiler)
            check_spinning_last(results, folder, compiler)
        check_spinning(results, folder, program)
        check_alone(results, folder, program)
        check_one_processor(results, folder, program)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
