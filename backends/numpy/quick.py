"""The equations of a program as the NumPy statements that cost least a call.

NumPy's own broadcasting stands for most `broadcast` equations: what is held of a value may be *thin*, an array of
fewer elements that broadcasts to it, and what is elementwise stays thin. Values of shape () are numbers, not arrays:
Python's floats as they come, where what is done with them is the same in both, NumPy's otherwise.
"""

import ast
import builtins
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from ...ir.core import Constant, Lit, Value
from ...ir.ops.control import cond
from ...ir.ops.elementwise import cast, neg, not_, select
from ...ir.ops.indexing import gather
from ...ir.ops.reduction import argmax, argmin, reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum, reduce_xor
from ...ir.ops.shape import broadcast, concatenate, dynamic_slice, dynamic_update_slice, reshape, slice_
from .emit import PRELUDE_MODULES, _Module, _number, _template, _Writer
from .nesting import nested
from .pretty import INFIX, pretty, take

SMALL = 4096  # elements up to which a copy costs less than to ask whether one is needed, and an array is made rather than spread
KEPT = 1 << 16  # bytes up to which what depends on no argument is made once
PYTHON, NUMPY, ZERO = "Python's", "NumPy's", "array of no axes"  # what a value of shape () may be
NEW = reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor  # whose results are never views
SAME = {"+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^"}  # mean of Python's floats and bools what they mean of NumPy's
REDUCE = {
    reduce_sum: "np.add", reduce_prod: "np.multiply", reduce_max: "np.maximum", reduce_min: "np.minimum",
    reduce_and: "np.bitwise_and", reduce_or: "np.bitwise_or", reduce_xor: "np.bitwise_xor",
}  # fmt: skip


@dataclass(frozen=True)
class Held:
    """What stands for a value: a name or a number as text, and what is known of it.

    shape: broadcasts to the value's shape, aligned right, as NumPy does.
    kinds: which of PYTHON, NUMPY and ZERO it may be, where its shape is ().
    new:   whether it is an array that shares memory with no other value.
    """

    text: str
    shape: tuple
    kinds: frozenset = field(default=frozenset())
    new: bool = False

    @property
    def python(self):
        """Whether it may be a number of Python's."""
        return PYTHON in self.kinds


class Statements:
    """Statements for the equations of `func`, what is held of its results, and the file that they stand in.

    params: what is held of the parameters, under names of the caller's.
    """

    def __init__(self, func, params, taken):
        self.module = _Module()
        self.writer = _QuickWriter(self.module, taken)
        self.writer.uses = Counter(uses(func))
        self.writer.held.update(zip(func.params, params, strict=True))
        self.fresh = self.writer.fresh
        self.lines = self.writer.block(func)
        self.results = [self.writer.hold(r) for r in func.results]

    def whole(self, held, type):
        """Text of all of a value, as NumPy has it."""
        return self.writer.whole(held, type)

    def constant(self, x, wish):
        """A name for an object."""
        return self.writer.constant(x, wish)

    def define(self, name, body, space, fixed=()):
        """The function of these lines, defined beside what they use; what is `fixed` is computed where the lines say."""
        tree = ast.parse("\n".join([*PRELUDE_MODULES.values(), *self.module.helpers.values(), *body]))
        tree.body[-1] = nested(tree.body[-1], fixed)
        space |= self.module.objects
        with np.errstate(all="ignore"):
            exec(compile(tree, "<wengert numpy call>", "exec"), space)
        return space[name]


class _QuickWriter(_Writer):
    def __init__(self, module, taken):
        super().__init__(module, sources=False)
        self.taken |= {*taken, *dir(builtins)}
        self.held = {}

    def bind(self, value):
        """A name of ours: nobody reads these, and a user's would hide what the text calls."""
        self.names[value] = self.fresh(f"v{len(self.names)}")
        return self.names[value]

    # -- what is held ------------------------------------------------------------------------------
    def hold(self, x):
        """What is held of an operand."""
        if not isinstance(x, Lit):
            return self.held[x]
        if x.type.dtype.name in ("float64", "bool"):
            return Held(_number(x.value), (), frozenset([PYTHON]))
        return Held(self.constant(x.type.dtype.type(x.value), "number"), (), frozenset([NUMPY]))

    def full(self, x):
        """What is held of an operand that NumPy is not to broadcast."""
        if isinstance(x, Lit) and x.type.shape and x.type.size * x.type.dtype.itemsize <= KEPT:
            return self.kept(np.full(x.type.shape, x.value, x.type.dtype))
        return self.hold(x)

    def constant(self, x, wish):
        name = self.fresh(wish)
        self.module.objects[name] = x
        return name

    def attribute(self, v):
        return self.constant(v.array, "constant") if isinstance(v, Constant) and v.array.ndim else super().attribute(v)

    def whole(self, held, type):
        if held.shape == type.shape:
            return self.number(held, type)
        if held.shape == () and type.size <= SMALL:
            return f"np.full({type.shape}, {held.text}, np.{type.dtype.name})"
        return f"np.broadcast_to({self.number(held, type)}, {type.shape})"

    def number(self, held, type):
        """Text of a value that is no number of Python's."""
        return f"np.{type.dtype.name}({held.text})" if held.python else held.text

    def keep(self, value, text, shape, kinds=(), new=False):
        """A statement that gives a value its name."""
        name = self.bind(value)
        self.held[value] = Held(name, shape, frozenset(kinds if shape == () else ()), new and shape != ())
        return [f"{name} = {text}"]

    # -- equations ---------------------------------------------------------------------------------
    def statement(self, eqn):
        if eqn.op is cond:
            return self.choice(eqn)
        if not eqn.operands and sum(r.type.size * r.type.dtype.itemsize for r in eqn.results) <= KEPT and not eqn.op.multiple:
            return self.once(eqn)
        rule = RULES.get(eqn.op)
        lines = rule and rule(self, eqn, *[self.hold(x) for x in eqn.operands])
        if lines is not None:
            return lines
        if "elementwise" in eqn.op.traits and _template(eqn.op) is not None:
            return self.pointwise(eqn, [self.hold(x) for x in eqn.operands])
        return self.general(eqn)

    def once(self, eqn):
        """A value that depends on nothing."""
        (r,) = eqn.results
        self.held[r] = self.kept(np.array(eqn.op.body(**eqn.attrs)))
        return []

    def kept(self, array):
        """What is held of an array known now."""
        if not array.ndim:
            return Held(self.constant(array[()], "constant"), (), frozenset([NUMPY]))
        array.flags.writeable = False
        return Held(self.constant(array, "constant"), array.shape)

    def general(self, eqn):
        texts = [self.whole(self.full(x), x.type) for x in eqn.operands]
        text = pretty(eqn, texts) or self.expression(eqn.op, texts, eqn.attrs)
        if not eqn.op.multiple:
            (r,) = eqn.results
            return self.keep(r, text, r.type.shape, (NUMPY, ZERO))
        names = []
        for r in eqn.results:
            names.append(self.bind(r))
            self.held[r] = Held(names[-1], r.type.shape, frozenset([NUMPY, ZERO]))
        return [f"{', '.join(names)}{',' if len(names) == 1 else ''} = {text}"]

    def pointwise(self, eqn, held):
        """NumPy broadcasts the operands. A literal beside an array is a plain number, which takes the dtype of the array."""
        (r,) = eqn.results
        shape, literal = np.broadcast_shapes(*(h.shape for h in held)), [isinstance(x, Lit) for x in eqn.operands]
        symbol, numbers = INFIX.get(eqn.op), [self.number(h, x.type) for h, x in zip(held, eqn.operands)]
        texts = [h.text for h in held]
        if (symbol or ufunc(eqn.op)) and shape and len({x.type.dtype for x in eqn.operands}) == 1:
            texts = [_number(x.value) if known else t for known, x, t in zip(literal, eqn.operands, texts)]
        if symbol in SAME:
            return self.keep(r, f"{texts[0]} {symbol} {texts[1]}", shape, outcome(held), new=True)
        if not symbol and not ufunc(eqn.op):
            texts = [t if known else n for known, n, t in zip(literal, numbers, texts)]
        if all(h.python for h in held) and (symbol or not ufunc(eqn.op)):
            k = literal.index(False) if False in literal else 0
            texts[k] = numbers[k]
        text = f"{texts[0]} {symbol} {texts[1]}" if symbol else self.expression(eqn.op, texts, eqn.attrs)
        return self.keep(r, text, shape, [NUMPY] if symbol or computes(eqn.op) else [NUMPY, ZERO], new=bool(symbol) or computes(eqn.op))

    def choice(self, eqn):
        """Plain `if`: only the branch that is taken runs."""
        index, *operands = eqn.operands
        pick, branches = self.hold(index).text, eqn.attrs["branches"]
        names, parts, kinds = [self.bind(r) for r in eqn.results], [], [set() for _ in eqn.results]
        for branch in branches:
            self.held.update((p, replace(self.hold(x), new=False)) for p, x in zip(branch.params, operands, strict=True))
            lines = self.block(branch)
            for k, (name, x) in enumerate(zip(names, branch.results, strict=True)):
                held = self.hold(x)
                kinds[k] |= held.kinds if held.shape == x.type.shape else {ZERO}
                lines.append(f"{name} = {held.text if held.shape == x.type.shape else self.whole(held, x.type)}")
            parts.append(lines)
        for name, r, found in zip(names, eqn.results, kinds, strict=True):
            self.held[r] = Held(name, r.type.shape, frozenset(found if r.type.shape == () else ()))
        if len(parts) == 1:
            return parts[0]
        if index.type.kind == "b":
            heads, parts = [f"if {pick}:", "else:"], parts[::-1]
        else:
            heads = [f"if {pick} <= 0:", *(f"elif {pick} == {k}:" for k in range(1, len(parts) - 1)), "else:"]
        return [line for head, part in zip(heads, parts, strict=True) for line in (head, *("    " + x for x in part or ["pass"]))]


def outcome(held):
    """What numbers an operator gives of numbers."""
    if all(h.kinds == {PYTHON} for h in held):
        return [PYTHON]
    return [PYTHON, NUMPY] if all(h.python for h in held) else [NUMPY]


def ufunc(op):
    """Whether an op is one call of a function of NumPy's that computes element by element."""
    tree = _template(op)
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and isinstance(getattr(np, tree.func.attr, None), np.ufunc)


def computes(op):
    """Whether the result of an op is always a new array, or a number."""
    return ufunc(op) or isinstance(_template(op), ast.BinOp)


def uses(func):
    """Each operand and result of a program and of its bodies, once a use."""
    yield from func.results
    for eqn in func.eqns:
        yield from eqn.operands
        for region in eqn.regions():
            yield from uses(region)


# -- ops with spellings of their own: (writer, equation, *what is held of the operands) -> statements, or None --------------------------


def negated(writer, eqn, x):
    return writer.keep(eqn.results[0], f"-{x.text}", x.shape, outcome([x]), new=True)


def turned(writer, eqn, x):
    """`~True` is an int."""
    return writer.keep(eqn.results[0], f"~{writer.number(x, eqn.operands[0].type)}", x.shape, [NUMPY], new=True)


def chosen(writer, eqn, c, x, y):
    """Of numbers one of the two; NumPy's `where` makes arrays."""
    if c.shape or x.shape or y.shape:
        texts = [h.text for h in (c, x, y)]
        shape = np.broadcast_shapes(c.shape, x.shape, y.shape)
        return writer.keep(eqn.results[0], f"np.where({', '.join(texts)})", shape, new=True)
    return writer.keep(eqn.results[0], f"{x.text} if {c.text} else {y.text}", (), x.kinds | y.kinds)


def converted(writer, eqn, x):
    """`astype`, and the type itself of a number that becomes a float."""
    type, dtype = eqn.operands[0].type, eqn.attrs["dtype"]
    if type.kind == "c" and dtype.kind not in "cb":
        return None
    if x.shape == () and dtype.kind == "f":
        return writer.keep(eqn.results[0], f"np.{dtype.name}({x.text})", (), [NUMPY])
    return writer.keep(eqn.results[0], f"{writer.number(x, type)}.astype(np.{dtype.name})", x.shape, {NUMPY, ZERO}, new=True)


def spread(writer, eqn, x):
    """Nothing, but for new axes behind those that there are."""
    (r,), shape, dims = eqn.results, eqn.attrs["shape"], eqn.attrs["dims"]
    own = dims[len(dims) - len(x.shape) :]
    index = [":" if d in own else "None" for d in range(own[0] if own else len(shape), len(shape))]
    if "None" not in index:
        writer.held[r] = Held(x.text, x.shape, x.kinds)
        return []
    sizes = dict(zip(own, x.shape, strict=True))
    return writer.keep(r, f"{x.text}[{', '.join(index)}]", tuple(sizes.get(d, 1) for d in range(own[0], len(shape))))


def reshaped(writer, eqn, x):
    """Of one cut-out element or row, the index that leads to it."""
    (operand,), (r,) = eqn.operands, eqn.results
    shape, made = r.type.shape, operand.eqn
    if made is not None and made.op is slice_ and (index := indexed(made, shape)) is not None:
        base = made.operands[0]
        return writer.keep(r, f"{writer.whole(writer.hold(base), base.type)}[{', '.join(index)}]", shape, [NUMPY])
    if made is not None and made.op is dynamic_slice and operand.type.shape == (1,) and not shape and not isinstance(made.operands[1], Lit):
        base, start = made.operands
        i = f"min(max(int({writer.hold(start).text}), 0), {base.type.size - 1})"
        return writer.keep(r, f"{writer.whole(writer.full(base), base.type)}[{i}]", shape, [NUMPY])
    if x.shape == ():
        if shape:
            return writer.keep(r, f"np.full({shape}, {x.text}, np.{r.type.dtype.name})", shape, new=True)
        return writer.keep(r, writer.number(x, operand.type), (), x.kinds - {PYTHON} or [NUMPY])
    text = writer.whole(x, operand.type)
    return writer.keep(r, f"{text}.reshape({shape})" if shape else f"{text}.reshape(())[()]", shape, [NUMPY])


def indexed(eqn, shape):
    """The index that cuts as `eqn` does and leaves out axes of which it keeps one element, so that `shape` is left; None if there is none."""
    index, left = [], list(shape)
    for a, b, s, k in zip(*(eqn.attrs[k] for k in ("start", "stop", "stride")), eqn.results[0].type.shape):
        if k == 1 and not (left and left[0] == 1):
            index.append(str(a))
        elif left and left[0] == k:
            del left[0]
            index.append(f"{a}:{b}:{s}")
        else:
            return None
    return None if left else index


def reduced(writer, eqn, x):
    (operand,), axes = eqn.operands, eqn.attrs["axes"]
    if not axes:
        return None
    axis = None if len(axes) == operand.type.ndim else axes[0] if len(axes) == 1 else axes
    dtype = f", np.{operand.type.dtype.name}" if eqn.op in (reduce_sum, reduce_prod) and operand.type.kind in "iu" else ""
    return writer.keep(
        eqn.results[0], f"{REDUCE[eqn.op]}.reduce({writer.whole(x, operand.type)}, {axis}{dtype})", eqn.results[0].type.shape, [NUMPY], new=True
    )


def places(writer, starts, sizes, whole):
    """The index of a part whose starts are clamped so that it lies within."""
    index = []
    for start, k, n in zip(starts, sizes, whole, strict=True):
        if isinstance(start, Lit):
            a = min(max(int(start.value), 0), n - k)
            index.append(":" if k == n else f"{a}:{a + k}")
        elif k == n:
            index.append(":")
        else:
            name = writer.fresh("start")
            yield f"{name} = min(max(int({writer.hold(start).text}), 0), {n - k})"
            index.append(f"{name}:{name} + {k}")
    return ", ".join(index) or "..."


def part(writer, eqn, x, *starts):
    operand, *starts = eqn.operands
    lines = places(writer, starts, eqn.attrs["sizes"], operand.type.shape)
    return [*(index := Lines(lines)), *writer.keep(eqn.results[0], f"{writer.whole(x, operand.type)}[{index.value}]", eqn.results[0].type.shape)]


def stored(writer, eqn, x, u, *starts):
    """In place where nobody else reads the array."""
    operand, update, *starts = eqn.operands
    lines = [*(index := Lines(places(writer, starts, update.type.shape, operand.type.shape)))]
    text, t = writer.whole(x, operand.type), operand.type
    value = _number(update.value) if isinstance(update, Lit) else u.text
    if not t.shape:
        return None
    if x.new and x.shape == t.shape and writer.uses[operand] == 1:
        writer.held[eqn.results[0]] = x
        return [*lines, f"{text}[{index.value}] = {value}"]
    fresh = text if isinstance(operand, Lit) and text.startswith("np.full(") else f"np.array({text})"
    return [*lines, *(kept := writer.keep(eqn.results[0], fresh, t.shape, new=True)), f"{kept[0].partition(' = ')[0]}[{index.value}] = {value}"]


class Lines:
    """A generator's lines, and the value it returns in the end."""

    def __init__(self, generator):
        self.generator = generator

    def __iter__(self):
        self.value = yield from self.generator


def taken(writer, eqn, x, indices):
    """Rows by one index each: the method, and the index before it got an axis of its own."""
    operand, index = eqn.operands
    if not (take(eqn, "", "") or "").startswith("np.take("):
        return None
    made = index.eqn if isinstance(index, Value) else None
    plain = made is not None and made.op is reshape and made.operands[0].type.shape == index.type.shape[:-1]
    source = made.operands[0] if plain else index
    text = writer.whole(writer.hold(source), source.type) + ("" if plain else "[..., 0]")
    axis = eqn.attrs["collapsed"][0]
    rows = f"{writer.whole(x, operand.type)}.take({text}, {axis}, mode='clip')"
    return writer.keep(eqn.results[0], rows, eqn.results[0].type.shape, [NUMPY], new=True)


def place(writer, eqn, x):
    """The method gives the index that NumPy's functions give."""
    if eqn.attrs["dtype"] != np.intp:
        return None
    text = f"{writer.whole(x, eqn.operands[0].type)}.{eqn.op.name}({eqn.attrs['axis']})"
    return writer.keep(eqn.results[0], text, eqn.results[0].type.shape, [NUMPY], new=True)


def joined(writer, eqn, *xs):
    """Of numbers the array of them."""
    (r,) = eqn.results
    made = [operand.eqn if isinstance(operand, Value) else None for operand in eqn.operands]
    if r.type.ndim == 1 and all(e is not None and e.op is reshape and e.operands[0].type.shape == () for e in made):
        texts = [writer.hold(e.operands[0]).text for e in made]
        return writer.keep(r, f"np.array(({', '.join(texts)},), np.{r.type.dtype.name})", r.type.shape, new=True)
    texts = [writer.whole(writer.full(operand), operand.type) for operand in eqn.operands]
    return writer.keep(r, f"np.concatenate(({', '.join(texts)},), {eqn.attrs['axis']})", r.type.shape, new=True)


# fmt: off
RULES = {
    neg: negated, not_: turned, select: chosen, cast: converted, broadcast: spread, reshape: reshaped, concatenate: joined,
    argmax: place, argmin: place, dynamic_slice: part, dynamic_update_slice: stored, gather: taken,
    **dict.fromkeys(NEW, reduced),
}
