# SPDX-License-Identifier: MIT
"""tests/e2e/terminal.py - a command on a terminal of its own, and what its screen shows; TAP

A pseudo terminal of a kind of our own, which can move the cursor and clear the screen and no more,
so that its screen is easily known.
"""

import codecs
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import termios
import time

# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 120
ENTER, ESCAPE, INTERRUPT = "\r", "\033", "\003"
LEAVE = "\033[?1049l"

TERMINAL = r"""cpa-test|a screen of few abilities,
	am, cols#80, lines#24,
	clear=\E[H\E[J, cr=\r, cup=\E[%i%p1%d;%p2%dH, ind=\n, rev=\E[7m, sgr0=\E[m,
	rmcup=\E[?1049l, smcup=\E[?1049h,
"""

results = {"ok": 0, "not ok": 0}


def check(good, text, screen=None):
    word = "ok" if good else "not ok"
    results[word] += 1
    print(f"{word} {sum(results.values())} - {text}", flush=True)
    if not good and screen is not None:
        print("\n".join(f"# |{line}" for line in screen.splitlines()), flush=True)
    return good


def plan():
    """The end of the test; its exit status."""
    print(f"1..{sum(results.values())}")
    return 1 if results["not ok"] else 0


def describe(folder):
    """Make the kind of terminal known in `folder`. False: tic cannot."""
    (folder / "cpa-test.ti").write_text(TERMINAL)
    done = subprocess.run(
        ["tic", "-x", "-o", str(folder / "terminfo"), str(folder / "cpa-test.ti")],
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


class Screen:
    """What a terminal shows after what was written to it."""

    CONTROL = re.compile(r"\033\[(\??[\d;]*)([A-Za-z])")

    def __init__(self, lines, columns):
        self.size(lines, columns)
        self.left = ""
        self.raw = ""

    def size(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.y = self.x = 0
        self.cell = [[" "] * columns for _ in range(lines)]

    def write(self, text):
        self.raw += text
        text = self.left + text
        self.left = ""
        at = 0
        while at < len(text):
            if text[at] == "\033":
                control = self.CONTROL.match(text, at)
                if not control:
                    self.left = text[at:]
                    return
                self.control(*control.groups())
                at = control.end()
            else:
                self.put(text[at])
                at += 1

    def control(self, numbers, letter):
        if letter == "H":
            place = [int(n) for n in numbers.split(";")] if numbers else [1, 1]
            self.y, self.x = min(place[0], self.lines) - 1, min(place[1], self.columns) - 1
        elif letter == "J":
            self.cell = [[" "] * self.columns for _ in range(self.lines)]
        elif letter not in "mhl":
            raise ValueError(f"unexpected control {numbers}{letter}")

    def put(self, character):
        if character == "\r":
            self.x = 0
        elif character == "\n":
            self.y = min(self.y + 1, self.lines - 1)
        elif character == "\b":
            self.x = max(self.x - 1, 0)
        elif character >= " ":
            if self.x == self.columns:
                self.x, self.y = 0, min(self.y + 1, self.lines - 1)
            self.cell[self.y][self.x] = character
            self.x += 1

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.cell)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, folder, *command, lines=24, columns=80, kind="cpa-test"):
        self.master, self.slave = pty.openpty()
        self.screen = Screen(lines, columns)
        self.marks = 1000  # above all attributes of text
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.resize(lines, columns)
        self.modes = termios.tcgetattr(self.slave)
        environment = dict(os.environ, TERM=kind, LC_ALL="C.UTF-8")
        environment.update(TERMINFO=str(folder / "terminfo") if kind == "cpa-test" else "")
        if kind != "cpa-test":
            del environment["TERMINFO"]
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment,
            cwd=folder,
            preexec_fn=self.own_terminal,
            start_new_session=True,
        )

    @staticmethod
    def own_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, lines, columns):
        self.screen.size(lines, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds):
        """Take in what comes within that time. False: nothing did."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            self.screen.write(self.decoder.decode(os.read(self.master, 65536)))
        except OSError:
            return False
        return True

    def sleeps(self):
        """How often the command has gone to sleep, if it sleeps now; else 0."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        times = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)
        return int(times[1]) if "State:\tS" in text and times else 0

    def settle(self):
        """
        Take in all of what the command has written by a moment at which it sleeps: the kernel may hand
        it on later, but not later than what we write behind it, which no screen shows.
        """
        while self.process.poll() is None:
            times = self.sleeps()
            if not times:
                self.read(0.01)
                continue
            self.marks += 1
            mark = f"\033[{self.marks}m"
            os.write(self.slave, mark.encode())
            while mark not in self.screen.raw:
                self.read(0.1)
            if self.sleeps() == times:
                return

    def press(self, keys):
        os.write(self.master, keys.encode())

    def wait(self, pattern, text, absent=None):
        """A check that a screen comes that matches @pattern and has no @absent."""
        end = time.monotonic() + TIMEOUT_S
        found = None
        while time.monotonic() < end and self.process.poll() is None:
            self.read(0.1)
            shown = self.screen.text()
            found = re.search(pattern, shown, re.M)
            if found and not (absent and re.search(absent, shown, re.M)):
                # All of the same screen.
                while self.read(0.1):
                    pass
                break
            found = None
        check(found is not None, text, self.screen.text())
        return found

    def end(self, status, text):
        """A check that the command ends with @status, and leaves the terminal as it was."""
        end = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        while self.read(0):
            pass
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            check(False, f"{text}: hangs")
        check(self.process.returncode == status, f"{text}: ends with {status}", str(self.process))
        check(termios.tcgetattr(self.slave) == self.modes, f"{text}: the terminal's modes are back")
        check(LEAVE in self.screen.raw, f"{text}: the other screen was left")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)
