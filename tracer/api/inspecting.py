"""What a compiled function tells of itself: the program of given arguments, its texts and its plan, and its traces."""

from ...autodiff import checkpoints
from ...backends.target import lowering_for
from ...ir.exactness import exactly
from ...ir.pipeline import run as optimise
from ..call.explain import explanation
from ..capture.capture import capture
from ..capture.number_lists import packed_call
from ..capture.shared_containers import sharing
from ..capture.signature import kind_for, kind_of_type, names_of
from ..common import pytree
from ..guards import patched_numpy
from ..plan.plan import plan_of
from ..plan.texts import stage_text
from ..rules import rules
from ..values.speculate import Speculation


class Inspecting:
    """The part of `Compiled` that runs nothing."""

    def ir(self, /, *args, passes=True, **kwargs):
        """The IR function these arguments lead to; `passes=False` as captured, before optimisation."""
        return self.optimised(args, kwargs)[0] if passes else self.captured(args, kwargs)[0].func

    def optimised(self, args, kwargs, watch=None, log=None):
        """-> (the IR function that these arguments lead to, and what `captured` gives). watch, log: as of
        `ir.pipeline.run`."""
        captured, *rest = self.captured(args, kwargs)
        return self.passed(captured, watch, log), captured, *rest

    def passed(self, captured, watch=None, log=None):
        """The IR function that the passes make of a Captured."""
        given = {"rules": rules.applying(exact=self.exact), "known": captured.bounded, "watch": watch, "log": log}
        return optimise(captured.func, exact=self.exact, notes=captured.notes, **given)

    def captured(self, args, kwargs, objects=False, choices=Speculation):
        """-> (the Captured that these arguments lead to, the name of each leaf of theirs, its Kind or None where it is
        static). choices: of the dynamic leaves makes the Speculation of the trace."""
        patched_numpy.refuse_patched()
        taken = packed_call(args, kwargs)
        leaves, tree = pytree.flatten(taken)
        names = names_of(self.signature, *taken)
        kinds = [kind_for(x, n) if kind_of_type(type(x)) is not None else None for x, n in zip(leaves, names)]
        dynamic = [x for x, k in zip(leaves, kinds) if k is not None]
        stand_ins = [x if k is None else k for x, k in zip(leaves, kinds)]
        with checkpoints.room(self.memory, None), exactly(self.exact), lowering_for(self.device):
            traced = [k for k in kinds if k is not None]
            shared = sharing(args, kwargs, tree)
            order = pytree.key_order((taken[0], taken[1] if self.ordered else pytree.with_sorted_keys(taken[1])))
            found = capture(
                self.function,
                stand_ins,
                tree,
                traced,
                self.name,
                order=order,
                choices=choices(dynamic),
                objects=objects,
                shared=shared,
            )
        return found, names, kinds

    def leaf_names(self, args, kwargs):
        """What each leaf of the arguments is called."""
        return names_of(self.signature, *packed_call(args, kwargs))

    def plan(self, /, *args, measure=False, **kwargs):
        """The Plan of a call with these arguments."""
        return plan_of(self, args, kwargs, measure)

    def text(self, kind, /, *args, **kwargs):
        """What the function becomes for these arguments, as a text of that kind."""
        return stage_text(self, kind, args, kwargs)

    def explain(self):
        """Every trace: what it relied on, why it was made, and what it cost."""
        return explanation(self)
