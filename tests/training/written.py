"""samples/train/training.py: an MLP with every loss and optimiser, whose C is compared with numpy in double, step by step; open batches;
partial training; the tool as a command, and its errors."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "samples" / "train" / "training.py"
sys.path.insert(0, str(TOOL.parent))
from learner import build, in_folder, run_cases  # noqa: E402
from training import LOSSES, OPTIMISERS, add_training  # noqa: E402

SHAPES = {"w1": (4, 8), "b1": (8,), "w2": (8, 3), "b2": (3,)}
RATE, STEPS = 0.05, 30
ALPHA, BETA, DECAY, EPSILON = (float(np.float32(v)) for v in (0.9, 0.999, 0.01, 1e-8))     # attributes are float32


def mlp(kind="float", batch=6):
    m = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]> mlp ({kind}[{batch}, 4] x) => ({kind}[{batch}, 3] y) {{
        a1 = MatMul(x, w1)  a2 = Add(a1, b1)  h = Tanh(a2)  a3 = MatMul(h, w2)  y = Add(a3, b2) }}""")
    rng = np.random.default_rng(4)
    dtype = {"float": np.float32, "double": np.float64}[kind]
    m.graph.initializer.extend(numpy_helper.from_array(rng.normal(size=s).astype(dtype) / 2, n) for n, s in SHAPES.items())
    return m


class Numpy:
    """The same training by the standard's text."""

    def __init__(self, loss, optimiser, trained, **settings):
        self.p = {i.name: numpy_helper.to_array(i).astype(float) for i in mlp("double").graph.initializer}
        self.loss, self.optimiser, self.trained, self.steps, self.settings = loss, optimiser, trained, 0, settings
        self.v, self.s = ({n: 0.0 for n in self.p} for _ in range(2))

    def step(self, x, t):
        p = self.p
        h = np.tanh(x @ p["w1"] + p["b1"])
        y = h @ p["w2"] + p["b2"]
        if self.loss == "mse":
            loss, dy = ((y - t) ** 2).mean(), 2 * (y - t) / y.size
        else:
            q = np.exp(y) / np.exp(y).sum(1, keepdims=True)
            loss, dy = -np.log(q[np.arange(len(t)), t]).mean(), (q - np.eye(3)[t]) / len(t)
        da = dy @ p["w2"].T * (1 - h * h)
        for n, g in {"w1": x.T @ da, "b1": da.sum(0), "w2": h.T @ dy, "b2": dy.sum(0)}.items():
            if n in self.trained:
                p[n] = p[n] - self.change(n, g + self.settings.get("norm_coefficient", 0) * p[n])
        self.steps += 1
        return loss

    def change(self, n, g):
        if self.optimiser == "sgd":
            return RATE * g
        self.v[n] = ALPHA * self.v[n] + (1 - ALPHA if self.optimiser == "adam" else 1) * g
        if self.optimiser == "momentum":
            return RATE * self.v[n]
        if self.optimiser == "nesterov":
            return RATE * (g + ALPHA * self.v[n])
        self.s[n] = BETA * self.s[n] + (1 - BETA) * g * g
        rate = RATE * np.sqrt(1 - BETA ** self.steps) / (1 - ALPHA ** self.steps) if self.steps else RATE
        return rate * self.v[n] / (np.sqrt(self.s[n]) + EPSILON)


def data(loss, rng, batch):
    return rng.normal(size=(batch, 4)), rng.normal(size=(batch, 3)) if loss == "mse" else rng.integers(0, 3, batch)


def follows(m, loss, optimiser, trained=tuple(SHAPES), exact=False, batches=(6,), **settings):
    """Compares m's steps with numpy's."""
    other, rng = Numpy(loss, optimiser, trained, **settings), np.random.default_rng(5)
    m.reset()
    for k in range(STEPS):
        batch = batches[k % len(batches)]
        x, t = data(loss, rng, batch)
        sizes = {} if len(batches) == 1 else {"sizes": {"batch": batch}}
        got, = (v for v in m.step(x, t, RATE, **sizes).values() if v.ndim == 0)
        want = other.step(x, t)
        assert np.isclose(got, want, rtol=1e-12 if exact else 1e-4), f"step {k}: loss {got} instead of {want}"
        for n in trained:
            assert np.allclose(getattr(m, n), other.p[n].ravel(), rtol=0, atol=1e-11 if exact else 2e-5), \
                f"step {k}: {n} is apart by {abs(getattr(m, n) - other.p[n].ravel()).max()}"
    assert set(trained) == set(m.fields) & set(SHAPES), f"state is {list(m.fields)}"


def each(loss, optimiser, kind):
    @in_folder
    def case(folder):
        settings = {"norm_coefficient": DECAY} if optimiser != "sgd" else {}
        m, said = build(add_training(mlp(kind), loss, optimiser, **settings), folder, "--remarks=state")
        assert said.count("written in place") == len(m.fields) - ("padding" in m.fields), said
        follows(m, loss, optimiser, exact=kind == "double", **settings)
    case.__name__ = f"{loss} {optimiser} {kind}"
    return case


@in_folder
def open_batches(folder):
    m, _ = build(add_training(mlp(batch="batch"), "softmax_cross_entropy", "adam"), folder, "--dim", "batch<=6")
    follows(m, "softmax_cross_entropy", "adam", batches=(6, 1, 4))


@in_folder
def last_layer(folder):
    m, _ = build(add_training(mlp(), "mse", "momentum", train=["*2"]), folder)
    follows(m, "mse", "momentum", trained=("w2", "b2"))


@in_folder
def command(folder):
    onnx.save(mlp(), f"{folder}/net.onnx")
    options = ["--loss", "mse", "--optimiser", "sgd", "--train", "w2", "--train", "b*"]
    subprocess.run([sys.executable, TOOL, "net.onnx", "to.onnx", *options], cwd=folder, check=True)
    m, _ = build(onnx.load(f"{folder}/to.onnx"), folder)
    follows(m, "mse", "sgd", trained=("b1", "w2", "b2"))


@in_folder
def taken_names(folder):
    """A model that already has the names that the tool would give."""
    m = mlp()
    for a, b in ("x", "target"), ("y", "loss"), ("a1", "rate"), ("h", "w1_gradient"), ("a2", "steps"):
        for v in list(m.graph.input) + list(m.graph.output):
            v.name = b if v.name == a else v.name
        for n in m.graph.node:
            n.input[:] = [b if i == a else i for i in n.input]
            n.output[:] = [b if o == a else o for o in n.output]
    follows(build(add_training(m, "mse", "adam"), folder)[0], "mse", "adam")


def refused():
    for change, text in ((lambda m: add_training(m, "mse", "sgd", train=["head.*"]), "matches"),
                         (lambda m: (m.opset_import[0].__setattr__("version", 11), add_training(m, "mse", "sgd")), "version_converter")):
        try:
            change(mlp())
        except ValueError as e:
            assert text in str(e), e
        else:
            raise AssertionError(f"not refused: {text}")


def main():
    steps = [each(loss, o, "float") for loss in LOSSES for o in OPTIMISERS] + [each("mse", o, "double") for o in ("sgd", "momentum", "adam")]
    return run_cases("training written", *steps, open_batches, last_layer, command, taken_names, refused)


if __name__ == "__main__":
    sys.exit(main())
