"""Random models of operators in versions before 7, which no evaluator implements, each with an equivalent in a newer version."""

import numpy as np
import onnx

from operators import BOOL, F16, F32, F64, Case, family, ints

FLOATS = [F32, F32, F64, F16]


def old(m, op, inputs, attrs=None, newer=None, *, until=6, since=1, to=13, **more):
    """The node in a version from `since` to `until`; `newer`: the (inputs, attributes) of its equivalent in version `to`, if they differ."""
    attrs = attrs or {}
    then = newer or (inputs, attrs)
    same = Case(more.pop("renamed", op), then[0], then[1], version=to, wanted=more.get("wanted", (0,)))
    if since == 1 and m.chance(0.2) and "consumed_inputs" in onnx.defs.get_schema(op, 1).attributes:
        attrs, until = {**attrs, "consumed_inputs": [0] * len(inputs)}, 5
    return Case(op, inputs, attrs, version=m.int(since, until), same=same, **more)


@family(2)
def elementwise(m):
    op = m.one("Abs Ceil Elu Exp Floor HardSigmoid Identity LeakyRelu Log Neg Reciprocal Relu Selu Sigmoid Softplus Softsign Sqrt Tanh "
               "Clip Max Min Sum Mean Not Softmax LogSoftmax Hardmax Flatten Shape Size Transpose Dropout".split())
    t = m.one(FLOATS)
    x = m.array(t, m.shape())
    if op in ("Max", "Min", "Sum", "Mean"):
        return old(m, op, [m.array(t, x.shape) for _ in range(m.int(1, 3))], to=8)
    if op == "Clip":
        attrs = {k: v for k, v in (("min", -0.5), ("max", 0.75)) if m.chance(0.7)}
        x = np.clip(x, -3e4, 3e4)
        return old(m, op, [x], attrs, ([x, *(np.array(attrs[k], t) if k in attrs else None for k in ("min", "max"))], {}))
    if op in ("Softmax", "LogSoftmax", "Hardmax", "Flatten"):
        x = m.array(t, m.shape(2, 4, 0))
        return old(m, op, [x], {"axis": m.int(0 if op == "Flatten" else 1, x.ndim - 1)} if m.chance(0.7) else {}, to=11)
    if op == "Not":
        return old(m, op, [m.array(BOOL, x.shape)])
    if op == "Dropout":
        return old(m, op, [x], {"is_test": 1, "ratio": 0.5}, ([x], {}), renamed="Identity")
    attrs = {"alpha": 0.5} if op in ("Elu", "LeakyRelu", "HardSigmoid", "Selu") and m.chance(0.6) else {}
    return old(m, op, [x], attrs, since=6 if op == "HardSigmoid" and t != F32 else 1)


@family(3)
def broadcast(m):
    """Before version 7 only the second operand was broadcast, along given axes."""
    op = m.one("Add Sub Mul Div Pow And Or Xor Equal Greater Less PRelu".split())
    t = BOOL if op in ("And", "Or", "Xor") else np.dtype(m.one(["int32", "int64"])) if op == "Equal" else m.one(FLOATS)
    if op in ("Add", "Sub", "Mul") and m.chance(0.3):
        t = np.dtype(m.one(["int32", "int64", "uint32", "uint64"]))
    x = m.array(t, m.shape(1, 4, 0))
    first, last = sorted(int(v) for v in m.rng.integers(0, x.ndim + 1, 2))
    shape = x.shape[first:last]
    if op == "PRelu":
        x = m.array(t, m.shape(2, 4, 0))
        y = m.array(t, m.one([(1,), (x.shape[1],)]))
        return old(m, op, [x, y], {}, ([x, y.reshape(y.shape + (1,) * (x.ndim - 2))], {}))
    y = m.array(t, shape)
    if op == "Div":
        y = np.where(np.abs(y) < 0.1, np.array(2, t), y).astype(t)
    if op == "Pow":
        x, y = np.abs(x) + np.array(0.1, t), np.round(y)
    since = 6 if t.kind in "iu" and op != "Equal" else 1
    if shape == x.shape and m.chance(0.7):
        return old(m, op, [x, y], since=since)
    attrs = {"broadcast": 1}
    if last < x.ndim or m.chance(0.4) and shape:
        attrs["axis"] = first if shape else 0
        if not shape:
            del attrs["axis"]
    return old(m, op, [x, y], attrs, ([x, y.reshape(shape + (1,) * (x.ndim - last)) if shape else y], {}), since=since)


@family(2)
def reduced(m):
    op = m.one("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare ArgMax ArgMin".split())
    x = m.array(m.one([F32, F64]), m.shape(1, 4, 0), low=0.5, high=2)
    attrs = {"keepdims": m.int(0, 1)} if m.chance(0.7) else {}
    if op.startswith("Arg"):
        return old(m, op, [x], {"axis": m.int(0, x.ndim - 1), **attrs})
    if m.chance(0.8):
        attrs["axes"] = sorted({int(a) for a in m.rng.integers(0, x.ndim, m.int(1, x.ndim))})
    return old(m, op, [x], attrs, to=11)


@family(4)
def moved(m):
    op = m.one("Cast Concat Pad Slice Split Reshape Squeeze Unsqueeze Tile TopK Gather DepthToSpace SpaceToDepth Constant Upsample".split())
    t = m.one(FLOATS)
    x = m.array(t, m.shape(1, 4, 0))
    rank, a = x.ndim, m.int(0, x.ndim - 1)
    if op == "Cast":
        to = m.one(["FLOAT", "INT32", "DOUBLE", "INT64", "BOOL", "UINT8"])
        x = np.abs(x)
        kind = getattr(onnx.TensorProto, to)
        if m.chance(0.5):
            return old(m, op, [x], {"to": to}, ([x], {"to": kind}), until=5)
        return old(m, op, [x], {"to": kind}, since=6)
    if op == "Concat":
        parts = [m.array(t, tuple(m.int(1, 3) if i == a else d for i, d in enumerate(x.shape))) for _ in range(m.int(1, 3))]
        if rank > 1 and m.chance(0.3):
            parts = [m.array(t, (x.shape[0], m.int(1, 3)) + x.shape[2:]) for _ in range(m.int(1, 3))]
            return old(m, op, parts, {}, (parts, {"axis": 1}), until=3)
        return old(m, op, parts, {"axis": a})
    if op == "Pad":
        pads = [m.int(-1 if x.shape[k % rank] > 2 else 0, 2) for k in range(2 * rank)]
        newer = [x, ints(*pads), np.array(1.5, t)], {}
        if m.chance(0.5):
            return old(m, op, [x], {"value": 1.5, "paddings": pads}, newer, until=1)
        return old(m, op, [x], {"value": 1.5, "pads": pads}, newer, since=2)
    if op == "Slice":
        axes = [int(k) for k in m.rng.permutation(rank)[: m.int(1, rank)]]
        starts, ends = [m.int(-4, 4) for _ in axes], [m.one([m.int(-4, 5), 2**31 - 1]) for _ in axes]
        return old(m, op, [x], {"axes": axes, "starts": starts, "ends": ends}, ([x, ints(*starts), ints(*ends), ints(*axes)], {}))
    if op == "Split":
        x = m.array(t, tuple(4 if i == a else d for i, d in enumerate(x.shape)))
        sizes = m.one([[2, 2], [1, 3], [4], [1, 1, 2]])
        wanted = tuple(range(len(sizes)))
        if m.chance(0.3):
            return old(m, op, [x, ints(*sizes)], {"axis": a}, until=1, consts=(1,), wanted=wanted)
        return old(m, op, [x], {"axis": a, "split": sizes}, ([x, ints(*sizes)], {"axis": a}), wanted=wanted)
    if op == "Reshape":
        to = [int(d) for d in m.rng.permutation(x.shape)]
        to[m.int(0, rank - 1)] = -1
        if m.chance(0.5):
            return old(m, op, [x], {"shape": to}, ([x, ints(*to)], {}), until=4)
        return old(m, op, [x, ints(*to)], since=5, consts=(1,))
    if op == "Squeeze":
        x = x.reshape((1,) + x.shape + (1,))
        axes = m.one([[0], [0, rank + 1], [rank + 1]])
        return old(m, op, [x], {"axes": axes}, ([x, ints(*axes)], {}))
    if op == "Unsqueeze":
        axes = m.one([[0], [rank], [0, rank + 1], [1]])
        return old(m, op, [x], {"axes": axes}, ([x, ints(*axes)], {}))
    if op == "Tile":
        n = m.int(1, 3)
        if m.chance(0.5):
            return old(m, op, [x, np.array(n, t), np.array(a, t)], {}, ([x, ints(*[n if i == a else 1 for i in range(rank)])], {}), until=5, consts=(1, 2))
        return old(m, op, [x, ints(*[m.int(1, 3) for _ in x.shape])], since=6, consts=(1,))
    if op == "TopK":
        k = m.int(1, x.shape[a])
        return old(m, op, [x], {"axis": a, "k": k}, ([x, ints(k)], {"axis": a}), wanted=(0, 1))
    if op == "Gather":
        return old(m, op, [x, m.array(np.int64, m.shape(0, 2, 0), low=0, high=x.shape[a] - 1)], {"axis": a})
    if op == "DepthToSpace":
        return old(m, op, [m.array(t, (1, 8, 2, 3))], {"blocksize": 2})
    if op == "SpaceToDepth":
        return old(m, op, [m.array(t, (1, 2, 4, 6))], {"blocksize": 2})
    if op == "Constant":
        value = onnx.numpy_helper.from_array(x)
        return old(m, op, [], {"value": value}, to=12)
    x = m.array(F32, (1, 2, 2, 3))
    h, w = m.one([1.0, 2.0, 3.0]), m.one([1.0, 2.0])
    attrs = {"mode": m.one(["nearest", "bilinear"])}
    newer = {"mode": attrs["mode"].replace("bilinear", "linear"), "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return old(m, op, [x], {**attrs, "height_scale": h, "width_scale": w}, ([x, None, np.array([1, 1, h, w], F32)], newer), renamed="Resize")


@family(3)
def layers(m):
    op = m.one("Gemm MatMul BatchNormalization InstanceNormalization Conv ConvTranspose MaxPool AveragePool GlobalMaxPool GlobalAveragePool LRN "
               "RNN GRU LSTM LpNormalization LpPool".split())
    x = m.array(F32, (2, 4, 5, 6))
    if op == "MatMul":
        return old(m, op, [m.array(F32, (2, 3, 4)), m.array(F32, (4, 5))])
    if op == "Gemm":
        attrs = {"transA": m.int(0, 1), "transB": m.int(0, 1), "alpha": 0.5}
        a, b = m.array(F32, (4, 3) if attrs["transA"] else (3, 4)), m.array(F32, (5, 4) if attrs["transB"] else (4, 5))
        c = m.array(F32, m.one([(3, 5), (5,), (1,), ()]))
        return old(m, op, [a, b, c], {**attrs, **({"broadcast": 1} if c.shape != (3, 5) else {})}, ([a, b, c], attrs))
    if op == "BatchNormalization":
        more = [m.array(F32, (4,)) for _ in range(3)] + [np.abs(m.array(F32, (4,)))]
        legacy = {"consumed_inputs": [0, 0, 0, 1, 1]}
        until = m.one([5, 6])
        return Case(op, [x, *more], {"is_test": 1, **(legacy if until == 5 else {})}, version=until, same=Case(op, [x, *more], version=9), rtol=1e-3)
    if op == "InstanceNormalization":
        return old(m, op, [x, m.array(F32, (4,)), m.array(F32, (4,))], rtol=1e-3)
    if op == "Conv":
        attrs = {"strides": [m.int(1, 2), 1], "pads": [m.int(0, 1) for _ in range(4)], "group": m.one([1, 2])}
        return old(m, op, [x, m.array(F32, (4, 4 // attrs["group"], 2, 3))], attrs, fixed=(1,))
    if op == "ConvTranspose":
        return old(m, op, [x, m.array(F32, (4, 2, 2, 3))], {"strides": [m.int(1, 2), 2], "pads": [m.int(0, 1) for _ in range(4)]}, fixed=(1,))
    if op in ("MaxPool", "AveragePool"):
        attrs = {"kernel_shape": [m.int(1, 3), 2], "strides": [m.int(1, 2), 1]}
        attrs.update(m.one([{}, {"auto_pad": m.one(["SAME_UPPER", "SAME_LOWER", "VALID"])}]))
        return old(m, op, [x], attrs, to=8 if op[0] == "M" else 7)
    if op == "LRN":
        return old(m, op, [x], {"size": m.int(1, 5), "alpha": 0.3})
    if op in ("RNN", "GRU", "LSTM"):
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
        x = m.array(F32, (3, 2, 4))
        inputs = [x, m.array(F32, (1, gates * 3, 4)), m.array(F32, (1, gates * 3, 3)), m.array(F32, (1, gates * 6)) if m.chance(0.6) else None]
        wanted = (0, 1, 2) if op == "LSTM" else (0, 1)
        attrs = {"hidden_size": 3, "direction": m.one(["forward", "reverse"])}
        return old(m, op, inputs, {**attrs, "output_sequence": 1}, (inputs, attrs), to=7, wanted=wanted, rtol=1e-3, fixed=(1, 2, 3))
    if op == "LpNormalization":
        return old(m, op, [x], {"axis": m.int(0, 3), "p": m.int(1, 2)}, to=21)
    if op == "LpPool":
        return old(m, op, [x], {"kernel_shape": [2, 2], "p": m.one([1, 2])}, to=11, since=2)
    return old(m, op, [x])


@family(2)
def gone(m):
    """Operators that were experimental until version 10; for those that ONNX Runtime lacks, a newer equivalent or the result is given."""
    op = m.one("Affine ScaledTanh ParametricSoftplus Scale ImageScaler Crop DynamicSlice ConstantFill GivenTensorFill LoopIndexTensor GRUUnit".split())
    version, x = m.int(1, 9), m.array(F32, (m.int(1, 2), m.int(1, 3), m.int(3, 5), m.int(3, 5)))
    if op in ("Affine", "ScaledTanh", "ParametricSoftplus"):
        return Case(op, [x], {"alpha": m.one([0.5, 1.5]), "beta": m.one([-0.5, 1.0])}, version=version)
    if op in ("Scale", "ImageScaler"):
        bias = {} if op == "Scale" else {"bias": [float(v) for v in m.array(F32, (x.shape[1],))]}
        return Case(op, [x], {"scale": m.one([0.5, 2.0]), **bias}, version=version)
    if op == "Crop":
        border = {"border": [m.int(0, 1) for _ in range(4)]}
        return Case(op, [x], {**border, **m.one([{}, {"scale": [m.int(1, 2), m.int(1, 2)]}])}, version=version)
    if op == "DynamicSlice":
        axes = [int(k) for k in m.rng.permutation(4)[: m.int(1, 4)]]
        inputs = [x, ints(*[m.int(-4, 2) for _ in axes]), ints(*[m.int(-2, 5) for _ in axes]), ints(*axes)]
        return Case(op, inputs, version=version, same=Case("Slice", inputs, version=13), sizes=False)
    if op == "LoopIndexTensor":
        a = m.int(0, 3)
        at = np.array(m.int(0, x.shape[a] - 1), m.one(["int32", "int64"]))
        return Case(op, [x, at], {"axis": a}, version=version, same=Case("Gather", [x, at], {"axis": a}, version=13))
    if op == "GRUUnit":
        state = m.array(F32, (m.int(1, 4), 3))
        gates, lengths = m.array(F32, (1, len(state), 9)), m.array(np.int32, (len(state),), low=0, high=4)
        update, t, drop = 1 / (1 + np.exp(-gates[..., 3:6])), np.array([m.int(0, 4)], np.int32), m.int(0, 1)
        y = np.where(t < lengths[:, None], state * update + np.tanh(gates[..., 6:]) * (1 - update), 0 if drop else state).astype(F32)
        return Case(op, [state, gates, lengths, t], {"drop_states": drop}, version=version, same=Case("Identity", [y], version=13))
    shape, more = m.shape(1, 3, 0), [2] * m.int(0, 1)
    whole = ints(*shape, *more)
    extra = {"extra_shape": more} if more else {}
    if op == "GivenTensorFill":
        values = m.array(F32, (int(np.prod(whole)),))
        same = Case("Reshape", [values, whole], version=13)
        return Case(op, [m.array(F32, shape)], {"values": [float(v) for v in values], **extra}, version=version, same=same, sizes=False)
    kind = m.one([F32, np.dtype("int32"), np.dtype("int64"), BOOL])
    value = {"value": 1.0, "dtype": onnx.helper.np_dtype_to_tensor_dtype(kind), **extra}
    inputs, how, consts = m.one([([], {"shape": shape}, ()), ([ints(*shape)], {"input_as_shape": 1}, (0,)), ([m.array(F32, shape)], {}, ())])
    same = Case("Expand", [np.array(1, kind), whole], version=13)
    return Case(op, inputs, {**value, **how}, consts=consts, version=version, same=same, sizes=False)
