# SPDX-License-Identifier: MIT
"""tests/e2e/profiled.py - programs under libcpa.so, their reports, and what holds of every report"""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CPA_BUILD") or ROOT / "build").resolve()
PROGRAMS = BUILD / "tests/programs"
# Not a limit on speed: what takes this long hangs.
TIMEOUT_S = 240
# What --verify compares of every run.
SAME = ("events, process and external time, path lengths of thread rows",
        "shares of the critical path, by component slot", "what zeroing saves, by component slot")
TAKEN = "the kernel took the wait for time on the run queue"
ROUNDING_S = 1e-6  # of a figure; seconds are printed with six decimals and more
# Of the observed path and the run: two readings of the clock at either end, and turns of the TSC.
TILES_S, TILES = 0.001, 0.001


def run(command, **options):
    """Return standard output. Raise RuntimeError with what the command said if it failed."""
    command = [str(each) for each in command]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **options
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from error
    if done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip()).replace("\n", "; ")
        raise RuntimeError(f"{command[0]}: exit status {done.returncode}: {text}")
    return done.stdout


def ended_well(status, error):
    """
    Whether that is so of a program, which may know its path. It may say that its path is not what it claims: then
    the machine gave its threads too little time for that, which is the program's own affair.
    """
    return status == 0 or (status == 1 and "claimed" in error)


def run_known(command, environment, **options):
    """Return standard output of a program that may know its path."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment, **options
    )
    if not ended_well(done.returncode, done.stderr):
        raise RuntimeError(f"{command}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def clean_environment(**settings):
    """Ours, without what makes a profile, and with @settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_"))}
    return dict(kept, **settings)


def profiled_environment(dump, **settings):
    return clean_environment(
        LD_PRELOAD=str(BUILD / "libcpa.so"), CPA_OUTPUT=str(dump), CPA_QUIET="1", **settings
    )


def read(dump, *options):
    return json.loads(run([BUILD / "cpa-report", "--format", "json", *options, dump]))


def code_of(contexts, context):
    """The context of the function whose code @context is, as that may be inlined."""
    while context.get("inlined"):
        context = contexts[context["caller"]]
    return context


def verify(dump):
    """Whether figures are to the tick those of the journal, and what --verify says."""
    command = [BUILD / "cpa-report", "--verify", str(dump)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    text = done.stdout + done.stderr
    good = done.returncode == 0 and all(f"equal: {what}" in text for what in SAME) and "not compared" not in text
    return good, text.strip().replace("\n", "; ")


class Profiler:
    """Runs programs of tests/programs, each with a dump of its own in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.runs = 0

    def dump(self):
        """That of the latest run."""
        return self.folder / f"{self.runs}.dump"

    def native(self, name, *arguments):
        return run([PROGRAMS / name, *arguments], env=clean_environment())

    def profile(self, name, *arguments, **settings):
        """Return the report and the program's output."""
        self.runs += 1
        environment = profiled_environment(self.dump(), **settings)
        output = run_known([PROGRAMS / name, *map(str, arguments)], environment)
        return read(self.dump()), output


def component(report, kind, name):
    """The one of that name; without time it need not be listed."""
    found = [c for c in report["components"] if (c["kind"], c["name"]) == (kind, name)]
    return found[0] if found else {"saved_s": 0.0, "critical_path_s": 0.0, "cpu_s": 0.0}


def taken_for_ready(report, routine, wait_s):
    """
    Whether Linux may have taken a wait of @wait_s of the thread that runs @routine for time on the run queue, as
    docs/limits.md says.
    """
    return any(t["runqueue_s"] >= wait_s for t in report["threads"] if t["start_routine"] == routine)


def waited_or_ready_s(report, kind):
    """
    How long the first thread waited for what is not seen, external time of @kind, or was ready: Linux at times
    takes a wait for that, as docs/limits.md says.
    """
    first = next(t for t in report["threads"] if t["process"] == 1 and t["start_routine"] == "main")
    found = [c["total_s"] for c in report["components"] if (c["kind"], c["name"]) == ("external", kind)]
    return sum(found) + first["runqueue_s"]


def beyond_s(report):
    """
    How long threads were seen after the run. While the first process ends other threads and processes go
    on, and the longest path may be theirs.
    """
    end_s = report["parts"][-1]["to_s"] if report["parts"] else report["program"]["wall_s"]
    return max(0, max((t["last_event_s"] for t in report["threads"]), default=0) - end_s)


def contradictions(report):
    """What cannot be so in the report of any run, on however busy a machine; a text for each."""
    program = report["program"]
    path_s, wall_s = program["critical_path_s"], program["wall_s"]
    threads, components = report["threads"], report["components"]
    slack_s = ROUNDING_S * (len(threads) + 1)

    cpu_s = sum(t["cpu_s"] for t in threads)
    if abs(cpu_s - program["cpu_s"]) > slack_s:
        yield f"threads have {cpu_s:.6f} s of CPU time, the program {program['cpu_s']:.6f} s"
    work_s = cpu_s + program["external_s"]
    if path_s > work_s + slack_s:
        yield f"a path of {path_s:.6f} s, and {work_s:.6f} s of work"
    segments_s = sum(program["observed_segments"].values())
    if abs(segments_s - program["observed_path_s"]) > slack_s:
        yield f"an observed path of {program['observed_path_s']:.6f} s, in parts {segments_s:.6f} s"
    if abs(segments_s - wall_s) > TILES * wall_s + TILES_S:
        yield f"an observed path of {segments_s:.6f} s, in a run of {wall_s:.6f} s"
    late_s = beyond_s(report)
    if path_s > (wall_s + late_s) * (1 + TILES) + TILES_S:
        yield f"a path of {path_s:.6f} s, in a run of {wall_s:.6f} s, and {late_s:.6f} s after it"
    for each in threads:
        if each["critical_path_s"] > path_s + ROUNDING_S:
            yield f"thread {each['id']} has a path of {each['critical_path_s']:.6f} s of {path_s:.6f}"
    for each in components:
        name, share_s = f"{each['kind']} {each['name']}", each["critical_path_s"]
        if not -ROUNDING_S <= share_s <= path_s + ROUNDING_S:
            yield f"{name} has {share_s:.6f} s of a path of {path_s:.6f} s"
        if not -ROUNDING_S <= each["saved_s"] <= path_s + ROUNDING_S:
            yield f"{name} saves {each['saved_s']:.6f} s of a path of {path_s:.6f} s"
    contexts = report.get("callers", {}).get("contexts", [])
    blocked_s = sum(c["critical_path_s"] for c in components if c["kind"] == "external")
    called_s, slack_s = sum(c["critical_path_s"] for c in contexts), ROUNDING_S * (len(contexts) + len(components) + 1)
    if called_s > path_s - blocked_s + slack_s:
        yield f"a path of {path_s:.6f} s, {blocked_s:.6f} s of it blocked, and contexts have {called_s:.6f} s"
    called_s, slack_s = sum(c["cpu_s"] for c in contexts), slack_s + ROUNDING_S * len(threads)
    if called_s > cpu_s + slack_s:
        yield f"threads have {cpu_s:.6f} s of CPU time, contexts {called_s:.6f} s"


def check_contradictions(results, label, report):
    found = list(contradictions(report))
    results.check(not found, f"{label}: the report adds up {'; '.join(found[:4])}".rstrip())
