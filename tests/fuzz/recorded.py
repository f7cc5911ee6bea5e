"""Where ONNX Runtime and ONNX's reference evaluator contradict the text of an operator, or the text leaves the result open."""

# Of two that contradict each other the first is right:
RUNTIME_IS_RIGHT = set()
# or the second:
REFERENCE_IS_RIGHT = set()
# Where ONNX Runtime has no implementation, not even the reference tells:
REFERENCE_IS_WRONG = {
    "Hardmax",  # until version 11 over all axes from `axis` on; the reference takes one
    "LRN",  # sums up for the first channels only, as many as the batch has images
    "QLinearConv",  # another rank for images of one axis
    "MaxPool", "AveragePool", "LpPool",  # padding becomes negative where the stride exceeds the window
}

# (operators, condition, reason): no test is made of such a case.
RECORDED = [
    ({"ConvTranspose"}, lambda c: c.attrs.get("auto_pad", "").startswith("SAME"),
     "the text says input * stride; both give less when the stride exceeds the window"),
    ({"Clip"}, lambda c: c.inputs[0].dtype.kind == "f" and not (c.inputs[1:] and all(x is not None for x in c.inputs[1:])),
     "an infinity without a limit: the text has the limits of the type, the function body of the same version none"),
    ({"ReduceLogSum", "ReduceLogSumExp"}, lambda c: c.inputs[0].dtype.kind in "iu", "logarithms of integers: never defined"),
    ({"Conv"}, lambda c: any(d < (k - 1) * e + 1 for d, k, e in zip(
        c.inputs[0].shape[2:], c.inputs[1].shape[2:], c.attrs.get("dilations", [1] * 3)))
     and "pads" not in c.attrs, "the window does not fit"),
    ({"ReduceL2", "ReduceL1", "ReduceLogSumExp", "ReduceSumSquare", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceLogSum", "ReduceMax",
      "ReduceMin"}, lambda c: c.inputs[0].size == 0, "of nothing, over all axes: ORT leaves the shape as it is"),
]


def is_recorded(case):
    return any(case.op in operators and holds(case) for operators, holds, _ in RECORDED)
