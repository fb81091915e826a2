#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/neighbours.py - programs of other languages, mallocs, sanitizers and other preloads

Each runs natively and under cpa run: it prints the same and ends alike, and its profile can be
read and is complete. What is not installed here is skipped, and counted. CPA_LONG=1 builds the
program in Go, too. Prints TAP and a summary.
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from surroundings import LONG, Run, Tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# By the names of the libraries themselves: links without a version are in larger packages.
MALLOCS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc.so.4",
    "tcmalloc_minimal": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}

PYTHON = """
import hashlib, queue, threading
q, out, lock = queue.Queue(4), [], threading.Lock()
def work():
    while (n := q.get()) is not None:
        digest = hashlib.sha256(bytes(n * 1000)).hexdigest()
        with lock:
            out.append(digest)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[q.put(n) for n in range(100)]
[q.put(None) for _ in threads]
[t.join() for t in threads]
print(len(out), sorted(out)[0])
raise SystemExit(3)
"""
NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
const crypto = require('crypto');
if (isMainThread) {
  let left = 6;
  const done = () => { if (--left === 0) { console.log('all'); process.exit(3); } };
  for (let i = 0; i < 4; i++)
    crypto.pbkdf2('a', 'b' + i, 1000, 64, 'sha512', done);
  for (let i = 0; i < 2; i++)
    new Worker(__filename).on('message', done);
} else {
  parentPort.postMessage(Array.from(Array(1000).keys()).reduce((a, b) => a + b));
}
"""
JAVA = """
public class Many {
    static int sum;
    public static void main(String[] a) throws Exception {
        Thread[] t = new Thread[8];
        for (int i = 0; i < t.length; i++) {
            t[i] = new Thread(() -> {
                for (int k = 0; k < 10000; k++)
                    synchronized (Many.class) { sum++; }
            });
            t[i].start();
        }
        for (Thread each : t) each.join();
        System.gc();
        System.out.println(sum);
        System.exit(3);
    }
}
"""
RUST = """
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock, Barrier};
use std::thread;
fn main() {
    let sum = Arc::new((Mutex::new(0u64), Condvar::new()));
    let all = Arc::new(RwLock::new(vec![1u64; 100]));
    let gate = Arc::new(Barrier::new(4));
    let (tx, rx) = mpsc::channel();
    let threads: Vec<_> = (0..4).map(|_| {
        let (sum, all, gate, tx) = (sum.clone(), all.clone(), gate.clone(), tx.clone());
        thread::spawn(move || {
            gate.wait();
            for _ in 0..1000 {
                *sum.0.lock().unwrap() += all.read().unwrap().iter().sum::<u64>();
                sum.1.notify_all();
            }
            tx.send(1).unwrap();
        })
    }).collect();
    for t in threads { t.join().unwrap(); }
    drop(tx);
    println!("{} {}", sum.0.lock().unwrap(), rx.iter().sum::<i32>());
    let caught = std::panic::catch_unwind(|| panic!("unwinds"));
    std::process::exit(if caught.is_err() { 3 } else { 4 });
}
"""
GO = """
package main
// #include <pthread.h>
// static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
// static long n;
// static void add(void) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }
// static long get(void) { return n; }
import "C"
import ("fmt"; "os"; "sync")
func main() {
	var w sync.WaitGroup
	for i := 0; i < 8; i++ {
		w.Add(1)
		go func() { defer w.Done(); for k := 0; k < 1000; k++ { C.add() } }()
	}
	w.Wait()
	fmt.Println(C.get())
	os.Exit(3)
}
"""


class Neighbours(Tests):
    """The cases, each of which gives lines of results."""

    def __init__(self, build, folder):
        super().__init__(build, folder)
        self.launcher = str(build / "cpa")

    def compiled(self, name, command):
        """@command with the program to be, which it returns; None if it cannot be built here."""
        program = self.folder / name
        if not shutil.which(command[0]):
            return None
        command = [*command, "-o", str(program)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False)
        return [str(program)] if done.returncode == 0 else None

    def c(self, name, *flags, compiler="gcc"):
        command = [compiler, "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}", "-O1", "-g", "-pthread"]
        source = ROOT / "tests/conformance/target.c"
        program = self.compiled(name, [*command, str(source), *flags])
        return program and [*program, "work", "50"]

    def source(self, name, text):
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        return str(file)

    def interpreted(self, interpreter, name, text):
        return [interpreter, self.source(name, text)] if shutil.which(interpreter) else None

    def java(self):
        file = self.source("Many.java", JAVA)
        if not shutil.which("javac") or not shutil.which("java"):
            return None
        done = subprocess.run(["javac", "-d", str(self.folder), file], check=False)
        java = ["java", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", str(self.folder), "Many"]
        return java if done.returncode == 0 else None

    def cases(self):
        """Names and functions that return a command, None if it is not to be had."""
        yield "python3", lambda: self.interpreted("python3", "many.py", PYTHON)
        yield "node", lambda: self.interpreted("node", "many.js", NODE)
        yield "java", self.java
        rust = ["rustc", "-O", self.source("many.rs", RUST)]
        yield "rust", lambda: self.compiled("many-rust", rust)
        if LONG:
            yield "go", self.go
        for malloc, file in MALLOCS.items():
            yield malloc, lambda m=malloc, f=file: self.c(m, "-Wl,--no-as-needed", f"-l:{f}")
        for compiler in ("gcc", "clang"):
            for san in ("address", "thread", "undefined"):
                name = f"{compiler}-{san}"
                yield name, lambda n=name, c=compiler, s=san: self.c(
                    n, f"-fsanitize={s}", "-fno-sanitize-recover=all", compiler=c
                )

    def go(self):
        program = str(self.folder / "many-go")
        command = ["go", "build", "-o", program, self.source("many.go", GO)]
        env = dict(os.environ, GOCACHE=str(self.folder / "go-cache"))
        if not shutil.which("go") or subprocess.run(command, env=env, check=False).returncode:
            return None
        return [program]

    def check(self, name, command):
        """Results of one case: pairs of a verdict and a text; None: nothing to run."""
        if not command:
            return None
        # ThreadSanitizer's memset and memcpy are ours, too, and it knows nothing of our order.
        quiet = {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
        native = Run(command, self.environment(**quiet))
        dump = self.folder / f"{name}.dump"
        profiled = Run(
            [self.launcher, "run", "-q", "-o", str(dump), "--", *command],
            self.environment(**quiet),
        )
        return self.compare(name, native, profiled, dump)

    def compare(self, name, native, profiled, dump):
        good = native.out == profiled.out and native.status == profiled.status
        said = [line for line in profiled.err if line not in native.err]
        text = f"{name}: ends with {native.status}, profiled {profiled.status}"
        if not good:
            text += f": {native.out!r}, profiled {profiled.out!r}"
        report = self.report(dump)
        # Go ends a program by a system call of its own.
        complete = bool(report) and report["program"]["complete"] is (name != "go")
        threads = len(report["threads"]) if report else 0
        # A panic that is caught says which thread it was in, by a number.
        said = [line for line in said if "panicked at" not in line]
        return [
            (good, text),
            (not said, f"{name}: says {' / '.join(said) or 'nothing'}"),
            (complete and threads > 1, f"{name}: a profile of {threads} threads"),
        ]

    def preloads(self):
        """Other libraries that are loaded first: in front of ours and behind it."""
        yield "libjemalloc.so", f"{LIBRARIES}/libjemalloc.so.2", {}
        yield "libmimalloc.so", f"{LIBRARIES}/libmimalloc.so.2", {}
        yield "libstdbuf.so", "/usr/libexec/coreutils/libstdbuf.so", {"_STDBUF_O": "L"}
        fake = {"FAKETIME": "@2020-01-01 00:00:00", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        yield "libfaketime.so", f"{LIBRARIES}/faketime/libfaketimeMT.so.1", fake
        heaps = f"/usr/lib/heaptrack {LIBRARIES}/heaptrack".split()
        heap = next((each for each in heaps if os.path.exists(each)), "")
        # Each process has one of its own: a child may hold it longer than its parent lives.
        out = {"DUMP_HEAPTRACK_OUTPUT": str(self.folder / "heaptrack.$$.out")}
        yield "libheaptrack_preload.so", f"{heap}/libheaptrack_preload.so", out

    def check_preload(self, name, other, settings, first):
        if not os.path.exists(other):
            return None
        order = [other, self.preload] if first else [self.preload, other]
        where = f"{name} {'in front' if first else 'behind'}"
        dump = self.folder / f"{where}.dump"
        # It prints no descriptors: libfaketime opens one for each who asks it for the time early.
        command = [self.target, "fill", "2000"]
        native = Run(command, self.environment(LD_PRELOAD=other, **settings))
        settings = dict(settings, LD_PRELOAD=":".join(order), CPA_OUTPUT=str(dump))
        profiled = Run(command, self.environment(**settings))
        return self.compare(where, native, profiled, dump)

    def run(self):
        jobs = {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, find in self.cases():
                jobs[name] = pool.submit(lambda n=name, f=find: self.check(n, f()))
            for name, other, settings in self.preloads():
                for first in (True, False):
                    arguments = (name, other, settings, first)
                    where = f"{name} {'in front' if first else 'behind'}"
                    jobs[where] = pool.submit(self.check_preload, *arguments)
        for name, job in jobs.items():
            outcome = job.result()
            if outcome is None:
                self.results.skip(name, "not installed")
            for good, text in outcome or ():
                self.results.check(good, text)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-neighbours.", dir=os.environ.get("CPA_TMP")))
    tests = Neighbours(pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve(), folder)
    tests.run()
    return tests.results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
