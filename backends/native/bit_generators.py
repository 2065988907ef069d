"""NumPy's bit generators as LLVM IR: functions of memory that holds the words of a state, as `ir/ops/drawing.py` orders
them.

Each has @next64, @next32 and @nextd, a float in [0, 1); `{b}` in their names stands for the bit generator. Sources:
O'Neill, PCG (HMC-CS-2014-0905); Salmon et al., Parallel random numbers, SC 2011 (Philox); Doty-Humphrey, PractRand
(SFC64); Matsumoto & Nishimura, ACM TOMACS 8, 1998 (MT19937).
"""

PCG64_TIMES = 0x2360ED051FC65DA44385DF649FCCF645  # fact
CHEAP_TIMES = 0xDA942042E4DD58B5  # fact
PHILOX_TIMES = 0xD2E7470EE14C6C93, 0xCA5A826395121157  # fact
PHILOX_PLUS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B  # fact
ROUNDS = 10  # fact

FUNNEL = "declare i64 @llvm.fshl.i64(i64, i64, i64)"
MERSENNE = "MT19937"


def field(name, base, offset):
    return f"  {name} = getelementptr i8, ptr {base}, i64 {offset}\n"


def stepped(times):
    """The state of 128 bits that a linear congruential generator goes to."""
    return f"""{field("%inc.at", "%s", 16)}  %inc = load i128, ptr %inc.at, align 4
  %old = load i128, ptr %s, align 4
  %times = mul i128 %old, {times}
  %new = add i128 %times, %inc
  store i128 %new, ptr %s, align 4
"""


def two_halves(x):
    return f"""  %high.wide = lshr i128 {x}, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 {x} to i64
"""


PCG64 = f"""define internal i64 @next64.{{b}}(ptr %s) {{{{
{stepped(PCG64_TIMES)}{two_halves("%new")}  %both = xor i64 %high, %low
  %turn = lshr i64 %high, 58
  %back = sub i64 64, %turn
  %out = call i64 @llvm.fshl.i64(i64 %both, i64 %both, i64 %back)
  ret i64 %out
}}}}
"""

PCG64DXSM = f"""define internal i64 @next64.{{b}}(ptr %s) {{{{
{stepped(CHEAP_TIMES)}{two_halves("%old")}  %odd = or i64 %low, 1
  %h1 = lshr i64 %high, 32
  %h2 = xor i64 %high, %h1
  %h3 = mul i64 %h2, {CHEAP_TIMES}
  %h4 = lshr i64 %h3, 48
  %h5 = xor i64 %h3, %h4
  %out = mul i64 %h5, %odd
  ret i64 %out
}}}}
"""


def sfc64():
    """Three words that are mixed, and a counter."""
    places = [field(f"%{x}.at", "%s", 8 * n) for n, x in enumerate("abcn")]
    loads = [f"  %{x} = load i64, ptr %{x}.at, align 4\n" for x in "abcn"]
    stores = [f"  store i64 %{x}.new, ptr %{x}.at, align 4\n" for x in "abcn"]
    mixed = """  %ab = add i64 %a, %b
  %out = add i64 %ab, %n
  %n.new = add i64 %n, 1
  %b.right = lshr i64 %b, 11
  %a.new = xor i64 %b, %b.right
  %c.left = shl i64 %c, 3
  %b.new = add i64 %c, %c.left
  %c.turned = call i64 @llvm.fshl.i64(i64 %c, i64 %c, i64 24)
  %c.new = add i64 %c.turned, %out
"""
    body = "".join([*places, *loads, mixed, *stores])
    return f"define internal i64 @next64.{{b}}(ptr %s) {{{{\n{body}  ret i64 %out\n}}}}\n"


def philox():
    """Four numbers at a time, of a counter and a key in ten rounds."""
    lines = ["define internal i64 @next64.{b}(ptr %s) {{\n", field("%pos.at", "%s", 80), field("%kept", "%s", 48)]
    lines.append("""  %pos = load i32, ptr %pos.at, align 4
  %some = icmp slt i32 %pos, 4
  br i1 %some, label %old, label %more
old:
  %next = add i32 %pos, 1
  store i32 %next, ptr %pos.at, align 4
  %old.at = getelementptr i64, ptr %kept, i32 %pos
  %found = load i64, ptr %old.at, align 4
  ret i64 %found
more:
""")
    carry = "true"
    for k in range(4):
        lines.append(field(f"%c{k}.at", "%s", 8 * k) + f"  %c{k}.old = load i64, ptr %c{k}.at, align 4\n")
        lines.append(f"  %c{k}.one = zext i1 {carry} to i64\n  %x{k}.0 = add i64 %c{k}.old, %c{k}.one\n")
        lines.append(f"  store i64 %x{k}.0, ptr %c{k}.at, align 4\n  %c{k}.none = icmp eq i64 %x{k}.0, 0\n")
        lines.append(f"  %c{k}.carry = and i1 %c{k}.none, {carry}\n")
        carry = f"%c{k}.carry"
    for k in range(2):
        lines.append(field(f"%k{k}.at", "%s", 32 + 8 * k) + f"  %k{k}.0 = load i64, ptr %k{k}.at, align 4\n")
    for r in range(ROUNDS):
        for k in range(2):
            lines.append(f"""  %w{k}.{r} = zext i64 %x{2 * k}.{r} to i128
  %m{k}.{r} = mul i128 %w{k}.{r}, {PHILOX_TIMES[k]}
  %low{k}.{r} = trunc i128 %m{k}.{r} to i64
  %up{k}.{r} = lshr i128 %m{k}.{r}, 64
  %high{k}.{r} = trunc i128 %up{k}.{r} to i64
  %k{k}.{r + 1} = add i64 %k{k}.{r}, {PHILOX_PLUS[k]}
""")
        for k, other in ((0, 1), (1, 0)):
            lines.append(f"  %y{k}.{r} = xor i64 %high{other}.{r}, %x{2 * k + 1}.{r}\n")
            lines.append(f"  %x{2 * k}.{r + 1} = xor i64 %y{k}.{r}, %k{k}.{r}\n")
            lines.append(f"  %x{2 * k + 1}.{r + 1} = add i64 %low{other}.{r}, 0\n")
    for k in range(4):
        lines.append(field(f"%b{k}.at", "%s", 48 + 8 * k) + f"  store i64 %x{k}.{ROUNDS}, ptr %b{k}.at, align 4\n")
    lines.append(f"  store i32 1, ptr %pos.at, align 4\n  ret i64 %x0.{ROUNDS}\n}}}}\n")
    return "".join(lines)


# numbers of 32 bits are the halves of one of 64, of which the upper is kept at `{has}`
HALF = """define internal i32 @next32.{b}(ptr %s) {{
  %has.at = getelementptr i8, ptr %s, i64 {has}
  %half.at = getelementptr i8, ptr %s, i64 {half}
  %has = load i32, ptr %has.at, align 4
  %kept = icmp ne i32 %has, 0
  br i1 %kept, label %old, label %more
old:
  store i32 0, ptr %has.at, align 4
  %found = load i32, ptr %half.at, align 4
  ret i32 %found
more:
  %both = call i64 @next64.{b}(ptr %s)
  store i32 1, ptr %has.at, align 4
  %up = lshr i64 %both, 32
  %upper = trunc i64 %up to i32
  store i32 %upper, ptr %half.at, align 4
  %lower = trunc i64 %both to i32
  ret i32 %lower
}}
define internal double @nextd.{b}(ptr %s) {{
  %bits = call i64 @next64.{b}(ptr %s)
  %top = lshr i64 %bits, 11
  %whole = uitofp i64 %top to double
  %x = fmul double %whole, 0x3CA0000000000000
  ret double %x
}}
"""

MT19937 = """define internal void @refill.{b}(ptr %s) noinline {{
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %k, 1
  %last = icmp eq i32 %next, 624
  %after = select i1 %last, i32 0, i32 %next
  %far = add i32 %k, 397
  %over = icmp uge i32 %far, 624
  %less = sub i32 %far, 624
  %other = select i1 %over, i32 %less, i32 %far
  %k.at = getelementptr i32, ptr %s, i32 %k
  %after.at = getelementptr i32, ptr %s, i32 %after
  %other.at = getelementptr i32, ptr %s, i32 %other
  %x = load i32, ptr %k.at
  %y = load i32, ptr %after.at
  %z = load i32, ptr %other.at
  %top = and i32 %x, -2147483648
  %rest = and i32 %y, 2147483647
  %both = or i32 %top, %rest
  %half = lshr i32 %both, 1
  %odd = and i32 %both, 1
  %sign = sub i32 0, %odd
  %mask = and i32 %sign, -1727483681
  %mixed = xor i32 %half, %mask
  %new = xor i32 %z, %mixed
  store i32 %new, ptr %k.at
  br i1 %last, label %done, label %loop
done:
  ret void
}}
define internal i32 @next32.{b}(ptr %s) {{
  %pos.at = getelementptr i32, ptr %s, i32 624
  %pos = load i32, ptr %pos.at
  %empty = icmp sge i32 %pos, 624
  br i1 %empty, label %fill, label %take
fill:
  call void @refill.{b}(ptr %s)
  br label %take
take:
  %at = select i1 %empty, i32 0, i32 %pos
  %next = add i32 %at, 1
  store i32 %next, ptr %pos.at
  %x.at = getelementptr i32, ptr %s, i32 %at
  %x0 = load i32, ptr %x.at
  %r11 = lshr i32 %x0, 11
  %x1 = xor i32 %x0, %r11
  %l7 = shl i32 %x1, 7
  %m7 = and i32 %l7, -1658038656
  %x2 = xor i32 %x1, %m7
  %l15 = shl i32 %x2, 15
  %m15 = and i32 %l15, -272236544
  %x3 = xor i32 %x2, %m15
  %r18 = lshr i32 %x3, 18
  %x4 = xor i32 %x3, %r18
  ret i32 %x4
}}
define internal i64 @next64.{b}(ptr %s) {{
  %first = call i32 @next32.{b}(ptr %s)
  %second = call i32 @next32.{b}(ptr %s)
  %wide = zext i32 %first to i64
  %high = shl i64 %wide, 32
  %low = zext i32 %second to i64
  %out = or i64 %high, %low
  ret i64 %out
}}
define internal double @nextd.{b}(ptr %s) {{
  %first = call i32 @next32.{b}(ptr %s)
  %second = call i32 @next32.{b}(ptr %s)
  %a = lshr i32 %first, 5
  %b = lshr i32 %second, 6
  %x = uitofp i32 %a to double
  %y = uitofp i32 %b to double
  %high = fmul double %x, 0x4190000000000000
  %sum = fadd double %high, %y
  %out = fmul double %sum, 0x3CA0000000000000
  ret double %out
}}
"""

LONG = {"PCG64": PCG64, "PCG64DXSM": PCG64DXSM, "SFC64": sfc64(), "Philox": philox()}


def generator_text(bits):
    """The text of the functions of a bit generator, and what they declare."""
    if bits == MERSENNE:
        return MT19937.format(b=bits), {}
    has = 84 if bits == "Philox" else 32
    text = LONG[bits].format(b=bits) + HALF.format(b=bits, has=has, half=has + 4)
    return text, {"llvm.fshl.i64": FUNNEL}
