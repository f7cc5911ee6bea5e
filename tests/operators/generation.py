"""Searches of com.microsoft, which generate text, compared with ONNX Runtime: small decoders with random weights, of GPT-2's form,
and of T5's and whisper's with their encoders."""

import itertools
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from call import Call, calls

MICROSOFT = "com.microsoft"
WORDS, SIZE, HEADS, EACH, MEL = 13, 8, 2, 4, 4
INPUTS = {
    "GreedySearch": "input_ids max_length min_length repetition_penalty vocab_mask prefix_vocab_mask attention_mask".split(),
    "BeamSearch": """input_ids max_length min_length num_beams num_return_sequences length_penalty repetition_penalty vocab_mask
                     prefix_vocab_mask attention_mask decoder_input_ids logits_processor""".split(),
}
INPUTS["Sampling"] = [*INPUTS["GreedySearch"], "presence_mask", "seed"]
INPUTS["WhisperBeamSearch"] = [*INPUTS["BeamSearch"], "cross_qk_layer_head", "extra_decoding_ids", "temperature"]
rng = np.random.default_rng(40)


def draw_for(name):
    """From here on, random numbers that depend only on the name of a case."""
    global rng  # pylint: disable=global-statement
    rng = np.random.default_rng(zlib.crc32(name.encode()))


def normal(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def ints(*values):
    return np.array(values, np.int32)


def floats(*values):
    return np.array(values, np.float32)


def tokens(*shape, words=WORDS):
    return rng.integers(0, words, shape).astype(np.int32)


class Net:
    """The nodes and weights of a graph."""

    def __init__(self, name):
        self.name, self.nodes, self.held, self.inputs, self.outputs = name, [], [], [], []

    def const(self, x):
        self.held.append(numpy_helper.from_array(np.asarray(x), f"{self.name}_c{len(self.held)}"))
        return self.held[-1].name

    def op(self, op, *inputs, outputs=1, **attrs):
        names = [f"{self.name}_{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, [self.const(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in inputs], names, **attrs))
        return names[0] if outputs == 1 else names

    def read(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def give(self, name, value, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.held)


def gpt(layers=1, scale=1.5, words=WORDS):
    g = Net("gpt")
    ids, position, mask = (g.read(n, ["b", s], TensorProto.INT32) for n, s in
                           (("input_ids", "s"), ("position_ids", "s"), ("attention_mask", "t")))
    x = g.op("Add", g.op("Gather", normal(words, SIZE, scale=scale), ids), g.op("Gather", normal(32, SIZE), position))
    present = []
    for i in range(layers):
        past = g.read(f"past_{i}", [2, "b", HEADS, "p", EACH])
        y, now = g.op("Attention", x, normal(SIZE, 3 * SIZE, scale=0.6), normal(3 * SIZE), mask, past, outputs=2, domain=MICROSOFT,
                      num_heads=HEADS, unidirectional=1)
        present.append(now)
        x = g.op("Add", x, y)
    g.give("logits", g.op("MatMul", x, normal(SIZE, words)), ["b", "s", words])
    for i, v in enumerate(present):
        g.give(f"present_{i}", v, [2, "b", HEADS, "t", EACH])
    return g.graph()


class Crossed:
    """A decoder with an encoder, T5's or, if `whisper`, that one's. begins: the encoder runs the decoder on its prompt; states: the
    decoder reads the encoder's states; whole: it reads all tokens."""

    def __init__(self, layers=1, scale=1.0, words=WORDS, whisper=False, begins=True, states=False, whole=False):
        self.layers, self.words, self.whisper, self.begins, self.states, self.whole = layers, words, whisper, begins, states, whole
        self.table, self.head = normal(words, SIZE, scale=1.5 * scale), normal(SIZE, words)
        self.weights = [[normal(SIZE, SIZE, scale=0.6) for _ in range(6)] for _ in range(layers)]

    def split(self, g, x, w):
        return g.op("Transpose", g.op("Reshape", g.op("MatMul", x, w), np.array([0, -1, HEADS, EACH])), perm=[0, 2, 1, 3])

    def attend(self, g, q, k, v, bias):
        x = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
        x = g.op("MatMul", g.op("Softmax", g.op("Add", x, bias) if bias else x, axis=-1), v)
        return g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 1, 3]), np.array([0, -1, SIZE]))

    def hidden(self, g, mask):
        """The biases for a mask of the encoder's tokens."""
        x = g.op("Mul", g.op("Sub", g.op("Cast", mask, to=TensorProto.FLOAT), np.float32(1)), np.float32(1e4))
        return g.op("Unsqueeze", x, np.array([1, 2]))

    def decode(self, g, ids, past, cross, bias):
        """Logits, and each layer's key and value."""
        x, now = g.op("Gather", self.table, ids), []
        count = g.op("Shape", ids, start=1, end=2)
        causal = g.op("Trilu", g.op("Expand", np.float32(-1e4), g.op("Concat", count, count, axis=0)), np.array(1), upper=1)
        for i, (q, k, v, q2, *_) in enumerate(self.weights):
            key, value = self.split(g, x, k), self.split(g, x, v)
            if past:
                key, value = g.op("Concat", past[2 * i], key, axis=2), g.op("Concat", past[2 * i + 1], value, axis=2)
            now += [key, value]
            x = g.op("Add", x, self.attend(g, self.split(g, x, q), key, value, None if past else causal))
            x = g.op("Add", x, self.attend(g, self.split(g, x, q2), cross[2 * i], cross[2 * i + 1], bias))
        return g.op("MatMul", x, self.head), now

    def names(self, what):
        return [f"{what % part}_{i}" for i in range(self.layers) for part in ("key", "value")]

    def encoder(self):
        g = Net("encoder")
        x = g.read("encoder_input_ids", ["b", MEL, "n"] if self.whisper else ["b", "n"], TensorProto.FLOAT if self.whisper else TensorProto.INT32)
        bias = None
        if self.whisper:
            x = g.op("MatMul", g.op("Transpose", x, perm=[0, 2, 1]), normal(MEL, SIZE))
        else:
            bias = self.hidden(g, g.read("encoder_attention_mask", ["b", "n"], TensorProto.INT32))
            x = g.op("Gather", self.table, x)
            x = g.op("Add", x, self.attend(g, *(self.split(g, x, normal(SIZE, SIZE, scale=0.6)) for _ in range(3)), bias))
        cross = [self.split(g, x, w) for *_, k, v in self.weights for w in (k, v)]
        if self.begins:
            ids = g.read("decoder_input_ids", ["b", "s"], TensorProto.INT32)
            logits, now = self.decode(g, ids, None, cross, bias)
            g.give("logits", logits, ["b", "s", self.words])
            g.give("encoder_hidden_states", x, ["b", "n", SIZE])
            for name, v in zip(self.names("present_%s_self"), now):
                g.give(name, v, ["b", HEADS, "s", EACH])
        for name, v in zip(self.names("present_%s_cross"), cross):
            g.give(name, v, ["b", HEADS, "n", EACH])
        return g.graph()

    def decoder(self):
        g = Net("decoder")
        ids, bias = g.read("input_ids", ["b", "s" if self.whole else 1], TensorProto.INT32), None
        if not self.whisper:
            bias = self.hidden(g, g.read("encoder_attention_mask", ["b", "n"], TensorProto.INT32))
        states = g.read("encoder_hidden_states", ["b", "n", SIZE]) if self.states else None
        past = [g.read(name, ["b", HEADS, "p", EACH]) for name in self.names("past_%s_self")]
        cross = [g.read(name, ["b", HEADS, "n", EACH]) for name in self.names("past_%s_cross")]
        last = g.op("Gather", ids, np.array([-1]), axis=1) if self.whole else ids
        logits, now = self.decode(g, last, past, cross, bias)
        if self.whisper and self.states:  # ONNX Runtime gives them the shape alone
            logits = g.op("Add", logits, g.op("Cast", g.op("Shape", states, start=1, end=2), to=TensorProto.FLOAT))
        elif self.states:
            sums = g.op("ReduceSum", states, np.array([1]))
            logits = g.op("Add", logits, g.op("MatMul", sums, normal(SIZE, self.words, scale=0.2)))
        g.give("logits", logits, ["b", 1, self.words])
        for name, v in zip(self.names("present_%s_self"), now):
            g.give(name, v, ["b", HEADS, "p1", EACH])
        return g.graph()


@calls("GreedySearch", "Sampling", "BeamSearch", "WhisperBeamSearch", domain=MICROSOFT)
def search(c):
    """A search for one text."""
    attrs, beams = {"eos_token_id": 1, "pad_token_id": 0}, "Beam" in c.op
    ids, length = tokens(2, 3), ints(7)
    if beams and c["F"] == "float":
        net = Crossed(whisper=True)
        ids, attrs = normal(2, MEL, 5), {**attrs, "encoder": net.encoder(), "decoder": net.decoder(), "model_type": 2, "decoder_start_token_id": 2}
    else:
        attrs["decoder"] = gpt(scale=0.5)
    if not beams:
        return Call([ids, length, ints(0), floats(1.5)], attrs, consts=(1,), trust="runtime")
    inputs = [ids, length, ints(0), ints(2), ints(1), floats(1), floats(1.5), np.ones(WORDS, np.int32)]
    return Call(inputs, attrs, consts=(1, 3, 4), outputs=2, trust="runtime")


def add(c, name, op, inputs, attrs, outputs=("sequences",), consts=(), sizes=None, outside=False):
    """Writes a test of one search. consts: inputs that are initializers; sizes: an input's run-time sizes; outside: the decoder's weights
    are the model's. Without eos_token_id: the first with which a text ends early, but not all, since what follows is undefined then."""
    given = "eos_token_id" in attrs
    ends = [(attrs["eos_token_id"], attrs["pad_token_id"])] if given else itertools.product(range(1, WORDS), (attrs["pad_token_id"], 11, 10, 9, 8))
    assert any(write(c, name, op, inputs, {**attrs, "eos_token_id": end, "pad_token_id": pad}, outputs, consts, sizes, outside, given)
               for end, pad in ends), name


def write(c, name, op, inputs, attrs, outputs, consts, sizes, outside, anyway):
    """Writes the test, if a text ends early, or anyway; has it?"""
    names = [n if n in inputs else "" for n in INPUTS[op]]
    while not names[-1]:
        names.pop()
    node = helper.make_node(op, names, outputs, name, domain=MICROSOFT, **attrs)
    given = {n: inputs[n] for n in INPUTS[op] if n in inputs and n not in consts}
    held = [numpy_helper.from_array(inputs[n], n) for n in consts]
    for g in (a.g for a in node.attribute if a.name == "decoder" and outside):
        held += g.initializer
        del g.initializer[:]

    def info(n, x, shape):
        return helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), shape)

    declared = [info(n, x, (sizes or {}).get(n, x.shape)) for n, x in given.items()]

    def build(results):
        graph = helper.make_graph([node], "search", declared, results, held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)

    named = [y for y in outputs if y]
    model = build([onnx.ValueInfoProto(name=y) for y in named])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    run = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = run.run(None, given)
    if "non_speech_probs" in named:
        expected[named.index("non_speech_probs")] = silence(attrs, inputs)
    is_pad = expected[0] == attrs["pad_token_id"]
    ended = is_pad[..., -1] if "Beam" in op else is_pad[:, inputs["input_ids"].shape[1]:].any(1)
    if not anyway and (not ended.any() or (ended.all() and "Beam" not in op)):
        return False
    assert len(expected) < 3 or expected[2].any(axis=(1, 2, 3)).all(), name
    open_axes = {"sequences": 1, "sequences_scores": 1, "scores": 2, "non_speech_probs": 1}
    results = [info(o, y, [f"{o}_{k}" if sizes and k < open_axes[o] else d for k, d in enumerate(y.shape)])
               for o, y in zip(named, expected)]
    c.write(f"search_{name}", build(results), list(given.values()), expected, rtol=1e-3, atol=1e-3)
    return True


def silence(attrs, inputs):
    """The probability of whisper's no_speech_token_id after the prompt, of which ONNX Runtime's CPU provider leaves the memory undefined."""
    model = helper.make_model(attrs["encoder"], opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = {"encoder_input_ids": inputs["input_ids"], "decoder_input_ids": inputs["decoder_input_ids"]}
    odds = np.exp(run.run(["logits"], x)[0][:, -1].astype(np.float64))
    return (odds[:, attrs["no_speech_token_id"]] / odds.sum(1)).astype(np.float32)


def add_searches(c):
    for f in add_greedy, add_sampling, add_beams, add_crossed, add_whisper:
        f(c)


ALL = ("sequences", "sequences_scores", "scores")
NEVER, END = 50, {"eos_token_id": None}  # no text ends; one does


def given(attrs):
    return {k: v for k, v in attrs.items() if v is not None}


PROMPT = np.array([[0, 3, 5], [2, 7, 4]], np.int32)


def greedy(more=(), **inputs):
    return {"input_ids": PROMPT, "max_length": ints(10), **dict(more), **inputs}


def add_greedy(c):
    base = {"eos_token_id": NEVER, "pad_token_id": 12}
    mask = np.array([1, 1, 0, 2, 1, 0, 1, 1, 1, 0, 0, 1, 1], np.int32)
    for name, inputs, attrs in (
        ("plain", {}, {}),
        ("scalar", {"max_length": np.array(10, np.int32)}, {}),
        ("one", {"max_length": ints(4)}, {}),
        ("row", {"input_ids": ints(4)[None]}, {}),
        ("end", {}, END),
        ("pads", {"input_ids": np.array([[12, 12, 5, 1], [12, 3, 12, 4]], np.int32)}, {}),
        ("mask", {"attention_mask": np.array([[0, 1, 1], [1, 0, 2]], np.int32)}, {}),
        ("shortest", {"min_length": ints(7)}, END),
        ("penalty", {"repetition_penalty": floats(1.7)}, {}),
        ("reward", {"repetition_penalty": floats(0.6)}, {}),
        ("ngram_1", {}, {"no_repeat_ngram_size": 1}),
        ("ngram_2", {}, {"no_repeat_ngram_size": 2}),
        ("ngram_5", {}, {"no_repeat_ngram_size": 5}),
        ("words", {"vocab_mask": mask}, {}),
        ("first", {"prefix_vocab_mask": np.stack([mask, mask[::-1]])}, {}),
        ("all", {"min_length": ints(6), "repetition_penalty": floats(1.3), "vocab_mask": mask,
                 "prefix_vocab_mask": np.stack([mask[::-1], mask])}, {"no_repeat_ngram_size": 2, **END}),
    ):
        draw_for(f"greedy {name}")
        attrs = {"decoder": gpt(1 + (name in ("plain", "all"))), **base, **attrs}
        add(c, f"greedy_{name}", "GreedySearch", greedy(inputs), given(attrs), consts=("max_length",) if name not in ("scalar", "one") else ())
    draw_for("greedy")
    attrs = {"init_decoder": gpt(2), "decoder": gpt(2), **base}
    add(c, "greedy_starter", "GreedySearch", greedy(), attrs)
    add(c, "greedy_outside", "GreedySearch", greedy(), {"decoder": gpt(2), **base}, outside=True)
    add(c, "greedy_sizes", "GreedySearch", greedy(min_length=ints(4)), attrs, sizes={"input_ids": ["b", "s"]})


def add_sampling(c):
    for k, (inputs, attrs) in enumerate([
        ({}, {"top_p": 0.9}), ({"seed": ints(0)}, {"top_p": 0.5}), ({"seed": ints(2**31 - 1)}, {"top_p": 0.99, "temperature": 2.0}),
        ({"seed": ints(7)}, {"top_p": 0.9, "custom": 1}), ({"seed": ints(123456789)}, {"top_p": 0.6, "custom": 1, "temperature": 0.7}),
        ({"seed": ints(8)}, {"top_p": 0.3, "min_tokens_to_keep": 3, "filter_value": -4.0}),
        ({"seed": ints(9), "presence_mask": tokens(2, WORDS)}, {"top_p": 0.9, "no_repeat_ngram_size": 2, "temperature": 0.0}),
        ({"seed": ints(10), "min_length": ints(6), "repetition_penalty": floats(1.5)}, {"top_p": 0.9, **END}),
        ({"max_length": ints(4), "vocab_mask": np.zeros(WORDS, np.int32)}, {"top_p": 0.5, "temperature": 0.5}),  # no finite score
        ({"seed": ints(5), "presence_mask": np.eye(2, WORDS, 3, np.int32)}, {"top_p": 0.9, "presence_penalty": -5.0}),
        ({"seed": ints(5), "presence_mask": np.eye(2, WORDS, 1, np.int32)}, {"top_p": 0.9, "presence_penalty": -4.0, "custom": 1}),
        ({"seed": ints(6), "presence_mask": np.eye(2, WORDS, 1, np.int32)}, {"top_p": 0.9, "presence_penalty": -1.0, "temperature": 4.0}),
        ({"presence_mask": tokens(2, WORDS)}, {"top_p": 0.9, "presence_penalty": -10.0}),
    ]):
        draw_for(f"sampling {k}")
        attrs = {"decoder": gpt(1, 0.4), "eos_token_id": NEVER, "pad_token_id": 12, **attrs}
        add(c, f"sampling_{k}", "Sampling", greedy(inputs), given(attrs), consts=("max_length",) if k % 2 else ())


def beams(ids, more=(), **inputs):
    return {"input_ids": ids, "max_length": ints(9), "min_length": ints(0), "num_beams": ints(3), "num_return_sequences": ints(2),
            "length_penalty": floats(1), **dict(more), **inputs}


FEW = ("max_length", "num_beams", "num_return_sequences")


def add_beams(c):
    base = {"eos_token_id": NEVER, "pad_token_id": 0}
    mask = np.array([1, 1, 1, 2, 1, 0, 1, 1, 1, 0, 1, 1, 1], np.int32)
    for name, inputs, attrs in (
        ("plain", {}, {}),
        ("single", {"num_beams": ints(1), "num_return_sequences": ints(1)}, {}),
        ("end", {}, END),
        ("early", {}, {"early_stopping": 1, **END}),
        ("lengths", {"length_penalty": floats(-1.5)}, END),
        ("shortest", {"min_length": ints(5), "length_penalty": floats(0)}, END),
        ("all", {"repetition_penalty": floats(1.4), "vocab_mask": mask, "prefix_vocab_mask": np.stack([mask, mask[::-1]]),
                 "attention_mask": np.array([[0, 1, 1], [1, 1, 1]], np.int32)}, {"no_repeat_ngram_size": 2}),
        ("processor", {"logits_processor": ints(1)}, {}),
    ):
        draw_for(f"beams {name}")
        few = "eos_token_id" in attrs  # the search may be over early, and leave scores undefined
        attrs = {"decoder": gpt(1 + (name == "plain"), 0.6), **base, **attrs}
        add(c, f"beams_{name}", "BeamSearch", beams(PROMPT, inputs), given(attrs), ALL[:1 + (name != "end")] if few else ALL, consts=FEW)
    draw_for("beams")
    add(c, "beams_run", "BeamSearch", beams(PROMPT), {"decoder": gpt(1, 0.6), **base}, ALL, sizes={"input_ids": ["b", "s"]})
    add(c, "beams_starter", "BeamSearch", beams(PROMPT), {"init_decoder": gpt(1, 0.6), "decoder": gpt(1, 0.6), **base}, ALL[:2], consts=FEW)


def add_crossed(c):
    base = {"eos_token_id": NEVER, "pad_token_id": 0, "decoder_start_token_id": 2, "model_type": 1}
    ids = np.array([[0, 0, 5, 1], [2, 7, 0, 4]], np.int32)
    for name, kind, inputs, attrs in (
        ("plain", {"layers": 2}, {}, {}),
        ("states", {"states": True}, {}, {}),
        ("whole", {"whole": True}, {}, {}),
        ("short", {"begins": False, "layers": 2}, {}, {}),
        ("short_whole", {"begins": False, "whole": True}, {"num_beams": ints(1), "num_return_sequences": ints(1)}, {}),
        ("mask", {}, {"attention_mask": np.array([[1, 1, 0, 1], [0, 1, 1, 1]], np.int32)}, {}),
        ("end", {}, {"repetition_penalty": floats(1.3)}, {"early_stopping": 1, **END}),
        ("ngram", {"begins": False}, {"min_length": ints(4), "length_penalty": floats(-1)}, {"no_repeat_ngram_size": 2, **END}),
    ):
        draw_for(f"crossed {name}")
        few, t5 = "eos_token_id" in attrs, Crossed(scale=0.4, **kind)
        attrs = {"encoder": t5.encoder(), "decoder": t5.decoder(), **base, **attrs}
        add(c, f"crossed_{name}", "BeamSearch", beams(ids, inputs), given(attrs), ALL[:2] if few else ALL, consts=FEW)
    draw_for("crossed")
    t5 = Crossed(scale=0.4)
    add(c, "crossed_run", "BeamSearch", beams(ids), {"encoder": t5.encoder(), "decoder": t5.decoder(), **base}, ALL, sizes={"input_ids": ["b", "s"]})


def add_whisper(c):
    base = {"pad_token_id": 0, "decoder_start_token_id": 2, "model_type": 2}
    times = {"beginning_timestamp_token_id": 20, "no_timestamps_token_id": 19, "start_of_lm_token_id": 18, "translate_token_id": 16,
             "transcribe_token_id": 15, "eos_token_id": 17}
    endless = np.arange(80, dtype=np.int32) - 17  # a mask without the end
    start = np.array([[2, 5, 3], [2, 6, 3]], np.int32)
    for name, op, words, inputs, attrs in (
        ("plain", "BeamSearch", WORDS, {}, {}),
        ("prompt", "BeamSearch", WORDS, {"decoder_input_ids": start, "logits_processor": ints(0)}, {}),
        ("states", "WhisperBeamSearch", WORDS, {"decoder_input_ids": start}, {}),
        ("heat", "WhisperBeamSearch", WORDS, {"temperature": floats(0.4), "min_length": ints(5)}, END),
        ("cold", "WhisperBeamSearch", WORDS, {"temperature": floats(-1), "extra_decoding_ids": tokens(2, 2)}, {}),
        ("times", "WhisperBeamSearch", 80, {"decoder_input_ids": start, "logits_processor": ints(1)}, times),
        ("times_first", "WhisperBeamSearch", 80, {"logits_processor": ints(1), "max_length": ints(12)}, times),
        ("times_given", "WhisperBeamSearch", 80, {"decoder_input_ids": tokens(2, 5, words=80), "logits_processor": ints(1)}, times),
        ("times_pair", "WhisperBeamSearch", 80, {"decoder_input_ids": np.array([[2, 25, 25], [9, 24, 4]], np.int32),
                                                 "logits_processor": ints(1)}, times),
        ("times_off", "WhisperBeamSearch", 80, {"decoder_input_ids": start, "logits_processor": ints(2)}, times),
        ("silence", "WhisperBeamSearch", WORDS, {"decoder_input_ids": start}, {"no_speech_token_id": 7}),
    ):
        draw_for(f"whisper {name}")
        net = Crossed(1 + (name == "plain"), 0.3, words, whisper=True, states=name == "states")
        attrs = {"encoder": net.encoder(), "decoder": net.decoder(), "eos_token_id": NEVER, **base, **attrs}
        inputs = {**inputs, **({"vocab_mask": endless} if words == 80 else {})}
        add(c, f"whisper_{name}", op, beams(normal(2, MEL, 5), inputs), given(attrs),
            (*ALL, "", "non_speech_probs") if name == "silence" else ALL[:2] if name == "heat" else ALL, consts=FEW)
    draw_for("whisper")
    net = Crossed(scale=0.3, whisper=True)
    attrs = {"encoder": net.encoder(), "decoder": net.decoder(), "eos_token_id": NEVER, "no_speech_token_id": 3, **base}
    add(c, "whisper_run", "WhisperBeamSearch", beams(normal(2, MEL, 5), {"decoder_input_ids": start}), attrs, (*ALL, "", "non_speech_probs"),
        sizes={"input_ids": ["b", MEL, "n"], "decoder_input_ids": ["c", "s"]})
