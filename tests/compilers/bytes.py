"""bytes.py ONNXCC OTHER... - the same bytes and messages from every build of onnxcc, on all official models: C
compilers differ in the order in which they evaluate arguments, and in the sign of char. Prints what
differs, then "bytes: N passed, N failed"."""
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

CACHE = pathlib.Path(os.environ["CACHE"])


def emitted(onnxcc, model):
    """What it says and writes, as one number."""
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run([onnxcc, model, "-o", pathlib.Path(folder) / "m.c"], capture_output=True, timeout=300)
        digest = hashlib.sha256(p.returncode.to_bytes(2, "big", signed=True) + p.stderr.replace(folder.encode(), b""))
        for file in sorted(pathlib.Path(folder).iterdir()):
            digest.update(file.name.encode() + file.read_bytes())
        return digest.digest()


def same(model, builds):
    first, *others = (emitted(b, model) for b in builds)
    return [b for b, o in zip(builds[1:], others) if o != first]


def main():
    builds = [os.path.abspath(b) for b in sys.argv[1:]]
    models = sorted(CACHE.glob("suite/*/*/model.onnx"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda m: same(m, builds), models))
    for model, others in zip(models, results):
        for b in others:
            print(f"FAIL {model.parent.name}: other bytes from {b}")
    failed = sum(map(bool, results))
    print(f"bytes: {len(models) - failed} passed, {failed or not models:d} failed")
    return failed or not models


if __name__ == "__main__":
    raise SystemExit(bool(main()))
