"""8-bit networks made by ONNX Runtime's quantiser from the float ones of vision.py.

qdq: QuantizeLinear/DequantizeLinear around float operators, signed, one scale per output channel.
qop: QLinearConv and similar operators, unsigned, one scale per tensor. (Unsigned weights: with signed ones ONNX Runtime's own result
depends on the processor, because without VNNI its kernels saturate between products.)

The reference computes a QDQ network in float, as the file says. An integer kernel rounds a few values the other way, and a
difference of one step in an early layer changes values in later ones: so networks of many layers get a tolerance in steps, not in
rounding errors. ONNX Runtime's optimisation levels differ as much from each other ("noise" in model.json): by 0.08 of the largest
output on the MobileNets and 0.04 on ResNet-50, where onnxcc's C differs by 0.1 and 0.07; elsewhere not at all."""
import logging
import tempfile

import onnx
from onnxruntime import quantization

import vision
from common import CACHE, model

logging.getLogger().setLevel(logging.ERROR)


class Reader(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter([{"input": x} for x in feeds])

    def get_next(self):
        return next(self.feeds, None)


def quantise(make, form):
    net, sets = make()
    qdq = form == "qdq"
    kind = quantization.QuantType.QInt8 if qdq else quantization.QuantType.QUInt8
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        onnx.save(net, f"{folder}/float.onnx")
        quantization.quantize_static(
            f"{folder}/float.onnx", f"{folder}/out.onnx", Reader([s[0] for s in sets]), per_channel=qdq,
            quant_format=quantization.QuantFormat.QDQ if qdq else quantization.QuantFormat.QOperator,
            activation_type=kind, weight_type=kind)
        return onnx.load(f"{folder}/out.onnx"), sets


for name, net in {**vision.NETS, "resnet50": vision.resnet50}.items():
    for form in ("qdq", "qop"):
        small = name in ("mobilenet_v1", "ds_cnn", "resnet8", "autoencoder")
        bench = name in ("resnet50", "mobilenet_v2") or (small and form == "qdq")
        deep = form == "qdq" and name in ("mobilenet_v1", "mobilenet_v2", "resnet50")
        model(f"{name}_{form}", sets="test bench" if bench else "test",
              tolerance=0.15 if deep else 0.05)(lambda net=net, form=form: quantise(net, form))
