# SPDX-License-Identifier: MIT
"""Tables of benchmarks/run: memory by number of things, and what the report costs."""
import os
import resource
import shutil

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
                  "JSON s", "peak MiB"], rows) + "\n" + names(cpa, 3 if quick else 5)


RUST = """
fn busy(n: u64) -> u64 { if n < 2 { n } else { busy(n - 1) + busy(n - 2) } }
fn main() {
    let all: Vec<_> = (0..4).map(|i| std::thread::spawn(move || busy(20 + i))).collect();
    for one in all { println!("{}", one.join().unwrap()); }
}
"""
NODE = """
const { Worker } = require('worker_threads'), crypto = require('crypto');
for (let i = 0; i < 4; i++)
    new Worker('let s = 0; for (let i = 0; i < 3e7; i++) s += i;', { eval: true });
for (let i = 0; i < 8; i++)
    crypto.pbkdf2('a', 'b', 100000, 64, 'sha512', () => {});
"""
# Programs whose files have very many names: what it takes to look up those that are needed.
NAMED = {
    "cargo": ["cargo", "build", "--release", "--offline"],
    "ninja": ["ninja", "-j2"],
    "node": ["node", "-e", NODE],
    "gstreamer": "gst-launch-1.0 -q videotestsrc num-buffers=200 ! video/x-raw,width=640,height=480 "
                 "! queue ! videoconvert ! queue ! jpegenc ! fakesink".split(),
    "qemu": ["qemu-x86_64", "/usr/bin/sha256sum", "Cargo.toml"],
}


def prepare(folder):
    """Something to build for each builder."""
    os.makedirs(f"{folder}/src", exist_ok=True)
    with open(f"{folder}/src/main.rs", "w") as out:
        out.write(RUST)
    with open(f"{folder}/Cargo.toml", "w") as out:
        out.write('[package]\nname = "few"\nversion = "0.1.0"\nedition = "2021"\n')
    with open(f"{folder}/build.ninja", "w") as out:
        out.write("rule cc\n command = gcc -O2 -c $in -o $out\n")
        for i in range(8):
            out.write(f"build {i}.o: cc {i}.c\n")
            with open(f"{folder}/{i}.c", "w") as source:
                source.writelines(f"int f{j}(int a) {{ return a * {j}; }}\n" for j in range(60))


def names(cpa, rounds):
    """Reports of real programs, the first and later ones of a dump."""
    folder, cache = f"{cpa.folder}/named", f"{cpa.folder}/cache"
    rows = []
    for name, words in NAMED.items():
        if not shutil.which(words[0]):
            rows.append([name, "not installed", *["-"] * 7])
            continue
        shutil.rmtree(folder, ignore_errors=True)
        prepare(folder)
        run(words, cpa.environment(), folder)
        row = [name]
        for options in ([], ["--format", "json"]):
            first, later = [], []
            for _ in range(rounds):
                shutil.rmtree(cache, ignore_errors=True)
                for runs in (first, later):
                    runs.append(run([f"{cpa.build}/cpa-report", *options, cpa.path()],
                                    {"CPA_CACHE": cache}))
            for runs in (first, later):
                row += ["fails", "-"] if any(done.status for done in runs) else [
                    f"{median([done.wall for done in runs]):.2f}",
                    f"{median([done.cpu for done in runs]):.2f}"]
        rows.append(row)
    return ("Names: seconds and CPU seconds of reports of real programs, without a cache of names "
            "and with what the report before left there.\n\n" +
            table(["dump of", "first screen s", "CPU s", "again s", "CPU s", "JSON s", "CPU s",
                   "again s", "CPU s"], rows))
