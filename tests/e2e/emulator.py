#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/emulator.py - a program that QEMU emulates inherits the library, and runs as without it

QEMU passes LD_PRELOAD on to the emulated program, so the library is loaded twice: into QEMU by the
host's loader, and into the emulated program by its own. Without qemu-user it is skipped. Prints TAP.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from results import Results

TIMEOUT_S = 240
RUNS = 4
BUILD = pathlib.Path(os.environ.get("CPA_BUILD", "build")).resolve()


def run(*command):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CPA_", "LD_PRE"))}
    return subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_S,
        env=environment,
    )


def main():
    results = Results()
    qemu = shutil.which("qemu-x86_64")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpa-emulator-", dir=os.environ.get("CPA_TMP")))
    # Long enough that the sampler's signals reach the emulated program.
    data = folder / "data"
    data.write_bytes(bytes(range(256)) * 40000)
    command = [qemu, "/usr/bin/sha256sum", data]
    native = run(*command) if qemu else None
    for i in range(RUNS):
        name = f"sha256sum, run {i + 1}"
        if not native or native.returncode:
            results.skip(name, "no qemu-x86_64 here that works")
            continue
        dump = folder / f"{i}.dump"
        done = run(BUILD / "cpa", "run", "-q", "-o", dump, "--", *command)
        results.check(
            (done.returncode, done.stdout, done.stderr)
            == (native.returncode, native.stdout, native.stderr),
            f"{name}: status {done.returncode}, says {done.stderr.decode(errors='replace')!r}",
        )
        report = run(BUILD / "cpa-report", dump)
        results.check(report.returncode == 0, f"{name}: there is a report")
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
