"""Where a number went wrong: the equation in which a NaN, an infinity or an overflow was born, by replay; what a user's
debugger and print see of a compiled call.

Promises the user's line, variable, index and trip; a program that is not asked for it pays nothing.
May import: call and all below.
"""
