"""Instructions per inference of MLPerf Tiny's four networks, in 8-bit integers and in float32, on small processors in QEMU:
instructions.py [CORE...] [TYPE...] [NETWORK...]

Outputs have the bits of the compiler's evaluator if the processor rounds as it does, and are within the models' tolerance of ONNX
Runtime's. figures.txt has the counts: 1 % more is a failure; UPDATE=1 writes the file. PROFILE=1 prints the functions with the most
instructions."""
import bisect
import collections
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "models"), str(HERE.parent / "machines")]
import fetch  # noqa: E402
from common import error_of, load_tensor, save_tensor  # noqa: E402
from table import MACHINES  # noqa: E402

BUILD = pathlib.Path(os.environ["B"]).resolve()
WORK = BUILD / "instructions"
BOARD = HERE.parent / "machines"
FIGURES = HERE / "figures.txt"
NETWORKS = {"image": "resnet8", "keyword": "ds_cnn", "wake-word": "mobilenet_v1", "anomaly": "autoencoder"}
TYPES = {"int8": "_qdq", "float32": ""}
CORES = ["riscv32", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33", "cortex-m7", "cortex-m55"]
CONVOLUTIONAL = list(NETWORKS)[:3]
FLOATS = ["cortex-m4", "cortex-m33", "cortex-m7", "cortex-m55"]
FUSED = ["cortex-m55"]      # fused multiply-adds in float32
WORSE = 1.01

MAIN = """#include <stdint.h>
#include <stdio.h>
#include "net.h"
#include "data.h"
static union {
    float y[OUTPUTS];
    uint32_t bits[OUTPUTS];
} out;
void count_begin(void);
void count_end(void);
void __attribute__((noipa)) count_begin(void) { __asm__ volatile(""); }
void __attribute__((noipa)) count_end(void) { __asm__ volatile(""); }
int main(void)
{
    count_begin();
    int status = net_run((const void *)x, (void *)out.y);
    count_end();
    if (status)
        return status;
    for (int i = 0; i < OUTPUTS; i++)
        printf("%lu\\n", (unsigned long)out.bits[i]);
    return 0;
}
"""


def run(*command):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if p.returncode:
        raise SystemExit(f"instructions: {' '.join(map(str, command))}\n{p.stdout}{p.stderr}")
    return p.stdout


def symbols(program, tool):
    """The program's functions: (sorted addresses, their names)."""
    rows = sorted((int(f[0], 16) & ~1, f[2]) for f in map(str.split, run(tool, program).splitlines()) if len(f) == 3 and f[1] in "tTwW"
                  and not f[2].startswith("$"))
    return [a for a, _ in rows], [n for _, n in rows]


def profile(blocks, addresses, names):
    """The number of instructions that ran in each function."""
    found = collections.Counter()
    for at, size, times in blocks:
        found[names[bisect.bisect(addresses, at) - 1]] += size * times
    return found


def build(folder, machine, model):
    """Builds the program of a model for a machine."""
    folder.mkdir(parents=True, exist_ok=True)
    x = load_tensor(model.folder / "test_data_set_0" / "input_0.pb")
    y = load_tensor(model.folder / "test_data_set_0" / "output_0.pb")
    numbers = ",".join(float(v).hex() for v in x.ravel())
    (folder / "data.h").write_text(f"enum {{ OUTPUTS = {y.size} }};\nstatic const float x[] = {{{numbers}}};\n")
    (folder / "main.c").write_text(MAIN)
    target = ["--target", machine.target] if machine.target else []
    run(BUILD / "onnxcc", model.folder / "model.onnx", "-o", folder / "net.c", "--prefix", "net", *target)
    flags = [*machine.flags, "-std=c99", "-O2", f"-I{BUILD / 'include'}"]
    cc = machine.tool("gcc")
    run(cc, *flags, *machine.board, "-ffunction-sections", "-Wl,--gc-sections", *(folder / n for n in ("net.c", "main.c")),
        BOARD / "board.c", "-o", folder / "net.elf")
    return folder / "net.elf"


def count(folder, machine, program):
    """(the outputs, instructions by function)"""
    addresses, names = symbols(program, machine.tool("nm"))
    begin, end = (addresses[names.index(n)] for n in ("count_begin", "count_end"))
    plugin = f"{WORK / 'count.so'},begin={begin:#x},end={end:#x},out={folder / 'blocks'}"
    text = run(*machine.run[:-1], "-plugin", plugin, machine.run[-1], program)
    blocks = [(int(a, 16), int(n), int(t)) for a, n, t in map(str.split, (folder / "blocks").read_text().splitlines())]
    return np.array(list(map(int, text.split())), np.uint32).view(np.float32), profile(blocks, addresses, names)


def evaluated(name, model, y):
    """Does the compiler's evaluator compute exactly y? Decided by a test in the form of the official ones, without tolerance."""
    test = WORK / "evaluated" / name / "node" / name
    (test / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    for file in "model.onnx", "test_data_set_0/input_0.pb":
        (test / file).unlink(missing_ok=True)
        (test / file).symlink_to(model.folder / file)
    want = model.folder / "test_data_set_0" / "output_0.pb"
    save_tensor(y.reshape(load_tensor(want).shape), test / "test_data_set_0" / "output_0.pb", onnx.load_tensor(str(want)).name)
    (WORK / "work").mkdir(exist_ok=True)
    for file in "rtol", "atol":
        (test / file).write_text("0\n")
    p = subprocess.run([BUILD / "suite" / "run", "--own", "evaluated", "--ways", "e", "--build", WORK / "work" / name, "--include",
                        BUILD / "include", test.parents[1]], capture_output=True, text=True, check=False)
    return "" if p.returncode == 0 and "1 passed, 0 failed" in p.stdout else p.stdout + p.stderr


def known():
    """{(core, type): {network: instructions}}"""
    rows = [line.split() for line in FIGURES.read_text().splitlines() if line and line[0] != "#"] if FIGURES.exists() else []
    return {tuple(r[:2]): dict(zip(NETWORKS, map(int, r[2:6]))) for r in rows}


def line(title, row, macs):
    """A row of the table: instructions of each network; instructions per multiplication of each, and of the convolutional ones together."""
    each = [f"{row[n] / macs[n]:.3f}" if row.get(n) else "-" for n in NETWORKS]
    if all(row.get(n) for n in CONVOLUTIONAL):
        each.append(f"{sum(row[n] for n in CONVOLUTIONAL) / sum(macs[n] for n in CONVOLUTIONAL):.3f}")
    return f"{title:23}" + "".join(f"{row.get(n, 0):11}" for n in NETWORKS) + " " + "".join(f"{e:>8}" for e in each)


def write(figures, macs):
    text = "# Instructions per inference; per multiplication of each network, and of the first three together. By `make test-instructions UPDATE=1`.\n"
    text += f"#{'':22}" + "".join(f"{n:>11}" for n in NETWORKS) + "\n"
    text += "# multiplications      " + "".join(f"{macs[n]:11}" for n in NETWORKS) + "\n"
    FIGURES.write_text(text + "".join(line(f"{c:14} {t}", r, macs) + "\n" for (c, t), r in sorted(figures.items(), key=order)))


def order(item):
    core, kind = item[0]
    return list(TYPES).index(kind), CORES.index(core)


def multiplications(model):
    text = run(BUILD / "onnxcc", model.folder / "model.onnx", "-o", WORK / "macs.c", "--report")
    return int(re.search(r"\bmacs=(\d+)", text)[1])


def one(core, kind, network, model):
    """(instructions, what is wrong)"""
    machine = MACHINES[core]
    folder = WORK / core / model.name
    y, functions = count(folder, machine, build(folder, machine, model))
    if "PROFILE" in os.environ:
        for f, n in functions.most_common(12):
            print(f"    {core} {kind} {network}: {n:10} {f}")
    wrong = "" if kind == "float32" and core in FUSED else evaluated(f"{core}-{model.name}", model, y)
    want = load_tensor(model.folder / "test_data_set_0" / "output_0.pb")
    if error_of(y.reshape(want.shape), want) > model.tolerance:
        wrong += "other numbers than ONNX Runtime's"
    return sum(functions.values()), wrong


def scaled():
    """What is wrong with requantisation in integers, by 64-bit and by 32-bit products."""
    found = []
    for narrow in 0, 1:
        program = WORK / f"scaled{narrow}"
        run("gcc", "-O2", f"-DMICRO_NARROW={narrow}", f"-I{HERE.parents[1] / 'runtime-min'}", HERE / "scaled.c", "-o", program)
        p = subprocess.run([program], capture_output=True, text=True, check=False)
        found += [f"FAILED requantisation in integers, MICRO_NARROW={narrow}: {p.stdout}"] if p.returncode else []
    return found


def main(*chosen):
    WORK.mkdir(parents=True, exist_ok=True)
    run("gcc", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", HERE / "count.c", "-o", WORK / "count.so")
    models = {m.name: m for m in fetch.fetch([n + t for n in NETWORKS.values() for t in TYPES.values()])}
    macs = {n: multiplications(models[name]) for n, name in NETWORKS.items()}
    before, figures, failures = known(), known(), scaled()
    passed = int(not failures)

    def some(names):
        return [n for n in names if n in chosen] or names

    print(f"{'':23}" + "".join(f"{n:>11}" for n in NETWORKS))
    for kind, core in ((k, c) for k in some(list(TYPES)) for c in some(CORES) if k == "int8" or c in FLOATS):
        row = figures.setdefault((core, kind), {})
        for network in some(list(NETWORKS)):
            row[network], wrong = one(core, kind, network, models[NETWORKS[network] + TYPES[kind]])
            most = before.get((core, kind), {}).get(network, 0)
            if row[network] > most * WORSE and "UPDATE" not in os.environ:
                wrong += f"{row[network]} instructions, more than {most} and one in a hundred"
            failures += [f"FAILED {core}, {kind}, {network}: {wrong}"] if wrong else []
            passed += not wrong
        print(line(f"{core:14} {kind}", row, macs), flush=True)
    if "UPDATE" in os.environ:
        write(figures, macs)
    for f in failures:
        print(f)
    print(f"instructions: {passed} passed, {len(failures)} failed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
