"""Models that exporters write and ONNX Runtime runs, although the standard does not allow them."""

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from containers import add

ML = "ai.onnx.ml"
rng = np.random.default_rng(7)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def numbers(n):
    return [float(v) for v in normal(n)]


def add_unused(c):
    """Lists of coefficients that are longer than needed, of which the first ones are used."""
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


def trees(nodes, entries, kind, **more):
    """The attributes of versions 1 and 3. nodes: (tree, node, mode, feature, value, true, false); entries: (tree, node, id, weight)."""
    lists = "treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids"
    attrs = {f"nodes_{name}": [node[i] for node in nodes] for i, name in enumerate(lists)}
    attrs.update({f"{kind}_{name}": [e[i] for e in entries] for i, name in enumerate(("treeids", "nodeids", "ids", "weights"))})
    return {**attrs, **more}


def categories(tree, members, targets):
    """A tree, as LightGBM writes it, that compares a category with one member after the other; all equal branches lead to the same node."""
    of = [(tree, 0, "BRANCH_EQ", 0, members[0], 1, 4), (tree, 1, "BRANCH_LEQ", 1, 0.25, 2, 3), (tree, 2, "LEAF", 0, 0.0, 0, 0),
          (tree, 3, "LEAF", 0, 0.0, 0, 0)]
    for i, member in enumerate(members[1:]):
        of.append((tree, 4 + i, "BRANCH_EQ", 0, member, 1, 5 + i))
    of.append((tree, 3 + len(members), "LEAF", 0, 0.0, 0, 0))
    return of, [(tree, node, t, v) for node in (2, 3, 3 + len(members)) for t, v in zip(targets, numbers(len(targets)))]


def add_trees(c):
    """Trees whose nodes have several parents, or are not in order."""
    x = np.column_stack([rng.integers(0, 9, 40), normal(40)]).astype(np.float32)
    chains = [[2.0, 7.0, 3.0], [1.0], [5.0, 2.0, 8.0, 0.0, 4.0]]
    for name, op, kind, targets, more in (
        ("one", "TreeEnsembleRegressor", "target", [0], {"n_targets": 1}),
        ("three", "TreeEnsembleRegressor", "target", [0, 1, 2], {"n_targets": 3}),
        ("two_classes", "TreeEnsembleClassifier", "class", [0], {"classlabels_int64s": [4, 6], "post_transform": "LOGISTIC"}),
        ("classes", "TreeEnsembleClassifier", "class", [0, 1, 2], {"classlabels_strings": ["a", "b", "c"], "post_transform": "SOFTMAX"}),
    ):
        parts = [categories(tree, members, targets) for tree, members in enumerate(chains)]
        attrs = trees(sum((p[0] for p in parts), []), sum((p[1] for p in parts), []), kind, **more)
        for version in 1, 3:
            c.add(f"shared_trees_{name}_{version}", op, [x], attrs, version=version, domain=ML, outputs=1 + (kind == "class"))
    # with one target only the first entry of a leaf counts (skl2onnx's decision_leaf writes one for each class); with several, entries add up
    nodes = [(tree, node, mode, 1, 0.25, 1, 2) for tree in (0, 1) for node, mode in ((0, "BRANCH_LEQ"), (1, "LEAF"), (2, "LEAF"))]
    leaves = [(0, 1), (1, 2), (0, 2), (0, 1), (1, 1), (1, 1), (0, 1)]
    for op, kind, ids, more in (
        *(("TreeEnsembleRegressor", "target", [0] * 7, {"n_targets": 1, "aggregate_function": a}) for a in ("SUM", "AVERAGE", "MIN", "MAX")),
        ("TreeEnsembleRegressor", "target", [1, 1, 0, 0, 0, 1, 1], {"n_targets": 2}),
        ("TreeEnsembleClassifier", "class", [0] * 7, {"classlabels_int64s": [1]}),
        ("TreeEnsembleClassifier", "class", [0] * 7, {"classlabels_int64s": [4, 6]}),
        ("TreeEnsembleClassifier", "class", [1] * 7, {"classlabels_int64s": [4, 6]}),
        ("TreeEnsembleClassifier", "class", [2, 2, 1, 1, 0, 1, 2], {"classlabels_int64s": [4, 6, 8]}),
    ):
        attrs = trees(nodes, [(*leaf, i, 2.0**k) for k, (leaf, i) in enumerate(zip(leaves, ids))], kind, **more)
        name = f"{kind}_{len(more.get('classlabels_int64s', [0] * more.get('n_targets', 1)))}_{more.get('aggregate_function', ids[0])}"
        c.add(f"leaf_entries_{name}".lower(), op, [x], attrs, version=3, domain=ML, outputs=1 + (kind == "class"))
    # every other node has two parents, so there are 2^60 ways to the leaves
    steps, nodes = 60, []
    for i in range(steps):
        ahead = 2 * i + 2
        nodes += [(0, 2 * i, "BRANCH_LEQ", i % 2, float(i % 9), 2 * i + 1, ahead), (0, 2 * i + 1, "BRANCH_GT", 1, i / 99, ahead, ahead)]
    nodes += [(0, 2 * steps, "BRANCH_LT", 0, 3.0, 2 * steps + 1, 2 * steps + 2)] + [(0, 2 * steps + k, "LEAF", 0, 0.0, 0, 0) for k in (1, 2)]
    attrs = trees(nodes, [(0, 2 * steps + k, 0, float(k)) for k in (1, 2)], "target", n_targets=1)
    c.add("shared_trees_60", "TreeEnsembleRegressor", [x], attrs, version=3, domain=ML, by="reference")
    # the root is the first node in the lists; other nodes without a parent, and entries of inner nodes, are ignored
    nodes = [(7, 3, "BRANCH_LEQ", 0, 3.0, 1, 2), (7, 0, "BRANCH_LEQ", 1, 0.5, 3, 2), (7, 1, "LEAF", 0, 0.0, 0, 0), (7, 2, "LEAF", 0, 0.0, 0, 0)]
    attrs = trees(nodes, [(7, 3, 0, 16.0), (7, 1, 0, 1.0), (7, 2, 0, 2.0), (7, 0, 0, 4.0)], "target", n_targets=1)
    c.add("trees_in_disorder", "TreeEnsembleRegressor", [x], attrs, version=3, domain=ML)


def add_signals(c):
    """A real signal of shape batch x length, as torch.stft is exported. The reference requires a third dimension of 1; ONNX Runtime takes
    both, but has rounding errors where the result must be 0."""
    def add_stft(name, signal, step, window, length, half, sizes=None):
        names = ["x", "k", "w" if window is not None else "", "n" if length is not None else ""]
        feed = {n: v for n, v in zip(names, [signal[..., None], np.array(step), window, length]) if n}
        by = ReferenceEvaluator(helper.make_node("STFT", names, ["y"], onesided=half)).run(None, feed)
        inputs = [signal, np.array(step), window, None if length is None else np.array(length)]
        c.add(f"stft_2d_{half}_{name}", "STFT", inputs, {"onesided": half}, version=17, consts=(1, 2, 3), by=by, sizes=sizes)

    for half in 0, 1:
        add_stft("both", normal(2, 30), 4, normal(8), 8, half)
        add_stft("window", normal(2, 30), 4, normal(9), None, half)
        add_stft("length", normal(2, 30), 4, None, np.array(6), half)
        add_stft("sizes", normal(2, 30).astype(np.float64), 4, normal(8).astype(np.float64), 8, half, [("n", "t"), None, None, None])
        add_stft("short", normal(5, 2), 1, None, np.array(2), half)


HEAD = '<ir_version: 8, opset_import: ["": 18]>'
# torch's squeeze of an axis that may have size 1: with other sizes the next layer would get an operand of another rank.
SQUEEZED = f"""{HEAD} g (float[n, 4, t] x, float[1, 12, 4] w, float[1, 12, 3] r) => (float[n, 3] y) {{
    shape = Shape <start = 2, end = 3> (x) one = Constant <value_ints = [1]> () is_one = Equal (shape, one) axis = Constant <value_ints = [2]> ()
    squeezed = If (is_one) <then_branch = t () => (float[p, q] a) {{ a = Squeeze (x, axis) }},
                            else_branch = e () => (float[p, q, s] b) {{ b = Identity (x) }}>
    first = Constant <value_ints = [0]> () steps = Unsqueeze (squeezed, first) scaled = Tanh (steps)
    all, last = LSTM <hidden_size = 3> (scaled, w, r) y = Squeeze (last, first) }}"""
# Readers that take both ranks: sizes, integers, nested graphs, a loop, a sequence; at the end the ranks agree.
READERS = f"""{HEAD} g (float[n, m] x, bool c, int64 turns) => (float[k] y, float sum, int64[a] sizes, float[u] z) {{
    zero = Constant <value_ints = [0]> () flat = Constant <value_ints = [-1]> () nil = Constant <value_float = 0.0> ()
    v = If (c) <then_branch = t () => (a) {{ rows = ReduceSum <keepdims = 0> (x, zero) a = Neg (rows) }}, else_branch = e () => (b) {{ b = Abs (x) }}>
    w = Tanh (v) square = Mul (w, v) sizes = Shape (square) ones = ConstantOfShape <value = float[1] {{1.0}}> (sizes)
    more = Add (square, ones) twice = Concat <axis = 0> (more, v) first = ReduceSum <keepdims = 0> (more)
    shifted = Add (twice, first) q = SequenceConstruct (shifted, twice) joined = ConcatFromSequence <axis = 0> (q)
    negative = Less (first, nil)
    d = If (negative) <then_branch = t2 () => (a2) {{ a2 = Neg (joined) }}, else_branch = e2 () => (b2) {{ b2 = Unsqueeze (joined, zero) }}>
    on = Constant <value = bool {{1}}> ()
    sum = Loop (turns, on, first) <body = l (int64 i, bool go, float s) => (bool goes, float s2) {{
        goes = Identity (go) part = ReduceSum <keepdims = 0> (d) s2 = Add (s, part) }}>
    y = Reshape (d, flat)
    f = If (c) <then_branch = t3 () => (a3) {{ a3 = Concat <axis = 0> (v, ones) }}, else_branch = e3 () => (b3) {{ b3 = Sub (v, ones) }}>
    z = Reshape (f, flat) }}"""
# One of the branches gives a rank that a later node cannot take (as in scikit-learn's KNNImputer, if a whole row is missing).
DECIDED = f"""{HEAD} g (float[n, 3] x, float[n] old) => (float[n] y) {{
    nan = IsNaN (x) numbers = Cast <to = 7> (nan) last = Constant <value_ints = [1]> () zero = Constant <value_ints = [0]> ()
    missing = ReduceMin <keepdims = 0> (numbers, last) any = ReduceMax <keepdims = 0> (missing) none = Constant <value_int = 0> ()
    some = Greater (any, none) rows = NonZero (old) axis = Constant <value_ints = [-1]> ()
    place = Reshape (rows, axis)
    table, where = If (some) <then_branch = t () => (a, p) {{ a = Unsqueeze (x, last) p = Abs (place) }},
                              else_branch = e () => (b, q) {{ b = Gather (x, place) q = Identity (place) }}>
    at = Unsqueeze (where, axis) wide = Shape (table) ones = ConstantOfShape <value = float[1] {{1.0}}> (wide)
    weighted = Mul (table, ones) best = ReduceMax <keepdims = 0> (weighted, last) y = ScatterND (old, at, best) }}"""


def add_ranks(c):
    """Branches of different rank: their readers' results differ in rank, too, until the ranks agree, or a branch is impossible."""
    add(c, "ranks_squeezed", SQUEEZED, [normal(5, 4, 1), normal(1, 12, 4), normal(1, 12, 3)])
    for taken in False, True:
        for turns in 0, 2:
            add(c, f"ranks_readers_{int(taken)}_{turns}", READERS, [normal(3, 2) * (turns - 1), np.array(taken), np.array(turns)])
    x = normal(5, 3)
    x[2, 1] = np.nan
    add(c, "ranks_decided", DECIDED, [x, np.array([0, 1, 0, 2, 3], np.float32)])


def add_labels(c):
    """skl2onnx declares a single label for a text pipeline, although there is one for each row."""
    words = np.array(["One", "tWO", "", "four"], object)
    text = f"""{HEAD} g (string[n] x) => (string[1] y) {{
        lower = StringNormalizer <case_change_action = "LOWER", locale = "C"> (x) y = Identity (lower) }}"""
    for n in 0, 1, 4:
        add(c, f"one_label_{n}", text, [words[:n]], [np.array(["one", "two", "", "four"][:n] or [""], object)])


# onnxruntime-genai's builder gives every size that it does not know one name; ONNX Runtime takes what the operators give.
UNKNOWN = f"""{HEAD} g (float[n, t] x, float[3] z) => (float[unk] y, float[unk] w, float[a, b] s)
    <float[unk, unk] v, float[unk] m, float[unk] r> {{
    last = Constant <value_ints = [1]> () flat = Constant <value_ints = [-1]> () v = Tanh (x) m = ReduceMax <keepdims = 0> (v, last)
    r = Reshape (v, flat) y = Mul (r, r) w = Abs (z) wide = Unsqueeze (m, last) s = Add (v, wide) }}"""


# optimum's merged decoder: with a cache the encoder's keys are not computed again, but nothing is given, in a shape that is not the declared
# one.
MERGED = f"""{HEAD} g (float[n, t] x, float[n, s] past, bool cached) => (float[n, 2] y, float[n, s] keys)
    <float[0, 1] none = {{}}, float[2, 2] w = {{1, 2, 3, 4}}, int64[1] one = {{1}}> {{
    y, keys = If (cached) <
        then_branch = t () => (float[n, 2] y1, float[n, s] keys1) {{ m = MatMul (x, w) last = ReduceMax <keepdims = 1> (past, one)
            y1 = Add (m, last) keys1 = Identity (none) }},
        else_branch = e () => (float[n, 2] y2, float[n, s] keys2) {{ y2 = MatMul (x, w) keys2 = Neg (past) }}> }}"""


def add_unknown(c):
    add(c, "one_name_for_unknown_sizes", UNKNOWN, [normal(5, 2), normal(3)])
    for cached in False, True:
        add(c, f"merged_decoder_{int(cached)}", MERGED, [normal(3, 2), normal(3, 4), np.array(cached)])


# Sizes that the exporter computed from an input's sizes, instead of the windows': each layer reshapes to them, and adds its input.
STEPS = f"""{HEAD} g (float[n, 1, t] x, float[4, 1, 10] w, float[4, 4, 3] u) => (float[n, s, 4] y) {{{{
    narrow = Conv <kernel_shape = [10], strides = [5]> (x, w) v = Conv <kernel_shape = [3], strides = [2]> (narrow, u)
    rows = Shape <start = 0, end = 1> (x) length = Shape <start = 2, end = 3> (x) reach = Constant <value_ints = [-20]> ()
    by = Constant <value_ints = [10]> () one = Constant <value_ints = [1]> () two = Constant <value_ints = [2]> ()
    left = Add (length, reach) whole = Div (left, by) steps = Add (whole, one) heads = Concat <axis = 0> (rows, steps, two, two)
    four = Constant <value_ints = [4]> () flat = Concat <axis = 0> (rows, steps, four) y0 = Transpose <perm = [0, 2, 1]> (v)
    {{layers}} y = Identity (y{{count}}) }}}}"""
LAYER = """h{0} = Reshape (y{0}, heads) p{0} = Transpose <perm = [0, 1, 3, 2]> (h{0}) f{0} = Reshape (p{0}, flat) y{1} = Add (y{0}, f{0})
    """
# Numbers computed from sizes, whose quotients round towards 0.
NUMBERS = f"""{HEAD} g (float[n, t] x, int64[6] by) => (int64[6] a, int64[6] b, int64[6] c, int64[6] d) {{
    t = Shape <start = 1> (x) nine = Constant <value_ints = [9]> () u = Sub (t, nine)
    k = Constant <value_ints = [4, 9, 10, -4, 1, -1]> () a = Div (u, k) b = Mod (u, k) c = Div (u, by) d = Mod (u, by) }}"""
# Windows of four elements, after padding to a multiple of four, are shifted by two and back.
SHIFTED = f"""{HEAD} g (float[n, t] x) => (float[n, u] y) {{
    length = Shape <start = 1> (x) four = Constant <value_ints = [4]> () over = Mod (length, four) less = Sub (four, over) more = Mod (less, four)
    nothing = Constant <value_ints = [0, 0, 0]> () pads = Concat <axis = 0> (nothing, more) padded = Pad (x, pads)
    zero = Constant <value_ints = [0]> () two = Constant <value_ints = [2]> () back = Constant <value_ints = [-2]> ()
    one = Constant <value_ints = [1]> () end = Constant <value_ints = [9223372036854775807]> ()
    after = Slice (padded, two, end, one) before = Slice (padded, zero, two, one) shifted = Concat <axis = 1> (after, before)
    rows = Shape <start = 0, end = 1> (x) sum = Add (length, more) windows = Div (sum, four) shape = Concat <axis = 0> (rows, windows, four)
    w = Reshape (shifted, shape) e = Softmax <axis = 2> (w) flat = Concat <axis = 0> (rows, sum) v = Reshape (e, flat)
    last = Slice (v, back, end, one) first = Slice (v, zero, back, one) turned = Concat <axis = 1> (last, first) y = Slice (turned, zero, length, one) }}"""

# What torch writes of an interpolation to a size, and scales that are an input.
INTERPOLATED = f"""{HEAD} g (float[1, 1, h, w] x, int64[2] size) => (float[1, 1, a, b] y) {{{{
    now = Shape <start = 2> (x) from = Cast <to = 1> (now) to = Cast <to = 1> (size) scales = Div (to, from)
    ones = Constant <value_floats = [1.0, 1.0]> () all = Concat <axis = 0> (ones, scales) y = Resize <mode = "{{mode}}"> (x, , all) }}}}"""
SCALED = f"""{HEAD} g (float[1, 2, 3, 2] x, float[4] scales) => (float[1, 2, a, b] y) {{{{ y = Resize <mode = "{{mode}}"> (x, , scales) }}}}"""


# What tf2onnx writes of an einsum: some axes become one, whose size is a reduction of the shape.
REDUCED = f"""{HEAD} g (float[n, 3, m] x) => (float[a, b] y, float[c] w) {{{{
    shape = Shape (x) before = Constant <value = int64[2] {{{{0, 1}}}}> () last = Constant <value = int64[1] {{{{2}}}}> () one = Constant <value_float = 1.5> ()
    pair = Gather (shape, before) rows = ReduceProd <keepdims = 1> (pair) columns = Gather (shape, last)
    size = Concat <axis = 0> (rows, columns) y = Reshape (x, size) k = {{op}} <keepdims = 1> (shape) w = Expand (one, k) }}}}"""


def add_computed_sizes(c):
    for op in "ReduceProd", "ReduceMax", "ReduceMin", "ReduceSum":
        add(c, f"computed_by_{op}", REDUCED.format(op=op), [normal(2, 3, 4)])
    for mode in "nearest", "linear", "cubic":
        add(c, f"computed_size_{mode}", INTERPOLATED.format(mode=mode), [normal(1, 1, 3, 4), np.array([6, 5])])
        add(c, f"computed_scales_{mode}", SCALED.format(mode=mode), [normal(1, 2, 3, 2), np.array([1, 1, 2, 1.5], np.float32)])
    for t in 20, 29, 30, 101:
        text = STEPS.format(layers="".join(LAYER.format(i, i + 1) for i in range(12)), count=12)
        add(c, f"computed_steps_{t}", text, [normal(2, 1, t), normal(4, 1, 10), normal(4, 4, 3)])
    for t in 0, 3, 8, 9, 10, 30:
        add(c, f"computed_numbers_{t}", NUMBERS, [normal(2, t), np.array([4, 9, 10, -4, 1, -1])])
    for t in 1, 4, 5, 11:
        add(c, f"computed_shifts_{t}", SHIFTED, [normal(3, t)])


PART = """<ir_version: 9, opset_import: ["": 20]> g (float[n, m] x, int64[1] at) => (float[r, s] y, float[t, u] z) {{
    a = Abs(x) b = Exp(x) rows = Constant <value = int64[1] {{{axis}}}> () none = Constant <value = int64[1] {{0}}> ()
    all = Constant <value = int64[1] {{99}}> () p = Slice(a, {ends[0]}, {ends[1]}, rows) q = Slice(b, {ends[0]}, {ends[1]}, rows)
    zero = Constant <value = int64 {{0}}> () y = {op} (p{more}) w = {op} (q{more}) z = Neg(w) }}"""
# operators, most of which do not compute element by element
OF_PARTS = {"cum_sum": ("CumSum <reverse = 1>", ", zero"), "cum_sum_forward": ("CumSum", ", zero"), "softmax": ("Softmax <axis = 0>", ""),
            "log_softmax": ("LogSoftmax", ""), "lp_norm": ("LpNormalization <axis = 0>", ""), "relu": ("Relu", "")}


def add_parts(c):
    """The last uses of parts of values, whose places in the buffer are known only at run time."""
    for name, (op, more) in OF_PARTS.items():
        for axis in 0, 1:
            for ends in ("at", "all"), ("none", "at"):
                text = PART.format(axis=axis, ends=ends, op=op, more=more)
                add(c, f"part_{name}_{axis}_{ends[0]}", text, [normal(5, 6) * np.float32(0.5), np.array([2])])


def add_exporters(c):
    add_computed_sizes(c)
    add_parts(c)
    add_labels(c)
    add_ranks(c)
    add_trees(c)
    add_signals(c)
    add_unknown(c)
    add_unused(c)
