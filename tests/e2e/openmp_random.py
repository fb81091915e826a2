#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_random.py - random OpenMP programs: the same as without cpa, and as their journal

tests/e2e/openmp_random.c makes a program from a seed. Under libcpa.so it prints what it prints without. The
report adds up, and is that of the journal to the tick, which shares no code with what computed it. Work of the
regions, which is the sum over the pieces of tasks, is that of the threads. The same output also comes while
profiling is switched at random moments. Prints the seed (CPA_SEED), TAP and a
summary. `openmp_random.py RUNS` runs so many of each compiler.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from profiled import BUILD, TIMEOUT_S, check_contradictions, clean_environment, profiled_environment
from profiled import read, run, verify
from results import Results

SOURCE = pathlib.Path(__file__).with_suffix(".c")
RUNS = 12
FLAGS = ["-O2", "-g", "-fopenmp"]


def check_threads(results, label, dump):
    """With one thread a program takes all the work of its regions."""
    command = [BUILD / "cpa-report", "--format", "json", "--threads", "1", dump]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        results.check("not predicted" in done.stderr, f"{label}: --threads refuses: {done.stderr.strip()}")
        return
    answer = json.loads(done.stdout)
    work_s = sum(region["work_s"] for region in answer["regions"])
    off_s = answer["predictions"][0]["critical_path_s"] - answer["outside_s"] - work_s
    results.check(abs(off_s) < 1e-6, f"{label}: with one thread all work, {off_s:.9f} s off")


def check(results, folder, program, seed):
    label = f"{program.name} {seed}"
    dump = folder / f"{program.name}.{seed}.dump"
    settings = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
    native = run([program, str(seed)], env=clean_environment(**settings))
    ours = run([program, str(seed)], env=profiled_environment(dump, CPA_JOURNAL="64M", **settings))
    results.check(native == ours, f"{label}: the same as without cpa")
    check_contradictions(results, label, read(dump))
    good, text = verify(dump)
    results.check(good, f"{label}: {'as its journal' if good else text}")
    check_threads(results, label, dump)
    if good and native == ours:
        dump.unlink()


def check_flipped(results, folder, program, seed):
    """The same while profiling is switched on and off at random moments, in any instruction of a wrapper."""
    label, dump = f"{program.name} {seed}, flipped", folder / f"{program.name}.{seed}.flipped"
    settings = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
    native = run([program, str(seed)], env=clean_environment(**settings))
    flip = subprocess.Popen([BUILD / "tests/e2e/flip", dump, str(seed)], stdout=subprocess.PIPE, text=True)
    try:
        ours = run([program, str(seed)], env=profiled_environment(dump, **settings))
    finally:
        flip.terminate()
        print(f"# {label}: {flip.communicate()[0].strip()} switches")
    results.check(native == ours, f"{label}: the same as without cpa")
    read(dump)
    if native == ours:
        dump.unlink()


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openmp_random.", dir=os.environ.get("CPA_TMP")))
    seed = int(os.environ.get("CPA_SEED") or time.time_ns() % 1000000000)
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    print(f"# CPA_SEED={seed}")
    for compiler in ("gcc", "clang"):
        program = folder / f"random-{compiler}"
        try:
            run([compiler, *FLAGS, SOURCE, "-o", program])
            run([program, "1"], env=clean_environment())
        except (RuntimeError, OSError):
            results.skip(f"OpenMP of {compiler}", "it is not installed" if not shutil.which(compiler) else "no runtime")
            continue
        for number in range(runs):
            try:
                check(results, folder, program, seed + number)
                check_flipped(results, folder, program, seed + number)
            except (RuntimeError, ValueError, KeyError) as error:
                results.check(False, f"{program.name} {seed + number}: {error!r}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
