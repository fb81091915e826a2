#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/annotations.py - what the report makes of work queues, regions, marks and annotations

Items, edges, notes and classes are counted; each report adds up. How long things took is looked at by
tests/accuracy/annotations.py. Prints TAP and a summary.
"""

import os
import pathlib
import re
import sys
import tempfile

from profiled import ROOT, Profiler, check_contradictions
from results import Results
from stages import DEPTH, ITEMS

SOURCES = ROOT / "tests/programs"


def check_salesman(results, profiler):
    report, output = profiler.profile("tsp")
    results.check(output == profiler.native("tsp", "exact"), "tsp: the tour is the shortest")
    tasks = [q for q in report["queues"] if q["consumers"] == 8]
    results.check(
        len(tasks) == 1 and tasks[0]["enqueued"] == tasks[0]["dequeued"],
        "tsp: what is enqueued for the eight workers is dequeued",
    )
    check_contradictions(results, "tsp", report)


def annotation_lines(source):
    code = re.sub(r"/\*.*?\*/", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line.strip() for line in code.splitlines() if re.search(r"\bCPA_|/cpa\.h", line)]


def check_stages(results, profiler, name, source):
    report, _ = profiler.profile(name)
    queues = report["queues"]
    lines = annotation_lines(SOURCES / source)
    results.check(1 <= len(lines) <= 4, f"{name}: at most 4 lines annotate it: {len(lines)}")
    counts = [(q["enqueued"], q["dequeued"]) for q in queues]
    good = counts == [(ITEMS, ITEMS)] * 2
    results.check(good, f"{name}: {ITEMS} items through each of 2 queues: {counts}")
    depths = [q["max_depth"] for q in queues]
    good = all(1 <= depth <= DEPTH for depth in depths)
    results.check(good, f"{name}: depths, {DEPTH} at most: {depths}")
    check_contradictions(results, name, report)


def dependencies(report, begin, end):
    """How often an event of kind `end` depended on one of kind `begin`."""
    kind = {node["id"]: node["kind"] for node in report["pag"]["nodes"]}
    return sum(
        edge["count"]
        for edge in report["pag"]["edges"]
        if edge["type"] == "dependency"
        and (kind[edge["from"]], kind[edge["to"]]) == (begin, end)
    )


def check_edges(results, profiler):
    report, _ = profiler.profile("hand_made")
    count = dependencies(report, "before", "after")
    results.check(count == 7, f"hand_made: 6 items and 1 lock make edges, found {count}")
    report, _ = profiler.profile("queue_order")
    count = dependencies(report, "enqueue", "dequeue")
    results.check(count == 10, f"queue_order: 10 items make edges, found {count}")
    own = [o["class"] for o in report["objects"] if o.get("queue") == "stack"]
    results.check(len(own) == 2, f"queue_order: lock and condition are the queue's own: {own}")


def check_misuse(results, profiler):
    report, _ = profiler.profile("misuse")
    notes = report["diagnostics"]["notes"]
    expected = {
        "or began without an end: 21.": "16 too deep, 2 ends and 3 begins alone",
        "Items dequeued that cpa had not seen enqueued: 1.": "an item that nobody had enqueued",
        "Items enqueued while already in the queue: 1.": "an item enqueued twice",
        "or too many processed at once: 2.": "items done that were not in process",
    }
    for words, what in expected.items():
        found = [note for note in notes if words in note]
        results.check(len(found) == 1, f"misuse: {what}: counted")
    queue = [q for q in report["queues"] if q["name"] == "misused"]
    keys = ("enqueued", "dequeued", "max_depth")
    got = [tuple(q[key] for key in keys) for q in queue]
    results.check(got == [(3, 2, 2)], f"misuse: {keys} of its queue are {got}")
    own = [o["class"] for o in report["objects"] if o.get("queue") == "misused"]
    good = len(own) == 1 and own[0].startswith("place")
    results.check(good, f"misuse: its own locks, and not one that was destroyed: {own}")
    marks = [mark["name"] for mark in report["marks"]]
    results.check(marks == ["begin", "items done", "end"], f"misuse: marks {marks}")
    times = [(mark["at_s"], mark["critical_path_s"]) for mark in report["marks"]]
    results.check(times == sorted(times), "misuse: marks are in order of time and of the path")


def check_lock_names(results, profiler):
    report, _ = profiler.profile("named_locks")
    found = {
        o["class"]: (o["kind"], o["objects"], o["acquisitions"]) for o in report["objects"]
    }
    expected = {
        "a plain mutex": ("mutex", 1, 7),
        "even shards": ("mutex", 3, 30),
        "odd shards": ("mutex", 3, 33),
        "a rwlock": ("rwlock", 1, 1),
        "a spin lock": ("spin", 1, 1),
        "a semaphore": ("semaphore", 1, 1),
        "between processes": ("mutex", 1, 3),
        "a C11 mutex": ("mutex", 1, 3),
    }
    for name, figures in expected.items():
        results.compare(found.get(name) == figures, f"named_locks: {name}", found.get(name), figures)
    unnamed = sorted(o[2] for name, o in found.items() if name not in expected)
    results.check(unnamed == [2, 5], f"named_locks: one named late, one made again: {unnamed}")
    late = [note for note in report["diagnostics"]["notes"] if "CPA_LOCK_NAME" in note]
    results.check(len(late) == 1 and ": 1. They" in late[0], "named_locks: the late one is counted")


def check_anywhere(results, profiler):
    expected = "child 7, errno untouched\n"
    results.check(profiler.native("annotated_anywhere") == expected, "annotated_anywhere: alone")
    _, output = profiler.profile("annotated_anywhere")
    results.check(output == expected, f"annotated_anywhere: profiled: {output.strip()}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annotations.", dir=os.environ.get("CPA_TMP")))
    profiler = Profiler(folder)
    checks = {
        "tsp": lambda: check_salesman(results, profiler),
        "stages_c": lambda: check_stages(results, profiler, "stages_c", "stages_c.c"),
        "stages_cxx": lambda: check_stages(results, profiler, "stages_cxx", "stages_cxx.cpp"),
        "edges": lambda: check_edges(results, profiler),
        "misuse": lambda: check_misuse(results, profiler),
        "named_locks": lambda: check_lock_names(results, profiler),
        "annotated_anywhere": lambda: check_anywhere(results, profiler),
    }
    results.run(checks)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
