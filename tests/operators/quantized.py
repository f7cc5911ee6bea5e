"""Operators of com.microsoft on quantised values. The expected results come from ONNX Runtime. int8 codes have 7 bits, because its
products of bytes saturate on processors without VNNI."""

import functools

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

rng = np.random.default_rng(17)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def codes(t, *shape):
    return rng.integers(*((-64, 64) if t == "int8" else (0, 256)), shape).astype(t)


def zeros(t, *shape):
    return rng.integers(*((-5, 5) if t == "int8" else (120, 135)), shape).astype(t)


def scales(*shape):
    return rng.uniform(0.01, 0.1, shape).astype(np.float32)


def add(c, name, op, inputs, attrs=None, data=(0,), **more):
    """Writes a test whose inputs are constant except `data`."""
    consts = [i for i in range(len(inputs)) if i not in data]
    c.add(f"quantized_{name}", op, inputs, attrs, version=1, domain="com.microsoft", consts=consts, **more)


# ---- products ---------------------------------------------------------------------------------------------------------------


SHAPES = [((3, 5), (5, 4)), ((2, 3, 5), (5, 4)), ((2, 3, 5), (2, 5, 4)), ((3, 5), (2, 5, 4)), ((5,), (5, 4))]


def add_products(c):
    for k, (a, b) in enumerate(SHAPES):
        each = (4,) if len(b) == 2 else (2, 1, 4)
        for t in "int8", "uint8":
            for how, s, z, bias in ("one", (), None, 0), ("single", (1,), (1,), 1), ("each", each, each, 1), ("scaled", each, None, 0):
                name = f"{k}_{t}_{how}"
                zero = [None if z is None else zeros(t, *z), normal(4) if bias else None]
                add(c, f"dynamic_{name}", "DynamicQuantizeMatMul", [normal(*a), codes(t, *b), scales(*s), *zero])
                for u in ("uint8", "int8") if t == "int8" else ("uint8",):
                    zero = [None if z is None else zeros(u), None if z is None else zeros(t, *z), normal(4) if bias else None]
                    add(c, f"to_float_{u}_{name}", "MatMulIntegerToFloat", [codes(u, *a), codes(t, *b), scales(), scales(*s), *zero])
    inputs = [normal(3, 5), codes("uint8", 5, 4), scales(4), zeros("uint8", 4), normal(4)]
    add(c, "dynamic_given", "DynamicQuantizeMatMul", inputs, data=range(5))
    add(c, "dynamic_sizes", "DynamicQuantizeMatMul", inputs, data=range(5), sizes=[("n", "k"), ("k", "m"), ("m",), ("m",), ("m",)])
    add(c, "dynamic_zero", "DynamicQuantizeMatMul", [np.zeros((3, 5), np.float32), *inputs[1:]])
    add(c, "dynamic_positive", "DynamicQuantizeMatMul", [abs(normal(3, 5)) + 1, *inputs[1:]])
    inputs = [codes("uint8", 2, 3, 5), codes("int8", 5, 4), scales(1), scales(4), zeros("uint8", 1), zeros("int8", 4), normal(4)]
    add(c, "to_float_given", "MatMulIntegerToFloat", inputs, data=range(7))
    add(c, "to_float_sizes", "MatMulIntegerToFloat", inputs, sizes=[("n", "m", None)] + [None] * 6)
    for name, x in ("", rng.integers(-99, 99, (2, 3, 4))), ("_wraps", np.full((2, 3, 4), -32768)):
        add(c, f"integer16{name}", "MatMulInteger16", [x.astype(np.int16), x[0].T.astype(np.int16)], data=(0, 1))


# ---- images -----------------------------------------------------------------------------------------------------------------


def add_images(c):
    more = {"strides": [2, 1], "pads": [1, 0, 1, 2], "dilations": [1, 2]}
    for t, u in ("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"):
        def conv(name, x, w, attrs, each=(), sizes=None, t=t, u=u):
            zero = np.zeros(each, u) if u == "int8" else np.full(each, zeros(u))
            inputs = [codes(t, *x), scales(), zeros(t), codes(u, *w), scales(*each), zero, 9 * scales(), zeros(t),
                      rng.integers(-999, 999, w[0]).astype(np.int32)]
            add(c, f"conv_{t}_{u}_{name}", "QLinearConv", inputs, attrs, sizes=sizes)

        for last in 0, 1:
            x = (2, 7, 8, 3) if last else (2, 3, 7, 8)
            conv(f"{last}", x, (4, 3, 3, 2), {"channels_last": last}, (4,))
            conv(f"{last}_groups", x, (6, 1, 3, 2), {"channels_last": last, "group": 3, **more})
            conv(f"{last}_depthwise", x, (3, 1, 3, 2), {"channels_last": last, "group": 3, "auto_pad": "SAME_UPPER", "strides": [2, 2]}, (3,))
        conv("1d", (2, 9, 3), (4, 3, 2), {"channels_last": 1})
        conv("3d", (2, 5, 6, 7, 3), (4, 3, 2, 2, 2), {"channels_last": 1})
        conv("sizes", (2, 5, 6, 3), (4, 3, 2, 2), {"channels_last": 1}, sizes=[("n", "h", "w", None)] + [None] * 8)
    for t in "int8", "uint8":
        for name, attrs in ("", {}), ("_more", more), ("_same", {"auto_pad": "SAME_LOWER", "strides": [2, 2]}), ("_ceil", {"ceil_mode": 1, "strides": [2, 2]}):
            attrs = {k: [1, 0, 1, 1] if k == "pads" else v for k, v in attrs.items()}
            add(c, f"max_pool_{t}{name}", "NhwcMaxPool", [codes(t, 2, 7, 8, 3)], {"kernel_shape": [2, 3], **attrs})
        add(c, f"max_pool_{t}_1d", "NhwcMaxPool", [codes(t, 2, 7, 3)], {"kernel_shape": [2]})
        add(c, f"max_pool_{t}_3d", "NhwcMaxPool", [codes(t, 2, 5, 6, 7, 3)], {"kernel_shape": [2, 2, 3]}, sizes=[("n", "a", "b", "d", None)])


# ---- the operators between scales: QLinear... -----------------------------------------------------------------------------


def add_between(c):
    for t in "int8", "uint8":
        def unary(name, op, attrs=None, shape=(2, 5, 6, 3), zero=True, scale=None, t=t, **more):
            how = [codes(t, *shape), scales(), zeros(t) if zero else None, scales() if scale is None else np.float32(scale), zeros(t) if zero else None]
            add(c, f"{op[7:]}_{t}_{name}", op, how, attrs, **more)

        for op in "QLinearAdd", "QLinearMul":
            for k, (a, b) in enumerate((((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (2,)))):
                how = [codes(t, *a), scales(), zeros(t), codes(t, *b), scales(), zeros(t), scales(), zeros(t)]
                add(c, f"{op[7:]}_{t}_{k}", op, how, data=(0, 3))
            add(c, f"{op[7:]}_{t}_given", op, how, data=range(8))
        for op, choices in ("QLinearSigmoid", [{}]), ("QLinearLeakyRelu", [{}, {"alpha": 0.3}, {"alpha": -2.0}]):
            for k, attrs in enumerate(choices):
                unary(k, op, attrs)
            unary("no_zero", op, zero=False)
            unary("given", op, data=range(5))
        for k, (axis, opset) in enumerate(((0, 11), (1, 12), (-1, 1), (0, 13), (-2, 13), (2, 25))):
            unary(k, "QLinearSoftmax", {"axis": axis, "opset": opset}, (2, 3, 4), scale=1 / 256)
        for last in 0, 1:
            unary(last, "QLinearGlobalAveragePool", {"channels_last": last})
            for k, attrs in enumerate(({}, {"strides": [2, 1], "pads": [1, 0, 1, 1]}, {"strides": [2, 2], "pads": [1, 1, 0, 1], "count_include_pad": 1},
                                       {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER"}, {"auto_pad": "VALID"},
                                       {"ceil_mode": 1, "strides": [2, 2]})):
                unary(f"{last}_{k}", "QLinearAveragePool", {"kernel_shape": [2, 3], "channels_last": last, **attrs})
            unary(f"{last}_1d", "QLinearAveragePool", {"kernel_shape": [2], "channels_last": last}, (2, 9, 3))
            unary(f"{last}_3d", "QLinearAveragePool", {"kernel_shape": [2, 2, 2], "channels_last": last}, (2, 4, 5, 6, 3))
        keep = rng.random((2, 1)) > 0.5
        add(c, f"where_{t}", "QLinearWhere", [keep, codes(t, 2, 3), scales(), zeros(t), codes(t, 3), scales(), zeros(t), scales(), zeros(t)], data=(0, 1, 4))
        parts = [codes(t, 2, 3), scales(), zeros(t), codes(t, 2, 3), scales(), zeros(t)]
        for axis in 0, -1:
            add(c, f"concat_{t}_{axis & 1}", "QLinearConcat", [scales(), zeros(t), *parts], {"axis": axis}, data=(2, 5))
        add(c, f"concat_{t}_same", "QLinearConcat", [*parts[1:3], *parts, codes(t, 2, 1), *parts[1:3]], {"axis": 1}, data=(2, 5, 8))


def add_gemm(c):
    for t, u in ("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"):
        for k in range(8):
            turn, turned, each = k & 1, k >> 1 & 1, (4,) if k & 4 else ()
            point = np.zeros(each, u) if u == "int8" else zeros(u, *each)
            for to, bias in ("float", True), (t, True), ("float", False), (t, False):
                y = [] if to == "float" else [9 * scales(), zeros(t)]
                inputs = [codes(t, *((5, 3) if turn else (3, 5))), scales(), zeros(t), codes(u, *((4, 5) if turned else (5, 4))), scales(*each), point,
                          rng.integers(-999, 999, 4).astype(np.int32) if bias else None, *y]
                add(c, f"gemm_{t}_{u}_{k}_{to}_{bias:d}", "QGemm", inputs, {"transA": turn, "transB": turned, "alpha": 0.5 if bias else 1.0})


def add_linear(c):
    for t in "int8", "uint8", "int16", "uint16", "int4", "uint4", "int32":
        kind = np.dtype(getattr(ml_dtypes, t)) if t.endswith("4") else np.dtype(t)
        limits = ml_dtypes.iinfo(kind) if t != "int32" else ml_dtypes.iinfo(np.int16)
        low, high = int(limits.min), int(limits.max) + 1
        for axis in None, 0, 2, -2:
            attrs, each = ({}, ()) if axis is None else ({"axis": axis}, (2, 3, 5)[axis:][:1])
            for zero in (False, True) if t != "int32" else (False,):
                name = f"linear_{t}_{'one' if axis is None else axis % 3}_{zero:d}"
                q, point = (rng.integers(low, high, shape).astype(kind) for shape in ((2, 3, 5), each))
                x = normal(2, 3, 5) * np.float32((high - low) / 200)
                if zero:
                    scale = scales(*each)
                    line = (-1,) + (1,) * (2 - axis % 3) if each else ()
                    y = np.clip(np.rint(x / scale.reshape(line)) + point.astype(int).reshape(line), low, high - 1).astype(kind)
                    add(c, f"{name}_to", "QuantizeLinear", [x, scale, point], attrs, by=[y] if t.endswith("4") else "runtime")
                add(c, f"{name}_from", "DequantizeLinear", [q, scales(*each), point if zero else None], attrs, data=() if t.endswith("4") else (0,))


# ---- weights of a few bits --------------------------------------------------------------------------------------------------


def powers(t, *shape):
    """Powers of two as scales, with which every sum is exact."""
    return np.exp2(rng.integers(-4, -1, shape)).astype(t)


def add_bits(c):
    for bits in 2, 4, 8:
        for level in 0, 1, 2, 3, 4:
            for t in np.float32, np.float16:
                x = rng.integers(-5, 6, (3, 40)).astype(t)
                x[:, ::16] = 127  # makes the quantisation of each block to 8 bits exact
                w, zero = rng.integers(0, 256, (5, 3, 16 * bits // 8)).astype(np.uint8), rng.integers(0, 256, (5, -(-3 * bits // 8))).astype(np.uint8)
                attrs = {"K": 40, "N": 5, "bits": bits, "block_size": 16, "accuracy_level": level}
                add(c, f"bits_{bits}_{level}_{np.dtype(t)}", "MatMulNBits", [x, w, powers(t, 5, 3), zero if level % 2 else None], attrs)
    for kind in 0, 1:
        for k, n, block in (32, 3, 16), (33, 5, 16), (7, 1, 32), (64, 8, 64):
            w, top = rng.integers(0, 256, (n * k + 1) // 2).astype(np.uint8), abs(normal(-(-n * k // block)))
            attrs = {"K": k, "N": n, "block_size": block, "quant_type": kind}
            add(c, f"bnb4_{kind}_{k}", "MatMulBnb4", [normal(3, 2, k), w, top], attrs)
        add(c, f"bnb4_{kind}_given", "MatMulBnb4", [normal(k), w, top], attrs, data=range(3))
        eye = np.eye(k, dtype=np.float32)
        add(c, f"bnb4_{kind}_values", "MatMulBnb4", [eye, w, top], attrs)
        # the same weights transposed; ONNX Runtime multiplies matrices of other sizes
        weights = runtime("MatMulBnb4", [eye, w, top], attrs)
        x = normal(2, n)
        add(c, f"bnb4_{kind}_back", "MatMulBnb4", [x, w, top], {**attrs, "transB": 0, "training_mode": 1}, by=[x @ weights.T])
    for kind in 0, 1, 2:
        for k, n, shape in (64, 5, (3, 64)), (40, 3, (2, 3, 40)), (32, 1, (32,)), (7, 2, (1, 7)), (300, 17, (4, 300)), (33, 4, (0, 33)):
            w = rng.integers(0, 16, (n, -(-k // 32), 20 + (kind > 0))).astype(np.uint8)
            w[..., -16:] += 16 * rng.integers(0, 16, w[..., -16:].shape).astype(np.uint8)
            w[..., :4] = powers(np.float32, n, w.shape[1], 1).view(np.uint8)
            inputs, attrs = [normal(*shape), w.ravel(), np.array([k, n])], {"blk_quant_type": kind}
            by = "runtime" if packs_fpq4() else [fpq4(inputs[0], w, k)]
            add(c, f"fpq4_{kind}_{k}", "MatMulFpQ4", inputs, attrs if kind != 1 or k != 7 else {}, by=by)
        add(c, f"fpq4_{kind}_given", "MatMulFpQ4", inputs, attrs, data=(0, 1), by=by)


@functools.cache
def packs_fpq4():
    """Has ONNX Runtime MatMulFpQ4 on this processor? It needs AVX-512; without, the format of the weights gives the results."""
    try:
        runtime("MatMulFpQ4", [np.zeros((1, 32), np.float32), np.zeros(20, np.uint8), np.array([32, 1])], {"blk_quant_type": 0})
        return True
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return False


def fpq4(x, w, k):
    """The product by weights (columns, blocks, bytes): a float32 scale; a zero point, or 8; 32 codes, the low bits of 16 bytes first."""
    code = np.concatenate([w[..., -16:] & 15, w[..., -16:] >> 4], -1).astype(np.float32)
    zero = w[..., 4:5].astype(np.float32) if w.shape[-1] > 20 else np.float32(8)
    scale = np.ascontiguousarray(w[..., :4]).view(np.float32)
    return x @ ((code - zero) * scale).reshape(len(w), -1)[:, :k].T


def runtime(op, inputs, attrs):
    names = [f"x{i}" for i in range(len(inputs))]
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, inputs)]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], domain="com.microsoft", **attrs)], op, given, [ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, dict(zip(names, inputs)))[0]


INDICES = np.array([1, 2, -1, -4]), np.array([[0, 3], [2, 2]], np.int32), np.array(2), np.array([1, 4, -5, 99])  # 4, -5, 99: outside


def add_gathers(c):
    def gather(name, data, index, scale, zero, axis, along, block, given=(1,), sizes=None, **attrs):
        attrs = {"gather_axis": axis, "quantize_axis": along, "block_size": block, **attrs}
        add(c, f"gather_{name}", "GatherBlockQuantized", [data, index, scale, zero], attrs, data=given, sizes=sizes)

    for k, index in enumerate(INDICES):
        for bits in 2, 4, 8:
            for size in 64, 40:
                t, each = (np.float32, np.float16)[k % 2], 8 // bits
                w, blocks = rng.integers(0, 256, (4, 3, size // each)).astype(np.uint8), -(-size // 16)
                for zero in None, rng.integers(0, 256, (4, 3, -(-blocks // each))).astype(np.uint8):
                    gather(f"{bits}_{k}_{size}_{zero is not None:d}", w, index, powers(t, 4, 3, blocks), zero, 0, 2, 16, bits=bits)
        for name in "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn":
            real, axis, along = "float" in name, *((0, 1), (0, 2), (1, 0), (2, 2))[(k + len(name)) % 4]
            shape, kind = [4, 4, 4], getattr(ml_dtypes, name)
            shape[along] = 48
            w = (normal(*shape) * 3 if real else rng.integers(0, 8, shape)).astype(kind)
            blocks = [3 if a == along else n for a, n in enumerate(shape)]
            zero = None if real or k % 2 else rng.integers(0, 8, blocks).astype(kind)
            gather(f"{name}_{k}", w, index, powers((np.float32, np.float16)[k // 2], *blocks), zero, axis, along - 3, 16)
            if real:
                gather(f"{name}_{k}_whole", w, index, powers(np.float32, *(1 if a == along else n for a, n in enumerate(shape))), None, axis, along, 0)
                gather(f"{name}_{k}_one", w, index, powers(np.float32, 1, 1, 1), None, axis, along, 0)
    w = rng.integers(0, 256, (4, 48)).astype(np.uint8)
    gather("constant", w, INDICES[3], powers(np.float32, 4, 6), None, 0, 1, 16, given=())
    gather("sizes", w, INDICES[1], powers(np.float32, 4, 6), None, 0, 1, 16, sizes=[None, ("n", "m"), None, None])


# ---- attention, embeddings --------------------------------------------------------------------------------------------------


def add_attention(c):
    def attention(name, t, mask=None, past=0, each=False, zero=True, sizes=None, present=False, attrs=None):
        shape = (24,) if each else ()
        point = np.zeros(shape, t) if t == "int8" else zeros(t, *shape)
        inputs = [codes("uint8", 2, 3, 8), codes(t, 8, 24), normal(24), scales() / 5, scales(*shape) / 5, None if mask is None else mask.astype(np.int32),
                  zeros("uint8") if zero else None, point if zero else None, normal(2, 2, 2, past, 4) if past else None]
        add(c, f"attention_{t}_{name}", "QAttention", inputs, {"num_heads": 2, **(attrs or {})}, data=(0, 5, 8), outputs=2 if past or present else 1,
            sizes=sizes)

    for t in "int8", "uint8":
        for each in False, True:
            for zero in False, True:
                attention(f"{each:d}_{zero:d}", t, each=each, zero=zero)
        attention("later", t, attrs={"unidirectional": 1})
        attention("past", t, past=4, attrs={"unidirectional": 1})
        attention("scale", t, attrs={"scale": 0.3}, present=True)
        rows = rng.integers(0, 2, (2, 3))
        for name, mask in (("ends", np.array([2, 3])), ("both", np.array([2, 3, 0, 1])), ("keys", rows), ("each", rng.integers(0, 2, (2, 3, 3)))):
            attention(f"mask_{name}", t, mask)
        attention("mask_past", t, rng.integers(0, 2, (2, 7)), past=4)
        attention("mask_weak", t, rows, attrs={"mask_filter_value": -3.0})
        attention("mask_later", t, rows, attrs={"unidirectional": 1})
    attention("sizes", "uint8", past=3, sizes=[("b", "s", None), *[None] * 7, (None, "b", None, "p", None)])


def add_embeddings(c):
    for t in "int8", "uint8":
        for segments in False, True:
            for masked in False, True:
                ids, kinds, mask = (rng.integers(0, n, (2, 3)).astype(np.int32) for n in (20, 2, 3))
                tables = [codes(t, 20, 6), codes(t, 7, 6), codes(t, 2, 6) if segments else None, codes(t, 6), codes(t, 6)]
                inputs = [ids, kinds if segments else None, *tables, mask if masked else None, *(None if v is None else scales() for v in tables),
                          *(None if v is None else zeros(t) for v in tables)]
                name = f"embeddings_{t}_{segments:d}_{masked:d}"
                add(c, name, "QEmbedLayerNormalization", inputs, data=(0, 1, 7), outputs=2)
                if segments:
                    add(c, f"{name}_sizes", "QEmbedLayerNormalization", inputs, {"epsilon": 0.1}, data=range(18), outputs=2,
                        sizes=[("b", "s") if i in (0, 1, 7) else None for i in range(18)])


# ---- recurrent layers ------------------------------------------------------------------------------------------------------


def add_layer(c, name, inputs, attrs, outputs="Y H C", sizes=None, weights=False):
    """DynamicQuantizeLSTM; weights: they are inputs. ONNX Runtime uses one thread, since each has its own scale for its sequences' states."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = helper.make_node("DynamicQuantizeLSTM", names, [y if y in outputs.split() else "" for y in ("Y", "H", "C")], domain="com.microsoft", **attrs)
    data = [i for i in (0, *(1, 2) * weights, 4, 5, 6) if inputs[i] is not None]
    given = [helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(inputs[i].dtype), (sizes or {}).get(i, inputs[i].shape)) for i in data]
    held = [numpy_helper.from_array(x, names[i]) for i, x in enumerate(inputs) if x is not None and i not in data]

    def build(results):
        graph = helper.make_graph([node], name, given, results, held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = build([ValueInfoProto(name=y) for y in outputs.split()])
    run = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = run.run(None, {names[i]: inputs[i] for i in data})
    results = [helper.make_tensor_value_info(y, 1, [f"{y}_{k}" for k in range(v.ndim)] if sizes else v.shape) for y, v in zip(outputs.split(), expected)]
    c.write(f"quantized_lstm_{name}", build(results), [inputs[i] for i in data], expected)


def layer(t, steps=4, batch=2, width=3, hidden=5, directions=1, each=False, bias=True, lengths=None, states=False, peephole=False):
    x, gates = normal(steps, batch, width), 4 * hidden
    for b, n in enumerate(lengths or []):
        x[n:, b] *= 9
    shape = (directions, gates) if each else (directions,)
    zero = [np.zeros(shape, t) if t == "int8" and each else np.full(shape, zeros(t)) for _ in range(2)]
    state = [normal(directions, batch, hidden) if states else None for _ in range(2)]
    return [x, codes(t, directions, width, gates), codes(t, directions, hidden, gates), normal(directions, 2 * gates) if bias else None,
            np.array(lengths, np.int32) if lengths else None, *state, normal(directions, 3 * hidden) if peephole else None,
            scales(*shape) / 10, zero[0], scales(*shape) / 10, zero[1]]


def add_recurrent(c):
    for t in "int8", "uint8":
        for way in "forward", "reverse", "bidirectional":
            d = 2 if way == "bidirectional" else 1
            for each in False, True:
                def one(name, attrs=None, hidden=5, outputs="Y H C", way=way, d=d, each=each, t=t, sizes=None, weights=False, **how):
                    inputs = layer(t, hidden=hidden, directions=d, each=each, **how)
                    add_layer(c, f"{t}_{way}_{each:d}_{name}", inputs, {"hidden_size": hidden, "direction": way, **(attrs or {})}, outputs, sizes, weights)

                one("plain")
                one("weights", weights=True)
                one("lengths", lengths=[1, 3], steps=5, peephole=True)
                one("all", lengths=[0, 3], steps=3, states=True)
                if each:
                    continue
                one("last", lengths=[1, 3], steps=5, outputs="H C", bias=False)
                one("wide", hidden=20, width=17, batch=3)
                one("sizes", states=True, lengths=[4, 2], sizes={0: ["t", "b", 3], 4: ["b"], 5: [d, "b", 5], 6: [d, "b", 5]})
                one("limits", {"clip": 0.7, "input_forget": 1}, outputs="Y")
                one("functions", {"activations": ["HardSigmoid", "Relu", "Softsign"] * d, "activation_alpha": [0.3] * d, "activation_beta": [0.4] * d})


# ---- weights that stay as stored --------------------------------------------------------------------------------------------


def add_stored(c):
    """Weights of DequantizeLinear that are large enough to stay as codes. ONNX Runtime rounds x to 8 bits here. Sums are exact."""
    for name, op, x, shapes, axis, block, attrs in (
            ("product", "MatMul", (7, 33), [(33, 19)], 1, 0, {}), ("images", "Conv", (1, 6, 7, 5), [(9, 6, 3, 3)], 0, 0, {}),
            ("parts", "Conv", (1, 140, 4, 3), [(18, 140, 2, 2)], 0, 0, {"pads": [1, 0, 0, 1]}),
            ("transposed", "ConvTranspose", (2, 40, 3, 4), [(40, 9, 4, 3)], 1, 0, {"strides": [2, 2], "pads": [1, 1, 0, 1]}),
            *((op.lower(), op, (3, 2, 21), [(1, gates * 37, 21), (1, gates * 37, 37)], 1, 0, {"hidden_size": 37})
              for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))),
            ("channels", "Conv", (2, 37, 6, 5), [(37, 1, 3, 3)], 0, 0, {"group": 37, "pads": [1, 1, 1, 1], "strides": [1, 2]}),
            ("pairs", "Conv", (1, 18, 6, 5), [(36, 2, 3, 3)], 0, 0, {"group": 9, "pads": [1, 1, 0, 0]}),
            ("threes", "Conv", (1, 100, 4, 4), [(300, 1, 3, 3)], 0, 0, {"group": 100}),
            ("inputs", "Conv", (1, 18, 6, 5), [(20, 18, 2, 3)], 1, 0, {}), ("rows", "MatMul", (3, 40), [(40, 33)], 0, 0, {}),
            ("groups", "Conv", (1, 36, 4, 5), [(34, 18, 2, 1)], 1, 0, {"group": 2}),
            ("blocks", "Conv", (1, 20, 5, 5), [(17, 20, 3, 3)], 1, 8, {}),
            ("phases", "ConvTranspose", (1, 36, 3, 2), [(36, 18, 3, 3)], 0, 16, {"strides": [2, 2]}),
            ("columns", "MatMul", (2, 24), [(24, 64)], 1, 32, {}), ("rest", "Add", (24, 50), [(24, 50)], 1, 16, {})):
        x, held, nodes = (rng.integers(-8, 9, x) / 8).astype(np.float32), {}, []
        for i, shape in enumerate(shapes):
            many = [-(-n // block) if k == axis else n for k, n in enumerate(shape)] if block else [shape[axis]]
            held |= {f"w{i}": codes("int8", *shape), f"s{i}": powers(np.float32, *many), f"z{i}": zeros("int8", *many)}
            nodes.append(helper.make_node("DequantizeLinear", [f"w{i}", f"s{i}", f"z{i}"], [f"v{i}"], axis=axis, block_size=block))
        nodes.append(helper.make_node(op, ["x", *(f"v{i}" for i in range(len(shapes)))], ["y"], **attrs))
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", 1, x.shape)], [helper.make_tensor_value_info("y", 1, None)],
                                  [numpy_helper.from_array(t, n) for n, t in held.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        c.write(f"stored_{name}", model, [x], ReferenceEvaluator(model).run(None, {"x": x}))


def add_quantized(c):
    for of in (add_products, add_images, add_between, add_gemm, add_linear, add_bits, add_gathers, add_attention, add_embeddings,
               add_recurrent, add_stored):
        of(c)
