"""Context variables that are set for a while."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")
# whether what is optimised is to be compared with the same at other sizes: then no number is computed of a size
OF_ALL_SIZES = contextvars.ContextVar("of_all_sizes", default=False)


@contextlib.contextmanager
def set_within(variable: contextvars.ContextVar[T], value: T) -> Iterator[T]:
    """Within: a context variable has this value, which is given; afterwards what it had before."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
