"""Tests the support table: for every version of every operator, a node for each type of each type variable in the table.
FOLDER/cells/DOMAIN_OPERATOR_VERSION is a model of such nodes, which are independent of each other. The expected results come from ONNX's
reference evaluator and ONNX Runtime, or are in calls*.py. Prints the types without a node.

usage: cells.py FOLDER TABLE [PATTERN...]    (TABLE: what `onnxcc --list-ops=json` prints; does nothing when FOLDER is
                                             complete; PATTERN: only these models, with every node in a model of its own)
"""

import fnmatch
import json
import os
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import call
import calls
import calls_attention
import calls_fused
import calls_network
import calls_quantized
import generation
from cache import generated
from call import element, kind_of, to_type

NEWEST_OF_RUNTIME = 24
MAX_NODES = 24  # nodes in one model
NARROW = ("float16", "bfloat16")
PREFERRED = ("float", "int64", "double", "int32")


def type_name(t):
    """The short form of a schema's type: float, seq(float), optional(seq(float)). Maps are unchanged."""
    return t.replace("tensor(float)", "float") if "map(" in t else t.replace("tensor(", "").replace(")", "", 1) if t.startswith(
        "tensor(") else inner(t)


def inner(t):
    kind, rest = t.removesuffix(")").split("(", 1)
    return f"{kind}({type_name(rest)})"


def variables(row, schema):
    """{type variable: its types} by the table, in which a container stands for all of the schema's containers of this kind."""
    found = {}
    for f in row["inputs"] + row["outputs"]:
        if f["variable"]:
            found.setdefault(f["variable"], f["types"])
    if schema is None:
        return found
    return {c.type_param_str: [type_name(t) for t in c.allowed_type_strs
                               if kind_of(type_name(t)) != "tensor" or allowed(row, schema, c.type_param_str, type_name(t))]
            for c in schema.type_constraints}


def allowed(row, schema, variable, t):
    for here, there in zip([*schema.inputs, *schema.outputs], [*row["inputs"], *row["outputs"]]):
        if here.type_str == variable:
            return t in there["types"]
    return True


def formals(row, schema):
    """For inputs and outputs: a type, or a type variable."""
    if schema is not None:
        return [[f.type_str if "(" not in f.type_str else type_name(f.type_str) for f in of] for of in (schema.inputs, schema.outputs)]
    return [[f["variable"] or f["types"][0] for f in row[of]] for of in ("inputs", "outputs")]


class Cell:
    """A node to be made: the types of the variables, which a call may replace by compatible ones."""

    def __init__(self, row, schema, types, of):
        self.domain, self.op, self.version = row["domain"], row["operator"], row["version"]
        self.inputs, self.outputs = formals(row, schema)
        self.types, self.of = types, of

    def __getitem__(self, variable):
        return self.types[variable]

    def x(self, variable, *shape, low=-3, high=3, at=0):
        """An input of this variable's type; inputs with different `at` have different values."""
        return call.values(self.types.get(variable, variable), shape, low, high, at)

    def type_of(self, formal):
        return self.types.get(formal, formal)

    def output_type(self, i):
        return self.type_of(self.outputs[min(i, len(self.outputs) - 1)])


# ---- expected results ---- --------------------------------------------------------------------------------------------------


def wide(x):
    """The same values in a type that every implementation computes with."""
    if isinstance(x, list):
        return [wide(v) for v in x]
    return x.astype(np.float32) if x is not None and x.dtype.name in NARROW else x


def build(c, nodes, names, given, consts, results):
    """The model. given, results: the values of its inputs and outputs; results None: unknown."""
    declared = [helper.make_value_info(n, call.type_proto(x, c.type_of(t))) for n, x, t in given]
    held = [numpy_helper.from_array(x, n) for n, x in consts]
    outputs = [onnx.ValueInfoProto(name=y) if results is None else helper.make_value_info(y, call.type_proto(results[i], c.output_type(i)))
               for i, y in names]
    imports = [helper.make_opsetid("", 22 if c.domain else c.version)]
    if c.domain:
        imports.append(helper.make_opsetid(c.domain, c.version))
    return helper.make_model(helper.make_graph(nodes, "cell", declared, outputs, held), opset_imports=imports, ir_version=14)


def by_reference(model, feed):
    try:
        return ReferenceEvaluator(model).run(None, feed), ""
    except Exception as e:  # pylint: disable=broad-except - it refuses in many ways
        return None, f"reference: {str(e)[-300:]}"


def by_runtime(model, feed, version):
    if version > NEWEST_OF_RUNTIME:
        return None, "runtime: too new"
    model.ir_version = 10
    try:
        run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return run.run(None, feed), ""
    except Exception as e:  # pylint: disable=broad-except
        return None, f"runtime: {str(e)[-300:]}"


def agree(a, b):
    if isinstance(a, list) or isinstance(b, list) or a is None or b is None:
        return True
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "OUS" or a.dtype.name.startswith(("float8", "float4", "int4", "uint4")):
        return True
    return np.allclose(a.astype(np.complex128), b.astype(np.complex128), rtol=2e-2, atol=1e-3, equal_nan=True)


def expected(c, made, model, feed):
    """(the results, what went wrong)"""
    if made.by is not None:
        return made.by(*(wide(x) for x in made.inputs)), ""
    a, why = by_reference(model, feed) if made.trust != "runtime" else (None, "")
    b, why_not = by_runtime(model, feed, 1 if c.domain else c.version) if made.trust != "reference" else (None, "")
    if a is not None and b is not None and not all(agree(x, y) for x, y in zip(a, b)):
        return None, f"reference {a} runtime {b}"
    return (a if a is not None else b), f"{why} {why_not}"


# ---- models ------------------------------------------------------------------------------------------------------------------


def make(c, made):
    """(model, inputs, results) of a call, or the reason why no evaluator computes it."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(made.inputs)]
    formal = [c.inputs[min(i, len(c.inputs) - 1)] if c.inputs else None for i in range(len(names))]
    outputs = [(i, f"y{i}") for i in range(made.outputs)]
    node = helper.make_node(c.op, names, [y for _, y in outputs], name=" ".join(f"{v}={t}" for v, t in c.types.items()), domain=c.domain,
                            **made.attrs)

    def model_of(inputs, results):
        given = [(n, x, made.formal.get(i, t)) for i, (n, x, t) in enumerate(zip(names, inputs, formal)) if n and i not in made.consts]
        given += [(n, x, t) for n, (x, t) in made.around.items()]
        held = [(names[i], inputs[i]) for i in made.consts if inputs[i] is not None]
        return build(c, [*made.before, node], outputs, given, held, results)

    wider = [wide(x) if made.widen else x for x in made.inputs]
    feed = {n: x for i, (n, x) in enumerate(zip(names, wider)) if n and i not in made.consts}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if made.by is None:
            original, c.types = c.types, {v: "float" if made.widen and t in NARROW else t for v, t in c.types.items()}
            model = model_of(wider, None)
            c.types = original
        results, why = expected(c, made, model if made.by is None else None, feed)
        if results is None:
            return None, why
        results = {i: to_type(y, c.output_type(i)) for (i, _), y in zip(outputs, results)}
    return (model_of(made.inputs, results), [made.inputs[i] for i, n in enumerate(names) if n and i not in made.consts]
            + [x for x, _ in made.around.values()], list(results.values())), ""


def renamed(graph, prefix):
    """The graph with a prefix before the name of every value."""
    for v in [*graph.input, *graph.output, *graph.initializer, *graph.value_info]:
        v.name = prefix + v.name
    for node in graph.node:
        for names in node.input, node.output:
            names[:] = [prefix + n if n else "" for n in names]
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH and a.name not in ("decoder", "encoder"):  # in these the names have a meaning
                renamed(a.g, prefix)
            if node.op_type == "Gradient" and a.type == onnx.AttributeProto.STRING:
                a.s = prefix.encode() + a.s
            elif node.op_type == "Gradient":
                a.strings[:] = [prefix.encode() + s for s in a.strings]
    return graph


def save(folder, parts):
    """Merges the parts into one model: with unique names, and concatenated inputs and outputs."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    whole = parts[0][0]
    inputs, outputs = [], []
    graph = onnx.GraphProto(name="cells")
    for k, (model, given, results) in enumerate(parts):
        part = renamed(model.graph, f"c{k}_")
        for to, of in ((graph.node, part.node), (graph.input, part.input), (graph.output, part.output),
                       (graph.initializer, part.initializer)):
            to.extend(of)
        inputs += zip(part.input, given)
        outputs += zip(part.output, results)
    whole.graph.CopyFrom(graph)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(whole.SerializeToString())
    for kind, of in ("input", inputs), ("output", outputs):
        for i, (v, x) in enumerate(of):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(call.data_proto(x, v).SerializeToString())
    with open(os.path.join(folder, "atol"), "w") as f:
        f.write("1e-5\n")


def assignments(of):
    """Assignments of types to all variables that cover each type of each variable."""
    def usual(v):
        return next((t for t in PREFERRED if t in of[v]), of[v][0])

    for v, types in of.items():
        for t in types:
            yield v, {**{u: usual(u) for u in of}, v: t}


class Cells:
    def __init__(self, folder, patterns):
        self.folder, self.patterns = folder, patterns
        self.models = self.nodes = self.proven = 0
        self.missing = []

    def add(self, row, schema):
        """The model of a version of an operator."""
        op, version = row["operator"], row["version"]
        full = f"{row['domain'].replace('.', '_')}_" * bool(row["domain"]) + f"{op}_{version}"
        if self.patterns and not any(fnmatch.fnmatch(full, p) for p in self.patterns):
            return
        of, parts, proven = variables(row, schema), [], set()
        of = {v: [t for t in types if "map" not in t] for v, types in of.items()}
        if not all(of.values()):
            return  # containers.py tests maps
        maker = call.MAKERS.get((row["domain"], op))
        wanted = {(v, t) for v in of for t in of[v]} or {("", "")}
        for v, types in [*assignments(of)] or [("", {})]:
            if (v, types.get(v, "")) in proven:
                continue
            c = Cell(row, schema, types, of)
            name = f"{full} {v}={types[v]}" if v else full
            try:
                made = maker(c) if maker else None
                part, why = make(c, made) if made else (None, "no call")
            except Exception as e:  # pylint: disable=broad-except
                part, why = None, repr(e)[:400]
            if part is None:
                self.missing.append((name, why))
                continue
            parts.append(part)
            proven |= set(c.types.items()) or {("", "")}
            if self.patterns:
                save(os.path.join(self.folder, "cells", f"{full}_{len(parts)}_" + "".join(k if k.isalnum() else "_" for k in f"{v}_{types.get(v)}")), [part])
        self.missing += [(f"{full} {v}={t}", "not proven") for v, t in sorted(wanted - proven)
                         if not any(name == f"{full} {v}={t}" for name, _ in self.missing)]
        self.proven += len(wanted & proven)
        for k in range(0, 0 if self.patterns else len(parts), MAX_NODES):
            save(os.path.join(self.folder, "cells", full + (f"_{k // MAX_NODES}" if len(parts) > MAX_NODES else "")), parts[k:k + MAX_NODES])
        self.models += 1
        self.nodes += len(parts)


def main():
    folder, patterns = os.path.abspath(sys.argv[1]), sys.argv[3:]
    onnxruntime.set_default_logger_severity(4)
    np.seterr(all="ignore")
    sources = [__file__, call.__file__, calls.__file__, calls_attention.__file__, calls_fused.__file__, calls_network.__file__, calls_quantized.__file__,
               generation.__file__, sys.argv[2]]
    with open(sys.argv[2]) as f:
        table = json.load(f)
    schemas = {(s.domain, s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history()}
    with generated(folder, sources, *patterns, f"onnx {onnx.__version__}", f"onnxruntime {onnxruntime.__version__}") as new:
        if not new:
            return
        cells = Cells(new, patterns)
        for row in table:
            if not row["removed"]:
                cells.add(row, schemas.get((row["domain"], row["operator"], row["version"])))
        for name, why in cells.missing:
            print(f"FAILED {name}: {why}")
        print(f"cells: {cells.proven} types of {cells.models} versions in {cells.nodes} nodes; without one: {len(cells.missing)}")
        if cells.missing:
            sys.exit(1)


if __name__ == "__main__":
    main()
