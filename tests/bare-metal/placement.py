"""Sections of each model for its weights and arena: programs linked by the scripts of docs/embedding.md have in QEMU the results of
this machine, weights and arena are where the scripts place them, and the arena is not part of the image. Prints
"placement: N passed, N failed"."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

from checks import check, counts

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "machines"))
from table import MACHINES  # noqa: E402

BUILD = pathlib.Path(os.environ["B"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "bare-metal"
WORK = BUILD / "placement"
INCLUDE = f"-I{BUILD / 'include'}"
MACROS = ['-DKWS_WEIGHTS_SECTION=".kws_weights"', '-DKWS_ARENA_SECTION=".kws_arena"']
M4 = MACHINES["cortex-m4"]
FLASH, TCM, RAM, EXTERNAL = 0x0, 0x20000000, 0x20010000, 0x21000000
CHANNELS = 2

# The program prints a hash of the results of two models; the second has no sections of its own.
MAIN = """
#include <stdint.h>
#include "kws.h"
#include "vad.h"
#ifdef HOST
#include <stdio.h>
static void board_print(const char *s) { fputs(s, stdout); }
#else
#include "board.h"
#endif
DOCUMENTED
static float x[KWS_X_SIZE], y[KWS_Y_SIZE], z[VAD_Y_SIZE];
int main(void)
{
    uint32_t hash = 1;
    char text[10] = "";
    for (int i = 0; i < KWS_X_SIZE; i++)
        x[i] = (float)(i % 31 - 15) * 0.125f;
    for (int round = 0; round < 2; round++) {
        if (round ? kws_run_at(arena.kws, x, y) || vad_run_at(arena.vad, x, z) : kws_run(x, y) || vad_run(x, z))
            return 1;
        for (int i = 0; i < KWS_Y_SIZE; i++)
            hash = hash * 31 + (uint32_t)(int32_t)(y[i] * 65536.0f) * 7 + (uint32_t)(int32_t)(z[i] * 65536.0f);
    }
    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[hash >> (28 - 4 * i) & 15];
    text[8] = 10;
    board_print(text);
    return 0;
}
"""


def run(*command):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace")
    said = p.stdout + p.stderr     # QEMU prints a program's text to stderr
    return said if check(p.returncode == 0, f"{' '.join(map(str, command))}\n{said}") else ""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs" / "embedding.md").read_text(), re.M | re.S)


def scripts():
    """The two linker scripts of the document; its second one is the first with another line for .data, and none for .weights."""
    whole, data = blocks("ld")
    copied = re.sub(r"^ *\.data :.*\n", lambda _: data, re.sub(r"^ *\.weights :.*\n", "", whole, flags=re.M), flags=re.M)
    return {"external": whole, "copied": copied}


def model(path, seed):
    rng = np.random.default_rng(seed)
    held = {"w": rng.standard_normal((CHANNELS, 3, 3, 3)), "v": rng.standard_normal((CHANNELS * 256, 12)) / 64, "b": rng.standard_normal(12)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Flatten", ["r"], ["f"]), helper.make_node("Gemm", ["f", "v", "b"], ["y"])]
    shapes = [[helper.make_tensor_value_info(n, 1, s)] for n, s in (("x", (1, 3, 16, 16)), ("y", (1, 12)))]
    graph = helper.make_graph(nodes, "g", *shapes, [onnx.numpy_helper.from_array(x.astype(np.float32), n) for n, x in held.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def addresses(elf):
    """{symbol: (address, kind)}"""
    return {f[2]: (int(f[0], 16), f[1]) for f in map(str.split, run(M4.tool("nm"), elf).splitlines()) if len(f) == 3}


def sections(file):
    """{section: (type, bytes)}"""
    found = re.findall(r"^ *\[ *\d+\] (\S+) +(\w+) +\w+ \w+ (\w+)", run(M4.tool("readelf"), "-SW", file), re.M)
    return {name: (kind, int(n, 16)) for name, kind, n in found}


def emitted(name, where):
    folder = WORK / where
    folder.mkdir(parents=True, exist_ok=True)
    run(BUILD / "onnxcc", WORK / f"{name}.onnx", "-o", folder / f"{name}.c", "--prefix", name, f"--weights={where}")
    return folder / f"{name}.c"


def program(script, text, where, flags):
    """Builds and runs a program; returns its output."""
    name = f"{script}, {where}, {' '.join(flags)}"
    kws, vad = (emitted(n, where) for n in ("kws", "vad"))
    folder = kws.parent
    (folder / "script.ld").write_text(text)
    (folder / "main.c").write_text(MAIN.replace("DOCUMENTED", *blocks("c")))
    elf, kws_o = folder / "program.elf", folder / "kws.o"
    cc = [M4.tool("gcc"), *M4.flags, "-std=c99", "-ffunction-sections", "-fdata-sections", *flags, f"-I{SAMPLE}", f"-I{folder}", INCLUDE]
    if where == "incbin":   # with -flto the assembler does not search the folders of -I
        cc += [f'-D{n.upper()}_WEIGHTS_FILE="{folder / n}.c.weights"' for n in ("kws", "vad")]
    run(*cc, *MACROS, "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", kws, "-o", kws_o)
    run(*cc, kws_o, vad, folder / "main.c", SAMPLE / "startup.c", "-nostartfiles", "-T", folder / "script.ld", "-Wl,--gc-sections", "-o", elf)
    at = addresses(elf)
    check(TCM <= at["kws_arena"][0] < RAM, f"{name}: the arena of kws at {at['kws_arena'][0]:#x}")
    check(RAM <= at["vad_arena"][0] < EXTERNAL, f"{name}: the arena of vad at {at['vad_arena'][0]:#x}")
    found = sections(elf)
    weights = (CHANNELS * 27 + CHANNELS * 256 * 12 + 12) * 4
    if "-flto=auto" not in flags:
        own = sections(kws_o)
        check(own[".kws_arena"][0] == "NOBITS" and own.get(".data", ("", 0))[1] == 0, f"{name}: sections {own}")
        check(own[".kws_weights"][1] >= weights, f"{name}: {own['.kws_weights'][1]} bytes of weights")
    check(found[".arena"][0] == "NOBITS", f"{name}: the arena is {found['.arena'][0]}")
    image = folder / "image.bin"
    run(M4.tool("objcopy"), "-O", "binary", "--remove-section=.weights", elf, image)
    size = sum(n for s, (kind, n) in found.items() if s in (".text", ".data", ".ARM.exidx"))
    check(size <= image.stat().st_size <= size + 64, f"{name}: the image has {image.stat().st_size} bytes for {size}")
    if script == "external":
        check(found[".weights"][1] >= weights and found[".data"][1] == 0, f"{name}: sections {found}")
        constants = [s for s, (a, kind) in at.items() if s.startswith("kws_") and kind in "rR" and a < EXTERNAL and s != "kws_status"]
        check(not constants, f"{name}: constants in internal flash: {constants}")
    else:
        check(found[".data"][1] >= weights, f"{name}: sections {found}")
    return run(*M4.run, elf)


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(("kws", "vad")):
        model(WORK / f"{name}.onnx", seed)
    host = WORK / "host"
    kws, vad = (emitted(n, "inline") for n in ("kws", "vad"))
    (WORK / "main.c").write_text(MAIN.replace("DOCUMENTED", *blocks("c")))
    run("gcc", "-std=gnu99", "-O2", "-ffp-contract=off", "-DHOST", f"-I{kws.parent}", INCLUDE, kws, vad, WORK / "main.c", "-o", host)
    want = run(host)
    for script, text in scripts().items():
        for where in "inline", "incbin":
            for flags in ["-O2"], ["-Os"], ["-O2", "-flto=auto"]:
                got = program(script, text, where, flags)
                check(got == want and want, f"{script}, {where}, {flags}: {got}, here {want}")
    print(f"placement: {counts[True]} passed, {counts[False]} failed")
    raise SystemExit(bool(counts[False]))


main()
