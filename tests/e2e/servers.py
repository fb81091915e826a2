#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/servers.py - memcached, redis, MariaDB and nginx under load, watched by cpa top

Each server that is installed: it serves without a wrong answer, cpa top attaches to it and writes
three reports while it is busy, each adds up, no descriptor of ours is left over, and SIGTERM ends it
as without cpa, with a complete dump that adds up. CPA_LONG=1: under load for a minute. Which
components stand out is looked at by tests/accuracy/standing_out.py. Prints TAP.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import layout  # noqa: E402
import programs  # noqa: E402
import serving  # noqa: E402
from measure import Fails  # noqa: E402
from terminal import Terminal, check, describe, plan, results  # noqa: E402

BUILD = pathlib.Path(os.environ["CPA_BUILD"]).resolve()
LOAD_S = 60 if os.environ.get("CPA_LONG") else 3
SNAPSHOTS = 3
STARTED, = layout.values("offsetof(struct cpa_header, started)")
SAMPLES = 300  # before the first: what stands out has at least some of them


class Loader(threading.Thread):
    """Keeps a server busy until it is told to stop; what failed, and how much was served."""

    def __init__(self, server):
        super().__init__()
        self.server, self.failure, self.requests = server, None, 0
        self.ends = False

    def run(self):
        try:
            while not self.ends:
                self.requests += self.server.load(1)[0]
        except Fails as failure:
            self.failure = failure

    def finish(self):
        self.ends = True
        self.join()


def report(server):
    """What cpa-report says of the session now."""
    done = subprocess.run(
        [BUILD / "cpa-report", "--format", "json", server.dump()],
        capture_output=True,
        check=False,
    )
    if done.returncode or done.stderr:
        raise Fails(f"cpa-report: {done.stderr.decode()}")
    return json.loads(done.stdout)


def write_report(top, folder, before):
    """Press w; the text, whose name must be none of `before`."""
    top.press("w")
    others = "|".join(map(re.escape, before)) or "none"
    found = top.wait(rf"^report in (?!{others})(cpa\.top\.\d+\.\S+\.txt)", "a report is written")
    if not found:
        return ""
    before.append(found[1])
    return (folder / found[1]).read_text()


def count_descriptors(server):
    """All, ours, and the threads that may have had them: those that there were, and that began since."""
    begun = started(server.dump())
    threads = server.threads()
    counts = server.descriptors()
    return (*counts, threads + started(server.dump()) - begun)


def started(dump):
    """How many threads the session has had."""
    with open(dump, "rb") as file:
        file.seek(STARTED)
        return int.from_bytes(file.read(8), "little")


def watch(name, server, loader):
    """Three snapshots by cpa top and by cpa-report, under load."""
    folder = pathlib.Path(server.folder) / "terminal"
    folder.mkdir()
    describe(folder)
    top = Terminal(folder, BUILD / "cpa", "top", server.process.pid)
    looks, texts, names, descriptors, used = [], [], [], [], []
    top.wait(rf", pid {server.process.pid}: running, ", f"{name}: cpa top attaches")
    while loader.is_alive() and report(server)["diagnostics"]["samples"] < SAMPLES:
        top.read(0.5)
    for _ in range(SNAPSHOTS):
        end = time.monotonic() + LOAD_S / SNAPSHOTS
        while time.monotonic() < end:
            top.read(0.1)
        texts.append(write_report(top, folder, names))
        looks.append(report(server))
        descriptors.append(count_descriptors(server))
        used.append(os.stat(server.dump()).st_blocks // 2)
    busy = loader.is_alive()
    top.press("q")
    top.end(0, f"{name}: cpa top")
    top.close()
    check(busy, f"{name}: it was busy all the time: {loader.failure}")
    compare(name, looks, texts)
    ours = [ours for _, ours, _ in descriptors]
    check(
        all(ours <= 2 * threads for _, ours, threads in descriptors),
        f"{name}: at most two descriptors a thread: {ours}",
    )
    print(f"# {name}: {used} KiB on disk; {descriptors} descriptors, of ours, threads")


def compare(name, looks, texts):
    for text, look in zip(texts, looks):
        check("What the run would gain" in text, f"{name}: a report of cpa top")
        check(not programs.doubts(look), f"{name}: adds up: {programs.doubts(look)}")


def serve(name, server):
    native = run_native(server)
    server.start(True)
    loader = Loader(server)
    loader.start()
    watch(name, server, loader)
    loader.finish()
    check(loader.failure is None and loader.requests, f"{name}: {loader.requests} requests right")
    check(server.stop() == native, f"{name}: SIGTERM ends it with {native}, as without cpa")
    figures = report(server)
    check(figures["program"]["complete"], f"{name}: the dump is complete")
    check(not programs.doubts(figures), f"{name}: it adds up: {programs.doubts(figures)}")
    check(
        "cpa[" not in server.log(), f"{name}: nothing of ours in its output", server.log()[-2000:]
    )


def run_native(server):
    """Its exit status on SIGTERM."""
    server.start(False)
    server.load(1)
    return server.stop()


def main():
    for name, kind in serving.SERVERS.items():
        missing = kind.missing()
        if missing:
            results["ok"] += 1
            number = sum(results.values())
            print(f"ok {number} - {name} # SKIP not installed: {' '.join(missing)}")
            continue
        # The server's owner may not enter the folders above ours.
        folder = tempfile.mkdtemp(prefix="cpa-server.")
        server = None
        try:
            server = kind(folder, BUILD)
            serve(name, server)
        except Fails as failure:
            check(False, f"{name}: {failure}")
        finally:
            if server:
                server.kill()
            shutil.rmtree(folder)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
