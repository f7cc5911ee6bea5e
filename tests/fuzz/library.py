"""Builds the program of docs/library.md with libonnxcc.a, with warnings as errors: library.py B CC LIBS ... It must write the same files
as the command; the library may define only its interface, and must be linkable into a shared one. Prints failures, then
"library: N passed, N failed"."""
import ctypes
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, numpy_helper, parser

from checks import check, counts

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD, CC, LIBS = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2].split(), sys.argv[3:]
WARN = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
MODEL = '<ir_version: 8, opset_import: ["":17]> g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }'
LOADER = """#include <dlfcn.h>
int main(int n, char **path)
{
    void *library = dlopen(path[n - 1], RTLD_NOW);
    return library && dlsym(library, "onnxcc_compile") && !dlsym(library, "pool_alloc") ? 0 : 1;
}
"""


def run(*command, **how):
    p = subprocess.run([*map(str, command)], capture_output=True, **how)
    check(p.returncode == 0 and not p.stderr, f"{' '.join(map(str, command))}: {p.returncode} {p.stderr.decode(errors='replace')}")
    return p


def test_page(folder):
    example = next(c for c in re.findall(r"```c\n(.*?)```", (ROOT / "docs/library.md").read_text(), re.S) if "libonnxcc.h" in c)
    (folder / "example.c").write_text(example)
    run(*CC, *WARN, f"-I{ROOT / 'compiler'}", "example.c", BUILD / "libonnxcc.a", *LIBS, "-o", "example", cwd=folder)
    model = parser.parse_model(MODEL).SerializeToString()
    (folder / "kws.onnx").write_bytes(model)
    run("./example", cwd=folder, input=model)
    example = (folder / "kws.c").read_bytes()
    (folder / "kws.c").unlink()
    run(BUILD / "onnxcc", "kws.onnx", "--single", cwd=folder)
    check(example == (folder / "kws.c").read_bytes(), "the page's program writes what the command does not")
    p = subprocess.run(["./example"], cwd=folder, input=model[:40], capture_output=True)
    check(p.returncode == 1 and b"kws.onnx: truncated" in p.stderr, f"a broken model: {p.returncode} {p.stderr}")


def test_symbols(folder):
    lines = run("nm", "--defined-only", "--extern-only", BUILD / "libonnxcc.a").stdout.decode().splitlines()
    names = sorted(line.split()[2] for line in lines if len(line.split()) == 3)
    check(names == ["onnxcc_compile", "onnxcc_version"], f"libonnxcc.a defines {names}")
    run("g++", "-Wall", "-Werror", "-fsyntax-only", "-x", "c++", ROOT / "compiler/libonnxcc.h")
    run(*CC, "-shared", "-o", "libonnxcc.so", "-Wl,--whole-archive", BUILD / "libonnxcc.a", "-Wl,--no-whole-archive", *LIBS,
        cwd=folder)
    (folder / "loader.c").write_text(LOADER)
    run(*CC, "loader.c", "-o", "loader", "-ldl", cwd=folder)
    run("./loader", folder / "libonnxcc.so", cwd=folder)


def binding(folder):
    """The Python package's ctypes module, with the libonnxcc.so of the folder."""
    spec = importlib.util.spec_from_file_location("binding", shutil.copy(ROOT / "packaging/python/onnxcc/library.py", folder))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(library, model, folder, *options):
    """(exit code, codes of the messages, files)"""
    said, files = [], {}
    words = (ctypes.c_char_p * (len(options) + 1))(*[o.encode() for o in options], None)
    request = library._Request(model, len(model), b"kws.onnx", folder and str(folder).encode(), words,
                               library._OnMessage(lambda _, m: said.append(m.contents.code.decode())),
                               library._OnFile(lambda _, name, at, n: files.update({name.decode(): ctypes.string_at(at, n)})))
    return library._library.onnxcc_compile(ctypes.byref(request)), said, files


def with_data_outside(folder):
    model = parser.parse_model('<ir_version: 8, opset_import: ["":17]> g (float[64] x) => (float[64] y) { y = Add(x, w) }')
    weights = np.random.default_rng(0).standard_normal(64, np.float32)
    (folder / "weights.bin").write_bytes(weights.tobytes())
    w = numpy_helper.from_array(weights, "w")
    w.ClearField("raw_data")
    w.data_location = TensorProto.EXTERNAL
    w.external_data.add(key="location", value="weights.bin")
    model.graph.initializer.append(w)
    (folder / "kws.onnx").write_bytes(model.SerializeToString())
    return model.SerializeToString()


def test_data_outside(folder):
    """With the shared library of test_symbols; no file remains open."""
    library = binding(folder)
    model = with_data_outside(folder)
    run(BUILD / "onnxcc", "kws.onnx", "--weights=file", cwd=folder)
    want = {f: (folder / f).read_bytes() for f in ("kws.c", "kws.h", "kws.c.weights")}
    before = os.listdir("/proc/self/fd")
    code, said, files = compiled(library, model, folder, "--weights=file")
    check((code, said, files) == (0, [], want), f"data in a folder: {code} {said} {sorted(files)}")
    code, said, files = compiled(library, model, None, "--weights=file")
    check((code, said, files) == (1, ["EXT-03", ""], {}), f"data without a folder: {code} {said} {sorted(files)}")
    code, said, files = compiled(library, model, folder, "--max-arena", "64K", "--dim", "n=3")
    check((code, files) == (1, {}), f"a size that the model does not have: {code} {said} {sorted(files)}")
    (folder / "weights.bin").write_bytes(b"short")
    code, said, files = compiled(library, model, folder)
    check((code, said, files) == (1, ["EXT-10", ""], {}), f"too little data: {code} {said} {sorted(files)}")
    for words in (["--help"], ["--list-ops"], ["other.onnx"], ["--fast"], ["--dim"]):
        code, said, files = compiled(library, model, folder, *words)
        check((code, files) == (2, {}) and said[0][:4] == "ARG-", f"{words}: {code} {said} {sorted(files)}")
    check(os.listdir("/proc/self/fd") == before, "files stay open")


with tempfile.TemporaryDirectory() as name:
    test_page(pathlib.Path(name))
    test_symbols(pathlib.Path(name))
    test_data_outside(pathlib.Path(name))
print(f"library: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
