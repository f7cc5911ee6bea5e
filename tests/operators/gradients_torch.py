"""Writes tests of gradients with the expected results of torch's autograd, in the form of the official tests: the problems of
gradients*.py, in float and double, with fixed sizes and with sizes known only at run time.

usage: gradients_torch.py FOLDER TABLE     (does nothing when FOLDER is complete; TABLE: what `onnxcc --list-ops=json` prints: each operator
                                            in it that has a gradient must have tests)
"""

import json
import os
import sys

import numpy as np
import onnx
import torch

import differences
import differentiable
import gradient_decompose
import gradients
import gradients_control
import gradients_each
import gradients_numeric
import gradients_open
import message
import torch_layers
import torch_nodes
import torch_numeric
from cache import generated
from message import write_test

PROBLEMS = gradients_control, gradients_each, gradients_numeric, gradients_open
NOT_WRITTEN = {"ConstantFill": "its result is constant"}

# Problems for which torch computes another derivative, with the reason.
OTHERS = {
    "det_singular": "torch.linalg.det has gradients of invertible matrices",
    "det_of_zeros": "torch.linalg.det has gradients of invertible matrices",
}


def differentiated(problem, kind):
    """The gradient, computed by torch."""
    def to(v):
        if isinstance(v, list):
            return [to(e) for e in v]
        return torch_nodes.tensor(v.astype(kind) if v.dtype == np.float64 else v)

    feed = {k: to(v) for k, v in problem.feed().items()}
    for k in problem.x:
        feed[k].requires_grad_()
    graph = problem.forward(kind).graph
    if isinstance(problem.otherwise, str) and any((n.domain, n.op_type) not in torch_nodes.OPS for n in graph.node):
        graph = problem.forward(kind, problem.otherwise).graph
    y, = torch_nodes.run(graph, feed)
    if problem.twice:
        y = torch.sin(torch.autograd.grad(y, feed[problem.twice], create_graph=True)[0]).sum()
    found = torch.autograd.grad(y, [feed[k] for k in problem.x], allow_unused=True) if y.requires_grad else [None] * len(problem.x)
    return [np.zeros(v.shape, kind) if d is None else d.numpy() for d, v in zip(found, problem.x.values())]


class Cases:
    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def differentiate(self, problem):
        """Writes tests for each type that the operators have, with fixed sizes and with sizes known only at run time."""
        for kind in (np.float32,) if problem.kind == np.float32 else (np.float64, np.float32):
            if problem.name in OTHERS:
                continue
            expected = differentiated(problem, kind)
            rtol, atol = (1e-5, 1e-6) if kind == np.float64 else (1e-3, 1e-4)
            for p in filter(None, (problem, problem.open())):
                model, given = p.model(kind)
                write_test(os.path.join(self.folder, f"torch_{p.name}_{kind.__name__}"), model, given, expected, rtol=rtol, atol=atol)
                self.count += 1


def untested(folder, table):
    """The operators that have floats and lack tests, with these."""
    with open(table, encoding="utf-8") as f:
        rows = differentiable.newest(json.load(f))
    tests = differentiable.covered(os.path.join(folder, "torch_*", "model.onnx"))
    for (domain, operator), row in sorted(rows.items()):
        missing = differentiable.lacking(row, tests, set(differentiable.FLOATS))
        if missing and operator not in {**differentiable.REFUSED, **NOT_WRITTEN}:
            yield f"{domain}.{operator}".lstrip("."), sorted(missing)


def main():
    folder, table = os.path.abspath(sys.argv[1]), sys.argv[2]
    modules = differences, differentiable, gradient_decompose, gradients, *PROBLEMS, torch_layers, torch_nodes, torch_numeric
    torch.set_num_threads(1)
    sources = [__file__, *(m.__file__ for m in modules), message.__file__, table]
    with generated(folder, sources, f"onnx {onnx.__version__}", f"torch {torch.__version__}") as new:
        if not new:
            return
        cases = Cases(os.path.join(new, "node"))
        gradients.add_gradients(cases)
        for module in PROBLEMS:
            getattr(module, f"add_{module.__name__}")(cases)
        print(f"gradients-torch: {cases.count} tests written")
        lacking = list(untested(cases.folder, table))
        for operator, missing in lacking:
            print(f"FAILED {operator}: no test {missing}")
        if lacking:
            sys.exit(1)


main()
