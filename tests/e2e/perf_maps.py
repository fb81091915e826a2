#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code that a program makes while it runs has the names of /tmp/perf-PID.map, if that is its own.

The program copies a loop into pages that it maps: two functions on the first page, of which it calls
one, and two on the second, of which it calls both.
"""
import json
import os
import pathlib
import platform
import shutil
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
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	static const struct { const char *name; size_t at; } function[] = {
		{ "hot path:1", 0x100 }, { "never_called", 0x800 }, { "left", 0x1040 }, { "right", 0x1840 },
	};
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	fprintf(map, "no line of a map\n%lx 0 empty\n%lx\nffffffffffffffff 10 far\n", (long)page, (long)page);
	for (int i = 0; i < 4; i++) {
		memcpy(page + function[i].at, loop, sizeof(loop));
		fprintf(map, "%lx 40 %s\n", (long)(page + function[i].at), function[i].name);
	}
	fclose(map);
	for (int i = 0; i < 4; i++)
		if (i != 1)
			call(page + function[i].at);
	printf("%d\n", (int)getpid());
	return 0;
}
"""

results = Results()


def report():
    """Names of the functions."""
    done = subprocess.run([BUILD / "cpa-report", "--format", "json", TMP / "dump"], check=True,
                          env=dict(os.environ, CPA_CACHE="off"), capture_output=True, text=True)
    return {c["name"] for c in json.loads(done.stdout)["components"] if c["kind"] == "function"}


def is_named(names):
    return "hot path:1" in names


if platform.machine() != "x86_64":
    results.skip("names of perf maps", "the program is for x86-64")
    sys.exit(results.end())
TMP.mkdir(exist_ok=True)
(TMP / "made.c").write_text(SOURCE, encoding="ascii")
subprocess.run(["gcc", "-O1", "-o", TMP / "made", TMP / "made.c"], check=True)
done = subprocess.run([BUILD / "cpa", "run", "-q", "-o", TMP / "dump", "--", TMP / "made"],
                      check=True, capture_output=True, text=True)
path = pathlib.Path(f"/tmp/perf-{int(done.stdout)}.map")
try:
    found = report()
    results.check(is_named(found), "a function has its name")
    results.check({"left, right", "right, left"} & found, "two on a page have both")
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
    path.symlink_to(TMP.resolve() / "map")
    results.check(not is_named(report()), "nor a link to one")
finally:
    path.unlink(missing_ok=True)
sys.exit(results.end())
