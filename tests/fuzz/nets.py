"""Random models of several nodes: chains that fuse, networks, control flow, sequences; and operators of ai.onnx.ml."""

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from operators import BOOL, F32, F64, ML, Case, family, ints

SINCE, UNTIL = 18, 24


class Net:
    """A chain of nodes, with an example, and thus the shape, of every value."""

    def __init__(self, m):
        self.m, self.inputs, self.consts, self.nodes, self.of = m, [], [], [], {}

    def put(self, x, const=False):
        """An input or, with const, an initializer."""
        name = f"x{len(self.inputs)}"
        if const:
            self.consts.append(len(self.inputs))
        self.inputs.append(np.asarray(x))
        self.of[name] = self.inputs[-1]
        return name

    def do(self, op, *inputs, outputs=1, **attrs):
        names = [f"v{len(self.of) + i}" for i in range(outputs)]
        node = helper.make_node(op, inputs, names, **attrs)
        results = ReferenceEvaluator(node).run(None, {k: self.of[k] for k in inputs if k})
        self.of.update(zip(names, map(np.asarray, results)))
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def case(self, label, *outputs, **more):
        nodes = self.nodes + [helper.make_node("Identity", [v], [f"y{i}"]) for i, v in enumerate(outputs)]
        free = all(self.inputs[i].size == 1 for i in self.consts)
        more = {"version": self.m.int(SINCE, UNTIL), "sizes": free, **more}
        return Case(label, self.inputs, nodes=nodes, consts=tuple(self.consts), wanted=tuple(range(len(outputs))), **more)


BOUNDED = "Relu Sigmoid Tanh LeakyRelu HardSwish Abs Neg Erf Softplus HardSigmoid Elu Selu Sin Cos Celu".split()


def step(m, net, v):
    """Appends a node after v, of a kind that keeps numbers small."""
    x = net.of[v]
    kind = m.one(["unary", "unary", "unary", "spread", "spread", "clip", "where", "cast", "transpose", "reshape", "reduce", "slice", "concat",
                  "softmax", "norm", "matmul", "pad", "gather", "twice"])
    if kind == "unary" or x.ndim == 0:
        return net.do(m.one(BOUNDED), v)
    if kind == "spread":
        shape = m.smaller(x.shape)
        op = m.one(["Add", "Sub", "Mul", "Max", "Min"])
        other = net.put(m.array(x.dtype, shape, low=-2, high=2), const=m.chance(0.6))
        return net.do(op, *m.permuted(v, other))
    if kind == "clip":
        return net.do("Clip", v, net.put(np.array(-0.5, x.dtype), const=True), net.put(np.array(0.7, x.dtype), const=True))
    if kind == "where":
        chosen = net.do("Greater", v, net.put(np.array(0.1, x.dtype), const=True))
        return net.do("Where", chosen, *m.permuted(v, net.do("Neg", v)))
    if kind == "cast":
        to = m.one([TensorProto.FLOAT, TensorProto.DOUBLE])
        return net.do("Cast", v, to=to)
    if kind == "transpose":
        return net.do("Transpose", v, perm=[int(p) for p in m.rng.permutation(x.ndim)])
    if kind == "reshape":
        return net.do("Reshape", v, net.put(ints(*m.one([(-1,), x.shape[::-1], (x.shape[0], -1)])), const=True))
    if kind == "reduce":
        axes = net.put(ints(m.axis(x.ndim)), const=True)
        return net.do(m.one(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"]), v, axes, keepdims=m.int(0, 1))
    a = m.axis(x.ndim)
    if kind == "slice":
        n = x.shape[a]
        low = m.int(0, n - 1)
        return net.do("Slice", v, *(net.put(ints(k), const=True) for k in (low, m.int(low + 1, n), a)))
    if kind == "concat":
        parts = [v, net.do(m.one(BOUNDED), v)]
        return net.do("Concat", *m.permuted(*parts), axis=a)
    if kind == "softmax":
        return net.do("Softmax", v, axis=a)
    if kind == "norm":
        shape = x.shape[a:] if a >= 0 else x.shape[x.ndim + a:]
        if int(np.prod(shape)) < 2:
            return net.do("Tanh", v)
        v, *_ = [net.do("LayerNormalization", v, *(net.put(m.array(x.dtype, shape), const=True) for _ in range(2)), axis=a)]
        return v
    if kind == "matmul" and x.ndim > 1:
        w = net.put(m.array(x.dtype, (x.shape[-1], m.int(1, 5)), low=-1, high=1), const=True)
        return net.do("MatMul", v, w)
    if kind == "pad":
        return net.do("Pad", v, net.put(ints(*[m.int(0, 1) for _ in range(2 * x.ndim)]), const=True))
    if kind == "gather":
        return net.do("Gather", v, net.put(ints(*[m.axis(x.shape[a]) for _ in range(m.int(1, 3))]), const=True), axis=a)
    return net.do(m.one(["Mul", "Add"]), v, net.do("Sigmoid", v))


@family(14)
def chain(m):
    net = Net(m)
    v = net.put(m.array(m.one([F32, F32, F64]), m.shape(1, 4, 0), low=-2, high=2))
    passed = []
    for _ in range(m.int(2, 9)):
        v = step(m, net, v)
        passed.append(v)
        if net.of[v].size > 400:
            break
    outputs = [v] + ([m.one(passed[:-1])] if len(passed) > 1 and m.chance(0.3) else [])
    return net.case("Chain", *outputs, rtol=1e-3)


@family(8)
def image_network(m):
    net = Net(m)
    v = net.put(m.array(F32, (m.int(1, 2), m.int(1, 4), m.int(6, 9), m.int(6, 9)), low=-1, high=1))
    for _ in range(m.int(1, 4)):
        c, *size = net.of[v].shape[1:]
        kind = m.one(["conv", "conv", "depthwise", "pool", "residual", "norm", "act", "join"])
        if kind == "conv":
            k = m.int(1, 3)
            w = net.put(m.array(F32, (m.int(1, 6), c, k, k), low=-1, high=1) / np.float32(k), const=True)
            b = [net.put(m.array(F32, (net.of[w].shape[0],)), const=True)] if m.chance(0.6) else []
            v = net.do("Conv", v, w, *b, pads=[k // 2] * 4, strides=[m.int(1, 2) if min(size) > 3 else 1] * 2)
        elif kind == "depthwise":
            v = net.do("Conv", v, net.put(m.array(F32, (c, 1, 3, 3), low=-1, high=1), const=True), pads=[1] * 4, group=c)
        elif kind == "pool" and min(size) > 3:
            v = net.do(m.one(["MaxPool", "AveragePool"]), v, kernel_shape=[2, 2], strides=[2, 2])
        elif kind == "residual":
            w = net.put(m.array(F32, (c, c, 3, 3), low=-0.5, high=0.5), const=True)
            v = net.do("Add", *m.permuted(v, net.do(m.one(BOUNDED), net.do("Conv", v, w, pads=[1] * 4))))
        elif kind == "norm":
            more = [net.put(m.array(F32, (c,), low=0.5, high=1.5), const=True) for _ in range(4)]
            v = net.do("BatchNormalization", v, *more)
        elif kind == "join":
            v = net.do("Concat", v, net.do("Relu", v), axis=1)
        v = net.do(m.one(["Relu", "Sigmoid", "HardSwish", "LeakyRelu"]), v) if m.chance(0.6) else v
    if m.chance(0.4):
        v = net.do("Flatten", net.do("GlobalAveragePool", v))
        w = net.put(m.array(F32, (net.of[v].shape[1], 3)), const=True)
        v = net.do("Gemm", v, w, net.put(m.array(F32, (3,)), const=True))
    return net.case("Images", v, rtol=1e-3)


@family(6)
def quantised_network(m):
    """All scales are powers of two, so that every sum is exact and rounding cannot differ."""
    net, t = Net(m), np.dtype(m.one(["int8", "uint8"]))
    low = -128 if t == np.int8 else 0

    def there_and_back(v, scale):
        how = net.put(np.array(scale, F32), const=True), net.put(np.array(m.int(low + 100, low + 156), t), const=True)
        return net.do("DequantizeLinear", net.do("QuantizeLinear", v, *how), *how)

    def weights(*shape):
        per = m.chance(0.5)
        scale = np.exp2(m.array(np.int32, (shape[0],) if per else (), low=-6, high=-4)).astype(F32)
        w = net.put(m.array(np.int8, shape, low=-127, high=127), const=True)
        return net.do("DequantizeLinear", w, net.put(scale, const=True), net.put(np.zeros(scale.shape, np.int8), const=True), axis=0)

    v = there_and_back(net.put(m.array(F32, (1, m.int(1, 8), m.int(4, 8), m.int(4, 8)), low=-4, high=4)), 2.0**-5)
    for _ in range(m.int(1, 3)):
        c = net.of[v].shape[1]
        kind = m.one(["conv", "conv", "depthwise", "add", "pool", "relu", "join"])
        if kind == "conv":
            v = net.do("Conv", v, weights(m.int(1, 8), c, 3, 3), pads=[1] * 4)
        elif kind == "depthwise":
            v = net.do("Conv", v, weights(c, 1, 3, 3), pads=[1] * 4, group=c)
        elif kind == "add":
            v = net.do("Add", v, there_and_back(net.do("Relu", v), 2.0**-5))
        elif kind == "pool":
            v = net.do("MaxPool", v, kernel_shape=[2, 2])
        elif kind == "join":
            v = net.do("Concat", v, there_and_back(net.do("Neg", v), 2.0**-4), axis=1)
        if kind == "relu" or m.chance(0.3):
            v = net.do("Relu", v)
        v = there_and_back(v, 2.0 ** m.int(-4, -1))
    return net.case("Quantised", v)


# ---- control flow, sequences -------------------------------------------------------------------------------------------


def graph(name, inputs, nodes, outputs):
    """inputs, outputs: {name: (type, shape)}"""
    declared = [[helper.make_tensor_value_info(k, *v) for k, v in d.items()] for d in (inputs, outputs)]
    return helper.make_graph([helper.make_node(op, i, [o], **a) for op, i, o, a in nodes], name, *declared)


BOOLEAN, NUMBER, FLOAT = (TensorProto.BOOL, []), (TensorProto.INT64, []), TensorProto.FLOAT


@family(3)
def branches(m):
    x = m.array(F32, m.shape(0, 3))
    y = m.array(F32, x.shape)
    shape = x.shape
    graphs = {}
    for branch in "then_branch", "else_branch":
        op, other = m.one(["Add", "Sub", "Mul", "Max"]), m.one(["Relu", "Neg", "Tanh"])
        graphs[branch] = graph(branch, {}, [(other, ["x1"], branch + "_v", {}), (op, [branch + "_v", "x2"], branch[0], {})],
                               {branch[0]: (FLOAT, shape)})
    nodes = [helper.make_node("If", ["x0"], ["v"], **graphs), helper.make_node(m.one(["Relu", "Identity"]), ["v"], ["y0"])]
    return Case("If", [m.array(BOOL, ()), x, y], nodes=nodes, consts=m.one([(), (0,)]), version=m.int(13, UNTIL), sizes=False)


@family(3)
def loops(m):
    x, start = m.array(F32, m.shape(0, 3)), None
    start = m.array(F32, x.shape)
    trips, stop = m.int(0, 5), m.int(0, 6)
    body = graph("body", {"i": NUMBER, "go": BOOLEAN, "s": (FLOAT, x.shape)}, [
        (m.one(["Add", "Sub", "Max"]), ["s", "x2"], "t", {}), ("Tanh", ["t"], "u", {}), ("Neg", ["t"], "scan", {}),
        ("Less", ["i", "x3"], "on", {}),
    ], {"on": BOOLEAN, "u": (FLOAT, x.shape), "scan": (FLOAT, x.shape)})
    nodes = [helper.make_node("Loop", ["x0", "x1", "x4"], ["y0", "y1"], body=body)]
    inputs = [np.array(trips, np.int64), m.array(BOOL, ()), x, np.array(stop, np.int64), start]
    return Case("Loop", inputs, nodes=nodes, consts=m.one([(0,), (0, 1), (0, 1, 3)]), wanted=(0, 1), version=m.int(13, UNTIL), sizes=False)


@family(3)
def states(m):
    """A loop with several states, which the body exchanges, splits, concatenates, reshapes and stacks."""
    state, stacked = [f"s{k}" for k in range(m.int(1, 4))], m.int(0, 2)
    values, nodes = list(state), [("Identity", ["go"], "on", {}), ("Cast", ["i"], "f", {"to": FLOAT})]
    for k in range(m.int(1, 7)):
        a, b, v = m.one(values), m.one(values), f"v{k}"
        kind = m.one(["pair", "pair", "one", "product", "cut", "view", "turn", "softmax", "move"])
        nodes += {
            "pair": [(m.one(["Add", "Sub", "Max", "Mul"]), [a, b], v, {})],
            "one": [(m.one(["Tanh", "Relu", "Neg"]), [a], v, {})],
            "product": [("MatMul", [a, "x1"], v + "p", {}), ("Tanh", [v + "p"], v, {})],
            "cut": [("Slice", [a, "x2", "x3"], v + "l", {}), ("Slice", [a, "x3", "x4"], v + "r", {}),
                    (m.one(["Add", "Sub"]), [v + "l", v + "r"], v + "d", {}), ("Concat", [v + "d", v + m.one("lr")], v, {"axis": 0})],
            "view": [("Reshape", [a, "x5"], v + "w", {}), (m.one(["Relu", "Identity"]), [v + "w"], v + "u", {}),
                     ("Reshape", [v + "u", "x6"], v, {})],
            "turn": [("Add", [a, "f"], v, {})],
            "softmax": [("Softmax", [a], v, {"axis": m.int(0, 1)})],
            "move": [("Transpose", [a], v + "t", {"perm": [1, 0]}), ("Add", [v + "t", b], v, {})],
        }[kind]
        values.append(v)
    results = [f"r{k}" for k in range(len(state) + stacked)]
    nodes += [(m.one(["Identity", "Tanh"]), [m.one(values)], r, {}) for r in results]
    shape = FLOAT, (4, 4)
    body = graph("body", {"i": NUMBER, "go": BOOLEAN, **{s: shape for s in state}}, nodes,
                 {"on": BOOLEAN, **{r: shape for r in results}})
    inputs = [np.array(m.int(1, 5)), m.array(F32, (4, 4)), ints(0), ints(2), ints(4), ints(2, 8), ints(4, 4)]
    starts = [f"x{len(inputs) + k}" for k in range(len(state))]
    outputs = [f"y{k}" for k in range(len(results))]
    nodes = [helper.make_node("Loop", ["x0", "", *starts], outputs, body=body)]
    inputs += [m.array(F32, (4, 4), low=-1, high=1) for _ in state]
    return Case("Loop", inputs, nodes=nodes, consts=(0, 2, 3, 4, 5, 6), wanted=tuple(range(len(outputs))), version=m.int(13, UNTIL),
                sizes=False, rtol=1e-3)


@family(3)
def resized(m):
    """A loop whose states change size in every iteration: they grow, shrink, are concatenated, are exchanged."""
    state, rows = [f"s{k}" for k in range(m.int(1, 3))], (FLOAT, (None, 3))
    values, nodes = list(state), [("Identity", ["go"], "on", {})]
    for k in range(m.int(1, 5)):
        a, b, v = m.one(values), m.one(values), f"v{k}"
        nodes += {
            "grow": [("Concat", m.one([[a, "x1"], ["x1", a]]), v, {"axis": 0})],
            "join": [("Slice", [b, "x2", "x3"], v + "p", {}), ("Concat", [a, v + "p"], v, {"axis": 0})],
            "double": [("Concat", [a, b], v, {"axis": 0})],
            "shrink": [("Slice", [a, "x3", "x4"], v, {})],
            "one": [(m.one(["Tanh", "Neg"]), [a], v, {})],
            "row": [("Add", [a, "x5"], v, {})],
        }[m.one("grow grow join double shrink shrink one row".split())]
        values.append(v)
    results = [f"r{k}" for k in range(len(state))]
    nodes += [(m.one(["Identity", "Tanh"]), [m.one(values)], r, {}) for r in results]
    nodes.append(("ReduceSum", [m.one(values), "x2"], "sum", {"keepdims": 0}))
    body = graph("body", {"i": NUMBER, "go": BOOLEAN, **{s: rows for s in state}}, nodes,
                 {"on": BOOLEAN, **{r: (FLOAT, (f"{r}_rows", 3)) for r in results}, "sum": (FLOAT, (3,))})
    inputs = [np.array(m.int(0, 5)), m.array(F32, (m.int(1, 2), 3)), ints(0), ints(1), ints(99), m.array(F32, (1, 3))]
    starts = [f"x{len(inputs) + k}" for k in range(len(state))]
    outputs = [f"y{k}" for k in range(len(results) + 1)]
    nodes = [helper.make_node("Loop", ["x0", "", *starts], outputs, body=body)]
    inputs += [m.array(F32, (m.int(0, 3), 3), low=-1, high=1) for _ in state]
    return Case("Loop", inputs, nodes=nodes, consts=(0, 2, 3, 4), wanted=tuple(range(len(outputs))), version=m.int(13, UNTIL),
                sizes=False, rtol=1e-3)


@family(3)
def scans(m):
    steps, shape = m.int(1, 5), m.shape(0, 2, 0)
    axis, out, back, there = m.int(0, len(shape)), m.int(0, len(shape)), m.int(0, 1), m.int(0, 1)
    x = m.array(F32, shape[:axis] + (steps,) + shape[axis:])
    body = graph("body", {"s": (FLOAT, shape), "e": (FLOAT, shape)}, [
        (m.one(["Add", "Mul", "Min"]), ["s", "e"], "t", {}), ("Sigmoid", ["t"], "z", {}),
    ], {"t": (FLOAT, shape), "z": (FLOAT, shape)})
    nodes = [helper.make_node("Scan", ["x0", "x1"], ["y0", "y1"], body=body, num_scan_inputs=1, scan_input_axes=[axis],
                              scan_output_axes=[out], scan_input_directions=[back], scan_output_directions=[there])]
    return Case("Scan", [m.array(F32, shape), x], nodes=nodes, wanted=(0, 1), version=m.int(11, UNTIL), sizes=False)


@family(4)
def sequences(m):
    x = [m.array(F32, m.shape(1, 3, 0)) for _ in range(1)]
    x += [m.array(F32, x[0].shape) for _ in range(2)]
    n = len(x)
    make = helper.make_node
    if m.chance(0.3):
        a = m.axis(x[0].ndim)
        split = m.one([None, np.array(m.int(1, 3), np.int64)])
        nodes = [make("SplitToSequence", ["x0"] + (["x1"] if split is not None else []), ["s"], axis=a, keepdims=m.int(0, 1)),
                 make("SequenceAt", ["s", "x2"], ["y0"]), make("SequenceLength", ["s"], ["y1"])]
        inputs = [x[0], split, np.array(m.one([0, -1]), np.int64)]
        return Case("SplitToSequence", inputs, nodes=nodes, consts=(1, 2), names=["y0", "y1", "s"], version=m.int(11, UNTIL), sizes=False)
    nodes, s = [make("SequenceConstruct", ["x0", "x1"], ["s0"])], "s0"
    count, inputs = 2, list(x)
    for k in range(m.int(0, 3)):
        at = f"x{len(inputs)}"
        if m.chance(0.6):
            inputs.append(np.array(m.int(-count, count), np.int64))
            nodes.append(make("SequenceInsert", [s, "x2"] + ([at] if m.chance(0.8) else []), [f"s{k + 1}"]))
            count += 1
        elif count > 1:
            inputs.append(np.array(m.int(-count, count - 1), np.int64))
            nodes.append(make("SequenceErase", [s] + ([at] if m.chance(0.8) else []), [f"s{k + 1}"]))
            count -= 1
        else:
            break
        s = f"s{k + 1}"
    inputs.append(np.array(m.int(-count, count - 1), np.int64))
    nodes.append(make("SequenceAt", [s, f"x{len(inputs) - 1}"], ["y0"]))
    new = m.int(0, 1)
    nodes.append(make("ConcatFromSequence", [s], ["y1"], axis=m.axis(x[0].ndim + new), new_axis=new))
    used = {i for node in nodes for i in node.input}
    inputs = [v if f"x{i}" in used else None for i, v in enumerate(inputs)]
    consts = tuple(range(n, len(inputs))) if m.chance(0.7) else ()
    return Case("Sequence", inputs, nodes=nodes, consts=consts, names=["y0", "y1", s], version=m.int(11, UNTIL))


@family(2)
def from_nothing(m):
    """A sequence that is empty at first."""
    x, n = m.array(F32, m.shape(1, 3, 0)), m.int(0, 3)
    nodes = [helper.make_node("SequenceEmpty", [], ["s0"], dtype=FLOAT)]
    for i in range(n):
        v = m.one(["x0", "v"])
        nodes.append(helper.make_node("SequenceInsert", [f"s{i}", v] + ["at"] * (i > 0 and m.chance(0.5)), [f"s{i + 1}"]))
    nodes = [helper.make_node("Neg", ["x0"], ["v"]), helper.make_node("Constant", [], ["at"], value_int=0), *nodes,
             helper.make_node("SequenceLength", [f"s{n}"], ["y0"])]
    if n:
        nodes.append(helper.make_node("ConcatFromSequence", [f"s{n}"], ["y1"], axis=m.axis(x.ndim)))
    return Case("Sequence", [x], nodes=nodes, names=["y0", "y1", f"s{n}"] if n else ["y0"], version=m.int(13, UNTIL), sizes=False)


@family(3)
def mapped(m):
    """SequenceMap: every element becomes another one and a vector; the body reads an outer tensor, or the elements of a second
    sequence."""
    n, c, both = m.int(1, 3), m.int(1, 4), m.chance(0.4)
    parts = [m.array(F32, (m.int(1, 4), c)) for _ in range(n)]
    more = [m.array(F32, m.one([p.shape, (1, c)])) for p in parts] if both else [m.array(F32, (c,))]
    body = graph("body", {"e": (FLOAT, ["n", c]), "w": (FLOAT, ["k", c] if both else [c])}, [
        (m.one(["Add", "Mul", "Max"]), ["e", "w"], "f", {}), (m.one(["Tanh", "Neg"]), ["f"], "g", {}),
        ("Concat", m.one([["f", "g"], ["g"]]), "t", {"axis": 0}), ("ReduceMax", ["f"], "z", {"keepdims": 1}),
    ], {"t": (FLOAT, ["m", c]), "z": (FLOAT, [1, 1])})
    names = [f"x{i}" for i in range(n + len(more))]
    nodes = [helper.make_node("SequenceConstruct", names[:n], ["s"])]
    nodes += [helper.make_node("SequenceConstruct", names[n:], ["r"])] if both else []
    nodes += [helper.make_node("SequenceMap", ["s", "r" if both else names[n]], ["t", "z"], body=body),
              helper.make_node("ConcatFromSequence", ["t"], ["y0"], axis=0), helper.make_node("ConcatFromSequence", ["z"], ["y1"], axis=0)]
    return Case("SequenceMap", parts + more, nodes=nodes, names=["y0", "y1", "t", "z"], version=m.int(17, UNTIL), sizes=False)


# ---- ai.onnx.ml --------------------------------------------------------------------------------------------------------


def floats(m, n):
    return [float(v) for v in m.array(F32, (n,), low=-2, high=2)]


@family(10)
def learned(m):
    op = m.one("Scaler Normalizer Binarizer ArrayFeatureExtractor Imputer LabelEncoder LabelEncoder FeatureVectorizer OneHotEncoder LinearRegressor "
               "LinearClassifier SVMRegressor SVMClassifier".split())
    n, c = m.int(1, 5), m.int(1, 5)
    x = m.array(F32, (n, c), low=-2, high=2)
    post, unused = m.one(["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]), m.one([0, 0, 0, 2])
    fixed = (0,) if unused else ()  # the features, if unknown, are as many as the coefficients
    if op == "Scaler":
        k = m.one([1, c])
        return Case(op, [m.array(m.one([F32, F64, np.int64, np.int32]), x.shape)], {"offset": floats(m, k), "scale": floats(m, k)}, domain=ML)
    if op == "Normalizer":
        return Case(op, [m.array(m.one([F32, F64, np.int64, np.int32]), x.shape)], {"norm": m.one(["MAX", "L1", "L2"])}, domain=ML)
    if op == "Binarizer":
        return Case(op, [x], {"threshold": m.one([0.0, 0.5])}, domain=ML)
    if op == "ArrayFeatureExtractor":
        return Case(op, [x, m.array(np.int64, (1, m.int(1, 4)), low=0, high=c - 1)], domain=ML, sizes=False)
    if op == "Imputer":
        x[m.rng.random(x.shape) < 0.3] = np.nan
        return Case(op, [x], {"imputed_value_floats": floats(m, m.one([1, c])), "replaced_value_float": float("nan")}, domain=ML)
    if op == "LabelEncoder":
        t, keys = m.one([(np.int64, "int64s"), (F32, "floats")])
        to = m.one(["int64s", "floats", "strings"])
        of = {"int64s": [7, -3, 0, 5], "floats": [1.5, -0.25, 3.0, 2.0], "strings": ["a", "b c", "", "\u00e9"]}
        attrs = {f"keys_{keys}": of[keys][: m.int(1, 4)]}
        attrs[f"values_{to}"] = of[to][: len(attrs[f"keys_{keys}"])]
        return Case(op, [np.asarray(m.rng.choice(np.array(of[keys] + [9]), (n, c))).astype(t)], attrs, domain=ML, since=2)
    if op == "FeatureVectorizer":
        parts = [m.array(F32, (n, m.int(1, 3))) for _ in range(m.int(1, 3))]
        return Case(op, parts, {"inputdimensions": [p.shape[1] for p in parts]}, domain=ML)
    if op == "OneHotEncoder":
        return Case(op, [m.array(m.one([np.int64, F32]), (n, c), low=0, high=4).round()], {"cats_int64s": [0, 3, 2, 1, 4], "zeros": 1}, domain=ML)
    if op == "LinearRegressor":
        k = m.int(1, 3)
        return Case(op, [x], {"coefficients": floats(m, k * c + unused), "intercepts": floats(m, k), "targets": k, "post_transform": post}, domain=ML,
                    fixed=fixed)
    k = m.int(3, 4)
    if op == "LinearClassifier":
        attrs = {"coefficients": floats(m, k * (c + unused)), "intercepts": floats(m, k), "classlabels_ints": [4, 2, 9, 1][:k], "post_transform": post}
        return Case(op, [x], attrs, wanted=(0, 1), domain=ML, fixed=fixed)
    kernel = {"kernel_type": m.one(["LINEAR", "POLY", "RBF", "SIGMOID"]), "kernel_params": [0.5, 0.1, 2.0]}
    if op == "SVMRegressor":
        s = m.int(1, 4)
        attrs = {**kernel, "n_supports": s, "coefficients": floats(m, s + unused), "support_vectors": floats(m, s * c), "rho": floats(m, 1)}
        return Case(op, [x], attrs, domain=ML, rtol=1e-3)
    per = [m.int(1, 2) for _ in range(k)]
    s = sum(per)
    attrs = {**kernel, "vectors_per_class": per, "coefficients": floats(m, s * (k - 1) + unused), "support_vectors": floats(m, s * c),
             "rho": floats(m, k * (k - 1) // 2), "classlabels_ints": [4, 2, 9, 1][:k]}
    return Case(op, [x], attrs, wanted=(0, 1), domain=ML, rtol=1e-3)
