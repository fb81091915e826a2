# SPDX-License-Identifier: MIT
"""Tables of benchmarks/run: memory by number of things, and what the report costs."""
import resource

from measure import Fails, median, run, table

# what, kind of scale.c, numbers, environment, target in bytes each
SCALES = [
    ("threads at once", "threads", [1, 10, 100, 1000, 10000], {}, "65,536"),
    ("threads one after the other", "successive", [1, 100, 10000], {}, "65,536"),
    ("mutexes never taken", "unused", [1, 1000, 100_000, 1_000_000], {}, "64"),
    ("mutexes of one thread", "mutexes", [1, 1000, 100_000, 1_000_000], {}, "64"),
    ("mutexes of two threads", "shared", [1, 1000, 100_000, 1_000_000], {}, "256"),
    ("regions", "regions", [1, 64, 512, 4000], {"CPA_COMPONENTS": "4096"}, "-"),
    ("uses of 64 locks", "length", [100_000, 1_000_000, 10_000_000], {}, "0"),
]
QUICK_MOST = 100_000


def one(cpa, kind, count, environment):
    """How many were made, the dump's counters, KiB more at the peak, both runs."""
    words = [cpa.program("scale"), kind, str(count)]
    native = run(words)
    own = run(words, cpa.environment(**environment))
    if native.status or own.status:
        raise Fails(f"{kind} {count}: exit status {native.status}, {own.status}")
    (_, before), (made, peak) = (map(int, done.output.split()) for done in (native, own))
    return made, cpa.figures(), peak - before, own, native


def scale(cpa, quick):
    head = ["what", "number", "dump on disk KiB", "dump bytes each", "peak memory more KiB",
            "bytes each", "target", "CPU s native", "CPU s cpa"]
    rows = []
    for what, kind, counts, environment, target in SCALES:
        first = None
        for count in counts:
            if quick and count > QUICK_MOST * (10 if kind == "length" else 1):
                continue
            try:
                made, figures, more, own, native = one(cpa, kind, count, environment)
            except (Fails, ValueError) as error:
                rows.append([what, f"{count:,}", f"fails: {error}", *["-"] * 6])
                continue
            first = first or (made, figures["disk"], more)
            each = ["-", "-"]
            if made > first[0]:
                each = [f"{(now - then) * scale / (made - first[0]):,.1f}" for now, then, scale in
                        ((figures["disk"], first[1], 1), (more, first[2], 1024))]
            rows.append([what, f"{made:,}", f"{figures['disk'] / 1024:,.0f}", each[0], f"{more:,}",
                         each[1], target, f"{native.cpu:.2f}", f"{own.cpu:.2f}"])
    return ("Each: what one more costs, against the first row of its kind. Peak memory counts the "
            "touched part of the dump, too.\n\n" + table(head, rows))


def peak(runs):
    """MiB; a child's peak is at least what this process had when it made it."""
    kib = max(done.peak_kib for done in runs)
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{kib / 1024:.0f}" if kib > floor else f"< {floor / 1024:.0f}"


# what, kind, number, target in seconds
REPORTS = [
    ("100 threads", "threads", 100, "0.3"),
    ("10,000 objects", "mutexes", 10_000, "0.3"),
    ("1,000 components", "regions", 1000, "0.3"),
    ("1,000,000 objects", "mutexes", 1_000_000, "3"),
    ("10,000 threads", "threads", 10_000, "-"),
]


def reports(cpa, quick):
    rows = []
    for what, kind, count, target in REPORTS:
        if quick and count > QUICK_MOST:
            continue
        try:
            made, figures, *_ = one(cpa, kind, count, {"CPA_COMPONENTS": "4096"})
        except (Fails, ValueError) as error:
            rows.append([what, f"fails: {error}", *["-"] * 6])
            continue
        cells = []
        for options in ([], ["--format", "json"]):
            runs = [run([f"{cpa.build}/cpa-report", *options, cpa.path()])
                    for _ in range(3 if quick else 5)]
            if any(done.status for done in runs):
                cells += ["fails", "-"]
                continue
            cells += [f"{median([done.wall for done in runs]):.2f}",
                      peak(runs)]
        rows.append([what, f"{made:,}", f"{figures['disk'] / 2**20:.1f}", cells[0], target,
                     cells[1], *cells[2:]])
    return table(["dump of", "made", "dump MiB", "first screen s", "target", "peak MiB",
                  "JSON s", "peak MiB"], rows)
