"""Containers that a body changes in whatever way: at every call, as often as Python does, or the call is refused."""

import collections
import heapq
import linecache
import operator

import numpy as np
import pytest

from wengert import UnsupportedError, jit
from wengert.tracer.common.errors import CannotRoll

KINDS = {
    "list": (lambda: [3.0, 1.0, 2.0], """
        heapq.heappush(H, 0.5)|heapq.heapify(H)|operator.setitem(H, 0, 7.0)|operator.iadd(H, [3.0])|list.append(H, 4.0)|H.__iadd__([4.0])
        H.__setitem__(0, 8.0)|del H[0]|H[:] = H[::-1]|H[1:] = []|list.sort(H)|H.__delitem__(0)|operator.delitem(H, 0)|H.__imul__(2)|H.__init__([5.0])
        [H.append(k) for k in range(2)]|any(H.append(1.0) for _ in range(2))|heapq.heapreplace(H, 7.0)|H.extend(x[0] for _ in range(2))"""),
    "dict": (lambda: {"a": 1.0, "b": 2.0}, """
        operator.setitem(H, 'a', 7.0)|H.__ior__({'c': 3.0})|dict.update(H, a=5.0)|H.__delitem__('a')|dict.pop(H, 'a')|H.update(a=x[0])"""),
    "set": (lambda: {1.0, 2.0}, """
        H.difference_update({1.0})|H.symmetric_difference_update({1.0, 5.0})|H.__ior__({7.0})|set.add(H, 3.0)|operator.ior(H, {4.0})|H.clear()"""),
    "deque": (lambda: collections.deque([1.0, 2.0, 3.0]), """
        H.rotate(1)|H.__iadd__([4.0])|H[0] = 8.0|H[0] = x[0]|collections.deque.append(H, 4.0)|H.__imul__(2)|H.insert(1, 9.0)|H.reverse()|del H[0]"""),
    "ordered": (lambda: collections.OrderedDict(a=1.0, b=2.0), "H.move_to_end('a')|H.popitem(last=False)|H.__ior__({'c': 3.0})"),
}  # fmt: skip
BODIES = {
    "at once": "def f(x):\n    {}\n    return x * len(H)\n",
    "in a branch": "def f(x):\n    if x[0] > 0:\n        {}\n    return x\n",
    "in a loop": "def f(x):\n    for i in range(int(x[0] > 0) + 1):\n        {}\n    return x\n",
    "while": "def f(x):\n    while x[0] > 0:\n        {}\n        x = x - 1\n    return x\n",
    "its own": "def f(x):\n    H = MAKE()\n    if x[0] > 0:\n        {}\n    return x + len(H)\n",
}
CASES = [(kind, s.strip()) for kind, (_, text) in KINDS.items() for s in text.strip().replace("\n", "|").split("|")]


def function(text, space):
    name = f"<{text}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    exec(compile(text, name, "exec"), space)
    return space["f"]


def shown(held):
    return repr(sorted(held) if isinstance(held, set) else held)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("kind, statement", CASES)
def test_changes_happen_as_often_as_in_python(kind, statement, body):
    make = KINDS[kind][0]
    space = {"np": np, "heapq": heapq, "operator": operator, "collections": collections, "MAKE": make, "H": make()}
    f = function(BODIES[body].format(statement), space)
    compiled = jit(f)
    for k, sign in enumerate((1, 1, 1, -1, -1)):
        left = []
        held = space["H"] if k != 2 else make()
        for g in (f, compiled):
            space["H"] = H = held.copy()
            try:
                left.append((g(np.ones(2) * sign).tolist(), shown(H)))
            except (UnsupportedError, CannotRoll):
                assert g is compiled and shown(H) == shown(held), "a refused call changes nothing"
                return
            except Exception as error:
                left.append((type(error), None))
        assert left[0] == left[1]
        space["H"] = H


ROWS, CONFIG, QUEUE, TABLE = [], {}, collections.deque(), np.zeros(2)
VIEW = TABLE[1:]
exec("def unseen(x): return x * (sum(ROWS) + CONFIG['a'] + QUEUE[0] + TABLE[0] + VIEW[0])")  # without source, and so without hooks
STORES = [
    "ROWS.append(5.0)", "ROWS[0] = x[0]", "ROWS[0] = 7.0", "CONFIG['a'] = 5.0", "CONFIG['a'] = x[0]", "QUEUE.appendleft(9.0)", "QUEUE[0] = x[0]",
    "TABLE[1] = x[0]", "TABLE[:] = 3", "VIEW[0] = x[0]", "VIEW[:] = 7", "if x[0] > 2: TABLE[0] = 5.0", "for i in range(2): TABLE[0] += x[i]",
    "while TABLE[0] < x[0]: TABLE[0] += 1", "np.add(TABLE, x, out=TABLE)", "TABLE.fill(3)", "TABLE[TABLE > 1] = 9", "if x[0] > 2: ROWS[0] = 5.0",
]  # fmt: skip


def reset(k):
    ROWS[:] = [1.0, k]
    CONFIG.update(a=1.0)
    QUEUE.clear()
    QUEUE.extend([1.0, 2.0])
    TABLE[:] = 1.0, 2.0 + k


@pytest.mark.parametrize("statement", STORES)
def test_code_without_hooks_reads_what_was_stored(statement):
    f = function(f"def f(x):\n    {statement}\n    return unseen(x)\n", globals())
    compiled = jit(f)
    for k in range(4):
        left = []
        for g in (f, compiled):
            reset(k)
            try:
                left.append((g(np.arange(1.0, 3.0) + k).tolist(), ROWS[:], dict(CONFIG), list(QUEUE), TABLE.tolist()))
            except (UnsupportedError, CannotRoll):
                return
        assert left[0] == left[1]


def test_code_without_hooks_reads_what_the_program_takes_in():
    f = jit(lambda x: x * TABLE[1] + unseen(x))  # noqa: F821
    for k in range(4):
        reset(k)
        TABLE[0] = k / 2
        assert f(2.0) == 2 * TABLE[1] + unseen(2.0)  # noqa: F821
