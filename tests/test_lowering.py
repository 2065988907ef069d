"""What XLA gets wrong, and the lowering must not: each case was once a wrong number."""

import numpy as np
import pytest
from compare import check_same

PRODUCERS = {
    "cumsum": lambda v: np.cumsum(v),
    "window": lambda v: np.convolve(v, np.ones(3), "same"),
    "gather": lambda v: v[np.array([3, 1, 0, 2, 5, 4])],
    "sorted": lambda v: np.sort(v),
    "elementwise": lambda v: np.sin(v),
    "argument": lambda v: v,
}


@pytest.mark.parametrize("producer", PRODUCERS.values(), ids=PRODUCERS)
def test_a_store_may_overlap_what_it_is_computed_from(producer):
    def shift(v):
        x = producer(v)
        x[1:] = x[:-1]
        return x

    def mirror(v):
        x = producer(v)
        x[2:] = x[1:5][::-1] * 2 + 1
        x[:3] += x[1:4]
        return x

    def through_views(v):
        x = producer(v).reshape(2, 3)
        x.T[1:] = x.T[:-1]
        return x

    def at_a_traced_place(v):
        x = producer(v)
        i = np.argmax(v[1:3]) + 1
        x[np.arange(2) + i] = x[np.arange(2) + i - 1]
        return x

    v = np.array([0.3, -1.0, 2.0, 0.7, -0.2, 1.1])
    for f in (shift, mirror, through_views, at_a_traced_place):
        check_same(f, v)
