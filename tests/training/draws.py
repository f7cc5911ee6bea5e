"""Random numbers in training models: the generator is state, each step draws other numbers, and a seed gives the same numbers on every
machine. Nodes with an attribute `seed` draw the numbers of docs/training.md; those of others have the right distributions."""
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx.parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "machines"))
from table import MACHINES  # noqa: E402
from learner import build, in_folder, run_cases  # noqa: E402
from written import add_training, mlp  # noqa: E402

f = np.float32
MACHINE_FILES = pathlib.Path(__file__).resolve().parent.parent / "machines"
GOLDEN, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1
HEAD = '<ir_version: 8, opset_import: ["":17, "ai.onnx.preview.training":1]> '
ON = ["s390x", "aarch64", "armhf", "i386", "cortex-m4"]


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def splitmix(start, count):
    """Outputs of the generator SplitMix64, by Steele, Lea and Flood."""
    return [mix(start + (i + 1) * GOLDEN & WORD) for i in range(count)]


def sequence(seed, call, count):
    """The numbers that a node with this seed draws in a call, by docs/training.md."""
    key = seed & WORD if isinstance(seed, int) else int(np.float32(seed).view(np.uint32))
    return splitmix(mix(mix(key + GOLDEN & WORD) ^ call), count)


def uniform(bits, kind):
    digits = {np.float32: 24, np.float64: 53}[kind]
    return np.array([b >> 64 - digits for b in bits], np.float64).astype(kind) * kind(2.0 ** -digits)


def model(step, init=None, keys=("w",), graph="g (float[8] x) => (float[8] y) <float[8] w = {1,1,1,1,1,1,1,1}> { y = Mul(x, w) }"):
    m = onnx.parser.parse_model(HEAD + graph)
    t = m.training_info.add()
    if init:
        t.initialization.CopyFrom(onnx.parser.parse_graph(init))
        t.initialization_binding.add(key="w", value="o")
    t.algorithm.CopyFrom(onnx.parser.parse_graph(step))
    for k in keys:
        t.update_binding.add(key=k, value=k + "n")
    return m


PLAIN = model("""step () => (float[8] wn, float[1000] u, float[1000] low, float[1000] n, double[10] s, float[8] d, bool[8] k, float[8] dw,
    float[1000] b, int32[1,1000] c) <bool on = {1}, float r = {0.25}> {
    u = RandomUniform <shape = [1000]> ()  low = RandomUniform <shape = [1000], low = -1.0> ()
    n = RandomNormal <shape = [1000], mean = 2.0, scale = 3.0> ()  s = RandomUniform <shape = [10], seed = 3.0, dtype = 11> ()
    d, k = Dropout(w, r, on)  z = ReduceSum <keepdims = 0> (d)  dw = ai.onnx.preview.training.Gradient <xs = ["w"], y = "z"> (w)
    p = Constant <value = float {0.3}> ()  l = Constant <value_ints = [1000]> ()  pp = Expand(p, l)  b = Bernoulli(pp)
    q = Constant <value = float[1,3] {0, 0.6931472, 0}> ()  c = Multinomial <sample_size = 1000> (q)
    h = Constant <value = float {0.001}> ()  hd = Mul(h, dw)  wn = Sub(w, hd) }""", "init () => (float[8] o) { o = RandomUniform <shape = [8]> () }")


def each_step_anew(m):
    """Each step draws other numbers; the same seed, and a saved state, give the same."""
    def run(seed, steps=3):
        m.reset(seed).init()
        return [m.step(np.ones(8, f)) for _ in range(steps)]

    assert [int(v) for v in m.reset(9).random] == [9, 0] and [int(v) for v in m.init().random] == [9, 1]
    a, b, c = run(1), run(1), run(2)
    for k in "u low n b c".split():
        for i in range(3):
            assert (a[i][k] == b[i][k]).all() and not (a[i][k] == c[i][k]).all(), f"{k} does not follow the seed"
        assert not (a[0][k] == a[1][k]).all() and not (a[1][k] == a[2][k]).all(), f"{k} is the same in every step"
        assert not (a[0]["u"] == (a[0]["low"] + 1) / 2).all()
    m.reset(1).init()
    first = m.w.copy()
    assert ((first >= 0) & (first < 1)).all() and not (m.reset(2).init().w == first).all()
    m.reset(1).init().step(np.ones(8, f))
    saved = m.save()
    after = m.step(np.ones(8, f))
    twin = m.twin().reset(77)
    assert twin.load(saved) == 0
    again = twin.step(np.ones(8, f))
    assert all((after[k] == again[k]).all() for k in after) and (m.bytes == twin.bytes).all()


def seeded(m):
    for seed in (0, 5, 2 ** 64 - 1):
        m.reset(seed).init()
        for call in (1, 2, 3):
            got, want = m.step(np.ones(8, f))["s"], uniform(sequence(3.0, call, 10), np.float64)
            assert (got == want).all(), f"{got} instead of {want}"


def distributions(m):
    """Means are within five standard errors; the gradient of Dropout is that of the elements it kept."""
    m.reset(3).init()
    all_of = {}
    kept = []
    for _ in range(40):
        w = m.w.copy()
        r = m.step(np.ones(8, f))
        for k, v in r.items():
            all_of.setdefault(k, []).append(v.ravel().astype(float))
        assert np.allclose(r["d"], np.where(r["k"], w / f(0.75), 0)) and np.allclose(r["dw"], r["k"] / 0.75)
        kept.append(r["k"])
    n = 40000
    want = {"u": (1 / 2, 1 / 12), "low": (0, 4 / 12), "n": (2, 9), "b": (0.3, 0.21), "c": (1, 0.5)}
    for k, (mean, variance) in want.items():
        v = np.concatenate(all_of[k])
        assert len(v) == n and abs(v.mean() - mean) < 5 * math.sqrt(variance / n), f"{k} has the mean {v.mean()}"
        assert abs(v.var() / variance - 1) < 0.05, f"{k} has the variance {v.var()}"
    kept = np.concatenate(kept)
    assert abs(kept.mean() - 0.75) < 5 * math.sqrt(0.75 * 0.25 / len(kept)), f"{kept.mean()} are kept"


def published():
    """The first numbers of Vigna's splitmix64.c for the seed 1234567."""
    assert splitmix(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


MAIN = """#include <stdio.h>
#include <string.h>
#include "m.h"
static struct m_state state;
static unsigned char bytes[M_SAVED_BYTES];
static void print(const void *from, size_t size)
{
    const unsigned char *at = from;
    const uint16_t little = 1;
    for (size_t i = 0; i < size; i++)       /* numbers of four bytes, or bytes */
        printf("%02x", at[size % 4 || *(const unsigned char *)&little ? i : i / 4 * 4 + 3 - i % 4]);
    printf("\\n");
}
int main(void)
{
    DATA
    if (m_reset(&state, 42) || m_init(&state))
        return 1;
    for (int i = 0; i < 5; i++)
        if (STEP)
            return 1;
    if (m_save(&state, bytes, sizeof bytes))
        return 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        printf("%02x", bytes[i]);
    SHOW
    return 0;
}
"""
DRAWING = {"DATA": "static float x[8], y[8], wn[8], u[1000], low[1000], n[1000], d[8], dw[8], b[1000];\n    static double s[10];\n"
           "    static uint8_t k[8];\n    static int32_t c[1000];",
           "STEP": "m_step_0(&state, x, y, u, low, n, s, d, k, dw, b, c)", "SHOW": "print(u, sizeof u), print(n, sizeof n), print(c, sizeof c);"}
LEARNING = {"DATA": "static float x[24], y[18], loss;\n    const float rate = 0.05f;\n    const int64_t t[6] = {0, 1, 2, 2, 1, 0};\n"
            "    for (int i = 0; i < 24; i++)\n        x[i] = (float)(i * 7 % 11) / 4 - 1;",
            "STEP": "m_step_0(&state, x, t, &rate, y, &loss)", "SHOW": "print(y, sizeof y), print(&loss, sizeof loss);"}


def built(machine, folder):
    """The command that runs the program of m.c and main.c on a machine."""
    bare = ["-ffunction-sections", "-Wl,--gc-sections", *machine.board, MACHINE_FILES / "board.c"]
    subprocess.run([machine.tool("gcc"), *machine.flags, "-std=gnu99", "-O2", "m.c", "main.c", *(bare if machine.board else ["-static"]), "-o", "m", "-lm"],
                   cwd=folder, check=True)
    return [*machine.run, "./m"]


def everywhere(m, texts):
    """The state and results after five steps are the same by several compilers and on other machines, as far as their tools are installed:
    big-endian, of 32 bits, without an operating system. So are those of a network that learns by Adam."""
    with tempfile.TemporaryDirectory() as folder:
        build(m, folder)
        main = MAIN
        for k, v in texts.items():
            main = main.replace(f"    {k}\n" if k != "STEP" else k, f"    {v}\n" if k != "STEP" else v)
        pathlib.Path(folder, "main.c").write_text(main)
        said = {}
        for cc in ("gcc", "clang"):
            for level in ("-O0", "-O3"):
                if shutil.which(cc):
                    subprocess.run([cc, "-std=c99", level, "m.c", "main.c", "-o", "m", "-lm"], cwd=folder, check=True)
                    said[f"{cc} {level}"] = subprocess.run(["./m"], cwd=folder, check=True, capture_output=True).stdout
        for name in ON:
            if shutil.which(MACHINES[name].tool("gcc")) and shutil.which(MACHINES[name].run[0]):
                said[name] = subprocess.run(built(MACHINES[name], folder), cwd=folder, check=True, capture_output=True).stdout
        assert len(said) >= 2 and len(set(said.values())) == 1, f"{[k for k in said if said[k] != said['gcc -O0']]} have other numbers"


@in_folder
def none_without(folder):
    """A model that draws no numbers has no generator, even with a Dropout, not in training mode."""
    m, _ = build(model("step () => (float[8] wn) { d = Dropout(w)  wn = Neg(d) }"), folder)
    assert list(m.fields) == ["w"], list(m.fields)


@in_folder
def taken_name(folder):
    m, _ = build(model("step () => (float[2] randomn) { u = RandomUniform <shape = [2]> ()  randomn = Add(random, u) }", keys=["random"],
                       graph="g (float[2] x) => (float[2] y) <float[2] random = {1, 2}> { y = Mul(x, random) }"), folder)
    m.reset(4).step(np.ones(2, f))
    generator, = (getattr(m, k) for k, (kind, _, _) in m.fields.items() if kind == np.uint64)
    assert m.random.dtype == f and (m.random >= [1, 2]).all() and [int(v) for v in generator] == [4, 1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        m, _ = build(PLAIN, folder)
        return run_cases("training draws", (each_step_anew, m), (seeded, m), (distributions, m), published, (everywhere, PLAIN, DRAWING),
                         (everywhere, add_training(mlp(), "softmax_cross_entropy", "adam", fresh=True), LEARNING), none_without,
                         taken_name)


if __name__ == "__main__":
    sys.exit(main())
