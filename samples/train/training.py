"""Adds training information to a model: a loss, the gradients by its weights, and an optimiser, as ONNX specifies it.

    from training import add_training
    m = add_training(onnx.load("net.onnx"), "softmax_cross_entropy", "adam")
    onnx.save(m, "learner.onnx")

or training.py net.onnx learner.onnx --loss mse --optimiser sgd --train 'head.*'. The model is any forward graph, as an exporter writes
it, whose weights are initializers. Its step then has the inputs `target` and `rate`, after the model's own, and the output `loss`."""
import argparse
import fnmatch
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TRAINING = "ai.onnx.preview.training"
FLOATS = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}
LOSSES = ("softmax_cross_entropy", "mse")
OPTIMISERS = {"sgd": [], "momentum": ["momentum"], "nesterov": ["momentum"], "adam": ["mean", "square"]}     # its state for each weight
SETTINGS = {"momentum": {"alpha": 0.9, "beta": 1.0, "norm_coefficient": 0.0, "mode": "standard"},
            "nesterov": {"alpha": 0.9, "beta": 1.0, "norm_coefficient": 0.0, "mode": "nesterov"},
            "adam": {"alpha": 0.9, "beta": 0.999, "epsilon": 1e-8, "norm_coefficient": 0.0, "norm_coefficient_post": 0.0}}


class Names:
    """Makes names that the model does not have."""

    def __init__(self, graph):
        self.taken = {v.name for values in (graph.input, graph.output, graph.initializer) for v in values}
        self.taken |= {o for n in graph.node for o in n.output}

    def new(self, name):
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def trainable(graph, patterns):
    """The initializers of floats whose names match one of the patterns."""
    return [w for w in graph.initializer if w.data_type in FLOATS and any(fnmatch.fnmatchcase(w.name, p) for p in patterns)]


def add_loss(names, output, loss):
    """The declaration of the target, the nodes that compute the loss, and the loss's name."""
    kind, dims = output.type.tensor_type.elem_type, [d.dim_param or d.dim_value for d in output.type.tensor_type.shape.dim]
    target, result = names.new("target"), names.new("loss")
    if loss == "mse":
        e, square = names.new("error"), names.new("square")
        return helper.make_tensor_value_info(target, kind, dims), result, [
            helper.make_node("Sub", [output.name, target], [e]), helper.make_node("Mul", [e, e], [square]),
            helper.make_node("ReduceMean", [square], [result], keepdims=0)]
    return helper.make_tensor_value_info(target, TensorProto.INT64, dims[:1] + dims[2:]), result, [
        helper.make_node("SoftmaxCrossEntropyLoss", [output.name, target], [result], reduction="mean")]


def first_values(weights, names):
    """A graph that draws the weights anew by He et al.'s initialisation, normal with a deviation by the number of inputs; vectors become 0."""
    nodes, bindings = [], []
    for w in weights:
        o = names.new(f"{w.name}_first")
        if len(w.dims) > 1:
            inputs = w.dims[0] if len(w.dims) == 2 else math.prod(w.dims[1:])
            nodes.append(helper.make_node("RandomNormal", [], [o], shape=list(w.dims), scale=math.sqrt(2 / inputs), dtype=w.data_type))
        else:
            zero = helper.make_node("Constant", [], [o], value=numpy_helper.from_array(np.zeros(w.dims, FLOATS[w.data_type])))
            nodes.append(zero)
        bindings.append((w.name, o))
    outputs = [helper.make_tensor_value_info(o, w.data_type, w.dims) for w, (_, o) in zip(weights, bindings)]
    return helper.make_graph(nodes, "first values", [], outputs), bindings


def add_training(model, loss, optimiser, output=None, train=("*",), fresh=False, first_step=0, **settings):
    """A copy of the model with training information. loss: one of LOSSES, or a graph of your own, whose nodes read the model's values, and
    whose first output is the loss; output: the model's output that the loss compares with the target, by default the first; train:
    patterns of the names of the weights that learn; fresh: init draws them anew; first_step: the optimiser's number of the first step;
    settings: the optimiser's attributes, such as alpha=0.95."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    versions = {o.domain: o.version for o in m.opset_import}
    if versions.get("", 1) < 13:
        raise ValueError("the model must be of opset 13 or later: onnx.version_converter.convert_version(model, 17)")
    weights, names = trainable(m.graph, train), Names(m.graph)
    if not weights:
        raise ValueError(f"no initializer of floats matches {train}")
    y = next(o for o in m.graph.output if output in (None, o.name))
    if isinstance(loss, onnx.GraphProto):
        targets, result, nodes = list(loss.input), loss.output[0].name, list(loss.node)
        names.taken |= {v.name for v in targets} | {o for n in nodes for o in n.output}
    else:
        target, result, nodes = add_loss(names, y, loss)
        targets = [target]
    kind = weights[0].data_type
    rate = helper.make_tensor_value_info(names.new("rate"), kind, [])
    xs, kept, updates = [w.name for w in weights], [], {}
    gradients = [names.new(f"{x}_gradient") for x in xs]
    stored = {i.name for i in m.graph.initializer}
    zs = [i.name for i in m.graph.input if i.name not in stored]
    nodes.append(helper.make_node("Gradient", xs + zs, gradients, domain=TRAINING, xs=xs, zs=zs, y=result))
    if optimiser == "sgd":
        for x, g in zip(xs, gradients):
            change, updates[x] = names.new(f"{x}_change"), names.new(f"{x}_new")
            nodes += [helper.make_node("Mul", [rate.name, g], [change]), helper.make_node("Sub", [x, change], [updates[x]])]
    else:
        steps, one = names.new("steps"), names.new("one")
        kept = [numpy_helper.from_array(np.zeros(w.dims, FLOATS[w.data_type]), names.new(f"{w.name}_{k}"))
                for k in OPTIMISERS[optimiser] for w in weights]
        updates = {n: names.new(f"{n}_new") for n in xs + [k.name for k in kept]}
        nodes.append(helper.make_node({"adam": "Adam"}.get(optimiser, "Momentum"), [rate.name, steps] + xs + gradients + [k.name for k in kept],
                                      list(updates.values()), domain=TRAINING, **(SETTINGS[optimiser] | settings)))
        updates[steps] = names.new("steps_new")
        nodes.append(helper.make_node("Add", [steps, one], [updates[steps]]))
        kept += [numpy_helper.from_array(np.int64(first_step), steps), numpy_helper.from_array(np.int64(1), one)]
    of = {t.name: t for t in weights + kept}
    outputs = [helper.make_tensor_value_info(result, kind, [])]
    outputs += [helper.make_tensor_value_info(new, of[n].data_type, of[n].dims) for n, new in updates.items()]
    info = m.training_info.add()
    info.algorithm.CopyFrom(helper.make_graph(nodes, "step", [*targets, rate], outputs, kept))
    for n, new in updates.items():
        info.update_binding.add(key=n, value=new)
    if fresh:
        graph, bindings = first_values(weights, names)
        info.initialization.CopyFrom(graph)
        for n, first in bindings:
            info.initialization_binding.add(key=n, value=first)
    if TRAINING not in versions:
        m.opset_import.append(helper.make_opsetid(TRAINING, 1))
    m.ir_version = max(m.ir_version, 7)
    onnx.checker.check_model(m)
    return m


def main():
    p = argparse.ArgumentParser(description="Adds training information to an ONNX model.")
    p.add_argument("model")
    p.add_argument("to")
    p.add_argument("--loss", choices=LOSSES, default=LOSSES[0])
    p.add_argument("--optimiser", choices=list(OPTIMISERS), default="sgd")
    p.add_argument("--output", help="the output that the loss is of; default: the first")
    p.add_argument("--train", action="append", metavar="PATTERN", help="weights that learn, several times; default: all")
    p.add_argument("--fresh", action="store_true", help="init draws the weights anew")
    a = p.parse_args()
    onnx.save(add_training(onnx.load(a.model), a.loss, a.optimiser, a.output, a.train or ("*",), a.fresh), a.to)


if __name__ == "__main__":
    main()
