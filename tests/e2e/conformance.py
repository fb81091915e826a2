#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/conformance.py - a profiled program does what it does without us

Each program of tests/conformance runs natively and under libcpa.so. Every line it prints is a
case: it must be the same in both runs, and so must the exit status. Then cpa-report must be able
to read the profile, and its figures must make sense. Prints TAP and a summary; what is needed to
look into a failure is kept.
"""

import argparse
import difflib
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from profiled import beyond_s
from results import Results
from surroundings import PERF_EVENT_OPEN, deny

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "conformance"
# Not a limit on speed: a program that takes this long hangs.
TIMEOUT_S = 240
# With arguments or in a surrounding of their own, see check_special(); or in other tests.
ELSEWHERE = {
    "library",
    "adversary",
    "broken_off",
    "confined",
    "worst",
    "ending",
    "streams",
    "target",
    "dying",
    "failing",
}
# Programs that run again with other samplers and clocks. many and mutex take their time.
AGAIN = {
    "barrier",
    "blocking",
    "c11",
    "cancel",
    "cond",
    "habits",
    "handler",
    "interrupted",
    "numbers",
    "once",
    "process",
    "semaphore",
    "serving",
    "stray",
    "terminals",
    "untimed",
}


class Run:
    """One run of a program: what it printed, what it said, and how it ended."""

    def __init__(self, command, environment, **options):
        self.begin = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                start_new_session=True,
                **options,
            )
            try:
                self.status = process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.status = f"hangs: ended after {TIMEOUT_S} s"
                os.killpg(process.pid, 9)
                process.wait()
            out.seek(0)
            err.seek(0)
            self.out = out.read().decode(errors="replace").splitlines()
            self.err = err.read().decode(errors="replace").splitlines()
        self.seconds = time.monotonic() - self.begin


class Flips:
    """With --flip: while the block runs, sessions at @prefix are switched on and off at random."""

    def __init__(self, arguments, prefix):
        seed = str(random.randrange(1 << 31))
        self.command = [str(arguments.build / "tests/e2e/flip"), str(prefix), seed]
        self.wanted, self.seed = arguments.flip, seed

    def __enter__(self):
        if self.wanted:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)

    def __exit__(self, *_):
        if self.wanted:
            self.process.terminate()
            print(f"# {self.process.communicate()[0].strip()} switches, seed {self.seed}")


def clean_environment():
    removed = ("CPA_", "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_")
    return {k: v for k, v in os.environ.items() if not k.startswith(removed)}


def case_of(line):
    """A line is `case name: what came out`."""
    return line.partition(": ")[0] if ": " in line else line


def compare(results, name, native, profiled):
    """One TAP line for each line of the native run."""
    matcher = difflib.SequenceMatcher(None, native.out, profiled.out, autojunk=False)
    for tag, low, high, other_low, other_high in matcher.get_opcodes():
        for i in range(low, high):
            results.check(tag == "equal", f"{name}: {case_of(native.out[i])}".replace("#", "no."))
        if tag != "equal":
            for line in native.out[low:high]:
                print(f"# natively: {line}")
            for line in profiled.out[other_low:other_high]:
                print(f"# profiled: {line}")
        if tag == "insert":
            results.check(False, f"{name}: a line that is not there natively")
    same = native.status == profiled.status
    results.check(same, f"{name}: ends with {native.status}, profiled {profiled.status}")
    if native.err == profiled.err:
        results.check(True, f"{name}: nothing more on stderr")
    else:
        results.check(False, f"{name}: nothing more on stderr: {'; '.join(profiled.err[-3:])}")


def numbers(value, path=""):
    """Every number of the report with its place."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from numbers(each, f"{path}.{key}")
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from numbers(each, f"{path}[{i}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


# What a phase saves is a difference: what was gained before may be lost again, see cpa-metrics(7).
MAY_BE_NEGATIVE = re.compile(r"\.phases\.phases\[\d+\]\.components\[\d+\]\.saved_s")


def absurdities(report, seconds, rate):
    """What cannot be in any report of a run that took @seconds, with @rate samples a second."""
    odd = []
    for path, value in numbers(report):
        negative = value < 0 and not MAY_BE_NEGATIVE.fullmatch(path)
        if not math.isfinite(value) or negative:
            odd.append(f"{path} is {value}")
    program, diagnostics = report["program"], report["diagnostics"]
    cores = program["cores"]
    most_samples = rate * 1.1 * (seconds + 1) * cores
    most = {
        "program.wall_s": (program["wall_s"], seconds),
        "program.critical_path_s": (program["critical_path_s"], program["wall_s"] + beyond_s(report)),
        "program.cpu_s": (program["cpu_s"], seconds * cores),
        "diagnostics.probe_s": (diagnostics["probe_s"], seconds * cores),
        "diagnostics.objects_untracked": (diagnostics["objects_untracked"], 0),
        "samples": (diagnostics["samples"] + diagnostics["samples_lost"], most_samples),
    }
    for path, (value, limit) in most.items():
        if value > limit * 1.01 + 0.001:
            odd.append(f"{path} is {value}, at most {limit:.3f} possible")
    if diagnostics["clock"] not in ("rseq", "perf", "syscall"):
        odd.append(f"clock {diagnostics['clock']}")
    odd += [note for note in diagnostics["notes"] if "damaged" in note]
    return odd


def check_dump(results, name, arguments, dump, seconds, rate):
    """Return whether the profile is there and makes sense."""
    if not dump.exists():
        return results.check(False, f"{name}: there is a profile")
    report = str(arguments.build / "cpa-report")
    text = Run([report, str(dump)], clean_environment())
    results.check(text.status == 0, f"{name}: cpa-report says {text.status} {' '.join(text.err)}")
    done = Run([report, "--format", "json", str(dump)], clean_environment())
    try:
        odd = absurdities(json.loads("\n".join(done.out)), seconds, rate)
    except (ValueError, KeyError, TypeError) as error:
        return results.check(False, f"{name}: the report is JSON with all keys: {error!r}")
    return results.check(not odd, f"{name}: figures that can be {'; '.join(odd)}".rstrip())


def check_program(
    results, arguments, folder, label, command, preload=(), settings=(), native=None, **options
):
    """
    Run @command both ways; @preload are libraries of its own, @settings for both runs. Return the
    native run, which is @native if that is given.
    """
    failed = results.failed
    dump = folder / f"{label}.dump"
    environment = clean_environment() | dict(settings)
    if preload:
        environment["LD_PRELOAD"] = ":".join(preload)
    native = native or Run(command, environment, **options)
    libraries = [str(arguments.build / "libcpa.so"), *preload]
    # Children that are other programs have their own profiles, where the pattern is as by default.
    environment.update(LD_PRELOAD=":".join(libraries), CPA_OUTPUT=str(folder / f"{label}.%e.%p"))
    with Flips(arguments, folder / f"{label}."):
        profiled = Run(command, environment, **options)
    compare(results, label, native, profiled)
    for each in folder.glob(f"{label}.{pathlib.Path(command[0]).name}.*"):
        each.rename(dump)
        break
    rate = int(dict(settings).get("CPA_SAMPLE_HZ", "1000"))
    check_dump(results, label, arguments, dump, profiled.seconds, rate)
    print(f"# {label}: {native.seconds:.1f} s natively, {profiled.seconds:.1f} s profiled")
    if results.failed != failed:
        print(f"# {label}: profile kept: {dump}")
        return native
    for each in [dump, *folder.glob(f"{label}.*")]:
        each.unlink(missing_ok=True)
    return native


def closing(fds):
    """For a child: without these descriptors, and its output on number 9."""

    def prepare():
        os.dup2(1, 9)
        for fd in fds:
            os.close(fd)

    return prepare


def check_again(results, arguments, folder, natives):
    """
    With the sampler and the clock that are used where the kernel refuses the better ones, and without stacks.
    To the programs themselves none of it matters: they are compared with their native runs, @natives.
    """
    refuse = deny(PERF_EVENT_OPEN, error=13)
    if subprocess.run(["true"], preexec_fn=refuse, check=False).returncode:
        refuse = None
        results.skip("programs with the timer as sampler", "no seccomp filters here")
    for name in sorted(AGAIN & natives.keys()):
        command = [str(arguments.build / "tests/conformance" / name)]
        options = {"native": natives[name]}
        if refuse:
            settings = {"CPA_SAMPLE_HZ": "1000"}
            label = f"{name}, timer"
            refused = {"settings": settings, "preexec_fn": refuse}
            check_program(results, arguments, folder, label, command, **refused, **options)
        settings = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0", "CPA_SAMPLE_HZ": "10000", "CPA_STACKS": "0"}
        label = f"{name}, no rseq"
        check_program(results, arguments, folder, label, command, settings=settings, **options)


def check_flipped(results, arguments, folder, natives):
    """While profiling is switched on and off at random moments, in any instruction of any wrapper."""
    arguments.flip = True
    settings = {"CPA_SAMPLE_HZ": "1000"}
    for name in sorted(AGAIN & natives.keys()):
        command = [str(arguments.build / "tests/conformance" / name)]
        label = f"{name}, flipped"
        check_program(
            results, arguments, folder, label, command, settings=settings, native=natives[name]
        )
    if not arguments.only or "streams" in arguments.only:
        command = [str(arguments.build / "tests/conformance/streams"), "9"]
        options = {"preexec_fn": closing(()), "close_fds": False}
        check_program(results, arguments, folder, "streams, flipped", command, settings=settings, **options)


def check_special(results, arguments, folder, programs):
    """Programs that need arguments or a surrounding."""
    ending = str(programs / "ending")
    for name in subprocess.check_output([ending, "--list"], text=True, timeout=60).split():
        if not arguments.only or "ending" in arguments.only or name in arguments.only:
            check_program(results, arguments, folder, f"ending-{name}", [ending, name])
    if not arguments.only or "library" in arguments.only:
        library = str(programs / "library.so")
        for name in ("loader", "once", "barrier"):
            command = [str(programs / name)]
            check_program(results, arguments, folder, f"library-{name}", command, [library])
    if not arguments.only or "worst" in arguments.only:
        adversary = str(programs / "adversary.so")
        check_program(results, arguments, folder, "worst", [str(programs / "worst")], [adversary])
    for name in ("confined", "broken_off"):
        # Their line, that the profile ends, is for surroundings.py to test.
        settings = {"CPA_QUIET": "1"}
        command = [str(programs / name)]
        if not arguments.only or name in arguments.only:
            check_program(results, arguments, folder, name, command, settings=settings)
    if not arguments.only or "streams" in arguments.only:
        streams = [str(programs / "streams"), "9"]
        for fds in ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            label = "streams" + "".join(f"-no-{fd}" for fd in fds)
            options = {"preexec_fn": closing(fds), "close_fds": False}
            check_program(results, arguments, folder, label, streams, **options)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    build = os.environ.get("CPA_BUILD", "build")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(build))
    parser.add_argument("--flip", action="store_true", help="switch profiling at random meanwhile")
    parser.add_argument("only", nargs="*", help="programs, default all")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    arguments.build = arguments.build.resolve()
    programs = arguments.build / "tests/conformance"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-conformance."))
    results = Results()
    natives = {}
    for source in sorted(SOURCES.glob("*.c")):
        name = source.stem
        if name in ELSEWHERE or (arguments.only and name not in arguments.only):
            continue
        command = [str(programs / name)]
        natives[name] = check_program(results, arguments, folder, name, command)
    check_again(results, arguments, folder, natives)
    check_special(results, arguments, folder, programs)
    check_flipped(results, arguments, folder, natives)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
