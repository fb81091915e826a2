#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/e2e/unexplained.py - what cpa does not see is in the report, with its size: a wait and a thread
without a call that cpa wraps, bytes that nobody of the session wrote, other programs on the processors
"""

import pathlib
import subprocess
import sys
import tempfile

from profiled import BUILD, TAKEN, clean_environment, read, run, taken_for_ready
from results import Results

WORKED_S = 0.27  # the thread that cpa never met worked for 0.3 s and more; clocks differ, of 0.5 s


def row(report, what, **wanted):
    """The row of what is unexplained; {} if there is none."""
    for each in report["diagnostics"]["unexplained"]:
        if each["what"] == what and all(each[key] == value for key, value in wanted.items()):
            return each
    return {}


def excuse(report):
    """Why the wait may be missing; "": nothing says that it may."""
    if any(each["kind"] == "external" and each["name"] == "other" for each in report["components"]):
        return "code was read from a disk meanwhile, and a wait in which that happens counts as service"
    return TAKEN if taken_for_ready(report, "waiter", WORKED_S) else ""


def check(results, report):
    wait = row(report, "blocked", by="waiter", library="unseen_parts")
    text = f"the wait of a thread by a system call: {wait}"
    if excuse(report) and not wait:
        results.skip(text, excuse(report))
    else:
        results.check(wait.get("total_s", 0) > 0, text)
    stranger = row(report, "threads")
    good = stranger.get("count") == 1 and stranger["total_s"] > WORKED_S
    results.check(good, f"the thread that never met cpa: {stranger}")
    reads = row(report, "reads", by="pipe")
    results.check(reads.get("count") == 1, f"a byte that nobody of the session wrote: {reads}")

    verdict = report["verdict"]
    said = verdict.get("doubt", verdict["sentence"])
    good = (verdict["kind"] == "unseen" or "doubt" in verdict) and "longer" in said
    text = f"the verdict says by how much it may be off: {said}"
    if excuse(report) and not good:
        results.skip(text, excuse(report))
    else:
        results.check(good, text)
    notes = [note for note in report["diagnostics"]["notes"] if "never met cpa: 1 at" in note]
    results.check(len(notes) == 1, f"so does a note: {notes}")


def check_processors(results, report, launched):
    processors = report["diagnostics"]["processors"]
    if not launched:
        good = all(value is None for value in processors.values())
    else:
        # The kernel counts in ticks, so that others may have a little more than all.
        room = processors["all_s"] + 0.1 * report["program"]["cores"]
        good = 0 <= processors["others_s"] + processors["stolen_s"] <= room
        good = good and processors["all_s"] > report["program"]["cpu_s"] / 2
    how = "by cpa run" if launched else "without cpa run"
    results.check(good, f"who used the processors, {how}: {processors}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-unexplained."))
    program = BUILD / "tests/programs/unseen_parts"
    for launched in (True, False):
        dump = folder / f"{'launched' if launched else 'preloaded'}.dump"
        command, environment = [program], clean_environment(CPA_OUTPUT=str(dump), CPA_QUIET="1")
        if launched:
            command = [BUILD / "cpa", "run", "-q", "--", program]
        else:
            environment["LD_PRELOAD"] = str(BUILD / "libcpa.so")
        done = subprocess.run(
            command, input=b"x", env=environment, stdout=subprocess.PIPE, check=False
        )
        results.check(done.stdout == b"done\n", f"the program ends with {done.returncode}")
        report = read(dump)
        check(results, report)
        check_processors(results, report, launched)
        text = run([BUILD / "cpa-report", dump])
        results.check(("processors: other programs" in text) == launched, "the text says so, too")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
