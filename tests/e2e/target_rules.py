#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/target_rules.py - what libcpa.so must not use: see docs/target-rules.md

Names of the C library that take a lock which the program may hold, or use its memory, or leave
something behind in its threads. Then that what the documentation names as tests exists. Prints TAP
and a summary.
"""

import os
import pathlib
import re
import subprocess
import sys

from results import Results

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
FORBIDDEN = {
    "the loader's lock": {"dlopen", "dlmopen", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo", "dlclose"},
    "the program's memory": {
        *("malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "memalign"),
        *("posix_memalign", "valloc", "strdup", "strndup", "asprintf", "vasprintf", "brk"),
    },
    "keys": {"pthread_key_create", "__pthread_key_create", "pthread_setspecific", "tss_create"},
    "handlers of forks": {"pthread_atfork", "__register_atfork"},
    "locks of the C library": {
        *("pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_once"),
        *("pthread_cond_wait", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "call_once"),
    },
    "stdio": {"fopen", "fclose", "printf", "fprintf", "puts", "fputs", "fwrite", "fflush", "perror"},
}


def undefined(library):
    """The names that @library has from elsewhere, without versions."""
    text = subprocess.check_output(["nm", "-D", "--undefined-only", str(library)], text=True)
    return {line.split()[-1].partition("@")[0] for line in text.splitlines()}


def main():
    results = Results()
    used = undefined(BUILD / "libcpa.so")
    results.check("mmap" in used or "memcpy" in used, "names of the C library are found")
    for what, names in FORBIDDEN.items():
        found = sorted(used & names)
        results.check(not found, f"{what}: libcpa.so uses none {' '.join(found)}".rstrip())
    text = (ROOT / "docs/target-rules.md").read_text()
    for name in sorted(set(re.findall(r"`(tests/[\w/]+\.(?:py|c))`", text))):
        results.check((ROOT / name).exists(), f"{name} is a test")
    for name in sorted(set(re.findall(r"\b(\w+\.c)\b", text)) - {"x.c"}):
        places = ("tests/conformance", "tests/unit", "tests/programs", "preload/*")
        found = [f for f in places if list(ROOT.glob(f"{f}/{name}"))]
        results.check(found, f"{name} is there")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
