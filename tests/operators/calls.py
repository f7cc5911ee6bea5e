"""Calls of operators: elementwise ones, moves, fills, reductions, random ones; operators with graphs; containers."""

import ml_dtypes
import numpy as np
from onnx import helper, numpy_helper

from call import Call, calls, dtype, element, floats, ints, is_float, is_int, kind_of, number, to_type, values

# ---- elementwise ----------------------------------------------------------------------------------------------------------


@calls("Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Exp", "Sigmoid", "Tanh", "Relu", "Elu", "Selu", "LeakyRelu", "Softplus",
       "Softsign", "Erf", "HardSigmoid", "HardSwish", "Mish", "Celu", "ThresholdedRelu", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Asinh",
       "Atan", "Swish", "IsNaN", "Hardmax", "Softmax", "LogSoftmax", "BitwiseNot", "Not", "LpNormalization")
def unary(c):
    trust = "reference" if c.op == "Round" else ""
    attrs = {"axis": 1} if c.op in ("Hardmax", "Softmax", "LogSoftmax") else {}
    return Call([c.x(c.inputs[0], 2, 5)], attrs, trust=trust)


@calls("Log", "Sqrt", "Reciprocal")
def of_positive(c):
    return Call([c.x("T", 2, 5, low=0.25, high=4)])


@calls("Asin", "Acos", "Atanh")
def of_part(c):
    return Call([c.x("T", 2, 5, low=-0.75, high=0.75)])


@calls("Acosh")
def acosh(c):
    return Call([c.x("T", 2, 5, low=1, high=4)])


@calls("Gelu")
def gelu(c):
    return Call([c.x("T", 2, 5)], {"approximate": "tanh"})


@calls("Shrink")
def shrink(c):
    def by(x):
        d = x.astype(float)
        y = np.where(d < 0.5, d + 1.5, np.where(d > -0.5, d - 1.5, 0))
        return [y if is_float(c["T"]) else np.trunc(y)]

    return Call([c.x("T", 2, 5)], {"bias": 1.5, "lambd": -0.5}, by=by)


@calls("IsInf")
def is_inf(c):
    x = c.x(c.inputs[0], 2, 5)
    return Call([x], by=lambda x: [np.isinf(x.astype(np.float32))])


@calls("Add", "Sub", "Mul", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr",
       "BitwiseXor", "StringConcat", "PRelu")
def binary(c):
    later = 7 if c.op != "PRelu" else 1
    return Call([c.x(c.inputs[0], 2, 3), c.x(c.inputs[1], *((3,) if c.version >= later and c.op != "PRelu" else (2, 3)), at=1)])


@calls("Div", "Mod")
def divisions(c):
    a, b = c.x("T", 2, 3, low=1, high=7), c.x("T", 2, 3, low=1, high=3, at=1)
    if c.op == "Mod":
        return Call([a, b], {"fmod": 1} if is_float(c["T"]) else {})
    return Call([a, b], by=lambda a, b: [a // b if a.dtype.kind in "iu" else a / b])


@calls("Pow")
def power(c):
    exponent = c.x(c.inputs[1], 2, 3, low=0, high=3, at=1)
    return Call([c.x("T", 2, 3, low=1, high=3), exponent], by=lambda a, b: [np.power(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)])


@calls("BitShift")
def shift(c):
    return Call([c.x("T", 2, 3, low=1, high=9), c.x("T", 2, 3, low=0, high=3, at=1)], {"direction": "LEFT"},
                by=lambda a, b: [a << b])


@calls("Max", "Min", "Sum", "Mean")
def several(c):
    how = {"Max": np.maximum, "Min": np.minimum}.get(c.op, np.add)
    shape = (2, 3) if c.version < 8 else (3,)
    parts = [c.x("T", 2, 3), c.x("T", *shape, at=1), c.x("T", *shape, at=2)]
    return Call(parts, by=lambda x, y, z: [how(how(x, y), z) / (3 if c.op == "Mean" else 1) if c.op == "Mean" else how(how(x, y), z)])


@calls("Clip")
def clip(c):
    limits = {"min": -1.0, "max": 2.0}
    if c.version < 11:
        return Call([c.x("T", 2, 5)], limits, by=lambda x: [np.clip(x, -1, 2)])
    return Call([c.x("T", 2, 5), c.x("T", low=1, high=1), c.x("T", low=2, high=2)])


@calls("Where")
def where(c):
    return Call([c.x("B", 2, 1), c.x("T", 2, 3), c.x("T", 3, at=1)])


@calls("Dropout")
def dropout(c):
    x = c.x("T", 2, 5)
    if c.version < 12:
        attrs = {"is_test": 1} if c.version < 7 else {}
        return Call([x], attrs, by=lambda x: [x])
    # all are kept
    training = "T2" in c.types
    inputs = [x, c.x("T1", low=0, high=0), np.array(training)]
    return Call(inputs, outputs=2, consts=(1, 2), by=lambda x, *_: [x, np.ones(x.shape, bool)])


# ---- casts -----------------------------------------------------------------------------------------------------------------


def exact(v, t):
    """Can the type represent this number?"""
    if t == "string":
        return True
    if t == "bool":
        return v in (0, 1)
    if is_int(t):
        return v == int(v) and ml_dtypes.iinfo(dtype(t)).min <= v <= ml_dtypes.iinfo(dtype(t)).max
    return v in (0.5, 1, 2, 4) if t == "float8e8m0" else float(np.float64(v).astype(dtype(t))) == v


@calls("Cast", "CastLike")
def cast(c):
    source, target = c["T1"], c["T2"]
    whole = is_int(target) or (source == "string" and target == "bool")

    def fits(v):
        to = int(v) if is_int(target) else v
        return exact(v, source) and (target == "bool" or exact(to, target)) and (not whole or source != "string" or v == int(v))
    numbers = np.resize([v for v in (1, 0, 2, -1, 0.5, -2, 3, -1.5) if fits(v)], (2, 3)).astype(float)
    result = numbers != 0 if target == "bool" else np.trunc(numbers) if is_int(target) else numbers
    result = to_type(result, "string") if target == "string" else result.astype(dtype(target))
    attrs = {} if c.op == "CastLike" else {"to": target.upper() if c.version < 6 else number(target)}
    inputs = [to_type(numbers, "string") if source == "string" else numbers.astype(dtype(source))]
    return Call(inputs + [c.x("T2", 1, low=1, high=1)] * (c.op == "CastLike"), attrs, by=lambda *_: [result])


@calls("BitCast")
def bit_cast(c):
    size = dtype(c["T2"]).itemsize, bits(c["T2"])
    if bits(c["T1"]) != bits(c["T2"]):
        same = [t for t in c.of["T2"] if bits(t) == bits(c["T1"])]
        if c["T1"] != "float" or c["T2"] == "float":
            c.types["T2"] = same[0]
        else:
            c.types["T1"] = next(t for t in c.of["T1"] if bits(t) == size[1])
    x = c.x("T1", 2, 4)
    if bits(c["T1"]) < 8:
        return Call([x], {"to": number(c["T2"])}, trust="reference", widen=False)
    return Call([x], {"to": number(c["T2"])}, widen=False, by=lambda _: [x.view(dtype(c["T2"]))])


def bits(t):
    return {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}.get(t) or (1 if t == "bool" else dtype(t).itemsize * 8)


# ---- movement --------------------------------------------------------------------------------------------------------------


@calls("Transpose")
def transpose(c):
    return Call([c.x("T", 2, 3, 2)], {"perm": [2, 0, 1]}, by=lambda x: [x.transpose(2, 0, 1)])


@calls("Flatten")
def flatten(c):
    return Call([c.x("T", 2, 3, 2)], by=lambda x: [x.reshape(2, 6)])


@calls("Reshape")
def reshape(c):
    if c.version < 5:
        return Call([c.x("T", 2, 6)], {"shape": [3, -1]}, by=lambda x: [x.reshape(3, 4)])
    return Call([c.x("T", 2, 6), ints(3, -1)], consts=(1,), by=lambda x, _: [x.reshape(3, 4)])


@calls("Squeeze", "Unsqueeze")
def ones(c):
    x = c.x("T", 1, 3, 1, 2) if c.op == "Squeeze" else c.x("T", 3, 2)
    by = (lambda x, *_: [x.reshape(3, 2)]) if c.op == "Squeeze" else (lambda x, *_: [x.reshape(1, 3, 1, 2)])
    if c.version < 13:
        return Call([x], {"axes": [0, 2]}, by=by)
    return Call([x, ints(0, 2)], consts=(1,), by=by)


@calls("Expand")
def expand(c):
    return Call([c.x("T", 2, 1), ints(2, 3)], consts=(1,), by=lambda x, _: [np.broadcast_to(x, (2, 3))])


@calls("Tile")
def tile(c):
    if c.version < 6:
        return Call([c.x("T", 2, 2), c.x("T", low=3, high=3), c.x("T", low=1, high=1)], consts=(1, 2), by=lambda x, *_: [np.tile(x, (1, 3))])
    return Call([c.x("T", 2, 2), ints(2, 3)], consts=(1,), by=lambda x, _: [np.tile(x, (2, 3))])


@calls("Concat")
def concat(c):
    return Call([c.x("T", 2, 2), c.x("T", 2, 3, at=1)], {"axis": 1}, by=lambda a, b: [np.concatenate([a, b], 1)])


@calls("Split")
def split(c):
    x, by = c.x("T", 2, 5), lambda x, *_: [x[:, :2], x[:, 2:]]
    if c.version == 1:
        return Call([x, c.x("T", 2, low=2, high=3)][:1], {"axis": 1, "split": [2, 3]}, outputs=2, by=by)
    if c.version < 13:
        return Call([x], {"axis": 1, "split": [2, 3]}, outputs=2, by=by)
    return Call([x, ints(2, 3)], {"axis": 1}, consts=(1,), outputs=2, by=by)


@calls("Slice")
def slices(c):
    by = lambda x, *_: [x[1:3]]  # noqa: E731
    if c.version < 10:
        return Call([c.x("T", 4, 2)], {"starts": [1], "ends": [3], "axes": [0]}, by=by)
    return Call([c.x("T", 4, 2), *(to_type(np.array([v]), c["Tind"]) for v in (1, 3, 0))], consts=(1, 2, 3), by=by)


@calls("DynamicSlice")
def dynamic_slice(c):
    return Call([c.x("T", 4, 2), *(to_type(np.array([v]), c["Tind"]) for v in (1, 3, 0))], consts=(1, 2, 3), by=lambda x, *_: [x[1:3]])


@calls("Gather")
def gather(c):
    return Call([c.x("T", 4, 2), to_type(np.array([3, 0, 1]), c["Tind"])], by=lambda x, i: [x[i]])


@calls("LoopIndexTensor")
def loop_index_tensor(c):
    return Call([c.x("V", 4, 2), to_type(np.array(2), c["I"])], by=lambda x, i: [x[2]])


@calls("GatherElements")
def gather_elements(c):
    return Call([c.x("T", 3, 2), to_type(np.array([[2, 0], [1, 1]]), c["Tind"])], by=lambda x, i: [np.take_along_axis(x, i, 0)])


@calls("GatherND")
def gather_nd(c):
    return Call([c.x("T", 3, 2), ints(2, 1, 0, 0).reshape(2, 2)], by=lambda x, _: [x[[2, 0], [1, 0]]])


def scattered(x, i, u):
    y = x.copy()
    np.put_along_axis(y, i, u, 0)
    return [y]


@calls("Scatter", "ScatterElements")
def scatter(c):
    return Call([c.x("T", 3, 2), to_type(np.array([[2, 0], [1, 1]]), c["Tind"]), c.x("T", 2, 2, at=5)], by=scattered)


@calls("ScatterND")
def scatter_nd(c):
    return Call([c.x("T", 4, 2), ints(3, 1).reshape(2, 1), c.x("T", 2, 2, at=5)], by=lambda x, i, u: [np.stack([x[0], u[1], x[2], u[0]])])


@calls("TensorScatter")
def tensor_scatter(c):
    def by(x, u, at):
        y = x.copy()
        y[0, 1:3], y[1, 0:2] = u[0], u[1]
        return [y]
    return Call([c.x("T", 2, 4, 2), c.x("T", 2, 2, 2, at=5), ints(1, 0)], {"axis": 1}, by=by)


@calls("Pad")
def pad(c):
    x, zero = c.x("T", 2, 2), to_type(np.zeros((), int), c["T"]) if c["T"] != "string" else np.array("", object)
    if c.version < 11:
        return Call([x], {"pads" if c.version == 2 else "paddings": [0, 1, 1, 0], "value": 1.5},
                    by=lambda x: [np.pad(x, ((0, 1), (1, 0)), constant_values=1.5)])
    given = c.x("T", low=1, high=1) if c["T"] != "string" else np.array("pad", object)

    def by(x, pads, value, *_):
        y = np.full((3, 3), value[()], x.dtype)
        y[:2, 1:] = x
        return [y]
    assert zero is not None
    inputs = [x, ints(0, 1, 1, 0), given]
    if c.version >= 18:
        inputs.append(to_type(np.array([0, 1]), c["Tind"]))
    return Call(inputs, consts=(1, 3) if c.version >= 18 else (1,), by=by)


@calls("DepthToSpace")
def depth_to_space(c):
    return Call([c.x("T", 1, 8, 1, 2)], {"blocksize": 2},
                by=lambda x: [x.reshape(1, 2, 2, 2, 1, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 2, 4)])


@calls("SpaceToDepth")
def space_to_depth(c):
    return Call([c.x("T", 1, 2, 2, 4)], {"blocksize": 2},
                by=lambda x: [x.reshape(1, 2, 1, 2, 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 1, 2)])


@calls("CenterCropPad")
def center_crop_pad(c):
    def by(x, _):
        y = np.zeros((2, 5), x.dtype) if x.dtype != object else np.full((2, 5), "", object)
        y[:, 1:4] = x[1:3]
        return [y]
    return Call([c.x("T", 4, 3), to_type(np.array([2, 5]), c["Tind"])], consts=(1,), by=by)


@calls("Compress")
def compress(c):
    return Call([c.x("T", 4, 2), np.array([True, False, True])], {"axis": 0}, by=lambda x, _: [x[[0, 2]]])


@calls("ReverseSequence")
def reverse_sequence(c):
    return Call([c.x("T", 3, 2), ints(2, 3)], by=lambda x, _: [np.stack([x[[1, 0, 2], 0], x[::-1, 1]], 1)])


@calls("Trilu")
def trilu(c):
    def by(x):
        y = x.copy()
        y[np.tril_indices(3, -1)] = "" if x.dtype == object else 0
        return [y]
    return Call([c.x("T", 3, 3)], {"upper": 1}, by=by)


@calls("Unique")
def unique(c):
    words = to_type(np.array([2, 1, 1, 0, 2]), c["T"])
    return Call([words], outputs=4, trust="reference", by=None if c["T"] != "bool" else lambda x: [
        np.array([False, True]), ints(3, 0), ints(1, 1, 1, 0, 1), ints(1, 4)])


@calls("NonZero")
def non_zero(c):
    x = to_type(np.array([[1, 0, 2], [0, 0, 1]]), c["T"])
    if c["T"] == "string":
        x = np.array([["a", "", "b"], ["", "", "c"]], object)
    if c["T"].startswith("complex"):
        x = np.array([[1, 0, 2j], [0, 0, 1]], x.dtype)
    return Call([x], by=lambda _: [ints(0, 0, 1, 0, 2, 2).reshape(2, 3)])


@calls("OneHot")
def one_hot(c):
    at = to_type(np.array([2, 0, 1]), c["T1"])
    depth = to_type(np.array(3), c["T2"])

    def by(at, depth, of):
        return [np.stack([np.where(np.arange(3) == k, of[1], of[0]) for k in (2, 0, 1)])]
    return Call([at, depth, c.x("T3", 2)], consts=(1,), by=by)


@calls("Crop")
def crop(c):
    return Call([c.x("T", 1, 1, 4, 5)], {"border": [1, 0, 2, 1]}, by=lambda x: [x[:, :, 0:3, 1:3]])


# ---- shapes, fillings ----------------------------------------------------------------------------------------------------


@calls("Shape", "Size")
def shape(c):
    return Call([c.x("T", 2, 3)], by=lambda x: [ints(2, 3) if c.op == "Shape" else np.array(6)])


@calls("Constant")
def constant(c):
    t = next(iter(c.types.values()))
    x = values(t, (2, 3))
    return Call([], {"value": numpy_helper.from_array(x)}, by=lambda: [x])


@calls("ConstantOfShape")
def constant_of_shape(c):
    x = values(c["T2"], (1,), low=2, high=2)
    return Call([ints(2, 3)], {"value": numpy_helper.from_array(x)}, consts=(0,), by=lambda _: [np.full((2, 3), x[0], x.dtype)])


@calls("ConstantFill")
def constant_fill(c):
    t = c["T2"]
    return Call([c.x("T1", 2, 3)], {"value": 1.0, "dtype": number(t)}, by=lambda _: [np.ones((2, 3), dtype(t))])


@calls("GivenTensorFill")
def given_tensor_fill(c):
    return Call([c.x("T", 2, 2)], {"values": [1.0, 2.0, 3.0, 4.0]}, by=lambda x: [np.array([[1, 2], [3, 4]], float)])


@calls("EyeLike")
def eye_like(c):
    return Call([c.x("T1", 3, 3)], {"dtype": number(c["T2"]), "k": 1}, by=lambda _: [np.eye(3, k=1)])


@calls("Range")
def ranges(c):
    return Call([c.x("T", low=1, high=1), c.x("T", low=7, high=7), c.x("T", low=2, high=2)], consts=(0, 1, 2),
                by=lambda a, b, d: [np.arange(1, 7, 2)])


@calls("HannWindow", "HammingWindow", "BlackmanWindow")
def windows(c):
    k = np.arange(100) * 2 * np.pi / 100
    y = {"Hann": 0.5 - 0.5 * np.cos(k), "Hammi": 25 / 46 - 21 / 46 * np.cos(k),
         "Black": 0.42 - 0.5 * np.cos(k) + 0.08 * np.cos(2 * k)}[c.op.split("ng")[0].split("man")[0].split("Win")[0]]
    if is_int(c["T2"]):
        y = np.trunc(y)
    return Call([to_type(np.array(100), c["T1"])], {"output_datatype": number(c["T2"])}, consts=(0,), by=lambda _: [y])


@calls("Affine", "ScaledTanh", "ParametricSoftplus", "Scale")
def scaled(c):
    by = {"Affine": lambda x: [2 * x + 0.5], "ScaledTanh": lambda x: [2 * np.tanh(0.5 * x)], "Scale": lambda x: [2 * x],
          "ParametricSoftplus": lambda x: [2 * np.log1p(np.exp(0.5 * x))]}[c.op]
    return Call([c.x("T", 2, 3)], {"scale": 2.0} if c.op == "Scale" else {"alpha": 2.0, "beta": 0.5}, by=by)


@calls("ImageScaler")
def image_scaler(c):
    return Call([c.x("T", 1, 2, 2, 2)], {"scale": 2.0, "bias": [1.0, -1.0]}, by=lambda x: [2 * x + floats(1, -1).reshape(1, 2, 1, 1)])


# ---- reductions ----------------------------------------------------------------------------------------------------------


@calls("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
       "ReduceLogSumExp")
def reduce(c):
    how = {
        "Sum": lambda x: x.sum(1), "Mean": lambda x: x.mean(1), "Prod": lambda x: x.prod(1),
        "Max": lambda x: x.max(1), "Min": lambda x: x.min(1), "L1": lambda x: np.abs(x).sum(1),
        "L2": lambda x: np.sqrt((x * x).sum(1)),
        "SumSquare": lambda x: (x * x).sum(1), "LogSum": lambda x: np.log(x.sum(1)), "LogSumExp": lambda x: np.log(np.exp(x).sum(1)),
    }[c.op.removeprefix("Reduce")]
    x = c.x("T", 2, 3, low=1 if c.op == "ReduceLogSum" else -2)
    cut = np.trunc if is_int(c["T"]) else np.asarray
    by = lambda x, *_: [cut(how(x if x.dtype == bool else x.astype(float) if x.dtype.kind == "f" else x.astype(np.int64)))]  # noqa: E731
    if c.version < (13 if c.op == "ReduceSum" else 18):
        return Call([x], {"axes": [1], "keepdims": 0}, by=by)
    return Call([x, ints(1)], {"keepdims": 0}, consts=(1,), by=by)


@calls("ArgMax", "ArgMin")
def arg_extreme(c):
    how = np.argmax if c.op == "ArgMax" else np.argmin
    return Call([c.x("T", 2, 4)], {"axis": 1, "keepdims": 0}, by=lambda x: [how(x, 1)])


@calls("CumSum", "CumProd")
def cumulate(c):
    x = c.x("T" if "T" in c.types else "T1", 2, 4)
    how = np.cumsum if c.op == "CumSum" else np.cumprod
    return Call([x, to_type(np.array(1), c["T2"])], consts=(1,), by=lambda x, _: [how(x, 1)])


@calls("TopK")
def top_k(c):
    x = c.x("T", 2, 4, high=9)

    def by(x, *_):
        at = np.argsort(-x.astype(float), axis=1, kind="stable")[:, :2]
        return [np.take_along_axis(x, at, 1), at]
    if c.version < 10:
        return Call([x], {"k": 2, "axis": 1}, outputs=2, by=by)
    return Call([x, ints(2)], {"axis": 1}, consts=(1,), outputs=2, by=by)


# ---- random operators, with inputs for which only one result is possible ----------------------------------------------------------------------------


@calls("RandomNormal", "RandomUniform")
def random(c):
    same = {"mean": 1.5, "scale": 0.0} if c.op == "RandomNormal" else {"low": 1.5, "high": 1.5}
    return Call([], {"shape": [2, 3], "dtype": number(c["T"]), **same}, by=lambda: [np.full((2, 3), 1.5)])


@calls("RandomNormalLike", "RandomUniformLike")
def random_like(c):
    same = {"mean": 1.5, "scale": 0.0} if "Normal" in c.op else {"low": 1.5, "high": 1.5}
    return Call([c.x("T1", 2, 3)], {"dtype": number(c["T2"]), **same}, by=lambda _: [np.full((2, 3), 1.5)])


@calls("Bernoulli")
def bernoulli(c):
    x = to_type(np.array([[1, 0, 1], [0, 0, 1]]), c["T1"])
    return Call([x], {"dtype": number(c["T2"])}, by=lambda x: [np.array([[1, 0, 1], [0, 0, 1]])])


@calls("Multinomial")
def multinomial(c):
    x = np.full((2, 4), -60.0)
    x[0, 2] = x[1, 1] = 0
    return Call([to_type(x, c["T1"])], {"dtype": number(c["T2"]), "sample_size": 3}, by=lambda _: [np.array([[2] * 3, [1] * 3])])


# ---- graphs ---------------------------------------------------------------------------------------------------------------


def declare(name, t):
    if kind_of(t) == "seq":
        return helper.make_tensor_sequence_value_info(name, number(element(t)), None)
    if kind_of(t) == "optional":
        of = helper.make_tensor_type_proto(number(element(t)), [2, 3])
        of = helper.make_sequence_type_proto(of) if "seq(" in t else of
        return helper.make_value_info(name, helper.make_optional_type_proto(of))
    return helper.make_tensor_value_info(name, number(t), None)


def sample(t, at=0):
    """A value of any type."""
    if kind_of(t) == "tensor":
        return values(t, (2, 3), at=at)
    if kind_of(t) == "seq" or "seq(" in t:
        return [values(element(t), (2, 3), at=at), values(element(t), (2, 3), at=at + 1)]
    return values(element(t), (2, 3), at=at)


def copies(name, t):
    """A graph without inputs, whose output is the outer value `name`."""
    return helper.make_graph([helper.make_node("Identity", [name], [name + "_"])], name, [], [declare(name + "_", t)])


@calls("If")
def if_(c):
    t, one, other = c["V"], sample(c["V"]), sample(c["V"], 1)
    if kind_of(t) == "seq" and c.version < 14:  # Identity did not take sequences
        def graph(name):
            parts = [helper.make_node("SequenceConstruct", [name, name], [name + "_"])]
            return helper.make_graph(parts, name, [], [declare(name + "_", t)])
        return Call([np.array(False)], {"then_branch": graph("a"), "else_branch": graph("b")}, by=lambda _: [[other[0], other[0]]],
                    around={"a": (one[0], element(t)), "b": (other[0], element(t))})
    return Call([np.array(False)], {"then_branch": copies("a", t), "else_branch": copies("b", t)}, by=lambda _: [other],
                around={"a": (one, t), "b": (other, t)})


@calls("Loop")
def loop(c):
    t, x = c["V"], sample(c["V"])
    nodes = [helper.make_node("Identity", ["go"], ["on"])]
    grown = kind_of(t) == "seq" and c.version < 14
    around = {"e": (x[0], element(t))} if grown else {}
    nodes.append(helper.make_node("SequenceInsert", ["v", "e"], ["w"]) if grown else helper.make_node("Identity", ["v"], ["w"]))
    outputs = [declare("on", "bool"), declare("w", t)]
    if kind_of(t) == "tensor":
        nodes.append(helper.make_node("Identity", ["v"], ["s"]))
        outputs.append(declare("s", t))
    body = helper.make_graph(nodes, "body", [declare("i", "int64"), declare("go", "bool"), declare("v", t)], outputs)
    body.input[0].type.tensor_type.shape.SetInParent()
    body.input[1].type.tensor_type.shape.SetInParent()

    def by(n, go, v):
        if kind_of(t) != "tensor":
            return [v + [x[0], x[0]] if grown else v]
        return [v, np.stack([v, v])]
    return Call([ints(2)[0], np.array(True), x], {"body": body}, consts=(0, 1), outputs=len(outputs) - 1, by=by, around=around)


@calls("Scan")
def scan(c):
    t = c["V"]
    body = helper.make_graph([helper.make_node("Identity", ["v"], ["w"]), helper.make_node("Identity", ["e"], ["s"])], "body",
                             [helper.make_tensor_value_info(n, number(t), [3]) for n in "ve"],
                             [helper.make_tensor_value_info(n, number(t), [3]) for n in "ws"])
    if c.version == 8:
        return Call([None, c.x("V", 1, 3), c.x("V", 1, 2, 3)], {"body": body, "num_scan_inputs": 1}, outputs=2, by=lambda _, v, e: [v, e])
    return Call([c.x("V", 3), c.x("V", 2, 3)], {"body": body, "num_scan_inputs": 1}, outputs=2, by=lambda v, e: [v, e])


# ---- containers ------------------------------------------------------------------------------------------------------------


@calls("Identity")
def identity(c):
    return Call([sample(next(iter(c.types.values())))], by=lambda x: [x], widen=False)


@calls("SequenceConstruct")
def sequence_construct(c):
    t = agree_on(c, "T", "S")
    return Call([values(t, (2, 3)), values(t, (2, 3), at=1)], by=lambda x, y: [[x, y]])


def agree_on(c, variable, sequence):
    """The element type of both: of the sequence where that is not the usual one."""
    t = c[variable]
    if element(c[sequence]) != "float" and t == "float":
        t = c.types[variable] = element(c[sequence])
    c.types[sequence] = f"seq({t})"
    return t


@calls("SequenceEmpty")
def sequence_empty(c):
    return Call([], {"dtype": number(element(c["S"]))}, by=lambda: [[]])


@calls("SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength", "ConcatFromSequence", "SplitToSequence")
def sequences(c):
    x = None
    if "T" in c.types:
        t = agree_on(c, "T", "S")
        x = values(t, (2, 3), at=3)
    s = sample(c["S"])
    at = to_type(np.array(1), c["I"]) if "I" in c.types else None
    if c.op == "SequenceInsert":
        return Call([s, x, at], consts=(2,), by=lambda s, x, _: [[s[0], x, s[1]]])
    if c.op == "SequenceErase":
        return Call([s, at], consts=(1,), by=lambda s, _: [[s[0]]])
    if c.op == "SequenceAt":
        return Call([s, at], consts=(1,), by=lambda s, _: [s[1]])
    if c.op == "SequenceLength":
        return Call([s], by=lambda s: [np.array(2)])
    if c.op == "ConcatFromSequence":
        return Call([s], {"axis": 1}, by=lambda s: [np.concatenate(s, 1)])
    return Call([values(t, (2, 3)), at], {"axis": 1}, consts=(1,), by=lambda x, _: [[x[:, k:k + 1] for k in range(3)]])


@calls("SequenceMap")
def sequence_map(c):
    s = sample(c["S"])
    e = element(c["S"])
    other = sample(c["V"], 3)
    inputs = [helper.make_tensor_value_info("e", number(e), [2, 3]), helper.make_tensor_value_info("o", number(element(c["V"])), [2, 3])]
    body = helper.make_graph([helper.make_node("Identity", ["e"], ["r"])], "body", inputs,
                             [helper.make_tensor_value_info("r", number(e), [2, 3])])
    return Call([s, other], {"body": body}, by=lambda s, _: [s])


@calls("Optional")
def optional(c):
    if c["V"] == "float":
        c.types["V"] = c["O"][len("optional("):-1]
    c.types["O"] = f"optional({c['V']})"
    return Call([sample(c["V"])], by=lambda x: [x])


@calls("OptionalHasElement")
def optional_has_element(c):
    return Call([sample(c["O"])], by=lambda _: [np.array(True)])


@calls("OptionalGetElement")
def optional_get_element(c):
    if c["O"] in c.of["V"] and c["O"] != "float":
        c.types["V"] = c["O"]
    elif kind_of(c["O"]) == "optional":
        if c["V"] == "float":
            c.types["V"] = c["O"][len("optional("):-1]
        else:
            c.types["O"] = f"optional({c['V']})"
    else:
        c.types["O"] = c["V"]
    return Call([sample(c["O"])], by=lambda x: [x])
