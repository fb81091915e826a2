#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/beside_loops.py - busy loops change no critical path

Beside two of them: the random histories of tests/property, whose results are exact; then the programs
that know their own path, once each, by known_paths.py --loops. Prints TAP, and how many runs of these
were not what the program claims to be.
"""

import pathlib
import subprocess
import sys

import exact  # noqa: F401, the modules of tests/e2e
from profiled import BUILD
from results import Results
from known_paths import Loops

LOOPS = 2
HANGS_S = 600


def check_histories(results):
    for program in sorted((BUILD / "tests/property").iterdir()):
        if program.suffix or not program.is_file():
            continue
        done = subprocess.run(
            [program], capture_output=True, text=True, timeout=HANGS_S, check=False
        )
        said = [line for line in done.stdout.splitlines() if "seed" in line.lower()]
        text = f"{program.name} beside {LOOPS} loops: {' '.join(said[:1]) or 'no seed'}"
        results.check(done.returncode == 0, text)


def check_programs(results):
    """The lines of known_paths.py are ours, too."""
    script = pathlib.Path(__file__).with_name("known_paths.py")
    command = [sys.executable, script, "--loops", str(LOOPS), "--build", BUILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as known:
        for line in known.stdout:
            good, found, text = line.rstrip().partition(" - ")
            if not found or not good.startswith(("ok ", "not ok ")):
                print(line, end="")
            elif " # SKIP " in text:
                results.skip(*text.split(" # SKIP ", 1))
            else:
                results.check(good.startswith("ok"), text)


def main():
    results = Results()
    with Loops(LOOPS):
        check_histories(results)
    check_programs(results)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
