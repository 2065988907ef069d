"""Operators: `a + b` is the operator itself, but the methods behind it, where a class of the user's has them, get
hooks."""

import contextlib
import dis
import functools
import operator
import warnings

import numpy as np

from ...ir.ops import OPS
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_builtin, is_user
from ..guards.context_managers import refuse_filters, refuse_manager
from ..guards.state import CONTAINERS, TRANSPARENT, inside, own_new
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.array_object import ArrayObject
from ..values.object_phi import kind_of_object
from ..values.storage import current_trace
from .alternatives import asked_of_sides
from .array_object_operators import among_elements, meets, operated, operated_in_place, unary_of
from .bounded_lists import bounded_list
from .branch import decided
from .builtins import truth
from .calls import ENVIRONMENT, environment
from .container_changes import before_change
from .foreign import ask, may_change
from .growing import GrownList, list_behind, shown_whole
from .handed import called as call
from .handed import handed
from .handlers import SIGNALS, trying
from .held_objects import call_held, is_held
from .jax_arrays import is_rebound, of_operator
from .jax_calls import owned
from .keys import KEEPING, is_among, member
from .list_changes import extending
from .objects import MIXED_IN, is_quick, iterated, special
from .printing import passing, percent
from .sameness import is_other, is_same
from .sequences import contains, folded
from .sparse_operands import of_sparse
from .special import looked_up
from .variants import equal_by_sides

SIMPLE = frozenset((str, bytes, range, np.ndarray, TracedArray, dict, set))  # whose members are compared by nobody else
OWN = frozenset(
    (
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        tuple,
        list,
        dict,
        set,
        type(None),
        np.ndarray,
        np.float64,
        TracedArray,
        TracedScalar,
    )
)
HOOKS = {}  # name of the operator in the syntax tree, "I" before it where it works in place -> what stands in for it


def binary(plain, name, mirror):
    """An operator of two operands, whose methods are `name` and, of the right operand, `mirror`."""

    def stand_in(a, b):
        left, right = kind_of_object(a), kind_of_object(b)
        if GROWING & {left, right} and current_trace() is not None:
            found, a, b = of_lists(name, a, b)
            if found is not NotImplemented:
                return found
            left, right = type(a), type(b)
        if left in OWN and right in OWN:
            return of_operator(plain(a, b), a, b) if left not in MADE and right not in MADE else own_new(plain(a, b))
        found = of_sparse(name, mirror, a, b)
        if found is not NotImplemented:
            return found
        if meets(a, b):
            return operated(plain, name, mirror, a, b)
        first = None if left in OWN else special(left, name)
        second = None if right in OWN or left is right else special(right, mirror)
        if first is None and second is None:
            return of_operator(of_builtins(plain, a, b, left, right), a, b)
        if second is not None and issubclass(right, left) and getattr(right, mirror) is not getattr(left, mirror, None):
            found = call(second)(b, a)
            if found is not NotImplemented:
                return found
            second = None
        if first is not None:
            found = call(first)(a, b)
        else:
            own = None if yields(left, b) else getattr(left, name, None)
            found = own(a, b) if own is not None else NotImplemented
        if found is NotImplemented and second is not None:
            found = call(second)(b, a)
        return of_operator(handed(plain, a, b), a, b) if found is NotImplemented else of_operator(found, a, b)

    return asked_of_sides(stand_in)


def of_builtins(plain, a, b, left, right):
    """An operator of classes whose own methods say what it gives."""
    if current_trace() is not None and (may_change(a) or may_change(b)):
        return at_once(plain, a, b)
    found = handed(plain, a, b)
    return own_new(found) if left in MADE or right in MADE else found


TRANSPARENT.add(of_builtins.__code__)
MADE = {list, dict, set}  # operators of which make another one
GROWING = {list, tuple, GrownList}  # what may be a list that grows, or hold one


def of_lists(name, a, b):
    """(the answer where a list that grows where data decide is compared with an empty one, else NotImplemented; the
    operands)"""
    if name in ("__eq__", "__ne__") and (type(a) is list or type(b) is list):
        for x, other in ((a, b), (b, a)):
            held = bounded_list(x)
            if held is not None and type(other) is list and not other:
                return (held.truth() if name == "__ne__" else opposite(held.truth())), a, b
    if isinstance(a, Traced | np.ndarray) or isinstance(b, Traced | np.ndarray):
        a, b = (x if (held := bounded_list(list_behind(x))) is None else held.array() for x in (a, b))
    return NotImplemented, shown_whole(a), shown_whole(b)


def opposite(x):
    return not x if isinstance(x, bool) else TracedScalar(OPS["not"](x.value), bool)


def at_once(plain, a, b):
    """An operator of an object of a library that may change in place, and of something that is known."""
    known = [x.known() if isinstance(x, Traced) else x for x in (a, b)]
    return plain(a, b) if any(x is None for x in known) else ask(plain, *known)


def yields(kind, other):
    """Whether a value of a type leaves an operator to an object of a class of the user's: numbers and lists do, arrays
    where they are told."""
    if is_builtin(kind) or kind is TracedScalar:
        return True
    of = kind_of_object(other)
    told = getattr(of, "__array_ufunc__", 0) is None or getattr(of, "__array_priority__", 0) > 0
    return kind is TracedArray and told


def changed_in_place(plain, name, a, b):
    """`a += b` and its like of a list, dict, set or deque."""
    if type(a) is list and name == "__iadd__":
        handed(extending(a), b)
        return a
    before_change(a, "extend" if name == "__iadd__" else name)
    return handed(plain, a, b)


def inplace(plain, name, otherwise):
    def stand_in(a, b):
        b = shown_whole(b) if type(b) in GROWING else b
        if type(a) is GrownList:
            extending(list_behind(a))(b)
            return a
        kind = kind_of_object(a)
        if meets(a, b):
            return operated_in_place(plain, name, otherwise, a, b)
        if is_rebound(a):
            return owned(otherwise(a, b))
        if kind is list and isinstance(b, Traced | np.ndarray | np.generic):  # which answers first
            return otherwise(a, b)
        if kind in CONTAINERS and hasattr(kind, name) and current_trace() is not None:
            return changed_in_place(plain, name, a, b)
        if is_held(kind) and inside():
            return call_held(functools.partial(handed, plain) if hasattr(kind, name) else otherwise, plain, a, b)
        if kind in OWN:
            return plain(a, b) if type(b) in OWN else plain(a, b) if hasattr(kind, name) else otherwise(a, b)
        own = special(kind, name)
        if own is None:
            return handed(plain, a, b) if hasattr(kind, name) else otherwise(a, b)
        found = call(own)(a, b)
        return otherwise(a, b) if found is NotImplemented else found

    return asked_of_sides(stand_in)


def unary(plain, name):
    def stand_in(a):
        if isinstance(a, ArrayObject):
            return unary_of(plain, name, a)
        own = None if type(a) in OWN else special(kind_of_object(a), name)
        return of_operator(handed(plain, a) if own is None else call(own)(a), a, None)

    return asked_of_sides(stand_in)


def contained(a, b):
    """`a in b`."""
    trace = current_trace()
    b = shown_whole(b) if type(b) in GROWING else b
    if trace is not None and isinstance(b, KEEPING):
        found = is_among(a, b)
        if found is not None:
            return found
        a = member(a)
    if trace is not None and type(b) is ENVIRONMENT:
        return environment(a, None) is not None
    if trace is not None and type(b) is dict and (held := trace.root.outside.holds(b, a)) is not None:
        return held
    b = b if trace is None else trace.root.outside.seen(b)
    if meets(a, b):
        return among_elements(a, b, contained)
    own = None if type(b) in OWN else special(kind_of_object(b), "__contains__")
    if own is None:
        own = type(b) not in OWN and (special(type(b), "__iter__") or special(type(b), "__getitem__"))
        if own and getattr(type(b), "__contains__", MIXED_IN["__contains__"]) is MIXED_IN["__contains__"]:
            return folded(iterated(b), lambda item: item is a or item == a, "or")  # no further than to what is found
        return contains(a, b) if type(a) in OWN and type(b) in SIMPLE and is_quick(b) else handed(contains, a, b)
    found = call(own)(b, a)
    known = decided(found)
    return truth(found) if known is None else known


def missing(a, b):
    """`a not in b`."""
    found = contained(a, b)
    return TracedScalar(OPS["not"](found.value), bool) if isinstance(found, Traced) else not found


for _node, _name in {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "MatMult": "matmul",
    "LShift": "lshift", "RShift": "rshift", "BitAnd": "and", "BitOr": "or", "BitXor": "xor",
}.items():  # fmt: skip
    HOOKS[_node] = binary(getattr(operator, f"__{_name}__"), f"__{_name}__", f"__r{_name}__")
    HOOKS[f"I{_node}"] = inplace(getattr(operator, f"__i{_name}__"), f"__i{_name}__", HOOKS[_node])
for _node, _pair in {
    "Lt": "lt gt",
    "LtE": "le ge",
    "Gt": "gt lt",
    "GtE": "ge le",
    "Eq": "eq eq",
    "NotEq": "ne ne",
}.items():
    _name, _mirror = _pair.split()
    HOOKS[_node] = binary(getattr(operator, _name), f"__{_name}__", f"__{_mirror}__")
for _node in ("Eq", "NotEq"):
    HOOKS[_node] = functools.partial(equal_by_sides, HOOKS[_node])
for _node, _name in (("USub", "neg"), ("UAdd", "pos"), ("Invert", "invert")):
    HOOKS[_node] = unary(getattr(operator, _name), f"__{_name}__")
for _name in ("Mod", "IMod"):  # of strings it is formatting
    HOOKS[_name] = functools.partial(
        lambda numbers, a, b: handed(percent, a, b) if type(a) is str else numbers(a, b), HOOKS[_name]
    )
HOOKS |= {"member": member, "In": contained, "NotIn": missing, "Is": is_same, "IsNot": is_other}


# -- exceptions ------------------------------------------------------------------------------------


def ended_by(real):
    """The exceptions that a context manager may end: any, where its `__exit__` is the user's."""
    if type(real) is contextlib.suppress:
        return real._exceptions
    code = getattr(getattr(type(real), "__exit__", None), "__code__", None)
    return (Exception,) if code is not None and is_user(code) else ()


class Manager:
    """A context manager whose methods have hooks, and which does not suppress what says that tracing cannot go on."""

    __slots__ = ("real", "around", "passing")

    def __init__(self, real):
        self.real, self.passing = real, passing(real)
        self.around = trying(functools.partial(ended_by, real))

    def __enter__(self):
        self.around.__enter__()
        refuse_manager(self.real)
        looked_up(type(self.real), "__enter__", "__exit__")
        filters = warnings.filters[:1]
        entered = call(type(self.real).__enter__)(self.real)
        if self.passing == "catch_warnings":
            refuse_filters(self.real, filters)
        if self.passing is not None and current_trace() is not None:
            current_trace().root.within.append(self.passing)
        return entered

    def __exit__(self, kind, error, traceback):
        self.around.__exit__()
        if self.passing is not None and current_trace() is not None:
            current_trace().root.within.remove(self.passing)
        leave = call(type(self.real).__exit__)
        if not isinstance(error, SIGNALS):
            return leave(self.real, kind, error, traceback)
        with contextlib.suppress(Exception):  # which the function has nothing to do with
            leave(self.real, None, None, None)
        return False


PLAINLY = {
    "COPY_FREE_VARS", "RETURN_GENERATOR", "POP_TOP", "RESUME", "LOAD_FAST", "LOAD_CONST", "STORE_FAST", "YIELD_VALUE",
    "RETURN_VALUE", "NOP",
}
PLAINLY |= {
    "RETURN_CONST", "BUILD_TUPLE", "RERAISE", "PUSH_EXC_INFO", "POP_EXCEPT", "COPY", "CALL_INTRINSIC_1",
    "LOAD_FAST_LOAD_FAST", "CACHE",
}
PLAINLY |= {"LOAD_FAST_BORROW", "NOT_TAKEN", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_SMALL_INT"}


def refuse_generator(real):
    """Refuse a `with` over a generator of the user's, whose body has no hooks, unless that only reads and yields, or
    reaches the trace alone."""
    code = getattr(getattr(real, "gen", None), "gi_code", None)
    if type(real) is not GENERATOR or code is None or not is_user(code):
        return
    does, given = {i.opname for i in dis.get_instructions(code)}, real.gen.gi_frame.f_locals.values()
    if does <= PLAINLY | NAMING or not does & (NAMING | BEYOND) and all(map(of_trace, given)):
        return
    text = (
        f"the body of {code.co_name}, a @contextmanager, is a generator, which is not captured: traced, it would run "
        "once, and not at every call"
    )
    hint = "Put the `with` around the call of the compiled function, or write a class with __enter__ and __exit__."
    raise UnsupportedError(message(text, locate(), hint))


def of_trace(x):
    """Whether a value is traced, or a number, or a container of such, which the trace has made or sees by a copy."""
    if type(x) in (list, tuple, dict):
        return all(map(of_trace, [*x, *x.values()] if type(x) is dict else x))
    return type(x) in OWN and type(x) not in (set, np.ndarray)


NAMING = {"LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}  # what is read so is relied on
BEYOND = {"STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF", "IMPORT_NAME", "LOAD_NAME", "MAKE_FUNCTION"}


GENERATOR = type(contextlib.contextmanager(lambda: iter(()))())


def manager(real):
    kind = type(real)
    if current_trace() is not None:
        refuse_generator(real)
    return (
        Manager(real)
        if current_trace() is not None and hasattr(kind, "__enter__") and hasattr(kind, "__exit__")
        else real
    )
