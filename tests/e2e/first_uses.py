#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/first_uses.py - no use of a lock is lost where two threads use it for the first time at once"""

import os
import pathlib
import sys
import tempfile

from profiled import Profiler, check_contradictions
from results import Results

LOCKS, THREADS = 500, 2  # of tests/programs/first_uses.c

results = Results()
folder = pathlib.Path(tempfile.mkdtemp(prefix="first_uses.", dir=os.environ.get("CPA_TMP")))
report, _ = Profiler(folder).profile("first_uses")
locks = [o for o in report["objects"] if o["kind"] == "rwlock"]
uses = sum(o["acquisitions"] for o in locks)
results.compare(uses == LOCKS * THREADS, "uses of new locks", uses, LOCKS * THREADS)
notes = [note for note in report["diagnostics"]["notes"] if "unlock" in note.lower()]
results.check(not notes, f"each unlock is that of a lock {'; '.join(notes)}".rstrip())
check_contradictions(results, "first uses", report)
sys.exit(results.end(folder))
