"""Makes models with exporters, and tests of them in the form of the official ones, with results of ONNX Runtime:
FOLDER/EXPORTER/EXPORTER_NAME/model.onnx and test_data_set_0/{input,output}_I.pb; the file atol has the absolute tolerance.

usage: make.py FOLDER EXPORTER...    EXPORTER: a script of this folder; does nothing when FOLDER is complete
skipped.txt lists exactly the models that cannot be exported, or that ONNX Runtime does not run."""
import fnmatch
import importlib
import importlib.metadata
import multiprocessing
import os
import pathlib
import re
import sys
import warnings

import numpy as np
import onnxruntime

from cache import generated
from reference import session
from message import write_test

HERE = pathlib.Path(__file__).resolve().parent
# The minimum number of models of each exporter.
LEAST = {"scikit": 1300, "boosting": 155, "tools": 400, "modules": 320, "language": 214, "images": 90, "timm_images": 150, "keras_layers": 150,
         "diffusion": 50}
PACKAGES = """onnx onnxruntime skl2onnx onnxmltools scikit-learn lightgbm xgboost-cpu catboost torch torchvision transformers timm diffusers
keras onnxscript""".split()
jobs = []       # (name, function that makes the model and its inputs)


class NotRun(Exception):
    """ONNX Runtime does not run the model."""


def floats(values):
    """The arrays of floats in results, which may be lists and dictionaries."""
    for v in values:
        if isinstance(v, list):
            yield from floats(v)
            continue
        y = np.array(list(v.values()) if isinstance(v, dict) else v)
        if y.dtype.kind == "f":
            yield y.astype(np.float64)


def allowed(results, part=1e-5):
    """The absolute tolerance: `part` times the smallest of the outputs' largest values; 1e-5 allows sums of floats in another order."""
    sizes = [np.abs(y[np.isfinite(y)]).max(initial=0) for y in floats(results)]
    return part * min([s for s in sizes if s], default=1)


def results_of(model, inputs):
    try:
        run = session(model)
        return run.run(None, dict(zip([i.name for i in run.get_inputs()], inputs, strict=True)))
    except Exception as e:
        raise NotRun(e) from None


def write(folder, i):
    """Makes model i; returns what went wrong, or None."""
    name, make = jobs[i]
    try:
        model, inputs, *more = make()       # the error that is allowed as a part of the largest value; files beside the test's
        results = results_of(model, inputs)
    except Exception as e:
        what = "ONNX Runtime" if isinstance(e, NotRun) else "not exported"
        return f"{name}  {what}: {type(e).__name__ if str(e) == '' else ' '.join(str(e).split())[:200]}"
    at = folder / name
    write_test(at, model, inputs, results)
    part, files = (*more, *(1e-5, {})[len(more):])
    for file, text in ({"atol": f"{allowed(results, part):.3g}"} | files).items():
        (at / file).write_text(text + "\n")
    return None


def worker(argument):
    warnings.simplefilter("ignore")
    sys.stdout = open(os.devnull, "w")
    return write(*argument)


def exporter_of(name, exporters):
    return next((e for e in exporters if name.startswith(e + "_")), None)


def skips(exporters):
    """The patterns in skipped.txt for these exporters."""
    lines = (HERE / "skipped.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if exporter_of(line, exporters)]


def check(exporters, missed):
    """Checks that a pattern of the list matches every missing model, and that each pattern matches a missing model."""
    names, patterns, wrong = [m.split()[0] for m in missed], skips(exporters), 0
    for m, n in zip(missed, names):
        if not any(fnmatch.fnmatchcase(n, p) for p in patterns):
            print(f"FAIL {m}")
            wrong += 1
    for p in patterns:
        if not fnmatch.filter(names, p):
            print(f"FAIL {p} stands in skipped.txt, but there is a test: take its line out")
            wrong += 1
    for e in exporters:
        made = sum(n.startswith(e + "_") for n, _ in jobs) - sum(n.startswith(e + "_") for n in names)
        print(f"exporters: {made} models by {e}, at least {LEAST[e]}")
        wrong += made < LEAST[e]
    return wrong


def make_all(folder, exporters):
    for e in exporters:
        jobs.extend((f"{e}_{re.sub(r'[^A-Za-z0-9]+', '_', name).strip('_')}", make) for name, make in importlib.import_module(e).models())
    assert len({n for n, _ in jobs}) == len(jobs), [n for n, _ in jobs if [m for m, _ in jobs].count(n) > 1]
    for e in exporters:
        (folder / e).mkdir()
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        todo = [(folder / exporter_of(name, exporters), i) for i, (name, _) in enumerate(jobs)]
        missed = list(filter(None, pool.imap(worker, todo, chunksize=4)))
    (folder / "missed").write_text("".join(m + "\n" for m in missed))
    if check(exporters, missed):
        raise SystemExit("exporters: some models are missing")


def imported(scripts):
    """The scripts and the files of tests/ that they import, directly or not."""
    found = set()
    while scripts:
        script = scripts.pop()
        names = re.findall(r"^(?:from|import) (\w+)", script.read_text(), re.M)
        places = (folder / f"{n}.py" for n in names for folder in (HERE, HERE.parent, HERE.parent / "models"))
        found.add(script)
        scripts += [f for f in places if f.exists() and f not in found]
    return sorted(found)


def versions():
    """The versions of the installed packages."""
    there = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    return [f"{p} {there[p]}" for p in PACKAGES if p in there]


def main(folder, *exporters):
    onnxruntime.set_default_logger_severity(4)
    folder = os.path.abspath(folder)
    sources = imported([HERE / "make.py", *(HERE / f"{e}.py" for e in exporters)])
    with generated(folder, sources, *versions(), *skips(exporters)) as new:
        if new:
            make_all(pathlib.Path(new), exporters)
    missed = (pathlib.Path(folder) / "missed").read_text().splitlines()
    print(f"exporters: {len(missed)} models are not exported, or not run by ONNX Runtime: tests/exporters/skipped.txt")


if __name__ == "__main__":
    main(*sys.argv[1:])
