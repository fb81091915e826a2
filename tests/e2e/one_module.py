#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/one_module.py - a library is one module of the session, wherever its processes have it

tests/e2e/one_module.c uses a library in processes that have it at different addresses: one after another, at once,
forked or other programs; and one that unloads it and loads it elsewhere, or has two copies. The report has one row of
the library, of its lock, its thread and each of its functions. Prints TAP and a summary.
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from profiled import ROOT, clean_environment, profiled_environment, read, run
from results import Results

SOURCE = pathlib.Path(__file__).with_suffix(".c")
COMPILE = [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-g", "-D_GNU_SOURCE", "-pthread",
           "-fno-optimize-sibling-calls", "-fPIC", "-fno-plt", f"-I{ROOT}", SOURCE]
TAKES = 100  # of the lock, by use
# What the program does, and uses that cpa sees.
USES = {"late": 2, "forks": 7, "programs": 7, "again": 4, "copies": 1}


def named(rows, key, name):
    return [row for row in rows if row[key] == name]


def check(results, how, report, uses):
    # One without a build id says that cpa does not see the locks of a copy.
    numbers = [i for i, module in enumerate(report["modules"])
               if module.get("path", "").endswith("/library.so") and module["build_id"]]
    results.check(len(numbers) == 1, f"{how}: rows of the library: {len(numbers)}")
    ours = [c for c in report["components"] if c.get("module") in numbers]
    functions = sorted(c["name"] for c in ours if c["kind"] == "function")
    # What is at a wrong address has no name.
    good = len(functions) == len(set(functions)) and not any("+" in name for name in functions)
    results.check(good, f"{how}: each of its functions has one row: {functions}")
    threads = [c for c in named(ours, "name", "library_thread") if c["kind"] == "thread"]
    results.check(len(threads) == 1, f"{how}: rows of its thread: {len(threads)}")
    locks = [(o["acquisitions"], o["objects"]) for o in named(report["objects"], "class", "library_lock")]
    results.check([taken for taken, _ in locks] == [uses * TAKES],
                  f"{how}: acquisitions and number of its lock, by row: {locks}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="one_module.", dir=os.environ.get("CPA_TMP")))
    subprocess.run([*COMPILE, "-o", folder / "program"], check=True)
    subprocess.run([*COMPILE, "-DLIBRARY", "-shared", "-Wl,--build-id", "-o", folder / "library.so"], check=True)
    # In a session that another program began, too.
    for before in ([], ["sh", "-c", '"$@"; exit $?', "sh"]):
        for how, uses in USES.items():
            command = [*before, folder / "program", how, folder / "library.so"]
            label = f"{how}, of a shell" if before else how
            dump = folder / f"{label}.cpa"
            places = run(command, env=profiled_environment(dump, CPA_SAMPLE_HZ="4000")).split()
            native = run(command, env=clean_environment()).split()
            results.check(len(places) == len(native), f"{label}: uses {len(places)} of {len(native)}")
            results.check(len(set(places)) > 1, f"{label}: at different places: {places}")
            check(results, label, read(dump), uses)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
