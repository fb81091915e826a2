#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every format of the report is read by somebody else's program, which finds the same figures.

The names in hostile_names.c would break a careless writer. A reader that is not installed is a line
that says so.
"""
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from profiled import BUILD, PROGRAMS, ROOT, run
from results import Results

TMP = pathlib.Path(os.environ.get("CPA_TMP") or tempfile.mkdtemp())
os.environ.setdefault("CPA_CACHE", str(TMP / "cache"))
results = Results()
# Of an executable, as far as a file may be called so.
HOSTILE = "a;b <script>'\"),%s"


def profile(name, program, *arguments):
    """A dump with a journal of a run of @program."""
    dump = TMP / f"{name}.dump"
    run([BUILD / "cpa", "run", "-q", "-f", "--journal=16M", "-o", dump, "--", program, *arguments])
    return dump


def export(dump, form, *options):
    done = subprocess.run([BUILD / "cpa-report", "--format", form, *options, dump],
                          capture_output=True, check=False)
    if done.returncode or done.stderr:
        print("#", form, done.returncode, done.stderr.decode(), file=sys.stderr)
    return done.stdout


def installed(program, label):
    if shutil.which(program):
        return True
    results.skip(label, f"{program} is not installed")
    return False


def strict(schema):
    """@schema without leave for keys that it does not name."""
    schema = copy.deepcopy(schema)
    todo = [schema]
    while todo:
        each = todo.pop()
        if "properties" in each:
            each["additionalProperties"] = False
        todo += [*each.get("properties", {}).values(), *([each["items"]] if "items" in each else [])]
    return schema


def check_schema(dumps):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        results.skip("JSON is as docs/schema.json says", "python3-jsonschema is not installed")
        return
    schema = json.loads((ROOT / "docs/schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(strict(schema))
    for dump in dumps:
        for options in ([], ["--metrics", "thread", "--histogram", "T_cpu"]):
            wrong = [f"{list(e.path)}: {e.message[:200]}" for e in
                     checker.iter_errors(json.loads(export(dump, "json", *options)))]
            results.check(not wrong, f"{dump.stem} {' '.join(options)}: JSON is as docs/schema.json "
                          f"says {wrong[:3] or ''}".rstrip())
    report = json.loads(export(dumps[0], "json"))
    report["threads"][0].pop("number")
    results.check(not checker.is_valid(report), "the schema refuses a thread without a number")
    report = json.loads(export(dumps[0], "json"))
    report["components"][0]["saved_s"] = "much"
    results.check(not checker.is_valid(report), "and a saving that is no number")


def check_numbers(dump):
    """What the JSON report refers to is there."""
    report = json.loads(export(dump, "json"))
    functions = [c for c in report["components"] if c["kind"] == "function" and "module" in c]
    results.check(functions and all(report["modules"][c["module"]].get("path") for c in functions),
                  "functions name their modules")
    numbers = [t["number"] for t in report["threads"]]
    results.check(len(set(numbers)) == len(numbers), "numbers of threads are unique")
    results.check({t["number"] for t in report["intervals"]["threads"]} <= set(numbers),
                  "curves are those of threads in the report")


def near(found, expected):
    """Both are sums of figures that were rounded to nanoseconds."""
    return abs(found - expected) <= 1e-6 + 1e-6 * abs(expected)


def pprof_totals(dump):
    """The sum of each sample type in seconds, and names of functions, as pprof reads them."""
    file = TMP / f"{dump.stem}.pb.gz"
    file.write_bytes(export(dump, "pprof"))
    text = run(["go", "tool", "pprof", "-raw", file], env=dict(os.environ, HOME=str(TMP)))
    lines = text.splitlines()
    samples = lines.index("Samples:")
    types = [t.split("/")[0] for t in lines[samples + 1].split()]
    sums = dict.fromkeys(types, 0)
    for line in lines[samples + 2:lines.index("Locations")]:
        values, colon, _ = line.partition(": ")
        if colon and not line.strip().startswith("kind:"):
            for name, value in zip(types, values.split()):
                sums[name] += int(value) / 1e9
    return sums, text


def check_pprof(dump, name):
    label = f"{dump.stem}: pprof reads path, cpu, wall and wait"
    if not installed("go", label):
        return
    report = json.loads(export(dump, "json"))
    program, threads = report["program"], report["threads"]
    sums, text = pprof_totals(dump)
    expected = {"path": program["critical_path_s"],
                "cpu": program["parallelism"] * program["wall_s"],
                "wall": program["observed_path_s"],
                "wait": sum(t["wait_s"] for t in threads)}
    results.check(sums.keys() == expected.keys() and
                  all(near(sums[k], v) for k, v in expected.items()), f"{label} {sums} {expected}")
    results.check(name in text, f"{dump.stem}: pprof has the name {name}")


def check_folded(dump):
    report = json.loads(export(dump, "json"))
    # The expression of flamegraph.pl.
    lines = [re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
             for line in export(dump, "folded").decode().split("\n")[:-1]]
    good = all(m and m[1].count(";") == 1 for m in lines)
    total = sum(int(m[2]) for m in lines if m) / 1e9
    results.check(good and near(total, report["program"]["critical_path_s"]),
                  f"{dump.stem}: folded stacks are the critical path: {total}")


def queries():
    """The examples of the manual page."""
    page = (ROOT / "man/cpa-report.1").read_text(encoding="utf-8")
    page = page[page.index(".SS Queries"):]
    page = page[page.index(".nf") + 4:page.index(".fi")]
    return [q.strip().replace("\\-", "-") + ";" for q in page.split(";") if q.strip()]


def check_sqlite(dump):
    label = f"{dump.stem}: sqlite3 reads the tables"
    if not installed("sqlite3", label):
        return
    file = TMP / f"{dump.stem}.db"
    file.write_bytes(export(dump, "sqlite"))

    def ask(query):
        text = run(["sqlite3", "-json", file, query])
        return json.loads(text) if text.strip() else []

    report = json.loads(export(dump, "json"))
    found = ask("SELECT kind, name, saved_s, critical_path_s, offset FROM components ORDER BY id")
    expected = [{k: c.get(k) for k in ("kind", "name", "saved_s", "critical_path_s", "offset")}
                for c in report["components"]]
    results.check(found == expected, label)
    results.check(ask("PRAGMA integrity_check") == [{"integrity_check": "ok"}], f"{label} whole")
    for table, rows in (("threads", report["threads"]), ("objects", report["objects"]),
                        ("queues", report["queues"]), ("marks", report["marks"]),
                        ("nodes", report["pag"]["nodes"]), ("edges", report["pag"]["edges"]),
                        ("samples", report["intervals"]["samples"]),
                        ("warnings", report["warnings"])):
        count = ask(f"SELECT count(*) AS n FROM {table}")[0]["n"]
        results.check(count == len(rows), f"{dump.stem}: {count} rows of {table}")
    texts = [q["name"] for q in ask("SELECT name FROM queues ORDER BY id")]
    results.check(texts == [q["name"] for q in report["queues"]], f"{dump.stem}: names of queues")
    examples = queries()
    results.check(len(examples) == 5, "the manual page has five queries")
    for query in examples:
        rows = ask(query)
        results.check(rows or dump.stem == "calls",
                      f"{dump.stem}: {len(rows)} rows of {' '.join(query.split())[:60]}")


def check_refusals(dump):
    """Binary formats are nothing for a terminal."""
    if not installed("script", "no binary data on a terminal"):
        return
    for form in ("pprof", "sqlite"):
        command = f"{BUILD}/cpa-report --format {form} {dump}"
        done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        results.check(done.returncode == 2 and b"> FILE" in done.stdout,
                      f"{form} is refused on a terminal")


def main():
    odd = TMP / HOSTILE
    shutil.copy(PROGRAMS / "hostile_names", odd)
    hostile = profile("hostile", odd)
    pipeline = profile("pipeline", BUILD / "examples/pipeline")
    calls = profile("calls", PROGRAMS / "instrumented_calls")
    check_schema([hostile, pipeline, calls])
    check_numbers(pipeline)
    check_pprof(hostile, HOSTILE)
    check_pprof(pipeline, "encode_frames")
    for dump in (hostile, pipeline, calls):
        check_folded(dump)
        check_sqlite(dump)
    check_refusals(pipeline)


main()
sys.exit(results.end())
