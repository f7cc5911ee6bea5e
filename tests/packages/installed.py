"""The installed Python package. Prints what is wrong, then "installed: N passed, N failed"."""
import concurrent.futures
import contextlib
import gc
import importlib.metadata
import os
import pathlib
import pickle
import sys
import unittest
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnx.backend.test
import onnxcc
import onnxcc.backend
import onnxruntime
from onnx import helper, numpy_helper
from onnx.parser import parse_model

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from checks import check, counts    # noqa: E402

RANDOM = np.random.default_rng(1)
# Official tests of each form of value, of types that NumPy lacks, of functions, loops and open sizes, and of whole models.
OFFICIAL = r"""^test_(softmax_axis_1|conv_with_strides_padding|lstm_defaults|split_to_sequence_2|sequence_insert_at_front|identity_opt
    |optional_has_element_optional_input|optional_get_element_optional_sequence|string_concat|string_split_basic|regex_full_match_basic
    |cast_FLOAT_to_INT4|cast_UINT2_to_FLOAT|cast_FLOAT_to_FLOAT4E2M1|cast_FLOAT_to_BFLOAT16|cast_FLOAT8E5M2_to_FLOAT
    |nonzero_example|loop11|if_seq|elu_expanded_ver18|ai_onnx_ml_label_encoder_string_int
    |dequantizelinear_int4|compress_0|sequence_model[1-8]|single_relu_model|strnorm_model_monday_casesensintive_lower|Conv2d|Linear
    )_cpu$""".replace("\n", "").replace(" ", "")


def model(text, **weights):
    m = parse_model(text)
    m.graph.initializer.extend(numpy_helper.from_array(w, k) for k, w in weights.items())
    return m


def raises(kind, what, call):
    """Checks that `call` raises an exception of this kind; returns it."""
    try:
        call()
    except kind as e:
        return e
    except Exception as e:      # pylint: disable=broad-except
        check(False, f"{what}: {type(e).__name__}: {e}")
    else:
        check(False, f"{what}: nothing is raised")
    return kind("") if kind is not onnxcc.Error else onnxcc.Error(onnxcc.Message("", "", ""))


def network():
    """A model with an input of open batch size and two outputs."""
    sizes = {"k": (8, 3, 3, 3), "b": (8,), "w": (8 * 8 * 8, 10)}
    return model("""<ir_version: 8, opset_import: ["":17]> g (float[N,3,16,16] x) => (float[N,10] scores, float[N,8,8,8] features) {
        c = Conv <pads = [1,1,1,1]> (x, k, b)  r = Relu(c)  features = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)
        f = Flatten(features)  s = MatMul(f, w)  scores = Softmax(s) }""",
                 **{k: RANDOM.standard_normal(s).astype(np.float32) / 10 for k, s in sizes.items()})


def close(what, got, expected):
    check(got.dtype == expected.dtype and got.shape == expected.shape, f"{what}: {got.dtype}{got.shape}, not {expected.dtype}{expected.shape}")
    check(got.shape == expected.shape and np.allclose(got, expected, 1e-4, 1e-6), f"{what} differs from ONNX Runtime")


def small_network():
    """ONNX Runtime's results for every batch within the bound; arguments by position and by name; models as a path, bytes and a message;
    threads."""
    m = network()
    path = pathlib.Path("network.onnx").resolve()
    onnx.save(m, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    f = onnxcc.compile(path, bounds={"N": 5})
    check(f.inputs[0][:2] == ("x", "float") and f.inputs[0].shape == ("N", 3, 16, 16) and f.inputs[0].dtype == np.float32, f.inputs)
    check([t.name for t in f.outputs] == ["scores", "features"] and "network.onnx: (x: float[N, 3, 16, 16])" in repr(f), repr(f))
    inputs = [RANDOM.standard_normal((n, 3, 16, 16)).astype(np.float32) for n in (1, 5, 0, 3)]
    expected = [session.run(None, {"x": x}) for x in inputs]
    for x, (scores, features) in zip(inputs, expected):
        y = f(x)
        close(f"scores of {len(x)}", y.scores, scores)
        close(f"features of {len(x)}", y["features"], features)
    check(y[0] is y.scores and list(dict(y)) == ["scores", "features"] and len(y) == 2, "the outputs as a tuple and as a dict")
    check(np.array_equal(pickle.loads(pickle.dumps(y)).scores, y.scores), "a copy of the outputs")
    raises(KeyError, "no such output", lambda: y["score"])
    raises(AttributeError, "no such output", lambda: y.score)
    for how, g in {"bytes": onnxcc.compile(path.read_bytes(), bounds=5), "a message": onnxcc.compile(m, dims={"N": 3}),
                   "native": onnxcc.compile(path, dims=3, target="native", cflags="-O1"),
                   "a shape": onnxcc.compile(path, shapes={"x": (3, 3, 16, 16)})}.items():
        close(how, g(x=inputs[3]).scores, expected[3][0])
    close("not contiguous", f(np.asarray(inputs[3], order="F")).scores, expected[3][0])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for i, y in enumerate(pool.map(f, inputs * 20)):
            check(np.array_equal(y.scores, f(inputs[i % 4]).scores), f"in threads: {i}")
        both = list(pool.map(lambda x: onnxcc.compile(path, dims=len(x), cflags="-O0")(x).scores, (inputs[0], inputs[3])))
    check([y.shape for y in both] == [(1, 10), (3, 10)], "compiled in threads")
    for x, kind, says in ((inputs[0].astype(np.float64), TypeError, "float64, not float32"), (inputs[0][0], ValueError, "not [N, 3, 16, 16]"),
                          (np.zeros((6, 3, 16, 16), np.float32), ValueError, "N is from 0 to 5"), (["a"], TypeError, "not float32")):
        check(says in str(raises(kind, says, lambda x=x: f(x))), says)
    for call, says in ((lambda: f(), "'x' is missing"), (lambda: f(1, 2), "2 inputs, but"), (lambda: f(z=1), "'z' is none"),
                       (lambda: f(1, x=1), "given twice")):
        check(says in str(raises(TypeError, says, call)), says)


def networks():
    """Two official networks."""
    for name in "light_squeezenet", "light_shufflenet":
        path = pathlib.Path(os.environ["CACHE"], "suite", "light", name, "model.onnx")
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        x = RANDOM.standard_normal(session.get_inputs()[0].shape).astype(np.float32)
        close(name, onnxcc.compile(path, target="native")(x), session.run(None, {session.get_inputs()[0].name: x})[0])


def values():
    """Defaults, strings, sequences, optionals, maps, packed types, scalars, a state; sizes that a run determines."""
    f = onnxcc.compile(model("""<ir_version: 8, opset_import: ["":17]> g (float[2] x, float[2] d) => (float[2] y) { y = Add(x, d) }""",
                             d=np.float32([10, 20])))
    check(f([1, 2]).tolist() == [11, 22] and f([1, 2], d=[1, 1]).tolist() == [2, 3], "an input with a default")
    f = onnxcc.compile(model("""<ir_version: 8, opset_import: ["":20]> g (string[N] x, string[1] z) => (string[N] y) { y = StringConcat(x, z) }"""),
                       bounds={"N": 4, "x_text": 9, "z_text": 9})
    check(f(["a", "", "\u00df", b"d"], np.array(["e"])).tolist() == ["ae", "e", "\u00dfe", "de"], "strings")
    f = onnxcc.compile(model("""<ir_version: 8, opset_import: ["":17]> g (seq(float[K]) s, optional(float[2]) o, int64 i)
        => (seq(float[K]) t, float[K] e, bool h) {
        t = Identity(s)  e = SequenceAt(s, i)  h = OptionalHasElement(o) }"""), shapes={"s": (4, 5)})
    check(f.inputs[0].type == "sequence(float)" and f.inputs[1].type == "optional(float)" and f.inputs[0].shape is None, f.inputs)
    y = f([np.float32([1, 2]), [3]], i=1)
    check([list(a) for a in y.t] == [[1, 2], [3]] and y.e.tolist() == [3] and not y.h and y.h.dtype == bool, f"a sequence, no optional: {y}")
    check(f([np.zeros(5, np.float32)] * 4, np.float32([1, 2]), np.int64(0)).h, "an optional")
    raises(ValueError, "five elements", lambda: f([[1.0]] * 5, None, 0))
    raises(ValueError, "six sizes", lambda: f([[1.0] * 6], None, 0))
    e = raises(onnxcc.Error, "an index outside", lambda: f([[1.0]], None, 7))
    check("the run returned status 1: a size is outside its bounds" in str(e), e)
    f = onnxcc.compile(model("""<ir_version: 10, opset_import: ["":21]> g (int4[5] x, bfloat16[2] b, float16[2] h)
        => (float[5] y, int4[5] z, bfloat16[2] c, float[2] k) {
        y = Cast <to = 1> (x)  z = Identity(x)  c = Identity(b)  k = Cast <to = 1> (h) }"""))
    x = np.array([-8, 7, 0, -1, 3])
    y = f(x.astype(ml_dtypes.int4), np.array([1.5, -2], ml_dtypes.bfloat16), np.float16([0.5, 1]))
    check(y.y.tolist() == x.tolist() == y.z.astype(int).tolist() and y.z.dtype == ml_dtypes.int4, f"int4: {y}")
    check(y.c.dtype == ml_dtypes.bfloat16 and y.c.tolist() == [1.5, -2] and y.k.tolist() == [0.5, 1], f"bfloat16: {y}")
    f = onnxcc.compile(model("""<ir_version: 8, opset_import: ["":17]> g (float[2,N] x) => (int64[2,K] y) { y = NonZero(x) }"""), bounds=4)
    check(f([[0, 1, 0], [2, 0, 3]]).tolist() == [[0, 1, 1], [1, 0, 2]], "a size that the run determines")
    labels = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["a", "b"])
    f = onnxcc.compile(helper.make_model(helper.make_graph([labels], "g", [helper.make_tensor_value_info("x", 1, [2, 2])], [helper.make_value_info(
        "y", helper.make_sequence_type_proto(helper.make_map_type_proto(8, helper.make_tensor_type_proto(1, []))))]),
        opset_imports=[helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 17)], ir_version=8))
    check(f([[1, 2], [3, 4]]) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}], "a sequence of maps")


def states():
    m = model("""<ir_version: 8, opset_import: ["":17]> g (float[2] x, float[2] s) => (float[2] y, float[2] t) { t = Add(x, s)  y = Neg(t) }""")
    f = onnxcc.compile(m, state={"t": "s"})
    check(f([1, 2]).tolist() == [-1, -2] and f([1, 2]).tolist() == [-2, -4], "a state")
    kept = f.state
    f.reset()
    check(f([1, 2]).tolist() == [-1, -2], "a state that was reset")
    f.state = kept
    check(f([1, 2]).tolist() == [-3, -6], "a state that was kept")
    raises(onnxcc.Error, "no state", onnxcc.compile(m).reset)


def messages():
    """Errors with their codes and places; warnings; missing or failing C compilers; options with which a model is no function."""
    relu = model("""<ir_version: 8, opset_import: ["":17]> g (float[2] x) => (float[2] y) { [here] y = Relu(x) }""")
    bad = model("""<ir_version: 8, opset_import: ["":17]> g (float[2] x) => (float[2] y) { [here] y = NoSuch(x) [there] z = Relo(x) }""")
    e = raises(onnxcc.Error, "an operator that does not exist", lambda: onnxcc.compile(bad))
    check(e.code and "here" in e.place and len(e.messages) == 2 and any("Relu" in h for m in e.messages for h in m.help), repr(e.messages))
    check(f"[{e.code}]" in str(e) and "there" in str(e), e)
    e = raises(onnxcc.Error, "an open size", lambda: onnxcc.compile(network()))
    check("N" in " ".join(e.help), e)
    check(raises(onnxcc.Error, "no model", lambda: onnxcc.compile(b"text")).code == "PB-01", "no model")
    raises(FileNotFoundError, "no file", lambda: onnxcc.compile("none.onnx"))
    unsorted = model("""<ir_version: 8, opset_import: ["":17]> g (float[2] x) => (float[2] y) { y = Neg(t)  t = Abs(x) }""")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        onnxcc.compile(unsorted)
        check([w.message.message.code for w in caught] == ["GRA-02"] and caught[0].filename == __file__, f"warnings: {caught}")
        warnings.simplefilter("error")
        raises(onnxcc.ModelWarning, "a warning as an error", lambda: onnxcc.emit(unsorted))
    files = onnxcc.emit(relu, ["-o", "r.c"])
    check(sorted(files) == ["r.c", "r.h"] and b"int model_run(" in files["r.h"], f"emit: {list(files)}")
    for what, call, says in (("no C compiler", lambda: onnxcc.compile(relu, cc="no-such-cc"),
                              ("'no-such-cc' cannot be started", "install a C compiler")),
                             ("a C compiler that fails", lambda: onnxcc.compile(relu, cflags="-DA -include none.h"), ("failed: cc -DA", "none.h")),
                             ("--struct", lambda: onnxcc.compile(relu, options=["--struct"]), ("do not make a function",)),
                             ("no such option", lambda: onnxcc.compile(relu, options=["--sizes"]), ("--sizes",))):
        e = raises(onnxcc.Error, what, call)
        check(all(s in str(e) for s in says), f"{what}: {e}")
    before = dict(os.environ)
    os.environ["PATH"] = "/nowhere"
    check("'cc' cannot be started" in str(raises(onnxcc.Error, "no cc", lambda: onnxcc.compile(relu))), "no cc in PATH")
    os.environ.update(before, CC="gcc -O1")
    check(onnxcc.compile(relu)([-1, 2]).tolist() == [0, 2], "CC with an option")
    del os.environ["CC"]


def released():
    """A function without references is unloaded."""
    def loaded():
        gc.collect()
        return pathlib.Path("/proc/self/maps").read_text().count("model.so")
    before = loaded()
    f = onnxcc.compile(network(), dims=1)
    check(loaded() > before, "the maps have the library")
    del f
    check(loaded() == before, "a library stays")


def backend():
    """Official tests by onnx's own runner; nodes; devices."""
    tests = onnx.backend.test.BackendTest(onnxcc.backend, __name__)
    tests.include(OFFICIAL)
    chosen = [t for c in tests.test_cases.values() for t in unittest.defaultTestLoader.loadTestsFromTestCase(c)]
    with contextlib.redirect_stderr(open(os.devnull, "w", encoding="utf-8")) as null:
        result = unittest.TextTestRunner(null).run(unittest.TestSuite(chosen))
    for test, why in result.failures + result.errors:
        check(False, f"{test}: {why}")
    ran = result.testsRun - len(result.skipped)
    check(ran == 35, f"{ran} official tests ran")
    b = onnxcc.backend
    check(b.supports_device("CPU") and not b.supports_device("CUDA") and b.is_compatible(onnx.ModelProto()), "devices")
    raises(ValueError, "CUDA", lambda: b.prepare(network(), "CUDA"))
    y = b.run_node(helper.make_node("Split", ["x"], ["a", "b"], num_outputs=2), [np.float32([1, 2])], opset_version=18)
    check(y.a.tolist() == [1] and y.b.tolist() == [2], f"run_node: {y}")
    rep = b.prepare(network())
    x = RANDOM.standard_normal((2, 3, 16, 16)).astype(np.float32)
    check(np.array_equal(rep.run([x]).scores, rep.run({"x": x})[0]) and rep.run(x[:1]).scores.shape == (1, 10), "a model of open size")


check(importlib.metadata.version("onnxcc") == onnxcc.__version__, "the version")
check(pathlib.Path(onnxcc.get_include(), "onnxcc", "rt.h").exists(), "the headers")
for part in small_network, networks, values, states, messages, released:
    part()
warnings.simplefilter("ignore", onnxcc.ModelWarning)
backend()
print(f"installed: {counts[True]} passed, {counts[False]} failed")
