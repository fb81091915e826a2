#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/postgresql.py - a database of many processes does its own work in one session

initdb, then PostgreSQL under pgbench, with parallel workers, and with a backend that is killed: it
loses nothing that it had acknowledged, ends as without cpa, and says nothing of ours. Its processes
share semaphores and come from signal handlers; those that have a part are in one session, the others
are counted. What is not installed is skipped. Prints TAP and a summary.
"""

import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 300
CLIENTS, TRANSACTIONS = 6, 60
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
fsync = off
shared_buffers = 16MB
max_parallel_workers_per_gather = 2
min_parallel_table_scan_size = 0
min_parallel_index_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
"""
SUMS = """select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from
pgbench_tellers), (select sum(bbalance) from pgbench_branches), sum(delta), count(*) from
pgbench_history"""
SCAN = "select count(*), sum(aid) from pgbench_accounts where aid % 7 = 1"
ROWS = 100_000  # of pgbench_accounts


class Fails(Exception):
    """A step that others need."""


def programs():
    """The folder of the newest version that has all of them; None."""
    for folder in sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if all((folder / name).exists() for name in ("postgres", "initdb", "pgbench", "psql")):
            return folder
    return None


class Database:
    """A cluster in a folder of its own, of a user who is not root."""

    def __init__(self, bin_folder, folder, results):
        self.bin, self.folder, self.results = bin_folder, folder, results
        self.process = None
        self.owner = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.owner = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            shutil.chown(folder, "nobody")
        self.preloaded = folder / "libcpa.so"
        shutil.copy(BUILD / "libcpa.so", self.preloaded)
        self.preloaded.chmod(0o755)

    def environment(self, dump=None):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_", "PG"))}
        kept.update(LC_ALL="C", PGHOST=str(self.folder), PGDATABASE="postgres")
        if dump:
            kept.update(LD_PRELOAD=str(self.preloaded), CPA_OUTPUT=str(self.folder / dump))
        return kept

    def run(self, name, *words, dump=None):
        done = subprocess.run(
            [self.bin / name, *words],
            env=self.environment(dump),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            **self.owner,
        )
        if done.returncode:
            raise Fails(f"{name} ends with {done.returncode}: {done.stderr[-500:]}")
        return done

    def ask(self, question):
        return self.run("psql", "-X", "-A", "-t", "-c", question).stdout.strip()

    def start(self, dump=None):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.folder / "data"],
                env=self.environment(dump),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self.owner,
            )
        self.answers()

    def answers(self):
        """Wait until it does."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.ask("select 1") == "1":
                    return
            except Fails:
                time.sleep(0.1)
        raise Fails(f"it does not answer: {self.log()[-500:]}")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "does not end"

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def report(self, dump):
        done = subprocess.run(
            [BUILD / "cpa-report", "--format", "json", "--top", "1000", self.folder / dump],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise Fails(f"cpa-report of {dump} ends with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def check_sums(self, when, least):
        """TPC-B: what all transactions added is the same wherever one looks."""
        *sums, count = self.ask(SUMS).split("|")
        good = len(set(sums)) == 1 and int(count) >= least
        self.results.check(good, f"{when}: balances {set(sums)} after {count} transactions")

    def check_session(self, name, dump, least):
        profile = self.report(dump)
        program, processes = profile["program"], profile["processes"]
        self.results.check(program["complete"], f"{name}: the session is complete")
        states = [each["state"] for each in processes]
        threads = sum(each["threads"] for each in processes)
        text = f"{name}: {len(processes)} processes, {threads} threads in one session"
        self.results.check(len(processes) >= least, text)
        tiles = abs(program["observed_path_s"] - program["wall_s"]) <= 1e-3 * program["wall_s"]
        self.results.check(tiles, f"{name}: the observed path is as long as the run")
        ours = sum(each["cpu_s"] for each in processes)
        sums = sum(each["cpu_s"] for each in profile["threads"])
        close = abs(ours - sums) <= 1e-3 * ours + 1e-4
        self.results.check(close, f"{name}: CPU {ours:.3f} s of processes, {sums:.3f} s of threads")
        found = [path.name for path in self.folder.glob("*.dump*")]
        self.results.check(found == [dump], f"{name}: there is no other: {found}")
        return states


def serve(database):
    results = database.results
    done = database.run("initdb", "-D", "data", "-A", "trust", "-N", dump="initdb.dump")
    results.check("cpa[" not in done.stderr, "initdb: nothing of ours is said")
    database.check_session("initdb", "initdb.dump", 5)
    (database.folder / "initdb.dump").unlink()
    with open(database.folder / "data/postgresql.conf", "a", encoding="utf-8") as file:
        file.write(SETTINGS.format(folder=database.folder))
    database.start()
    database.run("pgbench", "-i", "-q")
    scan = database.ask(SCAN)
    native = database.stop()

    database.start("postgres.dump")
    load = ["-n", "-c", str(CLIENTS), "-j", "2", "-t", str(TRANSACTIONS)]
    out = database.run("pgbench", *load).stdout
    wanted = f"{CLIENTS * TRANSACTIONS}/{CLIENTS * TRANSACTIONS}"
    results.check(f"actually processed: {wanted}" in out, f"pgbench: {wanted} transactions")
    database.check_sums("pgbench", CLIENTS * TRANSACTIONS)
    plan = database.ask(f"explain analyze {SCAN}")
    results.check("Workers Launched: 2" in plan, "a scan in parallel has two workers")
    results.check(database.ask(SCAN) == scan, "it finds what it finds without us")
    survive(database)
    status = database.stop()
    results.check(status == native, f"SIGINT ends it with {native}, profiled {status}")
    log = database.log()
    results.check("cpa[" not in log, "nothing of ours is in its log")
    odd = [line for line in log.splitlines() if "PANIC" in line or "corrupt" in line]
    results.check(not odd, f"no damage is in its log: {odd}")
    states = database.check_session("postgres", "postgres.dump", CLIENTS + 2)
    results.check("killed" in states, f"postgres: who was killed is told: {sorted(set(states))}")


def survive(database):
    """A backend is killed: PostgreSQL ends all others, and begins anew in the same process."""
    with open(database.folder / "psql", "wb") as out:
        client = subprocess.Popen(
            [database.bin / "psql", "-X", "-A", "-t"],
            env=database.environment(),
            cwd=database.folder,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.DEVNULL,
            **database.owner,
        )
    client.stdin.write(b"select pg_backend_pid();\n")
    client.stdin.flush()
    end = time.monotonic() + TIMEOUT_S
    while not (said := (database.folder / "psql").read_text().strip()):
        if time.monotonic() > end:
            raise Fails("a client gets no answer")
        time.sleep(0.05)
    os.kill(int(said), signal.SIGKILL)
    while "all server processes terminated" not in database.log():
        if time.monotonic() > end:
            raise Fails("nobody sees that a backend was killed")
        time.sleep(0.05)
    client.communicate()
    database.answers()
    database.check_sums("after a backend was killed", CLIENTS * TRANSACTIONS)
    database.run("pgbench", "-n", "-c", "2", "-t", "20")
    database.check_sums("and more transactions", CLIENTS * TRANSACTIONS + 40)


def main():
    results = Results()
    bin_folder = programs()
    if not bin_folder:
        results.skip("PostgreSQL", "not installed")
        return results.end()
    # Its owner may not enter the folders above CPA_TMP.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-postgresql."))
    folder.chmod(0o755)
    database = Database(bin_folder, folder, results)
    try:
        serve(database)
    except Fails as failure:
        results.check(False, str(failure))
    finally:
        if database.process and database.process.poll() is None:
            database.process.kill()
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
