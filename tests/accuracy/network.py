#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/network.py - runs predicted with other costs of messages, and those runs

tests/programs/messages sends requests and answers from process to process, through a pipe. From its
journal cpa-report --network predicts what it takes over a slower network, and that is made: messages
are used no earlier than so long after they were sent. Then a pipe becomes a unix socket or TCP; what
their messages take more is half of a round trip without work, as in LBF, section 2. A run beside others is
done again. Prints TAP and a summary.
"""

import os
import pathlib
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
import looks
from profiled import PROGRAMS, profiled_environment, read, run
from results import Results

ROUNDS, WORK_US = 200, 200
RUNS = 5
# Kind, bytes of a message, what --network says, and how long each is under way, in us.
SLOWER = (
    ("pipe", 64, "latency=300us", 300),
    ("pipe", 64, "latency=2ms", 2000),
    ("unix", 64, "latency=300us", 300),
    ("tcp", 64, "latency=300us", 300),
    ("pipe", 16384, "latency=100us bandwidth=100M", 264),
)
OTHER = (("pipe", "unix"), ("pipe", "tcp"), ("unix", "tcp"))
OFF = 0.03
# Processors are longer idle between messages with work than in a round trip without, and wake slower.
OFF_OTHER = 0.06


def once(kind, rounds, work_us, size, delay_us, **settings):
    words = (PROGRAMS / "messages", kind, rounds, work_us, size, delay_us)
    return float(run([str(word) for word in words], **settings).split()[-1])


def quickest(*arguments):
    """The run that others disturbed least."""
    return min(looks.left_alone(lambda: once(*arguments)) for _ in range(RUNS))


def half_a_round_s(kind, size):
    return quickest(kind, 2000, 0, size, 0) / 4000


def record(folder, kind, size):
    """The journal of the run that others disturbed least."""
    best = None
    for number in range(RUNS):
        dump = folder / f"{kind}.{size}.{number}.dump"
        settings = {"env": profiled_environment(dump, CPA_JOURNAL="16M")}
        seconds = looks.left_alone(lambda: once(kind, ROUNDS, WORK_US, size, 0, **settings))
        if best is None or seconds < best[0]:
            best = seconds, dump
    return best[1]


def predict(dump, network):
    answer = read(dump, "--network", network)
    return answer["predictions"][0]["changed_s"] - answer["start_s"]


def compare(results, label, predicted_s, measured_s, most):
    off = predicted_s / measured_s - 1
    results.compare(
        abs(off) <= most,
        f"{label}: predicted",
        f"{predicted_s:.4f} s ({off:+.1%})",
        f"{measured_s:.4f} s +- {most:.0%}",
    )


def check_slower(results, folder):
    for kind, size, network, delay_us in SLOWER:
        predicted_s = predict(record(folder, kind, size), network)
        measured_s = quickest(kind, ROUNDS, WORK_US, size, delay_us)
        compare(results, f"{kind}, {size} bytes, {network}", predicted_s, measured_s, OFF)


def check_other(results, folder):
    size = 64
    half_s = {kind: half_a_round_s(kind, size) for kind in ("pipe", "unix", "tcp")}
    for kind, other in OTHER:
        dump = record(folder, kind, size)
        more_s = max(0, half_s[other] - half_s[kind])
        predicted_s = predict(dump, f"latency={more_s * 1e9:.0f}ns")
        measured_s = quickest(other, ROUNDS, WORK_US, size, 0)
        compare(results, f"{kind} to {other}", predicted_s, measured_s, OFF_OTHER)


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="network.", dir=os.environ.get("CPA_TMP")))
    for check in (check_slower, check_other):
        try:
            check(results, folder)
        except looks.Busy as error:
            results.skip(check.__name__, error)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
