#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/callers.py - stacks name the functions that called, and add up

tests/programs/callers.c knows who calls its functions. Which share of the path each has is looked at by
tests/accuracy/callers.py. Prints TAP and a summary.
"""

import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from profiled import BUILD, PROGRAMS, ROOT, ROUNDING_S, TIMEOUT_S, check_contradictions, code_of
from profiled import profiled_environment, read, run, verify
from results import Results

INLINED = {"inner (inlined)": {"middle (inlined)"}, "middle (inlined)": {"outer"}, "other (inlined)": {"outer"}}
HOLDERS = ("keep", "keeper"), ("take", "taker")
# Functions of tests/programs/call_lines.c, and the comments at the lines of their calls.
LINES_OF = {"twice": ("first", "second"), "outer": ("middle",), "middle (inlined)": ("inlined",)}
CALLERS = {"common": {"first", "second"}, "first": {"recurse"}, "second": {"compare"}}


def profile(folder, **settings):
    dump = folder / "dump"
    dump.unlink(missing_ok=True)
    subprocess.run(
        [PROGRAMS / "callers", "10"],
        env=profiled_environment(dump, CPA_JOURNAL="64M", **settings),
        stdout=subprocess.DEVNULL,
        timeout=TIMEOUT_S,
        check=True,
    )
    return dump, read(dump)


def check_callers(results, label, report):
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    for context in contexts.values():
        caller = context["caller"]
        good = caller == 0 or (caller in contexts and caller < context["id"])
        if not good:
            results.check(False, f"{label}: context {context['id']} is called by {caller}")
    for name, known in CALLERS.items():
        found = {contexts[c["caller"]]["name"] for c in contexts.values() if c["name"] == name}
        results.check(found == known, f"{label}: {name} is called by {sorted(found)}")
    for component in report["components"]:
        own = [c for c in contexts.values() if code_of(contexts, c)["name"] == component["name"]]
        if component["kind"] != "function" or not sum(c["stacks_on_path"] for c in own):
            continue
        whole_s, sum_s = component["critical_path_s"], sum(c["critical_path_s"] for c in own)
        good = abs(whole_s - sum_s) <= ROUNDING_S * (len(own) + 1)
        results.check(good, f"{label}: {component['name']}: contexts have {sum_s} of {whole_s} s")


def check(results, folder, label, **settings):
    dump, report = profile(folder, **settings)
    callers = report["callers"]
    results.check(callers["stacks"] > 0, f"{label}: {callers['stacks']} stacks")
    good = 0 < callers["stacks_on_path"] <= callers["stacks"]
    results.check(good, f"{label}: {callers['stacks_on_path']} on the path")
    check_callers(results, label, report)
    check_tree(results, label, dump, report)
    check_contradictions(results, label, report)
    good, text = verify(dump)
    results.check(good, f"{label}: {'as its journal' if good else text}")
    return dump


def tree_of(dump):
    """Rows of --tree, in their order: depth, percent of the path, name."""
    text = run([BUILD / "cpa-report", "--tree", "--top", "100000", "--width", "1000", dump])
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.endswith("function, and below it what it called"))
    at = lines[begin].index("function, and")
    rows = []
    for line in lines[begin + 1:]:
        found = re.match(r" *[\d.]+ (?:s|ms|us) +([\d.]+)% ", line)
        if not found:
            break
        name = line[at:].lstrip(" ")
        rows.append(((len(line) - at - len(name)) // 2, float(found[1]), name))
    return rows


def check_tree(results, label, dump, report):
    """No row of --tree has less than what it called, all together have no more than the path, and as JSON has."""
    rows, contexts = tree_of(dump), report["callers"]["contexts"]
    path_s, sums = report["program"]["critical_path_s"], {c["id"]: c["critical_path_s"] for c in contexts}
    for each in reversed(contexts):
        if each["caller"]:
            sums[each["caller"]] += sums[each["id"]]
    tops = sorted((sums[c["id"]] for c in contexts if not c["caller"]), reverse=True)
    called, above = {}, {}
    for i, (depth, share, _) in enumerate(rows):
        above[depth] = i
        called.setdefault(above[depth - 1] if depth else None, []).append(share)
    # Shares are printed with one digit behind the point.
    more = [rows[i][2] if i is not None else "the path" for i, shares in called.items()
            if sum(shares) > (rows[i][1] if i is not None else 100) + 0.05 * (len(shares) + 1) + 1e-6]
    results.check(rows and not more, f"{label}: --tree: {len(rows)} rows; called more than they have: {more}")
    wrong = [(share, top_s) for share, top_s in zip(called.get(None, ()), tops)
             if abs(share - 100 * top_s / path_s) > 0.05 + 1e-6 + 100 * ROUNDING_S / path_s]
    results.check(not wrong, f"{label}: --tree begins with the sums of the contexts {wrong or ''}".rstrip())


def check_folded(results, dump):
    text = run([BUILD / "cpa-report", "--format", "folded", dump])
    lines = [line.rsplit(" ", 1) for line in text.splitlines()]
    good = any(re.search(r";recurse;first;common(;[^;]* \(inlined\))*$", stack) for stack, _ in lines)
    results.check(good, "folded stacks have the callers")
    whole_s, sum_s = read(dump)["program"]["critical_path_s"], sum(int(ns) for _, ns in lines) / 1e9
    good = abs(whole_s - sum_s) <= ROUNDING_S * (len(lines) + 1)
    results.check(good, f"folded stacks have {sum_s} of {whole_s} s")


def check_parts(results, dump):
    """The parts of a function by its callers are its contexts, added up."""
    report = read(dump)
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    functions = {c["name"]: c for c in report["components"] if c["kind"] == "function"}
    saved = {name: c["saved_s"] for name, c in functions.items()}
    divided = {code_of(contexts, c)["name"] for c in contexts.values() if c["critical_path_s"] > 0}
    # What of the path is theirs has no stack, so that their rows have no callers.
    whole = {name for name, c in functions.items() if c["critical_path_s"] > 0 and name not in divided}
    command = [BUILD / "cpa-report", "--format", "csv"]
    for option, number in (("--by=caller:1", 1), ("--by=caller:3", 3), ("--level=context", 1000)):
        expected = {}
        for each in contexts.values():
            at = each
            names, left = [], number
            while at["caller"] and (left or at.get("inlined")):
                left -= not at.get("inlined")
                at = contexts[at["caller"]]
                names.append(at["name"])
            if code_of(contexts, each)["name"] in whole:
                continue
            # A function with stacks and no component is in no row.
            if code_of(contexts, each)["name"] in saved:
                saved[each["name"]] = saved[code_of(contexts, each)["name"]]
            sums = expected.setdefault((each["name"], " <- ".join(names)), [0, 0, 0])
            for i, key in enumerate(("critical_path_s", "cpu_s", "stacks_on_path")):
                sums[i] += each[key]
        rows = {(r["function"], r["callers"]): r
                for r in csv.DictReader(run([*command, option, dump]).splitlines())}
        known = {key: sums for key, sums in expected.items() if key[0] in saved and sums[1] > 0}
        wrong = [key for key, sums in known.items() if key not in rows
                 or abs(float(rows[key]["critical_path_s"]) - sums[0]) > ROUNDING_S * 10
                 or abs(float(rows[key]["cpu_s"]) - sums[1]) > ROUNDING_S * 10
                 or int(rows[key]["stacks_on_path"]) != sums[2]]
        results.check(known and not wrong, f"{option}: {len(known)} parts {wrong[:3] or ''}".rstrip())
        wrong = [name for name in whole if (name, "") not in rows or
                 abs(float(rows[name, ""]["critical_path_s"]) - functions[name]["critical_path_s"]) > ROUNDING_S]
        results.check(not wrong, f"{option}: {len(whole)} functions whole {wrong[:3] or ''}".rstrip())
        good = all(float(r["saved_most_s"]) <= min(saved[r["function"]], float(r["critical_path_s"]))
                   + ROUNDING_S for r in rows.values())
        results.check(good, f"{option}: parts do not save more than the function")
    text = run([BUILD / "cpa-report", "--by", "caller:1", dump])
    results.check(re.search(r"common .*first\n", text) and re.search(r"common .*second\n", text), "as text")


def check_annotate(results, folder):
    """The lines of the function have all of it, and stand beside their text."""
    dump = folder / "lines"
    environment = profiled_environment(dump)
    subprocess.run(
        [PROGRAMS / "lines"], env=environment, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S, check=True
    )
    command = [BUILD / "cpa-report", "--width", "200", "--annotate"]
    text = run([*command, "work", dump], cwd=ROOT)
    rows = re.findall(r"^ *([\d.]+)% +([\d.]+)% {10,}(\d+)  (.*)$", text, re.MULTILINE)
    for i, what in enumerate(("path", "CPU time")):
        total = sum(float(row[i]) for row in rows)
        results.check(rows and abs(total - 100) <= 0.05 * len(rows) + 1e-6, f"lines have {total} % of the {what}")
    source = (ROOT / "tests/programs/lines.c").read_text(encoding="utf-8").splitlines()
    wrong = [row for row in rows if row[3].split() != source[int(row[2]) - 1].split()]
    results.check(rows and not wrong, f"each beside its text {wrong or ''}".rstrip())
    named = {word for row in rows for word in ("k < 3000", "k < 1000") if word in row[3]}
    results.check(len(named) == 2, f"both loops: {sorted(named)}")
    done = subprocess.run([*command, "nobody", dump], capture_output=True, text=True, check=False)
    results.check(done.returncode == 1 and "no function nobody is on a stack" in done.stderr, "no such function")
    text = run([*command, "work", dump], cwd=folder)
    results.check("cannot be read" in text and "k < 3000" not in text, "a file that is not there")


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]


def check_calls(results, dump):
    """The only line of a function that calls has the path of what is called, as printed with three digits."""
    report = read(dump)
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    path_s = {}
    for context in contexts.values():
        for name in set(chain_of(contexts, context["id"])[1:]):
            path_s[name] = path_s.get(name, 0) + context["critical_path_s"]
    for name, text in (("first", "common(ms);"), ("second", "common(ms);"), ("compare", "second(wanted_ms);"),
                       ("recurse", "call_first(ms);")):
        found = run([BUILD / "cpa-report", "--width", "200", "--annotate", name, dump], cwd=ROOT)
        rows = re.findall(rf"^[ \d.%]{{13}} +([\d.]+ m?s) +\d+ +{re.escape(text)}", found, re.MULTILINE)
        expected = path_s.get(name, 0)
        good = len(rows) == 1 and abs(seconds(rows[0]) - expected) <= 0.006 * expected
        results.check(good, f"--annotate {name}: calls at {text!r}: {rows}, {expected:.4f} s")


def check_first_screen(results, folder, dump):
    """It names the callers; without stacks it says how to get them, if they are wanted."""
    text = " ".join(run([BUILD / "cpa-report", "--width", "200", dump]).split())
    results.check("common is called by " in text and "first <- recurse" in text, "first screen")
    work = "import zlib; zlib.compress(bytes(range(251)) * 100000, 9)"
    other = folder / "library"
    for stacks in ("0", "1"):
        subprocess.run(
            ["/usr/bin/python3", "-c", work], env=profiled_environment(other, CPA_STACKS=stacks),
            timeout=TIMEOUT_S, check=True,
        )
        text = " ".join(run([BUILD / "cpa-report", "--width", "200", other]).split())
        other.unlink()
        results.check(("CPA_STACKS=0" in text) == (stacks == "0"), f"hint with CPA_STACKS={stacks}")


def sums_of(report, key):
    """The sum of @key of each stack of functions, without those that are inlined."""
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    sums = {}
    for context in contexts.values():
        stack = tuple(name for name in chain_of(contexts, context["id"]) if not name.endswith(" (inlined)"))
        sums[stack] = sums.get(stack, 0) + context[key]
    return sums


def check_inlined(results, folder):
    """Inlined functions are shown, and no sum is another than without debug information."""
    dump, program = folder / "inlined.dump", folder / "inlined"
    shutil.copy(PROGRAMS / "inlined", program)
    run([program], env=profiled_environment(dump))
    report = read(dump)
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    for name, known in INLINED.items():
        own = [c for c in contexts.values() if c["name"] == name]
        found = {contexts[c["caller"]]["name"] for c in own}
        results.check(found == known, f"{name} is in {sorted(found)}")
        results.check(own and all("inlined.c:" in c["location"] for c in own), f"{name} has its place")
    folded = run([BUILD / "cpa-report", "--format", "folded", dump])
    stack = ";main;outer;middle (inlined);inner (inlined) "
    results.check(stack in folded, "folded stacks have inlined functions")
    results.check("middle (inlined)" in run([BUILD / "cpa-report", "--tree", dump]), "--tree has them")
    parts = run([BUILD / "cpa-report", "--by", "caller:1", "--width", "200", dump])
    good = re.search(r"inner \(inlined\) +middle \(inlined\) <- outer <- main\n", parts)
    results.check(good, "--by caller:1 has them")
    for option, text in (("--callers", "inner (inlined) has "), ("--annotate", "inner, inlined in outer, has ")):
        found = run([BUILD / "cpa-report", option, "inner", dump], cwd=ROOT)
        results.check(text in found, f"{option} of an inlined function")
    results.check("# inner" in found and "# other" not in found, "--annotate has its lines only")
    subprocess.run(["strip", "--strip-debug", program], check=True)
    check_sums(results, report, read(dump))
    for weight in ("path", "cpu", "wall"):
        command = [BUILD / "cpa-report", "--format", "folded", "--weight", weight, dump]
        total = sum(int(line.rsplit(" ", 1)[1]) for line in run(command).splitlines())
        shutil.copy(PROGRAMS / "inlined", program)
        lines = run(command).splitlines()
        subprocess.run(["strip", "--strip-debug", program], check=True)
        results.check(total == sum(int(line.rsplit(" ", 1)[1]) for line in lines), f"{weight}: total as without")


def check_sums(results, report, plain):
    """@plain, without debug information, has no inlined functions of the program and the same sums."""
    names = {c["name"] for c in plain["callers"]["contexts"]}
    results.check(not names & INLINED.keys(), "none without debug information")
    for key in ("critical_path_s", "cpu_s", "stacks_on_path"):
        sums, expected = sums_of(report, key), sums_of(plain, key)
        wrong = [i for i in sums.keys() | expected.keys()
                 if abs(sums.get(i, -1) - expected.get(i, -1)) > ROUNDING_S * 5]
        results.check(not wrong, f"{key}: sums as without {wrong or ''}".rstrip())


def callers_of(report, name):
    """Names of what called @name, one for each context."""
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    return sorted(contexts[c["caller"]]["name"] for c in contexts.values() if c["name"] == name)


def pprof_stacks(folder, dump):
    """Nanoseconds of the path and frames (name, line), the innermost first, of each stack, as pprof reads them."""
    file = folder / "pprof.pb.gz"
    with file.open("wb") as out:
        subprocess.run([BUILD / "cpa-report", "--format", "pprof", dump], stdout=out, check=True)
    text = run(["go", "tool", "pprof", "-raw", "-sample_index=path", file], env=dict(os.environ, HOME=str(folder)))
    samples, locations = text[text.index("Samples:"):].split("Locations", 1)
    places = {number: (name, int(line)) for number, name, line in
              re.findall(r"^ +(\d+): 0x\w+ (?:M=\d+ )?(.+?) \S*?:(\d+)(?::\d+)? s=\d+", locations, re.M)}
    for value, stack in re.findall(r"^ +(\d+)[ \d]*: ([ \d]+)$", samples, re.M):
        yield int(value), [places.get(number, ("", 0)) for number in stack.split()]


def check_pprof_lines(results, folder, dump, report, lines):
    """Each frame has the line of its call, and the times add up."""
    if not shutil.which("go"):
        results.skip("pprof has lines of calls", "go is not installed")
        return
    stacks = [(ns, frames) for ns, frames in pprof_stacks(folder, dump) if ns and frames[0][0] == "work"]
    found = {frame for _, frames in stacks for frame in frames[1:] if frame[0] in LINES_OF}
    expected = {(name, lines[word]) for name, words in LINES_OF.items() for word in words}
    results.check(found == expected, f"pprof: calls at {sorted(found)}")
    callers = {frames[1][0] for _, frames in stacks}
    results.check(callers == {"middle (inlined)", "twice"}, f"pprof: work is called by {sorted(callers)}")
    whole_s = [c["critical_path_s"] for c in report["components"] if c["name"] == "work"][0]
    sum_s = sum(ns for ns, _ in stacks) / 1e9
    results.check(abs(whole_s - sum_s) <= ROUNDING_S, f"pprof: {sum_s} of {whole_s} s")


def check_call_lines(results, folder):
    """Functions that are inlined where a call is, and lines of calls: tests/programs/call_lines.c."""
    dump, program = folder / "call_lines.dump", folder / "call_lines"
    shutil.copy(PROGRAMS / "call_lines", program)
    run([program], env=profiled_environment(dump))
    report = read(dump)
    results.check(callers_of(report, "work") == ["middle (inlined)", "twice"],
                  f"work is called by {callers_of(report, 'work')}")
    results.check(callers_of(report, "middle (inlined)") == ["outer"], "middle is inlined in outer")
    folded = run([BUILD / "cpa-report", "--format", "folded", dump])
    for stack in (";main;outer;middle (inlined);work ", ";main;twice;work "):
        results.check(folded.count(stack) == 1, f"one folded stack {stack.strip()}")
    command = [BUILD / "cpa-report", "--width", "200", "--top", "1000", dump]
    source = (ROOT / "tests/programs/call_lines.c").read_text(encoding="utf-8").splitlines()
    lines = {word: number for number, text in enumerate(source, 1)
             for words in LINES_OF.values() for word in words if f"/* {word} */" in text}
    check_pprof_lines(results, folder, dump, report, lines)
    for option in ("--callers=work", "--tree"):
        text = run([*command, option])
        results.check(len(re.findall(r"\btwice\b", text)) == 1 and "call_lines.c:" not in text, f"{option}: one row for twice")
        text = run([*command, option, "--lines"])
        expected = [f"{name} at call_lines.c:{lines[word]}" for name, words in LINES_OF.items() for word in words]
        wrong = [place for place in expected if len(re.findall(re.escape(place) + r"\b", text)) != 1]
        results.check(not wrong, f"{option} --lines: a row for each call {wrong or ''}".rstrip())
    subprocess.run(["strip", "--strip-debug", program], check=True)
    plain = read(dump)
    results.check(callers_of(plain, "work") == ["outer", "twice"], "without debug information by functions")
    check_sums(results, report, plain)
    text = run([*command, "--callers=work", "--lines"])
    good = len(set(re.findall(r"twice at (0x[0-9a-f]+)", text))) == 2 and "call_lines.c:" not in text
    results.check(good, "without debug information lines are addresses")
    done = subprocess.run([*command, "--lines"], capture_output=True, text=True, check=False)
    results.check(done.returncode == 2 and "--lines" in done.stderr, "--lines alone")


def check_unloading(results, folder):
    """A sample of code that is being unmapped is not looked up."""
    for name, *arguments in (("unloading", "libz.so.1"), ("converting",)):
        done = subprocess.run(
            [PROGRAMS / name, *arguments],
            env=profiled_environment(folder / name, CPA_SAMPLE_HZ="1000"),
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )
        good = done.stdout == "done\n" and not done.returncode
        results.check(good, f"{name}: {done.returncode} {done.stdout.strip()}")


def chain_of(contexts, number):
    """Names of a context and of its callers, from the function outwards."""
    names = []
    while number:
        names.append(contexts[number]["name"])
        number = contexts[number]["caller"]
    return names


def check_locks(results, folder):
    """Who waits for a lock, holds it, and was the first to use it: tests/programs/lock_callers.c."""
    dump = folder / "locks"
    run([PROGRAMS / "lock_callers"], env=profiled_environment(dump))
    report = read(dump)
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    place, lock = next((i, o) for i, o in enumerate(report["objects"]) if o["class"] == "lock")
    found = {"wait": [], "hold": [], "first": []}
    for use in report["callers"]["uses"]:
        if use["object"] == place:
            found[use["use"]].append((chain_of(contexts, use["context"]), use))
    good = bool(found["wait"]) == bool(lock["contended"])
    results.check(good, f"{lock['contended']} waits, {len(found['wait'])} stacks of waits")
    for names, use in found["wait"]:
        results.check(names[:2] == ["take", "taker"], f"{use['stacks']} waits: {names[:3]}")
    waits = sum(use["stacks"] for _, use in found["wait"])
    results.check(waits <= lock["contended"], f"{waits} stacks of {lock['contended']} waits")
    # The taker holds it for some instructions, and a sample may fall into them.
    holders = [[pair for pair in zip(names, names[1:]) if pair in HOLDERS] for names, _ in found["hold"]]
    results.check([HOLDERS[0]] in holders, "there are stacks of the keeper that hold it")
    for pairs, (names, use) in zip(holders, found["hold"]):
        results.check(len(pairs) == 1, f"{use['stacks']} hold: {names[:4]}")
    names = [names[:2] for names, _ in found["first"]]
    results.check(names == [["keep", "keeper"]], f"first use: {names}")
    text = run([BUILD / "cpa-report", "--callers", "lock", dump])
    good = all(word in text for word in ("take", "taker", "keeper", "first use"))
    results.check(good, "--callers lock")
    source = (ROOT / "tests/programs/lock_callers.c").read_text(encoding="utf-8").splitlines()
    text = run([BUILD / "cpa-report", "--width", "200", "--callers", "lock", "--lines", dump])
    first = [int(line) for line in re.findall(r"first use.*\n.* keep at lock_callers\.c:(\d+)", text)]
    good = len(first) == 1 and "pthread_mutex_lock" in source[first[0] - 1]
    results.check(good, f"--callers lock --lines: first used on line {first}")


def check_called_back(results, folder):
    """Of the library's functions below visit() the first screen has those that walk() called."""
    dump = folder / "called_back"
    run([BUILD / "tests/programs/called_back", "10000"], env=profiled_environment(dump))
    text = " ".join(run([BUILD / "cpa-report", "--width", "200", dump]).split())
    found = re.findall(r"visit is called by .{0,80}", text)
    # Not in what part of the samples: some are taken where the stack cannot be read.
    good = re.search(r"visit is called by \.\.\. <- (?!visit)\S+ <- walk( \d+(\.\d)?%)?\.", text)
    results.check(good, f"called back by a library: {found}")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="callers.", dir=os.environ.get("CPA_TMP")))
    dump = check(results, folder, "default")
    text = run([BUILD / "cpa-report", "--callers", "common", dump])
    results.check("called by" in text and "recurse" in text, "--callers")
    text = run([BUILD / "cpa-report", "--tree", "--top", "100", dump])
    results.check(text.find("recurse") < text.find("first") < text.find("common"), "--tree")
    check_folded(results, dump)
    check_parts(results, dump)
    check_calls(results, dump)
    check_first_screen(results, folder, dump)
    check_called_back(results, folder)
    check(results, folder, "250 a second", CPA_SAMPLE_HZ="250")
    check(results, folder, "2000 a second", CPA_SAMPLE_HZ="2000")
    check_annotate(results, folder)
    check_inlined(results, folder)
    check_call_lines(results, folder)
    check_unloading(results, folder)
    check_locks(results, folder)
    dump, report = profile(folder, CPA_STACKS="0")
    results.check("callers" not in report, "no stacks with CPA_STACKS=0")
    command = [BUILD / "cpa-report", "--tree", dump]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    results.check(done.returncode == 1 and "CPA_STACKS=0" in done.stderr, "and --tree says so")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
