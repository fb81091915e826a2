#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The journal: what cpa-report computes from it is what was computed online; and when it cannot be."""
import json
import mmap
import os
import re
import signal
import struct
import subprocess
import sys

from profiled import SAME

BUILD = os.path.abspath(os.environ.get("CPA_BUILD", "build"))
TMP = os.environ.get("CPA_TMP", "/tmp")
# What known_paths.py does not compare with its journal; all within a second or two of CPU time.
PROGRAMS = ("tsp", "regions", "stages_c", "many_sections", "instrumented_calls")


class Tap:
    number = failed = 0

    def result(self, good, what, more=""):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {what}", flush=True)
        if not good and more:
            print("# " + more.replace("\n", "\n# "), flush=True)


def start(name, journal, **more):
    """Start a test program with a journal; its dump's path and the process."""
    dump = f"{TMP}/journal-{name}.dump"
    if os.path.exists(dump):
        os.unlink(dump)
    environment = dict(os.environ, LD_PRELOAD=f"{BUILD}/libcpa.so", CPA_OUTPUT=dump,
                       CPA_JOURNAL=journal, **more)
    return dump, subprocess.Popen([f"{BUILD}/tests/programs/{name}"], env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(name, journal="64M", **more):
    dump, process = start(name, journal, **more)
    return dump, process.communicate()[1]


def report(*arguments):
    return subprocess.run([f"{BUILD}/cpa-report", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def verified(tap, name):
    dump, _ = run(name)
    done = report("--verify", dump)
    good = done.returncode == 0 and all(f"equal: {what}" in done.stdout for what in SAME)
    tap.result(good, f"{name}: path, shares and savings are those of the journal",
               done.stdout + done.stderr)
    return dump


def zeroed(tap, dump):
    """Zeroing one component by the journal saves what it saves online; two save no less than one."""
    found = json.loads(report("--format", "json", dump).stdout)
    alone = [c for c in found["components"] if c["saved_s"] > 0 and c["kind"] == "function"
             and [d["name"] for d in found["components"]].count(c["name"]) == 1]
    names = [f"{c['kind']}:{c['name']}" for c in alone[:2]]
    said = [report("--zero", name, "--width", "1000", dump).stdout for name in
            (names[0], names[1], ",".join(names))]
    saved = [float(re.search(r"\(([\d.]+)( [mu]?s|) less", text)[1]) *
             {"ms": 1e-3, "us": 1e-6, "s": 1}.get(re.search(r"\([\d.]+ ?([mu]?s|) less", text)[1], 1)
             for text in said]
    good = all(abs(saved[i] - alone[i]["saved_s"]) <= 0.006 * alone[i]["saved_s"] for i in (0, 1))
    tap.result(good and saved[2] >= max(saved[:2]) * 0.994,
               f"--zero saves what zeroing saves online: {names}", f"{saved} {said}")
    globs = report("--zero", "function:*", "--width", "1000", dump)
    tap.result(globs.returncode == 0 and "without function:*" in globs.stdout,
               "--zero takes * in names", globs.stderr)
    paths = report("--paths", "--width", "1000", dump).stdout
    tap.result(all(f"{which} critical path" in paths for which in ("first", "second", "third")),
               "--paths has three", paths)


def data_of(fd, size):
    """Where a file of which most is not there has data."""
    end = 0
    while end < size:
        try:
            begin = os.lseek(fd, end, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(fd, begin, os.SEEK_HOLE)
        yield begin, end


def falsified(tap, dump):
    """A path that is a tick longer than its records is found out."""
    length = int(re.search(r"path of (\d+) ticks", report("--verify", dump).stdout)[1])
    old, new = struct.pack("<Q", length), struct.pack("<Q", length + 1)
    with open(dump, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        # What is no data holds none of it.
        for begin, end in data_of(file.fileno(), len(data)):
            at = data.find(old, begin, end)
            while at >= 0:
                data[at:at + len(old)] = new
                at = data.find(old, at + len(old), end)
    done = report("--verify", dump)
    tap.result(done.returncode == 1 and "DIFFERENT: critical path" in done.stdout and
               f"{length + 1} ticks while it ran, {length} from the journal" in done.stdout,
               "a path that is not that of its records is found out", done.stdout)


def main():
    tap = Tap()
    dumps = {name: verified(tap, name) for name in PROGRAMS}
    zeroed(tap, dumps["tsp"])
    falsified(tap, dumps["regions"])

    dump, _ = run("tsp", "64K")
    done = report("--verify", dump)
    tap.result(done.returncode == 0 and "not compared" in done.stdout and
               "overwritten" in done.stdout and "equal" not in done.stdout,
               "where the ring came round it is said that nothing was compared", done.stdout)
    done = report("--paths", dump)
    tap.result(done.returncode == 0 and "does not hold the whole run" in done.stdout,
               "and that figures are of the latest part", done.stdout + done.stderr)

    dump, process = start("server", "16M")
    while not process.stdout.readline():
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = report("--verify", dump)
    tap.result(done.returncode == 0 and ("equal" in done.stdout or "not compared" in done.stdout) and
               "damaged" not in done.stdout, "of a killed program it is whole up to its last event",
               done.stdout + done.stderr)

    dump, said = run("lock_chain", "lots")
    tap.result(said.count("\n") == 1 and "CPA_JOURNAL=lots" in said and "64K" in said,
               "a size that is none is named, in one line", said)
    done = report("--verify", dump)
    tap.result(done.returncode == 1 and "no journal" in done.stderr and done.stdout == "",
               "without a journal that is said", done.stderr)
    done = report("--zero", "function:nothing", dumps["tsp"])
    tap.result(done.returncode == 1 and "no such component" in done.stderr,
               "a component that does not exist is named", done.stderr)

    print(f"1..{tap.number}")
    return tap.failed > 0


if __name__ == "__main__":
    sys.exit(main())
