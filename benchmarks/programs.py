#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profile programs that nobody here wrote; require their output and status to be unchanged.

    benchmarks/programs.py [--build DIR] [--table] [NAME ...]

One TAP line a program; --table prints a Markdown row for each: figures of the report and what
dominates. A program that is not installed is skipped. Nothing is timed against a limit.
"""
import argparse
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TEXT_BYTES = 40_000_000
PORT = 22000 + os.getpid() % 2000

PYTHON = """
import queue, threading
jobs, done = queue.Queue(), []
def worker():
    while (job := jobs.get()) is not None:
        done.append(sum(range(job % 500)))
threads = [threading.Thread(target=worker) for _ in range(4)]
[t.start() for t in threads]
[jobs.put(i) for i in range(40000)]
[jobs.put(None) for _ in threads]
[t.join() for t in threads]
print(len(done), sum(done))
"""

# What is compared is standard output, or the file OUT; None: the figures in it are times.
BATCH = {
    "pigz": "pigz -p4 -c IN",
    "pbzip2": "pbzip2 -p4 -k -c IN",
    "zstd": "zstd -q -T4 -9 -c IN",
    "xz": "xz -T4 -1 -c --block-size=4MiB IN",
    "sort": "sort --parallel=4 -S 400M IN",
    "python3": ["/usr/bin/python3", "-c", PYTHON],
    "ffmpeg": "ffmpeg -v error -f lavfi -i testsrc=size=640x360:rate=30:duration=8 "
              "-c:v libx264 -threads 4 -f h264 -",
    "gm": "gm convert -size 1000x1000 plasma:fractal rgb:-",
    "sysbench": "sysbench mutex --threads=4 --mutex-num=16 --mutex-locks=200000 run",
    "x264": "x264 --quiet --threads 4 --preset veryfast --input-res 640x360 --fps 30 --demuxer raw "
            "-o /dev/null IN",
    "node": ["node", "-e", "const c = require('crypto'); let n = 0; for (let i = 0; i < 60; i++) "
             "c.pbkdf2('p', 's' + i, 20000, 64, 'sha512', (e, k) => { n += k[0]; "
             "if (i == 59) setTimeout(() => 0, 50); })"],
}
NOT_COMPARED = {"sysbench", "gm"}


def make_text(path, least):
    seed = hashlib.sha256(b"cpa").digest()
    size = 0
    with open(path, "wb") as text:
        while size < least:
            seed = hashlib.sha256(seed).digest()
            size += text.write((seed.hex() + "\n").encode() * (1 + seed[0] % 3))


def memcached_load(port):
    def client(name):
        with socket.create_connection(("127.0.0.1", port)) as s, s.makefile("rb") as lines:
            for i in range(4000):
                s.sendall(b"set %s%d 0 0 8\r\n12345678\r\nget %s%d\r\n" % (name, i % 50, name, i % 50))
                answer = [lines.readline() for _ in range(4)]
                assert answer[2] == b"12345678\r\n", answer

    clients = [threading.Thread(target=client, args=(b"abcd"[i:i + 1],)) for i in range(4)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()


def redis_load(port):
    subprocess.run(["redis-benchmark", "-q", "-p", str(port), "-n", "40000", "-c", "20", "-t",
                    "set,get", "-P", "4"], check=True, stdout=subprocess.DEVNULL)


SERVERS = {
    "memcached": (["memcached", "-u", "nobody", "-t", "4", "-l", "127.0.0.1", "-p", str(PORT)],
                  memcached_load),
    "redis-server": (["redis-server", "--port", str(PORT), "--bind", "127.0.0.1", "--save", "",
                      "--io-threads", "3", "--daemonize", "no", "--loglevel", "warning"],
                     redis_load),
}


def environment(build, dump):
    if not dump:
        return dict(os.environ)
    return dict(os.environ, LD_PRELOAD=os.path.abspath(f"{build}/libcpa.so"), CPA_OUTPUT=dump)


def run_batch(name, env, folder):
    command = BATCH[name]
    words = command if isinstance(command, list) else command.split()
    words = [f"{folder}/in.txt" if word == "IN" else word for word in words]
    done = subprocess.run(words, env=env, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    output = b"" if name in NOT_COMPARED else done.stdout
    return done.returncode, hashlib.sha256(output).hexdigest()


def run_server(name, env, folder):
    words, load = SERVERS[name]
    server = subprocess.Popen(words, env=env, cwd=folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", PORT)).close()
            break
        except OSError:
            time.sleep(0.05)
    load(PORT)
    server.send_signal(signal.SIGTERM)
    return server.wait(), ""


def report(build, dump):
    done = subprocess.run([f"{build}/cpa-report", "--format", "json", dump],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise ValueError(done.stderr.decode().strip())
    return json.loads(done.stdout)


def doubts(figures):
    """What cannot be true of any run."""
    program = figures["program"]
    wall, path = program["wall_s"], program["critical_path_s"]
    parts = sum(program["observed_segments"].values())
    found = []
    if abs(parts - wall) > 0.001 * wall:
        found.append(f"observed segments sum to {parts:.4f} s of {wall:.4f} s")
    # The run ends with its first process, the critical path with its last.
    last = max([wall, *(each.get("end_s", 0) for each in figures["processes"])])
    if path > 1.001 * last:
        found.append(f"critical path {path:.4f} s longer than the run, {last:.4f} s")
    for c in figures["components"]:
        if c["saved_s"] > path * 1.0001 or c["saved_s"] > c["critical_path_s"] * 1.02 + 0.02 * path:
            found.append(f"{c['kind']} {c['name']} saves more than its share")
    return found


def row(name, figures):
    program = figures["program"]
    best = [c for c in figures["components"] if c["kind"] != "thread"][:2]
    what = ", ".join(f"{c['kind']} `{c['name']}` {c['saved_s']:.2f} s" for c in best)
    return (f"| {name} | {program['wall_s']:.2f} | {program['cpu_s']:.2f} "
            f"| {program['critical_path_s']:.2f} | {program['parallelism']:.2f} "
            f"| {program['max_parallelism']:.2f} | {len(figures['threads'])} "
            f"| {figures['diagnostics']['probe_s']:.3f} | {what} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", default=os.environ.get("CPA_BUILD", "build"))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    counts = {"ok": 0, "not ok": 0, "skip": 0}
    number = 0
    folder = tempfile.mkdtemp(prefix="cpa-programs.")
    make_text(f"{folder}/in.txt", TEXT_BYTES)
    for name in options.names or [*BATCH, *SERVERS]:
        number += 1
        if not shutil.which(name):
            counts["skip"] += 1
            print(f"ok {number} - {name} # SKIP not installed", flush=True)
            continue
        run = run_server if name in SERVERS else run_batch
        dump = f"{folder}/{name}.dump"
        native = run(name, environment(options.build, None), folder)
        profiled = run(name, environment(options.build, dump), folder)
        try:
            figures = report(options.build, dump)
            problems = doubts(figures)
        except ValueError as error:
            figures, problems = None, [str(error)]
        if native != profiled:
            problems.append(f"status and output {profiled} instead of {native}")
        result = "not ok" if problems else "ok"
        counts[result] += 1
        print(f"{result} {number} - {name}{': ' if problems else ''}{'; '.join(problems)}",
              flush=True)
        if figures and options.table:
            print(row(name, figures), flush=True)
    if counts["not ok"]:
        print(f"# dumps kept in {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{counts['ok']} passed, {counts['not ok']} failed, {counts['skip']} skipped")
    return 1 if counts["not ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
