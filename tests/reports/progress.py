"""onnxcc shows the progress of a long compilation in a line on a terminal, and erases it at the end; elsewhere it prints nothing."""
import os
import pathlib
import pty
import subprocess

import numpy as np
import onnx
from onnx import helper, numpy_helper

from checks import check

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "reports"
LINE = b"\r\x1b[K"


def said(*options, term="xterm"):
    """What a run writes to standard error, a terminal."""
    ours, its = pty.openpty()
    with subprocess.Popen([BUILD / "onnxcc", WORK / "long.onnx", "-o", "/dev/null", "--weights=inline", *options], stdout=subprocess.DEVNULL,
                          stderr=its, env={**os.environ, "TERM": term}) as p:
        os.close(its)
        out = b""
        try:
            while piece := os.read(ours, 65536):
                out += piece
        except OSError:     # the terminal was closed
            pass
        os.close(ours)
        check(p.wait() == 0, f"progress: exit {p.returncode}: {out}")
    return out


def progress():
    sizes = np.random.default_rng(0).standard_normal((100, 100000)).astype(np.float32)
    nodes = [helper.make_node("Add", [f"x{i}" if i else "x", f"w{i}"], ["y" if i == 99 else f"x{i + 1}"]) for i in range(100)]
    info = [helper.make_tensor_value_info(n, 1, [100000]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(sizes)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), WORK / "long.onnx")
    out = said()
    lines = out.split(LINE)
    check(len(lines) > 2 and b"onnxcc: writing the constants, " in out and b"%" in out, f"progress: {out[:300]}")
    check(lines[-1] == b"" and not out.count(b"\n") and max(map(len, lines)) < 80, f"progress: the line stays: {out[-100:]}")
    check(said("--quiet") == b"", "progress with --quiet")
    check(said(term="dumb") == b"", "progress on a terminal that cannot erase a line")
    p = subprocess.run([BUILD / "onnxcc", WORK / "long.onnx", "-o", "/dev/null", "--weights=inline"], capture_output=True, timeout=300)
    check(p.returncode == 0 and not p.stderr and not p.stdout, f"progress where there is no terminal: {p.stderr[:200]}")
