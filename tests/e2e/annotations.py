#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Compares times: tests/run may try it twice
"""tests/e2e/annotations.py - what the report makes of work queues, regions, marks and annotations

Programs of tests/programs that do not know their own path; those that do are known_paths.py's.
Prints TAP and, as comments, the figures that it compared.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import looks  # noqa: E402
from known_paths import SOURCES, Look, run  # noqa: E402
from machine import hold_perf_event  # noqa: E402
from results import Results  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or SOURCES.parents[1] / "build").resolve()
PREDICTION = 0.03  # what zeroing predicts by items, of what the changed program does
PATH = 0.02  # a path whose length follows from the source, of itself
TRIES = 4
DISTURBED_S = 0.001
STAGES_S = {"items": 30, "parse": 0.006, "filter": 0.016, "store": 0.009}  # see stages.h


class Profiler:
    """Runs programs under libcpa.so, each with a dump of its own in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.runs = 0

    def environment(self):
        return {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}

    def native(self, name, *arguments):
        return run([str(BUILD / "tests/programs" / name), *arguments], env=self.environment())

    def profile(self, name, *arguments):
        """Return the report and the program's output."""
        self.runs += 1
        dump = str(self.folder / f"{name}.{self.runs}.dump")
        environment = self.environment()
        environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=dump, CPA_QUIET="1")
        output = run([str(BUILD / "tests/programs" / name), *arguments], env=environment)
        return json.loads(run([str(BUILD / "cpa-report"), "--format", "json", dump])), output


def component(report, kind, name):
    """The one of that name; without time it need not be listed."""
    found = [c for c in report["components"] if (c["kind"], c["name"]) == (kind, name)]
    return found[0] if found else {"saved_s": 0.0, "critical_path_s": 0.0, "cpu_s": 0.0}


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
    text = "task_queue: by item, the prediction is within {:.0%} of the changed program"
    results.check(error["item"] <= PREDICTION, text.format(PREDICTION))
    text = "task_queue: by lock it is not, so there is a point in items"
    results.check(error["lock"] > PREDICTION, text)


def check_salesman(results, profiler):
    """Online CP, Fig. 8: by CPU time the workers are to blame, by the path it is the manager."""
    report, output = profiler.profile("tsp")
    path_s = report["program"]["critical_path_s"]
    components = report["components"]
    manager = component(report, "thread", "manager")
    worker = component(report, "thread", "worker")
    functions = [c for c in components if c["kind"] == "function"]

    for c in (manager, worker):
        print(
            f"# tsp: {c['name']}: CPU {c['cpu_s'] / report['program']['cpu_s']:.0%}, path"
            f" {c['critical_path_s'] / path_s:.0%}, saves {c['saved_s']:.3f} s of {path_s:.3f} s"
        )
    results.check(output == profiler.native("tsp", "exact"), "tsp: the tour is the shortest")
    results.check(worker["cpu_s"] > 1.5 * manager["cpu_s"], "tsp: the workers burn most CPU time")
    first = f"{components[0]['kind']} {components[0]['name']}"
    results.check(components[0] == manager, f"tsp: the manager comes first, found {first}")
    first = functions[0]["name"]
    results.check(first == "lower_bound", f"tsp: of functions the manager's, found {first}")
    results.check(
        manager["critical_path_s"] > 0.8 * path_s, "tsp: the manager has most of the path"
    )
    tasks = [q for q in report["queues"] if q["consumers"] == 8]
    results.check(
        len(tasks) == 1 and tasks[0]["enqueued"] == tasks[0]["dequeued"],
        "tsp: what is enqueued for the eight workers is dequeued",
    )


def annotation_lines(source):
    code = re.sub(r"/\*.*?\*/", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line.strip() for line in code.splitlines() if re.search(r"\bCPA_|/cpa\.h", line)]


def look_at_stages(profiler, name, source):
    """Run a pipeline. Return what that showed."""
    look = Look()
    n, s = STAGES_S["items"], STAGES_S
    path_s = s["parse"] + n * s["filter"] + s["store"]
    saved_s = path_s - (s["parse"] + n * s["store"])
    report, _ = profiler.profile(name)
    queues = report["queues"]

    lines = annotation_lines(SOURCES / source)
    look.check(1 <= len(lines) <= 4, f"{name}: at most 4 lines annotate it:", len(lines))
    got_s = report["program"]["critical_path_s"]
    look.close(f"{name}: critical_path_s", got_s, path_s, PATH * path_s)
    counts = [(q["enqueued"], q["dequeued"]) for q in queues]
    look.check(counts == [(n, n)] * 2, f"{name}: {n} items through each of 2 queues:", counts)
    depths = sorted(q["max_depth"] for q in queues)
    look.check(depths[-1] == 4 and depths[0] >= 1, f"{name}: depths, 4 at most", depths)
    # Of the processing, which is measured; what a function is, samples tell.
    into_filter, into_store = sorted(queues, key=lambda q: -q["service_s"])
    look.close(f"{name}: saved_s of filtering", into_filter["saved_s"], saved_s, PATH * path_s)
    for queue, stage in ((into_filter, "filter"), (into_store, "store")):
        text = f"{name}: service_s of the items to {stage}"
        look.close(text, queue["service_s"], s[stage], PATH * s[stage])
    return look


def check_stages(results, profiler, name, source):
    looks.check(results, lambda: look_at_stages(profiler, name, source))


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
        "21 regions ended": "16 too deep, 2 ends and 3 begins alone",
        "1 dequeued items had not been": "an item that nobody had enqueued",
        "1 items were enqueued while": "an item enqueued twice",
        "2 items were said to be done": "items done that were not in process",
    }
    for start, what in expected.items():
        found = [note for note in notes if note.startswith(start)]
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


def check_anywhere(results, profiler):
    expected = "child 7, errno untouched\n"
    results.check(profiler.native("annotated_anywhere") == expected, "annotated_anywhere: alone")
    _, output = profiler.profile("annotated_anywhere")
    results.check(output == expected, f"annotated_anywhere: profiled: {output.strip()}")


def main():
    results = Results()
    hold_perf_event()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annotations."))
    profiler = Profiler(folder)
    checks = {
        "task_queue": lambda: check_prediction(results, profiler),
        "tsp": lambda: check_salesman(results, profiler),
        "stages_c": lambda: check_stages(results, profiler, "stages_c", "stages_c.c"),
        "stages_cxx": lambda: check_stages(results, profiler, "stages_cxx", "stages_cxx.cpp"),
        "edges": lambda: check_edges(results, profiler),
        "misuse": lambda: check_misuse(results, profiler),
        "annotated_anywhere": lambda: check_anywhere(results, profiler),
    }

    for name in sys.argv[1:] or checks:
        try:
            checks[name]()
        except (RuntimeError, ValueError) as error:
            results.check(False, f"{name}: {error}")
        except (KeyError, TypeError, IndexError) as error:
            results.check(False, f"{name}: not in the report: {error!r}")
    if results.failed:
        print(f"# dumps kept: {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
