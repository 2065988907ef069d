"""Long programs on numbers: their straight lines as machine code of ours.

XLA's CPU compiler makes a kernel of each number that is kept, some 5 to 10 milliseconds each, and one chain of numbers
takes it time that grows faster than the chain: seconds at 3,000 equations, minutes at 10,000. LLVM alone takes a
fraction of a millisecond for each.
"""

from .. import native
from ..native.stages import free, in_stages, stands_alone
from ..target import platform

MANY = 512  # bound: equations on numbers from which they are put together
SMALL = 16  # bound: elements of an array that is computed number by number all the same
LEAST = 64  # bound: equations of a nest


def numbers_in_nests(func):
    """`func` with its equations on numbers in nests, where they are many, on CPUs."""
    if len(func.eqns) < MANY or platform() != "cpu" or not native.allowed():
        return func
    inside = {eqn for eqn in func.eqns if on_numbers(eqn)}
    if len(inside) < MANY:
        return func
    return in_stages(func, inside, lambda eqns: len(eqns) >= LEAST) or func


def on_numbers(eqn):
    """Whether an equation computes numbers, or joins some into an array, and machine code does it."""
    small = all(r.type.size <= SMALL for r in eqn.results) or "joins" in eqn.op.traits
    return small and not free(eqn) and not eqn.effect and not list(eqn.regions()) and stands_alone(eqn)
