#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every format of the report is read by somebody else's program, which finds the same figures.

The names in hostile_names.c would break a careless writer. A reader that is not installed is a line
that says so.
"""
import calendar
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import prometheus
from profiled import BUILD, PROGRAMS, ROOT, code_of, run
from results import Results

TMP = pathlib.Path(os.environ.get("CPA_TMP") or tempfile.mkdtemp())
os.environ.setdefault("CPA_CACHE", str(TMP / "cache"))
results = Results()
INLINED = " (inlined)"
# Of an executable, as far as a file may be called so.
HOSTILE = "a;b <script>'\"),%s"


def profile(name, *program, journal=True, stacks=False):
    """A dump of a run of @program."""
    dump = TMP / f"{name}.dump"
    run([BUILD / "cpa", "run", "-q", "-f", *(["--journal=16M"] if journal else []), "-o", dump, "--",
         *program], env=dict(os.environ, CPA_STACKS="1" if stacks else "0"))
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


def weights(report):
    """All of each time that formats of stacks divide."""
    program, threads = report["program"], report["threads"]
    return {"path": program["critical_path_s"],
            "cpu": program["parallelism"] * program["wall_s"],
            "wall": program["observed_path_s"],
            "wait": sum(t["wait_s"] for t in threads)}


def check_pprof(dump, name):
    label = f"{dump.stem}: pprof reads path, cpu, wall and wait"
    if not installed("go", label):
        return
    sums, text = pprof_totals(dump)
    expected = weights(json.loads(export(dump, "json")))
    results.check(sums.keys() == expected.keys() and
                  all(near(sums[k], v) for k, v in expected.items()), f"{label} {sums} {expected}")
    results.check(name in text, f"{dump.stem}: pprof has the name {name}")


def check_folded(dump):
    report = json.loads(export(dump, "json"))
    for weight, expected in weights(report).items():
        # The expression of flamegraph.pl.
        lines = [re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line) for line in
                 export(dump, "folded", "--weight", weight).decode().split("\n")[:-1]]
        good = all(m and (m[1].count(";") == 1 or "callers" in report) for m in lines)
        total = sum(int(m[2]) for m in lines if m) / 1e9
        results.check(good and near(total, expected),
                      f"{dump.stem}: folded stacks are all of {weight}: {total}")
    results.check(export(dump, "folded") == export(dump, "folded", "--weight", "path"),
                  f"{dump.stem}: that of the path is the default")


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
        # A short run may end before its first interval.
        unsampled = "FROM samples" in query and not report["intervals"]["samples"]
        results.check(rows or unsampled or dump.stem == "calls",
                      f"{dump.stem}: {len(rows)} rows of {' '.join(query.split())[:60]}")


def known_callers(dump):
    """Path and CPU time of common() as called by first() and second(), of tests/programs/callers.c."""
    report = json.loads(export(dump, "json"))
    contexts = {c["id"]: c for c in report["callers"]["contexts"]}
    sums = {}
    for context in contexts.values():
        code = code_of(contexts, context)
        if code["name"] == "common":
            caller = contexts[code["caller"]]["name"]
            for key in ("critical_path_s", "cpu_s"):
                sums[caller, key] = sums.get((caller, key), 0) + context[key]
    return sums


def pprof_leaf(dump, name):
    """The path of the samples in @name itself, with what is inlined, by its caller, as pprof reads them."""
    file = TMP / f"{dump.stem}.pb.gz"
    file.write_bytes(export(dump, "pprof"))
    text = run(["go", "tool", "pprof", "-raw", "-sample_index=path", file],
               env=dict(os.environ, HOME=str(TMP)))
    samples, locations = text[text.index("Samples:"):].split("Locations", 1)
    names = dict(re.findall(r"^\s+(\d+): 0x\w+ (?:M=\d+ )?(\S+(?: \(inlined\))?)", locations, re.M))
    sums = {}
    for value, stack in re.findall(r"^ +(\d+)[ \d]*: ([ \d]+)$", samples, re.M):
        frames = [names.get(number, "") for number in stack.split()]
        while frames and frames[0].endswith(INLINED):
            frames.pop(0)
        if frames[:1] == [name] and len(frames) > 1:
            sums[frames[1]] = sums.get(frames[1], 0) + int(value) / 1e9
    return sums


def is_in_common(stack, caller):
    """Whether @stack, outermost first, ends in common() as called by @caller."""
    while stack[-1].endswith(INLINED):
        stack = stack[:-1]
    return stack[-2:] == [caller, "common"]


def check_stacks(dump):
    """Each format has the callers, with the times that JSON has."""
    known = known_callers(dump)
    results.check({caller for caller, _ in known} == {"first", "second"},
                  f"{dump.stem}: common is called by two")
    for weight, key in (("path", "critical_path_s"), ("cpu", "cpu_s")):
        lines = [line.rsplit(" ", 1) for line in
                 export(dump, "folded", "--weight", weight).decode().splitlines()]
        for caller in ("first", "second"):
            total = sum(int(ns) for stack, ns in lines if is_in_common(stack.split(";"), caller)) / 1e9
            results.check(near(total, known[caller, key]),
                          f"{dump.stem}: folded {weight} of {caller}: {total}")
    if installed("go", f"{dump.stem}: pprof has callers"):
        sums = pprof_leaf(dump, "common")
        for caller in ("first", "second"):
            results.check(near(sums.get(caller, 0), known[caller, "critical_path_s"]),
                          f"{dump.stem}: pprof's path of {caller}: {sums}")
    found = json.loads(export(dump, "speedscope"))
    names = [frame["name"] for frame in found["shared"]["frames"]]
    for label, key in (("path", "critical_path_s"), ("cpu", "cpu_s")):
        sums = [p for p in found["profiles"] if p["type"] == "sampled" and p["name"] == label][0]
        for caller in ("first", "second"):
            total = sum(weight for stack, weight in zip(sums["samples"], sums["weights"])
                        if is_in_common([names[i] for i in stack], caller)) / 1e9
            results.check(near(total, known[caller, key]),
                          f"{dump.stem}: speedscope's {label} of {caller}: {total}")
    done = subprocess.run([BUILD / "cpa-report", "--format", "csv", "--weight", "cpu", dump],
                          capture_output=True, check=False)
    results.check(done.returncode == 2 and not done.stdout, "--weight is for folded stacks")


def speedscope_schema():
    """That of the npm package, if it is installed; else the part of it that cpa uses."""
    for folder in (ROOT / "node_modules", pathlib.Path("/usr/local/lib/node_modules"),
                   pathlib.Path("/usr/lib/node_modules")):
        file = folder / "speedscope/dist/release/file-format-schema.json"
        if file.exists():
            return json.loads(file.read_text(encoding="utf-8"))
    return {
        "type": "object", "required": ["$schema", "profiles", "shared"],
        "properties": {
            "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
            "exporter": {"type": "string"}, "name": {"type": "string"},
            "activeProfileIndex": {"type": "number"},
            "shared": {
                "type": "object", "required": ["frames"],
                "properties": {"frames": {"type": "array", "items": {
                    "type": "object", "required": ["name"],
                    "properties": {"name": {"type": "string"}},
                }}},
            },
            "profiles": {"type": "array", "items": {"anyOf": [
                {"type": "object",
                 "required": ["type", "name", "unit", "startValue", "endValue", "events"],
                 "properties": {
                     "type": {"const": "evented"}, "unit": {"const": "nanoseconds"},
                     "events": {"type": "array", "items": {
                         "type": "object", "required": ["type", "at", "frame"],
                         "properties": {"type": {"enum": ["O", "C"]}, "at": {"type": "number"},
                                        "frame": {"type": "integer"}},
                     }},
                 }},
                {"type": "object",
                 "required": ["type", "name", "unit", "startValue", "endValue", "samples",
                              "weights"],
                 "properties": {
                     "type": {"const": "sampled"}, "unit": {"const": "nanoseconds"},
                     "samples": {"type": "array", "items": {
                         "type": "array", "items": {"type": "integer"}}},
                     "weights": {"type": "array", "items": {"type": "number"}},
                 }},
            ]}},
        },
    }


def check_speedscope_schema(dumps):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        results.skip("speedscope's schema", "python3-jsonschema is not installed")
        return
    schema = speedscope_schema()
    checker = jsonschema.validators.validator_for(schema)(schema)
    for dump in dumps:
        found = json.loads(export(dump, "speedscope"))
        wrong = [e.message[:200] for e in checker.iter_errors(found)]
        frames = len(found["shared"]["frames"])
        for each in found["profiles"]:
            if each["type"] == "sampled":
                good = (len(each["samples"]) == len(each["weights"]) and
                        sum(each["weights"]) == each["endValue"] and
                        all(0 <= i < frames for stack in each["samples"] for i in stack))
                wrong += [] if good else [each["name"]]
        results.check(not wrong, f"{dump.stem}: speedscope's schema {wrong[:3] or ''}".rstrip())
    found["profiles"][0]["unit"] = 1
    results.check(not checker.is_valid(found), "which refuses a number as unit")


def tiles(stretches, length):
    """Whether stretches follow each other without a gap, from 0 to @length."""
    ends = [0] + [end for _, end in stretches]
    return all(begin == end for (begin, _), end in zip(stretches, ends)) and ends[-1] == length


def check_speedscope(dump, bare):
    """Rules of speedscope's schema and importer: frames exist, stretches open, close and nest."""
    found = json.loads(export(dump, "speedscope"))
    profiles = {p["name"]: p for p in found["profiles"]}
    report = json.loads(export(dump, "json"))
    frames, good = len(found["shared"]["frames"]), True
    for profile in profiles.values():
        at, open_frames = profile["startValue"], []
        for event in profile["events"]:
            good &= at <= event["at"] <= profile["endValue"] and event["frame"] < frames
            at = event["at"]
            if event["type"] == "O":
                open_frames.append(event["frame"])
            else:
                good &= bool(open_frames) and open_frames.pop() == event["frame"]
        good &= not open_frames and profile["type"] == "evented"
    results.check(good and len(profiles) == len(report["threads"]) + 2,
                  f"{dump.stem}: speedscope has both paths and all threads")
    events = profiles["observed path"]["events"]
    stretches = [(a["at"], b["at"]) for a, b in zip(events[::2], events[1::2])]
    results.check(tiles([s for s in stretches if s[0] < s[1]], profiles["observed path"]["endValue"]),
                  f"{dump.stem}: the observed path tiles the run")
    found = json.loads(export(bare, "speedscope"))
    report = json.loads(export(bare, "json"))
    path = [p for p in found["profiles"] if p["name"] == "path"][0]
    results.check(path["type"] == "sampled" and len(path["samples"]) == len(path["weights"]) and
                  near(sum(path["weights"]) / 1e9, report["program"]["critical_path_s"]),
                  f"{bare.stem}: without a journal it has sums")


# The fields that cpa writes, from Perfetto's protos.
TRACE_PROTO = """
syntax = "proto2";
message Name { optional uint64 iid = 1; optional string name = 2; }
message Interned { repeated Name event_names = 2; }
message Process { optional int32 pid = 1; optional string process_name = 6; }
message Thread { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
message Counter { }
message Track { optional uint64 uuid = 1; optional string name = 2; optional Process process = 3;
  optional Thread thread = 4; optional Counter counter = 8; }
message Event { optional uint64 type = 9; optional uint64 name_iid = 10;
  optional uint64 track_uuid = 11; optional string name = 23; optional int64 counter_value = 30;
  repeated fixed64 flow_ids = 47; repeated fixed64 terminating_flow_ids = 48; }
message Packet { optional uint64 timestamp = 8; optional uint32 sequence_id = 10;
  optional Event event = 11; optional Interned interned = 12; optional uint32 flags = 13;
  optional Track track = 60; }
message Trace { repeated Packet packet = 1; }
"""


def packets(dump):
    """The packets as protoc decodes them: a dict of lists of values, by path of names."""
    (TMP / "trace.proto").write_text(TRACE_PROTO, encoding="utf-8")
    done = subprocess.run(["protoc", f"-I{TMP}", "--decode=Trace", "trace.proto"],
                          input=export(dump, "perfetto"), capture_output=True, check=True)
    where, packet = [], {}
    for line in done.stdout.decode().splitlines():
        line = line.strip()
        if line.endswith("{"):
            where.append(line[:-2])
            if where == ["packet"]:
                packet = {}
        elif line == "}":
            if where == ["packet"]:
                yield packet
            where.pop()
        else:
            key, value = line.split(": ", 1)
            packet.setdefault(".".join([*where[1:], key]), []).append(
                value.strip('"') if value[0] == '"' else int(value))


def check_perfetto(dump, bare):
    label = f"{dump.stem}: protoc reads Perfetto's packets"
    if not installed("protoc", label):
        return
    report = json.loads(export(dump, "json"))
    all_packets = list(packets(dump))
    unknown = [k for p in all_packets for k in p if k.rsplit(".", 1)[-1].isdigit()]
    results.check(all_packets and not unknown, f"{label} {unknown[:3] or ''}".rstrip())
    tracks = {p["track.uuid"][0]: p for p in all_packets if "track.uuid" in p}
    names = {i: n for p in all_packets if "interned.event_names.iid" in p
             for i, n in zip(p["interned.event_names.iid"], p["interned.event_names.name"])}
    events = [p for p in all_packets if "event.type" in p]
    results.check(all(p["event.track_uuid"][0] in tracks and
                      p.get("event.name_iid", [1])[0] in names for p in events),
                  f"{dump.stem}: events have tracks and names")
    threads = [t for t in tracks.values() if "track.thread.tid" in t]
    results.check({t["track.thread.tid"][0] for t in threads} >=
                  {t["id"] for t in report["threads"]}, f"{dump.stem}: a track for each thread")
    slices, begun = {}, {}
    for packet in events:
        track, at = packet["event.track_uuid"][0], packet["timestamp"][0]
        if packet["event.type"] == [1]:
            begun.setdefault(track, []).append(at)
        elif packet["event.type"] == [2]:
            slices.setdefault(track, []).append((begun[track].pop(), at))
    results.check(not any(begun.values()) and all(
        a <= b and (i == 0 or a >= s[i - 1][1]) for s in slices.values()
        for i, (a, b) in enumerate(s)), f"{dump.stem}: slices end, and do not overlap")
    by_name = {t["track.name"][0]: u for u, t in tracks.items() if "track.name" in t}
    observed = slices[by_name["observed path"]]
    start = observed[0][0]
    results.check(tiles([(a - start, b - start) for a, b in observed], observed[-1][1] - start) and
                  abs((observed[-1][1] - start) / 1e9 - report["program"]["wall_s"]) < 1e-5,
                  f"{dump.stem}: the observed path tiles the run")
    critical = sum(b - a for a, b in slices[by_name["critical path"]]) / 1e9
    # Its activities as long as they took; the path weighs what they worked and were blocked.
    results.check(critical >= report["program"]["critical_path_s"] * 0.999,
                  f"{dump.stem}: the critical path has its length: {critical}")
    begins = [i for p in events for i in p.get("event.flow_ids", [])]
    ends = [i for p in events for i in p.get("event.terminating_flow_ids", [])]
    results.check(ends and set(ends) <= set(begins) and len(begins) == len(set(begins)),
                  f"{dump.stem}: {len(ends)} arrows begin and end")
    for name, uuid in by_name.items():
        values = [p["event.counter_value"][0] for p in events
                  if p["event.track_uuid"] == [uuid] and p["event.type"] == [4]]
        if "track.counter.x" not in tracks[uuid] and not name.startswith(("items", "threads")):
            continue
        results.check(values and min(values) >= 0 and values[-1] == 0,
                      f"{dump.stem}: {name}: {len(values)} values, none below 0")
    marks = sum(p["event.track_uuid"] == [by_name["marks"]] for p in events)
    results.check(marks == len(report["marks"]), f"{dump.stem}: {marks} marks")
    done = subprocess.run([BUILD / "cpa-report", "--format", "perfetto", bare],
                          capture_output=True, check=False)
    results.check(done.returncode == 1 and b"no journal" in done.stderr and not done.stdout,
                  "without a journal there is nothing for Perfetto")


def check_questions(dump):
    """Answers from the journal as JSON: they are those of the report."""
    report = json.loads(export(dump, "json"))
    wanted = max((c for c in report["components"] if c["kind"] == "thread"),
                 key=lambda c: c["saved_s"])
    answer = json.loads(export(dump, "json", "--zero", f"thread:{wanted['name']}"))
    paths = {p["name"]: p["critical_path_s"] for p in answer["paths"]}
    results.check(near(paths["run"] - paths["without"], wanted["saved_s"]) and answer["whole_run"],
                  f"{dump.stem}: --zero as JSON saves what the report says: {paths}")
    answer = json.loads(export(dump, "json", "--paths"))
    lengths = [p["critical_path_s"] for p in answer["paths"]]
    results.check(near(lengths[0], report["program"]["critical_path_s"]) and len(lengths) == 3 and
                  lengths == sorted(lengths, reverse=True) and
                  all(len(c["critical_path_s"]) == 3 for c in answer["components"]),
                  f"{dump.stem}: --paths as JSON: {lengths}")
    done = subprocess.run([BUILD / "cpa-report", "--format", "csv", "--paths", dump],
                          capture_output=True, check=False)
    results.check(done.returncode == 2 and not done.stdout and b"text or json" in done.stderr,
                  "no other format answers, and none prints text instead")


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


def check_prometheus(dump):
    """It is the text format, and has the figures of JSON."""
    text, found = export(dump, "prometheus", "--top", "1000"), json.loads(export(dump, "json"))
    try:
        families = prometheus.metrics(text.decode())
    except ValueError as error:
        results.check(False, f"{dump.name}: prometheus: {error}")
        return
    results.check(True, f"{dump.name}: prometheus: {len(families)} metrics")
    program = found["program"]
    label = {dict(labels)["program"] for family in families.values() for labels in family}
    results.check(label == {program["name"]}, f"the program is {label}")
    for metric, key in (("cpa_critical_path_seconds_total", "critical_path_s"), ("cpa_parallelism", "parallelism"),
                        ("cpa_profiled_seconds_total", "wall_s"), ("cpa_cpu_seconds_total", "cpu_s")):
        value = next(iter(families[metric].values()))
        results.check(abs(value - program[key]) < 1e-6, f"{metric} is {value}")
    first = {}
    for each in found["components"]:
        first.setdefault((each["kind"], each["name"], each["location"] or ""), each)
    for metric, key in (("cpa_component_critical_path_ratio", "critical_path_s"),
                        ("cpa_component_saved_ratio", "saved_s")):
        shares = {(row["kind"], row["name"], row["location"]): share
                  for row, share in ((dict(labels), value) for labels, value in families[metric].items())}
        wrong = {name for name, each in first.items()
                 if name not in shares or abs(shares[name] * program["critical_path_s"] - each[key]) > 1e-6}
        results.check(not wrong and len(shares) == len(first), f"{metric} of {len(first)} components {wrong or ''}")
    depths = {dict(labels)["name"]: value for labels, value in families.get("cpa_queue_max_depth", {}).items()}
    wanted = {each["name"]: each["max_depth"] for each in found["queues"]}
    results.check(depths == wanted, f"queues are at most as deep as {wanted}")
    if installed("promtool", "promtool reads it"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
        results.check(done.returncode == 0, f"promtool reads it {done.stderr.decode()}")


def check_date(before, dump, after):
    """The date of the start, in whole seconds of UTC."""
    when = json.loads(export(dump, "json"))["program"]["started_at"]
    seconds = calendar.timegm(time.strptime(when, "%Y-%m-%dT%H:%M:%SZ"))
    results.check(int(before) <= seconds <= after, f"started at {when}")


def main():
    odd = TMP / HOSTILE
    shutil.copy(PROGRAMS / "hostile_names", odd)
    before = time.time()
    hostile = profile("hostile", odd)
    check_date(before, hostile, time.time())
    pipeline = profile("pipeline", BUILD / "examples/pipeline")
    calls = profile("calls", PROGRAMS / "instrumented_calls")
    check_schema([hostile, pipeline, calls])
    check_numbers(pipeline)
    check_pprof(hostile, HOSTILE)
    check_pprof(pipeline, "encode_frames")
    for dump in (hostile, pipeline, calls):
        check_folded(dump)
        check_sqlite(dump)
        check_prometheus(dump)
    bare = profile("bare", BUILD / "examples/lock", journal=False)
    callers = profile("callers", PROGRAMS / "callers", "10", stacks=True)
    some = profile("some", PROGRAMS / "callers", "5", journal=False, stacks=True)
    check_pprof(callers, "recurse")
    for dump in (callers, some):
        check_folded(dump)
        check_stacks(dump)
    check_speedscope_schema((hostile, pipeline, bare, callers, some))
    for dump in (hostile, pipeline):
        check_speedscope(dump, bare)
        check_perfetto(dump, bare)
    check_questions(pipeline)
    check_refusals(pipeline)


main()
sys.exit(results.end())
