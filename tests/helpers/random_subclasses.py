"""Random programs over instances of subclasses of np.ndarray: classes, attributes, memory and values as plain Python leaves them.

    python tests/helpers/random_subclasses.py 0 1000

`draw(rng)` gives a `Case`: the source of `f(a, b, s)`, of which a and b are of drawn classes (`subclasses.py`), or plain. `differences(case)`
calls it plainly and compiled, three times, on new numbers.
"""

import sys
import zlib
from typing import NamedTuple

import numpy as np
import subclasses
from compare import agree
from draws import function, print_seeds, run_of
from subclasses import Higher, Own, Plain, Tagged, laid_open, outcome, sharing

from wengert import jit
from wengert.tracer.common.errors import WengertError

KINDS = [Plain, Tagged, Tagged, Higher, Own, None]
VALUES = [
    "{x} + {y}", "{x} * {y}", "{x} - 0.5", "2.0 * {x}", "-{x}", "np.abs({x})", "np.tanh({x})", "np.maximum({x}, {y})",
    "np.hypot({x}, {y})",
    "{x} > {y}", "np.where({x} > 0, {x}, {y})",
    "{x}.copy()", "np.asarray({x})", "np.array({x})", "np.asanyarray({x})", "{x}.astype(np.float32)",
    "np.zeros_like({x})", "np.concatenate([{x}, {y}])",
    "np.stack([{x}, {x}])", "np.sort({x}, axis=-1)", "np.cumsum({x}, axis=0)", "np.clip({x}, -1, 1)",
    "{x}[::-1]", "{x}[1:]", "{x}[0]", "{x}[..., None]", "{x}.T", "{x}.reshape(-1)", "{x}.ravel()[1:]", "{x}[np.array([1, 0])]", "{x}.real",
    "{x}.view()",
    "{x}.view(Plain)", "{x}.view(Tagged)", "{x}.view(np.ndarray)", "{x}.sum()", "{x}.sum(axis=0)", "{x}.mean()", "{x}.max(axis=-1)", "np.sum({x})",
    "np.linalg.norm({x})", "np.dot({x}, {x}.T)", "{x}.std()", "np.roll({x}, 1)", "np.diff({x}, axis=0)", "Tagged({x})",
    "Tagged({x}, 'drawn').scaled(s)",
    "type({x})", "isinstance({x}, Tagged)", "getattr({x}, 'tag', 'no tag')", "hasattr({x}, 'extra')", "getattr({x}, 'extra', 0.0)", "{x} is {y}",
    "np.shape({x})", "copy.copy({x})", "list({x})", "np.ndarray.__new__(Plain, {x}.shape, float, np.array({x}, float))",
    "({x} if {x}.sum() > 0 else {y})", "sum(v.sum() for v in [{x}, {y}])", "[v * 2 for v in {x}]",
]  # fmt: skip
STORES = [
    "{x}[...] = {y}", "{x}[0] = 2.0", "{x} += {y}", "{x} *= 0.5", "{x}[1:] = {x}[:-1]", "{x}[{x} > 0] = s", "np.add({x}, 1, out={x})", "{x}.T[0] = s",
    "{x}.tag = 'stored'", "{x}.extra = {y}", "{x}.extra = s", "{x}.fill(s)", "if {x}.sum() > 0: {x}[0] = 3.0", "for i in range(3): {x} += i",
    "for i in range(20): {x}[0] = {x}[0] * 0.9 + i",
]  # fmt: skip


class Case(NamedTuple):
    text: str
    kinds: tuple
    seed: int
    calls: int = 3


def draw(rng):
    names, lines = ["a", "b"], []
    for n in range(rng.randint(2, 7)):
        store = rng.random() < 0.3
        text = rng.choice(STORES if store else VALUES).format(x=rng.choice(names), y=rng.choice([*names, "s"] if store else names))
        lines.append(text if store else f"v{n} = {text}")
        names += [] if store else [f"v{n}"]
    result = ", ".join(rng.choice(names) for _ in range(rng.randint(1, 3)))
    body = "".join(f"    {line}\n" for line in lines)
    text = f"import copy\nimport numpy as np\nfrom subclasses import Higher, Own, Plain, Tagged\ndef f(a, b, s):\n{body}    return {result},\n"
    return Case(text, (rng.choice(KINDS[:-1]), rng.choice(KINDS)), rng.randrange(1 << 30))


def compiled_from(source):
    return function(source, f"subclasses {zlib.crc32(source.encode()):x}")


def arguments(case, call):
    rng = np.random.default_rng([case.seed, call])
    shape = [(3, 3), (2, 2), (3,), (4, 2)][case.seed % 4]
    made = []
    for kind, tag in zip(case.kinds, "ab"):
        x = rng.normal(size=shape) * 2
        x = x if kind is None else x.view(kind)
        if kind is not None and issubclass(kind, subclasses.Tagged):
            x.tag = tag
        made.append(x)
    return [*made, float(rng.normal())]


def differences(case):
    """None where all calls agree, how they differ, or "refused: why"."""
    if subclasses.Own in case.kinds and "np.roll(" in case.text:
        return None  # NumPy stores through `__getitem__`, which gives a copy: what comes back is memory nobody wrote
    f = compiled_from(case.text)
    compiled = jit(f)
    for call in range(case.calls):
        args, plain = arguments(case, call), arguments(case, call)
        want = outcome(f, plain)
        got = outcome(compiled, args)
        if isinstance(got, WengertError) and not isinstance(got, type(want) if isinstance(want, Exception) else ()):
            return f"refused: {got}"
        if isinstance(want, Exception):
            if not isinstance(got, type(want)):
                return f"{want!r} against {got!r:.200}"
            continue
        if isinstance(got, Exception):
            return f"raises {got!r}"
        try:
            agree(laid_open([got, args]), laid_open([want, plain]), 1e-9)
        except AssertionError as error:
            return f"call {call}: {error}"
        if sharing([got, args]) != sharing([want, plain]):
            return f"call {call}: {sharing([got, args])} of shared memory against {sharing([want, plain])}"
    return None


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]))
