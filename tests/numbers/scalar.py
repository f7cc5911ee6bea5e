"""scalar.py LIBRARY - compares the functions of scalar.def with numpy: of integers exactly, also where C leaves an operation undefined;
of floats with formulas in double, within a few units in the last place."""
import ctypes
import math
import sys

import numpy as np

np.seterr(all="ignore")
lib = ctypes.CDLL(sys.argv[1])
TYPES = {np.float32: 1, np.float64: 11, np.int32: 6, np.uint32: 12, np.int64: 7, np.uint64: 13}
NUMPY = {v: k for k, v in TYPES.items()}
INTS, FLOATS = (np.int32, np.uint32, np.int64, np.uint64), (np.float32, np.float64)
passed = failed = 0


def call(name, t, *arg):
    arg = [np.ascontiguousarray(a) for a in arg]
    room = np.zeros(len(arg[0]) * 8, np.uint8)
    pointers = (ctypes.c_void_p * len(arg))(*[a.ctypes.data for a in arg])
    result = lib.scalar_call(name.encode(), TYPES[t], pointers, ctypes.c_void_p(room.ctypes.data),
                             ctypes.c_ssize_t(len(arg[0])))
    if not result:
        return None
    return room.view(NUMPY[result])[: len(arg[0])]


def check(name, t, want, *arg, ulp=0.0, slack=0.0):
    """want: expected values; floats may differ by `ulp` units in the last place, and by `slack` units of the first argument's last place."""
    global passed, failed
    got = call(name, t, *arg)
    if got is None:
        bad = np.ones(1, bool)
    elif got.dtype.kind == "f":
        want = np.asarray(want, np.float64)
        cut = want.astype(got.dtype)
        room = ulp * np.spacing(np.abs(np.where(np.isfinite(cut), cut, 1))).astype(np.float64)
        room += slack * np.spacing(np.abs(np.where(np.isfinite(arg[0]), arg[0], 1))).astype(np.float64)
        bad = ~((np.isnan(got) & np.isnan(cut)) | (got == cut) | (np.abs(got.astype(np.float64) - want) <= room))
        if not ulp:
            bad |= (got == 0) & (cut == 0) & (np.signbit(got) != np.signbit(cut))
    else:
        bad = got != np.asarray(want).astype(got.dtype)
    if bad.any():
        failed += 1
        i = int(np.argmax(bad))
        print(f"{name} {t.__name__}: {[a[i] for a in arg]} gives {got[i] if got is not None else 'nothing'},"
              f" expected {want[i]}")
    else:
        passed += 1


def pairs(values):
    return np.repeat(values, len(values)), np.tile(values, len(values))


def wrap(v, t):
    bits = np.dtype(t).itemsize * 8
    v &= (1 << bits) - 1
    return t(v - (1 << bits) if np.dtype(t).kind == "i" and v >> (bits - 1) else v)


def each(f, t, *arg):
    """f on Python's integers; results wrap to type t."""
    return np.array([wrap(int(f(*[int(a) for a in k])), t) for k in zip(*arg)], t)


def quotient(x, y):
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def power(x, y):
    return (x if y % 2 else 1) if y < 0 and abs(x) == 1 else 0 if y < 0 else pow(x, y, 1 << 64)


def integers(t):
    info, bits = np.iinfo(t), np.dtype(t).itemsize * 8
    edges = [0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 65, 100, 255, 65537, info.max, info.max - 1, info.max // 2, info.min]
    edges += [-e for e in edges] if np.dtype(t).kind == "i" else []
    v = np.array(sorted({e for e in edges if info.min <= e <= info.max}), t)
    x, y = pairs(v)
    z = np.roll(y, 7)
    two = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": quotient,
        "min": min, "max": max, "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b,
        "bitwise_xor": lambda a, b: a ^ b, "mod": lambda a, b: a % b if b else 0,
        "fmod": lambda a, b: a - quotient(a, b) * b if b else 0, "pow": power,
        "shift_left": lambda a, b: a << b if 0 <= b < bits else 0,
        "shift_right": lambda a, b: a >> (b if 0 <= b < bits else bits),
        "prelu": lambda a, b: a * b if a < 0 else a,
    }
    for name, f in two.items():
        check(name, t, each(f, t, x, y), x, y)
    tests = {"equal": np.equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
             "greater_equal": np.greater_equal}
    for name, f in tests.items():
        check(name, t, f(x, y), x, y)
    check("neg", t, each(lambda a: -a, t, v), v)
    check("abs", t, each(abs, t, v), v)
    check("sign", t, each(lambda a: (a > 0) - (a < 0), t, v), v)
    check("bitwise_not", t, each(lambda a: ~a, t, v), v)
    check("clip", t, each(lambda a, b, c: min(max(a, b), c), t, x, y, z), x, y, z)
    c = (np.arange(len(x)) % 3).astype(np.uint32)
    check("where", t, np.where(c, x, y), c, x, y)


def floats(t):
    tiny, huge = np.finfo(t).smallest_subnormal, np.finfo(t).max
    special = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 0.3, 7.25, 20.0, 88.0, 100.0, 1e-6, 1e-20, 1e20, tiny, huge, np.inf, np.nan,
               1e-3, 0.1, 0.7, 4.0, 10.0, 30.0, 50.0]
    v = np.array(special + [-s for s in special], t)
    x, y = pairs(v)
    z = np.roll(y, 11)
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum,
             "max": np.maximum, "fmod": np.fmod, "mod": np.mod}
    for name, f in exact.items():
        a, b = x, y
        if name in ("min", "max"):  # the sign of a zero is not specified
            keep = ~((x == 0) & (y == 0))
            a, b = x[keep], y[keep]
        check(name, t, f(a, b), a, b)
    tests = {"equal": np.equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
             "greater_equal": np.greater_equal}
    for name, f in tests.items():
        check(name, t, f(x, y), x, y)
    keep = ~((x == 0) & ((y == 0) | (z == 0)))
    a, b, c = x[keep], y[keep], z[keep]
    check("clip", t, np.minimum(np.maximum(a, b), c), a, b, c)
    one = {"neg": np.negative, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
           "sqrt": np.sqrt, "reciprocal": lambda v: 1 / v, "relu": lambda v: np.where(v < 0, 0, v)}
    for name, f in one.items():
        check(name, t, f(v), v)
    check("is_nan", t, np.isnan(v), v)
    for low in (0, 1):
        for high in (0, 1):
            check("is_inf", t, (np.isneginf(v) & bool(low)) | (np.isposinf(v) & bool(high)), v, np.full(len(v), low, t),
                  np.full(len(v), high, t))
    check("prelu", t, np.where(x < 0, x * y, x), x, y)
    check("thresholded_relu", t, np.where(x > y, x, 0), x, y)
    if t is np.float64:  # the formulas below are in double themselves
        return
    w = np.concatenate([v, np.linspace(-12, 12, 4001).astype(t)])
    d = w.astype(np.float64)

    def sigmoid(u):
        return np.where(u < 0, np.exp(u) / (1 + np.exp(u)), 1 / (1 + np.exp(-u)))

    def with_limits(values):
        """Infinities times zero are not what these checks are about."""
        return np.where(np.isinf(d), np.nan_to_num(values, nan=np.nan), values)

    erf = np.vectorize(math.erf)
    alpha, gamma = t(1.3), t(0.7)
    a, g = float(alpha), float(gamma)
    al, ga = np.full(len(w), alpha, t), np.full(len(w), gamma, t)
    check("sigmoid", t, sigmoid(d), w, ulp=2)
    check("softplus", t, np.maximum(d, 0) + np.log1p(np.exp(-np.abs(d))), w, ulp=2)
    check("softsign", t, np.where(np.isinf(d), np.nan, d / (1 + np.abs(d))), w, ulp=2)
    check("elu", t, np.where(d < 0, a * np.expm1(d), d), w, al, ulp=2)
    check("selu", t, g * np.where(d > 0, d, a * np.expm1(d)), w, al, ga, ulp=3)
    check("celu", t, np.maximum(d, 0) + np.minimum(0, a * np.expm1(d / a)), w, al, ulp=3)
    check("hard_sigmoid", t, np.clip(d * a + g, 0, 1), w, al, ga, ulp=1, slack=2)
    check("hard_swish", t, d * np.clip(d / 6 + 0.5, 0, 1), w, ulp=3, slack=2)
    check("shrink", t, np.where(d < -g, d + a, np.where(d > g, d - a, 0)), w, al, ga, ulp=1)
    finite = np.isfinite(w)
    w, d, al = w[finite], d[finite], al[finite]
    check("gelu", t, 0.5 * d * (1 + erf(d / math.sqrt(2))), w, ulp=3, slack=2)
    u = np.clip(math.sqrt(2 / math.pi) * (d + 0.044715 * d**3), -1e4, 1e4)
    check("gelu_tanh", t, 0.5 * d * (1 + np.tanh(u)), w, ulp=4, slack=1)
    check("swish", t, d * sigmoid(a * d), w, al, ulp=4, slack=1)
    near = d > -80  # below, exp(x) loses digits
    check("mish", t, (d * np.tanh(np.maximum(d, 0) + np.log1p(np.exp(-np.abs(d)))))[near], w[near], ulp=4)
    small = np.abs(w) < 30
    w, d = w[small], d[small]
    for name, f in {"exp": np.exp, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
                    "tanh": np.tanh, "atan": np.arctan, "asinh": np.arcsinh, "erf": erf, "log": np.log, "asin": np.arcsin,
                    "acos": np.arccos, "atanh": np.arctanh, "acosh": np.arccosh}.items():
        check(name, t, f(d), w, ulp=2)
    exponent = t(1.7)
    check("pow", t, np.power(np.abs(d), float(exponent)), np.abs(w), np.full(len(w), exponent, t), ulp=2)


def booleans():
    x, y = pairs(np.array([0, 1], np.uint32))
    check("and", np.uint32, x & y, x, y)
    check("or", np.uint32, x | y, x, y)
    check("xor", np.uint32, x ^ y, x, y)
    check("not", np.uint32, 1 - x, x)


for t in INTS:
    integers(t)
for t in FLOATS:
    floats(t)
booleans()
print(f"scalar: {passed} passed, {failed} failed")
sys.exit(failed != 0)
