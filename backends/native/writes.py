"""Stores into cells: which wait for one loop, which need a copy first, and what must be computed before them."""

from ...ir.core import Value
from ...ir.ops import OPS
from ...ir.sample import decide, proved
from .code import IndexForm
from .elements import KEEP, Elements, LiveWindow, has_comparison, offset, renamed
from .fuse import CellStore, Fused
from .index_split import count_row
from .mask_skip import changed_under, states
from .parallel import is_shared, share_range
from .scatter import emit_scatter
from .skew import Skewed
from .values import Mapped, Memory, Moved, NotNative

STORE = OPS["dynamic_update_slice"]
COPIED = 64  # bound: elements of an array that may be copied because its old state is read after a store
# a row is so much smaller than what is stored that computing it beforehand costs nothing; measured by
# benchmarks/tune.py
PART = 8


class Writes:
    """The part of `RegionEmitter` that stores."""

    STORED, FUSED, SKEWED = CellStore, Fused, Skewed
    COPIED = COPIED

    def before_store(self, cells, extra=()):
        """Compute what is used after this equation, and `extra`, as far as it reads cells that are now written."""
        for x in dict.fromkeys(
            [*(v for v in self.env if self.last.get(v, -1) > self.at), *(v for v in extra if isinstance(v, Value))]
        ):
            if not cells.isdisjoint(self.env[x].reads):
                self.env[x] = self.materialised(self.env[x])

    def stored(self, eqn, r, xs, cell):
        """A store in place: dynamic_update_slice, or a scatter, which makes a place of its own if it has none."""
        base, *others = xs
        if cell is None:
            cell = base.cell if self.mine(eqn.operands[0]) else self.scratch(r.type)
        self.before_store({cell})
        there = isinstance(base, Memory) and base.cell is cell and base.latest
        if eqn.op is not STORE or not there:  # these are read after the first element is written
            others = [self.materialised(x) if cell in x.reads else x for x in others]
        if not there:
            self.copied(eqn.operands[0])
            lane = self.block and self.block.computed(r)
            self.write(cell, r.type.shape, [IndexForm()] * r.type.ndim, base, whole=True, lane=lane)
        if eqn.op is STORE:
            lane = self.block and self.block.lanes.stored(eqn)
            self.write(
                cell,
                r.type.shape,
                self.starts(eqn.operands[2:], r.type.shape, others[0].type.shape),
                others[0],
                lane=lane,
            )
        else:
            self.flush()
            self.scattered(eqn, cell, *others)
        return Memory(r.type, cell)

    def scattered(self, eqn, cell, indices, updates):
        emit_scatter(self.code, eqn, cell, indices, updates)

    def copied(self, x):
        """An array goes to another place; in every trip of a loop that may cost more than it saves."""
        rep = self.read(x)
        if isinstance(rep, Memory) and rep.type.size > self.COPIED and self.nest.depth:
            raise NotNative(f"an array of {rep.type.size} elements is copied in every trip")

    def write(self, cell, shape, starts, x, whole=False, lane=None):
        """Store x as the part at `starts` of a cell seen in `shape`.

        whole: x is all of it, so what stays as it is need not be stored; lane: (axis, shift) of x, where only a block
        of it is computed.
        """
        if not x.type.size:
            return
        place = lambda index: offset(shape, [i.plus(s) for i, s in zip(index, starts)])
        masks = changed_under(x, cell) if whole else self.under(x)
        narrow, store = whole and has_comparison(x), self.STORED(cell, x, place, lane, masks, self.code.place)
        if store.loops and cell in x.reads:
            names = [self.code.name() for _ in store.loops]
            x = self.detached(store, names, x, store.index(names), x.type.size // PART)
            safe = store.safe(names, x, store.index(names))
            if not safe and narrow:
                self._write(cell, shape, starts, x, lane, self.scratch(x.type))
                return
            if not safe:
                x = self.materialised(x)
            store = self.STORED(cell, x, place, lane, masks, self.code.place)
        if narrow:
            self._write(cell, shape, starts, x, lane, None)
            return
        if not self.group.takes(store):
            self.close()
        self.group.add(store)
        cell.written()

    def under(self, x):
        """The masks, as `guards.states` has them, outside of which a value does not matter."""
        return set().union(*(states(self.env[m], x.type.shape) for m in x.under if m in self.env))

    def close(self):
        """No more stores come into the loop of those that wait."""
        group, self.group = self.group, self.FUSED(self.code)
        if not group.stores:
            return
        delay = self.wave.takes(group)
        if delay is None and self.wave.groups and len(group.names) == 1 and self.wave.apart(group):
            group.emit(self.block)
            return
        if delay is None:
            self.flush()
        self.wave.groups.append((group, delay or 0))

    def flush(self):
        """Emit the stores that wait for others over the same indices, or the same rows."""
        self.close()
        wave, self.wave = self.wave, self.SKEWED(self.code)
        if len(wave.groups) == 1 and self.block is None and self.is_to_share(wave.groups[0][0]):
            group, _ = wave.groups[0]
            share_range(self.nest, *group.rows_and_work, lambda low, high: group.emit(None, (low, high)))
        elif wave.groups:
            wave.emit(self.block)

    def is_to_share(self, group):
        """Whether threads are to make the rows of a group."""
        return is_shared(self.nest, *group.rows_and_work) and proved("rows that are apart", group.apart)

    def detached(self, store, names, x, index, least):
        """x, with parts of up to `least` elements that a store of it would overwrite too early computed now."""
        if not isinstance(x, (Mapped, Moved)) or store.safe(names, x, index):
            return x
        if isinstance(x, Mapped):
            out = Mapped(
                x.type, x.op, x.attrs, [self.detached(store, names, y, index, least) for y in x.operands], x.slow
            )
        else:
            small = decide("a part beforehand", x.operand.type.size <= least)
            inner = (
                self.materialised(x.operand) if small else self.detached(store, names, x.operand, x.move(index), least)
            )
            out = Moved(x.type, inner, x.move)
        out.lane = x.lane
        return out

    def _write(self, cell, shape, starts, x, lane, through):
        """As `write`, where elements may stay as they are. through: memory for x, which is computed as a whole before
        any of it is stored."""
        self.flush()
        code, d, size = self.code, cell.dtype, x.type.shape

        def target(index):
            return offset(shape, [i.plus(s) for i, s in zip(index, starts)])

        def direct(index, known):
            code.store(cell.pointer, d, target(index), Elements(code, known).get(x, index))

        def kept(index, known):
            code.store(through.pointer, d, offset(size, index), Elements(code, known).get(x, index))

        def moved(index, _):
            code.store(cell.pointer, d, target(index), code.load(through.pointer, d, offset(size, index)))

        for put in (direct,) if through is None else (kept, moved):
            self.pass_over(cell, x, lane, target, put)
        cell.written()
        if through is not None:
            through.written()

    def pass_over(self, cell, x, lane, target, put):
        """`put(index, what is known of x there)` for every element of x, which is stored at `target(index)` of a
        cell."""
        code, size = self.code, x.type.shape
        axes = [a for a, n in enumerate(size) if n != 1 or lane and lane[0] == a]

        def nested(axes, index):
            if not axes:
                put(tuple(index), {})
                return
            axis, *rest = axes
            t = code.name()
            low, high, first = "0", str(size[axis]), IndexForm()
            if lane is not None and axis == lane[0]:
                low, high, first = self.block.part(code, lane[1], size[axis])
            at = [first.plus(t) if a == axis else i for a, i in enumerate(index)]
            if rest:
                code.count_up(low, high, lambda _: nested(rest, at) or (), name=t)
                return
            window = None
            if lane is None or axis != lane[0]:
                window = LiveWindow(code, x, tuple(at), t, size[axis], KEEP, cell, target(at))
                low, high = window.low, window.high
            if window is None:
                code.count_up(low, high, lambda _: put(tuple(at), {}) or (), name=t)
            else:
                body = lambda u: put(renamed(at, t, u), window.known_at(u))
                count_row(code, (low, high), t, size[axis], body, window=window)

        nested(axes, [IndexForm()] * len(size))
