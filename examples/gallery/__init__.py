"""Pictures that plain NumPy and Wengert compute: a module each, with `main`, which computes, and `draw`, which shows.

`python -m wengert.examples.gallery [NAME...]` writes them as PNG files. `SMALL` in each module has the arguments of
`main` with which the tests run it, compiled and in plain Python.
"""
