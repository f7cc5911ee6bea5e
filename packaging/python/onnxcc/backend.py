"""The interface onnx.backend (needs the package onnx):

    import onnxcc.backend
    outputs = onnxcc.backend.prepare(model).run([x])

A model whose inputs are of open size is compiled when it is run, for the sizes of these inputs."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from .function import Function, Outputs, compile


def _is_open(v: onnx.ValueInfoProto) -> bool:
    """Does it have sizes that the compiler must be given?"""
    kind = v.type.WhichOneof("value")
    tensor = v.type.tensor_type
    return kind not in ("tensor_type", None) or not tensor.HasField("shape") or tensor.elem_type == onnx.TensorProto.STRING or \
        any(d.WhichOneof("value") != "dim_value" for d in tensor.shape.dim)


def _longest(x: Any) -> int:
    return max([8, *(len(s if isinstance(s, bytes) else str(s).encode()) for s in np.asarray(x, object).ravel())])


def _limits(v: onnx.ValueInfoProto, x: Any, shapes: dict[str, Sequence[int]], bounds: dict[str, int]) -> None:
    """Adds the sizes of an input, or bounds of them, to `shapes` or `bounds`."""
    kind = v.type.optional_type.elem_type if v.type.HasField("optional_type") else v.type
    if kind.HasField("sequence_type"):
        items = [np.shape(a) for a in x if a is not None] if x is not None else []
        rank = max(map(len, items), default=len(kind.sequence_type.elem_type.tensor_type.shape.dim))
        shapes[v.name] = (max(1, len(items)), *(max([1, *(s[k] for s in items if k < len(s))]) for k in range(rank)))
    elif kind.HasField("map_type"):
        bounds[f"{v.name}_count"] = len(x)
    elif x is not None:
        shapes.update({v.name: np.shape(x)} if np.ndim(x) else {})
        if kind.tensor_type.elem_type == onnx.TensorProto.STRING:
            bounds[f"{v.name}_text"] = _longest(x)


class OnnxccRep(BackendRep):
    """A prepared model."""
    def __init__(self, model: onnx.ModelProto, options: Mapping[str, Any]) -> None:
        self.model, self.options = model, options
        constant = {t.name for t in [*model.graph.initializer]} | {t.values.name for t in model.graph.sparse_initializer}
        self.inputs = [v for v in model.graph.input if v.name not in constant]
        self.compiled: dict[str, Function] = {}
        if not any(map(_is_open, self.inputs)) or options:
            self.compiled[""] = compile(model, **options)

    def _function(self, inputs: Mapping[str, Any]) -> Function:
        if "" in self.compiled:
            return self.compiled[""]
        shapes: dict[str, Sequence[int]] = {}
        bounds: dict[str, int] = {}
        for v in filter(_is_open, self.inputs):
            _limits(v, inputs.get(v.name), shapes, bounds)
        key = repr((shapes, bounds))
        if key not in self.compiled:
            self.compiled[key] = compile(self.model, shapes=shapes, bounds=bounds)
        return self.compiled[key]

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """inputs: a list, in the model's order; a dict, by names; or the only one. Returns the outputs as a named tuple."""
        if not isinstance(inputs, (list, tuple, dict)):
            inputs = [inputs]
        named = inputs if isinstance(inputs, dict) else dict(zip([v.name for v in self.inputs], inputs))
        f = self._function(named)
        results = f(**named)
        names = [t.name for t in f.outputs]
        return namedtupledict("Outputs", names)(*(results if isinstance(results, Outputs) else (results,)))


class OnnxccBackend(Backend):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> OnnxccRep:
        """kwargs: arguments of onnxcc.compile."""
        if not cls.supports_device(device):
            raise ValueError(f"onnxcc runs on the CPU, not on {device}")
        super().prepare(model, device)
        return OnnxccRep(model, kwargs)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
        """kwargs: opset_version of the node's domain (by default the newest that onnx has); arguments of onnxcc.compile."""
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        named = inputs if isinstance(inputs, dict) else dict(zip(filter(None, node.input), inputs))
        arrays = {k: np.asarray(x) for k, x in named.items()}
        given = [onnx.helper.make_tensor_value_info(k, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for k, a in arrays.items()]
        made = [onnx.helper.make_empty_tensor_value_info(k) for k in node.output if k]
        imports = [onnx.helper.make_opsetid(node.domain, version)]
        model = onnx.helper.make_model(onnx.helper.make_graph([node], "node", given, made), opset_imports=imports)
        model.ir_version = onnx.helper.find_min_ir_version_for(imports, ignore_unknown=True)
        return OnnxccRep(model, kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return bool(Device(device).type == DeviceType.CPU)


prepare = OnnxccBackend.prepare
run_model = OnnxccBackend.run_model
run_node = OnnxccBackend.run_node
supports_device = OnnxccBackend.supports_device
is_compatible = OnnxccBackend.is_compatible
