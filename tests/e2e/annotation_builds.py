#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/annotation_builds.py - preload/cpa.h in every kind of program

A program and a library, annotated, are built by each compiler and linker there is, in each way
that changes how a symbol is found, with all warnings as errors. Each runs alone, and under
libcpa.so, whose report must then know the queues of both. Prints TAP.
"""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or ROOT / "build").resolve()
SOURCES = ROOT / "tests/e2e"
# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 240
WARNINGS = (
    "-Werror -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion -Wcast-qual"
    " -Wnull-dereference -Wdouble-promotion -Wmissing-declarations"
).split()
C_ONLY = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wbad-function-cast"]
CXX_ONLY = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]
LINKERS = ("bfd", "gold", "lld")
PIE = ["-fPIE"], ["-pie"]
NO_PIE = ["-fno-pie", "-fno-pic"], ["-no-pie"]
STATIC = ["-fno-pie", "-fno-pic"], ["-static"]
STATIC_PIE = ["-fPIE"], ["-static-pie"]


class Impossible(Exception):
    """This machine cannot build that, annotated or not."""


def run(command, environment=None):
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.returncode}: {done.stderr}")
    return done.stdout


def language(compiler, standard):
    if "++" in compiler:
        return [compiler, "-x", "c++", f"-std={standard}", *WARNINGS, *CXX_ONLY]
    return [compiler, f"-std={standard}", *WARNINGS, *C_ONLY]


def check_possible(folder, compiler, flags):
    """Raise Impossible if an empty program cannot be linked so."""
    empty = folder / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    try:
        run([compiler, "-x", "c", empty, "-x", "none", *flags, "-o", folder / "empty"])
    except RuntimeError as error:
        raise Impossible("not possible here") from error


def build(folder, compiler, standard, kind, linker, more=(), opened=False):
    """Return the path of the program, which finds its library."""
    compile_flags, link_flags = kind
    command = [*language(compiler, standard), f"-I{ROOT}", *more]
    static = kind in (STATIC, STATIC_PIE)
    library_flags = compile_flags if static else ["-fPIC", "-fvisibility=hidden"]
    use = [f"-fuse-ld={linker}", *more]
    program, library = folder / "program", folder / "library.so"

    def compiled(name, *flags):
        result = folder / f"{name}.o"
        run([*command, *flags, "-c", "-o", result, SOURCES / f"{name}.c"])
        return result

    check_possible(folder, compiler, [*compile_flags, *link_flags, *use])
    parts = [compiled("annotated_library", *library_flags)]
    if not static:
        run([compiler, "-shared", *use, "-Wl,-z,defs", "-o", library, *parts])
        parts = ["-ldl"] if opened else [library]
    opens = ["-DOPEN_LIBRARY"] if opened else []
    main = compiled("annotated", *compile_flags, *opens)
    run([compiler, *link_flags, *use, "-o", program, main, *parts])
    return program


def check(folder, program, static, disabled):
    """Raise an error that says what is wrong."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
    dump = folder / "dump"
    run([program, folder / "library.so"], environment)
    if static:
        return
    environment.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), CPA_QUIET="1")
    run([program, folder / "library.so"], environment)
    report = json.loads(run([BUILD / "cpa-report", "--format", "json", dump]))
    got = {q["name"]: (q["enqueued"], q["dequeued"]) for q in report.get("queues", [])}
    want = {} if disabled else {"program": (5, 3), "library": (4, 2)}
    if got != want:
        raise RuntimeError(f"queues {got}, expected {want}")


def check_installed(folder):
    """A program finds the installed header by pkg-config; nothing is left after uninstalling."""
    environment = dict(os.environ)
    make = ["make", "-s", "-C", ROOT, f"O={BUILD}", f"PREFIX={folder}/usr"]
    source = folder / "program.c"
    source.write_text('#include <cpa.h>\nint main(void) { CPA_MARK("here"); return 0; }\n')

    run([*make, "install"], environment)
    environment["PKG_CONFIG_PATH"] = str(folder / "usr/share/pkgconfig")
    flags = run(["pkg-config", "--cflags", "--libs", "cpa"], environment).split()
    run(["gcc", "-std=c99", source, *flags, "-o", folder / "program"])
    run([folder / "program"])
    run([*make, "uninstall"], environment)
    left = [str(path) for path in (folder / "usr").rglob("*") if not path.is_dir()]
    if left or not flags:
        raise RuntimeError(f"flags {flags}, left after uninstalling: {left}")


def cases():
    """(compiler, standard, (compile flags, link flags), linker, more flags, library opened)"""
    kinds = (PIE, NO_PIE, STATIC, STATIC_PIE)
    for compiler, kind, linker in itertools.product(("gcc", "clang"), kinds, LINKERS):
        yield compiler, "c99", kind, linker, ("-O2",), False
    for compiler, kind in itertools.product(("gcc", "clang"), (PIE, NO_PIE)):
        yield compiler, "c99", kind, "bfd", ("-O0",), True
        yield compiler, "c11", kind, "lld", ("-O2",), True
        yield compiler, "c99", kind, "bfd", ("-O0", "-DCPA_DISABLE"), False
        yield compiler, "c99", kind, "lld", ("-O2", "-fvisibility=hidden", "-fno-plt"), False
    for compiler, standard, kind in itertools.product(
        ("g++", "clang++"), ("c++11", "c++20"), (PIE, NO_PIE)
    ):
        yield compiler, standard, kind, "bfd", ("-O2", "-fvisibility=hidden"), False
    yield "g++", "c++11", NO_PIE, "lld", ("-O0",), False
    yield "g++", "c++11", NO_PIE, "bfd", ("-O2", "-DCPA_DISABLE"), False
    yield "gcc", "c99", PIE, "bfd", ("-O2", "-flto"), False
    yield "gcc", "c99", NO_PIE, "bfd", ("-O2", "-flto"), False
    yield "clang", "c99", NO_PIE, "lld", ("-O2", "-flto"), False
    yield "gcc", "c99", NO_PIE, "bfd", ("-O2", "-masm=intel"), False


def attempt(number, name, tools, action):
    """Print a TAP line; return what the test came to."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annotation_builds."))
    missing = [tool for tool in tools if not shutil.which(tool)]
    try:
        if missing:
            raise Impossible(f"no {missing[0]}")
        action(folder)
    except Impossible as error:
        print(f"ok {number} - {name} # SKIP {error}", flush=True)
        return "skipped"
    except RuntimeError as error:
        print(f"not ok {number} - {name}\n# " + str(error).replace("\n", "\n# "), flush=True)
        return "failed"
    finally:
        shutil.rmtree(folder)
    print(f"ok {number} - {name}", flush=True)
    return "passed"


def attempt_build(number, case):
    compiler, standard, kind, linker, more, opened = case
    name = " ".join((compiler, standard, *kind[0], *kind[1], f"-fuse-ld={linker}", *more))

    def action(folder):
        program = build(folder, compiler, standard, kind, linker, more, opened)
        check(folder, program, kind in (STATIC, STATIC_PIE), "-DCPA_DISABLE" in more)

    name += ", dlopen" if opened else ""
    return attempt(number, name, (compiler, f"ld.{linker}"), action)


def main():
    ends = [attempt_build(number, case) for number, case in enumerate(cases(), 1)]

    tools = ("make", "gcc", "pkg-config")
    ends.append(attempt(len(ends) + 1, "installed, found by pkg-config", tools, check_installed))
    count = {end: ends.count(end) for end in ("passed", "failed", "skipped")}
    print(", ".join(f"{n} {end}" for end, n in count.items()))
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
