"""Shared by the scripts that make models with exporters."""
import numpy as np
import onnxruntime

OPSETS = {"": 21, "ai.onnx.ml": 3, "com.microsoft": 1}     # the newest versions that skl2onnx writes


def rng_of(name):
    """A random generator for the name, the same on every machine."""
    return np.random.default_rng(list(name.encode()))


def session(model, level="disable"):
    """A session of ONNX Runtime for a model, in one thread, with this level of optimisation."""
    o = onnxruntime.SessionOptions()
    o.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level.upper()}_ALL")
    o.intra_op_num_threads, o.inter_op_num_threads, o.log_severity_level = 1, 1, 4
    return onnxruntime.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])
