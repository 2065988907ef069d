"""Loops as machine code: an IR loop -> LLVM IR -> llvmlite -> a foreign function of XLA's, on the CPU, where llvmlite
is installed.

`lowered` runs one on jax values, or says why it does not. No Python runs when the program does, nothing is copied, and
carried arrays are updated in place. What it does not take is lowered through jax.lax, as is everything on other
platforms. `called` is a nest of which `builtin` makes a function that generated NumPy calls.
"""

from .build import compiled_quickly
from .direct import FRESH, ZEROED, again, builtin
from .draw_check import unlike_numpy
from .drawing import alone
from .interrupts import endures
from .legal import LEAST, ending, form_in_words, forms, taken
from .listing import assembly, listed_nests, target_name
from .run import allowed, asked, callable_nest, here, listens, lowered, uncallable
from .size_free import SampledAgain, SampledNest, SizeFreeNest, sampled
from .trap import can_raise, unless_failed

__all__ = [
    "FRESH", "LEAST", "ZEROED", "SampledAgain", "SampledNest", "SizeFreeNest", "again", "allowed", "alone", "asked",
    "assembly", "builtin", "callable_nest", "can_raise", "compiled_quickly", "ending", "endures", "form_in_words",
    "forms", "here", "listed_nests", "listens", "lowered", "sampled", "taken", "target_name", "uncallable",
    "unless_failed", "unlike_numpy",
]  # fmt: skip
