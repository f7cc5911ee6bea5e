"""Random models of Gradient: of a number that a chain of nodes computes from a tensor, compared with difference quotients."""

import onnx
from onnx import helper

from differences import slope
from nets import Net, step
from operators import F64, Case, family

TRAINING = "ai.onnx.preview.training"
PASSED_OVER = "Cast", "Erf"  # float is too coarse for differences


def by_differences(inputs, nodes, y):
    """The derivative of y by every element of the first input, as difference quotients."""
    feed = {f"x{i}": x for i, x in enumerate(inputs)}
    inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in feed.items()]
    graph = helper.make_graph(nodes, "forward", inputs, [onnx.ValueInfoProto(name=y)])
    return slope(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), feed, "x0")


def number(m, x):
    """(a net that computes a number from x, the number); None: difference quotients would be inexact."""
    net = Net(m)
    v = net.put(x)
    for _ in range(m.int(1, 4)):
        v = step(m, net, v)
    if any(node.op_type in PASSED_OVER for node in net.nodes):
        return None
    return net, net.do("ReduceSum", net.do("Mul", v, v), keepdims=0)


def case(net, inputs, nodes, y):
    last = helper.make_node("Gradient", ["x0"], ["y0"], domain=TRAINING, xs=["x0"], y=y)
    return Case("Gradient", inputs, nodes=[*nodes, last], consts=net.consts, version=1, domain=TRAINING, rtol=1e-3, sizes=False,
                same=Case("Identity", [by_differences(inputs, nodes, y)], version=13))


def some(m, *outer):
    return m.array(F64, (*outer, *(m.int(1, 3) for _ in range(m.int(1, 3)))), low=-2, high=2)


@family(2)
def gradient(m):
    made = number(m, some(m))
    if not made:
        return None
    net, y = made
    return case(net, net.inputs, net.nodes, y)


@family(1)
def gradient_of_iterations(m):
    """The gradient of the sum of the numbers that a Scan computes from parts of x."""
    x = some(m, m.int(1, 3))
    made = number(m, x[0])
    if not made:
        return None
    net, y = made
    for node in net.nodes:
        node.input[:] = ["part" if name == "x0" else name for name in node.input]
    part = helper.make_tensor_value_info("part", onnx.TensorProto.DOUBLE, x[0].shape)
    body = helper.make_graph(net.nodes, "turn", [part], [helper.make_tensor_value_info(y, onnx.TensorProto.DOUBLE, ())])
    nodes = [helper.make_node("Scan", ["x0"], ["all"], body=body, num_scan_inputs=1),
             helper.make_node("ReduceSum", ["all"], ["total"], keepdims=0)]
    return case(net, [x, *net.inputs[1:]], nodes, "total")
