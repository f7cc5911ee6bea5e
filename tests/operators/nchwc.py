"""The domain com.microsoft.nchwc: models as ONNX Runtime's optimiser writes them, in blocks of 8 and of 16 channels, on any processor.
The results are ONNX Runtime's for the equivalent operators of ONNX."""

import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

NCHWC = "com.microsoft.nchwc"
rng = np.random.default_rng(32)


def numbers(*shape):
    """Numbers whose sums are exact."""
    return (rng.integers(-6, 7, shape) / 4).astype(np.float32)


def filled(x, axis, block):
    """x, padded with zeros to whole blocks along the axis."""
    return np.pad(x, [(0, -n % block if k == axis else 0) for k, n in enumerate(x.shape)])


def blocked(w, block, group=1):
    """Weights (O, I, H, W) in the optimiser's order, with a shape of whole blocks."""
    outputs, inputs, *kernel = (w := filled(w, 0, block)).shape
    if inputs >= block and not group == outputs > 1:
        w = filled(w, 1, block)
        order = w.reshape(-1, block, w.shape[1] // block, block, *kernel).transpose(0, 2, 4, 5, 3, 1)
    else:
        order = w.reshape(-1, block, inputs, *kernel).transpose(0, 2, 3, 4, 1)
    return np.ascontiguousarray(order).reshape(w.shape)


class Net:
    """A graph of ONNX's operators and the equivalent one in blocks."""

    def __init__(self, block):
        self.block, self.plain, self.blocks, self.held = block, [], [], {}
        self.plain_held, self.channels, self.count = {}, {}, 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def enter(self, x, channels, last=False):
        y = self.name()
        self.channels[y] = channels
        self.plain.append(helper.make_node("Transpose", [x], [y], perm=[0, 3, 1, 2]) if last else helper.make_node("Identity", [x], [y]))
        self.blocks.append(helper.make_node("ReorderInput", [x], [y], domain=NCHWC, channels_last=int(last)))
        return y

    def leave(self, x, y, last=False):
        self.plain.append(helper.make_node("Transpose", [x], [y], perm=[0, 2, 3, 1]) if last else helper.make_node("Identity", [x], [y]))
        self.blocks.append(helper.make_node("ReorderOutput", [x], [y], domain=NCHWC, channels=self.channels[x], channels_last=int(last)))

    def conv(self, x, w, bias=True, add="", activation="", params=(), **attrs):
        """Adds a convolution. x: in blocks, or with fewer channels than a block."""
        y, group = self.name(), attrs.get("group", 1)
        b = numbers(w.shape[0]) if bias else None
        self.plain_held[f"{y}_w"], self.held[f"{y}_w"] = w, blocked(w, self.block, group)
        if bias:
            self.plain_held[f"{y}_b"], self.held[f"{y}_b"] = b, filled(b, 0, self.block)
        inputs = [x, f"{y}_w", f"{y}_b" if bias else "", add]
        fused = {"activation": activation} if activation else {}
        if params:
            fused["activation_params"] = params
        self.plain.append(helper.make_node("FusedConv", inputs, [y], domain="com.microsoft", **attrs, **fused))
        if group > 1 and w.shape[1] == 1:
            attrs["group"] = self.held[f"{y}_w"].shape[0]
        self.blocks.append(helper.make_node("Conv", inputs, [y], domain=NCHWC, **attrs, **fused))
        self.channels[y] = w.shape[0]
        return y

    def node(self, op, *inputs, own=True, **attrs):
        y = self.name()
        self.channels[y] = sum(self.channels[x] for x in inputs) if op == "Concat" else self.channels[inputs[0]]
        self.plain.append(helper.make_node(op, inputs, [y], **attrs))
        self.blocks.append(helper.make_node(op, inputs, [y], domain=NCHWC if own else "", **attrs))
        return y

    def upsample(self, x, *scales, **attrs):
        y = self.name()
        self.channels[y] = self.channels[x]
        self.plain_held[f"{y}_s"] = np.array([1, 1, *scales], np.float32)
        near = {"nearest_mode": "floor"} if attrs.get("mode", "nearest") == "nearest" else {}
        self.plain.append(helper.make_node("Resize", [x, "", f"{y}_s"], [y], **{"coordinate_transformation_mode": "asymmetric", **attrs, **near}))
        self.blocks.append(helper.make_node("Upsample", [x], [y], domain=NCHWC, scales=[1, 1, *scales], **attrs))
        return y


def model(name, nodes, held, x, shape, results):
    imports = [helper.make_opsetid(d, v) for d, v in (("", 17), ("com.microsoft", 1), (NCHWC, 1))]
    given = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, name, given, results, [numpy_helper.from_array(v, k) for k, v in held.items()])
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def add(c, name, net, x, sizes=None):
    """Writes a test of the net's value y."""
    plain = model(name, net.plain, net.plain_held, x, x.shape, [onnx.ValueInfoProto(name="y")])
    y = onnxruntime.InferenceSession(plain.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    results = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [f"y{k}" for k in range(y.ndim)] if sizes else y.shape)]
    c.write(f"nchwc_{name}", model(name, net.blocks, net.held, x, sizes or x.shape, results), [x], [y])


ACTIVATIONS = {"": (), "Relu": (), "Tanh": (), "Sigmoid": (), "LeakyRelu": (0.3,), "Clip": (-0.4, 0.7), "HardSigmoid": (0.3, 0.6), "HardSwish": ()}
SAME = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}


def add_nchwc(c):
    for block in 8, 16:
        add_convolutions(c, block)
        add_pools(c, block)
        add_orders(c, block)
    add_saved(c)


def add_convolutions(c, block):
    for kind, params in ACTIVATIONS.items():
        net = Net(block)
        y = net.conv("x", numbers(24, 3, 3, 3), activation=kind, params=params, strides=[2, 2], **SAME)
        net.leave(y, "y")
        add(c, f"{block}_conv_{kind}", net, numbers(2, 3, 9, 8), ("n", 3, "h", "w") if kind == "HardSigmoid" else None)
    for k, (w, attrs) in enumerate([((40, 24, 3, 3), SAME), ((24, 24, 1, 1), {}), ((24, 1, 3, 3), {**SAME, "group": 24}),
                                    ((24, 24, 2, 3), {"dilations": [2, 1]}),
                                    ((24, 24, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]})]):
        for added in False, True:
            net = Net(block)
            x = net.enter("x", 24)
            other = net.conv(x, numbers(*w), **attrs) if added else ""
            net.leave(net.conv(x, numbers(*w), bias=k != 1, add=other, activation="Relu" if added else "", **attrs), "y")
            add(c, f"{block}_conv_{k}{int(added)}", net, numbers(1, 24, 6, 7), ("n", 24, "h", "w") if k == 2 else None)
    net = Net(block)
    x = net.conv(net.enter("x", 24), numbers(32, 24, 1, 1))
    net.leave(net.conv(x, numbers(32, 16, 3, 3), group=2, **SAME), "y")
    add(c, f"{block}_conv_groups", net, numbers(1, 24, 5, 5))
    net = Net(block)
    net.leave(net.conv("x", numbers(24, 1, 3, 3), **SAME), "y")
    add(c, f"{block}_conv_one", net, numbers(1, 1, 5, 5))


def add_pools(c, block):
    windows = {"kernel_shape": [3, 2], "strides": [2, 1]}
    for k, (op, attrs) in enumerate([
        ("MaxPool", windows), ("MaxPool", {**windows, "pads": [1, 0, 1, 1], "ceil_mode": 1}), ("MaxPool", {**windows, "dilations": [2, 1]}),
        ("MaxPool", {**windows, "auto_pad": "SAME_LOWER"}), ("AveragePool", windows), ("AveragePool", {**windows, "pads": [1, 0, 1, 1]}),
        ("AveragePool", {**windows, "pads": [1, 0, 1, 1], "count_include_pad": 1}), ("GlobalMaxPool", {}), ("GlobalAveragePool", {}),
    ]):
        for sizes in None, ("n", 3, "h", "w"):
            net = Net(block)
            x = net.conv("x", numbers(24, 3, 1, 1), activation="Relu")
            net.leave(net.node(op, x, **attrs), "y")
            add(c, f"{block}_{op}_{k}" + "_sizes" * bool(sizes), net, numbers(2, 3, 7, 6), sizes)
    linear = [{"mode": "linear", "coordinate_transformation_mode": m} for m in ("asymmetric", "align_corners", "half_pixel")]
    for k, attrs in enumerate([{}, {"mode": "nearest"}, *linear]):
        for sizes in None, ("n", 3, "h", "w"):
            net = Net(block)
            net.leave(net.upsample(net.conv("x", numbers(24, 3, 1, 1)), 2, 3, **attrs), "y")
            add(c, f"{block}_upsample_{k}" + "_sizes" * bool(sizes), net, numbers(1, 3, 4, 5), sizes)


def add_orders(c, block):
    """Channels last before and after blocks; other operators between them."""
    for inside in False, True:
        for outside in False, True:
            net = Net(block)
            x = net.conv(net.enter("x", 24, inside), numbers(24, 24, 1, 1))
            net.leave(x, "y", outside)
            add(c, f"{block}_order_{int(inside)}{int(outside)}", net, numbers(2, 4, 5, 24) if inside else numbers(2, 24, 4, 5))
    net = Net(block)
    x = net.conv("x", numbers(24, 3, 3, 3), activation="Relu", **SAME)
    wide = [net.conv(x, numbers(16, 24, 1, 1)), net.conv(x, numbers(32, 24, 3, 3), **SAME)]
    both = net.node("Concat", *wide, own=False, axis=1)
    more = net.node("Mul", net.node("Sigmoid", both, own=False), both, own=False)
    net.leave(net.conv(more, numbers(24, 48, 1, 1), add=x), "y")
    add(c, f"{block}_between", net, numbers(1, 3, 6, 5), ("n", 3, "h", "w"))


def add_saved(c):
    """A model that ONNX Runtime has saved for this processor."""
    net = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float[2, 3, 16, 20] x) => (float[2, 24, 1, 1] y)
        <float[24, 3, 3, 3] w1, float[24] b1, float[24, 1, 3, 3] w2, float[40, 24, 1, 1] w3, float[24, 40, 1, 1] w4, float[24] m, float[24] v> {
        a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w1, b1)  b = BatchNormalization (a, b1, m, m, v)  c = Relu (b)
        d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)  e = Conv <group = 24, kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (d, w2)
        f = HardSigmoid (e)  g = Conv (f, w3)  h = Conv (g, w4)  i = Add (h, d)  j = Relu (i)
        k = Concat <axis = 1> (j, d)  l, m2 = Split <axis = 1> (k)  n = Add (l, m2)  y = GlobalAveragePool (n) }""")
    for v in net.graph.value_info:
        shape = [d.dim_value for d in v.type.tensor_type.shape.dim]
        net.graph.initializer.append(numpy_helper.from_array(abs(numbers(*shape)) if v.name == "v" else numbers(*shape), v.name))
    del net.graph.value_info[:]
    x = numbers(2, 3, 16, 20)
    y = onnxruntime.InferenceSession(net.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    with tempfile.TemporaryDirectory() as folder:
        how = onnxruntime.SessionOptions()
        how.optimized_model_filepath = os.path.join(folder, "m.onnx")
        onnxruntime.InferenceSession(net.SerializeToString(), how, providers=["CPUExecutionProvider"])
        c.write("nchwc_saved", onnx.load(how.optimized_model_filepath), [x], y)
