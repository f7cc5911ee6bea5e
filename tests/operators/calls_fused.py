"""Calls of the operators that ONNX Runtime's optimisers write, in every type, with results by their formulas. cases.py has comparisons
with ONNX Runtime."""

import math

import numpy as np
from onnx import helper, numpy_helper

from call import Call, calls, ints, to_type

MICROSOFT = "com.microsoft"


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2


def fast_gelu(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


def layer_norm(x, scale, bias=None, epsilon=1e-5):
    """(the result, the statistics)"""
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


# ---- operators that ONNX Runtime's CPU provider lacks -----------------------------------------------------------------------------------


def swish(x):
    return x / (1 + np.exp(-x))


@calls("NhwcFusedConv", "NhwcConv", domain=MICROSOFT)
def nhwc_conv(c):
    x, w = c.x("T", 1, 3, 2), c.x("T", 4, 2, 1, at=1)
    if c.op == "NhwcConv":
        return Call([x, w.transpose(0, 2, 1), c.x("T", 4)], by=lambda x, w, b: [x @ w[:, 0].T + b])
    return Call([x, w, c.x("T", 4), c.x("T", 1, 3, 4)], {"activation": "Relu"},
                by=lambda x, w, b, z: [np.maximum(x @ w[..., 0].T + b + z, 0)])


@calls("GemmFastGelu", domain=MICROSOFT)
def gemm_fast_gelu(c):
    return Call([c.x("T", 2, 3, low=-1, high=1), c.x("T", 3, 2, low=-1, high=1, at=1), c.x("T", 2)], by=lambda x, w, b: [fast_gelu(x @ w + b)])


@calls("BiasSplitGelu", "BiasAdd", domain=MICROSOFT)
def bias_add(c):
    inputs = [c.x("T", 1, 2, 4), c.x("T", 4, at=1), c.x("T", 1, 2, 4, at=2)]
    if c.op == "BiasAdd":
        return Call(inputs, by=lambda x, b, z: [x + b + z])
    return Call(inputs[:2], by=lambda x, b: [(x + b)[..., :2] * gelu((x + b)[..., 2:])])


@calls("BiasSoftmax", domain=MICROSOFT)
def bias_softmax(c):
    return Call([c.x("T", 2, 3), c.x("T", 3, at=1)], {"axis": 1, "is_inner_broadcast": 0},
                by=lambda x, b: [np.exp(x + b) / np.exp(x + b).sum(1, keepdims=True)])


@calls("GroupNorm", "SkipGroupNorm", domain=MICROSOFT)
def group_norm(c):
    def by(x, gamma, beta, *more):
        s = x + sum(more)
        parts = s.reshape(1, 2, 1, 2, 2).astype(float)
        mean = parts.mean((1, 2, 4), keepdims=True)
        y = ((parts - mean) / np.sqrt(((parts - mean) ** 2).mean((1, 2, 4), keepdims=True) + 1e-5)).reshape(s.shape)
        return [swish(y * gamma + beta), s]
    skip = [c.x("T", 1, 2, 1, 4, at=1)] if c.op == "SkipGroupNorm" else []
    return Call([c.x("T", 1, 2, 1, 4), c.x("M", 4), c.x("M", 4, at=1), *skip], {"activation": 1, "groups": 2}, outputs=1 + len(skip), by=by)


# ---- decomposed ---------------------------------------------------------------------------------------------------------------


@calls("ExpandDims", domain=MICROSOFT)
def expand_dims(c):
    return Call([c.x("T", 2, 3), np.array(-1, np.int32)], consts=(1,), by=lambda x, _: [x[..., None]])


@calls("GatherND", domain=MICROSOFT)
def gather_nd(c):
    return Call([c.x("T", 2, 3), to_type(np.array([[1, 0], [0, 2]]), c["Tind"])], by=lambda x, _: [x[[1, 0], [0, 2]]])


@calls("Pad", domain=MICROSOFT)
def pad(c):
    return Call([c.x("T", 2, 2), ints(0, 1, 0, 0), to_type(np.array(2.0), c["T"])], consts=(1,),
                by=lambda x, *_: [np.pad(x, [(0, 0), (1, 0)], constant_values=2)])


@calls("Range", domain=MICROSOFT)
def spans(c):
    return Call([to_type(np.array(v), c["T"]) for v in (1, 8, 3)], consts=(0, 1, 2), by=lambda *_: [np.array([1, 4, 7])])


@calls("Unique", domain=MICROSOFT)
def unique(c):
    x = c.x("T", 3, low=0, high=3)[[1, 0, 1, 2]] if c["T"] != "bool" else np.array([True, False, True, True])
    several = 3 if c["T"] != "bool" else 2
    return Call([x], outputs=3, widen=False, by=lambda x: [x[[0, 1, 3][:several]], ints(0, 1, 0, 2 if several == 3 else 0),
                                                           ints(2, 1, 1) if several == 3 else ints(3, 1)])


@calls("GridSample", domain=MICROSOFT)
def grid_sample(c):
    return Call([c.x("T", 1, 1, 2, 2), to_type(np.array([[[[0.5, -0.5], [-0.5, 0.5]]]]), c["T"])], by=lambda x, _: [x[:, :, [[0, 1]], [[1, 0]]]])


@calls("Trilu", domain=MICROSOFT)
def trilu(c):
    return Call([c.x("T", 3, 3)], {"upper": 0}, by=lambda x: [np.tril(x)])


@calls("SampleOp", domain=MICROSOFT)
def sample(c):
    return Call([c.x("T", 3)], by=lambda x: [x])


@calls("TorchEmbedding", domain=MICROSOFT)
def embedding(c):
    return Call([c.x("T", 3, 2), ints(2, 0)], by=lambda x, at: [x[at]])


@calls("UnfoldTensor", domain=MICROSOFT)
def unfold(c):
    return Call([c.x("T", 4)], {"size": 2}, by=lambda x: [np.stack([x[:-1], x[1:]], 1)])


@calls("NGramRepeatBlock", domain=MICROSOFT)
def ngram_repeat(c):
    return Call([ints(1, 2, 1).reshape(1, 3), c.x("T", 1, 4)], {"ngram_size": 2}, by=lambda _, x: [np.where(np.arange(4) == 2, -np.inf, x)])


@calls("ConvTransposeWithDynamicPads", domain=MICROSOFT)
def conv_transpose(c):
    return Call([c.x("T", 1, 1, 3), c.x("T", 1, 1, 2, at=1), ints(1, 0)], consts=(1, 2),
                by=lambda x, w, _: [np.convolve(x[0, 0], w[0, 0]).reshape(1, 1, -1)[..., 1:]])


@calls("ComplexMul", "ComplexMulConj", domain=MICROSOFT)
def complex_mul(c):
    def by(a, b):
        y = (a[..., 0] + 1j * a[..., 1]) * (b[..., 0] + (-1j if "Conj" in c.op else 1j) * b[..., 1])
        return [np.stack([y.real, y.imag], -1)]
    return Call([c.x("T", 3, 2), c.x("T", 3, 2, at=1)], by=by)


@calls("Inverse", domain=MICROSOFT)
def inverse(c):
    return Call([to_type(np.array([[1, 2], [3, 4]]), c["T"])], by=lambda x: [np.linalg.inv(x)])


@calls("CDist", domain=MICROSOFT)
def cdist(c):
    return Call([c.x("T", 2, 3), c.x("T", 2, 3, at=1)], by=lambda a, b: [((a[:, None] - b) ** 2).sum(2)])


@calls("CropAndResize", domain=MICROSOFT)
def crop_and_resize(c):
    return Call([c.x("T1", 1, 1, 3, 3), to_type(np.array([[0, 0.5, 1, 1]]), c["T1"]), np.array([0], np.int32), np.array([2, 2], np.int32)],
                consts=(3,), by=lambda x, *_: [x[:, :, [[0], [2]], [1, 2]]])


# ---- gates and streams ------------------------------------------------------------------------------------------------------


def normed(x, epsilon=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


@calls("GatedAdd", domain=MICROSOFT)
def gated_add(c):
    return Call([c.x("T", 2, 3), c.x("T", 2, 3, at=1), c.x("T", 2, 1, at=2)], by=lambda x, y, g: [x + y * g])


@calls("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(c):
    return Call([c.x("T", 2, 4), c.x("T", 4), c.x("T", 2, 4, at=1)], by=lambda x, s, g: [normed(x) * s * swish(g)])


@calls("BranchwiseRMSNorm", domain=MICROSOFT)
def branchwise_rms_norm(c):
    return Call([c.x("T", 2, 2, 3), c.x("M", 2, 3)], by=lambda x, s: [normed(x) * s])


@calls("ScaledSiLU", domain=MICROSOFT)
def scaled_silu(c):
    return Call([c.x("T", 2, 3), to_type(np.array(0.5), c["M"])], by=lambda x, s: [swish(x * s)])


@calls("HyperConnectionPreMix", domain=MICROSOFT)
def pre_mix(c):
    return Call([c.x("T", 2, 2, 3), c.x("M", 2, 2)], by=lambda x, m: [(x * m[..., None]).sum(1)])


@calls("HyperConnectionPostMix", domain=MICROSOFT)
def post_mix(c):
    return Call([c.x("T", 1, 2, 3), c.x("T", 1, 3, at=1), c.x("M", 1, 2), c.x("M", 1, 2, 2, at=1)],
                by=lambda x, b, p, m: [np.einsum("nck,nch->nkh", m, x) + p[..., None] * b[:, None]])


@calls("LinearAttentionGate", domain=MICROSOFT)
def linear_attention_gate(c):
    return Call([c.x("T", 1, 2, 3), c.x("TF", 3), c.x("TF", 3, at=1), c.x("T", 1, 2, 3, at=2)], outputs=2,
                by=lambda a, bias, scale, b: [scale * np.log1p(np.exp(a + bias)), 1 / (1 + np.exp(-b))])


@calls("LinearAttention", domain=MICROSOFT)
def linear_attention(c):
    """Two heads of values for one of queries and keys."""
    def by(q, k, v, state):
        y = np.zeros((2, 2, 2))
        for t in range(2):
            state = state + k[0, t, :, None] * v[0, t].reshape(2, 1, 2)
            y[t] = q[0, t] @ state / 2
        return [y.reshape(1, 2, 4), state]
    inputs = [c.x("T", 1, 2, 4, low=-1, high=1), c.x("T", 1, 2, 4, low=-1, high=1, at=1), c.x("T", 1, 2, 4, at=2), c.x("S", 1, 2, 4, 2)]
    return Call(inputs, {"update_rule": "linear", "q_num_heads": 1, "kv_num_heads": 2}, outputs=2, by=by)


@calls("EngramGate", domain=MICROSOFT)
def engram_gate(c):
    def by(key, query, value, ks, qs, vs):
        d = (normed(key) * ks * normed(query) * qs).sum(-1, keepdims=True) / 2
        y = value[:, :, None] / (1 + np.exp(-np.sign(d) * np.sqrt(np.maximum(abs(d), 1e-6))))
        return [y, normed(y) * vs]
    return Call([c.x("T", 1, 2, 2, 4), c.x("T", 1, 2, 2, 4, at=1), c.x("T", 1, 2, 4), *(c.x("T", 2, 4, at=k) for k in range(3))], outputs=2, by=by)


@calls("CausalConvWithState", domain=MICROSOFT)
def causal_conv(c):
    def by(x, w, b):
        whole = np.pad(x, [(0, 0), (0, 0), (2, 0)])
        return [whole[..., :-2] * w[:, :1, 0] + x * w[:, :1, 1] + b[:, None], whole[..., -2:]]
    return Call([c.x("T", 1, 2, 3), c.x("T", 2, 1, 2, at=1), c.x("T", 2)], {"dilation": 2}, outputs=2, by=by)


@calls("RelativePositionBias", domain=MICROSOFT)
def relative_position_bias(c):
    """Two queries: the distance 1, which has a bucket of its own, occurs only between the last query and the first key."""
    return Call([c.x("T", 2, 2), ints(2), ints(2)], {"max_distance": 4}, consts=(1, 2),
                by=lambda x, *_: [x.reshape(2, 2)[:, [[0, 0], [1, 0]]][None]])


@calls("GatedRelativePositionBias", domain=MICROSOFT)
def gated_relative_position_bias(c):
    def by(x, bias, pos, w, b, eco):
        u, r = 1 / (1 + np.exp(-((x + bias) @ w + b)[0].T))
        return [pos * (u * (r * eco[0, 0, 0, 0] - 1) + 2)[:, None]]
    c.types["M"] = "int32"
    return Call([c.x("T", 1, 2, 2), c.x("T", 2), c.x("T", 1, 1, 2, 2), c.x("T", 2, 2, at=1), c.x("T", 2, at=1), c.x("T", 1, 1, 1, 1, at=2)],
                {"num_heads": 1}, by=by)


@calls("MoE", domain=MICROSOFT)
def mixture_of_experts(c):
    def by(x, router, w1, b1, w2):
        p = np.exp(router) / np.exp(router).sum(1, keepdims=True)
        return [np.stack([p[t].max() * w2[p[t].argmax()] @ np.maximum((w1 @ v + b1)[p[t].argmax()], 0) for t, v in enumerate(x)])]
    return Call([c.x("T", 2, 2), c.x("T", 2, 3, at=1), c.x("T", 3, 2, 2), c.x("T", 3, 2), c.x("T", 3, 2, 2, at=1)], by=by)


@calls("QMoE", domain=MICROSOFT)
def mixture_of_quantised_experts(c):
    """The codes 7 to 10 are the numbers -1 to 2."""
    codes = [np.full((3, 2, 1), 0x89, np.uint8), np.full((3, 2, 1), 0xA7, np.uint8)]

    def by(x, router, _, s1, b1, __, s2):
        best = router.argmax(1)
        rows = [s1[e] * (v @ [1, 0]) + b1[e] for e, v in zip(best, x)]
        return [np.stack([s2[e] * (np.maximum(h, 0) @ [-1, 2]) for e, h in zip(best, rows)])]
    return Call([c.x("T", 2, 2), c.x("T", 2, 3, at=1), codes[0], c.x("S", 3, 2), c.x("T", 3, 2), codes[1], c.x("S", 3, 2, at=1)], by=by)


# ---- tokens, words and paths ------------------------------------------------------------------------------------------------


@calls("BifurcationDetector", domain=MICROSOFT)
def bifurcation(c):
    return Call([c.x("T", 5), c.x("T", 2, at=1), ints(5), ints(7)], outputs=2, by=lambda x, y, *_: [np.append(y, 7), ints(-1)])


@calls("DynamicTimeWarping", domain=MICROSOFT)
def dynamic_time_warping(c):
    return Call([c.x("F", 1, 4)], by=lambda _: [np.array([[0] * 4, [0, 1, 2, 3]])])


@calls("MaxpoolWithMask", domain=MICROSOFT)
def pool_with_mask(c):
    return Call([c.x("T", 1, 1, 4), np.array([[[1, 1, 0, 1]]], np.int32)], {"kernel_shape": [2]},
                by=lambda x, _: [np.array([[[x[..., :2].max(), x[0, 0, 1], np.finfo(np.float32).min]]])])


@calls("NGramHashMapping", "VarlenNGramHashMapping", domain=MICROSOFT)
def ngram_hashes(c):
    starts = [np.array([0, 3], np.int32)] if c.op.startswith("Varlen") else []
    of = [to_type(np.array(v), c["M"]) for v in ([4, 5, 6], [3, 7], [10])]

    def by(ids, *_):
        y = (ids.ravel() * 3 ^ np.array([1, *ids.ravel()[:-1]]) * 7) % 10
        return [y.reshape(*ids.shape, 1), ids.ravel()[-1:].reshape(1, 1)]
    return Call([of[0] if starts else of[0][None], *of[1:], *starts], {"pad_id": 1, "max_ngram_size": 2, "n_head_per_ngram": 1}, outputs=2, by=by)


@calls("WordConvEmbedding", domain=MICROSOFT)
def word_embedding(c):
    return Call([np.array([[1, 2]], np.int32), c.x("T1", 3, 1, 1, 2), c.x("T1", 3), c.x("T1", 4, 2, at=1)],
                by=lambda _, w, b, of: [np.tanh(of[1:3] @ w[:, 0, 0].T + b).max(0, keepdims=True)])


@calls("AttnLSTM", domain=MICROSOFT)
def attended_lstm(c):
    """One step, which attends to nothing yet."""
    def by(x, w, r, query, key, score, memory):
        i, o, _, g = np.split(w[0, :, :1] @ x[0].T, 4)
        cell = np.tanh(g.T) / (1 + np.exp(-i.T))
        h = np.tanh(cell) / (1 + np.exp(-o.T))
        return [h[None, None], h[None], cell[None]]
    inputs = [c.x("T", 1, 2, 1), c.x("T", 1, 8, 4), c.x("T", 1, 8, 2), c.x("T", 1, 2, 2), c.x("T", 1, 3, 2), c.x("T", 1, 2), c.x("T", 2, 2, 3)]
    return Call([*inputs[:3], None, np.array([1, 1], np.int32), None, None, None, *inputs[3:]], {"hidden_size": 2}, outputs=3,
                by=lambda x, w, r, _, lengths, *more: by(x, w, r, *more[3:]))


# ---- in blocks of 8 channels ------------------------------------------------------------------------------------------------

NCHWC = "com.microsoft.nchwc"


@calls("Conv", domain=NCHWC)
def conv_in_blocks(c):
    w = c.x("T", 24, 2, 1, 1)
    return Call([c.x("T", 1, 2, 1, 3), w.reshape(3, 8, 2).transpose(0, 2, 1).reshape(w.shape).copy()], {"activation": "Relu"}, consts=(1,),
                by=lambda x, _: [np.maximum(np.einsum("ncyx,oc->noyx", x, w[..., 0, 0]), 0)])


@calls("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", domain=NCHWC)
def pool_in_blocks(c):
    how = np.max if "Max" in c.op else np.mean
    return Call([c.x("T", 1, 8, 2, 2)], {} if "Global" in c.op else {"kernel_shape": [2, 2]}, by=lambda x: [how(x, axis=(2, 3), keepdims=True)])


@calls("Upsample", domain=NCHWC)
def upsample_in_blocks(c):
    return Call([c.x("T", 1, 8, 1, 2)], {"scales": [1, 1, 1, 2]}, by=lambda x: [x.repeat(2, 3)])


@calls("ReorderInput", domain=NCHWC)
def into_blocks(c):
    """With a convolution, from which onnxcc takes the number of channels in a block."""
    w = numpy_helper.from_array(np.ones((24, 4, 1, 1), np.float32))
    before = [helper.make_node("Constant", [], ["w"], value=w), helper.make_node("Conv", ["x0", "w"], ["more"], domain=NCHWC)]
    return Call([c.x("T", 1, 4, 1, 2)], before=before, by=lambda x: [np.pad(x, [(0, 0), (0, 4), (0, 0), (0, 0)])])


@calls("ReorderOutput", domain=NCHWC)
def out_of_blocks(c):
    return Call([c.x("T", 1, 8, 1, 2)], {"channels": 5}, by=lambda x: [x[:, :5]])
