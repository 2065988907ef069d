"""The equations of a program as the NumPy statements that cost least a call.

NumPy's own broadcasting stands for most `broadcast` equations: what is held of a value may be *thin*, an array of
fewer elements that broadcasts to it, and what is elementwise stays thin. Values of shape () are numbers, not arrays:
Python's floats as they come, where what is done with them is the same in both, NumPy's otherwise.
"""

import ast
import builtins
from collections import Counter

import numpy as np

from ...ir.core import Constant, Lit
from ...ir.ops.control import call, cond, loop
from ...ir.ops.shape import iota
from ...ir.syntax import compiled, nodes_of, parse
from ...ir.types import Tensor
from .any_size import at_most
from .emit import PRELUDE_MODULES, _Module, _number, _template, _Writer
from .inline_exprs import inline_single_reads
from .looped import LOOPED, looped
from .matrices import TEXTS, is_solved, is_substituted, of_matrices
from .nests import call_nest, machine_code, nest_of
from .operand import KEPT, NUMPY, PYTHON, SAME, ZERO, LazyOperand, computes, outcome, ufunc
from .pretty import INFIX, pretty, thin_iota
from .rows import is_taken, of_rows
from .templates import MADE, RULES
from .trips import run_trips
from .user_lines import StatementSources, defined

GENERATED = "<wengert numpy call>"  # the file of what has no line of the user's
SMALL = 4096  # elements up to which an array is made rather than spread; measured by benchmarks/tune.py


class Statements:
    """Statements for the equations of `func`, what is held of its results, and the file that they stand in.

    params: what is held of the parameters, under names of the caller's; overwritable: those in whose arrays may be
    stored. `overwritten` has the names of arrays that may be such a parameter's, and of whose.
    clock: told when the statements of an equation have run, by its place in `clock.eqns`; no statement is put into
    another then.
    """

    def __init__(self, func, params, taken, overwritable=(), clock=None):
        self.module, self.clock = _Module(StatementSources()), clock
        self.writer = _QuickWriter(self.module, taken)
        if clock is not None:
            self.writer.clock, self.writer.mark = clock, self.writer.constant(clock.mark, "mark")
        self.writer.uses, self.writer.readers = Counter(uses(func)), reading_equations(func)
        self.writer.held.update(zip(func.params, params, strict=True))
        self.writer.overwritable, self.name = overwritable, func.name
        self.fresh, self.overwritten = self.writer.fresh, self.writer.overwritten
        self.recipes = self.writer.recipes  # name of an array that is made once -> the text that makes it
        self.plain = {h.text for h in params if h.kinds == {PYTHON}}
        self.lines = self.writer.block(func)
        opening = self.writer.opening
        self.opening = opening if opening and self.lines[0].startswith(f"{opening.made} = ") else None
        self.raises = sorted(self.writer.raises)  # exceptions of NumPy's that the lines may raise
        self.results = [self.writer.hold(r) for r in func.results]

    def whole(self, held, type):
        """Text of all of a value, as NumPy has it."""
        return self.writer.whole(held, type)

    def constant(self, x, wish):
        """A name for an object."""
        return self.writer.constant(x, wish)

    def is_object(self, name):
        """Whether an object has this name, which all calls have in common."""
        return name in self.module.objects

    def define(self, body, space, fixed=()):
        """The function of these lines, defined beside what they use; what is `fixed` is computed where the lines
        say."""
        text = "\n".join([*PRELUDE_MODULES.values(), *self.module.helpers.values(), *body])
        tree = parse(text)
        self.function = tree.body.pop()
        file = self.module.places.settle(self.function, text)
        if self.clock is None:
            self.function = inline_single_reads(self.function, fixed)
        self.silent = silent(self.function, self.plain, QUIET | self.writer.quiet)
        space |= self.module.objects
        with np.errstate(all="ignore"):
            exec(compiled(tree, GENERATED, "exec"), space)
        return defined(self.function, file, self.name, space, GENERATED)


# functions that only look at arguments, and those that make Python's numbers of NumPy's of the same kind
QUIET = {"writeable", "len", "float", "int", "bool", "complex"}


def silent(function, plain, quiet=QUIET):
    """Whether a function can cause no warning of NumPy's: it calls nothing but what is `quiet`, and adds and multiplies
    only `plain` names."""
    called = lambda n: isinstance(n, ast.Call) and not (isinstance(n.func, ast.Name) and n.func.id in quiet)
    loud = lambda n: called(n) or isinstance(n, ast.BinOp) and not isinstance(n.op, ast.Add | ast.Sub | ast.Mult)
    if any(map(loud, nodes_of(function))):
        return False
    inside = [x for n in nodes_of(function) if isinstance(n, ast.BinOp) for x in (n.left, n.right)]
    return all(isinstance(x, ast.BinOp | ast.Constant) or isinstance(x, ast.Name) and x.id in plain for x in inside)


class _QuickWriter(_Writer):
    clock = None

    def __init__(self, module, taken):
        super().__init__(module, sources=False)
        self.taken |= {*taken, *dir(builtins)}
        self.held, self.overwritten, self.raises, self.recipes = {}, {}, set(), {}
        self.quiet = set()  # names of functions that warn of nothing
        self.opening = None  # the call of a nest that may be the first statement
        self.spread = {}  # (name of an array that is made once, type) -> what is held of it, spread to that

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
            return LazyOperand(_number(x.value), (), frozenset([PYTHON]))
        return LazyOperand(self.constant(x.type.dtype.type(x.value), "number"), (), frozenset([NUMPY]))

    def full(self, x):
        """What is held of an operand that NumPy is not to broadcast."""
        if isinstance(x, Lit) and x.type.shape and at_most(x.type.size * x.type.dtype.itemsize, KEPT):
            text = f"np.full({x.type.shape}, {_number(x.value)}, np.{x.type.dtype.name})"
            return self.kept(x.type, text, lambda: np.full(x.type.shape, x.value, x.type.dtype))
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
        if held.shape == () and at_most(type.size, SMALL):
            return f"np.full({type.shape}, {held.text}, np.{type.dtype.name})"
        if (recipe := self.recipes.get(held.text)) and at_most(type.size * type.dtype.itemsize, KEPT):
            if (key := (held.text, type)) not in self.spread:
                make = lambda: np.array(np.broadcast_to(self.module.objects[held.text], type.shape))
                self.spread[key] = self.kept(type, f"np.broadcast_to({recipe}, {type.shape})", make)
            return self.spread[key].text
        return f"np.broadcast_to({self.number(held, type)}, {type.shape})"

    def number(self, held, type):
        """Text of a value that is no number of Python's."""
        return f"np.{type.dtype.name}({held.text})" if held.python else held.text

    def keep(self, value, text, shape, kinds=(), new=False):
        """A statement that gives a value its name."""
        name = self.bind(value)
        self.held[value] = LazyOperand(name, shape, frozenset(kinds if shape == () else ()), new and shape != ())
        return [f"{name} = {text}"]

    # -- equations ---------------------------------------------------------------------------------
    def block(self, func):
        if self.clock is None:
            return super().block(func)
        lines = []
        for eqn in func.eqns:
            if found := self.statement(eqn):
                self.clock.eqns.append(eqn)
                lines += [*found, f"{self.mark}({len(self.clock.eqns) - 1})"]
        return lines

    def statement(self, eqn):
        if eqn.op is cond:
            return self.choice(eqn)
        if eqn.op is loop:
            return call_nest(self, eqn) if nest_of(eqn) is not None else run_trips(self, eqn)
        if is_taken(eqn):
            return of_rows(self, eqn)
        if is_solved(eqn) or is_substituted(eqn) or eqn.op in TEXTS and eqn.op is not call:
            return of_matrices(self, eqn)
        if eqn.op in LOOPED and machine_code(eqn):
            return self.inlined(eqn, looped(eqn))
        if eqn.op is iota and len(eqn.attrs["shape"]) > 1:
            return self.counted(eqn)
        if (
            not eqn.operands
            and at_most(sum(r.type.size * r.type.dtype.itemsize for r in eqn.results), KEPT)
            and not eqn.op.multiple
        ):
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
        text = pretty(eqn, []) or self.expression(eqn.op, [], eqn.attrs)
        self.held[r] = self.kept(r.type, text, lambda: np.array(eqn.op.body(**eqn.attrs)))
        return []

    def counted(self, eqn):
        """Numbers along an axis, of which one is held for each place of the others."""
        (r,), shape, axis = eqn.results, eqn.attrs["shape"], eqn.attrs["axis"]
        thin = Tensor((shape[axis], *(1 for _ in shape[axis + 1 :])), r.type.dtype)
        if not at_most(thin.size * thin.dtype.itemsize, KEPT):
            return self.keep(r, thin_iota(eqn), thin.shape)
        make = lambda: np.arange(thin.size).astype(thin.dtype).reshape(thin.shape)
        self.held[r] = self.kept(thin, thin_iota(eqn), make)
        return []

    def kept(self, type, text, make):
        """What is held of an array known now, which `make` gives and this text makes. The text alone is kept where it
        is large, of a sample: of all sizes it is made once a call."""
        if not type.shape:
            return LazyOperand(self.constant(make()[()], "constant"), (), frozenset([NUMPY]))
        array = make() if type.size * type.dtype.itemsize <= KEPT else None
        if array is not None:
            array.flags.writeable = False
        self.recipes[name := self.constant(array, "constant")] = text
        return LazyOperand(name, type.shape)

    def general(self, eqn):
        texts = [self.whole(self.full(x), x.type) for x in eqn.operands]
        text = pretty(eqn, texts) or self.expression(eqn.op, texts, eqn.attrs)
        if not eqn.op.multiple:
            (r,) = eqn.results
            return self.keep(r, text, r.type.shape, (NUMPY, ZERO), new=eqn.op in MADE)
        names = []
        for r in eqn.results:
            names.append(self.bind(r))
            self.held[r] = LazyOperand(names[-1], r.type.shape, frozenset([NUMPY, ZERO]))
        return [f"{', '.join(names)}{',' if len(names) == 1 else ''} = {text}"]

    def pointwise(self, eqn, held):
        """NumPy broadcasts the operands. A literal beside an array is a plain number, which takes the dtype of the
        array."""
        (r,) = eqn.results
        shape, literal = np.broadcast_shapes(*(h.shape for h in held)), [isinstance(x, Lit) for x in eqn.operands]
        symbol, numbers = INFIX.get(eqn.op), [self.number(h, x.type) for h, x in zip(held, eqn.operands)]
        texts, numpys = [h.text for h in held], ufunc(eqn.op)
        if (symbol or numpys) and shape and len({x.type.dtype for x in eqn.operands}) == 1:
            texts = [_number(x.value) if known else t for known, x, t in zip(literal, eqn.operands, texts)]
        if symbol in SAME:
            return self.keep(r, f"{texts[0]} {symbol} {texts[1]}", shape, outcome(held), new=True)
        if not symbol and not numpys:
            texts = [t if known else n for known, n, t in zip(literal, numbers, texts)]
        if all(h.python for h in held) and (symbol or not numpys):
            k = literal.index(False) if False in literal else 0
            texts[k] = numbers[k]
        text = f"{texts[0]} {symbol} {texts[1]}" if symbol else self.expression(eqn.op, texts, eqn.attrs)
        new = bool(symbol) or computes(eqn.op)
        return self.keep(r, text, shape, [NUMPY] if new else [NUMPY, ZERO], new=new)

    def inlined(self, eqn, func):
        """The statements of a function in the place of an equation."""
        self.uses.update(uses(func))
        self.held.update((p, self.hold(x).shared()) for p, x in zip(func.params, eqn.operands, strict=True))
        lines = self.block(func)
        self.held.update((r, self.hold(x)) for r, x in zip(eqn.results, func.results, strict=True))
        return lines

    def choice(self, eqn):
        """Plain `if`: only the branch that is taken runs."""
        index, *operands = eqn.operands
        pick, branches = self.hold(index).text, eqn.attrs["branches"]
        names, parts, kinds = [self.bind(r) for r in eqn.results], [], [set() for _ in eqn.results]
        for branch in branches:
            self.held.update((p, self.hold(x).shared()) for p, x in zip(branch.params, operands, strict=True))
            lines = self.block(branch)
            for k, (name, x) in enumerate(zip(names, branch.results, strict=True)):
                held = self.hold(x)
                kinds[k] |= held.kinds if held.shape == x.type.shape else {ZERO}
                lines.append(f"{name} = {held.text if held.shape == x.type.shape else self.whole(held, x.type)}")
            parts.append(lines)
        for name, r, found in zip(names, eqn.results, kinds, strict=True):
            self.held[r] = LazyOperand(name, r.type.shape, frozenset(found if r.type.shape == () else ()))
        if len(parts) == 1:
            return parts[0]
        if index.type.kind == "b":
            heads, parts = [f"if {pick}:", "else:"], parts[::-1]
        else:
            heads = [f"if {pick} <= 0:", *(f"elif {pick} == {k}:" for k in range(1, len(parts) - 1)), "else:"]
        return [
            line
            for head, part in zip(heads, parts, strict=True)
            for line in (head, *("    " + x for x in part or ["pass"]))
        ]


def uses(func):
    """Each operand and result of a program and of its bodies, once a use."""
    yield from func.results
    for eqn in func.eqns:
        yield from eqn.operands
        for region in eqn.regions():
            yield from uses(region)


def reading_equations(func):
    """{value: the equations of a program that read it}"""
    found = {}
    for eqn in func.eqns:
        for x in set(eqn.operands):
            found.setdefault(x, []).append(eqn)
    return found
