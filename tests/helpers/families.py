"""The families of drawn programs: name -> how one is run, see draws.py. `benchmarks/trust.py` runs them all.

A family whose module has `draw` and `differences` is one line: `"numbers": run_of(random_numbers),`.
"""

import contextlib
import dataclasses
import random

import random_attributes
import random_batches
import random_choices
import random_draws
import random_exact
import random_extents
import random_flow
import random_gradients
import random_growing
import random_histories
import random_holders
import random_identity
import random_items
import random_keys
import random_lengths
import random_lists
import random_made
import random_merges
import random_numbers
import random_numpy
import random_objects
import random_outside
import random_rotations
import random_strangers
import random_subclasses
import random_tools
import random_trips
import random_types
import random_variants
import random_zeros
from calls import names
from draws import Found, on, reason, run_of


def of_outcome(outcome, text, calls):
    """`run` of a tester whose `outcome(seed)` says "agree", "refused: why", "raises" (as plain Python does) or a difference."""

    def run(seed, engine):
        said = outcome(seed)
        head, _, why = said.partition(":")
        if head in ("agree", "raises"):
            return Found("agree", "", text(seed), calls)
        return Found("refused", reason(why.strip()), text(seed), calls) if head == "refused" else Found("different", said, text(seed), calls)

    return run


def call(seed, engine):
    """One call of one of NumPy's names, mistakes included."""
    name = random.Random(seed).choice(list(names()))
    straight = {"straight": "numpy", "nests": "nests"}.get(engine)
    verdict, why, text = random_numpy.outcome(name, seed, engine != "numpy", straight=straight)
    return Found(verdict, f"{name}: {reason(why)}" if verdict == "refused" else why, text, 2 if straight else 1, 1)


def number(seed, engine):
    """Numbers of all kinds meeting in one expression or store."""
    case = random_numbers.draw(random.Random(seed))
    verdict, why = random_numbers.judged(case)
    verdict = "explained" if verdict == "other error" else verdict
    return Found(verdict, reason(why) if verdict == "refused" else why, f"{case.source}{case.arguments}", 2)


def flow(wide):
    return of_outcome(lambda seed: random_flow.outcome(seed, wide), lambda seed: random_flow.Program(seed, wide).text, 3)


def exact(kind):
    """Whether exact programs give the bits of programs that no pass has seen."""
    found = of_outcome(lambda seed: random_exact.outcome(seed, kind, seed % 4 == 0), lambda seed: f"random_exact.py --kind {kind}, seed {seed}", 2)

    def run(seed, engine):
        # by time, or by what a program holds, the two programs may run on engines of which each has a tanh of its own
        with on("xla") if engine in ("default", "straight") else contextlib.nullcontext():
            said = found(seed, engine)
            if said.verdict == "different" and engine == "numpy":
                with on("xla"):  # NumPy's BLAS sums in an order that depends on how its operands lie in memory
                    by_xla = found(seed, "xla")
                if by_xla.verdict == "agree":
                    return dataclasses.replace(by_xla, verdict="explained", why="BLAS sums in another order where an operand lies otherwise")
            return said

    return run


FAMILIES = {
    "calls": call,
    "batches": random_batches.run,
    "types": random_types.run,
    "strangers": random_strangers.run,
    "histories": random_histories.run,
    "lists": random_lists.run,
    "growing": random_growing.run,
    "lengths": random_lengths.run,
    "identity": run_of(random_identity),
    "numbers": number,
    "merges": run_of(random_merges),
    "keys": run_of(random_keys),
    "made": run_of(random_made),
    "choices": random_choices.run,
    "holders": run_of(random_holders),
    "attributes": run_of(random_attributes),
    "tools": run_of(random_tools),
    "trips": run_of(random_trips),
    "items": run_of(random_items),
    "variants": run_of(random_variants),
    "objects": run_of(random_objects),
    "outside": run_of(random_outside),
    "rotations": random_rotations.run,
    "subclasses": run_of(random_subclasses),
    "draws": run_of(random_draws),
    "flow": flow(False),
    "wide": flow(True),
    "extents": of_outcome(random_extents.outcome, lambda seed: random_extents.Program(seed).text, 3),
    "gradients": random_gradients.run,
    "zeros": run_of(random_zeros),
    "exact sums": exact("sums"),
    "exact flow": exact("wide"),
}
TIME = {"calls": 3, "batches": 5}  # times as much of it as another family
