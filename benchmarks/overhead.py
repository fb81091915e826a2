# SPDX-License-Identifier: MIT
"""Tables of benchmarks/run: CPU time of real programs, with cpa and with interposition alone."""
import os
import shutil
import socket
import sys
import time

import measure
import operations
import programs
from measure import Fails, bounded, interleaved, median, ratios, run, run_hashed, spread, table

TEXT_BYTES = 128_000_000
CLIP = ("ffmpeg", "x264", "x265", "SvtAv1EncApp")  # read it
STARTS_S = 60  # a server does not answer: it failed
PORT = 24000 + os.getpid() % 2000
NODE = """
const c = require('crypto'); let n = 0, left = 20000;
function next() {
    if (left-- > 0)
        c.pbkdf2('p', 's' + left, 1, 64, 'sha512', (e, key) => { n += key[0]; next(); });
}
for (let i = 0; i < 8; i++) next();
process.on('exit', () => console.log(n));
"""
ROCKSDB = ("db_bench --db=DIR/db --num=100000 --compression_type=none --disable_wal=1 "
           "--max_background_jobs=1 ")

# name: command, what is compared (standard output, a file, or nothing: figures are times), target
PROGRAMS = {
    "pigz": ("pigz -p4 -c DIR/in.txt", "-", "1.02"),
    "zstd": ("zstd -q -T4 -6 -B1MiB -c DIR/in.txt", "-", "1.02"),
    "xz": ("xz -T4 -0 -c --block-size=1MiB DIR/in.txt", "-", "1.02"),
    "sort": ("sort --parallel=4 -S 400M DIR/in.txt", "-", "1.02"),
    "ffmpeg": ("ffmpeg -v error -threads 4 -i DIR/clip.h264 -f md5 -", "-", "1.02"),
    "SvtAv1EncApp": ("SvtAv1EncApp -i DIR/clip.y4m --preset 12 --lp 4 -b DIR/out.ivf",
                     "out.ivf", "1.02"),
    "x264": ("x264 --quiet --threads 4 --preset veryfast -o DIR/out.h264 DIR/clip.y4m",
             "out.h264", "1.06"),
    "x265": ("x265 --preset ultrafast --pools 2 --log-level none -o DIR/out.hevc DIR/clip.y4m",
             "out.hevc", "1.06"),
    "db_bench": (ROCKSDB + "--use_existing_db=1 --benchmarks=readrandom --reads=50000 "
                 "--threads=4 --cache_numshardbits=0", None, "1.06"),
    "python3": (["/usr/bin/python3", "-c", programs.PYTHON], "-", "1.06"),
    "memcached": ("memcached -u nobody -t 4 -l 127.0.0.1 -p PORT", None, "1.06"),
    "memcached batch": ("memcached -u nobody -t 4 -l 127.0.0.1 -p PORT", None, ""),
    "node": (["node", "-e", NODE], "-", "1.06"),
    "sysbench": ("sysbench mutex --threads=4 --mutex-num=16 --mutex-locks=2000000 "
                 "--mutex-loops=0 run", None, "1.8"),
    "gm": ("gm convert -size 1500x1500 plasma:fractal rgb:-", None, "1.25"),
}
# The same with more to do: 2 s of CPU time natively, or somewhat more, in which budgets have windows.
LONG = {
    "zstd": "zstd -q -T4 -9 -B1MiB -c DIR/in.txt",
    "ffmpeg": "ffmpeg -v error -threads 4 -i DIR/long.h264 -f md5 -",
    "SvtAv1EncApp": "SvtAv1EncApp -i DIR/long.y4m --preset 12 --lp 4 -b DIR/out.ivf",
    "x264": "x264 --quiet --threads 4 --preset veryfast -o DIR/out.h264 DIR/long.y4m",
    "x265": "x265 --preset ultrafast --pools 2 --log-level none -o DIR/out.hevc DIR/long.y4m",
    "db_bench": (ROCKSDB + "--use_existing_db=1 --benchmarks=readrandom --reads=500000 "
                 "--threads=4 --cache_numshardbits=0"),
    "python3": ["/usr/bin/python3", "-c", programs.PYTHON.replace("40000", "400000")],
    "node": ["node", "-e", NODE.replace("20000", "200000")],
    "sysbench": ("sysbench mutex --threads=4 --mutex-num=16 --mutex-locks=6000000 "
                 "--mutex-loops=0 run"),
    "gm": "gm convert -size 2500x2500 plasma:fractal null:-",
}
# The same for half a minute or more, where the program can be given so much to do without large files.
MINUTES = {
    **LONG,
    "db_bench": (ROCKSDB + "--use_existing_db=1 --benchmarks=readrandom --reads=3000000 "
                 "--threads=4 --cache_numshardbits=0"),
    "node": ["node", "-e", NODE.replace("20000", "3000000")],
    "sysbench": ("sysbench mutex --threads=4 --mutex-num=16 --mutex-locks=100000000 "
                 "--mutex-loops=0 run"),
    "gm": "gm convert -size 12000x12000 plasma:fractal null:-",
}
INPUTS = ({name: command for name, (command, _, _) in PROGRAMS.items()}, LONG, MINUTES)
QUICK = ["pigz", "sort", "x264", "python3", "memcached", "node", "sysbench", "gm"]
LOADS = {"memcached": 120, "memcached batch": 500}  # rounds, see memcached_load.c
LONG_LOADS = {"memcached": 900, "memcached batch": 3000}
FLOOR_PROGRAMS = ["SvtAv1EncApp", "x264", "x265", "db_bench", "python3", "memcached", "node",
                  "sysbench", "gm"]


def prepare(folder, names, long=False):
    """Inputs that the programs `names` read; @long: for LONG, too."""
    programs.make_text(f"{folder}/in.txt", TEXT_BYTES)
    if shutil.which("ffmpeg"):
        run(f"ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=30:duration=4 "
            f"{folder}/clip.y4m".split())
        run(f"ffmpeg -v error -stream_loop 5 -i {folder}/clip.y4m -c:v libx264 -preset veryfast "
            f"{folder}/clip.h264".split())
        if long and set(CLIP) & set(names):
            run(f"ffmpeg -v error -stream_loop 7 -i {folder}/clip.y4m {folder}/long.y4m".split())
            run(f"ffmpeg -v error -stream_loop 1 -i {folder}/long.y4m -c:v libx264 -preset veryfast "
                f"{folder}/long.h264".split())
    if "db_bench" in names and shutil.which("db_bench"):
        run((ROCKSDB + "--benchmarks=fillrandom").replace("DIR", folder).split())


def words_of(name, folder, long=0):
    """@long: 1 for the input of LONG, 2 for that of MINUTES."""
    command = INPUTS[long].get(name, PROGRAMS[name][0])
    if isinstance(command, list):
        return command
    return command.replace("DIR", folder).replace("PORT", str(PORT)).split()


def wait_for(server):
    """Until it answers, or has ended."""
    end = time.monotonic() + STARTS_S
    while server.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", PORT)).close()
            return
        except OSError:
            time.sleep(0.02)


def serve(cpa, name, words, environment, rounds, limit):
    """The server `words` under load. The second word of @name, if it has one, is the kind of load."""
    begun = time.monotonic()
    server = measure.start(words, environment, cpa.folder)
    with bounded(server, limit):
        wait_for(server)
        loaded = run([cpa.program("memcached_load"), str(PORT), str(rounds), *name.split()[1:]])
        done = measure.stop_behind(server, name.split()[0], begun)
    if loaded.status:
        raise Fails(f"the load generator failed ({loaded.status})")
    return done


def once(cpa, name, before=(), environment=None, long=0, limit=None):
    """
    One run, behind the command `before`, with the input that @long stands for (words_of()), for @limit seconds at most.
    `output` is what must not change.
    """
    words, compared = [*before, *words_of(name, cpa.folder, long)], PROGRAMS[name][1]
    if name in LOADS:
        rounds = (LONG_LOADS if long else LOADS)[name]
        done = serve(cpa, name, words, environment, rounds, limit)
    else:
        done = run_hashed(words, environment, cpa.folder, limit)
    if done.status:
        raise Fails(f"exit status {done.status}")
    if compared is None:
        done.output = b""
    elif compared != "-":
        with open(f"{cpa.folder}/{compared}", "rb") as file:
            done.output = file.read()
    return done


def require_same(results):
    if len({(done.status, done.output) for runs in results.values() for done in runs}) > 1:
        raise Fails("status or output differs")


def event_costs(cpa, rounds):
    """ns of a timed event, of an untimed pair, of asking the kernel: added by cpa in this run."""
    words = [cpa.program("operations"), "private", "3000000"]

    def each(**settings):
        return operations.number(run(words, cpa.environment(**settings)))
    found = interleaved({
        "native": lambda: operations.number(run(words)),
        "untimed": each,
        "timed": lambda: each(CPA_SAMPLE_HZ="0"),
        "asked": lambda: each(CPA_SAMPLE_HZ="0", GLIBC_TUNABLES="glibc.pthread.rseq=0")}, rounds)
    at = {name: median(values) for name, values in found.items()}
    timed = (at["timed"] - at["native"]) / 2
    return {"untimed": max(at["untimed"] - at["native"], 0), "events": timed,
            "slow": max((at["asked"] - at["timed"]) / 2, 0)}


def start_cost(cpa, rounds):
    """CPU seconds that cpa adds to a program that does nothing."""
    found = interleaved({"native": lambda: run(["/bin/true"]).cpu,
                         "cpa": lambda: run(["/bin/true"], cpa.environment()).cpu}, rounds)
    return median(found["cpa"]) - median(found["native"])


def program_row(cpa, name, rounds, costs, start):
    found = interleaved({"native": lambda: once(cpa, name),
                         "cpa": lambda: once(cpa, name, (), cpa.environment())}, rounds)
    require_same(found)
    figures = cpa.figures()
    native = [done.cpu for done in found["native"]]
    ratio = ratios([done.cpu for done in found["cpa"]], native)
    cpu, wall = median(native), median([done.wall for done in found["native"]])
    events = figures["events"] + 2 * figures["untimed"]
    product = (start + sum(ns * figures[what] for what, ns in costs.items()) / 1e9) / cpu
    return [name, f"{cpu:.2f}", f"{events / wall:,.0f}", f"{figures['untimed'] * 2 / events:.0%}",
            f"{figures['slow'] / wall:,.0f}", f"{1 + product:.3f}", f"{median(ratio):.3f}",
            f"{spread(ratio) * median(ratio):.3f}", PROGRAMS[name][2] or "-",
            f"{spread(native):.0%}"]


def rows_of(names, cells, row):
    """row(name) of each; of a program that is not installed, or fails, a row of as many cells that says so."""
    rows = []
    for name in names:
        print(f"  {name}", file=sys.stderr, flush=True)
        try:
            if not shutil.which(name.split()[0]):
                raise Fails("not installed")
            rows.append(row(name))
        except Fails as error:
            rows.append([name, str(error), *["-"] * (cells - 2)])
    return rows


def overhead(cpa, quick):
    names, rounds = (QUICK, 3) if quick else (list(PROGRAMS), 20)
    prepare(cpa.folder, names)
    costs, start = event_costs(cpa, 3 if quick else 9), start_cost(cpa, 20)
    head = ["program", "native CPU s", "events/s", "of these untimed", "clock asked/s",
            "ns x events", "CPU ratio", "quartiles apart", "target", "native spread"]
    rows = rows_of(names, len(head), lambda name: program_row(cpa, name, rounds, costs, start))
    return (f"{rounds} interleaved pairs. \"ns x events\": what cpa adds by count: "
            f"{costs['events']:.0f} ns a timed event, {costs['untimed']:.0f} ns an untimed "
            f"lock+unlock pair, {costs['slow']:.0f} ns more when the kernel is asked for the time, "
            f"{start * 1e3:.1f} ms a process; samples, what hand-offs cost beyond other events, "
            "and threads' starts are left out.\n\n" + table(head, rows))


def floor(cpa, quick):
    """What interposition itself costs: bare.c, and cpa in the same rounds."""
    rounds = 3 if quick else 12
    levels = {"native": lambda: None, "cpa": cpa.environment}
    for what in ("call", "clock", "line"):
        levels[what] = lambda w=what: {"LD_PRELOAD": cpa.program("bare.so"), "BARE": w}
    if not os.path.exists(f"{cpa.folder}/in.txt"):
        prepare(cpa.folder, FLOOR_PROGRAMS)

    def row(name):
        found = interleaved({what: lambda e=environment: once(cpa, name, (), e())
                             for what, environment in levels.items()}, rounds)
        require_same(found)
        native = [done.cpu for done in found.pop("native")]
        return [name, f"{median(native):.2f}",
                *(f"{median(ratios([done.cpu for done in runs], native)):.2f}" for runs in found.values())]
    head = ["program", "native CPU s", "cpa", "the call alone", "and the clock", "and a cache line"]
    return (f"CPU time as a ratio to native, medians of {rounds} interleaved rounds, under a library "
            "(`bare.c`) that at each operation of a mutex, read-write lock or semaphore calls the "
            "original and does no more; that also reads the clock; that also hands one cache line "
            "over from who unlocks to who locks. None of the three knows what a component is. Who "
            "looks at each use does no less; cpa leaves a lock untimed that one thread keeps using.\n\n" +
            table(head, rows_of(FLOOR_PROGRAMS, len(head), row)))
