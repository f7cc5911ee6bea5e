"""Recurrent networks: two layers of 128 over 64 steps, as PyTorch exports them."""
import numpy as np

from common import Net, model

STEPS, WIDTH, LAYERS = 64, 128, 2


def recurrent(kind, gates, bidirectional=False):
    net = Net(f"{kind.lower()}{'_bidirectional' if bidirectional else ''}", opset=17)
    dirs = 2 if bidirectional else 1
    x = net.input("input", [1, STEPS, WIDTH])
    x = net.op("Transpose", x, name="/Transpose", perm=[1, 0, 2])
    width, lasts = WIDTH, []
    for layer in range(LAYERS):
        w = net.normal(f"{kind}_w", (dirs, gates * WIDTH, width), 1.5 / np.sqrt(width))
        r = net.normal(f"{kind}_r", (dirs, gates * WIDTH, WIDTH), 1.5 / np.sqrt(WIDTH))
        b = net.normal(f"{kind}_b", (dirs, 2 * gates * WIDTH), 0.2)
        zero = net.op("Expand", net.constant(np.zeros((dirs, 1, WIDTH)), np.float32),
                      net.constant([dirs, 1, WIDTH]), name=f"/rnn/Expand{layer}")
        inputs = [x, w, r, b, "", zero] + ([zero] if kind == "LSTM" else [])
        extra = {"linear_before_reset": 1} if kind == "GRU" else {}
        y, *last = net.op(kind, *inputs, n=3 if kind == "LSTM" else 2, name=f"/rnn/{kind}{layer}", hidden_size=WIDTH,
                          direction="bidirectional" if bidirectional else "forward", **extra)
        lasts.append(last)
        if bidirectional:
            y = net.op("Transpose", y, name=f"/rnn/Transpose{layer}", perm=[0, 2, 1, 3])
            x = net.op("Reshape", y, net.constant([0, 0, -1]), name=f"/rnn/Reshape{layer}")
        else:
            x = net.op("Squeeze", y, net.constant([1]), name=f"/rnn/Squeeze{layer}")
        width = WIDTH * dirs
    net.output(net.op("Transpose", x, name="/Transpose_1", perm=[1, 0, 2]), [1, STEPS, width], name="output")
    for i, part in enumerate(zip(*lasts)):
        net.output(net.op("Concat", *part, name=f"/Concat{i}", axis=0), [dirs * LAYERS, 1, WIDTH], name=f"{'hc'[i]}n")
    return net.model(), [[net.rng.standard_normal((1, STEPS, WIDTH), np.float32)] for _ in range(2)]


model("lstm", sets="test bench")(lambda: recurrent("LSTM", 4))
model("gru", sets="test bench")(lambda: recurrent("GRU", 3))
model("rnn")(lambda: recurrent("RNN", 1))
model("lstm_bidirectional")(lambda: recurrent("LSTM", 4, bidirectional=True))
