"""The models of products.py as C on this processor, with vectors of every width: run.py [NAME...]. Prints what is wrong,
then "products: N passed, N failed"."""
import concurrent.futures
import ctypes
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

import products
from cache import kept

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "products"
# Flags, and what the processor must have; the numbers of floats and of pairs of bytes in a vector.
BUILDS = {
    "1, 1": (["-U__SSE2__"], ""),
    "1, 1, small": (["-U__SSE2__", "-DONNXCC_SMALL"], ""),
    "4, 4": ([], ""),
    "8, 1": (["-mavx"], "avx"),
    "8, 8": (["-march=x86-64-v3"], "avx2"),
    "16, 16": (["-march=x86-64-v4"], "avx512bw"),
}
GUARD = 256     # bytes around every output that must stay as they are
PROCESSOR = pathlib.Path("/proc/cpuinfo").read_text()


def guarded(y):
    """Room for y between guards: all of it, and the part for y, 64 bytes aligned plus one element."""
    room = np.full(y.nbytes + 2 * GUARD + 64, 0xA5, np.uint8)
    at = GUARD + (-room.ctypes.data - GUARD) % 64
    return room, at


def pointers(arrays):
    return [ctypes.c_void_p(a) for a in arrays]


def wrong(m, library, name):
    """What is not as it should be, in words: of the first such output."""
    if m.without and (found := re.search(m.without, (WORK / f"{name}.c").read_text())):
        return f"calls {found[0]}"
    rooms = [guarded(y) for y in m.outputs]
    inputs = [np.ascontiguousarray(x) for x in m.inputs]
    run = getattr(library, f"{name}_run")
    status = run(*pointers([x.ctypes.data for x in inputs] + [room.ctypes.data + at for room, at in rooms]))
    if status:
        return f"status {status}"
    for result, y, tolerance, (room, at) in zip(m.results, m.outputs, m.tolerance, rooms):
        got = room[at:at + y.nbytes].view(y.dtype).reshape(y.shape)
        if not np.allclose(got, y, rtol=0, atol=tolerance):
            return f"{result.name} of shape {y.shape}: {np.argwhere(~np.isclose(got, y, rtol=0, atol=tolerance))[0]} is another"
        if np.any(room[:at] != 0xA5) or np.any(room[at + y.nbytes:] != 0xA5):
            return f"{result.name} of shape {y.shape}: written outside"
    return None


def test(name, m, build):
    flags, needs = BUILDS[build]
    if needs and not re.search(rf"^flags.*\b{needs}\b", PROCESSOR, re.M):
        return None
    c, so = WORK / f"{name}.c", WORK / f"{name}-{build.replace(', ', '-')}.so"
    arguments = ["-std=c99", "-O0", "-w", *flags, "-fPIC", "-shared", f"-I{BUILD / 'include'}", c]
    with kept(so, ["gcc"], arguments, [c, c.with_suffix(".h"), *WORK.glob(f"{c.name}.weights")]) as before:
        if not before:
            subprocess.run(["gcc", *arguments, "-o", so], check=True)
    return wrong(m, ctypes.CDLL(str(so)), name) or ""


def emit(name, m):
    model, c = WORK / f"{name}.onnx", WORK / f"{name}.c"
    onnx.save(m.model, model)
    subprocess.run([BUILD / "onnxcc", model, "-o", c, "--prefix", name], check=True)


def main(names):
    WORK.mkdir(parents=True, exist_ok=True)
    models = {n: m for n, m in products.models().items() if not names or any(fnmatch.fnmatch(n, a) for a in names)}
    counts = {True: 0, False: 0}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(emit, models, models.values()))
        jobs = [(n, b, pool.submit(test, n, m, b)) for n, m in models.items() for b in BUILDS]
        for name, build, job in jobs:
            said = job.result()
            if said is not None:
                counts[not said] += 1
                if said:
                    print(f"FAIL {name}, vectors of {build}: {said}", flush=True)
    print(f"products: {counts[True]} passed, {counts[False]} failed")
    return counts[False] > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
