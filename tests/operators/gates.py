"""Gates, streams and convolutions over time of com.microsoft, compared with ONNX Runtime; biases by position, which its CPU provider
lacks, compared with their definitions."""

import itertools

import numpy as np

MICROSOFT = "com.microsoft"
rng = np.random.default_rng(34)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def add(c, name, op, inputs, attrs=None, **more):
    c.add(f"gate_{name}", op, inputs, attrs, version=1, domain=MICROSOFT, **more)


def half(*inputs):
    return [None if x is None else x.astype(np.float16) for x in inputs]


def add_gates(c):
    for f in add_branches, add_simple, add_linear, add_engrams, add_convolutions, add_positions, add_experts, add_quantised_experts:
        f(c)


def add_branches(c):
    for k, (shape, scale, branches) in enumerate([
        ((2, 3, 8), (8,), 2), ((2, 3, 8), (2, 4), 2), ((2, 3, 8), (4,), 2), ((2, 3, 2, 4), (4,), 0), ((2, 3, 2, 4), (2, 4), 0),
        ((2, 3, 2, 4), (8,), 0), ((2, 3, 2, 4), None, 0), ((6,), None, 3), ((2, 4), (4,), 0),
    ]):
        inputs = [normal(*shape), *([normal(*scale)] if scale else [])]
        attrs = {"num_branches": branches} if branches else {}
        add(c, f"branch_{k}", "BranchwiseRMSNorm", inputs, {**attrs, "epsilon": 0.01})
        add(c, f"branch_{k}_half", "BranchwiseRMSNorm", [*half(inputs[0]), *inputs[1:]], attrs)
        if len(shape) > 2:
            add(c, f"branch_{k}_sizes", "BranchwiseRMSNorm", inputs, attrs, consts=(1,), sizes=[("n", "m") + (None,) * (len(shape) - 2), None])
    for k, (shape, mix, branches) in enumerate([
        ((2, 3, 2, 4), (2, 3, 2), 0), ((2, 3, 2, 4), (2, 3, 2, 1), 0), ((2, 3, 2, 4), (2, 3, 2, 4), 0), ((2, 3, 8), (2, 3, 8), 2),
        ((2, 3, 8), (2, 3, 2), 2), ((2, 3, 8), (2, 3, 2, 1), 2), ((2, 3, 8), (2, 3, 2, 4), 2), ((2, 4), (2,), 0),
    ]):
        inputs, attrs = [normal(*shape), normal(*mix)], {"reduction_scale": 0.5, **({"num_branches": branches} if branches else {})}
        add(c, f"pre_{k}", "HyperConnectionPreMix", inputs, attrs)
        if len(shape) > 2:
            add(c, f"pre_{k}_sizes", "HyperConnectionPreMix", [*half(inputs[0]), inputs[1]], attrs,
                sizes=[("n", "m") + (None,) * (len(s) - 2) for s in (shape, mix)])
    for k, (shape, post, mix, branches) in enumerate([
        ((2, 3, 2, 4), (2, 3, 2), (2, 3, 2, 2), 0), ((2, 3, 2, 4), (2, 3, 2, 1), None, 0), ((2, 3, 2, 4), (2, 3, 2, 4), (2, 3, 2, 2), 0),
        ((2, 3, 8), (2, 3, 2), (2, 3, 2, 2), 2), ((2, 3, 8), (2, 3, 2, 4), None, 2),
    ]):
        inputs = [normal(*shape), normal(2, 3, 4), normal(*post), *([normal(*mix)] if mix else [])]
        attrs = {"num_branches": branches} if branches else {}
        add(c, f"post_{k}", "HyperConnectionPostMix", inputs, attrs)
        add(c, f"post_{k}_sizes", "HyperConnectionPostMix", [*half(*inputs[:2]), *inputs[2:]], attrs,
            sizes=[("n", "m") + (None,) * (x.ndim - 2) for x in inputs])


def add_simple(c):
    x, rows = normal(2, 3, 8), ("n", "m", None)
    for name, inputs in ("", [x, normal(2, 3, 8), normal(2, 3, 1)]), ("_half", half(x, normal(2, 3, 8), normal(2, 3, 1))):
        add(c, f"add{name}", "GatedAdd", inputs, sizes=[rows, rows, rows] if name else None)
    for kind in "silu", "swish", "sigmoid":
        for size in 8, 4:
            inputs = [x, normal(size), normal(2, 3, 8)]
            sizes = [rows, None, rows] if size == 4 else None
            add(c, f"norm_{kind}_{size}", "GatedRMSNorm", inputs, {"activation": kind, "epsilon": 0.01}, sizes=sizes)
            add(c, f"norm_{kind}_{size}_half", "GatedRMSNorm", half(*inputs), {"activation": kind})
    for k, scale in enumerate([None, np.array(0.5, np.float32), np.array(1.5, np.float16)]):
        inputs = [x] if scale is None else [x, scale]
        add(c, f"silu_{k}", "ScaledSiLU", inputs, {"alpha": 2.0}, sizes=[rows, None] if k else None)
        add(c, f"silu_{k}_half", "ScaledSiLU", [*half(x), *inputs[1:]], {"alpha": 0.3})
    for given in 0, 1:
        inputs = [normal(2, 3, 4), normal(4), -abs(normal(4)), *([normal(2, 3, 4)] if given else [])]
        add(c, f"decay_{given}", "LinearAttentionGate", inputs, outputs=1 + given, sizes=[rows, None, None, rows][:3 + given])
        inputs[0], inputs[3:] = inputs[0].astype(np.float16), half(*inputs[3:])
        add(c, f"decay_{given}_half", "LinearAttentionGate", inputs, outputs=1 + given)


def add_linear(c):
    """Heads of queries, keys and values: as many; keys and values, or queries, or queries and keys that several share."""
    for (q, k, v), (name, decays, corrects) in itertools.product(
            ((2, 2, 2), (4, 2, 2), (2, 2, 4), (4, 1, 2), (1, 2, 4)),
            (("linear", 0, 0), ("gated", 1, 0), ("gated", 8, 0), ("delta", 0, 1), ("delta", 0, 9), ("gated_delta", 8, 1))):
        keys = normal(2, 5, k, 8)
        keys /= np.linalg.norm(keys, axis=3, keepdims=True)
        inputs = [normal(2, 5, q * 8), keys.reshape(2, 5, k * 8), normal(2, 5, v * 3), normal(2, v, 8, 3),
                  -abs(normal(2, 5, v * decays)) if decays else None, abs(normal(2, 5, 1 if corrects == 1 else v)) / 2 if corrects else None]
        inputs[3] = None if (decays, corrects) == (8, 1) else inputs[3]
        attrs = {"q_num_heads": q, "kv_num_heads": v, "update_rule": name, "scale": 0.3 if decays else 0.0}
        rows = [("n", "t", None), ("n", "t", None), ("n", "t", None), ("n", None, None, None), ("n", "t", None), ("n", "t", None)]
        add(c, f"linear_{q}{k}{v}_{name}_{decays}{corrects}", "LinearAttention", inputs, attrs, outputs=2, sizes=rows if k == 2 else None)
        if k == 2:
            add(c, f"linear_{q}{k}{v}_{name}_{decays}{corrects}_half", "LinearAttention",
                [x if x is None else x.astype(np.float16) for x in inputs], attrs, outputs=2)


def add_engrams(c):
    inputs = [normal(2, 3, 2, 8), normal(2, 3, 2, 8), normal(2, 3, 8), normal(2, 8), normal(2, 8), normal(2, 8)]
    sizes = [("b", "n", None, None), ("b", "n", None, None), ("b", "n", None), None, None, None]
    for outputs in 1, 2:
        given = inputs[:4 + outputs]
        add(c, f"engram_{outputs}", "EngramGate", given, {"epsilon": 0.01}, outputs=outputs)
        add(c, f"engram_{outputs}_half", "EngramGate", half(*given), outputs=outputs)
        add(c, f"engram_{outputs}_sizes", "EngramGate", given, outputs=outputs, consts=(3, 4, 5), sizes=sizes[:4 + outputs])


def add_convolutions(c):
    for last, shape in (0, (2, 4, 5)), (1, (2, 5, 4)), (1, (2, 5, 2, 2)), (0, (1, 4, 1)):
        for dilation in 1, 2:
            for taps in 1, 3:
                state = list(shape)
                state[1 if last else 2] = (taps - 1) * dilation
                for k in range(4):
                    inputs = [normal(*shape), normal(4, 1, taps), normal(4) if k % 2 else None, normal(*state) if k > 1 else None]
                    while inputs[-1] is None:
                        inputs.pop()
                    attrs = {"channels_last": last, "dilation": dilation, "activation": ("none", "silu", "swish", "none")[k]}
                    name = f"conv_{len(shape)}_{shape[-1]}_{dilation}{taps}{k}"
                    add(c, name, "CausalConvWithState", inputs, attrs, outputs=2)
                    if k > 1:
                        free = ["b"] + [None] * (len(shape) - 1)
                        free[1 if last else 2] = "n"
                        add(c, f"{name}_sizes", "CausalConvWithState", inputs, attrs, outputs=2, consts=(1, 2),
                            sizes=[tuple(free), None, None, ("b",) + (None,) * (len(shape) - 1)])


def t5_bucket(far, both, buckets, max_distance):
    """T5's buckets (Raffel et al., 2019): of one distance each, then of ranges that grow by a factor."""
    start = 0
    if both:
        buckets //= 2
        start, far = np.where(far > 0, buckets, 0), abs(far)
    else:
        far = np.maximum(-far, 0)
    exact = buckets // 2
    large = exact + (np.log(np.maximum(far, 1) / exact) / np.log(max_distance / exact) * (buckets - exact) + 1e-6).astype(int)
    return start + np.where(far < exact, far, np.minimum(large, buckets - 1))


def add_positions(c):
    for both in 0, 1:
        for buckets, max_distance, length in (32, 128, 9), (8, 20, 40), (10, 12, 1):
            table = normal(buckets, 3)
            far = np.arange(length) - np.arange(length)[:, None]
            y = table[t5_bucket(far, both, buckets, max_distance)].transpose(2, 0, 1)[None]
            stored = table.T.copy().reshape(table.shape)
            for kind in np.float32, np.float16:
                inputs = [stored.astype(kind), np.array([length]), np.array([length])]
                attrs = {"is_bidirectional": both, "max_distance": max_distance}
                add(c, f"position_{both}_{length}_{kind.__name__}", "RelativePositionBias", inputs, attrs, consts=(0, 1, 2), by=[y.astype(kind)])
    batch, length, heads, size, wide = 2, 5, 3, 4, 8
    x, bias, pos, w, b, eco = normal(batch, length, heads * size), normal(heads * size), normal(1, heads, length, length), normal(
        size, wide), normal(wide), normal(1, heads, 1, 1)
    q = (x + bias).reshape(batch, length, heads, size).transpose(0, 2, 1, 3).astype(float)
    gates = 1 / (1 + np.exp(-(q @ w + b).reshape(batch, heads, length, 2, -1).sum(-1)))
    y = pos * (gates[..., :1] * (gates[..., 1:] * eco - 1) + 2)
    add(c, "position_gated", "GatedRelativePositionBias", [x, bias, pos, w, b, eco], {"num_heads": heads}, consts=(3, 4), by=[y.astype(np.float32)],
        sizes=[("b", "n", None), None, (None, None, "n", "n"), None, None, None])


def silu(x):
    return x / (1 + np.exp(-x))


def mixed(x, router, weights, normalise, k, w, bias, gates):
    """The mixture of the k experts with the highest router values, weighted by their softmax, or by `weights`. gates: the function
    between an expert's two products."""
    y = np.zeros(x.shape)
    for t, row in enumerate(x):
        best = np.argsort(-router[t])[:k]
        p = np.exp(router[t][best] - router[t].max()) if weights is None else weights[t][best]
        p = p / p.sum() if normalise or weights is None else p
        for e, part in zip(best, p):
            y[t] += part * (w[1][e] @ gates(w[0][e] @ row + bias[0][e], e, row) + bias[1][e])
    return y


def experts(x, router, w1, b1, w2, gates, k):
    """The mixture of the k most probable experts, weighted by their probabilities."""
    p = np.exp(router - router.max(1, keepdims=True))
    y = mixed(x.astype(float), router, p / p.sum(1, keepdims=True), False, k, (w1, w2), (b1, np.zeros(w2.shape[:2])), gates)
    return [y.astype(np.float32)]


def add_experts(c):
    rows, count, size, inner = 6, 4, 8, 10
    x, router = normal(rows, size), normal(rows, count)
    w1, b1, w2, b2 = normal(count, inner, size), normal(count, inner), normal(count, size, inner), normal(count, size)
    for kind in "relu", "gelu", "silu", "identity":
        for k in 1, 2, 4:
            for normal_weights in 0, 1:
                bias = (k + normal_weights) % 2
                attrs = {"k": k, "activation_type": kind, "normalize_routing_weights": normal_weights, "use_sparse_mixer": int(k == 2)}
                inputs = [x, router, w1, b1 if bias else None, w2, *([b2] if bias else [])]
                add(c, f"experts_{kind}_{k}{normal_weights}", "MoE", inputs, attrs, consts=(2, 3, 4, 5) if k == 2 else ())
                if k == 2:
                    add(c, f"experts_{kind}_{k}{normal_weights}_sizes", "MoE", [x.reshape(2, 3, size), *inputs[1:]], attrs, consts=(2, 3, 4, 5),
                        sizes=[("b", "n", None), ("m", None), None, None, None, None][:len(inputs)])
    wide, bias = normal(count, 2 * inner, size), normal(count, 2 * inner)
    for k, (alpha, beta, limit) in enumerate([(1.0, 0.0, None), (1.702, 1.0, None), (1.702, 1.0, 0.5)]):
        attrs = {"k": 2, "activation_type": "swiglu", "activation_alpha": alpha, "activation_beta": beta}
        attrs.update({"swiglu_limit": limit} if limit else {})
        add(c, f"experts_swiglu_{k}", "MoE", [x, router, wide, bias, w2], {**attrs, "swiglu_fusion": 1})

        def gated(g, l):
            g, l = (np.minimum(g, limit), np.clip(l, -limit, limit)) if limit else (g, l)
            return g / (1 + np.exp(-alpha * g)) * (l + beta)
        add(c, f"experts_swiglu_{k}_halves", "MoE", [x, router, wide, bias, w2], {**attrs, "swiglu_fusion": 2},
            by=experts(x, router, wide, bias, w2, lambda h, e, r: gated(h[:inner], h[inner:]), 2))
        w3, b3 = normal(count, inner, size), normal(count, inner)
        add(c, f"experts_swiglu_{k}_apart", "MoE", [x, router, w1, b1, w2, None, w3, b3], attrs,
            by=experts(x, router, w1, b1, w2, lambda h, e, r: gated(h, w3[e] @ r + b3[e]), 2))
    add(c, "experts_silu_third", "MoE", [x, router, w1, b1, w2, None, w3, b3], {"k": 2, "activation_type": "silu"},
        by=experts(x, router, w1, b1, w2, lambda h, e, r: silu(h) * (w3[e] @ r + b3[e]), 2))


def packed(codes, bits):
    """Codes of so many bits along the last axis, in bytes from the low bits up."""
    each = 8 // bits
    codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], -codes.shape[-1] % each), np.uint8)], -1)
    return sum(codes[..., i::each] << bits * i for i in range(each)).astype(np.uint8)


def add_quantised_experts(c):
    """Scales and zero points for each row, or for blocks of a row. Constant weights of 8 bits in blocks are no case for ONNX Runtime, which
    then rounds activations to 8 bits."""
    rows, count, size, inner = 6, 4, 32, 32

    def layer(n, k, bits, block, zeros, kind):
        blocks = (k // block,) if block else ()
        codes, zero = (rng.integers(0, 1 << bits, (count, *s)).astype(np.uint8) for s in ((n, k), (n, *blocks)))
        scales, bias = ((rng.random((count, n, *blocks)) / 5 + .05) / 2 ** bits).astype(kind), normal(count, n).astype(kind)
        whole = [a.reshape(count, n, -1, 1).astype(float) for a in (scales, zero if zeros else np.full(zero.shape, 1 << bits - 1))]
        w = (codes.reshape(count, n, whole[0].shape[2], -1) - whole[1]) * whole[0]
        return packed(codes, bits), scales, bias, packed(zero, bits) if zeros else None, w.reshape(count, n, k)

    def gated(h, *_):
        return np.minimum(h[::2], 2) / (1 + np.exp(-1.7 * np.minimum(h[::2], 2))) * (np.clip(h[1::2], -2, 2) + 1)

    for i, (bits, block, zeros, activation, kind) in enumerate(itertools.product(
            (2, 4, 8), (0, 16, 32), (0, 1), ("silu", "swiglu"), (np.float32, np.float16))):
        fused = activation == "swiglu"
        w1, s1, b1, z1, all1 = layer(inner * (1 + fused), size, bits, block, zeros, kind)
        w2, s2, b2, z2, all2 = layer(size, inner, bits, block, zeros, kind)
        x, router, weights = (normal(rows, n).astype(kind) for n in (size, count, count))
        inputs = [x, router, w1, s1, b1 if i % 3 else None, w2, s2, b2 if i % 3 else None, None, None, None, z1, z2, None,
                  abs(weights) if i % 5 == 0 else None]
        attrs = {"k": 1 + i % 3, "activation_type": activation, "expert_weight_bits": bits, "normalize_routing_weights": i % 2, "swiglu_fusion": int(fused),
                 **({"block_size": block} if block else {}), **({"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 2.0} if fused else {})}
        double = [x if x is None else x.astype(float) for x in (x, router, inputs[14])]
        attrs["use_sparse_mixer"] = int(attrs["k"] == 2)
        y = mixed(*double, i % 2, attrs["k"], (all1, all2), (b1 * (i % 3 > 0), b2 * (i % 3 > 0)), gated if fused else lambda h, *_: silu(h))
        by = "runtime" if kind == np.float32 and not (bits == 8 and block and i % 4) else [y.astype(kind)]
        add(c, f"quantised_experts_{bits}_{block}_{zeros}_{activation}_{kind.__name__}", "QMoE", inputs, attrs, by=by,
            consts=tuple(j for j in range(2, 14) if inputs[j] is not None) if i % 4 else (),
            sizes=[("n", None), ("n", None), *[None] * 12, ("n", None)] if i % 4 == 3 else None)
    for kind in "relu", "gelu", "identity":
        w1, s1, b1, *_ = layer(inner, size, 4, 0, 0, np.float32)
        w2, s2, b2, *_ = layer(size, inner, 4, 0, 0, np.float32)
        add(c, f"quantised_experts_{kind}", "QMoE", [normal(2, 3, size), normal(6, count), w1, s1, b1, w2, s2, b2], {"k": 2, "activation_type": kind},
            consts=(2, 3, 4, 5, 6, 7))
