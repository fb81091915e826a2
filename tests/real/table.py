# SPDX-License-Identifier: MIT
"""tests/real/table.py - what real programs did, as a table in Markdown"""

import datetime
import os
import platform
import subprocess

import debian

COLUMNS = (
    "program, version, kind, result, wall s, with cpa, CPU s, with cpa, report s, "
    "processes and threads"
).split(", ")
HEAD = """# Real programs under cpa

Made by `make check-real`, on {date}: {cpa}, Linux {kernel}, glibc {glibc}, {cores} cores.
{counts}.

Each program ran once without cpa and once under `cpa run`, in the same folder with the same input;
other work on the machine is in the times. *report* is the wall time of `cpa-report`; *processes*
and *threads* are those in the session.

"""


def cell(text):
    return " ".join(text.split()).replace("|", r"\|")


def row(program, tried):
    version = debian.version(program.packages.split()[0]) or ""
    start = f"| {program.name} | {version} | {program.kind} |"
    if tried.skipped:
        return f"{start} skipped: {cell(tried.skipped)} | | | | | | |"
    if tried.refusal and not tried.problems:
        return f"{start} `{cell(tried.refusal)}` | | | | | | |"
    result = f"**{cell('; '.join(tried.problems))}**" if tried.problems else "the same"
    result += f"; says `{cell(tried.said)}`" if tried.said else ""
    result += "".join(f"; report: {cell(note)}" for note in tried.notes)
    times = [
        f"{value:.2f}" if run else ""
        for run in (tried.native, tried.profiled)
        for value in ([run.wall_s, run.cpu_s] if run else [0, 0])
    ]
    wall, cpu, wall_cpa, cpu_cpa = times
    report = "" if tried.report_s is None else f"{tried.report_s:.2f}"
    size = f"{tried.processes}, {tried.threads}" if tried.processes else ""
    return f"{start} {result} | {wall} | {wall_cpa} | {cpu} | {cpu_cpa} | {report} | {size} |"


def counts(rows):
    same = sum(not t.problems and not t.skipped and not t.refusal for _, t in rows)
    refused = sum(bool(t.refusal) and not t.problems for _, t in rows)
    other = sum(bool(t.problems) for _, t in rows)
    skipped = sum(bool(t.skipped) for _, t in rows)
    return (
        f"{len(rows)} programs: {same} do the same, {refused} are refused as they should be, "
        f"{other} do not, {skipped} were skipped"
    )


def write(file, rows, build):
    command = [build / "cpa", "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=True)
    head = HEAD.format(
        date=datetime.date.today().isoformat(),
        cpa=version.stdout.strip(),
        kernel=platform.release().split("-")[0],
        glibc=platform.libc_ver()[1],
        cores=os.cpu_count(),
        counts=counts(rows),
    )
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [row(*each) for each in rows]
    file.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
