"""The one function of a family, of its larger sizes where small ones are computed in another way: a convolution has
fewer elements there than its kernel, a loop has no trip."""

from ...ir.generic import Unalike
from ..program import backend_choice
from ..program.size_free import SizeFree
from .family import NoFamily, family_of_larger

TIMES = 3  # bound: times that the smallest sizes are left out


def function_for(entry, family):
    """-> (the SizeFamily, or one of its larger sizes; its SizeFree, or None; why there is none)."""
    types, tried, why = [entry.types[i] for i in entry.dynamic], family, None
    nests = backend_choice.asked(entry.compiled) == "nests"
    for times in range(TIMES + 1):
        try:
            tried = family_of_larger(tried) if times else tried
            with backend_choice.as_asked(entry):
                sizes = [s.sizes for s in tried.samples]
                return tried, SizeFree(tried.specialisations, types, sizes, tried.names.names, nests=nests), None
        except Unalike as error:
            why = why or str(error)
        except NoFamily:
            break
    return family, None, why
