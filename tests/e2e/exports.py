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
import shutil
import subprocess
import sys
import tempfile

from profiled import BUILD, PROGRAMS, ROOT, run
from results import Results

TMP = pathlib.Path(os.environ.get("CPA_TMP") or tempfile.mkdtemp())
os.environ.setdefault("CPA_CACHE", str(TMP / "cache"))
results = Results()


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


def main():
    hostile = profile("hostile", PROGRAMS / "hostile_names")
    pipeline = profile("pipeline", BUILD / "examples/pipeline")
    calls = profile("calls", PROGRAMS / "instrumented_calls")
    check_schema([hostile, pipeline, calls])
    check_numbers(pipeline)


main()
sys.exit(results.end())
