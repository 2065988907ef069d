"""XLA's foreign functions: whether they can be used here, and the call frame that a nest is run on.

The structures are those of xla/ffi/api/c_api.h, as `layout.py` finds them in the header of the jaxlib that is
installed.
"""

import functools
import pathlib
import sys

import jax

from .build import INSTALLED, OLDEST
from .build import version as llvmlite
from .layout import FIELDS, Header, unknown

FRAME = FIELDS["CallFrame"]
# the arrays of buffers in the frame
ARGUMENTS, RESULTS = FRAME["args"] + FIELDS["Args"]["args"], FRAME["rets"] + FIELDS["Rets"]["rets"]
DATA = FIELDS["Buffer"]["data"]

@functools.cache
def header():
    """The text of the header of the foreign functions that are installed, empty if there is none."""
    path = pathlib.Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    return path.read_text() if path.exists() else ""


@functools.cache
def declared():
    """What that declares."""
    return Header(header())


def version():
    """(major, minor) of the foreign functions: a handler has to say the version that is installed."""
    return declared().version()


@functools.cache
def refusal():
    """Why no foreign function can be used here, or None."""
    if not INSTALLED:
        return "llvmlite is not installed"
    if llvmlite() < OLDEST:
        return "llvmlite {}.{} is too old, {}.{} is not".format(*llvmlite(), *OLDEST)
    if sys.maxsize < 2**32:
        return "pointers have 32 bits"
    if not header():
        return "jaxlib comes without the header of XLA's foreign functions"
    what = unknown(header())
    return None if what is None else f"XLA's foreign functions are laid out in a way that is not known ({what})"


EXECUTE = """
define ptr @execute(ptr %frame) {{
{loads}
{then}
done:
  ret ptr null
}}
"""


def execute(buffers, long=False, then=None):
    """The function that calls @nest on a call frame. buffers: ("argument" or "result", position), one for each pointer
    that it takes; long: it hears signals.

    then: instructions instead, that end in a branch to %done or return an error; the pointers are %p0, %p1, ...
    """
    lines = []
    for n, (kind, k) in enumerate(buffers):
        offset = ARGUMENTS if kind == "argument" else RESULTS
        lines += [f"  %p{n}.0 = getelementptr i8, ptr %frame, i64 {offset}", f"  %p{n}.1 = load ptr, ptr %p{n}.0"]
        lines += [f"  %p{n}.2 = getelementptr ptr, ptr %p{n}.1, i64 {k}", f"  %p{n}.3 = load ptr, ptr %p{n}.2"]
        lines += [f"  %p{n}.4 = getelementptr i8, ptr %p{n}.3, i64 {DATA}", f"  %p{n} = load ptr, ptr %p{n}.4"]
    given = ", ".join(f"ptr %p{n}" for n in range(len(buffers)))
    then = then or (HEARS.format(given=given) + FAIL if long else f"  call void @nest({given})\n  br label %done")
    said = message("wengert: interrupted") if long else ""
    return said + EXECUTE.format(loads="\n".join(lines), then=then)


# XLA_FFI_Error_Create is the first function in XLA_FFI_Api; 9 is XLA_FFI_Error_Code_FAILED_PRECONDITION
FAIL = """
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

HEARS = """
  %thread = call ptr @PyGILState_GetThisThreadState()
  %hear = icmp ne ptr %thread, null
  %stop = call i1 @nest({given}, i1 %hear)
  br i1 %stop, label %stopped, label %done
stopped:
  call void @postpone()
  br label %fail
"""


def message(text):
    """What `FAIL` says."""
    return f'@message = private constant [{len(text) + 1} x i8] c"{text}\\00"\n'
