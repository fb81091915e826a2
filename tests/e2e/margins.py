#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/margins.py - a run in windows has margins in each table, the same in all formats; no other run has

Whether they are right is for tests/property/margins.c and tests/property/margin_rows.c. The columns of the
page are looked at with chromium and chromedriver. Prints TAP and a summary.
"""

import csv
import math
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import browser
import prometheus
from page_events import data_of
from profiled import BUILD, PROGRAMS, clean_environment, profiled_environment, read, run
from results import Results

WIDTH = 100  # columns of a line of text
PATH, SAVED = "critical_path_margin_s", "saved_margin_s"
WINDOWS = ("wait_margin_s", "parallelism_margin", "max_parallelism_margin", "utilization_margin", PATH, "cpu_margin_s")
OTHERS = ("service_margin_s", "idle_margin_s")  # of the program, which may have no such time
# Table in JSON: level in CSV (and a table of SQLite, if not None), keys, and columns +- of the text.
TABLES = {
    "components": ("component", (PATH, SAVED, "total_margin_s"), 2),
    "processes": ("process", ("cpu_margin_s", "wait_margin_s"), 2),
    "objects": ("object", (PATH, SAVED, "wait_margin_s", "hold_margin_s"), 2),
    "lock_arrays": (None, ("wait_margin_s", "hold_margin_s"), 1),
    "queues": ("queue", (PATH, SAVED, "item_wait_margin_s"), 2),
    "streams": ("stream", ("from_" + PATH, "to_" + PATH, "reader_wait_margin_s", "writer_wait_margin_s"), 3),
    "threads": ("thread", ("cpu_margin_s", "wait_margin_s"), 2),
}
# What no window may have any of: the writer never waits for room, and the reader may be on no critical path.
MAY_LACK = "writer_wait_margin_s", "to_" + PATH
# The page has no table of threads, and also the margin of the time for which locks were held.
ON_PAGE = {"components": 2, "objects": 3, "queues": 2, "streams": 3}
HEADINGS = {
    "components": "What the run would gain",
    "processes": "Processes",
    "objects": "Locks and other objects",
    "lock_arrays": "Arrays of locks",
    "queues": "Queues, and the processing",
    "streams": "Streams: who writes",
    "threads": "Threads",
}
SECTIONS = {"components": "components", "objects": "locks", "queues": "queues", "streams": "streams"}


def await_true(condition):
    """Not a limit on speed: what takes this long hangs."""
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("hangs")
        time.sleep(0.1)


def wanted(report, table):
    """The rows that have margins: all of which the figure is known, and whose ends are in the session."""
    if table == "streams":
        return [row for row in report[table] if row["from"] and row["to"]]
    if table in ("threads", "processes", "lock_arrays"):
        return report[table]
    return [row for row in report[table] if row["saved_s"] is not None]


def without(report):
    """The keys that no row of a table has. Once a row has one it keeps it: later windows do not take it away."""
    return [(table, key) for table, (_, keys, _) in TABLES.items() for key in keys
            if key not in MAY_LACK and not any(key in row for row in wanted(report, table))]


def in_windows(dump):
    """A run in windows, until there are enough of them and each table has a row with margins."""
    command = [BUILD / "cpa", "run", "-q", "-o", dump, "--budget", "0.5%", "--", PROGRAMS / "every_table", "1000000000"]
    process = subprocess.Popen(command, env=clean_environment())

    def enough():
        try:
            report = read(dump)
        except RuntimeError:
            return False  # it begins
        return all(key in report.get("windows", {}) for key in WINDOWS) and not without(report)

    try:
        await_true(enough)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    return dump


def whole(dump):
    run([PROGRAMS / "every_table", "100"], env=profiled_environment(dump))
    return dump


def check_stands_for(results, report):
    """
    Windows stand for the run, but for the last gap: n gaps differ from their means by 0.58 / sqrt(n) of them, here by 5
    times that at most; whoever keeps the budget may be late, which makes the run longer.
    """
    windows = report["windows"]
    stands, run_s = windows["stands_for_s"], report["program"]["run_s"]
    most = 1 + 5 * 0.58 / math.sqrt(windows["windows"])
    results.check(0.1 * run_s < stands < most * run_s,
                  f"windows: {windows['windows']} stand for {stands:.1f} s of a run of {run_s:.1f} s")


def margins_in(value):
    """All keys with "margin" in what JSON holds."""
    if isinstance(value, dict):
        yield from (key for key in value if "margin" in key)
        for each in value.values():
            yield from margins_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from margins_in(each)


def table_of(dump, level):
    return list(csv.DictReader(run([BUILD / "cpa-report", "--format", "csv", "--level", level, dump]).splitlines()))


def heads(dump):
    """The line of column heads below each heading of the text."""
    lines = [line for level in ("all", "process") for line in
             run([BUILD / "cpa-report", "--width", str(WIDTH), "--level", level, dump]).splitlines()]
    below = {line: lines[i + 1] for i, line in enumerate(lines[:-1])}
    found = {table: next((below[line] for line in below if line.startswith(heading)), None)
             for table, heading in HEADINGS.items()}
    return found, lines


def same(text, row, key):
    """Whether a field of CSV is the value of JSON, or empty where JSON has none."""
    return not text if key not in row else bool(text) and abs(float(text) - row[key]) < 2e-9


def check_csv(results, label, dump, report):
    for table, (level, keys, _) in TABLES.items():
        if not level:
            continue
        rows = table_of(dump, level)
        wrong = [(line[key], row.get(key)) for line, row in zip(rows, report[table]) for key in keys
                 if not same(line[key], row, key)]
        results.check(len(rows) == len(report[table]) > 0 and not wrong,
                      f"{label}: CSV of {len(rows)} {table} has the margins of JSON {wrong[:3] or ''}".rstrip())
    program, = table_of(dump, "program")
    windows = report.get("windows", {})
    wrong = [key for key in WINDOWS + OTHERS if not same(program[key], windows, key)]
    results.check(not wrong and int(program["windows"]) == windows.get("windows", 0),
                  f"{label}: so has that of the program {wrong or ''}".rstrip())


def check_sqlite(results, label, dump, report):
    file = dump.with_suffix(".db")
    with file.open("wb") as out:
        subprocess.run([BUILD / "cpa-report", "--format", "sqlite", dump], stdout=out, check=True)
    base = sqlite3.connect(file)
    tables = {table: (report[table], keys) for table, (level, keys, _) in TABLES.items() if level}
    tables["windows"] = [report["windows"]] if "windows" in report else [], WINDOWS + OTHERS
    for table, (rows, keys) in tables.items():
        found = base.execute(f"SELECT {', '.join(keys)} FROM {table} ORDER BY id").fetchall()
        results.check(found == [tuple(row.get(key) for key in keys) for row in rows],
                      f"{label}: SQLite's {table} have the margins of JSON, {len(found)} rows")
    base.close()


def check_prometheus(results, label, dump, report):
    """Shares of the path; one row of those of one name."""
    families = prometheus.metrics(run([BUILD / "cpa-report", "--format", "prometheus", "--top", "1000", dump]))
    path, first, wrong = report["program"]["critical_path_s"], {}, []
    for row in report["components"]:
        first.setdefault((row["kind"], row["name"], row["location"] or ""), row)
    for metric, key in (("critical_path_ratio", PATH), ("saved_ratio", SAVED)):
        family = families.get(f"cpa_component_{metric}_margin", {})
        found = {(row["kind"], row["name"], row["location"]): value
                 for row, value in ((dict(labels), value) for labels, value in family.items())}
        wrong += [name for name, row in first.items() if "windows" in report and not
                  (math.isnan(found[name]) if key not in row else abs(found[name] * path - row[key]) < 1e-6)]
        wrong += [metric] * (bool(found) != ("windows" in report))
    for key in "parallelism_margin", "max_parallelism_margin":
        found = list(families.get(f"cpa_{key}", {}).values())
        wrong += [key] * (len(found) != ("windows" in report) or
                          any(abs(value - report["windows"][key]) > 1e-6 for value in found))
    results.check(not wrong, f"{label}: Prometheus has the margins of {len(first)} components and of parallelism {wrong[:3] or ''}".rstrip())


def check_text(results, label, dump, columns):
    found, lines = heads(dump)
    for table, (_, _, signs) in TABLES.items():
        head = found[table] or ""
        results.check(head and head.split().count("+-") == (signs if columns else 0), f"{label}: {table}: {head.strip()}")
    long = [line for line in lines if len(line) > WIDTH and table_line(line)]
    results.check(not long, f"{label}: tables fit in {WIDTH} columns {long or ''}".rstrip())


def table_line(line):
    """Not a command or name that must not be broken."""
    return "  " in line.strip()


def check_page(results, label, dump, report):
    page = dump.with_suffix(".html")
    run([BUILD / "cpa-report", "--html", page, dump])
    shown = data_of(page)["report"]
    for table, (_, keys, _) in TABLES.items():
        wrong = [row.get(key) for row, other in zip(report[table], shown[table]) for key in keys
                 if abs(row.get(key, -1) - other.get(key, -1)) > 1e-9]
        results.check(not wrong and len(report[table]) == len(shown[table]),
                      f"{label}: the page's {table} have the margins of JSON {wrong[:3] or ''}".rstrip())
    return page


def check_windows(results, dump):
    report = read(dump)
    missing = [key for key in WINDOWS if key not in report["windows"]]
    results.check(not missing and report["windows"]["batches"] >= 10, f"windows: {report['windows']}")
    check_stands_for(results, report)
    lacking = without(report)
    results.check(not lacking, f"windows: each table has rows with margins {lacking or ''}".rstrip())
    odd = [(table, key) for table, (_, keys, _) in TABLES.items() for key in keys for row in report[table]
           if key in row and (row not in wanted(report, table) or row[key] < 0)]
    results.check(not odd, f"windows: no other row has one {odd[:3] or ''}".rstrip())
    check_csv(results, "windows", dump, report)
    check_sqlite(results, "windows", dump, report)
    check_prometheus(results, "windows", dump, report)
    check_text(results, "windows", dump, True)
    return check_page(results, "windows", dump, report)


def check_whole(results, dump):
    report = read(dump)
    found = sorted(set(margins_in(report)))
    results.check(not found and "windows" not in report, f"whole run: no margin {found or ''}".rstrip())
    check_csv(results, "whole run", dump, report)
    check_sqlite(results, "whole run", dump, report)
    check_prometheus(results, "whole run", dump, report)
    check_text(results, "whole run", dump, False)
    return check_page(results, "whole run", dump, report)


def check_columns(results, view, label, page, columns):
    results.check(view.open(page), f"{label}: the page opens")
    for table, section in SECTIONS.items():
        signs = ON_PAGE[table] if columns else 0
        found = view.js(f"return [...document.querySelector('#{section} table thead').querySelectorAll('th')]"
                        ".filter((e) => e.textContent.startsWith('±')).length")
        results.check(found == signs, f"{label}: the page's {table} have {found} columns ±")
    text = view.js("return document.querySelector('#answer').textContent")
    results.check(("sample of the run" in text) == columns, f"{label}: the page says what that means")
    said = view.console()
    results.check(not said, f"{label}: no message of the browser {said or ''}".rstrip())


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="margins.", dir=os.environ.get("CPA_TMP")))
    sampled = check_windows(results, in_windows(folder / "windows.dump"))
    plain = check_whole(results, whole(folder / "whole.dump"))
    missing = browser.missing()
    if missing:
        results.skip("columns of the page", f"{' and '.join(missing)}: not installed")
        return results.end(folder)
    try:
        view = browser.Browser()
    except browser.NoBrowser as error:
        results.skip("columns of the page", str(error))
        return results.end(folder)
    try:
        check_columns(results, view, "windows", sampled, True)
        check_columns(results, view, "whole run", plain, False)
    finally:
        view.close()
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
