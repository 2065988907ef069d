"""Programs of symbolic sizes, written with ops, in room, and against what they are at each size."""

import numpy as np

from wengert.ir.generic import generalised
from wengert.ir.ops.control import evaluate, region
from wengert.ir.padding import in_room
from wengert.ir.types import parse_type

SAMPLES = (7, 8, 11, 13, 9, 16)
ROOM = 17
POISONS = {
    "f": (np.nan, np.inf, -np.inf, 1e300, -7.5),
    "c": (complex(np.nan, 1), complex(np.inf, 0), complex(-1e300, 2), 3.0, complex(0, np.nan)),
    "b": (True, False, True, False, True),
}


def generic_of(types, function, samples=SAMPLES):
    """The Generic of a function of n and operands, whose types have `{n}` in them."""
    def sized(spec, n):
        name, _, dims = spec.format(n=n).partition("[")
        return parse_type(f"{name}[{','.join(str(eval(d)) for d in dims[:-1].split(',') if d)}]")

    made = [region(lambda *xs, n=n: function(n, *xs), [sized(t, n) for t in types], "f") for n in samples]
    return generalised(made, [{"n": n} for n in samples])


def room_of(generic, zeros=True, room=ROOM):
    return in_room(generic, dict.fromkeys(generic.names, room), zeros)


def drawn_leaves(func, rng):
    def leaf(t):
        if t.kind == "b":
            return rng.random(t.shape) < 0.6
        if t.kind in "iu":
            return np.asarray(rng.integers(-3 if t.kind == "i" else 1, 6, t.shape), t.dtype)
        return np.asarray(rng.standard_normal(t.shape), t.dtype)

    return [leaf(p.type) for p in func.params]


def enlarged(x, type, poison):
    out = np.full(type.shape, poison, type.dtype)
    out[tuple(map(slice, np.shape(x)))] = x
    return out


def poison_of(type, k):
    """The k-th number to be put in tails of a type: the first is 0."""
    if k == 0:
        return 0
    if type.kind in POISONS:
        return POISONS[type.kind][(k - 1) % 5]
    return (np.iinfo(type.dtype).max, np.iinfo(type.dtype).min, 3, 1, 2)[(k - 1) % 5]


def agree_in_room(generic, room, poisons=(1, 2, 3, 4, 5), least=5):
    """The program in room against the program, at all sizes from the least one to the room, with different poisons in
    the tails of different operands."""
    for n in range(least, max(room.room.values()) + 1):
        sizes = dict.fromkeys(generic.names, n)
        exact, rng = generic.at(sizes), np.random.default_rng(n)
        leaves = drawn_leaves(exact, rng)
        with np.errstate(all="ignore"):
            want = evaluate(exact, leaves)
        for k in poisons if n < max(room.room.values()) else poisons[:1]:
            wide = [enlarged(x, p.type, poison_of(p.type, k and k + i)) for i, (x, p) in enumerate(zip(leaves, room.func.params))]
            with np.errstate(all="ignore"):
                got = evaluate(room.func, [*wide, *[np.int64(n)] * len(generic.names)])
            for a, b in zip(got, want, strict=True):
                a = np.asarray(a)[tuple(map(slice, np.shape(b)))]
                assert a.shape == np.shape(b)
                scale = np.max(np.abs(np.nan_to_num(np.asarray(b, complex), posinf=1, neginf=1)), initial=1)
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11 * scale, err_msg=f"n={n}, poison {k}")
