"""The README's program that uses libonnxcc.a, as C, with warnings as errors: library.py B CC LIBS ... It has to write what the
command writes; the library has to define nothing but its interface, and to go into a shared one. Prints what is wrong, then
"library: N passed, N failed"."""
import pathlib
import re
import subprocess
import sys
import tempfile

from onnx import parser

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
counts = {True: 0, False: 0}


def check(good, what):
    counts[bool(good)] += 1
    if not good:
        print("FAIL", what)


def run(*command, **how):
    p = subprocess.run([*map(str, command)], capture_output=True, **how)
    check(p.returncode == 0 and not p.stderr, f"{' '.join(map(str, command))}: {p.returncode} {p.stderr.decode(errors='replace')}")
    return p


def test_readme(folder):
    example = next(c for c in re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.S) if "libonnxcc.h" in c)
    (folder / "example.c").write_text(example)
    run(*CC, *WARN, f"-I{ROOT / 'compiler'}", "example.c", BUILD / "libonnxcc.a", *LIBS, "-o", "example", cwd=folder)
    model = parser.parse_model(MODEL).SerializeToString()
    (folder / "kws.onnx").write_bytes(model)
    run("./example", cwd=folder, input=model)
    example = (folder / "kws.c").read_bytes()
    (folder / "kws.c").unlink()
    run(BUILD / "onnxcc", "kws.onnx", "--single", cwd=folder)
    check(example == (folder / "kws.c").read_bytes(), "the README's program writes what the command does not")
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


with tempfile.TemporaryDirectory() as name:
    test_readme(pathlib.Path(name))
    test_symbols(pathlib.Path(name))
print(f"library: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
