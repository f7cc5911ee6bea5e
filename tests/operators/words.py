"""Operators on strings: Tokenizer, MurmurHash3, string kernels of several files in one model. The expected results come from ONNX
Runtime."""

import numpy as np
import onnx
import onnxruntime

rng = np.random.default_rng(29)
LINES = ["ab,cd ab;cd,, ;ab\nab", "xyz ab", "b", "", "\u00e9t\u00e9 \u20ac,\u00e9", "a b\n"]
EXPRESSIONS = ["[a-zA-Z0-9_]+", "\\b\\w\\w+\\b", "[^ ,;]+", "a|ab", "^ab", "ab$", "(?m)^a", "(?i)AB|X", "a.*?b", "[a-z]*", "\u00e9+", "\\Bb", "(?s).", "."]
SEPARATORS = [[" "], [" ", ",", ";"], ["[ ,]", "^a", "b$"], ["a|ab"], ["\u00e9"], ["\\s+"], ["x*"], ["b", "a"], [""], ["(?m)$", " "]]


def strings(*s):
    return np.array(s, dtype=object)


def add(c, name, op, x, attrs, **more):
    c.add(name, op, [x], attrs, version=1, domain="com.microsoft", **more)


def add_tokens(c):
    attrs, x = {"mark": 0, "mincharnum": 1, "pad_value": "#"}, strings(*LINES)
    for k, e in enumerate(EXPRESSIONS):
        for least in (1,) if e == "." else (1, 2, 4):
            add(c, f"tokens_{k}_{least}", "Tokenizer", x, {**attrs, "tokenexp": e, "mincharnum": least})
    for k, s in enumerate(SEPARATORS):
        for least in (1,) if s == [""] else (1, 2, 4):
            add(c, f"pieces_{k}_{least}", "Tokenizer", x, {**attrs, "separators": s, "mincharnum": least, "mark": k % 3})
    add(c, "tokens_none", "Tokenizer", strings(",", ""), {**attrs, "tokenexp": "a", "mark": 1})
    add(c, "tokens_pad", "Tokenizer", x, {**attrs, "tokenexp": "ab", "mark": 1, "pad_value": ""})
    add(c, "tokens_rows", "Tokenizer", x.reshape(2, 3), {**attrs, "tokenexp": "ab"}, sizes=[("n", "c")])
    add(c, "tokens_constant", "Tokenizer", x, {**attrs, "separators": ["b"], "tokenexp": "ab"}, consts=(0,))


def add_hashes(c):
    bits = rng.integers(-2**63, 2**63, (2, 3))
    lengths = strings(*(f"{k * k:b}" for k in range(5)), *LINES, "\u20ac\0", "")
    for name, x in (("string", lengths), ("int64", bits), ("uint64", bits.view(np.uint64)), ("int32", bits.astype(np.int32)),
                    ("uint32", bits.astype(np.uint32)), ("float", bits.astype(np.int32).view(np.float32)), ("double", bits.view(np.float64))):
        for positive in 0, 1:
            for seed in 0, 42, -1:
                add(c, f"hash_{name}_{positive}_{seed & 255}", "MurmurHash3", x, {"positive": positive, "seed": seed})
    add(c, "hash_usual", "MurmurHash3", lengths, {})
    add(c, "hash_constant", "MurmurHash3", lengths, {"seed": 7}, consts=(0,))
    add(c, "hash_sizes", "MurmurHash3", bits, {}, sizes=[("n", "m")])


def add_together(c):
    """String kernels of several files in one model: strings are joined, cut, replaced and joined again."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 20, "com.microsoft": 1, "ai.onnx.ml": 2]>
        g (string[3] a, string[3] b) => (string[3, N] t, string[3] m, string[3] y) {
            j = StringConcat (a, b)
            t = com.microsoft.Tokenizer <mark = 0, mincharnum = 1, pad_value = "#", separators = [" "]> (j)
            m = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "xyz"], values_strings = ["one", "two"], default_string = "none"> (a)
            y = StringConcat (m, j) }""")
    x = [strings("a", "b c ", "xyz"), strings(" b", "d", "")]
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    c.write("words_together", model, x, run.run(None, dict(zip("ab", x))))


def add_words(c):
    add_tokens(c)
    add_hashes(c)
    add_together(c)
