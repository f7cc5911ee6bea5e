"""Sizes that do not fit, compared with ONNX Runtime. Random models of every kind are compiled with each input dimension fixed, open
or bounded, and each input given or constant (a mix), and evaluated by the compiler with other values of the open sizes. The result must
be an error status, or ONNX Runtime's; if that refuses the model, the reference evaluator's. One mix of every fourth model also runs as
C under sanitizers, which must give the compiler's results.

usage: misfits.py FUZZ_FOLDER BUILD [PATTERN...]       (FUZZ_FOLDER: what generate.py wrote; of it, models like PATTERN alone)
"""

import concurrent.futures
import fnmatch
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import types
import warnings
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import programs_run
from plain import session_of

MODELS, MIXES, CALLS = 1, 4, 4  # models of each kind, mixes of each model, calls of each mix
LARGEST = 8
AS_C = 4  # one of so many models runs as C
CC = "clang-14 -O0 -w -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all".split()
PACKED = TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1, TensorProto.UINT2, TensorProto.INT2
DRAWN = "Random", "Multinomial", "Bernoulli", "Dropout"
NEWEST_OF_RUNTIME = 24

# Where the evaluators wrongly refuse a model, or compute something else: pattern of its name -> why.
KNOWN = {
    "ReduceLogSumExp": "the runtime computes it in integers if the input is of integers",
    "DynamicQuantizeLinear": "the runtime takes the minimum of an empty tensor",
    "QLinearSoftmax": "the runtime returns a scalar for an empty tensor",
    "QLinearAveragePool": "the runtime rounds the number of windows towards zero",
    "ImageScaler": "the runtime needs a bias for each channel, and does not broadcast one",
    "TreeEnsemble*": "the runtime refuses most trees with shared nodes, and the reference forgets base values and transforms",
    "Scan_graph": "the runtime requires a state to have the size that the body declares",
}

onnxruntime.set_default_logger_severity(4)


def read(folder):
    """(model, inputs); None: the inputs are not plain tensors."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    for v in [*model.graph.input, *model.graph.output]:
        if not v.type.HasField("tensor_type") or v.type.tensor_type.elem_type in (TensorProto.STRING, *PACKED):
            return None
    feed = []
    for i, _ in enumerate(model.graph.input):
        with open(os.path.join(folder, "test_data_set_0", f"input_{i}.pb"), "rb") as f:
            feed.append(numpy_helper.to_array(TensorProto.FromString(f.read())))
    for t in list(model.graph.initializer):  # constants there may be inputs, too
        if t.data_type not in (TensorProto.STRING, *PACKED):
            model.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, t.dims))
            feed.append(numpy_helper.to_array(t))
            model.graph.initializer.remove(t)
    return model, feed


def mixed(model, feed, was_given, rng):
    """(model, {place of an input: its array}, bounds): a mix of fixed, open and bounded dimensions, of given and constant inputs."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    given, bounds, inputs = {}, [], list(model.graph.input)
    shares = rng.choice([0.2, 0.5, 0.8]), rng.choice([0.1, 0.4])  # of open dimensions, of constants
    del model.graph.input[:], model.graph.value_info[:]
    for i, (v, x) in enumerate(zip(inputs, feed)):
        sizes = x.dtype.kind in "iu" and x.size < 16 and i >= was_given  # whose elements may decide shapes
        if rng.random() < (0.8 if sizes else shares[1]):
            model.graph.initializer.append(numpy_helper.from_array(x, v.name))
            continue
        shape = []
        for k, d in enumerate(x.shape):
            if rng.random() < shares[0]:
                shape.append(f"s{i}_{k}")
                bounds += ["--dim", f"s{i}_{k}<={max(LARGEST, d)}"]
            else:
                shape.append(d)
        model.graph.input.append(helper.make_tensor_value_info(v.name, v.type.tensor_type.elem_type, shape))
        given[i] = x
    for v in model.graph.output:
        kind = v.type.tensor_type.elem_type
        v.type.Clear()
        v.type.tensor_type.elem_type = kind
    return model, given, bounds


def resized(model, given, rng):
    """The inputs with other values of the open sizes."""
    how, arrays = rng.choice([0.2, 0.5]), []
    for v, x in zip(model.graph.input, given.values()):
        shape = [rng.choice([d + 1, max(d - 1, 0), 1, rng.randint(0, 6)]) if size.dim_param and rng.random() < how else d
                 for size, d in zip(v.type.tensor_type.shape.dim, x.shape)]
        shape = [min(d, max(LARGEST, was)) for d, was in zip(shape, x.shape)]
        arrays.append(x if list(x.shape) == shape else np.resize(x, shape) if x.size else np.ones(shape, x.dtype))
    return arrays


def by_runtime(model, feed):
    if any(o.domain in ("", "ai.onnx") and o.version > NEWEST_OF_RUNTIME for o in model.opset_import):
        return None
    try:
        return session_of(model).run(None, feed)
    except Exception:  # pylint: disable=broad-except - it refuses in many ways
        return None


def by_reference(model, feed):
    try:
        return ReferenceEvaluator(model).run(None, feed)
    except Exception:  # pylint: disable=broad-except
        return None


def same(a, b):
    if a is None or len(a) != len(b):
        return False
    for x, y in zip(a, b):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape:
            return False
        if x.dtype.kind in "fc" or y.dtype.kind not in "iub?":
            with np.errstate(all="ignore"):
                if not np.allclose(x.astype(np.complex128), y.astype(np.complex128), rtol=1e-2, atol=1e-3, equal_nan=True):
                    return False
        elif not np.array_equal(x.astype(y.dtype), y):
            if x.dtype.itemsize > 1 or np.abs(x.astype(int) - y.astype(int)).max() > 1:
                return False
    return True


def computed(build, model, arrays, bounds, work):
    """(the results, or None if there was a message; what went wrong, or "")"""
    for i, x in enumerate(arrays):
        with open(f"{work}/input_{i}.pb", "wb") as f:
            f.write(numpy_helper.from_array(x).SerializeToString())
    p = subprocess.run([f"{build}/onnxcc", f"{work}/m.onnx", "--eval", work, "--eval-out", work, *bounds], capture_output=True, text=True, timeout=60)
    if p.returncode == 1:
        return None, ""
    if p.returncode:
        return None, f"exit code {p.returncode}: {p.stderr}"
    results = []
    for i, _ in enumerate(model.graph.output):
        with open(f"{work}/actual_{i}.pb", "rb") as f:
            results.append(numpy_helper.to_array(TensorProto.FromString(f.read())))
    return results, ""


def differs_as_c(build, model, runs, results, bounds, work):
    """Which of the runs, [(what, {word: size}, arrays)], have other results as C than by the compiler; "": none."""
    p = subprocess.run([f"{build}/onnxcc", f"{work}/m.onnx", "-o", f"{work}/m.c", "--prefix", "m", *bounds], capture_output=True, text=True)
    if p.returncode:
        return "" if p.returncode == 1 else p.stderr
    words = {d.dim_param: 0 for v in model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param}
    outputs = [types.SimpleNamespace(kind=v.type.tensor_type.elem_type) for v in model.graph.output]
    program = types.SimpleNamespace(words=words, outputs=outputs)
    try:
        got = programs_run.as_c(CC, os.path.join(build, "include"), program, pathlib.Path(work), runs)
    except programs_run.Failed as e:
        return str(e)
    for a, b in zip(got, results):
        if (a is None) != (b is None) or (a is not None and not same(a, b)):
            return f"as C {a}, in the compiler {b}"
    return ""


def problem(model, arrays, y, said):
    if y is None:
        return said
    feed = {v.name: x for v, x in zip(model.graph.input, arrays)}
    runtime = by_runtime(model, feed)
    if same(runtime, y):
        return ""
    reference = by_reference(model, feed)
    if same(reference, y) or (runtime is not None and reference is not None and not same(runtime, [np.asarray(r) for r in reference])):
        return ""
    if runtime is None and reference is None and not all(x.size for x in arrays):
        return ""  # both evaluators refuse many empty tensors
    shapes = lambda r: None if r is None else [np.asarray(x).shape for x in r]
    return f"inputs {[x.shape for x in arrays]} give {shapes(y)}; ONNX Runtime {shapes(runtime)}, the reference {shapes(reference)}"


def wrong(folder, build):
    """(number of calls, number of calls as C, what is wrong)"""
    read_of = read(folder)
    name = os.path.basename(folder)
    if read_of is None or any(d in name for d in DRAWN) or any(o.domain == "" and o.version < 7 for o in read_of[0].opset_import):
        return 0, 0, ""  # evaluators do not implement the broadcast of older versions
    rng, calls, as_c = random.Random(name), 0, 0
    was_given = len(onnx.load(os.path.join(folder, "model.onnx")).graph.input)
    with tempfile.TemporaryDirectory() as work:
        for mix in range(MIXES):
            model, given, bounds = mixed(*read_of, was_given, rng)
            onnx.save(model, f"{work}/m.onnx")
            feed = {v.name: x for v, x in zip(model.graph.input, given.values())}
            if by_runtime(model, feed) is None and by_reference(model, feed) is None:
                return calls, as_c, ""  # no evaluator computes it
            runs, results = [], []
            for k in range(CALLS):
                arrays = resized(model, given, rng)
                calls += 1
                y, said = computed(build, model, arrays, bounds, work)
                said = problem(model, arrays, y, said)
                sizes = {d.dim_param: n for v, x in zip(model.graph.input, arrays) for d, n in zip(v.type.tensor_type.shape.dim, x.shape)}
                runs.append((f"call {k}", sizes, arrays))
                results.append(y)
                if not said and k == CALLS - 1 and mix == 0 and zlib.crc32(name.encode()) % AS_C == 0:
                    as_c += CALLS
                    said = differs_as_c(build, model, runs, results, bounds, work)
                if said:
                    kept = pathlib.Path(build, "misfits", name)
                    kept.mkdir(parents=True, exist_ok=True)
                    for f in os.listdir(work):
                        (kept / f).write_bytes(pathlib.Path(work, f).read_bytes())
                    return calls, as_c, f"{said}\n    onnxcc {kept}/m.onnx --eval {kept} {' '.join(bounds)}"
    return calls, as_c, ""


def main():
    folder, build, *patterns = sys.argv[1:]
    folder = os.path.realpath(folder)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kinds = {}
    for name in sorted(os.listdir(os.path.join(folder, "node")), key=lambda f: int(f.split("_")[2])):
        kinds.setdefault(name.split("_", 3)[3], []).append(os.path.join(folder, "node", name))
    models = [m for of in kinds.values() for m in of[:None if patterns else MODELS]]
    models = [m for m in models if not patterns or any(fnmatch.fnmatch(os.path.basename(m), p) for p in patterns)]
    failed = calls = as_c = 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for m, (n, n_c, text) in zip(models, pool.map(wrong, models, [build] * len(models), chunksize=4)):
            name = os.path.basename(m)
            known = any(fnmatch.fnmatch(re.sub(r"^fuzz_\d+_\d+_", "", name), k) for k in KNOWN)
            calls, as_c = calls + n, as_c + n_c
            if text and not known:
                failed += 1
                print(f"FAIL {name}: {text}")
    print(f"misfits: {calls} calls, {as_c} of them as C, too, of {len(models)} models, of {len(kinds)} kinds")
    print(f"misfits: {len(models) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
