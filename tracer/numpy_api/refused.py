"""What is not captured, why, and what to write instead: results whose length depends on data, and uses of the numbers
themselves."""

import numpy as np

from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from .registry import HANDLERS, METHODS

SAVED, SHOWN = (
    "Return the array, and save it outside the compiled function.",
    "Return the array, and print it outside the compiled function.",
)
DATES = "Dates have no place in a program: convert them to numbers."

# fmt: off
OUTSIDE = {
    ("save", "savetxt", "savez", "savez_compressed"):                              SAVED,
    ("array2string", "array_repr", "array_str"):                                   SHOWN,
    ("busday_count", "busday_offset", "is_busday", "datetime_as_string"):          DATES,
}
# fmt: on


BYTES = {
    ("byteswap", "getfield", "setfield"): (
        "is about the bytes of numbers",
        "x.view(dtype) sees them as other numbers.",
    ),
}


def to_device(x, device, /, *, stream=None):
    """The array itself: NumPy has one device."""
    if stream is not None:
        raise with_note(ValueError, message("The stream argument in to_device() is not supported", locate()))
    if device != "cpu":
        raise with_note(ValueError, message(f'Unsupported device: {device}. Only "cpu" is accepted.', locate()))
    return x


def refusal(name, what, instead):
    def refuse(*args, **kwargs):
        raise UnsupportedError(message(f"{name} {what}", locate(), instead))

    return refuse


def _refuse():
    for names, instead in OUTSIDE.items():
        HANDLERS.update({getattr(np, n): refusal(f"np.{n}", "needs the numbers themselves", instead) for n in names})
    METHODS["to_device"] = to_device
    METHODS.update({n: refusal(f"ndarray.{n}", *why) for names, why in BYTES.items() for n in names})
    METHODS["resize"] = refusal(
        "ndarray.resize", "changes the size of memory in place", "Write x = np.resize(x, shape)."
    )
    METHODS.update(
        {
            n: refusal(f"ndarray.{n}", "needs the numbers themselves", SAVED)
            for n in ("tobytes", "tofile", "dump", "dumps")
        }
    )


_refuse()
REFUSED = frozenset(getattr(np, n) for names in OUTSIDE for n in names)
