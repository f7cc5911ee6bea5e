"""Empty tensors in --target plain, which removes what is never computed: empty.py ONNXCC FOLDER EVERY TURN SUITE... - of the models of
these tests one of EVERY, others for every TURN, with open sizes: at most 0, all of them and each by itself. What onnxcc accepts must
compile without a warning. Prints failures, then "plain-empty: N passed, N failed"."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import onnx

from checks import check, counts

WARNINGS = "-std=c99 -pedantic-errors -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror -fsyntax-only".split()
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


def compile_empty(onnxcc, folder, file):
    """Compiles a model once for each size that is empty. [(passed, message)]."""
    model = onnx.load(file)
    sizes = opened(model)
    name = f"{file.parts[-4]}_{file.parts[-2]}"
    path, c = folder / f"{name}.onnx", folder / f"{name}.c"
    onnx.save(model, path)
    results = []
    for empty in [set(sizes)] * (len(sizes) > 1) + [{s} for s in sizes]:
        bounds = [word for s, n in sizes.items() for word in ("--dim", f"{s}<={0 if s in empty else n}")]
        p = run(onnxcc, "--target", "plain", path, "-o", c, *bounds)
        if p.returncode == 0:
            p = run("gcc", *WARNINGS, c)
            results.append((p.returncode == 0, f"{path}, {bounds}:\n{p.stderr[:800]}"))
        elif p.returncode not in (1, 2):
            results.append((False, f"{path}, {bounds}: exit {p.returncode}\n{p.stderr[:800]}"))
    for f in path, c, c.with_suffix(".h"):
        f.unlink(missing_ok=True)
    return results


def main(onnxcc, folder, every, turn, *suites):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = [f for s in suites for f in sorted(pathlib.Path(s).glob("node/*/model.onnx")) if f.stat().st_size <= LARGEST]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(lambda f: compile_empty(onnxcc, folder, f), files[int(turn) % int(every)::int(every)]):
            for good, message in results:
                check(good, message)
    print(f"plain-empty: {counts[True]} passed, {counts[False]} failed")
    return counts[False] > 0 or not counts[True]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
