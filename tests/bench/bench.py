"""Speed beside ONNX Runtime, and of C by other compilers and levels: bench.py [NAME...], shell patterns allowed. Writes
build/bench.json.

Each model is compiled for the targets that this processor can run, and host.c runs the results and ONNX Runtime (one thread,
all optimisations) in turns in one process on one processor, so that slower phases of the machine affect all of them.
Columns: millions of multiply-adds; the fastest call in ms, of ONNX Runtime and of our C by gcc -O3; the median over the rounds
of our time divided by ONNX Runtime's; our multiply-adds per second, divided by the limit measured under the same flags; the largest
difference from ONNX Runtime's outputs; the arena and its lower bound in KB. A second table has, from the same rounds, the median
time of the C by other compilers and levels, divided by that by gcc -O3.
LEVELS='-O2 clang-14:-O3': these compilers and levels; LEVELS=: none. TARGETS: the targets. BENCH_SECONDS: for each model, 5 unless
set."""
import json
import math
import os
import pathlib
import shutil
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
LEVELS = os.environ.get("LEVELS", "-O2 clang-14:-O2 clang-14:-O3").split()


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
           "onnxruntime_median_ms": statistics.median(rounds[:, 0]), "targets": {}, "levels": {}}
    first = {s.way: i + 1 for i, s in enumerate(sides) if s.way == s.target}
    for i, s in enumerate(sides):
        times, macs = rounds[:, i + 1], s.number("macs")
        if s.way in first:
            row["targets"][s.target] = {
                "ms": times.min(), "median_ms": statistics.median(times), "ratio": statistics.median(times / rounds[:, 0]),
                "limit_gflops": limits[i], "of_limit": 2e-6 * macs / times.min() / limits[i] if macs else None,
                "error": errors[i], "macs": macs, "arena": s.number("arena"), "bound": s.number("arena_bound"),
                "onnxcc_s": s.seconds, "cc_s": s.cc_seconds}
        elif s.target in first:
            row["levels"][s.way] = {"ms": times.min(), "ratio": statistics.median(times / rounds[:, first[s.target]]),
                                    "cc_s": s.cc_seconds}
    return row


def show(row):
    any_target = next(iter(row["targets"].values()), {})
    macs = any_target.get("macs")
    print(f"{row['model']:18} {f'{macs / 1e6:.4g}' if macs else '':>7} {row['onnxruntime_ms']:9.3f}", end="")
    for t in row["targets"].values():
        part = f"{100 * t['of_limit']:4.0f}%" if t["of_limit"] else "     "
        print(f" {t['ms']:9.3f} {t['ratio']:6.2f} {part}", end="")
    if any_target:
        kb = [f"{any_target[k] / 1024:.0f}" if any_target[k] is not None else "?" for k in ("arena", "bound")]
        print(f"  {max(t['error'] for t in row['targets'].values()):7.0e}  {kb[0]} / {kb[1]}", end="")
    print(flush=True)


def way_of(level):
    """(C compiler, level) of a word of LEVELS."""
    cc, _, o = level.rpartition(":")
    return [cc] if cc else CC, o


def show_levels(rows, targets):
    """The second table: a row for each model, a column for each target and level; then the slowest model of each column."""
    ways = {f"{t} {' '.join(cc)} {o}": (t, f"{cc[-1].partition('-')[0]} {o}")
            for t in targets for cc, o in map(way_of, LEVELS)}
    ways = {w: title for w, title in ways.items() if any(w in r["levels"] for r in rows)}
    if not ways:
        return
    print(f"\nTime of the C by other compilers and levels, {CC[-1]} -O3 being 1:")
    print(f"{'':18}" + "".join(f" {t if i % len(LEVELS) == 0 else '':9}" for i, (t, _) in enumerate(ways.values())))
    print(f"{'':18}" + "".join(f" {title:9}" for _, title in ways.values()))
    for r in rows:
        levels = [r["levels"].get(w) for w in ways]
        print(f"{r['model']:18}" + "".join(f" {v['ratio']:<9.2f}" if v else f" {'-':9}" for v in levels))
    worst = [max((r["levels"][w]["ratio"], r["model"]) for r in rows if w in r["levels"]) for w in ways]
    print(f"{'slowest':18}" + "".join(f" {ratio:<9.2f}" for ratio, _ in worst))
    print(f"{'':18}" + "".join(f" {name[:9]:9}" for _, name in worst))


def compile_all(m, targets):
    """The models that compile; reports the others."""
    sides = []
    for target, cc, level in [(t, *way) for t in targets for way in [(CC, "-O3"), *map(way_of, LEVELS)]]:
        try:
            c = Compiled(m, target, level, cc)
            if c.sizes():
                raise Failed("sizes", "they vary from call to call, which this host does not pass")
            sides.append(c)
        except Failed as f:
            step, said = f.args
            print(f"{m.name:18} {target} {cc[-1]} {level}: {step}: {said.splitlines()[0][:150]}", flush=True)
    return sides


def main(names):
    FOLDER.mkdir(parents=True, exist_ok=True)
    models = fetch.fetch(names, "bench")
    targets = [t for t in TARGETS if processor_has(t)]
    for level in [level for level in LEVELS if not shutil.which(way_of(level)[0][0])]:
        print(f"{level}: there is no such compiler here")
        LEVELS.remove(level)
    host = FOLDER / "host"
    run("cc", [*CC, "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", HERE / "host.c", "-o", host, "-ldl", "-lm"], 60)
    print(f"{'':18} {'MMAC':>7} {'ORT ms':>9}" + "".join(f" {t[-9:]:>9} {'/ORT':>6} {'limit':>5}" for t in targets)
          + f"  {'error':>7}  arena / bound KB")
    rows = []
    for m in models:
        try:
            rows.append(measure(m, host, compile_all(m, targets)))
            show(rows[-1])
        except Failed as f:
            print(f"{m.name:18} {': '.join(f.args)[:300]}", flush=True)
    means = {}
    for t in targets:
        for kind, quantised in (("float", False), ("8-bit", True)):
            ratios = [r["targets"][t]["ratio"] for r in rows
                      if t in r["targets"] and r["model"].endswith(("_qdq", "_qop")) == quantised]
            if ratios:
                means[f"{t} {kind}"] = math.exp(statistics.fmean(map(math.log, ratios)))
                print(f"{t}, {len(ratios)} {kind} networks: geometric mean {means[f'{t} {kind}']:.2f}, worst {max(ratios):.2f}")
    show_levels(rows, targets)
    (BUILD / "bench.json").write_text(json.dumps({"models": rows, "geometric_mean": means}, indent=1) + "\n")
    return 0 if len(rows) == len(models) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
