"""The places outside a function that its calls store to, each with `store(target(), value)`; see `outside`."""

import collections

from .raw_attributes import remove


def store_all(places, values):
    """Store into all places: what each value goes into is found before the first is stored."""
    targets = [place.target() for place in places]
    for place, target, value in zip(places, targets, values, strict=True):
        place.store(target, value)


class Original:
    """Stands, in what is returned or stored, for a container whose copy the trace has seen."""

    def __init__(self, read):
        self.read = read


class Contents:
    """The place whose container is to be filled anew."""

    def __init__(self, read):
        self.read, self.name = read, read.name

    def target(self):
        return self.read.get()

    def store(self, old, new):
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

    def target(self):
        return self.read.get()

    def store(self, target, args):
        getattr(target, self.method)(*args)


class Deletion:
    """A place that calls leave without a value."""

    def __init__(self, read):
        self.read, self.place, self.name = read, read.place, read.name

    def holder(self):
        return self.read.holder()

    target = holder

    def store(self, holder, _):
        if self.read.kind == "attribute":
            remove(holder, self.read.key)
        elif self.read.kind == "cell":
            del self.read.cell(holder).cell_contents
        else:
            del holder[self.read.key]
