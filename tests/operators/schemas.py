"""Compares the support table of onnxcc with the schemas of the onnx package: the types of every input and output in every version of
every operator. Prints the differences, and the number of versions without any.

usage: schemas.py TABLE       (what `onnxcc --list-ops=json` prints)
"""

import json
import sys

import onnx

# (operator, version): why the row differs from the schema.
DIFFERENT = {
    ("GroupNormalization", 18): "replaced by version 21, but models have it",
}
# Experimental operators until version 9, which have no schema any more.
EXPERIMENTAL = {"Affine", "ConstantFill", "Crop", "DynamicSlice", "GRUUnit", "GivenTensorFill", "ImageScaler",
                "LoopIndexTensor", "MeanVarianceNormalization", "ParametricSoftplus", "Scale", "ScaledTanh", "ThresholdedRelu"}
# ONNX Runtime's operators in ONNX's domain.
RUNTIME = {("LayerNormalization", 1), ("SimplifiedLayerNormalization", 1)}


def types_of(schema, formal):
    """The types in the table's form: an element type, or the kind of container."""
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    found = set()
    for t in constraints.get(formal.type_str, [formal.type_str]):
        kind, inside = t.removesuffix(")").split("(", 1)
        found.add(inside if kind == "tensor" else kind)
    return found


def formals(schema, row):
    """(what, the schema's types, the table's) of each input and output; None: there is none."""
    for what, here, there in ("input", schema.inputs, row["inputs"]), ("output", schema.outputs, row["outputs"]):
        for i in range(max(len(here), len(there))):
            yield (f"{what} {i}", types_of(schema, here[i]) if i < len(here) else None,
                   set(there[i]["types"]) if i < len(there) else None)


def differences(schema, row):
    for what, here, there in formals(schema, row):
        if here is None or there is None:
            yield f"{what}: {'in the schema' if here else 'in the table'} only"
        elif here != there:
            yield f"{what}: not in the table: {sorted(here - there)}, not in the schema: {sorted(there - here)}"


def main():
    with open(sys.argv[1]) as f:
        table = {(r["domain"], r["operator"], r["version"]): r for r in json.load(f)}
    passed = failed = 0
    schemas = {(s.domain, s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history()}
    for key, schema in sorted(schemas.items()):
        row = table.pop(key, None)
        if row is None:
            found = ["not in the table"]
        elif schema.deprecated or row["removed"]:
            found = [] if schema.deprecated and row["removed"] else ["removed in one of the two only"]
        else:
            found = list(differences(schema, row))
        excused = key[1:] in DIFFERENT
        if bool(found) == excused:
            passed += 1
            continue
        failed += 1
        print(f"FAILED {key[1]}-{key[2]}: {'; '.join(found) or 'has the types of the schema, but is listed in schemas.py'}")
    for domain, op, version in sorted(table):
        if domain in ("", "ai.onnx.ml") and op not in EXPERIMENTAL and (op, version) not in RUNTIME:
            failed += 1
            print(f"FAILED {op}-{version}: in the table only")
    print(f"schemas: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
