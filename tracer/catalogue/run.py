"""Examples, run: what of a compiled call was captured, and what plain NumPy gives for it."""

import ast
import linecache
import re
import types
import warnings
from dataclasses import dataclass

import numpy as np

from ...ir import syntax
from ..api.compiled import Compiled
from ..common.errors import Fallback, WengertError
from ..extents.bounded import BoundedArray
from ..values.acting import acts
from ..values.array import Traced
from . import functions, mathematics, members

NAMED = re.compile(r"([\w.]+): (.*)")
OWNERS = {"np", "rng"}


@dataclass(frozen=True)
class Example:
    """One line of a table. name: the NumPy name it is of; raised: the class of exception NumPy raises, or "";
    differs: how, where the result is not NumPy's in dtype, or "".
   """

    section: str
    name: str
    text: str
    raised: str
    differs: str

    @property
    def operands(self):
        """The names of the operands it mentions, in the order of `operands`."""
        mentioned = {n.id for n in ast.walk(syntax.parse(self.text)) if isinstance(n, ast.Name)}
        return [n for n in operands() if n in mentioned]


@dataclass(frozen=True)
class Seen:
    """What became of an example: its status, the reason where it was refused, and what its two calls left, as
    `plain`."""

    status: str
    reason: str
    left: list


def operands(other=False):
    """The arrays examples are made of, new ones at every call; `other`: other numbers of the same types."""
    x = np.array([[0.5, -1.0, 2.25, 0.75], [-0.5, 3.0, 1.5, -2.0], [1.25, 0.25, -0.75, 4.0]])
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    given = {
        "x": x, "h": x / 5, "p": abs(x) + 1.25, "a": a, "y": np.array([2.0, -1.5, 0.5, 3.0]),
        "v": np.array([0.5, -1.0, 2.0, 1.5, -0.25, 0.75]),
        "t": np.arange(8.0).reshape(2, 2, 2), "s": np.float64(1.25), "k": np.int64(2), "i": np.array([2, 0, 1]),
        "n": np.array([0, 3, 1, 3, 2, 0]),
        "b": np.array([True, False, True, True]), "u": np.array([5, 9], np.uint8),
        "z": np.array([1 + 2j, -0.5j, 3.0, -1 + 1j]),
        "d": np.array(["2020-01-01", "2020-01-06"], "M8[D]"), "rng": np.random.default_rng(5),
    }  # fmt: skip
    if other:
        given |= {"s": np.float64(0.75), "k": np.int64(1), "i": np.array([1, 2, 0]), "n": np.array([0, 0, 2, 2, 3, 1])}
        given |= {name: np.flip(given[name]).copy() for name in "xhpayvtbuz"}
    return given


def subject(text):
    """The NumPy name that an expression calls, or the attribute it takes."""
    node = syntax.parse(text, mode="eval").body
    parts = []
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
        node = node.value if not isinstance(node, ast.Call) else node.func
    root = node.id
    if root == "np":
        while len(parts) > 1 and not isinstance(_get(parts[:-1]), types.ModuleType | np.ufunc):
            parts.pop()  # np.finfo(...).eps is an example of np.finfo
        return f"ufunc.{parts[-1]}" if isinstance(_get(parts[:-1]), np.ufunc) else f"np.{'.'.join(parts)}"
    return f"Generator.{parts[0]}" if root == "rng" else f"ndarray.{parts[0]}"


def _get(parts):
    found = np
    for p in parts:
        found = getattr(found, p, None)
    return found


def names():
    """Every public name: callables of the modules, methods and attributes of the classes."""

    def public(owner, of, every):
        found = {n: getattr(owner, n) for n in dir(owner) if not n.startswith("_")}
        return {f"{of}.{n}" for n, x in found.items() if every or callable(x) and not isinstance(x, types.ModuleType)}

    modules = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath, "np.random": np.random}
    classes = {"ndarray": np.ndarray, "ufunc": np.ufunc, "Generator": np.random.Generator}
    return set().union(
        *(public(m, of, False) for of, m in modules.items()), *(public(c, of, True) for of, c in classes.items())
    )


def here(name):
    """Whether the NumPy that is installed has a name: later ones lose some."""
    home, *parts = name.split(".")
    owner = {"np": np, "ndarray": np.ndarray, "Generator": np.random.Generator, "ufunc": np.ufunc}[home]
    for part in parts:
        owner = getattr(owner, part, None)
    return owner is not None


def examples():
    """Every line of the tables whose name is here."""
    for module in (functions, mathematics, members):
        for section, table in vars(module).items():
            if section.isupper():
                for line in table.strip().splitlines():
                    line, _, differs = line.partition("  ~ ")
                    text, _, raised = line.partition("  # ")
                    named = NAMED.fullmatch(text)
                    name, text = named.groups() if named else (None, text)
                    if name and name.split(".")[0] not in ("np", "ndarray", "Generator"):
                        raise ValueError(f"{line!r} names nothing of NumPy")
                    if here(name or subject(text)):
                        yield Example(section.lower(), name or subject(text), text, raised, differs)


def function_of(example, result_seen=lambda result: result):
    """The example as a function with source, of the operands it mentions."""
    source = f"def example({', '.join(example.operands)}):\n    return _seen({example.text})\n"
    file = f"<numpy: {example.text}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = {"np": np, "_seen": result_seen}
    exec(compile(source, file, "exec"), space)
    return space["example"]


def prepared(example):
    """The arguments of two calls."""
    np.random.seed(3)
    return [[given[n] for n in example.operands] for given in (operands(), operands(other=True))]


def attempt(function, args):
    """What a call leaves: its result or the exception it raises, and the arguments."""
    with np.errstate(all="ignore"):
        try:
            return function(*args), args
        except Exception as error:
            return error, args


def plain(example):
    """What NumPy leaves of two calls, on other numbers and later in the random stream."""
    function = function_of(example)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [attempt(function, args) for args in prepared(example)]


def seen(example):
    """The example compiled, and what was captured of it."""
    found = []

    def look(result):
        found.append(kinds(result))
        return result

    compiled = Compiled(function_of(example, look), name="example")
    call = lambda *args: compiled.slow(args, {})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        left = [attempt(call, args) for args in prepared(example)]
    error = left[0][0]
    if isinstance(error, WengertError):
        return Seen("refused", str(error), left)
    fallback = next((str(w.message) for w in told if issubclass(w.category, Fallback)), None)
    return Seen("fallback", fallback, left) if fallback else Seen(status(compiled, found), "", left)


def kinds(result):
    """Which of "bounded" and "captured" are among the leaves of a result."""
    if isinstance(result, Traced):
        return {"bounded" if isinstance(result, BoundedArray) else "captured"}
    if isinstance(result, dict):
        result = [*result.values()]
    return set().union(*map(kinds, result)) if isinstance(result, list | tuple) else set()


def status(compiled, found):
    versions = [v for e in compiled.entries.values() for w in e.worlds for v in w.versions]
    if any(v.captured.outside.draws or any(acts(v.captured.func)) for v in versions):
        return "host"
    here = set().union(*found)
    if "bounded" in here:
        return "bounded"
    return "captured" if here or any(v.captured.writes for v in versions) else "static"


