"""Whether the garbage collector runs in a thread. What it calls, destructors and callbacks, may run between any two
instructions, and is no part of the program."""

import gc
import threading


class Collecting:
    """on: whether it runs in the thread that began to look, between `begin` and `end`."""

    def __init__(self):
        self.on, self.thread = False, None
        # before all other callbacks, and after them
        self.starts, self.stops = self.note_start, self.note_stop

    def begin(self):
        self.on, self.thread = False, threading.get_ident()
        gc.callbacks.insert(0, self.starts)
        gc.callbacks.append(self.stops)

    def end(self):
        gc.callbacks.remove(self.starts)
        gc.callbacks.remove(self.stops)
        self.on = False

    def note_start(self, phase, _):
        if phase == "start" and threading.get_ident() == self.thread:
            self.on = True

    def note_stop(self, phase, _):
        if phase == "stop" and threading.get_ident() == self.thread:
            self.on = False
