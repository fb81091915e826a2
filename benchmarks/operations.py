# SPDX-License-Identifier: MIT
"""Tables of benchmarks/run: nanoseconds and instructions per synchronization operation."""
import json
import re
import subprocess

from measure import Fails, interleaved, median, ratios, run, spread, table

# name: what it is, target ratio; see operations.c
OPERATIONS = {
    "private": ("lock+unlock, one thread's own", "1.5"),
    "again": ("lock+unlock, same thread again, shared earlier", "2.8"),
    "hand-off": ("spin lock handed between two cores, per acquisition", "3.5"),
    "live": ("mutex init, lock, unlock, destroy", ""),
    "shared": ("two threads on one mutex, empty section", "2"),
    "section": ("two threads on one mutex, short section", "1.4"),
    "read": ("read lock+unlock, one thread's own", ""),
    "post": ("semaphore post+wait, one thread's own", ""),
    "barrier": ("barrier of two threads, per round", "1.15"),
    "remade": ("mutex made anew, barrier, lock+unlock, barrier, per round", "1.3"),
    "condition": ("condition ping-pong, per turn", "1.15"),
    "semaphore": ("semaphore ping-pong, per turn", "1.15"),
    "pipe": ("write and read of a byte in a pipe, neither waits", ""),
    "pipe-turn": ("pipe ping-pong of two threads on one core, per turn", "1.15"),
    "process-turn": ("the same of two processes", "1.15"),
    "create": ("create+join", "1.5"),
    "rare": ("lock+unlock, then some 30 us of work", "1.01"),
}
LONG = {"rare": 1.0}  # s: of a program, not of its start and its first samples
ANNOTATIONS = {"CPA_ENQUEUE, CPA_DEQUEUE": ("enqueue+dequeue of an annotated queue", 2),
               "CPA_REGION_BEGIN, CPA_REGION_END": ("region begin+end", 2),
               "CPA_MARK": ("mark", 1)}


def number(done):
    if done.status:
        raise Fails(f"exit status {done.status}")
    return float(done.output)


def pairs(cpa, words, rounds, parse=number):
    """Interleaved runs: medians of both, of the ratio, the least of both."""
    found = interleaved({"native": lambda: run(words),
                         "cpa": lambda: run(words, cpa.environment())}, rounds)
    cpu = ratios(*([done.cpu for done in found[name]] for name in ("cpa", "native")))
    return *([parse(done) for done in found[name]] for name in ("native", "cpa")), median(cpu)


def row(what, native, own, cpu, target):
    ratio = ratios(own, native)
    return [what, f"{median(native):.1f}", f"{median(own):.1f}", f"{median(ratio):.2f}",
            f"{min(own) / min(native):.2f}" if min(native) > 0.5 else "-",
            f"{cpu:.2f}" if cpu else "-", target or "-",
            f"{spread(native):.0%}"]


def count_for(program, name, seconds):
    """So many operations take about that long natively."""
    count, took = 500, 0.0
    while took < seconds / 4:
        count *= 4
        took = count * number(run([program, name, str(count)])) / 1e9
    return int(count * seconds / took)


def annotation_row(cpa, key, rounds):
    what, macros = ANNOTATIONS[key]

    def parse(done):
        for line in done.output.decode().splitlines():
            if line.split("ns a macro")[-1].strip() == key:
                return macros * float(line.split()[0])
        raise Fails(f"no line {key}")
    native, own, _ = pairs(cpa, [cpa.program("annotations"), "20000"], rounds, parse)
    return [what, f"{median(native):.1f}", f"{median(own):.1f}", *["-"] * 5]


def call_ns(words, environment=None):
    """instrumented_cost prints the figure on standard error."""
    done = run(words, environment, errors=subprocess.STDOUT)
    return float(re.search(rb"([\d.]+) ns of CPU", done.output).group(1))


def call_row(cpa, rounds):
    words = [f"{cpa.build}/tests/programs/instrumented_cost", "300000", "3"]
    found = interleaved({"native": lambda: call_ns(words),
                         "cpa": lambda: call_ns(words, cpa.environment())}, rounds)
    return row("call of an instrumented function", found["native"], found["cpa"], None, "")


def operations(cpa, quick):
    program, rounds = cpa.program("operations"), 5 if quick else 15
    head = ["operation", "native ns", "cpa ns", "ratio", "ratio of the least", "CPU ratio",
            "target", "native spread"]
    rows = []
    for name, (what, target) in OPERATIONS.items():
        seconds = 0.05 if quick else LONG.get(name, 0.1)
        words = [program, name, str(count_for(program, name, seconds))]
        try:
            rows.append(row(what, *pairs(cpa, words, rounds), target))
        except (Fails, ValueError) as error:
            rows.append([what, f"fails: {error}", *["-"] * 6])
    rows.append(call_row(cpa, 3))
    rows += [annotation_row(cpa, key, 3) for key in ANNOTATIONS]
    return table(head, rows)


# name: what it is, what cpa may add, ns; see openmp_operations.c
OPENMP = {
    "lock": ("`omp_set_lock` + `omp_unset_lock`, one thread's own", "15"),
    "critical": ("critical section, one thread's own", "15"),
    "region-alone": ("region of one thread", ""),
    "region": ("region of two threads", "300"),
    "barrier": ("barrier of two threads", ""),
    "task": ("task, made and run by one thread", "150"),
}


def openmp(cpa, quick):
    """Least figures: natively, with wrappers that only read the clock, with cpa."""
    program, rounds, rows = cpa.program("openmp_operations"), 3 if quick else 6, []
    clock = {"LD_PRELOAD": cpa.program("bare.so"), "BARE": "clock"}
    for name, (what, target) in OPENMP.items():
        # Two threads that spin for each other take long where other work has a processor.
        words = [program, name, "20000" if name in ("region", "barrier") else "200000"]
        found = interleaved({"native": lambda w=words: number(run(w)),
                             "clock": lambda w=words: number(run(w, clock)),
                             "cpa": lambda w=words: number(run(w, cpa.environment()))}, rounds)
        native, floor, own = (min(found[key]) for key in ("native", "clock", "cpa"))
        rows.append([what, f"{native:.1f}", f"{floor:.1f}", f"{own:.1f}", f"{own - native:.1f}",
                     target or "-", f"{spread(found['native']):.0%}"])
    return table(["operation", "native ns", "clock alone", "cpa ns", "cpa adds", "target",
                  "native spread"], rows)


STEPS = {
    "private": ("lock+unlock, one thread's own", "20"),
    "again": ("same, shared earlier", "20"),
    "timed": ("same, each use timed (CPA_SAMPLE_HZ=0)", "0"),
    "hand-off": ("lock+unlock after another thread's", "0"),
    "try": ("trylock+unlock, one thread's own", "20"),
    "spin": ("spin lock+unlock, one thread's own", "20"),
    "read": ("read lock+unlock, one thread's own", "20"),
    "write": ("write lock+unlock, one thread's own", "20"),
    "post-wait": ("semaphore post+wait, one thread's own", "20"),
    "signal": ("condition signal, nobody waits", "20"),
    "enqueue-dequeue": ("enqueue+dequeue of an annotated queue", "20"),
    "annotation": ("one annotation", "20"),
    "omp-lock": ("`omp_set_lock`+`omp_unset_lock`, one thread's own", "20"),
    "omp-critical": ("OpenMP critical section, one thread's own", "20"),
    "omp-region-alone": ("OpenMP region of one thread", "0"),
    "omp-region": ("OpenMP region of two threads, of which one is counted", "0"),
    "omp-task": ("OpenMP task and the wait for it", "0"),
}


def steps(cpa, name, hz, rounds=30):
    """Instructions of one operation: natively, with cpa, and while profiling is off; see steps.c."""
    words = [cpa.program("steps"), "private" if name == "timed" else name, str(rounds)]
    native = json.loads(run(words, dict(LD_BIND_NOW="1")).output)
    on, off = (json.loads(run(words, cpa.environment(CPA_SAMPLE_HZ=hz, LD_BIND_NOW="1",
                                                     CPA_START=start)).output)
               for start in ("on", "off"))
    return native, on, off


def instructions(cpa, _quick):
    rows = []
    nothing = steps(cpa, "nothing", "0")[0]["least"]
    for name, (what, hz) in STEPS.items():
        native, own, off = steps(cpa, name, hz)
        rows.append([what, native["least"] - nothing, own["least"] - nothing,
                     own["library_least"], own["library_median"], off["library_median"],
                     ", ".join(f"`{call}`" for call in own["calls"]) or "-"])
    head = ["operation", "native", "with cpa, least", "of these in libcpa.so, least", "median",
            "median while off", "libcpa.so calls"]
    return table(head, rows)
