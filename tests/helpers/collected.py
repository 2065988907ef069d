"""Garbage that has really been collected."""

import gc


def collect():
    """gc.collect(), which does nothing and returns 0 while another thread is in it, until it has found what is made here for it
    to find."""
    while True:
        cycle = []
        cycle.append(cycle)
        del cycle
        if gc.collect():
            return
