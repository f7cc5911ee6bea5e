"""samples/train's network: its training in C, compared with numpy's in double. One numpy starts each step from the state in C, which shows
the rounding of one step; a second numpy starts once, and continues by itself."""
import os
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "samples" / "train"), str(ROOT / "tests" / "models")]
from images import rows  # noqa: E402
from learner import build, run_cases  # noqa: E402
from model import SHAPES, digits  # noqa: E402
from wheel import wheel_file  # noqa: E402

BATCH, RATE, ALPHA, BETA, EPSILON = 16, 0.003, 0.9, 0.999, 1e-8


def windows(x):
    """The 3 x 3 elements around each: (batch, channels, 8, 8) -> (batch, 8, 8, channels * 9)."""
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.stack([p[:, :, i:i + 8, j:j + 8] for i in range(3) for j in range(3)], 2).reshape(len(x), -1, 8, 8).transpose(0, 2, 3, 1)


def conv(x, w, b):
    return (windows(x) @ w.reshape(len(w), -1).T + b).transpose(0, 3, 1, 2)


def conv_back(x, w, d):
    """The gradients of a convolution with respect to x, w and b."""
    flat, rows_ = d.transpose(0, 2, 3, 1).reshape(-1, len(w)), windows(x).reshape(-1, w[0].size)
    turned = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return conv(d, turned, 0), (flat.T @ rows_).reshape(w.shape), flat.sum(0)


def scores(p, x):
    c1 = conv(x, p["w1"], p["b1"])
    h1 = np.maximum(c1, 0)
    c2 = conv(h1, p["w2"], p["b2"])
    blocks = np.maximum(c2, 0).reshape(len(x), 24, 4, 2, 4, 2)
    pool = blocks.max((3, 5))
    return pool.reshape(len(x), -1) @ p["w3"] + p["b3"], (c1, h1, c2, blocks, pool)


def gradients(p, x, t):
    """(loss, gradients, how near a rectifier or a pool is to a tie, which rounding would decide)"""
    y, (c1, h1, c2, blocks, pool) = scores(p, x)
    e = np.exp(y - y.max(1, keepdims=True))
    q = e / e.sum(1, keepdims=True)
    loss = -np.log(q[np.arange(len(t)), t]).mean()
    dy = (q - np.eye(10)[t]) / len(t)
    d = {"w3": pool.reshape(len(x), -1).T @ dy, "b3": dy.sum(0)}
    dp = (dy @ p["w3"].T).reshape(pool.shape)
    four = blocks.transpose(0, 1, 2, 4, 3, 5).reshape(*pool.shape, 4)
    first = (np.arange(4) == four.argmax(-1)[..., None]) * dp[..., None]
    dh2 = first.reshape(*pool.shape, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(c2.shape)
    dh1, d["w2"], d["b2"] = conv_back(h1, p["w2"], dh2 * (c2 > 0))
    _, d["w1"], d["b1"] = conv_back(x, p["w1"], dh1 * (c1 > 0))
    best = np.sort(four, -1)
    apart = np.concatenate([v.ravel() for v in (abs(c1), abs(c2), (best[..., 3] - best[..., 2])[best[..., 3] > 0])])
    return loss, d, apart[apart > 1e-12].min()     # exact ties, which equal windows have, do not matter


class State:
    def __init__(self, m):
        self.p, self.v, self.s = ({n: getattr(m, n + k).astype(float).reshape(s) for n, s in SHAPES.items()} for k in ("", "_mean", "_square"))
        self.steps = int(m.steps[0])

    def step(self, x, t):
        """A step of Adam by the standard's text; returns the loss, and how near a tie was."""
        loss, d, near = gradients(self.p, x, t)
        rate = RATE * np.sqrt(1 - BETA ** self.steps) / (1 - ALPHA ** self.steps) if self.steps else RATE
        for n in self.p:
            self.v[n] = ALPHA * self.v[n] + (1 - ALPHA) * d[n]
            self.s[n] = BETA * self.s[n] + (1 - BETA) * d[n] ** 2
            self.p[n] = self.p[n] - rate * self.v[n] / (np.sqrt(self.s[n]) + EPSILON)
        self.steps += 1
        return loss, near


def follow(m, images, labels):
    m.reset(1).init()
    for n, s in SHAPES.items():
        scale = np.sqrt(2 / (s[0] if len(s) == 2 else np.prod(s[1:]))) if len(s) > 1 else 0
        w = getattr(m, n)
        assert abs(w.std() - scale) <= 0.2 * scale and abs(w.mean()) <= 0.2 * scale, f"{n} begins with the deviation {w.std()} instead of {scale}"
    free, ties, apart = State(m), 0, 0.0
    order = np.random.default_rng(2)
    for k in range(STEPS):
        at = order.permutation(len(images))[:BATCH]
        x, t = images[at], labels[at]
        same = State(m)
        loss = m.step(image=x.astype(np.float32), target=t, rate=RATE)["loss"]
        want, near = same.step(x, t)
        assert abs(loss - want) < 1e-5 * (1 + want), f"step {k}: loss {loss} instead of {want}"
        ties += near < 1e-6
        for n in SHAPES:
            got, wanted = getattr(m, n).reshape(SHAPES[n]), same.p[n]
            mean = getattr(m, n + "_mean").reshape(SHAPES[n])
            if near >= 1e-6:
                assert np.allclose(mean, same.v[n], rtol=1e-4, atol=2e-7), f"step {k}: {n}_mean is apart by {abs(mean - same.v[n]).max()}"
            sure = np.sqrt(same.s[n]) > 1e-5    # Adam makes a whole step even if a gradient is only rounding error
            assert near < 1e-6 or np.allclose(got[sure], wanted[sure], rtol=1e-4, atol=2e-6), f"step {k}: {n} is apart by {abs(got - wanted)[sure].max()}"
        if k < 100:
            alone, _ = free.step(x, t)
            apart = max(apart, abs(loss - alone) / (1 + alone))
    assert ties < STEPS / 4, f"{ties} steps are near a tie"
    assert apart < 2e-3, f"the losses of 100 steps alone are apart by {apart}"


def learns(m, images, labels):
    held = np.arange(len(images)) % 5 == 4
    x, t, rng = images[~held], labels[~held], np.random.default_rng(3)
    for _ in range(4):
        order = rng.permutation(len(x))
        for i in range(0, len(x) - BATCH + 1, BATCH):
            at = order[i:i + BATCH]
            m.step(image=x[at].astype(np.float32), target=t[at], rate=0.002)
    x, t = images[held], labels[held]
    padded = np.concatenate([x, x[:-len(x) % BATCH]]).astype(np.float32)
    y = np.concatenate([m.run(image=padded[i:i + BATCH])["score"] for i in range(0, len(padded), BATCH)])[:len(x)]
    right = (y.argmax(1) == t).mean()
    assert right > 0.97, f"only {right:.1%} of the held-out digits are read right"
    p = State(m).p
    assert np.allclose(y, scores(p, x)[0], rtol=1e-4, atol=1e-4)


STEPS = 150


def main():
    data = np.array(rows(wheel_file(os.environ["ONNXCC_CACHE"], "scikit-learn", "sklearn/datasets/data/digits.csv.gz")))
    images, labels = data[:, :64].reshape(-1, 1, 8, 8) / 16, data[:, 64]
    with tempfile.TemporaryDirectory() as folder:
        m, _ = build(digits(BATCH), folder)
        assert "malloc" not in pathlib.Path(folder, "m.c").read_text()
        return run_cases("training digits", (follow, m, images, labels), (learns, m, images, labels))


if __name__ == "__main__":
    sys.exit(main())
