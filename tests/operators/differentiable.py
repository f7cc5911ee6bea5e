"""Every operator of the standard (--list-ops) has tests of its gradient, compared with difference quotients, with fixed sizes and sizes
known only at run time; or onnxcc says where there is no gradient. Prints what is missing, then "gradients: N passed, M failed".

usage: differentiable.py FOLDER TABLE ONNXCC      (FOLDER: written by cases.py; TABLE: what `onnxcc --list-ops=json` prints)
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper

from graphs import names_read

STANDARD = "", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"
FLOATS = "float", "double"
NUMBERS = {TensorProto.FLOAT: "float", TensorProto.DOUBLE: "double"}
TRAINING = "ai.onnx.preview.training"

# Models of operators without a call (calls*.py), or whose call has types with a gradient; x is a map if the operator takes one.
REFUSED = {
    "BitCast": "(float[4] x) => (float[4] dx) { t = Sin(x) y = BitCast <to = 1> (t)",
    "CastMap": "(float[2] x) => (float[1, 3] dx) { y = ai.onnx.ml.CastMap <map_form = \"SPARSE\", max_map = 3> (x)",
    "DictVectorizer": "(float[2] x) => (float[1, 2] dx) { y = ai.onnx.ml.DictVectorizer <int64_vocabulary = [1, 2]> (x)",
    "ZipMap": "(float[2, 3] x) => (float[2, 3] dx) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2, 3]> (x)",
}


MAP = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))


def newest(table):
    """{(domain, operator): its newest row} of the standard; of a removed operator, its last row."""
    rows = {}
    for row in sorted(table, key=lambda r: r["version"]):
        if row["domain"] in STANDARD and not row["removed"]:
            rows[row["domain"], row["operator"]] = row
    return rows


def kinds(formals):
    """The floating types, or containers, of some inputs or outputs."""
    types = {t for f in formals for t in f["types"]}
    return types.intersection(FLOATS) | {t for t in types if t.startswith(("seq", "optional"))}


def operators_in(node):
    yield node.domain, node.op_type
    for a in node.attribute:
        for inner in a.g.node:
            yield from operators_in(inner)


def differentiated(model):
    """The operators between a Gradient's xs and its y."""
    nodes, found = list(model.graph.node), set()
    for g in nodes:
        if g.op_type != "Gradient":
            continue
        attrs = {a.name: helper.get_attribute_value(a) for a in g.attribute}
        from_x, to_y = {x.decode() for x in attrs["xs"]}, {attrs["y"].decode()}
        for node in nodes:
            if not from_x.isdisjoint(names_read(node)):
                from_x.update(node.output)
        for node in nodes[::-1]:
            if not to_y.isdisjoint(node.output):
                to_y.update(names_read(node))
                if not from_x.isdisjoint(node.output):
                    found.update(operators_in(node))
    return found


def sizes_of(model):
    """"open": a size of an input is known only at run time; "fixed": the model has all sizes; both, if all inputs are scalars."""
    types = [v.type.sequence_type.elem_type if v.type.HasField("sequence_type") else v.type for v in model.graph.input]
    dims = [d for t in types for d in t.tensor_type.shape.dim]
    return {"open", "fixed"} if not dims else {"open"} if any(d.dim_param for d in dims) else {"fixed"}


def covered(pattern):
    """{(domain, operator): the types and sizes of its tests}, from the models that match the pattern."""
    found = {}
    for path in glob.glob(pattern):
        model = onnx.load(path)
        types = {NUMBERS.get(v.type.tensor_type.elem_type) for v in model.graph.input}
        for op in differentiated(model):
            found.setdefault(op, set()).update((t, s) for t in types for s in sizes_of(model))
    return found


def lacking(row, tests, types):
    """The tests with these types that an operator lacks; none for an operator without floats, which has no gradient."""
    of = kinds(row["inputs"]) and kinds(row["outputs"])
    if not of and row["operator"] != "If":
        return set()
    floats = set(FLOATS).intersection(kinds(row["outputs"]), kinds(row["inputs"])) or {"float"}
    if any(t.startswith(("seq", "optional")) for t in kinds(row["inputs"] + row["outputs"])) or row["operator"] == "If":
        floats = set(FLOATS)
    wanted = {(t, s) for t in floats & types or floats for s in ("fixed", "open")}
    return wanted - tests.get((row["domain"], row["operator"]), set())


# ---- operators without a gradient ----------------------------------------------------------------------------------------------------


def called(row):
    """A model of the gradient of one of the operator's calls, by its first input; None: there is no call."""
    import calls  # noqa: F401  pylint: disable=import-outside-toplevel
    import calls_attention  # noqa: F401
    import calls_network  # noqa: F401
    import calls_quantized  # noqa: F401
    import cells
    from call import MAKERS

    schema = next((s for s in onnx.defs.get_all_schemas_with_history()
                   if (s.domain, s.name, s.since_version) == (row["domain"], row["operator"], row["version"])), None)
    of = cells.variables(row, schema)
    types = {v: next((t for t in FLOATS if t in ts), ts[0]) for v, ts in of.items()}
    c = cells.Cell(row, schema, types, of)
    maker = MAKERS.get((row["domain"], row["operator"]))
    call = maker(c) if maker else None
    if call and not any(i not in call.consts for i in range(len(call.inputs))):
        call.consts = ()
    made = cells.make(c, call)[0] if call else None
    if made is None:
        return None
    model = made[0]
    x, y = model.graph.input[0], model.graph.output[0].name
    model.graph.node.append(helper.make_node("Gradient", [x.name], ["dx"], domain=TRAINING, xs=[x.name], y=y))
    del model.graph.output[:]
    model.graph.output.append(x)
    model.graph.output[0].name = "dx"
    model.opset_import.append(helper.make_opsetid(TRAINING, 1))
    return model


def refused(row, onnxcc):
    """None: onnxcc says where there is no gradient, or that it is zero; otherwise what it does instead."""
    op, text = row["operator"], REFUSED.get(row["operator"])
    if not row["inputs"]:
        return None
    if text:
        model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 26, "ai.onnx.ml": 3, "{TRAINING}": 1]> g {text} '
                                        f'dx = {TRAINING}.Gradient <xs = ["x"], y = "y"> (x) }}')
        if op in ("CastMap", "DictVectorizer"):
            model.graph.input[0].type.CopyFrom(MAP)
    else:
        model = called(row)
    if model is None:
        return "there is no call (calls*.py)"
    bounds = [f"--dim={v.name}_text<=64" for v in model.graph.input if v.type.tensor_type.elem_type == TensorProto.STRING]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(model, path)
        p = subprocess.run([onnxcc, path, "-o", os.path.join(folder, "m.c"), "--all-dims=<=64", *bounds], capture_output=True, text=True)
    place = rf"\n  --> .*: graph\.node\[\d+\].*\((?:\w+\.)*({op}|Gradient)(, in its \w+)?\)$"
    error = re.search(r"^error\[(OPR-0[15]|NOD-10)\]: .*(has no gradient|but Gradient \(since version 1\) takes).*" + place, p.stderr, re.M)
    zero = re.search(r"^warning\[OPR-06\]: .* no gradient passes this node" + place, p.stderr, re.M)
    return None if p.returncode == 1 and error or p.returncode == 0 and zero and zero[1] == op else f"onnxcc says {p.returncode} {p.stderr!r}"


def main():
    folder, table, onnxcc = sys.argv[1:]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with open(table, encoding="utf-8") as f:
        rows = newest(json.load(f))
    tests, failed = covered(os.path.join(folder, "node", "own_gradient_*", "model.onnx")), 0
    for (domain, operator), row in sorted(rows.items()):
        missing = lacking(row, tests, {"double"})
        tested = bool((domain, operator) in tests) and operator not in REFUSED
        why = f"no test {sorted(missing)}" if tested and missing else None if tested else refused(row, onnxcc)
        if why:
            failed += 1
            print(f"FAILED {domain or 'ai.onnx'} {operator}: {why}"[:600])
    print(f"gradients: {len(rows) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
