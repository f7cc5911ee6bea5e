"""A torch module becomes a training model by the lines of samples/train/README.md, whose C learns as torch does, step by step. The
artifacts of onnxruntime-training become one, too, whose C learns as ONNX Runtime does."""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnxruntime.training import api, artifacts

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "samples" / "train"))
from learner import build, run_cases  # noqa: E402

RATE, STEPS = 0.01, 20


def example(folder):
    """Runs the README's lines; returns what they define."""
    text = (ROOT / "samples" / "train" / "README.md").read_text()
    code = next(c for c in re.findall(r"```python\n(.*?)```", text, flags=re.S) if "torch" in c)
    assert len(code.strip().splitlines()) <= 10
    defined = {}
    exec(code.replace('"net.onnx"', f'"{folder}/net.onnx"').replace('"learner.onnx"', f'"{folder}/learner.onnx"'), defined)
    return defined["net"], onnx.load(f"{folder}/learner.onnx")


def exported(net, x, folder, optimiser):
    from training import add_training
    torch.onnx.export(net, x, f"{folder}/n.onnx", input_names=["x"], output_names=["y"], dynamo=False, opset_version=17)
    return add_training(onnx.load(f"{folder}/n.onnx"), "softmax_cross_entropy", optimiser)


def follow(net, m, shape, classes, optimiser):
    """Compares 20 steps of C and of torch from the same weights: losses, then weights."""
    rng = np.random.default_rng(3)
    loss_of = torch.nn.CrossEntropyLoss()
    m.reset()
    for k in range(STEPS):
        x, t = rng.normal(size=shape).astype(np.float32), rng.integers(0, classes, shape[0])
        optimiser.zero_grad()
        want = loss_of(net(torch.from_numpy(x)), torch.from_numpy(t))
        want.backward()
        optimiser.step()
        got = m.step(x, t, RATE)["loss"]
        assert np.isclose(got, want.item(), rtol=2e-4, atol=1e-5), f"step {k}: loss {got} instead of {want.item()}"


def ten_lines():
    """SGD and Momentum agree with torch's. (Adam's first steps differ: the standard corrects the means by the number of earlier steps.)"""
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(1)
        net, model = example(folder)
        m, _ = build(model, folder)
        follow(net, m, (16, 4), 3, torch.optim.SGD(net.parameters(), RATE))


def convolutional():
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(2)
        net = torch.nn.Sequential(torch.nn.Conv2d(1, 6, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(96, 10))
        m, _ = build(exported(net, torch.zeros(4, 1, 8, 8), folder, "momentum"), folder)
        follow(net, m, (4, 1, 8, 8), 10, torch.optim.SGD(net.parameters(), RATE, momentum=0.9))


def from_package(optimiser, loss):
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(3)
        net = torch.nn.Sequential(torch.nn.Linear(5, 12), torch.nn.Tanh(), torch.nn.Linear(12, 3))
        torch.onnx.export(net, torch.zeros(8, 5), f"{folder}/n.onnx", input_names=["x"], output_names=["y"], dynamo=False, opset_version=17)
        net = onnx.load(f"{folder}/n.onnx")
        names = [i.name for i in net.graph.initializer]
        artifacts.generate_artifacts(net, requires_grad=names[:1] + names[2:], frozen_params=names[1:2], loss=artifacts.LossType[loss],
                                     optimizer=artifacts.OptimType[optimiser], artifact_directory=folder)
        update = onnx.load(f"{folder}/optimizer_model.onnx")
        update.ir_version = 8       # the package writes onnx's newest version, which it cannot read
        onnx.save(update, f"{folder}/optimizer_model.onnx")
        state = api.CheckpointState.load_checkpoint(f"{folder}/checkpoint")
        module = api.Module(f"{folder}/training_model.onnx", state, f"{folder}/eval_model.onnx")
        other = api.Optimizer(f"{folder}/optimizer_model.onnx", module)
        other.set_learning_rate(RATE)
        subprocess.run([sys.executable, ROOT / "samples" / "train" / "artifacts.py", folder, f"{folder}/learner.onnx"], check=True, capture_output=True)
        m, _ = build(onnx.load(f"{folder}/learner.onnx"), folder)
        m.reset()
        rng = np.random.default_rng(4)
        for k in range(STEPS):
            x = rng.normal(size=(8, 5)).astype(np.float32)
            t = rng.normal(size=(8, 3)).astype(np.float32) if loss == "MSELoss" else rng.integers(0, 3, 8)
            module.train()
            want = float(module(x, t))
            other.step()
            module.lazy_reset_grad()
            got, = (v for v in m.step(x, t, RATE).values() if v.ndim == 0)
            assert np.isclose(got, want, rtol=2e-4, atol=1e-5), f"step {k}: loss {got} instead of {want}"


def main():
    return run_cases("training torch", ten_lines, convolutional, (from_package, "AdamW", "CrossEntropyLoss"), (from_package, "SGD", "MSELoss"))


if __name__ == "__main__":
    sys.exit(main())
