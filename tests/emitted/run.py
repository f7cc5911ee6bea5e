"""Tests of the promises about emitted code (README) on the models of models.py: run.py EVERY TURN [NAME...]. Prints what is wrong, then
"emitted: N passed, N failed". Without NAMES, and unless EVERY is 1, a third of the models; of the other processors, and of the C compilers
for several models in one translation unit, one of EVERY for each model and unit. TURN selects which."""
import concurrent.futures
import ctypes
import fnmatch
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import helper

from cache import kept
from checks import check, counts
from lines import misplaced, wide
from models import SPECIAL_BITS, TABLE
from targets import neighbours

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "emitted"
RUNTIME = pathlib.Path(__file__).resolve().parents[2] / "runtime-min"
INCLUDE = f"-I{BUILD / 'include'}"
STRICT = "-std=c99 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror".split()
COMPILERS = ["gcc", "clang-14"]
MODES = {"default": [], "library": ["-DONNXCC_LIBRARY"]}
ALWAYS = "network", "quantised", "constants"     # of which there are further tests
EVERY, TURN = map(int, sys.argv[1:3])
NAMES = sys.argv[3:]
MODELS = [n for n in TABLE if n not in ("deep", "shallow")]     # those are for levels.py
if EVERY > 1 and not NAMES:
    MODELS = [n for i, n in enumerate(MODELS) if n in ALWAYS or i % 3 == TURN % 3]
CROSS = {
    "Cortex-M0": "arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb",
    "RISC-V of 64 bits": "clang-14 --target=riscv64-unknown-elf -march=rv64gc -ffreestanding",
    "Windows": "clang-14 --target=x86_64-pc-windows-msvc -ffreestanding",
    "Windows, AArch64": "clang-14 --target=aarch64-pc-windows-msvc -ffreestanding",
}


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", **options)


def chosen(kinds, index):
    """One of EVERY kinds, others for each index."""
    return [k for i, k in enumerate(kinds) if (i + index + TURN // 3) % EVERY == 0]     # // 3: a model comes in every third turn


def succeeds(what, *command, **options):
    p = run(*command, **options)
    return check(p.returncode == 0 and not p.stderr, f"{what}: exit {p.returncode}\n{p.stderr[:2000]}")


def makes(what, out, cc, *arguments, **options):
    """Does the C compiler accept its last argument without a warning? Cached."""
    c = arguments[-1]
    with kept(out, [cc], arguments, [c, c.with_suffix(".h"), *c.parent.glob(f"{c.name}.weights")]) as before:
        good = check(True, what) if before else succeeds(what, cc, *arguments, "-o", out, **options)
        if not good:
            out.unlink(missing_ok=True)
    return good


def emit(name, *options, to=None):
    """The C file of a model: compiled by onnxcc with the model's own options and these."""
    folder = WORK / (to or name)
    folder.mkdir(parents=True, exist_ok=True)
    c = folder / f"{name}.c"
    for old in folder.glob(f"{name}.[ch]"), folder.glob(f"{name}.c.*"):
        for file in old:
            file.unlink()
    succeeds(f"{name}: onnxcc {' '.join(options)}", BUILD / "onnxcc", WORK / f"{name}.onnx", "-o", c, "--prefix", name,
             *TABLE[name][1], *options)
    return c


# ---- each model by itself

def compiles(name, c, single):
    """The C compiles without a warning by both compilers in every mode, and for other processors; the header as C++."""
    for cc in COMPILERS:
        for mode, flags in MODES.items():
            makes(f"{name}: {cc}, {mode}", c.with_suffix(f".{cc}.{mode}.o"), cc, *STRICT, *flags, "-O1", INCLUDE, "-c", c)
        makes(f"{name}: {cc}, --single", single.with_suffix(f".{cc}.o"), cc, *STRICT, "-O1", "-c", single)
        for std in ("c++98", "c++20"):
            succeeds(f"{name}: header, {cc}, {std}", cc, "-x", "c++", f"-std={std}", "-pedantic", "-Wall", "-Wextra", "-Werror",
                     "-fsyntax-only", c.with_suffix(".h"))
    for target, cc in chosen(CROSS.items(), MODELS.index(name)):
        cc, *flags = cc.split()
        makes(f"{name}: {target}", c.with_suffix(f".{target.replace(' ', '-')}.o"), cc, *flags, *STRICT, "-Os",
              INCLUDE, "-c", c)


def symbols(name, c):
    """All external symbols have the prefix; only three functions are undefined; only the arena is writable."""
    for o in (c.with_suffix(f".{cc}.{mode}.o") for cc in COMPILERS for mode in MODES):
        lines = [line[17:].split() for line in run("nm", o).stdout.splitlines()]
        bad = [f"{kind} {s}" for kind, s in lines
               if kind.isupper() and kind not in "UR" and not s.startswith(f"{name}_")
               or kind == "U" and s not in ("memcpy", "memset", "memmove")
               and not (".library." in o.name and re.fullmatch(r"[a-z0-9_]+_[a-z]+[0-9]+[a-z0-9]*", s))
               or kind in "dDbBC" and s != f"{name}_arena"]
        check(len(lines) >= 3 and not bad, f"{name}: symbols of {o.name}: {bad}")


def text(name, c):
    """Banner, comments and identifiers of the files."""
    header, body = c.with_suffix(".h").read_text(), c.read_text()
    check(set(re.findall(r"#include (.*)", header)) == {"<stddef.h>", "<stdint.h>"}, f"{name}: header includes")
    own = set(re.findall(r"#include (.*)", body)) - {f'"{name}.h"'}
    check(all(i.startswith("<onnxcc/") for i in own), f"{name}: includes {own}")
    check((header + body).isascii(), f"{name}: not ASCII")
    check(not re.search(r"\b(malloc|free|calloc|printf|stdio|alloca|goto|setjmp)\b", body), f"{name}: calls what it must not")
    check(not any(str(p) in header + body for p in (WORK, BUILD, pathlib.Path.home())), f"{name}: names a folder of this machine")
    check(not wide(header + body), f"{name}: lines of more than 120 columns: {wide(header + body)[:3]}")
    elsewhere = [*misplaced(header), *misplaced(body)]
    check(not elsewhere, f"{name}: continued lines at another column: {elsewhere[:3]}")
    check(not re.search(r"[{;] *\w+\(.*; *}", body), f"{name}: a brace in the line of a call")
    macros = [m for m in re.findall(r"#define (\w+)", header) if not m.startswith(f"{name.upper()}_")]
    check(not macros, f"{name}: macros without the prefix: {macros}")


def apart(name, c):
    """No call of a shared function passes the same address to two of its parameters, which are all restrict."""
    body = c.read_text()
    place = {p: at for p, at in re.findall(r" \*const (\w+) = ([^;]*);", body)}
    for function in re.findall(r"^SHARED \w+ (\w+)\(", body, re.M):
        for call in re.findall(rf"\b{function}\(([^;{{]*?)\)(?: != 0\)|;)", body):
            pointers = [place[a] for a in re.split(r",\s+", call) if a in place]
            check(len(set(pointers)) == len(pointers), f"{name}: restrict pointers to one place: {function}({call})")


def same_bytes(name, c):
    """The same files from another folder, locale and time zone, and with the model from standard input."""
    folder = WORK / "elsewhere" / name
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / f"{name}.onnx"
    shutil.copy(WORK / f"{name}.onnx", model)
    env = {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "HOME": str(folder), "USER": "somebody"}
    p = run(BUILD / "onnxcc", f"{name}.onnx", "-o", f"{name}.c", "--prefix", name, *TABLE[name][1], cwd=folder, env=env)
    same = [f for f in sorted(c.parent.glob(f"{name}.[ch]*")) if f.suffix in (".c", ".h", ".weights")]
    check(p.returncode == 0 and len(same) >= 2 and all(f.read_bytes() == (folder / f.name).read_bytes() for f in same),
          f"{name}: other bytes elsewhere {p.stderr}")


# ---- run

def shared(name, c, cc="gcc", flags=()):
    so = c.with_suffix(f".{'-'.join([cc, *flags]).replace('=', '')}.so")
    return so if makes(f"{name}: {cc} {' '.join(flags)}", so, cc, "-std=c99", *flags, INCLUDE, "-fPIC", "-shared", c) else None


def call(name, so, header, weights=None, io=False):
    """The status and the outputs of NAME_run for the model's inputs."""
    m, _, inputs = TABLE[name]
    library = ctypes.CDLL(str(so))
    if weights is not None:
        check(getattr(library, f"{name}_load")(weights.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(weights.nbytes)) == 0,
              f"{name}: does not take its weights")
    sizes = re.search(r"struct \w+_sizes \{(.*?)\}", header, re.S)
    fields = re.findall(r"int64_t (\w+); /\* (set|written)", sizes[1]) if sizes else []
    known = {d.dim_param: n for v, x in zip(m.graph.input, inputs) for d, n in zip(v.type.tensor_type.shape.dim, x.shape)}
    order = [*known.values()] + [0] * len(fields)   # of names that are no identifiers
    size = np.array([known.get(f, n) for (f, _), n in zip(fields, order)] + [0], np.int64)
    room = [np.zeros(int(n), np.uint8) for n in re.findall(r'/\* output .*?_BYTES (\d+)', header, re.S)]
    pointers = [x.ctypes.data for x in map(np.ascontiguousarray, inputs)] + [r.ctypes.data for r in room]
    keep = list(map(np.ascontiguousarray, inputs))
    pointers[:len(keep)] = [x.ctypes.data for x in keep]
    if io:
        fields = np.concatenate([np.array(pointers, np.int64), size])
        return getattr(library, f"{name}_run")(ctypes.c_void_p(fields.ctypes.data)), room
    status = getattr(library, f"{name}_run")(*map(ctypes.c_void_p, pointers + ([size.ctypes.data] if sizes else [])))
    return status, room


def expected(name):
    s = onnxruntime.SessionOptions()
    s.log_severity_level = 3
    s.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL    # its optimisations compute the model "quantised" wrongly
    session = onnxruntime.InferenceSession(str(WORK / f"{name}.onnx"), s, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in session.get_inputs()], TABLE[name][2])))


def close(got, want):
    """Are the first bytes of the buffer the wanted tensor, except for rounding?"""
    x = got[:want.nbytes].view(want.dtype).reshape(want.shape)
    if want.dtype.kind != "f":
        return np.array_equal(x, want)
    return np.allclose(x, want, rtol=2e-3 if want.dtype == np.float16 else 1e-5, atol=1e-6, equal_nan=True)


DEFINED = {"function": r"^(?:static|RT_INLINE|SHARED)\b[^;={]*?\b(\w+)\([^;{]*\{", "type": r"^typedef .*?\b(\w+)(?: RT_ATTRIBUTE.*|\[.*)?;$",
           "struct": r"^(?:struct|union) (\w+) \{$", "macro": r"^ *# *define (\w+)"}
DECLARED = r"^(?:static|RT_INLINE|SHARED)\b[^;={]*?\b%s\([^;{]*[;{]|^ *# *(?:define|undef) %s\b"


def single_file(name, c):
    """The model's code comes before the runtime functions; each of these is used, and is there once."""
    text = re.sub(r"/\*.*?\*/", "", c.read_text(), flags=re.S)
    interface, code = text.split("\n#endif\n#endif\n", 1) if "\n#endif\n#endif\n" in text else ("", text)
    run_at = re.search(rf"int {name}_run_at\([^;]*\{{", code).start()
    body = code[run_at:]
    groups = re.sub(r"^#ifndef (ONNXCC_\w+)\n#define \1\n.*?^#endif$", "", code, flags=re.S | re.M) # complete or absent
    for kind, pattern in DEFINED.items():
        for m in re.finditer(pattern, groups, re.M):
            word, said = m[1], f"{name}, --single: the {kind} {m[1]}"
            uses = len(re.findall(rf"\b{word}\b", groups)) - len(re.findall(DECLARED % (word, word), groups, re.M))
            joined = re.sub(r"\d+$", "##", word) in code
            check(joined or uses > (kind in ("type", "struct")), f"{said} is not used")
    for m in re.finditer(DEFINED["function"], code, re.M):
        own = re.fullmatch(rf"{name}_\w+_\d+", m[1]) # the model's own: equal calls share it
        if not own and re.search(rf"^    .*\b{m[1]}\(", body.split("\n}\n")[0], re.M):
            check(m.start() > run_at, f"{name}, --single: {m[1]} is defined before the model's code")
    check("<onnxcc" not in text and text.count("#include <stddef.h>") == 1, f"{name}, --single: includes")
    check(not wide(text), f"{name}, --single: lines of more than 120 columns: {wide(text)[:3]}")


def same_numbers(name, c, single):
    """The results agree with ONNX Runtime's, and have the same bits in every mode."""
    header = c.with_suffix(".h").read_text()
    library = BUILD / "libonnxcc-rt.a"
    ways = {"gcc -O2": (c, "gcc", ["-O2"]), "gcc -O0": (c, "gcc", ["-O0"]), "clang": (c, "clang-14", ["-O2", "-ffp-contract=off"]),
            "small": (c, "gcc", ["-Os"]), "single": (single, "gcc", ["-O2"])}
    first = None
    for way, (file, cc, flags) in ways.items():
        so = shared(name, file, cc, flags)
        if not so:
            continue
        status, room = call(name, so, header)
        if first is None:
            first = room
            want = expected(name)
            check(status == 0 and len(room) == len(want) and all(map(close, room, want)), f"{name}: status {status}, other numbers")
        check(status == 0 and all(map(np.array_equal, room, first)), f"{name}: {way} gives other bits")
    program = c.with_suffix(".program")     # a program, because the library is not position-independent
    succeeds(f"{name}: linked with the library", "gcc", "-std=c99", "-Os", "-DONNXCC_LIBRARY", INCLUDE, "-x", "c", c, "-x", "c", "-",
             "-x", "none", library, "-Wl,--gc-sections", "-o", program, input=f"int {name}_run(void);\nint main(int n, char **a)\n"
             f"{{ return n > 9 ? {name}_run() + !a : 0; }}\n")


def alone(name):
    c, single = emit(name), emit(name, "--single", to=f"{name}-single")
    compiles(name, c, single)
    single_file(name, single)
    symbols(name, c)
    text(name, c)
    apart(name, c)
    same_bytes(name, c)
    same_numbers(name, c, single)


# ---- several models

def weights_anywhere():
    """Weights are in the C file, in a file beside it, or loaded by the caller; to load other weights is an error."""
    rooms = []
    for where in ("inline", "incbin", "file"):
        c = emit("network", f"--weights={where}", to=f"weights-{where}")
        header = c.with_suffix(".h").read_text()
        for cc in COMPILERS:
            makes(f"network, {where}: {cc}", c.with_suffix(f".{cc}.o"), cc, *STRICT, INCLUDE, "-c", c)
        p = run("s390x-linux-gnu-gcc", "-std=c99", INCLUDE, "-fsyntax-only", c)   # a big-endian machine
        check(p.returncode == 0 if where == "inline" else "little-endian" in p.stderr, f"network, {where}, big-endian: {p.stderr}")
        so = shared("network", c)
        data = None
        if where == "file":
            raw = np.fromfile(c.with_name("network.c.weights"), np.uint8)
            room = np.zeros(len(raw) + 128, np.uint8)
            at = -room.ctypes.data % 64
            data = room[at:at + len(raw)]
            library = ctypes.CDLL(str(so))
            check(call("network", so, header)[0] == 4, "network: runs without its weights")
            check(library.network_load(None, ctypes.c_size_t(len(raw))) == 4, "network: takes NULL for its weights")
            check(library.network_load(ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(len(raw))) == 4, "network: takes zeros")
            data[:] = raw
            check(library.network_load(ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(len(raw) - 1)) == 4, "network: takes less")
            data[5] ^= 1
            check(library.network_load(ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(len(raw))) == 4, "network: takes a wrong bit")
            data[5] ^= 1
            single = emit("network", "--weights=file", "--single", to="weights-single")
            makes("network, file, --single", single.with_suffix(".o"), "gcc", *STRICT, "-c", single)
        status, room = call("network", so, header, data)
        check(status == 0, f"network, {where}: status {status}")
        rooms.append(room)
        if where != "inline":
            check(c.stat().st_size < 9000, f"network, {where}: {c.stat().st_size} bytes of C")
    check(all(np.array_equal(a, b) for r in rooms for a, b in zip(r, rooms[0])), "network: weights elsewhere, other numbers")


def targets():
    """For an unknown name the message suggests the nearest target, or generic; the name of a real processor is not treated as misspelt."""
    for name, nearest in neighbours():
        p = run(BUILD / "onnxcc", WORK / "network.onnx", "-o", "-", "--target", name)
        says = f"not known, the nearest is {nearest};" if nearest else "not known, generic suits every processor;"
        check(p.returncode == 2 and says in p.stderr, f"--target {name}: {p.returncode}, not '{says}': {p.stderr}")
        check("did you mean" not in p.stderr, f"--target {name}: {p.stderr}")
    p = run(BUILD / "onnxcc", WORK / "network.onnx", "-o", "-", "--target", "coretx-m4")
    check("did you mean 'cortex-m4'?" in p.stderr, f"--target coretx-m4: {p.stderr}")


def stubs():
    """--custom-stub writes definitions that compile and return a status, to be filled in; it never overwrites a file."""
    folder = WORK / "stubs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    m = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "com.acme": 1]>
        g (float[n, 3] x, int64[2] i) => (float[n, 3] y, float[2] z) {
            y = com.acme.Twice <by = 2.5, names = ["a", "b"]> (x)  z = com.acme.Plain (i) }""")
    onnx.save(m, folder / "m.onnx")
    stub = folder / "stub.c"
    command = [BUILD / "onnxcc", folder / "m.onnx", "-o", folder / "m.c", "--prefix", "m", "--dim", "n<=4", "--custom-op", "com.acme.Twice",
               "--custom-op", "com.acme.Plain", "--custom-stub", stub]
    succeeds("--custom-stub", *command)
    text = stub.read_text()
    check("x0 float [n,3], y0 float [n,3]" in text and "x0 int64 [2], y0 float [2]" in text, f"--custom-stub: {text}")
    size = np.array([2, 0], np.int64)
    x, i, y, z = np.arange(6, dtype=np.float32), np.array([3, 4]), np.zeros(12, np.float32), np.zeros(2, np.float32)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, i, y, z, size)]
    twice = "for (int64_t k = 0; k < p.x0_dims[0] * p.x0_dims[1]; k++) y0[k] = p.by * x0[k] + (p.names[1][0] == 'b');"
    plain = "y0[0] = (float)x0[1]; y0[1] = (float)p.y0_dims[0];"
    for filled in False, True:
        so = folder / f"m{filled:d}.so"
        if filled:
            text = stub.read_text().replace("return -1; /* not written yet; 0: done */", f"{twice}\n    return 0;", 1)
            stub.write_text(text.replace("return -1; /* not written yet; 0: done */", f"{plain} return 0;"))
        if succeeds("--custom-stub, gcc", "gcc", *STRICT, INCLUDE, f"-I{folder}", "-shared", "-fPIC", folder / "m.c", stub, "-o", so):
            status = ctypes.CDLL(str(so)).m_run(*pointers)
            check(status == (0 if filled else -1), f"--custom-stub: status {status}")
    check(np.array_equal(y[:6], x * 2.5 + 1) and list(z) == [4, 2], f"--custom-stub: {y}, {z}")
    before = stub.read_text()
    p = run(*command)
    check(p.returncode == 3 and "the file exists" in p.stderr and stub.read_text() == before, f"--custom-stub, again: {p.stderr}")


def fields():
    """Attributes of custom operators are fields of structs, whatever their names are."""
    folder = WORK / "fields"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    words = ["mode", "a.b", "a-b", "a_b", "x0_dims", "int", "errno", "class", "x", "t", "p", "First", "m_First", "Second", "m_Second", "m_run", "m.x"]
    attributes = {w: i + 1 for i, w in enumerate(words)}
    nodes = [helper.make_node(op, ["x"], [op], domain="com.acme", **attributes) for op in ("First", "Second")]
    info = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2]) for n in ("x", "First", "Second")]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)], ir_version=8), folder / "m.onnx")
    customs = [o for op in ("First", "Second") for o in ("--custom-op", f"com.acme.{op}")]
    succeeds("fields", BUILD / "onnxcc", folder / "m.onnx", "-o", folder / "m.c", "--prefix", "m", *customs)
    header = (folder / "m.h").read_text()
    structs = {name: re.findall(r" (\w+)(?:\[\d+\])?;", body) for name, body in re.findall(r"struct (m_\w+) \{\n(.*?)\n\};", header, re.S)}
    check(len(structs) == 2, f"fields: structs {list(structs)}")
    for name, found in structs.items():
        plain = [w for w in ("mode", "x", "t", "p", "First", "Second") if w not in found]
        check(len(set(found)) == len(words) + 2 and not plain, f"fields: {name} has {found}, without {plain}")
    values = [a.i for a in nodes[0].attribute]
    text = '#include "m.h"\n' + "".join(
        f"int {name}(const float *x0, float *y0, struct {name} p) {{ (void)x0; "
        f"{' '.join(f'if (p.{f} != {i}) return {i};' for i, f in zip(values, found[2:]))} y0[0] = y0[1] = 1; return 0; }}\n"
        for name, found in structs.items())
    (folder / "functions.c").write_text(text)
    so = folder / "m.so"
    if succeeds("fields: C", "gcc", *STRICT, INCLUDE, f"-I{folder}", "-shared", "-fPIC", folder / "m.c", folder / "functions.c", "-o", so):
        x = [np.zeros(2, np.float32) for _ in range(3)]
        status = ctypes.CDLL(str(so)).m_run(*(ctypes.c_void_p(a.ctypes.data) for a in x))
        check(status == 0, f"fields: an attribute has not its value: {status}")
    succeeds("fields: C++", "g++", "-x", "c++", "-std=c++98", "-pedantic", "-Wno-long-long", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", folder / "m.h")


def structs():
    """--struct gives the same bits through a struct of pointers, then sizes, in C and C++."""
    for name in MODELS:
        c = emit(name, "--struct", to=f"{name}-struct")
        header, plain = c.with_suffix(".h").read_text(), (WORK / name / f"{name}.h").read_text()
        check(re.search(rf"int {name}_run\((struct {name}_io \*io|void)\);", header), f"{name}: no struct of parameters")
        succeeds(f"{name}: --struct, C++", "g++", "-x", "c++", "-std=c++98", "-pedantic", "-Wall", "-Wextra", "-Werror",
                 "-fsyntax-only", c.with_suffix(".h"))
        succeeds(f"{name}: --struct, gcc", "gcc", *STRICT, INCLUDE, "-fsyntax-only", c)
        status, room = call(name, shared(name, c, "gcc", ["-O2"]), header, io=True)
        want = call(name, shared(name, WORK / name / f"{name}.c", "gcc", ["-O2"]), plain)[1]
        check(status == 0 and len(room) == len(want) and all(map(np.array_equal, room, want)), f"{name}: --struct gives other bits")


def one_program():
    """Two models, one of them twice, in one program, in all modes of weights."""
    main = "#include <stdio.h>\n"
    main += "".join(f'#include "{n}.h"\n' for n in ("network", "types", "again"))
    main += ("static float x[NETWORK_X_SIZE], y[NETWORK_Y_SIZE], z[AGAIN_Y_SIZE];\nint main(void)\n{\n"
             "    for (int i = 0; i < NETWORK_X_SIZE; i++) x[i] = (float)(i % 7);\n"
             "    int bad = network_run(x, y) != NETWORK_OK || again_run(x, z) != AGAIN_OK;\n"
             "    for (int i = 0; i < NETWORK_Y_SIZE; i++) bad |= y[i] != z[i];\n"
             "    return bad || (void *)types_run == (void *)0 || network_status(0) == (const char *)0;\n}\n")
    folder = WORK / "together"
    folder.mkdir(exist_ok=True)
    (folder / "main.c").write_text(main)
    files = [emit("network", to="together"), emit("types", to="together")]
    again = folder / "again.c"
    succeeds("again", BUILD / "onnxcc", WORK / "network.onnx", "-o", again, "--prefix", "again")
    for mode, flags in MODES.items():
        program = folder / mode
        if succeeds(f"three models in a program, {mode}", "gcc", "-std=c99", "-O1", *flags, INCLUDE, *files, again, folder / "main.c",
                    *([BUILD / "libonnxcc-rt.a"] if mode == "library" else []), "-o", program):
            check(run(program).returncode == 0, f"three models in a program, {mode}: it fails")


def own_arena():
    """A program with an arena of its own, linked with --gc-sections, has no static one."""
    c = emit("network", to="own_arena")
    for call_, there in ("network_run_at(arena, x, y)", False), ("network_run(x, y)", True):
        program = c.with_suffix("")
        succeeds(f"{call_}: linked", "gcc", "-std=c99", "-O1", "-ffunction-sections", "-fdata-sections", INCLUDE, c, "-I", c.parent, "-x", "c", "-",
                 "-Wl,--gc-sections", "-o", program, input='#include "network.h"\nstatic float x[NETWORK_X_SIZE], y[NETWORK_Y_SIZE];\n'
                 'unsigned char arena[NETWORK_ARENA_BYTES] __attribute__((aligned(NETWORK_ARENA_ALIGN)));\n'
                 f'int main(void) {{ return {call_} + (int)y[0]; }}\n')
        check(("network_arena" in run("nm", program).stdout) == there, f"{call_}: the static arena is {'not ' * there}linked")


def defined(job):
    """No #if in a kernel's header uses an undefined name, whatever the types."""
    header, (cc, mode) = job
    return succeeds(f"{header}, every type: {cc}, {mode}", cc, "-std=c99", "-E", "-Wundef", *MODES[mode], f'-DKERNELS="{header}"',
                    "-o", os.devnull, RUNTIME / "rt.c")


def one_unit():
    """The C of several models in one translation unit, in any order, gives the same results; with --single also for several targets.
    Without it, code for generic and for a named target in one translation unit is an error."""
    folders = {"unit": [], "unit-single": ["--single"]}
    files = {f: [emit(n, *options, to=f) for n in MODELS] for f, options in folders.items()}
    for folder, options in folders.items():
        for prefix, target in ("again", "generic"), ("wide", "x86-64-v3"), ("wider", "x86-64-v4"):
            files[folder].append(WORK / folder / f"{prefix}.c")
            succeeds(f"{prefix}: onnxcc", BUILD / "onnxcc", WORK / "network.onnx", "-o", files[folder][-1], "--prefix", prefix,
                     "--target", target, *options)
    *generic, wide, wider = files["unit-single"]
    plain = files["unit"][:-2]
    headers = ["<stdio.h>", "<math.h>", "<string.h>", "<onnxcc/rt.h>"]
    together = {"files": plain, "single": generic, "backwards": [*generic[::-1]], "mixed": generic[::2] + plain[1::2],
                "between": [plain[0], generic[1], *plain[2:]], "targets": [wide, *generic, wider], "headers": [*headers, *generic]}
    for index, (unit, parts) in enumerate(together.items()):
        c = WORK / "unit" / f"{unit}.unit.c"
        c.write_text("".join(f"#include {p}\n" if str(p)[0] == "<" else f'#include "{p}"\n' for p in parts))
        for cc in chosen([*COMPILERS, "tcc"], index):
            so = c.with_suffix(f".{cc}.so")
            flags = ["-march=x86-64-v3"] if unit == "targets" else []
            if succeeds(f"{unit} in one translation unit, {cc}", cc, *STRICT, *flags, "-O1", INCLUDE, "-fPIC", "-shared", c, "-o", so):
                for name in MODELS:
                    same_as_alone(name, so)
    wide = files["unit"][-2]
    for first, second in (plain[0], wide), (wide, plain[0]):
        p = run("gcc", "-march=x86-64-v3", INCLUDE, "-fsyntax-only", "-x", "c", "-", input=f'#include "{first}"\n#include "{second}"\n')
        check("compile them apart" in p.stderr, f"{first.name}, {second.name} in one translation unit: {p.stderr}")


def same_as_alone(name, so):
    c = WORK / name / f"{name}.c"
    header = c.with_suffix(".h").read_text()
    status, room = call(name, so, header)
    want = call(name, shared(name, c, "gcc", ["-O2"]), header)[1]
    check(status == 0 and all(map(np.array_equal, room, want)), f"{name}: other bits from {so.name}")


def constants():
    """Constants have their exact bits; constants of equal elements take no memory."""
    c = WORK / "constants" / "constants.c"
    so = shared("constants", c, flags=["-O2"])
    _, room = call("constants", so, c.with_suffix(".h").read_text())
    check(np.array_equal(room[0].view(np.uint32), SPECIAL_BITS.view(np.uint32)), "constants: NaN, infinities, -0.0 are other bits")
    check(np.array_equal(room[1].view(np.int64), TABLE["constants"][2][1] + np.array([-2**63, 2**63 - 1, -2**31])),
          "constants: extreme integers")
    check(np.array_equal(room[3].view(np.float64).view(np.uint64), np.array([1 / 3, -0.0]).view(np.uint64)), "constants: doubles")
    check(c.stat().st_size < 9000, f"constants: a constant of one value costs {c.stat().st_size} bytes of C")


def scales():
    """The header has the scale and zero point of a tensor if they are the same for all elements, also after a Reshape."""
    header = (WORK / "quantised" / "quantised.h").read_text()
    found = re.findall(r"#define QUANTISED_(\w+_(?:SCALE|ZERO_POINT)) (\S+)", header)
    check(found == [("X_SCALE", "0.0471000001f"), ("X_ZERO_POINT", "3"), ("U_SCALE", "2.0f"), ("U_ZERO_POINT", "0"),
                    ("Y_SCALE", "2.0f"), ("Y_ZERO_POINT", "(-5)")], f"quantised: scales {found}")


def evaluated():
    """The strings that --eval-out writes can be read again."""
    folder, words = WORK / "evaluated", np.array(["a\u00e9", "", "b" * 200], object)
    folder.mkdir(exist_ok=True)
    (folder / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(words).SerializeToString())
    onnx.save(onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 20]>
        g (string[3] x) => (string[3] y) { y = StringConcat (x, x) }"""), folder / "m.onnx")
    succeeds("evaluated", BUILD / "onnxcc", folder / "m.onnx", "--eval", folder, "--eval-out", folder, "--dim", "x_text<=200")
    y = onnx.TensorProto.FromString((folder / "actual_0.pb").read_bytes())
    check(list(onnx.numpy_helper.to_array(y)) == list(words * 2), f"evaluated: {y}")


def wide_numbers():
    """A C compiler whose sizes do not hold a number of the model refuses the C for any machine, with a reason."""
    folder = WORK / "wide_numbers"
    folder.mkdir(exist_ok=True)
    for size, narrow, reason in ((70001, "avr-gcc", "more than 16 bits"), (2**33 + 1, "i686-linux-gnu-gcc", "need 64 bits")):
        onnx.save(onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
            g (float[1,3,1,1] x) => (float[1,3,1,1] y) {{ y = LRN <size = {size}> (x) }}"""), folder / "m.onnx")
        for target in "generic", "plain":
            succeeds("wide_numbers", BUILD / "onnxcc", folder / "m.onnx", "-o", folder / "m.c", "--single", "--target", target)
            makes(f"wide_numbers: {size}", folder / "m.o", "gcc", *STRICT, "-c", folder / "m.c")
            p = run(narrow, "-std=c99", "-fsyntax-only", folder / "m.c")
            check(p.returncode and reason in p.stderr, f"wide_numbers: {size}, {target}: {p.stderr[:300]}")


def channel_block():
    """--channel-block selects blocks of 8 or of 16 channels if the shape of the weights allows both."""
    folder = WORK / "channel_block"
    folder.mkdir(exist_ok=True)
    x, w = np.array([2, 3], np.float32).reshape(1, 2, 1, 1), np.arange(64, dtype=np.float32).reshape(32, 2, 1, 1)
    (folder / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(x).SerializeToString())
    for block in 8, 16:
        stored = w.reshape(-1, block, 2).transpose(0, 2, 1).reshape(w.shape)
        m = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "com.microsoft.nchwc": 1]>
            g (float[1, 2, 1, 1] x) => (float[1, 32, 1, 1] y) {
            a = com.microsoft.nchwc.Conv (x, w)  y = com.microsoft.nchwc.ReorderOutput <channels = 32> (a) }""")
        m.graph.initializer.append(onnx.numpy_helper.from_array(stored, "w"))
        onnx.save(m, folder / "m.onnx")
        succeeds("channel_block", BUILD / "onnxcc", folder / "m.onnx", "--eval", folder, "--eval-out", folder, f"--channel-block={block}")
        y = onnx.numpy_helper.to_array(onnx.TensorProto.FromString((folder / "actual_0.pb").read_bytes()))
        check(np.array_equal(y.ravel(), w.reshape(32, 2) @ x.ravel()), f"channel_block: {block}: {y}")


names = [n for n in MODELS if not NAMES or any(fnmatch.fnmatch(n, a) for a in NAMES)]
shutil.rmtree(WORK / "elsewhere", ignore_errors=True)
WORK.mkdir(parents=True, exist_ok=True)
for n, (m, _, _) in TABLE.items():
    onnx.save(m, str(WORK / f"{n}.onnx"))
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    list(pool.map(alone, names))
if not NAMES:
    weights_anywhere()
    targets()
    structs()
    stubs()
    fields()
    one_program()
    own_arena()
    one_unit()
    constants()
    scales()
    evaluated()
    wide_numbers()
    channel_block()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(defined, itertools.product(sorted(h.name for h in RUNTIME.glob("*.h")), zip(COMPILERS, MODES))))
print(f"emitted: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
