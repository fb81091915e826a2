#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/predictions.py - predictions from the journals of real runs

What is compared are computations, not clocks: on as many cores as it likes a program without locks
takes as long as its critical path, which the target computed while it ran, and at most as long as the
path with idle time, for a prediction keeps the time that a thread was blocked for nobody known; the
work done is the same on any number of cores; what changes nothing predicts the same to the tick.
Prints TAP and a summary.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

from profiled import ROOT, run, run_known
from surroundings import Results, Run

CORES = (1, 2, 3, 64)
# Programs without locks, and how many waits there are on a path of theirs at most.
LOCKLESS = (
    ("fork_join", 8),
    ("create_tree", 16),
    ("barrier_rotate", 64),
    ("suspended", 64),
    ("timed_out", 10),
)
# Trees of processes whose every wait is for one that ends, or known by its semaphore, lock or barrier.
TREES = ("fork_join", "chain", "vfork", "system", "popen", "exec", "barrier", "threads")
TREE_WAITS = 12  # of a tree, on a path
# Threads and processes that wait for bytes alone, or for room.
STREAMS = ("balanced", "slow_stage", "small_buffer", "event", "fan_in", "fan_out", "poll", "popen")
STREAM_WAITS = 16  # of one of them, on a path
ROUNDS = 20  # requests, each with an answer
MESSAGE = 64  # bytes
CLOSE = 1e-6  # relative: figures have 15 digits, ticks are rounded
PATH = 0.01  # relative: a thread's activity before its first event is on no path


def record(build, folder, program, *arguments):
    dump = folder / f"{'.'.join([program, *arguments])}.dump"
    environment = dict(os.environ, CPA_OUTPUT=str(dump), CPA_QUIET="1", CPA_JOURNAL="64M")
    run_known(
        [build / "tests/programs" / program, *arguments],
        dict(environment, LD_PRELOAD=str(build / "libcpa.so")),
    )
    return dump


def report(build, dump, *options):
    done = run([build / "cpa-report", "--format", "json", *options, dump])
    return json.loads(done)


def near(one, other, relative=CLOSE):
    return abs(one - other) <= relative * max(abs(one), abs(other)) + 1e-9


def check_rows(results, label, answer, waits=0):
    """
    Whatever the cores, the same work is done, and not faster than they can. On one of them nobody has
    to come from an idle core; on more, that can be so at each of the path's @waits.
    """
    rows = answer["predictions"]
    results.check([row["cores"] for row in rows] == list(CORES), f"{label}: a row for each")
    work = [row["cores"] * row["utilization"] * row["unchanged_s"] for row in rows]
    results.check(
        all(near(each, work[0], 1e-5) for each in work), f"{label}: the same work: {work}"
    )
    results.check(
        all(row["utilization"] <= 1 + CLOSE for row in rows), f"{label}: no more than all cores"
    )
    slack = (1 + CLOSE) * rows[0]["unchanged_s"] + waits * answer["latency_s"]
    results.check(
        all(row["unchanged_s"] <= slack for row in rows), f"{label}: one core is slowest"
    )


def check_path(results, build, folder, waits, program, *arguments):
    dump = record(build, folder, program, *arguments)
    program = " ".join([program, *arguments])
    answer = report(build, dump, "--cores", ",".join(map(str, CORES)))
    whole = report(build, dump)["program"]
    path, idle = whole["critical_path_s"], whole["critical_path_with_idle_s"]
    check_rows(results, program, answer, waits)
    alone = answer["predictions"][-1]["unchanged_s"] - answer["start_s"]
    results.check(
        path * (1 - PATH) <= alone <= idle * (1 + PATH) + waits * answer["latency_s"],
        f"{program}: with a core for each thread {alone:.6f} s, the critical path: {path:.6f} s, "
        f"with idle time {idle:.6f} s",
    )


def same(answer):
    return all(row["changed_s"] == row["unchanged_s"] for row in answer["predictions"])


def check_curves(results, build, dump, whole):
    """
    A curve ends where --what-if says. It may rise on its way, as other threads come first then; that of
    the queue, on which nearly all of the work is, ends lower. The ten components that save most have
    curves, without threads: where others had the processors, the queue need not be one of them.
    """
    curves = report(build, dump, "--curves")["curves"]
    names = [(each["kind"], each["name"]) for each in whole["components"]]
    ends = {
        each["name"]: each["points"][-1]["run_s"]
        for each in curves
        if names.count((each["kind"], each["name"])) == 1
        and each["kind"] == "function"
        and each["name"].isidentifier()
    }
    wanted = {name: changed(build, dump, "--what-if", f"function:{name}=0") for name in ends}
    results.check(
        ends and all(near(ends[name], wanted[name]) for name in ends),
        f"tsp: curves end at {ends}, predicted: {wanted}",
    )
    queue = [each["points"] for each in curves if (each["kind"], each["name"]) == ("queue", "tasks")]
    heaviest = [name for name in names if name[0] != "thread"][:10]
    results.check(
        all(each[-1]["factor"] == 0 and each[-1]["run_s"] < each[0]["run_s"] for each in queue)
        and (queue or ("queue", "tasks") not in heaviest),
        f"tsp: less of the items of a queue takes less time: {queue}",
    )


def check_changes(results, build, folder):
    dump = record(build, folder, "tsp")
    whole = report(build, dump)
    answer = report(build, dump, "--cores", ",".join(map(str, CORES)))
    check_rows(results, "tsp", answer, answer["waits"])
    function = next(
        each["name"] for each in whole["components"] if each["kind"] == "function"
    )
    results.check(
        same(report(build, dump, "--what-if", f"function:{function}=1")),
        "tsp: a factor of 1 changes nothing",
    )
    # Not every run has external time: here it is time blocked inside a signal of a condition.
    kinds = {"thread"} | {each["kind"] for each in whole["components"]} & {"external"}
    nothing = report(build, dump, *(f"--what-if={kind}:*=0" for kind in sorted(kinds)))
    told = ["hyper-threads" in " ".join(each["notes"]) for each in (answer, nothing)]
    results.check(
        told == [True, False], "tsp: what cores share is not modelled: said where they are others"
    )
    row = nothing["predictions"][0]
    rest = answer["start_s"] + len(whole["threads"]) * 1000 * answer["latency_s"]
    results.check(
        row["changed_s"] <= rest + 0.05 * row["unchanged_s"], f"tsp: no work, no time: {row}"
    )
    one, eight, many = (
        report(build, dump, "--cores", "64", "--what-if", f"queue:tasks workers={n}")
        for n in (1, 8, 32)
    )
    results.check(same(eight), "tsp: as many workers as there were change nothing")
    one, many = (each["predictions"][0]["changed_s"] for each in (one, many))
    results.check(one > many, f"tsp: many workers are faster than one: {many} {one}")
    check_curves(results, build, dump, whole)
    check_refusals(results, build, folder, dump)


def changed(build, dump, *options):
    return report(build, dump, *options)["predictions"][0]["changed_s"]


def check_network(results, build, folder):
    """Of requests and answers each is waited for: what one takes more, the run takes so many times."""
    arguments = ("pipe", str(ROUNDS), "100", str(MESSAGE), "0")
    dump = record(build, folder, "messages", *arguments)
    for options, more in (
        (("latency=200ms", "latency=100ms"), 0.1),
        (("bandwidth=1K", "bandwidth=2K"), MESSAGE / 1000 - MESSAGE / 2000),
        (("latency=100ms bandwidth=1K", "latency=0ns bandwidth=1K"), 0.1),
    ):
        long, short = (
            changed(build, dump, "--cores", "64", "--network", each) for each in options
        )
        results.check(
            near(long - short, 2 * ROUNDS * more),
            f"{options}: {long - short:.6f} s more, {2 * ROUNDS} messages of {more} s each",
        )
    # Three stages that pass 4 messages of 16 bytes on: those of a pipe are carried one after the other.
    stages = record(build, folder, "streams", "balanced")
    row = report(build, stages, "--cores", "64", "--network", "bandwidth=16")["predictions"][0]
    results.check(
        4 + 1 <= row["changed_s"] <= 4 + 1 + row["unchanged_s"],
        f"bytes go one after the other: {row['changed_s']:.6f} s, {row['unchanged_s']:.6f} s as it is",
    )
    apart = ("--cores", "2", "--group", "0:main 1:*")
    together = ("--cores", "2", "--group", "0-1:*")
    slow = ("--network", "latency=100ms")
    results.check(
        changed(build, dump, *apart, *slow) >= 2 * ROUNDS * 0.1
        and same(report(build, dump, *together, *slow)),
        "messages take their time between groups alone",
    )
    for each in ("*:*=1", "pipe:messages -> messages*=1"):
        results.check(
            same(report(build, dump, "--network", each)), f"{each} changes nothing"
        )
    tight = record(build, folder, "streams", "full_pipe")
    answer = report(build, tight, "--cores", "64", "--what-if", "stream:*=0")
    row = answer["predictions"][0]
    good = row["changed_s"] < row["unchanged_s"] * (1 - PATH)
    results.check(good, f"a writer with room: {row}")
    for options in (
        ("--network", "latency=10"),
        ("--network", "latency=2s"),
        ("--network", "bandwidth=0"),
        ("--network", "pipe:no such=1"),
        ("--network", "tcp:*=1"),
        ("--network", "ftp:*=1"),
        ("--network", "pipe:*=-1"),
        ("--what-if", "stream:no such=0"),
        ("--what-if", "stream:*=drop"),
    ):
        refused(results, build, dump, options)


def refused(results, build, dump, options):
    said = Run([str(build / "cpa-report"), *options, str(dump)], dict(os.environ))
    results.check(
        said.status == 2 and len(said.err) == 1 and not said.out,
        f"{' '.join(options)}: one line: {said.err}",
    )


def check_refusals(results, build, folder, dump):
    for options in (
        ("--cores", "0"),
        ("--cores", "1,"),
        ("--load", "x"),
        ("--group", "0:nobody"),
        ("--group", "99:main"),
        ("--what-if", "function"),
        ("--what-if", "function:no such=0"),
        ("--what-if", "queue:no such workers=2"),
        ("--what-if", "lock:*=split:1"),
    ):
        refused(results, build, dump, options)
    plain = folder / "plain.dump"
    run(
        ["true"],
        env=dict(
            os.environ,
            CPA_OUTPUT=str(plain),
            CPA_QUIET="1",
            LD_PRELOAD=str(build / "libcpa.so"),
        ),
    )
    said = Run([str(build / "cpa-report"), "--cores", "2", str(plain)], dict(os.environ))
    results.check(
        said.status == 1 and len(said.err) == 1 and "journal" in said.err[0],
        f"no journal: one line: {said.err}",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD") or str(ROOT / "build"))
    build = pathlib.Path(parser.parse_args().build).resolve()
    results = Results()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as name:
        for program, waits in LOCKLESS:
            check_path(results, build, pathlib.Path(name), waits, program)
        for tree in TREES:
            check_path(results, build, pathlib.Path(name), TREE_WAITS, "process_tree", tree)
        for case in STREAMS:
            check_path(results, build, pathlib.Path(name), STREAM_WAITS, "streams", case)
        check_changes(results, build, pathlib.Path(name))
        check_network(results, build, pathlib.Path(name))
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
