"""Shared by the tests of `onnxcc verify` and of taps, which run onnxcc in a folder of their own, and change the C that it writes."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import models
from checks import check

BUILD = pathlib.Path(os.environ["B"])
ONNXCC = BUILD / "onnxcc"
WORK = BUILD / "verified"     # build/verify has objects of the compiler


def onnxcc(*words, code=0, env=None):
    """Runs onnxcc, which must end with this code; returns its output."""
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
    """Checks that the model with these options has these outputs, with these values."""
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


# Changes the C by the sed command $WRONG, then compiles it.
WRONG_CC = """#!/bin/sh
for f; do case $f in */program.c) sed -i "$WRONG" "${f%program.c}model.c";; esac; done
exec cc "$@"
"""
PYTHON_FIRST = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"        # it has ONNX Runtime


def verify(*words, code=0, wrong=None, **env):
    """Runs `onnxcc verify`, which may leave no file; returns its output."""
    temporary = WORK / "tmp"
    temporary.mkdir(exist_ok=True)
    by = {"CC": str(WORK / "wrong-cc"), "WRONG": wrong} if wrong else {}
    env = {"TMPDIR": str(temporary), "PATH": PYTHON_FIRST, "CFLAGS": "-O0", **by, **env}
    said = onnxcc("verify", *words, code=code, env=env)
    check(not os.listdir(temporary), f"{words}: {os.listdir(temporary)} remains")
    return said


def begin():
    """Makes an empty folder, and a compiler that makes the C wrong."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    (WORK / "wrong-cc").write_text(WRONG_CC)
    (WORK / "wrong-cc").chmod(0o755)
