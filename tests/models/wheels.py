"""Trained networks in PyPI packages: voice activity (silero-vad, faster-whisper), file types (magika), text in pictures (PP-OCR)."""
import functools

import numpy as np

import wheel
from common import CACHE, model, rng_of
from glyphs import page
from sound import speech

wheel_file = functools.partial(wheel.wheel_file, CACHE)

# ---- silero-vad: a call takes 32 ms of sound, the last 4 ms of the previous call, and the state

def windows(rate):
    """[calls, window + context] over one minute."""
    step, context = 512 * rate // 16000, 64 * rate // 16000
    sound = np.concatenate([np.zeros(context, np.float32), speech(rng_of("one minute"), rate, 60)])
    return np.stack([sound[i * step:(i + 1) * step + context] for i in range((len(sound) - context) // step)])


def play(s, fed, fixed, state):
    """Runs session s over the calls of fed (input -> [calls, ...]); state: input -> (start, output it comes from)."""
    now = {k: v for k, (v, _) in state.items()}
    names = [o.name for o in s.get_outputs()]
    carried = [o for _, o in state.values()]
    wants = {n: [] for n in names if n not in carried}
    (calls,) = {len(v) for v in fed.values()}
    for i in range(calls):
        got = dict(zip(names, s.run(None, {k: v[i] for k, v in fed.items()} | fixed | now)))
        for n in wants:
            wants[n].append(got[n])
        now = {k: got[o] for k, (_, o) in state.items()}
    return ({f"feed:{k}": v for k, v in fed.items()} | {f"state:{k}": v for k, (v, _) in state.items()}
            | {f"from:{k}": np.array(o) for k, (_, o) in state.items()} | {f"fixed:{k}": v for k, v in fixed.items()}
            | {f"want:{n}": np.stack(v) for n, v in wants.items()} | {f"final:{k}": v for k, v in now.items()})


def hears(i, wants):
    assert 0 < wants[0].min() and wants[0].max() < 1


def silero(file, name, rate=16000, options="", const=(), sets="test", takes_rate=True, state_first=False, size=None):
    """size: the length of the input, if it is less than a window and its context."""
    fixed = {"sr": np.array(rate, np.int64)} if takes_rate else {}
    start = np.zeros((2, 1, 128), np.float32)

    def make():
        x = windows(rate)[:, None, :size]
        state = rng_of(name).uniform(-0.9, 0.9, start.shape).astype(np.float32)
        feeds = {"input": None, "state": state} | fixed
        order = ["input", "sr", "state"] if state_first else ["input", "state", "sr"]
        return (wheel_file("silero-vad", f"silero_vad/data/{file}.onnx"),
                [[(feeds | {"input": x[i]})[k] for k in order if k in feeds] for i in (10, 40)])

    model(name, options=options, const=const, sets=sets, check=hears,
          stream=lambda s: play(s, {"input": windows(rate)[:, None, :size]}, fixed, {"state": (start, "stateN")}))(make)


AT_16K, AT_8K = "--shape input=1,576 --shape state=2,1,128", "--shape input=1,288 --shape state=2,1,128"
silero("silero_vad", "silero_vad", options=AT_16K, const=["sr"], sets="test bench")
silero("silero_vad", "silero_vad_8k", 8000, options=AT_8K, const=["sr"])
silero("silero_vad", "silero_vad_any_rate", options=AT_16K)          # the rate is known only at run time, so the If stays
silero("silero_vad", "silero_vad_all_dims", options="--all-dims=1", size=224)     # the size that onnxcc takes instead of 1
silero("silero_vad", "silero_vad_all_dims_8k", 8000, options="--all-dims=1", size=224)
silero("silero_vad_16k_op15", "silero_vad_op15", options="--dim batch=1 --dim sequence=576", const=["sr"])
silero("silero_vad_half", "silero_vad_half", options="--dim batch=1 --dim sequence=576", takes_rate=False)
silero("silero_vad_op18_ifless", "silero_vad_ifless", options="--dim batch=1 --dim sequence=576", const=["sr"],
       state_first=True)
silero("silero_vad_op18_ifless", "silero_vad_ifless_8k", 8000, options="--dim batch=1 --dim sequence=288", const=["sr"],
       state_first=True)
silero("silero_vad_openvino_16k", "silero_vad_openvino", takes_rate=False)

CHUNK = 25      # 75 calls of 25 windows make the minute


def silero_sequence_stream(s):
    x = windows(16000).reshape(-1, CHUNK, 576)
    zero = np.zeros((1, 1, 128), np.float32)
    return play(s, {"input": x}, {}, {"h": (zero, "hn"), "c": (zero, "cn")})


def silero_sequence(name, options, package, file):
    def make():
        state = rng_of("silero_sequence").uniform(-0.9, 0.9, (2, 1, 1, 128)).astype(np.float32)
        return wheel_file(package, file), [[windows(16000)[i:i + CHUNK], *state] for i in (0, 100)]

    model(name, options=options, check=hears, stream=silero_sequence_stream)(make)


silero_sequence("silero_vad_sequence", f"--dim sequence_length={CHUNK}", "silero-vad", "silero_vad/data/silero_vad_16k_sequence.onnx")
silero_sequence("silero_vad_faster_whisper", f"--dim seq_len={CHUNK}", "faster-whisper", "faster_whisper/assets/silero_vad_v6.onnx")


# ---- magika: the first and the last 1024 bytes of a file, padded with 256

TEXTS = [
    b"#include <stdio.h>\n\nint main(int argc, char **argv)\n{\n    printf(\"%d arguments\\n\", argc - 1);\n"
    b"    for (int i = 1; i < argc; i++) puts(argv[i]);\n    return 0;\n}\n",
    b"import sys\n\n\ndef main():\n    for line in sys.stdin:\n        print(line.rstrip()[::-1])\n\n\n"
    b"if __name__ == '__main__':\n    main()\n" * 9,
    b'{"name": "test", "values": [1, 2.5, -3e8], "nested": {"flag": true, "none": null}}\n',
    b"<!DOCTYPE html>\n<html><head><title>A page</title></head><body><p>Text.</p></body></html>\n",
    bytes(range(256)) * 16,
]


def magika_features(data):
    x = np.full(2048, 256, np.int32)
    first, last = data.lstrip()[:1024], data.rstrip()[-1024:]
    x[:len(first)] = list(first)
    x[2048 - len(last):] = list(last)
    return x


def magika(*batches):
    return (wheel_file("magika", "magika/models/standard_v3_3/model.onnx"),
            [[np.stack([magika_features(t) for t in texts])] for texts in batches])


model("magika", options="--dim unk__214=1", sets="test bench")(lambda: magika(*[[t] for t in TEXTS]))
model("magika_any_batch", options="--dim unk__214<=5")(lambda: magika(TEXTS[:1], TEXTS[1:], TEXTS))


# ---- PP-OCR: detection, orientation and recognition of text

def sees_text(i, wants):
    assert wants[0].max() > 0.6 and wants[0].mean() < 0.5, (wants[0].max(), wants[0].mean())


FREE = "p2o.DynamicDimension"


def ocr_file(name):
    return wheel_file("rapidocr-onnxruntime", f"rapidocr_onnxruntime/models/{name}.onnx")


def normal(picture):
    return ((picture - 0.5) / 0.5)[None].repeat(3, 0)[None].astype(np.float32)


def detector(h, w, sets="test"):
    def make():
        lines = ["HELLO 2024", "ONNX TO C", "31415 92653"]
        return ocr_file("ch_PP-OCRv4_det_infer"), [[normal(page(lines, h, w, size=3))], [normal(page(lines[1:], h, w, size=4))]]

    model(f"ocr_det_{h}x{w}", options=f"--dim {FREE}.0=1 --dim {FREE}.1={h} --dim {FREE}.2={w}", sets=sets,
          check=sees_text)(make)


detector(320, 320, "test bench")
detector(480, 640)


@model("ocr_det_any_size", options=f"--dim {FREE}.0=1 --dim {FREE}.1<=480 --dim {FREE}.2<=640", check=sees_text)
def any_size():
    return (ocr_file("ch_PP-OCRv4_det_infer"),
            [[normal(page(["HELLO 2024", "31415 92653"], h, w, size=3))] for h, w in ((320, 320), (480, 640), (96, 256))])


@model("ocr_rec_any_width", options=f"--dim {FREE}.0=1 --dim x_2=48 --dim {FREE}.1<=480")
def any_width():
    return ocr_file("ch_PP-OCRv4_rec_infer"), [[normal(page([t], 48, 24 * len(t) + 16, size=4))] for t in
                                               ("HELLO 2024", "31415 92653", "TEXT 2 C", "42")]


@model("ocr_rec", options="--shape x=1,3,48,320", sets="test bench")
def recogniser():
    return ocr_file("ch_PP-OCRv4_rec_infer"), [[normal(page([t], 48, 320, size=4))] for t in ("HELLO 2024", "31415 92653")]


@model("ocr_cls", options="--shape x=1,3,48,192", sets="test bench")
def classifier():
    picture = normal(page(["ONNX TO C"], 48, 192, size=3))
    return ocr_file("ch_ppocr_mobile_v2.0_cls_infer"), [[picture], [picture[:, :, ::-1, ::-1].copy()]]


def v6_file(name):
    return wheel_file("rapidocr", f"rapidocr/models/PP-OCRv6_{name}_small.onnx")


@model("ocr6_det", options="--shape x=1,3,320,320", check=sees_text)
def detector_v6():
    return v6_file("det"), [[normal(page(["HELLO 2024", "31415 92653"], 320, 320, size=3))]]


@model("ocr6_rec_any_width", options="--dim DynamicDimension.0=1 --dim DynamicDimension.1<=320")
def any_width_v6():
    return v6_file("rec"), [[normal(page([t], 48, 24 * len(t) + 16, size=4))] for t in ("HELLO 2024", "TEXT 2 C")]
