"""Builds the samples and runs them: filetype on files of known type, also in a browser; vad on speech between known silences; generate
beside ONNX Runtime; train until it reads digits. Prints failures, then "samples: N passed, N failed"."""
import base64
import ctypes
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import wave
import xml.etree.ElementTree as xml

import numpy as np
import onnxruntime

import chromium
from checks import check, counts

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = (ROOT / os.environ["B"] / "samples").resolve()


def build(sample, name=None):
    """Builds a sample; returns its program, or the file with this name."""
    p = subprocess.run(["make", "--no-print-directory", "-C", ROOT / "samples" / sample, f"B={WORK / sample}"],
                       capture_output=True, text=True)
    check(p.returncode == 0, f"samples/{sample} does not build:\n{p.stdout}{p.stderr}")
    check("warning" not in p.stderr, f"samples/{sample}: {p.stderr}")
    return WORK / sample / (name or sample)


# ---- filetype: the expected labels are those of the network's package

SOURCE = b"#include <stdio.h>\n\nint main(void)\n{\n    puts(\"hello\");\n    return 0;\n}\n"
SCRIPT = b"import sys\n\n\ndef main():\n    for line in sys.stdin:\n        print(line.rstrip()[::-1])\n\n\nmain()\n"
NOISE = random.Random(1).randbytes(10000)
CONTENTS = {
    "empty": (b"", "empty"),
    "one byte": (b"a", "txt"), "seven bytes": (b"abcdefg", "txt"), "seven and space": (b"\n\t \v\f\r abcdefg   ", "txt"),
    "only space": (b" " * 9000, "txt"), "a character cut at the block's end": (b" " * 4095 + "é".encode(), "unknown"),
    "UTF-8": ("é€𝄞".encode()[:8], "unknown"), "UTF-8 in full": ("€𝄞".encode(), "txt"), "not UTF-8": (b"\xff\xfe", "unknown"),
    "a surrogate": (b"\xed\xa0\x80", "unknown"), "not the shortest form": (b"\xc0\x80", "unknown"),
    "not the shortest form of three": (b"\xe0\x80\x80", "unknown"), "beyond Unicode": (b"\xf4\x90\x80\x80", "unknown"),
    "C": (SOURCE, "c"), "Python": (SCRIPT, "python"), "Python with space around": (b" " * 3000 + SCRIPT + b"\n" * 3000, "python"),
    "long Python": (SCRIPT * 200, "python"), "as long as a block": ((SCRIPT * 50)[:4096], "python"),
    "noise": (NOISE, "unknown"), "zeros": (bytes(5000), "iso"),
    "JSON": (b'{"name": "test", "values": [1, 2.5, -3e8], "nested": {"flag": true, "none": null}}\n', "jsonl"),
    "HTML": (b"<!DOCTYPE html>\n<html><head><title>A page</title></head><body><p>Text.</p></body></html>\n", "html"),
    "a little": (b"x = 1\n" * 2, "ini"), "not believed": (b"hello world this is a text\n" * 3, "txt"),
    "not believed, of its type": (b"begin\n  x := 1;\nend.\n", "txt"), "believed": (b"- one\n- two\n- three\n", "yaml"),
}
REPOSITORY = {"README.md": "markdown", "Makefile": "makefile", "compiler/emit/emit.c": "c", "tests/setup": "shell",
              "tests/samples/run.py": "python", "proto/onnx.proto": "proto"}


def test_filetype():
    program = build("filetype")
    folder = WORK / "files"
    folder.mkdir(exist_ok=True)
    for name, (data, _) in CONTENTS.items():
        (folder / name).write_bytes(data)
    want = {str(folder / name): label for name, (_, label) in CONTENTS.items()} | REPOSITORY | {str(program): "elf"}
    p = subprocess.run([program, *want, "no such file", WORK], cwd=ROOT, capture_output=True, text=True)
    told = dict(line.rsplit(": ", 1) for line in p.stdout.splitlines())
    for file, label in want.items():
        check(f"({label})" in told.get(file, ""), f"filetype: {file} is {label}, not {told.get(file)}")
    check(p.returncode == 1 and "no such file: No such" in p.stderr and f"{WORK}: Is a dir" in p.stderr, p.stderr)


# ---- browser: the same files, dropped on the page; scores with the bits of the same C compiled for this machine

DROP = """(async () => {
    const scores = [];
    for (const [name, content] of %s) {
        const files = new DataTransfer(), file = new File([Uint8Array.from(atob(content), c => c.charCodeAt(0))], name);
        files.items.add(file);
        drop.dispatchEvent(new DragEvent("drop", {dataTransfer: files}));
        scores.push((await classify(file)).score);
    }
    const cells = () => [...table.rows].map(r => [...r.cells].map(c => c.textContent));
    while (cells().some(r => r.length < 2))
        await new Promise(then => setTimeout(then, 10));
    await fetch(to, {method: "POST", mode: "no-cors", body: JSON.stringify([cells(), scores])});
})();"""


def native_scores(folder, contents):
    """The scores that main.c, compiled for this machine, computes of the contents."""
    library = folder / "native.so"
    subprocess.run(["gcc", "-std=gnu99", "-O1", "-shared", "-fPIC", f"-I{folder}", f"-I{folder / 'filetype'}", "-o", library,
                    ROOT / "samples" / "browser" / "main.c", folder / "magika.c"], check=True)
    c = ctypes.CDLL(str(library))
    c.first.restype = c.last.restype = ctypes.c_void_p
    c.certainty.restype = ctypes.c_float
    for data in contents:
        n = min(len(data), c.block())
        ctypes.memmove(c.first(), data[:n], n)
        ctypes.memmove(c.last(), data[len(data) - n:], n)
        yield c.certainty() if c.run(n) else None


def test_browser():
    page = build("browser", "filetype.html")
    text = page.read_text()
    check(not re.search(r"https?:|\bsrc=|@import|fetch\(|XMLHttp", text), "browser: the page needs the network")
    files = {name: data for name, (data, _) in CONTENTS.items()} | {name: (ROOT / name).read_bytes() for name in REPOSITORY}
    dropped = json.dumps([[name, base64.b64encode(data).decode()] for name, data in files.items()])
    rows, scores = json.loads(chromium.posted(page, WORK / "home", DROP % dropped) or "[[], []]")
    told = {r[0]: r[1] for r in rows if len(r) == 4}
    check(len(rows) == len(files), f"browser: {len(rows)} rows of {len(files)}")
    for name, label in ({name: label for name, (_, label) in CONTENTS.items()} | REPOSITORY).items():
        check(told.get(name, "").endswith(f"({label})"), f"browser: {name} is {label}, not {told.get(name)}")
    native = list(native_scores(page.parent, files.values()))
    check(scores == native, f"browser: the scores {scores}, as machine code {native}")
    code = (page.parent / "filetype.wasm").read_bytes()
    check(b"\xfd\xe6\x01" in code and len(code) < 3400000, f"browser: {len(code)} bytes, with f32x4.mul")


# ---- vad: synthesised words with silence between them

WORDS = ["hello world", "seventeen", "the quick brown fox", "good morning", "somebody says something"]
PAUSES = [0.7, 1.0, 0.5, 2.0, 0.8, 1.3]


def say(text):
    """Samples of a text without the silence around it, and their rate."""
    file = WORK / "word.wav"
    subprocess.run(["espeak-ng", "-w", file, text], check=True)
    with wave.open(str(file)) as w:
        x = np.frombuffer(w.readframes(w.getnframes()), np.int16)
        loud = np.flatnonzero(np.abs(x.astype(int)) > 300)
        return x[loud[0]:loud[-1] + 1], w.getframerate()


def write_wav(file, x, rate, channels):
    """16-bit PCM; the other channels are noise, and an unknown chunk precedes the sound."""
    noise = np.random.default_rng(1).integers(-9999, 9999, (len(x), channels - 1)).astype(np.int16)
    data = np.concatenate([x[:, None], noise], 1).tobytes()
    format = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, 2 * channels * rate, 2 * channels, 16)
    odd = struct.pack("<4sI", b"note", 5) + b"hello\0"
    file.write_bytes(b"RIFF" + struct.pack("<I", 36 + len(odd) + len(data)) + b"WAVE" + format + odd
                     + struct.pack("<4sI", b"data", len(data)) + data)


def test_vad():
    program = build("vad")
    parts, said, at = [], [], 0.0
    for word, pause in zip(WORDS, PAUSES):
        x, rate = say(word)
        parts += [np.zeros(int(pause * rate), np.int16), x]
        at += pause
        said.append((at, at + len(x) / rate))
        at = said[-1][1]
    sound = np.concatenate(parts + [np.zeros(int(PAUSES[-1] * rate), np.int16)])
    faster = np.interp(np.arange(0, len(sound), rate / 48000), np.arange(len(sound)), sound).astype(np.int16)
    for name, x, r, channels in (("mono", sound, rate, 1), ("stereo", sound, rate, 2), ("48 kHz", faster, 48000, 1)):
        file = WORK / f"{name}.wav"
        write_wav(file, x, r, channels)
        p = subprocess.run([program, file], capture_output=True, text=True)
        found = [tuple(map(float, line.split())) for line in p.stdout.splitlines()]
        check(p.returncode == 0 and len(found) == len(said), f"vad, {name}: {len(said)} spans, not {found}; {p.stderr}")
        for want, got in zip(said, found):
            check(all(abs(a - b) < 0.15 for a, b in zip(want, got)), f"vad, {name}: {got} is not {want}")
    silence = WORK / "silence.wav"
    write_wav(silence, np.zeros(5 * rate, np.int16), rate, 1)
    p = subprocess.run([program, silence], capture_output=True, text=True)
    check(p.returncode == 0 and not p.stdout, f"vad: silence has {p.stdout}")
    p = subprocess.run([program, ROOT / "README.md"], capture_output=True, text=True)
    check(p.returncode == 2 and "WAV" in p.stderr.upper(), f"vad: not a WAV file: {p.returncode} {p.stderr}")


# ---- generate: ONNX Runtime's text, by the highest logit, with its keys and values passed back

def continued(session, prompt, n):
    """n bytes, and by how much the highest logit of each exceeds the next one."""
    cache = {i.name: np.zeros((1, i.shape[1], 0, i.shape[3]), np.float32) for i in session.get_inputs()[1:]}
    names, text, margins, ids = [o.name for o in session.get_outputs()], b"", [], list(prompt)
    for _ in range(n):
        out = dict(zip(names, session.run(None, {"input_ids": np.array([ids])} | cache)))
        cache = {name: out[name.replace("past", "present")] for name in cache}
        low, high = np.sort(out["logits"])[-2:]
        ids = [int(np.argmax(out["logits"]))]
        text, margins = text + bytes(ids), margins + [high - low]
    return text, margins


def test_generate():
    program = build("generate")
    session = onnxruntime.InferenceSession(str(WORK / "generate" / "model.onnx"), providers=["CPUExecutionProvider"])
    for prompt, n in (("a", 200), ("Once upon a time", 50), ("x" * 100, 60)):
        want, margins = continued(session, prompt.encode(), n)
        sure = next((i for i, m in enumerate(margins) if m < 1e-4), n)     # a tie may go either way
        p = subprocess.run([program, prompt, str(n)], capture_output=True)
        check(p.returncode == 0 and len(p.stdout) == n and p.stdout[:sure] == want[:sure],
              f"generate: after {prompt[:9]}: {p.stdout[:40]} is not {want[:40]}; {p.stderr}")
    texts = [subprocess.run([program, "a", "40", "1", seed], capture_output=True).stdout for seed in ("1", "2", "1")]
    check(texts[0] == texts[2] != texts[1], f"generate: the seed does not decide: {texts}")
    p = subprocess.run([program, "a", "600"], capture_output=True)
    check(p.returncode == 1 and len(p.stdout) == 512 and b"holds 512 tokens" in p.stderr, f"generate: beyond the state: {p.stderr}")
    header = (WORK / "generate" / "lm.h").read_text()
    check("int lm_run(struct lm_state *state, const int64_t *input_ids, float *logits, struct lm_sizes *sizes);" in header, header[-900:])


# ---- train: more than 97 % of the held-out digits are read right, and the loss falls

def test_train():
    program, curve = build("train"), WORK / "train" / "loss.svg"
    said = [subprocess.run([program, "10", seed, curve], capture_output=True, text=True) for seed in ("1", "2", "1")]
    check(said[0].stdout == said[2].stdout != said[1].stdout, "train: the seed does not decide")
    for p in said:
        right, of = map(int, re.findall(r"(\d+) of (\d+) held-out", p.stdout)[0])
        check(p.returncode == 0 and right > 0.97 * of, f"train: {p.stdout[-200:]} {p.stderr}")
        check(p.stdout.count("epoch ") == 10 and "epoch 10 of 10" in p.stdout, f"train: {p.stdout}")
    line = next(e for e in xml.parse(curve).iter() if e.tag.endswith("polyline")).get("points").split()
    y = [float(point.split(",")[1]) for point in line]
    check(len(y) == 10 and y[0] == 20 and y[-1] > 300, f"train: the curve is {line}")     # down the page
    p = subprocess.run([program, "1", "1", "/nowhere/loss.svg"], capture_output=True, text=True)
    check(p.returncode == 1 and "/nowhere/loss.svg" in p.stderr, f"train: {p.stderr}")
    check(subprocess.run([program, "0"], capture_output=True).returncode == 2, "train: no epochs")


WORK.mkdir(parents=True, exist_ok=True)
test_filetype()
test_browser()
test_vad()
test_generate()
test_train()
print(f"samples: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
