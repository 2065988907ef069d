"""What a `cond` gives back: every place, array and way out of its two sides, as one that the program chooses."""

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common import pytree
from ..common.errors import IntegerOverflow, UnsupportedError, message
from ..extents.bounded import BoundedArray
from ..extents.rooms import as_traced, differ, has_lengths, in_room, met
from ..guards.container_phis import candidates_of, candidates_within, stand_for
from ..guards.state import UNBOUND, own
from ..rewriter import completion
from ..rewriter.completion import Completion
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.capturing import look_ahead
from ..values.mixed import Mixed
from ..values.poison import Poison
from ..values.speculate import choices
from ..values.storage import Storage, current_trace, memories
from ..values.texts import TracedText
from ..values.variant import Variant, is_within, within_reach
from . import merge
from .array_object_phis import NOTHING, InstancePhis, arrays_of_classes, is_instance
from .escape import Leaving, handle, new, shadow, strides
from .left import as_left
from .object_phis import are_alike, is_object, is_poison, parts_of, phi
from .variant_phis import VariantPhis, lone


class Merger(InstancePhis, VariantPhis):
    """Collects the results of a `cond`: rows of (value in a, value in b, name); plans make objects of its results.

    test: the outer value that chooses a.
    """

    def __init__(self, a, b, test, where):
        self.a, self.b, self.test, self.where = a, b, test, where
        self.rows, self.pairs, self.seen = [], {}, {}
        self.leaving = Leaving(a, self.one(0)), Leaving(b, self.one(1))
        self.containers, self.owners, self.torn = {}, {}, set()

    def one(self, side):
        """How rows of one side alone are made."""

        def row(value, name):
            other = Lit(0, value.type)
            return self.row(*((other, value) if side else (value, other)), name)

        return row

    def row(self, x, y, name):
        for at, (p, q, _) in enumerate(self.rows):
            if p is x and q is y:  # one choice, so that what is one value on both sides is one after them
                return at
        self.rows.append((x, y, name))
        return len(self.rows) - 1

    def close(self):
        """Let go of all it holds."""
        for part in (*self.leaving, self):
            vars(part).clear()

    # -- values ------------------------------------------------------------------------------------
    def place(self, x, y, name):
        """A plan for a place that holds x after a, y after b: a function of the results."""
        return self.value(NOTHING if self.a.thrown else x, NOTHING if self.b.thrown else y, name)

    def value(self, x, y, name):
        if x is NOTHING or y is NOTHING:
            return self.half(x, y, name)
        bad = next((v for v in (x, y) if is_poison(v)), None)
        if bad is None or x is y:
            return self.met(x, y, name) or self.apart(x, y, name)
        if bad.stands:
            return self.unmerged(name, "is a list that grows on one side only of the choice")
        if all(type(v) is Variant or not is_poison(v) for v in (x, y)) and self.are_within_reach(x, y):
            plan = self.of_variants(x, y, name)
            if plan is not None:
                return plan
        if type(bad) in (Poison, Variant):
            look_ahead(bad.choice)
        return lambda out: Poison(bad.reason, bad.choice) if type(bad) is Variant else bad

    def met(self, x, y, name):
        """A plan for one value that stands for both, None where none can."""
        if merge.equal(x, y):
            return lambda out: x
        if x is UNBOUND or y is UNBOUND:
            return None
        if are_alike(x, y, self.a, self.b):
            return self.objects(x, y, name)
        if arrays_of_classes(x, y) and (plan := self.of_classes(x, y, name)) is not None:
            return plan
        left = as_left(x, self.a), as_left(y, self.b)
        (xs, tree), (ys, other) = (pytree.flatten(v, has_lengths) for v in left)
        # of keys that are stored in another order
        if tree == other and [*pytree.orders(left[0])] == [*pytree.orders(left[1])]:
            plans = [self.leaf(p, q, name) for p, q in zip(xs, ys)]
            if None not in plans:
                return self.built(tree, plans, x, y, name)
        if type(x) is type(y) is tuple and len(x) == len(y):
            plans = [self.value(*pair, f"{name}[{n}]") for n, pair in enumerate(zip(x, y))]
            return lambda out: tuple([plan(out) for plan in plans])
        return None

    def half(self, x, y, name):
        """A plan for what one side only has to give."""
        side = int(x is NOTHING)
        x = y if side else x
        if type(x) is Variant and not is_within(x, current_trace()) and self.are_within_reach(*lone(x, side)):
            plan = self.of_variants(*lone(x, side), name)
            if plan is not None:
                return plan
        if x is NOTHING or x is UNBOUND or is_poison(x):
            return lambda out: None if x is NOTHING else within_reach(x)
        if is_object(x):
            return self.objects(*lone(x, side), name)
        if is_instance(x):
            return self.lone_instance(x, side, name)
        left = as_left(x, self.b if side else self.a)
        leaves, tree = pytree.flatten(left)
        if left is x and not any(isinstance(v, Traced | TracedText) or is_instance(v) for v in leaves):
            return lambda out: x
        plans = [self.alone(v, side, name) for v in leaves]
        return self.built(tree, plans, *lone(x, side), name)

    def objects(self, x, y, name):
        """A plan for an object that the trace has made, attribute by attribute."""
        held = [None if v is NOTHING else parts_of(v, run) for v, run in ((x, self.a), (y, self.b))]
        kept, plans = next(h for h in held if h is not None), {}
        for key in kept:
            p, q = (NOTHING if h is None else h[key] for h in held)
            plans[key] = self.value(p, q, f"{name}.{key}")
        cache = self.containers.setdefault((id(x), id(y), "object"), [])
        given = [v for v in (x, y) if v is not NOTHING]

        def plan(out):
            if not cache:
                cache.append(phi({key: p(out) for key, p in plans.items()}, *given))
            return cache[0]

        return plan

    def built(self, tree, plans, x, y, name):
        """A plan for containers around leaves. Lists and dicts that several places hold stay one and the same."""
        if pytree.is_leaf(tree):
            return plans[0]
        kept = x if x is not NOTHING else y
        order, key = pytree.key_order(kept), (id(x), id(y))
        sides = [(v, run) for v, run in ((x, self.a), (y, self.b)) if v is not NOTHING]
        for v, run in sides:
            self.claim(v, run, key)
        cache = self.containers.setdefault(key, [])
        candidates = [(run, candidates_within(kept, v, run.trace)) for v, run in sides]

        def plan(out):
            if not cache:
                cache.append(pytree.unflatten(tree, [p(out) for p in plans], order))
                for made in merge.containers(cache[0]):
                    own(made)
                for run, found in candidates:
                    stand_for(cache[0], [{at: c for at, c in of.items() if self.is_seen(run, at)} for of in found])
            return cache[0]

        return plan

    def claim(self, x, run, key):
        """Note who holds the lists and dicts in x; those that are seen elsewhere too are torn."""
        for c in merge.containers(x):
            for at in candidates_of(c, run.trace):
                mark = id(run), at
                if at not in run.trace.region.owned or self.owners.setdefault(mark, key) != key:
                    self.torn.add(mark)

    def is_seen(self, run, at):
        """Whether a list or dict that one side leaves is seen elsewhere too."""
        return (id(run), at) in self.torn

    def unmerged(self, name, text):
        look_ahead()
        return lambda out: Poison(f"{name} {text} at {self.where}")

    def alone(self, x, side, name):
        """A plan for a leaf that one side only has."""
        if isinstance(x, TracedArray):
            return self.array(*lone(x, side), name)
        if type(x) is TracedText:
            leaves, tree = pytree.flatten(x.values)
            plans, order = [self.alone(v, side, name) for v in leaves], pytree.key_order(x.values)
            return lambda out: TracedText(x.make, pytree.unflatten(tree, [p(out) for p in plans], order), x.template)
        if is_instance(x):
            return self.lone_instance(x, side, name)
        if not isinstance(x, TracedScalar):
            return lambda out: x
        value = self.leaving[side].value(x._value)
        if type(x) is Mixed:
            tag, s, where = self.leaving[side].value(x.tag), merge.spec(x), x.where
            return lambda out: merge.mixed(value(out), tag(out), s, where)
        return lambda out: type(x)(value(out), x.weak)

    def leaf(self, x, y, name):
        if merge.equal(x, y):
            return lambda out: x
        if type(x) is type(y) is bool:
            return lambda out: TracedScalar(self.truth(x), bool)
        if arrays_of_classes(x, y):
            return self.of_classes(x, y, name)
        if BoundedArray in (type(x), type(y)) or differ(x, y):
            return self.sized(x, y, name)
        s = merge.join(merge.spec(x), merge.spec(y), x, y)
        if s is None:
            return None
        if s[0] == "mixed":
            return self.mixed(x, y, s, name)
        if s[0] == "array":
            if (
                isinstance(x, TracedArray)
                and isinstance(y, TracedArray)
                and x.writeable != y.writeable
                and not (says_writeable(x) and says_writeable(y))
            ):
                return None
            return self.array(x, y, name)
        at = self.row(self.operand(self.a, x, s), self.operand(self.b, y, s), name)
        return lambda out: merge.made(out[at], s)

    def truth(self, yes):
        """The test, or that it does not hold, as an operand of the present trace."""
        value = current_trace().bring(self.test)
        return value if yes else OPS["not"](value)

    def sized(self, x, y, name):
        """A plan for an array of which data decide how long it is."""
        if differ(x, y):
            if by_value_here():  # two traces of arrays whose lengths are known
                return None
            (shape, kinds), pair = met(x, y), []
            x, y = as_traced(x), as_traced(y)
            for run, leaf in ((self.a, x), (self.b, y)):
                with run.ending():
                    pair.append(in_room(leaf, shape, kinds))
            x, y = pair
        (xs, tree), (ys, other) = pytree.flatten(x), pytree.flatten(y)
        if tree != other:
            return None
        plans = [self.leaf(p, q, name) for p, q in zip(xs, ys)]
        return None if None in plans else lambda out: pytree.unflatten(tree, [p(out) for p in plans])

    def mixed(self, x, y, s, name):
        """A plan for a number of several kinds: it, and which of them it is."""
        values, tags = [], []
        for run, leaf in ((self.a, x), (self.b, y)):
            with run.ending():
                exact = merge.whole(leaf) if merge.int_beyond_float(leaf, s) else None
                values.append(merge.widened(leaf, s))
                tags.append(merge.tag_of(leaf))
            if exact is not None:
                run.check(
                    exact,
                    IntegerOverflow,
                    message(merge.TOO_LARGE, self.where, "Make it a float on both sides: float(n)."),
                )
        at = self.row(*values, name)
        if not all(isinstance(tag, Lit) for tag in tags):
            tag = self.row(*tags, None)
            return lambda out: merge.mixed(out[at], out[tag], s, self.where)
        test, where = self.test, self.where
        if tags[0].value == tags[1].value:
            return lambda out: merge.mixed(out[at], tags[0], s, where)
        return lambda out: merge.mixed(out[at], OPS["select"](current_trace().bring(test), *tags), s, where)

    def operand(self, run, x, s):
        with run.ending():
            return run.array(x) if isinstance(x, TracedArray) else merge.operand(x, s)

    # -- arrays ------------------------------------------------------------------------------------
    def array(self, x, y, name):
        """A plan for an array: what it is made of is decided in `finish`, when all that share its memory are known."""
        sides = [None if leaf is NOTHING else way.choices(leaf) for way, leaf in zip(self.leaving, (x, y))]
        key = tuple(
            [None if side is None else tuple([(id(t), id(s), tuple(map(id, c))) for t, s, c in side]) for side in sides]
        )
        for n, side in enumerate(sides):
            for m in [m for _, s, _ in side or () for m in memories(s)]:
                self.seen.setdefault((n, m), set()).add(key)
        found = self.pairs.setdefault(key, [sides, (x, y), name, None, None])

        def plan(out):
            if found[4] is None:
                found[4] = found[3](out)
            x = found[4]
            return TracedArray(x.storage, x.chain, x.type, x._shadow)

        return plan

    def finish(self):
        """Decide which results the arrays need."""
        for found in self.pairs.values():
            found[3] = self.made(*found[:3])

    def private(self, n, side):
        """Whether memory was made inside, and one array alone shows it: its elements are all there is to it."""
        run = self.leaving[n].run
        return all(run.owns(s) and type(s) is Storage and len(self.seen[n, s]) == 1 for _, s, _ in side)

    def made(self, sides, leaves, name):
        n = int(sides[0] is None)
        first, s = leaves[n], merge.spec(leaves[n])
        kind = merge.type_of(s)
        closed = [isinstance(leaf, TracedArray) and not leaf.writeable for leaf in leaves]
        readonly = closed[n]
        own = [side is not None and self.private(k, side) for k, side in enumerate(sides)]
        if None in sides:
            if not own[n]:
                parts = self.leaving[n].parts(sides[n], name)
                return lambda out: handle(resolved(parts, out), kind, seen=shadow(first))
            at = self.one(n)(self.operand(self.leaving[n].run, first, s), name)
            return lambda out: TracedArray(new(out[at], [first], readonly), (), kind, shadow(first))
        mixed = strides(leaves[0]) != strides(leaves[1])
        seen = None if mixed else shadow(leaves[int(closed[0])])
        at = self.row(self.operand(self.a, leaves[0], s), self.operand(self.b, leaves[1], s), name)
        if all(own) and closed[0] == closed[1]:
            mixed = mixed and len(kind.shape) > 1
            return lambda out: handle([(None, new(out[at], leaves, readonly), ())], kind, mixed=mixed, seen=seen)
        parts = [None if mine else way.parts(side, name) for mine, way, side in zip(own, self.leaving, sides)]

        def plan(out):
            fresh = zip(parts, leaves, closed)
            made = [
                [(None, new(out[at], [leaf], shut), ())] if p is None else resolved(p, out) for p, leaf, shut in fresh
            ]
            bring, test, tests = current_trace().bring, self.test, [[t for t, _, _ in side] for side in made]
            for n, side in enumerate(tests):  # each side's own tests, where that side was taken
                here = bring(test) if n == 0 else OPS["not"](bring(test))
                for k, t in enumerate(side[:-1]):
                    side[k] = OPS["and"](here, bring(t))
            first = bring(test)
            for t in map(bring, [t for t, _, _ in made[0][:-1]]):
                first = OPS["and"](first, OPS["not"](t))
            tests[0][-1] = first
            choices = [(t, m, chain) for side, where in zip(made, tests) for t, (_, m, chain) in zip(where, side)]
            return handle(choices, kind, out[at], mixed, seen)

        return plan

    # -- ways out ----------------------------------------------------------------------------------
    def code(self, x, y):
        """A plan for how the two bodies ended."""
        if self.a.thrown and self.b.thrown:
            return lambda out: completion.THROWN
        if self.a.thrown or self.b.thrown:
            x = y if self.a.thrown else x
            if x is None or not (x.open or completion.RETURNS in x.may):
                return lambda out: x
            side = int(self.a.thrown)
            at, value = self.value(*lone(x.status, side), None), self.value(*lone(x.value, side), None)
            return lambda out: Completion(at(out), x.may, value(out))
        if x is y or (
            x is not None and y is not None and x.may == y.may and not x.open and completion.RETURNS not in x.may
        ):
            return lambda out: x
        may = completion.may(x) | completion.may(y)
        returns = [c is not None and completion.RETURNS in c.may for c in (x, y)]
        status = lambda c: completion.FALLS if c is None else c.status
        at = self.value(status(x), status(y), "the way out")
        value = self.value(x.value if returns[0] else NOTHING, y.value if returns[1] else NOTHING, "what is returned")

        def plan(out):
            found = value(out)
            if all(returns) and is_poison(found) and type(found) is not Variant:
                raise UnsupportedError(
                    message(found.reason, self.where, "Return values of one structure, shape and type on all paths.")
                )
            return Completion(at(out), may, found)

        return plan


def by_value_here():
    """Whether a choice is made by value where its sides do not meet: nothing has been printed or drawn by then."""
    made = choices()
    acted = made is None or made.acted is not None or current_trace().outside.draws.call is not None
    return not acted and made.open is not None


def says_writeable(leaf):
    """Whether an array's memory says by itself whether it may be written."""
    return leaf.storage.readonly or leaf.writeable


def resolved(parts, out):
    return [(test(out), memory(out), chain(out)) for test, memory, chain in parts]
