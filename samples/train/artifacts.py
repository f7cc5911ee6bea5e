"""Makes a training model of the artifacts of onnxruntime-training: artifacts.py FOLDER learner.onnx

FOLDER has what onnxruntime.training.artifacts.generate_artifacts wrote: eval_model.onnx, training_model.onnx, optimizer_model.onnx and
checkpoint, which that package reads. A step computes the same as theirs: the gradients of the loss in eval_model.onnx, by the operator
Gradient instead of ONNX Runtime's own operators; every step updates the weights."""
import pathlib
import sys

import onnx
from onnx import helper, numpy_helper

from training import add_training

TARGETS = ("labels", "target")      # the names that the package gives to the input of its losses


def weights(folder):
    """{name: array} of the checkpoint."""
    from onnxruntime.training.api import CheckpointState
    return {n: p.data for n, p in CheckpointState.load_checkpoint(str(folder / "checkpoint")).parameters}


def split(m, targets):
    """The nodes that do not depend on a target, and those that do."""
    after, kept = set(targets), []
    for n in m.graph.node:
        if after & set(n.input):
            after |= set(n.output)
        else:
            kept.append(n)
    return kept, [n for n in m.graph.node if after & set(n.output)]


def optimiser_of(m):
    """Arguments of add_training."""
    n = next(n for n in m.graph.node if n.op_type in ("AdamWOptimizer", "SGDOptimizerV2"))
    a = {x.name: helper.get_attribute_value(x) for x in n.attribute}
    if n.op_type == "SGDOptimizerV2":
        return {"optimiser": "sgd"}
    if a.get("weight_decay") or a.get("adam_mode") != 1 or not a.get("correct_bias"):
        raise ValueError("AdamWOptimizer: only without weight decay, with adam_mode = 1 and correct_bias = 1")
    return {"optimiser": "adam", "first_step": 1, **{k: a[k] for k in ("alpha", "beta", "epsilon")}}


def from_artifacts(folder):
    folder = pathlib.Path(folder)
    m, learn, update = (onnx.load(folder / f"{n}_model.onnx") for n in ("eval", "training", "optimizer"))
    values, inputs = weights(folder), {i.name: i for i in m.graph.input}
    targets = [n for n in inputs if n in TARGETS and n not in values]
    if not targets:
        raise ValueError(f"eval_model.onnx has no input named {' or '.join(TARGETS)}")
    kept, loss = split(m, targets)
    made = {o for n in kept for o in n.output}
    read = dict.fromkeys(i for n in loss for i in n.input if i in made)
    types = {v.name: v for v in onnx.shape_inference.infer_shapes(m).graph.value_info}
    graph = helper.make_graph(loss, "loss", [inputs[t] for t in targets], [m.graph.output[0]])
    trained = [i.name.removesuffix("_grad.accumulation.buffer") for i in learn.graph.input if i.name.endswith("_grad.accumulation.buffer")]
    net = helper.make_graph(kept, "net", [i for n, i in inputs.items() if n not in values and n not in targets], [types[n] for n in read],
                            [*m.graph.initializer, *(numpy_helper.from_array(v, n) for n, v in values.items())])
    net = helper.make_model(net, opset_imports=m.opset_import, ir_version=m.ir_version)
    return add_training(net, graph, train=[n.replace("[", "[[]") for n in trained], **optimiser_of(update))


if __name__ == "__main__":
    onnx.save(from_artifacts(sys.argv[1]), sys.argv[2])
