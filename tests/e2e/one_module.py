#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/one_module.py - a library is one module of the session, wherever its processes have it

tests/e2e/one_module.c uses a library in processes that have it at different addresses: one after another, at once,
forked or other programs; and one that unloads it and loads it elsewhere, or has two copies. The report has one row of
the library, of its lock, its thread and each of its functions. The program has gaps between its segments, which the
loader knows one by one; it is one module, too, also where somebody runs the loader with the program. But two builds
of the library under one path, one after the other at the same addresses, are two. Prints TAP and a summary.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from profiled import ROOT, clean_environment, profiled_environment, read, run
from results import Results

SOURCE = pathlib.Path(__file__).with_suffix(".c")
COMPILE = [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-g", "-D_GNU_SOURCE", "-pthread",
           "-fno-optimize-sibling-calls", "-fPIC", "-fno-plt", f"-I{ROOT}", SOURCE]
GAPS = "-Wl,-z,max-page-size=0x200000"
TAKES = 100  # of the lock, by use
# What the program does, and uses that cpa sees.
USES = {"late": 2, "forks": 7, "programs": 7, "again": 4, "copies": 1, "replaced": 2}
BUILDS = ["11111111", "22222222"]  # build ids of the library


def named(rows, key, name):
    return [row for row in rows if row[key] == name]


def rows_of(report, name):
    # A row without a build id says that cpa does not see the locks of a copy.
    return [i for i, module in enumerate(report["modules"])
            if module.get("path", "").endswith(name) and module["build_id"]]


def check_replaced(results, how, report):
    numbers = rows_of(report, "/library.so")
    builds = sorted(report["modules"][i]["build_id"] for i in numbers)
    results.check(builds == BUILDS, f"{how}: builds of the library: {builds}")
    # The file of the first is no longer there, so its lock has no name.
    locks = [(o["class"], o["acquisitions"]) for o in report["objects"] if "library" in o["class"]]
    good = len(locks) == 2 and ("library_lock", TAKES) in locks and all(taken == TAKES for _, taken in locks)
    results.check(good, f"{how}: acquisitions of the locks: {locks}")


def assembly(library):
    """The name of what no table of frames covers: .init, assembly of the C library, at the begin of the code."""
    sections = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True, check=True).stdout
    start = int(re.search(r" \.init +PROGBITS +([0-9a-f]+)", sections)[1], 16)
    return f"library.so+{start & ~0xfff:#x} (page)"


def check(results, how, report, uses, table_less):
    numbers = rows_of(report, "/library.so")
    results.check(len(numbers) == 1, f"{how}: rows of the library: {len(numbers)}")
    programs = rows_of(report, "/program")
    results.check(len(programs) == 1, f"{how}: rows of the program: {len(programs)}")
    ours = [c for c in report["components"] if c.get("module") in numbers]
    functions = sorted(c["name"] for c in ours if c["kind"] == "function")
    # What is at a wrong address has no name.
    wrong = [name for name in functions if "+" in name and name != table_less]
    good = len(functions) == len(set(functions)) and not wrong
    results.check(good, f"{how}: each of its functions has one row: {functions}")
    threads = [c for c in named(ours, "name", "library_thread") if c["kind"] == "thread"]
    results.check(len(threads) == 1, f"{how}: rows of its thread: {len(threads)}")
    locks = [(o["acquisitions"], o["objects"]) for o in named(report["objects"], "class", "library_lock")]
    results.check([taken for taken, _ in locks] == [uses * TAKES],
                  f"{how}: acquisitions and number of its lock, by row: {locks}")


def build(folder):
    subprocess.run([*COMPILE, GAPS, "-Wl,--build-id", "-o", folder / "program"], check=True)
    for build_id in BUILDS:
        subprocess.run([*COMPILE, "-DLIBRARY", "-shared", f"-Wl,--build-id=0x{build_id}", "-o",
                        folder / f"{build_id}.so"], check=True)


def run_one(folder, command, environment):
    """The places that the program prints. It may replace the library."""
    for build_id, name in zip(BUILDS, ("library.so", "library.so.new"), strict=True):
        (folder / name).unlink(missing_ok=True)
        shutil.copy(folder / f"{build_id}.so", folder / name)
    return run(command, env=environment).split()


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="one_module.", dir=os.environ.get("CPA_TMP")))
    build(folder)
    # In a session that another program began, too; and where somebody runs the loader with the program.
    loader = re.search(rb"/[^\0]*/ld[^\0/]*", (folder / "program").read_bytes())[0].decode()
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]
    for by, before in {"": [], ", of a shell": shell, ", by the loader": [loader]}.items():
        for how, uses in USES.items():
            command = [*before, folder / "program", how, folder / "library.so"]
            label = how + by
            dump = folder / f"{label}.cpa"
            places = run_one(folder, command, profiled_environment(dump, CPA_SAMPLE_HZ="4000"))
            report = read(dump)
            native = run_one(folder, command, clean_environment())
            results.check(len(places) == len(native), f"{label}: uses {len(places)} of {len(native)}")
            if how == "replaced":
                check_replaced(results, label, report)
                continue
            results.check(len(set(places)) > 1, f"{label}: at different places: {places}")
            check(results, label, report, uses, assembly(folder / f"{BUILDS[0]}.so"))
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
