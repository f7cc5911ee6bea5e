"""Operators that read weights of fewer bits than float, in every type and granularity: the C has the same results, to the bit, as with
--expand-weights, numpy's within the rounding of sums, and no more bytes of constants than the model. Prints "weights: N passed, N failed"."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import decoder
import ml_dtypes
import numpy as np
import onnx
import readers
from onnx import TensorProto as T
from onnx import helper

from checks import check, counts

BUILD = pathlib.Path(os.environ["B"]).resolve()
F32 = np.float32
TYPES = {T.UINT2: ml_dtypes.uint2, T.INT2: ml_dtypes.int2, T.UINT4: ml_dtypes.uint4, T.INT4: ml_dtypes.int4, T.UINT8: np.uint8,
         T.INT8: np.int8, T.UINT16: np.uint16, T.INT16: np.int16, T.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
         T.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn, T.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz, T.FLOAT8E5M2: ml_dtypes.float8_e5m2,
         T.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz, T.FLOAT16: np.float16, T.BFLOAT16: ml_dtypes.bfloat16}
BITS = {T.UINT2: 2, T.INT2: 2, T.UINT4: 4, T.INT4: 4, T.FLOAT4E2M1: 4, T.UINT16: 16, T.INT16: 16, T.FLOAT16: 16, T.BFLOAT16: 16}
DECODER = 200_000_000     # bytes
# Without optimisation, as compiling takes most of the time, but with all shapes of tiles.
WAYS = {"generic": "-O0 -DTILE_SMALL=0", "x86-64-v3": "-O0 -DTILE_SMALL=0 -march=x86-64-v3"}


class Model:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.held, self.given, self.results, self.expected = [], [], [], [], []
        self.floats = {}        # weights by name
        self.stored = 0         # bytes that weights, scales and zero points may take

    def hold(self, x, kind=None):
        name = f"c{len(self.held)}"
        kind = kind or helper.np_dtype_to_tensor_dtype(x.dtype)
        x = np.asarray(x)
        if BITS.get(kind, 8) < 8:
            each = 8 // BITS[kind]
            codes = np.pad(x.reshape(-1).view(np.uint8) & (1 << BITS[kind]) - 1, (0, -x.size % each)).reshape(-1, each)
            raw = sum(codes[:, i] << i * BITS[kind] for i in range(each)).astype(np.uint8).tobytes()
        else:
            raw = x.tobytes()
        self.held.append(helper.make_tensor(name, kind, x.shape, raw, raw=True))
        return name

    def node(self, op, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def give(self, shape):
        x = self.rng.standard_normal(shape).astype(F32)
        self.given.append((f"x{len(self.given)}", x))
        return self.given[-1]

    def result(self, name, y):
        self.results.append(name)
        self.expected.append(np.asarray(y, F32))

    def codes(self, kind, shape):
        t = TYPES[kind]
        if kind in (T.FLOAT16, T.BFLOAT16):
            return self.rng.standard_normal(shape).astype(t)
        if np.dtype(t).kind in "iu" or "int" in np.dtype(t).name:
            low, high = int(ml_dtypes.iinfo(t).min), int(ml_dtypes.iinfo(t).max)
            return self.rng.integers(low, high + 1, shape).astype(t)
        return self.rng.integers(-4, 5, shape).astype(F32).astype(t)

    def weights(self, kind, shape, axis=None, block=0, zeros=False):
        """(name, value) of weights: cast if of a float type, else dequantised with one scale, a scale for each index of an axis, or for each
        block of it."""
        w = self.codes(kind, shape)
        self.stored += w.size * BITS.get(kind, 8) / 8
        if kind in (T.FLOAT16, T.BFLOAT16):
            return self.node("Cast", [self.hold(w)], to=T.FLOAT), w.astype(F32)
        many = () if axis is None else tuple(-(-s // block) if i == axis else s for i, s in enumerate(shape)) if block else (shape[axis],)
        scale = self.rng.uniform(.01, .02, many).astype(F32)
        inputs = [self.hold(w, kind), self.hold(scale)]
        whole = w.astype(F32)
        wide = scale
        self.stored += scale.nbytes
        shift = F32(0)
        if zeros:
            z = self.codes(kind, many)
            inputs.append(self.hold(z, kind))
            self.stored += z.size * BITS.get(kind, 8) / 8
            shift = z.astype(F32)
        if axis is not None:
            wide, shift = (spread(v, shape, axis, block) for v in (wide, shift))
        name = self.node("DequantizeLinear", inputs, **({} if axis is None else {"axis": axis}), **({"block_size": block} if block else {}))
        return name, (whole - shift) * wide

    def save(self, path):
        inputs = [helper.make_tensor_value_info(n, T.FLOAT, x.shape) for n, x in self.given]
        outputs = [helper.make_tensor_value_info(n, T.FLOAT, y.shape if y.size else None) for n, y in zip(self.results, self.expected)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.held)
        opsets = [helper.make_opsetid("", 25), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=13), path)


def spread(v, shape, axis, block):
    if not np.ndim(v):
        return v
    if block:
        return np.repeat(v, block, axis)[tuple(slice(0, s) for s in shape)]
    return v.reshape([-1 if i == axis else 1 for i in range(len(shape))])


# ---- models: one of each reading operator, with an output for each case

def granularities(k, n):
    yield {}
    yield {"zeros": True}
    yield {"axis": 1, "zeros": True}
    yield {"axis": 0, "block": 16, "zeros": True}
    if k % 5 == 0:
        yield {"axis": 0, "block": 5 * 13}


def products():
    m = Model(1)
    for kind in TYPES:
        for k, n, rows in (256, 80, 1), (512, 48, 7), (515, 16, 2):
            for how in granularities(k, n):
                if kind in (T.FLOAT16, T.BFLOAT16) and how:
                    continue
                if "float" in np.dtype(TYPES[kind]).name:
                    how = {**how, "zeros": False}
                w, value = m.weights(kind, (k, n), **how)
                name, x = m.give((rows, k))
                y = x.astype(np.float64) @ value
                if rows > 1:
                    bias = m.rng.standard_normal(n).astype(F32)
                    out = m.node("Relu", [m.node("Gemm", [name, w, m.hold(bias)])])
                    y = np.maximum(y + bias, 0)
                    m.stored += bias.nbytes
                else:
                    out = m.node("MatMul", [name, w])
                m.result(out, y)
    return m


def transposed():
    m = Model(2)
    for kind in T.INT8, T.UINT4, T.FLOAT16:
        for k, n, rows in (128, 32, 3), (2000, 48, 1), (2000, 32, 9), (129, 16, 40):
            w, value = m.weights(kind, (n, k), **({} if kind == T.FLOAT16 else {"axis": 0}))
            name, x = m.give((rows, k))
            m.result(m.node("Gemm", [name, w], transB=1), x.astype(np.float64) @ value.T)
            m.result(m.node("MatMul", [name, m.node("Transpose", [w], perm=[1, 0])]), x.astype(np.float64) @ value.T)
    return m


def nbits():
    m = Model(3)
    for bits in 2, 4, 8:
        for k, n, block, rows, zeros in (128, 64, 32, 1, 0), (96, 48, 16, 5, 1), (100, 32, 32, 1, 2), (2048, 32, 64, 3, 1):
            blocks = -(-k // block)
            codes = m.rng.integers(0, 1 << bits, (n, blocks * block)).astype(np.uint8)
            each = 8 // bits
            packed = sum(codes.reshape(n, -1, each)[..., i] << i * bits for i in range(each)).astype(np.uint8)
            scale = m.rng.uniform(.01, .02, (n, blocks)).astype(F32)
            inputs = [m.hold(packed.reshape(n, blocks, -1)), m.hold(scale)]
            zero = np.full((n, blocks), 1 << bits - 1, F32)
            m.stored += packed.nbytes + scale.nbytes
            if zeros == 1:
                z = np.pad(m.rng.integers(0, 1 << bits, (n, blocks)).astype(np.uint8), ((0, 0), (0, -blocks % each)))
                flat = sum(z.reshape(n, -1, each)[..., i] << i * bits for i in range(each)).astype(np.uint8)
                inputs.append(m.hold(flat.reshape(-1)))
                m.stored += flat.nbytes
                zero = z[:, :blocks].astype(F32)
            elif zeros:
                zero = m.rng.uniform(0, 8, (n, blocks)).astype(F32)
                inputs.append(m.hold(zero))
                m.stored += zero.nbytes
            value = (codes - np.repeat(zero, block, 1)) * np.repeat(scale, block, 1)
            name, x = m.give((rows, k))
            out = m.node("MatMulNBits", [name, *inputs], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block)
            m.result(out, x.astype(np.float64) @ value[:, :k].T)
    return m


def convolutions():
    m = Model(4)
    for kind in TYPES:
        for shape, group, size in ((32, 16, 3, 3), 1, (9, 9)), ((16, 64, 1), 1, (7,)), ((32, 8, 3, 3), 2, (6, 5)):
            how = {} if "float" in np.dtype(TYPES[kind]).name else {"axis": 0, "zeros": True}
            w, value = m.weights(kind, shape, **how)
            name, x = m.give((1, shape[1] * group, *size))
            out = m.node("Conv", [name, w], group=group, auto_pad="SAME_UPPER")
            m.result(out, convolved(x, value, group))
    return m


def tables():
    m = Model(5)
    for kind in TYPES:
        for how in {}, {"zeros": True}, {"axis": 0, "zeros": True}, {"axis": 1}, {"axis": 1, "block": 16, "zeros": True}, \
                {"axis": 1, "block": 40}, {"axis": 0, "block": 24, "zeros": True}:
            if kind in (T.FLOAT16, T.BFLOAT16) and how:
                continue
            if "float" in np.dtype(TYPES[kind]).name:
                how = {**how, "zeros": False}
            w, value = m.weights(kind, (64, 96), **how)
            for shape, axis in ((3, 2), 0), ((5,), 1):
                if axis == 1 and "block" in how:
                    continue
                name, x = m.give(shape)
                x[...] = m.rng.integers(0, value.shape[axis], shape)
                m.result(m.node("Gather", [w, m.node("Cast", [name], to=T.INT64)], axis=axis), np.take(value, x.astype(int), axis))
    return m


def factors():
    """Factors of a kernel's result become a part of the scales: the weights stay codes."""
    m = Model(6)
    for kind, how in (T.INT8, {"axis": 1}), (T.UINT4, {"axis": 0, "block": 16, "zeros": True}), (T.FLOAT8E4M3FN, {}):
        w, value = m.weights(kind, (64, 80), **how)
        name, x = m.give((3, 64))
        factor = m.rng.uniform(.5, 2, 80).astype(F32)
        m.result(m.node("Mul", [m.node("MatMul", [name, w]), m.hold(factor)]), x.astype(np.float64) @ value * factor)
        m.result(m.node("Gemm", [name, w], alpha=.3), x.astype(np.float64) @ value * .3)
        m.stored *= 2
        m.stored += factor.nbytes
    w, value = m.weights(T.INT8, (48, 16, 3, 3))
    name, x = m.give((1, 16, 5, 5))
    factor = m.rng.uniform(.5, 2, (48, 1, 1)).astype(F32)
    out = m.node("Mul", [m.node("Conv", [name, w], pads=[1, 1, 1, 1]), m.hold(factor)])
    m.result(out, convolved(x, value, 1) * factor)
    m.stored += factor.nbytes
    return m


def moves():
    """Weights that are concatenated, split, sliced, gathered and transposed before they are read."""
    m = Model(10)
    for kind, how in (T.INT8, {}), (T.INT8, {"axis": 1, "zeros": True}), (T.UINT4, {"zeros": True}), (T.UINT4, {"axis": 0, "block": 16}), (T.FLOAT16, {}), \
            (T.FLOAT8E4M3FN, {}):
        parts = [m.weights(kind, (64, n), **how) for n in (32, 48, 16)]
        whole = np.concatenate([v for _, v in parts], 1)
        name, x = m.give((3, 64))
        m.result(m.node("MatMul", [name, m.node("Concat", [w for w, _ in parts], axis=1)]), x.astype(np.float64) @ whole)
        below = [m.weights(kind, (32, 64), **how), m.weights(kind, (32, 64), **{**how, "zeros": False})]
        both = m.node("Transpose", [m.node("Concat", [w for w, _ in below], axis=0)], perm=[1, 0])
        m.result(m.node("MatMul", [name, both]), x.astype(np.float64) @ np.concatenate([v for _, v in below]).T)
        w, v = m.weights(kind, (64, 96), **how)
        m.nodes.append(helper.make_node("Split", [w], [f"left{w}", f"right{w}"], axis=1, num_outputs=2))
        for side, part in (f"left{w}", v[:, :48]), (f"right{w}", v[:, 48:]):
            m.result(m.node("MatMul", [name, side]), x.astype(np.float64) @ part)
        w, v = m.weights(kind, (64, 32), **how)
        name, x = m.give((3, 32))
        a = m.node("Slice", [w, *(m.hold(readers.ints(i)) for i in (0, 32, 0))])
        b = m.node("Slice", [w, *(m.hold(readers.ints(i)) for i in (32, 64, 0))])
        m.result(m.node("Add", [m.node("MatMul", [name, a]), m.node("MatMul", [name, b])]), x.astype(np.float64) @ (v[:32] + v[32:]))
    w, v = m.weights(T.INT8, (1, 64, 48))
    name, x = m.give((3, 64))
    m.result(m.node("MatMul", [name, m.node("Gather", [w, m.hold(np.array(0, np.int64))])]), x.astype(np.float64) @ v[0])
    return m


def zero_points():
    """Of float8; and of integers, at which subtraction in int32 wraps, or has results that floats round."""
    m = Model(8)
    for how in {"axis": 1, "zeros": True}, {"axis": 0, "block": 8, "zeros": True}:
        w, value = m.weights(T.FLOAT8E5M2FNUZ, (64, 48), **how)
        name, x = m.give((64, 1))
        m.result(m.node("Add", [name, w]), x + value)
    for zero in 5, (1 << 24) + 1, -(1 << 31):
        codes = m.rng.integers(-128, 128, (64, 48)).astype(np.int8)
        whole = m.node("Sub", [m.node("Cast", [m.hold(codes)], to=T.INT32), m.hold(np.array(zero, np.int32))])
        w = m.node("Mul", [m.node("Cast", [whole], to=T.FLOAT), m.hold(np.array(.01, F32))])
        value = (codes.astype(np.int32) - np.int32(zero)).astype(F32) * F32(.01)
        name, x = m.give((3, 64))
        m.result(m.node("MatMul", [name, w]), x.astype(np.float64) @ value)
        m.stored += codes.nbytes if zero == 5 else value.nbytes
    return m


def convolved(x, w, group):
    """A convolution with stride 1 and zero padding, in double."""
    k = w.shape[2:]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *(((s - 1) // 2, s // 2) for s in k)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, k, tuple(range(2, 2 + len(k))))
    parts = zip(np.split(windows, group, 1), np.split(w, group, 0))
    axes = tuple(range(-len(k), 0))
    each = [np.moveaxis(np.tensordot(a, b, ((1, *axes), (1, *axes))), -1, 1) for a, b in parts]
    return np.concatenate(each, 1)


# ---- with and without --expand-weights

MAIN = """
#include <stdio.h>
#include <string.h>
static float in[%d], out[%d];
int main(void)
{
    if (fread(in, 4, %d, stdin) != %d || m_run(%s))
        return 1;
    fwrite(out, 4, %d, stdout);
    return 0;
}
"""


def program(folder, m, target, flags, options):
    p = subprocess.run([BUILD / "onnxcc", "model.onnx", "-o", "m.c", "--prefix", "m", "--single", "--weights=inline", "--target", target,
                        "--report", *options], cwd=folder, capture_output=True, text=True)
    if not check(p.returncode == 0, f"{target} {options}: {p.stderr}"):
        return None, 0
    sizes, at, args = ([x.size for _, x in m.given], [y.size for y in m.expected]), [0, 0], []
    for which, name in enumerate(("in", "out")):
        for n in sizes[which]:
            args.append(f"{name} + {at[which]}")
            at[which] += n
    (folder / "m.c").write_text((folder / "m.c").read_text() + MAIN % (*at, at[0], at[0], ", ".join(args), at[1]))
    subprocess.run(["gcc", "-w", *flags.split(), "m.c", "-o", "m", "-lm"], cwd=folder, check=True)
    x = np.concatenate([x.reshape(-1) for _, x in m.given])
    y = subprocess.run(["./m"], cwd=folder, input=x.tobytes(), capture_output=True, check=True).stdout
    return np.frombuffer(y, F32), int(re.search(r"(\d+) B of weights", p.stdout + p.stderr)[1])


def compare(name, m, ways=tuple(WAYS)):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        m.save(folder / "model.onnx")
        for target in ways:
            flags = WAYS[target]
            stored, bytes_stored = program(folder, m, target, flags, [])
            expanded, bytes_expanded = program(folder, m, target, flags, ["--expand-weights"])
            if stored is None or expanded is None:
                continue
            check(bytes_stored <= 1.02 * m.stored, f"{name}, {target}: {bytes_stored} bytes of {m.stored:.0f}, expanded {bytes_expanded}")
            at = 0
            for out, y in zip(m.results, m.expected):
                a, b = stored[at:at + y.size], expanded[at:at + y.size]
                at += y.size
                check(a.tobytes() == b.tobytes(), f"{name}, {target}, {out}: other bits than expanded")
                check(np.allclose(a, y.reshape(-1), rtol=1e-5, atol=2e-5 * np.abs(y).max()), f"{name}, {target}, {out}: not numpy's")


def whole_decoder():
    """135 million parameters: 106 million in products, in 4 bits; the table of words in floats."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        decoder.main(folder / "decoder.onnx")
        p = subprocess.run([BUILD / "onnxcc", folder / "decoder.onnx", "-o", folder / "decoder.c", "--report"], capture_output=True, text=True)
        flash, size = int(re.search(r"(\d+) B of weights|$", p.stdout)[1] or 1 << 40), (folder / "decoder.onnx").stat().st_size
        check(flash <= min(DECODER, 1.02 * size), f"decoder: {flash} bytes of weights, the model has {size}\n{p.stderr}")


def each_call(turn):
    """Every call of readers.CALLS in every form: the bytes; then all calls of a form in one model: the results, for one of four forms, others
    for every commit."""
    for i, (form, kind, how) in enumerate(readers.USUAL):
        every = Model(7)
        for name, call in readers.CALLS.items():
            m = Model(7)
            readers.add(m, call, kind, how)
            with tempfile.TemporaryDirectory() as folder:
                m.save(f"{folder}/m.onnx")
                p = subprocess.run([BUILD / "onnxcc", f"{folder}/m.onnx", "-o", f"{folder}/m.c", "--report"], capture_output=True, text=True)
            size = int(re.search(r"(\d+) B of weights|$", p.stdout)[1] or 1 << 40)
            check(size <= readers.most_bytes(m, call, how), f"{name}, {form}: {size} bytes of {m.stored:.0f}\n{p.stderr}")
            readers.add(every, call, kind, how)
        if i % 4 == turn % 4:
            readers.solve(every)
            compare(form, every, [list(WAYS)[(i + turn) // 4 % len(WAYS)]])


def arenas():
    """Convolutions expand a part of their weights at a time."""
    for op, shape, more in ("Conv", (64, 32, 3, 3), {}), ("ConvTranspose", (64, 32, 4, 4), {"strides": [2, 2]}), ("ConvTranspose", (64, 32, 3, 3), {}):
        for kind, how in (T.INT8, {"axis": 0 if op == "Conv" else 1, "zeros": True}), (T.INT4, {}), (T.FLOAT16, {}):
            m = Model(9)
            readers.add(m, (op, [("x", (1, shape[op == "Conv"], 8, 8)), ("w", shape)], {"pads": [1, 1, 1, 1], **more}), kind, how)
            with tempfile.TemporaryDirectory() as folder:
                m.save(f"{folder}/m.onnx")
                for target, most in ("cortex-m4", 2 << 10), ("plain", 2 << 10), ("generic", 8 << 10), ("x86-64-v3", 64 << 10), ("x86-64-v4", 64 << 10):
                    sizes = []
                    for more_options in [], ["--expand-weights"]:
                        p = subprocess.run([BUILD / "onnxcc", f"{folder}/m.onnx", "-o", f"{folder}/m.c", "--report", "--target", target, *more_options],
                                           capture_output=True, text=True)
                        sizes.append(int(re.search(r" arena=(\d+)|$", p.stdout)[1] or 1 << 40))
                    check(sizes[0] <= sizes[1] + most + 256, f"{op}, {kind}, {target}: arena of {sizes[0]} bytes, with --expand-weights {sizes[1]}")


def many_scales():
    """A scale for every input and 16 outputs: packing them takes no minutes."""
    m = Model(11)
    readers.add(m, ("MatMul", [("x", (1, 8192)), ("w", (8192, 512))], {}), T.INT8, {"axis": 1, "block": 16})
    with tempfile.TemporaryDirectory() as folder:
        m.save(f"{folder}/m.onnx")
        p = subprocess.run(["timeout", "60", BUILD / "onnxcc", f"{folder}/m.onnx", "-o", f"{folder}/m.c", "--report"], capture_output=True, text=True)
    size = int(re.search(r"(\d+) B of weights|$", p.stdout)[1] or 1 << 40)
    check(size <= 1.02 * m.stored, f"a scale for every input: status {p.returncode}, {size} bytes of {m.stored:.0f}")


def main(turn):
    whole_decoder()
    many_scales()
    arenas()
    each_call(turn)
    for make in products, transposed, nbits, convolutions, tables, factors, moves, zero_points:
        compare(make.__name__, make())
    print(f"weights: {counts[True]} passed, {counts[False]} failed")
    raise SystemExit(bool(counts[False]))


main(int(sys.argv[1]))
