"""A model without the nodes that no result needs. The sizes of a shape that is known before the run need no elements."""
import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference


def shapes(graph):
    """{value: its dimensions}, where all are numbers."""
    found = {}
    for v in [*graph.value_info, *graph.input]:
        dims = v.type.tensor_type.shape.dim if v.type.tensor_type.HasField("shape") else None
        if dims is not None and all(d.HasField("dim_value") for d in dims):
            found[v.name] = [d.dim_value for d in dims]
    return found


def known_size(node, known):
    """A Constant instead of Shape or Size, or the node."""
    if node.op_type not in ("Shape", "Size") or node.domain or node.input[0] not in known:
        return node
    dims = np.array(known[node.input[0]], np.int64)
    range_of = {a.name: a.i for a in node.attribute}
    value = np.prod(dims, dtype=np.int64) if node.op_type == "Size" else dims[range_of.get("start"):range_of.get("end")]
    return helper.make_node("Constant", [], node.output, value=numpy_helper.from_array(np.array(value, np.int64)))


def names_read(node):
    """By it, and by the graphs inside it."""
    for name in node.input:
        yield name
    for a in node.attribute:
        for graph in [a.g, *a.graphs]:
            yield from (v.name for v in graph.output)
            for inner in graph.node:
                yield from names_read(inner)


def needed(model):
    """None: all of it is."""
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    known = shapes(inferred.graph)
    alive, nodes = {v.name for v in model.graph.output}, []
    for node in reversed([known_size(n, known) for n in model.graph.node]):
        if alive.intersection(node.output):
            nodes.append(node)
            alive.update(names_read(node))
    if len(nodes) == len(model.graph.node):
        return None
    smaller = onnx.ModelProto()
    smaller.CopyFrom(model)
    del smaller.graph.node[:]
    smaller.graph.node.extend(reversed(nodes))
    return smaller
