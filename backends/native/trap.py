"""A foreign function that looks at a status: where that is not 0, the program it is a part of fails, and whoever waits
for a result is told."""

import functools

import jax
import numpy as np

from ..target import platform
from .ffi import FAIL, execute, message, refusal
from .instances import call
from .run import SETTINGS

LOOK = """
  %status = load i64, ptr %p0
  %failed = icmp ne i64 %status, 0
  br i1 %failed, label %fail, label %done"""


@functools.cache
def text():
    return message("a check failed") + execute([("argument", 1)], then=LOOK + FAIL)


def can_raise():
    """Whether programs that are lowered now can have it: where they run on the CPU and may have machine code of
    ours."""
    return SETTINGS.least is not None and platform() == "cpu" and refusal() is None


def unless_failed(x, status):
    """x, if `status` is 0. It is the same memory: XLA sees a function that may change it."""
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return call(text(), shape, input_output_aliases={0: 0})(x, status.astype(np.int64))
