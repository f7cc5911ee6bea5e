"""Random models of the operators of neural networks: images, products, normalisations, quantised operators, signals."""

import dataclasses

import numpy as np
from onnx import helper

from operators import Case, F32, F64, family, ints


# ---- images ------------------------------------------------------------------------------------------------------------


def window(m, axes, dilated=True):
    """(kernel, attributes) of a convolution or pool."""
    k = [m.int(1, 3) for _ in range(axes)]
    attrs = {}
    if m.chance(0.6):
        attrs["strides"] = [m.int(1, 3) for _ in range(axes)]
    if dilated and m.chance(0.4):
        attrs["dilations"] = [m.int(1, 2) for _ in range(axes)]
    how = m.one(["", "", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if how == "pads":
        attrs["pads"] = [m.int(0, d - 1) if d > 1 else 0 for d in k + k]
    elif how:
        attrs["auto_pad"] = how
    return k, attrs


@family(4)
def conv(m):
    axes, group = m.int(1, 3), m.one([1, 1, 2, 3])
    k, attrs = window(m, axes)
    c, o = group * m.int(1, 3), group * m.int(1, 3)
    x = m.array(F32, (m.int(1, 2), c) + tuple(m.int(4, 7) for _ in k))
    if m.chance(0.3):
        attrs["kernel_shape"] = k
    b = m.array(F32, (o,)) if m.chance(0.5) else None
    attrs["group"] = group
    if "dilations" in attrs and attrs.get("auto_pad", "").startswith("SAME"):
        del attrs["dilations"]
    return Case("Conv", [x, m.array(F32, (o, c // group, *k)), b], attrs, consts=m.one([(), (1, 2)]), fixed=(1, 2))


@family(3)
def conv_transpose(m):
    axes, group = m.int(1, 3), m.one([1, 1, 2])
    k, attrs = window(m, axes)
    c, o = group * m.int(1, 3), m.int(1, 3)
    x = m.array(F32, (m.int(1, 2), c) + tuple(m.int(3, 5) for _ in k))
    strides = attrs.get("strides", [1] * axes)
    if m.chance(0.3):
        attrs["output_padding"] = [m.int(0, s - 1) for s in strides]
    attrs["group"] = group
    b = m.array(F32, (o * group,)) if m.chance(0.5) else None
    return Case("ConvTranspose", [x, m.array(F32, (c, o, *k)), b], attrs, since=11, consts=m.one([(), (1, 2)]), fixed=(1, 2))


@family(4)
def pool(m):
    op = m.one(["MaxPool", "AveragePool", "LpPool"])
    axes = m.int(1, 3)
    k, attrs = window(m, axes)
    attrs["kernel_shape"] = k
    if m.chance(0.5) and "auto_pad" not in attrs:
        attrs["ceil_mode"] = m.int(0, 1)
    if op == "AveragePool" and m.chance(0.5):
        attrs["count_include_pad"] = m.int(0, 1)
    if op == "LpPool":
        attrs["p"] = m.int(1, 3)
    if "dilations" in attrs and attrs.get("auto_pad", "").startswith("SAME"):
        del attrs["dilations"]
    x = m.array(F32, (m.int(1, 2), m.int(1, 3)) + tuple(m.int(5, 8) for _ in k))
    since = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    wanted = (0, 1) if op == "MaxPool" and m.chance(0.4) else (0,)
    return Case(op, [x], attrs, since=since, wanted=wanted)


@family(1)
def global_pool(m):
    x = m.array(F32, (m.int(1, 2), m.int(1, 3)) + m.shape(1, 3, 0))
    return Case(m.one(["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"]), [x])


@family(5)
def resize(m):
    t = F32
    x = m.array(t, (1, m.int(1, 2), m.int(2, 5), m.int(2, 5)))
    mode = m.one(["nearest", "linear", "cubic"])
    place = m.one(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "half_pixel_symmetric"])
    attrs = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        attrs["nearest_mode"] = m.one(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic" and m.chance(0.5):
        attrs["cubic_coeff_a"] = -0.5
    if mode == "cubic" and m.chance(0.5):
        attrs["exclude_outside"] = 1
    since = 19 if attrs["coordinate_transformation_mode"] == "half_pixel_symmetric" else 13
    roi = None
    if attrs["coordinate_transformation_mode"] == "tf_crop_and_resize":
        roi = np.array([0, 0, 0.125, 0.25, 1, 1, 0.75, 0.875], np.float32)
        attrs["extrapolation_value"] = 2.5
    elif m.chance(0.3) and mode != "nearest":
        attrs["antialias"] = 1
        since = 19
    h, w = m.one([0.5, 0.625, 1, 1.5, 2, 2.25]), m.one([0.5, 0.75, 1, 2, 3])
    scales, sizes = np.array([1, 1, h, w], F32), None
    if m.chance(0.5):
        scales, sizes = None, ints(1, x.shape[1], m.int(1, 8), m.int(1, 8))
    if roi is None and m.chance(0.3):
        since = max(since, 18)
        axes = m.one([[2, 3], [-1, -2], [3], [-2]])
        attrs["axes"] = axes
        scales, sizes = (None if v is None else v[axes] for v in (scales, sizes))
        if sizes is not None and m.chance(0.4):
            attrs["keep_aspect_ratio_policy"] = m.one(["stretch", "not_larger", "not_smaller"])
    whole = sizes is not None or bool((scales % 1 == 0).all())
    case = Case("Resize", [x, roi, scales, sizes], attrs, consts=(1, 2, 3), since=since, rtol=1e-3, sizes=whole)
    return with_axes_in_order(case) if "axes" in attrs else case


def with_axes_in_order(case):
    """The case with sorted, non-negative axes, as evaluators mix up others."""
    axes = [a % case.inputs[0].ndim for a in case.attrs["axes"]]
    order = np.argsort(axes)
    inputs = case.inputs[:2] + [None if v is None else v[order] for v in case.inputs[2:]]
    attrs = {**case.attrs, "axes": sorted(axes)}
    case.version = 19
    case.same = dataclasses.replace(case, inputs=inputs, attrs=attrs, same=None)
    return case


@family(2)
def grid_sample(m):
    x = m.array(F32, (m.int(1, 2), m.int(1, 2), m.int(2, 4), m.int(2, 4)))
    grid = m.array(F32, (x.shape[0], m.int(1, 3), m.int(1, 3), 2), low=-1.4, high=1.4)
    mode = m.one(["linear", "nearest", "cubic"])
    attrs = {"mode": mode, "padding_mode": m.one(["zeros", "border", "reflection"]), "align_corners": m.int(0, 1)}
    return Case("GridSample", [x, grid], attrs, since=20, rtol=1e-3)


@family(1)
def roi_align(m):
    x = m.array(F32, (2, 2, 6, 6))
    n = m.int(1, 3)
    rois = np.sort(m.array(F32, (n, 2, 2), low=0, high=8), axis=1).reshape(n, 4)
    attrs = {"output_height": m.int(1, 3), "output_width": m.int(1, 3), "sampling_ratio": m.int(0, 2), "spatial_scale": m.one([1.0, 0.5]),
             "mode": m.one(["avg", "max"])}
    attrs["coordinate_transformation_mode"] = m.one(["half_pixel", "output_half_pixel"])
    return Case("RoiAlign", [x, rois.astype(np.float32), m.array(np.int64, (n,), low=0, high=1)], attrs, since=16)


# ---- products ----------------------------------------------------------------------------------------------------------


@family(3)
def matmul(m):
    t = m.one([F32, F32, F64, np.dtype("int32"), np.dtype("int64"), np.dtype("uint32")])
    n, k, o = m.int(1, 6), 0 if m.chance(0.05) else m.int(1, 6), m.int(1, 6)
    lead = m.shape(0, 2, 0)
    a, b = lead + (n, k), m.smaller(lead) + (k, o)
    if m.chance(0.15):
        a = (k,)
    if m.chance(0.15):
        b = (k,)
    return Case("MatMul", [m.array(t, a), m.array(t, b)], consts=m.one([(), (1,)]), since=9)


@family(2)
def gemm(m):
    t = m.one([F32, F64])
    n, k, o = m.int(1, 6), 0 if m.chance(0.05) else m.int(1, 6), m.int(1, 6)
    ta, tb = m.int(0, 1), m.int(0, 1)
    c = m.one([None, (n, o), (1, o), (n, 1), (o,), (1,), ()])
    attrs = {"transA": ta, "transB": tb}
    for name in "alpha", "beta":
        if m.chance(0.5):
            attrs[name] = m.one([0.5, 2.0, 0.0, -1.0])
    return Case("Gemm", [m.array(t, (k, n) if ta else (n, k)), m.array(t, (o, k) if tb else (k, o)), None if c is None else m.array(t, c)],
                attrs, consts=m.one([(), (1,), (1, 2)]), since=11)


EQUATIONS = ["ij,jk->ik", "ij->ji", "ii->i", "ii", "ij->", "bij,bjk->bik", "...ij,...jk->...ik", "i,j->ij", "ij,ij->", "ij,ij->i", "bhqd,bhkd->bhqk",
             "a b,b c->a c", "ij,jk", "...i->...", "ijj->i", "i...,i...->...", "ab,cd->abcd", "ij,j->i", "ijk,k->ij", "iij->ij", "ab,bc,cd->ad"]


@family(2)
def einsum(m):
    equation = m.one(EQUATIONS)
    size = {c: m.int(1, 4) for c in "abcdefghijkqb"}
    lead = m.shape(0, 2, 0)
    x = []
    for term in equation.split("->")[0].split(","):
        term = term.replace(" ", "")
        before, dots, after = term.partition("...")
        x.append(m.array(F32, tuple(size[c] for c in before) + (lead if dots else ()) + tuple(size[c] for c in after)))
    return Case("Einsum", x, {"equation": equation})


@family(3)
def recurrent(m):
    op = m.one(["RNN", "GRU", "LSTM"])
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    direction = m.one(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    t, b, i, h = m.int(1, 4), m.int(1, 3), m.int(1, 4), m.int(1, 4)
    x = m.array(F32, (t, b, i))
    inputs = [x, m.array(F32, (d, gates * h, i), low=-1, high=1), m.array(F32, (d, gates * h, h), low=-1, high=1),
              m.array(F32, (d, 2 * gates * h), low=-1, high=1) if m.chance(0.6) else None,
              m.array(np.int32, (b,), low=1, high=t) if m.chance(0.4) else None,
              m.array(F32, (d, b, h)) if m.chance(0.5) else None]
    attrs = {"hidden_size": h, "direction": direction}
    if m.chance(0.4):
        attrs["clip"] = m.one([0.5, 1.0, 3.0])
    if op == "GRU" and m.chance(0.5):
        attrs["linear_before_reset"] = 1
    if op == "LSTM":
        inputs += [m.array(F32, (d, b, h)) if m.chance(0.5) else None, m.array(F32, (d, 3 * h)) if m.chance(0.4) else None]
        if m.chance(0.2):
            attrs["input_forget"] = 1
    if m.chance(0.4):
        f = ["Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "HardSigmoid", "Elu", "LeakyRelu", "ScaledTanh", "ThresholdedRelu", "Affine"]
        attrs["clip"] = 3.0  # ONNX Runtime's Softplus overflows
        attrs["activations"] = [m.one(f) for _ in range({"RNN": 1, "GRU": 2, "LSTM": 3}[op] * d)]
        if m.chance(0.5):
            attrs["activation_alpha"] = [m.one([0.3, 0.5, 1.0]) for _ in attrs["activations"]]
            attrs["activation_beta"] = [m.one([0.2, 0.5, 1.0]) for _ in attrs["activations"]]
    outputs = (0, 1, 2) if op == "LSTM" else (0, 1)
    wanted, consts = m.one([outputs, outputs, (0,), outputs[1:]]), m.one([(), (1, 2, 3)])
    case = Case(op, inputs, attrs, wanted=wanted, consts=consts, rtol=1e-3, since=7, fixed=(1, 2, 3, 7))
    return batch_first(m, case) if m.chance(0.3) else case


def batch_first(m, case):
    """The case with layout 1, which ONNX Runtime lacks; it equals layout 0 with transposed inputs and outputs."""
    case.version = m.int(14, case.until)
    inputs, nodes, results = [], [], []
    for i, x in enumerate(case.inputs):
        turned = x is not None and i in (0, 5, 6)
        inputs.append(x.swapaxes(0, 1) if turned else x)
        nodes += [helper.make_node("Transpose", [f"x{i}"], [f"t{i}"], perm=[1, 0, 2])] if turned else []
        results.append("" if x is None else f"t{i}" if turned else f"x{i}")
    outputs = [f"r{i}" if i in case.wanted else "" for i in range(max(case.wanted) + 1)]
    nodes.append(helper.make_node(case.op, results, outputs, **case.attrs))
    for i in case.wanted:
        nodes.append(helper.make_node("Transpose", [f"r{i}"], [f"y{i}"], perm=[1, 0, 2] if i else [2, 0, 1, 3]))
    same = dataclasses.replace(case, inputs=inputs, nodes=nodes)
    return dataclasses.replace(case, inputs=inputs, attrs={**case.attrs, "layout": 1}, same=same)


# ---- normalisations, losses ----------------------------------------------------------------------------------------------


@family(4)
def normalise(m):
    op = m.one("LayerNormalization InstanceNormalization GroupNormalization BatchNormalization LRN LpNormalization "
               "MeanVarianceNormalization RMSNormalization".split())
    x = m.array(F32, (m.int(1, 2), m.int(1, 3) * 2) + m.shape(1, 2, 0))
    c = x.shape[1]
    s, b = m.array(F32, (c,)), m.array(F32, (c,))
    eps = {"epsilon": m.one([1e-5, 1e-3])}
    if op in ("LayerNormalization", "RMSNormalization"):
        a = m.axis(x.ndim)
        shape = x.shape[a % x.ndim:]
        s, b = m.array(F32, shape), m.array(F32, shape)
        if op[0] == "R":
            return Case(op, [x, s], {"axis": a, **eps}, rtol=1e-3)
        return Case(op, [x, s, b if m.chance(0.6) else None], {"axis": a, **eps}, wanted=m.one([(0,), (0, 1, 2)]), rtol=1e-3)
    if op == "InstanceNormalization":
        return Case(op, [x, s, b], eps, rtol=1e-3)
    if op == "GroupNormalization":
        return Case(op, [x, s, b], {"num_groups": m.one([1, 2, c]), **eps}, since=21, rtol=1e-3)
    if op == "BatchNormalization":
        return Case(op, [x, s, b, m.array(F32, (c,)), np.abs(m.array(F32, (c,)))], eps, since=9, rtol=1e-3, consts=m.one([(), (1, 2, 3, 4)]))
    if op == "LRN":
        return Case(op, [x.reshape(x.shape[0], c, -1, 1)], {"size": m.int(1, 5), "alpha": 0.3, "beta": 0.6, "bias": 1.5})
    if op == "LpNormalization":
        return Case(op, [x], {"axis": m.axis(x.ndim), "p": m.int(1, 2)})
    return Case(op, [x.reshape(x.shape[0], c, -1, 1)], {"axes": m.one([[0, 2, 3], [2, 3], [1], [0, 1, 2, 3], [-1, -2]])}, rtol=1e-3)


@family(2)
def loss(m):
    op = m.one(["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
    c = m.int(1, 5)
    n, more = m.int(1, 4), m.shape(0, 2, 0)
    x, at = m.array(F32, (n, c) + more), m.array(m.one([np.int64, np.int32]), (n,) + more, low=0, high=c - 1)
    attrs = {"reduction": m.one(["none", "sum", "mean"])}
    if m.chance(0.4):
        attrs["ignore_index"] = m.int(0, c)
    w = np.abs(m.array(F32, (c,))) + np.float32(0.1) if m.chance(0.5) else None
    if "ignore_index" in attrs and (at == attrs["ignore_index"]).all():
        return None
    return Case(op, [x, at, w], attrs, wanted=m.one([(0,), (0, 1)]) if op[0] == "S" else (0,))


# ---- quantised -----------------------------------------------------------------------------------------------------------


@family(4)
def quantised(m):
    op = m.one("QuantizeLinear DequantizeLinear QLinearMatMul MatMulInteger ConvInteger QLinearConv DynamicQuantizeLinear".split())
    t = m.one([np.dtype("uint8"), np.dtype("int8")])
    if op == "DynamicQuantizeLinear":
        return Case(op, [m.array(F32, m.shape(1, 3, 0))], wanted=(0, 1, 2))
    if op in ("QuantizeLinear", "DequantizeLinear"):
        x = m.array(F32, m.shape(1, 4, 0), m.one([0, 0])) * np.float32(5)
        a = m.axis(x.ndim)
        per = m.chance(0.6)
        shape = (x.shape[a],) if per else ()
        scale = np.abs(m.array(F32, shape)) + np.float32(0.1)
        zero = m.array(t, shape, low=-100, high=200) if m.chance(0.7) else None
        if op == "DequantizeLinear":
            if zero is None and t != np.uint8:
                zero = np.zeros(shape, t)
            x = m.array(t, x.shape, low=-128, high=255)
        return Case(op, [x, scale, zero], {"axis": a} if per else {}, since=13 if per else 10)
    u = m.one([t, np.dtype("uint8"), np.dtype("int8")])
    n, k, o = m.int(1, 5), m.int(1, 9), m.int(1, 5)
    if op == "MatMulInteger":
        return Case(op, [m.array(t, (n, k), low=-128, high=255), m.array(u, (k, o), low=-128, high=255), m.array(t, ()) if m.chance(0.6) else None,
                         m.array(u, m.one([(), (o,)])) if m.chance(0.5) else None], consts=m.one([(), (1, 3)]))
    s = lambda shape=(): (np.abs(m.array(F32, shape)) * np.float32(0.05) + np.float32(0.01)).astype(F32)
    if op == "QLinearMatMul":
        per = (o,) if m.chance(0.4) else ()
        return Case(op, [m.array(t, (n, k), low=-128, high=255), s(), m.array(t, ()), m.array(u, (k, o), low=-128, high=255), s(per),
                         np.zeros(per, u) if per else m.array(u, ()), s() * 5, m.array(t, ())], consts=m.one([(), (1, 2, 3, 4, 5, 6, 7)]))
    axes = m.int(1, 2)
    kk, attrs = window(m, axes, False)
    c, o = m.int(1, 3), m.int(1, 4)
    x, w = m.array(t, (1, c) + tuple(m.int(4, 6) for _ in kk), low=-128, high=255), m.array(u, (o, c, *kk), low=-128, high=255)
    if op == "ConvInteger":
        return Case(op, [x, w, m.array(t, ()), m.array(u, ()) if m.chance(0.5) else None], attrs, consts=m.one([(), (1,)]), fixed=(1,))
    per = (o,) if m.chance(0.4) else ()
    return Case(op, [x, s(), m.array(t, ()), w, s(per), np.zeros(per, u) if per else m.array(u, ()), s() * 5, m.array(t, ()),
                     m.array(np.int32, (o,), low=-500, high=500) if m.chance(0.5) else None],
                attrs, consts=m.one([(), (1, 2, 3, 4, 5, 6, 7, 8)]), fixed=(3, 4, 8))


# ---- signals -------------------------------------------------------------------------------------------------------------


@family(2)
def signal(m):
    op = m.one(["DFT", "DFT", "HannWindow", "HammingWindow", "BlackmanWindow", "NonMaxSuppression", "Det", "AffineGrid"])
    if op.endswith("Window"):
        return Case(op, [np.array(m.int(1, 9), np.int64)], {"periodic": m.int(0, 1)}, consts=(0,), rtol=1e-3)
    if op == "Det":
        n = m.int(1, 4)
        return Case(op, [m.array(F32, m.shape(0, 2, 0) + (n, n))], rtol=1e-3)
    if op == "AffineGrid":
        axes = m.int(2, 3)
        size = ints(2, 3, *[m.int(1, 4) for _ in range(axes)])
        return Case(op, [m.array(F32, (2, axes, axes + 1)), size], {"align_corners": m.int(0, 1)}, consts=(1,), rtol=1e-3)
    if op == "NonMaxSuppression":
        n = m.int(1, 6)
        boxes = m.array(F32, (1, n, 4), low=0, high=5)
        return Case(op, [boxes, m.array(F32, (1, 2, n), low=0, high=1), ints(m.int(0, 4)), np.array([0.4], F32), np.array([0.2], F32)][: m.int(3, 5)],
                    {"center_point_box": m.int(0, 1)}, consts=(2, 3, 4), since=11)
    inverse = m.int(0, 1)
    onesided = 0 if inverse else m.int(0, 1)
    parts = 1 if onesided else m.int(1, 2)
    x = m.array(F32, (m.int(1, 2), m.int(1, 6), m.int(1, 6), parts))
    a = m.one([1, 2, -2, -3])
    return Case("DFT", [x, ints(m.int(1, 8))[0] if m.chance(0.3) else None, np.array(a, np.int64)], {"inverse": inverse, "onesided": onesided},
                consts=(1, 2), since=20, rtol=1e-3, sizes=parts == 1)
