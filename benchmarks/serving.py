# SPDX-License-Identifier: MIT
"""Servers that nobody here wrote, each in a folder of its own: how to start, load and end one.

They listen on the loopback or on a socket in their folder, and run as `nobody` where we are root:
some refuse root, and most are no root's in life. A load is bounded in time and fails on the first
wrong answer.
"""
import contextlib
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from measure import Fails

HANGS_S = 300  # not a limit on speed: what takes this long hangs
CLIENTS = 8
TICKS = os.sysconf("SC_CLK_TCK")


def hold_port():
    """
    A socket whose address nobody else gets, by bind() or as his own end of a connection, until it is
    closed. A server may bind it, as servers allow it to be in use and nobody listens.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


def answers(address):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        return s.connect_ex(address) == 0


def times_of(pid):
    """Seconds of the process, user and system, and the same of its children that it has waited for."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return [int(field) / TICKS for field in fields[11:15]]


class Server:
    """One server; `folder` is its own, and is removed by whoever made it."""

    needs = ()  # programs: the server, and what loads it
    load_text = ""

    def __init__(self, folder, build):
        self.folder, self.build = folder, os.path.abspath(build)
        self.process = None
        self.owner = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        # That user may not be allowed to read the build folder.
        shutil.copy(f"{self.build}/libcpa.so", folder)
        os.chmod(f"{folder}/libcpa.so", 0o755)
        self.address = f"{folder}/socket"
        self.give(folder)
        self.prepare()

    @classmethod
    def missing(cls):
        return [program for program in cls.needs if not shutil.which(program)]

    def give(self, path):
        if os.geteuid() == 0:
            shutil.chown(path, self.owner, pwd.getpwnam(self.owner).pw_gid)

    def run(self, *words, check=True, **options):
        """A command of ours or of the server's owner that ends; what it printed."""
        done = subprocess.run(words, **options, cwd=self.folder, stdin=subprocess.DEVNULL, timeout=HANGS_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode:
            raise Fails(f"{words[0]} ended with {done.returncode}: {done.stdout[-300:].strip()}")
        return done.stdout

    def as_owner(self):
        if os.geteuid() != 0:
            return {}
        entry = pwd.getpwnam(self.owner)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def dump(self):
        return f"{self.folder}/run.dump"

    def start(self, profiled, **settings):
        """@settings: more of the environment."""
        environment = dict(os.environ, **settings)
        if profiled:
            if os.path.exists(self.dump()):
                os.unlink(self.dump())
            environment.update(LD_PRELOAD=f"{self.folder}/libcpa.so", CPA_OUTPUT=self.dump())
        with open(f"{self.folder}/log", "wb") as log:
            self.process = subprocess.Popen(self.words(), env=environment, cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            **self.as_owner())
        end = time.monotonic() + HANGS_S
        while not answers(self.address):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Fails(f"does not start: {self.log()[-300:]}")
            time.sleep(0.05)

    def log(self):
        with open(f"{self.folder}/log", errors="replace") as log:
            return log.read()

    def stop(self):
        """Ask it to end; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            raise Fails("does not end on SIGTERM") from None
        finally:
            self.kill()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def cpu(self):
        """Seconds of all its threads so far."""
        return sum(times_of(self.process.pid)[:2])

    def descriptors(self):
        """How many are open, and how many of them cpa opened."""
        folder, links = f"/proc/{self.process.pid}/fd", []
        for name in os.listdir(folder):
            try:
                links.append(os.readlink(f"{folder}/{name}"))
            except FileNotFoundError:
                pass
        ours = [link for link in links if "perf_event" in link or "schedstat" in link]
        return len(links), len(ours)

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def load(self, seconds):
        """Keep it busy for about so long; requests done, and the seconds it took."""
        begun, requests = time.monotonic(), 0
        while time.monotonic() - begun < seconds:
            requests += self.some()
        return requests, time.monotonic() - begun

    # What each of them does in its own way.

    def prepare(self):
        """Before the first start."""

    def words(self):
        raise NotImplementedError

    def some(self):
        """Some tenths of a second of requests; how many."""
        raise NotImplementedError


class Memcached(Server):
    needs = ("memcached",)
    load_text = "8 connections, 50 sets and gets each in a packet"
    rounds = 100

    def prepare(self):
        self.held = hold_port()
        self.address = self.held.getsockname()

    def words(self):
        return ["memcached", "-t", "4", "-l", "127.0.0.1", "-p", str(self.address[1])]

    def some(self):
        self.run(f"{self.build}/benchmarks/memcached_load", str(self.address[1]), str(self.rounds))
        return self.rounds * CLIENTS * 100


class Redis(Server):
    needs = ("redis-server", "redis-benchmark")
    load_text = "io-threads 2; 20 connections, sets and gets, 4 in a packet"
    requests = 4000

    def words(self):
        return ["redis-server", "--port", "0", "--unixsocket", self.address, "--save", "",
                "--io-threads", "2", "--io-threads-do-reads", "yes", "--daemonize", "no"]

    def some(self):
        out = self.run("redis-benchmark", "-q", "-s", self.address, "-n", str(self.requests),
                       "-c", "20", "-P", "4", "-t", "set,get")
        if out.count("requests per second") < 2 or "rror" in out:
            raise Fails(f"redis-benchmark: {out[-300:].strip()}")
        return 2 * self.requests


class MariaDB(Server):
    needs = ("mariadbd", "mariadb-install-db", "mariadb", "sysbench")
    load_text = "sysbench oltp_read_write, 8 connections; queries"

    def words(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.folder}/data",
                f"--socket={self.address}", "--skip-networking", "--skip-name-resolve",
                f"--pid-file={self.folder}/pid", "--innodb-buffer-pool-size=64M",
                "--innodb-flush-log-at-trx-commit=0"]

    def sysbench(self, *words):
        return self.run("sysbench", "oltp_read_write", f"--mysql-socket={self.address}",
                        "--mysql-user=root", "--tables=2", "--table-size=10000", "--rand-seed=7",
                        *words)

    def prepare(self):
        self.run("mariadb-install-db", "--no-defaults", f"--user={self.owner}",
                 f"--datadir={self.folder}/data", "--auth-root-authentication-method=normal",
                 "--skip-test-db")
        self.start(False)
        self.run("mariadb", "--no-defaults", f"--socket={self.address}", "-uroot", "-e",
                 "create database sbtest")
        self.sysbench("prepare")
        self.stop()

    def load(self, seconds):
        out = self.sysbench(f"--threads={CLIENTS}", f"--time={max(1, round(seconds))}", "run")
        queries = re.search(r"queries: +(\d+)", out)
        took = re.search(r"total time: +([\d.]+)s", out)
        if not queries or not took or "FATAL" in out:
            raise Fails(f"sysbench: {out[-300:].strip()}")
        return int(queries[1]), float(took[1])


class Nginx(Server):
    needs = ("nginx", "wrk")
    load_text = "thread_pool of 4, aio threads; 16 connections, files of 256 KiB"

    def prepare(self):
        self.held = hold_port()
        self.address = self.held.getsockname()
        os.mkdir(f"{self.folder}/files")
        os.chmod(f"{self.folder}/files", 0o755)
        with open(f"{self.folder}/files/file", "wb") as file:
            file.write(os.urandom(1 << 18))
        paths = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{self.folder}/nginx.conf", "w") as conf:
            conf.write(f"""daemon off; master_process off; pid {self.folder}/pid;
                error_log stderr; thread_pool default threads=4;
                events {{ worker_connections 256; }}
                http {{ access_log off; sendfile off; aio threads; output_buffers 1 256k; {paths}
                    server {{ listen 127.0.0.1:{self.address[1]}; root {self.folder}/files; }} }}
                """)

    def words(self):
        return ["nginx", "-e", "stderr", "-c", f"{self.folder}/nginx.conf"]

    def load(self, seconds):
        out = self.run("wrk", "-t", "1", "-c", "16", "-d", str(max(1, round(seconds))),
                       f"http://127.0.0.1:{self.address[1]}/file")
        done = re.search(r"(\d+) requests in ([\d.]+)s", out)
        if not done or "Non-2xx" in out or "Socket errors" in out:
            raise Fails(f"wrk: {out[-300:].strip()}")
        return int(done[1]), float(done[2])


class PostgreSQL(Server):
    """A process for each client, all in one session."""

    load_text = "pgbench -S, 4 connections; transactions"
    needs = ("pgbench", "postgres", "initdb", "pg_isready")

    @staticmethod
    def program(name):
        """Its path; Debian has a folder for each version. None: it is not there."""
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
        return shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))

    @classmethod
    def missing(cls):
        return [name for name in cls.needs if not cls.program(name)]

    def prepare(self):
        self.data, self.address = f"{self.folder}/data", f"{self.folder}/.s.PGSQL.5432"
        self.run(self.program("initdb"), "-D", self.data, "-A", "trust", "-U", "postgres",
                 "--no-sync", **self.as_owner())
        self.start(False)
        self.pgbench("-i", "-s", "5", "-q")
        self.stop()

    def words(self):
        return [self.program("postgres"), "-D", self.data, "-k", self.folder, "-h", "",
                "-c", "fsync=off", "-c", "shared_buffers=128MB"]

    def start(self, profiled, **settings):
        super().start(profiled, **settings)
        self.run("sh", "-c", 'until "$0" -q -h "$1"; do sleep 0.1; done',
                 self.program("pg_isready"), self.folder)

    def pgbench(self, *words):
        return self.run(self.program("pgbench"), "-h", self.folder, "-U", "postgres", *words,
                        "postgres")

    def cpu(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            running = children.read().split()
        own = 0
        for child in running:
            try:
                own += sum(times_of(child)[:2])
            except (FileNotFoundError, ProcessLookupError):  # it has ended: its parent has its time
                pass
        return own + sum(times_of(pid))

    def load(self, seconds):
        out = self.pgbench("-n", "-S", "-c", "4", "-j", "2", "-T", str(max(1, round(seconds))))
        done = re.search(r"actually processed: (\d+)", out)
        rate = re.search(r"tps = ([\d.]+)", out)
        if not done or not rate or "failed transactions: 0" not in out:
            raise Fails(f"pgbench: {out[-300:].strip()}")
        return int(done[1]), int(done[1]) / float(rate[1])


SERVERS = {"memcached": Memcached, "redis": Redis, "mariadb": MariaDB, "nginx": Nginx,
           "postgresql": PostgreSQL}


@contextlib.contextmanager
def made(name, build):
    """The server `name`, of the build of cpa in the folder `build`. Its own folder goes with it."""
    folder = tempfile.mkdtemp(prefix="cpa-server.")
    server = None
    try:
        os.chmod(folder, 0o755)
        server = SERVERS[name](folder, build)
        yield server
    finally:
        if server:
            server.kill()
        shutil.rmtree(folder)
