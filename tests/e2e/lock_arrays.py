#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/lock_arrays.py - an array of locks as a whole: its name, its sums, its busiest lock"""

import os
import pathlib
import sys
import tempfile

from profiled import Profiler
from results import Results

results = Results()
folder = pathlib.Path(tempfile.mkdtemp(prefix="lock_arrays.", dir=os.environ.get("CPA_TMP")))
report, _ = Profiler(folder).profile("lock_array")
arrays = {a["name"]: a for a in report["lock_arrays"]}
expected = {
    "bank[0..7].m": ("mutex", 8, 8 * 10 + 28, "bank[7].m"),
    "grid[2..5]": ("mutex", 4, 4, None),  # its elements are numbered in the order of memory
    "kinds[0..1]": ("rwlock", 2, 2, None),
}
results.check(sorted(arrays) == sorted(expected), f"arrays: {sorted(arrays)}")
for name, (kind, locks, uses, busiest) in expected.items():
    a = arrays.get(name, {})
    found = (a.get("kind"), a.get("locks"), a.get("acquisitions"))
    results.check(found == (kind, locks, uses), f"{name}: {found}")
    members = [o for o in report["objects"] if o["class"].startswith(name.partition("[")[0] + "[")]
    for key in ("contended", "handoffs", "wait_s", "hold_s"):
        whole = sum(o[key] for o in members)
        results.check(abs(a.get(key, -1) - whole) < 1e-7, f"{name}: {key} is the sum, {whole}")
    if busiest:
        results.check(a.get("busiest") == busiest, f"{name}: the busiest is {a.get('busiest')}")
sys.exit(results.end(folder))
