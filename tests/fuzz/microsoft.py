"""Random models of the operators of com.microsoft. Scales are powers of two, so that every sum is exact; zero points are even, so that
halves round to the same, whether the zero point is added before or after rounding."""

import numpy as np
from onnx import helper

from operators import BOOL, F32, Case, family

MICROSOFT = "com.microsoft"


def bytes_of(m):
    """(a type, functions that make its codes, a scale and a zero point)"""
    t = np.dtype(m.one(["int8", "uint8"]))
    middle = 0 if t == np.int8 else 128
    return t, lambda shape: m.array(t, shape, low=-128, high=255), lambda low=-6, high=-3: [
        np.exp2(m.array(np.int32, (), low=low, high=high)).astype(F32), np.array(middle + 2 * m.int(-10, 10), t)]


def case(m, op, inputs, attrs=None, data=(0,), **more):
    """A case whose inputs are constant except `data`, as quantisers write it."""
    consts = tuple(i for i in range(len(inputs)) if i not in data)
    return Case(op, inputs, attrs or {}, consts=consts, version=1, domain=MICROSOFT, **more)


@family(3)
def of_codes(m):
    op = m.one("Add Mul Where Concat Sigmoid LeakyRelu Softmax GlobalAveragePool AveragePool ReduceMean".split())
    t, codes, how = bytes_of(m)
    shape, name = m.shape(1, 4, 0), "QLinear" + op
    if op in ("Add", "Mul"):
        a, b = m.permuted(shape, m.smaller(shape))
        return case(m, name, [codes(a), *how(), codes(b), *how(), *how(-4, -2)], data=m.one([(0, 3), (0,)]))
    if op == "Where":
        return case(m, name, [m.array(BOOL, m.smaller(shape)), codes(shape), *how(), codes(m.smaller(shape)), *how(), *how()], data=(0, 1, 4))
    if op == "Concat":
        a = m.int(0, len(shape) - 1)
        parts = [codes(tuple(m.int(1, 4) if i == a else d for i, d in enumerate(shape))) for _ in range(m.int(1, 3))]
        inputs = [*how(), *(v for part in parts for v in (part, *how()))]
        return case(m, name, inputs, {"axis": a}, data=range(2, len(inputs), 3))
    if op == "Softmax":
        attrs = {"axis": m.axis(len(shape)), "opset": m.one([11, 13])}
        y = [np.array(1 / 128, F32), np.array(np.iinfo(t).min, t)]  # with 1 / 256 ONNX Runtime quantises 1 to 0
        return case(m, name, [codes(shape), *how(), *y], attrs)
    if op == "ReduceMean":
        attrs, x = {"axes": sorted({m.axis(len(shape)) % len(shape)}), "keepdims": m.int(0, 1)}, [codes(shape), *how(), *how()]
        nodes = [helper.make_node("DequantizeLinear", ["x0", "x1", "x2"], ["r"]), helper.make_node("ReduceMean", ["r"], ["mean"], **attrs),
                 helper.make_node("QuantizeLinear", ["mean", "x3", "x4"], ["y0"])]
        return case(m, name, x, attrs, same=Case("ReduceMean", x, nodes=nodes, version=13))
    attrs = {"alpha": 0.25} if op == "LeakyRelu" else {}
    if "Pool" in op:
        last = m.int(0, 1)
        image = m.int(2, 5), m.int(2, 5)
        shape = (m.int(1, 2), *image, m.int(1, 4)) if last else (m.int(1, 2), m.int(1, 4), *image)
        attrs = {"channels_last": last}
        if op == "AveragePool":
            attrs.update(kernel_shape=[m.int(1, 2), 2], strides=[m.int(1, 2), 1], pads=[0, m.int(0, 1), 0, 0], count_include_pad=m.int(0, 1))
    return case(m, name, [codes(shape), *how(), *how()], attrs)


@family(1)
def linear(m):
    """With types that ONNX's older versions did not have."""
    t = np.dtype(m.one(["int8", "uint8", "int16", "uint16"]))
    x, a = m.array(F32, m.shape(1, 3, 0), low=-12, high=12), 0
    a = m.axis(x.ndim)
    shape = m.one([(), (x.shape[a],)])
    scale, zero = np.exp2(m.array(np.int32, shape, low=-4, high=1)).astype(F32), m.array(t, shape, low=0, high=9)
    if m.chance(0.5):
        return case(m, "QuantizeLinear", [x, scale, zero], {"axis": a})
    return case(m, "DequantizeLinear", [m.array(t, x.shape, low=-100, high=100), scale, zero], {"axis": a})


@family(1)
def gemm(m):
    _, codes, how = bytes_of(m)
    n, k, o, turned = m.int(1, 5), m.int(1, 9), m.int(1, 5), m.int(0, 1)
    c, y = m.array(np.int32, (o,), low=-500, high=500) if m.chance(0.6) else None, how(-4, -1) if m.chance(0.6) else [None, None]
    inputs = [codes((n, k)), *how(), codes((o, k) if turned else (k, o)), *how(), c, *y]
    return case(m, "QGemm", inputs, {"transB": turned, "alpha": m.one([1.0, 0.5])})


@family(2)
def packed_weights(m):
    k, n, bits, block = m.int(1, 40), m.int(1, 5), m.one([4, 4, 8]), m.one([16, 32])
    blocks = -(-k // block)
    x = m.array(F32, (*m.shape(1, 2, 0), k))
    w = m.array(np.uint8, (n, blocks, block * bits // 8), low=0, high=255)
    scale = np.exp2(m.array(np.int32, (n * blocks,), low=-6, high=-3)).astype(F32)
    zero = m.array(np.uint8, (n * -(-blocks * bits // 8),), low=0, high=255) if m.chance(0.5) else None
    bias = [None, m.array(F32, (n,))] if m.chance(0.3) else []
    attrs = {"K": k, "N": n, "bits": bits, "block_size": block}
    return case(m, "MatMulNBits", [x, w, scale, zero, *bias], attrs, rtol=1e-3, sizes=False)
