"""bytes.py ONNXCC (OTHER EVERY)... [--turn N] - the same bytes and messages from ONNXCC and each OTHER build of onnxcc, on one of every
EVERY official models (N selects which), with its inputs open and with the test's data as constants. Builds may differ in the order of
evaluation of arguments, in the sign of char, and in rounding. Prints differences, then "bytes: N passed, N failed"."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import tempfile

import onnx

CACHE = pathlib.Path(os.environ["CACHE"])


def constants(model):
    """Options that make every input of the model constant, with the test's data; none if an input is no tensor."""
    inputs = onnx.load(model, load_external_data=False).graph.input
    files = [model.parent / "test_data_set_0" / f"input_{i}.pb" for i in range(len(inputs))]
    if not inputs or not all(v.type.HasField("tensor_type") and f.exists() for v, f in zip(inputs, files)):
        return []
    return [f"--const={v.name}={f}" for v, f in zip(inputs, files)]


def emitted(onnxcc, model, options):
    """A hash of the messages and files."""
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run([*onnxcc.split(), model, "-o", pathlib.Path(folder) / "m.c", *options], capture_output=True, timeout=600)
        digest = hashlib.sha256(p.returncode.to_bytes(2, "big", signed=True) + p.stderr.replace(folder.encode(), b""))
        for file in sorted(pathlib.Path(folder).iterdir()):
            digest.update(file.name.encode() + file.read_bytes())
        return digest.digest()


def same(first, other, model):
    """The number of comparisons, and those that differ."""
    ways = {"": [], " with constants": constants(model)}
    tried = [way for way, options in ways.items() if options or not way]
    return len(tried), [way for way in tried if emitted(first, model, ways[way]) != emitted(other, model, ways[way])]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("first")
    p.add_argument("others", nargs="+")
    p.add_argument("--turn", type=int, default=0)
    a = p.parse_args()
    models = sorted((CACHE / "suite").resolve().glob("*/*/model.onnx"))
    # The image formats that need libraries are only in builds for this machine.
    models = [m for m in models if "image_decoder" not in m.parent.name]
    passed = failed = 0
    for other, every in zip(a.others[::2], map(int, a.others[1::2])):
        chosen = models[a.turn % every::every]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for model, (n, ways) in zip(chosen, pool.map(lambda m: same(a.first, other, m), chosen)):
                passed += n - len(ways)
                failed += len(ways)
                for way in ways:
                    print(f"FAIL {model.parent.name}{way}: other bytes from {other}")
    print(f"bytes: {passed} passed, {failed or not passed:d} failed")
    return failed or not passed


if __name__ == "__main__":
    raise SystemExit(bool(main()))
