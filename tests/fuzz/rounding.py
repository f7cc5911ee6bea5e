"""Variants of a model whose results differ in the last bits: a sum in another order is the exact sum of slightly different terms, and an
approximated function has a small error. All other operations round in only one way."""

import numpy as np
import onnx
from onnx import TensorProto, helper

SUMS = {"ReduceSum": 1, "ReduceL1": 1, "ReduceSumSquare": 1, "ReduceMean": 1, "MatMul": 2, "CumSum": 1, "Softmax": 1, "Gemm": 3, "Einsum": 2}
FUNCTIONS = "Tanh", "Sigmoid", "Softmax"
RELATIVE, ABSOLUTE = 2.0**-19, 2e-43  # the absolute error is for subnormal numbers, where the relative one vanishes


class Shaken:
    def __init__(self, seed):
        self.rng, self.count, self.nodes = np.random.default_rng(seed), 0, []
        self.absolute = self.rng.choice([-ABSOLUTE, ABSOLUTE])

    def name(self):
        self.count += 1
        return f"shaken{self.count}"

    def node(self, op, inputs, output="", **attrs):
        output = output or self.name()
        self.nodes.append(helper.make_node(op, inputs, [output], **attrs))
        return output

    def shake(self, x, output):
        """Nodes that change the last bits of x, up or down. Integers are unchanged: the factor becomes 1, the summand 0."""
        seed = float(self.rng.integers(1 << 20, 1 << 24))  # ONNX Runtime's first numbers are nearly the same for all small seeds
        factor = self.node("RandomUniformLike", [x], dtype=TensorProto.FLOAT, low=1.0, high=1 + RELATIVE, seed=seed)
        summand = self.node("Constant", [], value_float=self.absolute)
        product = self.node(str(self.rng.choice(["Mul", "Div"])), [x, self.node("CastLike", [factor, x])])
        return self.node("Add", [product, self.node("Mul", [self.node("Sign", [x]), self.node("CastLike", [summand, x])])], output)

    def all(self, nodes):
        self.nodes = []
        around = self.nodes
        for n in nodes:
            for a in n.attribute:
                # ONNX Runtime inlines CastLike wrongly in the body of a SequenceMap.
                if a.HasField("g") and n.op_type != "SequenceMap":
                    inner = self.all(a.g.node)
                    del a.g.node[:]
                    a.g.node.extend(inner)
                    self.nodes = around
            self.rounded(n)
        return around

    def rounded(self, n):
        for i in range(min(SUMS.get(n.op_type, 0), len(n.input))):
            n.input[i] = self.shake(n.input[i], "")
        self.nodes.append(n)
        if n.op_type in FUNCTIONS:
            y, n.output[0] = n.output[0], self.name()
            self.shake(n.output[0], y)


class Exact(Shaken):
    """Computes in double, and rounds once."""

    def rounded(self, n):
        if n.op_type not in SUMS and n.op_type not in FUNCTIONS:
            self.nodes.append(n)
            return
        x, y, n.output[0] = n.input[0], n.output[0], self.name()
        for i in range(min(SUMS.get(n.op_type, 1), len(n.input))):
            n.input[i] = self.node("Cast", [n.input[i]], to=TensorProto.DOUBLE)
        self.nodes.append(n)
        self.node("CastLike", [n.output[0], x], y)


class Apart(Shaken):
    """Adds the positive terms of a sum, then the negative ones: a term that is lost beside a large one may survive in another order."""

    def rounded(self, n):
        if n.op_type != "ReduceSum":
            self.nodes.append(n)
            return
        zero = self.node("CastLike", [self.node("Constant", [], value_int=0), n.input[0]])
        sums = [self.node("ReduceSum", [self.node("Max", [x, zero]), *n.input[1:]], keepdims=keeps(n))
                for x in (n.input[0], self.node("Neg", [n.input[0]]))]
        self.node("Sub", sums, n.output[0])


def keeps(n):
    return next((a.i for a in n.attribute if a.name == "keepdims"), 1)


def others(model):
    """Variants of the model that are as correct as it is."""
    yield changed(model, Exact(0))
    yield changed(model, Apart(0))
    for seed in range(8):
        yield changed(model, Shaken(seed))


def changed(model, shake):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for place in [copy.graph, *copy.functions]:
        nodes = shake.all(list(place.node))
        del place.node[:]
        place.node.extend(nodes)
    return copy
