"""Operators with significant inputs and their exact results: a Case each, in the families elementwise, reductions, products and
normalisations. The formulas are those of the operators' texts, in numpy's long double (64 bits of mantissa)."""

import dataclasses
import math
from typing import Callable, Optional

import ml_dtypes
import numpy as np

LONG = np.longdouble
F16, BF16, F32, F64 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32), np.dtype(np.float64)
FLOATS = [F32, F64, F16, BF16]
CASES = []
rng = np.random.default_rng(0)


@dataclasses.dataclass
class Case:
    """One node. inputs: arrays, of which those of float64 stand for the type that is tested, and functions that make an
    array of it; None: left out. exact: a function from the inputs in long double to the results, or to (results, sizes): each
    result is a sum whose terms' absolute values add up to its size. None: ONNX's reference evaluator in double, with the largest
    result as every size. steps: the roundings in a result, for the forward bound; 0: an elementary function, 2 ulp. stored: how
    many of these round to the type itself, if that is shorter than the one computed with."""

    op: str
    inputs: list
    exact: Optional[Callable] = None
    steps: float = 0
    stored: int = 0
    attrs: dict = dataclasses.field(default_factory=dict)
    consts: tuple = ()
    version: int = 23
    domain: str = ""
    types: Optional[list] = None


def case(op, inputs, exact=None, steps=0, **more):
    fields = {k: more.pop(k) for k in ("consts", "version", "domain", "types", "stored") if k in more}
    CASES.append(Case(op, inputs, exact, steps, attrs=more, **fields))


# ---- numbers ------------------------------------------------------------------------------------------------------------


def bits_of(t):
    return np.dtype(f"u{t.itemsize}")


def everywhere(t):
    """Numbers of every exponent and sign, special values, and more numbers near 1; of 16-bit types all numbers."""
    if t.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(t)
    r = np.random.default_rng(1)
    near = np.concatenate([r.uniform(-20, 20, 3000), r.uniform(-1, 1, 2000), r.normal(0, 100, 2000), 1 + r.normal(0, 1e-3, 500)])
    some = np.frombuffer(r.bytes(3000 * t.itemsize), bits_of(t)).view(t)
    round_ones = np.outer([1, -1], [0, 0.5, 1, 2, 88, 89, 100, 104, 709, 745, 1e4, math.pi / 2, math.pi, np.inf, np.finfo(t).max,
                                    np.finfo(t).tiny, np.finfo(t).smallest_subnormal]).ravel()
    with np.errstate(all="ignore"):
        ones = round_ones.astype(t)
        ones = np.concatenate([ones, np.nextafter(ones, t.type(0)), np.nextafter(ones, t.type(np.inf))])
        return np.concatenate([near.astype(t), some, ones])


def within(low, high):
    """The numbers of `everywhere` in a range."""

    def make(t):
        x = everywhere(t)
        return x[(x >= t.type(low)) & (x <= t.type(high))]

    return make


def shuffled(seed):
    """Some finite numbers in a random order by the seed, so that the elements of two such arrays make pairs."""

    def make(t):
        x = everywhere(t)
        x = x[np.isfinite(x)]
        return x[np.random.default_rng(seed).permutation(len(x))[:3000]]

    return make


def normal(*shape, mean=0.0, scale=1.0):
    return rng.standard_normal(shape) * scale + mean


def uneven(*shape):
    """Numbers of both signs and of many sizes."""
    return rng.standard_normal(shape) * np.exp2(rng.uniform(-6, 6, shape))


def uniform(low, high, *shape):
    return rng.uniform(low, high, shape)


def given(value):
    """An attribute's value, which is a float."""
    return LONG(np.float32(value))


# ---- functions that numpy does not have ------------------------------------------------------------------------------------

PI = LONG("3.14159265358979323846264338327950288")


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def erf_small(x):
    """2 / sqrt(pi) exp(-x^2) sum (2 x^2)^k x / (2k + 1)!!, whose terms have one sign."""
    term = total = x
    for k in range(1, 160):
        term = term * (2 * x * x / (2 * k + 1))
        total = total + term
    return 2 / np.sqrt(PI) * np.exp(-x * x) * total


def erfc_large(x):
    """The continued fraction, for x >= 2; beyond 150 the result is 0 in every type."""
    x = np.minimum(x, 150)
    f = x
    for k in range(200, 0, -1):
        f = x + LONG(k) / 2 / f
    return np.exp(-x * x) / np.sqrt(PI) / f


def erf(x):
    a = np.abs(x)
    return np.sign(x) * np.where(a < 2, erf_small(np.minimum(a, 2)), 1 - erfc_large(np.maximum(a, 2)))


def erfc(x):
    a = np.abs(x)
    tail = np.where(a < 2, 1 - erf_small(np.minimum(a, 2)), erfc_large(np.maximum(a, 2)))
    return np.where(x < 0, 2 - tail, tail)


# ---- elementwise -----------------------------------------------------------------------------------------------------------


def add_functions():
    same = "Exp Log Sqrt Sin Cos Tan Sinh Cosh Tanh Floor Ceil Abs Sign"
    for op in same.split():
        case(op, [everywhere], getattr(np, op.lower()))
    for op in "Asin Acos Atan Asinh Acosh Atanh".split():
        case(op, [everywhere], getattr(np, op.lower().replace("a", "arc", 1)))
    case("Round", [everywhere], np.rint)
    case("Neg", [everywhere], np.negative)
    case("Reciprocal", [everywhere], lambda x: 1 / x)
    case("Erf", [everywhere], erf)
    case("Sigmoid", [everywhere], sigmoid)
    case("Softplus", [everywhere], softplus)
    case("Softsign", [within(-1e30, 1e30)], lambda x: x / (1 + np.abs(x)))
    case("Relu", [everywhere], lambda x: np.where(x < 0, 0, x))
    case("Mish", [everywhere], lambda x: (x * np.tanh(softplus(x)),) * 2, 7)
    case("Swish", [everywhere], lambda x: (x * sigmoid(x),) * 2, 6, version=24)
    case("Swish", [everywhere], lambda x: shaped(x, given(1.5) * x), 4, version=24, alpha=1.5)
    case("Gelu", [everywhere], lambda x: (x * erfc(-x / np.sqrt(LONG(2))) / 2, np.where(x < 0, np.abs(x), x * erfc(-x) / 2)), 4)
    case("Gelu", [everywhere], lambda x: shaped(x, 2 * np.sqrt(2 / PI) * (x + LONG("0.044715") * x * x * x)), 6, approximate="tanh")
    for a in 1.0, 0.3:
        case("Elu", [everywhere], lambda x, a=a: np.where(x < 0, given(a) * np.expm1(x), x), alpha=a)
    case("Selu", [everywhere], lambda x: given(1.0507009873554805) * np.where(x > 0, x, given(1.6732632423543772) * np.expm1(x)))
    for a in 1.0, 0.3, 2.0:
        case("Celu", [everywhere], lambda x, a=a: np.where(x < 0, given(a) * np.expm1(x / given(a)), x), alpha=a)
    case("LeakyRelu", [everywhere], lambda x: np.where(x < 0, given(0.01) * x, x))
    case("ThresholdedRelu", [everywhere], lambda x: np.where(x > given(0.7), x, 0 * np.nan_to_num(x, posinf=1, neginf=-1)), alpha=0.7)
    case("Shrink", [within(-1e30, 1e30)], lambda x: np.where(x < -0.5, x + 1.5, np.where(x > 0.5, x - 1.5, 0)), lambd=0.5, bias=1.5)
    case("HardSigmoid", [within(-1e30, 1e30)], hard_sigmoid, 2)
    case("HardSwish", [within(-1e18, 1e18)], hard_swish, 4)
    case("Clip", [everywhere, np.array(-1.5), np.array(2.5)], lambda x, low, high: np.where(x != x, x, np.clip(x, low, high)))
    case("Cast", [within(-65000, 65000)], lambda x: x, to=1, types=[F32, F64, F16, BF16])


def shaped(x, v):
    """x sigmoid(v): a relative error of v causes one of the result that is v times as large."""
    y = x * sigmoid(v)
    return y, np.abs(y) * (1 + np.abs(v))


def hard_sigmoid(x):
    y = given(0.2) * x + given(0.5)
    return np.clip(y, 0, 1), np.where((y > 0) & (y < 1), np.abs(given(0.2) * x) + given(0.5), 1)


def hard_swish(x):
    y = np.clip(x / 6 + LONG(0.5), 0, 1)
    return x * y, np.abs(x) * np.where((y > 0) & (y < 1), np.abs(x) / 6 + LONG(0.5), y)


def add_pairs():
    two = [shuffled(2), shuffled(3)]
    for op, f in ("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide), ("Min", np.minimum), ("Max", np.maximum):
        case(op, two, f)
    case("PRelu", two, lambda x, y: np.where(x < 0, x * y, x))
    case("Mod", two, np.fmod, fmod=1)
    case("Pow", [lambda t: np.abs(shuffled(2)(t)), shuffled(3)], np.power)
    base, e = uniform(-8, 8, 3000), uniform(-40, 40, 3000)
    case("Pow", [np.exp2(base), e], np.power)
    case("Pow", [uneven(3000), np.round(e / 4)], np.power)
    for k in 0.5, 1.5, -1.0, 2.0, 3.0, 7.0, -2.5:
        case("Pow", [np.exp2(base), np.array(k)], np.power, consts=(1,))
    terms = [uneven(1000) for _ in range(5)]
    case("Sum", terms, lambda *x: (sum(x), sum(map(np.abs, x))), 4)
    case("Mean", terms, lambda *x: (sum(x) / 5, sum(map(np.abs, x)) / 5), 5)


# ---- reductions ------------------------------------------------------------------------------------------------------------


def total(x, f=lambda v: v):
    return np.sum(f(x), 1)


def log_sum_exp(x, _):
    top = np.max(x, 1)
    top = np.where(np.isfinite(top), top, 0)
    y = top + np.log(np.sum(np.exp(x - top[:, None]), 1))
    return y, np.abs(y) + np.abs(top) / x.shape[1] + 1


def add_reductions():
    axis = np.array([1])
    for n in 1, 2, 17, 1000, 10000:
        x = uneven(4, n)
        positive = np.abs(uneven(4, n))
        case("ReduceSum", [x, axis], lambda x, _: (total(x), total(np.abs(x))), n, consts=(1,), keepdims=0)
        case("ReduceMean", [x, axis], lambda x, _: (np.mean(x, 1), np.mean(np.abs(x), 1)), n, consts=(1,), keepdims=0)
        case("ReduceL1", [x, axis], lambda x, _: (total(np.abs(x)),) * 2, n, consts=(1,), keepdims=0)
        case("ReduceSumSquare", [x / 64, axis], lambda x, _: (total(x * x),) * 2, n, consts=(1,), keepdims=0)
        case("ReduceL2", [x / 64, axis], lambda x, _: (np.sqrt(total(x * x)),) * 2, n / 2 + 1, consts=(1,), keepdims=0)
        case("ReduceLogSum", [positive, axis], lambda x, _: (np.log(total(x)), np.abs(np.log(total(x))) + 1), n, consts=(1,), keepdims=0)
        for shift in 0, 80, -300:
            case("ReduceLogSumExp", [x / 8 + shift, axis], log_sum_exp, n + 8, consts=(1,), keepdims=0)
        product = np.exp2(rng.uniform(-1, 1, (4, n)) / n ** 0.5) * rng.choice([-1, 1], (4, n))
        case("ReduceProd", [product, axis], lambda x, _: (np.prod(x, 1),) * 2, n - 1, consts=(1,), keepdims=0)
    case("ReduceSum", [uneven(10000, 5), np.array([0])], lambda x, _: (np.sum(x, 0), np.sum(np.abs(x), 0)), 10000, consts=(1,), keepdims=0)
    large = normal(2, 30000, mean=1e3)  # their sum is beyond float16
    case("ReduceMean", [large, axis], lambda x, _: (np.mean(x, 1),) * 2, 30000, consts=(1,), keepdims=0)
    edge = np.array([[-np.inf] * 4, [-np.inf, 1, 2, 3], [1e4, 1e4, -1e4, 0], [np.inf, 1, 2, 3]])
    case("ReduceLogSumExp", [edge, axis], log_sum_exp, 8, consts=(1,), keepdims=0)
    x = uneven(3, 10000)
    case("CumSum", [x, np.array(1)], lambda x, _: (np.cumsum(x, 1), np.cumsum(np.abs(x), 1)), 10000, consts=(1,))
    case("CumProd", [np.exp2(rng.uniform(-1, 1, (3, 1000)) / 32), np.array(1)], lambda x, _: (np.cumprod(x, 1),) * 2, 1000, consts=(1,), version=26)
    case("Range", [np.array(0.0), np.array(100.0), np.array(0.1)], lambda a, b, s: (a + s * np.arange(int(np.ceil((b - a) / s))),) * 2, 1,
         consts=(0, 1, 2), types=[F32, F64], version=11)


# ---- products --------------------------------------------------------------------------------------------------------------


def product(a, b):
    return a @ b, np.abs(a) @ np.abs(b)


def add_products():
    for n in 1, 3, 64, 1000, 10000:
        a, b = uneven(5, n), uneven(n, 7)
        for consts in (), (1,):
            case("MatMul", [a, b], product, n, consts=consts)
        case("Gemm", [a, b.T, normal(7)], lambda a, b, c: (a @ b.T / 2 + 3 * c, np.abs(a) @ np.abs(b.T) / 2 + 3 * np.abs(c)), n + 3,
             consts=(1, 2), alpha=0.5, beta=3.0, transB=1)
        case("Einsum", [a, b], product, n, equation="ij,jk->ik", types=[F32, F64, F16])
    case("MatMul", [uneven(40, 300), uneven(300, 50)], product, 300, consts=(1,))
    case("MatMul", [uneven(300), uneven(300)], product, 300)
    case("Einsum", [uneven(2, 3, 5, 40), uneven(2, 3, 6, 40)],
         lambda a, b: (np.einsum("bhqd,bhkd->bhqk", a, b), np.einsum("bhqd,bhkd->bhqk", np.abs(a), np.abs(b))), 40,
         equation="bhqd,bhkd->bhqk", types=[F32, F64, F16])


# ---- softmax and normalisations --------------------------------------------------------------------------------------------


def softmax(x):
    """The relative rounding error of x - max causes one of the result that is x - max times as large."""
    below = x - np.max(x, -1, keepdims=True)
    e = np.exp(below)
    y = e / np.sum(e, -1, keepdims=True)
    return y, y * (1 + np.abs(below))


def log_softmax(x):
    below = x - np.max(x, -1, keepdims=True)
    spread = np.log(np.sum(np.exp(below), -1, keepdims=True))
    return below - spread, np.abs(below) + spread + 1


def add_softmax():
    for n in 1, 5, 100, 10000:
        for scale, mean in (1, 0), (5, 0), (30, 0), (1, 1e4):
            x = normal(4, n, scale=scale, mean=mean)
            case("Softmax", [x], softmax, n + 3, axis=-1)
            case("LogSoftmax", [x], log_softmax, n + 3, axis=-1)
    case("Softmax", [normal(3, 40, 50, scale=5)], lambda x: tuple(v.swapaxes(1, 2) for v in softmax(x.swapaxes(1, 2))), 43, axis=1)
    case("LogSoftmax", [normal(3, 40, 50, scale=5)], lambda x: tuple(v.swapaxes(1, 2) for v in log_softmax(x.swapaxes(1, 2))), 43, axis=1)


def normalised(x, axes, scale, bias, epsilon):
    """(x - mean) / sqrt(variance + epsilon) scale + bias. The size has the rounding of x - mean, the error of the mean, and the effect of
    the variance's relative error, half of which is in the result."""
    mean = np.mean(x, axes, keepdims=True)
    centred = x - mean
    inverse = 1 / np.sqrt(np.mean(centred * centred, axes, keepdims=True) + given(epsilon))
    y = centred * inverse * scale
    size = (np.abs(x) + np.mean(np.abs(x), axes, keepdims=True)) * inverse * np.abs(scale) + np.abs(y) + np.abs(bias)
    return y + bias, size


def channels(v, x):
    return v.reshape((-1,) + (1,) * (x.ndim - 2))


def add_norms():
    for n, mean, scale in (3, 0, 1), (100, 0, 1), (10000, 0, 5), (1000, 1e4, 1), (1000, 1e3, 0.1), (64, 0, 1e-4):
        x, s, b = normal(3, n, scale=scale, mean=mean), normal(n), normal(n)
        wide = None if mean < 1e4 else [F32, F64, BF16]
        case("LayerNormalization", [x, s, b], lambda x, s, b: normalised(x, 1, s, b, 1e-5), n + 6, types=wide)
        case("RMSNormalization", [x, s], rms_norm, n / 2 + 6, types=wide)
        for p in 1, 2:
            case("LpNormalization", [x], lambda x, p=p: (x / np.sum(np.abs(x) ** p, 1, keepdims=True) ** (LONG(1) / p),) * 2, n + 2, p=p,
                 axis=1, version=22, types=wide)
        s, b = normal(2), normal(2)
        x = normal(2, 2, n, scale=scale, mean=mean)
        case("InstanceNormalization", [x, s, b], lambda x, s, b: normalised(x, 2, channels(s, x), channels(b, x), 1e-5), n + 6, types=wide,
             version=22)
        x, s, b = normal(2, 4, n, scale=scale, mean=mean), normal(4), normal(4)
        case("GroupNormalization", [x, s, b], group_norm, 2 * n + 6, num_groups=2, version=21, types=wide)
        x = normal(2, 2, n, 1, scale=scale, mean=mean)
        case("MeanVarianceNormalization", [x], mean_variance, 2 * n + 6, version=13, types=wide)
        mu, var = normal(2, scale=scale, mean=mean), uniform(0.5, 2, 2) * scale * scale
        s, b = normal(2), normal(2)
        for consts in (), (1, 2, 3, 4):
            case("BatchNormalization", [x, s, b, mu, var], batch_norm, 6, consts=consts, version=15, types=wide)


def mean_variance(x):
    """The specification adds 1e-9 to the standard deviation."""
    y, size = normalised(x, (0, 2, 3), 1, 0, 0)
    deviation = np.std(x, (0, 2, 3), keepdims=True)
    return (x - np.mean(x, (0, 2, 3), keepdims=True)) / (deviation + given(1e-9)), np.where(deviation > 0, size, 1)


def group_norm(x, s, b):
    y, size = normalised(x.reshape(2, 2, -1), 2, LONG(1), LONG(0), 1e-5)
    y, size, s, b = y.reshape(x.shape), size.reshape(x.shape), channels(s, x), channels(b, x)
    return y * s + b, size * np.abs(s) + np.abs(b)


def rms_norm(x, s):
    y = x / np.sqrt(np.mean(x * x, 1, keepdims=True) + given(1e-5)) * s
    return y, np.abs(y)


def batch_norm(x, s, b, mean, var):
    s, b, mean, var = (channels(v, x) for v in (s, b, mean, var))
    factor = s / np.sqrt(var + given(1e-5))
    return (x - mean) * factor + b, (np.abs(x) + np.abs(mean)) * np.abs(factor) + np.abs(b)


FAMILIES = add_functions, add_pairs, add_reductions, add_products, add_softmax, add_norms
