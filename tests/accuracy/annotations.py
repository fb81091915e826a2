#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/annotations.py - how long work queues and their items took, and what a change saves

Programs of tests/programs that do not know their own path; those that do are known_paths.py's.
Prints TAP and, as comments, the figures that it compared.
"""

import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import looks
from known_paths import Look
from machine import hold_perf_event
from profiled import Profiler, component
from results import Results
from stages import DEPTH, ITEMS

PREDICTION = 0.03  # what zeroing predicts by items, of what the changed program does
PATH = 0.02  # a path whose length follows from the source, of itself
TRIES = 4
DISTURBED_S = 0.001
STAGES_S = {"parse": 0.006, "filter": 0.016, "store": 0.009}  # see stages.h


def undisturbed(profiler, name, *arguments):
    """
    The report of a program that never blocks outside synchronization. A busy machine may keep its
    threads waiting for what the kernel counts neither as theirs nor as a run queue: once more.
    """
    for _ in range(TRIES):
        report = profiler.profile(name, *arguments)[0]
        external_s = sum(t["external_s"] for t in report["threads"])
        if external_s < DISTURBED_S:
            break
        print(f"# {name}: {external_s:.4f} s blocked elsewhere")
    return report


def check_prediction(results, profiler):
    """Online CP 4.1: orders change when a procedure is free; items know, the lock does not."""

    def figures(*arguments):
        report = undisturbed(profiler, "task_queue", *arguments)
        path_s = report["program"]["critical_path_s"]
        return path_s, path_s - component(report, "function", "prepare")["saved_s"]

    really_s = figures("item", "free")[0]
    error = {}
    for track in ("item", "lock"):
        path_s, predicted_s = figures(track, "paid")
        error[track] = abs(predicted_s / really_s - 1)
        print(
            f"# task_queue by {track}: path {path_s:.4f} s, predicted without prepare"
            f" {predicted_s:.4f} s, really {really_s:.4f} s: {error[track]:.2%} off"
        )
    text = "task_queue: by item, the prediction beside the changed program"
    results.compare(error["item"] <= PREDICTION, text, f"{error['item']:.2%}", f"0 to {PREDICTION:.0%}")
    text = "task_queue: the same by lock: there is a point in items"
    results.compare(error["lock"] > PREDICTION, text, f"{error['lock']:.2%}", f"over {PREDICTION:.0%}")


def check_salesman(results, profiler):
    """Online CP, Fig. 8: by CPU time the workers are to blame, by the path it is the manager."""
    report, _ = profiler.profile("tsp")
    path_s = report["program"]["critical_path_s"]
    components = report["components"]
    manager = component(report, "thread", "manager")
    worker = component(report, "thread", "worker")
    functions = [c for c in components if c["kind"] == "function"]

    ratio = worker["cpu_s"] / manager["cpu_s"]
    text = "tsp: the workers burn most CPU time, that of the manager times"
    results.compare(ratio > 1.5, text, f"{ratio:.2f}", "over 1.5")
    first = f"{components[0]['kind']} {components[0]['name']}"
    text = "tsp: what would gain most"
    results.compare(components[0] == manager, text, first, "thread manager")
    first = functions[0]["name"]
    results.compare(first == "lower_bound", f"{text}, of functions", first, "lower_bound")
    share = manager["critical_path_s"] / path_s
    results.compare(share > 0.8, "tsp: the manager's part of the path", f"{share:.0%}", "over 80%")


def look_at_stages(profiler, name):
    """Run a pipeline. Return what that showed."""
    look = Look()
    n, s = ITEMS, STAGES_S
    path_s = s["parse"] + n * s["filter"] + s["store"]
    saved_s = path_s - (s["parse"] + n * s["store"])
    report, _ = profiler.profile(name)
    queues = report["queues"]

    got_s = report["program"]["critical_path_s"]
    look.close(f"{name}: critical_path_s", got_s, path_s, PATH * path_s)
    depth = max(q["max_depth"] for q in queues)
    look.time(depth == DEPTH, f"{name}: the deeper queue's depth", depth, DEPTH)
    # Of the processing, which is measured; what a function is, samples tell.
    into_filter, into_store = sorted(queues, key=lambda q: -q["service_s"])
    look.close(f"{name}: saved_s of filtering", into_filter["saved_s"], saved_s, PATH * path_s)
    for queue, stage in ((into_filter, "filter"), (into_store, "store")):
        text = f"{name}: service_s of the items to {stage}"
        look.close(text, queue["service_s"], s[stage], PATH * s[stage])
    return look


def main():
    results = Results()
    hold_perf_event()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annotations.", dir=os.environ.get("CPA_TMP")))
    profiler = Profiler(folder)
    checks = {
        "task_queue": lambda: check_prediction(results, profiler),
        "tsp": lambda: check_salesman(results, profiler),
        "stages_c": lambda: looks.check(results, lambda: look_at_stages(profiler, "stages_c")),
        "stages_cxx": lambda: looks.check(results, lambda: look_at_stages(profiler, "stages_cxx")),
    }
    results.run(checks)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
