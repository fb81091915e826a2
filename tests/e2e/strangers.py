#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/strangers.py - a session is its user's alone

Who may open a session, what becomes of it in a folder where others write, and which programs are
left alone: set-uid ones, and children that become another user. What needs two users needs root;
without, it is skipped. Prints TAP and a summary.
"""

import os
import pathlib
import shutil
import signal
import stat
import sys
import tempfile

from surroundings import ROOT, Run, Tests

STRANGER = 65534


def become_stranger():
    os.setgroups([])
    os.setgid(STRANGER)
    os.setuid(STRANGER)


class Strangers(Tests):
    """The cases, in a folder that everybody may enter."""

    def __init__(self, build, folder):
        super().__init__(build, folder)
        self.launcher = str(build / "cpa")
        self.top = str(build / "cpa-top")
        self.build = build
        folder.chmod(0o755)

    def as_stranger(self, name):
        """Whether there is another user who can run our programs."""
        done = Run([self.target, "work"], self.environment(), "/", become_stranger if ROOT else None)
        if ROOT and done.status == 5:
            return True
        self.results.skip(name, "no other user here" if not ROOT else "it cannot run the program")
        return False

    def rights(self):
        for mask in (0, 0o777):
            dump = self.new_dump()
            self.same(f"umask {mask:o}", [self.target, "work"], dump, (0,), None, lambda: os.umask(mask))
            mode = stat.S_IMODE(dump.stat().st_mode)
            self.results.check(mode == 0o600 & ~mask, f"umask {mask:o}: the session has mode {mode:o}")

    def reading(self):
        name = "a stranger"
        if not self.as_stranger(name):
            return
        dump = self.new_dump()
        process = self.start_loop(dump)
        for command, words in (
            ([self.report_program, str(dump)], "Permission denied"),
            ([self.top, str(dump)], "Permission denied"),
            ([self.top, str(process.pid)], "it must be a process of your own"),
        ):
            done = Run(command, self.environment(TERM="dumb"), "/", become_stranger)
            said = " / ".join(done.err)
            good = done.status == 1 and len(done.err) == 1 and words in said and not done.out
            tool = pathlib.Path(command[0]).name
            self.results.check(good, f"{name}: {tool} ends with {done.status}, says {said}")
        process.send_signal(signal.SIGTERM)
        process.communicate()

    def children(self):
        name = "a child that becomes a stranger"
        if not self.as_stranger(name):
            return
        for how in ("libc", "setuid", "setreuid", "setresuid"):
            dump = self.new_dump()
            self.same(f"{name} by {how}", [self.target, "child", how], dump)
            self.readable(f"{name} by {how}", dump)
        place = self.folder / "sticky"
        place.mkdir()
        place.chmod(0o1777)
        change = ["setpriv", f"--reuid={STRANGER}", "--clear-groups", "--regid", str(STRANGER)]
        script = f'"$0" work; exec {" ".join(change)} "$0" work'
        if Run([*change, "true"], self.environment()).status:
            self.results.skip(f"{name}, and another program", "no setpriv")
            return
        command = ["sh", "-c", script, self.target]
        self.same(f"{name}, and another program", command, place / "%e.%p", (0,))
        # What another user runs has no part in the session, and makes none of its own.
        owners = sorted(each.stat().st_uid for each in place.iterdir())
        good = owners == [0]
        self.results.check(good, f"{name}, and another program: sessions of users {owners}")
        modes = {stat.S_IMODE(each.stat().st_mode) for each in place.iterdir()}
        self.results.check(modes == {0o600}, f"{name}, and another program: {modes}")
        self.same(f"{name}, and the same name", command, place / "same", (0, 1, 2))

    def swapped(self):
        """Somebody puts another file of ours in the place of the session, while the program runs."""
        place = self.folder / "open"
        place.mkdir()
        place.chmod(0o777)
        other = self.new_dump()
        self.same("another session", [self.target, "work"], other)
        before = other.stat().st_size
        for how in ("ln", "ln -s"):
            dump = place / "x"
            command = [self.launcher, "run", "-o", str(dump), "--", "sh", "-c"]
            done = Run([*command, f"unset LD_PRELOAD; rm {dump}; {how} {other} {dump}"], self.environment())
            after = other.stat().st_size
            self.results.check(done.status == 0, f"{how}: ends with {done.status}")
            self.results.check(after == before, f"{how}: {before} bytes, then {after}")
            self.readable(how, other)
            dump.unlink()

    def privileged(self):
        name = "a set-uid program"
        program = self.folder / "setuid"
        shutil.copy(self.target, program)
        if not ROOT or os.statvfs(program).f_flag & os.ST_NOSUID:
            self.results.skip(name, "not root, or set-uid bits mean nothing here")
            return
        os.chown(program, STRANGER, STRANGER)
        program.chmod(0o4755)
        dump = self.new_dump()
        self.same(name, [str(program), "work"], dump)
        self.results.check(not dump.exists(), f"{name}: no session")
        done = Run([self.launcher, "run", "--", str(program), "work"], self.environment())
        good = done.status == 126 and "set-uid" in " ".join(done.err)
        self.results.check(good, f"{name}: cpa run ends with {done.status}, says {done.err}")
        # The system's own list is obeyed for set-uid programs, too.
        etc = self.folder / "etc"
        for part in ("upper", "work"):
            (etc / part).mkdir(parents=True)
        (etc / "upper/ld.so.preload").write_text(self.preload + "\n")
        layers = f"lowerdir=/etc,upperdir={etc}/upper,workdir={etc}/work"
        script = f'mount -t overlay none -o {layers} /etc && exec "$0" "$@"'
        inside = ["unshare", "-m", "sh", "-c", script]
        place = self.folder / "listed"
        place.mkdir()
        place.chmod(0o1777)
        env = self.environment(CPA_OUTPUT=str(place / "%e"))
        plain = Run([*inside, self.target, "work"], env)
        if plain.status != 5 or not (place / "target").exists():
            self.results.skip(f"{name}, listed in /etc/ld.so.preload", "no overlay on /etc here")
            return
        done = Run([*inside, str(program), "work"], env)
        good = done.status == 5 and not done.err and not (place / "setuid").exists()
        self.results.check(good, f"{name}, listed in /etc/ld.so.preload: left alone {done.err}")


def main():
    # Everybody may enter it, unlike CPA_TMP.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-strangers."))
    tests = Strangers(pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve(), folder)
    for group in (tests.rights, tests.reading, tests.children, tests.swapped, tests.privileged):
        group()
    return tests.results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
