"""User lines in machine code: debug metadata of LLVM for a nest, and the map by which `perf` names it.

Asked for by the environment variable WENGERT_PERF=1, or by Python's own support of perf (`python -X perf`,
PYTHONPERFSUPPORT, `sys.activate_stack_trampoline`). A nest then carries its lines in its text, and so in the digest
under which its machine code is kept: nests that are alike but for their lines are two, and machine code without lines
is never taken for one with them. Otherwise nothing of this is emitted.

Source of the metadata: "Source Level Debugging with LLVM"; of the map: tools/perf/Documentation/jit-interface.txt of
Linux.
"""

import ctypes
import os
import sys

from ...ir.source import code_place, encodable, line_name
from ...ir.walk import every_equation

VARIABLE, OFF = "WENGERT_PERF", ("", "0")
NEST, ENTRIES = "@nest(", {"execute": "from XLA", "direct": "from Python"}
CREATED = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
HEAD = (
    "!llvm.dbg.cu = !{!0}",
    "!llvm.module.flags = !{!1, !2}",
    '!1 = !{i32 2, !"Debug Info Version", i32 3}',
    '!2 = !{i32 2, !"Dwarf Version", i32 4}',
    "!3 = !DISubroutineType(types: !{})",
)
UNIT = '!0 = distinct !DICompileUnit(language: DW_LANG_Python, file: {}, producer: "wengert", isOptimized: true, '
UNIT += "runtimeVersion: 0, emissionKind: FullDebug)"
FIRST = 4  # fact: the first number that `HEAD` and `UNIT` leave


def asked_for():
    """Whether machine code is to name the user's lines."""
    active = getattr(sys, "is_stack_trampoline_active", None)
    return os.environ.get(VARIABLE, "") not in OFF or active is not None and active()


def nest_place(func):
    """The place that a nest is named by: the first line of those in the function in which it begins; None without."""
    places = [p for p in (code_place(eqn.source) for eqn in every_equation(func)) if p is not None]
    return min((p for p in places if p[:2] == places[0][:2]), key=lambda p: p[2], default=None)


def nest_name(place):
    """What profilers call a nest: `nest relax solver.py:12`."""
    if place is None:
        return "nest"
    file, name, line, mark = place
    return encodable(f"nest {name} {line_name(file, line, mark)}")


class DebugMetadata:
    """The metadata of one nest, numbered as they are asked for. home: the place that it is named by."""

    def __init__(self, home):
        self.home, self.numbers, self.texts = home, {}, []
        self.unit = UNIT.format(self.file(home[0]))
        self.function = self.subprogram(home, nest_name(home))
        self.called = self.node(f"distinct !DILocation(line: {home[2]}, scope: {self.function})")

    def node(self, text):
        if text not in self.numbers:
            self.numbers[text] = f"!{FIRST + len(self.texts)}"
            self.texts.append(f"{self.numbers[text]} = {text}")
        return self.numbers[text]

    def file(self, path):
        folder, name = os.path.split(path)
        return self.node(f"!DIFile(filename: {llvm_string(name)}, directory: {llvm_string(folder)})")

    def subprogram(self, place, name):
        """A function of the user's; one whose derivative this is, is a function of its own."""
        file = self.file(place[0])
        return self.node(
            f"distinct !DISubprogram(name: {llvm_string(name)}, scope: {file}, file: {file}, line: {place[2]}, "
            f"type: !3, scopeLine: {place[2]}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)"
        )

    def location(self, place):
        """What is put behind an instruction of a place; code of other functions counts as inlined in the nest."""
        file, name, line, mark = place or self.home
        if (file, name, mark) == (self.home[0], self.home[1], self.home[3]):
            return f", !dbg {self.node(f'!DILocation(line: {line}, scope: {self.function})')}"
        key = file, name, mark
        if key not in self.numbers:
            self.numbers[key] = self.subprogram((file, name, line, mark), f"{name} {mark}".strip())
        scope = self.numbers[key]
        return f", !dbg {self.node(f'!DILocation(line: {line}, scope: {scope}, inlinedAt: {self.called})')}"

    def module(self, text):
        """A module of IR text whose nest is the function @nest, which gets its name and lines."""
        head, given, rest = text.partition("define void @nest(" if "define void @nest(" in text else "define i1 @nest(")
        params, brace, body = rest.partition(" #0 {")
        named = f"{head}{given}{params} #0 !dbg {self.function} {{{body}"
        symbol = f"@{llvm_string(nest_name(self.home))}"
        alias = f"@nest = alias i8, ptr {symbol}"
        return "\n".join([named.replace(NEST, f"{symbol}("), alias, *HEAD, self.unit, *self.texts, ""])


def llvm_string(text):
    """A text as LLVM writes it."""
    plain = lambda b: 32 <= b < 127 and b not in b'"\\'
    return '"' + "".join(chr(b) if plain(b) else f"\\{b:02X}" for b in encodable(text).encode()) + '"'


# -- perf ------------------------------------------------------------------------------------------


def tell_perf(places, size):
    """Name functions of a module for `perf`. places: {name: address}; size: of all its code, which follows each other
    there."""
    name = next((n for n in places if n.startswith("nest ")), "nest")
    starts = sorted((address, n) for n, address in places.items() if address)
    ends = [address for address, _ in starts[1:]] + [starts[0][0] + size] if starts else []
    for (start, n), end in zip(starts, ends):
        write_perf_entry(start, max(end - start, 1), f"{name} {ENTRIES[n]}" if n in ENTRIES else n)


def write_perf_entry(start, size, name):
    """A line of the map of this process, by Python itself where it writes one too."""
    write = getattr(ctypes.pythonapi, "PyUnstable_WritePerfMapEntry", None)  # Python 3.12
    if write is not None:
        write(ctypes.c_void_p(start), ctypes.c_uint(size), name.encode())
        return
    with os.fdopen(os.open(f"/tmp/perf-{os.getpid()}.map", CREATED, 0o600), "a", encoding="utf-8") as file:
        file.write(f"{start:x} {size:x} {name}\n")
