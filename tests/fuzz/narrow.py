"""Random models of types of up to eight bits, and of bfloat16: movement, conversion, quantisation."""

import numpy as np
import onnx

from operators import BF16, BOOL, F16, F32, NARROW, Case, family, ints

FLOAT8 = NARROW[:4]
ALL = NARROW + [BF16]


@family(8)
def moved(m):
    t = m.one(ALL)
    op = m.one("Reshape Transpose Flatten Squeeze Unsqueeze Expand Tile Concat Split Slice Gather GatherElements GatherND Pad Where Identity "
               "Shape Size ScatterElements ScatterND DepthToSpace SpaceToDepth Trilu Compress Equal Less Max If".split())
    x = m.array(t, m.shape(1, 4))
    rank = x.ndim
    a = m.axis(rank)
    if op == "Reshape":
        return Case(op, [x, ints(*m.rng.permutation(x.shape))], {"allowzero": 1}, consts=(1,), since=14)
    if op == "Transpose":
        return Case(op, [x], {"perm": [int(p) for p in m.rng.permutation(rank)]})
    if op == "Flatten":
        return Case(op, [x], {"axis": m.int(-rank, rank)}, since=11)
    if op == "Squeeze":
        return Case(op, [x.reshape((1,) + x.shape), ints(0)], consts=(1,), since=13)
    if op == "Unsqueeze":
        return Case(op, [x, ints(m.int(-rank - 1, rank))], consts=(1,), since=13)
    if op == "Expand":
        return Case(op, [x[:1], ints(*x.shape)], consts=(1,))
    if op == "Tile":
        return Case(op, [x, ints(*[m.int(1, 3) for _ in x.shape])], consts=(1,))
    if op == "Concat":
        parts = [m.array(t, tuple(m.int(0, 4) if i == a % rank else d for i, d in enumerate(x.shape))) for _ in range(m.int(1, 4))]
        return Case(op, parts, {"axis": a}, since=11)
    if op == "Split":
        n = x.shape[a]
        cut = m.int(0, n)
        return Case(op, [x, ints(cut, n - cut)], {"axis": a}, consts=(1,), wanted=(0, 1), since=13)
    if op == "Slice":
        return Case(op, [x, ints(m.int(-6, 6)), ints(m.int(-6, 6)), ints(a), ints(m.one([1, 2, -1, -3]))], consts=m.one([(), (1, 2, 3, 4)]), since=10)
    if op in ("Gather", "GatherElements", "ScatterElements"):
        x = m.array(t, m.shape(1, 3, 0))
        a = m.axis(x.ndim)
        n = x.shape[a]
        if op == "Gather":
            return Case(op, [x, m.array(np.int64, m.shape(0, 2), low=-n, high=n - 1)], {"axis": a})
        if op == "GatherElements":
            return Case(op, [x, m.array(np.int64, x.shape, low=-n, high=n - 1)], {"axis": a})
        at = np.argsort(m.rng.random(x.shape), a).astype(np.int64)
        return Case(op, [x, at, m.array(t, x.shape)], {"axis": a})
    if op in ("GatherND", "ScatterND"):
        x = m.array(t, m.shape(2, 3, 0))
        rows = m.rng.permutation(x.shape[0])[:, None].astype(np.int64)
        return Case(op, [x, rows], since=12, fixed=(1,)) if op[0] == "G" else Case(op, [x, rows, m.array(t, x.shape)], fixed=(1,))
    if op == "Pad":
        return Case(op, [x, ints(*[m.int(0, 2) for _ in range(2 * rank)]), m.array(t, ())], consts=(1,), since=13)
    if op == "Where":
        return Case(op, [m.array(BOOL, m.smaller(x.shape)), x, m.array(t, m.smaller(x.shape))])
    if op in ("DepthToSpace", "SpaceToDepth"):
        return Case(op, [m.array(t, (1, 4, 2, 4))], {"blocksize": 2})
    if op == "Trilu":
        return Case(op, [m.array(t, m.shape(2))], {"upper": m.int(0, 1)})
    if op == "Compress":
        x = m.array(t, m.shape(1, 3, 0))
        a = m.axis(x.ndim)
        return Case(op, [x, m.array(BOOL, (x.shape[a],))], {"axis": a}, since=11)
    if op in ("Equal", "Less", "Max"):
        return Case(op, [x, m.array(t, m.smaller(x.shape))])
    if op == "If":
        branches = {k: onnx.helper.make_graph([onnx.helper.make_node("Identity", [v], [k])], k, [], [onnx.ValueInfoProto(name=k)])
                    for k, v in (("then_branch", "x1"), ("else_branch", "x2"))}
        nodes = [onnx.helper.make_node("If", ["x0"], ["y0"], **branches)]
        return Case(op, [m.array(BOOL, ()), x, m.array(t, x.shape)], nodes=nodes, version=m.int(21, 24))
    return Case(op, [x])


@family(6)
def converted(m):
    """Conversion between two types, one of them narrow, of integers that the target type can represent."""
    a, b = m.one(ALL), m.one(ALL + [F32, F16, np.dtype("int8"), np.dtype("uint8"), np.dtype("int32"), BOOL])
    x = m.array(a, m.shape())
    if m.chance(0.5):
        a, b = b, a
        x = x.astype(np.float64).astype(a) if a == BOOL or a.kind in "iu" and a not in NARROW else x.astype(np.float32).astype(a)
    attrs = {"to": onnx.helper.np_dtype_to_tensor_dtype(b)}
    if b in FLOAT8 and m.chance(0.6):
        attrs["saturate"] = m.int(0, 1)
    return Case("Cast", [x], attrs, since=9)


@family(6)
def quantised(m):
    t = m.one(FLOAT8 + NARROW[5:6] + NARROW[8:] + [np.dtype("int16"), np.dtype("uint16"), np.dtype("int8"), np.dtype("uint8")])
    x = m.array(m.one([F32, F32, F16, BF16]), m.shape(1, 3, 0), low=-12, high=12)
    a = m.axis(x.ndim)
    attrs, shape = {}, ()
    how = m.one(["tensor", "axis", "blocks"])
    if how == "axis":
        attrs, shape = {"axis": a}, (x.shape[a],)
    elif how == "blocks":
        block = m.int(1, x.shape[a])
        attrs = {"axis": a, "block_size": block}
        shape = tuple(-(-d // block) if i == a % x.ndim else d for i, d in enumerate(x.shape))
    scale = np.exp2(m.array(np.int32, shape, low=-2, high=2)).astype(x.dtype)
    whole = t.kind in "iu" or t in NARROW[8:]
    zero = m.array(t, shape, low=-3, high=3) if whole and m.chance(0.8) else np.zeros(shape, t)
    since = 13 if how == "axis" else 21 if how == "blocks" else 10
    if m.chance(0.5):
        return Case("QuantizeLinear", [x, scale, zero], attrs, since=since, sizes=how != "blocks")
    return Case("DequantizeLinear", [m.array(t, x.shape, low=-100, high=100), scale, zero], attrs, since=since, sizes=how != "blocks")
