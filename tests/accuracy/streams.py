#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/streams.py - shares and savings where threads and processes hand over bytes

Of the cases of tests/programs/streams that follow from their units of work: length of the path, what each
class of threads has of it, and what it saves. Then pipelines of coreutils, whose stages' CPU times are
those that wait4() tells. Prints TAP and a summary.

--stages COMMAND...: start these with a pipe from each to the next, and print their CPU times as JSON.
"""

import json
import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import looks
from profiled import PROGRAMS, profiled_environment, read, run
from results import Results

UNIT_S = 0.02
PATH = 0.02  # length of the path, of itself
COMPONENT = 0.03  # a share or saving, of the path
CHILD = "streams, forked"
# Units on the path; of each class of threads: on the path (None: two paths are as long), and saved.
CASES = {
    "balanced": (12, {"main": (None, 2), CHILD: (None, 4)}),
    "slow_stage": (14, {"main": (1, 1), CHILD: (13, 10)}),
    "socket_pair": (12, {"main": (4, 4), CHILD: (8, 8)}),
    "tcp": (12, {"main": (8, 8), CHILD: (4, 4)}),
    "unix_name": (12, {"main": (8, 8), CHILD: (4, 4)}),
    "fan_in": (6, {"main": (1, 1), CHILD: (5, 5)}),
    "fan_out": (10, {"main": (5, 5), CHILD: (5, 5)}),
    "event": (12, {"main": (4, 4), "work_when_woken": (8, 8)}),
    "pool": (12, {"main": (4, 4), "take_tokens": (8, 8)}),
    "self_pipe": (12, {"main": (4, 4), "work_for_loop": (8, 8)}),
}
# Commands. The slow one has nearly all of the path: it begins with the first bytes, and ends with the last.
PIPELINES = (
    ("head -c 300M /dev/zero", "sha512sum", "cat"),
    ("head -c 300M /dev/zero", "tr \\0 a", "sha512sum"),
    ("seq 20000000", "sha512sum"),
)
SLOW = "sha512sum"


def start(command, source, to):
    words = command.split()
    files = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, to, 1)]
    return os.posix_spawnp(words[0], words, os.environ, file_actions=files)


def run_stages(commands):
    null = os.open(os.devnull, os.O_RDWR)
    source, names, cpu_s = os.dup(null), {}, {}
    for command in commands:
        ours, to = os.pipe()
        names[start(command, source, null if command == commands[-1] else to)] = command.split()[0]
        os.close(source)
        os.close(to)
        source = ours
    os.close(source)
    for _ in commands:
        pid, status, usage = os.wait4(-1, 0)
        cpu_s[names[pid]] = usage.ru_utime + usage.ru_stime
        if status:
            return 1
    print(json.dumps(cpu_s))
    return 0


def figures(report, name):
    """Seconds on the path and saved of the threads of this name."""
    found = [c for c in report["components"] if c["kind"] == "thread" and c["name"] == name]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} components are threads of {name}")
    return found[0]["critical_path_s"], found[0]["saved_s"]


def close(look, label, got_s, expected_s, most_s):
    good = abs(got_s - expected_s) <= most_s
    look.time(good, label, f"{got_s:.4f} s", f"{expected_s:.4f} s +- {most_s:.4f} s")


def profile(folder, *command):
    dump = folder / "run.dump"
    output = looks.left_alone(lambda: run_once(dump, command))
    report = read(dump)
    dump.unlink()
    return output, report


def run_once(dump, command):
    dump.unlink(missing_ok=True)
    return run([str(word) for word in command], env=profiled_environment(dump))


def look_at_case(folder, name):
    look = looks.Look()
    units, classes = CASES[name]
    _, report = profile(folder, PROGRAMS / "streams", name)
    path_s = report["program"]["critical_path_s"]
    close(look, f"{name}: path", path_s, units * UNIT_S, PATH * units * UNIT_S)
    for each, (share, saved) in classes.items():
        share_s, saved_s = figures(report, each)
        most_s = COMPONENT * units * UNIT_S
        if share is not None:
            close(look, f"{name}: share of {each}", share_s, share * UNIT_S, most_s)
        close(look, f"{name}: saved by {each}", saved_s, saved * UNIT_S, most_s)
    return look


def profile_stages(folder, *commands):
    """The report, and the CPU time of each stage by wait4()."""
    output, report = profile(folder, sys.executable, __file__, "--stages", *commands)
    return json.loads(output.splitlines()[-1]), report


def look_at_pipeline(folder, commands):
    """
    All stages run at once: without the slow one the path is that of the next slowest. What a stage does
    before its first bytes may be on the path or beside it. cpa's own time is not on it.
    """
    look = looks.Look()
    label = " | ".join(commands)
    begin_s = profile_stages(folder, SLOW)[0][SLOW]
    cpu_s, report = profile_stages(folder, *commands)
    most_s = COMPONENT * report["program"]["critical_path_s"]
    work_s = {}
    for name, seconds in cpu_s.items():
        rows = [p for p in report["processes"] if p["name"] == name]
        close(look, f"{label}: CPU time of {name}", sum(p["cpu_s"] for p in rows), seconds, most_s)
        work_s[name] = seconds - sum(p["probe_s"] for p in rows)
    slow_s = work_s.pop(SLOW)
    share_s, saved_s = figures(report, SLOW)
    most_s += begin_s / 2
    close(look, f"{label}: share of {SLOW}", share_s, slow_s - begin_s / 2, most_s)
    close(look, f"{label}: saved by {SLOW}", saved_s, slow_s - max(work_s.values()), most_s)
    return look


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="streams.", dir=os.environ.get("CPA_TMP")))
    tests = {name: lambda name=name: look_at_case(folder, name) for name in CASES}
    for each in PIPELINES:
        tests[" | ".join(each)] = lambda each=each: look_at_pipeline(folder, each)
    for name, take in tests.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        try:
            looks.check(results, take)
        except looks.Busy as error:
            results.skip(name, error)
        except RuntimeError as error:
            results.check(False, f"{name}: {error}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(run_stages(sys.argv[2:]) if sys.argv[1:2] == ["--stages"] else main())
