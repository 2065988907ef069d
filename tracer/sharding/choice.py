"""`shard="auto"`: the axes of arguments that are spread."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from ...ir.core import Func
from ...ir.spread import Spread

TRIED = 512  # bound: ways that are compared; of more, one argument after the other is
ROUNDS = 3  # bound: how often each argument is looked at then
LARGE = 0.5  # bound: share of the bytes of the largest argument from which one has to be spread


class Way:
    """One way to spread the arguments: the specs of parameters, and what is sent."""

    def __init__(self, func: Func, specs: list[tuple[Any, ...]], sizes: dict[str, int]) -> None:
        self.specs, self.spread = specs, Spread(func, specs, sizes)
        self.sent = self.spread.bytes
        self.held = sum(self.spread.local(p, s) for p, s in zip(func.params, specs, strict=True))


class Choice:
    """How the leaves of a call lie: `specs`; by what: `ways`, of which the first was taken.

    The largest arguments are spread, which is what a mesh is for, and so that the devices send least; of the others
    whatever sends least. Between equals the one that holds less on a device.
    """

    def __init__(
        self,
        func: Func,
        places: Sequence[int],
        names: Sequence[str],
        shapes: Sequence[tuple[int, ...]],
        sizes: dict[str, int],
    ) -> None:
        self.func, self.names, self.sizes = func, [names[i] if i < len(names) else "outside" for i in places], sizes
        self.bytes = [p.type.size * p.type.dtype.itemsize for p in func.params]
        self.seen: dict[Any, Way] = {}
        options = [self.options(i) if k < len(names) else [self.whole(i)] for i, k in enumerate(places)]
        most = max((b for b, ways in zip(self.bytes, options, strict=True) if len(ways) > 1), default=0)
        for i, b in enumerate(self.bytes):
            if len(options[i]) > 1 and b >= LARGE * most:
                options[i] = options[i][1:]
        if math.prod(map(len, options)) <= TRIED:
            for specs in itertools.product(*options):
                self.way(specs)
        else:
            self.one_by_one(options)
        self.ways = sorted(self.seen.values(), key=lambda way: (way.sent, way.held))
        self.specs: list[tuple[Any, ...]] = [()] * len(shapes)
        for place, spec in zip(places, self.ways[0].specs, strict=True):
            self.specs[place] = spec

    def whole(self, i: int) -> tuple[Any, ...]:
        return (None,) * self.func.params[i].type.ndim

    def options(self, i: int) -> list[tuple[Any, ...]]:
        """The ways in which one argument may lie, whole on all devices the first."""
        shape, found = self.func.params[i].type.shape, [self.whole(i)]
        several = [name for name, n in self.sizes.items() if n > 1]
        for spec in itertools.product([None, *several], repeat=len(shape)):
            names = [e for e in spec if e is not None]
            fits = all(e is None or n and n % self.sizes[e] == 0 for e, n in zip(spec, shape, strict=True))
            if names and fits and len({*names}) == len(names):
                found.append(spec)
        return found

    def way(self, specs: Any) -> Way:
        key = tuple(specs)
        if key not in self.seen:
            self.seen[key] = Way(self.func, list(specs), self.sizes)
        return self.seen[key]

    def said(self, way: Way) -> dict[str, str]:
        """name of a parameter -> how it lies in a way, as text."""
        return {n: spec_text(s) for n, s in zip(self.names, way.specs, strict=True)}

    def one_by_one(self, options: list[list[tuple[Any, ...]]]) -> None:
        """The largest first, the others as they were chosen last."""
        now = [ways[0] for ways in options]
        order = sorted((i for i, ways in enumerate(options) if len(ways) > 1), key=lambda i: -self.bytes[i])
        for _ in range(ROUNDS):
            before = list(now)
            for i in order:
                tried = [self.way([*now[:i], spec, *now[i + 1 :]]) for spec in options[i]]
                now = list(min(tried, key=lambda way: (way.sent, way.held)).specs)
            if now == before:
                break


def spec_text(spec: Iterable[Any]) -> str:
    """"rows, -": the mesh axis along each axis; "whole" where there is none."""
    spec = list(spec)
    while spec and spec[-1] is None:
        spec.pop()
    return ", ".join("-" if e is None else e if isinstance(e, str) else "+".join(e) for e in spec) or "whole"


def arguments_told(arguments: dict[str, str]) -> str:
    """Names of arguments and how they lie, those that are whole together."""
    spread = [f"{n} ({text})" for n, text in arguments.items() if text != "whole"]
    whole = [n for n, text in arguments.items() if text == "whole"]
    return "; ".join([*spread, *([f"whole: {', '.join(whole)}"] if whole else [])])
