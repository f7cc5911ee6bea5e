"""The report's figures: valid by the schema, consistent with each other, and right for a network whose figures are known."""
import itertools
import json
import os
import pathlib
import subprocess

import jsonschema
import onnx
from onnx.parser import parse_model

from checks import check

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "reports"
ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("CACHE") or pathlib.Path.home() / ".cache" / "onnxcc")
EVERY = 1 if os.environ.get("EVERY") else 12
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "report.schema.json").read_text()))


def report(model, form, *options):
    p = subprocess.run([BUILD / "onnxcc", model, "-o", WORK / "figures.c", f"--report={form}", *options], capture_output=True, text=True,
                       timeout=300)
    return p.stdout if p.returncode == 0 else None


def root(tensors, i):
    return tensors[i].get("part_of", i)


def consistent(what, r):
    """No two tensors that are needed at the same time share bytes, unless one is part of the other; the totals are sums."""
    steps, tensors, ram = r["steps"], r["tensors"], r["ram"]
    own = [t for t in tensors if t["region"] == "arena" and "part_of" not in t and t["bytes"]]
    both = [f"{a['name']} {b['name']}" for a, b in itertools.combinations(own, 2)
            if a["first"] <= b["last"] and b["first"] <= a["last"]
            and a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]]
    check(not both, f"{what}: needed at the same time in the same bytes: {both[:3]}")
    check(all(t["offset"] + t["bytes"] <= ram["arena"] for t in own), f"{what}: a tensor beyond the arena")
    check(all(t["first"] <= t["last"] < max(1, len(steps)) for t in tensors), f"{what}: a tensor's steps")
    for i, s in enumerate(steps):
        live = sum(t["bytes"] for t in own if t["first"] <= i <= t["last"])
        check(s["step"] == i and s["arena"] == live <= ram["arena"], f"{what}: step {i} has {s['arena']} bytes in use, not {live}")
        check(all(k < i for k in s["after"]), f"{what}: step {i} is after {s['after']}")
    reads = {(root(tensors, k), i) for i, s in enumerate(steps) for k in s["reads"] + s["writes"]}
    check(all(tensors[k]["first"] <= i <= tensors[k]["last"] for k, i in reads), f"{what}: a step uses a tensor before or after its life")
    check(ram["total"] == ram["arena"] + ram["inputs"] + ram["outputs"] + ram["stack"], f"{what}: {ram}")
    check(ram["arena_bound"] <= ram["arena"] and r["macs"] == sum(s["macs"] for s in steps), f"{what}: totals")


def official():
    """Official models: valid by the schema, and consistent; the text has at most 80 columns."""
    for model in sorted((CACHE / "suite").resolve().glob("*/*/model.onnx"))[::EVERY]:
        what = model.parent.name
        said = report(model, "json")
        if said is None:
            continue
        r = json.loads(said)
        wrong = [e.message for e in SCHEMA.iter_errors(r)]
        check(not wrong, f"{what}: not by the schema: {wrong[:2]}")
        consistent(what, r)
        wide = [line for line in report(model, "text").splitlines() if len(line) > 80]
        check(not wide, f"{what}: wider than 80 columns: {wide}")


KNOWN = """<ir_version: 8, opset_import: ["":17]> g (float[2,3] x, float[3,4] w) => (float[2,4] y)
    <float[3,5] m = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}> {
    [first] a = MatMul(x, w)
    [second] b = MatMul(x, m)
    [third] c = Softmax(b)
    [fourth] s = ReduceSum <keepdims = 1> (c)
    [fifth] y = Mul(a, s) }"""


def known():
    """Bytes and operations of a network, which follow from its shapes."""
    onnx.save(parse_model(KNOWN), WORK / "known.onnx")
    said = report(WORK / "known.onnx", "json")
    r = json.loads(said or "{}")
    if not check(said and r["model"]["nodes"] == 5, f"known: {said}"):
        return
    step = {s["name"]: s for s in r["steps"]}
    tensor = {t["name"]: t for t in r["tensors"] if t["kind"] == "tensor"}
    check(r["ram"]["inputs"] == 4 * (6 + 12) and r["ram"]["outputs"] == 4 * 8, f"known: {r['ram']}")
    check(step["first"]["macs"] == 2 * 4 * 3 and step["second"]["macs"] == 2 * 5 * 3 and r["macs"] == 54, "known: MACs")
    check(step["first"]["read"] == 4 * (6 + 12) and step["first"]["written"] == 4 * 8, f"known: bytes of {step['first']}")
    check(step["second"]["weights"] >= 4 * 15 <= r["flash"]["weights"], f"known: weights of {step['second']}")
    check(tensor["b"]["bytes"] == 4 * 10 and tensor["b"]["shape"] == [2, 5] and tensor["b"]["type"] == "float", f"known: {tensor['b']}")
    check([tensor[n]["region"] for n in "xwy"] == ["input", "input", "output"], "known: regions")
    number = {s["name"]: s["step"] for s in r["steps"]}
    check(step["third"]["after"] == [number["second"]], f"known: {step['third']} is after the second")
    check(sorted(step["fifth"]["after"]) == sorted([number["first"], number["fourth"]]), f"known: {step['fifth']}")
    used = r["tensors"][root(r["tensors"], r["tensors"].index(tensor["a"]))]
    check(used["first"] <= number["first"] and used["last"] == number["fifth"], f"known: the life of {used}")
