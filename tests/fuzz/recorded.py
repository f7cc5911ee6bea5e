"""The cases in which ONNX Runtime and ONNX's reference evaluator contradict each other or an operator's text, or the text leaves the
result open: RECORDED has the right result, and why."""

import numpy as np
from onnx import TensorProto, helper

RUNTIME, REFERENCE, NOBODY = "runtime", "reference", "nobody"


def slice_by_text(case):
    """Slice, step by step as specified."""
    x, starts, ends, axes, steps = (case.inputs + [None, None])[:5]
    axes = np.arange(len(starts)) if axes is None else axes
    steps = np.ones(len(starts), np.int64) if steps is None else steps
    for start, end, axis, step in zip(*(map(int, v) for v in (starts, ends, axes, steps))):
        n = x.shape[axis]
        start, end = (v + n if v < 0 else v for v in (start, end))
        low, high = (0, n) if step > 0 else (-1, n - 1)
        start, end = min(max(start, 0), high), min(max(end, low), high)
        x = np.take(x, np.array(range(start, end, step), np.int64), axis)
    return [x]


def shape_by_text(case):
    x = case.inputs[0]
    ends = (case.attrs.get("start", 0), case.attrs.get("end", x.ndim))
    start, end = (min(max(v + x.ndim if v < 0 else v, 0), x.ndim) for v in ends)
    return [np.array(x.shape[start:end], np.int64)]


def group_norm_by_text(case):
    """GroupNormalization in double, of version 21: a scale and a bias for each channel."""
    x, scale, bias = (v.astype(np.float64) for v in case.inputs)
    rows = x.reshape(x.shape[0], case.attrs["num_groups"], -1)
    rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + case.attrs.get("epsilon", 1e-5))
    wide = (1, -1) + (1,) * (x.ndim - 2)
    return [(rows.reshape(x.shape) * scale.reshape(wide) + bias.reshape(wide)).astype(case.inputs[0].dtype)]


def dict_vectorizer_by_text(case):
    """DictVectorizer: the map's value for each word of the vocabulary."""
    values = dict(case.inputs[0].tolist())
    kind, vocabulary = case.inputs[0].dtype["value"], *case.attrs.values()
    return [np.array([values.get(word, "" if kind == object else 0) for word in vocabulary], kind)]


def cast_map_by_text(case):
    """CastMap: the values in the order of their keys, or each at the index that its key is."""
    x = case.inputs[0][np.argsort(case.inputs[0]["key"])]
    to = {"TO_FLOAT": np.float32, "TO_INT64": np.int64, "TO_STRING": str}[case.attrs.get("cast_to", "TO_FLOAT")]
    y = x["value"].astype(to).astype(object if to == str else to)
    if case.attrs.get("map_form") == "SPARSE":
        wide = np.full(case.attrs.get("max_map", 1), "0.f" if to == str else 0, y.dtype)
        wide[x["key"]] = y
        y = wide
    return [y[None]]


def reduced_sum(case, x):
    axes = case.attrs.get("axes", case.inputs[1] if len(case.inputs) > 1 else None)
    axes = tuple(axes) if axes is not None and len(axes) else () if case.attrs.get("noop_with_empty_axes") else None
    return x.sum(axes, keepdims=bool(case.attrs.get("keepdims", 1)))


def of_integers(case):
    return case.inputs[0].dtype.kind in "iu"


def integer_without_logarithm(case):
    return of_integers(case) and bool((reduced_sum(case, case.inputs[0]) <= 0).any())


def log_sum_exp_by_text(case):
    x = case.inputs[0]
    return [np.log(reduced_sum(case, np.exp(x.astype(np.float64)))).astype(x.dtype)]


def runtime_takes_no_such_map(case):
    x = case.inputs[0]
    return x.size == 0 or x.dtype["value"] != np.float32


def beyond_integers(case):
    """Does it cast a number outside of the integer type's range?"""
    to, x = case.attrs["to"], case.inputs[0]
    to = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(to) if isinstance(to, str) else to)
    if to.kind not in "iu" or x.dtype.kind in "iubO":
        return False
    x = x.astype(np.float64)
    return not bool(((x > np.iinfo(to).min - 1.0) & (x < np.iinfo(to).max + 1.0)).all())


def is_empty(case):
    return any(x is not None and x.size == 0 for x in case.inputs)


def window_leaves_gaps(case):
    strides = case.attrs.get("strides", [1])
    return max(strides) > 1 and case.attrs.get("auto_pad", "").startswith("SAME")


def same_and_strides(case):
    return case.attrs.get("auto_pad", "").startswith("SAME")


def limits_missing(case):
    return case.inputs[0].dtype.kind not in "iu" and not (case.inputs[1:] and all(x is not None for x in case.inputs[1:]))


def does_not_fit(case):
    return "pads" not in case.attrs and any(d < (k - 1) * e + 1 for d, k, e in zip(
        case.inputs[0].shape[2:], case.inputs[1].shape[2:], case.attrs.get("dilations", [1] * 3)))


def has(name, *values):
    return lambda case: case.attrs.get(name) in values


def rounds_length(case):
    """tf_crop_and_resize to a fraction of an element."""
    scales = case.inputs[2]
    return crops(case) and scales is not None and bool((scales[-2:] * case.inputs[0].shape[-2:] % 1 != 0).any())


crops = has("coordinate_transformation_mode", "tf_crop_and_resize")


def without_parameters(case):
    return "activation_alpha" not in case.attrs and any(
        f in ("Affine", "ThresholdedRelu", "ScaledTanh") for f in case.attrs.get("activations", ()))


def two_labels(case):
    return len(case.attrs.get("classlabels_strings") or case.attrs["classlabels_int64s"]) == 2


def one_of_two(case):
    """Is it a classification of two classes by one number?"""
    return two_labels(case) and not any(case.attrs["class_ids"])


def always(_):
    return True


# (operators, condition, right result, reason). The first line whose condition holds applies; if there is none, the two must agree.
RECORDED = [
    ("Slice", always, slice_by_text, "ORT selects the whole axis for an end of INT_MAX with a negative step; numpy selects nothing"),
    ("GroupNormalization", always, group_norm_by_text, "both compute the variance as a difference, which may cancel out"),
    ("Cast", beyond_integers, NOBODY, "the text does not define the cast of a number that the integer type lacks"),
    ("DictVectorizer", always, dict_vectorizer_by_text, "ORT gives a row of two dimensions; the text has one"),
    ("CastMap", runtime_takes_no_such_map, cast_map_by_text, "ORT's Python interface has maps of float, and no empty ones"),
    ("CastMap", has("cast_to", "TO_STRING"), cast_map_by_text, "ORT writes six digits after the point, whatever the number"),
    ("Shape", always, shape_by_text, "ORT and the reference differ where a bound lies before the first axis"),
    ("ConvTranspose", same_and_strides, NOBODY, "the text says input * stride; both give less when the stride exceeds the window"),
    ("Clip", limits_missing, NOBODY,
     "an infinity without a limit: the text has the limits of the type, the function body of the same version none"),
    ("Conv", does_not_fit, NOBODY, "the window does not fit"),
    ("ReduceL2 ReduceL1 ReduceLogSumExp ReduceSumSquare ReduceSum ReduceMean ReduceProd ReduceLogSum ReduceMax ReduceMin",
     is_empty, NOBODY, "of nothing, over all axes: ORT leaves the shape as it is"),
    ("ReduceLogSum", integer_without_logarithm, NOBODY, "the text does not define the logarithm of 0 or less as an integer"),
    ("ReduceLogSumExp", of_integers, log_sum_exp_by_text, "ORT truncates each power, and the logarithm before it adds the maximum"),
    ("MaxPool AveragePool LpPool", window_leaves_gaps, NOBODY, "both let padding become negative where the stride exceeds the window"),
    ("MaxPool AveragePool LpPool", always, RUNTIME, "the reference is wrong about automatic padding with dilations, ceil_mode and 1-norms"),
    ("MatMul Gemm", is_empty, REFERENCE, "a sum of nothing is 0; ORT leaves what was in memory"),
    ("Hardmax Softmax LogSoftmax", lambda c: c.version < 13, RUNTIME, "over all axes from `axis` on; the reference takes one"),
    ("LRN", always, RUNTIME, "the reference sums up for the first channels only, as many as the batch has images"),
    ("QLinearConv", always, RUNTIME, "the reference has another rank for images of one axis"),
    ("ConvTranspose", always, RUNTIME, "the reference has groups wrong"),
    ("GRU LSTM RNN", without_parameters, NOBODY,
     "ORT's alpha and beta are 0; the text has those of the operators, of which only ThresholdedRelu's are defined"),
    ("GRU LSTM RNN", always, RUNTIME, "the reference knows neither sequence_lens nor clip nor activations"),
    ("Bernoulli", always, REFERENCE, "each draws its own; of those, the test program compares type and shape"),
    ("TreeEnsembleClassifier", lambda c: one_of_two(c) and c.attrs["post_transform"] == "PROBIT", NOBODY,
     "ORT takes the one number for a probability before PROBIT, the reference has no PROBIT"),
    ("TreeEnsembleClassifier", lambda c: two_labels(c) and not one_of_two(c), REFERENCE,
     "two classes with a number each: ORT gives labels that are none of the model's"),
    ("TreeEnsembleClassifier TreeEnsembleRegressor", always, RUNTIME, "the reference forgets base values, and 0 or 1 of one number"),
    ("TreeEnsemble", always, RUNTIME, "the reference ignores post_transform, and returns the type's limits for targets without a leaf"),
    ("Loop", always, RUNTIME, "the reference concatenates scan outputs, which have to be stacked"),
    ("Optional", always, RUNTIME, "the reference makes a list of the tensor"),
    ("StringNormalizer", always, RUNTIME, "the reference removes accents, and may leave an empty axis"),
    ("StringSplit", lambda c: "" in c.inputs[0], NOBODY, "the text does not define the number of pieces of an empty string: ORT has none, the reference one"),
    ("Sequence", always, RUNTIME, "in the reference an insertion changes its operand, too"),
    ("SplitToSequence", always, REFERENCE, "ORT drops the axis with keepdims = 0 although `split` is given"),
    ("AffineGrid", has("align_corners", 1), REFERENCE, "ORT places the only row of an axis of 1 elsewhere"),
    ("GridSample", has("mode", "cubic"), RUNTIME, "the reference takes cubic borders from outside of the image"),
    ("GlobalMaxPool", always, RUNTIME, "the reference leaves an axis"),
    ("LpNormalization", always, RUNTIME, "the reference's 1-norm is a sum with signs"),
    ("BatchNormalization", lambda c: c.version == 9, RUNTIME, "the reference of version 9 multiplies scale and variance"),
    ("Scaler Normalizer", always, RUNTIME, "the results are floats; those of the reference are what its inputs are"),
    ("Gelu", lambda c: c.inputs[0].dtype.itemsize == 2, RUNTIME, "the reference rounds every step"),
    ("Sum Mean", always, RUNTIME, "the reference rounds after every input"),
    ("Resize", has("coordinate_transformation_mode", "half_pixel_symmetric"), RUNTIME,
     "the reference takes a neighbour where rounding puts a coordinate just beside a whole number"),
    ("Resize", has("coordinate_transformation_mode", "pytorch_half_pixel"), RUNTIME, "the reference has -0.5 where the text has 0"),
    ("MeanVarianceNormalization", always, REFERENCE, "ORT does not know axes from behind, and divides 0 by 0"),
    ("PRelu", always, RUNTIME, "the reference multiplies 0 by an infinite slope; the text keeps x from 0 on"),
    ("Unique", lambda c: "axis" in c.attrs and not c.attrs["sorted"], RUNTIME, "the reference takes another axis"),
    ("Resize", rounds_length, NOBODY, "the text leaves open whether length_resized has a fraction; ORT and the reference differ"),
    ("Resize", crops, REFERENCE, "ORT leaves an axis of scale 1 as it is, whatever its roi"),
    ("Resize", has("coordinate_transformation_mode", "align_corners"), REFERENCE, "length_resized is a product; ORT rounds it"),
]


def right(case):
    """The correct result in this case; None: the two must agree."""
    return next((what for operators, holds, what, _ in RECORDED if case.op in operators.split() and holds(case)), None)
