"""Writes a decoder of 135 million parameters with random weights, as torch exports it: decoder.py FILE.onnx [LAYERS].

Inputs are the next token and, for each layer, the keys and values of the tokens before (past.I.key, past.I.value); outputs are the
logits of the token after it, and the longer keys and values (present.I.key, present.I.value)."""
import contextlib
import io
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional

WORDS, WIDTH, HEADS, KEYS, HIDDEN, LAYERS = 49152, 576, 9, 3, 1536, 30     # KEYS: heads of keys and values
DEPTH = WIDTH // HEADS


def turned(x, cos, sin):
    """Rotary embedding: rotates pairs of elements, half a head apart, by the position's angles."""
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm_mlp = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
        self.query, self.merge = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(WIDTH, KEYS * DEPTH, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, cos, sin, mask, past_key, past_value):
        heads = lambda y: y.unflatten(-1, (-1, DEPTH)).transpose(1, 2)
        h = self.norm(x)
        key = torch.cat((past_key, turned(heads(self.key(h)), cos, sin)), dim=2)
        value = torch.cat((past_value, heads(self.value(h))), dim=2)
        every = lambda y: y.repeat_interleave(HEADS // KEYS, dim=1)
        y = functional.scaled_dot_product_attention(turned(heads(self.query(h)), cos, sin), every(key), every(value), attn_mask=mask)
        x = x + self.merge(y.transpose(1, 2).flatten(2))
        h = self.norm_mlp(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h)), key, value


class Decoder(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.register_buffer("speeds", 10000.0 ** (-torch.arange(0, DEPTH, 2) / DEPTH), persistent=False)

    def forward(self, input_ids, *past):
        before, now = past[0].shape[2], input_ids.shape[1]
        place = torch.arange(before, before + now)
        angles = (place[:, None] * self.speeds).repeat(1, 2)
        cos, sin = angles.cos(), angles.sin()
        mask = torch.arange(before + now)[None] <= place[:, None]
        x, present = self.words(input_ids), []
        for i, layer in enumerate(self.layers):
            x, *pair = layer(x, cos, sin, mask, *past[2 * i:2 * i + 2])
            present += pair
        return functional.linear(self.norm(x[:, -1]), self.words.weight), *present


def main(file, layers=LAYERS):
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    model = Decoder(int(layers)).eval()
    pairs = [f"{i}.{k}" for i in range(int(layers)) for k in ("key", "value")]
    past = [torch.zeros(1, KEYS, 5, DEPTH) for _ in pairs]
    sizes = {1: torch.export.Dim("now", max=2048)}, tuple({2: torch.export.Dim("past", max=2048)} for _ in past)
    with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        torch.onnx.export(model, (torch.zeros(1, 3, dtype=torch.int64), *past), file, dynamo=True, dynamic_shapes=sizes, external_data=False,
                          input_names=["input_ids", *(f"past.{p}" for p in pairs)], output_names=["logits", *(f"present.{p}" for p in pairs)])
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters in {len(pairs) // 2} layers")


if __name__ == "__main__":
    main(*sys.argv[1:])
