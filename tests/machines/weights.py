"""Constants of every type in every mode of --weights, on machines of both byte orders: their bytes must be numpy's, also in products
with packed panels. If a mode is impossible on a machine, the C compiler must say so.

weights.py [MACHINE...]: prints what fails, then "weights: N passed, N failed"."""
import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from table import MACHINES

BUILD = pathlib.Path(os.environ["B"]).resolve()
WORK = BUILD / "machines" / "weights"
HERE = ["s390x", "aarch64"]
MODES = {"inline": ["--weights=inline"], "inline-single": ["--weights=inline", "--single"], "incbin": ["--weights=incbin"],
         "file": ["--weights=file"], "default": []}
PLAIN = "float float16 bfloat16 double int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool complex64 complex128".split()
SMALL = "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0 int4 uint4 int2 uint2 float4e2m1".split()
COUNT = 150     # elements: a multiple of 2, but not of 4

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "m.h"
static _Alignas(64) unsigned char weights[1 << 22];
static unsigned char room[OUTPUTS][LARGEST];
static const size_t bytes[] = {BYTES};
int main(int n, char **a)
{
    (void)weights;
#ifdef LOAD
    FILE *f = fopen(a[2], "rb");
    size_t got = f ? fread(weights, 1, sizeof weights, f) : 0;
    if (m_load(weights, got) != M_OK)
        return 1;
#endif
    float x[6] = {1, 2, 3, 4, 5, 6};
    uint8_t u[6] = {1, 2, 3, 4, 5, 6}, c = n > 1 && *a[1] == '1';
    if (m_run((void *)&c, x, u, ARGUMENTS) != M_OK)
        return 2;
    for (int i = 0; i < OUTPUTS; i++) {
        for (size_t k = 0; k < bytes[i]; k++)
            printf("%02x", room[i][k]);
        printf("\n");
    }
    return 0;
}
"""


def bits(kind, rng):
    """Random bits of a type, including NaN, infinities and -0."""
    t = TensorProto.DataType.Value(kind.upper())
    dtype = np.dtype(bool) if kind == "bool" else helper.tensor_dtype_to_np_dtype(t)
    if kind in PLAIN and kind != "bool":
        return np.frombuffer(rng.bytes(COUNT * dtype.itemsize), dtype)
    codes = rng.integers(0, 256, COUNT).astype(np.uint8)
    if kind == "bool":
        return codes % 2 > 0
    if kind.startswith(("int", "uint")):
        info = ml_dtypes.iinfo(dtype)
        return (info.min + codes.astype(int) % 2**info.bits).astype(dtype)
    return (codes if kind.startswith("float8") else codes % 16).view(dtype)


def as_there(x, kind, big):
    """The bytes of x in the machine's memory; packed elements fill bytes from the low bits up."""
    width = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}.get(kind)
    if width:
        codes = x.view(np.uint8) if kind == "float4e2m1" else x.astype(int)
        codes = np.pad(codes & (1 << width) - 1, (0, -len(codes) % (8 // width))).reshape(-1, 8 // width)
        return (codes << np.arange(8 // width) * width).sum(1).astype(np.uint8).tobytes()
    unit = x.dtype.itemsize // (2 if kind.startswith("complex") else 1)
    return x.view(f"V{unit}" if unit > 8 else f"u{unit}").astype(f">u{unit}" if big else f"<u{unit}").tobytes()


class Model:
    """Outputs, named after their kinds: of each type one of two constants, chosen by a condition; then a product and a convolution."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.pairs = {f"{kind}_{k}": (kind, bits(kind, rng), bits(kind, rng)) for kind in PLAIN + SMALL for k in range(2)}
        for kind in PLAIN:
            x = bits(kind, rng)
            self.pairs[f"{kind}_filled"] = kind, np.full(COUNT, x[5]), x
        self.w, self.b = rng.integers(-9, 9, (6, 17)).astype(np.float32), rng.integers(-99, 99, 17).astype(np.float32)
        self.q, self.z = rng.integers(-128, 128, (6, 21)).astype(np.int8), np.uint8(3)

    def proto(self):
        nodes, outputs, held = [], [], []
        for name, (kind, *both) in self.pairs.items():
            t, graphs = TensorProto.DataType.Value(kind.upper()), []
            for which, x in zip(("then", "else"), both):
                held.append(numpy_helper.from_array(x, f"{name}_{which}"))
                y = helper.make_tensor_value_info(f"{name}_{which}_y", t, [None])
                graphs.append(helper.make_graph([helper.make_node("Identity", [f"{name}_{which}"], [y.name])], "g", [], [y]))
            nodes.append(helper.make_node("If", ["c"], [name], then_branch=graphs[0], else_branch=graphs[1]))
            outputs.append(helper.make_tensor_value_info(name, t, [COUNT]))
        for name, x in ("w", self.w), ("b", self.b), ("q", self.q), ("z", self.z):
            held.append(numpy_helper.from_array(np.asarray(x), name))
        nodes.append(helper.make_node("Gemm", ["x", "w", "b"], ["product"]))
        nodes.append(helper.make_node("MatMulInteger", ["u", "q", "z"], ["integers"]))
        outputs += [helper.make_tensor_value_info("product", TensorProto.FLOAT, [1, 17]),
                    helper.make_tensor_value_info("integers", TensorProto.INT32, [1, 21])]
        given = [helper.make_tensor_value_info(n, t, s) for n, t, s in (("c", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [1, 6]),
                                                                        ("u", TensorProto.UINT8, [1, 6]))]
        graph = helper.make_graph(nodes, "g", given, outputs, held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)

    def expected(self, taken, big):
        x = np.arange(1, 7)
        for name, (kind, *both) in self.pairs.items():
            yield name, as_there(both[not taken], kind, big)
        yield "product", as_there((x @ self.w + self.b).astype(np.float32), "float", big)
        yield "integers", as_there(((x - 3) @ self.q.astype(int)).astype(np.int32), "int32", big)


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", check=False)


def emit(folder, mode, model, want):
    """The C of the model, and the program that calls it."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "m.onnx")
    subprocess.run([BUILD / "onnxcc", folder / "m.onnx", "-o", folder / "m.c", "--prefix", "m", *MODES[mode]], check=True)
    sizes = [len(b) for b in want]
    macros = {"OUTPUTS": len(want), "LARGEST": max(sizes), "BYTES": ", ".join(map(str, sizes)),
              "ARGUMENTS": ", ".join(f"(void *)room[{i}]" for i in range(len(want)))}
    (folder / "main.c").write_text("".join(f"#define {k} {v}\n" for k, v in macros.items()) + MAIN)


def wrong(name, mode, m):
    """What is wrong with one mode on one machine."""
    machine, folder, big = MACHINES[name], WORK / name / mode, name == "s390x"
    emit(folder, mode, m.proto(), [b for _, b in m.expected(True, False)])
    beside = (folder / "m.c.weights").exists()
    built = run(machine.tool("gcc"), "-std=c11", "-O0", "-DTILE_SMALL=0", *machine.flags, *["-static"] * (name != "x86-64"),
                *["-DLOAD"] * (mode == "file"), f"-I{BUILD / 'include'}", folder / "m.c", folder / "main.c", "-o", folder / "program")
    if big and beside:
        return "" if "#error" in built.stderr and "--weights=inline" in built.stderr else f"no #error, but {built.stderr[:500]}"
    if built.returncode:
        return built.stderr[:1000]
    if beside != (mode in ("incbin", "file")):
        return "the weights are elsewhere"
    for taken in 0, 1:
        p = run(*machine.run, folder / "program", taken, folder / "m.c.weights")
        got = p.stdout.split()
        if p.returncode or len(got) != p.stdout.count("\n"):
            return f"exit {p.returncode} {p.stderr[:500]}"
        bad = [k for (k, b), there in zip(m.expected(taken, big), got, strict=True) if b.hex() != there]
        if bad:
            return f"other bits: {' '.join(bad)}"
    return ""


def each(total, machines):
    m = Model()
    for name in machines:
        for mode in MODES:
            said = wrong(name, mode, m)
            total.add(not said, bool(said))
            if said:
                print(f"FAILED {name}, --weights of {mode}: {said}", flush=True)


if __name__ == "__main__":
    from runner import Sum
    counts = Sum("weights")
    each(counts, sys.argv[1:] or HERE)
    counts.end()
