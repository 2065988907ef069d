"""The entry of a nest of symbolic sizes, which Python calls: the sizes as ints, then NumPy's arrays and numbers.

As in `direct.py` nothing is done before every object has been looked at; shapes are computed of the sizes here. Before
that the sizes themselves are: each an int, no less and no greater than the ones that were compared, of the remainder
that those have, and such that all that the code takes for granted holds. Scratch memory of a size that is not known
beforehand is on the stack where it is small.
"""

from . import objects
from .direct import TEST
from .objects import HEAD, TYPE

STACK = 1 << 12  # bound: bytes of scratch memory on the stack
ALIGNED = 64  # fact: bytes of a line of the cache
SYMBOLS = {
    "PyLong_AsSsize_t": "i64 @PyLong_AsSsize_t(ptr)",
    "PyErr_Clear": "void @PyErr_Clear()",
    "PyErr_NoMemory": "ptr @PyErr_NoMemory()",
    "PyMem_RawMalloc": "ptr @PyMem_RawMalloc(i64)",
    "PyMem_RawFree": "void @PyMem_RawFree(ptr)",
    "PyBool_FromLong": "ptr @PyBool_FromLong(i64)",
    "PyEval_SaveThread": "ptr @PyEval_SaveThread()",
    "PyEval_RestoreThread": "void @PyEval_RestoreThread(ptr)",
}

HEAD_TEXT = f"""
define ptr @direct(ptr %self, ptr %given, i64 %count) {{{{
entry:
{{shapes}}
  %types.at = getelementptr i8, ptr %self, i64 {HEAD}
  %types = load ptr, ptr %types.at
  %enough = icmp eq i64 %count, {{all}}
  br i1 %enough, label %size0, label %refused
{{sizes}}
size{{names}}:
{{computed}}
{{holds}}
"""

SIZE = f"""size{{n}}:
  %y{{n}}.at = getelementptr ptr, ptr %given, i64 {{n}}
  %y{{n}} = load ptr, ptr %y{{n}}.at
  %y{{n}}.type.at = getelementptr i8, ptr %y{{n}}, i64 {TYPE}
  %y{{n}}.type = load ptr, ptr %y{{n}}.type.at
  %y{{n}}.int.at = getelementptr i64, ptr %types, i64 {{first}}
  %y{{n}}.int = load ptr, ptr %y{{n}}.int.at
  %y{{n}}.is = icmp eq ptr %y{{n}}.type, %y{{n}}.int
  br i1 %y{{n}}.is, label %number{{n}}, label %refused
number{{n}}:
  %s{{n}} = call i64 @PyLong_AsSsize_t(ptr %y{{n}})
  %y{{n}}.low.at = getelementptr i64, ptr %types, i64 {{low}}
  %y{{n}}.low = load i64, ptr %y{{n}}.low.at
  %y{{n}}.high.at = getelementptr i64, ptr %types, i64 {{high}}
  %y{{n}}.high = load i64, ptr %y{{n}}.high.at
  %y{{n}}.past = icmp sge i64 %s{{n}}, %y{{n}}.low
  %y{{n}}.before = icmp sle i64 %s{{n}}, %y{{n}}.high
  %y{{n}}.over = sub i64 %s{{n}}, {{rest}}
  %y{{n}}.rest = srem i64 %y{{n}}.over, {{step}}
  %y{{n}}.steps = icmp eq i64 %y{{n}}.rest, 0
  %y{{n}}.some = and i1 %y{{n}}.past, %y{{n}}.before
  %y{{n}}.all = and i1 %y{{n}}.some, %y{{n}}.steps
  br i1 %y{{n}}.all, label %size{{next}}, label %cleared"""

TAIL = """
finished:
{freed}
  %false = call ptr @PyBool_FromLong(i64 0)
  ret ptr %false
cleared:
  call void @PyErr_Clear()
  br label %refused
refused:
  %true = call ptr @PyBool_FromLong(i64 1)
  ret ptr %true
full:
  %none = call ptr @PyErr_NoMemory()
  ret ptr %none
stopped:
{freed.again}
  ret ptr null
}
"""


def of_sizes(names, residues):
    """The tests of sizes. residues: (remainder, step) of each; -> text"""
    lines = []
    for n, (rest, step) in enumerate(residues):
        first = 3 * n
        numbers = {"n": n, "next": n + 1, "first": first, "low": first + 1, "high": first + 2}
        lines.append(SIZE.format(**numbers, rest=rest, step=step))
    return "\n".join(lines)


def conjunction(computed, conditions):
    """Instructions that go on to %asked0 where no condition is below 0: the sign of them all together is that."""
    found = [computed.whole(c) for c in conditions]
    total = "0"
    for x in found:
        total = computed.op(f"or i64 {total}, {x}")
    return f"  %holds = icmp sge i64 {total}, 0\n  br i1 %holds, label %asked0, label %refused"


def scratch_text(computed, sizes):
    """(instructions, names of pointers) of scratch memory of these sizes in bytes, Dims."""
    if not sizes:
        return "  br label %ready\nready:", []
    starts, total = [], "0"
    for size in sizes:
        starts.append(total)
        up = computed.op(f"add i64 {computed.whole(size)}, {ALIGNED - 1}")
        total = computed.op(f"add i64 {total}, {computed.op(f'and i64 {up}, {-ALIGNED}')}")
    lines = [
        f"  %fits = icmp ule i64 {total}, {STACK}\n  br i1 %fits, label %near, label %far",
        "near:\n  br label %ready",
        f"far:\n  %more = add i64 {total}, {ALIGNED}\n  %found = call ptr @PyMem_RawMalloc(i64 %more)",
        "  %lacks = icmp eq ptr %found, null\n  br i1 %lacks, label %full, label %aligned",
        f"aligned:\n  %address = ptrtoint ptr %found to i64\n  %after = and i64 %address, {ALIGNED - 1}",
        f"  %up = sub i64 {ALIGNED}, %after\n  %there = getelementptr i8, ptr %found, i64 %up\n  br label %ready",
        "ready:\n  %room = phi ptr [ %stack, %near ], [ %there, %aligned ]",
        "  %owned = phi ptr [ null, %near ], [ %found, %aligned ]",
        *(f"  %q{k} = getelementptr i8, ptr %room, i64 {at}" for k, at in enumerate(starts)),
    ]
    return "\n".join(lines), [f"%q{k}" for k in range(len(sizes))]


def sized_entry(names, residues, kinds, conditions, scratch, computed, much, long):
    """Text of the function.

    names: of the sizes; kinds: (shape, each entry a Dim or an int, None for a number) of each object; conditions: Dims
    that are to be no less than 0; scratch: bytes of memory, Dims; computed: of the sizes %s0, ... ; much: a Dim no less
    than 0 where other threads of Python's are to run meanwhile; long: whether @nest hears signals.
    """
    count, shapes, tests, places, filling = len(names), [], [], [], []
    for n, shape in enumerate(kinds):
        at = f"getelementptr i8, ptr %x{n}, i64 {HEAD}"
        if shape is None:
            test = f"@wengert_number(ptr %x{n}, ptr %t{n})"
            places.append(f"  %p{n} = {at}")
        else:
            test = f"@wengert_array(ptr %x{n}, ptr %t{n}, ptr %shape{n}, i32 {len(shape)})"
            places.append(f"  %p{n}.at = {at}\n  %p{n} = load ptr, ptr %p{n}.at")
            shapes.append(f"  %shape{n} = alloca [{max(len(shape), 1)} x i64]")
            for axis, d in enumerate(shape):
                filling.append(f"  %shape{n}.{axis} = getelementptr i64, ptr %shape{n}, i64 {axis}")
                filling.append(f"  store i64 {computed.whole(d)}, ptr %shape{n}.{axis}")
        tests.append(TEST.format(n=n, number=n, next=n + 1, place=n + count, twice=3 * count + 2 * n, test=test))
    if scratch:
        shapes.append(f"  %stack = alloca [{STACK} x i8], align {ALIGNED}")
    holds = conjunction(computed, conditions)
    room, pointers = scratch_text(computed, scratch)
    works = computed.op(f"icmp sge i64 {computed.whole(much)}, 0")
    given = [f"i64 %s{n}" for n in range(count)] + [f"ptr %p{n}" for n in range(len(kinds))]
    given += [f"ptr {x}" for x in pointers]
    head = HEAD_TEXT.format(
        shapes="\n".join(shapes),
        all=count + len(kinds),
        sizes=of_sizes(names, residues),
        names=count,
        computed="\n".join([*computed.lines, *filling]),
        holds=holds,
    )
    free = "  call void @PyMem_RawFree(ptr %owned)" if scratch else ""
    tail = TAIL.replace("{freed}", free).replace("{freed.again}", free)
    called = [f"asked{len(kinds)}:", *places, room, call_text(", ".join(given), works, long)]
    declared = [f"declare {text}" for text in SYMBOLS.values()]
    return "\n".join([*declared, objects.declared("wengert_array", "wengert_number"), head, *tests, *called, tail])


UNLOCKED_CALL = """  br i1 {much}, label %unlocking, label %calling
unlocking:
  %saved = call ptr @PyEval_SaveThread()
  br label %calling
calling:
  %thread = phi ptr [ null, %ready ], [ %saved, %unlocking ]
{call}
  %away = icmp ne ptr %thread, null
  br i1 %away, label %locking, label %called
locking:
  call void @PyEval_RestoreThread(ptr %thread)
  br label %called
called:
  br {then}"""


def call_text(given, much, long):
    """The call of @nest. much: a truth, in text: whether it does so much that other threads run meanwhile."""
    call = f"  %stop = call i1 @nest({given}, i1 true)" if long else f"  call void @nest({given})"
    then = "i1 %stop, label %stopped, label %finished" if long else "label %finished"
    return UNLOCKED_CALL.format(much=much, call=call, then=then)
