#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/real/run.py - real programs do the same under cpa run, and their reports open

    tests/real/run.py [--quick] [--install] [--table FILE] [NAME ...]

Each program of batch.py and daemons.py runs natively and under cpa run, in the same folder with
the same input, and is compared: output, files and exit status. Nothing of ours is in its output
unless the launcher refuses it; the dump opens and is complete. Time is shown, never judged. As
root the programs run as nobody. --quick: those whose packages scripts/setup installs. --install:
install what is missing (as root), else a program is skipped. --table: write the results, as
Markdown, to FILE. Prints TAP and a summary.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e"), str(HERE.parents[1] / "benchmarks")]

import debian  # noqa: E402
import table  # noqa: E402
from batch import PROGRAMS  # noqa: E402
from results import Results  # noqa: E402
from runs import Tried, try_program  # noqa: E402
from daemons import SERVERS  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()


def chosen(options):
    every = PROGRAMS + SERVERS
    names = [each.name for each in every]
    for name in options.names:
        if name not in names:
            sys.exit(f"run.py: no program {name!r}; there are: {', '.join(names)}")
    if options.names:
        return [each for each in every if each.name in options.names]
    return [each for each in every if each.quick or not options.quick]


def tell(results, program, tried):
    if tried.skipped:
        results.skip(program.name, tried.skipped)
        return
    for line in tried.details:
        print(f"# {program.name}: {line}")
    problems = "; ".join(tried.problems)
    results.check(not tried.problems, f"{program.name}: {problems or tried.summary()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    # Below /tmp: others than the owner of $CPA_TMP must be able to enter.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-real."))
    folder.chmod(0o755)
    for name in ("cpa", "libcpa.so"):
        shutil.copy(BUILD / name, folder)
        (folder / name).chmod(0o755)
    programs, results, rows = chosen(options), Results(), []
    missing = debian.missing(programs, options.install)
    for program in programs:
        if program.name in missing:
            tried = Tried(skipped=missing[program.name])
        else:
            tried = try_program(program, folder, BUILD)
        tell(results, program, tried)
        rows.append((program, tried))
        if options.table:
            table.write(options.table, rows, BUILD)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
