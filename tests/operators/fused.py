"""Operators that ONNX Runtime's optimisers write. Expected results are ONNX Runtime's if its CPU provider has the operator; for types that
only the schemas have, those of the same node in float."""

import numpy as np
import onnx
import onnxruntime

MICROSOFT = "com.microsoft"
rng = np.random.default_rng(31)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def half(*inputs):
    return [None if x is None else x.astype(np.float16) for x in inputs]


def add_fused(c):
    for add in add_products, add_gemms, add_convolutions, add_gelus, add_norms, add_embeddings, add_diffusion:
        add(c)


def add(c, name, op, inputs, attrs=None, **more):
    c.add(f"fused_{name}", op, inputs, attrs, version=1, domain=MICROSOFT, **more)


def add_products(c):
    for trans_a in 0, 1:
        for trans_b in 0, 1:
            a, b = ((3, 4), (4, 3))[trans_a], ((4, 5), (5, 4))[trans_b]
            both = {"transA": trans_a, "transB": trans_b}
            for op, turned in ("FusedMatMul", True), ("TransposeMatMul", False):
                for k, (left, right) in enumerate([((), ()), ((2,), (2,)), ((2, 3), ()), ((), (2,)), ((2, 1), (3,)), ((2, 1), (1, 3))]):
                    inputs = [normal(*left, *a), normal(*right, *b)]
                    name = f"{op}_{trans_a}{trans_b}_{k}"
                    add(c, name, op, inputs, {**both, "alpha": 0.125 if k % 2 else 0.3})
                    if turned and k == 4:
                        sizes = [("p", 1, *("nk"[::-1] if trans_a else "nk")), ("q", *("mk" if trans_b else "km"))]
                        add(c, f"{name}_sizes", op, inputs, both, sizes=sizes)
                        add(c, f"{name}_const", op, inputs, {**both, "alpha": 1.7}, consts=(1,))
                        add(c, f"{name}_double", op, [x.astype(np.float64) for x in inputs], {**both, "alpha": 1.7})
                        x, w = half(*inputs)
                        y = 0.3 * ((x.swapaxes(2, 3) if trans_a else x).astype(float) @ (w.swapaxes(1, 2) if trans_b else w).astype(float))
                        add(c, f"{name}_half", op, [x, w], {**both, "alpha": 0.3}, by=[y.astype(np.float16)])
            for batch_a in 0, 1:
                for batch_b in 0, 1:
                    inputs = [normal(*((m[0], 2, 3, m[1]) if batch else (2, 3, *m))) for m, batch in ((a, batch_a), (b, batch_b))]
                    attrs = {**both, "transBatchA": batch_a, "transBatchB": batch_b, "alpha": 0.7}
                    add(c, f"batch_{trans_a}{trans_b}{batch_a}{batch_b}", "FusedMatMul", inputs, attrs)
                    if trans_a == batch_b:
                        add(c, f"batch_{trans_a}{trans_b}{batch_a}{batch_b}_sizes", "FusedMatMul", inputs, attrs,
                            sizes=[("m", "p", "q", "k") if batch_a else ("p", "q", None, None), None])
            for k, (left, right) in enumerate([((4,), b), (a, (4,)), ((4,), (4,)), ((4,), (2, *b))]):
                x, w = normal(*left), normal(*right)
                wrong = k == 1 and trans_a  # ONNX Runtime reads the matrix as if it were not transposed
                add(c, f"vector_{trans_a}{trans_b}_{k}", "FusedMatMul", [x, w], {**both, "alpha": 0.4},
                    by=[np.float32(0.4) * (x.T @ w)] if wrong else "runtime")


ACTIVATIONS = {"Relu": (), "Tanh": (), "Sigmoid": (), "LeakyRelu": (0.3,), "HardSigmoid": (0.3, 0.6), "HardSwish": (), "Clip": (-0.4, 0.7)}


def add_gemms(c):
    kinds = {**ACTIVATIONS, "Elu": (0.7,), "Celu": (0.7,), "Selu": (1.3, 0.8), "ThresholdedRelu": (0.3,), "Softplus": (), "Softsign": (),
             "ScaledTanh": (0.8, 1.2), "ParametricSoftplus": (0.8, 1.2)}
    del kinds["Clip"], kinds["HardSwish"]
    for k, (kind, values) in enumerate(kinds.items()):
        second = "activation_gamma" if kind == "Selu" else "activation_beta"
        attrs = {"activation": kind, **dict(zip(["activation_alpha", second], values)), "transA": k % 2, "transB": k // 2 % 2}
        inputs = [normal(*((4, 3) if k % 2 else (3, 4))), normal(*((5, 4) if k // 2 % 2 else (4, 5))), [None, normal(5), normal(3, 1)][k % 3]]
        add(c, f"gemm_{kind}", "FusedGemm", inputs, {**attrs, "alpha": 0.7, "beta": 0.6} if k % 4 else attrs)
        if kind == "LeakyRelu":
            add(c, "gemm_const", "FusedGemm", inputs, attrs, consts=(1, 2))
            add(c, "gemm_sizes", "FusedGemm", inputs, attrs, consts=(1,), sizes=[("k", "n") if k % 2 else ("n", "k"), None, ("n", 1)])


def add_convolutions(c):
    for kind, values in {"": (), **ACTIVATIONS}.items():
        attrs = {"activation": kind} if kind else {}
        if values:
            attrs["activation_params"] = values
        for k, (w, z, more) in enumerate([((5, 4, 3, 3), False, {"pads": [1, 1, 1, 1]}), ((4, 2, 3, 2), True, {"group": 2, "strides": [2, 1]}),
                                          ((4, 1, 3, 3), True, {"group": 4, "auto_pad": "SAME_UPPER"})]):
            shape = [(2, 5, 7, 6), (2, 4, 3, 5), (2, 4, 7, 6)][k]
            inputs = [normal(2, 4, 7, 6), normal(*w), normal(w[0]) if k else None, normal(*shape) if z else None]
            add(c, f"conv_{kind}_{k}", "FusedConv", inputs, {**attrs, **more}, consts=(1, 2))
            if kind in ("Relu", "HardSigmoid"):
                free = [("n", None, "h", "w"), None, None, ("n", None, "p", "q")]
                add(c, f"conv_{kind}_{k}_sizes", "FusedConv", inputs, {**attrs, **more}, consts=(1, 2), sizes=free)
    add(c, "conv_1d", "FusedConv", [normal(2, 3, 9), normal(4, 3, 3), normal(4)], {"activation": "Tanh"}, consts=(1,))
    add(c, "conv_3d", "FusedConv", [normal(1, 2, 4, 5, 3), normal(4, 2, 2, 2, 2)], {"activation": "LeakyRelu", "activation_params": [0.2]})


def add_gelus(c):
    x = normal(3, 4, 8) * 3
    add(c, "bias_gelu", "BiasGelu", [x, normal(8)], sizes=[("b", "n", None), None])
    add(c, "bias_gelu_const", "BiasGelu", [x, normal(8)], consts=(1,))
    add(c, "gelu", "Gelu", [x])
    for bias in 0, 1:
        inputs = [x, normal(8)][:1 + bias]
        y = sum(v.astype(float) for v in inputs)
        y = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))  # ONNX Runtime's tanh is less exact
        add(c, f"fast_gelu_{bias}", "FastGelu", inputs, by=[y.astype(np.float32)], sizes=[("b", "n", None), None] if bias else None)
    add(c, "quick_gelu", "QuickGelu", [x])
    add(c, "quick_gelu_alpha", "QuickGelu", [x], {"alpha": 0.7}, sizes=[("b", "n", "m")])


def add_norms(c):
    for kind, op in ("", "SkipLayerNormalization"), ("simplified_", "SkipSimplifiedLayerNormalization"):
        for k, (shape, skip) in enumerate([((2, 3, 8), (2, 3, 8)), ((2, 3, 8), (1, 3, 8)), ((2, 3, 8), (3, 8)), ((5, 8), (5, 8))]):
            for some, (beta, bias) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
                if kind and beta:
                    continue
                more = [normal(8) if beta else None, normal(8) if bias else None]
                inputs = [normal(*shape), normal(*skip), normal(8), *(more[1:] if kind else more)]
                while inputs[-1] is None:
                    inputs.pop()
                name = f"skip_{kind}{k}{some}"
                add(c, name, op, inputs, {"epsilon": 0.01}, outputs=4)
                add(c, f"{name}_half", op, half(*inputs), {"epsilon": 0.01}, outputs=1)
                if k == 0:
                    add(c, f"{name}_plain", op, inputs, consts=range(2, len(inputs)))
                    add(c, f"{name}_half_sum", op, half(*inputs), outputs=4)
                add(c, f"{name}_sizes", op, inputs, consts=range(2, len(inputs)), outputs=4,
                    sizes=[[("b", "n", None), ("n", None)][len(shape) == 2], [("c", "n", None), ("n", None)][len(skip) == 2]] + [None] * 3)
    for axis in -1, 1:
        shape = (4, 8) if axis == 1 else (8,)
        for op in "SimplifiedLayerNormalization", "LayerNormalization":
            x, scale, bias = normal(2, 4, 8), normal(*shape), normal(*shape)
            old = op[0] == "L"
            inputs = [x, scale, bias] if old else [x, scale]
            more = {"version": 12, "outputs": 2 + old}
            name = f"fused_{op}_{axis % 3}"
            c.add(name, op, inputs, {"axis": axis, "epsilon": 0.02}, **more)
            c.add(f"{name}_const", op, inputs[:2], {"axis": axis}, consts=(1,), **more)
            c.add(f"{name}_sizes", op, inputs, {"axis": axis}, sizes=[("b", "n", None), ("n", None) if axis == 1 else None] + [
                ("n", None) if axis == 1 else None] * old, **more)
            c.add(f"{name}_half", op, half(*inputs), {"axis": axis}, **more)
            c.add(f"{name}_double", op, [v.astype(np.float64) for v in inputs], {"axis": axis}, **more)
            c.add(f"{name}_mixed", op, [x.astype(np.float16), *inputs[1:]], {"axis": axis}, **more)


def add_embeddings(c):
    words, segments = rng.integers(0, 9, (2, 5)).astype(np.int32), rng.integers(0, 2, (2, 5)).astype(np.int32)
    tables, places = [normal(9, 8), normal(6, 8), normal(2, 8)], rng.integers(0, 6, (2, 5)).astype(np.int32)
    mask = (np.arange(5) < np.array([[3], [5]])).astype(np.int32)
    for with_segments in 0, 1:
        for with_mask in 0, 1:
            for at, where in enumerate([None, places, places[:1]]):
                inputs = [words, segments if with_segments else None, *tables[:2], tables[2] if with_segments else None, normal(8), normal(8),
                          mask if with_mask else None, where]
                while inputs[-1] is None:
                    inputs.pop()
                name = f"embed_{with_segments}{with_mask}{at}"
                add(c, name, "EmbedLayerNormalization", inputs, {"epsilon": 0.01}, outputs=3)
                add(c, f"{name}_const", "EmbedLayerNormalization", inputs, {"mask_index_type": with_mask}, consts=range(2, 7),
                    outputs=2)
                sizes = [("b", "n") if i in (0, 1, 7, 8) and (i < 8 or at == 1) else None for i in range(9)]
                add(c, f"{name}_sizes", "EmbedLayerNormalization", inputs, consts=range(2, 7), outputs=3, sizes=sizes)


# ---- operators that its CPU provider lacks: results of the ONNX operators that they replace ----------------------------------------------------------


def by_plain(text, inputs):
    """ONNX Runtime's results for a graph of ONNX's operators."""
    given = ", ".join(f"float[{','.join(map(str, x.shape))}] x{i}" for i, x in enumerate(inputs) if x is not None)
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]> g ({given}) => (float[] y) {{ {text} }}""")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in ["s"] if any(o in n.output for n in model.graph.node))
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return run.run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None})


def add_diffusion(c):
    x, bias = normal(2, 6, 8), normal(8)
    split = "a = Add (x0, x1) l, r = Split <axis = -1, num_outputs = 2> (a) g = com.microsoft.Gelu (r) y = Mul (l, g)"
    add(c, "split_gelu", "BiasSplitGelu", [x, bias], by=by_plain(split, [x, bias]), sizes=[("n", "s", None), None])
    inputs = [x, bias, normal(2, 6, 8)]
    add(c, "bias_add", "BiasAdd", inputs, by=by_plain("a = Add (x0, x1) y = Add (a, x2)", inputs), sizes=[("n", "s", None), None, ("n", "s", None)])
    inputs = [normal(2, 3, 4), normal(4, 5)]
    for k, more in enumerate([[], [normal(5)]]):
        text = "y = com.microsoft.FastGelu (p)" if not k else "y = com.microsoft.FastGelu (p, x2)"
        add(c, f"gemm_fast_gelu_{k}", "GemmFastGelu", inputs + more, by=by_plain("p = MatMul (x0, x1) " + text, inputs + more))
    for k, (axis, shape, bias, inner) in enumerate([(1, (2, 2, 3, 4), (2, 3, 4), 0), (3, (2, 3, 4, 5), (2, 1, 1, 5), 1),
                                                    (2, (2, 3, 4, 5), (3, 4, 5), 0), (-1, (2, 3, 5), (5,), 0)]):
        inputs = [normal(*shape), normal(*bias)]
        text = f"a = Add (x0, x1) f = Flatten <axis = {axis}> (a) p = Softmax (f) q = Shape (x0) y = Reshape (p, q)"
        add(c, f"bias_softmax_{k}", "BiasSoftmax", inputs, {"axis": axis, "is_inner_broadcast": inner}, by=by_plain(text, inputs))
    x, gamma, beta = normal(2, 3, 4, 8), normal(8), normal(8)
    first, last = "u = Transpose <perm = [0, 3, 1, 2]> (t)", "y = Transpose <perm = [0, 2, 3, 1]> (w)"
    norm = "v = GroupNormalization <num_groups = 4, epsilon = 0.01> (u, x1, x2)"
    swish = "g = Sigmoid (v) w = Mul (v, g)"
    for on in 0, 1:
        attrs = {"activation": on, "groups": 4, "epsilon": 0.01}
        act = swish if on else "w = Identity (v)"
        inputs = [x, gamma, beta]
        add(c, f"group_norm_{on}", "GroupNorm", inputs, attrs, by=by_plain(f"t = Identity (x0) {first} {norm} {act} {last}", inputs),
            sizes=[("n", "h", "w", None), None, None] if on else None)
        plain = [x.transpose(0, 3, 1, 2).copy(), gamma, beta]
        add(c, f"group_norm_first_{on}", "GroupNorm", plain, {**attrs, "channels_last": 0},
            by=by_plain(f"u = Identity (x0) {norm} {act} y = Identity (w)", plain))
        for k, skip in enumerate([normal(2, 3, 4, 8), normal(2, 1, 1, 8), normal(2, 8)]):
            inputs = [x, gamma, beta, skip, *([normal(8)] if on else [])]
            wide = "a = Unsqueeze (x3, i) i2 = Identity (a)" if k == 2 else "i2 = Identity (x3)"
            axes = "i = Constant <value_ints = [1, 2]> ()" if k == 2 else ""
            total = f"{axes} {wide} b = Add (x0, i2) s = {'Add (b, x4)' if on else 'Identity (b)'} t = Identity (s)"
            add(c, f"skip_group_norm_{on}{k}", "SkipGroupNorm", inputs, attrs, outputs=2,
                by=by_plain(f"{total} {first} {norm} {act} {last}", inputs),
                sizes=[("n", "h", "w", None), None, None, ("n", None), None][:len(inputs)] if k == 2 else None)
            if k == 2:
                inputs[0] = plain[0]
                total = total.replace("[1, 2]", "[2, 3]").replace("Add (b, x4)", "Add (b, k)")
                more = "j = Constant <value_ints = [1, 2]> () k = Unsqueeze (x4, j)" if on else ""
                add(c, f"skip_group_norm_first_{on}", "SkipGroupNorm", inputs, {**attrs, "channels_last": 0}, outputs=2,
                    by=by_plain(f"{more} {total} u = Identity (t) {norm} {act} y = Identity (w)", inputs))
    x, w, b = normal(2, 6, 5, 4), normal(8, 2, 3, 3), normal(8)
    attrs = {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1]}
    conv = "f = Transpose <perm = [0, 3, 1, 2]> (x0) v = Conv <group = 2, pads = [1, 1, 1, 1], strides = [2, 1]> (f, x1, x2)"
    y = by_plain(f"{conv} y = Transpose <perm = [0, 2, 3, 1]> (v)", [x, w, b])
    add(c, "nhwc_conv", "NhwcConv", [x, w.transpose(0, 2, 3, 1).copy(), b], attrs, consts=(1, 2), by=y, sizes=[("n", "h", "w", None), None, None])
    z = normal(*y[0].shape)
    for k, (kind, more) in enumerate([("Relu", {}), ("LeakyRelu", {"activation_params": [0.3]})]):
        act = "r = Relu (a)" if k == 0 else "r = LeakyRelu <alpha = 0.3> (a)"
        total = "a = Add (v, zt) " if k else "a = Identity (v) "
        by = by_plain(f"zt = Transpose <perm = [0, 3, 1, 2]> (x3) {conv} {total} {act} y = Transpose <perm = [0, 2, 3, 1]> (r)", [x, w, b, z])
        add(c, f"nhwc_fused_conv_{kind}", "NhwcFusedConv", [x, w, b, z][:3 + k], {**attrs, "activation": kind, **more}, consts=(1, 2), by=by,
            sizes=[("n", "h", "w", None), None, None, ("n", "p", "q", None)][:3 + k])
