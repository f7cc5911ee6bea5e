"""Converts values to ONNX's messages, writes the files of a test, and quotes a model's names for options."""
import os
import re

import numpy as np
import onnx
from onnx import MapProto, OptionalProto, SequenceProto, TensorProto, helper, numpy_helper


def to_proto(value, declared, name):
    """A message of the declared type, from an array, a message, a list or None."""
    if declared.HasField("sequence_type"):
        seq = SequenceProto(name=name)
        of = declared.sequence_type.elem_type
        kind = of.WhichOneof("value").removesuffix("_type")
        seq.elem_type = getattr(SequenceProto, kind.upper())
        items = getattr(seq, f"{kind}_values")
        for item in value:
            items.add().CopyFrom(to_proto(item, of, ""))
        return seq
    if declared.HasField("optional_type"):
        opt = OptionalProto(name=name)
        of = declared.optional_type.elem_type
        if value is None:
            opt.elem_type = OptionalProto.UNDEFINED
        elif of.HasField("sequence_type"):
            opt.elem_type = OptionalProto.SEQUENCE
            opt.sequence_value.CopyFrom(to_proto(value, of, ""))
        else:
            opt.elem_type = OptionalProto.TENSOR
            opt.tensor_value.CopyFrom(to_proto(value, of, ""))
        return opt
    if declared.HasField("map_type"):
        strings = declared.map_type.key_type == TensorProto.STRING
        entries = MapProto(name=name, key_type=declared.map_type.key_type)
        (entries.string_keys if strings else entries.keys).extend(k.encode() if strings else k for k in value)
        entries.values.elem_type = SequenceProto.TENSOR
        for v in value.values():
            entries.values.tensor_values.add().CopyFrom(to_proto(v, declared.map_type.value_type, ""))
        return entries
    if isinstance(value, TensorProto):
        return value
    kind = declared.tensor_type.elem_type
    return numpy_helper.from_array(np.asarray(value, helper.tensor_dtype_to_np_dtype(kind) if isinstance(value, (int, float, str)) else None), name)


def write_test(folder, model, inputs, outputs, **tolerances):
    """FOLDER/model.onnx and FOLDER/test_data_set_0/{input,output}_I.pb, of the types that the model declares; tolerances: rtol, atol."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, values, declared in ("input", inputs, model.graph.input), ("output", outputs, model.graph.output):
        for i, (x, v) in enumerate(zip(values, declared)):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(to_proto(x, v.type, v.name).SerializeToString())
    for name, value in tolerances.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(f"{value}\n")


def quoted(name):
    """A name of the model for an option: a \\ before each of the characters * = < and \\."""
    return re.sub(r"([*=<\\])", r"\\\1", name)
