"""Runs random programs (programs.py) in the compiler or as C, with random options: target, place of the weights, --single, fixed
sizes; on random, zero, extreme and NaN inputs, of several sizes, also wrong ones. A run must give ONNX Runtime's results, or an error
status; it must write all of its outputs, and nothing else.

usage: programs_run.py BUILD COUNT SEED [--from N] [--cc 'COMMAND'] [--keep FOLDER] [--jobs N] [-v]
       programs_run.py BUILD COUNT SEED --write FOLDER
--cc: the C compiler and its flags; without it the programs are evaluated by onnxcc
--keep: the folder for programs that fail; --write: only writes the models, as FOLDER/NUMBER.onnx
"""

import argparse
import collections
import io
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.inliner import inline_local_functions
from onnx.reference import ReferenceEvaluator

import needed
import operators
import program_containers  # noqa: F401  (registers its steps)
import programs
import rounding
from cache import generated
from plain import session_of

HERE = pathlib.Path(__file__).parent
SECONDS = 600  # scans in scans over all elements take a minute, and as long in ONNX Runtime
MORE = 3  # so much larger than a size is its bound
# What ONNX Runtime refuses at run time, although the standard does not (README, Limits):
REFUSES = (
    "dim0_offset < dim0_size",  # Scan over no rows
    "Invalid num_outputs value",  # Split of an empty axis into two parts
    "pre-allocated output",  # a branch whose results have other sizes than ONNX Runtime inferred
)
# What ONNX Runtime accepts of empty tensors, although the standard does not:
ACCEPTS_EMPTY = ("do not fit beside each other",)
TOO_LARGE = "fits in no memory", "the trip count may be too large", "more than the arena's limit"
NEGATIVE, LARGE = (-1, -(1 << 40), -(1 << 63)), (1 << 31, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1)
EXTREME = {"extreme": [np.inf, -np.inf, 1e-40, -1e-40, 0.0, -0.0, 1.0], "nan": [np.nan],
           "huge": [3.4e38, -3.4e38]}  # their sums depend on the order, so that results need only be defined


# ---- inputs ---- ----------------------------------------------------------------------------------------


def drawn(rng, kind, value, sizes):
    shape = [sizes.get(d, d) for d in value.sizes]
    if value.kind != programs.F:
        return np.asarray(rng.integers(0, 2) if value.kind == programs.B else 0 if kind == "zero" else rng.integers(-6, 7), programs.TYPES[value.kind])
    x = np.zeros(shape) if kind == "zero" else rng.standard_normal(shape).round(2)
    if kind in EXTREME:
        x = np.where(rng.random(shape) < 0.4, rng.choice(EXTREME[kind], shape), x)
    return x.astype(np.float32)


def runs_of(program, fixed, rng):
    """[(what, {word: size}, [inputs])]"""
    runs = []
    for what in "random", "sizes", "zero", "extreme", "huge", "nan", "sizes":
        sizes = {d: int(rng.integers(0, n + MORE + 1)) if what == "sizes" and d not in fixed else n for d, n in program.words.items()}
        runs.append((what, sizes, [drawn(rng, what, v, sizes) for v in program.inputs]))
    left = [d for d in program.words if d not in fixed]
    for wrong in (rng.choice(NEGATIVE), 0, rng.choice(LARGE)) if left else ():
        sizes = dict(program.words)
        d = left[int(rng.integers(len(left)))]
        runs.append(("wrong", {**sizes, d: int(wrong) or bounds_of(program)[d] + 1}, runs[0][2]))
    return runs


def bounds_of(program):
    return {d: n + MORE for d, n in program.words.items()}


TARGETS = ["generic", "plain", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "riscv64", "cortex-m4", "cortex-m55"]


def options_of(program, rng, cc):
    """Draws the options of the command, except those of sizes, and of the C compiler, and the sizes to be fixed."""
    fixed = {d for d in program.words if rng.random() < 0.15}
    gnu = cc and "tcc" not in cc[0]
    here = ["generic", "plain"] + ["x86-64-v3"] * (bool(gnu) and "avx2" in pathlib.Path("/proc/cpuinfo").read_text())
    target = str(rng.choice(here if cc else TARGETS))
    options = ["--target", target]
    options += ["--single"] if rng.random() < 0.3 else []
    options += [f"--weights={rng.choice(['inline', 'incbin'] if (gnu or not cc) and target != 'plain' else ['inline'])}"] if rng.random() < 0.3 else []
    options += ["--report=json"] if rng.random() < 0.1 else []
    return options, [f"-march={target}"] if cc and target.startswith("x86") else [], fixed


class Expected:
    """ONNX Runtime's results; None: none. why: the reason if it refuses the model. unasked: the model would crash it."""

    def __init__(self, program, unasked):
        self.program, self.why, self.session = program, "", None
        if unasked:
            return
        try:
            self.session = session_of(program.model)
        except Exception as e:  # pylint: disable=broad-except
            self.why = str(e)

    def of(self, inputs, session=None, whole=False):
        """The results for these inputs. whole: with the nodes that no result needs."""
        session = session or self.session
        feed = {v.name: x for v, x in zip(self.program.inputs, inputs)}
        try:
            return session.run(None, feed) if session else None
        except Exception as e:  # pylint: disable=broad-except
            self.why = str(e)
            if whole or session is not self.session:
                return None
            sizes = {name: x.shape for name, x in feed.items()}
            return self.of(inputs, session_of(needed.needed(self.program.model, sizes, lambda m, name: self.value(m, name, feed))))

    @staticmethod
    def value(model, name, feed):
        """The value `name` in a run of the model; None: it cannot be computed."""
        alone = onnx.ModelProto()
        alone.CopyFrom(model)
        del alone.graph.output[:]
        alone.graph.output.add(name=name)
        try:
            sizes = {name: x.shape for name, x in feed.items()}
            return session_of(needed.needed(alone, sizes, lambda *_: None)).run(None, feed)[0]
        except Exception:  # pylint: disable=broad-except
            return None

    def hangs_on_rounding(self, inputs, want):
        """Does the result change if sums and approximated functions have other last bits?"""
        return any((y := self.of(inputs, session_of(m))) is None or differs(y, want) for m in rounding.others(self.program.model))

    def of_other_bits(self, inputs, got):
        """Is `got` the result with other last bits, although with these there is none?"""
        others = (self.of(inputs, session_of(m)) for m in rounding.others(self.program.model))
        return any(y is not None and not differs(got, y) for y in others)

    def is_refused_by_reference(self, inputs):
        """Does onnx's reference refuse these inputs?"""
        try:
            ReferenceEvaluator(self.program.model).run(None, {v.name: x for v, x in zip(self.program.inputs, inputs)})
        except Exception:  # pylint: disable=broad-except
            return True
        return False

    def by_others(self, inputs):
        """The results of other evaluators, as far as they have any: of onnx's reference, and of ONNX Runtime after onnx has inlined the
        functions; ONNX Runtime inlines a function wrongly that is called both by a function's body and outside."""
        feed = {v.name: x for v, x in zip(self.program.inputs, inputs)}
        for run in (lambda: ReferenceEvaluator(self.program.model).run(None, feed),
                    lambda: session_of(inline_local_functions(self.program.model)).run(None, feed)):
            try:
                yield [np.asarray(y) for y in run()]
            except Exception:  # pylint: disable=broad-except
                pass


def differs(got, want):
    """Where a result differs from the expected one; "": nowhere."""
    for i, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape:
            return f"output {i} has the shape {list(a.shape)} instead of {list(b.shape)}"
        with np.errstate(all="ignore"):
            finite = np.abs(b[np.isfinite(b)]).max(initial=0)
            same = np.isclose(a, b, rtol=1e-3, atol=1e-5 * (1 + float(finite)), equal_nan=True)
        if not same.all():
            k = int(np.flatnonzero(~same.ravel())[0])
            return f"output {i} element {k} is {a.ravel()[k]} instead of {b.ravel()[k]}"
    return ""


# ---- in the compiler ------------------------------------------------------------------------------------------------------


class Rejected(Exception):
    pass


class Failed(Exception):
    pass


def command(arguments, **more):
    try:
        return subprocess.run(arguments, capture_output=True, timeout=SECONDS, **more)
    except subprocess.TimeoutExpired as e:
        raise Failed(f"more than {SECONDS} s: {' '.join(map(str, arguments))}") from e


def compiled(onnxcc, program, folder, options, fixed):
    """The sizes that it takes, as the compiler's help has them."""
    dims = [x for d, n in bounds_of(program).items() for x in ("--dim", f"{d}={program.words[d]}" if d in fixed else f"{d}<={n}")]
    for _ in range(6):
        p = command([onnxcc, folder / "m.onnx", "-o", folder / "m.c", "--prefix", "m", *options, *dims])
        said = p.stderr.decode()
        asked = sorted(set(re.findall(r"--dim '(.*)<=64'", said)))
        if p.returncode == 1 and asked:
            dims += [x for d in asked for x in ("--dim", f"{d}<=24")]
        elif p.returncode == 1:
            raise Rejected(said)
        elif p.returncode:
            raise Failed(f"exit {p.returncode} of onnxcc {' '.join([*options, *dims])}: {said}")
        else:
            return dims
    raise Rejected(said)


def evaluated(onnxcc, program, folder, dims, inputs):
    """The results by --eval; None: an error status."""
    for i, x in enumerate(inputs):
        (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    p = command([onnxcc, folder / "m.onnx", "--eval", folder, "--eval-out", folder, *dims])
    if p.returncode == 1:
        return None
    if p.returncode:
        raise Failed(f"exit {p.returncode} of --eval: {p.stderr.decode()}")
    return [numpy_helper.to_array(onnx.TensorProto.FromString((folder / f"actual_{i}.pb").read_bytes())) for i in range(len(program.outputs))]


# ---- as C -----------------------------------------------------------------------------------------------------------------


def commas(text):
    """The parts between commas outside of parentheses."""
    parts, depth = [""] if text else [], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


class Interface:
    def __init__(self, header, program):
        self.header = header
        self.sizes = re.findall(r"int64_t (\w+); /\* (set by the caller|written: dimension (\d+) of (\w+))", header)
        names = re.findall(r"^/\* (in|out)put .*\n#define M_(\w+)_SIZE", header, re.M)
        self.inputs = [n for kind, n in names if kind == "in"]
        self.outputs = [n for kind, n in names if kind == "out"]
        number = {k: int(v) for k, v in re.findall(r"#define M_(\w+) (\d+)", header)}
        self.bytes = [number[f"{n}_BYTES"] for n in self.outputs]
        self.arena = number["ARENA_BYTES"]
        texts = re.findall(r'^/\* output ".*?": \w+ \[(.*)', header, re.M)  # for a size that the run does not set, the caller's or a constant: the bound
        bounds = dict(re.findall(r"#define M_(\w+)_DIMS \{ (.*) \}", header))
        self.dims = []
        for n, text in zip(self.outputs, texts):
            bound = [int(d) for d in bounds[n].split(",")][: number[f"{n}_RANK"]]
            names = commas(text.split("] */")[0]) + [""] * len(bound)
            self.dims.append([d if d in program.words else b for d, b in zip(names, bound)])

    def program(self):
        given = ["arena", *(f"in[{i}]" for i in range(len(self.inputs))), *(f"out[{i}]" for i in range(len(self.outputs)))]
        lines = ['#include "m.c"', f"enum {{ ARENA = {self.arena}, N_IN = {len(self.inputs)}, N_OUT = {len(self.outputs)}, N_SIZES = {len(self.sizes)} }};",
                 f"static const unsigned long out_bytes[] = {{{', '.join(map(str, self.bytes))}}};",
                 "static int call(void *arena, void **in, void **out, int64_t *size)", "{", "    (void)in, (void)size;"]
        if self.sizes:
            lines += ["    struct m_sizes s;", *(f"    s.{s[0]} = size[{i}];" for i, s in enumerate(self.sizes)),
                      f"    int status = m_run_at({', '.join([*given, '&s'])});", *(f"    size[{i}] = s.{s[0]};" for i, s in enumerate(self.sizes)),
                      "    return status;"]
        else:
            lines.append(f"    return m_run_at({', '.join(given)});")
        return "\n".join([*lines, "}", f'#include "{HERE}/program_host.c"', ""])


def results_of(interface, program, model, sizes, raw):
    """(status, results) of the next call in raw."""
    status = struct.unpack("i", raw.read(4))[0]
    after = struct.unpack(f"{len(interface.sizes)}q", raw.read(8 * len(interface.sizes)))
    written = {(name, int(axis)): n for (_, _, axis, name), n in zip(interface.sizes, after) if axis}
    results = []
    for i, (v, dims) in enumerate(zip(program.outputs, interface.dims)):
        data = raw.read(interface.bytes[i])
        shape = [written.get((model[i], k), sizes.get(d, d)) for k, d in enumerate(dims)]
        if status:
            continue
        kind = np.dtype(helper.tensor_dtype_to_np_dtype(v.kind))
        n = int(np.prod(shape))
        if min(shape, default=0) < 0 or n * kind.itemsize > len(data):
            raise Failed(f"output {i} has the shape {shape}")
        results.append(np.frombuffer(data[: n * kind.itemsize], kind).reshape(shape))
    return status, results


def as_c(cc, include, program, folder, runs):
    interface = Interface((folder / "m.h").read_text(), program)
    (folder / "main.c").write_text(interface.program())
    p = command([*cc, f"-I{include}", "-o", folder / "main", folder / "main.c", "-lm"])
    if p.returncode:
        raise Failed(f"the C compiler: {p.stderr.decode()}")
    raw = [struct.pack("i", len(runs))]
    for _, sizes, inputs in runs:
        raw += [struct.pack("q", sizes.get(name, 0)) for name, *_ in interface.sizes]
        raw += [struct.pack("q", x.nbytes) + x.tobytes() for x in inputs]
    p = command([folder / "main"], input=b"".join(raw), env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    if p.returncode:
        raise Failed(f"exit {p.returncode} of the program: {p.stderr.decode()[:2000]}")
    raw = io.BytesIO(p.stdout)
    names = [n.lower() for n in interface.outputs]
    out = []
    for what, sizes, _ in runs:
        (status, first), (again, second) = (results_of(interface, program, names, sizes, raw) for _ in range(2))
        if status != again:
            raise Failed(f"{what}: the status is {status}, then {again}")
        for i, (a, b) in enumerate(zip(first, second)):
            if a.tobytes() != b.tobytes():
                raise Failed(f"{what}: output {i} is not written, or depends on what was there before")
        out.append(None if status else first)
    return out


# ---- one program ----------------------------------------------------------------------------------------------------------


def judge(way, what, got, want, program, expected, inputs, counts):
    if what == "wrong":
        if got is not None:
            raise Failed(f"{way}: a size outside its bounds, and no status")
        counts["wrong sizes refused"] += 1
    elif got is None:
        counts["a status" if want is not None else "a status, as ONNX Runtime's"] += 1
        if want is not None:
            counts[f"a status on {what}"] += 1
    elif want is None:
        said = expected.why
        refused = not expected.session or any(x in said for x in REFUSES)
        if what != "huge" and not refused and not expected.of_other_bits(inputs, got):
            raise Failed(f"{way}, {what}: a result where ONNX Runtime has none: {said[-300:]}")
        why = next((x for x in REFUSES if x in said), "huge numbers" if what == "huge" else "its own reason")
        counts[f"a result where ONNX Runtime has none: {why}"] += 1
    else:
        loose = what == "huge"
        said = "" if loose else differs(got, want)
        if said:
            if expected.hangs_on_rounding(inputs, want):
                counts["hangs on the order of a sum"] += 1
            elif not all(differs(got, other) for other in expected.by_others(inputs)):
                counts["as the reference has it, not ONNX Runtime"] += 1
            else:
                raise Failed(f"{way}, {what}: {said}")
        counts["defined" if loose else "equal"] += 1


def rejected(said, expected, runs, counts):
    """Checks that the program was rejected for a reason: no run can succeed, or it is too large."""
    counts["rejected"] += 1
    counts["rejected: " + re.sub(r"\d+", "N", said.split("\n")[0])[:100]] += 1
    for what, sizes, x in runs:
        empty = any(words in said for words in ACCEPTS_EMPTY) and (0 in sizes.values() or expected.is_refused_by_reference(x))
        if what != "wrong" and not empty and not any(words in said for words in TOO_LARGE) and expected.of(x, whole=True) is not None:
            raise Failed(f"rejected, and ONNX Runtime gives a result on {what}: {said}")


def one(arguments, number, unasked):
    """(what failed or "", counts)"""
    counts, options = collections.Counter(), []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="program-"))
    build = pathlib.Path(arguments.build).resolve()
    try:
        rng = np.random.default_rng([arguments.seed, number])
        program = programs.Program(operators.Maker(rng))
        onnx.save(program.model, folder / "m.onnx")
        cc = arguments.cc.split()
        options, flags, fixed = options_of(program, rng, cc)
        runs = runs_of(program, fixed, rng)
        expected = Expected(program, unasked)
        if not expected.session:
            counts["ONNX Runtime " + ("dies of it" if unasked else "refuses it")] += 1
        try:
            dims = compiled(build / "onnxcc", program, folder, options, fixed)
        except Rejected as e:
            rejected(str(e), expected, runs, counts)
            return "", counts
        counts["compiled"] += 1
        want, why = [], []
        for what, _, x in runs:
            want.append(expected.of(x) if what != "wrong" else None)
            why.append(expected.why)
        ways = {}
        in_compiler = runs if not arguments.cc or arguments.verbose else []
        ways["in the compiler"] = [evaluated(build / "onnxcc", program, folder, dims, x) for what, _, x in in_compiler if what != "wrong"]
        if cc:
            ways["as C"] = as_c([*cc, *flags], build / "include", program, folder, runs)
        for way, results in ways.items():
            for (what, _, x), got, y, expected.why in zip(runs, results, want, why):
                judge(way, what, got, y, program, expected, x, counts)
        return "", counts
    except Failed as e:
        if arguments.keep:
            shutil.copytree(folder, f"{arguments.keep}/{arguments.seed}-{number}", dirs_exist_ok=True)
        return f"{arguments.seed} {number}: {e} ({' '.join(options)})", counts
    except Exception:  # pylint: disable=broad-except - an error in this script
        return f"{arguments.seed} {number}: {traceback.format_exc()}", counts
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def work(arguments, numbers, unasked, pipe):
    for number in numbers:
        pipe.send((number, None))
        pipe.send((number, one(arguments, number, number == unasked)))


def all_of(arguments, numbers):
    """(what failed, counts) of each. If ONNX Runtime crashes, another process continues with that program, without ONNX Runtime."""
    start = multiprocessing.Process
    left, running = [list(numbers[k :: arguments.jobs]) for k in range(arguments.jobs)], {}
    last, unasked = [None] * arguments.jobs, [None] * arguments.jobs
    while any(left) or running:
        for k, rest in enumerate(left):
            if rest and k not in running:
                here, there = multiprocessing.Pipe(False)
                running[k] = here, start(target=work, args=(arguments, list(rest), unasked[k], there))
                running[k][1].start()
                there.close()
        for here in multiprocessing.connection.wait([here for here, _ in running.values()]):
            k = next(k for k, (h, _) in running.items() if h is here)
            try:
                number, result = here.recv()
                if result is None:
                    left[k].remove(number)
                    last[k] = number
                else:
                    last[k] = None
                    yield result
            except EOFError:
                running.pop(k)[1].join()
                if last[k] is not None and last[k] == unasked[k]:
                    yield f"{arguments.seed} {last[k]}: the test dies of it", collections.Counter()
                elif last[k] is not None:
                    left[k].insert(0, last[k])
                    unasked[k] = last[k]


def write(arguments):
    sources = [HERE / f for f in ("programs.py", "program_containers.py", "operators.py")]
    with generated(arguments.write, sources, f"{arguments.count} of {arguments.seed}") as new:
        for number in range(arguments.count) if new else ():
            program = programs.Program(operators.Maker(np.random.default_rng([arguments.seed, number])))
            onnx.save(program.model, os.path.join(new, f"{number}.onnx"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--cc", default="")
    parser.add_argument("--write", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-v", action="store_true", dest="verbose")
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments)
        return
    total, failed = collections.Counter(), 0
    for said, counts in all_of(arguments, range(arguments.first, arguments.first + arguments.count)):
        total += counts
        if said:
            failed += 1
            print("FAIL", said, flush=True)
    for what, n in sorted(total.items()) if arguments.verbose else ():
        print(f"programs: {n} {what}")
    print(f"programs: {arguments.count} of seed {arguments.seed}: {total['compiled']} compiled, {total['rejected']} rejected; "
          f"{total['equal']} runs equal ONNX Runtime's, {total['a status']} have a status instead")
    print(f"programs: {arguments.count - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
