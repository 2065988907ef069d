"""The traces of one signature that differ in what was assumed (`assume`), and which of them is right for a call."""

from ...backends.xla import dispatch, spinning, waiting
from ..common.errors import UnsupportedError, message
from ..values import status
from ..values.speculate import Assumption

MOST = 16  # bound: traces of one signature
DEEP = 8  # bound: choices that are told where no two traces part


class Untraced(Exception):
    """There is no trace yet for a call's types, or for its path through the choices of a tree."""


class SideExit(Untraced):
    def __init__(self, tree, path):
        self.tree, self.path = tree, path


def missing_way(tree, path):
    """What data decide otherwise than in the trace that was right last, in words."""
    known = tree.current.assumed if tree.current is not None else ()
    parting = next((a for a, step in zip(known, path) if a.step != step), None)
    count = len(tree.versions)
    traced = f"{count} way{'s' * (count != 1)} traced"
    which = f": {parting} is {str(not parting.truth).lower()}" if parting else ""
    return f"data take another way than the {traced}{which}"


class Undecided(Untraced):
    """Each of two traces says that the other is the right one: rounding differs between them, or `reason`."""

    def __init__(self, reason="a number on which a decision hangs is so close to the edge that rounding decides"):
        self.reason = reason


class Tree:
    """The traces of one signature: path -> version. `current` is the one that was right last."""

    def __init__(self):
        self.versions, self.current = {}, None
        self.draws = False  # whether a trace of it draws random numbers: each is in a set of its own then
        self.loose = False  # whether a trace has made other choices by value than those before it on its way

    def add(self, version):
        if len(self.versions) >= MOST and version.path not in self.versions:
            raise self.too_many(version)
        self.versions[version.path] = self.current = version

    def lines(self, numbers, depth=0, members=None):
        """The tree as text, a line a decision or trace; `numbers` are those of the versions."""
        members = list(self.versions.values()) if members is None else members
        if self.loose:
            ways = [[f"{a}: {str(a.truth).lower()}" for a in v.assumed] for v in members]
            said = [f"{', '.join(way[:4])}{', ...' * (len(way) > 4)}" for way in ways]
            return [f"{text}  trace {numbers[v]}" for v, text in zip(members, said)]
        if len(members[0].assumed) == depth:
            return [f"trace {numbers[members[0]]}"]
        lines, truths = [str(members[0].assumed[depth])], {v.assumed[depth].truth for v in members}
        if depth >= DEEP and len(truths) == 1:  # no two of them part here
            return self.lines(numbers, depth + 1, members)
        for truth in sorted(truths, reverse=True):
            first, *rest = self.lines(numbers, depth + 1, [v for v in members if v.assumed[depth].truth == truth])
            lines += [f"  {f'{str(truth).lower()}:':<6} {first}", *(f"         {line}" for line in rest)]
        return lines

    def holds(self, version):
        """Whether a trace has not been replaced, by one for other types of what it takes in from outside."""
        return self.versions[version.path] is version

    def find(self, prefix, fits):
        """The trace of the path that begins so, the latest of several."""
        found = [v for path, v in self.versions.items() if path[: len(prefix)] == prefix and fits(v)]
        return found[-1] if found else None

    def too_many(self, version):
        counts = {}
        for v in (*self.versions.values(), version):
            for t in v.assumed:
                counts.setdefault(str(t), [set(), t])[0].add((v.path, t.truth))
        _, often = max(counts.values(), key=lambda c: len({truth for _, truth in c[0]}) * 1000 + len(c[0]))
        text = (
            f"data took {MOST} different ways through this function, each a trace of its own; this decision keeps "
            "changing"
        )
        hint = (
            "Let both sides give values of one structure, type and shape, so that they are captured together;\nor "
            "write np.where(test, a, b)."
        )
        return UnsupportedError(message(text, often.source, hint))

    def launch(self, leaves, types, first):
        """Run the right trace -> (it, its raw results). first: one that takes these types."""
        version, tried = self.current if self.current.fits(types) else first, set()
        while True:
            raw = version.program(*leaves)
            if version.endures:
                waiting.heard(raw, version.captured.func.name, version.program)
            results = raw if isinstance(raw, tuple) else (raw,)
            if version.captured.checks:
                spinning.spun(results, version.program)
            number = dispatch.number(results[-1]) if version.captured.checks else 0
            check = status.failure(version.captured.checks, number)[0] if number else None
            if check is None or check.error is not Assumption:
                self.current = version
                return version, raw
            tried.add(version)
            version = self.instead(version, int(check.text), number, lambda v: v.fits(types), tried)

    def instead(self, version, k, number, fits, tried):
        """The trace for data that fail the k-th assumption of one; number: what the program has told of it; fits:
        whether a trace takes what there is."""
        before, (choice, truth) = version.path[:k], version.path[k]
        if truth is None or isinstance(truth, float):  # which no status can quote
            others = [v for path, v in self.versions.items() if path[:k] == before and fits(v) and v not in tried]
            if not others:
                raise SideExit(self, before)
            return others[-1]
        path = (*before, (choice, not truth if isinstance(truth, bool) else status.quoted(number)))
        found = self.find(path, fits)
        if self.loose and (found is None or found in tried):  # any whose assumptions hold is right
            found = next((v for v in self.versions.values() if fits(v) and v not in tried), None)
        if found is None:
            raise SideExit(self, path)
        if found in tried:
            raise Undecided
        return found


class SelectedResults:
    """Raw results, with the version that gave them."""

    __slots__ = ("version", "raw")

    def __init__(self, version, raw):
        self.version, self.raw = version, raw


class Trees:
    """Stands for the program of a world in which some signatures have trees."""

    def __init__(self, program, find):
        self.program, self.find = program, find

    def __call__(self, *leaves):
        version, types = self.find(leaves)
        if version.tree is None:
            return SelectedResults(version, self.program(*leaves))
        return SelectedResults(*version.tree.launch(leaves, types, version))
