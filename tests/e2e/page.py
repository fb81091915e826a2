#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/page.py - the page of cpa-report --html in a real browser

It opens from disk without a message or a request; its figures are those of --format json; names that
are scripts stay text; all of it can be reached with the keyboard, has a name and enough contrast. Needs
chromium and chromedriver; without them the tests of the browser are skipped. With the file of
axe-core (axe.min.js) in CPA_AXE its rules are checked, too. Prints TAP and a summary.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import browser
from page_events import ACTIVITY, CRITICAL, WAIT, data_of, lanes_of
from profiled import BUILD, PROGRAMS, profiled_environment, read, run, run_known
from results import Results

UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
TICKS_S = 2e-6  # seconds: times are rounded to ns, one event at a time
DIGITS = 0.006  # relative: figures on the page have three digits
NONE = 1e-9  # seconds: such a figure is 0 on the page
SUMMED = ("barrier_rotate", "cond_signal", "fork_join", "sem_ring", "readers_writer", "task_queue", "two_locks")
SYMBOLS = {
    "hostile_burn": "burn_</script><img src=x onerror=window.hostile=1>\"&lt;",
    "hostile_lock": "lock_<b onclick=x>&amp;",
}
# Names of hostile_names.c as they are shown; control characters and those that turn text are '?'.
SHOWN = (
    "</script><script>window.hostile=1</script>",
    "<!--<script>",
    "<img src=x onerror=\"window.hostile=1\">",
    "\"'><svg onload=window.hostile=1>",
    "__proto__",
    "constructor",
    "?[2J?]0;hostile??",
    "bad ??? utf-8",
    "right?left",
    "line?feed?tab?return",
    "javascript:window.hostile=1",
    *SYMBOLS.values(),
)
# Of each focusable or graphic element without a name, and headings that leave a level out.
UNNAMED = """
const named = (e) => (e.getAttribute('aria-label') || e.textContent || e.title || '').trim() ||
    (e.labels && e.labels.length);
const bad = [...document.querySelectorAll('button, a, select, input, canvas, [role]')]
    .filter((e) => e.getAttribute('aria-hidden') !== 'true' && !named(e)).map((e) => e.outerHTML.slice(0, 120));
let level = 0;
for (const e of document.querySelectorAll('h1, h2, h3, h4')) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) bad.push('heading ' + e.textContent);
    level = own;
}
for (const e of document.querySelectorAll('section'))
    if (!document.getElementById(e.getAttribute('aria-labelledby'))) bad.push('section ' + e.id);
for (const e of document.querySelectorAll('th'))
    if (!e.getAttribute('scope') || !e.textContent.trim()) bad.push('th ' + e.outerHTML);
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
if (new Set(ids).size !== ids.length) bad.push('an id twice');
return bad;
"""
# Texts with less contrast than WCAG's AA wants of small text, 4.5.
PALE = """
const rgba = (text) => { const v = text.match(/[\\d.]+/g).map(Number); return [...v.slice(0, 3), v[3] ?? 1]; };
const light = (c) => { const f = c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
const ground = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; }
    return [255, 255, 255, 1]; };
const bad = new Set();
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.getClientRects().length) continue;
    const a = light(rgba(getComputedStyle(e).color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.add(e.tagName + ' ' + e.className + ' ' + ratio.toFixed(2) + ' ' + walk.currentNode.data.slice(0, 30));
}
return [...bad];
"""
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'] }).then((r) => done(
    r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 2).map((n) => n.html.slice(0, 150)).join(' | '))),
    (error) => done(['axe: ' + error]));
"""


def record(folder, name, program, *arguments):
    dump = folder / f"{name}.dump"
    command = [str(each) for each in (program, *arguments)]
    run_known(command, profiled_environment(dump, CPA_JOURNAL="16M"), cwd=folder)
    return dump


def write_page(dump):
    page = dump.with_suffix(".html")
    run([BUILD / "cpa-report", "--html", page, dump])
    return page


def equal(one, other):
    """The same values; the page rounds numbers to ten digits."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(
            equal(each, other[key]) for key, each in one.items()
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1)
    return one == other


def seconds(text):
    """Of "13.1 ms"; None if it is no time."""
    if text == "0":
        return 0.0
    found = re.fullmatch(r"(-?[\d.]+) (s|ms|µs|ns)", text)
    return float(found[1]) * UNITS[found[2]] if found else None


def is_shown(text, value):
    found = seconds(text)
    return found is not None and abs(found - value) <= DIGITS * abs(value) + NONE


def quiet(results, view, label):
    """No message of the browser, which violations of the policy would be, too; no request."""
    said = view.console()
    results.check(not said, f"{label}: no message of the browser {said or ''}".rstrip())
    loaded = view.js("return performance.getEntriesByType('resource').length")
    results.check(loaded == 0, f"{label}: nothing is loaded")


def check_figures(results, view, report):
    program = report["program"]
    tiles = view.js("return [...document.querySelectorAll('#answer .tile b')].map((e) => e.textContent)")
    for text, key in zip(tiles, ("wall_s", "critical_path_s", "cpu_s")):
        results.check(is_shown(text, program[key]), f"tile {key}: {text} of {program[key]}")
    view.js(
        "const b = [...document.querySelectorAll('#components .tools button')]"
        ".find((e) => e.textContent.startsWith('Show all')); if (b) b.click();"
    )
    rows = view.js(
        "return [...document.querySelectorAll('#components tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    shown = {(row[4], row[5], row[6]): row for row in rows}
    wrong = [
        each["name"]
        for each in report["components"]
        for row in [shown.get((each["kind"], each["name"], (each["location"] or "").split("/")[-1]))]
        if not row or not is_shown(row[0], each["saved_s"])
    ]
    results.check(
        not wrong and len(rows) == len(report["components"]), f"each component saves what it does {wrong}"
    )
    saved = [seconds(row[0]) for row in rows]
    results.check(saved == sorted(saved, reverse=True), "components begin with what saves most")
    held = view.js("return [...document.querySelector('#locks table').querySelectorAll('tbody tr')].map((r) => r.children[2].textContent)")
    want = sorted((each["hold_s"] for each in report["objects"]), reverse=True)[:12]
    found = sorted((seconds(each) for each in held), reverse=True)[: len(want)]
    results.check(
        all(abs(a - b) <= DIGITS * b + NONE for a, b in zip(found, want)) and len(found) == len(want),
        "locks: time held",
    )


def check_observed(results, view, report, label):
    """Each kind of time of the observed path has a color of its own and its share of the bar."""
    pieces = view.js(
        "return [...document.querySelector('#answer .bar').children].map((e) => [parseFloat(e.style.width), e.style.background])"
    )
    segments, outside = report["program"]["observed_segments"], report["program"]["observed_external"]
    want = [segments["process_s"], outside["service_s"], outside["idle_s"], outside["unknown_wait_s"]]
    want += [segments[key] for key in ("runqueue_s", "handoff_s", "probe_s")]
    widths, colors = [each[0] for each in pieces], {each[1] for each in pieces}
    scale = sum(widths) / sum(want)
    results.check(
        len(widths) == len(want) == len(colors)
        and all(abs(width - value * scale) < 0.01 for width, value in zip(widths, want)),
        f"{label}: kinds of time of the observed path: {want}",
    )


def test_idle(results, view, folder):
    page_dump = record(folder, "idle", BUILD / "examples/idle")
    page, report = write_page(page_dump), read(page_dump)
    idle_s = report["program"]["observed_external"]["idle_s"]
    results.check(view.open(page) and idle_s > 0, f"idle: opens; {idle_s} s idle")
    check_observed(results, view, report, "idle")


def test_regions(results, view, folder):
    """The table of parallel regions has the rows of the JSON."""
    dump = record(folder, "regions", BUILD / "examples" / "loop")
    page, report = write_page(dump), read(dump)
    results.check(view.open(page), "regions: opens")
    rows = view.js(
        "return [...document.querySelectorAll('#regions tbody tr')].map((r) => [...r.children].map((c) => c.textContent))"
    )
    wrong = [
        (row, each)
        for row, each in zip(rows, report["openmp"]["rows"])
        if not is_shown(row[0], each["balanced_saved_s"])
        or not is_shown(row[1], each["threads"][0]["work_s"])
        or not is_shown(row[3], each["wait_s"])
        or row[7:10] != [f"{each['instances']:,}", str(len(each["threads"])), each["name"]]
    ]
    same = len(rows) == len(report["openmp"]["rows"])
    results.check(rows and same and not wrong, f"regions: each row {wrong or ''}".rstrip())
    check_access(results, view, "regions")
    quiet(results, view, "regions")


def test_streams(results, view, folder):
    """The table of streams has the rows of the JSON."""
    dump = record(folder, "streams", "sh", "-c", "seq 200000 | sort -rn | tail -1")
    page, report = write_page(dump), read(dump)
    results.check(view.open(page), "streams: opens")
    view.js("for (const e of document.querySelectorAll('button')) if (e.textContent.startsWith('Show all')) e.click();")
    rows = view.js(
        "return [...document.querySelectorAll('#streams tbody tr')].map((r) => [...r.children].map((c) => c.textContent))"
    )
    wrong = [
        (row, each)
        for row, each in zip(rows, report["streams"])
        if row[2] != each["limit"]
        or row[5:7] != [f"{each['streams']:,}", f"{each['bytes']:,}"]
        or not all(
            is_shown(row[i], each[key])
            for i, key in ((0, "reader_wait_s"), (1, "writer_wait_s"))
        )
        or not all(
            is_shown(row[i], each[key]) if each["messages"] else row[i] == "–"
            for i, key in ((8, "stay_s"), (9, "stay_p99_s"))
        )
        or not (is_shown(row[4], each["saved_s"]) if each["saved_s"] is not None else row[4] == "–")
        or row[11:] != [each["from"] or "(outside)", each["to"] or "(outside)"]
    ]
    results.check(rows and len(rows) == len(report["streams"]) and not wrong, f"streams: each row {wrong or ''}".rstrip())
    check_access(results, view, "streams")
    quiet(results, view, "streams")


def test_callers(results, view, folder):
    """The table below the second flame graph: each context with the times of all that it called."""
    dump = folder / "callers.dump"
    run([PROGRAMS / "callers", "10"], env=profiled_environment(dump))
    page, report = write_page(dump), read(dump)
    results.check(view.open(page), "callers: opens")
    view.js("document.querySelector('#callers details').open = true;")
    view.js("for (const e of document.querySelectorAll('#callers button')) if (e.textContent.startsWith('Show all')) e.click();")
    rows = view.js(
        "return [...document.querySelectorAll('#callers tbody tr')].map((r) => [...r.children].map((c) => c.textContent))"
    )
    contexts = {each["id"]: each for each in report["callers"]["contexts"]}
    expected = {}
    for each in contexts.values():
        chain = [each]
        while chain[0]["caller"]:
            chain.insert(0, contexts[chain[0]["caller"]])
        names = [one["name"] for one in chain]
        for i in range(len(names)):
            sums = expected.setdefault(" › ".join(names[: i + 1]), [0, 0])
            sums[0] += each["critical_path_s"]
            sums[1] += each["cpu_s"]
    wrong = [row for row in rows if row[2] not in expected
             or not all(is_shown(row[i], expected[row[2]][i]) for i in (0, 1))]
    results.check(len(rows) == len(expected) and not wrong, f"callers: each row {wrong or ''}".rstrip())
    results.check(any(row[2].endswith("recurse › first › common") for row in rows), "callers: the known one")
    check_access(results, view, "callers")
    quiet(results, view, "callers")


def check_what_if(results, view, report):
    """A slider at 0: the path that zeroing computed; in between the page claims a range."""
    first = next(each for each in report["components"] if each["saved_s"] > 0)
    path = report["program"]["critical_path_s"]
    big = "return document.querySelector('#whatif .big').textContent"
    results.check(is_shown(view.js(big), path), "what if: nothing changed, the path as it is")
    view.js("document.getElementById('slider0').focus()")
    view.keys("#slider0", "\ue011")  # Home
    text = view.js(big)
    results.check(is_shown(text, path - first["saved_s"]), f"what if without it: {text}")
    view.keys("#slider0", "\ue010")  # End
    results.check(is_shown(view.js(big), path), "what if: back to the path as it is")


def check_keyboard(results, view):
    first = "return document.querySelector('#components tbody tr').children[5].textContent"
    sort = "document.querySelectorAll('#components th button')[5].focus()"
    view.js(sort)
    view.keys("#components th:nth-child(6) button", "\ue007")
    names = view.js("return [...document.querySelectorAll('#components tbody tr')].map((r) => r.children[5].textContent)")
    results.check(len(names) > 1 and names[0] == view.js(first), "Enter on a head sorts")
    state = view.js("return document.querySelector('#components th:nth-child(6)').getAttribute('aria-sort')")
    results.check(state == "ascending", f"and says so: {state}")
    view.keys("#components tbody tr", "\ue007")
    chosen = view.js("return document.querySelector('#components tbody tr').getAttribute('aria-selected')")
    results.check(chosen == "true", "Enter on a row chooses it")
    view.keys("#components input[type=search]", names[0][:6])
    left = view.js("return [...document.querySelectorAll('#components tbody tr')].map((r) => r.children[5].textContent + r.children[6].textContent)")
    results.check(
        left and all(names[0][:6].lower() in each.lower() for each in left), "the filter leaves what matches"
    )
    reached = set()
    view.js("document.activeElement.blur()")
    total = view.js("return document.querySelectorAll('button, a[href], select, input, summary, [tabindex=\"0\"]').length")
    view.js(
        "window.tabbed = 0; document.addEventListener('focusin', () => { window.tabbed++; });"
    )
    for _ in range(3):
        view.keys("body", "\ue004" * 20)
        reached.add(view.js("return window.tabbed"))
    results.check(max(reached) >= min(20, total), f"Tab moves on: {max(reached)} of {total}")


def check_access(results, view, label):
    unnamed = view.js(UNNAMED)
    results.check(not unnamed, f"{label}: all has a name {unnamed or ''}".rstrip())
    pale = view.js(PALE)
    results.check(not pale, f"{label}: contrast of text {pale or ''}".rstrip())
    axe = os.environ.get("CPA_AXE")
    if not axe:
        return
    view.js(pathlib.Path(axe).read_text(encoding="utf-8") + "\nwindow.axe = axe;")
    found = view.call("POST", "/execute/async", {"script": AXE, "args": []})
    results.check(not found, f"{label}: axe-core's rules {found or ''}".rstrip())


def test_page(results, view, dump):
    page, report = write_page(dump), read(dump, "--metrics", "all", "--phases")
    data = data_of(page)
    del report["intervals"]["threads"]  # the page has them as series
    results.check(equal(data["report"], report), "the page's data are those of --format json")
    results.check(view.open(page), "the page opens")
    check_figures(results, view, report)
    check_observed(results, view, report, "run")
    check_timeline(results, view, check_sums(results, page, report, "run"))
    check_what_if(results, view, report)
    check_keyboard(results, view)
    quiet(results, view, "page")
    for theme in ("light", "dark"):
        results.check(view.open(page, f"#theme={theme}"), f"{theme} opens")
        view.js("for (const e of document.querySelectorAll('details')) e.open = true;")
        check_access(results, view, theme)
    pdf = view.call("POST", "/print", {})
    results.check(len(pdf) > 10000, "it can be printed")
    view.call("POST", "/window/rect", {"width": 520, "height": 900})
    wide = view.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    results.check(wide <= 0, f"a narrow window needs no scrolling to the side: {wide}")
    view.call("POST", "/window/rect", {"width": 1280, "height": 900})
    quiet(results, view, "printed and narrow")


def check_sums(results, page, report, label):
    """
    The events add up to what the program itself found while it ran: both paths, and of the observed
    one all its kinds of time. The bins hold the same.
    """
    timeline, program = lanes_of(page), report["program"]
    events = [event for lane in timeline["lanes"] for event in lane["list"]]
    slack_s = TICKS_S + 1e-9 * len(events)
    observed = timeline["observed"]
    pieces_s = sum(observed[key] for key in ("activities_s", "waits_s", "woken_s", "beyond_s"))
    wall_s = timeline["end_ns"] / 1e9
    results.check(abs(pieces_s - wall_s) < slack_s, f"{label}: pieces tile the run: {pieces_s} of {wall_s} s")
    found_s = sum(e["process"] for e in events if e["flags"] & ACTIVITY) / 1e9
    want_s = program["observed_segments"]["process_s"]
    results.check(abs(found_s - want_s) < slack_s, f"{label}: work on the observed path: {found_s} of {want_s} s")
    found_s = sum(e["process"] + e["external"] for e in events if e["flags"] & CRITICAL) / 1e9
    want_s, idle_s = program["critical_path_s"], program["external_s"] - program["service_s"]
    results.check(
        -slack_s < found_s - want_s < idle_s + slack_s and abs(timeline["critical_s"] - want_s) < TICKS_S,
        f"{label}: the critical path: {found_s} of {want_s} s, of which idle time is no part",
    )
    for lane in timeline["lanes"]:
        total = sum(e["process"] for e in lane["list"])
        part = timeline["end_ns"] / 255 / 2 + 1  # rounding of each bin, at most
        results.check(
            abs(lane["sums"]["work"] - total) <= part, f"{label}: the bins of {lane['class']} have its work"
        )
    results.check(
        all(e["releaser"] is None or e["latency"] <= e["now"] - e["arrived"] for e in events),
        f"{label}: releases lie in the waits that they ended",
    )
    return timeline


def tree_sums(node):
    """Each node of the tree with the sum of its children, of each kind of time."""
    for key in ("critical_s", "observed_s", "all_s"):
        if node["children"]:
            yield node[key], sum(child[key] for child in node["children"])
    for child in node["children"]:
        yield from tree_sums(child)


def check_stacks(results, page, report, label):
    """Frames add up to the critical path; waits to those of the locks; queues are as full as they say."""
    data, program = data_of(page), report["program"]
    wrong = [pair for pair in tree_sums(data["stacks"]) if abs(pair[0] - pair[1]) > TICKS_S]
    results.check(not wrong, f"{label}: frames add up {wrong or ''}".rstrip())
    found_s, want_s = data["stacks"]["critical_s"], program["critical_path_s"]
    results.check(abs(found_s - want_s) < TICKS_S, f"{label}: frames on the path: {found_s} of {want_s} s")
    want_s = program["parallelism"] * program["wall_s"] + program["service_s"]
    found_s = data["stacks"]["all_s"]
    results.check(abs(found_s - want_s) < TICKS_S * 10, f"{label}: all frames: {found_s} of {want_s} s")
    names = {each["class"] for each in report["objects"]}  # several may have one name
    locks = {n: sum(o["wait_s"] for o in report["objects"] if o["class"] == n) for n in names}
    waited = {name: sum(w["wait_s"] for w in data["waits"] if w["class"] == name) for name in locks}
    wrong = {n: (waited[n], locks[n]) for n in locks if abs(waited[n] - locks[n]) > TICKS_S * 10}
    results.check(not wrong, f"{label}: waits are those of the locks {wrong or ''}".rstrip())
    for depth in data["depths"]:
        queue = report["queues"][depth["queue"]]
        good = sum(depth["in"]) == queue["enqueued"] and sum(depth["out"]) == queue["dequeued"]
        mean = sum(depth["mean"]) / len(depth["mean"])
        results.check(
            good and abs(mean - queue["mean_depth"]) <= 0.01 * queue["mean_depth"] + 0.001,
            f"{label}: {mean} items on average in {queue['name']!r}, {queue['mean_depth']} in the report",
        )


def check_timeline(results, view, timeline):
    """With keys, to one event and back; what is said is about that event."""
    target = "#timeline canvas[tabindex]"
    said = "return document.querySelector('#timeline [aria-live]').textContent"
    whole = view.js(said)
    hops = sum(
        1 for lane in timeline["lanes"] for e in lane["list"] if e["flags"] & WAIT and e["releaser"] is not None
    )
    results.check(f": {hops:,} hops" in whole.replace("of the path", "").replace(" s, ", " s: ") or
                  f" {hops:,} hops" in whole, f"all hops are in view: {whole}")
    view.js(f"document.querySelector('{target}').focus()")
    view.keys(target, "++n")
    near = view.js(said)
    results.check(near != whole, f"+ and n: {near}")
    view.keys(target, "e")
    one = view.js(said)
    results.check("work " in one and "at " in one, f"e: one event: {one}")
    view.keys(target, "0")
    results.check(view.js(said) == whole, "0: the whole run again")
    drawn = view.js(f"const c = document.querySelector('{target}'); const p = c.getContext('2d')"
                    ".getImageData(0, 0, c.width, c.height).data; return new Set(new Uint32Array(p.buffer)).size;")
    results.check(drawn > 4, f"something is drawn: {drawn} colors")


def test_policy(results, view, dump):
    """What the policy of the page forbids, does not happen; a page with another script does nothing."""
    page = write_page(dump)
    view.open(page)
    done = view.js(
        "try { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s); } catch (e) {} return window.ran || 0;"
    )
    results.check(done == 0, "no script can be added")
    thrown = view.js("try { document.body.innerHTML = '<b>x</b>'; return ''; } catch (e) { return e.name; }")
    results.check(thrown == "TypeError", "no markup is made from text")
    view.console()
    changed = page.with_name("changed.html")
    text = page.read_text(encoding="utf-8")
    results.check(text.count("root.dataset.ready = '1';") == 1, "the script is in the page")
    changed.write_text(text.replace("root.dataset.ready = '1';", "root.dataset.ready = '1' ;"), encoding="utf-8")
    results.check(not view.open(changed), "a changed script does not run")
    view.console()


def test_compare(results, view, folder):
    """The page of cpa diff has the rows of its JSON."""
    sides = [[record(folder, f"{side}{i}", PROGRAMS / "hand_made") for i in range(2)] for side in "ab"]
    arguments = [*sides[0], "--", *sides[1]]
    page = folder / "compare.html"
    run([BUILD / "cpa-diff", "--html", page, *arguments])
    comparison = json.loads(run([BUILD / "cpa-diff", "--format", "json", *arguments]))
    results.check(equal(data_of(page)["comparison"], comparison), "compare: the data of --format json")
    results.check(view.open(page), "compare: opens")
    view.js("for (const e of document.querySelectorAll('button')) if (e.textContent.startsWith('Show all')) e.click();")
    rows = view.js("return [...document.querySelectorAll('#compare tbody tr')]"
                   ".map((r) => [r.children[0].textContent, r.children[8] && r.children[8].textContent])")
    want = [(r["base"]["mean"], " ".join(filter(None, (r["kind"], r["name"])))) for r in comparison["rows"]]
    wrong = [r for r, w in zip(rows, want) if r[1] != w[1] or not is_shown(r[0], w[0])]
    results.check(len(rows) == len(want) and not wrong, f"compare: each row {wrong[:3] or ''}".rstrip())
    check_access(results, view, "compare")
    quiet(results, view, "compare")


def hostile_programs(folder):
    """The program with hostile symbols and a hostile file name of its own; and with its source's."""
    program = folder / "<img src=x onerror=window.hostile=1>\u202e"
    names = [f"--redefine-sym={old}={new}" for old, new in SYMBOLS.items()]
    run(["objcopy", "--strip-debug", *names, PROGRAMS / "hostile_names", program])
    return {"symbols": program, "lines": PROGRAMS / "hostile_names"}


def test_hostile(results, view, folder):
    for name, program in hostile_programs(folder).items():
        page = write_page(record(folder, name, program))
        text = page.read_text(encoding="utf-8")
        results.check(text.count("<script") == 3, f"{name}: three scripts in the file")
        results.check(view.open(page), f"{name}: opens")
        view.js("for (const e of document.querySelectorAll('details')) e.open = true;"
                "for (const e of document.querySelectorAll('button'))"
                "    if (e.textContent.startsWith('Show all')) e.click();")
        quiet(results, view, name)
        title = view.js("return document.title")
        ran = view.js("return window.hostile || 0")
        results.check(ran == 0 and title.startswith("cpa: "), f"{name}: no script of a name ran")
        made = view.js("return document.querySelectorAll('img, svg, iframe, main script, b b, main i[onclick]').length")
        results.check(made == 0, f"{name}: no name became markup")
        shown = view.js("return document.querySelector('main').textContent")
        want = SHOWN if name == "symbols" else SHOWN[: -len(SYMBOLS)]
        lost = [each for each in want if each not in shown]
        results.check(not lost, f"{name}: names are shown as they are {lost or ''}".rstrip())
        turned = [c for c in shown if ord(c) < 32 or 0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069]
        results.check(not turned, f"{name}: no control character, none that turns text")


def test_errors(results, folder, dump):
    command = [str(BUILD / "cpa-report"), "--html", str(folder / "none/x.html"), str(dump)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    results.check(
        done.returncode == 2 and done.stderr.count("\n") == 1 and "none/x.html" in done.stderr,
        f"a file that cannot be written: {done.stderr.strip()}",
    )
    done = run([BUILD / "cpa-report", "--format", "html", dump])
    results.check(done == write_page(dump).read_text(), "--format html writes the same")


def test_view(results, folder, dump):
    """cpa view writes a page and gives it to xdg-open; without that it says where the page is."""
    tools, shown = folder / "tools", folder / "shown"
    tools.mkdir()
    opener = tools / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" >{shown}.new && mv {shown}.new {shown}\n', encoding="utf-8")
    opener.chmod(0o755)
    for path, there in ((f"{tools}:/usr/bin:/bin", True), (str(folder), False)):
        done = subprocess.run(
            [BUILD / "cpa", "view", dump], capture_output=True, text=True, check=False,
            env=dict(os.environ, PATH=path, TMPDIR=str(folder)),
        )
        said = re.search(r"page in (\S+/cpa\.\w{6}\.html)(: xdg-open not found)?", done.stderr)
        results.check(done.returncode == 0 and said and bool(said[2]) != there, f"view: {done.stderr.strip()}")
        page = pathlib.Path(said[1])
        results.check(page.stat().st_mode & 0o777 == 0o600, "view: the page is the user's alone")
        results.check(data_of(page)["report"]["program"]["name"] == "two_locks", "view: of the dump")
        while there and not shown.exists():
            time.sleep(0.05)
        results.check(not there or shown.read_text().strip() == str(page), "view: the browser gets it")
    done = subprocess.run(
        [BUILD / "cpa", "view", "--paths", dump], capture_output=True, text=True, check=False
    )
    results.check(done.returncode == 2 and "not with" in done.stderr, f"view: {done.stderr.strip()}")


def main():
    results = Results()
    folder = pathlib.Path(os.environ.get("CPA_TMP") or tempfile.mkdtemp())
    dump = record(folder, "run", PROGRAMS / "two_locks")
    test_errors(results, folder, dump)
    test_view(results, folder, dump)
    for program in [*(PROGRAMS / name for name in SUMMED), BUILD / "examples/pipeline"]:
        name, other = program.name, record(folder, program.name, program)
        page, report = write_page(other), read(other)
        check_sums(results, page, report, name)
        check_stacks(results, page, report, name)
    missing = browser.missing() + [each for each in ("objcopy",) if not shutil.which(each)]
    if missing:
        results.skip("the page in a browser", f"{' and '.join(missing)}: not installed")
        return results.end()
    try:
        view = browser.Browser()
    except browser.NoBrowser as error:
        results.skip("the page in a browser", str(error))
        return results.end()
    try:
        test_page(results, view, dump)
        test_policy(results, view, dump)
        test_compare(results, view, folder)
        test_idle(results, view, folder)
        test_streams(results, view, folder)
        test_regions(results, view, folder)
        test_callers(results, view, folder)
        test_hostile(results, view, folder)
    finally:
        view.close()
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
