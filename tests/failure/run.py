"""Failures while onnxcc runs: each allocation in turn, once and with all later ones; each call that writes a file; a limit of the size of
files; a signal; a stack of 64 KB, and smaller stacks that overflow. Each time onnxcc must end with the expected exit code and a message,
and leave no file. Prints failures, then "failure: N passed, N failed".

usage: run.py ONNXCC SHIM       SHIM: shim.c as a shared object"""
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnx
import onnx.parser
from onnx import external_data_helper, numpy_helper

from attack import large

HEADER = '<ir_version: 10, opset_import: ["":21]>\n'
ENOUGH = "<ir_version: 10, opset_import: [\"\":21, \"f\":1]>\n"
TEXTS = {
    "loop": (HEADER + """g (int64 n, float[2] v, bool c) => (float[2] r, float[2] y, float[K,2] s)
        { r, s = Loop (n, "", v) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] o, float[2] q)
                                  { co = Identity(ci)  o = Add(a, v)  q = Neg(a) }>
          y = If (c) <then_branch = tb () => (float[2] t) { t = Neg(v) },
                      else_branch = eb () => (float[2] e) { e = Abs(v) }> }""", ["--report", "--dim", "n<=5"]),
    "function": (ENOUGH + """g (float[N,2] x) => (float[N,2] y) { y = f.Twice (x) }
        <domain: "f", opset_import: ["":21]> Twice (a) => (b) { t = Softmax (a)  b = Erf (t) }""", ["--package=arduino", "--dim", "N<=7"]),
    "text": (HEADER + """g (string[3] x) => (string[3] y, seq(float[2]) z)
        <string[3] w = {"a", "b", "c"}, float[2] v = {1, 2}>
        { y = StringConcat (x, w)  s = SequenceConstruct (v, v)  z = SequenceInsert (s, v) }""", ["--dim", "x_text<=9"]),
    "conv": (HEADER + """g (float[1,3,8,8] x) => (float[1,17,8,8] y) <float[17,3,3,3] w = {W}>
        { c = Conv <pads = [1,1,1,1]> (x, w)  y = Relu (c) }""", ["--weights=file", "--target", "x86-64-v3", "--report=json"]),
    "external": (HEADER + """g (float[4,16] x) => (float[4,16] y) <float[16,16] w = {E}>
        { t = Transpose (w)  p = MatMul (x, t)  y = Tanh (p) }""", ["--weights=incbin", "-v"]),
}


def make(folder):
    """Writes the models as files; returns the arguments for each."""
    runs = {}
    for name, (text, options) in TEXTS.items():
        text = text.replace("{W}", "{" + ", ".join(f"{i / 99:.3f}" for i in range(459)) + "}")
        text = text.replace("{E}", "{" + ", ".join(f"{i / 9:.3f}" for i in range(256)) + "}")
        m = onnx.parser.parse_model(text)
        if name == "external":
            w = m.graph.initializer[0]
            w.CopyFrom(numpy_helper.from_array(numpy.arange(256, dtype=numpy.float32).reshape(16, 16), "w"))
            external_data_helper.set_external_data(w, "w.bin")
            (folder / "w.bin").write_bytes(w.raw_data)
            w.ClearField("raw_data")
        (folder / f"{name}.onnx").write_bytes(m.SerializeToString())
        runs[name] = [str(folder / f"{name}.onnx"), "-o", "m.c", *options]
    return runs


def contents(folder):
    """The files, and b"" for each folder."""
    files = sorted(pathlib.Path(folder).rglob("*"))
    return {str(f.relative_to(folder)): f.read_bytes() if f.is_file() else b"" for f in files if f.name != "count"}


class Runner:
    def __init__(self, onnxcc, shim):
        self.onnxcc, self.shim = onnxcc, shim
        self.passed, self.problems = 0, []
        self.right = {}     # arguments -> the files written when nothing fails

    def run(self, what, arguments, expected, preexec=None, **environment):
        """One run in a folder of its own. expected: the exit code; 0 is right, too, if all files are as when nothing fails."""
        with tempfile.TemporaryDirectory() as out:
            env = dict(os.environ, **environment)
            if "FAIL_KIND" in env:
                env["LD_PRELOAD"] = self.shim
            p = subprocess.run([self.onnxcc, *arguments], cwd=out, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=120, preexec_fn=preexec)
            self.judge(what, arguments, p.returncode, p.stderr.decode(errors="replace"), contents(out), expected)

    def judge(self, what, arguments, code, said, left, expected):
        wrong = []
        if code and code != expected:
            wrong.append(f"exit {code}, expected {expected}")
        if not code and left != self.right[tuple(arguments)]:
            wrong.append("exit 0, but the files are not complete")
        if code > 0 and not re.search(r"error(:|\[)", said):
            wrong.append("no message")
        if code and left:
            wrong.append("left behind: " + " ".join(left))
        if wrong:
            self.problems.append(f"{what}: {'; '.join(wrong)}: {said.strip()[:200]}")
        else:
            self.passed += 1

    def calls(self, arguments, kind):
        with tempfile.TemporaryDirectory() as out:
            count = os.path.join(out, "count")
            p = subprocess.run([self.onnxcc, *arguments], cwd=out, capture_output=True, timeout=120,
                               env=dict(os.environ, LD_PRELOAD=self.shim, FAIL_KIND=kind, FAIL_COUNT=count))
            if p.returncode:
                self.problems.append(f"{arguments}: exit {p.returncode}: {p.stderr.decode()}")
                return 0
            self.right[tuple(arguments)] = contents(out)
            return int(open(count).read())


def stop_while_writing(r, arguments, number):
    """Sends the signal as soon as a temporary file is there."""
    with tempfile.TemporaryDirectory() as out:
        p = subprocess.Popen([r.onnxcc, *arguments], cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while not any(f.endswith(".tmp") for _, _, files in os.walk(out) for f in files) and p.poll() is None and time.monotonic() < end:
            pass
        p.send_signal(number)
        said = p.communicate()[1].decode(errors="replace")
        r.judge(f"{signal.Signals(number).name} while writing", arguments, p.returncode, said, contents(out), -number)


STACKS = (16, 24, 32, 48, 64, 96, 128, 192, 256)
DEEP = {"deep functions": large.doubling(9), "deep Ifs": large.nested_if(98), "deep Loops": large.nested_loop(97)}


def small_stack(kb):
    return dict(FAIL_KIND="stack", FAIL_AT=str(kb << 10))


def deep(r, folder, todo):
    """Graphs in graphs, too deep for the stack."""
    for name, data in DEEP.items():
        (folder / f"{name}.onnx").write_bytes(data)
        arguments = [str(folder / f"{name}.onnx"), "-o", "m.c", *(["--dim", "m<=4"] if "Loop" in name else [])]
        r.calls(arguments, "files")
        for kb in STACKS:
            todo.append((f"{name}: the compiler's own stack has {kb} KB", arguments, 3, None, small_stack(kb)))


def limit(what, n):
    def apply():
        resource.setrlimit(what, (n, n))
    return apply


def main():
    onnxcc, shim = map(os.path.abspath, sys.argv[1:])
    r = Runner(onnxcc, shim)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder, todo = pathlib.Path(name), []
        for model, arguments in make(folder).items():
            for kind in ("memory", "files"):
                n = r.calls(arguments, kind)
                for at in range(1, n + 1):
                    for on in (False, True):
                        todo.append((f"{model}: {kind} {at} of {n}{' and on' if on else ''}", arguments, 3, None,
                                     dict(FAIL_KIND=kind, FAIL_AT=str(at), **({"FAIL_ON": "1"} if on else {}))))
            for size in (0, 1, 100, 1000, 3000):
                todo.append((f"{model}: files of {size} bytes", arguments, 3, limit(resource.RLIMIT_FSIZE, size), {}))
            todo.append((f"{model}: a stack of 64 KB", arguments, 0, limit(resource.RLIMIT_STACK, 1 << 16), {}))
            for kb in STACKS:
                todo.append((f"{model}: the compiler's own stack has {kb} KB", arguments, 3, None, small_stack(kb)))
            device = ["/dev/full" if a == "m.c" else a for a in arguments if not a.startswith(("--weights", "--package"))]   # no file beside it
            todo.append((f"{model}: output that is full", device, 3, None, {}))
        deep(r, folder, todo)
        list(pool.map(lambda t: r.run(t[0], t[1], t[2], t[3], **t[4]), todo))
        big = onnx.parser.parse_model(HEADER + "g (float[1000,1000] x) => (float[1000,1000] y) { y = MatMul (x, w) }")
        big.graph.initializer.append(numpy_helper.from_array(numpy.random.rand(1000, 1000).astype(numpy.float32), "w"))
        (folder / "big.onnx").write_bytes(big.SerializeToString())
        stopped = [str(folder / "big.onnx"), "-o", "m.c", "--weights=inline"]
        r.calls(stopped, "files")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            stop_while_writing(r, stopped, number)
    for p in r.problems[:40]:
        print(p)
    print(f"failure: {r.passed} passed, {len(r.problems)} failed")
    return bool(r.problems)


if __name__ == "__main__":
    sys.exit(main())
