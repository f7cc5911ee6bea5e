"""Tensors inside branches, loops and functions, as outputs, and in the search of `onnxcc verify`. Expected values are computed by numpy
from the operators' definitions, and by ONNX Runtime."""
import numpy as np
import onnx
from onnx import TensorProto, helper

import models
from checks import check
from models import FLOAT, tensor
from tools import WORK, cut, onnxcc, says, verify

BOOL, INT64 = TensorProto.BOOL, TensorProto.INT64
node = helper.make_node


def graph(nodes, inputs, outputs):
    return helper.make_graph(nodes, "inside", inputs, outputs)


def looped():
    """A loop of five iterations with an If: even ones subtract x from the state, odd ones double it and add x."""
    then = graph([node("Mul", ["acc", "two"], ["dbl"], "double"), node("Add", ["dbl", "x"], ["r"], "plus")], [], [tensor("r", FLOAT, [4])])
    other = graph([node("Sub", ["acc", "x"], ["r"], "minus")], [], [tensor("r", FLOAT, [4])])
    body = graph([node("Mod", ["i", "m2"], ["odd"]), node("Cast", ["odd"], ["flag"], to=BOOL),
                  node("If", ["flag"], ["next"], "choose", then_branch=then, else_branch=other), node("Relu", ["next"], ["seen"], "watch"),
                  node("Identity", ["c"], ["c2"])],
                 [tensor("i", INT64, []), tensor("c", BOOL, []), tensor("acc", FLOAT, [4])],
                 [tensor("c2", BOOL, []), tensor("next", FLOAT, [4]), tensor("seen", FLOAT, [4])])
    nodes = [node("Abs", ["x"], ["start"], "abs"), node("Loop", ["n", "", "start"], ["last", "hist"], "loop", body=body),
             node("Neg", ["last"], ["y"], "neg")]
    return models.model(nodes, [tensor("x", FLOAT, [4])], [tensor("y", FLOAT, [4]), tensor("hist", FLOAT, None)],
                        [("n", np.int64(5)), ("two", np.float32(2)), ("m2", np.int64(2))])


def looped_values(x):
    acc, rows = np.abs(x), []
    for i in range(5):
        dbl = acc * 2 if i % 2 else np.zeros_like(acc)
        acc = dbl + x if i % 2 else acc - x
        rows.append((dbl, acc))
    dbl, states = (np.array(v, np.float32) for v in zip(*rows))
    odd = np.arange(5) % 2
    return {"y": -states[-1], "hist": np.maximum(states, 0), "last": states[-1], "start": np.abs(x), "odd": odd, "flag": odd == 1, "dbl": dbl,
            "dbl_given": odd == 1, "next": states, "c2": np.ones(5, bool), "loop/choose/then/r": states * odd[:, None].astype(np.float32),
            "loop/choose/then/r_given": odd == 1, "loop/choose/else/r": states * (1 - odd[:, None]).astype(np.float32),
            "loop/choose/else/r_given": odd == 0}


def function(name, inputs, outputs, nodes):
    return helper.make_function("own", name, inputs, outputs, nodes, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])


def scanned():
    """A Scan over five rows, in it a Loop of three iterations, in it a call of a function that calls another, which has an If, twice."""
    square = graph([node("Mul", ["f_in", "f_in"], ["sq"], "square"), node("Identity", ["sq"], ["big"])], [], [tensor("big", FLOAT, None)])
    minus = graph([node("Neg", ["f_in"], ["ng"], "minus"), node("Identity", ["ng"], ["big"])], [], [tensor("big", FLOAT, None)])
    pick = function("Pick", ["f_in"], ["f_out"], [
        node("ReduceSum", ["f_in"], ["sum"], keepdims=0), node("Constant", [], ["zero"], value_float=0.0), node("Greater", ["sum", "zero"], ["pos"]),
        node("If", ["pos"], ["f_mid"], "pick", then_branch=square, else_branch=minus), node("Relu", ["f_mid"], ["f_out"])])
    twice = function("Twice", ["o_in"], ["o_out"], [
        node("Pick", ["o_in"], ["p1"], "first", domain="own"), node("Neg", ["p1"], ["p2"]), node("Pick", ["p2"], ["o_out"], "second", domain="own")])
    row, state = tensor("row", FLOAT, [3]), tensor("s", FLOAT, [3])
    inner = graph([node("Add", ["st", "row"], ["st2"], "accumulate"), node("Pick", ["st2"], ["pk"], "call", domain="own"),
                   node("Identity", ["lc"], ["lc2"])], [tensor("li", INT64, []), tensor("lc", BOOL, []), tensor("st", FLOAT, [3])],
                  [tensor("lc2", BOOL, []), tensor("st2", FLOAT, [3]), tensor("pk", FLOAT, [3])])
    body = graph([node("Sub", ["s", "row"], ["s2"], "difference"), node("Loop", ["three", "", "s2"], ["lst", "pks"], "inner", body=inner),
                  node("ReduceMax", ["pks"], ["mx"], axes=[0], keepdims=0)], [state, row], [tensor("s2", FLOAT, [3]), tensor("mx", FLOAT, [3])])
    nodes = [node("Twice", ["x"], ["ox"], "outer", domain="own"),
             node("Scan", ["s0", "x"], ["sf", "ys"], "scan", num_scan_inputs=1, scan_output_axes=[1], scan_input_axes=[0], body=body)]
    return models.model(nodes, [tensor("x", FLOAT, [5, 3])], [tensor("sf", FLOAT, [3]), tensor("ys", FLOAT, None), tensor("ox", FLOAT, [5, 3])],
                        [("s0", np.zeros(3, np.float32)), ("three", np.int64(3))], [pick, twice])


def pick_values(x):
    """The values in Pick: whether the sum is positive, the square if it is, the negation if not, the result."""
    pos = x.sum() > 0
    return pos, x * x * pos, -x * (not pos), np.maximum(x * x if pos else -x, 0)


def scanned_values(x):
    s, found = np.zeros(3, np.float32), {"st2": [], "pos": [], "sq": [], "ng": []}
    for row in x:
        s = s - row
        st = s
        for _ in range(3):
            st = st + row
            pos, sq, ng, _ = pick_values(st)
            for key, v in ("st2", st), ("pos", pos), ("sq", sq), ("ng", ng):
                found[key].append(v)
    values = {key: np.array(v).reshape(5, 3, *np.shape(v[0])) for key, v in found.items()}
    at = "scan/inner/call/"
    first = pick_values(x)
    second = pick_values(-first[3])
    return {"st2": values["st2"], at + "pos": values["pos"], at + "pick/then/sq": values["sq"], at + "pick/then/sq_given": values["pos"],
            at + "pick/else/ng": values["ng"], at + "pick/else/ng_given": ~values["pos"], "outer/first/pick/then/sq": first[1],
            "outer/first/pick/then/sq_given": np.array(first[0]), "outer/second/pick/else/ng": second[2],
            "outer/second/pick/else/ng_given": np.array(not second[0]), "p1": first[3]}


def branched():
    """An If; one of its branches has a tensor of a size that depends on data, a sequence, and strings."""
    then = graph([node("Neg", ["x"], ["minus"], "n"), node("SplitToSequence", ["minus", "one"], ["parts"], "split", axis=0),
                  node("NonZero", ["x"], ["nz"], "nz"), node("Identity", ["words"], ["same"], "w"), node("Relu", ["minus"], ["r"])], [],
                 [tensor("r", FLOAT, None)])
    other = graph([node("Identity", ["x"], ["r"])], [], [tensor("r", FLOAT, None)])
    return models.model([node("If", ["flag"], ["y"], "if", then_branch=then, else_branch=other)],
                        [tensor("x", FLOAT, ["N", 2]), tensor("flag", BOOL, []), tensor("words", TensorProto.STRING, [2])],
                        [tensor("y", FLOAT, ["N", 2])], [("one", np.int64(1))])


def impossible():
    """An If whose branches have branches that cannot run with these sizes, with tensors after the node whose sizes are wrong."""
    def inner(late, fits):
        bad = graph([node("MatMul", ["x", "five"], ["bad"]), node("Neg", ["bad"], [late]), node("Abs", [late], ["s"])], [], [tensor("s", FLOAT, None)])
        good = graph([node("Relu", ["x"], [fits]), node("ReduceSum", [fits], ["s"], keepdims=0)], [], [tensor("s", FLOAT, None)])
        return graph([node("If", ["second"], ["o"], then_branch=bad, else_branch=good)], [], [tensor("o", FLOAT, None)])
    return models.model([node("If", ["first"], ["y"], then_branch=inner("late", "fits"), else_branch=inner("later", "fit"))],
                        [tensor("x", FLOAT, [2]), tensor("first", BOOL, []), tensor("second", BOOL, [])], [tensor("y", FLOAT, [])],
                        [("five", np.ones(5, np.float32))])


def growing():
    """A loop with a tensor whose size changes in each iteration, a sequence, and a tensor of a size that the caller chooses."""
    body = graph([node("Unsqueeze", ["i", "ax"], ["i1"]), node("Add", ["i1", "one"], ["next"]), node("Slice", ["x", "from", "next"], ["part"], "part"),
                  node("ReduceSum", ["part"], ["sm"], keepdims=0), node("Neg", ["x"], ["whole"]), node("SplitToSequence", ["x"], ["sq"]),
                  node("SequenceLength", ["sq"], ["len"]), node("Add", ["acc", "sm"], ["acc2"]), node("Identity", ["c"], ["c2"])],
                 [tensor("i", INT64, []), tensor("c", BOOL, []), tensor("acc", FLOAT, [])], [tensor("c2", BOOL, []), tensor("acc2", FLOAT, [])])
    zero = np.int64([0])
    return models.model([node("Loop", ["n", "", "z"], ["y"], "grow", body=body)], [tensor("x", FLOAT, ["N"])], [tensor("y", FLOAT, [])],
                        [("n", np.int64(4)), ("z", np.float32(0)), ("from", zero), ("one", np.int64([1])), ("ax", zero)])


def of_types():
    """A branch in a loop with strings and types of few bits."""
    then = graph([node("Concat", ["w", "w"], ["ww"], axis=0), node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16),
                  node("Cast", ["x"], ["brain"], to=TensorProto.BFLOAT16), node("Cast", ["x"], ["byte"], to=TensorProto.UINT8),
                  node("Size", ["ww"], ["r"])], [], [tensor("r", INT64, [])])
    other = graph([node("Size", ["w"], ["r"])], [], [tensor("r", INT64, [])])
    body = graph([node("Mod", ["i", "two"], ["odd"]), node("Cast", ["odd"], ["flag"], to=BOOL),
                  node("If", ["flag"], ["sz"], "if", then_branch=then, else_branch=other), node("Add", ["a", "sz"], ["a2"]), node("Identity", ["c"], ["c2"])],
                 [tensor("i", INT64, []), tensor("c", BOOL, []), tensor("a", INT64, [])], [tensor("c2", BOOL, []), tensor("a2", INT64, [])])
    return models.model([node("Loop", ["n", "", "z"], ["y"], "loop", body=body)], [tensor("x", FLOAT, [3]), tensor("w", TensorProto.STRING, [2])],
                        [tensor("y", INT64, [])], [("n", np.int64(4)), ("two", np.int64(2)), ("z", np.int64(0))])


def mapped():
    """A body that is applied to the elements of a sequence."""
    body = graph([node("Relu", ["e"], ["p"]), node("Neg", ["p"], ["q"])], [tensor("e", FLOAT, None)], [tensor("q", FLOAT, None)])
    return models.model([node("SplitToSequence", ["x"], ["s"], axis=0), node("SequenceMap", ["s"], ["s2"], "map", body=body),
                         node("ConcatFromSequence", ["s2"], ["y"], axis=0)], [tensor("x", FLOAT, [3, 2])], [tensor("y", FLOAT, [3, 2])])


def batched():
    """A Scan of version 8, which has a batch."""
    body = graph([node("Add", ["s", "row"], ["s2"]), node("Mul", ["s2", "s2"], ["m"]), node("Identity", ["m"], ["o"])],
                 [tensor("s", FLOAT, [2]), tensor("row", FLOAT, [2])], [tensor("s2", FLOAT, [2]), tensor("o", FLOAT, [2])])
    g = helper.make_graph([node("Scan", ["", "s0", "x"], ["sf", "ys"], "scan", num_scan_inputs=1, body=body)], "g",
                          [tensor("s0", FLOAT, [1, 2]), tensor("x", FLOAT, [1, 4, 2])], [tensor("sf", FLOAT, [1, 2]), tensor("ys", FLOAT, [1, 4, 2])])
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 8)], ir_version=4)


def branches_in_branches():
    """Calls of a function, one of which leaves out its second output, in branches of branches."""
    two = function("Two", ["a"], ["b", "c"], [node("Neg", ["a"], ["b"]), node("Abs", ["a"], ["m"]), node("Exp", ["m"], ["c"])])
    unknown = tensor("r", FLOAT, None)
    inner = [graph([node("Two", ["x"], ["b1"], "call", domain="own"), node("Relu", ["b1"], ["r"])], [], [unknown]),
             graph([node("Abs", ["x"], ["k"]), node("Relu", ["k"], ["r"])], [], [unknown])]
    outer = [graph([node("If", ["f2"], ["r1"], "inner", then_branch=inner[0], else_branch=inner[1]), node("Neg", ["r1"], ["r"])], [], [unknown]),
             graph([node("Two", ["x"], ["b2", "e2"], "also", domain="own"), node("Add", ["b2", "e2"], ["r"])], [], [unknown])]
    return models.model([node("If", ["f1"], ["y"], "outer", then_branch=outer[0], else_branch=outer[1])],
                        [tensor("x", FLOAT, [3]), tensor("f1", BOOL, []), tensor("f2", BOOL, [])], [tensor("y", FLOAT, [3])], functions=[two])


def hostile():
    """Names that C and messages must escape, and names that become the same identifier in C."""
    name = 'a"*/\n%s\\'
    then = graph([node("Neg", ["x"], [name], "n/*"), node("Relu", [name], ["r"])], [], [tensor("r", FLOAT, None)])
    other = graph([node("Abs", ["x"], ["a.b"]), node("Exp", ["a.b"], ["a_b"]), node("Relu", ["a_b"], ["r"])], [], [tensor("r", FLOAT, None)])
    return models.model([node("If", ["flag"], ["y"], "if/*x*/", then_branch=then, else_branch=other), node("Identity", ["x"], ["a_b_given"])],
                        [tensor("x", FLOAT, [2]), tensor("flag", BOOL, [])], [tensor("y", FLOAT, [2]), tensor("a_b_given", FLOAT, [2])])


def values():
    x = np.float32([1, -2, 3, -4])
    m, value = looped(), looped_values(x)
    start = value["start"]
    for inputs, words, names in [
            ([x], ["--tap", "dbl"], ["y", "hist", "dbl", "dbl_given"]), ([x], ["--tap", "next", "--tap", "next"], ["y", "hist", "next"]),
            ([x], ["--tap", "loop/choose/then/r", "--tap", "loop/choose/else/r"],
             ["y", "hist", "loop/choose/then/r", "loop/choose/then/r_given", "loop/choose/else/r", "loop/choose/else/r_given"]),
            ([x], ["--tap", "all"], ["y", "hist", "start", "last", "odd", "flag", "dbl", "dbl_given", "next", "c2"]),
            ([x], ["--until", "start", "--tap", "odd"], ["start", "odd"]),
            ([x, start], ["--from", "start", "--until", "last", "--tap", "dbl"], ["last", "dbl", "dbl_given"])]:
        cut(m, inputs, words, names, [value[n] for n in names])
    rows = np.random.default_rng(6).standard_normal((5, 3)).astype(np.float32)
    m, value = scanned(), scanned_values(rows)
    outputs = models.expected(m, {"x": rows}, ["sf", "ys", "ox"])
    for name in value:
        if not name.endswith("_given"):
            also = [name] + [f"{name}_given"] * (f"{name}_given" in value)
            cut(m, [rows], ["--tap", name], ["sf", "ys", "ox", *also], [*outputs, *(value[n] for n in also)])
    m, size = branched(), ["--dim", "N=3", "--dim", "words_text<=9"]
    x, words = np.float32([[1, 0], [0, -2], [3, 4]]), np.array(["a", "bc"], object)
    taken, not_taken = [x, np.array(True), words], [x, np.array(False), words]
    cut(m, taken, ["--tap", "nz", *size], ["y", "nz", "nz_given"], [np.maximum(-x, 0), np.array(np.nonzero(x)), np.array(True)])
    cut(m, not_taken, ["--tap", "nz", *size], ["y", "nz", "nz_given"], [x, np.zeros((2, 0), np.int64), np.array(False)])
    cut(m, taken, ["--tap", "same", *size], ["y", "same", "same_given"], [np.maximum(-x, 0), words, np.array(True)])
    cut(m, not_taken, ["--tap", "same", *size], ["y", "same", "same_given"], [x, np.array(["", ""], object), np.array(False)])
    for n in 3, 5:
        x = np.arange(n, dtype=np.float32)
        for bound in f"N={n}", "N<=8":
            sums = np.float32([x[:i + 1].sum() for i in range(4)])
            whole, numbers = np.array([-x] * 4), np.arange(4).reshape(4, 1)
            names = ["y", "i1", "next", "part", "sm", "whole", "len", "acc2", "c2"]
            cut(growing(), [x], ["--tap", "part", "--tap", "whole", "--dim", bound], ["y", "part", "whole"], [sums.sum(), x[:4], whole])
            cut(growing(), [x], ["--tap", "all", "--dim", bound, "-Wno-left-out-tap"], names,
                [sums.sum(), numbers, numbers + 1, x[:4], sums, whole, np.full(4, n), np.cumsum(sums, dtype=np.float32), np.ones(4, bool)])
    steps = graph([node("Mul", ["q", "two"], ["q2"]), node("Identity", ["c"], ["cc"])],
                  [tensor("j", INT64, []), tensor("c", BOOL, []), tensor("q", FLOAT, [2])], [tensor("cc", BOOL, []), tensor("q2", FLOAT, [2])])
    body = graph([node("Loop", ["i", "", "a"], ["a2"], "inner", body=steps), node("Add", ["a2", "x"], ["a3"]), node("Identity", ["c"], ["c2"])],
                 [tensor("i", INT64, []), tensor("c", BOOL, []), tensor("a", FLOAT, [2])], [tensor("c2", BOOL, []), tensor("a3", FLOAT, [2])])
    m = models.model([node("Loop", ["n", "", "x"], ["y"], "outer", body=body)], [tensor("x", FLOAT, [2])], [tensor("y", FLOAT, [2])],
                     [("n", np.int64(4)), ("two", np.float32(2))])
    x = np.float32([1, -2])
    cut(m, [x], ["--tap", "q2", "--tap", "a2"], ["y", "q2", "a2"], [x * 169, x * 168, np.array([x, x * 4, x * 20, x * 168])])


def errors():
    """Tensors that cannot be outputs, and why."""
    onnx.save(looped(), WORK / "looped.onnx")
    onnx.save(scanned(), WORK / "scanned.onnx")
    onnx.save(growing(), WORK / "growing.onnx")
    for file, words, *texts in [
            ("looped", ["--tap", "r"], "there are 2 tensors of this name", "--tap loop/choose/else/r", "--tap loop/choose/then/r"),
            ("scanned", ["--tap", "sum"], "there are 3 tensors", "--tap outer/first/sum", "--tap outer/second/sum", "--tap scan/inner/call/sum"),
            ("looped", ["--tap", "acc"], "inside of this node, where no node computes it", '"loop" (Loop)'),
            ("looped", ["--until", "dbl"], "inside of this node, where it may have many values", '"choose" (If)'),
            ("scanned", ["--tap", "f_in"], "inside of the function Pick, where no node computes it"),
            ("growing", ["--tap", "sq", "--dim", "N=4"], "is a sequence or an optional, which a loop carries, but does not stack")]:
        says(onnxcc(f"{file}.onnx", "-o", "-", *words, code=1), *texts)
    said = onnxcc("growing.onnx", "-o", "-", "--tap", "all", "--dim", "N=4")
    says(said, "--tap all leaves out sq: result", 'output "len": int64 [4]')
    body = graph([node("Add", ["a", "a"], ["a2"], "twice"), node("ReduceMax", ["a2"], ["mx"], keepdims=0), node("Less", ["mx", "lim"], ["go"])],
                 [tensor("i", INT64, []), tensor("c", BOOL, []), tensor("a", FLOAT, [2])], [tensor("go", BOOL, []), tensor("a2", FLOAT, [2])])
    m = models.model([node("Loop", ["", "on", "x"], ["y"], "while", body=body)], [tensor("x", FLOAT, [2])], [tensor("y", FLOAT, [2])],
                     [("on", np.array(True)), ("lim", np.float32(100))])
    onnx.save(m, WORK / "while.onnx")
    says(onnxcc("while.onnx", "-o", "-", "--tap", "a2", code=1), "the size 'trips', known only at run time, has no bound", "--dim 'trips<=64'")
    x = np.float32([1, 3])
    cut(m, [x], ["--tap", "a2", "--dim", "trips<=9"], ["y", "a2"], [x * 64, np.array([x * 2 ** i for i in range(1, 7)], np.float32)])
    says(onnxcc("while.onnx", "-o", "-", "--tap", "all"), "--tap all leaves out a2: the size 'trips'")
    onnx.save(branched(), WORK / "branched.onnx")
    never = onnxcc("branched.onnx", "-o", "-", "--dim", "N=3", "--dim", "words_text<=9", "--const", "flag=0", "--tap", "minus", code=1)
    says(never, "--tap minus: its branch never runs, as the condition is constant")
    onnx.save(impossible(), WORK / "impossible.onnx")
    for tap in "late", "later":
        says(onnxcc("impossible.onnx", "-o", "-", "--tap", tap, code=1), f"--tap {tap}: its branch cannot run")
    says(onnxcc("impossible.onnx", "-o", "-", "--tap", "all"), "--tap all leaves out late: its branch cannot run",
         "--tap all leaves out later: its branch cannot run", 'output "fits": float [2]')


def verified():
    """With ONNX Runtime, each tensor is compared."""
    for of in hostile, of_types, mapped, batched, branches_in_branches:
        onnx.save(of(), WORK / f"{of.__name__}.onnx")
    for file, words, outputs, *texts in [
            ("looped", [], 10, "dbl: float [5,4]"), ("scanned", [], 31, "scan/inner/call/pick/then/sq: float [5,3,3]"),
            ("growing", ["--dim", "N=4"], 9, "whole: float [4,4]"), ("hostile", ["--seed", "1"], 8), ("hostile", ["--seed", "2"], 8, "a_b_given#2: bool []"),
            ("of_types", ["--dim", "w_text<=8"], 14, "ww: string [4,4]", "brain: bfloat16 [4,3]"), ("batched", [], 4, "s2: float [1,4,2]"),
            ("mapped", [], 4, "p: sequence of 3: float [1,2]"), *[("branches_in_branches", ["--seed", s], 15, "r1_given: bool []") for s in range(1, 5)]]:
        said = verify(f"{file}.onnx", "--tap", "all", *words)
        says(said, "compared with ONNX Runtime 1.", f"{outputs} outputs, {outputs - (file == 'growing')} comparisons: right", *texts)
    sizes = ["--dim", "N=3", "--dim", "words_text<=9"]
    for flag in True, False:
        np.savez(WORK / "branched.npz", x=np.float32([[1, 0], [0, -2], [3, 4]]), flag=np.array(flag), words=np.array(["a", "bc"]))
        said = verify("branched.onnx", "branched.npz", "--tap", "all", *sizes)
        says(said, "compared with ONNX Runtime 1.", f"9 outputs, {9 if flag else 8} comparisons: right",
             "parts: sequence of 3: float [1,2]" if flag else "parts: sequence of 0")


def wrong():
    """Kernels that are made wrong in one iteration, and the place where the difference is found."""
    minus = r"s/= model_sub_f32(\(.*\));/= model_sub_f32(\1) + (iteration == 4);/"
    place = ('first node that differs: graph.node[1] "loop" (Loop).body.node[2] "choose" (If).else_branch.node[0] "minus" (Sub)',
             'in iteration 4 of graph.node[1] "loop" (Loop)', 'in:  "acc": an input of its graph', 'in:  "x": an input of the model',
             'out: tensor "r": float [4], largest error 1')
    for ort, by in ([], "ONNX Runtime has"), (["--ort", "none"], "the evaluator has"):
        says(verify("looped.onnx", *ort, code=1, wrong=minus), *place, by)
    says(verify("looped.onnx", code=1, wrong=r"s/= model_relu_f32(\(.*\));/= model_relu_f32(\1) + 3 * (iteration == 2);/"), '.body.node[3] "watch" (Relu)',
         "in iteration 2 of", 'in:  tensor "next": float [4], largest error 0', 'out: tensor "seen": float [4], largest error 3')
    rows = np.random.default_rng(6).standard_normal((5, 3)).astype(np.float32)
    np.savez(WORK / "rows.npz", x=rows)
    negated = np.flatnonzero(scanned_values(rows)["scan/inner/call/pick/else/ng_given"])
    check(len(negated) > 3, f"{negated}: too few iterations of the branch")
    static = r"1i static int calls_;" "\n"
    negation = r"/for (idx iteration/,$ s/= model_neg_f32(\(.*\));/= model_neg_f32(\1) + 9 * (calls_++ \/ 3 == 2);/"
    said = verify("scanned.onnx", "rows.npz", code=1, wrong=static + negation)
    outer, inner = divmod(int(negated[2]), 3)
    says(said, '"minus" (Neg)', "in the call", '"call" (Pick)', f"in iteration {inner} of", '"inner" (Loop)',
         f'in iteration {outer} of graph.node[1] "scan" (Scan)', 'in:  "f_in": an input of its function', 'out: tensor "ng": float [3], largest error 9')
