# SPDX-License-Identifier: MIT
"""tests/real/debian.py - Debian packages: which versions are there, and install the others"""

import contextlib
import functools
import os
import pathlib
import subprocess

# Packages of servers start them unless this says no.
POLICY = pathlib.Path("/usr/sbin/policy-rc.d")
INSTALL = (
    "apt-get -qq -y -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 "
    "--no-install-recommends install"
).split()


@functools.cache
def version(package):
    """The installed version of a package; None if it is not installed."""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", package],
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, number = done.stdout.partition(" ")
    return number if state == "installed" else None


def absent(program):
    return [each for each in program.packages.split() if not version(each)]


def apt(command):
    """Run it; the last line of what it complains about, None if it succeeds."""
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return (done.stdout.strip().splitlines() or ["?"])[-1] if done.returncode else None


@contextlib.contextmanager
def no_server_starts():
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def install(programs, reasons):
    """All at once, which is fast; if that fails, what each program needs by itself."""
    apt(["apt-get", "-qq", "update"])
    with no_server_starts():
        everything = sorted({name for each in programs for name in absent(each)})
        if apt([*INSTALL, *everything]):
            for each in programs:
                refusal = apt([*INSTALL, *each.packages.split()])
                if refusal:
                    reasons[each.name] = f"cannot be installed: {refusal}"
    apt(["apt-get", "clean"])
    version.cache_clear()


def missing(programs, may_install):
    """Names of the programs that cannot run here, each with the reason."""
    reasons, wanted = {}, [each for each in programs if absent(each)]
    if wanted and may_install and os.geteuid() == 0:
        install(wanted, reasons)
    return {
        each.name: reasons.get(each.name, f"not installed: {' '.join(absent(each))}")
        for each in wanted
        if absent(each)
    }
