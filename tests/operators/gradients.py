"""Gradients of small models of every kind, compared with difference quotients, for which ONNX's reference computes the model without
Gradient."""

import copy
import dataclasses
import re
import typing
import zlib

import numpy as np
import onnx

from differences import evaluator, slope
from gradient_decompose import FLOATS, TWICE, WORDS

TYPES = {"d": "double", "f": "float", "l": "int64", "?": "bool"}

# name: (the shapes of the inputs, the nodes that compute a result, and equivalent nodes if the reference computes these only in float,
# or not at all)
ANGLES = ("c = Constant <value = double[1, 3, 2] {1, 0.5, -1, 0.3, 0.1, 0.9}> () "
          "e = Constant <value = double[1, 3, 2] {0, 2, 0.5, -0.3, 1, 0.25}> () ")
LAYERS = {
    "conv_weights_of_groups": ({"x": (2, 4, 5, 4), "w": (6, 2, 2, 3)}, "o = Conv <group = 2, strides = [2, 1], pads = [1, 1, 0, 1]> (x, w)"),
    "conv_transpose": ({"x": (2, 4, 3, 4), "w": (4, 3, 2, 3), "b": (3,)},
                       "o = ConvTranspose <strides = [2, 3], dilations = [2, 1], pads = [1, 0, 0, 1], output_padding = [1, 0]> (x, w, b)"),
    "conv_transpose_same": ({"x": (1, 2, 4), "w": (2, 2, 3)}, "o = ConvTranspose <auto_pad = \"SAME_UPPER\", strides = [2]> (x, w)"),
    "conv_transpose_groups": ({"x": (2, 4, 5), "w": (4, 3, 2)}, "o = ConvTranspose <group = 2, pads = [1, 0]> (x, w)",
                              "e, f = Split <axis = 1, num_outputs = 2> (x) g, h = Split <num_outputs = 2> (w) "
                              "i = ConvTranspose <pads = [1, 0]> (e, g) j = ConvTranspose <pads = [1, 0]> (f, h) o = Concat <axis = 1> (i, j)"),
    "max_pool": ({"x": (2, 3, 5, 6)}, "o = MaxPool <kernel_shape = [2, 3], strides = [1, 2], pads = [1, 1, 0, 1], ceil_mode = 1> (x)"),
    "max_pool_columns": ({"x": (1, 2, 4, 4)}, "o, at = MaxPool <kernel_shape = [3, 2], dilations = [1, 2], storage_order = 1> (x)"),
    "average_pool": ({"x": (2, 3, 5, 6)}, "o = AveragePool <kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 1, 1]> (x)"),
    "average_pool_pads": ({"x": (1, 2, 7)}, "o = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 1], count_include_pad = 1, dilations = [2]> (x)"),
    "average_pool_gaps": ({"x": (1, 2, 8)}, "o = AveragePool <kernel_shape = [2], strides = [3]> (x)"),
    "average_pool_ceil": ({"x": (1, 2, 6, 5)}, "o = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)"),
    "lp_pool": ({"x": (1, 2, 5, 4)}, "o = LpPool <kernel_shape = [2, 2], strides = [2, 1], p = 3> (x)"),
    "global_pools": ({"x": (2, 3, 4, 2)}, "a = GlobalAveragePool(x) m = GlobalMaxPool(x) o = Mul(a, m)"),
    "max_unpool": ({"x": (1, 1, 4, 6)}, "m, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) "
                   "o = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (m, at)"),
    "lrn": ({"x": (5, 5, 1, 1)}, "o = LRN <size = 2, alpha = 0.5, beta = 0.6, bias = 1.5> (x)"),
    "col2im": ({"x": (2, 8, 6)}, "i = Constant <value = int64[2] {4, 5}> () b = Constant <value = int64[2] {2, 2}> () "
               "o = Col2Im <strides = [2, 2], pads = [0, 0, 0, 1]> (x, i, b)"),
    "batch_norm": ({"x": (3, 2, 4), "a": (2,), "b": (2,)}, "m = Constant <value = double[2] {1, 2}> () "
                   "o, p, q = BatchNormalization <training_mode = 1> (x, a, b, m, m)"),
    "instance_norm": ({"x": (2, 3, 4, 2), "a": (3,), "b": (3,)}, "o = InstanceNormalization <epsilon = 0.1> (x, a, b)"),
    "group_norm": ({"x": (2, 4, 3), "a": (4,), "b": (4,)}, "o = GroupNormalization <num_groups = 2> (x, a, b)",
                   "r = Constant <value = int64[3] {2, 2, 6}> () g = Reshape(x, r) i = Constant <value = int64[1] {2}> () m = ReduceMean(g, i) "
                   "d = Sub(g, m) q = Mul(d, d) v = ReduceMean(q, i) e = Constant <value = double {1e-5}> () f = Add(v, e) h = Sqrt(f) "
                   "n = Div(d, h) l = Shape(x) j = Reshape(n, l) u = Constant <value = int64[1] {1}> () k = Unsqueeze(a, u) "
                   "p = Mul(j, k) t = Unsqueeze(b, u) o = Add(p, t)"),
    "rms_norm": ({"x": (2, 3, 4), "a": (3, 4)}, "o = RMSNormalization <axis = -2, epsilon = 0.1> (x, a)"),
    "lp_norm": ({"x": (2, 3, 4)}, "p = LpNormalization <axis = 1, p = 1> (x) q = LpNormalization(x) o = Mul(p, q)",
                "i = Constant <value = int64[1] {1}> () j = Constant <value = int64[1] {2}> () a = ReduceL1(x, i) b = ReduceL2(x, j) "
                "p = Div(x, a) q = Div(x, b) o = Mul(p, q)"),
    "mean_variance": ({"x": (2, 3, 4, 2)}, "o = MeanVarianceNormalization(x)",
                      "i = Constant <value = int64[3] {0, 2, 3}> () m = ReduceMean(x, i) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, i) "
                      "r = Sqrt(v) o = Div(d, r)"),
    "rotary": ({"x": (1, 2, 3, 4)}, ANGLES + "f = Cast <to = 1> (x) g = Cast <to = 1> (c) h = Cast <to = 1> (e) "
               "k = RotaryEmbedding(f, g, h) o = Cast <to = 11> (k)",
               ANGLES + "a, b = Split <axis = 3, num_outputs = 2> (x) j = Mul(a, c) k = Mul(b, e) l = Sub(j, k) m = Mul(a, e) "
               "n = Mul(b, c) p = Add(m, n) o = Concat <axis = 3> (l, p)"),
    "attention_heads": ({"q": (2, 4, 3, 4), "k": (2, 2, 5, 4), "v": (2, 2, 5, 3), "m": (3, 5)}, "o = Attention <softcap = 1.5> (q, k, v, m)"),
    "attention_causal": ({"q": (1, 3, 8), "k": (1, 3, 4), "v": (1, 3, 6)},
                         "o = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1, scale = 0.7> (q, k, v)"),
    "attention_past": ({"q": (1, 2, 2, 3), "k": (1, 2, 2, 3), "v": (1, 2, 2, 3), "p": (1, 2, 1, 3)},
                       "o, a, b = Attention <is_causal = 1> (q, k, v, , p, p)"),
    "loss": ({"x": (2, 3, 2), "w": (3,)}, "t = Constant <value = int64[2, 2] {1, 0, 2, 1}> () "
             "o = SoftmaxCrossEntropyLoss <ignore_index = 0> (x, t, w)"),
    "einsum": ({"a": (3, 3), "b": (3, 2)}, "o = Einsum <equation = \"ii,ij->j\"> (a, b)"),
}

# Equivalents of recurrent layers: each direction and sequence separately, as the reference requires, or step by step.
HALVES = "".join(f"{v}0, {v}1 = Split <num_outputs = 2> ({v}) " for v in ("w", "r", "b", "h", "c", "p"))
TURNED = """from = Constant <value = int64[1] {-1}> () to = Constant <value = int64[1] {-9}> () axis = Constant <value = int64[1] {0}> ()
    back = Slice(x, from, to, axis, from) """
SEQUENCES = """two = Constant <value = int64[2] {2, 1}> () x01, rest = Split (x, two) x0, none = Split <axis = 1, num_outputs = 2> (x01)
    all, x1 = Split <axis = 1, num_outputs = 2> (x) h0, h1 = Split <axis = 1, num_outputs = 2> (h)
    pads = Constant <value = int64[8] {0, 0, 0, 0, 1, 0, 0, 0}> () """
COUPLED = "".join(f"""
    g{t} = MatMul(x{t}, wt) k{t} = MatMul(h{t}, rt) s{t} = Add(g{t}, k{t}) z{t} = Clip(s{t}, low, high)
    i{t}, o{t}, f{t}, c{t} = Split <axis = 2, num_outputs = 4> (z{t})
    a{t} = HardSigmoid <alpha = 0.3, beta = 0.4> (i{t}) b{t} = Softsign(c{t}) u{t} = HardSigmoid <alpha = 0.3, beta = 0.4> (o{t}) n{t} = Sub(one, a{t})
    d{t} = Mul(n{t}, m{t}) e{t} = Mul(a{t}, b{t}) m{t + 1} = Add(d{t}, e{t}) l{t} = Mul(m{t + 1}, slope) q{t} = Add(l{t}, offset) h{t + 1} = Mul(u{t}, q{t})"""
                  for t in (0, 1))
RNN_STEPS = """x0, x1 = Split <num_outputs = 2> (x) wt = Transpose <perm = [0, 2, 1]> (w) rt = Transpose <perm = [0, 2, 1]> (r)
    w0, w1 = Split <num_outputs = 2> (wt) r0, r1 = Split <num_outputs = 2> (rt) in = Constant <value = double {0.8}> () out = Constant <value = double {1.2}> ()
    a = MatMul(x0, w0) b = Elu <alpha = 0.7> (a) c = MatMul(x1, w0) d = MatMul(b, r0) e = Add(c, d) f = Elu <alpha = 0.7> (e)
    g = MatMul(x1, w1) gi = Mul(g, in) gt = Tanh(gi) h = Mul(gt, out) i = MatMul(x0, w1) j = MatMul(h, r1) k = Add(i, j) ki = Mul(k, in) kt = Tanh(ki)
    l = Mul(kt, out) one = Constant <value = int64[1] {1}> () """
RECURRENT = {
    "lstm": ({"x": (3, 2, 4), "w": (2, 12, 4), "r": (2, 12, 3), "b": (2, 24), "h": (2, 2, 3), "c": (2, 2, 3), "p": (2, 9)},
             "o, v = LSTM <hidden_size = 3, direction = \"bidirectional\"> (x, w, r, b, , h, c, p)",
             HALVES + TURNED + "o0, v0 = LSTM <hidden_size = 3> (x, w0, r0, b0, , h0, c0, p0) u1, v1 = LSTM <hidden_size = 3> (back, w1, r1, b1, , h1, c1, p1) "
             "o1 = Slice(u1, from, to, axis, from) o = Concat <axis = 1> (o0, o1)"),
    "lstm_coupled": ({"x": (2, 2, 4), "w": (1, 12, 4), "r": (1, 12, 3)},
                     "o, v = LSTM <hidden_size = 3, input_forget = 1, clip = 1.0, activations = [\"HardSigmoid\", \"Softsign\", \"Affine\"], "
                     "activation_alpha = [0.3, 1.5], activation_beta = [0.4, 0.1]> (x, w, r)",
                     "x0, x1 = Split <num_outputs = 2> (x) wt = Transpose <perm = [0, 2, 1]> (w) rt = Transpose <perm = [0, 2, 1]> (r) "
                     "h0 = Constant <value = double[1, 1, 3] {0, 0, 0}> () m0 = Identity(h0) one = Constant <value = double {1}> () "
                     "low = Constant <value = double {-1}> () high = Constant <value = double {1}> () slope = Constant <value = double {1.5}> () "
                     "offset = Constant <value = double {0.1}> ()" + COUPLED + " at = Constant <value = int64[1] {1}> () y0 = Unsqueeze(h1, at) "
                     "y1 = Unsqueeze(h2, at) o = Concat <axis = 0> (y0, y1)"),
    "gru_lengths": ({"x": (3, 2, 4), "w": (1, 9, 4), "r": (1, 9, 3), "b": (1, 18), "h": (1, 2, 3)},
                    "n = Constant <value = int32[2] {2, 3}> () o, v = GRU <hidden_size = 3> (x, w, r, b, n, h)",
                    SEQUENCES + "a, a9 = GRU <hidden_size = 3> (x0, w, r, b, , h0) e, e9 = GRU <hidden_size = 3> (x1, w, r, b, , h1) "
                    "f = Pad(a, pads) o = Concat <axis = 2> (f, e)"),
    "gru_lengths_reverse": ({"x": (3, 2, 4), "w": (1, 9, 4), "r": (1, 9, 3), "b": (1, 18), "h": (1, 2, 3)},
                            "n = Constant <value = int32[2] {2, 3}> () o, v = GRU <hidden_size = 3, direction = \"reverse\"> (x, w, r, b, n, h)",
                            SEQUENCES + """from = Constant <value = int64[1] {-1}> () to = Constant <value = int64[1] {-9}> ()
                            axis = Constant <value = int64[1] {0}> () i = Slice(x0, from, to, axis, from) j = Slice(x1, from, to, axis, from)
                            a, a9 = GRU <hidden_size = 3> (i, w, r, b, , h0) e, e9 = GRU <hidden_size = 3> (j, w, r, b, , h1)
                            k = Slice(a, from, to, axis, from) l = Slice(e, from, to, axis, from) f = Pad(k, pads) o = Concat <axis = 2> (f, l)"""),
    "gru_before_reset": ({"x": (3, 2, 4), "w": (1, 9, 4), "r": (1, 9, 3), "b": (1, 18)},
                         "o, v = GRU <hidden_size = 3, linear_before_reset = 1> (x, w, r, b)"),
    "gru_last": ({"x": (2, 3, 4), "w": (1, 9, 4), "r": (1, 9, 3)}, "v, o = GRU <hidden_size = 3, layout = 1> (x, w, r)",
                 "t = Transpose <perm = [1, 0, 2]> (x) v, u = GRU <hidden_size = 3> (t, w, r) o = Transpose <perm = [1, 0, 2]> (u)"),
    "rnn": ({"x": (2, 2, 4), "w": (2, 17, 4), "r": (2, 17, 17)},
            "o, v = RNN <hidden_size = 17, direction = \"bidirectional\", activations = [\"Elu\", \"ScaledTanh\"], "
            "activation_alpha = [0.7, 1.2], activation_beta = [0.8]> (x, w, r)",
            RNN_STEPS + "b1 = Unsqueeze(b, one) l1 = Unsqueeze(l, one) f1 = Unsqueeze(f, one) h1 = Unsqueeze(h, one) "
            "p = Concat <axis = 1> (b1, l1) q = Concat <axis = 1> (f1, h1) o = Concat <axis = 0> (p, q)"),
}
MOVES = {
    "pad": ({"x": (3, 4), "c": ()}, "p = Constant <value = int64[4] {1, 3, 0, 2}> () o = Pad(x, p, c)"),
    "pad_reflect": ({"x": (3, 4)}, "p = Constant <value = int64[4] {1, 2, 2, 0}> () o = Pad <mode = \"reflect\"> (x, p)"),
    "split": ({"x": (5, 2)}, "p = Constant <value = int64[2] {2, 3}> () a, b = Split(x, p) c = ReduceMax <keepdims = 0> (a) o = Mul(b, c)"),
    "tile": ({"x": (2, 3)}, "r = Constant <value = int64[2] {2, 3}> () o = Tile(x, r)"),
    "gather_inside": ({"x": (2, 3, 4)}, "i = Constant <value = int64[2, 2] {2, 0, -1, 1}> () o = Gather <axis = 1> (x, i)"),
    "gather_elements": ({"x": (3, 4)}, "i = Constant <value = int64[3, 2] {2, 0, 1, -1, 2, 1}> () o = GatherElements <axis = 1> (x, i)"),
    "gather_nd": ({"x": (2, 3, 4)}, "i = Constant <value = int64[3, 2] {1, 0, 0, 2, 1, 0}> () o = GatherND(x, i)"),
    "gather_nd_batch": ({"x": (2, 3, 4)}, "i = Constant <value = int64[2, 1] {1, 2}> () o = GatherND <batch_dims = 1> (x, i)"),
    "scatter_elements": ({"x": (3, 4), "u": (2, 2)}, "i = Constant <value = int64[2, 2] {0, 3, 1, -1}> () o = ScatterElements <axis = 1> (x, i, u)"),
    "scatter_nd": ({"x": (3, 4), "u": (2, 4)}, "i = Constant <value = int64[2, 1] {2, 0}> () o = ScatterND(x, i, u)"),
    "slice_steps": ({"x": (5, 6)}, "f = Constant <value = int64[2] {4, 1}> () t = Constant <value = int64[2] {-9, 6}> () "
                    "a = Constant <value = int64[2] {0, 1}> () k = Constant <value = int64[2] {-2, 3}> () o = Slice(x, f, t, a, k)"),
    "blocks": ({"x": (1, 8, 2, 3)}, "d = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x) o = SpaceToDepth <blocksize = 2> (d)"),
    "reverse_sequence": ({"x": (4, 2)}, "n = Constant <value = int64[2] {3, 2}> () o = ReverseSequence <time_axis = 0, batch_axis = 1> (x, n)"),
    "compress": ({"x": (3, 2)}, "c = Constant <value = bool[3] {1, 0, 1}> () o = Compress <axis = 0> (x, c)"),
    "trilu": ({"x": (3, 4)}, "o = Trilu <upper = 0> (x)"),
    "top_k": ({"x": (2, 5)}, "k = Constant <value = int64[1] {3}> () o, at = TopK(x, k)"),
    "tensor_scatter": ({"p": (2, 4, 2), "u": (2, 2, 2)}, "w = Constant <value = int64[2] {1, 2}> () o = TensorScatter <axis = 1> (p, u, w)"),
    "cum_sum": ({"x": (2, 4)}, "a = Constant <value = int64 {1}> () o = CumSum <exclusive = 1> (x, a)"),
    "cum_prod": ({"x": (2, 4)}, "a = Constant <value = int64 {-1}> () o = CumProd <reverse = 1> (x, a)"),
    "mod": ({"x": (5,), "m": (5,)}, "e = Exp(m) o = Mod <fmod = 1> (x, e)"),
    "max_ties": ({"x": (4,)}, "a = Max(x, x) e = Exp(x) b = Min(a, e, a) o = Add(b, x)"),
    "reduce_max_ties": ({"x": (3,)}, "d = Concat <axis = 0> (x, x) a = ReduceMax(d) b = ReduceMin(d) o = Mul(a, b)"),
    "product_of_zeros": ({"x": (2, 3, 2), "z": (2, 3, 2)}, "n = Constant <value = double[2, 3, 1] {1, 0, 1, 1, 1, 1}> () "
                         "i = Constant <value = int64[2] {0, -1}> () a = Mul(z, n) b = Add(x, a) c = Sub(b, x) p = ReduceProd(c, i) o = Add(p, b)"),
    "power_of_zero": ({"x": (3,)}, "z = Sub(x, x) k = Constant <value = double[3] {0, 1, 2}> () p = Pow(z, k) o = Add(p, x)"),
    "scatter_one": ({"x": (3, 4)}, "i = Constant <value = int64[3, 4] {0, 1, 2, 0, 0, 1, 1, 2, 2, 2, 0, 1}> () "
                    "o = ScatterElements <reduction = \"max\"> (x, i, x)"),
    "scatter_mul_zero": ({"u": (2,)}, "z = Sub(u, u) i = Constant <value = int64[2] {1, 0}> () "
                         "p = ScatterElements <reduction = \"mul\"> (z, i, u) o = Add(p, u)"),
    "hardmax": ({"x": (2, 3)}, "h = Hardmax(x) o = Mul(h, x)"),
    "nothing": ({"x": (3, 0), "z": (2,)}, "k = Constant <value = int64[1] {0}> () f = Reshape <allowzero = 1> (x, k) "
                "p = Constant <value = int64[2] {1, 1}> () q = Pad(f, p) o = Mul(q, z)"),
    "shrink": ({"x": (6,)}, "o = Shrink <lambd = 0.3, bias = 0.1> (x)"),
    **{f"scatter_{how}": ({"x": (3, 4), "u": (2, 4)}, "i = Constant <value = int64[2, 4] {0, 1, 2, 0, 0, 1, 1, 2}> () "
                          f"o = ScatterElements <reduction = \"{how}\"> (x, i, u)") for how in ("add", "mul", "min", "max")},
    **{f"scatter_nd_{how}": ({"x": (3, 4), "u": (2, 4)}, "i = Constant <value = int64[2, 1] {2, 2}> () "
                             f"o = ScatterND <reduction = \"{how}\"> (x, i, u)") for how in ("add", "mul", "min", "max")},
    **{f"resize_{mode}": ({"x": (1, 2, 4, 3)}, "r = Constant <value = float[4] {1, 1, 1.6, 2.5}> () "
                          f"o = Resize <mode = \"{mode}\"> (x, , r)") for mode in ("nearest", "linear", "cubic")},
    "resize_smaller": ({"x": (1, 2, 7, 6)}, "z = Constant <value = int64[4] {1, 2, 3, 4}> () o = Resize <mode = \"linear\", antialias = 1> (x, , , z)"),
}


# The inputs of operators whose sizes must be known at compile time, and sizes of axes that must be known.
KNOWN_INPUTS = {"Conv": [1], "ConvTranspose": [1], "DeformConv": [1], "LSTM": [2], "GRU": [2], "RNN": [2], "Resize": [1, 2], "Upsample": [1]}
KNOWN_SIZES = {"DFT": {1, 2}, "STFT": {1, 2}}


def known_sizes(graph, inputs):
    """The names of such inputs, and such sizes, of a graph."""
    def walk(nodes):
        for node in nodes:
            yield node
            for a in node.attribute:
                yield from walk(a.g.node)

    known = set()
    for node in [*walk(graph.node)][::-1]:
        known |= KNOWN_SIZES.get(node.op_type, set()) | {node.input[i] for i in KNOWN_INPUTS.get(node.op_type, []) if i < len(node.input)}
        if known.intersection(node.output):
            known.update(node.input)
    return {k for k in known if k in inputs or isinstance(k, int)}


@dataclasses.dataclass
class Problem:
    """A model that computes a number, y, and its gradient with respect to its inputs. shapes: the inputs' shapes or contents; nodes: those
    that compute y; otherwise: equivalent nodes for the reference, or a function of the inputs. at: inputs whose gradient is taken at another
    point, which is an input with 1 after its name. also: inputs without a gradient (tuples: sequences). place: the graph around the Gradient
    node. kind: the type of the inputs in the compiled model. twice: the sum of the sines of the gradient with respect to this input is
    differentiated again. sizes: {size: name} of sizes known only at run time. declared: sizes of inner values. opset, ml: versions of the
    operators."""

    name: str
    shapes: dict
    nodes: str
    otherwise: str | typing.Callable | None = None
    at: tuple = ()
    also: dict | None = None
    place: str = "{to} = {gradient}"
    kind: type = np.float64
    twice: str | None = None
    sizes: dict | None = None
    declared: str = ""
    opset: int = 27
    ml: int = 5

    def __post_init__(self):
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        self.x = {k: rng.standard_normal(v) if isinstance(v, tuple) else np.array(v, np.float64) for k, v in self.shapes.items()}
        self.elsewhere = {k: rng.standard_normal(self.shapes[k]) for k in self.at}
        self.known = set()  # inputs whose sizes must be known at compile time
        self.also = {k: list(v) if isinstance(v, tuple) else np.array(v) for k, v in (self.also or {}).items()}

    def feed(self):
        """The inputs of the nodes, at the point where the gradient is taken."""
        return {**self.x, **self.elsewhere, **self.also}

    def open(self):
        """The same problem with sizes known only at run time; None: there are none, or they have names already."""
        if self.sizes is not None:
            return None
        known = known_sizes(self.forward().graph, {**self.x, **self.also})
        values = {d for k, v in {**self.x, **self.also}.items() if k not in known for a in (v if isinstance(v, list) else [v]) for d in a.shape} - known
        p = copy.copy(self)
        p.name, p.known, p.sizes = self.name + "_open", known, {d: f"s{d}" for d in values}
        return p if values else None

    def listed(self, values):
        """Declarations of inputs or outputs in a model's text."""
        sizes = self.sizes or {}

        def kind(v, known):
            if isinstance(v, list):
                return f"seq({kind(v[0], known)})"
            return f"{TYPES[v.dtype.char]}[{','.join(str(d if known else sizes.get(d, d)) for d in v.shape)}]"

        return ", ".join(f"{kind(v, not self.known.isdisjoint((k, k[1:])))} {k}" for k, v in values.items())

    def text(self, nodes, kind):
        """The nodes for inputs of this kind; declarations in inner graphs have names for sizes known only at run time."""
        if kind == np.float32 and self.kind == np.float64:
            nodes = re.sub(r"\bdouble\b", "float", re.sub(r"\b((?:\w*type|to) = )11\b", r"\g<1>1", nodes))
        if self.sizes:
            sizes = self.sizes
            nodes = re.sub(r"((?:double|float)\[)([\d, ]+)(\]\)* [a-z])", lambda m: m[1] + re.sub(r"\d+", lambda d: sizes.get(int(d[0]), d[0]), m[2]) + m[3],
                           nodes)
        return nodes

    def parsed(self, opset, text):
        return onnx.parser.parse_model(f'<ir_version: 13, opset_import: ["": {opset}, "ai.onnx.ml": {self.ml}, "ai.onnx.preview": 1, '
                                       f'"ai.onnx.preview.training": 1]> g {text}')

    def forward(self, kind=np.float64, nodes=None):
        """The model of y alone."""
        return self.parsed(max(self.opset, 27), f"({self.listed({**self.x, **self.also})}) => (double y) {{ {self.text(nodes or self.nodes, kind)} }}")

    def model(self, kind):
        """(the model to be compiled, its inputs)"""
        nodes, y = self.nodes, "y"
        if self.twice:
            y = "waves"
            nodes += (f' first = ai.onnx.preview.training.Gradient <xs = ["{self.twice}"], y = "y"> ({self.twice}) '
                      "waved = Sin(first) waves = ReduceSum <keepdims = 0> (waved) ")
        given = {**{k: v.astype(kind) for k, v in self.x.items()}, **{k + "1": v.astype(kind) for k, v in self.elsewhere.items()},
                 **{k: [e.astype(kind) for e in v] if isinstance(v, list) else v.astype(kind) if v.dtype == self.kind else v
                    for k, v in self.also.items()}}
        results = {"d" + k: v.astype(kind) for k, v in self.x.items()}
        xs, actual = ", ".join(f'"{k}"' for k in self.x), ", ".join(k + "1" * (k in self.at) for k in self.x)
        step = self.place.format(to=", ".join(results), gradient=f'ai.onnx.preview.training.Gradient <xs = [{xs}], y = "{y}"> ({actual})')
        nodes, declared = self.text(f"{nodes} {step}", kind), self.text(self.declared, kind)
        return self.parsed(self.opset, f"({self.listed(given)}) => ({self.listed(results)}) {declared} {{ {nodes} }}"), list(given.values())

    def slopes(self):
        """The expected results: difference quotients."""
        forward, by = self.otherwise if callable(self.otherwise) else self.forward(nodes=self.otherwise), 1e-5
        if self.twice:
            run, by = evaluator(forward), 1e-4
            forward = lambda feed: np.sin(slope(run, feed, self.twice, by)).sum()  # noqa: E731
        return [slope(forward, self.feed(), k, by) for k in self.x]


def write_slopes(c, problem):
    """Writes two tests with difference quotients: with fixed sizes, and with sizes known only at run time."""
    results = [d.astype(problem.kind) for d in problem.slopes()]
    for p in problem, problem.open():
        if p:
            model, given = p.model(p.kind)
            rtol, atol = (1e-3, 1e-6) if p.twice or p.kind != np.float64 else (1e-5, 1e-6)
            c.write(f"gradient_{p.name}", model, given, results, rtol=rtol, atol=atol)


def add_gradient(c, *args, **how):
    """Writes the tests of a problem. c: the writer of cases.py or gradients_torch.py."""
    c.differentiate(Problem(*args, **how))


def add_gradients(c):
    def add(*args, **how):
        add_gradient(c, *args, **how)

    total = "y = ReduceSum <keepdims = 0> (s) "
    layers = """h = Gemm <transB = 1> (x, w, b) r = Tanh(h) o = MatMul(r, v) t = Constant <value = int64[3] {1, 0, 1}> ()
        y = SoftmaxCrossEntropyLoss(o, t) """
    shapes = {"x": (3, 4), "w": (5, 4), "b": (5,), "v": (5, 2)}
    add("layers", shapes, layers)
    add("layers_elsewhere", shapes, layers, at=("w", "b"))
    add("norm", {"x": (2, 3, 4), "a": (4,), "b": (4,)},
        "n = LayerNormalization(x, a, b) g = Gelu <approximate = \"tanh\"> (n) s = Mul(g, x) " + total)
    add("conv", {"x": (2, 3, 7, 8), "w": (4, 3, 2, 3), "b": (4,)},
        "h = Conv <strides = [2, 3], pads = [1, 0, 2, 1], dilations = [2, 1]> (x, w, b) s = Mul(h, h) " + total)
    add("conv_groups", {"x": (2, 4, 5)},
        "w = Constant <value = double[4, 2, 2] {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}> () "
        "h = Conv <group = 2, auto_pad = \"SAME_LOWER\"> (x, w) s = Mul(h, h) " + total)
    add("attention", {"q": (2, 3, 4), "k": (2, 5, 4), "v": (2, 5, 4)},
        "t = Transpose <perm = [0, 2, 1]> (k) p = MatMul(q, t) a = Softmax(p) o = MatMul(a, v) s = Mul(o, q) " + total)
    add("broadcast", {"a": (2, 3, 4), "b": (3, 1), "c": ()}, "d = Div(a, b) e = Mul(d, d) s = Sum(e, b, c) " + total)
    add("moves", {"a": (4, 3), "b": (4, 2)},
        """rows = Constant <value = int64[3] {1, 1, 3}> () g = Gather(a, rows) f = Constant <value = int64[1] {1}> ()
        e = Constant <value = int64[1] {4}> () p = Slice(b, f, e) j = Concat <axis = 1> (g, p) s = Mul(j, j) """ + total)
    add("reductions", {"a": (2, 3, 4)},
        """i = Constant <value = int64[2] {0, -1}> () e = Exp(a) m = ReduceMean(a, i) l = ReduceLogSumExp <keepdims = 0> (a, i)
        n = ReduceL2(e, i) o = ReduceMax(a, i) k = Mul(l, l) u = ReduceSum <keepdims = 0> (k) s = Sum(e, m, n, o, u) """ + total)
    wave = " wave = Sin(o) s = Mul(o, wave) " + total
    for name, (shapes, *nodes) in {**LAYERS, **RECURRENT, **MOVES, **WORDS}.items():
        add(name, shapes, *(text + wave for text in nodes))
    for name, (shapes, *nodes) in FLOATS.items():
        add(name, shapes, *(text + wave for text in nodes), kind=np.float32)
    for name, (shapes, by, *nodes) in TWICE.items():
        add(f"twice_{name}", shapes, *(text + wave for text in nodes), twice=by)
    shapes, by, nodes = TWICE["cum_prod"]
    add("twice_sizes", shapes, nodes + wave, twice=by, sizes={5: "n"})
    shapes, nodes = {"x": (5, 2, 4), "w": (1, 12, 4), "r": (1, 12, 3)}, "o, v = LSTM <hidden_size = 3> (x, w, r)" + wave
    add("lstm_sizes", shapes, nodes, sizes={5: "steps"})
    add("twice_rnn", {"x": (3, 2, 3), "w": (1, 3, 3), "r": (1, 3, 3)}, "o, v = RNN <hidden_size = 3> (x, w, r)" + wave, twice="x")
    add("linear_attention_sizes", {"q": (1, 5, 8), "k": (1, 5, 4), "v": (1, 5, 6)}, FLOATS["linear_attention_linear"][1] + wave,
        kind=np.float32, sizes={5: "tokens"})
    rois = {"r": [[0, 1, 2, 2.5], [0.4, 0, 1.3, 3], [-1, 1, 2, 1.2]]}
    add("roi_unknown", {"x": (2, 2, 4, 3)}, "b = Constant <value = int64[3] {1, 0, 1}> () "
        "o = RoiAlign <output_height = 2, output_width = 2, spatial_scale = 1.3> (x, r, b)" + wave, also=rois)
