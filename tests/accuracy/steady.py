#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/accuracy/steady.py - reports of the same work agree, also beside busy loops

A small part of the table of benchmarks/stable.py: the critical path of a few programs, alone and
beside two loops. A run beside others is done again. Prints TAP.
"""

import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import exact  # noqa: E402,F401, the modules of tests/e2e
import looks  # noqa: E402
import measure  # noqa: E402
import stable  # noqa: E402
from results import Results  # noqa: E402

BUILD = pathlib.Path(os.environ["CPA_BUILD"]).resolve()
PROGRAMS = ("pigz", "zstd", "python", "make")
LOOPS = (0, 2)
RUNS = 3


def check(results, cpa, name):
    def once(loops):
        return looks.left_alone(lambda: stable.read_once(cpa, name, loops))

    runs = {loops: [once(loops) for _ in range(RUNS)] for loops in LOOPS}
    path = stable.figures_of(runs)[0]
    found = ", ".join(f"{seconds:.3f} s beside {n} loops" for n, seconds in path.medians.items())
    results.check(
        path.good(),
        f"{name}: critical path {found}; medians {path.apart:.1%} apart, a run off by {path.off:.1%}",
    )


def main():
    results = Results()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as folder:
        stable.prepare(folder)
        cpa = measure.Cpa(BUILD, folder)
        for name in PROGRAMS:
            if not shutil.which(stable.words_of(name, folder)[0]):
                results.skip(name, "not installed")
                continue
            try:
                check(results, cpa, name)
            except looks.Busy as error:
                results.skip(name, error)
            except (measure.Fails, ValueError) as error:
                results.check(False, f"{name}: {error}")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
