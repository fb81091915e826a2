#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/call_trees.py - stacks have the callers that the program knows, however it was built

tests/plugins/call_trees.cpp calls a function that waits in each way of WAYS; the first 32 waits of a process
have a stack each, whatever the machine does. Built by gcc and clang, with and without frame pointers, stripped,
and with optimization of the whole program. Prints TAP and a summary.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from profiled import ROOT, profiled_environment, read, run
from results import Results

SOURCE = ROOT / "tests/plugins/call_trees.cpp"
CHAIN = [f"chain_{tens}{ones}" for tens in "abcd" for ones in range(10)]
ANY = "(one function, the last)"
# From the leaf outwards. "...": functions of the C library. Each is called by run(), in a thread of its own.
WAYS = {
    "function pointer": ["pointed_to", "by_pointer", "run"],
    "recursion": ["recurse", "by_recursion", "run"],
    "deep chain": [*CHAIN, "by_chain", "run"],
    "signal handler": ["on_signal", "...", "by_signal", "run"],
    "signal handler on a stack of its own": ["on_own_stack", "...", "by_signal_stack", "run"],
    "destructor while unwinding": ["destroyed", "...", "unwound", "by_unwinding", "run"],
    "catch": ["by_catch", "run"],
    "context of ucontext": ["in_context", ANY],
    "stack switched by hand": ["on_made_stack"],
    "plugin": ["called_back", "in_plugin", "by_plugin", "run"],
}
FRAMES, NONE = "-fno-omit-frame-pointer", "-fomit-frame-pointer"
# Compiler, options, whether it is stripped.
BUILDS = [
    ("g++", (FRAMES,), False),
    ("g++", (NONE,), True),
    ("g++", (NONE, "-flto"), True),
    ("clang++", (FRAMES,), True),
    ("clang++", (NONE,), False),
    ("clang++", (NONE, "-flto", "-fuse-ld=lld"), True),
]


def is_installed(compiler, options):
    return shutil.which(compiler) and ("lld" not in options[-1] or shutil.which("ld.lld"))


def build(folder, compiler, options, stripped):
    """The program, and the library that it loads."""
    command = [compiler, "-O2", "-D_GNU_SOURCE", "-pthread", f"-I{ROOT}", *options, SOURCE]
    program, plugin = folder / "call_trees", folder / "plugin.so"
    run([*command, "-rdynamic", "-o", program])
    run([*command, "-DPLUGIN", "-fPIC", "-shared", "-o", plugin])
    if stripped:
        run(["strip", program, plugin])
    return program, plugin


def chains(report):
    """Names from each leaf outwards, the leaf left out."""
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    for context in contexts.values():
        if context["name"] == "leaf":
            names, at = [], context["caller"]
            while at:
                names.append(contexts[at]["name"])
                at = contexts[at]["caller"]
            yield names


def matches(names, expected):
    """Whether @names begin as @expected."""
    for i, name in enumerate(expected):
        if name == ANY:
            return len(names) == i + 1
        if name == "...":
            after = expected[i + 1]
            return after in names and matches(names[names.index(after):], expected[i + 1:])
        if i >= len(names) or names[i] != name:
            return False
    return True


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="trees.", dir=os.environ.get("CPA_TMP")))
    dump = folder / "dump"
    for compiler, options, stripped in BUILDS:
        label = " ".join([compiler, *options, *["stripped"] * stripped])
        if not is_installed(compiler, options):
            results.skip(label, "it is not installed")
            continue
        command = build(folder, compiler, options, stripped)
        output = run(command, env=profiled_environment(dump))
        results.check(output == "done\n", f"{label}: {output.strip()}")
        found = list(chains(read(dump)))
        dump.unlink()
        for way, expected in WAYS.items():
            mine = [names for names in found if expected[0] in names[:1]]
            good = bool(mine) and all(matches(names, expected) for names in mine)
            results.check(good, f"{label}: {way}: {mine if not good else ' <- '.join(mine[0][-6:])}")
    return results.end(folder)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.SubprocessError) as error:
        print(f"not ok 1 - {error}")
        sys.exit(1)
