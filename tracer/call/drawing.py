"""Calls of programs that draw random numbers: the generators end where plain Python leaves them, exceptions included.

Such a program has a `SpecialisationSet` of its own, for what it takes in are its own draws. Data may choose between
several of them by value, numbers that are drawn among the data: a call that turns out to take another way puts the
generators back, and draws again in the program of that way.
"""

import time

from ...backends.xla import compile_times, dispatch
from ..common import events
from ..guards.draw_sources import put_back, states
from ..program import autotune
from ..program.specialisation import Unfit
from ..program.specialisation_set import SpecialisationSet
from ..program.trace_tree import SideExit, Undecided, missing_way
from ..values import status
from ..values.speculate import Assumption
from .agreement import agree_on


class Elsewhere:
    """What comes of a call whose data take another way through the choices by value. number: what the program told."""

    def __init__(self, check, number):
        self.check, self.number = check, number


class DrawingCalls:
    """The part of `SignatureEntry` that runs programs that draw."""

    def drawn(self, here, leaves, given, fresh=False):
        """A call, by the program of the way that its data take. fresh: whether it is to be found out as what the
        program runs."""
        tree, tried, here = here.drawing, set(), self.right_last(here, leaves)
        while True:
            out = self.drawn_by(here, leaves, given, fresh)
            if type(out) is not Elsewhere:
                if tree is not None:
                    tree.current = here.versions[0]
                return out
            tried.add(here.versions[0])
            try:
                here, fresh = self.drawing_elsewhere(here, out, leaves, tried)
            except Undecided as undecided:
                return self.plainly(leaves, undecided.reason, given)

    def right_last(self, here, leaves):
        """Of the programs that data choose among, the one that was right last."""
        if here.drawing is None:
            return here
        last = here.drawing.current.drawing_in
        return last if last.serves(self.types_of(leaves)) else here

    def drawing_elsewhere(self, here, out, leaves, tried):
        """-> (the program for data that fail an assumption of one, whether it was made just now)."""
        tree, version, types = here.drawing, here.versions[0], self.types_of(leaves)
        try:
            serves = lambda v: v.drawing_in.serves(types)
            found = tree.instead(version, int(out.check.text), out.number, serves, tried)
            return found.drawing_in, False
        except SideExit as missing:
            path = missing.path
        with self.compiled.lock, events.making(self.compiled):
            events.report("guards", "side exit", lambda: missing_way(tree, path))
            kinds = self.kinds_of(leaves)
            self.have_patience(types, here, path or tuple(map(repr, leaves)))
            made = self.traced(kinds, types, "data took another way", leaves, path)
            if made.path[: len(path)] != path:
                tree.loose = True
            if not made.assumed or made.path in tree.versions and tree.versions[made.path] in tried:
                raise Undecided
            other = SpecialisationSet(self.compiled, made.rules)
            other.add(made, tree)
            return other, True

    def drawn_by(self, here, leaves, given, fresh):
        """A call, by one program; `Elsewhere` where that is not the right one."""
        draws, version, count = here.draws, here.versions[0], len(self.dynamic)
        env = draws.environment(leaves)
        before = states(draws.sources(env))
        with draws.locked(env):
            number = draws.begin(env)
            given_states = draws.given(env)

            def again(reason):
                draws.leave(env, given_states)
                put_back(before)
                return self.again(leaves[:count], reason, given, here)

            if not draws.fit(env):
                return again("a random generator has another bit generator than when the function was traced")
            start, unfit = time.perf_counter(), None
            try:
                everything = [*leaves, *here.gather(env, number)]
                agree_on(self, here, version, everything)
                raw = autotune.tried(self, here, version, everything) if fresh and not version.effects else None
                raw = self.launch(here, everything) if raw is None else raw
                failed = version.status(raw)
                if fresh and version.first_seconds is None:
                    dispatch.wait(raw)
                    version.first_seconds = time.perf_counter() - start
                    version.compile_seconds = version.compile_seconds or max(compile_times.compiled_at() - start, 0.0)
            except Unfit as why:
                unfit = str(why)
            except BaseException:
                put_back(before)
                draws.leave_raised(env)
                raise
            finally:
                draws.environments.pop(number, None)
            if unfit is not None:  # here: an exception of the user's has nothing to do with ours
                return again(unfit)
            made = len(draws.list)
            if failed:
                check = version.captured.checks[status.check_number(failed) - 1]
                put_back(before)
                if check.error is Assumption:
                    return Elsewhere(check, failed)
                made = check.drawn
                draws.run(draws.environment(leaves), made)
            if made == len(draws.list):
                draws.leave(env, version.states(raw))
            taken = [everything[p] for p in version.places]
            return version.finish(raw, taken, self.numpy, again, given)
