"""Shared by the tests of this folder."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONNXCC = pathlib.Path(os.environ["B"]).resolve() / "onnxcc"
HERE = pathlib.Path(os.environ["B"]).resolve() / "command"
count = {True: 0, False: 0}


def check(good, what):
    count[bool(good)] += 1
    if not good:
        print(f"FAIL {what}", flush=True)
    return good


def same(got, expected, what):
    return check(got == expected, f"{what}: {got}, not {expected}")


def onnxcc(*words, **more):
    return subprocess.run([ONNXCC, *words], cwd=HERE, capture_output=True, text=True, timeout=60, check=False, **more)


def result():
    print(f"command: {count[True]} passed, {count[False]} failed")
    return bool(count[False])
