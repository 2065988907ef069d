"""SciPy names on traced values, for those who have SciPy: nothing here imports it.

Each is a composition of our ops, a function of jax.scipy imported into the program, or SciPy's own, run on the host,
with its derivative stated. Values, dtypes, shapes and kinds are SciPy's; what would differ is refused. `registry` is
asked by captured calls; `handlers` fills it.
"""
