"""Chooses the weights of a convolutional network, layer by layer, so that its values stay in range.

Random weights alone let activations grow or die over a hundred layers, and a saturated softmax would hide every error.
Every Conv and Gemm gets He-scaled weights, then each output channel is brought to about mean 0 and deviation 1, as a
trained network's folded batch normalisation would do; BatchNormalization gets the statistics of its input; the last
layer is scaled to a deviation of 2, so that many results of the softmax after it are significant."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def run_node(node, values, imports):
    """Runs one node in a session of its own, with every tensor as an input, so that no weight is copied."""
    feeds = {i: values[i] for i in node.input if i}
    inputs = [helper.make_tensor_value_info(i, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
              for i, x in feeds.items()]
    outputs = [onnx.ValueInfoProto(name=o) for o in node.output if o]
    m = helper.make_model(helper.make_graph([node], "one", inputs, outputs), opset_imports=imports, ir_version=8)
    o = onnxruntime.SessionOptions()
    o.log_severity_level = 4
    o.intra_op_num_threads = 2
    s = onnxruntime.InferenceSession(m.SerializeToString(), o, providers=["CPUExecutionProvider"])
    return dict(zip([o for o in node.output if o], s.run(None, feeds)))


class Calibrator:
    def __init__(self, model, feeds, weights, rng):
        """weights: name -> shape of the tensors to choose."""
        self.model, self.shapes, self.rng = model, weights, rng
        self.values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | feeds
        self.chosen = {}
        self.uses = {}
        for n in model.graph.node:
            for i in n.input:
                self.uses.setdefault(i, []).append(n)

    def choose(self, name, array):
        self.chosen[name] = self.values[name] = np.ascontiguousarray(array, np.float32).reshape(self.shapes[name])

    def normal(self, name, std=1.0):
        return self.rng.standard_normal(self.shapes[name], np.float32) * np.float32(std)

    def last(self, node):
        """No other weighted layer follows."""
        front, seen = list(node.output), set()
        while front:
            for n in self.uses.get(front.pop(), []):
                if n.op_type in ("Conv", "Gemm", "MatMul"):
                    return False
                if n.name not in seen:
                    seen.add(n.name)
                    front += n.output
        return True

    def weighted(self, node):
        w, b = node.input[1], node.input[2] if len(node.input) > 2 else None
        shape = self.shapes[w]
        fan = np.prod(shape[1:]) if node.op_type == "Conv" else shape[1] if self.trans(node) else shape[0]
        self.choose(w, self.normal(w, np.sqrt(2 / fan)))
        if b:
            self.choose(b, np.zeros(self.shapes[b]))
        y = run_node(node, self.values, self.model.opset_import)[node.output[0]]
        axes = (0, *range(2, y.ndim))
        if self.last(node) or y.size // y.shape[1] < 16:     # too few values for statistics per channel
            scale = np.full(y.shape[1], (2 if self.last(node) else 1) / y.std())
            mean = np.zeros(y.shape[1])
        else:
            scale = 1 / np.sqrt(y.var(axes) + 0.1 * y.var())
            mean = y.mean(axes) * scale
        if not b:                                            # a normalisation follows
            return
        along = 0 if node.op_type == "Conv" or self.trans(node) else 1
        self.choose(w, self.values[w] * scale.reshape([-1 if i == along else 1 for i in range(len(shape))]))
        self.choose(b, 0.2 * self.normal(b) - mean)

    @staticmethod
    def trans(node):
        return any(a.name == "transB" and a.i for a in node.attribute)

    def normalisation(self, node):
        x = self.values[node.input[0]]
        _, scale, bias, mean, var = node.input
        axes = (0, *range(2, x.ndim))
        self.choose(mean, x.mean(axes))
        self.choose(var, x.var(axes) + 0.1 * x.var())
        self.choose(scale, 1 + 0.2 * self.normal(scale))
        self.choose(bias, 0.2 * self.normal(bias))

    def run(self):
        left = {name: len(nodes) for name, nodes in self.uses.items()}
        for node in self.model.graph.node:
            if node.op_type in ("Conv", "Gemm") and node.input[1] in self.shapes:
                self.weighted(node)
            elif node.op_type == "BatchNormalization":
                self.normalisation(node)
            for i in node.input:        # remaining weights: separate scales or offsets, as Caffe writes them
                if i in self.shapes and i not in self.values:
                    scales = any(n.op_type == "Mul" for u in self.uses[i] for o in u.output for n in self.uses.get(o, []))
                    self.choose(i, (1 if scales else 0) + 0.2 * self.normal(i))
            self.values |= run_node(node, self.values, self.model.opset_import)
            for i in node.input:
                if i:
                    left[i] -= 1
                    if not left[i]:
                        self.values.pop(i, None)
        return self.chosen


def calibrate(model, feeds, weights, rng):
    """name -> array for every name in weights (name -> shape)."""
    return Calibrator(model, feeds, {k: tuple(v) for k, v in weights.items()}, rng).run()
