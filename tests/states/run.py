"""States (--state): run.py [NAME...]. Every run of the emitted C, under sanitizers, gives ONNX Runtime's results when its outputs are
passed back as inputs. Prints failures, then "states: N passed, N failed"."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime

from checks import check, counts

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
import fetch  # noqa: E402

BUILD = pathlib.Path(os.environ["B"]).resolve()
WORK = BUILD / "states"
STRICT = "-std=c99 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror".split()
SANITIZE = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all".split()

# The program's commands: z: resets the state; s: keeps a copy of it; l: restores the copy; r: a run, followed by its inputs, each after
# its size in bytes. It prints a run's status, sizes and outputs. Every buffer is a block of its own, guarded by the sanitizer.
DRIVER = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{p}.h"
static void *take(void)
{{
    int64_t n = 0;
    if (fread(&n, 8, 1, stdin) != 1) exit(9);
    void *x = malloc((size_t)n);
    if (n && fread(x, 1, (size_t)n, stdin) != (size_t)n) exit(9);
    return x;
}}
int main(void)
{{
    void *arena = aligned_alloc({U}_ARENA_ALIGN, ({U}_ARENA_BYTES + {U}_ARENA_ALIGN - 1) / {U}_ARENA_ALIGN * {U}_ARENA_ALIGN);
    struct {p}_state *state = malloc({U}_STATE_BYTES), *copy = malloc({U}_STATE_BYTES);
    int64_t sizes[{n_sizes} + 1] = {{0}};
    int status = 0;
    if (sizeof *state != {U}_STATE_BYTES) return 8;
    memset(state, 0x5A, sizeof *state);
    for (int c; (c = getchar()) != EOF;) {{
        if (c == 'z') status = {p}_reset(state);
        if (c == 's') memcpy(copy, state, sizeof *state);
        if (c == 'l') memcpy(state, copy, sizeof *state);
        if (c != 'r') continue;
        if ({n_sizes} && fread(sizes, 8, {n_sizes}, stdin) != {n_sizes}) return 9;
{inputs}
{outputs}
        status = {p}_run_at(arena, state{arguments});
        fwrite(&status, 4, 1, stdout);
        fwrite(sizes, 8, {n_sizes}, stdout);
{writes}
{frees}
    }}
    free(arena); free(state); free(copy);
    return 0;
}}
"""


class Program:
    """The C program of a model with states, and a session of ONNX Runtime that does the same."""

    def __init__(self, name, model, states, options=(), remarks=None):
        self.name, self.states = name, states
        folder = WORK / name
        folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(model, pathlib.Path):
            onnx.save(model, folder / "m.onnx")
            model = folder / "m.onnx"
        c = folder / f"{name}.c"
        p = subprocess.run([BUILD / "onnxcc", model, "-o", c, "--prefix", name, "--remarks=state", *options], capture_output=True, text=True)
        self.good = check(p.returncode == 0, f"{name}: onnxcc: {p.stderr}")
        if not self.good:
            return
        self.remarks = p.stderr
        for r in remarks or ():
            check(re.search(r, p.stderr), f"{name}: no remark '{r}' in\n{p.stderr}")
        session = onnxruntime.SessionOptions()
        session.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), session, providers=["CPUExecutionProvider"])
        self.header = c.with_suffix(".h").read_text()
        self.build(folder, c)

    def build(self, folder, c):
        p, u = self.name, self.name.upper()
        struct = re.search(r"struct \w+_sizes \{(.*?)\}", self.header, re.S)
        self.sizes = re.findall(r"int64_t (\w+); /\* (set|written)", struct[1]) if struct else []
        parameters = re.split(r",\s+", re.search(rf"int {p}_run\((.*?)\);", self.header, re.S)[1])
        self.parameters = [re.sub(r"[*\s]", " ", x).split()[-1] for x in parameters if "struct" not in x]
        ins = [i.name for i in self.session.get_inputs() if i.name not in self.states.values()]
        self.outs = [o for o in self.session.get_outputs() if o.name not in self.states]
        self.ins = ins
        names = self.parameters[len(ins):]
        given = re.findall(r'/\* input "', self.header)
        check(len(given) == len(ins) and len(names) == len(self.outs), f"{p}: parameters {self.parameters}")
        text = DRIVER.format(
            p=p, U=u, n_sizes=len(self.sizes),
            inputs="\n".join(f"        void *in{i} = take();" for i in range(len(ins))),
            outputs="\n".join(f"        void *out{i} = calloc(1, {u}_{n.upper()}_BYTES + 1);" for i, n in enumerate(names)),
            arguments="".join(f", in{i}" for i in range(len(ins))) + "".join(f", out{i}" for i in range(len(names)))
            + (f", (struct {p}_sizes *)(void *)sizes" if self.sizes else ""),
            writes="\n".join(f"        fwrite(out{i}, 1, {u}_{n.upper()}_BYTES, stdout);" for i, n in enumerate(names)),
            frees="".join(f" free(in{i});" for i in range(len(ins))) + "".join(f" free(out{i});" for i in range(len(names))))
        main = folder / "main.c"
        main.write_text(text)
        self.room = [int(re.search(rf"{u}_{n.upper()}_BYTES (\d+)", self.header)[1]) for n in names]
        flags = [f"-I{BUILD / 'include'}", "-o", folder / "program", "-lm"]
        q = subprocess.run(["gcc", *STRICT, "-fsyntax-only", c, flags[0]], capture_output=True, text=True)
        check(q.returncode == 0, f"{p}: warnings: {q.stderr[:2000]}")
        q = subprocess.run(["gcc", "-std=c99", *SANITIZE, c, "-c", flags[0], "-o", folder / "model.o"], capture_output=True, text=True)
        self.good = check(q.returncode == 0, f"{p}: gcc: {q.stderr[:2000]}")
        q = subprocess.run(["gcc", "-std=c11", *SANITIZE, main, folder / "model.o", *flags], capture_output=True, text=True)
        self.good &= check(q.returncode == 0, f"{p}: driver: {q.stderr[:2000]}")
        self.program = folder / "program"

    def start(self, initial):
        return {i: np.array(x) for i, x in initial.items()}

    def run(self, initial, commands, limit=None, tolerance=1e-5):
        """commands: 'z', 's', 'l', or the inputs of a run by name. limit(state after the run): must the run return an error?"""
        if not self.good:
            return
        data, wanted, state, copy = b"", [], None, None
        for c in commands:
            if c == "z":
                data, state = data + b"z", self.start(initial)
            elif c == "s":
                data, copy = data + b"s", dict(state)
            elif c == "l":
                data, state = data + b"l", dict(copy)
            else:
                want, state, sizes = self.expect(c, state, limit)
                wanted.append(want)
                data += b"r" + np.array(sizes, np.int64).tobytes()
                for i in self.ins:
                    data += np.int64(c[i].nbytes).tobytes() + np.ascontiguousarray(c[i]).tobytes()
        p = subprocess.run([self.program], input=data, capture_output=True)
        if check(p.returncode == 0, f"{self.name}: exit {p.returncode}: {p.stderr.decode()[:1500]}"):
            self.compare(p.stdout, wanted, tolerance)

    def expect(self, inputs, state, limit):
        """(ONNX Runtime's outputs, or None if the run must return an error; the next state; the sizes to pass)"""
        known = {}
        for i in self.session.get_inputs():
            x = inputs.get(i.name, state.get(i.name))
            known |= {re.sub(r"\W", "_", d): n for d, n in zip(i.shape, x.shape) if isinstance(d, str)}
        sizes = [known.get(n, 0) for n, _ in self.sizes]
        try:
            out = dict(zip([o.name for o in self.session.get_outputs()], self.session.run(None, inputs | state)))
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
            return None, state, sizes
        after = {i: out[o] for o, i in self.states.items()}
        if limit and limit(after):
            return None, state, sizes
        return [out[o.name] for o in self.outs], after, sizes

    def compare(self, got, wanted, tolerance):
        at = 0
        for step, want in enumerate(wanted):
            status = np.frombuffer(got, np.int32, 1, at)[0]
            at += 4 + 8 * len(self.sizes)
            outs = [got[at + sum(self.room[:k]):][:n] for k, n in enumerate(self.room)]
            at += sum(self.room)
            if want is None or status:
                check((want is None) == (status != 0), f"{self.name}: step {step}: status {status}, "
                      f"{'which must be an error' if want is None else 'not 0'}")
                continue
            for o, w, x in zip(self.outs, want, outs):
                x = np.frombuffer(x[:w.nbytes], w.dtype).reshape(w.shape)
                same = np.allclose(x, w, rtol=tolerance, atol=tolerance) if w.dtype.kind == "f" else np.array_equal(x, w)
                check(same, f"{self.name}: step {step}: {o.name}: {x.ravel()[:5]} is not {w.ravel()[:5]}")


def parse(text, opset=18, domains=""):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}{domains}]>\n' + text)


RNG = np.random.default_rng(1)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


# ---- real decoders

def decoder(name, now, bound, cases):
    path = fetch.fetch([name])[0].folder / "model.onnx"
    pairs = {f"present.{i}.{k}": f"past.{i}.{k}" for i in range(4) for k in ("key", "value")}
    program = Program(f"{name}_{'any' if now > 1 else 'one'}", path, pairs,
                      ["--dim", f"now<={now}" if now > 1 else "now=1", "--dim", f"past<={bound}", "--state", "present.*=past.*"])
    if not program.good:
        return
    check(program.remarks.count("appends to") == 8 and "not written" not in program.remarks, f"{name}: copies: {program.remarks}")
    empty = {i: np.zeros((1, 8, 0, 32), np.float32) for i in pairs.values()}
    step = lambda n: {"input_ids": RNG.integers(0, 4096, (1, n))}
    commands = [step(c) if isinstance(c, int) else c for c in cases]
    program.run(empty, commands, lambda s: s["past.0.key"].shape[2] > bound, 2e-4)
    block = int(re.search(r"_STATE_BYTES (\d+)", program.header)[1])
    check(block <= 8 * 8 * bound * 32 * 4 + 128, f"{name}: {block} bytes of state")
    check("memmove" not in program.header and len(program.parameters) == 2, f"{name}: parameters {program.parameters}")


def voice():
    """silero-vad on a stream of samples; its state has the same name as the parameter of the C."""
    program = Program("vad", fetch.fetch(["silero_vad_ifless"])[0].folder / "model.onnx", {"stateN": "state"},
                      ["--shape", "input=1,576", "--shape", "state=2,1,128", "--state", "stateN=state", "--weights=inline"])
    sound = [{"input": floats(1, 576) * 0.1, "sr": np.array(16000)} for _ in range(6)]
    program.run({"state": np.zeros((2, 1, 128), np.float32)}, ["z", *sound, "z", *sound[:2]], None, 1e-4)


# ---- every way of keeping a state

def steps(n, **shapes):
    return ["z"] + [{i: floats(*s) for i, s in shapes.items()} for _ in range(n)]


def small():
    yield "sum", parse("g (float[4] x, float[4] s) => (float[4] t, float[4] y) { t = Add(s, x)  y = Mul(t, t) }"), \
        {"t": "s"}, [], {"s": np.zeros(4, np.float32)}, steps(5, x=(4,)) + steps(2, x=(4,)), None, [r": written in place: .* over"]
    yield "swapped", parse("""g (float[3] x, float[3] a, float[3] b) => (float[3] c, float[3] d, float[3] y)
        { c = Add(b, x)  d = Identity(a)  y = Sub(a, b) }"""), {"c": "a", "d": "b"}, [], \
        {"a": np.zeros(3, np.float32), "b": np.zeros(3, np.float32)}, steps(6, x=(3,)), None, []
    yield "exchanged", parse("""g (float[3] x, float[3] a, float[3] b) => (float[3] c, float[3] d, float[3] y)
        <float[1] k = {1}> { e = Add(a, x)  c = Identity(b)  d = Identity(e)  y = Sub(a, b) }"""), {"c": "a", "d": "b"}, [], \
        {"a": np.zeros(3, np.float32), "b": np.zeros(3, np.float32)}, steps(6, x=(3,)), None, []
    yield "unchanged", parse("g (float[3] x, float[3] s) => (float[3] t, float[3] y) { t = Identity(s)  y = Add(s, x) }"), \
        {"t": "s"}, [], {"s": np.zeros(3, np.float32)}, steps(3, x=(3,)), None, []
    yield "turned", parse("""g (float[3, 3] x, float[3, 3] s) => (float[3, 3] t, float[3, 3] y)
        { u = Transpose(s)  t = Add(u, x)  y = Add(s, t) }"""), {"t": "s"}, [], {"s": np.zeros((3, 3), np.float32)}, \
        steps(4, x=(3, 3)), None, []
    yield "row", parse("""g (float[3, 3] x, float[3, 3] s) => (float[3, 3] t, float[3] y)
        <int64[1] zero = {0}, int64[1] one = {1}> { r = Slice(s, zero, one, zero)  u = Add(s, r)  t = Add(u, x)
        y = ReduceSum<keepdims = 0>(t, zero) }"""), {"t": "s"}, [], {"s": np.zeros((3, 3), np.float32)}, steps(5, x=(3, 3)), None, []
    yield "window", parse("""g (float[1, 2, 3] x, float[1, 2, 5] s) => (float[1, 2, 5] t, float[1, 1, 4] y)
        <int64[1] from = {3}, int64[1] end = {9}, int64[1] axis = {2}, float[1, 2, 2] w = {1, 2, -1, 3}>
        { u = Concat<axis = 2>(s, x)  t = Slice(u, from, end, axis)  y = Conv(u, w) }"""), {"t": "s"}, [], \
        {"s": np.zeros((1, 2, 5), np.float32)}, steps(5, x=(1, 2, 3)), None, []
    yield "constant", parse("g (float[2] x, float[2] s) => (float[2] t, float[2] y) <float[2] t = {1, 2}> { y = Add(s, x) }"), \
        {"t": "s"}, [], {"s": np.zeros(2, np.float32)}, steps(3, x=(2,)), None, []
    yield "counter", parse("""g (float[8] x, int64[1] n) => (int64[1] m, float[k] y, float[l] z)
        <int64[1] zero = {0}, int64[1] one = {1}> { y = Slice(x, zero, n, zero)  m = Add(n, one)  z = Slice(x, zero, m, zero) }"""), \
        {"m": "n"}, [], {"n": np.zeros(1, np.int64)}, steps(10, x=(8,)) + steps(3, x=(8,)), None, []
    yield "trips", parse("""g (float[4] x, int64 n) => (int64 m, float[k, 4] y) <int64 one = {1}, bool yes = {1}> {
        y = Loop(n, yes) <body = b (int64 i, bool go) => (bool on, float[4] z) { on = Identity(go)  z = Neg(x) }>  m = Add(n, one) }"""), \
        {"m": "n"}, ["--all-dims=<=6"], {"n": np.array(0)}, steps(5, x=(4,)), None, []
    yield "sizes", parse("""g (float[1] x, int64[2] n) => (int64[2] m, float[k, l] y) <int64[2] one = {1, 2}>
        { y = Expand(x, n)  m = Add(n, one) }"""), {"m": "n"}, ["--all-dims=<=7"], {"n": np.zeros(2, np.int64)}, steps(5, x=(1,)), \
        lambda after: after["n"][1] > 8, []
    refused = [{"i": np.array([i]), "x": floats(3)} for i in (0, 2, 5, 1, 9, 1)]
    yield "refused", parse("""g (float[3] x, int64[1] i, float[3] s) => (float[3] t, float[1] y)
        { t = Add(s, x)  y = Gather(t, i) }"""), {"t": "s"}, [], {"s": np.zeros(3, np.float32)}, ["z", *refused], None, \
        ["could still end the run"]
    start = parse("g (float[2] x, float[2] s) => (float[2] t, float[2] y) { t = Add(s, x)  y = Neg(t) }")
    start.graph.initializer.append(onnx.numpy_helper.from_array(np.array([3, 4], np.float32), "s"))
    yield "initial", start, {"t": "s"}, [], {"s": np.array([3, 4], np.float32)}, steps(3, x=(2,)) + steps(2, x=(2,)), None, []
    gru = parse("""g (float[1, 1, 3] x, float[1, 1, 4] h) => (float[1, 1, 4] n, float[1, 1, 1, 4] y)
        { w = ConstantOfShape<value = float[1] {0.25}>(ws)  r = ConstantOfShape<value = float[1] {-0.5}>(rs)
          y, n = GRU<hidden_size = 4>(x, w, r, , , h) }""".replace("{ w", "<int64[3] ws = {1, 12, 3}, int64[3] rs = {1, 12, 4}> { w"))
    yield "gru", gru, {"n": "h"}, [], {"h": np.zeros((1, 1, 4), np.float32)}, steps(5, x=(1, 1, 3)), None, []


def growing():
    """An axis that grows: the first, an inner one, the last; by several parts; with readers that take strided rows, and one that does not."""
    for name, before, after, remark in (("first", (), (3, 2), "appends to"), ("inner", (2,), (3,), "appends to"), ("last", (2, 3), (), "")):
        shape = ",".join([*map(str, before), "P", *map(str, after)])
        new = ",".join([*map(str, before), "N", *map(str, after)])
        k = len(before)
        model = parse(f"""g (float[{new}] x, float[{shape}] s) => (float[{shape.replace('P', 'Q')}] t, float[M] y)
            <int64[1] flat = {{-1}}, float two = {{2}}>
            {{ t = Concat<axis = {k}>(s, x)  u = Mul(t, two)  y = Reshape(u, flat) }}""")
        runs = ["z"] + [{"x": floats(*before, n, *after)} for n in (1, 3, 0, 2, 5, 1, 1)]
        yield f"grows_{name}", model, {"t": "s"}, ["--dim", "P<=8", "--dim", "N<=5"], \
            {"s": np.zeros((*before, 0, *after), np.float32)}, runs + runs, lambda s, k=k: s["s"].shape[k] > 8, [remark]
    model = parse("""g (float[2, N, 3] x, float[2, P, 3] s) => (float[2, Q, 3] t, float[M] y)
        <float[2, 0, 3] nothing = {}, int64[1] flat = {-1}, float two = {2}>
        { u = Concat<axis = 1>(s)  v = Concat<axis = 1>(nothing, u)  t = Concat<axis = 1>(v, x)  w = Mul(t, two)  y = Reshape(w, flat) }""")
    yield "grows_from_nothing", model, {"t": "s"}, ["--dim", "P<=8", "--dim", "N<=5"], {"s": np.zeros((2, 0, 3), np.float32)}, \
        ["z"] + [{"x": floats(2, n, 3)} for n in (1, 3, 0, 2)], None, ["appends to"]
    model = parse("""g (float[2, 1, 3] a, float[2, 2, 3] b, float[2, P, 3] s) => (float[2, Q, 3] t, float[2, 3] y)
        <int64[1] one = {1}> { t = Concat<axis = 1>(s, a, b)  y = ReduceSum<keepdims = 0>(t, one) }""")
    yield "grows_by_two", model, {"t": "s"}, ["--dim", "P<=7"], {"s": np.zeros((2, 0, 3), np.float32)}, \
        steps(3, a=(2, 1, 3), b=(2, 2, 3)), lambda s: s["s"].shape[1] > 7, ["cannot read \"t\" in rows with a pitch"]
    model = parse("""g (float[2, 2] x, float[P, 2] s) => (float[Q, 2] t, int64[1, K] y)
        <float[1, 1] z, int64[1] one = {1}> { r = ReduceMax<keepdims = 0>(x, one)  c = Greater(r, limit)
          n = Compress<axis = 0>(x, c)  t = Concat<axis = 0>(s, n)  m = ReduceMax<keepdims = 0>(t, one)  y = NonZero(m) }""".replace(
              "float[1, 1] z", "float limit = {0.5}"))
    yield "grows_by_data", model, {"t": "s"}, ["--dim", "P<=6"], {"s": np.zeros((0, 2), np.float32)}, \
        steps(9, x=(2, 2)), lambda s: s["s"].shape[0] > 6, []
    model = parse("""g (float[B, 1, 2] x, float[B, P, 2] s, float[B, 2] f) => (float[B, Q, 2] t, float[B, 2] h, float[B, 2] y)
        <int64[1] one = {1}> { t = Concat<axis = 1>(s, x)  y = ReduceSum<keepdims = 0>(t, one)  h = Add(f, y) }""")
    runs = ["z"] + [{"x": floats(3, 1, 2)} for _ in range(3)] + ["z"] + [{"x": floats(2, 1, 2)} for _ in range(5)]
    yield "batch", model, {"t": "s", "h": "f"}, ["--dim", "P<=4", "--dim", "B<=3"], None, runs, lambda s: s["s"].shape[1] > 4, []


def test_small(names):
    for name, model, states, options, initial, commands, limit, remarks in [*small(), *growing()]:
        if names and not any(fnmatch.fnmatch(name, n) for n in names):
            continue
        program = Program(name, model, states, [*options, *[w for o, i in states.items() for w in ("--state", f"{o}={i}")]], remarks)
        if name == "batch":
            at = [i for i, c in enumerate(commands) if c == "z"]
            for part in commands[at[0]:at[1]], commands[at[1]:]:
                n = part[1]["x"].shape[0]
                program.run({"s": np.zeros((n, 0, 2), np.float32), "f": np.zeros((n, 2), np.float32)}, part, limit)
        else:
            program.run(initial, commands, limit)


PAIRS = """#include "pairs.h"
int main(void)
{
    static struct pairs_state s;
    const float x[6] = {1, 2, 3, 4, 5, 6};
    float y[6];
    int wrong = pairs_reset(&s);
    for (int run = 0; run < 2; run++) {
        wrong |= pairs_run(&s, x, y);
        for (int i = 0; i < 6; i++)
            wrong |= y[i] != (run ? x[i] : 0.0f);
    }
    return wrong;
}
"""


def complex_numbers():
    """ONNX Runtime computes none: the state is the last run's input."""
    folder = WORK / "pairs"
    folder.mkdir(exist_ok=True)
    onnx.save(parse("g (complex64[3] x, complex64[3] s) => (complex64[3] t, complex64[3] y) { t = Identity(x)  y = Identity(s) }", 21),
              folder / "pairs.onnx")
    (folder / "main.c").write_text(PAIRS)
    for command in ([BUILD / "onnxcc", "pairs.onnx", "-o", "pairs.c", "--state", "t=s"],
                    ["gcc", *STRICT, *SANITIZE, "main.c", "pairs.c", f"-I{BUILD / 'include'}", "-o", "pairs", "-lm"], ["./pairs"]):
        p = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        check(p.returncode == 0, f"complex numbers: {command[0]}: exit {p.returncode} {p.stderr[:500]}")


WORK.mkdir(parents=True, exist_ok=True)
if not sys.argv[1:]:
    complex_numbers()
test_small(sys.argv[1:])
if not sys.argv[1:] or "vad" in sys.argv[1:]:
    voice()
for name in ("gpt_decode", "gpt_decode_raw"):
    if not sys.argv[1:] or name in sys.argv[1:]:
        decoder(name, 1, 12, ["z", *[1] * 5, "s", *[1] * 8, "l", *[1] * 3, "z", *[1] * 2])
for name in ("gpt_decode_dynamo", "gpt_decode_functions"):
    if not sys.argv[1:] or name in sys.argv[1:]:
        decoder(name, 6, 16, ["z", 6, 1, 1, "s", 6, 3, 2, 1, "l", 5, 4, 3, "z", 2, 6, 6, 6])
print(f"states: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
