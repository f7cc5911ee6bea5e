"""Writes a decoder of 135 million parameters with weights of 4 bits: decoder.py FILE.onnx. It has 30 layers and random weights; a step
reads one token, and the keys and values of earlier ones."""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

LAYERS, WIDTH, HEADS, GROUPS, DEPTH, INNER, WORDS, PAST, BLOCK = 30, 576, 9, 3, 64, 1536, 49152, 128, 32


def main(file):
    rng = np.random.default_rng(1)
    nodes, held = [], []

    def hold(name, x, kind=None):
        held.append(helper.make_tensor(name, kind or helper.np_dtype_to_tensor_dtype(x.dtype), x.shape, x.tobytes(), raw=True))
        return name

    def node(op, inputs, out, domain="com.microsoft", **attributes):
        nodes.append(helper.make_node(op, inputs, out if isinstance(out, list) else [out], domain=domain, **attributes))
        return out

    def product(x, name, k, n):
        w = hold(f"{name}_w", rng.integers(0, 256, (n, k // BLOCK, BLOCK // 2)).astype(np.uint8))
        s = hold(f"{name}_s", (rng.uniform(.5, 1, n * k // BLOCK) / 40).astype(np.float32))
        return node("MatMulNBits", [x, w, s], name, K=k, N=n, bits=4, block_size=BLOCK)

    def norm(x, name):
        return node("SimplifiedLayerNormalization", [x, hold(f"{name}_g", np.ones(WIDTH, np.float32))], name, domain="", epsilon=1e-5)

    angle = np.arange(PAST + 1)[:, None] / 10000 ** (np.arange(DEPTH // 2) * 2 / DEPTH)
    cos, sin = hold("cos", np.cos(angle).astype(np.float32)), hold("sin", np.sin(angle).astype(np.float32))
    last, total = hold("last", np.array([[PAST]], np.int32)), hold("total", np.array(PAST + 1, np.int32))
    table = hold("table", rng.standard_normal((WORDS, WIDTH)).astype(np.float32))
    x = node("Gather", [table, "token"], "x", domain="")
    inputs = [helper.make_tensor_value_info("token", T.INT64, (1, 1))]
    outputs = [helper.make_tensor_value_info("logits", T.FLOAT, (1, 1, WORDS))]
    for i in range(LAYERS):
        h = norm(x, f"h{i}")
        q, k, v = (product(h, f"{n}{i}", WIDTH, d * DEPTH) for n, d in (("q", HEADS), ("k", GROUPS), ("v", GROUPS)))
        for n in "kv":
            inputs.append(helper.make_tensor_value_info(f"past_{n}{i}", T.FLOAT, (1, GROUPS, PAST, DEPTH)))
            outputs.append(helper.make_tensor_value_info(f"present_{n}{i}", T.FLOAT, (1, GROUPS, PAST + 1, DEPTH)))
        a, _, _ = node("GroupQueryAttention", [q, k, v, f"past_k{i}", f"past_v{i}", last, total, cos, sin], [f"a{i}", f"present_k{i}", f"present_v{i}"],
                       num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)
        y = node("Add", [x, product(a, f"o{i}", HEADS * DEPTH, WIDTH)], f"y{i}", domain="")
        g = norm(y, f"g{i}")
        gate, up = product(g, f"gate{i}", WIDTH, INNER), product(g, f"up{i}", WIDTH, INNER)
        s = node("Mul", [gate, node("Sigmoid", [gate], f"s{i}", domain="")], f"silu{i}", domain="")
        m = node("Mul", [s, up], f"m{i}", domain="")
        x = node("Add", [y, product(m, f"d{i}", INNER, WIDTH)], f"x{i}", domain="")
    product(norm(x, "final"), "logits", WIDTH, WORDS)
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
