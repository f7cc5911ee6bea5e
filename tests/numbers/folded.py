"""folded.py BUILD TURN FOLDER... - folding changes no bits: each test in the folders is evaluated with inputs as constants (all of them
or some, a random choice that depends on TURN) and without. For operators that sum, a constant may change the order of the additions, so their
results need only agree within the rounding of a sum."""
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

BUILD, TURN = pathlib.Path(sys.argv[1]), sys.argv[2]
SUMS = re.compile(r"Conv|Gemm|MatMul|Einsum|Attention|^Reduce(L|Log|Mean|Prod|Sum)|Normalization|Pool|GRU|LSTM|RNN|DFT|STFT|Softmax|"
                  r"CrossEntropy|Gradient|^Det$|Regressor|Classifier|^Normalizer$|CumSum")
ROUNDINGS = 16  # the tolerance of sums, in roundings of the largest result


def sums(graph):
    nodes = graph.node
    return any(SUMS.search(n.op_type) or any(sums(g) for a in n.attribute for g in [*([a.g] if a.HasField("g") else []), *a.graphs])
               for n in nodes)


def evaluated(model, inputs, fixed, bounds=()):
    """The results of the model with the inputs in `fixed` as constants, or the messages. Adds bounds that messages suggest."""
    with tempfile.TemporaryDirectory() as folder:
        for i, (_, file) in enumerate(x for x in inputs if x not in fixed):
            os.symlink(file, f"{folder}/input_{i}.pb")
        p = subprocess.run([BUILD / "onnxcc", model, "--eval", folder, "--eval-out", folder, *bounds,
                            *(f"--const={name}={file}" for name, file in fixed)],
                           capture_output=True, text=True, errors="replace")
        asked = re.findall(r"--dim '(.*?<=64)'", p.stderr) + re.findall(r"needs this value: --dim (\S+)", p.stderr)
        if asked and not bounds:
            return evaluated(model, inputs, fixed, [f"--dim={bound}" for bound in asked])
        if p.returncode:
            return p.stderr
        files = sorted(pathlib.Path(folder).resolve().glob("actual_*.pb"), key=lambda f: (len(f.name), f.name))
        return [onnx.load_tensor(f) for f in files]


def agree(want, got, rounded):
    """Are the tensors equal or, if `rounded`, equal within the rounding of sums?"""
    if want.SerializeToString() == got.SerializeToString():
        return True
    w, g = numpy_helper.to_array(want), numpy_helper.to_array(got)
    if not rounded or w.shape != g.shape or w.dtype != g.dtype or w.dtype.kind not in "fVc" or w.dtype.names:
        return False
    eps = float(ml_dtypes.finfo(w.dtype).eps)
    w, g = (x.astype(complex if x.dtype.kind == "c" else float) for x in (w, g))
    close = ROUNDINGS * eps * np.abs(w[np.isfinite(w)]).max(initial=0)
    return np.array_equal(w, g, equal_nan=True) or np.allclose(g, w, rtol=0, atol=close, equal_nan=True)


def compared(model):
    """For each comparison: (the constant inputs, what is wrong)."""
    m = onnx.load(model, load_external_data=False)
    inputs = [(v.name, model.parent / "test_data_set_0" / f"input_{i}.pb") for i, v in enumerate(m.graph.input)]
    tensors = all(v.type.HasField("tensor_type") for v in [*m.graph.input, *m.graph.output])
    if not inputs or not tensors or not all(f.exists() for _, f in inputs):
        return []
    rng = random.Random(f"{model.parent.name} {TURN}")
    subsets = [inputs] + [rng.sample(inputs, rng.randint(1, len(inputs) - 1)) for _ in inputs[1:2]]
    rounded, want = sums(m.graph) or any(sums(f) for f in m.functions), evaluated(model, inputs, [])
    free = isinstance(want, list)
    if not free:  # a size that only constants decide
        want = evaluated(model, inputs, subsets.pop(0))
    elif len(subsets) > 1:
        subsets = rng.sample(subsets, 1)
    found = []
    for fixed in subsets:
        got = evaluated(model, inputs, fixed)
        if isinstance(got, str) and not free:
            continue
        names = ", ".join(name for name, _ in fixed)
        if isinstance(got, str):
            found.append((names, "is refused: " + got.split("\n")[0]))
        else:
            same = len(want) == len(got) and all(agree(w, g, rounded) for w, g in zip(want, got))
            found.append((names, None if same else "differs"))
    return found


def main():
    models = sorted(m for folder in sys.argv[3:] for m in pathlib.Path(folder).resolve().glob("*/*/model.onnx"))
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for model, rows in zip(models, pool.map(compared, models)):
            for names, bad in rows:
                passed += not bad
                failed += bool(bad)
                if bad:
                    print(f"FAIL {model.parent.name} with {names} constant {bad}")
    print(f"folded: {passed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main() != 0)
