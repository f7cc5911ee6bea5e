"""Sizes that become known inside an If, a Loop or a Scan and are used outside; random ones are in tests/fuzz/programs.py."""
import numpy as np

from containers import add

HEAD = '<ir_version: 9, opset_import: ["": 20]>'

# torchvision's form: if there are boxes, they are shifted by class, so that one suppression handles all classes.
BATCHED_NMS = f"""{HEAD} g (float[n, 4] boxes, float[n] scores, int64[n] classes) => (int64[k] kept, float[k, 4] best) {{
    number = Size (boxes) none = Constant <value_int = 0> () empty = Equal (number, none)
    kept = If (empty) <then_branch = t () => (int64[a] nothing) {{ nothing = Constant <value = int64[0] {{}}> () }},
        else_branch = e () => (int64[b] found) {{
            highest = ReduceMax <keepdims = 0> (boxes) one = Constant <value_float = 1.0> () width = Add (highest, one)
            numbers = Cast <to = 1> (classes) steps = Mul (numbers, width) last = Constant <value_ints = [1]> () columns = Unsqueeze (steps, last)
            apart = Add (boxes, columns) first = Constant <value_ints = [0]> () batch = Unsqueeze (apart, first)
            row = Unsqueeze (scores, first) rows = Unsqueeze (row, first) most = Constant <value_ints = [100]> ()
            overlap = Constant <value_floats = [0.5]> () all = NonMaxSuppression (batch, rows, most, overlap)
            third = Constant <value_ints = [2]> () column = Gather <axis = 1> (all, third) found = Squeeze (column, last) }}>
    best = Gather (boxes, kept) }}"""

# A scan over rows, in it a loop whose trip count depends on the row, in it a branch that selects some elements.
NESTED = f"""{HEAD} g (float[m, 5] x, bool c) => (float[m] sums, float[m, t, k] rows) {{
    sums, rows = Scan <num_scan_inputs = 1, body = s (float[5] v) => (float sum, float[t, k] row) {{
        three = Constant <value_int = 3> () nil = Constant <value_float = 0.0> ()
        sum, row = Loop <body = l (int64 i, bool go, float a) => (bool on, float b, float[k] z) {{
            on = Identity (go)
            w = If (c) <then_branch = t () => (float[p] y) {{ positive = Greater (v, nil) y = Compress (v, positive) }},
                else_branch = e () => (float[q] u) {{ one = Constant <value_ints = [1]> () four = Constant <value_ints = [4]> ()
                    u = Slice (v, one, four) }}>
            d = ReduceSum <keepdims = 0> (w) b = Add (a, d) z = Identity (w) }}> (three, , nil) }}> (x) }}"""

# PyTorch's bags of rows: where each begins and ends are slices of length 1 of a list, which is known, since their ends differ by 1.
BAGS = f"""{HEAD} g (float[n, 3] x, int64[4] ends, int64 bags) => (float[m, 3] sums) {{
    yes = Constant <value = bool {{1}}> () zero = Constant <value_int = 0> () last = Constant <value_ints = [-1]> ()
    one = Constant <value_int = 1> () two = Constant <value_int = 2> () first = Constant <value_ints = [0]> ()
    i, sums = Loop <body = b (int64 t, bool go, int64 k) => (bool on, int64 j, float[3] sum) {{
        at = Reshape (k, last) next = Add (at, one) after = Add (at, two) begin = Slice (ends, at, next) end = Slice (ends, next, after)
        rows = Slice (x, begin, end) sum = ReduceSum <keepdims = 0> (rows, first) j = Add (k, one) on = Identity (go) }}> (bags, yes, zero) }}"""

# A size used outside becomes known in only one branch, another size depends on it, and a sequence has elements of such sizes.
FED = f"""{HEAD} g (float[n] x, bool c) => (float[a] y, int64[1] size, float[b] filled, float[d] joined) {{
    y = If (c) <then_branch = t () => (float[p] v) {{ nil = Constant <value_float = 0.0> () positive = Greater (x, nil)
            part = Compress (x, positive) shape = Shape (part) two = Constant <value_ints = [2]> () twice = Mul (shape, two)
            v = ConstantOfShape <value = float[1] {{1.5}}> (twice) }},
        else_branch = e () => (float[q] w) {{ w = Unique (x) }}>
    size = Shape (y) filled = ConstantOfShape (size)
    s = If (c) <then_branch = t2 () => (seq(float[k]) s1) {{ s1 = SequenceConstruct (y, x) }},
        else_branch = e2 () => (seq(float[l]) s2) {{ half = Sigmoid (y) s2 = SequenceConstruct (half, y, x) }}>
    joined = ConcatFromSequence <axis = 0> (s) }}"""

# The size of a scan output's last axis becomes known only in the body.
MOVED = f"""{HEAD} g (float[m, 5] x, bool c) => (float[k, m] y) {{
    y = Scan <num_scan_inputs = 1, scan_output_axes = [1], scan_output_directions = [1], body = s (float[5] v) => (float[k] z) {{
        z = If (c) <then_branch = t () => (float[p] p) {{
            four = Constant <value_ints = [4]> () nil = Constant <value_ints = [0]> () p = Slice (v, nil, four) }},
            else_branch = e () => (float[q] q) {{ q = Neg (v) }}> }}> (x) }}"""

# Elements that may exceed the sizes of a machine of 32 bits; what is computed from them is exact, though, in results and sizes.
WIDE = f"""{HEAD} g (float[10] x, int64[1] n) => (int64[1] more, bool[1] same, float[a] left, float[b] rest, float[d] part, float[e] some, float[t] y) {{
    one = Constant <value_ints = [1]> () zero = Constant <value_ints = [0]> () seven = Constant <value_ints = [7]> ()
    much = Constant <value_ints = [2999999995]> () most = Constant <value_ints = [2147483647]> () whole = Constant <value_ints = [1000000000]> ()
    more = Add (n, one) same = Equal (n, most) begin = Slice (x, zero, more) difference = Sub (n, much) left = Slice (x, zero, difference, zero)
    k = Mod (n, seven) rest = Slice (begin, zero, k, zero) times = Div (n, whole) part = Slice (x, times, seven, zero)
    above = Greater (n, most) first = Squeeze (above)
    some = If (first) <then_branch = f () => (float[p] u) {{ u = Slice (x, zero, difference, zero) }},
        else_branch = g () => (float[q] v) {{ v = Slice (x, zero, k, zero) }}>
    few = Min (difference, seven) trips = Squeeze (few) nil = Constant <value_float = 0.5> ()
    last, y = Loop <body = l (int64 i, bool go, float v) => (bool on, float w, float z) {{ on = Identity (go) w = Add (v, nil) z = Identity (w) }}>
        (trips, , nil) }}"""


def add_all(c):
    rng = np.random.default_rng(5)
    corners = rng.uniform(0, 4, (9, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + rng.uniform(1, 3, (9, 2))], 1).astype(np.float32)
    for n in 9, 1, 0:
        add(c, f"scopes_batched_nms_{n}", BATCHED_NMS, [boxes[:n], rng.uniform(0, 1, n).astype(np.float32), np.arange(n) % 3])
    x = np.array([[1, -2, 3, -4, 5], [6, 7, -8, 9, -1], [-3, 2, 2, -1, 1]], np.float32)
    for taken in False, True:
        add(c, f"scopes_nested_{int(taken)}", NESTED, [x, np.array(taken)])
        add(c, f"scopes_bags_{int(taken)}", BAGS, [rng.standard_normal((9, 3)).astype(np.float32), np.array([0, 4, 6, 9]), np.array(1 + 2 * taken)])
        add(c, f"scopes_fed_{int(taken)}", FED, [x[0], np.array(taken)])
        add(c, f"scopes_moved_{int(taken)}", MOVED, [x, np.array(taken)])
    for i, n in enumerate((3000000000, 2999999994, 2147483647, 2147483648, 5, -3000000000)):
        add(c, f"scopes_wide_{i}", WIDE, [np.arange(10, dtype=np.float32), np.array([n])])
