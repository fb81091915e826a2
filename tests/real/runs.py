# SPDX-License-Identifier: MIT
"""tests/real/runs.py - one program natively and under cpa run, in a folder made anew each time"""

import ctypes
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import pwd
import re
import select
import shlex
import shutil
import signal
import subprocess
import time

import programs as benchmarks
import serving

# Not a limit on speed: what takes this long hangs.
HANGS_S = 120
# Processes that outlive the program end in this time, or are killed.
LINGER_S = 2
OURS = re.compile(r"^cpa(?:-\w+)?(?:\[\d+\])?: .*", re.MULTILINE)
CLIENT_FAILS = "the client ends with"
SUBREAPER = 36  # of prctl(): orphans become children of this process


@dataclasses.dataclass
class Outcome:
    """What one run did."""

    status: object = None
    out: str = ""
    err: str = ""
    files: dict = dataclasses.field(default_factory=dict)
    look: str = ""  # output of the program's `look`
    client: str = ""  # output of a server's client
    wall_s: float = 0.0
    cpu_s: float = 0.0


@dataclasses.dataclass
class Tried:
    """Both runs of a program, and what is wrong."""

    skipped: str = ""
    problems: list = dataclasses.field(default_factory=list)
    details: list = dataclasses.field(default_factory=list)
    native: Outcome = None
    profiled: Outcome = None
    report_s: float = None
    refusal: str = ""
    said: str = ""  # a line of ours that belongs there
    notes: list = dataclasses.field(default_factory=list)  # what the report says of itself
    processes: int = 0
    threads: int = 0

    def summary(self):
        if self.refusal:
            return f"refused: {self.refusal}"
        native, profiled = self.native, self.profiled
        return (
            f"{native.wall_s:.2f} s, {profiled.wall_s:.2f} s under cpa; CPU {native.cpu_s:.2f} s, "
            f"{profiled.cpu_s:.2f} s; report {self.report_s:.2f} s"
        )


def descendants():
    """Processes that come from this one, by pid."""
    parents, found, new = {}, set(), [os.getpid()]
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    while new:
        children = parents.get(new.pop(), [])
        found.update(children)
        new += children
    return found


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_all(linger_s):
    """Nothing that this process started goes on."""
    end = time.monotonic() + linger_s
    while True:
        reap()
        left = descendants()
        if not left:
            return
        if time.monotonic() > end:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        time.sleep(0.02)


class Place:
    """Where a program runs: the folders work, home and tmp, as whom, and with what environment."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder / "place"
        self.work, self.kept = self.folder / "work", folder / "kept"
        self.tools = folder
        with serving.hold_port() as held:  # not all programs allow it to be in use
            port = held.getsockname()[1]
        self.words = {"{work}": str(self.work), "{port}": str(port), "{next_port}": str(port + 1)}
        self.owner = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.owner = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)

    def fill(self, text):
        for word, value in self.words.items():
            text = text.replace(word, value)
        return text

    def environment(self):
        return {
            "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_RUNTIME_DIR": str(self.folder / "tmp"),
            "USER": "nobody",
            "LANG": "C.UTF-8",
            "SOURCE_DATE_EPOCH": "1000000000",
            **self.program.env,
        }

    def fresh(self):
        """Folders as before the first run."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in (self.folder, self.folder / "home", self.folder / "tmp"):
            path.mkdir(mode=0o700)
            self.give(path)
        if self.kept.exists():
            subprocess.run(["cp", "-a", self.kept, self.work], check=True)

    def give(self, path):
        if self.owner:
            os.chown(path, self.owner["user"], self.owner["group"])

    def shell(self, script):
        """Run a script, not under cpa; its exit status and output."""
        with open(self.folder / "shell", "w+", encoding="utf-8", errors="replace") as out:
            process = self.start(["sh", "-ec", self.fill(script)], out, subprocess.STDOUT)
            status, _ = self.wait(process)
            out.seek(0)
            return status, out.read()

    def set_up(self):
        """Make what every run begins with; what failed, or None."""
        shutil.rmtree(self.kept, ignore_errors=True)
        self.fresh()
        self.work.mkdir()
        self.give(self.work)
        for name, text in self.program.texts.items():
            file = self.work / name
            for path in reversed([p for p in file.parents if self.work in p.parents]):
                path.mkdir(exist_ok=True)
                self.give(path)
            file.write_text(self.fill(text), encoding="utf-8")
            self.give(file)
        status, said = self.shell(self.program.setup) if self.program.setup else (0, "")
        end_all(LINGER_S)
        if status:
            return f"set-up ends with {status}: {said[-300:].strip()}"
        subprocess.run(["cp", "-a", self.work, self.kept], check=True)
        return None

    def start(self, command, out, err):
        return subprocess.Popen(
            command,
            cwd=self.work,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            **self.owner,
        )

    def wait(self, process):
        """Its exit status and seconds of CPU; all that we started is killed if it does not end."""
        descriptor = os.pidfd_open(process.pid)
        ended = select.select([descriptor], [], [], HANGS_S)[0]
        os.close(descriptor)
        if not ended:
            for pid in descendants():
                os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        return (process.returncode if ended else "HANG"), cpu_s

    def is_ready(self):
        where = self.fill(self.program.ready)
        return serving.answers(("127.0.0.1", int(where)) if where.isdigit() else where)

    def serve(self, process):
        """Wait for a server, run its client, end it; what the client printed."""
        end = time.monotonic() + HANGS_S
        while not self.is_ready():
            gone = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if gone or time.monotonic() > end:
                return f"it does not start; {CLIENT_FAILS} nothing"
            time.sleep(0.02)
        status, said = self.shell(self.program.client)
        os.kill(process.pid, getattr(signal, self.program.stop))
        return said if status == 0 else f"{said}{CLIENT_FAILS} {status}"

    def run(self, before=()):
        """One run, its command behind @before."""
        self.fresh()
        outcome, program = Outcome(), self.program
        out, err = self.folder / "out", self.folder / "err"
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            begin = time.monotonic()
            command = [*before, *shlex.split(self.fill(program.command))]
            process = self.start(command, out_file, err_file)
            if program.ready:
                outcome.client = self.serve(process)
            outcome.status, outcome.cpu_s = self.wait(process)
            outcome.wall_s = time.monotonic() - begin
        end_all(LINGER_S)
        outcome.out = out.read_text(errors="replace")
        outcome.err = err.read_text(errors="replace")
        if program.look:
            outcome.look = self.shell(program.look)[1]
        outcome.files = self.files()
        return outcome

    def files(self):
        """Names and digests of the files in work; no digests of those that vary."""
        found = {}
        for path in sorted(self.work.rglob("*")):
            name = str(path.relative_to(self.work))
            if path.is_symlink():
                found[name] = os.readlink(path)
            elif path.is_file():
                varies = [each for each in self.program.ignore if fnmatch.fnmatch(name, each)]
                if varies:
                    # How many there are may vary, too.
                    found[varies[0]] = "some"
                else:
                    found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found


def differences(program, tried):
    """Append what the profiled run did otherwise."""
    native, profiled = tried.native, tried.profiled
    for line in OURS.findall(profiled.out + "\n" + profiled.err):
        if program.says and re.search(program.says, line):
            tried.said = re.sub(r"\[\d+\]", "", line)
            profiled.err = profiled.err.replace(f"{line}\n", "", 1)
        else:
            tried.problems.append(f"says {line!r}")
    if profiled.status != native.status:
        tried.problems.append(f"ends with {profiled.status}, natively {native.status}")
        tried.details += profiled.err.splitlines()[-8:]
    streams = ("out", "look", "client", *(("err",) if program.stderr else ()))
    for name in streams:
        one, other = getattr(native, name), getattr(profiled, name)
        if program.blur and name in ("out", "err"):
            one, other = (re.sub(program.blur, "", text) for text in (one, other))
        if one != other:
            tried.problems.append(f"another {name}")
            tried.details += [f"natively {one[-400:]!r}", f"profiled {other[-400:]!r}"]
    if native.files != profiled.files:
        changed = set(native.files.items()) ^ set(profiled.files.items())
        names = sorted({name for name, _ in changed})
        tried.problems.append(f"{len(names)} other files: {', '.join(names[:4])}")


def report(dump, build, tried):
    """The dump opens, its report knows how the program ended, and adds up or says that not."""
    program = build / "cpa-report"
    begin = time.monotonic()
    text = subprocess.run([program, dump], capture_output=True, check=False)
    tried.report_s = time.monotonic() - begin
    words = [program, "--format", "json", dump]
    done = subprocess.run(words, capture_output=True, check=False)
    if text.returncode or text.stderr or done.returncode:
        tried.problems.append(f"cpa-report: {(text.stderr or done.stderr).decode().strip()}")
        return
    figures = json.loads(done.stdout)
    tried.processes = len(figures["processes"])
    tried.threads = sum(each["threads"] for each in figures["processes"])
    if b"DID NOT FINISH" in text.stdout:
        tried.problems.append("the report says that it did not finish")
    # The report itself says if the observed path is 1 ms, and 0.1 %, off the run. That of processes
    # that are killed, or are children of vfork(), may be: the table has the line.
    off = [each for each in figures["diagnostics"]["notes"] if "observed path is" in each]
    (tried.problems if tried.processes == 1 else tried.notes).extend(off)
    doubts = benchmarks.doubts(figures)
    tried.problems += [each for each in doubts if "observed segments" not in each]


def refused(program, tried):
    ours = OURS.findall(tried.profiled.err)
    tried.refusal = ours[0] if ours else ""
    if tried.profiled.status != 126 or not re.search(program.refused, tried.refusal):
        tried.problems.append(f"ends with {tried.profiled.status}, and says {tried.refusal!r}")


def try_program(program, folder, build):
    place, tried = Place(program, folder), Tried()
    failure = place.set_up()
    if failure:
        tried.problems.append(failure)
        return tried
    tried.native = place.run()
    if tried.native.status != program.status or CLIENT_FAILS in tried.native.client:
        said = (tried.native.client or tried.native.err or tried.native.out).strip().splitlines()
        last = said[-1] if said else ""
        tried.skipped = f"natively it ends with {tried.native.status} here: {last}"
        return tried
    dump = place.folder / "run.dump"
    tried.profiled = place.run([str(folder / "cpa"), "run", "-q", "-o", str(dump), "--"])
    if program.refused:
        refused(program, tried)
        return tried
    differences(program, tried)
    if dump.exists():
        report(dump, build, tried)
    else:
        tried.problems.append("no dump is written")
    if tried.problems:
        kept = folder / f"{program.name.replace('/', ' ')}.dump"
        shutil.copy(dump, kept) if dump.exists() else None
    return tried
