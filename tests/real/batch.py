# SPDX-License-Identifier: MIT
"""tests/real/batch.py - the programs that do under cpa what they do without it, one a line

A command is split as a shell does, and {work} is the folder that it runs in, with what `setup`
left there. daemons.py has the servers.
"""

import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import neighbours  # noqa: E402


@dataclasses.dataclass
class Program:
    """How to run one program, and what may differ from run to run without cpa, too."""

    kind: str
    name: str
    packages: str  # the first one tells the version
    command: str
    setup: str = ""  # shell: makes the input, without cpa
    texts: dict = dataclasses.field(default_factory=dict)  # input files: names and contents
    look: str = ""  # shell: prints what to compare of the files that were made
    ignore: tuple = ()  # patterns of files whose contents vary: only their names are compared
    blur: str = ""  # regular expression: what it matches in stdout and stderr varies
    stderr: bool = True  # False: stderr varies as a whole; it is searched for lines of ours only
    status: int = 0  # its exit status
    refused: str = ""  # regular expression: the line with which `cpa run` refuses it, with 126
    says: str = ""  # regular expression: lines of ours that belong there
    env: dict = dataclasses.field(default_factory=dict)
    quick: bool = False  # in `make check`, too: its packages are in scripts/setup
    # Of servers only.
    ready: str = ""  # a port, or the path of a socket, that answers when it has started
    client: str = ""  # shell: its output is compared, and its exit status is 0
    stop: str = "SIGTERM"


SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="200" height="200">
<rect width="200" height="200" fill="#eee"/><circle cx="90" cy="90" r="60" fill="#c30"/>
<text x="20" y="190" font-size="20">critical path</text></svg>
"""
PAGE = """<!doctype html><title>page</title><body><p id=a>waits</p><script>
const text = 'let n = 0; for (let i = 0; i < 1e6; i++) n += i; postMessage(n)';
const worker = new Worker(URL.createObjectURL(new Blob([text])));
worker.onmessage = (m) => document.getElementById('a').textContent = 'sum ' + m.data;
</script></body>
"""
R = """library(parallel)
set.seed(1)
print(sum(unlist(mclapply(1:4, function(i) sum(seq_len(i * 1000)), mc.cores = 2))))
m <- matrix(runif(90000), 300)
print(round(sum(m %*% m)))
quit(status = 3)
"""
OCTAVE = """[s, t] = system('echo from a shell');
disp(t); a = ones(300); disp(sum((a * a)(:))); exit(3);
"""
GO = """package main
import ("fmt"; "os"; "sync")
func main() {
	var w sync.WaitGroup
	c := make(chan int, 100)
	for i := 0; i < 8; i++ {
		w.Add(1)
		go func(i int) { defer w.Done(); for k := 0; k < 1000; k++ { c <- i } }(i)
	}
	go func() { w.Wait(); close(c) }()
	n := 0
	for v := range c { n += v }
	fmt.Println(n)
	os.Exit(3)
}
"""
MULTIPROCESSING = """import multiprocessing, concurrent.futures
def square(n): return n * n
if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool: print(sum(pool.map(square, range(1000))))
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        print(sum(pool.map(square, range(10))))
"""
ASYNCIO = """import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "child", stdout=-1)
    out, _ = await p.communicate()
    n = await asyncio.gather(*(asyncio.to_thread(sum, range(i)) for i in range(200)))
    print(out, sum(n))
asyncio.run(main())
"""
NUMPY = """import numpy, threading, os
a = numpy.ones((400, 400))
ts = [threading.Thread(target=lambda: a @ a) for _ in range(3)]
[t.start() for t in ts]; [t.join() for t in ts]
pid = os.fork()
if not pid: print(int((a @ a).sum()), flush=True); os._exit(0)
os.waitpid(pid, 0); print(int((a @ a).sum()))
"""
PERL = """use threads; use threads::shared; my $n :shared = 0;
my @t = map { threads->create(sub { for (1..500) { lock($n); $n++ } }) } 1..4;
$_->join for @t; print `echo child`, "$n\\n"; exit 3;
"""
RUBY = """q = Queue.new; out = Queue.new
ts = 4.times.map { Thread.new { while (n = q.pop) != :end; out << n * n; end } }
1000.times { |i| q << i }; 4.times { q << :end }; ts.each(&:join)
pid = fork { exit 5 }; Process.wait pid
puts out.size, $?.exitstatus, `echo child`; exit 3
"""
GUILE = """(use-modules (ice-9 threads) (srfi srfi-1))
(define (count n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s i)))))
(display (apply + (par-map count (iota 200)))) (newline) (exit 3)
"""
ERLANG = """P = self(), [spawn(fun() -> P ! lists:sum(lists:seq(1, N)) end) ||
 N <- lists:seq(1, 300)], 
 io:format("~p~n", [lists:sum([receive X -> X end || _ <- lists:seq(1, 300)])]), halt(3)."""
SBCL = """(let* ((m (sb-thread:make-mutex)) (n 0)
 (ts (loop repeat 4 collect (sb-thread:make-thread
  (lambda () (dotimes (i 1000) (sb-thread:with-mutex (m) (incf n))))))))
 (mapc #'sb-thread:join-thread ts) (gc :full t) (format t "~a~%" n))
(sb-ext:exit :code 3 :abort t)
"""
HASKELL = """import Control.Concurrent
main = do
  m <- newEmptyMVar
  mapM_ (\\n -> forkIO (putMVar m $! sum [1 .. n])) [1 .. 200 :: Int]
  xs <- mapM (const (takeMVar m)) [1 .. 200]
  print (sum xs)
"""
PHP = """<?php $n = 0; for ($i = 0; $i < 300000; $i++) $n += crc32((string)$i) % 7;
echo $n, shell_exec('echo child'); exit(3);
"""
RACKET = """#lang racket/base
(require racket/place racket/future)
(provide main)
(define (work ch) (let ((n (place-channel-get ch))) (place-channel-put ch (for/sum ((i n)) i))))
(define (main)
  (define ps (for/list ((k 3))
    (let ((p (place ch (work ch)))) (place-channel-put p (* 1000 (+ k 1))) p)))
  (displayln (apply + (map (lambda (p) (begin0 (place-channel-get p) (place-wait p))) ps)))
  (define fs (for/list ((k 4)) (future (lambda () (for/sum ((i 10000)) (* i k))))))
  (displayln (apply + (map touch fs)))
  (exit 3))
"""
OCAML = """let () =
  let m = Mutex.create () and n = ref 0 in
  let f () = for _ = 1 to 1000 do
    Mutex.lock m; incr n; Mutex.unlock m; if !n mod 100 = 0 then Thread.yield () done in
  let ts = List.init 4 (fun _ -> Thread.create f ()) in
  List.iter Thread.join ts; print_int !n; print_newline (); exit 3
"""
MONO = """using System; using System.Threading; using System.Threading.Tasks; using System.Linq;
class A { static int Main() { object o = new object(); int n = 0;
 var ts = Enumerable.Range(0, 4).Select(i => new Thread(() => {
  for (int k = 0; k < 1000; k++) lock (o) n++; })).ToList();
 ts.ForEach(t => t.Start()); ts.ForEach(t => t.Join());
 long s = 0; Parallel.For(0, 1000, i => Interlocked.Add(ref s, i)); GC.Collect();
 Console.WriteLine("{0} {1}", n, s); return 3; } }
"""
TCL = """package require Thread
set m [thread::mutex create]; tsv::set a n 0
set work { for {set k 0} {$k < 500} {incr k} {
  thread::mutex lock M; tsv::incr a n; thread::mutex unlock M } }
for {set i 0} {$i < 4} {incr i} {
  lappend ts [thread::create -joinable [string map [list M $m] $work]] }
foreach t $ts { thread::join $t }
puts [tsv::get a n]; exit 3
"""
PROLOG = """:- initialization(main).
s(N, S) :- numlist(1, N, L), sum_list(L, S).
main :- numlist(1, 100, L), concurrent_maplist(s, L, Ss), sum_list(Ss, T), writeln(T),
 mutex_create(m),
 findall(I, (between(1, 4, _),
  thread_create(forall(between(1, 200, _), with_mutex(m, true)), I)), Is),
 maplist([I]>>thread_join(I), Is), halt(3).
"""
LEDGER = "".join(f"2023-01-{i % 28 + 1:02} x\n  a:b{i % 7}  ${i}\n  c\n\n" for i in range(500))
SQL = (
    "pragma threads=3; create table t as with recursive c(x) as (select 1 union all "
    "select x + 1 from c where x < 200000) select x, x * 7919 % 200003 y from c; "
    "select sum(y) from (select y from t order by y limit 1000); create index i on t(y);"
)
GENES = """import random
random.seed(1)
genes = "".join(random.choice("ACGT") for _ in range(60000))
with open("ref.fa", "w") as file:
    print(f">r\\n{genes}", file=file)
with open("reads.fq", "w") as file:
    for i in range(3000):
        k = random.randrange(59900)
        print(f"@q{i}\\n{genes[k:k + 100]}\\n+\\n{'I' * 100}", file=file)
"""
READS = "/usr/bin/python3 genes.py; "
ATOMS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 50
run 100
"""
POV = """camera { location <0, 2, -5> look_at <0, 1, 0> } light_source { <5, 9, -9> rgb 1 }
plane { y, 0 pigment { checker rgb 1, rgb 0.3 } } sphere { <0, 1, 0>, 1 pigment { rgb <1, 0, 0> }
finish { reflection 0.4 } }
"""
GIMP = (
    '(let* ((i (car (gimp-image-new 200 200 RGB)))'
    ' (l (car (gimp-layer-new i 200 200 RGB-IMAGE "a" 100 LAYER-MODE-NORMAL))))'
    " (gimp-image-insert-layer i l 0 0) (gimp-drawable-fill l FILL-WHITE)"
    ' (plug-in-gauss RUN-NONINTERACTIVE i l 9 9 0)'
    ' (file-ppm-save RUN-NONINTERACTIVE i l "{work}/a.ppm" "a.ppm" 1))'
)
BLENDER = """import bpy
s = bpy.context.scene
s.render.engine = 'CYCLES'; s.cycles.samples = 4; s.cycles.seed = 1
s.cycles.use_denoising = False; s.render.threads = 2
s.render.threads_mode = 'FIXED'; s.render.resolution_x = s.render.resolution_y = 64
s.render.filepath = '{work}/out.png'; bpy.ops.render.render(write_still=True)
"""
# A boot sector that writes to the serial port and ends the machine by its debug port.
BOOT = (
    r"printf '\272\370\003\260O\356\260K\356\260\n\356\272\001\005\260\001\356\364' >boot; "
    r"truncate -s 510 boot; printf '\125\252' >>boot"
)
C_SOURCES = {
    f"part{i}.c": f"#include <stdio.h>\n#include <stdlib.h>\nint part{i}(int n)\n"
    f"{{ return abs(n) * {i}; }}\n"
    for i in range(6)
}
C_SOURCES["main.c"] = (
    "#include <stdio.h>\n"
    + "".join(f"int part{i}(int);" for i in range(6))
    + "\nint main(void) { printf(\"%d\\n\", "
    + " + ".join(f"part{i}({i})" for i in range(6))
    + "); }\n"
)
MAKEFILE = """prog: $(patsubst %.c,%.o,$(sort $(wildcard *.c)))
	@gcc -o $@ $^
%.o: %.c
	@gcc -O2 -c -o $@ $<
"""
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(prog C)
file(GLOB parts *.c)
add_executable(prog ${parts})
"""
NINJA = "rule cc\n command = gcc -O2 -c -o $out $in\nrule ld\n command = gcc -o $out $in\n"
NINJA += "".join(
    f"build {name[:-2]}.o: cc {name}\n" for name in C_SOURCES
) + "build prog: ld " + " ".join(f"{name[:-2]}.o" for name in C_SOURCES) + "\n"
CARGO = {"Cargo.toml": '[package]\nname = "many"\nversion = "0.1.0"\nedition = "2021"\n',
         "src/main.rs": neighbours.RUST}
OBJECTS = "for i in *.c; do gcc -O2 -g -c $i; done; rm *.c"
NUMBERS = "seq 1 700000 >in"
SHUFFLED = "seq 1 400000 | sort -R --random-source=/bin/sh >in"
TREE = "mkdir tree; cp -r /usr/include/linux /usr/include/c++ tree"
REPOSITORY = (
    "git init -q -b main .; git config user.name a; git config user.email a@b; "
    "export GIT_AUTHOR_DATE=1000000000+0000 GIT_COMMITTER_DATE=1000000000+0000; "
    "for i in 1 2 3 4 5 6; do for f in a b c d; do seq $i 7 9000 >$f$i; done; "
    "git add .; git commit -q -m $i; done"
)
VIDEO = "ffmpeg -v error -f lavfi -i testsrc=size=320x180:rate=25:duration=2 -pix_fmt yuv420p a.y4m"
PICTURE = "gm convert -size 500x400 gradient:red-blue in.png"
STRESS = "stress-ng --temp-path {work} --no-rand-seed -q"
LOCKS = {"locks.py": neighbours.PYTHON}


def p(kind, name, packages, command, **more):
    return Program(kind, name, packages, command, **more)


PROGRAMS = [
    p("browser", "firefox", "firefox-esr",
      "firefox-esr --headless --screenshot {work}/out.png file://{work}/page.html",
      texts={"page.html": PAGE}, ignore=("out.png",), stderr=False,
      says="confine itself .seccomp.: the profile ends here"),
    p("browser", "chromium", "chromium chromium-sandbox",
      "chromium --headless=new --disable-gpu --virtual-time-budget=3000 --dump-dom "
      "file://{work}/page.html", texts={"page.html": PAGE}, stderr=False),

    p("language", "R mclapply", "r-base-core libopenblas0-pthread", "Rscript a.R",
      texts={"a.R": R}, status=3),
    p("language", "octave system()", "octave libopenblas0-pthread",
      "octave-cli --norc --no-history a.m", texts={"a.m": OCTAVE}, status=3),
    p("language", "java", "default-jdk-headless", "java -cp . Many",
      texts={"Many.java": neighbours.JAVA}, setup="javac Many.java", status=3),
    p("language", "javac", "default-jdk-headless", "javac Many.java",
      texts={"Many.java": neighbours.JAVA}),
    p("language", "go with cgo", "golang-go gcc", "./many", texts={"many.go": neighbours.GO},
      setup="go build -o many many.go", status=3),
    p("language", "go without cgo", "golang-go", "./many", texts={"many.go": GO},
      setup="CGO_ENABLED=0 go build -o many many.go", status=3, refused="statically linked"),
    p("language", "go build", "golang-go", "go build -o many many.go", texts={"many.go": GO}),
    p("language", "cargo build", "cargo", "cargo build --offline -q", texts=CARGO,
      ignore=("target/*",), look="target/debug/many 2>/dev/null"),
    p("language", "rust", "rustc", "./many", texts={"many.rs": neighbours.RUST},
      setup="rustc -O many.rs", status=3, blur="thread.*panicked|^note.*"),
    p("language", "node", "nodejs", "node many.js", texts={"many.js": neighbours.NODE}, status=3),
    p("language", "python3 threads", "python3", "/usr/bin/python3 locks.py", texts=LOCKS, status=3,
      quick=True),
    p("language", "python3 multiprocessing", "python3", "/usr/bin/python3 a.py",
      texts={"a.py": MULTIPROCESSING}, quick=True),
    p("language", "python3 asyncio", "python3", "/usr/bin/python3 a.py", texts={"a.py": ASYNCIO},
      quick=True),
    p("language", "python3 numpy", "python3-numpy libopenblas0-pthread", "/usr/bin/python3 a.py",
      texts={"a.py": NUMPY}),
    p("language", "perl threads", "perl", "perl a.pl", texts={"a.pl": PERL}, status=3, quick=True),
    p("language", "ruby", "ruby", "ruby a.rb", texts={"a.rb": RUBY}, status=3),
    p("language", "guile", "guile-3.0", "guile-3.0 --no-auto-compile a.scm",
      texts={"a.scm": GUILE}, status=3),
    p("language", "erlang", "erlang-base", "erl -noshell -eval '" + ERLANG + "'", status=3),
    p("language", "sbcl", "sbcl", "sbcl --script a.lisp", texts={"a.lisp": SBCL}, status=3),
    p("language", "haskell", "ghc", "./a +RTS -N2", texts={"a.hs": HASKELL},
      setup="ghc -v0 -O -threaded -rtsopts a.hs"),
    p("language", "ocaml threads", "ocaml-nox", "./a", texts={"a.ml": OCAML},
      setup="ocamlopt -I +threads unix.cmxa threads.cmxa a.ml -o a", status=3),
    p("language", "racket places", "racket",
      "racket -l racket/base -e '(require (file \"{work}/a.rkt\")) (main)'",
      texts={"a.rkt": RACKET}, status=3),
    p("language", "mono", "mono-runtime mono-mcs libmono-system-core4.0-cil", "mono a.exe",
      texts={"a.cs": MONO}, setup="mcs a.cs", status=3),
    p("language", "tcl threads", "tcl-thread", "tclsh a.tcl", texts={"a.tcl": TCL}, status=3),
    p("language", "swi-prolog", "swi-prolog-nox", "swipl a.pl", texts={"a.pl": PROLOG}, status=3),
    p("language", "php", "php-cli", "php a.php", texts={"a.php": PHP}, status=3),

    p("office", "libreoffice", "libreoffice-writer-nogui poppler-utils",
      "soffice --headless --convert-to pdf page.html", texts={"page.html": PAGE},
      look="pdftotext page.pdf -", ignore=("page.pdf",)),
    p("office", "inkscape", "inkscape", "inkscape -o out.png in.svg", texts={"in.svg": SVG},
      stderr=False),
    p("office", "gimp", "gimp", "gimp -i -d -f -b '" + GIMP + "' -b '(gimp-quit 0)'",
      stderr=False, blur="gimp_.*|.*GIMP.*"),
    p("picture", "ImageMagick", "imagemagick graphicsmagick", "convert in.png -blur 0x3 rgb:out",
      setup=PICTURE, env={"MAGICK_THREAD_LIMIT": "2"}),
    p("picture", "GraphicsMagick", "graphicsmagick", "gm convert in.png -blur 0x3 rgb:out",
      setup=PICTURE, env={"OMP_NUM_THREADS": "2"}),
    p("picture", "darktable-cli", "darktable graphicsmagick",
      "darktable-cli in.png out.png --core --disable-opencl --configdir {work}/c "
      "--library :memory:",
      setup=PICTURE, ignore=("c/*", "out.png"), stderr=False, blur=r"[\d.]+",
      look="gm identify -format '%w %h' out.png"),

    p("picture", "vips", "libvips-tools graphicsmagick", "vips resize in.png out.v 0.37",
      setup=PICTURE, env={"VIPS_CONCURRENCY": "3"}),
    p("picture", "gdalwarp", "gdal-bin graphicsmagick",
      "gdalwarp -q -multi -wo NUM_THREADS=3 -t_srs EPSG:3857 in.tif out.tif",
      setup=f"{PICTURE}; gdal_translate -q -a_srs EPSG:4326 -a_ullr 0 40 50 0 in.png in.tif"),

    p("multimedia", "ffmpeg", "ffmpeg",
      "ffmpeg -v error -f lavfi -i testsrc=size=320x180:rate=25:duration=2 -c:v libx264 -threads 4"
      " -f h264 out.h264"),
    p("multimedia", "gstreamer", "gstreamer1.0-tools gstreamer1.0-plugins-base",
      "gst-launch-1.0 -q videotestsrc num-buffers=100 ! queue ! videoconvert ! queue ! "
      "filesink location=out"),
    p("multimedia", "x264", "x264 ffmpeg", 
      "x264 --quiet --threads 4 --preset fast -o out.264 a.y4m", setup=VIDEO,
      stderr=False),
    p("multimedia", "x265", "x265 ffmpeg",
      "x265 --log-level error --no-progress --pools 2 --preset fast a.y4m -o out.265",
      setup=VIDEO),
    p("multimedia", "SVT-AV1", "svt-av1 ffmpeg", "SvtAv1EncApp -i a.y4m --preset 12 --lp 2 -b out",
      setup=VIDEO, stderr=False, blur=r"[\d.]+"),
    p("multimedia", "povray", "povray", "povray +Ia.pov +Oout.png +W160 +H120 -D -GA +WT2",
      texts={"a.pov": POV}, ignore=("out.png",), stderr=False),
    p("multimedia", "blender", "blender", "blender -b --factory-startup -noaudio -P a.py",
      texts={"a.py": BLENDER}, ignore=("out.png",), stderr=False, blur=r"[\d.:]+|Fra.*|Saved.*"),
    p("multimedia", "mpv", "mpv ffmpeg",
      "mpv --no-config --really-quiet --vo=null --ao=null --untimed --no-audio a.y4m",
      setup=VIDEO),
    p("multimedia", "flac", "flac sox", "flac -s -o out.flac in.wav",
      setup="sox -n -r 44100 -c 2 -R in.wav synth 8 sine 440"),
    p("multimedia", "sox", "sox", "sox --multi-threaded -D in.wav out.wav rate -v 48000 reverb",
      setup="sox -n -r 44100 -c 2 -R in.wav synth 4 sine 440"),

    p("compiler", "clang", "clang", "clang -O2 -g -c main.c part0.c part1.c part2.c",
      texts=C_SOURCES, quick=True),
    p("compiler", "lld", "lld gcc", "gcc -fuse-ld=lld -o prog main.o part0.o part1.o part2.o "
      "part3.o part4.o part5.o", texts=C_SOURCES, setup=OBJECTS, look="./prog"),
    p("compiler", "mold", "mold gcc", "gcc -fuse-ld=mold -o prog main.o part0.o part1.o part2.o "
      "part3.o part4.o part5.o", texts=C_SOURCES, setup=OBJECTS, look="./prog"),
    p("build", "make -j", "make gcc", "make -s -j3", texts={**C_SOURCES, "Makefile": MAKEFILE},
      look="./prog", quick=True),
    p("build", "ninja", "ninja-build gcc", "ninja --quiet",
      texts={**C_SOURCES, "build.ninja": NINJA}, ignore=(".ninja*",), look="./prog"),
    p("build", "cmake", "cmake gcc make", 
      "sh -c 'cmake -S . -B b >out && cmake --build b -j2 >>out'",
      texts={**C_SOURCES, "CMakeLists.txt": CMAKE}, ignore=("b/*", "out"), look="b/prog"),

    p("tool", "pigz", "pigz", "pigz -p4 -k in", setup=NUMBERS, quick=True, ignore=("in.gz",),
      look="gzip -dc in.gz | cksum"),
    p("tool", "pbzip2", "pbzip2", "pbzip2 -q -p3 -k in", setup=NUMBERS, quick=True),
    p("tool", "lbzip2", "lbzip2", "lbzip2 -n3 -k in", setup=NUMBERS),
    p("tool", "plzip", "plzip", "plzip -n3 -1 -k in", setup=NUMBERS),
    p("tool", "7z", "p7zip-full", "7z a -bb0 -bd -mmt2 -mx1 out.7z in", setup=NUMBERS,
      ignore=("out.7z",), look="7z x -so out.7z | cksum", blur=r"[\d.]+"),
    p("tool", "zstd", "zstd", "zstd -q -T4 -9 -k in", setup=NUMBERS, quick=True),
    p("tool", "xz", "xz-utils", "xz -T4 -1 -k --block-size=1MiB in", setup=NUMBERS, quick=True),
    p("tool", "sort", "coreutils", "sort --parallel=4 -S 100M in -o out", setup=SHUFFLED,
      quick=True),
    p("tool", "git repack", "git", "git repack -q -a -d -f --threads=3", setup=REPOSITORY,
      look="git fsck; git count-objects; git log --format=%H", ignore=(".git/*",)),
    p("tool", "git grep", "git", "git grep --threads=3 -c 77", setup=REPOSITORY),
    p("tool", "ripgrep", "ripgrep", "rg -j3 --sort path -c define tree", setup=TREE),
    p("tool", "ripgrep, in parallel", "ripgrep", "sh -c 'rg -j3 -c define tree | sort'",
      setup=TREE),
    p("tool", "fdfind", "fd-find", "sh -c 'fdfind -j3 e tree | sort'", setup=TREE),
    p("tool", "fio", "fio", "fio --name=a --thread --numjobs=3 --size=2m --rw=randrw "
      "--ioengine=psync --verify=crc32c --directory={work}", ignore=("a.*",), blur=r"(?s).*"),
    # With --sem-ops version 0.15.06 does not end.
    *(p("tool", f"stress-ng {method}", "stress-ng", f"{STRESS} --{method} 2 {bound}",
        quick=method in ("mutex", "sem", "fork"))
      for method, bound in (
          ("mutex", "--mutex-ops 20000"), ("sem", "-t 1"), ("sem-sysv", "--sem-sysv-ops 5000"),
          ("pthread", "--pthread-ops 100"), ("futex", "--futex-ops 5000"),
          ("fork", "--fork-ops 60"), ("vfork", "--vfork-ops 60"), ("clone", "--clone-ops 40"),
          ("flock", "--flock-ops 5000"), ("kcmp", "--kcmp-ops 2000 --verify"),
          ("mq", "--mq-ops 1000"), ("pidfd", "--pidfd-ops 200"), ("ptrace", "--ptrace-ops 2000"),
          ("sigfd", "--sigfd-ops 2000"), ("sigq", "--sigq-ops 2000"),
          ("sigabrt", "--sigabrt-ops 100"))),
    p("tool", "stress-ng sigsegv", "stress-ng", f"{STRESS} --sigsegv 2 --sigsegv-ops 1000",
      says="confine itself .PR_SET_TSC.: the profile ends here"),

    p("tool", "rsync", "rsync", "rsync -a tree/ copy", setup=TREE),
    p("tool", "xargs -P", "findutils",
      "sh -c 'seq 40 | xargs -P4 -n1 sh -c \"echo \\$(( \\$0 * 2 ))\" | sort -n'"),
    p("tool", "parallel", "parallel", "parallel -j4 -k --will-cite 'echo {}; seq {} | wc -l' "
      "::: 1 2 3 4 5 6 7 8 9 10"),
    p("tool", "restic", "restic", "restic -r r --password-file pw -q init", texts={"pw": "x"},
      ignore=("r/*",)),
    p("tool", "hledger", "hledger", "hledger -f in.j bal", texts={"in.j": LEDGER}),
    p("tool", "sqlite3, threads", "sqlite3", f"sqlite3 a.db '{SQL}'"),
    p("science", "bwa", "bwa", "bwa mem -t 3 ref.fa reads.fq", texts={"genes.py": GENES},
      setup=READS + "bwa index ref.fa 2>/dev/null", stderr=False),
    p("science", "minimap2", "minimap2", "minimap2 -t3 -a ref.fa reads.fq",
      texts={"genes.py": GENES}, setup=READS, stderr=False),
    p("science", "samtools sort", "samtools bwa",
      "samtools sort --no-PG -@ 3 -o out.bam in.sam", texts={"genes.py": GENES},
      setup=READS + "bwa index ref.fa 2>/dev/null; bwa mem ref.fa reads.fq 2>/dev/null >in.sam",
      stderr=False),
    p("science", "blastn", "ncbi-blast+", "blastn -num_threads 3 -db ref -query q.fa -outfmt 6",
      texts={"genes.py": GENES}, stderr=False,
      setup=READS + "makeblastdb -in ref.fa -out ref -dbtype nucl >/dev/null; "
      "sed -n '/^@/{s/@/>/;p;n;p}' reads.fq | head -600 >q.fa"),
    p("science", "lammps, MPI", "lammps openmpi-bin",
      "mpirun --oversubscribe -n 2 lmp -in in.lmp -log none", texts={"in.lmp": ATOMS},
      stderr=False, blur=r"(?m)^.*(time|CPU|Perf|\||ave).*$", env={"OMP_NUM_THREADS": "1"}),

    p("emulator", "qemu-x86_64", "qemu-user", "qemu-x86_64 /usr/bin/sha256sum in", setup=NUMBERS),
    p("emulator", "qemu-x86_64, threads", "qemu-user python3",
      "qemu-x86_64 /usr/bin/python3 locks.py", texts=LOCKS, status=3),
    p("emulator", "qemu-system-x86_64", "qemu-system-x86 seabios",
      "qemu-system-x86_64 -accel tcg,thread=multi -smp 2 -m 64 -display none -serial stdio "
      "-monitor none -net none -device isa-debug-exit,iobase=0x501,iosize=2 "
      "-drive format=raw,file=boot", setup=BOOT, status=3),

    p("debugger", "gdb", "gdb", "gdb -q -nx -batch -ex run -ex 'p 6*7' --args /usr/bin/python3 "
      "locks.py", texts=LOCKS, blur=r"\[.*\n|0x\w+|process \d+",
      stderr=False),
    p("debugger", "strace", "strace", "strace -f -o trace /usr/bin/python3 locks.py", texts=LOCKS,
      status=3, ignore=("trace",)),
    p("debugger", "valgrind", "valgrind", "valgrind -q pigz -p2 -k in", setup="seq 1 20000 >in",
      ignore=("in.gz",), look="gzip -dc in.gz | cksum", stderr=False),
    p("debugger", "helgrind", "valgrind", "valgrind -q --tool=helgrind pbzip2 -q -p2 -k in",
      setup="seq 1 20000 >in", stderr=False),

    p("sandbox", "bwrap", "bubblewrap", "bwrap --unshare-all --ro-bind / / --bind {work} {work} "
      "--dev /dev --proc /proc --die-with-parent /usr/bin/python3 locks.py", texts=LOCKS, status=3),
    p("sandbox", "unshare", "util-linux", "unshare -r -p -f -n -m --mount-proc /usr/bin/python3 "
      "locks.py", texts=LOCKS, status=3),

    p("cannot work", "passwd: set-uid", "passwd", "passwd -S", blur=r".*", refused="set-uid"),
    p("cannot work", "busybox: static", "busybox-static", "busybox seq 3",
      refused="statically linked"),
]
