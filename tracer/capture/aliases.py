"""What can be told of arrays beside their elements: which is which object, who shares memory with whom, and their
flags."""

import numpy as np

PLACES = {
    "object": "is {}",
    "memory": "shares memory with {}",
    "writeable": "{} be written",
    "strides": "has strides {}",
}


class Aliases:
    """Of arrays that were there before a call and of its results, by name. existing, results: [(name, object)]"""

    def __init__(self, existing, results):
        existing = [(n, x) for n, x in existing if isinstance(x, np.ndarray)]
        results = [(n, x) for n, x in results if isinstance(x, np.ndarray)]
        every = [*existing, *results]
        self.told = {}  # (name, what) -> the answer
        for k, (name, x) in enumerate(results):
            same = next((n for n, y in every[: len(existing) + k] if y is x), None)
            others = [n for n, y in every if y is not x and np.may_share_memory(x, y)]
            self.told[name, "object"] = f"{same} itself" if same else "another array than those before it"
            self.told[name, "memory"] = ", ".join(dict.fromkeys(others)) or "none"
            if any(np.may_share_memory(x, y) for _, y in existing):
                self.told[name, "strides"] = x.strides
        for name, x in every:
            self.told[name, "writeable"] = "may" if x.flags.writeable else "may not"

    def differ(self, plain):
        """The first difference from plain Python's, in words; None where there is none."""
        for (name, what), x in self.told.items():
            y = plain.told.get((name, what), x)
            if x != y:
                return f"{name} {PLACES[what].format(x)}, where in plain Python it {PLACES[what].format(y)}"
        return None
