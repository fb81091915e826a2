#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_same.py - OpenMP programs do the same natively and under libcpa.so

However the runtime waits, with more threads than processors, with cancellation, with a library that has OpenMP
loaded by dlopen(), with two copies of libgomp, without any, and with another tool for OpenMP. Prints TAP and a summary.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from openmp_built import CASES, FLAGS, is_own, programs, run_same, same
from profiled import TIMEOUT_S, check_contradictions, clean_environment, profiled_environment, read, run, verify
from results import Results

HERE = pathlib.Path(__file__)
CANCELLED = HERE.with_name("openmp_cancelled.c")
SAME = HERE.with_name("openmp_same.cpp")
COPIED = HERE.with_name("openmp_copied.c")
COPIES = HERE.with_name("openmp_copies.c")
OLD = HERE.with_name("openmp_old.c")
TOOL = HERE.with_name("openmp_tool.c")
STOP = HERE.with_name("openmp_stop.c")
WEAK = HERE.with_name("openmp_weak.c")
SETTINGS = (
    {"OMP_CANCELLATION": "true"},
    {"OMP_WAIT_POLICY": "active", "OMP_NUM_THREADS": "2"},
    {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "8", "OMP_CANCELLATION": "true"},
    {"GOMP_SPINCOUNT": "1000000", "KMP_BLOCKTIME": "infinite", "OMP_NUM_THREADS": "3"},
    {"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "1"},
)
STOPPED_S = 0.05  # of the 0.1 s of work behind the tasks of openmp_stop.c
STEP = 2000  # tasks of openmp_copied.c
ROUNDS, ROUND_BYTES = 5000, 500  # of openmp_cancelled.c; at most for each more; one of its ten tasks needs more


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
        if native[1] < 0:  # as libomp 14 did once, beside load
            results.skip(label, f"natively it ends by signal {-native[1]}")
            continue
        same = native == ours
        results.check(same, f"{label}: the same{'' if same else f': {native} {ours}'}")
        check_contradictions(results, label, read(dump))


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
    run(["gcc", *FLAGS, f"-I{CASES.parents[2]}", STOP, "-o", folder / "stop"])
    same(results, folder, "stopped in a region", [folder / "stop"])
    run(["gcc", "-O2", "-fopenmp", OLD, "-o", folder / "old"])
    same(results, folder, "regions of old compilers", [folder / "old"])
    notes = read(folder / "regions of old compilers.dump")["diagnostics"]["notes"]
    said = [note for note in notes if "made by gcc before 4.9): 5." in note]
    results.check(said, f"regions of old compilers: the report says that 5 are not seen: {notes}")
    queues = [c for c in read(folder / "stopped in a region.dump")["components"] if c["kind"] == "queue"]
    late = [(c["name"], c["cpu_s"]) for c in queues if c["cpu_s"] > STOPPED_S]
    results.check(not late, f"stopped in a task: what comes later is not the task's: {late}")


def check_futex(results, folder, compiler):
    """What libomp does to wait for a lock is the wait for that lock, and no more."""
    program, dump = folder / f"futex-{compiler}", folder / "futex.dump"
    run([compiler, *FLAGS, HERE.with_name("openmp_futex.c"), "-o", program])
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
    for kind in ("made", "queued", "loops", "group", "region"):
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


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp_same.", dir=os.environ.get("CPA_TMP")))
    check_copies(results, folder)
    check_copied(results, folder)
    for name, compiler, program in programs(results, folder):
        if is_own(name, compiler):
            check_same(results, folder, compiler)
        if name != "gcc":
            check_tool(results, folder, program)
            for check in (check_asked, check_cancelled, check_futex):
                check(results, folder, compiler)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
