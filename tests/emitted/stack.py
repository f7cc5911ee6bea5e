"""Writes the rows of compiler/emit/stack.def for the kernels in some headers: the bytes of stack that each needs, including what it
calls, on each kind of target, by gcc's -fcallgraph-info=su. usage: stack.py HEADER... (takes minutes)

Tests use deepest(FILE.ci) to measure emitted code."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime-min"
ROWS = ROOT / "compiler" / "emit" / "stack.def"
# A column -> the C compiler and the levels for its targets' code, and an upper bound of the entry's own stack, with loops and the kernels
# inlined into it, as measured on the networks of tests/models. compiler/base/target.def and target.h list the targets and columns.
TOOLS = {
    "generic": ("gcc", ["-O0", "-Og", "-O2", "-O3"], 1664),
    "x86-64-v3": ("gcc", ["-Og", "-O3"], 2304),
    "x86-64-v4": ("gcc", ["-Og", "-O3"], 1536),
    "aarch64": ("aarch64-linux-gnu-gcc", ["-O2", "-O3"], 1664),
    "riscv64": ("riscv64-linux-gnu-gcc", ["-O2", "-O3"], 1664),
    "riscv32": ("riscv64-unknown-elf-gcc --specs=picolibc.specs", ["-Og", "-O2", "-Os"], 1024),
    "cortex-m0": ("arm-none-eabi-gcc", ["-Og", "-O2", "-Os"], 1024),
    "cortex": ("arm-none-eabi-gcc", ["-Og", "-O2", "-Os"], 1024),
}


def column(word):
    """STACK_X86_64_V3 -> x86-64-v3"""
    return word.removeprefix("STACK_").lower().replace("_", "-")


BASE = ROOT / "compiler" / "base"
# Name of a target -> its column, and its flags for the C compiler.
TARGETS = {n: (column(c), flags) for n, c, flags in
           re.findall(r'^TARGET\("(.+?)", .*?(STACK_\w+), \w+, "(.*?)"', (BASE / "target.def").read_text(), re.M)}
M4 = f"{TOOLS['cortex'][0]} {TARGETS['cortex-m4'][1]}"
ENTRY = {c: TOOLS[c][2] for c in map(column, re.findall(r"^ +(STACK_\w+),$", (BASE / "target.h").read_text(), re.M))}
WAYS = [(c, f"{TOOLS[c][0]} {flags} {level}") for n, (c, flags) in TARGETS.items() if n != "avr" for level in TOOLS[c][1]]  # avr: avr.py
SMALLEST_ROW = 256     # kernels that need less have no row
TYPES = re.compile(r"(_(b?f16|f32|f64|[iu](2|4|8|16|32|64)|b8|c64|c128|str|f8e\w+|f[46]e\w+))+$")


def deepest(ci):
    """{function: bytes of its frame and of the deepest chain of calls under it}, from a -fcallgraph-info=su file. A call by
    pointer may reach every static function that is not called by name."""
    text = pathlib.Path(ci).read_text()
    frame = {m[1]: int(m[2]) for m in re.finditer(r'node: { title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes', text)}
    calls = {f: set() for f in frame}
    for m in re.finditer(r'edge: { sourcename: "([^"]+)" targetname: "([^"]+)"', text):
        calls.setdefault(m[1], set()).add(m[2])
    named = set().union(*calls.values())
    calls["__indirect_call"] = {f for f in frame if ":" in f and f not in named}
    known = {}

    def chain(f):
        if f not in known:
            known[f] = 0    # no kernel calls itself
            known[f] = frame.get(f, 0) + max(map(chain, calls.get(f, ())), default=0)
        return known[f]

    return {f: chain(f) for f in frame}


def measured(cc, header, folder):
    o = folder / f"{abs(hash((cc, header)))}.o"
    subprocess.run([*cc.split(), "-std=gnu99", "-w", "-ffreestanding", "-fcallgraph-info=su", "-iquote", RUNTIME,
                    f'-DKERNELS="{header}"', "-c", "-o", o, RUNTIME / "rt.c"], check=True)
    return {f: n for f, n in deepest(o.with_suffix(".ci")).items() if ":" not in f}


def written():
    """The rows of stack.def."""
    rows = re.findall(r"^STACK\((\w+), (.+)\)$", ROWS.read_text(), re.M)
    return {k: dict(zip(ENTRY, map(int, n.split(", ")))) for k, n in rows}


def main(headers):
    found = {"entry": dict(ENTRY), "others": dict.fromkeys(ENTRY, SMALLEST_ROW)}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(c, pool.submit(measured, cc, h, pathlib.Path(folder))) for h in headers for c, cc in WAYS]
        for column, job in jobs:
            for f, n in job.result().items():
                row = found.setdefault(TYPES.sub("", f), dict.fromkeys(ENTRY, 0))
                row[column] = max(row[column], n)
    if {h.name for h in RUNTIME.glob("*.h") if re.search("^REGISTER_(KERNEL|FALLIBLE)", h.read_text(), re.M)} - set(headers):
        found = written() | found   # keeps the rows of other headers
    for row in found.values():   # built for any processor
        row["generic"] = max(row["generic"], row["aarch64"], row["riscv64"])
    rows = [f"STACK({k}, {', '.join(map(str, row.values()))})\n" for k, row in sorted(found.items()) if max(row.values()) > SMALLEST_ROW or k == "others"]
    ROWS.write_text(
        f"/* stack.def - STACK(kernel, {', '.join(ENTRY)}): an upper bound of\n"
        f" * the bytes of stack that a kernel uses, over all types and optimisation levels. Made by `make stack`. */\n" +
        "".join(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
