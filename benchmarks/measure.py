# SPDX-License-Identifier: MIT
"""What the tables of benchmarks/run have in common: run, interleave, sum up, write Markdown."""
import hashlib
import json
import os
import signal
import statistics
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Fails(Exception):
    """A program cannot be measured; says why."""


class Run:
    """What one run of a command used; children that it waited for included."""

    def __init__(self, process, begun):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - begun
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak_kib = usage.ru_maxrss
        self.output = b""


def start(words, environment=None, folder=None, output=subprocess.DEVNULL,
          errors=subprocess.DEVNULL):
    return subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                            stderr=errors, env={**os.environ, **(environment or {})})


def run(words, environment=None, folder=None, errors=subprocess.DEVNULL):
    """Run a command that prints little."""
    begun = time.monotonic()
    process = start(words, environment, folder, subprocess.PIPE, errors)
    output = process.stdout.read()
    process.stdout.close()
    done = Run(process, begun)
    done.output = output
    return done


def run_hashed(words, environment, folder):
    """Run a command that prints much: `output` becomes a digest."""
    path = f"{folder}/stdout"
    with open(path, "wb") as output:
        begun = time.monotonic()
        done = Run(start(words, environment, folder, output), begun)
    with open(path, "rb") as output:
        done.output = hashlib.file_digest(output, "sha256").digest()
    return done


def stop(process, begun=0.0):
    """End a server that runs; what it used."""
    process.send_signal(signal.SIGTERM)
    return Run(process, begun)


def child(pid, name):
    """The process of program `name` that is `pid` or was started by it, or by such a child; None: none."""
    try:
        if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name:
            return pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            found = (child(int(each), name) for each in children.read().split())
            return next((each for each in found if each), None)
    except OSError:  # it has ended
        return None


def stop_behind(process, name, begun=0.0):
    """stop(), where `process` may be a tool that started the server `name` and ends with it."""
    server = child(process.pid, name)
    if server is None:
        process.kill()
        process.wait()
        raise Fails(f"{name} does not run behind the tool")
    os.kill(server, signal.SIGTERM)
    return Run(process, begun)


def interleaved(variants, rounds):
    """Call each of {name: function}, `rounds` times, every other round in the other order."""
    results = {name: [] for name in variants}
    for i in range(rounds):
        for name in list(variants)[::-1 if i % 2 else 1]:
            results[name].append(variants[name]())
    return results


def median(values):
    return statistics.median(values)


def spread(values):
    """The distance of the quartiles, as a share of the median."""
    if len(values) < 4 or not median(values):
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / median(values)


def ratios(values, natives):
    return [value / native for value, native in zip(values, natives) if native]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def git(*words):
    done = subprocess.run(["git", "-C", HERE, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip()


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
        info.seek(0)
        virtual = "hypervisor" in info.read()
    return (f"{model}, {len(os.sched_getaffinity(0))} cores"
            f"{' of a virtual machine' if virtual else ''}, Linux {os.uname().release}")


def apart_ns(build):
    """A cache line's way from one processor to another and back, ns; see processors.c. 0: one processor."""
    return int(run([f"{build}/benchmarks/processors"]).output)


def heading(title, load):
    """The first lines of a document of figures."""
    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    dirty = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    lines = [f"{machine()}.", f"{time.strftime('%Y-%m-%d', time.gmtime())}, "
             f"commit {commit}{dirty}.", f"Load average at the start: {load:.2f}."]
    if load > 1:
        lines.append("**The machine was not quiet: other work ran beside this. Compare ratios of "
                     "one row, not rows of two runs, and look at the native spread.**")
    return f"# {title}\n\n" + "\n".join(lines) + "\n\nHow to read it: README.md beside " \
        "this file. Spread: the distance of the quartiles.\n"


class Cpa:
    """A build of cpa: environment of a profiled program, and its dump."""

    def __init__(self, build, folder):
        self.build = os.path.abspath(build)
        self.folder = folder

    def program(self, name):
        return f"{self.build}/benchmarks/{name}"

    def path(self):
        return f"{self.folder}/run.dump"

    def environment(self, **more):
        if os.path.exists(self.path()):
            os.unlink(self.path())
        return dict(LD_PRELOAD=f"{self.build}/libcpa.so", CPA_OUTPUT=self.path(), CPA_QUIET="1",
                    **more)

    def figures(self):
        """Counters of the last dump, see figures.c."""
        done = run([self.program("figures"), self.path()])
        if done.status:
            raise Fails("no dump")
        return json.loads(done.output)
