"""The last layer of a keyword spotter, MLPerf Tiny's DS-CNN in 8-bit integers, is trained for other words on a bare Cortex-M4 in QEMU, in
32 KB of RAM: state, arena, inputs, outputs and stack. The body is frozen; the new head, in floats, learns by momentum, one example a
step. Its training is compared with numpy's, the body's features with ONNX Runtime's; it must recognise held-out examples."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, utils

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "samples" / "train"), str(ROOT / "tests" / "models"), str(ROOT / "tests" / "machines")]
import fetch  # noqa: E402
from learner import ONNXCC, in_folder, run_cases  # noqa: E402
from table import MACHINES  # noqa: E402
from training import add_training  # noqa: E402

RAM = 32 << 10
WORDS, FEATURES, FRAMES = 6, 64, (49, 10)
EXAMPLES, HELD_OUT, EPOCHS, RATE, ALPHA = 10, 6, 4, 0.02, 0.9     # of each word
FLASH = ROOT / "samples" / "bare-metal"

# As cortex-m4.ld, with the RAM that the program needs and no more. The stack is at the beginning of the RAM, so that an overflow faults.
LINK = f"""MEMORY {{ flash (rx) : ORIGIN = 0, LENGTH = 1M
    ram (rwx) : ORIGIN = 0x20000000, LENGTH = {RAM} }}
ENTRY(reset)
SECTIONS {{
    .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) . = ALIGN(8); }} > flash
    .ARM.exidx : {{ *(.ARM.exidx*) }} > flash
    .stack (NOLOAD) : {{ stack_begin = .; . = . + STACK; stack_top = .; }} > ram
    .data : {{ data_begin = .; *(.data*) . = ALIGN(8); data_end = .; }} > ram AT > flash
    data_load = LOADADDR(.data);
    .bss (NOLOAD) : {{ bss_begin = .; *(.bss*) *(COMMON) . = ALIGN(8); bss_end = .; }} > ram
    /DISCARD/ : {{ *(.comment) *(.note*) }}
}}
"""

MAIN = """#include <string.h>
#include "board.h"
#include "data.h" /* examples[EXAMPLES][490], in units of 1/32, and example_word[EXAMPLES]: those that are learnt, then those held out */
#include "kws.h"

static struct kws_state state;
static float input[KWS_INPUT_SIZE], score[KWS_SCORE_SIZE], features[KWS_FEATURES_SIZE];
extern unsigned char stack_begin[], stack_top[];

static void print_number(uint32_t n)
{
    char text[10];
    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[n >> (28 - 4 * i) & 15];
    memcpy(text + 8, "\\n", 2);
    board_print(text);
}

static void print_floats(const float *x, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, 4);
        print_number(bits);
    }
}

static void listen(int i)
{
    for (int k = 0; k < KWS_INPUT_SIZE; k++)
        input[k] = (float)examples[i][k] / 32;
}

int main(void)
{
    const float rate = RATE;
    unsigned char *here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    for (volatile unsigned char *p = stack_begin; p < here; p++)
        *p = 0xA5;
    int status = kws_reset(&state);
    for (int step = 0; step < EPOCHS * LEARNT && !status; step++) {
        const int64_t word = example_word[step % LEARNT];
        float loss;
        listen(step % LEARNT);
        status = kws_step_0(&state, input, &word, &rate, score, features, &loss);
        print_floats(&loss, 1);
    }
    for (int i = 0; i < EXAMPLES && !status; i++) {
        listen(i);
        status = kws_run(&state, input, score, features);
        print_floats(features, KWS_FEATURES_SIZE);
        print_floats(score, KWS_SCORE_SIZE);
    }
    print_floats(state.head_w, (int)(sizeof state.head_w / sizeof *state.head_w));
    print_floats(state.head_b, (int)(sizeof state.head_b / sizeof *state.head_b));
    const unsigned char *used = stack_begin;
    while (*used == 0xA5)
        used++;
    print_number((uint32_t)(stack_top - used));
    return status;
}
"""


def spotter(body):
    """The body with a new head of zeros; the head's input is also an output."""
    m = utils.Extractor(body).extract_model([body.graph.input[0].name], ["/flatten_out"])
    m.graph.node.append(helper.make_node("Identity", ["/flatten_out"], ["features"]))
    m.graph.node.append(helper.make_node("Gemm", ["features", "head_w", "head_b"], ["score"]))
    m.graph.initializer.extend(numpy_helper.from_array(np.zeros(s, np.float32), n) for n, s in (("head_w", (FEATURES, WORDS)), ("head_b", (WORDS,))))
    del m.graph.output[:]
    m.graph.output.extend(helper.make_tensor_value_info(n, 1, [1, k]) for n, k in (("score", WORDS), ("features", FEATURES)))
    return add_training(m, "softmax_cross_entropy", "momentum", output="score", train=["head_*"])


def said(word, rng):
    """The features of a spoken word: curves over time that belong to the word, at a random time and speed, with noise."""
    shape = np.random.default_rng(100 + word).normal(size=(5, FRAMES[1]))
    at = (np.arange(FRAMES[0]) * rng.uniform(0.9, 1.1) + rng.uniform(-3, 3)) / FRAMES[0] * 4
    course = np.stack([np.interp(at, range(5), c) for c in shape.T], 1)
    return np.clip(np.rint(32 * (course + 0.3 * rng.normal(size=FRAMES))), -127, 127).astype(np.int8)


def examples():
    """Sounds and their words: those to learn, in a random order, then those held out."""
    rng = np.random.default_rng(7)
    pairs = [[(said(w, rng), w) for _ in range(n) for w in range(WORDS)] for n in (EXAMPLES, HELD_OUT)]
    order = rng.permutation(len(pairs[0]))
    pairs = [pairs[0][i] for i in order] + pairs[1]
    return np.stack([p for p, _ in pairs]), np.array([w for _, w in pairs])


def built(folder, sounds, words, stack):
    """The program whose RAM has exactly the size that it needs."""
    learnt = len(words) - WORDS * HELD_OUT
    rows = ",\n".join("{" + ",".join(map(str, s.ravel())) + "}" for s in sounds)
    (folder / "data.h").write_text(f"enum {{ EXAMPLES = {len(words)}, LEARNT = {learnt}, EPOCHS = {EPOCHS} }};\n#define RATE {RATE}f\n"
                                   f"static const signed char examples[EXAMPLES][{sounds[0].size}] = {{{rows}}};\n"
                                   f"static const unsigned char example_word[EXAMPLES] = {{{','.join(map(str, words))}}};\n")
    (folder / "main.c").write_text(MAIN)
    (folder / "ram.ld").write_text(LINK.replace("STACK", str(stack)))
    machine = MACHINES["cortex-m4"]
    subprocess.run([machine.tool("gcc"), *machine.flags, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{FLASH}", f"-I{folder}", "-nostartfiles",
                    "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", f"-T{folder / 'ram.ld'}", *(folder / c for c in ("kws.c", "main.c")),
                    FLASH / "startup.c", "-o", folder / "kws.elf"], check=True)
    return folder / "kws.elf", machine


def numpy_head(features, words, learnt):
    """Losses, weights and biases by the standard's Momentum, in double, from the features."""
    w, b, v_w, v_b, losses = np.zeros((FEATURES, WORDS)), np.zeros(WORDS), 0, 0, []
    for _ in range(EPOCHS):
        for x, t in zip(features[:learnt].astype(float), words):
            y = x @ w + b
            q = np.exp(y - y.max())
            q /= q.sum()
            losses.append(-np.log(q[t]))
            q[t] -= 1
            v_w, v_b = ALPHA * v_w + np.outer(x, q), ALPHA * v_b + q
            w, b = w - RATE * v_w, b - RATE * v_b
    return np.array(losses), w, b


def sizes(elf, tool):
    """{section: bytes}"""
    lines = subprocess.run([tool, "-A", elf], check=True, capture_output=True, text=True).stdout
    return {n: int(s) for n, s in re.findall(r"^(\.\w+) +(\d+)", lines, flags=re.M)}


@in_folder
def tuned(folder):
    folder = pathlib.Path(folder)
    body = onnx.load(fetch.fetch(["ds_cnn_qdq"])[0].folder / "model.onnx")
    m = spotter(body)
    onnx.save(m, folder / "kws.onnx")
    subprocess.run([ONNXCC, "kws.onnx", "-o", "kws.c", "--single", "--training", "--target", "cortex-m4"], cwd=folder, check=True)
    header = (folder / "kws.h").read_text()
    macro = {n: int(v) for n, v in re.findall(r"#define KWS_(\w+) (\d+)", header)}
    sounds, words = examples()
    stack = (macro["STACK_BYTES"] + 512 + 7) // 8 * 8       # and main's
    elf, machine = built(folder, sounds, words, stack)
    section = sizes(elf, machine.tool("size"))
    used = section.get(".data", 0) + section[".bss"] + section[".stack"]
    held = macro["STATE_BYTES"] + macro["ARENA_BYTES"] + 4 * (sounds[0].size + WORDS + FEATURES)
    assert held <= section[".bss"] and used <= RAM, f"{used} bytes of RAM, {section}"
    names = subprocess.run([machine.tool("nm"), elf], check=True, capture_output=True, text=True).stdout
    assert not re.search(r"\b_?(malloc|sbrk|free|printf)\b", names)
    p = subprocess.run([*machine.run, elf], capture_output=True, text=True, check=False)
    assert p.returncode == 0, f"status {p.returncode}: {p.stdout[-200:]}{p.stderr}"
    *numbers, deepest = (int(n, 16) for n in (p.stdout + p.stderr).split())
    numbers = np.array(numbers, np.uint32).view(np.float32)
    learnt = len(words) - WORDS * HELD_OUT
    losses, rows = numbers[:EPOCHS * learnt], numbers[EPOCHS * learnt:][:len(words) * (FEATURES + WORDS)].reshape(len(words), -1)
    head = numbers[EPOCHS * learnt + rows.size:]
    features, scores = rows[:, :FEATURES], rows[:, FEATURES:]
    want, w, b = numpy_head(features, words, learnt)
    apart = max(abs(losses - want).max(), abs(head[:FEATURES * WORDS].reshape(FEATURES, WORDS) - w).max(), abs(head[FEATURES * WORDS:] - b).max())
    assert apart < 1e-4, f"the head is apart from numpy's by {apart}"
    o = onnxruntime.SessionOptions()     # without optimisations, since ONNX Runtime's 8-bit kernels saturate on some processors
    o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession((folder / "kws.onnx").read_bytes(), o)
    body_of = np.stack([session.run(["features"], {m.graph.input[0].name: s.reshape(1, 1, *FRAMES).astype(np.float32) / 32})[0][0] for s in sounds])
    step = next(numpy_helper.to_array(i) for i in body.graph.initializer if i.name == "/conv_9/Relu_out_scale")
    assert abs(features - body_of).max() < 1.5 * step, f"the body is apart from ONNX Runtime's by {abs(features - body_of).max() / step} steps"
    right = (scores.argmax(1) == words)[learnt:].mean()
    assert right > 0.9, f"{right:.0%} of the held-out words are told"
    assert deepest <= macro["STACK_BYTES"] + 512, f"{deepest} bytes of stack"
    print(f"spotter: RAM {used} (state {macro['STATE_BYTES']}, arena {macro['ARENA_BYTES']}, stack {stack}, of which {deepest} used), "
          f"loss {losses[:learnt].mean():.3f} to {losses[-learnt:].mean():.3f}, {right:.0%} of {WORDS * HELD_OUT} held-out words right")


def main():
    return run_cases("training spotter", tuned)


if __name__ == "__main__":
    os.environ.setdefault("ONNXCC_CACHE", os.path.expanduser("~/.cache/onnxcc"))
    sys.exit(main())
