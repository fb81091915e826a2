#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/costs.py - what the machine takes is measured, shown, and limits the rate of samples

Interrupts of samples may take a twentieth of a processor: of a rate that asks for more as many are
taken as that leaves, and the report says so. Prints TAP.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from results import Results

BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()
HZ = 10000
SHARE = 0.05
BRIEF_S = 31e-6  # B of preload/core/untimed.h at least
ROUNDING = 1.01


CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def distrusted(folder):
    """A command's prefix: the kernel says there that it has found the counter unstable. Or None."""
    (folder / "hpet").write_text("hpet\n")
    script = f'mount --bind {folder}/hpet {CLOCKSOURCE} && exec "$@"'
    prefix = ["unshare", "-m", "sh", "-c", script, "-"]
    done = subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False)
    return prefix if done.returncode == 0 else None


def check_distrusted(results, folder):
    """Times are the kernel's then."""
    prefix = distrusted(folder)
    if not prefix:
        results.skip("a counter that the kernel does not trust", "no mount namespaces here")
        return
    found = report(folder / "dump", "0", prefix)
    machine, program = found["diagnostics"]["machine"], found["program"]
    results.check(machine["source"] == "kernel", f"no trusted counter: source {machine['source']}")
    said = [note for note in found["diagnostics"]["notes"] if "unstable" in note]
    results.check(len(said) == 1, f"no trusted counter: {said}")
    apart_s = abs(program["observed_path_s"] - program["wall_s"])
    results.check(apart_s <= 0.001, f"no trusted counter: the path is {apart_s:.6f} s off the run")


def report(dump, hz, prefix=()):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CPA_")}
    environment.update(CPA_OUTPUT=str(dump), CPA_SAMPLE_HZ=hz)
    dump.unlink(missing_ok=True)
    done = subprocess.run([*prefix, "env", f"LD_PRELOAD={BUILD / 'libcpa.so'}",
                           BUILD / "tests/programs/private_lock"], env=environment,
                          stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):  # 1: on a busy machine its path may not be what it claims
        raise RuntimeError(f"private_lock: exit status {done.returncode}")
    done = subprocess.run([BUILD / "cpa-report", "--format", "json", dump], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-costs."))
    machine = report(folder / "dump", "0")["diagnostics"]["machine"]
    # The least of many tries; a wake that took longer than 200 us waited for a processor.
    for key in ("counter_s", "look_s", "wake_s"):
        results.check(0 < machine[key] < 0.001, f"no samples: {key} is {machine[key]:.3g}")
    results.check("interrupt_s" not in machine, "no samples: no interrupt is measured")

    check_distrusted(results, folder)
    found = report(folder / "dump", str(HZ))
    diagnostics, machine = found["diagnostics"], found["diagnostics"]["machine"]
    if "interrupt_s" not in machine:
        results.skip("interrupts of samples", "perf events are not allowed here")
        return results.end(folder)
    interrupt_s, rate = machine["interrupt_s"], machine.get("most_hz", HZ)
    results.check(rate * interrupt_s <= SHARE * ROUNDING,
                  f"{rate} samples a second of {interrupt_s * 1e6:.1f} us take {SHARE:.0%} at most")
    said = [note for note in diagnostics["notes"] if "CPA_SAMPLE_HZ" in note]
    results.check(("most_hz" in machine) == bool(said), f"a lower rate is told: {said}")
    results.check(machine["brief_s"] >= max(BRIEF_S, 2 * interrupt_s) / ROUNDING,
                  f"a section shorter than {machine['brief_s'] * 1e6:.0f} us is told by no sample")
    taken = diagnostics["samples_s"] / interrupt_s
    most = ROUNDING * rate * found["program"]["cpu_s"] + len(found["threads"])
    results.check(0 < taken <= most, f"{taken:.0f} interrupts of {most:.0f}")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
