"""A decoder with its cache as state, beside ONNX Runtime: decoding.py MODEL.onnx [TOKENS]. MODEL is from decoder.py.

The C is run(state, token, logits). Both get the same tokens, in turns on one processor; ONNX Runtime's outputs become its next inputs
without a copy. Checks the logits of every token, that each cache grows in place, a reset, a copy of the state, and the error when it is
full. Prints the median time of a token over the last quarter, of both, and their quotient."""
import ctypes
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

import numpy as np
import onnxruntime

from checks import check, counts

BUILD = pathlib.Path(os.environ["B"]).resolve()
TARGET, FLAGS = "x86-64-v3", ["-O3", "-march=x86-64-v3"]
SUMS = 1e-4     # the largest error, divided by the largest logit: sums in another order through all layers


class Ours:
    def __init__(self, model, tokens):
        c = model.with_name("lm.c")
        start = time.time()
        remarks = subprocess.run([BUILD / "onnxcc", model, "-o", c, "--prefix", "lm", "--target", TARGET, "--state", "present.*=past.*",
                                  "--dim", "now=1", "--dim", f"past<={tokens}", "--remarks=state"],
                                 check=True, capture_output=True, text=True).stderr.splitlines()
        compiled = time.time()
        self.so = c.with_suffix(".so")
        subprocess.run([*shlex.split(os.environ.get("CC", "gcc")), *FLAGS, "-Wall", "-Wextra", "-Wno-psabi", "-Werror", "-fPIC", "-shared",
                        f"-I{BUILD / 'include'}", c, "-o", self.so, "-lm"], check=True)
        print(f"onnxcc {compiled - start:.1f} s, C compiler {time.time() - compiled:.1f} s")
        header = c.with_suffix(".h").read_text()
        check("int lm_run(struct lm_state *state, const int64_t *input_ids, float *logits);" in header, f"other parameters: {header}")
        number = lambda name: int(re.search(rf"{name} (\d+)", header)[1])
        self.state_bytes, self.arena = number("LM_STATE_BYTES"), number("LM_ARENA_BYTES")
        self.caches = len(remarks)
        copied = [r for r in remarks if "appends to" not in r]
        check(self.caches and not copied, f"caches that are copied: {copied}")
        self.library = ctypes.CDLL(str(self.so))
        self.state = ctypes.create_string_buffer(self.state_bytes + 64)
        self.logits = np.zeros(number("LM_LOGITS_SIZE"), np.float32)
        self.reset()

    def reset(self):
        check(self.library.lm_reset(self.state) == 0, "lm_reset fails")

    def run(self, token):
        return self.library.lm_run(self.state, ctypes.byref(ctypes.c_int64(token)), self.logits.ctypes.data_as(ctypes.c_void_p))


class Theirs:
    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.outs = [o.name for o in self.session.get_outputs()]
        self.reset()

    def reset(self):
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        self.past = {i.name: value(np.zeros([n if isinstance(n, int) else 0 for n in i.shape], np.float32))
                     for i in self.session.get_inputs() if i.name.startswith("past.")}

    def run(self, token):
        binding = self.session.io_binding()
        binding.bind_cpu_input("input_ids", np.array([[token]], np.int64))
        for name, x in self.past.items():
            binding.bind_ortvalue_input(name, x)
        for name in self.outs:
            binding.bind_output(name, "cpu")
        self.session.run_with_iobinding(binding)
        logits, *present = binding.get_outputs()
        self.past = {"past" + o.removeprefix("present"): x for o, x in zip(self.outs[1:], present)}
        self.logits = logits.numpy().ravel()


def timed(run, token):
    start = time.process_time()
    status = run(token)
    return time.process_time() - start, status


def alike(ours, theirs):
    return np.abs(ours.logits - theirs.logits).max() <= SUMS * np.abs(theirs.logits).max()


def main(model, tokens=512):
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    tokens = int(tokens)
    ours, theirs = Ours(model, tokens), Theirs(model)
    words = np.random.default_rng(1).integers(0, len(ours.logits), tokens).tolist()
    times, worst, first = [], 0, []
    for i, word in enumerate(words):
        sides = [timed(side.run, word) for side in ((ours, theirs) if i % 2 else (theirs, ours))]
        ours_time, theirs_time = sides if i % 2 else sides[::-1]
        times.append((ours_time[0], theirs_time[0]))
        check(ours_time[1] == 0, f"token {i}: status {ours_time[1]}")
        check(alike(ours, theirs), f"token {i}: another result")
        worst = max(worst, np.abs(ours.logits - theirs.logits).max() / np.abs(theirs.logits).max())
        first.append(ours.logits.copy())
        if i == tokens // 2:
            copy = ctypes.string_at(ours.state, ours.state_bytes)
    check(ours.run(words[0]) != 0, "a state that is full takes another token")
    ctypes.memmove(ours.state, copy, ours.state_bytes)
    for i in range(tokens // 2 + 1, min(tokens // 2 + 4, tokens)):
        check(ours.run(words[i]) == 0 and np.array_equal(ours.logits, first[i]), f"token {i}: another result after the state's copy")
    ours.reset()
    for i in range(3):
        check(ours.run(words[i]) == 0 and np.array_equal(ours.logits, first[i]), f"token {i}: another result after the reset")
    a, b = np.array(times[-max(1, tokens // 4):]).T
    print(f"{ours.caches} caches in place, state {ours.state_bytes / 1e6:.1f} MB, arena {ours.arena / 1024:.0f} KB; "
          f"largest error {worst:.1e} of the largest logit")
    print(f"a token after {tokens - len(a)} to {tokens - 1}: {1e3 * np.median(a):.1f} ms, ONNX Runtime {1e3 * np.median(b):.1f} ms: "
          f"{np.median(a / b):.2f}")
    print(f"decoder: {counts[True]} passed, {counts[False]} failed")
    return counts[False] > 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
