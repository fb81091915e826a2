#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/pids.py - pids that mean several processes

A pid is used again while the session has a row of the process before; and in a pid namespace a
process has another pid than the one that its parent, outside, waits for. Each run is compared with
the native one, and the pieces of its critical path are known: tests/programs/pids, tests/programs/process_tree.
All of it needs namespaces, and root. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

from process_trees import BUILD, PIECE, PROGRAM, UNIT_S, Run, check_path, compare, missing, report
from results import Results

PIDS = BUILD / "tests/programs/pids"
SPACE = ["unshare", "-p", "-f"]
HOWS = ("fork", "vfork", "spawn")


def profiled_inside(dump):
    """What makes a command the first process of a session in a pid namespace."""
    return [*SPACE, "env", f"LD_PRELOAD={BUILD}/libcpa.so", f"CPA_OUTPUT={dump}"]


def used_again(results, folder):
    runs = {f"{a}, then {b}": ["reuse", a, b] for a in HOWS for b in HOWS}
    for name, what in {**runs, "of a parent": ["parent"]}.items():
        name = f"a pid is used again: {name}"
        dump = folder / "again.dump"
        native = Run([*SPACE, PIDS, *what])
        run = Run([*profiled_inside(dump), PIDS, *what])
        text = f"{name}: {native.result!r}, profiled {run.result!r}"
        results.check(native.result == run.result, text)
        profile = report(dump)
        check_path(results, name, profile, int(run.result[0]))
        processes = profile["processes"]
        pids = [process["pid"] for process in processes]
        again = [process for process in processes if pids.count(process["pid"]) == 2]
        # Of one that vanished as vfork() or posix_spawn() had made it nobody knows.
        known = 2 if what[1:2] in ([], ["fork"]) else 0
        results.check(len(again) == known, f"{name}: {len(again)} processes have it: {pids}")
        states = [process["state"] for process in processes]
        wanted = 5 if what == ["parent"] else 2
        results.check(states.count("ended") == wanted, f"{name}: {wanted} ended: {states}")
        dump.unlink()


def namespaces(results, folder):
    """Trees whose first process is 1, and does not know of its parent's pid, nor the parent of its."""
    for name, processes in (("fork_join", 3), ("chain", 4), ("system", 3), ("mutex", 3), ("exec", 1)):
        dump = folder / f"{name}.dump"
        label = f"a pid namespace: {name}"
        run, profile = compare(results, [*SPACE, PROGRAM, name], dump, label)
        if not profile:
            continue
        check_path(results, label, profile, int(run.result[0]))
        states = [process["state"] for process in profile["processes"]]
        text = f"{label}: {processes + 1} processes, each ended: {states}"
        results.check(states == ["ended"] * (processes + 1), text)
        notes = missing(profile)
        results.check(not notes, f"{label}: nothing is missing {notes}")
        dump.unlink()


def outside(results, folder):
    """Who makes the first process of a namespace, and is 1 itself, goes on as it was."""
    for how, unseen in (("fork", 0), ("vfork", 1), ("spawn", 1)):
        for where in ("outside", "inside"):
            name = f"the first of a pid namespace by {how}, {where} one"
            dump = folder / "first.dump"
            command = [PIDS, "outside", how]
            native = Run(command)
            run = Run(command, dump) if where == "outside" else Run([*profiled_inside(dump), *command])
            text = f"{name}: {native.result!r}, profiled {run.result!r} {run.error!r}"
            results.check((native.result, native.error) == (run.result, run.error), text)
            profile = report(dump)
            states = [process["state"] for process in profile["processes"]]
            results.check(states.count("ended") == 2, f"{name}: two ended: {states}")
            results.check(profile["program"]["complete"], f"{name}: so did the run")
            cpu, least = sum(p["cpu_s"] for p in profile["processes"]), 8 * UNIT_S * (1 - PIECE)
            results.check(cpu >= least, f"{name}: {cpu:.4f} s of CPU time, {least:.4f} s at least")
            notes = " ".join(profile["diagnostics"]["notes"])
            said = f"CPA_SESSION in the environment): {unseen}. These waits" in notes
            results.check(said == bool(unseen), f"{name}: says {notes or 'nothing'}")
            dump.unlink()


def beside(results, folder):
    """Namespaces at the same time, in which all pids are the same."""
    name = "two pid namespaces"
    command = " ".join([*SPACE, str(PROGRAM), "chain"])
    dump = folder / "beside.dump"
    _, profile = compare(results, ["sh", "-c", f"{command} & {command}; wait"], dump, name)
    if not profile:
        return
    states = [process["state"] for process in profile["processes"]]
    results.check(states == ["ended"] * (1 + 2 * 5), f"{name}: {states}")
    burning = [p for p in profile["processes"] if p["name"].startswith("process_tree")]
    results.check(len(burning) == 8, f"{name}: {len(burning)} of them work")
    tree = {process["id"]: process["parent"] for process in profile["processes"]}
    # Each namespace's first has three children of its own.
    count = sorted(list(tree.values()).count(number) for number in tree)
    results.check(count[-2:] == [3, 3], f"{name}: each has its own children {tree}")
    notes = missing(profile)
    results.check(not notes, f"{name}: nothing is missing {notes}")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pids.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    if Run([*SPACE, "true"]).result[1]:
        results.skip("pids", "no pid namespaces here")
        return results.end(folder)
    used_again(results, folder)
    namespaces(results, folder)
    outside(results, folder)
    beside(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
