"""Models for gradients.py of operators that are decomposed before differentiation, and of corner cases of rules, in the same form: the
shapes or contents of the inputs, the nodes that compute a result, and equivalent nodes if the reference does not support these."""


def constant(name, shape, values):
    return f"{name} = Constant <value = double[{','.join(map(str, shape))}] {{{', '.join(map(str, values))}}}> () "


AXIS = "a = Constant <value = int64 {1}> () "
ONE = "e = Constant <value = double {1}> () "
STEP = "k = Constant <value = int64 {2}> () "
ROIS = "b = Constant <value = int64[3] {1, 0, 1}> () "
WORDS = {
    "dft": ({"x": (2, 5, 3, 1)}, AXIS + "o = DFT(x, , a)"),
    "dft_complex": ({"x": (2, 6, 2)}, AXIS + "o = DFT(x, , a)"),
    "dft_inverse": ({"x": (2, 5, 2)}, AXIS + "o = DFT <inverse = 1> (x, , a)"),
    "dft_one_sided": ({"x": (2, 6, 1)}, AXIS + "o = DFT <onesided = 1> (x, , a)"),
    "dft_longer": ({"x": (2, 4, 2)}, AXIS + "n = Constant <value = int64 {7}> () o = DFT(x, n, a)"),
    "dft_shorter": ({"x": (6, 2, 1)}, "a = Constant <value = int64 {0}> () n = Constant <value = int64 {4}> () o = DFT <onesided = 1> (x, n, a)"),
    "dft_there_and_back": ({"x": (2, 6, 1)}, AXIS + "f = DFT <onesided = 1> (x, , a) t = Mul(f, f) o = DFT <onesided = 1, inverse = 1> (t, , a)"),
    "stft": ({"x": (2, 9, 1), "w": (4,)}, STEP + "o = STFT(x, k, w)"),
    "stft_two_axes": ({"x": (2, 9), "w": (4,)}, STEP + "o = STFT(x, k, w)",
                      STEP + "c = Constant <value = int64[1] {2}> () s = Unsqueeze(x, c) o = STFT(s, k, w)"),
    "stft_complex": ({"x": (1, 7, 2), "w": (3,)}, STEP + "o = STFT <onesided = 0> (x, k, w)"),
    "stft_rectangle": ({"x": (2, 8, 1)}, STEP + "n = Constant <value = int64 {4}> () o = STFT(x, k, , n)"),
    "det": ({"x": (2, 3, 3)}, "o = Det(x)"),
    "det_singular": ({"x": [[1, 2, 3], [2, 4, 6], [0.5, -1, 1]]}, ONE + "d = Det(x) o = Add(d, e)"),
    "det_of_zeros": ({"x": [[[0, 0], [0, 0]], [[0, 2], [0, 0]]]}, ONE + "d = Det(x) o = Add(d, e)"),
    **{f"grid_{mode}_{pad}_{align}": ({"x": (2, 1, 3, 4), "g": (2, 1, 3, 2)},
                                      f"h = {where}(g) o = GridSample <mode = \"{mode}\", padding_mode = \"{pad}\", align_corners = {align}> (x, h)")
       for mode, pad, where in (("linear", "zeros", "Identity"), ("linear", "border", "Identity"), ("linear", "reflection", "Identity"),
                                ("cubic", "zeros", "Identity"), ("cubic", "border", "Tanh"), ("cubic", "reflection", "Identity"))
       for align in (0, 1)},
    "grid_nearest": ({"x": (1, 2, 3, 4), "g": (1, 3, 2, 2)}, "o = GridSample <mode = \"nearest\"> (x, g)"),
    "grid_volume": ({"x": (1, 2, 3, 2, 4), "g": (1, 2, 1, 2, 3)}, "o = GridSample <padding_mode = \"reflection\"> (x, g)"),
    **{f"roi_{mode}_{sampling}_{how}": (
        {"x": (2, 1, 5, 6)},
        ROIS + "r = Constant <value = double[3, 4] {0.3, 1.1, 4.2, 3.7, 1.1, 0.4, 3.3, 4.6, -2.1, 1.3, 7.2, 2.4}> () "
        f"o = RoiAlign <mode = \"{mode}\", output_height = 2, output_width = 3, sampling_ratio = {sampling}, spatial_scale = 0.9, "
        f"coordinate_transformation_mode = \"{how}\"> (x, r, b)")
       for mode in ("avg", "max") for sampling in (0, 2) for how in ("half_pixel", "output_half_pixel")},
    "roi_places": ({"x": (2, 1, 5, 6), "rois": (3, 4)},
                   ROIS + "e = Constant <value = double[3, 4] {0, 0, 5, 4, 1, 1, 5, 5, 0, 1, 4, 4}> () r = Add(rois, e) "
                   "o = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, r, b)"),
    "deform": ({"x": (2, 4, 3, 3), "w": (2, 2, 2, 1), "f": (2, 8, 2, 3), "b": (2,), "m": (2, 4, 2, 3)},
               "o = DeformConv <group = 2, offset_group = 2> (x, w, f, b, m)"),
    "deform_strides": ({"x": (1, 2, 5, 3), "w": (3, 2, 2, 2), "f": (1, 8, 2, 2)},
                       "o = DeformConv <strides = [2, 1], dilations = [2, 1], pads = [1, 0, 0, 0]> (x, w, f)"),
    "cum_prod_zeros": ({"x": [[1.5, 0, -2, 0, 3], [2, -1, 0.5, 0, 1]]}, AXIS + ONE + "p = CumProd(x, a) o = Add(p, e)"),
    "cum_prod_exclusive": ({"x": [[1.5, 0], [2, 1], [0, 3], [-1, 2], [0.5, 0]]},
                           "a = Constant <value = int64 {0}> () p = CumProd <exclusive = 1, reverse = 1> (x, a) " + ONE + "o = Add(p, e)"),
    "scatter_elements_zeros": ({"x": (3, 4), "u": [[0, 1.5, 0, 0], [2, 0, -1, 1]]}, "i = Constant <value = int64[2, 4] {0, 1, 2, 0, 0, 1, 2, 0}> () "
                               "p = ScatterElements <reduction = \"mul\"> (x, i, u) " + ONE + "o = Add(p, e)"),
    "scatter_nd_zeros": ({"x": (3, 4), "u": [[0, 1.5, 0, 0], [2, 0, -1, 1], [0.5, 1, 2, 0]]},
                         "i = Constant <value = int64[3, 1] {2, 2, 2}> () p = ScatterND <reduction = \"mul\"> (x, i, u) " + ONE + "o = Add(p, e)"),
    "norm_statistics": ({"x": (2, 3, 4), "a": (4,)}, "n, m, d = LayerNormalization <stash_type = 1> (x, a) e = Cast <to = 11> (m) "
                        "f = Cast <to = 11> (d) p = Mul(e, f) o = Add(p, n)"),
    "attention_scores": ({"q": (1, 4, 3, 4), "k": (1, 2, 5, 4), "v": (1, 2, 5, 3), "m": (3, 5)},
                         "z, p, r, t = Attention <softcap = 1.5, qk_matmul_output_mode = 1> (q, k, v, m) w = ReduceSum(t) o = Add(z, w)"),
    "attention_probabilities": ({"q": (1, 3, 8), "k": (1, 3, 4), "v": (1, 3, 6)},
                                "z, p, r, u = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1, qk_matmul_output_mode = 3> (q, k, v) "
                                "t = Mul(u, u) w = ReduceSum(t) e = ReduceSum(z) o = Mul(e, w)"),
    "pool_nothing": ({"x": (1, 2, 0), "z": (3,)}, "v = AveragePool <kernel_shape = [2], pads = [1, 1], count_include_pad = 1> (x) "
                     "e = ReduceSum(v) o = Add(e, z)",
                     "e = ReduceSum(x) o = Add(e, z)"),
    "conv_nothing": ({"x": (1, 2, 0), "w": (3, 2, 2), "b": (3,)}, "o = Conv <pads = [2, 2]> (x, w, b)",
                     "u = Constant <value = int64[2] {-1, 1}> () v = Reshape(b, u) "
                     "e = Constant <value = int64[3] {1, 3, 3}> () o = Expand(v, e)"),
    "affine_grid": ({"x": (2, 2, 3)}, "i = Constant <value = int64[4] {2, 1, 3, 2}> () o = AffineGrid(x, i)"),
    "affine_grid_volume": ({"x": (1, 3, 4)}, "i = Constant <value = int64[5] {1, 1, 3, 2, 2}> () o = AffineGrid <align_corners = 1> (x, i)"),
    "one_hot": ({"x": (2,)}, "i = Constant <value = int64[2, 2] {1, 0, -1, 7}> () n = Constant <value = int64 {3}> () o = OneHot <axis = 1> (i, n, x)"),
    "range": ({"x": (), "z": ()}, "c = Constant <value = double {10}> () a = Abs(z) e = Add(a, c) f = Mul(e, c) g = Mul(f, c) o = Range(x, g, e)"),
    "unique": ({"x": (2, 3)}, "i = Constant <value = int64[4] {2, 0, 2, 1}> () v = Gather <axis = 1> (x, i) o = Unique <axis = 1> (v)",
               "o, p, q, r = Unique <axis = 1> (x)"),
    "unique_elements": ({"x": (2, 3)}, "o = Unique(x)", "o, p, q, r = Unique(x)"),
}

# of operators that compute in float, with float inputs
STEPS = "".join(f"""
    q{t} = Gather <axis = 1> (qs, t{t}) k{t} = Gather <axis = 1> (ks, t{t}) v{t} = Gather <axis = 1> (vs, t{t}) g{t} = Gather <axis = 1> (gs, t{t})
    b{t} = Gather <axis = 1> (bs, t{t}) e{t} = Exp(g{t}) d{t} = Mul(s{t}, e{t}) m{t} = MatMul(k{t}, d{t}) n{t} = Sub(v{t}, m{t}) r{t} = Mul(n{t}, b{t})
    l{t} = Transpose <perm = [0, 1, 3, 2]> (k{t}) p{t} = MatMul(l{t}, r{t}) s{t + 1} = Add(d{t}, p{t}) c{t} = MatMul(q{t}, s{t + 1})
    y{t} = Reshape(c{t}, shape)""" for t in (0, 1))
DELTA = """t0 = Constant <value = int64 {0}> () t1 = Constant <value = int64 {1}> () shape = Constant <value = int64[3] {1, 1, 8}> ()
    qx = Constant <value = int64[5] {1, 2, 2, 2, 3}> () qs = Reshape(q, qx) kx = Constant <value = int64[5] {1, 2, 2, 1, 3}> () ks = Reshape(k, kx)
    vx = Constant <value = int64[5] {1, 2, 2, 1, 2}> () vs = Reshape(v, vx) gx = Constant <value = int64[5] {1, 2, 2, 3, 1}> () gs = Reshape(g, gx)
    bx = Constant <value = int64[5] {1, 2, 1, 1, 1}> () bs = Reshape(b, bx) s0 = Identity(p)""" + STEPS + """
    both = Concat <axis = 1> (y0, y1) scale = Constant <value = double {0.7}> () z = Mul(both, scale) w = ReduceSum(s2) o = Add(z, w)"""
HEADS = "q_num_heads = 4, kv_num_heads = 2"
FLOATS = {
    "dequantize": ({"r": (3,)}, "q = Constant <value = int8[2, 3] {1, -2, 3, 40, 5, -6}> () z = Constant <value = int8[3] {1, 0, -2}> () "
                   "o = DequantizeLinear(q, r, z)", "c = Constant <value = double[2, 3] {0, -2, 5, 39, 5, -4}> () o = Mul(c, r)"),
    "dequantize_blocks": ({"r": (2, 2)}, "q = Constant <value = uint8[2, 4] {1, 2, 3, 40, 5, 6, 0, 9}> () "
                          "o = DequantizeLinear <axis = 1, block_size = 2> (q, r)",
                          "c = Constant <value = double[2, 2, 2] {1, 2, 3, 40, 5, 6, 0, 9}> () u = Constant <value = int64[1] {2}> () "
                          "f = Unsqueeze(r, u) g = Mul(c, f) h = Constant <value = int64[2] {2, 4}> () o = Reshape(g, h)"),
    "linear_attention_delta": ({"q": (1, 2, 12), "k": (1, 2, 6), "v": (1, 2, 4), "p": (1, 2, 3, 2), "g": (1, 2, 6), "b": (1, 2, 1)},
                               f"z, t = LinearAttention <{HEADS}, scale = 0.7> (q, k, v, p, g, b) w = ReduceSum(t) o = Add(z, w)", DELTA),
    **{f"linear_attention_{rule}": ({"q": (2, 3, 8), "k": (2, 3, 4), "v": (2, 3, 6), **more},
                                    f"o, t = LinearAttention <{HEADS}, update_rule = \"{rule}\"> (q, k, v{inputs})")
       for rule, more, inputs in (("linear", {}, ""), ("gated", {"g": (2, 3, 2)}, ", , g"), ("delta", {"b": (2, 3, 2)}, ", , , b"))},
    "causal_conv": ({"x": (2, 3, 5), "w": (3, 1, 3), "b": (3,), "p": (2, 3, 2)},
                    "z, t = CausalConvWithState <activation = \"silu\"> (x, w, b, p) e = ReduceSum(t) o = Mul(z, e)"),
    "causal_conv_alone": ({"x": (1, 2, 4), "w": (2, 1, 2)}, "o, t = CausalConvWithState(x, w)"),
    **{f"rotary_angles_{mixed}": ({"x": (1, 2, 3, 6), "c": (1, 3, 2), "e": (1, 3, 2)},
                                  f"o = RotaryEmbedding <interleaved = {mixed}, rotary_embedding_dim = 4> (x, c, e)") for mixed in (0, 1)},
    "rotary_positions": ({"x": (2, 2, 8), "c": (4, 2), "e": (4, 2)},
                         "i = Constant <value = int64[2, 2] {3, 0, 1, 1}> () o = RotaryEmbedding <num_heads = 2> (x, c, e, i)"),
}
VECTORS = "v = Constant <value = double[2, 3] {1, 0.5, -1, 0.3, 2, 1}> () c = Constant <value = double[2, 1] {0.7, -1.2}> () "
SVM = "n_supports = 2, coefficients = [0.7, -1.2], rho = [0.3], support_vectors = [1.0, 0.5, -1.0, 0.3, 2.0, 1.0]"
FLOATS |= {
    "svm_poly": ({"x": (2, 3)}, f"o = ai.onnx.ml.SVMRegressor <kernel_type = \"POLY\", kernel_params = [0.4, 0.5, 3.0], {SVM}> (x)",
                 VECTORS + "t = Transpose(v) p = MatMul(x, t) g = Constant <value = double {0.4}> () q = Mul(p, g) h = Constant <value = double {0.5}> () "
                 "r = Add(q, h) e = Constant <value = double {3}> () u = Pow(r, e) w = MatMul(u, c) y0 = Constant <value = double {0.3}> () o = Add(w, y0)"),
    "svm_sigmoid": ({"x": (2, 3)}, f"o = ai.onnx.ml.SVMRegressor <kernel_type = \"SIGMOID\", kernel_params = [0.4, 0.5, 3.0], {SVM}> (x)",
                    VECTORS + "t = Transpose(v) p = MatMul(x, t) g = Constant <value = double {0.4}> () q = Mul(p, g) "
                    "h = Constant <value = double {0.5}> () r = Add(q, h) u = Tanh(r) w = MatMul(u, c) y0 = Constant <value = double {0.3}> () o = Add(w, y0)"),
    "svm_rbf": ({"x": (2, 3)}, f"o = ai.onnx.ml.SVMRegressor <kernel_type = \"RBF\", kernel_params = [0.4, 0.5, 3.0], {SVM}> (x)",
                VECTORS + "i = Constant <value = int64[1] {1}> () k = Constant <value = int64[1] {2}> () m = Unsqueeze(x, i) p = Sub(m, v) "
                "q = ReduceSumSquare <keepdims = 0> (p, k) g = Constant <value = double {-0.4}> () r = Mul(q, g) u = Exp(r) "
                "w = MatMul(u, c) y0 = Constant <value = double {0.3}> () o = Add(w, y0)"),
}

# name: the shapes, the input that the first gradient is with respect to, the nodes
TWICE = {
    "attention": ({"q": (1, 2, 2, 2), "k": (1, 1, 3, 2), "v": (1, 1, 3, 1), "m": (2, 3)}, "k", "o = Attention <softcap = 1.5> (q, k, v, m)"),
    "attention_causal": ({"q": (1, 2, 4), "k": (1, 2, 2), "v": (1, 2, 2)}, "q",
                         "o = Attention <q_num_heads = 2, kv_num_heads = 1, is_causal = 1> (q, k, v)"),
    "det": ({"x": (3, 3)}, "x", "o = Det(x)"),
    "grid": ({"x": (1, 1, 3, 3), "g": (1, 1, 2, 2)}, "g", "o = GridSample <mode = \"cubic\"> (x, g)"),
    "dft": ({"x": [[[0.1], [0.3], [-0.2], [0.05], [0.2]]]}, "x", AXIS + "f = DFT <onesided = 1> (x, , a) o = Mul(f, f)"),
    "cum_prod": ({"x": [1.5, 0, 2, 0, -1]}, "x", "a = Constant <value = int64 {0}> () p = CumProd(x, a) " + ONE + "o = Add(p, e)"),
    "reduce_prod": ({"x": [1.5, 0, 2, 0, -1]}, "x", ONE + "d = ReduceProd(x) o = Add(d, e)"),
    "scatter": ({"x": (2,), "u": [1.5, 0, 2, 0]}, "u", "i = Constant <value = int64[4] {0, 0, 0, 1}> () "
                "p = ScatterElements <reduction = \"mul\"> (x, i, u) " + ONE + "o = Add(p, e)"),
    "scatter_one_zero": ({"x": (2,), "u": [1.5, 0, 2, 1]}, "x", "i = Constant <value = int64[4] {0, 0, 0, 1}> () "
                         "p = ScatterElements <reduction = \"mul\"> (x, i, u) " + ONE + "o = Add(p, e)"),
}
