"""Which loops make trips that do not hang together: each works on a part of the carried arrays that is its own.

The proof, for each carried array: along one axis every access of a trip, in loops and branches within it too, is at one
index, a * counter + b with a != 0 and b the same in all trips, which lies within the array (an index beyond it would be
clamped, and meet another). So no trip reads or stores what another stores. Numbers may be added up (`TOTALS`), or be
the first of the trips' that is not 0, as what checks find is (`FIRST`).
"""

from ...ir.core import Lit
from ...ir.exactness import ONLY_EXACT
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, cond, groups, loop
from ...ir.sample import assume, assume_zero

PART, STORE, SLICE = OPS["dynamic_slice"], OPS["dynamic_update_slice"], OPS["slice"]
TOTALS = {OPS["add"]: "reduce_sum", OPS["mul"]: "reduce_prod", OPS["maximum"]: "reduce_max"}
FIRST = "first"  # p = select(c and p == 0, v, p)
SELECT, AND, EQ = OPS["select"], OPS["and"], OPS["eq"]
TOTALS |= {OPS["minimum"]: "reduce_min", OPS["and"]: "reduce_and", OPS["or"]: "reduce_or", OPS["xor"]: "reduce_xor"}


class Together(Exception):
    """A trip may need what another one leaves."""


def totals(known, body, carried, status=None, literals=False):
    """{position of a carried number: the reduction that it is} of a loop whose trips do not hang together, or None.

    known: `ir.affine.Affine` of the program around, which has been told of the counter and of the loop's operands;
    status: the position of a number that is known to be FIRST; literals: whether a number may be
    one literal behind all trips that change it, which is given then.
    """
    state = body.params[len(body.params) - carried :]
    try:
        number = lambda k, p: FIRST if k == status else number_total(body, p, body.results[k], literals)
        numbers = {k: number(k, p) for k, p in enumerate(state) if not p.type.shape}
        roots = {p: k for k, p in enumerate(state) if p.type.shape}
        accesses, local = {k: [] for k in roots.values()}, set(body.params)
        results = [k if p.type.shape else None for k, p in enumerate(state)]
        Accesses(known, accesses, local).function(body, roots, results)
        for k, found in accesses.items():
            if found and not any(apart(known, found, a, body.params[0], local) for a in range(state[k].type.ndim)):
                return None
    except Together:
        return None
    return numbers


def number_total(body, p, r, literals=False):
    """The reduction by which one number is carried, in loops and branches of the body too, or FIRST, None where it
    stays; Together if it is none of these."""
    users = [eqn for eqn in body.eqns if p in eqn.operands]
    if body.results.count(p) > (r is p):  # it is given away as something else
        raise Together
    if not users and (r is p or literals and isinstance(r, Lit) and p.type.kind in "iub"):
        return None if r is p else r
    if len(users) == 2 and is_first(body, users, p, r):
        return FIRST
    made, users = chosen_total(body, users, p, r)
    if len(users) != 1 or made not in users[0].results or users[0].operands.count(p) != 1:
        raise Together
    if any(r in eqn.operands for eqn in body.eqns) or body.results.count(r) != 1:
        raise Together
    if users[0].op in (loop, cond):
        return number_total_within(users[0], users[0].operands.index(p), users[0].results.index(made), literals)
    if users[0].op not in TOTALS:
        raise Together
    if p.type.kind == "c" and users[0].op is OPS["mul"]:  # 1 times infinity is not infinity
        raise Together
    if p.type.kind in "fc" and users[0].op in (OPS["add"], OPS["mul"]) and ONLY_EXACT.get():
        raise Together
    return OPS[TOTALS[users[0].op]]


def chosen_total(body, users, p, r):
    """-> (what an equation makes of p, [that equation]) where r is that or p, as a truth says, and nothing else hangs
    on either; else (r, users)."""
    for taken, chosen in (users, users[::-1]) if len(users) == 2 else ():
        made = taken.results[0]
        uses = sum(eqn.operands.count(made) for eqn in body.eqns) + body.results.count(made)
        picks = chosen.op is SELECT and chosen.results == (r,) and chosen.operands[0] is not p
        if taken.op in TOTALS and picks and chosen.operands.count(p) == uses == 1 and made in chosen.operands[1:]:
            return made, [taken]
    return r, users


def number_total_within(eqn, n, k, literals):
    """The reduction by which a loop or a choice makes its result k of its operand n alone."""
    if eqn.op is cond:
        branches = eqn.attrs["branches"] if n else ()
        return either_total([number_total(f, f.params[n - 1], f.results[k], literals) for f in branches])
    limit, fixed, state = groups(eqn.operands, **eqn.attrs)
    test, body, at = eqn.attrs["test"], eqn.attrs["body"], n - len(limit) - len(fixed)
    asked = [] if test is None or at != k else [test.params[len(test.params) - len(state) + k]]
    if at != k or any(p in (*test.results, *(x for e in test.eqns for x in e.operands)) for p in asked):
        raise Together
    return number_total(body, body.params[len(body.params) - len(state) + k], body.results[k], literals)


def either_total(found):
    """What a number is behind a choice, of what it is behind each branch."""
    different = [x for n, x in enumerate(found) if x is not None and x not in found[:n]]
    if len(different) > 1 or not found:
        raise Together
    return different[0] if different else None


def is_first(body, users, p, r):
    """Whether the two equations that read p make r the first number that is not 0, and nothing else hangs on p."""
    asked, chosen = users
    if chosen.op is not SELECT or chosen.results != (r,) or asked.op is not EQ or p.type.kind not in "iu":
        return False
    truth, v, other = chosen.operands
    zero = [x for x in asked.operands if x is not p]
    if other is not p or v is p or isinstance(truth, Lit):
        return False
    if len(zero) != 1 or not isinstance(zero[0], Lit) or zero[0].value != 0:
        return False
    (free,) = asked.results
    once = lambda x: sum(eqn.operands.count(x) for eqn in body.eqns) + body.results.count(x) == 1
    if not (once(r) and r in body.results and once(free) and once(truth)):
        return False
    return truth is free or truth.eqn is not None and truth.eqn.op is AND and free in truth.eqn.operands


class Accesses:
    """Notes the accesses to carried arrays: accesses[k] gets (starts, sizes, shape, whether it is a store) of each.

    local: values of a trip's.
    """

    def __init__(self, known, accesses, local):
        self.known, self.accesses, self.local = known, accesses, local

    def function(self, func, roots, results):
        """roots: {value: which array it is a state of}; results: which one each result must be, None for any number."""
        roots = dict(roots)
        for eqn in func.eqns:
            self.local.update(eqn.results)
            if eqn.op in (loop, cond):
                self.region(eqn, roots)
            elif eqn.op in (PART, STORE, SLICE) and eqn.operands[0] in roots:
                self.access(eqn, roots)
            elif any(x in roots for x in eqn.operands):
                raise Together
        for r, k in zip(func.results, results, strict=True):
            if roots.get(r) != k:
                raise Together

    def access(self, eqn, roots):
        x, *others = eqn.operands
        if any(y in roots for y in others):
            raise Together
        if eqn.op is STORE:
            starts, sizes = others[1:], others[0].type.shape
            roots[eqn.results[0]] = roots[x]
        elif eqn.op is PART:
            starts, sizes = others, eqn.attrs["sizes"]
        else:
            first, last = eqn.attrs["start"], eqn.attrs["stop"]
            starts, sizes = [Lit(n, COUNTER) for n in first], [b - a for a, b in zip(first, last)]
        self.accesses[roots[x]].append((tuple(starts), tuple(sizes), x.type.shape, eqn.op is STORE))

    def region(self, eqn, roots):
        known = self.known
        if eqn.op is cond:
            found, given = [roots.get(x) for x in self.chosen(eqn, roots)], eqn.operands[1:]
            for branch in eqn.attrs["branches"]:
                self.enter(branch, branch.params, given, roots, found)
            self.leave(eqn, roots, found)
            return
        limit, invariants, state = groups(eqn.operands, **eqn.attrs)
        bound = limit[0] if limit else None if eqn.attrs["trips"] is None else Lit(eqn.attrs["trips"], COUNTER)
        found = [roots.get(x) for x in state]
        for func, results in ((eqn.attrs["test"], [None]), (eqn.attrs["body"], found)):
            if func is not None:
                known.counter(func.params[0], bound)
                self.local.add(func.params[0])
                self.enter(func, func.params[1:], (*invariants, *state), roots, results, len(invariants))
        self.leave(eqn, roots, found)

    def chosen(self, eqn, roots):
        """For each result of a choice, the operand that is a state of the same array, or itself."""
        out = []
        for n, r in enumerate(eqn.results):
            same = None
            if r.type.shape:
                branch = eqn.attrs["branches"][0]
                inner = dict(zip(branch.params, eqn.operands[1:]))
                same = self.origin(branch.results[n], inner)
            out.append(r if same is None or same not in roots else same)
        return out

    def origin(self, x, inner):
        while x not in inner and not isinstance(x, Lit) and x.eqn is not None and x.eqn.op is STORE:
            x = x.eqn.operands[0]
        return inner.get(x) if not isinstance(x, Lit) else None

    def enter(self, func, params, given, roots, results, fixed=None):
        """fixed: how many of the parameters stay as they are; None for all."""
        own = {}
        for n, (p, x) in enumerate(zip(params, given, strict=True)):
            if x in roots:
                own[p] = roots[x]
            if fixed is None or n < fixed:
                self.known.same(p, x)
            self.local.add(p)
        self.function(func, own, results)

    def leave(self, eqn, roots, found):
        for r, k in zip(eqn.results, found, strict=True):
            if k is not None:
                roots[r] = k


def apart(known, accesses, axis, counter, local):
    """Whether all accesses are at one index of an axis, another one in each trip."""
    forms = []
    for starts, sizes, shape, _ in accesses:
        if sizes[axis] != 1:
            return False
        low, high = known.interval(starts[axis])
        if low is None or high is None or low < 0 or high >= shape[axis]:
            return False
        assume(1 - sizes[axis], low, shape[axis] - 1 - high)
        forms.append(known.form(starts[axis]))
    terms, _ = forms[0]
    if not all(is_one_form(form, forms[0]) for form in forms[1:]) or assume_zero(terms.get(counter, 0)):
        return False
    return all(name is counter or name not in local for name in terms)


def is_one_form(form, other):
    """Whether two forms are one, which they then are for sizes that change as well."""
    (terms, constant), (others, other_constant) = form, other
    if form != other:
        return False
    for name, n in terms.items():
        assume_zero(n - others[name])
    return assume_zero(constant - other_constant)
