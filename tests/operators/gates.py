"""Gates, streams and convolutions over time of com.microsoft, compared with ONNX Runtime; biases by position, which its CPU provider
lacks, compared with their definitions."""

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
    for f in add_branches, add_simple, add_engrams, add_convolutions, add_positions, add_experts:
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


def experts(x, router, w1, b1, w2, gates, k):
    """The mixture of the k most probable experts, weighted by their probabilities. gates: the function between an expert's two products."""
    p = np.exp(router - router.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    y = np.zeros(x.shape)
    for t, row in enumerate(x.astype(float)):
        for e in np.argsort(-router[t])[:k]:
            y[t] += p[t, e] * (w2[e] @ gates(w1[e] @ row + b1[e], e, row))
    return [y.astype(np.float32)]


def add_experts(c):
    rows, count, size, inner = 6, 4, 8, 10
    x, router = normal(rows, size), normal(rows, count)
    w1, b1, w2, b2 = normal(count, inner, size), normal(count, inner), normal(count, size, inner), normal(count, size)
    for kind in "relu", "gelu", "silu", "identity":
        for k in 1, 2, 4:
            for normal_weights in 0, 1:
                bias = (k + normal_weights) % 2
                attrs = {"k": k, "activation_type": kind, "normalize_routing_weights": normal_weights}
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
