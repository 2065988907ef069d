"""`jit(donate=)`: jax arrays that a call gives away, over which XLA writes results, so that nothing is copied.

Which of them are overwritten is found for each program. None is where the arrays may still be needed when the program
has run: where a check may fail, after which the call is made again, where data choose among programs, and where it
calls Python or prints. An array is where the program reads it, hands it back to nobody, and has a result of its shape
and dtype that no array before it takes.
"""

import collections

from ...backends.xla.dispatch import is_device_array
from ...ir.types import type_of
from ..common.errors import message
from ..sharding.placement import is_part_of


def asked_donation(donate, signature, others):
    """The names of `jit(donate=)` as a tuple.

    signature: of the function, None where it has none to show; others: {option: whether it is given} of those that need
    the arrays once more. Raises TypeError where they are no names, ValueError for names of no parameter, and beside
    such an option.
    """
    names = (donate,) if isinstance(donate, str) else donate
    if not isinstance(names, tuple | list) or not all(isinstance(n, str) for n in names):
        hint = "Write donate='params', or donate=('params', 'state')."
        raise TypeError(message(f"donate takes names of parameters, not {donate!r:.60}", None, hint))
    known = [] if signature is None else list(signature.parameters.values())
    if known and not any(p.kind is p.VAR_KEYWORD for p in known):
        taken = [p.name for p in known]
        for name in names:
            if not any(is_part_of(name, p) for p in taken):
                hint = f"They are {', '.join(taken)}."
                raise ValueError(message(f"donate names {name!r}, and no parameter is called so", None, hint))
    if names and (other := next((option for option, given in others.items() if given), None)) is not None:
        text = f"donate= lets a call overwrite its arguments, which {other} needs once it has run"
        raise ValueError(message(text, None, "Ask for one of the two."))
    return tuple(names)


def donates(entry):
    """Whether calls of a signature may overwrite arrays."""
    return bool(entry.compiled.donate) and entry.compiled.debug is None and not entry.numpy


def given_away(entry):
    """Places among the leaves of a call of the jax arrays that are given away."""
    names = entry.compiled.donate if donates(entry) else ()
    return [i for i, name in enumerate(entry.names) if any(is_part_of(name, n) for n in names)]


def kept_whole(version):
    """Why a program overwrites no array, in words; None where it may."""
    if version.tree is not None:
        return "data choose among its traces"
    if version.captured.checks:
        errors = sorted({c.error.__name__ for c in version.captured.checks})
        return f"a check may fail ({', '.join(errors)}), and the call is then made again"
    if version.effects or version.endures:
        return "it acts on the world, and may raise when it has begun"
    if version.captured.outside.draws:
        return "it draws random numbers"
    if any(map(is_array_outside, parts_of(version.captured.outs))):
        return "an array from outside is handed back, which may be the same"
    return "it runs in pieces" if version.chain is not None else None


def overwritten(entry, version):
    """{place among the leaves: None where its array is overwritten, else why not} of those that are given away."""
    func, whole, found = version.func, kept_whole(version), {}
    room = collections.Counter(r.type for r in func.results if r not in func.params)
    used = {x for eqn in func.eqns for x in eqn.operands}
    for place in given_away(entry):
        param = func.params[place]
        if whole is not None:
            found[place] = whole
        elif param in func.results or place in handed_back(version.captured.outs):
            found[place] = "it is handed back, or a view of it"
        elif param not in used:
            found[place] = "it is not read"
        elif not room[param.type]:
            found[place] = f"no result is left that is {param.type}"
        else:
            room[param.type] -= 1
            found[place] = None
    return found


def parts_of(outs):
    """Results of a call, and what each may be, where data choose."""
    return [part for out in outs for part in (out.object if out.how == "chosen" else (out,))]


def handed_back(outs):
    """The arguments that results of a call are, or views of."""
    return {part.index for part in parts_of(outs) if part.how == "argument"}


def is_array_outside(out):
    """Whether a result is an array of jax's that no argument is known to be."""
    found = out.object if out.how in ("object", "copy") else out.object.get() if out.how == "outside" else None
    return is_device_array(found)


class Donor:
    """Says over which leaves of calls of `entry` the programs of a set of traces may write."""

    def __init__(self, entry, here):
        self.entry, self.here = entry, here

    def places(self, leaves):
        version = self.here.version(tuple(map(type_of, leaves)))
        found = {} if version is None else overwritten(self.entry, version)
        return [place for place, why in found.items() if why is None]

    def refusal(self, places):
        """The exception for a call with arrays that are deleted."""
        names = [*self.entry.names, *self.here.input_names()]
        text = f"{self.entry.compiled.name} is called with deleted memory: {', '.join(names[i] for i in places)}"
        hint = "A call to which donate= gives an array may write over it: go on with what that call returned."
        return RuntimeError(message(text, None, hint))


def donation_lines(entry, version):
    """For explain(): what happens to each array that is given away."""
    found = overwritten(entry, version)
    taken = [entry.names[place] for place, why in found.items() if why is None]
    lines = [f"{', '.join(taken)}: results lie where they lay"] if taken else []
    reasons = collections.defaultdict(list)
    for place, why in found.items():
        if why is not None:
            reasons[why].append(entry.names[place])
    lines += [f"{', '.join(names)} kept: {why}" for why, names in reasons.items()]
    missing = [n for n in entry.compiled.donate if not any(is_part_of(name, n) for name in entry.names)]
    if donates(entry) and missing:
        lines.append(f"nothing of {', '.join(missing)}: arrays are called {', '.join(entry.names) or 'nothing'}")
    return lines
