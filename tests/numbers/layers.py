"""Cases as in operators.py: images, recurrent layers, attention, losses, signals and ai.onnx.ml. Operators without a formula here are
compared with ONNX's reference evaluator, if that computes in double for double inputs."""

import numpy as np

from operators import F16, F32, F64, LONG, PI, case, channels, given, log_softmax, normal, rng, softmax, uneven, uniform

ML = "ai.onnx.ml"


# ---- images ---------------------------------------------------------------------------------------------------------------


def windows(x, size):
    """The windows of images: (..., h, w) to (..., h', w', size, size)."""
    return np.lib.stride_tricks.sliding_window_view(x, size, axis=(-2, -1))


def conv(x, w, b):
    def sums(x, w, b):
        return np.einsum("nchwij,ocij->nohw", windows(x, w.shape[2:]), w) + channels(b, x)

    return sums(x, w, b), sums(np.abs(x), np.abs(w), np.abs(b))


def conv_transpose(x, w):
    """Strides of 1: a convolution of the padded input with the reversed kernel."""
    wide = np.pad(x, ((0, 0), (0, 0), (w.shape[2] - 1,) * 2, (w.shape[3] - 1,) * 2))
    return conv(wide, w.swapaxes(0, 1)[:, :, ::-1, ::-1], np.zeros(w.shape[1], LONG))


def separable(x, w):
    """A depthwise convolution."""
    y = np.einsum("nchwij,cij->nchw", windows(x, w.shape[2:]), w[:, 0])
    return y, np.einsum("nchwij,cij->nchw", windows(np.abs(x), w.shape[2:]), np.abs(w[:, 0]))


def average(x, size):
    return np.mean(windows(x, size), (-2, -1)), np.mean(np.abs(windows(x, size)), (-2, -1))


def grid_sample(x, grid):
    """Bilinear, with aligned corners, zero outside."""
    h, w = x.shape[2:]
    u, v = (grid[..., 0] + 1) / 2 * (w - 1), (grid[..., 1] + 1) / 2 * (h - 1)
    i, j = np.floor(v).astype(int), np.floor(u).astype(int)
    y = size = 0
    for di in 0, 1:
        for dj in 0, 1:
            part = np.stack([x[n][:, np.clip(i[n] + di, 0, h - 1), np.clip(j[n] + dj, 0, w - 1)] for n in range(len(x))])
            weight = ((1 - np.abs(v - i - di)) * (1 - np.abs(u - j - dj)))[:, None]
            y, size = y + part * weight, size + np.abs(part)  # the error of the weights caused by rounded coordinates
    return y, size * (h + w)


def add_images():
    for c, k, o in (3, 3, 8), (1, 1, 1), (64, 3, 32), (512, 1, 16), (300, 5, 4):
        w = uneven(o, c, k, k)
        case("Conv", [uneven(1, c, 9, 10), w, normal(o)], conv, c * k * k + 1, consts=(1, 2))
        case("ConvTranspose", [uneven(1, c, 6, 5), w.swapaxes(0, 1).reshape(c, o, k, k)], conv_transpose, c * k * k, consts=(1,))
    case("Conv", [uneven(1, 40, 9, 10), uneven(40, 1, 3, 3)], separable, 9, consts=(1,), group=40)
    case("Conv", [uneven(1, 3, 40, 40), uneven(8, 3, 3, 3), normal(8)], None, 28, consts=(1, 2), strides=[2, 2], pads=[1, 1, 1, 1])
    case("DeformConv", [normal(1, 4, 6, 6), normal(3, 4, 3, 3), normal(1, 18, 4, 4) / 4], deform_conv, 48)
    case("Col2Im", [uneven(1, 9, 25), np.array([7, 7]), np.array([3, 3])], None, 9, consts=(1, 2), stored=8)
    for k in 2, 7:
        case("AveragePool", [uneven(1, 20, 9, 10)], lambda x, k=k: average(x, (k, k)), k * k, kernel_shape=[k, k])
        case("MaxPool", [uneven(1, 20, 9, 10)], lambda x, k=k: np.max(windows(x, (k, k)), (-2, -1)), 0, kernel_shape=[k, k])
        case("LpPool", [normal(1, 3, 9, 10)], lambda x, k=k: (np.sqrt(np.sum(windows(x, (k, k)) ** 2, (-2, -1))),) * 2, k * k + 1,
             kernel_shape=[k, k])
    case("LpPool", [normal(1, 3, 9, 10)], lambda x: (np.cbrt(np.sum(np.abs(windows(x, (3, 3))) ** 3, (-2, -1))),) * 2, 30, kernel_shape=[3, 3], p=3)
    x = normal(1, 2, 200, 300, mean=1)
    case("GlobalAveragePool", [x], lambda x: tuple(np.mean(v, (2, 3), keepdims=True) for v in (x, np.abs(x))), 60000)
    case("GlobalLpPool", [x], lambda x: (np.sqrt(np.sum(x * x, (2, 3), keepdims=True)),) * 2, 30000)
    case("GlobalLpPool", [x / 100], lambda x: (np.cbrt(np.sum(np.abs(x) ** 3, (2, 3), keepdims=True)),) * 2, 20000, p=3)
    case("GlobalMaxPool", [x], lambda x: np.max(x, (2, 3), keepdims=True))
    corners = np.sort(uniform(0, 9, 5, 4), 1)
    case("RoiAlign", [normal(2, 5, 8, 9), corners, np.array([0, 1, 1, 0, 1])], None, 60, output_height=3, output_width=2, sampling_ratio=2,
         types=[F32, F64])
    case("LRN", [normal(1, 20, 5, 5)], lrn, 24, size=5, alpha=0.3, beta=0.75, bias=1.5)
    for mode, more in ("linear", {}), ("cubic", {}), ("linear", {"antialias": 1}), ("cubic", {"antialias": 1}):
        for size in 11, 7, 40:
            case("Resize", [normal(1, 3, 9, 13), None, None, np.array([1, 3, size, size])], None, 100, consts=(3,), mode=mode, **more,
                 types=[F32, F16], version=19)
    case("GridSample", [normal(2, 3, 7, 4), uniform(-1, 1, 2, 5, 6, 2)], grid_sample, 12, types=[F32, F64], align_corners=1)
    case("AffineGrid", [normal(2, 2, 3), np.array([2, 3, 5, 4])], affine_grid, 8, consts=(1,), version=20, types=[F32, F64], align_corners=1)


def deform_conv(x, w, offset):
    """3 x 3 kernels, each tap with an offset, downwards and to the right."""
    sums = sizes = 0
    down, right = np.mgrid[0:4, 0:4]
    for tap in range(9):
        v, u = (tap // 3 + down + offset[0, 2 * tap]), (tap % 3 + right + offset[0, 2 * tap + 1])
        i, j = np.floor(v).astype(int), np.floor(u).astype(int)
        for di in 0, 1:
            for dj in 0, 1:
                inside = (i + di >= 0) & (i + di < 6) & (j + dj >= 0) & (j + dj < 6)
                part = x[0][:, np.clip(i + di, 0, 5), np.clip(j + dj, 0, 5)] * inside
                terms = np.einsum("chw,oc->ohw", part * (1 - np.abs(v - i - di)) * (1 - np.abs(u - j - dj)), w[..., tap // 3, tap % 3])
                sums, sizes = sums + terms, sizes + np.einsum("chw,oc->ohw", np.abs(part), np.abs(w[..., tap // 3, tap % 3])) * 6
    return sums[None], sizes[None]


def lrn(x):
    wide = np.pad(x * x, ((0, 0), (2, 2), (0, 0), (0, 0)))
    square = sum(wide[:, k:k + x.shape[1]] for k in range(5))
    y = x / (given(1.5) + given(0.3) / 5 * square) ** given(0.75)
    return y, np.abs(y)


def affine_grid(theta, _):
    row, column = np.linspace(LONG(-1), 1, 5), np.linspace(LONG(-1), 1, 4)
    at = np.stack([*np.broadcast_arrays(column[None, :], row[:, None]), np.ones((5, 4), LONG)], -1)
    return np.einsum("nij,hwj->nhwi", theta, at), np.einsum("nij,hwj->nhwi", np.abs(theta), np.abs(at))


# ---- recurrent layers, attention, losses ----------------------------------------------------------------------------------------


def attention(q, k, v):
    score = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(LONG(q.shape[-1]))
    size = np.einsum("bhqd,bhkd->bhqk", np.abs(q), np.abs(k)) / np.sqrt(LONG(q.shape[-1]))
    p, error = softmax(score)
    error = error * (1 + np.max(size, -1, keepdims=True))
    return p @ v, (p + error) @ np.abs(v)


def linear_attention(q, k, v):
    """The rule "linear": one head, a state that grows by k v."""
    def steps(q, k, v):
        return np.einsum("btd,btdv->btv", q, np.cumsum(np.einsum("btd,btv->btdv", k, v), 1)) / np.sqrt(LONG(q.shape[-1]))

    return steps(q, k, v), steps(np.abs(q), np.abs(k), np.abs(v))


def rotary(x, cos, sin):
    a, b = np.split(x, 2, -1)
    c, s = cos[:, None], sin[:, None]
    size = np.abs(a * c) + np.abs(b * s), np.abs(a * s) + np.abs(b * c)
    return np.concatenate([a * c - b * s, a * s + b * c], -1), np.concatenate(size, -1)


def causal_conv(x, w, b):
    wide = np.pad(x, ((0, 0), (0, 0), (w.shape[2] - 1, 0)))
    view = np.lib.stride_tricks.sliding_window_view(wide, w.shape[2], axis=-1)
    return np.einsum("nclk,ck->ncl", view, w[:, 0]) + b[:, None], np.einsum("nclk,ck->ncl", np.abs(view), np.abs(w[:, 0])) + np.abs(b)[:, None]


def add_networks():
    for t, size, hidden in (1, 5, 7), (20, 40, 32):
        for op, gates in ("RNN", 1), ("GRU", 3), ("LSTM", 4):
            weights = [normal(1, gates * hidden, k) / k ** 0.5 for k in (size, hidden)]
            bias = normal(1, 2 * gates * hidden) / 4
            case(op, [normal(t, 2, size), *weights, bias], None, 8 * t * (size + hidden) ** 0.5, consts=(1, 2, 3),
                 hidden_size=hidden, version=22, stored=3)
    for n in 1, 10, 300:
        for scale in 1, 4:
            q, k, v = normal(1, 2, 9, 64) * scale, normal(1, 2, n, 64), normal(1, 2, n, 40)
            case("Attention", [q, k, v], attention, 64 + n + 8, version=24)
    case("LinearAttention", [normal(2, 50, 16), normal(2, 50, 16), normal(2, 50, 20)], linear_attention, 70, version=27, q_num_heads=1,
         kv_num_heads=1, update_rule="linear")
    angle = uniform(0, 6, 2, 5, 8)
    case("RotaryEmbedding", [normal(2, 3, 5, 16), np.cos(angle), np.sin(angle)], rotary, 3)
    case("CausalConvWithState", [normal(2, 3, 30), normal(3, 1, 4), normal(3)], causal_conv, 5, version=27, activation="none")
    at = rng.integers(0, 50, (40, 3))
    x = normal(40, 50, 3, scale=4)
    case("NegativeLogLikelihoodLoss", [x, at, uniform(0.1, 1, 50)], likelihood, 121, reduction="sum", stored=1)
    for how in "none", "mean":
        case("SoftmaxCrossEntropyLoss", [x, at], lambda x, at, how=how: cross_entropy(x, at, how), 174, reduction=how, version=13, stored=2)


def likelihood(x, at, w):
    terms = np.take_along_axis(x, at[:, None], 1)[:, 0] * w[at]
    return -np.sum(terms), np.sum(np.abs(terms))


def cross_entropy(x, at, how):
    y, size = (v.swapaxes(1, 2) for v in log_softmax(x.swapaxes(1, 2)))
    y, size = -np.take_along_axis(y, at[:, None], 1)[:, 0], np.take_along_axis(size, at[:, None], 1)[:, 0]
    return (y, size) if how == "none" else (np.mean(y), np.mean(size))


# ---- signals, matrices ---------------------------------------------------------------------------------------------------------


def transform(x, inverse=False):
    """DFT over axis 1: every result is a sum of all elements, rotated."""
    z = x[..., 0] + (1j * x[..., 1] if x.shape[-1] > 1 else 0)
    y = np.fft.ifft(z, axis=1) if inverse else np.fft.fft(z, axis=1)
    size = np.sum(np.abs(z), 1, keepdims=True) / (x.shape[1] if inverse else 1)
    return np.stack([y.real, y.imag], -1), np.broadcast_to(size[..., None], y.shape + (2,))


def stft(x, step, window, _):
    n = len(window)
    frames = np.stack([x[:, s:s + n, 0] * window for s in range(0, x.shape[1] - n + 1, int(step))], 1)
    y = np.fft.fft(frames, axis=-1)[..., :n // 2 + 1]
    size = np.sum(np.abs(frames), -1)[..., None, None]
    return np.stack([y.real, y.imag], -1), np.broadcast_to(size, y.shape + (2,))


def cosines(n, *factors):
    """The window sum factors[k] cos(2 pi k i / n)."""
    i = np.arange(n).astype(LONG)
    return sum(f * np.cos(2 * PI * k * i / n) for k, f in enumerate(factors)), np.full(n, LONG(1))


def det(x):
    """By elimination, and the same with the absolute values added: Hadamard's bound."""
    a, y = x.copy(), np.ones(len(x), LONG)
    n = x.shape[1]
    for m, v in enumerate(a):
        for k in range(n):
            p = k + int(np.argmax(np.abs(v[k:, k])))
            if p != k:
                v[[k, p]] = v[[p, k]]
                y[m] = -y[m]
            y[m] *= v[k, k]
            v[k + 1:] -= np.outer(v[k + 1:, k] / v[k, k], v[k])
    return y, np.prod(np.sqrt(np.sum(x * x, 2)), 1)


def add_signals():
    for n in 1, 8, 97, 1000, 4096:
        for parts in 1, 2:
            case("DFT", [normal(2, n, parts)], transform, 4 * np.log2(n) + 8 if n != 97 else 97, version=20, types=[F32, F64])
        case("DFT", [normal(2, n, 2)], lambda x: transform(x, True), 4 * np.log2(n) + 8 if n != 97 else 97, version=20, inverse=1, types=[F32, F64])
    case("STFT", [normal(2, 400, 1), np.array(50), uniform(0, 1, 128), np.array(128)], stft, 40, consts=(1, 3), types=[F32, F64], version=17)
    half = LONG(1) / 2
    for t, kind in (F32, 1), (F64, 11):
        for op, factors in (("HannWindow", (half, -half)), ("HammingWindow", (LONG(25) / 46, -LONG(21) / 46)),
                            ("BlackmanWindow", (LONG("0.42"), -half, LONG("0.08")))):
            case(op, [np.array(1000)], lambda n, f=factors: cosines(int(n), *f), 4, consts=(0,), output_datatype=kind, version=17, types=[t])
    for n in 1, 2, 3, 8, 40:
        case("Det", [normal(5, n, n)], det, n * n, version=22)


# ---- ai.onnx.ml, quantisation ----------------------------------------------------------------------------------------------------


def floats(*shape):
    return [float(v) for v in np.float32(normal(*shape)).ravel()]


def add_scores():
    weights, offsets = floats(3, 200), floats(3)
    w, b = np.float32(weights).reshape(3, 200).astype(LONG), np.float32(offsets).astype(LONG)
    case("LinearRegressor", [normal(7, 200)], lambda x: (x @ w.T + b, np.abs(x) @ np.abs(w.T) + np.abs(b)), 201, coefficients=weights,
         intercepts=offsets, targets=3, version=1, domain=ML, types=[F32])
    vectors, factors = floats(20, 30), floats(20)
    v, by = np.float32(vectors).reshape(20, 30).astype(LONG), np.float32(factors).astype(LONG)
    common = {"n_supports": 20, "support_vectors": vectors, "coefficients": factors, "rho": [0.4], "version": 1, "domain": ML, "types": [F32]}

    def kernel(x, name):
        dot, size = x @ v.T, np.abs(x) @ np.abs(v.T)
        if name == "RBF":
            far = np.sum((x[:, None] - v) ** 2, -1) * given(0.02)
            return np.exp(-far), np.exp(-far) * (1 + far)
        if name == "SIGMOID":
            return np.tanh(given(0.02) * dot + given(0.2)), given(0.02) * size + 1
        if name == "POLY":
            return (given(0.02) * dot + given(0.2)) ** 3, (given(0.02) * size + given(0.2)) ** 3
        return dot, size

    for name in "LINEAR", "RBF", "SIGMOID", "POLY":
        def exact(x, name=name):
            y, size = kernel(x, name)
            return (y @ by + given(0.4))[:, None], (size @ np.abs(by) + given(0.4))[:, None]

        case("SVMRegressor", [normal(7, 30)], exact, 160, kernel_type=name, kernel_params=[0.02, 0.2, 3.0], **common)
    scale, offset = floats(50), floats(50)
    f, o = np.float32(scale).astype(LONG), np.float32(offset).astype(LONG)
    case("Scaler", [normal(7, 50)], lambda x: ((x - o) * f, (np.abs(x) + np.abs(o)) * np.abs(f)), 2, scale=scale, offset=offset,
         version=1, domain=ML, types=[F32])
    for norm in "L1", "L2", "MAX":
        case("Normalizer", [uniform(0.1, 4, 7, 50)], lambda x, norm=norm: normalizer(x, norm), 52, norm=norm, version=1, domain=ML, types=[F32])
    trees, leaves = 200, np.float32(normal(400))
    case("TreeEnsembleRegressor", [normal(7, 1)], lambda x: forest(x, leaves.astype(LONG)), trees, version=3, domain=ML, types=[F32],
         **stumps(trees, leaves))
    for kind in np.uint8, np.int8:
        case("DequantizeLinear", [np.arange(0, 256).astype(kind), np.array(0.0123), np.array(7, kind)],
             lambda x, s, z: ((x.astype(LONG) - z.astype(LONG)) * s, np.abs((x.astype(LONG) - z.astype(LONG)) * s)), 1)


def normalizer(x, norm):
    by = np.sum(np.abs(x), 1, keepdims=True) if norm == "L1" else np.max(x, 1, keepdims=True)
    y = x / (np.sqrt(np.sum(x * x, 1, keepdims=True)) if norm == "L2" else by)
    return y, np.abs(y)


def forest(x, leaves):
    terms = np.where(x > 0, leaves[1::2], leaves[::2])
    return np.sum(terms, 1, keepdims=True), np.sum(np.abs(terms), 1, keepdims=True)


def stumps(trees, leaves):
    """The attributes of trees of one node, which tests x[0] <= 0."""
    ids = list(range(trees))
    return {
        "nodes_treeids": [t for t in ids for _ in range(3)], "nodes_nodeids": [0, 1, 2] * trees, "nodes_featureids": [0] * 3 * trees,
        "nodes_values": [0.0] * 3 * trees, "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * trees, "nodes_truenodeids": [1, 0, 0] * trees,
        "nodes_falsenodeids": [2, 0, 0] * trees, "target_treeids": [t for t in ids for _ in range(2)], "target_nodeids": [1, 2] * trees,
        "target_ids": [0] * 2 * trees, "target_weights": [float(v) for v in leaves], "n_targets": 1,
    }


FAMILIES = add_images, add_networks, add_signals, add_scores
