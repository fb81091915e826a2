#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/looking_on.py - cpa makes threads block neither more often nor less often

A mutex is looked on before it is blocked for, for as long as cpa makes a section longer. In
lock_only one thread computes, and one does nothing but lock. How often that blocks depends on the
machine and on what else runs there: hardly ever, where the two share a processor. So it runs
natively, with cpa, and with cpa that does not look on (CPA_LOOK_ON=off, printed to compare), in turns, as a real-time
process where that is permitted, so that both threads have a processor. memcached has a load, natively
and with cpa, in turns: its voluntary switches for each request, and its CPU time. They depend on how far the
processors are apart (benchmarks/processors.c), which is printed, too. Threads that sleep by the
clock (mc-lrumaint, some 350 times a second) have more of them for a request where fewer are served in a
second, as beside other work: so they are printed by thread. Prints TAP.
"""

import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from results import Results
from servers import Fails, serving
import measure  # of benchmarks/, which servers finds

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
TURNS = 7
APART = 0.10  # of the sections
SELDOM = 0.05  # natively, of the sections: then the two threads hardly met
PAIRS, LOAD_S = 7, 2
SWITCHES = 1.5  # voluntary ones of memcached, of those natively


def precedence():
    """Both threads run at once, whatever else there is to do: for some tenths of a second."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass


def blocked(dump, settings):
    """In how many sections the thread blocked that does nothing else, as a share of all."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CPA_")}
    if settings is not None:
        dump.unlink(missing_ok=True)  # or the next run is not profiled
        environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), **settings)
    done = subprocess.run(
        [BUILD / "tests/programs/lock_only"],
        env=environment,
        preexec_fn=precedence,
        stdout=subprocess.PIPE,
        check=True,
    )
    if settings is not None and not dump.exists():
        raise FileNotFoundError("lock_only left no dump")
    found = json.loads(done.stdout)
    return found["blocked"] / found["sections"]


def check_sections(results, folder):
    ways = {"native": None, "cpa": {}, "cpa, not looking on": {"CPA_LOOK_ON": "off"}}
    found = {way: [] for way in ways}
    for _ in range(TURNS):
        for way, settings in ways.items():
            found[way].append(blocked(folder / "dump", settings))
    middle = {way: statistics.median(shares) for way, shares in found.items()}
    for way, shares in found.items():
        print(f"# {way}: {' '.join(f'{share:.1%}' for share in sorted(shares))}")
    text = f"sections blocked in: cpa {middle['cpa']:.1%}, native {middle['native']:.1%}"
    if middle["native"] < SELDOM and middle["cpa"] <= APART:
        results.skip(text, "natively the threads hardly met")
    else:
        results.check(abs(middle["cpa"] - middle["native"]) <= APART, text)


def voluntary(pid):
    """Voluntary switches of all threads so far, by their names."""
    found = collections.Counter()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text(encoding="ascii")
        name = re.search(r"^Name:\s+(.*)", status, re.M)[1]
        found[name] += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1])
    return found


def serve(server, profiled):
    """Voluntary switches by threads, and CPU seconds, for each request."""
    server.start(profiled)
    try:
        server.load(LOAD_S / 4)
        switches, cpu = voluntary(server.process.pid), server.cpu()
        requests, _ = server.load(LOAD_S)
        switches, cpu = voluntary(server.process.pid) - switches, server.cpu() - cpu
        server.stop()
    finally:
        server.kill()
    return {name: count / requests for name, count in switches.items()}, cpu / requests


def check_memcached(results, folder):
    missing = serving.Memcached.missing()
    if missing:
        results.skip("memcached", f"not installed: {', '.join(missing)}")
        return
    os.chmod(folder, 0o755)
    server = serving.Memcached(str(folder), BUILD)
    pairs, apart = [], []
    for _ in range(PAIRS):
        apart.append(measure.apart_ns(BUILD))
        pairs.append((serve(server, False), serve(server, True)))
    print(f"# a cache line between the processors, there and back: {' '.join(map(str, apart))} ns")
    for native, profiled in pairs:
        for name in native[0]:
            print(
                f"# for 1,000 requests: voluntary switches of {name} {1e3 * native[0][name]:.1f}, with "
                f"cpa {1e3 * profiled[0].get(name, 0):.1f}"
            )
        print(f"# CPU {1e6 * native[1]:.2f} ms, with cpa {1e6 * profiled[1]:.2f} ms")
    switches = statistics.median(
        sum(profiled[0].values()) / sum(native[0].values()) for native, profiled in pairs
    )
    cpu = statistics.median(profiled[1] / native[1] for native, profiled in pairs)
    text = f"memcached: voluntary switches, ratio {switches:.2f}; CPU time, ratio {cpu:.2f}"
    results.check(switches <= SWITCHES, text)


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-looking-on."))
    check_sections(results, folder)
    try:
        check_memcached(results, folder)
    except Fails as error:
        results.check(False, f"memcached: {error}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
