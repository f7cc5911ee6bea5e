"""Random models of one operator; FAMILIES has a function for every family of operators."""

import dataclasses

import ml_dtypes
import numpy as np
import onnx

F16, F32, F64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [F32, F32, F32, F64, F64, F16, F16, BF16]
SIGNED = [np.dtype(t) for t in ("int8", "int16", "int32", "int64")]
UNSIGNED = [np.dtype(t) for t in ("uint8", "uint16", "uint32", "uint64")]
BOOL = np.dtype(bool)
NUMBERS = FLOATS + SIGNED + UNSIGNED
FAMILIES = []


@dataclasses.dataclass
class Case:
    """A node, or those of `nodes`, which read x0, x1 ... and give y0, y1 ... (or `names`). Without a version it gets one of the
    operator's, from `since` to `until`. `same`: an equal case in a version that the evaluators know. `sizes`: sizes may be known
    only at run time, except those of the inputs `fixed`; batch: the inputs whose first size becomes a run-time size."""

    op: str
    inputs: list
    attrs: dict = dataclasses.field(default_factory=dict)
    consts: tuple = ()
    wanted: tuple = (0,)
    version: int = 0
    since: int = 1
    until: int = 24
    rtol: float = 1e-4
    domain: str = ""
    nodes: list = None
    names: list = None
    same: "Case" = None
    sizes: bool = True
    fixed: tuple = ()
    batch: tuple = ()


ML = "ai.onnx.ml"


def versions(op, domain):
    return sorted({s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == domain})


VERSIONS = {}


def family(weight=1):
    def register(f):
        FAMILIES.extend([f] * weight)
        return f

    return register


def random_case(rng):
    case = FAMILIES[rng.integers(len(FAMILIES))](Maker(rng))
    if case is None or case.version:
        return case
    if case.op not in VERSIONS:
        VERSIONS[case.op] = versions(case.op, case.domain)
    of = [v for v in VERSIONS[case.op] if case.since <= v <= case.until]
    if not of:
        return None
    case.version = int(rng.choice(of))
    if not case.domain:
        case.version = max(7, case.version)
    if case.same:
        case.same.version = case.version
    return case


class Maker:
    """Random building blocks of cases."""

    def __init__(self, rng):
        self.rng = rng

    def one(self, items):
        return items[self.rng.integers(len(items))]

    def chance(self, p):
        return self.rng.random() < p

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=4, empty=0.12):
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
        if dtype in NARROW:
            return np.asarray(self.rng.choice(numbers_of(dtype), shape))
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


# The types of eight bits and less.
NARROW = [np.dtype(getattr(ml_dtypes, t)) for t in (
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn "
    "int4 uint4 int2 uint2").split()]


def numbers_of(dtype):
    """All numbers of a narrow type."""
    bits = int(str(dtype).split("_")[0].lstrip("uintfloat"))
    if str(dtype).startswith("int"):
        return np.arange(-(1 << (bits - 1)), 1 << (bits - 1)).astype(dtype)
    if str(dtype).startswith("uint"):
        return np.arange(1 << bits).astype(dtype)
    all_bits = np.arange(1 << bits, dtype=np.uint8).view(dtype)
    return all_bits[np.isfinite(all_bits.astype(np.float32))]


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
    return Case("GatherND", [x, at], {"batch_dims": batch} if batch else {}, since=12, fixed=(1,))


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
        return Case("ScatterND", [x, at, m.array(t, (len(at),) + x.shape[depth:])], attrs, since=since, fixed=(1,))
    a = m.axis(x.ndim)
    n = x.shape[a]
    shape = tuple(m.int(1, d) for d in x.shape)
    at = m.array(np.int64, shape, low=-n, high=n - 1)
    if how == "none":
        at = np.argsort(m.rng.random(shape[: a % x.ndim] + (n,) + shape[a % x.ndim + 1:]), a).astype(np.int64)
        at = at[tuple(slice(0, d) for d in shape)]
    if how == "none" and m.chance(0.2):
        return Case("Scatter", [x, at, m.array(t, shape)], {"axis": a % x.ndim}, version=m.int(9, 10))
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
        x = x.reshape([d for s in x.shape for d in ([1, s] if m.chance(0.4) else [s])])
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
    max_pad = [x.shape[a] - 1 if mode == "reflect" else 3 for a in over]
    low = [m.int(-1 if mode == "constant" and x.shape[a] > 2 else 0, k) for a, k in zip(over, max_pad)]
    high = [m.int(-1 if mode == "constant" and x.shape[a] > 2 else 0, k) for a, k in zip(over, max_pad)]
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
    values = m.array(m.one([F32, np.dtype("int32"), np.dtype("int64")]), (2,))
    return Case("OneHot", [at, np.array(depth, np.int64), values], {"axis": m.axis(at.ndim + 1)}, consts=(1,), since=11, fixed=(2,))


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
