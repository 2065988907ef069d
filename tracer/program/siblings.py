"""What was measured at one size of a program speaks for others: XLA is not compiled anew to lose again."""

from ...ir.walk import ops_of
from . import backend_choice

NEAR = 4  # bound: times as many elements, and times as long a run, up to which one size speaks for another
FAR_AHEAD = 2  # bound: times as long as NumPy that XLA has taken at the one


def nothing_to_win(entry, version, total, inside):
    """Whether XLA is not asked, after a run as NumPy of so many seconds, so many of them in nests: for these alone, or
    for what another version took."""
    alone = backend_choice.nothing_to_win(version, total, inside)
    return alone or is_spoken_for(entry, version, total)


def is_spoken_for(entry, version, total=0.0):
    """Whether another version of the function tells that XLA need not be asked, where a run as NumPy takes so many
    seconds."""
    return any(speaks_for(other, version, total) for here in sets_of(entry.compiled) for other in here.versions)


def sets_of(compiled):
    """The sets of traces that a function uses, whatever other threads add meanwhile."""
    return [here for entry in list(compiled.entries.values()) for here in entry.worlds]


def speaks_for(other, version, total):
    """Whether the same program was far ahead as NumPy at a size not far from a version's, a run of which takes `total`
    seconds."""
    if other is version or not other.times or None in other.times:
        return False
    ours, xla = other.times
    if FAR_AHEAD * ours > xla or total > NEAR * ours or dtypes_and_ranks(other) != dtypes_and_ranks(version):
        return False
    size, known = (sum(p.type.size for p in v.func.params) or 1 for v in (version, other))
    return size <= NEAR * known <= NEAR**2 * size and ops_of(other.func) == ops_of(version.func)


def dtypes_and_ranks(version):
    return [(p.type.dtype, p.type.ndim) for p in version.func.params]
