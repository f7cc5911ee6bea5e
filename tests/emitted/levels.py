"""levels.py SUITE [--every N] [--turn T] [--all] [NAME...] - emitted code at each level of gcc, for x86-64 and for the Cortex-M4: at the levels
for debuggers, -O0 and -Og, the code is at most four times and the stack at most three times that of -O2; at no level does the stack
exceed the bound in the header. Models: those of models.py, a network, and one of N of the official tests of operators. A third of them
are compiled, each for one machine; with --all, and if models are named, all for both. T selects which, and for which machine. Prints
failures, then "levels: N passed, N failed".

-O2 removes most of a kernel whose sizes are constant. If four times the code of -O2, or three times its stack, is less than what kernels
take at the levels for debuggers, KERNELS is the limit: one for networks, and a larger one for the official tests of operators, of which a
function may expand to five kernels."""
import argparse
import concurrent.futures
import fnmatch
import math
import os
import pathlib
import re
import subprocess

import onnx

from cache import kept
from models import TABLE
from stack import M4, deepest

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "levels"
MACHINES = {"generic": "gcc", "cortex-m4": M4}
DEBUGGED, LEVELS = ("-O0", "-Og"), ("-O0", "-Og", "-O1", "-O2", "-O3", "-Os", "-Oz")
KERNELS = {"network": (20480, 2048), "operator": (28672, 4096)}    # bytes of code and stack of the kernels at the levels for debuggers
NETWORKS = ["light_squeezenet"]


def emitted(model, options, name, target):
    c = WORK / target / name / "m.c"
    c.parent.mkdir(parents=True, exist_ok=True)
    p = subprocess.run([BUILD / "onnxcc", model, "-o", c, "--prefix", "m", "--target", target, *options], capture_output=True,
                       text=True, timeout=600)
    return (c, None) if p.returncode == 0 else (None, p.stderr)


def compiled(c, cc, level):
    """Bytes of code, and of stack at the deepest call; infinite, if nothing bounds it."""
    o = c.with_suffix(f".{level.replace(' ', '')}.o")
    compiler, *flags = *cc.split(), "-std=c99", *level.split(), "-fcallgraph-info=su", f"-I{BUILD / 'include'}"
    with kept(o, [compiler], flags, [c, c.with_suffix(".h")]) as before:
        if not before:
            subprocess.run([compiler, *flags, "-c", c, "-o", o], check=True, timeout=600, env=dict(os.environ, CCACHE_DISABLE="1"))
    sizes = subprocess.run(["size", "-A", o], capture_output=True, text=True, check=True).stdout
    sections = re.findall(r"^\.text\S*\s+(\d+)", sizes, re.M)
    calls = o.with_suffix(".ci")
    return sum(map(int, sections)), math.inf if "(dynamic)" in calls.read_text() else max(deepest(calls).values())


def wrong(model, options, name, target):
    """(a list of what is wrong, whether onnxcc compiles the model)"""
    c, message = emitted(model, options, name, target)
    if message:
        return [] if name.startswith("test_") else [message], False
    found = {level: compiled(c, MACHINES[target], level) for level in LEVELS}
    promised = int(re.search(r"_STACK_BYTES (\d+)", c.with_suffix(".h").read_text())[1])
    text, stack = found["-O2"]
    kernels_text, kernels_stack = KERNELS["operator" if name.startswith("test_") else "network"]
    bad = [f"{level}: {n} bytes of text, {text} at -O2" for level in DEBUGGED for n, _ in [found[level]] if n > max(4 * text, kernels_text)]
    bad += [f"{level}: {n} bytes of stack, {stack} at -O2" for level in DEBUGGED for _, n in [found[level]]
            if n > max(3 * stack, kernels_stack)]
    bad += [f"{level}: {n} bytes of stack, more than the {promised} of the header" for level, (_, n) in found.items() if n > promised]
    return bad, True


def models(a):
    for n, (m, options, _) in TABLE.items():
        onnx.save(m, str(WORK / f"{n}.onnx"))
        yield WORK / f"{n}.onnx", options, n
    for n in NETWORKS:
        yield a.suite / "light" / n / "model.onnx", [], n
    for m in sorted(a.suite.glob("node/*/model.onnx"))[a.turn % a.every::a.every]:
        yield m, [], m.parent.name


def main():
    p = argparse.ArgumentParser()
    p.add_argument("suite", type=lambda folder: pathlib.Path(folder).resolve())
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--turn", type=int, default=0)
    p.add_argument("--all", action="store_true")
    p.add_argument("names", nargs="*")
    a = p.parse_intermixed_args()
    WORK.mkdir(parents=True, exist_ok=True)
    some = [m for m in models(a) if any(fnmatch.fnmatch(m[2], n) for n in a.names or "*")]
    todo = [(*m, target) for i, m in enumerate(some) for k, target in enumerate(MACHINES) if a.all or a.names or (i + a.turn) % 6 == k]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda x: wrong(*x), todo))
    for (_, _, name, target), (bad, _) in zip(todo, results):
        for what in bad:
            print(f"FAIL {name}, {target}: {what}")
    failed = sum(bool(bad) for bad, _ in results)
    passed = sum(taken and not bad for bad, taken in results)
    print(f"levels: {passed} passed, {failed or not passed:d} failed")
    return failed or not passed


if __name__ == "__main__":
    raise SystemExit(bool(main()))
