"""Whether XLA can run here: the threads of a process are not in the children that it forks, which would wait for them
for ever."""

import os
import weakref

import jax


class Process:
    """started: whether XLA may have threads, of this process or of the one it was forked from; forked: whether those
    are another's."""

    started = forked = False
    told = weakref.WeakSet()  # whose method `cool()` is called when XLA is lost


class Forked(Exception):
    """XLA was asked for in a process that has none."""

    def __str__(self):
        return self.reason

    reason = (
        "this process was forked from one in which XLA had started its threads, which are not here (start it by "
        "multiprocessing's 'spawn')"
    )


def refuse_forked():
    """Raise Forked where XLA cannot run: whatever hands a call to XLA or has it compile asks first, and starts it."""
    if Process.forked:
        raise Forked
    Process.started = True


def under_jit(function, overwritten=()):
    """`jax.jit(function)`; in a forked child one that raises Forked: even the making waits for a lock that a thread of
    the parent may have held. overwritten: places of arguments whose memory results may take."""

    def refused(*_):
        raise Forked

    return refused if Process.forked else jax.jit(function, donate_argnums=overwritten)


def _in_child():
    if Process.started:
        Process.forked = True
        for front in list(Process.told):
            front.cool()


def _compiled(event, seconds, **_):
    Process.started = True


jax.monitoring.register_event_duration_secs_listener(_compiled)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
