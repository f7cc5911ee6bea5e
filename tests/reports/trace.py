"""--map: valid by its schema; it has every node of the file once, every line of the C, the right text at the lines, and the ranges of
the report. Constants are computed again from the initializers by the operations in the map."""
import json
import os
import re
import subprocess
import sys

import jsonschema
import numpy as np
import onnx
import onnx.reference
from onnx import numpy_helper

import figures
from checks import check

BUILD, WORK, CACHE = figures.BUILD, figures.WORK, figures.CACHE
SCHEMA = jsonschema.Draft202012Validator(json.loads((figures.ROOT / "docs" / "map.schema.json").read_text()))
EVERY = 1 if os.environ.get("EVERY") else 8


def compiled(model, *options):
    """The map, the lines of the C from 1 on, and the report; None: the model does not compile."""
    p = subprocess.run([BUILD / "onnxcc", model, "-o", WORK / "map.c", "--map", WORK / "map.json", "--prefix", "m", "--report=json", "--quiet",
                        *options], capture_output=True, text=True, timeout=300)
    if p.returncode:
        return None
    return json.loads((WORK / "map.json").read_text()), ["", *(WORK / "map.c").read_text().split("\n")], json.loads(p.stdout)


def nodes_of_graph(graph, path):
    for i, n in enumerate(graph.node):
        yield f"{path}.node[{i}]", n
        for a in n.attribute:
            for g in [a.g, *a.graphs] if a.HasField("g") else a.graphs:
                yield from nodes_of_graph(g, path)


def nodes_of(model):
    yield from nodes_of_graph(model.graph, "graph")
    for i, f in enumerate(model.functions):
        yield from nodes_of_graph(f, f"functions[{i}]")
    for i, t in enumerate(model.training_info):
        yield from nodes_of_graph(t.initialization, f"training_info[{i}].initialization")
        yield from nodes_of_graph(t.algorithm, f"training_info[{i}].algorithm")


def follow_nodes(what, m, model):
    """Every node of the file is in the map, and each of its steps refers to it."""
    want = [(n.op_type, n.name) for _, n in nodes_of(model)]
    said = [(n["operator"], n["name"]) for n in m["nodes"]]
    check(said == want, f"{what}: the nodes are {said[:9]}, not {want[:9]}")
    check(len({n["at"] for n in m["nodes"]}) == len(said), f"{what}: two nodes at one place")
    for i, n in enumerate(m["nodes"]):
        back = {s["step"] for s in m["steps"] if i in s["nodes"]}
        check(n["node"] == i and (n["fate"] == "absorbed" or back == set(n["steps"])), f"{what}: node {i} {n} is in the steps {back}")
        needs = {"step": n["steps"], "view": n["tensors"] and not n["steps"], "absorbed": n["steps"] or n["tensors"]}
        check(needs.get(n["fate"], not n["steps"] + n["tensors"]) and (n["fate"] == "removed") == ("why" in n), f"{what}: {n}")


def body_of(c):
    """The lines between the braces of the run."""
    start = next(i for i, line in enumerate(c) if "RT_ARENA_GIVEN int" in line)
    first = next(i for i in range(start, len(c)) if c[i] == "{") + 1
    return range(first, next(i for i in range(first, len(c)) if c[i] == "}"))


def follow_lines(what, m, c):
    """Each line belongs to one span; those of the body to a node or to the run; calls and loops are where the map says."""
    spans = m["lines"]
    check(spans[0]["first"] == 1 and spans[-1]["last"] == len(c) - 2, f"{what}: the lines are {spans[0]} to {spans[-1]} of {len(c) - 2}")
    check(all(b["first"] == a["last"] + 1 for a, b in zip(spans, spans[1:])), f"{what}: gaps between lines")
    at = {line: s for s in spans for line in range(s["first"], s["last"] + 1)}
    for line in body_of(c)[:-1]:
        check(at[line]["is"] in ("run", "node"), f"{what}: line {line} of the body is {at[line]}: {c[line]}")
        check(at[line]["is"] == "run" or at[line]["nodes"], f"{what}: line {line} of the body has no node: {c[line]}")
    for s in m["steps"]:
        first, last = s["lines"]
        text, call = "\n".join(c[first:last + 1]), c[s["call"]]
        check(re.match(rf"\s*/\* {s['step']} ", text), f"{what}: step {s['step']} is at {text}")
        check(first <= s["call"] <= last, f"{what}: step {s['step']} {first} {s['call']} {last}")
        good = f"{s['calls']}(" in call if "calls" in s else re.match(r" *(for|if) \(", call)
        check(good, f"{what}: step {s['step']}, {s.get('calls')}, is called by {call!r}")
        for a, b in s["shared"]:
            check(s["calls"] in "\n".join(c[a:b + 1]) or "EPI" in "\n".join(c[a:b + 1]), f"{what}: step {s['step']} shares {c[a]}")


def follow_arena(what, m, report):
    check(m["tensors"] == report["tensors"], f"{what}: the tensors are not the report's")
    for s, r in zip(m["steps"], report["steps"]):
        want = [t for t in [*r["writes"], *([r["scratch"]] if "scratch" in r else [])] if m["tensors"][t]["region"] == "arena"]
        said = [(a["tensor"], a["offset"], a["bytes"]) for a in s["arena"]]
        check(said == [(t, m["tensors"][t]["offset"], m["tensors"][t]["bytes"]) for t in want], f"{what}: step {s['step']}: {said}")
        check((s["reads"], s["writes"]) == (r["reads"], r["writes"]), f"{what}: step {s['step']} reads and writes other tensors")


NUMBER = re.compile(r"-?0x[\da-f.]+p[-+]\d+|-?0x[\da-f]+|-?\d+\.\d+|-?\d+")
TYPES = {"float": np.float32, "double": np.float64, "int64": np.int64, "int32": np.int32, "uint8": np.uint8, "int8": np.int8}


def numbers_of(k, c):
    """The numbers of a constant in its lines; None: they are not plain numbers."""
    if k["type"] not in TYPES or not k["lines"]:
        return None
    first, last = k["lines"][-1]
    text = re.sub(r"/\*.*?\*/", "", "\n".join(c[first:last + 1]), flags=re.S)
    m = re.search(rf"static const (\w+) {k['c']}\[\d+\](?: \w+)? = {{(.*?)}};", text, re.S)
    if not m or m[1] not in ("f32", "f64", "i64", "i32", "u8", "i8") or "RT_" in m[2]:
        return None
    parts = re.sub(r"INT64_C\((-?\d+)\)|(?<=[\d.])f\b", r"\1", m[2])
    found = [float.fromhex(x) if "x" in x and "p" in x else float(x) if "." in x else int(x, 0) for x in NUMBER.findall(parts)]
    return np.array(found, TYPES[k["type"]])


def computed(m, model, i, values):
    """Origin i, computed by onnx's reference; None: it depends on more than initializers and ONNX's operators."""
    if i in values:
        return values[i]
    o, result = m["origins"][i], None
    if "initializer" in o:
        name = m["initializers"][o["initializer"]]["name"]
        given = [t for t in model.graph.initializer if t.name == name]
        result = numpy_helper.to_array(given[0]) if given else None
    elif "operator" in o and "." not in o["operator"] and o["of"]:
        of = [None if k is None else computed(m, model, k, values) for k in o["of"]]
        if not any(k is not None and v is None for k, v in zip(o["of"], of)):
            result = by_reference(o, of, model)
    values[i] = result
    return result


def by_reference(o, of, model):
    names = ["" if v is None else f"x{i}" for i, v in enumerate(of)]
    node = onnx.helper.make_node(o["operator"], names, ["y"], **o["attributes"])
    given = list(nodes_of(model))[o["node"]][1] if "node" in o else node
    if given.op_type == o["operator"]:                   # its tensors are in the file alone
        node.attribute.extend(a for a in given.attribute if a.HasField("t"))
    ins = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in zip(names, of) if n]
    graph = onnx.helper.make_graph([node], "g", ins, [onnx.ValueInfoProto(name="y")])
    try:
        run = onnx.reference.ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]))
        return run.run(None, {n: v for n, v in zip(names, of) if n})[0]
    except Exception:                                    # an older or newer form of the operator
        return None


def follow_constants(what, m, model, c):
    """Each constant's name is on its lines, and its numbers are those that the map's operations give. Returns the number of constants
    computed."""
    done, values = 0, {}
    for k in m["constants"]:
        check(k["lines"] and all(k["c"] in "\n".join(c[a:b + 1]) for a, b in k["lines"]), f"{what}: {k['c']} is not on its lines")
        reached, stack = set(), list(k["origins"])
        while stack:
            i = stack.pop()
            reached.add(i)
            stack += [j for j in m["origins"][i].get("of", ()) if j is not None]
        named = {m["origins"][i]["initializer"] for i in reached if "initializer" in m["origins"][i]}
        check(named == set(k["initializers"]), f"{what}: {k['c']} comes from {named}, not {k['initializers']}")
        numbers = numbers_of(k, c)
        for i in k["origins"]:
            want = computed(m, model, i, values)
            if want is None or numbers is None:
                continue
            done += 1
            good = numbers.size == max(1, want.size) and np.allclose(numbers[:want.size], want.ravel(), 1e-6, 1e-30, True)
            check(good, f"{what}: {k['c']} is {numbers[:8]}, not {want.ravel()[:8]} by {k['by']}")
    for i, n in enumerate(m["initializers"]):
        check(n["constants"] == [k["constant"] for k in m["constants"] if i in k["initializers"]], f"{what}: {n}")
    return done


def follow(what, path, *options):
    found = compiled(path, *options)
    if not found:
        return None
    m, c, report = found
    wrong = [e.message for e in SCHEMA.iter_errors(m)]
    if not check(not wrong, f"{what}: {wrong[:3]}"):
        return None
    model = onnx.load(path)
    follow_nodes(what, m, model)
    follow_lines(what, m, c)
    follow_arena(what, m, report)
    return m, follow_constants(what, m, model, c)


def official():
    """Official models, a few hundred."""
    models = sum(follow(path.parent.name, path) is not None
                 for path in sorted((CACHE / "suite").resolve().glob("*/*/model.onnx"))[::EVERY])
    check(models > 200, f"only {models} models")


# Nodes in functions, in functions of functions, in branches and loops, and their fates.
PROGRAM = """<ir_version: 8, opset_import: ["":17, "f":1]> g (float[2,3] x, bool c) => (float[2,3] y, float[2,3] z, float[3,2] u, float[2] v)
  <float[3,2] w = {1,2,3,4,5,6}, float two = {2}, int64[2] s = {3,2}, float[6] unused = {1,2,3,4,5,6}, bool t = {1}, int64 trips = {3}> {
    [first] a = f.twice (x)
    [turn] wt = Transpose (w)
    [scale] ws = Mul (wt, two)
    [add] b = Add (a, ws)
    [same] a2 = Identity (b)
    [again] ws2 = Mul (wt, two)
    [more] d = Mul (a2, ws2)
    [dead] e = Exp (d)
    [branch] y = If (c) <then_branch = p () => (float[2,3] p1) { [inthen] p1 = Relu (d) },
                         else_branch = q () => (float[2,3] q1) { [inelse] q1 = Neg (d) }>
    [never] z = If (t) <then_branch = p2 () => (float[2,3] p3) { [taken] p3 = Sqrt (d) },
                        else_branch = q2 () => (float[2,3] q3) { [not] q3 = Neg (d) }>
    [view] u = Reshape (d, s)
    [loop] m = Loop (trips, t, d) <body = l (int64 i, bool ci, float[2,3] k) => (bool co, float[2,3] k2) {
        [go] co = Identity (ci) [step] k2 = Mul (k, k) }>
    [sum] v = ReduceSum <keepdims = 0> (m, one)
  }
  <domain: "f", opset_import: ["":17, "f":1]> twice (x) => (y) { [inner] h = f.sine (x) [half] y = Add (h, h) }
  <domain: "f", opset_import: ["":17]> sine (x) => (y) { [sin] y = Sin (x) }
  <domain: "f", opset_import: ["":17]> idle (x) => (y) { [idler] y = Cos (x) }""".replace("trips = {3}>", "trips = {3}, int64[1] one = {1}>")
FATES = {"first": "step", "turn": "constant", "scale": "constant", "add": "step", "same": "removed", "again": "constant", "more": "step",
         "dead": "removed", "branch": "step", "inthen": "step", "inelse": "step", "never": "removed", "taken": "step", "not": "removed",
         "view": "view", "loop": "step", "step": "step", "sum": "step", "inner": "step", "half": "step", "sin": "step", "idler": "removed"}
WHY = {"same": "its result is its input", "dead": "nothing needs its results", "not": "it is in a graph that never runs",
       "never": "its condition is constant: the nodes of its branch are in its place", "idler": "it is in a function that nothing calls"}


def fates():
    onnx.save(onnx.parser.parse_model(PROGRAM), WORK / "program.onnx")
    m, done = follow("program", WORK / "program.onnx")
    nodes = {n["name"]: n for n in m["nodes"]}
    for name, fate in FATES.items():
        check(nodes[name]["fate"] == fate, f"program: {nodes[name]}, not {fate}")
    for name, why in WHY.items():
        check(nodes[name].get("why") == why, f"program: {nodes[name]}, not because {why}")
    check(set(nodes["first"]["steps"]) == set(nodes["half"]["steps"]) | set(nodes["sin"]["steps"]), f"program: the call is {nodes['first']}")
    check(nodes["inner"]["steps"] == nodes["sin"]["steps"], f"program: the call within is {nodes['inner']}")
    check(m["nodes"][nodes["inthen"]["inside"]]["name"] == "branch", "program: inthen is in no branch")
    follow("program in one file", WORK / "program.onnx", "--single")
    held = {m["initializers"][i]["name"]: k for k in m["constants"] for i in k["initializers"]}
    check(held["w"]["by"] == ["Transpose", "Mul"] and done, f"program: w is {held['w']}")
    check(next(i for i in m["initializers"] if i["name"] == "unused")["constants"] == [], "program: the unused initializer is used")


def scaled():
    """Weights with a folded BatchNormalization, packed for a convolution, transposed for a product: each element, computed here from the
    initializers that the map names, is at its place in the kernel's layout."""
    rng = np.random.default_rng(1)
    w = {"conv.w": rng.standard_normal((20, 3, 3, 3)), "conv.b": rng.standard_normal(20), "bn.s": rng.random(20) + .5, "bn.b": rng.standard_normal(20),
         "bn.m": rng.standard_normal(20), "bn.v": rng.random(20) + .5, "fc.w": rng.standard_normal((5, 20))}
    w = {k: v.astype(np.float32) for k, v in w.items()}
    make = onnx.helper.make_node
    nodes = [make("Conv", ["x", "conv.w", "conv.b"], ["c"], "conv"), make("BatchNormalization", ["c", "bn.s", "bn.b", "bn.m", "bn.v"], ["d"], "bn"),
             make("Relu", ["d"], ["e"], "relu"), make("GlobalAveragePool", ["e"], ["g"], "gap"), make("Flatten", ["g"], ["f"], "flat"),
             make("Gemm", ["f", "fc.w"], ["y"], "fc", transB=1)]
    info = [onnx.helper.make_tensor_value_info("x", 1, [1, 3, 9, 9])], [onnx.helper.make_tensor_value_info("y", 1, [1, 5])]
    graph = onnx.helper.make_graph(nodes, "g", *info, [numpy_helper.from_array(v, k) for k, v in w.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), WORK / "scaled.onnx")
    follow("scaled in one file", WORK / "scaled.onnx", "--single")
    m, _ = follow("scaled", WORK / "scaled.onnx")
    _, c, _ = compiled(WORK / "scaled.onnx")
    arrays = {tuple(sorted(m["initializers"][i]["name"] for i in k["initializers"])): k for k in m["constants"]}
    scale = w["bn.s"] / np.sqrt(w["bn.v"] + np.float32(1e-5))

    def panels(columns):                                 # [tap * input, output] in panels of 16 outputs
        k, n = columns.shape
        padded = np.full((k, -(-n // 16) * 16), np.nan, np.float32)
        padded[:, :n] = columns
        return padded.reshape(k, -1, 16).transpose(1, 0, 2)

    expected = {("bn.s", "bn.v", "conv.w"): (panels((w["conv.w"] * scale[:, None, None, None]).transpose(2, 3, 1, 0).reshape(27, 20)), "onnxcc.ConvPack"),
                ("bn.b", "bn.m", "bn.s", "bn.v", "conv.b"): ((w["conv.b"] - w["bn.m"]) * scale + w["bn.b"], "Mul"),
                ("fc.w",): (panels(w["fc.w"].T), "onnxcc.ProductPack")}
    check(set(arrays) == set(expected), f"scaled: the constants come from {set(arrays)}")
    for key, (want, by) in expected.items():
        k = arrays.get(key)
        got = numbers_of(k, c) if k else None
        there = ~np.isnan(want.ravel())                  # no kernel reads the others
        good = got is not None and got.size == want.size and np.allclose(got[there], want.ravel()[there], 1e-5, 1e-6)
        check(good and by in k["by"], f"scaled: {key} is {k} {None if got is None else got[:20]}, not {want.ravel()[:20]}")
    operators = [s["operator"] for s in m["steps"]]
    check("Conv+BatchNormalization+Relu" in operators, f"scaled: {operators}")


HOSTILE = '"\\\n\t*/ ??/ <script>\x01é\u2028'


def hostile():
    """Names with quotes, control characters and ends of comments; weights in a file, with two initializers of equal bytes."""
    nodes = [onnx.helper.make_node("Add", ["x", HOSTILE + "w"], ["a" + HOSTILE], HOSTILE),
             onnx.helper.make_node("Mul", ["a" + HOSTILE, "v"], ["y"], HOSTILE + "2", doc_string=HOSTILE)]
    info = [onnx.helper.make_tensor_value_info("x", 1, [40])], [onnx.helper.make_tensor_value_info("y", 1, [40])]
    weights = [numpy_helper.from_array(np.arange(40, dtype=np.float32), n) for n in (HOSTILE + "w", "v")]
    graph = onnx.helper.make_graph(nodes, "g", *info, weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), WORK / "hostile.onnx")
    m, done = follow("hostile", WORK / "hostile.onnx")
    check([n["name"] for n in m["nodes"]] == [HOSTILE, HOSTILE + "2"] and done == 2, f"hostile: {m['nodes']}, {done}")
    follow("hostile in one file", WORK / "hostile.onnx", "--single")
    m, _ = follow("hostile in a file", WORK / "hostile.onnx", "--weights=incbin")
    k = m["constants"][0]
    stored = np.fromfile(WORK / "map.c.weights", np.float32, 40, offset=k["file_offset"])
    check(k["initializers"] == [0, 1] and (stored == np.arange(40)).all(), f"hostile: {k} is {stored}")


def nameless():
    """Fused nodes without names are in comments and the report."""
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["":17]> g (float[1,2,4,4] x, float[3,2,3,3] w) => (float[1,3,2,2] y)'
                                      "{ c = Conv (x, w) y = Relu (c) }"), WORK / "nameless.onnx")
    m, _ = follow("nameless", WORK / "nameless.onnx")
    check(any(s["operator"] == "Conv+Relu" and s["nodes"] == [0, 1] for s in m["steps"]), f"nameless: {m['steps']}")
    check('Conv "" + Relu ""' in (WORK / "map.c").read_text(), "nameless: the comment does not name Relu")


def onnxcc(*words):
    return subprocess.run([BUILD / "onnxcc", WORK / "hostile.onnx", *words], cwd=WORK, capture_output=True, text=True, timeout=60)


def files():
    """--map as an output file: with -MD, --check, standard output, and the same name as another output; no file is left after an error."""
    base = ("-o", "files.c", "--map", "files.json")
    check(onnxcc(*base, "-MD").returncode == 0 and "files.json" in (WORK / "files.d").read_text().split(":")[0], "-MD leaves out the map")
    check(onnxcc(*base, "--check").returncode == 0, "--check of what was just written fails")
    (WORK / "files.json").write_text("{}\n")
    p = onnxcc(*base, "--check")
    check(p.returncode == 1 and "files.json" in p.stdout + p.stderr and (WORK / "files.json").read_text() == "{}\n", f"--check of another map: {p}")
    p = onnxcc("-o", "files.c", "--map", "-")
    check(p.returncode == 0 and json.loads(p.stdout)["c"] == "files.c", f"--map -: {p.stdout[:80]}")
    p = onnxcc("-o", "-", "--map", "files.json")
    check(p.returncode == 0 and not list(SCHEMA.iter_errors(json.loads((WORK / "files.json").read_text()))), f"-o - --map: {p.stderr}")
    for words in (("--map", "files.c"), ("--map", "-", "--report=json"), ("--map", "files.h"), ("--map", WORK / "hostile.onnx"), ("--map", "")):
        p = onnxcc("-o", "files.c", *words)
        check(p.returncode == 2, f"{words}: {p.returncode} {p.stderr}")
    (WORK / "left.json").unlink(missing_ok=True)
    p = onnxcc("-o", "left.c", "--map", "left.json", "--max-flash", "16")
    check(p.returncode == 1 and not (WORK / "left.json").exists(), "a map is left after an error")
    plain = WORK / "plain.c"
    check(onnxcc("-o", "plain.c").returncode == 0 and onnxcc(*base).returncode == 0, "without --map")
    check(plain.read_text().replace("plain", "files") == (WORK / "files.c").read_text(), "--map changes the C")


def large():
    """Networks of tests/models, with 8-bit weights and weights in a file. Half of their constants are biases and scales, which are not
    packed."""
    names, done = ["ds_cnn", "ds_cnn_qdq", "mobilenet_v1_qdq", "resnet8_qdq"], 0
    p = subprocess.run([sys.executable, figures.ROOT / "tests" / "models" / "fetch.py", *names], capture_output=True, text=True,
                       env={**os.environ, "ONNXCC_CACHE": str(CACHE)})
    check(p.returncode == 0, f"fetch.py: {p.stderr}")
    for path in (CACHE / "models" / name / "model.onnx" for name in names):
        found = follow(path.parent.name, path)
        done += found[1] if found else 0
        check(found and all(n["fate"] != "removed" for n in found[0]["nodes"]), f"{path}: removed nodes")
    check(done > 50, f"only {done} constants were computed")
