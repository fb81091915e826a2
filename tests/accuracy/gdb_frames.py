# SPDX-License-Identifier: MIT
"""tests/accuracy/gdb_frames.py - inside gdb: compare stacks of cpa with gdb's, for judged_stacks.py

Stops the program every 5 ms, where it happens to be, until there are $STACKS stacks. In each thread it
calls cpa_walk_from() with the thread's registers, and tells how many stacks are equal. Of both only frames
outside libcpa.so count. Where a function begins is what readelf says of the module's .eh_frame; of code in
no file, the kernel's own, the page is compared. Stacks of threads that are in code without unwind tables are
told apart: gdb guesses there. A thread that begins stops in such code.
"""

import bisect
import os
import re
import struct
import subprocess

import gdb  # in gdb only

PAGE = 4096
MOST = 127  # frames of a stack
STACK = 8 << 20  # bytes, of a thread
# By their numbers in unwind tables.
REGISTERS = ("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip").split()


class Module:
    """Functions of a mapped file: first and last address of each, as mapped."""

    def __init__(self, path, mapped):
        text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=False).stdout
        first = re.search(r"^ *LOAD +0x\w+ +0x(\w+)", text, re.MULTILINE)
        bias = mapped - (int(first[1], 16) // PAGE * PAGE if first else 0)
        text = subprocess.run(["readelf", "--debug-dump=frames", path], capture_output=True, text=True,
                              check=False).stdout
        found = re.findall(r"FDE.* pc=(\w+)\.\.(\w+)", text)
        self.functions = sorted((int(low, 16) + bias, int(high, 16) + bias) for low, high in found)

    def begin(self, address):
        at = bisect.bisect(self.functions, (address, 1 << 64)) - 1
        if at >= 0 and self.functions[at][0] <= address < self.functions[at][1]:
            return self.functions[at][0]
        return None


class Process:
    def __init__(self):
        self.modules = {}
        self.mapped = []

    def look(self):
        """Read where files are mapped."""
        first = {}
        self.mapped = []
        with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as maps:
            for line in maps:
                places, _, _, _, inode, *path = line.split(maxsplit=5)
                low, high = (int(each, 16) for each in places.split("-"))
                if inode != "0" and path:
                    self.mapped.append((low, high, path[0].strip(), first.setdefault(path[0].strip(), low)))

    def place(self, address):
        for low, high, path, first in self.mapped:
            if low <= address < high:
                return path, first
        return None, 0

    def begin(self, address):
        """Where the function at @address begins, and whether a table has it; else its page."""
        path, first = self.place(address)
        if path and path not in self.modules:
            self.modules[path] = Module(path, first)
        found = self.modules[path].begin(address) if path else None
        return (address // PAGE * PAGE, not path) if found is None else (found, True)

    def is_ours(self, address):
        return (self.place(address)[0] or "").endswith("/libcpa.so")


def frames_of_gdb(process):
    """Begins of functions, innermost first, without those of cpa. And whether a table has the innermost one."""
    found, called, frame = [], False, gdb.newest_frame()
    known = process.begin(frame.pc())[1]
    while frame and len(found) < MOST:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME) and frame.pc():
            if not process.is_ours(frame.pc()):
                found.append(process.begin(frame.pc() - called)[0])
        called = frame.type() != gdb.SIGTRAMP_FRAME
        frame = frame.older()
    return found, known


def frames_of_cpa(process, memory):
    """The same as the selected thread finds them itself, in a call of cpa's function. @memory: an address."""
    frame = gdb.newest_frame()
    registers, walk = memory, memory + PAGE
    inferior = gdb.selected_inferior()
    values = [int(frame.read_register(name)) % (1 << 64) for name in REGISTERS]
    inferior.write_memory(registers, struct.pack("<17QI4x", *values, (1 << len(values)) - 1))
    inferior.write_memory(walk, bytes(int(gdb.parse_and_eval("sizeof(struct cpa_walk)"))))
    error = gdb.parse_and_eval("*(int *)((void *(*)(void))__errno_location)()")
    gdb.parse_and_eval(f"cpa_walk_from((struct cpa_walk *){walk}, cpa_stack_own({STACK}),"
                       f" (struct cpa_registers *){registers})")
    gdb.parse_and_eval(f"*(int *)((void *(*)(void))__errno_location)() = {error}")
    value = gdb.parse_and_eval(f"*(struct cpa_walk *){walk}")
    found = [int(value["frame"][i]["function"]) for i in range(int(value["frames"]))]
    return [each if process.place(each)[0] else each // PAGE * PAGE for each in found if not process.is_ours(each)]


def tell_threads(process, memory):
    """Compare the stacks of all threads: whether a table has the innermost function, equal, how many frames."""
    process.look()
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        (expected, known), found = frames_of_gdb(process), frames_of_cpa(process, memory)
        if known and found != expected:
            print("not equal:", [hex(each) for each in found], "gdb:", [hex(each) for each in expected])
        yield known, found == expected, len(expected)


def main():
    process, every = Process(), []
    for option in ("pagination off", "confirm off", "breakpoint pending on", "backtrace past-main on",
                   "backtrace past-entry on", "print thread-events off"):
        gdb.execute(f"set {option}")
    gdb.execute("handle SIGINT stop nopass", to_string=True)
    gdb.execute("tbreak main" if gdb.lookup_global_symbol("main") else "tbreak __libc_start_main", to_string=True)
    gdb.execute("run", to_string=True)
    memory = int(gdb.parse_and_eval(
        f"((long (*)(long, long, int, int, int, long))mmap)(0, {16 * PAGE}, 3, 0x22, -1, 0)"))
    while len(every) < int(os.environ["STACKS"]):
        stop = f"sleep 0.005; kill -INT {gdb.selected_inferior().pid}"
        with subprocess.Popen(["sh", "-c", stop], stderr=subprocess.DEVNULL):
            gdb.execute("continue", to_string=True)
        if not gdb.selected_thread():
            break
        gdb.execute("set scheduler-locking on")
        every += tell_threads(process, memory)
        gdb.execute("set scheduler-locking off")
    if gdb.selected_thread():
        gdb.execute("kill")
    judged = [(good, count) for known, good, count in every if known]
    equal, frames = sum(good for good, _ in judged), sum(count for _, count in judged)
    print(f"{equal} of {len(judged)} stacks are equal, with {frames} frames;"
          f" {len(every) - len(judged)} in code without tables")


main()
