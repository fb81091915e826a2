#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/bad_dumps.py - cpa-report on dumps that are cut, damaged or no dumps at all

Whatever the file: no crash, no report of a sanitizer, exit status 0 or 1; with 1 one line on
standard error and none on standard output, with 0 a report without control characters. Builds
cpa-report with AddressSanitizer and UBSan. Sound dumps and command lines each have a process of
cpa-report; damaged dumps share some, see tests/fuzz/batch.c. The dumps are one made by
tests/unit/dump_maker.h and, if libcpa.so is built, two of real runs; the recipes of tests/fuzz are
for cpa top too, and sessions with a journal for what reads that. CPA_LONG=1 tries four times as
many; CPA_SEED repeats a run. Prints TAP and a summary; a file that fails is kept.
"""

import concurrent.futures
import csv
import io
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import layout

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or ROOT / "build").resolve()
LONG = bool(os.environ.get("CPA_LONG"))
SEED = int(os.environ.get("CPA_SEED") or random.randrange(1 << 32))
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 240

FORMAT, HEADER, USED, TABLES, TABLE_AT, TABLE_SIZE, CHUNKS, HEADER_END = layout.values(
    "CPA_FORMAT",
    "CPA_HEADER_SIZE",
    "offsetof(struct cpa_header, used)",
    "CPA_TABLES",
    "offsetof(struct cpa_header, table)",
    "sizeof(struct cpa_table)",
    "offsetof(struct cpa_table, chunk)",
    "offsetof(struct cpa_header, secret)",  # nothing behind it matters
)
NAMES, QUEUES, MARKS = layout.values("CPA_TABLE_NAMES", "CPA_TABLE_QUEUES", "CPA_TABLE_MARKS")
COMPONENTS, CONTEXTS = layout.values("CPA_TABLE_COMPONENTS", "CPA_TABLE_CONTEXTS")
FORMS = (
    ("--format", "json"),
    (),
    ("--level", "pag"),
    ("--format", "csv", "--level", "queue"),
    ("--format", "csv", "--level", "stream"),
    ("--format", "csv", "--level", "interval"),
    ("--format", "csv", "--level", "pag"),
    ("--format", "folded"),
)
FUZZERS = ("report", "symbols", "journal")
JOURNALED = ("stages_c", "readers_writer", "sem_ring", "barrier_rotate", "task_queue")
INTERESTING = (0, 1, 7, 63, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, 2**64 - 1)

MAKER_MAIN = """
#include "tests/unit/dump_queues.h"

int main(int argc, char **argv)
{
	struct dump_maker maker;

	dump_maker_example(&maker);
	dump_maker_queues(&maker);
	dump_maker_save(&maker, argv[argc - 1], SIZE_MAX);
	dump_maker_free(&maker);
	return example_worker(0) == 1 ? 0 : 99;
}
"""


def compile_c(output, sources, extra):
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}", "-O1", "-g1"]
    subprocess.run([*command, "-o", str(output), *map(str, sources), *extra], check=True)


def build(folder):
    """cpa-report, what runs it in batches, and what the fuzzer runs."""
    flags = subprocess.run(
        ["pkg-config", "--libs", "libdw", "libelf", "jansson", "zlib", "sqlite3"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    fuzzers = [ROOT / f"tests/fuzz/{name}.c" for name in FUZZERS]
    sources = [*fuzzers, *sorted((ROOT / "analysis").glob("*/*.c"))]
    # The terminal, and other programs.
    others = ("top.c", "top_screen.c", "diff.c")
    sources = [source for source in sources if source.name not in others]
    sources = [source for source in sources if source.parent.name not in ("launch", "ctl")]
    sources.append(ROOT / "shadow/store/epoch.c")

    def one(source):
        output = folder / ("-".join(source.relative_to(ROOT).parts) + ".o")
        compile_c(output, [source], ["-c", *SANITIZE, '-DCPA_VERSION="bad"'])
        return output

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        batch = pool.submit(one, ROOT / "tests/fuzz/batch.c")
        objects = list(pool.map(one, sources))
    fuzzers, rest = objects[: len(FUZZERS)], objects[len(FUZZERS) :]
    report = [each for each in rest if not each.name.startswith("analysis-top-")]
    rest = [each for each in rest if each.name != "analysis-report-report.c.o"]
    libraries = [BUILD / "obj/analysis/page/embed.o", *SANITIZE, *flags, "-liberty", "-lm"]
    compile_c(folder / "cpa-report", report, libraries)
    main = [ROOT / "analysis/report/report.c", "-Dmain=cpa_report_main", '-DCPA_VERSION="bad"']
    compile_c(folder / "batch", [*main, batch.result(), *rest], libraries)
    for name, fuzzer in zip(FUZZERS, fuzzers):
        compile_c(folder / f"fuzz-{name}", [fuzzer, *rest], libraries)


def make_dump(folder):
    main = folder / "maker.c"
    main.write_text(MAKER_MAIN, encoding="ascii")
    compile_c(folder / "maker", [main], ["-Wl,--build-id"])
    subprocess.run([str(folder / "maker"), str(folder / "made.dump")], check=True)
    return (folder / "made.dump").read_bytes()


def record(name, dump, **settings):
    """Run a program for its dump. False: it, or libcpa.so, is not built."""
    program = BUILD / "tests/programs" / name
    if not (BUILD / "libcpa.so").exists() or not program.exists():
        return False
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
    environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), CPA_QUIET="1")
    environment.update(settings)
    # On a busy machine it may not be what it claims to be; its dump is as good as another.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([str(program)], env=environment, check=False, **quiet)
    return dump.exists()


def record_dump(folder, program, **settings):
    """A dump of a real run, without the space behind its last byte; None if there is none."""
    dump = folder / "real.dump"
    dump.unlink(missing_ok=True)
    if not record(program, dump, **settings):
        return None
    with open(dump, "rb") as file:
        used = struct.unpack_from("<Q", file.read(HEADER), USED)[0]
        file.seek(0)
        return file.read(used)


class Results:
    def __init__(self, work, folder):
        self.report, self.batch, self.folder = work / "cpa-report", work / "batch", folder
        self.passed = self.failed = self.skipped = 0

    def check(self, problems, text):
        """One line of TAP; @problems is a list of lines, empty if all is well."""
        number = self.passed + self.failed + self.skipped + 1
        for problem in problems[:5]:
            print(f"# {problem}")
        if problems:
            self.failed += 1
        else:
            self.passed += 1
        print(f"{'not ok' if problems else 'ok'} {number} - {text}", flush=True)

    def skip(self, text, reason):
        number = self.passed + self.failed + self.skipped + 1
        self.skipped += 1
        print(f"ok {number} - {text} # SKIP {reason}", flush=True)

    def run(self, *arguments, **options):
        environment = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1")
        return subprocess.run(
            [str(self.report), *map(str, arguments)],
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env=environment,
            **options,
        )

    def problem_of(self, arguments, statuses=(0, 1), **options):
        """What is wrong with the report on a file, None if nothing is."""
        try:
            done = self.run(*arguments, **options)
        except subprocess.TimeoutExpired:
            return f"no end after {TIMEOUT_S} s"
        return self.judge(arguments, statuses, done.returncode, done.stdout, done.stderr)

    def judge(self, arguments, statuses, status, output, error):
        """As problem_of(), of a run that ended."""
        error = error.decode(errors="replace")
        if status not in statuses:
            return f"exit status {status}: {error[:2000]}"
        if status == 0:
            if error:
                return f"exit status 0, yet: {error[:2000]}"
            try:
                text = output.decode()
            except UnicodeDecodeError as bad:
                return f"output is not UTF-8: {bad}"
            if "json" in arguments:
                try:
                    json.loads(text)
                except ValueError as bad:
                    return f"output is not JSON: {bad}"
            elif "csv" in arguments:
                return self.problem_of_csv(text)
            elif re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text):
                return "control characters in the output"
            # Stacks of nothing are no lines.
            return None if text or "folded" in arguments else "no output"
        if output:
            return "output, though the exit status is 1"
        if not re.fullmatch(r"cpa-report: [^\n]+\n", error):
            return f"not one line on standard error: {error[:2000]}"
        return None

    @staticmethod
    def problem_of_csv(text):
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            return "rows of different lengths in the CSV"
        return None

    def try_batch(self, variants):
        """The problems of @variants, triples of a number, a description and bytes."""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            folder = pathlib.Path(place)
            commands = []
            for number, _, data in variants:
                (folder / f"{number}.dump").write_bytes(data)
                commands.append((*FORMS[number % len(FORMS)], str(folder / f"{number}.dump")))
            # As a process of its own would have, and not the sum of many.
            options = "quarantine_size_mb=8"
            done = subprocess.run(
                [str(self.batch), place],
                input="".join("\t".join(command) + "\n" for command in commands),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                env=dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1", ASAN_OPTIONS=options),
            )
            ends = [line.split() for line in done.stdout.splitlines()]
            problems = [
                f"a process of some of the runs ends with {status}"
                for what, status in ends
                if what == "end" and status != "0"
            ]
            statuses = [int(status) for what, status in ends if what != "end"]
            for run, (variant, command, status) in enumerate(
                zip(variants, commands, statuses, strict=True)
            ):
                output = (folder / f"{run}.out").read_bytes()
                error = (folder / f"{run}.err").read_bytes()
                problem = self.judge(command, (0, 1), status, output, error)
                if problem:
                    number, what, data = variant
                    kept = self.folder / f"{os.getpid()}.{number}.dump"
                    kept.write_bytes(data)
                    problems.append(f"{kept}: {what}: {' '.join(command[:-1])}: {problem}")
        return problems

    def try_variants(self, variants, text):
        """Run the report on each of @variants, pairs of a description and bytes."""
        numbered = [(number, *variant) for number, variant in enumerate(variants)]
        cpus = os.cpu_count()
        with concurrent.futures.ThreadPoolExecutor(cpus) as pool:
            batches = [numbered[cpu::cpus] for cpu in range(cpus)]
            problems = [p for some in pool.map(self.try_batch, batches) for p in some]
        self.check(problems, f"{text}: {len(variants)} variants")


def truncations(dump, count, dice):
    sizes = {0, 1, HEADER - 1, HEADER, HEADER + 1, len(dump) - 1}
    sizes.update(dice.randrange(HEADER) for _ in range(count // 10))
    sizes.update(dice.randrange(HEADER, len(dump)) for _ in range(count))
    return [(f"cut at {size}", dump[:size]) for size in sorted(sizes)]


def patched(dump, offset, data):
    return dump[:offset] + data + dump[offset + len(data) :]


def header_damage(dump, count, dice):
    """Single bits, and words of every size with values that are often not thought of."""
    variants = []
    for _ in range(count):
        offset = dice.randrange(HEADER_END)
        if dice.random() < 0.5:
            data = bytes([dump[offset] ^ 1 << dice.randrange(8)])
        else:
            size = dice.choice((4, 8))
            offset -= offset % size
            value = dice.choice((*INTERESTING, len(dump), len(dump) - 8, dice.getrandbits(64)))
            data = (value % (1 << 8 * size)).to_bytes(size, "little")
        variants.append((f"{data.hex()} at {offset:#x}", patched(dump, offset, data)))
    return variants


def header_extremes(dump):
    """Each word of the header once with its largest value."""
    words = range(0, HEADER_END - HEADER_END % 8, 8)
    return [(f"{2**64 - 1:#x} at {at:#x}", patched(dump, at, b"\xff" * 8)) for at in words]


def body_damage(dump, count, dice):
    """As above in the rows, several at once; words that are not 0 first, for they mean something."""
    words = [o for o in range(HEADER, len(dump) - 7, 4) if any(dump[o : o + 4])]
    variants = []
    for _ in range(count):
        data, what = dump, []
        for _ in range(dice.choice((1, 1, 2, 8, 64))):
            offset = dice.choice(words) if dice.random() < 0.9 else dice.randrange(HEADER, len(dump))
            size = dice.choice((1, 4, 8))
            value = dice.choice((*INTERESTING, len(dump), len(dump) - 8, dice.getrandbits(64)))
            word = (value % (1 << 8 * size)).to_bytes(size, "little")[: len(dump) - offset]
            data = patched(data, offset, word)
            what.append(f"{word.hex()} at {offset:#x}")
        variants.append((", ".join(what[:8]), data))
    return variants


def rows_of(dump, table):
    """Where the rows of @table lie: pairs of offset and size."""
    at = TABLE_AT + table * TABLE_SIZE
    row_size, first, used, _ = struct.unpack_from("<IIII", dump, at)
    rows = []
    for k, chunk in enumerate(struct.unpack_from("<20Q", dump, at + CHUNKS)):
        here = min(first << k, used)
        rows += [(chunk + i * row_size, row_size) for i in range(here if chunk else 0)]
        used -= here
    return rows


def table_damage(dump, table, count, dice):
    """Noise, runs of equal bytes and single words, anywhere in the rows of @table."""
    rows = rows_of(dump, table)
    variants = []
    for _ in range(count if rows else 0):
        offset, size = dice.choice(rows)
        start = dice.choice((8, dice.randrange(8, size)))
        length = min(size - start, dice.choice((1, 4, 8, 8, 128, size)))
        if dice.random() < 0.5:
            data = dice.randbytes(length)
        elif length <= 8:
            data = (dice.choice(INTERESTING) % (1 << 8 * length)).to_bytes(length, "little")
        else:
            data = bytes([dice.choice((0, 1, 0x7F, 0x80, 0xFF))]) * length
        what = f"{length} bytes at {offset + start:#x}, {data[:8].hex()}.."
        variants.append((what, patched(dump, offset + start, data)))
    return variants


def noise(count, dice):
    """A good magic number and then anything."""
    head = b"CPADUMP\n" + struct.pack("<IIII", 0x01020304, FORMAT, HEADER, TABLES)
    sizes = [dice.choice((HEADER, 20000, 100000)) for _ in range(count)]
    return [("noise", head + dice.randbytes(size - len(head))) for size in sizes]


def check_files(results, dump):
    """What is no dump at all, and names that need care."""
    folder = results.folder
    (folder / "empty.dump").write_bytes(b"")
    (folder / "folder.dump").mkdir()
    os.mkfifo(folder / "fifo.dump")
    (folder / "secret.dump").write_bytes(dump)
    (folder / "secret.dump").chmod(0)
    (folder / "a\n\x1b[2Jb.dump").write_bytes(dump[:100])
    cases = ["missing.dump", "empty.dump", "folder.dump", "fifo.dump", "a\n\x1b[2Jb.dump"]
    for name in cases:
        problem = results.problem_of((folder / name,), statuses=(1,))
        results.check([problem] if problem else [], f"{name!r} is refused")
    if os.geteuid() == 0:
        results.skip("a dump without permission", "root may read all")
    else:
        problem = results.problem_of((folder / "secret.dump",), statuses=(1,))
        results.check([problem] if problem else [], "a dump without permission is refused")
    for path in folder.iterdir():
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    problem = results.problem_of((), statuses=(1,), cwd=folder)
    results.check([problem] if problem else [], "a folder without dumps is told")


def check_versions(results, dump):
    cases = {
        f"0xc: format 1 found, {FORMAT} expected": patched(dump, 12, struct.pack("<I", 1)),
        "0x8: byte order 0x04030201 found": patched(dump, 8, struct.pack(">I", 0x01020304)),
        "0x0: an unknown file type found": b"\x7fELF" + dump[4:],
        f"{HEADER - 1:#x}: end of file at byte": dump[: HEADER - 1],
    }
    for words, data in cases.items():
        file = results.folder / "version.dump"
        file.write_bytes(data)
        done = results.run(file)
        error = done.stderr.decode(errors="replace")
        good = done.returncode == 1 and error.startswith(f"cpa-report: {file}:{words}")
        results.check([] if good else [error], f"refused with '{words}'")
        file.unlink()


def check_newest(results, dump):
    old, new = results.folder / "old.dump", results.folder / "new.dump"
    new.write_bytes(dump)
    old.write_bytes(b"no dump")
    os.utime(old, (1, 1))
    problem = results.problem_of((), statuses=(0,), cwd=results.folder)
    results.check([problem] if problem else [], "without a name the newest dump is read")
    old.unlink()
    new.unlink()


def check_usage(results):
    cases = (
        ("--format", "xml"),
        ("--format",),
        ("--top", "0"),
        ("--top", "-1"),
        ("--top", "many"),
        ("--width", "3"),
        ("--level", "everything"),
        ("--color", "blue"),
        ("--no-such-option",),
        ("--by", "caller:0"),
        ("--at", "99:99"),
        ("--tree", "--format", "json"),
        ("--verify", "--format", "csv"),
        ("a.dump", "b.dump"),
    )
    for arguments in cases:
        done = results.run(*arguments)
        lines = done.stderr.decode().splitlines()
        good = done.returncode == 2 and len(lines) == 1 and lines[0].startswith("cpa-report: ")
        results.check([] if good else lines, f"exit status 2 for {' '.join(arguments)}")


def check_fuzzer(results, text, command):
    """A fuzzer that replays, or makes recipes by chance: it must come to its end."""
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        check=False,
        env=dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1", CPA_SEED=str(SEED)),
    )
    lines = (done.stdout + done.stderr).decode(errors="replace").splitlines()
    last = max((i for i, line in enumerate(lines) if line.startswith("# ")), default=0)
    said = [line for line in lines if line.startswith("ok 1 - ")]
    good = done.returncode == 0 and said
    results.check([] if good else lines[last:][:60], f"{text}: {said[-1][7:] if said else 'died'}")


def check_fuzzers(results, work):
    """
    What the fuzzer once chose, and some recipes by chance; debug information that lies: libelf and
    libdw may do what they want, but to them alone; journals that lie.
    """
    corpus = ROOT / "tests/fuzz/corpus.txt"
    check_fuzzer(results, "recipes", [work / "fuzz-report", corpus, "20000" if LONG else "300"])
    names = [work / "fuzz-symbols", work / "maker", "2000" if LONG else "200"]
    check_fuzzer(results, "names from damaged files", names)
    dumps = [work / f"{name}.dump" for name in JOURNALED]
    if all(record(dump.stem, dump, CPA_JOURNAL="64K") for dump in dumps):
        journals = [work / "fuzz-journal", "40000" if LONG else "2000", *dumps]
        check_fuzzer(results, "journals", journals)
    else:
        results.skip("journals", "libcpa.so or its programs are not built")


def check_dump(results, name, dump, count, tables=((NAMES, "names"), (QUEUES, "queues"), (MARKS, "marks"))):
    file = results.folder / f"{name}.dump"
    file.write_bytes(dump)
    for arguments in (*FORMS, ("--width", "200")):
        problem = results.problem_of((*arguments, file), statuses=(0,))
        label = " ".join(arguments) or "text"
        results.check([problem] if problem else [], f"{name}: the whole dump as {label}")
    file.unlink()
    dice = random.Random(SEED)
    results.try_variants(truncations(dump, count // 2, dice), f"{name}: cut")
    results.try_variants(header_damage(dump, count, dice), f"{name}: damaged header")
    results.try_variants(body_damage(dump, count, dice), f"{name}: damaged rows")
    for table, what in tables:
        variants = table_damage(dump, table, count // 2, dice)
        if variants:
            results.try_variants(variants, f"{name}: {what}")


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="bad_dumps.", dir=os.environ.get("CPA_TMP")))
    folder = work / "dumps"
    folder.mkdir()
    build(work)
    results = Results(work, folder)
    made = make_dump(work)
    real = record_dump(work, "nested_locks")
    divided = record_dump(work, "callers", CPA_BY="caller:2")
    count = 2000 if LONG else 500

    print(f"# CPA_SEED={SEED}")
    check_files(results, made)
    check_versions(results, made)
    check_newest(results, made)
    check_usage(results)
    check_dump(results, "made", made, count)
    results.try_variants(header_extremes(made), "made: extremes in the header")
    if real:
        check_dump(results, "real", real, count // 4)
    else:
        results.skip("a dump of a real run", "libcpa.so or its program is not built")
    if divided:
        check_dump(results, "divided", divided, count // 4, ((COMPONENTS, "components"), (CONTEXTS, "contexts")))
    else:
        results.skip("functions divided by callers", "libcpa.so or its program is not built")
    check_fuzzers(results, work)
    results.try_variants(noise(count // 5, random.Random(SEED)), "noise behind a good magic")
    if not results.failed:
        shutil.rmtree(work)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
