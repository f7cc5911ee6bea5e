"""moves.py BUILD - operators that only move elements preserve their bits: every pattern of types of up to 16 bits, NaNs and random
patterns of wider ones; at run time, folded, and as C. The expected results are numpy's moves of the same patterns as integers."""
import ctypes
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

BUILD = pathlib.Path(sys.argv[1])
OPSET = 25
BITS = {"BOOL": 8, "FLOAT": 32, "DOUBLE": 64, "COMPLEX64": 64, "COMPLEX128": 128, "FLOAT16": 16, "BFLOAT16": 16, "FLOAT4E2M1": 4,
        **{f"{u}INT{n}": n for u in ("", "U") for n in (2, 4, 8, 16, 32, 64)},
        **{f"FLOAT8{k}": 8 for k in ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ", "E8M0")}}
ROWS = 8


def patterns(name):
    """(ROWS, n) codes; a complex one as 64-bit halves in a last axis."""
    bits = BITS[name]
    if name == "BOOL":
        return np.arange(64, dtype=np.uint8).reshape(ROWS, -1) % 2
    if bits <= 16:
        return np.resize(np.arange(1 << bits), max(1 << bits, 64)).astype(np.uint16 if bits == 16 else np.uint8).reshape(ROWS, -1)
    r = np.random.default_rng(bits).integers(0, 1 << 32, (4096, bits // 32), dtype=np.uint32)
    r[::3] |= 0x7FF00000  # NaNs of either length, quiet and signalling
    r[1::3, :] = r[1::3, :] & 0x803FFFFF | 0x7F800000
    return r.reshape(ROWS, -1, bits // 32)


def memory(codes, bits):
    if bits >= 8:
        return np.ascontiguousarray(codes).tobytes()
    per = 8 // bits
    flat = np.concatenate([codes.ravel(), np.zeros(-codes.size % per, np.uint8)]).reshape(-1, per)
    return np.bitwise_or.reduce(flat << (np.arange(per, dtype=np.uint8) * bits), axis=1).astype(np.uint8).tobytes()


def constant(name, x):
    x = np.asarray(x, np.int64)
    return helper.make_tensor(name, TensorProto.INT64, x.shape, x.ravel())


def branch(name, elem):
    return helper.make_graph([helper.make_node("Identity", ["x"], [name])], name, [],
                             [helper.make_tensor_value_info(name, elem, None)])


def body(elem):
    v = helper.make_tensor_value_info
    return helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Identity", ["s"], ["t"]),
                              helper.make_node("Identity", ["s"], ["u"])], "body",
                             [v("i", 7, []), v("go", 9, []), v("s", elem, None)],
                             [v("on", 9, []), v("t", elem, None), v("u", elem, None)])


ROW = np.array([5, 0, 3, -1])
MASK = np.array([[True], [False]] * (ROWS // 2))
# operator: its inputs after x, its attributes, the same move in numpy
MOVES = {
    "Identity": ([], {}, lambda x: x),
    "Flatten": ([], {"axis": 0}, lambda x: x.reshape(1, -1, *x.shape[2:])),
    "Reshape": ([("wide", [4, -1])], {}, lambda x: x.reshape(4, -1, *x.shape[2:])),
    "Unsqueeze": ([("axis0", [0])], {}, lambda x: x[None]),
    "Transpose": ([], {"perm": [1, 0]}, lambda x: x.swapaxes(0, 1)),
    "Gather": ([("rows", ROW)], {}, lambda x: x[ROW]),
    "Slice": ([("from", [6]), ("to", [1]), ("axis0", [0]), ("step", [-2])], {}, lambda x: x[6:1:-2]),
    "Concat": (["x"], {"axis": 1}, lambda x: np.concatenate([x, x], 1)),
    "Tile": ([("twice", [2, 1])], {}, lambda x: np.concatenate([x, x])),
    "Expand": ([("planes", [2, 1, 1])], {}, lambda x: np.stack([x, x])),
    "Pad": ([("edges", [1, 0, 0, 0])], {"mode": "edge"}, lambda x: np.concatenate([x[:1], x])),
    "Where": (["mask", "x", "z"], {}, lambda x: np.where(MASK[..., None] if x.ndim == 3 else MASK, x, x[::-1])),
    "GatherND": ([("places", [[1], [7]])], {}, lambda x: x[[1, 7]]),
    "ScatterND": ([("places", [[1], [7]]), "two"], {}, lambda x: np.concatenate([x[:1], x[:1], x[2:7], x[1:2]])),
    "Trilu": ([], {"upper": 1}, None),
    "Max": ([], {}, lambda x: x),
    "If": (["yes"], {}, lambda x: x),
    "Loop": ([], {}, lambda x: x),
    "Split": ([], {"num_outputs": 2}, lambda x: x[:ROWS // 2]),
    "SequenceAt": ([], {}, lambda x: x),
    "Cast": ([], {}, lambda x: x),
}


def takes(op, name):
    schema = onnx.defs.get_schema("SequenceConstruct" if op == "SequenceAt" else op, OPSET)
    at = {"Where": 1, "Loop": 2}.get(op, 0)
    t = (schema.outputs[0] if op == "If" else schema.inputs[at]).type_str
    allowed = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == t), [])
    return f"tensor({name.lower()})" in allowed and not (op == "Trilu")


def node(op, elem, y):
    inputs, attributes, _ = MOVES[op]
    names = [i if isinstance(i, str) else i[0] for i in inputs]
    make = helper.make_node
    if op == "If":
        return [make("If", ["yes"], [y], then_branch=branch(f"{y}_a", elem), else_branch=branch(f"{y}_b", elem))]
    if op == "Loop":
        return [make("Loop", ["turns", "", "x"], [y, f"{y}_all"], body=body(elem))]
    if op == "Split":
        return [make(op, ["x"], [y, f"{y}_rest"], **attributes)]
    if op == "SequenceAt":
        return [make("SequenceConstruct", ["x", "x"], [f"{y}_s"]), make("SequenceAt", [f"{y}_s", "one"], [y])]
    if op == "Cast":
        return [make("Cast", ["x"], [y], to=elem)]
    return [make(op, names if op == "Where" else ["x", *names], [y], **attributes)]


def model(name, ops, folded):
    """A model of all the operators on x, which is an input or (folded) an initializer."""
    elem, codes = TensorProto.DataType.Value(name), patterns(name)
    ints = {i[0]: constant(*i) for op in ops for i in MOVES[op][0] if not isinstance(i, str)}
    ints.update(turns=constant("turns", 2), one=constant("one", 1), mask=helper.make_tensor("mask", TensorProto.BOOL, MASK.shape, MASK))
    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    info = helper.make_tensor_value_info
    given = {"x": codes}
    if "Where" in ops:
        given["z"] = codes[::-1]
    if "ScatterND" in ops:
        given["two"] = codes[:2]
    tensors = {k: TensorProto(name=k, data_type=elem, dims=v.shape[:2], raw_data=memory(v, BITS[name])) for k, v in given.items()}
    inputs = [] if folded else [info(k, elem, v.shape[:2]) for k, v in given.items()] + [info("yes", TensorProto.BOOL, [])]
    nodes = [n for k, op in enumerate(ops) for n in node(op, elem, f"y{k}")]
    graph = helper.make_graph(nodes, "moves", inputs, [info(f"y{k}", elem, None) for k in range(len(ops))],
                              [*ints.values(), *([*tensors.values(), yes] if folded else [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=12), \
        [] if folded else [*tensors.values(), helper.make_tensor("yes", TensorProto.BOOL, [], [True])]


def evaluated(folder, m, inputs):
    onnx.save(m, folder / "m.onnx")
    for i, t in enumerate(inputs):
        (folder / f"input_{i}.pb").write_bytes(t.SerializeToString())
    subprocess.run([BUILD / "onnxcc", folder / "m.onnx", "--eval", folder, "--eval-out", folder], check=True, capture_output=True)
    return [TensorProto.FromString((folder / f"actual_{k}.pb").read_bytes()).raw_data for k in range(len(m.graph.output))]


def called(folder, m, inputs, sizes, compiler):
    subprocess.run([BUILD / "onnxcc", folder / "m.onnx", "-o", folder / "m.c", "--prefix", "m", "--weights=inline"], check=True, capture_output=True)
    so = folder / f"{compiler}.so"
    subprocess.run([compiler, "-shared", "-fPIC", f"-I{BUILD / 'include'}", "-o", so, folder / "m.c"], check=True)
    given = [ctypes.create_string_buffer(t.raw_data or b"\1", len(t.raw_data) or 1) for t in inputs]
    taken = [ctypes.create_string_buffer(n) for n in sizes]
    assert ctypes.CDLL(str(so)).m_run(*given, *taken) == 0
    return [t.raw for t in taken]


def main():
    passed = failed = 0
    for name, bits in BITS.items():
        ops = [op for op in MOVES if takes(op, name)]
        want = [memory(MOVES[op][2](patterns(name)), bits) for op in ops]
        for folded in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                m, inputs = model(name, ops, folded)
                results = {"in the compiler": evaluated(folder, m, inputs)}
                for compiler in ("gcc", "tcc"):
                    results[compiler] = called(folder, m, inputs, [len(w) for w in want], compiler)
            for where, got in results.items():
                for op, g, w in zip(ops, got, want):
                    passed += g == w
                    failed += g != w
                    if g != w:
                        print(f"FAIL {op} of {name.lower()}{', folded' if folded else ''}, {where}: other bits")
    print(f"moves: {passed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main() != 0)
