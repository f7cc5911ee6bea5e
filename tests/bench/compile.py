"""Time and memory of onnxcc itself: ResNet-50, a model of 2 GB with external data, chains of 500, 5,000 and 50,000 nodes."""
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
import fetch  # noqa: E402
from common import CACHE  # noqa: E402
from compiled import BUILD  # noqa: E402

FOLDER = CACHE / "large"
OUT = BUILD / "bench" / "compile"
PEAK = BUILD / "bench" / "peak"


def chain(n):
    """n nodes one after another, of a few kinds, each with a weight of its own."""
    path = FOLDER / f"chain{n}.onnx"
    if path.exists():
        return path
    rng = np.random.default_rng(n)
    nodes, weights, x = [], [], "input"
    for i in range(n):
        kind = ("MatMul", "Add", "Relu", "Mul", "Softmax")[i % 5]
        y = f"value_{i}" if i < n - 1 else "output"
        inputs = [x]
        if kind in ("MatMul", "Add", "Mul"):
            shape = (16, 16) if kind == "MatMul" else (16,)
            w = rng.standard_normal(shape, np.float32) * np.float32(0.25)
            weights.append(onnx.numpy_helper.from_array(w, f"weight_{i}"))
            inputs.append(f"weight_{i}")
        nodes.append(helper.make_node(kind, inputs, [y], name=f"node_{i}"))
        x = y
    ends = [helper.make_tensor_value_info(v, TensorProto.FLOAT, [4, 16]) for v in ("input", "output")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def two_gigabytes():
    """32 matrices of 64 MB, in a file beside the model."""
    folder = FOLDER / "external"
    path = folder / "model.onnx"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    rng, nodes, weights, x, n = np.random.default_rng(2), [], [], "input", 4096
    with open(folder / "model.data", "wb") as f:
        for i in range(32):
            t = TensorProto(name=f"weight_{i}", data_type=TensorProto.FLOAT, dims=[n, n], data_location=TensorProto.EXTERNAL)
            for key, value in (("location", "model.data"), ("offset", f.tell()), ("length", 4 * n * n)):
                t.external_data.add(key=key, value=str(value))
            f.write((rng.standard_normal((n, n), np.float32) / np.float32(64)).tobytes())
            weights.append(t)
            y = f"value_{i}" if i < 31 else "output"
            nodes.append(helper.make_node("MatMul", [x, t.name], [y], name=f"node_{i}"))
            x = y
    ends = [helper.make_tensor_value_info(v, TensorProto.FLOAT, [1, n]) for v in ("input", "output")]
    graph = helper.make_graph(nodes, "large", ends[:1], ends[1:], weights)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


def measure(name, path, *options):
    """Prints a line; the limit of memory is 64 MB plus 1.3 times the bytes read."""
    OUT.mkdir(parents=True, exist_ok=True)
    took = OUT.parent / "took"
    command = [PEAK, took, BUILD / "onnxcc", path, "-o", OUT / "m.c", "--prefix", "m", *options]
    p = subprocess.run([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    written = sum(f.stat().st_size for f in OUT.glob("*"))
    shutil.rmtree(OUT)
    if p.returncode:
        print(f"{name:20} failed: {p.stderr.decode(errors='replace').splitlines()[:1]}")
        return False
    seconds, peak = took.read_text().split()
    read = sum(f.stat().st_size for f in (path, path.with_suffix(".data")) if f.exists())
    limit = 1.3 * read / 2**20 + 64
    print(f"{name:20} {float(seconds):7.2f} s   peak {int(peak) / 2**20:7.0f} MB   limit {limit:7.0f} MB   "
          f"wrote {written / 1e6:8.1f} MB", flush=True)
    return True


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O1", "-o", PEAK, pathlib.Path(__file__).with_name("peak.c")], check=True)
    (resnet,) = fetch.fetch(["resnet50"])
    done = [measure("resnet50", resnet.folder / "model.onnx", "--weights=file"),
            measure("resnet50-inline", resnet.folder / "model.onnx", "--weights=inline"),
            measure("external-2GB", two_gigabytes(), "--weights=file")]
    done += [measure(f"chain-{n}", chain(n)) for n in (500, 5000, 50000)]
    done += [measure(f"chain-50000{o}", chain(50000), *o.split()) for o in (" --single", " --report -v")]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
