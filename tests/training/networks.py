"""Networks learn, in C, tasks with known answers: an LSTM learns a sequence in which the last symbol does not determine the next; a
transformer block learns a paragraph, which it then writes; a head is trained on a frozen body whose weights the program loads."""
import ctypes
import pathlib
import sys

import numpy as np
import onnx.parser
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "samples" / "train"))
from learner import build, in_folder, run_cases  # noqa: E402
from training import add_training  # noqa: E402
from written import follows, mlp  # noqa: E402

f = np.float32
HEAD = '<ir_version: 8, opset_import: ["": 17]> '


def model(text, shapes, seed=1, ones=()):
    m, rng = onnx.parser.parse_model(HEAD + text), np.random.default_rng(seed)
    for n, s in shapes.items():
        v = np.ones(s) if n in ones else rng.normal(size=s) / np.sqrt(s[-2] if len(s) > 1 else 1e30)
        m.graph.initializer.append(numpy_helper.from_array(v.astype(f), n))
    return m


@in_folder
def lstm(folder):
    """After "a" comes "b" or "c", depending on earlier symbols."""
    text = "abacadaebacbdafbcbdeacfabdcafebdce"
    x = np.eye(6, dtype=f)[[ord(c) - 97 for c in text[:-1]]][:, None]
    t = np.array([ord(c) - 97 for c in text[1:]])
    n, h = len(t), 24
    m = model(f"g (float[{n}, 1, 6] x) => (float[{n}, 6] y) <int64[2] shape = {{{n}, {h}}}> {{ "
              f"a = LSTM <hidden_size = {h}> (x, w, r, b)  c = Reshape(a, shape)  d = MatMul(c, v)  y = Add(d, e) }}",
              {"w": (1, 4 * h, 6), "r": (1, 4 * h, h), "b": (1, 8 * h), "v": (h, 6), "e": (6,)})
    m, _ = build(add_training(m, "softmax_cross_entropy", "adam"), folder)
    m.reset()
    losses = [float(m.step(x, t, 0.01)["loss"]) for _ in range(700)]
    said = m.run(x)["y"].argmax(1)
    assert losses[0] > 1 and losses[-1] < 0.02 and (said == t).all(), f"loss {losses[0]} to {losses[-1]}, {(said == t).sum()} of {n} right"


PARAGRAPH = "No heap, stdio, recursion or variable-length array. The only writable global is the static arena."


@in_folder
def transformer(folder):
    """After training it writes the paragraph, given its first letter; each token attends only to those before it."""
    letters = sorted(set(PARAGRAPH))
    n, c, v = len(PARAGRAPH) - 1, 32, len(letters)
    ids = np.array([letters.index(k) for k in PARAGRAPH])
    shapes = {"words": (v, c), "places": (n, c), "n1": (c,), "z1": (c,), "n2": (c,), "z2": (c,), "n3": (c,), "z3": (c,), "q": (c, c), "k": (c, c), "u": (c, c),
              "o": (c, c), "up": (c, 4 * c), "down": (4 * c, c), "out": (c, v)}
    m = model(f"""g (int64[{n}] x) => (float[{n}, {v}] y) <float[{n}, {n}] mask, int64[3] apart = {{{n}, 4, {c // 4}}}, int64[2] joined = {{{n}, {c}}},
        float scale = {{{(c // 4) ** -0.5}}}> {{
        e = Gather(words, x)  x0 = Add(e, places)  a0 = LayerNormalization(x0, n1, z1)
        qa = MatMul(a0, q)  ka = MatMul(a0, k)  ua = MatMul(a0, u)
        qb = Reshape(qa, apart)  kb = Reshape(ka, apart)  ub = Reshape(ua, apart)
        qc = Transpose <perm = [1, 0, 2]> (qb)  kc = Transpose <perm = [1, 2, 0]> (kb)  uc = Transpose <perm = [1, 0, 2]> (ub)
        s = MatMul(qc, kc)  ss = Mul(s, scale)  sm = Add(ss, mask)  p = Softmax(sm)  w = MatMul(p, uc)
        wt = Transpose <perm = [1, 0, 2]> (w)  wj = Reshape(wt, joined)  wo = MatMul(wj, o)  x1 = Add(x0, wo)
        b0 = LayerNormalization(x1, n2, z2)  b1 = MatMul(b0, up)  b2 = Relu(b1)  b3 = MatMul(b2, down)  x2 = Add(x1, b3)
        c0 = LayerNormalization(x2, n3, z3)  y = MatMul(c0, out) }}""", shapes, ones=("n1", "n2", "n3"))
    m.graph.initializer.append(numpy_helper.from_array(np.triu(np.full((n, n), -1e9, f), 1), "mask"))
    m, _ = build(add_training(m, "softmax_cross_entropy", "adam", train=list(shapes)), folder)
    m.reset()
    losses = [float(m.step(ids[:-1], ids[1:], 0.003)["loss"]) for _ in range(300)]
    assert losses[0] > 2 and losses[-1] < 0.02, f"loss {losses[0]} to {losses[-1]}"
    said = np.zeros(n + 1, np.int64)
    said[0] = ids[0]
    for i in range(n):
        said[i + 1] = m.run(said[:-1])["y"][i].argmax()
    assert (said == ids).all(), "".join(letters[i] for i in said)


@in_folder
def loaded_weights(folder):
    m, _ = build(add_training(mlp(), "mse", "adam", train=["*2"]), folder, "--weights=file")
    data = np.frombuffer(pathlib.Path(folder, "m.c.weights").read_bytes(), np.uint8)
    room = np.zeros(len(data) + 64, np.uint8)
    at = room[-room.ctypes.data % 64:][:len(data)]
    at[:] = data
    load = lambda: m.lib.m_load_weights(ctypes.c_void_p(at.ctypes.data), ctypes.c_size_t(len(at)))  # noqa: E731
    state = ctypes.c_void_p(m.state)
    assert m.lib.m_reset(state) == m.statuses["BAD_WEIGHTS"] == m.call("run", np.zeros((6, 4), f))[0]
    at[3] ^= 1
    assert load() == m.statuses["BAD_WEIGHTS"]
    at[3] ^= 1
    assert load() == 0
    follows(m, "mse", "adam", trained=("w2", "b2"))


def main():
    return run_cases("training networks", lstm, transformer, loaded_weights)


if __name__ == "__main__":
    sys.exit(main())
