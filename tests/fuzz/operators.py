"""Random models of one operator: a function for every family, found through FAMILIES."""

import dataclasses

import numpy as np
import onnx

F16, F32, F64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
FLOATS = [F32, F32, F64, F16]
SIGNED = [np.dtype(t) for t in ("int8", "int16", "int32", "int64")]
UNSIGNED = [np.dtype(t) for t in ("uint8", "uint16", "uint32", "uint64")]
BOOL = np.dtype(bool)
NUMBERS = FLOATS + SIGNED + UNSIGNED
FAMILIES = []


@dataclasses.dataclass
class Case:
    op: str
    inputs: list
    attrs: dict = dataclasses.field(default_factory=dict)
    consts: tuple = ()
    wanted: tuple = (0,)
    version: int = 0
    since: int = 1
    until: int = 24
    rtol: float = 1e-4


def versions(op):
    return sorted({s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == ""})


VERSIONS = {}


def family(weight=1):
    def register(f):
        FAMILIES.extend([f] * weight)
        return f

    return register


def random_case(rng):
    case = FAMILIES[rng.integers(len(FAMILIES))](Maker(rng))
    if case is None:
        return None
    if case.op not in VERSIONS:
        VERSIONS[case.op] = versions(case.op)
    of = [v for v in VERSIONS[case.op] if case.since <= v <= case.until]
    if not of:
        return None
    case.version = max(7, int(rng.choice(of)))
    return case


class Maker:
    """What a case is made of."""

    def __init__(self, rng):
        self.rng = rng

    def one(self, items):
        return items[self.rng.integers(len(items))]

    def chance(self, p):
        return self.rng.random() < p

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=4, empty=0.04):
        return tuple(0 if self.chance(empty) else self.int(1, 5) for _ in range(self.int(low, high)))

    def array(self, dtype, shape, special=0.0, low=None, high=None):
        dtype = np.dtype(dtype)
        if dtype == BOOL:
            return self.rng.random(shape) < 0.5
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            low = max(info.min, -9 if low is None else low)
            high = min(info.max, 9 if high is None else high)
            x = self.rng.integers(low, high, size=shape, dtype=dtype, endpoint=True)
            if special:
                x = np.where(self.rng.random(shape) < special, self.rng.choice(np.array([info.min, info.max, 0], dtype), shape), x)
            return np.asarray(x, dtype)
        x = self.rng.standard_normal(shape) * self.one([1, 1, 3]) if low is None else self.rng.uniform(low, high, shape)
        if special:
            x = np.where(self.rng.random(shape) < special, self.rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape), x)
        return np.asarray(x).astype(dtype)

    def smaller(self, shape):
        """A shape that broadcasts to this one."""
        s = [1 if self.chance(0.3) else d for d in shape]
        return tuple(s[self.int(0, len(s)) if self.chance(0.4) else 0:])

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def axes(self, rank, low=0):
        chosen = self.rng.permutation(rank)[: self.int(low, rank)]
        return [int(a) - (rank if self.chance(0.4) else 0) for a in chosen]

    def permuted(self, *shapes):
        return shapes if self.chance(0.5) else shapes[::-1]


def ints(*v):
    return np.array(v, np.int64)


# ---- elementwise ------------------------------------------------------------------------------------------------------

UNARY = (
    "Abs Neg Sign Round Ceil Floor Exp Log Sqrt Reciprocal Sigmoid Tanh Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
    "Erf IsNaN IsInf Relu LeakyRelu Elu Celu Selu HardSigmoid HardSwish Gelu Mish Softplus Softsign Shrink ThresholdedRelu Identity"
).split()
UNARY_ATTRS = {
    "LeakyRelu": ["alpha"], "Elu": ["alpha"], "Celu": ["alpha"], "Selu": ["alpha", "gamma"], "HardSigmoid": ["alpha", "beta"],
    "Shrink": ["bias", "lambd"], "ThresholdedRelu": ["alpha"],
}


@family(8)
def unary(m):
    op = m.one(UNARY)
    t = m.one(FLOATS)
    if op in ("Abs", "Sign", "Identity") and m.chance(0.5):
        t = m.one(NUMBERS)
    if op in ("Neg", "Relu") and m.chance(0.5):
        t = m.one(SIGNED)
    attrs = {a: float(np.float32(m.rng.uniform(0.1, 2))) for a in UNARY_ATTRS.get(op, ()) if m.chance(0.7)}
    if op == "IsInf" and m.chance(0.5):
        attrs = {"detect_negative": m.int(0, 1), "detect_positive": m.int(0, 1)}
    if op == "Gelu" and m.chance(0.5):
        attrs = {"approximate": "tanh"}
    return Case(op, [m.array(t, m.shape(), special=m.one([0, 0.1]))], attrs)


@family(8)
def binary(m):
    op = m.one(["Add", "Sub", "Mul", "Div", "Pow", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", "PRelu", "Mod"])
    t = m.one(NUMBERS)
    big = m.shape()
    a, b = m.permuted(big, m.smaller(big)) if op != "PRelu" else (big, m.smaller(big))
    x, y = m.array(t, a, m.one([0, 0.1])), m.array(t, b, m.one([0, 0.1]))
    attrs = {}
    if op in ("Div", "Mod") and t.kind in "iu":
        x, y = m.array(t, a), m.array(t, b)
        y = np.where(y == 0, np.array(3, t), y).astype(t)
    if op == "Mod":
        attrs = {"fmod": 1} if t.kind == "f" or m.chance(0.5) else {}
        if t.kind == "f":
            y = np.where(y == 0, np.array(3, t), y).astype(t)
    if op == "Pow":
        t = m.one([F32, F64, np.dtype("int32"), np.dtype("int64")])
        x = m.array(t, a, 0 if t.kind == "i" else 0.05)
        y = m.array(m.one([t, F32, np.dtype("int64"), np.dtype("int32")]), b)
        y = np.abs(y) if t.kind == "i" or y.dtype.kind == "i" else y
        if t.kind == "i":
            x, y = np.asarray(x) % np.array(5, t), np.asarray(np.floor(y) % 5).astype(y.dtype)
        if op == "Pow" and x.dtype != y.dtype:
            return Case(op, [np.asarray(x), np.asarray(y)], since=12)
    return Case(op, [np.asarray(x), np.asarray(y)], attrs)


@family(2)
def bits(m):
    op = m.one(["And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "BitwiseNot", "Not"])
    t = BOOL if op in ("And", "Or", "Xor", "Not") else m.one(UNSIGNED if op == "BitShift" else SIGNED + UNSIGNED)
    big = m.shape()
    x = m.array(t, big, 0.1 if t != BOOL else 0)
    if op in ("Not", "BitwiseNot"):
        return Case(op, [x])
    y = m.array(t, m.smaller(big), 0) if op != "BitShift" else m.array(t, m.smaller(big), 0, 0, t.itemsize * 8 - 1)
    return Case(op, [x, y], {"direction": m.one(["LEFT", "RIGHT"])} if op == "BitShift" else {})


@family(3)
def variadic(m):
    op = m.one(["Max", "Min", "Max", "Min", "Sum", "Mean"])
    t = m.one(NUMBERS) if op[0] == "M" and op != "Mean" else m.one(FLOATS)
    big = m.shape()
    return Case(op, [m.array(t, big if i == 0 else m.smaller(big), m.one([0, 0.15])) for i in range(m.int(1, 4))], since=8)


@family(2)
def where(m):
    big, t = m.shape(), m.one(NUMBERS + [BOOL])
    shapes = [big, m.smaller(big), m.smaller(big)]
    m.rng.shuffle(shapes)
    return Case("Where", [m.array(BOOL, tuple(shapes[0])), m.array(t, tuple(shapes[1])), m.array(t, tuple(shapes[2]))])


@family(2)
def clip(m):
    t = m.one(NUMBERS)
    low, high = m.array(t, ()), m.array(t, ())
    return Case("Clip", [m.array(t, m.shape(), 0.1), m.one([None, low]), m.one([None, high])], since=12, consts=m.one([(), (1, 2)]))


@family(3)
def cast(m):
    a, b = m.one(NUMBERS + [BOOL]), m.one(NUMBERS + [BOOL])
    x = m.array(a, m.shape(), low=-5 if b.kind != "u" and a.kind != "u" else 0, high=100)
    return Case("Cast", [x], {"to": onnx.helper.np_dtype_to_tensor_dtype(b)}, since=9)


# ---- reductions -------------------------------------------------------------------------------------------------------


@family(6)
def reduce(m):
    op = "Reduce" + m.one("L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split())
    t = m.one([F32, F32, F64, np.dtype("int32"), np.dtype("int64")])
    x = m.array(t, m.shape(0, 4, 0.06), low=m.one([None, 0.5]), high=3)
    rank = x.ndim
    attrs = {"keepdims": m.int(0, 1)} if m.chance(0.7) else {}
    by_input = 13 if op == "ReduceSum" else 18
    if m.chance(0.4):
        axes = m.axes(rank, min(rank, 1))
        if axes and m.chance(0.8):
            attrs["axes"] = axes
        return Case(op, [x], attrs, until=by_input - 1, since=11)
    axes = None if m.chance(0.15) else np.array(m.axes(rank), np.int64)
    if m.chance(0.4):
        attrs["noop_with_empty_axes"] = m.int(0, 1)
    return Case(op, [x, axes], attrs, since=by_input, consts=(1,))


@family(2)
def arg(m):
    x = m.array(m.one([F32, F64, np.dtype("int32"), np.dtype("int8")]), m.shape(1, 4, 0), low=-2, high=2)
    x = np.round(x).astype(x.dtype)
    attrs = {"axis": m.axis(x.ndim), "keepdims": m.int(0, 1)}
    if m.chance(0.5):
        attrs["select_last_index"] = m.int(0, 1)
    return Case(m.one(["ArgMax", "ArgMin"]), [x], attrs, since=12)


@family(2)
def cumulate(m):
    x = m.array(m.one([F32, F64, np.dtype("int32"), np.dtype("int64")]), m.shape(1))
    attrs = {k: m.int(0, 1) for k in ("exclusive", "reverse") if m.chance(0.6)}
    return Case("CumSum", [x, np.array(m.axis(x.ndim), np.int64)], attrs, consts=(1,))


@family(2)
def topk(m):
    t = m.one([F32, F64, np.dtype("int64"), np.dtype("int32")])
    x = np.round(m.array(t, m.shape(1, 4, 0))).astype(t)
    a = m.axis(x.ndim)
    attrs = {"axis": a, "largest": m.int(0, 1)}
    return Case("TopK", [x, ints(m.int(0, x.shape[a]))], attrs, consts=(1,), wanted=(0, 1), since=11)


@family(3)
def softmax(m):
    op = m.one(["Softmax", "LogSoftmax", "Hardmax"])
    x = m.array(m.one([F32, F64]), m.shape(1, 4, 0), m.one([0, 0.0]))
    attrs = {"axis": m.axis(x.ndim)} if m.chance(0.8) else {}
    if "axis" not in attrs and x.ndim < 2:
        return None
    return Case(op, [x], attrs, since=11)


# ---- movement ---------------------------------------------------------------------------------------------------------


@family(4)
def slices(m):
    x = m.array(m.one(NUMBERS + [BOOL]), m.shape(1))
    axes = m.axes(x.ndim, 1)
    big = m.one([7, 7, 2**31 - 1, 2**63 - 1])
    start, end, step = [], [], []
    for _ in axes:
        step.append(m.one([1, 1, 2, 3, -1, -2, -3, m.one([-(2**31), 2**31 - 1])]))
        start.append(m.one([m.int(-7, 7), m.int(-4, 4), -big, big]))
        end.append(m.one([m.int(-7, 7), m.int(-4, 4), -big, big]))
    more = [ints(*axes), ints(*step)]
    if m.chance(0.3) and len(axes) == x.ndim:
        more = []
    return Case("Slice", [x, ints(*start), ints(*end)] + more, consts=(1, 2, 3, 4), since=10)


@family(2)
def gather(m):
    x = m.array(m.one(NUMBERS + [BOOL]), m.shape(1, 4, 0))
    a = m.axis(x.ndim)
    n = x.shape[a]
    t = m.one([np.int64, np.int32])
    if m.chance(0.5):
        return Case("Gather", [x, m.array(t, m.shape(0, 2), low=-n, high=n - 1)], {"axis": a}, since=11)
    shape = tuple(m.int(1, d) if i != a % x.ndim else m.int(1, 5) for i, d in enumerate(x.shape))
    return Case("GatherElements", [x, m.array(t, shape, low=-n, high=n - 1)], {"axis": a})


@family(2)
def gather_nd(m):
    x = m.array(m.one([F32, F64, np.dtype("int64"), np.dtype("int32")]), m.shape(2, 4, 0))
    batch = m.int(0, 1)
    depth = m.int(1, x.ndim - batch)
    lead = x.shape[:batch] + m.shape(1, 2, 0)
    at = np.stack([m.array(np.int64, lead, low=-x.shape[batch + i], high=x.shape[batch + i] - 1) for i in range(depth)], -1)
    return Case("GatherND", [x, at], {"batch_dims": batch} if batch else {}, since=12)


@family(3)
def scatter(m):
    t = m.one([F32, F64, np.dtype("int64"), np.dtype("int32")])
    x = m.array(t, m.shape(1, 4, 0))
    how = m.one(["none", "none", "add", "mul", "max", "min"])
    attrs = {"reduction": how} if how != "none" else {}
    since = {"none": 11, "add": 16, "mul": 16}.get(how, 18)
    if m.chance(0.5):
        depth = m.int(1, x.ndim)
        rows = m.int(1, 4)
        at = np.stack([m.rng.integers(-d, d, rows) for d in x.shape[:depth]], -1).astype(np.int64)
        if how == "none":
            unique = np.unique(at % np.array(x.shape[:depth]), axis=0)
            at = unique.astype(np.int64)
        return Case("ScatterND", [x, at, m.array(t, (len(at),) + x.shape[depth:])], attrs, since=since)
    a = m.axis(x.ndim)
    n = x.shape[a]
    shape = tuple(m.int(1, d) for d in x.shape)
    at = m.array(np.int64, shape, low=-n, high=n - 1)
    if how == "none":
        at = np.argsort(m.rng.random(shape[: a % x.ndim] + (n,) + shape[a % x.ndim + 1:]), a).astype(np.int64)
        at = at[tuple(slice(0, d) for d in shape)]
    return Case("ScatterElements", [x, at, m.array(t, shape)], {"axis": a, **attrs}, since=since)


@family(3)
def shapes(m):
    x = m.array(m.one(NUMBERS + [BOOL]), m.shape(1))
    rank = x.ndim
    op = m.one("Transpose Reshape Flatten Squeeze Unsqueeze Expand Tile Concat Split Shape Size Trilu EyeLike".split())
    if op == "Transpose":
        return Case(op, [x], {"perm": [int(p) for p in m.rng.permutation(rank)]} if m.chance(0.8) else {})
    if op == "Reshape":
        to = list(m.rng.permutation(x.shape))
        to = [int(d) for d in to]
        if x.size and m.chance(0.6):
            to[m.int(0, rank - 1)] = -1
        elif to == list(x.shape) and m.chance(0.5):
            to[m.int(0, rank - 1)] = 0
        return Case(op, [x, ints(*to)], {"allowzero": 1} if 0 in to and 0 in x.shape and -1 not in to else {}, consts=(1,), since=14)
    if op == "Flatten":
        return Case(op, [x], {"axis": m.int(-rank, rank)}, since=11)
    if op == "Squeeze":
        x = x.reshape([d for s in x.shape for d in ([1, s] if m.chance(0.4) else [s])][:6]) if x.size == 1 or m.chance(0.5) else x
        ones = [i - (x.ndim if m.chance(0.4) else 0) for i, d in enumerate(x.shape) if d == 1 and m.chance(0.7)]
        return Case(op, [x, ints(*ones) if ones else None], consts=(1,), since=13)
    if op == "Unsqueeze":
        k = m.int(1, 2)
        at = [int(v) - (rank + k if m.chance(0.4) else 0) for v in m.rng.permutation(rank + k)[:k]]
        return Case(op, [x, ints(*at)], consts=(1,), since=13)
    if op == "Expand":
        small = x[tuple(slice(0, 1) if m.chance(0.4) else slice(None) for _ in x.shape)]
        to = [1 if m.chance(0.3) else d for d in x.shape]
        return Case(op, [small, ints(*([m.int(1, 3)] if m.chance(0.3) else []), *to)], consts=m.one([(1,), (1,)]))
    if op == "Tile":
        return Case(op, [x, ints(*[m.int(0 if m.chance(0.1) else 1, 3) for _ in x.shape])], consts=(1,))
    if op == "Concat":
        a = m.axis(rank)
        parts = [m.array(x.dtype, tuple(m.int(0, 4) if i == a % rank else d for i, d in enumerate(x.shape))) for _ in range(m.int(1, 4))]
        return Case(op, parts, {"axis": a}, since=11)
    if op == "Split":
        a = m.axis(rank)
        n = x.shape[a]
        cut = sorted(m.int(0, n) for _ in range(m.int(0, 2)))
        sizes = np.diff([0] + cut + [n])
        return Case(op, [x, ints(*sizes)], {"axis": a}, consts=(1,), wanted=tuple(range(len(sizes))), since=13)
    if op == "Shape":
        return Case(op, [x], {k: m.int(-rank - 1, rank + 1) for k in ("start", "end") if m.chance(0.6)}, since=15)
    if op == "Trilu":
        x = m.array(x.dtype, m.shape(2))
        return Case(op, [x, np.array(m.int(-4, 4), np.int64)] if m.chance(0.8) else [x], {"upper": m.int(0, 1)}, consts=m.one([(), (1,)]))
    if op == "EyeLike":
        return Case(op, [m.array(F32, m.shape(2, 2))], {"k": m.int(-3, 3), "dtype": m.one([1, 6, 7, 9, 11])})
    return Case(op, [x])


@family(3)
def pad(m):
    t = m.one([F32, F64, np.dtype("int32"), np.dtype("uint8")])
    x = m.array(t, m.shape(1, 4, 0))
    mode = m.one(["constant", "constant", "reflect", "edge", "wrap"])
    axes = m.axes(x.ndim, 1) if m.chance(0.5) else None
    over = axes or range(x.ndim)
    most = [x.shape[a] - 1 if mode == "reflect" else 3 for a in over]
    low = [m.int(-1 if mode == "constant" and x.shape[a] > 2 else 0, k) for a, k in zip(over, most)]
    high = [m.int(-1 if mode == "constant" and x.shape[a] > 2 else 0, k) for a, k in zip(over, most)]
    value = m.array(t, ()) if mode == "constant" and m.chance(0.6) else None
    since = 19 if mode == "wrap" else 18 if axes else 13
    return Case("Pad", [x, ints(*low, *high), value, ints(*axes) if axes else None], {"mode": mode}, consts=(1, 2, 3), since=since)


@family(2)
def blocks(m):
    k, t = m.int(1, 3), m.one([F32, F64])
    n, c, h, w = m.int(1, 2), m.int(1, 3), m.int(1, 3), m.int(1, 3)
    if m.chance(0.5):
        return Case("DepthToSpace", [m.array(t, (n, c * k * k, h, w))], {"blocksize": k, "mode": m.one(["DCR", "CRD"])}, since=11)
    return Case("SpaceToDepth", [m.array(t, (n, c, h * k, w * k))], {"blocksize": k})


@family(1)
def one_hot(m):
    depth = m.int(1, 5)
    at = m.array(m.one([np.int64, np.int32]), m.shape(1, 3), low=-depth - 1, high=depth + 1)
    return Case("OneHot", [at, np.array(depth, np.int64), m.array(m.one([F32, np.dtype("int32"), np.dtype("int64")]), (2,))], {"axis": m.axis(at.ndim + 1)}, consts=(1,), since=11)


@family(1)
def ranges(m):
    t = m.one([F32, F64, np.dtype("int32"), np.dtype("int64")])
    step = np.array(m.one([1, 2, -1, -2, 3]), t)
    return Case("Range", [np.array(m.int(-4, 4), t), np.array(m.int(-6, 9), t), step], consts=(0, 1, 2))


@family(1)
def chosen(m):
    x = m.array(m.one([F32, np.dtype("int32"), np.dtype("int64")]), m.shape(1, 3, 0), low=-2, high=2)
    x = np.round(x).astype(x.dtype)
    op = m.one(["NonZero", "Compress", "Unique", "ReverseSequence"])
    if op == "Compress":
        a = m.axis(x.ndim) if m.chance(0.7) else None
        n = x.shape[a] if a is not None else x.size
        return Case(op, [x, m.array(BOOL, (m.int(1, n),))], {} if a is None else {"axis": a}, since=11)
    if op == "Unique":
        attrs = {"sorted": m.int(0, 1)}
        if m.chance(0.6):
            attrs["axis"] = m.axis(x.ndim)
        return Case(op, [x], attrs, wanted=(0, 1, 2, 3))
    if op == "ReverseSequence":
        x = m.array(x.dtype, m.shape(2, 4, 0))
        b = m.int(0, 1)
        return Case(op, [x, m.array(np.int64, (x.shape[b],), low=1, high=x.shape[1 - b])], {"batch_axis": b, "time_axis": 1 - b})
    return Case(op, [x])


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
    return Case("Conv", [x, m.array(F32, (o, c // group, *k)), b], attrs, consts=m.one([(), (1, 2)]))


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
    return Case("ConvTranspose", [x, m.array(F32, (c, o, *k)), b], attrs, since=11, consts=m.one([(), (1, 2)]))


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
    attrs = {"mode": mode, "coordinate_transformation_mode": m.one(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "half_pixel_symmetric"])}
    if mode == "nearest":
        attrs["nearest_mode"] = m.one(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic" and m.chance(0.5):
        attrs["cubic_coeff_a"] = -0.5
    if mode == "cubic" and m.chance(0.5):
        attrs["exclude_outside"] = 1
    since = 19 if attrs["coordinate_transformation_mode"] == "half_pixel_symmetric" else 13
    roi = None
    if attrs["coordinate_transformation_mode"] == "tf_crop_and_resize":
        roi = np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9], np.float32)
        attrs["extrapolation_value"] = 2.5
    elif m.chance(0.3) and mode != "nearest":
        attrs["antialias"] = 1
        since = 19
    if m.chance(0.5):
        scales = np.array([1, 1, m.one([0.5, 0.6, 1, 1.5, 2, 2.3]), m.one([0.5, 0.8, 1, 2, 3])], np.float32)
        return Case("Resize", [x, roi, scales], attrs, consts=(1, 2), since=since, rtol=1e-3)
    return Case("Resize", [x, roi, None, ints(1, x.shape[1], m.int(1, 8), m.int(1, 8))], attrs, consts=(1, 3), since=since, rtol=1e-3)


@family(2)
def grid_sample(m):
    x = m.array(F32, (m.int(1, 2), m.int(1, 2), m.int(2, 4), m.int(2, 4)))
    grid = m.array(F32, (x.shape[0], m.int(1, 3), m.int(1, 3), 2), low=-1.4, high=1.4)
    mode = m.one(["linear", "nearest", "cubic"])
    return Case("GridSample", [x, grid], {"mode": mode, "padding_mode": m.one(["zeros", "border", "reflection"]), "align_corners": m.int(0, 1)}, since=20, rtol=1e-3)


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
    layout = 0
    x = m.array(F32, (t, b, i))
    inputs = [x, m.array(F32, (d, gates * h, i), low=-1, high=1), m.array(F32, (d, gates * h, h), low=-1, high=1),
              m.array(F32, (d, 2 * gates * h), low=-1, high=1) if m.chance(0.6) else None,
              m.array(np.int32, (b,), low=1, high=t) if m.chance(0.4) else None,
              m.array(F32, (d, b, h)) if m.chance(0.5) else None]
    attrs = {"hidden_size": h, "direction": direction}
    if layout:
        attrs["layout"] = 1
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
        names = [m.one(f[:5]) for _ in range({"RNN": 1, "GRU": 2, "LSTM": 3}[op] * d)]
        attrs["activations"] = names
    wanted = (0, 1, 2) if op == "LSTM" else (0, 1)
    return Case(op, inputs, attrs, wanted=wanted, consts=m.one([(), (1, 2, 3)]), rtol=1e-3, since=7)


# ---- normalisations, losses ----------------------------------------------------------------------------------------------


@family(4)
def normalise(m):
    op = m.one("LayerNormalization InstanceNormalization GroupNormalization BatchNormalization LRN LpNormalization MeanVarianceNormalization RMSNormalization".split())
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
        return Case(op, [x, w, m.array(t, ()), m.array(u, ()) if m.chance(0.5) else None], attrs, consts=m.one([(), (1,)]))
    per = (o,) if m.chance(0.4) else ()
    return Case(op, [x, s(), m.array(t, ()), w, s(per), np.zeros(per, u) if per else m.array(u, ()), s() * 5, m.array(t, ()),
                     m.array(np.int32, (o,), low=-500, high=500) if m.chance(0.5) else None], attrs, consts=m.one([(), (1, 2, 3, 4, 5, 6, 7, 8)]))


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
        return Case(op, [m.array(F32, (2, axes, axes + 1)), ints(2, 3, *[m.int(1, 4) for _ in range(axes)])], {"align_corners": m.int(0, 1)}, consts=(1,), rtol=1e-3)
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
                consts=(1, 2), since=20, rtol=1e-3)
