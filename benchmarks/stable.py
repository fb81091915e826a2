#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare reports of the same work, alone and beside busy loops; write benchmarks/stable.md.

    benchmarks/stable.py [--quick] [--runs N] [--loops N,N...] [--build DIR] [--output FILE] [NAME ...]

The critical path and the savings of a component are properties of the program: what else runs on
the machine must not change them. Each program runs --runs times with each number of busy loops, in
turns, so that a slow hour of the machine meets all of them. The components compared are the three
that save most, by their medians over all runs without a loop; threads and time outside the program
count as components, too. "off" is the largest distance of one run from the median of its column,
"medians" the largest distance of two columns' medians, both as a share of the critical path (of
themselves: CPU time, and the ratio).

Other work makes the program's own dearer: caches are shared, and where a processor is a thread of a
core, its execution units. A host may also move its guest's processors from two cores to one and back
(processors.c; measured before each run). So the CPU time is in the table, too, natively and with cpa, as
a path cannot be steadier than the CPU time of the work on it; and the path as a share of the CPU time,
which does not depend on the speed of the machine. The CPU times are not judged. Nor is that of the
thread that has most: where threads take pieces of work as they come, the scheduler decides who has how
many, and the path is what the busiest one did.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import measure
import programs

POOL = """
import concurrent.futures, hashlib
def work(n):
    return hashlib.pbkdf2_hmac('sha256', b'p', b's%d' % n, 30000).hex()
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(hash(tuple(pool.map(work, range(120)))) and 'done')
"""
MAKEFILE = """
all: $(addprefix part,1 2 3 4 5 6)
part%:
\t@head -c 1500000 PART | xz -5 -c -T1 >$@.xz
"""
COMMANDS = {
    "pigz": "pigz -p4 -9 -c IN",
    "xz": "xz -T4 -0 -c --block-size=1MiB PART",
    "zstd": "zstd -q -T4 -9 -c IN",
    "sort": "sort --parallel=4 -S 400M IN",
    "make": "make -s -B -j2 -f MAKEFILE",
    "python": ["/usr/bin/python3", "-c", POOL],
    "ffmpeg": "ffmpeg -v error -f lavfi -i testsrc=size=640x360:rate=30:duration=8 "
              "-c:v libx264 -threads 4 -f h264 -",
}
PART_BYTES = 12_000_000
LOOPS = (0, 2, 4)
RUNS, QUICK_RUNS = 10, 3
MEDIANS, OFF = 0.03, 0.10
TOP = 3


class Loops:
    """Processes that compute, and nothing else, while this is open."""

    def __init__(self, number):
        self.number, self.processes = number, []

    def __enter__(self):
        for _ in range(self.number):
            # It ends with us, whatever happens to us.
            words = ["sh", "-c", f"while kill -0 {os.getpid()} 2>/dev/null; do i=0; "
                     "while [ $i -lt 100000 ]; do i=$((i+1)); done; done"]
            self.processes.append(subprocess.Popen(words))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


class Reading:
    """What the report says of one run, in seconds."""

    def __init__(self, figures):
        program = figures["program"]
        self.path, self.cpu = program["critical_path_s"], program["cpu_s"]
        self.busiest = max(each["cpu_s"] for each in figures["threads"])
        self.saved = {}
        for each in figures["components"]:
            name = f"{each['kind']} {each['name']}"
            self.saved[name] = max(self.saved.get(name, 0), each["saved_s"])


def prepare(folder):
    programs.make_text(f"{folder}/in.txt", programs.TEXT_BYTES)
    with open(f"{folder}/in.txt", "rb") as text, open(f"{folder}/part.txt", "wb") as part:
        part.write(text.read(PART_BYTES))
    with open(f"{folder}/Makefile", "w") as makefile:
        makefile.write(MAKEFILE.replace("PART", f"{folder}/part.txt"))


def words_of(name, folder):
    places = {"IN": f"{folder}/in.txt", "PART": f"{folder}/part.txt",
              "MAKEFILE": f"{folder}/Makefile"}
    command = COMMANDS[name]
    words = command if isinstance(command, list) else command.split()
    return [places.get(word, word) for word in words]


class Pair:
    """One run with cpa, and one without."""

    def __init__(self, cpa, name, loops):
        self.apart_ns = measure.apart_ns(cpa.build)
        with Loops(loops):
            native = measure.run_hashed(words_of(name, cpa.folder), {}, cpa.folder)
            done = measure.run_hashed(words_of(name, cpa.folder), cpa.environment(), cpa.folder)
        if done.status or native.status:
            raise measure.Fails(f"{name} ended with {done.status}, natively with {native.status}")
        self.reading = Reading(programs.report(cpa.build, cpa.path()))
        self.reading.native_cpu = native.cpu


class Figure:
    """One figure of a program by number of loops, and how far the runs are apart, as a part of @whole."""

    def __init__(self, name, columns, whole=None, judged=True):
        self.name, self.judged = name, judged
        self.medians = {loops: measure.median(values) for loops, values in columns.items()}
        whole = whole or self.medians[min(columns)]
        self.apart = (max(self.medians.values()) - min(self.medians.values())) / whole
        self.off = max(abs(value - self.medians[loops]) / whole
                       for loops, values in columns.items() for value in values)

    def good(self):
        return self.apart <= MEDIANS and self.off <= OFF


def figures_of(readings):
    """@readings: a list of Reading by number of loops. The path, then what saves most, then CPU."""
    def column(get):
        return {loops: [get(each) for each in runs] for loops, runs in readings.items()}

    def saved(name):
        return column(lambda each: each.saved.get(name, 0))

    first = readings[min(readings)]
    names = {name for each in first for name in each.saved}
    best = sorted(names, key=lambda name: -measure.median(saved(name)[min(readings)]))[:TOP]
    path = measure.median([each.path for each in first])
    return ([Figure("critical path, s", column(lambda each: each.path))]
            + [Figure(f"saves, s: {name}", saved(name), path) for name in best]
            + [Figure("busiest thread, s", column(lambda each: each.busiest), judged=False),
               Figure("CPU time, s", column(lambda each: each.cpu), judged=False),
               Figure("CPU time natively, s", column(lambda each: each.native_cpu), judged=False),
               Figure("path / CPU time", column(lambda each: each.path / each.cpu))])


def measure_program(cpa, name, loops, runs):
    pairs = measure.interleaved({n: lambda n=n: Pair(cpa, name, n) for n in loops}, runs)
    apart = [each.apart_ns for column in pairs.values() for each in column]
    return figures_of({n: [each.reading for each in column] for n, column in pairs.items()}), apart


def rows(name, figures, loops):
    for figure in figures:
        yield [name, figure.name, *(f"{figure.medians[n]:.3f}" for n in loops),
               f"{figure.apart:.1%}", f"{figure.off:.1%}",
               "" if not figure.judged else "good" if figure.good() else "**off**"]


def compare(cpa, names, loops, runs):
    """The rows of the table; what is left out; ns that a cache line took before each run, see measure.apart_ns()."""
    lines, left_out, apart = [], [], []
    for name in names:
        program = words_of(name, cpa.folder)[0]
        if not shutil.which(program):
            left_out.append(f"{name}: not installed")
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            found, apart_ns = measure_program(cpa, name, loops, runs)
        except (measure.Fails, ValueError) as error:
            left_out.append(f"{name}: {error}")
            continue
        lines += rows(name, found, loops)
        apart += apart_ns
        for line in rows(name, found, loops):
            print("  " + " | ".join(line), file=sys.stderr, flush=True)
    return lines, left_out, apart


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COMMANDS))
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs of each")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--loops", default=",".join(map(str, LOOPS)))
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD", "build"))
    parser.add_argument("--output", default=f"{measure.HERE}/stable.md")
    options = parser.parse_args()
    unknown = set(options.names) - set(COMMANDS)
    if unknown:
        parser.error(f"no program {', '.join(sorted(unknown))}")
    loops = [int(n) for n in options.loops.split(",")]
    runs = options.runs or (QUICK_RUNS if options.quick else RUNS)
    load = os.getloadavg()[0]
    folder = tempfile.mkdtemp(prefix="cpa-stable.")
    try:
        prepare(folder)
        lines, left_out, apart = compare(measure.Cpa(options.build, folder), options.names or COMMANDS,
                                         loops, runs)
    finally:
        shutil.rmtree(folder)
    head = ["program", "figure", *(f"{n} loops" for n in loops), "medians", "off", ""]
    text = (measure.heading("How steady the figures are", load)
            + f"\n{runs} runs of each, in turns. Goal: medians {MEDIANS:.0%} apart at most, no run off "
            f"by more than {OFF:.0%}, of the critical path.\n\n"
            f"A cache line went from one processor to the other and back in {min(apart)} to {max(apart)} ns "
            f"(median {measure.median(apart):.0f}).\n\n" + measure.table(head, lines)
            + "".join(f"\nLeft out: {line}\n" for line in left_out))
    with open(options.output, "w") as output:
        output.write(text)
    print(text)
    return 1 if any("off" in line[-1] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
