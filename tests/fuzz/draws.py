"""Random models of the operators that draw random numbers. Evaluators draw different ones, so the models check their properties."""

import numpy as np
from onnx import TensorProto, helper

from operators import F16, F32, F64, Case, family


def made(op, inputs, output, **attrs):
    return helper.make_node(op, inputs, [output], **attrs)


def facts(m, draw, low, high, certain):
    """Nodes that check the first `certain` of four facts about the numbers: their shape; they are from `low` to `high`; the same seed
    draws the same; another seed, or none, draws others. draw(name, seed): the node that draws."""
    seed = float(m.int(1, 99))  # many generators treat 0 as 1
    bounds = [made("Constant", [], name, value_float=float(v)) for name, v in (("low", low), ("high", high))]
    nodes = [draw("d", seed), *bounds, made("Shape", ["d"], "y0"), made("Cast", ["d"], "v", to=TensorProto.FLOAT),
             made("GreaterOrEqual", ["v", "low"], "above"), made("LessOrEqual", ["v", "high"], "below"), made("And", ["above", "below"], "y1")]
    if certain > 2:
        nodes += [draw("again", seed), made("Equal", ["d", "again"], "y2")]
    if certain > 3:
        nodes += [draw("other", m.one([None, seed + 1])), made("Equal", ["d", "other"], "y3")]
    return nodes


def known(m, op, inputs, nodes):
    """A case of these nodes, with the expected results of version 21, since ONNX Runtime lacks version 22."""
    model = {"nodes": nodes, "wanted": tuple(range(sum(y[0] == "y" for node in nodes for y in node.output))), "sizes": False}
    return Case(op, inputs, version=m.int(13, 24), same=Case(op, inputs, version=21, **model), **model)


def seeded(attrs, seed):
    return attrs if seed is None else {**attrs, "seed": seed}


@family(3)
def numbers(m):
    op = m.one("RandomNormal RandomUniform".split())
    t, like = m.one([F32, F64, F16]), m.chance(0.5)
    first, second = m.int(-3, 3), m.int(1, 4)
    attrs = {"mean": float(first), "scale": float(second)} if op == "RandomNormal" else {"low": float(first), "high": float(first + second)}
    low, high = (first - 8 * second, first + 8 * second) if op == "RandomNormal" else (first, first + second)
    x = m.array(m.one([F32, F64, F16]), m.shape(0 if like else 1))
    t = x.dtype if like and m.chance(0.3) else t
    if t != x.dtype or not like:
        attrs["dtype"] = helper.np_dtype_to_tensor_dtype(t)
    if not like:
        attrs["shape"] = x.shape

    def draw(name, seed):
        return made(op + "Like" * like, ["x0"] * like, name, **seeded(attrs, seed))

    return known(m, op + "Like" * like, [x] * like, facts(m, draw, low, high, 2 if t == F16 else 4))  # ONNX Runtime keeps more than 16 bits in between


@family(1)
def average(m):
    """Checks that the means of 4096 numbers and of their squares are near the expected ones."""
    op, like = m.one("RandomNormal RandomUniform".split()), m.chance(0.5)
    attrs, square = ({"mean": 1.0, "scale": 2.0}, 5) if op == "RandomNormal" else ({"low": -2.0, "high": 4.0}, 4)
    attrs.update({} if like else {"shape": (64, 64)})
    nodes = [made(op + "Like" * like, ["x0"] * like, "d", **seeded(attrs, m.one([None, float(m.int(0, 99))]))), made("Mul", ["d", "d"], "square")]
    for i, (of, middle) in enumerate((("d", 1), ("square", square))):
        nodes += [made("ReduceMean", [of], f"mean{i}", keepdims=0), made("Constant", [], f"middle{i}", value_float=float(middle)),
                  made("Constant", [], f"most{i}", value_float=0.2 * middle), made("Sub", [f"mean{i}", f"middle{i}"], f"off{i}"),
                  made("Abs", [f"off{i}"], f"by{i}"), made("Less", [f"by{i}", f"most{i}"], f"y{i}")]
    return known(m, op + "Like" * like, [np.zeros((64, 64), F32)] * like, nodes)


@family(1)
def bernoulli(m):
    """The test program checks the result; the expected one only has the same type and shape."""
    x = m.rng.choice([0, 0.25, 0.5, 0.75, 1], m.shape()).astype(m.one([F32, F64, F16]))
    attrs = seeded({}, m.one([None, float(m.int(0, 99))]))
    if m.chance(0.6):
        attrs["dtype"] = helper.np_dtype_to_tensor_dtype(np.dtype(m.one(["float32", "float64", "int32", "int64", "uint8", "bool"])))
    return Case("Bernoulli", [x], attrs, since=15)


@family(2)
def multinomial(m):
    rows, classes, samples = m.int(1, 4), m.int(1, 6), m.int(1, 9)
    dtype = m.one([TensorProto.INT32, TensorProto.INT64])
    x = m.array(F32, (rows, classes), low=-3, high=1)
    if m.chance(0.5):  # only one result is possible
        x = np.where(np.arange(classes) == m.rng.integers(0, classes, (rows, 1)), x, -200).astype(F32)
        attrs = {"sample_size": samples, "dtype": dtype}
        return Case("Multinomial", [x], attrs, version=m.int(7, 24), same=Case("Multinomial", [x], attrs, version=7))

    def draw(name, seed):
        return made("Multinomial", ["x0"], name, **seeded({"sample_size": samples, "dtype": dtype}, seed))

    return known(m, "Multinomial", [x], facts(m, draw, 0, classes - 1, 3))
