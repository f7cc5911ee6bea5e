"""Integers of attributes at their extremes, of every operator: the compiler under sanitizers has an error or evaluates the model."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import onnx

VALUES = 2**63 - 1, -2**63, 2**31 - 1, 2**31, 2**32 + 1, 2**62, -1, 0
SECONDS = 60   # to evaluate, too
MEMORY = "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1000"    # larger results are right, but not computed


def attributes(folders):
    """(model, node's index, attribute's name), once for every signature of an operator"""
    seen = set()
    for path in (p for folder in folders for p in sorted(pathlib.Path(folder).glob("**/model.onnx"))):
        if path.stat().st_size > 20000 or "_expanded" in path.parent.name or "gradient" in path.parent.name:
            continue
        nodes = onnx.load(path).graph.node
        for i, n in enumerate(nodes[:8]):
            for a in n.attribute:
                key = n.domain, n.op_type, a.name, a.type, tuple(sorted(b.name for b in n.attribute)), len(n.input)
                if a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS) and key not in seen:
                    seen.add(key)
                    yield path, i, a.name


def wrong(sanitized, path, i, name):
    """What goes wrong with some value; None: nothing."""
    for value in VALUES:
        model = onnx.load(path)
        a = next(a for a in model.graph.node[i].attribute if a.name == name)
        if a.type == onnx.AttributeProto.INT:
            a.i = value
        elif a.ints:
            a.ints[0] = value
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, os.path.join(folder, "m.onnx"))
            for data in path.parent.glob("test_data_set_0/input_*.pb"):
                shutil.copy(data, folder)
            try:
                p = subprocess.run([sanitized, "m.onnx", "--eval", ".", "--all-dims", "<=64"], cwd=folder, capture_output=True, text=True,
                                   errors="replace", timeout=SECONDS, env=dict(os.environ, ASAN_OPTIONS=MEMORY))
            except subprocess.TimeoutExpired:
                return f"{name} = {value}: more than {SECONDS} s"
        exhausted = p.returncode == 3 and "memory" in p.stderr
        if p.returncode not in (0, 1) and not exhausted or re.search("runtime error|Sanitizer|internal error", p.stderr):
            return f"{name} = {value}: exit {p.returncode}\n{p.stderr[:600]}"
    return None
