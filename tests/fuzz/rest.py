"""Random models of the remaining operators: attention, texts, regions, optional values, training."""

import numpy as np
from onnx import TensorProto, helper

from operators import BOOL, F16, F32, F64, ML, SIGNED, UNSIGNED, Case, family, ints

NEWEST = 28


@family(4)
def attention(m):
    op = m.one("Attention Attention RotaryEmbedding LinearAttention CausalConvWithState SwiGLU Swish TensorScatter".split())
    b, n, q, k, d = m.int(1, 2), m.int(1, 2), m.int(1, 4), m.int(1, 5), 2 * m.int(1, 3)
    if op == "Attention":
        groups = m.int(1, 2)
        x = [m.array(F32, (b, n * groups, q, d)), m.array(F32, (b, n, k, d)), m.array(F32, (b, n, k, m.int(1, 5)))]
        x.append(m.one([None, m.array(F32, (q, k)), m.array(F32, (b, 1, q, k))]))
        attrs = {"is_causal": m.int(0, 1)} if k >= q and x[3] is None else {}
        attrs.update(m.one([{}, {"scale": 0.4}, {"softcap": 1.5}]))
        return Case(op, x, attrs, until=NEWEST, rtol=1e-3, sizes=False)
    if op == "RotaryEmbedding":
        x, half = m.array(F32, (b, n, q, d)), d // 2
        if m.chance(0.5):
            return Case(op, [x, m.array(F32, (b, q, half)), m.array(F32, (b, q, half))], {"interleaved": m.int(0, 1)})
        at = m.array(np.int64, (b, q), low=0, high=5)
        return Case(op, [x, m.array(F32, (6, half)), m.array(F32, (6, half)), at], {"interleaved": m.int(0, 1)}, sizes=False)
    if op == "LinearAttention":
        rule = m.one(["linear", "gated", "delta", "gated_delta"])
        x = [m.array(F32, (b, q, n * d)), m.array(F32, (b, q, n * d)), m.array(F32, (b, q, n * 3)), m.array(F32, (b, n, d, 3))]
        x += [-abs(m.array(F32, (b, q, n))) if "gated" in rule else None, m.array(F32, (b, q, n), low=0, high=1) if "delta" in rule else None]
        return Case(op, x, {"update_rule": rule, "q_num_heads": n, "kv_num_heads": n}, until=NEWEST, wanted=(0, 1), rtol=1e-3, sizes=False)
    if op == "CausalConvWithState":
        x = [m.array(F32, (b, n, k)), m.array(F32, (n, 1, 3)), m.one([None, m.array(F32, (n,))]), m.array(F32, (b, n, 2))]
        return Case(op, x, {"activation": m.one(["none", "silu"])}, until=NEWEST, wanted=(0, 1), sizes=False)
    if op == "TensorScatter":
        x = [m.array(F32, (b, n, 6, d)), m.array(F32, (b, n, q, d)), m.array(np.int64, (b,), low=0, high=6 - q)]
        return Case(op, x, {"mode": m.one(["linear", "circular"])}, sizes=False)
    x = m.array(m.one([F32, F64, F16]), m.shape(1))
    return Case(op, [x] if op == "Swish" else [x, m.array(x.dtype, x.shape)], m.one([{}, {"alpha": 1.5}]), until=NEWEST)


def changed(m):
    """A graph that changes the scores, or the probabilities, of FlexAttention."""
    shape = [f"d{i}" for i in range(4)]
    ends = [helper.make_tensor_value_info(v, TensorProto.FLOAT, shape) for v in "xy"]
    kind = m.one(["Tanh", "Mul", "Where"])
    nodes = {"Tanh": [helper.make_node("Tanh", ["x"], ["y"])],
             "Mul": [helper.make_node("Constant", [], ["c"], value_float=0.75), helper.make_node("Mul", ["x", "c"], ["y"])],
             "Where": [helper.make_node("Constant", [], ["c"], value_float=0.25), helper.make_node("Greater", ["x", "c"], ["g"]),
                       helper.make_node("Where", ["g", "x", "c"], ["y"])]}
    return helper.make_graph(nodes[kind], "changed", ends[:1], ends[1:])


@family()
def flex_attention(m):
    b, n, groups, q, k, d = m.int(1, 2), m.int(1, 2), m.int(1, 2), m.int(1, 4), m.int(1, 5), m.int(1, 4)
    x = [m.array(F32, (b, n * groups, q, d)), m.array(F32, (b, n, k, d)), m.array(F32, (b, n, k, m.int(1, 5)))]
    attrs = {"scale": 0.4} if m.chance(0.5) else {}
    attrs.update({a: changed(m) for a in ("score_mod", "prob_mod") if m.chance(0.5)})
    return Case("FlexAttention", x, attrs, domain="ai.onnx.preview", rtol=1e-3, sizes=False)


@family(4)
def made(m):
    op = m.one("BitCast CastLike CenterCropPad ConstantOfShape CumProd Col2Im MaxUnpool MaxRoiPool MelWeightMatrix STFT Optional DeformConv".split())
    x = m.array(F32, m.shape(1, 3))
    if op == "BitCast":
        t, to = m.one([(F32, TensorProto.INT32), (F64, TensorProto.UINT64), (F16, TensorProto.INT16), (np.dtype("int64"), TensorProto.DOUBLE)])
        return Case(op, [m.array(t, x.shape)], {"to": to}, until=NEWEST)
    if op == "CastLike":
        return Case(op, [abs(x), m.array(m.one([F64, F16, BOOL] + SIGNED + UNSIGNED), (1,))])
    if op == "CenterCropPad":
        axes = m.axes(x.ndim, 1)
        return Case(op, [x, ints(*[m.int(1, 7) for _ in axes])], {"axes": axes}, consts=(1,), sizes=False)
    if op == "ConstantOfShape":
        value = m.array(m.one([F32, BOOL] + SIGNED), (1,))
        return Case(op, [ints(*m.shape(0, 3))], {"value": helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(value.dtype), [1], value)}, consts=(0,))
    if op == "CumProd":
        attrs = {"exclusive": m.int(0, 1), "reverse": m.int(0, 1)}
        return Case(op, [x, np.array(m.axis(x.ndim), np.int64)], attrs, consts=(1,), until=NEWEST)
    if op == "Col2Im":
        h, w, p, q, c = m.int(3, 5), m.int(3, 5), m.int(1, 3), m.int(1, 3), m.int(1, 2)
        return Case(op, [m.array(F32, (1, c * p * q, (h - p + 1) * (w - q + 1))), ints(h, w), ints(p, q)], consts=(1, 2), sizes=False)
    if op == "MaxUnpool":
        at = np.sort(m.rng.permutation(16)[:4]).reshape(1, 1, 2, 2).astype(np.int64)
        return Case(op, [m.array(F32, (1, 1, 2, 2)), at], {"kernel_shape": [2, 2], "strides": [2, 2]}, sizes=False)
    if op == "MaxRoiPool":
        rois = np.array([[0, *sorted(m.int(0, 5) for _ in range(4))] for _ in range(m.int(1, 3))], F32)
        return Case(op, [m.array(F32, (1, 2, 6, 6)), rois], {"pooled_shape": [m.int(1, 3), m.int(1, 3)]}, sizes=False)
    if op == "MelWeightMatrix":
        given = [np.array(m.int(2, 5), np.int64), np.array(16, np.int64), np.array(8000, np.int64), np.array(0, F32), np.array(4000, F32)]
        return Case(op, given, consts=range(5))
    if op == "STFT":
        n = m.int(2, 6)
        window = m.array(F32, (n,), low=0, high=1) if m.chance(0.5) else None
        given = [m.array(F32, (m.int(1, 2), 12, 1)[: m.one([2, 3, 3])]), np.array(m.int(1, 4), np.int64), window, np.array(n, np.int64)]
        return Case(op, given, {"onesided": m.int(0, 1)}, consts=(1, 3), sizes=False, rtol=1e-3)
    if op == "Optional":
        nodes = [helper.make_node("Optional", ["x0"], ["o"]), helper.make_node("OptionalHasElement", ["o"], ["y0"]),
                 helper.make_node("OptionalGetElement", ["o"], ["y1"])]
        return Case(op, [x], nodes=nodes, wanted=(0, 1), version=m.int(15, 24))
    offset = m.array(F32, (1, 8, 3, 3), low=-1, high=1)
    return Case(op, [m.array(F32, (1, 2, 4, 4)), m.array(F32, (3, 2, 2, 2)), offset], sizes=False, rtol=1e-3)


@family(2)
def texts(m):
    op = m.one("StringConcat StringNormalizer StringSplit RegexFullMatch TfIdfVectorizer CategoryMapper Equal".split())
    words = np.array(["", "a", "b c", "AE", "the", "x,y,,z", "cat9"], dtype=object)
    x = m.rng.choice(words, m.int(1, 5))
    if op in ("StringConcat", "Equal"):
        return Case(op, [x, m.rng.choice(words, m.one([1, len(x)]))], since=19, sizes=False)
    if op == "StringNormalizer":
        attrs = {"case_change_action": m.one(["LOWER", "UPPER", "NONE"]), "is_case_sensitive": m.int(0, 1), "stopwords": ["the", "a"], "locale": "C"}
        return Case(op, [x], attrs, sizes=False)
    if op == "StringSplit":
        return Case(op, [x], {"delimiter": m.one([",", " ", ""])}, wanted=(0, 1), sizes=False)
    if op == "RegexFullMatch":
        return Case(op, [x], {"pattern": m.one(["[a-z]+", "a|b c", ".*9", "(x,y)?.*"])}, sizes=False)
    if op == "CategoryMapper":
        return Case(op, [x], {"cats_strings": ["a", "the"], "cats_int64s": [4, 7], "default_int64": -2}, domain=ML, sizes=False)
    attrs = {"mode": m.one(["TF", "IDF", "TFIDF"]), "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": m.int(0, 1), "ngram_counts": [0, 3],
             "ngram_indexes": [0, 1, 2, 3, 4], "pool_int64s": [1, 2, 3, 1, 2, 2, 3], "weights": [1.0, 2.0, 0.5, 1.5, 3.0]}
    return Case(op, [m.array(np.int64, (m.int(1, 7),), low=1, high=4)], attrs, sizes=False)


@family(1)
def trained(m):
    op = m.one("Adagrad Adam Momentum".split())
    r, t = np.array(0.1, F32), np.array(m.int(0, 3), np.int64)
    shape = m.shape(0, 3)
    x = [m.array(F32, shape) for _ in range(2)] + [abs(m.array(F32, shape)) for _ in range(2 if op == "Adam" else 1)]
    attrs = {"norm_coefficient": m.one([0.0, 0.1])}
    if op == "Momentum":
        attrs.update(alpha=0.9, beta=0.5, mode=m.one(["standard", "nesterov"]))
    wanted = (0, 1, 2) if op == "Adam" else (0, 1)
    return Case(op, [r, t, *x], attrs, wanted=wanted, domain="ai.onnx.preview.training", sizes=False)
