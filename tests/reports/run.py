"""References from the emitted C and the report to the model, and to the weights. Prints failures, then "reports: N passed, N
failed"."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.parser import parse_model

import figures
import pages
import profile
import progress
import size
import trace
import vectors
from checks import check, counts

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "reports"
INCLUDE = f"-I{BUILD / 'include'}"


def run(*command, cwd=WORK):
    return subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=300)


def network():
    """A network in which every node except views has code, and most are fused."""
    rng = np.random.default_rng(0)
    shapes = {"conv.weight": (8, 4, 3, 3), "conv.bias": (8,), "bn.scale": (8,), "bn.bias": (8,), "bn.mean": (8,), "fc.weight": (8, 5)}
    weights = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), n) for n, s in shapes.items()]
    weights.append(numpy_helper.from_array(rng.random(8).astype(np.float32) + 1, "bn.var"))
    deep = "/decoder/" + "a_long_way_down/" * 4
    nodes = [helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], name="/conv/Conv"),
             helper.make_node("BatchNormalization", ["c", "bn.scale", "bn.bias", "bn.mean", "bn.var"], ["d"], name="/bn/BN"),
             helper.make_node("HardSwish", ["d"], ["e"], name="/act/HardSwish"),
             helper.make_node("GlobalAveragePool", ["e"], ["g"], name="/gap/GlobalAveragePool"),
             helper.make_node("Flatten", ["g"], ["f"], name="/flat/Flatten"),
             helper.make_node("MatMul", ["f", "fc.weight"], ["k"], name=deep + "MatMul"),
             helper.make_node("Sigmoid", ["k"], ["l"], name=deep + "Sigmoid"),
             helper.make_node("Softmax", ["l"], ["y"], name=deep + "Softmax")]
    info = [helper.make_tensor_value_info("x", 1, ["batch", 4, 16, 16])], [helper.make_tensor_value_info("y", 1, ["batch", 5])]
    return helper.make_model(helper.make_graph(nodes, "g", *info, weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def names():
    """The C names every node and every large weight; the report has the operations at the bounds of sizes, and the ends of long names."""
    m = network()
    onnx.save(m, WORK / "network.onnx")
    p = run(BUILD / "onnxcc", "network.onnx", "-o", "network.c", "--dim", "batch<=4", "--report")
    check(p.returncode == 0, f"network: {p.stderr}")
    c = (WORK / "network.c").read_text()
    for n in m.graph.node:
        check(f'{n.op_type} "{n.name}"' in c, f"network.c does not name {n.op_type} {n.name}")
    for weight in ("conv_weight", "conv_bias", "fc_weight"):
        check(re.search(rf"static const f32 network_{weight}\[", c), f"network.c has no constant {weight}")
    check("network_constant" not in re.findall(r"static const f32 (\w+)\[", c), "network.c: a constant without a name")
    check(all(len(line) <= 80 for line in p.stdout.splitlines()), f"the report is wider than 80 columns:\n{p.stdout}")
    check(f"compute {4 * (14 * 14 * 8 * 36 + 8 * 5)} MAC" in p.stdout, f"MACs at the bounds: {p.stdout}")
    check("GlobalAveragePool" in p.stdout and "ReduceMean" not in p.stdout, f"the model's operators: {p.stdout}")
    rows = re.findall(r"^ +\d+ \S+ +(\S+) ", p.stdout, re.M)
    check(rows and all(r.endswith(("Conv", "Pool", "MatMul", "Softmax", "x")) for r in rows), f"ends of names: {rows}")
    p = run(BUILD / "onnxcc", "network.onnx", "-o", "network.c", "--dim", "batch<=4", "--report=json")
    said = {n["name"] for step in json.loads(p.stdout)["steps"] for n in step["nodes"]}
    missing = {n.name for n in m.graph.node} - said - {"/flat/Flatten"}
    check(not missing, f"the report in JSON does not name {missing}")


def without_names():
    """The scratch memory of a node without a name is that of its result."""
    graph = "g (float[1,2,8,8] x, float[2,2,3,3] w) => (float[1,2,8,8] y) { y = Conv<pads=[1,1,1,1]>(x, w) }"
    onnx.save(parse_model(f'<ir_version: 8, opset_import: ["":17]> {graph}'), WORK / "unnamed.onnx")
    p = run(BUILD / "onnxcc", "unnamed.onnx", "-o", "unnamed.c", "--report=json")
    of = [t["name"] for t in json.loads(p.stdout)["tensors"] if t["kind"] == "scratch"]
    check(of and all(of), f"scratch memory of {of}")


PASSED_ON = {
    "(float[3] x) => (float[3] z) { z = Identity(x) }": "x z",
    "(float[3] x, float[3] w) => (float[3] z, float[3] v) { z = Relu(x)  v = Identity(w) }": "x w z v",
    "(float[3] x) => (float[3] z, float[3] w) { z = Relu(x)  w = Identity(z) }": "x z w",
    "(float[3] x) => (float[3] z, float[3] w) { z = Relu(x)  w = Relu(x) }": "x z w",
    "(float[3] x, float[3] y) => (seq(float[3]) out) { out = SequenceConstruct(x, y) }": "x y out_0 out_1",
    "(float[3] x) => (seq(float[3]) out) { out = SequenceConstruct(x, x) }": "x out_0 out_1",
    "(float[3] x) => (optional(float[3]) out) { out = Optional(x) }": "x out out_given",
    "(float[3] a) => (float[3] b) { c = Relu(a)  b = Identity(c) }": "a b",
    "(float[3,4] x) => (float[12] z) <int64[1] s = {12}> { z = Reshape(x, s) }": "x z",
    "(float[3] x) => (float[3] z, float[3] y) <float[3] w = {1,2,3}> { z = Identity(w)  y = Relu(x) }": "x z y",
}


def parameters():
    """The C's parameters have the model's names, even if they share storage with other values."""
    for k, (text, expected) in enumerate(PASSED_ON.items()):
        onnx.save(parse_model(f'<ir_version: 8, opset_import: ["":17]> g {text}'), WORK / f"passed{k}.onnx")
        p = run(BUILD / "onnxcc", f"passed{k}.onnx", "-o", f"passed{k}.c")
        check(p.returncode == 0, f"{text}: {p.stderr}")
        header = (WORK / f"passed{k}.h").read_text()
        found = re.findall(r"\*(\w+)[,)]", re.search(r"_run\((.*?)\);", header, re.S)[0])
        check(found == expected.split(), f"{text}: {found}")


def weights():
    """The C finds its weights file in any folder, or the C compiler's error names the remedy."""
    folder = WORK / "sub"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "b\\b").mkdir(parents=True)
    run(BUILD / "onnxcc", "network.onnx", "-o", folder / "w.c", "--prefix", "w", "--dim", "batch<=4", "--weights=incbin")
    for f in folder.glob("w.*"):
        shutil.copy(f, folder / "b\\b")
    shutil.copy(folder / "w.c", WORK / "renamed.c")
    shutil.copy(folder / "w.h", WORK)
    mapped = f"-ffile-prefix-map={WORK}=/nowhere"
    for cc in ("gcc", "clang-14"):
        compiles = {"plain": ["sub/w.c"], "mapped": ["-Isub", mapped, folder / "w.c"], "renamed": ["-Isub", "renamed.c"],
                    "backslash": ["-Isub/b\\b", "sub/b\\b/w.c"], "given": ['-DW_WEIGHTS_FILE="sub/w.c.weights"', "renamed.c"]}
        for what, arguments in compiles.items():
            p = run(cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wundef", "-Werror", INCLUDE, "-c", *arguments, "-o", "w.o")
            check(p.returncode == 0, f"weights, {what}, {cc}: {p.stderr}")
        p = run(cc, INCLUDE, "-c", "renamed.c", "-o", "w.o")
        check(p.returncode and "W_WEIGHTS_FILE" in p.stderr, f"weights that are not there, {cc}: {p.stderr}")


def standard_output():
    """-o - prints only the C, which needs no header; the report goes to standard error."""
    p = run(BUILD / "onnxcc", "network.onnx", "-o", "-", "--dim", "batch<=4", "--report", "--prefix", "network")
    (WORK / "out.c").write_text(p.stdout)
    check(p.returncode == 0 and "lower bound" in p.stderr, f"-o - --report: {p.stderr}")
    p = run("gcc", "-std=c99", "-Wall", "-Werror", "-fsyntax-only", INCLUDE, "out.c")
    check(p.returncode == 0 and not p.stderr, f"-o -: {p.stderr}")


def links():
    """Output through a symbolic link writes its target, and keeps the link; no file is written beside a device or standard output."""
    folder = WORK / "links"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "far").mkdir(parents=True)
    (folder / "far" / "there.c").write_text("old")
    leads = {"m.c": "far/there.c", "n.c": "far/new.c", "null.c": "/dev/null", "out.c": "/proc/self/fd/1"}
    for name, to in leads.items():
        (folder / name).symlink_to(to)
    said = {}
    for name in ("-", *leads):
        with open(folder / "said", "w", encoding="utf-8") as out:
            out.write("before\n")
            out.flush()
            p = subprocess.run([BUILD / "onnxcc", WORK / "network.onnx", "-o", name, "--dim", "batch=1"], cwd=folder, stdout=out,
                               stderr=subprocess.PIPE, text=True, timeout=300)
        said[name] = (folder / "said").read_text()
        check(p.returncode == 0 and not p.stderr, f"-o {name}, a link: {p.stderr}")
        check(name == "-" or (folder / name).is_symlink(), f"-o {name} replaces the link")
    check(said["out.c"] == said["-"] != "before\n", "-o LINK to standard output: not what -o - writes")
    check(all(said[name] == "before\n" for name in ("m.c", "n.c", "null.c")), "-o LINK writes to standard output")
    check(all("network_run" in (folder / c).read_text() for c in ("m.c", "n.c", "m.h", "n.h")), "-o LINK: no C or no header")
    files = {str(f.relative_to(folder)) for f in folder.rglob("*")}
    check(files == {*leads, "far", "far/there.c", "far/new.c", "m.h", "n.h", "said"}, f"-o LINK leaves {sorted(files)}")


LOOP = """(float[3] v, float[3] w) => (float[3] r, float[3] s) <int64 M = {10}, bool t = {1}, float one = {1}> {
    r, s = Loop (M, t, v, w) <body = b (int64 i, bool ci, float[3] a, float[3] k) => (bool co, float[3] o, float[3] k2) {
        m = ReduceSum <keepdims = 0> (a)   co = Less(m, one)   o = Mul(a, k)   k2 = Identity(k) }> }"""


def loops():
    """Loops have no check that their head implies, and no copy of bytes that are in place."""
    onnx.save(parse_model(f'<ir_version: 8, opset_import: ["":17]> g {LOOP}'), WORK / "loop.onnx")
    run(BUILD / "onnxcc", "loop.onnx", "-o", "loop.c")
    body = (WORK / "loop.c").read_text().split("for (idx iteration")[1]
    check("iteration >=" not in body, f"loop.c checks its trip count twice: {body}")
    check('Copy "k2"' not in body, f"loop.c copies a state to where it is: {body}")


WORK.mkdir(parents=True, exist_ok=True)
for part in (names, without_names, parameters, weights, standard_output, links, loops, figures.official, figures.known,
             pages.small, pages.large, profile.profile, size.size, progress.progress, trace.official, trace.fates, trace.scaled, trace.hostile,
             trace.nameless, trace.files, trace.large, vectors.everything):
    part()
print(f"reports: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
