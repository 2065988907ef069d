"""op -> `(*jax values, **attrs) -> jax value(s)`."""

from ...ir.table import RuleTable

XLA = RuleTable("XLA lowering")
