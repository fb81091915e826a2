# SPDX-License-Identifier: MIT
"""Table of benchmarks/run: what a journal takes, and how fast everything is found again from it."""
import json
import shutil

import overhead
from measure import Fails, median, run, table
from scale import peak

SYNTHETIC = [(50_000, "64M"), (5_000_000, "512M"), (50_000_000, "2G")]  # uses of locks, journal
REAL = ("pigz", "sort", "ffmpeg", "python3", "node")
QUICK_MOST = 5_000_000
ROUNDS = 3


def again(cpa):
    """What finding the critical path again takes, and of how much."""
    runs = [run([cpa.program("rebuild"), cpa.path()]) for _ in range(ROUNDS)]
    verified = run([f"{cpa.build}/cpa-report", "--verify", cpa.path()])
    if verified.status or b"not compared" in verified.output or any(d.status for d in runs):
        raise Fails("the journal and the figures differ, or cannot be compared")
    found = [json.loads(done.output) for done in runs]
    events, size = found[0]["events"], found[0]["bytes"]
    search = median([one["search_s"] for one in found])
    walk = median([one["walk_s"] for one in found])
    return [f"{events:,}", f"{size / 2**20:,.1f}", f"{size / events:.1f}", f"{search:.2f}",
            f"{events / search / 1e6:.1f}", f"{walk:.2f}", f"{verified.cpu:.2f}", peak(runs)]


def journaled(cpa, quick):
    """`length` of scale.c, each use timed; then real programs as they are."""
    found = {}
    for uses, size in SYNTHETIC:
        if not quick or uses <= QUICK_MOST:
            found[f"{uses:,} uses of 64 locks by two threads"] = lambda uses=uses, size=size: run(
                [cpa.program("scale"), "length", str(uses)],
                cpa.environment(CPA_JOURNAL=size, CPA_SAMPLE_HZ="0"))
    present = [name for name in REAL if shutil.which(overhead.words_of(name, cpa.folder)[0])]
    overhead.prepare(cpa.folder, present)
    for name in present:
        found[name] = lambda name=name: overhead.once(cpa, name, (),
                                                      cpa.environment(CPA_JOURNAL="512M"))
    rows = []
    for what, program in found.items():
        try:
            if program().status:
                raise Fails("exit status not 0")
            rows.append([what, *again(cpa)])
        except Fails as error:
            rows.append([what, f"fails: {error}", *["-"] * 7])
    return ("On one core. Search: the whole graph is built and the longest path to each event found "
            "(`rebuild.c`); walk: back along it, for what it consists of; `cpa-report --verify` does "
            "both, zeroes all components, and compares. Peak memory of the first two, the pages of "
            "the session that were read among it. Targets: about 8 bytes an event, 10 million events "
            "a second, 100 million within 2,048 MiB.\n\n" +
            table(["run", "events", "journal MiB", "bytes an event", "search, CPU s",
                   "million events/s", "walk, CPU s", "--verify, CPU s", "peak MiB"], rows))
