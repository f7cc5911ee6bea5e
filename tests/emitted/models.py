"""Small models, each with a difficulty for emitted code: NAME -> (model, options of onnxcc, inputs)."""
import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

from message import quoted

TABLE = {}
rng = np.random.default_rng(1)


def values(*shape):
    return (rng.integers(-64, 64, shape) / 32).astype(np.float32)


def parsed(name, text, inputs, options=(), weights=None):
    """A model from text; weights: name -> array, as initializers."""
    m = onnx.parser.parse_model('<ir_version: 8, opset_import: ["":17]>\n' + text)
    for k, v in (weights or {}).items():
        m.graph.initializer.append(numpy_helper.from_array(v, k))
    TABLE[name] = m, list(options), inputs


parsed("network", """g (float[1,3,16,16] x) => (float[1,10] y) {
    a = Conv <pads = [1,1,1,1]> (x, w1, b1)   b = Relu(a)   c = MaxPool <kernel_shape = [2,2], strides = [2,2]> (b)
    d = Conv <group = 16, pads = [1,1,1,1]> (c, w2)   e = HardSwish(d)   f = GlobalAveragePool(e)   h = Flatten(f)
    i = Gemm(h, w3, b3)   y = Softmax(i) }""", [values(1, 3, 16, 16)],
       weights={"w1": values(16, 3, 3, 3), "b1": values(16), "w2": values(16, 1, 3, 3), "w3": values(16, 10), "b3": values(10)})

parsed("sizes", """g (float[batch,n] x, int64[batch] i) => (float[batch,n] y, float[batch] z, int64[2,found] k) {
    y = Softmax(x)   a = ReduceSum <keepdims = 0> (x, axes)   z = Gather(a, i)   b = Greater(x, zero)   k = NonZero(b) }""",
       [values(2, 5), np.array([1, 0], np.int64)], ["--dim", "batch<=4", "--dim", "n<=9"],
       {"axes": np.array([1], np.int64), "zero": np.array(0, np.float32)})

parsed("broadcast", """g (float[batch,2,3] x, float[many,3,4] w, float[one,1,1] u) => (float[p,2,4] y, float[q,2,4] z) {
    m = MatMul(x, w)   y = Add(m, u)   t = Shape(y)   z = Expand(m, t) }""",
       [values(1, 2, 3), values(2, 3, 4), values(1, 1, 1)], ["--dim", "batch<=3", "--dim", "many<=3", "--dim", "one<=3"])

parsed("same_sizes", """g (int64[2] i, float[1] x) => (float[p] y, float[q] z) {
    a = ReduceMax <keepdims = 1> (i)   b = ReduceMax <keepdims = 1> (i)   c = Identity(b)   y = Expand(x, a)
    d = Expand(x, c)   z = Neg(d) }""", [np.array([3, 2], np.int64), values(1)], ["--dim", "a[0]<=4", "--dim", "b[0]<=4"])

parsed("control", """g (bool c, float[2,3] x, int64 turns) => (float[2,3] y, float[2,3] z) {
    y = If (c) <then_branch = t () => (float[2,3] p) { p = Exp(x) }, else_branch = e () => (float[2,3] q) { q = Neg(x) }>
    yes = Constant <value = bool {1}> ()
    z = Loop (turns, yes, x) <body = b (int64 i, bool go, float[2,3] v) => (bool on, float[2,3] u) {
        on = Identity(go)   u = Mul(v, x) }> }""", [np.array(True), values(2, 3), np.array(3, np.int64)])

parsed("types", """g (float[7] x, float16[7] h, uint8[7] u, double[7] d) =>
        (float16[7] a, int8[7] b, bool[7] c, double[7] e, int64[7] f, float16[7] k) {
    a = Cast <to = 10> (x)   b = Cast <to = 3> (x)   c = Cast <to = 9> (u)   e = Mul(d, d)   g = Cast <to = 7> (u)
    f = Mod(g, three)   m = Add(h, a)   k = Sigmoid(m) }""",
       [values(7), values(7).astype(np.float16), np.arange(7, dtype=np.uint8), values(7).astype(np.float64)],
       weights={"three": np.array(3, np.int64)})

parsed("quantised", """g (uint8[2,6] x, int8[3,2] u) => (int8[3,2] y, uint8[2,6] z) {
    a = DequantizeLinear(x, s, z3)   b = DequantizeLinear(u, t)   c = Reshape(b, two)   d = Gemm(a, w)   e = Add(d, c)
    f = QuantizeLinear(e, t, z5)   y = Reshape(f, three)   z = QuantizeLinear(a, many, zeros) }""",
       [np.arange(12, dtype=np.uint8).reshape(2, 6), np.arange(-3, 3, dtype=np.int8).reshape(3, 2)],
       weights={"s": np.float32(0.0471), "z3": np.uint8(3), "t": np.float32(2), "z5": np.int8(-5), "w": values(6, 6)[:, :3],
                "two": np.array([2, 3], np.int64), "three": np.array([3, 2], np.int64),
                "many": np.linspace(1, 2, 6, dtype=np.float32), "zeros": np.zeros(6, np.uint8)})

# Signatures and calls of three lines and more, and parameters longer than a line.
LONG = [f"the_input_of_branch_number_{i}" for i in range(8)]
parsed("long", "g (" + ", ".join(f"float[n,4] {x}" for x in LONG) + ") => (" + ", ".join(f"float[n,4] of_{x}" for x in LONG)
       + ", float[many,4] all, float[k,4] part) {" + " ".join(f"of_{x} = Softmax({x})" for x in LONG)
       + f"all = Concat <axis = 0> ({', '.join(LONG)})   s = Shape(all)   t = Gather(s, zero)   u = Sub(t, three)   v = Mul(u, u)"
       "   b = Div(v, three)   part = Slice(all, three, b) }",
       [values(2, 4) for _ in LONG], ["--dim", "n<=9"], {"zero": np.array([0], np.int64), "three": np.array([3], np.int64)})

# Kernels with equal parameters that write over an input.
parsed("in_place", """g (float[2,4,8] x, float[1,16,6,6] v) => (float[2,4,8] y, float[1,16,6,6] z, float[2,2,4,8] t) {
    a = Exp(x)   b = Softmax(a)   c = Neg(b)   y = Softmax(c)   d = Exp(v)   e = Conv <pads = [1,1,1,1]> (d, w)   f = Add(e, d)
    h = Conv <pads = [1,1,1,1]> (f, w)   z = Add(h, f)   i = SequenceEmpty()   j = SequenceInsert(i, x)
    k = SequenceInsert(j, x)   t = ConcatFromSequence <axis = 0, new_axis = 1> (k) }""",
       [values(2, 4, 8), values(1, 16, 6, 6)], weights={"w": values(16, 16, 3, 3) / 64})

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38, 1 / 3, 16777217], np.float32)
SPECIAL_BITS = SPECIAL.copy()
SPECIAL_BITS.view(np.uint32)[0] = 0xFFC12345
parsed("constants", """g (float[8] x, int64[3] i) => (float[8] y, int64[3] j, float[8] v, double[2] w, float[1000,100] big) {
    y = Identity(special)   j = Add(i, extremes)   v = Add(x, thin)   w = Identity(doubles)   s = Slice(x, from, to)
    big = Add(s, many) }""", [values(8), np.array([0, 0, 1], np.int64)],
       weights={"special": SPECIAL_BITS, "extremes": np.array([-2**63, 2**63 - 1, -2**31], np.int64),
                "thin": np.full(8, 0.5, np.float32), "doubles": np.array([1 / 3, -0.0]),
                "from": np.array([0], np.int64), "to": np.array([1], np.int64),
                "many": np.full((1000, 100), 0.1, np.float32)})

# Names that are keywords, macros, ends of comments, trigraphs, mangled forms of other names, or not identifiers.
HOSTILE = ["int", "new", "arena", "status", "x y", "x_y", "x-y", "*/ #error out of the comment", "// \\", "??/", "a\nb", "\"q\"",
           "RT_OK", "T", "EPI", "relu_f32", "conv", "rt_div", "memcpy", "main", "NULL", "é", "1st", "_", "__LINE__", "%s%n", "a" * 300,
           "hostile_run", "sizes", "double", "restrict", "errno", "$", "x_y_2", "c128", "\0nul"]


def hostile():
    nodes = [helper.make_node("Relu" if i % 2 else "Neg", [a], [b], name=b) for i, (a, b) in enumerate(zip(HOSTILE, HOSTILE[1:]))]
    nodes.append(helper.make_node("MatMul", [HOSTILE[-1], "static"], ["return"], name="*/"))
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 4]) for n in (HOSTILE[0], "return", "x y")]
    g = helper.make_graph(nodes, "*/\n#error g", info[:1], info[1:],
                          [numpy_helper.from_array(values(4, 4), "static")], doc_string="*/ #error doc")
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="*/\n#error")
    TABLE["hostile"] = m, [], [values(4, 4)]


def hostile_sizes():
    """The hostile names as names of sizes, which occur in comments of the code."""
    sizes = ["*/ int live; /*", "*/", "/*", "/", "a*", "// \\", "??/", "a\nb"]
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, sizes) for n in "xyz"]
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Softmax", ["y"], ["z"])]
    m = helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    TABLE["hostile_sizes"] = m, [o for s in sizes for o in ("--dim", f"{quoted(s)}<=2")], [values(*[2] * len(sizes))]


hostile()
hostile_sizes()


def deep(layers):
    """A chain of convolutions of different sizes, so that no two calls are the same."""
    nodes, weights, last = [], [], "x"
    for i in range(layers):
        weights.append(numpy_helper.from_array(values(4 + i % 3 + 1, 4 + (i - 1) % 3 + 1 if i else 3, 1, 1), f"w{i}"))
        nodes.append(helper.make_node("Conv", [last, f"w{i}"], [f"t{i}"], name=f"conv{i}"))
        nodes.append(helper.make_node("Pad", [f"t{i}", "pads"], [f"u{i}"], name=f"pad{i}"))
        last = f"u{i}"
    weights.append(numpy_helper.from_array(np.array([0, 0, 0, 0, 0, 0, 0, 1], np.int64), "pads"))
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, [1, 4 + (layers - 1) % 3 + 1, 5, 5 + layers])
    g = helper.make_graph(nodes, "deep", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 5, 5])], [y], weights)
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


TABLE["deep"] = deep(24), [], [values(1, 3, 5, 5)]
TABLE["shallow"] = deep(8), [], [values(1, 3, 5, 5)]
