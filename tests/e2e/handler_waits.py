#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/handler_waits.py - what a signal handler does in a wait is on the observed path once

tests/programs/handler_in_wait.c waits for a semaphore; a handler that sleeps ends the wait with
EINTR. The sleep was counted again behind the wait, as time in cpa: the path was twice as long as
the run.

tests/programs/unseen_child.c waits for a child that a handler made, which does not join the session.
That wait was on no path.

tests/programs/killed_child.c waits for a child that a handler kills, which takes a lock, too. The time from the
child's last event to the handler was on no path.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
folder = pathlib.Path(tempfile.mkdtemp())
dump = folder / "waits.dump"
results = Results()


def run(program):
    done = subprocess.run([BUILD / "cpa", "run", "-q", "--force", "-o", dump, "--", BUILD / "tests/programs" / program],
                          check=False)
    results.check(done.returncode == 0, f"{program} ends with {done.returncode}")
    text = subprocess.run([BUILD / "cpa-report", "--format", "json", dump], capture_output=True, check=True).stdout
    report = json.loads(text)
    notes = [each for each in report["diagnostics"]["notes"] if "observed path is" in each]
    results.check(not notes, f"{program}: the observed path is as long as the run: {notes}")
    return report["program"]["observed_external"]["service_s"]


results.check(run("handler_in_wait") >= 0.3, "the handler's sleeps are on it")
results.check(run("unseen_child") >= 0.09, "the wait for a child that is not in the session is on it")
run("killed_child")
sys.exit(results.end(folder))
