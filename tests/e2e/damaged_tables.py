#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/damaged_tables.py - a library whose unwind tables are damaged runs as without cpa

The sections .eh_frame_hdr and .eh_frame of tests/plugins/frames.c are damaged at random; a program
runs each damaged library with and without cpa, with stacks and without. Output and exit status must be
the same. CPA_SEED repeats a run; CPA_LONG=1 tries more. Prints TAP and a summary.
"""

import os
import pathlib
import random
import shlex
import struct
import subprocess
import sys
import tempfile
import time

from profiled import PROGRAMS, ROOT, TIMEOUT_S, clean_environment, profiled_environment, read
from results import Results

LONG = os.environ.get("CPA_LONG", "0") not in ("", "0")
TIMES = 40 if LONG else 1
HZ = "2000"  # each sample reads tables
TABLES = (".eh_frame_hdr", ".eh_frame")
COMPILE = [*shlex.split(os.environ.get("CC", "cc")), "-O2", "-g", "-D_GNU_SOURCE", "-pthread"]


def sections(elf):
    """Offset and size in the file of each section, by name (ELF64, little-endian)."""
    at, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<3H", elf, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", elf, at + i * size) for i in range(count)]
    start = rows[names][4]
    return {elf[start + row[0]:elf.index(0, start + row[0])].decode(): row[4:] for row in rows}


def bytes_at_random(chance, elf, places, count):
    for _ in range(count):
        offset, size = chance.choice(places)
        elf[offset + chance.randrange(size)] = chance.randrange(256)


def few(chance, elf, places):
    bytes_at_random(chance, elf, places, 8)


def many(chance, elf, places):
    bytes_at_random(chance, elf, places, 400)


def search_table(chance, elf, places):
    """What the header says of itself, but for its version and encodings, and entries of its table."""
    offset, size = places[0]
    for _ in range(16):
        at = offset + chance.randrange(4, size - 4)
        struct.pack_into("<I", elf, at, chance.choice((0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                                                       chance.randrange(1 << 32))))


def table_size(chance, elf, places):
    struct.pack_into("<I", elf, places[0][0] + 8, chance.randrange(1 << 20, 1 << 32))


def descriptions(chance, elf, places):
    """Each entry of the search table points to somewhere else."""
    offset, size = places[0]
    for at in range(offset + 12, offset + size - 7, 8):
        struct.pack_into("<i", elf, at + 4, chance.randrange(-1 << 31, 1 << 31))


def records(elf, places):
    """Where each record of .eh_frame begins, and its length."""
    offset, size = places[1]
    at = offset
    while at + 4 <= offset + size:
        length, = struct.unpack_from("<I", elf, at)
        if not length or length > size:
            return
        yield at, length
        at += 4 + length


def lengths(chance, elf, places):
    """The length of each record, one in four."""
    for at, length in list(records(elf, places)):
        if chance.random() < 0.25:
            struct.pack_into("<I", elf, at, chance.choice((0, 1, length + 4, 0xFFFFFFFF, 0xFFFFFFFE,
                                                           chance.randrange(1 << 32))))


def instructions(chance, elf, places):
    """The latter half of each record: programs that compute addresses."""
    for at, length in records(elf, places):
        for k in range(at + 4 + max(20, length // 2), at + 4 + length):
            elf[k] = chance.randrange(256)


def all_of(value):
    def fill(chance, elf, places):
        offset, size = chance.choice(places)
        elf[offset:offset + size] = bytes(value(chance) for _ in range(size))
    return fill


HOW = {
    "some bytes": few,
    "many bytes": many,
    "search table": search_table,
    "size of the search table": table_size,
    "descriptions elsewhere": descriptions,
    "lengths": lengths,
    "instructions": instructions,
    "zeros": all_of(lambda chance: 0),
    "ones": all_of(lambda chance: 255),
    "random": all_of(lambda chance: chance.randrange(256)),
}


def run(library, environment):
    """Exit status and output."""
    done = subprocess.run(
        [PROGRAMS / "frames_host", library], env=environment, capture_output=True, text=True,
        timeout=TIMEOUT_S, check=False,
    )
    return done.returncode, done.stdout, done.stderr


def check_sound(results, library, dump):
    """The test looks at something: stacks pass through all frames of the library."""
    run(library, profiled_environment(dump, CPA_SAMPLE_HZ=HZ))
    names = {c["name"] for c in read(dump)["callers"]["contexts"]}
    dump.unlink()
    known = {"meet", "by_pointer", "aligned", "of_any_size", "recurse", "run"}
    results.check(known <= names, f"a sound library: frames of {sorted(known & names)}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tables.", dir=os.environ.get("CPA_TMP")))
    seed = int(os.environ.get("CPA_SEED", str(time.time_ns() % (1 << 32))), 0)
    print(f"# CPA_SEED={seed:#x}", flush=True)
    sound, library, dump = folder / "sound.so", folder / "frames.so", folder / "dump"
    source = ROOT / "tests/plugins/frames.c"
    subprocess.run([*COMPILE, "-fPIC", "-shared", "-o", sound, source], check=True)
    elf = sound.read_bytes()
    places = [sections(elf)[name] for name in TABLES]
    check_sound(results, sound, dump)
    for number in range(TIMES):
        for name, damage in HOW.items():
            chance, damaged = random.Random(f"{seed} {number} {name}"), bytearray(elf)
            damage(chance, damaged, places)
            library.write_bytes(damaged)
            native = run(library, clean_environment())
            wrong = []
            for stacks in ("0", "1"):
                settings = {"CPA_STACKS": stacks, "CPA_SAMPLE_HZ": HZ}
                found = run(library, profiled_environment(dump, **settings))
                dump.unlink(missing_ok=True)
                if found != native:
                    wrong.append(f"CPA_STACKS={stacks}: {found}, natively {native}")
            results.check(not wrong, f"{name}, {number}: as natively {'; '.join(wrong)}".rstrip())
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
