"""A foreign function that looks at a status: where that is not 0, the program it is a part of fails, and whoever waits for a result is told."""

import functools

import jax
import numpy as np

from ..forked import platform
from .ffi import handler, refusal, target
from .run import SETTINGS

# XLA_FFI_Error_Create is the first function in XLA_FFI_Api; 9 is XLA_FFI_Error_Code_FAILED_PRECONDITION
LOOK = """
  %status = load i64, ptr %p0
  %failed = icmp ne i64 %status, 0
  br i1 %failed, label %fail, label %done
fail:
  %api_at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api_at
  %create_at = getelementptr i8, ptr %api, i64 48
  %create = load ptr, ptr %create_at
  %what = alloca [4 x i64]
  store i64 32, ptr %what
  %extensions = getelementptr i8, ptr %what, i64 8
  store ptr null, ptr %extensions
  %message = getelementptr i8, ptr %what, i64 16
  store ptr @message, ptr %message
  %code = getelementptr i8, ptr %what, i64 24
  store i32 9, ptr %code
  %error = call ptr %create(ptr %what)
  ret ptr %error
"""
MESSAGE = '@message = private constant [15 x i8] c"a check failed\\00"\n'


@functools.cache
def text():
    return MESSAGE + handler([("argument", 1)], then=LOOK)


def can_raise():
    """Whether programs that are lowered now can have it: where they run on the CPU and may have machine code of ours."""
    return SETTINGS.least is not None and platform() == "cpu" and refusal() is None


def unless_failed(x, status):
    """x, if `status` is 0. It is the same memory: XLA sees a function that may change it."""
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.ffi.ffi_call(target(text()), shape, input_output_aliases={0: 0})(x, status.astype(np.int64))
