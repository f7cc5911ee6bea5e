"""Small networks in floats and in integers on an ATmega1284P in simavr, for generic and for avr: they must have the host's bits, ONNX
Runtime's results, and at most the header's stack. Its int has 16 bits: a build traps when an int overflows, or is shifted too far. For
avr no constant of more than 8 bytes may be in RAM. avr.py [TURN]: besides that build with one other level, another for every TURN."""
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
ALIAS = ["-Wno-incompatible-pointer-types"]    # to gcc 5, float and f32, which may alias, are different types
TRAP = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
SKIP, OTHER = re.compile(r"^\tsbr([cs]) (.*)\n\t(adiw|sbiw) ", re.M), {"c": "s", "s": "c"}
LEVELS = ["-O2", "-Os"]
TARGETS = ["generic", "avr"]
KINDS = {"float32": "float", "uint8": "uint8_t", "int32": "int32_t"}

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
extern unsigned char __heap_start;
enum { FREE = 0xA5 };
static unsigned char *top;   /* of the stack at the call */
static void begin_stack(void)
{
    top = (unsigned char *)SP - 32;
    for (unsigned char *p = &__heap_start; p < top; p++)
        *p = FREE;
}
static unsigned stack_used(void)
{
    unsigned char *p = &__heap_start;
    while (p < top && *p == FREE)
        p++;
    return (unsigned)(top - p) + 32;
}
#else
#include <stdio.h>
static void put(char c) { putchar(c); }
static void begin_stack(void) {}
static unsigned stack_used(void) { return 0; }
#endif
static unsigned char y[BYTES];
int main(void)
{
#ifdef __AVR__
    UCSR0B = 1 << TXEN0;
#endif
    begin_stack();
    const int status = net_run((const void *)x, (void *)y);
    put(stack_used() <= NET_STACK_BYTES ? '(' : ')');
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
            h = QLinearMatMul(x, s, z, w1, s, zw, t, z)  y = QLinearMatMul(h, t, z, w2, s, zv, t, z) }}""")
    weights = {n: rng.integers(-128, 128, s).astype(np.int8) for n, s in (("w1", (inputs, hidden)), ("w2", (hidden, outputs)))}
    scales = {"s": np.float32(1 / 16), "t": np.float32(1 / 2), "z": np.uint8(100), "zw": np.int8(0), "zv": np.int8(0)}
    for n, x in (weights | scales).items():
        m.graph.initializer.append(numpy_helper.from_array(np.asarray(x), n))
    return m, rng.integers(0, 256, (2, inputs)).astype(np.uint8)


def text_net(nodes, inputs, result, weights):
    """A model from a text of nodes between x and y."""
    m = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["":17]> g ({inputs} x) => ({result} y) {{ {nodes} }}')
    m.graph.initializer.extend(numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items())
    return m


def conv_net(rng):
    """Convolutions with padding, pooling, sums over images."""
    m = text_net("""a = Conv <pads = [1, 1, 1, 1]> (x, w, b) r = Relu (a) p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
        d = Conv <group = 5> (p, v) g = GlobalAveragePool (d) y = Flatten (g)""", "float[1, 2, 6, 7]", "float[1, 5]",
                 {"w": rng.standard_normal((5, 2, 3, 3)).astype(np.float32), "b": rng.standard_normal(5).astype(np.float32),
                  "v": rng.standard_normal((5, 1, 2, 2)).astype(np.float32)})
    return m, rng.standard_normal((1, 2, 6, 7)).astype(np.float32)


def byte_conv_net(rng):
    m = text_net("y = QLinearConv <pads = [1, 0, 1, 0], strides = [2, 1]> (x, s, z, w, t, o, s, z, b)", "uint8[1, 3, 5, 6]",
                 "uint8[1, 6, 3, 4]", {"s": np.float32(1 / 16), "t": np.float32(1 / 256), "z": np.uint8(90), "o": np.int8(0),
                                       "w": rng.integers(-128, 128, (6, 3, 3, 3)).astype(np.int8),
                                       "b": rng.integers(-9999, 9999, 6).astype(np.int32)})
    return m, rng.integers(0, 256, (1, 3, 5, 6)).astype(np.uint8)


def function_net(rng):
    """Functions that use the bits of floats, large and tiny ones included; a type of 16 bits."""
    m = text_net("""e = Exp (x) a = Tanh (x) b = Sigmoid (e) c = Erf (a) d = Sin (x) h = Cast <to = 10> (d) f = Cast <to = 1> (h)
        q = Add (b, c) r = Sub (q, f) y = Pow (e, r)""", "float[24]", "float[24]", {})
    return m, np.concatenate([rng.standard_normal(20) * 3, [40, -40, 1e-6, 300]]).astype(np.float32) / 8


def whole_net(rng):
    """Integers of 32 and 64 bits, indices, moves."""
    m = text_net("""a = Transpose <perm = [1, 0]> (x) b = Gather (a, i) c = Cast <to = 7> (b) d = Mul (c, c) e = Mod (d, prime)
        f = Div (e, seven) g = Cast <to = 6> (f) k = ReduceSum <keepdims = 0> (g, axes)
        l = Concat <axis = 0> (k, k) y = Slice (l, one, five)""",
                 "int32[4, 5]", "int32[4]", {"i": np.array([4, -1, 0]), "prime": np.array(1000003), "seven": np.array(7),
                                             "axes": np.array([0]), "one": np.array([1]), "five": np.array([5])})
    return m, rng.integers(-2**31, 2**31, (4, 5)).astype(np.int32)


def recurrent_net(rng):
    m = text_net("h, last, cell = LSTM <hidden_size = 4> (x, w, r, b) s = Squeeze (h, axes) o, y = GRU <hidden_size = 3> (s, v, u)",
                 "float[3, 1, 5]", "float[1, 1, 3]",
                 {n: rng.standard_normal(k).astype(np.float32) / 2 for n, k in (("w", (1, 16, 5)), ("r", (1, 16, 4)), ("b", (1, 32)),
                                                                                ("v", (1, 9, 4)), ("u", (1, 9, 3)))} | {"axes": np.array([1])})
    return m, rng.standard_normal((3, 1, 5)).astype(np.float32)


def trips_net(rng):
    """Loops of more iterations than 16 bits count, whose number is known or read."""
    body = """<body = b (int64 i, bool c, int32[1] s) => (bool d, int32[1] t) {
        d = Identity (c) j = Cast <to = 6> (i) k = Mod (j, m) t = Add (s, k) }>"""
    m = text_net(f"n = Cast <to = 7> (x) a = Loop (trips, , x) {body} y = Loop (n, , a) {body}",
                 "int32[1]", "int32[1]", {"trips": np.array(40000), "m": np.array([7], np.int32)})
    return m, np.array([33333], np.int32)


def sizes_net(rng):
    """A size that has 16 bits, of a product that has not: the C for generic refuses to be compiled."""
    numbers = {"trips": 100, "zero": [0], "factor": [401], "thousand": [1000], "one": [1]}
    m = text_net("""y = Loop (trips, , x) <body = b (int64 i, bool c, int32[1] s) => (bool d, int32[1] t) {
            d = Identity (c) n = Reshape (i, one) p = Mul (n, factor) k = Div (p, thousand)
            part = Slice (all, zero, k) r = ReduceSum <keepdims = 1> (part) t = Add (s, r) }>""", "int32[1]", "int32[1]",
                 {"all": np.arange(1, 41, dtype=np.int32)} | {n: np.array(v) for n, v in numbers.items()})
    return m, np.array([99], np.int32)


def window_net(rng):
    """A window that 16 bits do not hold: for avr it is error MEM-04, see tests/error."""
    return text_net("y = MaxPool <kernel_shape = [40001], pads = [20000, 20000]> (x)", "float[1,1,8]", "float[1,1,8]", {}), \
        rng.standard_normal((1, 1, 8)).astype(np.float32)


NEEDS_32_BITS, NOT_FOR_AVR = {"sizes_net", "window_net"}, {"window_net"}
NETS = {f"{kind} {shape}": (make, shape) for kind, make in (("float", float_net), ("byte", byte_net))
        for shape in ((12, 20, 5), (7, 33, 17), (16, 8, 3))}
NETS |= {make.__name__: (make, ()) for make in (conv_net, byte_conv_net, function_net, whole_net, recurrent_net, trips_net, sizes_net,
                                              window_net)}


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=120, check=False)


def result(*command):
    p = run(*command)
    inside = re.search(r"\(<([0-9a-f]+)>", re.sub(r"\x1b\[\d*m|\s", "", p.stdout + p.stderr))  # simavr wraps and colours lines
    return inside[1] if inside else f"exit {p.returncode}: {(p.stderr + p.stdout)[-500:]}"


def compiled(folder, files, flags):
    """Builds the program for the AVR; returns the C compiler's messages.

    simavr 1.6 takes an adiw of 31 for a call, which is two bytes longer, when an instruction skips it; a jump replaces the skip."""
    gcc = ["avr-gcc", "-mmcu=atmega1284p", "-Werror", *ALIAS]
    said, assembled = "", []
    for c in files:
        s = folder / f"{c.stem}.s"
        said += run(*gcc, *flags, "-S", c, "-o", s).stderr
        if not said:
            s.write_text(SKIP.sub(lambda m: f"\tsbr{OTHER[m[1]]} {m[2]}\n\trjmp .+2\n\t{m[3]} ", s.read_text()))
        assembled.append(s)
    return said or run(*gcc, *assembled, "-o", folder / "avr").stderr


def expected(model, x):
    """ONNX Runtime's result, without its default kernels for bytes, which saturate between products on x86-64 without VNNI."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0]


def one(name, make, shape, levels):
    """What went wrong in each build."""
    folder = WORK / name.replace(" ", "")
    folder.mkdir(parents=True, exist_ok=True)
    model, x = make(np.random.default_rng(5), *shape)
    want = expected(model, x)
    for target in TARGETS[:1] if name in NOT_FOR_AVR else TARGETS:
        for way, wrong in for_target(folder / target, target, model, x, want, levels):
            yield f"{target}, {way}", wrong


def in_ram(program):
    """The network's constants of more than 8 bytes in RAM."""
    symbols = [line.split() for line in run("avr-nm", "--print-size", program).stdout.splitlines()]
    return [s[3] for s in symbols if len(s) == 4 and s[2] in "dDrR" and s[3].startswith("net_") and int(s[1], 16) > 8]


def for_target(folder, target, model, x, want, levels):
    folder.mkdir(exist_ok=True)
    onnx.save(model, folder / "net.onnx")
    subprocess.run([BUILD / "onnxcc", folder / "net.onnx", "-o", folder / "net.c", "--prefix", "net", "--target", target], check=True)
    (folder / "main.c").write_text(MAIN)
    numbers = ",".join(float(v).hex() if x.dtype == np.float32 else f"{v}LL" for v in x.ravel())
    (folder / "data.h").write_text(f"#define BYTES {want.nbytes}\nstatic const {KINDS[x.dtype.name]} x[] = {{{numbers}}};\n")
    build = ["-std=c99", f"-I{BUILD / 'include'}"]
    files = [folder / "main.c", folder / "net.c"]
    subprocess.run(["gcc", "-O1", *build, *files, "-o", folder / "host"], check=True)
    host = result(folder / "host")
    got = np.frombuffer(bytes.fromhex(host[1:]), want.dtype).reshape(want.shape)
    yield "on the host", "" if np.allclose(got, want, rtol=1e-5, atol=1e-6) else "other numbers than ONNX Runtime's"
    for way, flags in [*((level, [level]) for level in levels), ("-Os, trap", ["-Os", *TRAP])]:
        said = compiled(folder, files, [*flags, *build])
        if target == "generic" and folder.parent.name in NEEDS_32_BITS:
            yield way, "" if "more than 16 bits" in said else f"no word of its sizes: {said}"
            continue
        said = said or result("simavr", "-m", "atmega1284p", "-f", "16000000", folder / "avr")
        yield way, "" if said == host else f"{said}, on the host {host}"
        if target == "avr":
            yield f"{way}, constants", f"in RAM: {in_ram(folder / 'avr')}" if in_ram(folder / "avr") else ""


def avr(levels):
    """(passed, failed)"""
    counts = {True: 0, False: 0}
    for name, (make, shape) in NETS.items():
        for way, wrong in one(name, make, shape, levels):
            counts[not wrong] += 1
            if wrong:
                print(f"FAILED avr, {name}, {way}: {wrong}", flush=True)
    print(f"avr: {counts[True]} of {sum(counts.values())} tests pass", flush=True)
    return counts[True], counts[False]


if __name__ == "__main__":
    passed, failed = avr([LEVELS[int(sys.argv[1]) % len(LEVELS)]] if sys.argv[1:] else LEVELS)
    print(f"avr: {passed} passed, {failed} failed")
    sys.exit(failed > 0)
