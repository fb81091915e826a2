#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cpa diff: verdicts on runs whose figures are known, since they are made up; cpa run --repeat.

What the runs of a real program take depends on what else the machine does. Reports that are written
by hand do not.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from profiled import BUILD, ROOT, run
from results import Results

TMP = pathlib.Path(os.environ.get("CPA_TMP") or tempfile.mkdtemp())
CPA = BUILD / "cpa"
results = Results()
folders = 0

# Five runs that vary by 1 %, and five that vary by 30 %.
STEADY = (0.99, 1.00, 1.01, 0.995, 1.005)
NOISY = (0.7, 1.3, 0.9, 1.1, 1.0)


def report(path_s, components=(), locks=(), queues=(), **program):
    """A report of schema 1, as far as cpa diff reads it. Components: (kind, name, seconds, build)."""
    builds = sorted({c[3] for c in components if len(c) > 3})
    return {
        "schema": 1,
        "cpa_version": "made up",
        "program": {
            "name": "bench", "host": "here", "cores": 2, "sample_hz": 997, "complete": True,
            "session_format": 12, "critical_path_s": path_s, "cpu_s": 2 * path_s,
            "wall_s": 3 * path_s, "observed_path_s": 3 * path_s,
            "observed_segments": {"runqueue_s": 0.0}, **program},
        "modules": [{"path": "/lib/x.so", "build_id": b} for b in builds],
        "components": [
            {"kind": c[0], "name": c[1], "saved_s": c[2], "critical_path_s": c[2],
             **({"module": builds.index(c[3])} if len(c) > 3 else {})} for c in components],
        "objects": [{"kind": "mutex", "class": n, "wait_s": s} for n, s in locks],
        "queues": [{"name": n, "item_wait_s": s} for n, s in queues],
    }


def side(reports):
    """A folder with these reports."""
    global folders  # pylint: disable=global-statement
    folders += 1
    folder = TMP / f"side{folders}"
    folder.mkdir(parents=True)
    for number, each in enumerate(reports, 1):
        (folder / f"{number}.json").write_text(json.dumps(each), encoding="utf-8")
    return folder


def diff(*arguments):
    done = subprocess.run([CPA, "diff", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def rows(*arguments):
    """All rows by measure and name, and the whole."""
    status, out, err = diff("--format", "json", *arguments)
    if status not in (0, 3):
        print("#", status, err)
        return {}, {}
    found = json.loads(out)
    return {(r["measure"], r["name"]): r for r in found["rows"]}, found


def scaled(factors, scale=1.0, **parts):
    return [report(scale * f, **{k: [(*c[:-1], c[-1] * f) if k != "components" else
                                     (*c[:2], c[2] * f, *c[3:]) for c in v]
                                 for k, v in parts.items()}) for f in factors]


def check_verdicts():
    parts = {"components": [("function", "work", 0.5), ("lock", "m", 0.1), ("region", "r", 0.001)],
             "locks": [("m", 0.2)], "queues": [("q", 0.05)]}
    slower = {"components": [("function", "work", 0.8), ("lock", "m", 0.1), ("region", "r", 0.01)],
              "locks": [("m", 0.1)], "queues": [("q", 0.05)]}
    base = side(scaled(STEADY, **parts))
    found, _ = rows(base, side(scaled(STEADY, 1.3, **slower)))
    for key, verdict in ((("total", "critical path"), "slower"), (("total", "CPU"), "slower"),
                         (("saves", "work"), "more"), (("saves", "m"), "same"),
                         (("saves", "r"), "small"), (("path", "work"), "more"),
                         (("wait", "m"), "less"), (("item wait", "q"), "same")):
        results.compare(found[key]["verdict"] == verdict, f"{key}", found[key]["verdict"], verdict)
    row = found["total", "critical path"]
    results.check(abs(row["change"] - 0.3) < 1e-9 and row["base"]["values"] == sorted(
        row["base"]["values"], key=[0.99, 1.0, 1.01, 0.995, 1.005].index), "change and values")
    # Two of 252 ways; three totals.
    results.check(abs(row["p"] - 2 / 252) < 1e-9 and abs(row["p_holm"] - 6 / 252) < 1e-9,
                  f"exact and corrected probability: {row['p']}, {row['p_holm']}")
    faster, _ = rows(side(scaled(STEADY, 1.3)), side(scaled(STEADY)))
    results.check(faster["total", "wall"]["verdict"] == "faster", "the other way round: faster")
    same, _ = rows(base, base)
    results.check({r["verdict"] for r in same.values()} <= {"same", "small"}, "with itself: same")
    noisy, _ = rows(side(scaled(NOISY)), side(scaled(NOISY, 1.1)))
    results.check(noisy["total", "wall"]["verdict"] == "unclear", "10 % in noise of 20 %: unclear")
    least, _ = rows("--least", "40", base, side(scaled(STEADY, 1.3)))
    results.check(least["total", "wall"]["verdict"] == "same", "--least 40: 30 % are none")


def sampled(reports, part):
    """What windows that are @part of the time have of @reports. An item waits as long."""
    for each in reports:
        program = each["program"]
        program.update(sampled=True, run_s=program["wall_s"])
        for at, key in ((program, "critical_path_s"), (program, "cpu_s"), (program, "wall_s"),
                        *((c, k) for c in each["components"] for k in ("saved_s", "critical_path_s")),
                        *((o, "wait_s") for o in each["objects"])):
            at[key] *= part
    return reports


def check_samples():
    """Runs with a budget are compared as whole runs, whatever the share that was profiled."""
    parts = {"components": [("function", "work", 0.5), ("lock", "m", 0.1)],
             "locks": [("m", 0.2)], "queues": [("q", 0.05)]}
    base = side(scaled(STEADY, **parts))
    for shares in ((0.25, 0.5), (1, 0.02)):
        new = side([sampled(scaled([f], **parts), shares[i % 2])[0] for i, f in enumerate(STEADY)])
        found, whole = rows(base, new)
        results.check({r["verdict"] for r in found.values()} == {"same"} and
                      all(abs(r["change"]) < 1e-6 for r in found.values()),
                      f"windows of {shares} of the time: as the whole run, {len(found)} rows")
        results.check(any(f"at least {100 * min(shares):.1f} % of the time" in w for w in whole["warnings"]),
                      "how much was profiled is said")
    meant = sampled(scaled(STEADY, **parts), 0.5)
    for each in meant:
        del each["program"]["sampled"]
    found, _ = rows(base, side(meant))
    results.check(found["total", "wall"]["verdict"] == "faster", "parts that somebody meant are not scaled")
    blank = sampled(scaled([1, 1], **parts), 0)
    found, whole = rows(base, side(blank + sampled(scaled(STEADY, **parts), 0.5)))
    results.check(found["total", "CPU"]["verdict"] == "same" and len(found["total", "CPU"]["new"]["values"]) == 5
                  and any("in 2 more of the runs of the new" in w for w in whole["warnings"]),
                  "runs without a window are left out, and said")
    # A run that was over before its first window does not even say that it has a budget.
    never = sampled(scaled([1], **parts), 0)
    never[0]["program"].pop("sampled")
    for sides in ((base, side(blank)), (side(blank[:1]), base), (side(blank),), (base, side(never))):
        status, _, err = diff(*sides)
        results.check(status == 1 and "nothing of its run" in err and err.count("\n") == 1,
                      f"nothing but these: refused: {err.strip()}")


def check_few_runs():
    one, found = rows(side(scaled([1])), side(scaled([2])))
    results.check(one["total", "wall"]["verdict"] == "unknown" and
                  any("one run" in w for w in found["warnings"]), "one run a side: unknown")
    three, found = rows(side(scaled(STEADY[:3])), side(scaled(STEADY[:3], 2)))
    results.check(three["total", "wall"]["verdict"] == "unclear" and
                  any("too few" in w for w in found["warnings"]), "three: unclear, and why")
    many = {"components": [("function", f"f{i}", 0.1) for i in range(12)]}
    more = {"components": [("function", f"f{i}", 0.2) for i in range(12)]}
    found, whole = rows(side(scaled(STEADY, **many)), side(scaled(STEADY, **more)))
    results.check({found["saves", f"f{i}"]["verdict"] for i in range(12)} == {"unclear"} and
                  any("take 6 runs" in w for w in whole["warnings"]),
                  "12 rows of 5 runs are too many for Holm's correction: 6 runs")
    six = (*STEADY, 1.002)
    found, whole = rows(side(scaled(six, **many)), side(scaled(six, **more)))
    results.check({found["saves", f"f{i}"]["verdict"] for i in range(12)} == {"more"} and
                  not whole["warnings"], "of 6 runs they are judged")


def check_names():
    def build(name, ident):
        return side(scaled(STEADY, components=[("function", name, 0.5, ident)]))

    address = "libz.so.1+0x4970"
    found, _ = rows(build(address, "aa"), build(address, "aa"))
    results.check(found["saves", address]["verdict"] == "same", "an address in one build: matched")
    _, whole = rows(build(address, "aa"), build(address, "bb"))
    verdicts = sorted(r["verdict"] for r in whole["rows"] if r["measure"] == "saves")
    results.check(verdicts == ["only in base", "only in new"] and
                  any("addresses" in w for w in whole["warnings"]), "in two builds: not, and why")
    found, _ = rows(build("inflate", "aa"), build("inflate", "bb"))
    results.check(found["saves", "inflate"]["verdict"] == "same", "a name in two builds: matched")
    some = scaled(STEADY, components=[("lock", "m", 0.5)])
    some[2]["components"] = []
    found, _ = rows(side(some), side(scaled(STEADY, components=[("lock", "m", 0.5)])))
    row = found["saves", "m"]
    results.check(row["base"]["present"] == 4 and row["base"]["values"][2] == 0,
                  "what a run does not have is 0")


def check_limits():
    base = side(scaled(STEADY, components=[("lock", "bank", 0.01)]))
    new = side(scaled(STEADY, 1.3, components=[("lock", "bank", 0.03)]))
    cases = (("critical path > +5%", 3), ("critical path > +40%", 0), ("wall > +29.9%", 0),
             ("CPU > +1.5 s", 0), ("CPU > +500ms", 3), ("critical path > 1.2s", 3),
             ("critical path > 2s", 0), ("critical path < +10%", 0), ("critical path < +50%", 3),
             ("saves lock:ba* > +10ms", 3), ("saves l?ck:bank > +100ms", 0),
             ("path lock:bank > +50%", 3))
    for rule, expected in cases:
        status, out, _ = diff("--fail-if", rule, base, new)
        word = "BROKEN" if expected else "kept" if rule != "wall > +29.9%" else "unclear"
        results.check(status == expected and f"{rule}: {word}" in out,
                      f"--fail-if '{rule}': status {status}")
    results.check(diff("--strict", "--fail-if", "wall > +29.9%", base, new)[0] == 3,
                  "--strict fails what is unclear")
    results.check(diff("--fail-if", "critical path > 1.2s", new)[0] == 3, "one side: a time")
    status, out, _ = diff("--fail-if", "wall > +1%", side(scaled([1])), side(scaled([2])))
    results.check(status == 0 and "unclear" in out, "one run breaks no limit")
    _, whole = rows("--fail-if", "critical path > +5%", base, new)
    rule = whole["rules"][0]
    results.check(rule["ruling"] == "BROKEN" and rule["interval"]["low"] > 0.05,
                  "rulings are in JSON")


def check_doubts():
    base = side(scaled(STEADY))
    cases = (({"cores": 4}, "processors"), ({"host": "there"}, "hosts"),
             ({"complete": False}, "did not finish"),
             ({"observed_segments": {"runqueue_s": 2.0}}, "waited for a processor"))
    for program, words in cases:
        _, whole = rows(base, side([report(f, **program) for f in STEADY]))
        results.check(any(words in w for w in whole["warnings"]), f"warned: {words}")


def check_refusals():
    good = side(scaled(STEADY))
    broken, old = TMP / "broken.json", TMP / "old.json"
    broken.write_text('{"schema": 1,', encoding="utf-8")
    old.write_text('{"schema": 0}', encoding="utf-8")
    for arguments, status, words in (
            ((good, TMP / "nowhere"), 1, "no such file"), ((good, broken), 1, "broken.json"),
            ((good, old), 1, "schema 1"), ((good, __file__), 1, "compare.py"),
            ((), 2, "expected"), ((good, good, good), 2, "--"), ((good, "--"), 2, "before and"),
            (("--fail-if", "critical path", good), 2, "WHAT > AMOUNT"),
            (("--fail-if", "critical path > 5%", good), 2, "amount"),
            (("--fail-if", "cost > +5%", good), 2, "critical path, CPU"),
            (("--fail-if", "critical path > +5%", good), 2, "two sides"),
            (("--fail-if", "saves lock:none > 1s", good), 2, "no run has"),
            (("--least", "x", good), 2, "percentage"), (("--format", "csv", good), 2, "json"),
            (("--nothing",), 2, "not known"), (("--top",), 2, "missing")):
        found, out, err = diff(*arguments)
        results.check(found == status and words in err and err.count("\n") == 1 and not out,
                      f"refused: {' '.join(map(str, arguments))[-60:]} {err if found != status else ''}")


def check_hostile():
    name = "x\x1b[31m\u202e\n'\"<b>"
    folder = side(scaled(STEADY, components=[("lock", name, 0.5)]))
    for arguments in ((folder,), (folder, folder)):
        out = diff(*arguments)[1]
        results.check("<b>" in out and not any(c in out for c in "\x1b\u202e"),
                      "a hostile name does nothing to the terminal")


def check_repeat():
    program, prefix = BUILD / "examples/pipeline", TMP / "run"

    def repeat(*arguments):
        done = subprocess.run([CPA, "run", "--repeat", *map(str, arguments)], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    status, out, _ = repeat(3, "-o", prefix, "--", program)
    dumps = sorted(p.name for p in TMP.glob("run.*.dump"))
    results.check(status == 0 and dumps == [f"run.{i}.dump" for i in (1, 2, 3)] and
                  "3 runs" in out and "encode_frames" in out, "three runs, medians and spread")
    found, _ = rows(prefix)
    values = found["total", "critical path"]["base"]
    results.check(len(values["values"]) == 3 and sorted(values["values"])[1] == values["median"],
                  "the median of three")
    status, _, err = repeat(3, "-o", prefix, program)
    results.check(status == 2 and "exists already" in err, "earlier runs are not mixed in")
    status, out, _ = repeat(2, "-f", "-q", "-o", f"{prefix}.dump", program)
    results.check(status == 0 and not (TMP / "run.3.dump").exists() and
                  (TMP / "run.2.dump").exists() and "runs" not in out,
                  "--force removes all of them; --quiet")
    status, _, err = repeat(3, "-o", TMP / "bad", "sh", "-c", "exit 7")
    results.check(status == 7 and "run 1 of 3" in err and len(list(TMP.glob("bad.*"))) == 1,
                  "a run that fails is the last one")
    for number in (2, 10):
        shutil.copy(TMP / "run.1.dump", TMP / f"order.{number}.dump")
    _, whole = rows(TMP / "order")
    results.check([f.split(".")[-2] for f in whole["base"]["files"]] == ["2", "10"],
                  "run 10 follows run 2")
    for arguments, words in (((3, "--", "true"), "PREFIX"), ((0.5, "--", "true"), "number"),
                             ((3, "-o", TMP / "*", "true"), "PREFIX")):
        status, _, err = repeat(*arguments)
        results.check(status == 2 and words in err, f"refused: {words}")


# In place of cpa: each run is profiled, and then its figures are those that are known of the program.
MADE_UP = """#!{python}
import json, subprocess, sys
sys.path[:0] = ["{here}"]
import compare
done = subprocess.run(["{cpa}", *sys.argv[1:]])
if sys.argv[1] == "run" and done.returncode == 0:
    file, program = sys.argv[sys.argv.index("-o") + 1], sys.argv[sys.argv.index("--") + 1]
    run = json.loads(subprocess.check_output(["{cpa}-report", "--format", "json", file]))
    assert run["program"]["complete"]
    path_s = int(subprocess.check_output([program])) / 1e3 * compare.STEADY[int(file.split(".")[-2]) - 1]
    with open(file, "w", encoding="utf-8") as out:
        json.dump(compare.report(path_s), out)
sys.exit(done.returncode)
"""


def check_gate():
    """The script of docs/ci.md, with figures that do not depend on what else the machine does."""
    folder = TMP / "made up"
    folder.mkdir()
    here = pathlib.Path(__file__).resolve().parent
    (folder / "cpa").write_text(MADE_UP.format(python=sys.executable, here=here, cpa=CPA), encoding="utf-8")
    (folder / "cpa").chmod(0o755)
    check_worked_example(folder)


def check_worked_example(cpa_folder):
    """The script of docs/ci.md, on a program that its change makes twice as long in CPU time."""
    if not shutil.which("git"):
        results.skip("the script of docs/ci.md", "git is not installed")
        return
    repository = TMP / "repository"
    repository.mkdir()
    program = """#include "tests/programs/burn.h"
    #include <stdio.h>
    int main(void) { burn_ms(%d); return puts("%d") < 0; }
    """
    text = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    script = text[text.index("```sh\n") + 6:]
    (repository / "gate.sh").write_text(script[:script.index("```")], encoding="utf-8")
    (repository / "Makefile").write_text(
        f"bench: bench.c\n\tcc -I{ROOT} -O1 -o $@ $<\n", encoding="utf-8")

    def git(*arguments):
        run(["git", "-C", repository, "-c", "user.name=x", "-c", "user.email=x@example.org",
             *arguments])

    (repository / "bench.c").write_text(program % (20, 20), encoding="utf-8")
    git("init", "-q")
    git("add", "bench.c", "Makefile")
    git("commit", "-q", "-m", "base")
    environment = dict(os.environ, PATH=f"{cpa_folder}:{os.environ['PATH']}")
    for milliseconds, expected, verdict in ((40, 3, "slower"), (20, 0, "BROKEN")):
        (repository / "bench.c").write_text(program % (milliseconds, milliseconds), encoding="utf-8")
        done = subprocess.run(["sh", "-c", "rm -f bench; sh gate.sh HEAD"], cwd=repository,
                              env=environment, capture_output=True, text=True, check=False)
        found = verdict in done.stdout
        results.check(done.returncode == expected and found == (expected == 3),
                      f"the script of docs/ci.md, {milliseconds} ms for 20: status "
                      f"{done.returncode} {done.stderr[-300:] if done.returncode != expected else ''}")


def main():
    check_verdicts()
    check_few_runs()
    check_samples()
    check_names()
    check_limits()
    check_doubts()
    check_refusals()
    check_hostile()
    check_repeat()
    check_gate()
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
