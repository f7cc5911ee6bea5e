"""Layers of networks for torch_nodes.py: windows over images, normalisations, recurrent layers, attention, losses, optimizers."""

import numpy as np
import torch

from torch_nodes import F, op

# ---- windows over images ------------------------------------------------------------------------------------------------------------


def slides(n, size, kernel):
    """Of an image's axes: strides, dilations, pads before and after, and the sizes of the result."""
    axes = len(size)
    strides, dilations = n("strides", [1] * axes), n("dilations", [1] * axes)
    pads, auto, ceil = n("pads", [0] * 2 * axes), n("auto_pad", "NOTSET"), n("ceil_mode", 0)
    before, after, out = [], [], []
    for i in range(axes):
        reach = (kernel[i] - 1) * dilations[i] + 1
        if auto.startswith("SAME"):
            o = -(-size[i] // strides[i])
            both = max(0, (o - 1) * strides[i] + reach - size[i])
            b = both // 2 if auto == "SAME_UPPER" else both - both // 2
            a = both - b
        else:
            b, a = (0, 0) if auto == "VALID" else (pads[i], pads[axes + i])
            room = size[i] + b + a - reach
            o = max(0, room // strides[i] + 1)
            if ceil and room % strides[i] and o * strides[i] < size[i] + b:
                o += 1
        before.append(b), after.append(a), out.append(o)
    return strides, dilations, before, after, out


def windows(x, kernel, strides, dilations, before, out, fill):
    """The windows of the last axes of x, (..., out..., kernel...); elements outside of the image are `fill`."""
    axes = len(kernel)
    reach = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(out, strides, kernel, dilations)]
    more = [max(0, r - b - size) for r, b, size in zip(reach, before, x.shape[-axes:])]
    x = F.pad(x, [p for b, a in list(zip(before, more))[::-1] for p in (b, a)], value=fill)
    first = x.ndim - axes
    for i in range(axes):
        at = torch.arange(out[i]).reshape(-1, 1) * strides[i] + torch.arange(kernel[i]) * dilations[i]
        x = x.movedim(first, 0)[at.flatten()].unflatten(0, at.shape).movedim((0, 1), (-2, -1))
    return x.permute([*range(first), *range(first, x.ndim, 2), *range(first + 1, x.ndim, 2)])


CONVOLUTIONS = {1: (F.conv1d, F.conv_transpose1d), 2: (F.conv2d, F.conv_transpose2d), 3: (F.conv3d, F.conv_transpose3d)}


@op("Conv")
def conv(n, x, w, b=None):
    kernel, group = w.shape[2:], n("group", 1)
    strides, dilations, before, after, out = slides(n, x.shape[2:], kernel)
    if len(kernel) in CONVOLUTIONS and min(x.shape[2:]) and min(out):
        pads = [p for pair in list(zip(before, after))[::-1] for p in pair]
        return CONVOLUTIONS[len(kernel)][0](F.pad(x, pads), w, b, strides, 0, dilations, group)
    v = windows(x, kernel, strides, dilations, before, out, 0).unflatten(1, (group, -1)).flatten(-len(kernel))
    v = torch.einsum("ngc...k,gock->ngo...", v, w.flatten(2).unflatten(0, (group, -1))).flatten(1, 2)
    return v if b is None else v + b.reshape(-1, *[1] * len(kernel))


def spread(x, w, size, strides, dilations, before):
    """The transpose of a convolution: x (batch, groups, channels, places...) times w (groups, channels, results, kernel...)."""
    kernel, out = w.shape[3:], x.shape[3:]
    reach = [max(s + b, (o - 1) * t + (k - 1) * d + 1) for s, b, o, t, k, d in zip(size, before, out, strides, kernel, dilations)]
    at = windows(torch.arange(int(np.prod(reach))).reshape(1, 1, *reach), kernel, strides, dilations, [0] * len(size), out, 0).flatten()
    v = torch.einsum("ngco,gcrk->ngrok", x.flatten(3), w.flatten(3)).flatten(3)
    y = torch.zeros(*v.shape[:3], int(np.prod(reach)), dtype=x.dtype).index_add(3, at, v).flatten(1, 2).unflatten(2, reach)
    for i, (b, s) in enumerate(zip(before, size)):
        y = y.narrow(2 + i, b, s)
    return y


@op("ConvTranspose")
def conv_transpose(n, x, w, b=None):
    kernel, group, axes = w.shape[2:], n("group", 1), w.ndim - 2
    strides, dilations, more = (n(k, [d] * axes) for k, d in (("strides", 1), ("dilations", 1), ("output_padding", 0)))
    pads, shape, auto, before, size = n("pads", [0] * 2 * axes), n("output_shape"), n("auto_pad", "NOTSET"), [], []
    for i in range(axes):
        whole = (x.shape[2 + i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 + more[i]
        if auto.startswith("SAME") and not shape:
            target = x.shape[2 + i] * strides[i]
        else:
            target = shape[i - axes] if shape else whole - pads[i] - pads[axes + i]
        both = max(0, whole - target)
        half = both // 2 if auto == "SAME_UPPER" else both - both // 2
        before.append(half if shape or auto.startswith("SAME") else pads[i])
        size.append(target)
    if axes in CONVOLUTIONS:
        y = CONVOLUTIONS[axes][1](x, w, None, strides, 0, 0, group, dilations)
        pads = [p for i in range(axes)[::-1] for p in (-before[i], size[i] - y.shape[2 + i] + before[i])]
        y = F.pad(y, pads)
    else:
        y = spread(x.unflatten(1, (group, -1)), w.unflatten(0, (group, -1)), size, strides, dilations, before)
    return y if b is None else y + b.reshape(-1, *[1] * axes)


@op("Col2Im")
def col2im(n, x, image, block):
    image, block = image.tolist(), block.tolist()
    strides, dilations, before, _, _ = slides(n, image, block)
    axes = len(image)
    pads = n("pads", [0] * 2 * axes)
    out = [(image[i] + pads[i] + pads[axes + i] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(axes)]
    k = int(np.prod(block))
    unit = torch.eye(k, dtype=x.dtype).reshape(1, k, 1, *block)
    return torch.cat([spread(v.reshape(v.shape[0], 1, k, *out), unit, image, strides, dilations, before)
                      for v in x.unflatten(1, (-1, k)).unbind(1)], 1)


@op("MaxPool", "AveragePool", "LpPool")
def pool(n, x):
    kernel = n("kernel_shape")
    strides, dilations, before, after, out = slides(n, x.shape[2:], kernel)
    if n.op == "MaxPool":
        v = windows(x, kernel, strides, dilations, before, out, -torch.inf).flatten(-len(kernel))
        at = windows(torch.arange(x.numel()).reshape(x.shape), kernel, strides, dilations, before, out, 0).flatten(-len(kernel))
        y, where = v.max(-1)
        at = at.gather(-1, where.unsqueeze(-1)).squeeze(-1)
        if n("storage_order", 0):
            at = torch.arange(x.numel()).reshape(x.shape[0], x.shape[1], *x.shape[2:][::-1]).permute(0, 1, *range(x.ndim - 1, 1, -1)).flatten()[at]
        return (y, at)[:n.outputs]
    v = windows(x, kernel, strides, dilations, before, out, 0).flatten(-len(kernel))
    if n.op == "LpPool":
        return v.abs().pow(n("p", 2)).sum(-1).pow(1 / n("p", 2))
    inside = F.pad(torch.ones_like(x), [p for pair in list(zip(before, after))[::-1] for p in pair], value=float(n("count_include_pad", 0)))
    return v.sum(-1) / windows(inside, kernel, strides, dilations, [0] * len(kernel), out, 0).flatten(-len(kernel)).sum(-1)


@op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(n, x):
    v, p = x.flatten(2), n("p", 2)
    v = v.mean(2) if n.op == "GlobalAveragePool" else v.amax(2) if n.op == "GlobalMaxPool" else v.abs().pow(p).sum(2).pow(1 / p)
    return v.reshape(*v.shape, *[1] * (x.ndim - 2))


@op("MaxUnpool")
def max_unpool(n, x, at):
    kernel = n("kernel_shape")
    strides, pads = n("strides", [1] * len(kernel)), n("pads", [0] * 2 * len(kernel))
    size = [(d - 1) * s + k - pads[i] - pads[len(kernel) + i] for i, (d, s, k) in enumerate(zip(x.shape[2:], strides, kernel))]
    whole = (*x.shape[:2], *size)
    return torch.zeros(int(np.prod(whole)), dtype=x.dtype).scatter(0, at.flatten(), x.flatten()).reshape(whole)


@op("LRN")
def lrn(n, x):
    size = n("size")
    v = windows(x.square().movedim(1, -1), [size], [1], [1], [(size - 1) // 2], [x.shape[1]], 0).sum(-1).movedim(-1, 1)
    return x / (n("bias", 1.0) + n("alpha", 0.0001) / size * v).pow(n("beta", 0.75))


@op("MaxRoiPool")
def max_roi_pool(n, x, rois):
    rows, (height, width) = [], n("pooled_shape")
    for roi in rois.detach():
        b, left, top, right, bottom = int(roi[0]), *(int(torch.floor(v * n("spatial_scale", 1.0) + 0.5)) for v in roi[1:])
        h, w = max(bottom - top + 1, 1), max(right - left + 1, 1)
        cells = [(slice(max(0, top + i * h // height), max(0, min(x.shape[2], top + -(-(i + 1) * h // height)))),
                  slice(max(0, left + j * w // width), max(0, min(x.shape[3], left + -(-(j + 1) * w // width)))))
                 for i in range(height) for j in range(width)]
        parts = [x[b, :, r, c] for r, c in cells]
        rows.append(torch.stack([v.amax((1, 2)) if v.numel() else 0 * x[b, :, 0, 0] for v in parts], -1).unflatten(-1, (height, width)))
    return torch.stack(rows)


# ---- normalisations ---------------------------------------------------------------------------------------------------------


@op("BatchNormalization")
def batch_norm(n, x, a, b, mean, variance):
    if not n("training_mode", 0) and (mean.requires_grad or variance.requires_grad):  # F.batch_norm treats them as constants
        mean, variance, a, b = (v.reshape(-1, *[1] * (x.ndim - 2)) for v in (mean, variance, a, b))
        return (x - mean) / (variance + n("epsilon", 1e-5)).sqrt() * a + b
    if not n("training_mode", 0):
        return F.batch_norm(x, mean, variance, a, b, False, 0, n("epsilon", 1e-5))
    axes, keep = [i for i in range(x.ndim) if i != 1], n("momentum", 0.9)
    new = [v * keep + of * (1 - keep) for v, of in ((mean, x.mean(axes)), (variance, x.var(axes, correction=0)))]
    return F.batch_norm(x, None, None, a, b, True, 0, n("epsilon", 1e-5)), *new


@op("InstanceNormalization")
def instance_norm(n, x, a, b):
    return F.instance_norm(x, weight=a, bias=b, eps=n("epsilon", 1e-5))


@op("GroupNormalization")
def group_norm(n, x, a, b):
    return F.group_norm(x, n("num_groups"), a, b, n("epsilon", 1e-5))


@op("LayerNormalization", "RMSNormalization")
def layer_norm(n, x, a, b=None):
    axes = list(range(n("axis", -1) % x.ndim, x.ndim))
    over = x.shape[axes[0]:]
    if n.op == "RMSNormalization":
        return F.rms_norm(x, over, eps=n("epsilon", 1e-5)) * a
    if n.outputs == 1:
        y = F.layer_norm(x, over, eps=n("epsilon", 1e-5)) * a
        return y if b is None else y + b
    mean, factor = x.mean(axes, True), (x.var(axes, correction=0, keepdim=True) + n("epsilon", 1e-5)).rsqrt()
    y = (x - mean) * factor * a
    return y if b is None else y + b, mean, factor


@op("SimplifiedLayerNormalization")
def simplified_layer_norm(n, x, a):
    axes = list(range(n("axis", -1) % x.ndim, x.ndim))
    factor = (x.square().mean(axes, True) + n("epsilon", 1e-5)).rsqrt()
    return (x * factor * a, factor)[:n.outputs]


@op("LpNormalization")
def lp_norm(n, x):
    return F.normalize(x, n("p", 2), n("axis", -1), 0)


@op("MeanVarianceNormalization")
def mean_variance(n, x):
    axes = n("axes", [0, 2, 3])
    return (x - x.mean(axes, True)) / x.var(axes, correction=0, keepdim=True).sqrt()


# ---- recurrent layers -------------------------------------------------------------------------------------------------------


def gates_activation(n, k):
    """Activation k of all directions, in order, with its own alpha and beta."""
    names = n("activations", {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[n.op] * 2)
    names = [v.decode() if isinstance(v, bytes) else v for v in names]
    defaults = {"LeakyRelu": (0.01, 0), "Elu": (1, 0), "ThresholdedRelu": (1, 0), "HardSigmoid": (0.2, 0.5), "ScaledTanh": (1, 1), "Affine": (1, 0)}
    with_alpha = [i for i, v in enumerate(names) if v in defaults]
    with_beta = [i for i, v in enumerate(names) if v in ("HardSigmoid", "ScaledTanh", "Affine")]
    alphas, betas = (dict(zip(at, n(name, []))) for at, name in ((with_alpha, "activation_alpha"), (with_beta, "activation_beta")))
    alpha, beta = alphas.get(k, defaults.get(names[k], (0, 0))[0]), betas.get(k, defaults.get(names[k], (0, 0))[1])
    return {"Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Relu": torch.relu, "Softsign": F.softsign, "Softplus": F.softplus,
            "Affine": lambda x: alpha * x + beta, "LeakyRelu": lambda x: F.leaky_relu(x, alpha), "Elu": lambda x: F.elu(x, alpha),
            "ThresholdedRelu": lambda x: F.threshold(x, alpha, 0), "ScaledTanh": lambda x: alpha * torch.tanh(beta * x),
            "HardSigmoid": lambda x: torch.clamp(alpha * x + beta, 0, 1)}[names[k]]


def lstm_step(n, act, x, h, c, r, clip, p):
    i, o, f, g = (x + h @ r.T).chunk(4, -1)
    pi, po, pf = (0, 0, 0) if p is None else p.chunk(3, -1)
    i = act[0](clip(i + pi * c))
    f = 1 - i if n("input_forget", 0) else act[0](clip(f + pf * c))
    c = f * c + i * act[1](clip(g))
    return act[0](clip(o + po * c)) * act[2](c), c


def gru_step(n, act, x, h, r, clip, rb):
    hidden = h.shape[-1]
    (xz, xr, xh), (rz, rr, rh), (bz, br, bh) = x.chunk(3, -1), r.chunk(3, 0), rb.chunk(3, -1)
    z, reset = act[0](clip(xz + h @ rz.T + bz)), act[0](clip(xr + h @ rr.T + br))
    new = reset * (h @ rh.T + bh) if n("linear_before_reset", 0) else (reset * h) @ rh.T + bh
    assert hidden == bh.shape[-1]
    return (1 - z) * act[1](clip(xh + new)) + z * h


@op("LSTM", "GRU", "RNN")
def recurrent(n, x, w, r, b=None, lengths=None, h=None, c=None, p=None):
    last, limit, way = n("layout", 0), n("clip"), n("direction", "forward")
    clip = (lambda v: torch.clamp(v, -limit, limit)) if limit else lambda v: v
    x = x.transpose(0, 1) if last else x
    h, c = (v.transpose(0, 1) if last and v is not None else v for v in (h, c))
    steps, batch, hidden, functions = x.shape[0], x.shape[1], r.shape[-1], {"LSTM": 3, "GRU": 2, "RNN": 1}[n.op]
    lengths = torch.full((batch,), steps) if lengths is None else lengths
    results = []
    for k in range(w.shape[0]):
        act = [gates_activation(n, functions * k + i) for i in range(functions)]
        wb, rb = (torch.zeros(w.shape[1], dtype=x.dtype),) * 2 if b is None else b[k].chunk(2)
        none = torch.zeros(batch, hidden, dtype=x.dtype)
        hk, ck, rows = none if h is None else h[k], none if c is None else c[k], [None] * steps
        back = way == "reverse" or k
        for t in range(steps)[::-1] if back else range(steps):
            on = (t < lengths).reshape(-1, 1)
            v = x[t] @ w[k].T + wb
            if n.op == "LSTM":
                new, cell = lstm_step(n, act, v + rb, hk, ck, r[k], clip, None if p is None else p[k])
                ck = torch.where(on, cell, ck)
            else:
                new = gru_step(n, act, v, hk, r[k], clip, rb) if n.op == "GRU" else act[0](clip(v + hk @ r[k].T + rb))
            hk, rows[t] = torch.where(on, new, hk), torch.where(on, new, 0 * new)
        results.append((torch.stack(rows), hk, ck))
    y, h, c = (torch.stack(v, axis) for v, axis in zip(zip(*results), (1, 0, 0)))
    if last:
        y, h, c = y.permute(2, 0, 1, 3), h.transpose(0, 1), c.transpose(0, 1)
    return (y, h, c)[:3 if n.op == "LSTM" else 2]


# ---- attention --------------------------------------------------------------------------------------------------------------


def heads_of(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2) if x.ndim == 3 else x


@op("Attention")
def attention(n, q, k, v, mask=None, past_k=None, past_v=None, lengths=None, sink=None):
    packed = q.ndim == 3
    q, k, v = heads_of(q, n("q_num_heads", 0)), heads_of(k, n("kv_num_heads", 0)), heads_of(v, n("kv_num_heads", 0))
    past = 0 if past_k is None else past_k.shape[2]
    k, v = (x if before is None else torch.cat([before, x], 2) for before, x in ((past_k, k), (past_v, v)))
    present, each = (k, v), q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
    scores = q @ k.transpose(-1, -2) * n("scale", q.shape[-1] ** -0.5)
    stages, cap = [scores], n("softcap", 0.0)
    scores = cap * torch.tanh(scores / cap) if cap else scores
    stages.append(scores)
    if mask is not None:
        mask = F.pad(mask, (0, k.shape[2] - mask.shape[-1]), value=-torch.inf if mask.is_floating_point() else False)
        scores = scores + mask if mask.is_floating_point() else scores.masked_fill(~mask, -torch.inf)
    if n("is_causal", 0):
        rows, columns = torch.arange(q.shape[2]).reshape(-1, 1), torch.arange(k.shape[2])
        scores = scores.masked_fill(columns > rows + past, -torch.inf)
    if lengths is not None:
        scores = scores.masked_fill(torch.arange(k.shape[2]) >= lengths.reshape(-1, 1, 1, 1), -torch.inf)
    stages.append(scores)
    if sink is not None:
        scores = torch.cat([scores, sink.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)], -1)
    stages.append(torch.softmax(scores, -1)[..., :k.shape[2]])
    y = stages[3] @ v
    y = y.transpose(1, 2).flatten(2) if packed else y
    return (y, *present, stages[n("qk_matmul_output_mode", 0)])[:n.outputs]


@op("FlexAttention", domain="ai.onnx.preview")
def flex_attention(n, q, k, v):
    each = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
    scores = q @ k.transpose(-1, -2) * n("scale", q.shape[-1] ** -0.5)
    scores = n.graph("score_mod", scores)[0] if "score_mod" in n.attrs else scores
    scores = torch.softmax(scores, -1)
    scores = n.graph("prob_mod", scores)[0] if "prob_mod" in n.attrs else scores
    return scores @ v


@op("RotaryEmbedding")
def rotary(n, x, cosine, sine, positions=None):
    packed, mixed = x.ndim == 3, n("interleaved", 0)
    v = x.unflatten(-1, (n("num_heads", 0), -1)) if packed else x.transpose(1, 2)
    half = cosine.shape[-1]
    cosine, sine = (a if positions is None else a[positions] for a in (cosine, sine))
    cosine, sine = cosine.unsqueeze(2), sine.unsqueeze(2)
    turned, rest = v[..., :2 * half], v[..., 2 * half:]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if mixed else turned.chunk(2, -1)
    pair = a * cosine - b * sine, a * sine + b * cosine
    y = torch.cat([torch.stack(pair, -1).flatten(-2) if mixed else torch.cat(pair, -1), rest], -1)
    return y.flatten(2) if packed else y.transpose(1, 2)


@op("LinearAttention")
def linear_attention(n, q, k, v, past=None, decay=None, beta=None):
    heads, kv, rule = n("q_num_heads"), n("kv_num_heads"), n("update_rule", "gated_delta")
    q, k, v = heads_of(q, heads), heads_of(k, kv), heads_of(v, kv)
    scale = n("scale", 0.0) or q.shape[-1] ** -0.5
    s = torch.zeros(k.shape[0], kv, k.shape[-1], v.shape[-1], dtype=q.dtype) if past is None else past
    rows = []
    for t in range(q.shape[2]):
        key, value = k[:, :, t].unsqueeze(-1), v[:, :, t].unsqueeze(-2)
        if rule in ("gated", "gated_delta") and decay is not None:
            s = s * decay[:, t].unflatten(-1, (kv, -1)).unsqueeze(-1).exp()
        if rule in ("delta", "gated_delta") and beta is not None:
            value = (value - key.transpose(-1, -2) @ s) * beta[:, t].reshape(beta.shape[0], -1, 1, 1)
        s = s + key * value
        rows.append((q[:, :, t].unsqueeze(-2) @ s.repeat_interleave(heads // kv, 1)).squeeze(-2).flatten(1))
    return (scale * torch.stack(rows, 1), s)[:n.outputs]


@op("CausalConvWithState")
def causal_conv(n, x, w, b=None, past=None):
    taps = w.shape[2]
    whole = F.pad(x, (taps - 1, 0)) if past is None else torch.cat([past, x], 2)
    y = F.conv1d(whole, w, b, groups=x.shape[1])
    return (y if n("activation", "none") == "none" else F.silu(y), whole[:, :, whole.shape[2] - taps + 1:])[:n.outputs]


# ---- losses, optimizers -------------------------------------------------------------------------------------------------------


@op("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def loss(n, x, target, weight=None):
    entropy, target, ignored, reduction = n.op == "SoftmaxCrossEntropyLoss", target.long(), n("ignore_index", -100), n("reduction", "mean")
    log = torch.log_softmax(x, 1) if entropy else x
    if weight is None:
        y = (F.cross_entropy if entropy else F.nll_loss)(x, target, None, ignore_index=ignored, reduction=reduction)
    else:  # torch does not differentiate with respect to weights
        keep = target != ignored
        own = torch.where(keep, weight[torch.where(keep, target, 0)], torch.zeros((), dtype=x.dtype))
        y = -own * log.gather(1, torch.where(keep, target, 0).unsqueeze(1)).squeeze(1)
        y = y if reduction == "none" else y.sum() / (own.sum() if reduction == "mean" else 1)
    return (y, log)[:n.outputs]


TRAINING = "ai.onnx.preview.training"


@op("Adam", domain=TRAINING)
def adam(n, rate, t, *values):
    k, beta1, beta2, results = len(values) // 4, n("alpha", 0.9), n("beta", 0.999), []
    for x, g, v, h in zip(*(values[i * k:(i + 1) * k] for i in range(4))):
        g = g + n("norm_coefficient", 0.0) * x
        v, h = beta1 * v + (1 - beta1) * g, beta2 * h + (1 - beta2) * g * g
        r = rate * (1 - beta2 ** t).sqrt() / (1 - beta1 ** t) if t > 0 else rate
        results.append(((1 - n("norm_coefficient_post", 0.0)) * (x - r * v / (h.sqrt() + n("epsilon", 1e-6))), v, h))
    return tuple(v for of in zip(*results) for v in of)


@op("Adagrad", domain=TRAINING)
def adagrad(n, rate, t, *values):
    k, results = len(values) // 3, []
    for x, g, h in zip(*(values[i * k:(i + 1) * k] for i in range(3))):
        g = g + n("norm_coefficient", 0.0) * x
        h = h + g * g
        results.append((x - rate / (1 + t * n("decay_factor", 0.0)) * g / (h.sqrt() + n("epsilon", 1e-6)), h))
    return tuple(v for of in zip(*results) for v in of)


@op("Momentum", domain=TRAINING)
def momentum(n, rate, t, *values):
    k, results = len(values) // 3, []
    for x, g, v in zip(*(values[i * k:(i + 1) * k] for i in range(3))):
        g = g + n("norm_coefficient") * x
        v = n("alpha") * v + (n("beta") if t > 0 else 1) * g
        results.append((x - rate * (g + n("alpha") * v if n("mode") == "nesterov" else v), v))
    return tuple(v for of in zip(*results) for v in of)
