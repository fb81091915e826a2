#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/failing_calls.py - each system call that libcpa.so makes fails, at each place

tests/conformance/failing finds the places where libcpa.so calls the kernel and lets them fail, one
in each run, from then on or (CPA_LONG=1) only once, and with other errors too. Whatever fails, the
program prints and returns what it does without us. Then the profile is whole, or its report says
what is missing, or one line on stderr says why there is none. Prints TAP and a summary.
"""

import collections
import concurrent.futures
import errno
import os
import pathlib
import subprocess
import sys
import tempfile

from results import Results
from surroundings import WARNING, Run, Tests

LONG = bool(os.environ.get("CPA_LONG"))
# What the target does, how many threads it has then, and settings: whatever makes calls of ours that
# the ones before do not.
RUNS = (
    (("work", "10"), 5, {}),
    (("work", "10"), 5, {"CPA_JOURNAL": "64K"}),
    (("work", "10"), 5, {"CPA_START": "off"}),
    (("fill", "300", "10"), 4, {}),
)
NAMES = {
    **{0: "read", 1: "write", 2: "open", 3: "close", 5: "fstat", 9: "mmap", 10: "mprotect"},
    **{11: "munmap", 12: "brk", 13: "rt_sigaction", 17: "pread64", 28: "madvise", 35: "nanosleep"},
    **{39: "getpid", 62: "kill", 63: "uname", 72: "fcntl", 77: "ftruncate", 87: "unlink"},
    **{89: "readlink", 98: "getrusage", 186: "gettid", 202: "futex", 204: "sched_getaffinity"},
    **{222: "timer_create", 223: "timer_settime", 226: "timer_delete", 228: "clock_gettime"},
    **{257: "openat", 298: "perf_event_open", 302: "prlimit64", 324: "membarrier"},
}
# What a call fails with: first what is likely, then what is possible.
ERRORS = {
    "open": ("EMFILE", "EACCES", "EINTR"),
    "openat": ("EACCES", "EMFILE", "ENOSPC", "EINTR"),
    "ftruncate": ("EFBIG", "EPERM", "EINTR"),
    "madvise": ("ENOMEM", "EINVAL", "EFAULT", "EPERM"),
    "mmap": ("ENOMEM", "EPERM", "ENODEV"),
    "mprotect": ("ENOMEM", "EACCES"),
    "munmap": ("ENOMEM",),
    "perf_event_open": ("EACCES", "EMFILE", "ENOSYS"),
    "timer_create": ("EAGAIN", "ENOMEM", "EPERM"),
    "pread64": ("EBADF", "EIO", "EINTR"),
    "fcntl": ("EMFILE", "EINVAL"),
    "close": ("EIO", "EINTR"),
}
# There is no error for them but a filter's, which hits all places alike.
FILTERED = ("getpid", "gettid", "getrusage", "uname", "clock_gettime")
Place = collections.namedtuple("Place", "call offset times")


class Injection(Tests):
    """Runs of the target, one system call of which fails."""

    def __init__(self, build, folder, what, threads, settings):
        super().__init__(build, folder)
        self.tracer = str(build / "tests/conformance/failing")
        self.command = [self.target, *what]
        self.threads, self.settings = threads, settings
        self.label = " ".join((*what, *(f"{k}={v}" for k, v in settings.items())))
        self.native = Run(self.command, self.environment())
        self.function_names = {}

    def traced(self, arguments, dump):
        # Traced programs have samples only if that is asked for.
        asked = {"CPA_SAMPLE_HZ": "997"}
        settings = {**asked, **self.settings, "LD_PRELOAD": self.preload, "CPA_OUTPUT": dump}
        env = ["env", *(f"{k}={v}" for k, v in settings.items())]
        return [self.tracer, *arguments, *env, *self.command]

    def places(self):
        """Where system calls are made; None if nothing can be traced here."""
        found = {}
        # What is rare, a sampler that gives up, may need several runs to be seen.
        for i in range(2):
            file = self.folder / "places"
            shell = ["sh", "-c", 'exec 3>"$0"; exec "$@"', str(file)]
            done = Run(
                shell + self.traced(["list"], self.folder / f"list{i}.dump"), self.environment()
            )
            if done.status != self.native.status:
                return None
            for line in file.read_text().splitlines():
                call, offset, times = line.split()
                found[int(call), int(offset, 16)] = int(times)
        return [Place(*key, times) for key, times in sorted(found.items())]

    def name_places(self, places):
        """Their functions, for the reader."""
        addresses = [hex(place.offset - 1) for place in places]
        done = subprocess.run(
            ["addr2line", "-f", "-e", self.preload, *addresses],
            capture_output=True,
            check=False,
            text=True,
        )
        lines = done.stdout.splitlines()[::2]
        self.function_names = dict(zip((place.offset for place in places), lines))

    def problems_of(self, done, dump):
        if done.out != self.native.out:
            yield f"prints {done.out!r}"
        if done.status != self.native.status:
            yield f"ends with {done.status}"
        bad = [line for line in done.err if not WARNING.match(line)]
        if bad or len(done.err) > 1:
            yield f"says {done.err}"
        if not dump.exists():
            if not done.err:
                yield "no profile, and not a word"
            return
        report = self.report(dump)
        if not report:
            if not done.err:
                yield "a profile that cannot be read, and not a word"
            return
        if not report["program"]["complete"]:
            yield "a profile without an end"
        notes = report["diagnostics"]["notes"]
        # While profiling is off nothing is to be lost.
        few = len(report["threads"]) != self.threads and "CPA_START" not in self.settings
        if few and not notes and not done.err:
            yield f"{len(report['threads'])} threads, and no note"

    def try_place(self, place, error, when):
        name = NAMES.get(place.call, str(place.call))
        where = self.function_names.get(place.offset, "?") if place.offset else "all places"
        label = f"{name} in {where} ({place.offset:#x}): {error} {when}"
        dump = self.folder / f"{place.call}-{place.offset:x}-{error}-{when}.dump"
        number = str(getattr(errno, error))
        arguments = [str(place.call), hex(place.offset), number, when]
        done = Run(self.traced(arguments, dump), self.environment())
        problems = list(self.problems_of(done, dump))
        if dump.exists() and not problems:
            dump.unlink()
        return label, problems

    def check(self, results, tried):
        """Let calls fail at the places that are not @tried yet, and add them."""
        places = self.places()
        if not places:
            results.skip(f"{self.label}: system calls fail", "nothing can be traced here")
            return
        calls = {place.call for place in places if NAMES.get(place.call) != "close"}
        calls = sorted(calls - {call for call, _ in tried})
        places = [place for place in places if place[:2] not in tried]
        tried.update(place[:2] for place in places)
        self.name_places(places)
        cases = [(Place(call, 0, 0), "EPERM", "always") for call in calls]
        for place in places:
            if NAMES.get(place.call) in FILTERED:
                continue
            errors = ERRORS.get(NAMES.get(place.call), ("EPERM",))
            for error in errors if LONG else errors[:1]:
                cases += [(place, error, when) for when in (("always", "once") if LONG else ("always",))]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda case: self.try_place(*case), cases))
        by_call = collections.defaultdict(list)
        for label, problems in outcomes:
            by_call[label.split()[0]].append((label, problems))
        for call, each in sorted(by_call.items()):
            for label, problems in each:
                for problem in problems:
                    print(f"# {label}: {problem}")
            bad = [label for label, problems in each if problems]
            results.check(not bad, f"{self.label}: {call} fails in {len(each)} ways")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-failing.", dir=os.environ.get("CPA_TMP")))
    build = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
    results, tried = Results(), set()
    for number, run in enumerate(RUNS):
        place = folder / str(number)
        place.mkdir()
        Injection(build, place, *run).check(results, tried)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
