#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of a run that the program switches itself. switches.py: from outside.

How long the paths of the parts are is looked at by tests/accuracy/part_paths.py.
"""
import random
import re
import signal
import subprocess
import sys
import time

import layout
from part_runs import BUILD, TILES_S, TMP, environment, report, sums, tiles
from profiled import contradictions, taken_for_ready, verify
from results import Results

PROGRAM = f"{BUILD}/tests/programs/parts"
SLOW_CLOCK = f"{BUILD}/tests/plugins/slow_clock.so"
NAMES = ("alone", "lock", "condition", "barrier", "semaphore", "threads")
SAMPLER, PERF = layout.values("offsetof(struct cpa_header, sampler)", "CPA_SAMPLER_PERF")
KEPT, PROCESSES_KEPT = layout.values("CPA_THREADS_KEPT", "CPA_PROCESSES_KEPT")


def run_parts(results, name, before=(), **more):
    """Run a way of tests/programs/parts.c, by the command @before; return its dump and its report, which adds up."""
    dump = f"{TMP}/{name}.dump"
    subprocess.run([*before, PROGRAM, name], env=environment(dump, CPA_START="off", **more),
                   stdout=subprocess.DEVNULL, check=True)
    found = report(dump)
    sums(results, name, found)
    return dump, found


def known(results, name):
    """Nothing is seen of what is between the parts."""
    _, found = run_parts(results, name)
    seen = [c["name"] for c in found["components"]]
    results.check("work_in_part" in seen and "work_between" not in seen, f"{name}: no work in between")
    results.check(tiles(found), f"{name}: the observed path is as long as the parts")
    parts = sum(p["to_s"] - p["from_s"] for p in found["parts"])
    results.check(abs(parts - found["program"]["wall_s"]) < 1e-6 < found["program"]["run_s"] - parts,
               f"{name}: {len(found['parts'])} parts, shorter than the run")
    # What a sample takes is measured as the run begins, and may be much on a busy machine.
    bad = [n for n in found["diagnostics"]["notes"]
           if "blocked when" not in n and not n.startswith("cpa sampled at ")]
    results.check(not bad, f"{name}: nothing is amiss {bad if bad else ''}")
    names = {t["start_routine"] for t in found["threads"]} - {"main"}
    results.check(all(n.endswith("_worker") or n == "burner" for n in names),
               f"{name}: threads created while off have a start routine")


def execed(results):
    """A process that becomes another program while profiling is off, the first or a child, stays one process."""
    for script, programs in (('exec "$0" "$1"', [2]), ('(exec "$0" "$1"); true', [1, 2])):
        _, found = run_parts(results, "alone", ("sh", "-c", script))
        seen = [c["name"] for c in found["components"]]
        results.check("work_in_part" in seen, f"{script}: the program's parts are seen")
        results.check([p["programs"] for p in found["processes"]] == programs,
                   f"{script}: {[(p['name'], p['programs']) for p in found['processes']]}")
        notes = [n for n in found["diagnostics"]["notes"] if "still ran" in n]
        results.check(not notes, f"{script}: all processes ended {notes if notes else ''}".rstrip())


def children(results):
    """Of processes that were waited for while profiling is off the rows are used again."""
    loop = f"i=0; while [ $i -lt {PROCESSES_KEPT + 50} ]; do /bin/true; i=$((i+1)); done"
    calls = f"import os\nfor i in range({PROCESSES_KEPT + 50}): os.system('exit 0')"
    for command in (["sh", "-c", f"{loop}; exec \"$0\" \"$1\""],
                    ["/usr/bin/python3", "-c", f"{calls}\nimport sys\nos.execv(sys.argv[1], sys.argv[1:])"]):
        _, found = run_parts(results, "alone", command)
        rows, count = len(found["processes"]), sum(p["count"] for p in found["processes"])
        results.check(rows <= PROCESSES_KEPT + 3 and count == PROCESSES_KEPT + 51,
                   f"{command[0]}: {count} processes in {rows} rows")


def reaped(results):
    """A wait by system() while profiling is off is for the child of that call, however that ends, and no other."""
    before = ("import ctypes, os, signal, sys, threading\n"
              "wait4 = 61 # the system call, which cpa does not see as it is made here\n"
              "def is_there(pid):\n"
              "    try: os.kill(pid, 0)\n"
              "    except ProcessLookupError: return False\n"
              "    return True\n"
              "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
              "pid = os.fork()\n"
              "if not pid: sys.exit(0)\n"
              "while is_there(pid): pass\n"
              "signal.signal(signal.SIGCHLD, signal.SIG_DFL)\n"
              "begun, begins = os.pipe()\n"
              "reader, writer = os.pipe()\n"
              "pid = os.fork()\n"
              "if not pid: sys.exit(os.write(begins, b'x') - len(os.read(reader, 1)))\n"
              "os.read(begun, 1)\n"
              "os.set_inheritable(writer, True)\n"
              "call = ctypes.CDLL('libc.so.6').syscall\n"
              "threading.Thread(target=call, args=(wait4, pid, None, 0, None)).start()\n"
              "os.system(f'echo >/dev/fd/{writer}; while kill -0 {pid} 2>/dev/null; do :; done; exit 5')\n"
              "def beside():\n"
              "    os.read(begun, 1)\n"
              "    pid = os.fork()\n"
              "    if not pid: os._exit(0)\n"
              "    call(wait4, pid, None, 0, None)\n"
              "    os.write(writer, b'\\n')\n"
              "os.set_inheritable(reader, True)\n"
              "os.set_inheritable(begins, True)\n"
              "threading.Thread(target=beside).start()\n"
              "os.system(f'echo >/dev/fd/{begins}; read line </dev/fd/{reader}; kill -9 $$')\n"
              "os.execv(sys.argv[1], sys.argv[1:])")
    _, found = run_parts(results, "alone", ("/usr/bin/python3", "-c", before))
    ends = [(p["state"], p.get("status")) for p in found["processes"][1:]]
    wanted = [("ended", None)] * 2 + [("ended", 5 << 8), ("killed", signal.SIGKILL), ("ended", None)]
    results.check(ends == wanted, f"reaped: each child has the status that was waited for {ends}")


def inherited(results):
    """
    A program that begins while profiling is off has descriptors that nobody counted: a reader depends on who closed
    last. In counts that are too low it would be somebody unseen.
    """
    _, found = run_parts(results, "inherited")
    path_s, least_s = found["program"]["critical_path_s"], (0.060 + 0.040) * 0.97
    results.check(path_s >= least_s, f"inherited: a path of {path_s:.4f} s, at least {least_s:.4f} s")


def exec_at_random(results):
    """A process that becomes another program stays one, also if a part is just beginning."""
    shells, each = 4, 200
    loop = f"i=0; while [ $i -lt {each} ]; do (exec /bin/true); i=$((i+1)); done"
    script = f"for i in {'1 ' * shells}; do ({loop}) & done; wait"
    dump = f"{TMP}/exec.dump"
    dice = random.Random(1)
    with subprocess.Popen(["sh", "-c", script], env=environment(dump)) as process:
        on = True
        while process.poll() is None:
            on = not on
            subprocess.run([f"{BUILD}/cpa-ctl", dump, "start" if on else "stop"],
                           stderr=subprocess.DEVNULL, check=False)
            time.sleep(dice.random() * 0.005)
    found = report(dump)
    sums(results, "exec", found)
    states = {p["state"] for p in found["processes"]}
    seen = sum(p["count"] for p in found["processes"])
    results.check(seen == 1 + shells * (1 + each) and states == {"ended"},
               f"exec: {seen} processes, {states}")


def often(results):
    """Of a thread that slept through all borders that are kept the report says so."""
    _, found = run_parts(results, "often")
    results.check(tiles(found), "often: the observed path is as long as the parts")
    words = "some 60 switches later: 1."
    notes = [n for n in found["diagnostics"]["notes"] if words in n]
    results.check(len(notes) == 1, f"often: {notes}")


def handles(results):
    """The row of a thread that sleeps is not freed by the join of one that has no row."""
    _, found = run_parts(results, "handles")
    for name, work_s in ("asleep_worker", 0.030), ("late_worker", 0.020):
        cpu_s = sum(t["cpu_s"] for t in found["threads"] if t["start_routine"] == name)
        # In a row of both one of them would have none.
        results.check(work_s <= cpu_s + 1e-4,
                   f"handles: {name} has {cpu_s:.4f} s in a row of its own, for {work_s} s of work")


def eventless(results):
    """Threads that were created while profiling was off, and only compute in the part, are in it."""
    _, found = run_parts(results, "eventless")
    cpu_s = [t["cpu_s"] for t in found["threads"] if t["start_routine"] == "eventless_worker"]
    results.check(len(cpu_s) == 2 and min(cpu_s) > 0, f"eventless: both threads have CPU time in the part {cpu_s}")


def passing(results):
    """
    Threads that begin and end between the parts leave nothing: no rows of detached ones, no room in the journal,
    and none of them is in the report.
    """
    dump, found = run_parts(results, "passing", CPA_JOURNAL="256K")
    names = sorted(t["start_routine"] for t in found["threads"])
    results.check(names == ["late_worker", "main"], f"passing: {names} in the report")
    good, said = verify(dump)
    results.check(good, f"passing: {said}")
    rows = re.search(r"thread rows \((\d+)\)", said)
    results.check(rows and int(rows[1]) <= KEPT, f"passing: {rows and rows[1]} rows of threads, of {KEPT}")


def hampered(results):
    """
    Where functions are divided by callers, a thread whose samples come late, when the part has ended, gets no
    perf event, which has no stacks: cpa itself holds its signals then, not the program.
    """
    dump, _ = run_parts(results, "hampered", CPA_BY="caller:2")
    with open(dump, "rb") as file:
        file.seek(SAMPLER)
        kind = int.from_bytes(file.read(4), "little")
    results.check(kind != PERF, f"hampered: the sampler is of kind {kind}, and not {PERF}")


def held_before(results):
    """What is done under a lock that was taken before the part counts for the lock."""
    dump = f"{TMP}/held.dump"
    for holder in "main", "worker":
        subprocess.run([f"{BUILD}/tests/programs/held_before", holder],
                       env=environment(dump, CPA_START="off"), check=True)
        found = report(dump)
        path = {c["name"]: c["critical_path_s"] for c in found["components"]
                if (c["kind"], c["name"]) in (("lock", "held_lock"), ("thread", "main"), ("thread", "worker"))}
        # What else the thread does takes microseconds of CPU time. (How much of the 30 ms it does in
        # the part is not exact for a worker that is switched out.)
        results.check(abs(path["held_lock"] - path[holder]) < 0.002,
                   f"held by {holder} before the part: {path['held_lock']} s of {path[holder]} s")
        sums(results, f"held by {holder}", found)


def written_before(results):
    """Reads of bytes of a write that began before the part depend on nobody; those of later writes do on them."""
    dump, count = f"{TMP}/written.dump", 100
    subprocess.run([f"{BUILD}/tests/programs/late_writes", str(count)],
                   env=environment(dump, CPA_START="off"), check=True)
    stream = max(report(dump)["streams"], key=lambda row: row["bytes"])
    results.check(stream["reads"] == count and stream["unmatched"],
                  f"written before the part: {stream['reads']} of {count} later reads are known, "
                  f"{stream['unmatched']} are of earlier writes")


def counted_on(results):
    """The bytes of streams are counted on between windows: in the next one reads find the writes of their bytes."""
    dump, windows, between, inside = f"{TMP}/counted.dump", 3, 300, 10
    for kind, calls in [("pipe", "read"), ("pipe", "vector"),
                        *((kind, calls) for kind in ("unix", "tcp") for calls in ("read", "send", "message"))]:
        subprocess.run([f"{BUILD}/tests/programs/counted_on", kind, calls, str(windows)],
                       env=environment(dump, CPA_START="off"), check=True)
        stream = max(report(dump)["streams"], key=lambda row: row["bytes"])
        found = [stream[key] for key in ("bytes", "reads", "unmatched")]
        # Each window reads once what was written before it.
        wanted = [windows * (between + inside), windows * inside, windows]
        results.check(found == wanted, f"counted on, {kind} by {calls}: bytes, known and unmatched reads {found}, "
                                       f"of {wanted}")


def blocked_before(results):
    """A thread that was blocked when the part began did no work in it until then; what it waited is known."""
    dump = f"{TMP}/blocked.dump"
    for how in "lock", "poll", "sampled", "restarted", "handles", "unseen", "works":
        run = subprocess.run([f"{BUILD}/tests/programs/blocked_before", how],
                             env=environment(dump, CPA_START="off"), stdout=subprocess.PIPE, text=True, check=True)
        found = report(dump)
        sums(results, f"blocked before, {how}", found)
        took_s, blocked_s = (int(line) / 1e9 for line in run.stdout.split())
        waiter = next(t for t in found["threads"] if t["start_routine"] == "waiter")
        # Its own clock has all but the begin and end of a thread, and what an activity takes on average.
        results.check(waiter["cpu_s"] < took_s + 0.005,
                   f"{how}: {waiter['cpu_s']:.4f} s of CPU time, it took {took_s:.4f} s")
        if how == "lock":
            lock = next(o for o in found["objects"] if o["class"] == "awaited_lock")
            results.check(lock["contended"] == 1 and blocked_s * 0.99 < lock["wait_s"] <= waiter["wait_s"] + 1e-6,
                       f"lock: waited for {lock['wait_s']:.4f} s of the part, for {blocked_s:.4f} s at least")
            # Main joins the waiter, which waited for main's unlock: all but what it did before is main's work.
            unknown_s = found["program"]["observed_external"]["unknown_wait_s"]
            results.check(unknown_s < blocked_s / 2,
                       f"lock: {unknown_s:.4f} s of the observed path not known for whom")
        elif how == "handles":
            results.check(waiter["cpu_s"] > took_s / 2,
                       f"handles: {waiter['cpu_s']:.4f} s of CPU time are found")
        elif how in ("poll", "sampled"):
            idle_s = found["program"]["idle_s"]
            good = idle_s > blocked_s / 100 or taken_for_ready(found, "waiter", blocked_s - idle_s)
            results.check(good, f"{how}: {idle_s:.4f} s idle, was in it for {blocked_s:.4f} s")


WAITS = "WSRP", "SWPR", "WSPR", "SWPSRP", "WSPSRP", "SWPSPSRP", "WSPSPSRP", "SWPSPR", "SWRP"
# H: a signal handler of the waiting thread has an event. The thread's own wait is that behind it.
HANDLED = "SWHPSHRP", "SWHPHSHRP", "SWHPSHPSHRP", "SWHPSHPSRP", "SWHPSHPR", "SWHPHSRP"


OBJECTS = "mutex", "timed", "read", "write", "semaphore", "condition", "timed_condition", "barrier", "once", "futex"
NO_OBJECTS = "join", "child", "signal"


def wait_across(results, how, steps):
    dump = f"{TMP}/across.dump"
    run = subprocess.run([f"{BUILD}/tests/programs/wait_across", how, steps], stdout=subprocess.PIPE, text=True,
                         env=environment(dump, CPA_START="off", CPA_JOURNAL="1M"), check=True)
    found = report(dump)
    least_s, most_s = (int(word) / 1e9 for word in run.stdout.split())
    wait_s = sum(o["wait_s"] for o in found["objects"])
    of_thread_s = next(t["wait_s"] for t in found["threads"] if t["start_routine"] == "waiter")
    good, said = verify(dump)
    odd = [*contradictions(found), *([] if good else [said])]
    odd += [f"{o['class']}: more waits than uses" for o in found["objects"] if o["contended"] > o["acquisitions"]]
    exact = [*([wait_s] if how in OBJECTS else []), *([] if "H" in steps else [of_thread_s])]
    results.check(all(least_s * 0.99 <= s <= most_s * 1.01 for s in exact)
               and of_thread_s <= most_s * 1.01 and not odd,
               f"wait across borders, {how}, {steps}: {wait_s:.4f} and {of_thread_s:.4f} s, {least_s:.4f} to "
               f"{most_s:.4f} {'; '.join(odd)}".rstrip())


def stream_waits_across(results):
    """So does a wait for bytes of a stream, or for room in it."""
    dump = f"{TMP}/across.dump"
    for how in "pipe", "polled", "batch", "filled", "parted":
        for steps in WAITS + (HANDLED if how == "pipe" else ()):
            run = subprocess.run([f"{BUILD}/tests/programs/wait_across", how, steps], stdout=subprocess.PIPE, text=True,
                                 env=environment(dump, CPA_START="off"), check=True)
            found = report(dump)
            least_s, most_s = (int(word) / 1e9 for word in run.stdout.split())
            stream, = found["streams"]
            wait_s, none_s = stream["reader_wait_s"], stream["writer_wait_s"]
            if how in ("filled", "parted"):
                wait_s, none_s = none_s, wait_s
            results.check(least_s * 0.99 <= wait_s <= most_s * 1.01 and none_s == 0 and not [*contradictions(found)],
                          f"{how} across borders, {steps}: {wait_s:.4f} s, {least_s:.4f} to {most_s:.4f}, and "
                          f"{none_s:.4f}")


def time_outs_across(results):
    """A wait that nobody ended is idle time of its thread in all parts, as in a whole run, and no wait."""
    dump = f"{TMP}/across.dump"
    for how, orders in (("expired", WAITS), *((how, [steps for steps in WAITS if steps[0] == "S"])
                                              for how in ("expired_lock", "expired_semaphore"))):
        for steps in orders:
            run = subprocess.run([f"{BUILD}/tests/programs/wait_across", how, steps], stdout=subprocess.PIPE, text=True,
                                 env=environment(dump, CPA_START="off"), check=True)
            found = report(dump)
            least_s, most_s = (int(word) / 1e9 for word in run.stdout.split())
            waiter = next(t for t in found["threads"] if t["start_routine"] == "waiter")
            named_s = sum(c["total_s"] for c in found["components"] if c["name"] == "timeout")
            odd = [*contradictions(found)]
            # Behind the time of the wait the thread waits for a processor and the mutex.
            results.check(least_s * 0.99 <= named_s <= most_s * 1.01 and not odd
                       and waiter["wait_s"] + named_s <= most_s * 1.01 and waiter["external_s"] >= named_s - 1e-6,
                       f"time-out across borders, {how}, {steps}: {named_s:.4f} s, {least_s:.4f} to {most_s:.4f}, "
                       f"and a wait of {waiter['wait_s']:.4f} {'; '.join(odd)}".rstrip())


def waits_across(results):
    """A wait across borders counts for what was waited for, and for the thread, with all that lies in parts."""
    for how in OBJECTS + NO_OBJECTS:
        for steps in WAITS + (HANDLED if how in OBJECTS else ()):
            wait_across(results, how, steps)


RATE = 0.001  # by which cpa's clock and the kernel's may run apart
LATE_S = 0.060 * (1 - RATE)  # that late_event computes before the event, at least
READ_S = 0.020 * (1 - RATE)  # that it is read for, at least


def run_late(dump, how, stops):
    env = environment(dump, CPA_JOURNAL="16M")
    env["LD_PRELOAD"] += f":{SLOW_CLOCK}"
    with subprocess.Popen([f"{BUILD}/tests/programs/late_event", how, str(stops)], env=env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if not stops and process.stdout.read(1):
            for change, lasts_s in ("stop", 0.5), ("start", 0.05):
                subprocess.run([f"{BUILD}/cpa-ctl", dump, change], stderr=subprocess.DEVNULL, check=True)
                time.sleep(lasts_s)
            process.stdin.write(b".")
            process.stdin.close()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return report(dump)


def late_times(results, label, found, thread):
    """Of the time in which profiling was off @thread, which lived across it, has none."""
    program = found["program"]
    # Not since it began: its run queue counts from its creation.
    on_s = thread["last_event_s"] - (program["run_s"] - program["wall_s"])
    told_s = sum(thread[kind] for kind in ("cpu_s", "wait_s", "external_s", "runqueue_s"))
    results.check(told_s < on_s + TILES_S, f"{label}: times of {told_s:.4f} s in {on_s:.4f} s of parts")


def late_events(results):
    """A thread loses its processor in an operation, and makes its event, which others may wait for, in the next part."""
    dump = f"{TMP}/late.dump"
    for how, stops in (("waits", 1), ("releases", 1), ("releases", 40), ("ends", 1), ("calls", 1), ("calls", 0),
                       ("reads", 0)):
        label = f"late event, {how}, {stops}"
        found = run_late(dump, how, stops)
        sums(results, label, found)
        results.check(tiles(found), f"{label}: all parts are on the path")
        thread = next(t for t in found["threads"] if t["start_routine"] == how)
        if stops < 2:
            late_times(results, label, found, thread)
        if how != "reads":
            results.check(thread["cpu_s"] >= LATE_S, f"{label}: {thread['cpu_s']:.4f} s of CPU time")
        if not stops:  # a part that the program ends is on main's path
            name, work_s = ("main", READ_S) if how == "reads" else (how, LATE_S)
            path_s = sum(c["observed_path_s"] for c in found["components"]
                         if (c["kind"], c["name"]) == ("thread", name))
            # Samples are in the program's clock, and on no path.
            work_s -= found["diagnostics"].get("samples_s") or 0
            results.check(path_s >= work_s, f"{label}: {path_s:.6f} s of the observed path are in {name}")
        good, said = verify(dump)
        results.check(good, f"{label}: {'as its journal' if good else said}")


def jumps(results):
    """Out of a wait, by a signal handler, and then a border; or only about in the handler."""
    dump = f"{TMP}/jump.dump"
    for how, taken in ("out", 100), ("within", 0):
        for stack in (), ("stack",), ("coroutine",):
            command = [f"{BUILD}/tests/programs/jump_out", how, *stack]
            subprocess.run(command, env=environment(dump), check=True)
            found = report(dump)
            label = f"a jump {how} {' '.join(stack)}".strip()
            got = sum(o["acquisitions"] for o in found["objects"] if o["class"] == "lock")
            results.check(len(found["parts"]) == 2 and tiles(found), f"{label}: two parts")
            results.check(got == taken, f"{label}: then the lock was taken {got} times of {taken}")


def main():
    results = Results()
    for name in NAMES:
        known(results, name)
    execed(results)
    children(results)
    reaped(results)
    inherited(results)
    exec_at_random(results)
    often(results)
    handles(results)
    eventless(results)
    passing(results)
    hampered(results)
    held_before(results)
    written_before(results)
    counted_on(results)
    blocked_before(results)
    waits_across(results)
    stream_waits_across(results)
    time_outs_across(results)
    late_events(results)
    jumps(results)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
