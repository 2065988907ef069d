"""The equation of a captured loop: its operands in their groups, its body, and the test that goes before a trip."""

from ...ir.core import Builder, Func, Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ..values.storage import current_trace
from .run import closed, emit


class LoopEquation:
    """What an emission has when its rows are complete, as one equation."""

    def loop(self, going):
        roll, run = self.roll, self.run
        lifted = list(run.trace.lifted)
        body = closed(run, self.results, lifted, (roll.counter,))
        body = Func(body.name, (*body.params, *self.params), body.eqns, body.results)
        operands = [current_trace().bring(v) for v in lifted]
        test, limit = None, []
        if going is not None:
            extra = [roll.limit] if roll.limit is not None else []
            if extra:
                body = Func(body.name, (body.params[0], Value(COUNTER), *body.params[1:]), body.eqns, body.results)
            operands = [*extra, *operands]
            test = self.test(body, going, bool(extra))
        elif roll.limit is not None:
            sound = current_trace().passed()
            limit = [roll.limit if isinstance(sound, Lit) else OPS["select"](sound, roll.limit, Lit(0, COUNTER))]
        most = roll.last() + 1
        bound = max(most, 1) if roll.limit is not None and most < 2**40 else None
        counts = {"carried": len(self.inits), "trips": roll.turns, "bound": bound}
        return emit("loop", [*limit, *operands, *self.inits], self.names, body=body, test=test, **counts)

    def test(self, body, going, limited):
        build = Builder("test")
        with build:
            params = [build.param(p.type, p.hint) for p in body.params]
            result = params[len(params) - len(self.params) + going]
            if limited:
                result = OPS["and"](OPS["lt"](params[0], params[1]), result)
        return build.finish((result,))
