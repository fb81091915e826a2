#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What cpa costs OpenMP programs that are not ours, and whether its predictions for them hold: openmp_programs.md.

    benchmarks/openmp_programs.py [--build DIR] [--pairs N] [--tries N] [--only NAME,...] [--compiler NAME]
        [--realtime] [--output FILE] FOLDER...

Each FOLDER has the sources of the NAS Parallel Benchmarks in C with OpenMP (whose `make CG CLASS=W` makes bin/cg.W;
any of CG EP FT IS LU MG BT SP), or those of LULESH 2.0 (lulesh*.cc). Neither is part of cpa. They are built by gcc
and by clang in a copy of the folder. A run that fails its program's own verification ends the measurement.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import measure
from measure import Fails, interleaved, median, ratios, run, spread, table

COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
# Class, chunk of a static or dynamic schedule, chunk that makes two threads uneven. None: loops stay static. LU's must,
# as threads wait for flags of the iterations before; those of BT and SP take some microseconds each.
KERNELS = {
    "CG": ("A", 200, 5000), "EP": ("W", 8, 200), "FT": ("A", 4, 48), "IS": ("A", 65536, 3000000),
    "MG": ("A", 4, 96), "LU": ("W", None, None), "BT": ("W", None, None), "SP": ("W", None, None),
    "LULESH": ("", 500, 10000),
}
LULESH = ["-s", "30", "-i", "60"]
# Threads that spin keep the processor from the one that all wait for, if anything else runs on the machine.
WAITING = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
THREADS = 2
REALTIME = ["chrt", "--fifo", "10"]
FAILED = re.compile(rb"UNSUCCESSFUL|FAILED|Failed")
LOOP = re.compile(r"^(\s*#\s*pragma\s+omp\s+(?:parallel\s+)?for\b)(.*)$", re.MULTILINE)
SCHEDULE = re.compile(r"\bschedule\s*\([^)]*\)")


def kernels_of(folder):
    """Names of the programs whose sources are in `folder`."""
    if (folder / "lulesh.cc").exists():
        return ["LULESH"]
    return [name for name in KERNELS if (folder / name).is_dir()]


def at_run_time(folder):
    """Leave the schedule of each loop in `folder` that may have any to OMP_SCHEDULE."""
    for path in [*folder.rglob("*.c"), *folder.rglob("*.cc")]:
        text = path.read_text(encoding="latin-1")
        path.write_text(LOOP.sub(lambda m: m[0] if "ordered" in m[2] else
                                 f"{m[1]}{SCHEDULE.sub('', m[2])} schedule(runtime)", text), encoding="latin-1")


def build(folder, name, compilers, into):
    """Build program `name` of the copy `folder`; its command, or None: this compiler is not installed."""
    c, cpp = compilers
    if not shutil.which(c) or not shutil.which(cpp):
        return None
    program = f"{into}/{name.lower()}"
    if name == "LULESH":
        words = [cpp, "-O2", "-g", "-fopenmp", "-DUSE_MPI=0", "-w", *map(str, folder.glob("*.cc")), "-o", program]
    else:
        os.makedirs(f"{folder}/bin", exist_ok=True)
        words = ["make", "-B", "-C", str(folder), name, f"CLASS={KERNELS[name][0]}", f"CC={c} -fopenmp",
                 f"CLINK={c} -fopenmp", "CFLAGS=-O2 -g -fopenmp -w", "CLINKFLAGS=-fopenmp"]
    if run(words, errors=sys.stderr).status:
        raise Fails(f"{name} cannot be built by {c}")
    if name == "LULESH":
        return [program, *LULESH]
    shutil.copy(f"{folder}/bin/{name.lower()}.{KERNELS[name][0]}", program)
    return [program]


def once(command, **environment):
    """One verified run."""
    done = run(["sh", "-c", 'ulimit -s unlimited; exec "$@"', "sh", *command],
               {"OMP_STACKSIZE": "64M", "OMP_NUM_THREADS": str(THREADS), **WAITING, **environment})
    if FAILED.search(done.output) or not done.output:
        raise Fails(f"{command[0]} does not verify: {done.output[-500:]!r}")
    return done


def cost_row(cpa, title, command, pairs):
    found = interleaved({"native": lambda: once(command), "cpa": lambda: once(command, **cpa.environment())}, pairs)
    row = [title]
    for what in ("cpu", "wall"):
        native = [getattr(done, what) for done in found["native"]]
        with_cpa = [getattr(done, what) for done in found["cpa"]]
        each = ratios(with_cpa, native)
        row += [f"{median(native):.2f}", f"{median(each):.3f}", f"{min(with_cpa) / min(native):.3f}",
                f"{spread(each) * median(each):.3f}"]
    events = cpa.figures()["events"]
    return [*row, f"{events / median([done.wall for done in found['native']]):,.0f}"]


def profile(cpa, command, **environment):
    """The program's figures in the report of a run with a journal."""
    once(command, **cpa.environment(CPA_JOURNAL="512M", **environment))
    return report(cpa)["program"]


def report(cpa, *options):
    done = run([f"{cpa.build}/cpa-report", "--format", "json", *options, cpa.path()], errors=sys.stderr)
    if done.status:
        raise Fails(f"cpa-report {' '.join(options)} ends with {done.status}")
    return json.loads(done.output)


def share(program):
    """The critical path as a share of all work."""
    return 1 / program["max_parallelism"]


def compare(cpa, title, command, before, after, predict, tries):
    """
    A row: the run with `before` predicts by `predict()`, a path in seconds, the run with `after`. Both kinds of
    runs take turns; the prediction is that of each recorded run.
    """
    def predicted():
        program = profile(cpa, command, **before)
        path_s = predict(cpa)
        return path_s, path_s / program["critical_path_s"] * share(program), share(program)

    def really():
        program = profile(cpa, command, **after)
        return program["critical_path_s"], share(program)

    found = interleaved({"predicted": predicted, "really": really}, tries)
    path_s, part, old = (median(values) for values in zip(*found["predicted"]))
    real_s, real = min(found["really"], key=lambda run: run[1])  # others decide which thread gets which chunk
    return part / real - 1, [*title, f"{old:.3f}", f"{part:.3f}", f"{real:.3f}", f"{100 * (part / real - 1):+.1f} %",
                             f"{path_s:.3f}", f"{real_s:.3f}", f"{100 * (path_s / real_s - 1):+.1f} %"]


def of_threads(threads):
    def predict(cpa):
        return next(row["critical_path_s"] for row in report(cpa, "--threads", str(threads))["predictions"])
    return predict


def of_change(change):
    return lambda cpa: report(cpa, "--what-if", change)["divided_critical_path_s"]


def predictions(cpa, title, name, command, scheduled, tries, before_all):
    """
    Rows of predictions of one program, each with its error; None: the share of one thread is 1 by definition.
    `before_all`: words before a command that give it the processors, for runs with a dynamic schedule.
    """
    _, chunk, uneven = KERNELS[name]
    yield compare(cpa, [title, "1 thread to 2"], command, {"OMP_NUM_THREADS": "1"}, {}, of_threads(2), tries)
    _, row = compare(cpa, [title, "2 threads to 1"], command, {}, {"OMP_NUM_THREADS": "1"}, of_threads(1), tries)
    yield None, [*row[:5], "-", *row[6:]]
    if not chunk:
        return
    yield compare(cpa, [title, f"static,{chunk} to dynamic,{chunk}"], [*before_all, *scheduled],
                  {"OMP_SCHEDULE": f"static,{chunk}"}, {"OMP_SCHEDULE": f"dynamic,{chunk}"}, of_change("loop:*=dynamic"),
                  tries)
    yield compare(cpa, [title, f"static,{uneven} to static"], scheduled, {"OMP_SCHEDULE": f"static,{uneven}"},
                  {"OMP_SCHEDULE": "static"}, of_change("region:*=balance"), tries)


def programs_of(folders, only, compilers, into):
    """(name, title, its command, that of the build whose schedules are chosen at run time) of each program."""
    for folder in map(pathlib.Path, folders):
        for name in kernels_of(folder):
            if only and name not in only:
                continue
            for compiler in compilers:
                built = []
                for change in (None, at_run_time) if KERNELS[name][1] else (None,):
                    place = pathlib.Path(into, f"{name}.{compiler}.{len(built)}")
                    place.mkdir()
                    copy = shutil.copytree(folder, place / "sources")
                    if change:
                        change(copy)
                    built.append(build(copy, name, COMPILERS[compiler], place))
                if all(built):
                    title = f"{name} {KERNELS[name][0]}".strip() + f", {compiler}"
                    yield name, title, built[0], built[-1]


ABOUT_COSTS = """
## Cost

Two threads that block where they wait (`OMP_WAIT_POLICY=passive`, `KMP_BLOCKTIME=0`), {pairs} pairs of runs in turn,
native and with cpa; ratios are medians over the pairs, "of the least" is
the ratio of the shortest runs. Samples take 2 to 5 % of a program's first half second of CPU time and a quarter of a
percent later, so short programs have larger ratios. Target: 1.03 of CPU time and of wall time.

"""
ABOUT_REALTIME = """Runs with a dynamic schedule, and those that predict them, had the processors before all other
work (`chrt --fifo`).

"""
ABOUT_PREDICTIONS = """
## Predictions

Each row: the program, recorded with a journal as it was, predicts itself with a change, and runs with that change,
{tries} times in turn. The predictions are medians. Of the real runs the evenest counts, as what else runs on the machine
decides which thread gets which chunk, and which has a processor. *Threads* are `--threads`. For the other rows each loop was made `schedule(runtime)`
in a copy of the sources: *static,N to dynamic,N* is `--what-if 'loop:*=dynamic'`, *static,N to static*, where N makes
the threads uneven, is `--what-if 'region:*=balance'`.

*Path / work* is the length of the critical path divided by the CPU time of all threads. It is what is predicted. How long the same work takes
depends on what the other processor does: two threads that share one core, or the memory, need more time for it than
one thread. A prediction does not know that. It is in the last three columns, seconds of the critical path.

"""


def text_of(cpa, costs, rows, errors, options, load):
    text = measure.heading("OpenMP programs that are not ours", load)
    text += f"\nA cache line's way between the processors and back: {measure.apart_ns(cpa.build)} ns.\n"
    if costs:
        head = ["program", "native CPU s", "CPU ratio", "of the least", "quartiles apart", "native wall s",
                "wall ratio", "of the least", "quartiles apart", "events/s"]
        text += ABOUT_COSTS.format(pairs=options.pairs) + table(head, costs)
    if rows:
        head = ["program", "change", "path / work before", "predicted", "really", "error", "predicted path s",
                "really", "difference"]
        text += ABOUT_PREDICTIONS.format(tries=options.tries)
        text += (ABOUT_REALTIME if options.realtime else "") + table(head, rows)
        text += (f"\n{len(errors)} predictions with an error: median {100 * median(errors):.1f} %, largest "
                 f"{100 * max(errors):.1f} %. Targets: 3 % and 8 %.\n")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD", "build"))
    parser.add_argument("--pairs", type=int, default=15, help="of runs without and with cpa; 0: no first table")
    parser.add_argument("--tries", type=int, default=5, help="of predictions and real runs; 0: no second table")
    parser.add_argument("--only", default="", help="names of programs, with commas")
    parser.add_argument("--compiler", choices=COMPILERS, help="only this one")
    parser.add_argument("--realtime", action="store_true", help="where the schedule is to become dynamic, programs "
                        "have the processors before all other work (chrt --fifo; needs root)")
    parser.add_argument("--output", default=f"{measure.HERE}/openmp_programs.md")
    options = parser.parse_args()
    load, folder = os.getloadavg()[0], tempfile.mkdtemp(prefix="cpa-openmp.")
    cpa, costs, rows, errors = measure.Cpa(options.build, folder), [], [], []
    try:
        only = set(filter(None, options.only.split(",")))
        compilers = [options.compiler] if options.compiler else COMPILERS
        for name, title, *commands in programs_of(options.folders, only, compilers, folder):
            print(f"  {title}", file=sys.stderr, flush=True)
            if options.pairs:
                costs.append(cost_row(cpa, title, commands[0], options.pairs))
            if options.tries:
                for error, row in predictions(cpa, title, name, *commands, options.tries,
                                              REALTIME if options.realtime else []):
                    rows.append(row)
                    errors += [] if error is None else [abs(error)]
            with open(options.output, "w") as output:
                output.write(text_of(cpa, costs, rows, errors, options, load))
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
