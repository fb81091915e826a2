#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Predict what changes to programs would do, make the changes, and compare.

    benchmarks/accuracy.py [--rounds N] [--build DIR] [--output FILE] [PROGRAM ...]

Nothing is timed against a limit: targets stand beside the figures.
"""
import argparse
import fnmatch
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import accuracy_cases as cases
import accuracy_coz
import accuracy_table
import measure

BURNER = "while :; do :; done"
LEFT = 0.2     # of the run: a change that leaves less is no change
OTHERS = 0.04  # of a core: a run beside which others used more is done again


class Measured:
    """Of one case or setting: seconds of each round, by what was done."""

    def __init__(self):
        self.native, self.predicted, self.zeroed = [], [], []
        self.unchanged = []
        self.coz = None  # a figure, not of the rounds


def used_by_all():
    """Processor seconds that anybody used, or the hypervisor took, since the machine was started."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, soft, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def used_by_us():
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


class Bench:
    def __init__(self, build, folder, tries):
        self.build, self.folder, self.tries = os.path.abspath(build), folder, tries
        self.runs = self.repeated = self.disturbed = 0
        self.nothing = self.nothing_recorded = 0.0
        self.dump = f"{folder}/run.dump"

    def words(self, setting, switches):
        return setting.program.words(self.folder, self.build, **{**setting.switches, **switches})

    def timed(self, words, cores, load=0):
        """As run(), done again while others use the machine; of the tries the least disturbed one."""
        tries = []
        for _ in range(self.tries):
            tries.append(self.disturbed_run(words, cores, load))
            if tries[-1][0] <= OTHERS:
                break
        self.runs += 1
        self.repeated += len(tries) - 1
        self.disturbed += min(tries)[0] > OTHERS
        return min(tries)[1]

    def disturbed_run(self, words, cores, load):
        """The cores that others used meanwhile, and the seconds it took."""
        others = used_by_all() - used_by_us()
        took = self.run(words, cores, load)
        return (used_by_all() - used_by_us() - others) / took, took

    def run(self, words, cores, load):
        """Seconds of @words on the first @cores, beside @load processes that always work."""
        available = sorted(os.sched_getaffinity(0))[:cores]
        burners = [subprocess.Popen(["sh", "-c", BURNER]) for _ in range(load)]
        try:
            with open(f"{self.folder}/output", "wb") as output:
                begun = time.monotonic()
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL,
                    preexec_fn=lambda: os.sched_setaffinity(0, available))
                status = process.wait()
                took = time.monotonic() - begun
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        if status:
            raise measure.Fails(f"{words[0]} ended with status {status}")
        return took

    def record(self, words, cores):
        """Record @words. Seconds that it took beside what is in the record."""
        command = [f"{self.build}/cpa", "run", "--journal=256M", "--force", "-o", self.dump, "--"]
        for _ in range(self.tries):
            others, took = self.disturbed_run([*command, *words], cores, 0)
            if others <= OTHERS:
                break
        return took - self.report("--cores", str(cores))["recorded_s"]

    def loading(self, beside):
        """
        Of the seconds @beside a record those of the program itself, for its libraries' loading and
        ending: all but what the profiler has there of a program that does nothing.
        """
        return max(0.0, beside - self.nothing_recorded) + self.nothing

    def measure_nothing(self):
        self.nothing_recorded = measure.median([self.record(["true"], 1) for _ in range(9)])
        self.nothing = measure.median([self.run(["true"], 1, 0) for _ in range(9)])

    def report(self, *options):
        done = subprocess.run([f"{self.build}/cpa-report", "--format", "json", *options, self.dump],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise measure.Fails(done.stderr.decode().strip())
        return json.loads(done.stdout)


def zeroing(report, case):
    """Of the run's time what its critical path without the component is of its path."""
    if not case.zero:
        return None
    kind, name, factor = case.zero
    path = report["program"]["critical_path_s"]
    saved = sum(c["saved_s"] for c in report["components"]
                if c["kind"] == kind and fnmatch.fnmatchcase(c["name"], name))
    return (path - (1 - factor) * saved) / path


def predict(bench, setting, figures, loading):
    """All predictions from the dump that is there, with @loading seconds that are not in it."""
    whole = bench.report()
    for case in setting.cases:
        answer = bench.report(*(case.asked or ("--cores", str(case.cores))))
        row = answer["predictions"][0]
        figures[case].predicted.append(row.get("changed_s", row["unchanged_s"]) + loading)
        share = zeroing(whole, case)
        if share is not None:
            figures[case].zeroed.append(share * figures[setting].native[-1])
    same = bench.report("--cores", str(setting.cores))
    figures[setting].predicted.append(same["predictions"][0]["unchanged_s"] + loading)
    figures[setting].unchanged.append(same["replayed_s"] / same["recorded_s"] - 1)


def found_changes(bench, setting):
    """As cases: the best next changes that the search finds in the run, and that can be made."""
    answer = bench.report("--curves")
    asked, switches, found = [], {}, []
    least = LEFT * answer["predictions"][0]["unchanged_s"]
    for change in answer.get("next", []):
        name = f"{change['kind']}:{change['name']}"
        known = [s for pattern, s in setting.program.zeroed.items()
                 if fnmatch.fnmatchcase(name, pattern)]
        if not known or change["run_s"] < least:
            break
        asked += ["--what-if", f"{name}=0"]
        switches = {**switches, **known[0]}
        found.append(cases.Case(setting, f"search: `{name}=0`" + (" too" if found else ""),
                                tuple(asked), None, setting.cores, 0, switches, ""))
    return found


def measure_setting(bench, setting, rounds):
    if setting.search:
        bench.record(bench.words(setting, {}), setting.cores)
        setting.cases += found_changes(bench, setting)
    figures = {each: Measured() for each in [setting, *setting.cases]}
    for i in range(rounds):
        order = setting.cases[::-1 if i % 2 else 1]
        figures[setting].native.append(bench.timed(bench.words(setting, {}), setting.cores))
        beside = bench.record(bench.words(setting, {}), setting.cores)
        predict(bench, setting, figures, bench.loading(beside))
        for case in order:
            figures[case].native.append(
                bench.timed(bench.words(setting, case.switches), case.cores, case.load))
    return figures


def measure_all(bench, rounds, wanted):
    """(setting, figures) of each that can be measured; texts on the others."""
    done, missing = [], []
    for setting in cases.settings():
        name = setting.program.name
        if wanted and not any(fnmatch.fnmatchcase(name, each) for each in wanted):
            continue
        if setting.program.missing() or setting.cores > len(os.sched_getaffinity(0)):
            missing.append(f"{name}: not installed, or too few cores")
            continue
        print(f"{name}, {setting.cores} cores ...", file=sys.stderr)
        try:
            figures = measure_setting(bench, setting, rounds)
        except measure.Fails as error:
            missing.append(f"{name}: {error}")
            continue
        done.append((setting, figures))
        print(accuracy_table.rows_text([(setting, figures)]), file=sys.stderr)
    return done, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tries", type=int, default=5,
                        help="of a run that others disturb (default 5)")
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD", "build"))
    parser.add_argument("--output", default=accuracy_table.OUTPUT)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="cpa-accuracy.")
    load, begun = os.getloadavg()[0], time.monotonic()
    try:
        cases.make_files(folder)
        bench = Bench(options.build, folder, options.tries)
        bench.measure_nothing()
        done, missing = measure_all(bench, options.rounds, options.programs)
        accuracy_coz.predict(bench, done)
    finally:
        shutil.rmtree(folder)
    text = accuracy_table.document(done, missing, options.rounds, load, time.monotonic() - begun,
                                   bench)
    with open(options.output, "w") as output:
        output.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
