"""Numbers of attributes, and elements of inputs made constants, at their extremes, of every operator: the compiler under sanitizers has
an error or evaluates the model."""
import collections
import functools
import math
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

INTEGERS = 2**63 - 1, -2**63, 2**31 - 1, 2**31, 2**32 + 1, 2**62, -1, 0
FLOATS = math.nan, math.inf, -math.inf, 3e38, -3e38, 1e19, 2.0**31, 1e-40, -1.0, 0.0
# type of an attribute: the field of its number, or of its list of numbers, and their extremes
NUMBERS = {AttributeProto.INT: ("i", "", INTEGERS), AttributeProto.INTS: ("", "ints", INTEGERS),
           AttributeProto.FLOAT: ("f", "", FLOATS), AttributeProto.FLOATS: ("", "floats", FLOATS)}
FEW = 64       # elements of integers that tell a shape, axes, positions; of floats, scales: FEW / 8
SECONDS = 60   # to evaluate, too
MEMORY = "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1000"    # larger results are right, but not computed


def of_attribute(path, model, node, name):
    """Sets the attribute to each value in turn."""
    a = next(a for a in model.graph.node[node].attribute if a.name == name)
    single, several, values = NUMBERS[a.type]
    for value in values:
        if single:
            setattr(a, single, value)
        elif getattr(a, several):
            getattr(a, several)[0] = value
        yield value


def given(model):
    """The names of the inputs of which the test has values."""
    constants = {t.name for t in model.graph.initializer}
    return [v.name for v in model.graph.input if v.name not in constants]


def array(path, model, name):
    """The value of an input or constant; None: no tensor."""
    stored = next((t for t in model.graph.initializer if t.name == name), None)
    if not stored:
        stored = onnx.TensorProto()
        stored.ParseFromString((path.parent / "test_data_set_0" / f"input_{given(model).index(name)}.pb").read_bytes())
    return numpy_helper.to_array(stored)


def of_elements(path, model, name):
    """Makes the input a constant if it is none, and sets its first element, then all, to each value in turn."""
    x = array(path, model, name)
    constant = next((t for t in model.graph.initializer if t.name == name), None)
    if not constant:
        inputs = [v for v in model.graph.input if v.name != name]
        del model.graph.input[:]
        model.graph.input.extend(inputs)
        constant = model.graph.initializer.add()
    values = FLOATS
    if x.dtype.kind != "f":
        info = np.iinfo(x.dtype)
        values = sorted({min(max(v, info.min), info.max) for v in INTEGERS})
    for value in values:
        for end in {1, x.size}:
            y = x.flatten()
            with np.errstate(over="ignore"):
                y[:end] = value
            constant.CopyFrom(numpy_helper.from_array(y.reshape(x.shape), name))
            yield f"{value}, {end} of {x.size}"


def varied(path, model):
    """(signature of an operator and what is varied, its name, the function that varies it)"""
    readers = collections.defaultdict(list)
    for i, n in enumerate(model.graph.node[:8]):
        names = tuple(sorted(a.name for a in n.attribute))
        for a in n.attribute:
            if a.type in NUMBERS:
                yield (n.domain, n.op_type, a.name, a.type, names, len(n.input)), a.name, functools.partial(of_attribute, node=i, name=a.name)
        for k, name in enumerate(n.input):
            readers[name].append((n.domain, n.op_type, k, len(n.input), names))
    tensors = {v.name: v.type.tensor_type.elem_type for v in model.graph.input} | {t.name: t.data_type for t in model.graph.initializer}
    for name, kind in tensors.items():
        if kind and readers[name]:
            yield (readers[name][0], kind), name, functools.partial(of_elements, name=name)


def is_small(path, model, vary):
    """An input of few elements, or an attribute."""
    if vary.func is of_attribute:
        return True
    x = array(path, model, vary.keywords["name"])
    return 0 < x.size <= (FEW if x.dtype.kind in "iu" and x.dtype.itemsize >= 4 else FEW // 8 if x.dtype.kind == "f" else 0)


def cases(folders):
    """(model, what is varied, the function that varies it), once for every signature of an operator"""
    seen = set()
    for path in (p for folder in folders for p in sorted(pathlib.Path(folder).glob("**/model.onnx"))):
        if path.stat().st_size > 20000 or "_expanded" in path.parent.name or "gradient" in path.parent.name:
            continue
        model = onnx.load(path)
        for key, name, vary in varied(path, model):
            if key not in seen and is_small(path, model, vary):
                seen.add(key)
                yield path, name, vary


def wrong(sanitized, path, vary):
    """What goes wrong with some value; None: nothing."""
    model = onnx.load(path)
    names = given(model)
    for value in vary(path, model):
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, os.path.join(folder, "m.onnx"))
            for i, name in enumerate(given(model)):
                shutil.copy(path.parent / "test_data_set_0" / f"input_{names.index(name)}.pb", os.path.join(folder, f"input_{i}.pb"))
            try:
                p = subprocess.run([sanitized, "m.onnx", "--eval", ".", "--all-dims", "<=64"], cwd=folder, capture_output=True, text=True,
                                   errors="replace", timeout=SECONDS, env=dict(os.environ, ASAN_OPTIONS=MEMORY))
            except subprocess.TimeoutExpired:
                return f"{value}: more than {SECONDS} s"
        exhausted = p.returncode == 3 and "memory" in p.stderr
        if p.returncode not in (0, 1) and not exhausted or re.search("runtime error|Sanitizer|internal error", p.stderr):
            return f"{value}: exit {p.returncode}\n{p.stderr[:600]}"
    return None
