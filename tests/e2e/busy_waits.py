#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/busy_waits.py - loops of the program that wait for a variable are told, with their line, and are no work

A loop that follows a list also loads and compares only, and is work. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

from profiled import profiled_environment, read, run
from results import Results

SOURCE = pathlib.Path(__file__).with_suffix(".c")
SHARE = 0.5  # of the CPU time, which is 0.3 s of the loop and some milliseconds else


def line_of(way):
    return next(at + 1 for at, line in enumerate(SOURCE.read_text().splitlines()) if f"/* {way} */" in line)


def check(results, folder, program, way):
    dump = folder / f"{way}.dump"
    run([program, way], env=profiled_environment(dump))
    report = read(dump)
    rows = [row for row in report["diagnostics"]["unexplained"] if row["what"] == "busy waiting"]
    kind, sentence = report["verdict"]["kind"], report["verdict"]["sentence"]
    if way == "list":
        results.check(not rows and kind != "unseen", f"{way}: is work: {rows}, {sentence}")
        return
    places = {f"{SOURCE.name}:{line_of(way)}", f"{SOURCE.name}:{line_of(way) + 1}"}
    good = len(rows) == 1 and rows[0]["by"].rpartition("/")[2] in places
    good = good and rows[0]["total_s"] > SHARE * report["program"]["cpu_s"]
    results.check(good, f"{way}: {rows}, of {report['program']['cpu_s']:.3f} s, at {sorted(places)}")
    said = kind == "unseen" and any(place in sentence for place in places)
    results.check(said, f"{way}: the verdict is {kind}: {sentence}")


if __name__ == "__main__":
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="busy_waits.", dir=os.environ.get("CPA_TMP")))
    program = folder / "busy_waits"
    run(["gcc", "-O2", "-g", "-pthread", SOURCE, "-o", program])
    for way in ("variable", "fence", "pause", "list"):
        check(results, folder, program, way)
    sys.exit(results.end(folder))
