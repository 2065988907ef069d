"""Reverse mode through loops of any number of trips, in memory that does not grow with it.

What is carried is kept at every so many trips (a snapshot). Backwards, chunk by chunk from the last, the
trips of a chunk run once more from its snapshot and keep their residuals, then their adjoints follow:
two levels, which cost one further run of the loop. Where there is no room for so many snapshots, the loop
is taken as a loop of such loops (`nest`): a level more, and one more run. Where the number of trips is known only when
the loop has ended and the snapshots are full, every other one is dropped and the distance between them doubles;
the trips between a snapshot and a chunk then run again for each chunk.

Sources: Griewank & Walther, Evaluating Derivatives (2008), ch. 12 (multilevel schedules); Stumm & Walther, New
algorithms for optimal online checkpointing, SIAM J. Sci. Comput. 32 (2010), for thinning when the length is unknown.
"""

import contextlib
import contextvars
import math

from ..ir.core import Builder, Lit, zeros_like
from ..ir.ops.control import COUNTER, loop, region
from ..ir.ops.elementwise import add, and_, eq, lt, minimum, mul, quotient, select, sub
from ..ir.ops.flow import apart
from ..ir.ops.shape import element_at, with_element
from .split import weight
from .tape import ONE, ZERO, backwards, empty, hints_of, split_by_counts, types_of

ROOM = contextvars.ContextVar("room", default=1 << 26)  # bytes that the residuals of a loop may take
# bytes that straight-line programs may keep (`stretches`); None: all they read
LIMIT = contextvars.ContextVar("limit", default=None)
FIRST = 1 << 22  # bytes of a chunk, and of the snapshots, where nothing bounds the trips
CHUNK, SNAPSHOTS = 1024, 512  # at most so many, then
REPORT = contextvars.ContextVar("report", default=None)  # a list that is told what each loop keeps
_nested = contextvars.ContextVar("nested", default=False)


@contextlib.contextmanager
def room(size, report=None):
    """Within: what the residuals of one loop, and those of a whole program, may take, in bytes or None for what is
    usual.

    `report` is told what is kept.
    """
    told, token, limit = REPORT.set(report), ROOM.set(ROOM.get() if size is None else size), LIMIT.set(size)
    try:
        yield
    finally:
        LIMIT.reset(limit)
        ROOM.reset(token)
        REPORT.reset(told)


@contextlib.contextmanager
def unlimited():
    """Within: derivatives that only say what they would keep."""
    told, limit = REPORT.set(None), LIMIT.set(None)
    try:
        yield
    finally:
        LIMIT.reset(limit)
        REPORT.reset(told)


def tell(what):
    """Note what the way back of the loop being derived needs."""
    note(f"{Builder.current().source}: the way back through this loop {what}")


def note(text):
    report = REPORT.get()
    if report is not None and text not in report:
        report.append(text)


def size_text(size):
    """Bytes as a person says them."""
    return next(
        f"{size / unit:.3g} {name}"
        for name, unit in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1))
        if size >= unit or unit == 1
    )


@contextlib.contextmanager
def nested():
    """Within: loops of the body of a loop, whose residuals would be kept for each of its trips."""
    token = _nested.set(True)
    try:
        yield
    finally:
        _nested.reset(token)


def wanted(residuals, trips):
    """Whether what all trips keep has no size, or too large a one."""
    return bool(residuals) and (trips is None or trips * sum(map(weight, residuals)) > ROOM.get())


def floor_power_of_two(n):
    """The largest power of two that is not above n, and at least 1."""
    return 1 << max(int(n), 1).bit_length() - 1


def sizes(residuals, state, trips):
    """(trips a chunk, snapshots): both small where the trips are unknown, else so that their sum is."""
    trip, shot = max(sum(map(weight, residuals)), 1), max(sum(map(weight, state)), 1)
    if trips is None:
        return min(floor_power_of_two(FIRST // trip), CHUNK), min(max(floor_power_of_two(FIRST // shot), 8), SNAPSHOTS)
    chunk = floor_power_of_two(min(max(math.sqrt(trips * shot / trip), 1), ROOM.get() / trip / 2, trips))
    return chunk, max(min(math.ceil(trips / chunk), floor_power_of_two(ROOM.get() / shot / 2)), 2)


def nest(residuals, body, trips, carried):
    """(body, trips) of a loop whose trips are as many of the given loop's as two levels have room for, where those are
    not all; or None."""
    chunk, shots = sizes(residuals, body.params[len(body.params) - carried :], trips)
    inner = chunk * shots
    if not 8 <= inner < trips:
        return None

    def several(i, *xs):
        start = mul(i, Lit(inner, COUNTER))
        count = minimum(Lit(inner, COUNTER), sub(Lit(trips, COUNTER), start))
        return run_trips(body, start, count, xs[: len(xs) - carried], xs[len(xs) - carried :], inner)

    outer = region(several, [p.type for p in body.params], body.name, hints_of(body.params))
    return outer, -(-trips // inner)


def run_trips(body, first, count, invariants, state, bound=None):
    """`count` trips of a loop, the first of which has the number `first` -> the state then."""

    def trip(k, start, *xs):
        return Builder.current().inline(body, (add(start, k), *xs))

    types = [COUNTER, COUNTER, *types_of(*invariants, *state)]
    hints = [None, None, *hints_of(body.params[1:])]
    return loop(
        count, first, *invariants, *state, body=region(trip, types, body.name, hints), carried=len(state), bound=bound
    )


class Checkpointed:
    """A loop of which snapshots are kept. half: its body's derivative, cut; chunk, shots: `sizes`.

    limit, invariants, state: its operands; test, trips: its attributes.
    """

    def __init__(self, half, body, test, trips, bound, limit, invariants, state):
        self.half, self.body, self.test, self.trips, self.bound = half, body, test, trips, bound
        self.limit, self.invariants, self.state = limit, invariants, state
        self.chunk, self.shots = sizes(half.saved, state, trips if trips is not None else bound)
        self.kept = self.chunk * sum(map(weight, half.saved)) + self.shots * sum(map(weight, state))
        # never more snapshots than there is room for
        self.few = (bound or trips or math.inf) <= self.chunk * self.shots

    # -- pieces of program -------------------------------------------------------------------------
    def goes(self, i, limit, invariants, state):
        """Whether a trip of number i comes."""
        end = limit[0] if limit else None if self.trips is None else Lit(self.trips, COUNTER)
        asked = [] if end is None else [lt(i, end)]
        if self.test is not None:
            asked.append(Builder.current().inline(self.test, (i, *invariants, *state))[0])
        return asked[0] if len(asked) == 1 else and_(*asked)

    def thinned(self, shots, full):
        """Every other snapshot moved up where there is no more room."""

        def move(k, *xs):
            return tuple(with_element(s, element_at(s, mul(k, 2)), k) for s in xs)

        half = select(full, Lit(self.shots // 2, COUNTER), ZERO)
        return loop(half, *shots, body=region(move, [COUNTER, *types_of(*shots)], "thinned"), carried=len(shots))

    def ahead(self, limit, invariants, state):
        """The loop -> (results, trips it made, distance of the snapshots, snapshots)."""
        counts = len(limit), len(invariants), 3, len(state), len(state)

        def trip(_, *xs):
            limit, invariants, (i, held, apart_), state, shots = split_by_counts(xs, *counts)
            if not self.few:
                full = eq(held, self.shots)
                shots = self.thinned(shots, full)
                held, apart_ = select(full, Lit(self.shots // 2, COUNTER), held), select(full, mul(apart_, 2), apart_)
            shots = [with_element(s, x, held) for s, x in zip(shots, state)]
            i, *state = self.stretch(i, apart_, limit, invariants, state)
            return (i, add(held, ONE), apart_, *state, *shots)

        def still(_, *xs):
            limit, invariants, (i, _, _), state, _ = split_by_counts(xs, *counts)
            return self.goes(i, limit, invariants, state)

        shots = [empty(x.type, self.shots) for x in state]
        xs = (*limit, *invariants, ZERO, ZERO, Lit(self.chunk, COUNTER), *state, *shots)
        types = [COUNTER, *types_of(*xs)]
        body, test = region(trip, types, self.body.name), region(still, types, "still")
        i, _, distance, *out = loop(*xs, body=body, test=test, carried=3 + 2 * len(state))
        return tuple(out[: len(state)]), i, distance, tuple(out[len(state) :])

    def stretch(self, i, most, limit, invariants, state):
        """At most so many trips from number i on -> (number of the next, *state)."""
        counts = 2, len(limit), len(invariants), 1, len(state)

        def trip(_, *xs):
            _, _, invariants, (i,), state = split_by_counts(xs, *counts)
            return (add(i, ONE), *Builder.current().inline(self.body, (i, *invariants, *state)))

        def still(k, *xs):
            (_, most), limit, invariants, (i,), state = split_by_counts(xs, *counts)
            return and_(lt(k, most), self.goes(i, limit, invariants, state))

        xs = (i, most, *limit, *invariants, i, *state)
        types = [COUNTER, *types_of(*xs)]
        return loop(
            *xs, body=region(trip, types, self.body.name), test=region(still, types, "still"), carried=1 + len(state)
        )

    # -- backwards ---------------------------------------------------------------------------------
    def back(self, count, distance, shots, invariants, gs, totals, needs_inv, flows):
        """-> cotangents of the invariants at `needs_inv`, added to `totals`, then of what is carried at `flows`."""
        half, chunk = self.half, Lit(self.chunk, COUNTER)
        starts = [zeros_like(invariants[k]) if t is None else t for k, t in zip(needs_inv, totals, strict=True)]
        starts = starts, [zeros_like(self.state[j]) if gs[j] is None else gs[j] for j in flows]
        chunks = quotient(add(count, Lit(self.chunk - 1, COUNTER)), chunk)
        counts = 3, len(invariants), len(shots), len(needs_inv), len(flows)

        def one(k, *xs):
            (chunks, count, distance), invariants, shots, totals, cts = split_by_counts(xs, *counts)
            start = mul(sub(sub(chunks, ONE), k), chunk)
            trips = minimum(chunk, sub(count, start))
            slot = quotient(start, distance)
            at = mul(slot, distance)
            state = run_trips(self.body, at, sub(start, at), invariants, [element_at(s, slot) for s in shots])
            stacks = self.residuals(start, trips, invariants, state)
            return tuple(
                backwards(
                    half, invariants, trips, stacks, needs_inv, flows, dict(zip(flows, cts)), start, totals, self.chunk
                )
            )

        xs = (chunks, count, distance, *invariants, *shots, *starts[0], *starts[1])
        body = region(one, [COUNTER, *types_of(*xs)], half.func.name)
        return list(loop(chunks, *xs, body=body, carried=len(needs_inv) + len(flows)))

    def residuals(self, start, trips, invariants, state):
        """What `trips` trips from number `start` on keep."""
        half = self.half
        primal = half.func.params[: half.known]
        counts = 1, len(invariants), len(state), len(half.saved)

        def forward(k, *xs):
            (start,), inv, now, full = split_by_counts(xs, *counts)
            results, saved = half.append_early(
                Builder.current(), dict(zip(primal, (add(start, k), *inv, *now), strict=True))
            )
            return (*results, *(with_element(s, x, k) for s, x in zip(full, saved, strict=True)))

        xs = (start, *invariants, *state, *(empty(x.type, self.chunk) for x in half.saved))
        body = region(forward, [COUNTER, *types_of(*xs)], self.body.name)
        return loop(trips, *xs, body=body, carried=len(state) + len(half.saved), bound=self.chunk)[len(state) :]

    # -- the rule ----------------------------------------------------------------------------------
    def vjp(self, needs_inv, flows):
        """-> (results, pull), as `loop_vjp`."""
        again = _nested.get()
        where = "in each trip around it, from its start" if again else "once more"
        tell(f"runs it {where}, {self.chunk} trips at a time, and takes {size_text(self.kept)}")
        if again:
            return self.again(needs_inv, flows)
        results, count, distance, shots = self.ahead(self.limit, self.invariants, self.state)
        return results, lambda gs, totals: self.back(
            count, distance, shots, self.invariants, gs, totals, needs_inv, flows
        )

    def again(self, needs_inv, flows):
        """Nothing is kept but the operands: the loop runs again when the cotangents are there."""
        limit, invariants, state = self.limit, self.invariants, self.state
        results = loop(
            *limit,
            *invariants,
            *state,
            body=self.body,
            test=self.test,
            trips=self.trips,
            carried=len(state),
            bound=self.bound,
        )

        def pull(gs, totals):
            seeds, begun = [j for j in flows if gs[j] is not None], [k for k, t in enumerate(totals) if t is not None]
            counts = len(limit), len(invariants), len(state), len(seeds), len(begun)

            def whole(*xs):
                limit, invariants, state, cts, sums = split_by_counts(xs, *counts)
                given, onto = dict(zip(seeds, cts, strict=True)), dict(zip(begun, sums, strict=True))
                _, count, distance, shots = self.ahead(limit, invariants, state)
                gs, totals = [given.get(j) for j in range(len(state))], [onto.get(k) for k in range(len(needs_inv))]
                return tuple(self.back(count, distance, shots, invariants, gs, totals, needs_inv, flows))

            xs = (*limit, *invariants, *state, *(gs[j] for j in seeds), *(totals[k] for k in begun))
            return list(apart(*xs, body=region(whole, types_of(*xs), self.half.func.name)))

        return results, pull
