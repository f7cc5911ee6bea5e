"""Helpers for calls of operators: values of every type, and the registry of calls."""

import dataclasses
from typing import Callable

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MAKERS = {}


@dataclasses.dataclass
class Call:
    """One node. inputs: arrays, lists (sequences), None; consts: the indices of inputs that are initializers; by: a function that computes
    the results from the inputs in wider types, in place of the reference and the runtime; trust: only this one of these two is used;
    formal: the inputs' types if they are not the schema's; around: {name: (value, type)}, outer values that its graphs read; before: nodes
    that the model needs before it."""

    inputs: list
    attrs: dict = dataclasses.field(default_factory=dict)
    consts: tuple = ()
    outputs: int = 1
    by: Callable | None = None
    trust: str = ""
    widen: bool = True
    formal: dict = dataclasses.field(default_factory=dict)
    around: dict = dataclasses.field(default_factory=dict)
    before: list = dataclasses.field(default_factory=list)


def register(table, *names, domain=""):
    """A decorator that registers the function for these operators in the table."""
    def put(f):
        for name in names:
            assert (domain, name) not in table, name
            table[domain, name] = f
        return f

    return put


def calls(*names, domain=""):
    """A decorator: the function, Cell -> Call, makes calls of these operators."""
    return register(MAKERS, *names, domain=domain)


# ---- types --------------------------------------------------------------------------------------------------------------------


def kind_of(t):
    return t.split("(")[0] if "(" in t else t if t in ("seq", "optional", "map") else "tensor"


def element(t):
    """The innermost type of a container."""
    return t.replace(")", "").split("(")[-1]


def number(t):
    """The type's number in TensorProto."""
    return TensorProto.DataType.Value(t.upper())


def dtype(t):
    return np.dtype(object) if t == "string" else helper.tensor_dtype_to_np_dtype(number(t))


def is_int(t):
    return t.startswith(("int", "uint"))


def is_float(t):
    return t in ("float", "double", "float16", "bfloat16")


def type_proto(x, t):
    """The TypeProto of value x of type t."""
    if kind_of(t) == "seq":
        shapes = {np.shape(v) for v in x or []}
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(number(element(t)), shapes.pop() if len(shapes) == 1 else None))
    if kind_of(t) == "optional":
        return helper.make_optional_type_proto(type_proto(x, t[len("optional("):-1]))
    return helper.make_tensor_type_proto(number(t), np.shape(x))


def data_proto(x, declared):
    """The message that stores a value in a file."""
    if declared.type.HasField("optional_type"):
        of = onnx.OptionalProto.SEQUENCE if isinstance(x, list) else onnx.OptionalProto.TENSOR
        return numpy_helper.from_optional(x, declared.name, of)
    if isinstance(x, list):
        return numpy_helper.from_list(x, declared.name, onnx.SequenceProto.TENSOR)
    return numpy_helper.from_array(x, declared.name)


# ---- values -------------------------------------------------------------------------------------------------------------------


def values(t, shape, low=-3, high=3, at=0):
    """Different numbers from low to high, rounded to the type."""
    n = int(np.prod(shape))
    order = (np.arange(n) * 7 + 3 * at + 1) % 11 / 10 if n < 12 else (np.arange(n) * 37 + 11 * at) % 101 / 100
    return to_type((low + (high - low) * order).reshape(shape), t)


def to_type(x, t):
    """x in the type t, rounded as Cast does, kept in its range."""
    if isinstance(x, (list, tuple)) and (kind_of(t) != "tensor"):
        return [to_type(v, element(t)) for v in x]
    if x is None:
        return None
    x = np.asarray(x)
    t = element(t)
    kind = dtype(t)
    if x.dtype == kind:
        return x
    if t == "string":
        return np.array([f"{v:g}" if not isinstance(v, str) else v for v in x.ravel()], dtype=object).reshape(x.shape)
    if t == "bool":
        return x > 0
    if t.startswith("complex"):
        return (x + 1j * x[::-1] if x.dtype.kind != "c" and x.ndim else x).astype(kind)
    if is_int(t):
        if x.dtype.kind == "f":
            info = ml_dtypes.iinfo(kind)
            x = np.clip(np.rint(np.abs(x) if info.min == 0 else x), info.min, min(info.max, 2**53))
        return x.astype(kind)
    if t == "float8e8m0":
        x = np.exp2(np.rint(x.astype(np.float64)))
    if t.startswith(("float4", "float6")):
        top = float(ml_dtypes.finfo(kind).max)
        x = np.clip(x.astype(np.float64), -top, top)
    return x.astype(kind)


def ints(*v):
    return np.array(v, np.int64)


def floats(*v):
    return np.array(v, np.float32)
