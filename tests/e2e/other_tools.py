#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of other tools (benchmarks/peers.py): tools that fail, hang, take long or leave files behind."""
import glob
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import overhead  # noqa: E402
import peers  # noqa: E402
from measure import Cpa  # noqa: E402
from results import Results  # noqa: E402

ROUNDS = 2
THEN = 'exec "$@"'
NAP = f"98765.{os.getpid()}"  # seconds, and in no other command
results = Results()
# No tool, but what tools do. The program is $@.
SHELL = {
    "does nothing": THEN,
    "fails": "exit 3",
    "hangs": f"sleep {NAP}; true",
    "is slow": f"i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done; {THEN}",
    "prints": f"echo more; {THEN}",
    "writes": f"mkdir trace; stat -c %a trace >> modes; echo > trace/events; {THEN}",
    "does not write": f"mkdir trace; {THEN}",
    "waits": '"$@"',
}


def running(word):
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as command:
                found += [path] if word.encode() in command.read().split(b"\0") else []
        except OSError:  # it has ended
            pass
    return found


def waits(pid):
    """In wait4(), by the kernel's word."""
    return pathlib.Path(f"/proc/{pid}/syscall").read_text().startswith("61 ")


def tools_of(cpa):
    tools = {name: peers.Tool(cpa, "sh", ["sh", "-c", text, "sh"], "trace" if "write" in name else None)
             for name, text in SHELL.items()}
    tools["hangs"].limit = 1
    tools["is not there"] = peers.Tool(cpa, "/nonexistent", [])
    return tools


def table_of(cpa, name):
    """{column: cell}, and what is below the table"""
    text, missing = peers.compare(cpa, [name], ROUNDS, False)
    lines = text.splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (lines[0], lines[2])]
    return dict(zip(*cells)), "\n".join(lines[3:]), missing


def of_program(cpa):
    overhead.PROGRAMS["seq"] = ("seq 2000000", "-", "")
    cells, rest, missing = table_of(cpa, "seq")
    print(f"# {cells}")
    for tool, expected in (("fails", "fails: exit status 3"), ("hangs", "fails: did not end within 1 s"),
                           ("does not write", "fails: wrote nothing")):
        results.compare(cells[tool] == expected, f"a tool that {tool}", cells[tool], expected)
    results.check("once" in cells["is slow"], "a tool that takes more than ten times native runs once")
    results.check("other output" in cells["prints"], "a tool that changes the output is named")
    results.check(cells["does nothing"][:1].isdigit(), "a tool in front of the program has a ratio")
    results.check(not running(NAP), "nothing runs on of a tool that hangs")
    results.check(not os.path.exists(f"{cpa.folder}/trace"), "what a tool wrote is deleted")
    modes = pathlib.Path(cpa.folder, "modes").read_text().split()
    results.compare(modes == ["777"] * ROUNDS, "any user may write a tool's traces, in each round", modes, "777")
    results.check("is not there" not in cells and "is not there: not installed" in rest and
                  missing == ["is not there: not installed"], "a tool that is not installed is named")
    cells, _, missing = table_of(cpa, "no such program")
    results.check(cells["native CPU s"] == "not installed" and "no such program" in missing,
                  "so is a program")


def of_server(cpa):
    if not shutil.which("memcached"):
        results.skip("a server under load behind a tool", "memcached is not installed")
        return
    overhead.LOADS["memcached"] = 3
    cells, _, _ = table_of(cpa, "memcached")
    print(f"# {cells}")
    for tool in ("does nothing", "waits"):
        results.check(cells[tool][:1].isdigit(), f"memcached under load behind a tool that {tool}: {cells[tool]}")
    for tool in ("fails", "hangs"):
        results.check(cells[tool].startswith("fails: "), f"memcached behind one that {tool}: {cells[tool]}")
    results.check(not running(NAP), "nothing runs on of that one")


def of_signal(cpa):
    """A script of benchmarks/ that is told to end while a program runs."""
    script = (f"import sys; sys.path.insert(0, '{BENCHMARKS}'); import measure; measure.end_by_signal(); "
              f"measure.run_hashed(['sleep', '{NAP}'], None, '{cpa.folder}', 9999)")
    process = subprocess.Popen([sys.executable, "-B", "-c", script])
    # Until it waits for the program: before, nothing would end that one.
    while process.poll() is None and not (running(NAP) and waits(process.pid)):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    status = process.wait()
    results.compare(status == 128 + signal.SIGTERM, "a benchmark ends by SIGTERM", status, 143)
    results.check(not running(NAP), "and so does the program that it ran")


def of_sections(_):
    loader = importlib.machinery.SourceFileLoader("bench", str(BENCHMARKS / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
    loader.exec_module(module)
    text = "# A\n\n## One\n\n1\n\n## Two\n\n2\n"
    found = module.put(module.put(module.put(text, "One", "3\n"), "Two", "4\n"), "New", "5\n")
    results.compare(found == "# A\n\n## One\n\n3\n\n## Two\n\n4\n\n## New\n\n5\n",
                    "benchmarks/run replaces a section, and leaves the others", repr(found), "3, 4, 5")


def main():
    sys.dont_write_bytecode = True
    peers.tools_of = tools_of
    folder = tempfile.mkdtemp(prefix="cpa-peers.", dir=os.environ.get("CPA_TMP"))
    cpa = Cpa(os.environ["CPA_BUILD"], folder)
    results.run({"program": lambda: of_program(cpa), "server": lambda: of_server(cpa),
                 "signal": lambda: of_signal(cpa), "sections": lambda: of_sections(cpa)})
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
