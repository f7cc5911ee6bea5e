"""A network in TensorFlow Lite Micro beside ONNX Runtime: tflm.py FOLDER SECONDS. Prints JSON: "time", the median over the rounds of an
inference's time divided by ONNX Runtime's, both on one processor in turns; "model" and "arena", bytes.

FOLDER has model.onnx of convolutions, dense layers, sums, means and softmax, in floats or as quantised by ONNX Runtime's QDQ form, and
test_data_set_0. Its .tflite has the same weights, scales and layers, in TensorFlow's order NHWC. The package tflite-micro has its
reference kernels. Results that differ from the data set's by more than 5 % of the largest are an error."""
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

import flatbuffers
import numpy as np
import onnx
import onnxruntime
import tflite
from onnx import numpy_helper
from tflite_micro.python.tflite_micro import runtime

TYPES = {np.dtype(np.float32): tflite.TensorType.FLOAT32, np.dtype(np.int8): tflite.TensorType.INT8,
         np.dtype(np.int32): tflite.TensorType.INT32}
RELU = {False: tflite.ActivationFunctionType.NONE, True: tflite.ActivationFunctionType.RELU}
LAST_OLD_CODE = 127    # codes above it do not fit into the first field for them


class Writer:
    """One graph's tensors and operators in a flatbuffer."""

    def __init__(self):
        self.b, self.tensors, self.operators, self.codes = flatbuffers.Builder(0), [], [], []
        self.buffers = [self.table("Buffer")]

    def table(self, kind, **fields):
        getattr(tflite, f"{kind}Start")(self.b)
        for name, value in fields.items():
            getattr(tflite, f"{kind}Add{name}")(self.b, value)
        return getattr(tflite, f"{kind}End")(self.b)

    def vector(self, values, dtype=np.int32):
        return self.b.CreateNumpyVector(np.asarray(values, dtype))

    def tables(self, offsets):
        self.b.StartVector(4, len(offsets), 4)
        for o in reversed(offsets):
            self.b.PrependUOffsetTRelative(o)
        return self.b.EndVector()

    def tensor(self, shape, dtype, quantisation=None, data=None):
        """The index of a new tensor. quantisation: (scales, zero points, axis of the scales)."""
        fields = {"Shape": self.vector(shape), "Type": TYPES[np.dtype(dtype)], "Buffer": 0, "Name": self.b.CreateString(f"{len(self.tensors)}")}
        if quantisation:
            scales, zeros, axis = quantisation
            fields["Quantization"] = self.table("QuantizationParameters", Scale=self.vector(scales, np.float32),
                                                ZeroPoint=self.vector(zeros, np.int64), QuantizedDimension=axis)
        if data is not None:
            self.b.StartVector(1, data.nbytes, 16)
            self.b.head -= data.nbytes
            self.b.Bytes[self.b.head:self.b.head + data.nbytes] = np.ascontiguousarray(data).tobytes()
            fields["Buffer"] = len(self.buffers)
            self.buffers.append(self.table("Buffer", Data=self.b.EndVector()))
        self.tensors.append(self.table("Tensor", **fields))
        return len(self.tensors) - 1

    def constant(self, data, quantisation=None):
        return self.tensor(data.shape, data.dtype, quantisation, data)

    def operator(self, name, inputs, output, options, **fields):
        """An operator; options: its table of options, with these fields."""
        code = getattr(tflite.BuiltinOperator, name)
        if code not in self.codes:
            self.codes.append(code)
        self.operators.append(self.table(
            "Operator", OpcodeIndex=self.codes.index(code), Inputs=self.vector(inputs), Outputs=self.vector([output]),
            BuiltinOptionsType=getattr(tflite.BuiltinOptions, options), BuiltinOptions=self.table(options, **fields)))

    def file(self, source, result):
        graph = self.table("SubGraph", Tensors=self.tables(self.tensors), Inputs=self.vector([source]), Outputs=self.vector([result]),
                           Operators=self.tables(self.operators))
        codes = [self.table("OperatorCode", DeprecatedBuiltinCode=min(c, LAST_OLD_CODE), BuiltinCode=c, Version=1) for c in self.codes]
        self.b.Finish(self.table("Model", Version=3, OperatorCodes=self.tables(codes), Subgraphs=self.tables([graph]),
                                 Buffers=self.tables(self.buffers)), b"TFL3")
        return bytes(self.b.Output())


class Network:
    """An ONNX network, written as .tflite."""

    def __init__(self, model):
        g = onnx.shape_inference.infer_shapes(model).graph
        self.values = {t.name: numpy_helper.to_array(t) for t in g.initializer}
        self.shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in [*g.input, *g.output, *g.value_info]}
        self.nodes, self.w, self.at, self.scales = list(g.node), Writer(), {}, {}
        for n in self.nodes:
            if n.op_type == "DequantizeLinear" and n.input[0] in self.values:
                self.values[n.output[0]] = self.values[n.input[0]]
                self.scales[n.output[0]] = self.values[n.input[1]], self.values[n.input[2]]
        self.readers = {i: n for n in self.nodes for i in n.input}
        source, result = g.input[0].name, g.output[0].name
        self.at[source] = self.tensor(source)
        for n in self.nodes:
            if n.input[0] not in self.values and n.output[0] not in self.at:
                getattr(self, n.op_type)(n, {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute})
        end = self.at[result]
        if result in [n.output[0] for n in self.nodes if n.op_type == "DequantizeLinear"]:
            end = self.tensor(result)
            self.w.operator("DEQUANTIZE", [self.at[result]], end, "DequantizeOptions")
        self.bytes = self.w.file(self.at[source], end)

    def tensor(self, name, quantisation=None):
        shape = self.shapes[name]
        shape = [shape[i] for i in (0, 2, 3, 1)] if len(shape) == 4 else shape
        return self.w.tensor(shape, np.int8 if quantisation else np.float32, quantisation)

    def quantised(self, n, quantisation=None):
        """The tensor of a QuantizeLinear's output, and of all that dequantises it."""
        t = self.tensor(n.output[0], quantisation or ([float(self.values[n.input[1]])], [int(self.values[n.input[2]])], 0))
        self.at.update(dict.fromkeys([n.output[0], *[m.output[0] for m in self.nodes if m.input[0] == n.output[0]]], t))
        return t

    def emit(self, n, name, inputs, options, relu=True, **fields):
        """An operator for the node, with the Relu and the QuantizeLinear that follow it."""
        after, names = self.readers.get(n.output[0]), [n.output[0]]
        if relu:
            follows = after is not None and after.op_type == "Relu"
            fields["FusedActivationFunction"] = RELU[follows]
            if follows:
                names, after = [*names, after.output[0]], self.readers.get(after.output[0])
        if after is not None and after.op_type == "QuantizeLinear":
            # Of softmax TensorFlow Lite has these only.
            t = self.quantised(after, ([1 / 256], [-128], 0) if name == "SOFTMAX" else None)
        else:
            t = self.tensor(n.output[0])
        self.at.update(dict.fromkeys(names, t))
        self.w.operator(name, inputs, t, options, **fields)

    def QuantizeLinear(self, n, _):
        self.w.operator("QUANTIZE", [self.at[n.input[0]]], self.quantised(n), "QuantizeOptions")

    def weights(self, name, order, axis):
        """A constant, its axes in this order; axis: that of the scales, in the new order."""
        q = None
        if name in self.scales:
            scale, zero = self.scales[name]
            q = np.atleast_1d(scale).astype(np.float32).tolist(), np.atleast_1d(zero).astype(np.int64).tolist(), axis
        v = self.values[name]
        return self.w.constant(np.ascontiguousarray(v.transpose(order) if order else v), q)

    def Conv(self, n, a):
        x, y = self.shapes[n.input[0]], self.shapes[n.output[0]]
        kernel, strides = a["kernel_shape"], a["strides"]
        total = [max((o - 1) * s + k - i, 0) for i, o, s, k in zip(x[2:], y[2:], strides, kernel)]
        assert a["pads"] == [t // 2 for t in total] + [t - t // 2 for t in total], "other Padding than SAME"
        deep = a["group"] > 1
        assert a["group"] in (1, x[1])
        w = self.weights(n.input[1], (1, 2, 3, 0) if deep else (0, 2, 3, 1), 3 if deep else 0)
        fields = {"Padding": tflite.Padding.SAME, "StrideH": strides[0], "StrideW": strides[1], "DilationHFactor": 1, "DilationWFactor": 1}
        if deep:
            fields["DepthMultiplier"] = y[1] // x[1]
        self.emit(n, "DEPTHWISE_CONV_2D" if deep else "CONV_2D", [self.at[n.input[0]], w, self.weights(n.input[2], None, 0)],
                  "DepthwiseConv2DOptions" if deep else "Conv2DOptions", **fields)

    def Gemm(self, n, a):
        w = self.weights(n.input[1], None if a.get("transB") else (1, 0), 0)
        self.emit(n, "FULLY_CONNECTED", [self.at[n.input[0]], w, self.weights(n.input[2], None, 0)], "FullyConnectedOptions")

    def Add(self, n, _):
        self.emit(n, "ADD", [self.at[i] for i in n.input], "AddOptions")

    def GlobalAveragePool(self, n, _):
        axes = self.w.constant(np.array([1, 2], np.int32))
        self.emit(n, "MEAN", [self.at[n.input[0]], axes], "ReducerOptions", relu=False, KeepDims=True)

    def AveragePool(self, n, a):
        assert self.shapes[n.output[0]][2:] == [1, 1] and a["kernel_shape"] == self.shapes[n.input[0]][2:]
        self.GlobalAveragePool(n, a)

    def Flatten(self, n, _):
        shape = self.w.constant(np.array(self.shapes[n.output[0]], np.int32))
        self.emit(n, "RESHAPE", [self.at[n.input[0]], shape], "ReshapeOptions", relu=False)

    def Softmax(self, n, _):
        self.emit(n, "SOFTMAX", [self.at[n.input[0]]], "SoftmaxOptions", relu=False, Beta=1.0)


def arena(interpreter):
    """Bytes that the interpreter uses of its arena, which it says on the standard error only."""
    with tempfile.TemporaryFile() as f:
        kept = os.dup(2)
        os.dup2(f.fileno(), 2)
        interpreter.print_allocations()
        os.dup2(kept, 2)
        f.seek(0)
        return int(re.search(rb"Arena allocation total (\d+) bytes", f.read())[1])


def main(folder, seconds):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    folder = pathlib.Path(folder)
    model = Network(onnx.load(folder / "model.onnx")).bytes
    (x,), (expected,) = [[numpy_helper.to_array(onnx.load_tensor(folder / f"test_data_set_0/{way}put_0.pb"))] for way in ("in", "out")]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    interpreter = runtime.Interpreter.from_bytes(model)
    interpreter.set_input(x.transpose(0, 2, 3, 1) if x.ndim == 4 else x, 0)
    interpreter.invoke()
    error = np.abs(interpreter.get_output(0) - expected).max() / np.abs(expected).max()
    if not error < 0.05:
        sys.exit(f"results differ by {error:.2f} of the largest")
    rounds, end = [], time.monotonic() + float(seconds)
    while time.monotonic() < end or len(rounds) < 3:
        times = []
        for f in (lambda: session.run(None, {name: x}), interpreter.invoke):
            start, calls = time.process_time(), 0
            while calls < 3 or time.process_time() - start < 0.02:
                f()
                calls += 1
            times.append((time.process_time() - start) / calls)
        rounds.append(times[1] / times[0])
    print(json.dumps({"time": statistics.median(rounds), "model": len(model), "arena": arena(interpreter), "error": float(error)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
