"""The nine classic image networks that the onnx wheel contains without weights, unchanged and with weights.

Unchanged, every large weight is a ConstantOfShape, and the expected output is one repeated value, which tests only structure and
capacity. So each is also built with random weights from a seed, with ONNX Runtime as the reference."""
import functools
import pathlib

import numpy as np
import onnx
from onnx import numpy_helper

from calibrate import calibrate
from common import image, load_tensor, model, rng_of

FOLDER = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NAMES = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512"]
BENCH = {"densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19"}


def input_shape(m):
    weights = {t.name for t in m.graph.initializer}
    (x,) = [i for i in m.graph.input if i.name not in weights]
    return x.name, [d.dim_value for d in x.type.tensor_type.shape.dim]


def shipped(name):
    path = FOLDER / f"light_{name}.onnx"
    _, shape = input_shape(onnx.load(path))
    count = int(np.prod(shape))
    return path, [[(np.arange(count) / count).astype(np.float32).reshape(shape)]]


def expectation(name):
    return [load_tensor(FOLDER / f"light_{name}_output_0.pb")]


def weighted(name):
    m = onnx.load(FOLDER / f"light_{name}.onnx")
    rng = rng_of(name)
    dims = {t.name: numpy_helper.to_array(t) for t in m.graph.initializer}
    made = {n.output[0]: n.input[0] for n in m.graph.node if n.op_type == "ConstantOfShape"}
    weights = {w: dims[d] for w, d in made.items()} | {w: a.shape for w, a in dims.items() if a.dtype == np.float32}
    keep = [n for n in m.graph.node if n.op_type != "ConstantOfShape"]
    del m.graph.node[:]
    m.graph.node.extend(keep)
    used = {i for n in keep for i in n.input}
    weights = {w: shape for w, shape in weights.items() if w in used}
    for listed in (m.graph.initializer, m.graph.input):     # without the weights, and shapes that only ConstantOfShape read
        kept = [t for t in listed if t.name in used and t.name not in weights]
        del listed[:]
        listed.extend(kept)
    m.ir_version = 4                                        # from IR version 4 on, weights need not be inputs
    x, shape = input_shape(m)
    feed = image(rng, *shape)
    for w, a in calibrate(m, {x: feed}, weights, rng).items():
        m.graph.initializer.append(numpy_helper.from_array(a, w))
    for i in [i for i in m.graph.input if i.name != x]:     # in IR 3 also inputs: constants
        m.graph.input.remove(i)
    onnx.checker.check_model(m)
    return m, [[feed], [image(rng, *shape)]]


for each in NAMES:
    model(f"light_{each}", tolerance=2e-3 if each == "densenet121" else 1e-3,
          expect=functools.partial(expectation, each))(functools.partial(shipped, each))
    model(each, sets="test bench" if each in BENCH else "test")(functools.partial(weighted, each))
