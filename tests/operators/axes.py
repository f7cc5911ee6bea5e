"""Windows over more than three spatial axes. The expected results come from loops over the elements of a window, as specified, or from
ONNX's reference."""

import itertools

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from gradients import add_gradient

rng = np.random.default_rng(4)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def sizes(image, kernel, strides, dilations, pads, auto="NOTSET", ceil=0):
    """(the output's sizes, the resolved pads)"""
    n = len(image)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    if auto.startswith("SAME"):
        out = [-(-i // s) for i, s in zip(image, strides)]
        total = [max(0, (o - 1) * s + r - i) for o, s, r, i in zip(out, strides, reach, image)]
        begin = [t // 2 if auto == "SAME_UPPER" else -(-t // 2) for t in total]
        return out, begin + [t - b for t, b in zip(total, begin)]
    room = [image[a] + pads[a] + pads[a + n] - reach[a] for a in range(n)]
    out = [(-(-room[a] // strides[a]) if ceil else room[a] // strides[a]) + 1 for a in range(n)]
    return [o - (ceil and (o - 1) * strides[a] >= image[a] + pads[a]) for a, o in enumerate(out)], list(pads)


def windows(x, kernel, strides, dilations, pads, out, fill):
    """(N, C, out..., elements of the kernel)"""
    n = len(kernel)
    ends = [max(pads[n + a], (out[a] - 1) * strides[a] + (kernel[a] - 1) * dilations[a] + 1 - x.shape[2 + a] - pads[a]) for a in range(n)]
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:n], ends)], constant_values=fill)
    at = [tuple(slice(k[a] * dilations[a], k[a] * dilations[a] + (out[a] - 1) * strides[a] + 1, strides[a]) for a in range(n))
          for k in itertools.product(*map(range, kernel))]
    return np.stack([x[(slice(None), slice(None), *s)] for s in at], -1)


def conv(x, w, group=1, fill=0, **a):
    out, pads = sizes(x.shape[2:], w.shape[2:], a["strides"], a["dilations"], a["pads"], a.get("auto_pad", "NOTSET"))
    v = windows(x, w.shape[2:], a["strides"], a["dilations"], pads, out, fill)
    part, rows = w.shape[1], w.shape[0] // group
    return np.concatenate([np.einsum("nc...k,mck->nm...", v[:, g * part:][:, :part],
                                     w[g * rows:][:rows].reshape(rows, part, -1)) for g in range(group)], 1)


def conv_transposed(x, w, group=1, more=None, **a):
    n = x.ndim - 2
    whole = [(x.shape[2 + i] - 1) * a["strides"][i] + (w.shape[2 + i] - 1) * a["dilations"][i] + 1 + more[i] for i in range(n)]
    y = np.zeros((x.shape[0], w.shape[1] * group, *whole))
    part = x.shape[1] // group
    for k in itertools.product(*map(range, w.shape[2:])):
        at = tuple(slice(k[i] * a["dilations"][i], k[i] * a["dilations"][i] + (x.shape[2 + i] - 1) * a["strides"][i] + 1,
                         a["strides"][i]) for i in range(n))
        for g in range(group):
            y[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1]), *at)] += np.einsum(
                "nc...,cm->nm...", x[:, g * part:][:, :part], w[(slice(g * part, (g + 1) * part), slice(None), *k)])
    return y[(slice(None), slice(None), *(slice(a["pads"][i], whole[i] - a["pads"][n + i]) for i in range(n)))]


PLAIN = {"strides": [1] * 4, "dilations": [1] * 4, "pads": [0] * 8}
MIXED = {"strides": [2, 1, 1, 2], "dilations": [1, 2, 1, 1], "pads": [1, 0, 1, 0, 0, 2, 0, 1]}
FIVE = {"strides": [1, 2, 1, 1, 1], "dilations": [2, 1, 1, 1, 1], "pads": [1, 0, 0, 1, 0, 1, 1, 0, 0, 0]}
OPEN = [("n", None, "a", "b", "c", "d")]


def add_convolutions(c):
    x, w, b = normal(2, 4, 4, 5, 3, 6), normal(6, 2, 2, 3, 2, 3), normal(6)
    for name, a in ("plain", PLAIN), ("mixed", MIXED):
        y = conv(x, w, 2, **a) + b.reshape(-1, 1, 1, 1, 1)
        for open_sizes in None, OPEN + [None, None]:
            c.add(f"axes_conv_{name}" + "_sizes" * bool(open_sizes), "Conv", [x, w, b], {**a, "group": 2}, version=11,
                  consts=(1, 2) if open_sizes else (1,), by=[y.astype(np.float32)], sizes=open_sizes)
    for auto in "SAME_UPPER", "SAME_LOWER":
        a = {**MIXED, "auto_pad": auto}
        c.add(f"axes_conv_{auto}", "Conv", [x, w], {k: v for k, v in {**a, "group": 2}.items() if k != "pads"}, version=22,
              by=[conv(x, w, 2, **a).astype(np.float32)], sizes=OPEN + [None] if auto == "SAME_LOWER" else None)
    x5, w5 = normal(1, 2, 4, 3, 2, 3, 2), normal(3, 2, 2, 2, 1, 2, 2)
    c.add("axes_conv_5", "Conv", [x5, w5], FIVE, version=1, by=[conv(x5, w5, **FIVE).astype(np.float32)])
    half = [v.astype(np.float16) for v in (x, w)]
    y = conv(*(v.astype(np.float32) for v in half), 2, **MIXED).astype(np.float16)
    c.add("axes_conv_half", "Conv", half, {**MIXED, "group": 2}, version=22, by=[y])
    w, more = normal(4, 3, 2, 3, 2, 3), [1, 0, 0, 1]
    for name, a, extra in ("plain", PLAIN, [0] * 4), ("mixed", MIXED, more):
        y = (conv_transposed(x, w, 2, extra, **a) + b.reshape(-1, 1, 1, 1, 1)).astype(np.float32)
        attrs = {**a, "group": 2, "output_padding": extra}
        c.add(f"axes_conv_transpose_{name}", "ConvTranspose", [x, w, b], attrs, version=11, by=[y])
        c.add(f"axes_conv_transpose_{name}_sizes", "ConvTranspose", [x, w, b], attrs, version=11, consts=(1, 2), by=[y],
              sizes=OPEN + [None, None])
    attrs = {**MIXED, "group": 2, "output_shape": list(y.shape[2:])}
    whole = conv_transposed(x, w, 2, [0] * 4, **{**MIXED, "pads": [0] * 8})
    total = [f - s for f, s in zip(whole.shape[2:], y.shape[2:])]
    y = np.zeros_like(y)
    source, target = [slice(None)] * 2, [slice(None)] * 2
    for t, size, full in zip(total, y.shape[2:], whole.shape[2:]):
        begin = -(-max(t, 0) // 2)  # unlike SAME_UPPER, the odd one is at the beginning
        source.append(slice(begin, begin + size))
        target.append(slice(0, min(size, full - begin)))
    y[tuple(target)] = whole[tuple(source)]
    c.add("axes_conv_transpose_shape", "ConvTranspose", [x, w], attrs, version=22, by=[y])
    x5, w5 = normal(2, 2, 2, 3, 2, 1, 2), normal(2, 3, 2, 2, 1, 2, 2)
    c.add("axes_conv_transpose_5", "ConvTranspose", [x5, w5], {**FIVE, "output_padding": [0, 1, 0, 0, 0]}, version=22,
          by=[conv_transposed(x5, w5, 1, [0, 1, 0, 0, 0], **FIVE).astype(np.float32)])


def add_integers(c):
    x, w = rng.integers(0, 256, (2, 4, 4, 5, 3, 6), np.uint8), rng.integers(-128, 128, (6, 2, 2, 3, 2, 3), np.int8)
    zero, zeros, bias = np.uint8(120), rng.integers(-9, 9, 6, np.int8), rng.integers(-999, 999, 6).astype(np.int32)
    for name, a in ("plain", PLAIN), ("mixed", MIXED):
        sums = conv(x.astype(np.int32) - 120, w.astype(np.int32) - zeros.reshape(-1, 1, 1, 1, 1, 1), 2, **a)
        attrs = {**a, "group": 2}
        c.add(f"axes_conv_integer_{name}", "ConvInteger", [x, w, zero, zeros], attrs, version=10, by=[sums.astype(np.int32)])
        plain = conv(x.astype(np.int32), w.astype(np.int32), 2, **a).astype(np.int32)
        c.add(f"axes_conv_integer_{name}_sizes", "ConvInteger", [x, w], attrs, version=10, consts=(1,), by=[plain], sizes=OPEN + [None])
        scales = np.exp2(rng.integers(-4, -1, 6)).astype(np.float32)
        y = (sums + bias.reshape(-1, 1, 1, 1, 1)) * (np.float32(0.5) * scales / np.float32(512)).reshape(-1, 1, 1, 1, 1)
        y = np.clip(np.rint(y) + 100, 0, 255).astype(np.uint8)
        inputs = [x, np.float32(0.5), zero, w, scales, zeros, np.float32(512), np.uint8(100), bias]
        for held in (), range(1, 9):
            c.add(f"axes_qlinear_conv_{name}_{len(held)}", "QLinearConv", inputs, attrs, version=10, consts=held, by=[y])


def pool(x, kernel, how, ceil=0, auto="NOTSET", count_pad=0, p=2, **a):
    out, pads = sizes(x.shape[2:], kernel, a["strides"], a["dilations"], a["pads"], auto, ceil)
    args = kernel, a["strides"], a["dilations"], pads, out
    if how == "max":
        return windows(x, *args, -np.inf).max(-1)
    if how == "norm":
        return (np.abs(windows(x.astype(float), *args, 0)) ** p).sum(-1) ** (1 / p)
    ones = np.ones_like(x)
    if count_pad:  # padding counts, but not positions beyond it
        n = len(kernel)
        ones = np.pad(ones, [(0, 0), (0, 0), *zip(pads[:n], pads[n:])], constant_values=1)
        count = windows(ones, *args[:3], [0] * 8, out, 0).sum(-1)
    else:
        count = windows(ones, *args, 0).sum(-1)
    return windows(x.astype(float), *args, 0).sum(-1) / count


def indices(x, kernel, order, ceil=0, **a):
    out, pads = sizes(x.shape[2:], kernel, a["strides"], a["dilations"], a["pads"], ceil=ceil)
    numbers = np.arange(x.size).reshape(x.shape)
    if order:
        planes = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1,) * (x.ndim - 2))
        each = int(np.prod(x.shape[2:]))
        numbers = planes * each + np.arange(each).reshape(x.shape[2:], order="F")
    args = kernel, a["strides"], a["dilations"], pads, out
    best = windows(x, *args, -np.inf).argmax(-1)
    return np.take_along_axis(windows(numbers, *args, -1), best[..., None], -1)[..., 0]


def add_pools(c):
    x, kernel = np.round(normal(2, 3, 5, 4, 5, 6) * 3), [2, 2, 3, 2]
    a = {"strides": [2, 1, 1, 2], "dilations": [1, 2, 1, 1], "pads": [1, 0, 1, 0, 0, 1, 0, 1]}
    for ceil in 0, 1:
        attrs = {**a, "kernel_shape": kernel, "ceil_mode": ceil}
        open_sizes = OPEN if ceil else None
        y = pool(x, kernel, "max", ceil, **a)
        c.add(f"axes_max_pool_{ceil}", "MaxPool", [x], attrs, version=12, by=[y], sizes=open_sizes)
        bytes_ = x.astype(np.int8)
        c.add(f"axes_max_pool_int8_{ceil}", "MaxPool", [bytes_], attrs, version=12,
              by=[pool(bytes_.astype(np.float32), kernel, "max", ceil, **a).astype(np.int8)])
        for order in 0, 1:
            c.add(f"axes_max_pool_indices_{ceil}_{order}", "MaxPool", [x], {**attrs, "storage_order": order}, version=12, outputs=2,
                  by=[y, indices(x, kernel, order, ceil, **a)], sizes=open_sizes)
            y2 = pool(x, kernel, "mean", ceil, count_pad=order, **a).astype(np.float32)
            c.add(f"axes_average_pool_{ceil}_{order}", "AveragePool", [x], {**attrs, "count_include_pad": order}, version=19, by=[y2],
                  sizes=open_sizes)
        for p in 1, 2, 3:
            y = pool(x, kernel, "norm", ceil, p=p, **a).astype(np.float32)
            c.add(f"axes_lp_pool_{ceil}_{p}", "LpPool", [x], {**attrs, "p": p}, version=18, by=[y], sizes=open_sizes)
    for auto in "SAME_UPPER", "SAME_LOWER":
        attrs = {"kernel_shape": kernel, "strides": a["strides"], "auto_pad": auto}
        y = pool(x, kernel, "mean", auto=auto, **{**a, "dilations": [1] * 4})
        c.add(f"axes_average_pool_{auto}", "AveragePool", [x], attrs, version=7, by=[y.astype(np.float32)])
    bytes_ = rng.integers(0, 256, (2, 3, 5, 4, 5, 6), np.uint8)
    y = pool(bytes_ - 120.0, [2] * 4, "mean", **{**a, "dilations": [1] * 4, "pads": [0] * 8})
    y = np.clip(np.rint(y / 2) + 100, 0, 255).astype(np.uint8)
    inputs = [bytes_, np.float32(0.5), np.uint8(120), np.float32(1), np.uint8(100)]
    c.add("axes_qlinear_average_pool", "QLinearAveragePool", inputs, {"kernel_shape": [2] * 4, "strides": a["strides"]},
          version=1, domain="com.microsoft", consts=(1, 2, 3, 4), by=[y])
    x7 = normal(1, 2, *[3] * 7)
    b = {"strides": [1] * 7, "dilations": [1] * 7, "pads": [0] * 14}
    c.add("axes_max_pool_7", "MaxPool", [x7], {"kernel_shape": [2] * 7}, version=1, by=[pool(x7, [2] * 7, "max", **b)])
    half = x7.astype(np.float16)
    y = pool(half.astype(float), [2] * 7, "mean", **b).astype(np.float16)
    c.add("axes_average_pool_half", "AveragePool", [half], {"kernel_shape": [2] * 7}, version=22, by=[y])
    x, size = normal(2, 3, 2, 3, 2, 2), (4, 6, 4, 4)
    at = np.stack([rng.permutation(int(np.prod(size)))[:24] + int(np.prod(size)) * i for i in range(6)]).reshape(x.shape)
    y = np.zeros((2, 3, *size), np.float32)
    y.ravel()[at.ravel()] = x.ravel()
    attrs = {"kernel_shape": [2] * 4, "strides": [2] * 4}
    c.add("axes_max_unpool", "MaxUnpool", [x, at], attrs, version=11, by=[y], sizes=OPEN * 2)
    larger = np.pad(y, [(0, 0), (0, 0), (0, 1), (0, 0), (0, 1), (0, 0)])
    c.add("axes_max_unpool_larger", "MaxUnpool", [x, at, np.array(larger.shape)], attrs, version=22, consts=(2,), by=[larger])


def add_blocks(c):
    for name, image, block, strides, pads, dilations, kind in (
        ("4", (4, 3, 5, 4), (2, 1, 2, 3), (1, 1, 2, 1), (0, 0, 1, 1, 1, 0, 0, 0), (2, 1, 1, 1), np.float32),
        ("4_half", (4, 3, 5, 4), (2, 1, 2, 3), (1, 1, 2, 1), (0, 0, 1, 1, 1, 0, 0, 0), (2, 1, 1, 1), np.float16),
        ("4_words", (4, 3, 5, 4), (2, 1, 2, 3), (1, 1, 2, 1), (0, 0, 1, 1, 1, 0, 0, 0), (2, 1, 1, 1), object),
        ("5", (3, 2, 3, 2, 4), (2, 1, 2, 2, 2), (1,) * 5, (0,) * 10, (1,) * 5, np.int32),
    ):
        n = len(image)
        blocks = [(image[i] + pads[i] + pads[i + n] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(n)]
        x = (normal(2, 3 * int(np.prod(block)), int(np.prod(blocks))) * 9).astype(kind)
        attrs = {"strides": strides, "pads": pads, "dilations": dilations}
        inputs = [x, np.array(image), np.array(block)]
        if kind is object:
            inputs[0] = np.array([f"{v}\u00e9" * (v % 3) for v in range(x.size)], object).reshape(x.shape)
        wide = inputs[0].astype(np.dtypes.StringDType() if kind is object else float)
        by = [reference("Col2Im", 18, [wide, *inputs[1:]], **attrs).astype(kind)]
        c.add(f"axes_col2im_{name}", "Col2Im", inputs, attrs, version=18, consts=(1, 2), by=by,
              sizes=[("n", "c", None), None, None] if name == "5" else None)


def reference(op, version, inputs, **attrs):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, ["y"], **attrs)
    values = [[onnx.ValueInfoProto(name=v) for v in names_] for names_ in (names, ["y"])]
    model = helper.make_model(helper.make_graph([node], op, *values), opset_imports=[helper.make_opsetid("", version)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))[0]


def cubic_at_border(x, grid, align):
    """Cubic interpolation with border padding, by an image extended with its border elements. ONNX's reference instead clamps the
    coordinate first, unlike ONNX Runtime, and unlike the reference itself with zero padding."""
    room, size = 7, np.array(x.shape[:1:-1])
    place = (grid + 1) / 2 * (size - 1) if align else ((grid + 1) * size - 1) / 2
    wide = np.pad(x, [(0, 0)] * 2 + [(room, room)] * 4, mode="edge").astype(float)
    grid = (place + room) * 2 / (size + 2 * room - 1) - 1
    return reference("GridSample", 20, [wide, grid.astype(float)], mode="cubic", align_corners=1).astype(np.float32)


def add_samples(c):
    x, grid = normal(2, 3, 3, 4, 2, 5), rng.uniform(-1.6, 1.6, (2, 2, 3, 2, 2, 4)).astype(np.float32)
    for mode in "linear", "nearest", "cubic":
        for padding in "zeros", "border", "reflection":
            for align in 0, 1:
                attrs = {"mode": mode, "padding_mode": padding, "align_corners": align}
                by = [cubic_at_border(x, grid, align)] if (mode, padding) == ("cubic", "border") else "double"
                c.add(f"axes_grid_{mode}_{padding}_{align}", "GridSample", [x, grid], attrs, version=20, by=by,
                      sizes=OPEN + [("n", "e", "f", "g", "h", None)] if align else None)
    numbers = np.arange(1, x.size + 1, dtype=np.float32).reshape(x.shape)
    at = reference("GridSample", 20, [numbers, grid], mode="nearest").astype(int)
    for kind, zero in (np.int32, 0), (object, ""), (bool, False):
        v = np.array([zero, *[f"{i}" if kind is object else i % 2 for i in range(x.size)]]).astype(kind)
        c.add(f"axes_grid_{kind.__name__}", "GridSample", [v[1:].reshape(x.shape), grid], {"mode": "nearest"}, version=20, by=[v[at]])
    for mode in "linear", "cubic":
        for kind, open_sizes in (np.complex64, None), (np.complex128, OPEN + [("n", "e", "f", "g", "h", None)]):
            real, imaginary = (reference("GridSample", 20, [v.astype(float), grid.astype(float)], mode=mode) for v in (x, x[::-1]))
            c.add(f"axes_grid_{mode}_{kind.__name__}", "GridSample", [(x + 1j * x[::-1]).astype(kind), grid], {"mode": mode}, version=20,
                  by=[(real + 1j * imaginary).astype(kind)], sizes=open_sizes)
    # without offsets, and with a mask of ones, this is Conv
    x, w, b = normal(2, 4, 3, 4, 3, 5), normal(6, 2, 2, 3, 2, 3), normal(6)
    out, _ = sizes(x.shape[2:], w.shape[2:], MIXED["strides"], MIXED["dilations"], MIXED["pads"])
    whole = rng.integers(-1, 2, (2, 2, 36, 4, *out))
    mask = rng.uniform(0, 1, (2, 2, 36, *out)).astype(np.float32)
    y = np.zeros((2, 6, *out))
    taps = list(itertools.product(*map(range, w.shape[2:])))
    for n, o, (t, k), a in itertools.product(range(2), itertools.product(*map(range, out)), enumerate(taps), range(4)):
        move = a // 2  # the group of offsets
        at = [o[i] * MIXED["strides"][i] - MIXED["pads"][i] + k[i] * MIXED["dilations"][i] + whole[(n, move, t, i, *o)] for i in range(4)]
        if all(0 <= v < s for v, s in zip(at, x.shape[2:])):
            group = a // 2  # of channels
            y[(n, slice(3 * group, 3 * group + 3), *o)] += x[(n, a, *at)] * mask[(n, move, t, *o)] * w[(slice(3 * group, 3 * group + 3), a % 2, *k)]
    y += b.reshape(-1, 1, 1, 1, 1)
    inputs = [x, w, whole.reshape(2, -1, *out).astype(np.float32), b, mask.reshape(2, -1, *out)]
    c.add("axes_deform_conv", "DeformConv", inputs, {**MIXED, "group": 2, "offset_group": 2}, version=19, by=[y.astype(np.float32)])


def add_gradients(c):
    wave = " wave = Sin(o) s = Mul(o, wave) y = ReduceSum <keepdims = 0> (s) "
    add_gradient(c, "axes_conv", {"x": (1, 2, 3, 3, 2, 4), "w": (2, 2, 2, 1, 2, 2), "b": (2,)},
                 "o = Conv <strides = [1, 2, 1, 1], pads = [1, 0, 0, 1, 0, 0, 1, 0]> (x, w, b)" + wave)
    add_gradient(c, "axes_conv_sizes", {"x": (1, 2, 5, 3, 4, 5), "w": (2, 2, 2, 1, 2, 2)}, "o = Conv <strides = [2, 1, 1, 1]> (x, w)" + wave,
                 sizes={5: "n", 4: "m"})
    add_gradient(c, "axes_conv_transpose", {"x": (1, 2, 2, 3, 2, 2), "w": (2, 2, 2, 1, 2, 2)}, "o = ConvTranspose(x, w)" + wave)
    pools = "".join(f"{o} = {op} <kernel_shape = [2, 2, 1, 2]> (x) " for o, op in (("m", "MaxPool"), ("a", "AveragePool"), ("l", "LpPool")))
    add_gradient(c, "axes_pools", {"x": (1, 2, 3, 2, 2, 4)}, pools + "o = Sum(m, a, l)" + wave)


def add_axes(c):
    for add in add_convolutions, add_integers, add_pools, add_blocks, add_samples, add_gradients:
        add(c)
