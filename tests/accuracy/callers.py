#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/callers.py - which share of a function's path its callers have

tests/programs/callers.c knows: 70 : 30 on the path, 50 : 50 in CPU time. tests/plugins/call_trees.cpp
knows for ten kinds of callers, in six builds. And how many stacks of common programs are followed to the
thread's start. Prints TAP.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from call_trees import BUILDS, WAYS, build, is_installed, matches
from profiled import BUILD, PROGRAMS, ROOT, code_of, profiled_environment, read, run
from results import Results

PAIRS = "100"  # some 1000 stacks on the path
SHARES = {"first": (0.7, 0.5), "second": (0.3, 0.5)}
ROUNDS = "40"  # 4.3 s, 1080 stacks
LEFT_OUT = "signal handler on a stack of its own"
OFF_LINES = 0.06  # three standard errors of 500 stacks
OFF = 0.03
COMPLETE = 0.99
# Programs of Debian, each in the folder where its input lies. $CPA is libcpa.so.
INPUT = (
    "seq 600000 | sort -R --random-source=/bin/sort >numbers; cat numbers numbers numbers >more;"
    " git init -q repository; cd repository; for i in 1 2 3 4 5 6 7 8; do"
    " head -c ${i}00000 ../numbers >$i; git add .;"
    " git -c user.name=a -c user.email=a@a commit -qm $i; done"
)
COMMANDS = {
    "sort": "LD_PRELOAD=$CPA sort --parallel=2 numbers",
    "gzip": "LD_PRELOAD=$CPA gzip -c more",
    "pigz": "LD_PRELOAD=$CPA pigz -p 2 -c more",
    "xz": "LD_PRELOAD=$CPA xz -2 -T 2 --block-size=1MiB -c more",
    "python3": "LD_PRELOAD=$CPA /usr/bin/python3 -c"
    " 'import json; json.loads(json.dumps([str(i) for i in range(1000000)]))'",
    "git": "cd repository && LD_PRELOAD=$CPA git repack -q -a -d -f --threads=2",
    "gm": "LD_PRELOAD=$CPA gm convert -size 1200x1200 plasma: -blur 0x4 -quality 90 picture.jpg",
    "ffmpeg": "LD_PRELOAD=$CPA ffmpeg -v error -f lavfi -i testsrc=duration=4:size=640x480"
    " -c:v mpeg4 -threads 2 -f null -",
}


def check_shares(results, dump):
    command = [PROGRAMS / "callers", PAIRS]
    environment = profiled_environment(dump)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    contexts = {c["id"]: c for c in read(dump)["callers"]["contexts"]}
    own = [c for c in contexts.values() if code_of(contexts, c)["name"] == "common"]
    for i, what in enumerate(("critical_path_s", "cpu_s")):
        whole_s = sum(c[what] for c in own)
        for name, expected in SHARES.items():
            part_s = sum(c[what] for c in own
                         if contexts[code_of(contexts, c)["caller"]]["name"] == name)
            good = abs(part_s / whole_s - expected[i]) <= OFF
            limits = f"{expected[i] - OFF:.3f} to {expected[i] + OFF:.3f}"
            results.compare(good, f"{name}: {what}", f"{part_s / whole_s:.3f}", limits)


def outwards(contexts, context):
    """Names from @context outwards."""
    names = []
    while context:
        names.append(context["name"])
        context = contexts.get(context["caller"])
    return names


def check_kinds(results, folder):
    """Way i has 2 i + 3 ms of each round, below the function leaf."""
    dump = folder / "kinds.dump"
    burnt_ms = {way: 2 * i + 3 for i, way in enumerate(WAYS) if way != LEFT_OUT}
    for compiler, options, stripped in BUILDS:
        label = " ".join([compiler, *options, *["stripped"] * stripped])
        if not is_installed(compiler, options):
            results.skip(label, "it is not installed")
            continue
        command = [*build(folder, compiler, options, stripped), ROUNDS]
        run(command, env=profiled_environment(dump))
        report = read(dump)
        dump.unlink()
        contexts = {c["id"]: c for c in report["callers"]["contexts"]}
        paths = [(outwards(contexts, c), c["critical_path_s"]) for c in contexts.values()]
        for way, ms in burnt_ms.items():
            part_s = sum(part_s for names, part_s in paths if "leaf" in names
                         and matches(names[names.index("leaf") + 1:], WAYS[way]))
            share, known = part_s / report["program"]["critical_path_s"], ms / sum(burnt_ms.values())
            good = abs(share - known) <= OFF
            results.compare(good, f"{label}: {way}", f"{share:.3f}", f"{known - OFF:.3f} to {known + OFF:.3f}")


def check_lines(results, dump):
    """tests/programs/lines.c: one line has three quarters of its function."""
    environment = profiled_environment(dump)
    command = [PROGRAMS / "lines", "4000"]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    text = run([BUILD / "cpa-report", "--width", "200", "--annotate", "work", dump], cwd=ROOT)
    rows = re.findall(r"^ *([\d.]+)% +[\d.]+% +\d+  .*k < (\d+)", text, re.MULTILINE)
    shares = {word: float(share) / 100 for share, word in rows}
    good = abs(shares.get("3000", 0) - 0.75) <= OFF_LINES
    limits = f"{0.75 - OFF_LINES:.3f} to {0.75 + OFF_LINES:.3f}"
    results.compare(good, "a line's share of its function", f"{shares.get('3000', 0):.3f}", limits)


def check_complete(results, folder):
    subprocess.run(INPUT, shell=True, cwd=folder, check=True)
    for name, command in COMMANDS.items():
        if not shutil.which(name):
            results.skip(f"{name}: complete stacks", "it is not installed")
            continue
        dump = folder / f"{name}.dump"
        environment = profiled_environment(dump)
        environment["CPA"] = environment.pop("LD_PRELOAD")
        subprocess.run(
            command, shell=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True
        )
        report = read(dump)
        callers = report["callers"]
        taken = callers["stacks"] + sum(use["stacks"] for use in callers["uses"] if use["use"] != "hold")
        share = 1 - callers["stacks_cut"] / taken if taken else 0
        label = f"{name}: complete stacks of {callers['stacks']} samples, {taken} in all"
        results.compare(share >= COMPLETE, label, f"{share:.4f}", f"{COMPLETE} to 1")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="callers.", dir=os.environ.get("CPA_TMP")))
    check_shares(results, folder / "dump")
    check_kinds(results, folder)
    check_lines(results, folder / "lines")
    check_complete(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
