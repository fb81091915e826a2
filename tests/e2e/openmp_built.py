# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_built.py - OpenMP programs by each compiler, run natively and under cpa: for openmp*.py"""

import os
import pathlib
import shutil
import subprocess
import tempfile

from profiled import TIMEOUT_S, clean_environment, profiled_environment, run
from results import Results

CASES = pathlib.Path(__file__).with_name("openmp.c")
FLAGS = ["-O2", "-g", "-fopenmp", "-pthread"]
COMPILERS = {"gcc": ["gcc"], "clang": ["clang", "clang-14"], "libomp": ["clang", "clang-14"]}


def check_built(source, flags, check, **settings):
    """
    Call check(results, folder, program) for the program of @source by gcc and by clang, if it ends well natively with
    @settings and without arguments; the script's exit status.
    """
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{source.stem}.", dir=os.environ.get("CPA_TMP")))
    for compiler in ("gcc", "clang"):
        program = folder / f"{source.stem.removeprefix('openmp_')}-{compiler}"
        try:
            run([compiler, *flags, source, "-o", program])
            run([program], env=clean_environment(**settings))
        except (RuntimeError, OSError):
            results.skip(f"OpenMP of {compiler}", "it is not installed" if not shutil.which(compiler) else "no runtime")
            continue
        check(results, folder, program)
    return results.end(folder)


def regions_of(source):
    """The line numbers of the parallel regions in @source."""
    return [at + 1 for at, line in enumerate(source.read_text().splitlines()) if "omp parallel" in line]


def compile_for(name, compiler, program):
    """Make @program by @compiler, or, on libomp, by gcc with the runtime of @compiler."""
    if name != "libomp":
        run([compiler, *FLAGS, CASES, "-o", program])
        return
    made = program.with_suffix(".o")
    run(["gcc", *FLAGS, "-c", CASES, "-o", made])
    run([compiler, *FLAGS, made, "-o", program])


def build(folder, name):
    """Return the compiler and the program, or None where it or its runtime is missing."""
    program = folder / f"openmp-{name}"
    for compiler in COMPILERS[name]:
        if not shutil.which(compiler):
            continue
        try:
            compile_for(name, compiler, program)
            run([program, "balanced", "2"], env=clean_environment())
            return compiler, program
        except RuntimeError:
            continue
    return None


def programs(results, folder):
    """The name, the compiler and the program of tests/e2e/openmp.c for each of COMPILERS that is there."""
    for name in COMPILERS:
        made = build(folder, name)
        if made:
            yield (name, *made)
        else:
            results.skip(f"OpenMP of {name}", "it is not installed")


def is_own(name, compiler):
    """Whether programs of @compiler run on its own runtime."""
    return name == compiler.split("-")[0]


def run_same(command, environment):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        env=environment,
    )
    return done.stdout, done.returncode, done.stderr


def same(results, folder, label, command):
    settings = {"OMP_WAIT_POLICY": "passive"}
    native = run_same(command, clean_environment(**settings))
    try:
        ours = run_same(command, profiled_environment(folder / f"{label}.dump", **settings))
        ours = (*ours[:2], native[2])
    except subprocess.TimeoutExpired:
        ours = "it hangs"
    results.check(native == ours, f"{label}: the same{'' if native == ours else f': {native} {ours}'}")
