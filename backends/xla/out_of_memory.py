"""Which of the user's lines ask for the memory that XLA could not get."""

from ...ir.source import Source

NAMED = 3  # bound: values that are named
EXHAUSTED = "RESOURCE_EXHAUSTED", "Out of memory"  # how XLA says so, by version
UNITS = "bytes", "kB", "MB", "GB", "TB", "PB", "EB"


def tell_largest_values(failure, func):
    """Where an error of XLA's is that memory was too little, add a note of the largest values of the program and their
    lines."""
    if func is not None and any(words in str(failure) for words in EXHAUSTED):
        sizes = {}
        for bytes, eqn in sorted(computed_bytes(func), key=lambda found: -found[0]):
            sizes.setdefault((eqn.source.file, eqn.source.line), (bytes, eqn))
        lines = [f"  {in_units(n)} at {eqn.source}: {eqn.source.text}" for n, eqn in list(sizes.values())[:NAMED]]
        if lines:
            failure.add_note("\n".join([f"The largest values that {func.name} computes, by line:", *lines]))


def computed_bytes(func):
    """(bytes of its results, equation) of all equations with a place of the user's."""
    for eqn in func.eqns:
        if isinstance(eqn.source, Source):
            yield sum(r.type.size * r.type.dtype.itemsize for r in eqn.results), eqn
        for region in eqn.regions():
            yield from computed_bytes(region)


def in_units(n):
    """A number of bytes as people write it, in powers of 1000."""
    unit = 0
    while n >= 1000 and unit + 1 < len(UNITS):
        n, unit = n / 1000, unit + 1
    return f"{n:.3g} {UNITS[unit]}"
