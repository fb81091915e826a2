#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/e2e/unread.py - bytes that nobody reads do not fill the session

tests/programs/unread makes pipes one after the other, or pairs of sockets, writes each 128 times, and closes
it: as a server with clients outside the session. With four times as many the session has more rows, one for
each stream, and no more records of writes: each pipe would have left 80 KiB of them. So it is if they are
closed while profiling is off. A pipe to us is known to go outside: its writes are counted still, but for those
while profiling is off. Readers of the session find who wrote: one that waits in one call for all of many
writes, and a loop of a shell whose commands close what the loop reads. Prints TAP and a summary.
"""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile

from profiled import PROGRAMS, TIMEOUT_S, profiled_environment, read
from results import Results

# Beyond this many the records of the oldest go: CPA_STREAMS_CLOSED of shadow/format/layout_stream.h.
KEPT = 256
FEW, MANY = 2 * KEPT, 8 * KEPT
OUTWARD = 20_000  # writes of a KiB
WHOLE = 5_000  # such writes, read at once
KNOWN = 128  # latest writes of a stream: CPA_STREAM_RECORDS
ROUNDS, SENDS = 20, KNOWN  # of tests/programs/unread sent
LOOP = "printf 'a\\nb\\n' | while read x; do for i in $(seq 300); do true | cat; done; done"
A_STREAM = 12 << 10  # bytes: two rows of a pair of sockets, and their places in the index


def size(folder, kind, count):
    """Bytes of the profile of a run with @count streams."""
    dump = folder / f"{kind}.{count}.dump"
    subprocess.run(
        [PROGRAMS / "unread", kind, str(count)],
        timeout=TIMEOUT_S,
        check=True,
        env=profiled_environment(dump),
    )
    return dump.stat().st_blocks * 512


def check_outward(results, folder):
    dump = folder / "outward.dump"
    with subprocess.Popen(
        [PROGRAMS / "unread", "outward", str(OUTWARD)],
        stdout=subprocess.PIPE,
        env=profiled_environment(dump),
    ) as program:
        got = len(program.stdout.read())
    found = [(row["writes"], row["bytes"], row["to"]) for row in read(dump)["streams"]]
    wanted = [(OUTWARD, 2 * OUTWARD << 10, None)]
    results.compare(found == wanted and got == 2 * OUTWARD << 10, "outward", found, wanted)


def check_sent(results, folder):
    """
    We read all of each round before we answer. So no send waits, and nothing is on its way at the first send of a
    round, which is the one that asks the kernel: it is the last one with a record. A send that is preempted is an
    event of another kind.
    """
    dump = folder / "sent.dump"
    ours, theirs = socket.socketpair()
    with subprocess.Popen(
        [PROGRAMS / "unread", "sent", str(ROUNDS)],
        stdin=subprocess.PIPE,
        stdout=theirs,
        env=profiled_environment(dump),
    ) as program:
        theirs.close()
        for _ in range(ROUNDS):
            got = 0
            while got < SENDS:
                got += len(ours.recv(SENDS - got))
            program.stdin.write(b"x")
            program.stdin.flush()
    report = read(dump, "--level", "pag")
    writes = sum(row["writes"] for row in report["streams"] if row["kind"] == "unix socket")
    kind = {node["id"]: node["kind"] for node in report["pag"]["nodes"]}
    events = sum(edge["count"] for edge in report["pag"]["edges"] if kind[edge["to"]] == "write")
    wanted = (ROUNDS * SENDS, SENDS + 1)
    results.compare((writes, events) == wanted, "sent, with a record", (writes, events), wanted)


def check_whole(results, folder):
    dump = folder / "whole.dump"
    subprocess.run(
        [PROGRAMS / "unread", "whole", str(WHOLE)],
        timeout=TIMEOUT_S,
        check=True,
        env=profiled_environment(dump),
    )
    found = [(row["writes"], row["messages"]) for row in read(dump)["streams"]]
    # The bytes may be read before the thread that wrote the last of them has noted that it wrote them.
    wanted = [[(WHOLE, known)] for known in (KNOWN - 1, KNOWN)]
    results.compare(found in wanted, "read as a whole", found, f"{WHOLE} writes, {KNOWN} known, or one less")


def check_loop(results, folder):
    dump = folder / "loop.dump"
    subprocess.run(["bash", "-c", LOOP], timeout=TIMEOUT_S, check=True, env=profiled_environment(dump))
    found = [(row["bytes"], row["unmatched"]) for row in read(dump)["streams"] if row["bytes"] == 4]
    results.compare(found == [(4, 0)], "a loop of a shell", found, "4 bytes, none unmatched")


def main():
    results = Results()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unread.", dir=os.environ.get("CPA_TMP")))
    for kind in ("pipe", "socket", "stopped"):
        few, many = (size(folder, kind, count) for count in (FEW, MANY))
        text = f"{kind}: {FEW} streams: {few >> 10} KiB, {MANY}: {many >> 10} KiB"
        results.check(many - few < (MANY - FEW) * A_STREAM, text)
    check_outward(results, folder)
    check_sent(results, folder)
    check_whole(results, folder)
    check_loop(results, folder)
    return results.end(folder)


if __name__ == "__main__":
    sys.exit(main())
