#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/plugins.py - libraries that are loaded so that they are not seen

A host (tests/plugins) loads, runs and unloads plugins, natively and profiled, with the same output:
the plugins find the files that lie where only they may look. The report names what was loaded with
RTLD_DEEPBIND, or into another namespace. Prints TAP and a summary.
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from surroundings import Results, Run

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
SOURCES = pathlib.Path(__file__).resolve().parents[1] / "plugins"
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


def run_both(results, folder, how, rounds, times, names):
    """The same natively and profiled? Return the report."""
    plugins = [str(folder / f"lib{name}.so") for name in names]
    command = [str(folder / "host"), how, str(rounds), str(times), *plugins]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
    native = Run(command, environment)
    dump = folder / f"{how}.dump"
    environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump))
    profiled = Run(command, environment)
    same = (native.out, native.status) == (profiled.out, profiled.status)
    results.check(same, f"{how}: {native.out!r}, profiled {profiled.out!r}")
    said = [line for line in profiled.err if line not in native.err]
    results.check(not said, f"{how}: says {said or 'nothing'}")
    done = subprocess.run(
        [str(BUILD / "cpa-report"), "--format", "json", str(dump)], check=True, capture_output=True
    )
    dump.unlink()
    return json.loads(done.stdout)


def check_unseen(results, folder):
    words = {"deepbind": "RTLD_DEEPBIND", "namespace": "another namespace"}
    for how in ("local", *words):
        report = run_both(results, folder, f"{how}+finds", 2, 10, ("alpha", "beta"))
        told = report["diagnostics"]
        for kind, word in words.items():
            count = 2 if kind == how else 0
            got = told[f"{kind}_libraries"]
            results.check(got == count, f"{how}: {got} libraries with {word}")
            notes = [n for n in told["notes"] if word in n]
            good = not notes if not count else "(libalpha.so, libbeta.so)" in "".join(notes)
            results.check(good, f"{how}: the notes on {word}: {notes}")
        locks = {o["class"] for o in report["objects"]} & {"alpha_lock", "beta_lock"}
        results.check(bool(locks) == (how == "local"), f"{how}: locks that were seen: {sorted(locks)}")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-plugins.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    build(folder, ("alpha", "beta"))
    check_unseen(results, folder)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    if not results.failed:
        shutil.rmtree(folder)
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
