"""Operators of com.microsoft on tokens, words and paths, its pool with a mask and its LSTM with attention, compared with ONNX Runtime."""

import itertools

import numpy as np

MICROSOFT = "com.microsoft"
rng = np.random.default_rng(35)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(*v, kind=np.int64):
    return np.array(v, kind)


def add(c, name, op, inputs, attrs=None, **more):
    while inputs[-1] is None:
        inputs = inputs[:-1]
    c.add(f"token_{name}", op, inputs, attrs, version=1, domain=MICROSOFT, **more)


def add_tokens(c):
    for f in add_bifurcations, add_warping, add_masked_pools, add_ngrams, add_packed_ngrams, add_words, add_attended_lstms:
        f(c)


def add_bifurcations(c):
    source = ints(5, 6, 7, 5, 6, 8, 9)
    for k, (have, at, predicted) in enumerate([
        ([1, 2], 0, [5, 6, 7, 5, 6, 8, 9, 3]), ([1, 2], 2, [7, 5, 1, 1, 1, 1]), ([1], 4, [6, 8, 9, 4]), ([1], 7, [9]), ([], 3, [1, 2, 3, 4, 5]),
        ([5, 6], 0, None), ([4, 7, 5, 6], 0, None), ([8], 0, None), ([9], 0, None), ([], 0, None), ([5], 3, [5, 6, 1, 1, 1]),
    ]):
        inputs = [source, ints(*have), ints(at) if k % 2 else np.array(at), None if predicted is None else ints(*predicted)]
        add(c, f"bifurcation_{k}", "BifurcationDetector", inputs, outputs=2)
        add(c, f"bifurcation_{k}_sizes", "BifurcationDetector", inputs, {"min_ngram_size": 2, "max_ngram_size": 4}, outputs=2,
            sizes=[("n",), ("m",), None, ("k",)][:3 + (predicted is not None)])
    add(c, "bifurcation_empty", "BifurcationDetector", [ints(), ints(), ints(0), ints(3)], outputs=2)
    add(c, "bifurcation_consts", "BifurcationDetector", [source, ints(1), ints(0), ints(5, 6, 7, 0, 0, 0, 0, 0)], {"max_ngram_size": 2**40},
        consts=(0, 1, 2, 3), outputs=2)


def add_warping(c):
    for k, shape in enumerate([(3, 5), (5, 3), (1, 4, 4), (1, 1), (7, 1), (1, 6), (0, 4), (3, 0)]):
        for name, x in ("", abs(normal(*shape))), ("_equal", np.ones(shape, np.float32)), ("_signs", normal(*shape)):
            add(c, f"warping_{k}{name}", "DynamicTimeWarping", [x], sizes=[("n", "m") if x.ndim == 2 else (None, "n", "m")] if name else None)
    for v in np.nan, np.inf, -np.inf:
        x = normal(4, 5)
        x[1, 2] = v
        add(c, f"warping_{v}".replace("-", "minus_"), "DynamicTimeWarping", [x])
    add(c, "warping_const", "DynamicTimeWarping", [abs(normal(4, 6))], consts=(0,))


def add_masked_pools(c):
    shapes = [(2, 3, 9), (2, 3, 5, 4), (1, 2, 4, 5, 3)]
    for shape, more in itertools.product(shapes, [
        {}, {"strides": 2}, {"pads": 1}, {"auto_pad": "SAME_UPPER", "strides": 2}, {"auto_pad": "SAME_LOWER"}, {"auto_pad": "VALID", "storage_order": 1},
    ]):
        axes = len(shape) - 2
        attrs = {"kernel_shape": [3, 2, 2][:axes]}
        for name, v in more.items():
            attrs[name] = v if name in ("auto_pad", "storage_order") else [v] * (axes * (1 + (name == "pads")))
        name = "_".join([f"pool_{axes}", *(f"{k}_{v}" for k, v in more.items())])
        for planes in sorted({shape[:2], (1, 1), (1, shape[1])}):
            mask = (rng.random((*planes, *shape[2:])) > 0.2).astype(np.int32)
            sizes = [("n", None, "h", "w", "d")[:len(shape)], ("p", None, "h", "w", "d")[:len(shape)]]
            add(c, f"{name}_masks_{planes[0]}_{planes[1]}", "MaxpoolWithMask", [normal(*shape), mask], attrs,
                sizes=sizes if planes == (1, shape[1]) else None)
    x = normal(1, 1, 6)
    x[..., 1:4] = -np.inf
    x[..., 5] = np.nan
    add(c, "pool_none", "MaxpoolWithMask", [x, np.ones(x.shape, np.int32)], {"kernel_shape": [2]})
    add(c, "pool_empty", "MaxpoolWithMask", [x[:0], np.ones((0, 1, 6), np.int32)], {"kernel_shape": [2]})
    add(c, "pool_const", "MaxpoolWithMask", [normal(1, 2, 3, 3), np.eye(3, dtype=np.int32)[None, None]], {"kernel_shape": [2, 2]}, consts=(0, 1))


def ngram_inputs(kind, order, heads):
    """multipliers, counts, offsets"""
    n = (order - 1) * heads
    high = np.iinfo(kind).max
    return rng.integers(-high, high, order + 1).astype(kind), rng.integers(1, 100, n).astype(kind), rng.integers(high - 50, high, n).astype(kind)


def add_ngrams(c):
    for kind, time, order, heads in (np.int32, 7, 3, 2), (np.int64, 7, 4, 1), (np.int64, 2, 4, 2), (np.int32, 1, 2, 1), (np.int64, 0, 3, 1):
        factors, counts, offsets = ngram_inputs(kind, order, heads)
        offsets -= kind(100)  # no overflow, unlike in packed ones
        ids = rng.integers(0, 4, (2, time)).astype(kind)
        past, parts = rng.integers(0, 4, (2, order - 1)).astype(kind), np.sort(rng.integers(0, 3, (2, time))).astype(np.int32)
        attrs = {"pad_id": -7, "max_ngram_size": order, "n_head_per_ngram": heads}
        for k, (old, add_, end, part, resets) in enumerate([
            (0, 0, 0, 0, 0), (1, 1, 0, 0, 0), (1, 0, 1, 0, 0), (1, 0, 1, 0, 1), (0, 1, 1, 0, 1), (0, 0, 0, 1, 1), (1, 1, 1, 1, 1), (1, 0, 0, 1, 0),
        ]):
            inputs = [ids, factors, counts, past if old else None, offsets if add_ else None, np.array(2, kind) if end else None,
                      parts if part else None]
            rows = ("n", "m")
            add(c, f"ngram_{np.dtype(kind).name}_{time}_{order}_{k}", "NGramHashMapping", inputs, {**attrs, "reset_on_eos": resets},
                outputs=1 + (k != 3), sizes=[rows, None, None, ("n", None), None, None, rows] if k in (3, 6) and time else None,
                consts=(1, 2) if k % 2 else ())


def add_packed_ngrams(c):
    for kind, order, heads in (np.int32, 3, 2), (np.int64, 4, 1), (np.int64, 2, 2):
        factors, counts, offsets = ngram_inputs(kind, order, heads)
        ids = rng.integers(0, 4, 8).astype(kind)
        starts = ints(0, 5, 6, 8, kind=np.int32)
        past, parts = rng.integers(0, 4, (3, order - 1)).astype(kind), np.sort(rng.integers(0, 4, 8)).astype(np.int32)
        old_parts, captured = rng.integers(0, 2, (3, order - 1)).astype(np.int32), ints(2, 9, -1, kind=np.int32)
        attrs = {"pad_id": -7, "max_ngram_size": order, "n_head_per_ngram": heads}
        for k, (old, add_, end, part, old_part, room, resets) in enumerate([
            (0, 0, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0, 0), (1, 0, 1, 0, 0, 0, 0), (1, 0, 1, 0, 0, 3, 1), (0, 0, 1, 0, 0, 8, 1), (0, 1, 0, 1, 0, 2, 0),
            (1, 0, 1, 1, 0, 0, 1), (1, 0, 1, 1, 1, 3, 1), (1, 1, 0, 1, 1, 0, 0), (0, 1, 1, 1, 1, 1, 1),
        ]):
            inputs = [ids, factors, counts, starts, past if old else None, offsets if add_ else None, np.array(2, kind) if end else None,
                      parts if part else None, old_parts if old_part else None, captured if room else None]
            name = f"packed_{np.dtype(kind).name}_{order}_{k}"
            names = [("n",), None, None, ("m",), ("b", None), None, None, ("n",), ("b", None), ("b",)]
            more = {"reset_on_eos": resets, **({"state_update_capacity": room} if room else {})}
            add(c, name, "VarlenNGramHashMapping", inputs, {**attrs, **more}, outputs=4 if part else 2,
                sizes=names if k in (4, 7) else None, consts=(1, 2) if k % 2 else ())


def add_words(c):
    """Rows whose first character is 0, which ONNX Runtime leaves as they are in memory, are not among these."""
    for k, (words, window, filters) in enumerate([
        ([[1, 2, 3, 4], [9, 0, 0, 0], [3, 0, 4, 0], [5, 5, 0, 0]], 2, 3), ([[1, 2, 0, 0, 0]], 3, 2), ([[3, 1], [2, 0]], 1, 4),
        ([[1, 0, 2, 0, 3], [4, 0, 0, 0, 7]], 3, 2), ([[8, 9, 1]], 3, 5),
    ]):
        inputs = [ints(*words, kind=np.int32), normal(filters, 1, window, 4), normal(filters), normal(10, 4)]
        attrs = {"embedding_size": filters, "conv_window_size": window, "char_embedding_size": 4} if k % 2 else {}
        add(c, f"word_{k}", "WordConvEmbedding", inputs, attrs, consts=(1, 2, 3))
        add(c, f"word_{k}_sizes", "WordConvEmbedding", inputs, attrs, sizes=[("n", "m"), None, ("f",), ("v", None)])
    empty = [ints([0, 1, 2], [1, 0, 2], kind=np.int32), normal(3, 1, 2, 4), normal(3), normal(5, 4)]
    y = np.tanh(np.einsum("ke,mke->m", empty[3][[1, 0]], empty[1][:, 0]) + empty[2])
    add(c, "word_empty", "WordConvEmbedding", empty, by=[np.stack([np.zeros(3, np.float32), y])])


def add_attended_lstms(c):
    """All functions have alpha and beta: ONNX Runtime's defaults are 0, not those of ONNX."""
    steps, batch, width, hidden, memory, depth, score = 4, 3, 2, 5, 6, 4, 3
    for k, more in enumerate([
        {}, {"layer": 3}, {"direction": "reverse", "layer": 2}, {"direction": "bidirectional", "layer": 3}, {"lengths": [4, 2, 1]},
        {"lengths": [1, 2, 3], "direction": "reverse"}, {"lengths": [2, 3, 1], "direction": "bidirectional", "memory_lengths": [1, 6, 3], "state": 1},
        {"memory_lengths": [6, 1, 3], "bias": 0}, {"state": 1, "peepholes": 1, "direction": "bidirectional"}, {"input_forget": 1, "state": 1},
        {"clip": 0.4, "peepholes": 1, "lengths": [4, 1, 2]}, {"activations": ["HardSigmoid", "LeakyRelu", "Softsign"], "activation_alpha": [0.3, 0.05]},
        {"activations": ["Relu", "Tanh", "Affine", "Sigmoid", "Elu", "Tanh"], "activation_alpha": [1.5, 0.7], "activation_beta": [0.1],
         "direction": "bidirectional", "clip": 2.0},
    ]):
        own = {name: more.pop(name, None) for name in ("layer", "lengths", "memory_lengths", "state", "bias", "peepholes")}
        d = 2 if more.get("direction") == "bidirectional" else 1
        read = own["layer"] or depth
        inputs = [normal(steps, batch, width), normal(d, 4 * hidden, width + read), normal(d, 4 * hidden, hidden),
                  None if own["bias"] == 0 else normal(d, 8 * hidden), own["lengths"] and ints(*own["lengths"], kind=np.int32),
                  *([normal(d, batch, hidden), normal(d, batch, hidden)] if own["state"] else [None, None]),
                  normal(d, 3 * hidden) if own["peepholes"] else None, normal(d, hidden, score), normal(d, depth, score), normal(d, score),
                  normal(batch, memory, depth), own["memory_lengths"] and ints(*own["memory_lengths"], kind=np.int32),
                  normal(d, depth + hidden, own["layer"]) if own["layer"] else None]
        attrs = {"hidden_size": hidden, **more}
        sizes = [("n", "b", None), None, None, None, ("b",), (None, "b", None), (None, "b", None), None, None, None, None, ("b", "m", None), ("b",), None]
        add(c, f"attention_{k}", "AttnLSTM", inputs, attrs, outputs=3, consts=(1, 2, 3, 8, 9, 10) if k % 2 else ())
        add(c, f"attention_{k}_sizes", "AttnLSTM", inputs, attrs, outputs=3, sizes=sizes, consts=(1, 2, 3, 7, 8, 9, 10, 13))
