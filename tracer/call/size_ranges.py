"""Which sizes samples speak for: what lies between them, in remainders and in an order of names that they have."""

import itertools
import math


class Ranges:
    """What sizes samples span: of each name the least and largest, and the remainder that all share; of each two
    names, which is larger. divisors: (name, number by which sizes are divided), whose remainders have been seen."""

    def __init__(self, samples, divisors=()):
        self.least = {n: min(s[n] for s in samples) for n in samples[0]}
        self.largest = {n: max(s[n] for s in samples) for n in samples[0]}
        first = samples[0]
        self.steps = {n: math.gcd(*(s[n] - first[n] for s in samples)) for n in first}
        self.orders = {order(s) for s in samples}
        self.residues = [(name, k, {s[name] % k for s in samples}) for name, k in divisors]

    def has(self, sizes):
        """Whether a program found at the samples is that of these sizes."""
        return self.has_remainders(sizes) and order(sizes) in self.orders and self.encloses(sizes)

    def has_remainders(self, sizes):
        """Whether sizes leave the remainders that samples have left."""
        return self.in_step(sizes) and all(sizes[name] % k in residues for name, k, residues in self.residues)

    def in_step(self, sizes):
        return all((k - self.least[n]) % max(self.steps[n], 1) == 0 for n, k in sizes.items())

    def encloses(self, sizes):
        """Whether sizes are among those that samples span."""
        return self.in_step(sizes) and all(self.least[n] <= k <= self.largest[n] for n, k in sizes.items())

    def told_residues(self):
        """The tests of remainders that not all sizes of the range pass."""
        texts = []
        for name, k, residues in self.residues:
            step, first = self.steps[name], self.least[name]
            if {(first + step * i) % k for i in range(k)} - residues:
                found = sorted(residues)
                texts.append(f"{name} % {k} " + (f"in {tuple(found)}" if len(found) > 1 else f"== {found[0]}"))
        return texts

    def shown(self, name):
        text = f"verified {self.least[name]} to {self.largest[name]}"
        step = self.steps[name]
        return text + (f", of the form {step}*k + {self.least[name] % step}" if step > 1 else "")


def order(sizes):
    """Which of each two sizes is larger, or whether they are equal."""
    return tuple([(a > b) - (a < b) for a, b in itertools.combinations(sizes.values(), 2)])
