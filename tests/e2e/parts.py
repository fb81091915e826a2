#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of a run: switched from inside, by cpa ctl, by cpa run --delay and --duration.

How long the paths of the parts are is looked at by tests/accuracy/part_paths.py.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import layout
from profiled import contradictions, verify

BUILD = os.path.abspath(os.environ.get("CPA_BUILD", "build"))
TMP = os.environ.get("CPA_TMP", "/tmp")
PROGRAM = f"{BUILD}/tests/programs/parts"
NAMES = ("alone", "lock", "condition", "barrier", "semaphore", "threads")
TILES_S = 1e-3
SWITCHES = 40
SAMPLER, PERF = layout.values("offsetof(struct cpa_header, sampler)", "CPA_SAMPLER_PERF")
KEPT, PROCESSES_KEPT = layout.values("CPA_THREADS_KEPT", "CPA_PROCESSES_KEPT")
EPOCH, = layout.values("offsetof(struct cpa_header, epoch)")


class Tap:
    number = failed = 0

    def result(self, good, what):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {what}", flush=True)


def environment(dump, **more):
    if os.path.exists(dump):
        os.unlink(dump)
    return dict(os.environ, LD_PRELOAD=f"{BUILD}/libcpa.so", CPA_OUTPUT=dump, CPA_QUIET="1", **more)


def report(dump):
    done = subprocess.run([f"{BUILD}/cpa-report", "--format", "json", dump],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def ctl(*arguments):
    return subprocess.run([f"{BUILD}/cpa", "ctl", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def await_true(condition):
    """Not a limit on speed: what takes this long hangs."""
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("hangs")
        time.sleep(0.01)


def epoch(dump):
    """One begins with each switch: 1 is on from the start, 2 off, and so on. 0: none yet."""
    try:
        with open(dump, "rb") as file:
            file.seek(EPOCH)
            return int.from_bytes(file.read(8), "little")
    except FileNotFoundError:
        return 0


def await_window(dump, before):
    """
    Somebody who keeps a budget has begun a window, and so is ready, since epoch @before. (Not a new part in the
    report: that lacks the present part until a thread has had an event in it.)
    """
    await_true(lambda: epoch(dump) >= before + 1 + before % 2)


def tiles(found):
    program = found["program"]
    return abs(program["observed_path_s"] - program["wall_s"]) < TILES_S


def sums(tap, name, found):
    odd = list(contradictions(found))
    tap.result(not odd, f"{name}: the report adds up {'; '.join(odd)}".rstrip())


def run_parts(tap, name, before=(), **more):
    """Run a way of tests/programs/parts.c, by the command @before; return its dump and its report, which adds up."""
    dump = f"{TMP}/{name}.dump"
    subprocess.run([*before, PROGRAM, name], env=environment(dump, CPA_START="off", **more),
                   stdout=subprocess.DEVNULL, check=True)
    found = report(dump)
    sums(tap, name, found)
    return dump, found


def known(tap, name):
    """Nothing is seen of what is between the parts."""
    _, found = run_parts(tap, name)
    seen = [c["name"] for c in found["components"]]
    tap.result("work_in_part" in seen and "work_between" not in seen, f"{name}: no work in between")
    tap.result(tiles(found), f"{name}: the observed path is as long as the parts")
    parts = sum(p["to_s"] - p["from_s"] for p in found["parts"])
    tap.result(abs(parts - found["program"]["wall_s"]) < 1e-6 < found["program"]["run_s"] - parts,
               f"{name}: {len(found['parts'])} parts, shorter than the run")
    # What a sample takes is measured as the run begins, and may be much on a busy machine.
    bad = [n for n in found["diagnostics"]["notes"]
           if "blocked when" not in n and not n.startswith("cpa sampled at ")]
    tap.result(not bad, f"{name}: nothing is amiss {bad if bad else ''}")
    names = {t["start_routine"] for t in found["threads"]} - {"main"}
    tap.result(all(n.endswith("_worker") or n == "burner" for n in names),
               f"{name}: threads created while off have a start routine")


def execed(tap):
    """A process that becomes another program while profiling is off, the first or a child, stays one process."""
    for script, programs in (('exec "$0" "$1"', [2]), ('(exec "$0" "$1"); true', [1, 2])):
        _, found = run_parts(tap, "alone", ("sh", "-c", script))
        seen = [c["name"] for c in found["components"]]
        tap.result("work_in_part" in seen, f"{script}: the program's parts are seen")
        tap.result([p["programs"] for p in found["processes"]] == programs,
                   f"{script}: {[(p['name'], p['programs']) for p in found['processes']]}")
        notes = [n for n in found["diagnostics"]["notes"] if "still ran" in n]
        tap.result(not notes, f"{script}: all processes ended {notes if notes else ''}".rstrip())


def children(tap):
    """Of processes that were waited for while profiling is off the rows are used again."""
    loop = f"i=0; while [ $i -lt {PROCESSES_KEPT + 50} ]; do /bin/true; i=$((i+1)); done"
    calls = f"import os\nfor i in range({PROCESSES_KEPT + 50}): os.system('exit 0')"
    for command in (["sh", "-c", f"{loop}; exec \"$0\" \"$1\""],
                    ["/usr/bin/python3", "-c", f"{calls}\nimport sys\nos.execv(sys.argv[1], sys.argv[1:])"]):
        _, found = run_parts(tap, "alone", command)
        rows, count = len(found["processes"]), sum(p["count"] for p in found["processes"])
        tap.result(rows <= PROCESSES_KEPT + 3 and count == PROCESSES_KEPT + 51,
                   f"{command[0]}: {count} processes in {rows} rows")


def reaped(tap):
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
    _, found = run_parts(tap, "alone", ("/usr/bin/python3", "-c", before))
    ends = [(p["state"], p.get("status")) for p in found["processes"][1:]]
    wanted = [("ended", None)] * 2 + [("ended", 5 << 8), ("killed", signal.SIGKILL), ("ended", None)]
    tap.result(ends == wanted, f"reaped: each child has the status that was waited for {ends}")


def inherited(tap):
    """
    A program that begins while profiling is off has descriptors that nobody counted: a reader depends on who closed
    last. In counts that are too low it would be somebody unseen.
    """
    _, found = run_parts(tap, "inherited")
    path_s, least_s = found["program"]["critical_path_s"], (0.060 + 0.040) * 0.97
    tap.result(path_s >= least_s, f"inherited: a path of {path_s:.4f} s, at least {least_s:.4f} s")


def exec_at_random(tap):
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
    sums(tap, "exec", found)
    states = {p["state"] for p in found["processes"]}
    seen = sum(p["count"] for p in found["processes"])
    tap.result(seen == 1 + shells * (1 + each) and states == {"ended"},
               f"exec: {seen} processes, {states}")


def often(tap):
    """Of a thread that slept through all borders that are kept the report says so."""
    _, found = run_parts(tap, "often")
    tap.result(tiles(found), "often: the observed path is as long as the parts")
    words = "some 60 switches later: 1."
    notes = [n for n in found["diagnostics"]["notes"] if words in n]
    tap.result(len(notes) == 1, f"often: {notes}")


def handles(tap):
    """The row of a thread that sleeps is not freed by the join of one that has no row."""
    _, found = run_parts(tap, "handles")
    for name, work_s in ("asleep_worker", 0.030), ("late_worker", 0.020):
        cpu_s = sum(t["cpu_s"] for t in found["threads"] if t["start_routine"] == name)
        # In a row of both one of them would have none.
        tap.result(work_s <= cpu_s + 1e-4,
                   f"handles: {name} has {cpu_s:.4f} s in a row of its own, for {work_s} s of work")


def eventless(tap):
    """Threads that were created while profiling was off, and only compute in the part, are in it."""
    _, found = run_parts(tap, "eventless")
    cpu_s = [t["cpu_s"] for t in found["threads"] if t["start_routine"] == "eventless_worker"]
    tap.result(len(cpu_s) == 2 and min(cpu_s) > 0, f"eventless: both threads have CPU time in the part {cpu_s}")


def passing(tap):
    """
    Threads that begin and end between the parts leave nothing: no rows of detached ones, no room in the journal,
    and none of them is in the report.
    """
    dump, found = run_parts(tap, "passing", CPA_JOURNAL="256K")
    names = sorted(t["start_routine"] for t in found["threads"])
    tap.result(names == ["late_worker", "main"], f"passing: {names} in the report")
    good, said = verify(dump)
    tap.result(good, f"passing: {said}")
    rows = re.search(r"thread rows \((\d+)\)", said)
    tap.result(rows and int(rows[1]) <= KEPT, f"passing: {rows and rows[1]} rows of threads, of {KEPT}")


def hampered(tap):
    """
    Where functions are divided by callers, a thread whose samples come late, when the part has ended, gets no
    perf event, which has no stacks: cpa itself holds its signals then, not the program.
    """
    dump, _ = run_parts(tap, "hampered", CPA_BY="caller:2")
    with open(dump, "rb") as file:
        file.seek(SAMPLER)
        kind = int.from_bytes(file.read(4), "little")
    tap.result(kind != PERF, f"hampered: the sampler is of kind {kind}, and not {PERF}")


def held_before(tap):
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
        tap.result(abs(path["held_lock"] - path[holder]) < 0.002,
                   f"held by {holder} before the part: {path['held_lock']} s of {path[holder]} s")
        sums(tap, f"held by {holder}", found)


def blocked_before(tap):
    """A thread that was blocked when the part began did no work in it until then; what it waited is known."""
    dump = f"{TMP}/blocked.dump"
    for how in "lock", "poll", "sampled", "unseen", "works":
        run = subprocess.run([f"{BUILD}/tests/programs/blocked_before", how],
                             env=environment(dump, CPA_START="off"), stdout=subprocess.PIPE, text=True, check=True)
        found = report(dump)
        sums(tap, f"blocked before, {how}", found)
        took_s, blocked_s = (int(line) / 1e9 for line in run.stdout.split())
        waiter = next(t for t in found["threads"] if t["start_routine"] == "waiter")
        # Its own clock has all but the begin and end of a thread, and what an activity takes on average.
        tap.result(waiter["cpu_s"] < took_s + 0.005,
                   f"{how}: {waiter['cpu_s']:.4f} s of CPU time, it took {took_s:.4f} s")
        if how == "lock":
            lock = next(o for o in found["objects"] if o["class"] == "awaited_lock")
            tap.result(lock["contended"] == 1 and blocked_s * 0.99 < lock["wait_s"] <= waiter["wait_s"] + 1e-6,
                       f"lock: waited for {lock['wait_s']:.4f} s of the part, for {blocked_s:.4f} s at least")
            # Main joins the waiter, which waited for main's unlock: all but what it did before is main's work.
            unknown_s = found["program"]["observed_external"]["unknown_wait_s"]
            tap.result(unknown_s < blocked_s / 2,
                       f"lock: {unknown_s:.4f} s of the observed path not known for whom")
        elif how in ("poll", "sampled"):
            idle_s = found["program"]["idle_s"]
            tap.result(idle_s > blocked_s / 100, f"{how}: {idle_s:.4f} s idle, was in it for {blocked_s:.4f} s")


def from_outside(tap):
    dump, copy = f"{TMP}/outside.dump", f"{TMP}/copy.dump"
    env = dict(environment(dump), CPA_OUTPUT=dump)
    del env["LD_PRELOAD"]
    if os.path.exists(copy):
        os.unlink(copy)
    run = subprocess.Popen([f"{BUILD}/cpa", "run", "-q", f"{BUILD}/tests/programs/server", "64"],
                           env=env, stdout=subprocess.DEVNULL, stdin=subprocess.PIPE)
    await_true(lambda: os.path.exists(dump) and ctl(dump, "mark", "ready").returncode == 0)
    pid = subprocess.run(["pgrep", "-P", str(run.pid)], stdout=subprocess.PIPE,
                         text=True).stdout.strip()

    def events():
        return sum(thread["events"] for thread in report(dump)["threads"])

    await_true(lambda: events() > 0)
    tap.result(ctl(pid, "stop").returncode == 0, "ctl PID stop")
    again = ctl(pid, "stop")
    tap.result(again.returncode == 1 and "off already" in again.stderr, "it is off already: 1")
    time.sleep(0.3)
    off, before = report(dump)["program"]["wall_s"], events()
    time.sleep(0.3)
    tap.result(report(dump)["program"]["wall_s"] == off, "the profile stands still")
    tap.result(ctl(dump, "start").returncode == 0, "ctl DUMP start")
    await_true(lambda: events() > before)
    tap.result(ctl(pid, "mark", "second part").returncode == 0, "ctl PID mark NAME")
    tap.result(ctl(pid, "snapshot", copy).returncode == 0, "ctl PID snapshot FILE")
    since = subprocess.run([f"{BUILD}/cpa-report", "--since", copy, dump], capture_output=True, text=True, check=False)
    tap.result(since.returncode == 0, f"the time since the snapshot, without an event: {since.stderr}")
    tap.result(ctl(pid, "snapshot", copy).returncode == 1, "no file is overwritten")
    tap.result(os.stat(copy).st_mode & 0o777 == 0o600, "a snapshot is its owner's")
    os.kill(int(pid), signal.SIGKILL)
    run.wait()
    dead = ctl(dump, "start")
    tap.result(dead.returncode == 1 and "has ended" in dead.stderr and dead.stderr.count("\n") == 1,
               "a dead process: one line, 1")
    found, early = report(dump), report(copy)
    tap.result(len(found["parts"]) == 2 and tiles(found), "two parts, all of them accounted for")
    marks = [[m["name"] for m in dump["marks"] if m["name"] in ("ready", "second part")]
             for dump in (found, early)]
    tap.result(marks == [["ready", "second part"]] * 2, f"both marks, in the snapshot too: {marks}")
    # Not the wall times: a killed program's run ends with its last event, before the snapshot perhaps.
    counts = [sum(thread["events"] for thread in dump["threads"]) for dump in (early, found)]
    tap.result(0 < counts[0] <= counts[1], f"the snapshot is of its moment: events {counts}")
    for wrong in ((), (pid,), (pid, "go"), (pid, "mark"), (pid, "mark", ""), (pid, "stop", "now"), ("--fast",)):
        tap.result(ctl(*wrong).returncode == 2, f"ctl {' '.join(wrong[1:])}: wrong usage, 2")
    os.symlink(dump, f"{TMP}/link.dump")
    for name, what in (("nowhere.dump", "no such file"), ("link.dump", "a symbolic link")):
        tap.result(ctl(f"{TMP}/{name}", "stop").returncode == 1, f"{what}: 1")


def by_time(tap):
    dump = f"{TMP}/time.dump"
    env = environment(dump)
    del env["LD_PRELOAD"]

    def start(*options):
        """A program that ends with its input."""
        if os.path.exists(dump):
            os.unlink(dump)
        return subprocess.Popen([f"{BUILD}/cpa", "run", "-q", *options, "--", "sh", "-c",
                                 "read x; exit 7"], env=env, stdin=subprocess.PIPE)

    def was_never_on():
        return any("was never on" in note for note in report(dump)["diagnostics"]["notes"])

    def finish(process):
        process.communicate()
        return process.returncode

    # A part may begin late, and end late, but it is as long as was asked for.
    process = start("--delay", "300ms", "--duration", "0.4s")
    await_true(lambda: epoch(dump) == 4)
    tap.result(finish(process) == 7, "the status is the program's")
    part = report(dump)["parts"]
    tap.result(len(part) == 1 and part[0]["from_s"] > 0 and
               0.39 < part[0]["to_s"] - part[0]["from_s"], f"delayed, for a time: {part}")
    process = start("--duration", "1s")
    await_true(lambda: epoch(dump) == 2)
    finish(process)
    found = report(dump)
    part = found["parts"]
    # A program whose start takes all of that time has no part.
    good = was_never_on() if not part else (
        len(part) == 1 and part[0]["from_s"] == 0 and part[0]["to_s"] < found["program"]["run_s"])
    tap.result(good, f"from the start, for a time: {part}")
    finish(start("--delay", "1h"))
    tap.result(report(dump)["program"]["wall_s"] == 0 and was_never_on(),
               "nothing was profiled, and the report says so")
    for wrong in ("", "5", "s", "1x", "-1s", "1e3s"):
        tap.result(finish(start("--delay", wrong)) == 2, f"--delay '{wrong}': wrong usage, 2")


def margins(tap, name, found):
    """Of ten windows or more figures have margins; of fewer none has."""
    windows = found["windows"]
    # A window begins with its sums; one whose sums cannot be read counts with the next.
    # The report lists the latest 64 parts.
    parts = len(found["parts"])
    tap.result((windows["windows"] <= parts + 1 or parts == 64) and
               windows["batches"] < windows["windows"], f"{name}: {parts} parts, {windows}")
    rows = [*found["components"], *(o for o in found["objects"] if o["saved_s"] is not None)]
    # Without any path in the windows there are no shares of it. Rows of which no window has anything have none.
    most = len(rows) if "max_parallelism_margin" in windows else 0
    for key, least in ("critical_path_margin_s", min(most, 1)), ("saved_margin_s", 0):
        got = sum(key in row for row in rows)
        tap.result(least <= got <= most, f"{name}: {got} of {len(rows)} rows have {key}, {least} to {most} may")


def all_day(tap):
    """A program in windows until there are enough of them: then its locks have margins."""
    dump = f"{TMP}/all_day.dump"
    env = environment(dump)
    del env["LD_PRELOAD"]
    run = subprocess.Popen([f"{BUILD}/cpa", "run", "-q", "-o", dump, "--budget", "0.05%", "--",
                            f"{BUILD}/tests/programs/all_day", "100000"], env=env)

    def enough():
        try:
            found = report(dump).get("windows", {})
            return "max_parallelism_margin" in found and "wait_margin_s" in found
        except subprocess.CalledProcessError:
            return False  # it begins

    try:
        await_true(enough)
    finally:
        run.terminate()
        run.wait()
    found = report(dump)
    margins(tap, "all day", found)
    tap.result(found["windows"]["batches"] >= 10 and "parallelism_margin" in found["windows"] and
               "wait_margin_s" in found["windows"], f"all day: so have the program's: {found['windows']}")
    words = subprocess.run([f"{BUILD}/cpa-report", dump], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    tap.result("sample of the run" in words and " +- " in words, "all day: the text has them")


def budgets(tap):
    """Windows; when they are is chance, but for programs that cost much more or less."""
    dump = f"{TMP}/budget.dump"
    env = environment(dump)
    del env["LD_PRELOAD"]

    def profile(budget, *program):
        if os.path.exists(dump):
            os.unlink(dump)
        done = subprocess.run([f"{BUILD}/cpa", "run", "-q", "-o", dump, "--budget", budget, "--",
                               *program], env=env, stdout=subprocess.DEVNULL)
        return done.returncode, done.returncode < 2 and report(dump)

    busy = f"{BUILD}/tests/programs/trylock_loop"
    status, found = profile("100%", busy)
    part, run = found["parts"], found["program"]["run_s"]
    tap.result(status == 0 and len(part) == 1 and 0 < part[0]["from_s"] and
               part[0]["to_s"] > 0.99 * run, f"within the budget: one window to the end: {part}")
    sums(tap, "within the budget", found)
    status, found = profile("0.01%", busy)
    part = found["parts"]
    tap.result(status == 0 and 0 < found["program"]["wall_s"] < found["program"]["run_s"] and
               part[0]["from_s"] > 0, f"a small budget: windows: {part}")
    sums(tap, "a small budget", found)
    margins(tap, "a small budget", found)
    for wrong in ("", "2", "%", "0%", "101%", "-1%", "1e1%", "2%%", "nan%"):
        tap.result(profile(wrong, "true")[0] == 2, f"--budget '{wrong}': wrong usage, 2")


def budget_from_outside(tap):
    """cpa ctl keeps a budget: alone, until the program ends, or somebody else switches, or a signal comes."""
    dump = f"{TMP}/kept.dump"
    env = environment(dump)
    del env["LD_PRELOAD"]
    server = [f"{BUILD}/tests/programs/server", "64"]

    def keep(budget):
        return subprocess.Popen([f"{BUILD}/cpa", "ctl", dump, "budget", budget],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def start(*options):
        if os.path.exists(dump):
            os.unlink(dump)
        run = subprocess.Popen([f"{BUILD}/cpa", "run", "-q", *options, "--", *server], env=env,
                               stdout=subprocess.DEVNULL, stdin=subprocess.PIPE)
        await_true(lambda: ctl(dump, "mark", "ready").returncode == 0)
        return run

    def refused(what):
        again = ctl(dump, "budget", "2%")
        tap.result(again.returncode == 1 and again.stderr.count("\n") == 1 and
                   "keeps a budget already" in again.stderr, f"{what}: a second one is refused: {again.stderr}")

    run = start()
    driver = keep("100%")
    await_window(dump, 1)
    refused("while cpa ctl keeps a budget")
    driver.kill()
    driver.wait()
    before = epoch(dump)
    driver = keep("0.01%")
    await_window(dump, before)
    driver.terminate()
    tap.result(driver.wait() == 0, "it ends by SIGTERM with 0")
    off = ctl(dump, "stop")
    tap.result("off already" in off.stderr, "then profiling is off")
    sums(tap, "in windows by cpa ctl", report(dump))
    before = epoch(dump)
    driver = keep("100%")
    await_window(dump, before)
    await_true(lambda: 0 in (ctl(dump, "stop").returncode, ctl(dump, "start").returncode))
    said = driver.communicate()[1]
    tap.result(driver.returncode == 1 and said.count("\n") == 1 and "somebody else" in said,
               f"then it ends, with one line and 1: {said}")
    before = epoch(dump)
    driver = keep("0.01%")
    await_window(dump, before)
    await_true(lambda: epoch(dump) % 2 == 0)
    off = ctl(dump, "stop")
    said = driver.communicate()[1]
    tap.result(off.returncode == 0 and driver.returncode == 1 and "somebody else" in said,
               f"cpa ctl stop between two windows ends them: {off.stderr} {said}")
    off = ctl(dump, "stop")
    tap.result(off.returncode == 1 and "off already" in off.stderr, "and then profiling is off")
    before = epoch(dump)
    driver = keep("2%")
    await_window(dump, before)
    run.communicate()
    said = driver.communicate()[1]
    tap.result(driver.returncode == 0, f"it ends with the program: {driver.returncode} {said}")
    run = start("--budget", "100%")
    await_window(dump, 2)
    refused("while cpa run keeps a budget")
    run.communicate()
    for wrong in ("", "2", "0%", "101%", "2%%"):
        tap.result(ctl(dump, "budget", wrong).returncode == 2, f"budget '{wrong}': wrong usage, 2")


def jumps(tap):
    """Out of a wait, by a signal handler, and then a border; or only about in the handler."""
    dump = f"{TMP}/jump.dump"
    for how, taken in ("out", 100), ("within", 0):
        for stack in (), ("stack",), ("coroutine",):
            command = [f"{BUILD}/tests/programs/jump_out", how, *stack]
            subprocess.run(command, env=environment(dump), check=True)
            found = report(dump)
            label = f"a jump {how} {' '.join(stack)}".strip()
            got = sum(o["acquisitions"] for o in found["objects"] if o["class"] == "lock")
            tap.result(len(found["parts"]) == 2 and tiles(found), f"{label}: two parts")
            tap.result(got == taken, f"{label}: then the lock was taken {got} times of {taken}")


def at_random(tap):
    """Switched every few milliseconds: programs do not notice, and the figures stay consistent."""
    dump = f"{TMP}/random.dump"
    seed = int(os.environ.get("CPA_SEED", random.randrange(1 << 30)))
    dice = random.Random(seed)
    for name in ("sem_ring", "pipeline", "instrumented_calls", "create_tree", "tsp"):
        process = subprocess.Popen([f"{BUILD}/tests/programs/{name}"], env=environment(dump, CPA_JOURNAL="256M"),
                                   stdout=subprocess.DEVNULL)
        on, switches = True, 0
        while process.poll() is None:
            on = not on if switches < SWITCHES else True
            done = subprocess.run([f"{BUILD}/cpa-ctl", dump, "start" if on else "stop"],
                                  stderr=subprocess.DEVNULL)
            switches += done.returncode == 0
            time.sleep(dice.random() * 0.01 if switches < SWITCHES else 0.05)
        found = report(dump)
        tap.result(process.returncode == 0 and found["program"]["complete"],
                   f"{name}: ran to its end, {switches} switches (seed {seed})")
        sums(tap, f"{name} (seed {seed})", found)
        good, said = verify(dump)
        tap.result(good, f"{name} (seed {seed}): {'as its journal' if good else said}")


def main():
    tap = Tap()
    for name in NAMES:
        known(tap, name)
    execed(tap)
    children(tap)
    reaped(tap)
    inherited(tap)
    exec_at_random(tap)
    often(tap)
    handles(tap)
    eventless(tap)
    passing(tap)
    hampered(tap)
    held_before(tap)
    blocked_before(tap)
    jumps(tap)
    from_outside(tap)
    by_time(tap)
    budgets(tap)
    all_day(tap)
    budget_from_outside(tap)
    at_random(tap)
    print(f"1..{tap.number}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
