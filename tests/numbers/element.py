"""element.py LIBRARY - element.h against ml_dtypes, numpy and the tables in ONNX's Cast documentation.

Loads are tested with every bit pattern of the types of up to 16 bits; stores with every value, every midpoint between neighbours, the
floats beside both, and special values; all packings at odd lengths."""
import ctypes
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx.numpy_helper

np.seterr(all="ignore")
lib = ctypes.CDLL(sys.argv[1])
NARROW = {  # tag: (numpy type, bits)
    "f16": (np.float16, 16), "bf16": (ml_dtypes.bfloat16, 16),
    "f8e4m3fn": (ml_dtypes.float8_e4m3fn, 8), "f8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 8),
    "f8e5m2": (ml_dtypes.float8_e5m2, 8), "f8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 8),
    "f8e8m0": (ml_dtypes.float8_e8m0fnu, 8), "f4e2m1": (ml_dtypes.float4_e2m1fn, 4),
    "f6e2m3": (ml_dtypes.float6_e2m3fn, 6), "f6e3m2": (ml_dtypes.float6_e3m2fn, 6),
}
INTS = {"i4": (ml_dtypes.int4, 4), "u4": (ml_dtypes.uint4, 4), "i2": (ml_dtypes.int2, 2), "u2": (ml_dtypes.uint2, 2),
        "i8": (np.int8, 8), "u8": (np.uint8, 8), "i16": (np.int16, 16), "u16": (np.uint16, 16)}
ARITH = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64}
passed = failed = 0


def call(name, x, dtype, count=None, size=None):
    """Runs `name` over array x; a new array of `dtype`."""
    count = len(x) if count is None else count
    y = np.full(count if size is None else size, 0xAA if size is not None else 0).astype(dtype)
    x = np.ascontiguousarray(x)
    getattr(lib, name)(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_ssize_t(count))
    return y


def same(what, got, want, of=None):
    """Checks that the bits are equal; all NaNs count as equal."""
    global passed, failed
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype:
        sys.exit(f"{what}: {got.dtype} against {want.dtype}")
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
    differs = got.view(bits) != want.view(bits)
    if got.dtype.kind == "f":
        differs &= ~(np.isnan(got) & np.isnan(want))
    if differs.any():
        failed += 1
        i = int(np.argmax(differs))
        print(f"{what}: {differs.sum()} of {len(got)} differ, first [{i}]", f"of {of[i]!r}" if of is not None else "",
              f"got {got[i]!r}, expected {want[i]!r}")
    else:
        passed += 1
    return not differs.any()


def pack(codes, bits):
    """ONNX's packing, by its own helper functions."""
    if bits == 4:
        return onnx.numpy_helper._pack_4bitx2(codes.astype(np.uint8))
    if bits == 2:
        return onnx.numpy_helper._pack_2bitx4(codes.astype(np.uint8))
    if bits == 6:
        return onnx.numpy_helper._pack_6bit(codes)
    return codes.astype({8: np.uint8, 16: np.uint16}[bits])


def codes_of(bits):
    return np.arange(1 << bits).astype(np.uint16 if bits == 16 else np.uint8)


def values(dtype, bits):
    """Every number of the type as float64."""
    v = codes_of(bits).view(dtype).astype(np.float64)
    return np.unique(v[np.isfinite(v)])


def probes(dtype, bits):
    """Values at which rounding could go wrong, as float64."""
    v = values(dtype, bits)
    mid = (v[1:] + v[:-1]) / 2
    top = np.array([v[-1] + (v[-1] - v[-2]) / 2, v[-1] * 1.5, v[-1] * 2, v[0] / 2, v[0] / 4])
    p = np.concatenate([v, mid, top, -top, [0.0, 1e-45, 3e38, 1e-30, 1e30]])
    return np.concatenate([p, -p])


def beside32(p):
    """p as float32, and the float32 on either side."""
    p = p.astype(np.float32)
    p = np.concatenate([p, np.nextafter(p, np.float32(np.inf)), np.nextafter(p, np.float32(-np.inf))])
    return np.concatenate([p, -p, np.array([np.inf, -np.inf, np.nan, -np.nan, -0.0, 1e-42], np.float32)])


def rounded(x, dtype, bits, saturate, e8m0="up"):
    """The code that Cast must give for each Python float, by exact rational arithmetic over the table of values."""
    v = codes_of(bits).view(dtype).astype(np.float64)
    table = sorted((Fraction(f), c) for c, f in enumerate(v) if np.isfinite(f) and not np.signbit(f))
    size = [f for f, _ in table]
    unsigned = dtype is ml_dtypes.float8_e8m0fnu
    top_bit = 0 if unsigned else 1 << (bits - 1)
    nan = {"float8_e4m3fn": 0x7f, "float8_e4m3fnuz": 0x80, "float8_e5m2": 0x7e, "float8_e5m2fnuz": 0x80,
           "float8_e8m0fnu": 0xff, "float16": 0x7e00, "bfloat16": 0x7fc0}.get(np.dtype(dtype).name)
    inf = {"float8_e5m2": 0x7c, "float16": 0x7c00, "bfloat16": 0x7f80}.get(np.dtype(dtype).name)
    no_negative_zero = nan == 0x80
    out = []
    for f in x:
        sign = top_bit if np.signbit(f) else 0
        if np.isnan(f):
            out.append((sign ^ top_bit) if nan is None else nan if no_negative_zero else nan | sign)
            continue
        if np.isinf(f):
            code = table[-1][1] if saturate else inf if inf is not None else nan
        else:
            a = abs(Fraction(float(f) if isinstance(f, np.floating) else int(f)))
            i = bisect(size, a)
            if i > 0 and size[i - 1] == a:
                code = table[i - 1][1]
            elif unsigned:
                if i == 0:
                    code = 0 if saturate else nan
                elif i == len(size):
                    rounds_over = e8m0 == "up" or (e8m0 == "nearest" and a >= size[-1] * 3 / 2)
                    code = nan if rounds_over and not saturate else table[-1][1]
                else:
                    lo, hi = size[i - 1], size[i]
                    up = e8m0 == "up" or (e8m0 == "nearest" and a - lo >= hi - a)
                    code = table[i][1] if up else table[i - 1][1]
            elif i == len(size):
                step = size[-1] - size[-2]
                odd = table[-1][1] & 1
                fits = a < size[-1] + step / 2 or (a == size[-1] + step / 2 and not odd)
                code = table[-1][1] if fits or saturate else inf if inf is not None else nan
            else:
                lo, hi = size[i - 1], size[i]
                up = a - lo > hi - a or (a - lo == hi - a and table[i - 1][1] & 1)
                code = table[i][1] if up else table[i - 1][1]
        if code == nan and nan == 0x80:
            out.append(code)
        elif code == 0 and no_negative_zero:
            out.append(0)
        else:
            out.append(code | (0 if code == nan and unsigned else sign))
    return np.array(out).astype(np.uint16 if bits == 16 else np.uint8)


def bisect(a, x):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        lo, hi = (mid + 1, hi) if a[mid] <= x else (lo, mid)
    return lo


def check_loads():
    for tag, (dtype, bits) in {**NARROW, **INTS}.items():
        codes = np.tile(codes_of(bits), 3)[:-1]
        floats = tag in NARROW
        arith = np.float32 if floats else np.int32 if tag[0] == "i" else np.uint32
        want = codes.view(dtype).astype(arith) if bits >= 8 else codes_of_values(tag, codes, dtype, arith)
        memory = pack(codes, bits) if bits < 8 else codes
        got = call("load_" + tag, memory, arith, len(codes))
        if same("load " + tag, got, want):
            back = call("store_" + tag, got, memory.dtype, len(codes), len(memory))
            if bits >= 8:
                same("store(load) " + tag, back, memory, memory)
            else:
                used = len(codes) * bits % 8  # unused bits of the last byte are unchanged
                mask = np.full(len(memory), 255, np.uint8)
                mask[-1] = (1 << used) - 1 if used else 255
                same("store(load) " + tag, back & mask, memory & mask)


def codes_of_values(tag, codes, dtype, arith):
    if tag[0] == "i":
        bits = int(tag[1:])
        codes = codes.astype(np.int8)
        return np.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes).astype(arith)
    return codes.astype(arith) if tag[0] == "u" else codes.view(dtype).astype(arith)


def code_values(code, dtype, bits):
    return code.view(dtype).astype(np.float32)


def check_rounding():
    for tag, (dtype, bits) in NARROW.items():
        p = probes(dtype, bits)
        if bits == 16:
            p = p[:: 41]
        x = beside32(p)
        e8m0 = tag == "f8e8m0"
        x = x[~np.signbit(x)] if e8m0 else x
        ways = [("cast_" + tag, True, "up")]
        if bits == 16:
            ways = [("cast_" + tag, False, "up")]
        elif e8m0:
            ways += [("cast_f8e8m0" + ("" if m == "up" else "_" + m) + ("" if s else "_wrap"), s, m) for s in (True, False) for m in
                     ("up", "down", "nearest") if (m, s) != ("up", True)]
        elif bits == 8:
            ways += [("cast_" + tag + "_wrap", False, "up")]
        for name, saturate, mode in ways:
            want = rounded(x, dtype, bits, saturate, mode)
            same(name + "_f32", call(name + "_f32_v", x, np.float32), code_values(want, dtype, bits), x)
            # doubles that rounding twice gets wrong: a midpoint plus less than half a unit of float
            d = np.concatenate([p, p * (1 + 2.0**-40), p * (1 - 2.0**-40)])
            d = d[~np.signbit(d)] if e8m0 else d
            want = rounded(d, dtype, bits, saturate, mode)
            same(name + "_f64", call(name + "_f64_v", d, np.float32), code_values(want, dtype, bits), d)
        # rnd: as Cast, but infinities stay, if the type has them
        y = call("round_" + tag, x, np.float32)
        want = rounded(x, dtype, bits, bits != 16)
        if tag == "f8e5m2":
            want[np.isinf(x)] = np.where(np.signbit(x[np.isinf(x)]), 0xFC, 0x7C)
        same("rnd_" + tag, y, code_values(want, dtype, bits), x)
    # against ml_dtypes itself, where it rounds as ONNX does
    for tag in ("f16", "bf16", "f4e2m1", "f6e2m3", "f6e3m2"):
        dtype, bits = NARROW[tag]
        x = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32).view(np.float32)
        same("cast_" + tag + " as ml_dtypes", call("cast_" + tag + "_f32_v", x, np.float32),
             x.astype(dtype).astype(np.float32), x)


def check_integers():
    edges = [0, 1, 2, 3, 7, 8, 9, 15, 16, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**24 - 1, 2**24 + 1,
             2**24 + 3, 2**31 - 128, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**53 + 1, 2**62 + 2**38,
             2**62 + 2**38 + 1, 2**62 + 2**54 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    edges += [-e for e in edges] + [-9, -2**31 - 1]
    ints = {}
    for a in ("i32", "u32", "i64", "u64"):
        info = np.iinfo(ARITH[a])
        ints[a] = np.array(sorted({e for e in edges if info.min <= e <= info.max}), ARITH[a])
    targets = {**{t: (d, 8 * np.dtype(d).itemsize) for t, d in ARITH.items()}, **INTS}
    for t, (dtype, bits) in targets.items():
        y = np.float32 if t == "f32" else np.float64 if t == "f64" else np.int32 if t in ("i2", "i4", "i8", "i16") else \
            np.uint32 if t in ("u2", "u4", "u8", "u16") else dtype
        for a, x in ints.items():
            if t[0] == "f":
                want = x.astype(dtype)
            else:
                wrapped = [int(v) & ((1 << bits) - 1) for v in x]
                want = np.array([v - (1 << bits) if t[0] == "i" and v >> (bits - 1) else v for v in wrapped], y)
            same(f"cast_{t}_{a}", call(f"cast_{t}_{a}_v", x, y), want, x)
        for a in ("f32", "f64"):
            top = [float(e) for e in edges] + [0.5, -0.5, 0.999, -0.999, 1.5, 2.5, -3.7, 1e30, -1e30, 1e-30, 1e-45,
                                               np.inf, -np.inf, np.nan, -0.0]
            x = np.array(top).astype(ARITH[a])
            x = np.concatenate([x, np.nextafter(x, ARITH[a](0)), np.nextafter(x, ARITH[a](np.inf))])
            if t[0] == "f":
                want = x.astype(dtype)
            else:
                wide = 64 if t in ("i64", "u64") else 32
                lo, hi = (0, 2**wide - 1) if t in ("u32", "u64") else (-2 ** (wide - 1), 2 ** (wide - 1) - 1)
                v = [0 if np.isnan(f) else hi if f == np.inf else lo if f == -np.inf else max(lo, min(hi, int(f))) for f in x]
                v = [f & ((1 << bits) - 1) for f in v]
                want = np.array([f - (1 << bits) if t[0] == "i" and f >> (bits - 1) else f for f in v], y)
            same(f"cast_{t}_{a}", call(f"cast_{t}_{a}_v", x, y), want, x)
    for a in ARITH:
        x = np.array([0, 1, 2, 200], ARITH[a]) if a[0] != "f" else np.array([0, -0.0, 1, 1e-40, np.nan, -np.inf], ARITH[a])
        same(f"cast_b8_{a}", call(f"cast_b8_{a}_v", x, np.uint32), np.asarray(x != 0).astype(np.uint32), x)
    for tag in ("f16", "bf16", "f8e4m3fn", "f8e5m2", "f4e2m1", "f6e3m2"):
        dtype, bits = NARROW[tag]
        for a, x in ints.items():
            want = rounded(x.tolist(), dtype, bits, bits != 16)
            same(f"cast_{tag}_{a}", call(f"cast_{tag}_{a}_v", x, np.float32), code_values(want, dtype, bits), x)


check_loads()
check_rounding()
check_integers()
print(f"element: {passed} passed, {failed} failed")
sys.exit(failed != 0)
