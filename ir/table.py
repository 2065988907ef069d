"""Total tables: one rule per op, refused when written twice, listed when missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from .op import OPS, Op

R = TypeVar("R")


class RuleTable(Generic[R]):
    """op -> rule. `missing()` is empty once every declared op has its rule, which a test demands."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rules: dict[Op, R] = {}

    def add(self, rules: dict[Op, R]) -> None:
        """Add `{op: rule, ...}`; a second rule for one op is an error."""
        for op, rule in rules.items():
            self[op] = rule

    def __setitem__(self, op: Op, rule: R) -> None:
        if op in self.rules:
            raise KeyError(f"{self.name}: {op.name} already has a rule")
        self.rules[op] = rule

    def __getitem__(self, op: Op) -> R:
        try:
            return self.rules[op]
        except KeyError:
            raise KeyError(
                f"no {self.name} rule for {op.name}; tables are total: add one line beside its family"
            ) from None

    def get(self, op: Op) -> R | None:
        return self.rules.get(op)

    def rule(self, op: Op) -> Callable[[R], R]:
        """Decorator form, for rules longer than a line."""

        def add(function: R) -> R:
            self[op] = function
            return function

        return add

    def missing(self) -> list[Op]:
        return [op for op in OPS.values() if op not in self.rules]
