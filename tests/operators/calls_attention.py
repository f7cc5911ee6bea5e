"""Calls of the attention operators of com.microsoft."""

import numpy as np

from call import Call, calls, ints

MICROSOFT = "com.microsoft"


@calls("MultiHeadAttention", "DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def multi_head(c):
    rows = 1 if c.op.startswith("Decoder") else 3
    return Call([c.x("T", 2, rows, 8), c.x("T", 2, 2, 4, 4, at=1), c.x("T", 2, 2, 4, 4, low=1, at=2)], {"num_heads": 2}, trust="runtime")


@calls("Attention", domain=MICROSOFT)
def attention(c):
    return Call([c.x("T", 2, 3, 4, low=0), c.x("T", 4, 24, low=0, high=0.5, at=1), c.x("T", 24, low=1, at=2)], {"num_heads": 2}, consts=(1, 2),
                trust="runtime")


@calls("RotaryEmbedding", "MRotaryEmbedding", domain=MICROSOFT)
def rotary(c):
    ids, attrs = ints(3, 0, 4, 1, 2, 2).reshape(2, 3), {"num_heads": 2}
    if c.op.startswith("M"):
        ids, attrs["mrope_section"] = np.stack([ids, ids[::-1], 4 - ids]), [2, 1, 1]
    return Call([c.x("T", 2, 3, 16), ids, c.x("T", 5, 4, at=1), c.x("T", 5, 4, at=2)], attrs, trust="runtime")


@calls("GroupQueryAttention", domain=MICROSOFT)
def group_query(c):
    t, attrs, size = c["T_CACHE"], {"num_heads": 2, "kv_num_heads": 1}, 8
    if t in ("uint8", "int8"):
        attrs.update(kv_cache_bit_width=4 if t == "uint8" else 8, k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR")
        size = 4 if t == "uint8" else 8
    elif t != c["T"]:  # both must have the same type
        c.types["T"] = c.types["T_CACHE"] = t if t != "float" else c["T"]
    past = [c.x("T_CACHE", 2, 1, 4, size, low=1, at=k) for k in range(2)]
    scales = [np.array([0.5], np.float32)] * 2 if size == 4 or t == "int8" else []
    inputs = [c.x("T", 2, 1, 16), c.x("T", 2, 1, 8, at=1), c.x("T", 2, 1, 8, low=1, at=2), *past, np.array([3, 4], np.int32), np.array([5], np.int32)]
    return Call([*inputs, *[None] * 5, *scales] if scales else inputs, attrs, outputs=3, trust="runtime")


@calls("SparseAttention", domain=MICROSOFT)
def sparse(c):
    """All blocks before one: the keys of the other samples are those of causal attention."""
    def by(q, k, v, past_k, past_v, *_):
        keys, values = (np.concatenate([past[:, :, :4], x.reshape(2, 1, 1, 8).transpose(0, 2, 1, 3)], 2).astype(float)
                        for past, x in ((past_k, k), (past_v, v)))
        scores = q.reshape(2, 1, 2, 8).transpose(0, 2, 1, 3).astype(float) @ keys.transpose(0, 1, 3, 2) / np.sqrt(8)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        y = (p / p.sum(-1, keepdims=True) @ values).transpose(0, 2, 1, 3).reshape(2, 1, 16)
        return [y, *(np.concatenate([x, past[:, :, 5:]], 2) for x, past in ((keys, past_k), (values, past_v)))]
    past = [c.x("T", 2, 1, 16, 8, low=1, at=k) for k in range(2)]
    counts = [np.array(x, np.int32) for x in ([[0, 1]], [[0]], [5], [5, 5])]
    return Call([c.x("T", 2, 1, 16), c.x("T", 2, 1, 8, at=1), c.x("T", 2, 1, 8, low=1, at=2), *past, *counts],
                {"num_heads": 2, "kv_num_heads": 1, "sparse_block_size": 16}, outputs=3, by=by)
