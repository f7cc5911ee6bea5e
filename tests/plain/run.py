"""Compiles the networks of networks.py for --target plain and checks the C: run.py ONNXCC FOLDER. Each network's C must be C99 without
extensions, compile without warnings, and with gcc, clang and tcc give the bits of code for generic, for random inputs and inputs with
NaNs, infinities, zeros of either sign and numbers out of range. A compiler with excess precision refuses the C. Prints failures, then
"plain: N passed, N failed"."""
import ctypes
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser

import networks

WARNINGS = "-Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror".split()
WHOLE = "-Wl,-z,defs"  # no function is missing
COMPILERS = {"gcc -O0": ["gcc", "-O0", WHOLE], "gcc -O3": ["gcc", "-O3", WHOLE], "clang": ["clang-14", "-O2", WHOLE], "tcc": ["tcc"]}
# Words that C99 lacks, that `plain` excludes, and names that compilers add.
FORBIDDEN = r"\b(__\w+|_Pragma|asm|union|typeof|alloca|goto|inline|_Static_assert|_Generic|_Alignas)\b|\(\s*\*\s*\w+\s*\)\s*\("

# Far outside the image, excess precision gives other positions.
FAR = """<ir_version: 8, opset_import: ["": 19]> far (float[3] x, float[2] r) => (float[3] y) <int64[1] s = {3}> {
    y = Resize <coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = -7.0, mode = "linear"> (x, r, , s)
}"""
FAR_MAIN = """#include <stdio.h>
#include "m.h"
int main(void)
{
    const float x[3] = {3, 1, 8}, r[2] = {-3e38f, 3e38f};
    float y[3];
    const int status = m_run(x, r, y);
    return printf("%d %g %g %g", status, y[0], y[1], y[2]) < 0;
}
"""
FAR_RESULT = "0 3 3 3"  # of code for generic; ONNX Runtime: tests/operators, late_resize_*_far_*
I386, S390X = ["i686-linux-gnu-gcc", "-std=c99"], ["s390x-linux-gnu-gcc", "-std=c99"]
REFUSED = [("plain", I386), ("plain", S390X), *((t, ["i386-tcc", "-I/usr/i686-linux-gnu/include"]) for t in ("plain", "generic"))]
PRECISE = {"qemu-i386": [*I386, "-msse2", "-mfpmath=sse"], "qemu-s390x": [*S390X, "-fexcess-precision=fast"]}


def shell(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(result.stderr or result.stdout).strip()[:800]}")
    return result.stdout


def check_text(file):
    """Without comments and literals the C has no word of an extension, also after preprocessing by a C compiler without extensions."""
    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|^#elif [^\n]*', " ", file.read_text(), flags=re.S | re.M)
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


def check_precision(onnxcc, folder, _):
    folder = folder / "far"
    folder.mkdir(exist_ok=True)
    onnx.save(onnx.parser.parse_model(FAR), folder / "m.onnx")
    (folder / "main.c").write_text(FAR_MAIN)
    for target in "generic", "plain":
        shell(onnxcc, folder / "m.onnx", "-o", folder / "m.c", "--target", target, "--single")
        for command in (c for t, c in REFUSED if t == target):
            p = subprocess.run([*command, "-c", "-o", folder / "m.o", folder / "m.c"], capture_output=True, text=True, check=False)
            if not p.returncode or "excess precision" not in p.stderr:
                raise RuntimeError(f"{target}, {' '.join(command)}: {p.stderr[:300]}")
        for emulator, command in PRECISE.items():
            shell(*command, "-O2", "-static", "-o", folder / "far", folder / "main.c", folder / "m.c")
            if (said := shell(emulator, folder / "far")) != FAR_RESULT:
                raise RuntimeError(f"{target}, {' '.join(command)}: {said}")


def main(onnxcc, folder, *names):
    folder = pathlib.Path(folder)
    networks.write(folder)
    passed = failed = 0
    checks = {n: check for n in names or sorted(f.stem for f in folder.glob("*.onnx"))}
    for name, run_check in (checks | {"precision": check_precision}).items():
        try:
            run_check(onnxcc, folder, name)
            passed += 1
        except RuntimeError as e:
            failed += 1
            print(f"{name}: {e}")
    print(f"plain: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
