"""Compiles the networks of networks.py for --target plain, runs the C on inputs of every kind, and finds with gcov the lines that no run
executes: coverage.py ONNXCC FOLDER [NETWORK...]. Prints these, then "plain-coverage: N passed, N failed"."""
import ctypes
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

import networks
from run import shell

RUNS = 60       # of each network
BRANCHES = 0.03  # that no run takes, such as those of clamps to infinite bounds
STATUSES = 6    # m_status() takes any number; RT_BAD_WEIGHTS, the last one, is 4
# All files that `image` decodes begin as a JPEG file, yet the compiler does not follow bytes in the arena.
WITHOUT = {"image"}
# libgcov's function is local to each shared library.
DUMP = "void __gcov_dump(void);\nvoid m_dump(void);\nvoid m_dump(void) { __gcov_dump(); }\n"


def execute(library, model, header):
    """All runs; outputs are discarded."""
    m = ctypes.CDLL(str(library))
    size = max(int(n) for n in re.findall(r"_SIZE (\d+)", header))
    for seed in range(RUNS):
        given = [np.ascontiguousarray(x) for x in networks.inputs(model, seed)]
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*given, np.zeros(size, np.float64))]
        if "struct m_sizes *" in header:
            pointers.append((ctypes.c_int64 * 3)(*[seed % 9 - 1] * 3))
        m.m_run(*pointers)
    for status in range(STATUSES):
        m.m_status(status)
    m.m_dump()


def unexecuted(onnxcc, folder, name):
    """The lines of a network's C that no run executes; the number of lines, of branches that no run takes, of branches."""
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.gc*"):
        old.unlink()
    model, c, library = folder.parent / f"{name}.onnx", folder / "m.c", folder / "m.so"
    shell(onnxcc, model, "-o", c, "--prefix", "m", "--target", "plain", *networks.OPTIONS.get(name, []))
    (folder / "dump.c").write_text(DUMP)
    for file in ("m", "dump"):
        shell("gcc", "-std=c99", "-O0", "--coverage", "-fPIC", "-c", folder / f"{file}.c", "-o", folder / f"{file}.o")
    shell("gcc", "--coverage", "-shared", "-o", library, folder / "m.o", folder / "dump.o")
    execute(library, onnx.load(model), (folder / "m.h").read_text())
    report = json.loads(shell("gcov", "--json-format", "--stdout", "--branch-probabilities", folder / "m.o").splitlines()[0])
    lines = [line for file in report["files"] if file["file"].endswith("m.c") for line in file["lines"]]
    branches = [b["count"] for line in lines for b in line["branches"]]
    return sorted({line["line_number"] for line in lines if not line["count"]}), len(lines), branches.count(0), len(branches)


def main(onnxcc, folder, *names):
    folder = pathlib.Path(folder).resolve()
    networks.write(folder)
    passed, sums = 0, [0, 0, 0]
    names = names or sorted({f.stem for f in folder.glob("*.onnx")} - WITHOUT)
    for name in names:
        missed, *numbers = unexecuted(pathlib.Path(onnxcc).resolve(), folder, name)
        text = (folder / name / "m.c").read_text().split("\n")
        passed += not missed
        sums = [a + b for a, b in zip(sums, numbers)]
        for n in missed:
            print(f"{folder / name}/m.c:{n}: no run executes: {text[n - 1].strip()}")
    print(f"{sums[0]} lines; of {sums[2]} branches {sums[1]} are not taken")
    failed = len(names) - passed + (sums[1] > BRANCHES * sums[2])
    print(f"plain-coverage: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
