#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/one_session.py - a server and its clients in one session depend on each other

nginx asked by curl, and redis by redis-benchmark on a unix socket: the clients get what they get without
us, the streams between them are in the report, and each read of them is matched, also in processes with
threads. What is not installed is skipped. Prints TAP and a summary.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

from profiled import BUILD, TIMEOUT_S, check_contradictions, read
from results import Results

NGINX = """daemon off; pid {folder}/pid; error_log stderr; worker_processes 2; {user}
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""
# The server has its socket before it can be asked; each client's answer is printed.
WEB = """nginx -c {folder}/conf -p {folder} 2>/dev/null & server=$!
until curl -s -o /dev/null http://127.0.0.1:{port}/page; do kill -0 $server || exit 3; sleep 0.1; done
for i in 1 2 3 4 5; do curl -s http://127.0.0.1:{port}/page | md5sum; done
kill $server; wait $server; echo $?
"""
STORE = """redis-server --port 0 --unixsocket {folder}/s --save '' --loglevel warning >/dev/null & server=$!
until redis-cli -s {folder}/s ping 2>/dev/null | grep -q PONG; do kill -0 $server || exit 3; sleep 0.1; done
redis-benchmark -s {folder}/s -n 500 -c 4 -t set,get -q >/dev/null; echo $?
redis-cli -s {folder}/s get key:__rand_int__
redis-cli -s {folder}/s shutdown nosave; wait $server; echo $?
"""
CASES = {
    "web": (["nginx", "curl"], WEB, [("TCP", "curl", "nginx"), ("TCP", "nginx", "curl")]),
    "store": (
        ["redis-server", "redis-benchmark"],
        STORE,
        [
            ("unix socket", "redis-benchmark", "redis-server"),
            ("unix socket", "redis-server", "redis-benchmark"),
        ],
    ),
}


def hold_port():
    """A socket whose port nobody gets but who allows it to be in use, as nginx does, while nobody listens."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


def run(folder, script, dump=None):
    """In the folder, without cpa, or profiled."""
    command = ["sh", "-c", script]
    if dump:
        command = [BUILD / "cpa", "run", "-q", "-o", dump, "--", *command]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=folder
    )


def check_case(results, name, folder):
    programs, script, wanted = CASES[name]
    missing = [each for each in programs if not shutil.which(each)]
    if missing:
        results.skip(name, f"not installed: {' '.join(missing)}")
        return
    (folder / "page").write_text("".join(f"line {i}\n" for i in range(20000)))
    native, dump = None, folder / f"{name}.dump"
    for where in (None, dump):
        user = "user root;" if os.geteuid() == 0 else ""
        with hold_port() as held:
            port = held.getsockname()[1]
            (folder / "conf").write_text(NGINX.format(folder=folder, port=port, user=user))
            done = run(folder, script.format(folder=folder, port=port), where)
        native = native or done
    same = (done.returncode, done.stdout) == (native.returncode, native.stdout)
    results.check(same, f"{name}: {done.stdout!r}, natively {native.stdout!r}; {done.stderr[-300:]!r}")
    profile = read(dump)
    check_contradictions(results, name, profile)
    for kind, writer, reader in wanted:
        found = [
            (s["from"], s["to"], s["reads"], s["unmatched"])
            for s in profile["streams"]
            if s["kind"] == kind and writer in (s["from"] or "") and reader in (s["to"] or "")
        ]
        good = found and all(reads and not lost for _, _, reads, lost in found)
        results.check(good, f"{name}: {kind}, {writer} -> {reader}: {found}")
    odd = [
        (s["from"], s["to"], s["unmatched"])
        for s in profile["streams"]
        if s["kind"] in ("TCP", "unix socket") and s["unmatched"]
    ]
    results.check(not odd, f"{name}: no read of a connection is unmatched: {odd}")
    dump.unlink()


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="one_session.", dir=os.environ.get("CPA_TMP")))
    for name in sys.argv[1:] or CASES:
        check_case(results, name, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
