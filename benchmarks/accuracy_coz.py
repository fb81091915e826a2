# SPDX-License-Identifier: MIT
"""What coz, a causal profiler, predicts of a change, where it can: of a line that is sped up."""
import os
import re
import shutil
import subprocess

import measure

# DWARF as old as coz reads it; PROGRESS: the program says where it makes progress.
FLAGS = ["-std=gnu11", "-O2", "-gdwarf-4", "-gno-variable-location-views",
         "-D_GNU_SOURCE", "-DPROGRESS", "-pthread"]
LONGER = {"rounds": 9000, "items": 6000}  # an experiment takes half a second, and there are to be several
LIMIT = 90


def line_of(source, function):
    """The line of @function that works."""
    with open(source) as text:
        lines = text.read().split("\n")
    begin = next(i for i, line in enumerate(lines) if re.search(rf"void {function}\(unsigned", line))
    return 1 + next(i for i in range(begin, len(lines)) if "WORK(" in lines[i])


def progress(bench, program, place, speedup):
    """Points of progress a second while the line @place is so much faster, per cent."""
    output = f"{bench.folder}/coz"
    if os.path.exists(output):
        os.unlink(output)
    longer = [f"{key}={value}" for key, value in LONGER.items()]
    subprocess.run(["coz", "run", "-o", output, "--fixed-line", place, "--fixed-speedup",
                    str(speedup), "---", program, *longer], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=LIMIT, check=True)
    with open(output) as text:
        found = text.read()
    took = sum(int(n) for n in re.findall(r"^experiment\t.*duration=(\d+)", found, re.M))
    made = sum(int(n) for n in re.findall(r"^throughput-point\t.*delta=(\d+)", found, re.M))
    if not made or not took:
        raise measure.Fails("no experiments")
    return made / took * 1e9


def predict_case(bench, setting, function, factor):
    """Seconds of the program with @function at @factor."""
    name = f"changed_{setting.program.name}"
    here = os.path.dirname(os.path.abspath(__file__))
    source, program = f"{here}/{name}.c", f"{bench.folder}/{name}.coz"
    subprocess.run(["gcc", *FLAGS, f"-I{here}/..", "-o", program, source, "-ldl"], check=True)
    place = f"{name}.c:{line_of(source, function)}"
    return progress(bench, program, place, 0) / progress(bench, program, place,
                                                         round(100 * (1 - factor)))


def predict(bench, done):
    """Of the cases for which a setting names it; what coz cannot do is left out."""
    for setting, figures in done:
        for case in setting.cases:
            if case.zero is None or case.zero[1] not in setting.coz or not shutil.which("coz"):
                continue
            try:
                ratio = predict_case(bench, setting, case.zero[1], case.zero[2])
            except (measure.Fails, OSError, subprocess.SubprocessError):
                continue
            figures[case].coz = ratio * measure.median(figures[setting].native)
