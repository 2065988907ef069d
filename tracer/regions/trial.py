"""One trip of a loop, run aside to see whether anything traced comes of it."""

from ..guards.state import regions, restore
from .run import Run


class Trial(Run):
    """A trial trip: kept, with all it did to names and objects, if it recorded nothing traced."""

    def __init__(self, trip, slots):
        super().__init__("trial", trip, slots, trial=True)
        region = self.trace.region
        self.kept = not self.recorded and not region.spoiled
        if self.kept:
            for slot, value in (*self.heap.items(), *self.values.items()):
                if not region.is_saved(slot):
                    slot.set(value)
            for outer in regions():
                outer.owned.update(region.owned)
                break
        else:
            self.put_back()

    def close(self):
        self.put_back()
        super().close()

    def put_back(self):
        for container, had in self.trace.region.saved.values():
            restore(container, had)
        for _, restorer in reversed(self.trace.region.held.values()):  # of two views the first knows what was before
            restorer()
