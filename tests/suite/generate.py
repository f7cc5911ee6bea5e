"""Writes the official ONNX backend tests of the installed onnx package as files, one folder per test:
FOLDER/KIND/NAME/model.onnx and test_data_set_0/{input,output}_I.pb, and `rtol` where it is not 1e-3.

usage: generate.py FOLDER       (does nothing when FOLDER is complete)
"""

import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import model as model_cases
from onnx.backend.test.loader import DATA_DIR, load_model_tests, load_node_model_tests

from cache import generated
from message import to_proto


def write(folder, model, inputs, outputs, rtol):
    """Writes one test; model is a ModelProto, inputs and outputs are messages."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(model.SerializeToString())
    for kind, protos in (("input", inputs), ("output", outputs)):
        for i, proto in enumerate(protos):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(proto.SerializeToString())
    if rtol != 1e-3:
        with open(os.path.join(folder, "rtol"), "w") as f:
            f.write(f"{rtol}\n")


def data_inputs(model):
    """The graph inputs without an initializer, which a caller passes."""
    given = {t.name for t in model.graph.initializer} | {t.values.name for t in model.graph.sparse_initializer}
    return [v for v in model.graph.input if v.name not in given]


def write_case(folder, case):
    """Writes a test that the onnx package creates in memory."""
    assert len(case.data_sets) == 1
    inputs, outputs = case.data_sets[0]
    graph = case.model.graph
    declared = data_inputs(case.model)
    assert len(declared) == len(inputs) and len(graph.output) == len(outputs), case.name
    write(
        folder,
        case.model,
        [to_proto(x, v.type, v.name) for x, v in zip(inputs, declared)],
        [to_proto(y, v.type, v.name) for y, v in zip(outputs, graph.output)],
        case.rtol,
    )


def write_light(folder, case):
    """Writes the test of a large model, for which the package has only the output; the input is 0, 1/n, 2/n ..."""
    base = os.path.join(DATA_DIR, "light", os.path.basename(case.url))
    model = onnx.load(base)
    inputs = []
    for v in data_inputs(model):
        shape = [d.dim_value if d.HasField("dim_value") else 1 for d in v.type.tensor_type.shape.dim]
        n = int(np.prod(shape))
        inputs.append(numpy_helper.from_array((np.arange(n).reshape(shape) / n).astype(np.float32), v.name))
    outputs = []
    for i in range(len(model.graph.output)):
        with open(f"{os.path.splitext(base)[0]}_output_{i}.pb", "rb") as f:
            outputs.append(onnx.TensorProto.FromString(f.read()))
    write(folder, model, inputs, outputs, case.rtol)


def write_random(folder):
    """Writes two tests of random operators, large enough to test frequencies; the expected outputs give only shape and type."""
    x = np.linspace(0, 1, 10000, dtype=np.float32)
    scalar = {"ratio": np.array(0.25, np.float32), "training": np.array(True)}
    cases = [
        ("bernoulli", ["x"], {"x": x}, {"y": x}),
        ("dropout", ["x", "ratio", "training"], {"x": x + 1, **scalar}, {"y": x, "mask": x.astype(bool)}),
    ]
    for name, arguments, inputs, outputs in cases:
        node = onnx.helper.make_node(name.capitalize(), arguments, list(outputs))
        declare = [
            [onnx.helper.make_tensor_value_info(k, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for k, v in values.items()]
            for values in (inputs, outputs)
        ]
        model = onnx.helper.make_model(
            onnx.helper.make_graph([node], name, *declare), opset_imports=[onnx.helper.make_opsetid("", 22)], ir_version=10
        )
        protos = [[numpy_helper.from_array(v, k) for k, v in values.items()] for values in (inputs, outputs)]
        write(os.path.join(folder, f"test_{name}_large"), model, *protos, 1e-3)
    return len(cases)


def write_all(folder):
    warnings.simplefilter("ignore", RuntimeWarning)  # overflows are intended
    count = 0
    for case in load_node_model_tests():
        write_case(os.path.join(folder, "node", case.name), case)
        count += 1
    for case in model_cases.collect_testcases():
        if case.kind == "simple":
            write_case(os.path.join(folder, "simple", case.name), case)
        else:
            write_light(os.path.join(folder, "light", case.name.replace("test_", "light_", 1)), case)
        count += 1
    for kind in "pytorch-operator", "pytorch-converted":
        for case in load_model_tests(kind=kind):
            shutil.copytree(case.model_dir, os.path.join(folder, kind, case.name))
            count += 1
    return count, write_random(os.path.join(folder, "random"))


def main():
    folder = os.path.abspath(sys.argv[1])
    versions = f"onnx {onnx.__version__}", f"numpy {np.__version__}"
    with generated(folder, [__file__], *versions) as new:
        if new:
            print(f"suite: writing the tests of {', '.join(versions)}", flush=True)
            official, own = write_all(new)
            print(f"suite: {official} tests, and {own} of our own")


main()
