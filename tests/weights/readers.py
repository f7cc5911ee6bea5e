"""Calls of the operators that read weights: each input is ("x", shape), which the caller gives, ("w", shape), weights, an array, which is
constant, ("at", shape, n), indices below n that the caller gives, or None. Expected results are ONNX Runtime's, for the weights as floats."""
import math

import numpy as np
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

F32 = np.float32
MS = "com.microsoft"


def ints(*v):
    return np.array(v, np.int64)


def floats(*shape):
    return np.random.default_rng(len(shape)).uniform(.5, 1, shape).astype(F32)


def codes(*shape):
    return np.random.default_rng(len(shape)).integers(0, 256, shape).astype(np.uint8)


def lstm(op, gates, hidden, width, steps=3, batch=1, directions=1, **attributes):
    d = directions
    return (op, [("x", (steps, batch, width)), ("w", (d, gates * hidden, width)), ("w", (d, gates * hidden, hidden)),
                 floats(d, 2 * gates * hidden)], {"hidden_size": hidden, "direction": ["forward", "bidirectional"][d - 1], **attributes})


def einsum(equation, *inputs):
    return ("Einsum", list(inputs), {"equation": equation})


CALLS = {
    "ConvTranspose, stride 2": ("ConvTranspose", [("x", (1, 24, 5, 4)), ("w", (24, 20, 3, 3))], {"strides": [2, 2], "pads": [1, 1, 0, 1]}),
    "ConvTranspose, stride 1": ("ConvTranspose", [("x", (1, 24, 5, 4)), ("w", (24, 32, 3, 2)), floats(32)], {}),
    "ConvTranspose, groups": ("ConvTranspose", [("x", (2, 32, 9)), ("w", (32, 16, 5))], {"strides": [3], "group": 2, "dilations": [2]}),
    "ConvTranspose, volume": ("ConvTranspose", [("x", (1, 16, 2, 3, 2)), ("w", (16, 17, 2, 2, 3))], {"strides": [1, 2, 2]}),
    "ConvTranspose, in parts": ("ConvTranspose", [("x", (2, 40, 5, 4)), ("w", (40, 33, 5, 4))], {"strides": [2, 2], "group": 2, "pads": [1, 1, 1, 2]}),
    "Conv, in parts": ("Conv", [("x", (2, 42, 5, 4)), ("w", (40, 21, 3, 3)), floats(40)], {"group": 2, "pads": [1, 1, 1, 1], "strides": [1, 2]}),
    "Conv, parts of a point": ("Conv", [("x", (1, 300, 3, 2)), ("w", (32, 300, 1, 1))], {}),
    "Conv, several sums": ("Conv", [("x", (1, 180, 4, 3)), ("w", (80, 180, 3, 3)), floats(80)], {"pads": [1, 1, 1, 1], "dilations": [1, 2]}),
    "Conv": ("Conv", [("x", (1, 16, 6, 6)), ("w", (24, 16, 3, 3))], {}),
    "Conv, depthwise": ("Conv", [("x", (1, 64, 6, 6)), ("w", (64, 1, 3, 3))], {"group": 64}),
    "Conv, depthwise, tail": ("Conv", [("x", (2, 37, 9, 7)), ("w", (37, 1, 3, 5)), floats(37)],
                              {"group": 37, "strides": [2, 1], "dilations": [1, 2], "pads": [1, 3, 2, 1]}),
    "Conv, few channels per group": ("Conv", [("x", (1, 18, 5, 16)), ("w", (36, 2, 3, 3))], {"group": 9, "pads": [1, 1, 1, 1], "strides": [1, 2]}),
    "Conv, depthwise volume": ("Conv", [("x", (1, 20, 4, 3, 3)), ("w", (20, 1, 3, 2, 3))], {"group": 20, "pads": [1, 0, 1, 1, 0, 1]}),
    "Conv, long image": ("Conv", [("x", (1, 16, 3, 3, 3, 3)), ("w", (32, 16, 2, 1, 1, 1))], {}),
    "LSTM": lstm("LSTM", 4, 32, 48),
    "LSTM, tail": lstm("LSTM", 4, 37, 21, steps=1, batch=3, directions=2),
    "GRU": lstm("GRU", 3, 32, 16, linear_before_reset=1),
    "GRU, tail": lstm("GRU", 3, 45, 16, steps=4, batch=2),
    "RNN": lstm("RNN", 1, 64, 16, directions=2),
    "Einsum, right": einsum("bi,io->bo", ("x", (3, 64)), ("w", (64, 32))),
    "Einsum, left": einsum("oi,bi->ob", ("w", (48, 64)), ("x", (3, 64))),
    "Einsum, heads": einsum("bhi,hio->bho", ("x", (3, 4, 32)), ("w", (4, 32, 16))),
    "Einsum, three": einsum("bi,io,bo->bo", ("x", (3, 64)), ("w", (64, 32)), ("x", (3, 32))),
    "Einsum, outer": einsum("bi,o->bio", ("x", (2, 3)), ("w", (512,))),
    "MatMul, left": ("MatMul", [("w", (48, 64)), ("x", (64, 5))], {}),
    "MatMul, batch": ("MatMul", [("x", (3, 2, 64)), ("w", (3, 64, 32))], {}),
    "Gemm, transA": ("Gemm", [("w", (64, 48)), ("x", (64, 5))], {"transA": 1}),
    "Gemm, bias": ("Gemm", [("x", (2, 16)), ("w", (16, 512)), ("w", (512,))], {}),
    "FusedMatMul": ("FusedMatMul", [("x", (2, 64)), ("w", (32, 64))], {"transB": 1, "domain": MS}),
    "Attention": ("Attention", [("x", (1, 5, 32)), ("w", (32, 96)), floats(96)], {"num_heads": 4, "domain": MS}),
    "MoE": ("MoE", [("x", (3, 32)), ("x", (3, 4)), ("w", (4, 48, 32)), floats(4, 48), ("w", (4, 32, 48))],
            {"k": 2, "domain": MS, "activation_type": "silu"}),
    "MoE, tail": ("MoE", [("x", (2, 21)), ("x", (2, 3)), ("w", (3, 33, 21)), None, ("w", (3, 21, 33))], {"k": 1, "domain": MS}),
    "QMoE": ("QMoE", [("x", (3, 32)), ("x", (3, 4)), codes(4, 48, 16), floats(4, 48), None, codes(4, 32, 24), floats(4, 32)],
             {"k": 2, "domain": MS, "activation_type": "silu"}),
    "Add": ("Add", [("x", (2, 16, 48)), ("w", (16, 48))], {}),
    "Mul": ("Mul", [("w", (16, 48)), ("x", (16, 1))], {}),
    "Where": ("Where", [np.arange(768).reshape(16, 48) % 3 == 0, ("x", (16, 48)), ("w", (16, 48))], {}),
    "PRelu": ("PRelu", [("x", (2, 16, 48)), ("w", (16, 48))], {}),
    "LayerNormalization": ("LayerNormalization", [("x", (3, 512)), ("w", (512,)), ("w", (512,))], {}),
    "RMSNormalization": ("RMSNormalization", [("x", (3, 512)), ("w", (512,))], {}),
    "GroupNormalization": ("GroupNormalization", [("x", (1, 512, 3)), ("w", (512,)), ("w", (512,))], {"num_groups": 4}),
    "InstanceNormalization": ("InstanceNormalization", [("x", (1, 512, 3)), ("w", (512,)), ("w", (512,))], {}),
    "SkipLayerNormalization": ("SkipLayerNormalization", [("x", (1, 2, 512)), ("x", (1, 2, 512)), ("w", (512,)), ("w", (512,)), ("w", (512,))],
                               {"domain": MS}),
    "BiasGelu": ("BiasGelu", [("x", (2, 512)), ("w", (512,))], {"domain": MS}),
    "Gather": ("Gather", [("w", (40, 32)), ("at", (5,), 40)], {}),
    "Gather, one row": ("Gather", [("w", (1, 512)), ("at", (2, 3), 1)], {}),
    "GatherElements": ("GatherElements", [("w", (40, 32)), ("at", (5, 32), 40)], {}),
    "GatherND": ("GatherND", [("w", (40, 32)), ("at", (5, 1), 40)], {}),
    "ScatterElements": ("ScatterElements", [("w", (40, 32)), ("at", (5, 32), 40), ("x", (5, 32))], {"reduction": "add"}),
    "Concat": ("Concat", [("x", (3, 32)), ("w", (16, 32))], {"axis": 0}),
    "GridSample": ("GridSample", [("w", (1, 4, 16, 16)), ("x", (1, 3, 3, 2))], {}),
    "DeformConv": ("DeformConv", [("x", (1, 16, 4, 4)), ("w", (16, 16, 2, 2)), ("x", (1, 8, 3, 3))], {}),
    "CumSum": ("CumSum", [("w", (16, 32)), ("at", (), 1)], {}),
    "Attention of keys": ("Attention", [("x", (1, 2, 3, 16)), ("w", (1, 2, 40, 16)), ("w", (1, 2, 40, 16))], {}),
}

# ---- forms of weights: (name, type, arguments of Model.weights)

USUAL = [("int8", T.INT8, {"zeros": True}), ("int8 by row", T.INT8, {"axis": 0}), ("int8 by column", T.INT8, {"axis": 1, "zeros": True}),
         ("uint4 by block", T.UINT4, {"axis": -1, "block": 16, "zeros": True}),
         ("int8, blocks with a rest", T.INT8, {"axis": -1, "block": 11}),
         ("float8", T.FLOAT8E4M3FN, {}), ("int4", T.INT4, {}),
         ("float16", T.FLOAT16, {}), ("bfloat16", T.BFLOAT16, {})]


def most_bytes(m, call, how):
    """Of constants in the C, each of which is aligned. Codes and zero points of a column end with a whole byte."""
    rows = sum(math.prod(x[1][:-1]) for x in call[1] if isinstance(x, tuple) and x[0] == "w" and x[1][-1] % 2)
    return 1.02 * m.stored + max(64, 16 * len(m.held)) + ("block" in how) * rows


def fitted(how, shape):
    """The arguments for weights of this shape: an axis that they have; of three axes, the first are directions, experts or heads."""
    if "axis" not in how:
        return how
    axis = how["axis"] or len(shape) == 3
    return {**how, "axis": min(axis, len(shape) - 1) % len(shape)}


def add(m, call, kind, how):
    """Adds a call to Model m."""
    op, inputs, attributes = call
    names = []
    for x in inputs:
        if x is None:
            names.append("")
        elif isinstance(x, np.ndarray):
            names.append(m.hold(x))
            m.stored += x.nbytes
        elif x[0] == "x":
            names.append(m.give(x[1])[0])
        elif x[0] == "at":
            name, v = m.give(x[1])
            v[...] = m.rng.integers(0, x[2], x[1])
            names.append(m.node("Cast", [name], to=T.INT64))
        else:
            name, value = m.weights(kind, x[1], **fitted(how, x[1]))
            m.floats[name] = value.astype(F32)
            names.append(name)
    m.result(m.node(op, names, **attributes), np.zeros(0))


def solve(m):
    """The results' expected values."""
    nodes = [n for n in m.nodes if n.output[0] not in m.floats]
    held = [t for t in m.held if any(t.name in n.input for n in nodes)] + [numpy_helper.from_array(v, k) for k, v in m.floats.items()]
    inputs = [helper.make_tensor_value_info(n, T.FLOAT, x.shape) for n, x in m.given]
    outputs = [helper.make_tensor_value_info(n, T.FLOAT, None) for n in m.results]
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, held), opset_imports=opsets, ir_version=11)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    m.expected = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, dict(m.given))
