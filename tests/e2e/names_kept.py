#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The second report of a dump reads no debug information: names are kept by build-id.

The program's file is filled with zeros behind cpa's back, its size and time as before: a report that
has its names all the same did not read it.
"""
import os
import pathlib
import shutil
import subprocess
import sys

from profiled import run_known
from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or pathlib.Path(__file__).parents[2] / "build")
TMP = pathlib.Path(os.environ.get("CPA_TMP") or "/tmp/names_kept")
PROGRAM = TMP / "two_locks"
DUMP = TMP / "two_locks.dump"
FORMATS = [["--format", "text"], ["--format", "json"], ["--format", "csv"],
           ["--level", "pag"], ["--metrics", "all"]]

results = Results()


def report(arguments, **variables):
    """What cpa-report prints, with these variables instead of the usual ones; None unset."""
    environment = dict(os.environ, CPA_CACHE=str(TMP / "cache"))
    for name, value in variables.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = str(value)
    done = subprocess.run([BUILD / "cpa-report", *arguments, DUMP], env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        print("#", done.returncode, done.stderr, file=sys.stderr)
    return done.stdout


def spoil(path):
    """Zeros instead of the contents; the size and the time stay."""
    status = path.stat()
    with open(path, "r+b") as file:
        file.write(bytes(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


TMP.mkdir(exist_ok=True)
shutil.copy(BUILD / "tests/programs/two_locks", PROGRAM)
run_known([BUILD / "cpa", "run", "-o", DUMP, "--", PROGRAM], dict(os.environ))
first = [report(a) for a in FORMATS]
results.check("two_locks.c" in first[1], "the first report has names from debug information")
results.check([report(a, CPA_CACHE="off") for a in FORMATS] == first, "so has one without a cache")
home = TMP / "home"
home.mkdir()
report(FORMATS[1], CPA_CACHE=None, XDG_CACHE_HOME=None, HOME=home)
spoil(PROGRAM)
for arguments, before in zip(FORMATS, first):
    results.check(report(arguments) == before,
                  f"{' '.join(arguments)}: the second one is the same and reads no file")
results.check(report(FORMATS[1], CPA_CACHE=None, XDG_CACHE_HOME=None, HOME=home) == first[1],
              "they are kept in ~/.cache/cpa")
without = report(FORMATS[1], CPA_CACHE="off")
results.check("not a readable ELF file" in without and "two_locks.c" not in without,
              "without a cache the file is read, and is none any more")
results.check(report(FORMATS[1], CPA_CACHE=None, XDG_CACHE_HOME=None, HOME=None) == without,
              "nor is one used without HOME")
for kept in (TMP / "cache").iterdir():
    kept.write_text("cpa names 2\n\0 or not")
results.check(report(FORMATS[1]) == without, "nor is one that is damaged")
report(FORMATS[1], CPA_CACHE=TMP / "other")
os.utime(PROGRAM)
results.check(report(FORMATS[1], CPA_CACHE=None, XDG_CACHE_HOME=None, HOME=home) == without,
              "nor is one from before the file changed")
sys.exit(results.end())
