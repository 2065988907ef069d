"""Iterators as arguments: jax takes some of them for leaves with a warning that it will refuse them."""

import warnings

import numpy as np
import pytest

from wengert import Fallback, jit
from wengert.tracer.common import pytree

MAKERS = {
    "list": lambda: iter([2.0, 3.0]), "generator": lambda: (x for x in [2.0, 3.0]), "zip": lambda: zip([2.0, 3.0]), "map": lambda: map(abs, [2.0]),
    "values": lambda: {"a": 2.0}.values(), "set": lambda: iter({2.0}), "text": lambda: iter("ab"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MAKERS)
def test_iterators_are_leaves_without_a_warning(kind, falling_back):
    def taken(x, items):
        return x * len(list(items["it"]))

    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        made = MAKERS[kind]()
        assert pytree.flatten([made, 1])[0] == [made, 1] and pytree.leaves({"a": made}) == [made]
        assert pytree.flatten_with_path([made])[0][0][1] is made
        x = np.ones(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Fallback)
            for _ in range(2):
                np.testing.assert_array_equal(jit(taken)(x, {"it": MAKERS[kind]()}), taken(x, {"it": MAKERS[kind]()}))
