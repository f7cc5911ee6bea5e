"""Random models of Gradient: of a number that a chain of nodes makes of a tensor, against differences."""

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graphs import Net, step
from operators import F64, Case, family

TRAINING, STEP = "ai.onnx.preview.training", 1e-5
PASSED_OVER = "Cast", "Erf"  # float is too coarse for differences


def slope(net, y):
    """By how much y grows with every element of the first input."""
    inputs = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for i, x in enumerate(net.inputs)]
    graph = helper.make_graph(net.nodes, "forward", inputs, [onnx.ValueInfoProto(name=y)])
    run = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    feed, result = {f"x{i}": x for i, x in enumerate(net.inputs)}, np.zeros_like(net.inputs[0])
    for i in np.ndindex(result.shape):
        ends = []
        for by in STEP, -STEP:
            x = net.inputs[0].copy()
            x[i] += by
            ends.append(run.run([y], {**feed, "x0": x})[0])
        result[i] = (ends[0] - ends[1]) / (2 * STEP)
    return result


@family(2)
def gradient(m):
    net = Net(m)
    v = net.put(m.array(F64, tuple(m.int(1, 3) for _ in range(m.int(1, 3))), low=-2, high=2))
    for _ in range(m.int(1, 4)):
        v = step(m, net, v)
    if any(node.op_type in PASSED_OVER for node in net.nodes):
        return None
    y = net.do("ReduceSum", net.do("Mul", v, v), keepdims=0)
    nodes = [*net.nodes, helper.make_node("Gradient", ["x0"], ["y0"], domain=TRAINING, xs=["x0"], y=y)]
    return Case("Gradient", net.inputs, nodes=nodes, consts=net.consts, version=1, domain=TRAINING, rtol=1e-3, sizes=False,
                same=Case("Identity", [slope(net, y)], version=13))
