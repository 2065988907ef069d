"""op -> `(*jax values, **attrs) -> jax value(s)`."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ...ir.table import RuleTable

Lowering: TypeAlias = Callable[..., Any]

XLA: RuleTable[Lowering] = RuleTable("XLA lowering")
