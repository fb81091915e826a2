#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers under load, without and with cpa: requests, CPU time, growth, what is found.

    benchmarks/servers.py [--build DIR] [--pairs N] [--seconds N] [--long N] [NAME ...]

Prints one table. Each pair is a run of --seconds without cpa and one with it, every other pair in
the other order; then one with cpa for --long, which is looked at twice while it runs. A server that
is not installed is named and left out. Nothing is timed against a limit.
"""
import argparse
import os
import sys
import threading
import time

import measure
import programs
import serving
from measure import Cpa, Fails, interleaved, median, ratios, spread, table

HEAD = ["server", "load", "requests/s", "spread", "with cpa", "ratio", "CPU per request, ratio",
        "events/s", "probes, of CPU", "KiB used", "descriptors", "saves most (threads left out)"]


def once(server, seconds, start):
    """Requests a second and CPU seconds a request, of the server that start() starts."""
    start()
    try:
        server.load(seconds / 4)  # caches, connections, the first samples
        cpu = server.cpu()
        requests, took = server.load(seconds)
        cpu = server.cpu() - cpu
        status = server.stop()
    finally:
        server.kill()
    if status:
        raise Fails(f"ended with {status}: {server.log()[-300:]}")
    return requests / took, cpu / requests


def stays(server, cpa, seconds):
    """A longer run: the space used and descriptors open early and late, and the final figures."""
    server.start(True)
    failure = []

    def load():
        try:
            server.load(seconds)
        except Fails as error:
            failure.append(error)
    try:
        loader = threading.Thread(target=load)
        loader.start()
        looks = []
        for wait in (seconds / 6, seconds * 4 / 6):
            time.sleep(wait)
            looks.append((cpa.figures()["used"] // 1024, server.descriptors()[0]))
        loader.join()
        if failure:
            raise failure[0]
        if server.stop():
            raise Fails("does not end well")
    finally:
        server.kill()
    return looks, cpa.figures(), programs.report(cpa.build, cpa.path())


def describe(found):
    best = [c for c in found["components"] if c["kind"] != "thread"][:2]
    return ", ".join(f"{c['kind']} `{c['name']}` {c['saved_s']:.2f} s" for c in best)


def row(name, options):
    with serving.made(name, options.build) as server:
        cpa = Cpa(options.build, server.folder)
        runs = interleaved({
            "native": lambda: once(server, options.seconds, lambda: server.start(False)),
            "cpa": lambda: once(server, options.seconds, lambda: server.start(True))}, options.pairs)
        native, profiled = ([r[0] for r in runs[k]] for k in ("native", "cpa"))
        cpu = ratios([r[1] for r in runs["cpa"]], [r[1] for r in runs["native"]])
        looks, counts, found = stays(server, cpa, options.long)
        doubts = programs.doubts(found)
        if doubts or not found["program"]["complete"]:
            raise Fails("; ".join(doubts) or "the dump is not complete")
        probes = found["diagnostics"]["probe_s"] / found["program"]["cpu_s"]
        return [name, server.load_text, f"{median(native):.0f}", f"{spread(native):.0%}" if len(native) > 3 else "-",
                f"{median(profiled):.0f}", f"{median(ratios(profiled, native)):.2f}",
                f"{median(cpu):.2f}", f"{counts['events'] / found['program']['wall_s']:.0f}",
                f"{probes:.1%}", " -> ".join(str(look[0]) for look in looks),
                " -> ".join(str(look[1]) for look in looks), describe(found)]


def compare(options):
    """The table, and which servers are not in it."""
    rows, left_out = [], []
    for name in options.names or serving.SERVERS:
        missing = serving.SERVERS[name].missing()
        try:
            if missing:
                raise Fails(f"not installed: {', '.join(missing)}")
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows.append(row(name, options))
        except Fails as error:
            left_out.append(f"{name}: {error}")
    return table(HEAD, rows) + "".join(f"Left out: {line}\n" for line in left_out), left_out


def servers(cpa, quick):
    """The section of benchmarks/run."""
    pairs, seconds = (1, 2) if quick else (5, 5)
    options = argparse.Namespace(names=[], build=cpa.build, pairs=pairs, seconds=seconds,
                                 long=6 * seconds)
    return (f"{pairs} interleaved pairs of {seconds} s each, then {options.long} s with cpa, looked at "
            "early and late for space and descriptors. Requests a second depend on who gets the "
            "processors, server or load; CPU time of the server per request does not.\n\n"
            + compare(options)[0])


def script(text, names, counts, compared):
    """
    A script that is described by @text, and prints what @compared(options) says of some of @names; its status.
    @counts: options that are numbers, and what they are unless given.
    """
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD", "build"))
    for option, number in counts.items():
        parser.add_argument(f"--{option}", type=type(number), default=number)
    options = parser.parse_args()
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"none is called {', '.join(sorted(unknown))}")
    measure.end_by_signal()
    text, left_out = compared(options)
    print(text, end="")
    return 1 if any("not installed" not in line for line in left_out) else 0


def main():
    return script(__doc__, serving.SERVERS, {"pairs": 5, "seconds": 5.0, "long": 60.0}, compare)


if __name__ == "__main__":
    sys.exit(main())
