"""Writes compiler/emit/stack.def: the bytes of stack that each kernel needs, with all that it calls, on each kind of target, by
gcc's -fcallgraph-info=su. usage: stack.py HEADER... (takes minutes)

deepest(FILE.ci) is also what the tests measure emitted code with."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime-min"
# Kind of target -> how its code is compiled, and what the entry takes at most, with the code of loops and the kernels that
# are inlined into it: seen on the networks of tests/models.
M4 = "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
M55 = "arm-none-eabi-gcc -mcpu=cortex-m55 -mthumb -mfloat-abi=hard"
COLUMNS = {
    "generic": (["gcc -O0", "gcc -Og", "gcc -O2", "gcc -O3"], 1664),
    "x86-64-v3": (["gcc -Og -march=x86-64-v3", "gcc -O3 -march=x86-64-v3"], 2304),
    "x86-64-v4": (["gcc -Og -march=x86-64-v4", "gcc -O3 -march=x86-64-v4"], 1536),
    "aarch64": (["aarch64-linux-gnu-gcc -O2", "aarch64-linux-gnu-gcc -O3"], 1664),
    "riscv64": (["riscv64-linux-gnu-gcc -O2", "riscv64-linux-gnu-gcc -O3"], 1664),
    "cortex": ([f"{M4} -Og", f"{M4} -O2", f"{M4} -Os -DONNXCC_SMALL", f"{M55} -O2"], 1024),
}
LEAST = 256     # what needs less has no row
TYPES = re.compile(r"(_(b?f16|f32|f64|[iu](2|4|8|16|32|64)|b8|c64|c128|str|f8e\w+|f[46]e\w+))+$")


def deepest(ci):
    """{function: bytes of its frame and of the deepest chain of calls under it}, of a -fcallgraph-info=su file. A call by a
    pointer may be one of every static function that nobody calls by its name."""
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


def main(headers):
    most = {"entry": {c: most for c, (_, most) in COLUMNS.items()}, "others": dict.fromkeys(COLUMNS, LEAST)}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(c, pool.submit(measured, cc, h, pathlib.Path(folder))) for h in headers for c, (ways, _) in COLUMNS.items()
                for cc in ways]
        for column, job in jobs:
            for f, n in job.result().items():
                row = most.setdefault(TYPES.sub("", f), dict.fromkeys(COLUMNS, 0))
                row[column] = max(row[column], n)
    for row in most.values():   # built for any processor
        row["generic"] = max(row["generic"], row["aarch64"], row["riscv64"])
    rows = [f"STACK({k}, {', '.join(map(str, row.values()))})\n" for k, row in sorted(most.items()) if max(row.values()) > LEAST or k == "others"]
    (ROOT / "compiler" / "emit" / "stack.def").write_text(
        f"/* stack.def - STACK(kernel, {', '.join(COLUMNS)}): bytes of stack that a kernel\n"
        f" * needs at most, whatever its types and the compiler's level. By `make stack`. */\n" +
        "".join(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
