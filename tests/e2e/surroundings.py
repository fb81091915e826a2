#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/surroundings.py - nowhere to write, few resources, refusals, wrong settings

Whatever the profiler lacks, the program prints and returns what it does without us, and at most
one line on stderr says what is missing. Prints TAP and a summary.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from results import Results

# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 240
ROOT = os.geteuid() == 0
LONG = bool(os.environ.get("CPA_LONG"))
ROUNDING_US = 2  # of two times that are printed to the microsecond
AHEAD_US = 1  # a stamp, by no more than one operation of the profiler
WARNING = re.compile(r"^cpa\[\d+\]: warning: ")

# System calls of x86-64.
MADVISE, FCNTL, PREAD, FTRUNCATE, GETTID, AFFINITY = 28, 72, 17, 77, 186, 204
TIMER_CREATE, TIMER_SETTIME, PERF_EVENT_OPEN, MEMBARRIER, RSEQ = 222, 223, 298, 324, 334


class Run:
    """A command's output, its lines on stderr and its status."""

    def __init__(self, command, environment, cwd=None, prepare=None):
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=cwd,
            preexec_fn=prepare,
            start_new_session=True,
            errors="replace",
            text=True,
        )
        try:
            self.out, err = process.communicate(timeout=TIMEOUT_S)
            self.status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.out, err = process.communicate()
            self.status = f"hangs: ended after {TIMEOUT_S} s"
        self.err = err.splitlines()


def limit(which, amount):
    """To be called in the child: no more than @amount."""

    def prepare():
        resource.setrlimit(which, (amount, amount))

    return prepare


def deny(*calls, error=1):
    """To be called in the child: these system calls fail, as container profiles have it."""
    load, equal, give_back = 0x20, 0x15, 0x06
    code = [(load, 0, 0, 0)]
    for i, call in enumerate(calls):
        code.append((equal, len(calls) - i, 0, call))
    code += [(give_back, 0, 0, 0x7FFF0000), (give_back, 0, 0, 0x00050000 | error)]
    packed = b"".join(struct.pack("HBBI", *each) for each in code)
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare():
        buffer = ctypes.create_string_buffer(packed, len(packed))
        program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        if libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0):  # PR_SET_SECCOMP
            os._exit(98)

    return prepare


# What is done about rseq, the clock that cpa has then, and settings.
CLOCKS = (
    ("rseq as it is", "rseq", {}),
    ("no rseq by tunable", "syscall", {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}),
    ("rseq refused", "syscall", {}, deny(RSEQ, error=38)),
)


class Tests:
    """The cases, in a folder of their own."""

    def __init__(self, build, folder):
        self.results = Results()
        self.folder = folder
        self.preload = str(build / "libcpa.so")
        self.report_program = str(build / "cpa-report")
        self.target = str(build / "tests/conformance/target")
        self.dumps = 0

    def environment(self, **settings):
        removed = ("CPA_", "LD_PRELOAD", "GLIBC_TUNABLES")
        env = {k: v for k, v in os.environ.items() if not k.startswith(removed)}
        env.update(settings)
        return env

    def profiled_environment(self, dump, **settings):
        return self.environment(LD_PRELOAD=self.preload, CPA_OUTPUT=str(dump), **settings)

    def new_dump(self):
        self.dumps += 1
        return self.folder / f"{self.dumps}.dump"

    def report(self, dump):
        """The report as JSON, or None."""
        done = Run([self.report_program, "--format", "json", str(dump)], self.environment())
        return json.loads(done.out) if done.status == 0 else None

    def same(self, name, command, dump=None, lines=(0,), cwd=None, prepare=None, **settings):
        """Run natively and profiled: the same but for as many lines on stderr as @lines allows."""
        native_settings = {k: v for k, v in settings.items() if not k.startswith("CPA_")}
        native = Run(command, self.environment(**native_settings), cwd, prepare)
        dump = dump or self.new_dump()
        profiled = Run(command, self.profiled_environment(dump, **settings), cwd, prepare)
        self.results.check(native.out == profiled.out, f"{name}: prints the same")
        if native.out != profiled.out:
            print(f"# natively {native.out!r}\n# profiled {profiled.out!r}")
        text = f"{name}: ends with {native.status}, profiled {profiled.status}"
        self.results.check(native.status == profiled.status, text)
        said = [line for line in profiled.err if line not in native.err]
        good = len(said) in lines and all(WARNING.match(line) for line in said)
        self.results.check(good, f"{name}: says {' / '.join(said) or 'nothing'}")
        return profiled

    def readable(self, name, dump, complete=True):
        """Return the report of a profile that must be there, and be complete or not, or either."""
        text = Run([self.report_program, str(dump)], self.environment())
        said = " ".join(text.err)
        self.results.check(text.status == 0, f"{name}: report readable {said}".rstrip())
        report = self.report(dump)
        if report and complete is not False:
            self.no_surplus(name, report)
        if report and complete is not None:
            good = report["program"]["complete"] is complete
            self.results.check(good, f"{name}: {'' if complete else 'in'}complete")
        return report

    def no_surplus(self, name, report):
        """The observed path may be longer than the run by what stamps at hand-offs are ahead."""
        program, edges = report["program"], report["pag"]["edges"]
        handoffs = sum(edge["count"] for edge in edges if edge["type"] == "dependency")
        surplus_us = (program["observed_path_s"] - program["wall_s"]) * 1e6
        text = f"{name}: the observed path less the run: {surplus_us:.0f} us, hand-offs: {handoffs}"
        good = surplus_us <= ROUNDING_US + AHEAD_US * handoffs
        self.results.check(good, text)

    # Where the profile goes.

    def output(self):
        work = [self.target, "work"]
        missing = self.folder / "missing" / "x.dump"
        profiled = self.same("missing folder", work, missing, (1,))
        said = " ".join(profiled.err)
        good = str(missing) in said and "No such file" in said and "CPA_OUTPUT" in said
        self.results.check(good, "missing folder: path, reason and what to do are named")

        file = self.folder / "file"
        file.write_text("mine")
        self.same("a file for a folder", work, file / "x.dump", (1,))
        self.same("output exists", work, file, (1,))
        self.results.check(file.read_text() == "mine", "output exists: not overwritten")

        victim = self.folder / "victim"
        victim.write_text("mine")
        link = self.folder / "link"
        link.symlink_to(victim)
        self.same("output is a link", work, link, (1,))
        self.results.check(victim.read_text() == "mine", "output is a link: not followed")
        dangling = self.folder / "dangling"
        dangling.symlink_to(self.folder / "nowhere")
        self.same("output is a dangling link", work, dangling, (1,))
        good = not (self.folder / "nowhere").exists()
        self.results.check(good, "output is a dangling link: not followed")

        self.same("output is a folder", work, self.folder, (1,))
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        self.same("output is a pipe", work, fifo, (1,))
        self.same("output is a device", work, "/dev/full", (1,))
        self.same("very long name", work, self.folder / ("x" * 300), (1,))
        self.same("very long path", work, "/" + "y/" * 3000, (1,))
        dump = self.new_dump()
        self.same("strange name", work, self.folder / "a b%%\n\"'%", (0,))
        self.results.check((self.folder / "a b%%\n\"'%").exists(), "strange name: written")

        self.same("silent", work, missing, (0,), CPA_QUIET="1")
        self.same("everything is fine", work, dump)
        self.readable("everything is fine", dump)
        mode = dump.stat().st_mode & 0o777
        self.results.check(mode == 0o600, f"everything is fine: mode {mode:o}")
        self.pattern()

        closed = self.folder / "closed"
        closed.mkdir(mode=0o500)
        name = "unwritable folder"
        if ROOT:
            # Root may write anywhere: become somebody else, who must be able to run the program.
            os.chmod(self.folder, 0o755)
            if Run(work, self.environment(), "/", lambda: os.setuid(65534)).status != 5:
                self.results.skip(name, "no other user can run the program")
                return
            self.same(name, work, closed / "x", (1,), "/", lambda: os.setuid(65534))
        else:
            self.same(name, work, closed / "x", (1,))

    def pattern(self):
        work = [self.target, "work"]
        place = self.folder / "pattern"
        place.mkdir()
        self.same("pattern", work, place / "%e-%p-%h-%%-%x-%")
        host = re.escape(os.uname().nodename)
        names = [each.name for each in place.iterdir()]
        good = len(names) == 1 and re.fullmatch(rf"target-\d+-{host}-%%-%x-%", names[0])
        self.results.check(good, f"pattern: became {' '.join(names)}")
        if names:
            self.readable("pattern", place / names[0])
        here = self.folder / "here"
        here.mkdir()
        env = self.environment(LD_PRELOAD=self.preload)
        done = Run(work, env, here)
        names = [each.name for each in here.iterdir()]
        good = len(names) == 1 and re.fullmatch(r"cpa\.target\.\d+\.dump", names[0])
        self.results.check(good and done.status == 5, f"default name: {' '.join(names)}")

    # Space.

    def mounted(self, name, script, lines, short):
        """Run fill in a mount namespace that @script changes. $0 there: where the dump goes.

        @short: not all of the profile has room, and it must say so.
        """
        self.dumps += 1
        place = self.folder / f"mounted-{self.dumps}"
        place.mkdir()
        kept = self.new_dump()
        shell = f'{script}; shift; "$@"; s=$?; cp --sparse=always "$0/x" {kept} 2>/dev/null; exit $s'
        command = ["unshare", "-m", "sh", "-c", shell, str(place), "-"]
        native = Run([*command, self.target, "fill", "20000"], self.environment())
        if native.status != 6:
            self.results.skip(name, "no mount namespaces here")
            return
        env = ["env", f"LD_PRELOAD={self.preload}", f"CPA_OUTPUT={place}/x"]
        profiled = Run([*command, *env, self.target, "fill", "20000"], self.environment())
        good = native.out == profiled.out and profiled.status == 6
        self.results.check(good, f"{name}: as natively, ends with {profiled.status}")
        said = " / ".join(profiled.err) or "nothing"
        good = len(profiled.err) in lines and all(WARNING.match(each) for each in profiled.err)
        self.results.check(good, f"{name}: says {said}")
        if kept.exists() and not profiled.err:
            report = self.readable(name, kept)
            if report:
                lost, notes = (report["diagnostics"][k] for k in ("objects_untracked", "notes"))
                text = f"{name}: {lost} objects untracked: {' / '.join(notes) or 'no note'}"
                # With no space for a thread none of its objects is looked for.
                missing = lost > 0 or "ran unprofiled" in text
                others = [note for note in notes if "(schedstat)" not in note]
                self.results.check(missing == short and bool(others) == short, text)
                text = f"{name}: says whether the run queue is known: {notes}"
                self.results.check((len(notes) > len(others)) == (name == "no /proc"), text)
        elif not profiled.err:
            self.results.check(False, f"{name}: a profile is written")

    def space(self):
        if not ROOT:
            for name in ("no space", "no /proc", "read-only file system"):
                self.results.skip(name, "not root")
            return
        sizes = [f"{n}k" for n in range(64, 2048, 64)] if LONG else ["64k", "256k", "512k", "1m"]
        for size in ("4k", *sizes, "2m"):
            script = f'mount -t tmpfs -o size={size} none "$0"'
            self.mounted(f"{size} of space", script, (0, 1), True)
        script = 'mount -t tmpfs -o size=200m none "$0"'
        self.mounted("enough space", script, (0,), False)
        script = 'mount -t tmpfs -o size=1m none "$0"; head -c 1100000 /dev/zero >"$0/y" 2>/dev/null'
        self.mounted("a full disk", script, (1,), None)
        script = 'mount -t tmpfs none "$0"; mount -o remount,ro none "$0"'
        self.mounted("read-only file system", script, (1,), None)
        self.mounted("no /proc", "mount -t tmpfs none /proc", (0,), False)

    # Limits.

    def limits(self):
        work = [self.target, "work"]
        for megabytes in (24, 100, 300, 1000):
            dump = self.new_dump()
            prepare = limit(resource.RLIMIT_AS, megabytes << 20)
            self.same(f"address space {megabytes} MB", work, dump, (0, 1), None, prepare)
            if dump.exists():
                self.readable(f"address space {megabytes} MB", dump)
        for descriptors in (4, 8, 16, 64, 400, 512):
            dump = self.new_dump()
            prepare = limit(resource.RLIMIT_NOFILE, descriptors)
            self.same(f"{descriptors} descriptors", work, dump, (0, 1), None, prepare)
            if dump.exists():
                self.readable(f"{descriptors} descriptors", dump)
        for size in (0, 4096, 1 << 20, 3 << 20, 10 << 20):
            dump = self.new_dump()
            prepare = limit(resource.RLIMIT_FSIZE, size)
            command = [self.target, "fill", "20000"]
            self.same(f"files of {size} bytes", command, dump, (0, 1), None, prepare)
            if dump.exists():
                self.readable(f"files of {size} bytes", dump)
        for kilobytes in (64, 256):
            dump = self.new_dump()
            prepare = limit(resource.RLIMIT_STACK, kilobytes << 10)
            self.same(f"stacks of {kilobytes} KB", work, dump, (0,), None, prepare)
            self.readable(f"stacks of {kilobytes} KB", dump)
        self.same("no locked memory", work, None, (0,), None, limit(resource.RLIMIT_MEMLOCK, 0))
        self.same("no core", work, None, (0,), None, limit(resource.RLIMIT_CORE, 0))
        pending = limit(resource.RLIMIT_SIGPENDING, 0)
        self.same("no pending signals", work, None, (0,), None, pending)

    # Refusals.

    def samples(self, name, dump, some):
        report = self.readable(name, dump)
        if report:
            got = report["diagnostics"]["samples"]
            self.results.check((got > 0) == some, f"{name}: {got} samples")

    def refusals(self):
        command = [self.target, "work"]
        if Run(command, self.environment(), None, deny(PERF_EVENT_OPEN)).status != 5:
            self.results.skip("system calls are refused", "no seccomp filters here")
            return
        for name, calls, error, some in (
            ("no perf events", (PERF_EVENT_OPEN,), 13, True),
            ("no perf events (ENOSYS)", (PERF_EVENT_OPEN,), 38, True),
            ("no timers", (TIMER_CREATE,), 1, None),
            ("no sampler at all", (PERF_EVENT_OPEN, TIMER_CREATE), 1, False),
            ("timers do not start", (PERF_EVENT_OPEN, TIMER_SETTIME), 1, False),
        ):
            dump = self.new_dump()
            self.same(name, command, dump, (0, 1), None, deny(*calls, error=error))
            if some is not None:
                self.samples(name, dump, some)
        for name, calls, lines in (
            ("no madvise", (MADVISE,), (0, 1)),
            ("no fcntl", (FCNTL,), (0,)),
            ("no pread", (PREAD,), (0,)),
            ("no ftruncate", (FTRUNCATE,), (1,)),
            ("no gettid", (GETTID,), (0, 1)),
            ("no sched_getaffinity", (AFFINITY,), (0,)),
            ("no membarrier", (MEMBARRIER,), (0,)),
            ("no rseq", (RSEQ,), (0,)),
        ):
            dump = self.new_dump()
            self.same(name, command, dump, lines, None, deny(*calls))
            if dump.exists():
                self.readable(name, dump)
        for each in CLOCKS:
            self.clock(*each)

    def clock(self, name, wanted, settings, prepare=None):
        """Return what each thread used, s, by its own clock, and what the report says of it."""
        dump = self.new_dump()
        environment = self.profiled_environment(dump, **settings)
        done = Run([self.target, "cpu"], environment, None, prepare)
        report = self.readable(name, dump)
        if not report or done.status:
            self.results.check(False, f"{name}: runs and has a report")
            return []
        clock = report["diagnostics"]["clock"]
        if wanted == "rseq" and clock != wanted:
            self.results.skip(f"{name}: clock {wanted}", f"this kernel gives {clock}")
        else:
            self.results.check(clock == wanted, f"{name}: clock {clock}")
        routines = [t["start_routine"] for t in report["threads"]]
        used = {f"unequal_{i}": float(each) for i, each in enumerate(done.out.split())}
        missing = [routine for routine in used if routine not in routines]
        self.results.check(not missing, f"{name}: a thread of each routine {missing or ''}".rstrip())
        return [
            (
                routine,
                used_s,
                sum(t["cpu_s"] for t in report["threads"] if t["start_routine"] == routine),
            )
            for routine, used_s in used.items()
        ]

    # Settings.

    def settings(self):
        work = [self.target, "work"]
        for variable, values, allowed in (
            ("CPA_SAMPLE_HZ", ("", "x", "-1", "1.5", "10001", "99999999999999999999", "7 "), "0 to"),
            ("CPA_COMPONENTS", ("", "0", "63", "4097", "many", "0x100"), "64 to 4096"),
            ("CPA_QUIET", ("yes", "2", ""), "'0'"),
            ("CPA_START", ("maybe", "", "ON"), "'on'"),
        ):
            for value in values:
                dump = self.new_dump()
                name = f"{variable}='{value}'"
                done = self.same(name, work, dump, (1,), **{variable: value})
                said = " ".join(done.err)
                good = f"{variable}={value}" in said and allowed in said
                self.results.check(good, f"{name}: value and what is allowed are named")
                self.readable(name, dump)
                quiet = {} if variable == "CPA_QUIET" else {"CPA_QUIET": "1"}
                if quiet and value == values[0]:
                    self.same(f"{name}, quiet", work, None, (0,), **{variable: value}, **quiet)
        for variable, values in (
            ("CPA_SAMPLE_HZ", ("0", "1", "10000")),
            ("CPA_COMPONENTS", ("64", "4096")),
            ("CPA_QUIET", ("0", "1")),
            ("CPA_START", ("on",)),
        ):
            for value in values:
                dump = self.new_dump()
                self.same(f"{variable}={value}", work, dump, (0,), **{variable: value})
                self.readable(f"{variable}={value}", dump)
        huge = "9" * 100000
        self.same("a huge value", work, None, (1,), CPA_SAMPLE_HZ=huge)
        self.same("no environment", ["env", "-i", self.target, "work"], None, (0,))

    # What the program itself changes.

    def changes(self):
        for what, complete, says in (
            ("user", True, ""),
            ("root", True, ""),
            ("descriptors", True, ""),
            ("streams", True, ""),
            ("calls", True, ""),
            ("calls, or die", True, "seccomp"),
            ("counter", True, "PR_SET_TSC"),
        ):
            name = f"gives up: {what}"
            command = [self.target, "after", what]
            native = Run(command, self.environment())
            if native.status != 5:
                self.results.skip(name, f"not possible here: {native.status}")
                continue
            dump = self.new_dump()
            done = self.same(name, command, dump, (1,) if says else (0,))
            self.results.check(says in " ".join(done.err), f"{name}: the line says why")
            report = self.readable(name, dump, complete)
            # Those that ended the profile early had one thread behind them.
            least = 2 if says else 6
            threads = len(report["threads"]) if report else 0
            self.results.check(threads >= least, f"{name}: {threads} threads")
        self.vanishing()

    def vanishing(self):
        place = self.folder / "vanishing"
        place.mkdir()
        process = self.start_loop(place / "x.dump")
        shutil.rmtree(place)
        time.sleep(0.2)
        process.terminate()
        _, err = process.communicate(timeout=TIMEOUT_S)
        good = process.returncode == -signal.SIGTERM and not err and not place.exists()
        self.results.check(good, f"the folder vanishes: ends with {process.returncode} {err}")

    # How it ends.

    def start_loop(self, dump):
        process = subprocess.Popen(
            [self.target, "loop"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.profiled_environment(dump),
            text=True,
        )
        process.stdout.readline()
        time.sleep(0.1)
        return process

    def endings(self):
        for sig in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT):
            dump = self.new_dump()
            process = self.start_loop(dump)
            name = f"ended by {sig.name}"
            live = self.readable(f"live, then {name}", dump, False)
            if live:
                good = live["program"]["wall_s"] > 0 and len(live["threads"]) >= 4
                self.results.check(good, f"live, then {name}: time and threads are there")
            process.send_signal(sig)
            _, err = process.communicate(timeout=TIMEOUT_S)
            self.results.check(process.returncode == -sig, f"{name}: status {process.returncode}")
            self.results.check(err == "", f"{name}: says {err or 'nothing'}")
            self.readable(name, dump, False)
            text = Run([self.report_program, str(dump)], self.environment())
            good = "It is not known how the program ended" in text.out + " ".join(text.err)
            self.results.check(good, f"{name}: the report says so")

        dump = self.new_dump()
        self.same("closes stderr", [self.target, "quiet"], dump)
        self.readable("closes stderr", dump)

        place = self.folder / "exec"
        place.mkdir()
        pattern = place / "%e.%p"
        chain = [self.target, "exec", "/bin/sh", "-c", "echo said; exit 9"]
        self.same("exec of a shell", chain, pattern)
        # What a process becomes is in the same session.
        names = sorted(each.name.split(".")[0] for each in place.iterdir())
        self.results.check(names == ["target"], f"exec of a shell: profiles of {' '.join(names)}")
        again = [self.target, "exec", self.target, "work"]
        self.same("exec of itself", again, place / "%e.%p.dump")
        good = len(list(place.glob("target.*.dump"))) == 1
        self.results.check(good, "exec of itself: one profile")
        for each in place.glob("target*"):
            text = Run([self.report_program, str(each)], self.environment()).out
            self.results.check("replaced by exec" not in text, "exec: what came then is told")
            self.readable("a program before and after exec", each)
        self.daemon()

    def daemon(self):
        def word(file, **extra):
            environment = self.environment(**extra)
            done = Run([self.target, "daemon", str(file)], environment)
            begin = time.monotonic()
            while time.monotonic() < begin + TIMEOUT_S:
                if file.exists() and file.read_text().count("\n") >= 4:
                    break
                time.sleep(0.05)
            return done, file.read_text() if file.exists() else ""

        native, native_word = word(self.folder / "daemon-native")
        dump = self.new_dump()
        extra = {"LD_PRELOAD": self.preload, "CPA_OUTPUT": str(dump)}
        profiled, profiled_word = word(self.folder / "daemon-profiled", **extra)
        self.results.check(native_word == profiled_word, "daemon: does the same")
        if native_word != profiled_word:
            print(f"# natively {native_word!r}\n# profiled {profiled_word!r}")
        same = (native.status, native.out) == (profiled.status, profiled.out)
        self.results.check(same, f"daemon: ends with {native.status}, profiled {profiled.status}")
        self.results.check(not profiled.err, "daemon: says nothing")
        # Its first process ends inside daemon().
        self.readable("daemon", dump, None)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    build = os.environ.get("CPA_BUILD", "build")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(build))
    groups = ("output", "space", "limits", "refusals", "settings", "changes", "endings")
    parser.add_argument("only", nargs="*", metavar="|".join(groups), default=groups)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-surroundings."))
    tests = Tests(arguments.build.resolve(), folder)
    for group in arguments.only:
        begin = time.monotonic()
        getattr(tests, group)()
        print(f"# {group}: {time.monotonic() - begin:.1f} s")
    return tests.results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
