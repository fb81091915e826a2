# SPDX-License-Identifier: MIT
"""tests/e2e/layout.py - where things lie in a session: the compiler says so"""

import os
import pathlib
import shlex
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILE = [*shlex.split(os.environ.get("CC", "cc")), f"-I{ROOT}", "-D_GNU_SOURCE"]


def values(*expressions):
    """What each of the C @expressions on shadow/format/layout.h comes to."""
    printed = "".join(f'printf("%zu\\n", (size_t)({each}));' for each in expressions)
    source = (
        "#include <stddef.h>\n#include <stdio.h>\n"
        f'#include "shadow/format/layout.h"\nint main(void) {{ {printed} }}\n'
    )
    with tempfile.TemporaryDirectory(dir=os.environ.get("CPA_TMP")) as folder:
        program = f"{folder}/values"
        subprocess.run(
            [*COMPILE, "-x", "c", "-", "-o", program], input=source, text=True, check=True
        )
        done = subprocess.run([program], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]
