"""Kernels with two types, in all pairs that an operator has; and kernels in types that other tests use only for folding. A model has many
nodes; all results are exact and written here."""
import ml_dtypes
import numpy as np
from onnx import helper, numpy_helper


HALF, BRAIN = np.float16, ml_dtypes.bfloat16
FLOATS = HALF, BRAIN, np.float32, np.float64
WHOLE = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64
INDICES = np.int32, np.int64
MOVED = np.uint8, np.uint16, np.uint32, np.uint64, np.complex128     # one of each size


def tag(t):
    return helper.np_dtype_to_tensor_dtype(np.dtype(t))


class Nodes:
    """A model of independent nodes, each with inputs and outputs of its own."""

    def __init__(self, version, domain=""):
        self.version = version
        self.nodes, self.given, self.inputs, self.made, self.outputs = [], [], [], [], []

    def add(self, op, inputs, results, sizes=None, **attributes):
        """sizes: for each input, the names of open sizes, or None. A result is an array; None: an omitted output."""
        k, names = len(self.nodes), []
        for i, x in enumerate(inputs):
            names.append("" if x is None else f"x{k}_{i}")
            if x is not None:
                open_sizes = sizes and sizes[i]
                shape = [s and f"{s}{k}" or d for s, d in zip(open_sizes, x.shape)] if open_sizes else x.shape
                self.given.append(helper.make_tensor_value_info(names[-1], tag(x.dtype), shape))
                self.inputs.append(x)
        outs = ["" if y is None else f"y{k}_{i}" for i, y in enumerate(results)]
        for name, y in zip(outs, results):
            if y is not None:
                shape = [f"{name}_{a}" for a in range(y.ndim)] if sizes else y.shape
                self.made.append(helper.make_tensor_value_info(name, tag(y.dtype), shape))
                self.outputs.append(y)
        self.nodes.append(helper.make_node(op, names, outs, **attributes))

    def save(self, c, name):
        graph = helper.make_graph(self.nodes, name, self.given, self.made)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.version)], ir_version=10)
        c.write(f"pairs_{name}", model, self.inputs, self.outputs)


def ramp(t, *shape, step=1, first=0):
    return (np.arange(np.prod(shape)) * step + first).reshape(shape).astype(t)


def add_samples(c):
    """Halfway between two pixels is their mean; the nearest one is unchanged."""
    at = np.array([-1, -0.5, 0, 0.5, 1]).reshape(1, 1, 5, 1) * [1, 0]
    row = np.array([0, 1, 2, 3, 4])
    for u in FLOATS:
        m = Nodes(22)
        for t in (*WHOLE, *FLOATS):
            x = ramp(t, 1, 1, 1, 3, step=4)     # 0 4 8 in one row
            m.add("GridSample", [x, at.astype(u)], [(row * 2).astype(t).reshape(1, 1, 1, 5)], align_corners=1)
        x = np.array([[[[False, True, True]]]])
        m.add("GridSample", [x, at[:, :, ::2].astype(u)], [x], align_corners=1)
        for t in MOVED:
            x = ramp(t, 1, 1, 1, 3, first=7)
            m.add("GridSample", [x, at[:, :, ::2].astype(u)], [x], align_corners=1, mode="nearest")
        m.save(c, f"grid_{np.dtype(u).name}")


def add_norms(c):
    """Inputs of +-2, with the mean 0, the deviation 2, and the mean square 4."""
    x, scale, bias = np.array([[2, -2] * 17, [-2, 2] * 17]), ramp(int, 34) % 4, ramp(int, 34) % 3
    for t in FLOATS:
        m, r = Nodes(22), Nodes(23)
        for u in np.float32, BRAIN:
            y = [(x / 2 * scale + bias).astype(t), np.zeros((2, 1), u), np.full((2, 1), 0.5, u)]
            m.add("LayerNormalization", [v.astype(t) for v in (x, scale, bias)], y, stash_type=tag(u), epsilon=0.0)
        for v in FLOATS:
            r.add("RMSNormalization", [x.astype(t), scale.astype(v)], [(x / 2 * scale).astype(v)], epsilon=0.0)
        m.save(c, f"layer_norm_{np.dtype(t).name}")
        r.save(c, f"rms_norm_{np.dtype(t).name}")


def add_places(c):
    at = np.array([2, 0, -1])
    reduced = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for i in INDICES:
        m = Nodes(18)
        for t in MOVED:
            x, u = ramp(t, 4, 3, first=1), ramp(t, 1, 3, first=40)
            m.add("Gather", [x, at.astype(i)], [x[at]])
            m.add("GatherElements", [x, at.astype(i).reshape(1, 3)], [x[at, [0, 1, 2]].reshape(1, 3)])
            y = x.copy()
            y[at, [0, 1, 2]] = u[0]
            m.add("ScatterElements", [x, at.astype(i).reshape(1, 3), u], [y])
            if i == np.int64:
                m.add("GatherND", [x, at.astype(i).reshape(3, 1)], [x[at]])
                y = x.copy()
                y[1] = u[0]
                m.add("ScatterND", [x, np.array([[1]], i), u], [y])
        for k, t in enumerate((*WHOLE, *FLOATS, bool)):
            x, u = ramp(t, 4, 3, first=1), ramp(t, 1, 3, first=2)
            for name in list(reduced)[k % 2 if t != bool else 2:][::2] if t != bool else ["min", "max"]:
                y = x.copy()
                y[at, [0, 1, 2]] = reduced[name](y[at, [0, 1, 2]], u[0])
                m.add("ScatterElements", [x, at.astype(i).reshape(1, 3), u], [y], reduction=name)
                if i == np.int64:
                    y = x.copy()
                    y[1] = reduced[name](y[1], u[0])
                    m.add("ScatterND", [x, np.array([[1]], i), u], [y], reduction=name)
        m.save(c, f"places_{np.dtype(i).name}")


def add_chances(c):
    """One class has probability 1; losses, by the score of the target."""
    m = Nodes(22)
    for t in FLOATS:
        for i in INDICES:
            sure = np.full((2, 4), -60)
            sure[0, 2] = sure[1, 1] = 0
            m.add("Multinomial", [sure.astype(t)], [np.array([[2] * 3, [1] * 3], i)], dtype=tag(i), sample_size=3)
            x, target = ramp(t, 2, 4), np.array([3, 1])
            m.add("NegativeLogLikelihoodLoss", [x, target.astype(i)], [-x[[0, 1], target]], reduction="none")
    m.save(c, "chances")


def add_joined(c):
    """Concat of few and of many parts."""
    for parts in 2, 3, 4, 8, 16:
        m = Nodes(13)
        for t in MOVED:
            x = [ramp(t, 2, 1 + k % 3, first=5 * k) for k in range(parts)]
            m.add("Concat", x, [np.concatenate(x, 1)], axis=1)
        m.save(c, f"concat_{parts}")


def add_made(c):
    """Operators whose only inputs are sizes, with run-time sizes."""
    eyes = Nodes(22)
    for t in (*WHOLE, *FLOATS, bool):
        eyes.add("EyeLike", [np.zeros((3, 5), np.float32)], [np.eye(3, 5, 1, dtype=t)], sizes=[("n", "m")], dtype=tag(t), k=1)
    eyes.save(c, "eyes")
    ranges = Nodes(11)
    for t in np.int16, np.int32, np.int64, np.float32, np.float64:
        ends = [np.array(v, t) for v in (3, 14, 2)]
        ranges.add("Range", ends, [np.arange(3, 14, 2).astype(t)], sizes=[(), (), ()])
    ranges.save(c, "ranges")


def add_resized(c):
    """Resize to twice the length: halfway between two elements is their mean."""
    m = Nodes(19)
    for t in (*WHOLE, np.float16, BRAIN, np.float32, np.float64):
        x, y = ramp(t, 1, 1, 3, step=4), ramp(t, 1, 1, 5, step=2)
        m.add("Resize", [x, None, None, np.array([1, 1, 5])], [y], mode="linear", coordinate_transformation_mode="align_corners")
    nodes, kept = m.nodes, m.given
    for k, node in enumerate(nodes):        # the sizes are known, so that the outputs' are
        size = f"x{k}_3"
        i = [v.name for v in kept].index(size)
        del kept[i], m.inputs[i]
        node.input[3] = "sizes"
    constant = helper.make_node("Constant", [], ["sizes"], value=numpy_helper.from_array(np.array([1, 1, 5])))
    nodes.insert(0, constant)
    m.save(c, "resized")


def add_conditions(c):
    """Where and Compress with a type of each size; ConstantOfShape with run-time sizes."""
    m = Nodes(16)
    for t in MOVED:
        if t != np.complex128:
            x, y, on = ramp(t, 5, first=1), ramp(t, 5, first=11), np.array([1, 0, 1, 1, 0], bool)
            m.add("Where", [on, x, y], [np.where(on, x, y)])
    m.save(c, "where")
    m = Nodes(11)
    for t in MOVED:
        x = ramp(t, 5, 2, first=1)
        m.add("Transpose", [x], [x.T.copy()])
        m.add("ReverseSequence", [x.reshape(5, 2, 1), np.array([5, 2])],
              [np.stack([x[::-1, 0], np.concatenate([x[1::-1, 1], x[2:, 1]])], 1).reshape(5, 2, 1)])
    m.save(c, "moved")


def add_pairs(c):
    for add in (add_samples, add_norms, add_places, add_chances, add_joined, add_made, add_resized, add_conditions):
        add(c)
