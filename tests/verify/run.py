"""Tests of --tap, --until, --from and --eval. Prints what is wrong, then "verify: N passed, N failed"."""
import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper

import models

BUILD = pathlib.Path(os.environ["B"])
ONNXCC = BUILD / "onnxcc"
WORK = BUILD / "verify"
passed = failed = 0


def check(good, what):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {what}", flush=True)


def onnxcc(*words, code=0, env=None):
    """What it prints; it must end with this code."""
    p = subprocess.run([ONNXCC, *map(str, words)], capture_output=True, text=True, errors="replace", cwd=WORK, check=False,
                       env={**os.environ, **(env or {})})
    said = p.stdout + p.stderr
    check(p.returncode == code, f"{words}: exit {p.returncode}, not {code}\n{said}")
    return said


def says(said, *texts):
    for text in texts:
        check(text in said, f"no {text!r} in\n{said}")


def same(got, wanted):
    return got.shape == wanted.shape and (got.dtype == wanted.dtype or wanted.dtype == object) and (
        np.array_equal(got, wanted) if wanted.dtype == object else np.allclose(got, wanted, 1e-5, 1e-6))


def cut(m, inputs, words, names, wanted):
    """The model with these options has these outputs, of these values."""
    folder = WORK / "cut"
    shutil.rmtree(folder, ignore_errors=True)
    models.write_data(folder, inputs)
    onnx.save(m, folder / "m.onnx")
    said = onnxcc(folder / "m.onnx", "--eval", folder, "--eval-out", folder, *words)
    check([line.split(":")[0] for line in said.splitlines()] == names, f"{words}: not the outputs {names}:\n{said}")
    for i, (name, value) in enumerate(zip(names, wanted)):
        file = folder / f"actual_{i}.pb"
        got = numpy_helper.to_array(onnx.load_tensor(file)) if file.exists() else np.zeros(0)
        check(same(got, value), f"{words}: {name} is {got}, not {value}")


def cuts():
    m, x = models.chain(), np.random.default_rng(2).standard_normal((3, 8)).astype(np.float32)
    value = dict(zip("arscyz", models.expected(m, {"x": x}, "arscyz")))
    size = ["--dim", "N<=8"]
    for inputs, words, names in [
            ("x", ["--tap", "r"], "yzr"), ("x", ["--tap", "s", "--tap", "a", "--tap", "s"], "yzsa"), ("x", ["--tap", "y"], "yz"),
            ("x", ["--tap", "all"], "yzarsc"), ("x", ["--until", "s"], "s"), ("x", ["--until", "c", "--until", "a", "--tap", "r"], "car"),
            ("s", ["--from", "s"], "yz"), ("s", ["--from", "s", "--until", "c"], "c"), ("c", ["--from", "c", "--until", "z"], "z"),
            ("x", ["--until", "a", "--tap", "all"], "a")]:
        feeds = [value.get(name, x) for name in inputs]
        cut(m, feeds, words + size, list(names), [value[name] for name in names])
        cut(m, feeds, words + ["--dim", "N=3"], list(names), [value[name] for name in names])


def cuts_of_other_things():
    m = models.nested()
    feeds = {"x": np.random.default_rng(3).uniform(-1, 5, (3, 4)).astype(np.float32), "flag": np.array(True),
             "text": np.array(["über", "b"], object)}
    value = models.expected(m, feeds, ["y", "text3", "a", "b", "row", "text2"])
    rows = [value[3][i:i + 1] for i in range(3)]
    bound = ["--dim", "text_text<=64"]
    cut(m, feeds.values(), ["--tap", "all", *bound], ["y", "text3", "a", "b", "seq", "row", "text2"], [value[0], value[1], *value[2:4], *rows])
    cut(m, [feeds["x"], feeds["flag"]], ["--until", "seq"], ["seq"], rows)
    cut(m, [value[4]], ["--from", "row", "--until", "y"], ["y"], [value[0]])
    cut(m, [feeds["flag"], value[2]], ["--from", "a", "--until", "row"], ["row"], [value[4]])
    file = WORK / "cut" / "m.onnx"
    for words, *texts in [
            (["--tap", "in_Neg"], "inside of this node", 'graph.node[1] "choose" (If)'), (["--until", "f_mid"], "inside of the function Twice"),
            (["--tap", "roww"], "no tensor of this name", "did you mean 'row'?"), (["--from", "seq"], "its type is not known", "value_info"),
            (["--tap", "x"], "it is an input"), (["--tap", "one"], "it is a constant"), (["--from", "y"], "it is an output"),
            (["--until", "a", "--from", "nothing"], "no tensor of this name")]:
        says(onnxcc(file, "-o", "-", *words, *bound, code=1), *texts)
    text = onnxcc(file, "-o", "-", "--until", "row", "--from", "a")
    says(text, "--from a --until row", 'input "a": float [3,4]', 'input "flag": bool []')
    check('input "text"' not in text and 'input "x"' not in text, "inputs that nothing reads are left out")


def evaluated():
    """--eval compares, and writes only where it is told to."""
    folder, m = WORK / "eval", models.chain(3)
    x = np.random.default_rng(4).standard_normal((3, 8)).astype(np.float32)
    y, z = models.expected(m, {"x": x}, "yz")
    onnx.save(m, WORK / "eval.onnx")

    def run(*outputs, code=0):
        shutil.rmtree(folder, ignore_errors=True)
        models.write_data(folder, [x], outputs)
        said = onnxcc("eval.onnx", "--eval", folder, code=code)
        check(len(os.listdir(folder)) == 1 + len(outputs), f"--eval has written {os.listdir(folder)}")
        return said

    says(run(), "y: float [3,4]; nothing to compare with", "z: float [3,4]; nothing")
    said = run(y, z)
    says(said, "y: float [3,4], largest error", "ULPs: ok")
    check("DIFFERS" not in said, said)
    wrong = z.copy()
    wrong[1, 2] += 1
    says(run(y, wrong, code=1), "ok", "DIFFERS in 1 of 12 elements, first at [1,2]", "1 of 2 outputs differ")
    says(run(y, z[:2], code=1), "DIFFERS: it is float [3,4], not float [2,4]")
    says(run(y, z.astype(np.float64), code=1), "it is float [3,4], not double [3,4]")
    says(run(y, np.where(z > 0, np.nan, z).astype(np.float32), code=1), "largest error inf")
    says(onnxcc("eval.onnx", "--eval-out", folder, code=2), "--eval-out needs --eval DIR")


shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
cuts()
cuts_of_other_things()
evaluated()
print(f"verify: {passed} passed, {failed} failed")
raise SystemExit(failed > 0)
