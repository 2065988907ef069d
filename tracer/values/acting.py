"""How a program acts on the world: calls of Python, in order, which come where nothing before them has failed.

Where choices by value are made behind an act, it waits for them: a program must not have acted when it finds out that
it is the wrong one.
"""

from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from .speculate import LATER, Assumption
from .status import PASSED, STATUS, number_of


class Acting:
    """The part of `Trace` that knows acts."""

    def act(self, function, operands, results=(), ordered=True, kept=0):
        """Have the running program call Python, which acts on the world, in order with its other acts -> the results.

        Python does not come here if a check before has failed, and nor does the program: results are 0 then, but for
        the first `kept`, which are the first operands. ordered: whether it acts; else it only computes.
        """
        if self is self.root:
            self.check_early()
        going, made = self.passed(), self.root.choices
        attrs = OPS["host"].complete({"function": function, "results": tuple(results), "ordered": ordered})
        if ordered and made is not None and made.acted is None:
            if self is self.root and not results and LATER in made.wanted:
                self.waiting.append((going, len(self.checks), operands, attrs))
                return ()
            self.root.act_now()
            waiting = [int(text) for _, _, text, _ in self.root.early]
            made.acted = min(waiting, default=len(made.taken)), locate(), self is self.root and not results
        return self.emit_act(going, operands, attrs, results, kept)

    def act_now(self):
        """Emit the acts that have waited for all choices by value: the program comes to them if none has failed."""
        waiting, self.waiting = self.waiting, []
        assumed = [n for check, n in self.checks.items() if check.error is Assumption]
        status = self.status.value
        with self:
            for going, since, operands, attrs in waiting:
                for number in [n for n in assumed if n > since] if status is not PASSED else ():
                    stands = OPS["ne"](number_of(status), Lit(number, STATUS))
                    going = stands if isinstance(going, Lit) else OPS["and"](going, stands)
                self.emit_act(going, operands, attrs, (), 0)

    def emit_act(self, going, operands, attrs, results, kept):
        """The equation of an act, which comes where `going` holds."""
        if isinstance(going, Lit):
            return self.build.emit(OPS["host"], operands, attrs)
        branches = []
        for name in ("failed", "acts"):
            with Builder(name) as build:
                params = [build.param(x.type) for x in operands]
                idle = [*params[:kept], *(Lit(0, t) for t in results[kept:])]
                out = build.emit(OPS["host"], params, attrs) if name == "acts" else idle
            branches.append(build.finish(out))
        return OPS["cond"](going, *operands, branches=tuple(branches))


def refuse_effects(captured, made):
    """A program must not have acted on the world when it finds out that it is the wrong one: choices made by value come
    before all acts."""
    if not made.taken:
        return
    late = made.taken[made.acted[0]:] if made.acted is not None else ()
    if late or captured.outside.draws.call is not None:
        what = (
            f"has acted on the world before it ({made.acted[1]})"
            if late
            else "calls a random generator, or asks for the time, while it runs"
        )
        text = f"this decision on data is made by value, in a function that {what}"
        hint = "Let both sides give values of one structure, type and shape: then they are captured together."
        raise UnsupportedError(message(text, (late or made.taken)[0].source, hint))


def acts(func):
    """The equations of a program, and of its bodies, that do more than compute."""
    for e in func.eqns:
        if e.effect:
            yield e
        for region in e.regions():
            yield from acts(region)
