"""Random models of Gradient: of a number that a chain of nodes makes of a tensor, against differences."""

import onnx
from onnx import helper

from differences import slope
from graphs import Net, step
from operators import F64, Case, family

TRAINING = "ai.onnx.preview.training"
PASSED_OVER = "Cast", "Erf"  # float is too coarse for differences


def by_differences(net, y):
    """By how much y grows with every element of the first input."""
    feed = {f"x{i}": x for i, x in enumerate(net.inputs)}
    inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in feed.items()]
    graph = helper.make_graph(net.nodes, "forward", inputs, [onnx.ValueInfoProto(name=y)])
    return slope(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), feed, "x0")


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
                same=Case("Identity", [by_differences(net, y)], version=13))
