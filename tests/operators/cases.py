"""Writes tests of single operators in the form of the official ones: FOLDER/node/own_NAME/model.onnx and
test_data_set_0/{input,output}_I.pb. The inputs are random; the expected results come from ONNX Runtime or, where that has no
implementation or deviates from the standard, from ONNX's reference evaluator.

usage: cases.py FOLDER       (does nothing when FOLDER is complete)
"""

import os
import struct
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import attentions
import axes
import containers
import corners
import exporters
import fused
import gates
import generation
import gradients
import gradients_control
import gradients_each
import gradients_numeric
import gradients_open
import instances
import nchwc
import pairs
import plain
import quantized
import scopes
import tokens
import words
from cache import generated
from message import write_test

TESTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def uniform(low, high, *shape):
    return rng.uniform(low, high, shape).astype(np.float32)


def numbers(*shape):
    """Random numbers for an attribute: a list of floats."""
    return [float(v) for v in normal(*shape).ravel()]


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def write(self, name, model, inputs, outputs, **tolerances):
        assert f"own_{name}".isidentifier(), name   # the prefix of its C
        write_test(os.path.join(self.folder, f"own_{name}"), model, inputs, outputs, **tolerances)
        self.count += 1

    def differentiate(self, problem):
        gradients.write_slopes(self, problem)

    def add(self, name, op, inputs, attrs=None, *, version, domain="", consts=(), outputs=1, by="runtime", sizes=None):
        """Writes a test of one node. inputs: arrays, or None; consts: the indices of inputs that are initializers; by: "runtime",
        "reference", "double" (the reference, with floats as doubles), or the results themselves; sizes: for every input the names
        of its run-time sizes, None for fixed sizes."""
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
        node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=domain, **(attrs or {}))
        given, held, feed = [], [], {}
        for i, x in enumerate(inputs):
            if x is None:
                continue
            x = np.asarray(x)
            shape = [s or d for s, d in zip(sizes[i], x.shape)] if sizes and sizes[i] else x.shape
            if i in consts:
                held.append(numpy_helper.from_array(x, names[i]))
            else:
                given.append(helper.make_tensor_value_info(names[i], onnx_type(x), shape))
                feed[names[i]] = x
        imports = [helper.make_opsetid("", 22 if domain else version)]
        if domain:
            imports.append(helper.make_opsetid(domain, version))

        def build(results):
            return helper.make_model(helper.make_graph([node], name, given, results, held), opset_imports=imports, ir_version=10)

        model = build([onnx.ValueInfoProto(name=y) for y in node.output])
        if by == "runtime":
            run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            expected = run.run(None, feed)
        elif by == "double":
            wide = {k: x.astype(np.float64) if x.dtype == np.float32 else x for k, x in feed.items()}
            expected = [np.asarray(y, next(iter(feed.values())).dtype) for y in ReferenceEvaluator(model).run(None, wide)]
        else:
            expected = ReferenceEvaluator(model).run(None, feed) if by == "reference" else by
        expected = [np.asarray(y) for y in expected]
        results = [
            helper.make_tensor_value_info(o, onnx_type(y), [f"{o}_{k}" for k in range(y.ndim)] if sizes else y.shape)
            for o, y in zip(node.output, expected)
        ]
        self.write(name, build(results), list(feed.values()), expected)


def onnx_type(x):
    return TensorProto.STRING if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype)


# ---- images: GridSample, AffineGrid, Col2Im, DeformConv, regions ----------------------------------------


def add_grids(c):
    for mode in "linear", "nearest", "cubic":
        for padding in "zeros", "border", "reflection":
            for align in 0, 1:
                attrs = {"mode": mode, "padding_mode": padding, "align_corners": align}
                name = f"{mode}_{padding}_{align}"
                c.add(f"grid_sample_{name}", "GridSample", [normal(2, 3, 7, 4), uniform(-2.5, 2.5, 2, 5, 6, 2)], attrs, version=20)
                old = {**attrs, "mode": {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)}
                c.add(f"grid_sample_16_{name}", "GridSample", [normal(2, 3, 1, 4), uniform(-2, 2, 2, 5, 6, 2)], old, version=16)
                if mode != "cubic":
                    x, grid = normal(2, 3, 4, 5, 6), uniform(-2, 2, 2, 2, 3, 4, 3)
                    c.add(f"grid_sample_3d_{name}", "GridSample", [x, grid], attrs, version=20)
        sizes = [("n", "c", "h", "w"), ("n", "gh", "gw", None)]
        x = normal(2, 3, 7, 4), uniform(-1.5, 1.5, 2, 5, 6, 2)
        c.add(f"grid_sample_sizes_{mode}", "GridSample", x, {"mode": mode}, version=20, sizes=sizes)
    x = normal(2, 3, 7, 4), uniform(-1.5, 1.5, 2, 5, 6, 2)
    c.add("grid_sample_double", "GridSample", [v.astype(np.float64) for v in x], version=22, by="reference")
    c.add("grid_sample_half", "GridSample", [x[0].astype(np.float16), x[1]], {"mode": "nearest"}, version=22, by="reference")
    c.add("grid_sample_empty", "GridSample", [x[0][:0], x[1][:0]], version=22, by=[np.zeros((0, 3, 5, 6), np.float32)])
    for align in 0, 1:
        for axes, size in (2, [2, 3, 4, 5]), (3, [2, 3, 4, 5, 6]):
            theta = normal(2, axes, axes + 1)
            c.add(f"affine_grid_{axes}_{align}", "AffineGrid", [theta, np.array(size)], {"align_corners": align}, version=20,
                  consts=(1,), by="reference")


def add_blocks(c):
    # ONNX Runtime computes dilations of three axes wrongly
    for name, image, block, strides, pads, dilations, by, kind in (
        ("plain", (5, 6), (2, 3), (1, 1), (0,) * 4, (1, 1), "runtime", np.float32),
        ("all", (7, 9), (2, 3), (2, 2), (1, 2, 0, 1), (1, 2), "runtime", np.float32),
        ("3d", (4, 5, 6), (2, 2, 2), (1, 2, 1), (0, 1, 0, 1, 0, 0), (1, 1, 2), "reference", np.float32),
        ("1d", (7,), (3,), (2,), (1, 1), (2,), "reference", np.float32),
        ("int8", (5, 6), (2, 3), (1, 1), (0,) * 4, (1, 1), "reference", np.int8),
    ):
        n = len(image)
        blocks = [(image[i] + pads[i] + pads[i + n] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(n)]
        x = (normal(2, 3 * int(np.prod(block)), int(np.prod(blocks))) * 9).astype(kind)
        attrs = {"strides": strides, "pads": pads, "dilations": dilations}
        c.add(f"col2im_{name}", "Col2Im", [x, np.array(image), np.array(block)], attrs, version=18, consts=(1, 2), by=by)
        words = np.array([f"{v}\u00e9" * (v % 3) for v in range(x.size)]).reshape(x.shape)
        joined = ReferenceEvaluator(helper.make_node("Col2Im", ["x", "i", "b"], ["y"], **attrs)).run(
            None, {"x": words.astype(np.dtypes.StringDType()), "i": np.array(image), "b": np.array(block)})
        c.add(f"col2im_{name}_string", "Col2Im", [words.astype(object), np.array(image), np.array(block)], attrs, version=18,
              consts=(1, 2), by=[joined[0].astype(object)], sizes=[("n", "c", "l"), None, None] if name in ("all", "3d") else None)
    x, w, offset = normal(2, 4, 7, 8), normal(6, 4, 3, 3), normal(2, 18, 7, 8) * np.float32(1.5)
    inputs = [x, w, offset, normal(6), normal(2, 9, 7, 8)]
    sizes = [("n", None, "h", "w"), None, ("n", None, "oh", "ow"), None, ("n", None, "oh", "ow")]
    c.add("deform_conv", "DeformConv", inputs, {"pads": [1, 1, 1, 1]}, version=19, consts=(1, 3))
    c.add("deform_conv_sizes", "DeformConv", inputs, {"pads": [1, 1, 1, 1]}, version=19, consts=(1, 3), sizes=sizes)
    attrs = {"pads": [1, 2, 1, 0], "group": 2, "offset_group": 4, "strides": [2, 1], "dilations": [1, 2]}
    inputs = [x, normal(6, 2, 3, 2), normal(2, 48, 4, 8) * 3, None, normal(2, 24, 4, 8)]
    c.add("deform_conv_groups", "DeformConv", inputs, attrs, version=19)


def add_regions(c):
    corners = np.sort(uniform(0, 9, 5, 4), axis=1)
    for mode in "avg", "max":
        for ratio in 0, 2:
            attrs = {"mode": mode, "output_height": 3, "output_width": 2, "sampling_ratio": ratio, "spatial_scale": 0.7}
            inputs = [normal(2, 40, 8, 9), corners, np.array([0, 1, 1, 0, 1])]
            c.add(f"roi_align_10_{mode}_{ratio}", "RoiAlign", inputs, attrs, version=10)
            for shift in "half_pixel", "output_half_pixel":
                more = {**attrs, "coordinate_transformation_mode": shift}
                c.add(f"roi_align_{shift}_{mode}_{ratio}", "RoiAlign", inputs, more, version=16)
    regions = np.concatenate([rng.integers(0, 2, (6, 1)), rng.integers(-3, 12, (6, 4)) + 0.5], 1).astype(np.float32)
    sizes = [("n", "c", "h", "w"), ("r", None)]
    attrs = {"pooled_shape": [3, 4], "spatial_scale": 0.8}
    c.add("max_roi_pool", "MaxRoiPool", [normal(2, 3, 8, 9), regions], attrs, version=1, sizes=sizes)
    at = np.stack([rng.permutation(48)[:12] + 48 * i for i in range(6)]).reshape(2, 3, 3, 4)
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    c.add("max_unpool", "MaxUnpool", [normal(2, 3, 3, 4), at], attrs, version=11)
    for center in 0, 1:
        for k, (most, overlap, score) in enumerate([(1, 0.1, 0.5), (5, 0.3, 0), (100, 0.5, 0.2), (0, 0.5, 0.1),
                                                        (10**12, 0.4, 0.1), (2**63 - 1, 0.4, 0.1)]):
            inputs = [uniform(0, 1, 2, 30, 4), np.round(uniform(0, 1, 2, 3, 30), 1), np.array([most])]
            inputs += [np.array([overlap], np.float32), np.array([score], np.float32)]
            c.add(f"nms_{center}_{k}", "NonMaxSuppression", inputs, {"center_point_box": center}, version=11,
                  consts=(2, 3, 4) if k % 2 else (), sizes=[("n", "b", None), ("n", "c", "b"), None, None, None] if k == 2 else None)


# ---- signals --------------------------------------------------------------------------------------------


def add_signals(c):
    for n in 1, 2, 3, 5, 7, 8, 12, 15, 16, 30, 64, 97, 100, 210, 360, 1024:
        for part in 1, 2:
            for inverse in 0, 1:
                for half in 0, 1:
                    if inverse and half and n == 1:
                        continue
                    c.add(f"dft_{n}_{part}_{inverse}_{half}", "DFT", [normal(2, n, part).astype(np.float64)],
                          {"inverse": inverse, "onesided": half}, version=20, by="reference")
    for n in 1, 5, 9, 16:
        for half in 0, 1:
            inputs = [normal(2, 3, 9, 2, 2 - half), np.array(n), np.array(2)]
            c.add(f"dft_length_{n}_{half}", "DFT", inputs, {"onesided": half}, version=20, consts=(1, 2), by="reference")
            sizes = [("n", "t", "k", None), None, None]
            inputs = [normal(2, n, 3, 2 - half), None, np.array(1)]
            c.add(f"dft_sizes_{n}_{half}", "DFT", inputs, {"onesided": half}, version=20, consts=(2,), by="reference", sizes=sizes)
    for axis in 0, 1, -2, -3:
        c.add(f"dft_axis_{axis}".replace("-", "minus_"), "DFT", [normal(2, 3, 9, 1), None, np.array(axis)], {"onesided": 1}, version=20, by="reference")
    complex_signal = [normal(2, 50, 2), np.array(7), None, np.array(16)]
    c.add("stft_complex", "STFT", complex_signal, {"onesided": 0}, version=17, consts=(1, 3), by="reference")
    for n in 15, 16:
        c.add(f"stft_{n}", "STFT", [normal(2, 50, 1), np.array(5), normal(n), np.array(n)], version=17, consts=(1, 3), by="reference")
    for window in "HannWindow", "HammingWindow", "BlackmanWindow":
        for periodic in 0, 1:
            for kind in TensorProto.FLOAT, TensorProto.DOUBLE:
                c.add(f"window_{window}_{periodic}_{kind}", window, [np.array(13)],
                      {"periodic": periodic, "output_datatype": kind}, version=17, consts=(0,), by="reference")
    for k, (mels, n, rate, low, high) in enumerate([(8, 16, 8192, 0, 4000), (40, 512, 16000, 20, 8000), (64, 400, 16000, 0, 8000)]):
        ends = [np.array(low, np.float32), np.array(high, np.float32)]
        c.add(f"mel_{k}", "MelWeightMatrix", [np.array(mels), np.array(n), np.array(rate), *ends], version=17, consts=range(5))


# ---- ai.onnx.ml -----------------------------------------------------------------------------------------

ML = "ai.onnx.ml"
POSTS = "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"] # ONNX Runtime computes NEQ of NaN wrongly


def random_trees(trees, depth, features, modes, missing=False):
    """(the attributes of version 1 for nodes, the (tree, node) of all leaves)"""
    nodes, leaves = [], []

    def grow(tree, left):
        at = sum(n[0] == tree for n in nodes)
        leaf = left == 0 or (left < depth and rng.random() < 0.2)
        mode = "LEAF" if leaf else str(rng.choice(modes))
        node = [tree, at, mode, int(rng.integers(features)), float(rng.integers(-3, 4) / 2), 0, 0, int(rng.random() < 0.5)]
        nodes.append(node)
        if leaf:
            leaves.append((tree, at))
        else:
            node[5] = grow(tree, left - 1)
            node[6] = grow(tree, left - 1)
        return at

    for tree in range(trees):
        grow(tree, depth)
    lists = "treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true"
    attrs = {f"nodes_{k}": [n[i] for n in nodes] for i, k in enumerate(lists) if missing or i < 7}
    return attrs, leaves


def with_leaves(attrs, kind, entries, **more):
    """entries: (tree, node, target, weight)"""
    lists = {f"{kind}_{k}": [e[i] for e in entries] for i, k in enumerate(["treeids", "nodeids", "ids", "weights"])}
    return {**attrs, **lists, **more}


def quarters(rows, columns, missing=False):
    """Multiples of 1/4, which often equal the split values of random_trees."""
    x = (rng.integers(-8, 9, (rows, columns)) / 4).astype(np.float32)
    if missing:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def add_trees(c):
    for k, modes in enumerate([MODES[:1], MODES[1:2], MODES]):
        for missing in False, True:
            for targets, aggregate in (1, "SUM"), (3, "SUM"), (3, "AVERAGE"), (1, "MIN"), (3, "MIN"), (3, "MAX"):
                attrs, leaves = random_trees(5, 4, 6, modes[:-1] if missing and k == 2 else modes, missing)
                entries = [(*leaf, t, float(normal())) for leaf in leaves for t in range(targets)]
                more = {"n_targets": targets, "aggregate_function": aggregate, "base_values": numbers(targets)}
                attrs = with_leaves(attrs, "target", entries, **more)
                name = f"trees_{k}_{aggregate}_{targets}_{int(missing)}"
                c.add(name, "TreeEnsembleRegressor", [quarters(20, 6, missing)], attrs, version=3, domain=ML)
    for post in POSTS:
        attrs, leaves = random_trees(3, 3, 6, MODES)
        entries = [(*leaf, t, float(uniform(0, 0.3))) for leaf in leaves for t in range(3)]
        target = with_leaves(attrs, "target", entries, n_targets=3, post_transform=post)
        c.add(f"trees_{post}", "TreeEnsembleRegressor", [quarters(20, 6)], target, version=3, domain=ML)
        labels = {"classlabels_int64s": [5, 3, 9]} if post == "NONE" else {"classlabels_strings": ["a", "bb", ""]}
        classes = with_leaves(attrs, "class", entries, post_transform=post, **labels)
        c.add(f"tree_classes_{post}", "TreeEnsembleClassifier", [quarters(20, 6)], classes, version=3, domain=ML, outputs=2)
        if post != "PROBIT":
            for low in 0, -1:
                entries = [(*leaf, 0, float(uniform(low / 3, 1 / 3))) for leaf in leaves]
                classes = with_leaves(attrs, "class", entries, post_transform=post, classlabels_int64s=[10, 20])
                name = f"tree_two_classes_{post}_{-low}"
                c.add(name, "TreeEnsembleClassifier", [quarters(20, 6)], classes, version=3, domain=ML, outputs=2)


def random_ensemble(modes, targets, kind, missing):
    """The attributes of TreeEnsemble 5."""
    nodes, leaves, sets = [], [], {}

    def grow(left):
        if left == 0:
            leaves.append((int(rng.integers(targets)), float(normal())))
            return len(leaves) - 1, 1
        at, mode = len(nodes), int(rng.choice(modes))
        nodes.append(None)
        if mode == 6:
            sets[at] = [float(v) / 4 for v in rng.choice(np.arange(1, 9), rng.integers(1, 4), replace=False)]
        split = 0.0 if mode == 6 else float(rng.integers(-4, 5) / 2)
        yes, no = (grow(left - 1 if rng.random() < 0.8 else 0) for _ in range(2))
        nodes[at] = (mode, split, int(rng.integers(5)), int(rng.random() < 0.5), *yes, *no)
        return at, 0

    attrs = {"tree_roots": [grow(3)[0] for _ in range(4)], "n_targets": targets}
    lists = "featureids", "missing_value_tracks_true", "truenodeids", "trueleafs", "falsenodeids", "falseleafs"
    attrs.update({f"nodes_{k}": [n[i + 2] for n in nodes] for i, k in enumerate(lists) if missing or i != 1})
    attrs["nodes_modes"] = numpy_helper.from_array(np.array([n[0] for n in nodes], np.uint8))
    attrs["nodes_splits"] = numpy_helper.from_array(np.array([n[1] for n in nodes], kind))
    attrs["leaf_targetids"] = [leaf[0] for leaf in leaves]
    attrs["leaf_weights"] = numpy_helper.from_array(np.array([leaf[1] for leaf in leaves], kind))
    if sets:
        members = [v for at in sorted(sets) for v in [*sets[at], np.nan]]
        attrs["membership_values"] = numpy_helper.from_array(np.array(members, kind))
    return attrs


def add_ensembles(c):
    for kind in np.float32, np.float64:
        for modes in [0], [1], [0, 1, 2, 3, 4, 5], [6], [0, 1, 2, 3, 4, 5, 6]:
            for aggregate in 0, 1, 2, 3:
                for missing in False, True:
                    if aggregate > 1 and 6 in modes:
                        continue # ONNX Runtime refuses some sets, and the reference starts at another node
                    x = quarters(12, 5, missing).astype(kind)
                    attrs = {**random_ensemble([m for m in modes if m != 5 or not missing], 3, kind, missing), "aggregate_function": aggregate}
                    name = f"ensemble_{np.dtype(kind).name}_{''.join(map(str, modes))}_{aggregate}_{int(missing)}"
                    by = "reference" if aggregate < 2 else "runtime"
                    c.add(name, "TreeEnsemble", [x], attrs, version=5, domain=ML, by=by)


def add_linear(c):
    for post in POSTS:
        attrs = {"coefficients": [abs(v) for v in numbers(18)], "intercepts": [0.1] * 3, "targets": 3, "post_transform": post}
        c.add(f"linear_{post}", "LinearRegressor", [uniform(0, 0.1, 4, 6)], attrs, version=1, domain=ML)
        attrs = {"coefficients": numbers(18), "intercepts": [0.2] * 3, "classlabels_ints": [5, 9, 2], "post_transform": post}
        c.add(f"linear_classes_{post}", "LinearClassifier", [uniform(0, 0.1, 7, 6)], attrs, version=1, domain=ML, outputs=2)
    attrs = {"coefficients": numbers(6), "intercepts": [0.2], "classlabels_strings": ["no", "yes"], "post_transform": "LOGISTIC"}
    c.add("linear_two_classes", "LinearClassifier", [normal(7, 6)], attrs, version=1, domain=ML, outputs=2)
    attrs = {"coefficients": numbers(18), "intercepts": numbers(3), "classlabels_ints": [3, 5, 7]}
    c.add("linear_sizes", "LinearClassifier", [normal(4, 6)], attrs, version=1, domain=ML, outputs=2, sizes=[("n", "c")])


def add_vectors(c):
    for kernel in "LINEAR", "POLY", "RBF", "SIGMOID":
        common = {"kernel_type": kernel, "kernel_params": [0.3, 0.2, 3.0]}
        attrs = {**common, "n_supports": 7, "support_vectors": numbers(28), "coefficients": numbers(7), "rho": [0.4]}
        for one in 0, 1:
            c.add(f"svm_{kernel}_{one}", "SVMRegressor", [normal(5, 4)], {**attrs, "one_class": one}, version=1, domain=ML)
        for per_class in [3, 4], [3, 2, 4], [2, 2, 3, 1]:
            n, pairs, vectors = len(per_class), len(per_class) * (len(per_class) - 1) // 2, sum(per_class)
            for probable in 0, 1:
                attrs = {**common, "support_vectors": numbers(vectors, 4), "coefficients": numbers(n - 1, vectors)}
                attrs.update({"rho": numbers(pairs), "vectors_per_class": per_class, "classlabels_ints": [7, 3, 5, 9][:n]})
                if probable:
                    attrs.update({"prob_a": [-0.1 - abs(v) for v in numbers(pairs)], "prob_b": numbers(pairs)})
                name = f"svm_classes_{kernel}_{n}_{probable}"
                c.add(name, "SVMClassifier", [normal(5, 4)], attrs, version=1, domain=ML, outputs=2)


def add_features(c):
    for kind in np.float32, np.float64, np.int32, np.int64:
        x, name = (normal(4, 6) * 3).astype(kind), np.dtype(kind).name
        c.add(f"extract_{name}", "ArrayFeatureExtractor", [x, np.array([1, 3, 0])], version=1, domain=ML)
        c.add(f"binarizer_{name}", "Binarizer", [x], {"threshold": -0.5}, version=1, domain=ML, by="reference")
        for i, at in enumerate((1e30, -1e30, 5e9, -5e9, 2.0 ** 63, -2.0 ** 63, np.nan)):
            c.add(f"binarizer_at_{i}_{name}", "Binarizer", [x], {"threshold": at}, version=1, domain=ML, by="reference")
        for norm in "MAX", "L1", "L2":
            c.add(f"normalizer_{norm}_{name}", "Normalizer", [x], {"norm": norm}, version=1, domain=ML)
        c.add(f"scaler_{name}", "Scaler", [x], {"offset": numbers(6), "scale": numbers(6)}, version=1, domain=ML)
        c.add(f"vectorizer_{name}", "FeatureVectorizer", [x, x[:, :2]], {"inputdimensions": [4, 5]}, version=1, domain=ML)
    x = normal(4, 6)
    x[rng.random(x.shape) < 0.3] = np.nan
    attrs = {"imputed_value_floats": numbers(6), "replaced_value_float": float("nan")}
    c.add("imputer_nan", "Imputer", [x], attrs, version=1, domain=ML)
    attrs = {"imputed_value_int64s": [5], "replaced_value_int64": 1}
    c.add("imputer_int64", "Imputer", [np.round(normal(4, 6)).astype(np.int64)], attrs, version=1, domain=ML)
    for zeros in 0, 1:
        attrs = {"cats_strings": ["b", "a", "c"], "zeros": zeros}
        words = np.array([["a", "b"], ["c", "a" if zeros == 0 else "d"]], dtype=object)
        c.add(f"one_hot_string_{zeros}", "OneHotEncoder", [words], attrs, version=1, domain=ML)
    c.add("one_hot_int64", "OneHotEncoder", [np.array([2, 0, -1])], {"cats_int64s": [0, 1, 2], "zeros": 1}, version=1, domain=ML)


# ---- ImageDecoder: files written here, so that their pixels are known --- ------------------------------


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def pack(samples, depth):
    """A row of samples packed into bytes, the first in the upper bits."""
    bits = "".join(format(s, f"0{depth}b") for s in samples)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


PASSES = (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)


def png(width, height, depth, color, interlaced, level, strategy, piece):
    """(a PNG whose rows have random filters, its pixels)"""
    parts = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    pixels = rng.integers(0, 1 << depth, (height, width, parts))
    pixels[height // 2 :] = np.arange(width)[:, None] % (1 << depth)
    raw, back = b"", max(1, depth * parts // 8)
    for x0, y0, dx, dy in PASSES if interlaced else [(0, 0, 1, 1)]:
        above = None
        for row in pixels[y0::dy, x0::dx]:
            if row.size == 0:
                continue
            line = pack(row.ravel(), depth)
            above = above or bytes(len(line))
            kind, out = int(rng.integers(5)), bytearray()
            for i, v in enumerate(line):
                a, b, d = (line[i - back], above[i], above[i - back]) if i >= back else (0, above[i], 0)
                out.append((v - (0, a, b, (a + b) // 2, paeth(a, b, d))[kind]) & 255)
            raw += bytes([kind]) + out
            above = line
    deflate = zlib.compressobj(level, 8, 15, 9, strategy)
    data = deflate.compress(raw) + deflate.flush()
    palette = rng.integers(0, 256, (1 << depth, 3)) if color == 3 else None
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced))
    file += chunk(b"PLTE", palette.astype(np.uint8).tobytes()) if color == 3 else b""
    file += b"".join(chunk(b"IDAT", data[i : i + piece]) for i in range(0, len(data), piece)) + chunk(b"IEND", b"")
    if color == 3:
        return file, palette[pixels[..., 0]].astype(np.uint8)
    eight = pixels >> 8 if depth == 16 else pixels * 255 // ((1 << depth) - 1)
    return file, (eight[..., [0, 0, 0]] if color in (0, 4) else eight[..., :3]).astype(np.uint8)


def bmp(width, height, bits, top_down):
    row = np.zeros((height, -(-width * bits // 32) * 4), np.uint8)
    if bits <= 8:
        palette = rng.integers(0, 256, (1 << bits, 4)).astype(np.uint8)
        pixels = rng.integers(0, 1 << bits, (height, width))
        for y in range(height):
            line = pack(pixels[y], bits)
            row[y, : len(line)] = list(line)
        head, image = palette.tobytes(), palette[pixels][..., 2::-1]
    else:
        image, head = rng.integers(0, 256, (height, width, 3)).astype(np.uint8), b""
        padded = np.concatenate([image[..., ::-1], np.zeros((height, width, bits // 8 - 3), np.uint8)], axis=2)
        row[:, : width * bits // 8] = padded.reshape(height, -1)
    start = 54 + len(head)
    file = b"BM" + struct.pack("<IHHI", start + row.size, 0, 0, start)
    file += struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, 0, row.size, 0, 0, 0, 0)
    return file + head + (row if top_down else row[::-1]).tobytes(), image


def add_images(c):
    def decode(name, file, image):
        c.add(f"image_{name}", "ImageDecoder", [np.frombuffer(file, np.uint8)], version=20, by=[image])

    how = [(0, 0), (9, 0), (6, zlib.Z_FIXED), (6, zlib.Z_HUFFMAN_ONLY), (1, 0)]
    k = 0
    for color, depths in (0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16)):
        for depth in depths:
            for interlaced in 0, 1:
                for width, height in (1, 1), (3, 5), (64, 61):
                    k += 1
                    file = png(width, height, depth, color, interlaced, *how[k % 5], (97, 1, 5000)[k % 3])
                    decode(f"png_{color}_{depth}_{interlaced}_{width}", *file)
    for bits in 1, 4, 8, 24, 32:
        decode(f"bmp_{bits}", *bmp(33, 20, bits, False))
        decode(f"bmp_{bits}_down", *bmp(7, 5, bits, True))
    image = rng.integers(0, 256, (6, 11, 3)).astype(np.uint8)
    decode("pnm_6", b"P6 # red\n11\n6 255\n" + image.tobytes(), image)
    decode("pnm_3", b"P3 11 6 255 " + b" ".join(b"%d" % v for v in image.ravel()), image)
    decode("pnm_5", b"P5 11 6 255 " + image[..., 0].tobytes(), image[..., [0, 0, 0]])
    decode("nothing", b"no image at all, but long enough to be one", np.zeros((0, 0, 3), np.uint8))


# ---- attention, contractions ----------------------------------------------------------------------------


def add_attention(c):
    for kind, rows, keys in (
        (np.float32, 1, 40), (np.float32, 3, 5), (np.float32, 50, 40), (np.float32, 24, 24), (np.float64, 25, 17),
    ):
        # sums of values of both signs may be as small as their rounding
        q, k, v = (x.astype(kind) for x in (normal(2, 6, rows, 20), normal(2, 3, keys, 20), 0.5 + abs(normal(2, 3, keys, 17))))
        bias = np.where(uniform(0, 1, 6, rows, keys) < 0.3, -np.inf, normal(6, rows, keys)).astype(kind)
        allowed = uniform(0, 1, 2, 1, rows, keys - 2) < 0.7
        past = [normal(2, 3, 7, 20).astype(kind), 0.5 + abs(normal(2, 3, 7, 17)).astype(kind)]
        flat = [x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1) for x in (q, k, v)]
        heads = {"q_num_heads": 6, "kv_num_heads": 3}
        lengths = [None, None, None, rng.integers(1, keys + 1, 2)]
        name = f"attention_{kind.__name__}_{rows}"
        for suffix, inputs, attrs, version, outputs in (
            ("plain", [q, k, v], {}, 23, 1),
            ("causal", [q, k, v], {"is_causal": 1, "scale": 0.3}, 23, 1),
            ("window", [q, k, v], {"left_window_size": 3, "right_window_size": 1}, 25, 1),
            ("wide", [q, k, v], {"left_window_size": 2**63 - 1, "right_window_size": 2**63 - 2}, 25, 1),
            ("bool", [q, k, v, allowed], {"softcap": 1.5}, 23, 1),
            ("bias", [q, k, v, bias], {"is_causal": 1}, 23, 1),
            ("packed", flat, heads, 23, 1),
            ("past", [q, k, v, None, *past], {"is_causal": 1}, 23, 3),
            ("packed_past", [*flat, None, *past], {**heads, "qk_matmul_output_mode": 3}, 23, 4),
            ("lengths", [q, k, v, *lengths], {"is_causal": 1}, 24, 1),
        ):
            c.add(f"{name}_{suffix}", "Attention", inputs, attrs, version=version, outputs=outputs, by="double")
        sizes = [("b", None, "q", None), ("b", None, "k", None), ("b", None, "k", None), None, ("b", None, "p", None),
                 ("b", None, "p", None)]
        c.add(f"{name}_sizes", "Attention", [q, k, v, None, *past], {"is_causal": 1}, version=23, outputs=3, by="double",
              sizes=sizes)
    for rule in "linear", "gated", "delta", "gated_delta":
        for heads in 2, 4:
            inputs = [normal(2, 5, heads * 9), normal(2, 5, 18) / 3, normal(2, 5, 34), normal(2, 2, 9, 17)]
            inputs += [-uniform(0, 1, 2, 5, 18 if heads == 2 else 2) if "gated" in rule else None]
            inputs += [uniform(0, 1, 2, 5, heads // 2) if "delta" in rule else None]
            attrs = {"update_rule": rule, "q_num_heads": heads, "kv_num_heads": 2}
            c.add(f"linear_attention_{rule}_{heads}", "LinearAttention", inputs, attrs, version=27, outputs=2, by="reference")
    for length in 1, 3, 17, 40:
        inputs = [normal(2, 3, length), normal(3, 1, 4), normal(3), normal(2, 3, 3)]
        c.add(f"causal_conv_{length}", "CausalConvWithState", inputs, {"activation": "silu"}, version=27, outputs=2,
              by="reference", sizes=[("b", None, "n"), None, None, ("b", None, None)])


def add_contractions(c):
    for k, (equation, *shapes) in enumerate((
        ("ij,jk", (3, 4), (4, 5)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
        ("ii->i", (4, 4)), ("iji->j", (3, 2, 3)), ("...ii->...", (2, 3, 3)), ("i,j,k->kji", (2,), (3,), (4,)),
        ("ij,jk,kl->il", (2, 30), (30, 3), (3, 4)), ("a...b,b...->...a", (2, 5, 1, 3), (3, 6)), ("ij->", (3, 4)),
        ("bij,bjk->ik", (2, 3, 4), (2, 4, 5)), ("ab,ab->a", (3, 4), (3, 4)), ("Ab,bA", (3, 4), (4, 3)), (",ij->ji", (), (2, 3)),
        ("abc,cbd,da->b", (2, 3, 4), (4, 3, 5), (5, 2)), (" i j , j -> i ", (3, 4), (4,)), ("...j,...j->...", (2, 1, 3), (4, 3)),
    )):
        for kind in np.float32, np.int8:
            inputs = [np.asarray(normal(*shape) * 3).astype(kind) for shape in shapes]
            c.add(f"einsum_{k}_{kind.__name__}", "Einsum", inputs, {"equation": equation}, version=12, by="reference")


# ---- many dimensions --------------------------------------------------------------------------------------


def add_dimensions(c):
    """Many axes that cannot be merged."""
    for rank in 5, 7, 10:
        x = normal(*(2 + (k % 3 == 0) for k in range(rank)))
        odd, axis = np.arange(1, rank, 2), rank // 2
        turned = [*range(1, rank, 2), *range(0, rank, 2)]
        c.add(f"deep_transpose_{rank}", "Transpose", [x], {"perm": turned}, version=21, by="reference")
        c.add(f"deep_tile_{rank}", "Tile", [x, 1 + np.arange(rank) % 2], version=13, consts=(1,), by="reference")
        for mode in "constant", "edge":
            pads = (np.arange(2 * rank) + 1) % 2
            c.add(f"deep_pad_{mode}_{rank}", "Pad", [x, pads], {"mode": mode}, version=21, consts=(1,), by="reference")
        places = rng.integers(-2, 2, [1 + (k + 1) % 2 for k in range(rank)])
        whole = rng.integers(-2, 2, x.shape[:axis] + (1,) + x.shape[axis + 1:])
        c.add(f"deep_gather_elements_{rank}", "GatherElements", [x, whole], {"axis": axis}, version=13, by="reference")
        c.add(f"deep_scatter_elements_{rank}", "ScatterElements", [x, places, normal(*places.shape)],
              {"axis": axis, "reduction": "add"}, version=18, by="reference")
        a, b = normal(*(1 + k % 2 for k in range(rank - 2)), 2, 3), normal(*(2 - k % 2 for k in range(rank - 2)), 3, 2)
        c.add(f"deep_product_{rank}", "MatMul", [a, b], version=13, by="reference")
        for op in "Sum", "Mean", "L1", "L2", "SumSquare", "Prod", "Max", "Min", "LogSumExp":
            c.add(f"deep_reduce_{op}_{rank}", f"Reduce{op}", [x, odd], {"keepdims": rank % 2}, version=18, consts=(1,), by="reference")
            c.add(f"deep_reduce_{op}_{rank}_given", f"Reduce{op}", [x, odd], version=18, by="reference")
        c.add(f"deep_reduce_log_{rank}", "ReduceLogSum", [abs(x), odd], version=18, by="reference")
        half, whole = abs(x).astype(np.float16), (x * 9).astype(np.int32)
        c.add(f"deep_reduce_half_{rank}", "ReduceMean", [half, odd], version=18, by="reference")
        mean = np.trunc(whole.mean(tuple(odd), keepdims=True)).astype(np.int32)
        c.add(f"deep_reduce_int_{rank}", "ReduceMean", [whole, odd], version=18, by=[mean])


# ---- strings: Cast, Where, NonZero, Unique, Compress --------------------------------------------------------------


def strings(*s):
    return np.array(s, dtype=object)


def add_open(c):
    """An input that broadcasts to another, whose run-time sizes are 1 or equal to the other's."""
    x, y = ("n", "m"), ("p", "q")
    for rows, columns in (1, 1), (1, 5), (3, 1), (3, 5):
        name, v = f"open_{rows}_{columns}", normal(rows, columns)
        c.add(f"{name}_layer_norm", "LayerNormalization", [normal(3, 5), normal(columns), v[:1]], version=17,
              sizes=[x, ("p",), (None, "q")])
        c.add(f"{name}_rms_norm", "RMSNormalization", [normal(3, 5), v], version=23, by="reference", sizes=[x, y])
        c.add(f"{name}_gemm", "Gemm", [normal(3, 4), normal(4, 5), v], {"beta": 0.7}, version=13, sizes=[x, ("m", "k"), y])
    for scale in 1.37, 1 / 3, 0.9999:
        inputs = [normal(1, 2, 7, 9), None, np.array([1, 1, scale, 2.5], np.float32)]
        c.add(f"open_resize_{scale * 100:.0f}", "Resize", inputs, {"mode": "linear"}, version=19, consts=(2,), sizes=[(None, None, "h", "w"), None, None])
    for scale, size in (0.7, 10), (0.9, 10), (1 / 49, 98):      # by these floats, the size is a whole number only if the product is rounded
        inputs, nearest = [normal(1, size), None, np.array([1, scale], np.float32)], {"mode": "nearest"}
        c.add(f"fixed_resize_{scale * 100:.0f}", "Resize", inputs, nearest, version=19, consts=(2,))
        c.add(f"open_resize_{scale * 100:.0f}", "Resize", inputs, nearest, version=19, consts=(2,), sizes=[(None, "w"), None, None])
        c.add(f"late_resize_{scale * 100:.0f}", "Resize", inputs, nearest, version=19)
    for mode in "linear", "nearest":
        attrs = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": -7.0}
        for i, (start, end) in enumerate(((1e30, 2e30), (-3e38, 3e38), (np.nan, 1), (np.inf, 1), (-np.inf, np.inf), (0, 3e38), (-1e12, 1e12))):
            region = np.array([0, 0, 0, start, 1, 1, 1, end], np.float32)
            c.add(f"late_resize_{mode}_far_{i}", "Resize", [normal(1, 1, 4, 4), region, None, np.array([1, 1, 4, 3])], attrs, version=19,
                  consts=(3,))


def add_strings(c):
    kinds = {"int8": np.int8, "uint8": np.uint8, "int32": np.int32, "int64": np.int64, "uint64": np.uint64}
    for name, kind in kinds.items():
        x = np.array([0, 7, np.iinfo(kind).min, np.iinfo(kind).max], kind)
        c.add(f"cast_{name}_string", "Cast", [x], {"to": TensorProto.STRING}, version=19)
        text = strings(*(str(v) for v in x), " 12 ", "+3")
        c.add(f"cast_string_{name}", "Cast", [text], {"to": onnx_type(x)}, version=13)
    c.add("cast_bool_string", "Cast", [np.array([[True, False]])], {"to": TensorProto.STRING}, version=21)
    c.add("cast_string_bool", "Cast", [strings("0", "1", "-3")], {"to": TensorProto.BOOL}, version=9)
    # numbers of at most eight digits, since ONNX Runtime prints no more
    x = np.array([[0, -0.0, 1, -2.5, 1e7, 12345678], [1e8, 1e20, -np.inf, np.inf, np.nan, 16777216]])
    c.add("cast_double_string", "Cast", [x], {"to": TensorProto.STRING}, version=13)
    c.add("cast_float_string", "Cast", [x.astype(np.float32)], {"to": TensorProto.STRING}, version=9, sizes=[("n", "m")])
    x = [0.1, 2 / 3, 1e-4, 1.5e-5, 123456789, 1e15, 1e16, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 12345678901234567, 1e23]
    text = strings("0.1", "0.6666666666666666", "0.0001", "1.5e-05", "123456789", "1e+15", "1e+16", "5e-324",
                   "1.7976931348623157e+308", "0.30000000000000004", "12345678901234568", "1e+23")
    c.add("cast_double_digits", "Cast", [np.array(x)], {"to": TensorProto.STRING}, version=21, by=[text])
    x = np.array([0.1, 2 / 3, 123456789, 1e-45, 3.4028235e38, 33554432.5])
    text = strings("0.1", "0.6666667", "1.2345679e+08", "1e-45", "3.4028235e+38", "33554432")
    c.add("cast_float_digits", "Cast", [x.astype(np.float32)], {"to": TensorProto.STRING}, version=21, by=[text])
    text = strings("0.1", "0.6665", "65500", "INF")
    c.add("cast_half_digits", "Cast", [np.array([0.1, 2 / 3, 65504, np.inf], np.float16)], {"to": TensorProto.STRING}, version=21,
          by=[text])
    text = strings("3.14", "1000", "1e-5", "1E8", "+INF", "inf", "-Inf", "nan", ".5", "5.", "-0", "1e+2", "0.1000000014901161194")
    for name, kind in ("float", TensorProto.FLOAT), ("double", TensorProto.DOUBLE), ("half", TensorProto.FLOAT16):
        c.add(f"cast_string_{name}", "Cast", [text], {"to": kind}, version=19, sizes=[("n",)])
    text = strings("1e400", "-1e-400", "2.4703282292062327208e-324", "2.4703282292062328e-324", "9007199254740993",
                   "9007199254740993." + 800 * "0" + "1", "8.5" + 1200 * "0" + "e-1")
    x = np.array([np.inf, -0.0, 0, 5e-324, 9007199254740992, 9007199254740994, 0.85])
    c.add("cast_string_limits", "Cast", [text], {"to": TensorProto.DOUBLE}, version=19, by=[x])
    text = strings("1e2", "-99.99", "9223372036854775807", "-9223372036854775808")
    x = np.array([100, -99, 2**63 - 1, -2**63])
    c.add("cast_string_whole", "Cast", [text], {"to": TensorProto.INT64}, version=19, by=[x])
    c.add("cast_string_constant", "Cast", [strings("1.5", "-7")], {"to": TensorProto.FLOAT}, version=19, consts=(0,))
    c.add("cast_constant_string", "Cast", [np.array([1.5, -7])], {"to": TensorProto.STRING}, version=19, consts=(0,))
    c.add("cast_like_string", "CastLike", [np.array([1.5, -7]), strings("")], version=15, by=[strings("1.5", "-7")])

    words = strings("pear", "", "apple", "pear", "\u00e9t\u00e9", "fig", "apple", "app", "")
    c.add("where_string", "Where", [np.array([[True], [False]]), words[:3], words[3:6]], version=9)
    sizes = [("n", None), ("n", "m"), ("m",)]
    c.add("where_string_sizes", "Where", [np.array([[True], [False]]), words[:6].reshape(2, 3), words[3:6]], version=16, sizes=sizes)
    for kept in 0, 1:
        c.add(f"unique_string_{kept}", "Unique", [words], {"sorted": kept}, version=11, outputs=4)
    rows = np.array([[*"ba"], [*"ab"], [*"ba"], [*"aa"]], dtype=object)
    c.add("unique_string_axis", "Unique", [rows], {"axis": 0}, version=11, outputs=4)
    c.add("unique_string_sizes", "Unique", [words], version=11, outputs=4, sizes=[("n",)])
    c.add("non_zero_string", "NonZero", [words.reshape(3, 3)], version=13, by=[np.array(np.nonzero(words.reshape(3, 3) != ""))])
    c.add("compress_string", "Compress", [words, np.arange(9) % 2 == 0], {"axis": 0}, version=11)


# ---- weights of a few bits ---------------------------------------------------------------------------------


def packed(codes, bits):
    """Rows of codes packed into bytes, from the low bits up."""
    each = 8 // bits
    wide = np.pad(codes, [(0, 0), (0, -codes.shape[1] % each)]).reshape(len(codes), -1, each)
    return (wide << np.arange(each) * bits).sum(2).astype(np.uint8)


def add_packed(c):
    """MatMulNBits. With g_idx, ONNX Runtime lacks codes of 8 bits, reads codes of 2 bits as 4 bits, and ignores packed zero points."""
    for bits in 2, 4, 8:
        for kind in "none", "packed", "float32", "float16":
            for g in "", "const", "given", "padded":
                n, k, block = 5, 40, 16
                codes, scale = rng.integers(0, 1 << bits, (n, 48)), np.exp2(rng.integers(-bits - 3, -bits, (n, 3)))
                of = np.arange(48) // block if not g else rng.integers(0, 3, 48 if g == "padded" else k)
                zero, point = np.full((n, 3), 1 << bits - 1), None
                if kind == "packed":
                    zero = rng.integers(0, 1 << bits, (n, 3))
                    point = packed(zero, bits)
                elif kind != "none":
                    point = zero = (rng.integers(0, 4 << bits, (n, 3)) / 4).astype(kind)
                t = np.float16 if kind == "float16" else np.float32
                x, bias = rng.integers(-4, 5, (3, k)).astype(t), rng.integers(-3, 4, n).astype(t) if g != "const" else None
                y = x @ ((codes[:, :k] - zero[:, of[:k]]) * scale[:, of[:k]]).T + (0 if bias is None else bias)
                inputs = [x, packed(codes, bits).reshape(n, 3, -1), scale.astype(t), point, of.astype(np.int32) if g else None, bias]
                right = kind != "packed" and bits == 4 if g else bits == 4 or kind in ("none", "packed")
                c.add(f"matmul_bits_{bits}_{kind}_{g}", "MatMulNBits", inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, version=1,
                      domain="com.microsoft", consts=(2, 5) if g == "given" else (1, 2, 3, 4, 5), by="runtime" if right else [y.astype(t)])


# ---- operators of before 1.5 ------------------------------------------------------------------------------


def add_experimental(c):
    prev, gates, lengths, t = normal(3, 4), normal(1, 3, 12), np.array([5, 1, 2], np.int32), np.array([2], np.int32)
    update, output = 1 / (1 + np.exp(-gates[..., 4:8])), np.tanh(gates[..., 8:])
    for drop in 0, 1:
        y = np.where(t < lengths[:, None], prev * update + output * (1 - update), 0 if drop else prev)
        for name, kind, sizes in ("", np.int32, None), ("_float", np.float32, None), ("_sizes", np.int32, [("n", "d"), (1, "n", None), ("n",), None]):
            inputs = [prev, gates, lengths.astype(kind), t.astype(kind)]
            c.add(f"gru_unit_{drop}{name}", "GRUUnit", inputs, {"drop_states": drop}, version=8, by=[y], sizes=sizes)
    x = normal(2, 3, 4)
    c.add("loop_index_tensor", "LoopIndexTensor", [x, np.array(2, np.int32)], {"axis": 1}, version=7, by=[x[:, 2]])


def main():
    folder = os.path.abspath(sys.argv[1])
    onnxruntime.set_default_logger_severity(4)
    own = [os.path.abspath(m.__file__) for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
    sources = sorted(f for f in own if f.startswith(TESTS))
    with generated(folder, sources, f"onnx {onnx.__version__}", f"onnxruntime {onnxruntime.__version__}") as new:
        if not new:
            return
        cases = Cases(os.path.join(new, "node"))
        for add in (add_grids, add_blocks, add_regions, add_signals, add_trees, add_ensembles, add_linear, add_vectors,
                    add_features, add_images, add_attention, add_contractions, add_dimensions, add_open,
                    gradients.add_gradients, gradients_control.add_gradients_control, gradients_each.add_gradients_each,
                    gradients_numeric.add_gradients_numeric, gradients_open.add_gradients_open, add_strings, add_packed,
                    add_experimental, containers.add_maps, containers.add_splits, containers.add_sequences, containers.add_loops,
                    containers.add_resized_loops, containers.add_string_loops, scopes.add_all, corners.add_corners, axes.add_axes,
                    pairs.add_pairs, instances.add_instances, attentions.add_attentions, exporters.add_exporters,
                    fused.add_fused,
                    gates.add_gates, generation.add_searches,
                    nchwc.add_nchwc,
                    plain.add_plain,
                    tokens.add_tokens,
                    quantized.add_quantized, words.add_words):
            add(cases)
        print(f"operators: {cases.count} tests written")


main()
