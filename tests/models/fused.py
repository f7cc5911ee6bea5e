"""Small language and speech models with random weights, in the form that onnxruntime.transformers' optimisers and ONNX Runtime's
model builder write, with com.microsoft's operators of attention, normalisation and activation."""
import numpy as np
from onnx import TensorProto

from common import Net, model

LAYERS, WIDTH, HEADS, WORDS, PLACES = 2, 128, 4, 500, 128
SIZE = WIDTH // HEADS
MICROSOFT = "com.microsoft"
INT32 = {"to": TensorProto.INT32}


class Fused(Net):
    def fused(self, op, *inputs, n=1, **attributes):
        """n: the number of outputs, or whether each is used."""
        if isinstance(n, int):
            return self.op(op, *inputs, n=n, domain=MICROSOFT, **attributes)
        outs = [self.fresh(f"{op}_out") if used else "" for used in n]
        self.op(op, *inputs, out=outs, domain=MICROSOFT, **attributes)
        return [y for y in outs if y]

    def matrix(self, n, m):
        return self.normal("weight", (n, m), n ** -0.5)

    def vector(self, n, mean=0):
        return self.weight("bias", (mean + 0.1 * self.rng.standard_normal(n)).astype(np.float32))

    def linear(self, x, n, m):
        return self.op("Add", self.op("MatMul", x, self.matrix(n, m)), self.vector(m))

    def layer_norm(self, x):
        return self.op("LayerNormalization", x, self.vector(WIDTH, 1), self.vector(WIDTH), epsilon=1e-5, axis=-1)

    def skip(self, x, y, n=1):
        """The norm of the sum of both and a bias; n: with the sum."""
        used = n if n == 1 else [True, False, False, True]
        return self.fused("SkipLayerNormalization", x, y, self.vector(WIDTH, 1), self.vector(WIDTH), self.vector(WIDTH), n=used, epsilon=1e-5)

    def up_and_down(self, x):
        """A feed-forward layer, without its last bias, which the next norm adds."""
        x = self.fused("BiasGelu", self.op("MatMul", x, self.matrix(WIDTH, 4 * WIDTH)), self.vector(4 * WIDTH))
        return self.op("MatMul", x, self.matrix(4 * WIDTH, WIDTH))


# ---- encoders of text -----------------------------------------------------------------------------------------------------------


def bert(several):
    """several: MultiHeadAttention, otherwise Attention."""
    net = Fused(f"bert_{several}", ir=10)
    ids, kinds, mask = [net.input(n, ["batch", "sequence"], TensorProto.INT64) for n in ("input_ids", "token_type_ids", "attention_mask")]
    ids, kinds, mask = [net.op("Cast", x, **INT32) for x in (ids, kinds, mask)]
    tables = [net.normal("embeddings", (n, WIDTH), 1) for n in (WORDS, PLACES, 2)]
    x, _ = net.fused("EmbedLayerNormalization", ids, kinds, *tables, net.vector(WIDTH, 1), net.vector(WIDTH), n=2, epsilon=1e-12)
    for _ in range(LAYERS):
        if several:
            parts = [net.op("MatMul", x, net.matrix(WIDTH, WIDTH)) for _ in range(3)]
            y = net.fused("MultiHeadAttention", *parts, net.vector(3 * WIDTH), mask, num_heads=HEADS)
        else:
            y = net.fused("Attention", x, net.matrix(WIDTH, 3 * WIDTH), net.vector(3 * WIDTH), mask, num_heads=HEADS,
                          mask_filter_value=float(np.finfo(np.float32).min))
        x = net.skip(x, net.op("MatMul", y, net.matrix(WIDTH, WIDTH)))
        x = net.skip(x, net.up_and_down(x))
    net.output(x, ["batch", "sequence", WIDTH], "last_hidden_state")

    def data(*lengths):
        longest = max(lengths)
        there = (np.arange(longest) < np.array(lengths)[:, None]).astype(np.int64)
        return [net.rng.integers(0, WORDS, there.shape), net.rng.integers(0, 2, there.shape), there]
    return net.model(), [data(40), data(64, 33), data(1)]


for each in 0, 1:
    model(f"bert_fused_{('attention', 'heads')[each]}", options="--dim batch<=2 --dim sequence<=64")(lambda several=each: bert(several))


# ---- decoders of text ---------------------------------------------------------------------------------------------------------------


def gpt2():
    """A decoder with the past keys and values of each layer in one tensor."""
    net = Fused("gpt2_fused", ir=10)
    ids, places = [net.input(n, ["batch", "now"], TensorProto.INT64) for n in ("input_ids", "position_ids")]
    mask = net.op("Cast", net.input("attention_mask", ["batch", "total"], TensorProto.INT64), **INT32)
    past = [net.input(f"past_{i}", [2, "batch", HEADS, "past", SIZE]) for i in range(LAYERS)]
    x = net.op("Add", net.op("Gather", net.normal("wte", (WORDS, WIDTH), 1), ids), net.op("Gather", net.normal("wpe", (PLACES, WIDTH), 0.5), places))
    y = net.layer_norm(x)
    for i in range(LAYERS):
        y, present = net.fused("Attention", y, net.matrix(WIDTH, 3 * WIDTH), net.vector(3 * WIDTH), mask, past[i], n=2, num_heads=HEADS, unidirectional=1)
        net.output(present, [2, "batch", HEADS, "total", SIZE], f"present_{i}")
        y, x = net.skip(x, net.op("MatMul", y, net.matrix(WIDTH, WIDTH)), 2)
        y = net.op("MatMul", y, net.matrix(WIDTH, 4 * WIDTH))
        y = net.op("MatMul", net.fused("FastGelu", y, net.vector(4 * WIDTH)), net.matrix(4 * WIDTH, WIDTH))
        y, x = net.skip(x, y, 2)
    net.output(net.op("MatMul", y, net.matrix(WIDTH, WORDS)), ["batch", "now", WORDS], "logits")

    def data(batch, now, before):
        """The first sample has padding on the left."""
        there = np.ones((batch, before + now), np.int64)
        there[0, :2] = batch == 1
        return [net.rng.integers(0, WORDS, (batch, now)), np.maximum(there.cumsum(1) - 1, 0)[:, before:], there,
                *(net.rng.standard_normal((2, batch, HEADS, before, SIZE), np.float32) for _ in range(LAYERS))]
    return net.model(), [data(1, 12, 0), data(2, 1, 12), data(2, 5, 20)]


model("gpt2_fused", options="--dim batch<=2 --dim now<=16 --dim past<=32 --dim total<=48")(gpt2)


def angles(half, base=10000):
    a = np.arange(PLACES)[:, None] / base ** (np.arange(half) / half)
    return np.cos(a).astype(np.float32), np.sin(a).astype(np.float32)


def llama(pairs, packed):
    """A decoder in the model builder's form, which computes lengths from the attention mask. pairs: the number of heads of keys."""
    net = Fused(f"llama_{pairs}", ir=10)
    ids = net.input("input_ids", ["batch", "now"], TensorProto.INT64)
    mask = net.input("attention_mask", ["batch", "total"], TensorProto.INT64)
    cache = [[net.input(f"past_key_values.{i}.{n}", ["batch", pairs, "past", SIZE]) for n in ("key", "value")] for i in range(LAYERS)]
    one = net.weight("one", np.array([1], np.int64))
    last = net.op("Cast", net.op("Sub", net.op("ReduceSum", mask, one, keepdims=0), one), **INT32)
    total = net.op("Cast", net.op("Gather", net.op("Shape", mask), net.weight("at", np.array(1, np.int64)), axis=0), **INT32)
    cosines, sines = [net.weight("angles", v) for v in angles(SIZE // 2)]
    x = net.op("Gather", net.normal("embed_tokens", (WORDS, WIDTH), 1), ids)
    y = net.op("SimplifiedLayerNormalization", x, net.vector(WIDTH, 1), axis=-1, epsilon=1e-5, stash_type=1)
    for i in range(LAYERS):
        width = pairs * SIZE
        if packed:
            qkv = [net.op("MatMul", y, net.matrix(WIDTH, WIDTH + 2 * width)), "", ""]
        else:
            qkv = [net.op("MatMul", y, net.matrix(WIDTH, n)) for n in (WIDTH, width, width)]
        y, *present = net.fused("GroupQueryAttention", *qkv, *cache[i], last, total, cosines, sines, n=3, num_heads=HEADS, kv_num_heads=pairs,
                                do_rotary=1, local_window_size=-1 if packed else 8, softcap=0.0 if packed else 15.0)
        for name, of in zip(("key", "value"), present):
            net.output(of, ["batch", pairs, "total", SIZE], f"present.{i}.{name}")
        y = net.op("MatMul", y, net.matrix(WIDTH, WIDTH))
        y, x = net.fused("SkipSimplifiedLayerNormalization", x, y, net.vector(WIDTH, 1), n=[True, False, False, True], epsilon=1e-5)
        gate, up = [net.op("MatMul", y, net.matrix(WIDTH, 3 * WIDTH)) for _ in range(2)]
        y = net.op("MatMul", net.op("Mul", net.op("Mul", gate, net.op("Sigmoid", gate)), up), net.matrix(3 * WIDTH, WIDTH))
        y, x = net.fused("SkipSimplifiedLayerNormalization", x, y, net.vector(WIDTH, 1), n=[True, False, False, True], epsilon=1e-5)
    net.output(net.op("MatMul", y, net.matrix(WIDTH, WORDS)), ["batch", "now", WORDS], "logits")

    def data(batch, now, before):
        return [net.rng.integers(0, WORDS, (batch, now)), np.ones((batch, before + now), np.int64),
                *(net.rng.standard_normal((batch, pairs, before, SIZE), np.float32) for _ in range(2 * LAYERS))]
    return net.model_unchecked(), [data(1, 12, 0), data(2, 1, 12), data(1, 5, 20)]


for each in 0, 1:
    model(f"llama_fused{('', '_packed')[each]}", options="--dim batch<=2 --dim now<=16 --dim past<=32 --dim total<=48")(
        lambda packed=each: llama(2, packed))


def phi():
    """A decoder that rotates a part of each head, and whose attention and feed-forward layer have the same input."""
    net = Fused("phi_fused", ir=10)
    ids, places = [net.input(n, ["batch", "now"], TensorProto.INT64) for n in ("input_ids", "position_ids")]
    cache = [[net.input(f"past.{i}.{n}", ["batch", HEADS, "past", SIZE]) for n in ("key", "value")] for i in range(LAYERS)]
    caches = [net.weight("angles", v) for v in angles(SIZE // 4)]
    x = net.op("Gather", net.normal("embed_tokens", (WORDS, WIDTH), 1), ids)
    for i in range(LAYERS):
        y = net.layer_norm(x)
        q, k, v = [net.linear(y, WIDTH, WIDTH) for _ in range(3)]
        q, k = [net.fused("RotaryEmbedding", t, places, *caches, num_heads=HEADS, rotary_embedding_dim=SIZE // 2) for t in (q, k)]
        a, *present = net.fused("MultiHeadAttention", q, k, v, "", "", "", *cache[i], n=3, num_heads=HEADS, unidirectional=1)
        for name, of in zip(("key", "value"), present):
            net.output(of, ["batch", HEADS, "past + now", SIZE], f"present.{i}.{name}")
        up = net.fused("FastGelu", net.op("MatMul", y, net.matrix(WIDTH, 4 * WIDTH)), net.vector(4 * WIDTH))
        x = net.op("Add", net.op("Add", net.linear(a, WIDTH, WIDTH), net.linear(up, 4 * WIDTH, WIDTH)), x)
    net.output(net.linear(net.layer_norm(x), WIDTH, WORDS), ["batch", "now", WORDS], "logits")

    def data(batch, now, before):
        return [net.rng.integers(0, WORDS, (batch, now)), before + np.arange(now)[None].repeat(batch, 0),
                *(net.rng.standard_normal((batch, HEADS, before, SIZE), np.float32) for _ in range(2 * LAYERS))]
    return net.model(), [data(1, 12, 0), data(2, 1, 12), data(1, 5, 20)]


model("phi_fused", options="--dim batch<=2 --dim now<=16 --dim past<=32")(phi)


# ---- speech ---------------------------------------------------------------------------------------------------------------------------


def whisper_encoder():
    net = Fused("whisper_encoder_fused", ir=10)
    x = net.input("input_features", [1, 80, "frames"])
    for n, m, stride in (80, WIDTH, 1), (WIDTH, WIDTH, 2):
        x = net.op("Conv", x, net.normal("conv", (m, n, 3), (3 * n) ** -0.5), net.vector(m), strides=[stride], pads=[1, 1])
        x = net.fused("Gelu", x)
    x = net.op("Transpose", x, perm=[0, 2, 1])
    for _ in range(LAYERS):
        y = net.layer_norm(x)
        q, k, v = [net.op("MatMul", y, net.matrix(WIDTH, WIDTH)) for _ in range(3)]
        y = net.fused("MultiHeadAttention", q, k, v, net.vector(3 * WIDTH), num_heads=HEADS)
        y, x = net.skip(x, net.op("MatMul", y, net.matrix(WIDTH, WIDTH)), 2)
        x = net.op("Add", x, net.up_and_down(y))
    net.output(net.layer_norm(x), [1, "positions", WIDTH], "encoder_hidden_states")
    return net.model(), [[net.rng.standard_normal((1, 80, n), np.float32)] for n in (100, 37)]


def whisper_decoder():
    """A decoder that attends to its own past, and to keys and values computed from the encoder's results."""
    net = Fused("whisper_decoder_fused", ir=10)
    ids = net.input("input_ids", ["batch", "now"], TensorProto.INT64)
    own, other = [[[net.input(f"past_{n}_{kind}_{i}", ["batch", HEADS, length, SIZE]) for n in ("key", "value")] for i in range(LAYERS)]
                  for kind, length in (("self", "past"), ("cross", "frames"))]
    x = net.op("Gather", net.normal("embed_tokens", (WORDS, WIDTH), 1), ids)
    y = net.layer_norm(x)
    for i in range(LAYERS):
        q, k, v = [net.op("MatMul", y, net.matrix(WIDTH, WIDTH)) for _ in range(3)]
        y, *present = net.fused("MultiHeadAttention", q, k, v, net.vector(3 * WIDTH), "", "", *own[i], n=3, num_heads=HEADS, unidirectional=1)
        for name, of in zip(("key", "value"), present):
            net.output(of, ["batch", HEADS, "past + now", SIZE], f"present_{name}_self_{i}")
        y, x = net.skip(x, net.op("MatMul", y, net.matrix(WIDTH, WIDTH)), 2)
        q = net.op("MatMul", y, net.matrix(WIDTH, WIDTH))
        y = net.fused("MultiHeadAttention", q, *other[i], net.vector(3 * WIDTH), num_heads=HEADS)
        y, x = net.skip(x, net.op("MatMul", y, net.matrix(WIDTH, WIDTH)), 2)
        y, x = net.skip(x, net.up_and_down(y), 2)
    net.output(net.op("MatMul", y, net.matrix(WIDTH, WORDS)), ["batch", "now", WORDS], "logits")

    def data(batch, now, before, frames):
        return [net.rng.integers(0, WORDS, (batch, now)),
                *(net.rng.standard_normal((batch, HEADS, n, SIZE), np.float32) for n in (before, frames) for _ in range(2 * LAYERS))]
    return net.model(), [data(1, 4, 0, 50), data(2, 1, 4, 50), data(1, 1, 20, 18)]


model("whisper_encoder_fused", options="--dim frames<=120")(whisper_encoder)
model("whisper_decoder_fused", options="--dim batch<=2 --dim now<=8 --dim past<=32 --dim frames<=60")(whisper_decoder)
