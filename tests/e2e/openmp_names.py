#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_names.py - constructs of OpenMP have the programmer's names, and the first screen has them once

Prints TAP and a summary.
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile

from openmp_built import FLAGS, is_own, programs
from profiled import BUILD, profiled_environment, read, run
from results import Results

HERE = pathlib.Path(__file__)
NAMES = HERE.with_name("openmp_names.cpp")


def check_names(results, folder, compiler):
    """Constructs have the names of the functions that have them in the source, and their own lines."""
    program, dump = folder / f"names-{compiler}", folder / f"names-{compiler}.dump"
    run([compiler.replace("gcc", "g++").replace("clang", "clang++"), *FLAGS, NAMES, "-o", program])
    run([program], env=profiled_environment(dump))
    lines = [at + 1 for at, line in enumerate(NAMES.read_text().splitlines()) if "omp parallel" in line]
    found = {c["name"] for c in read(dump)["components"] if c["kind"] in ("region", "queue")}
    functions = ("solver<long>::step", "solver<int>::step", "make_tasks", "main::")
    for function, line in zip(functions, (lines[0], *lines)):
        named = [n for n in found if n.startswith(function) and n.endswith(f") parallel at {NAMES.name}:{line}")]
        results.check(len(named) == 1, f"{program.name}: one region in {function} at line {line}: {found}")
    check_task_lines(results, program, found, NAMES)


def check_task_lines(results, program, names, source):
    text = enumerate(source.read_text().splitlines())
    lines = [at + 1 for at, line in text if line.endswith("omp task") and "end" not in line]
    tasks = {name.rpartition(" ")[2] for name in names if "task at" in name}
    wanted = {f"{source.name}:{line}" for line in lines}
    results.check(tasks == wanted, f"{program.name}: tasks are where they are made, {tasks}")


def check_fortran(results, folder):
    """So are those whose code begins with another subroutine's."""
    program, dump, source = folder / "names-gfortran", folder / "names-gfortran.dump", NAMES.with_suffix(".f90")
    if not shutil.which("gfortran"):
        results.skip(program.name, "it is not installed")
        return
    run(["gfortran", *FLAGS, source, "-o", program])
    run([program], env=profiled_environment(dump))
    names = {c["name"] for c in read(dump)["components"] if c["kind"] == "queue"}
    check_task_lines(results, program, names, source)


def check_screen(results, folder):
    """The first screen has each place once, and no function of the runtime as a caller."""
    dump = folder / "screen.dump"
    run([BUILD / "examples/loop"], env=profiled_environment(dump))
    text = " ".join(run([BUILD / "cpa-report", "--width", "200", dump]).split())
    said = re.findall(r"called by [^.]*(?:GOMP_|libgomp|start_thread)\S*|at loop\.c:\d+ \(loop\.c:[^)]*\)", text)
    results.check("main() body at loop.c:21" in text and not said, f"first screen: {said}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp_names.", dir=os.environ.get("CPA_TMP")))
    check_screen(results, folder)
    check_fortran(results, folder)
    for name, compiler, _ in programs(results, folder):
        if is_own(name, compiler):
            check_names(results, folder, compiler)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
