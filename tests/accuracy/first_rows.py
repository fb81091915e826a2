#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/first_rows.py - the first row of a report is what a person would name

Real programs, as far as they are installed (tests/real/run.py --install): the first row of the table of
savings is the component that does the work, with CPU time on the path; and the verdict names nothing
that only waits. memcached has a load, and its row is the one with most CPU time. Prints TAP.
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

TEST_S = 120  # not a limit on speed: what takes this long hangs
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
        "true",
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


def check_memcached(results, folder):
    missing = serving.Memcached.missing()
    if missing:
        results.skip("memcached", f"not installed: {', '.join(missing)}")
        return
    os.chmod(folder, 0o755)
    server = serving.Memcached(str(folder), BUILD)
    try:
        server.start(True)
        server.load(LOAD_S)
        server.stop()
    finally:
        server.kill()
    kind, name, path, cpu = first_row(server.dump())
    good = kind in ("thread", "function") and float(cpu.rstrip("%")) > 0
    text = f"{kind} {name}, {path} of the path and {cpu} of the CPU time"
    results.compare(good, "memcached: the first row", text, "a thread or function that works")
    print(f"# {read(server.dump())['verdict']['sentence']}")


def main():
    results = Results()
    for name in PROGRAMS:
        if not shutil.which(name):
            results.skip(name, "not installed")
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-first-rows."))
        try:
            check(results, name, folder)
        except (RuntimeError, ValueError, StopIteration, AttributeError, subprocess.TimeoutExpired) as error:
            results.check(False, f"{name}: {error!r}")
        shutil.rmtree(folder, ignore_errors=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-first-rows."))
    try:
        check_memcached(results, folder)
    except Fails as error:
        results.check(False, f"memcached: {error}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
