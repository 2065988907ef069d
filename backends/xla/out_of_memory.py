"""Which of the user's lines ask for the memory that XLA could not get."""

from ...ir.amounts import in_units
from ...ir.cost import written_by
from ...ir.source import Source
from ...ir.walk import every_equation

NAMED = 3  # bound: values that are named
EXHAUSTED = "RESOURCE_EXHAUSTED", "Out of memory"  # how XLA says so, by version


def tell_largest_values(failure, func):
    """Where an error of XLA's is that memory was too little, add a note of the largest values of the program and their
    lines."""
    if func is not None and any(words in str(failure) for words in EXHAUSTED):
        sizes, placed = {}, (eqn for eqn in every_equation(func) if isinstance(eqn.source, Source))
        for eqn in sorted(placed, key=written_by, reverse=True):
            sizes.setdefault((eqn.source.file, eqn.source.line), (written_by(eqn), eqn))
        lines = [f"  {in_units(n, 'B')} at {eqn.source}: {eqn.source.text}" for n, eqn in list(sizes.values())[:NAMED]]
        if lines:
            failure.add_note("\n".join([f"The largest values that {func.name} computes, by line:", *lines]))
