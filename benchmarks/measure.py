# SPDX-License-Identifier: MIT
"""What the tables of benchmarks/run have in common: run, interleave, sum up, write Markdown."""
import contextlib
import glob
import hashlib
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import threading
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


def end_by_signal():
    """Let SIGTERM and SIGINT end this process as an error does, which stops its children and removes its files."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


def tree(pid):
    """The process and all that it started, and they, as far as they run."""
    found = [pid]
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as children:
            for each in children.read().split():
                found += tree(int(each))
    return found


def cpu_of_tree(pid):
    """CPU seconds of the process and of all that it started and that still run."""
    ticks = 0
    for each in tree(pid):
        with contextlib.suppress(OSError), open(f"/proc/{each}/stat", encoding="ascii") as stat:
            ticks += sum(int(field) for field in stat.read().rsplit(")", 1)[1].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def kill_tree(pid):
    for each in tree(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


@contextlib.contextmanager
def bounded(process, limit):
    """
    Kill the process and all that it started, which takes it for a failure, if the body takes longer than
    @limit seconds (None: any time), or fails.
    """
    late = threading.Event()

    def end():
        late.set()
        kill_tree(process.pid)
    timer = threading.Timer(limit, end) if limit else None
    if timer:
        timer.start()
    try:
        yield
    except BaseException as error:
        if process.returncode is None:
            kill_tree(process.pid)
            process.wait()
        if late.is_set() and isinstance(error, Fails):
            raise Fails(f"did not end within {limit} s") from error
        raise
    finally:
        if timer:
            timer.cancel()
    if late.is_set():
        raise Fails(f"did not end within {limit} s")


def run(words, environment=None, folder=None, errors=subprocess.DEVNULL):
    """Run a command that prints little."""
    begun = time.monotonic()
    process = start(words, environment, folder, subprocess.PIPE, errors)
    output = process.stdout.read()
    process.stdout.close()
    done = Run(process, begun)
    done.output = output
    return done


def run_hashed(words, environment, folder, limit=None):
    """Run a command that prints much, for @limit seconds at most: `output` becomes a digest."""
    path = f"{folder}/stdout"
    with open(path, "wb") as output:
        begun = time.monotonic()
        process = start(words, environment, folder, output)
        with bounded(process, limit):
            done = Run(process, begun)
    with open(path, "rb") as output:
        done.output = hashlib.file_digest(output, "sha256").digest()
    return done


def stop(process, begun=0.0):
    """End a server that runs; what it used."""
    process.send_signal(signal.SIGTERM)
    return Run(process, begun)


def runs(pid, name):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name
    except OSError:  # it has ended
        return False


def stop_behind(process, name, begun=0.0):
    """stop(), where `process` may be a tool that started the server `name` and ends with it."""
    server = next((pid for pid in tree(process.pid) if runs(pid, name)), None)
    if server is None:
        kill_tree(process.pid)
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


MANY = 10  # values of which some may be left out


def mean_ratio(values, natives):
    """
    The mean of the ratios of two lists, by their logarithms, and its standard error: "1.003 +- 0.009".

    Of ten and more a fifth at either end is left out, as a run on a shared machine now and then takes half as long
    again. The standard error is that of the Winsorized ratios (Tukey and McLaughlin 1963).
    """
    logs = sorted(math.log(ratio) for ratio in ratios(values, natives))
    n, cut = len(logs), len(logs) // 5 if len(logs) >= MANY else 0
    inner = logs[cut:n - cut]
    winsorized = [inner[0]] * cut + inner + [inner[-1]] * cut
    error = statistics.stdev(winsorized) / (1 - 2 * cut / n) / math.sqrt(n) if n > 1 else 0
    mean = math.exp(statistics.mean(inner))
    return f"{mean:.3f} +- {mean * error:.3f}"


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


def circumstances(load):
    """When figures are made, of what, and beside which load: lines."""
    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    dirty = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    lines = [f"{time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit}{dirty}.",
             f"Load average at the start: {load:.2f}."]
    if load > 1:
        lines.append("**The machine was not quiet: other work ran beside this. Compare ratios of "
                     "one row, not rows of two runs, and look at the native spread.**")
    return lines


def heading(title, load):
    """The first lines of a document of figures."""
    return f"# {title}\n\n{machine()}.\n" + "\n".join(circumstances(load)) + "\n\nHow to read it: " \
        "README.md beside this file. Spread: the distance of the quartiles.\n"


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
