"""Shared by the model scripts: the cache, the table of models, a graph writer, ONNX Runtime as the reference."""
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = pathlib.Path(os.environ.get("ONNXCC_CACHE") or HOME / "onnxcc").resolve()
MODELS = CACHE / "models"

# The tolerance of deep float networks, whose sums round differently in another order. Between two optimisation levels of ONNX Runtime
# the largest difference, divided by the output's largest value, is below 2e-5 for every model here.
FLOAT = 2e-4


@dataclasses.dataclass
class Model:
    """One network of the table. `make` returns (model or path of a .onnx, [inputs of data set 0, 1, ...])."""
    name: str
    make: object
    options: list       # options of onnxcc
    const: list         # inputs that are given to onnxcc as constants
    sets: set           # test, bench
    tolerance: float    # of the largest absolute value of each output
    stream: object      # function that makes the calls of a stream, with state between them, or None
    expect: object      # function that computes the expected outputs in place of ONNX Runtime, or None
    check: object       # function that checks that the reference outputs are plausible, or None

    @property
    def folder(self):
        return MODELS / self.name


TABLE = {}


def model(name, options="", const=(), sets="test", tolerance=FLOAT, stream=None, expect=None, check=None):
    """Decorator: adds a network to the table."""
    def put(make):
        assert name not in TABLE, name
        TABLE[name] = Model(name, make, options.split(), list(const), set(sets.split()), tolerance, stream, expect, check)
        return make
    return put


def rng_of(name):
    """A random generator for the name, the same on every machine."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))


def image(rng, *shape):
    """Similar to a normalised photograph: noise at four scales."""
    n, c, h, w = shape
    x = np.zeros(shape, np.float32)
    for k in (1, 4, 16, 64):
        small = rng.standard_normal((n, c, -(-h // k), -(-w // k)), np.float32)
        x += small.repeat(k, 2).repeat(k, 3)[:, :, :h, :w]
    return x / 2


class Net:
    """Builds a graph, with generated names and random weights from a seed."""

    def __init__(self, name, opset=17, ir=8, producer="onnxcc-tests"):
        self.rng = rng_of(name)
        self.name, self.opset, self.ir, self.producer = name, opset, ir, producer
        self.nodes, self.weights, self.inputs, self.outputs, self.functions = [], {}, [], [], []
        self.domains = {}
        self.count = {}

    def fresh(self, stem):
        self.count[stem] = self.count.get(stem, 0) + 1
        return f"{stem}_{self.count[stem]}" if self.count[stem] > 1 or stem[-1:].isdigit() else stem

    def weight(self, name, array):
        name = self.fresh(name)
        self.weights[name] = np.asarray(array)
        return name

    def normal(self, name, shape, std):
        return self.weight(name, self.rng.standard_normal(shape, np.float32) * np.float32(std))

    def constant(self, value, dtype=np.int64):
        """A Constant node, as exporters write them."""
        out = self.fresh("const")
        self.nodes.append(helper.make_node("Constant", [], [out], name=f"/{out}",
                                           value=numpy_helper.from_array(np.asarray(value, dtype))))
        return out

    def op(self, op_type, *inputs, n=1, name=None, domain="", out=None, **attributes):
        name = self.fresh(name or op_type)
        outs = out or ([f"{name}_out{i}" for i in range(n)] if n > 1 else [f"{name}_out"])
        outs = [outs] if isinstance(outs, str) else outs
        self.nodes.append(helper.make_node(op_type, list(inputs), outs, name=name, domain=domain, **attributes))
        if domain:
            self.domains[domain] = 1
        return outs[0] if len(outs) == 1 else outs

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value, shape=None, name=None, dtype=TensorProto.FLOAT):
        if name:
            for n in self.nodes:
                for names in (n.output, n.input):
                    for i, v in enumerate(names):
                        if v == value:
                            names[i] = name
            value = name
        self.outputs.append(helper.make_tensor_value_info(value, dtype, shape))

    def model_unchecked(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs,
                                  [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        imports = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, v) for d, v in self.domains.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=self.ir, producer_name=self.producer,
                                 functions=self.functions)

    def model(self):
        m = self.model_unchecked()
        onnx.checker.check_model(m)
        return m


def session(path, optimise=False, threads=2):
    """A session of ONNX Runtime for a file; without optimisations it computes the model node by node."""
    o = onnxruntime.SessionOptions()
    level = onnxruntime.GraphOptimizationLevel
    o.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    o.intra_op_num_threads, o.inter_op_num_threads, o.log_severity_level = threads, 1, 3
    return onnxruntime.InferenceSession(str(path), o, providers=["CPUExecutionProvider"])


def save_tensor(array, path, name=""):
    path.write_bytes(numpy_helper.from_array(np.asarray(array), name).SerializeToString())


def load_tensor(path):
    return numpy_helper.to_array(onnx.load_tensor(str(path)))


def error_of(got, want):
    """The largest difference, divided by the largest expected value; infinite if NaNs or infinities differ."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        return np.inf
    finite = np.isfinite(want)
    if not (np.isfinite(got) == finite).all():
        return np.inf
    if not finite.all() and not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return np.inf
    scale = np.abs(want[finite]).max(initial=0)
    return float(np.abs(got[finite] - want[finite]).max(initial=0) / (scale or 1))


def build(m, key):
    """Makes a model's folder: model.onnx, test_data_set_*/input_*.pb and output_*.pb, stream.npz, model.json.

    key: a hash of the sources; a folder with the same key is kept. Returns whether the folder was made."""
    about = m.folder / "model.json"
    if about.exists() and json.loads(about.read_text())["key"] == key:
        return False
    shutil.rmtree(m.folder, ignore_errors=True)
    m.folder.mkdir(parents=True)
    made, data_sets = m.make()
    path = m.folder / "model.onnx"
    if isinstance(made, onnx.ModelProto):
        if not any(n.op_type == "SimplifiedLayerNormalization" for n in made.graph.node):  # ONNX Runtime's operator, in ONNX's domain
            onnx.checker.check_model(made)
        onnx.save(made, path)
    else:
        shutil.copyfile(made, path)
    reference = session(path)
    names = [i.name for i in reference.get_inputs()]
    noise = 0.0
    for i, feeds in enumerate(data_sets):
        folder = m.folder / f"test_data_set_{i}"
        folder.mkdir()
        feeds = [np.asarray(x) for x in feeds]
        wants = m.expect() if m.expect else reference.run(None, dict(zip(names, feeds, strict=True)))
        if m.check:
            m.check(i, wants)
        if not i and not m.expect:
            again = session(path, optimise=True).run(None, dict(zip(names, feeds)))
            noise = max(error_of(a, w) for a, w in zip(again, wants))
        for k, (x, n) in enumerate(zip(feeds, names)):
            save_tensor(x, folder / f"input_{k}.pb", n)
        for k, (y, o) in enumerate(zip(wants, reference.get_outputs())):
            save_tensor(y, folder / f"output_{k}.pb", o.name)
    if m.stream:
        np.savez(m.folder / "stream.npz", **m.stream(reference))
    about.write_text(json.dumps({
        "key": key, "options": m.options, "const": m.const, "sets": sorted(m.sets), "tolerance": m.tolerance,
        "inputs": names, "outputs": [o.name for o in reference.get_outputs()], "noise": noise}, indent=1) + "\n")
    return True
