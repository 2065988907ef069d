"""The threads that share the parts of a loop: a pool of POSIX threads in machine code, which Python does not know.

A caller hands over a function of a part, `void part(ptr frame, i64 number)`, and works itself: each part is run once,
by whoever comes first. It waits for helpers that have begun, never for one that has not woken up, so that on a machine
that is busy a loop takes little longer than alone. One caller at a time has helpers; others, and children that were
forked, run all parts themselves. Helpers stay awake for some 50 us behind a loop, and sleep then. How long a loop takes
is measured whenever it runs, and decides whether it has helpers the next time, and whether they are worth waking.
"""

import ctypes
import functools
import math
import os
import pathlib
import platform
import signal
import sys

SHARE = "wengert_share"  # how machine code calls the pool
AWAKE = 1 << 10  # bound: times that a helper looks for the next loop before it sleeps
MOST = 64  # bound: threads
LEAST = 5_000  # bound: ns of a loop that helpers who are awake may join
DEAR = 200_000  # bound: ns of loops from which those who sleep are woken, which takes 2 to 20 us each time
SOON = 20_000  # bound: ns between loops that count as one: well below the time that helpers stay awake
PAUSE = {"x86_64": "llvm.x86.sse2.pause()", "aarch64": "llvm.aarch64.hint(i32 1)"}
VARIABLE = "OMP_NUM_THREADS"
QUOTAS = ("/sys/fs/cgroup/cpu.max",), ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")

# known: ns that a loop takes one thread, as of its last run; ended: when the last loop had been shared; waited: ns of
# loops, with little between them, since helpers were last woken
# tokens: how many helpers may still come; left: how many have come and gone; sleeping: those that wait for a post
TEXT = """
@taken = internal global i64 0, align 64
@helpers = internal global i64 0, align 8
@part = internal global ptr null
@frame = internal global ptr null
@parts = internal global i64 0
@next = internal global i64 0, align 64
@tokens = internal global i64 0, align 64
@left = internal global i64 0, align 64
@sleeping = internal global i64 0, align 64
@bell = internal global [64 x i8] zeroinitializer, align 64
@ended = internal global i64 0
@waited = internal global i64 0
declare i32 @clock_gettime(i32, ptr)
declare i32 @sem_init(ptr, i32, i32)
declare i32 @sem_wait(ptr)
declare i32 @sem_post(ptr)
declare i32 @sched_yield()
declare void @{declared}

define i32 @begin() {{
  %failed = call i32 @sem_init(ptr @bell, i32 0, i32 0)
  ret i32 %failed
}}

define void @allow(i64 %helpers) {{
  store atomic i64 %helpers, ptr @helpers monotonic, align 8
  ret void
}}

define internal void @run(ptr %part, ptr %frame, i64 %parts) {{
entry:
  br label %ask
ask:
  %k = atomicrmw add ptr @next, i64 1 monotonic
  %more = icmp slt i64 %k, %parts
  br i1 %more, label %one, label %done
one:
  call void %part(ptr %frame, i64 %k)
  br label %ask
done:
  ret void
}}

define internal i1 @takes_one(ptr %from) {{
entry:
  br label %look
look:
  %n = load atomic i64, ptr %from seq_cst, align 8
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %claim, label %none
claim:
  %less = sub i64 %n, 1
  %pair = cmpxchg ptr %from, i64 %n, i64 %less seq_cst seq_cst
  %got = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %got, label %one, label %look
one:
  ret i1 true
none:
  ret i1 false
}}

define ptr @helper(ptr %nothing) {{
entry:
  br label %rest
rest:
  br label %look
look:
  %turn = phi i64 [ 0, %rest ], [ %turn.next, %idle ]
  %mine = call i1 @takes_one(ptr @tokens)
  br i1 %mine, label %work, label %idle
work:
  %part = load ptr, ptr @part
  %frame = load ptr, ptr @frame
  %parts = load i64, ptr @parts
  call void @run(ptr %part, ptr %frame, i64 %parts)
  %before = atomicrmw add ptr @left, i64 1 release
  br label %rest
idle:
  call void @{pause}
  %turn.next = add i64 %turn, 1
  %awake = icmp slt i64 %turn.next, {awake}
  br i1 %awake, label %look, label %tired
tired:
  %others = atomicrmw add ptr @sleeping, i64 1 seq_cst
  %late = load atomic i64, ptr @tokens seq_cst, align 8
  %called = icmp sgt i64 %late, 0
  br i1 %called, label %stay, label %sleep
stay:
  %stays = call i1 @takes_one(ptr @sleeping)
  br i1 %stays, label %rest, label %sleep
sleep:
  %woken = call i32 @sem_wait(ptr @bell)
  br label %rest
}}

define internal i64 @now() {{
  %spec = alloca {{ i64, i64 }}
  %failed = call i32 @clock_gettime(i32 1, ptr %spec)
  %seconds = load i64, ptr %spec
  %rest.at = getelementptr i8, ptr %spec, i64 8
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %time = add i64 %whole, %rest
  ret i64 %time
}}

define void @{share}(ptr %part, ptr %frame, i64 %parts, ptr %known) {{
entry:
  %took = load atomic i64, ptr %known monotonic, align 8
  %begun = call i64 @now()
  %large = icmp sge i64 %took, {least}
  br i1 %large, label %ask, label %alone
ask:
  %pair = cmpxchg ptr @taken, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %hand, label %alone
alone:
  %k = phi i64 [ 0, %entry ], [ 0, %ask ], [ %k.next, %own ]
  %more = icmp slt i64 %k, %parts
  br i1 %more, label %own, label %over
own:
  call void %part(ptr %frame, i64 %k)
  %k.next = add i64 %k, 1
  br label %alone
over:
  %over.at = call i64 @now()
  %own.time = sub i64 %over.at, %begun
  store atomic i64 %own.time, ptr %known monotonic, align 8
  ret void
hand:
  store ptr %part, ptr @part
  store ptr %frame, ptr @frame
  store i64 %parts, ptr @parts
  store i64 0, ptr @next
  store i64 0, ptr @left
  %others = sub i64 %parts, 1
  %helpers = load atomic i64, ptr @helpers monotonic, align 8
  %few = icmp slt i64 %others, %helpers
  %n = select i1 %few, i64 %others, i64 %helpers
  %none = atomicrmw xchg ptr @tokens, i64 %n seq_cst
  %ended = load i64, ptr @ended
  %idle = sub i64 %begun, %ended
  %soon = icmp slt i64 %idle, {soon}
  %waited.before = load i64, ptr @waited
  %waited.still = select i1 %soon, i64 %waited.before, i64 0
  %waited.now = add i64 %waited.still, %took
  %worth = icmp sge i64 %waited.now, {dear}
  %waited.next = select i1 %worth, i64 0, i64 %waited.now
  store i64 %waited.next, ptr @waited
  br i1 %worth, label %wake, label %join
wake:
  %rung = phi i64 [ 0, %hand ], [ %rung.next, %ring ]
  %enough = icmp sge i64 %rung, %n
  br i1 %enough, label %join, label %asleep
asleep:
  %one = call i1 @takes_one(ptr @sleeping)
  br i1 %one, label %ring, label %join
ring:
  %rang = call i32 @sem_post(ptr @bell)
  %rung.next = add i64 %rung, 1
  br label %wake
join:
  call void @run(ptr %part, ptr %frame, i64 %parts)
  %missing = atomicrmw xchg ptr @tokens, i64 0 seq_cst
  %came = sub i64 %n, %missing
  br label %wait
wait:
  %turn = phi i64 [ 0, %join ], [ %turn.next, %spin ], [ 0, %yield ]
  %gone = load atomic i64, ptr @left acquire, align 8
  %all = icmp eq i64 %gone, %came
  br i1 %all, label %done, label %look
look:
  %turn.next = add i64 %turn, 1
  %patient = icmp slt i64 %turn.next, {awake}
  br i1 %patient, label %spin, label %yield
spin:
  call void @{pause}
  br label %wait
yield:
  %yielded = call i32 @sched_yield()
  br label %wait
done:
  %done.at = call i64 @now()
  store i64 %done.at, ptr @ended
  %together = sub i64 %done.at, %begun
  %threads = add i64 %came, 1
  %summed = mul i64 %together, %threads
  store atomic i64 %summed, ptr %known monotonic, align 8
  store atomic i64 0, ptr @taken release, align 8
  ret void
}}
"""


@functools.cache
def thread_count():
    """How many threads may share a loop, the caller's among them: the processors that this process may use, by its
    affinity and the quota of its control group, and no more than OMP_NUM_THREADS."""
    if platform.machine() not in PAUSE or sys.platform != "linux":
        return 1
    asked = os.environ.get(VARIABLE, "").partition(",")[0].strip()
    limits = [MOST, len(os.sched_getaffinity(0)), *filter(None, map(quota, QUOTAS))]
    return max(1, min([*limits, *([int(asked)] if asked.isdecimal() and int(asked) else [])]))


def quota(files):
    """Processors' worth of time that a control group allows, None where it does not say. files: of the quota, and of
    the period that it is for if that is another."""
    try:
        given, period = " ".join(pathlib.Path(f).read_text() for f in files).split()
        return max(1, math.ceil(int(given) / int(period))) if int(given) > 0 else None
    except (OSError, ValueError):
        return None


def pool_text():
    """The module of the pool."""
    pause = PAUSE[platform.machine()]
    told = {"share": SHARE, "awake": AWAKE, "soon": SOON, "least": LEAST, "dear": DEAR}
    return TEXT.format(pause=pause, declared=pause.replace(" 1", ""), **told)


class Pool:
    """The pool of this process. address: of a function of its machine code, by name; None before it has begun."""

    address = None

    def begin(self, address):
        """Start the helpers."""
        self.address, helpers = address, thread_count() - 1
        if helpers <= 0 or ctypes.CFUNCTYPE(ctypes.c_int)(address("begin"))():
            return
        library = ctypes.CDLL(None)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # Python's threads take them
        try:
            for _ in range(helpers):
                made = ctypes.c_ulong()
                if not library.pthread_create(ctypes.byref(made), None, ctypes.c_void_p(address("helper")), None):
                    library.pthread_detach(made)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.allow(helpers)

    def allow(self, helpers):
        """Have loops shared with so many threads beside the caller's from now on."""
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.address("allow"))(helpers)


POOL = Pool()
