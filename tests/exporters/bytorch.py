"""Export of PyTorch modules, by both of its exporters, with fixed and with open sizes."""
import contextlib
import io
import itertools
import logging
import warnings

import numpy as np
import onnx
import torch

logging.disable(logging.ERROR)
torch.set_num_threads(1)
warnings.simplefilter("ignore")
SCRIPT, DYNAMO = False, True
SUMS = 1e-4     # the largest error, divided by the largest value: sums of many layers in another order


def arrays(values):
    """The tensors in nested tuples and dictionaries, as numpy's arrays."""
    if isinstance(values, torch.Tensor):
        return [values.detach().numpy()]
    if isinstance(values, dict):
        values = values.values()
    return [a for v in values if v is not None for a in arrays(v)]


def axes_of(axes, dim):
    """axes: for each input, or for tuples of inputs in it, a dictionary from axes to names."""
    if isinstance(axes, dict):
        return {k: dim(name) for k, name in axes.items()}
    return type(axes)(axes_of(a, dim) for a in axes)


def flat(values):
    return [v for v in torch.utils._pytree.tree_leaves(values) if isinstance(v, torch.Tensor)]


def export(module, args, exporter, axes=None, opset=18):
    """axes: of the open sizes, as in axes_of; None: all sizes are those of args."""
    module = module.eval()
    names = [f"x{i}" for i in range(len(flat(args)))]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
        if exporter == DYNAMO:
            shapes = axes_of(axes, lambda name: torch.export.Dim.DYNAMIC) if axes else None
            shapes = (shapes,) if axes and getattr(module, "variadic", False) else shapes
            program = torch.onnx.export(module, args, dynamo=True, dynamic_shapes=shapes, input_names=names,
                                        opset_version=opset, verbose=False)
            return program.model_proto
        file = io.BytesIO()
        dynamic = {}
        if axes:
            leaves = torch.utils._pytree.tree_leaves(axes, is_leaf=lambda a: isinstance(a, dict))
            dynamic = dict(zip(names, leaves, strict=True))
        torch.onnx.export(module, args, file, dynamo=False, input_names=names, dynamic_axes=dynamic, opset_version=opset)
        return onnx.load_from_string(file.getvalue())


def ways(name, make, given, axes, exporters=(SCRIPT, DYNAMO), sizes=(False, True), part=SUMS):
    """Models of one module. given(False) and given(True): its arguments in sizes for a first and a second call; a model with open sizes is
    exported with those of the first and run with those of the second."""
    for exporter, is_open in itertools.product(exporters, sizes):
        if is_open and axes is None:
            continue
        said = f"{name}_{'dynamo' if exporter else 'script'}_{'open' if is_open else 'fixed'}"
        yield said, lambda e=exporter, o=is_open: one(make, given, axes if o else None, e, part)


def one(make, given, axes, exporter, part):
    torch.manual_seed(1)
    module = make()
    model = export(module, given(False), exporter, axes)
    inputs = dict(zip([f"x{i}" for i in range(99)], arrays(given(axes is not None))))
    weights = {t.name for t in model.graph.initializer}
    return model, [inputs[i.name] for i in model.graph.input if i.name not in weights], part


def floats(*shape):
    return torch.from_numpy(np.random.default_rng(list(shape)).standard_normal(shape, np.float32))


def numbers(below, *shape):
    return torch.from_numpy(np.random.default_rng(list(shape)).integers(0, below, shape))
