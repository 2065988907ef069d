"""Programs of jax arrays that raise where a check has failed, and return no status: a result and a read less at each
call.

A call that raises is made again by the program with the status, which is compiled then, and says which check it was. It
is for small programs only: where XLA takes long to compile, an error should not wait for that.
"""

from ...backends import native
from ...backends.xla import dispatch
from .numpy_call import PASSED
from .trace_tree import Untraced

MOST = 256  # bound: equations


class Trap:
    """Stands for the program of a world, and gives what that gives: the last result is a status."""

    def __init__(self, entry, here):
        self.entry, self.here = entry, here
        self.quick = dispatch.program(self.find, entry.compiled.name, raising=True, **here.options)
        self.bearer = None  # the place of the result to wait for, where it is the same for all versions

    def find(self, types):
        version = self.here.version(types)
        if version is None or not eligible(version):
            raise Untraced
        return version.func, version.places

    def __call__(self, *leaves):
        try:
            raw = self.quick(*leaves)
            for result in raw if isinstance(raw, tuple) else (raw,):
                result.block_until_ready()
        except dispatch.FAILURES:
            raw = self.here.base(*leaves)
            if not dispatch.number(raw[-1]):  # something else than a check, which would come again
                self.here.call, self.entry.postponed = self.here.base, True
            return raw
        return (*raw, PASSED) if isinstance(raw, tuple) else (raw, PASSED)


def settle(entry, here):
    """Run the versions of a world so from now on, if all can, or no longer."""
    if not entry.raises or with_status(here.call) is not here.base:
        return
    bearers = {dispatch.bearer(v.func) if eligible(v) else None for v in here.versions}
    here.call = here.base
    if None not in bearers and native.can_raise():
        here.raising = here.raising or Trap(entry, here)
        here.raising.bearer = bearers.pop() if len(bearers) == 1 else None
        here.call = here.raising


def with_status(call):
    """The program of a world that gives a status itself."""
    return call.here.base if isinstance(call, Trap) else call


def eligible(version):
    """Whether a version has checks, and does nothing but give results."""
    special = (
        version.tree is not None
        or version.effects
        or version.captured.outside.draws
        or version.engine
        or version.chain
        or version.endures
    )
    return bool(version.captured.checks) and not special and version.func.count() <= MOST
