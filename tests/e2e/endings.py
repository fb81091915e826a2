#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/endings.py - the report says how the program ended, if anybody saw it

Programs that end by a system call of their own, as every Go program does, programs that are killed,
under the launcher and without it, and one whose signal handler jumps out of cpa's own code. Prints TAP and a summary.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from results import Results

TIMEOUT_S = 240
# exit_raw does nothing that cpa sees for 0.3 s. So cpa knows the counter's rate from the 0.5 ms at its start
# only, where others may have had the processor.
LATE_S = 0.3 / 2
BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
RAW = BUILD / "tests/programs/exit_raw"
DYING = BUILD / "tests/conformance/dying"

GO = """package main

import (
\t"fmt"
\t"os"
)
%s
func main() {
\tdone := make(chan int)
\tfor i := 0; i < 4; i++ {
\t\tgo func(n int) { done <- n * n }(i)
\t}
\tsum := 0
\tfor i := 0; i < 4; i++ {
\t\tsum += <-done
\t}
\tfmt.Println(sum)
\tos.Exit(5)
}
"""
CGO = '\n// #include <pthread.h>\nimport "C"\n\nvar _ = C.pthread_self\n'


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_PRE"))}
    return kept | more


def run(command, **more):
    return subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        timeout=TIMEOUT_S,
        env=environment(**more),
    )


class Endings:
    """The cases, in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.results = Results()
        self.dumps = 0

    def new_dump(self):
        self.dumps += 1
        return self.folder / f"{self.dumps}.dump"

    def text(self, dump):
        """The report in one line: it may be broken anywhere."""
        done = run([BUILD / "cpa-report", dump], COLUMNS="200")
        return " ".join((done.stdout + done.stderr).split())

    def processes(self, dump):
        done = run([BUILD / "cpa-report", "--format", "json", dump])
        return json.loads(done.stdout)["processes"]

    def says(self, name, dump, wanted, unwanted=()):
        text = self.text(dump)
        wrong = [each for each in wanted if each not in text]
        wrong += [f"not {each}" for each in unwanted if each in text]
        if not self.results.check(not wrong, f"{name}: the report says so"):
            print(f"# missing: {wrong}\n# {text[:400]}")

    def launched(self, name, command, status, wanted, unwanted=(), prepare=None):
        """Run under the launcher, whose status is the program's."""
        dump = self.new_dump()
        done = run([BUILD / "cpa", "run", "-q", "-o", dump, "--", *command], **(prepare or {}))
        good = done.returncode == status and not done.stderr
        self.results.check(good, f"{name}: status {done.returncode}, says {done.stderr!r}")
        self.says(name, dump, wanted, unwanted)
        # Only a dump whose processes have all ended is cut to what they used.
        size = dump.stat().st_size
        self.results.check(size < 1 << 26, f"{name}: the dump is cut to {size} bytes")
        return dump

    def by_system_call(self):
        for status in (0, 5):
            self.launched(
                f"syscall(SYS_exit_group, {status})",
                [RAW, "syscall", status],
                status,
                ["ran to its end" + (f", status {status}" if status else "")],
                ["last event"],
            )
            self.launched(
                f"an instruction of its own, {status}",
                [RAW, "inline", status],
                status,
                [f"ended by exit_group, status {status}", "up to its last recorded event"],
                ["DID NOT", "killed"],
            )
        dump = self.launched("a child", [RAW, "child-inline", 7], 7, ["ran to its end, status 7"])
        child = self.processes(dump)[1]
        good = child["state"] == "ended unseen" and child.get("status") == 7 << 8
        self.results.check(good, f"a child: its parent was told {child.get('status')}")
        dump = self.new_dump()
        done = run([RAW, "inline", 0], LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump))
        self.results.check(done.returncode == 0, f"no launcher: status {done.returncode}")
        self.says("no launcher", dump, ["END NOT SEEN", "It is not known"], ["DID NOT"])

    def without_events(self):
        """What came after the last event is in no figure: the verdict says so, if it is much of the run."""
        dump = self.new_dump()
        run([BUILD / "cpa", "run", "-q", "-o", dump, "--", RAW, "late", 0])
        report = json.loads(run([BUILD / "cpa-report", "--format", "json", dump]).stdout)
        rows = report["diagnostics"]["unexplained"]
        after_s = sum(row["total_s"] for row in rows if row["what"] == "end")
        self.results.check(after_s >= LATE_S, f"{after_s} s came after the last event")
        share = after_s / (after_s + report["program"]["run_s"])
        kind, words = report["verdict"]["kind"], json.dumps(report["verdict"])
        good = kind == "unseen" if share > 0.5 else share < 0.1 or "the run went on for" in words
        self.results.check(good, f"that is {share:.0%} of the run, and the verdict is: {words}")

    def after_jumps(self):
        """A handler jumped out of cpa's own code: that ends the thread's profile, and the report says so."""
        wanted = ["ended, status 0", "A signal handler jumped out of cpa's own code", "up to its last recorded event"]
        unwanted = ["exit_group", "as Go programs do"]
        dump = self.launched("jumps", [BUILD / "tests/programs/jump_inside"], 0, wanted, unwanted)
        verdict = json.loads(run([BUILD / "cpa-report", "--format", "json", dump]).stdout)["verdict"]
        good = verdict["kind"] != "unseen" or "profile the program once more" in verdict["action"]
        self.results.check(good, f"jumps: the verdict, {verdict}")

    def by_signal(self):
        tally = self.folder / "tally"
        for number in (signal.SIGKILL, signal.SIGSEGV):
            tally.write_bytes(bytes(4096))
            wanted = [f"DID NOT FINISH: signal {number.value}", "The program was killed."]
            command = [DYING, tally, "signal", number.value]
            self.launched(f"by {number.name}", command, -number, wanted, ["exit_group"])

    def in_go(self):
        if not shutil.which("go"):
            self.results.skip("Go", "it is not installed")
            return
        source = self.folder / "ends.go"
        settings = {"GOCACHE": str(self.folder / "cache"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
        for cgo in ("1", "0"):
            source.write_text(GO % (CGO if cgo == "1" else ""))
            program = self.folder / f"ends{cgo}"
            built = run(["go", "build", "-o", program, source], CGO_ENABLED=cgo, **settings)
            if built.returncode:
                self.results.check(False, f"Go builds: {built.stderr}")
                continue
            if cgo == "1":
                self.launched(
                    "Go with cgo", [program], 5, ["ended by exit_group, status 5"], ["DID NOT"]
                )
            else:
                done = run([BUILD / "cpa", "run", "-o", self.new_dump(), "--", program])
                good = done.returncode == 126 and not done.stdout and done.stderr.count("\n") == 1
                good = good and "statically linked" in done.stderr
                self.results.check(good, f"Go without cgo is refused: {done.stderr.strip()}")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-endings-", dir=os.environ.get("CPA_TMP")))
    endings = Endings(folder)
    endings.by_system_call()
    endings.without_events()
    endings.after_jumps()
    endings.by_signal()
    endings.in_go()
    return endings.results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
