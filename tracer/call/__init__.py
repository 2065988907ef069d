"""The call path: a signature's traces, the generated dispatcher in front, what answers meanwhile, checks, `explain()`.

Promises that a compiled call asks the guard and nothing else, and that a refused one has changed nothing.
May import: cache, program and all below.
"""
