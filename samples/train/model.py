"""Writes a convolutional network for the digits, with training information: model.py FILE.onnx [BATCH]"""
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

from training import add_training

NET = """<ir_version: 8, opset_import: ["": 17]>
digits (float[{batch}, 1, 8, 8] image) => (float[{batch}, 10] score) {{
    c1 = Conv <pads = [1, 1, 1, 1]> (image, w1, b1)
    h1 = Relu (c1)
    c2 = Conv <pads = [1, 1, 1, 1]> (h1, w2, b2)
    h2 = Relu (c2)
    p2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (h2)
    flat = Flatten (p2)
    score = Gemm (flat, w3, b3)
}}
"""
SHAPES = {"w1": (12, 1, 3, 3), "b1": (12,), "w2": (24, 12, 3, 3), "b2": (24,), "w3": (384, 10), "b3": (10,)}


def digits(batch=16):
    net = onnx.parser.parse_model(NET.format(batch=batch))
    net.graph.initializer.extend(numpy_helper.from_array(np.zeros(s, np.float32), n) for n, s in SHAPES.items())
    return add_training(net, "softmax_cross_entropy", "adam", fresh=True)


if __name__ == "__main__":
    onnx.save(digits(int((sys.argv[2:] or [16])[0])), sys.argv[1])
