"""Compiles and runs real models and compares with ONNX Runtime: run.py EVERY TURN [NAME...], shell patterns allowed. Without names, one
of EVERY models; TURN selects which.

Prints a line per model: the largest error divided by the output's largest value, milliseconds of a call, arena and its lower
bound in bytes, bytes of stack by gcc's figures and the report's bound, seconds of onnxcc and of the C compiler. Then the counts.
TARGET: x86-64-v3 unless it is set."""
import concurrent.futures
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx

import fetch
from common import TABLE, error_of, load_tensor
from compiled import Compiled, Failed, processor_has

POISON, MARGIN = 0xA5, 64


class Caller:
    """Calls the shared object with numpy arrays."""

    def __init__(self, so, sizes, free):
        """sizes: for each size of the interface, whether the caller sets it; free: the (input, axis) of those that it sets."""
        self.call = ctypes.CDLL(str(so)).shim_run
        self.sizes, self.free = sizes, free

    def __call__(self, ins, wants):
        """(outputs in the form of `wants`, time of the call); buffers are poisoned and guarded."""
        ins = [np.ascontiguousarray(x) for x in ins]
        bufs = [np.full(w.nbytes + 2 * MARGIN, POISON, np.uint8) for w in wants]
        pointers = [x.ctypes.data for x in ins] + [b.ctypes.data + MARGIN for b in bufs]
        if self.sizes:
            known = iter([ins[i].shape[axis] for i, axis in self.free])
            size = np.array([next(known) if ours else 0 for ours in self.sizes], np.int64)
            pointers.append(size.ctypes.data)
        array = (ctypes.c_void_p * len(pointers))(*pointers)
        start = time.perf_counter()
        status = self.call(array)
        took = time.perf_counter() - start
        if status:
            raise Failed("run", f"status {status}")
        for b in bufs:
            if not ((b[:MARGIN] == POISON).all() and (b[-MARGIN:] == POISON).all()):
                raise Failed("run", "wrote beside an output")
        return [b[MARGIN:-MARGIN].view(w.dtype).reshape(w.shape) for b, w in zip(bufs, wants)], took


def compare(got, wants):
    for g, w in zip(got, wants):
        if w.dtype.kind in "biu" and not np.array_equal(g, w):
            return np.inf
    return max(error_of(g, w) for g, w in zip(got, wants))


def data_sets(m, about, call):
    worst, fastest = 0.0, np.inf
    for folder in sorted(m.folder.glob("test_data_set_*")):
        ins = [load_tensor(folder / f"input_{i}.pb") for i, n in enumerate(about["inputs"]) if n not in m.const]
        wants = [load_tensor(folder / f"output_{i}.pb") for i in range(len(about["outputs"]))]
        got, took = call(ins, wants)
        worst = max(worst, compare(got, wants))
        again, took2 = call(ins, wants)
        if any(a.tobytes() != b.tobytes() for a, b in zip(got, again)):
            raise Failed("run", "a second call gives other bits")
        fastest = min(fastest, took, took2)
    return worst, fastest


def stream(m, about, call):
    """Makes the calls of stream.npz, passes the state from call to call, and compares every output."""
    z = np.load(m.folder / "stream.npz")
    fed, state = ({k.split(":")[1]: z[k] for k in z if k.startswith(kind)} for kind in ("feed:", "state:"))
    fixed = {k.split(":")[1]: z[k] for k in z if k.startswith("fixed:")}
    source = {k: about["outputs"].index(str(z[f"from:{k}"])) for k in state}
    calls = len(next(iter(fed.values())))
    wants = [None] * len(about["outputs"])
    for i, n in enumerate(about["outputs"]):
        wants[i] = z[f"want:{n}"] if f"want:{n}" in z else None
    worst = 0.0
    for c in range(calls):
        now = {k: v[c] for k, v in fed.items()} | state | fixed
        ins = [now[n] for n in about["inputs"] if n not in m.const]
        shapes = [w[c] if w is not None else next(state[k] for k, s in source.items() if s == i) for i, w in enumerate(wants)]
        got, _ = call(ins, shapes)
        worst = max([worst] + [float(np.abs(g - w[c]).max()) for g, w in zip(got, wants) if w is not None])
        state = {k: got[s] for k, s in source.items()}
    return max([worst] + [error_of(state[k], z[f"final:{k}"]) for k in state])


def free_dims(m, about):
    """(input, axis) of the first place of each dimension that the options leave to the call, in the order of the inputs."""
    bounded = {o.split("<=")[0] for o in m.options if "<=" in o}
    found = {}
    graph = onnx.load(m.folder / "model.onnx", load_external_data=False).graph
    for i, x in enumerate([x for x in graph.input if x.name in about["inputs"] and x.name not in m.const]):
        for axis, d in enumerate(x.type.tensor_type.shape.dim):
            if d.dim_param in bounded:
                found.setdefault(d.dim_param, (i, axis))
    return list(found.values())


def one(name):
    """In a process of its own: compiles a model, runs it, prints its line."""
    fetch.load_table()
    m = TABLE[name]
    about = json.loads((m.folder / "model.json").read_text())
    target = os.environ.get("TARGET", "x86-64-v3" if processor_has("x86-64-v3") else "generic")
    try:
        c = Compiled(m, target, os.environ.get("OPTIMISE", "-O2"))
        call = Caller(c.so, c.sizes(), free_dims(m, about) if any(c.sizes()) else [])
        error, took = data_sets(m, about, call)
        if (m.folder / "stream.npz").exists():
            error = max(error, stream(m, about, call))
        if not error <= m.tolerance:
            raise Failed("values", f"error {error:.2g}, allowed {m.tolerance:.2g}")
        if c.stack() > c.number("stack"):
            raise Failed("stack", f"{c.stack()} bytes, more than the {c.number('stack')} of the report")
    except Failed as f:
        step, said = f.args
        print(f"FAIL {name:26} {step}: {said}")
        return 1
    print(f"ok   {name:26} error {error:8.1e}  {1e3 * took:9.3f} ms  arena {c.number('arena')} of {c.number('arena_bound')}"
          f"  stack {c.stack()} of {c.number('stack')}"
          f"  onnxcc {c.seconds:.1f} s  cc {c.cc_seconds:.1f} s")
    return 0


def known_failures():
    """The models in the lines "models/NAME  reason" of known.txt, which must fail."""
    lines = (pathlib.Path(__file__).parents[1] / "known.txt").read_text().splitlines()
    return {line.split()[0][len("models/"):] for line in lines if line.startswith("models/")}


def main(every, turn, *names):
    models = fetch.fetch(names, part=slice(None) if names else slice(int(turn) % int(every), None, int(every)))
    known = known_failures()

    def start(m):
        p = subprocess.run([sys.executable, __file__, "--one", m.name], capture_output=True, text=True)
        said = p.stdout.strip() or f"FAIL {m.name:26} run: ended with {p.returncode} {p.stderr.strip()[-300:]}"
        lines = said.splitlines()
        if m.name in known:
            lines[0] = "known " + lines[0] if p.returncode else f"FAIL {m.name:26} passes now: take it out of tests/known.txt"
        print("\n".join(lines if names else lines[:6]), flush=True)
        return (p.returncode == 0) != (m.name in known)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(start, models))
    print(f"models: {sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(one(sys.argv[2]) if sys.argv[1:2] == ["--one"] else main(*sys.argv[1:]))
