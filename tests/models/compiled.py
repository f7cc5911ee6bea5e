"""Compiles a model of the table by onnxcc and the C compiler to a shared object."""
import json
import os
import re
import subprocess
import time

from cache import kept, version
from common import ROOT
from emitted.stack import deepest

BUILD = ROOT / os.environ.get("B", "build")
CC = os.environ.get("CC", "gcc").split()
WARNINGS = "-Wall -Wextra -Wshadow -Wvla".split()
FLAGS = {   # C compiler flags of each target
    "generic": [],
    "x86-64-v3": ["-march=x86-64-v3"],
    "x86-64-v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}


class Failed(Exception):
    """(step, messages)"""


def processor_has(target):
    with open("/proc/cpuinfo") as f:
        flags = set(next((line for line in f if line.startswith("flags")), "").split())
    need = {"generic": set(), "x86-64-v3": {"avx2", "fma", "bmi2", "f16c"},
            "x86-64-v4": {"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}}
    return need[target] <= flags


def run(step, command, seconds):
    start = time.time()
    try:
        p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=seconds, errors="replace")
    except subprocess.TimeoutExpired:
        raise Failed(step, f"not done after {seconds} s") from None
    except OSError as e:
        raise Failed(step, str(e)) from None
    if p.returncode:
        raise Failed(step, f"exit {p.returncode}: {(p.stderr or p.stdout).strip()}")
    return p.stdout, time.time() - start


class Compiled:
    """A compiled model's names and paths; .so is the shared object, with shim.c, by this C compiler and level."""

    def __init__(self, m, target, optimise="-O3", cc=CC):
        self.m, self.target = m, target
        self.way = target if (optimise, cc) == ("-O3", CC) else f"{target} {' '.join(cc)} {optimise}"
        self.folder = BUILD / "models" / m.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.about = json.loads((m.folder / "model.json").read_text())
        c, header = (self.folder / f"{target}{end}" for end in (".c", ".h"))
        self.so = self.folder / f"{self.way.replace(' ', '-')}.so"
        const = [f"--const={n}={m.folder}/test_data_set_0/input_{self.about['inputs'].index(n)}.pb" for n in m.const]
        self.report, self.seconds = run("onnxcc", [BUILD / "onnxcc", m.folder / "model.onnx", "-o", c, "--prefix", m.name,
                                                   "--target", target, "--weights=incbin", "--report=json",
                                                   *m.options, *const], 600)
        self.header = header.read_text()
        pointers = len(self.about["inputs"]) - len(m.const) + len(self.about["outputs"])
        args = ", ".join(f"a[{i}]" for i in range(pointers + bool(self.sizes())))
        graph = ["-fcallgraph-info=su"] if "Free Software" in version(*cc) else []
        shim = ROOT / "tests" / "bench" / "shim.c"
        arguments = ["-std=gnu11", optimise, *FLAGS[target], *WARNINGS, *graph, "-fPIC", "-shared", "-I", BUILD / "include",
                     "-I", self.folder, f'-DHEADER="{target}.h"', f"-DRUN={m.name}_run", f"-DARGS={args}", shim, c]
        weights = self.folder / f"{target}.c.weights"
        self.cc_seconds = 0.0
        with kept(self.so, cc, arguments, [c, header, shim, *([weights] if weights.exists() else [])]) as before:
            if not before:
                _, self.cc_seconds = run("cc", [*cc, *arguments, "-o", self.so], 1800)

    def sizes(self):
        """For each run-time size of the interface, in order: does the caller set it?"""
        found = re.search(r"struct \w+_sizes \{(.*?)\}", self.header, re.S)
        return ["set by" in line for line in found[1].splitlines() if "int64_t" in line] if found else []

    def stack(self):
        """Bytes of stack under the entry point, by the C compiler's figures; 0: not available."""
        return max((n for ci in self.folder.glob(f"{self.so.name}-*.ci") for n in deepest(ci).values()), default=0)

    def number(self, key):
        """A figure of the report, such as "macs", or of its table of RAM: "arena"."""
        try:
            report = json.loads(self.report)
            return {**report, **report["ram"]}[key]
        except (ValueError, KeyError):
            return None
