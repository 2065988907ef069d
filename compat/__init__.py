"""The public faces of other libraries, over Wengert's own: code written for them runs compiled after changing one
import.

It uses only what `wengert` itself exports, and holds no derivative and no handler: what a program of
theirs needs and Wengert lacks is added to Wengert.
"""
