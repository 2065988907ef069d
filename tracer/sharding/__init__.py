"""Over which devices the axes of arguments are spread, and what the collectives cost.

Promises that what is asked in the user's names is what the arrays lie like, or an error that names both.
May import: rules and all below.
"""
