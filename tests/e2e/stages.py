# SPDX-License-Identifier: MIT
"""tests/e2e/stages.py - what tests/programs/stages.h says of its two pipelines"""

ITEMS, DEPTH = 30, 4  # items through each queue; room of the deeper one
