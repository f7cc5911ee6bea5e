"""Writes a small decoder with random weights: model.py FILE.onnx [SEED]. Its tokens are bytes. Inputs are the next tokens and, for each
layer, the keys and values of the tokens before; outputs are the logits of the token after the last one, and all keys and values.
A trained model with such inputs and outputs can take its place."""
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

LAYERS, WIDTH, HEADS, WORDS, CONTEXT = 2, 64, 4, 256, 512
DEPTH = WIDTH // HEADS
CACHE = f"float[1, {HEADS}, past, {DEPTH}]"
PRESENT = f"float[1, {HEADS}, total, {DEPTH}]"

HEAD = """<ir_version: 8, opset_import: ["": 17]>
decoder (int64[1, now] input_ids, {inputs}) => (float[{words}] logits, {outputs})
<int64 zero = {{0}}, int64 one = {{1}}, int64[1] first = {{0}}, int64[1] second = {{1}}, int64[1] last = {{-1}},
 int64[4] apart = {{1, -1, {heads}, {depth}}}, int64[3] joined = {{1, -1, {width}}},
 int64[1] flat = {{-1}}, float seen = {{0}}, float unseen = {{-1e9}}, float scale = {{{scale}}}> {{
    n1 = Shape <start = 1, end = 2> (input_ids)
    p1 = Shape <start = 2, end = 3> (past_0_key)
    n = Squeeze (n1)
    p = Squeeze (p1)
    total = Add (p, n)
    place = Range (p, total, one)
    all = Range (zero, total, one)
    row = Unsqueeze (place, second)
    column = Unsqueeze (all, first)
    before = LessOrEqual (column, row)
    mask = Where (before, seen, unseen)
    word = Gather (words, input_ids)
    position = Gather (places, place)
    x_0 = Add (word, position)
"""
LAYER = """
    h_{i} = LayerNormalization (x_{i}, norm_{i}_a, bias_{i}_a)
    q_{i} = MatMul (h_{i}, query_{i})
    k_{i} = MatMul (h_{i}, key_{i})
    v_{i} = MatMul (h_{i}, value_{i})
    qa_{i} = Reshape (q_{i}, apart)
    ka_{i} = Reshape (k_{i}, apart)
    va_{i} = Reshape (v_{i}, apart)
    qh_{i} = Transpose <perm = [0, 2, 1, 3]> (qa_{i})
    kh_{i} = Transpose <perm = [0, 2, 1, 3]> (ka_{i})
    vh_{i} = Transpose <perm = [0, 2, 1, 3]> (va_{i})
    present_{i}_key = Concat <axis = 2> (past_{i}_key, kh_{i})
    present_{i}_value = Concat <axis = 2> (past_{i}_value, vh_{i})
    kt_{i} = Transpose <perm = [0, 1, 3, 2]> (present_{i}_key)
    s_{i} = MatMul (qh_{i}, kt_{i})
    ss_{i} = Mul (s_{i}, scale)
    sm_{i} = Add (ss_{i}, mask)
    a_{i} = Softmax <axis = -1> (sm_{i})
    y_{i} = MatMul (a_{i}, present_{i}_value)
    yt_{i} = Transpose <perm = [0, 2, 1, 3]> (y_{i})
    yj_{i} = Reshape (yt_{i}, joined)
    yp_{i} = MatMul (yj_{i}, merge_{i})
    z_{i} = Add (x_{i}, yp_{i})
    g_{i} = LayerNormalization (z_{i}, norm_{i}_b, bias_{i}_b)
    u_{i} = MatMul (g_{i}, up_{i})
    r_{i} = Relu (u_{i})
    d_{i} = MatMul (r_{i}, down_{i})
    x_{j} = Add (z_{i}, d_{i})
"""
TAIL = """
    final = Gather <axis = 1> (x_{n}, last)
    normal = LayerNormalization (final, norm, bias)
    scores = MatMul (normal, head)
    logits = Reshape (scores, flat)
}}
"""


def main(file, seed=1):
    rng = np.random.default_rng(int(seed))
    pairs = [f"{i}_{k}" for i in range(LAYERS) for k in ("key", "value")]
    text = HEAD.format(inputs=", ".join(f"{CACHE} past_{p}" for p in pairs), outputs=", ".join(f"{PRESENT} present_{p}" for p in pairs),
                       words=WORDS, heads=HEADS, depth=DEPTH, width=WIDTH, scale=DEPTH ** -0.5)
    text += "".join(LAYER.format(i=i, j=i + 1) for i in range(LAYERS)) + TAIL.format(n=LAYERS)
    shapes = {"words": (WORDS, WIDTH), "places": (CONTEXT, WIDTH), "norm": (WIDTH,), "bias": (WIDTH,), "head": (WIDTH, WORDS)}
    for i in range(LAYERS):
        shapes |= {f"{n}_{i}": (WIDTH, WIDTH) for n in ("query", "key", "value", "merge")}
        shapes |= {f"up_{i}": (WIDTH, 4 * WIDTH), f"down_{i}": (4 * WIDTH, WIDTH)}
        shapes |= {f"{n}_{i}_{s}": (WIDTH,) for n in ("norm", "bias") for s in "ab"}
    weights = {n: rng.standard_normal(s, np.float32) * np.float32(s[0] ** -0.5 if len(s) > 1 and n not in ("words", "places") else 1)
               for n, s in shapes.items()}
    weights |= {n: np.ones(s, np.float32) for n, s in shapes.items() if n.startswith("norm")}
    onnx.save(parse(text, weights), file)


def parse(text, weights):
    """The parser requires that every name is defined, so weights are inputs at first."""
    declared = ", ".join(f"float[{', '.join(map(str, w.shape))}] {n}" for n, w in weights.items())
    model = onnx.parser.parse_model(text.replace("decoder (", f"decoder ({declared}, ", 1))
    del model.graph.input[:len(weights)]
    model.graph.initializer.extend(numpy_helper.from_array(w, n) for n, w in weights.items())
    return model


main(*sys.argv[1:])
