"""Lists and dicts that are met twice: the same one at two places of the arguments, or among the arguments and outside.

Which places of the arguments hold one container is part of a call's signature (`sharing`), and the trace sees one
container there (`share`). One that the trace also meets outside is two to it: where that could tell, such a call runs
as plain Python.
"""

import collections
import itertools

MUTABLE = (list, dict)
CONTAINERS = (list, tuple, dict)
REACHED = (list, dict, collections.OrderedDict, collections.defaultdict)
FEWEST = 4  # containers of a call that holds one of the user's: the pair, the arguments, the keywords, and that one
PAIRS = 64  # tests that may stand inline


def children(x):
    return x.items() if isinstance(x, dict) else enumerate(x)


def found(x, path=()):
    """Yield (path, container) of the lists and dicts within the pair (args, kwargs), in order; what is met again is not
    entered again."""
    todo, seen = [(path, x)], set()
    while todo:
        path, x = todo.pop()
        if isinstance(x, MUTABLE) and len(path) > 1:
            yield path, x
            if id(x) in seen:
                continue
            seen.add(id(x))
        kinds = set(map(type, x.values() if isinstance(x, dict) else x))  # a list of numbers is passed over at once
        if any(issubclass(kind, CONTAINERS) for kind in kinds):
            todo += [((*path, k), v) for k, v in children(x) if isinstance(v, CONTAINERS)][::-1]


def sharing(args, kwargs, tree):
    """((path, path where the same container was met before), ...) of a call; `tree` tells soonest that there can be
    none."""
    if tree.num_nodes - tree.num_leaves <= FEWEST:
        return ()
    first, out = {}, []
    for path, x in found((args, kwargs)):
        before = first.setdefault(id(x), path)
        out += [(path, before)] if before is not path else []
    return tuple(out)


def item_at_path(x, path):
    for key in path:
        x = x[key]
    return x


def share(given, pairs):
    """`given`, (args, kwargs) of copies, with one container wherever the call has one."""
    same = {path: item_at_path(given, before) for path, before in pairs}
    leading = {path[:n] for path in same for n in range(len(path))}

    def visit(x, path):
        if path in same:
            return same[path]
        if path not in leading:
            return x
        new = {k: visit(v, (*path, k)) for k, v in children(x)}
        if isinstance(x, dict):
            x.update(new)
        elif isinstance(x, list):
            x[:] = new.values()
        else:
            return type(x)(*new.values()) if hasattr(x, "_fields") else tuple(new.values())
        return x

    return visit(given, ())


def tells(captured):
    """Whether a trace would have been another, were two of its containers one: it changed one, gave one back, or asked
    which it is."""
    return (
        captured.given is not None or bool(captured.stores) or captured.outside is None or captured.outside.identified
    )


def outer_reads(captured):
    """The Reads of lists and dicts outside that must not be among the arguments."""
    if captured.outside is None or not tells(captured):
        return []
    return [
        read
        for read in captured.outside.reads.values()
        if type(read.value) in REACHED and read.kind not in ("contents", "state")
    ]


def meet(given, reads):
    """The first of these Reads that finds a list or dict which is also among the arguments, or None."""
    inside = {id(x) for _, x in found(given)}
    return next((read for read in reads if id(read.get()) in inside), None) if inside else None


def tests(built, count, pairs, reads, named, written):
    """Python conditions: that containers in the arguments are shared as `pairs` say; that none is what a Read finds.
    None: too many.

    built: (text, containers) of the arguments, of which the first `count` are positional; written: the text of a key.
    """
    texts, kinds = {}, {}
    for n, (text, x) in enumerate(built):
        keywords = text == "keywords"
        top = (0, n) if n < count else (1,) if keywords else (1, n)
        if not isinstance(x, CONTAINERS):
            continue
        for path, container in found(x, top):
            texts[path] = text + "".join(f"[{written(key)}]" for key in path[1 if keywords else 2 :])
            kinds[path] = type(container)
    again = {path for path, _ in pairs}
    own = [p for p in texts if not any(p[:n] in again for n in range(1, len(p) + 1))]
    if any(p not in texts or q not in texts for p, q in pairs):
        return None
    out = [f"{texts[p]} is {texts[q]}" for p, q in pairs]
    if len(own) == 2 and kinds[own[0]] is kinds[own[1]]:
        out.append(f"{texts[own[0]]} is not {texts[own[1]]}")
    elif len(own) > 2:
        out.append(f"len({{{', '.join(f'id({texts[p]})' for p in own)}}}) == {len(own)}")
    apart = [(p, r) for p, r in itertools.product(own, reads) if type(r.value) is kinds[p]]
    if len(apart) > PAIRS:
        return None
    return [*out, *(f"{texts[p]} is not {r.text(named)}" for p, r in apart)]
