#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/streams.py - bytes through pipes, sockets and eventfds are dependencies

tests/programs/streams hands work over by bytes, in units of CPU time: the longest chain follows from
the program. It prints the chain, and the work of all threads. The critical path is no shorter than the
chain, and longer at most by the CPU time that was no unit of work, and by blocks for other reasons: so
no wait that the bytes explain counts as time of the path. Both hold whatever else the machine does. Each read is matched, and with a
journal the exact search agrees. Then a shell pipeline. Prints TAP and a summary.
"""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from profiled import BUILD, PROGRAMS, TAKEN, TIMEOUT_S, check_contradictions, profiled_environment, read
from profiled import verify
from results import Results

UNIT_S = 0.02
# A unit of work is at least as long as its own CPU clock says, which cpa's differs from by so much.
PIECE = 0.03
# A writer that has room whenever it comes, as its reader was quicker, waits for nobody.
LEAST = {"small_buffer": 13}
# A reader that is late takes several lines at once, and depends on the last of them.
MOST = {"popen": 12, "stdio": 12}
# Streams of each case: kind, number of writes that others read.
CASES = {
    "balanced": [("pipe", 4), ("pipe", 4)],
    "slow_stage": [("pipe", 4), ("pipe", 4)],
    "small_buffer": [("pipe", 4)],
    "full_pipe": [("pipe", 2)],
    "socket_pair": [("unix socket", 4), ("unix socket", 4)],
    "no_offset": [("unix socket", 4), ("unix socket", 4)],
    "unix_name": [("unix socket", 4), ("unix socket", 4), ("connections", 1)],
    "unix_path": [("unix socket", 4), ("unix socket", 4), ("connections", 4)],
    "tcp": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp_to_other": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp_to_any": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp_to_own": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp_mapped": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp6": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp6_to_own": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp6_to_any": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp6_of_link": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp_mapped_client": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp_to_none": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "tcp6_to_none": [("TCP", 4), ("TCP", 4), ("connections", 1)],
    "udp6_own": [("UDP", 5), ("UDP", 4)],
    "udp6_of_link": [("UDP", 5), ("UDP", 4)],
    "udp_mapped": [("UDP", 5), ("UDP", 4)],
    "udp_to_none": [("UDP", 5), ("UDP", 4)],
    "udp_both": [("UDP", 1), ("UDP", 1)],
    "udp_again": [("UDP", 1)],
    "udp_copied": [("UDP", 1)],
    "connect_tcp": [("connections", 1)],
    "connect_unix": [("connections", 1)],
    "connect_poll": [("connections", 1)],
    "backlog": [("connections", 2)],
    "packets": [("unix packets", 5), ("unix packets", 4)],
    "datagrams": [("unix datagrams", 5), ("unix datagrams", 4)],
    "udp": [("UDP", 5), ("UDP", 4)],
    "udp6": [("UDP", 5), ("UDP", 4)],
    "unix_datagrams": [("unix datagrams", 5), ("unix datagrams", 4)],
    "batch": [("unix datagrams", 3)],
    "batch_to": [("UDP", 1), ("UDP", 1)],
    "fan_in": [("pipe", 3)],
    "fan_out": [("pipe", 3)],
    "event": [("eventfd", 4), ("eventfd", 4)],
    "event_passed": [("eventfd", 4), ("eventfd", 4), ("unix socket", 1)],
    "event_inherited": [("eventfd", 4), ("eventfd", 4)],
    "event_again": [("eventfd", 4), ("eventfd", 4), ("unix socket", 2), ("unix socket", 1)],
    "pool": [("eventfd", 4), ("eventfd", 8)],
    "self_pipe": [("pipe", 4)],
    "poll": [("pipe", 2)],
    "select": [("pipe", 2)],
    "epoll": [("pipe", 2)],
    "many_rooms": [("pipe", 1)],
    "wait_before": [("pipe", 3)],
    "poll_room": [("pipe", 2)],
    "select_room": [("pipe", 2)],
    "epoll_room": [("unix socket", 2)],
    "fortified": [("unix socket", 4)],
    "spliced": [("pipe", 4)],
    "relay_slow_writer": [("pipe", 4), ("pipe", 4)],
    "relay_slow_reader": [("pipe", 4), ("pipe", 4)],
    "relay_works": [("pipe", 4), ("pipe", 4)],
    "relay_unix": [("pipe", 4), ("unix socket", 4), ("pipe", 4)],
    "relay_tcp": [("pipe", 4), ("TCP", 4), ("pipe", 4), ("connections", 1)],
    "relay_sendfile": [("unix socket", 4), ("pipe", 4)],
    "relay_tee": [("pipe", 4), ("pipe", 4), ("pipe", 4)],
    "relay_blocked": [("pipe", 1), ("pipe", 2)],
    "tee_blocked": [("pipe", 1), ("pipe", 2)],
    "relay_for_bytes": [("pipe", 1), ("pipe", 2)],
    "relay_for_room": [("pipe", 1), ("pipe", 2)],
    "relay_has_room": [("pipe", 1), ("pipe", 2)],
    "relay_in_turn": [("pipe", 1), ("unix socket", 2)],
    "terminal": [("terminal", 4), ("terminal", 4)],
    "terminal_cooked": [("terminal", 4), ("terminal", 4)],
    "terminal_poll": [("terminal", 4), ("terminal", 4)],
    "terminal_select": [("terminal", 4), ("terminal", 4)],
    "terminal_epoll": [("terminal", 4), ("terminal", 4)],
    "terminal_opened": [("terminal", 4), ("terminal", 4)],
    "terminal_forked": [("terminal", 4), ("terminal", 4)],
    "terminal_line": [("terminal", 2)],
    "terminal_full": [("terminal", 1)],
    "terminal_several": [("terminal", 2)],
    "end_of_file": [],
    "popen": [("pipe", 4)],
    "popen_lingers": [],
    "stdio": [("pipe", 4)],
}
# Bytes are moved from stream to stream, each of which one thread at a time writes and one reads.
ONE_WRITER = {name for name in CASES if name.startswith(("relay", "tee"))}
# Of these streams each read is matched. A wait for a descriptor of another kind counts as unmatched, and so
# may a read that was preempted.
FOLLOWED = {kind for streams in CASES.values() for kind, _ in streams} - {"terminal"}
PIPELINE = "seq 200000 | grep -v 7 | sort -n | tail -1"
# Most of its time is that of sha512sum, by far: what the others do is to copy.
STAGES = "head -c 100M /dev/zero | sha512sum | cat"
WRITERS = [("seq", "grep"), ("grep", "sort"), ("sort", "tail")]


def run(command, dump, **settings):
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=profiled_environment(dump, **settings),
    )


def inside(profile):
    """The streams that have both ends in the session."""
    return [s for s in profile["streams"] if s["from"] and s["to"]]


def followed(profile):
    return [s for s in profile["streams"] if s["kind"] in FOLLOWED]


def check_case(results, name, streams, folder):
    dump = folder / f"{name}.dump"
    done = run([PROGRAMS / "streams", name], dump, CPA_JOURNAL="16M")
    if done.returncode == 77:
        results.skip(name, "the machine has no such address")
        return
    last = (done.stderr.split("\n")[-2:-1] or [""])[0]
    if not results.check(done.returncode == 0 and last.startswith("path "), f"{name}: {last!r}"):
        return
    path, work = (int(word) * UNIT_S for word in last.split()[1::2])
    profile = read(dump)
    program = profile["program"]
    length, rest = program["critical_path_s"], program["cpu_s"] - work
    rest += sum(c["total_s"] for c in profile["components"] if c["kind"] == "external")
    least = LEAST.get(name, path / UNIT_S) * UNIT_S * (1 - PIECE)
    most = MOST.get(name, path / UNIT_S) * UNIT_S
    text = f"{name}: path {length:.4f} s, {path:.4f} s of work and up to {rest:.4f} s of other time"
    results.check(least <= length <= most + rest, text)
    found = sorted((s["kind"], s["writes"]) for s in inside(profile))
    total = {}
    for kind, writes in found:
        total[kind] = total.get(kind, 0) + writes
    expected = {}
    for kind, writes in streams:
        expected[kind] = expected.get(kind, 0) + writes
    results.check(total == expected, f"{name}: writes {found}, expected {streams}")
    lost = [(s["kind"], s["unmatched"], s["uncertain"]) for s in inside(profile)]
    results.check(all(not u for _, u, _ in lost), f"{name}: every read is matched {lost}")
    if name.startswith("terminal"):
        check_terminal(results, name, profile)
    if name in ONE_WRITER:
        results.check(all(not u for _, _, u in lost), f"{name}: no read is uncertain {lost}")
    if name == "relay_has_room":
        to, source = sorted(inside(profile), key=lambda s: -s["writes"])
        good = not to["writer_wait_s"] and source["reader_wait_s"]
        results.check(good, f"{name}: who moves waits for bytes, not for room: {source}, {to}")
    check_contradictions(results, name, profile)
    good, text = verify(dump)
    results.check(good, f"{name}: {text}")
    dump.unlink()


def check_terminal(results, name, profile):
    """Each wait for a message was matched, and in `terminal_full` that for room; one in `terminal_several`."""
    found = inside(profile)
    waits = sum(s["writer_waits" if name == "terminal_full" else "reader_waits"] for s in found)
    expected = sum(writes for _, writes in CASES[name])
    expected -= name in ("terminal_line", "terminal_several")
    uncertain = sum(s["uncertain"] for s in found)
    good = waits == expected and uncertain == (name == "terminal_several")
    results.check(good, f"{name}: {expected} waits matched, {uncertain} uncertain: {found}")
    notes = [note for note in profile["diagnostics"]["notes"] if "uncertain: 1. " in note]
    results.check(len(notes) == uncertain, f"{name}: a note says how many are uncertain: {notes}")


def check_pipeline(results, folder):
    dump = folder / "pipeline.dump"
    native = subprocess.run(
        ["sh", "-c", PIPELINE], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    done = run(["sh", "-c", PIPELINE], dump)
    same = (done.stdout, done.stderr, done.returncode) == (
        native.stdout,
        native.stderr,
        native.returncode,
    )
    results.check(same, f"{PIPELINE}: as natively: {done.stdout!r} {done.stderr!r}")
    profile = read(dump)
    found = [(s["from"], s["to"]) for s in inside(profile)]
    results.check(sorted(found) == sorted(WRITERS), f"who writes to whom: {found}")
    lost = [s for s in followed(profile) if s["unmatched"]]
    results.check(not lost, f"every read is matched: {lost}")
    text = subprocess.run(
        [BUILD / "cpa-report", dump], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    ).stdout
    results.check("grep -> sort" in text, "the text names writer and reader")
    dump.unlink()
    run(["sh", "-c", "seq 100000 | sort -n | sort -rn | tail -1"], dump)
    text = " ".join(ask("--level", "stream", dump).split())
    results.check("Of sort it is that of its 2 processes." in text, "the text says whose the path is")
    dump.unlink()
    run(["sh", "-c", "seq 100000 | cat | cat | cat | tail -1"], dump)
    rows = [line.split() for line in ask("--level", "stream", dump).splitlines()]
    found = [row[0] for row in rows if row[-4:] == ["pipe", "cat", "->", "cat"]]
    results.check(found[-1] == "2", f"pipes between processes of one command: {found}, the last 2")
    dump.unlink()


def check_stage(results, folder):
    if len(os.sched_getaffinity(0)) < 2:
        results.skip(STAGES, "2 processors needed")
        return
    dump = folder / "stages.dump"
    done = run(["sh", "-c", STAGES], dump)
    results.check(done.returncode == 0, f"{STAGES}: {done.stderr!r}")
    verdict = read(dump)["verdict"]
    # Where head had no processor for long, sha512sum waited for it more than it did for sha512sum.
    said = {"stage": "waits for sha512sum, which has", "serial": "the one thread sha512sum has"}
    words = said.get(verdict["kind"])
    results.check(
        words is not None and words in verdict["sentence"],
        f"{STAGES}: {verdict['kind']}, {verdict['sentence']}",
    )
    table = subprocess.run(
        [BUILD / "cpa-report", "--level", "stream", "--format", "csv", dump],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    ).stdout.splitlines()
    rows = [line.split(",")[:3] for line in table[1:]]
    results.check(
        ['"pipe"', '"head"', '"sha512sum"'] in rows and ['"pipe"', '"sha512sum"', '"cat"'] in rows,
        f"--level stream as CSV: {rows}",
    )
    dump.unlink()


def ask(*words):
    return subprocess.run(
        [BUILD / "cpa-report", *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    ).stdout


def check_saves(results, folder):
    """What --level stream says that messages without cost save is what --what-if predicts."""
    dump = folder / "saves.dump"
    done = run([PROGRAMS / "streams", "small_buffer"], dump, CPA_JOURNAL="16M")
    results.check(done.returncode == 0, f"saves: {done.stderr!r}")
    table = csv.DictReader(ask("--level", "stream", "--format", "csv", dump).splitlines())
    rows = [row for row in table if row["from"] and row["to"]]
    name = f"{rows[0]['from']} -> {rows[0]['to']}"
    asked = json.loads(ask("--what-if", f"stream:{name}=0", "--format", "json", dump))
    prediction = asked["predictions"][0]
    saves = max(prediction["unchanged_s"] - prediction["changed_s"], 0)
    good = len(rows) == 1 and abs(float(rows[0]["saved_s"]) - saves) < 2e-9
    results.check(good, f"saves: {name}: {[row['saved_s'] for row in rows]}, predicted {saves:.9f}")
    results.check("saves  kind" in ask("--level", "stream", dump), "saves: the text has them")
    profile = read(dump)
    listed = [s["saved_s"] for s in inside(profile)]
    good = len(listed) == 1 and listed[0] is not None and abs(listed[0] - saves) < 2e-9
    results.check(good, f"saves: {name}: JSON has {listed}, predicted {saves:.9f}")
    page = ask("--format", "html", dump)
    key = '"streams":'
    shown, _ = json.JSONDecoder().raw_decode(page, page.index(key + "[{") + len(key))
    results.check(shown == profile["streams"], "saves: the page has the same")
    dump.unlink()


STRANGER_S = 0.4  # for which the stranger's end is waited for, at least
READ, WAITS = "0", ("61", "247")  # system calls: read(), and those that wait for a child


def blocked_in(pid, calls):
    """Whether the process sleeps in one of these system calls. PermissionError: that cannot be seen."""
    try:
        return pathlib.Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()[0] in calls
    except (FileNotFoundError, ProcessLookupError):
        return False


def named(parent, name):
    """The child of that name, 0 if there is none yet."""
    for pid in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        try:
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name:
                return int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return 0


def check_stranger(results, folder):
    """
    A writer that is not profiled: who waits for its end is not explained by an earlier close, so that is
    external time of the observed path. It ends when all have waited for long enough.
    """
    dump = folder / "stranger.dump"
    script = "env -u LD_PRELOAD -u CPA_SESSION head -c 1 | cat; env -u LD_PRELOAD sleep 0.1"
    with subprocess.Popen(
        ["sh", "-c", script],
        env=profiled_environment(dump),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as shell:
        try:
            while not blocked_in(named(shell.pid, "cat"), READ) or not blocked_in(shell.pid, WAITS):
                time.sleep(0.01)
            time.sleep(STRANGER_S)
            seen = True
        except (PermissionError, FileNotFoundError):
            seen = False
        shell.communicate(b"x")
    results.check(shell.returncode == 0, f"{script}: ends with {shell.returncode}")
    observed = read(dump)["program"]["observed_segments"]
    if seen:
        # How much of it the thread was ready is the kernel's word, which may take a sleep for that.
        good = observed["external_s"] + observed["runqueue_s"] >= STRANGER_S * (1 - PIECE)
        results.check(good, f"a wait for a stranger is no hand-off: {observed}")
    else:
        results.skip("a wait for a stranger", "where processes wait cannot be seen here")
    dump.unlink()


def check_note(results, folder):
    """What a program outside writes into a pipe of the session is unmatched, and a note says how much."""
    dump = folder / "note.dump"
    # The shell reads byte by byte, so that a late reader, too, has read what nobody of the session wrote.
    writers = "{ echo ab; env -u LD_PRELOAD -u CPA_SESSION /bin/echo cd; echo ef; }"
    script = f'{writers} | while read -r line; do echo "$line"; done'
    done = run(["sh", "-c", script], dump)
    results.check(done.stdout == "ab\ncd\nef\n", f"{script}: {done.stdout!r}")
    profile = read(dump)
    count = sum(s["unmatched"] for s in profile["streams"] if s["kind"] == "pipe" and s["from"])
    notes = [note for note in profile["diagnostics"]["notes"] if note.startswith("Reads from streams")]
    good = count and len(notes) == 1 and "(pipe) of bytes" in notes[0] and f": {count}." in notes[0]
    results.check(good, f"{count} reads unmatched: {notes}")
    dump.unlink()


# Cases of tests/programs/not_followed.c: kind in the report, and what a read that waits is.
NOT_FOLLOWED = {
    "terminal": ("terminal", ("input", "idle")),
    "once": ("timerfd", ("sleep", "service")),
    "each": ("timerfd", ("input", "idle")),
    "signal": ("signalfd", ("input", "idle")),
    "files": ("inotify", ("input", "idle")),
}
ASLEEP_S = 0.01  # for which the program saw that it waits, at least


def check_not_followed(results, folder, name, how):
    """A wait for a descriptor that is not followed is counted by its kind, and idle or service."""
    kind, external = NOT_FOLLOWED[name]
    label = f"not followed: {' '.join([name, *how])}"
    dump = folder / "not_followed.dump"
    done = run([PROGRAMS / "not_followed", name, *how], dump)
    results.check(done.returncode == 0, f"{label}: {done.stderr!r}")
    profile = read(dump)
    dump.unlink()
    found = [s for s in profile["streams"] if s["kind"] == kind]
    good = len(found) == 1 and not found[0]["from"] and found[0]["unmatched"] == 1
    good = good and found[0]["to"] == "not_followed, forked"
    # How much of it the thread was ready is the kernel's word, which may take a sleep for that.
    ready_s = sum(thread["runqueue_s"] for thread in profile["threads"])
    good = good and found[0]["reader_wait_s"] + ready_s >= ASLEEP_S
    results.check(good, f"{label}: one wait for it, {ready_s:.4f} s ready: {found}")
    if good and not found[0]["reader_wait_s"]:
        results.skip(f"{label}: the size of the wait", TAKEN)
        return
    rows = [row for row in profile["diagnostics"]["unexplained"] if row["by"] == kind]
    good = len(rows) == 1 and (rows[0]["what"], rows[0]["count"]) == ("reads", 1)
    good = good and rows[0]["total_s"] == found[0]["reader_wait_s"]
    results.check(good, f"{label}: among what was not seen: {rows}")
    classes = {c["name"]: c["class"] for c in profile["components"] if c["kind"] == "external"}
    expected, is_a = ("poll", "idle") if how else external
    results.check(classes.get(expected) == is_a, f"{label}: {expected} is {is_a}: {classes}")


CONNECTIONS, CLIENTS, MESSAGES = 40, ("one", "two", "three"), 2  # as tests/programs/connects_at_once.c has them


def check_connects(results, folder, threads):
    """
    Connects of one process that are under way at the same time: who accepts asks the kernel whose they are.
    It may not in a process with threads: then some are not known, and none is taken for another.
    """
    dump = folder / "connects.dump"
    label = f"connects at once, {threads} accept{'s' if threads == 1 else ''}"
    done = run([PROGRAMS / "connects_at_once", str(threads)], dump)
    results.check(done.returncode == 0, f"{label}: {done.stderr!r}")
    profile = read(dump)
    rows = [s for s in profile["streams"] if s["kind"] == "unix socket"]
    lost = [(s["from"], s["to"], s["unmatched"]) for s in rows if s["from"] and s["unmatched"]]
    results.check(not lost, f"{label}: none is taken for another {lost}")
    if threads == 1:
        found = {(s["from"], s["to"]): s["bytes"] for s in rows}
        server, total = "connects_at_once, forked", CONNECTIONS * MESSAGES
        expected = {(name, server): (i + 1) * total for i, name in enumerate(CLIENTS)}
        expected.update({(to, who): n for (who, to), n in expected.items()})
        results.check(found == expected, f"{label}: each is known {found}")
    dump.unlink()


def check_replaced(results, folder):
    """No byte of a file is taken for one of the pipe that had its number before."""
    dump = folder / "replaced.dump"
    done = run([PROGRAMS / "streams", "replaced"], dump)
    results.check(done.returncode == 0, f"replaced: {done.stderr!r}")
    found = [(s["kind"], s["bytes"], s["unmatched"]) for s in followed(read(dump))]
    results.check(
        found == [("pipe", 4, 0)] * 2,
        f"replaced: two pipes of popen(), two of its own, each of 2 bytes: {found}",
    )
    dump.unlink()


def check_full_counter(results, folder):
    """Each write of an eventfd has 8 bytes, whatever it adds. A counter beyond what is counted: unmatched."""
    dump = folder / "full_counter.dump"
    done = run([PROGRAMS / "streams", "full_counter"], dump)
    results.check(done.returncode == 0, f"full_counter: {done.stderr!r}")
    rows = [s for s in followed(read(dump)) if s["kind"] == "eventfd"]
    found = [(s["bytes"], s["writes"], s["unmatched"], s["writer_waits"]) for s in rows]
    good = found == [(16, 2, 1, 1)] and rows[0]["writer_wait_s"] > 0
    results.check(good, f"full_counter: 2 writes of 8 bytes, of which one waited for room: {found}")
    dump.unlink()


# Cases of tests/programs/stale.c, and the bytes of their streams.
STALE = {"failed": 5, "closed_beside": 4000, "daemon": 2, "login_tty": 2, "forkpty": 2, "nothing": 5, "at_exit": 7,
         "copied": 8}


def check_stale(results, folder, name, total):
    """Bytes of files that have the number of a descriptor before or after are none of the stream."""
    dump = folder / f"stale-{name}.dump"
    ours, theirs = os.pipe()  # whose other end is closed when all processes of the program have ended
    environment = profiled_environment(dump)
    process = subprocess.Popen([PROGRAMS / "stale", name], env=environment, pass_fds=[theirs])
    os.close(theirs)
    status = process.wait(TIMEOUT_S)
    os.read(ours, 1)
    os.close(ours)
    results.check(status == 0, f"stale {name}: ends with {status}")
    found = [(s["kind"], s["bytes"], s["unmatched"]) for s in followed(read(dump))]
    good = sum(each[1] for each in found) == total and not any(each[2] for each in found)
    if name == "copied":
        good = good and [each[1] for each in found if each[0] == "TCP"] == [total]
    results.check(good, f"stale {name}: {total} bytes, all read ones matched: {found[:4]}")
    dump.unlink()


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="streams.", dir=os.environ.get("CPA_TMP")))
    for name, streams in CASES.items():
        if len(sys.argv) < 2 or name in sys.argv[1:]:
            check_case(results, name, streams, folder)
    check_pipeline(results, folder)
    check_stage(results, folder)
    check_saves(results, folder)
    check_stranger(results, folder)
    check_note(results, folder)
    for name in NOT_FOLLOWED:
        for how in ([], ["poll"]):
            check_not_followed(results, folder, name, how)
    for threads in (1, 3):
        check_connects(results, folder, threads)
    check_replaced(results, folder)
    check_full_counter(results, folder)
    for name, total in STALE.items():
        check_stale(results, folder, name, total)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
