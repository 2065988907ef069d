"""Operations on numbers of which data decides the kind (`mixed`), where all the kinds they may have mean the same
computation."""

import itertools

import numpy as np

from ...ir.ops import OPS
from ..common.emit import cast_to
from ..values import exceptional, overflow
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar, bring, wrap
from ..values.beyond import far
from ..values.mixed import Mixed, dtype_of, has_mixed, kind_tag, mixed_in, replaced
from ..values.promote import COMPARISONS, PYTHON_NUMBERS, broadcast_shapes, loop, operand_as, read, rule_of, shape_of
from .ufunc_calls import weak_kind, weak_result

MANY = 8  # so many combinations of kinds are computed apart at most
# Python raises where NumPy goes on
RAISING = (np.true_divide, np.floor_divide, np.remainder, np.power, np.left_shift, np.right_shift)


class KindPlan:
    """One combination of kinds. python: whether Python computes; wants: the operands' dtypes; result: the spec of what
    it gives."""

    def __init__(self, ufunc, specs, python):
        keys = [s[1] for s in specs]
        self.python = python and all(s[0] == "weak" for s in specs)
        if self.python:
            kind = weak_result(keys, ufunc)
            work = WEAK_DTYPES[max([*keys, kind] if kind is not bool else keys, key=PYTHON_NUMBERS.index)]
            self.wants, self.result = (
                (WEAK_DTYPES[int] if work.kind == "b" and kind is int else work,) * len(keys),
                ("weak", kind),
            )
            return
        keys = [WEAK_DTYPES[bool] if k is bool else k for k in keys]
        self.wants, gives = loop(ufunc, tuple(keys))
        self.result = "strong", gives[0]


def plans(ufunc, inputs, python):
    """{kinds of the Mixed inputs: Plan}, with the inputs' operands; None where they are too many, or not so simple."""
    if rule_of(ufunc) is None or ufunc.nout != 1 or any(map(far, inputs)):
        return None
    tags = {}
    for m in mixed_in(inputs):
        if tags.setdefault(m.tag, m.kinds) != m.kinds:
            return None
    if np.prod([len(k) for k in tags.values()]) > MANY or any(
        type(x) in (list, tuple) and has_mixed(x) for x in inputs
    ):
        return None
    reads = [(None, None) if type(x) is Mixed else read(x) for x in inputs]
    own = [None if type(x) is Mixed else spec_of(x, key) for x, (_, key) in zip(inputs, reads)]
    found = {}
    for kinds in itertools.product(*tags.values()):
        taken = dict(zip(tags, kinds))
        specs = [spec or taken[x.tag] for x, spec in zip(inputs, own)]
        if not simple(ufunc, specs, python):
            return None
        try:
            found[kinds] = KindPlan(ufunc, specs, python)
        except TypeError:  # what one kind raises is said where it is computed for that kind alone
            return None
    return tags, reads, found


def spec_of(x, key):
    """(whether an operand's type is weak, as "weak" or "strong", its type); key: what `read` gives for it."""
    weak = weak_kind(x)
    return ("weak", weak) if weak else ("weak" if isinstance(key, type) else "strong", key)


def simple(ufunc, specs, python):
    """Whether a ufunc does with operands of such types what its loop does with operands of one dtype."""
    strong = [type for how, type in specs if how == "strong"]
    if ufunc in COMPARISONS and ("weak", int) in specs and any(type.kind in "iu" for type in strong):
        return False  # NumPy compares these exactly
    return not (python and strong and complex in [type for _, type in specs])


def common_operands(ufunc, inputs, python):
    """(the tags' kinds, the inputs as operands of one dtype each whatever their kinds, the plans); None where the kinds
    want different ones."""
    made = plans(ufunc, inputs, python)
    if made is None:
        return None
    tags, reads, found = made
    wants = next(iter(found.values())).wants
    ints = any(p.python and p.result == ("weak", int) for p in found.values())
    if any(p.wants != wants for p in found.values()) or ints and not all(p.python for p in found.values()):
        return None
    for x, want in zip(inputs, wants):
        if (
            type(x) is Mixed
            and want != x.type.dtype
            and (want.kind in "iu" or ("weak", int) in x.kinds and want.itemsize < 8)
        ):
            return None  # a Python int has to fit
    shape = broadcast_shapes([() if type(x) is Mixed else shape_of(v) for x, (v, _) in zip(inputs, reads)])
    values = [
        operand_as(cast_to(bring(x._value), want) if type(x) is Mixed else v, want, shape)
        for x, (v, _), want in zip(inputs, reads, wants)
    ]
    return tags, values, found


def checked_where(where, checks):
    """Have the program make checks where a truth holds; None: always, False: never."""
    if where is None:
        checks()
    elif where is not False:
        Traced.where_only(where, checks)


def meet(ufunc, inputs, python):
    """A ufunc, or with `python` the operator, on inputs of which some are Mixed."""
    made = common_operands(ufunc, inputs, python)
    results = made and {p.result for p in made[2].values()}
    if made is None or len({dtype_of(r) for r in results}) > 1:
        return Traced.apart(Traced.operators if python else ufunc, (ufunc, *inputs) if python else inputs)
    tags, values, found = made
    ways = {p.python for p in found.values()}
    where = (
        None
        if ways == {True}
        else of(tags, [kinds for kinds, p in found.items() if p.python])
        if True in ways and ufunc in RAISING
        else False
    )
    checked_where(where, lambda: exceptional.before(ufunc, [bring(v) for v in values]))
    value = rule_of(ufunc)(*values)
    checked_where(where, lambda: exceptional.after(ufunc, [bring(v) for v in values], bring(value)))
    if results == {("weak", int)}:
        overflow.check_overflow(ufunc, values, value)
    value = cast_to(value, dtype_of(next(iter(results))))
    if len(results) == 1:
        (kind, what), = results
        return wrap(value) if kind == "strong" else TracedScalar(value, what)
    first = next(m for m in inputs if type(m) is Mixed)
    return Mixed(value, retagged(tags, found), results, first.where, first.choice)


def of(tags, combinations):
    """Whether the tags are one of these combinations of kinds, as an operand."""
    found = None
    for kinds in combinations:
        tests = [OPS["eq"](bring(tag), kind_tag(kind)) for tag, kind in zip(tags, kinds)]
        test = tests[0]
        for t in tests[1:]:
            test = OPS["and"](test, t)
        found = test if found is None else OPS["or"](found, test)
    return found


def retagged(tags, found):
    """The tag of the result."""
    if len(tags) == 1 and all(kinds[0] == p.result for kinds, p in found.items()):
        return bring(next(iter(tags)))
    *some, (_, last) = found.items()
    tag = kind_tag(last.result)
    for kinds, p in reversed(some):
        if p.result != last.result or tag.__class__ is not kind_tag(last.result).__class__:
            tag = OPS["select"](of(tags, [kinds]), kind_tag(p.result), tag)
    return tag


def firm(ufunc, inputs):
    """The inputs with each Mixed number as the NumPy scalar that it comes to in this ufunc; None where that is not
    one."""
    made = common_operands(ufunc, inputs, False)
    if made is None or len({p.result for p in made[2].values()}) > 1:
        return None
    _, values, found = made
    plan = next(iter(found.values()))
    firm = [
        TracedScalar(cast_to(bring(x._value), want)) if type(x) is Mixed else x for x, want in zip(inputs, plan.wants)
    ]
    wants, gives = loop(ufunc, tuple([read(x)[1] for x in firm]))
    return firm if (wants, ("strong", gives[0])) == (plan.wants, plan.result) else None


def firmed_arguments(args, kwargs):
    """Arguments of a NumPy function, each Mixed number a NumPy scalar where promotion makes of it the same with all the
    others."""
    others = [dtype for x in (*args, *kwargs.values()) for dtype in dtypes(x)]
    change = lambda m: firmed(m, others)
    return replaced(args, change), dict(zip(kwargs, replaced(kwargs.values(), change)))


def firmed(m, others):
    wide = np.result_type(*(sample(m.kinds[0]),))
    alike = all(dtype_of(k) == wide for k in m.kinds)
    alike = alike and all(len({np.result_type(sample(k), d) for k in m.kinds}) == 1 for d in others)
    return TracedScalar(cast_to(bring(m._value), wide)) if alike else m


def sample(kind):
    """What stands for a kind in NumPy's promotion."""
    return kind[1](0) if kind[0] == "weak" else kind[1]


def dtypes(x):
    """The dtypes of the arrays and NumPy scalars in an argument."""
    if isinstance(x, list | tuple):
        return [d for i in x for d in dtypes(i)]
    if isinstance(x, TracedScalar):
        return [k[1] for k in x.kinds if k[0] == "strong"] if type(x) is Mixed else [] if x.weak else [x.type.dtype]
    return [x.dtype] if isinstance(x, TracedArray | np.ndarray | np.generic) and x.dtype.kind in "biufc" else []
