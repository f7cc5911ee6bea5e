"""`onnxcc stack`, compared with the stack that programs use, which is painted before a run: its figure is never less, and at most a
tenth more. On x86-64 and, in QEMU, on Cortex-M4 and M55. Prints "stack: N passed, N failed"."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "machines")]
import fetch  # noqa: E402
from checks import check, counts  # noqa: E402
from table import MACHINES  # noqa: E402

BUILD = pathlib.Path(os.environ["B"]).resolve()
WORK = BUILD / "stack"
BOARD = ROOT / "tests" / "machines"
PUBLISHED = ["ds_cnn_qdq", "autoencoder_qdq"]
WAYS = [("x86-64", "-O2"), ("x86-64", "-Os"), ("x86-64-v3", "-O2"), ("cortex-m4", "-O2"), ("cortex-m4", "-Os"), ("cortex-m55", "-O2")]
MORE = 1.1
RUNS = 12   # the stack begins at a random address, on which the bytes for its alignment depend

# Inputs and outputs are not aligned as arrays of doubles may be; what the runs compute is of no interest.
MAIN = """
#include <stdint.h>
#include <stdio.h>
#include "net.h"
enum { AREA = 100000, PAINT = 0xA5 };
static _Alignas(64) unsigned char io[IO];
static volatile unsigned char *top;
static void __attribute__((noinline)) paint(void)
{
    for (int i = 64; i < AREA; i++)
        top[-i] = PAINT;
}
static int __attribute__((noinline)) seen(void)
{
    int i = AREA - 1;
    while (top[-i] == PAINT)
        i--;
    return i;
}
int main(void)
{
    __asm__ volatile("mov SP, %0" : "=r"(top));
    paint();
    if (CALL)
        return 1;
    printf("<%d>\\n", seen());
    return 0;
}
"""

# name -> the model's text; constants are random
TEXTS = {
    "mlp": "g (float[1,40] x) => (float[1,7] y) <float[40,50] a, float[50] b, float[50,7] c> { h = Gemm(x, a, b) r = Relu(h) z = MatMul(r, c) "
           "y = Softmax(z) }",
    "cnn": "g (float[1,3,17,17] x) => (float[1,5] y) <float[8,3,3,3] a, float[12,8,3,3] b, float[12,5] c> { h = Conv<pads=[1,1,1,1]>(x, a) "
           "r = Relu(h) p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(r) k = Conv(p, b) m = GlobalAveragePool(k) f = Flatten(m) "
           "z = MatMul(f, c) y = Softmax(z) }",
    "norm": "g (float[4,33] x) => (float[4,33] y) <float[33] a, float[33] b> { h = LayerNormalization(x, a, b) y = Gelu(h) }",
    "attention": "g (float[2,9,16] q, float[2,9,16] k, float[2,9,16] v) => (float[2,9,16] y) { t = Transpose<perm=[0,2,1]>(k) "
                 "s = MatMul(q, t) p = Softmax(s) y = MatMul(p, v) }",
    "lstm": "g (float[6,1,10] x) => (float[6,1,1,12] y) <float[1,48,10] a, float[1,48,12] b> { y = LSTM<hidden_size=12>(x, a, b) }",
}


def models():
    rng = np.random.default_rng(1)
    for name, text in TEXTS.items():
        m = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> {re.sub(r"<float.*?> {", "{", text) if "= {" not in text else text}')
        for kind, dims, constant in re.findall(r"(float)\[([\d,]+)\] (\w)(?=[,>])", text.split("=>")[1]):
            shape = tuple(map(int, dims.split(",")))
            m.graph.initializer.append(numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) / 4, constant))
        WORK.mkdir(parents=True, exist_ok=True)
        onnx.save(m, WORK / f"{name}.onnx")
        yield name, WORK / f"{name}.onnx"
    yield from ((m.name, m.folder / "model.onnx") for m in fetch.fetch(PUBLISHED))


def run(*command, **options):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", **options)
    said = p.stdout + p.stderr
    return said if check(p.returncode == 0, f"{' '.join(map(str, command))}\n{said[-2000:]}") else None


def call_of(header):
    """The call, and the bytes of its inputs and outputs."""
    kinds = re.search(r"int net_run\((.*?)\);", header, re.S)[1].split(",")
    sizes = [(int(n) + 63) // 64 * 64 for n in re.findall(r"#define NET_\w+_BYTES (\d+)", header)][-len(kinds):]
    arguments = [f"(void *)(io + {sum(sizes[:i])})" for i in range(len(kinds))]
    return f"net_run({', '.join(arguments)})", sum(sizes)


def one(name, model, machine, level):
    m = MACHINES[machine]
    folder = WORK / f"{name}-{machine}{level}"
    folder.mkdir(parents=True, exist_ok=True)
    target = ["--target", m.target] if m.target else []
    options = [*target, "--prefix", "net", "--weights=inline"]
    if run(BUILD / "onnxcc", model, "-o", folder / "net.c", *options) is None:
        return
    call, size = call_of((folder / "net.h").read_text())
    register = "%%rsp" if not m.prefix else "sp"
    move = f"mov {register}, %0" if not m.prefix else f"mov %0, {register}"
    (folder / "main.c").write_text(MAIN.replace("mov SP, %0", move).replace("CALL", call).replace("IO]", f"{size}]"))
    cc, flags = m.tool("gcc"), [*m.flags, "-std=gnu11", level, f"-I{BUILD / 'include'}"]
    bare = ["-ffunction-sections", "-Wl,--gc-sections", *m.board, BOARD / "board.c"]
    if run(cc, *flags, folder / "net.c", folder / "main.c", *(bare if m.board else ["-Wl,-z,now"]), "-o", folder / "net.elf") is None:
        return
    outputs = [run(*m.run, folder / "net.elf") for _ in range(1 if m.board else RUNS)]
    said = run(BUILD / "onnxcc", "stack", model, *options, env={**os.environ, "CC": cc, "CFLAGS": f"{level} {' '.join(m.flags)}"})
    if None in outputs or said is None:
        return
    seen, told = max(int(re.search(r"<(\d+)>", output)[1]) for output in outputs), int(re.search(r"^stack +(\d+) B", said)[1])
    check(seen <= told <= seen * MORE, f"{name}, {machine} {level}: {told} bytes, {seen} seen\n{said}")
    print(f"{name:18}{machine:12}{level} {told:6} said, {seen:6} seen, {told / seen:.3f}", flush=True)


def main(chosen):
    todo = [(*m, *w) for m in models() if not chosen or m[0] in chosen for w in WAYS if not MACHINES[w[0]].lacks()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: one(*job), todo))
    print(f"stack: {counts[True]} passed, {counts[False]} failed")
    return bool(counts[False])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
