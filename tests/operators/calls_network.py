"""Calls of operators of neural networks, quantised operators, signals, texts, and the other domains."""

import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from call import Call, calls, dtype, element, floats, ints, is_float, is_int, number, to_type, values

# ---- images -------------------------------------------------------------------------------------------------------------------


@calls("Conv", "ConvTranspose")
def conv(c):
    w = c.x("T", 2, 2, 2, 2, low=-1, high=1, at=1)
    return Call([c.x("T", 1, 2, 3, 3), w, c.x("T", 2, at=2)], {"kernel_shape": [2, 2], "strides": [2, 1], "pads": [0, 1, 1, 0]})


@calls("AveragePool", "MaxPool", "LpPool")
def pool(c):
    attrs = {"kernel_shape": [2, 2], "strides": [1, 1]}
    if c.op == "LpPool":
        attrs["p"] = 2.0 if c.version == 1 else 2
    how = {"AveragePool": lambda p: p.mean(0), "MaxPool": lambda p: p.max(0), "LpPool": lambda p: np.sqrt((p.astype(float) ** 2).sum(0))}[c.op]

    def by(x):
        parts = np.stack([x[:, :, :-1, :-1], x[:, :, :-1, 1:], x[:, :, 1:, :-1], x[:, :, 1:, 1:]])
        places = np.stack([k + np.arange(4).reshape(2, 2) + np.arange(2).reshape(2, 1) for k in (0, 1, 3, 4)])
        at = np.take_along_axis(places, np.argmax(parts, 0)[0], 0)
        y = how(parts)
        return [y, at.reshape(y.shape)] if indices else [y]
    indices = c.op == "MaxPool" and c.version >= 8
    return Call([c.x("T", 1, 1, 3, 3)], attrs, outputs=2 if indices else 1, by=by)


@calls("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(c):
    how = {"GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True), "GlobalMaxPool": lambda x: x.max((2, 3), keepdims=True),
           "GlobalLpPool": lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True))}[c.op]
    return Call([c.x("T", 1, 2, 2, 2)], by=lambda x: [how(x)])


@calls("MaxRoiPool")
def max_roi_pool(c):
    rois = to_type(np.array([[0, 0, 0, 3, 3], [0, 0, 2, 1, 3]]), c["T"])
    return Call([c.x("T", 1, 1, 4, 4), rois], {"pooled_shape": [1, 2]}, by=lambda x, r: [
        np.array([[[[x[0, 0, :, :2].max(), x[0, 0, :, 2:].max()]]], [[[x[0, 0, 2:, 0].max(), x[0, 0, 2:, 1].max()]]]])])


@calls("MaxUnpool")
def max_unpool(c):
    def by(x, _):
        y = np.zeros((1, 1, 4, 4), x.dtype)
        y.reshape(-1)[[5, 3, 8, 15]] = x.ravel()
        return [y]
    return Call([c.x("T1", 1, 1, 2, 2), ints(5, 3, 8, 15).reshape(1, 1, 2, 2)], {"kernel_shape": [2, 2], "strides": [2, 2]}, by=by)


@calls("RoiAlign")
def roi_align(c):
    rois = to_type(np.array([[0, 0, 2, 2], [1, 0, 3, 2]]), c["T1"])
    attrs = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    # the reference implements the half pixel of version 16
    return Call([c.x("T1", 1, 1, 4, 4), rois, ints(0, 0)], attrs, trust="runtime" if c.version < 16 else "")


@calls("Upsample", "Resize")
def resize(c):
    by = lambda x, *_: [x.repeat(2, 2).repeat(2, 3)]  # noqa: E731
    x = c.x(c.inputs[0], 1, 1, 2, 2)
    if c.op == "Upsample" and c.version < 7:
        return Call([x], {"height_scale": 2.0, "width_scale": 2.0}, by=by)
    if c.op == "Upsample" and c.version < 9:
        return Call([x], {"scales": [1.0, 1.0, 2.0, 2.0]}, by=by)
    if c.version < 11:
        return Call([x, floats(1, 1, 2, 2)], consts=(1,), by=by)
    roi = c.x("T2", 8, low=0, high=1)
    return Call([x, roi, floats(1, 1, 2, 2)], {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}, consts=(1, 2), by=by)


@calls("GridSample")
def grid_sample(c):
    grid = to_type(np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5]]).reshape(1, 1, 3, 2), c["T2"])
    return Call([c.x("T1", 1, 1, 2, 2), grid], {"mode": "nearest"}, by=lambda x, _: [x[0, 0, [0, 0, 1], [0, 1, 1]].reshape(1, 1, 1, 3)])


@calls("AffineGrid")
def affine_grid(c):
    return Call([c.x("T1", 1, 2, 3, low=-1, high=1), ints(1, 1, 2, 3)], consts=(1,))


@calls("DeformConv")
def deform_conv(c):
    return Call([c.x("T", 1, 1, 3, 3), c.x("T", 1, 1, 2, 2, at=1), c.x("T", 1, 8, 2, 2, low=-0.5, high=0.5, at=2), c.x("T", 1)],
                {"kernel_shape": [2, 2]})


@calls("Col2Im")
def col2im(c):
    # blocks that do not overlap
    return Call([c.x("T", 1, 2, 6), ints(3, 4), ints(1, 2)], {"strides": [1, 2]}, consts=(1, 2),
                by=lambda x, *_: [x.reshape(1, 1, 2, 3, 2).transpose(0, 1, 3, 4, 2).reshape(1, 1, 3, 4)])


@calls("ImageDecoder")
def image_decoder(c):
    row = bytes([1, 2, 3, 40, 50, 60, 0, 0])
    file = b"BM" + struct.pack("<IHHI", 62, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 2, 1, 1, 24, 0, 8, 0, 0, 0, 0) + row
    return Call([np.frombuffer(file, np.uint8)], by=lambda _: [np.array([[[3, 2, 1], [60, 50, 40]]], np.uint8)])


@calls("NonMaxSuppression")
def non_max_suppression(c):
    boxes = floats(0, 0, 1, 1, 0, 0.1, 1, 1.1, 2, 2, 3, 3).reshape(1, 3, 4)
    return Call([boxes, floats(0.9, 0.8, 0.7).reshape(1, 1, 3), ints(3), floats(0.5), floats(0.0)], consts=(2, 3, 4),
                by=lambda *_: [ints(0, 0, 0, 0, 0, 2).reshape(2, 3)])


# ---- normalisations -------------------------------------------------------------------------------------------------------


@calls("BatchNormalization")
def batch_normalization(c):
    attrs = {} if c.version >= 7 else {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]} if c.version == 1 else {"is_test": 1}
    formal = c.inputs
    return Call([c.x(formal[0], 2, 3, 2), c.x(formal[1], 3), c.x(formal[2], 3, at=1), c.x(formal[3], 3, at=2), c.x(formal[4], 3, low=1)],
                attrs, by=lambda x, s, b, m, v: [(x - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * s[:, None] + b[:, None]])


@calls("InstanceNormalization")
def instance_normalization(c):
    def by(x, s, b):
        m, v = x.mean(2, keepdims=True), x.var(2, keepdims=True)
        return [(x - m) / np.sqrt(v + 1e-5) * s[:, None] + b[:, None]]
    return Call([c.x("T", 2, 2, 5), c.x("T", 2), c.x("T", 2, at=1)], {"consumed_inputs": [0, 0, 0]} if c.version == 1 else {}, by=by)


@calls("GroupNormalization")
def group_normalization(c):
    n = 2 if c.version == 18 else 4

    def by(x, s, b):
        x = x.reshape(1, 2, 6)
        y = ((x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)).reshape(1, 4, 3)
        return [y * s.repeat(4 // n)[:, None] + b.repeat(4 // n)[:, None]]
    return Call([c.x("T", 1, 4, 3), c.x("T", n), c.x("T", n, at=1)], {"num_groups": 2}, by=by)


@calls("LayerNormalization")
def layer_normalization(c):
    def by(x, s, b):
        m, d = x.mean(1, keepdims=True), 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        return [(x - m) * d * s + b, m, d]
    of = c.inputs[1]  # version 1, ONNX Runtime's, has a type variable of its own here
    return Call([c.x("T", 2, 5), c.x(of, 5), c.x(of, 5, at=1)], {"stash_type": number(c["U"])}, outputs=3, by=by)


@calls("RMSNormalization")
def rms_normalization(c):
    return Call([c.x("T", 2, 5), c.x("V", 5)], by=lambda x, s: [x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * s])


@calls("MeanVarianceNormalization")
def mean_variance_normalization(c):
    def by(x):
        return [(x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-9)]
    return Call([c.x("T", 2, 2, 2, 2)], by=by)


@calls("LRN")
def lrn(c):
    def by(x):
        s = x * x
        sums = np.stack([s[:, max(k - 1, 0):k + 2].sum(1) for k in range(4)], 1)
        return [x / (1 + 0.5 / 3 * sums) ** 0.75]
    return Call([c.x("T", 1, 4, 2, 2)], {"size": 3, "alpha": 0.5}, by=by)


# ---- products -------------------------------------------------------------------------------------------------------------


@calls("MatMul")
def matmul(c):
    return Call([c.x("T", 2, 3), c.x("T", 3, 2, at=1)], by=lambda a, b: [a @ b])


@calls("Gemm")
def gemm(c):
    attrs = {"alpha": 2.0, "transB": 1, **({"broadcast": 1} if c.version < 7 else {})}
    if is_int(c["T"]):
        attrs = {"transB": 1}
    k = attrs.get("alpha", 1)
    return Call([c.x("T", 2, 3), c.x("T", 4, 3, at=1), c.x("T", 4, at=2)], attrs, by=lambda a, b, v: [(k * (a @ b.T) + v).astype(a.dtype)])


@calls("Einsum")
def einsum(c):
    return Call([c.x("T", 2, 3), c.x("T", 3, 2, at=1)], {"equation": "ij,jk->ki"}, by=lambda a, b: [(a @ b).T])


@calls("Det")
def det(c):
    return Call([c.x("T", 2, 2, 2)], by=lambda x: [x[:, 0, 0] * x[:, 1, 1] - x[:, 0, 1] * x[:, 1, 0]])


@calls("RNN", "GRU", "LSTM")
def recurrent(c):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[c.op]
    inputs = [c.x("T", 2, 1, 2), c.x("T", 1, gates * 2, 2, low=-1, high=1), c.x("T", 1, gates * 2, 2, low=-1, high=1, at=1),
              c.x("T", 1, 4 * gates, low=-1, high=1, at=2)]
    attrs = {"hidden_size": 2, **({"output_sequence": 1} if c.version < 7 else {})}

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    def by(x, w, r, b, *_):
        h, cell, outputs = np.zeros(2), np.zeros(2), []
        wb, rb = b[0, :2 * gates], b[0, 2 * gates:]
        for step in x[:, 0]:
            a, g = w[0] @ step + wb, r[0] @ h + rb
            if c.op == "RNN":
                h = np.tanh(a + g)
            elif c.op == "GRU":
                z, reset = sigmoid(a[:2] + g[:2]), sigmoid(a[2:4] + g[2:4])
                new = np.tanh(a[4:] + r[0, 4:] @ (reset * h) + rb[4:])
                h = (1 - z) * new + z * h
            else:
                i, o, f, new = sigmoid((a + g)[:2]), sigmoid((a + g)[2:4]), sigmoid((a + g)[4:6]), np.tanh((a + g)[6:])
                cell = f * cell + i * new
                h = o * cell_tanh(cell)
            outputs.append(h)
        y = np.stack(outputs).reshape(2, 1, 1, 2)
        return [y, y[-1]]

    def cell_tanh(v):
        return np.tanh(v)
    inputs.append(to_type(np.array([2]), c["T1"]))
    return Call(inputs, attrs, outputs=2, by=by)


@calls("GRUUnit")
def gru_unit(c):
    def by(prev, gates, lengths, t):
        update, new = 1 / (1 + np.exp(-gates[..., 2:4])), np.tanh(gates[..., 4:])
        return [np.where(np.array([[True], [False]]), prev * update + new * (1 - update), prev)]
    return Call([c.x("T", 2, 2), c.x("T", 1, 2, 6), to_type(np.array([3, 1]), c["L"]), to_type(np.array([2]), c["L"])], by=by)


@calls("Attention")
def attention(c):
    q, k, v = c.x("T1", 1, 1, 2, 4, low=-1, high=1), c.x("T1", 1, 1, 3, 4, low=-1, high=1, at=1), c.x("T2", 1, 1, 3, 4, low=1, at=2)
    mask = to_type(np.array([[1, 1, 0], [1, 0, 1]]), c["U"])
    if c["U"] != "bool" and is_int(c["U"]):
        mask = to_type(np.array([[1, 0, 0], [0, 2, 1]]), c["U"])

    def by(q, k, v, mask):
        s = q[0, 0] @ k[0, 0].T / 2
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
        p = np.exp(s - s.max(1, keepdims=True))
        return [(p / p.sum(1, keepdims=True) @ v[0, 0]).reshape(1, 1, 2, 4)]
    return Call([q, k, v, mask], by=by)


@calls("FlexAttention", domain="ai.onnx.preview")
def flex_attention(c):
    q, k, v = c.x("T1", 1, 1, 2, 4, low=-1, high=1), c.x("T1", 1, 1, 3, 4, low=-1, high=1, at=1), c.x("T1", 1, 1, 3, 4, at=2)

    def by(q, k, v):
        s = q[0, 0] @ k[0, 0].T / 2
        p = np.exp(s - s.max(1, keepdims=True))
        return [(p / p.sum(1, keepdims=True) @ v[0, 0]).reshape(1, 1, 2, 4)]
    return Call([q, k, v], by=by)


@calls("LinearAttention")
def linear_attention(c):
    inputs = [c.x("T", 1, 3, 4, low=-1, high=1), c.x("T", 1, 3, 4, low=-1, high=1, at=1), c.x("T", 1, 3, 4, at=2), c.x("S", 1, 1, 4, 4)]
    return Call(inputs, {"update_rule": "linear", "q_num_heads": 1, "kv_num_heads": 1}, outputs=2, trust="reference")


@calls("CausalConvWithState")
def causal_conv(c):
    return Call([c.x("T", 1, 2, 4), c.x("T", 2, 1, 3, at=1), c.x("T", 2)], outputs=2, trust="reference")


@calls("RotaryEmbedding")
def rotary(c):
    return Call([c.x("T", 1, 1, 2, 4), c.x("T", 2, 2, low=-1, high=1), c.x("T", 2, 2, low=-1, high=1, at=1), ints(0, 1).reshape(1, 2)],
                trust="reference")


@calls("SwiGLU")
def swiglu(c):
    return Call([c.x("T", 2, 3), c.x("T", 2, 3, at=1)], trust="reference")


# ---- losses, signals --------------------------------------------------------------------------------------------------------


@calls("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def losses(c):
    def by(x, at):
        p = x if c.op.startswith("Neg") else x - np.log(np.exp(x).sum(1, keepdims=True))
        return [-(p[0, 2] + p[1, 0]) / 2]
    return Call([c.x("T", 2, 3), to_type(np.array([2, 0]), c["Tind"])], by=by)


@calls("DFT")
def dft(c):
    def by(x, *_):
        y = np.fft.fft(x[:, :, 0], axis=1)
        return [np.stack([y.real, y.imag], 2)]
    length = to_type(np.array(4), c["T2"])
    if c.version < 20:
        return Call([c.x("T1", 1, 4, 1), length], {"axis": 1}, consts=(1,), by=by)
    return Call([c.x("T1", 1, 4, 1), length, ints(1)[0]], consts=(1, 2), by=by)


@calls("STFT")
def stft(c):
    def by(x, step, window, *_):
        y = np.stack([np.fft.rfft(x[0, k:k + 4, 0] * window) for k in (0, 2, 4)])[None]
        return [np.stack([y.real, y.imag], 3)]
    return Call([c.x("T1", 1, 8, 1), to_type(np.array(2), c["T2"]), c.x("T1", 4, low=0, high=1), to_type(np.array(4), c["T2"])],
                consts=(1, 3), by=by)


@calls("MelWeightMatrix")
def mel(c):
    numbers = [to_type(np.array(v), c["T1"]) for v in (4, 16, 8000)] + [to_type(np.array(v), c["T2"]) for v in (0, 4000)]
    return Call(numbers, {"output_datatype": number(c["T3"])}, consts=(0, 1, 2, 3, 4), trust="reference", widen=False)


# ---- quantised ------------------------------------------------------------------------------------------------------------


def zero(t, v=0):
    return to_type(np.array(v), t)


def small(t, shape, at=0):
    return values(t, shape, low=0 if t.startswith("uint") else -2, high=5, at=at)


def real(x, scale=0.5, point=0):
    return (x.astype(np.float64) - point) * scale


def quantised(y, t, scale, point=0):
    if is_int(t):
        y = np.rint(y / scale) + point
        return to_type(np.maximum(y, 0) if t.startswith("uint") else y, t)
    return to_type((y / scale).astype(np.float32), t)


@calls("QuantizeLinear")
def quantize(c):
    scale_type = c.type_of(c.inputs[1])
    out = c.outputs[0]
    s = {"int32": 2.0, "float8e8m0": 2.0}.get(scale_type, 0.5)
    x = to_type(np.array([[-1.5, 0, 1], [2, 3, -2]]), c.type_of(c.inputs[0]))
    if c.type_of(c.inputs[0]) == "int32":
        x = x * 2
    scale = np.array(s, dtype(scale_type))
    attrs = {"precision": TensorProto.FLOAT} if c.version >= 24 and "int32" in (scale_type, c.type_of(c.inputs[0])) else {}
    return Call([x, scale, zero(c[out])], attrs, by=lambda x, *_: [quantised(x.astype(float), c[out], s)])


@calls("DequantizeLinear")
def dequantize(c):
    t, out = c[c.inputs[0]] if c.inputs[0] in c.types else c.type_of(c.inputs[0]), c.output_type(0)
    scale_type = c.type_of(c.inputs[1])
    s = 2.0 if scale_type == "float8e8m0" else 0.5
    attrs = {"output_dtype": number(out)} if c.version >= 23 else {}
    x = small(t, (2, 3))
    inputs = [x, np.array(s, dtype(scale_type))] + ([] if t == "int32" else [zero(t, 1 if is_int(t) else 0)])
    return Call(inputs, attrs, by=lambda x, *_: [real(x, s, 1 if is_int(t) and t != "int32" else 0)])


@calls("DynamicQuantizeLinear")
def dynamic_quantize(c):
    return Call([floats(0, 2, -3, -2.5, 1.34, 0.5)], outputs=3)


@calls("MatMulInteger")
def matmul_integer(c):
    a, b = small(c["T1"], (2, 3)), small(c["T2"], (3, 2), 1)
    return Call([a, b, zero(c["T1"], 1), zero(c["T2"], 2)], by=lambda a, b, *_: [(a.astype(int) - 1) @ (b.astype(int) - 2)])


@calls("ConvInteger")
def conv_integer(c):
    def by(x, w, *_):
        x, w = x.astype(int) - 1, w.astype(int)
        return [np.array([[[(x[0, 0, i:i + 2] * w[0, 0]).sum() for i in range(3)]]])]
    return Call([small(c["T1"], (1, 1, 4)), small(c["T2"], (1, 1, 2), 1), zero(c["T1"], 1), zero(c["T2"])], by=by)


@calls("QLinearMatMul")
def qlinear_matmul(c):
    a, b = small(c["T1"], (2, 3)), small(c["T2"], (3, 2), 1)
    ts = c.types.get("TS", "float")
    point = 10 if is_int(c["T3"]) else 0
    inputs = [a, np.array(0.5, dtype(ts)), zero(c["T1"]), b, np.array(0.5, dtype(ts)), zero(c["T2"]), np.array(0.25, dtype(ts)), zero(c["T3"], point)]
    return Call(inputs, by=lambda *_: [quantised(real(a) @ real(b), c["T3"], 0.25, point)])


@calls("QLinearConv")
def qlinear_conv(c):
    x, w = small(c["T1"], (1, 1, 4)), small(c["T2"], (1, 1, 2), 1)

    def by(*_):
        y = np.array([[[(real(x)[0, 0, i:i + 2] * real(w)[0, 0]).sum() for i in range(3)]]])
        return [quantised(y + 0.25, c["T3"], 0.25, 10)]
    inputs = [x, floats(0.5)[0], zero(c["T1"]), w, floats(0.5)[0], zero(c["T2"]), floats(0.25)[0], zero(c["T3"], 10), np.array([1], np.int32)]
    return Call(inputs, consts=(3, 8), by=by)


# ---- texts --------------------------------------------------------------------------------------------------------------------


def strings(*s):
    return np.array(s, dtype=object)


@calls("RegexFullMatch")
def regex_full_match(c):
    return Call([strings("ab", "abc", "b")], {"pattern": "a.?b?c?"}, by=lambda _: [np.array([True, True, False])])


@calls("StringNormalizer")
def string_normalizer(c):
    return Call([strings("Monday", "the", "day")], {"case_change_action": "UPPER", "is_case_sensitive": 1, "stopwords": ["the"]},
                by=lambda _: [strings("MONDAY", "DAY")])


@calls("StringSplit")
def string_split(c):
    return Call([strings("a b", "c")], {"delimiter": " "}, outputs=2, by=lambda _: [np.array([["a", "b"], ["c", ""]], object), ints(2, 1)])


@calls("TfIdfVectorizer")
def tf_idf(c):
    pool = {"pool_strings": ["a", "b", "ab", "c"]} if c["T"] == "string" else {"pool_int64s": [2, 3, 5, 4]}
    x = strings("a", "b", "a", "c") if c["T"] == "string" else to_type(np.array([2, 3, 2, 4]), c["T"])
    attrs = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0], "ngram_indexes": [0, 1, 2, 3]}
    return Call([x], {**attrs, **pool}, by=lambda _: [floats(2, 1, 0, 1)])


# ---- ai.onnx.ml -----------------------------------------------------------------------------------------------------------

ML = "ai.onnx.ml"


@calls("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(c):
    return Call([c.x("T", 2, 3), ints(2, 0)], by=lambda x, _: [x[:, [2, 0]]])


@calls("Binarizer", domain=ML)
def binarizer(c):
    return Call([c.x("T", 2, 3)], {"threshold": 1.0}, by=lambda x: [np.where(x > 1, 1, 0)])


@calls("CategoryMapper", domain=ML)
def category_mapper(c):
    words = {"cats_int64s": [7, 8], "cats_strings": ["x", "y"], "default_int64": -1, "default_string": "none"}
    if c["T1"] == c["T2"]:
        c.types["T1" if c["T2"] != "int64" else "T2"] = "int64" if c["T2"] != "int64" else "string"
    if c["T1"] == "string":
        return Call([strings("y", "z", "x")], words, by=lambda _: [ints(8, -1, 7)])
    return Call([ints(8, 9, 7)], words, by=lambda _: [strings("y", "none", "x")])


@calls("LabelEncoder", domain=ML)
def label_encoder(c):
    def of(t, *v):
        return to_type(np.array(v, float), t)
    kinds = {"string": "strings", "int64": "int64s", "float": "floats"}
    if c.version == 1:
        if c["T1"] == c["T2"]:
            c.types["T1" if c["T2"] != "int64" else "T2"] = "int64" if c["T2"] != "int64" else "string"
        attrs = {"classes_strings": ["x", "y"], "default_int64": -1, "default_string": "none"}
        if c["T1"] == "string":
            return Call([strings("y", "z", "x")], attrs, by=lambda _: [ints(1, -1, 0)])
        return Call([ints(1, 2, 0)], attrs, by=lambda _: [strings("y", "none", "x")])
    x, y, other = of(c["T1"], 2, 3, 1), of(c["T2"], 5, 9, 4), of(c["T2"], 9)
    if c["T1"] in kinds and c["T2"] in kinds:
        attrs = {f"keys_{kinds[c['T1']]}": list(of(c["T1"], 1, 2)), f"values_{kinds[c['T2']]}": list(of(c["T2"], 4, 5)),
                 f"default_{kinds[c['T2']].rstrip('s')}": other[0]}
    else:
        attrs = {"keys_tensor": numpy_helper.from_array(of(c["T1"], 1, 2)), "values_tensor": numpy_helper.from_array(of(c["T2"], 4, 5)),
                 "default_tensor": numpy_helper.from_array(other)}
    return Call([x], attrs, by=lambda _: [y])


@calls("FeatureVectorizer", domain=ML)
def feature_vectorizer(c):
    return Call([c.x("T1", 2, 2), c.x("T1", 2, 1, at=1)], {"inputdimensions": [2, 1]}, by=lambda a, b: [np.concatenate([a, b], 1)])


@calls("Imputer", domain=ML)
def imputer(c):
    x = to_type(np.array([[1, 2], [3, 1]]), c["T"])
    kind = "int64" if is_int(c["T"]) else "float"
    attrs = {f"imputed_value_{kind}s": [7, 8] if kind == "int64" else [7.0, 8.0], f"replaced_value_{kind}": 1 if kind == "int64" else 1.0}
    return Call([x], attrs, by=lambda x: [np.array([[7, 2], [3, 8]])])


@calls("LinearClassifier", domain=ML)
def linear_classifier(c):
    x = to_type(np.array([[1, 2], [3, -1]]), c["T1"])
    scores = np.array([[1, 2, -2.5], [3, -1, -1.5]])
    names = {"classlabels_strings": ["a", "b", "c"]} if c["T2"] == "string" else {"classlabels_ints": [5, 6, 7]}
    labels = strings("b", "a") if c["T2"] == "string" else ints(6, 5)
    return Call([x], {"coefficients": [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], "intercepts": [0.0, 0.0, 0.5], **names}, outputs=2,
                by=lambda _: [labels, scores])


@calls("LinearRegressor", domain=ML)
def linear_regressor(c):
    return Call([c.x("T", 2, 2)], {"coefficients": [1.0, 2.0], "intercepts": [0.5], "targets": 1}, by=lambda x: [x @ np.array([[1.0], [2.0]]) + 0.5])


@calls("Normalizer", domain=ML)
def normalizer(c):
    return Call([c.x("T", 2, 3, low=1)], {"norm": "L1"}, by=lambda x: [x / x.sum(1, keepdims=True)])


@calls("OneHotEncoder", domain=ML)
def one_hot_encoder(c):
    x = to_type(np.array([2.0, 0, 1]), c["T"])
    attrs = {"cats_strings": ["0", "1", "2"]} if c["T"] == "string" else {"cats_int64s": [0, 1, 2]}
    return Call([x], attrs, by=lambda _: [np.eye(3)[[2, 0, 1]]])


@calls("Scaler", domain=ML)
def scaler(c):
    return Call([c.x("T", 2, 2)], {"offset": [1.0, 2.0], "scale": [0.5, 2.0]}, by=lambda x: [(x - floats(1, 2)) * floats(0.5, 2)])


@calls("SVMRegressor", domain=ML)
def svm_regressor(c):
    attrs = {"coefficients": [1.0, -0.5], "support_vectors": [1.0, 0.0, 0.0, 2.0], "n_supports": 2, "rho": [0.25], "kernel_type": "LINEAR"}
    return Call([c.x("T", 2, 2)], attrs, by=lambda x: [x @ np.array([[1.0], [-1.0]]) + 0.25])


@calls("SVMClassifier", domain=ML)
def svm_classifier(c):
    # one vector for each class: x - y decides between the two
    names = {"classlabels_strings": ["a", "b"]} if c["T2"] == "string" else {"classlabels_ints": [5, 6]}
    attrs = {"coefficients": [1.0, -1.0], "support_vectors": [1.0, 0.0, 0.0, 1.0], "vectors_per_class": [1, 1], "rho": [0.0],
             "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], **names}
    return Call([to_type(np.array([[3, 1], [0, 2]]), c["T1"])], attrs, outputs=2, trust="runtime")


TREE = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0]}


@calls("TreeEnsembleRegressor", domain=ML)
def tree_regressor(c):
    leaves = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "n_targets": 1}
    attrs = {**TREE, **leaves, "nodes_values": [1.0, 0.0, 0.0], "target_weights": [2.5, -1.5]}
    if c["T"] == "double" and c.version >= 3:
        del attrs["nodes_values"], attrs["target_weights"]
        attrs["nodes_values_as_tensor"] = numpy_helper.from_array(np.array([1.0, 0, 0]))
        attrs["target_weights_as_tensor"] = numpy_helper.from_array(np.array([2.5, -1.5]))
    return Call([to_type(np.array([[0, 1], [0, 2]]), c["T"])], attrs, by=lambda _: [np.array([[2.5], [-1.5]])])


@calls("TreeEnsembleClassifier", domain=ML)
def tree_classifier(c):
    names = {"classlabels_strings": ["a", "b", "c"]} if c["T2"] == "string" else {"classlabels_int64s": [5, 6, 7]}
    leaves = {"class_treeids": [0, 0, 0], "class_nodeids": [1, 1, 2], "class_ids": [0, 2, 1], **names}
    attrs = {**TREE, **leaves, "nodes_values": [1.0, 0.0, 0.0], "class_weights": [0.25, 0.5, 1.0]}
    if c["T1"] == "double" and c.version >= 3:
        del attrs["nodes_values"], attrs["class_weights"]
        attrs["nodes_values_as_tensor"] = numpy_helper.from_array(np.array([1.0, 0, 0]))
        attrs["class_weights_as_tensor"] = numpy_helper.from_array(np.array([0.25, 0.5, 1.0]))
    labels = strings("c", "b") if c["T2"] == "string" else ints(7, 6)
    return Call([to_type(np.array([[0, 1], [0, 2]]), c["T1"])], attrs, outputs=2, by=lambda _: [labels, np.array([[0.25, 0, 0.5], [0, 1, 0]])])


@calls("TreeEnsemble", domain=ML)
def tree_ensemble(c):
    def tensor(*v, kind=None):
        return numpy_helper.from_array(to_type(np.array(v, float), kind or c["T"]))
    attrs = {"nodes_splits": tensor(1), "nodes_featureids": [1], "nodes_modes": tensor(0, kind="uint8"), "nodes_truenodeids": [0],
             "nodes_falsenodeids": [1], "nodes_trueleafs": [1], "nodes_falseleafs": [1], "tree_roots": [0], "leaf_targetids": [0, 0],
             "leaf_weights": tensor(2.5, -1.5), "n_targets": 1}
    return Call([to_type(np.array([[0, 1], [0, 2]]), c["T"])], attrs, by=lambda _: [np.array([[2.5], [-1.5]])])


# ---- training -------------------------------------------------------------------------------------------------------------

TRAINING = "ai.onnx.preview.training"


@calls("Adagrad", "Adam", "Momentum", domain=TRAINING)
def optimizer(c):
    def by(r, t, x, g, *states):
        if c.op == "Momentum":
            v = 0.5 * states[0] + g
            return [x - r * v, v]
        if c.op == "Adagrad":
            h = states[0] + g * g
            return [x - r / (np.sqrt(h) + 1e-6) * g, h]
        v, h = 0.5 * states[0] + 0.5 * g, 0.75 * states[1] + 0.25 * g * g
        rate = r * np.sqrt(1 - 0.75 ** 3) / (1 - 0.5 ** 3)
        return [x - rate * v / (np.sqrt(h) + 1e-6), v, h]
    attrs = {"Momentum": {"alpha": 0.5, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.0}, "Adagrad": {}, "Adam": {"alpha": 0.5, "beta": 0.75}}[c.op]
    states = [c.x("T3", 3, low=1, at=k + 2) for k in range(2 if c.op == "Adam" else 1)]
    return Call([to_type(np.array(0.5), c["T1"]), ints(3)[0], c.x("T3", 3), c.x("T3", 3, at=1), *states], attrs, outputs=1 + len(states), by=by)


@calls("Gradient", domain=TRAINING)
def gradient(c):
    if is_float(c["T1"]) or c["T2"] != "float":
        c.types["T1"] = c.types["T2"] = c["T1"] if c["T1"] != "float" else c["T2"]
    square = [helper.make_node("Mul", ["x0", "x0"], ["s"]), helper.make_node("ReduceSum", ["s"], ["r"])]
    x = c.x("T2", 2, 3)
    if is_float(c["T1"]):
        return Call([x], {"xs": ["x0"], "y": "r"}, before=square, by=lambda x: [2 * x])
    return Call([x, c.x("T1", 2, 3)], {"xs": ["x0"], "zs": ["x1"], "y": "r"}, before=square, formal={0: "T2", 1: "T1"}, by=lambda x, _: [2 * x])


# ---- com.microsoft --------------------------------------------------------------------------------------------------------

MICROSOFT = "com.microsoft"


@calls("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(c):
    a, b = small(c["T"], (2, 3)), small(c["T"], (2, 3), 1)
    how = np.add if c.op.endswith("Add") else np.multiply
    return Call([a, floats(0.5)[0], zero(c["T"], 1), b, floats(0.5)[0], zero(c["T"], 2), floats(0.25)[0], zero(c["T"], 10)],
                consts=(1, 2, 4, 5, 6, 7), by=lambda *_: [quantised(how(real(a, 0.5, 1), real(b, 0.5, 2)), c["T"], 0.25, 10)])


@calls("QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool", "QLinearAveragePool", "QLinearSoftmax", "QLinearReduceMean",
       domain=MICROSOFT)
def qlinear_unary(c):
    x = small(c["T"], (1, 1, 4, 4))
    how, attrs, scale = {
        "QLinearSigmoid": (lambda v: 1 / (1 + np.exp(-v)), {}, 1 / 128), "QLinearLeakyRelu": (lambda v: np.where(v < 0, v / 4, v), {"alpha": 0.25}, 0.25),
        "QLinearGlobalAveragePool": (lambda v: v.mean((2, 3), keepdims=True), {"channels_last": 0}, 0.125),
        "QLinearAveragePool": (lambda v: v.reshape(1, 1, 2, 2, 2, 2).mean((3, 5)), {"kernel_shape": [2, 2], "strides": [2, 2]}, 0.125),
        "QLinearSoftmax": (lambda v: np.exp(v) / np.exp(v).sum(3, keepdims=True), {"axis": 3, "opset": 13}, 1 / 128),
        "QLinearReduceMean": (lambda v: v.mean(3), {"axes": [3], "keepdims": 0}, 0.125),
    }[c.op]
    return Call([x, floats(0.5)[0], zero(c["T"], 1), np.float32(scale), zero(c["T"], 3)], attrs, consts=(1, 2, 3, 4),
                by=lambda *_: [quantised(how(real(x, 0.5, 1)), c["T"], scale, 3)])


@calls("QLinearWhere", domain=MICROSOFT)
def qlinear_where(c):
    a, b, keep = small(c["T"], (2, 3)), small(c["T"], (2, 3), 1), np.array([[True], [False]])
    return Call([keep, a, floats(0.5)[0], zero(c["T"], 1), b, floats(0.25)[0], zero(c["T"], 2), floats(0.25)[0], zero(c["T"], 10)],
                consts=(2, 3, 5, 6, 7, 8), by=lambda *_: [quantised(np.where(keep, real(a, 0.5, 1), real(b, 0.25, 2)), c["T"], 0.25, 10)])


@calls("QuantizeLinear", domain=MICROSOFT)
def quantize_more(c):
    x = to_type(np.array([[-1.5, 0, 1], [2, 3, -2]]), c["T1"])
    return Call([x, np.array(0.5, dtype(c["T1"])), zero(c["T2"])], by=lambda x, *_: [quantised(x.astype(float), c["T2"], 0.5)])


@calls("DequantizeLinear", domain=MICROSOFT)
def dequantize_more(c):
    x = small(c["T1"], (2, 3))
    return Call([x, np.array(0.5, dtype(c["T2"]))], by=lambda x, *_: [real(x)])


@calls("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(c):
    t = c["T"]
    a, b = small(t, (2, 3)), small(t, (2, 2), 1)
    return Call([floats(0.25)[0], zero(t, 3), a, floats(0.5)[0], zero(t, 1), b, floats(0.25)[0], zero(t, 2)], {"axis": 1},
                consts=(0, 1, 3, 4, 6, 7), formal={2: t, 3: "float", 4: t, 5: t, 6: "float", 7: t},
                by=lambda *_: [quantised(np.concatenate([real(a, 0.5, 1), real(b, 0.25, 2)], 1), t, 0.25, 3)])


@calls("QGemm", domain=MICROSOFT)
def qgemm(c):
    a, b = small(c["TA"], (2, 3)), small(c["TB"], (3, 2), 1)
    y = real(a, 0.5, 1) @ real(b, 0.5, 2)
    inputs = [a, floats(0.5)[0], zero(c["TA"], 1), b, floats(0.5)[0], zero(c["TB"], 2), None]
    if c["TYZ"] == "float" and c["TY"] == c.of["TY"][0]:
        return Call(inputs[:6], consts=(1, 2, 4, 5), by=lambda *_: [y])
    c.types["TYZ" if c["TYZ"] == "float" else "TY"] = c["TY"] if c["TYZ"] == "float" else c["TYZ"]
    return Call([*inputs, floats(0.5)[0], zero(c["TY"], 5)], consts=(1, 2, 4, 5, 7, 8), by=lambda *_: [quantised(y, c["TY"], 0.5, 5)])


@calls("MatMulNBits", domain=MICROSOFT)
def matmul_nbits(c):
    codes = (np.arange(32).reshape(2, 16) * 5 % 16).astype(np.uint8)
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).reshape(2, 1, 8)
    scales = to_type(np.array([0.5, 0.25]), c["T"])
    point = np.array([0x08, 0x08], np.uint8)
    if c["Z"] != "uint8":
        point = to_type(np.array([8.0, 8.0]), c["Z"])
    return Call([c.x("T", 2, 16), packed, scales, point], {"K": 16, "N": 2, "bits": 4, "block_size": 16}, consts=(1, 2, 3),
                by=lambda x, *_: [x @ ((codes.astype(float) - 8) * np.array([[0.5], [0.25]])).T])


