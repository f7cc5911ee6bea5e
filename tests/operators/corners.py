"""Corner cases of the operators, from their specifications: the expected results are written here, not taken from an
implementation.

Other tests of corner cases: the random models (tests/fuzz) have negative axes and steps, empty inputs, every auto_pad, ceil_mode with
padding counted, dilation with output padding, every Resize, broadcast in every position, Slice with INT_MIN, Gather with
negative indices, Scatter with duplicates, recurrent layers with every optional input; cases.py has Einsum."""

import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F32, I64 = np.float32, np.int64
NAN, INF = np.nan, np.inf


def f(*v):
    return np.array(v, F32)


def i(*v):
    return np.array(v, I64)


def add_corners(c):
    for add in (add_ties, add_nan, add_integers, add_zeros, add_empty, add_norms, add_axes, add_duplicates, add_padding, add_slices, add_lengths):
        add(c)


def add_ties(c):
    """TopK, ArgMax: the first of equal elements, or with select_last_index the last."""
    x = f(2, 7, 7, 1, 7, 1).reshape(2, 3)
    row = x.reshape(1, 6)
    c.add("tie_top", "TopK", [row, i(4)], version=11, consts=(1,), outputs=2, by=[f(7, 7, 7, 2)[None], i(1, 2, 4, 0)[None]])
    c.add("tie_bottom", "TopK", [row, i(3)], {"largest": 0}, version=11, outputs=2, consts=(1,), by=[f(1, 1, 2)[None], i(3, 5, 0)[None]])
    c.add("tie_int", "TopK", [row.astype(np.int8), i(4)], version=24, outputs=2, consts=(1,),
          by=[np.array([[7, 7, 7, 2]], np.int8), i(1, 2, 4, 0)[None]])
    for op, sign in ("ArgMax", 1), ("ArgMin", -1):
        for last, at in (0, [1, 1]), (1, [2, 1]):
            c.add(f"tie_{op}_{last}", op, [x * F32(sign)], {"axis": -1, "keepdims": 0, "select_last_index": last}, version=13, by=[i(*at)])
    c.add("tie_hardmax", "Hardmax", [f(3, 5, 5, 3)[None]], version=13, by=[f(0, 1, 0, 0)[None]])


def add_nan(c):
    """NaN and infinities: a NaN is propagated and compares false; limits clamp infinities."""
    x, y = f(NAN, 1, NAN, INF, -INF, INF, -INF), f(2, NAN, NAN, 3, 3, INF, -INF)
    c.add("nan_max", "Max", [x, y], version=13, by=[f(NAN, NAN, NAN, INF, 3, INF, -INF)])
    c.add("nan_min", "Min", [x, y], version=13, by=[f(NAN, NAN, NAN, 3, -INF, INF, -INF)])
    c.add("nan_max_double", "Max", [x.astype(float), y.astype(float)], version=13, by=[np.maximum(x, y).astype(float)])
    c.add("nan_min_half", "Min", [x.astype(np.float16), y.astype(np.float16)], version=13, by=[np.minimum(x, y).astype(np.float16)])
    c.add("nan_relu", "Relu", [x], version=14, by=[f(NAN, 1, NAN, INF, 0, INF, 0)])
    limits = [np.array(v, F32) for v in (-1, 2)]
    c.add("nan_clip", "Clip", [x, *limits], version=13, by=[f(NAN, 1, NAN, 2, -1, 2, -1)])
    for op, result in (("Greater", np.greater), ("GreaterOrEqual", np.greater_equal), ("Less", np.less), ("LessOrEqual", np.less_equal),
                       ("Equal", np.equal)):
        c.add(f"nan_{op}", op, [x, y], version=13 if len(op) < 8 else 16, by=[result(x, y)])
    rows = np.array([[NAN, 1, 2], [INF, -INF, 0]], F32)
    c.add("nan_reduce_max", "ReduceMax", [rows, i(1)], {"keepdims": 0}, version=18, consts=(1,), by=[f(NAN, INF)])
    c.add("nan_reduce_min", "ReduceMin", [rows, i(1)], {"keepdims": 0}, version=18, consts=(1,), by=[f(NAN, -INF)])
    for mode in "LEQ", "LT", "GTE", "GT", "EQ", "NEQ":
        for tracks in 0, 1:
            nodes = {"treeids": [0] * 3, "nodeids": [0, 1, 2], "modes": [f"BRANCH_{mode}", "LEAF", "LEAF"], "featureids": [0] * 3,
                     "values": [1.0, 0.0, 0.0], "truenodeids": [1, 0, 0], "falsenodeids": [2, 0, 0], "missing_value_tracks_true": [tracks, 0, 0]}
            leaves = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [5.0, 7.0]}
            attrs = {**{f"nodes_{k}": v for k, v in nodes.items()}, **leaves, "n_targets": 1}
            c.add(f"nan_tree_{mode}_{tracks}", "TreeEnsembleRegressor", [f(NAN)[None]], attrs, version=3, domain="ai.onnx.ml",
                  by=[f(5 if tracks else 7)[None]])
    c.add("infinite_top", "TopK", [f(1, -INF, INF, 2), i(4)], version=11, outputs=2, consts=(1,), by=[f(INF, 2, 1, -INF), i(2, 3, 0, 1)])
    c.add("infinite_softmax", "Softmax", [f(-INF, 0, 0, -INF)], version=13, by=[f(0, 0.5, 0.5, 0)])
    c.add("infinite_log_sum_exp", "ReduceLogSumExp", [f(-INF, -INF), i(0)], version=18, consts=(1,), by=[f(-INF)])


def add_integers(c):
    """Division truncates; modulo has the sign of the divisor, with fmod that of the dividend; everything wraps around."""
    for kind in np.int8, np.int16, np.int32, np.int64:
        name, low, high = np.dtype(kind).name, np.iinfo(kind).min, np.iinfo(kind).max
        a, b = (np.array(v, kind) for v in ([7, 7, -7, -7, low, high], [3, -3, 3, -3, 3, -3]))
        exact = [int(p) for p in a], [int(q) for q in b]
        cut = np.array([abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) for p, q in zip(*exact)], kind)
        c.add(f"integer_div_{name}", "Div", [a, b], version=14, by=[cut])
        c.add(f"integer_mod_{name}", "Mod", [a, b], version=13, by=[np.array([p % q for p, q in zip(*exact)], kind)])
        c.add(f"integer_fmod_{name}", "Mod", [a, b], {"fmod": 1}, version=13, by=[np.array(a - cut * b, kind)])
        c.add(f"integer_add_{name}", "Add", [np.array([high, low], kind), np.array([1, -1], kind)], version=14, by=[np.array([low, high], kind)])
        c.add(f"integer_mul_{name}", "Mul", [np.array([low, high], kind), np.array([-1, 2], kind)], version=14, by=[np.array([low, -2], kind)])
        c.add(f"integer_neg_{name}", "Neg", [np.array([low, high], kind)], version=13, by=[np.array([low, -high], kind)])
        for end in low, high:
            blocks = [np.full((1, 2, 2), end, kind), i(3), i(2)]
            c.add(f"integer_col2im_{name}_{end > 0:d}", "Col2Im", blocks, version=18, consts=(1, 2),
                  by=[np.array([[[end, -2 if end > 0 else 0, end]]], kind)])
        c.add(f"integer_abs_{name}", "Abs", [np.array([low, -high], kind)], version=13, by=[np.array([low, high], kind)])
    for kind in np.uint8, np.uint16, np.uint32, np.uint64:
        name, high, bits = np.dtype(kind).name, np.iinfo(kind).max, np.iinfo(kind).bits
        x, by = np.array([high, high, 1, 5], kind), np.array([1, bits - 1, bits - 1, 0], kind)
        for direction in "LEFT", "RIGHT":
            result = [(int(v) << int(n)) & high if direction == "LEFT" else int(v) >> int(n) for v, n in zip(x, by)]
            c.add(f"shift_{direction}_{name}", "BitShift", [x, by], {"direction": direction}, version=11, by=[np.array(result, kind)])
        c.add(f"integer_sub_{name}", "Sub", [np.array([0, 3], kind), np.array([1, 2], kind)], version=14, by=[np.array([high, 1], kind)])
    for kind in np.int32, np.int64, np.uint32, np.uint64:
        name, rows = np.dtype(kind).name, np.array([[3, 2, 2, 2], [0, 0, 0, 0], [700, 800, 800, 1], [1, 0, 0, 0]], kind)
        c.add(f"integer_log_sum_exp_{name}", "ReduceLogSumExp", [rows, i(1)], {"keepdims": 0}, version=18, consts=(1,),
              by=[np.array([3, 1, 800, 1], kind)])  # 3.744, log 4, 800 + log 2, log(3 + e)
        c.add(f"integer_log_sum_{name}", "ReduceLogSum", [rows + (rows == 0), i(1)], {"keepdims": 0}, version=18, consts=(1,),
              by=[np.array([2, 1, 7, 1], kind)])  # logarithms of 9, 4, 2301, 4
    below = np.array([[-2, -2], [-1, -5], [-9, 4]], np.int64)  # -1.307, -0.982, 4.000
    c.add("integer_log_sum_exp_below", "ReduceLogSumExp", [below], {"axes": [-1], "keepdims": 1}, version=13, by=[np.array([[-1], [0], [4]])])
    x, scale = f(-1e9, -300, 0.5, 1.5, 2.5, 300, INF, -INF), np.array(1, F32)
    for kind, low, high in (np.uint8, 0, 255), (np.int8, -128, 127):
        even = [low, low, 0, 2, 2, high, high, low]
        if kind == np.int8:
            even[1] = low
        c.add(f"saturate_{np.dtype(kind).name}", "QuantizeLinear", [x, scale, np.array(0, kind)], version=13, by=[np.array(even, kind)])
    for kind, number in (np.uint16, 65535), (np.int16, 32767):
        low = np.iinfo(kind).min
        c.add(f"saturate_{np.dtype(kind).name}", "QuantizeLinear", [f(-1e9, 1e9), scale, np.array(0, kind)], version=21,
              by=[np.array([low, number], kind)])


def add_zeros(c):
    """-0.0 keeps its sign where arithmetic does. (In tests with these names signs of zeros are compared.)"""
    z = f(-0.0, 0.0)
    for op, version, result in (("Neg", 13, -z), ("Sqrt", 13, z), ("Floor", 13, z), ("Ceil", 13, z), ("Round", 11, z), ("Sin", 7, z),
                                ("Tan", 7, z), ("Tanh", 13, z), ("Atan", 7, z), ("Asin", 7, z), ("Sinh", 9, z), ("Asinh", 9, z),
                                ("Atanh", 9, z), ("Erf", 13, z), ("Abs", 13, abs(z)), ("Identity", 13, z), ("Reciprocal", 13, f(-INF, INF))):
        c.add(f"signed_zero_{op}", op, [z], version=version, by=[result])
    x = f(-0.25, 0.25, -0.5)
    c.add("signed_zero_ceil_half", "Ceil", [x], version=13, by=[f(-0.0, 1, -0.0)])
    c.add("signed_zero_round_half", "Round", [x], version=11, by=[f(-0.0, 0.0, -0.0)])
    c.add("signed_zero_mul", "Mul", [f(-1, -1, 1), f(0, -0.0, -0.0)], version=14, by=[f(-0.0, 0, -0.0)])
    c.add("signed_zero_div", "Div", [f(0, -0.0, 1), f(-1, 3, -INF)], version=14, by=[f(-0.0, -0.0, -0.0)])
    c.add("signed_zero_add", "Add", [f(-0.0, -0.0, 1), f(-0.0, 0, -1)], version=14, by=[f(-0.0, 0, 0)])
    c.add("signed_zero_sub", "Sub", [f(-0.0, -0.0), f(0, -0.0)], version=14, by=[f(-0.0, 0)])
    c.add("signed_zero_fmod", "Mod", [f(-4, 4, -0.0), f(2, 2, 3)], {"fmod": 1}, version=13, by=[f(-0.0, 0, -0.0)])
    c.add("signed_zero_pow", "Pow", [f(-0.0, -0.0), f(3, 2)], version=15, by=[f(-0.0, 0)])
    for kind in np.float16, np.float64:
        c.add(f"signed_zero_cast_{np.dtype(kind).name}", "Cast", [z], {"to": TensorProto.FLOAT16 if kind == np.float16 else TensorProto.DOUBLE},
              version=13, by=[z.astype(kind)])
    c.add("signed_zero_equal", "Equal", [z, z[::-1].copy()], version=13, by=[np.array([True, True])])


def add_empty(c):
    """Tensors without elements, scalars, and fills with any value."""
    for k, value in enumerate((i(-(2**63)), i(0x6F6E6E7800000001), np.array([-0.0]), np.array([1.3e228]), np.array([1e228 - 1.3e228j]))):
        c.add(f"fill_{k}", "ConstantOfShape", [i(2, 300)], {"value": numpy_helper.from_array(value)}, version=20,
              by=[np.full((2, 300), value[0])])
    c.add("fill_given", "GivenTensorFill", [], {"shape": [3], "values": [1.0, -2.0, 3.0]}, version=1, by=[f(1, -2, 3)])
    none = np.zeros((0, 3), F32)
    of_none = {"Sum": 0, "Prod": 1, "L1": 0, "L2": 0, "SumSquare": 0, "LogSum": -INF, "LogSumExp": -INF, "Max": -INF, "Min": INF}
    for name, value in of_none.items():
        for keep in 0, 1:
            result = np.full((1, 3) if keep else 3, value, F32)
            c.add(f"empty_reduce_{name}_{keep}", f"Reduce{name}", [none, i(0)], {"keepdims": keep}, version=20 if name[0] == "M" else 18,
                  consts=(1,), by=[result])
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    for name, value in ("Max", low), ("Min", high), ("Sum", 0), ("Prod", 1):
        c.add(f"empty_reduce_int_{name}", f"Reduce{name}", [none.astype(np.int32), i(0)], {"keepdims": 0},
              version=20 if name[0] == "M" else 18, consts=(1,), by=[np.full(3, value, np.int32)])
    c.add("empty_top", "TopK", [f(3, 1), i(0)], version=11, outputs=2, consts=(1,), by=[f(), i()])
    c.add("empty_cumulated", "CumSum", [none, np.array(0, I64)], version=14, by=[none])
    c.add("empty_softmax", "Softmax", [none], version=13, by=[none])
    c.add("empty_product", "MatMul", [np.zeros((2, 0), F32), np.zeros((0, 3), F32)], version=13, by=[np.zeros((2, 3), F32)])
    c.add("empty_gemm", "Gemm", [np.zeros((2, 0), F32), np.zeros((0, 3), F32), f(1, 2, 3)], version=13, by=[np.tile(f(1, 2, 3), (2, 1))])
    c.add("empty_non_zero", "NonZero", [none], version=13, by=[np.zeros((2, 0), I64)])
    c.add("empty_unique", "Unique", [f()], version=11, outputs=4, by=[f(), i(), i(), i()])
    c.add("empty_concat", "Concat", [none, np.ones((1, 3), F32), none], {"axis": 0}, version=13, by=[np.ones((1, 3), F32)])
    c.add("empty_gather", "Gather", [np.ones((2, 3), F32), i()], {"axis": 0}, version=13, by=[none])
    c.add("empty_scatter", "ScatterND", [f(1, 2), np.zeros((0, 1), I64), f()], version=18, by=[f(1, 2)])
    c.add("empty_broadcast", "Add", [none, np.ones((4, 1, 1), F32)], version=14, by=[np.zeros((4, 0, 3), F32)])
    c.add("empty_where", "Where", [np.zeros((0, 1), bool), f(1, 2), f(3, 4)], version=16, by=[np.zeros((0, 2), F32)])
    images = np.zeros((0, 2, 4, 4), F32)
    c.add("empty_conv", "Conv", [images, np.ones((3, 2, 3, 3), F32)], version=11, consts=(1,), by=[np.zeros((0, 3, 2, 2), F32)])
    no_channels, bias = np.zeros((1, 0, 2, 3), F32), f(1, -2)
    for pads, size in ([0, 0, 0, 0], (1, 2)), ([1, 2, 0, 3], (2, 7)):
        for consts in (), (1, 2):
            c.add(f"no_channels_conv_{size[0]}_{len(consts)}", "Conv", [no_channels, np.zeros((2, 0, 2, 2), F32), bias], {"pads": pads},
                  version=11, consts=consts, by=[np.broadcast_to(bias.reshape(1, 2, 1, 1), (1, 2, *size)).copy()])
    c.add("no_channels_conv_transpose", "ConvTranspose", [no_channels, np.zeros((0, 2, 2, 2), F32), bias], version=11,
          by=[np.broadcast_to(bias.reshape(1, 2, 1, 1), (1, 2, 3, 4)).copy()])
    c.add("empty_pool", "MaxPool", [images], {"kernel_shape": [2, 2]}, version=12, by=[np.zeros((0, 2, 3, 3), F32)])
    c.add("empty_global_pool", "GlobalAveragePool", [images], version=1, by=[np.zeros((0, 2, 1, 1), F32)])
    c.add("empty_norm", "LayerNormalization", [none, f(1, 1, 1)], version=17, by=[none])
    c.add("empty_resize", "Resize", [images, None, f(1, 1, 2, 2)], version=13, consts=(2,), by=[np.zeros((0, 2, 8, 8), F32)])
    c.add("empty_one_hot", "OneHot", [i(), np.array(3, I64), f(0, 1)], version=11, consts=(1,), by=[np.zeros((0, 3), F32)])
    c.add("empty_range", "Range", [np.array(3, I64), np.array(3, I64), np.array(1, I64)], version=11, consts=(0, 1, 2), by=[i()])
    c.add("empty_quantize", "QuantizeLinear", [none, np.array(1, F32), np.array(0, np.uint8)], version=13, by=[none.astype(np.uint8)])
    c.add("empty_einsum", "Einsum", [np.zeros((2, 0), F32), np.zeros((0, 3), F32)], {"equation": "ij,jk->ik"}, version=12, by=[np.zeros((2, 3), F32)])
    scalar = np.array(2, F32)
    c.add("scalar_reduce", "ReduceSum", [scalar], version=13, by=[scalar])
    c.add("scalar_transpose", "Transpose", [scalar], version=13, by=[scalar])
    c.add("scalar_add", "Add", [scalar, scalar], version=14, by=[np.array(4, F32)])
    c.add("scalar_flatten", "Flatten", [scalar], {"axis": 0}, version=13, by=[scalar.reshape(1, 1)])
    c.add("scalar_reshape", "Reshape", [scalar.reshape(1, 1), i()], version=13, consts=(1,), by=[scalar])
    c.add("scalar_expand", "Expand", [scalar, i(2, 2)], version=13, consts=(1,), by=[np.full((2, 2), 2, F32)])
    c.add("scalar_shape", "Shape", [scalar], version=15, by=[i()])
    c.add("scalar_size", "Size", [scalar], version=13, by=[np.array(1, I64)])
    c.add("scalar_gather", "Gather", [f(1, 2, 3), np.array(-1, I64)], version=13, by=[np.array(3, F32)])
    c.add("scalar_non_zero", "NonZero", [scalar], version=13, by=[np.zeros((0, 1), I64)])


def add_norms(c):
    """Norms of integers whose sums of squares have more than 64 bits: the type's largest number where they exceed it."""
    for t in "int32", "int64", "uint32", "uint64":
        top, low = int(np.iinfo(t).max), int(np.iinfo(t).min)
        for k, row in enumerate(([top] * 3, [low or 1, low, 3], [2**31 - 1] * 5, [3, 4, 12], [2**16, 1, 0])):
            x = np.array([row, row[::-1]], t)
            norm = np.array(min(math.isqrt(sum(v * v for v in row)), top), t)
            for name, rows, axis in ("", x, 1), ("_first", x.T.copy(), 0):
                c.add(f"norm_{t}_{k}{name}", "ReduceL2", [rows, i(axis)], {"keepdims": 0}, version=18, consts=(1,), by=[np.array([norm, norm])])


def add_axes(c):
    """Every reduction: with absent and with empty axes, with and without noop_with_empty_axes."""
    x = np.arange(1, 7, dtype=F32).reshape(2, 3) / 4
    reduced = {"L1": np.abs(x).sum(), "L2": np.sqrt((x * x).sum()), "LogSum": np.log(x.sum()), "LogSumExp": np.log(np.exp(x).sum()), "Max": x.max(),
               "Mean": x.mean(), "Min": x.min(), "Prod": x.prod(), "Sum": x.sum(), "SumSquare": (x * x).sum()}
    for name, value in reduced.items():
        version = 13 if name == "Sum" else 18
        for noop in 0, 1:
            for axes in None, i():
                for keep in 0, 1:
                    result = x if noop else np.full((1, 1) if keep else (), value, F32)
                    if noop and name in ("L2", "LogSum", "LogSumExp", "SumSquare", "L1"):
                        continue  # specifications disagree whether the elementwise part is applied without axes
                    c.add(f"axes_{name}_{noop}_{'none' if axes is None else 'empty'}_{keep}", f"Reduce{name}", [x, axes],
                          {"noop_with_empty_axes": noop, "keepdims": keep}, version=version, consts=(1,), by=[result])
        c.add(f"axes_{name}_negative", f"Reduce{name}", [x, i(-1, -2)], {"keepdims": 0}, version=version, consts=(1,), by=[np.array(value, F32)])


def add_duplicates(c):
    """Scatter to the same element several times, for each reduction; negative indices."""
    x, at, new = f(1, 2, 3, 4), i(1, -3, 0, 1, -1), f(5, 7, -2, 0.5, 9)
    together = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for how, function in together.items():
        for kind in F32, np.int32, I64, np.float64:
            y = x.astype(kind)
            for place, value in zip(at, new.astype(kind)):
                y[place] = function(y[place], value)
            name = f"duplicates_{how}_{np.dtype(kind).name}"
            c.add(f"{name}_elements", "ScatterElements", [x.astype(kind), at, new.astype(kind)], {"reduction": how}, version=18, by=[y])
            c.add(f"{name}_nd", "ScatterND", [x.astype(kind), at[:, None], new.astype(kind)], {"reduction": how}, version=18, by=[y])
    c.add("from_behind_gather", "Gather", [x, i(-1, -4, 2)], version=13, by=[f(4, 1, 3)])
    c.add("from_behind_elements", "GatherElements", [x.reshape(2, 2), i(-1, -2, 0, -1).reshape(2, 2)], {"axis": -1}, version=13,
          by=[f(2, 1, 3, 4).reshape(2, 2)])
    c.add("from_behind_nd", "GatherND", [x.reshape(2, 2), i(-1, -2).reshape(1, 2)], version=13, by=[f(3)])


def add_long_windows(c):
    """Windows of 2^31 - 1 elements, of which few are in the image."""
    x, image = f(3, 1, 8).reshape(1, 1, 3), f(3, 1, 8, 4).reshape(1, 1, 2, 2)
    codes, one, zero = np.array([3, 1, 8], np.uint8).reshape(1, 1, 3), np.array(1, F32), np.array(0, np.uint8)
    for pad in "SAME_UPPER", "SAME_LOWER":
        long, flat = ({"kernel_shape": shape, "auto_pad": pad} for shape in ([2**31 - 1], [2**31 - 1, 1]))
        c.add(f"padding_long_max_{pad}", "MaxPool", [x], long, version=22, by=[f(8, 8, 8).reshape(x.shape)])
        c.add(f"padding_long_at_{pad}", "MaxPool", [x], long, version=22, outputs=2,
              by=[f(8, 8, 8).reshape(x.shape), i(2, 2, 2).reshape(x.shape)])
        c.add(f"padding_long_rows_{pad}", "MaxPool", [image], flat, version=22, outputs=2,
              by=[f(8, 4, 8, 4).reshape(image.shape), i(2, 3, 2, 3).reshape(image.shape)])
        c.add(f"padding_long_mean_{pad}", "AveragePool", [x], long, version=22, by=[f(4, 4, 4).reshape(x.shape)])
        c.add(f"padding_long_counted_{pad}", "AveragePool", [x], {**long, "count_include_pad": 1}, version=22,
              by=[np.full(x.shape, F32(12) / F32(2**31 - 1))])
        c.add(f"padding_long_norm_{pad}", "LpPool", [x], {**long, "p": 1}, version=22, by=[f(12, 12, 12).reshape(x.shape)])
        c.add(f"padding_long_codes_{pad}", "QLinearAveragePool", [codes, one, zero, one, zero], long, version=1, domain="com.microsoft",
              consts=(1, 2, 3, 4), by=[np.full_like(codes, 4)])


def add_padding(c):
    """Transposed convolution: SAME gives input * stride; output padding with dilation. Pools: which elements count in a mean."""
    x, w = np.arange(1, 4, dtype=F32).reshape(1, 1, 3), np.array([1, 10, 100], F32).reshape(1, 1, 3)

    def transposed(stride, before, length, spread=1):
        y = np.zeros(64)
        for n, v in enumerate(x.ravel()):
            for k, u in enumerate(w.ravel()):
                y[8 + n * stride + k * spread] += v * u
        return y[8 + before: 8 + before + length].astype(F32).reshape(1, 1, -1)

    for stride in 1, 2, 3:
        total = (3 - 1) * stride + 3 - 3 * stride
        for pad, before in ("SAME_UPPER", total // 2), ("SAME_LOWER", total - total // 2):
            c.add(f"padding_transposed_{pad}_{stride}", "ConvTranspose", [x, w], {"auto_pad": pad, "strides": [stride]}, version=11,
                  consts=(1,), by=[transposed(stride, before, 3 * stride)])
    c.add("padding_transposed_dilated", "ConvTranspose", [x, w], {"strides": [2], "dilations": [2], "output_padding": [1]}, version=11,
          consts=(1,), by=[transposed(2, 0, 10, 2)])
    c.add("padding_transposed_shape", "ConvTranspose", [x, w], {"strides": [2], "output_shape": [8], "output_padding": [1]}, version=11,
          consts=(1,), by=[transposed(2, 0, 8)])
    add_long_windows(c)
    for axes in 1, 2, 3:     # strides that are longer than the result
        x, w, b = np.arange(1, 9, dtype=F32).reshape(2, 4, *[1] * axes), np.arange(12 * 2**axes, dtype=F32).reshape(4, 3, *[2] * axes), f(1, 2, 3, 4, 5, 6)
        y = np.einsum("ngc,gco...->ngo...", x.reshape(2, 2, 2), w.reshape(2, 2, 3, *[2] * axes)).reshape(2, 6, *[2] * axes)
        c.add(f"padding_transposed_far_{axes}", "ConvTranspose", [x, w, b], {"strides": [3, 5, 4][:axes], "group": 2}, version=11,
              consts=(1, 2), by=[y + b.reshape(-1, *[1] * axes)])
    x = np.arange(1, 6, dtype=F32).reshape(1, 1, 5)
    attrs = {"kernel_shape": [3], "strides": [3], "pads": [1, 0], "ceil_mode": 1}
    c.add("padding_mean_counted", "AveragePool", [x], {**attrs, "count_include_pad": 1}, version=19, by=[f(1, 4).reshape(1, 1, 2)])
    c.add("padding_mean", "AveragePool", [x], attrs, version=19, by=[f(1.5, 4).reshape(1, 1, 2)])
    # the second window passes the end: elements beyond are neither padding nor counted
    c.add("padding_mean_ceil", "AveragePool", [x], {**attrs, "pads": [0, 0], "count_include_pad": 1}, version=19, by=[f(2, 4.5).reshape(1, 1, 2)])


def add_slices(c):
    """Bounds far outside, or negative, with steps down to INT_MIN."""
    x = np.arange(5, dtype=F32)
    low, high = -(2**63), 2**63 - 1
    for k, (start, end, step, result) in enumerate((
        (high, low, -1, [4, 3, 2, 1, 0]), (low, high, 1, [0, 1, 2, 3, 4]), (-1, low, -2, [4, 2, 0]), (0, high, high, [0]), (4, low, low, [4]),
        (100, -100, -(2**31), [4]), (-100, 100, 2**31 - 1, [0]), (3, 1, 1, []), (1, 3, -1, []), (-2, -4, -1, [3, 2]), (5, 9, 1, []),
        (-9, -9, -1, [0]),  # the start is clamped to 0, the end to -1
    )):
        c.add(f"slice_far_{k}", "Slice", [x, i(start), i(end), i(-1), i(step)], version=13, consts=(1, 2, 3, 4), by=[f(*result)])


def add_lengths(c):
    """Scan of version 8 with sequence_lens: each member of the batch stops at its own length; backwards it starts there."""
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("s", "x", "o", "y")]
    body = helper.make_graph([helper.make_node("Add", ["s", "x"], ["o"]), helper.make_node("Mul", ["o", "x"], ["y"])], "body",
                             info[:2], info[2:])
    lengths, start, x = i(4, 2, 1), np.ones((3, 2), F32), np.arange(1, 25, dtype=F32).reshape(3, 4, 2)
    for backwards in 0, 1:
        state, each = start.copy(), np.zeros_like(x)
        for b, length in enumerate(lengths):
            for t in range(length):
                now = x[b, length - 1 - t if backwards else t]
                state[b] += now
                each[b, t] = state[b] * now
        c.add(f"scan_lengths_{backwards}", "Scan", [lengths, start, x], {"body": body, "num_scan_inputs": 1, "directions": [backwards]},
              version=8, outputs=2, by=[state, each])
