#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp.py - OpenMP programs of gcc and clang: what holds however busy the machine

Each case of tests/e2e/openmp.c runs under libcpa.so, with a journal. The report adds up, and it is that
of the journal to the tick. What perfect balance saves is what the program's own work says. The path is no
shorter than the chain of work that the program asked for, and longer only by what was not asked for: a
dependency that is missing makes it too short, one too many too long. `openmp.py CASE...` runs these cases only.
Prints TAP and a summary.
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from openmp_built import programs
from profiled import BUILD, TIMEOUT_S, check_contradictions, profiled_environment, read, run, verify
from results import Results

# Hang or crash natively in programs of gcc that run on libomp 14, or have other iterations than they ask for.
BROKEN = {"detach", "undeferred", "loop_children", "depend_objects", "doacross", "wavefront"}
RATE = 0.001  # by which cpa's clock and the kernel's may run apart
THREADS = (2, 4, 8)
# The path may have more of the work: which thread does what, in which order, is up to the run.
AT_LEAST = {
    "critical", "locks", "dynamic", "loops", "tasks", "in_barrier", "taskgroup", "depend", "taskloop",
    "wait_depend", "depend_objects", "detach",
}
SLEEPING = {"loop_children"}  # they sleep, which is not on the path
# What perfect balance takes off the path, in units, with n threads; where which thread does what is sure.
BALANCED = {
    "balanced": lambda n: 0,
    "divided": lambda n: 0,
    "evened": lambda n: 0,
    "imbalanced": lambda n: 20 - (20 + 4 * (n - 1)) / n,
    "rotating": lambda n: 6 * (6 - (6 + n - 1) / n),
    "single": lambda n: 14 - 14 / n,
    "undeferred": lambda n: 12 - 12 / n,
    "changing": lambda n: sum(3 - (3 + i - 1) / i for i in range(1, n + 1)),
    "threads": lambda n: 2,
}
# Units of the regions' work that no number of threads shortens, as its tasks depend on each other.
CHAINS = {
    "tasks": 20 + 2, "in_barrier": 3 + 9, "taskgroup": 8 + 3, "depend": 3 + 8 + 3, "taskloop": 9 + 2,
    "undeferred": 12, "wait_depend": 8 + 6, "depend_objects": 3 + 8 + 3, "single": 10 + 4,
    "balanced": 0, "imbalanced": 0,
}
UNPREDICTED = {"nested": "in each other", "threads": "in each other", "detach": "with events"}
# Chunks of its loops that a journal has: each is longer than the shortest one that is kept.
CHUNKS = {"dynamic": 24, "ordered": 0, "balanced": 0, "single": 0}
# Units of the thread with most, and of all, in the first region.
BUSIEST = {"imbalanced": lambda n: (20, 20 + 4 * (n - 1)), "undeferred": lambda n: (12, 12)}
PREDICTED = ("balanced", "evened", "imbalanced", "rotating", "changing")
INSIDE = {"detach"}  # all work is in the region
UNIT_S = 0.002
WAITS = 12  # of a thread, at most, in these cases
REGIONS = {"threads": "region"}  # function of the regions, where it is not the case's


def check_path(results, label, case, expected, report):
    program, probe_s = report["program"], report["diagnostics"]["probe_s"]
    asked_s, path_s = expected["asked_us"] / 1e6, expected["path_us"] / 1e6
    other_s = program["cpu_s"] - asked_s
    other_s += program["service_s" if case in SLEEPING else "external_s"]
    least_s = path_s * (1 - RATE) - probe_s
    most_s = (asked_s if case in AT_LEAST else path_s) + other_s + RATE * asked_s
    found_s = program["critical_path_s"]
    text = f"{found_s:.4f} s, {least_s:.4f} to {most_s:.4f} s"
    results.check(least_s <= found_s <= most_s, f"{label}: the path, {text}")


def check_sums(results, label, openmp):
    """That the rows of the table add up, and that each efficiency is what its terms say."""
    wrong, regions = [], [row for row in openmp["rows"] if row["kind"] == "region"]
    for number, row in enumerate(openmp["rows"]):
        works = [thread["work_s"] for thread in row["threads"]]
        least, tiny = row["chain_s"], 1e-6
        good = (
            abs(sum(works) - row["work_s"]) < tiny
            and works == sorted(works, reverse=True)
            and works[0] <= least + tiny
            and least <= row["work_s"] + tiny
            and row["even_s"] <= row["most_s"] + tiny
            and abs(row["efficiency"]["load_balance"] * works[0] - sum(works) / len(works)) < tiny
            and abs(row["efficiency"]["serialisation"] * least - works[0]) < tiny
            and row["balanced_saved_s"] >= 0
        )
        if row["kind"] == "region":
            behind = openmp["rows"][number + 1:]
            parts = list(itertools.takewhile(lambda r: r["kind"] == "construct", behind))
            work_s = sum(part["work_s"] for part in parts)
            good = good and least <= row["elapsed_s"] + tiny
            good = good and (not parts or abs(work_s - row["work_s"]) < tiny)
        if not good:
            wrong.append(row)
    good = regions and not wrong
    results.check(good, f"{label}: the table of regions adds up{'' if good else f': {wrong}'}")


def check_balance(results, label, case, threads, expected, report, dump, balanced):
    program, openmp = report["program"], report["openmp"]
    check_sums(results, label, openmp)
    asked_s = expected["asked_us"] / 1e6
    slack_s = program["cpu_s"] + program["external_s"] - asked_s + RATE * asked_s
    slack_s += report["diagnostics"]["probe_s"]
    found_s = openmp["balanced_saved_s"]
    if case in BALANCED:
        wanted_s = BALANCED[case](threads) * UNIT_S
        text = f"{found_s:.4f} s, {wanted_s:.4f} s within {slack_s:.4f} s"
        results.check(abs(found_s - wanted_s) <= slack_s, f"{label}: balanced saves {text}")
    if case in PREDICTED:
        check_what_if(results, label, case, threads, report, slack_s, dump)
    if case == "divided":
        check_threads(results, label, dump, threads, report, slack_s)
    balanced[case, threads] = (program["critical_path_s"] - found_s, slack_s)
    if case in INSIDE:
        work_s = sum(row["work_s"] for row in openmp["rows"] if row["kind"] == "region")
        least_s = asked_s * (1 - RATE) - report["diagnostics"]["probe_s"]
        text = f"{work_s:.4f} s of {least_s:.4f} s at least"
        results.check(work_s >= least_s, f"{label}: the region's work is {text}")
    if case in BUSIEST:
        most, all_units = BUSIEST[case](threads)
        row = openmp["rows"][0]
        off_s = max(
            abs(row["threads"][0]["work_s"] - most * UNIT_S), abs(row["work_s"] - all_units * UNIT_S)
        )
        results.check(off_s <= slack_s, f"{label}: work is {off_s:.4f} s off, {slack_s:.4f} s at most")


def predict(dump, *options):
    report = [BUILD / "cpa-report", "--format", "json", "--cores", "64", *options, dump]
    return json.loads(run(report))


def check_what_if(results, label, case, threads, report, slack_s, dump):
    """On more processors than threads only the path counts: balance gains what the table says.

    But for what the replay has besides the path: pauses of unknown cause, and the time from a release
    until the thread runs, which balance adds or takes away.
    """
    program, answer = report["program"], predict(dump, "--what-if", "region:*=balance")
    slack_s += program["idle_s"] + program["unknown_wait_s"] + WAITS * answer["latency_s"]
    row = answer["predictions"][0]
    gain_s, wanted_s = row["unchanged_s"] - row["changed_s"], BALANCED[case](threads) * UNIT_S
    text = f"{gain_s:.4f} s, {wanted_s:.4f} s within {slack_s:.4f} s"
    results.check(abs(gain_s - wanted_s) <= slack_s, f"{label}: --what-if balance gains {text}")


def check_threads(results, label, dump, threads, report, slack_s):
    """With another number of threads the region takes its work divided by them."""
    program = report["program"]
    for wanted in (1, 2, 3, 4, 12):
        answer = predict(dump, "--what-if", f"region:divided* threads={wanted}")
        row = answer["predictions"][0]
        more_s = row["changed_s"] - row["unchanged_s"]
        wanted_s = 3 * (12 / wanted - 12 / threads) * UNIT_S
        # All other work may be in the region, and in one thread then.
        off_s = slack_s * max(1, threads / wanted) + WAITS * answer["latency_s"]
        off_s += program["idle_s"] + program["unknown_wait_s"]
        text = f"{more_s:.4f} s, {wanted_s:.4f} s within {off_s:.4f} s"
        results.check(abs(more_s - wanted_s) <= off_s, f"{label}: with {wanted} threads, longer by {text}")


def check_other_threads(results, label, case, report, dump):
    """One thread takes all work, any number of threads the chain; and why some programs have no answer."""
    command = [BUILD / "cpa-report", "--format", "json", "--threads", "1,2,4096", dump]
    if case in UNPREDICTED:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        good = done.returncode == 1 and UNPREDICTED[case] in done.stderr
        results.check(good, f"{label}: --threads refuses: {done.stderr.strip()}")
        return
    answer, tiny = json.loads(run(command)), 1e-6
    one, two, many = (row["critical_path_s"] for row in answer["predictions"])
    work_s = sum(region["work_s"] for region in answer["regions"])
    chain_s = sum(region["chain_s"] for region in answer["regions"])
    good = (
        abs(one - answer["outside_s"] - work_s) < tiny
        and one + tiny >= two >= many - tiny
        and two - answer["outside_s"] >= work_s / 2 - tiny
        and abs(answer["critical_path_s"] - report["program"]["critical_path_s"]) < tiny
    )
    results.check(good, f"{label}: --threads adds up{'' if good else f': {answer}'}")
    if case in CHAINS:
        program = report["program"]
        slack_s = program["cpu_s"] + program["external_s"] - work_s + RATE * work_s
        slack_s += report["diagnostics"]["probe_s"]
        wanted_s = CHAINS[case] * UNIT_S
        text = f"{chain_s:.4f} s, {wanted_s:.4f} s within {slack_s:.4f} s"
        results.check(abs(chain_s - wanted_s) <= slack_s, f"{label}: the chain of its regions is {text}")


def check_chunks(results, label, case, threads, report, dump):
    """Each chunk of a loop is known, and dealing them leaves no thread with less than the mean to the path."""
    answer = predict(dump, "--what-if", "loop:*=dynamic")
    notes = [note for note in answer["notes"] if "chunks of loops (" in note]
    found = int(notes[0].partition("(")[2].partition(",")[0]) if notes else 0
    results.check(found == CHUNKS[case], f"{label}: {found} chunks are known, {CHUNKS[case]} were taken")
    if not CHUNKS[case]:
        return
    before_s, after_s = answer["critical_path_s"], answer["divided_critical_path_s"]
    works = [thread["work_s"] for thread in report["openmp"]["rows"][0]["threads"]]
    text = f"{before_s:.4f} s, {after_s:.4f} s"
    good = sum(works) / threads <= after_s + 1e-6 and after_s <= before_s + sum(works)
    results.check(good, f"{label}: dealt chunks take no less than the mean: {text}")


def check_evened(results, program, balanced):
    """The path of the uneven program, if balanced, is that of the one that is really even."""
    for threads in THREADS:
        (one_s, one_slack_s), (other_s, other_slack_s) = (
            balanced.get((case, threads), (0, 0)) for case in ("imbalanced", "evened")
        )
        if one_s and other_s:
            text = f"{one_s:.4f} s, {other_s:.4f} s within {one_slack_s + other_slack_s:.4f} s"
            results.check(
                abs(one_s - other_s) <= one_slack_s + other_slack_s,
                f"{program.name} {threads}: the path, balanced in theory and really: {text}",
            )


def check_case(results, folder, program, case, threads, balanced):
    label = f"{program.name} {case} {threads}"
    dump = folder / f"{program.name}.{case}.{threads}.dump"
    environment = profiled_environment(
        dump, CPA_JOURNAL="64M", OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0"
    )
    expected = json.loads(run([program, case, str(threads)], env=environment))
    report = read(dump)
    check_contradictions(results, label, report)
    check_path(results, label, case, expected, report)
    check_balance(results, label, case, threads, expected, report, dump, balanced)
    check_other_threads(results, label, case, report, dump)
    if case in CHUNKS:
        check_chunks(results, label, case, threads, report, dump)
    wanted = f"{REGIONS.get(case, case)}() parallel at openmp.c:"
    found = [c["name"] for c in report["components"] if c["kind"] == "region"]
    results.check(
        any(wanted in name for name in found), f"{label}: region {wanted}..: {found}"
    )
    good, text = verify(dump)
    results.check(good, f"{label}: {'as its journal' if good else text}")
    if good:
        dump.unlink()


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp.", dir=os.environ.get("CPA_TMP")))
    for name, _, program in programs(results, folder):
        cases = sys.argv[1:] or run([program]).split()
        if name == "libomp":
            cases = [case for case in cases if case not in BROKEN]
        balanced = {}  # by case and threads: seconds of the path, and how much they may be off
        for case in cases:
            for threads in THREADS:
                try:
                    check_case(results, folder, program, case, threads, balanced)
                except (RuntimeError, ValueError, KeyError) as error:
                    results.check(False, f"{program.name} {case} {threads}: {error!r}")
        check_evened(results, program, balanced)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
