#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/sampling.py - how many samples a thread has, and what of it is said where they stop

By default they are many at first, and fewer then, which stand for more; a rate that was set stays.
What changes the sampler in the midst of an activity does not change its times. A thread that comes
to block all signals has them from a perf event, from its next event on; what it did before that is
no function's, and nor is what a wait burns. Prints TAP.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import plugins
from machine import hold_perf_event
from results import Results
from surroundings import PERF_EVENT_OPEN, TIMER_CREATE, deny

BUILD = pathlib.Path(os.environ["CPA_BUILD"]).resolve()
PROGRAMS = BUILD / "tests/programs"
FIRST, FIRST_HZ, THEN_HZ = 256, 997, 250
ALL_FIRST = 512  # of a process; threads that are switched out or have had a few milliseconds look
EACH_S = 0.8  # of the program's functions
# A look at the clock finds a function's end late, and no sample tells of main.
FEWER, MORE = 0.98, 1.03
# Where a hypervisor takes the processor, ticks are missing, and with them the timer's samples.
LEAST, MOST = 0.7, 1.1
# Of the program that has no events: its functions, and the sleep between them.
FIRST_S, SECOND_S, SLEEP_S = 0.2, 1.6, 0.3
# Of its time, to five sigma of these samples.
SHARE = 0.05
LATE = 1.2  # a sleep may end
# Of the program that spins in waits, half a second and more: its brief functions.
BRIEF = {"brief": 0.08, "rest": 0.12}
BRIEF_OFF = 0.1
LEAST_SHARE = 0.25  # of two functions that do the same


def profile(dump, program="masked_late", prepare=None, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
    kept.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), CPA_QUIET="1")
    kept.update(environment)
    dump.unlink(missing_ok=True)
    subprocess.run(
        [PROGRAMS / program],
        env=kept,
        preexec_fn=prepare,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    command = [BUILD / "cpa-report", "--format", "json", dump]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    functions = {
        each["name"]: each["cpu_s"] for each in report["components"] if each["kind"] == "function"
    }
    return report, functions


def check_function(results, label, functions, name):
    """@name had EACH_S, between two events."""
    found = functions.get(name, 0)
    good = EACH_S * FEWER <= found <= EACH_S * MORE
    limits = f"{EACH_S * FEWER:.3f} to {EACH_S * MORE:.3f} s"
    results.compare(good, f"{label}: CPU time of {name}", f"{found:.3f} s", limits)


def check_rate(results, label, report, expected):
    samples = report["diagnostics"]["samples"]
    good = LEAST * expected <= samples <= MOST * expected
    limits = f"{LEAST * expected:.0f} to {MOST * expected:.0f}"
    results.compare(good, f"{label}: samples", samples, limits)


def check_default(results, dump):
    report, functions = profile(dump)
    first_s = FIRST / FIRST_HZ
    closely = FIRST + (EACH_S - first_s) * THEN_HZ  # in the first function
    # In the third one the signals are still blocked: a perf event, which has no end.
    check_rate(results, "default", report, closely + EACH_S * THEN_HZ)
    check_function(results, "default", functions, "open_to_all")
    check_function(results, "default", functions, "still_masked")
    untold = functions.get("masked", 0) + functions.get("(not sampled)", 0)
    good = EACH_S * FEWER <= untold <= EACH_S * MORE
    limits = f"{EACH_S * FEWER:.3f} to {EACH_S * MORE:.3f} s"
    text = "default: CPU time of masked and of no function"
    results.compare(good, text, f"{untold:.3f} s", limits)


def check_threads(results, dump):
    """Five threads, of which one would have its first samples, and four the process's."""
    report, _ = profile(dump, "barrier_rotate")
    cpu_s = report["program"]["cpu_s"]
    check_rate(
        results, "threads", report, ALL_FIRST + (cpu_s - ALL_FIRST / FIRST_HZ) * THEN_HZ
    )


def check_kept(results, dump):
    """A rate that is not the default."""
    report, functions = profile(dump, CPA_SAMPLE_HZ="1000")
    check_rate(results, "1000 a second", report, 3 * EACH_S * 1000)
    for name in ("open_to_all", "masked", "still_masked"):
        check_function(results, "1000 a second", functions, name)


def check_change(results, dump):
    """Both kinds of samples in one activity, with a time in which nobody saw why it was blocked."""
    for label, environment in ("default", {}), ("1000 a second", {"CPA_SAMPLE_HZ": "1000"}):
        report, functions = profile(dump, "one_activity", **environment)
        share = functions.get("first", 0) / (functions.get("first", 0) + functions["second"])
        truth = FIRST_S / (FIRST_S + SECOND_S)
        text = f"{label}: the first function's part of both"
        results.compare(abs(share - truth) <= SHARE, text, f"{share:.3f}", f"{truth:.3f} +- {SHARE}")
        external = report["threads"][0]["external_s"]
        good = SLEEP_S * FEWER <= external <= SLEEP_S * LATE
        limits = f"{SLEEP_S * FEWER:.3f} to {SLEEP_S * LATE:.3f} s"
        results.compare(good, f"{label}: time blocked", f"{external:.3f} s", limits)


def check_waits(results, dump):
    """What a wait burns is neither the section's behind it nor any function's."""
    report, functions = profile(dump, "spin_wait")
    waiter = next(t for t in report["threads"] if t["start_routine"] == "waiter")
    results.check(
        waiter["cpu_s"] > 2 * sum(BRIEF.values()), f"spins: {waiter['cpu_s']:.3f} s of CPU time"
    )
    for name, expected in BRIEF.items():
        found = functions.get(name, 0)
        off = BRIEF_OFF * expected
        text = f"{expected} s +- {off:.3f} s"
        results.compare(abs(found - expected) <= off, f"spins: CPU time of {name}", f"{found:.4f} s", text)


def check_slow(results, dump):
    """The timer's, where no perf event may be had; and none at all."""
    report, functions = profile(dump, prepare=deny(PERF_EVENT_OPEN, error=13), CPA_SAMPLE_HZ="250")
    check_rate(results, "the timer", report, EACH_S * THEN_HZ)
    check_function(results, "the timer", functions, "open_to_all")
    report, functions = profile(dump, prepare=deny(PERF_EVENT_OPEN, TIMER_CREATE, error=13))
    total = report["program"]["cpu_s"]
    results.check(
        list(functions) == ["(not sampled)"] and functions["(not sampled)"] > 0.95 * total,
        f"no sampler: of {total:.3f} s all is no function's: {functions}",
    )


def check_plugins(results, folder):
    """Two plugins at the same places, in turn, which do the same."""
    plugins.build(folder, plugins.NAMES)
    report, _ = plugins.run_both(
        results, folder, "local", 50, 2000, plugins.NAMES, CPA_SAMPLE_HZ="4000"
    )
    names = [f"{name}_burn" for name in plugins.NAMES]
    share = [
        sum(c["cpu_s"] for c in report["components"] if (c["kind"], c["name"]) == ("function", name))
        for name in names
    ]
    text = "plugins: the smaller part of equal work"
    found = min(share) / max(sum(share), 1e-9)
    results.compare(found > LEAST_SHARE, text, f"{found:.2f}", f"{LEAST_SHARE} at least")


def main():
    results = Results()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as folder:
        dump = pathlib.Path(folder) / "run.dump"
        if hold_perf_event() < 0:
            results.skip("perf events", "the kernel refuses them here")
        else:
            check_default(results, dump)
            check_threads(results, dump)
            check_kept(results, dump)
        check_change(results, dump)
        check_waits(results, dump)
        check_plugins(results, pathlib.Path(folder))
        refuse = deny(PERF_EVENT_OPEN, error=13)
        if subprocess.run(["true"], preexec_fn=refuse, check=False).returncode:
            results.skip("without perf events", "no seccomp filters here")
        else:
            check_slow(results, dump)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
