# SPDX-License-Identifier: MIT
"""What benchmarks/accuracy.py predicts and then does: programs, and changes to them."""
import hashlib
import os
import shutil

SCRIPTS = {
    "tasks.py": """
import hashlib, queue, sys, threading, time
slow, data = float(sys.argv[1]), bytes(range(256)) * 8192
queues = [queue.Queue(), queue.Queue()]
def worker(tasks):
    while (n := tasks.get()) is not None:
        for _ in range(n):
            hashlib.sha512(data).digest()
threads = [threading.Thread(target=worker, args=(each,)) for each in queues]
for t in threads:
    t.start()
for i in range(80):
    queues[i % 2].put(1 + i * 7 % 5)
    if i % 8 == 0:
        time.sleep(slow)
for each in queues:
    each.put(None)
for t in threads:
    t.join()
""",
    "tasks.pl": """
use threads; use Thread::Queue; use Digest::SHA; use Time::HiRes;
my ($slow, $tasks, $data) = ($ARGV[0], Thread::Queue->new, 'perl' x 50000);
my @threads = map { threads->create(sub {
    while (defined(my $n = $tasks->dequeue)) {
        my $digest = '';
        $digest = Digest::SHA::sha256($data . $digest) for 1 .. $n;
    } }) } 1 .. 2;
for my $i (0 .. 99) {
    $tasks->enqueue(6 + $i * 7 % 9);
    Time::HiRes::sleep($slow) if $slow && $i % 2 == 0;
}
$tasks->end;
$_->join for @threads;
""",
}


class Program:
    """A program and its command: words(folder, build, **switches)."""

    def __init__(self, name, words, ours=False, zeroed=None, needs=None):
        self.name, self.words, self.ours = name, words, ours
        # The change to make where the search of the best next changes names a component.
        self.zeroed = zeroed or {}
        self.needs = needs or name

    def missing(self):
        return not self.ours and shutil.which(self.needs) is None


def our_program(name, zeroed=None):
    def words(folder, build, **switches):
        return [f"{build}/benchmarks/changed_{name}",
                *(f"{key}={value}" for key, value in switches.items())]

    return Program(name, words, ours=True, zeroed=zeroed)


def hashdeep(folder, build, threads=2):
    return ["hashdeep", "-j", str(threads), "-c", "md5,sha256",
            *(f"{folder}/data/{i}" for i in range(16))]


def python3(folder, build, slow=0.07):
    return ["/usr/bin/python3", f"{folder}/tasks.py", str(slow)]


def perl(folder, build, slow=0.02):
    return ["perl", f"{folder}/tasks.pl", str(slow)]


def sysbench(folder, build, events=6000):
    return ["sysbench", "cpu", "--cpu-max-prime=8000", "--threads=4", f"--events={events}",
            "--time=0", "run"]


def ffmpeg(folder, build, paced=True):
    source = "testsrc2=duration=1.2:size=960x540:rate=50"
    return ["ffmpeg", "-v", "quiet", "-nostdin", *(["-re"] if paced else []), "-f", "lavfi", "-i",
            source, "-c:v", "mpeg4", "-threads", "2", "-f", "null", "-"]


SECTION = our_program("section", {"function:compute": {"outside": 0},
                                  "function:update": {"inside": 0}, "lock:*": {"inside": 0}})
STAGES = our_program("stages", {"function:parse": {"parse": 0}, "function:filter": {"filter": 0},
                                "function:store": {"store": 0}, "queue:parsed": {"filter": 0},
                                "queue:filtered": {"store": 0}})
POOL = our_program("pool", {"function:prepare": {"prepare": 0}, "function:finish": {"finish": 0}})
ROUNDS = our_program("rounds")
HASHDEEP = Program("hashdeep", hashdeep)
PYTHON = Program("python3", python3, needs="/usr/bin/python3")
PERL = Program("perl", perl)
SYSBENCH = Program("sysbench", sysbench)
FFMPEG = Program("ffmpeg", ffmpeg)
PIGZ = Program("pigz", lambda folder, build, threads=2: [
    "pigz", "-c", "-p", str(threads), f"{folder}/text"])
XZ = Program("xz", lambda folder, build, threads=2: [
    "xz", "-c", "-1", f"-T{threads}", "--block-size=1MiB", f"{folder}/text"])
ZSTD = Program("zstd", lambda folder, build, threads=2: [
    "zstd", "-q", "-c", "-9", f"-T{threads}", "-B1MiB", f"{folder}/text"])


class Setting:
    """A program as it is recorded: its switches, how many cores it has."""

    def __init__(self, program, cores=2, wide=False, search=False, coz=(), **switches):
        self.program, self.cores, self.wide, self.search = program, cores, wide, search
        self.switches = switches
        self.coz = coz  # functions whose change coz is asked about, too
        self.cases = []

    def change(self, what, *asked, zero=None, cores=None, load=0, **switches):
        """
        @asked are options of cpa-report; with @switches, on @cores, beside @load processes it is done.
        zero: (kind, pattern of the name, factor), where zeroing says something.
        """
        self.cases.append(Case(self, what, asked, zero, cores or self.cores, load, switches))
        return self

    def place(self, cores):
        return self.change(f"{self.cores} → {cores} cores", "--cores", str(cores), cores=cores)

    def beside(self, load=1):
        return self.change(f"{load} process beside it", "--load", str(load), load=load)

    def group(self, groups, *asked, what="", **switches):
        """Each thread is kept on its core, in a program that can do that."""
        return self.change(f"{what}{', ' if what else ''}on cores {groups}",
                           *asked, "--group", groups, kept=1, **switches)

    def scale(self, what, pattern, factor, **switches):
        kind = what.partition(":")[0]
        return self.change(f"`{what}={factor:g}`", "--what-if", f"{pattern}={factor}",
                           zero=(kind, pattern.partition(":")[2], factor), **switches)


class Case:
    def __init__(self, setting, what, asked, zero, cores, load, switches):
        self.setting, self.what, self.asked, self.zero = setting, what, asked, zero
        self.cores, self.load, self.switches = cores, load, switches


def function(setting, name, factor, **switches):
    return setting.scale(f"function:{name}", f"function:{name}", factor, **switches)


def settings():
    section = Setting(SECTION, search=True, coz=("update",)).place(1)
    function(section, "update", 0.5, inside=0.5)
    function(section, "compute", 0.25, outside=0.25)
    section.change("`lock=drop`", "--what-if", "lock:*=drop", locks=0)
    section.change("`lock=split:8`", "--what-if", "lock:*=split:8", locks=8)
    stages = Setting(STAGES, search=True, coz=("filter",)).place(1).beside()
    function(stages, "filter", 0.5, filter=0.5)
    function(stages, "parse", 0.5, parse=0.5)
    stages.change("`queue:parsed workers=1`", "--what-if", "queue:parsed workers=1", workers=1)
    stages.change("`queue:parsed workers=4`", "--what-if", "queue:parsed workers=4", workers=4)
    apart = "0:main,parser,storer 1:filterer"
    stages.group(apart)
    stages.group(apart, "--what-if", "function:filter=0.5", what="`function:filter=0.5`", filter=0.5)
    stages.group(apart, "--what-if", "queue:parsed workers=4", what="`queue:parsed workers=4`",
                 workers=4)
    pool = Setting(POOL).place(1)
    function(pool, "prepare", 0.5, prepare=0.5)
    function(pool, "finish", 0.5, finish=0.5)
    rounds = Setting(ROUNDS).place(1)
    function(rounds, "heavy", 0, heavy=0)
    rounds.scale("external:sleep", "external:sleep", 0, pause_ms=0)
    apart = "0:main,first 1:second"
    rounds.group(apart)
    rounds.group(apart, "--what-if", "function:heavy=0", what="`function:heavy=0`", heavy=0)
    python = Setting(PYTHON).place(1).beside()
    python.scale("external:sleep", "external:sleep", 0, slow=0)
    perl_ = Setting(PERL).place(1)
    perl_.scale("external:sleep", "external:sleep", 0, slow=0)
    sysbench_ = Setting(SYSBENCH).place(1)
    sysbench_.scale("thread:worker_thread", "thread:*", 0.5, events=3000)
    ffmpeg_ = Setting(FFMPEG).place(1)
    ffmpeg_.scale("external:sleep", "external:sleep", 0, paced=False)
    return [section, Setting(SECTION, 1).place(2), stages, Setting(STAGES, 1).place(2), pool,
            Setting(POOL, 1).place(2), rounds, Setting(HASHDEEP).place(1).beside(),
            Setting(HASHDEEP, 1).place(2), python, Setting(PYTHON, 1).place(2), perl_,
            Setting(PERL, 1).place(2), sysbench_, Setting(SYSBENCH, 1).place(2),
            ffmpeg_,
            *(wide for program in (PIGZ, XZ, ZSTD)
              for wide in (Setting(program, 2, wide=True).place(1),
                           Setting(program, 1, wide=True).place(2)))]


def make_files(folder):
    """What the programs read."""
    for name, text in SCRIPTS.items():
        with open(f"{folder}/{name}", "w") as script:
            script.write(text)
    os.mkdir(f"{folder}/data")
    block = b"".join(hashlib.sha512(str(i).encode()).digest() for i in range(16384))
    for i in range(16):
        with open(f"{folder}/data/{i}", "wb") as data:
            data.write(block * (6 + i * 5 % 7))
    seed = hashlib.sha256(b"text").digest()
    with open(f"{folder}/text", "wb") as text:
        for _ in range(160000):
            seed = hashlib.sha256(seed).digest()
            text.write(seed.hex().encode() * (1 + seed[0] % 3) + b"\n")
