"""What `jax.jit` makes of a program: one a signature, of which results may be written over what was given."""

from ...ir.types import Tensor, type_of
from ..forked import under_jit
from .spinning import Spin

# where XLA runs a call at once, where it does not; and what cannot be waited for, in a trace
FAILURES = ValueError, RuntimeError, AttributeError
SHARED = "donated in the same call"  # fact: in what XLA says of two arrays that have one memory; nothing has run then


class Program:
    """One `jax.jit` a signature: one that has raised while it was traced is slow for that signature ever after, a
    hundred microseconds a call, and a signature that is not known yet raises.

    first: that of the first signature, or of the one to come; known: signature -> each; spin: waits for results.
    """

    def __init__(self, run, name):
        self.run, self.name, self.known, self.spin = run, name, {}, Spin()
        self.first = self.fresh()

    def fresh(self, overwritten=()):
        """Another `jax.jit`. overwritten: places of leaves whose memory results may take."""
        owner = [self]  # of whom jax asks for the function again where it must trace it once more

        def run(*leaves):
            return owner[0].run(*leaves)

        run.__name__ = run.__qualname__ = self.name
        run.owner = owner
        return under_jit(run, overwritten)

    def take_compiled(self, other, fits):
        """Be that of the signatures of another Program whose types fit, by what has been compiled there."""
        for sort, made in list(other.known.items()):
            if fits([type_of(x()) if isinstance(x, type) else Tensor(*x) for x in sort]):
                made.__wrapped__.owner[0] = self
                if not self.known:
                    self.first = made
                self.known[sort] = made

    def forget(self):
        """Hold nothing that was compiled."""
        self.known, self.first = {}, self.fresh()

    def __call__(self, *leaves):
        asked = signature(leaves)
        known = self.known.get(asked)
        return self.made(asked, leaves) if known is None else known(*leaves)

    def begun(self, leaves):
        """The `jax.jit` of a signature that is not known yet."""
        return self.first if not self.known else self.fresh()

    def made(self, asked, leaves):
        """The results for a signature that is not known yet, which is known from then on unless tracing it raises."""
        made = self.begun(leaves)
        try:
            out = made(*leaves)
        except FAILURES:  # it has run
            self.known[asked] = made
            raise
        except BaseException:
            if not self.known:
                self.first = self.fresh()
            raise
        self.known[asked] = made
        return out

    def adopt(self, leaves, other):
        """Take what another program has compiled for such leaves, which it takes as this one does."""
        if (found := other.known.get(asked := signature(leaves))) is not None:
            found.__wrapped__.owner[0] = self
            self.first = self.first if self.known.keys() - {asked} else found
            self.known[asked] = found

    def lower(self, *leaves):
        return (self.known.get(signature(leaves)) or self.first).lower(*leaves)


class DonatingProgram(Program):
    """Writes results over arrays that it is given, which are deleted then. Of a call in which one array comes twice
    nothing is overwritten: it would be read after that.

    donor: has `places(leaves)`, those that may be overwritten, and `refusal(places)`, an exception for deleted ones.
    """

    def __init__(self, run, name, donor):
        self.donor, self.keeping = donor, Program(run, name)
        super().__init__(run, name)

    def __call__(self, *leaves):
        if len(set(map(id, leaves))) == len(leaves):
            try:
                return super().__call__(*leaves)
            except FAILURES as error:
                gone = [i for i, x in enumerate(leaves) if hasattr(x, "is_deleted") and x.is_deleted()]
                if gone and "deleted" in str(error):
                    raise self.donor.refusal(gone) from None
                if gone or SHARED not in str(error):
                    raise
        return self.keeping(*leaves)

    def begun(self, leaves):
        return self.fresh(tuple(self.donor.places(leaves)))

    def forget(self):
        super().forget()
        self.keeping.forget()


def signature(leaves):
    """What tells the programs apart for which `jax.jit` is asked: shapes and dtypes, and the classes of numbers."""
    return tuple([(x.shape, x.dtype) if hasattr(x, "dtype") else type(x) for x in leaves])
