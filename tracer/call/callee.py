"""What stands behind one function that a user calls: what it was made of, and the shared state of all made alike.

`jit(f)`, written twice, gives two functions, as any call that makes something does: attributes set on one are not the
other's. What was traced and compiled is one `Compiled`. A `Callee` tells that which function it is called for; a call
that is answered inline does not even need it, for what a trace relied on is written there as variables of the generated
function: `callee`, and the user's own cells.
"""

import weakref

from ..common.errors import as_seen
from . import pickled

RARELY = 256  # bound: calls of a set of traces that are not answered inline, until it is tested inline again


class Callee:
    """object: the function of the user's that guards begin at, None where the traces are for one function anyway;
    given: what the transform was given; hot: the specialisation sets tested inline; misses: calls that were not
    answered inline though there was a program; waits: {set: (how many of them it has had since it was tested inline, of
    how many it waits for)}; behind, counter: while its calls are counted (`counted.py`), what
    answers them in place of the function in front, and who counts; made: how a pickle makes it again (`pickled.py`);
    ahead: the function that answers for one that was unpickled."""

    __slots__ = ("compiled", "given", "object", "hot", "misses", "front", "_function", "__weakref__")
    __slots__ += ("behind", "counter", "made", "ahead", "waits")

    def __init__(self, compiled, given=None, object=None):
        self.compiled, self.given, self.object = compiled, given, object
        self.hot, self.misses, self._function, self.behind = (), 0, None, None
        self.made = self.ahead = self.waits = None
        self.front = lambda: None  # a weak reference to the function that is called

    seen = staticmethod(as_seen)  # what becomes of an exception that leaves the function in front

    def __call__(self, run, /, *args, **kwargs):
        """`run(...)` in a call of this function."""
        cell = self.compiled.cell
        if cell is None:
            return run(*args, **kwargs)
        before, cell.callee, cell.object = cell.callee, self, self.object
        try:
            return run(*args, **kwargs)
        finally:
            cell.callee, cell.object = before, None if before is None else before.object

    def missed(self, here, alone, full):
        """Note a call that was not answered inline, though there is a program -> whether its set of traces is to be
        tested inline. alone: whether this is not one of several functions, which may be called once; full: whether
        another is not tested then.

        Where more sets than are tested come in turn, each waits for twice as many calls each time: code is compiled for
        every combination of them.
        """
        self.misses += 1
        if self.misses < 2 and not alone:
            return False
        if not full:
            return True
        self.waits = weakref.WeakKeyDictionary() if self.waits is None else self.waits
        missed, awaited = self.waits.get(here, (0, 1))
        pays = missed + 1 >= awaited
        self.waits[here] = (0, min(2 * awaited, RARELY)) if pays else (missed + 1, awaited)
        return pays

    @property
    def function(self):
        """What is traced: the function given, or a transform of it."""
        if self._function is None:
            c = self.compiled
            self._function = c.function if c.cell is None else c.make(self.given)
        return self._function

    def answering(self):
        """The function whose code tests signatures inline, None where it is there no more."""
        return self.front() if self.behind is None else self.behind

    def in_front(self):
        """The Callee that the function called belongs to now: IPython's autoreload makes one function another's."""
        front = self.front()
        return self if front is None else front.__dict__.get("callee", self)

    def explain(self):
        """Every trace: what it relied on, why it was made, and what it cost."""
        return self(self.compiled.explain)

    def ir(self, /, *args, passes=True, **kwargs):
        """The IR function these arguments lead to; `passes=False` as captured, before optimisation."""
        return self(self.compiled.ir, *args, passes=passes, **kwargs)

    def plan(self, /, *args, measure=False, **kwargs):
        """What a call with these arguments does and costs: see docs/plan.md. Without arguments, of all programs there
        are. measure: run the program on them, to say what each line took."""
        return self(self.compiled.plan, *args, measure=measure, **kwargs)

    def text(self, kind, /, *args, **kwargs):
        """What the function becomes for these arguments, as text: kinds are those of docs/plan.md."""
        return self(self.compiled.text, kind, *args, **kwargs)

    def __reduce__(self):
        return pickled.reduced_callee(self)

    def __setstate__(self, front):
        pickled.put_behind(front, self)
