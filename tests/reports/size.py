"""The bytes of code in the report (onnxcc size, --object), compared with those that the machine's `size` and `nm` count."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.parser import parse_model

import figures
from checks import check

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "machines"))
from table import MACHINES  # noqa: E402

BUILD = pathlib.Path(os.environ["B"]).resolve()
WORK = BUILD / "reports" / "size"
COMPILERS = [("x86-64", "gcc", "-O2"), ("x86-64", "clang-14", "-Os"), ("cortex-m4", "arm-none-eabi-gcc", "-Os"),
             ("riscv32", "riscv64-unknown-elf-gcc", "-Os"), ("s390x", "s390x-linux-gnu-gcc", "-O1"), ("aarch64", "aarch64-linux-gnu-gcc", "-O3")]


def run(*command, **env):
    return subprocess.run([str(c) for c in command], cwd=WORK, capture_output=True, text=True, timeout=300, env={**os.environ, **env})


def onnxcc(*words, **env):
    return run(BUILD / "onnxcc", *words, **env)


def counted(machine, path):
    """(bytes of text and data, bytes of each function) by the machine's binutils"""
    text, data = run(MACHINES[machine].tool("size"), path).stdout.splitlines()[1].split()[:2]
    rows = [line.split() for line in run(MACHINES[machine].tool("nm"), "-S", path).stdout.splitlines()]
    return int(text) + int(data), {r[3]: int(r[1], 16) for r in rows if len(r) == 4 and r[2] in "tT" and int(r[1], 16)}


def agrees(what, machine, path, said):
    """Compares the report about an object with the counts of binutils."""
    if not check(said.returncode == 0, f"{what}: {said.stderr}"):
        return
    r = json.loads(said.stdout)
    check(not list(figures.SCHEMA.iter_errors(r)), f"{what}: not by the schema")
    flash, (whole, functions) = r["flash"], counted(machine, path)
    check(r["object"]["bytes"] == whole, f"{what}: {r['object']['bytes']} bytes, size says {whole}")
    stored = flash["weights"] - (flash["weights_file"] if "file" in what else 0)
    check(flash["code"] == whole - stored > 0, f"{what}: {flash} of {whole} bytes")
    longest = [f["bytes"] for f in r["object"]["functions"]]
    check({f["name"]: f["bytes"] for f in r["object"]["functions"]} == functions and longest == sorted(longest, reverse=True),
          f"{what}: {r['object']['functions']}, nm says {functions}")


def objects():
    """--object with objects for several machines, and with several places of the weights."""
    for machine, cc, level in COMPILERS:
        for weights in ("inline",) if MACHINES[machine].big_endian else ("inline", "incbin", "file"):
            what, path = f"--object, {machine}, {weights}", WORK / f"{machine}-{weights}.o"
            words = ["net.onnx", "--prefix", "net", f"--weights={weights}", "-o", "net.c"]
            check(onnxcc(*words).returncode == 0, f"{what}: no C")
            built = run(cc, *MACHINES[machine].flags, level, f"-I{BUILD / 'include'}", "-c", "net.c", "-o", path)
            if check(built.returncode == 0, f"{what}: {built.stderr}"):
                agrees(what, machine, path, onnxcc(*words, "--report=json", "--object", path))


def command():
    """onnxcc size compiles the C, and prints each form of the report; --max-flash counts the code."""
    for machine, cc, level in COMPILERS:
        words = ["size", "net.onnx", "--target", MACHINES[machine].target or "generic"]
        env = {"CC": cc, "CFLAGS": " ".join([level, *MACHINES[machine].flags])}
        said = onnxcc(*words, "--report=json", **env)
        if not check(said.returncode == 0, f"onnxcc size, {machine}: {said.stderr}"):
            continue
        r = json.loads(said.stdout)
        code, flash = r["flash"]["code"], r["flash"]["code"] + r["flash"]["weights"]
        check(r["object"]["by"].startswith(f"{cc} {level}") and code > 500, f"onnxcc size, {machine}: {r['flash']}")
        text = onnxcc(*words, **env).stdout
        check(f"flash   {flash} B = weights {r['flash']['weights']} + code {code}\n" in text and f"onnxcc: flash={flash} " in text
              and all(len(line) <= 80 for line in text.splitlines()), f"onnxcc size, {machine}: {text}")
        for budget, exit_code in ((flash, 0), (flash - 1, 1)):
            p = onnxcc(*words, "--max-flash", str(budget), **env)
            check(p.returncode == exit_code and (not exit_code or f"BUD-02]: {r['flash']['weights']} bytes of weights and {code} of code" in p.stderr),
                  f"onnxcc size --max-flash {budget}: {p.returncode} {p.stderr}")
    page = onnxcc(*words, "--report=html", **env).stdout
    check(f'"code": {code}' in page and "</html>" in page, "onnxcc size --report=html: no page")
    p = onnxcc("size", "net.onnx", "data")
    check(p.returncode == 2 and "takes no data" in p.stderr, f"onnxcc size with data: {p.stderr}")


def refused():
    """A file that is not the object of this model is an error, also a damaged one; its bytes are not printed to the terminal."""
    words = ["net.onnx", "--prefix", "net", "-o", "-", "--report", "--object"]
    good = (WORK / "x86-64-inline.o").read_bytes()
    (WORK / "program.c").write_text("int main(void) { return 0; }\n")
    run("gcc", "program.c", "-o", "program")
    run("gcc", "-c", "program.c", "-o", "other.o")
    (WORK / "text.o").write_text("no object\n" * 100)
    for path, says in (("program", "expected an object (-c)"), ("other.o", "no function of it begins with net_"), ("text.o", "expected an ELF object"),
                       ("none.o", "cannot open"), (".", "")):
        p = onnxcc(*words, path)
        check(p.returncode in (1, 3) and says in p.stderr, f"--object {path}: {p.returncode} {p.stderr}")
    for i in range(0, len(good), max(1, len(good) // 300)):
        for name, damaged in (("short.o", good[:i]), ("flipped.o", good[:i] + bytes([good[i] ^ 0xff]) + good[i + 1:])):
            (WORK / name).write_bytes(damaged)
            p = onnxcc(*words, name)
            check(p.returncode in (0, 1) and (p.stderr + p.stdout).replace("\n", "").isprintable(), f"--object {name}, {i}: {p.returncode} {p.stderr}")


def size():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    model = parse_model("""<ir_version: 8, opset_import: ["":17]> g (float[1,3,12,12] v) => (float[1,40] z) {
        [conv] c = Conv(v, kernel)  [act] a = Relu(c)  [flat] f = Flatten(a)  [fc] m = MatMul(f, matrix)  [soft] z = Softmax(m) }""")
    rng = np.random.default_rng(0)
    model.graph.initializer.extend(numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), n)
                                   for n, s in (("kernel", (8, 3, 3, 3)), ("matrix", (800, 40))))
    onnx.save(model, WORK / "net.onnx")
    objects()
    command()
    refused()
