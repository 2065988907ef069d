"""`wengert.load(path)`: the function that a file holds."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...backends.xla import dispatch, exporting, failing
from ...backends.xla.callbacks import words
from ...ir.types import DTYPES, SHORT
from ..cache.record import RAISED
from ..capture.containers import change_containers, container_at
from ..capture.handover import ARRAY, Out, ambiguous
from ..common.errors import ExportError
from ..common.frames import raises_for_user
from ..program import relied
from ..program.specialisation import handed_leaf, overlapping
from ..values.status import Check, failure
from .container import opened, read_file
from .described_export import description
from .matching import LeafSpec, Matching
from .saving import STABLEHLO, TEXT
from .steps import Malformed, out_of
from .structure import NodeReader, fixed_value, seen_through

OF = inspect.Parameter
PARAMETERS = OF.POSITIONAL_ONLY, OF.POSITIONAL_OR_KEYWORD, OF.VAR_POSITIONAL, OF.KEYWORD_ONLY, OF.VAR_KEYWORD
BROKEN = (Malformed, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, StopIteration)
READ_ONLY = "argument {} is written, and is read-only"
JAX_ARRAY = "argument {} is written, and a jax array never changes: pass an ndarray"
SHARES = "argument {} is written, and shares memory with another argument: pass a copy"
UNLIKE = (
    "an array among the arguments is read-only, a view of another, in another memory order, or shares memory with one, "
    "as it was not when {} was exported"
)
UNTOLD = "which of several arrays a result is cannot be told: pass arrays that hold other numbers"


def load(path: str | os.PathLike[str]) -> LoadedFunction:
    """The function of a file that `f.export(..., path=path)` wrote.

    It takes arguments of the structure, dtypes and shapes that were exported, by position or name as the function did;
    gives results of the same kinds, changes the same arguments, and raises the same exceptions. If any argument is a
    jax array, the results are. The module of the function is neither needed nor imported, and nothing of the file is
    unpickled; its program is run, so load files of those alone whose code you would run (docs/security.md).

    Raises ExportError, which is a ValueError, for a file that is cut, altered, foreign or newer than this version, that
    calls anything but JAX's own operations, or that the installed jax does not read.
    """
    name = os.fspath(path)
    head, sections = opened(read_file(path), name)
    try:
        return LoadedFunction(head, sections, name)
    except exporting.NotExported as error:
        raise ExportError(f"{name}: {error}") from error
    except BROKEN as error:
        if isinstance(error, ExportError):
            raise
        raise ExportError(f"{name} is malformed: its header does not tell of a function") from error


class LoadedFunction:
    """A program that was read from a file, to be called as the function that it was made of.

    path: the file; platforms: what it runs on; versions: {"wengert", "jax", "numpy", "python"} of the process that made
    it.
    """

    path: str
    platforms: tuple[str, ...]
    versions: dict[str, str]

    def __init__(self, head: dict[str, Any], sections: dict[str, bytes], path: str) -> None:
        self.path, self.head, self.sections = path, head, sections
        self.__name__ = self.__qualname__ = head["name"]
        self.platforms = tuple(head["platforms"])
        self.versions = {name: head[name] for name in ("wengert", "jax", "numpy", "python")}
        if type(head["name"]) is not str or not (seen_through(head["arguments"]) and seen_through(head["results"])):
            raise Malformed
        self.leaves = [LeafSpec(*leaf) for leaf in head["leaves"]]
        self.matching = Matching(head["arguments"], self.leaves, self.__name__, head["apart"])
        self.checks = [checked(*said) for said in head["checks"]]
        made = [self.made_out(said) for said in head["outs"]]
        self.outs = [made[n] for n in head["shown"]]
        self.unsure = [out for out in made if out.how in ("unsure", "chosen")]
        self.values, self.writes, self.layout = head["values"], head["writes"], head["layout"]
        self.relied = [(i, tuple(what) if type(what) is list else what, answer) for i, what, answer in head["relied"]]
        self.changes = [([fixed_value(key) for key in way], node) for way, node in head["changes"]]
        if not all(seen_through(node) for _, node in self.changes):
            raise Malformed
        self.__signature__ = signature_again(head["parameters"])
        takes = [(spec.shape, spec.dtype) for spec in self.leaves]
        gives = [(tuple(shape), DTYPES[SHORT[dtype]]) for dtype, shape in head["given"]]
        copies = [(tuple(shape), DTYPES[SHORT[dtype]]) for dtype, shape in head["copies"]]
        self.program = exporting.Runnable(sections[STABLEHLO], head, takes, gives + copies)
        self.describe()  # it can be

    def made_out(self, said):
        """The Out of a leaf; constant arrays stand behind the results."""
        out = out_of(said, fixed_value)
        return Out("value", ARRAY, self.head["values"] + out.index) if out.how == "copy" else out

    def describe(self) -> str:
        """What the file holds: what the program takes, gives, changes and raises, what was read outside its arguments
        when it was exported, which is frozen in it, and the versions that made it."""
        return description(self.head)

    def text(self, kind: str = "ir") -> str:
        """The program as text: "ir", with the lines of the user's code, or "stablehlo"."""
        if kind == TEXT:
            return self.sections[TEXT].decode()
        if kind == STABLEHLO:
            return self.program.exported.mlir_module()
        raise ValueError(f"the text of a loaded program is 'ir' or 'stablehlo', not {kind!r}")

    def __repr__(self) -> str:
        return f"<loaded {self.describe().partition(chr(10))[0]}>"

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        return self if instance is None else functools.partial(self, instance)

    # -- a call --------------------------------------------------------------------------------------
    @raises_for_user
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        names = []
        if self.__signature__ is not None:
            bound = self.__signature__.bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
            names = list(self.__signature__.parameters)
        leaves = self.matching.taken(args, kwargs, names)
        self.look_at(leaves)
        try:
            raw = self.program(leaves)
        except exporting.NotExported as error:
            raise ExportError(f"{self.path}: {error}") from None
        return self.finish(raw, leaves, args, kwargs)

    def refuse(self, text: str, i: int | None = None) -> NoReturn:
        raise ExportError(f"{self.__name__}: {text.format(self.__name__ if i is None else self.leaves[i].name)}")

    def look_at(self, leaves):
        """Refuse arrays of another standing than those that were exported."""
        for i in self.writes:
            if not isinstance(leaves[i], np.ndarray):
                self.refuse(JAX_ARRAY, i)
            if not leaves[i].flags.writeable:
                self.refuse(READ_ONLY, i)
        arrays = [leaves[i] for i in self.layout if isinstance(leaves[i], np.ndarray)]
        if not all(x.flags.c_contiguous and x.flags.aligned for x in arrays):
            self.refuse(UNLIKE)
        if not relied.unchanged(leaves, self.relied):
            self.refuse(UNLIKE)
        if self.writes and overlapping(leaves, self):
            self.refuse(SHARES, self.writes[0])

    def finish(self, raw, leaves, args, kwargs):
        """Turn raw results into what the function returned; what it changes is written last, all or none."""
        count, own = len(self.head["given"]), self.values + len(self.writes)
        if self.checks and exporting.is_under_jit(leaves):
            failing.raise_where_failed(words(raw[count - 1]), lambda status: failure(self.checks, status)[1])
        elif self.checks and (status := dispatch.number(raw[count - 1])):
            raise failure(self.checks, status)[1] from None
        numpy = not any(map(dispatch.is_device_array, leaves))
        shared = self.head["shared"]
        values = [self.own(r, shared[i]) if numpy else r for i, r in enumerate(raw[: self.values])]
        after = dict(zip(self.writes, raw[self.values : own]))
        if self.unsure and ambiguous(self.unsure, values, leaves, after):
            self.refuse(UNTOLD)
        values += [self.own(r, True) if numpy else r for r in raw[count:]]
        for i, new in after.items():
            np.copyto(leaves[i], np.asarray(new))
        made = {}
        handed = [handed_leaf(out, values, leaves, numpy, made) for out in self.outs]
        return self.rebuilt(handed, (args, kwargs))

    def own(self, result, shared):
        """A result as an ndarray that the caller may write."""
        return np.array(result, order="C") if shared else dispatch.owned(result)

    def rebuilt(self, leaves, given):
        """The result around its leaves; lists and dicts among the arguments are changed as the function did."""
        reader = NodeReader(leaves, given)
        result = reader.read(self.head["results"])
        change_containers([(container_at(given, way), reader.read(node)) for way, node in self.changes])
        return result


def checked(error, text, quotes, args):
    """The Check that was written."""
    if error not in RAISED or type(text) is not str or (quotes and "{}" not in text):
        raise Malformed
    kind = RAISED[error]
    return Check(kind, text, quotes, 0, None if args is None else tuple(map(fixed_value, args)))


def signature_again(parameters):
    """The parameters of the function, what may be left out with `...` as its default; None where it told none."""
    if parameters is None:
        return None
    empty = inspect.Parameter.empty
    made = [inspect.Parameter(name, PARAMETERS[k], default=... if left else empty) for name, k, left in parameters]
    return inspect.Signature(made)
