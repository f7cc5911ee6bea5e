"""Models to verify, and ONNX Runtime's values of their tensors."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, constants=(), functions=(), infos=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, n) for n, v in constants], value_info=infos)
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid("own", 1)] if functions else ())]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)


def chain(size="N"):
    """Two layers with an open size, and names such as exporters give."""
    r = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], "first"), helper.make_node("Relu", ["a"], ["r"], "act"),
             helper.make_node("Mul", ["r", "scale"], ["s"], "shift"), helper.make_node("MatMul", ["s", "w2"], ["c"], "second"),
             helper.make_node("Softmax", ["c"], ["y"], "soft"), helper.make_node("Neg", ["c"], ["z"], "minus")]
    constants = [("w1", r.standard_normal((8, 16)).astype(np.float32)), ("w2", r.standard_normal((16, 4)).astype(np.float32)),
                 ("scale", r.uniform(1, 2, 16).astype(np.float32))]
    return model(nodes, [tensor("x", FLOAT, [size, 8])], [tensor("y", FLOAT, [size, 4]), tensor("z", FLOAT, [size, 4])], constants)


def nested():
    """A branch, a function, a sequence, strings; constants computed by a node; a node without uses."""
    body = helper.make_function("own", "Twice", ["f_in"], ["f_out"], [helper.make_node("Add", ["f_in", "f_in"], ["f_mid"]),
                                helper.make_node("Relu", ["f_mid"], ["f_out"])], [helper.make_opsetid("", 17)])
    branches = [helper.make_graph([helper.make_node(op, ["a"], [f"in_{op}"])], op, [], [tensor(f"in_{op}", FLOAT, None)]) for op in ("Neg", "Abs")]
    nodes = [helper.make_node("Twice", ["x"], ["a"], "call", domain="own"),
             helper.make_node("If", ["flag"], ["b"], "choose", then_branch=branches[0], else_branch=branches[1]),
             helper.make_node("SplitToSequence", ["b"], ["seq"], axis=0), helper.make_node("SequenceAt", ["seq", "one"], ["row"]),
             helper.make_node("Identity", ["text"], ["text2"]), helper.make_node("Identity", ["text2"], ["text3"]),
             helper.make_node("Neg", ["k"], ["folded"]), helper.make_node("Mul", ["row", "folded"], ["y"]),
             helper.make_node("Exp", ["x"], ["dead"])]
    inputs = [tensor("x", FLOAT, [3, 4]), tensor("flag", TensorProto.BOOL, []), tensor("text", TensorProto.STRING, [2])]
    outputs = [tensor("y", FLOAT, None), tensor("text3", TensorProto.STRING, [2])]
    return model(nodes, inputs, outputs, [("one", np.int64(1)), ("k", np.float32([1, 2, 3, 4]))], [body])


def expected(of, feeds, names):
    """The values of these tensors by ONNX Runtime, without its optimisations."""
    m = onnx.ModelProto.FromString(of.SerializeToString())
    known = {o.name for o in m.graph.output}
    m.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(list(names), feeds)


def write_data(folder, inputs, outputs=()):
    folder.mkdir(parents=True, exist_ok=True)
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, a in enumerate(arrays):
            onnx.save_tensor(numpy_helper.from_array(np.asarray(a)), folder / f"{kind}_{i}.pb")
