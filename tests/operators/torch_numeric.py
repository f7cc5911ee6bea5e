"""Operators for torch_nodes.py: Resize, sampling at coordinates, Fourier transforms, quantisation, ai.onnx.ml."""

import itertools

import numpy as np
import torch

from torch_nodes import F, ints, op

ML = "ai.onnx.ml"

# ---- Resize -----------------------------------------------------------------------------------------------------------------


def places(how, count, scale, size, length, begin, end):
    """The coordinates of the result's `count` elements along an axis of the image; scale * size = length."""
    i = torch.arange(count, dtype=scale.dtype)
    if how == "align_corners":
        return i * (size - 1) / (length - 1) if float(length.detach()) != 1 else 0 * i + 0 * scale
    if how == "asymmetric":
        return i / scale
    if how == "tf_crop_and_resize":
        if float(length.detach()) == 1:
            return (begin + end) * (size - 1) / 2 + 0 * i
        return begin * (size - 1) + i * (end - begin) * (size - 1) / (length - 1)
    if how == "pytorch_half_pixel" and count <= 1:
        return 0 * i + 0 * scale
    at = (i + 0.5) / scale - 0.5
    if how == "half_pixel_symmetric":
        at = at + size / 2 * (1 - int(length.detach()) / length)
    return at


def weights_at(distance, mode, a):
    """The weight of an element at this distance."""
    x = distance.abs()
    if mode == "linear":
        return torch.clamp(1 - x, min=0)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, 0 * x))


def nearest(at, how):
    return {"round_prefer_floor": lambda v: torch.ceil(v - 0.5), "round_prefer_ceil": lambda v: torch.floor(v + 0.5), "floor": torch.floor,
            "ceil": torch.ceil}[how](at)


def resized(n, x, axis, count, scale, length, begin, end):
    """x resized along an axis."""
    size, mode, how = x.shape[axis], n("mode", "nearest"), n("coordinate_transformation_mode", "half_pixel")
    at = places(how, count, scale, size, length, begin, end)
    if mode == "nearest":
        matrix = F.one_hot(torch.clamp(nearest(at.detach(), n("nearest_mode", "round_prefer_floor")), 0, size - 1).long(), size).to(x.dtype)
    else:
        squeeze = torch.clamp(scale, max=1) if n("antialias", 0) else torch.ones(())
        reach = int(np.ceil((1 if mode == "linear" else 2) / float(squeeze.detach()))) + 1
        taps = torch.floor(at.detach()).reshape(-1, 1) + torch.arange(-reach, reach + 1)
        w = weights_at((taps - at.reshape(-1, 1)) * squeeze, mode, n("cubic_coeff_a", -0.75)).to(x.dtype)
        if n("exclude_outside", 0):
            w = torch.where((taps >= 0) & (taps < size), w, 0 * w)
        if n("exclude_outside", 0) or n("antialias", 0):
            w = w / w.sum(1, keepdim=True)
        matrix = torch.zeros(count, size, dtype=x.dtype).scatter_add(1, torch.clamp(taps, 0, size - 1).long(), w)
    y = (x.movedim(axis, -1) @ matrix.T).movedim(-1, axis)
    if how == "tf_crop_and_resize":
        inside = ((at >= 0) & (at <= size - 1)).reshape(-1, *[1] * (x.ndim - 1 - axis))
        y = torch.where(inside, y, torch.full_like(y, n("extrapolation_value", 0.0)))
    return y


@op("Resize")
def resize(n, x, roi=None, scales=None, sizes=None):
    if scales is None and sizes is None:
        return upsample(n, x, roi)
    axes = n("axes", list(range(x.ndim)))
    for i, axis in enumerate(axes):
        axis %= x.ndim
        if scales is not None and scales.numel():
            scale = scales[i].to(x.dtype)
            length = scale * x.shape[axis]
            count = int(np.floor(float(scales[i].detach()) * x.shape[axis]))
        else:
            count = int(sizes[i])
            length, scale = torch.tensor(float(count)), torch.tensor(count / x.shape[axis], dtype=x.dtype)
        crop = n("coordinate_transformation_mode") == "tf_crop_and_resize"
        if count == x.shape[axis] and float(scale.detach()) == 1 and not crop:
            continue
        begin, end = (roi[i], roi[len(axes) + i]) if crop else (None, None)
        x = resized(n, x, axis, count, scale, length, begin, end)
    return x


@op("Upsample")
def upsample(n, x, scales):
    """Upsample 9 is the same as Resize 10: both align the first elements of input and output."""
    n.attrs.update({"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"})
    return resize(n, x, None, scales)


# ---- sampling at coordinates -----------------------------------------------------------------------------------------------------------


@op("GridSample")
def grid_sample(n, x, grid):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(n("mode", "linear"), n("mode", "linear"))
    return F.grid_sample(x, grid, mode, n("padding_mode", "zeros"), bool(n("align_corners", 0)))


@op("AffineGrid")
def affine_grid(n, theta, size):
    return F.affine_grid(theta, ints(size), bool(n("align_corners", 0)))


def corners(x, at, keep):
    """The weighted elements of the images x, (channels, height, width), around places at: two tensors of one shape. keep: what is
    outside."""
    low = [torch.floor(v.detach()) for v in at]
    for ends in itertools.product((0, 1), repeat=2):
        index = [a + e for a, e in zip(low, ends)]
        weight = [1 - (v - i).abs() for v, i in zip(at, index)]
        inside = keep
        for i, size in zip(index, x.shape[1:]):
            inside = inside & (i >= 0) & (i < size)
        index = [torch.clamp(i, 0, size - 1).long() for i, size in zip(index, x.shape[1:])]
        yield torch.where(inside, x[:, index[0], index[1]] * weight[0] * weight[1], torch.zeros((), dtype=x.dtype))


@op("RoiAlign")
def roi_align(n, x, rois, batch):
    height, width, scale, rows = n("output_height", 1), n("output_width", 1), n("spatial_scale", 1.0), []
    half = n("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    for roi, b in zip(rois, batch):
        left, top, right, bottom = (v * scale - 0.5 * half for v in roi)
        h, w = bottom - top, right - left
        if not half:
            h, w = torch.clamp(h, min=1), torch.clamp(w, min=1)
        ky, kx = (n("sampling_ratio", 0) or int(torch.ceil(v.detach() / k)) for v, k in ((h, height), (w, width)))
        y = top + (torch.arange(height).reshape(-1, 1) + (torch.arange(ky) + 0.5) / ky) * h / height
        z = left + (torch.arange(width).reshape(-1, 1) + (torch.arange(kx) + 0.5) / kx) * w / width
        y, z = y.reshape(height, 1, ky, 1).expand(height, width, ky, kx), z.reshape(1, width, 1, kx).expand(height, width, ky, kx)
        keep = (y >= -1) & (y <= x.shape[2]) & (z >= -1) & (z <= x.shape[3])
        at = torch.clamp(y, 0, x.shape[2] - 1), torch.clamp(z, 0, x.shape[3] - 1)
        v = torch.stack(list(corners(x[b], at, keep)), -1)
        rows.append(v.sum(-1).mean((-1, -2)) if n("mode", "avg") == "avg" else v.amax((-1, -2, -3)))
    return torch.stack(rows)


@op("DeformConv")
def deform_conv(n, x, w, offset, b=None, mask=None):
    kernel, group, parts = w.shape[2:], n("group", 1), n("offset_group", 1)
    strides, dilations, pads = n("strides", [1, 1]), n("dilations", [1, 1]), n("pads", [0] * 4)
    out = offset.shape[2:]
    offset = offset.unflatten(1, (parts, kernel[0], kernel[1], 2))
    rows = []
    for image in range(x.shape[0]):
        channels = []
        for k, part in enumerate(x[image].chunk(parts, 0)):
            taps = torch.cartesian_prod(torch.arange(kernel[0]), torch.arange(kernel[1])).reshape(*kernel, 2)
            at = [offset[image, k, :, :, i] + (taps[..., i] * dilations[i]).reshape(*kernel, 1, 1) - pads[i]
                  + (torch.arange(out[i]) * strides[i]).reshape(([-1, 1], [1, -1])[i]) for i in range(2)]
            v = sum(corners(part, at, torch.ones(()).bool()))
            channels.append(v if mask is None else v * mask[image].unflatten(0, (parts, *kernel))[k])
        v = torch.cat(channels).unflatten(0, (group, -1))
        rows.append(torch.einsum("gcijhw,gocij->gohw", v, w.unflatten(0, (group, -1))).flatten(0, 1))
    y = torch.stack(rows)
    return y if b is None else y + b.reshape(-1, 1, 1)


# ---- Fourier transforms ------------------------------------------------------------------------------------------------------


def complex_of(x):
    return torch.complex(x[..., 0], x[..., 1] if x.shape[-1] == 2 else torch.zeros_like(x[..., 0]))


@op("DFT")
def dft(n, x, length=None, axis=None):
    axis = -2 if axis is None else int(axis)
    axis, k = axis % x.ndim, None if length is None else int(length)
    if n("onesided", 0):
        if n("inverse", 0):
            k = 2 * (x.shape[axis] - 1) if k is None else k
            return torch.fft.irfft(complex_of(x), k, axis).unsqueeze(-1)
        return torch.view_as_real(torch.fft.rfft(x[..., 0], k, axis))
    return torch.view_as_real((torch.fft.ifft if n("inverse", 0) else torch.fft.fft)(complex_of(x), k, axis))


@op("STFT")
def stft(n, x, step, window=None, length=None):
    size = int(length) if length is not None else window.shape[0]
    x = x if x.ndim == 3 else x.unsqueeze(-1)
    frames = x.unfold(1, size, int(step))  # (batch, frames, 1 or 2, size)
    frames = frames if window is None else frames * window
    if n("onesided", 1):
        return torch.view_as_real(torch.fft.rfft(frames[:, :, 0]))
    return torch.view_as_real(torch.fft.fft(complex_of(frames.movedim(2, -1))))


# ---- linear quantisation ---------------------------------------------------------------------------------------------------


@op("DequantizeLinear")
def dequantize(n, x, scale, zero=None):
    axis, block = n("axis", 1), n("block_size", 0)

    def spread(v):
        if block:
            return v.repeat_interleave(block, axis)
        return v.reshape(-1, *[1] * (x.ndim - 1 - axis % x.ndim)) if v.ndim else v

    return (x.to(scale.dtype) - (0 if zero is None else spread(zero).to(scale.dtype))) * spread(scale)


@op("DynamicQuantizeLinear")
def dynamic_quantize(n, x):
    low, high = torch.clamp(x.min(), max=0), torch.clamp(x.max(), min=0)
    scale = (high - low) / 255
    zero = torch.clamp(torch.round(-low / scale), 0, 255)
    return torch.clamp(torch.round(x / scale) + zero, 0, 255).to(torch.uint8), scale, zero.to(torch.uint8)


# ---- ai.onnx.ml ---------------------------------------------------------------------------------------------------------


def probit(p):
    z = 2 * p - 1
    log = torch.log((1 - z) * (1 + z))
    middle = 2 / (np.pi * 0.147) + log / 2
    return np.sqrt(2) * torch.sign(z) * torch.sqrt(torch.sqrt(middle**2 - log / 0.147) - middle)


def post(n, y):
    return {"NONE": lambda v: v, "LOGISTIC": torch.sigmoid, "SOFTMAX": lambda v: torch.softmax(v, -1), "PROBIT": probit,
            "SOFTMAX_ZERO": lambda v: torch.where(v == 0, v, torch.softmax(v, -1))}[n("post_transform", "NONE")](y)


def listed(n, name, x, *shape):
    return torch.tensor(n(name, []), dtype=x.dtype).reshape(shape)


@op("LinearRegressor", domain=ML)
def linear_regressor(n, x):
    targets = n("targets", 1)
    y = x @ listed(n, "coefficients", x, targets, -1).T
    return post(n, y + listed(n, "intercepts", x, -1) if n("intercepts") else y)


@op("LinearClassifier", domain=ML)
def linear_classifier(n, x):
    labels = n("classlabels_ints") or n("classlabels_strings")
    y = x @ listed(n, "coefficients", x, -1, x.shape[1]).T + listed(n, "intercepts", x, -1)
    assert y.shape[1] == len(labels)
    return y.argmax(1), post(n, y)


def kernel(n, x, vectors):
    gamma, coef0, degree = n("kernel_params", [0.0, 0.0, 0.0])
    product = gamma * (x @ vectors.T) + coef0
    kind = n("kernel_type", "LINEAR")
    return {"LINEAR": lambda: x @ vectors.T, "POLY": lambda: product**degree, "SIGMOID": lambda: torch.tanh(product),
            "RBF": lambda: torch.exp(-gamma * (x.unsqueeze(1) - vectors).square().sum(-1))}[kind]()


@op("SVMRegressor", domain=ML)
def svm_regressor(n, x):
    vectors = listed(n, "support_vectors", x, n("n_supports", 0), -1)
    return (kernel(n, x, vectors) @ listed(n, "coefficients", x, -1) + n("rho")[0]).unsqueeze(1)


@op("SVMClassifier", domain=ML)
def svm_classifier(n, x):
    """SVMClassifier with probabilities: of pairs of classes, then of classes, by a system of equations."""
    counts = n("vectors_per_class")
    classes, first = len(counts), np.cumsum([0, *counts])
    alike = kernel(n, x, listed(n, "support_vectors", x, int(first[-1]), -1))
    factors, rho = listed(n, "coefficients", x, classes - 1, -1), n("rho")
    of = torch.zeros(x.shape[0], classes, classes, dtype=x.dtype)
    for k, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        one, other = slice(*first[i:i + 2]), slice(*first[j:j + 2])
        score = rho[k] + alike[:, one] @ factors[j - 1, one] + alike[:, other] @ factors[i, other]
        p = torch.clamp(torch.sigmoid(-(n("prob_a")[k] * score + n("prob_b")[k])), 1e-7, 1 - 1e-7)
        ends = torch.zeros(classes, classes, dtype=x.dtype), torch.zeros(classes, classes, dtype=x.dtype)
        ends[0][i, j] = ends[1][j, i] = 1
        of = of + p.reshape(-1, 1, 1) * ends[0] + (1 - p).reshape(-1, 1, 1) * ends[1]
    q = torch.diag_embed(of.square().sum(1)) - of * of.transpose(1, 2)
    q = F.pad(F.pad(q, (0, 1, 0, 1), value=1.0), (0, 0, 0, 0))
    q = q - torch.diag(torch.eye(classes + 1, dtype=x.dtype)[-1])
    p = torch.linalg.solve(q, torch.eye(classes + 1, dtype=x.dtype)[-1].expand(x.shape[0], -1))[:, :-1]
    return p.argmax(1), post(n, p)


@op("Scaler", domain=ML)
def scaler(n, x):
    return (x - listed(n, "offset", x, -1)) * listed(n, "scale", x, -1)


@op("Normalizer", domain=ML)
def normalizer(n, x):
    kind = n("norm", "MAX")
    return x / (x.amax(-1, True) if kind == "MAX" else x.abs().sum(-1, keepdim=True) if kind == "L1" else x.square().sum(-1, keepdim=True).sqrt())


@op("Imputer", domain=ML)
def imputer(n, x):
    replaced = n("replaced_value_float", 0.0)
    missing = torch.isnan(x) if np.isnan(replaced) else x == replaced
    return torch.where(missing, listed(n, "imputed_value_floats", x, -1), x)


@op("FeatureVectorizer", domain=ML)
def feature_vectorizer(n, *x):
    return torch.cat(x, 1)


@op("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(n, x, at):
    return x[..., at.flatten()]
