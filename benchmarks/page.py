# SPDX-License-Identifier: MIT
"""Table of benchmarks/run: pages of journals of 10^3 to 10^7 events, written and opened in Chromium."""
import json
import os
import sys

from measure import Fails, median, run, table

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/e2e"))
import browser  # pylint: disable=wrong-import-position

USES = [(500, "16M"), (5_000, "16M"), (50_000, "64M"), (500_000, "256M"), (5_000_000, "512M")]
QUICK_MOST = 500_000
OPENED = 3
# In to one event, along the path, out again: what each key takes to draw, ms.
KEYS = "++++++++++++nnnne0+n+n+nrrr0"
DRAW = """
const target = document.querySelector('#timeline canvas[tabindex]'), drawn = [];
for (const key of arguments[0]) {
    target.dispatchEvent(new KeyboardEvent('keydown', { key: key === 'r' ? 'ArrowRight' : key }));
    drawn.push(Number(target.dataset.drawn));
}
return drawn;
"""
LOADED = """
const times = performance.getEntriesByType('navigation')[0];
return [times.loadEventEnd, performance.memory ? performance.memory.usedJSHeapSize : 0];
"""


def opened(page):
    """Milliseconds until the page is loaded and drawn, MB of its heap, and those of each redraw."""
    view = browser.Browser()
    try:
        if not view.open(page):
            raise Fails("it does not open")
        loaded_ms, heap = view.js(LOADED)
        return loaded_ms, heap / 1e6, view.js(DRAW, KEYS)
    finally:
        view.close()


def row(cpa, uses, size):
    done = run([cpa.program("scale"), "length", str(uses)],
               cpa.environment(CPA_JOURNAL=size, CPA_SAMPLE_HZ="0"))
    if done.status:
        raise Fails(f"exit status {done.status}")
    page = f"{cpa.folder}/page.html"
    written = run([f"{cpa.build}/cpa-report", "--html", page, cpa.path()])
    if written.status:
        raise Fails("the page cannot be written")
    with open(page, encoding="utf-8") as text:
        data = json.loads(text.read().split('id="data">', 1)[1].split("</script>", 1)[0])
    found = [opened(page) for _ in range(OPENED)]
    drawn = [ms for one in found for ms in one[2]]
    timeline = data["timeline"]
    return [f"{timeline['events']:,}", f"{timeline['events'] - timeline['left_out']:,}",
            f"{os.path.getsize(page) / 1e6:.2f}", f"{written.cpu:.2f}",
            f"{median([one[0] for one in found]):.0f}", f"{median([one[1] for one in found]):.0f}",
            f"{median(drawn):.1f}", f"{median([max(one[2]) for one in found]):.1f}"]


def pages(cpa, quick):
    missing = browser.missing()
    if missing:
        return f"Not measured: {' and '.join(missing)} not installed."
    rows = []
    for uses, size in USES:
        if quick and uses > QUICK_MOST:
            continue
        try:
            rows.append(row(cpa, uses, size))
        except Fails as error:
            rows.append([f"{uses:,} uses: {error}", *["-"] * 7])
    return ("`cpa-report --html` of two threads that use 64 locks, opened from disk in Chromium without a "
            "graphics processor, 1,280 x 900. Listed: events that the page holds one by one; the others "
            "are in its columns. Opened: until it is loaded and drawn, median of three. Redrawn: each of "
            f"{len(KEYS)} keys, which zoom from the run to one event and back. Targets: 10^6 events "
            "opened in 2 s, redrawn in 50 ms.\n\n" +
            table(["events", "listed", "page MB", "written, CPU s", "opened, ms", "heap MB",
                   "redrawn, ms, median", "slowest"], rows))
