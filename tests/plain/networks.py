"""Writes the networks that the tests of --target plain analyse: networks.py FOLDER. Weights are drawn from a fixed seed; `OPTIONS` are
the options that a network needs besides the target; `inputs` gives values to run it on."""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

OPTIONS = {"bounded": ["--all-dims=<=6"], "image": ["--all-dims=<=6"], "loop": ["--dim", "trips<=5"]}
FLOAT, INT64, BOOL, UINT8, INT8, INT32 = (getattr(TensorProto, t) for t in ("FLOAT", "INT64", "BOOL", "UINT8", "INT8", "INT32"))

SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e38, -1e38, 1e-40, 3.5], np.float32)


class Graph:
    """A graph under construction, to which each layer adds nodes and constants; `x` is the value that the next layer reads."""

    def __init__(self, name, shape, channels=None):
        self.name, self.nodes, self.constants, self.random = name, [], [], np.random.default_rng(len(name))
        self.inputs = [helper.make_tensor_value_info("x", FLOAT, shape)]
        self.x, self.channels = "x", channels or shape[-1]

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weights(self, *shape):
        return self.constant((self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32))

    def node(self, op, inputs, n=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(n)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op.lower()}{len(self.nodes)}", **attributes))
        self.x = names[0]
        return names[0] if n == 1 else names

    def dense(self, n):
        self.node("Gemm", [self.x, self.weights(n, self.channels), self.weights(n)], transB=1)
        self.channels = n

    def conv(self, n, kernel=3, stride=1, group=1):
        self.node("Conv", [self.x, self.weights(n, self.channels // group, kernel, kernel), self.weights(n)], strides=[stride] * 2,
                  pads=[kernel // 2] * 4, group=group)
        self.channels = n

    def q(self):
        """Quantises the value, in Quantised."""

    def relu(self):
        """Adds a Relu after a layer; Quantised has one in each layer."""
        self.then("Relu")

    def then(self, op, **attributes):
        return self.node(op, [self.x], **attributes)

    def save(self, folder, shape, type_=FLOAT, outputs=None, opset=17):
        outputs = outputs or [helper.make_tensor_value_info(self.x, type_, shape)]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, outputs, self.constants)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8),
             folder / f"{self.name}.onnx")


class Quantised(Graph):
    """The same layers on 8-bit integers, between QuantizeLinear and DequantizeLinear."""

    def q(self):
        scale, zero = self.constant(np.float32(0.05)), self.constant(np.int8(3))
        self.node("QuantizeLinear", [self.x, scale, zero])
        self.node("DequantizeLinear", [self.x, scale, zero])

    def relu(self):
        pass

    def weights(self, *shape):
        if len(shape) == 1:
            return super().weights(*shape)
        data = self.constant(self.random.integers(-127, 128, shape).astype(np.int8))
        scale = self.constant((self.random.random(shape[0]) * 0.01 + 0.002).astype(np.float32))
        name = f"w{len(self.nodes)}"
        self.nodes.append(helper.make_node("DequantizeLinear", [data, scale, self.constant(np.zeros(shape[0], np.int8))], [name], axis=0))
        return name

    def dense(self, n):
        super().dense(n)
        self.q()

    def conv(self, n, kernel=3, stride=1, group=1):
        super().conv(n, kernel, stride, group)
        self.then("Relu")
        self.q()


def mlp(kind, name, folder):
    g = kind(name, [1, 10])
    g.q()
    for n in (16, 12):
        g.dense(n)
        g.then("Relu")
    g.dense(5)
    g.save(folder, [1, 5])


def cnn(kind, name, folder):
    g = kind(name, [1, 1, 8, 8], 1)
    g.q()
    g.conv(4)
    g.relu()
    g.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    g.conv(6)
    g.then("Flatten")
    g.channels = 96
    g.dense(3)
    g.then("Softmax")
    g.save(folder, [1, 3])


def ds_cnn(kind, name, folder):
    g = kind(name, [1, 1, 12, 8], 1)
    g.q()
    g.conv(8, 3, 2)
    for _ in range(2):
        g.conv(8, 3, 1, 8)
        g.relu()
        g.conv(8, 1)
        g.relu()
    g.then("GlobalAveragePool")
    g.then("Flatten")
    g.dense(4)
    g.then("Softmax")
    g.save(folder, [1, 4])


def resnet8(kind, name, folder):
    g = kind(name, [1, 3, 8, 8], 3)
    g.q()
    g.conv(4)
    for n, stride in ((4, 1), (8, 2)):
        before, channels = g.x, g.channels
        g.conv(n, 3, stride)
        g.relu()
        g.conv(n)
        long = g.x
        if channels != n:
            g.x, g.channels = before, channels
            g.conv(n, 1, stride)
            before = g.x
        g.node("Add", [long, before])
        g.then("Relu")
        g.q()
    g.then("GlobalAveragePool")
    g.then("Flatten")
    g.dense(4)
    g.save(folder, [1, 4])


def recurrent(op, gates, folder):
    g = Graph(op.lower(), [4, 1, 3])
    g.node(op, [g.x, g.weights(1, gates * 5, 3), g.weights(1, gates * 5, 5), g.weights(1, 2 * gates * 5)], hidden_size=5)
    g.save(folder, [4, 1, 1, 5])


def transformer(folder):
    g = Graph("transformer", [1, 4, 8])
    before = g.x

    def linear(x, i, o):
        return g.node("Add", [g.node("MatMul", [x, g.weights(i, o)]), g.weights(o)])

    def heads(x, perm):
        return g.node("Transpose", [g.node("Reshape", [x, g.constant(np.array([1, 4, 2, 4]))])], perm=perm)
    q, k, v = heads(linear(before, 8, 8), [0, 2, 1, 3]), heads(linear(before, 8, 8), [0, 2, 3, 1]), heads(linear(before, 8, 8), [0, 2, 1, 3])
    p = g.node("Softmax", [g.node("Mul", [g.node("MatMul", [q, k]), g.constant(np.float32(0.5))])])
    o = g.node("Transpose", [g.node("MatMul", [p, v])], perm=[0, 2, 1, 3])
    o = linear(g.node("Reshape", [o, g.constant(np.array([1, 4, 8]))]), 8, 8)
    o = g.node("LayerNormalization", [g.node("Add", [o, before]), g.weights(8), g.weights(8)])
    h = linear(o, 8, 16)
    h = g.node("Mul", [h, g.node("Sigmoid", [h])])
    g.node("Add", [linear(h, 16, 8), o])
    g.save(folder, [1, 4, 8])


def layer_norm(folder):
    g = Graph("layer_norm", [2, 7])
    g.node("LayerNormalization", [g.x, g.weights(7), g.weights(7)])
    g.save(folder, [2, 7])


def bounded(folder):
    g = Graph("bounded", ["n", 4])
    g.dense(3)
    g.then("Tanh")
    g.node("Softmax", [g.x])
    g.save(folder, ["n", 3])


def image(folder):
    """The head of a JPEG file, which is decoded by libraries alone."""
    g = Graph("image", [6])
    g.inputs = [helper.make_tensor_value_info("x", UINT8, [6])]
    g.node("Concat", [g.constant(np.array([0xff, 0xd8, 0xff], np.uint8)), "x"], axis=0)
    g.node("ImageDecoder", [g.x])
    g.save(folder, ["h", "w", 3], UINT8, opset=20)


def branch(folder):
    g = Graph("if", [1, 4])
    g.inputs.append(helper.make_tensor_value_info("c", BOOL, [1]))

    def body(op):
        y = helper.make_tensor_value_info("y_" + op, FLOAT, [1, 4])
        return helper.make_graph([helper.make_node(op, ["x"], ["y_" + op], op)], op, [], [y])
    g.node("If", ["c"], then_branch=body("Relu"), else_branch=body("Exp"))
    g.save(folder, [1, 4])


def loop(folder):
    g = Graph("loop", [4])
    g.inputs.append(helper.make_tensor_value_info("n", INT64, []))
    state, on = helper.make_tensor_value_info("s", FLOAT, [4]), helper.make_tensor_value_info("on", BOOL, [])
    step, on2 = helper.make_tensor_value_info("s2", FLOAT, [4]), helper.make_tensor_value_info("on2", BOOL, [])
    body = helper.make_graph([helper.make_node("Mul", ["s", "x"], ["s2"], "mul"), helper.make_node("Identity", ["on"], ["on2"], "id")], "body",
                             [helper.make_tensor_value_info("i", INT64, []), on, state], [on2, step])
    g.node("Loop", ["n", "", "x"], body=body)
    g.save(folder, [4])


def forest(folder):
    g = Graph("forest", [1, 4])
    trees, ids, feature, value, mode, true, false = 3, [], [], [], [], [], []
    tree_ids, t_tree, t_node, t_id, t_w = [], [], [], [], []
    for t in range(trees):
        for i in range(7):
            leaf = i > 2
            tree_ids.append(t), ids.append(i), feature.append(0 if leaf else int(g.random.integers(4)))
            value.append(0.0 if leaf else float(g.random.standard_normal())), mode.append("LEAF" if leaf else "BRANCH_LEQ")
            true.append(0 if leaf else 2 * i + 1), false.append(0 if leaf else 2 * i + 2)
            if leaf:
                t_tree.append(t), t_node.append(i), t_id.append(0), t_w.append(float(g.random.standard_normal()))
    g.node("TreeEnsembleRegressor", [g.x], domain="ai.onnx.ml", n_targets=1, nodes_treeids=tree_ids, nodes_nodeids=ids,
           nodes_featureids=feature, nodes_values=value, nodes_modes=mode, nodes_truenodeids=true, nodes_falsenodeids=false,
           target_treeids=t_tree, target_nodeids=t_node, target_ids=t_id, target_weights=t_w)
    g.save(folder, [1, 1])


def floats(random, shape, seed):
    """Random numbers of a magnitude that depends on the seed; in two of three cases with special ones: two, a quarter, or all."""
    x = (random.standard_normal(shape) * 10.0 ** random.integers(-3, 4)).astype(np.float32).reshape(-1)
    if seed % 3 == 1:
        x[random.integers(x.size, size=2 if seed % 2 else 1 + x.size // 4)] = random.choice(SPECIAL)
    elif seed % 3 == 2:
        x[:] = random.choice(SPECIAL, x.size) if seed % 2 else random.choice(SPECIAL)
    return x.reshape(shape)


def inputs(model, seed):
    """Values for a network's inputs: also integers out of range, and every byte."""
    random = np.random.default_rng(seed)
    for v in model.graph.input:
        shape = [d.dim_value or 6 for d in v.type.tensor_type.shape.dim]
        kind = v.type.tensor_type.elem_type
        if kind == FLOAT:
            yield floats(random, shape, seed)
        elif kind == INT64:
            yield np.array(random.integers(-2, 8, shape), np.int64)
        else:
            yield np.array(random.integers(0, 2 if kind == BOOL else 256, shape), np.uint8)


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for make in (mlp, cnn, ds_cnn, resnet8):
        make(Graph, make.__name__, folder)
        make(Quantised, make.__name__ + "_int8", folder)
    recurrent("LSTM", 4, folder)
    recurrent("GRU", 3, folder)
    for make in (transformer, layer_norm, bounded, image, branch, loop, forest):
        make(folder)


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
