# SPDX-License-Identifier: MIT
"""tests/accuracy/looks.py - figures that must be right, but for what the machine did in one run

A hypervisor takes its processors away for milliseconds, and a processor may run slower for a while. So
a program is run once, and if anything is not right then, four times more: a time that is right in most
of all five runs is right. What is wrong always, or most times, fails, and what is not a time at once.
A run beside others who use the machine is no look at all: that is seen before any figure is.
"""

from machine import Others

LOOKS = 5
OTHERS = 0.05  # of the processors: a run beside others who had more was not left alone
RUNS = 6  # to be left alone in one of them
PATIENCE = 40  # such runs in all, of one test: then the first must do


class Busy(Exception):
    """The machine left no run alone."""


class Look:
    """What one run showed. As Results, with the figure apart from the label, the same in each run."""

    def __init__(self):
        self.figures = {}  # by label: right, None if it cannot be told; and the figure or the reason
        self.timed = set()

    def check(self, good, label, figure=""):
        self.figures[label] = (bool(good), figure)
        return good

    def time(self, good, label, found, expected):
        self.timed.add(label)
        return self.check(good, label, f"found {found}, expected {expected}")

    def skip(self, label, reason):
        self.figures[label] = (None, reason)

    def good(self):
        return all(good is not False for good, _ in self.figures.values())


disturbed = []  # shares of others, in runs that were not left alone


def left_alone(run):
    """Return what @run returns, of a run that was left alone. Raise Busy if there is none."""
    for _ in range(RUNS if len(disturbed) < PATIENCE else 1):
        others = Others()
        result = run()
        share = others.share()
        if share <= OTHERS:
            return result
        disturbed.append(share)
    raise Busy(f"others had over {OTHERS:.0%} of the processors, {disturbed[-1]:.0%} at last")


def decide(results, looks):
    """Say of each label whether it was right in @looks, with the last figure that was not."""
    for label in dict.fromkeys(label for look in looks for label in look.figures):
        seen = [look.figures[label] for look in looks if label in look.figures]
        right = [figure for good, figure in seen if good]
        wrong = [figure for good, figure in seen if good is False]
        if not right and not wrong:
            results.skip(label, seen[0][1])
            continue
        figure = (wrong or right)[-1]
        text = f"{label}: {figure}" if figure else label
        if len(looks) > 1:
            text += f", right in {len(right)} of {len(right) + len(wrong)} runs"
        timed = any(label in look.timed for look in looks)
        results.check(len(right) > len(wrong) if timed else not wrong, text)


def check(results, take):
    """@take returns the Look of a new run."""
    looks = [take()]
    if not looks[0].good():
        looks += [take() for _ in range(LOOKS - 1)]
    decide(results, looks)
