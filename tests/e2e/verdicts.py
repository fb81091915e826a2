#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/verdicts.py - each kind of verdict is the first line of the report of a program that has it

The programs are those of examples/. Verdicts follow from the critical path, from work and from counts, by
margins that no other program on the machine can close. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

from profiled import BUILD, profiled_environment, read, run
from results import Results

# Program with arguments, kind, how the first line begins, what it names, processors that it needs.
VERDICTS = [
    (["lock"], "lock", "A lock limits this program: ", "table_lock", 2),
    (["rounds", "24"], "imbalance", "Uneven work limits this program: ", "solver", 2),
    (["pipeline"], "queue", "The consumers of a queue limit this program: ", "raw frames", 2),
    (["processors"], "processors", "Too few processors limit this program: ", "", 1),
    (["serial"], "serial", "A serial part limits this program: ", "main", 2),
    (["device"], "io", "Input and output limit this program: ", "read", 1),
    (["handoffs"], "hand-offs", "Hand-offs limit this program: ", "", 1),
    (["idle"], "idle", "Nothing to gain in this run: ", "poll", 1),
]


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="verdicts.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    for (name, *arguments), kind, start, named, processors in VERDICTS:
        if len(os.sched_getaffinity(0)) < processors:
            results.skip(f"{name}: {kind}", f"{processors} processors needed")
            continue
        dump = folder / f"{name}.dump"
        run([BUILD / "examples" / name, *arguments], env=profiled_environment(dump))
        verdict = read(dump)["verdict"]
        results.check(
            verdict["kind"] == kind, f"{name}: its verdict is {kind}: {verdict['kind']}, {verdict['sentence']}"
        )
        first = run([BUILD / "cpa-report", "--width", "1000", dump]).split("\n")[0]
        results.check(first.startswith(start) and named in first, f"{name}: it is the first line: {first}")
        # cpa-report OPTIONS DUMP: paths of tests have no blanks.
        _, *options, of = verdict["command"].split()
        results.check(
            of == str(dump) and run([BUILD / "cpa-report", *options, of]) != "",
            f"{name}: the next command runs: {verdict['command']}",
        )
        results.check(
            0 <= verdict["after_s"] <= verdict["least_s"] * (1 + 1e-6) or verdict["kind"] == "processors",
            f"{name}: a change makes nothing longer",
        )
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
