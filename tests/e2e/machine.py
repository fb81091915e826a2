# SPDX-License-Identifier: MIT
"""tests/e2e/machine.py - what a test asks of the machine so that its programs run undisturbed"""

import ctypes
import struct

PERF_EVENT_OPEN = 298  # x86-64
PERF_FLAG_FD_CLOEXEC = 8
SIZE = 112
SOFTWARE, CPU_CLOCK = 1, 0
DISABLED, USER_ONLY = 1, 1 << 5 | 1 << 6


def hold_perf_event():
    """
    Keep one perf event of this process open until it ends. The kernel stops whoever opens the first
    one of the machine for some milliseconds, to switch its scheduler over: without this, a program
    under test or another, by chance. Where perf is not allowed, nobody is stopped.
    """
    attributes = struct.pack("IIQQQQQ", SOFTWARE, SIZE, CPU_CLOCK, 0, 0, 0, DISABLED | USER_ONLY)
    libc = ctypes.CDLL(None)
    padded = attributes.ljust(SIZE, b"\0")
    return libc.syscall(PERF_EVENT_OPEN, padded, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)
