# SPDX-License-Identifier: MIT
"""tests/e2e/results.py - what an end-to-end test prints: TAP lines, and their sums at the end"""

import shutil
import signal
import sys

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as of a shell's background job: not what the tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Results:
    """TAP lines, and how many of each kind."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def _number(self):
        return self.passed + self.failed + self.skipped

    def check(self, good, text):
        if good:
            self.passed += 1
        else:
            self.failed += 1
        print(f"{'ok' if good else 'not ok'} {self._number()} - {text}", flush=True)
        return good

    def compare(self, good, label, found, expected):
        """A check of a figure, which `make accuracy` shows in columns."""
        return self.check(good, f"{label}: found {found}, expected {expected}")

    def skip(self, text, reason):
        self.skipped += 1
        print(f"ok {self._number()} - {text} # SKIP {reason}", flush=True)

    def run(self, checks):
        """Call those of @checks, by name, that the command line names, or all."""
        for name in sys.argv[1:] or checks:
            try:
                checks[name]()
            except (RuntimeError, ValueError) as error:
                self.check(False, f"{name}: {error}")
            except (KeyError, TypeError, IndexError) as error:
                self.check(False, f"{name}: not in the report: {error!r}")

    def end(self, folder=None):
        """Print plan and sums; remove @folder unless something failed. Return the exit status."""
        print(f"1..{self._number()}")
        if folder and self.failed:
            print(f"# what is needed to look into it is in {folder}")
        elif folder:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0
