#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What cpa costs beside other tools: CPU time of programs as a ratio to native, in the same rounds.

    benchmarks/peers.py [--build DIR] [--rounds N] [NAME ...]

Prints one table (`benchmarks/run peers` writes it to results.md). Programs have the inputs of overhead.LONG. A tool
runs once if it fails, or takes more than HEAVY times the native CPU time. Nothing is timed against a limit; what
does not end within HANGS_S is a failure.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import budget
import measure
import overhead
import servers
from measure import Cpa, Fails, median, ratios, table

HEAVY = 10
HANGS_S = 300  # more than 100 times what the programs take natively
MODES = ("cpa", f"cpa, {budget.BUDGET}")
QUICK = ("pigz", "x264")
WRAPPER = "liblttng-ust-pthread-wrapper.so.1"


def size_of(path):
    """Bytes of the file, or of those below the folder; 0: there is none."""
    if os.path.isdir(path):
        return sum(size_of(entry.path) for entry in os.scandir(path))
    return os.path.getsize(path) if os.path.exists(path) else 0


class Tool:
    """A command in front of the program, and the files that it writes."""

    limit = HANGS_S

    def __init__(self, cpa, executable, before, written=None):
        self.cpa, self.before, self.written = cpa, before, written
        self.doubt = "" if shutil.which(executable) else "not installed"

    def once(self, name, long):
        """A run, whose files do not stay; none shows that the tool did not reach the program."""
        path = f"{self.cpa.folder}/{self.written}" if self.written else None
        try:
            done = overhead.once(self.cpa, name, self.before, None, long, self.limit)
            if path and not size_of(path):
                raise Fails("wrote nothing")
            return done
        finally:
            if path:
                measure.run(["rm", "-rf", path])

    def close(self):
        pass


class Lttng(Tool):
    """A session that records the wrapper's events into buffers that are overwritten."""

    def __init__(self, cpa):
        super().__init__(cpa, "lttng", ["env", f"LD_PRELOAD={WRAPPER}"])
        self.daemon = None
        if not self.doubt:
            self.open(cpa.folder)

    def open(self, folder):
        if measure.run([*self.before, "/bin/true"], errors=subprocess.STDOUT).output:
            self.doubt = f"{WRAPPER} cannot be loaded"
            return
        os.environ["LTTNG_HOME"] = folder
        if not measure.run(["lttng", "list"]).status:
            self.doubt = "a session daemon runs already, whose CPU time may be others'"
            return
        self.daemon = measure.start(["lttng-sessiond", "--no-kernel"])
        end = time.monotonic() + overhead.STARTS_S
        while measure.run(["lttng", "list"]).status and self.daemon.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        for command in ("create cpa-bench --snapshot", "enable-channel -u c --subbuf-size=256k "
                        "--num-subbuf=4", "enable-event -u -c c lttng_ust_pthread:*", "start"):
            if measure.run(["lttng", *command.split()]).status:
                self.doubt = f"lttng {command.split()[0]} fails"
                return

    def daemons(self):
        """CPU seconds of the daemons so far."""
        return measure.cpu_of_tree(self.daemon.pid) if self.daemon else 0.0

    def once(self, name, long):
        before = self.daemons()
        done = super().once(name, long)
        done.cpu += self.daemons() - before
        return done

    def close(self):
        if not self.doubt:
            measure.run(["lttng", "destroy", "cpa-bench"])
        if self.daemon:
            measure.stop(self.daemon)


class Exact(Tool):
    """cpa from the start to the end."""

    def __init__(self, cpa):
        super().__init__(cpa, f"{cpa.build}/cpa", ())

    def once(self, name, long):
        return overhead.once(self.cpa, name, (), self.cpa.environment(), long, self.limit)


def tools_of(cpa):
    path = cpa.folder
    return {
        MODES[0]: Exact(cpa),
        MODES[1]: Tool(cpa, f"{cpa.build}/cpa", budget.keeping(cpa)),
        "EZTrace": Tool(cpa, "eztrace", ["eztrace", "-t", "pthread", "-o", f"{path}/eztrace"], "eztrace"),
        "coz": Tool(cpa, "coz", ["coz", "run", "-o", f"{path}/coz", "---"], "coz"),
        "LTTng": Lttng(cpa),
        "perf": Tool(cpa, "perf", ["perf", "record", "-q", "-g", "-o", f"{path}/perf"], "perf"),
        "mutrace": Tool(cpa, "mutrace", ["mutrace"]),
    }


def tried(tool, name, long):
    try:
        return tool.once(name, long)
    except Fails as error:
        return error


def again(runs, native):
    """Whether one that did `runs` so far is worth another run."""
    return not runs or (not isinstance(runs[-1], Fails) and runs[0].cpu <= HEAVY * native[0].cpu)


def measured(cpa, name, tools, rounds, long):
    """{tool: runs, or the failure}, in turns; "native" first."""
    found = {"native": [], **{tool: [] for tool in tools}}
    for i in range(rounds):
        for tool in list(found)[::-1 if i % 2 else 1]:
            if tool == "native":
                found[tool].append(overhead.once(cpa, name, (), None, long, HANGS_S))
            elif again(found[tool], found["native"]):
                found[tool].append(tried(tools[tool], name, long))
    return found


def cell(runs, native, rounds):
    """What is said of a tool."""
    failures = [run for run in runs if isinstance(run, Fails)]
    if failures:
        return f"fails: {failures[0]}"
    notes = ["once"] if len(runs) < rounds else []
    if {run.output for run in runs} != {run.output for run in native}:
        notes.append("other output")
    ratio = median(ratios([run.cpu for run in runs], [run.cpu for run in native]))
    return f"{ratio:.2f}" + (f" ({', '.join(notes)})" if notes else "")


def row(name, found, rounds):
    """The row of a program, of what measured() found."""
    native = found["native"]
    cpu = [run.cpu for run in native]
    return [name, f"{median(cpu):.2f}", f"{max(cpu) / min(cpu) - 1:.0%}" if rounds > 1 else "-",
            *(cell(runs, native, rounds) for tool, runs in found.items() if tool != "native")]


def beats(theirs, ours):
    """Whether they took less CPU time in each round."""
    return all(not isinstance(run, Fails) and not isinstance(other, Fails) and run.cpu < other.cpu
               for run, other in zip(theirs, ours))


def less(compared, ours):
    """A line: which other tools take less than @ours of cpa's modes. @compared: what measured() found, by program."""
    tools = [tool for tool in next(iter(compared.values()), {}) if tool not in MODES and tool != "native"]
    names = {tool: [name for name, found in compared.items() if beats(found[tool], found[ours])] for tool in tools}
    of_each = "; ".join(f"{tool} with {', '.join(found)}" for tool, found in names.items() if found)
    return f"Less than \"{ours}\" in each round: {of_each or 'none'}.\n"


def compare(cpa, names, rounds, long):
    """The table, and what is missing in it."""
    tools = tools_of(cpa)
    missing = [f"{tool}: {made.doubt}" for tool, made in tools.items() if made.doubt]
    used = {tool: made for tool, made in tools.items() if not made.doubt}
    head = ["program", "native CPU s", "most over least", *used]
    compared = {}

    def timed_row(name):
        begun = time.monotonic()
        compared[name] = measured(cpa, name, used, rounds, long)
        line = row(name, compared[name], rounds)
        print(f"    {' | '.join(line)}; took {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        return line
    mask = os.umask(0)  # memcached changes its user, and writes the traces of a tool as that one
    os.chmod(cpa.folder, 0o755)
    try:
        rows = overhead.rows_of(names, len(head), timed_row)
    finally:
        os.umask(mask)
        for made in tools.values():
            made.close()
    below = [less(compared, mode) for mode in MODES if mode in used] + [f"Left out: {line}.\n" for line in missing]
    return (table(head, rows) + "\n" + "".join(below),
            missing + [name for name in names if name not in compared])


def peers(cpa, quick):
    """The section of benchmarks/run."""
    names, rounds = (QUICK, 2) if quick else (list(overhead.PROGRAMS), 3)
    overhead.prepare(cpa.folder, names, long=not quick)
    return (f"CPU time as a ratio to native, medians of {rounds} interleaved rounds; (once): a tool that took more "
            f"than {HEAVY} times native ran in the first only. \"{MODES[1]}\": `cpa run --budget "
            f"{budget.BUDGET}`. The CPU time of the command in front of the program is in it, so that of `cpa run`, "
            "eztrace, coz and perf, and of LTTng's daemons.\n\n" + compare(cpa, names, rounds, not quick)[0])


def tables(options):
    folder = tempfile.mkdtemp(prefix="cpa-peers.")
    try:
        names = options.names or list(overhead.PROGRAMS)
        overhead.prepare(folder, names, long=True)
        return compare(Cpa(options.build, folder), names, options.rounds, True)
    finally:
        shutil.rmtree(folder)


def main():
    return servers.script(__doc__, overhead.PROGRAMS, {"rounds": 3}, tables)


if __name__ == "__main__":
    sys.exit(main())
