"""The places outside a function that its calls store to, each with `set(value)`; see `outside`."""

import collections


class Original:
    """Stands, in what is returned or stored, for a container whose copy the trace has seen."""

    def __init__(self, read):
        self.read = read


class Contents:
    """The place whose container is to be filled anew."""

    def __init__(self, read):
        self.read, self.name = read, read.name

    def set(self, new):
        old = self.read.get()
        if isinstance(old, dict) and list(old) == list(new):
            for k, v in new.items():
                if old[k] is not v:
                    old[k] = v
        elif isinstance(old, list):
            old[:] = new
        else:
            items = list(new.items()) if isinstance(new, dict) else list(new)
            old.clear()
            old.extend(items) if isinstance(old, collections.deque) else old.update(items)


class Call:
    """A method that adds to a container."""

    def __init__(self, read, method):
        self.read, self.method, self.name = read, method, f"{read.name}.{method}"

    def set(self, args):
        getattr(self.read.get(), self.method)(*args)
