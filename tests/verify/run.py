"""Tests of --tap, --until, --from, --eval and `onnxcc verify`. Prints what is wrong, then "verify: N passed, N failed"."""
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import onnx
from onnx import numpy_helper

import inside
import message
import models
from checks import check, counts
from tools import ONNXCC, WORK, begin, cut, onnxcc, says, verify


def cuts():
    m, x = models.chain(), np.random.default_rng(2).standard_normal((3, 8)).astype(np.float32)
    value = dict(zip("arscyz", models.expected(m, {"x": x}, "arscyz")))
    size = ["--dim", "N<=8"]
    for inputs, words, names in [
            ("x", ["--tap", "r"], "yzr"), ("x", ["--tap", "s", "--tap", "a", "--tap", "s"], "yzsa"), ("x", ["--tap", "y"], "yz"),
            ("x", ["--tap", "all"], "yzarsc"), ("x", ["--until", "s"], "s"), ("x", ["--until", "c", "--until", "a", "--tap", "r"], "car"),
            ("s", ["--from", "s"], "yz"), ("s", ["--from", "s", "--until", "c"], "c"), ("c", ["--from", "c", "--until", "z"], "z"),
            ("x", ["--until", "a", "--tap", "all"], "a")]:
        feeds = [value.get(name, x) for name in inputs]
        cut(m, feeds, words + size, list(names), [value[name] for name in names])
        cut(m, feeds, words + ["--dim", "N=3"], list(names), [value[name] for name in names])


def cuts_of_other_things():
    m = models.nested()
    feeds = {"x": np.random.default_rng(3).uniform(-1, 5, (3, 4)).astype(np.float32), "flag": np.array(True),
             "text": np.array(["über", "b"], object)}
    value = models.expected(m, feeds, ["y", "text3", "a", "b", "row", "text2"])
    rows = [value[3][i:i + 1] for i in range(3)]
    bound = ["--dim", "text_text<=64"]
    cut(m, feeds.values(), ["--tap", "all", *bound], ["y", "text3", "a", "b", "seq", "row", "text2", "f_mid"],
        [value[0], value[1], *value[2:4], *rows])
    cut(m, [feeds["x"], feeds["flag"]], ["--until", "seq"], ["seq"], rows)
    cut(m, [value[4]], ["--from", "row", "--until", "y"], ["y"], [value[0]])
    cut(m, [feeds["flag"], value[2]], ["--from", "a", "--until", "row"], ["row"], [value[4]])
    file = WORK / "cut" / "m.onnx"
    for words, *texts in [
            (["--until", "in_Neg"], "inside of this node", 'graph.node[1] "choose" (If)'), (["--until", "f_mid"], "inside of the function Twice"),
            (["--tap", "roww"], "no tensor of this name", "did you mean 'row'?"), (["--from", "seq"], "its type is not known", "value_info"),
            (["--tap", "x"], "it is an input"), (["--tap", "one"], "it is a constant"), (["--from", "y"], "it is an output"),
            (["--until", "a", "--from", "nothing"], "no tensor of this name")]:
        says(onnxcc(file, "-o", "-", *words, *bound, code=1), *texts)
    text = onnxcc(file, "-o", "-", "--until", "row", "--from", "a")
    says(text, "--from a --until row", 'input "a": float [3,4]', 'input "flag": bool []')
    check('input "text"' not in text and 'input "x"' not in text, "inputs that nothing reads are left out")


def evaluated():
    """--eval compares the results, and writes files only with --eval-out."""
    folder, m = WORK / "eval", models.chain(3)
    x = np.random.default_rng(4).standard_normal((3, 8)).astype(np.float32)
    y, z = models.expected(m, {"x": x}, "yz")
    onnx.save(m, WORK / "eval.onnx")

    def run(*outputs, code=0):
        shutil.rmtree(folder, ignore_errors=True)
        models.write_data(folder, [x], outputs)
        said = onnxcc("eval.onnx", "--eval", folder, code=code)
        check(len(os.listdir(folder)) == 1 + len(outputs), f"--eval has written {os.listdir(folder)}")
        return said

    says(run(), "y: float [3,4]; nothing to compare with", "z: float [3,4]; nothing")
    said = run(y, z)
    says(said, "y: float [3,4], largest error", "ULPs: ok")
    check("DIFFERS" not in said, said)
    wrong = z.copy()
    wrong[1, 2] += 1
    says(run(y, wrong, code=1), "ok", "DIFFERS in 1 of 12 elements, first at [1,2]", "1 of 2 outputs differ")
    says(run(y, z[:2], code=1), "DIFFERS: it is float [3,4], not float [2,4]")
    says(run(y, z.astype(np.float64), code=1), "it is float [3,4], not double [3,4]")
    says(run(y, np.where(z > 0, np.nan, z).astype(np.float32), code=1), "largest error inf")
    says(onnxcc("eval.onnx", "--eval-out", folder, code=2), "--eval-out needs --eval DIR")


def write_sets(m, sizes):
    data = WORK / "data"
    shutil.rmtree(data, ignore_errors=True)
    for i, n in enumerate(sizes):
        x = np.random.default_rng(i).standard_normal((n, 8)).astype(np.float32)
        models.write_data(data / f"test_data_set_{i}", [x], models.expected(m, {"x": x}, "yz"))
    return data


def right():
    m = models.chain()
    onnx.save(m, WORK / "m.onnx")
    data = write_sets(m, [3, 5, 1])
    before = sorted(data.rglob("*"))
    said = verify("m.onnx", data)
    says(said, "test_data_set_2\n  y: float [1,4]\n", "compared with the data and ONNX Runtime 1.", "6 outputs, 12 comparisons: right")
    check(said.count(": ok") == 12 and "DIFFERS" not in said, said)
    check(sorted(data.rglob("*")) == before, "verify writes into the data")
    says(verify("m.onnx", data / "test_data_set_1", CFLAGS="-O2 -fsanitize=address,undefined"), "built by cc -O2 -fsanitize",
         "float [5,4]", "2 outputs, 4 comparisons: right")
    says(verify("m.onnx", data, "--dim", "N<=8", "--target", "x86-64-v3", "--tap", "s"), "9 outputs")
    says(verify("m.onnx", data / "test_data_set_0", "--until", "c"), "  c: float [3,4]\n    ONNX Runtime: ", "1 outputs, 1 comparisons")
    says(verify("m.onnx", "--dim", "N=3"), "random inputs (seed 1)", "2 outputs, 2 comparisons: right")
    twice = [verify("m.onnx", "--dim", "N=3", "--seed", s, "--ort", "none") for s in (5, 5, 6)]
    says(twice[0], "compared with onnxcc's own evaluator; ONNX Runtime: not asked for", "y: float [3,4]\n    onnxcc's evaluator: ")
    check(twice[0] == twice[1] != twice[2], "--seed decides the inputs")
    says(verify("m.onnx", "--dim", "N=3", "--ort", "nothing.so"), "ONNX Runtime: nothing.so cannot be loaded", "onnxcc's evaluator: ", "right")
    says(verify("m.onnx", "--dim", "N=3", "--from", "s", "--until", "c"), "it cannot start at the tensors of --from", "  c: float [3,4]", "right")
    for target in "generic", "plain", "x86-64-v2", "x86-64-v3":
        for cc in "gcc-12", "clang-14":
            says(verify("m.onnx", "--dim", "N=3", "--target", target, CC=cc), f"built by {cc}", "2 outputs, 2 comparisons: right")
    says(onnxcc("profile", "m.onnx", "--dim", "N=3", "--target", "plain", code=2), "--target plain has no", "--profile")
    says(onnxcc("stack", "m.onnx", "--dim", "N=3", code=1, env={"CC": "clang-14"}), "help: onnxcc stack needs a gcc")
    outside = WORK / "outside"
    outside.mkdir()
    onnx.save(models.chain(2), outside / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    says(verify("outside/m.onnx"), "compared with ONNX Runtime 1.", "2 comparisons: right")
    says(verify("m.onnx", code=1), "dimension 'N' has no bound", "--dim N=1")
    onnx.save(models.nested(), WORK / "nested.onnx")
    says(verify("nested.onnx"), "text3: string [2]\n    ONNX Runtime: ok", "2 outputs, 2 comparisons: right")
    says(verify("nested.onnx", "--tap", "all", "--dim", "text_text<=20"), "seq: sequence of 3: float [1,4], float [1,4], float [1,4]\n    ONNX Runtime: ",
         "f_mid: float [3,4]", "8 outputs, 8 comparisons: right")


def wrong():
    """The C is made wrong, and the node is found."""
    m = models.chain()
    data = write_sets(m, [3, 4])
    scale = r"/model_scale\[16\]/{n;s/0x1/0x7/}"
    said = verify("m.onnx", data, code=1, wrong=scale)
    says(said, 'first node that differs: graph.node[2] "shift" (Mul)', 'in:  tensor "r": float [3,16], largest error',
         'in:  constant "scale": float [16]', 'out: tensor "s": float [3,16], largest error', "DIFFERS in 1 of 48 elements",
         "but ONNX Runtime has", "comparisons differ")
    value = models.expected(m, {"x": np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)}, "s")[0]
    at = next(line for line in said.splitlines() if "first at [2,0]: " in line and "but ONNX" in line)
    check(np.isclose(float(at.split()[-1]), value[2, 0]), f"{at}, not {value[2, 0]}")
    says(verify("m.onnx", data, "--ort", "none", code=1, wrong=scale), 'graph.node[2] "shift" (Mul)', "but the evaluator has")
    says(verify("m.onnx", "--dim", "N=4", code=1, wrong="s/softmax_f32(c, y/softmax_f32(x, y/;/Softmax/s/f32(.*, y/f32(x, y/"), '"soft" (Softmax)')
    fused = r"/v0_ = model_relu_f32(x0_)/{N;s/v1_ = model_mul_f32(v0_/v1_ = 2 * model_mul_f32(v0_/}"
    says(verify("m.onnx", data, code=1, wrong=fused), "differs only where nodes are fused", '"s", of graph.node[2] "shift" (Mul)')
    says(verify("m.onnx", data, code=1, wrong="s/return 0;/*(volatile int *)8 = 1; return 0;/"), "test_data_set_0: the program crashed: signal 11")
    says(verify("m.onnx", data, "--timeout", "1", code=1, wrong="s/return 0;/for (;;); return 0;/"), "did not end within 1 s")
    says(verify("m.onnx", data, code=1, wrong="s/return 0;/return 2;/"), "returned status 2, BAD_INDEX")
    says(verify("m.onnx", data, code=1, wrong="s/return 0;/return nothing;/"), "the C compiler ($CC) ended with exit code 1", "nothing")
    says(verify("m.onnx", data, code=1, CC="no-such-compiler"), "the C compiler ($CC) ended with exit code 127")
    other = np.zeros((3, 4), np.float32)
    onnx.save_tensor(numpy_helper.from_array(other), data / "test_data_set_0" / "output_1.pb")
    said = verify("m.onnx", data, code=1)
    says(said, "the data: largest error", "the data is not this model's", "1 of 8 comparisons differ")
    check("first node" not in said, said)
    says(verify("m.onnx", data, "--ort", "none", code=1), "onnxcc's own evaluator has the values of the C in every tensor")
    says(verify("m.onnx", data, "--atol", "100"), "right")


def arrays():
    """.npz files that numpy has written."""
    kinds = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, bool, str]
    names = [f"x{i}" for i in range(len(kinds))]
    types = [onnx.helper.np_dtype_to_tensor_dtype(np.dtype(k if k is not str else object)) for k in kinds]
    nodes = [onnx.helper.make_node("Identity", [n], [n.replace("x", "y")]) for n in names]
    m = models.model(nodes, [models.tensor(n, t, ["a", 2]) for n, t in zip(names, types)],
                     [models.tensor(n.replace("x", "y"), t, ["a", 2]) for n, t in zip(names, types)])
    onnx.save(m, WORK / "kinds.onnx")
    r = np.random.default_rng(5)
    values = {n: r.integers(0, 2, (3, 2)).astype(k) if k is bool else np.array([["", "ü𝄞"], ["a b", "c"], ["€", "x" * 9]]) if k is str
              else (r.uniform(-9, 9, (3, 2)) if np.dtype(k).kind == "f" else r.integers(0, 99, (3, 2))).astype(k) for n, k in zip(names, kinds)}
    file, outputs = WORK / "a.npz", {n.replace("x", "y"): v.copy() for n, v in values.items()}
    for save in (np.savez, np.savez_compressed):
        save(file, **values, **outputs)
        said = verify("kinds.onnx", file)
        says(said, "13 outputs, 26 comparisons: right", "y12: string [3,2]")
    for v in outputs.values():
        v[2, 1] = not v[2, 1] if v.dtype == bool else "other" if v.dtype.kind == "U" else v[2, 1] + 1
    np.savez(file, **values, **outputs)
    said = verify("kinds.onnx", file, code=1)
    says(said, "13 of 26 comparisons differ")
    check(said.count("DIFFERS in 1 of 6 elements, first at [2,1]") == 13, said)
    np.savez(file, **{**values, "x1": np.asfortranarray(values["x1"])})
    says(verify("kinds.onnx", file, code=3), "x1.npy", "numpy.ascontiguousarray")
    np.savez(file, **{**values, "x1": values["x1"].astype(">f4")})
    says(verify("kinds.onnx", file, code=3), "x1.npy", "byte order")
    np.savez(file, **{**values, "x1": values["x1"].astype(np.float64)})
    says(verify("kinds.onnx", file, code=1), "input 'x1' is float [3,2], not double of rank 2")
    np.savez(file, **{n: v for n, v in values.items() if n != "x3"})
    says(verify("kinds.onnx", file, code=2), "has no tensor for the input 'x3'")
    file.write_bytes(b"PK nothing")
    says(verify("kinds.onnx", file, code=3), "neither a folder nor an .npz file")
    says(verify("kinds.onnx", "nowhere", code=3), "neither a folder nor an .npz file")
    (WORK / "nothing").mkdir()
    says(verify("kinds.onnx", "nothing", code=2), "has no data for this model")


def evaluated_containers(data, bounds, longer_type, longer):
    """--eval reads and compares sequences, maps and optionals as `onnxcc verify` does; `longer` is output 0."""
    says(onnxcc("sequences.onnx", "--eval", data, *bounds), "longer: sequence of 4: float [3], float [1], float [2], float [1], largest error 0",
         "maps: sequence of 1: map of 3 from string to float, largest error 0, relative 0, 0 ULPs: ok", "has: bool [], largest error 0: ok")
    file = data / "output_0.pb"
    right_one = file.read_bytes()
    for change, text in ((lambda x: [*x[:2], x[2] + 1, x[3]], "DIFFERS in 2 of 7 elements, first at [2][0]"),
                         (lambda x: x[:3], "DIFFERS: it is sequence of 4: "), (lambda x: [x[0], x[0], *x[2:]], "it is float [1], not float [3], at [1]")):
        file.write_bytes(message.to_proto(change(longer), longer_type, "longer").SerializeToString())
        says(onnxcc("sequences.onnx", "--eval", data, *bounds, code=1), text, "1 of 5 outputs differ")
    file.unlink()
    says(onnxcc("sequences.onnx", "--eval", data, *bounds), "float [1]; nothing to compare with")
    file.write_bytes(right_one)


def sequences():
    """A sequence of elements of different sizes, a map, an optional: from files, from arrays, random."""
    h, of_float = onnx.helper, onnx.helper.make_tensor_type_proto(models.FLOAT, ["n"])
    words = h.make_tensor_sequence_value_info("words", onnx.TensorProto.STRING, [1])
    counts_of = h.make_value_info("counts", h.make_map_type_proto(onnx.TensorProto.STRING, h.make_tensor_type_proto(models.FLOAT, [])))
    maybe = h.make_value_info("maybe", h.make_optional_type_proto(h.make_tensor_type_proto(models.FLOAT, [2])))
    nodes = [h.make_node("SequenceAt", ["s", "i"], ["at"]), h.make_node("Neg", ["at"], ["minus"], "negate"),
             h.make_node("SequenceInsert", ["s", "minus"], ["longer"]), h.make_node("SequenceLength", ["longer"], ["length"]),
             h.make_node("SequenceAt", ["words", "i"], ["word"]), h.make_node("OptionalHasElement", ["maybe"], ["has"]),
             h.make_node("DictVectorizer", ["counts"], ["row"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"]),
             h.make_node("ZipMap", ["row"], ["maps"], domain="ai.onnx.ml", classlabels_strings=["a", "b", "c"])]
    label = h.make_map_type_proto(onnx.TensorProto.STRING, h.make_tensor_type_proto(models.FLOAT, []))
    m = models.model(nodes, [h.make_value_info("s", h.make_sequence_type_proto(of_float)), words, counts_of, maybe],
                     [h.make_value_info("longer", h.make_sequence_type_proto(of_float)), models.tensor("length", onnx.TensorProto.INT64, []),
                      models.tensor("word", onnx.TensorProto.STRING, [1]), models.tensor("has", onnx.TensorProto.BOOL, []),
                      h.make_value_info("maps", h.make_sequence_type_proto(label))], [("i", np.int64(1))])
    m.opset_import.append(h.make_opsetid("ai.onnx.ml", 1))
    onnx.save(m, WORK / "sequences.onnx")
    s = [np.float32([1, 2, 3]), np.float32([4]), np.float32([5, 6])]
    feeds = {"s": s, "words": [np.array(["x"]), np.array(["long word"])], "counts": {"c": 7.0, "a": 2.0}, "maybe": np.float32([1, 2])}
    outputs = ["longer", "length", "word", "has", "maps"]
    value = dict(zip(outputs, models.expected(m, feeds, outputs)))
    check([len(x) for x in value["longer"]] == [3, 1, 2, 1] and value["maps"] == [{"a": 2.0, "b": 0.0, "c": 7.0}], f"ONNX Runtime: {value}")
    data = WORK / "sequences"
    data.mkdir()
    types = {v.name: v.type for v in [*m.graph.input, *m.graph.output]}
    for kind, names, values in ("input", list(feeds), feeds), ("output", outputs, value):
        for i, name in enumerate(names):
            (data / f"{kind}_{i}.pb").write_bytes(message.to_proto(values[name], types[name], name).SerializeToString())
    right = ["longer: sequence of 4: float [3], float [1], float [2], float [1]\n    the data: largest error 0, relative 0, 0 ULPs: ok",
             "maps: sequence of 1: map of 3 from string to float", "5 outputs, 10 comparisons: right"]
    says(verify("sequences.onnx", data), *right)
    arrays = {**{f"s_{i}": x for i, x in enumerate(s)}, "words": np.array([["x"], ["long word"]]), "counts": np.float32([2, 7]),
              "counts_keys": np.array(["a", "c"]), "maybe": feeds["maybe"]}
    results = {**{f"longer_{i}": x for i, x in enumerate(value["longer"])}, "length": value["length"], "word": value["word"].astype(str),
               "has": value["has"], "maps": np.float32([[7, 0, 2]]), "maps_keys": np.array(["c", "b", "a"])}
    bounds = ["--shape", "s=3,3", "--shape", "words=2,1", "--shape", "counts=2", "--dim", "words_text<=9", "--dim", "counts_keys_text<=9"]
    evaluated_containers(data, bounds, types["longer"], value["longer"])
    np.savez(WORK / "sequences.npz", **arrays, **results)
    says(verify("sequences.onnx", "sequences.npz", CFLAGS="-O1 -fsanitize=address,undefined"), *right)
    for name, wrong, text in (("longer_2", np.float32([5, 7]), "first at [2][1]: 6, not 7"),
                              ("longer_1", np.float32([4, 4]), "it is float [1], not float [2], at [1]"),
                              ("maps", np.float32([[7, 1, 2]]), "first at [0].values[1]: 0, not 1"), ("maps_keys", np.array(["c", "b", "d"]), 'not "')):
        np.savez(WORK / "wrong.npz", **arrays, **{**results, name: wrong})
        says(verify("sequences.onnx", "wrong.npz", code=1), text, "1 of 10 comparisons differ", "is not this model's")
    shapes = ["--shape", "s=3,4", "--shape", "words=2,1", "--shape", "counts=2"]
    says(verify("sequences.onnx", *shapes), "longer: sequence of 4: float [4]", "5 outputs, 5 comparisons: right")
    says(verify("sequences.onnx", *shapes, "--ort", "none"), "onnxcc's evaluator: ", "5 comparisons: right")
    says(verify("sequences.onnx", data, code=1, wrong="s/= model_neg_f32(/= 2 * model_neg_f32(/"), 'first node that differs: graph.node[1] "negate" (Neg)')
    np.savez(WORK / "absent.npz", **{n: a for n, a in arrays.items() if n != "maybe"}, has=np.array(False))
    says(verify("sequences.onnx", "absent.npz", "--shape", "maybe=2"), "passes no empty", "has: bool []\n    the data: largest error 0: ok")
    for add, remove, text in (({"s_5": s[0]}, "s_1", "sequences.npz: s: the array s_1 is missing, but there is s_5"),
                              ({"s_4": s[0]}, None, "sequences.npz: s: the array s_3 is missing, but there is s_4"),
                              ({"s": np.float32(1)}, "s", "sequences.npz: s: a scalar has no rows"),
                              ({"s": np.float32([[1]])}, None, "s: there are s and s_2: a sequence is either"),
                              ({}, "counts_keys", "counts: its keys are missing: the array counts_keys"),
                              ({}, "counts", "counts: its values are missing, beside the array counts_keys")):
        kept = {n: a for n, a in arrays.items() if n != remove and not (remove == "s" and n.startswith("s_"))}
        np.savez(WORK / "sequences.npz", **kept, **add)
        says(verify("sequences.onnx", "sequences.npz", code=3), text)
    np.savez(WORK / "long.npz", **{**arrays, "words": np.array([["x"]] * 3)})
    says(verify("sequences.onnx", "long.npz", "--shape", "words=2,1", code=1), "'words' has 3 elements, not 2 at most")


def options_of_results():
    """--steps; --const, also for ONNX Runtime; --custom-op, whose operator has no definition; a signal leaves no folder."""
    values = {"a": np.int8([1, 2, 3]), "b": np.uint8([4, 5, 6]), "c": np.int16([7, 8, 9]), "d": np.array([True, False, True])}
    kinds = {n: onnx.helper.np_dtype_to_tensor_dtype(v.dtype) for n, v in values.items()}
    m = models.model([onnx.helper.make_node("Identity", [n], [f"{n}_y"]) for n in values], [models.tensor(n, t, [3]) for n, t in kinds.items()],
                     [models.tensor(f"{n}_y", t, [3]) for n, t in kinds.items()])
    onnx.save(m, WORK / "steps.onnx")
    for moved, by, steps, differ in (("a", 1, 0, 1), ("a", 1, 1, 0), ("b", 2, 1, 1), ("b", 2, 2, 0), ("c", 1, 5, 1), ("d", 1, 5, 1)):
        expected = {f"{n}_y": v.copy() for n, v in values.items()}
        expected[f"{moved}_y"][1] = not values[moved][1] if moved == "d" else values[moved][1] + by
        np.savez(WORK / "steps.npz", **values, **expected)
        said = verify("steps.onnx", "steps.npz", "--ort", "none", "--steps", steps, code=differ)
        says(said, "1 of 4 comparisons differ" if differ else "4 comparisons: right")
    m = models.model([onnx.helper.make_node("Add", ["x", "k"], ["y"])], [models.tensor("x", models.FLOAT, [3]), models.tensor("k", models.FLOAT, [1])],
                     [models.tensor("y", models.FLOAT, [3])])
    onnx.save(m, WORK / "constant.onnx")
    np.savez(WORK / "constant.npz", x=np.float32([1, 2, 3]), k=np.float32([9]))
    for words in ["--const", "k=5"], ["constant.npz", "--const", "k=5"]:
        says(verify("constant.onnx", *words), "compared with ONNX Runtime", "1 outputs, 1 comparisons: right")
    says(verify("constant.onnx", "--custom-op", "a.B", code=2), "has no definition of the operator")
    held, slow = WORK / "held", WORK / "slow-cc"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    for number in signal.SIGINT, signal.SIGTERM:
        held.mkdir()
        p = subprocess.Popen([ONNXCC, "verify", WORK / "constant.onnx"], env={**os.environ, "TMPDIR": str(held.resolve()), "CC": str(slow.resolve())},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                             preexec_fn=lambda n=number: signal.signal(n, signal.SIG_DFL))      # as a shell ignores it in the background
        end = time.monotonic() + 60
        while not list(held.glob("*/c/program.c")) and time.monotonic() < end:
            time.sleep(0.01)
        check(list(held.glob("*/c/program.c")), "onnxcc verify writes no program")
        os.killpg(p.pid, number)
        check(p.wait() == -number and not list(held.iterdir()), f"{number!r} leaves {list(held.rglob('*'))}")
        held.rmdir()


def usages():
    says(verify(code=2), "no model given")
    says(verify("-", code=2), "needs a file")
    says(verify("m.onnx", "data", "more", code=2), "one model at a time")
    says(verify("m.onnx", "--rtol", "x", code=2), "expected a number")
    says(onnxcc("m.onnx", "--seed", "1", code=2), "--seed is an option of onnxcc verify")
    says(onnxcc("--help"), "onnxcc verify MODEL [DATA]", "--rtol", "--timeout")
    sequence = onnx.helper.make_tensor_sequence_value_info("s", models.FLOAT, [2])
    m = models.model([onnx.helper.make_node("SequenceAt", ["s", "i"], ["y"])], [sequence], [models.tensor("y", models.FLOAT, [2])],
                     [("i", np.int64(0))])
    onnx.save(m, WORK / "sequence.onnx")
    says(verify("sequence.onnx", code=1), "the sequence 's' has no bounds", "--shape s=N")
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    m = models.model([onnx.helper.make_node("Gather", ["t", "i"], ["y"])], [models.tensor("i", onnx.TensorProto.INT64, [9])],
                     [models.tensor("y", models.FLOAT, [9, 2])], [("t", table)])
    onnx.save(m, WORK / "small.onnx")
    says(verify("small.onnx"), "1 comparisons: right")


begin()
cuts()
cuts_of_other_things()
evaluated()
right()
wrong()
arrays()
sequences()
options_of_results()
usages()
inside.values()
inside.errors()
inside.verified()
inside.wrong()
print(f"verify: {counts[True]} passed, {counts[False]} failed")
raise SystemExit(counts[False] > 0)
