"""What Python itself holds while tracing - plain arrays, buffers, files in memory - changed in regions: as often as Python does, or refused."""

import array
import collections
import decimal
import functools
import hashlib
import io
import linecache
import operator
import struct

import numpy as np
import pytest

from wengert import UnsupportedError, jit
from wengert.tracer.common.errors import CannotRoll

KINDS = {
    "names": (lambda: np.array(["b", "a", "c"]), """
        H[0] = 'z'|H.fill('q')|H.sort()|np.copyto(H, 'r')|np.put(H, [0], ['s'])|H[::-1].sort()|H.flat[0] = 't'|H[1:].fill('u')
        np.random.default_rng(0).shuffle(H)|H.shape = (3, 1)|H.resize(2, refcheck=False)|np.place(H, H == 'a', ['v'])
        list(map(np.ndarray.sort, [H]))"""),
    "objects": (lambda: np.array([3, 1.5, 2], object), """
        H += 1|H *= 2|np.add(H, 1, out=H)|np.add.at(H, [0, 0], 2)|H.__iadd__(1)|operator.iadd(H, 1)|H.sort()|H.partition(1)|H.put(0, 9)
        np.fill_diagonal(H.reshape(1, -1), 5)|H[:2].__imul__(3)|H[0] = 'w'|functools.partial(np.add, H, 1, out=H)()|H[1:] -= 1
        np.negative(H, out=H)"""),
    "days": (lambda: np.array(["2020-01-03", "2020-01-01"], "M8[D]"), "H += np.timedelta64(1, 'D')|H.sort()|H[0] = H[1]|H -= np.timedelta64(3, 'D')"),
    "records": (lambda: np.array([(1, 2.0)], [("a", int), ("b", float)]), "H['a'] = 4|H[0]['b'] = 5.0|H['b'] += 1.0|H.fill((7, 8.0))"),
    "masked": (lambda: np.ma.array([1.0, 2.0], mask=[0, 1]), "H += 1|H[1] = 3.0|H[0] = np.ma.masked|H.mask[0] = True|H.sort()|np.add(H, 1, out=H)"),
    "bytes": (lambda: bytearray(b"cab"), """
        H[0] = 9|H.extend(b'd')|H += b'd'|H.clear()|H.reverse()|struct.pack_into('B', H, 0, 7)|H.__setitem__(0, 5)|del H[0]|memoryview(H)[0] = 3
        H[:] = b'zz'|H.insert(0, 1)|H *= 2|operator.setitem(H, 0, 8)|io.BytesIO(b'xy').readinto(H)"""),
    "numbers": (lambda: array.array("d", [2.0, 1.0]), """
        H.append(3.0)|H[0] = 5.0|H.extend([1.0])|H += array.array('d', [1.0])|H.byteswap()|H.pop()|H.reverse()"""),
    "file": (lambda: io.StringIO("ab\ncd"), """
        H.write('x')|H.truncate(1)|H.seek(0)|H.writelines(['p', 'q'])|print('x', file=H)|H.readline()|H.close()"""),
    "binary": (lambda: io.BytesIO(b"ab"), "H.write(b'x')|H.truncate(1)|H.seek(1)|H.read()|H.getbuffer()[0] = 5"),
    "mapping": (lambda: collections.UserDict(a=1), "H.update(a=5)|H['a'] = 2|H.pop('a')|H.clear()|H.setdefault('b', 3)"),
    "context": (lambda: decimal.Context(prec=5), "H.prec = 2|H.divide(decimal.Decimal(1), decimal.Decimal(3))|H.rounding = decimal.ROUND_UP"),
    "digest": (lambda: hashlib.sha1(b"a"), "H.update(b'x')"),
}  # fmt: skip
BODIES = {
    "at once": "def f(x):\n    global H\n    {}\n    return x + shown(H)\n",
    "in a branch": "def f(x):\n    global H\n    if x[0] > 0:\n        {}\n    return x + shown(H)\n",
    "in the other": "def f(x):\n    global H\n    y = x\n    if x[0] > 0:\n        y = y + 1\n    else:\n        {}\n    return y + shown(H)\n",
    "in a loop": "def f(x):\n    global H\n    for i in range(int(x[0] > 0) + 1):\n        {}\n    return x + shown(H)\n",
    "in a loop of data": "def f(x):\n    global H\n    for i in range(3):\n        x = x * 2\n        {}\n    return x + shown(H)\n",
    "while": "def f(x):\n    global H\n    while x[0] > 0:\n        {}\n        x = x - 1\n    return x + shown(H)\n",
    "its own": "def f(x):\n    H = MAKE()\n    if x[0] > 0:\n        {}\n    return x + shown(H)\n",
    "its own in a loop": "def f(x):\n    H = MAKE()\n    for i in range(int(x[0] > 0) + 2):\n        {}\n    return x + shown(H)\n",
    "made in each trip": "def f(x):\n    for i in range(3):\n        H = MAKE()\n        {}\n        x = x + shown(H)\n    return x\n",
    "a helper": "def g(h):\n    H = h\n    {}\ndef f(x):\n    global H\n    if x[0] > 0:\n        g(H)\n    return x + shown(H)\n",
}
CASES = [(kind, s.strip()) for kind, (_, text) in KINDS.items() for s in text.strip().replace("\n", "|").split("|")]


def told(held):
    """All that an object holds, as text."""
    if isinstance(held, np.ndarray):
        return repr((held.dtype, held.shape, held.tolist()))
    if isinstance(held, io.StringIO | io.BytesIO):
        return "closed" if held.closed else repr((held.getvalue(), held.tell()))
    return held.hexdigest() if hasattr(held, "hexdigest") else repr(held)


def shown(held):
    """Likewise as a number, which traced code may add."""
    return float(sum(told(held).encode()) % 97)


def function(text, space):
    name = f"<{text}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    exec(compile(text, name, "exec"), space)
    return space["f"]


ALL = [(kind, statement, body) for kind, statement in CASES for body in BODIES]


@pytest.mark.parametrize("kind, statement, body", [pytest.param(*c, marks=[pytest.mark.slow] * (k % 3 > 0)) for k, c in enumerate(ALL)])
def test_changes_happen_as_often_as_in_python(kind, statement, body, falling_back):
    make = KINDS[kind][0]
    modules = {"np": np, "array": array, "io": io, "operator": operator, "struct": struct, "functools": functools, "decimal": decimal}
    space = {**modules, "MAKE": make, "shown": shown}
    f = function(BODIES[body].format(statement), space)
    compiled = jit(f)
    for sign in (1, 1, -1, -1, 1):
        left = []
        for g in (f, compiled):
            space["H"] = held = make()
            try:
                left.append((g(np.ones(2) * sign).tolist(), told(held)))
            except (UnsupportedError, CannotRoll):
                assert g is compiled and told(held) == told(make()), "a refused call changes nothing"
                return
            except Exception as error:
                left.append((type(error), told(held)))
        assert left[0] == left[1]


class Named:
    names = np.array(["a", "b"])


def test_arrays_of_strings_that_grow_on_one_side(falling_back):
    def f(x):
        if x[0] < 0:
            held.names = np.append(held.names, "t")
        else:
            x = x + 1
        return x * 2

    compiled = jit(f)
    for signs in ((-1.0, 1.0, -1.0), (1.0, -1.0, 1.0)):
        left = []
        for g in (f, compiled):
            held = Named()
            left.append(([g(np.array([s])).tolist() for s in signs], held.names.tolist()))
        assert left[0] == left[1]
