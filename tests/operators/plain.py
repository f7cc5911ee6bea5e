"""Operators of com.microsoft that a few ONNX operators can express, or that ONNX lacks. Expected results are ONNX Runtime's, or NumPy's if
its CPU provider lacks the operator."""

import numpy as np

MICROSOFT = "com.microsoft"
rng = np.random.default_rng(33)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def add(c, name, op, inputs, attrs=None, **more):
    c.add(f"plain_{name}", op, inputs, attrs, version=1, domain=MICROSOFT, **more)


def add_plain(c):
    for f in add_same, add_moves, add_matrices, add_images, add_complex:
        f(c)


def add_same(c):
    x = normal(2, 3)
    for axis in range(-3, 3):
        add(c, f"expand_dims_{axis + 3}", "ExpandDims", [x, np.array(axis, np.int32)], consts=(1,), sizes=[("n", "m"), None] if axis < 0 else None)
    add(c, "expand_dims_list", "ExpandDims", [x.astype(np.int16), np.array([1], np.int32)], consts=(1,))
    for kind in np.int32, np.int64:
        at = np.array([[1, 0], [-1, 2]], kind)
        add(c, f"gather_nd_{kind.__name__}", "GatherND", [x, at], sizes=[("n", "m"), ("k", None)] if kind == np.int64 else None)
        add(c, f"gather_nd_rows_{kind.__name__}", "GatherND", [x, at[:, :1]], consts=(1,))
    for k, pads in enumerate([[0, 1, 1, 0], [[0, 1, 1, 2]], [0, -1, 1, 0]]):
        for mode in "constant", "reflect", "edge", "wrap":
            for value in [None, np.array(5, np.float32), np.array([-2], np.float32)][:3 if mode == "constant" else 1]:
                name = f"pad_{mode}_{k}" + ("" if value is None else f"_{value.ndim}")
                add(c, name, "Pad", [x, np.array(pads), value][:2 if value is None else 3], {"mode": mode}, consts=(1, 2))
                if mode in ("constant", "reflect") and k < 2 and value is None:
                    add(c, f"{name}_sizes", "Pad", [x, np.array(pads)], {"mode": mode}, consts=(1,), sizes=[("n", "m"), None])
    for kind in np.float32, np.float64, np.int16, np.int32, np.int64:
        ends = [np.array(v, kind) for v in (1, 8, 3)]
        add(c, f"range_{kind.__name__}", "Range", ends, consts=(0, 1, 2))
        add(c, f"range_{kind.__name__}_short", "Range", ends[:2], consts=(0, 1))
        add(c, f"range_{kind.__name__}_lists", "Range", [v.reshape(1) for v in ends], consts=(0, 1, 2))
    for k, values in enumerate([[2, 1, 1, 3, 4, 3], [0, -0.0, np.inf, 5, np.inf], [7]]):
        add(c, f"unique_{k}", "Unique", [np.array(values, np.float32)], outputs=3, sizes=[("n",)] if k else None)
    for mode in "bilinear", "nearest", "bicubic":
        for padding in "zeros", "border", "reflection":
            attrs = {"mode": mode, "padding_mode": padding, "align_corners": int(padding == "border")}
            inputs = [normal(2, 3, 5, 4), rng.uniform(-1.5, 1.5, (2, 3, 4, 2)).astype(np.float32)]
            add(c, f"grid_sample_{mode}_{padding}", "GridSample", inputs, attrs, sizes=[("n", "c", "h", "w"), ("n", "p", "q", None)])
    for upper in 0, 1:
        for k in None, -1, 2:
            inputs = [normal(2, 4, 5), np.array(k)] if k is not None else [normal(2, 4, 5)]
            add(c, f"trilu_{upper}_{k}".replace("-", "minus"), "Trilu", inputs, {"upper": upper}, consts=(1,),
                sizes=[("b", "n", "m"), None] if k == 2 else None)
    add(c, "sample", "SampleOp", [x])
    at = rng.integers(0, 2, (3, 2))
    add(c, "embedding", "TorchEmbedding", [x, at, np.array(1)], by=[x[at]])


def add_moves(c):
    x = np.arange(42, dtype=np.float32).reshape(2, 7, 3)
    for dim in 0, 1, 2, -1:
        for size, step in (1, 1), (2, 1), (2, 3), (3, 2):
            if size <= x.shape[dim]:
                name = f"unfold_{dim % 3}{'_end' * (dim < 0)}_{size}_{step}"
                add(c, name, "UnfoldTensor", [x], {"dim": dim, "size": size, "step": step}, sizes=[("n", "m", "k")] if step > 1 else None)
    for size in 1, 2, 3, 7:
        ids = rng.integers(0, 4, (3, 6))
        add(c, f"ngram_{size}", "NGramRepeatBlock", [ids, normal(3, 5)], {"ngram_size": size})
        add(c, f"ngram_{size}_sizes", "NGramRepeatBlock", [ids, normal(3, 5)], {"ngram_size": size}, sizes=[("b", "n"), ("b", "v")])


def add_matrices(c):
    for kind in np.float32, np.float64, np.float16:
        for n in 1, 2, 5, 12:
            x = (normal(2, 3, n, n) + 4 * np.eye(n, dtype=np.float32)).astype(kind)
            # in float16 ONNX Runtime rounds after every step
            by = [np.linalg.inv(x.astype(float)).astype(kind)] if kind == np.float16 else "runtime"
            add(c, f"inverse_{kind.__name__}_{n}", "Inverse", [x], sizes=[("a", "b", "n", "n")] if n == 5 else None, by=by)
    add(c, "inverse_pivots", "Inverse", [np.array([[0, 2, 1], [1, 0, 0], [3, 0, 4]], np.float32)])
    for kind in np.float32, np.float64:
        for metric in "sqeuclidean", "euclidean":
            for k, (rows, others, size) in enumerate([(3, 4, 2), (2, 5, 8), (1, 3, 27)]):
                inputs = [normal(rows, size).astype(kind), normal(others, size).astype(kind)]
                attrs = {"metric": metric} if metric == "euclidean" or k else {}
                add(c, f"cdist_{kind.__name__}_{metric}_{k}", "CDist", inputs, attrs, sizes=[("n", "k"), ("m", "k")] if k == 1 else None)


def add_images(c):
    rois = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.9, 0.3, -0.2, 1.3], [0.5, 0.5, 0.5, 0.5]], np.float32)
    for mode in "bilinear", "nearest":
        for height, width in (3, 4), (1, 1), (7, 2):
            inputs = [normal(2, 3, 6, 5), rois, np.array([0, 1, 1, 0], np.int32), np.array([height, width], np.int32)]
            name = f"crop_{mode}_{height}"
            add(c, name, "CropAndResize", inputs, {"mode": mode}, consts=(3,))
            add(c, f"{name}_sizes", "CropAndResize", inputs, {"mode": mode, "extrapolation_value": -1.5}, consts=(3,),
                sizes=[("n", "c", "h", "w"), ("r", None), ("r",), None])
    x, w = normal(1, 4, 4, 5), normal(4, 3, 3, 3)
    for k, attrs in enumerate([{}, {"strides": [2, 2], "output_padding": [1, 0]}, {"dilations": [2, 1], "kernel_shape": [3, 3]},
                               {"auto_pad": "SAME_UPPER", "strides": [2, 2]}]):
        for pads in [0, 0, 0, 0], [1, 0, 1, 2]:
            for held in 0, 1:
                if held == 0 and k == 1:
                    continue  # one case of sizes that depend on data is enough
                inputs = [x, w, np.array(pads), normal(3)] if k else [x, w, np.array(pads)]
                add(c, f"conv_transpose_{k}_{sum(pads)}_{held}", "ConvTransposeWithDynamicPads", inputs, attrs, consts=(1, 2)[:1 + held])
    inputs = [x, normal(4, 3, 3, 3), np.array([1, 0, 1, 2])]
    add(c, "conv_transpose_groups", "ConvTransposeWithDynamicPads", inputs, {"group": 2}, consts=(1, 2), sizes=[("n", None, "h", "w"), None, None])


def add_complex(c):
    a, b = normal(3, 4, 2), normal(4, 2)
    first, second = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
    for name, y in ("ComplexMul", first * second), ("ComplexMulConj", first * second.conj()):
        add(c, name, name, [a, b], by=[np.stack([y.real, y.imag], -1)], sizes=[("n", "m", None), ("m", None)])
