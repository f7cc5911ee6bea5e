"""Derivatives as difference quotients of results of ONNX's reference."""

import contextlib
import math
import types
from unittest import mock

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import op_affine_grid, op_causal_conv_with_state, op_erf, op_grid_sample, op_linear_attention, op_resize

IN_FLOAT = op_affine_grid, op_causal_conv_with_state, op_grid_sample, op_linear_attention


@contextlib.contextmanager
def in_double():
    """Makes the reference compute operators in double that it always computes in float, which is too coarse for differences."""
    wide = types.SimpleNamespace(**{**vars(np), "float32": np.float64})
    with contextlib.ExitStack() as stack:
        for module in IN_FLOAT:
            stack.enter_context(mock.patch.object(module, "np", wide))
        stack.enter_context(mock.patch.object(op_erf.Erf, "_run", lambda self, x: (np.vectorize(math.erf, otypes="d")(x),)))
        for name in "_cubic_coeffs", "_cubic_coeffs_antialias":
            cubic = getattr(op_resize, name)
            stack.enter_context(mock.patch.object(op_resize, name, lambda ratio, scale, A, cubic=cubic: cubic(ratio, scale, float(A))))
        yield


def evaluator(model):
    """A function from inputs to the model's only result."""
    run = ReferenceEvaluator(model)
    return lambda feed: run.run(None, feed)[0]


def slope(forward, feed, name, step=1e-5):
    """The derivative of the only result of a model or function, a number, by every element of feed[name]."""
    run = forward if callable(forward) else evaluator(forward)
    result = np.zeros_like(feed[name])
    for i in np.ndindex(result.shape):
        ends = []
        for by in step, -step:
            x = feed[name].copy()
            x[i] += by
            with in_double():
                ends.append(run({**feed, name: x}))
        result[i] = (ends[0] - ends[1]) / (2 * step)
    return result
