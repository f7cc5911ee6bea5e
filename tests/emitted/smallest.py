"""The smallest sizes: smallest.py ONNXCC INCLUDE FOLDER EVERY TURN SUITE... - of the models of these tests one of EVERY, others for every
TURN, with open sizes: of which all, and each by itself, are 0 or 1, or at most that, for plain C, with kernels, and for ints of 16 bits;
each of these twelve in EVERY * 12 turns. What onnxcc accepts must compile without a warning. Prints failures, then "smallest: N passed, N
failed"."""
import concurrent.futures
import itertools
import os
import pathlib
import subprocess
import sys

import onnx

from checks import check, counts

STRICT = "gcc -std=c99 -pedantic-errors -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror -fsyntax-only".split()
NARROW = "avr-gcc -mmcu=atmega2560 -std=gnu99 -Wall -Wextra -Werror -Wno-incompatible-pointer-types -fsyntax-only".split()     # gcc 5
COMPILERS = {"plain": STRICT, "generic": STRICT, "avr": NARROW}
WAYS = list(itertools.product(COMPILERS, ("<=1", "=1", "<=0", "=0")))
DOUBLES = "_double_has_64_bits"     # an array that does not compile where a double is narrower, as with gcc 5 for AVR
LARGEST = 300_000   # bytes of a model: those of networks take long, and have no other operators


def opened(model):
    """The sizes of a model's inputs, {name: the former size}, once each has a name of its own; the outputs' are no longer declared."""
    constants = {c.name for c in model.graph.initializer}
    sizes = {}
    for value in model.graph.input:
        if value.name not in constants and value.type.HasField("tensor_type"):
            for d in value.type.tensor_type.shape.dim:
                size = d.dim_value or 9
                d.dim_param = f"size{len(sizes)}"
                sizes[d.dim_param] = size
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return sizes


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=300, check=False)


def compile_small(onnxcc, include, folder, file, target, small):
    """Compiles a model once for each size that is small. [(passed, message)]."""
    model = onnx.load(file)
    sizes = opened(model)
    name = f"{file.parts[-4]}_{file.parts[-2]}"
    path, c = folder / f"{name}.onnx", folder / f"{name}.c"
    onnx.save(model, path)
    results = []
    for chosen in [set(sizes)] * (len(sizes) > 1) + [{s} for s in sizes]:
        bounds = [word for s, n in sizes.items() for word in ("--dim", f"{s}{small if s in chosen else f'<={n}'}")]
        p = run(onnxcc, "--target", target, path, "-o", c, *bounds)
        if p.returncode == 0:
            p = run(*COMPILERS[target], "-I", include, c)
            narrow = target == "avr" and DOUBLES in c.with_suffix(".h").read_text()
            good = DOUBLES in p.stderr if narrow else p.returncode == 0
            results.append((good, f"{path}, {target}, {bounds}:\n{p.stderr[:800]}"))
        elif p.returncode not in (1, 2):
            results.append((False, f"{path}, {target}, {bounds}: exit {p.returncode}\n{p.stderr[:800]}"))
    for f in folder.glob(f"{name}.*"):
        f.unlink()
    return results


def main(onnxcc, include, folder, every, turn, *suites):
    folder, every, turn = pathlib.Path(folder), int(every), int(turn)
    folder.mkdir(parents=True, exist_ok=True)
    files = [f for s in suites for f in sorted(pathlib.Path(s).glob("node/*/model.onnx")) if f.stat().st_size <= LARGEST]
    ways = itertools.cycle(WAYS[turn // every % len(WAYS):] + WAYS[:turn // every % len(WAYS)])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(lambda f, way: compile_small(onnxcc, include, folder, f, *way), files[turn % every::every], ways):
            for good, message in results:
                check(good, message)
    print(f"smallest: {counts[True]} passed, {counts[False]} failed")
    return counts[False] > 0 or not counts[True]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
