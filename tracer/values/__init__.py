"""What the user's function holds while it is traced: storages, views, arrays, numbers with intervals, and the trace
itself.

Promises NumPy's dtypes (NEP 50), Python's numbers, and memory as NumPy shares it: views, bases, flags.
Speculation on a value, poison of an untypable merge, and checks that run with the program live here.
May import: rewriter, common.
"""
