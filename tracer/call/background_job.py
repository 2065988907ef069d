"""A compilation behind the caller: what is to be done, on its thread, and when it has been done."""

import contextvars
import threading
import time

from ...ir.amounts import in_time
from ..common import events
from ..common.errors import WengertError
from ..guards import isolation

NEW, ASKED, HERE, DATA, READY, FAILED = "new", "asked", "here", "data", "ready", "failed"  # where a Job stands
TRIES = 3  # bound: of one trace, where the program changes what it reads meanwhile, or where it has failed once


class Job:
    """One program asked for: by whom, for what, how far it is, and what `explain` tells of it."""

    def __init__(self, entry, kinds, types, reason, missing):
        self.entry, self.kinds, self.types, self.reason = entry, kinds, types, reason
        self.path, self.tree = (missing.path, missing.tree) if missing is not None else ((), None)
        self.state, self.error, self.why, self.told = NEW, None, None, False
        # copies of the arguments of a call, where the trace needs some
        self.leaves = self.version = self.program = None
        self.tries = self.answers = self.waited = 0
        self.lock = threading.Lock()  # for calls that wait
        self.context = contextvars.copy_context()
        # when the first of its calls came, and when the program was put in use
        self.asked, self.taken = time.perf_counter(), None

    def run(self):
        """On the thread: make the program, or say what is in the way."""
        try:
            with events.making(self.entry.compiled):
                self.context.run(self.entry.make, self)
            self.state = READY
            seconds, arguments = time.perf_counter() - self.asked, self.entry.shown_types(self.types)
            text = f"the program of ({arguments}) is ready, {in_time(seconds)} after it was asked for"
            events.report("compile", "ready", text, of=self.entry.compiled, types=self.types)
        except isolation.Conflict as shared:
            self.tries += shared.remedy == isolation.AGAIN
            self.state = (
                DATA
                if shared.remedy == isolation.DATA
                else NEW
                if shared.remedy == isolation.AGAIN and self.tries < TRIES
                else HERE
            )
            self.why = shared.text if self.state is HERE else self.why
        except BaseException as error:
            self.failed(error)

    def failed(self, error):
        self.error, self.leaves = error, None
        text = f"no program of ({self.entry.shown_types(self.types)}): {events.first_line(error)}"
        events.report("compile", "failed", text, of=self.entry.compiled, types=self.types)
        self.tries += 1
        static = self.entry.promoted and isinstance(error, WengertError)
        # once more: the program may have changed what was read
        self.state = NEW if self.tries < 2 and not static else FAILED
        if static:
            self.entry.compiled.keep_static(self.entry)

    def lines(self):
        """What explain() says while there is no program."""
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(self.entry.names, self.types))
        how = f"{self.entry.answers_with} has answered {self.answers} call(s)"
        if self.state is FAILED:
            failed = next(iter(str(self.error).splitlines()), type(self.error).__name__)
            return [f"  no trace: ({arguments})", f"    failed       {failed}", f"    background   {how}"]
        seconds = time.perf_counter() - self.asked
        return [
            f"  to come: ({arguments})",
            f"    background   asked for {seconds:.3f} s ago, {self.stands()}; {how}",
            *self.notes(),
        ]

    def stands(self):
        waits = {
            NEW: "to be asked for once more",
            HERE: "traced at the next call",
            DATA: "traced with the arguments of the next call",
        }
        return waits.get(self.state, "compiled, in use from the next call" if self.state is READY else "being made")

    def told_of(self):
        """What explain() says of a program that was made so."""
        how = f"{self.entry.answers_with} answered {self.answers} call(s)"
        return [
            f"    background   {how}, until it took over {self.taken - self.asked:.3f} s after the first",
            *self.notes(),
        ]

    def notes(self):
        lines = [f"    note         traced on the thread of a call: {self.why}"] if self.why else []
        why = (
            "a derivative in it prints, draws numbers or chooses by value"
            if self.entry.numpy
            else "arguments are jax arrays"
        )
        return lines + (
            [f"    note         {self.waited} call(s) waited for the compiler: {why}"] if self.waited else []
        )
