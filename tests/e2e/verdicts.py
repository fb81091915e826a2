#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/verdicts.py - each kind of verdict is the first line of the report of a program that has it

The programs are those of examples/. Verdicts follow from the critical path, from work and from counts, by
margins that no other program on the machine can close. Prints TAP and a summary.
"""

import os
import pathlib
import pty
import shlex
import subprocess
import sys
import tempfile

from profiled import BUILD, profiled_environment, read, run
from results import Results

# Program with arguments, kind, how the first line begins, what it names, processors that it needs.
VERDICTS = [
    (["lock"], "lock", "A lock limits this program: ", "table_lock", 2),
    (["rounds", "24"], "imbalance", "Uneven work limits this program: ", "solver", 2),
    (["loop"], "region", "A parallel region limits this program: ", "main() parallel at loop.c:", 2),
    (["pipeline"], "queue", "The consumers of a queue limit this program: ", "raw frames", 2),
    (["stages"], "stage", "A stage limits this program: ", "writer waits for compressor", 2),
    (["processors"], "processors", "Too few processors limit this program: ", "", 1),
    (["serial"], "serial", "A serial part limits this program: ", "main", 2),
    (["remote"], "io", "Input and output limit this program: ", "read", 1),
    (["handoffs"], "hand-offs", "Hand-offs limit this program: ", "", 1),
    (["idle"], "idle", "Nothing to gain in this run: ", "poll", 1),
]


def on_terminal(command, **settings):
    """What @command writes if standard output is a terminal."""
    ours, theirs = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("PAGER", "CPA_PAGER", "NO_COLOR")}
    with subprocess.Popen([str(each) for each in command], stdout=theirs, env=dict(kept, **settings)) as child:
        os.close(theirs)
        text = b""
        # Reading a terminal that nobody has open any more is an error.
        while more := read_terminal(ours):
            text += more
        child.wait()
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def read_terminal(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def check_command(results, name, command, dump):
    """The command that looks closer, as a shell reads it."""
    _, *options, of = shlex.split(command)
    results.check(
        of == str(dump) and run([BUILD / "cpa-report", *options, of]) != "",
        f"{name}: the next command runs: {command}",
    )


def check_questions(results, folder):
    """With a journal the next command is a prediction, if there is one to make."""
    for name, asked in (("lock", "--what-if"), ("pipeline", "--what-if"), ("processors", "--cores")):
        if len(os.sched_getaffinity(0)) < 2:
            results.skip(f"{name}: {asked}", "2 processors needed")
            continue
        dump = folder / f"{name} of a journal.dump"
        run([BUILD / "examples" / name], env=profiled_environment(dump, CPA_JOURNAL="16M"))
        command = read(dump)["verdict"]["command"]
        results.check(asked in command, f"{name}: with a journal it asks {asked}: {command}")
        check_command(results, name, command, dump)


def check_region(results, folder):
    """With a journal the verdict says which thread of a parallel region works how much."""
    dump = folder / "loop of a journal.dump"
    run([BUILD / "examples" / "loop"], env=profiled_environment(dump, CPA_JOURNAL="16M"))
    report = read(dump)
    row, verdict = report["openmp"]["rows"][0], report["verdict"]
    thread = row["threads"][0]
    results.check(
        verdict["kind"] == "region"
        and verdict["sentence"].startswith("Uneven work limits this program: in main() parallel at loop.c:")
        and f" thread {thread['tid']} works " in verdict["sentence"],
        f"loop: with a journal it names the thread {thread['tid']}: {verdict['sentence']}",
    )
    # As the comment of examples/loop.c has it: of 72 units, 48 and 8; of the path's 156 balance saves 90.
    for name, found, wanted in (
        ("its busiest thread", thread["work_s"] / row["work_s"], 48 / 72),
        ("balance", row["balanced_saved_s"] / report["program"]["critical_path_s"], 90 / 156),
    ):
        results.check(abs(found - wanted) < 0.1, f"loop: {name} has {found:.3f}, not far from {wanted:.3f}")
    check_command(results, "loop", verdict["command"], dump)


def check_pager(results, dump):
    report = [BUILD / "cpa-report", "--level", "verdict", "--width", "1000"]
    plain = run([*report, dump])
    paged = on_terminal([*report, dump], CPA_PAGER="sed 's/^/paged: /'", PAGER="false")
    stripped = "".join(line + "\n" for line in plain.splitlines())
    results.check(
        "\033[1m" in paged and paged.count("paged: ") == stripped.count("\n"),
        f"text on a terminal goes through CPA_PAGER, with colours: {paged[:60]!r}",
    )
    for setting, value in (("CPA_PAGER", ""), ("PAGER", "cat")):
        seen = on_terminal([*report, dump], NO_COLOR="1", **{setting: value})
        results.check(seen == plain, f"{setting}='{value}' is no pager, NO_COLOR=1 no colours")
    seen = on_terminal([*report, "--no-pager", "--color", "never", dump], PAGER="sed s/^/paged:/")
    results.check(seen == plain, "--no-pager")
    seen = run([*report, dump], env=dict(os.environ, CPA_PAGER="sed s/^/paged:/"))
    results.check(seen == plain, "what is no terminal has no pager")


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
        text = run([BUILD / "cpa-report", "--width", "1000", dump]).split("\n")
        # Others on the machine may let a thread wait for so long that this is said first.
        first = text[1 if "doubt" in verdict else 0]
        results.check(first.startswith(start) and named in first, f"{name}: it is the first line: {first}")
        check_command(results, name, verdict["command"], dump)
        results.check(
            0 <= verdict["after_s"] <= verdict["least_s"] * (1 + 1e-6) or verdict["kind"] == "processors",
            f"{name}: a change makes nothing longer",
        )
    check_pager(results, dump)
    check_questions(results, folder)
    if len(os.sched_getaffinity(0)) < 2:
        results.skip("loop: with a journal", "2 processors needed")
    else:
        check_region(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
