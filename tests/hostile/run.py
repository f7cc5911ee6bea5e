"""Models with hostile text in their strings, and with names that C's headers, onnxcc's headers and the emitted code define: run.py
SUITE TURN [MODEL...]. The C of accepted models compiles, before and after common headers, its header also as C++, and contains no live text;
messages are printable. TURN selects one of EVERY models, and of the names, and kinds of values that have them, half of the pairs. Prints
failures, then "hostile: N passed, N failed"."""
import concurrent.futures
import fnmatch
import html.parser
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import traceback
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import headers
import texts
from checks import check, counts
from texts import MARK, PLACE, TEXTS

BUILD = pathlib.Path(os.environ["B"])
FULL = os.environ.get("FULL", "") not in ("", "0")
WORK = BUILD / "hostile"
ROOT = pathlib.Path(__file__).resolve().parents[2]
CC = ["gcc", "-std=c99", "-D_GNU_SOURCE", "-trigraphs", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only", f"-I{BUILD / 'include'}"]
CXX = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
EVERY = 1 if FULL else 8
NAMES_PER_MODEL = 480


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, timeout=600, **options)


# ---- the output

TRIGRAPHS = {"=": "#", "/": "\\", "'": "^", "(": "[", ")": "]", "!": "|", "<": "{", ">": "}", "-": "~"}
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def live(text):
    """The text outside of comments and strings."""
    text = re.sub(r"\?\?([=/'()!<>-])", lambda m: TRIGRAPHS[m[1]], text)
    return TOKEN.sub(" ", re.sub(r"\\[ \t]*\r?\n", "", text))


def printable(data):
    """Is it free of control characters, forged lines and changes of text direction?"""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return not re.search(r"[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)


def dead_text(what, folder):
    for f in sorted(folder.glob("*.[ch]")):
        text = f.read_bytes().decode("latin-1")
        rest = live(text)
        check(MARK not in rest and text.isascii() and not re.search(r"[^\n -~]", text), f"{what}: live text in {f.name}: "
              f"{rest[max(0, rest.find(MARK) - 60):][:200]!r}")


# ---- one model

def compiles(what, c, included):
    p = run(*CC, *included, c)
    check(p.returncode == 0 and not p.stderr, f"{what}: {c}\n{p.stderr.decode()[:1500]}")


def compiled(what, data, folder, options, included, must=True):
    """Is it accepted? Then it must compile; otherwise there must be a message."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "m.onnx").write_bytes(data)
    p = run(BUILD / "onnxcc", "m.onnx", "-o", "m.c", *options, cwd=folder)
    unbounded = set(re.findall(rb"^error\[(.*?)\]", p.stderr, re.M)) <= {b"SHP-11", b"TYP-05"}   # needs --dim or --shape
    good = p.returncode == 0 or p.returncode in (1, 2, 3) and (not must or p.returncode == 1 and unbounded)
    check(good and printable(p.stdout + p.stderr), f"{what}: exit {p.returncode}\n{p.stderr[:600]!r}")
    if p.returncode == 0:
        dead_text(what, folder)
        compiles(what, folder / "m.c", included)
        if "--report=json" in options:
            reported(what, p.stdout, (folder / "m.h").read_text())
        if "--report=html" in options:
            one_page(what, p.stdout)
    if "--diagnostics=json" in options:
        for line in p.stderr.splitlines():
            parsed(f"{what}: a message", line)
    return p.returncode == 0


def parsed(what, text):
    try:
        return json.loads(text)
    except ValueError as e:
        check(False, f"{what} is no JSON: {e}: {text[:200]}")
        return None


def reported(what, out, header):
    """The parameters and sizes in the report are those of the header."""
    interface = (parsed(f"{what}: the report", out) or {}).get("interface", {})
    missing = [p["c"] for p in interface.get("parameters", []) if not re.search(rf"\*{p['c']}\b", header)]
    missing += [s["c"] for s in interface.get("sizes", []) if f" int64_t {s['c']};" not in header]
    check(not missing, f"{what}: in the report, not in the header: {missing}")


class Tags(html.parser.HTMLParser):
    seen = frozenset()

    def handle_starttag(self, tag, attrs):
        self.seen |= {tag}


def one_page(what, out):
    """The report's page has the same tags for every model, and no text of the model outside of its script."""
    tags = Tags()
    tags.feed(out.decode("ascii"))
    PAGES.add(tags.seen)
    check(len(PAGES) == 1, f"{what}: the page has other tags: {sorted(map(sorted, PAGES))}")
    outside = re.sub(rb"<script.*?</script>", b"", out, flags=re.S)
    check(MARK.encode() not in outside, f"{what}: live text in the page")


PAGES = set()
MODES = [["--single"], ["--prefix", "m"], ["--report=json"], ["--report", "-v"], ["--weights=file"], ["--single", "--profile"],
         ["-d", "pifslbua", "--remarks"], ["--weights=incbin"], [], ["--struct", "--report=json", "--profile"],
         ["--report=html", "--tap", "all"], ["--diagnostics=json", "--remarks", "-v", "--struct", "--single"]]


def mutant(job):
    """The model with other names, or with other strings."""
    number, file = job
    rng = random.Random(zlib.crc32(str(file).encode()))
    model = onnx.load(file)
    raw = list(texts.BYTES)
    all_texts = TEXTS + [PLACE % i for i in range(len(raw))]
    free = itertools.cycle(rng.sample(all_texts, len(all_texts)))
    draw = (t if n < len(NAMEABLE) else f"{t} {n}" for n, t in enumerate(itertools.cycle(rng.sample(NAMEABLE, len(NAMEABLE)))))
    name = "/".join(file.parts[-3:-1])
    must = number % 3 < 2 and "gradient" not in name    # its attributes are names of values
    options = MODES[number % len(MODES)]
    mutated = texts.renamed(model, draw, free) if number % 3 < 2 else texts.wild(model, rng, free)
    compiled(name, texts.serialized(mutated, raw), WORK / "mutants" / str(number), options, INCLUDED[number % 3], must)
    shutil.rmtree(WORK / "mutants" / str(number))


# Names that the format allows for values: not empty, and not reserved by a tool's convention.
NAMEABLE = [t for t in TEXTS if t and "\0" not in t and t != "*" and len(t) < 5000] + ["x" * 5000]


# ---- names that are taken

KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof alignas alignof and
    and_eq bitand bitor bool catch char16_t char32_t char8_t class compl concept const_cast consteval constexpr constinit co_await
    co_return co_yield decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public reinterpret_cast requires static_assert static_cast template this thread_local throw
    true try typeid typename using virtual wchar_t xor xor_eq main exp log floor y0 y1 j0 index time read link gamma x0 scratch stack
    weights bad ok h arena status sizes run load""".split()


def own_names():
    """Every identifier in the files that onnxcc writes, in the runtime's headers, and in two programs with PREFIX m."""
    seen = "".join(f.read_text() for f in (ROOT / "runtime-min").iterdir() if f.suffix in (".h", ".def"))
    weights = np.arange(64, dtype=np.float32).reshape(8, 8)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("NonZero", ["t"], ["y"])]
    x, y = helper.make_tensor_value_info("x", 1, ["n", 8]), helper.make_tensor_value_info("y", TensorProto.INT64, None)
    m = model_of(nodes, [x], [y], [numpy_helper.from_array(weights, "w")])
    programs = [(m, ["--dim", "n<=4", "--weights=file"]), (m, ["--dim", "n<=4", "--weights=incbin", "--struct", "--profile"]),
                as_states(["a", "b", "c"]), as_trained(["a", "b", "c"])]
    for k, (m, options) in enumerate(programs):
        folder = WORK / f"own{k}"
        compiled(f"own names {k}", m.SerializeToString(), folder, ["--prefix", "m", *options], INCLUDED[0])
        seen += "".join(f.read_text() for f in folder.glob("*.[ch]"))
    return set(re.findall(r"\b[A-Za-z][A-Za-z0-9_]*", live(seen)))


def model_of(nodes, inputs, outputs, weights=()):
    g = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tensors(names):
    return [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in names]


def as_parameters(names):
    """A model whose inputs, values and outputs have these names."""
    third = len(names) // 3
    ins, mids, outs = names[:third], names[third:2 * third], names[2 * third:3 * third]
    nodes = [helper.make_node("Softmax", [a], [b]) for a, b in zip(ins, mids)]
    nodes += [helper.make_node("Softmax", [a], [b]) for a, b in zip(mids, outs)]
    return model_of(nodes, tensors(ins), tensors(outs)), []


def as_constants(names):
    """A model whose constants, of 4 to 10 elements, have these names; the indices into them are known only at run time."""
    rng = np.random.default_rng(len(names))
    weights = [numpy_helper.from_array(rng.standard_normal(20).astype(np.float32), n) for n in names]
    outs = [f"out {i} of them" for i in range(len(names))]
    nodes = [helper.make_node("Gather", [n, "which one"], [o]) for n, o in zip(names, outs)]
    which = helper.make_tensor_value_info("which one", TensorProto.INT64, [1])
    info = [helper.make_tensor_value_info(o, TensorProto.FLOAT, [1]) for o in outs]
    return model_of(nodes, [which], info, weights), []


def as_sizes(names):
    """A model whose sizes have these names."""
    inputs = [helper.make_tensor_value_info(f"in {i}", TensorProto.FLOAT, names[i:i + 8]) for i in range(0, len(names), 8)]
    outputs = [helper.make_tensor_value_info(f"out {i}", TensorProto.FLOAT, names[i:i + 8]) for i in range(0, len(names), 8)]
    nodes = [helper.make_node("Softmax", [a.name], [b.name]) for a, b in zip(inputs, outputs)]
    return model_of(nodes, inputs, outputs), [o for n in names for o in ("--dim", f"{n}<=2")]


def as_operators(names):
    """A model whose custom operators and their attributes have these names."""
    n = len(names)
    nodes = [own_node(names[i], "d.e", f"v{i}", {names[(i + 1) % n]: i, names[(i + 2) % n]: names[i], names[(i + 7) % n]: [0.5, 2.0]},
                      ["x"] * (1 + i % 2)) for i in range(n)]
    return model_of_own(nodes), [o for name in names for o in ("--custom-op", f"d.e.{name}")]


def as_fields(names):
    """A model for --struct whose inputs, some with a default, have these names."""
    half = len(names) // 2
    nodes = [helper.make_node("Softmax", [a], [b]) for a, b in zip(names, names[half:])]
    weights = [numpy_helper.from_array(np.ones(3, np.float32), n) for n in names[:half:3]]
    return model_of(nodes, tensors(names[:half]), tensors(names[half:2 * half]), weights), ["--struct"]


def as_states(names):
    """A model whose states and their sizes have these names."""
    inputs = [helper.make_tensor_value_info(a, TensorProto.FLOAT, [b]) for a, b in zip(names, names[1:] + names)]
    outputs = [helper.make_tensor_value_info(f"next {n}", TensorProto.FLOAT, [f"of {n}"]) for n in names]
    nodes = [helper.make_node("Concat", [n, "one more"], [o.name], axis=0) for n, o in zip(names, outputs)]
    return model_of(nodes, [*tensors(["one more"]), *inputs], outputs), ["--all-dims=<=20", "--state", "next *=*"]


def as_trained(names, inputs=("the input",)):
    """A training model whose state variables, of a number of bytes that is no multiple of 8, have these names."""
    weights = [numpy_helper.from_array(np.ones(1 + 2 * (i == 0), np.float16), n) for i, n in enumerate(names)]
    numbers = [helper.make_tensor_value_info(n, TensorProto.FLOAT16, [3]) for n in (*inputs, "the sum")]
    steps = [helper.make_node("Sub", [n, "just one" if w.dims[0] == 1 else "the sum"], [f"next {n}"]) for n, w in zip(names, weights)]
    nexts = [helper.make_tensor_value_info(f"next {n}", TensorProto.FLOAT16, w.dims) for n, w in zip(names, weights)]
    m = model_of([helper.make_node("Sum", [*inputs, *names], ["the sum"])], numbers[:-1], numbers[-1:], weights)
    m.training_info.add().algorithm.CopyFrom(helper.make_graph(steps, "a", [], nexts, [numpy_helper.from_array(np.ones(1, np.float16), "just one")]))
    for n in names:
        m.training_info[0].update_binding.add(key=n, value=f"next {n}")
    return m, ["--training"]


def as_steps(names):
    """A training model whose steps have inputs of these names."""
    return as_trained(["a variable"], names)


def own_node(op, domain, result, attributes, inputs=("x",)):
    node = helper.make_node("Op", list(inputs), [result], domain=domain)
    node.op_type = op
    for name, value in attributes.items():
        node.attribute.append(helper.make_attribute("a", value))
        node.attribute[-1].name = name
    return node


def model_of_own(nodes):
    outputs = [n.output[0] for n in nodes]
    m = model_of(nodes, tensors(["x"]), tensors(outputs))
    m.opset_import.extend(helper.make_opsetid(d, 1) for d in sorted({n.domain for n in nodes}))
    return m


def named(job):
    number, names, shape = job
    m, options = shape(names)
    what = f"names {names[0]} to {names[-1]} {shape.__name__}"
    folder = WORK / "names" / str(number)
    weights = [["--weights=file"], [], ["--weights=incbin"]][number % 3] if shape is as_constants else []
    if compiled(what, m.SerializeToString(), folder, ["--prefix", "m", *options, *weights], INCLUDED[1]):
        for others in INCLUDED[0], INCLUDED[2]:
            compiles(what, folder / "m.c", others)
        if shape is not as_constants:
            header_in_cxx(what, folder / "m.h", INCLUDED[1])
    shutil.rmtree(folder)


def header_in_cxx(what, header, included):
    p = run(*CXX, *included, "-x", "c++", header)
    check(p.returncode == 0, f"{what}: the header as C++\n{p.stderr.decode()[:1500]}")
    own = re.findall(r"^#define (\w+)", header.read_text(), re.M)
    check(len(own) == len(set(own)), f"{what}: macros twice: {sorted(n for n in set(own) if own.count(n) > 1)[:5]}")


# ---- custom operators

def own_operators(number):
    """Custom operators with hostile domains, names, attributes and strings; this text is the name of one and the domain of another."""
    rng = random.Random(number)
    raw = list(texts.BYTES)
    some = rng.sample(TEXTS, 40) + [PLACE % i for i in range(len(raw))]
    name, nodes, options = TEXTS[number], [], []
    for k, (op, domain) in enumerate([(name, some[0]), (some[1], name), (name, "com.example.v1")]):
        names = [*dict.fromkeys([name, *rng.sample(NAMEABLE, 9)])]
        values = [k, 0.5, [1, -k], [2.0], name, some[2:7], rng.choice(some), 0.0, [7], [name]]
        nodes.append(own_node(op, domain, f"v{k}", dict(zip(names, values))))
        options += ["--custom-op", f"{domain}.{op}"]
    what = f"operators named {name[:30]!r}"
    folder = WORK / "operators" / str(number)
    must = all(n in NAMEABLE for n in (name, some[0], some[1]))
    options = [o.replace("\0", "?") for o in options] + MODES[number % len(MODES)]
    if compiled(what, texts.serialized(model_of_own(nodes), raw), folder, options, INCLUDED[number % 3], must) and (folder / "m.h").exists():
        header_in_cxx(what, folder / "m.h", INCLUDED[number % 3])
    shutil.rmtree(folder)


# ---- text that comes from elsewhere than the model

def headers_listed():
    """compiler/emit/taken.def has every name that this machine's headers define."""
    have = headers.written()
    for what, found, known in zip(("anywhere", "at file scope"), headers.of_headers(), (have[0], have[0] | have[1])):
        missing = sorted(found - known)
        check(not missing, f"names that headers define {what}, not in taken.def (headers.py FILE): {missing[:20]}")


def external():
    """Weights in a file with a hostile name."""
    for k, t in enumerate(TEXTS):
        if not t or "/" in t or "\0" in t or len(t.encode()) > 200 or t == ".":
            continue
        folder = WORK / "external" / str(k)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / t).write_bytes(np.arange(1, 4, dtype=np.float32).tobytes())
        w = TensorProto(name=t, data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
        w.external_data.add(key="location", value=t)
        m = model_of([helper.make_node("Add", ["x", t], ["y"])], tensors("x"), tensors("y"), [w])
        (folder / "m.onnx").write_bytes(m.SerializeToString())
        p = run(BUILD / "onnxcc", "m.onnx", "-o", "m.c", cwd=folder)
        if check(p.returncode == 0 and printable(p.stderr), f"external data in {t!r}: {p.stderr!r}"):
            dead_text(f"external data in {t!r}", folder)
        missing = run(BUILD / "onnxcc", "m.onnx", "-o", "n.c", cwd=folder) if not (folder / t).unlink() else None
        check(missing.returncode in (1, 3) and printable(missing.stderr), f"external data gone in {t!r}: {missing.stderr!r}")


def file_names():
    """The model's file, the output, the prefix."""
    m = model_of([helper.make_node("Softmax", ["x"], ["y"])], tensors("x"), tensors("y")).SerializeToString()
    for k, t in enumerate(TEXTS + KEYWORDS + ["x", "f", "w", "r", "rt", "RT", "onnxcc", "string"]):
        if not t or "/" in t or "\0" in t or len(t.encode()) > 200 or t in (".", "-"):
            continue
        folder = WORK / "files" / str(k)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / f"{t}.onnx").write_bytes(m)
        p = run(BUILD / "onnxcc", f"./{t}.onnx", "--report", "-o", "m.c", cwd=folder)
        if check(p.returncode == 0 and printable(p.stdout + p.stderr), f"model {t!r}: {p.stderr!r}"):
            dead_text(f"model {t!r}", folder)
            compiles(f"model {t!r}", folder / "m.c", INCLUDED[1])
        p = run(BUILD / "onnxcc", f"./{t}.onnx", cwd=folder)
        stands = printable(t.encode()) and not re.search(r'["\\\n]|\?\?', t)
        check(p.returncode == (0 if stands else 2) and printable(p.stdout + p.stderr), f"model {t!r} to its own name: {p.stderr!r}")
        for c in set(folder.glob("*.c")) - {folder / "m.c"}:
            compiles(f"model {t!r}, {c}", c, INCLUDED[1])


def prepare():
    """Precompiles common headers."""
    WORK.mkdir(parents=True, exist_ok=True)
    everybody = WORK / "everybody.h"
    everybody.write_text(headers.available("gcc"))
    both = pathlib.Path(f"{everybody}.gch")     # the compiler uses the precompiled header of its language
    both.mkdir(exist_ok=True)
    for command, kind in ((CC, "c-header"), (CXX, "c++-header")):
        subprocess.run([*(f for f in command if f != "-fsyntax-only"), "-x", kind, everybody, "-o", both / kind], check=True)
    vendors = WORK / "vendors.h"    # macros of headers that are not on this machine, which break uses of their names
    vendors.write_text("#define round(x) @\n" + "".join(f"#undef {w}\n#define {w}(a,b) @\n" for w in ("min", "max", "bit", "sq", "word"))
                       + "".join(f"#undef {w}\n#define {w} @\n" for w in headers.VENDORS if w not in ("TRUE", "FALSE")))
    return [[], ["-include", everybody], ["-include", vendors]]


INCLUDED = []


def main():
    suite, turn, patterns = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:]
    INCLUDED.extend(prepare())
    files = sorted(suite.glob("*/*/model.onnx"))
    if patterns:
        files = [f for f in files if any(fnmatch.fnmatch(f.parent.name, p) for p in patterns)]
    else:
        files = files[turn % EVERY::EVERY]
    jobs = [(mutant, job) for job in enumerate(files)]
    if not patterns:
        all_names = set().union(*headers.of_headers()) | own_names() | set(KEYWORDS)
        pool = random.Random(1).sample(sorted(all_names), len(all_names))
        groups = [pool[i:i + NAMES_PER_MODEL] for i in range(0, len(pool) - 2, NAMES_PER_MODEL)]
        shapes = [as_parameters, as_constants, as_sizes, as_operators, as_fields, as_states, as_trained, as_steps]
        jobs += [(named, (len(shapes) * i + k, g, s)) for i, g in enumerate(groups) for k, s in enumerate(shapes)
                 if FULL or (i + k + turn) % 2 == 0]
        jobs += [(own_operators, number) for number in range(len(TEXTS))]
        jobs += [(lambda f: f(), f) for f in (headers_listed, external, file_names)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(f, job) for f, job in jobs]:
            try:
                future.result()
            except Exception as e:
                check(False, "".join(traceback.format_exception(e)))
    print(f"hostile: {counts[True]} passed, {counts[False]} failed")
    return counts[False] > 0


if __name__ == "__main__":
    sys.exit(main())
