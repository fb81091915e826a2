#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/midway.py - what a program may have, and where its profile goes, changes while it runs

The program stops in the middle; then its disk fills up, the folder of the profile vanishes, or its
limits shrink; then it goes on. It prints and returns what it does without us, and the report says what
is missing. What needs a mount of its own needs root; without, it is skipped. Prints TAP and a summary.
"""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from surroundings import ROOT, TIMEOUT_S, Run, Tests, limit

HALF = 4000
ENDS = 5
# Of locked memory: what the program needs is less if some of its four threads end early.
LIMITS_KB = range(256, 4097, 64)
MORE_KB = (512, 1024, 2048)


class Midway(Tests):
    """The cases, in a folder of their own."""

    def halves(self, environment, change, wrap=(), place=None):
        """Run the program; in the middle of it call @change with its pid. Output, words, status."""
        command = [*wrap, self.target, "halves", str(HALF)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        first = process.stdout.readline()
        try:
            if first:
                change(process.pid)
            out, err = process.communicate("\n", timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        if place:
            place(process.pid)
        return first + out, err.splitlines(), process.returncode

    def compare(self, name, native, profiled):
        self.results.check(native[2] == ENDS, f"{name}: natively ends with {native[2]}")
        same = (native[0], native[2]) == (profiled[0], profiled[2])
        text = f"{name}: prints and returns the same"
        self.results.check(same, text if same else f"{text}: {native!r}, profiled {profiled!r}")
        self.results.check(not profiled[1], f"{name}: says {' / '.join(profiled[1]) or 'nothing'}")

    def missing(self, name, dump, anything):
        """The report says what is missing, or that nothing is."""
        report = self.readable(name, dump)
        if not report:
            return
        notes = report["diagnostics"]["notes"]
        said = any("no space" in n or "unprofiled" in n or "not tracked" in n for n in notes)
        text = f"{name}: {'something' if anything else 'nothing'} is missing: {notes}"
        self.results.check(said == anything, text)
        threads = sum(1 + each["earlier_threads"] for each in report["threads"])
        self.results.check(threads > HALF // 100, f"{name}: {threads} threads, those before it")

    def disk(self):
        """A file system of its own, all of whose space somebody else takes."""
        wrap = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64m none "$0" && exec "$@"']
        for name, rest in (("the disk fills up", 0), ("the disk has 600 KB left", 600 << 10)):
            place = self.folder / f"mount-{rest}"
            place.mkdir()
            if not ROOT or Run([*wrap, str(place), "true"], self.environment()).status:
                self.results.skip(name, "no mount namespaces here")
                continue
            kept = self.new_dump()

            def fill(pid, place=place, rest=rest):
                inside = pathlib.Path(f"/proc/{pid}/root{place}")
                with open(inside / "others", "wb", buffering=0) as file:
                    try:
                        while file.write(bytes(1 << 16)):
                            pass
                    except OSError:
                        pass
                    file.truncate(max(0, file.tell() - rest))
                # It outlives its mount.
                self.held = os.open(inside / "x", os.O_RDONLY) if (inside / "x").exists() else -1

            native = self.halves(self.environment(), fill, [*wrap, str(place)])
            inner = [*wrap, str(place), "env", f"LD_PRELOAD={self.preload}", f"CPA_OUTPUT={place}/x"]
            profiled = self.halves(self.environment(), fill, inner)
            self.compare(name, native, profiled)
            if not self.results.check(self.held >= 0, f"{name}: there is a session"):
                continue
            subprocess.run(
                ["cp", "--sparse=always", f"/proc/self/fd/{self.held}", str(kept)],
                pass_fds=(self.held,),
                check=True,
            )
            os.close(self.held)
            self.missing(name, kept, True)

    def folder_vanishes(self):
        name = "the folder vanishes"
        native = self.halves(self.environment(), lambda pid: None)
        for how in ("removed", "renamed"):
            place, moved = self.folder / "gone", self.folder / "elsewhere"
            place.mkdir()

            def change(_, how=how, place=place, moved=moved):
                if how == "removed":
                    shutil.rmtree(place)
                else:
                    place.rename(moved)

            profiled = self.halves(self.profiled_environment(place / "x.dump"), change)
            self.compare(f"{name}: {how}", native, profiled)
            self.results.check(not place.exists(), f"{name}: {how}: it is not made again")
            if how == "renamed":
                self.missing(f"{name}: {how}", moved / "x.dump", False)

    def limits(self):
        """The limits of a process that runs are changed by another."""
        for name, which, amount in (
            ("files may not grow", resource.RLIMIT_FSIZE, 0),
            ("no file beyond 100 KB", resource.RLIMIT_FSIZE, 100 << 10),
            ("no more descriptors", resource.RLIMIT_NOFILE, 8),
            ("no locked memory", resource.RLIMIT_MEMLOCK, 0),
            ("no pending signals", resource.RLIMIT_SIGPENDING, 0),
        ):
            def change(pid, which=which, amount=amount):
                resource.prlimit(pid, which, (amount, amount))

            native = self.halves(self.environment(), change)
            dump = self.new_dump()
            profiled = self.halves(self.profiled_environment(dump), change)
            self.compare(name, native, profiled)
            self.missing(name, dump, False)

    def locked(self):
        """mlockall(MCL_FUTURE) by somebody with a limit: what we map counts, too."""
        work = [self.target, "after", "memory"]

        def stranger(limited):
            def prepare():
                limited()
                if ROOT:
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)

            return prepare

        place = self.folder / "locked"
        place.mkdir()
        place.chmod(0o1777)
        self.folder.chmod(0o755)
        for kilobytes in LIMITS_KB:
            prepare = stranger(limit(resource.RLIMIT_MEMLOCK, kilobytes << 10))
            if Run(work, self.environment(), "/", prepare).status == ENDS:
                break
        else:
            self.results.skip("memory is locked", "no limit lets the program run")
            return
        for more in MORE_KB:
            name = f"memory is locked, {kilobytes} KB and {more} more"
            prepare = stranger(limit(resource.RLIMIT_MEMLOCK, kilobytes + more << 10))
            dump = place / f"{more}.dump"
            self.same(name, work, dump, (0, 1), "/", prepare)
            if dump.exists():
                self.readable(name, dump)


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-midway."))
    tests = Midway(pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve(), folder)
    for group in (tests.disk, tests.folder_vanishes, tests.limits, tests.locked):
        group()
    return tests.results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
