# SPDX-License-Identifier: MIT
"""By how much components' shares of the critical path differ between two ways of profiling a program."""
import math
import statistics

import programs
from measure import Fails

HEAVIEST = 10
WINDOW_S = 0.05
HEAD = ["shares differ by, points", "2 standard errors", "of", "exact runs differ by"]


def of_profile(cpa):
    """The last profile: the length of its critical path, and what components have of it, seconds: of windows what they
    have of the run.

    Locks that are held for longer than a window on average are left out: windows do not know them
    (docs/parts.md).
    """
    found = programs.report(cpa.build, cpa.path())
    path_s = found["program"]["critical_path_s"]
    if not found["program"]["complete"]:
        raise Fails("the dump is not complete")
    taken = {each["class"]: each["acquisitions"] for each in found["objects"]}
    return path_s, {
        (c["kind"], c["name"], c["location"]): c["run_share"] * path_s if "run_share" in c else c["critical_path_s"] for c in found["components"]
        if c["kind"] != "thread" and c["total_s"] <= WINDOW_S * taken.get(c["name"], math.inf)}


def points(profiles, component):
    """The component's share of the paths of all profiles together, and its shares in each."""
    each = [100 * has.get(component, 0) / path for path, has in profiles if path]
    whole = sum(path for path, _ in profiles)
    return 100 * sum(has.get(component, 0) for _, has in profiles) / (whole or 1), each


def difference(exact, budget, component):
    """Of a component: the difference in points, and its standard error, from how runs of one kind differ."""
    (all_exact, of_exact), (all_budget, of_budget) = points(exact, component), points(budget, component)
    errors = [statistics.stdev(each) / math.sqrt(len(each)) for each in (of_exact, of_budget)
              if len(each) > 1]
    return abs(all_exact - all_budget), math.hypot(*errors), max(of_exact) - min(of_exact)


def differ(exact, budget):
    """Cells below HEAD, of that of the ten components with most of the exact paths which differs most."""
    components = {component for _, has in exact for component in has}
    heaviest = sorted(components, key=lambda each: -points(exact, each)[0])[:HEAVIEST]
    found = {each: difference(exact, budget, each) for each in heaviest}
    most = max(heaviest, key=lambda each: found[each][0])
    off, error, own = found[most]
    return [f"{off:.1f}", f"{2 * error:.1f}", f"{most[0]} `{most[1]}`", f"{own:.1f}"]
