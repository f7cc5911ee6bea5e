"""Calls of the operators of attention of the domain com.microsoft."""

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
