"""The lightest set of values to keep, from which others can be computed again: a minimum cut.

A value is two nodes with an edge between whose capacity is the price of keeping it; edges without limit lead from
what a value is computed from to the value, from the source to values that cannot be computed again, and from those
that are needed to the sink. A finite cut consists of values to keep, and what several share is counted once.

Sources: E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks with power estimation (1970);
for the network, H. He & S. Yu, Transcending runtime-memory tradeoffs in checkpointing by being fusion aware (MLSys
2023).
"""

from collections import deque


def lightest(needed, price, inputs):
    """(values to keep, values to compute again) so that all `needed` are at hand, at the least total price.

    price: of keeping a value, an int; 0 for what is at hand anyway, which is in neither result.
    inputs: what a value is computed from, or None where it cannot be computed again. Values must form no cycle.
    Among equal prices, the fewest values are computed again.
    """
    prices, makes = {}, {}
    for x in _before(needed, price, inputs, prices):
        makes[x] = inputs(x) if prices[x] else ()
    kept = {x for x in needed if makes[x] is None}  # there is no choice
    free = set(kept)
    for x, xs in makes.items():
        if xs is not None and all(y in free for y in xs):
            free.add(x)
    network = _network(makes, prices, free, needed)
    behind = network.behind("source", "sink")
    kept |= {x for x in makes if (x, 1) in behind and (x, 0) not in behind}
    again, stack = set(), [x for x in needed if x not in kept and prices[x]]
    while stack:
        x = stack.pop()
        if x not in again:
            again.add(x)
            stack += [y for y in makes[x] if y not in kept and prices[y]]
    return kept, again


def _network(makes, prices, free, needed):
    """Each value but those `free` as an edge of its price, from what it is computed from, or the source, to what is
    computed from it, or the sink."""
    network = _Network()
    for x, xs in makes.items():
        if x in free:
            continue
        network.edge((x, 0), (x, 1), prices[x])
        if xs is None:
            network.edge("source", (x, 0), None)
        for y in xs or ():
            if y not in free:
                network.edge((y, 1), (x, 0), None)
    for x in needed:
        if x not in free:
            network.edge((x, 1), "sink", None)
    return network


def _before(needed, price, inputs, prices):
    """All that `needed` come from, each after what it is computed from; fills `prices`."""
    order, stack = [], [(x, False) for x in needed]
    while stack:
        x, done = stack.pop()
        if done:
            order.append(x)
        elif x not in prices:
            prices[x] = price(x)
            stack.append((x, True))
            stack += [(y, False) for y in (prices[x] and inputs(x)) or ()]
    return order


class _Network:
    """Edges in pairs: edge e and the one back, e ^ 1. `room` is what may still flow along each, None where there is no
    limit."""

    def __init__(self):
        self.numbers, self.out, self.ends, self.room = {}, [], [], []

    def number(self, node):
        n = self.numbers.setdefault(node, len(self.out))
        if n == len(self.out):
            self.out.append([])
        return n

    def edge(self, start, end, room):
        for a, b, r in ((start, end, room), (end, start, 0)):
            self.out[self.number(a)].append(len(self.ends))
            self.ends.append(self.number(b))
            self.room.append(r)

    def behind(self, source, sink):
        """The nodes on the sink's side of that minimum cut which is closest to it."""
        source, sink = self.number(source), self.number(sink)
        most = 1 + sum(r for r in self.room if r)
        self.room = [most if r is None else r for r in self.room]
        while True:
            steps = self.steps(sink)
            if source not in steps:
                return {node for node, n in self.numbers.items() if n in steps}
            self.fill(source, sink, steps)

    def steps(self, sink):
        """How many edges with room lead from each node to the sink; nodes from which none do are left out."""
        steps, queue = {sink: 0}, deque([sink])
        while queue:
            n = queue.popleft()
            for e in self.out[n]:
                before = self.ends[e]
                if before not in steps and self.room[e ^ 1]:
                    steps[before] = steps[n] + 1
                    queue.append(before)
        return steps

    def fill(self, source, sink, steps):
        """Send flow along shortest ways until each of them is full somewhere (a blocking flow)."""
        tried, way, n = [0] * len(self.out), [], source
        while True:
            if n == sink:
                least = min(self.room[e] for e in way)
                for e in way:
                    self.room[e] -= least
                    self.room[e ^ 1] += least
                at = next(k for k, e in enumerate(way) if not self.room[e])
                n = self.ends[way[at] ^ 1]
                del way[at:]
            edges = self.out[n]
            while tried[n] < len(edges):
                e = edges[tried[n]]
                if self.room[e] and steps.get(self.ends[e], -1) == steps.get(n, 0) - 1:
                    break
                tried[n] += 1
            else:
                if not way:
                    return
                n = self.ends[way.pop() ^ 1]
                tried[n] += 1
                continue
            way.append(e)
            n = self.ends[e]
