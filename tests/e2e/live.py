#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/live.py - reports of programs that run, were killed, and had phases

A relay, in which all work is on the critical path, is looked at again and again while it runs: each
report must be of a state that the program could have been stopped in, and no later one may have less
than an earlier one. The same goes for copies that cpa ctl takes. Then when each phase of a program was on the path. Prints TAP.
"""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ["CPA_BUILD"]).resolve()
LOOKS = 8
# Clocks of two cores, and looks at the clock that the profiler spares itself.
TILES = 0.002

results = {"ok": 0, "not ok": 0}


def check(good, text):
    word = "ok" if good else "not ok"
    results[word] += 1
    print(f"{word} {sum(results.values())} - {text}", flush=True)
    return good


def environment(dump):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
    return dict(kept, LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), CPA_QUIET="1")


def start(program, dump, *arguments):
    command = [str(BUILD / "tests/programs" / program), *arguments]
    return subprocess.Popen(command, env=environment(dump), stdin=subprocess.PIPE)


def report(dump, *options):
    command = [str(BUILD / "cpa-report"), *options, str(dump)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(dump):
    return json.loads(report(dump, "--format", "json"))


def wait_for_events(dump):
    """The program is up when its main thread has had its first events."""
    while True:
        try:
            if sum(t["cpu_s"] for t in read(dump)["threads"]) > 0.05:
                return
        except subprocess.CalledProcessError:
            pass
        time.sleep(0.05)


def wait_for_growth(dump, before):
    """Of the path. How long the program gets no processor is the machine's affair."""
    while True:
        now = read(dump)
        if now["program"]["critical_path_s"] > before["program"]["critical_path_s"]:
            return now
        time.sleep(0.01)


def check_state(name, r, torn=False):
    """What holds in every state that a program can be in. @torn: but for one event."""
    p, path = r["program"], r["program"]["critical_path_s"]
    late = 0.001 if torn else 1e-6
    work = sum(s["cpu_s"] for s in r["threads"]) + p["external_s"]
    check(work >= path - late, f"{name}: work of {work:.6f} s, path of {path:.6f} s")
    check(
        p["max_parallelism"] >= 1 - late / path, f"{name}: parallelism of {p['max_parallelism']:.6f}"
    )
    segments = sum(p["observed_segments"].values())
    check(
        abs(segments - p["wall_s"]) < TILES * p["wall_s"] + late,
        f"{name}: observed path of {segments:.6f} s, in {p['wall_s']:.6f} s",
    )
    over = [c["name"] for c in r["components"] if max(c["critical_path_s"], c["saved_s"]) > path]
    check(not over, f"{name}: components with more than the path: {over}")
    over = [t["name"] for t in r["threads"] if t["critical_path_s"] > path + 1e-9]
    check(not over, f"{name}: threads with a longer path than the program's: {over}")


def check_growth(name, before, now):
    for key in "wall_s", "cpu_s", "critical_path_s", "observed_path_s", "external_s":
        a, b = before["program"][key], now["program"][key]
        check(b >= a - 1e-9, f"{name}: {key} of {a:.6f} s, then {b:.6f} s")


def check_notes(name, r, words):
    notes = [n for n in r["diagnostics"]["notes"] if words in n]
    check(not notes, f"{name}: {notes or 'all rows are of one state'}")


def check_samples(name, r):
    """Cumulative values only grow."""
    samples = r["intervals"]["samples"]
    for key in "at_s", "critical_path_s", "cpu_s", "external_s", "events":
        values = [s[key] for s in samples]
        check(values == sorted(values), f"{name}: {len(values)} samples of {key} in order")


def test_running(folder):
    dump = folder / "relay.dump"
    process = start("relay", dump)
    try:
        wait_for_events(dump)
        before = None
        for look in range(LOOKS):
            now = read(dump)
            name = f"look {look}"
            check(not now["program"]["complete"], f"{name}: it runs")
            check_state(name, now)
            check_notes(name, now, "changed while")
            if before:
                check_growth(name, before, now)
                now = wait_for_growth(dump, before)
                check(True, f"{name}: the path grows while the spectator does nothing")
            before = now
        check_samples("running", before)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    now = read(dump)
    check_state("killed", now, torn=True)
    check_growth("killed", before, now)
    again = read(dump)
    check(again["program"] == now["program"], "killed: the same when read again")


def snapshot(dump, to):
    command = [str(BUILD / "cpa-ctl"), str(dump), "snapshot", str(to)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return check(done.returncode == 0, f"{to.name}: {done.stderr or 'is made'}")


def test_snapshots(folder):
    """Copies of a session that goes on are each of one state, and stay so when it goes on."""
    dump = folder / "copied.dump"
    process = start("relay", dump)
    try:
        wait_for_events(dump)
        before, copies = None, []
        for look in range(LOOKS):
            copy = folder / f"snapshot {look}"
            seen = wait_for_growth(dump, before) if before else read(dump)
            if not snapshot(dump, copy):
                continue
            now = read(copy)
            check_state(copy.name, now)
            check_notes(copy.name, now, "row by row")
            check_notes(copy.name, now, "damaged")
            check_samples(copy.name, now)
            check_growth(f"{copy.name}, looked at before", seen, now)
            if before:
                more = now["program"]["critical_path_s"] > before["program"]["critical_path_s"]
                check(more, f"{copy.name}: is later than that before")
            before = now
            copies.append((copy, now))
        check_growth("looked at after", before, read(dump))
    finally:
        process.kill()
        process.wait()
    for copy, then in copies:
        check(read(copy) == then, f"{copy.name}: the same when the process is no more")


def test_copy_of_stopped(folder):
    """No thread goes on, and one may be in the middle of an event: the copy is as the session."""
    dump = folder / "still.dump"
    process = start("relay", dump)
    try:
        wait_for_events(dump)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # all threads have stopped
        copy = folder / "copy of what is stopped"
        if snapshot(dump, copy):
            now, original = read(copy), read(dump)
            for key in "program", "threads", "components", "objects", "intervals":
                check(now[key] == original[key], f"{copy.name}: {key} as in the session")
    finally:
        process.kill()
        process.wait()


def test_stopped(folder):
    """All threads stopped somewhere: the report comes all the same, and is of a state."""
    dump = folder / "stopped.dump"
    process = start("relay", dump)
    try:
        wait_for_events(dump)
        before = read(dump)
        process.send_signal(signal.SIGSTOP)
        now = read(dump)
        check_state("stopped", now, torn=True)
        check_growth("stopped", before, now)
        process.send_signal(signal.SIGCONT)
        process.stdin.close()
        check(process.wait() == 0, "it ends as it would have")
        check_growth("ended", now, read(dump))
    finally:
        process.kill()
        process.wait()


def test_phases(folder):
    dump = folder / "phases.dump"
    start("phases", dump).wait()
    r = read(dump)
    v, samples = r["intervals"], r["intervals"]["samples"]
    check_state("phases", r)
    check_samples("phases", r)
    check(v["start_s"] == 0 and v["period_s"] > 0, f"phases: a period of {v['period_s']:.3f} s")
    check(32 <= len(samples) <= 65 or samples[-1]["at_s"] < 65 * v["period_s"], "phases: constant size")
    last = samples[-1]
    check(abs(last["critical_path_s"] - r["program"]["critical_path_s"]) < 1e-6, "phases: the end")
    table = list(csv.DictReader(io.StringIO(report(dump, "--format", "csv", "--level", "interval"))))
    program = [row for row in table if row["kind"] == "program"]
    same = [float(row["critical_path_s"]) for row in program] == [s["critical_path_s"] for s in samples]
    check(same, f"phases: {len(program)} samples in CSV, as in JSON")
    text = report(dump, "--level", "interval")
    check("When it was on the critical path" in text and "second_phase" in text, "phases: text")
    check(text.isascii(), "phases: ASCII where the locale has no more")


TESTS = test_running, test_stopped, test_snapshots, test_copy_of_stopped, test_phases


def main():
    os.environ["LC_ALL"] = "C"
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as folder:
        for test in TESTS:
            test(pathlib.Path(folder))
    print(f"{results['ok']} passed, {results['not ok']} failed, 0 skipped")
    return 1 if results["not ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
