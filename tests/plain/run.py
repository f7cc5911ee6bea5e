"""Compiles the networks of networks.py for --target plain and checks the C: run.py ONNXCC FOLDER. Each network's C must be C99 without
extensions, compile without warnings, and with gcc, clang and tcc give the bits of code for generic, for random inputs and inputs with
NaNs, infinities, zeros of either sign and numbers out of range. Prints failures, then "plain: N passed, N failed"."""
import ctypes
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

import networks

WARNINGS = "-Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror".split()
WHOLE = "-Wl,-z,defs"  # no function is missing
COMPILERS = {"gcc -O0": ["gcc", "-O0", WHOLE], "gcc -O3": ["gcc", "-O3", WHOLE], "clang": ["clang-14", "-O2", WHOLE], "tcc": ["tcc"]}
# Words that C99 lacks, that `plain` excludes, and names that compilers add.
FORBIDDEN = r"\b(__\w+|_Pragma|asm|union|typeof|alloca|goto|inline|_Static_assert|_Generic|_Alignas)\b|\(\s*\*\s*\w+\s*\)\s*\("


def shell(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(result.stderr or result.stdout).strip()[:800]}")
    return result.stdout


def check_text(file):
    """Without comments and literals the C has no word of an extension, also after preprocessing by a C compiler without extensions."""
    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', " ", file.read_text(), flags=re.S)
    words = {m.group() for m in re.finditer(FORBIDDEN, code)}
    if words:
        raise RuntimeError(f"{file}: {words}")
    calls = {}
    for name, body in re.findall(r"^(?:static )?[\w ]+?\**(\w+)\([^;{]*\)\n\{\n(.*?)^\}", code, re.S | re.M):
        calls[name] = set(re.findall(r"\b(\w+)\(", body))

    def recursive(name, above):
        return name in above or any(recursive(c, above | {name}) for c in calls.get(name, ()))
    if any(recursive(name, frozenset()) for name in calls):
        raise RuntimeError(f"{file}: a function calls itself")


def compile_network(onnxcc, folder, name):
    options = networks.OPTIONS.get(name, [])
    plain, generic = folder / f"{name}.c", folder / f"{name}_generic.c"
    model = folder / f"{name}.onnx"
    shell(onnxcc, model, "-o", plain, "--prefix", "m", "--target", "plain", *options)
    shell(onnxcc, model, "-o", generic, "--prefix", "m", "--single", *options)
    check_text(plain)
    shell("gcc", "-std=c99", "-pedantic-errors", "-O1", *WARNINGS, "-c", "-o", "/dev/null", plain)
    shell("clang-14", "-std=c99", "-pedantic-errors", *WARNINGS, "-c", "-o", "/dev/null", plain)
    libraries = {"generic": folder / f"{name}_generic.so"}
    shell("gcc", "-std=c99", "-O2", "-shared", "-fPIC", "-o", libraries["generic"], generic)
    for label, command in COMPILERS.items():
        libraries[label] = folder / f"{name}_{label.replace(' ', '')}.so"
        shell(*command, "-std=c99", "-shared", "-fPIC", "-o", libraries[label], plain)
    return libraries


def run(library, model, seed, size, sizes):
    given = [np.ascontiguousarray(x) for x in networks.inputs(model, seed)]
    out = np.zeros(size, np.float32)
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*given, out)]
    if sizes:
        pointers.append((ctypes.c_int64 * 3)(*[seed % 7] * 3))
    status = ctypes.CDLL(str(library)).m_run(*pointers)
    bits = out.view(np.uint32)
    return status, np.where(np.isnan(out), 0x7fc00000, bits).tobytes()


def check(onnxcc, folder, name):
    libraries = compile_network(onnxcc, folder, name)
    model = onnx.load(folder / f"{name}.onnx")
    size = max(int(n) for n in re.findall(r"_SIZE (\d+)", (folder / f"{name}.h").read_text()))
    sizes = "struct m_sizes *" in (folder / f"{name}.h").read_text()
    for seed in range(24):
        wanted = run(libraries["generic"], model, seed, size, sizes)
        for label, library in libraries.items():
            if run(library, model, seed, size, sizes) != wanted:
                raise RuntimeError(f"{name}: {label} gives other bits than generic, inputs {seed}")


def main(onnxcc, folder, *names):
    folder = pathlib.Path(folder)
    networks.write(folder)
    passed = failed = 0
    for name in names or sorted(f.stem for f in folder.glob("*.onnx")):
        try:
            check(onnxcc, folder, name)
            passed += 1
        except RuntimeError as e:
            failed += 1
            print(f"{name}: {e}")
    print(f"plain: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
