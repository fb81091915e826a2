#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/by_callers.py - functions that are divided by who called them: cpa run --by caller:N

tests/programs/callers.c knows who calls its functions. Which shares and savings the parts have is looked at by
tests/accuracy/by_callers.py. A sample may be without callers: where another thread takes memory for a stack at that
moment, or a library is unloaded. Prints TAP and a summary.
"""

import csv
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from profiled import BUILD, PROGRAMS, ROUNDING_S, TIMEOUT_S, check_contradictions, clean_environment
from profiled import profiled_environment, read, run, verify
from results import Results

MOST = 16
LOST = "(callers not found)"
# By number of callers: those of common() in tests/programs/callers.c. recurse() calls itself: one caller.
CHAINS = {
    1: [("first",), ("second",)],
    2: [("first", "recurse"), ("second", "compare")],
    3: [("first", "recurse", "one")],
}
WRONG = ("", "caller", "caller:", "caller:0", f"caller:{MOST + 1}", "caller:x", "caller:1x", "caller:-1", "callers:1",
         "caller:99999999999999999999", "1", "Caller:1")


def launch(dump, *options, program=("10",), check=True, **settings):
    command = [BUILD / "cpa", "run", "-q", "-f", "-o", dump, *options, "--", PROGRAMS / "callers", *program]
    return subprocess.run(command, env=clean_environment(**settings), capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=check)


def functions(report):
    return [c for c in report["components"] if c["kind"] == "function"]


def parts(report, name):
    """The parts of function @name, by their callers."""
    return {tuple(c["called_by"]): c for c in functions(report) if c.get("function") == name}


def table(dump, option):
    rows = csv.DictReader(run([BUILD / "cpa-report", "--format", "csv", option, dump]).splitlines())
    return {(row["function"], row["location"], row["callers"]): row for row in rows}


def of_common(rows):
    """Rows of common(), and of what is inlined in it, by common()'s callers."""
    for (name, _, callers), row in rows.items():
        chain = [name, *callers.split(" <- ")]
        if "common" in chain:
            yield tuple(chain[chain.index("common") + 1:]), row


def check_names(results, number, report):
    results.check(report["program"]["by_callers"] == number, f"caller:{number}: JSON says so")
    divided = [c for c in functions(report) if "called_by" in c]
    wrong = [c["name"] for c in divided if c["name"] != " <- ".join([c["function"], *c["called_by"]])
             or len(c["called_by"]) > number or LOST in c["called_by"][:-1]]
    results.check(divided and not wrong, f"caller:{number}: {len(divided)} parts {wrong[:3] or ''}".rstrip())
    found = parts(report, "common")
    missing = [chain for chain in CHAINS[number] if chain not in found]
    results.check(not missing, f"caller:{number}: common is called by {sorted(found)}")
    if number < 3:
        good = set(found) <= {*CHAINS[number], (LOST,)}
        results.check(good, f"caller:{number}: and by nobody else")


def check_sums(results, label, dump, report):
    """The parts of a function add up to what is said of it, and their contexts to them."""
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    found = parts(report, "common").values()
    path_s, own = sum(c["critical_path_s"] for c in found), 0
    for context in contexts.values():
        code = context
        while code.get("inlined"):
            code = contexts[code["caller"]]
        own += context["critical_path_s"] if code["name"] == "common" else 0
    # A part whose stacks were all dropped has no contexts.
    good = own <= path_s + ROUNDING_S * (len(contexts) + 1)
    results.check(good, f"{label}: contexts of common have {own} of {path_s} s")
    text = run([BUILD / "cpa-report", "--callers", "common", dump])
    shown = re.search(r"common has \S+ of the critical path, (\S+ \S+), by", text)
    results.check(shown and text.count("common has") == 1, f"{label}: --callers common: {shown and shown.group()}")
    results.check("would save is not known" in " ".join(text.split()), f"{label}: and what it says of savings")
    rows = [c for c in report["components"] if c["kind"] in ("function", "external")]
    if not any(c["shared"] for c in rows):
        whole_s, sum_s = report["program"]["critical_path_s"], sum(c["critical_path_s"] for c in rows)
        good = abs(whole_s - sum_s) <= ROUNDING_S * (len(rows) + 1)
        results.check(good, f"{label}: components have {sum_s} of {whole_s} s of the path")


def check_same_number(results, number, dump, report):
    """With as many callers as the run had: figures of the components."""
    rows = table(dump, f"--by=caller:{number}")
    wrong = []
    for c in functions(report):
        row = rows.get((c.get("function", c["name"]), c["location"] or "", " <- ".join(c.get("called_by", []))))
        same = row and all(abs(float(row[key]) - c[known]) <= ROUNDING_S for key, known in
                           (("saved_most_s", "saved_s"), ("critical_path_s",) * 2, ("cpu_s", "total_s")))
        wrong += [] if same else [c["name"]]
    results.check(len(rows) == len(functions(report)) and not wrong,
                  f"--by caller:{number}: {len(rows)} exact rows {wrong[:3] or ''}".rstrip())
    text = run([BUILD / "cpa-report", f"--by=caller:{number}", dump])
    results.check("saves <=" not in text and "saves" in text, f"--by caller:{number}: says that they are")


def check_other_numbers(results, dump, report):
    """Of a run by two callers: by one, rows add up; by three, they are within the parts."""
    found = parts(report, "common")
    by_one = list(of_common(table(dump, "--by=caller:1")))
    for name in ("first", "second"):
        known_s = sum(c["critical_path_s"] for chain, c in found.items() if chain[0] == name)
        own = [row for chain, row in by_one if chain == (name,)]
        sum_s = sum(float(row["critical_path_s"]) for row in own)
        # Stacks may have been dropped, not added.
        good = own and sum_s <= known_s + ROUNDING_S * 10
        results.check(good, f"--by caller:1: {name} has {sum_s} of {known_s} s")
        good = all(float(row["saved_most_s"]) <= float(row["critical_path_s"]) + ROUNDING_S for row in own)
        results.check(good, f"--by caller:1: {name} saves no more than that")
    for chain, row in of_common(table(dump, "--by=caller:3")):
        part = found.get(chain[:2])
        if part:
            good = float(row["saved_most_s"]) <= part["saved_s"] + ROUNDING_S
            results.check(good, f"--by caller:3: {chain} saves no more than its part by two")


def check_zero(results, dump, report):
    """All parts together can be zeroed from a journal."""
    shown = {}
    for name in ("common", "common <- first", "common <- second"):
        answer = read(dump, "--zero", f"function:{name}")
        shown[name] = {path["name"]: path["critical_path_s"] for path in answer["paths"]}["without"]
    path_s = report["program"]["critical_path_s"]
    for chain, c in parts(report, "common").items():
        name = " <- ".join(["common", *chain])
        if name in shown:
            good = abs(path_s - shown[name] - c["saved_s"]) <= ROUNDING_S * 2
            results.check(good, f"--zero {name}: {shown[name]} s, saves {c['saved_s']} of {path_s} s")
    good = all(shown["common"] <= each + ROUNDING_S for each in shown.values())
    results.check(good, f"--zero common takes all parts: {shown['common']} s")


def check_run(results, folder, number):
    dump = folder / f"{number}.dump"
    launch(dump, "--by", f"caller:{number}", "--journal")
    report = read(dump)
    check_names(results, number, report)
    check_sums(results, f"caller:{number}", dump, report)
    check_same_number(results, number, dump, report)
    check_contradictions(results, f"caller:{number}", report)
    good, text = verify(dump)
    results.check(good, f"caller:{number}: {'as its journal' if good else text}")
    return dump, report


def check_screen(results, dump):
    text = run([BUILD / "cpa-report", "--width", "200", dump])
    good = re.search(r"function +common <- first ", text) and re.search(r"function +common <- second ", text)
    results.check(good, "the table of components has the parts")
    results.check("f <- g: function f where g called it" in text, "and says what they are")
    annotated = run([BUILD / "cpa-report", "--width", "200", "--annotate", "common", dump])
    results.check("of the critical path" in annotated, "--annotate takes whole functions")


def check_slots(results, folder):
    """Few slots: parts share them, and the figures are those of the journal."""
    dump = folder / "few.dump"
    launch(dump, "--by", "caller:3", "--journal", CPA_COMPONENTS="64")
    good, text = verify(dump)
    results.check(good, f"64 slots: {'as its journal' if good else text}")
    check_contradictions(results, "64 slots", read(dump))


def check_masked(results, folder):
    """Threads that block the signal have samples of a perf event, where the kernel permits one, without stacks."""
    samples = {}
    for label, settings in (("whole", {}), ("divided", {"CPA_BY": "caller:1"})):
        dump = folder / f"masked.{label}.dump"
        subprocess.run([PROGRAMS / "callers", "5"], env=profiled_environment(dump, **settings), timeout=TIMEOUT_S,
                       stdout=subprocess.DEVNULL, check=True,
                       preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()))
        report = read(dump)
        samples[label] = report["diagnostics"]["samples"]
    results.check((samples["divided"] > 0) == (samples["whole"] > 0), f"signals are blocked: {samples} samples")
    found = {tuple(c["called_by"]) for c in functions(report) if "called_by" in c}
    results.check(found <= {(LOST,)}, f"signals are blocked: called by {found}")


def check_joined(results, folder):
    """A program that joins does as the session says, whatever its environment."""
    dump = folder / "joined.dump"
    command = f"CPA_BY=caller:2 CPA_STACKS=0 {PROGRAMS / 'callers'} 5; true"
    run(["sh", "-c", command], env=profiled_environment(dump, CPA_BY="caller:1", CPA_STACKS="0"))
    report = read(dump)
    found = parts(report, "common")
    good = set(CHAINS[1]) <= set(found) <= {*CHAINS[1], (LOST,)}
    results.check(good, f"a program that joins: {sorted(found)}")


def check_compared(results, folder):
    """A run with parts of functions beside one without."""
    plain = folder / "plain.dump"
    run([PROGRAMS / "callers", "2"], env=profiled_environment(plain))
    text = run([BUILD / "cpa-diff", plain, folder / "1.dump"])
    results.check("different --by" in " ".join(text.split()), "cpa diff says that functions are divided differently")
    text = run([BUILD / "cpa-diff", plain, plain])
    results.check("different --by" not in " ".join(text.split()), "and of two that are whole it does not")


def check_wrong(results, folder):
    dump = folder / "wrong.dump"
    for value in WRONG:
        done = launch(dump, f"--by={value}", check=False)
        lines = done.stderr.strip().splitlines()
        good = done.returncode == 2 and len(lines) == 1 and "caller:1" in lines[0] and not done.stdout
        results.check(good and not dump.exists(), f"--by={value}: {done.returncode}, {lines}")
    command = [PROGRAMS / "callers", "1"]
    environment = profiled_environment(dump, CPA_BY="caller:17")
    del environment["CPA_QUIET"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    lines = done.stderr.strip().splitlines()
    good = done.returncode == 0 and done.stdout == "done\n" and len(lines) == 1 and "CPA_BY=caller:17" in lines[0]
    results.check(good, f"CPA_BY=caller:17: {lines}")
    report = read(dump)
    good = "by_callers" not in report["program"] and not any("called_by" in c for c in report["components"])
    results.check(good, "functions are whole")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="by_callers.", dir=os.environ.get("CPA_TMP")))
    dump, report = check_run(results, folder, 1)
    check_screen(results, dump)
    check_zero(results, dump, report)
    dump, report = check_run(results, folder, 2)
    check_other_numbers(results, dump, report)
    check_run(results, folder, 3)
    check_slots(results, folder)
    check_masked(results, folder)
    check_joined(results, folder)
    check_compared(results, folder)
    check_wrong(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
