"""bounds.py [--table] [--turn=N] [OPERATOR...] - the largest error of every operator that computes with floats: with --table a table beside
ONNX Runtime's errors on the same inputs, otherwise a test for each operator and type, which fails if a bound is exceeded; with --turn
for every second operator.

onnxcc's results are those of the compiler (the bits of code for generic) and, for float and double, in which shorter types are computed,
those of the emitted C for this processor.
An error is in units in the last place of the exact result or, for sums and products, of the sum of the absolute values of
their terms; the bound is 2 ulp for elementary functions, else the forward bound: half an ulp of the result and a half for
every step, at the precision in which the type is computed. With --table, every operator that ONNX Runtime computes more exactly
must have a reason in WHY."""

import ctypes
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import layers
import operators
from cache import kept
from operators import F32, F64, FLOATS, LONG

ROOT = pathlib.Path(__file__).parents[2]
BUILD = ROOT / os.environ.get("B", "build")
FOLDER = BUILD / "numbers" / "bounds"
CC = os.environ.get("CC", "gcc").split()
SHARES = 4  # models per type, among which the cases are divided
np.seterr(all="ignore")

STATE = "the inputs' products with W are stored in the model's type, which halves their memory"
SUMS = "one sum runs over all products of a pass; shorter ones, of 512, took 2 % more time in a convolution of 64 channels"
SCALAR = "ONNX Runtime calls the C library for one number after the other; ours runs in vectors"
POLYNOMIAL = "another polynomial, as long as ONNX Runtime's; both are within 1"
ORDER = "the same roundings in another order: the largest one falls elsewhere"  # for operators that are nearly as exact
WHY = {
    ("RNN", "float16"): STATE,
    ("GRU", "float16"): STATE,
    ("LSTM", "float16"): STATE,
    ("Cosh", "float"): SCALAR,
    ("Tan", "float"): SCALAR,
    ("Erf", "float"): POLYNOMIAL,
    ("Exp", "float"): POLYNOMIAL,
    ("MatMul", "float"): SUMS,
    ("Conv", "float"): SUMS,
}


def name_of(t):
    return {"float32": "float", "float64": "double"}.get(t.name, t.name)


# ---- models ---------------------------------------------------------------------------------------------------------------


class Work:
    """A case in one type: its inputs and results."""

    def __init__(self, case, t):
        self.case, self.t = case, t
        self.inputs = [self.cast(x) for x in case.inputs]
        self.ours, self.runtime = [], None

    def cast(self, x):
        x = x(self.t) if callable(x) else x
        return x.astype(self.t) if x is not None and x.dtype == F64 else x

    def exact(self):
        """(results, sizes) in long double."""
        if self.case.exact:
            y = self.case.exact(*[x.astype(LONG) if x is not None and x.dtype == self.t else x for x in self.inputs])
            y, size = y if isinstance(y, tuple) else (y, y)
            return y, np.abs(size)
        wide = [x.astype(F64) if x is not None and x.dtype == self.t else x for x in self.inputs]
        model, feed = model_of([self], [(wide, F64)])
        y = np.asarray(ReferenceEvaluator(model).run(None, feed)[0]).astype(LONG)
        return y, np.full(y.shape, np.max(np.abs(y), initial=0))


def model_of(works, values=None):
    """(model, {input: array}): a node for each case, with inputs and a result of its own. values: (inputs, type) in place of the cases'."""
    nodes, given, held, results, feed, imports = [], [], [], [], {}, {"": 23}
    for i, w in enumerate(works):
        inputs, t = values[i] if values else (w.inputs, w.t)
        names = [f"x{i}_{k}" if x is not None else "" for k, x in enumerate(inputs)]
        for k, (name, x) in enumerate(zip(names, inputs)):
            if x is not None and k in w.case.consts:
                held.append(numpy_helper.from_array(x, name))
            elif x is not None:
                given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
                feed[name] = x
        more = range(1, onnx.defs.get_schema(w.case.op, w.case.version, w.case.domain).min_output)
        nodes.append(helper.make_node(w.case.op, names, [f"y{i}"] + [f"y{i}_{k}" for k in more], domain=w.case.domain, **w.case.attrs))
        t = F32 if w.case.op == "Cast" else t
        results.append(helper.make_tensor_value_info(f"y{i}", helper.np_dtype_to_tensor_dtype(t), None))
        imports[w.case.domain] = w.case.version
    graph = helper.make_graph(nodes, "numbers", given, results, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*i) for i in imports.items()], ir_version=10), feed


def admits(case, t):
    """Does the operator compute with t? Decided by the type of its result in the schema."""
    if case.types is not None:
        return t in case.types
    kinds = onnx.defs.get_schema(case.op, case.version, case.domain)
    return f"tensor({name_of(t)})" in kinds.outputs[0].types


# ---- three ways to run ------------------------------------------------------------------------------------------------------


def run(*command):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", check=False)
    if p.returncode:
        raise SystemExit(f"bounds.py: {' '.join(map(str, command[:4]))} ...: {p.stderr or p.stdout}")


def our_results(works, name):
    """The results of the compiler, and of the emitted C, computed in a folder of this name."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    model, feed = model_of(works)
    onnx.save(model, folder / "model.onnx")
    for i, (n, x) in enumerate(feed.items()):
        (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(x, n).SerializeToString())
    onnxcc = BUILD / "onnxcc"
    run(onnxcc, folder / "model.onnx", "--eval", folder, "--eval-out", folder)
    for i, w in enumerate(works):
        y = onnx.TensorProto.FromString((folder / f"actual_{i}.pb").read_bytes())
        w.ours.append(numpy_helper.to_array(y))
    if works[0].t.itemsize == 2:
        return
    run(onnxcc, folder / "model.onnx", "-o", folder / "m.c", "--prefix", "m", "--weights=inline", *TARGET[:1])
    so, how = folder / "m.so", ["-std=gnu11", "-O1", *TARGET[1:], "-fPIC", "-shared", "-I", BUILD / "include", folder / "m.c"]
    with kept(so, CC, how, [folder / "m.c", folder / "m.h"]) as before:
        if not before:
            run(*CC, *how, "-o", so)
    results = [np.empty(w.ours[0].shape, w.ours[0].dtype) for w in works]
    arguments = [np.ascontiguousarray(x) for x in feed.values()] + results
    status = ctypes.CDLL(str(so)).m_run(*[ctypes.c_void_p(x.ctypes.data) for x in arguments])
    if status:
        raise SystemExit(f"bounds.py: {name}: status {status}")
    for w, y in zip(works, results):
        w.ours.append(y)


def target():
    """This processor's target and the C compiler's flags for it."""
    found = re.search(r"^flags.*", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    if {"avx2", "fma", "bmi2", "f16c"} <= set(found[0].split() if found else []):
        return ["--target=x86-64-v3", "-march=x86-64-v3"]
    return ["--target=generic"]


TARGET = target()


def runtime_result(w):
    """ONNX Runtime's result; None: it lacks the operator in this type."""
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.log_severity_level = 4
    model, feed = model_of([w])
    feed = {k: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(x, helper.np_dtype_to_tensor_dtype(x.dtype))
            if x.dtype.kind == "V" or x.dtype.name == "bfloat16" else x for k, x in feed.items()}
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"]).run(None, feed)[0]
    except Exception:  # pylint: disable=broad-except - it refuses in many ways
        return None


# ---- judgement ----------------------------------------------------------------------------------------------------------------


def ulp(x, t):
    """The distance between neighbouring numbers of type t at x."""
    f = ml_dtypes.finfo(t)
    _, e = np.frexp(np.abs(x))
    return np.ldexp(LONG(1), np.maximum(e - 1, int(f.minexp)) - int(f.nmant))


def errors(got, want, size, case, t):
    """(the largest error in ulp, the largest quotient of error and bound, where)"""
    f = ml_dtypes.finfo(t)
    got, largest = got.astype(LONG), LONG(f.max)
    beyond = largest + ulp(largest, t) / 2  # larger numbers are infinite
    kept = np.where(np.abs(want) >= beyond, np.copysign(LONG(np.inf), want), want)
    same = (got == kept) | (np.isnan(got) & np.isnan(kept))
    near_end = (np.abs(want) > largest * (1 - 8 * f.eps)) & (np.abs(got) > largest * (1 - 8 * f.eps)) & (got * want > 0)
    error = np.where(same, 0, np.where(near_end, np.minimum(np.abs(got - want), ulp(largest, t)), np.abs(got - want)))
    error = np.where(np.isnan(error), LONG(np.inf), error)
    unit = LONG(2) ** (-53 if t == F64 else -24)
    bound = 2 * ulp(want, t)
    if case.steps:
        bound = case.steps * unit * size + case.stored * ulp(size, t) / 2 + ulp(want, t) / 2 + ulp(LONG(0), t)
    in_ulp, part = error / ulp(np.where(np.isfinite(size), size, want), t), np.where(error == 0, 0, error / bound)
    worst = int(np.argmax(part)) if part.size else 0
    return float(np.max(in_ulp, initial=0)), float(np.max(part, initial=0)), worst


class Row:
    """The largest errors of an operator's cases in a type."""

    def __init__(self):
        self.error, self.part, self.runtime, self.at = [], 0.0, None, ""

    def take(self, w):
        t = w.ours[0].dtype
        found = [errors(y, w.result, w.size, w.case, t) for y in w.ours]
        self.error = [max(pair) for pair in zip(self.error or [0.0] * len(found), [error for error, _, _ in found])]
        for y, (_, part, worst) in zip(w.ours, found):
            if part > self.part:
                at = [x.ravel()[worst] if x.shape == y.shape else x.shape for x in w.inputs if x is not None]
                self.part, self.at = part, f"{w.case.attrs} of {at} gives {y.ravel()[worst]!r}, not {w.result.ravel()[worst]!r}"
        if w.runtime is not None:
            self.runtime = max(self.runtime or 0.0, errors(w.runtime, w.result, w.size, w.case, t)[0])

    def why(self, key):
        """The reason why ONNX Runtime is more exact; "": it is not; None: no reason is listed."""
        if self.runtime is None or max(self.error) <= 1.005 * self.runtime:  # as printed
            return ""
        return WHY.get(key, ORDER if max(self.error) <= max(1.5 * self.runtime, self.runtime + 0.5) else None)


def measure(names, with_runtime, turn):
    """A row for each operator and type."""
    for add in operators.FAMILIES + layers.FAMILIES:
        add()
    if turn:
        names = sorted({c.op for c in operators.CASES})[int(turn) % 2::2]
    works = [Work(c, t) for c in operators.CASES for t in FLOATS
             if (not names or any(fnmatch.fnmatch(c.op, n) for n in names)) and admits(c, t)]
    shares = {}
    for i, w in enumerate(works):
        shares.setdefault(f"{w.t.name}-{w.case.version}-{w.case.domain}-{i % SHARES}", []).append(w)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(our_results, ws, n) for n, ws in shares.items()]
        for w in works:
            w.result, w.size = w.exact()
            w.runtime = runtime_result(w) if with_runtime else None
        for r in running:
            r.result()
    rows = {}
    for w in works:
        rows.setdefault((w.case.op, name_of(w.t)), Row()).take(w)
    return dict(sorted(rows.items()))


def show(number):
    return "-" if number is None else "wrong" if number == np.inf else f"{number:.3g}"


def print_table(rows):
    """False: a row has an error without a listed reason."""
    print(f"{'':26} {'':9} {'ours, ulp':^15} {'ONNX':>8} {'of the':>7}\n"
          f"{'operator':26} {'type':9} {'generic':>7} {TARGET[0].rsplit('-', 1)[-1]:>7} {'Runtime':>8} {'bound':>7}")
    explained = True
    for key, r in rows.items():
        why = r.why(key)
        explained &= why is not None
        ours = "".join(f" {show(e):>7}" for e in (r.error + [None])[:2])
        print(f"{key[0]:26} {key[1]:9}{ours} {show(r.runtime):>8} {100 * r.part:6.0f}%  {'no reason is known' if why is None else why}".rstrip())
    return explained


def main(names, table, turn):
    rows = measure(names, table, turn)
    explained = not table or print_table(rows)
    bad = {key: r for key, r in rows.items() if not r.part <= 1}
    for (op, t), r in bad.items():
        print(f"{op}, {t}: {r.part:.3g} times the bound: {r.at}")
    print(f"bounds: {len(rows) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad or not explained else 0


if __name__ == "__main__":
    turns = [a[7:] for a in sys.argv if a.startswith("--turn=")]
    sys.exit(main([a for a in sys.argv[1:] if not a.startswith("--")], "--table" in sys.argv, turns and turns[0]))
