#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program without symbols: the report says which of its files lack them, and the package that has them.
And code without unwind tables, of which only the page is known, has no function's name.

dpkg-query is a script of the test's own, which owns the one file.
"""
import json
import os
import pathlib
import subprocess
import sys

from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or pathlib.Path(__file__).parents[2] / "build")
TMP = pathlib.Path(os.environ.get("CPA_TMP") or "/tmp/missing_symbols")
SOURCE = """
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void work(void)
{
	while (clock() < CLOCKS_PER_SEC * 3 / 10)
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
}
int main(void)
{
	work();
	return 0;
}
"""
# Two functions on one page without unwind tables. The second one computes, until a sample must have found it.
WITHOUT_TABLES = """
#include <time.h>
void computes(long rounds);
__asm__(".text\\n.p2align 12\\nother:\\n\\tret\\n.p2align 6\\n.globl computes\\ncomputes:\\n\\t"
	"dec %rdi\\n\\tjnz computes\\n\\tret\\n.p2align 12\\n");
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		computes(10000000);
	return 0;
}
"""

results = Results()


def run(command, **variables):
    done = subprocess.run(command, env=dict(os.environ, CPA_CACHE="off", **variables),
                          capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        print("#", command, done.returncode, done.stderr, file=sys.stderr)
    return " ".join(done.stdout.split())


def make(name, *flags, source=SOURCE):
    """A profile of the program, built with @flags."""
    (TMP / "work.c").write_text(source, encoding="ascii")
    subprocess.run(["gcc", "-O1", *flags, "-o", TMP / name, TMP / "work.c"], check=True)
    subprocess.run([BUILD / "cpa", "run", "-q", "-o", TMP / f"{name}.dump", "--", TMP / name],
                   check=True, capture_output=True)
    return TMP / f"{name}.dump"


def packages(answer):
    """A folder with a dpkg-query that prints the shell's @answer."""
    folder = TMP / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "dpkg-query").write_text(f"#!/bin/sh\n{answer}\n", encoding="ascii")
    (folder / "dpkg-query").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


TMP.mkdir(exist_ok=True)
stripped, whole = make("stripped", "-s"), make("whole")
path = TMP.resolve() / "stripped"
report = [BUILD / "cpa-report", "--level", "component"]

owned = packages(f'for i; do [ "$i" != "{path}" ] || echo "tools:amd64: $i"; done')
text = run([*report, stripped], **owned)
results.check("of the path, in stripped (package tools-dbgsym)." in text,
              "the line has the file and its package")
results.check("No symbols" not in run([*report, whole], **owned), "with symbols there is no line")
data = json.loads(run([*report, "--format", "json", stripped], **owned))
missing = {module["path"]: module for module in data["diagnostics"]["missing_symbols"]}
results.check(missing[str(path)]["package"] == "tools-dbgsym", "so does JSON")
functions = [c for c in data["components"] if c["kind"] == "function" and "stripped+0x" in c["name"]]
results.check(abs(missing[str(path)]["critical_path_s"] -
                  sum(c["critical_path_s"] for c in functions)) < 1e-6,
              "its path is the sum over its functions")

pages = make("pages", source=WITHOUT_TABLES)
data = json.loads(run([*report, "--format", "json", pages], **owned))
names = [c["name"] for c in data["components"] if c["kind"] == "function" and "pages" in (c["location"] or "")]
results.check(any(name.startswith("pages+0x") and name.endswith(" (page)") for name in names),
              f"code without unwind tables has its page: {names}")
results.check(not {"other", "computes"} & set(names), "and not the name of the first function on it")

core = packages('echo "diversion by dash from: /bin/sh"; echo "libc6:amd64: /lib/libc.so.6"')
results.check("(package libc6-dbg)" in run([*report, stripped], **core),
              "libc6 has a package of its own kind")
nothing = packages("exit 1")
results.check("in stripped (package not known)" in run([*report, stripped], **nothing),
              "a file that is nobody's")
results.check("in stripped (package not known)" in run([*report, stripped], PATH=str(TMP)),
              "the same without dpkg-query")
slow = packages("exec sleep 1000")
results.check("in stripped (package not known)" in run([*report, stripped], **slow),
              "the same where it does not answer")
sys.exit(results.end())
