"""Random programs: graphs of many nodes, with sizes that are open, or 0, or become known inside an If, a Loop or a Scan and are used
outside; with sequences; with values that several nodes read. Every size has a word, and sizes that must be equal have the same one, so
that most programs run with any sizes."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from graphs import names_read

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
TYPES = {F: np.float32, I: np.int64, B: np.bool_}
VERSION = 20
EMPTY, SMALL = 0.12, 5  # the part of the sizes that are 0; the largest size


class Value:
    """sizes: numbers or words; None: unknown and unrelated sizes. parts: the rank of a sequence's elements."""

    def __init__(self, name, kind, sizes, sequence=False):
        self.name, self.kind, self.sizes, self.sequence = name, kind, tuple(sizes), sequence

    @property
    def rank(self):
        return len(self.sizes)


class Graph:
    """Nodes, and the values that they may read, including those of enclosing graphs."""

    def __init__(self, program, around=None):
        self.program, self.m = program, program.m
        self.nodes, self.values = [], list(around.values) if around else []
        self.optionals = list(around.optionals) if around else []
        self.depth = around.depth + 1 if around else 0

    def do(self, op, inputs, *results, **attrs):
        """results: (kind, sizes) of each output."""
        out = [Value(self.program.name(), kind, sizes) for kind, sizes in results]
        self.nodes.append(helper.make_node(op, [x.name if x else "" for x in inputs], [v.name for v in out], **attrs))
        self.values += out
        return out[0] if len(out) == 1 else out

    def constant(self, values, kind=I):
        array = np.asarray(values, TYPES[kind])
        v = Value(self.program.name(), kind, array.shape)
        self.nodes.append(helper.make_node("Constant", [], [v.name], value=numpy_helper.from_array(array)))
        return v

    def word(self):
        return self.program.word()

    # ---- existing values

    def some(self, kind=None, low=0, high=9):
        """A value of this kind with at least so many dimensions, preferably a newer one; None: there is none."""
        fit = [v for v in self.values if not v.sequence and (kind is None or v.kind == kind) and low <= v.rank <= high]
        return fit[-1 - int(len(fit) * self.m.rng.random() ** 2)] if fit else None

    def floats(self, low=0, high=9):
        v = self.some(F, low, high)
        if v:
            return v
        v = self.some(F)
        if v.rank > high:
            v = self.do("Reshape", [v, self.constant([-1])], (F, (self.word(),)))
            v = v if high else self.do("ReduceSum", [v], (F, ()), keepdims=0)
        while v.rank < low:
            v = self.do("Unsqueeze", [v, self.constant([0])], (F, (1, *v.sizes)))
        return v

    def clean(self, v):
        """v without NaN, whose order is undefined."""
        return self.do("Where", [self.do("Equal", [v, v], (B, v.sizes)), v, self.constant(0.0, F)], (F, v.sizes))

    def like(self, v):
        """Another float value with the sizes of v."""
        fit = [w for w in self.values if w is not v and w.kind == F and not w.sequence and w.sizes == v.sizes]
        return self.m.one(fit) if fit and self.m.chance(0.8) else self.do(self.m.one(["Neg", "Tanh", "Abs"]), [v], (F, v.sizes))

    def number(self, high=4):
        """A run-time integer from 0 to `high`."""
        kind = self.m.one("positive places input size".split())
        given = self.some(I, 0, 0)
        if kind == "input" and given:
            n = given
        elif kind == "size":
            n = self.do("Size", [self.floats()], (I, ()))
        else:
            v = self.floats(1)
            chosen = self.do("Greater", [v, self.constant(self.m.one([0.0, 0.3]), F)], (B, v.sizes))
            n = self.do("ReduceSum", [self.do("Cast", [chosen], (I, v.sizes), to=I)], (I, ()), keepdims=0)
        n = self.do("Abs", [n], (I, ())) if n is given else n
        return self.do("Mod", [n, self.constant(high + 1)], (I, ()))

    def row(self, number):
        return self.do("Reshape", [number, self.constant([1])], (I, (1,)))

    def condition(self):
        given = self.some(B, 0, 0)
        if given and self.m.chance(0.5):
            return given if self.m.chance(0.7) else self.do("Not", [given], (B, ()))
        return self.do(self.m.one(["Less", "Greater"]), [self.number(), self.constant(self.m.int(0, 3))], (B, ()))

    def grow(self, count):
        for _ in range(count):
            self.m.one(STEPS)(self)

    def proto(self, name, inputs, outputs):
        """The GraphProto; an output whose value comes from outside, or is a graph input, goes through an Identity."""
        made = {y for n in self.nodes for y in n.output}
        results, seen = [], set()
        for v in outputs:
            if v.name not in made or v.name in seen:
                v = self.identity(v)
            seen.add(v.name)
            results.append(v)
        declared = [[value_info(v) for v in part] for part in (inputs, results)]
        return helper.make_graph(self.nodes, name, *declared)

    def identity(self, v):
        if not v.sequence:
            return self.do("Identity", [v], (v.kind, v.sizes))
        y = Value(self.program.name(), v.kind, v.sizes, True)
        self.nodes.append(helper.make_node("Identity", [v.name], [y.name]))
        return y


def value_info(v):
    shape = [d if isinstance(d, int) else None for d in v.sizes]
    if v.sequence:
        return helper.make_tensor_sequence_value_info(v.name, v.kind, shape)
    return helper.make_tensor_value_info(v.name, v.kind, shape)


STEPS = []


def step(weight=1):
    def register(f):
        STEPS.extend([f] * weight)
        return f

    return register


# ---- ordinary nodes ----------------------------------------------------------------------------------------------------


@step(5)
def unary(g):  # not Relu, which is 0 for NaN in some of ONNX Runtime's kernels; nor Clip, whose default limits clip infinities only there
    v = g.floats()
    g.do(g.m.one("Tanh Neg Abs Sigmoid Floor LeakyRelu".split()), [v], (F, v.sizes))


@step(5)
def binary(g):
    v = g.floats()
    other = g.like(v) if g.m.chance(0.7) else g.constant(g.m.one([0.5, -1.25, 2.0]), F) if g.m.chance(0.7) else g.floats(0, 0)
    g.do(g.m.one("Add Sub Mul Max Min".split()), list(g.m.permuted(v, other)), (F, v.sizes))


@step(3)
def reduce(g):
    v = g.floats(1)
    a, keep = g.m.int(0, v.rank - 1), g.m.int(0, 1)  # ONNX Runtime leaves an empty axis with a negative index unchanged
    rest = v.sizes[:a] + (1,) * keep + v.sizes[a + 1 :]
    g.do(g.m.one("ReduceSum ReduceSum ReduceL1 ReduceSumSquare".split()), [v, g.constant([a])], (F, rest), keepdims=keep)


@step(2)
def softmax(g):
    v = g.floats(1)
    g.do("Softmax", [v], (F, v.sizes), axis=g.m.int(-v.rank, v.rank - 1))


@step(3)
def transpose(g):
    v = g.floats(2)
    perm = [int(p) for p in g.m.rng.permutation(v.rank)]
    g.do("Transpose", [v], (F, [v.sizes[p] for p in perm]), perm=perm)


@step(3)
def concat(g):
    v = g.floats(1, 3)
    a = g.m.int(0, v.rank - 1)
    parts = [v, *(g.like(v) for _ in range(g.m.int(1, 2)))]
    g.do("Concat", parts, (F, v.sizes[:a] + (g.word(),) + v.sizes[a + 1 :]), axis=a)


@step(2)
def flat(g):
    v = g.floats(0, 3)
    to = g.m.one([[-1], [1, -1], [-1, 1]])
    g.do("Reshape", [v, g.constant(to)], (F, [1 if k == 1 else g.word() for k in to]))


@step(2)
def product(g):
    v = g.floats(2, 2)
    t = g.do("Transpose", [g.like(v)], (F, v.sizes[::-1]), perm=[1, 0])
    g.do("MatMul", [v, t], (F, (v.sizes[0], v.sizes[0])))


@step(2)
def shape(g):
    v = g.floats(1)
    s = g.do("Shape", [v], (I, (v.rank,)))
    kind = g.m.one("cast fill expand".split())
    if kind == "cast":
        g.do("Cast", [s], (F, (v.rank,)), to=F)
    elif kind == "fill":
        g.do("ConstantOfShape", [s], (F, v.sizes), value=helper.make_tensor("value", F, [1], [g.m.one([0.0, 1.5])]))
    else:
        g.do("Expand", [g.floats(0, 0), s], (F, v.sizes))


@step(2)
def where(g):
    v = g.floats()
    c = g.do("Greater", [v, g.constant(0.25, F)], (B, v.sizes))
    g.do("Where", [c, *g.m.permuted(v, g.like(v))], (F, v.sizes))


@step(2)
def gather(g):
    v = g.floats(1, 3)
    n = g.do("Shape", [v], (I, (1,)), start=0, end=1)
    at = g.do("Range", [g.constant(0), g.do("Squeeze", [n], (I, ())), g.constant(1)], (I, (v.sizes[0],)))
    if g.m.chance(0.5):
        at = g.do("Sub", [g.constant(-1), at], (I, at.sizes))  # backwards
    g.do("Gather", [v, at], (F, v.sizes), axis=0)


@step(1)
def split(g):
    v = g.floats(1, 3)
    a = g.m.int(0, v.rank - 1)
    twice = g.do("Concat", [v, g.like(v)], (F, v.sizes[:a] + (g.word(),) + v.sizes[a + 1 :]), axis=a)
    g.do("Split", [twice], (F, v.sizes), (F, v.sizes), axis=a, num_outputs=2)


@step(1)
def cumulate(g):
    v = g.floats(1)
    g.do("CumSum", [v, g.constant(g.m.int(0, v.rank - 1))], (F, v.sizes), reverse=g.m.int(0, 1))


# ---- nodes with a size that depends on data ---- --------------------------------------------------------------------------------------


@step(2)
def nonzero(g):
    v = g.floats(1, 3)
    v = g.do("Sign", [v], (F, v.sizes)) if g.m.chance(0.5) else v
    n = g.do("NonZero", [v], (I, (v.rank, g.word())))
    g.do("Cast", [n], (F, n.sizes), to=F)


@step(3)
def compress(g):
    v = g.floats(1, 1)
    c = g.do("Greater", [v, g.constant(g.m.one([0.0, 0.4]), F)], (B, v.sizes))
    g.do("Compress", [v, c], (F, (g.word(),)), axis=0)


@step(1)
def unique(g):
    v = g.clean(g.floats(1, 2))
    g.do("Unique", [g.do("Floor", [v], (F, v.sizes))], (F, (g.word(),)))


@step(3)
def slices(g):
    v = g.floats(1, 3)
    a = g.m.int(0, v.rank - 1)
    k = g.row(g.number())
    bounds = g.m.one([(g.constant([0]), k), (k, g.constant([99])), (g.constant([-2]), k), (g.constant([99]), g.constant([-99]))])
    step_of = g.m.one([1, 1, 2]) if bounds[1] is k or bounds[0] is k else -1
    g.do("Slice", [v, *bounds, g.constant([a]), g.constant([step_of])], (F, v.sizes[:a] + (g.word(),) + v.sizes[a + 1 :]))


@step(2)
def ranges(g):
    r = g.do("Range", [g.constant(g.m.int(0, 2)), g.number(6), g.constant(g.m.one([1, 1, 2]))], (I, (g.word(),)))
    g.do("Cast", [r], (F, r.sizes), to=F)


@step(2)
def expand(g):
    v = g.floats(0, 0)
    k = g.row(g.number())
    kind = g.m.one("one two tile fill".split())
    if kind == "one":
        g.do("Expand", [v, k], (F, (g.word(),)))
    elif kind == "two":
        g.do("Expand", [v, g.do("Concat", [k, g.row(g.number(3))], (I, (2,)), axis=0)], (F, (g.word(), g.word())))
    elif kind == "tile":
        g.do("Tile", [g.floats(1, 1), k], (F, (g.word(),)))
    else:
        g.do("ConstantOfShape", [k], (F, (g.word(),)), value=helper.make_tensor("value", F, [1], [2.5]))


@step(1)
def top(g):
    v = g.clean(g.floats(1, 2))
    n = g.do("Shape", [v], (I, (1,)), start=-1)
    k = g.do("Min", [n, g.row(g.number())], (I, (1,)))
    sizes = v.sizes[:-1] + (g.word(),)
    g.do("TopK", [v, k], (F, sizes), (I, sizes), axis=-1)


@step(1)
def pad(g):
    v = g.floats(1, 1)
    g.do("Pad", [v, g.do("Concat", list(g.m.permuted(g.constant([g.m.int(0, 1)]), g.row(g.number()))), (I, (2,)), axis=0)], (F, (g.word(),)))


@step(1)
def boxes(g):
    n = g.m.int(1, 6)
    corners = g.m.rng.uniform(0, 1, (1, n, 4)).round(2)
    scores = g.do("Reshape", [g.do("Expand", [g.floats(0, 0), g.constant([n])], (F, (n,))), g.constant([1, 1, n])], (F, (1, 1, n)))
    scores = g.do("Mul", [scores, g.constant(g.m.rng.uniform(-1, 1, (1, 1, n)).round(2), F)], (F, (1, 1, n)))
    many, overlap, least = g.constant([g.m.int(1, n)]), g.constant([0.4], F), g.constant([0.0], F)
    kept = g.do("NonMaxSuppression", [g.constant(corners, F), scores, many, overlap, least], (I, (g.word(), 3)))
    g.do("Cast", [kept], (F, kept.sizes), to=F)


# ---- errors at run time ---- -------------------------------------------------------------------------------


@step(1)
def divide(g):
    """A division by a number that is 0 in some runs."""
    n, by = g.number(), g.number(3)
    by = by if g.m.chance(0.5) else g.do("Add", [by, g.constant(1)], (I, ()))
    if g.m.chance(0.3):
        g.do("Cast", [g.do(g.m.one(["Div", "Mod"]), [g.do("Shape", [g.floats(1)], (I, (g.word(),))), by], (I, (g.word(),)))], (F, (g.word(),)), to=F)
    else:
        g.do("Cast", [g.do(g.m.one(["Div", "Mod"]), [n, by], (I, ()))], (F, ()), to=F)


@step(1)
def pick(g):
    """An index that is out of range in some runs."""
    v, at = g.floats(1, 3), g.constant(g.m.int(-3, 3)) if g.depth and g.m.chance(0.2) else g.number(3)
    at = g.do("Neg", [at], (I, ())) if g.m.chance(0.3) else at
    if g.m.chance(0.5):
        g.do("Gather", [v, at], (F, v.sizes[1:]), axis=0)
    else:
        g.do("Gather", [v, g.row(at)], (F, (1, *v.sizes[1:])), axis=0)


@step(1)
def scatter(g):
    v = g.floats(1, 1)
    at = g.row(g.number(3))
    g.do("ScatterElements", [v, at, g.do("Reshape", [g.floats(0, 0), g.constant([1])], (F, (1,)))], (F, v.sizes), axis=0)


# ---- graphs in nodes ------------------------------------------------------------------------------------------------------

MAX_DEPTH = 3


def results_of(g, wanted):
    """A value of g for each wanted (kind, rank), created if there is none."""
    out = []
    for kind, rank in wanted:
        made = {y for n in g.nodes for y in n.output}
        fit = [v for v in g.values if v.kind == kind and v.rank == rank and not v.sequence and v.name in made]
        out.append(fit[-1 - int(len(fit) * g.m.rng.random() ** 2)] if fit else g.floats(rank, rank))
    return out


@step(4)
def branches(g):
    if g.depth == MAX_DEPTH:
        return
    condition = g.condition()
    wanted = [(F, g.m.int(0, 2)) for _ in range(g.m.int(1, 2))]
    protos, sizes = {}, []
    for branch in "then_branch", "else_branch":
        inside = Graph(g.program, g)
        inside.grow(g.m.int(0, 4))
        out = results_of(inside, wanted)
        sizes.append([v.sizes for v in out])
        protos[branch] = inside.proto(branch, [], out)
    both = [tuple(a if a == b and a in known_outside(g) else g.word() for a, b in zip(p, q)) for p, q in zip(*sizes)]
    g.do("If", [condition], *((F, s) for s in both), **protos)


@step(3)
def ranks(g):
    """A value of one rank or another, with readers whose results have two ranks, too, until the ranks agree."""
    if g.depth == MAX_DEPTH:
        return
    m, v, condition = g.m, g.floats(1, 3), g.condition()

    def node(op, *inputs, **attrs):
        y = Value(g.program.name(), F, ())
        g.nodes.append(helper.make_node(op, [x.name for x in inputs], [y.name], **attrs))
        return y

    def both(of_then, of_else, by=condition):
        protos = {}
        for branch, make in ("then_branch", of_then), ("else_branch", of_else):
            inside = Graph(g.program, g)
            inside.grow(m.int(0, 2))
            y = make(inside)
            protos[branch] = helper.make_graph(inside.nodes, branch, [], [onnx.ValueInfoProto(name=y.name)])
        return node("If", by, **protos)

    def other(inside):
        if v.rank > 1 and m.chance(0.3):
            return inside.do("ReduceSum", [v, inside.constant([m.int(0, v.rank - 1)])], (F, ()), keepdims=0)
        return inside.do("Unsqueeze", [v, inside.constant([m.int(0, v.rank)])], (F, ()))

    def read(x, how):
        if how == "unary":
            return node(m.one("Tanh Neg Abs Transpose Identity".split()), x)
        if how == "binary":
            return node(m.one("Add Mul Max".split()), x, m.one([x, g.floats(0, 0), g.constant(0.5, F)]))
        if how == "first":
            return node(m.one(["Unsqueeze", "ReduceSum"]), x, g.constant([0]))
        if how == "longer":
            return node("Concat", x, x, axis=0)
        if how == "shape":
            s = node("Shape", x)
            return m.one([lambda: node("Expand", g.floats(0, 0), s), lambda: node("ConstantOfShape", s), lambda: node("Cast", s, to=F),
                          lambda: node("Reshape", x, node("Concat", g.constant([1]), s, axis=0), allowzero=1)])()
        if how == "branch":
            by = m.one([condition, g.condition()])
            return both(lambda inside: inside.do("Neg", [x], (F, ())), lambda inside: inside.do("Abs", [x], (F, ())), by)
        inside = Graph(g.program, g)
        turn, on, sum_ = Value(g.program.name(), I, ()), Value(g.program.name(), B, ()), Value(g.program.name(), F, ())
        inside.values += [turn, on, sum_]
        after = inside.do("Add", [sum_, inside.do("ReduceSum", [x], (F, ()), keepdims=0)], (F, ()))
        y = node("Loop", g.number(2), g.constant(True, B), g.floats(0, 0), body=inside.proto("body", [turn, on, sum_], [on, after]))
        return node("Reshape", y, g.constant([1]))

    x = both(*m.permuted(lambda inside: inside.do("Abs", [v], (F, ())), other))
    for _ in range(m.int(0, 4)):
        x = read(x, m.one("unary unary binary binary first longer shape branch loop".split()))
    if m.chance(0.5):
        g.do("Reshape", [x, g.constant([-1])], (F, (g.word(),)))
    else:
        g.do("ReduceSum", [x], (F, ()), keepdims=0)


def known_outside(g):
    return {d for v in g.values for d in v.sizes} | set(range(9))


@step(4)
def loops(g):
    if g.depth == MAX_DEPTH:
        return
    states = [g.floats(0, 2) for _ in range(g.m.int(0, 2))]
    turns = g.number(3) if g.m.chance(0.7) else g.constant(g.m.int(0, 3))
    goes = g.condition() if g.m.chance(0.3) else None
    rank, unstacked = g.m.int(0, 2), False  # without iterations the sizes of scan outputs are unknown
    if rank and not g.m.chance(0.2):
        turns, goes = g.do("Add", [turns, g.constant(1)], (I, ())), None
    else:
        unstacked = rank > 0
    inside = Graph(g.program, g)
    turn, on = Value(g.program.name(), I, ()), Value(g.program.name(), B, ())
    resized = [g.m.chance(0.25) for _ in states]
    given = [Value(g.program.name(), F, [g.word() for _ in v.sizes] if r else v.sizes) for v, r in zip(states, resized)]
    inside.values += [turn, on, *given]
    inside.grow(g.m.int(0, 5))
    after = []
    for v, r in zip(given, resized):
        same = [w for w in inside.values if w.kind == F and not w.sequence and (w.rank == v.rank if r else w.sizes == v.sizes)]
        after.append(same[-1 - int(len(same) * g.m.rng.random() ** 2)])
    stacked = results_of(inside, [(F, rank) for _ in range(g.m.int(0 if states else 1, 2))])
    goes_on = inside.condition() if g.m.chance(0.3) else on
    body = inside.proto("body", [turn, on, *given], [goes_on, *after, *stacked])
    trips, outside = g.word(), known_outside(g)
    results = [(F, [g.word() for _ in v.sizes] if r else v.sizes) for v, r in zip(states, resized)]
    results += [(F, (trips, *(d if d in outside else g.word() for d in v.sizes))) for v in stacked]
    g.do("Loop", [turns, goes, *states], *results, body=body)
    if unstacked and stacked:
        raw = g.values[-len(stacked):]
        del g.values[-len(stacked):]
        for v in raw:
            g.do("Reshape", [v, g.constant([-1])], (F, (g.word(),)))


@step(3)
def scans(g):
    if g.depth == MAX_DEPTH:
        return
    over = g.floats(1, 2)
    states = [g.floats(0, 1) for _ in range(g.m.int(0, 1))]
    inside = Graph(g.program, g)
    given = [Value(g.program.name(), F, v.sizes) for v in states]
    row = Value(g.program.name(), F, over.sizes[1:])
    inside.values += [*given, row]
    inside.grow(g.m.int(0, 4))
    after = [inside.like(v) for v in given]
    stacked = results_of(inside, [(F, g.m.int(0, 1)) for _ in range(g.m.int(0 if states else 1, 2))])
    body = inside.proto("body", [*given, row], [*after, *stacked])
    outside = known_outside(g)
    results = [(F, v.sizes) for v in states]
    places = [g.m.int(0, v.rank) if g.m.chance(0.3) else 0 for v in stacked]
    for v, at in zip(stacked, places):
        row = [d if d in outside else g.word() for d in v.sizes]
        results.append((F, (*row[:at], over.sizes[0], *row[at:])))
    attrs = {"scan_input_directions": [1]} if g.m.chance(0.2) else {}
    if any(places):
        attrs["scan_output_axes"] = places
    g.do("Scan", [*states, over], *results, body=body, num_scan_inputs=1, **attrs)


# ---- functions, which several places call --------------------------------------------------------------------------------

OWN = "program"


def imports():
    return [helper.make_opsetid("", VERSION), helper.make_opsetid(OWN, 1)]


class Outside:
    """Stands for the graph around a function's body: only the parameter is visible."""

    def __init__(self, v):
        self.values, self.optionals, self.depth = [v], [], MAX_DEPTH - 2


@step(3)
def calls(g):
    known = g.program.functions
    if not known or g.m.chance(0.4):
        x = Value("x", F, (g.word(), g.word()))
        inside = Graph(g.program, Outside(x))
        inside.grow(g.m.int(1, 5))
        y = inside.some(F)
        y = y if y is not x else inside.identity(x)
        nodes = needed(inside.nodes, {y.name})
        name = f"Shared{len(known)}"
        known.append((y, helper.make_function(OWN, name, ["x"], [y.name], nodes, imports())))
    y, function = g.m.one(known)
    v = g.floats(2, 2)
    for _ in range(g.m.int(1, 2)):
        result = Value(g.program.name(), F, [d if isinstance(d, int) else g.word() for d in y.sizes])
        g.nodes.append(helper.make_node(function.name, [v.name], [result.name], domain=OWN))
        g.values.append(result)


# ---- a program ------------------------------------------------------------------------------------------------------------


class Program:
    """A model and its inputs, which are Values. sizes: {word: its bound, or None if it is not a size of an input}."""

    def __init__(self, m):
        self.m, self.count, self.functions = m, 0, []
        g = Graph(self)
        words = {f"d{i}": 0 if m.chance(EMPTY) else m.int(1, SMALL) for i in range(m.int(1, 3))}
        self.inputs = [Value(f"x{i}", F, [self.size(words) for _ in range(m.int(1, 3))]) for i in range(m.int(1, 3))]
        self.inputs += [Value("k", I, ()), Value("c", B, ())]
        g.values += self.inputs
        while len(g.nodes) < 60:
            g.grow(m.int(3, 8))
            if m.chance(0.6):
                break
        made = [v for v in g.values[len(self.inputs):] if not v.sequence] or [g.identity(self.inputs[0])]
        self.outputs = list(dict.fromkeys(made[-1 - int(len(made) * m.rng.random() ** 2)] for _ in range(m.int(1, 3))))
        nodes = needed(g.nodes, {v.name for v in self.outputs})
        read = {x for n in nodes for x in names_read(n)}
        self.inputs = [v for v in self.inputs if v.name in read]
        self.words = {d: words[d] for v in self.inputs for d in v.sizes if isinstance(d, str)}
        declared = [helper.make_tensor_value_info(v.name, v.kind, v.sizes) for v in self.inputs]
        results = [helper.make_tensor_value_info(v.name, v.kind, [f"{v.name}_{i}" for i in range(v.rank)]) for v in self.outputs]
        graph = helper.make_graph(nodes, "program", declared, results)
        called = {n.op_type for n in all_nodes(nodes) if n.domain == OWN}
        called |= {n.op_type for _, f in self.functions for n in all_nodes(f.node) if n.domain == OWN}
        functions = [f for _, f in self.functions if f.name in called]
        self.model = helper.make_model(graph, opset_imports=imports(), functions=functions, ir_version=9)

    def has(self, *ops):
        nodes = [*self.model.graph.node, *(n for f in self.model.functions for n in f.node)]
        return any(n.op_type in ops for n in all_nodes(nodes))

    def size(self, words):
        return self.m.one(list(words)) if self.m.chance(0.7) else 0 if self.m.chance(EMPTY) else self.m.int(1, SMALL)

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def word(self):
        self.count += 1
        return f"w{self.count}"


def all_nodes(nodes):
    for n in nodes:
        yield n
        for a in n.attribute:
            yield from all_nodes(a.g.node)


def needed(nodes, wanted):
    """The nodes without unused ones, also in nested graphs, since ONNX Runtime may fail in nodes that need not be computed."""
    kept = []
    for n in reversed(nodes):
        if wanted & set(n.output):
            drop_unread(n, wanted)
            kept.append(n)
            wanted |= set(names_read(n))
    return kept[::-1]


def drop_unread(node, wanted):
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    if not graphs:
        return
    first = {"If": 0, "Loop": 1, "Scan": 0, "SequenceMap": 0}[node.op_type]  # of the graph's outputs, the node's first
    states = {"If": 0, "Loop": len(node.input) - 2, "Scan": len(node.input) - 1, "SequenceMap": 0}[node.op_type]
    for i in reversed(range(states, len(node.output))):
        if node.output[i] not in wanted:
            for a in node.attribute:
                if a.name == "scan_output_axes":
                    del a.ints[i - states]
            del node.output[i]
            for g in graphs:
                del g.output[i + first]
    for g in graphs:
        kept = needed(g.node, {y.name for y in g.output})
        del g.node[:]
        g.node.extend(kept)
