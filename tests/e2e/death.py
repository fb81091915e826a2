#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/death.py - what a profile is worth after each kind of death

tests/conformance/dying says of each operation when it begins and when it has ended, in memory that
survives it. Whatever ends it: the dump opens and says whether the run finished; every thread and
every object is in it, with no fewer operations than had ended and no more than had begun; and its
times are consistent. Then the same after kill -9 at random moments, 30 of them, with CPA_LONG=1
1000; CPA_SEED repeats them. The kernel's account of their CPU time is looked at by
tests/accuracy/death_times.py. Prints TAP and a summary.
"""

import contextlib
import json
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

from profiled import contradictions
from results import Results

# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 240
BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
LONG = bool(os.environ.get("CPA_LONG"))
KILLS = 1000 if LONG else 30
EARLY = 500 if LONG else 20
PREEMPTED = 50 if LONG else 10
SEED = int(os.environ.get("CPA_SEED") or random.randrange(1 << 32))
COUNTERS = ("shared", "private", "signaled", "posted", "crossed", "slept")
TALLY = struct.Struct(f"<{2 + 3 * len(COUNTERS)}Q")
WORKERS = 8
MEMORY_GROUPS = pathlib.Path("/sys/fs/cgroup/memory")
CLOCKS_S = 1e-3  # that two readings of clocks are apart


class Life:
    """One run of the program, and what it and the kernel told of it."""

    def __init__(self, folder, number, how, prepare=None, kill_after=None, early=False):
        self.dump = folder / f"{number}.dump"
        tally = folder / f"{number}.tally"
        tally.write_bytes(bytes(TALLY.size))
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_PRE"))}
        environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(self.dump))
        process = subprocess.Popen(
            [str(BUILD / "tests/conformance/dying"), str(tally), *how.split()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            preexec_fn=prepare,
        )
        if kill_after is not None:
            if not early:
                while TALLY.unpack(tally.read_bytes())[1] < WORKERS:
                    time.sleep(0.001)
            time.sleep(kill_after)
            process.kill()
        watch = threading.Timer(TIMEOUT_S, process.kill)
        watch.start()
        self.err = process.stderr.read().decode(errors="replace")
        _, status, self.usage = os.wait4(process.pid, 0)
        self.status = process.returncode = os.waitstatus_to_exitcode(status)
        watch.cancel()
        process.stderr.close()
        words = TALLY.unpack(tally.read_bytes())
        self.threads, self.ready = words[:2]
        self.begun = dict(zip(COUNTERS, words[2:]))
        # What other threads do while the process ends is no more of the run.
        done, at_end = words[2 + len(COUNTERS) : -len(COUNTERS)], words[-len(COUNTERS) :]
        self.done = dict(zip(COUNTERS, at_end if any(at_end) else done))
        tally.unlink()

    def used(self):
        """CPU time, s, as the kernel counts it."""
        return self.usage.ru_utime + self.usage.ru_stime

    def report(self):
        """The report as JSON, or its complaint."""
        command = [str(BUILD / "cpa-report"), "--format", "json", str(self.dump)]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def operations(report, kind, name=None):
    of_kind = [o for o in report["objects"] if o["kind"] == kind]
    return sum(o["acquisitions"] for o in of_kind if name in (None, o["class"]))


def problems_of_counts(life, report):
    routines = [t["start_routine"] for t in report["threads"]]
    if routines.count("live") != WORKERS or "main" not in routines:
        yield f"threads: {sorted(routines)}"
    begun, done = life.begun, life.done
    for what, count, least, most in (
        ("shared lock", operations(report, "mutex", "shared_lock"), done["shared"], begun["shared"]),
        (
            "private lock",
            operations(report, "mutex", "private_lock"),
            done["private"],
            begun["private"],
        ),
        # Each wait for a turn takes the lock once more; the broadcasts are no acquisitions.
        ("turns", operations(report, "mutex", "signal_lock"), done["signaled"], None),
        ("semaphores", operations(report, "semaphore"), done["posted"], begun["posted"]),
        # Two threads cross; the other one's operation is not counted, and it may be behind.
        (
            "barrier",
            operations(report, "barrier"),
            2 * done["crossed"] - 1,
            begun["crossed"] + begun["slept"],
        ),
    ):
        if count < least or most is not None and count > most:
            yield f"{what}: {count} acquisitions, of {least} to {most}"


def problems_of_times(report):
    yield from contradictions(report)
    for each in report["threads"]:
        # Other threads go on while the process ends: their last events may come after that.
        wall = max(report["program"]["wall_s"], each["last_event_s"])
        known = sum(each[k] for k in ("wait_s", "external_s", "runqueue_s"))
        # The first thread's CPU time is the loader's, too, which came before the run.
        used = 0 if each["start_routine"] == "main" else each["cpu_s"]
        if max(known, used) > wall * (1 + CLOCKS_S) + CLOCKS_S:
            yield f"thread {each['id']}: {each} in {wall} s"


def problems_of(life, complete):
    report = life.report()
    if isinstance(report, str):
        yield report
        return
    if report["program"]["complete"] is not complete:
        yield f"complete: {report['program']['complete']}"
    broken = [note for note in report["diagnostics"]["notes"] if "amaged" in note]
    yield from broken
    yield from problems_of_counts(life, report)
    yield from problems_of_times(report)


def memory_group(megabytes):
    """A group whose processes have so much memory; None where there are none."""
    group = MEMORY_GROUPS / f"cpa-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(megabytes << 20))
        with contextlib.suppress(OSError):
            (group / "memory.memsw.limit_in_bytes").write_text(str(megabytes << 20))
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        return None
    return group


def ways():
    """How to die, the status of it, and whether it is an end."""
    for how in ("return", "+exit", "exit", "+_exit", "_exit", "_Exit", "quick_exit"):
        yield f"{how} 3", 3, True
    yield "last", 0, True
    yield f"handler {signal.SIGUSR1.value}", 100 + signal.SIGUSR1, True
    yield "exit_group 3", 3, True
    yield "exec", 9, False
    yield "+abort", -signal.SIGABRT, False
    yield "abort", -signal.SIGABRT, False
    yield "overflow", -signal.SIGSEGV, False
    for name in "SEGV FPE ILL BUS TRAP SYS XCPU XFSZ KILL TERM INT HUP QUIT PIPE ALRM USR1".split():
        number = signal.Signals[f"SIG{name}"]
        yield f"signal {number.value}", -number, False


def check_ways(results, folder):
    for i, (how, status, complete) in enumerate(ways()):
        life = Life(folder, f"way{i}", how)
        problems = list(problems_of(life, complete))
        if life.status != status:
            problems.insert(0, f"status {life.status}")
        if life.err:
            problems.insert(0, f"says {life.err}")
        show(results, life, problems, f"{how}: a profile that {'ended' if complete else 'did not'}")


def check_memory(results, folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    life = Life(folder, "as", "eat 8000", limit)
    problems = list(problems_of(life, True))
    show(results, life, problems, f"no address space left: ends with {life.status}")
    group = memory_group(64)
    if not group:
        results.skip("killed for want of memory", "no memory groups here")
        return

    def enter():
        (group / "cgroup.procs").write_text(str(os.getpid()))

    life = Life(folder, "oom", "eat 8000", enter)
    group.rmdir()
    problems = list(problems_of(life, False))
    if life.status != -signal.SIGKILL:
        problems.append(f"status {life.status}")
    show(results, life, problems, "killed for want of memory")


def show(results, life, problems, text):
    for problem in problems[:8]:
        print(f"# {life.dump}: {problem}")
    if results.check(not problems, text) and life.dump.exists():
        life.dump.unlink()


def check_all(results, bad, text):
    """@bad: of several runs."""
    for line in bad[:20]:
        print(f"# {line}")
    results.check(not bad, text)


def check_preempted(results, folder):
    """Threads that preempt each other all the time: what no detector shows adds up."""
    bad = []
    for i in range(PREEMPTED):
        life = Life(folder, f"preempted{i}", "later 500")
        problems = list(problems_of(life, True))
        bad += [f"{life.dump}: {problem}" for problem in problems]
        if not problems:
            life.dump.unlink()
    check_all(results, bad, f"preempted for half a second, {PREEMPTED} times")


def check_kills(results, folder):
    dice = random.Random(SEED)
    bad = []
    for i in range(KILLS):
        life = Life(folder, f"kill{i}", "live", kill_after=dice.random() * 0.1)
        problems = list(problems_of(life, False))
        bad += [f"{life.dump}: {problem}" for problem in problems]
        if not problems:
            life.dump.unlink()
    check_all(results, bad, f"killed {KILLS} times, CPA_SEED={SEED}")


def check_early_kills(results, folder):
    """During the start: there is a profile, or one line that says why there is none."""
    dice = random.Random(SEED)
    bad, profiles = [], 0
    for i in range(EARLY):
        life = Life(folder, f"early{i}", "live", kill_after=dice.random() * 0.02, early=True)
        report = life.report()
        if isinstance(report, str):
            good = report.startswith("cpa-report: ") and "\n" not in report
            if not good or life.threads:
                bad.append(f"{life.dump}: {report}")
        else:
            profiles += 1
            problems = list(problems_of_times(report))
            count = len(report["threads"])
            if count and count < life.threads + 1 or life.threads and not count:
                problems.append(f"{count} threads of {life.threads + 1}")
            bad += [f"{life.dump}: {problem}" for problem in problems]
        if life.dump.exists():
            life.dump.unlink()
    check_all(results, bad, f"killed {EARLY} times as it starts: {profiles} profiles")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-death.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    print(f"# CPA_SEED={SEED}")
    for group in (check_ways, check_memory, check_preempted, check_kills, check_early_kills):
        begin = time.monotonic()
        group(results, folder)
        print(f"# {group.__name__}: {time.monotonic() - begin:.1f} s")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
