"""Speed and memory beside another compiler to C, emx-onnx-cgen, and ONNX Runtime: peers.py [NAME...]. Prints a table in Markdown.

Each model's C by onnxcc and by emx-onnx-cgen, which setup installs in an environment of its own, is compiled by $CC with the same
flags, and bench's host runs both and ONNX Runtime in turns on one processor. Time: the median over the rounds of a call's time
divided by ONNX Runtime's. Flash: text and data of the object. RAM: writable data, which for onnxcc includes the arena; for emx the peak of
its heap is added. emx's temporaries on the stack, up to 1 KB each, are not counted."""
import ctypes
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from bench import FOLDER, HERE, LIBRARY, write_tensors  # noqa: E402
import fetch  # noqa: E402
from compiled import CC, FLAGS, Compiled, Failed, processor_has, run  # noqa: E402

TARGET = "x86-64-v3"
MODELS = "autoencoder autoencoder_qdq ds_cnn ds_cnn_qdq resnet8 resnet8_qdq mobilenet_v1 lstm".split()
COUNT = """#include <stdlib.h>
#include <malloc.h>
static size_t peer_now, peer_peak;
static void *peer_malloc(size_t n)
{
    void *p = malloc(n);
    peer_now += malloc_usable_size(p);
    peer_peak = peer_now > peer_peak ? peer_now : peer_peak;
    return p;
}
static void peer_free(void *p) { peer_now -= malloc_usable_size(p); free(p); }
#define malloc peer_malloc
#define free peer_free
#include MODEL
#undef malloc
#undef free
size_t peer_heap(void);
size_t peer_heap(void) { return peer_peak; }
int shim_run(void *const *a);
int shim_run(void *const *a) { ((void (*)(PARAMETERS))RUN)(ARGS); return 0; }
double shim_limit(void);
double shim_limit(void) { return 1; }
"""


class Peer:
    """A model's C by emx-onnx-cgen, in a shared object with the shim's functions."""

    def __init__(self, m, emx):
        folder = FOLDER / "peers" / m.name
        folder.mkdir(parents=True, exist_ok=True)
        self.c, self.so = folder / "model.c", folder / "model.so"
        about = json.loads((m.folder / "model.json").read_text())
        if m.const or m.options:
            raise Failed("emx-onnx-cgen", "the model's sizes are open")
        run("emx-onnx-cgen", [emx, "compile", "--large-weight-threshold", "0", m.folder / "model.onnx", self.c], 1800)
        n = len(about["inputs"]) + len(about["outputs"])
        (folder / "shim.c").write_text(COUNT)
        self.flags = ["-O3", *FLAGS[TARGET]]
        run("cc", [*CC, *self.flags, "-w", "-fPIC", "-shared", f'-DMODEL="{self.c}"', "-DRUN=model", f"-DPARAMETERS={', '.join(['void *'] * n)}",
                   f"-DARGS={', '.join(f'a[{i}]' for i in range(n))}", folder / "shim.c", "-o", self.so, "-lm"], 1800)

    def heap(self, arguments):
        """The peak of allocated bytes during one call with zeros."""
        so = ctypes.CDLL(str(self.so))
        so.peer_heap.restype = ctypes.c_size_t
        so.shim_run((ctypes.c_void_p * len(arguments))(*[ctypes.cast(ctypes.create_string_buffer(n + 64), ctypes.c_void_p) for n in arguments]))
        return so.peer_heap()


def sizes(c, *flags):
    """Bytes of text and data, and of writable data, of a C file's object."""
    o = c.with_suffix(".o")
    run("cc", [*CC, *flags, "-w", "-c", c, "-o", o], 1800)
    text, data, bss = map(int, subprocess.run(["size", o], capture_output=True, text=True, check=True).stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def kb(n):
    return f"{n / 1024:.0f} KB" if n < 1 << 20 else f"{n / 1048576:.1f} MB"


def row(m, host, emx):
    ours, peer = Compiled(m, TARGET), Peer(m, emx)
    tensors = write_tensors(m, json.loads((m.folder / "model.json").read_text()))
    said, _ = run("host", [host, LIBRARY, m.folder / "model.onnx", tensors, "5", ours.so, peer.so], 600)
    rounds = [[float(v) for v in line.split()[1:]] for line in said.splitlines() if line.startswith("round")]
    fast, slow = (statistics.median(r[i] / r[0] for r in rounds) for i in (1, 2))
    flash, ram = sizes(ours.folder / f"{TARGET}.c", *peer.flags, f"-I{ours.folder}", f"-I{ours.folder.parents[1] / 'include'}")
    peer_flash, peer_ram = sizes(peer.c, *peer.flags)
    peer_ram += peer.heap([int(line.split()[4]) for line in tensors.read_text().splitlines()])
    return f"| {m.name} | {fast:.2f} | {slow:.1f} | {kb(flash)} | {kb(peer_flash)} | {kb(ram)} | {kb(peer_ram)} |"


def main(emx, names):
    FOLDER.mkdir(parents=True, exist_ok=True)
    host = FOLDER / "host"
    run("cc", [*CC, "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", HERE / "host.c", "-o", host, "-ldl", "-lm"], 60)
    assert processor_has(TARGET)
    print("| | time / ONNX Runtime's: onnxcc | emx | flash: onnxcc | emx | RAM: onnxcc | emx |\n|---|---|---|---|---|---|---|")
    failed = 0
    for m in fetch.fetch(names or MODELS, "bench"):
        try:
            print(row(m, host, emx), flush=True)
        except Failed as f:
            failed += 1
            print(f"| {m.name} | {': '.join(f.args)[:200]} |", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]) > 0)
