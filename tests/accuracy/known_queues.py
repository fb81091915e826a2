#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/known_queues.py - queues of GLib, libuv and APR, as Debian builds them

Programs that nobody annotated and that know their own path (tests/programs/known_items.h) run
natively and profiled: the same output, and a report that says what they say. Then plugins that
bring such a library with them (tests/known): the same output, with the library in no scope but
theirs, with copies of it, and loaded again. Prints TAP and a summary.
"""

import argparse
import functools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import looks
from conformance import check_program, clean_environment
from known_paths import COMPONENT, PATH, TRIES, Look, run
from machine import hold_perf_event
from results import Results

SOURCES = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("known_glib", "known_uv", "known_apr")
PLUGINS = {"glib_plugin": "glib-2.0", "uv_plugin": "libuv", "apr_plugin": "apr-util-1 apr-1"}
# Time between what the program stamps and what we stamp, of an item; a thread may be preempted.
ITEM_WAIT_S = 0.0005


def check_queue(look, name, expected, report):
    """One queue of the report, and the component that is the processing of its items."""
    label = f"{name}: %s of queue {expected['name']}"
    path_s = report["program"]["critical_path_s"]
    found = [q for q in report["queues"] if expected["name"] in q["name"]]
    if not look.check(len(found) == 1, label % "one row"):
        return
    queue = found[0]
    for key in ("enqueued", "dequeued"):
        look.check(queue[key] == expected[key], label % key, f"{queue[key]}, not {expected[key]}")
    depth = queue["max_depth"]
    look.check(0 < depth <= expected["enqueued"], label % "max_depth", depth)
    # Of the report: means. Stop items are items.
    for key, more_s in (("item_wait_s", ITEM_WAIT_S), ("service_s", 0)):
        mean_s = expected[key] / expected["dequeued"]
        look.close(label % key, queue[key], mean_s, COMPONENT * mean_s + more_s)
    found = [
        c for c in report["components"] if c["kind"] == "queue" and c["name"] == queue["name"]
    ]
    if look.check(len(found) == 1, label % "one component"):
        text = label % "saved_s"
        look.close(text, found[0]["saved_s"], expected["saved_s"], COMPONENT * path_s)


def run_undisturbed(command, dump, figures, environment):
    """
    Run a program until its own clocks say that the machine let it. Nothing of cpa's is looked at.
    Return its output and figures, and whether it was let.
    """
    for _ in range(TRIES):
        dump.unlink(missing_ok=True)
        said = run(command, env=environment)
        expected = json.loads(figures.read_text(encoding="utf-8"))
        if expected["stolen_s"] < PATH / 4 * expected["critical_path_s"]:
            return said, expected, True
        print(f"# {command[0]}: {expected['stolen_s']} s were stolen from it: once more")
    return said, expected, False


def look_at(name, build, folder):
    """Run a program that knows its path, natively and profiled. Return what that showed."""
    look = Look()
    program = str(build / "tests/programs" / name)
    dump = folder / f"{name}.dump"
    figures = folder / f"{name}.json"
    environment = clean_environment()
    native = run([program, str(folder / "native.json")], env=environment)
    environment.update(LD_PRELOAD=str(build / "libcpa.so"), CPA_OUTPUT=str(dump), CPA_QUIET="1")
    command = [program, str(figures)]
    profiled, expected, undisturbed = run_undisturbed(command, dump, figures, environment)
    look.check(native == profiled, f"{name}: the same output", repr(profiled))
    if not undisturbed:
        stolen = f"the machine took {expected['stolen_s']} s from the last of {TRIES} runs, too"
        look.skip(f"{name}: its figures", stolen)
        return look

    report = json.loads(run([str(build / "cpa-report"), "--format", "json", str(dump)]))
    path_s = expected["critical_path_s"]
    got_s = report["program"]["critical_path_s"]
    look.close(f"{name}: critical_path_s", got_s, path_s, PATH * path_s)
    for queue in expected["queues"]:
        check_queue(look, name, queue, report)
    return look


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
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    arguments.build = arguments.build.resolve()
    results = Results()
    hold_perf_event()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="known_queues."))
    for name in PROGRAMS:
        try:
            looks.check(results, functools.partial(look_at, name, arguments.build, folder))
        except (RuntimeError, ValueError, KeyError) as error:
            results.check(False, f"{name}: {error!r}")
    try:
        check_plugins(results, arguments, folder)
        check_copies(results, arguments, folder)
    except RuntimeError as error:
        results.check(False, f"plugins: {error}")
    if results.failed:
        print(f"# kept: {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
