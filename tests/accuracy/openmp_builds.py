# SPDX-License-Identifier: MIT
"""tests/accuracy/openmp_builds.py - a program with OpenMP by each compiler, and a profile of a run of it"""

import exact  # noqa: F401, the modules of tests/e2e
from profiled import clean_environment, profiled_environment, run


def builds(results, folder, source, shape):
    """The program of @source in @folder by gcc and by clang, of those that are installed."""
    for compiler in ("gcc", "clang"):
        program = folder / f"{source.stem}-{compiler}"
        try:
            run([compiler, "-O2", "-g", "-fopenmp", source, "-o", program])
            run([program, shape, "2"], env=clean_environment())
        except (RuntimeError, OSError):
            results.skip(f"OpenMP of {compiler}", "it is not installed")
            continue
        yield program


def record(folder, program, shape, threads, schedule):
    """Return the dump of a run, and what it printed."""
    dump = folder / f"{program.name}.{shape}.{threads}.{schedule}.dump"
    dump.unlink(missing_ok=True)
    environment = profiled_environment(
        dump, CPA_JOURNAL="64M", OMP_SCHEDULE=schedule, OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0"
    )
    return dump, run([program, shape, str(threads)], env=environment)
