# SPDX-License-Identifier: MIT
"""The tables of benchmarks/accuracy.md."""
import math
import statistics
import time

import measure

OUTPUT = f"{measure.HERE}/accuracy.md"
DECIDED = 0.01  # a median that is known no better does not decide about errors of some per cent
CLOSE, FAR = 0.02, 0.05
HEAD = ["program", "what is changed", "before, s", "measured, s", "spread", "±", "predicted, s",
        "error", "zeroing", "coz", ""]


def uncertainty(values):
    """Of the median, relative: half the distance of the quartiles by the root of the number."""
    return measure.spread(values) / 2 / math.sqrt(len(values))


def percent(value):
    return f"{100 * value:+.1f} %"


def against(measured, predicted):
    return predicted / measured - 1


def paired(measured, predicted):
    """The median of the rounds'."""
    return measure.median([against(*pair) for pair in zip(measured, predicted)])


class Row:
    """What there is to say of one change."""

    def __init__(self, setting, case, figures):
        self.setting, self.case = setting, case
        own, base = figures[case], figures[setting]
        self.before = measure.median(base.native)
        self.measured = measure.median(own.native)
        self.predicted = measure.median(own.predicted)
        # Round by round, as what is done within seconds meets the same machine.
        self.error = paired(own.native, own.predicted)
        self.known = uncertainty([p / m for m, p in zip(own.native, own.predicted)])
        # A quartile of fewer is no quartile.
        self.decided = len(own.native) >= 4 and self.known <= DECIDED
        self.zeroed = measure.median(own.zeroed) if own.zeroed else None
        self.coz = own.coz
        self.spread = measure.spread(own.native)
        self.unchanged = against(self.before, measure.median(base.predicted))
        # Of process time: what was predicted of the changed program against what it took; and of
        # that what is more in the record of the program as it is, and what more work takes elsewhere.
        self.process = paired(own.process, own.recorded)
        self.recorded = paired(base.process, base.recorded)
        self.elsewhere = 0 if case.switches else paired(base.process, own.process)
        self.kept = None  # the row of the same change where threads are kept on cores

    def reasons(self):
        """What of the error has been measured."""
        texts = [f"{text}: {percent(value)}" for text, value in (
            ("the program as it is, predicted", self.unchanged),
            ("its process time, recorded", self.recorded),
            ("its process time there", self.elsewhere),
            ("process time of the changed one, predicted", self.process)) if abs(value) >= CLOSE]
        rest = (1 + self.error) / (1 + self.process) - 1
        texts.append(f"beside process time: {percent(rest)}")
        if self.kept:
            texts.append(f"the same, threads kept on cores: {percent(self.kept.error)}")
        return "; ".join(texts)

    def remark(self):
        texts = [] if self.decided else ["undecided"]
        if abs(self.error) > FAR:
            texts.append(self.reasons())
        return "; ".join(texts)

    def cells(self):
        def other(value):
            return "–" if value is None else percent(against(self.measured, value))

        cores = self.setting.cores
        return [f"{self.setting.program.name}, {cores} core{'s' if cores > 1 else ''}",
                self.case.what, f"{self.before:.3f}", f"{self.measured:.3f}", percent(self.spread)[1:],
                percent(self.known)[1:], f"{self.predicted:.3f}", percent(self.error), other(self.zeroed), other(self.coz),
                self.remark()]


def rows_of(done):
    rows = [Row(setting, case, figures) for setting, figures in done for case in setting.cases]
    for row in rows:
        if row.case.switches:
            kept = [other for other in rows if other.setting is row.setting
                    and other.case.switches == {**row.case.switches, "kept": 1}]
            row.kept = kept[0] if kept else None
    return rows


def rows_text(done):
    """For whoever watches: with the reasons of all errors."""
    return "\n".join("  " + " | ".join([*row.cells(), row.reasons()]) for row in rows_of(done))


def errors_text(rows, which):
    errors = [abs(getattr(row, which)) if which == "error" else
              abs(against(row.measured, getattr(row, which)))
              for row in rows if getattr(row, which) is not None]
    if not errors:
        return None
    return (f"median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %, "
            f"{sum(e <= CLOSE for e in errors)} of {len(errors)} within {100 * CLOSE:.0f} %, "
            f"{sum(e > FAR for e in errors)} beyond {100 * FAR:.0f} %")


def summary(done):
    rows = [row for row in rows_of(done) if row.decided]
    lines = [f"Changes decided: {len(rows)} of {len(rows_of(done))}, programs: "
             f"{len({s.program.name for s, _ in done})}, of them not ours: "
             f"{len({s.program.name for s, _ in done if not s.program.ours})}."]
    for which, name in (("error", "Replay"), ("zeroed", "Zeroing, where it says something"),
                        ("coz", "coz, where it says something")):
        for of, which_rows in ((rows, ""), (rows_of(done), ", undecided ones too")):
            text = errors_text(of, which)
            if text:
                lines.append(f"{name}{which_rows}: {text}.")
    unchanged = [abs(measure.median(f[s].unchanged)) for s, f in done]
    if unchanged:
        lines.append(f"Replayed with nothing changed, against the recorded run: median "
                     f"{100 * statistics.median(unchanged):.1f} %, worst "
                     f"{100 * max(unchanged):.1f} %.")
    return "- " + "\n- ".join(lines) + "\n"


METHOD = """\
Each prediction is made from the journal of the unchanged program (`cpa run --journal`, then
`cpa-report --what-if ...`), and is of the run time without the profiler. Then the change is made: a
switch, another number of workers, other cores (taskset), a process that always works beside it; and
measured. What a process takes beside its record, to load libraries, is added. Rounds
of: the program as it is, recorded, changed in each way. All figures are medians;
error: predicted - measured, of the measured time, in each round, as what is done within seconds meets
the same machine. spread: distance of the quartiles of the changed program's native runs; ±: half the
distance of the quartiles of the errors by the root of their number; above {decided:.0f} % a row is undecided. zeroing: of the time before, what remains of the inherent critical path. coz: what a causal
profiler predicts for the same change. Beside what is more than {far:.0f} % off stands what was measured
of its causes: predictions take process time as it is recorded, and process time differs where it is
recorded (a machine's speed, what is left of samples) and where threads share caches or the width of a
core. "beside process time" is the error of a prediction that had known the changed program's process
time, if all of that were on its path: order, waiting and cores. Where threads are kept on cores, as
asked by --group, both know which; where not, Linux may leave two on one while another core is idle, and
the prediction does not (analysis/predict/engine.h). Targets: median at most 2 %, worst at most 5 %.
"""


def document(done, missing, rounds, load, took, bench):
    narrow = [pair for pair in done if not pair[0].wide]
    wide = [pair for pair in done if pair[0].wide]
    text = (f"# How right predictions are\n\n{measure.machine()}. {time.strftime('%Y-%m-%d', time.gmtime())},"
            f" commit {measure.git('rev-parse', '--short', 'HEAD') or 'unknown'}"
            f"{'+' if measure.git('status', '--porcelain', '--untracked-files=no') else ''}, {rounds} rounds "
            f"in {took / 60:.0f} minutes.\nLoad average at the start: {load:.2f}; {bench.repeated} native "
            f"runs were done again, as others used the machine, and beside {bench.disturbed} of "
            f"{bench.runs} that are in the figures they still did.\n\n"
            f"{METHOD.format(decided=100 * DECIDED, far=100 * FAR)}\n{summary(narrow)}\n"
            f"{measure.table(HEAD, [row.cells() for row in rows_of(narrow)])}")
    if wide:
        text += ("\n## Wide programs\n\nThese fill the width of a core. Where two cores are threads "
                 "of one, or a neighbour's, each is slower while the other works, which no "
                 "prediction knows; and where threads take turns on one core, each finds the caches "
                 f"full of the other's data.\n\n{summary(wide)}\n"
                 f"{measure.table(HEAD, [row.cells() for row in rows_of(wide)])}")
    if missing:
        text += "\nNot measured: " + "; ".join(missing) + ".\n"
    return text
