"""What the reverse of a loop is made of: stacks with a slot for each trip, and the loop that reads them last to
first."""

from ..ir.core import Builder, Lit, zeros_like
from ..ir.ops.control import COUNTER, loop, region
from ..ir.ops.elementwise import add, sub
from ..ir.ops.shape import element_at
from .control import place, where

ZERO, ONE = Lit(0, COUNTER), Lit(1, COUNTER)


def split_by_counts(xs, *counts):
    """`xs` cut into consecutive groups of the sizes `counts`."""
    found, at = [], 0
    for n in counts:
        found.append(tuple(xs[at : at + n]))
        at += n
    return found


def types_of(*xs):
    return [x.type for x in xs]


def hints_of(params):
    return [p.hint for p in params]


def empty(t, depth):
    """A stack of `depth` slots for values of type t."""
    return Lit(0, t.like((depth, *t.shape)))


def backwards(half, invariants, trips, stacks, needs_inv, flows, gs, start=None, totals=None, bound=None, left=()):
    """The loop run backwards -> cotangents of the invariants needed, of the carried values at `flows`, and arrays as
    they were before.

    trips: how many, an int or an operand; start: the number of the first, 0 where not given;
    totals: what the cotangents of the invariants are added to; gs: cotangents of what is carried; both with None for 0;
    bound: as `loop`; left: the arrays of `half.chains` as the loop left them.
    """
    func, first = half.func, 1 + len(invariants)
    read = where(p in half.reads for p in func.params[1:first])
    seeds, onto = split_by_counts(func.params[half.known :], len(flows), len(needs_inv))
    sums = func.results[half.primal : half.primal + len(needs_inv)]
    added = where(s is not t for s, t in zip(sums, onto, strict=True))
    count = [] if isinstance(trips, int) else [trips]
    offset = [] if start is None else [start]
    kept = half.chains if left else []
    sizes = 1, len(count), len(offset), len(read), len(stacks), len(added), len(flows), len(left)

    def backward(*xs):
        (k,), final, offset, inv, full, sums, cts, arrays = split_by_counts(xs, *sizes)
        env = dict(
            zip(
                (*(func.params[1 + a] for a in read), *seeds, *(onto[a] for a in added)),
                (*inv, *cts, *sums),
                strict=True,
            )
        )
        if full or func.params[0] in half.reads:
            i = sub(sub(final[0], ONE) if final else Lit(trips - 1, COUNTER), k)
            env[func.params[0]] = add(offset[0], i) if offset else i
            env.update({x: element_at(s, i) for x, s in zip(half.saved, full, strict=True)})
        env.update(zip((c.end for c in kept), arrays, strict=True))
        out = half.append_late(Builder.current(), env)
        return (*(out[a] for a in added), *out[len(needs_inv) :], *(env[c.start] for c in kept))

    totals = [None] * len(sums) if totals is None else totals
    starts = (
        [zeros_like(sums[a]) if totals[a] is None else totals[a] for a in added],
        [zeros_like(seeds[n]) if gs[j] is None else gs[j] for n, j in enumerate(flows)],
    )
    outer = (*count, *offset, *(invariants[a] for a in read), *stacks)
    types = [COUNTER, *types_of(*outer, *starts[0], *starts[1], *left)]
    hints = [
        None, *("trips" for _ in count), *("start" for _ in offset), *(func.params[1 + a].hint for a in read),
        *("saved" for _ in stacks),
    ]
    hints += [*(("d_", func.params[1 + needs_inv[a]]) for a in added), *(("d_", func.params[first + j]) for j in flows)]
    hints += [c.start.hint for c in kept]
    back = region(backward, types, func.name, hints)
    attrs = {"trips": trips} if isinstance(trips, int) else {"bound": bound}
    out = loop(
        *count, *outer, *starts[0], *starts[1], *left, body=back, carried=len(added) + len(flows) + len(left), **attrs
    )
    found = [totals[n] if s is None else s for n, s in enumerate(place(out[: len(added)], added, len(sums)))]
    return [*found, *out[len(added) :]]
