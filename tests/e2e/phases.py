#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/phases.py - metrics that add up, and phases from mark to mark

Where the phases of a program are that has no marks is looked at by tests/accuracy/phase_borders.py.
Prints TAP.
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["CPA_BUILD"]).resolve()
MS = 700
# Clocks of two cores, and looks at the clock that the profiler spares itself.
TILES, LATE_S = 0.002, 0.002
TIMES = "t_cpu_s", "t_wait_s", "t_wait_cpu_s", "t_ext_s", "t_probe_s"
SYMBOLS = {"T_cpu": "t_cpu_s", "T_wait": "t_wait_s"}

results = {"ok": 0, "not ok": 0}


def check(good, text):
    word = "ok" if good else "not ok"
    results[word] += 1
    print(f"{word} {sum(results.values())} - {text}", flush=True)
    return good


def profile(dump, *command, **environment):
    dump.unlink(missing_ok=True)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CPA_")}
    kept.update(LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), CPA_QUIET="1", **environment)
    return subprocess.run(command, env=kept, check=True, capture_output=True, text=True).stdout


def report(dump, *options):
    command = [str(BUILD / "cpa-report"), *options, str(dump)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(dump, *options):
    return json.loads(report(dump, "--format", "json", *options))


def near(got, expected, off=1e-6):
    return abs(got - expected) <= off * max(1, abs(expected))


def check_sums(r, sampled=True):
    """
    The program is its threads; a thread's time is what it was spent on; ratios are of these. To set
    a sampler up the kernel may keep a thread for milliseconds, which are in T alone.
    """
    m = r["metrics"]
    program, threads = m["program"], m["threads"]
    for key in TIMES:
        sum_s = sum(t[key] for t in threads)
        text = f"{key}: threads have {sum_s:.6f} s, the program {program[key]:.6f} s"
        check(near(sum_s, program[key]), text)
    for t in threads:
        sum_s = sum(t[key] for key in TIMES)
        more, off = sum_s - t["t_s"], TILES * t["t_s"] + LATE_S
        good = more <= off if sampled else abs(more) <= off
        check(good, f"{t['name']}: T of {t['t_s']:.6f} s, its parts {sum_s:.6f} s")
    work = sum(p["t_cpu_s"] for p in m["procedures"])
    check(near(work, program["t_cpu_s"]), f"procedures have {work:.6f} s of {program['t_cpu_s']:.6f} s")
    for level in [program], m["machines"], m["processes"], threads:
        for row in level:
            t, cpu, wait = row["t_s"], row["t_cpu_s"], row["t_wait_s"]
            good = near(row["r"], t / cpu) and near(row["l"], (cpu + row["t_wait_cpu_s"]) / cpu)
            # All are rounded to 1e-9: of a wait of some ns that is much.
            pr = row["pr"]
            good = good and (wait == 0 if pr is None else abs(pr * wait - cpu) <= 1e-6 + 1e-9 * pr)
            cores = 1 if level is threads else r["program"]["cores"]
            check(good and near(row["rho"], cpu / t / cores), f"{row['name']}: R, L, PR, rho")
    p_max = (program["t_cpu_s"] + program["t_ext_s"]) / r["program"]["critical_path_s"]
    check(near(program["p_max"], p_max), f"P_max of {p_max:.6f}")
    check(near(program["p"], r["program"]["parallelism"]), f"P of {program['p']:.6f}")
    own = "p_max" not in threads[0] and "p" not in threads[0] and "n_m" not in m["machines"][0]
    check(own, "no level has what is not its own")


def check_histograms(dump, r):
    """Of any level and metric of time, the intervals add up to the whole."""
    for level, rows in ("program", [r["metrics"]["program"]]), ("thread", r["metrics"]["threads"]):
        for symbol, key in SYMBOLS.items():
            h = read(dump, "--metrics", level, "--histogram", symbol)["histogram"]
            sums = [sum(row["values"]) for row in h["rows"]]
            good = len(sums) == len(rows) and all(near(s, row[key]) for s, row in zip(sums, rows))
            check(good, f"{symbol} over time, by {level}: {len(h['until_s'])} intervals")
    text = report(dump, "--metrics", "procedure", "--histogram", "T_cpu")
    check("start_up" in text and "over time" in text, "T_cpu over time, by procedure")
    table = report(dump, "--format", "csv", "--metrics", "process", "--histogram", "P")
    rows = list(csv.DictReader(io.StringIO(table)))
    good = len(rows) == len(r["intervals"]["samples"]) and all(float(row["p"]) >= 0 for row in rows)
    check(good, f"P over time, by process, as CSV: {len(rows)} rows")


def check_tables(dump, r):
    for level in "program", "machine", "process", "thread", "procedure", "event":
        rows = list(csv.DictReader(io.StringIO(report(dump, "--format", "csv", "--metrics", level))))
        key = {"program": None, "process": "processes"}.get(level, level + "s")
        expected = r["metrics"][key] if key else [r["metrics"]["program"]]
        good = len(rows) == len(expected)
        for row, one in zip(rows, expected):
            for name, value in one.items():
                if name in row and isinstance(value, float):
                    good = good and near(float(row[name]), value, 1e-8)
        check(good, f"CSV by {level}: {len(rows)} rows as in JSON")
    text = report(dump, "--metrics", "all")
    check(all(w in text for w in ("P_max", "by thread", "by procedure", "by event")), "text of all levels")
    rows = list(csv.DictReader(io.StringIO(report(dump, "--format", "csv", "--phases"))))
    check(len(rows) == len(r["phases"]["phases"]), f"CSV of {len(rows)} phases")


def test_known(folder):
    dump = folder / "known.dump"
    profile(dump, str(BUILD / "tests/programs/serial_parallel"), str(MS))
    r = read(dump)
    check_sums(r)
    check_histograms(dump, r)
    check_tables(dump, r)
    text = report(dump, "--phase-threshold", "10")
    check("none was found" in text, "with a threshold that nothing reaches there are none")


def test_marks(folder):
    """A phase from mark to mark, and from one given moment to another."""
    dump = folder / "marks.dump"
    profile(dump, str(BUILD / "tests/programs/phases"), "500")
    r = read(dump, "--phase", "mine=0.5s..1000ms", "--phase", "rest=1..")
    marked = [p for p in r["phases"]["phases"] if p["by"] == "marked"]
    begin = [0] + [m["at_s"] for m in r["marks"]]
    check([p["name"] for p in marked] == ["(start)"] + ["phase"] * 3, "marks are phases")
    check([p["from_s"] for p in marked] == begin, f"they begin at {begin}")
    check([p["to_s"] for p in marked] == begin[1:] + [r["program"]["wall_s"]], "each ends with the next")
    width = r["phases"]["interval_s"]
    # A phase shorter than an interval may hold no sample: intervals grow with the run's length.
    sampled = [p for p in marked if p["sampled_from_s"] is not None]
    for p in sampled[1:]:
        check(abs(p["sampled_from_s"] - p["from_s"]) <= width, "a phase begins within an interval")
    path = sum(p["critical_path_s"] for p in sampled)
    check(abs(path - r["program"]["critical_path_s"]) < width, f"together their paths are {path:.3f} s")
    given = [p for p in r["phases"]["phases"] if p["by"] == "given"]
    check([(p["name"], p["from_s"]) for p in given] == [("mine", 0.5), ("rest", 1)], "ranges are phases")
    check(given[0]["to_s"] == 1 and given[1]["to_s"] == r["program"]["wall_s"], "and end where they should")


def test_parts(folder):
    """What lies between the parts of a run is in no metric, and in no thread's T."""
    dump = folder / "parts.dump"
    profile(dump, str(BUILD / "tests/programs/parts"), "alone", CPA_START="off", CPA_SAMPLE_HZ="0")
    r = read(dump)
    check(len(r["parts"]) > 1, f"{len(r['parts'])} parts")
    check_sums(r, sampled=False)


def test_unsampled(folder):
    dump = folder / "unsampled.dump"
    profile(dump, str(BUILD / "tests/programs/serial_parallel"), "100", CPA_SAMPLE_HZ="0")
    check_sums(read(dump), sampled=False)


def test_bytes(folder):
    """A thousand reads and writes of a thousand bytes; and some more of libc's for dd."""
    dump = folder / "bytes.dump"
    profile(dump, "dd", "if=/dev/zero", "of=/dev/null", "bs=1000", "count=1000")
    r = read(dump)
    t, m = r["threads"][0], r["metrics"]["threads"][0]
    for key in "bytes_read", "bytes_written":
        check(1000000 <= t[key] <= 1010000, f"{key}: {t[key]} of dd's 1000000")
    rate = (t["bytes_read"] + t["bytes_written"]) / m["t_s"]
    check(near(m["m_b_per_s"], rate, 1e-5), f"M_b of {rate:.0f}")


def test_usage(folder):
    dump = folder / "bytes.dump"
    wrong = (
        ("--metrics", "threads"),
        ("--histogram", "t_cpu"),
        ("--metrics", "all", "--histogram", "T_cpu"),
        ("--metrics", "event", "--histogram", "T"),
        ("--metrics", "procedure", "--histogram", "T_wait"),
        ("--phase", "a=2..1"),
        ("--phase", "late"),
        ("--phase", "late=1000000.."),
        ("--phase-threshold", "0"),
        ("--phase-threshold", "1x"),
    )
    for options in wrong:
        command = [str(BUILD / "cpa-report"), *options, str(dump)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        line = done.stderr.strip()
        good = done.returncode == 2 and line.startswith("cpa-report: --") and "\n" not in line
        check(good and not done.stdout, f"{' '.join(options)}: {line}")
    # However long dd takes: none of it is profiled.
    profile(dump, "dd", "if=/dev/zero", "of=/dev/null", "count=1", CPA_START="off")
    text = report(dump, "--phases", "--metrics", "program", "--histogram", "P")
    said = [f"too short {what}" in text for what in ("to find phases", "for samples")]
    check(all(said), "a run that is too short has neither phases nor samples, and says so")


def main():
    os.environ["LC_ALL"] = "C"
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as folder:
        for test in test_known, test_unsampled, test_marks, test_parts, test_bytes, test_usage:
            test(pathlib.Path(folder))
    print(f"1..{sum(results.values())}")
    return 1 if results["not ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
