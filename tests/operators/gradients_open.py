"""Gradients of small models with run-time sizes, compared with difference quotients as in gradients.py."""

import numpy as np

from gradient_decompose import FLOATS
from gradients import LAYERS, add_gradient

WAVE = " wave = Sin(o) s = Mul(o, wave) y = ReduceSum <keepdims = 0> (s) "

# Models of gradients.py: {value of a size there: its name}.
SIZES = {
    "conv_weights_of_groups": {4: "c", 5: "h"}, "conv_transpose_same": {1: "n", 4: "h"}, "conv_transpose_groups": {5: "h"},
    "max_pool": {2: "n", 3: "c", 5: "h", 6: "v"}, "average_pool": {2: "n", 3: "c", 5: "h", 6: "v"}, "average_pool_pads": {1: "n", 2: "c", 7: "h"},
    "average_pool_gaps": {2: "c", 8: "h"}, "average_pool_ceil": {1: "n", 6: "h", 5: "v"}, "lp_pool": {2: "c", 5: "h", 4: "v"},
    "global_pools": {3: "c", 4: "h", 2: "v"}, "lrn": {5: "n"}, "col2im": {2: "n", 8: "c", 6: "blocks"},
}
LARGER = "p = ConvTranspose(x, w) e = Constant <value = int64[6] {{0, 0, 0, 0, 0, {}}}> () o = Pad(p, e)"
# name: (names as above, the shapes of the inputs, the nodes that compute a result, equivalent nodes)
OPEN = {
    "conv": ({7: "h", 8: "v", 5: "n"}, {"x": (5, 3, 7, 8), "w": (4, 3, 2, 3), "b": (4,)},
             "o = Conv <strides = [2, 3], pads = [1, 0, 2, 1], dilations = [2, 1]> (x, w, b)"),
    "conv_batch": ({5: "n"}, {"x": (5, 2, 4), "w": (3, 2, 2)}, "o = Conv <strides = [2], pads = [1, 0]> (x, w)"),
    "conv_same": ({7: "h", 5: "v"}, {"x": (1, 2, 7, 5), "w": (2, 2, 3, 2)}, "o = Conv <strides = [3, 2], auto_pad = \"SAME_LOWER\"> (x, w)"),
    "conv_volume": ({5: "n", 4: "c", 3: "h"}, {"x": (5, 4, 3, 3, 3), "w": (2, 2, 1, 2, 2)}, "o = Conv <group = 2, pads = [0, 1, 0, 0, 0, 0]> (x, w)"),
    "conv_transpose": ({7: "h", 5: "v"}, {"x": (1, 4, 7, 5), "w": (4, 3, 2, 3), "b": (3,)},
                       "o = ConvTranspose <strides = [2, 3], dilations = [2, 1], pads = [1, 0, 0, 1], output_padding = [1, 0]> (x, w, b)"),
    "conv_transpose_shape": ({5: "h", 1: "n"}, {"x": (1, 3, 5), "w": (3, 2, 4)}, "o = ConvTranspose <output_shape = [10], strides = [2]> (x, w)",
                             "o = ConvTranspose <pads = [1, 1], strides = [2]> (x, w)"),
    "conv_transpose_larger_known": ({}, {"x": (1, 3, 4), "w": (3, 2, 2)}, "o = ConvTranspose <output_shape = [9]> (x, w)", LARGER.format(4)),
    "conv_transpose_larger": ({5: "h"}, {"x": (1, 3, 5), "w": (3, 2, 2)}, "o = ConvTranspose <output_shape = [11]> (x, w)", LARGER.format(5)),
    "average_pool_same": ({7: "h", 6: "v"}, {"x": (1, 2, 7, 6)}, "o = AveragePool <kernel_shape = [3, 4], strides = [2, 3], auto_pad = \"SAME_UPPER\"> (x)"),
    "lp_pool_volume": ({3: "h", 4: "v", 5: "u"}, {"x": (1, 2, 3, 4, 5)},
                       "o = LpPool <kernel_shape = [2, 1, 3], strides = [1, 2, 2], pads = [1, 0, 0, 0, 0, 1]> (x)"),
    "average_pool_none": ({0: "n", 3: "c"}, {"x": (0, 3, 4), "z": (2,)}, "p = AveragePool <kernel_shape = [3]> (x) e = ReduceSum(p) o = Add(e, z)",
                          "e = ReduceSum(x) o = Add(e, z)"),
    "conv_none": ({0: "n", 3: "h"}, {"x": (0, 2, 3), "w": (2, 2, 2)}, "p = Conv(x, w) e = ReduceSum(p) f = ReduceSum(w) o = Add(e, f)",
                  "e = ReduceSum(x) f = ReduceSum(w) o = Add(e, f)"),
}


def add_gradients_open(c):
    def add(name, *args, **how):
        add_gradient(c, f"open_{name}", *args, **how)

    for name, (sizes, shapes, *nodes) in {**{k: (v, *LAYERS[k]) for k, v in SIZES.items()}, **OPEN}.items():
        add(name, shapes, *(text + WAVE for text in nodes), sizes=sizes)
    sizes, shapes, nodes = OPEN["conv"]
    add("conv_float", shapes, nodes + WAVE, kind=np.float32, sizes=sizes)
    add("col2im_blocks", {"x": (2, 6, 15)}, "i = Shape(image) b = Shape(block) o = Col2Im <pads = [1, 0, 0, 0]> (x, i, b)" + WAVE,
        also={"image": np.zeros((4, 5)), "block": np.zeros((3, 1))}, sizes={6: "c", 15: "blocks", 4: "h", 5: "v", 3: "rows", 1: "columns"})
    add("causal_conv", {"x": (2, 3, 5), "w": (3, 1, 4)}, "o, t = CausalConvWithState(x, w)" + WAVE, kind=np.float32, sizes={5: "n", 4: "taps", 3: "c"})
    shapes, nodes = FLOATS["linear_attention_gated"]
    add("linear_attention_gated", shapes, nodes.replace("update", "scale = 0.1, update") + WAVE, kind=np.float32,
        sizes={2: "n", 3: "tokens", 8: "a", 4: "b", 6: "c"})
    add("twice_conv", {"x": (1, 2, 5), "w": (3, 2, 4)}, "o = Conv <strides = [2], pads = [1, 2]> (x, w)" + WAVE, twice="w", sizes={5: "h"})
