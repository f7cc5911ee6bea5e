"""The models of products.py as C on every machine of tests/machines/table.py, or on some: run.py TURN 'MODEL ...' 'MACHINE ...'.
Prints what is wrong, then "products: N passed, N failed".

The C is compiled at -O0, where every kernel is a function of its own and compiling is fast, but with all shapes of tiles."""
import fnmatch
import os
import pathlib
import re
import sys

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

import products
from cache import generated

BUILD = pathlib.Path(os.environ["B"]).resolve()
HOME = BUILD / "products"
TRAPPED = "wraps", "qconvs", "linear_layers"
LARGE = "wraps"     # in a program of its own, as its constants take most of a bare machine's memory
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "machines"))
from runner import Sum  # noqa: E402


def write(folder, m):
    """A model in the form of the official tests."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(m.model, folder / "model.onnx")
    for kind, arrays in ("input", m.inputs), ("output", m.outputs):
        for i, x in enumerate(arrays):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    (folder / "rtol").write_text("0\n")
    (folder / "atol").write_text(f"{max(m.tolerance)}\n")
    if m.without:
        (folder / "without").write_text(m.without)


def write_all():
    versions = numpy.__version__, onnx.__version__, onnxruntime.__version__
    with generated(str(HOME), [__file__, products.__file__], *versions) as new:
        if new:
            for name, m in products.models().items():
                write(pathlib.Path(new) / "tests" / name, m)


def calls(total):
    """Checks that the C of each model lacks the calls that it must not contain."""
    for without in HOME.glob("tests/*/without"):
        for c in sorted((BUILD / "machines").glob(f"*-products*/{without.parent.name}/m.c")):
            found = re.search(without.read_text(), c.read_text())
            if found:
                print(f"FAILED {c.parent.parent.name}: {c.parent.name} calls {found[0]}")
            total.add(not found, bool(found))


def undefined(total, models, turn):
    """Runs code for every target with integers on this machine, where undefined behaviour traps; the kernels for small processors have
    portable C, too. With the turn of a commit, for two of the targets."""
    level = "'--level=-O0 -DTILE_SMALL=0 -fsanitize=undefined -fsanitize-undefined-trap-on-error'"
    some = [m for m in models if m.startswith(TRAPPED)]
    kinds = [("one-element", "generic"), ("x86-64", "cortex-m4"), ("x86-64", "generic"), ("x86-64", "cortex-m55")]
    for machine, target in kinds if turn is None else kinds[turn % 2::2]:
        if some:
            total.run(machine, HOME, some, f"{machine}-trap-{target}", ["--incbin", "--target", target], [level])


def main(turn, patterns, machines):
    write_all()
    turn = None if machines else int(turn)     # of this commit: see Sum.each
    total = Sum("products")
    models = [m.name for m in sorted(HOME.glob("tests/*")) if any(fnmatch.fnmatch(m.name, p) for p in patterns or ["*"])]
    for name, some in ("products", [m for m in models if m != LARGE]), ("products-large", [m for m in models if m == LARGE]):
        if some:
            total.each(machines, name, HOME, some, own=True, turn=turn, program=["'--level=-O0 -DTILE_SMALL=0'"], incbin=True)
    undefined(total, models, turn)
    calls(total)
    total.end()


if __name__ == "__main__":
    main(sys.argv[1], *map(str.split, sys.argv[2:]))
