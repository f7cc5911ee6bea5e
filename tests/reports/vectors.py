"""--emit-test: a C file that compares the model's C with the compiler's results. It passes, needs no libc, has the expected results of
the official tests, and returns which output differs."""
import re
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.parser import parse_model

import figures
from checks import check

BUILD, WORK, CACHE = figures.BUILD, figures.WORK / "vectors", figures.CACHE
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wundef", "-Werror", f"-I{BUILD / 'include'}", f"-I{WORK}"]
MAIN = "int m_test(void); int main(void) { return m_test() & 255; }"


def run(*command):
    return subprocess.run([str(c) for c in command], cwd=WORK, capture_output=True, text=True, timeout=300)


def tested(model, *options, flags=()):
    """The file of the test, and what it returns; None: the model does not compile, or has no tensors that can be tested."""
    p = run(BUILD / "onnxcc", model, "-o", "m.c", "--prefix", "m", "--emit-test", "m_test.c", "--quiet", *options)
    if p.returncode:
        check(p.returncode == 1 and p.stderr.startswith("error"), f"{model}: {p.stderr}")
        return None, p.stderr
    p = run("gcc", *STRICT, "-c", "m_test.c", "-o", "m_test.o")
    check(p.returncode == 0, f"{model}: {p.stderr}")
    asked = re.findall(r" U (\w+)", run("nm", "-u", "m_test.o").stdout)
    check(set(asked) <= {"m_run", "memset", "memcpy", "_GLOBAL_OFFSET_TABLE_"}, f"{model}: the test asks for {asked}")
    return (WORK / "m_test.c").read_text(), returned(flags)


def returned(flags=()):
    (WORK / "main.c").write_text(MAIN)
    p = run("gcc", "-O1", *flags, f"-I{BUILD / 'include'}", "m.c", "m_test.c", "main.c", "-lm", "-o", "m_test")
    return run("./m_test").returncode if p.returncode == 0 else p.stderr


def numbers(text, name):
    m = re.search(rf"static const (?:float|double|int\d+_t|uint8_t) {name}\[\d+\] = {{(.*?)}};", text, re.S)
    found = re.findall(r"-?0x[\da-f.]+p[-+]\d+|-?[\d.]+", re.sub(r"INT64_C|f\b", "", m[1])) if m else []
    return np.array([float.fromhex(x) if "x" in x else float(x) for x in found])


def official():
    """Official models with their inputs: expected results are those of the suite."""
    done = same = 0
    for path in sorted((CACHE / "suite").resolve().glob("node/*/model.onnx"))[::60]:
        folder = path.parent / "test_data_set_0"
        text, back = tested(path, "--test-data", folder)
        if text is None or "bernoulli" in path.parent.name:     # which draws numbers of its own
            continue
        done += check(back == 0, f"{path.parent.name}: its test returns {back}")
        for i in range(len(onnx.load(path).graph.output)):
            want = numpy_helper.to_array(onnx.load_tensor(folder / f"output_{i}.pb"))
            got = numbers(text, f"expected_{i}")
            if want.dtype.kind in "fiu" and want.dtype.itemsize > 1 and got.size == want.size:
                same += check(np.allclose(got, want.ravel().astype(float), 1e-2, 1e-4), f"{path.parent.name}: expects {got[:9]}, not {want}")
    check(done > 20 and same > 15, f"only {done} models, {same} outputs")


OPEN = """(float[n,3] x, float16[2] h, int8[5] b, bool[3] c, uint4[3] u) =>
    (float[n,3] y, float16[2] g, int8[5] a, bool[3] d, uint4[3] v, float[2] z, int64[k,2] w)
    <float[2] nan = {0,0}> { y = Sin(x) g = Sin(h) a = Neg(b) d = Not(c) v = Identity(u) z = Div(nan, nan)
    p = Abs(x) q = NonZero(p) w = Transpose(q) }"""


def forms():
    """Open sizes, sizes that the run determines, small types, NaNs, --struct, targets that round differently; a wrong result."""
    onnx.save(parse_model(f'<ir_version: 10, opset_import: ["":21]> g {OPEN}'), WORK / "open.onnx")
    for options, flags in (([], []), (["--struct"], []), (["--target", "x86-64-v3"], ["-march=x86-64-v3"]), (["--single"], [])):
        text, back = tested("open.onnx", "--dim", "n<=4", *options, flags=flags)
        check(text and back == 0, f"open {options}: {back}")
        check(text and ("RTOL" in text) == ("--target" in options), f"open {options}: tolerance")
    for i, word in enumerate(("expected_0", "expected_1", "expected_2", "expected_3", "expected_4", "expected_5", "expected_6"), 1):
        changed = re.sub(rf"({word}\[\d+\] = {{\n *)(-?)([^,]+),", r"\g<1>77,", text)
        (WORK / "m_test.c").write_text(changed)
        check(changed != text and returned() == i, f"open: with another {word} the test returns {returned()}, not {i}")
    pairs = "(complex64[n,3] x, complex128[2] z) => (complex64[3,n] y, complex128[2] w) { y = Transpose(x) w = Identity(z) }"
    onnx.save(parse_model(f'<ir_version: 10, opset_import: ["":21]> g {pairs}'), WORK / "pairs.onnx")
    for n in "n=4", "n=0", "n<=4":
        _, back = tested("pairs.onnx", "--dim", n, flags=["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        check(back == 0, f"complex numbers, {n}: {back}")
    text, back = tested("open.onnx", "--dim", "n<=4")
    (WORK / "m_test.c").write_text(text.replace("sizes.n = 4", "sizes.n = 5"))
    check(returned() == 255, "open: a run with a status")


def refused():
    onnx.save(parse_model('<ir_version: 8, opset_import: ["":17]> g (string[2] x) => (string[2] y) { y = Identity(x) }'), WORK / "text.onnx")
    onnx.save(parse_model('<ir_version: 8, opset_import: ["":17]> g (seq(float[2]) x) => (float[2] y) <int64 i = {0}> { y = SequenceAt(x, i) }'),
              WORK / "seq.onnx")
    for model, options in (("text.onnx", ["--dim", "x_text<=8"]), ("seq.onnx", ["--shape", "x=1,2"])):
        text, said = tested(model, *options)
        check(text is None and "only tensors of numbers" in said, f"{model}: {said}")
    for words in (["--test-data", "."], ["--emit-test", "t.c", "--state", "a=b"], ["--emit-test", "t.c", "-o", "-"], ["--emit-test", "m.c"],
                  ["--emit-test", "m.h"]):
        p = run(BUILD / "onnxcc", "open.onnx", "--dim", "n=1", "-o", "m.c", *words)
        check(p.returncode == 2, f"{words}: {p.returncode} {p.stderr}")
    p = run(BUILD / "onnxcc", "open.onnx", "--dim", "n=1", "-o", "m.c", "--emit-test", "t.c", "--test-data", "nowhere")
    check(p.returncode == 3 and not (WORK / "t.c").exists(), f"no data: {p.returncode} {p.stderr}")


def everything():
    WORK.mkdir(parents=True, exist_ok=True)
    for part in (official, forms, refused):
        part()
