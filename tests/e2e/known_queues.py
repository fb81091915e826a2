#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/known_queues.py - queues of GLib, libuv and APR, as Debian builds them

Programs that nobody annotated and that count their own items (tests/programs/known_items.h) run
natively and profiled: the same output, a report that counts as they do, and a journal that says the
same to the tick. Then plugins that bring such a library with them (tests/known): the same output,
with the library in no scope but theirs, with copies of it, and loaded again. How long items wait and
take is looked at by tests/accuracy/known_queues.py. Prints TAP and a summary.
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import profiled
from conformance import check_program
from profiled import PROGRAMS, ROOT, run
from results import Results

SOURCES = ROOT / "tests"
KNOWN = ("known_glib", "known_uv", "known_apr")
PLUGINS = {"glib_plugin": "glib-2.0", "uv_plugin": "libuv", "apr_plugin": "apr-util-1 apr-1"}


def check_queue(results, name, expected, report):
    """One queue of the report, and the component that is the processing of its items."""
    label = f"{name}: queue {expected['name']}"
    found = [q for q in report["queues"] if expected["name"] in q["name"]]
    if not results.check(len(found) == 1, f"{label}: one row"):
        return
    queue = found[0]
    for key in ("enqueued", "dequeued"):
        results.check(queue[key] == expected[key], f"{label}: {queue[key]} {key} of {expected[key]}")
    depth = queue["max_depth"]
    results.check(0 < depth <= expected["enqueued"], f"{label}: depth {depth}")
    found = [
        c for c in report["components"] if c["kind"] == "queue" and c["name"] == queue["name"]
    ]
    results.check(len(found) == 1, f"{label}: one component")


def check_known(results, name, folder):
    dump, figures = folder / f"{name}.dump", folder / f"{name}.json"
    native = run([PROGRAMS / name, folder / "native.json"], env=profiled.clean_environment())
    environment = profiled.profiled_environment(dump, CPA_JOURNAL="64M")
    said = run([PROGRAMS / name, figures], env=environment)
    results.check(native == said, f"{name}: the same output {said!r}")
    report = profiled.read(dump)
    profiled.check_contradictions(results, name, report)
    good, text = profiled.verify(dump)
    results.check(good, f"{name}: {'as its journal' if good else text}")
    for queue in json.loads(figures.read_text(encoding="utf-8"))["queues"]:
        check_queue(results, name, queue, report)


def compile_shared(output, source, *options):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = str(SOURCES.parent)
    command = [*compiler, "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-pthread", "-fPIC", "-shared"]
    run([*command, "-I", include, "-o", str(output), str(source), *map(str, options)])


def check_plugins(results, arguments, folder):
    """The real libraries, brought by plugins of a program that has none of them."""
    host = folder / "host"
    run(["cc", "-O2", "-o", str(host), str(SOURCES / "known/host.c")])
    for name, package in PLUGINS.items():
        flags = run(["pkg-config", "--cflags", "--libs", *package.split()]).split()
        plugin = folder / f"{name}.so"
        compile_shared(plugin, SOURCES / "known" / f"{name}.c", *flags)
        check_program(results, arguments, folder, name, [str(host), str(plugin)])


def check_copies(results, arguments, folder):
    """Two copies of a library, each in the scope of one plugin; which of them is called?"""
    host = folder / "host"
    plugins = []
    for copy in (7, 11):
        library = folder / f"libcopy{copy}.so"
        plugin = folder / f"copy{copy}.so"
        soname = f"-Wl,-soname,{library.name}"
        compile_shared(library, SOURCES / "known/fake_glib.c", f"-DCOPY={copy}", soname)
        needs = (library, f"-Wl,-rpath,{folder}")
        compile_shared(plugin, SOURCES / "known/fake_plugin.c", *needs)
        plugins.append(str(plugin))
    check_program(results, arguments, folder, "copies", [str(host), *plugins])
    # The second may be loaded where the first was.
    script = f"{host} {plugins[0]} && {host} {plugins[1]} {plugins[0]}"
    said = subprocess.check_output(["sh", "-c", script], text=True)
    results.check("plugin 0: 7\n" in said and "plugin 1: 7\n" in said, "copies: test themselves")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    build = os.environ.get("CPA_BUILD", "build")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(build))
    parser.set_defaults(flip=False)  # for check_program()
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    arguments.build = arguments.build.resolve()
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="known_queues.", dir=os.environ.get("CPA_TMP")))
    for name in KNOWN:
        try:
            check_known(results, name, folder)
        except (RuntimeError, ValueError, KeyError) as error:
            results.check(False, f"{name}: {error!r}")
    try:
        check_plugins(results, arguments, folder)
        check_copies(results, arguments, folder)
    except RuntimeError as error:
        results.check(False, f"plugins: {error}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
