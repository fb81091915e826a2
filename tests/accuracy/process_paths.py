#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/process_paths.py - critical paths through trees of processes, in seconds

Trees whose path is a sum of pieces of CPU time (tests/programs/process_tree, tests/programs/pids), by
the programs' own clocks; their CPU time beside the kernel's account; and a make -j2, whose path goes
through what it waits for. Prints TAP and a summary.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from pids import HOWS, PIDS, SPACE, profiled_inside
from process_trees import FOREIGN, PIECE, PROGRAM, TREES, UNIT_S, Run, report, set_uid, static
from results import Results

PROCESS_S = 0.006  # of a process, beside its pieces: the loader, and its end
CPU = 0.05  # of the kernel's account
CPU_S = 0.02
# A process that got no processor for 20 ms after the end of a child is not known to have waited for
# it: a make that had to wait that long, for all its turns together, says nothing.
LATE_S = 0.02
# How make and cc wait for children; without knowing of the children it is most of the path.
WAITING = ("poll", "signal", "child", "read")
WAITS = 0.05
TARGETS = ("one", "two", "three")  # of make -j2, which waits for a job to end before the last
MAKEFILE = f"""
all: {' '.join(TARGETS)}
{' '.join(TARGETS)}: %: %.c
	cc -O2 -o $@ $<
"""


def check_path(results, name, profile, units, processes, waits_s=0):
    path = profile["program"]["critical_path_s"]
    least = units * UNIT_S * (1 - PIECE)  # what waits took may be run-queue time
    most = waits_s + units * UNIT_S * (1 + PIECE) + processes * PROCESS_S
    text = f"{least:.4f} to {most:.4f} s"
    results.compare(least <= path <= most, f"{name}: critical path", f"{path:.4f} s", text)


def kernels_account(run):
    """The CPU time, s, of the children that @run makes, and what that returns."""
    before = os.times()
    done = run()
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system, done


def check_cpu(results, name, profile, kernels_s):
    ours = sum(process["cpu_s"] for process in profile["processes"])
    off = CPU * kernels_s + CPU_S
    text = f"{kernels_s:.3f} s +- {off:.3f} s"
    good = abs(ours - kernels_s) <= off
    results.compare(good, f"{name}: CPU time beside the kernel's", f"{ours:.3f} s", text)


def trees(results, folder):
    for name, processes in TREES.items():
        dump = folder / f"{name}.dump"
        kernels_s, run = kernels_account(lambda: Run([PROGRAM, name], dump))
        profile = report(dump)
        check_path(results, name, profile, int(run.result[0]), processes)
        check_cpu(results, name, profile, kernels_s)
        dump.unlink()


def pids(results, folder):
    if Run([*SPACE, "true"]).result[1]:
        results.skip("pids", "no pid namespaces here")
        return
    runs = {f"{a}, then {b}": ["reuse", a, b] for a in HOWS for b in HOWS}
    for name, what in {**runs, "of a parent": ["parent"]}.items():
        dump = folder / "again.dump"
        run = Run([*profiled_inside(dump), PIDS, *what])
        name = f"a pid is used again: {name}"
        check_path(results, name, report(dump), int(run.result[0]), 5, float(run.error))
        dump.unlink()


def foreign(results, folder):
    """Children that load nothing: their time passes at its own pace."""
    for name, make_program in (("static", static), ("set-uid", set_uid)):
        program = make_program(folder)
        if not program or Run([PROGRAM, "foreign", program]).result[1]:
            results.skip(f"{name} children", "cannot be made or run here")
            continue
        dump = folder / f"{name}.dump"
        run = Run([PROGRAM, "foreign", program], dump)
        profile = report(dump)
        units, waits = int(run.result[0]) * UNIT_S, float(run.error)
        late = sum(process["runqueue_s"] for process in profile["processes"])
        slack = units * PIECE + FOREIGN * PROCESS_S
        least, most = units + waits - late - slack, units + waits + slack
        path = profile["program"]["critical_path_s"]
        label = f"{name} children: critical path"
        text = f"{least:.4f} to {most:.4f} s"
        results.compare(least <= path <= most, label, f"{path:.4f} s", text)
        dump.unlink()


def make(results, folder):
    if not shutil.which("make") or not shutil.which("cc"):
        results.skip("make -j2", "no make or no cc")
        return
    (folder / "Makefile").write_text(MAKEFILE)
    for name in TARGETS:
        (folder / f"{name}.c").write_text("int main(void)\n{\n\treturn 0;\n}\n")
    dump = folder / "make.dump"
    Run(["make", "-j2"], dump, folder)
    profile = report(dump)
    dump.unlink()
    late = profile["processes"][0]["runqueue_s"]
    if late >= LATE_S:
        results.skip("make: what it waits for", f"it waited {late:.4f} s for a processor")
        return
    path = profile["program"]["critical_path_s"]
    shares = {
        part["name"]: part["critical_path_s"] / path
        for part in profile["components"]
        if part["kind"] in ("thread", "external")
    }
    cc1 = shares.get("cc1", 0)
    results.compare(cc1 > 0.1, "make: cc1's part of the path", f"{cc1:.1%}", "over 10%")
    waits = sum(shares.get(kind, 0) for kind in WAITING)
    text = "make: part of the path that is waits for children"
    results.compare(waits < WAITS, text, f"{waits:.1%}", f"under {WAITS:.0%}")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="process_paths.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    for group in (trees, pids, foreign, make):
        group(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
