"""`jit(check=True)`: the plain function beside the compiled one, and where they part, the first line that does.

Both run on the caller's own objects, one after the other, with everything put back between: so views
and shared arrays are what they are. What differs is then looked for in two places. The captured
program is run as its ops mean it, by NumPy, beside XLA with every intermediate value returned: an
equation that differs there was compiled wrongly. If none does, plain Python runs once more, line by
line, and the variables are compared with the values of the program that bear their names.
"""

import functools

import numpy as np

from ...backends import forked
from ...backends.xla import dispatch
from ...ir.core import Func, Lit
from ...ir.ops.control import groups
from ...ir.pipeline import PIPELINE
from ...ir.pipeline import run as optimise
from ..capture.aliases import Aliases
from ..capture.capture import capture
from ..capture.signature import kind_for, kind_of_type, names_of
from ..common import pytree
from ..common.compare import difference, kinds_differ
from ..common.errors import CheckError, WengertError, as_seen, message
from ..guards.draw_sources import put_back, states
from ..guards.free_variables import Reach
from ..guards.outside import gathered
from ..guards.snapshot import Snapshot
from ..rules import rules
from ..values.acting import acts
from ..values.array import Traced
from ..values.speculate import Speculation
from .lines import LineRecorder


def cross_checked(compiled, function):
    """A function that runs both and compares; its result is the compiled one's."""

    @functools.wraps(function, assigned=("__module__", "__doc__"), updated=())
    def call(*args, **kwargs):
        if any(isinstance(x, Traced) or dispatch.is_tracer_type(type(x)) for x in pytree.leaves((args, kwargs))):
            return compiled.front.call(*args, **kwargs)
        try:
            return Comparison(compiled, function, args, kwargs).run()
        except BaseException as error:
            as_seen(error)
            raise

    return call


class Outcome:
    """What a call left: its result or error, the arrays of its arguments, all that is outside; and who shares memory
    with whom."""

    def __init__(self, function, args, kwargs, watched, existing):
        """existing: [(name, array)] of those that are there before the call."""
        self.error = self.result = None
        try:
            self.result = function(*args, **kwargs)
        except Exception as error:
            self.error = error
        self.after = Snapshot(*watched)
        self.structure = pytree.structure(self.result)
        self.held = [
            (n, np.array(x)) for n, x in named_leaves("result", self.result) if kind_of_type(type(x)) is not None
        ]
        self.objects = [(n, x) for n, x in named_leaves("result", self.result)]
        self.aliases = Aliases(existing, self.objects)


def named_leaves(name, tree):
    """(path as the user would write it, leaf) of a structure."""
    return [(name + pytree.path_text(path), leaf) for path, leaf in pytree.flatten_with_path(tree)[0]]


class Comparison:
    """One checked call."""

    def __init__(self, compiled, function, args, kwargs):
        self.compiled, self.function, self.args, self.kwargs = compiled, function, args, kwargs
        found = Reach(function)
        self.watched = [args, kwargs, *found.objects], list(found.slots)
        self.before = Snapshot(*self.watched)
        names = dict(zip(map(id, pytree.leaves((args, kwargs))), names_of(compiled.signature, args, kwargs)))
        arrays = [x for x, _ in self.before.held.values() if isinstance(x, np.ndarray)]
        self.existing = [
            (f"the argument {names[id(x)]}" if id(x) in names else f"array {n} outside", x)
            for n, x in enumerate(arrays)
        ]

    def run(self):
        try:
            plain = Outcome(self.function, self.args, self.kwargs, self.watched, self.existing)
        finally:
            self.before.restore()
        ours = Outcome(self.compiled.front.call, self.args, self.kwargs, self.watched, self.existing)
        if isinstance(ours.error, WengertError) and plain.error is None:
            raise ours.error  # a refusal, no difference
        found = self.compare(plain, ours)
        if found is None:
            if ours.error is not None:
                raise ours.error
            return ours.result
        self.before.restore()
        raise CheckError(self.explained(found, plain))

    def compare(self, plain, ours):
        """What differs, in words; None where nothing does."""
        if plain.error is not None or ours.error is not None:
            if isinstance(ours.error, type(plain.error)) and plain.error is not None:
                return None
            told = [
                f"raises {type(o.error).__name__}: {str(o.error).splitlines()[0]}" if o.error is not None else "returns"
                for o in (ours, plain)
            ]
            return f"it {told[0]}, where plain Python {told[1]}"
        if ours.structure != plain.structure:
            return f"its result has the structure {ours.structure}, plain Python's {plain.structure}"
        for (name, x), (_, y) in zip(ours.objects, plain.objects):
            found = kinds_differ(x, y)
            if found:
                return f"{name} {found}"
        for (name, x), (_, y) in zip(ours.held, plain.held):
            found = difference(x, y)
            if found:
                return f"{name} {found}"
        found = ours.aliases.differ(plain.aliases)
        if found:
            return found
        names = {
            id(x): n
            for n, x in zip(
                names_of(self.compiled.signature, self.args, self.kwargs), pytree.leaves((self.args, self.kwargs))
            )
        }
        return ours.after.differs(plain.after, names, {id(x) for _, x in self.existing})

    # -- where -------------------------------------------------------------------------------------
    def explained(self, found, plain):
        try:
            source, why = self.place(plain)
        finally:
            self.before.restore()
        return message(f"{self.compiled.name}, compiled, differs from plain Python: {found}", source, why)

    def place(self, plain):
        """-> (the first line that differs, what is known of it)."""
        leaves, tree = pytree.flatten((self.args, self.kwargs))
        names = names_of(self.compiled.signature, self.args, self.kwargs)
        kinds = [kind_for(x, n) if kind_of_type(type(x)) is not None else None for x, n in zip(leaves, names)]
        dynamic = [x for x, k in zip(leaves, kinds) if k is not None]
        stand_ins = [x if k is None else k for x, k in zip(leaves, kinds)]
        captured = capture(
            self.function,
            stand_ins,
            tree,
            [k for k in kinds if k is not None],
            self.compiled.name,
            choices=Speculation(dynamic),
        )
        self.before.restore()
        func = captured.func
        if next(acts(func), None) is not None:
            return None, "It prints or draws while it runs, and was not run once more to see where."
        operands = [
            np.array(x, p.type.dtype)
            for x, p in zip((*dynamic, *captured_inputs(captured, dynamic)), func.params, strict=True)
        ]
        walk = Walk(self.compiled.exact)
        wrong = walk.first(func, operands)
        if wrong is not None:
            return wrong
        values = walk.meaning(func, operands)
        wrong = self.passed(func, operands, [values[r] for r in func.results], walk)
        if wrong is not None:
            return wrong
        lines = LineRecorder(self.function, self.args, self.kwargs)
        return lines.first(func, values)

    def passed(self, func, operands, want, walk):
        """The pass that changed the results, or the equation of the optimised program that runs otherwise than it
        means."""
        done = ()
        for step in PIPELINE:
            done = (*done, step)
            after = optimise(func, done, exact=self.compiled.exact, rules=rules.applying(exact=self.compiled.exact))
            values = walk.meaning(after, operands)
            for r, x in zip(after.results, want):
                found = difference(values[r], x)
                if found:
                    return source_of(r), f"The pass {step.__name__} changes it: afterwards it {found} before."
        return walk.first(after, operands)


def captured_inputs(captured, leaves):
    """What a captured program takes in beside its arguments."""
    draws = captured.outside.draws
    env = draws.environment(leaves)
    before = states(draws.sources(env))
    number = draws.begin(env)
    draws.environments.pop(number, None)
    put_back(before)
    return gathered(captured.inputs, env, number)


def source_of(value):
    return value.eqn.source if not isinstance(value, Lit) and value.eqn is not None else None


class Walk:
    """Programs run twice: as their ops mean it, by NumPy, and by XLA with every value returned."""

    def __init__(self, exact):
        self.exact, self.programs = exact, {}

    def meaning(self, func, operands):
        """value -> array of every operand, intermediate and result, by the ops' own NumPy bodies."""
        env = dict(zip(func.params, operands, strict=True))
        read = lambda x: np.full(x.type.shape, x.value, x.type.dtype) if isinstance(x, Lit) else env[x]
        with np.errstate(all="ignore"):
            for eqn in func.eqns:
                out = eqn.op.body(*map(read, eqn.operands), **eqn.attrs)
                env.update(
                    (r, np.asarray(x, r.type.dtype))
                    for r, x in zip(eqn.results, out if eqn.op.multiple else (out,), strict=True)
                )
            env.update((r, read(r)) for r in func.results if isinstance(r, Lit))
        return env

    def compiled(self, func, operands):
        """value -> array of every intermediate value, by XLA."""
        program = self.programs.get(func)
        if program is None:
            every = Func(func.name, func.params, func.eqns, [r for e in func.eqns for r in e.results])
            find = lambda types: (every, range(len(func.params)))
            program = self.programs[func] = dispatch.program(find, func.name, exact=self.exact), every
        run, every = program
        if not every.results:
            return {}
        if forked.Process.forked:
            return self.meaning(func, operands)
        with dispatch.wide():
            out = run(*operands)
        return {v: np.asarray(x) for v, x in zip(every.results, out if isinstance(out, tuple) else (out,), strict=True)}

    def first(self, func, operands):
        """-> (line, what differs) of the first equation that XLA runs otherwise than its op means; None where all
        agree."""
        meant, ran = self.meaning(func, operands), self.compiled(func, operands)
        for eqn in func.eqns:
            for r in eqn.results:
                found = difference(ran[r], meant[r])
                if found:
                    inner = self.inside(
                        eqn,
                        [
                            meant[x] if x in meant else np.full(x.type.shape, x.value, x.type.dtype)
                            for x in eqn.operands
                        ],
                    )
                    return inner or (
                        eqn.source,
                        f"Compiled, `{eqn.op.name}` {found} by its meaning in NumPy. The line was captured as it "
                        "stands.",
                    )
        return None

    def inside(self, eqn, operands):
        """The same, of the bodies that an equation runs."""
        name, attrs = eqn.op.name, eqn.attrs
        if name == "call":
            return self.first(attrs["body"], operands)
        if name == "cond":
            index, *rest = operands
            return self.first(attrs["branches"][min(max(int(index), 0), len(attrs["branches"]) - 1)], rest)
        if name == "map":
            runs = ([x[k] if flag else x for x, flag in zip(operands, attrs["mapped"])] for k in range(attrs["size"]))
            return next((found for run in runs if (found := self.first(attrs["body"], run))), None)
        if name != "loop":
            return None
        limit, invariants, state = groups(operands, test=attrs["test"], trips=attrs["trips"], carried=attrs["carried"])
        count = int(limit[0]) if limit else np.inf if attrs["trips"] is None else attrs["trips"]
        i = 0
        while i < count:
            given = (np.array(i), *invariants, *state)
            if attrs["test"] is not None:
                found = self.first(attrs["test"], given)
                if found:
                    return found
                test = self.meaning(attrs["test"], given)
                if not test[attrs["test"].results[0]]:
                    return None
            found = self.first(attrs["body"], given)
            if found:
                return found
            values = self.meaning(attrs["body"], given)
            state = [values[r] for r in attrs["body"].results]
            i += 1
        return None
