#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp.py - OpenMP programs of gcc and clang: what holds however busy the machine

Each case of tests/e2e/openmp.c runs under libcpa.so, with a journal. The report adds up, and it is that
of the journal to the tick. What perfect balance saves is what the program's own work says. The path is no shorter than the chain of work that the program asked for,
and longer only by what was not asked for: a dependency that is missing makes it too short, one too many
too long. `openmp.py CASE...` runs these cases only.

tests/e2e/openmp_same.cpp prints the same natively and under libcpa.so, however the runtime waits, with
more threads than processors, with cancellation, and with a library that has OpenMP loaded by dlopen().
The reports of tests/e2e/openmp_waits.c add up, too. In each child of tests/e2e/openmp_first.c the same happens.
Prints TAP and a summary.
"""

import collections
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from profiled import BUILD, TIMEOUT_S, check_contradictions, clean_environment, profiled_environment
from profiled import read, run, verify
from results import Results

SOURCE = pathlib.Path(__file__).with_name("openmp.c")
CANCELLED = SOURCE.with_name("openmp_cancelled.c")
SAME = SOURCE.with_name("openmp_same.cpp")
COPIED = SOURCE.with_name("openmp_copied.c")
COPIES = SOURCE.with_name("openmp_copies.c")
FIRST = SOURCE.with_name("openmp_first.c")
LAST = SOURCE.with_name("openmp_last.c")
OLD = SOURCE.with_name("openmp_old.c")
NAMES = SOURCE.with_name("openmp_names.cpp")
TOOL = SOURCE.with_name("openmp_tool.c")
STOP = SOURCE.with_name("openmp_stop.c")
UNNAMED = SOURCE.with_name("openmp_waits.c")
WEAK = SOURCE.with_name("openmp_weak.c")
SETTINGS = (
    {"OMP_CANCELLATION": "true"},
    {"OMP_WAIT_POLICY": "active", "OMP_NUM_THREADS": "2"},
    {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "8", "OMP_CANCELLATION": "true"},
    {"GOMP_SPINCOUNT": "1000000", "KMP_BLOCKTIME": "infinite", "OMP_NUM_THREADS": "3"},
    {"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "1"},
)
FLAGS = ["-O2", "-g", "-fopenmp", "-pthread"]
COMPILERS = {"gcc": ["gcc"], "clang": ["clang", "clang-14"], "libomp": ["clang", "clang-14"]}
# Hang or crash natively in programs of gcc that run on libomp 14, or have other iterations than they ask for.
BROKEN = {"detach", "undeferred", "loop_children", "depend_objects", "doacross", "wavefront"}
STOPPED_S = 0.05  # of the 0.1 s of work behind the tasks of openmp_stop.c
STEP = 2000  # tasks of openmp_copied.c
ROUNDS, ROUND_BYTES = 5000, 500  # of openmp_cancelled.c; at most for each more; one of its ten tasks needs more
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
CHILDREN = 60  # as many as have rows of their own
REGIONS = {"threads": "region"}  # function of the regions, where it is not the case's


def compile_for(name, compiler, program):
    """Make @program by @compiler, or, on libomp, by gcc with the runtime of @compiler."""
    if name != "libomp":
        run([compiler, *FLAGS, SOURCE, "-o", program])
        return
    made = program.with_suffix(".o")
    run(["gcc", *FLAGS, "-c", SOURCE, "-o", made])
    run([compiler, *FLAGS, made, "-o", program])


def build(folder, name):
    """Return the compiler and the program, or None where it or its runtime is missing."""
    program = folder / f"openmp-{name}"
    for compiler in COMPILERS[name]:
        if not shutil.which(compiler):
            continue
        try:
            compile_for(name, compiler, program)
            run([program, "balanced", "2"], env=clean_environment())
            return compiler, program
        except RuntimeError:
            continue
    return None


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


def run_same(command, environment):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        env=environment,
    )
    return done.stdout, done.returncode, done.stderr


def check_same(results, folder, compiler):
    """That the program does under cpa what it does without it."""
    compiler = compiler.replace("gcc", "g++").replace("clang", "clang++")
    program, library = folder / f"same-{compiler}", folder / f"same-{compiler}.so"
    if not shutil.which(compiler):
        results.skip(f"the same with {compiler}", "it is not installed")
        return
    run([compiler, *FLAGS, SAME, "-o", program])
    run([compiler, *FLAGS, "-shared", "-fPIC", SAME, "-o", library])
    for number, settings in enumerate(SETTINGS):
        if "clang" in compiler:  # libomp 14 hangs in cancelled loops, natively
            settings = dict(settings, OMP_CANCELLATION="false")
        label = f"{compiler} {' '.join(f'{k}={v}' for k, v in settings.items())}"
        dump = folder / f"same-{compiler}.{number}.dump"
        native = run_same([program, library], clean_environment(**settings))
        ours = run_same([program, library], profiled_environment(dump, **settings))
        same = native == ours
        results.check(same, f"{label}: the same{'' if same else f': {native} {ours}'}")
        check_contradictions(results, label, read(dump))


def same(results, folder, label, command):
    settings = {"OMP_WAIT_POLICY": "passive"}
    native = run_same(command, clean_environment(**settings))
    try:
        ours = run_same(command, profiled_environment(folder / f"{label}.dump", **settings))
        ours = (*ours[:2], native[2])
    except subprocess.TimeoutExpired:
        ours = "it hangs"
    results.check(native == ours, f"{label}: the same{'' if native == ours else f': {native} {ours}'}")


def check_copies(results, folder):
    """A plugin's calls go to its own copy of libgomp, and who has none goes on without."""
    path = run(["gcc", "-print-file-name=libgomp.so.1"]).strip()
    copy = folder / "libgomq.so.1"
    copy.write_bytes(pathlib.Path(path).read_bytes().replace(b"libgomp.so.1", b"libgomq.so.1"))
    flags = ["-O2", "-shared", "-fPIC", "-fopenmp", "-DPLUGIN", COPIES]
    one, other, program = folder / "one.so", folder / "other.so", folder / "copies"
    run(["gcc", *flags, "-o", one])
    run(["gcc", *flags, "-c", "-o", folder / "other.o"])
    run(["gcc", "-shared", folder / "other.o", copy, f"-Wl,-rpath,{folder}", "-o", other])
    run(["gcc", "-O2", COPIES, "-o", program])
    same(results, folder, "two copies of libgomp", [program, one, other])
    run(["gcc", "-O1", "-fPIE", "-pie", "-pthread", WEAK, "-o", folder / "weak"])
    same(results, folder, "no libgomp", [folder / "weak"])
    loud = {**profiled_environment(folder / "warned.dump"), "CPA_QUIET": "0"}
    warnings = run_same([folder / "weak"], loud)[2].splitlines()
    said = [line.partition("warning: ")[2] for line in warnings if "no original of" in line]
    results.check(said and len(said) == len(set(said)), f"each missing function is told once: {said}")
    run(["gcc", *FLAGS, f"-I{SOURCE.parents[2]}", STOP, "-o", folder / "stop"])
    same(results, folder, "stopped in a region", [folder / "stop"])
    run(["gcc", "-O2", "-fopenmp", OLD, "-o", folder / "old"])
    same(results, folder, "regions of old compilers", [folder / "old"])
    notes = read(folder / "regions of old compilers.dump")["diagnostics"]["notes"]
    said = [note for note in notes if "made by gcc before 4.9): 5." in note]
    results.check(said, f"regions of old compilers: the report says that 5 are not seen: {notes}")
    queues = [c for c in read(folder / "stopped in a region.dump")["components"] if c["kind"] == "queue"]
    late = [(c["name"], c["cpu_s"]) for c in queues if c["cpu_s"] > STOPPED_S]
    results.check(not late, f"stopped in a task: what comes later is not the task's: {late}")


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


def check_futex(results, folder, compiler):
    """What libomp does to wait for a lock is the wait for that lock, and no more."""
    program, dump = folder / f"futex-{compiler}", folder / "futex.dump"
    run([compiler, *FLAGS, SOURCE.with_name("openmp_futex.c"), "-o", program])
    kind = {"KMP_LOCK_KIND": "futex", "OMP_WAIT_POLICY": "passive"}
    natively = run([program], env=clean_environment(**kind))
    said = run([program], env=profiled_environment(dump, CPA_JOURNAL="64M", **kind))
    uses = "{1} {0}\n".format(*sorted((each["acquisitions"] for each in read(dump)["objects"]), reverse=True))
    results.check(said == natively == uses, f"{program.name}: {said!r} sections, {natively!r} natively, {uses!r} uses")
    results.check(verify(dump)[0], f"{program.name}: {verify(dump)[1]}")


def check_cancelled(results, folder, compiler):
    """Tasks that are cancelled before they begin do not run, and leave nothing."""
    program = folder / f"cancelled-{compiler}"
    run([compiler, *FLAGS, CANCELLED, "-o", program])
    for kind in ("made", "queued", "loops", "group"):
        used = []
        for rounds in (1, ROUNDS):
            name = f"{program.name} {kind} {rounds}"
            dump = folder / f"{name}.dump"
            natively = run([program, rounds, kind], env=clean_environment(OMP_CANCELLATION="true"))
            said = run([program, rounds, kind], env=profiled_environment(dump, OMP_CANCELLATION="true"))
            results.check(said == natively, f"{name}: {said.strip()} tasks ran, natively {natively.strip()}")
            used.append(dump.stat().st_blocks * 512)
        each = (used[1] - used[0]) / ROUNDS
        results.check(each < ROUND_BYTES, f"{program.name} {kind}: {each:.0f} bytes for each round")


def check_copied(results, folder):
    """As many tasks of a taskloop as fill the stack natively but for some."""
    program = folder / "copied"
    run(["gcc", *FLAGS, COPIED, "-o", program])
    most = next((n for n in range(60000, 0, -STEP) if ends_well([program, n], clean_environment())), 0)
    good = most > STEP and ends_well([program, most - STEP], profiled_environment(folder / "copied.dump"))
    results.check(good, f"copied: {most - STEP} tasks, natively {most}")


def ends_well(command, environment):
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, timeout=TIMEOUT_S)
    return done.returncode == 0


def check_names(results, folder, compiler):
    """Constructs have the names of the functions that have them in the source, and their own lines."""
    program, dump = folder / f"names-{compiler}", folder / f"names-{compiler}.dump"
    run([compiler.replace("gcc", "g++").replace("clang", "clang++"), *FLAGS, NAMES, "-o", program])
    run([program], env=profiled_environment(dump))
    lines = [at + 1 for at, line in enumerate(NAMES.read_text().splitlines()) if "omp parallel" in line]
    found = {c["name"] for c in read(dump)["components"] if c["kind"] in ("region", "queue")}
    functions = ("solver<long>::step", "solver<int>::step", "make_tasks", "main::")
    for function, line in zip(functions, (lines[0], *lines)):
        named = [n for n in found if n.startswith(function) and n.endswith(f") parallel at {NAMES.name}:{line}")]
        results.check(len(named) == 1, f"{program.name}: one region in {function} at line {line}: {found}")
    check_task_lines(results, program, found, NAMES)


def check_task_lines(results, program, names, source):
    text = enumerate(source.read_text().splitlines())
    lines = [at + 1 for at, line in text if line.endswith("omp task") and "end" not in line]
    tasks = {name.rpartition(" ")[2] for name in names if "task at" in name}
    wanted = {f"{source.name}:{line}" for line in lines}
    results.check(tasks == wanted, f"{program.name}: tasks are where they are made, {tasks}")


def check_fortran(results, folder):
    """So are those whose code begins with another subroutine's."""
    program, dump, source = folder / "names-gfortran", folder / "names-gfortran.dump", NAMES.with_suffix(".f90")
    if not shutil.which("gfortran"):
        results.skip(program.name, "it is not installed")
        return
    run(["gfortran", *FLAGS, source, "-o", program])
    run([program], env=profiled_environment(dump))
    names = {c["name"] for c in read(dump)["components"] if c["kind"] == "queue"}
    check_task_lines(results, program, names, source)


def check_tool(results, folder, program):
    """Another tool has OMPT as it has without cpa, and the report says that regions are missing."""
    tool, dump, case = folder / "tool.so", folder / "tool.dump", [program, "balanced", "2"]
    run(["gcc", "-O2", "-shared", "-fPIC", TOOL, "-o", tool])
    native = run_same(case, clean_environment(LD_PRELOAD=str(tool)))
    environment = profiled_environment(dump)
    environment["LD_PRELOAD"] += f":{tool}"
    ours = run_same(case, environment)
    good = native == ours and ours[2].strip() == "3 regions"
    results.check(good, f"{program.name} with another tool: the same{'' if good else f': {native} {ours}'}")
    notes = read(dump)["diagnostics"]["notes"]
    said = [note for note in notes if "another tool has OMPT" in note]
    results.check(said, f"{program.name} with another tool: the report says that its regions are not seen")


def check_asked(results, folder, compiler):
    """A program that asks for a tool finds its own, or none, as it does without cpa."""
    tool, declines = folder / "tool.so", folder / "declines.so"  # check_tool() has made the first one
    run(["gcc", "-O2", "-shared", "-fPIC", "-DDECLINES", TOOL, "-o", declines])
    kinds = {"none": [], "first": [tool, "-lomp"], "behind libomp": ["-lomp", tool], "declines": ["-lomp", declines]}
    for kind, libraries in kinds.items():
        program, dump = folder / "asks", folder / f"asks.{kind}.dump"
        run([compiler, *FLAGS, "-DPROGRAM", TOOL, "-Wl,--no-as-needed", *libraries, "-o", program])
        native, ours = run_same([program], clean_environment()), run_same([program], profiled_environment(dump))
        said = any("another tool has OMPT" in note for note in read(dump)["diagnostics"]["notes"])
        good = native == ours and said == (kind in ("first", "behind libomp"))
        results.check(good, f"{compiler}: {kind}: {ours}, natively {native}; not seen: {said}")


def check_screen(results, folder):
    """The first screen has each place once, and no function of the runtime as a caller."""
    dump = folder / "screen.dump"
    run([BUILD / "examples/loop"], env=profiled_environment(dump))
    text = " ".join(run([BUILD / "cpa-report", "--width", "200", dump]).split())
    said = re.findall(r"called by [^.]*(?:GOMP_|libgomp|start_thread)\S*|at loop\.c:\d+ \(loop\.c:[^)]*\)", text)
    results.check("main() body at loop.c:21" in text and not said, f"first screen: {said}")


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


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp.", dir=os.environ.get("CPA_TMP")))
    if not sys.argv[1:]:
        check_copies(results, folder)
        check_copied(results, folder)
        check_first(results, folder)
        check_screen(results, folder)
        check_fortran(results, folder)
    for name in COMPILERS:
        built = build(folder, name)
        if not built:
            results.skip(f"OpenMP of {name}", "it is not installed")
            continue
        compiler, program = built
        if not sys.argv[1:] and name == compiler.split("-")[0]:
            check_same(results, folder, compiler)
            check_waits(results, folder, compiler)
            check_names(results, folder, compiler)
            check_spinning_last(results, folder, compiler)
        if not sys.argv[1:]:
            check_spinning(results, folder, program)
            check_alone(results, folder, program)
        if not sys.argv[1:] and name != "gcc":
            check_tool(results, folder, program)
            for check in (check_asked, check_cancelled, check_futex):
                check(results, folder, compiler)
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
