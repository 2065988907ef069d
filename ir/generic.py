"""A program of symbolic sizes: what functions made at several samples of sizes have in common, and the function that it
is at any sizes.

    generalised([f37, f38, f74], [{"n": 37}, {"n": 38}, {"n": 74}])  ->  Generic

    sizes n=[37,38,74]
    func loss(%x: f64[n,3]) -> f64[] {
      %0 = reduce_sum %x axes=[0,1] : f64[]
      %1 = div %0, n                : f64[]
      return %1
    }

No equation is traced or rewritten: a Generic has the values that were seen at its samples, and forms in sizes of those
that differ (`forms`). What it is at other sizes is what the compiler would have made there only as far as nothing in
it was decided by the sizes: whoever uses one says for which sizes that holds.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from .core import Eqn, Func, Lit, Value
from .dims import name_solved
from .equality import same_function
from .forms import Size, SizedLit, SizedType, Unalike, dims_of
from .instances import Instances
from .reading import parse
from .sample_text import drawn_samples, show_samples, size_names, split_samples
from .text import show
from .types import DTYPES, IRTypeError, Tensor
from .unify import Pattern, PatternEqn, Unifier
from .verify import verify

__all__ = ["Generic", "Unalike", "generalised", "parse_generic"]

WORDS = {"nan", "inf", "nanj", "infj", "dense", "full", "sqrt", "type"}  # of the values in texts


def parse_generic(text: str, functions: Mapping[str, Any] | None = None) -> Generic:
    """The Generic that a text describes, as `str` gives it. functions: as of `ir.text.parse`.

    Without the line that begins with `sizes`, it is read at samples of its own. Raises TextError where the text means
    nothing, or nothing at one of its samples, and Unalike where it has other sizes than it says.
    """
    samples, rest = split_samples(text)
    samples = samples or drawn_samples(size_names(text))
    return generalised([parse(rest, functions, sizes) for sizes in samples], samples)


def generalised(funcs: Sequence[Func], samples: Sequence[Mapping[str, int]]) -> Generic:
    """The program of symbolic sizes that `funcs` are at `samples`, which assign a number to the same names each.

    Raises Unalike, with the equation, its line and what differs, where they are not one.
    """
    if not funcs or len(funcs) != len(samples) or any(s.keys() != samples[0].keys() for s in samples):
        raise ValueError("generalised takes a function for each sample, and samples of the same names")
    for name in samples[0]:
        if not name.isidentifier() or keyword.iskeyword(name) or name in DTYPES or name in WORDS:
            raise ValueError(f"{name!r} is no name of a size: it means something else in texts")
    return Generic(Unifier(samples).pattern(tuple(funcs)), samples)


class Generic:
    """A program of symbolic sizes; see the module.

    func: the function at the first sample; names: of the sizes, sorted; samples: those that it was made of.
    """

    def __init__(self, pattern: Pattern, samples: Sequence[Mapping[str, int]]) -> None:
        self.samples = tuple([dict(s) for s in samples])
        self.names = tuple(sorted(samples[0]))
        self.pattern = pattern
        self._instances = Instances(pattern, self.names)
        self._types: dict[Value, Tensor | SizedType] = {}
        self._rows: dict[Eqn, PatternEqn] = {}
        self._patterns: dict[Func, Pattern] = {}
        self.func = pattern.first
        if not self._record(pattern, self.func):  # one function of it stands for several of other sizes
            self._types, self._rows, self._patterns = {}, {}, {}
            self.func = self._instances.at(self.samples[0])
            self._record(pattern, self.func)

    def _record(self, pattern: Pattern, func: Func) -> bool:
        """Note what stands for the values and equations of `func`; False where it is noted for another pattern."""
        if func in self._patterns:
            return self._patterns[func] is pattern
        self._patterns[func] = pattern
        self._types.update(zip(func.params, pattern.types, strict=True))
        for eqn, row in zip(func.eqns, pattern.rows, strict=True):
            self._rows[eqn] = row
            self._types.update(zip(eqn.results, row.types, strict=True))
            for name, form in row.attrs.items():
                if not self._record_regions(form, eqn.attrs[name]):
                    return False
        return True

    def _record_regions(self, form: Any, value: Any) -> bool:
        if isinstance(form, Pattern):
            return self._record(form, value)
        return not isinstance(form, tuple) or all(
            self._record_regions(x, v) for x, v in zip(form, value, strict=True) if isinstance(v, Func | tuple)
        )

    def type(self, x: Value | Lit | SizedLit) -> Tensor | SizedType:
        """The type of a value of `func` or of its regions; of an operand as `operand` gives it."""
        return self._types.get(x, x.type) if isinstance(x, Value) else x.type

    def dims(self, x: Value | Lit | SizedLit) -> tuple[Size, ...]:
        """The sizes of a value of `func` or of its regions, those that differ as expressions of the names.

        A Lit is the same object wherever it stands: `operand` says which sizes it has in an equation.
        """
        return dims_of(self.type(x))

    def attr(self, eqn: Eqn, name: str) -> Any:
        """An attribute of an equation of `func` or of its regions: with a Dim, a SizedType or a SizedNumber in the
        place of what differs. Functions within are those of `func`."""
        row = self._rows.get(eqn)
        value = eqn.attrs[name]
        return _shown(row.attrs[name], value) if row is not None and name in row.attrs else value

    def operand(self, eqn: Eqn, k: int) -> Value | Lit | SizedLit:
        """An operand of an equation: a SizedLit where it is a number whose type or value hangs on sizes."""
        row = self._rows.get(eqn)
        found = row.operands[k] if row is not None else None
        return found if isinstance(found, SizedLit) else eqn.operands[k]

    def result(self, func: Func, k: int) -> Value | Lit | SizedLit:
        """A result of `func`, or of one of its regions, likewise."""
        found = self._patterns[func].results[k] if func in self._patterns else None
        return found if isinstance(found, SizedLit) else func.results[k]

    def sizes_of(self, types: Sequence[Tensor]) -> dict[str, int]:
        """The numbers of the names where the parameters are of these types.

        Raises IRTypeError where parameters of these types there are not, or they do not tell all names: only sizes that
        are affine in one name do, such as n, 2*n or n + 1.
        """
        given = [(d, n) for p, t in zip(self.func.params, types) for d, n in zip(self.dims(p), t.shape)]
        sizes = {name: k for d, n in given for name, k in name_solved(d, n).items()}
        wanted = [self.type(p) for p in self.func.params]
        unknown = [name for name in self.names if name not in sizes]
        if not unknown:
            there = [t.at(sizes) if isinstance(t, SizedType) else t for t in wanted]
            if there == list(types):
                return sizes
        elif [t.dtype for t in wanted] == [t.dtype for t in types]:
            raise IRTypeError(f"{self.func.name}: the sizes of its parameters do not tell {', '.join(unknown)}")
        raise IRTypeError(
            f"{self.func.name} takes ({', '.join(map(repr, wanted))}), and is given ({', '.join(map(repr, types))})"
        )

    def at(self, sizes: Mapping[str, int]) -> Func:
        """The function at these sizes, verified; its values are new, its sources those of `func`.

        Raises ArithmeticError where a size would be negative or is not whole, and IRTypeError where an equation cannot
        be of these sizes.
        """
        return verify(self._instances.at(sizes))

    def __str__(self) -> str:
        return f"{show_samples(self.samples)}\n{show(self.func, view=self)}"

    def agrees(self, func: Func, sizes: Mapping[str, int]) -> bool:
        """Whether a function made at these sizes is `at(sizes)`, whatever values are called; `difference` says why
        not."""
        try:
            return same_function(self._instances.at(sizes), func)
        except ArithmeticError:
            return False

    def difference(self, func: Func, sizes: Mapping[str, int]) -> str:
        """Where `func` is not `at(sizes)`, in words; "" where it is."""
        try:
            made = self._instances.at(sizes)
        except ArithmeticError as error:
            return str(error)
        if same_function(made, func):
            return ""
        given = {name: sizes[name] for name in self.names}
        try:
            Unifier([given, given]).pattern((made, func))
        except Unalike as error:
            return str(error)
        return f"{func.name} is not the same function"


def _shown(form: Any, value: Any) -> Any:
    if isinstance(form, Pattern):
        return value
    if isinstance(form, tuple):
        return tuple([_shown(x, v) for x, v in zip(form, value, strict=True)])
    return form
