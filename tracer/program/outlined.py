"""Long programs that say the same many times, as lists of alike layers do: run in pieces, of which alike ones are
compiled once."""

from ...autodiff.remat import work
from ...autodiff.split import sources
from ...backends import forked
from ...backends.xla import dispatch
from ...backends.xla.lower import marks
from ...backends.xla.outlined import OutlinedProgram, is_traced
from ...ir import collector
from ...ir.outline import pieces
from ...ir.types import type_of
from .backend_choice import BackendChoice
from .numpy_function import MISS
from .trace_tree import Trees

ENOUGH = 1 << 22  # bound: operations a piece, from which calling it costs little beside them


def outline_if_worthwhile(entry, here, version):
    """Run a new version in pieces from now on, if that saves much of what XLA would compile, on the CPU: it may round
    other pieces otherwise."""
    if forked.Process.forked:
        return
    special = (
        entry.compiled.exact
        or version.engine
        or version.tree is not None
        or version.effects
        or isinstance(here.call, Trees)
    )
    if special or entry.compiled.device is not None or not dispatch.on_host():
        return
    with collector.waiting():
        found = pieces(version.func, sources, marks(version.func))
    if found is None or sum(map(work, version.func.eqns)) < ENOUGH * len(found):
        return
    version.chain = OutlinedProgram(version.func, found, **entry.compiled.lowering())
    put_pieces(here, version)
    entry.compiled.front.install(entry)


def put_pieces(here, version):
    """Have a set run a version in its pieces."""
    known = isinstance(here.call, BackendChoice)
    program, others = (here.call.program, here.call.found) if known else (here.call, ())
    here.call = BackendChoice(program, [*others, piecewise_call(version)])


def piecewise_call(version):
    """A call of the version as pieces, MISS for other types and where jax traces."""

    def call(*leaves):
        if is_traced(leaves) or not version.fits([type_of(x) for x in leaves]):
            return MISS
        return version.chain(*[leaves[i] for i in version.places])

    return call


def told(version):
    """What explain() says of it."""
    counts = version.chain.counts
    compiled, calls = sum(f.count() for f in counts), sum(counts.values())
    return f"run as {calls} pieces, alike ones compiled once: {len(counts)} functions of {compiled} equations in all"
