"""Removes from a model the nodes that no result needs for some inputs. A shape that is known before the run does not need its tensor,
nor does the number of elements of a sequence or an optional need the elements; of an If, only the branch that is taken is needed; of a
Loop, only the outputs that are used, and what they depend on."""
import numpy as np
import onnx
import onnx.inliner
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
    """A Constant in place of a Shape or Size whose result is known; any other node as it is."""
    if node.op_type not in ("Shape", "Size") or node.domain or node.input[0] not in known:
        return node
    dims = np.array(known[node.input[0]], np.int64)
    range_of = {a.name: a.i for a in node.attribute}
    value = np.prod(dims, dtype=np.int64) if node.op_type == "Size" else dims[range_of.get("start"):range_of.get("end")]
    return helper.make_node("Constant", [], node.output, value=numpy_helper.from_array(np.array(value, np.int64)))


def known_count(node, nodes):
    """A Constant in place of OptionalHasElement of an Optional, or SequenceLength of a SequenceConstruct, which must be among the nodes;
    any other node as it is."""
    makers = {"OptionalHasElement": "Optional", "SequenceLength": "SequenceConstruct"}
    if node.op_type not in makers:
        return node
    made_by = {y: n for n in nodes for y in n.output}
    maker = made_by.get(node.input[0])
    while maker and maker.op_type == "Identity":
        maker = made_by.get(maker.input[0])
    if not maker or maker.op_type != makers[node.op_type]:
        return node
    count = np.array(len(maker.input), bool if node.op_type == "OptionalHasElement" else np.int64)
    return helper.make_node("Constant", [], node.output, value=numpy_helper.from_array(count))


def names_read(node):
    """The names that a node and the graphs inside it read."""
    for name in node.input:
        yield name
    for a in node.attribute:
        for graph in [a.g, *a.graphs]:
            yield from (v.name for v in graph.output)
            for inner in graph.node:
                yield from names_read(inner)


def with_nodes(model, nodes):
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.node[:]
    changed.graph.node.extend(nodes)
    return changed


def with_branches(model, value_of):
    """Replaces every If of the main graph whose condition is known, value_of(model, condition), by the branch that is taken."""
    nodes = list(model.graph.node)
    for node in model.graph.node:
        value = value_of(model, node.input[0]) if node.op_type == "If" else None
        if value is None:
            continue
        branch = helper.get_node_attr_value(node, "then_branch" if value else "else_branch")
        at = nodes.index(node)
        results = [helper.make_node("Identity", [inner.name], [y]) for inner, y in zip(branch.output, node.output) if y]
        nodes[at:at + 1] = [*branch.node, *results]
        model = with_nodes(model, nodes)
    return model


def with_input_sizes(model, sizes):
    """The model with these sizes of inputs: {input: its dimensions}."""
    changed = with_nodes(model, model.graph.node)
    for v in changed.graph.input:
        for dim, size in zip(v.type.tensor_type.shape.dim, sizes.get(v.name, ())):
            dim.dim_value = size
    return changed


def with_outputs(node, alive):
    """A Loop with the outputs that are among `alive`, and the states that these depend on; any other node as it is."""
    if node.op_type != "Loop":
        return node
    smaller = onnx.NodeProto()
    smaller.CopyFrom(node)
    body = helper.get_node_attr_value(smaller, "body")
    states = len(node.input) - 2
    kept = {i for i, y in enumerate(node.output) if y in alive}
    while True:
        read = {body.output[0].name, *(body.output[1 + i].name for i in kept)}
        for inner in reversed(body.node):
            if read.intersection(inner.output):
                read.update(names_read(inner))
        more = {i for i in range(states) if body.input[2 + i].name in read} - kept
        if not more:
            break
        kept |= more
    for i in reversed(range(max(len(node.output), states))):
        if i not in kept:
            del body.output[1 + i]
            if i < len(node.output):
                del smaller.output[i]
            if i < states:
                del smaller.input[2 + i], body.input[2 + i]
    nodes = [n for n in body.node if read.intersection(n.output)]
    del body.node[:]
    body.node.extend(nodes)
    return smaller


def needed(model, sizes, value_of):
    """The model without unneeded nodes. sizes: {input: its dimensions}; value_of(model, name): a value of the model, or None: unknown."""
    model = onnx.inliner.inline_local_functions(model)
    model = with_input_sizes(with_branches(model, value_of), sizes)
    known = shapes(shape_inference.infer_shapes(model, data_prop=True).graph)
    alive, nodes = {v.name for v in model.graph.output}, []
    for node in reversed([known_count(known_size(n, known), model.graph.node) for n in model.graph.node]):
        if alive.intersection(node.output):
            nodes.append(with_outputs(node, alive))
            alive.update(names_read(nodes[-1]))
    return with_nodes(model, reversed(nodes))
