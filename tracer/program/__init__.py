"""One trace as something that runs: its specialisations, the tree of values it speculated on, and the backend that runs
it.

Promises that every form (XLA, native nests, generated NumPy, pieces) gives the same answer; which one runs is measured.
May import: rules, capture and all below.
"""
