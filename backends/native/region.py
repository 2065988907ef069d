"""Equations of a region as code: where each value lives, and when what reads memory must be computed.

A region may write to the cells it is given as homes of its results, and to those it makes. A result's home is passed
back through stores, loops and choices (`placed`), so a carried array is stored into where it lies. Before a store,
everything that is used later and reads the cell as it was is computed into memory of its own (`before_store`).
"""

import numpy as np

from ...ir.affine import affine_constant
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.source import code_place
from . import blas
from .code import IndexForm, llvm_literal, llvm_type
from .complex import is_slow, rule_for
from .control import REGIONS
from .early_exit import Facts, passed
from .elements import COUNTS, Elements, offset
from .library import has_vector_form
from .mask_skip import demands
from .parallel import ELEMENT, is_shared, share_range, shared_trips
from .reduce import COMPUTED, REDUCTIONS, is_tiny, multiplications, read_once, row_by_row
from .scalar import CALLS, POLYNOMIALS
from .scatter import SCATTERS
from .schedule import scheduled
from .shapes import SHAPES
from .values import Mapped, Memory, NotNative, Number, Register, Selection
from .writes import STORE, Writes

PAD, RESHAPE, AND = OPS["pad"], OPS["reshape"], OPS["and"]
STORES = {STORE, *SCATTERS}
EAGER = {*REGIONS, *COMPUTED, *SCATTERS}  # what is computed when it is met
# elements from which calls of the C library, one an element, are slower than XLA's vectors; measured by
# benchmarks/tune.py
ROW = 8
SERIES = {OPS[name] for name in POLYNOMIALS}
LONGEST = 8000  # bound: instructions of a nest from which compiling it takes seconds
STRIP = 1 << 8  # elements of rows that one thread adds up; measured by benchmarks/tune.py
CHEAP = 12  # cost of an element up to which it is computed again for each use; measured by benchmarks/tune.py
DEAR = 100  # cost of an element from which it is stored for one use; measured by benchmarks/tune.py
PLACES = 2  # reads of an array up to which its elements are chosen where they are used; measured by benchmarks/tune.py
PRODUCT = 1 << 14  # multiplications from which a product is better left to a library; measured by benchmarks/tune.py


class RegionEmitter(Writes):
    def __init__(self, nest, func, reps, homes, block=None, status=(), facts=None):
        """reps: of the parameters; homes: {position of a result: the cell it is to be left in}; block: the lanes to be
        computed, if not all are; status: values that are the number at which the nest ends where it is not 0; facts:
        what is known of the parameters."""
        self.nest, self.code, self.func, self.homes, self.status = nest, nest.code, func, homes, status
        self.env = dict(zip(func.params, reps, strict=True))
        self.env |= passed(func.params, status)
        self.own, self.clamped, self.home, self.block, self.facts = set(), {}, {}, block, facts or Facts(nest.known)
        self.group, self.wave = self.FUSED(nest.code), self.SKEWED(nest.code)
        for p in func.params:
            self.note(p, self.env[p])
        for eqn in func.eqns:
            if eqn.op.effect:
                raise NotNative(f"{eqn.op.name} may have an effect")
        for k, cell in homes.items():
            self.placed(func.results[k], cell)
        cells = self.home | {p: x.cell for p, x in self.env.items() if isinstance(x, Memory)}
        computes = lambda eqn: eqn.op in EAGER or not eqn.results[0].type.shape or eqn.results[0] in cells
        self.eqns = scheduled(func, cells, computes, in_order=bool(status))
        self.last, self.uses, read, where = {}, {}, set(func.results), set()
        for k, eqn in enumerate((*self.eqns, None)):
            for n, x in enumerate(func.results if eqn is None else eqn.operands):
                self.last[x], self.uses[x] = k, self.uses.get(x, 0) + 1
                (where if eqn is not None and eqn.op in SCATTERS and n == 1 else read).add(x)
        self.demands = demands(func)
        self.wheres = where - read  # where scatters put what they put, of which most may be dropped

    def inner(self, func, reps, homes, block=None, status=(), facts=None):
        """A region within this one."""
        return type(self)(self.nest, func, reps, homes, block, status, facts)

    def placed(self, x, cell):
        """Say that x is to be left in a cell, and so what it is made of by stores."""
        while isinstance(x, Value) and x.eqn is not None and x not in self.home:
            if x.eqn.op is not RESHAPE:
                self.home[x] = cell
            source = (
                REGIONS[x.eqn.op][1](x)
                if x.eqn.op in REGIONS
                else x.eqn.operands[0]
                if x.eqn.op in STORES or x.eqn.op is RESHAPE
                else None
            )
            if source is None or self.block is not None and source not in self.block.lanes.of:
                return
            x = source

    def run(self):
        """Emit everything -> the reps of the results."""
        for k, eqn in enumerate(self.eqns):
            self.at = k
            with self.code.at(code_place(eqn.source)):
                self.equation(eqn)
            if self.code.count > LONGEST:
                raise NotNative("its code is too long to be compiled quickly")
        self.at = len(self.eqns)
        for k, cell in self.homes.items():
            x = self.read(self.func.results[k])
            if not (isinstance(x, Memory) and x.cell is cell and x.latest):
                others = [self.func.results[j] for j in self.homes if j > k]
                self.before_store({cell}, others)
                lane = self.block and self.block.lanes.of[self.func.results[k]]
                self.write(
                    cell,
                    x.type.shape,
                    [IndexForm()] * x.type.ndim,
                    self.read(self.func.results[k]),
                    whole=True,
                    lane=lane,
                )
        self.flush()
        return [
            Memory(r.type, self.homes[k]) if k in self.homes else self.read(r) for k, r in enumerate(self.func.results)
        ]

    def read(self, x):
        return Number(x) if isinstance(x, Lit) else self.env[x]

    # -- equations ---------------------------------------------------------------------------------
    def equation(self, eqn):
        if eqn.op in EAGER:
            self.flush()
        if eqn.op in REGIONS:
            self.env.update(zip(eqn.results, REGIONS[eqn.op][0](self, eqn), strict=True))
            self.env |= passed(eqn.results, self.status)
            return
        r = eqn.results[0]
        supported(r.type)
        if self.told(eqn, r):
            return
        xs = [self.read(x) for x in eqn.operands]
        cell = self.home.get(r)
        if eqn.op in STORES and (
            eqn.op is not STORE or cell is not None or self.mine(eqn.operands[0]) or self.framed(eqn)
        ):
            self.env[r] = self.stored(eqn, r, xs, cell)
            return
        if eqn.op is PAD and cell is None and self.framed(eqn):
            self.env[r] = self.surrounded(eqn, r.type, *xs)
            return
        if eqn.op in COMPUTED:
            self.env[r] = self.computed(eqn, r.type, xs)
            return
        made = self.form(eqn, r.type, xs)
        made.place = self.code.place
        made.lane = self.block and self.block.computed(r)
        made.under = self.demands.get(r, ())
        if not r.type.shape:
            made = Register(r.type, self.element(made, ()))
            self.note(r, made)
        elif cell is not None and not isinstance(made, Memory):
            self.before_store({cell})
            lane = self.block and self.block.lanes.of[r]
            self.write(cell, r.type.shape, [IndexForm()] * r.type.ndim, made, whole=True, lane=lane)
            made = Memory(r.type, cell)
        elif made.cost > (DEAR if self.uses.get(r, 0) < 2 or r in self.wheres else CHEAP) or (
            made.slow and self.uses.get(r, 0) > 1
        ):
            made = self.conjunction(eqn, r, xs) if eqn.op is AND else self.materialised(made)
        self.env[r] = made

    def note(self, x, rep):
        """Have the code know what an integer in a register is."""
        if self.code.splits and isinstance(rep, Register) and x.type.dtype == COUNTS:
            form = self.nest.known.form(x)
            if self.nest.known.exact(form):
                self.code.note(rep.name, form)

    def told(self, eqn, r):
        """Whether a result is a check, at which the nest leaves, or is known by what others have told."""
        if r in self.status:
            self.nest.early_exit.unless(*(self.element(self.read(x), ()) for x in eqn.operands[:2]))
            self.facts.passed(eqn.operands[0], eqn.operands[2])
            self.env |= passed([r], self.status)
            return True
        decided = self.nest.known.decided(r) if self.status and r.type.kind == "b" else None
        if decided is not None:
            self.env[r] = Number(Lit(decided, r.type))
        return decided is not None

    def conjunction(self, eqn, r, xs):
        """An `and` of which the parts that take long are computed now: they need not be where the others are False."""
        for n, x in enumerate(eqn.operands):
            if xs[n].slow or xs[n].cost > CHEAP:
                xs[n] = self.env[x] = self.materialised(xs[n])
        return self.form(eqn, r.type, xs)

    def form(self, eqn, t, xs):
        """An equation as a function from an index to an element."""
        if eqn.op in SHAPES.rules:
            return SHAPES[eqn.op](self, eqn, *xs)
        d = xs[0].type.dtype if xs else t.dtype
        if rule_for(eqn.op, d, t.dtype) is None:
            raise NotNative(
                f"{eqn.op.name}{' of complex numbers' if 'c' in (d.kind, t.kind) else ''} has no native form"
            )
        dear = eqn.op in CALLS or eqn.op in SERIES
        if dear and t.size >= self.row_of_calls(eqn.op, d):
            raise NotNative(f"{eqn.op.name} of {t.size} elements a trip, which XLA computes in vectors")
        return Mapped(t, eqn.op, eqn.attrs, xs, dear or t.size > 1 and is_slow(eqn.op, d))

    def element(self, x, index):
        if not (self.group.cells | self.wave.cells).isdisjoint(x.reads):
            self.flush()
        return Elements(self.code).get(x, index)

    def computed(self, eqn, t, xs):
        """A reduction, a product or a search: a register, or an array."""
        if eqn.op is OPS["dot_general"]:
            if self.is_left_to_blas(eqn):
                return blas.product_by_blas(self, eqn, t, xs)
            xs = self.multiplied(eqn, xs)
        element = COMPUTED[eqn.op](self, eqn, *xs)
        if not t.shape:
            return Register(t, element(()))
        cell = self.own_cell(eqn.results[0], xs)
        self.flush()
        rows, cost = row_by_row(eqn, xs), ELEMENT * sum(x.type.size * x.cost for x in xs)
        if rows is not None:
            self.added_up(t, cell, *rows, cost)
        else:
            self.shared_over(
                t.shape,
                cost,
                lambda index: self.code.store(cell.pointer, t.dtype, offset(t.shape, index), element(index)),
            )
        cell.written()
        return Memory(t, cell)

    def is_left_to_blas(self, eqn):
        """Whether a product is left to a routine, which adds up in an order of its own."""
        large = self.block is None and not self.code.exact and multiplications(eqn) > self.largest_product(eqn)
        return large and blas.is_made_by_blas(eqn)

    def multiplied(self, eqn, xs):
        """The operands of a product, computed now where they are read again for each row or column of the other."""
        n, once = multiplications(eqn), read_once(eqn)
        if n > self.largest_product(eqn):
            raise NotNative(blas.LARGE.format(n))
        again = lambda x, rep: x not in once and (rep.slow or rep.cost > CHEAP)
        return [self.materialised(rep) if again(x, rep) else rep for x, rep in zip(eqn.operands, xs, strict=True)]

    def added_up(self, t, cell, terms, sizes, cost):
        """Sums added up in a cell, row after row of the terms, all along the last axis, or along a strip of it where
        threads share them."""
        code, d, columns = self.code, t.dtype, t.shape[-1]
        strips = -(-columns // STRIP)
        take, nothing = REDUCTIONS[OPS["reduce_sum"]]
        zero = llvm_literal(nothing(d), d)

        def add(at, k):
            place = offset(t.shape, at)
            code.store(
                cell.pointer, d, place, take(code, d, code.load(cell.pointer, d, place), self.element(terms(at), k))
            )

        def strip(index, low, high):
            along = lambda body: code.count_up(low, high, lambda j: body((*index, IndexForm.of(j))) or ())
            along(lambda at: code.store(cell.pointer, d, offset(t.shape, at), zero))
            self.over(sizes, lambda k: along(lambda at: add(at, k)))

        if t.ndim == 1 and self.block is None and is_shared(self.nest, strips, cost):
            end = lambda n: code.value(IndexForm.of(n).times(STRIP))
            share = lambda low, high: strip((), end(low), code.least(end(high), str(columns)))
            share_range(self.nest, strips, cost, share)
        else:
            self.shared_over(t.shape[:-1], cost, lambda index: strip(index, "0", columns))

    def trips_of(self, period, cost):
        """How many trips of a cost make a period."""
        return str(max(period // cost, 1))

    def strips(self, attrs):
        """Whether a loop may go block by block."""
        return attrs["test"] is None

    def spread(self, eqn, body, bound, invariants, start, step):
        """A loop of which many trips are run at once -> the last values of its scalars; None where they are run in
        order."""
        return shared_trips(self, eqn, body, bound, invariants, start, step)

    def largest_product(self, eqn):
        """Multiplications up to which a product is not left to a library: any number, of one with a vector or a tiny
        matrix that is made only once, which takes a library as long."""
        return float("inf") if self.nest.once and (read_once(eqn) or is_tiny(eqn)) else PRODUCT

    def row_of_calls(self, op, d):
        """Elements of a row of calls of the C library from which it is left to XLA."""
        vectors = op in SERIES or self.code.in_vectors and d.kind == "f" and has_vector_form(CALLS[op], d)
        return float("inf") if vectors else ROW

    def over(self, shape, body):
        """`body(index)` for every index."""

        def nested(d, index):
            if d == len(shape):
                body(index)
            elif shape[d] == 1:
                nested(d + 1, (*index, IndexForm()))
            else:
                self.code.count_up("0", shape[d], lambda t: nested(d + 1, (*index, IndexForm.of(t))) or ())

        nested(0, ())

    def shared_over(self, shape, cost, body):
        """`over`, by threads where that pays; body: works on memory of its index alone; cost: of all of it."""
        if not shape or self.block is not None or not is_shared(self.nest, shape[0], cost):
            self.over(shape, body)
            return
        rows, *rest = shape
        inner = lambda t: self.over(rest, lambda index: body((IndexForm.of(t), *index))) or ()
        share_range(self.nest, rows, cost, lambda low, high: self.code.count_up(low, high, inner))

    def starts(self, operands, shape, sizes):
        """The starts of a part as indices, within the array."""
        return [self.start(x, n - k) for x, n, k in zip(operands, shape, sizes, strict=True)]

    def start(self, x, last):
        if isinstance(x, Lit):
            return IndexForm(min(max(int(x.value), 0), last))
        if last == 0:
            return IndexForm()
        found = self.clamped.get((x, last))
        if found is None:
            found = self.clamped[x, last] = IndexForm.of(self.clamp(x, last))
        return found

    def clamp(self, x, last):
        low, high = self.facts.interval(x) if x.type.dtype == "i8" else (None, None)
        name, t = self.element(self.read(x), ()), llvm_type(x.type.dtype)
        if t != "i64":
            name = self.code.op(f"sext {t} {name} to i64")
        if low is None or low < 0:
            name = self.code.most("0", name)
        name = name if high is not None and high <= last else self.code.least(str(last), name)
        if self.code.splits and name not in self.code.forms:
            self.code.note(name, self.nest.known.symbol(name, affine_constant(0), affine_constant(last)))
        return name

    def filler(self, fill, dtype):
        return self.element(
            Number(Lit(fill, OPS["iota"].result_types((), {"shape": (1,), "axis": 0, "dtype": dtype})[0])),
            (IndexForm(),),
        )

    # -- memory ------------------------------------------------------------------------------------
    def scratch(self, t):
        cell = self.nest.scratch(t)
        self.own.add(cell)
        return cell

    def own_cell(self, r, xs, others=()):
        """Where a result is to be that is computed now, of xs, beside results in other cells."""
        cell = self.home.get(r)
        if cell is None or cell in others or any(cell in x.reads for x in xs):
            return self.scratch(r.type)
        self.before_store({cell})
        return cell

    def materialised(self, x):
        """x computed now, into memory of its own."""
        if isinstance(x, Memory) and x.type.size > self.COPIED:
            raise NotNative(f"an array of {x.type.size} elements is read after it was stored into")
        cell = self.scratch(x.type)
        self.write(cell, x.type.shape, [IndexForm()] * x.type.ndim, x, lane=x.lane)
        return Memory(x.type, cell)

    def mine(self, x):
        """Whether a value is in memory that this region made, and is not used after this equation."""
        rep = self.read(x)
        return isinstance(rep, Memory) and rep.cell in self.own and rep.latest and self.last[x] <= self.at

    def framed(self, eqn):
        """Whether an array is a part with one number around it, and read in several places: each would have to ask on
        which side it lies."""
        if self.block is not None or self.uses.get(eqn.results[0], 0) <= PLACES:
            return False
        if eqn.op is STORE:
            return isinstance(eqn.operands[0], Lit)
        return not any(eqn.attrs["interior"]) and min(eqn.attrs["low"] + eqn.attrs["high"]) >= 0

    def surrounded(self, eqn, t, x, value):
        """A pad, in memory of its own."""
        cell, fill = self.scratch(t), Selection(t, [value], lambda elements, index: elements.get(value, ()))
        self.write(cell, t.shape, [IndexForm()] * t.ndim, fill, whole=True)
        self.write(cell, t.shape, [IndexForm(n) for n in eqn.attrs["low"]], x)
        return Memory(t, cell)


def supported(t):
    if t.dtype == np.float16 or t.small or t.dtype.kind not in "biufc":
        raise NotNative(f"{t.dtype} has no native form")
    if not t.size:
        raise NotNative("an array without elements")
