"""One generated function of a program for all sizes of its arguments.

The function of a version (`numpy_call.py`) is made at several samples, each for any size
(`backends/numpy/any_size.py`), and what they are made of is compared, the syntax tree node by node and each object that
it names: an int that differs is a `Dim` of the names of the sizes, and stands so in the one function. Whatever differs
otherwise is `Unalike`, and there is no such function.

    def call(a0, a1):
        if not (a0.ndim == 1 and (size_n := len(a0)) > 1 and size_n <= 101 and a1.shape == (size_n, 64)): return MISS
        return a1[:size_n - 1] * np.arange(size_n - 1)[:, None]

It does what the functions of the versions do: it says MISS where a call is another's, and what arguments are left with
is written last.
"""

import ast
import copy
import itertools
import math
from collections.abc import Mapping

import numpy as np

from ...backends.native import SampledAgain, SampledNest
from ...backends.numpy import fused, has_statements, is_loop_free
from ...ir.forms import Forms
from ...ir.passes.widen import has_small
from ...ir.sample import Decisions, Unalike, deciding, of_sample
from ...ir.syntax import compiled, fill_places, nodes_of, parse
from ..guards.guard import Read
from .numpy_call import finished
from .numpy_function import NumPyCall, says_miss
from .sized_objects import SizedObjects, same_object
from .sized_tree import code_filled, common_tree, is_sized, matches, sign_folded, sizes_renamed

# which of two sizes is larger: signs of differences, and what says so
ORDERS = (({1}, ">"), ({-1}, "<"), ({0}, "=="), ({0, 1}, ">="), ({0, -1}, "<="), ({1, -1}, "!="))
CALL, AGAIN = "function", "again"
HELD_OUT = 4  # bound: samples from which the last one is none that the expressions are found by, but checks them


def size_free(versions, types, samples, where, tests=(), form=finished):
    """The `NumPyCall` that answers the calls of all sizes for which the tests hold. See `SizeFree`."""
    return SizeFree(versions, types, samples, where, form).call(tests)


class SizeFree:
    """The function of a program for all sizes; Unalike where there is none. It takes the leaves of a call and behind
    them `inputs`, what all versions take in from outside.

    versions: Specialisations of one program, one at each sample: name of a size -> int; types: the Python types of the
    leaves of a call, None where they are not told before; where: name -> (place of a leaf in the call, axis) that has
    this size, or as much more or less in all samples; form: `finished` or `raw`; nests: whether straight lines are to
    be machine code, as loops are, which takes as long to compile as it does at one size.
    """

    def __init__(self, versions, types, samples: list[Mapping[str, int]], where, form=finished, nests=False):
        self.types, self.where, self.form, self.in_nests = list(types), dict(where), form, nests
        self.names = {name: f"size_{name}" for name in self.where}
        self.inputs = versions[0].captured.inputs
        self.more = {name: size_at(versions[0], at) - samples[0][name] for name, at in self.where.items()}
        self.ranks = {leaf: versions[0].func.params[leaf].type.ndim for leaf, _ in self.where.values()}
        self.decisions, direct = None, {}  # those of a middle sample are followed by all
        for k in middle_first(samples):
            direct[k] = _Parts(self.direct(versions[k], samples[k]))
        direct = [direct[k] for k in range(len(samples))]
        self.samples = list(map(dict, samples))
        held_out = len(samples) >= HELD_OUT
        known = len(samples) - held_out
        self.merge(direct[:known], samples[:known])
        for parts, sample in zip(direct, samples):
            if not self.is_for(parts, sample):
                raise Unalike(f"what is made for {dict(sample)} is not what all sizes have in common")

    def direct(self, version, sample):
        """The function of one version, made as for any size."""
        for name, at in self.where.items():
            if size_at(version, at) != sample[name] + self.more[name]:
                raise ValueError(f"argument {at[0]} has the size {size_at(version, at)} where {name} is {sample[name]}")
        if not same_inputs(self.inputs, version.captured.inputs):
            raise Unalike("arrays made or read outside of the program differ between sizes")
        if version.effects or has_small(version.func):
            raise Unalike("it acts on the outside, or has floats that NumPy computes otherwise")
        with of_sample(sample), deciding(Decisions(self.decisions)) as log:
            alone = copy.copy(version)  # what it takes in comes behind the leaves, wherever it does in a set
            alone.places = range(len(version.func.params))
            alone.decided = self.in_nests and fused(version.decided) or version.decided
            if not is_loop_free(alone.decided, has_statements):
                raise Unalike("a part of it is no call of NumPy's")
            made = self.form(alone, self.types)
        log.finish()
        self.decisions = log.made
        if made is None:
            raise Unalike("a call does more than compute")
        return made

    def merge(self, parts, samples):
        first = parts[0]
        self.reads, self.stores, self.file = first.call.reads, first.call.stores, first.call.call.__code__
        self.silent = all(p.call.silent for p in parts)
        forms = Forms(samples)
        self.tree = common_tree([sign_folded(first.tree), *(p.tree for p in parts[1:])], forms)
        # of names: objects, nests of all sizes, templates of objects, and of arrays that are made once a call
        self.space, self.nests, self.objects, self.made_once = {}, {}, {}, {}
        for p in parts[1:]:
            if not same_places(first.call, p.call):
                raise Unalike("other places are read or stored into")
        if any(p.names != first.names for p in parts):
            raise Unalike("other objects are named")
        self.space = {name: first.space[name] for name in first.names if self.stays(name, parts)}
        self.nests = sized_nests(parts, samples)
        held = SizedObjects(forms, self.space, {n.id for n in nodes_of(self.tree) if isinstance(n, ast.Name)})
        self.space |= {"ndarray": np.ndarray, "math": math, "np": np}
        for name in sorted(first.names - self.space.keys() - self.nests.keys()):
            recipes = [p.recipes.get(name) for p in parts]
            if None not in recipes:
                self.made_once[name] = common_tree([sign_folded(recipes[0]), *recipes[1:]], forms)
            elif any(recipes):
                raise Unalike(f"an array of its NumPy, {name}, is made once at one size alone")
            else:
                self.objects[name] = held.form([p.space[name] for p in parts], name)
        inside = {n.id for t in self.made_once.values() for n in nodes_of(t) if isinstance(n, ast.Name)}
        for name in inside & first.space.keys() - self.space.keys():
            if not self.stays(name, parts):
                raise Unalike(f"an array of its NumPy, {name}, is not the same at all sizes")
            self.space[name] = first.space[name]

    def stays(self, name, parts):
        return name not in parts[0].recipes and all(same_object(parts[0].space[name], p.space[name]) for p in parts[1:])

    # -- a sample --------------------------------------------------------------------------------------
    def agrees(self, version, sample):
        """Whether what is made of a version of the program at one more sample is what this function is there: `call`
        gives one that serves the sizes up to there as well."""
        try:
            same = self.is_for(_Parts(self.direct(version, sample)), sample)
        except Unalike:
            return False
        self.samples += [dict(sample)] if same else []
        return same

    def is_for(self, parts, sample):
        told = self.nests.keys() | self.objects.keys() | self.made_once.keys()
        if parts.names - self.space.keys() != told:
            return False
        if not all(one.extended(parts.space[name], sample) for name, (one, way) in self.nests.items() if way == CALL):
            return False
        if not matches(self.tree, parts.tree, sample) or parts.call.silent < self.silent:
            return False
        if not all(same_object(self.space[name], parts.space[name]) for name in parts.names & self.space.keys()):
            return False
        recipes = parts.recipes
        if not all(name in recipes and matches(t, recipes[name], sample) for name, t in self.made_once.items()):
            return False
        made = {name: self.evaluated(t, sample) for name, t in self.objects.items()}
        return all(same_object(x, parts.space[name]) for name, x in made.items()) and same_places(self, parts.call)

    def evaluated(self, template, sample):
        """What an expression gives at a sample."""
        tree = code_filled(template, self.names, self.objects)
        code = compiled(fill_places(ast.Expression(tree)), "<wengert sizes>", "eval")
        made = eval(code, {**self.space, **{self.names[n]: k for n, k in sample.items()}})
        return np.array(made, order="C") if isinstance(made, np.ndarray) else made

    # -- the function ----------------------------------------------------------------------------------
    def call(self, tests=()):
        """The `NumPyCall` for the calls of which these conditions on the names hold as well."""
        function = code_filled(self.tree, self.names, self.objects)
        head = function.body[0]
        if not says_miss(head):
            raise Unalike("nothing is asked of the arguments")
        asked = head.test.operand
        asked = asked.values if isinstance(asked, ast.BoolOp) and isinstance(asked.op, ast.And) else [asked]
        bound = [tree_of(text) for text in self.bindings()]
        bound += [sizes_renamed(text, self.names) for text in [*self.taken_for_granted(), *tests]]
        told = set(map(ast.unparse, bound)) | self.implied()
        head.test.operand = ast.BoolOp(ast.And(), [*bound, *(t for t in asked if ast.unparse(t) not in told)])
        sized = {name: t for name, t in self.made_once.items() if is_sized(t)}
        lines = [
            ast.Assign([ast.Name(name, ast.Store())], code_filled(t, self.names, self.objects))
            for name, t in sized.items()
        ]
        function.body[1:1] = lines
        fill_places(function)
        space = self.space | {name: getattr(one, way) for name, (one, way) in self.nests.items()}
        space |= {name: self.evaluated(t, {}) for name, t in self.made_once.items() if name not in sized}
        with np.errstate(all="ignore"):
            exec(compiled(ast.Module([function], []), self.file.co_filename, "exec"), space)
        call = space[function.name]
        call.__code__ = call.__code__.replace(co_name=self.file.co_name, co_qualname=self.file.co_qualname)
        return NumPyCall(call, self.silent and not lines, function, self.reads, self.stores)

    def bindings(self):
        """Conditions that give the sizes their names, and say that they lie among the samples."""
        texts = []
        for leaf, rank in self.ranks.items():
            known = self.types[leaf] if leaf < len(self.types) else None
            texts += [] if known is np.ndarray else [f"type(a{leaf}) is ndarray"]
            texts.append(f"a{leaf}.ndim == {rank}")
            for name, (of, axis) in self.where.items():
                if of == leaf:
                    text = f"len(a{leaf})" if rank == 1 else f"a{leaf}.shape[{axis}]"
                    text += f" - {self.more[name]}".replace("- -", "+ ") if self.more[name] else ""
                    least, most = self.span(name)
                    texts.append(f"{least} <= ({self.names[name]} := {text}) <= {most}")
                    step = math.gcd(*(s[name] - least for s in self.samples))
                    texts += [f"{self.names[name]} % {step} == {least % step}"] if step > 1 else []
        for a, b in itertools.combinations(self.names, 2):
            seen = {(s[a] > s[b]) - (s[a] < s[b]) for s in self.samples}
            texts += [f"{self.names[a]} {sign} {self.names[b]}" for signs, sign in ORDERS if signs == seen]
        return texts

    def span(self, name):
        """The least and the largest sample of a size."""
        sizes = [sample[name] for sample in self.samples]
        return min(sizes), max(sizes)

    def taken_for_granted(self):
        """Conditions of machine code that do not hold for all sizes among the samples."""
        found = {str(c): c for one, way in self.nests.values() if way == CALL for c in one.conditions}
        spans = {name: self.span(name) for name in self.where}
        return [f"{text} >= 0" for text, c in found.items() if not is_never_negative(c, spans)]

    def implied(self):
        """Conditions that those say already."""
        return {f"len(a{leaf}) == {self.names[name]}" for name, (leaf, _) in self.where.items() if not self.more[name]}


def is_never_negative(dim, spans):
    """Whether a Dim that is linear in its names is no less than 0 where they lie in these spans; False of others."""
    if any(len(m) > 1 or not isinstance(u, str) for m in dim.terms for u in m):
        return False
    least = {name: spans[name][c < 0] for (name,), c in ((m, c) for m, c in dim.terms.items() if m)}
    return dim.at(least) >= 0


def sized_nests(parts, samples):
    """{name: (the nest of all sizes that stands there, the attribute of it that is called)}"""
    found, made, first = {}, {}, parts[0].space
    key = lambda name: tuple([id(p.space[name].nest) for p in parts])
    named = lambda kind: [name for name in sorted(parts[0].names) if type(first[name]) is kind]
    for name in named(SampledNest):
        if key(name) not in made:
            made[key(name)] = SampledNest.unified([p.space[name] for p in parts], samples)
        found[name] = made[key(name)], CALL
    return found | {name: (made[key(name)], AGAIN) for name in named(SampledAgain)}


def middle_first(samples):
    """The numbers of samples, that of a middle one first."""
    order = sorted(range(len(samples)), key=lambda k: sum(samples[k].values()))
    middle = order.pop(len(order) // 2)
    return [middle, *order]


class _Parts:
    """The function of one version, and what of its namespace it names."""

    def __init__(self, call):
        self.call, self.tree, self.space = call, sign_folded(call.function), call.call.__globals__
        found = {n.id for n in nodes_of(self.tree) if isinstance(n, ast.Name) and type(n.ctx) is ast.Load}
        self.names = {name for name in found if name in self.space}
        recipes = {name: text for name, text in call.recipes.items() if name in self.names}
        self.recipes = {name: sign_folded(parse(text, mode="eval").body) for name, text in recipes.items()}


def size_at(version, at):
    """The size of an argument: at is (leaf, axis)."""
    return version.func.params[at[0]].type.shape[at[1]]


def same_inputs(ours, others):
    """Whether what programs take in from outside is the same."""
    same = lambda x, y: x.place == y.place if isinstance(x, Read) and isinstance(y, Read) else same_object(x, y)
    return len(ours) == len(others) and all(map(same, ours, others))


def same_places(a, b):
    """Whether two functions read and store at the same places outside."""
    told = lambda x: (type(x), x.place) if isinstance(x, Read) else (
        type(x), None if x.read is None else x.read.place, id(getattr(x, "owner", None)), getattr(x, "method", None)
    )
    return [*map(told, a.reads)] == [*map(told, b.reads)] and [*map(told, a.stores)] == [*map(told, b.stores)]


def tree_of(text):
    return parse(text, mode="eval").body
