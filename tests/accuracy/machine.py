# SPDX-License-Identifier: MIT
"""tests/accuracy/machine.py - what a test asks of the machine so that its programs run undisturbed"""

import ctypes
import os
import resource
import struct
import time

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


class Others:
    """What other processes had of the machine since this was made, and its hypervisor took."""

    def __init__(self):
        self.began = self._now()

    @staticmethod
    def _now():
        """Wall time, that of all processors in use or stolen, and that of our children; seconds."""
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), busy, own.ru_utime + own.ru_stime

    def share(self):
        """Of all processors, 0 to 1. Of less than some 100 ms it is not known well."""
        wall, busy, own = (now - then for now, then in zip(self._now(), self.began))
        return max(0, busy - own) / (wall * os.cpu_count())
