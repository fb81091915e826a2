#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/plugins.py - libraries that come and go, and those that are loaded so that they are not seen

A host (tests/plugins) loads, runs and unloads plugins, natively and profiled, with the same output:
the plugins find the files that lie where only they may look. The report names what was loaded with
RTLD_DEEPBIND, or into another namespace. Then thousands of times two plugins that are loaded to the
same addresses in turn: each has what is its own under its own name, and nothing grows. Prints TAP and
a summary.
"""

import collections
import json
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile

import layout
from results import Results
from surroundings import Run

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
SOURCES = pathlib.Path(__file__).resolve().parents[1] / "plugins"
# More than there are rows of threads.
ROUNDS = 1500
# How often the host stops, and the bytes of the least block that a round could leave behind: shadow/store/heap.c.
STOPS = 8
LEAST = 64
HEADER, USED, TABLES, TABLE, ROWS = layout.values(
    "CPA_HEADER_SIZE",
    "offsetof(struct cpa_header, used)",
    "offsetof(struct cpa_header, table)",
    "sizeof(struct cpa_table)",
    "offsetof(struct cpa_table, used)",
)
TABLE_NAMES = ("threads", "objects", "components", "sites", "modules")
NAMES = ("alpha", "beta")
SHELL = ("sh", "-c", '"$@"; exit $?', "sh")
COMPILE = [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-g", "-D_GNU_SOURCE", "-pthread"]


def compile_c(output, source, *options):
    subprocess.run([*COMPILE, *options, "-o", str(output), str(SOURCES / source)], check=True)


def build(folder, names):
    """The host, and a plugin of each of @names, beside which lies what only plugins find."""
    compile_c(folder / "host", "host.c")
    shared = ("-fPIC", "-shared")
    search = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/found"
    for name in names:
        compile_c(folder / f"lib{name}.so", "plugin.c", *shared, f"-DNAME={name}", search)
    (folder / "found").mkdir()
    compile_c(folder / "found/libfound.so", "plugin.c", *shared, "-DNAME=found")


def read_sizes(dump):
    """Bytes in use, and rows by table."""
    with open(dump, "rb") as file:
        header = file.read(HEADER)
    places = {name: TABLES + i * TABLE + ROWS for i, name in enumerate(TABLE_NAMES)}
    rows = {name: struct.unpack_from("<I", header, at)[0] for name, at in places.items()}
    return {"bytes": struct.unpack_from("<Q", header, USED)[0], **rows}


def run_both(results, folder, how, rounds, times, names, before=(), **settings):
    """The same natively and profiled? Return the report, and the sizes in the dump."""
    plugins = [str(folder / f"lib{name}.so") for name in names]
    command = [*before, str(folder / "host"), how, str(rounds), str(times), *plugins]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
    native = Run(command, environment)
    dump = folder / f"{how}.dump"
    environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), **settings)
    profiled = Run(command, environment)
    same = (native.out, native.status) == (profiled.out, profiled.status)
    results.check(same, f"{how}: {native.out!r}, profiled {profiled.out!r}")
    said = [line for line in profiled.err if line not in native.err]
    results.check(not said, f"{how}: says {said or 'nothing'}")
    done = subprocess.run(
        [str(BUILD / "cpa-report"), "--format", "json", str(dump)], check=True, capture_output=True
    )
    sizes = read_sizes(dump)
    dump.unlink()
    return json.loads(done.stdout), sizes


def check_unseen(results, folder):
    words = {"deepbind": "RTLD_DEEPBIND", "namespace": "another namespace"}
    for how in ("local", *words):
        report, _ = run_both(results, folder, f"{how}+finds", 2, 10, NAMES)
        told = report["diagnostics"]
        for kind, word in words.items():
            count = 2 if kind == how else 0
            got = told[f"{kind}_libraries"]
            results.check(got == count, f"{how}: {got} libraries with {word}")
            notes = [n for n in told["notes"] if word in n]
            good = not notes if not count else "(libalpha.so, libbeta.so)" in "".join(notes)
            results.check(good, f"{how}: the notes on {word}: {notes}")
        locks = {o["class"] for o in report["objects"]} & {"alpha_lock", "beta_lock"}
        expected = {"alpha_lock", "beta_lock"} if how == "local" else set()
        results.check(locks == expected, f"{how}: locks that were seen: {sorted(locks)}")


def check_names(results, label, report, acquired, *others):
    """Each plugin has its own: locks exactly, threads by name, beside @others."""
    for name in NAMES:
        # One row, wherever the plugin was.
        got = [o["acquisitions"] for o in report["objects"] if o["class"] == f"{name}_lock"]
        results.check(got == [acquired], f"{label}: {name}_lock was taken {got} times of {acquired}")
    threads = {c["name"] for c in report["components"] if c["kind"] == "thread"}
    expected = {"main", *others, *(f"{name}_work" for name in NAMES)}
    results.check(threads == expected, f"{label}: threads {sorted(threads)}")


def check_functions(results, folder):
    report, _ = run_both(results, folder, "local", 50, 2000, NAMES, CPA_SAMPLE_HZ="4000")
    check_names(results, "few rounds", report, 2 * 50 * 2000)
    found = collections.Counter()
    for component in report["components"]:
        if component["kind"] == "function":
            found[component["name"]] += component["cpu_s"]
    samples = report["diagnostics"]["samples"]
    if samples < 100:
        results.skip("few rounds: functions", f"only {samples} samples")
        return
    # How much each has is looked at by tests/accuracy/sampling.py.
    share = [found[f"{name}_burn"] for name in NAMES]
    results.check(min(share) > 0, f"few rounds: each has samples of its own, of {share} s")


def check_joined(results, folder):
    """The same in a process of a session that another program began."""
    report, _ = run_both(results, folder, "local", 50, 2000, NAMES, before=SHELL)
    check_names(results, "of a shell", report, 2 * 50 * 2000, "host")


def check_loop(results, folder):
    sizes = []
    for rounds in (ROUNDS, 2 * ROUNDS):
        report, size = run_both(results, folder, "local+size", rounds, 5, NAMES)
        check_names(results, f"{rounds} rounds", report, 2 * rounds * 5)
        sizes.append(size)
    less, more = sizes
    # Mappings of others, ours too, may now and then move a plugin to another place.
    few = ROUNDS // 50
    # One a round would be ROUNDS. Calls are found by samples, until all are known: some hundred.
    for name, most in (("threads", few), ("objects", few), ("sites", ROUNDS // 2), ("modules", few)):
        text = f"{less[name]} rows of {name} for {ROUNDS} rounds, {more[name]} for twice as many"
        results.check(more[name] - less[name] <= most, text)


def check_growth(results, folder):
    """A block that each round leaves behind makes each part of the run grow; nodes of edges that are rare do not."""
    dump = folder / "dump"
    plugins = [str(folder / f"lib{name}.so") for name in NAMES]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
    environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump))
    used = []
    with subprocess.Popen([str(folder / "host"), "local+stops", str(STOPS * ROUNDS), "5", *plugins], env=environment,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
        while host.stdout.readline() == "stops\n":
            used.append(read_sizes(dump)["bytes"])
            host.stdin.write("\n")
            host.stdin.flush()
    results.check(host.returncode == 0 and len(used) == STOPS, f"local+stops: ends with {host.returncode}, {used}")
    # While a thread waits for a processor, others need more at once: more than before is needed once, not in each part.
    grown = min(after - before for before, after in zip(used, used[1:]))
    results.check(grown < LEAST * ROUNDS, f"each {ROUNDS} rounds more need {grown} bytes: {used}")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-plugins.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    build(folder, NAMES)
    for check in check_unseen, check_functions, check_joined, check_loop, check_growth:
        check(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
