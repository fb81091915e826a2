#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a budget costs, and what it finds: programs without cpa, off, within a budget, and exact.

    benchmarks/budget.py [--build DIR] [--pairs N] [--seconds N] [--long N] [NAME ...]

Prints two tables: servers under load (serving.py), and programs that end. "off": cpa is loaded, and
profiles nothing. Servers all stay up and have their load in turns of --seconds; one of them is off in some turns, and
has a budget in others. As starts differ by more than what is measured here, there are several, and a ratio is the mean
over them of the medians of their turns. Then runs within the budget and exact ones, in turn: by how many points the
shares of the critical path differ (shares.py). Of a server for --long seconds of each kind; programs that end have four
runs within the budget of half a minute each, where they can (overhead.MINUTES), and two exact ones. Nothing is timed
against a limit.
"""
import argparse
import contextlib
import math
import shutil
import subprocess
import sys
import tempfile

import overhead
import servers
import serving
import shares
from measure import Cpa, Fails, interleaved, mean_ratio, median, spread, table

BUDGET = "2%"
MODES = ("native", "off", "budget", "exact")
ROUNDS = 4  # runs of either kind whose shares are compared, at least
SETTLES_S = 1  # any program that starts beside nginx costs it up to 10 % of CPU time a request in that second
STARTS = 5  # of each server: the memory that it gets decides for some percent of its speed until it ends
LASTING = [name for name in overhead.MINUTES if overhead.MINUTES[name] != overhead.LONG.get(name)]
ENDING = ("sysbench", "gm", "db_bench", "node", "x265", "SvtAv1EncApp")  # programs with many events
HEAD = ["program", "native CPU", "spread", "off", "budget", "exact", "speed: off", "budget", "exact",
        *shares.HEAD]


@contextlib.contextmanager
def keeping_of(cpa, server):
    """The budget of a server is kept."""
    keeper = subprocess.Popen([f"{cpa.build}/cpa", "ctl", str(server.process.pid), "budget", BUDGET],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        keeper.terminate()
        keeper.wait()


@contextlib.contextmanager
def standing(native, off, exact):
    """{mode: the server that runs in that mode}; that of "budget" is off until its budget is kept."""
    native.start(False)
    off.start(True, CPA_START="off")
    exact.start(True)
    for server in (native, off, exact):
        server.load(1)
    yield {"native": native, "off": off, "budget": off, "exact": exact}
    for server in (native, off, exact):
        if server.stop():
            raise Fails("does not end well")


def turn(cpa, servers, mode, seconds):
    """Requests a second, CPU seconds a request, when whoever keeps a budget has started."""
    server = servers[mode]
    with keeping_of(cpa, server) if mode == "budget" else contextlib.nullcontext():
        server.load(SETTLES_S)
        cpu = server.cpu()
        requests, took = server.load(seconds)
        return requests / took, (server.cpu() - cpu) / requests


class Kept:
    """A server that runs in one of MODES, with whoever keeps its budget."""

    def __init__(self, server, cpa, mode):
        self.server, self.cpa, self.mode = server, cpa, mode
        self.keeping = contextlib.ExitStack()

    def start(self):
        if self.mode in ("off", "budget"):
            self.server.start(True, CPA_START="off")
        else:
            self.server.start(self.mode == "exact")
        if self.mode == "budget":
            self.keeping.enter_context(keeping_of(self.cpa, self.server))

    def run(self, seconds):
        with self.keeping:
            servers.once(self.server, seconds, self.start)


def compared(cpa, rounds, one):
    """The cells of shares.differ(), of {kind: runs} in @rounds; one(kind) does a run of that kind."""
    profiles = {kind: [] for kind in rounds}
    for i in range(max(rounds.values())):
        for kind in rounds:
            if i < rounds[kind]:
                one(kind)
                profiles[kind].append(shares.of_profile(cpa))
    return shares.differ(profiles["exact"], profiles["budget"])


def row(name, unit, cpu, speed, cells):
    """@cpu, @speed: lists of each mode; @cells: the last ones."""
    native = cpu["native"]
    return [name, f"{median(native) * unit[0]:.3g} {unit[1]}", f"{spread(native):.1%}",
            *(mean_ratio(cpu[mode], native) for mode in MODES[1:]),
            *(mean_ratio(speed[mode], speed["native"]) for mode in MODES[1:]),
            *cells]


def turns(name, options):
    """{mode: requests a second and CPU seconds a request}, medians of each start."""
    starts = {mode: [] for mode in MODES}
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(serving.made(name, options.build)) for _ in range(3)]
        for _ in range(min(STARTS, options.pairs)):
            with standing(*made) as running:
                cpa = Cpa(options.build, running["off"].folder)
                runs = interleaved({mode: lambda mode=mode: turn(cpa, running, mode, options.seconds)
                                    for mode in MODES}, math.ceil(options.pairs / STARTS))
            for mode in MODES:
                starts[mode].append([median(each) for each in zip(*runs[mode])])
    return starts


def server_row(name, options):
    runs = turns(name, options)
    with serving.made(name, options.build) as server:
        cpa = Cpa(options.build, server.folder)
        cells = compared(cpa, {"exact": ROUNDS, "budget": ROUNDS},
                         lambda mode: Kept(server, cpa, mode).run(options.long / ROUNDS))
        return row(name, (1e6, "us a request"),
                   {mode: [cpu for _, cpu in runs[mode]] for mode in MODES},
                   {mode: [rate for rate, _ in runs[mode]] for mode in MODES}, cells)


def keeping(cpa):
    """The command in front of a program that keeps the budget; its CPU time is the budget's."""
    return [f"{cpa.build}/cpa", "run", "-q", "--budget", BUDGET, "--force", "-o", cpa.path(), "--"]


def ending(cpa, name, mode, long=1):
    """A run of a program that ends, with the input that @long stands for: overhead.words_of()."""
    environment = {"native": None, "budget": None, "off": {"CPA_START": "off"}, "exact": {}}[mode]
    if environment is not None:
        environment = cpa.environment(**environment)
    return overhead.once(cpa, name, keeping(cpa) if mode == "budget" else (), environment, long)


def ending_row(cpa, name, options):
    runs = interleaved({mode: lambda mode=mode: ending(cpa, name, mode) for mode in MODES}, options.pairs)
    short = max(ROUNDS, math.ceil(options.long / ROUNDS / median([done.wall for done in runs["native"]])))
    rounds = {"exact": 2, "budget": ROUNDS} if name in LASTING else {"exact": short, "budget": short}
    return row(name, (1, "s"), {mode: [done.cpu for done in runs[mode]] for mode in MODES},
               {mode: [1 / done.wall for done in runs[mode]] for mode in MODES},
               compared(cpa, rounds, lambda mode: ending(cpa, name, mode, 2 if name in LASTING else 1)))


def tables(options):
    """The tables, and who is not in them."""
    left_out, of_servers, of_others = [], [], []
    folder = tempfile.mkdtemp(prefix="cpa-budget.")
    cpa = Cpa(options.build, folder)
    try:
        overhead.prepare(folder, ENDING, long=True)
        for name in options.names or [*serving.SERVERS, *ENDING]:
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                if name in serving.SERVERS:
                    missing = serving.SERVERS[name].missing()
                else:
                    missing = [] if shutil.which(name) else [name]
                if missing:
                    raise Fails(f"not installed: {', '.join(missing)}")
                if name in serving.SERVERS:
                    of_servers.append(server_row(name, options))
                else:
                    of_others.append(ending_row(cpa, name, options))
                print((of_servers if name in serving.SERVERS else of_others)[-1], file=sys.stderr, flush=True)
            except Fails as error:
                left_out.append(f"{name}: {error}")
    finally:
        shutil.rmtree(folder)
    text = "".join(table(HEAD, rows) + "\n" for rows in (of_servers, of_others) if rows)
    return text + "".join(f"Left out: {line}\n" for line in left_out), left_out


def budget(cpa, quick):
    """The section of benchmarks/run."""
    pairs, seconds, long = (1, 2, 10) if quick else (20, 6, 60)
    options = argparse.Namespace(names=[], build=cpa.build, pairs=pairs, seconds=seconds, long=long)
    return (f"Ratios to native and their standard errors. Servers: means over {min(STARTS, pairs)} starts of the medians of "
            f"{pairs} interleaved rounds in all, of {seconds} s each. Programs that end: means of {pairs} interleaved rounds, "
            "of which a fifth at either end is left out. \"off\": loaded, "
            f"and profiles nothing; \"budget\": `--budget {BUDGET}`. Then more runs of the last two kinds: the shares of all "
            "together are compared. \"exact runs differ by\": the largest share of that component in a run less "
            "the smallest.\n\n"
            + tables(options)[0])


def main():
    return servers.script(__doc__, [*serving.SERVERS, *ENDING], {"pairs": 10, "seconds": 5.0, "long": 60.0}, tables)


if __name__ == "__main__":
    sys.exit(main())
