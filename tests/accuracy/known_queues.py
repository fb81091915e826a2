#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/known_queues.py - paths and items of GLib's, libuv's and APR's queues

Programs that nobody annotated and that know their own path (tests/programs/known_items.h): the report
of a run has the times that the program's own clocks measured in it. Prints TAP and a summary.
"""

import functools
import json
import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import looks
from known_paths import COMPONENT, PATH, TRIES, Look
from machine import hold_perf_event
from profiled import PROGRAMS, profiled_environment, read, run
from results import Results

KNOWN = ("known_glib", "known_uv", "known_apr")
# Time between what the program stamps and what we stamp, of an item; a thread may be preempted.
ITEM_WAIT_S = 0.0005


def look_at_queue(look, name, expected, report):
    """One queue of the report, and the component that is the processing of its items."""
    label = f"{name}: %s of queue {expected['name']}"
    path_s = report["program"]["critical_path_s"]
    queue = next(q for q in report["queues"] if expected["name"] in q["name"])
    # Of the report: means. Stop items are items.
    for key, more_s in (("item_wait_s", ITEM_WAIT_S), ("service_s", 0)):
        mean_s = expected[key] / expected["dequeued"]
        look.close(label % key, queue[key], mean_s, COMPONENT * mean_s + more_s)
    component = next(
        c for c in report["components"] if (c["kind"], c["name"]) == ("queue", queue["name"])
    )
    text = label % "saved_s"
    look.close(text, component["saved_s"], expected["saved_s"], COMPONENT * path_s)


def run_undisturbed(command, dump, figures, environment):
    """
    Run a program until its own clocks say that the machine let it. Nothing of cpa's is looked at.
    Return its figures, and whether it was let.
    """
    for _ in range(TRIES):
        dump.unlink(missing_ok=True)
        run(command, env=environment)
        expected = json.loads(figures.read_text(encoding="utf-8"))
        if expected["stolen_s"] < PATH / 4 * expected["critical_path_s"]:
            return expected, True
        print(f"# {command[0]}: {expected['stolen_s']} s were stolen from it: once more")
    return expected, False


def look_at(name, folder):
    """Run a program that knows its path. Return what that showed."""
    look = Look()
    dump, figures = folder / f"{name}.dump", folder / f"{name}.json"
    command, environment = [PROGRAMS / name, figures], profiled_environment(dump)
    expected, undisturbed = run_undisturbed(command, dump, figures, environment)
    if not undisturbed:
        stolen = f"the machine took {expected['stolen_s']} s from the last of {TRIES} runs, too"
        look.skip(f"{name}: its figures", stolen)
        return look

    report = read(dump)
    path_s = expected["critical_path_s"]
    got_s = report["program"]["critical_path_s"]
    look.close(f"{name}: critical_path_s", got_s, path_s, PATH * path_s)
    for queue in expected["queues"]:
        look_at_queue(look, name, queue, report)
    return look


def main():
    results = Results()
    hold_perf_event()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="known_queues.", dir=os.environ.get("CPA_TMP")))
    for name in KNOWN:
        try:
            looks.check(results, functools.partial(look_at, name, folder))
        except (RuntimeError, ValueError, KeyError) as error:
            results.check(False, f"{name}: {error!r}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
