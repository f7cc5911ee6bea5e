"""Operators of com.microsoft on quantised values. The expected results come from ONNX Runtime. Codes of int8 are of 7 bits, because its
products of bytes saturate on processors without VNNI."""

import numpy as np

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
    """All inputs except data are constant."""
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


def add_quantized(c):
    for of in add_products, add_images:
        of(c)
