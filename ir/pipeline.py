"""The passes in order, read top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from . import markup  # noqa: F401, how notebooks show a function
from .core import Func
from .exactness import ONLY_EXACT
from .ops.control import loop
from .ops.linalg import dot_general
from .passes import (
    bounds,
    cse,
    dce,
    fission,
    fold,
    inline,
    loops,
    masks,
    memory,
    products,
    rotations,
    shifts,
    simplify,
    user_rules,
    widen,
)
from .rewrite import rewrite
from .rules import CONTRACTIONS, EXACT, LAYOUT, PARTS, RULES
from .text import show
from .verify import verify as check

Pass: TypeAlias = Callable[..., Func]  # (func, options by keyword) -> func

PIPELINE: tuple[Pass, ...] = (
    inline,    # calls written out, so that what follows sees through them
    user_rules,  # rules of the user's, on what is written
    widen,     # arithmetic of bfloat16 and the like in float32, rounded after each operation
    fold,      # known numbers computed
    bounds,    # comparisons of integers decided by the intervals they lie in
    masks,     # masks of products dropped where nobody reads what they leave out
    products,  # loops that compute a product row by row: one product
    memory,    # stores and loads of parts: what is known is not read back, what is overwritten not stored
    simplify,  # identities, read as equations in ir/rules
    fission,   # products of all trips of a loop: one before it, or one behind it
    loops,     # work that is the same in every trip done once, values that never change not carried
    rotations,  # as many trips of loops written as one as bring each array back to its name
    cse,       # equal equations merged
    dce,       # unread equations dropped
)  # fmt: skip
# identities of products, which make other derivatives: those of what is left
OF_PRODUCTS = LAYOUT + CONTRACTIONS + PARTS
ROUNDS = 4  # times that what `loops` writes out or moves is simplified again, which may show it more to do


def run(
    func: Func,
    passes: Sequence[Pass] = PIPELINE,
    exact: bool = False,
    watch: Callable[[str, Func], object] | None = None,
    log: list[Any] | None = None,
    notes: list[str] | None = None,
    verify: bool = False,
    rules: Any = None,
    known: Any = (),
) -> Func:
    """`func` after `passes`; where `loops` changes it, `simplify` and `loops` take turns until neither finds anything
    to do.

    exact: only rules that change no bit of any result.
    watch: called as `watch(name, func)` after each pass; `print` shows a heading and the text.
    log: a list that receives (rule, source) for each rule that fires.
    notes: a list that receives a line for each loop that is no loop any more.
    rules: the user's, as a `RuleSet` that tells of those that fired; None where there are none.
    known: {position of a parameter: (least, greatest) of its integers}, where that is known.
    verify: check the types and the bindings of every intermediate function.
    """
    log = [] if log is None and rules is not None else log
    ours = EXACT if exact else RULES
    options: dict[Pass, dict[str, Any]] = {fold: {"log": log}, memory: {"exact": exact}, fission: {"exact": exact}}
    options[simplify] = {"log": log, "rules": ours if rules is None else rules + ours}
    options[bounds] = {"known": known}
    options[user_rules] = {"rules": rules, "log": log}
    options[products] = {"exact": exact, "notes": notes}
    tell = print_text if watch is print else watch

    def after(step: Pass, func: Func) -> Func:
        func = step(func, **options.get(step, {}))
        if verify:
            check(func)
        if tell is not None:
            tell(step.__name__, func)
        return func

    for step in passes:
        before, func = func, after(step, func)
        for _ in range(ROUNDS if step is loops and simplify in passes else 0):
            simpler = func if func is before else after(simplify, func)
            if simpler is func:
                break
            before, func = simpler, after(loops, simpler)
    if rules is not None and notes is not None:
        notes += rules.told(log)
    return func


def ready(func: Func, tell: Callable[[str], object]) -> Func:
    """`func` as derivatives are taken of it: products grouped as they cost least, and of no more than is read, for then
    theirs are too, loops that are one product as that product, for its derivative is products and theirs are loops, and
    no derivative through what cancels.

    tell: called with a line for each such loop.
    """
    if not ONLY_EXACT.get():
        func = shifts(rewrite(func, OF_PRODUCTS) if multiplies(func) else func)
    if not repeats(func):
        return func
    found: list[str] = []
    done = run(func, (fold, masks, products), exact=ONLY_EXACT.get(), notes=found)
    for text in found:
        tell(text)
    return done if found else func


def multiplies(func: Func) -> bool:
    """Whether there is a product in a function or its regions."""
    return any(eqn.op is dot_general or any(map(multiplies, eqn.regions())) for eqn in func.eqns)


def repeats(func: Func) -> bool:
    """Whether there is a loop in a function or its regions."""
    return any(eqn.op is loop or any(map(repeats, eqn.regions())) for eqn in func.eqns)


def print_text(name: str, func: Func) -> None:
    """The state of the program under a heading that names the pass."""
    print(f"--- {name}: {func.count()} equations ---\n{show(func)}")
