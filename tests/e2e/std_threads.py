#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads of C++ are named after what they run, not after the routine of libstdc++ that starts them."""
import json
import os
import pathlib
import subprocess
import tempfile

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or pathlib.Path(__file__).parents[2] / "build")
EXPECTED = {
    "main",
    "by_function",
    "by_function_with_argument",
    "object::by_member",
    "void (*)(void (*)(unsigned long), unsigned long)",
    "after_another(unsigned long)::{lambda()#1}",
    "main::{lambda()#1}",
    "main::{lambda()#2}",
    "main::{lambda()#3}",
}


def thread_names():
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "threads.dump"
        environment = dict(os.environ, LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump))
        subprocess.run([BUILD / "tests/programs/std_threads"], env=environment, check=True)
        report = [BUILD / "cpa-report", "--format", "json", dump]
        text = subprocess.run(report, check=True, capture_output=True).stdout
    threads = [c for c in json.loads(text)["components"] if c["kind"] == "thread"]
    return {c["name"].removesuffix("()") for c in threads}


found = thread_names()
for number, name in enumerate(sorted(EXPECTED), 1):
    print("ok" if name in found else "not ok", number, "-", name)
print("ok" if found == EXPECTED else "not ok", len(EXPECTED) + 1, "- and nothing else", found - EXPECTED)
print(f"1..{len(EXPECTED) + 1}")
