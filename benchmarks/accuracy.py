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
# As many as come with the kernel's ticks. More take some 40 us of a virtual machine's process time each.
SAMPLES = 250
LEFT = 0.2     # of the run: a change that leaves less is no change
OTHERS = 0.04  # of a core: a run beside which others used more is done again


class Measured:
    """Of one case or setting: seconds of each round, by what was done."""

    def __init__(self):
        self.native, self.predicted, self.zeroed = [], [], []
        self.process = []   # time of the native runs
        self.recorded = []  # process time of the predictions
        self.unchanged = []
        self.coz = None  # a figure, not of the rounds

    def ran(self, run):
        self.native.append(run.wall)
        self.process.append(run.cpu)

    def add(self, loading):
        """To what was predicted, seconds that are in no record."""
        self.predicted = [each + loading for each in self.predicted]
        self.recorded = [each + loading for each in self.recorded]


def used_by_all():
    """Processor seconds that anybody used, or the hypervisor took, since the machine was started."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, soft, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def used_by_us():
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


class Precedence:
    """
    While it lasts, processes of other sessions hardly get a processor that ours want (sched(7), the
    autogroup feature), if the kernel has that and lets us.
    """
    FILE = "/proc/self/autogroup"

    def __enter__(self):
        self.before = None
        try:
            with open(self.FILE) as group:
                before = group.read().split()[-1]
            self.set("-20")
            self.before = before
        except (OSError, IndexError):
            pass
        return self

    def __exit__(self, *_):
        if self.before is not None:
            self.set(self.before)

    def set(self, nice):
        with open(self.FILE, "w") as group:
            group.write(nice)


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
        least = min(tries, key=lambda each: each[0])
        self.disturbed += least[0] > OTHERS
        return least[1]

    def disturbed_run(self, words, cores, load):
        """The cores that others used meanwhile, and the run."""
        others = used_by_all() - used_by_us()
        run = self.run(words, cores, load)
        return (used_by_all() - used_by_us() - others) / run.wall, run

    def run(self, words, cores, load):
        """Run @words on the first @cores, beside @load processes that always work."""
        available = sorted(os.sched_getaffinity(0))[:cores]
        burners = [subprocess.Popen(["sh", "-c", BURNER]) for _ in range(load)]
        try:
            with open(f"{self.folder}/output", "wb") as output:
                begun = time.monotonic()
                done = measure.Run(subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL,
                    preexec_fn=lambda: os.sched_setaffinity(0, available)), begun)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        if done.status:
            raise measure.Fails(f"{words[0]} ended with status {done.status}")
        return done

    def record(self, words, cores):
        """Record @words. Seconds that it took beside what is in the record."""
        command = ["env", f"LD_PRELOAD={self.build}/libcpa.so", f"CPA_OUTPUT={self.dump}",
                   "CPA_QUIET=1", "CPA_JOURNAL=256M", f"CPA_SAMPLE_HZ={SAMPLES}"]
        for _ in range(self.tries):
            if os.path.exists(self.dump):
                os.unlink(self.dump)
            others, run = self.disturbed_run([*command, *words], cores, 0)
            if others <= OTHERS:
                break
        return run.wall - self.report("--cores", str(cores))["recorded_s"]

    def loading(self, beside):
        """
        Of the seconds @beside a record those of the program itself, for its libraries' loading and
        ending: all but what the profiler has there of a program that does nothing.
        """
        return max(0.0, beside - self.nothing_recorded) + self.nothing

    def measure_nothing(self):
        self.nothing_recorded = min(self.record(["true"], 1) for _ in range(9))
        self.nothing = measure.median([self.run(["true"], 1, 0).wall for _ in range(9)])

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


def worked(row):
    """Process seconds of a prediction."""
    return row["utilization"] * row["cores"] * row.get("changed_s", row["unchanged_s"])


def predict(bench, setting, figures):
    """All predictions from the dump that is there."""
    whole = bench.report()
    for case in setting.cases:
        answer = bench.report(*(case.asked or ("--cores", str(case.cores))))
        row = answer["predictions"][0]
        figures[case].predicted.append(row.get("changed_s", row["unchanged_s"]))
        figures[case].recorded.append(worked(row))
        share = zeroing(whole, case)
        if share is not None:
            figures[case].zeroed.append(share * figures[setting].native[-1])
    same = bench.report("--cores", str(setting.cores))
    row = same["predictions"][0]
    figures[setting].predicted.append(row["unchanged_s"])
    figures[setting].recorded.append(worked(row))
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
                                tuple(asked), None, setting.cores, 0, switches))
    return found


def measure_setting(bench, setting, rounds):
    if setting.search:
        bench.record(bench.words(setting, {}), setting.cores)
        setting.cases += found_changes(bench, setting)
    figures = {each: Measured() for each in [setting, *setting.cases]}
    beside = []
    for i in range(rounds):
        order = setting.cases[::-1 if i % 2 else 1]
        figures[setting].ran(bench.timed(bench.words(setting, {}), setting.cores))
        beside.append(bench.record(bench.words(setting, {}), setting.cores))
        predict(bench, setting, figures)
        for case in order:
            figures[case].ran(
                bench.timed(bench.words(setting, case.switches), case.cores, case.load))
    # The same in all of them: what there is more of it is others', or the writing of the file.
    for each in figures.values():
        each.add(bench.loading(min(beside)))
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
        with Precedence():
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
