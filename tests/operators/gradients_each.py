"""Gradients of operators one by one, as in gradients.py: elementwise operators, operators with a gradient of zero, other forms of layers,
classical models, optimizers, and operators of versions before 10. The inputs are away from corners."""

import numpy as np

from gradient_decompose import constant
from gradients import add_gradient

WAVE = " wave = Sin(o) s = Mul(o, wave) y = ReduceSum <keepdims = 0> (s) "
ML = "ai.onnx.ml."
TRAINING = "ai.onnx.preview.training."


def between(low, high, *shape, at=0):
    """Different numbers between low and high, none of them a multiple of 1/2."""
    count = int(np.prod(shape))
    order = np.random.default_rng(at).permutation(count)
    return (low + (high - low) * (order + 0.43) / count).reshape(shape).tolist()


def listed(name, values):
    return f"{name} = [{', '.join(map(repr, np.float32(values).ravel().tolist()))}]"


def number(name, value):
    return f"{name} = Constant <value = double {{{value}}}> () "


def sizes(name, *values):
    return f"{name} = Constant <value = int64[{len(values)}] {{{', '.join(map(str, values))}}}> () "


# operators of one input, with their attributes; and the range of the input
UNARY = {
    "Acos": (-0.9, 0.9), "Asin": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Acosh": (1.1, 4), "Log": (0.2, 3), "Sqrt": (0.2, 3), "Reciprocal": (0.3, 3),
    "Asinh": (-3, 3), "Atan": (-3, 3), "Cosh": (-2, 2), "Sinh": (-2, 2), "Tan": (-1.2, 1.2), "Erf": (-2, 2), "Relu": (-3, 3), "Sigmoid": (-3, 3),
    "HardSwish": (-5, 5), "Mish": (-3, 3), "Softplus": (-3, 3), "Softsign": (-3, 3), "Abs": (-3, 3), "Neg": (-3, 3), "Exp": (-2, 2), "Cos": (-3, 3),
    "Sin": (-3, 3), "Tanh": (-2, 2), "Identity": (-1, 1), "Elu <alpha = 0.7>": (-3, 3), "LeakyRelu <alpha = 0.1>": (-3, 3), "Selu": (-3, 3),
    "Selu <alpha = 1.3, gamma = 0.8>": (-3, 3), "HardSigmoid": (-4, 4), "HardSigmoid <alpha = 0.3, beta = 0.4>": (-3, 3),
    "ThresholdedRelu <alpha = 0.7>": (-3, 3), "Gelu": (-3, 3), "Gelu <approximate = \"tanh\">": (-3, 3), "Swish <alpha = 1.3>": (-3, 3), "Celu": (-3, 3),
    "Celu <alpha = 0.6>": (-3, 3), "Shrink <lambd = 0.8>": (-3, 3), "Softmax <axis = 0>": (-2, 2), "LogSoftmax": (-2, 2), "LogSoftmax <axis = 0>": (-2, 2),
    "Flatten <axis = 0>": (-2, 2), "Trilu <upper = 0>": (-2, 2),
}
# Operators of one input whose gradient is zero where it exists; y also depends on x in another way.
STEPS = ["Ceil", "Floor", "Round", "Sign", "Hardmax <axis = 0>", "EyeLike <k = 1>", ML + "Binarizer <threshold = 0.31>"]
BINARY = {
    "PRelu": between(-0.5, 1, 4), "Add": between(-1, 1, 4), "Sub": between(-1, 1, 4), "Mul": between(-1, 1, 4), "Div": between(0.4, 3, 4),
    "Mean": between(-1, 1, 4), "Sum": between(-1, 1, 4), "Max": between(-1, 1, 4), "Min": between(-1, 1, 4),
}

REGIONS = [[0, 0, 0, 4, 5], [1, 1, 2, 3, 4], [1, 3, 4, 8, 9]]
BINS = [(0, [(0, 3), (3, 6)], [(0, 3), (2, 5)]), (1, [(2, 4), (3, 5)], [(1, 3), (2, 4)]), (1, [(4, 6), None], [(3, 5), None])]


def sliced_bins():
    """MaxRoiPool of REGIONS by slices: a whole image, overlapping bins, and bins outside, whose maximum is 0."""
    nodes = sizes("over", 2, 3) + sizes("shape", 1, 2, 2, 2) + constant("none", (1, 2, 1, 1), [0, 0])
    for k, (image, rows, columns) in enumerate(BINS):
        names = []
        for i, h in enumerate(rows):
            for j, w in enumerate(columns):
                at, inside = f"{k}{i}{j}", h and w
                if inside:
                    nodes += sizes(f"f{at}", image, 0, h[0], w[0]) + sizes(f"t{at}", image + 1, 2, h[1], w[1])
                    nodes += f"p{at} = Slice(x, f{at}, t{at}) m{at} = ReduceMax(p{at}, over) "
                names.append(f"m{at}" if inside else "none")
        nodes += f"c{k} = Concat <axis = 2> ({', '.join(names)}) b{k} = Reshape(c{k}, shape) "
    return nodes + "o = Concat <axis = 0> (b0, b1, b2)"


LAYERS = {
    "pow": ({"x": between(0.3, 3, 2, 3), "e": between(-2, 2, 3)}, "o = Pow(x, e)"),
    "clip": ({"x": between(-3, 3, 3, 4), "l": -1.1, "h": 1.3}, "o = Clip(x, l, h)"),
    "clip_low": ({"x": between(-3, 3, 3, 4), "l": 0.3}, "o = Clip(x, l)"),
    "where": ({"x": (2, 1, 3), "z": (4, 1)}, "c = Constant <value = bool[4, 3] {1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0}> () o = Where(c, x, z)"),
    "expand": ({"x": (3, 1)}, sizes("t", 2, 1, 4) + "o = Expand(x, t)"),
    "cast": ({"x": (5,)}, "f = Cast <to = 11> (x) g = CastLike(f, x) o = Mul(f, g)"),
    "swiglu": ({"x": (2, 3), "z": (2, 3)}, "o = SwiGLU <alpha = 1.3> (x, z)"),
    "dropout": ({"x": (2, 5)}, "o = Dropout(x)"),
    "dropout_nothing": ({"x": (2, 5)}, number("r", 0) + "t = Constant <value = bool {1}> () o, mask = Dropout(x, r, t)"),
    "center_crop_pad": ({"x": (5, 3, 2)}, sizes("t", 3, 4) + "o = CenterCropPad <axes = [0, 1]> (x, t)"),
    "pad_edge": ({"x": (2, 3)}, sizes("p", 1, 0, 2, 3) + "o = Pad <mode = \"edge\"> (x, p)"),
    "pad_wrap": ({"x": (2, 3)}, sizes("p", 1, 2, 0, 3) + "o = Pad <mode = \"wrap\"> (x, p)"),
    "pad_axes": ({"x": (2, 3), "c": 0.7}, sizes("p", 1, 2) + sizes("a", 1) + "o = Pad(x, p, c, a)"),
    "squeeze": ({"x": (2, 1, 3)}, sizes("a", 1) + "t = Squeeze(x, a) o = Unsqueeze(t, a)"),
    "reshape": ({"x": (2, 3, 4)}, sizes("t", 0, -1, 2) + "o = Reshape(x, t)"),
    "transpose": ({"x": (2, 3, 4)}, "o = Transpose <perm = [2, 0, 1]> (x)"),
    "cum_sum_reverse": ({"x": (3, 4)}, "a = Constant <value = int64 {-2}> () o = CumSum <reverse = 1> (x, a)"),
    "depth_to_space": ({"x": (1, 8, 2, 3)}, "o = DepthToSpace <blocksize = 2> (x)"),
    "top_k_smallest": ({"x": (4, 3)}, sizes("k", 2) + "o, at = TopK <axis = 0, largest = 0> (x, k)"),
    "tensor_scatter_circular": ({"p": (2, 4, 2), "u": (2, 3, 2)}, sizes("w", 2, 3) + "o = TensorScatter <axis = 1, mode = \"circular\"> (p, u, w)"),
    **{f"reduce_{how.lower()}": ({"x": between(0.3, 2, 2, 3, 4)}, sizes("i", 0, -1) + f"a = Reduce{how}(x, i) b = Reduce{how} <keepdims = 0> (x) o = Mul(a, b)")
       for how in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")},
    "reduce_nothing": ({"x": (2, 3)}, "i = Constant <value = int64[0] {}> () o = ReduceMean <noop_with_empty_axes = 1> (x, i)", "o = Identity(x)"),
    "gemm": ({"a": (4, 2), "b": (3, 4), "c": (3,)}, "o = Gemm <transA = 1, transB = 1, alpha = 0.7, beta = 1.3> (a, b, c)"),
    "matmul_batches": ({"a": (2, 1, 3, 4), "b": (3, 4, 2)}, "o = MatMul(a, b)"),
    "matmul_vectors": ({"a": (4,), "b": (2, 4, 3), "c": (3,)}, "t = MatMul(a, b) o = MatMul(t, c)"),
    "conv_volume": ({"x": (1, 2, 3, 4, 3), "w": (2, 2, 2, 3, 2), "b": (2,)}, "o = Conv <pads = [1, 0, 0, 0, 1, 1]> (x, w, b)"),
    "max_pool_volume": ({"x": (1, 2, 4, 3, 4)}, "o = MaxPool <kernel_shape = [2, 3, 2], strides = [2, 1, 2]> (x)"),
    "max_roi_pool": ({"x": (2, 2, 6, 5), "r": REGIONS}, "o = MaxRoiPool <pooled_shape = [2, 2]> (x, r)", sliced_bins()),
    "global_lp_pool": ({"x": (2, 3, 4, 2)}, "o = GlobalLpPool <p = 3> (x)",
                       number("e", 3) + "a = Abs(x) b = Pow(a, e) " + sizes("i", 2, 3) + "c = ReduceSum(b, i) f = Reciprocal(e) o = Pow(c, f)"),
    "batch_norm_trained": ({"x": (3, 2, 4), "a": (2,), "b": (2,), "m": (2,), "v": [1.3, 0.7]}, "o = BatchNormalization <epsilon = 0.01> (x, a, b, m, v)"),
    "batch_norm_statistics": ({"x": (3, 2, 4), "a": (2,), "b": (2,), "m": (2,), "v": [1.3, 0.7]},
                              "p, q, r = BatchNormalization <training_mode = 1, momentum = 0.7> (x, a, b, m, v) e = Mul(q, r) f = ReduceSum <keepdims = 0> (e) "
                              "o = Add(p, f)"),
    "layer_norm_axis": ({"x": (2, 3, 4), "a": (3, 4), "b": (3, 4)}, "o = LayerNormalization <axis = 1, epsilon = 0.01> (x, a, b)"),
    "rms_norm_last": ({"x": (2, 3, 4), "a": (4,)}, "o = RMSNormalization(x, a)"),
    "simplified_layer_norm": ({"x": (2, 3, 4), "a": (4,)}, "o = SimplifiedLayerNormalization <axis = -1, epsilon = 0.01> (x, a)",
                              "q = Mul(x, x) " + sizes("i", -1) + "m = ReduceMean(q, i) " + number("e", 0.01) +
                              "v = Add(m, e) d = Sqrt(v) t = Div(x, d) o = Mul(t, a)"),
    "mean_variance_axes": ({"x": (2, 3, 4)}, "o = MeanVarianceNormalization <axes = [0, 2]> (x)",
                           sizes("i", 0, 2) + "m = ReduceMean(x, i) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, i) r = Sqrt(v) o = Div(d, r)"),
    "group_norm_each": ({"x": (2, 4, 2, 3), "a": (4,), "b": (4,)}, "o = GroupNormalization <num_groups = 4> (x, a, b)", "o = InstanceNormalization(x, a, b)"),
    **{f"nll_{how}": ({"x": (3, 4), "w": between(0.3, 2, 4)}, sizes("t", 1, 3, 0) + f"o = NegativeLogLikelihoodLoss <reduction = \"{how}\"> (x, t, w)")
       for how in ("none", "sum", "mean")},
    "nll_ignore": ({"x": (2, 3, 4)}, "t = Constant <value = int64[2, 4] {1, 2, 0, 1, 1, 1, 2, 0}> () o = NegativeLogLikelihoodLoss <ignore_index = 1> (x, t)"),
    **{f"cross_entropy_{how}": ({"x": (3, 4)}, sizes("t", 1, 3, 0) + f"z, l = SoftmaxCrossEntropyLoss <reduction = \"{how}\"> (x, t) "
                                "e = ReduceSum <keepdims = 0> (l) o = Mul(z, e)") for how in ("none", "sum", "mean")},
    "attention_lengths": ({"q": (2, 2, 3, 4), "k": (2, 2, 5, 4), "v": (2, 2, 5, 4)}, sizes("n", 5, 3) + "o = Attention(q, k, v, , , , n)"),
    "attention_boolean": ({"q": (1, 2, 2, 3), "k": (1, 2, 4, 3), "v": (1, 2, 4, 2)}, "m = Constant <value = bool[2, 4] {1, 0, 1, 1, 0, 1, 1, 1}> () "
                          "o = Attention <scale = 0.4> (q, k, v, m)"),
    "flex_attention": ({"q": (1, 4, 3, 2), "k": (1, 2, 5, 2), "v": (1, 2, 5, 3)}, "o = ai.onnx.preview.FlexAttention <scale = 0.8> (q, k, v)",
                       "o = Attention <scale = 0.8> (q, k, v)"),
    "flex_attention_changed": ({"q": (1, 2, 3, 2), "k": (1, 2, 3, 2), "v": (1, 2, 3, 2)}, "o = ai.onnx.preview.FlexAttention "
                               "<score_mod = s (double[1, 2, 3, 3] a) => (double[1, 2, 3, 3] b) { b = Tanh(a) }, "
                               "prob_mod = p (double[1, 2, 3, 3] c) => (double[1, 2, 3, 3] d) { d = Mul(c, c) }> (q, k, v)",
                               "u = Transpose <perm = [0, 1, 3, 2]> (k) e = MatMul(q, u) " + number("f", 2) + "g = Sqrt(f) h = Div(e, g) "
                               "b = Tanh(h) c = Softmax(b) d = Mul(c, c) o = MatMul(d, v)"),
    "rnn_relu": ({"x": (2, 2, 3), "w": (1, 2, 3), "r": (1, 2, 2), "b": (1, 4)}, "e, o = RNN <hidden_size = 2, activations = [\"Relu\"]> (x, w, r, b)",
                 "x0, x1 = Split <num_outputs = 2> (x) wt = Transpose <perm = [0, 2, 1]> (w) rt = Transpose <perm = [0, 2, 1]> (r) "
                 "b0, b1 = Split <axis = 1, num_outputs = 2> (b) bias = Add(b0, b1) c = MatMul(x0, wt) d = Add(c, bias) "
                 "e = Relu(d) f = MatMul(x1, wt) g = MatMul(e, rt) i = Add(f, g) j = Add(i, bias) o = Relu(j)"),
    "array_feature_extractor": ({"x": (2, 4)}, f"i = Constant <value = int64[1, 3] {{3, 0, 3}}> () o = {ML}ArrayFeatureExtractor(x, i)",
                                sizes("i", 3, 0, 3) + "o = Gather <axis = 1> (x, i)"),
    "imputer": ({"x": [[1.5, -1, 0.3], [-1, 2, 0.7]]}, f"o = {ML}Imputer <{listed('imputed_value_floats', [0.5, 0.25, 2])}, replaced_value_float = -1.0> (x)",
                constant("m", (2, 3), [1, 0, 1, 0, 1, 1]) + constant("v", (2, 3), [0, 0.25, 0, 0.5, 0, 0]) + "p = Mul(x, m) o = Add(p, v)"),
    "label_encoder": ({"x": (2, 3)}, f"t = {ML}LabelEncoder <keys_tensor = double[2] {{1.0, 2.0}}, values_tensor = double[2] {{0.5, 0.25}}, "
                      "default_tensor = double[1] {0.75}> (x) o = Mul(t, x)",
                      number("t", 0.75) + "o = Mul(t, x)"),
    **{f"random_{name}": ({"x": between(0.1, 0.9, 2, 3)}, f"r = {op}(x) {number('z', 0)} t = Mul(r, z) o = Add(t, x)")
       for name, op in (("normal", "RandomNormalLike"), ("uniform", "RandomUniformLike"), ("bernoulli", "Bernoulli"))},
    "mel_weights": ({"x": 37.3, "z": 3871.7}, "b = Constant <value = int64 {8}> () l = Constant <value = int64 {64}> () r = Constant <value = int64 {8192}> () "
                    "m = MelWeightMatrix <output_datatype = 11> (b, l, r, x, z) t = ReduceSum <keepdims = 0> (m) e = Div(x, z) o = Mul(t, e)"),
}

# operators with float results, so with float inputs
COEFFICIENTS = [0.7, -1, 2, 0.3, 0.5, -0.6, 0.2, 0.9, 0.4]
IN_FLOAT = {
    "linear_regressor": ({"x": (2, 3)}, f"o = {ML}LinearRegressor <{listed('coefficients', COEFFICIENTS[:6])}, {listed('intercepts', [0.1, -0.4])}, "
                         "targets = 2> (x)",
                         constant("c", (2, 3), COEFFICIENTS[:6]) + "t = Transpose(c) p = MatMul(x, t) " + constant("i", (2,), [0.1, -0.4]) + "o = Add(p, i)"),
    **{f"linear_classifier_{post.lower()}": (
        {"x": (2, 3)}, f"l, o = {ML}LinearClassifier <{listed('coefficients', COEFFICIENTS)}, {listed('intercepts', [0.1, -0.4, 0.2])}, "
        f"classlabels_ints = [0, 1, 2], post_transform = \"{post}\"> (x)",
        constant("c", (3, 3), COEFFICIENTS) + "t = Transpose(c) p = MatMul(x, t) " + constant("i", (3,), [0.1, -0.4, 0.2])
        + f"q = Add(p, i) o = {nodes}(q)")
       for post, nodes in (("NONE", "Identity"), ("LOGISTIC", "Sigmoid"), ("SOFTMAX", "Softmax"), ("SOFTMAX_ZERO", "Softmax"))},
    "scaler": ({"x": (2, 3)}, f"o = {ML}Scaler <{listed('offset', [0.5, -1, 0.25])}, {listed('scale', [2, 0.5, 3])}> (x)",
               constant("c", (3,), [0.5, -1, 0.25]) + "d = Sub(x, c) " + constant("e", (3,), [2, 0.5, 3]) + "o = Mul(d, e)"),
    **{f"normalizer_{norm.lower()}": ({"x": between(0.2, 3, 3, 4)}, f"o = {ML}Normalizer <norm = \"{norm}\"> (x)",
                                      sizes("i", 1) + f"n = Reduce{norm.title()}(x, i) o = Div(x, n)") for norm in ("MAX", "L1", "L2")},
    "feature_vectorizer": ({"x": (2, 3), "z": (2, 2)}, f"o = {ML}FeatureVectorizer <inputdimensions = [3, 2]> (x, z)", "o = Concat <axis = 1> (x, z)"),
    "one_hot_encoder": ({"x": [2.0, 1.0, 2.0]}, f"t = {ML}OneHotEncoder <cats_int64s = [1, 2]> (x) {sizes('i', 1)} u = Unsqueeze(x, i) o = Mul(t, u)",
                        constant("t", (3, 2), [0, 1, 1, 0, 0, 1]) + sizes("i", 1) + "u = Unsqueeze(x, i) o = Mul(t, u)"),
    "dynamic_quantize": ({"x": (2, 3)}, "q, o, z = DynamicQuantizeLinear(x)", number("n", 0) + "a = ReduceMax <keepdims = 0> (x) b = Max(a, n) "
                         "c = ReduceMin <keepdims = 0> (x) d = Min(c, n) e = Sub(b, d) " + number("f", 255) + "o = Div(e, f)"),
}
NODES = ("nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0], nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], "
         "nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], nodes_values = [0.5, 0.0, 0.0], ")
# the version of ai.onnx.ml, the node; the result depends on the leaf that x reaches
TREES = {
    "tree_ensemble": (5, "t = {}TreeEnsemble <nodes_splits = double[1] {{0.5}}, nodes_featureids = [1], nodes_modes = uint8[1] {{0}}, nodes_truenodeids = [0], "
                      "nodes_falsenodeids = [1], nodes_trueleafs = [1], nodes_falseleafs = [1], tree_roots = [0], leaf_targetids = [0, 0], "
                      "leaf_weights = double[2] {{2.5, -1.5}}, n_targets = 1> (x)"),
    "tree_regressor": (3, f"t = {{}}TreeEnsembleRegressor <{NODES}target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], "
                       "target_weights = [2.5, -1.5], n_targets = 1> (x)"),
    "tree_classifier": (3, f"l, t = {{}}TreeEnsembleClassifier <{NODES}class_treeids = [0, 0], class_nodeids = [1, 2], class_ids = [0, 1], "
                        "class_weights = [2.5, -1.5], classlabels_int64s = [5, 6]> (x)"),
}
STATES = {"r": 0.3, "x": (4,), "g": (4,), "v": between(0.1, 1, 4)}
OPTIMIZERS = {
    "adam": ({**STATES, "h": between(0.2, 2, 4)}, "a, b, c = {}Adam <alpha = 0.8, beta = 0.9, epsilon = 0.01, norm_coefficient = 0.1, "
             "norm_coefficient_post = 0.2> (r, t, x, g, v, h) d = Mul(a, b) o = Add(d, c)"),
    "adagrad": (STATES, "a, b = {}Adagrad <decay_factor = 0.1, epsilon = 0.01, norm_coefficient = 0.1> (r, t, x, g, v) o = Mul(a, b)"),
    **{f"momentum_{mode}": (STATES, f"a, b = {{}}Momentum <alpha = 0.8, beta = 0.9, norm_coefficient = 0.1, mode = \"{mode}\"> (r, t, x, g, v) o = Mul(a, b)")
       for mode in ("standard", "nesterov")},
}

# Operators of versions before 10, which the reference lacks.
OLD = {
    "affine": ({"x": (2, 3)}, "o = Affine <alpha = 0.7, beta = 0.3> (x)", number("a", 0.7) + "p = Mul(x, a) " + number("b", 0.3) + "o = Add(p, b)"),
    "parametric_softplus": ({"x": (2, 3)}, "o = ParametricSoftplus <alpha = 0.7, beta = 1.3> (x)",
                            number("b", 1.3) + "p = Mul(x, b) q = Softplus(p) " + number("a", 0.7) + "o = Mul(q, a)"),
    "scaled_tanh": ({"x": (2, 3)}, "o = ScaledTanh <alpha = 0.7, beta = 1.3> (x)",
                    number("b", 1.3) + "p = Mul(x, b) q = Tanh(p) " + number("a", 0.7) + "o = Mul(q, a)"),
    "scale": ({"x": (2, 3)}, "o = Scale <scale = 1.7> (x)", number("a", 1.7) + "o = Mul(x, a)"),
    "image_scaler": ({"x": (1, 2, 2, 3)}, "o = ImageScaler <bias = [0.5, -0.25], scale = 1.7> (x)",
                     number("a", 1.7) + "p = Mul(x, a) " + constant("b", (1, 2, 1, 1), [0.5, -0.25]) + "o = Add(p, b)"),
    "crop": ({"x": (1, 2, 4, 5)}, "o = Crop <border = [1, 0, 2, 1]> (x)", sizes("f", 0, 1) + sizes("t", 3, 3) + sizes("a", 2, 3) + "o = Slice(x, f, t, a)"),
    "dynamic_slice": ({"x": (4, 3)}, sizes("f", 1) + sizes("t", 3) + sizes("a", 0) + "o = DynamicSlice(x, f, t, a)",
                      sizes("f", 1) + sizes("t", 3) + "o = Slice(x, f, t)"),
    "loop_index_tensor": ({"x": (4, 3)}, "i = Constant <value = int32 {2}> () o = LoopIndexTensor(x, i)",
                          "i = Constant <value = int64 {2}> () o = Gather(x, i)"),
    "given_tensor_fill": ({"x": (2,)}, "t = GivenTensorFill <values = [0.5, 2.0]> (x) o = Mul(t, x)", constant("t", (2,), [0.5, 2]) + "o = Mul(t, x)"),
    "scatter_9": ({"x": (3, 2), "u": (2, 2)}, "i = Constant <value = int64[2, 2] {2, 0, 1, 1}> () o = Scatter(x, i, u)",
                  "i = Constant <value = int64[2, 2] {2, 0, 1, 1}> () o = ScatterElements(x, i, u)"),
    "gru_unit": ({"h": (2, 2), "g": (1, 2, 6)}, "n = Constant <value = int32[2] {5, 1}> () t = Constant <value = int32[1] {2}> () "
                 "o = GRUUnit <drop_states = 0> (h, g, n, t)",
                 sizes("s", 0) + "k = Squeeze(g, s) z, u, c = Split <axis = 1, num_outputs = 3> (k) a = Sigmoid(u) b = Tanh(c) " + number("one", 1) +
                 "d = Sub(one, a) e = Mul(h, a) f = Mul(b, d) m = Add(e, f) keep = Constant <value = bool[2, 1] {1, 0}> () o = Where(keep, m, h)"),
}
# Problems in other types, in which sums of these numbers are exact.
NUMBERED = constant("w", (3, 2, 2, 2), range(-11, 13)) + "s = Mul(o, w) y = ReduceSum <keepdims = 0> (s) "
ROI_TYPES = {"float": 1, "half": 10, "bfloat16": 16}
NEWER = {"Celu": 28, "Celu <alpha = 0.6>": 28, "swiglu": 28}  # operators of another version than 27


def name_of(op):
    """The operator's name and attributes as a test's name."""
    return "_".join(filter(None, "".join(k if k.isalnum() else " " for k in op.removeprefix(ML).lower()).split()))


def add_gradients_each(c):
    def add(name, shapes, *nodes, **how):
        add_gradient(c, f"of_{name}", shapes, *(text + WAVE for text in nodes), **how)

    for op, (low, high) in UNARY.items():
        add(name_of(op), {"x": between(low, high, 2, 5)}, f"o = {op} (x)", opset=NEWER.get(op, 27))
    for op in STEPS:
        add(name_of(op), {"x": between(-3, 3, 2, 5)}, f"t = {op} (x) o = Mul(t, x)")
    for name, to in ROI_TYPES.items():
        nodes = f"a = Cast <to = {to}> (x) b = Cast <to = {to}> (r) c = MaxRoiPool <pooled_shape = [2, 2]> (a, b) o = CastLike(c, x) "
        add_gradient(c, f"of_max_roi_pool_{name}", {"x": between(-2, 2, 2, 2, 6, 5), "r": REGIONS}, nodes + NUMBERED, sliced_bins() + NUMBERED)
    for op, z in BINARY.items():
        add(name_of(op), {"x": between(-2, 2, 3, 4, at=1), "z": z}, f"o = {op} (x, z)")
    for name, (shapes, *nodes) in LAYERS.items():
        add(name, shapes, *nodes, opset=NEWER.get(name, 27))
    for name, (shapes, *nodes) in IN_FLOAT.items():
        add(name, shapes, *nodes, kind=np.float32)
    for name, (version, node) in TREES.items():
        add(name, {"x": [[0.3, 0.8, -1.2], [0.2, -0.4, 1.3]]}, f"{node.format(ML)} e = ReduceSum <keepdims = 0> (t) f = CastLike(e, x) o = Mul(f, x)",
            ml=version, kind=np.float64 if version == 5 else np.float32)
    for name, (shapes, nodes) in OPTIMIZERS.items():
        add(name, shapes, "t = Constant <value = int64 {3}> () " + nodes.format(TRAINING))
    for name, (shapes, nodes, otherwise) in OLD.items():
        add(name, shapes, nodes, otherwise, opset=9)
