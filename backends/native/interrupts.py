"""Nests that may run for long hear Ctrl-C: every so much work they ask Python whether a signal has come, and return at
once where its handler raised.

One that Python calls itself (`direct.py`) leaves the exception to it. One that XLA calls on a thread of Python's lets
the program fail (`ffi.py`), and the exception is raised where Python runs next; on threads of XLA's own it hears
nothing, and Python waits for the program instead. What such a nest carries is never memory of an argument, so that
arguments are as they were.
"""

from ...ir.ops.control import loop
from ...ir.ops.indexing import SCATTERS
from ...ir.ops.shape import dynamic_update_slice

PERIOD = 1 << 25  # bound: work between two questions: equations run, rows counted by their length; some 10 to 300 ms
LONG = 1 << 27  # bound: work from which a nest is long
UNKNOWN = 100  # bound: trips that a loop without a bound is taken to make
ROW = 16  # bound: elements of a row that are as much work as an equation
STORED = {dynamic_update_slice: 1, **dict.fromkeys(SCATTERS.values(), 2)}  # store -> which operand it stores
SYMBOLS = (
    "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyGILState_GetThisThreadState", "PyErr_Fetch",
    "PyErr_NormalizeException",
    "PyException_SetTraceback", "PyException_GetTraceback", "PyErr_Restore", "Py_AddPendingCall", "PyErr_SetInterrupt",
    "PyObject_Type", "Py_DecRef",
)  # fmt: skip

TEXT = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
define internal i1 @heard() noinline cold {
  %state = call i32 @PyGILState_Ensure()
  %found = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %state)
  %stop = icmp ne i32 %found, 0
  ret i1 %stop
}"""

# what a handler has raised is taken out of the thread, which goes back to XLA, and raised again by a call that Python
# makes as soon as it runs; if there is no room for such a call, SIGINT comes once more
POSTPONED = """
declare ptr @PyGILState_GetThisThreadState()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare ptr @PyException_GetTraceback(ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @Py_AddPendingCall(ptr, ptr)
declare void @PyErr_SetInterrupt()
declare ptr @PyObject_Type(ptr)
declare void @Py_DecRef(ptr)
define internal i32 @raise(ptr %error) {
  %type = call ptr @PyObject_Type(ptr %error)
  %trace = call ptr @PyException_GetTraceback(ptr %error)
  call void @PyErr_Restore(ptr %type, ptr %error, ptr %trace)
  ret i32 -1
}
define internal void @postpone() noinline cold {
entry:
  %type.at = alloca ptr
  %error.at = alloca ptr
  %trace.at = alloca ptr
  %state = call i32 @PyGILState_Ensure()
  call void @PyErr_Fetch(ptr %type.at, ptr %error.at, ptr %trace.at)
  call void @PyErr_NormalizeException(ptr %type.at, ptr %error.at, ptr %trace.at)
  %type = load ptr, ptr %type.at
  call void @Py_DecRef(ptr %type)
  %error = load ptr, ptr %error.at
  %trace = load ptr, ptr %trace.at
  %untraced = icmp eq ptr %trace, null
  br i1 %untraced, label %hand, label %traced
traced:
  %set = call i32 @PyException_SetTraceback(ptr %error, ptr %trace)
  call void @Py_DecRef(ptr %trace)
  br label %hand
hand:
  %full = call i32 @Py_AddPendingCall(ptr @raise, ptr %error)
  %failed = icmp ne i32 %full, 0
  br i1 %failed, label %again, label %done
again:
  call void @PyErr_SetInterrupt()
  br label %done
done:
  call void @PyGILState_Release(i32 %state)
  ret void
}"""


def work(func, parts=1):
    """Equations that a function runs, rows and loops counted for what they are.

    parts: of an equation; ROW of them are counted without rounding, and of a store what it stores, a polynomial in
    sizes.
    """
    stores = STORED if parts == ROW else {}
    size = lambda eqn, r: (eqn.operands[stores[eqn.op]] if eqn.op in stores else r).type.size
    rows = lambda eqn: sum(parts + size(eqn, r) * parts // ROW for r in eqn.results)
    alone = lambda eqn: rows(eqn) + sum(work(region, parts) for region in eqn.regions())
    return sum(loop_work(eqn.attrs, parts) if eqn.op is loop else alone(eqn) for eqn in func.eqns)


def trips(attrs):
    """The most trips that a loop makes, or None."""
    return next((attrs[name] for name in ("trips", "bound") if attrs[name] is not None), None)


def loop_work(attrs, parts=1):
    return (UNKNOWN if trips(attrs) is None else trips(attrs)) * work(attrs["body"], parts)


def outermost_loops(func):
    """The outermost loops of a function and of its branches."""
    for eqn in func.eqns:
        if eqn.op is loop:
            yield eqn
        for region in eqn.regions() if eqn.op is not loop else ():
            yield from outermost_loops(region)


def unbounded(attrs):
    """Whether nothing says how often a loop, or one in it, goes round."""
    return trips(attrs) is None or any(unbounded(eqn.attrs) for eqn in outermost_loops(attrs["body"]))


def is_long(attrs):
    """Whether a loop may run longer than anybody would wait to interrupt it."""
    return unbounded(attrs) or loop_work(attrs) >= LONG


def endures(func):
    """Whether a function has a loop that may run for long."""
    return any(is_long(eqn.attrs) for eqn in outermost_loops(func))


def asks(attrs):
    """Whether a loop in a long nest asks at each of its trips whether it is time; one that is over soon leaves that to
    the loop around it."""
    return is_long(attrs) or loop_work(attrs) > PERIOD or any(True for _ in outermost_loops(attrs["body"]))


class Interrupts:
    """The questions in the text of one nest. parts: of an equation that its costs are counted in, as `work` has it."""

    def __init__(self, code, parts=1):
        self.code, self.left, self.stopped = code, code.name(), code.label()
        self.parts, self.period = parts, PERIOD * parts
        first, most = code.name(), (1 << 63) - 1
        code.head += [f"  {self.left} = alloca i64", f"  {first} = select i1 %hear, i64 {self.period}, i64 {most}"]
        code.head.append(f"  store i64 {first}, ptr {self.left}")

    def after(self, cost):
        """Ask, where as much work has been done since the last time."""
        code, asked, on = self.code, self.code.label(), self.code.label()
        before = code.op(f"load i64, ptr {self.left}")
        now = code.op(f"sub i64 {before}, {cost}")
        code.do(f"store i64 {now}, ptr {self.left}")
        code.branch(code.op(f"icmp slt i64 {now}, 0"), asked, on)
        code.begin(asked)
        code.do(f"store i64 {self.period}, ptr {self.left}")
        code.branch(code.op("call i1 @heard()"), self.stopped, on)
        code.begin(on)

    def finish(self):
        """The end of the function: whether it was stopped."""
        self.code.do("ret i1 false")
        self.code.begin(self.stopped)
        self.code.do("ret i1 true")
