"""Bytes that MLPerf Tiny's four networks in 8-bit integers need on Cortex-M processors: the arena, beside its lower bound; the code of
the keyword spotter; nothing in .data. A model of integers alone has no float kernels. Prints "footprint: N passed, N failed"."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "models"), str(HERE.parent / "machines")]
import fetch  # noqa: E402
from checks import check, counts  # noqa: E402
from table import MACHINES  # noqa: E402

BUILD = pathlib.Path(os.environ["B"]).resolve()
WORK = BUILD / "footprint"
# Model -> its arena's lower bound: the largest sum of 8-bit tensors that are alive together, if results may overwrite inputs.
NETWORKS = {"resnet8_qdq": 49152, "ds_cnn_qdq": 16000, "mobilenet_v1_qdq": 55296, "autoencoder_qdq": 768}
MORE = 2048             # bytes that kernels may take beside that
TEXT = {"-Os": 8 * 1024, "-O2": 9 * 1024}
INTEGERS = ["--from", "input_QuantizeLinear_Output", "--until", "/fc/Gemm_out_QuantizeLinear_Output"]


def run(*command):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    return p.stdout if check(p.returncode == 0, f"{' '.join(map(str, command))}\n{p.stdout}{p.stderr}") else ""


def emitted(model, core, *options):
    folder = WORK / core / f"{model.name}{len(options)}"
    folder.mkdir(parents=True, exist_ok=True)
    run(BUILD / "onnxcc", model.folder / "model.onnx", "-o", folder / "net.c", "--prefix", "net", "--target", core, "--weights=inline", *options)
    return folder / "net.c"


def sizes(c, core, level):
    """{section: bytes}"""
    machine, o = MACHINES[core], c.with_suffix(f".{level}.o")
    run(machine.tool("gcc"), *machine.flags, "-std=c99", level, f"-I{BUILD / 'include'}", "-c", c, "-o", o)
    return {s: int(n) for s, n in re.findall(r"^(\.\S+) +(\d+)", run(machine.tool("size"), "-A", o), re.M)}


def text(sections):
    return sum(n for s, n in sections.items() if s.startswith((".text", ".rodata.str")))


def main():
    models = {m.name: m for m in fetch.fetch(list(NETWORKS))}
    for core in (m for m in MACHINES if m.startswith("cortex-m")):
        for name, bound in NETWORKS.items():
            c = emitted(models[name], core)
            arena = int(re.search(r"_ARENA_BYTES (\d+)", c.with_suffix(".h").read_text())[1])
            check(arena <= bound + MORE, f"{core}, {name}: an arena of {arena} bytes, {bound} of tensors")
            print(f"{core:12}{name:18} arena {arena:6} of {bound:6} + {MORE}", end="")
            if core == "cortex-m4":
                for level, limit in TEXT.items():
                    s = sizes(c, core, level)
                    check(s[".data"] == 0, f"{name}, {level}: {s['.data']} bytes of .data")
                    check(name != "ds_cnn_qdq" or text(s) <= limit, f"{name}, {level}: {text(s)} bytes of text, more than {limit}")
                    print(f", text {text(s)} at {level}", end="")
            print()
    whole = emitted(models["ds_cnn_qdq"], "cortex-m4", *INTEGERS)
    floats = set(re.findall(r"\b[a-z]\w*_f32\w*(?=\()|^#define [TU] f32$", whole.read_text(), re.M))
    check(not floats, f"a model of integers has {floats}")
    check(all(text(sizes(whole, "cortex-m4", level)) <= limit for level, limit in TEXT.items()), "a model of integers has more text")
    print(f"footprint: {counts[True]} passed, {counts[False]} failed")
    return bool(counts[False])


if __name__ == "__main__":
    sys.exit(main())
