"""Programs with flags: whether somewhere in them, regions included, a number is born that NumPy would tell of.

An equation bears an *invalid* number where its result is NaN and no operand is; an infinity where its result is
infinite and all operands are finite: by *division* where an operand is at a pole of the op, else by *overflow*.
Elementwise ops are asked element by element, reductions along their axes, all others as a whole.
"""

from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, TRUTH
from ..guards.float_errors import risky

NO = Lit(False, TRUTH)
POLES = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0, "rsqrt": 0.0}  # op -> where it has one
BOTH_POLES = {"atanh", "erf_inv"}  # at -1 and 1


class BirthFlags:
    """Makes programs that tell of `words`. key(eqn, word): which of the `count` flags tells of it, None: none does."""

    def __init__(self, words, count=1, key=None):
        self.words, self.count, self.key = words, count, key or (lambda eqn, word: None if is_quiet(eqn, word) else 0)

    def program(self, func):
        """`func` with its flags behind the results."""
        return self.region(func, func.name)

    def region(self, func, name, more=(), after=None):
        """The same of a region, with further parameters of the types `more`. after(the parameters, the results, the
        flags): the results in their place."""
        with Builder(name) as build:
            params = [build.param(p.type, p.hint) for p in func.params]
            extra = [build.param(t) for t in more]
            results, flags = self.appended(build, func, dict(zip(func.params, params, strict=True)))
            out = [*results, *flags] if after is None else after([*params, *extra], results, flags)
        return build.finish(out)

    def appended(self, build, func, env):
        """Append `func`, its parameters in `env`, and what tells of births -> (results, flags). Masks of one shape are
        joined before they are asked: that is one pass over all that is computed."""
        flags, masks = [NO] * self.count, {}
        for eqn in func.eqns:
            build.source = eqn.source
            if eqn.op.name in INSIDE:
                out = INSIDE[eqn.op.name](self, tuple([env.get(x, x) for x in eqn.operands]), eqn.attrs)
                for r, new in zip(eqn.results, out, strict=False):
                    env[r] = new
                    new.hint = r.hint
                flags = list(map(one_or_other, flags, out[len(eqn.results) :]))
                continue
            build.replay(eqn, env)
            xs, results = ([env.get(x, x) for x in values] for values in (eqn.operands, eqn.results))
            for word, _, mask in births(eqn, xs, results, self.words):
                place = self.key(eqn, word), mask.type.shape
                masks[place] = OPS["or"](masks[place], mask) if place in masks else mask
        build.source = None
        for (k, _), mask in masks.items():
            if k is not None:
                flags[k] = one_or_other(flags[k], anywhere(mask))
        return [env.get(r, r) for r in func.results], flags

    def cond(self, operands, attrs):
        return OPS["cond"](*operands, branches=tuple([self.region(b, b.name) for b in attrs["branches"]]))

    def call(self, operands, attrs):
        return OPS["call"](*operands, body=self.region(attrs["body"], "call"), name=attrs["name"])

    def apart(self, operands, attrs):
        return OPS["apart"](*operands, body=self.region(attrs["body"], "apart"))

    def map(self, operands, attrs):
        body = self.region(attrs["body"], attrs["body"].name)
        out = OPS["map"](*operands, body=body, mapped=attrs["mapped"], size=attrs["size"])
        count = len(out) - self.count
        return (*out[:count], *(anywhere(flag) for flag in out[count:]))

    def loop(self, operands, attrs):
        more = (TRUTH,) * self.count
        once = lambda params, results, flags: [*results, *map(one_or_other, params[len(params) - self.count :], flags)]
        body = self.region(attrs["body"], attrs["body"].name, more, once)
        test = attrs["test"] and with_unread(attrs["test"], more)
        changed = {**attrs, "body": body, "test": test, "carried": attrs["carried"] + self.count}
        return OPS["loop"](*operands, *[NO] * self.count, **changed)

    def first_trip(self, eqn):
        """A program of a loop: its operands -> the first trip in which the first flag is raised, -1 if none is."""

        def once(params, results, flags):
            none = OPS["lt"](params[-1], Lit(0, COUNTER))
            return [*results, OPS["select"](OPS["and"](none, flags[0]), params[0], params[-1])]

        attrs = eqn.attrs
        body = self.region(attrs["body"], "trip", (COUNTER,), once)
        test = attrs["test"] and with_unread(attrs["test"], (COUNTER,))
        with Builder("first") as build:
            given = [build.param(x.type) for x in eqn.operands]
            changed = {**attrs, "body": body, "test": test, "carried": attrs["carried"] + 1}
            out = OPS["loop"](*given, Lit(-1, COUNTER), **changed)
        return build.finish(out[-1:])


INSIDE = {"cond": BirthFlags.cond, "call": BirthFlags.call, "apart": BirthFlags.apart}
INSIDE |= {"map": BirthFlags.map, "loop": BirthFlags.loop}


def is_quiet(eqn, word):
    """Whether nobody is to hear of a word where an equation stands, within an `np.errstate` of the user's."""
    return eqn.source is not None and word in eqn.source.quiet


def with_unread(func, types):
    """`func` with further parameters that it does not read."""
    with Builder(func.name) as build:
        params = [build.param(p.type, p.hint) for p in func.params]
        for t in types:
            build.param(t)
        return build.finish(build.inline(func, params))


def one_or_other(a, b):
    if a is NO or b is NO:
        return b if a is NO else a
    return OPS["or"](a, b)


def anywhere(x):
    """Whether a mask holds at all."""
    return OPS["reduce_or"](x, axes=tuple(range(x.type.ndim))) if x.type.shape else x


def is_nan(x):
    return OPS["ne"](x, x)


def is_infinite(x):
    return OPS["and"](OPS["eq"](x, x), is_unbounded(x))


def is_unbounded(x):
    """Whether x is an infinity or NaN."""
    return OPS["not"](OPS["is_finite"](x))


IR_TESTS = {"nan": is_nan, "inf": is_infinite}  # key of `words.REACHING` -> the same test, of a traced value


def births(eqn, xs, results, words):
    """[(word, which result, a mask of where)] of what an equation may bear; the mask is a bool[] where its op is asked
    as a whole."""
    if not risky(eqn):
        return
    if eqn.op.name == "cast" and results[0].type.kind in "iu" and xs[0].type.kind == "f" and "invalid" in words:
        yield "invalid", 0, is_unbounded(xs[0])
    if eqn.op.name in ("quotient", "rem") and xs[1].type.kind in "iu" and "divide" in words:
        yield "divide", 0, OPS["eq"](xs[1], Lit(0, xs[1].type))
    for k, r in enumerate(results):
        if not r.type.size or r.type.kind not in "fc":
            continue
        if "invalid" in words:
            yield "invalid", k, born(eqn, xs, r, is_nan, is_nan)
        if "divide" in words or "overflow" in words:
            infinite, pole = born(eqn, xs, r, is_infinite, is_unbounded), at_pole(eqn, xs)
            if pole is not None and "divide" in words:
                yield "divide", k, OPS["and"](infinite, pole)
            if "overflow" in words:
                yield "overflow", k, infinite if pole is None else OPS["and"](infinite, OPS["not"](pole))


def born(eqn, xs, r, test, before):
    """Where a result passes a test, and no operand it is made of that of `before`."""
    floats = [x for x in xs if x.type.kind in "fc" and x.type.size]
    if "elementwise" in eqn.op.traits:
        bad, asked = test(r), [before(x) for x in floats]
    elif "reduction" in eqn.op.traits:
        bad, asked = test(r), [OPS["reduce_or"](before(x), axes=eqn.attrs["axes"]) for x in floats]
    else:
        bad, asked = anywhere(test(r)), [anywhere(before(x)) for x in floats]
    for mask in asked:
        bad = OPS["and"](bad, OPS["not"](mask))
    return bad


def at_pole(eqn, xs):
    """Where the operands of an elementwise op are at a pole of it; None where it has none."""
    name = eqn.op.name
    if name == "div" or name == "integer_pow" and eqn.attrs["n"] < 0:
        return OPS["eq"](xs[-1], Lit(0, xs[-1].type))
    if name == "pow":
        return OPS["eq"](xs[0], Lit(0, xs[0].type))
    if name in POLES:
        return OPS["eq"](xs[0], Lit(POLES[name], xs[0].type))
    if name in BOTH_POLES and xs[0].type.kind == "f":
        return OPS["eq"](OPS["abs"](xs[0]), Lit(1, xs[0].type))
    return None
