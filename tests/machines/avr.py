"""A small network on an ATmega1284P in simavr, in float and in integers: the host's bits, and ONNX Runtime's numbers."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import numpy_helper

BUILD = pathlib.Path(os.environ["B"]).resolve()
WORK = BUILD / "machines" / "avr"
ALIAS = ["-Wno-incompatible-pointer-types"]    # for gcc 5 float and our float, which may alias, are two types
WAYS = {"-O2": [], "-Os": [], "-Os, small": ["-DONNXCC_SMALL"]}

MAIN = r"""
#include "net.h"
#include "data.h"
#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
static void put(char c)
{
    while (!(UCSR0A & (1 << UDRE0)))
        ;
    UDR0 = (unsigned char)c;
}
#else
#include <stdio.h>
static void put(char c) { putchar(c); }
#endif
static unsigned char y[BYTES];
int main(void)
{
#ifdef __AVR__
    UCSR0B = 1 << TXEN0;
#endif
    int status = net_run((const void *)x, (void *)y);
    put('<');
    put((char)('0' + status));
    for (int i = 0; i < BYTES; i++) {
        put("0123456789abcdef"[y[i] >> 4]);
        put("0123456789abcdef"[y[i] & 15]);
    }
    put('>');
    put('\n');
#ifdef __AVR__
    cli();
    sleep_enable();
    sleep_cpu();
#endif
    return 0;
}
"""


def float_net(rng, inputs, hidden, outputs):
    m = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["":17]>
        g (float[2,{inputs}] x) => (float[2,{outputs}] y) {{ h = Gemm(x, w1, b1)  r = Relu(h)  t = Gemm(r, w2, b2)  y = Softmax(t) }}""")
    for n, s in (("w1", (inputs, hidden)), ("b1", (hidden,)), ("w2", (hidden, outputs)), ("b2", (outputs,))):
        m.graph.initializer.append(numpy_helper.from_array((rng.standard_normal(s) / 2).astype(np.float32), n))
    return m, rng.standard_normal((2, inputs)).astype(np.float32)


def byte_net(rng, inputs, hidden, outputs):
    m = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["":17]>
        g (uint8[2,{inputs}] x) => (uint8[2,{outputs}] y) {{
            h = QLinearMatMul(x, s, z, w1, s, zw, t, z)  y = QLinearMatMul(h, t, z, w2, s, zw, t, z) }}""")
    weights = {n: rng.integers(-128, 128, s).astype(np.int8) for n, s in (("w1", (inputs, hidden)), ("w2", (hidden, outputs)))}
    scales = {"s": np.float32(1 / 16), "t": np.float32(1 / 2), "z": np.uint8(100), "zw": np.int8(0)}
    for n, x in (weights | scales).items():
        m.graph.initializer.append(numpy_helper.from_array(np.asarray(x), n))
    return m, rng.integers(0, 256, (2, inputs)).astype(np.uint8)


NETS = {f"{kind} {shape}": (make, shape) for kind, make in (("float", float_net), ("byte", byte_net))
        for shape in ((12, 20, 5), (7, 33, 17), (16, 8, 3))}


def result(*command, **options):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=120, check=False, **options)
    inside = re.search("<([0-9a-f]+)>", re.sub(r"\x1b\[\d*m|\s", "", p.stdout + p.stderr))  # simavr breaks and colours lines
    return inside[1] if inside else f"exit {p.returncode}: {(p.stderr + p.stdout)[-500:]}"


def one(name, make, shape):
    """What went wrong, for each way."""
    folder = WORK / name.replace(" ", "")
    folder.mkdir(parents=True, exist_ok=True)
    model, x = make(np.random.default_rng(5), *shape)
    onnx.save(model, folder / "net.onnx")
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    subprocess.run([BUILD / "onnxcc", folder / "net.onnx", "-o", folder / "net.c", "--prefix", "net"], check=True)
    (folder / "main.c").write_text(MAIN)
    numbers = ",".join(float(v).hex() if x.dtype == np.float32 else str(v) for v in x.ravel())
    kind = "float" if x.dtype == np.float32 else "unsigned char"
    (folder / "data.h").write_text(f"#define BYTES {want.nbytes}\nstatic const {kind} x[] = {{{numbers}}};\n")
    build = ["-std=c99", f"-I{BUILD / 'include'}", folder / "main.c", folder / "net.c", "-o"]
    subprocess.run(["gcc", "-O1", *build, folder / "host"], check=True)
    host = result(folder / "host")
    got = np.frombuffer(bytes.fromhex(host[1:]), want.dtype).reshape(want.shape)
    yield "on the host", "" if np.allclose(got, want, rtol=1e-5, atol=1e-6) else "other numbers than ONNX Runtime's"
    for way, flags in WAYS.items():
        p = subprocess.run(["avr-gcc", "-mmcu=atmega1284p", way[:3], *flags, "-Werror", *ALIAS, *build, folder / "avr"],
                           capture_output=True, text=True, check=False)
        said = p.stderr or result("simavr", "-m", "atmega1284p", "-f", "16000000", folder / "avr")
        yield way, "" if said == host else f"{said}, on the host {host}"


def avr():
    """(passed, failed)"""
    counts = {True: 0, False: 0}
    for name, (make, shape) in NETS.items():
        for way, wrong in one(name, make, shape):
            counts[not wrong] += 1
            if wrong:
                print(f"FAILED avr, {name}, {way}: {wrong}", flush=True)
    print(f"avr: {counts[True]} of {sum(counts.values())} tests pass", flush=True)
    return counts[True], counts[False]


if __name__ == "__main__":
    passed, failed = avr()
    print(f"avr: {passed} passed, {failed} failed")
    sys.exit(failed > 0)
