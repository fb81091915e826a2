#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/standing_out.py - what stands out in a server's profile does so whenever one looks

memcached, redis, MariaDB and nginx, as far as they are installed, under load: the components that have
much of the CPU time at last are in each report before. Prints TAP and a summary.
"""

import re
import shutil
import sys
import tempfile
import time

import exact  # noqa: F401, the modules of tests/e2e
from profiled import BUILD
from results import Results
from servers import LOAD_S, SAMPLES, SNAPSHOTS, Fails, Loader, report, serving

STANDS_OUT = 0.10  # of the CPU time


def known(figures):
    """
    Components that did any work, by kind and name, with their share of the CPU time; a slot that is
    shared goes by its first. Not what merely waits: of many threads that wait all the time, each as
    long as the run, chance decides whose time is on the path.
    """
    found = {}
    for c in figures["components"]:
        name = re.split(r", | and \w+ more in its slot", c["name"])[0]
        if c["kind"] != "external":
            found[c["kind"], name] = c["cpu_s"] / figures["program"]["cpu_s"]
    return found


def looks_at(server, loader):
    """Reports while it is busy, the first of which has samples enough."""
    looks = []
    while loader.is_alive() and report(server)["diagnostics"]["samples"] < SAMPLES:
        time.sleep(0.5)
    for _ in range(SNAPSHOTS):
        time.sleep(LOAD_S / SNAPSHOTS)
        looks.append(report(server))
    return looks


def compare(results, name, looks):
    shares = [known(figures) for figures in looks]
    stands_out = [key for key, share in shares[-1].items() if share >= STANDS_OUT]
    results.check(stands_out, f"{name}: {len(stands_out)} components stand out")
    for key in stands_out:
        found = ", ".join(f"{look.get(key, 0):.0%}" for look in shares)
        good = all(look.get(key, 0) > 0 for look in shares)
        results.compare(good, f"{name}: {' '.join(key)} in {SNAPSHOTS} reports", found, "over 0 each")


def main():
    results = Results()
    for name, kind in serving.SERVERS.items():
        missing = kind.missing()
        if missing:
            results.skip(name, f"not installed: {' '.join(missing)}")
            continue
        # The server's owner may not enter the folders above ours.
        folder = tempfile.mkdtemp(prefix="cpa-server.")
        server = None
        try:
            server = kind(folder, BUILD)
            server.start(True)
            loader = Loader(server)
            loader.start()
            compare(results, name, looks_at(server, loader))
            loader.finish()
            server.stop()
        except Fails as failure:
            results.check(False, f"{name}: {failure}")
        finally:
            if server:
                server.kill()
            shutil.rmtree(folder)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
