#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code that a program makes while it runs has the names of /tmp/perf-PID.map, if that is its own.

Or of a jitdump. The program copies a loop into pages that it maps: two functions on the first page, of
which it calls one, two on the second, of which it calls both, and one on the third, which is called as
CPython 3.12 calls its trampolines.
"""
import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys

from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or pathlib.Path(__file__).parents[2] / "build")
TMP = pathlib.Path(os.environ.get("CPA_TMP") or "/tmp/perf_maps")
SOURCE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
/* dec %rdi; jnz to it; ret */
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
static void call(char *code)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 5;

	while (clock() < end)
		((void (*)(long))code)(100000);
}
int main(void)
{
	char *page = mmap(NULL, 12288, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	static const struct { const char *name; size_t at; } function[] = {
		{ "hot path:1", 0x100 }, { "never_called", 0x800 }, { "left", 0x1040 }, { "right", 0x1840 },
		{ "py::fib:/srv/app/fib.py", 0x2100 },
	};
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	fprintf(map, "no line of a map\n%lx 0 empty\n%lx\nffffffffffffffff 10 far\n", (long)page, (long)page);
	for (int i = 0; i < 5; i++) {
		memcpy(page + function[i].at, loop, sizeof(loop));
		fprintf(map, "%lx 40 %s\n", (long)(page + function[i].at), function[i].name);
	}
	fclose(map);
	for (int i = 0; i < 5; i++)
		if (i != 1)
			call(page + function[i].at);
	printf("%d\n", (int)getpid());
	return 0;
}
"""

results = Results()


def read(dump="dump"):
    done = subprocess.run([BUILD / "cpa-report", "--format", "json", TMP / dump], check=True,
                          env=dict(os.environ, CPA_CACHE="off", HOME=str(TMP / "home")),
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def report():
    """Names of the functions."""
    return {c["name"] for c in read()["components"] if c["kind"] == "function"}


def jitdump(lines, pid):
    """The functions of a map as `perf inject --jit` reads them."""
    dump = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, pid, 0, 0)
    for i, (start, size, name) in enumerate(re.findall(r"^([0-9a-f]+) ([0-9a-f]+) (.+)$", lines, re.M)):
        rest = name.encode() + b"\0" + bytes(6)
        load = struct.pack("<IIQQQQ", pid, pid, int(start, 16), int(start, 16), int(size, 16), i)
        dump += struct.pack("<IIQ", 0, 16 + len(load) + len(rest), 0) + load + rest
    return dump


def check_jitdump(lines, pid, written):
    home = TMP / "home/.debug/jit/java-jit-20260101.abcdef"
    home.mkdir(parents=True, exist_ok=True)
    for path in (TMP / f"jit-{pid}.dump", home / f"jit-{pid}.dump"):
        path.write_bytes(jitdump(lines, pid))
        os.utime(path, (written, written))
        found = report()
        results.check(is_named(found) and {"left, right", "right, left"} & found,
                      f"names of a jitdump in {path.parent.name}")
        whole = path.read_bytes()
        damaged = {"cut": whole[:-1], "another process's": jitdump(lines, pid + 1), "empty": b"\0" * 40,
                   "of a wrong size": whole[:44] + bytes(4) + whole[48:]}
        for what, content in damaged.items():
            path.write_bytes(content)
            os.utime(path, (written, written))
            notes = [n for n in read()["diagnostics"]["notes"] if path.name in n]
            results.check(len(notes) == 1, f"one that is {what} is a line: {notes}")
        path.write_bytes(whole)
        os.utime(path, (written, written + 3600))
        results.check(not is_named(report()), "one written after the run is another program's")
        path.unlink()


def check_stacks():
    """On stacks it has the name as well."""
    done = subprocess.run([BUILD / "cpa", "run", "-q", "-f", "-o", TMP / "stacks", "--", TMP / "made"],
                          check=True, capture_output=True, text=True)
    report = read("stacks")
    names = {c["name"] for c in report["callers"]["contexts"]}
    pathlib.Path(f"/tmp/perf-{int(done.stdout)}.map").unlink()
    results.check("hot path:1" in names and not [n for n in names if "anonymous" in n],
                  f"names on stacks: {sorted(names)}")
    own = [c for c in report["callers"]["contexts"] if c["name"] == "hot path:1"]
    whole = [c for c in report["components"] if c["name"] == "hot path:1"]
    for key, of in (("critical_path_s", "critical_path_s"), ("cpu_s", "total_s")):
        sums = [sum(c[key] for c in own), sum(c[of] for c in whole)]
        results.check(len(whole) == 1 and abs(sums[0] - sums[1]) <= 2e-6 * len(own), f"{key}: contexts have all: {sums}")


def is_named(names):
    return "hot path:1" in names


if platform.machine() != "x86_64":
    results.skip("names of perf maps", "the program is for x86-64")
    sys.exit(results.end())
TMP.mkdir(exist_ok=True)
(TMP / "made.c").write_text(SOURCE, encoding="ascii")
(TMP / "dump").unlink(missing_ok=True)
subprocess.run(["gcc", "-O1", "-o", TMP / "made", TMP / "made.c"], check=True)
done = subprocess.run([BUILD / "cpa", "run", "-q", "-o", TMP / "dump", "--", TMP / "made"],
                      check=True, capture_output=True, text=True)
path = pathlib.Path(f"/tmp/perf-{int(done.stdout)}.map")
try:
    found = report()
    results.check(is_named(found), "a function has its name")
    results.check({"left, right", "right, left"} & found, "two on a page have both")
    results.check("py::fib:/srv/app/fib.py" in found, "a function of Python has its name and file")
    results.check(not [name for name in found if "never" in name or "anonymous" in name],
                  "one that was never called is not named")
    written = path.stat().st_mtime
    for hour, what in ((-3600, "before the run"), (3600, "after it")):
        os.utime(path, (written, written + hour))
        results.check(not is_named(report()), f"a map written {what} is another program's")
    os.utime(path, (written, written))
    results.check(is_named(report()), "the same map with its time counts")
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        results.check(not is_named(report()), "a map of another user does not")
    shutil.copy2(path, TMP / "map")
    path.unlink()
    results.check(not is_named(report()), "nor one that is gone")
    check_jitdump((TMP / "map").read_text(encoding="ascii"), int(done.stdout), written)
    path.symlink_to(TMP.resolve() / "map")
    results.check(not is_named(report()), "nor a link to one")
finally:
    path.unlink(missing_ok=True)
check_stacks()
sys.exit(results.end())
