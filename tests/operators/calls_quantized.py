"""Calls of com.microsoft's operators on quantised values and on strings."""

import numpy as np

from call import Call, calls, floats, to_type
from calls_network import MICROSOFT, quantised, real, small, zero


@calls("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(c):
    w = small(c["T2"], (3, 2), 1)
    return Call([floats(0, 5, 255, 10, 20, 30).reshape(2, 3), w, floats(0.5)[0], zero(c["T2"], 2)], consts=(1, 2, 3), by=lambda x, *_: [x @ real(w, 0.5, 2)])


@calls("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(c):
    x, w = small(c["T1"], (2, 3)), small(c["T2"], (3, 2), 1)
    scale = to_type(np.array(0.5), c["T3"])
    return Call([x, w, scale, scale, zero(c["T1"], 1), zero(c["T2"], 2), to_type(np.array([1, -2]), c["T3"])], consts=(1, 2, 3, 4, 5, 6),
                by=lambda *_: [real(x, 0.5, 1) @ real(w, 0.5, 2) + np.array([1, -2])])


@calls("MatMulInteger16", domain=MICROSOFT)
def matmul_integer16(c):
    if c["T3"] == "uint32":
        c.types["T1"] = c.types["T2"] = "uint16"
    elif c["T1"] == c["T2"] == "uint16":
        c.types["T3"] = "uint32"
    a, b = small(c["T1"], (2, 3)), small(c["T2"], (3, 2), 1)
    return Call([a, b], by=lambda *_: [a.astype(np.int64) @ b.astype(np.int64)])


@calls("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(c):
    t, one = c["T2"], floats(0.125)
    return Call([c.x("T", 2, 1, 2), small(t, (1, 2, 8)), small(t, (1, 2, 8), 1), None, c.x("T1", 1, low=1), None, None, None,
                 one, small(t, (1,)), one, small(t, (1,), 1)], {"hidden_size": 2}, outputs=3, consts=(1, 2, 8, 9, 10, 11))


@calls("QLinearConv", domain=MICROSOFT)
def qlinear_conv(c):
    x, w = small(c["T1"], (1, 2, 2, 3)), small(c["T2"], (4, 3, 1, 1), 1)
    y = real(x, 0.5, 1) @ real(w[:, :, 0, 0], 0.5, 2).T
    return Call([x, floats(0.5)[0], zero(c["T1"], 1), w, floats(0.5)[0], zero(c["T2"], 2), floats(0.5)[0], zero(c["T3"], 5)], {"channels_last": 1},
                consts=range(1, 8), by=lambda *_: [quantised(y, c["T3"], 0.5, 5)])


@calls("NhwcMaxPool", domain=MICROSOFT)
def nhwc_max_pool(c):
    x = small(c["T"], (1, 4, 4, 2))
    return Call([x], {"kernel_shape": [2, 2], "strides": [2, 2]}, by=lambda *_: [x.reshape(1, 2, 2, 2, 2, 2).max((2, 4))])


@calls("MatMulFpQ4", domain=MICROSOFT)
def matmul_fpq4(c):
    """The scale is 0.5, the zero point 3; the codes are 0 to 15, twice."""
    b = np.concatenate([np.array([0, 0, 0, 63, 3], np.uint8), np.arange(16, dtype=np.uint8) * 17])
    return Call([c.x("T1", 2, 32), b, np.array([32, 1])], {"blk_quant_type": 1}, consts=(2,),
                by=lambda x, *_: [x @ ((np.arange(32) % 16 - 3) / 2).reshape(32, 1)])


@calls("MatMulBnb4", domain=MICROSOFT)
def matmul_bnb4(c):
    w = np.array([0x7F] * 8, np.uint8)  # of NF4: 0, 1, 0, 1, ...
    return Call([c.x("T1", 2, 16), w, to_type(np.array([0.5]), c["T1"])], {"K": 16, "N": 1, "block_size": 16, "quant_type": 1}, consts=(1, 2),
                by=lambda x, *_: [x @ np.tile([0, 0.5], 8)[:, None]])


@calls("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(c):
    x, index = small(c["T1"], (3, 16)), to_type(np.array([2, 0]), c["Tind"])
    attrs, less = {"block_size": 16, "bits": 8 if c["T1"] == "uint8" else 4}, 128 if c["T1"] == "uint8" else 0
    return Call([x, index, to_type(np.array([[0.5], [0.25], [0.125]]), c["T2"])], attrs, consts=(0, 2),
                by=lambda *_: [(x.astype(float)[[2, 0]] - less) * [[0.125], [0.5]]])


@calls("QAttention", domain=MICROSOFT)
def qattention(c):
    """One key: the result is the value."""
    x, w = small(c["T1"], (1, 1, 2)), small(c["T2"], (2, 6), 1)
    scale, bias = to_type(np.array(0.5), c["T3"]), to_type(np.arange(6) - 2.0, c["T3"])
    return Call([x, w, bias, scale, scale, to_type(np.array([1]), c["T4"]), zero(c["T1"], 1), zero(c["T2"], 2)], {"num_heads": 1},
                consts=(1, 2, 3, 4, 6, 7), by=lambda *_: [(real(x, 0.5, 1) @ real(w, 0.5, 2) + np.arange(6) - 2)[:, :, 4:]])


@calls("QEmbedLayerNormalization", domain=MICROSOFT)
def qembed(c):
    t, s = c["T2"], np.array(0.5, np.float32)
    tables = [small(t, (4, 6)), small(t, (3, 6), 1), small(t, (2, 6), 2), small(t, (6,), 3), small(t, (6,), 4)]
    return Call([np.array([[3, 0, 1]], np.int32), np.array([[1, 0, 1]], np.int32), *tables, np.array([[1, 1, 0]], np.int32), *[s] * 5, *[zero(t, 1)] * 5],
                consts=range(2, 7), outputs=2)


@calls("MurmurHash3", domain=MICROSOFT)
def murmur_hash(c):
    return Call([c.x("T1", 2, 3)], {"positive": int(c["T2"] == "uint32"), "seed": 5}, widen=False)


@calls("Tokenizer", domain=MICROSOFT)
def tokenizer(c):
    return Call([to_type(["one two", "", "three"], "string")], {"mark": 1, "mincharnum": 2, "pad_value": "#", "separators": [" "]})
