"""Calls of the operators that ONNX Runtime's optimisers write; results by their formulas, in every type. cases.py compares with
ONNX Runtime."""

import math

import numpy as np

from call import Call, calls

MICROSOFT = "com.microsoft"


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2


def fast_gelu(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


def layer_norm(x, scale, bias=None, epsilon=1e-5):
    """The result, and the statistics."""
    mean = x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + epsilon)
    return [(x - mean) * inverse * scale + (0 if bias is None else bias), mean, inverse]


def rms_norm(x, scale, epsilon=1e-5):
    inverse = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
    return [x * inverse * scale, inverse]


@calls("FusedMatMul", "TransposeMatMul", "FusedMatMulActivation", domain=MICROSOFT)
def fused_matmul(c):
    attrs = {"transB": 1, "alpha": 0.5}
    last = "Activation" in c.op
    if last:
        attrs.update(activation="LeakyRelu", activation_alpha=0.25)
    return Call([c.x("T", 2, 2, 3), c.x("T", 4, 3, at=1)], attrs,
                by=lambda a, b: [np.where((y := a @ b.T / 2) < 0, y / 4, y) if last else a @ b.T / 2])


@calls("FusedGemm", domain=MICROSOFT)
def fused_gemm(c):
    return Call([c.x("T", 3, 2), c.x("T", 3, 4, at=1), c.x("T", 4)], {"transA": 1, "activation": "Relu"},
                by=lambda a, b, bias: [np.maximum(a.T @ b + bias, 0)])


@calls("FusedConv", domain=MICROSOFT)
def fused_conv(c):
    return Call([c.x("T", 1, 2, 3), c.x("T", 2, 2, 1, at=1), c.x("T", 2), c.x("T", 1, 2, 3, at=2)], {"activation": "Relu"},
                by=lambda x, w, b, z: [np.maximum(np.einsum("ncw,mc->nmw", x, w[..., 0]) + b[:, None] + z, 0)])


@calls("BiasGelu", "FastGelu", domain=MICROSOFT)
def bias_gelu(c):
    return Call([c.x("T", 2, 3), c.x("T", 3, at=1)], by=lambda x, b: [(gelu if c.op == "BiasGelu" else fast_gelu)(x + b)])


@calls("Gelu", "QuickGelu", domain=MICROSOFT)
def plain_gelu(c):
    return Call([c.x("T", 2, 3)], by=lambda x: [gelu(x) if c.op == "Gelu" else x / (1 + np.exp(-1.702 * x))])


@calls("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(c):
    simple = "Simplified" in c.op

    def by(x, skip, gamma, *more):
        s = x + skip + more[-1]
        y, *statistics = rms_norm(s, gamma) if simple else layer_norm(s, gamma, more[0])
        return [y, *([np.zeros_like(statistics[0])] if simple else []), *statistics, s]
    more = [c.x("T", 4, at=k + 2) for k in range(2 - simple)]
    return Call([c.x("T", 2, 4), c.x("T", 2, 4, at=1), c.x("T", 4), *more], {"epsilon": 1e-5}, outputs=4, by=by)


@calls("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_norm(c):
    ids = [np.array([[2, 0], [1, 1]], np.int32), np.array([[1, 0], [0, 0]], np.int32)]
    tables = [c.x("T", 3, 4), c.x("T", 2, 4, at=1), c.x("T", 2, 4, at=2)]

    def by(words, segments, word, position, segment, gamma, beta, mask):
        s = word[words] + position + segment[segments]
        return [layer_norm(s, gamma, beta)[0], mask.sum(1).astype(np.int32), s]
    return Call([*ids, *tables, c.x("T", 4), c.x("T", 4, at=1), np.array([[1, 1], [1, 0]], np.int32)], {"epsilon": 1e-5}, outputs=3, by=by)


@calls("SimplifiedLayerNormalization")
def simplified_layer_norm(c):
    return Call([c.x("T", 2, 4), c.x("V", 4, at=1)], outputs=2, by=rms_norm)
