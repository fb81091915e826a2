#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/first_rows.py - the first row of a report is what a person would name

Real programs, as far as they are installed (tests/real/run.py --install): the first row of the table of
savings is the component that does the work, with CPU time on the path; and the verdict names nothing
that only waits. memcached and redis have a load, and their row is one with CPU time. What a compiler
reads is read once before, or the time blocked for a disk may be most of a first run. Prints TAP.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import exact  # noqa: F401, the modules of tests/e2e
from profiled import BUILD, clean_environment, read, run
from results import Results
from servers import Fails, serving

TEST_S = 300  # not a limit on speed: what takes this long hangs
LOAD_S = 3

NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
if (isMainThread) {
  let left = 3;
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename);
    worker.on('message', () => { if (--left === 0) console.log('done'); });
    worker.postMessage(38);
  }
} else parentPort.once('message', (n) => parentPort.postMessage(fib(n)));
"""
JAVA = """
import java.util.*;
import java.util.concurrent.*;
public class Pool {
  static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(3);
    List<Future<Long>> all = new ArrayList<>();
    for (int i = 0; i < 12; i++) all.add(pool.submit(() -> fib(38)));
    for (Future<Long> each : all) each.get();
    pool.shutdown();
  }
}
"""
CARGO = '[package]\nname = "many"\nversion = "0.1.0"\nedition = "2021"\n'
RUST = "fn main() { let v: Vec<u64> = (0..9).collect(); println!(\"{:?} {}\", v, v.len()); }\n"
PAGE = "<!doctype html><body>" + "<p>Words that have to be laid out, again and again. " * 4000
MAKEFILE = (
    "all: a b c d\na b c d:\n\t@head -c 3000000 /dev/urandom | base64 | xz -6 -T1 -c > $@.xz\n"
)
TEXT = "seq 1 3000000 > in.txt"
SHUFFLED = "seq 1 1500000 | shuf > in.txt"
FRAMES = (
    "ffmpeg -loglevel error -f lavfi -i testsrc=size=640x360:rate=25:duration={seconds} "
    "-pix_fmt yuv420p in.y4m"
)
LOOPS = "".join(
    f"int f{i}(int n) {{ int s = 0; for (int i = 0; i < n; i++) s += i % {i + 2}; return s; }}\n"
    for i in range(60)
)
SOURCES = {f"{name}.c": LOOPS for name in "abcd"}
NINJA = "rule cc\n command = cc -O2 -c $in -o $out\n" + "".join(
    f"build {name}.o: cc {name}.c\n" for name in "abcd"
)
CMAKE = (
    "cmake_minimum_required(VERSION 3.10)\nproject(many C)\n"
    "set(CMAKE_C_FLAGS -O2)\nadd_library(many STATIC a.c b.c c.c d.c)\n"
)
POOL = """
import multiprocessing

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool:
        pool.map(fib, [29] * 9)
"""

# Files, what makes the input, the command, and the row: its kind and what its name has to match.
PROGRAMS = {
    "soffice": (
        {"page.html": PAGE},
        "true",
        "soffice --headless -env:UserInstallation=file://{folder}/office --convert-to pdf page.html",
        ("thread", r"soffice|main"),
    ),
    "node": ({"many.js": NODE}, "true", "node many.js", ("thread", r"node::worker::Worker::Start")),
    "java": ({"Pool.java": JAVA}, "javac Pool.java", "java -cp . Pool", ("thread", r"pool-1-")),
    "cargo": (
        {"Cargo.toml": CARGO, "src/main.rs": RUST},
        "cargo build --offline -q --target-dir before",
        "cargo build --offline -q",
        ("thread", r"rustc|opt |cargo"),
    ),
    "make": ({"Makefile": MAKEFILE}, "true", "make -s -j2", ("thread", r"^xz$")),
    "xz": (
        {},
        TEXT,
        "xz -T4 -1 -k -f --block-size=1MiB in.txt",
        ("thread|function", r"lzma"),
    ),
    "gst-launch-1.0": (
        {},
        "true",
        "gst-launch-1.0 -q videotestsrc num-buffers=400 ! queue ! videoconvert ! queue ! jpegenc ! "
        "fakesink",
        ("thread|function", r"queue\d:src|jpeg"),
    ),
    "ffmpeg": (
        {},
        FRAMES.format(seconds=6),
        "ffmpeg -y -loglevel error -i in.y4m -c:v libx264 -preset fast out.mkv",
        ("thread|function", r"libx264"),
    ),
    "x264": (
        {},
        FRAMES.format(seconds=6),
        "x264 --quiet -o out.264 in.y4m",
        ("thread|function", r"libx264"),
    ),
    "x265": (
        {},
        FRAMES.format(seconds=2),
        "x265 --log-level none --input in.y4m -o out.265",
        ("thread|function", r"x265"),
    ),
    "rsync": (
        {},
        "mkdir from; head -c 80000000 /dev/urandom > from/a; cp from/a from/b",
        "rsync -a -c --whole-file from/ to/",
        ("thread|function", r"rsync|main|^read$|write|XXH"),
    ),
    "ninja": (
        SOURCES | {"build.ninja": NINJA},
        "cc -O2 -c a.c -o before.o",
        "ninja -j2 --quiet",
        ("thread", r"^cc1$"),
    ),
    "cmake": (
        SOURCES | {"CMakeLists.txt": CMAKE},
        "cmake -B build . && cc -O2 -c a.c -o before.o",
        "cmake --build build -j2",
        ("thread", r"^cc1$"),
    ),
    "python3": ({"pool.py": POOL}, "true", "/usr/bin/python3 pool.py", ("thread", r"python3, forked")),
    "pigz": ({}, TEXT, "pigz -k -p 3 in.txt", ("thread|function", r"pigz|libz")),
    "zstd": ({}, TEXT, "zstd -q -9 -T2 in.txt", ("thread|function", r"zstd")),
    "sort": (
        {},
        SHUFFLED,
        "sort --parallel=2 -S 200M in.txt",
        ("thread|function|lock", r"main|sort|cmp|coll"),
    ),
}


def first_row(dump):
    """Kind, name, and CPU time as a share, of the first row of the table of savings."""
    text = run([BUILD / "cpa-report", "--level", "component", "--width", "400", dump])
    lines = iter(text.splitlines())
    next(line for line in lines if re.match(r"\s*saves\s+path\s+wall\s+CPU\s+kind", line))
    found = re.match(r"\s*\S+ \S+\s+(\S+)\s+\S+\s+(\S+)\s+(\w+)\s+(.*)", next(lines))
    path, cpu, kind, rest = found.groups()
    return kind, re.split(r"\s{2,}", rest)[0], path, cpu


def check(results, name, folder):
    files, prepare, command, (kind, pattern) = PROGRAMS[name]
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    dump = folder / "run.dump"
    environment = clean_environment(CPA_OUTPUT=str(dump), CPA_QUIET="1")
    words = command.format(folder=folder).split()
    for each in (["sh", "-c", prepare], [BUILD / "cpa", "run", "-q", "--", *words]):
        done = subprocess.run(
            each,
            cwd=folder,
            env=environment,
            timeout=TEST_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            results.skip(name, f"ends with {done.returncode}: {done.stderr.strip()[-100:]}")
            return
    found = first_row(dump)
    good = re.fullmatch(kind, found[0]) and re.search(pattern, found[1])
    good = good and float(found[2].rstrip("%")) > 0 and float(found[3].rstrip("%")) > 0
    text = "{0} {1}, {2} of the path and {3} of the CPU time".format(*found)
    results.compare(good, f"{name}: the first row", text, f"{kind} {pattern}")
    print(f"# {read(dump)['verdict']['sentence']}")


def check_server(results, kind_of_server, folder):
    label = kind_of_server.needs[0]
    missing = kind_of_server.missing()
    if missing:
        results.skip(label, f"not installed: {', '.join(missing)}")
        return
    os.chmod(folder, 0o755)
    server = kind_of_server(str(folder), BUILD)
    try:
        server.start(True)
        server.load(LOAD_S)
        server.stop()
    finally:
        server.kill()
    kind, name, path, cpu = first_row(server.dump())
    good = kind in ("thread", "function") and float(cpu.rstrip("%")) > 0
    text = f"{kind} {name}, {path} of the path and {cpu} of the CPU time"
    results.compare(good, f"{label}: the first row", text, "a thread or function that works")
    print(f"# {read(server.dump())['verdict']['sentence']}")


def main():
    results = Results()
    wanted = sys.argv[1:]
    for name in wanted or PROGRAMS:
        if name not in PROGRAMS:
            continue
        if not shutil.which(name):
            results.skip(name, "not installed")
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-first-rows."))
        try:
            check(results, name, folder)
        except (RuntimeError, ValueError, StopIteration, AttributeError, subprocess.TimeoutExpired) as error:
            results.check(False, f"{name}: {error!r}")
        shutil.rmtree(folder, ignore_errors=True)
    for server in (serving.Memcached, serving.Redis):
        if wanted and server.needs[0] not in wanted:
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-first-rows."))
        try:
            check_server(results, server, folder)
        except Fails as error:
            results.check(False, f"{server.needs[0]}: {error}")
        shutil.rmtree(folder, ignore_errors=True)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
