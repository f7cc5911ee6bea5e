"""Between Python's values and the parameters of the C function: types, sizes, strings, containers (docs/interface.md)."""
from __future__ import annotations

import ctypes
import importlib.util
import math
import re
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

ml_dtypes = importlib.import_module("ml_dtypes") if importlib.util.find_spec("ml_dtypes") else None
Array = np.ndarray[Any, Any]

NUMPY = {"float": "float32", "double": "float64", "string": "object"}
ML_DTYPES = {"float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz",
             "float8e8m0": "float8_e8m0fnu", "float4e2m1": "float4_e2m1fn", "float6e2m3": "float6_e2m3fn", "float6e3m2": "float6_e3m2fn"}
PACKED = re.compile(r"u?int[24]|float[46]e.*")
STRING = np.dtype([("text", np.uint64), ("length", np.uint64)])


def _dtype(name: str) -> np.dtype[Any]:
    """NumPy's type for an ONNX type; without ml_dtypes, an integer type that holds the value or, for floats, the bits."""
    if not PACKED.fullmatch(name) and not name.startswith(("float8", "bfloat")):
        return np.dtype(NUMPY.get(name, name))
    bits = "uint16" if name == "bfloat16" else "int8" if name.startswith("int") else "uint8"
    return np.dtype(getattr(ml_dtypes, ML_DTYPES.get(name, name), bits))


class Parameter(NamedTuple):
    """A pointer that the C function takes."""
    type: str
    dtype: np.dtype[Any]
    dims: tuple[int | str | None, ...]
    bytes: int
    default: tuple[int, ...] | None

    @classmethod
    def of(cls, p: Mapping[str, Any]) -> Parameter:
        default = p.get("default")
        return cls(p["type"], _dtype(p["type"]), tuple(p["dims"]), p["bytes"], None if default is None else tuple(default))

    @property
    def bits(self) -> int:
        """of an element"""
        if self.type == "string":
            return 8 * STRING.itemsize
        return int(re.search(r"\d", self.type)[0]) if PACKED.fullmatch(self.type) else 8 * self.dtype.itemsize  # type: ignore[index]


class Sizes:
    """The sizes of a call, by their names in C."""
    def __init__(self, fields: Sequence[Mapping[str, Any]]) -> None:
        self.declared = fields
        self.limits = {f["c"]: (f["low"], f["high"]) for f in fields if not f["output"]}
        self.known: dict[str, int] = {}

    def fields(self) -> Array:
        return np.array([self.known.get(f["c"], 0) for f in self.declared], np.int64)

    def take(self, fields: Array) -> None:
        self.known.update({f["c"]: int(v) for f, v in zip(self.declared, fields)})

    def bind(self, p: Parameter, shape: Sequence[int], what: str) -> None:
        """Checks the shape of an argument, and takes sizes of the call from it."""
        wants = "[" + ", ".join("any" if d is None else str(d) for d in p.dims) + "]"
        if len(shape) != len(p.dims):
            raise ValueError(f"{what} has shape {list(shape)}, not {wants}")
        for k, (d, n) in enumerate(zip(p.dims, shape)):
            low, high = self.limits.get(d, (0, 0)) if isinstance(d, str) else (d, d)
            if d is not None and not low <= n <= high:  # type: ignore[operator]
                raise ValueError(f"{what} has shape {list(shape)}, not {wants}" + (f": {d} is from {low} to {high}" if isinstance(d, str) else ""))
            if isinstance(d, str) and self.known.setdefault(d, n) != n:
                raise ValueError(f"{what} has shape {list(shape)}, not {wants}: {d} is {self.known[d]} in another dimension")
        if -(-math.prod(shape) * p.bits // 8) > p.bytes:
            raise ValueError(f"{what} has shape {list(shape)}, more than the {p.bytes} bytes that its bounds give it")


# ---- a parameter


def as_array(p: Parameter, value: Any, what: str) -> Array:
    """An array of p's type: numbers and lists of them are converted, arrays must have it."""
    if p.type == "string":
        return np.asarray(value, object)
    found = np.asarray(value)
    exact = found.dtype == p.dtype
    lossy = found.size and (found.dtype.kind in "OUS" or found.dtype.kind in "fc" and p.dtype.kind in "iub")
    if not exact and (isinstance(value, (np.ndarray, np.generic)) or lossy):
        raise TypeError(f"{what} is {found.dtype}, not {p.dtype}")
    return np.require(value if exact else np.asarray(value, p.dtype), requirements=["C", "A"])


def encode(p: Parameter, a: Array) -> tuple[Array, Any]:
    """The bytes of a parameter, and an object that must live while C uses them."""
    if p.type == "string":
        texts = [s if isinstance(s, bytes) else str(s).encode("utf-8", "surrogateescape") for s in a.ravel()]
        text = np.frombuffer(b"".join(texts) + b"\0", np.uint8)
        table = np.zeros(len(texts), STRING)
        table["length"] = [len(t) for t in texts]
        table["text"] = text.ctypes.data + np.cumsum(table["length"]) - table["length"]
        return table, text
    if p.bits >= 8:
        return a, a
    codes = a.astype(np.int8).view(np.uint8) if "int" in p.type else a.view(np.uint8)
    return np.packbits(codes.reshape(-1, 1) >> np.arange(p.bits, dtype=np.uint8) & 1, bitorder="little"), a


def decode(p: Parameter, memory: Array, sizes: Sizes) -> Array:
    shape = [sizes.known[d] if isinstance(d, str) else d or 0 for d in p.dims]
    count = math.prod(shape)
    used = memory[:-(-count * p.bits // 8)]
    if p.type == "string":
        strings = [ctypes.string_at(int(s["text"]), int(s["length"])) if s["length"] else b"" for s in used.view(STRING)]
        return np.array([s.decode("utf-8", "surrogateescape") for s in strings], object).reshape(shape)
    if p.bits < 8:
        bits = np.unpackbits(used, count=count * p.bits, bitorder="little").reshape(-1, p.bits)
        codes = (bits << np.arange(p.bits, dtype=np.uint8)).sum(1, dtype=np.uint8)
        half = 1 << p.bits - 1
        values: Array = (codes ^ half).view(np.int8) - np.int8(half) if p.type.startswith("int") else codes
        return (values.astype(p.dtype) if "int" in p.type else values.view(p.dtype)).reshape(shape)
    return (used if 2 * len(used) >= len(memory) else used.copy()).view(p.dtype).reshape(shape)


# ---- values of the model


def form_text(form: Mapping[str, Any], parts: Iterator[Parameter]) -> str:
    """The type in ONNX's notation: "sequence(float)"."""
    kind, of = form["form"], form.get("of", [])
    if kind == "tensor" or form.get("open"):
        element = next(parts).type
        return element if kind == "tensor" else f"sequence({element})"
    inside = [form_text(f, parts) for f in of]
    return f"map({inside[1]}, {inside[0]})" if kind == "map" else f"{kind}({inside[0] if inside else ''})"


def _absent(form: Mapping[str, Any], parts: Iterator[Parameter], sizes: Sizes) -> list[Array | None]:
    """Placeholders for an optional that has no element."""
    taken = [next(parts) for _ in range(_count(form))]
    return [np.zeros([sizes.known.setdefault(d, sizes.limits[d][0]) if isinstance(d, str) else d or 0 for d in p.dims], p.dtype) for p in taken]


def _count(form: Mapping[str, Any]) -> int:
    if form["form"] == "tensor" or form.get("open"):
        return 3 if form.get("open") else 1
    inside: list[int] = [_count(f) for f in form["of"]]
    return sum(inside) + int(form["form"] == "optional")


def _slots(data: Parameter, width: int, max_items: int, items: Sequence[Any], what: str) -> list[Array | None]:
    """The arrays of an open sequence: a slot for each element, their sizes, their number."""
    slots = np.zeros([d for d in data.dims if isinstance(d, int)], data.dtype)
    dims = np.full((max_items, width), -1, np.int64)
    if data.type == "string":
        slots[:] = ""
    if len(items) > max_items:
        raise ValueError(f"{what} has {len(items)} elements, more than {max_items}")
    for i, item in enumerate(items):
        a = as_array(data, item, f"{what}[{i}]")
        if a.ndim > width or a.size > slots[i].size:
            raise ValueError(f"{what}[{i}] has shape {list(a.shape)}, more than its bounds: {width} dimensions, {slots[i].size} elements")
        slots[i].reshape(-1)[:a.size] = a.ravel()
        dims[i, :a.ndim] = a.shape
    return [slots, dims, np.array(len(items), np.int64)]


def from_python(form: Mapping[str, Any], parts: Iterator[Parameter], value: Any, what: str, sizes: Sizes) -> list[Array | None]:
    """The arrays of a value's parameters; None: a null pointer."""
    kind, of = form["form"], form.get("of", [])
    if kind == "tensor":
        p = next(parts)
        if value is None and p.default is not None:
            sizes.bind(p, p.default, what)
            return [None]
        a = as_array(p, value, what)
        sizes.bind(p, a.shape, what)
        return [a]
    if form.get("open"):
        data, dims, _ = (next(parts) for _ in range(3))
        return _slots(data, dims.dims[1], dims.dims[0], list(value), what)  # type: ignore[arg-type]
    if kind == "map":
        found = [from_python(of[0], parts, list(value.values()), what, sizes), from_python(of[1], parts, list(value.keys()), what, sizes)]
        return found[0] + found[1]
    if value is None:
        arrays = [a for f in of for a in _absent(f, parts, sizes)]
    else:
        arrays = [a for f in of for a in from_python(f, parts, value, what, sizes)]
    next(parts)
    return [*arrays, np.array(value is not None)]


def to_python(form: Mapping[str, Any], arrays: Iterator[Array]) -> Any:
    """The value of these arrays."""
    kind, of = form["form"], form.get("of", [])
    if kind == "tensor":
        return next(arrays)
    if form.get("open"):
        data, dims, count = next(arrays), next(arrays), int(next(arrays))
        shapes = [[d for d in row if d >= 0] for row in dims[:count].tolist()]
        return [slot.reshape(-1)[:math.prod(s)].reshape(s) for slot, s in zip(data, shapes)]
    inside = [to_python(f, arrays) for f in of]
    if kind == "map":
        rows = [dict(zip(inside[1].tolist(), row)) for row in np.atleast_2d(inside[0]).tolist()]
        return rows if inside[0].ndim == 2 else rows[0]
    if kind == "sequence":
        return inside
    return (inside[0] if inside else None) if next(arrays) else None
