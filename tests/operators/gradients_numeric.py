"""Gradients with respect to the scales and the region of Resize, and through the probabilities of SVMClassifier."""

import numpy as np
import onnx
import onnxruntime

import gradients

WAVE = " wave = Sin(o) s = Mul(o, wave) y = ReduceSum <keepdims = 0> (s) "
HOW = 'coordinate_transformation_mode = "{}"'

# name: (the shape of x, the scales of its last axes, the region, the node's attributes, the shape of its result). The scales are exact
# in float, and no sample is at an element, where linear interpolation has a corner.
RESIZED = {
    **{f"{mode}_{how}": ((1, 2, 5, 4), (1.3125, 0.6875), (), f'mode = "{mode}", {HOW.format(how)}', (1, 2, 6, 2)) for mode in ("linear", "cubic")
       for how in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")},
    **{f"{mode}_crop": ((2, 5, 4), (1.3125, 0.90625), (0.15625, -0.15625, 0.84375, 1.1875),
                        f'mode = "{mode}", extrapolation_value = 0.4, {HOW.format("tf_crop_and_resize")}', (2, 6, 3))
       for mode in ("linear", "cubic", "nearest")},
    **{f"{mode}_antialias": ((2, 8, 5), (0.4375, 1.5), (), f'mode = "{mode}", antialias = 1', (2, 3, 7)) for mode in ("linear", "cubic")},
    "cubic_exclude": ((6,), (1.3125,), (), 'mode = "cubic", exclude_outside = 1, cubic_coeff_a = -0.5', (7,)),
    "cubic_exclude_antialias": ((7, 1), (0.59375, 2.3125), (), 'mode = "cubic", exclude_outside = 1, antialias = 1', (4, 2)),
    "three_axes": ((3, 4, 2), (1.34375, 0.8125, 2.3125), (), 'mode = "linear"', (4, 3, 4)),
}
# the version of the operators, the node, its attributes, their coordinate transformation
OLD = [(9, "Upsample", "nearest", "", "asymmetric"), (9, "Upsample", "linear", "", "asymmetric"), (10, "Resize", "linear", "", "asymmetric"),
       (11, "Resize", "cubic", "", "half_pixel"), (13, "Resize", "linear", ", " + HOW.format("align_corners"), "align_corners")]


def add_resized(add):
    for name, (x, scales, region, attributes, y) in RESIZED.items():
        axes = ", ".join(str(len(x) - len(scales) + i) for i in range(len(scales)))
        shapes = {"x": x, "k": list(scales), **({"r": list(region)} if region else {})}
        node = f"o = Resize <{attributes}, axes = [{axes}]> (x, {'r' if region else ''}, {{}})" + WAVE
        how = {"declared": f"<double[{', '.join(map(str, y))}] o>"}
        add(f"resize_scales_{name}", shapes, "f = Cast <to = 1> (k) " + node.format("f"), node.format("k"), **how)
        if name == "cubic_exclude":
            add("twice_resize", shapes, "f = Cast <to = 1> (k) " + node.format("f"), node.format("k"), twice="k", **how)
    add("resize_region", {"x": (4, 5), "r": [0.2, -0.1, 0.7, 0.9]}, "z = Constant <value = int64[2] {1, 3}> () "
        f"o = Resize <mode = \"linear\", {HOW.format('tf_crop_and_resize')}> (x, r, , z)" + WAVE)
    add("resize_one", {"x": (3,), "k": [0.5]}, f"f = Cast <to = 1> (k) o = Resize <mode = \"linear\", {HOW.format('pytorch_half_pixel')}> (x, , f)" + WAVE,
        "i = Constant <value = int64[1] {0}> () o = Gather(x, i)" + WAVE, declared="<double[1] o>")
    for opset, op, mode, more, how in OLD:
        add(f"resize_{opset}_{mode}", {"x": (3, 4), "k": [1.6875]}, "one = Constant <value = float[1] {1}> () f = Cast <to = 1> (k) "
            f"e = Concat <axis = 0> (one, f) u = Constant <value = float[0] {{}}> () o = {op} <mode = \"{mode}\"{more}> (x, {'u, ' * (opset > 10)}e)" + WAVE,
            f"o = Resize <mode = \"{mode}\", {HOW.format(how)}, nearest_mode = \"floor\", axes = [1]> (x, , k)" + WAVE,
            opset=opset, declared="<double[3, 6] o>")


class Contest:
    """SVMClassifier with probabilities and this number of classes: its attributes and, in double, its results, by LIBSVM's formulas, with
    the exact solution of the system that LIBSVM solves by iteration."""

    def __init__(self, rng, classes, post):
        def numbers(*shape):
            return rng.standard_normal(shape).astype(np.float32).astype(np.float64)

        self.first = np.cumsum([0, *(1 + np.arange(classes) % 3)])
        self.vectors, self.factors = numbers(self.first[-1], 2), numbers(classes - 1, self.first[-1])
        self.rho, self.a, self.b = numbers(classes * (classes - 1) // 2), -abs(numbers(classes * (classes - 1) // 2)), numbers(classes * (classes - 1) // 2)
        self.classes, self.post = classes, post

    def attributes(self):
        values = {"support_vectors": self.vectors, "coefficients": self.factors, "rho": self.rho, "prob_a": self.a, "prob_b": self.b,
                  "vectors_per_class": np.diff(self.first), "classlabels_ints": np.arange(self.classes), "kernel_params": np.float32([0.25, 0.0, 0.0])}
        lists = ", ".join(f"{k} = [{', '.join(map(repr, v.ravel().tolist()))}]" for k, v in values.items())
        return f"kernel_type = \"RBF\", post_transform = \"{self.post}\", {lists}"

    def pairs(self, x):
        """The probability of class i against class j."""
        alike, of = np.exp(-0.25 * ((x - self.vectors) ** 2).sum(-1)), np.zeros((self.classes, self.classes))
        for k, (i, j) in enumerate(zip(*np.triu_indices(self.classes, 1))):
            one, other = slice(*self.first[i : i + 2]), slice(*self.first[j : j + 2])
            score = self.rho[k] + self.factors[j - 1, one] @ alike[one] + self.factors[i, other] @ alike[other]
            of[i, j] = np.clip(1 / (1 + np.exp(self.a[k] * score + self.b[k])), 1e-7, 1 - 1e-7)
            of[j, i] = 1 - of[i, j]
        return of

    def scores(self, feed):
        rows = []
        for x in feed["x"]:
            of = self.pairs(x)
            q = np.ones((self.classes + 1, self.classes + 1))
            q[:-1, :-1], q[-1, -1] = np.diag((of**2).sum(0)) - of * of.T, 0
            rows.append(np.linalg.solve(q, np.eye(self.classes + 1)[-1])[:-1])
        p = np.array(rows)
        z = 2 * p - 1
        log = np.log((1 - z) * (1 + z))
        middle = 2 / (np.pi * 0.147) + log / 2
        return {"NONE": p, "LOGISTIC": 1 / (1 + np.exp(-p)), "PROBIT": np.sqrt(2) * np.sign(z) * np.sqrt(np.sqrt(middle**2 - log / 0.147) - middle)}.get(
            self.post, np.exp(p) / np.exp(p).sum(-1, keepdims=True))


def add_contests(add):
    for classes, post in [(2, "NONE"), (3, "NONE"), (4, "NONE"), (2, "LOGISTIC"), (3, "SOFTMAX"), (3, "SOFTMAX_ZERO"), (3, "PROBIT")]:
        rng = np.random.default_rng([1, classes]) # a generator of its own, as PROBIT in float is coarse near 1/2
        contest, x = Contest(rng, classes, post), rng.standard_normal((3, 2)).astype(np.float32)
        node = f"l, z = ai.onnx.ml.SVMClassifier <{contest.attributes()}> (x) "
        head = '<ir_version: 9, opset_import: ["": 19, "ai.onnx.ml": 1]> g'
        model = onnx.parser.parse_model(f"{head} (float[3, 2] x) => (int64[3] l, float[3, {classes}] z) {{ {node} }}")
        theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(["z"], {"x": x})[0]
        assert np.allclose(contest.scores({"x": x}), theirs, atol=0.02), "the iteration ends at an error of 0.005 / classes"
        shapes, weights = {"x": x.tolist()}, np.sin(np.arange(3.0 * classes)).astype(np.float32).reshape(3, classes)
        lists = ", ".join(map(repr, weights.ravel().tolist()))
        add(f"svm_probable_{classes}_{post}", shapes, f"{node} w = Constant <value = float[3, {classes}] {{{lists}}}> () s = Mul(z, w) "
            "y = ReduceSum <keepdims = 0> (s) ", lambda feed, c=contest, w=weights: (c.scores(feed) * w).sum(), kind=np.float32)


def add_gradients_numeric(c):
    def add(*args, **how):
        gradients.add_gradient(c, *args, **how)

    add_resized(add)
    add_contests(add)
