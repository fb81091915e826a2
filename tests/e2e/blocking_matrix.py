#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/blocking_matrix.py - each operation that blocks, in each way that it can go on

tests/programs/blocking_matrix.c runs every operation of one scenario, and tells what it knows: results,
CPU times by the threads' own clocks just inside and just outside, and how long each waiter was blocked.
Profiled, results must be those without us, and the report's figures lie between the program's, however
busy the machine is.
"""

import json
import os
import pathlib
import sys
import tempfile

from profiled import TILES, Profiler, component, contradictions
from results import Results

# scenario -> whether profiling begins on
SCENARIOS = {
    "on": True,
    "off": False,
    "start": False,
    "stop": False,
    "restart": False,
    "cancelled": True,
    "timeout": True,
    "jump": True,
    "fork": True,
}
# The waiter is released by the releaser in a part of the run.
RELEASED = ("on", "start", "restart", "fork")
# Who waited already when the part began is not known to those who wake it, nor is it known whose child a
# process is that was made before.
BEGUN_OFF = ("futex", "signal", "child")
# A wait for a handler is found when it is over, as a part of an activity: what crosses the border of
# a part of the run is cut in proportion, and its release is not looked for.
CUT = ("suspend",)
# A handler runs because of a signal that was sent this long ago at most. A sender may lose its processor
# between the record of that and the signal.
SENT_S = 0.02
SWITCHED = ("start", "stop", "restart")
# What lies between a reading of the program's and one of ours: an event, or the end of a thread's destructors.
PROBE_S = 0.0003
TRIES, EXPIRES, CANCELS, SPINS, JOINS, REACQUIRES, CHILD = (1 << n for n in range(7))
# What the program prints that is the same in each run.
RESULTS = ("operation", "result", "errno", "jumped", "cancelled", "handler_status", "tried")


class Thread:
    """What the report says of the thread that began in @routine: its row, and its component."""

    FIGURES = ("cpu_s", "wait_s", "external_s", "runqueue_s", "probe_s")

    def __init__(self, report, routine):
        rows = [t for t in report["threads"] if t["start_routine"] == routine]
        self.row = {key: sum(t[key] for t in rows) for key in self.FIGURES}
        self.component = component(report, "thread", routine)


class Child:
    """The same of a child, of whose work only a region tells, which has no probes: those are the process's."""

    def __init__(self, report, region, pid):
        self.component = component(report, "region", region)
        probe_s = sum(p["probe_s"] for p in report["processes"] if p["pid"] == pid)
        self.row = {"probe_s": probe_s}


class Cell:
    """One operation in one scenario: what the program knows, and what the report says."""

    def __init__(self, scenario, knowledge, report):
        self.scenario, self.operation = scenario, knowledge["operation"]
        self.knows = {k: v / 1e9 for k, v in knowledge.items() if isinstance(v, int)}
        self.properties = knowledge["properties"]
        self.waiter = Thread(report, f"waiter_{self.operation}")
        if self.properties & CHILD:
            self.releaser = Child(report, self.operation, knowledge["child"])
        else:
            self.releaser = Thread(report, f"releaser_{self.operation}")
        self.wrong = []

    def within(self, text, found, least, most):
        slack = PROBE_S + TILES * max(most, 0)
        if not least - slack <= found <= most + slack:
            self.wrong.append(f"{text} is {found:.6f} s, not {least:.6f} to {most:.6f}")

    def is_cut(self):
        return self.operation.split("_")[0] in CUT

    def is_late(self):
        """The signal may have been sent so late that nobody is known to have sent it."""
        return self.is_cut() and self.knows["released_at"] - self.knows["blocked_until"] > SENT_S / 2

    def waiter_bounds(self):
        """CPU time of the waiter in parts of the run: of its work, and by its clock."""
        k = self.knows
        if self.scenario == "off":
            return 0, 0
        if self.scenario in SWITCHED and (self.is_cut() or self.properties & (TRIES | SPINS)):
            # It works and sleeps as it waits: a border cuts that in proportion.
            cut = self.is_cut() or self.scenario == "stop"
            return 0 if cut else k["after_ns"], k["ended_ns"]
        if self.scenario == "stop":
            # What CPU time the wait itself takes is cut in proportion, too.
            return k["before_ns"], k["back_ns"]
        if self.scenario == "start":
            return k["after_ns"], k["ended_ns"] - k["arrived_ns"]
        return k["before_ns"] + k["after_ns"], k["ended_ns"]

    def releaser_bounds(self):
        k = self.knows
        if self.scenario == "off":
            return 0, 0
        return k["released_ns"], k["released_most_ns"]

    def cpu(self, text, thread, least, most):
        """A thread's CPU time has its probes, which its components do not have. A child has no row of its own."""
        if "cpu_s" in thread.row:
            self.within(f"{text}'s CPU time", thread.row["cpu_s"], least, most)
        of_component = thread.component["cpu_s"]
        self.within(f"{text}'s work", of_component, least - thread.row["probe_s"], most)

    def rest(self, blocked):
        """
        What is left of the waiter's life without its work and the time when it is known to be @blocked: the
        kernel may let it sleep anywhere, for a page or for a lock of its own.
        """
        k = self.knows
        return k["life"] - k["before_ns"] - k["after_ns"] - blocked

    def blocked(self):
        """What the waiter's wait was: for the releaser, or of external time."""
        k, row = self.knows, self.waiter.row
        most = k["to"] - k["from"]
        if self.is_cut() and (self.scenario in SWITCHED or self.is_late()):
            self.within("time blocked", row["wait_s"] + row["external_s"], 0, k["life"])
        elif self.scenario in ("on", "restart"):
            # Who spins may find a lock that is free again.
            blocked = k["blocked_until"] - k["blocked_at"]
            self.within("wait", row["wait_s"], (0 if self.properties & SPINS else blocked) - k["off_ns"], most)
            self.within("external time", row["external_s"], 0, self.rest(blocked))
        elif self.scenario == "start":
            # Before the part it was blocked as well.
            blocked = k["blocked_at"] - k["from"] + k["last_ns"]
            self.within("external time", row["external_s"], 0, self.rest(blocked))
        elif self.scenario == "timeout":
            # How much of it the thread was ready is the kernel's word, which comes late.
            whole_s = row["external_s"] + row["runqueue_s"]
            self.within("external time", row["external_s"], 0, self.rest(0))
            self.within("time without a processor", whole_s, k["due_at"] - k["blocked_at"], k["life"])
        elif self.scenario != "fork":
            # Behind a jump the rest of the wait is of the activity that follows.
            self.within("time blocked", row["wait_s"] + row["external_s"], 0, k["life"])

    def check(self):
        """Texts of what does not fit."""
        self.cpu("waiter", self.waiter, *self.waiter_bounds())
        self.cpu("releaser", self.releaser, *self.releaser_bounds())
        if not self.properties & TRIES:
            self.blocked()
        if self.has_edge():
            self.path("waiter", self.waiter, self.knows["after_ns"])
            # Of the path of an earlier part the parent has more than its child.
            child = self.properties & CHILD
            self.path("releaser", self.releaser, self.knows["last_ns" if child else "released_ns"])
        return self.wrong

    def has_edge(self):
        """The waiter goes on because of the releaser's work."""
        if self.scenario not in RELEASED or self.properties & TRIES or self.knows["result"]:
            return False
        if self.is_cut() and (self.scenario in SWITCHED or self.is_late()):
            return False
        return self.scenario != "start" or self.operation.split("_")[0] not in BEGUN_OFF

    def path(self, text, thread, least):
        found = thread.component["critical_path_s"]
        if found < least - thread.row["probe_s"] - PROBE_S - TILES * least:
            self.wrong.append(f"path through the {text} is {found:.6f} s of {least:.6f} s")


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def check_scenario(results, profiler, scenario):
    native = lines(profiler.native("blocking_matrix", scenario))
    settings = {"CPA_START": "on" if SCENARIOS[scenario] else "off", "CPA_COMPONENTS": "4096"}
    if scenario == "start":
        # A sample of a thread that has just been woken, which is rare, takes the wait until then for an activity.
        settings["CPA_SAMPLE_HZ"] = "0"
    report, output = profiler.profile("blocking_matrix", scenario, **settings)
    profiled = lines(output)
    wrong = [
        f"{a['operation']}: {key} is {b[key]}, natively {a[key]}"
        for a, b in zip(native, profiled)
        for key in RESULTS
        if a[key] != b[key]
    ]
    results.check(
        len(native) == len(profiled) and not wrong,
        f"{scenario}: results of {len(native)} operations as without us {'; '.join(wrong)}".rstrip(),
    )
    cells = [Cell(scenario, each, report) for each in profiled]
    for cell in cells:
        found = cell.check()
        results.check(not found, f"{scenario}: {cell.operation} {'; '.join(found)}".rstrip())
    odd = list(contradictions(report))
    results.check(not odd, f"{scenario}: the report adds up {'; '.join(odd)}".rstrip())
    if scenario in RELEASED:
        alarms = [n for n in report["diagnostics"]["notes"] if "without a release" in n]
        results.check(not alarms, f"{scenario}: no wait is said to lack its release {alarms or ''}")
    if scenario in ("on", "restart"):
        unseen_s = component(report, "external", "unseen")["critical_path_s"]
        results.check(unseen_s == 0, f"{scenario}: {unseen_s:.6f} s of waits have no release")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-blocking.", dir=os.environ.get("CPA_TMP")))
    profiler = Profiler(folder)
    for scenario in sys.argv[1:] or SCENARIOS:
        check_scenario(results, profiler, scenario)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
