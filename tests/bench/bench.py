"""Speed against ONNX Runtime: bench.py [NAME...], shell patterns allowed. Writes build/bench.json.

Each model is compiled for the targets that this processor has, and host.c runs the results and ONNX Runtime (one thread,
all optimisations) in turns in one process on one processor, so that a slower moment of the machine meets all of them.
Per model: millions of multiply-adds; fastest call in ms of ONNX Runtime and of ours; the median over the rounds of ours
divided by ONNX Runtime; ours as a part of the float multiply-add limit measured under the same flags; largest difference
from ONNX Runtime's outputs; arena and its lower bound in KB. BENCH_SECONDS: for each model, 5 unless set. TARGETS: which.
LEVELS='-O2 clang-14:-O3': what C compilers make of them at these levels, too, each with a column of its own."""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
import fetch  # noqa: E402
from common import load_tensor  # noqa: E402
from compiled import BUILD, CC, Compiled, Failed, processor_has, run  # noqa: E402

HERE = pathlib.Path(__file__).parent
FOLDER = BUILD / "bench"
(LIBRARY,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*")
TARGETS = os.environ.get("TARGETS", "x86-64-v3 x86-64-v4").split()
LEVELS = os.environ.get("LEVELS", "").split()


def write_tensors(m, about):
    """The host's description of data set 0, with the contents of the inputs in files."""
    lines = []
    folder = m.folder / "test_data_set_0"
    for way, names in (("in", about["inputs"]), ("out", about["outputs"])):
        for i, name in enumerate(names):
            x = load_tensor(folder / f"{way}put_{i}.pb")
            file = FOLDER / f"{m.name}.{way}{i}"
            x.tofile(file)
            role = "const" if name in m.const else "arg"
            kind = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
            lines.append(" ".join(map(str, [way, role, name, kind, x.nbytes, file, x.ndim, *x.shape])))
    path = FOLDER / f"{m.name}.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def measure(m, host, sides):
    about = json.loads((m.folder / "model.json").read_text())
    said, _ = run("host", [host, LIBRARY, m.folder / "model.onnx", write_tensors(m, about),
                           os.environ.get("BENCH_SECONDS", "5"), *[s.so for s in sides]], 600)
    limits, errors, rounds = {}, {}, []
    for line in said.splitlines():
        word, *values = line.split()
        if word == "round":
            rounds.append([float(v) * 1e-6 for v in values])
        else:
            (limits if word == "limit" else errors)[int(values[0])] = float(values[1])
    rounds = np.array(rounds)
    row = {"model": m.name, "rounds": len(rounds), "onnxruntime_ms": rounds[:, 0].min(),
           "onnxruntime_median_ms": statistics.median(rounds[:, 0]), "targets": {}}
    for i, s in enumerate(sides):
        ms, macs = rounds[:, i + 1].min(), s.number("macs")
        row["targets"][s.way] = {
            "ms": ms, "median_ms": statistics.median(rounds[:, i + 1]),
            "ratio": statistics.median(rounds[:, i + 1] / rounds[:, 0]), "limit_gflops": limits[i],
            "of_limit": 2e-6 * macs / ms / limits[i] if macs else None, "error": errors[i], "macs": macs,
            "arena": s.number("arena"), "bound": s.number("arena_bound"), "onnxcc_s": s.seconds, "cc_s": s.cc_seconds}
    return row


def show(row):
    any_target = next(iter(row["targets"].values()), {})
    macs = any_target.get("macs")
    print(f"{row['model']:20} {f'{macs / 1e6:.4g}' if macs else '':>7} {row['onnxruntime_ms']:9.3f}", end="")
    for t in row["targets"].values():
        part = f"{100 * t['of_limit']:4.0f}%" if t["of_limit"] else "     "
        print(f" {t['ms']:9.3f} {t['ratio']:6.2f} {part}", end="")
    if any_target:
        kb = [f"{any_target[k] / 1024:.0f}" if any_target[k] is not None else "?" for k in ("arena", "bound")]
        print(f"  {max(t['error'] for t in row['targets'].values()):7.0e}  {kb[0]} / {kb[1]}", end="")
    print(flush=True)


def ways(targets):
    """(target, C compiler, level) of each column."""
    for t in targets:
        yield t, CC, "-O3"
        for level in LEVELS:
            cc, _, o = level.rpartition(":")
            yield t, [cc] if cc else CC, o


def title(t, cc, level):
    return t[-9:] if (cc, level) == (CC, "-O3") else f"{cc[-1][:5]} {level}"


def compile_all(m, targets):
    """What compiles is measured; what does not is said."""
    sides = []
    for t, cc, level in ways(targets):
        try:
            c = Compiled(m, t, level, cc)
            if c.sizes():
                raise Failed("sizes", "they vary from call to call, which this host does not pass")
            sides.append(c)
        except Failed as f:
            step, said = f.args
            print(f"{m.name:20} {t}: {step}: {said.splitlines()[0][:150]}", flush=True)
    return sides


def main(names):
    FOLDER.mkdir(parents=True, exist_ok=True)
    models = fetch.fetch(names, "bench")
    targets = [t for t in TARGETS if processor_has(t)]
    host = FOLDER / "host"
    run("cc", [*CC, "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", HERE / "host.c", "-o", host, "-ldl", "-lm"], 60)
    print(f"{'':20} {'MMAC':>7} {'ORT ms':>9}" + "".join(f" {title(*w):>9} {'/ORT':>6} {'limit':>5}" for w in ways(targets))
          + f"  {'error':>7}  arena / bound KB")
    rows = []
    for m in models:
        try:
            rows.append(measure(m, host, compile_all(m, targets)))
            show(rows[-1])
        except Failed as f:
            print(f"{m.name:20} {': '.join(f.args)[:300]}", flush=True)
    means = {}
    for t in targets:
        for kind, quantised in (("float", False), ("8-bit", True)):
            ratios = [r["targets"][t]["ratio"] for r in rows
                      if t in r["targets"] and r["model"].endswith(("_qdq", "_qop")) == quantised]
            if ratios:
                means[f"{t} {kind}"] = math.exp(statistics.fmean(map(math.log, ratios)))
                print(f"{t}, {len(ratios)} {kind} networks: geometric mean {means[f'{t} {kind}']:.2f}, worst {max(ratios):.2f}")
    (BUILD / "bench.json").write_text(json.dumps({"models": rows, "geometric_mean": means}, indent=1) + "\n")
    return 0 if len(rows) == len(models) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
