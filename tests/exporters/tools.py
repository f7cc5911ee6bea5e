"""Networks of tests/models, processed by ONNX Runtime's tools: quantisers, float16 converter, optimiser, optimiser of transformers."""
import functools
import itertools
import logging
import os
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
import recurrent
import transformer
import vision
from onnxconverter_common import float16 as float16_of_onnx
from onnxruntime import quantization
from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers import float16, optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

from reference import rng_of

logging.disable(logging.ERROR)
recurrent.STEPS, recurrent.WIDTH = 9, 16
transformer.LAYERS, transformer.WIDTH, transformer.HEADS = 2, 32, 4
transformer.GPT_LAYERS, transformer.GPT_WIDTH, transformer.GPT_HEADS, transformer.GPT_WORDS, transformer.GPT_CONTEXT = 2, 32, 4, 64, 32

# A float network: the dimensions of its inputs that may become open, (input, axis, name), and one of the data sets.
NETS = {
    "ds_cnn": (vision.ds_cnn, [(0, 0, "n")]),
    "resnet8": (vision.resnet8, [(0, 0, "n")]),
    "autoencoder": (vision.autoencoder, [(0, 0, "n")]),
    "lstm": (lambda: recurrent.recurrent("LSTM", 4), [(0, 1, "steps")]),
    "lstm_bidirectional": (lambda: recurrent.recurrent("LSTM", 4, True), [(0, 1, "steps")]),
    "gru": (lambda: recurrent.recurrent("GRU", 3), [(0, 1, "steps")]),
    **{f"bert_{s}": (functools.partial(transformer.encoder, s, 50, ((7, 9), (5, 5))), []) for s in ("ts14", "ts17", "dynamo")},
    **{f"gpt_{s}": (functools.partial(transformer.gpt, s, [(5, 3), (1, 4)]), []) for s in ("ts17", "dynamo")},
}
BOTH = "ds_cnn", "lstm", "bert_ts17", "gpt_ts17"      # with fixed and with open sizes; the others with fixed ones
FLOAT = {"DefaultTensorType": onnx.TensorProto.FLOAT}       # of tensors whose type the quantiser does not know
# The largest errors, divided by the largest value: some steps of 8 bits, some of float16, sums in another order.
STEPS, HALF, SUMS = 0.02, 4e-3, 1e-4
BYTES = 0.05        # ONNX Runtime rounds the activations of MatMulNBits to 8 bits at accuracy level 4

# The number of channels in a block of ONNX Runtime's: on x86-64 that of floats in a vector.
CHANNELS = "16" if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text().split() else "8"


@functools.cache
def network(name):
    make, axes = NETS[name]
    return *make(), axes


def sized(name, is_open):
    """The network and its data; is_open: its sizes are open, otherwise those of the data."""
    model, sets, axes = network(name)
    model, feed = onnx.ModelProto.FromString(model.SerializeToString()), sets[0]
    for x, value in zip(model.graph.input, feed):
        for d, size in zip(x.type.tensor_type.shape.dim, np.shape(value)):
            if not is_open:
                d.dim_value = size
    for i, axis, called in axes if is_open else []:
        model.graph.input[i].type.tensor_type.shape.dim[axis].dim_param = called
    for y in model.graph.output if is_open and axes else []:
        for k, d in enumerate(y.type.tensor_type.shape.dim):
            d.dim_param = f"{y.name}_{k}"
    return model, feed


class Reader(quantization.CalibrationDataReader):
    """Calibration data: the data set, and more of its kind."""

    def __init__(self, model, feed):
        rng = rng_of("calibration")
        names = [i.name for i in model.graph.input]
        self.feeds = iter([dict(zip(names, [rng.permuted(x) if i else x for x in feed])) for i in range(3)])

    def get_next(self):
        return next(self.feeds, None)


def through_files(model, tool):
    """The model that a tool makes by tool(path, path of the result)."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
        onnx.save(model, before)
        tool(before, after)
        return onnx.load(after)


def optimised(model, level):
    """The model that ONNX Runtime saves at a level: basic, extended, all."""
    def tool(path, out):
        o = onnxruntime.SessionOptions()
        o.optimized_model_filepath, o.log_severity_level = out, 4
        o.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}")
        onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    return through_files(model, tool)


def in_8_bits(model, weights, **options):
    kind = getattr(quantization.QuantType, weights)
    return through_files(model, lambda a, b: quantization.quantize_dynamic(a, b, weight_type=kind, **options))


def calibrated(model, feed, form, activations, weights, **options):
    def tool(path, out):
        quant_pre_process(path, path, skip_symbolic_shape=True)
        quantization.quantize_static(path, out, Reader(model, feed), quant_format=getattr(quantization.QuantFormat, form),
                                     activation_type=getattr(quantization.QuantType, activations),
                                     weight_type=getattr(quantization.QuantType, weights), **options)
    return through_files(model, tool)


def in_4_bits(model, bits=4, form="QOperator", operators=("MatMul",), **options):
    config = DefaultWeightOnlyQuantConfig(bits=bits, quant_format=getattr(quantization.QuantFormat, form),
                                          op_types_to_quantize=operators, **options)
    q = MatMulNBitsQuantizer(model, algo_config=config)
    q.process()
    return q.model.model


def in_bnb4(model, kind):
    q = MatMulBnb4Quantizer(model, kind, 16)
    q.process()
    return q.model.model


def fused(model, kind, **options):
    """The model that the optimiser of onnxruntime.transformers makes."""
    chosen = FusionOptions(kind)
    for name, value in options.items():
        setattr(chosen, name, value)
    return through_files(model, lambda a, b: optimizer.optimize_model(
        a, kind, transformer.HEADS, transformer.WIDTH, optimization_options=chosen, opt_level=0).save_model_to_file(b))


def signed(form):
    """Types of activations and weights; signed weights have 7 bits, because ONNX Runtime's sums of products of unsigned and signed bytes
    saturate without VNNI."""
    return [("QUInt8", "QUInt8", {}), ("QUInt8", "QInt8", {"reduce_range": True}),
            ("QInt8", "QInt8", {"per_channel": True, "reduce_range": True}),
            *([("QInt16", "QInt8", {"reduce_range": True})] * (form == "QDQ"))]


def halved(model, io, **options):
    return float16.convert_float_to_float16(model, keep_io_types=io, **options)


# Products of activations stay floats: the large numbers of masks would leave no precision in 8 bits.
PRODUCTS = {"op_types_to_quantize": ["MatMul", "Gemm", "Gather"], "extra_options": {"MatMulConstBOnly": True}}


def tools(name):
    """(name, function from a model and its data to another model, largest error) of each tool"""
    yield from ((level, lambda m, x, v=level: optimised(m, v), SUMS) for level in ("basic", "extended", "all"))
    for weights, options in ("QInt8", {}), ("QUInt8", {"per_channel": True}):
        yield f"dynamic_{weights}", lambda m, x, w=weights, o=options: in_8_bits(m, w, reduce_range=True, **o), STEPS
        yield f"dynamic_{weights}_all", lambda m, x, w=weights, o=options: optimised(in_8_bits(m, w, reduce_range=True, **o), "all"), STEPS
    for form in "QDQ", "QOperator":
        for activations, weights, options in signed(form):
            end = f"{form}_{activations}_{weights}"
            options |= PRODUCTS if name.startswith(("bert", "gpt")) else {}
            yield end, lambda m, x, f=form, a=activations, w=weights, o=options: calibrated(m, x, f, a, w, **o), STEPS
            if form == "QDQ":
                yield f"{end}_all", lambda m, x, f=form, a=activations, w=weights, o=options: optimised(
                    calibrated(m, x, f, a, w, **o), "all"), STEPS
    yield from ((f"float16_{'float' if io else 'half'}", lambda m, x, i=io: halved(m, i), HALF) for io in (True, False))
    yield "float16_all", lambda m, x: optimised(halved(m, True), "all"), HALF
    yield "onnx_float16", lambda m, x: float16_of_onnx.convert_float_to_float16(m, keep_io_types=True), HALF
    if name.startswith(("bert", "gpt")):
        yield from tools_of_transformers("bert" if name.startswith("bert") else "gpt2")


def tools_of_transformers(kind):
    for symmetric, level in (True, 0), (False, 4):
        yield f"bits4_{level}", lambda m, x, s=symmetric, a=level: in_4_bits(
            m, block_size=16, is_symmetric=s, accuracy_level=a), BYTES if level == 4 else SUMS
    yield "bits4_QDQ", lambda m, x: in_4_bits(m, form="QDQ", block_size=32), SUMS
    yield "bits4_Gather", lambda m, x: in_4_bits(m, operators=("MatMul", "Gather"), block_size=16), SUMS
    yield "bits8", lambda m, x: in_4_bits(m, 8, block_size=32), SUMS
    yield from ((f"bnb4_{data}", lambda m, x, d=data: in_bnb4(m, d), SUMS) for data in (0, 1))
    for said, options in {"plain": {}, "heads": {"use_multi_head_attention": True}, "gelus": {"enable_gelu_approximation": True}}.items():
        yield f"fused_{said}", lambda m, x, o=options: fused(m, kind, **o), SUMS
    yield "fused_half", lambda m, x: halved(fused(m, kind), True, disable_shape_infer=True), HALF
    yield "fused_dynamic", lambda m, x: in_8_bits(fused(m, kind), "QInt8", reduce_range=True, extra_options=FLOAT), STEPS
    yield "fused_all", lambda m, x: optimised(fused(m, kind), "all"), SUMS


def as_fed(model, feed):
    """The data, converted to the types of the model's inputs."""
    kinds = [onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input]
    return [np.asarray(x).astype(k) for x, k in zip(feed, kinds, strict=True)]


def apply(name, tool, is_open, part):
    model, feed = sized(name, is_open)
    model = tool(model, feed)
    blocks = any(n.domain == "com.microsoft.nchwc" for n in model.graph.node)
    return model, as_fed(model, feed), part, {"channel-block": CHANNELS} if blocks else {}


def models():
    for name, is_open in itertools.product(NETS, (False, True)):
        for said, tool, part in tools(name) if name in BOTH or not is_open else ():
            yield (f"{name}_{'open' if is_open else 'fixed'}_{said}",
                   lambda n=name, t=tool, o=is_open, p=part: apply(n, t, o, p))
