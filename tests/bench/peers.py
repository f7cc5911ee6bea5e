"""Speed and memory beside other compilers to C, TensorFlow Lite Micro and ONNX Runtime: peers.py PYTHON [ONNX2C=FILE] [NAME...]. Prints
a table in Markdown.

PYTHON: that of a virtual environment with emx-onnx-cgen and tflite-micro; ONNX2C: the program onnx2c. Each model's C by onnxcc and by
these is compiled by $CC with the same flags, and bench's host runs it all and ONNX Runtime in turns on one processor. Time: the median
over the rounds of a call's time divided by ONNX Runtime's. Flash: text and data of the object. RAM: writable data, which for onnxcc
includes the arena; for the others the peak of the heap is added. emx's temporaries on the stack, up to 1 KB each, are not counted.
TensorFlow Lite Micro (tflm.py): flash is the model's file, without the interpreter; RAM is what it uses of its arena; recurrent networks
are left out."""
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
RECURRENT = {"lstm", "gru"}
MODELS = "autoencoder autoencoder_qdq ds_cnn ds_cnn_qdq resnet8 resnet8_qdq mobilenet_v1 lstm".split()
PEERS = {"emx": "model", "onnx2c": "entry"}    # the functions in their C
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
    """A model's C by another compiler, in a shared object with the shim's functions."""

    def __init__(self, m, name, program):
        folder = FOLDER / name / m.name
        folder.mkdir(parents=True, exist_ok=True)
        self.c, self.so = folder / "model.c", folder / "model.so"
        about = json.loads((m.folder / "model.json").read_text())
        if m.const or m.options:
            raise Failed(name, "the model's sizes are open")
        model = m.folder / "model.onnx"
        if name == "emx":
            run(name, [program, "compile", "--large-weight-threshold", "0", model, self.c], 1800)
        else:
            self.c.write_text(run(name, [program, model], 1800)[0])
        n = len(about["inputs"]) + len(about["outputs"])
        (folder / "shim.c").write_text(COUNT)
        self.flags = ["-O3", *FLAGS[TARGET]]
        run("cc", [*CC, *self.flags, "-w", "-fPIC", "-shared", f'-DMODEL="{self.c}"', f"-DRUN={PEERS[name]}",
                   f"-DPARAMETERS={', '.join(['void *'] * n)}", f"-DARGS={', '.join(f'a[{i}]' for i in range(n))}",
                   folder / "shim.c", "-o", self.so, "-lm"], 1800)

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


def row(m, host, python, programs):
    """The cells of a model: the times, then flash, then RAM, of onnxcc, the programs and TensorFlow Lite Micro."""
    ours, peers = Compiled(m, TARGET), [Peer(m, *p) for p in programs.items()]
    tensors = write_tensors(m, json.loads((m.folder / "model.json").read_text()))
    said, _ = run("host", [host, LIBRARY, m.folder / "model.onnx", tensors, "5", ours.so, *[p.so for p in peers]], 600)
    rounds = [[float(v) for v in line.split()[1:]] for line in said.splitlines() if line.startswith("round")]
    times = [statistics.median(r[i] / r[0] for r in rounds) for i in range(1, len(rounds[0]))]
    own = [f"-I{ours.folder}", f"-I{ours.folder.parents[1] / 'include'}"]
    flash, ram = zip(sizes(ours.folder / f"{TARGET}.c", *peers[0].flags, *own), *[sizes(p.c, *p.flags) for p in peers])
    arguments = [int(line.split()[4]) for line in tensors.read_text().splitlines()]
    ram = [ram[0], *[n + p.heap(arguments) for n, p in zip(ram[1:], peers)]]
    times = [f"{times[0]:.2f}", *[f"{t:.1f}" for t in times[1:]]]
    flash, ram = [*map(kb, flash)], [*map(kb, ram)]
    if m.name in RECURRENT:
        return [*times, "-", *flash, "-", *ram, "-"]
    tflm = json.loads(run("tflm", [python, HERE / "tflm.py", m.folder, "5"], 600)[0])
    return [*times, f"{tflm['time']:.1f}", *flash, kb(tflm["model"]), *ram, kb(tflm["arena"])]


def main(python, programs, names):
    FOLDER.mkdir(parents=True, exist_ok=True)
    host = FOLDER / "host"
    run("cc", [*CC, "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", HERE / "host.c", "-o", host, "-ldl", "-lm"], 60)
    assert processor_has(TARGET)
    head = [" | ".join([f"{what}: onnxcc", *programs, "TFLM"]) for what in ("time / ONNX Runtime's", "flash", "RAM")]
    print(f"| | {' | '.join(head)} |\n|{'---|' * (1 + 3 * (2 + len(programs)))}")
    failed = 0
    for m in fetch.fetch(names or MODELS, "bench"):
        try:
            print(f"| {m.name} | {' | '.join(row(m, host, python, programs))} |", flush=True)
        except Failed as f:
            failed += 1
            print(f"| {m.name} | {': '.join(f.args)[:200]} |", flush=True)
    return failed


if __name__ == "__main__":
    given = [a.partition("=")[2] for a in sys.argv[2:] if a.startswith("ONNX2C=")]
    emx = pathlib.Path(sys.argv[1]).with_name("emx-onnx-cgen")
    sys.exit(main(sys.argv[1], {"emx": emx, **{"onnx2c": o for o in given if o}}, [a for a in sys.argv[2:] if "=" not in a]) > 0)
