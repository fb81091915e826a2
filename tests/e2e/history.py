#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies of a profile while the program runs, what is kept of them, and the time between two."""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from part_runs import await_true
from profiled import BUILD, PROGRAMS, ROUNDING_S, clean_environment, read
from results import Results

HOUR, DAY = 3600, 86400
KEEP_S = 2 * DAY
FORMAT = "%Y%m%dT%H%M%SZ.dump"
results = Results()


def time_of(name):
    return int(datetime.datetime.strptime(name, FORMAT).replace(tzinfo=datetime.timezone.utc).timestamp())


def name_of(when):
    return datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime(FORMAT)


def copies(folder):
    return {name for name in os.listdir(folder) if name.endswith(".dump")}


def thinned(names, now):
    """What docs/production.md says: all of an hour, one of each hour of a day, one of each day."""
    kept, steps = set(), set()
    for name in sorted(names):  # the first of a step stays
        when = time_of(name)
        age = abs(now - when)
        step = when if age < HOUR else ("h", when // HOUR) if age < DAY else ("d", when // DAY)
        if step not in steps:
            steps.add(step)
            kept.add((name, age))
    return {name for name, age in kept if age <= KEEP_S}


def start(dump, *options, stderr=None):
    return subprocess.Popen(
        [BUILD / "cpa", "run", "-q", "-o", dump, "--every", "1s", *options, "--",
         PROGRAMS / "all_day", "100000"], env=clean_environment(), stderr=stderr)


def check_thinning(folder):
    """
    A history of three days is there already, and one of three days to come: the clock was set back. The copies that
    the run adds are the newest.
    """
    dump, history = folder / "old.dump", folder / "old.dump.d"
    history.mkdir()
    now = int(time.time())
    old = {name_of(now - age) for age in range(60, 3 * DAY, 613)}
    old |= {name_of(now + age) for age in range(607, 3 * DAY, 613)}
    for name in old:
        (history / name).write_bytes(b"x")
    (history / "notes.txt").write_bytes(b"x")
    run = start(dump, "--keep", "2d,1G")
    await_true(lambda: len(copies(history) - old) >= 2)
    run.terminate()
    run.wait()

    def as_expected():
        """A copier may still be at work; each of its copies thins the history as of its time."""
        made = sorted(copies(history) - old)
        expected = set(old)
        for name in made:
            expected = thinned(expected | {name}, time_of(name))
        return copies(history) == expected

    await_true(as_expected)
    results.check(True, f"of {len(old)} copies of three days, before and ahead, {len(copies(history))} are left")
    results.check((history / "notes.txt").exists(), "no other file is removed")
    results.check(all(os.stat(history / name).st_mode & 0o777 == 0o600
                      for name in copies(history) - old), "copies are their owner's")


def check_size(folder):
    """The newest copies that fit stay."""
    dump, history = folder / "small.dump", folder / "small.dump.d"
    history.mkdir()
    now = int(time.time())
    old = {name_of(now - age) for age in range(60, 660, 60)}
    ahead = {name_of(now + age) for age in range(660, 1260, 60)}
    for name in old | ahead:
        (history / name).write_bytes(os.urandom(200 << 10))
    run = start(dump, "--keep", "1M")
    # Five of the old ones take the megabyte, or less than that with a copy.
    await_true(lambda: copies(history) - old - ahead and len(copies(history) & (old | ahead)) <= 5)
    run.terminate()
    run.wait()

    def newest():
        """A copier may still be at work, and removes one by one."""
        left = sorted(copies(history) & old)
        return left == sorted(old)[len(old) - len(left):]

    await_true(newest)
    await_true(lambda: not copies(history) & ahead)
    results.check(True, "none stays that lies further ahead: the clock was set back")
    results.check(True, f"of ten large copies the newest {len(copies(history) & old)} stay")


def check_failure(folder):
    """Where copies cannot be made one line says so, and they go on once they can."""
    dump, history = folder / "refused.dump", folder / "refused.dump.d"
    history.write_bytes(b"")  # no folder
    errors = folder / "refused.err"
    with open(errors, "w", encoding="utf-8") as file:
        run = start(dump, stderr=file)
    await_true(lambda: "no copy of the profile: " in errors.read_text())
    time.sleep(2)  # more of them fail
    history.unlink()
    await_true(lambda: history.exists() and copies(history))
    run.terminate()
    run.wait()
    said = errors.read_text().splitlines()
    results.check(len(said) == 1 and "Not a directory" in said[0], f"copies that fail: one line {said}")


def pids(history, names):
    """Of the programs that copies are of."""
    return {read(history / name)["program"]["pid"] for name in names}


def check_replaced(folder):
    """The history of a profile that another run has replaced is that of the other one from then on."""
    dump, history = folder / "two.dump", folder / "two.dump.d"
    first = start(dump)
    await_true(lambda: history.exists() and copies(history))
    replaced = pids(history, copies(history))
    second = start(dump, "--force")
    # Either run may copy, one at a time. Who begins behind a copy of the new profile finds that.
    await_true(lambda: pids(history, copies(history)) - replaced)
    before = copies(history)
    await_true(lambda: len(copies(history) - before) >= 2)
    found = pids(history, copies(history) - before)
    for run in first, second:
        run.terminate()
        run.wait()
    results.check(found == {read(dump)["program"]["pid"]}, f"a replaced profile: copies of the new one {found}")


def check_killed(folder):
    """Of a program that was killed between two windows copies are later than its last event, and earlier all the same."""
    dump = folder / "killed.dump"
    run = subprocess.Popen([PROGRAMS / "all_day", "100000"], env=clean_environment(
        LD_PRELOAD=BUILD / "libcpa.so", CPA_OUTPUT=dump))

    def ctl(*command):
        return subprocess.run([BUILD / "cpa-ctl", dump, *command], capture_output=True, check=False).returncode == 0

    await_true(lambda: ctl("mark", "ready") and sum(t["events"] for t in read(dump)["threads"]) > 0)
    ctl("stop")
    taken = [folder / f"killed.{number}.copy" for number in range(5)]
    for copy in taken:
        time.sleep(0.2)
        ctl("snapshot", str(copy))
    run.kill()
    run.wait()
    said = [subprocess.run([BUILD / "cpa-report", "--since", copy, dump], capture_output=True, text=True,
                           check=False).stderr for copy in taken]
    results.check(not any(said), f"the time from copies to the end of a program that was killed {said}")


def figures(report):
    """Sums, by what they are of."""
    found = {("program", key): report["program"][key] for key in ("cpu_s", "critical_path_s", "wall_s")}
    for row in report["components"]:
        for key in "critical_path_s", "saved_s", "total_s":
            name = row["kind"], row["name"], key
            found[name] = found.get(name, 0) + row[key]
    for row in report["objects"]:
        for key in "acquisitions", "contended", "wait_s":
            found[row["class"], key] = row[key]
    return found


def differences(results_of, later, earlier):
    """Figures that are not what @later has more than @earlier."""
    return [(key, value, later[key], earlier.get(key, 0)) for key, value in results_of.items()
            if abs(max(later[key] - earlier.get(key, 0), 0) - value) > 3 * ROUNDING_S]


def check_span(folder):
    """What a copy has and what was since is what the whole has."""
    dump, history = folder / "span.dump", folder / "span.dump.d"
    run = start(dump, "--budget", "1%")

    def profiled():
        """Copies; one in which something was profiled, and a later one in which more was."""
        if not history.exists():
            return False
        with_path = [name for name in sorted(copies(history))
                     if read(history / name)["program"]["critical_path_s"] > 0]
        return len(with_path) >= 2 and len(copies(history)) >= 4

    await_true(profiled)
    run.terminate()
    run.wait()
    names = sorted(copies(history))
    before = next(name for name in names if read(history / name)["program"]["critical_path_s"] > 0)
    whole, early = read(dump), read(history / before)
    since = read(dump, "--since", history / before)
    wrong = differences(figures(since), figures(whole), figures(early))
    results.check(not wrong, f"the time since a copy has what came since: {len(figures(since))} figures {wrong[:3] or ''}")
    results.check(figures(early)["program", "critical_path_s"] > 0, "the copy has a path")
    results.check(not since["queues"] and not since["pag"]["edges"] and "windows" not in since,
                  "what is not known of it is not there")
    for wrong_option in (["--since", "yesterday"], ["--at", "3000d"], ["--at", "100d"],
                         ["--since", str(folder / "old.dump")]):
        done = subprocess.run([BUILD / "cpa-report", *wrong_option, dump], capture_output=True, text=True,
                              check=False)
        results.check(done.returncode == 1 and done.stderr.count("\n") == 1,
                      f"{' '.join(wrong_option)[:30]}: one line, 1: {done.stderr.strip()}")
    for wrong_option in (["--since", "1m", "--at", "1m"], ["--since", "1m", "--tree"],
                         ["--at", "1m", "--format", "html"], ["--at", "99:99"]):
        done = subprocess.run([BUILD / "cpa-report", *wrong_option, dump], capture_output=True, check=False)
        results.check(done.returncode == 2, f"{' '.join(wrong_option)}: wrong usage, 2")
    at = datetime.datetime.fromtimestamp(time_of(before)).strftime("%Y-%m-%d %H:%M:%S")
    following = names[names.index(before) + 1]
    wrong = differences(figures(read(dump, "--at", at)), figures(read(history / following)), figures(early))
    results.check(not wrong, f"--at '{at}': from the copy of then to the next {wrong[:3] or ''}")
    check_diff(folder, dump, [time_of(name) for name in names])


def compare(*arguments):
    done = subprocess.run([BUILD / "cpa-diff", "--format", "json", *arguments], capture_output=True, text=True,
                          check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr


def moment(when):
    return datetime.datetime.fromtimestamp(when).strftime("%Y-%m-%d %H:%M:%S")


def check_diff(folder, dump, times):
    """
    Two times of a run are compared as their reports are. @times: of the copies. A copier may still make one
    more, so that nothing is asked of the time behind the last.
    """
    first, last = moment(times[0]), moment(times[-2])
    files = []
    for i, at in enumerate((first, last)):
        files.append(folder / f"{i}.json")
        files[-1].write_text(json.dumps(read(dump, "--at", at)), encoding="utf-8")
    # A window need not have been between any two copies.
    blank = not all(json.loads(file.read_text(encoding="utf-8"))["program"]["wall_s"] for file in files)
    expected_status, expected = compare(*files)
    status, found = compare("--at", first, "--at", last, dump)
    results.check(status == expected_status == blank and (blank or found["rows"] == expected["rows"]),
                  f"cpa diff --at '{first}' --at '{last}': as with the reports" + ", no window" * blank)
    span = times[-2] - times[0]
    status, found = compare("--at", first, "--at", first, "--span", f"{span}s", dump)
    blank = [not read(dump, "--at", moment(time))["program"]["wall_s"] for time in times[:-2]]
    runs = [found[side][key] for side in ("base", "new") for key in ("runs", "blank_runs")] if status == 0 else found
    results.check(status == 1 if all(blank) else runs == 2 * [len(blank) - sum(blank), sum(blank)],
                  f"--span {span}s: of {len(times)} copies {runs} runs and such without a window")
    for wrong, status in ((["--at", first], 2), (["--at", first, "--at", "x"], 2), (["--at", first, "--at", "9d"], 1),
                          (["--at", first, "--at", last, "--span", "14:05"], 2),
                          (["--at", first, "--at", last, "--at", last], 2)):
        code, error = compare(*wrong, dump)
        results.check(code == status and error.count("\n") == 1, f"cpa diff {' '.join(wrong)[:40]}: {error}".strip())


def check_usage():
    for options in (["--every", "0s"], ["--every", "x"], ["--keep", "x"], ["--keep", "7d,x"], ["--keep", ""],
                    ["--keep", "7d"]):
        done = subprocess.run([BUILD / "cpa", "run", *options, "--", "true"], capture_output=True, check=False)
        results.check(done.returncode == 2, f"{' '.join(options)}: wrong usage, 2")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="history.", dir=os.environ.get("CPA_TMP")))
    check_usage()
    check_thinning(folder)
    check_size(folder)
    check_failure(folder)
    check_replaced(folder)
    check_killed(folder)
    check_span(folder)
    if not results.failed:
        shutil.rmtree(folder, ignore_errors=True)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
