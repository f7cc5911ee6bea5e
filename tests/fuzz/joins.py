"""Random models of several nodes that concatenate and split values, for the planner, which avoids the copies."""

from onnx import helper

from operators import Case, F32, family, ints

UNARY = ["Relu", "Sigmoid", "Neg", "Tanh"]


class Pieces:
    """A graph under construction: values by name, of the same shape except along `axis`."""

    def __init__(self, m, lead, trail, axis):
        self.m, self.lead, self.trail, self.axis = m, lead, trail, axis
        self.nodes, self.inputs, self.consts, self.size = [], [], set(), {}

    def shape(self, size):
        return self.lead + (size,) + self.trail

    def node(self, op, names, count=1, **attrs):
        outputs = [f"v{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, names, outputs, **attrs))
        return outputs

    def give(self, array, const):
        self.inputs.append(array)
        if const:
            self.consts.add(len(self.inputs) - 1)
        return f"x{len(self.inputs) - 1}"

    def put(self, names, sizes):
        for name, size in zip(names, sizes):
            self.size[name] = size

    def some(self):
        return self.m.one(sorted(self.size))

    # ---- steps ---------------------------------------------------------------------------------------------------------

    def concat(self):
        parts = [self.some() for _ in range(self.m.int(2, 4))]
        total = sum(self.size[p] for p in parts)
        if total <= 64:
            self.put(self.node("Concat", parts, axis=self.axis), [total])

    def grow(self):
        """Concatenates the newest value and a new one, as dense blocks do."""
        name = list(self.size)[-1]
        if self.size[name] <= 48:
            self.unary(name)
            new = list(self.size)[-1]
            self.put(self.node("Concat", self.m.permuted(name, new), axis=self.axis), [2 * self.size[name]])

    def split(self):
        name = self.some()
        n = self.size[name]
        if n < 2:
            return
        k = self.m.int(2, min(4, n))
        cuts = sorted(self.m.rng.permutation(n - 1)[: k - 1] + 1)
        sizes = [int(b - a) for a, b in zip([0, *cuts], [*cuts, n])]
        if n % k == 0 and self.m.chance(0.5):
            sizes = [n // k] * k
        self.put(self.node("Split", [name, self.give(ints(*sizes), True)], k, axis=self.axis), sizes)

    def rejoin(self):
        """Splits a value and concatenates the pieces, or values computed from them."""
        name = self.some()
        n = self.size[name]
        if n % 2 or n > 32:
            return
        a, b = self.node("Split", [name, self.give(ints(n // 2, n // 2), True)], 2, axis=self.axis)
        self.put([a, b], [n // 2] * 2)
        self.unary(b)
        new = list(self.size)[-1]
        parts = [a, b, new][self.m.int(0, 1):]
        self.put(self.node("Concat", parts, axis=self.axis), [n // 2 * len(parts)])

    def slice(self):
        name = self.some()
        n = self.size[name]
        start, step = self.m.int(0, n - 1), self.m.one([1, 1, 1, 2])
        stop = self.m.int(start + 1, n)
        given = [self.give(ints(v), True) for v in (start, stop, self.axis, step)]
        self.put(self.node("Slice", [name, *given]), [len(range(start, stop, step))])

    def unary(self, name=None):
        name = name or self.some()
        self.put(self.node(self.m.one(UNARY), [name]), [self.size[name]])

    def binary(self):
        a, b = self.some(), self.some()
        if self.size[a] == self.size[b] or 1 in (self.size[a], self.size[b]):
            self.put(self.node(self.m.one(["Add", "Mul", "Sub"]), [a, b]), [max(self.size[a], self.size[b])])

    def expand(self):
        for name in [n for n in self.size if self.size[n] == 1][:1]:
            n = self.m.int(2, 8)
            self.put(self.node("Expand", [name, self.give(ints(*self.shape(n)), True)]), [n])

    def view(self):
        """Reshapes a value and back."""
        name = self.some()
        flat = (self.lead[0], -1) if self.m.chance(0.5) else (*self.lead, 1, self.size[name], *self.trail)
        shape = self.shape(self.size[name])
        there = self.node("Reshape", [name, self.give(ints(*flat), True)])
        if self.m.chance(0.5):
            there = self.node(self.m.one(UNARY), there)
        self.put(self.node("Reshape", [*there, self.give(ints(*shape), True)]), [self.size[name]])

    def heavy(self):
        """A product or a convolution along the axis, or a pool, or a transpose of a transpose."""
        name, rank = self.some(), len(self.lead) + 1 + len(self.trail)
        n, to = self.size[name], self.m.one([1, 3, 4, 8, 16])
        if not self.trail:
            w = self.give(self.m.array(F32, (n, to), low=-1, high=1), self.m.chance(0.8))
            self.put(self.node("MatMul", [name, w]), [to])
        elif self.axis == 1 and rank in (3, 4):
            if self.m.chance(0.3):
                op, k = self.m.one(["MaxPool", "AveragePool"]), [3] * (rank - 2)
                self.put(self.node(op, [name], kernel_shape=k, pads=[1, 1] * (rank - 2)), [n])
                return
            group = self.m.one([1, 1, n])
            k, to = self.m.one([1, 3]), n if group > 1 else to
            w = self.give(self.m.array(F32, (to, n // group) + (k,) * (rank - 2), low=-1, high=1), True)
            self.put(self.node("Conv", [name, w], pads=[k // 2] * (2 * rank - 4), group=group), [to])

    def reduce(self):
        """A reader that needs contiguous input."""
        name = self.some()
        self.put(self.node("Softmax", [name], axis=self.axis), [self.size[name]])


@family(6)
def joined(m):
    kind = m.one(["images", "images", "rows", "rows", "any"])
    if kind == "images":
        p = Pieces(m, (m.int(1, 2),), tuple(m.int(2, 5) for _ in range(m.int(1, 2))), 1)
    elif kind == "rows":
        p = Pieces(m, tuple(m.int(1, 4) for _ in range(m.int(1, 2))), (), -1)
        p.axis = len(p.lead)
    else:
        p = Pieces(m, tuple(m.int(1, 3) for _ in range(m.int(0, 2))), tuple(m.int(1, 4) for _ in range(m.int(1, 2))), 0)
        p.axis = len(p.lead)
    for _ in range(m.int(1, 2)):
        n = m.one([1, 2, 4, 6, 8, 16])
        p.put([p.give(m.array(F32, p.shape(n)), False)], [n])
    steps = [p.concat, p.concat, p.grow, p.split, p.split, p.rejoin, p.slice, p.unary, p.unary, p.binary, p.heavy, p.heavy, p.reduce]
    batch = range(len(p.inputs)) if p.lead and m.chance(0.3) else ()
    if p.lead and not batch:
        steps += [p.view, p.expand]
    for _ in range(m.int(3, 14)):
        m.one(steps)()
    made = [o for n in p.nodes for o in n.output if o in p.size]
    if not made:
        return None
    wanted = sorted({made[-1], *(m.one(made) for _ in range(m.int(0, 2)))})
    return Case("Concat", p.inputs, nodes=p.nodes, consts=tuple(p.consts), wanted=tuple(range(len(wanted))), names=wanted, since=13,
                rtol=1e-3, sizes=False, batch=tuple(batch))
