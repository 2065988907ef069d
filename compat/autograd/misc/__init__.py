"""Helpers of autograd's users: `flatten`, `optimizers`, `fixed_points`."""

from .flatten import flatten

__all__ = ["flatten"]
