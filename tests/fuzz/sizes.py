"""Wrong sizes at run time. One random model of each operator is compiled, with each input size fixed, bounded or open. Its C is called
with random sizes and buffers of these sizes, with sizes that no tensor has, and with the smallest and largest integers. It may return
any status for sizes that are possible; the sanitizers must find nothing. Operators whose sizes are elements of an input are called with
such numbers as elements, too.

usage: sizes.py FUZZ_FOLDER BUILD       (FUZZ_FOLDER: what generate.py wrote)
"""

import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys

import onnx
from onnx import TensorProto, helper
from onnx.parser import parse_model

from cache import kept

LARGEST = 8
SHARE = 0.7  # of the float constants become inputs, too
FIXED, BOUNDED = 0.15, 0.15  # parts of the sizes
NUMBERS = 0.5  # of the short integer constants, which may decide sizes, become inputs
HUGE = "INT64_C(1) << 31, INT64_C(1) << 40, INT64_C(1) << 62, INT64_MAX, -1, -(INT64_C(1) << 40), INT64_MIN"
PACKED = TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1, TensorProto.UINT2, TensorProto.INT2
BY_INPUTS = {
    "Reshape": "(float[8] x, int64[3] s) => (float[A,B,C] y) { y = Reshape(x, s) }",
    "Reshape of open sizes": "(float[N,M] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }",
    "Reshape of the rest": "(float[N,M] x, int64[1] s) => (float[A,B] y) <int64[1] two = {2}> "
                           "{ t = Concat<axis=0>(s, two) y = Reshape(x, t) }",
    "Reshape by 0 and -1": "(float[N,M] x) => (float[A,B] y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }",
    "Expand": "(float[1,M] x, int64[2] s) => (float[A,B] y) { y = Expand(x, s) }",
    "Tile": "(float[N,M] x, int64[2] s) => (float[A,B] y) { y = Tile(x, s) }",
    "ConstantOfShape": "(int64[2] s) => (float[A,B] y) { y = ConstantOfShape(s) }",
    "Range": "(int64 a, int64 b, int64 c) => (int64[A] y) { y = Range(a, b, c) }",
    "Range of int32": "(int32 a, int32 b, int32 c) => (int32[A] y) { y = Range(a, b, c) }",
    "Slice": "(float[N,M] x, int64[2] a, int64[2] b, int64[2] c) => (float[A,B] y) <int64[2] axes = {0, 1}> { y = Slice(x, a, b, axes, c) }",
    "Pad": "(float[N,M] x, int64[4] p) => (float[A,B] y) { y = Pad(x, p) }",
    "Pad by reflection": "(float[N,M] x, int64[4] p) => (float[A,B] y) { y = Pad<mode = \"reflect\">(x, p) }",
    "Split": "(float[N,M] x, int64[2] s) => (float[A,B] y, float[C,D] z) { y, z = Split<axis = 0>(x, s) }",
    "SplitToSequence": "(float[N,M] x, int64[2] s, int64 i) => (float[A,B] y) { t = SplitToSequence(x, s) y = SequenceAt(t, i) }",
    "pieces of one size": "(float[N,M] x, int64 s) => (float[A,B] y) { t = SplitToSequence(x, s) y = ConcatFromSequence<axis = 0>(t) }",
    "TopK": "(float[N,M] x, int64[1] k) => (float[A,B] y, int64[C,D] i) { y, i = TopK(x, k) }",
    "OneHot": "(int64[N] x, int64 d, float[2] v) => (float[A,B] y) { y = OneHot(x, d, v) }",
    "Resize": "(float[1,1,H,W] x, int64[4] s) => (float[A,B,C,D] y) { y = Resize(x, , , s) }",
    "Col2Im": "(float[1,4,L] x, int64[2] s) => (float[A,B,C,D] y) <int64[2] k = {2, 2}> { y = Col2Im(x, s, k) }",
    "CenterCropPad": "(float[N,M] x, int64[2] s) => (float[A,B] y) { y = CenterCropPad(x, s) }",
    "AffineGrid": "(float[1,2,3] x, int64[4] s) => (float[A,B,C,D] y) { y = AffineGrid(x, s) }",
    "MaxUnpool": "(float[1,1,H,W] x, int64[1,1,H,W] i, int64[4] s) => (float[A,B,C,D] y) { y = MaxUnpool<kernel_shape = [2,2]>(x, i, s) }",
    "HannWindow": "(int64 n) => (float[A] y) { y = HannWindow(n) }",
    "DFT": "(float[1,L,1] x, int64 n) => (float[A,B,C] y) { y = DFT(x, n) }",
    "STFT": "(float[1,L,1] x, int64 n, float[K] w) => (float[A,B,C,D] y) { y = STFT(x, n, w) }",
    "Gather": "(float[N,M] x, int64[K] i) => (float[A,B] y) { y = Gather(x, i) }",
    "ScatterND": "(float[N,M] x, int64[K,2] i, float[K] u) => (float[A,B] y) { y = ScatterND(x, i, u) }",
    "Loop": "(float[N] x, int64 n) => (float[A,B] y) { y = Loop(n)<body = b (int64 i, bool on) => (bool go, float[N] t) { go = Identity(on) t = Neg(x) }> }",
    "sizes of sizes": "(float[N] x, int64 a, int64 b) => (float[A] y) <int64[1] one = {1}> { p = Mul(a, b) q = Mul(p, p) r = Add(q, a) "
                      "s = Reshape(r, one) y = Expand(x, s) }",
    "TensorScatter": "(float[N,L,M] x, float[N,K,M] u, int64[N] i) => (float[A,B,C] y) { y = TensorScatter(x, u, i) }",
}
INTEGERS = tuple(getattr(TensorProto, sign + bits) for sign in ("INT", "UINT") for bits in ("8", "16", "32", "64"))
MAIN = """#include "m.c"
#include <stdio.h>
#include <stdlib.h>
static const int64_t huge[] = {""" + HUGE + """};
static int64_t any(void) { return huge[rand() %% 7]; }
int main(void)
{
    void *arena = aligned_alloc(64, (M_ARENA_BYTES + 127) / 64 * 64);
    for (int turn = 0; turn < 80; turn++) {
        const int mode = rand() %% 3; /* as the model had them, some of them others, all of them others */
        const int extreme = rand() %% 3 == 0; /* integers */
        %s
    }
    free(arena);
    return 0;
}
"""


def opened(model, rng):
    """{size: (its value before, its bound)}. Each dimension of the inputs becomes a size of its own; outputs get no declared sizes."""
    for t in list(model.graph.initializer):
        numbers = t.data_type in (TensorProto.INT64, TensorProto.INT32) and len(t.dims) < 2 and max(t.dims, default=1) < LARGEST
        floats = t.data_type in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16) and t.dims
        if rng.random() < (SHARE if floats else NUMBERS if numbers and rng.random() < 0.5 else 0):
            model.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, t.dims))
            model.graph.initializer.remove(t)
    del model.graph.value_info[:]
    sizes = {}
    for i, v in enumerate(model.graph.input):
        for k, d in enumerate(v.type.tensor_type.shape.dim):
            was, kind = d.dim_value, rng.random()
            if was and (kind < FIXED or was >= LARGEST or model.graph.name == "by_inputs"):
                continue
            d.dim_param = f"s{i}_{k}"
            sizes[d.dim_param] = (was or 2, was or 2 if kind < FIXED + BOUNDED else LARGEST)
    for v in model.graph.output:
        kind = v.type.tensor_type.elem_type
        v.type.Clear()
        v.type.tensor_type.elem_type = kind
    return sizes


def is_plain(model):
    """Has the model only tensors of numbers of whole bytes?"""
    ports = [*model.graph.input, *model.graph.output]
    return all(v.type.HasField("tensor_type") and v.type.tensor_type.elem_type not in (TensorProto.STRING, *PACKED) for v in ports)


def program(header, model, sizes):
    arguments = re.search(r"int m_run_at\(void \*arena,? ?([^;]*)\);", header.replace("\n", " ")).group(1).split(", ")
    types = [a.rsplit("*", 1)[0].replace("const ", "").strip() for a in arguments]
    inputs = model.graph.input
    lines = [f"const long {s} = mode == 1 && rand() % 4 ? {was} : mode ? rand() % {bound + 1} : {was};" for s, (was, bound) in sizes.items()]
    for i, v in enumerate(inputs):
        count = " * ".join(["1", *(d.dim_param or str(d.dim_value) for d in v.type.tensor_type.shape.dim)])
        low = 3 if types[i] in ("float", "double") else 0
        choices = 2 if v.type.tensor_type.elem_type == TensorProto.BOOL else 3 + low
        lines.append(f"{types[i]} *a{i} = malloc((size_t)({count}) * sizeof *a{i});")
        number = f"rand() % {choices} - {low}"
        if re.match(r"u?int\d+_t", types[i]) and v.type.tensor_type.elem_type in INTEGERS:
            number = f"extreme && rand() % 2 ? any() : {number}"
        lines.append(f"for (long j = 0; j < {count}; j++) a{i}[j] = ({types[i]})({number});")
    names = re.findall(r'^/\* (?:in|out)put .*\n#define M_(\w+)_SIZE', header, re.M)
    for i in range(len(inputs), len(names)):
        lines.append(f"{types[i]} *a{i} = malloc(M_{names[i]}_BYTES);")
    given, set_by_caller = [f"a{i}" for i in range(len(names))], []
    if "struct m_sizes" in header:
        set_by_caller = re.findall(r"int64_t (\w+); /\* set by the caller", header)
        lines.append("struct m_sizes sizes = {0};" + "".join(f" sizes.{s} = {s};" for s in set_by_caller))
        given.append("&sizes")
    call = f"m_run_at({', '.join(['arena', *given])})"
    lines.append(f"{call};")
    for s in set_by_caller:
        lines += [f"sizes.{s} = any();", f'if ({call} == 0) return puts("a size that nothing has, and no status"), 1;', f"sizes.{s} = {s};"]
    lines += [f"free({a});" for a in given if a != "&sizes"]
    return MAIN % "\n        ".join(lines)


def failure(command):
    p = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    return f"{' '.join(map(str, command))}\n{p.stdout}{p.stderr[:1500]}" if p.returncode else ""


def by_inputs(name):
    version = 24 if name == "TensorScatter" else 20
    return parse_model(f'<ir_version: 10, opset_import: ["" : {version}]> by_inputs {BY_INPUTS[name]}')


def wrong(name, model, build):
    """What is wrong with the model; "": nothing; None: it cannot be called this way."""
    if not is_plain(model):
        return None
    sizes = opened(model, random.Random(name))
    work = os.path.join(build, "sizes", name.replace(" ", "_"))
    os.makedirs(work, exist_ok=True)
    path = {name: os.path.join(work, name) for name in ("m.onnx", "m.c", "m.h", "main.c", "main")}
    onnx.save(model, path["m.onnx"])
    bounds = [x for s, (_, bound) in sizes.items() for x in ("--dim", f"{s}<={bound}")]
    asked, n = True, 0
    while asked and n < 4:  # adds bounds of sizes that the run determines
        p = subprocess.run([f"{build}/onnxcc", path["m.onnx"], "-o", path["m.c"], "--single", *bounds], capture_output=True, text=True)
        asked, n = set(re.findall(r"--dim '(.*)<=64'", p.stderr)) if p.returncode == 1 else (), n + 1
        bounds += [x for s in sorted(asked) for x in ("--dim", f"{s}<={LARGEST}")]
    if p.returncode:
        return None if p.returncode == 1 else p.stderr
    with open(path["m.h"]) as h, open(path["main.c"], "w") as c:
        c.write(program(h.read(), model, sizes))
    arguments = ["-w", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", path["main.c"], "-lm"]
    main = pathlib.Path(path["main"])
    with kept(main, ["clang-14"], arguments, [path[name] for name in ("m.c", "m.h", "main.c")]) as before:
        if not before and (said := failure(["clang-14", *arguments, "-o", main])):
            main.unlink(missing_ok=True)
            return said
    return failure([main])


def main():
    folder, build = os.path.realpath(sys.argv[1]), sys.argv[2]
    models = {}
    for name in sorted(os.listdir(os.path.join(folder, "node")), key=lambda f: int(f.split("_")[2])):
        models.setdefault(name.split("_", 3)[3], (name, onnx.load(os.path.join(folder, "node", name, "model.onnx"))))
    models |= {f"{name} by its inputs": (f"by {name}", by_inputs(name)) for name in BY_INPUTS}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(models, pool.map(lambda m: wrong(*m, build), models.values())))
    failed = {name: text for name, text in results.items() if text}
    for name, text in failed.items():
        print(f"FAIL {name}: {text}")
    unused = sum(text is None for text in results.values())
    print(f"sizes: {len(results)} models, {len(BY_INPUTS)} whose inputs are sizes, one of every other kind; "
          f"{unused} of them cannot have open sizes, or no such tensors")
    print(f"sizes: {len(results) - unused - len(failed)} passed, {len(failed)} failed")
    sys.exit(bool(failed))


main()
