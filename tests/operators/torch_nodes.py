"""Evaluates models with torch, which can then differentiate them: graphs, control flow, sequences, elementwise operators and those that move
elements. torch_layers.py and torch_numeric.py have the other operators."""

import collections

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from call import register

F = torch.nn.functional
OPS = {}
KINDS = {1: torch.float32, 2: torch.uint8, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool, 10: torch.float16, 11: torch.float64,
         16: torch.bfloat16}


def op(*names, domain=""):
    """A decorator: the function, (node, inputs...) -> result or tuple of results, evaluates these operators."""
    return register(OPS, *names, domain=domain)


def tensor(x):
    """The tensor of an array or scalar, also one with strides that torch refuses."""
    return torch.from_numpy(np.array(x))


class Node:
    """A node: its attributes by name, and how many outputs it has."""

    def __init__(self, proto, env):
        self.proto, self.env, self.op, self.outputs = proto, env, proto.op_type, len(proto.output)
        self.attrs = {a.name: helper.get_attribute_value(a) for a in proto.attribute}

    def __call__(self, name, default=None):
        v = self.attrs.get(name, default)
        return v.decode() if isinstance(v, bytes) else tensor(numpy_helper.to_array(v)) if isinstance(v, onnx.TensorProto) else v

    def graph(self, name, *inputs):
        """The results of a graph that is an attribute."""
        g = self.attrs[name]
        return run(g, dict(zip((v.name for v in g.input), inputs)), self.env)


def run(graph, feed, outer=None):
    """The results of a graph for these inputs, by name."""
    env = collections.ChainMap(dict(feed), outer or {})
    for t in graph.initializer:
        env.setdefault(t.name, tensor(numpy_helper.to_array(t)))
    for proto in graph.node:
        results = OPS[proto.domain, proto.op_type](Node(proto, env), *(env[name] if name else None for name in proto.input))
        env.update((k, v) for k, v in zip(proto.output, results if isinstance(results, tuple) else (results,)) if k)
    return [env[v.name] for v in graph.output]


def ints(v):
    return [int(i) for i in v.flatten()]


# ---- elementwise ------------------------------------------------------------------------------------------------------------

SIMPLE = {
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin, "Asinh": torch.asinh, "Atan": torch.atan,
    "Atanh": torch.atanh, "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh, "Erf": torch.erf, "Exp": torch.exp, "Floor": torch.floor,
    "HardSwish": F.hardswish, "Identity": lambda x: x, "IsInf": torch.isinf, "IsNaN": torch.isnan, "Log": torch.log, "Mish": F.mish, "Neg": torch.neg,
    "Not": torch.logical_not, "Reciprocal": torch.reciprocal, "Relu": torch.relu, "Round": torch.round, "Sigmoid": torch.sigmoid,
    "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh, "Softplus": F.softplus, "Softsign": F.softsign, "Sqrt": torch.sqrt, "Tan": torch.tan,
    "Tanh": torch.tanh, "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Pow": torch.pow, "Less": torch.lt,
    "LessOrEqual": torch.le, "Greater": torch.gt, "GreaterOrEqual": torch.ge, "Equal": torch.eq, "And": torch.logical_and, "Or": torch.logical_or,
    "MatMul": torch.matmul, "Det": torch.linalg.det, "Where": torch.where,
}
for _name, _function in SIMPLE.items():
    OPS["", _name] = lambda n, *x, of=_function: of(*x)


@op("Div")
def div(n, a, b):
    return torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc")


@op("Mod")
def mod(n, a, b):
    return (torch.fmod if n("fmod", 0) else torch.remainder)(a, b)


@op("Sum", "Mean", "Max", "Min")
def several(n, *x):
    x = torch.broadcast_tensors(*x)
    if n.op == "Max" or n.op == "Min":
        return (torch.amax if n.op == "Max" else torch.amin)(torch.stack(x), 0)
    return sum(x) / (len(x) if n.op == "Mean" else 1)


@op("LeakyRelu", "Elu", "Celu", "Selu", "HardSigmoid", "ThresholdedRelu", "Shrink", "Swish", "Gelu")
def activation(n, x):
    alpha = n("alpha", {"LeakyRelu": 0.01, "HardSigmoid": 0.2}.get(n.op, 1.0))
    if n.op == "LeakyRelu":
        return F.leaky_relu(x, alpha)
    if n.op == "Elu":
        return F.elu(x, alpha)
    if n.op == "Celu":
        return F.celu(x, alpha)
    if n.op == "Selu":
        return n("gamma", 1.05070102214813232421875) * F.elu(x, n("alpha", 1.67326319217681884765625))
    if n.op == "HardSigmoid":
        return torch.clamp(alpha * x + n("beta", 0.5), 0, 1)
    if n.op == "ThresholdedRelu":
        return F.threshold(x, alpha, 0)
    if n.op == "Shrink":
        return torch.where(x < -n("lambd", 0.5), x + n("bias", 0.0), torch.where(x > n("lambd", 0.5), x - n("bias", 0.0), 0 * x))
    if n.op == "Swish":
        return x * torch.sigmoid(alpha * x)
    return F.gelu(x, approximate=n("approximate", "none"))


@op("SwiGLU")
def swiglu(n, a, b):
    return a * torch.sigmoid(n("alpha", 1.0) * a) * b


@op("PRelu")
def prelu(n, x, slope):
    return torch.where(x < 0, x * slope, x)


@op("Clip")
def clip(n, x, low=None, high=None):
    return torch.clamp(x, low, high)


@op("Cast", "CastLike")
def cast(n, x, like=None):
    return x.to(KINDS[n("to")] if like is None else like.dtype)


@op("Dropout")
def dropout(n, x, ratio=None, training=None):
    assert training is None or not training or ratio == 0, "random"
    return x, torch.ones_like(x, dtype=torch.bool)


@op("Softmax", "LogSoftmax", "Hardmax")
def softmax(n, x):
    axis = n("axis", -1)
    if n.op == "Hardmax":
        return F.one_hot(x.argmax(axis), x.shape[axis]).movedim(-1, axis).to(x.dtype)
    return (torch.softmax if n.op == "Softmax" else torch.log_softmax)(x, axis)


# ---- constants, shapes ----------------------------------------------------------------------------------------------------------


@op("Constant")
def constant(n):
    if "value_ints" in n.attrs:
        return torch.tensor(n("value_ints"), dtype=torch.int64)
    return n("value")


@op("ConstantOfShape")
def constant_of_shape(n, shape):
    v = n("value", helper.make_tensor("zero", 1, [1], [0.0]))
    return v.expand(ints(shape)).clone()


@op("EyeLike")
def eye_like(n, x):
    return torch.diag(torch.ones(max(x.shape), dtype=x.dtype), n("k", 0))[:x.shape[0], :x.shape[1]]


@op("Shape")
def shape(n, x):
    return torch.tensor(x.shape, dtype=torch.int64)


@op("Size")
def size(n, x):
    return torch.tensor(x.numel())


@op("Range")
def ranges(n, start, limit, delta):
    count = max(0, int(np.ceil(((limit - start) / delta).item())))
    return start + delta * torch.arange(count, dtype=start.dtype)


@op("Reshape")
def reshape(n, x, to):
    to = ints(to)
    return x.reshape([x.shape[i] if d == 0 and not n("allowzero", 0) else d for i, d in enumerate(to)])


@op("Flatten")
def flatten(n, x):
    axis = n("axis", 1) % (x.ndim + 1)
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


@op("Squeeze", "Unsqueeze")
def squeeze(n, x, axes=None):
    if n.op == "Squeeze":
        axes = [i for i, d in enumerate(x.shape) if d == 1] if axes is None else ints(axes)
        return x.squeeze(tuple(axes))
    for axis in sorted(a % (x.ndim + axes.numel()) for a in ints(axes)):
        x = x.unsqueeze(axis)
    return x


@op("Expand")
def expand(n, x, to):
    return x.expand(torch.broadcast_shapes(x.shape, ints(to)))


@op("Transpose")
def transpose(n, x):
    return x.permute(n("perm", list(range(x.ndim))[::-1]))


@op("Tile")
def tile(n, x, times):
    return x.tile(ints(times))


@op("Concat")
def concat(n, *x):
    return torch.cat(x, n("axis"))


@op("Split")
def split(n, x, sizes=None):
    axis = n("axis", 0)
    each = -(-x.shape[axis] // n("num_outputs", n.outputs))
    return torch.split(x, each if sizes is None else ints(sizes), axis)


# ---- moved elements -----------------------------------------------------------------------------------------------------------


def by_reference(n, *inputs):
    """The first result of ONNX's reference for these arrays, without a gradient."""
    feed = {f"x{i}": v for i, v in enumerate(inputs) if v is not None}
    given = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feed.items()]
    node = onnx.NodeProto()
    node.CopyFrom(n.proto)
    node.input[:] = [f"x{i}" if f"x{i}" in feed else "" for i in range(len(inputs))]
    ml = 3 if n.op in ("TreeEnsembleRegressor", "TreeEnsembleClassifier") else 5
    model = helper.make_model(helper.make_graph([node], "node", given, [onnx.ValueInfoProto(name=node.output[-1])]),
                              opset_imports=[helper.make_opsetid("", 26), helper.make_opsetid("ai.onnx.ml", ml)])
    return np.array(ReferenceEvaluator(model).run(None, feed)[0])


@op("Pad", "CenterCropPad", "DepthToSpace", "SpaceToDepth", "ReverseSequence", "Compress", "Slice", "Trilu")
def moved(n, x, *more):
    """The reference moves indices, from 1 on, which then select elements of x; 0 selects the fill value."""
    fill = torch.zeros((), dtype=x.dtype)
    if n.op == "Pad" and len(more) > 1 and more[1] is not None:
        fill, more = more[1], (more[0], torch.tensor(0), *more[2:])
    numbers = by_reference(n, *(None if v is None else v.detach().numpy() for v in (torch.arange(1, x.numel() + 1).reshape(x.shape), *more)))
    return torch.cat([fill.reshape(1), x.flatten()])[torch.from_numpy(numbers.astype(np.int64))]


@op("MelWeightMatrix")
def step(n, *x):
    """Operators whose gradient is zero."""
    results = [None] * (n.outputs - 1)
    return *results, tensor(by_reference(n, *(v.detach().numpy() for v in x)))


for _name in ("TreeEnsemble", "TreeEnsembleRegressor", "TreeEnsembleClassifier", "Binarizer", "LabelEncoder", "OneHotEncoder"):
    op(_name, domain="ai.onnx.ml")(step)


@op("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random(n, x):
    return torch.bernoulli(x) if n.op == "Bernoulli" else (torch.randn_like if n.op == "RandomNormalLike" else torch.rand_like)(x)


@op("Gather")
def gather(n, x, at):
    axis = n("axis", 0) % x.ndim
    at = at.long() % max(x.shape[axis], 1)
    return torch.index_select(x, axis, at.flatten()).reshape(*x.shape[:axis], *at.shape, *x.shape[axis + 1:])


@op("GatherElements")
def gather_elements(n, x, at):
    return torch.gather(x, n("axis", 0), at % x.shape[n("axis", 0)])


@op("GatherND")
def gather_nd(n, x, at):
    batch, k = n("batch_dims", 0), at.shape[-1]
    own = torch.meshgrid(*(torch.arange(d) for d in at.shape[:batch]), indexing="ij") if batch else ()
    own = [i.reshape(*i.shape, *[1] * (at.ndim - 1 - batch)) for i in own]
    return x[(*own, *(at[..., i] % x.shape[batch + i] for i in range(k)))]


REDUCTIONS = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}


@op("ScatterElements", "Scatter")
def scatter(n, x, at, updates):
    axis, how = n("axis", 0), n("reduction", "none")
    at = at % x.shape[axis]
    return x.scatter(axis, at, updates) if how == "none" else x.scatter_reduce(axis, at, updates, REDUCTIONS[how])


@op("ScatterND")
def scatter_nd(n, x, at, updates):
    how, k = n("reduction", "none"), at.shape[-1]
    numbers = torch.arange(x.numel()).reshape(x.shape)[tuple(at[..., i] for i in range(k))].flatten()
    flat = x.flatten()
    y = flat.scatter(0, numbers, updates.flatten()) if how == "none" else flat.scatter_reduce(0, numbers, updates.flatten(), REDUCTIONS[how])
    return y.reshape(x.shape)


@op("TensorScatter")
def tensor_scatter(n, past, new, at):
    axis = n("axis", -2) % past.ndim
    rows = (at.reshape(-1, 1) + torch.arange(new.shape[axis])) % (past.shape[axis] if n("mode", "linear") == "circular" else 1 << 40)
    rows = rows.reshape(new.shape[0], *[1] * (axis - 1), -1, *[1] * (new.ndim - axis - 1)).expand(new.shape)
    return past.scatter(axis, rows, new)


@op("TopK")
def top_k(n, x, k):
    return tuple(torch.topk(x, int(k), n("axis", -1), bool(n("largest", 1)), True))


@op("Unique")
def unique(n, x):
    axis = n("axis")
    at = np.unique(x.detach().numpy(), return_index=True, axis=axis)[1]
    at = torch.from_numpy(np.array(at if n("sorted", 1) else np.sort(at)))
    return x.flatten()[at] if axis is None else x.index_select(axis, at)


@op("OneHot")
def one_hot(n, at, depth, values):
    k = int(depth)
    hot = (at.unsqueeze(-1) % k == torch.arange(k)) & (at.unsqueeze(-1) < k) & (at.unsqueeze(-1) >= -k)
    return torch.where(hot.movedim(-1, n("axis", -1)), values[1], values[0])


# ---- reductions ---------------------------------------------------------------------------------------------------------------


@op(*(f"Reduce{how}" for how in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")))
def reduction(n, x, axes=None):
    if axes is None and "axes" in n.attrs:
        axes = torch.tensor(n("axes"))
    if (axes is None or axes.numel() == 0) and n("noop_with_empty_axes", 0):
        return x
    axes, keep, how = list(range(x.ndim)) if axes is None or axes.numel() == 0 else ints(axes), bool(n("keepdims", 1)), n.op[6:]
    if how == "Prod":
        for axis in sorted((a % x.ndim for a in axes), reverse=True):
            x = x.prod(axis, keepdim=keep)
        return x
    of = {"Sum": torch.sum, "Mean": torch.mean, "Max": torch.amax, "Min": torch.amin, "L1": lambda x, *a: x.abs().sum(*a),
          "L2": lambda x, *a: x.square().sum(*a).sqrt(), "SumSquare": lambda x, *a: x.square().sum(*a), "LogSum": lambda x, *a: x.sum(*a).log(),
          "LogSumExp": torch.logsumexp}[how]
    return of(x, axes, keep) if axes else of(x.unsqueeze(0), [0], False)


@op("ArgMax", "ArgMin")
def arg(n, x):
    return (torch.argmax if n.op == "ArgMax" else torch.argmin)(x, n("axis", 0), bool(n("keepdims", 1)))


@op("CumSum", "CumProd")
def cumulate(n, x, axis):
    axis, turn = int(axis), (lambda v: v.flip(int(axis))) if n("reverse", 0) else lambda v: v
    x = turn(x)
    if n("exclusive", 0):
        first = torch.full_like(x.narrow(axis, 0, 1), float(n.op == "CumProd"))
        x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    return turn((torch.cumsum if n.op == "CumSum" else torch.cumprod)(x, axis))


@op("Einsum")
def einsum(n, *x):
    return torch.einsum(n("equation"), *x)


@op("Gemm")
def gemm(n, a, b, c=None):
    y = n("alpha", 1.0) * ((a.T if n("transA", 0) else a) @ (b.T if n("transB", 0) else b))
    return y if c is None else y + n("beta", 1.0) * c


# ---- control flow -------------------------------------------------------------------------------------------------------------


@op("If")
def branch(n, condition):
    return tuple(n.graph("then_branch" if condition else "else_branch"))


@op("Loop")
def loop(n, trips, condition, *states):
    scans, i, states, on = [], 0, list(states), condition is None or bool(condition)
    while on and (trips is None or i < int(trips)):
        on, *results = n.graph("body", torch.tensor(i), torch.tensor(True), *states)
        states, row, i, on = results[:len(states)], results[len(states):], i + 1, bool(on)
        scans.append(row)
    if not scans:  # with the shapes that the body declares
        scans = [v.type.tensor_type for v in n.attrs["body"].output[1 + len(states):]]
        return *states, *(torch.zeros(0, *(d.dim_value for d in t.shape.dim), dtype=KINDS[t.elem_type]) for t in scans)
    return *states, *(torch.stack(rows) for rows in zip(*scans))


@op("Scan")
def scan(n, *inputs):
    many = n("num_scan_inputs")
    states, rows = list(inputs[:-many]), inputs[-many:]
    axes, turned = n("scan_input_axes", [0] * many), n("scan_input_directions", [0] * many)
    rows = [x.movedim(axis, 0).flip(0) if turn else x.movedim(axis, 0) for x, axis, turn in zip(rows, axes, turned)]
    scans = []
    for part in zip(*rows):
        results = n.graph("body", *states, *part)
        states, _ = results[:len(states)], scans.append(results[len(states):])
    scans = [torch.stack(s) for s in zip(*scans)]
    axes, turned = n("scan_output_axes", [0] * len(scans)), n("scan_output_directions", [0] * len(scans))
    return *states, *((y.flip(0) if turn else y).movedim(0, axis) for y, axis, turn in zip(scans, axes, turned))


# ---- sequences, optionals -------------------------------------------------------------------------------------------------------


@op("SequenceEmpty")
def sequence_empty(n):
    return []


@op("SequenceConstruct")
def sequence_construct(n, *x):
    return list(x)


@op("SequenceInsert")
def sequence_insert(n, s, x, at=None):
    at = len(s) if at is None else int(at) % (len(s) + (at >= 0))
    return [*s[:at], x, *s[at:]]


@op("SequenceErase")
def sequence_erase(n, s, at=None):
    at = (-1 if at is None else int(at)) % len(s)
    return s[:at] + s[at + 1:]


@op("SequenceAt")
def sequence_at(n, s, at):
    return s[int(at)]


@op("SequenceLength")
def sequence_length(n, s):
    return torch.tensor(len(s))


@op("SplitToSequence")
def split_to_sequence(n, x, sizes=None):
    axis = n("axis", 0)
    if sizes is None:
        return list(torch.split(x, 1, axis) if n("keepdims", 1) else torch.unbind(x, axis))
    return list(torch.split(x, ints(sizes) if sizes.ndim else int(sizes), axis))


@op("ConcatFromSequence")
def concat_from_sequence(n, s):
    return (torch.stack if n("new_axis", 0) else torch.cat)(s, n("axis"))


@op("SequenceMap")
def sequence_map(n, s, *more):
    rows = [n.graph("body", x, *(m[i] if isinstance(m, list) else m for m in more)) for i, x in enumerate(s)]
    return tuple(list(r) for r in zip(*rows))


@op("Optional")
def optional(n, x=None):
    return x


@op("OptionalHasElement")
def optional_has_element(n, x=None):
    return torch.tensor(x is not None)


@op("OptionalGetElement")
def optional_get_element(n, x):
    return x
