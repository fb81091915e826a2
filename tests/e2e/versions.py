#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/versions.py - libcpa.so has each version of a function that the C library has

A wrapper without a version stands for any. So where the C library keeps an older version that is
another function, ours must have both, and by default what the C library has by default. Prints TAP.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

from results import Results

LIBRARY = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve() / "libcpa.so"


def functions(library):
    """By name: the versions that @library defines, "" for none, with the address of each."""
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", str(library)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = collections.defaultdict(dict)
    for address, kind, symbol in (line.split() for line in lines if len(line.split()) == 3):
        name, version = re.fullmatch(r"([^@]+)(@.*)?", symbol).groups()
        if kind in "TtWwi":
            found[name][version or ""] = address
    return found


def main():
    results = Results()
    done = subprocess.run(["ldd", str(LIBRARY)], check=True, capture_output=True, text=True)
    ours, theirs = functions(LIBRARY), functions(re.search(r"\S*/libc\.so\.\S*", done.stdout)[0])
    several = [name for name in ours if len(set(theirs.get(name, {}).values())) > 1]
    for name in sorted(several):
        text = f"{name}: {sorted(theirs[name])}, ours {sorted(ours[name])}"
        results.check(set(ours[name]) == set(theirs[name]), text)
    results.check("pthread_cond_wait" in several, f"{len(ours)} functions, {len(several)} of several versions")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
