"""Gates, streams and convolutions over time of com.microsoft, compared with ONNX Runtime."""

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
    for f in add_branches, add_simple, add_engrams, add_convolutions:
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
            add(c, f"norm_{kind}_{size}", "GatedRMSNorm", inputs, {"activation": kind, "epsilon": 0.01}, sizes=[rows, None, rows] if size == 4 else None)
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
