"""Writes small random models in the form of the official tests: FOLDER/node/fuzz_SEED_NUMBER_OPERATOR, COUNT of them.
The expected results come from ONNX Runtime without optimisations; if that refuses the model, from ONNX's reference
evaluator; if that refuses it, too, the number is skipped. Model NUMBER of a seed is the same every time.

In Python a tensor is an array; a sequence, which only a result can be, is a list of one or more; maps.py has the form of a map.

usage: generate.py FOLDER COUNT SEED       (does nothing when FOLDER is complete)
"""

import itertools
import os
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from cache import generated
from message import write_test
import draws  # noqa: F401  (the imported modules register their families in operators)
import gradients  # noqa: F401
import nets  # noqa: F401
import images  # noqa: F401
import joins  # noqa: F401
import maps
import microsoft  # noqa: F401
import narrow  # noqa: F401
import networks  # noqa: F401
import older  # noqa: F401
import operators
import rest  # noqa: F401
import trees  # noqa: F401
from plain import session_of
from recorded import NOBODY, REFERENCE, RUNTIME, right

NEWEST_OF_RUNTIME = 24


def run_time_sizes(case, rng):
    """{size: its name}: the sizes of the inputs that become run-time sizes; not those that a constant also has."""
    if not case.sizes or rng.random() > 0.3:
        return {}
    free, fixed = set(), set()
    for i, x in enumerate(case.inputs):
        if x is not None:
            (fixed if i in (*case.consts, *case.fixed) else free).update(x.shape)
    return {d: f"n{d}" for d in sorted(free - fixed - {0, 1}) if rng.random() < 0.7}


def outputs_of(case):
    return case.names or [f"y{i}" for i in case.wanted]


def model_of(case, sizes):
    """(model, {input: array}); the inputs that the case calls constant are initializers."""
    given, held, feed, names = [], [], {}, []
    for i, x in enumerate(case.inputs):
        names.append(f"x{i}" if x is not None else "")
        if x is None:
            continue
        if i in case.consts:
            held.append(numpy_helper.from_array(x, names[-1]))
        else:
            shape = x.shape if i in case.fixed else [sizes.get(d, d) for d in x.shape]
            shape = ["n", *shape[1:]] if i in case.batch else shape
            given.append(helper.make_value_info(names[-1], type_of(x, shape)))
            feed[names[-1]] = maps.as_maps(np.asarray(x))
    while names and not names[-1]:
        names.pop()
    results = [f"y{i}" if i in case.wanted else "" for i in range(max(case.wanted) + 1)]
    nodes = case.nodes or [helper.make_node(case.op, names, results, domain=case.domain, **case.attrs)]
    graph = helper.make_graph(nodes, case.op, given, [onnx.ValueInfoProto(name=y) for y in outputs_of(case)], held)
    imports = [helper.make_opsetid("", NEWEST_OF_RUNTIME if case.domain else case.version)]
    if case.domain:
        imports.append(helper.make_opsetid(case.domain, case.version))
    narrow_types = any(x is not None and x.dtype in operators.NARROW for x in case.inputs)
    return helper.make_model(graph, opset_imports=imports, ir_version=onnx.IR_VERSION if narrow_types else 8), feed


def onnx_type(x):
    return TensorProto.STRING if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype)


def type_of(x, shape):
    if isinstance(x, list):
        return helper.make_sequence_type_proto(type_of(x[0], None))
    if not maps.is_map(x):
        return helper.make_tensor_type_proto(onnx_type(x), shape)
    entries = helper.make_map_type_proto(onnx_type(x["key"]), type_of(x["value"], ()))
    return entries if x.ndim == 1 else helper.make_sequence_type_proto(entries)


def declare_outputs(model, results, sizes):
    del model.graph.output[:]
    for name, y in results:
        shape = None if isinstance(y, list) else [f"{name}_{k}" for k in range(y.ndim)] if sizes else y.shape
        model.graph.output.append(helper.make_value_info(name, type_of(y, shape)))


def types_of(model):
    """The types of the outputs by the operators' schemas, 0 for unknown ones; None: the schemas do not admit the model."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception:  # pylint: disable=broad-except
        return None
    return [y.type.tensor_type.elem_type for y in inferred.graph.output]


def by_runtime(case, model, feed, names):
    if case.version > NEWEST_OF_RUNTIME and not case.domain:
        return None
    try:
        results = session_of(model).run(names, feed)
        return [maps.as_entries(y, case.attrs) if case.op == "ZipMap" else y for y in results]
    except Exception:  # pylint: disable=broad-except - it refuses in many ways
        return None


def by_reference(model, feed, names):
    try:
        return ReferenceEvaluator(model).run(names, feed)
    except Exception:  # pylint: disable=broad-except
        return None


def agree(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(map(agree, a, b))
    return a.shape == b.shape and (np.array_equal(a, b) if a.dtype == object else np.allclose(a, b, rtol=1e-2, atol=1e-4, equal_nan=True))


def as_arrays(y):
    if isinstance(y, list):
        return [as_arrays(x) for x in y]
    y = np.asarray(y)
    return y.astype(object) if y.dtype.kind == "U" else y


def with_types(results, types):
    """The results in the declared types, since ONNX Runtime returns other 8-bit types as uint8. None: a result has another type."""
    if results is None or any(y is None for y in results):
        return None
    results = as_arrays(list(results))
    for i, (y, t) in enumerate(zip(results, types)):
        if t not in (TensorProto.UNDEFINED, TensorProto.STRING) and onnx_type(y) != t:
            declared = helper.tensor_dtype_to_np_dtype(t)
            if y.dtype != np.uint8 or declared.itemsize != 1:
                return None
            results[i] = y.view(declared)
    return results


def expected(case, model, feed):
    """The outputs; None: no evaluator computes them."""
    names = outputs_of(case)
    types = types_of(model)
    what = right(case)
    if types is None or what == NOBODY:
        return None
    if case.same:
        return expected(case.same, *model_of(case.same, {}))
    if callable(what):
        return what(case)
    a = with_types(by_runtime(case, model, feed, names), types) if what != REFERENCE else None
    b = with_types(by_reference(model, feed, names), types) if what != RUNTIME else None
    if a and b and not agree(a, b):
        CONTRADICTIONS.append(case)
        return None
    return a or b


CONTRADICTIONS = []  # between ONNX Runtime and the reference, about which recorded.py has no line


def write(folder, model, feed, results, rtol):
    write_test(folder, model, feed.values(), [maps.as_maps(y) for _, y in results])
    with open(os.path.join(folder, "rtol"), "w") as f:
        f.write(f"{rtol}\n")
    parts = [x for _, y in results for x in (y if isinstance(y, list) else [y])]
    floats = [x.astype(np.float64) for x in parts if x.dtype.kind not in "iubOS" and not maps.is_map(x)]
    largest = max([float(np.abs(y[np.isfinite(y)]).max(initial=0)) for y in floats], default=0)
    with open(os.path.join(folder, "atol"), "w") as f:
        f.write(f"{max(1e-6, 1e-5 * largest)}\n")


def write_all(folder, count, seed):
    """Writes the models; returns the number of those skipped."""
    written = 0
    for number in itertools.count():
        if written == count:
            return number - written
        rng = np.random.default_rng([seed, number])
        case = operators.random_case(rng)
        if case is None:
            continue
        sizes = run_time_sizes(case, rng)
        model, feed = model_of(case, sizes)
        results = expected(case, model, feed)
        if results is None:
            continue
        results = list(zip(outputs_of(case), results))
        declare_outputs(model, results, sizes)
        write(os.path.join(folder, "node", f"fuzz_{seed}_{number}_{case.op}{'_graph' if case.nodes else ''}"), model, feed, results, case.rtol)
        written += 1


def main():
    folder, count, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sources = [os.path.join(os.path.dirname(__file__), f) for f in sorted(os.listdir(os.path.dirname(__file__))) if f.endswith(".py")]
    with generated(folder, sources, f"{count} of {seed}", f"onnxruntime {onnxruntime.__version__}") as new:
        if new:
            passed_over = write_all(new, count, seed)
            print(f"fuzz-ops: {count} random models; of {passed_over} more nobody computes the result")
            for case in CONTRADICTIONS:
                print(f"fuzz-ops: ONNX Runtime and the reference differ about {case.op}-{case.version} {case.attrs}")


main()
