"""Kernels in types in which no other test calls them at run time; the expected results are written here, or ONNX Runtime's."""
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from containers import add

BF16, F16, F32, F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64


def add_instances(c):
    rng = np.random.default_rng(14)
    for make in (add_moves, add_sizes, add_attention, add_signals, add_lookups, add_limits, add_trees):
        make(c, rng)


def add_moves(c, rng):
    """Elements of every size: axes that cannot be merged, parts of sequences, fills."""
    kinds = {"u8": np.uint8, "f16": F16, "string": object, "i4": ml_dtypes.int4, "u2": ml_dtypes.uint2}
    for name, kind in kinds.items():
        x = rng.integers(0, 4, (2, 3, 2, 3, 2, 3))
        x = (x + 7 * np.arange(x.size).reshape(x.shape)).astype(str) if kind is object else x.astype(kind)
        x = x.astype(kind)
        perm = [5, 2, 4, 0, 3, 1]
        c.add(f"instance_transpose_{name}", "Transpose", [x], {"perm": perm}, version=25, by=[x.transpose(perm)])
    for name, kind in ("float16", F16), ("uint8", np.uint8), ("bool", bool):
        x = rng.integers(0, 2, (7, 3)).astype(kind)
        parts = [x[:3], x[3:6], x[6:]]
        add(c, f"instance_cut_{name}", f'<ir_version: 10, opset_import: ["": 21]> g ({name}[n, 3] x) => (seq({name}[k, 3]) y) {{ '
            "three = Constant <value = int64 {3}> () y = SplitToSequence (x, three) }", [x], [parts])
    for value in np.array([-1.5], F16), np.array([200], np.uint8), np.array([-7], np.int16), np.array([1.25], BF16), np.array([True]):
        attrs = {"value": numpy_helper.from_array(value)}
        c.add(f"instance_fill_{value.dtype.name}", "ConstantOfShape", [np.array([5, 3])], attrs, version=24, by=[np.full((5, 3), value[0])])


def add_sizes(c, rng):
    """Run-time sizes as 32-bit numbers; a 16-bit range."""
    x = rng.standard_normal((3, 4)).astype(F32)
    add(c, "instance_dims", '<ir_version: 8, opset_import: ["": 17]> g (float[n, m] x, int32[2] i) => (int32[2] y) { '
        "s = Shape (x) t = Cast <to = 6> (s) y = Add (t, i) }", [x, np.array([10, -20], np.int32)])
    add(c, "instance_dims_alone", '<ir_version: 8, opset_import: ["": 17]> g (float[n, m] x) => (int32[2] y) { '
        "s = Shape (x) y = Cast <to = 6> (s) }", [x])
    for name, ends in ("up", (-5, 20, 4)), ("down", (30000, -30000, -9999)):
        c.add(f"instance_range_{name}", "Range", [np.array(v, np.int16) for v in ends], version=11, by=[np.arange(*ends).astype(np.int16)])


def attention(q, k, v, state, rule):
    """Head by head, step by step: S += k v^T (delta: k (v - k S)^T); y = q S."""
    y, state = np.zeros(v.shape), state.astype(F64)
    for b in range(len(q)):
        for h in range(state.shape[1]):
            for t in range(q.shape[1]):
                keys, values = k[b, t].reshape(state.shape[1], -1)[h].astype(F64), v[b, t].reshape(state.shape[1], -1)[h].astype(F64)
                state[b, h] += np.outer(keys, values)
                y[b, t].reshape(state.shape[1], -1)[h] = q[b, t].reshape(state.shape[1], -1)[h].astype(F64) @ state[b, h]
    return y, state


def add_attention(c, rng):
    """Small integers, whose sums are representable in every type."""
    for name, kind in ("f16", F16), ("bf16", BF16), ("f32", F32):
        for past, of_state in ("f16", F16), ("bf16", BF16), ("f32", F32):
            q, k, v = (rng.integers(-1, 2, (2, 4, 2 * n)).astype(kind) for n in (3, 3, 5))
            state = rng.integers(-2, 3, (2, 2, 3, 5)).astype(of_state)
            y, now = attention(q, k, v, state, "linear")
            c.add(f"instance_linear_attention_{name}_{past}", "LinearAttention", [q, k, v, state],
                  {"update_rule": "linear", "q_num_heads": 2, "kv_num_heads": 2, "scale": 1.0}, version=27, outputs=2,
                  by=[y.astype(kind), now.astype(of_state)])


def add_signals(c, rng):
    """In double: a transform of run-time length, windows on the mel scale, an image of run-time size."""
    for n in 7, 8, 9:
        x = rng.standard_normal((2, n, 2))
        y = np.fft.fft(x[..., 0] + 1j * x[..., 1])
        c.add(f"instance_dft_{n}", "DFT", [x, None, np.array(1)], version=20, consts=(2,), sizes=[("b", "n", None), None, None],
              by=[np.stack([y.real, y.imag], -1)])
    edges = [np.array(v, F64) for v in (0, 4000)]
    c.add("instance_mel", "MelWeightMatrix", [np.array(8), np.array(32), np.array(8192), *edges], {"output_datatype": TensorProto.DOUBLE},
          version=17, consts=(0, 1), by="reference")
    x = rng.standard_normal((1, 2, 5, 7))
    for mode in "linear", "cubic", "nearest":
        c.add(f"instance_resize_{mode}", "Resize", [x, None, np.array([1, 1, 1.7, 0.8], F32)], {"mode": mode}, version=19, consts=(2,),
              sizes=[(None, None, "h", "w"), None, None], by="reference")


def add_lookups(c, rng):
    """Lookup tables for functions of a byte, with enough elements."""
    for kind in "uint8", "int8":
        x = np.resize(np.arange(256), 1111).astype(kind)
        scale, zero = F32(0.0625), np.dtype(kind).type(100 if kind == "uint8" else -28)
        real = (x.astype(F32) - F32(zero)) * scale
        y = np.clip(np.rint(real * np.clip(real / 6 + 0.5, 0, 1) / scale) + zero, *[np.iinfo(kind).min, np.iinfo(kind).max]).astype(kind)
        number = numpy_helper.from_array(np.array(zero), "zero")
        nodes = [helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["r"]), helper.make_node("HardSwish", ["r"], ["h"]),
                 helper.make_node("QuantizeLinear", ["h", "scale", "zero"], ["y"])]
        info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), [1111]) for n in "xy"]
        graph = helper.make_graph(nodes, "g", info[:1], info[1:], [numpy_helper.from_array(np.array(scale), "scale"), number])
        c.write(f"instance_table_{kind}", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), [x], [y])


def add_limits(c, rng):
    """Numbers that the specification limits, in every type: nothing is dropped with a ratio of 0."""
    for kind in F16, BF16, F32, F64:
        x = rng.standard_normal((3, 4)).astype(F32)
        name = np.dtype(kind).name
        c.add(f"instance_dropout_{name}", "Dropout", [x, np.array(0, kind), np.array(True)], version=22, outputs=2,
              by=[x, np.ones(x.shape, bool)])
    add(c, "instance_branch", """<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] x, bool wrong) => (float[k] y) {
        y = If (wrong) <then_branch = t () => (float[a] p) { shape = Constant <value_ints = [7]> () p = Reshape (x, shape) },
            else_branch = e () => (float[b] q) { six = Constant <value_ints = [6]> () q = Reshape (x, six) }> }""",
        [rng.standard_normal((2, 3)).astype(F32), np.array(False)], by="reference")


def add_trees(c, rng):
    """Trees with more features than 16 bits can index."""
    far = 40000
    for kind in F32, F64:
        nodes = {"nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
                 "nodes_featureids": [far, 0, 0], "nodes_values": [0.5, 0.0, 0.0], "nodes_truenodeids": [1, 0, 0],
                 "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
                 "target_weights": [3.0, -2.0], "n_targets": 1}
        x = np.zeros((2, far + 1), kind)
        x[1, far] = 1
        c.add(f"instance_trees_{np.dtype(kind).name}", "TreeEnsembleRegressor", [x], nodes, version=1, domain="ai.onnx.ml",
              by=[np.array([[3], [-2]], F32)])
