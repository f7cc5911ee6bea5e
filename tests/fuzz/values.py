"""Values that do not fit, compared with ONNX Runtime: sizes, axes, counts, lengths, indices, scales and divisors that are inputs, drawn
from both sides of what the operator allows. The compiler's evaluation must give ONNX Runtime's results, and an error if ONNX Runtime
refuses the values or sizes are above their bound. `sizes.py` calls the same operators in C, under sanitizers, with the largest and smallest integers.

usage: values.py BUILD [PATTERN...]       (PATTERN: only rows of MODELS with such names)
"""

import concurrent.futures
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.parser import parse_model

from plain import session_of

DRAWS = 40
DATA = "x", "u", "v", "w"
FLOATS = -1, 0, 0.5, 1, 2, 2.5, np.nan
# Models of opset 17, or of the opset with which the name ends. Inputs x, u, v and w are data, others are drawn.
MODELS = {
    "Reshape": "(float[6] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }",
    "Reshape to zero": "(float[0] x, int64[2] s) => (float[A,B] y) { y = Reshape<allowzero = 1>(x, s) }",
    "Expand": "(float[2,1] x, int64[3] s) => (float[A,B,C] y) { y = Expand(x, s) }",
    "Tile": "(float[2,1] x, int64[2] s) => (float[A,B] y) { y = Tile(x, s) }",
    "ConstantOfShape": "(int64[2] s) => (float[A,B] y) { y = ConstantOfShape(s) }",
    "Range": "(int64 a, int64 b, int64 c) => (int64[A] y) { y = Range(a, b, c) }",
    "Range of floats": "(float a, float b, float c) => (float[A] y) { y = Range(a, b, c) }",
    "Slice": "(float[5,4] x, int64[2] a, int64[2] b, int64[2] axes, int64[2] c) => (float[A,B] y) { y = Slice(x, a, b, axes, c) }",
    "Slice of sizes": "(float[N,M] x, int64[1] c) => (int64[A] y) <int64[1] zero = {0}, int64[1] far = {9}> "
                      "{ s = Shape(x) y = Slice(s, zero, far, zero, c) }",
    "Pad": "(float[3,2] x, int64[4] p) => (float[A,B] y) { y = Pad(x, p) }",
    "Pad 18": "(float[3,2] x, int64[2] p, int64[1] a) => (float[A,B] y) { y = Pad(x, p, , a) }",
    "Split": "(float[4,2] x, int64[2] s) => (float[A,B] y, float[C,D] z) { y, z = Split(x, s) }",
    "SplitToSequence": "(float[4] x, int64[2] s, int64 i) => (float[A] y) { t = SplitToSequence(x, s) y = SequenceAt(t, i) }",
    "pieces of one size": "(float[4] x, int64 s, int64 i) => (float[A] y) { t = SplitToSequence(x, s) y = SequenceAt(t, i) }",
    "SequenceInsert": "(float[2] x, float[2] v, int64 i) => (float[A] y) { t = SequenceConstruct(x, x) u = SequenceInsert(t, v, i) "
                      "y = ConcatFromSequence<axis = 0>(u) }",
    "SequenceErase": "(float[2] x, float[2] v, int64 i) => (float[A] y) { t = SequenceConstruct(x, v, x) u = SequenceErase(t, i) "
                     "y = ConcatFromSequence<axis = 0>(u) }",
    "TopK": "(float[4] x, int64[1] k) => (float[A] y, int64[B] z) { y, z = TopK(x, k) }",
    "OneHot": "(int64[2] i, int64 d, float[2] x) => (float[A,B] y) { y = OneHot(i, d, x) }",
    "Resize": "(float[1,1,3,2] x, int64[2] s) => (float[A,B,C,D] y) <int64[2] one = {1, 1}> "
              "{ t = Concat<axis = 0>(one, s) y = Resize(x, , , t) }",
    "Resize by scales": "(float[3] x, float[1] s) => (float[A] y) { y = Resize(x, , s) }",
    "Resize by two scales": "(float[1,1,3,2] x, float[2] s) => (float[A,B,C,D] y) <float[2] one = {1, 1}> { t = Concat<axis = 0>(one, s) y = Resize(x, , t) }",
    "Reshape with a rest": "(float[4,3] x, int64[1] s) => (float[A,B] y) <int64[1] rest = {-1}> { t = Concat<axis = 0>(s, rest) y = Reshape(x, t) }",
    "Attention 24": "(float[1,1,2,4] x, float[1,1,3,4] v, int64[1] n) => (float[1,1,2,4] y) { y = Attention(x, v, v, , , , n) }",
    "EmbedLayerNormalization": "(int32[1,2] i, float[4,2] x, float[3,2] v, float[2] w) => (float[1,2,2] y, int32[1] z) "
                               "{ y, z = com.microsoft.EmbedLayerNormalization(i, , x, v, , w, w) }",
    "CumSum": "(float[3,2] x, int64 a) => (float[A,B] y) { y = CumSum(x, a) }",
    "Trilu": "(float[3,2] x, int64 k) => (float[A,B] y) { y = Trilu(x, k) }",
    "Gather": "(float[3,2] x, int64[2] i) => (float[A,B] y) { y = Gather(x, i) }",
    "GatherND": "(float[3,2] x, int64[1,2] i) => (float[A] y) { y = GatherND(x, i) }",
    "GatherElements": "(float[3,2] x, int64[1,2] i) => (float[A,B] y) { y = GatherElements(x, i) }",
    "ScatterND": "(float[3,2] x, int64[1,1] i, float[1,2] u) => (float[A,B] y) { y = ScatterND(x, i, u) }",
    "ScatterElements": "(float[3,2] x, int64[1,2] i, float[1,2] u) => (float[A,B] y) { y = ScatterElements(x, i, u) }",
    "ReverseSequence": "(float[4,2] x, int64[2] i) => (float[A,B] y) { y = ReverseSequence(x, i) }",
    "Compress": "(float[4] x, bool[6] c) => (float[A] y) { y = Compress(x, c) }",
    "CenterCropPad 18": "(float[4,2] x, int64[2] s) => (float[A,B] y) { y = CenterCropPad(x, s) }",
    "Col2Im 18": "(float[1,4,4] x, int64[1] s) => (float[A,B,C,D] y) <int64[1] three = {3}, int64[2] k = {2, 2}> "
                 "{ t = Concat<axis = 0>(s, three) y = Col2Im(x, t, k) }",
    "MaxUnpool": "(float[1,1,2] x, int64[1,1,2] i) => (float[1,1,4] y) { y = MaxUnpool<kernel_shape = [2], strides = [2]>(x, i) }",
    "GlobalMaxPool": "(float[1,2,4,3] x, int64[1] n) => (float[1,2,1,1] y) <int64[1] zero = {0}, int64[1] two = {2}> "
                     "{ t = Slice(x, zero, n, two) y = GlobalMaxPool(t) }",
    "GlobalAveragePool": "(float[1,2,3,4] x, int64[1] n) => (float[1,2,1,1] y) <int64[1] zero = {0}, int64[1] three = {3}> "
                         "{ t = Slice(x, zero, n, three) y = GlobalAveragePool(t) }",
    "HannWindow": "(int64 n) => (float[A] y) { y = HannWindow(n) }",
    "DFT": "(float[1,4,1] x, int64 n) => (float[A,B,C] y) { y = DFT(x, n) }",
    "DFT 20": "(float[2,4,1] x, int64 a) => (float[A,B,C] y) { y = DFT(x, , a) }",
    "STFT": "(float[1,6] x, int64 n, float[3] w) => (float[A,B,C,D] y) { y = STFT(x, n, w) }",
    "ReduceSum": "(float[3,2] x, int64[1] a) => (float[A,B] y) { y = ReduceSum(x, a) }",
    "ReduceMax 18": "(float[3,3] x, int64[1] a) => (float[A] y) { y = ReduceMax<keepdims = 0>(x, a) }",
    "Loop": "(int64 n, bool c, float[1] x) => (float[1] y, float[A,1] z) { y, z = Loop(n, c, x)<body = b (int64 i, bool go, float[1] s) "
            "=> (bool on, float[1] t, float[1] u) { on = Identity(go) t = Add(s, s) u = Identity(t) }> }",
    "NonMaxSuppression": "(float[1,4,4] x, float[1,1,4] v, int64 k, float t) => (int64[A,3] y) { y = NonMaxSuppression(x, v, k, t) }",
    "RoiAlign": "(float[2,1,4,4] x, int64[2] i) => (float[2,1,2,2] y) <float[2,4] r = {0, 0, 2, 2, 1, 1, 3, 3}> "
                "{ y = RoiAlign<output_height = 2, output_width = 2>(x, r, i) }",
    "BitShift": '(uint8[2] i, uint8[2] k) => (uint8[2] y) { y = BitShift<direction = "LEFT">(i, k) }',
    "LSTM": "(float[3,2,2] x, float[1,8,2] w, int32[2] n) => (float[3,1,2,2] y) { y = LSTM<hidden_size = 2>(x, w, w, , n) }",
    "GRU": "(float[3,2,2] x, float[1,6,2] w, int32[2] n) => (float[3,1,2,2] y) { y = GRU<hidden_size = 2>(x, w, w, , n) }",
    "NegativeLogLikelihoodLoss": "(float[2,3] x, int64[2] i) => (float y) { y = NegativeLogLikelihoodLoss(x, i) }",
    "SoftmaxCrossEntropyLoss": "(float[2,3] x, int64[2] i) => (float y) { y = SoftmaxCrossEntropyLoss<ignore_index = -1>(x, i) }",
    "Div": "(int64[2] i, int64[2] k) => (int64[2] y) { y = Div(i, k) }",
    "Mod": "(int32[2] i, int32[2] k) => (int32[2] y) { y = Mod(i, k) }",
    "Dropout": "(float[2] x, float r) => (float[2] y) { y = Dropout(x, r) }",
}
# What ONNX Runtime refuses, although the standard does not.
REFUSES = {
    "OneHot": "Depth is negative",  # 0
    "Resize": "Scale value should be greater than 0",  # a size of 0
    "Resize by scales": "Scale value should be greater than 0",
    "Resize by two scales": "Scale value should be greater than 0",
}
NEGATIVE = -3, -2, -1
# Numbers that ONNX Runtime takes, although the standard does not: these may be errors.
TAKES = {
    "Reshape to zero": (-1,),  # beside a 0, that could be any size
    "CenterCropPad 18": NEGATIVE,  # sizes
    "HannWindow": (0,),  # a window of no elements, which is left open
    "NegativeLogLikelihoodLoss": NEGATIVE,  # classes that there are not: ONNX Runtime reads outside
    "SoftmaxCrossEntropyLoss": NEGATIVE,
}
BOUND = 16


def drawn(value, rng):
    """An input: data, or numbers some of which the operator must refuse."""
    kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = [2 if d.dim_param else d.dim_value for d in value.type.tensor_type.shape.dim]
    if value.name in DATA:
        return rng.standard_normal(shape).astype(kind)
    if kind == np.float32:
        return rng.choice(FLOATS, shape).astype(kind)
    low, high = (0, 2) if kind == np.bool_ else (0, 10) if kind.kind == "u" else (-3, 6)
    return rng.integers(low, high, shape).astype(kind)


def run(onnxcc, folder, outputs):
    """The results of the compiler's evaluation, or its message."""
    p = subprocess.run([onnxcc, folder / "m.onnx", "--eval", folder, "--eval-out", folder, f"--all-dims=<={BOUND}", "--quiet"],
                       capture_output=True, text=True, timeout=60)
    if p.returncode != 0:
        return p.stderr if p.returncode == 1 else f"exit {p.returncode}: {p.stderr}"
    return [numpy_helper.to_array(onnx.load_tensor(folder / f"actual_{i}.pb")) for i in range(outputs)]


def wrong(name, onnxcc):
    """The calls with wrong results, or with results where there should be an error."""
    version = name.split()[-1] if name.split()[-1].isdigit() else "17"
    model = parse_model(f'<ir_version: 9, opset_import: ["" : {version}, "com.microsoft" : 1]> g {MODELS[name]}')
    rng, session, results, found = np.random.default_rng(len(name)), session_of(model), 0, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        onnx.save(model, folder / "m.onnx")
        for _ in range(DRAWS):
            feed = {v.name: drawn(v, rng) for v in model.graph.input}
            for i, x in enumerate(feed.values()):
                onnx.save_tensor(numpy_helper.from_array(x), folder / f"input_{i}.pb")
            try:
                want = session.run(None, feed)
            except Exception as e:  # pylint: disable=broad-except
                want = str(e).replace("\n", " ")
            got = run(onnxcc, folder, len(model.graph.output))
            values = {n: x.tolist() for n, x in feed.items() if n not in DATA}
            if isinstance(got, str):
                fits = not isinstance(want, str) and max([n for y in want for n in y.shape], default=0) <= BOUND
                taken = any(x in TAKES.get(name, ()) for v in values.values() for x in np.ravel(v))
                if not got.startswith("error[") or (fits and not taken):
                    found.append(f"{values}: {got} where ONNX Runtime has {want}")
            elif isinstance(want, str):
                if not (name in REFUSES and REFUSES[name] in want):
                    found.append(f"{values}: a result, where ONNX Runtime says {want[-150:]}")
            elif all(a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-4, equal_nan=True) for a, b in zip(got, want)):
                results += 1
            else:
                found.append(f"{values}: {got} instead of {want}")
    if not results:
        found.append("no call had a result")
    return found


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    names = [n for n in MODELS if any(fnmatch.fnmatch(n, p) for p in sys.argv[2:] or ["*"])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        all_found = dict(zip(names, pool.map(lambda n: wrong(n, build / "onnxcc"), names)))
    for name, found in all_found.items():
        for text in found[:3]:
            print(f"FAIL {name}: {text}")
    failed = sum(bool(f) for f in all_found.values())
    print(f"values: {len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
