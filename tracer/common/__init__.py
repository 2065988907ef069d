"""What every room says: errors, the user's line that runs, pytrees, explicit broadcasts and casts, whose code it is.

Promises nothing of traced values: it knows the IR and Python alone.
May import: nothing else of the tracer.
"""
