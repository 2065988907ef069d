"""What a function has made is another object at every call, and what was there before stays the object that it is."""

import array
import collections
import dataclasses
import fractions
import functools
import random
import threading
import types

import numpy as np
import pytest

from wengert import UnsupportedError, jit


class Items(list): ...
class Keyed(dict): ...
class Tuple(tuple): ...
class Int(int): ...
class Float(float): ...
class Complex(complex): ...
class Str(str): ...
class Bytes(bytes): ...
class Set(set): ...
class Frozen(frozenset): ...
class Queue(collections.deque): ...
class Ordered(collections.OrderedDict): ...
class Buffer(bytearray): ...
class Failure(Exception): ...


class Told(Exception):
    def __init__(self, x):
        super().__init__("told", x)
        self.x = x


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Registered(list):
    def __init__(self, items):
        super().__init__(items)
        self.held = [0]

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


@dataclasses.dataclass
class Data:
    a: list = dataclasses.field(default_factory=list)


RECORD = [("a", int), ("b", float)]
MADE = {
    "list": lambda: Items([1, [2]]),
    "empty list": lambda: Items(),
    "dict": lambda: Keyed(a=1, b=[2]),
    "tuple": lambda: Tuple((1, [2])),
    "int": lambda: Int(3),
    "float": lambda: Float(3.5),
    "complex": lambda: Complex(1j),
    "str": lambda: Str("a"),
    "bytes": lambda: Bytes(b"a"),
    "set": lambda: Set([1]),
    "frozenset": lambda: Frozen([1]),
    "queue": lambda: Queue([[1]], 3),
    "ordered": lambda: Ordered(b=1, a=[2]),
    "buffer": lambda: Buffer(b"ab"),
    "slotted": lambda: Slotted([1]),
    "registered": lambda: Registered([1]),
    "data": lambda: Data([1]),
    "default factory": lambda: Data(),
    "within": lambda: Items([Keyed(a=Items([1]))]),
    "exception": lambda: ValueError("a", [1]),
    "own exception": lambda: Failure([1]),
    "told": lambda: Told([1]),
    "strings": lambda: np.array(["a", "bc"]),
    "bytes array": lambda: np.array([b"a", b"bc"]),
    "objects": lambda: np.array([[1], None], object),
    "objects seen otherwise": lambda: np.array([[1, None, "a"], [2, None, "b"]], object).T[::-1, 1:],
    "records": lambda: np.array([(1, 2.0)], RECORD),
    "recarray": lambda: np.rec.array([(1, 2.0)], RECORD),
    "longdouble": lambda: np.array([1.0, 2.0], np.longdouble),
    "dates": lambda: np.array(["2020-01-01"], "datetime64[D]"),
    "times": lambda: np.array([1, 2], "timedelta64[s]"),
    "big endian": lambda: np.array([1, 2], ">i4"),
    "fortran": lambda: np.array([["a", "b"], ["c", "d"]], order="F"),
    "read-only": lambda: np.broadcast_to(np.array(["a"]), (2, 1)),
    "view": lambda: np.array(["a", "b", "c"])[::-2],
    "matrix": lambda: np.asmatrix(np.array([["a", "b"]])),
    "masked": lambda: np.ma.array([1, 2], mask=[0, 1]),
    "unmasked": lambda: np.ma.array([1.0, 2.0]),
    "characters": lambda: np.char.array(["a"]),
    "polynomial": lambda: np.polynomial.Polynomial([1, 2]),
    "poly1d": lambda: np.poly1d([1, 2]),
    "deque": lambda: collections.deque([[1]]),
    "of sets": lambda: collections.deque([{1}]),
    "bytearray": lambda: bytearray(b"ab"),
    "array": lambda: array.array("d", [1.0]),
    "counter": lambda: collections.Counter("aab"),
    "defaultdict": lambda: collections.defaultdict(list, a=[1]),
    "namespace": lambda: types.SimpleNamespace(a=Items([1])),
    "sentinel": lambda: object(),
    "user's list": lambda: collections.UserList([1]),
    "partial": lambda: functools.partial(max, [1]),
    "slice": lambda: slice([1], 2),
    "chain": lambda: collections.ChainMap({"a": 1}),
}  # fmt: skip
IMMUTABLE = {"str", "bytes", "sentinel", "read-only", "slice", "int", "float", "complex"}


def told(x, depth=0):
    """What an object is, as far as a program could tell but for its identity."""
    if depth > 5:
        return type(x)
    parts = lambda values: [told(v, depth + 1) for v in values]
    held = parts(getattr(x, "__dict__", {}).items()) if not isinstance(x, type | types.FunctionType) else ()
    if isinstance(x, np.ndarray):
        flags = x.flags
        items = parts(np.ma.getdata(x).tolist()) if x.dtype.hasobject else repr(x)
        return type(x), x.dtype, x.shape, x.strides, flags.writeable, flags.f_contiguous, items, x.base is None
    if isinstance(x, dict):
        return type(x), parts(x.items()), held, getattr(x, "default_factory", None)
    if isinstance(x, list | tuple | collections.deque):
        return type(x), parts(x), held, getattr(x, "maxlen", None)
    if isinstance(x, BaseException):
        return type(x), parts(x.args), held
    if isinstance(x, functools.partial):
        return type(x), x.func, parts(x.args)
    if isinstance(x, Slotted):
        return type(x), told(x.a, depth + 1)
    if isinstance(x, object | slice) and not held and type(x) in (object, slice):
        return type(x), parts((x.start, x.stop)) if type(x) is slice else None
    return type(x), held or repr(x)


def disturb(x):
    """Change an object, and what it holds, in place."""
    held = list(vars(x).values()) if hasattr(x, "__dict__") and not isinstance(x, np.ndarray | type) else []
    if isinstance(x, dict | list | tuple | collections.deque):
        held += list(x.values()) if isinstance(x, dict) else list(x)
    if isinstance(x, functools.partial | BaseException):
        held += list(x.args)
    if isinstance(x, np.ndarray) and x.dtype.hasobject and x.dtype.names is None:
        held += x.ravel().tolist()
    for part in held:
        disturb(part)
    if isinstance(x, np.ma.MaskedArray):
        x[0] = np.ma.masked if not x.mask.any() else 9
    elif isinstance(x, np.ndarray) and x.flags.writeable:
        np.copyto(x, np.zeros((), x.dtype))
    elif isinstance(x, np.polynomial.Polynomial):
        x.coef[0] = 99
    elif isinstance(x, list | collections.deque | collections.UserList):
        x.append(99)
    elif isinstance(x, dict | collections.ChainMap):
        x["more"] = 99
    elif isinstance(x, set):
        x.add(99)
    elif isinstance(x, bytearray | array.array):
        x.append(9)
    elif isinstance(x, Slotted):
        x.a = 99
    elif isinstance(x, BaseException):
        x.args = ()
    if hasattr(x, "__dict__") and not isinstance(x, type | types.FunctionType | np.ndarray):
        x.more = 99


OUTSIDE, LOG = types.SimpleNamespace(), []
WAYS = {
    "returned": lambda make: lambda x: make(),
    "beside": lambda make: lambda x: (x + 1, make())[1],
    "nested": lambda make: lambda x: {"a": [make()], "b": x}["a"][0],
    "stored": lambda make: lambda x: setattr(OUTSIDE, "made", make()),
    "appended": lambda make: lambda x: LOG.append(make()),
    "in an instance": lambda make: lambda x: types.SimpleNamespace(made=make()),
}


def handed(way, f, x):
    out = f(x)
    return {"stored": lambda: OUTSIDE.made, "appended": LOG.pop, "in an instance": lambda: out.made}.get(way, lambda: out)()


@pytest.mark.parametrize("name", MADE)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_what_a_function_makes_is_made_at_every_call(name):
    make = MADE[name]
    for way, around in WAYS.items():
        plain, compiled = around(make), jit(around(make))
        seen = []
        for x in (1.0, 2.0, 3.0):
            want, found = handed(way, plain, np.array([x])), handed(way, compiled, np.array([x]))
            assert told(found) == told(want), way
            assert all(found is not other for other in seen), way
            seen.append(found)
            if name not in IMMUTABLE:
                before = told(found)
                disturb(found)
                assert told(found) != before


def test_parts_of_what_is_made_are_of_this_call():
    @jit
    def f(x):
        made = Items([x[0], x * 2])
        made.total, made.own = x.sum(), made
        return made, Keyed(a=x[1]), collections.deque([made]), Told(x[0]), functools.partial(max, x[0], 2.0)

    for x in (np.array([1.0, 2.0]), np.array([3.0, 4.0])):
        made, keyed, queue, error, bound = f(x)
        assert made[0] == x[0] and type(made[0]) is np.float64 and (made[1] == x * 2).all() and made.total == x.sum()
        assert made.own is made is queue[0] and keyed == {"a": x[1]} and error.args == ("told", x[0]) and error.x == x[0]
        assert bound() == max(x[0], 2.0)


def test_a_number_of_the_user_s_class_holds_real_values():
    @jit
    def f(x):
        n = Float(1.0)
        n.q = x[0]
        return n

    for x in (1.0, 2.0):
        n = f(np.array([x]))
        assert n == 1.0 and type(n) is Float and n.q == x and type(n.q) is np.float64


def test_what_is_one_object_is_one_object():
    @jit
    def f(x):
        names, items = np.array(["a", "b"]), Items([1])
        return names, names[:1], [names, items], items, x + 1

    for x in (1.0, 2.0):
        names, view, (again, inside), items, _ = f(np.array([x]))
        assert names is again and inside is items and view.base is names
        names[0] = "z"
        assert view[0] == "z"


REFUSED = {
    "class": lambda: type("Made", (), {}),
    "member": lambda: {Slotted(1)},
    "key": lambda: {Slotted(1): 2},
    "key in a tuple": lambda: {(Slotted(1), 1): 2},
    "frozen member": lambda: frozenset([Slotted(1)]),
    "method of a list": lambda: [].append,
    "keys": lambda: {"a": 1}.keys(),
    "view of a dict": lambda: types.MappingProxyType({"a": 1}),
    "memory": lambda: memoryview(bytearray(b"a")),
    "local": lambda: threading.local(),
    "record": lambda: np.zeros((), RECORD)[()],
    "generator": lambda: random.Random(0),
    "OSError": lambda: OSError(2, "a"),
}  # fmt: skip


def caught():
    try:
        raise ValueError("a")
    except ValueError as error:
        return error


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_made_again_is_refused(make):
    with pytest.raises(UnsupportedError):
        jit(lambda x: (make(), x))(1.0)


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_and_is_plain_python_s(make, falling_back):
    f = jit(lambda x: (make(), x))
    first, second = f(1.0)[0], f(2.0)[0]
    assert first is not second and type(second) is type(make())


def there():
    """Objects of the kinds above, and of values that have an identity all the same."""
    found = {name: make() for name, make in MADE.items() if name not in ("read-only", "view")}
    return {**found, "bound": OUTSIDE.__init__, "a value": fractions.Fraction(1, 2), "member": Slotted(1)}


HELD = there()
LISTED, ITEMS = list(HELD.values()), Items(HELD.values())
READ = {
    "item": lambda name: lambda x: HELD[name],
    "closure": lambda name: (lambda held: lambda x: held)(HELD[name]),
    "default": lambda name: (lambda held: lambda x, given=held: (x + 1, given)[1])(HELD[name]),
    "list": lambda name: (lambda n: lambda x: LISTED[n])([*HELD].index(name)),
    "user's list": lambda name: (lambda n: lambda x: ITEMS[n])([*HELD].index(name)),
    "within": lambda name: lambda x: Items([HELD[name]])[0],
    "loop": lambda name: (lambda n: lambda x: [v for v in LISTED if True][n])([*HELD].index(name)),
}


@pytest.mark.parametrize("name", HELD)
def test_what_was_there_is_itself(name):
    for way, around in READ.items():
        f = jit(around(name))
        for x in (1.0, 2.0):
            try:
                assert f(np.array([x])) is HELD[name], way
            except UnsupportedError:
                break


MEMBERS = {Slotted(1), Int(2), (Int(3), "a")}
FROZEN, KEYS = frozenset(MEMBERS), dict.fromkeys(MEMBERS, 1)


def test_members_and_keys_from_outside_are_themselves():
    f = jit(lambda x: (list(MEMBERS), list(FROZEN), list(KEYS), set(MEMBERS), dict(KEYS), x))
    for x in (1.0, 2.0):
        for found in f(x)[:5]:
            for a in found:
                assert type(a) is tuple or any(a is b for b in MEMBERS)


def test_an_exception_that_was_caught_is_made_again():
    f = jit(caught)
    a, b = f(), f()
    assert a is not b and type(a) is type(b) is type(caught()) and a.args == b.args == caught().args
