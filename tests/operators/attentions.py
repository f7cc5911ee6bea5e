"""The attention operators of com.microsoft: every form of every input, with ONNX Runtime's results."""

import numpy as np
import onnxruntime
from onnx import helper

MICROSOFT = "com.microsoft"
BATCH, HEADS, SIZE, V_SIZE, ROWS, KEYS, PAST = 2, 3, 8, 6, 4, 7, 5
WIDTH = HEADS * SIZE
LOWEST = float(np.finfo(np.float32).min)
rng = np.random.default_rng(16)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def positive(*shape):
    """Positive values, since sums of values of both signs may be as small as their rounding errors."""
    return 0.5 + abs(normal(*shape))


def biases(width, v_width):
    return np.concatenate([normal(2 * width), 8 + normal(v_width)])


def bits(*shape):
    """A mask that leaves every row a key: if all were masked, the scores plus -10000 would have too few digits to compare."""
    mask = rng.integers(0, 2, shape).astype(np.int32)
    mask[..., 0] = 1
    return mask


def ints(*v):
    return np.array(v, np.int32)


def runtime(op, inputs, attrs, outputs, types=()):
    """ONNX Runtime's results. types: those of outputs that the operator's inference leaves open."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=MICROSOFT, **attrs)
    given = [(n, np.asarray(x)) for n, x in zip(names, inputs) if n]
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(t or inputs[0].dtype)) for t in [*types, *[None] * outputs]]
    graph = helper.make_graph([node], op, [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given],
                              [helper.make_tensor_value_info(y, kind, None) for y, kind in zip(node.output, kinds)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return run.run(None, dict(given))


def add(c, name, op, inputs, attrs=None, *, outputs=1, like=None, types=(), sizes=None, consts=()):
    """Writes a test. like: inputs in an equivalent form, for ONNX Runtime, which lacks this one."""
    attrs = attrs or {}
    expected = runtime(op, like or inputs, attrs, outputs, types)
    c.add(f"microsoft_{op.lower()}_{name}", op, inputs, attrs, version=1, domain=MICROSOFT, outputs=outputs, by=expected, sizes=sizes, consts=consts)


# ---- MultiHeadAttention -------------------------------------------------------------------------------------------------------


def shared(past, new, at):
    """A buffer of past keys, after new ones were written to its free part."""
    return np.concatenate([past[:, :, :at], new, past[:, :, at + new.shape[2]:]], 2)


def open_sizes(inputs, *names):
    """Names of the inputs' dimensions: a string per input, with a name for each dimension, empty if it is fixed."""
    names = [*names, *[""] * len(inputs)]
    return [tuple(n or None for n in of.split(",")) if of and x is not None else None for x, of in zip(inputs, names)]


def add_multi_head(c):
    op, heads = "MultiHeadAttention", {"num_heads": HEADS}
    q, k, v = normal(BATCH, ROWS, WIDTH), normal(BATCH, KEYS, WIDTH), positive(BATCH, KEYS, HEADS * V_SIZE)
    bias, same = biases(WIDTH, HEADS * V_SIZE), positive(BATCH, KEYS, WIDTH)
    by_heads = [f(BATCH, HEADS, KEYS, SIZE) for f in (normal, positive)]
    past = [f(BATCH, HEADS, PAST, SIZE) for f in (normal, positive)]
    masks = {"keys": bits(BATCH, KEYS), "rows": bits(BATCH, ROWS, KEYS), "count": ints(KEYS, 2), "sums": ints(3, KEYS, 0, 4, 8, 0, 7, 14),
             "none": np.zeros((BATCH, KEYS), np.int32)}
    for causal in 0, 1:
        attrs = {**heads, "unidirectional": causal}
        add(c, f"plain_{causal}", op, [q, k, v], attrs)
        add(c, f"biased_{causal}", op, [q, k, v, bias], attrs, outputs=3)
        add(c, f"square_{causal}", op, [q, k[:, :ROWS], v[:, :ROWS], bias], {**attrs, "scale": 0.3}, outputs=4)
        add(c, f"square_1_{causal}", op, [q, k[:, :ROWS], v[:, :ROWS]], attrs)
        add(c, f"few_keys_{causal}", op, [q, k[:, :2], v[:, :2]], attrs, outputs=4)
        add(c, f"one_row_{causal}", op, [q[:, :1], k, v, bias], attrs, outputs=4)
        add(c, f"heads_{causal}", op, [q, *by_heads], attrs, outputs=4)
        add(c, f"heads_biased_{causal}", op, [q, *by_heads, biases(WIDTH, WIDTH)], attrs)
        add(c, f"past_{causal}", op, [q, k, same, None, None, None, *past], attrs, outputs=4)
        add(c, f"past_square_{causal}", op, [q, k[:, :ROWS], same[:, :ROWS], biases(WIDTH, WIDTH), None, None, *past], attrs, outputs=3)
        for kind, mask in masks.items():
            for fill in {}, {"mask_filter_value": LOWEST}, {"mask_filter_value": -2.5}:
                name = f"mask_{kind}_{causal}_{len(str(fill))}"
                if kind != "none" or fill:
                    add(c, name, op, [q, k, v, None, mask], {**attrs, **fill}, outputs=4 if not fill else 1)
        mask = bits(BATCH, PAST + ROWS)
        inputs = [q, k[:, :ROWS], same[:, :ROWS], None, mask, None, *past]
        add(c, f"past_mask_{causal}", op, inputs, attrs, outputs=3)
        sizes = open_sizes(inputs, "b,s,", "b,s,", "b,s,", "", "b,t", "", "b,,p,", "b,,p,")
        add(c, f"past_open_{causal}", op, inputs, attrs, outputs=3, sizes=sizes)
        add(c, f"past_empty_{causal}", op, [*inputs[:4], mask[:, PAST:], None, *(x[:, :, :0] for x in past)], attrs, outputs=3, sizes=sizes)
        inputs = [q, k, v, bias, masks["rows"], normal(1, HEADS, ROWS, KEYS)]
        add(c, f"open_{causal}", op, inputs, attrs, outputs=4, sizes=open_sizes(inputs, "b,s,", "b,l,", "b,l,", "", "b,s,l", ",,s,l"), consts=(3,))
        for rows in 1, 2:
            inputs = [q[:, :rows], k[:, :rows], same[:, :rows], None, bits(BATCH, 2 + rows), None, *past, ints(2)]
            expected = runtime(op, [*inputs[:6], *(x[:, :, :2] for x in past)], attrs, 4)
            y = [expected[0], *(shared(p, e[:, :, 2:], 2) for p, e in zip(past, expected[1:3])), expected[3]]
            for name, sizes in ("", None), ("_open", open_sizes(inputs, "b,s,", "b,s,", "b,s,", "", "b,t", "", "b,,m,", "b,,m,")):
                c.add(f"microsoft_{op.lower()}_buffer_{rows}_{causal}{name}", op, inputs, attrs, version=1, domain=MICROSOFT, outputs=4, by=y, sizes=sizes)
    for shape in (1, 1), (1, HEADS), (BATCH, 1), (BATCH, HEADS):
        inputs = [q, k, v, None, masks["keys"], normal(*shape, ROWS, KEYS)]
        add(c, f"added_{shape[0]}_{shape[1]}", op, inputs, heads, outputs=4)
    # ONNX Runtime's CPU provider lacks packed forms; they equal separate inputs
    apart = [f(BATCH, ROWS, WIDTH) for f in (normal, normal, positive)]
    packed = np.stack([x.reshape(BATCH, ROWS, HEADS, SIZE) for x in apart], 3)
    bias = biases(WIDTH, WIDTH)
    for name, inputs, like in (("queries", [packed], apart), ("queries_biased", [packed, None, None, bias], [*apart, bias]),
                               ("keys", [apart[0], np.ascontiguousarray(packed[:, :, :, 1:])], apart)):
        add(c, f"packed_{name}", op, inputs, heads, like=like)
        add(c, f"packed_{name}_open", op, inputs, heads, like=like, sizes=open_sizes(inputs, "b,s,,,", "b,s,,," if len(inputs) == 2 else ""))


def of_beams(past, beams):
    """The past keys or values, taken from the beams that they belong to."""
    batch, width, _ = beams.shape
    return np.stack([np.stack([past[b // width * width + beams[b // width, b % width, t], :, t] for t in range(past.shape[2])], 1)
                     for b in range(batch * width)])


def add_decoder(c):
    op, heads = "DecoderMaskedMultiHeadAttention", {"num_heads": HEADS}
    buffer = {**heads, "past_present_share_buffer": 1}
    q, k, v = (f(4, 1, WIDTH) for f in (normal, normal, positive))
    past, at = [f(4, HEADS, 9, SIZE) for f in (normal, positive)], 5
    kept = [shared(p, x.reshape(4, 1, HEADS, SIZE).transpose(0, 2, 1, 3), at) for p, x in zip(past, (k, v))]
    beams = rng.integers(0, 2, (2, 2, 9)).astype(np.int32)
    for name, mask, added, bias, of in (("plain", None, None, None, None), ("mask", bits(4, at + 1), None, None, None),
                                        ("added", None, normal(1, HEADS, 1, at + 1), None, None), ("biased", None, None, biases(WIDTH, WIDTH), None),
                                        ("beams", bits(4, at + 1), normal(1, HEADS, 1, at + 1), None, beams)):
        inputs = [q, k, v, mask, added, *past, ints(at), ints(2) if of is not None else None, of, bias]
        y, new = runtime(op, inputs, buffer, 3)[0], kept
        if bias is not None:
            moved = [(x + b).reshape(4, 1, HEADS, SIZE).transpose(0, 2, 1, 3) for x, b in zip((k, v), bias.reshape(3, -1)[1:])]
            new = [shared(p, x, at) for p, x in zip(past, moved)]
        for kind, sizes in ("", None), ("_open", open_sizes(inputs, "b,,", "b,,", "b,,", "b,t", "", "b,,m,", "b,,m,", "", "", "g,,m")):
            c.add(f"microsoft_decoder_{name}{kind}", op, inputs, buffer, version=1, domain=MICROSOFT, outputs=3, by=[y, *new], sizes=sizes)
        if bias is None:
            packed = [np.concatenate([q, k, v], 2), None, None, *inputs[3:]]
            c.add(f"microsoft_decoder_{name}_packed", op, packed, buffer, version=1, domain=MICROSOFT, outputs=3, by=[y, *new])
    several = "MultiHeadAttention"
    inputs = [q, k, v, None, bits(4, at + 1), None, *past, ints(at), beams]
    y = runtime(several, inputs, heads, 3)[:1]
    c.add("microsoft_multiheadattention_beams", several, inputs, heads, version=1, domain=MICROSOFT, outputs=3, by=[*y, *kept])
    cross = [f(4, HEADS, 6, SIZE) for f in (normal, positive)]
    add(c, "cross", op, [q, *cross], heads)
    y = runtime(several, [q, *cross, None, mask := bits(4, 6)], heads, 4)
    inputs = [q, *cross, mask]
    c.add("microsoft_decoder_cross_mask", op, inputs, {**heads, "output_qk": 1}, version=1, domain=MICROSOFT, outputs=4, by=y)


# ---- Attention ----------------------------------------------------------------------------------------------------------------


def add_packed_weights(c):
    op, heads, inner = "Attention", {"num_heads": HEADS}, 10
    x, w, b = normal(BATCH, ROWS, inner), normal(inner, 3 * WIDTH) / 3, biases(WIDTH, WIDTH)
    past = 8 + normal(2, BATCH, HEADS, PAST, SIZE)
    masks = {"keys": bits(BATCH, ROWS), "rows": bits(BATCH, ROWS, ROWS), "count": ints(ROWS, 2), "span": ints(ROWS, 3, 2, 0),
             "sums": ints(3, ROWS, 0, 4, 8, 0, 7, 14), "one": np.zeros((1, 1), np.int32), "ones": np.zeros((BATCH, 1), np.int32)}
    for causal in 0, 1:
        attrs = {**heads, "unidirectional": causal}
        for name, consts in ("", ()), ("_constant", (1, 2)):
            add(c, f"plain_{causal}{name}", op, [x, w, b], attrs, outputs=2, consts=consts)
        add(c, f"scale_{causal}", op, [x, w, b], {**attrs, "scale": 0.3})
        add(c, f"one_row_{causal}", op, [x[:, :1], w, b, None, past], attrs, outputs=2)
        add(c, f"past_{causal}", op, [x, w, b, None, past], attrs, outputs=2)
        mask = bits(BATCH, PAST + ROWS)
        inputs = [x, w, b, mask, past]
        add(c, f"past_mask_{causal}", op, inputs, attrs, outputs=2)
        sizes = open_sizes(inputs, "b,s,", "", "", "b,t", ",b,,p,")
        add(c, f"past_open_{causal}", op, inputs, attrs, outputs=2, sizes=sizes, consts=(1, 2))
        add(c, f"past_empty_{causal}", op, [x, w, b, mask[:, PAST:], past[:, :, :, :0]], attrs, outputs=2, sizes=sizes, consts=(1, 2))
        for kind, mask in masks.items():
            for fill in {}, {"mask_filter_value": LOWEST}:
                add(c, f"mask_{kind}_{causal}_{len(fill)}", op, [x, w, b, mask], {**attrs, **fill})
        # Megatron's mask, which ONNX Runtime's CPU provider lacks: a mask of all positions, of which the rows after the past are used
        if not causal:
            whole = bits(BATCH, 1, PAST + ROWS + 2, PAST + ROWS + 2)
            own = np.ascontiguousarray(whole[:, 0, PAST:PAST + ROWS, :PAST + ROWS])
            add(c, "mask_all", op, [x, w, b, whole, past], attrs, like=[x, w, b, own, past], outputs=2)
        inputs = [x, w, b, bits(BATCH, ROWS), None, normal(BATCH, HEADS, ROWS, ROWS)]
        add(c, f"added_{causal}", op, inputs, attrs)
        add(c, f"added_open_{causal}", op, inputs, attrs, sizes=open_sizes(inputs, "b,s,", "", "", "b,s", "", "b,,s,s"), consts=(1, 2))
        buffer, at = 8 + normal(2, BATCH, HEADS, 11, SIZE), 3
        y = runtime(op, [x, w, b, None, np.ascontiguousarray(buffer[:, :, :, :at])], attrs, 2)
        whole = np.stack([shared(p, e[:, :, at:], at) for p, e in zip(buffer, y[1])])
        c.add(f"microsoft_attention_in_buffer_{causal}", op, [x, w, b, None, buffer, None, ints(at)], {**attrs, "past_present_share_buffer": 1}, version=1,
              domain=MICROSOFT, outputs=2, by=[y[0], whole], consts=(1, 2))
    sizes = {"qkv_hidden_sizes": [HEADS * 4, HEADS * 4, HEADS * V_SIZE]}
    add(c, "sizes", op, [x, normal(inner, 14 * HEADS) / 3, biases(4 * HEADS, 6 * HEADS)], {**heads, **sizes})
    add(c, "unbiased", op, [abs(x), abs(w)], heads, like=[abs(x), abs(w), 0 * b])


# ---- RotaryEmbedding ----------------------------------------------------------------------------------------------------------


def add_rotary(c):
    op, positions = "RotaryEmbedding", rng.integers(0, 9, (BATCH, ROWS))
    flat, by_heads = normal(BATCH, ROWS, WIDTH), normal(BATCH, HEADS, ROWS, SIZE)
    caches = [normal(9, SIZE // 2) for _ in range(2)]
    parts = [normal(9, 2) for _ in range(2)], {"num_heads": HEADS, "rotary_embedding_dim": 4}
    for form, x in ("flat", flat), ("heads", by_heads):
        for mixed in 0, 1:
            attrs = {"interleaved": mixed, "scale": 3.0}
            name, size = f"{form}_{mixed}", ",,s," if form == "heads" else "b,s,"
            add(c, name, op, [x, positions, *caches], attrs)
            add(c, f"{name}_half", op, [x.astype(np.float16), positions, *(v.astype(np.float16) for v in caches)], attrs)
            add(c, f"{name}_part", op, [x, positions, *parts[0]], {**attrs, **parts[1]}, consts=(2, 3))
            add(c, f"{name}_first", op, [x, np.array([3]), *caches], {**attrs, "is_packed_batching": 1})
            for ids in positions, np.array(4):
                inputs = [x, ids, *caches]
                sizes = open_sizes(inputs, size, "b,s" if ids.ndim and form == "flat" else "")
                add(c, f"{name}_open_{ids.ndim}", op, inputs, attrs, consts=(2, 3), sizes=sizes)
    op, positions = "MRotaryEmbedding", rng.integers(0, 9, (3, BATCH, ROWS))
    caches, wide, heads = [normal(9, 12) for _ in range(2)], normal(BATCH, ROWS, 48), {"num_heads": 2}
    for layout in 0, 1:
        for k, section in enumerate(([6, 3, 3], [4, 4, 4], [2, 5, 5], [0, 4, 8], [12, 0, 0])):
            attrs = {**heads, "mrope_section": section, "mrope_layout": layout, "interleaved": k % 2, "scale": 0.5 if k == 2 else 1.0}
            inputs = [wide, positions, *caches]
            add(c, f"{layout}_{k}", op, inputs, attrs, sizes=open_sizes(inputs, "b,s,", ",b,s", "m,", "m,") if k == 1 else None)
        attrs = {"mrope_section": [2, 1, 1], "mrope_layout": layout}
        caches4 = [v[:, :4] for v in caches]
        add(c, f"{layout}_heads", op, [by_heads, positions, *caches4], attrs)
        add(c, f"{layout}_half", op, [by_heads.astype(np.float16), positions, *(v.astype(np.float16) for v in caches4)], attrs)
        attrs = {**attrs, "mrope_section": [1, 0, 1], **parts[1]}
        add(c, f"{layout}_part", op, [flat, positions, *parts[0]], attrs, consts=(2, 3))


# ---- GroupQueryAttention ------------------------------------------------------------------------------------------------------

QUERIES, PAIRS, LONG = 4, 2, 16  # heads of queries, heads of keys, elements of each
GROUP = {"num_heads": QUERIES, "kv_num_heads": PAIRS}
ORDER = ("query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache position_ids attention_bias head_sink k_scale "
         "v_scale q_norm_weight k_norm_weight").split()


def group_inputs(batch, rows, total, ends=None, past=None, packed=False, **more):
    """The inputs, in order; ends: the number of keys of each sample; past: the length of the cache."""
    x = {"query": normal(batch, rows, QUERIES * LONG), "key": normal(batch, rows, PAIRS * LONG), "value": positive(batch, rows, PAIRS * LONG)}
    if packed:
        x = {"query": np.concatenate(list(x.values()), 2)}
    if past is not None:
        x.update(past_key=normal(batch, PAIRS, past, LONG), past_value=positive(batch, PAIRS, past, LONG))
    x.update(seqlens_k=np.array(ends or [total] * batch, np.int32) - 1, total_sequence_length=ints(total), **more)
    inputs = [x.get(name) for name in ORDER]
    while inputs[-1] is None:
        inputs.pop()
    return inputs


def group_sizes(inputs):
    """Open sizes of all of them."""
    of = {"query": "b,s,", "key": "b,s,", "value": "b,s,", "past_key": "b,,p,", "past_value": "b,,p,", "seqlens_k": "b", "position_ids": "b,s",
          "cos_cache": "m,", "sin_cache": "m,"}
    return open_sizes(inputs, *(of.get(name, "") for name in ORDER[:len(inputs)]))


def add_group(c):
    op = "GroupQueryAttention"
    caches = {"cos_cache": normal(20, LONG // 2), "sin_cache": normal(20, LONG // 2)}
    rotary, sink = {"do_rotary": 1}, normal(QUERIES)
    some = {"softcap": 0.7, "scale": 0.4}
    # first rows, of samples of several lengths; rows after those in a cache, which has room for them or not
    for name, sizes in (("first", (2, 5, 5)), ("padded", (2, 5, 5, [3, 5])), ("one", (2, 1, 8, None, 7)), ("apart", (2, 1, 8, [4, 8], 7)),
                        ("room", (2, 1, 6, [1, 6], 9)), ("several", (1, 3, 7, None, 4)), ("several_room", (1, 3, 5, None, 7)),
                        ("anew", (2, 3, 3, None, 7)), ("nothing", (1, 4, 4, None, 0))):
        batch, rows, total = sizes[:3]
        for k, (attrs, more) in enumerate((({}, {}), (rotary, caches), ({**rotary, "rotary_interleaved": 1}, {**caches, "packed": True}),
                                           ({**rotary, **some}, {**caches, "position_ids": rng.integers(0, 12, (batch, rows))}),
                                           ({**some, "smooth_softmax": 1}, {"attention_bias": normal(1, 1, rows, total)}),
                                           ({"causal": 0}, {"attention_bias": normal(batch, QUERIES, rows, total), "head_sink": sink}))):
            inputs = group_inputs(*sizes, **more)
            add(c, f"{name}_{k}", op, inputs, {**GROUP, **attrs}, outputs=3)
            if k in (0, 2, 3):
                open_ = group_sizes(inputs)
                add(c, f"{name}_{k}_open", op, inputs, {**GROUP, **attrs}, outputs=3, sizes=open_)
                add(c, f"{name}_{k}_total", op, inputs, {**GROUP, **attrs}, outputs=3, sizes=open_, consts=(5, 6))
        if name != "padded":
            for window in 1, 2, 4:
                inputs = group_inputs(*sizes, head_sink=sink)
                add(c, f"{name}_window_{window}", op, inputs, {**GROUP, **some, "local_window_size": window}, outputs=3)
        if name not in ("padded", "apart", "room"):  # in these, ONNX Runtime leaves some scores unset
            for mode in 1, 2:
                attrs = {**GROUP, **some, "qk_output": mode, "local_window_size": 3}
                bias = normal(batch, 1, rows, total)
                bias[..., 0] = -np.inf if rows == 1 else 0
                add(c, f"{name}_scores_{mode}", op, group_inputs(*sizes, attention_bias=bias), attrs, outputs=4)
                inputs = group_inputs(*sizes, head_sink=sink)
                add(c, f"{name}_scores_{mode}_open", op, inputs, attrs, outputs=4, sizes=group_sizes(inputs))
        half = [x.astype(np.float16) if x is not None and x.dtype == np.float32 else x for x in group_inputs(*sizes, **caches)]
        add(c, f"{name}_half", op, half, {**GROUP, **rotary, **some}, outputs=3)
    # ONNX Runtime's CPU provider does not normalise queries and keys
    inputs = group_inputs(2, 5, 5, q_norm_weight=normal(LONG), k_norm_weight=normal(LONG), **caches)
    like = inputs[:14]
    for i, weight in (0, inputs[14]), (1, inputs[15]):
        x = inputs[i].reshape(2, 5, -1, LONG).astype(float)
        like[i] = (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * weight).reshape(inputs[i].shape).astype(np.float32)
    add(c, "normalised", op, inputs, {**GROUP, **rotary, "qk_norm_epsilon": 1e-3}, outputs=3, like=like)
    # no new keys: the cache has another layer's
    for rows, total in (1, 6), (4, 4):
        inputs = group_inputs(1 if rows > 1 else 2, rows, total, past=7, **caches)
        inputs[1] = inputs[2] = inputs[1][:, :0]
        add(c, f"others_{rows}", op, inputs, {**GROUP, **rotary}, outputs=3)
    for bits in 4, 8:
        for kind in "PER_TENSOR", "PER_CHANNEL":
            attrs = {**GROUP, **rotary, "kv_cache_bit_width": bits, "k_quant_type": kind, "v_quant_type": kind}
            t, size = (np.uint8, LONG // 2) if bits == 4 else (np.int8, LONG)
            for past, rows, total in (0, 3, 3), (5, 1, 6), (8, 1, 6):
                shape = (1, PAIRS, 1, LONG) if kind == "PER_CHANNEL" else (1,)
                scales = [np.exp2(rng.integers(-bits // 2, 1 - bits // 2, shape)).astype(np.float32) for _ in range(2)]
                inputs = group_inputs(2, rows, total, past=0, k_scale=scales[0], v_scale=scales[1], **caches)
                inputs[3:5] = [rng.integers(0 if bits == 4 else -100, 255 if bits == 4 else 100, (2, PAIRS, past, size)).astype(t) for _ in range(2)]
                add(c, f"bits_{bits}_{kind}_{past}", op, inputs, attrs, outputs=3, types=[None, t, t])
                add(c, f"bits_{bits}_{kind}_{past}_open", op, inputs, attrs, outputs=3, types=[None, t, t], sizes=group_sizes(inputs), consts=(12, 13))


def add_sliding(c):
    """A cache for a sliding window; its rows after the remaining ones are undefined, and 0 here."""
    op = "GroupQueryAttention"
    caches = {"cos_cache": normal(40, LONG // 2), "sin_cache": normal(40, LONG // 2)}
    for window, room in (4, 4), (3, 6), (2, 7):
        for batch, rows, total in (1, 1, 3), (1, 1, 12), (2, 1, 9), (1, 5, 5), (1, 5, 14), (1, 9, 9), (1, 3, 6):
            ends = [total, total - 2][:batch]
            inputs = group_inputs(batch, rows, total, ends, room, attention_bias=normal(1, QUERIES, rows, total), **caches)
            attrs = {**GROUP, "do_rotary": 1, "sliding_window_cache": 1, "local_window_size": window}
            y = runtime(op, inputs, attrs, 3)
            block = room - window + 1
            for b, end in enumerate(ends):
                kept = end if end <= room else end - block * -(-(end - room) // block)
                for cache in y[1:]:
                    cache[b, :, kept:] = 0
            name = f"microsoft_{op.lower()}_sliding_{window}_{batch}_{rows}_{total}"
            for kind, sizes in ("", None), ("_open", group_sizes(inputs)):
                c.add(name + kind, op, inputs, attrs, version=1, domain=MICROSOFT, outputs=3, by=y, sizes=sizes, consts=(6,))


def bound(op, inputs, attrs):
    """ONNX Runtime's results when the cache, inputs 3 and 4, is written in place."""
    kind = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    given = {f"x{i}": np.array(x) for i, x in enumerate(inputs) if x is not None}
    node = helper.make_node(op, [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)], ["y0", "y1", "y2"], domain=MICROSOFT, **attrs)
    graph = helper.make_graph([node], op, [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given.items()],
                              [helper.make_tensor_value_info(y, kind, None) for y in node.output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)
    run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    held = {n: onnxruntime.OrtValue.ortvalue_from_numpy(x) for n, x in given.items()}
    binding = run.io_binding()
    for n, x in held.items():
        binding.bind_ortvalue_input(n, x)
    binding.bind_output("y0")
    for y, x in ("y1", "x3"), ("y2", "x4"):
        binding.bind_ortvalue_output(y, held[x])
    run.run_with_iobinding(binding)
    return [np.array(x) for x in (binding.get_outputs()[0].numpy(), held["x3"].numpy(), held["x4"].numpy())]


def block_layouts(count, blocks):
    """Random layouts of blocks: where the entries of each row begin, and the entries."""
    there = np.tril(rng.random((count, blocks, blocks)) < 0.5) | np.eye(blocks, dtype=bool)
    begins = np.concatenate([np.zeros((count, 1)), there.sum(2).cumsum(1)], 1).astype(np.int32)
    entries = [np.nonzero(layout)[1] for layout in there]
    return begins, np.array([[*e, *[-1] * (max(map(len, entries)) - len(e))] for e in entries], np.int32)


def add_sparse(c):
    """Samples of several lengths are run one by one: in a batch ONNX Runtime reads scores that it did not set."""
    op, room, block = "SparseAttention", 64, 16
    attrs = {**GROUP, "sparse_block_size": block}
    for layouts in 1, 2:
        for batch, rows, total, ends in (2, 40, 40, None), (2, 1, 50, None), (1, 5, 30, None), (2, 1, 50, [50, 21]), (2, 40, 40, [33, 40]):
            cache = [normal(batch, PAIRS, room, LONG), positive(batch, PAIRS, room, LONG)]
            parts = [normal(batch, rows, QUERIES * LONG), normal(batch, rows, PAIRS * LONG), positive(batch, rows, PAIRS * LONG)]
            blocks, angles = block_layouts(layouts, room // block), [normal(room, LONG // 2) for _ in range(2)]
            for k, more in enumerate(({}, {"do_rotary": 1, "scale": 0.3}, {"do_rotary": 1, "rotary_interleaved": 1})):
                inputs = [*parts, *cache, *blocks, ints(total), ints(*(ends or [total] * batch)), *(angles if more else [])]
                if k == 2:
                    inputs[:3] = [np.concatenate(parts, 2), None, None]
                y = bound(op, inputs, {**attrs, **more})
                if ends:
                    each = []
                    for b, end in enumerate(ends):
                        own = [x[b:b + 1] if x is not None and i < 5 else x for i, x in enumerate(inputs)]
                        own[7], own[8] = (ints(end) if rows == 1 else ints(total)), ints(end if rows == 1 else total)
                        each.append(bound(op, own, {**attrs, **more}))
                    y = [np.concatenate(x) for x in zip(*each)]
                    if rows > 1:
                        continue  # rows after the end are undefined
                name = f"microsoft_{op.lower()}_{layouts}_{batch}_{rows}_{'apart' if ends else total}_{k}"
                sizes = open_sizes(inputs, "b,s,", "b,s,", "b,s,", "b,,,", "b,,,", "", "", "", "b")
                for kind, of, consts in ("", None, (5, 6)), ("_open", sizes, () if k else (5, 6, 7)):
                    c.add(name + kind, op, inputs, {**attrs, **more}, version=1, domain=MICROSOFT, outputs=3, by=y, sizes=of, consts=consts)
        half = [x if x is None or x.dtype != np.float32 else x.astype(np.float16) for x in inputs[:3] + cache + inputs[5:]]
        half[7:9] = ints(40), ints(40, 40)
        c.add(f"microsoft_sparseattention_half_{layouts}", op, half, {**attrs, **more}, version=1, domain=MICROSOFT, outputs=3,
              by=bound(op, half, {**attrs, **more}), consts=(5, 6))


def add_attentions(c):
    for f in add_multi_head, add_decoder, add_packed_weights, add_rotary, add_group, add_sliding, add_sparse:
        f(c)
