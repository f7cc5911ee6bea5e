"""The cost of training relative to inference: a step of samples/train's network, in instructions (counted in QEMU; its time, which depends on
the processor, is only printed); the arena of MobileNetV2 at batch 1 when its last block is trained, alone and with the layers after it."""
import os
import pathlib
import re
import subprocess
import sys

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "samples" / "train"), str(ROOT / "tests" / "models"), str(ROOT / "tests" / "instructions")]
import vision  # noqa: E402
from instructions import symbols  # noqa: E402
from learner import ONNXCC, in_folder, run_cases  # noqa: E402
from model import digits  # noqa: E402
from table import MACHINES  # noqa: E402
from training import add_training  # noqa: E402

STEP, ARENA = 3.3, 1.3      # limits, as multiples of inference

MAIN = """#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "infer.h"
#include "learn.h"
static struct learn_state state;
static float image[LEARN_IMAGE_SIZE], score[LEARN_SCORE_SIZE], loss;
static int64_t target[LEARN_TARGET_SIZE];
static const float rate = 0.001f;
void count_begin(void);
void count_end(void);
void __attribute__((noipa)) count_begin(void) { __asm__ volatile(""); }
void __attribute__((noipa)) count_end(void) { __asm__ volatile(""); }
static int infer(void) { return infer_run(image, score); }
static int learn(void) { return learn_step_0(&state, image, target, &rate, score, &loss); }
static double seconds(int (*f)(void))
{
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    if (f())
        exit(1);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}
int main(int argc, char **argv)
{
    double best[2] = {1, 1};
    (void)argv;
    for (int i = 0; i < LEARN_IMAGE_SIZE; i++)
        image[i] = (float)(i * 7919 % 17) / 16;
    for (int i = 0; i < LEARN_TARGET_SIZE; i++)
        target[i] = i % 10;
    if (learn_reset(&state, 1) || learn_init(&state))
        return 1;
    if (argc > 1) {
        count_begin();
        const int status = argc > 2 ? learn() : infer();
        count_end();
        return status;
    }
    for (int i = 0; i < 600; i++)
        for (int k = 0; k < 2; k++) {
            const double t = seconds(k ? learn : infer);
            best[k] = t < best[k] ? t : best[k];
        }
    printf("%.9f %.9f\\n", best[0], best[1]);
    return 0;
}
"""


def compiled(model, c, folder, *options):
    subprocess.run([ONNXCC, model, "-o", c, "--single", "--prefix", c[:-2], *options], cwd=folder, check=True, capture_output=True)
    return pathlib.Path(folder, c).with_suffix(".h").read_text()


def program(folder, target):
    machine = MACHINES[target]
    options = ["--target", machine.target] if machine.target else []
    compiled("m.onnx", "infer.c", folder, *options)
    compiled("m.onnx", "learn.c", folder, "--training", *options)
    pathlib.Path(folder, "main.c").write_text(MAIN)
    subprocess.run(["gcc", "-std=gnu99", "-O3", "-static", *machine.flags, "infer.c", "learn.c", "main.c", "-o", target, "-lm"], cwd=folder, check=True)
    return os.path.join(folder, target)


def instructions(elf, folder, *arguments):
    addresses, names = symbols(elf, "nm")
    begin, end = (addresses[names.index(n)] for n in ("count_begin", "count_end"))
    subprocess.run(["qemu-x86_64", "-plugin", f"{folder}/count.so,begin={begin:#x},end={end:#x},out={folder}/blocks", elf, *arguments], check=True)
    rows = map(str.split, pathlib.Path(folder, "blocks").read_text().splitlines())
    return sum(int(n) * int(times) for _, n, times in rows)


@in_folder
def step(target, folder):
    if MACHINES[target].lacks():
        return
    onnx.save(digits(), f"{folder}/m.onnx")
    elf = program(folder, target)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", ROOT / "tests" / "instructions" / "count.c", "-o", f"{folder}/count.so"], check=True)
    counts = [instructions(elf, folder, *"ab"[:k]) for k in (1, 2)]
    times = [float(t) for t in subprocess.run([elf], check=True, capture_output=True, text=True).stdout.split()]
    ratios = [b / a for a, b in (counts, times)]
    print(f"digits, {target}: a step is {ratios[0]:.2f} times inference in instructions, {ratios[1]:.2f} times in time")
    assert ratios[0] <= STEP, f"{ratios[0]:.2f} times the instructions of inference"


@in_folder
def last_block(folder):
    m, _ = vision.mobilenet_v2()
    onnx.save(m, f"{folder}/m.onnx")
    arena = lambda h: int(re.search(r"_ARENA_BYTES (\d+)", h)[1])     # noqa: E731
    infer = arena(compiled("m.onnx", "m.c", folder, "--weights=file"))
    for optimiser in "sgd", "adam":
        for layers in ("49", "50", "51"), ("49", "50", "51", "52", "fc"):
            train = [f"conv_{k}.*" if k.isdigit() else f"{k}.*" for k in layers]
            onnx.save(add_training(m, "softmax_cross_entropy", optimiser, train=train), f"{folder}/t.onnx")
            learn = arena(compiled("t.onnx", "t.c", folder, "--training", "--weights=file"))
            print(f"MobileNetV2, {optimiser}, {len(layers)} layers trained: {learn / infer:.2f} times the arena of inference")
            assert learn <= ARENA * infer, f"{optimiser}, {train}: an arena of {learn}, that of inference is {infer}"


def main():
    return run_cases("training speed", *((step, t) for t in ("x86-64", "x86-64-v3")), last_block)


if __name__ == "__main__":
    sys.exit(main())
