#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/process_trees.py - one session for all processes of a run

tests/programs/process_tree makes trees of processes whose critical path is a sum of pieces of CPU
time: each runs natively and under libcpa.so, with the same output and status, and the report's path is
no shorter. With a journal the exact search agrees. Then shell scripts, thousands of children, and
processes that are not in the session: static and set-uid ones, and those without our environment; and
handlers that jump. How long the paths are is looked at by tests/accuracy/process_paths.py. Prints TAP
and a summary.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from profiled import check_contradictions, verify
from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = BUILD / "tests/programs/process_tree"
TIMEOUT_S = 120
UNIT_S = 0.02
# A piece is at least as long as its own CPU clock says, which cpa's differs from by so much.
PIECE = 0.03
# Trees, and how many processes they are.
TREES = {
    "fork_join": 3,
    "chain": 4,
    "vfork": 2,
    "system": 3,
    "popen": 3,
    "exec": 1,
    "mutex": 3,
    "sem": 2,
    "named_sem": 2,
    "two_sems": 2,
    "remapped": 5,
    "barrier": 2,
    "cond": 2,
    "threads": 2,
    "signal": 2,
    "pipe": 2,
}
FOREIGN = 7
STRANGER = 65534
JOBS, OWN_JOBS = 40, 32  # of a program that runs itself; components of their own
MANY_BYTES = 24 << 20
PIPELINE = """
seq 100000 | sort -n --parallel=2 | tail -1
x=$(echo inner); echo "$x"
(exit 3); echo $?
"""


class Run:
    """A command under libcpa.so, or natively if there is no @dump."""

    def __init__(self, command, dump=None, folder=None, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
        if dump:
            environment.update(
                LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), **more
            )
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            cwd=folder,
            env=environment,
        )
        self.result = (done.stdout, done.returncode)
        self.error = done.stderr


def report(dump):
    text = subprocess.run(
        [BUILD / "cpa-report", "--format", "json", dump],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    ).stdout
    return json.loads(text)


def compare(results, command, dump, name, **more):
    """The same output and status? Return the run under libcpa.so, and its report."""
    native = Run(command, folder=dump.parent)
    run = Run(command, dump, dump.parent, **more)
    same = native.result == run.result and native.error == run.error
    results.check(same, f"{name}: {native.result!r}, profiled {run.result!r} {run.error!r}")
    if not results.check(dump.exists(), f"{name}: there is a session"):
        return run, None
    found = [path.name for path in dump.parent.glob("*.dump")]
    results.check(found == [dump.name], f"{name}: it is the only one: {found}")
    return run, report(dump)


def check_path(results, name, profile, units):
    """A path has its pieces, whatever waits for a processor; and the report adds up."""
    path, least = profile["program"]["critical_path_s"], units * UNIT_S * (1 - PIECE)
    results.check(least <= path, f"{name}: critical path {path:.4f} s, {least:.4f} s at least")
    check_contradictions(results, name, profile)
    ours = sum(process["cpu_s"] for process in profile["processes"])
    threads = sum(thread["cpu_s"] for thread in profile["threads"])
    close = abs(ours - threads) <= 1e-3 * ours + 1e-4
    results.check(close, f"{name}: CPU time of processes {ours:.3f} s, of threads {threads:.3f} s")


def missing(profile):
    """
    What the report says is missing, by counts. CPU time beside the kernel's account, of which a process
    may have some before and after all events, is looked at by tests/accuracy/process_paths.py.
    """
    notes = profile["diagnostics"]["notes"]
    # Nor is anything missing at a lower rate of samples, where each was found to take long.
    return [n for n in notes if not n.startswith(("The kernel counted ", "cpa sampled at "))]


def trees(results, folder):
    for name, processes in TREES.items():
        dump = folder / f"{name}.dump"
        run, profile = compare(results, [PROGRAM, name], dump, name)
        if not profile:
            continue
        check_path(results, name, profile, int(run.result[0]))
        got = [process["name"] for process in profile["processes"]]
        results.check(len(got) == processes, f"{name}: {len(got)} processes {got}")
        ended = [process["state"] for process in profile["processes"]]
        results.check(set(ended) == {"ended"}, f"{name}: each ended: {ended}")
        notes = missing(profile)
        results.check(not notes, f"{name}: nothing is missing {notes}")
        dump.unlink()


def journals(results, folder):
    for name in TREES:
        dump = folder / f"{name}.dump"
        Run([PROGRAM, name], dump, CPA_JOURNAL="32M")
        done = subprocess.run(
            [BUILD / "cpa-report", "--verify", dump],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        text = (done.stdout + done.stderr).strip()
        good = done.returncode == 0 and "equal" in text
        results.check(good, f"{name}: {'verified' if good else text}")
        dump.unlink()


def by_name(profile, name):
    return [process for process in profile["processes"] if process["name"] == name]


def endings(results, folder):
    """Children that are killed, are nobody's, have no environment, or are very many."""
    for name, state, note in (
        ("kill", "killed", "without notice"),
        ("double_fork", None, None),
        ("env", "ended unseen", "not in the session"),
        ("many", None, None),
    ):
        dump = folder / f"{name}.dump"
        _, profile = compare(results, [PROGRAM, name], dump, name)
        if not profile:
            continue
        states = [process["state"] for process in profile["processes"]]
        notes = " ".join(profile["diagnostics"]["notes"])
        if state:
            results.check(states.count(state) == 1, f"{name}: {states}")
        else:
            results.check(set(states) == {"ended"}, f"{name}: {set(states)}")
        if note:
            results.check(note in notes, f"{name}: says {notes!r}")
        if name == "many":
            size = dump.stat().st_blocks * 512
            results.check(size <= MANY_BYTES, f"{name}: {size} bytes, {MANY_BYTES} at most")
            count = sum(process["count"] for process in profile["processes"])
            results.check(count == 3001, f"{name}: {count} processes")
        dump.unlink()


def static(folder):
    """The same program, linked statically; None: that cannot be done here."""
    program = folder / "static"
    command = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static", "-pthread", f"-I{ROOT}"]
    command += ["-o", program, ROOT / "tests/programs/process_tree.c"]
    if not shutil.which("cc") or subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    return program


def set_uid(folder):
    """The same program, set-uid to a stranger; None: that cannot be done here."""
    program = folder / "set-uid"
    shutil.copy(PROGRAM, program)
    if os.geteuid() != 0 or os.statvfs(program).f_flag & os.ST_NOSUID:
        return None
    os.chown(program, STRANGER, STRANGER)
    program.chmod(0o4755)
    return program


def foreign(results, folder):
    """Children that load nothing: counted, and time that passes at its own pace; else as ever."""
    # The last one becomes a program that joins; who is set-uid takes the preload from it, too.
    for name, make_program, last in (("static", static, 1), ("set-uid", set_uid, 0)):
        program = make_program(folder)
        native = Run([PROGRAM, "foreign", program]) if program else None
        if not native or native.result[1]:
            results.skip(f"{name} children", "cannot be made or run here")
            continue
        dump = folder / f"{name}.dump"
        run = Run([PROGRAM, "foreign", program], dump)
        text = f"{name} children: {native.result!r}, profiled {run.result!r}"
        results.check(native.result == run.result, text)
        profile = report(dump)
        check_contradictions(results, f"{name} children", profile)
        # Of two the parent is a shell of ours.
        states = [process["state"] for process in profile["processes"]]
        ended, unseen = states.count("ended"), states.count("ended unseen")
        text = f"{name} children: {states}"
        results.check((ended, unseen) == (4 + last, FOREIGN), text)
        notes = " ".join(profile["diagnostics"]["notes"])
        said = f"CPA_SESSION in the environment): {FOREIGN}. These waits" in notes
        results.check(said, f"{name} children: says so: {notes}")
        tree = {process["id"]: process["parent"] for process in profile["processes"]}
        lost = [child for child, parent in tree.items() if parent not in tree and child != 1]
        results.check(not lost, f"{name} children: each process has its parent {tree}")
        dump.unlink()


# A process waits until the first one, its parent, has ended: then another is its parent. It sleeps for longer
# than the run took, which began after the first one did (hundredths of a second), so its path is longer.
OUTLIVING = """
read -r _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ start _ </proc/$$/stat
{
	while read -r _ _ _ parent _ </proc/self/stat && [ "$parent" = $$ ]; do sleep 0.01; done
	read -r up _ </proc/uptime
	sleep $(((${up%.*}${up#*.} - start) / 100 + 1))
	seq 200000 >/dev/null
	echo
} & :
"""


def outliving(results, folder):
    """A process goes on after the first one: the path ends with it, and the report says so."""
    dump = folder / "outliving.dump"
    # Both share the standard output, which ends with the last of them.
    _, profile = compare(results, ["sh", "-c", OUTLIVING], dump, "outliving")
    if profile:
        notes = " ".join(profile["diagnostics"]["notes"])
        last = max(process.get("end_s", 0) for process in profile["processes"])
        path = profile["program"]["critical_path_s"]
        wall = profile["program"]["wall_s"]
        # Linux at times takes the sleep for time on the run queue, as docs/limits.md says.
        ready = sum(process["runqueue_s"] for process in by_name(profile, "sleep"))
        text = f"outliving: {wall} s, path {path} s, ready {ready} s, last {last} s"
        results.check(wall < path + ready and path <= last, text)
        results.check(("after the first one had ended" in notes) == (path > wall), f"outliving: says {notes!r}")
        dump.unlink()


def scripts(results, folder):
    dump = folder / "sh.dump"
    _, profile = compare(results, ["sh", "-c", PIPELINE], dump, "pipeline")
    if profile:
        names = {process["name"] for process in profile["processes"]}
        results.check({"seq", "sort", "tail"} <= names, f"pipeline: {names}")
        threads = [process["threads"] for process in by_name(profile, "sort")]
        results.check(threads and max(threads) > 1, f"pipeline: sort has threads {threads}")
        ids = {process["id"] for process in profile["processes"]}
        orphans = [t for t in profile["threads"] if t["process"] not in ids]
        results.check(not orphans, "pipeline: each thread has its process")
        text = subprocess.run(
            [BUILD / "cpa-report", "--level", "process", dump],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        results.check(re.search(r"\d+ +\d+ .* sort\n", text), "pipeline: --level process")
        dump.unlink()


def another_user(results, folder):
    """A child that becomes another user leaves the session, and the report says so."""
    if os.geteuid() != 0:
        results.skip("another user", "needs root")
        return
    dump = folder / "user.dump"
    child = f"os.fork() or (os.setuid({STRANGER}), os._exit(0))"
    calls = f"import os\nfor i in range(3):\n    {child}\nfor i in range(3):\n    os.wait()"
    Run(["/usr/bin/python3", "-c", calls], dump)
    notes = [n for n in report(dump)["diagnostics"]["notes"] if "became another user" in n]
    results.check(len(notes) == 1 and ": 3. No figure" in notes[0], f"another user: {notes}")
    dump.unlink()


def names(results, folder):
    """A program is called what it was started as, which a link or a script says, not its file."""
    link, script = folder / "a-link-of-more-than-15-bytes", folder / "a script"
    link.symlink_to(shutil.which("true"))
    script.write_text("#!/bin/sh\n:\n")
    script.chmod(0o755)
    for path in (link, script):
        dump = folder / "name.dump"
        Run([path], dump)
        profile = report(dump)
        dump.unlink()
        got = [profile["program"]["name"], profile["processes"][0]["name"]]
        results.check(got == [path.name] * 2, f"{path.name}: its name {got}")


def arguments(results, folder):
    """Processes of one command are told apart by their first arguments, or by the files that they make or read."""
    dump = folder / "arguments.dump"
    sort = "sort -o made /dev/null; sort -u -o sub/too -- /dev/null; sort -o $PWD/no /dev/null; sort -c /dev/null"
    words = "basename one; basename a/two; basename -a three; basename 'a word'; uname"
    # As gcc calls its parts: a source among options, and -o of a temporary file. wc refuses most.
    files = "wc -q sub/x.c -dumpbase x.c -o /tmp/z.s; wc -q -o sub/y.o -dumpbase y.c; wc -l x.c; wc -q -dumpbase"
    (folder / "sub").mkdir()
    Run(["sh", "-c", f"cd {folder}; {sort}; {words}; {{ {files}; }} 2>&1; :"], dump)
    profile = report(dump)
    text = subprocess.run(
        [BUILD / "cpa-report", "--level", "process", "--top", "30", dump], capture_output=True, text=True, check=True
    ).stdout
    results.check(re.search(r" sort made$", text, re.M), "arguments: in the table, uncut")
    dump.unlink()
    for name, wanted in (
        ("sort", ["", "", "made", "too"]),
        ("basename", ["", "", "one", "two"]),
        ("uname", [""]),
        ("wc", ["", "", "x.c", "y.o"]),
    ):
        got = sorted(p.get("argument", "") for p in profile["processes"] if p["name"] == name)
        results.check(got == wanted, f"arguments of {name}: {got}")


OUTER = """
import subprocess
for _ in range(2):
    subprocess.run(["sh", "-c", "/usr/bin/python3 inner.py; sort made; :"], stdout=subprocess.PIPE, check=True)
subprocess.run(["/usr/bin/python3", "-c", "pass"])
"""


def subcommands(results, folder):
    """What a program runs of itself, with another argument, is a class of its own; other arguments make none."""
    dump = folder / "subcommands.dump"
    (folder / "inner.py").write_text("import os\nprint('a')\nos.fork() or os._exit(0)\nos.wait()\n")
    (folder / "outer.py").write_text(OUTER)
    (folder / "made").touch()
    Run(["/usr/bin/python3", "outer.py"], dump, folder)
    profile = report(dump)
    got = {c["name"] for c in profile["components"] if c["kind"] == "thread"}
    results.check(
        {"main", "python3", "python3 inner.py", "python3 inner.py, forked", "sort", "sh"}.issubset(got)
        and not [name for name in got if name.startswith(("sort ", "sh ", "python3 outer"))],
        f"subcommands: classes {sorted(got)}",
    )
    streams = [(s["from"], s["to"]) for s in profile["streams"] if s["bytes"]]
    results.check(("python3 inner.py", "python3 outer.py") in streams, f"subcommands: streams {streams}")
    dump.unlink()


def many_subcommands(results, folder):
    """A program that runs itself with ever other arguments leaves the slots to others."""
    dump = folder / "many.dump"
    for i in range(JOBS):
        (folder / f"job-{i}.sh").write_text(":\n")
    (folder / "driver.sh").write_text("".join(f"sh job-{i}.sh\n" for i in range(JOBS)))
    Run(["sh", "driver.sh"], dump, folder)
    profile = report(dump)
    own = [c["name"] for c in profile["components"] if c["kind"] == "thread" and c["name"].startswith("sh job-")]
    others = any((c["kind"], c["name"]) == ("thread", "sh") for c in profile["components"])
    results.check(
        len(own) == OWN_JOBS and others,
        f"many subcommands: {len(own)} of {JOBS} have a class{' and the others one' if others else ''}",
    )
    dump.unlink()


def jumps(results, folder):
    """Handlers jump out of what threads note of a child that ended: main's waits are known all the same."""
    dump = folder / "jumps.dump"
    _, profile = compare(results, [BUILD / "tests/programs/jump_beside"], dump, "jumps")
    if profile:
        notes = [n for n in profile["diagnostics"]["notes"] if "hild processes" in n]
        results.check(not notes, f"jumps: nothing of a child is missing {notes}")
        dump.unlink()


def killed(results, folder):
    """A process that is killed counted time of cpa since its last event: the observed path ends there."""
    dump = folder / "killed.dump"
    calls = "import os\nfor i in range(100): os.system('kill -9 $$')"
    Run(["/usr/bin/python3", "-c", calls], dump, CPA_JOURNAL="32M")
    check_contradictions(results, "killed", report(dump))
    good, text = verify(dump)
    results.check(good, f"killed: {text}")
    dump.unlink()


def replaced(results, folder):
    """The first process became a program outside the session: a child whose exec fails does not change that."""
    dump = folder / "replaced.dump"
    child = "until grep -q sleep /proc/$$/comm; do :; done; exec /nonexistent 2>/dev/null"
    Run(["sh", "-c", f"({child}) & exec env -u LD_PRELOAD sleep 0.5"], dump)
    notes = report(dump)["diagnostics"]["notes"]
    results.check(any("(exec)" in n for n in notes), f"replaced: the report says so {notes}")
    dump.unlink()


def reaped(results, folder):
    """Each child has its own status, however the program learnt of it: no child has that of another."""
    program = BUILD / "tests/programs/reaped"
    for way, wanted in (
        ("cancelled", [9]),
        ("leaving", [None]),
        ("syscall", [5 << 8, 6 << 8]),
        ("closed", [4 << 8, 4 << 8, 4 << 8, 5 << 8]),
        ("unseen", [None]),
    ):
        dump = folder / f"reaped_{way}.dump"
        _, profile = compare(results, [program, way], dump, f"reaped, {way}")
        if not profile:
            continue
        got = [p.get("status") for p in profile["processes"][1:]]
        results.check(got == wanted, f"reaped, {way}: {got}")
        running = [p["state"] for p in profile["processes"][1:] if p["state"] == "running"]
        results.check(not running, f"reaped, {way}: none is said to run {running or ''}")
        dump.unlink()


def several(results, folder):
    """Of children of system() that ended at once it may not be known which status is whose: no child has a wrong one."""
    dump = folder / "several.dump"
    _, profile = compare(results, [BUILD / "tests/programs/reaped", "several"], dump, "several")
    if profile:
        children = [p for p in profile["processes"][1:] if p["name"] == "reaped"]
        known = [(int(p["argument"][4:]), p["status"]) for p in children if "status" in p]
        wrong = [(code, status) for code, status in known if status != code << 8]
        text = f"several: {len(children)} children, of {len(known)} the status is known {wrong or ''}"
        results.check(len(children) == 48 and not wrong, text)
        dump.unlink()


def begins(results, folder):
    """A child of vfork() is there before it becomes the program that it is."""
    for name in ("is_there", "goes_on"):
        os.mkfifo(folder / name)
    dump = folder / "late.dump"
    _, profile = compare(results, [BUILD / "tests/programs/reaped", "late", folder], dump, "late")
    if profile:
        child, made_s = profile["processes"][1], profile["marks"][0]["at_s"]
        results.check(child["start_s"] <= made_s, f"late: begins at {child['start_s']}, is there at {made_s}")
        dump.unlink()


COMMANDS = """
import os, subprocess
subprocess.run(["/bin/true"])
subprocess.run(["/bin/true"], env={}) # in no session
os.system("/bin/true")
os.popen("/bin/true; exec basename a").read()
if not os.fork():
    os.execv("/bin/true", ["true"])
os.wait()
"""


def lives(results, folder):
    """No process has more CPU time than life, however it was made: the loader's work is work of the child."""
    dump = folder / "lives.dump"
    Run(["/usr/bin/python3", "-c", COMMANDS], dump)
    processes = report(dump)["processes"]
    # CPU time of the first one from before the run is not of its life.
    children = [p for p in processes if p["id"] != processes[0]["id"]]
    wrong = [
        (p["name"], p["start_s"], p["end_s"], p["cpu_s"])
        for p in children
        if p["cpu_s"] > (p["end_s"] - p["start_s"]) * (1 + PIECE)
    ]
    results.check(len(children) >= 7 and not wrong, f"lives: {len(children)} processes {wrong or ''}")
    begins_s = [p["start_s"] for p in children]
    results.check(all(begins_s), f"lives: each begins when it is made: {begins_s}")
    dump.unlink()


SHOTS = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & kill -9 $!; done; wait"


def shot(results, folder):
    """A child that is killed before it runs began when it was made, too."""
    for window in ({}, {"CPA_START": "off"}):
        dump = folder / "shot.dump"
        Run(["/bin/sh", "-c", SHOTS], dump, **window)
        children = report(dump)["processes"][1:]
        begins_s = [p["start_s"] for p in children]
        killed = sum(p["state"] == "killed" for p in children)
        results.check(killed and all(begins_s), f"shot: {killed} killed, begin at {begins_s}")
        dump.unlink()


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="process_trees.", dir=os.environ.get("CPA_TMP")))
    results = Results()
    trees(results, folder)
    journals(results, folder)
    endings(results, folder)
    foreign(results, folder)
    another_user(results, folder)
    names(results, folder)
    outliving(results, folder)
    arguments(results, folder)
    subcommands(results, folder)
    many_subcommands(results, folder)
    jumps(results, folder)
    killed(results, folder)
    lives(results, folder)
    begins(results, folder)
    shot(results, folder)
    reaped(results, folder)
    replaced(results, folder)
    scripts(results, folder)
    several(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
