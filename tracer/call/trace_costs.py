"""What one more trace or program takes to make, in seconds, as those that there are tell."""

from .deferred import EQUATION


def telling(here):
    """The version that tells what one more takes to make: the last, but for those of all sizes, which cost little."""
    return next((v for v in reversed(here.versions) if v.symbolic is None), here.versions[-1])


def cost_of(version):
    """Seconds that it took to make a version."""
    compiled = max(version.first_seconds or 0.0, version.compile_seconds or 0.0)
    return version.trace_seconds + version.pass_seconds + compiled


def trace_cost(version):
    """Seconds that another trace of a function takes, until it runs as generated NumPy."""
    return 1.5 * (version.trace_seconds + version.pass_seconds)


def warm_trace_cost(here, sibling):
    """The same, told by the samples of families, where there are any: a first trace has also to find what lies in
    caches for others."""
    known = [s.version for s in here.sizing.families if s.version is not None]
    return min(map(trace_cost, [sibling, *known]))


def own_cost(here):
    """Seconds that a program of one size takes to be made: the most that one has taken, else as an estimate."""
    own = [v for v in here.versions if v.symbolic is None]
    known = [v for v in own if v.first_seconds is not None or v.compile_seconds is not None]
    if not known:
        return EQUATION * max((v.func.count() for v in own), default=0)
    return max(max(v.first_seconds or 0.0, v.compile_seconds or 0.0) for v in known)
