"""Products of matrices and convolutions with every number of outputs, rows, inputs and groups from 1 to 70, so that tiles, panels and
tails are cut in every way; recurrent layers and attention of all sizes, too. models() -> {name: Model}; a model has some hundred
nodes, each with outputs of its own. All values are small integers, also in floats, so that every sum is exact: the results of products
have the same bits on every machine. Those of recurrent layers and attention are ONNX Runtime's and have a tolerance."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

LARGEST = 70
EVERY = range(1, LARGEST + 1)
F32, I8, U8, I32 = np.float32, np.int8, np.uint8, np.int32


class Model:
    """model: a ModelProto; inputs, outputs: lists of arrays, in its order; tolerance of each output."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.held, self.given, self.results = [], [], [], []
        self.inputs, self.outputs, self.tolerance = [], [], []
        self.without = None     # texts that the emitted C must not contain

    def numbers(self, *shape, kind=F32):
        """Random integers, few of them zero; of 8 bits all values."""
        low, high = {F32: (-4, 5), I8: (-128, 128), U8: (0, 256)}[kind]
        return self.rng.integers(low, high, shape).astype(kind)

    def give(self, x):
        name = f"x{len(self.given)}"
        self.given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
        self.inputs.append(x)
        return name

    def hold(self, x, kind=None):
        x = np.asarray(x, kind)
        name = f"c{len(self.held)}"
        self.held.append(numpy_helper.from_array(x, name))
        return name

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def result(self, name, y, tolerance=0):
        """Makes the value `name` an output of the model, which must be y."""
        self.results.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(y.dtype), y.shape))
        self.outputs.append(y)
        self.tolerance.append(tolerance)

    @property
    def model(self):
        graph = helper.make_graph(self.nodes, "g", self.given, self.results, self.held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def every(seed, varied):
    """{what varies: a model}; varied: {what varies: f}, where f(model, i) adds nodes whose varied size is i. Models of several hundred
    nodes take the C compiler much longer than their parts."""
    made = {}
    for name, add in varied.items():
        m = made[name] = Model(seed)
        for i in EVERY:
            add(m, i)
    return made


# ---- expected results

def convolved(x, w, group=1, stride=1, pad=0):
    """The convolution of x (n, group * cin, h, w) and w (group * cout, cin, kh, kw), in integers."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    windows = windows.reshape(len(x), group, -1, *windows.shape[2:])
    each = w.astype(np.int64).reshape(group, -1, *w.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", windows, each)
    return y.reshape(len(x), -1, *y.shape[3:])


def wrapped(sums):
    """Integers modulo 2^32, as int32 has them."""
    return (sums + 2**31) % 2**32 - 2**31


def requantised(sums, shift, zero, kind):
    """sums / 2^shift, to the nearest, ties to even."""
    info = np.iinfo(kind)
    return np.clip(np.rint(sums / 2.0**shift) + zero, info.min, info.max).astype(kind)


# ---- convolutions

SHAPES = (1, 1, 0), (3, 1, 1), (2, 2, 0), (3, 2, 1), (2, 1, 0)    # kernel, stride, padding


def float_conv(m, i, *, n=1, group=1, cin=3, cout=18, size=(4, 5)):
    """Adds a Conv, sometimes with a bias, or followed by a Relu or an Add."""
    kernel, stride, pad = SHAPES[i % len(SHAPES)]
    size = [max(s, kernel) for s in size]
    x, w, b = m.numbers(n, group * cin, *size), m.numbers(group * cout, cin, kernel, kernel), m.numbers(group * cout)
    y = convolved(x, w, group, stride, pad)
    bias = i % 2 == 0
    at = m.node("Conv", [m.give(x), m.hold(w)] + [m.hold(b)] * bias, group=group, strides=[stride] * 2, pads=[pad] * 4)
    y += (b.astype(np.int64) * bias)[:, None, None]
    if i % 3 == 1:
        r = m.numbers(*y.shape)
        at, y = m.node("Add", [at, m.give(r)]), y + r.astype(np.int64)
    if i % 4 > 1:
        at, y = m.node("Relu", [at]), np.maximum(y, 0)
    m.result(at, y.astype(F32))


def float_transpose(m, i, *, cin=3, cout=18, size=(3, 4)):
    kernel, stride = ((2, 2), (3, 2), (3, 1), (2, 1), (1, 1))[i % 5]
    x, w = m.numbers(1, cin, *size), m.numbers(cin, cout, kernel, kernel)
    wide = np.zeros((1, cin, *((s - 1) * stride + 1 for s in size)), F32)
    wide[:, :, ::stride, ::stride] = x
    y = convolved(wide, w.swapaxes(0, 1)[:, :, ::-1, ::-1], pad=kernel - 1)
    m.result(m.node("ConvTranspose", [m.give(x), m.hold(w)], strides=[stride] * 2), y.astype(F32))


def byte_conv(m, i, *, n=1, group=1, cin=3, cout=18, size=(4, 5), biases=None):
    """QLinearConv of all four pairs of types, with zero points of every kind; plain sums (ConvInteger). biases: some of these."""
    kernel, stride, pad = SHAPES[i % len(SHAPES)]
    size = [max(s, kernel) for s in size]
    tx, tw = ((U8, I8), (I8, I8), (U8, U8), (U8, I8))[i % 4]
    x, w = m.numbers(n, group * cin, *size, kind=tx), m.numbers(group * cout, cin, kernel, kernel, kind=tw)
    zx = int(m.rng.integers(0, 128))
    zw = 0 if tw == I8 and i % 4 != 3 else 128 if tw == U8 and i % 3 else int(m.rng.integers(0, 100))
    sums = convolved(x.astype(int) - zx, w.astype(int) - zw, group, stride, pad)
    same = dict(group=group, strides=[stride] * 2, pads=[pad] * 4)
    if i % 5 == 4:
        m.result(m.node("ConvInteger", [m.give(x), m.hold(w), m.hold(zx, tx), m.hold(zw, tw)], **same), sums.astype(I32))
        return
    b = m.rng.choice(biases or range(-9999, 9999), group * cout).astype(I32)
    shift, zy = 6 + int(np.log2(cin * kernel * kernel)), int(m.rng.integers(0, 99))
    scales = [m.hold(2.0**-shift, F32), m.hold(1, F32)]
    at = m.node("QLinearConv", [m.give(x), scales[0], m.hold(zx, tx), m.hold(w), scales[1], m.hold(zw, tw), scales[1],
                                m.hold(zy, tx), m.hold(b)], **same)
    m.result(at, requantised(wrapped(sums + b[:, None, None]), shift, zy, tx))


def few(i):
    """Inputs and outputs of a group."""
    return ((1, 1), (1, 2), (2, 1), (3, 3), (1, 3), (2, 17), (4, 1), (3, 5), (2, 4), (17, 2), (4, 2), (2, 2))[i % 12]


def convolutions(one):
    varied = {"outputs": lambda m, i: one(m, i, cout=i),
              "inputs": lambda m, i: one(m, i, cin=i, cout=21),
              "columns": lambda m, i: one(m, i, size=(2, i))}
    if one is not float_transpose:
        varied["groups"] = lambda m, i: one(m, i, group=i if i % 12 < 8 else i % 7 + 1, cin=few(i)[0], cout=few(i)[1])
        varied["channels"] = lambda m, i: one(m, i // 2, group=i, cin=1, cout=1, size=(3, 9))
    return every(1, varied)


# ---- products

def float_product(m, i, fixed, *, rows=3, depth=7, columns=18):
    """Adds a MatMul, or a Gemm of transposed matrices, whose right operand may be constant."""
    a, b, c = m.numbers(rows, depth), m.numbers(depth, columns), m.numbers(columns)
    y = a.astype(np.int64) @ b.astype(np.int64)
    right = m.hold if fixed else m.give
    if i % 3 == 0:
        batch = m.numbers(2, rows, depth)
        y = batch.astype(np.int64) @ b.astype(np.int64)
        m.result(m.node("MatMul", [m.give(batch), right(b)]), y.astype(F32))
    elif i % 3 == 1:
        m.result(m.node("Relu", [m.node("Gemm", [m.give(a), right(b), right(c)])]), np.maximum(y + c.astype(np.int64), 0).astype(F32))
    else:
        ta, tb = i % 2, i // 2 % 2
        operands = [m.give(a.T.copy() if ta else a), right(b.T.copy() if tb else b)]
        m.result(m.node("Gemm", operands, transA=ta, transB=tb), y.astype(F32))


def byte_product(m, i, fixed, *, rows=3, depth=7, columns=18):
    """Adds a QLinearMatMul or MatMulInteger."""
    ta, tb = ((U8, I8), (I8, I8), (U8, U8), (I8, U8))[i % 4]
    a, b = m.numbers(rows, depth, kind=ta), m.numbers(depth, columns, kind=tb)
    za, zb, zy = map(int, m.rng.integers(0, 99, 3))
    sums = (a.astype(int) - za) @ (b.astype(int) - zb)
    right = m.hold(b) if fixed else m.give(b)
    if i % 2:
        m.result(m.node("MatMulInteger", [m.give(a), right, m.hold(za, ta), m.hold(zb, tb)]), sums.astype(I32))
        return
    shift = 6 + int(np.log2(depth))
    at = m.node("QLinearMatMul", [m.give(a), m.hold(2.0**-shift, F32), m.hold(za, ta), right, m.hold(1, F32), m.hold(zb, tb),
                                  m.hold(1, F32), m.hold(zy, ta)])
    m.result(at, requantised(sums, shift, zy, ta))


def long_product(m, ta, tb):
    """A MatMulInteger whose sums have more than 32 bits."""
    a, b = (np.full(shape, 255 if t == U8 else -128, t) for t, shape in ((ta, (2, 140000)), (tb, (140000, 3))))
    m.result(m.node("MatMulInteger", [m.give(a), m.hold(b)]), wrapped(a.astype(np.int64) @ b.astype(np.int64)).astype(I32))


def wraps():
    """Sums of more than 32 bits, for every kind of kernel."""
    m = Model(11)
    for i in range(24):
        for more in {"cout": 5 + i % 4}, {"group": i + 5, "cin": 1, "cout": 1, "size": (3, 9)}, {"group": 3, "cin": few(i)[0], "cout": few(i)[1]}:
            byte_conv(m, i, biases=[-2**31, 2**31 - 1], **more)
    for ta in U8, I8:
        for tb in U8, I8:
            long_product(m, ta, tb)
    return m


def linear_layer(m, i):
    """Adds a Gemm between DequantizeLinear and QuantizeLinear, in all forms that exporters write; its results are a QLinearMatMul's."""
    each, transposed, biased, limited = (i >> k & 1 for k in range(4))
    rows, depth, columns = 1 + i % 3, 7 + i, 17 + i % 5
    x, w = m.numbers(rows, depth, kind=I8), m.numbers(depth, columns, kind=I8)
    b = m.rng.integers(-999, 999, columns).astype(I32) * biased
    zx, zy, shift = -5, 3, 9
    scale = 2.0 ** -m.rng.integers(shift, shift + 2, columns if each else ())
    sums = (x.astype(int) - zx) @ w.astype(int) + b
    real = sums * scale
    y = np.clip(np.rint(np.maximum(real, 0) if limited else real) + zy, -128, 127) - zy
    one = m.hold(1, F32)

    def pair(at, zero):
        q = m.node("QuantizeLinear", [at, one, m.hold(zero, I8)])
        return m.node("DequantizeLinear", [q, one, m.hold(zero, I8)])

    zeros = np.zeros(scale.shape, I8)
    inputs = [pair(m.give((x - F32(zx)).astype(F32)), zx),
              m.node("DequantizeLinear", [m.hold(w.T.copy() if transposed else w), m.hold(scale, F32), m.hold(zeros)], axis=1 - transposed)]
    if biased:
        inputs.append(m.node("DequantizeLinear", [m.hold(b), m.hold(scale, F32), m.hold(zeros, I32)], axis=0))
    at = m.node("Gemm", inputs, transB=transposed)
    m.result(pair(m.node("Relu", [at]) if limited else at, zy), y.astype(F32))


def linear_layers():
    m = Model(10)
    m.without = r"\b(dense|matmul|matmul_plain)_f32"
    for i in range(48):
        linear_layer(m, i)
    return m


def products(one):
    return every(6, {f"{axis}_{right}": lambda m, i, axis=axis, right=right: one(m, i, right == "held", **{axis: i})
                     for axis in ("rows", "depth", "columns") for right in ("held", "given")})


# ---- inexact operators

def runtime(m):
    """The outputs of ONNX Runtime."""
    s = onnxruntime.SessionOptions()
    s.log_severity_level = 3
    session = onnxruntime.InferenceSession(m.model.SerializeToString(), s, providers=["CPUExecutionProvider"])
    m.outputs = session.run(None, {v.name: x for v, x in zip(m.given, m.inputs)})
    return m


def recurrent():
    """LSTM, GRU and RNN with every number of units, and of inputs."""
    m = Model(8)
    for i in range(1, 41):
        op, gates = (("LSTM", 4), ("GRU", 3), ("RNN", 1))[i % 3]
        depth = i * 7 % 23 + 1
        x = m.numbers(3, 2, depth) / 8
        w, r, b = (m.numbers(1, gates * i, depth) / 16, m.numbers(1, gates * i, i) / 16, m.numbers(1, 2 * gates * i) / 16)
        at = m.node(op, [m.give(x), m.hold(w, F32), m.hold(r, F32), m.hold(b, F32)], hidden_size=i)
        m.result(at, np.zeros((3, 1, 2, i), F32), 1e-5)
    return runtime(m)


def attention():
    """Softmax between two products of every size."""
    m = Model(9)
    for i in EVERY:
        queries, keys, size = i % 9 + 1, i, (i * 5) % 37 + 1
        q, k, v = m.numbers(1, 2, queries, size) / 8, m.numbers(1, 2, keys, size) / 8, m.numbers(1, 2, keys, i % 19 + 1)
        scores = m.node("MatMul", [m.give(q), m.node("Transpose", [m.give(k)], perm=[0, 1, 3, 2])])
        m.result(m.node("MatMul", [m.node("Softmax", [scores]), m.give(v)]), np.zeros((1, 2, queries, i % 19 + 1), F32), 1e-5)
    return runtime(m)


def models():
    kinds = {"convs": convolutions(float_conv), "transposes": convolutions(float_transpose), "qconvs": convolutions(byte_conv),
             "products": products(float_product), "qproducts": products(byte_product)}
    each = {f"{kind}_{varied}": m for kind, some in kinds.items() for varied, m in some.items()}
    return each | {"linear_layers": linear_layers(), "wraps": wraps(), "recurrent": recurrent(), "attention": attention()}
