"""The emitted C of a training model as a Python object: reset, init, step, run, save, load, and its state as arrays."""
import ctypes
import functools
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import onnx

ONNXCC = os.path.join(os.path.abspath(os.environ.get("B", "build")), "onnxcc")

TYPES = {"float": np.float32, "double": np.float64}


def dtype(name):
    return np.dtype(TYPES.get(name) or name.removesuffix("_t"))


class Learner:
    """lib: the compiled C; h: its header; p: the prefix. Instances share the code, not the state."""

    def __init__(self, lib, h, p="m"):
        self.lib, self.p, self.u = lib, p, p.upper()
        self.macros = {k: v.strip() for k, v in re.findall(rf"^#define {self.u}_(\w+) (.*?)(?:/\*.*)?$", h, flags=re.M)}
        self.entries = {name: [(bool(const), kind, v) for const, kind, v in re.findall(r"(const )?(?:struct )?(\w+) \*(\w+)", rest)]
                        for name, rest in re.findall(rf"^int {p}_(\w+)\((?:const )?struct {p}_state \*state(.*?)\);", h, flags=re.M | re.S)}
        self.statuses = {k: int(v) for k, v in re.findall(rf"{self.u}_(\w+) = (\d+)", re.search(r"enum \{(.*?)\};", h)[1])}
        self.seeded = bool(re.search(rf"^int {p}_reset\([^;]*seed\);", h, flags=re.M))
        self.sizes_fields = re.findall(r"^    int64_t (\w+); /\*", h, flags=re.M)
        self.fields, at = {}, 0
        for kind, name, n in re.findall(r"^    (\w+(?: char)?) (\w+)\[(\d+)\];", re.search(rf"struct {p}_state \{{(.*?)\n\}};", h, flags=re.S)[1], flags=re.M):
            kind = np.dtype(np.uint8) if " " in kind else dtype(kind)
            self.fields[name] = (kind, at, int(n))
            at += kind.itemsize * int(n)
        self.bytes = np.full(int(self.macros["STATE_BYTES"]) + 8, 0xAB, np.uint8)[:int(self.macros["STATE_BYTES"])]

    def twin(self):
        """Another instance."""
        other = Learner.__new__(Learner)
        other.__dict__.update(self.__dict__)
        other.bytes = self.bytes.copy()
        return other

    def __getattr__(self, name):
        """A state variable as a flat array."""
        kind, at, n = self.__dict__["fields"][name]
        return self.bytes[at:at + kind.itemsize * n].view(kind)

    @property
    def state(self):
        return self.bytes.ctypes.data

    def call(self, function, *order, sizes=None, **given):
        """(status, {output: array})"""
        parameters = self.entries[function]
        sizes = {} if sizes is None else sizes
        given.update(zip([name for const, _, name in parameters if const], order))
        room = (ctypes.c_int64 * (len(self.sizes_fields) + 1))(*[sizes.get(f, 0) for f in self.sizes_fields])
        actual, results, keep = [ctypes.c_void_p(self.state)], {}, []
        for const, kind, name in parameters:
            if kind == f"{self.p}_sizes":
                actual.append(ctypes.byref(room))
            elif const:
                keep.append(None if given[name] is None else np.ascontiguousarray(given[name], dtype(kind)))
                actual.append(ctypes.c_void_p(None if keep[-1] is None else keep[-1].ctypes.data))
            else:
                shape = eval(self.macros[name.upper() + "_DIMS"].replace("{", "[").replace("}", "]"))
                results[name] = np.zeros(shape if int(self.macros[name.upper() + "_RANK"]) else (), dtype(kind))
                actual.append(ctypes.c_void_p(results[name].ctypes.data))
        status = getattr(self.lib, f"{self.p}_{function}")(*actual)
        sizes.update(zip(self.sizes_fields, room))
        for name, y in results.items():
            now = [sizes.get(f"{name}_dim{i}", n) for i, n in enumerate(y.shape)]
            results[name] = y.ravel()[:int(np.prod(now))].reshape(now) if now != list(y.shape) else y
        return status, results

    def ok(self, function, *order, **given):
        status, results = self.call(function, *order, **given)
        assert status == 0, f"{function} returns {status}"
        return results

    def reset(self, seed=None):
        seeds = [ctypes.c_uint64(seed or 0)] if self.seeded else []
        assert getattr(self.lib, f"{self.p}_reset")(ctypes.c_void_p(self.state), *seeds) == 0
        return self

    def init(self, **given):
        self.ok("init", **given)
        return self

    def step(self, *order, k=0, **given):
        return self.ok(f"step_{k}", *order, **given)

    def run(self, *order, **given):
        before = self.bytes.copy()
        results = self.ok("run", *order, **given)
        assert (before == self.bytes).all(), "run changes the state"
        return results

    def save(self):
        b = np.zeros(int(self.macros["SAVED_BYTES"]), np.uint8)
        assert getattr(self.lib, f"{self.p}_save")(ctypes.c_void_p(self.state), ctypes.c_void_p(b.ctypes.data), ctypes.c_size_t(len(b))) == 0
        return b

    def load(self, b):
        b = np.ascontiguousarray(b, np.uint8)
        return getattr(self.lib, f"{self.p}_load")(ctypes.c_void_p(self.state), ctypes.c_void_p(b.ctypes.data), ctypes.c_size_t(len(b)))


# Two runs of gcc take less time than one: the sanitizers need no optimisation, some warnings do.
WARNED = "-O1 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror -c -o /dev/null".split()
SANITIZED = "-O0 -fsanitize=undefined -fno-sanitize-recover -shared -fPIC".split()


def build(m, folder, *arguments, prefix="m"):
    """(the model as a Learner, onnxcc's messages)"""
    onnx.save(m, f"{folder}/m.onnx")
    p = subprocess.run([ONNXCC, "m.onnx", "-o", "m.c", "--single", "--training", "--prefix", prefix, *arguments], cwd=folder, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    for flags in WARNED, SANITIZED + ["-o", f"{prefix}.so", "-lm"]:
        subprocess.run(["gcc", "-std=c99", "m.c", *flags], cwd=folder, check=True)
    return Learner(ctypes.CDLL(f"{folder}/{prefix}.so"), pathlib.Path(folder, "m.h").read_text(), prefix), p.stderr


def in_folder(case):
    """A function that calls case(..., folder) with a new temporary folder."""
    @functools.wraps(case)
    def run(*arguments):
        with tempfile.TemporaryDirectory() as folder:
            return case(*arguments, folder)
    return run


def run_cases(label, *cases):
    """Runs each case, a function or (function, argument...), and prints failures; returns the process's exit status."""
    failed = 0
    for function, *arguments in (c if isinstance(c, tuple) else (c,) for c in cases):
        try:
            function(*arguments)
        except AssertionError as e:
            failed += 1
            print(f"{' '.join([function.__name__, *(a for a in arguments if isinstance(a, str))])}: {e}")
    print(f"{label}: {len(cases) - failed} passed, {failed} failed")
    return bool(failed)
