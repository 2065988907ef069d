"""When XLA has compiled a program, and how long jax's steps towards one took, as `jax.monitoring` tells."""

import threading
import time

import jax

COMPILED = "/jax/core/compile/backend_compile_duration"
PHASES = {  # what jax.monitoring calls them
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    COMPILED: "compile",
}


def when_compiled(tell):
    """`tell()` is called whenever XLA has compiled a program, on the thread that has waited for it."""

    def told(event, seconds, **_):
        if event == COMPILED:
            tell()

    jax.monitoring.register_event_duration_secs_listener(told)


def when_timed(tell):
    """`tell(phase, seconds)` is called whenever jax has done one of PHASES, on the thread that has waited for it."""

    def told(event, seconds, **_):
        if event in PHASES:
            tell(PHASES[event], seconds)

    jax.monitoring.register_event_duration_secs_listener(told)


class Clock(threading.local):
    """.compiled: when XLA last had a program ready for this thread."""

    compiled = 0.0

    def note(self):
        self.compiled = time.perf_counter()


CLOCK = Clock()
when_compiled(CLOCK.note)


def compiled_at():
    """When this thread last waited for XLA to compile a program, by `time.perf_counter`; 0.0 if it never has."""
    return CLOCK.compiled
