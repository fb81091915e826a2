#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hot paths stay short, and call nothing but the function that was asked for.

Instructions are counted by single steps (benchmarks/steps.c says why not by callgrind), so no noise
gets into it. Only those of libcpa.so count: what libc does is not ours. Of the rounds the shortest counts:
a preemption makes cpa look where the time went, and on a busy machine most rounds of a pipe have one. A
budget is the figure measured with gcc 12 -O2, which stands beside it, and 10 %.
"""
import json
import os
import subprocess
import sys

BUILD = os.environ.get("CPA_BUILD", "build")
TMP = os.environ.get("CPA_TMP", "/tmp")
MARGIN = 1.1
ROUNDS = "100"
# With samples: a thread that is stepped for long looks as if it blocked their signal.
FEW_ROUNDS = "30"

LOCK = {"pthread_mutex_trylock", "__pthread_mutex_unlock"}
LIVE = LOCK | {"pthread_mutex_init", "__pthread_mutex_destroy"}
POST = {"sem_post", "sem_trywait", "pthread_testcancel", "__errno_location"}
# How many slots the two threads had time in makes 1,280 to 1,400 instructions of a hand-off.
# Vectors of several sizes are joined and copied at hand-offs; nothing is where nobody else came.
BYTES = {"__errno_location", "__write", "read", "memcpy", "memmove"}
COPY = {"dup", "__close", "__errno_location"}
OMP_LOCK = {"omp_test_lock", "omp_unset_lock"}
CRITICAL = {"GOMP_critical_start", "GOMP_critical_end"}
REGION = {"GOMP_parallel", "__errno_location"}
BARRIER = {"GOMP_barrier", "__errno_location"}
TASK = {"GOMP_task", "GOMP_taskwait", "__errno_location"}
VECTORS = {"memcpy", "memmove", "memset"}

# name in steps.c, CPA_SAMPLE_HZ, instructions in libcpa.so, calls allowed
# 20 samples a second: more would come in every round of single steps, which take their time. 0 where what a sample
# has found would be shared out at each event.
BUDGETS = [
    ("private", "20", 199, LOCK, "an untimed lock and unlock, nobody else takes the mutex"),
    ("again", "20", 199, LOCK, "the same, of a mutex that another thread had taken"),
    ("private", "0", 752, LOCK, "a timed lock and unlock"),
    ("live", "0", 1690, LIVE, "init, lock, unlock and destroy of a mutex"),
    ("hand-off", "0", 1453, LOCK | VECTORS, "lock and unlock after another thread's"),
    ("post-wait", "0", 1241, POST, "post and wait for a semaphore"),
    ("omp-lock", "20", 203, OMP_LOCK, "omp_set_lock() and omp_unset_lock(), nobody else takes it"),
    ("omp-critical", "20", 208, CRITICAL, "a critical section, nobody else enters it"),
    ("omp-region-alone", "0", 1569, REGION, "a parallel region of one thread"),
    ("omp-task", "0", 2654, TASK | VECTORS, "an OpenMP task and the wait for it"),
    ("omp-barrier", "0", 2500, BARRIER | VECTORS, "a barrier of two threads, by who comes last"),
    ("pipe", "0", 1783, BYTES, "write and read of a pipe that do not block"),
    ("splice", "0", 3919, BYTES | {"splice"}, "write of a pipe, splice() to another, read there"),
    ("plain-read", "20", 76, BYTES, "a read of what is no stream"),
    ("send-outside", "20", 299, {"sendmsg", "recv"},
     "sendmsg() and recv() of a connection that is not followed"),
    ("copy-close", "0", 878, COPY, "dup() and close() of a pipe's end for writing"),
    ("plain-copy-close", "20", 200, COPY, "dup() and close() of what is no stream"),
    ("fcntl", "20", 19, {"__libc_fcntl64"}, "fcntl() that copies nothing"),
]
ANNOTATION = 3  # load, test, branch
# While profiling is off: a test of one word before the original, and behind it if that may block.
OFF = [
    ("private", 21, "a lock and unlock"),
    ("try", 18, "a try and unlock"),
    ("spin", 26, "a spin lock and unlock"),
    ("read", 37, "a lock for reading and unlock"),
    ("write", 37, "a lock for writing and unlock"),
    ("post-wait", 43, "a post and wait for a semaphore"),
    ("signal", 14, "a signal of a condition"),
    ("c11", 21, "a lock and unlock of C11"),
    ("futex-wake", 82, "a futex wake through syscall()"),
    ("plain-read", 88, "a read of what is no stream"),
    ("pipe", 355, "a write and read of a pipe"),
    ("send-outside", 318, "sendmsg() and recv() of a connection that is not followed"),
    ("omp-lock", 114, "omp_set_lock() and omp_unset_lock()"),
    ("omp-critical", 246, "a critical section"),
    ("omp-region-alone", 117, "a parallel region of one thread"),
    ("omp-task", 268, "an OpenMP task and the wait for it"),
]


def steps(name, hz, start="on", budget=0):
    """
    What benchmarks/steps found; None for `hz`: without cpa. CPA_START is `start`. Ten rounds within `budget` are
    enough: of any more the shortest would be within it, too.
    """
    dump = f"{TMP}/steps.dump"
    environment = dict(os.environ, LD_BIND_NOW="1")
    if hz is not None:
        environment.update(LD_PRELOAD=os.path.abspath(f"{BUILD}/libcpa.so"), CPA_OUTPUT=dump,
                           CPA_SAMPLE_HZ=hz, CPA_QUIET="1", CPA_START=start)
    if os.path.exists(dump):
        os.unlink(dump)
    rounds = ROUNDS if hz == "0" else FEW_ROUNDS
    done = subprocess.run([f"{BUILD}/benchmarks/steps", name, rounds, str(budget)], env=environment,
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def clock():
    """The detector of the last dump."""
    done = subprocess.run([f"{BUILD}/cpa-report", "--format", "json", f"{TMP}/steps.dump"],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["diagnostics"]["clock"]


class Tap:
    number = failed = 0

    def result(self, good, what):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {what}", flush=True)

    def skip(self, what, why):
        self.number += 1
        print(f"ok {self.number} - {what} # SKIP {why}", flush=True)


def main():
    tap = Tap()
    nothing, annotation = (steps(name, None)["least"] for name in ("nothing", "annotation"))
    tap.result(annotation - nothing <= ANNOTATION,
               f"an annotation without cpa: {annotation - nothing} instructions of {ANNOTATION}")
    for name, measured, what in OFF:
        budget = int(measured * MARGIN)
        found = steps(name, "20", "off", budget)
        off = found["library_least"]
        tap.result(0 < off <= budget,
                   f"{what} while profiling is off: {off} instructions of {budget}")
        tap.result(name == "futex-wake" or "syscall" not in found["calls"],
                   f"{what} while profiling is off: no system call of cpa's")
    steps("private", "0")
    if clock() != "rseq":
        for _, _, _, _, what in BUDGETS:
            tap.skip(what, "the kernel does not show switches here: each event asks it")
    else:
        for name, hz, measured, allowed, what in BUDGETS:
            budget = int(measured * MARGIN)
            found = steps(name, hz, budget=budget)
            tap.result(0 < found["library_least"] <= budget,
                       f"{what}: {found['library_least']} instructions of {budget}")
            # libgomp calls functions of ours, which return to it.
            others = {c for c in found["calls"] if not c.startswith("libgomp.so.1+")} - allowed
            tap.result(found["calls"] and not others,
                       f"{what}: calls no other function{''.join(', ' + c for c in others)}")
    print(f"1..{tap.number}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
