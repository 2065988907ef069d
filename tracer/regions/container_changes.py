"""Calls of C that change containers: their methods, bound or not, and functions that are given one."""

from ..common.errors import CannotRoll, UnsupportedError, WengertError, message
from ..common.frames import locate, variable_name
from ..guards import state
from ..guards.container_methods import changed_by
from ..guards.state import CONTAINERS, SEEN_THROUGH, differs, items, restore
from ..values.storage import current_trace
from .convert import CELL

GROWS = "Make an array as long as it can get before it, and count: ys = np.zeros(most); n = 0; then ys[n] = y; n += 1."
GROWING = set("append extend insert add appendleft extendleft".split())
LEAVING = {"builtins", "math", "cmath", "time"}  # modules of C whose functions change no container that they are given


class AppendsTo(CannotRoll):
    """A trip appends to a list that the loop did not know of, or other numbers of items than it thought."""

    def __init__(self, grown):
        super().__init__(message(f"{grown.name} grows by another number of items in each trip", locate(), GROWS))
        self.grown = grown

    def outward(self):
        """What loops around learn of it."""
        return self


def call_noting_changes(f, name, /, *args, **kwargs):
    """A call of a function of C which may change the containers that it is given, as those of `heapq` and `operator`
    do. Where the trace ends in it, half done, it has not been."""
    held = [(x, items(x)) for x in args if isinstance(x, CONTAINERS)]
    try:
        return f(*args, **kwargs)
    except BaseException as error:
        if isinstance(error, WengertError) or not isinstance(error, Exception):
            for x, had in held:
                restore(x, had)
        raise
    finally:
        for x, had in held:
            if differs(x, had):
                now = items(x)
                restore(x, had)
                before_change(x, name)
                restore(x, now)


def given_container(f, found, /, *args, **kwargs):
    owner = changed_by(f, args)
    if owner is not None:
        before_change(owner, f.__name__)
    return found(*args, **kwargs)


def bound_seen(f):
    """A method of C, or what to call in its place where it is bound to something outside that the trace sees
    otherwise."""
    trace = current_trace()
    return f if trace is None else trace.root.outside.bound_as_seen(f)


def updating(owner):
    """`owner.update` where that is the `__dict__` of an outside object: stores of attributes; None for all other
    dicts."""
    trace = current_trace()
    if type(owner) is not dict or trace is None or trace.root.outside.instance_of(owner) is None:
        return None

    def update(*given, **named):
        for key, value in dict(*given, **named).items():
            CELL.cell_contents.set_item(value, owner, key)

    return update


def before_change(owner, name):
    """Refuse that a container gets other items where that would not happen at every call; where it may, keep what it
    holds."""
    if type(owner) not in SEEN_THROUGH and current_trace() is not None and current_trace().root.outside.knows(owner):
        text = f"{name}() changes a {type(owner).__name__} from outside, which would happen once, and not at every call"
        raise UnsupportedError(message(text, locate(), "Use a plain list, dict, set or deque; or do it outside."))
    if current_trace() is not None and (outside := current_trace().root.outside).knows(owner):
        if type(owner) in SEEN_THROUGH and id(owner) not in outside.containers and id(owner) not in outside.copies:
            text = f"{name}() changes a {type(owner).__name__} from outside that code without hooks has given"
            raise UnsupportedError(message(text, locate(), "Name it in a function that is captured."))
    if current_trace() is not None and (instance := current_trace().root.outside.instance_of(owner)) is not None:
        text = f"{name}() changes the attributes of a {type(instance).__name__} from outside by its __dict__"
        raise UnsupportedError(message(text, locate(), "Write o.name = value, or del o.name."))
    state.before_change(owner, changed(owner, name), GROWS if name in GROWING else None)


def changed(owner, how):
    """A container in which a captured body changes how many items there are, as the user would say it."""
    name, kind = variable_name(owner), type(owner).__name__
    happens = f"grows ({how})" if how in GROWING else f"is changed ({how})"
    return f"{name}, a {kind} made outside it, {happens}" if name else f"a {kind} made outside it {happens}"
