# SPDX-License-Identifier: MIT
"""tests/accuracy/exact.py - after this is imported, the modules of tests/e2e can be, too"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path.append(str(FOLDER))
