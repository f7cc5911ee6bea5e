"""A sentence encoder of MiniLM's size and a small GPT with key/value cache, in the forms that PyTorch's exporters write.

ts14, ts17   the TorchScript exporter: Shape/Gather/Unsqueeze/Concat/Reshape chains, every scalar a Constant node;
             at opset 14 layer normalisation and GELU are spelt out, at 17 there is LayerNormalization
dynamo       the torch.export based exporter of PyTorch 2.7 and later: flat, constants as initializers
raw          the same, not optimised: CastLike, SequenceAt, weights transposed in the graph
functions    the same exporter before 2.5: one function per module, and torch_lib functions inside functions, with
             attribute references and If in their bodies"""
import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

from common import Net, model, rng_of

LIB, COMMON, MODULES = "pkg.onnxscript.torch_lib", "pkg.onnxscript.torch_lib.common", "pkg.transformer"

LIBRARY = [     # functions like torch_lib's, written by hand
    f"""<domain: "{COMMON}", opset_import: ["" : 18]>
    Rank (input) => (return_val) {{ shape = Shape (input)  return_val = Size (shape) }}""",
    f"""<domain: "{COMMON}", opset_import: ["" : 18, "{COMMON}" : 1]>
    IsScalar (input) => (return_val) {{
        rank = {COMMON}.Rank (input)
        zero = Constant <value_int = 0> ()
        return_val = Equal (rank, zero) }}""",
    f"""<domain: "{LIB}", opset_import: ["" : 18, "{COMMON}" : 1]>
    aten_softmax_no_dtype <dim> (self) => (result_8) {{
        self_is_scalar = {COMMON}.IsScalar (self)
        self_4 = If (self_is_scalar) <
            then_branch = then () => (self_2) {{ at = Constant <value_ints = [0]> ()  self_2 = Unsqueeze (self, at) }},
            else_branch = else () => (self_3) {{ self_3 = Identity (self) }}>
        result = Softmax <axis: int = @dim> (self_4)
        result_8 = If (self_is_scalar) <
            then_branch = then_2 () => (result_6) {{ result_6 = Squeeze (result) }},
            else_branch = else_2 () => (result_7) {{ result_7 = Identity (result) }}> }}""",
    f"""<domain: "{LIB}", opset_import: ["" : 18]>
    _aten_gelu_approximate_none (self) => (return_val) {{
        inner = Div (self, sqrt_two_like)
        erf = Erf (inner)
        one = Constant <value_float = 1.0> ()
        one_like = CastLike (one, erf)
        plus_one = Add (one_like, erf)
        half = Constant <value_float = 0.5> ()
        half_like = CastLike (half, erf)
        scaled = Mul (half_like, plus_one)
        return_val = Mul (self, scaled) }}""".replace("inner =", """two = Constant <value_float = 1.4142135> ()
        sqrt_two_like = CastLike (two, self)
        inner ="""),
    f"""<domain: "{LIB}", opset_import: ["" : 18]>
    _aten_gelu_approximate_tanh (self) => (return_val) {{
        three = Constant <value = float {{3.0}}> ()
        cubed = Pow (self, three)
        factor = Constant <value = float {{0.044715}}> ()
        inner = Mul (factor, cubed)
        sum = Add (self, inner)
        root = Constant <value = float {{0.7978845608}}> ()
        scaled = Mul (root, sum)
        tanh = Tanh (scaled)
        one = Constant <value = float {{1.0}}> ()
        plus_one = Add (tanh, one)
        half = Constant <value = float {{0.5}}> ()
        halved = Mul (half, plus_one)
        return_val = Mul (self, halved) }}""",
    f"""<domain: "{LIB}", opset_import: ["" : 18, "{LIB}" : 1]>
    aten_layer_norm <axis: int = -1, eps: float = 1e-05> (input, weight, bias) => (result) {{
        result = {LIB}._aten_layer_norm_onnx <axis: int = @axis, eps: float = @eps> (input, weight, bias) }}""",
    f"""<domain: "{LIB}", opset_import: ["" : 18]>
    _aten_layer_norm_onnx <axis, eps> (input, weight, bias) => (result) {{
        result, mean, rstd = LayerNormalization <axis: int = @axis, epsilon: float = @eps> (input, weight, bias) }}""",
    f"""<domain: "{LIB}", opset_import: ["" : 18, "{COMMON}" : 1]>
    aten_t (self) => (result) {{
        rank = {COMMON}.Rank (self)
        two = Constant <value_int = 2> ()
        cond = Equal (rank, two)
        result = If (cond) <
            then_branch = then () => (turned) {{ turned = Transpose <perm = [1, 0]> (self) }},
            else_branch = else () => (same) {{ same = Identity (self) }}> }}""",
    f"""<domain: "{LIB}", opset_import: ["" : 18]>
    aten_view (self, size) => (result) {{
        size_0 = Cast <to = 7> (size)
        result = Reshape (self, size_0) }}""",
    f"""<domain: "{LIB}", opset_import: ["" : 18, "{LIB}" : 1]>
    linear (input, weight, bias) => (result) {{
        turned = {LIB}.aten_t (weight)
        product = MatMul (input, turned)
        result = Add (product, bias) }}""",
]


class Exported(Net):
    """Layers in the form of one exporter."""

    def __init__(self, name, style, width, heads):
        opset = {"ts14": 14, "ts17": 17}.get(style, 18)
        super().__init__(name, opset=opset, ir={14: 7, 17: 8, 18: 10}[opset], producer="pytorch")
        self.style, self.width, self.heads = style, width, heads
        self.script = style.startswith("ts")
        self.rng = rng_of(f"transformer {width}")      # the same weights in every form
        self.shared = {}
        if style == "functions":
            self.ir = 8
            self.functions = [onnx.parser.parse_function(text) for text in LIBRARY]
            self.domains = {LIB: 1, COMMON: 1}

    def scalar(self, value, dtype=np.float32):
        """A constant: a node of its own, or a shared initializer."""
        if self.style != "dynamo":
            return self.constant(value, dtype)
        key = (str(value), np.dtype(dtype).name)
        if key not in self.shared:
            self.shared[key] = self.weight("val", np.asarray(value, dtype))
        return self.shared[key]

    def ints(self, *values):
        return self.scalar(list(values), np.int64)

    def sizes(self, x, like):
        """The shape input of a Reshape of x; None in `like` stands for the size of x at that place."""
        if not self.script:
            if sum(v is None for v in like) == 1 or self.style == "dynamo":
                return self.ints(*[1 if v is None and i == 0 else -1 if v is None else v for i, v in enumerate(like)])
        parts = []
        for i, v in enumerate(like):
            if v is None and self.script:
                at = self.op("Gather", self.op("Shape", x), self.scalar(i, np.int64), axis=0)
                parts.append(self.op("Unsqueeze", at, self.ints(0)))
            elif v is None:
                at = self.op("Squeeze", self.op("Shape", x, start=i, end=i + 1))
                parts.append(self.op("Reshape", at, self.ints(-1), allowzero=0))
            else:
                parts.append(self.ints(v))
        return self.op("Concat", *parts, axis=0)

    def view(self, x, *like):
        size = self.sizes(x, like)
        if self.style == "functions":
            return self.op("aten_view", x, size, domain=LIB)
        return self.op("Reshape", x, size, allowzero=int(not self.script))

    def linear(self, x, n, m, name, bias=True):
        w = self.rng.standard_normal((n, m), np.float32) * np.float32(1 / np.sqrt(n))
        b = self.rng.standard_normal(m, np.float32) * np.float32(0.1)
        turned = self.style in ("raw", "functions")     # (out, in), as PyTorch keeps it
        w = self.weight(f"{name}.weight" if turned else "onnx::MatMul_1", w.T.copy() if turned else w)
        if not bias:
            return self.op("MatMul", x, self.op("Transpose", w, perm=[1, 0]) if turned else w, name=f"/{name}/MatMul")
        b = self.weight(f"{name}.bias", b)
        if self.style == "functions":
            return self.op("linear", x, w, b, name=f"/{name}/linear", domain=LIB)
        y = self.op("MatMul", x, self.op("Transpose", w, perm=[1, 0]) if turned else w, name=f"/{name}/MatMul")
        return self.op("Add", *((b, y) if self.script else (y, b)), name=f"/{name}/Add")

    def layer_norm(self, x, name):
        w = self.weight(f"{name}.weight", 1 + 0.1 * self.rng.standard_normal(self.width, np.float32))
        b = self.weight(f"{name}.bias", 0.1 * self.rng.standard_normal(self.width, np.float32))
        if self.style == "functions":
            return self.op("aten_layer_norm", x, w, b, name=f"/{name}/layer_norm", domain=LIB, eps=1e-12, axis=-1)
        if self.style != "ts14":
            return self.op("LayerNormalization", x, w, b, name=f"/{name}/LayerNormalization", axis=-1, epsilon=1e-12)
        d = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]), name=f"/{name}/Sub")
        v = self.op("ReduceMean", self.op("Pow", d, self.scalar(2)), axes=[-1])
        y = self.op("Div", d, self.op("Sqrt", self.op("Add", v, self.scalar(1e-12))))
        return self.op("Add", self.op("Mul", y, w), b, name=f"/{name}/Add")

    def softmax(self, x):
        if self.style == "functions":
            return self.op("aten_softmax_no_dtype", x, domain=LIB, dim=-1)
        return self.op("Softmax", x, axis=-1)

    def gelu(self, x):
        if self.style == "functions":
            return self.op("_aten_gelu_approximate_none", x, domain=LIB)
        e = self.op("Add", self.op("Erf", self.op("Div", x, self.scalar(1.4142135))), self.scalar(1))
        if self.script:
            return self.op("Mul", self.op("Mul", x, e), self.scalar(0.5))
        return self.op("Mul", x, self.op("Mul", self.scalar(0.5), e))

    def gelu_tanh(self, x):
        if self.style == "functions":
            return self.op("_aten_gelu_approximate_tanh", x, domain=LIB)
        cube = self.op("Mul", x, self.op("Mul", x, x)) if self.script else self.op("Pow", x, self.scalar(3))
        inner = self.op("Add", x, self.op("Mul", self.scalar(0.044715), cube))
        t = self.op("Tanh", self.op("Mul", self.scalar(0.7978845608), inner))
        if self.script:
            return self.op("Mul", self.scalar(0.5), self.op("Mul", x, self.op("Add", self.scalar(1), t)))
        return self.op("Mul", x, self.op("Mul", self.scalar(0.5), self.op("Add", t, self.scalar(1))))

    def split_heads(self, x):
        return self.view(x, None, None, self.heads, self.width // self.heads)

    def merge_heads(self, x):
        return self.view(self.op("Transpose", x, perm=[0, 2, 1, 3]), None, None, self.width)

    def module(self, kind, first, x):
        """In the form `functions`: makes a function called `kind` of the nodes since `first`, and calls it."""
        if self.style != "functions":
            return x
        body, self.nodes = self.nodes[first:], self.nodes[:first]
        made = {o for n in body for o in n.output}
        inside = list(dict.fromkeys(i for n in body for i in n.input if i and i not in made))
        imports = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in (LIB, COMMON, MODULES)]
        kind = self.fresh(kind)
        self.functions.append(helper.make_function(MODULES, kind, inside, [x], body, imports))
        return self.op(kind, *inside, domain=MODULES, name=f"/{kind}")


# ---- the encoder

LAYERS, WIDTH, HEADS, TOKENS = 6, 384, 12, 128


def encoder(style, vocabulary, lengths=((TOKENS, TOKENS), (77, TOKENS))):
    """lengths: (words, tokens with padding) of each data set."""
    net = Exported(f"minilm_{style}", style, WIDTH, HEADS)
    ids, mask, kinds = [net.input(n, ["batch" if net.script else 1, "sequence"], TensorProto.INT64)
                        for n in ("input_ids", "attention_mask", "token_type_ids")]
    table = {n: net.normal(f"embeddings.{n}.weight", (size, WIDTH), 1)
             for n, size in (("word", vocabulary), ("type", 2), ("position", 512))}
    places = net.weight("embeddings.position_ids", np.arange(512, dtype=np.int64)[None])
    if net.script:
        n = net.op("Unsqueeze", net.op("Gather", net.op("Shape", ids), net.scalar(1, np.int64), axis=0), net.ints(0))
    else:
        n = net.op("Shape", ids, start=1, end=2)
    places = net.op("Slice", places, net.ints(0), n, net.ints(1), net.ints(1))
    x = net.op("Add", net.op("Gather", table["word"], ids), net.op("Gather", table["type"], kinds))
    x = net.layer_norm(net.op("Add", x, net.op("Gather", table["position"], places)), "embeddings.norm")
    m = net.op("Unsqueeze", net.op("Unsqueeze", mask, net.ints(1)), net.ints(2)) if net.script else \
        net.op("Unsqueeze", mask, net.ints(1, 2))
    m = net.op("Sub", net.scalar(1), net.op("Cast", m, to=TensorProto.FLOAT))
    m = net.op("Mul", m, net.scalar(np.finfo(np.float32).min))
    for i in range(LAYERS):
        first = len(net.nodes)
        q, k, v = [net.split_heads(net.linear(x, WIDTH, WIDTH, f"layer.{i}.{n}")) for n in ("query", "key", "value")]
        q, v = [net.op("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v)]
        s = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 3, 1]))
        s = net.op("Add", net.op("Div", s, net.scalar((WIDTH // HEADS) ** 0.5)), m)
        y = net.merge_heads(net.op("MatMul", net.softmax(s), v))
        y = net.op("Add", net.linear(y, WIDTH, WIDTH, f"layer.{i}.output"), x)
        x = net.module("BertAttention", first, net.layer_norm(y, f"layer.{i}.norm"))
        y = net.gelu(net.linear(x, WIDTH, 4 * WIDTH, f"layer.{i}.up"))
        y = net.op("Add", net.linear(y, 4 * WIDTH, WIDTH, f"layer.{i}.down"), x)
        x = net.module("BertLayer", first, net.layer_norm(y, f"layer.{i}.norm_2"))
    net.output(x, ["batch" if net.script else 1, "sequence", WIDTH], "last_hidden_state")
    x = "last_hidden_state"
    m = net.op("Unsqueeze", mask, net.ints(2))
    if net.script:      # expand(), with its detour for sizes of -1
        sizes = net.op("Reshape", net.sizes(x, (None, None, None)), net.ints(-1), allowzero=0)
        one = numpy_helper.from_array(np.array([1], np.int64))
        ones = net.op("ConstantOfShape", net.op("Shape", sizes), value=one)
        other = net.op("Equal", sizes, net.op("Mul", ones, net.scalar(-1, np.int64)))
        sizes = net.op("Where", other, ones, sizes)
    else:
        sizes = net.op("Shape", x)
    m = net.op("Cast", net.op("Expand", m, sizes), to=TensorProto.FLOAT)
    total = net.op("ReduceSum", net.op("Mul", x, m), net.ints(1), keepdims=0)
    count = net.op("Clip", net.op("ReduceSum", m, net.ints(1), keepdims=0), net.scalar(1e-9))
    net.output(net.op("Div", total, count), ["batch" if net.script else 1, WIDTH], "pooled")

    def data(length, padded):
        words = np.zeros((1, padded), np.int64)
        words[0, :length] = net.rng.integers(1, vocabulary, length)
        kind = np.zeros((1, padded), np.int64)
        kind[0, length // 2:length] = 1
        return [words, (np.arange(padded)[None] < length).astype(np.int64), kind]

    return net.model(), [data(*n) for n in lengths]


BOTH = f"--dim sequence={TOKENS}"
model("minilm", options=f"--dim batch=1 {BOTH}", sets="test bench")(lambda: encoder("ts17", 30522))
model("minilm_ts14", options=f"--dim batch=1 {BOTH}")(lambda: encoder("ts14", 1000))
for each in ("dynamo", "raw", "functions"):
    model(f"minilm_{each}", options=BOTH)(lambda style=each: encoder(style, 1000))
model("minilm_any_length", options=f"--dim batch=1 --dim sequence<={TOKENS}")(
    lambda: encoder("ts17", 1000, ((TOKENS, TOKENS), (9, 9), (1, 1), (40, 50))))


# ---- the decoder: the whole prompt at once (no past), then token by token

GPT_LAYERS, GPT_WIDTH, GPT_HEADS, GPT_WORDS, GPT_CONTEXT = 4, 256, 8, 4096, 512


def causal(net, now, past):
    """The causal mask, bool [now, past + now]: may position i attend to position j?"""
    total = net.op("Add", past, now)
    if net.style == "raw":
        step = net.op("CastLike", net.scalar(1.0), total)
        start = net.op("CastLike", net.scalar(0.0), total)
    else:
        start, step = net.scalar(0, np.int64), net.scalar(1, np.int64)
    rows = net.op("Unsqueeze", net.op("Range", past, total, step), net.ints(1))
    columns = net.op("Unsqueeze", net.op("Range", start, total, step), net.ints(0))
    return net.op("LessOrEqual", columns, rows)


def attention_scale(net, q):
    """sqrt(1 / sqrt(head size)), computed from the shape of q as scaled_dot_product_attention's export does."""
    if net.style == "dynamo":
        return net.scalar((GPT_WIDTH // GPT_HEADS) ** -0.25)
    size = net.op("Slice", net.op("Shape", q), net.ints(-1), net.ints(np.iinfo(np.int64).max))
    if net.script:
        size, one = net.op("Cast", size, to=TensorProto.FLOAT), net.scalar([1])
    else:
        size, one = net.op("CastLike", size, q), net.op("CastLike", net.scalar(1), q)
    return net.op("Sqrt", net.op("Div", one, net.op("Sqrt", size)))


def size_of(net, x, axis):
    if net.script:
        return net.op("Gather", net.op("Shape", x), net.scalar(axis, np.int64), axis=0)
    return net.op("Squeeze", net.op("Shape", x, start=axis, end=axis + 1))


def split3(net, x):
    if net.style == "raw":
        s = net.op("SplitToSequence", x, net.scalar(GPT_WIDTH, np.int64), axis=2, keepdims=1)
        return [net.op("SequenceAt", s, net.scalar(i, np.int64)) for i in range(3)]
    return net.op("Split", x, net.ints(*[GPT_WIDTH] * 3), n=3, axis=2)


def gpt(style, cases):
    """cases: (tokens now, tokens before) of each data set."""
    net = Exported(f"gpt_{style}", style, GPT_WIDTH, GPT_HEADS)
    depth = GPT_WIDTH // GPT_HEADS
    ids = net.input("input_ids", [1, "now"], TensorProto.INT64)
    cache = [[net.input(f"past.{i}.{n}", [1, GPT_HEADS, "past", depth]) for n in ("key", "value")] for i in range(GPT_LAYERS)]
    words = net.normal("wte.weight", (GPT_WORDS, GPT_WIDTH), 1)
    places = net.normal("wpe.weight", (GPT_CONTEXT, GPT_WIDTH), 0.5)
    now, past = size_of(net, ids, 1), size_of(net, cache[0][0], 2)
    place = net.op("Range", past, net.op("Add", past, now), net.scalar(1, np.int64))
    x = net.op("Add", net.op("Gather", words, ids), net.op("Gather", places, net.op("Unsqueeze", place, net.ints(0))))
    seen = causal(net, now, past)
    for i in range(GPT_LAYERS):
        first = len(net.nodes)
        qkv = split3(net, net.linear(net.layer_norm(x, f"h.{i}.ln_1"), GPT_WIDTH, 3 * GPT_WIDTH, f"h.{i}.qkv"))
        q, k, v = [net.op("Transpose", net.split_heads(t), perm=[0, 2, 1, 3]) for t in qkv]
        k, v = [net.op("Concat", old, new, axis=2, out=f"present.{i}.{n}") for old, new, n in zip(cache[i], (k, v), ("key", "value"))]
        first = len(net.nodes)
        scale = attention_scale(net, q)
        q, kt = net.op("Mul", q, scale), net.op("Mul", net.op("Transpose", k, perm=[0, 1, 3, 2]), scale)
        mask = net.op("Where", seen, net.scalar(0), net.scalar(-np.inf if net.script else np.finfo(np.float32).min))
        s = net.softmax(net.op("Add", net.op("MatMul", q, kt), mask))
        s = net.op("Where", net.op("IsNaN", s), net.scalar(0), s)
        y = net.module("ScaledDotProduct", first, net.op("MatMul", s, v))
        x = net.op("Add", x, net.linear(net.merge_heads(y), GPT_WIDTH, GPT_WIDTH, f"h.{i}.proj"))
        first = len(net.nodes)
        y = net.gelu_tanh(net.linear(net.layer_norm(x, f"h.{i}.ln_2"), GPT_WIDTH, 4 * GPT_WIDTH, f"h.{i}.up"))
        x = net.module("GPT2MLP", first, net.op("Add", x, net.linear(y, 4 * GPT_WIDTH, GPT_WIDTH, f"h.{i}.down")))
    x = net.linear(net.layer_norm(x, "ln_f"), GPT_WIDTH, GPT_WORDS, "head", bias=False)
    net.output(x, [1, "now", GPT_WORDS], "logits")
    for i in range(GPT_LAYERS):
        for n in ("key", "value"):
            net.output(f"present.{i}.{n}", [1, GPT_HEADS, "past + now", depth])
    sets = [[net.rng.integers(0, GPT_WORDS, (1, t))] +
            [net.rng.standard_normal((1, GPT_HEADS, p, depth), np.float32) for _ in range(2 * GPT_LAYERS)] for t, p in cases]
    return net.model(), sets


for each in ("ts17", "dynamo", "raw", "functions"):
    suffix, sets = ("", "test bench") if each == "ts17" else (f"_{each}", "test")
    model(f"gpt_prefill{suffix}", options="--dim now=64 --dim past=0", sets=sets)(lambda style=each: gpt(style, [(64, 0)]))
    model(f"gpt_decode{suffix}", options="--dim now=1 --dim past=64", sets=sets)(lambda style=each: gpt(style, [(1, 64)]))
model("gpt_any_length", options="--dim now<=64 --dim past<=448")(lambda: gpt("ts17", [(64, 0), (1, 64), (7, 100)]))
