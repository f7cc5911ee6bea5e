"""Writes small random models of one operator each in the form of the official tests: FOLDER/node/fuzz_NUMBER_OPERATOR.
What is expected comes from ONNX Runtime, its optimisations off; where that refuses the model, from ONNX's reference
evaluator; where that does, too, there is no test. Model NUMBER of a seed is the same every time.

usage: generate.py FOLDER COUNT SEED       (does nothing when FOLDER is complete)
"""

import os
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from cache import generated
import joins  # noqa: F401  (its families, and those of networks, join those of operators)
import networks  # noqa: F401
import operators
from recorded import REFERENCE_IS_RIGHT, REFERENCE_IS_WRONG, RUNTIME_IS_RIGHT, is_recorded

NEWEST_OF_RUNTIME = 24


def options():
    o = onnxruntime.SessionOptions()
    o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.log_severity_level = 4
    return o


OPTIONS = options()


def outputs_of(case):
    return case.names or [f"y{i}" for i in case.wanted]


def model_of(case):
    """(model, {input: array}); the inputs that the case calls constant are initializers."""
    given, held, feed, names = [], [], {}, []
    for i, x in enumerate(case.inputs):
        names.append(f"x{i}" if x is not None else "")
        if x is None:
            continue
        if i in case.consts:
            held.append(numpy_helper.from_array(x, names[-1]))
        else:
            given.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
            feed[names[-1]] = x
    while names and not names[-1]:
        names.pop()
    nodes = case.nodes
    if not nodes:
        outputs = [f"y{i}" if i in case.wanted else "" for i in range(max(case.wanted) + 1)]
        nodes = [helper.make_node(case.op, names, outputs, **case.attrs)]
    graph = helper.make_graph(nodes, case.op, given, [onnx.ValueInfoProto(name=y) for y in outputs_of(case)], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.version)], ir_version=8)
    return model, feed


def declare_outputs(model, results):
    del model.graph.output[:]
    for name, y in results:
        model.graph.output.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(y.dtype), y.shape))


def is_valid(model):
    """Types and shapes as the schemas of the operators have them."""
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception:  # pylint: disable=broad-except
        return False
    return True


def by_runtime(case, model, feed, names):
    if case.version > NEWEST_OF_RUNTIME:
        return None
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"]).run(names, feed)
    except Exception:  # pylint: disable=broad-except - it refuses in many ways
        return None


def by_reference(model, feed, names):
    try:
        return [np.asarray(y) for y in ReferenceEvaluator(model).run(names, feed)]
    except Exception:  # pylint: disable=broad-except
        return None


def agree(a, b):
    return all(x.shape == y.shape and np.allclose(x, y, rtol=1e-2, atol=1e-4, equal_nan=True) for x, y in zip(a, b))


def expected(case, model, feed):
    """The outputs, or None when nobody can tell: where the two contradict each other, one of them contradicts the text."""
    names = outputs_of(case)
    if not is_valid(model):
        return None
    a, b = by_runtime(case, model, feed, names), by_reference(model, feed, names)
    if a and b and not agree(a, b):
        return a if case.op in RUNTIME_IS_RIGHT else b if case.op in REFERENCE_IS_RIGHT else None
    return a or (b if case.op not in REFERENCE_IS_WRONG else None)


def write(folder, model, feed, results, rtol):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, values in (("input", feed.items()), ("output", results)):
        for i, (name, x) in enumerate(values):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(x), name).SerializeToString())
    with open(os.path.join(folder, "rtol"), "w") as f:
        f.write(f"{rtol}\n")
    largest = max([float(np.abs(y[np.isfinite(y)]).max(initial=0)) for _, y in results if y.dtype.kind == "f"], default=0)
    with open(os.path.join(folder, "atol"), "w") as f:
        f.write(f"{max(1e-6, 1e-5 * largest)}\n")


def write_all(folder, count, seed):
    written = 0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        case = operators.random_case(rng)
        if case is None or is_recorded(case):
            continue
        model, feed = model_of(case)
        results = expected(case, model, feed)
        if results is None or any(y is None or y.dtype == object for y in results):
            continue
        results = [(name, np.asarray(y)) for name, y in zip(outputs_of(case), results)]
        declare_outputs(model, results)
        write(os.path.join(folder, "node", f"fuzz_{seed}_{number}_{case.op}{'_graph' if case.nodes else ''}"), model, feed, results, case.rtol)
        written += 1
    return written


def main():
    folder, count, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sources = [os.path.join(os.path.dirname(__file__), f) for f in ("generate.py", "operators.py", "networks.py", "joins.py", "recorded.py")]
    with generated(folder, sources, f"{count} of {seed}", f"onnxruntime {onnxruntime.__version__}") as stale:
        if stale:
            os.makedirs(folder)
            print(f"fuzz-ops: {write_all(folder, count, seed)} of {count} random models have an expected result")


main()
