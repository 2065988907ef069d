"""Random numbers, as functions of the state of their generator: what a draw leaves of it is one of its results.

A state is the words of a bit generator, in the order of `bit_words`, and for generators that keep a second normal
number whether there is one, and which. So a draw has no effect: it may run twice, or for nothing, and only the caller
of the program moves the generator on.
"""

import ctypes
import functools
import random
import struct
import threading

import numpy as np

from ..op import case, op, require
from ..types import Tensor

WORD = np.dtype(np.uint32)
HALVES = 1 << 64  # fact: of the numbers of 128 bits that PCG64 keeps
# bit generator -> how many words it keeps
WORDS = {"PCG64": 10, "PCG64DXSM": 10, "SFC64": 10, "Philox": 23, "MT19937": 625}
KEPT = 3  # words of a normal number that is kept, behind those: whether there is one, and its two
FAMILIES = {"Generator": np.random.Generator, "RandomState": np.random.RandomState, "Random": random.Random}
FLOAT, WHOLE = np.dtype(np.float64), np.dtype(np.int64)
# kind -> (its parameters, the dtype of its numbers)
KINDS = {
    "random": ((), FLOAT),
    "uniform": (("low", "high"), FLOAT),
    "standard_normal": ((), FLOAT),
    "normal": (("loc", "scale"), FLOAT),
    "standard_exponential": ((), FLOAT),
    "exponential": (("scale",), FLOAT),
    "integers": (("low", "high"), WHOLE),
    "permutation": ((), WHOLE),
    "gamma": (("shape", "scale"), FLOAT),
    "standard_gamma": (("shape",), FLOAT),
    "beta": (("a", "b"), FLOAT),
    "chisquare": (("df",), FLOAT),
    "laplace": (("loc", "scale"), FLOAT),
    "logistic": (("loc", "scale"), FLOAT),
    "gumbel": (("loc", "scale"), FLOAT),
    "lognormal": (("mean", "sigma"), FLOAT),
    "rayleigh": (("scale",), FLOAT),
    "weibull": (("a",), FLOAT),
    "standard_t": (("df",), FLOAT),
    "standard_cauchy": ((), FLOAT),
    "triangular": (("left", "mode", "right"), FLOAT),
    "poisson": (("lam",), WHOLE),
    "geometric": (("p",), WHOLE),
}
# what methods are called where they have another name
NAMES = {
    ("RandomState", "random"): "random_sample",
    ("RandomState", "integers"): "randint",
    ("Random", "integers"): "randrange",
}


def words_kept(family, bits):
    """How many words the state of a generator has."""
    return WORDS[bits] + (0 if family == "Generator" else KEPT)


def bits_of(generator):
    """The bit generator of one of NumPy's."""
    return generator.bit_generator if isinstance(generator, np.random.Generator) else generator._bit_generator


def packed_words(state):
    """The words of a bit generator's `state`, as bytes."""
    kept = state["state"]
    match state["bit_generator"]:
        case "MT19937":
            return np.ascontiguousarray(kept["key"], WORD).tobytes() + struct.pack("<I", kept["pos"])
        case "Philox":
            parts = kept["counter"].tobytes() + kept["key"].tobytes() + np.asarray(state["buffer"]).tobytes()
            parts += struct.pack("<I", state["buffer_pos"])
        case "SFC64":
            parts = kept["state"].tobytes()
        case _:
            parts = kept["state"].to_bytes(16, "little") + kept["inc"].to_bytes(16, "little")
    return parts + struct.pack("<II", state["has_uint32"], state["uinteger"])


def unpacked(bits, words):
    """The `state` that a bit generator is set to."""
    data = words.tobytes()
    if bits == "MT19937":
        return {"bit_generator": bits, "state": {"key": words[:624].copy(), "pos": int(words[624])}}
    has, half = map(int, words[-2:])
    state = {"bit_generator": bits, "has_uint32": has, "uinteger": half}
    if bits == "Philox":
        long = np.frombuffer(data[:80], np.uint64)
        inner = {"counter": long[:4].copy(), "key": long[4:6].copy()}
        return state | {"state": inner, "buffer": long[6:].copy(), "buffer_pos": int(words[20])}
    if bits == "SFC64":
        return state | {"state": {"state": np.frombuffer(data[:32], np.uint64).copy()}}
    number = lambda at: int.from_bytes(data[at : at + 16], "little")
    return state | {"state": {"state": number(0), "inc": number(16)}}


def memory_of(bits):
    """The address of a bit generator's state, where its words lie together there as they do in ours; else None."""
    return bits.ctypes.state_address if type(bits) is np.random.MT19937 and in_one_piece() else None


@functools.cache
def in_one_piece():
    """Whether the words of `MT19937` lie together in memory, behind each other: a copy is fifty times faster than
    Python's."""
    bits, other = np.random.MT19937(3), np.random.MT19937(4)
    size = 4 * WORDS["MT19937"]
    same = ctypes.string_at(bits.ctypes.state_address, size) == packed_words(bits.state)
    if same:
        ctypes.memmove(bits.ctypes.state_address, packed_words(other.state), size)
    return same and packed_words(bits.state) == packed_words(other.state) and bits.random_raw() == other.random_raw()


def bit_words(bits):
    """The state of a bit generator, as bytes."""
    at = memory_of(bits)
    return packed_words(bits.state) if at is None else ctypes.string_at(at, 4 * WORDS["MT19937"])


def set_bits(bits, words):
    """Put a bit generator where its state is `words`."""
    at = memory_of(bits)
    if at is None:
        bits.state = unpacked(type(bits).__name__, words)
    else:
        ctypes.memmove(at, words.tobytes(), 4 * WORDS["MT19937"])


def kept_normal(has, number):
    return struct.pack("<Id", has, number)


def words_of(generator, normal=True):
    """The state of a generator; normal: whether the normal number that it keeps matters."""
    if isinstance(generator, random.Random):
        _, words, kept = generator.getstate()
        data = np.array(words, WORD).tobytes() + kept_normal(kept is not None, kept or 0.0)
    elif isinstance(generator, np.random.RandomState) and not normal:
        data = bit_words(bits_of(generator)) + kept_normal(0, 0.0)
    elif isinstance(generator, np.random.RandomState):
        state = generator.get_state(legacy=False)
        data = packed_words(state) + kept_normal(state["has_gauss"], state["gauss"])
    else:
        data = bit_words(generator.bit_generator)
    return np.frombuffer(data, WORD)


def set_words(generator, words, normal=True):
    """Put a generator where its state is `words`, but for the normal number that it keeps, where that does not
    matter."""
    words = np.ascontiguousarray(words)
    if isinstance(generator, np.random.Generator):
        set_bits(generator.bit_generator, words)
        return
    if isinstance(generator, np.random.RandomState) and not normal:
        set_bits(bits_of(generator), words[:-KEPT])
        return
    has, number = struct.unpack("<Id", words[-KEPT:].tobytes())
    if isinstance(generator, random.Random):
        generator.setstate((generator.VERSION, tuple(words[:-KEPT].tolist()), number if has else None))
    else:
        state = unpacked(type(bits_of(generator)).__name__, words[:-KEPT])
        generator.set_state(state | {"has_gauss": has, "gauss": number})


class Twins(threading.local):
    """Generators that bodies draw from, one a kind and thread."""

    def __init__(self):
        self.made = {}

    def at(self, family, bits, words):
        """A generator of its own where its state is `words`."""
        found = self.made.get((family, bits))
        if found is None:
            seeded = () if family == "Random" else (getattr(np.random, bits)(0),)
            found = self.made[family, bits] = FAMILIES[family](*seeded)
        set_words(found, words)
        return found


TWINS = Twins()


def drawn_from(generator, family, kind, parameters, shape):
    """What a method of a generator gives."""
    if kind == "permutation":
        rows = np.arange(shape[0])
        generator.shuffle(rows)
        return rows
    method = getattr(generator, NAMES.get((family, kind), kind))
    if kind == "integers":
        parameters = [int(p) for p in parameters]
    return method(*parameters, **({"size": shape} if shape else {}))


def _draw_rule(op, state, going, *parameters, family, bits, kind, shape):
    names, dtype = KINDS[kind]
    require(
        state.dtype == WORD and state.shape == (words_kept(family, bits),),
        op,
        f"{state} is no state of a {family} of {bits}",
    )
    require(going.kind == "b" and not going.shape, op, f"whether it is to draw is a bool[], not {going}")
    require(len(parameters) == len(names), op, f"{kind} takes {len(names)} parameters, not {len(parameters)}")
    wanted = WHOLE if kind == "integers" else FLOAT
    for p in parameters:
        fits = p.shape == () or p.shape == tuple(shape) and wanted is FLOAT
        require(p.dtype == wanted and fits, op, f"{p} is no parameter of {kind} of shape {shape}")
    return state, Tensor(tuple(shape), dtype)


def state_sample(family, bits):
    """A state, for the generated tests."""

    def sample(rng):
        made = () if family == "Random" else (getattr(np.random, bits)(int(rng.integers(99))),)
        return words_of(FAMILIES[family](*made))

    return sample


def _case(family, bits, kind, *parameters, shape=(), going=True):
    return case(
        state_sample(family, bits), np.bool_(going), *parameters, family=family, bits=bits, kind=kind, shape=shape
    )


@op(_draw_rule, multiple=True, cases=[
    _case("Generator", "PCG64", "random"),
    _case("Generator", "PCG64", "random", going=False),
    _case("Generator", "PCG64DXSM", "uniform", np.float64(-1.0), np.float64(2.0), shape=(3, 2)),
    _case("Generator", "SFC64", "normal", np.float64(0.5), np.arange(1.0, 4.0), shape=(3,)),
    _case("Generator", "Philox", "integers", np.int64(2), np.int64(9), shape=(7,)),
    _case("Generator", "MT19937", "permutation", shape=(9,)),
    _case("RandomState", "MT19937", "normal", np.float64(0.5), np.float64(2.0), shape=(5,)),
    _case("RandomState", "MT19937", "exponential", np.float64(2.0)),
    _case("RandomState", "MT19937", "exponential", np.float64(2.0), shape=(4,)),
    _case("RandomState", "PCG64", "integers", np.int64(-2), np.int64(9), shape=(5,)),
    _case("Random", "MT19937", "integers", np.int64(0), np.int64(6)),
])  # fmt: skip
def draw(state, going, *parameters, family, bits, kind, shape=()):
    """-> (the state after it, numbers of a shape), as a generator of a family draws them.

    going: where it is False nothing is drawn: the numbers are 0. Parameters are scalars, or of the shape of the
    numbers. The numbers are those of NumPy (Harris et al., Nature 585, 2020) and of Python's `random`, to the bit.
    """
    dtype = KINDS[kind][1]
    if not going:
        return state, np.zeros(shape, dtype)
    generator = TWINS.at(family, bits, np.asarray(state))
    numbers = np.asarray(drawn_from(generator, family, kind, parameters, shape), dtype)
    return words_of(generator), numbers
