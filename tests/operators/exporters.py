"""What exporters write and ONNX Runtime runs, beyond the letter of the standard."""

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

ML = "ai.onnx.ml"
rng = np.random.default_rng(7)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def numbers(n):
    return [float(v) for v in normal(n)]


def add_unused(c):
    """Lists of coefficients that are longer than the sizes need: the first ones are used."""
    sizes = [("n", None)]
    for more in 3, 12:
        for post in "NONE", "LOGISTIC":
            attrs = {"coefficients": numbers(12 + more), "intercepts": numbers(3), "classlabels_ints": [5, 9, 2], "post_transform": post}
            c.add(f"unused_classes_{more}_{post}", "LinearClassifier", [normal(7, 4)], attrs, version=1, domain=ML, outputs=2, sizes=sizes)
    attrs = {"coefficients": numbers(5), "intercepts": [0.2], "classlabels_strings": ["no", "yes"], "post_transform": "LOGISTIC"}
    c.add("unused_two_classes", "LinearClassifier", [normal(7, 4)], attrs, version=1, domain=ML, outputs=2)
    attrs = {"coefficients": numbers(12), "intercepts": numbers(3), "classlabels_strings": ["a", "b", "c", "d", "e"]}
    c.add("unused_labels", "LinearClassifier", [normal(7, 4).astype(np.float64)], attrs, version=1, domain=ML, outputs=2)
    c.add("unused_one_row", "LinearClassifier", [normal(3)], attrs, version=1, domain=ML, outputs=2)
    for more in 1, 2, 5:
        attrs = {"coefficients": numbers(8 + more), "intercepts": numbers(2), "targets": 2}
        c.add(f"unused_targets_{more}", "LinearRegressor", [normal(5, 4)], attrs, version=1, domain=ML, sizes=sizes)
    attrs = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    attrs.update({"n_supports": 2, "support_vectors": numbers(8), "coefficients": numbers(5), "rho": numbers(3)})
    c.add("unused_svm_targets", "SVMRegressor", [normal(5, 4)], attrs, version=1, domain=ML)
    attrs = {"kernel_type": "RBF", "kernel_params": [0.2, 0.0, 0.0], "vectors_per_class": [1, 1, 2], "classlabels_ints": [4, 5, 6]}
    attrs.update({"support_vectors": numbers(16), "coefficients": numbers(11), "rho": numbers(5)})
    c.add("unused_svm_classes", "SVMClassifier", [normal(5, 4)], attrs, version=1, domain=ML, outputs=2)


def add_signals(c):
    """A real signal as batch x length, as torch.stft is exported. The reference takes it with a third dimension of 1 only; ONNX
    Runtime, which takes both, rounds what must be 0."""
    def add(name, signal, step, window, length, half, sizes=None):
        names = ["x", "k", "w" if window is not None else "", "n" if length is not None else ""]
        feed = {n: v for n, v in zip(names, [signal[..., None], np.array(step), window, length]) if n}
        by = ReferenceEvaluator(helper.make_node("STFT", names, ["y"], onesided=half)).run(None, feed)
        inputs = [signal, np.array(step), window, None if length is None else np.array(length)]
        c.add(f"stft_2d_{half}_{name}", "STFT", inputs, {"onesided": half}, version=17, consts=(1, 2, 3), by=by, sizes=sizes)

    for half in 0, 1:
        add("both", normal(2, 30), 4, normal(8), 8, half)
        add("window", normal(2, 30), 4, normal(9), None, half)
        add("length", normal(2, 30), 4, None, np.array(6), half)
        add("sizes", normal(2, 30).astype(np.float64), 4, normal(8).astype(np.float64), 8, half, [("n", "t"), None, None, None])
        add("short", normal(5, 2), 1, None, np.array(2), half)


def add_exporters(c):
    add_signals(c)
    add_unused(c)
