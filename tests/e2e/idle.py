#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/e2e/idle.py - idle time weighs nothing in the critical path, service does: which call is which,
what --idle weigh and the JSON say of it, and whose the observed path is when an idle thread ends
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from profiled import BUILD, TAKEN, profiled_environment, run, taken_for_ready, verify
from results import Results

CLASS = {
    "sleep": "service",
    "read": "service",
    "sleep loop": "idle",
    "poll": "idle",
    "timeout": "idle",
    "input": "idle",
}


LATE_S = 0.03
# Who waits so, and for how long together at least: tests/programs/idle_kinds.c
WAITS = {
    "sleep": ("sleep_loop", 4 * 0.005),
    "sleep loop": ("sleep_loop", 7 * 0.005),
    "poll": ("poll_once", 0.3),
    "read": ("main", 2 * LATE_S),
    "input": ("main", LATE_S),
}


def await_read(program, descriptor):
    """Until the program's first thread is blocked in a read of @descriptor, and a while longer."""
    call = pathlib.Path(f"/proc/{program.pid}/syscall")
    while program.poll() is None and call.read_text().split()[:2] != ["0", hex(descriptor)]:
        time.sleep(0.001)
    time.sleep(LATE_S)


def run_kinds(**environment):
    """
    The program, with us as the stranger who answers, and who then sends what nobody asked for; return
    how many blocks of a device it read.
    """
    ours, theirs = socket.socketpair()
    with subprocess.Popen(
        [BUILD / "tests/programs/idle_kinds", str(theirs.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[theirs.fileno()],
        env=environment["env"],
    ) as program:
        number = theirs.fileno()
        theirs.close()
        for _ in range(2):
            asked = ours.recv(1)
            await_read(program, number)
            ours.send(asked)
        await_read(program, 0)
        program.stdin.write(b"x")
        program.stdin.flush()
        blocks_read = int(program.stdout.read())
    ours.close()
    if program.returncode:
        raise RuntimeError(f"idle_kinds: status {program.returncode}")
    return blocks_read


def report(dump, *options):
    return json.loads(run([BUILD / "cpa-report", "--format", "json", *options, dump]))


def check_kinds(results, profile, found):
    for name, wanted in CLASS.items():
        each = found.get(name)
        if not each and name in WAITS and taken_for_ready(profile, *WAITS[name]):
            results.skip(f"{name} is {wanted}", TAKEN)
            continue
        if not each:
            results.check(False, f"{name}: no such kind of external time among {sorted(found)}")
            continue
        idle_weight = each["critical_path_s"] + each["saved_s"]
        good = each["class"] == wanted and each["total_s"] > 0
        good &= wanted == "service" or idle_weight == 0
        results.check(good, f"{name}: {each['class']}, {idle_weight} s on the critical path")


def check_unseen(results, profile, found, blocks_read):
    """The first write to a page of a file is no device's work: who blocks then waits for nobody known."""
    if blocks_read:
        results.skip("no service unseen", f"{blocks_read} blocks of a device were read")
        return
    thread = [t for t in profile["threads"] if t["start_routine"] == "block_unseen"][0]
    external, blocked = thread["external_s"], found.get("blocked", {"total_s": 0})["total_s"]
    if not external and taken_for_ready(profile, "block_unseen", LATE_S):
        results.skip("no service unseen", TAKEN)
        return
    results.check(
        0 < external <= blocked + 1e-6,
        f"no service unseen: the thread was blocked {external} s, all threads in no call {blocked} s",
    )


def check_lengths(results, dump, profile):
    """With idle time the path is no shorter, nor shorter than the thread that only blocks in poll()."""
    program = profile["program"]
    with_idle, path = program["critical_path_with_idle_s"], program["critical_path_s"]
    idle = [t["external_s"] for t in profile["threads"] if t["start_routine"] == "poll_once"][0]
    results.check(
        with_idle >= max(path, idle - 1e-6) and (idle > 0 or taken_for_ready(profile, *WAITS["poll"])),
        f"with idle time the path is {with_idle} s, without {path} s; one thread has {idle} s",
    )
    weighed = report(dump, "--idle", "weigh")["program"]
    results.check(
        abs(weighed["critical_path_s"] - with_idle) < 1e-6,
        f"--idle weigh: {weighed['critical_path_s']} s",
    )
    parts = program["observed_external"]
    whole = program["observed_segments"]["external_s"]
    results.check(
        abs(sum(parts.values()) - whole) < 1e-6, f"the observed path's {whole} s are {parts}"
    )


SLEEPS, SLEEP_S = 40, 0.01
# Of them, by what is between them; the program's start may count as work before the first.
IDLE_SLEEPS = {"loop": (35, 36), "at_times": (35, 36), "work": (0,), "timer": (35, 36)}


def check_sleeps(results, folder):
    """Who does little but sleep is idle from the fifth sleep on; who works in between is not."""
    for how, wanted in IDLE_SLEEPS.items():
        dump = folder / f"{how}.dump"
        run([BUILD / "tests/programs/sleep_rounds", how], env=profiled_environment(dump))
        profile = report(dump)
        found, program = profile["diagnostics"]["idle_sleeps"], profile["program"]
        text = f"{how}: {found} idle sleeps of {SLEEPS}"
        # How long a sleep was then, and for how long the thread was ready, is the kernel's word.
        late_s = program["run_s"] - program["cpu_s"] - SLEEPS * SLEEP_S
        if found not in wanted and late_s >= SLEEP_S:
            results.skip(text, f"the machine was busy: the sleeps ended {late_s:.3f} s late")
        else:
            results.check(found in wanted, text)


def check_asked(results, folder):
    """What has the number of a descriptor that was written to, and closed, was asked for nothing."""
    dump = folder / "asked.dump"
    with subprocess.Popen(
        [BUILD / "tests/programs/asked_before"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=profiled_environment(dump),
    ) as program:
        was, now = program.stdout.readline().split()
        await_read(program, int(now))
        program.stdin.write(b"x")
        program.stdin.close()
    profile = report(dump)
    found = {c["name"]: c["class"] for c in profile["components"] if c["kind"] == "external"}
    if was != now:
        results.skip("asked before", f"another number: {was}, {now}")
    elif not found and taken_for_ready(profile, "main", LATE_S):
        results.skip("asked before", TAKEN)
    else:
        results.check("input" in found and "read" not in found, f"asked before: {found}")


SPAWN_S = 0.1 - 1e-3  # spawn_blocked is blocked for 0.1 s and more; clocks differ


def check_spawn(results, folder, how):
    """A thread that creates a process is blocked until the child calls exec()."""
    dump = folder / f"{how}.dump"
    run([BUILD / "tests/programs/spawn_blocked", how], env=profiled_environment(dump))
    profile = report(dump)
    found = {c["name"]: c for c in profile["components"] if c["kind"] == "external"}
    created = found.get("in create", {"total_s": 0, "class": "none"})
    text = f"{how}: in create {created['total_s']} s, {created['class']}"
    if "other" in found:
        results.skip(text, "code was read from a disk meanwhile, which counts as service")
    elif created["total_s"] < SPAWN_S and taken_for_ready(profile, "start", SPAWN_S - created["total_s"]):
        results.skip(text, TAKEN)
    else:
        results.check(created["total_s"] >= SPAWN_S and created["class"] == "wait", text)


NEARLY = 0.99
# The start routine of the thread that ends the run.
ENDS = {"handler": "main", "thread": "wait_for_end", "killed": "work"}


def check_end(results, folder, how):
    """
    Ended by a signal, which came to an idle thread: the observed path is the busy one's. If the idle one
    waited for a processor for longer than it was idle, the path is its own, and rightly.
    """
    dump = folder / f"{how}.dump"
    command = [BUILD / "tests/programs/ended_idle", how]
    environment = profiled_environment(dump)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as program:
        program.stdout.readline()
        program.terminate()
    profile = report(dump)
    path = profile["program"]
    segments = path["observed_segments"]
    threads = {t["start_routine"]: t for t in profile["threads"]}
    worker, ending = threads["work"], threads[ENDS[how]]
    on_it = [c for c in profile["components"] if c["kind"] == "thread" and c["name"] == "work"][0]
    # What the busy thread did while the program was ending is not part of the run.
    late = max(0, worker["last_event_s"] - path["wall_s"])
    good = path["observed_path_thread"] == worker["number"]
    good &= segments["process_s"] >= NEARLY * on_it["cpu_s"] - late and on_it["cpu_s"] > 0
    good &= on_it["observed_path_s"] >= NEARLY * on_it["cpu_s"] - late
    if ending is not worker and 2 * ending["external_s"] <= path["wall_s"]:
        results.skip(f"{how}: whose the path is", f"who ended it was idle {ending['external_s']} s")
    else:
        results.check(good, f"{how}: {segments} with {on_it['cpu_s']} s of work")
    whole = sum(segments.values())
    results.check(
        abs(whole - path["observed_path_s"]) < 1e-5, f"{how}: {whole} s are the observed path"
    )


def main():
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "idle.dump"
        blocks_read = run_kinds(env=profiled_environment(dump, CPA_JOURNAL="16M"))
        profile = report(dump)
        found = {c["name"]: c for c in profile["components"] if c["kind"] == "external"}
        if profile["diagnostics"]["clock"] != "rseq":
            results.skip("kinds of external time", "without a detector each block is of no kind")
        else:
            check_kinds(results, profile, found)
            check_unseen(results, profile, found, blocks_read)
            check_lengths(results, dump, profile)
        good, text = verify(dump)
        results.check(good, f"as its journal: {text}")
        bare = pathlib.Path(folder) / "bare.dump"
        run_kinds(env=profiled_environment(bare))
        refused = subprocess.run(
            [BUILD / "cpa-report", "--idle", "weigh", bare], capture_output=True, text=True, check=False
        )
        results.check(
            refused.returncode == 1 and "no journal" in refused.stderr,
            f"--idle weigh without a journal: {refused.stderr.strip()[-60:]}",
        )
        folder = pathlib.Path(folder)
        if profile["diagnostics"]["clock"] == "rseq":
            check_sleeps(results, folder)
            for how in ("posix_spawn", "vfork"):
                check_spawn(results, folder, how)
            check_asked(results, folder)
        for how in ("handler", "thread", "killed"):
            check_end(results, folder, how)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
