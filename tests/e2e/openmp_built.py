# SPDX-License-Identifier: MIT
"""tests/e2e/openmp_built.py - an OpenMP program beside its test, built by each compiler: for openmp_*.py"""

import os
import pathlib
import shutil
import tempfile

from profiled import clean_environment, run
from results import Results


def check_built(source, flags, check, **settings):
    """
    Call check(results, folder, program) for the program of @source by gcc and by clang, if it ends well natively with
    @settings and without arguments; the script's exit status.
    """
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{source.stem}.", dir=os.environ.get("CPA_TMP")))
    for compiler in ("gcc", "clang"):
        program = folder / f"{source.stem.removeprefix('openmp_')}-{compiler}"
        try:
            run([compiler, *flags, source, "-o", program])
            run([program], env=clean_environment(**settings))
        except (RuntimeError, OSError):
            results.skip(f"OpenMP of {compiler}", "it is not installed" if not shutil.which(compiler) else "no runtime")
            continue
        check(results, folder, program)
    return results.end(folder)
