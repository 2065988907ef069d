"""The cheap form of a watch: one more check of the program, whether a result is bad or a flag is raised. Where it fails
the call has written nothing yet, and is looked at once more from its arguments.
"""

import warnings

import numpy as np

from ...backends.xla.processes import host_array
from ...ir.core import Builder, Func, Lit
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ...ir.types import ir_kind
from ..common.errors import NumericalError, message
from ..common.frames import user_level
from ..values.status import PASSED, failed, passed
from .flags import IR_TESTS, NO, BirthFlags, anywhere, one_or_other
from .forward import first_birth, warned_lines
from .iterations import iterations
from .places import place_of_result
from .plain import KNOWN, PlainCall, born_here, hearing
from .replay import Replay, remembering, value_at
from .story import error_of, indexed
from .walk import Arrived, Birth, Lost, WayBack, first_place
from .words import ACTION, BORN, MADE_BY, REACHING, SAID, words_asked

YES = Lit(True, TRUTH)
REGISTRIES = {}  # file -> what Python notes of the warnings given there
TRIES = 16  # bound: bad numbers of a result that are followed, until one was born in the call
ELSEWHERE = "Run again as it was captured, step by step in NumPy, it is not there: it comes of how the program was {}."


class Debug:
    """What is asked of the calls of a function: `jit(f, debug=...)`, by its words."""

    def __init__(self, debug):
        self.words = words_asked(debug)
        self.warns = ACTION in self.words
        self.reaching = tuple(w for w in self.words if w in REACHING)
        self.born = tuple(w for w in self.words if w in BORN)

    def __eq__(self, other):
        return type(other) is Debug and other.words == self.words

    def __hash__(self):
        return hash(self.words)

    def plain(self, function):
        """The user's function, where plain Python answers a call."""
        return PlainCall(function, self)

    def hearing(self):
        """Around a trace that is to be watched."""
        return hearing(self.warns)

    def watch(self, captured, name, told=()):
        """Make the program of a trace tell: `captured` has one more check, if there is anything to be looked for. told:
        what NumPy has told of while it was traced."""
        log = []
        func = captured.func = remembering(captured.func, log)
        checks, count = tuple(captured.checks), len(func.results) - bool(captured.checks)
        build = Builder.again(func)
        with build:
            flag = NO
            if self.born:
                results, (flag,) = BirthFlags(self.born).appended(build, func, {})
            else:
                for eqn in func.eqns:
                    build.replay(eqn, {})
                results = list(func.results)
            for word in self.reaching:
                for x in watched_results(captured, results[:count]):
                    flag = one_or_other(flag, anywhere(IR_TESTS[word](x)))
                if any(map(is_written(word), results[:count])) and heard_of(told, MADE_BY[word]):
                    flag = YES
            if heard_of(told, self.born):
                flag = YES
            if flag is NO:
                return
            status = results[count] if checks else PASSED
            now = failed(len(checks) + 1)
            going = passed(status)
            flag = flag if isinstance(going, Lit) else OPS["and"](going, flag)
            status = OPS["select"](flag, now, status)
        captured.func = Func(func.name, func.params, build.eqns, [*results[:count], status])
        captured.checks = (*checks, NumberCheck(self, captured, func, name, log, told))


def twin_for(compiled, words):
    """The derivative that a Compiled is, watched for what the caller's error state asks to raise: plain Python has
    none."""
    if compiled.cell is not None:  # shared, as this is
        return compiled.twin(compiled.callee().given, Debug(words))
    if words not in compiled.twins:
        compiled.twins[words] = compiled.twin(compiled.function.__wrapped__, Debug(words))
    return compiled.twins[words]


def watched_results(captured, results):
    """Those of a program in which a bad number is asked for: computed floats."""
    given = {*captured.func.params}
    found = [r for r in results if not isinstance(r, Lit) and r.type.kind in "fc" and r.type.size and r not in given]
    return list(dict.fromkeys(found))


class NumberCheck:
    """The check that `Debug.watch` adds; as a `Check`. original: the program without it."""

    error, quotes, args, told = NumericalError, False, None, True

    def __init__(self, debug, captured, original, name, log, told):
        self.debug, self.captured, self.original, self.name, self.log = debug, captured, original, name, log
        self.traced = told  # (word, line) of what was born while the function was traced
        self.text = f"{' or '.join(debug.words)} in {name}"
        draws = captured.outside.draws
        self.drawn = len(draws.list)

    def heard(self, error, leaves):
        """What the call ends with that has failed this check: an error, or None: it goes on, and what there is to say
        has been said. leaves: what the program took."""
        try:
            return self.looked(leaves)
        except Exception as failure:
            if isinstance(failure, Warning):  # the user's filters make errors of warnings
                raise
            text = f"{' or '.join(self.debug.words)} in {self.name}; the place where it was born cannot be told"
            made = NumericalError(message(text, None, f"The replay has ended with {type(failure).__name__}: {failure}"))
            made.__cause__ = failure
            return made

    def looked(self, leaves):
        """The same, of a replay that goes well."""
        operands = [host_array(x, p.type.dtype) for x, p in zip(leaves, self.original.params, strict=True)]
        replay = Replay(self.log)
        debug = self.debug
        found, known = None, False
        if debug.born and debug.warns:
            known = self.warn_lines(replay, operands)
        elif debug.born:
            born = first_birth(replay, self.original, operands, debug.born)
            found = born and error_of(*born, self.name, None)
            found = found or self.of_trace(debug.born)
        if found is None and debug.reaching:
            replay.left = list(self.log)
            found, arrived = self.reached(replay, operands)
            known = known or arrived
        if found is None and not known:
            found = self.unseen()
        if found is not None and debug.warns:
            self.warn(str(found), found.file, found.line)
            return None
        return found

    def warn_lines(self, replay, operands):
        """NumPy's warnings, line by line -> whether there are any."""
        lines = warned_lines(replay, self.original, operands, self.debug.born)
        for file, line, text in lines:
            self.warn(text, file, line)
        for word, source in self.traced:
            if word in self.debug.born and source is not None:
                self.warn(f"{SAID[word]} numbers known to the trace", source.file, source.line)
        return bool(lines or self.traced)

    def of_trace(self, words):
        """The error of what was born while the function was traced, None if nothing was."""
        found = heard_of(self.traced, words)
        return found and born_here(*found, self.name, KNOWN)

    @staticmethod
    def warn(text, file, line):
        """NumPy's warning, as it comes from a line of the user's."""
        if file is None:
            warnings.warn(text, RuntimeWarning, stacklevel=user_level())
            return
        warnings.warn_explicit(text, RuntimeWarning, file, line, registry=REGISTRIES.setdefault(file, {}))

    def reached(self, replay, operands):
        """-> (the error of a bad number among the results that was born in the call, or None; whether all came in with
        the arguments or were written in the program, which is warned of)."""
        env, known = replay.values(self.original, operands), False
        for word in self.debug.reaching:
            places = self.bad_results(env, word)
            came = arrived_with(self.original.params, operands, word) if places else None
            known = known or bool(places)
            if came is not None:
                replay.left = list(self.log)
                operands = [cleaned(x, word) for x in operands]
                env = replay.values(self.original, operands)
                places = self.bad_results(env, word)
            found = self.born(replay, operands, env, word, places)
            if found is not None:
                return found, True
            if came is not None:
                self.warn(f"{came}; none was born in {self.name}", None, None)
        return None, known

    def unseen(self):
        """What is said where the replay shows nothing of what the compiled program has shown."""
        what = ELSEWHERE.format("rewritten or compiled")
        text = f"{' or '.join(self.debug.words)} in a result of {self.name}, as it was compiled"
        return NumericalError(message(text, None, f"{what}\nWrite jit(f, exact=True) for a program without rewrites."))

    def earliest(self, replay, operands, word, birth):
        """A Birth in what is computed once more on the way back, where trips come in reverse: the first of the same
        instruction."""
        source = birth.step.eqn.source
        if source is None or source.mark or not any(loop.back for loop in iterations(birth.step.trips)):
            return birth
        replay.left = list(self.log)
        found = first_birth(replay, self.original, operands, MADE_BY[word], of=source)
        return birth if found is None else found[1]._replace(path=(found[1].step, *birth.path[1:]))

    def bad_results(self, env, word):
        """[(position, mask)] of results in which there is a bad number."""
        found = []
        for r in watched_results(self.captured, self.original.results):
            mask = REACHING[word](value_at(r, env))
            if mask.any():
                found.append((self.original.results.index(r), mask))
        return found

    def born(self, replay, operands, env, word, places):
        """The error of the first that was born here, None where all have come from what was written in the program."""
        known = self.of_trace(MADE_BY[word]) if any(map(is_written(word), self.original.results)) else None
        for position, mask in places:
            for flat in np.flatnonzero(mask)[:TRIES]:
                index = tuple(map(int, np.unravel_index(flat, mask.shape)))
                try:
                    back = WayBack(replay, word).back(self.original, env, self.original.results[position], index)
                except Lost:
                    continue
                if isinstance(back, Arrived) and back.param is None:
                    known = known or self.of_trace(MADE_BY[word])
                if isinstance(back, Birth):
                    back = self.earliest(replay, operands, word, back)
                    return error_of(word, back, self.name, place_of_result(self.captured, position, index))
        return known


def heard_of(told, words):
    """The first that is one of the words, None if none is."""
    return next(((word, source) for word, source in told if word in words), None)


def is_written(word):
    """A test whether an operand is a bad number that stands in the program."""
    return lambda x: isinstance(x, Lit) and x.type.kind in "fc" and bool(REACHING[word](x.value))


def cleaned(x, word):
    """An array with 1 in the place of its bad numbers."""
    return np.where(REACHING[word](x), np.ones((), x.dtype), x) if ir_kind(x.dtype) in "fc" else x


def arrived_with(params, operands, word):
    """The first bad number among the arguments and what is taken in beside them, in words; None where there is none."""
    for p, x in zip(params, operands, strict=True):
        if ir_kind(x.dtype) in "fc" and (mask := REACHING[word](x)).any():
            at = indexed(first_place(mask)) if x.shape else ""
            return f"{p.hint or 'an array from outside'}{at} was {word} when the call began"
    return None
