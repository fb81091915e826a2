#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/real/llvm_openmp.py - the tests of LLVM's OpenMP runtime, natively and under cpa

    tests/real/llvm_openmp.py --suite LLVM/openmp/runtime/test [--rounds N] [NAME...]

LLVM is a checkout of the sources of LLVM; its code is no part of cpa. The RUN lines in the head of each
test say how it is built and run. It is built by clang with libomp and by gcc with libgomp; what one of them
cannot build, as functions of libomp are missing in libgomp, is counted and left out. Each run is made
natively and with cpa in turns, with 2, 4 and 8 threads that sleep or spin. Exit status and output with
cpa must be among those of the native runs; lines in any order, addresses left out, and of an output that
varies natively, numbers too. Of runs that fail, which may be cut off, only the status. The report and its check against the journal must end with 0. Ends with 1
if something differs that KNOWN does not name. FileCheck (package llvm) checks outputs if it is installed.
"""

import argparse
import collections
import glob
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or pathlib.Path(__file__).resolve().parents[2] / "build")
TIMEOUT_S = 240  # not a limit on speed: what takes this long hangs
MORE = 20  # native runs at most, before something counts as a difference
SETTINGS = [(2, "passive"), (4, "active"), (8, "passive"), (2, "active"), (4, "passive"), (8, "active")]
COMPILERS = {"clang": ("clang", "clang++"), "gcc": ("gcc", "g++")}
# What differs, and should: docs/openmp.md.
KNOWN = {"ompt/loadtool/tool_not_available": "libomp tells by OMP_TOOL_VERBOSE_INIT that it found a tool"}
FILE_CHECK = shutil.which("FileCheck") or next(iter(sorted(glob.glob("/usr/bin/FileCheck-*"))), None)
RUNNER = "CPA_TEST_RUNNER"  # in the environment of a command: what stands before the program


class Built:
    """A test as one compiler builds it: its commands, each with the program that it runs."""

    def __init__(self, options, test, compiler, folder):
        self.options, self.test, self.compiler, self.folder = options, test, compiler, folder
        self.program, self.programs, self.commands, self.fails_natively = None, {}, [], False
        for line in run_lines(test):
            for part in line.split("&&"):
                self._part(part.strip())

    def _part(self, part):
        driver = COMPILERS[self.compiler]["cxx" in part or self.test.suffix == ".cpp"]
        flags = "-fopenmp" + (f" -I{shlex.quote(str(self.options.suite))}")
        flags += f" -I{shlex.quote(str(self.options.suite / 'ompt'))} -w -fno-omit-frame-pointer"
        compiled = re.match(r"%libomp(?:-cxx)?-compile(-and-run)?\b(.*)", part)
        if compiled:
            rest, piped = (compiled[2], "") if not compiled[1] else ("", compiled[2])
            command = f"{driver} {flags} {self._names(rest)} {shlex.quote(str(self.test))}"
            self._build(f"{command} -o %t", f"{command}")
            if compiled[1]:
                self.commands.append(f"${RUNNER} {self.program}{self._names(piped)}")
        elif re.match(r"%clang", part):
            part = re.sub(r"%clang(XX)?\b", driver, part).replace("%openmp_flags", flags)
            part = self._names(part.replace("%flags", flags.replace("-fopenmp", "")))
            output = re.search(r"-o (\S+)", part)[1]
            self._build(part if output == "%t" else part.replace("-o " + output, "-o %t"), part, output)
        elif "%libomp-run" in part and self.program:
            part = part.replace("%libomp-run", f"${RUNNER} {self.program}")
            self.commands.append(self._names(part))
        elif part.startswith("mkdir"):
            subprocess.run(["bash", "-c", self._names(part)], check=True)

    def _names(self, text):
        """@text with what a command may name."""
        tool = self.folder / "tool"
        text = text.replace("%preload-tool", f"env LD_PRELOAD={tool}.tool_dir/tool.so")
        text = text.replace("%no-as-needed-flag", "-Wl,--no-as-needed").replace("%sort-threads", "sort -n")
        text = text.replace("%S", str(self.test.parent)).replace("%s", str(self.test))
        text = re.sub(r"%t(?=\.)", str(tool), text)
        if FILE_CHECK:
            return re.sub(r"\bFileCheck\b", FILE_CHECK, text)
        return re.sub(r"\|[^|]*\bFileCheck\b[^|]*", "", text)

    def _build(self, command, key, library=None):
        if library and library != "%t":
            command = command.replace("-o %t", "-o " + library)
        elif key not in self.programs:
            self.programs[key] = self.program = self.folder / f"program{len(self.programs)}"
        else:
            self.program = self.programs[key]
            return
        command = command.replace("-o %t", f"-o {self.program}") + " -lm"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1:])


def run_lines(test):
    """The commands of the lines RUN of @test, those continued put together."""
    text = test.read_text(errors="replace")
    lines = re.findall(r"^\s*(?://|!)\s*RUN:\s*(.*?)\s*$", text, re.MULTILINE)
    return re.sub(r"\s*\\\n\s*", " ", "\n".join(lines)).splitlines()


def wanted(test, compiler):
    """Whether LLVM's own marks let @compiler build @test."""
    marks = " ".join(re.findall(r"(?:REQUIRES|UNSUPPORTED):(.*)", test.read_text(errors="replace")))
    return compiler != "gcc" or not re.search(r"\bgcc\b(?!-)|\bompt\b|\bclang\b(?!-)", marks)


def normal(text, numbers):
    """The lines of @text in order, without addresses, and without numbers unless @numbers."""
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    if not numbers:
        text = re.sub(r"-?\d+", "N", text)
    return tuple(sorted(text.splitlines() if numbers else set(text.splitlines())))


def once(command, setting, dump=None):
    """Status and output of one run. With @dump under cpa."""
    runner = "" if not dump else f"{BUILD}/cpa run -q --force --journal=64M -o {dump} --"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_", "OMP_", "KMP_"))}
    environment |= {RUNNER: runner, "OMP_NUM_THREADS": str(setting[0]), "OMP_WAIT_POLICY": setting[1]}
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "hangs", ""
    return process.returncode, output.decode(errors="replace")


def looks_alike(found, native):
    """Whether the run @found is as one of @native."""
    alike = [each for each in native if each[0] == found[0]]
    if alike and found[0]:
        return True
    if any(normal(each[1], True) == normal(found[1], True) for each in alike):
        return True
    varies = len({normal(each[1], True) for each in alike}) > 1
    seen = {line for each in alike for line in normal(each[1], False)}
    return varies and set(normal(found[1], False)) <= seen


def report_fails(dump):
    """What is wrong with the report of @dump, or None."""
    for option in ([], ["--verify"], ["--format", "json"]):
        done = subprocess.run(
            [BUILD / "cpa-report", *option, dump], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        if done.returncode:
            return f"cpa-report {' '.join(option)}: {done.returncode}: {(done.stderr or done.stdout)[-400:]}"
    return None


def compare(built, rounds, counts):
    """Run each command of @built natively and under cpa. Yield what differs."""
    for number, command in enumerate(built.commands):
        for setting in SETTINGS * rounds:
            dump = built.folder / f"{number}.{setting[0]}.{setting[1]}.dump"
            native = [once(command, setting)]
            if native[0][0] == "hangs":
                built.fails_natively = True
                return
            found = once(command, setting, dump)
            while not looks_alike(found, native) and len(native) < MORE:
                native.append(once(command, setting))
            counts["runs"] += 1
            built.fails_natively |= native[-1][0] != 0
            if not looks_alike(found, native):
                statuses = dict(collections.Counter(each[0] for each in native))
                yield f"{setting}: natively {statuses}, with cpa {found[0]}: {command}\n{found[1][-600:]}"
                break
            failure = report_fails(dump) if dump.exists() else "there is no profile"
            if failure:
                yield f"{setting}: {failure}: {command}"
                break
            dump.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=pathlib.Path, required=True, help="openmp/runtime/test of LLVM's sources")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each command with each setting")
    parser.add_argument("names", nargs="*", help="parts of the paths of tests; default: all")
    options = parser.parse_args()
    options.suite = options.suite.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="llvm-openmp."))
    tests = sorted(each for each in options.suite.rglob("*") if each.suffix in (".c", ".cpp") and run_lines(each))
    tests = [each for each in tests if not options.names or any(name in str(each) for name in options.names)]
    counts, failed = collections.Counter(), 0
    for test in tests:
        name = test.relative_to(options.suite)
        for compiler in COMPILERS:
            room = folder / f"{compiler}-{'-'.join(name.parts)}"
            room.mkdir()
            try:
                if not wanted(test, compiler):
                    raise RuntimeError("LLVM marks it so")
                built = Built(options, test, compiler, room)
                if not built.commands:
                    raise RuntimeError("no command of it is known")
            except RuntimeError as error:
                counts[f"not built by {compiler}"] += 1
                print(f"skip {compiler} {name}: {error}", flush=True)
                continue
            counts[f"built by {compiler}"] += 1
            different = list(compare(built, options.rounds, counts))
            known = next((why for which, why in KNOWN.items() if which in str(name)), None) if different else None
            counts["known to differ"] += bool(known)
            counts["failing or hanging natively, too"] += built.fails_natively
            failed += bool(different) and not known
            remark = f" # known: {known}" if known else " # fails natively, too" if built.fails_natively else ""
            print(f"{'not ok' if different else 'ok'} {compiler} {name}{remark}", flush=True)
            print(*different, sep="\n", end="\n" if different else "")
            if not different:
                shutil.rmtree(room)
    print(f"{len(tests)} tests: " + ", ".join(f"{value} {key}" for key, value in counts.items()) + f", {failed} differ")
    if not failed:
        shutil.rmtree(folder)
    else:
        print(f"what is needed to look into it is in {folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
