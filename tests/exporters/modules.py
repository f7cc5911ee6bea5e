"""Layers and functions of PyTorch, small networks of them, and the front ends of audio models."""
import torch
import torch.nn.functional as F
from torch import nn

from bytorch import DYNAMO, SCRIPT, floats, numbers, ways

IMAGE, SOUND, ROWS, STEPS = {0: "n", 2: "h", 3: "w"}, {0: "n", 2: "t"}, {0: "n"}, {0: "n", 1: "t"}


class Of(nn.Module):
    """A function as a module."""
    variadic = True

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


def image(other, channels=4):
    return (floats(3, channels, 14, 10) if other else floats(2, channels, 12, 16),)


def sound(other, channels=4):
    return (floats(3, channels, 21) if other else floats(2, channels, 30),)


def steps(other, width=8):
    return (floats(3, 5, width) if other else floats(2, 7, width),)


def rows(other, width=8):
    return (floats(5, width) if other else floats(2, width),)


class Recurrent(nn.Module):
    def __init__(self, cls, **options):
        super().__init__()
        self.layer = cls(8, 6, batch_first=True, **options)

    def forward(self, x):
        y, last = self.layer(x)
        return y, *(last if isinstance(last, tuple) else (last,))


class Attention(nn.Module):
    def __init__(self, causal=False):
        super().__init__()
        self.layer, self.causal = nn.MultiheadAttention(8, 2, batch_first=True), causal

    def forward(self, x):
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1) if self.causal else None
        return self.layer(x, x, x, attn_mask=mask, need_weights=not self.causal)[0]


class StateSpace(nn.Module):
    """A selective state-space layer, as in Mamba, with its recurrence as cumulative products over the steps."""

    def __init__(self, width=8, states=4):
        super().__init__()
        self.project, self.conv = nn.Linear(width, 2 * width), nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.parameters_of, self.step = nn.Linear(width, 2 * states), nn.Linear(width, width)
        self.log_a, self.skip = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(width, 1)), nn.Parameter(torch.ones(width))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        y, gate = self.project(x).chunk(2, -1)
        y = F.silu(self.conv(y.transpose(1, 2))[..., :x.shape[1]]).transpose(1, 2)
        b, c = self.parameters_of(y).chunk(2, -1)
        step = F.softplus(self.step(y))
        decay = step[..., None] * -self.log_a.exp()
        total = decay.cumsum(1)
        weighted = (step * y)[..., None] * b[:, :, None] * torch.exp(-total)
        state = weighted.cumsum(1) * torch.exp(total)
        y = (state * c[:, :, None]).sum(-1) + self.skip * y
        return self.out(y * F.silu(gate))


class Spectrum(nn.Module):
    """A front end of audio models: windowed power spectra, bands, logarithm."""

    def __init__(self, complex_):
        super().__init__()
        self.complex = complex_
        self.register_buffer("window", torch.hann_window(32))
        self.bands = nn.Linear(17, 6, bias=False)

    def forward(self, x):
        y = torch.stft(x, 32, 8, 32, self.window, center=False, return_complex=self.complex)
        y = torch.view_as_real(y) if self.complex else y
        power = y[..., 0] ** 2 + y[..., 1] ** 2
        return self.bands(power.transpose(1, 2)).abs().clamp(min=1e-5).log10()


class Steps(nn.Module):
    """A loop over the steps, with a branch, which torch.jit.script keeps as a loop."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 6)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 6)
        for i in range(x.shape[1]):
            h = self.cell(x[:, i], h)
            if bool(h.sum() > 100):
                h = h * 0.5
        return h


LAYERS = {
    "conv2d": (lambda: nn.Conv2d(4, 6, 3, 2, 1), image, IMAGE),
    "conv_groups": (lambda: nn.Conv2d(4, 8, 3, groups=4, dilation=2), image, IMAGE),
    "conv_same": (lambda: nn.Conv2d(4, 6, (3, 5), padding="same"), image, IMAGE),
    "conv1d": (lambda: nn.Conv1d(4, 6, 5, 2, 2), sound, SOUND),
    "conv_reflect": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), image, IMAGE),
    "conv_circular": (lambda: nn.Conv1d(4, 6, 3, padding=1, padding_mode="circular"), sound, SOUND),
    "conv_transpose": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1), image, IMAGE),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(4, 6, 4, 2), sound, SOUND),
    "conv3d": (lambda: nn.Conv3d(2, 3, 3, padding=1), lambda o: (floats(1 + o, 2, 5, 6, 7),), {0: "n"}),
    "batch_norm": (lambda: nn.BatchNorm2d(4), image, IMAGE),
    "group_norm": (lambda: nn.GroupNorm(2, 4), image, IMAGE),
    "instance_norm": (lambda: nn.InstanceNorm2d(4, affine=True), image, IMAGE),
    "layer_norm": (lambda: nn.LayerNorm(8), steps, STEPS),
    "rms_norm": (lambda: nn.RMSNorm(8), steps, STEPS),
    "local_norm": (lambda: nn.LocalResponseNorm(3), image, IMAGE),
    "max_pool": (lambda: nn.MaxPool2d(3, 2, 1), image, IMAGE),
    "max_pool_ceil": (lambda: nn.MaxPool2d(3, 2, ceil_mode=True), image, IMAGE),
    "avg_pool": (lambda: nn.AvgPool2d(2, ceil_mode=True), image, IMAGE),
    "avg_pool_pad": (lambda: nn.AvgPool2d(3, 1, 1, count_include_pad=False), image, IMAGE),
    "lp_pool": (lambda: nn.LPPool2d(2, 2), image, IMAGE),
    "adaptive_1": (lambda: nn.AdaptiveAvgPool2d(1), image, IMAGE),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d((3, 4)), image, None),
    "adaptive_max": (lambda: nn.AdaptiveMaxPool2d(1), image, IMAGE),
    "linear": (lambda: nn.Linear(8, 5), steps, STEPS),
    "bilinear": (lambda: Of(nn.Bilinear(8, 8, 3)), lambda o: rows(o) * 2, [ROWS, ROWS]),
    "embedding": (lambda: nn.Embedding(20, 6, padding_idx=0), lambda o: (numbers(20, 3 - o, 5),), STEPS),
    "embedding_bag": (lambda: nn.EmbeddingBag(20, 6, mode="mean"), lambda o: (numbers(20, 3, 5),), None),
    "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2), steps, STEPS),
    "lstm_two_ways": (lambda: Recurrent(nn.LSTM, bidirectional=True), steps, STEPS),
    "lstm_proj": (lambda: Recurrent(nn.LSTM, proj_size=3), steps, STEPS),
    "gru": (lambda: Recurrent(nn.GRU, bidirectional=True, num_layers=2), steps, STEPS),
    "rnn": (lambda: Recurrent(nn.RNN, nonlinearity="relu"), steps, STEPS),
    "lstm_cell": (lambda: Of(nn.LSTMCell(8, 6)), rows, ROWS),
    "attention": (Attention, steps, STEPS),
    "attention_causal": (lambda: Attention(True), steps, STEPS),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu"), 2,
                                              enable_nested_tensor=False), steps, STEPS),
    "encoder_norm_first": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True), steps, STEPS),
    "decoder": (lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
                lambda o: (*steps(o), floats(2 + o, 4, 8)), [STEPS, {0: "n"}]),
    "glu": (lambda: nn.GLU(1), image, IMAGE),
    "prelu": (lambda: nn.PReLU(4), image, IMAGE),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), image, IMAGE),
    "pixel_unshuffle": (lambda: nn.PixelUnshuffle(2), image, IMAGE),
    "channel_shuffle": (lambda: nn.ChannelShuffle(2), image, None),
    "unfold": (lambda: nn.Unfold(3, padding=1), image, None),
    "fold": (lambda: nn.Fold((5, 6), 2), lambda o: (floats(2 + o, 12, 20),), ROWS),
    "cosine": (lambda: Of(nn.CosineSimilarity()), lambda o: (*rows(o), rows(o)[0].flip(0)), [ROWS, ROWS]),
    "state_space": (StateSpace, steps, STEPS),
    "spectrum": (lambda: Spectrum(False), lambda o: (floats(2, 160 + 48 * o),), {0: "n", 1: "t"}),
    "spectrum_complex": (lambda: Spectrum(True), lambda o: (floats(2, 160 + 48 * o),), {0: "n", 1: "t"}),
}
ACTIVATIONS = [nn.ReLU6, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Hardswish, nn.Hardsigmoid, nn.Softplus, nn.Softsign,
               nn.LogSigmoid,
               nn.Tanhshrink, nn.Hardshrink, nn.Softshrink, nn.Threshold, nn.RReLU, nn.Softmin, nn.LogSoftmax]
FUNCTIONS = {
    "interpolate_nearest": (lambda x: F.interpolate(x, scale_factor=2.0), image, IMAGE),
    "interpolate_bilinear": (lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=False), image, IMAGE),
    "interpolate_corners": (lambda x: F.interpolate(x, size=(9, 7), mode="bilinear", align_corners=True), image, IMAGE),
    "interpolate_bicubic": (lambda x: F.interpolate(x, size=(9, 7), mode="bicubic"), image, IMAGE),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False),
                    lambda o: (*image(o), floats(2 + o, 5, 6, 2).tanh()), [IMAGE, {0: "n"}]),
    "affine_grid": (lambda x, m: F.grid_sample(x, F.affine_grid(m, [2, 4, 6, 5], align_corners=True), padding_mode="border",
                                                 align_corners=True),
                    lambda o: (floats(2, 4, 12, 16), floats(2, 2, 3)), None),
    "pad": (lambda x: F.pad(x, (1, 2, -1, 3), value=0.5), image, IMAGE),
    "pad_replicate": (lambda x: F.pad(x, (2, 1, 1, 2), mode="replicate"), image, IMAGE),
    "einsum": (lambda x, y: torch.einsum("btd,bsd->bts", x, y), lambda o: steps(o) * 2, [STEPS, STEPS]),
    "sdpa": (lambda x: F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True), steps, STEPS),
    "sort": (lambda x: torch.sort(x, -1, descending=True), rows, ROWS),
    "topk": (lambda x: torch.topk(x, 3, -1), rows, ROWS),
    "argmax": (lambda x: (x.argmax(-1), x.argmin(0)), rows, ROWS),
    "cumsum": (lambda x: (x.cumsum(1), x.cumprod(1)), steps, STEPS),
    "gather": (lambda x, i: torch.gather(x, 1, i), lambda o: (*rows(o), numbers(8, 5 if o else 2, 3)), [ROWS, ROWS]),
    "scatter": (lambda x, i, v: x.scatter(1, i, v),
                lambda o: (*rows(o), numbers(8, 5 if o else 2, 1), floats(5 if o else 2, 1)), [ROWS] * 3),
    "index": (lambda x: x[:, [0, 2], 1:5:2, -3:], image, IMAGE),
    "index_put": (lambda x, v: x.index_put((torch.tensor([0, 1]),), v), lambda o: (*rows(o), floats(2, 8)), [ROWS, {}]),
    "mask": (lambda x: x.masked_fill(x > 0.5, -1.0), rows, ROWS),
    "where": (lambda x: torch.where(x > 0, x.exp(), x / 3), rows, ROWS),
    "nonzero": (lambda x: torch.nonzero(x > 0.2), rows, ROWS),
    "masked_select": (lambda x: x[x > 0], rows, ROWS),
    "unique": (lambda x: torch.unique(x), lambda o: (numbers(6, 9 + o),), {0: "n"}),
    "roll": (lambda x: torch.roll(x, (1, 2), (1, 2)), steps, STEPS),
    "tril": (lambda x: (torch.tril(x), torch.triu(x, 1)), steps, STEPS),
    "norm": (lambda x: (x.norm(dim=-1), F.normalize(x, dim=-1), torch.logsumexp(x, -1)), rows, ROWS),
    "var": (lambda x: (x.var(-1), x.std(-1, unbiased=False), x.amax(1), x.prod(-1)), rows, ROWS),
    "chunk": (lambda x: torch.cat(x.chunk(3, -1)[::-1], -1), rows, ROWS),
    "stack": (lambda x: torch.stack([x, -x], 1).flatten(1), rows, ROWS),
    "repeat": (lambda x: x.repeat(2, 1, 3), steps, STEPS),
    "interleave": (lambda x: x.repeat_interleave(2, 1), steps, STEPS),
    "expand": (lambda x: x[:, None].expand(-1, 3, -1), rows, ROWS),
    "meshgrid": (lambda x: torch.stack(torch.meshgrid(torch.arange(x.shape[0]), torch.arange(x.shape[1]), indexing="ij")), rows, ROWS),
    "one_hot": (lambda x: F.one_hot(x, 20), lambda o: (numbers(20, 4 + o),), {0: "n"}),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), rows, ROWS),
    "cdist": (lambda x, y: torch.cdist(x, y), lambda o: (*rows(o), floats(4, 8)), [ROWS, {}]),
    "baddbmm": (lambda x, y: torch.baddbmm(y, x, x.transpose(1, 2)),
                lambda o: (*steps(o), floats(2 + o, 7 - 2 * o, 7 - 2 * o)), [STEPS, {0: "n", 1: "t", 2: "t"}]),
    "integers": (lambda x: (x // 3, x % 3, x << 1, x & 5, ~x), lambda o: (numbers(50, 4 + o),), {0: "n"}),
    "round": (lambda x: (x.round(), x.floor(), x.trunc(), x.frac(), x.sign()), rows, ROWS),
    "trigonometric": (lambda x: (x.atan2(x + 1), x.sinh(), x.asinh(), x.erf(), x.expm1(), x.abs().log1p()), rows, ROWS),
    "clamp": (lambda x: x.clamp(-0.5, 0.5).rsqrt().nan_to_num(0.0), rows, ROWS),
    "complex": (lambda x: torch.view_as_real(torch.fft.fft(x)), rows, None),
    "rfft": (lambda x: torch.fft.rfft(x).abs(), rows, None),
    "hypot": (lambda x: torch.hypot(x, x + 1), rows, ROWS),
    "lerp": (lambda x: torch.lerp(x, x.flip(1), 0.3), rows, ROWS),
    "diff": (lambda x: torch.diff(x, dim=1), rows, ROWS),
    "linspace": (lambda x: x + torch.linspace(0, 1, x.shape[1]), rows, ROWS),
    "matmul": (lambda x: x @ x.mT, steps, STEPS),
    "addcmul": (lambda x: torch.addcmul(x, x, x, value=0.3), rows, ROWS),
}


def axes_for(axes):
    return axes if axes is None else (axes,) if isinstance(axes, dict) else tuple(axes)


def models():
    for name, (make, given, axes) in LAYERS.items():
        yield from ways(name, make, given, axes_for(axes))
    for cls in ACTIVATIONS:
        options = (0.1, 20.0) if cls is nn.Threshold else (-1,) if cls in (nn.Softmin, nn.LogSoftmax) else ()
        yield from ways(cls.__name__, lambda c=cls, o=options: c(*o), rows, (ROWS,), sizes=(True,))
    for name, (f, given, axes) in FUNCTIONS.items():
        # what a fixed size changes is seen by one of the exporters
        if axes is None:
            yield from ways(name, lambda f=f: Of(f), given, None)
        else:
            yield from ways(name, lambda f=f: Of(f), given, axes_for(axes), sizes=(True,))
            yield from ways(name, lambda f=f: Of(f), given, None, exporters=(DYNAMO,), sizes=(False,))
    yield from ways("loop", lambda: torch.jit.script(Steps()), steps, (STEPS,), exporters=(SCRIPT,))
