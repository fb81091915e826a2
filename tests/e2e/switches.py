#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of a run that are switched from outside: by cpa ctl, by cpa run --delay and --duration, for a budget."""
import os
import random
import signal
import subprocess
import sys
import time

from part_runs import BUILD, TMP, await_true, await_window, ctl, environment, epoch, report, sums, tiles
from profiled import ended_well, verify
from results import Results

SWITCHES = 40


def from_outside(results):
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
    results.check(ctl(pid, "stop").returncode == 0, "ctl PID stop")
    again = ctl(pid, "stop")
    results.check(again.returncode == 1 and "off already" in again.stderr, "it is off already: 1")
    time.sleep(0.3)
    off, before = report(dump)["program"]["wall_s"], events()
    time.sleep(0.3)
    results.check(report(dump)["program"]["wall_s"] == off, "the profile stands still")
    results.check(ctl(dump, "start").returncode == 0, "ctl DUMP start")
    await_true(lambda: events() > before)
    results.check(ctl(pid, "mark", "second part").returncode == 0, "ctl PID mark NAME")
    results.check(ctl(pid, "snapshot", copy).returncode == 0, "ctl PID snapshot FILE")
    since = subprocess.run([f"{BUILD}/cpa-report", "--since", copy, dump], capture_output=True, text=True, check=False)
    results.check(since.returncode == 0, f"the time since the snapshot, without an event: {since.stderr}")
    results.check(ctl(pid, "snapshot", copy).returncode == 1, "no file is overwritten")
    results.check(os.stat(copy).st_mode & 0o777 == 0o600, "a snapshot is its owner's")
    os.kill(int(pid), signal.SIGKILL)
    run.wait()
    dead = ctl(dump, "start")
    results.check(dead.returncode == 1 and "has ended" in dead.stderr and dead.stderr.count("\n") == 1,
               "a dead process: one line, 1")
    found, early = report(dump), report(copy)
    results.check(len(found["parts"]) == 2 and tiles(found), "two parts, all of them accounted for")
    marks = [[m["name"] for m in dump["marks"] if m["name"] in ("ready", "second part")]
             for dump in (found, early)]
    results.check(marks == [["ready", "second part"]] * 2, f"both marks, in the snapshot too: {marks}")
    # Not the wall times: a killed program's run ends with its last event, before the snapshot perhaps.
    counts = [sum(thread["events"] for thread in dump["threads"]) for dump in (early, found)]
    results.check(0 < counts[0] <= counts[1], f"the snapshot is of its moment: events {counts}")
    for wrong in ((), (pid,), (pid, "go"), (pid, "mark"), (pid, "mark", ""), (pid, "stop", "now"), ("--fast",)):
        results.check(ctl(*wrong).returncode == 2, f"ctl {' '.join(wrong[1:])}: wrong usage, 2")
    os.symlink(dump, f"{TMP}/link.dump")
    for name, what in (("nowhere.dump", "no such file"), ("link.dump", "a symbolic link")):
        results.check(ctl(f"{TMP}/{name}", "stop").returncode == 1, f"{what}: 1")


def by_time(results):
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
    results.check(finish(process) == 7, "the status is the program's")
    part = report(dump)["parts"]
    results.check(len(part) == 1 and part[0]["from_s"] > 0 and
               0.39 < part[0]["to_s"] - part[0]["from_s"], f"delayed, for a time: {part}")
    process = start("--duration", "1s")
    await_true(lambda: epoch(dump) == 2)
    finish(process)
    found = report(dump)
    part = found["parts"]
    # A program whose start takes all of that time has no part.
    good = was_never_on() if not part else (
        len(part) == 1 and part[0]["from_s"] == 0 and part[0]["to_s"] < found["program"]["run_s"])
    results.check(good, f"from the start, for a time: {part}")
    finish(start("--delay", "1h"))
    results.check(report(dump)["program"]["wall_s"] == 0 and was_never_on(),
               "nothing was profiled, and the report says so")
    for wrong in ("", "5", "s", "1x", "-1s", "1e3s"):
        results.check(finish(start("--delay", wrong)) == 2, f"--delay '{wrong}': wrong usage, 2")


def margins(results, name, found):
    """Of ten windows or more figures have margins; of fewer none has."""
    windows = found["windows"]
    # A window begins with its sums; one whose sums cannot be read counts with the next.
    # The report lists the latest 64 parts.
    parts = len(found["parts"])
    results.check((windows["windows"] <= parts + 1 or parts == 64) and
               windows["batches"] < windows["windows"], f"{name}: {parts} parts, {windows}")
    rows = [*found["components"], *(o for o in found["objects"] if o["saved_s"] is not None)]
    # Without any path in the windows there are no shares of it. Rows of which no window has anything have none.
    most = len(rows) if "max_parallelism_margin" in windows else 0
    for key, least in ("critical_path_margin_s", min(most, 1)), ("saved_margin_s", 0):
        got = sum(key in row for row in rows)
        results.check(least <= got <= most, f"{name}: {got} of {len(rows)} rows have {key}, {least} to {most} may")


def all_day(results):
    """A program in windows until there are enough of them: then its locks have margins."""
    dump = f"{TMP}/all_day.dump"
    env = environment(dump)
    del env["LD_PRELOAD"]
    run = subprocess.Popen([f"{BUILD}/cpa", "run", "-q", "-o", dump, "--budget", "0.5%", "--",
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
    margins(results, "all day", found)
    results.check(found["windows"]["batches"] >= 10 and "parallelism_margin" in found["windows"] and
               "wait_margin_s" in found["windows"], f"all day: so have the program's: {found['windows']}")
    words = subprocess.run([f"{BUILD}/cpa-report", dump], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    results.check("sample of the run" in words and " +- " in words, "all day: the text has them")


def budgets(results):
    """Windows; when they are is chance, but for programs that cost much more or less."""
    dump = f"{TMP}/budget.dump"
    env = environment(dump)
    del env["LD_PRELOAD"]

    def profile(budget, *program):
        if os.path.exists(dump):
            os.unlink(dump)
        done = subprocess.run([f"{BUILD}/cpa", "run", "-q", "-o", dump, "--budget", budget, "--", *program],
                              env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        status = 0 if ended_well(done.returncode, done.stderr) else done.returncode
        return status, done.returncode < 2 and report(dump)

    busy = f"{BUILD}/tests/programs/trylock_loop"
    status, found = profile("100%", busy)
    part, switches = found["parts"], epoch(dump)
    results.check(status == 0 and len(part) == 1 and 0 < part[0]["from_s"] and switches == 3,
               f"within the budget: one window to the end: {part}, {switches - 1} switches, status {status}")
    sums(results, "within the budget", found)
    status, found = profile("0.01%", busy)
    part = found["parts"]
    results.check(status == 0 and 0 < found["program"]["wall_s"] < found["program"]["run_s"] and
               part[0]["from_s"] > 0, f"a small budget: windows: {part}, status {status}")
    sums(results, "a small budget", found)
    margins(results, "a small budget", found)
    for wrong in ("", "2", "%", "0%", "101%", "-1%", "1e1%", "2%%", "nan%"):
        results.check(profile(wrong, "true")[0] == 2, f"--budget '{wrong}': wrong usage, 2")


def usual_budget(results):
    """CPA_BUDGET is --budget where nothing else is asked for; without the launcher one line says that nobody keeps it."""
    dump = f"{TMP}/usual.dump"
    env = environment(dump, CPA_BUDGET="0.01%")
    script = "kill -0 $$; /bin/echo budget:$CPA_BUDGET"

    def run(*options, **more):
        command = [f"{BUILD}/cpa", "run", "-f", "-q", "-o", dump, *options, "--", "sh", "-c", script]
        alone = {key: value for key, value in {**env, **more}.items() if key != "LD_PRELOAD"}
        return subprocess.run(command, env=alone, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    done = run()
    results.check(done.stdout == "budget:\n" and not done.stderr, f"CPA_BUDGET: the launcher has it: {done}")
    busy = subprocess.run([f"{BUILD}/cpa", "run", "-f", "-q", "-o", dump, "--", f"{BUILD}/tests/programs/trylock_loop"],
                          env={key: value for key, value in env.items() if key != "LD_PRELOAD"},
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = report(dump)
    results.check(ended_well(busy.returncode, busy.stderr) and found["parts"][0]["from_s"] > 0
               and found["program"]["wall_s"] < found["program"]["run_s"], f"CPA_BUDGET: windows: {found['parts']}")
    done = run("--delay", "1h")
    results.check(done.returncode == 0 and not report(dump)["parts"], f"CPA_BUDGET: --delay goes before: {done}")
    done = run(CPA_BUDGET="2")
    results.check(done.returncode == 2 and "CPA_BUDGET=2: not a share" in done.stderr, f"CPA_BUDGET=2: wrong usage: {done}")
    for start, lines in ("on", 1), ("off", 0):
        os.unlink(dump)
        done = subprocess.run(["sh", "-c", script], env={**env, "CPA_START": start, "CPA_QUIET": "0"}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        results.check(done.returncode == 0 and done.stderr.count("CPA_BUDGET=0.01%: only a process outside") == lines,
                   f"CPA_BUDGET without the launcher, {start}: {done.stderr.strip()}")


def budget_from_outside(results):
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
        results.check(again.returncode == 1 and again.stderr.count("\n") == 1 and
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
    results.check(driver.wait() == 0, "it ends by SIGTERM with 0")
    off = ctl(dump, "stop")
    results.check("off already" in off.stderr, "then profiling is off")
    sums(results, "in windows by cpa ctl", report(dump))
    before = epoch(dump)
    driver = keep("100%")
    await_window(dump, before)
    await_true(lambda: 0 in (ctl(dump, "stop").returncode, ctl(dump, "start").returncode))
    said = driver.communicate()[1]
    results.check(driver.returncode == 1 and said.count("\n") == 1 and "somebody else" in said,
               f"then it ends, with one line and 1: {said}")
    before = epoch(dump)
    driver = keep("0.01%")
    await_window(dump, before)
    await_true(lambda: epoch(dump) % 2 == 0)
    off = ctl(dump, "stop")
    said = driver.communicate()[1]
    results.check(off.returncode == 0 and driver.returncode == 1 and "somebody else" in said,
               f"cpa ctl stop between two windows ends them: {off.stderr} {said}")
    off = ctl(dump, "stop")
    results.check(off.returncode == 1 and "off already" in off.stderr, "and then profiling is off")
    before = epoch(dump)
    driver = keep("2%")
    await_window(dump, before)
    run.communicate()
    said = driver.communicate()[1]
    results.check(driver.returncode == 0, f"it ends with the program: {driver.returncode} {said}")
    run = start("--budget", "100%")
    await_window(dump, 2)
    refused("while cpa run keeps a budget")
    run.communicate()
    for wrong in ("", "2", "0%", "101%", "2%%"):
        results.check(ctl(dump, "budget", wrong).returncode == 2, f"budget '{wrong}': wrong usage, 2")


def at_random(results):
    """Switched every few milliseconds: programs do not notice, and the figures stay consistent."""
    dump = f"{TMP}/random.dump"
    seed = int(os.environ.get("CPA_SEED", random.randrange(1 << 30)))
    dice = random.Random(seed)
    for name in ("sem_ring", "pipeline", "instrumented_calls", "create_tree", "tsp"):
        process = subprocess.Popen([f"{BUILD}/tests/programs/{name}"], env=environment(dump, CPA_JOURNAL="256M"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        on, switches = True, 0
        while process.poll() is None:
            on = not on if switches < SWITCHES else True
            done = subprocess.run([f"{BUILD}/cpa-ctl", dump, "start" if on else "stop"],
                                  stderr=subprocess.DEVNULL)
            switches += done.returncode == 0
            time.sleep(dice.random() * 0.01 if switches < SWITCHES else 0.05)
        found = report(dump)
        results.check(ended_well(process.returncode, process.stderr.read()) and found["program"]["complete"],
                   f"{name}: ran to its end, {switches} switches (seed {seed})")
        sums(results, f"{name} (seed {seed})", found)
        good, said = verify(dump)
        results.check(good, f"{name} (seed {seed}): {'as its journal' if good else said}")


def main():
    results = Results()
    from_outside(results)
    by_time(results)
    budgets(results)
    all_day(results)
    usual_budget(results)
    budget_from_outside(results)
    at_random(results)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
