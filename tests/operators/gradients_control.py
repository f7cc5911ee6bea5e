"""Gradients through If, Loop and Scan, compared with difference quotients as in gradients.py."""

import re

import numpy as np

import gradients

WAVE = " wave = Sin(o) product = Mul(o, wave) y = ReduceSum <keepdims = 0> (product) "
POSITIVE = "t = ReduceSum <keepdims = 0> (x) zero = Constant <value = double {-9}> () c = Greater(t, zero) "
TURN = "last = Constant <value = int64[1] {-1}> () first = Constant <value = int64[1] {-99}> () second = Constant <value = int64[1] {1}> () "
PLACE = "zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> () minus = Constant <value = int64 {-1}> () "
NUMBERS = "three = Constant <value = int64 {3}> () four = Constant <value = int64 {4}> () "

# name: (the shapes of the inputs, the nodes that compute a result, further inputs, equivalent nodes for the reference)
BRANCHES = {
    "if_both": ({"x": (2, 3), "w": (3,)}, POSITIVE + """o = If <then_branch = t () => (double[2, 3] a) { e = Mul(x, w) a = Tanh(e) },
                else_branch = f () => (double[2, 3] b) { b = Sub(w, x) }> (c)"""),
    "if_not": ({"x": (2, 3), "w": (3,)}, POSITIVE + """n = Not(c) o = If <then_branch = t () => (double[2, 3] a) { e = Mul(x, w) a = Tanh(e) },
               else_branch = f () => (double[2, 3] b) { b = Sub(w, x) }> (n)"""),
    "if_one": ({"x": (4,), "w": (4,)}, """o = If <then_branch = t () => (double[4] a) { a = Mul(w, w) }, else_branch = f () => (double[4] b) { b =
                    Mul(x, w) }> (k)""",
               {"k": True}),
    "if_other": ({"x": (4,), "w": (4,)}, """o = If <then_branch = t () => (double[4] a) { a = Identity(w) }, else_branch = f () => (double[4] b) { b
                    = Mul(x, w) }> (k)""",
                 {"k": False}),
    "if_outputs": ({"x": (2, 2)}, """e = Exp(x) p, q, r = If <then_branch = t () => (double[2, 2] a, double[2, 2] b, int64[2] c) { a = Mul(e, x) b =
                    Sin(a) c = Shape(x) },
                   else_branch = f () => (double[2, 2] d, double[2, 2] e1, int64[2] f1) { d = Cos(x) e1 = Add(d, e) f1 = Shape(e) }> (k) o = Mul(p,
                    q)""", {"k": True}),
    "if_sizes": ({"x": (5,)}, """l = If <then_branch = t () => (double[n] a) { f = Constant <value = int64[1] {1}> () u = Constant <value = int64[1]
                    {3}> () a = Slice(x, f, u) },
                 else_branch = f () => (double[m] b) { b = Mul(x, x) }> (k) o = Exp(l)""", {"k": True}),
    "if_in_if": ({"x": (3,), "w": (3,)}, """o = If <then_branch = t () => (double[3] a) {
                 h = Mul(x, w) j = Not(k) a = If <then_branch = t2 () => (double[3] a2) { a2 = Sin(h) }, else_branch = f2 () => (double[3] b2) { g =
                    Mul(h, x) b2 = Add(g, w) }> (j) },
                 else_branch = f () => (double[3] b) { b = Neg(x) }> (k)""", {"k": True}),
}
LOOPS = {
    "loop": ({"x": (3,)}, NUMBERS + """o = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] r) { d = Identity(c) e = Sin(s) r =
                    Add(e, s) }> (three, yes, x)"""),
    "loop_captured": ({"x": (2, 2), "w": (2, 2), "b": (2,)},
                      NUMBERS + """o = Loop <body = b (int64 i, bool c, double[2, 2] s) => (bool d, double[2, 2] r) {
                      d = Identity(c) e = MatMul(s, w) f = Add(e, b) r = Tanh(f) }> (four, , x)"""),
    "loop_states": ({"x": (3,), "w": (3,)},
                    NUMBERS + """zero = Constant <value = int64 {0}> () p, k, o = Loop <body = b (int64 i, bool c, double[3] s, int64 n, double[3]
                    u) => (bool d, double[3] r, int64 m, double[3] v) {
                    d = Identity(c) m = Add(n, i) f = Cast <to = 11> (n) g = Mul(u, f) r = Add(s, g) h = Mul(r, w) v = Cos(h) }> (four, yes, w,
                    zero, x)"""),
    "loop_scans": ({"x": (3,), "w": (3,)},
                   NUMBERS + """p, q, r = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n, double[3] u, double[3] v) {
                   d = Identity(c) n = Mul(s, w) u = Sin(n) v = Mul(w, w) }> (three, yes, x)
                   l = Unsqueeze(p, axis) a = Concat <axis = 0> (l, q, r) o = Cos(a)"""),
    "loop_only_scans": ({"x": (4, 3)}, NUMBERS + """o = Loop <body = b (int64 i, bool c) => (bool d, double[3] u) {
                        d = Identity(c) r = Gather(x, i) u = Mul(r, r) }> (three, yes)"""),
    "loop_until": ({"x": (3,), "w": (3,)},
                   """most = Constant <value = int64 {20}> () o, p = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n,
                    double[3] u) {
                   e = Mul(s, s) f = Add(s, e) n = Add(f, w) t = ReduceL1 <keepdims = 0> (n) d = Less(t, end) u = Mul(n, w) }> (most, , x)"""),
    "loop_until_scans": ({"x": (3,), "w": (3,)},
                         """most = Constant <value = int64 {20}> () p, o = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n,
                    double[3] u) {
                         e = Mul(s, s) f = Add(s, e) n = Add(f, w) t = ReduceL1 <keepdims = 0> (n) d = Less(t, end) u = Mul(n, w) }> (most, , x)"""),
    "loop_never": ({"x": (3,), "w": (3,)}, NUMBERS + """p, q = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n, double[3] u) {
                   d = Identity(c) n = Mul(s, w) u = Sin(n) }> (three, k, x) r = ReduceSum(q, axis) l = Add(p, r) o = Mul(l, w)""", {"k": False},
                   "o = Mul(x, w)"),
    "loop_no_turns": ({"x": (3,), "w": (3,)}, """none = Constant <value = int64 {0}> () p = Loop <body = b (int64 i, bool c, double[3] s) => (bool
                    d, double[3] n) {
                      d = Identity(c) n = Mul(s, w) }> (none, , x) o = Mul(p, w)"""),
    "loop_one_turn": ({"x": (3,), "w": (3,)}, """one = Constant <value = int64 {1}> () o = Loop <body = b (int64 i, bool c, double[3] s) => (bool d,
                    double[3] n) {
                      d = Identity(c) n = Mul(s, w) }> (one, , x)"""),
    "loop_turns": ({"x": (3,), "w": (3,)}, """o, q = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n, double[3] u) {
                   d = Identity(c) e = Mul(s, w) n = Sin(e) u = Identity(n) }> (m, , x)""", {"m": 3}),
    "loop_turns_or_until": ({"x": (3,), "w": (3,)}, """q, o = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n, double[3] s) {
                            e = Mul(s, s) f = Add(s, e) n = Add(f, w) t = ReduceL1 <keepdims = 0> (n) d = Less(t, end) }> (m, k,
                    x)""", {"m": 9, "k": True}),
    "loop_swap": ({"x": (2,), "w": (2,)}, NUMBERS + """o, q = Loop <body = b (int64 i, bool c, double[2] s, double[2] t) => (bool d, double[2] n,
                    double[2] m) {
                  d = Identity(c) n = Identity(t) m = Sin(s) }> (three, yes, x, w)"""),
    "loop_becomes_live": ({"x": (2,)}, NUMBERS + """zero = Constant <value = double[2] {1, 2}> () p, q, o = Loop <body = b (int64 i, bool c,
                    double[2] s, double[2] t, double[2] u) => (bool d, double[2] n, double[2] m, double[2] v) {
                          d = Identity(c) n = Mul(s, x) m = Add(t, s) v = Add(u, t) }> (four, yes, zero, zero, zero)"""),
    "loop_by_turn": ({"x": (4, 3)}, NUMBERS + """at = Constant <value = int64[1] {0}> () o = Loop <body = b (int64 i, bool c, double[3] s) => (bool
                    d, double[3] n) {
                     d = Identity(c) f = Unsqueeze(i, at) step = Constant <value = int64[1] {1}> () u = Add(f, step) e = Slice(x, f, u) g =
                    Squeeze(e, at) h = Mul(g, s) n = Add(h, g) }> (three, yes, start)"""),
    "loop_in_loop": ({"x": (3,), "w": (3,)}, NUMBERS + """o = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n) {
                     d = Identity(c) z = Mul(s, w) n = Loop <body = b2 (int64 j, bool c2, double[3] s2) => (bool d2, double[3] n2) {
                     d2 = Identity(c2) e = Mul(s2, w) f = Sin(e) n2 = Add(f, z) }> (three, , s) }> (four, yes, x)"""),
    "loops_until": ({"x": (3,), "w": (3,)}, """most = Constant <value = int64 {9}> () o, q = Loop <body = b (int64 i, bool c, double[3] s) => (bool
                    d, double[3] n, double[3] u) {
                    unit = Constant <value = int64 {1}> () k = Add(i, unit) n, all = Loop <body = b2 (int64 j, bool c2, double[3] s2) => (bool d2,
                    double[3] n2, double[3] u2) {
                    e = Mul(s2, w) f = Abs(e) g = Add(f, s2) n2 = Add(g, half) u2 = Mul(n2, n2) h = ReduceL1 <keepdims = 0> (u2) d2 = Less(h, end)
                    }> (k, , s)
                    t = ReduceL1 <keepdims = 0> (n) d = Less(t, end) r = ReduceSum <keepdims = 0> (all, axis) u = Add(r, n) }> (most, , x)"""),
    "if_in_loop": ({"x": (3,), "w": (3,)}, NUMBERS + """o = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n) {
                   d = Identity(c) two = Constant <value = int64 {2}> () m = Mod(i, two) odd = Cast <to = 9> (m)
                   n = If <then_branch = t () => (double[3] a) { e = Mul(s, w) a = Sin(e) }, else_branch = f () => (double[3] a2) { a2 = Add(s, x)
                    }> (odd) }> (four, yes, x)"""),
    "loop_in_if": ({"x": (3,), "w": (3,)}, NUMBERS + """o = If <then_branch = t () => (double[3] a) {
                   a = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n) { d = Identity(c) e = Mul(s, w) n = Sin(e) }> (three,
                    yes, x) },
                   else_branch = f () => (double[3] a2) { a2 = Add(w, x) }> (k)""", {"k": True}),
    "loop_recurrent": ({"x": (2, 1, 2), "w": (1, 3, 2), "r": (1, 3, 3)}, NUMBERS + """zero = Constant <value = double[1, 1, 3] {1, 2, 3}> () o =
                    Loop <body = b (int64 i, bool c, double[1, 1, 3] h) => (bool d, double[1, 1, 3] n) {
                       d = Identity(c) y1, n = RNN <hidden_size = 3> (x, w, r, , , h) }> (three, yes, zero)"""),
    "loop_conv": ({"x": (1, 2, 5), "w": (2, 2, 3)}, NUMBERS + """o = Loop <body = b (int64 i, bool c, double[1, 2, 5] s) => (bool d, double[1, 2, 5]
                    n) {
                  d = Identity(c) e = Conv <pads = [1, 1]> (s, w) n = Tanh(e) }> (three, yes, x)"""),
}
PLACES = {
    "in_if": ({"x": (3,)}, NUMBERS + """o = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] n) { d = Identity(c) e = Mul(s, s) n
                    = Sin(e) }> (three, yes, x)""",
              {"k": True}, None, "{to} = If <then_branch = t () => (double[3] g0) {{ g0 = {gradient} }}, "
              "else_branch = f () => (double[3] g1) {{ g1 = Neg(x) }}> (k)"),
    "in_loop": ({"x": (3,)}, NUMBERS + """o = If <then_branch = t () => (double[3] a) { a = Mul(x, x) }, else_branch = f () => (double[3] b) { b =
                    Sin(x) }> (k)""", {"k": False}, None,
                "{to} = Loop <body = b (int64 j, bool c3, double[3] g) => (bool d3, double[3] g2) {{ "
                "d3 = Identity(c3) g2 = {gradient} }}> (three, yes, x)"),
}
SCANS = {
    "scan": ({"x": (4, 3), "h": (3,), "w": (3,)}, """l, o = Scan <num_scan_inputs = 1, body = b (double[3] s, double[3] e) => (double[3] n,
                    double[3] u) {
             f = Mul(s, w) g = Add(f, e) n = Tanh(g) u = Mul(n, w) }> (h, x)"""),
    "scan_last": ({"x": (4, 3), "h": (3,)}, """o, all = Scan <num_scan_inputs = 1, body = b (double[3] s, double[3] e) => (double[3] n, double[3] u) {
                  f = Mul(s, e) n = Add(f, e) u = Identity(n) }> (h, x)"""),
    "scan_axes": ({"x": (2, 4, 3), "z": (4, 2), "h": (2, 3)}, """l, o = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_output_axes =
                    [-1], scan_input_directions = [1, 0], scan_output_directions = [1],
                  body = b (double[2, 3] s, double[2, 3] e, double[2] k) => (double[2, 3] n, double[2, 3] u) {
                  f = Add(s, e) at = Constant <value = int64[1] {1}> () g = Unsqueeze(k, at) j = Mul(f, g) n = Sin(j) u = Cos(j) }> (h, x, z)""", {},
                  TURN + """xr = Slice(x, last, first, second, last) xt = Transpose <perm = [1, 0, 2]> (xr) l, all = Scan <num_scan_inputs = 2,
                  body = b (double[2, 3] s, double[2, 3] e, double[2] k) => (double[2, 3] n, double[2, 3] u) {
                  f = Add(s, e) at = Constant <value = int64[1] {1}> () g = Unsqueeze(k, at) j = Mul(f, g) n = Sin(j) u = Cos(j) }> (h, xt, z)
                  turned = Slice(all, last, first, axis, last) o = Transpose <perm = [1, 2, 0]> (turned)"""),
    "scan_in_scan": ({"x": (3, 2, 2), "h": (2,)}, """o, q = Scan <num_scan_inputs = 1, body = b (double[2] s, double[2, 2] e) => (double[2] n,
                    double[2, 2] u) {
                     n, u = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = b2 (double[2] s2, double[2] e2) => (double[2] n2,
                    double[2] u2) {
                     f = Mul(s2, e2) g = Add(f, h) n2 = Sin(g) u2 = Mul(n2, e2) }> (s, e) }> (h, x)""", {},
                     TURN + """xr = Slice(x, last, first, second, last) o, q = Scan <num_scan_inputs = 1, body = b (double[2] s, double[2, 2] e) =>
                    (double[2] n, double[2, 2] u) {
                     n, u = Scan <num_scan_inputs = 1, body = b2 (double[2] s2, double[2] e2) => (double[2] n2, double[2] u2) {
                     f = Mul(s2, e2) g = Add(f, h) n2 = Sin(g) u2 = Mul(n2, e2) }> (s, e) }> (h, xr)"""),
}


def loop(takes, gives, nodes, on="on = Identity(go)"):
    """The body of a Loop that carries `takes`."""
    return f"Loop <body = b (int64 i, bool go, {takes}) => (bool on, {gives}) {{ {on} {nodes} }}>"


SINE = loop("seq(double[n]) s, double[3] t", "seq(double[n]) u, double[3] r", "e = Mul(t, w) r = Sin(e) u = SequenceInsert(s, r)")
SINES = PLACE + f"none = SequenceEmpty <dtype = 11> () s, last = {SINE} (m, yes, none, x) "
ROWS = PLACE + "s = SplitToSequence <keepdims = 0> (x) "
OPTIONAL = """p = If <then_branch = t () => (optional(double[3]) a) { e = Sin(x) a = Optional(e) },
    else_branch = f () => (optional(double[3]) b) { b = Optional <type = double[3]> () }> (k) h = OptionalHasElement(p)
    l = If <then_branch = t2 () => (double[3] a2) { a2 = OptionalGetElement(p) }, else_branch = f2 () => (double[3] b2) { b2 = Mul(x, x) }> (h)
    o = Mul(l, x) """
LENGTHS = """s = If <then_branch = t () => (seq(double[n]) a) { e = Sin(x) a = SequenceConstruct(e, w) },
    else_branch = f () => (seq(double[n]) b) { b = SequenceConstruct(x) }> (k) o = ConcatFromSequence <axis = 0> (s)"""
SEQUENCES = {
    "sequence_stack": ({"x": (3,), "w": (3,)}, SINES + "o = ConcatFromSequence <axis = 1, new_axis = 1> (s)", {"m": 4}),
    "sequence_joined": ({"x": (3,), "w": (3,)}, SINES + "r = SequenceErase(s, k) u = SequenceInsert(r, w, k) o = ConcatFromSequence <axis = 0> (u)",
                        {"m": 4, "k": -3}),
    "sequence_at": ({"x": (3,), "w": (3,)}, SINES + "p = SequenceAt(s, k) q = SequenceErase(s) r = SequenceAt(q, minus) o = Mul(p, r)", {"m": 3, "k": 1}),
    "sequence_length": ({"x": (3,), "w": (3,)}, SINES + "n = SequenceLength(s) f = Cast <to = 11> (n) o = Mul(last, f)", {"m": 4}),
    "sequence_until": ({"x": (3,), "w": (3,)}, PLACE + "none = SequenceEmpty <dtype = 11> () most = Constant <value = int64 {12}> () s, l = " + loop(
        "seq(double[3]) s, double[3] t", "seq(double[3]) u, double[3] r", "u = SequenceInsert(s, f)",
        "r = Mul(t, t) f = Add(r, half) g = ReduceSum <keepdims = 0> (f) on = Less(g, end)") + " (most, , none, x) o = ConcatFromSequence <axis = 0> (s)"),
    "sequence_history": ({"x": (3,), "w": (3,)}, PLACE + "begin = SequenceConstruct(x) s = " + loop("seq(double[3]) s", "seq(double[3]) u", """
        c = ConcatFromSequence <axis = 0, new_axis = 1> (s) d = ReduceSum <keepdims = 0> (c, axis) e = Mul(d, w) f = Sin(e)
        u = SequenceInsert(s, f, zero)""") + " (m, , begin) o = SequenceAt(s, zero)", {"m": 3}),
    "sequence_longer": ({"x": (2,)}, PLACE + "begin = SequenceConstruct(x) s = " + loop("seq(double[n]) s", "seq(double[n]) u", """
        e = SequenceAt(s, minus) f = Sin(e) g = Concat <axis = 0> (f, x) u = SequenceInsert(s, g)""") + " (m, , begin) o = ConcatFromSequence <axis = 0> (s)",
        {"m": 3}),
    "sequence_shorter": ({"x": (5, 3), "w": (3,)}, ROWS + "l, o = " + loop("seq(double[3]) s, double[3] t", "seq(double[3]) u, double[3] r", """
        e = SequenceAt(s, zero) f = Mul(e, t) r = Add(f, t) u = SequenceErase(s, zero)""") + " (m, , s, w)", {"m": 4}),
    "sequence_states": ({"x": (2,), "w": (3,)}, PLACE + "none = SequenceEmpty <dtype = 11> () begin = SequenceConstruct(w) p, q = " + loop(
        "seq(double[2]) s, seq(double[n]) t", "seq(double[2]) u, seq(double[n]) v", """
        e = SequenceAt(t, minus) f = ReduceSum <keepdims = 0> (e) g = Mul(x, f) h = Sin(g) u = SequenceInsert(s, h)
        j = Concat <axis = 0> (h, w) v = SequenceInsert(t, j, zero)""") + """ (m, , none, begin) a = ConcatFromSequence <axis = 0> (p)
        b = ConcatFromSequence <axis = 0> (q) o = Concat <axis = 0> (a, b)""", {"m": 3}),
    "sequence_loops": ({"x": (2,)}, PLACE + "begin = SequenceConstruct(x) s = " + loop("seq(double[2]) s", "seq(double[2]) u", """
        n = SequenceLength(s) g = Loop <body = b2 (int64 j, bool go2, double[2] t) => (bool on2, double[2] r) {
        on2 = Identity(go2) e = SequenceAt(s, j) f = Mul(e, t) r = Sin(f) }> (n, , x) u = SequenceInsert(s, g, zero)""") +
        " (m, , begin) o = ConcatFromSequence <axis = 0> (s)", {"m": 3}),
    "sequence_of_scans": ({"x": (4, 2), "w": (2,)}, PLACE + "none = SequenceEmpty <dtype = 11> () s = " + loop("seq(double[4, 2]) s", "seq(double[4, 2]) u", """
        l, all = Scan <num_scan_inputs = 1, body = b2 (double[2] a, double[2] e) => (double[2] r, double[2] v) {
        f = Mul(e, a) r = Sin(f) v = Identity(r) }> (w, x) h = CastLike(i, x) k = Add(all, h) u = SequenceInsert(s, k)""") +
        " (m, , none) o = ConcatFromSequence <axis = 0> (s)", {"m": 3}),
    "sequence_split_by": ({"x": (7, 2)}, "s = SplitToSequence(x, k) r = SequenceErase(s) o = ConcatFromSequence <axis = 0> (r)", {"k": 3}),
    "sequence_split_list": ({"x": (2, 7)}, PLACE + "s = SplitToSequence <axis = 1> (x, k) o = SequenceAt(s, one)", {"k": np.array([1, 4, 2])}),
    "sequence_split_each": ({"x": (4, 3)}, ROWS + """e = SequenceAt(s, k) f = SequenceErase(s, k) g = SequenceInsert(f, e, zero)
        o = ConcatFromSequence <axis = 1, new_axis = 1> (g)""", {"k": 2}),
    "sequence_map": ({"x": (7, 3), "w": (3,)}, """s = SplitToSequence(x, k) t = SequenceMap <body = b (double[n, 3] e, double[3] f) => (double[n, 3] g)
        { h = Mul(e, f) g = Sin(h) }> (s, w) o = ConcatFromSequence <axis = 0> (t)""", {"k": 3}),
    "sequence_sizes": ({"x": (2,), "w": (3,)}, """s = SequenceConstruct(x, w, x) e = SequenceAt(s, k) t = SequenceErase(s, k) f = SequenceAt(t, k)
        o = Concat <axis = 0> (e, f)""", {"k": 1}),
    "sequence_if": ({"x": (3,), "w": (2,)}, LENGTHS, {"k": True}),
    "sequence_if_not": ({"x": (3,), "w": (2,)}, LENGTHS, {"k": False}),
    "sequence_if_in_if": ({"x": (3,)}, """e = Sin(x) f = SequenceConstruct(e) s = If <then_branch = t () => (seq(double[n]) a) {
        a = If <then_branch = t2 () => (seq(double[n]) a2) { a2 = Identity(f) }, else_branch = f2 () => (seq(double[n]) b2) { b2 = SequenceConstruct(x) }>
        (k) }, else_branch = f () => (seq(double[n]) b) { b = SequenceConstruct(x) }> (k) o = ConcatFromSequence <axis = 0> (s)""", {"k": True}),
    "sequence_input": ({"x": (3,)}, PLACE + """e = SequenceAt(s, k) f = Mul(e, x) t = SequenceInsert(s, f, one) g = ConcatFromSequence <axis = 0> (t)
        h = ConcatFromSequence <axis = 0> (s) p = ReduceSum <keepdims = 0> (h) o = Mul(g, p)""", {"s": (np.ones(3), np.arange(3.), np.ones(3)), "k": 2}),
    "optional": ({"x": (3,)}, OPTIONAL, {"k": True}, "e = Sin(x) o = Mul(e, x)"),
    "optional_none": ({"x": (3,)}, OPTIONAL, {"k": False}, "e = Mul(x, x) o = Mul(e, x)"),
}


def add_gradients_control(c):
    extra = ("axis = Constant <value = int64[1] {0}> () end = Constant <value = double {9}> () half = Constant <value = double {0.5}> () "
             "start = Constant <value = double[3] {1, 2, 3}> () yes = Constant <value = bool {1}> () ")
    states, nodes, turns = SEQUENCES["sequence_states"]
    gradients.add_gradient(c, "twice_sequence", states, extra + nodes + WAVE, extra + nodes.replace(", , ", ", yes, ") + WAVE, (), turns, twice="x")
    for name, (shapes, nodes, *rest) in {**BRANCHES, **LOOPS, **SCANS, **SEQUENCES, **PLACES}.items():
        also, otherwise, *place = (*rest, *({}, nodes)[len(rest):])
        otherwise = re.sub(r"\((\w+), , ", r"(\1, yes, ", otherwise or nodes)  # without a condition the reference's loops have no iteration
        gradients.add_gradient(c, name, shapes, extra + nodes + WAVE, extra + otherwise + WAVE, (), also, *place)
