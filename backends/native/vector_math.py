"""Vector forms of the C library's functions, where LLVM runs a loop on vectors: what a module says of them.

A nest calls `exp.in_vectors`, and LLVM is told which function does the same on so many lanes, by the attribute
`vector-function-abi-variant` [x86 vector function ABI; LLVM, VFABI]. Where LLVM takes it, the single calls that are
left, for the ends of rows, are one of its lanes, so that an element does not depend on where it stands. Where it does
not, they are the C library's `exp`.
"""

import re
from typing import NamedTuple

SUFFIX = ".in_vectors"
DECLARED = re.compile(rf"declare (\w+) @([\w.]+{re.escape(SUFFIX)})\(([^)]*)\) [^\n]*_LLVM_N(\d+)v+_[\w.]+\((\w+)\)\"")
KEPT = '@llvm.compiler.used = appending global [{count} x ptr] [{names}], section "llvm.metadata"\n'
LANE = """declare {many} @{vector}({manys})
define {one} @{name}({params}) {{
{lines}
  %z = call {many} @{vector}({given})
  %y = extractelement {many} %z, i64 0
  ret {one} %y
}}
"""


class VectorForm(NamedTuple):
    """name: of the function on single numbers; vector: on lanes, at a time as many as `many` says, a type of LLVM's."""

    name: str
    vector: str
    many: str
    declaration: str
    attributes: str

    @classmethod
    def of(cls, function, vector, one, lanes, count):
        """Of a C function of `count` numbers of the type `one`."""
        name, many = function + SUFFIX, f"<{lanes} x {one}>"
        variant = f"_ZGV_LLVM_N{lanes}{'v' * count}_{name}({vector})"
        declaration = f"declare {many} @{vector}({', '.join([many] * count)})"
        attributes = f' memory(none) nounwind willreturn "vector-function-abi-variant"="{variant}"'
        return cls(name, vector, many, declaration, attributes)


def keeping_vector_forms(text):
    """A module that has the vector functions it declares until LLVM comes to look for them."""
    names = sorted({vector for *_, vector in DECLARED.findall(text)})
    return text + KEPT.format(count=len(names), names=", ".join(f"ptr @{name}" for name in names)) if names else text


def single_lanes(text, optimised):
    """{function on single numbers: its definition, as a module} of those of a module that call a vector form when LLVM
    has been over it, as `optimised` says."""
    found = {}
    for one, name, arguments, lanes, vector in DECLARED.findall(text):
        if re.search(rf"call [^\n]*@{vector}\(", optimised) is None or f"@{name}(" not in optimised:
            continue
        many, numbers = f"<{lanes} x {one}>", range(arguments.count(",") + 1)
        lines = [
            f"  %i{k} = insertelement {many} poison, {one} %x{k}, i64 0\n"
            f"  %v{k} = shufflevector {many} %i{k}, {many} poison, <{lanes} x i32> zeroinitializer"
            for k in numbers
        ]
        found[name] = LANE.format(
            many=many,
            vector=vector,
            manys=", ".join(many for _ in numbers),
            one=one,
            name=name,
            params=", ".join(f"{one} %x{k}" for k in numbers),
            lines="\n".join(lines),
            given=", ".join(f"{many} %v{k}" for k in numbers),
        )
    return found
