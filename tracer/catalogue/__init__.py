"""Every public name of NumPy, and what becomes of a call on traced values: captured, bounded, static, host or refused.

The examples (`functions`, `members`) are data; `run` calls each in a compiled function and looks what happened, so
nothing about the outcome is typed by hand; `page` writes docs/numpy.md of it. The tests compare each example with
NumPy.
"""
