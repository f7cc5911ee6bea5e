"""Random training models whose state variables depend on each other: swaps, chains, shared reads, two algorithms. Each step in C is
compared with numpy, which computes every new value before it assigns any. A new value overwrites the old one wherever that is obviously
possible."""
import json
import re
import subprocess
import sys

import numpy as np
import onnx.parser
from onnx import helper, numpy_helper

from learner import ONNXCC, build, in_folder, run_cases

KINDS = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}
N, CASES, STEPS, MODULUS = 3, 40, 3, 7       # state variables are N x N; values are integers below MODULUS, exact in all types
LAST, FIRST = np.iinfo(np.int64).min, -1


def reduced(v):
    return np.fmod(v, v.dtype.type(MODULUS))


# operator: (arguments, what it computes, is it elementwise)
OPERATORS = {
    "Add": (2, np.add, True), "Sub": (2, np.subtract, True), "Max": (2, np.maximum, True), "Min": (2, np.minimum, True),
    "Mul": (2, np.multiply, True), "Neg": (1, np.negative, True), "Abs": (1, np.abs, True), "Identity": (1, np.array, True),
    "MatMul": (2, np.matmul, False), "Transpose": (1, np.transpose, False), "Slice": (1, lambda a: a[::-1], False),
    "CumSum": (1, lambda a: a.cumsum(0, dtype=a.dtype), False),
    "ReduceSum": (1, lambda a: np.broadcast_to(a.sum(0, keepdims=True, dtype=a.dtype), a.shape), False),
    "Concat": (2, lambda a, b: np.concatenate([a, b])[1:1 + N], False)}
CONSTANTS = {"rows": np.int64([0]), "first": np.int64([FIRST]), "last": np.int64([LAST]), "back": np.int64([-1]), "axis": np.int64(0),
             "shape": np.int64([N, N]), "from": np.int64([1]), "to": np.int64([1 + N])}


class Graph:
    """The nodes of a graph, and the same computation in numpy."""

    def __init__(self, rng, prefix, values):
        self.rng, self.prefix, self.values, self.nodes, self.steps, self.count = rng, prefix, list(values), [], [], 0

    def node(self, op, inputs, **attributes):
        self.count += 1
        y = f"{self.prefix}{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [y], **attributes))
        return y

    def add(self, op, inputs):
        """Adds the nodes of a random operator; returns the name of the result."""
        if op == "Slice":
            y = self.node(op, [*inputs, "first", "last", "rows", "back"])
        elif op == "CumSum":
            y = self.node(op, [*inputs, "axis"])
        elif op == "ReduceSum":
            y = self.node("Expand", [self.node(op, [*inputs, "rows"]), "shape"])
        elif op == "Concat":
            y = self.node("Slice", [self.node(op, inputs, axis=0), "from", "to", "rows"])
        else:
            y = self.node(op, inputs)
        z = self.node("Mod", [y, "modulus"], fmod=1)
        self.steps.append((z, op, list(inputs)))
        self.values.append(z)
        return z

    def grow(self, count):
        for _ in range(count):
            op = self.rng.choice(list(OPERATORS))
            self.add(op, [str(v) for v in self.rng.choice(self.values, OPERATORS[op][0])])

    def compute(self, values):
        for y, op, inputs in self.steps:
            values[y] = reduced(OPERATORS[op][1](*(values[i] for i in inputs)))


class Case:
    """A model; bindings[k]: {state variable: its new value} in step k."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.kind = list(KINDS)[seed % len(KINDS)]
        self.dtype = KINDS[self.kind]
        self.states = {f"s{i}": rng.integers(-MODULUS, MODULUS, (N, N)).astype(self.dtype) for i in range(rng.integers(2, 6))}
        self.main = Graph(rng, "m", ["x", *self.states])
        self.main.grow(int(rng.integers(1, 4)))
        self.parts, self.bindings, self.shown, self.chained = [], [], [], []
        for k in range(int(rng.integers(1, 3))):
            g = Graph(rng, f"a{k}_", self.main.values)
            self.parts.append(g)
            self.bindings.append(self.updates(g))
            self.shown.append([str(v) for v in rng.choice([y for y, _, _ in g.steps], rng.integers(0, 2))])

    def updates(self, g):
        """Rotations, chains in both directions, or anything."""
        names, way = list(self.states), self.rng.integers(4)
        self.chained.append(way in (1, 2))
        if way == 0:
            return {a: g.add("Identity", [b]) for a, b in zip(names, names[1:] + names[:1])}
        if way < 3:
            pairs = list(zip(names, names[1:] + ["x"]))[::1 if way == 1 else -1]
            return {a: g.add(str(self.rng.choice(["Add", "Sub", "MatMul", "Max"])), [a, b]) for a, b in pairs}
        g.grow(int(self.rng.integers(3, 10)))
        made = [y for y, _, _ in g.steps]
        chosen = self.rng.choice(names, self.rng.integers(1, len(names) + 1), replace=False)
        return {str(s): str(self.rng.choice(made)) for s in chosen}

    def model(self):
        info = lambda n: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype)), [N, N])   # noqa: E731
        tensors = CONSTANTS | {"modulus": self.dtype(MODULUS)} | self.states
        y = self.main.values[-1]
        g = helper.make_graph(self.main.nodes, "g", [info("x")], [info(y)], [numpy_helper.from_array(np.array(v), n) for n, v in tensors.items()])
        m = helper.make_model(g, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        for part, bindings, shown in zip(self.parts, self.bindings, self.shown):
            t = m.training_info.add()
            outputs = list(dict.fromkeys([*bindings.values(), *shown]))
            t.algorithm.CopyFrom(helper.make_graph(part.nodes, part.prefix, [], [info(o) for o in outputs]))
            for s, v in bindings.items():
                t.update_binding.add(key=s, value=v)
        return m

    def step(self, k, states, x):
        """All values, and the states after the step."""
        values = {**states, "x": x}
        self.main.compute(values)
        self.parts[k].compute(values)
        return values, {**states, **{s: values[v] for s, v in self.bindings[k].items()}}

    def obvious(self, k):
        """State variables whose new value must be computed in place: an elementwise operator computes it from the old value, which nothing
        reads later, in the order of the nodes or, in a chain, in some order. (The new value is not an output, nor that of two variables.)"""
        steps, found = self.main.steps + self.parts[k].steps, set()
        y = self.main.values[-1]
        for s, v in self.bindings[k].items():
            at, (_, op, inputs) = next((i, r) for i, r in enumerate(steps) if r[0] == v)
            alone = list(self.bindings[k].values()).count(v) == 1 and v not in self.shown[k] and v != y
            later = not self.chained[k] and any(s in r[2] for r in steps[at + 1:])
            made = at >= len(self.main.steps)
            if OPERATORS[op][2] and s in inputs and alone and made and not later and not any(v in r[2] for r in steps):
                found.add(s)
        return found


def in_place(said, model):
    """For each step the state variables that are written in place."""
    return {(v, s) for v, s in re.findall(r'written in place: "(.*?)", over "(.*?)"', said)}


@in_folder
def random_models(first, last, folder):
    places = all_places = 0
    for seed in range(first, last):
        case = Case(seed)
        m, said = build(case.model(), folder, "--remarks=state", prefix=f"m{seed}")
        done = in_place(said, m)
        for k in range(len(case.parts)):
            missing = {s for s in case.obvious(k) if (case.bindings[k][s], s) not in done}
            assert not missing, f"seed {seed}, step {k}: {missing} are not written in place:\n{said}"
            places, all_places = places + len(case.obvious(k)), all_places + len(case.bindings[k])
        m.reset()
        states, rng = dict(case.states), np.random.default_rng(seed)
        for _ in range(STEPS):
            for k in range(len(case.parts)):
                x = rng.integers(-MODULUS, MODULUS, (N, N)).astype(case.dtype)
                values, after = case.step(k, states, x)
                for n, got in m.step(x, k=k).items():
                    assert (got == values[n]).all(), f"seed {seed}, step {k}: {n} is {got} instead of {values[n]}"
                for s in states.keys() & m.fields.keys():
                    got = getattr(m, s).reshape(N, N)
                    assert (got == after[s]).all(), f"seed {seed}, step {k}: {s} is\n{got}\ninstead of\n{after[s]}\n{said}"
                states = after
    assert all_places > places > all_places / 10, f"{places} of {all_places}"


@in_folder
def reported(folder):
    """Each form of the report says that one new value of a swap waits in the arena, and that a third variable is updated in place."""
    m = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float x) => (float y) <float[3] a = {1, 2, 3}, float[3] b = {4, 5, 6}> {
        s = ReduceSum <keepdims = 0> (a)  y = Mul(x, s) }""")
    t = m.training_info.add()
    t.algorithm.CopyFrom(onnx.parser.parse_graph("""swap () => (float[3] na, float[3] nb, int64 nk) <int64 k = {0}, int64 one = {1}> {
        na = Identity(b)  nb = Identity(a)  nk = Add(k, one) }"""))
    for k in "abk":
        t.update_binding.add(key=k, value="n" + k)
    onnx.save(m, f"{folder}/m.onnx")
    said = {form: subprocess.run([ONNXCC, "m.onnx", "-o", "m.c", "--training", form], cwd=folder, check=True, capture_output=True, text=True).stdout
            for form in ("--report", "--report=json", "--report=html")}
    found = re.search(r"^state   32 B, 3 variables; new values beside old ones: 12 B: [ab]$", said["--report"], flags=re.M)
    assert found, said["--report"]
    r = json.loads(said["--report=json"])
    assert r["ram"]["state"] == 32 and {v["name"]: v["bytes"] for v in r["variables"]} == {"a": 12, "b": 12, "k": 8}
    assert sum(v["twice"] for v in r["variables"] if v["name"] in "ab") == 1 and not any(v["twice"] for v in r["variables"] if v["name"] == "k")
    assert '"twice": true' in said["--report=html"] and "new values beside old ones" in said["--report=html"]


@in_folder
def late_sizes(folder):
    """New values of sizes that become known only within the step: a rotation by the number of positive inputs, and as
    many ones."""
    m = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]> g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Mul(x, w) }""")
    t = m.training_info.add()
    t.algorithm.CopyFrom(onnx.parser.parse_graph("""rotation () => (float[4] nw, int64 nk, float[4] nv)
        <int64[1] one = {1}, int64[1] two = {2}, int64[1] four = {4}, float zero = {0}, int64 k = {7}, float[4] v = {0, 0, 0, 0}> {
        positive = Greater(x, zero)  at = NonZero(positive)  size = Shape(at)  n = Slice(size, one, two)
        rest = Sub(four, n)  sizes = Concat <axis = 0> (n, rest)  a, b = Split <axis = 0> (w, sizes)  nw = Concat <axis = 0> (b, a)
        number = Squeeze(n)  nk = Identity(number)
        ones = ConstantOfShape <value = float {1}> (n)  zeros = ConstantOfShape(rest)  nv = Concat <axis = 0> (ones, zeros) }"""))
    for k in "wkv":
        t.update_binding.add(key=k, value="n" + k)
    m, _ = build(m, folder)
    m.reset()
    w, rng = np.float32([1, 2, 3, 4]), np.random.default_rng(1)
    for _ in range(20):
        x = rng.normal(size=4).astype(np.float32)
        m.step(x)
        n = int((x > 0).sum())
        w = np.concatenate([w[n:], w[:n]])
        assert (m.w == w).all() and m.k == n and (m.v == np.repeat([1, 0], [n, 4 - n])).all(), f"{n} of {x}: {m.w}, {m.k}, {m.v}"


@in_folder
def state_as_a_size(folder):
    """A counter is the size of a result."""
    m = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]> g (float[4] x) => (float[k] y) <int64[1] n = {0}, int64[1] first = {0}> {
        y = Slice(x, first, n, first) }""")
    t = m.training_info.add()
    t.algorithm.CopyFrom(onnx.parser.parse_graph("count () => (int64[1] next) <int64[1] one = {1}> { next = Add(n, one) }"))
    t.update_binding.add(key="n", value="next")
    m, _ = build(m, folder)
    m.reset()
    x = np.float32([1, 2, 3, 4])
    for n in range(7):
        for (got,) in m.run(x).values(), m.step(x).values():
            assert (got == x[:n]).all(), f"{n}: {got}"
        assert m.n == n + 1, m.n


def main():
    return run_cases("training updates", *((random_models, i, i + CASES // 4) for i in range(0, CASES, CASES // 4)), reported,
                     late_sizes, state_as_a_size)


if __name__ == "__main__":
    sys.exit(main())
