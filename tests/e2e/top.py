#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/top.py - cpa top on a terminal: of programs that run, have ended, were killed

Prints TAP.
"""

import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import layout
from terminal import ENTER, ESCAPE, INTERRUPT, TIMEOUT_S, Terminal, check, describe, plan

BUILD = pathlib.Path(os.environ["CPA_BUILD"]).resolve()
SERVER = BUILD / "tests/programs/server"

# Of the header in shadow/format/layout.h.
HEADER, HEADER_PID, HEADER_STARTED, HEADER_HOST = layout.values(
    "CPA_HEADER_SIZE",
    "offsetof(struct cpa_header, pid)",
    "offsetof(struct cpa_header, started)",
    "offsetof(struct cpa_header, host)",
)


class Server:
    """The server under cpa run, until its input is closed."""

    def __init__(self, folder, dump):
        self.dump = folder / dump
        self.cpa = subprocess.Popen(
            [str(BUILD / "cpa"), "run", "-q", "-o", dump, "--", str(SERVER)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Four threads, and the first marks.
        while self.header()[1] < 5 and self.cpa.poll() is None:
            time.sleep(0.05)
        self.pid = self.header()[0]

    def header(self):
        """The process, and how many threads it had, from the start of the dump."""
        try:
            with open(self.dump, "rb") as file:
                head = file.read(HEADER)
        except FileNotFoundError:
            head = b""
        if len(head) < HEADER:
            return 0, 0
        pid = struct.unpack_from("<I", head, HEADER_PID)[0]
        return pid, struct.unpack_from("<Q", head, HEADER_STARTED)[0]

    def finish(self):
        out, err = self.cpa.communicate(timeout=TIMEOUT_S)
        return out, err, self.cpa.returncode


def make_opener(folder):
    """An xdg-open of our own, first in PATH, which writes its argument to the file "shown"."""
    opener = folder / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" >{folder}/new && mv {folder}/new {folder}/shown\n')
    opener.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def test_live(folder):
    server = Server(folder, "live.dump")
    make_opener(folder)
    top = Terminal(folder, BUILD / "cpa", "top", server.pid)
    if not top.wait(rf"^server, pid {server.pid}: running, .* 5 threads", "a process is found"):
        top.close()
        return
    maps = pathlib.Path(f"/proc/{top.process.pid}/maps").read_text()
    mapped = [line for line in maps.splitlines() if "live.dump" in line]
    check(mapped and all(" r--s " in line for line in mapped), "its session is mapped to be read")
    check("TracerPid:\t0" in pathlib.Path(f"/proc/{server.pid}/status").read_text(), "not traced")
    top.wait(r"^critical path +\S+ m?s +\+\S+ \S+ in the last", "the last interval is shown")
    top.wait(r"thread +clerk +server.c:\d+", "components")
    top.press("l")
    top.wait(r"mutex le.*\.c:33", "locks")
    top.press("u")
    # A clerk puts a request into the queue each 20 ms, and later on a busy machine.
    top.wait(r"^ +\d+ +\d*\.?\d*[1-9]\d* +(\S+) .* requests$", "queues, and a queue's rate")
    top.press(ENTER)
    top.wait(r"^queue requests\n.*; lately ", "a queue is looked into")
    top.wait(r"^depth, in the last \d+ readings", "its depth")
    top.press(ESCAPE + "t")
    top.wait(r"waiting +guard +sleep night", "a thread that waits, and where")
    top.wait(r"blocked +main", "a thread that is blocked elsewhere")
    top.press("/clerk" + ENTER)
    top.wait(r"^ .* clerk ", "its row", absent="teller")
    top.press(ENTER)
    top.wait(r"^thread \d+, of clerk\n", "a thread is looked into")
    top.wait(r"^CPU, in the last \d+ readings", "its CPU time")
    top.wait(r" external +sleep *$", "and what it spent")
    top.press(ESCAPE + ESCAPE + "m")
    top.wait(r"opened$", "marks")
    top.press("/opened" + ENTER + ENTER)
    top.wait(r"^mark opened\nat \S+ [mu]?s by thread \d+;", "a mark is looked into")
    top.press(ESCAPE + ESCAPE)
    top.press("1/ledg")
    top.wait(r"^/ledg_", "a filter is typed")
    top.press(ENTER)
    top.wait(r"lock +ledger", "and selects", absent="clerk")
    top.press(ENTER)
    top.wait(r"^lock ledger\n.*server.c:\d+\n.*\n.*\n.*\nsaves ", "a component is looked into")
    top.wait(r"^\d+ edges of the activity graph touch it\n.*\n.* activity ", "its edges come")
    top.press(ESCAPE)
    top.wait(r"\[1 components\]", "and back")
    top.press(ESCAPE)
    top.wait(r"clerk", "all components again")
    test_freeze(top)
    test_report(folder, server, top)
    test_page(server, top, folder)
    top.press("?")
    top.wait(r"^space +freeze", "help")
    top.resize(40, 120)
    top.press("?")
    top.wait(r"\[1 components\]", "another size of the screen")
    top.wait(r"\A(.*\n){39}1-6 view", "the last line is used")
    top.resize(24, 80)
    top.press("q")
    top.end(0, "q")
    top.close()
    server.cpa.stdin.close()
    server.cpa.stdin = None
    check(server.finish() == ("closed\n", "", 3), "the program's output and status are its own")


def test_freeze(top):
    top.press(" ")
    top.wait(r"^FROZEN server", "freeze")
    top.settle()
    before = top.screen.text()
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        top.read(0.1)
    check(top.screen.text() == before, "what is frozen stays", top.screen.text())
    top.press(" ")
    top.wait(r"\Aserver, ", "goes on", absent=re.escape(before.splitlines()[1]))


def test_report(folder, server, top):
    top.press("w")
    found = top.wait(r"^report in (cpa\.top\.\d+\.\S+\.txt)$", "a report is written")
    text = (folder / found[1]).read_text() if found else ""
    check(found and f".{server.pid}." in found[1], "named by its process")
    check("What the run would gain" in text and "The profiler itself" in text, "as of cpa-report")
    top.press("w")
    top.wait(r"^(cannot write|report in) cpa\.top", "another is written, or cannot be")
    top.settle()
    check(found and (folder / found[1]).read_text() == text, "it does not replace the first one")


def test_page(server, top, folder):
    """tests/e2e/page.py opens pages; here the browser is a script that notes which it was given."""
    top.press("o")
    found = top.wait(r"^page in (cpa\.top\.\d+\.\S+\.html)", "a page is written")
    text = (folder / found[1]).read_text(encoding="utf-8") if found else ""
    check(f'"pid":{server.pid}' in text and text.endswith("</html>\n"), "it is of the process, and whole")
    shown, end = folder / "shown", time.monotonic() + TIMEOUT_S
    while found and not shown.exists() and time.monotonic() < end:
        time.sleep(0.05)
    check(found and shown.exists() and shown.read_text().strip() == found[1], "the browser gets it")


def test_finished(folder):
    top = Terminal(folder, BUILD / "cpa", "top", "live.dump")
    top.wait(r"^server, pid \d+: finished, ", "a dump of a program that ended")
    top.press("t")
    top.wait(r"by CPU$", "threads by all of their CPU time")
    top.wait(r"exited +teller", "threads that have ended")
    top.press(INTERRUPT)
    top.end(0, "Ctrl-C")
    top.close()
    # Without a name: the newest.
    (folder / "old.dump").write_bytes(b"")
    os.utime(folder / "old.dump", (1, 1))
    top = Terminal(folder, BUILD / "cpa", "top")
    top.wait(r": finished, ", "the newest dump")
    os.kill(top.process.pid, signal.SIGTERM)
    top.end(-signal.SIGTERM, "SIGTERM")
    top.close()


def test_copied(folder, server):
    """A copy is of a program that ran, and no more than that."""
    command = [str(BUILD / "cpa-ctl"), str(server.pid), "snapshot", "copied.dump"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    check(done.returncode == 0, "a copy is taken", done.stderr)
    top = Terminal(folder, BUILD / "cpa", "top", "copied.dump")
    top.wait(r"\Aserver, pid \d+: copied while it ran, .* 5 threads", "a copy is looked at")
    top.press("q")
    top.end(0, "q")
    top.close()


def await_lock(top):
    """Until the server has used its lock, which it need not soon; then the first view again."""
    top.press("2")
    top.wait(r"mutex le.*\.c:33", "a lock of a program that runs")
    top.press("1")
    top.wait(r"thread +clerk", "and its threads")


def test_killed(folder):
    server = Server(folder, "killed.dump")
    test_copied(folder, server)
    top = Terminal(folder, BUILD / "cpa", "top", "killed.dump")
    top.wait(r": running, ", "a dump of a program that runs")
    await_lock(top)
    os.kill(server.pid, signal.SIGKILL)
    top.wait(r": gone \(killed, ", "it is killed")
    server.finish()
    top.press("2")
    top.wait(r"mutex le.*\.c:33", "its locks are known")
    os.kill(top.process.pid, signal.SIGSEGV)
    top.end(-signal.SIGSEGV, "a crash")
    top.close()
    top = Terminal(folder, BUILD / "cpa", "top", "killed.dump", kind="xterm-256color")
    while "gone (killed" not in top.screen.raw and top.process.poll() is None:
        try:
            top.read(0.1)
        except ValueError:
            pass
    top.press("q")
    while top.process.poll() is None:
        try:
            top.read(0.1)
        except ValueError:
            pass
    check(top.process.returncode == 0 and "gone (killed" in top.screen.raw, "a terminal of another kind")
    top.close()


def test_end(folder):
    server = Server(folder, "end.dump")
    top = Terminal(folder, BUILD / "cpa", "top", server.pid)
    top.wait(r": running, ", "a program that will end")
    await_lock(top)
    server.cpa.stdin.close()
    server.cpa.stdin = None
    top.wait(r": finished, ", "its end is seen")
    check(server.finish() == ("closed\n", "", 3), "and was its own")
    os.truncate(folder / "end.dump", HEADER)
    top.press("2")
    top.wait(r"mutex le.*\.c:33", "what was read stays, whatever becomes of the file")
    # The other side of the terminal goes.
    os.close(top.master)
    try:
        status = top.process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        top.process.kill()
        status = "hangs"
    check(status == -signal.SIGHUP, f"without a terminal: ends with {status}")
    os.close(top.slave)


def test_cut(folder):
    # As of another machine, so that it may still be written there.
    dump = bytearray((folder / "killed.dump").read_bytes()[: 1 << 24])
    dump[HEADER_PID : HEADER_PID + 4] = struct.pack("<I", 999999999)
    dump[HEADER_HOST : HEADER_HOST + 10] = b"elsewhere\0"
    (folder / "cut.dump").write_bytes(dump)
    top = Terminal(folder, BUILD / "cpa", "top", "cut.dump")
    top.wait(r"\Aserver, pid 999999999: did not finish, or runs elsewhere", "of another machine")
    os.truncate(folder / "cut.dump", HEADER)
    top.wait(r"cut\.dump: truncated during reading$", "the file is cut: nothing crashes")
    top.wait(r"\Aserver, .* its file is gone or damaged, .* 5 threads", "the last reading stays")
    top.press("q")
    top.end(0, "q")
    top.close()


def test_refusals(folder):
    def run(*arguments):
        done = subprocess.run(
            [str(BUILD / "cpa"), "top", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    (folder / "junk.dump").write_bytes(b"junk" * 4096)
    cases = [
        (["999999999"], 1, "no such process"),
        ([str(os.getpid())], 1, "not profiled"),
        (["nothing.dump"], 1, "cannot open"),
        (["junk.dump"], 1, "a cpa session file expected"),
        (["live.dump", "live.dump"], 2, "one process or dump expected"),
        (["--nonsense"], 2, "option --nonsense: not known"),
        (["live.dump"], 2, "needs a terminal"),
    ]
    for arguments, status, words in cases:
        got, err = run(*arguments)
        check(
            got == status and words in err and err.count("\n") == 1,
            f"cpa top {' '.join(arguments)}: {words}".replace(str(os.getpid()), "PID"),
            err,
        )
    got, out = run("--help")
    check(got == 0, "cpa top --help")


def main():
    folder = pathlib.Path(os.environ.get("CPA_TMP") or tempfile.mkdtemp())
    if not describe(folder):
        print("1..0 # SKIP tic cannot make a terminal's description")
        return 77
    test_live(folder)
    test_finished(folder)
    test_killed(folder)
    test_end(folder)
    test_cut(folder)
    test_refusals(folder)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
