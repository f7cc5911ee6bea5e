"""The rows of the format's specification: models for each row, their expected outcome, and results that were computed by hand (or
numpy) from the specification, never by onnxcc. Prints the differences, and which rows are covered and held.

A .spec file is text. A line begins with a keyword; lines indented by four spaces continue it:
    row ID TITLE     a new case of the row ID; indented: the model (in the syntax of onnx.parser); a row may have several cases
    model B1         instead: a model to start from, one of MODELS (default B0)
    for V in LIST    a case for each item
    edit PYTHON      changes the model m, or sets data (the bytes of m.onnx), or writes files
    with ARGUMENTS   options of onnxcc
    in NAME = VALUE  an input (others get generated numbers)
    out VAR = VALUE  the expected value of a result, or of an expression of results and, by their names, inputs
    file NAME        the name of the model's file, if not m.onnx; again: the C is the same from another folder and in another locale
    includes FILES   C headers that the program includes first; pedantic, trigraphs: these warnings are errors
    by C             runs the emitted C, built by gcc, instead of --eval; `by C PYTHON`: statements that call run(), and may assert
    function C       the definitions of custom operators: a C file that includes the header, linked with the emitted C
    status NAME      run returns ..._NAME, by C
    error CODE TEXT  rejected, with this code (none, or *: any), and the text in the message
    warns CODE TEXT  accepted, with this warning; without such a line: without warnings
    strict CODE TEXT with --strict: rejected with this code; `strict` alone: accepted without warnings
    same PYTHON      this change of the model gives the same C, except comments;  differs PYTHON: other C
    c REGEX, h REGEX, dump REGEX   must match in the C, the header, the parsed graph; not REGEX: must match in neither C nor header
    see NAME         a case of tests/error
    none WHY         the row requires nothing of a compiler
    learn PYTHON     with --training: statements on m, the emitted C as an object of tests/training/learner.py; may assert
"""
import ctypes
import fnmatch
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import traceback

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "error"))
import run as errors  # noqa: E402
sys.path.insert(0, str(HERE.parent / "training"))
from learner import Learner  # noqa: E402

# The number of rows in each group; DTY's are numbered from 0, others from 1.
ROWS = {"CON": 7, "VER": 16, "MOD": 11, "SEM": 7, "MET": 10, "OPS": 21, "GRA": 18, "NAM": 16, "IO": 19, "VIN": 9, "NOD": 15,
        "OPT": 17, "ATT": 28, "FUN": 39, "SUB": 27, "TRN": 28, "DTY": 34, "ENC": 17, "EXT": 18, "SPA": 15, "TYP": 15,
        "SHP": 21, "INF": 11, "DEN": 3, "QNT": 3, "DEV": 6, "PB": 12, "EMI": 8}
IDS = [f"{group}-{i:02}" for group, n in ROWS.items() for i in range(group != "DTY", n + (group != "DTY"))]

ONNXCC = os.path.abspath(os.path.join(os.environ.get("B", "build"), "onnxcc"))
LISTS = ("out", "in", "error", "warns", "strict", "same", "differs", "c", "h", "dump", "not", "see")
WORDS = LISTS + ("model", "function", "edit", "for", "with", "file", "includes", "pedantic", "trigraphs", "again", "by", "status", "none", "learn")
C_TYPES = {"float": np.float32, "double": np.float64, "onnxcc_string": None}


class Case:
    def __init__(self, file, line, name):
        self.file, self.line = file, line
        self.row, _, self.title = name.partition(" ")
        self.parts, self.text = [], ""

    def filled(self, space):
        """The case with $V replaced by the value of its `for`."""
        def fill(text):
            return re.sub(r"\$(\w+)", lambda v: str(space[v[1]]) if v[1] in space else v[0], text)

        case = Case(self.file, self.line, f"{self.row} {self.title}")
        case.parts, case.text = [(word, fill(rest)) for word, rest in self.parts], fill(self.text)
        return case

    def all(self, word):
        return [rest for w, rest in self.parts if w == word]

    def one(self, word, default=None):
        return (self.all(word) or [default])[0]


def read_cases(file):
    cases, inside = [], None
    for i, line in enumerate(file.read_text().split("\n")):
        word, _, rest = line.partition(" ")
        if line.startswith("    ") and inside == "row":
            cases[-1].text += line + "\n"
        elif line.startswith("    "):
            cases[-1].parts[-1] = (inside, cases[-1].parts[-1][1] + "\n" + line[4:])
        elif word == "row":
            cases.append(Case(file, i + 1, rest))
            inside = word
            if cases[-1].row not in IDS:
                raise SystemExit(f"{file}:{i + 1}: there is no row {cases[-1].row}")
        elif word in WORDS:
            cases[-1].parts.append((word, rest))
            inside = word
        elif word and not word.startswith("#"):
            raise SystemExit(f"{file}:{i + 1}: {word}?")
    return cases


# ---- models and values ------------------------------------------------------------------------------------------------------


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def tensor(value, dtype=None, name="t", **fields):
    """A TensorProto; `fields` are set, or added to its lists, in place of raw data."""
    t = numpy_helper.from_array(np.asarray(value, dtype), name)
    if fields:
        t.ClearField("raw_data")
    for key, v in fields.items():
        getattr(t, key).extend(v) if isinstance(v, list) else setattr(t, key, v)
    return t


def external(t, file="w.bin", **entries):
    """Moves a tensor's data into a file."""
    data = t.raw_data or numpy_helper.to_array(t).tobytes()
    for field in ("raw_data", "float_data", "int32_data", "int64_data"):
        t.ClearField(field)
    t.data_location = TensorProto.EXTERNAL
    if not os.path.exists(file):
        pathlib.Path(file).write_bytes(data)
    for key, v in {"location": file, **entries}.items():
        t.external_data.add(key=key, value=str(v))


def train(m):
    """The training of y = x * w, w = 3: one step is w - lr * (y - t) * x."""
    t = m.training_info.add()
    t.initialization.CopyFrom(onnx.parser.parse_graph("init () => (float o) { o = Constant <value_float = 7.0> () }"))
    t.initialization_binding.add(key="w", value="o")
    t.algorithm.CopyFrom(onnx.parser.parse_graph(
        "step (float t, float lr) => (float wn) { e = Sub(y, t)  g = Mul(e, x)  d = Mul(lr, g)  wn = Sub(w, d) }"))
    t.update_binding.add(key="w", value="wn")
    return t


def sum_of_negatives(g, names):
    """A model of y = -x0 - x1 ...; names: of the inputs, float[2]; other values are named similarly."""
    for n in names:
        g.input.append(helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]))
        g.node.append(node("Neg", [n], [n + "."]))
    g.node.append(node("Sum", [n + "." for n in names], ["y"]))


def clean(m, *fields):
    for f in fields:
        m.ClearField(f)


def changed(m, python, space=None):
    """The model m after these statements, which may also set data."""
    copy = onnx.ModelProto()
    copy.CopyFrom(m)
    names = {"m": copy, "g": copy.graph, "data": None, "onnx": onnx, "helper": helper, "np": np, "wire": errors.wire, "train": train,
             "parse": onnx.parser, "numpy_helper": numpy_helper, "TensorProto": TensorProto, "os": os, "external": external,
             "clean": clean, "sum_of_negatives": sum_of_negatives, "node": node, "tensor": tensor, "ml": ml_dtypes, "path": pathlib.Path, **(space or {})}
    exec(textwrap.dedent(python), names)
    return names["m"], names["data"]


def made_up(v):
    """Generated values for an input: small, of both signs; open sizes are 2."""
    t = v.type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") else 2 for d in t.shape.dim]
    n = int(np.prod(shape))
    x = np.arange(1, n + 1) * 7 % 11 - 5
    kind = helper.tensor_dtype_to_np_dtype(t.elem_type)
    if t.elem_type == TensorProto.STRING:
        return np.array([f"s{k}" for k in x], object).reshape(shape)
    return (x % 2 if kind == bool else x % 4 if kind.kind == "u" else x).astype(kind).reshape(shape)


def equal(got, want):
    got = np.asarray(got)
    want = np.asarray(want)
    if got.dtype == object or want.dtype.kind in "OSU":
        text = [[v.encode() if isinstance(v, str) else bytes(v) for v in a.ravel()] for a in (got, want)]
        return got.shape == want.shape and text[0] == text[1]
    if got.shape != want.shape:
        return False
    if got.dtype.kind in "biu" and want.dtype.kind in "biu":
        return bool((got == want).all())
    wide = complex if got.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore"):    # casts of NaNs
        return np.allclose(got.astype(wide), want.astype(wide), rtol=2e-6, atol=1e-7, equal_nan=True)


# ---- one case -----------------------------------------------------------------------------------------------------------------


class Wrong(Exception):
    pass


def apart(work):
    """Runs a function in a separate process, as it may crash or hang."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(60)
        wrong = None
        try:
            work()
        except Wrong as e:
            wrong = str(e)
        except Exception as e:
            where = [f" in line {t.lineno} of it" for t in traceback.extract_tb(e.__traceback__) if t.filename == "<string>"]
            wrong = f"{type(e).__name__}: {e}{''.join(where)}"
        os.write(into, (wrong or "").encode()[:4000])
        os._exit(0)
    os.close(into)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(out, "rb") as f:
        wrong = f.read().decode(errors="replace")
    if wrong or status:
        raise Wrong(wrong or f"the run ends by signal {status}")


def plain(text):
    """C without its comments."""
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


class Trial:
    """One case with one value of its `for`, in a folder."""

    def __init__(self, case, folder, space):
        self.case, self.folder, self.space = case.filled(space), folder, space
        case = self.case
        self.file = case.one("file", "m.onnx")
        text = case.text or errors.MODELS[case.one("model", "B0")]
        self.m = onnx.parser.parse_model(text)
        data = None
        for python in case.all("edit"):
            self.m, data = changed(self.m, python, {**space, **({"data": data} if data is not None else {})})
        if data is not False:
            pathlib.Path(folder, "m.onnx").write_bytes(data if data is not None else self.m.SerializeToString())

    def eval(self, python, **names):
        return eval(python.strip(), {"np": np, "ml": ml_dtypes, "m": self.m, "helper": helper, "TensorProto": TensorProto, **self.space, **names})

    def onnxcc(self, *arguments):
        training = ["--training"] * bool(self.case.all("learn"))
        p = errors.run_one(ONNXCC, self.case_limits, self.folder, " ".join([self.file, self.case.one("with", ""), *training, *arguments]))
        return p.returncode, p.stderr.decode(errors="backslashreplace"), p.stdout.decode(errors="backslashreplace")

    class case_limits:
        limit = None

    def expect(self, codes, said, what):
        """Checks that the messages have exactly these codes, and contain their texts."""
        found = [f for f in re.findall(rf"^{what}(?:\[(.*?)\])?: (.*(?:\n(?!error|warning).*)*)", said, flags=re.M) if "; no file written" not in f[1]]
        for want in codes:
            code, _, text = want.partition(" ")
            if not any(code in (c, "*", "") and text.strip() in message for c, message in found):
                raise Wrong(f"no {what} {code} {text}; it says\n{said or '(nothing)'}")
        known = [w.split(" ")[0] for w in codes]
        extra = [c for c, _ in found if c not in known and "*" not in known and "" not in known]
        if extra:
            raise Wrong(f"{what} {extra[0]} was not expected:\n{said}")

    def compiled(self):
        """(the C, the header), with --prefix m."""
        code, said, _ = self.onnxcc("-o m.c --prefix m")
        if code:
            raise Wrong(f"exit {code}:\n{said}")
        c, h = (pathlib.Path(self.folder, f).read_text(errors="replace") for f in ("m.c", "m.h"))
        return c, h, said

    def rejected(self):
        before = set(os.listdir(self.folder))
        code, said, _ = self.onnxcc("-o m.c --prefix m")
        if code != 1:
            raise Wrong(f"exit {code}, 1 was expected:\n{said}")
        self.expect(self.case.all("error"), said, "error")
        if set(os.listdir(self.folder)) != before:
            raise Wrong("files are left behind")

    def values(self):
        names = {}
        for line in self.case.all("in"):
            name, _, value = line.partition(" = ")
            names[name.strip()] = self.eval(value, **names)
        for v in self.m.graph.input:
            if v.name not in names and v.type.HasField("tensor_type"):
                names[v.name] = made_up(v)
            elif v.name in names and v.type.HasField("tensor_type") and names[v.name] is not None:
                kind = helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type)
                names[v.name] = np.asarray(names[v.name], None if kind == object else kind)
        return names

    def by_eval(self, names):
        """The results, computed by onnxcc."""
        for i, v in enumerate(self.inputs):
            x = names[v]
            message = helper.make_tensor("", TensorProto.STRING, x.shape, list(x.ravel())) if x.dtype == object else numpy_helper.from_array(x)
            pathlib.Path(self.folder, f"input_{i}.pb").write_bytes(message.SerializeToString())
        code, said, _ = self.onnxcc("--eval . --eval-out .")
        if code:
            raise Wrong(f"--eval: exit {code}:\n{said}")
        results = []
        for i in range(len(self.m.graph.output)):
            if pathlib.Path(self.folder, f"actual_{i}.pb").exists():
                results.append(numpy_helper.to_array(onnx.load_tensor(os.path.join(self.folder, f"actual_{i}.pb"))))
        return dict(zip([v.name for v in self.m.graph.output], results))

    @property
    def inputs(self):
        held = {t.name for t in self.m.graph.initializer} if self.m.ir_version < 4 else set()
        return [v.name for v in self.m.graph.input if v.name not in held]

    def check_results(self, names, results):
        for line in self.case.all("out"):
            got, _, want = line.partition(" = ")
            want = self.eval(want, **names)
            have = self.eval(got, **{**names, **results})
            if not equal(have, want):
                raise Wrong(f"{got} is\n{have!r}\ninstead of\n{want!r}")

    def check_other(self, word, python, c, h):
        m, data = changed(self.m, python, self.space)
        pathlib.Path(self.folder, "other.onnx").write_bytes(data if data is not None else m.SerializeToString())
        pathlib.Path(self.folder, "m.onnx").rename(os.path.join(self.folder, "first.onnx"))
        pathlib.Path(self.folder, "other.onnx").rename(os.path.join(self.folder, "m.onnx"))
        c2, h2, _ = self.compiled()
        pathlib.Path(self.folder, "first.onnx").rename(os.path.join(self.folder, "m.onnx"))
        if (plain(c) + plain(h) == plain(c2) + plain(h2)) != (word == "same"):
            raise Wrong(f"{'other' if word == 'same' else 'the same'} C after {python.strip()}")

    def accepted(self):
        c, h, said = self.compiled()
        self.expect(self.case.all("warns"), said, "warning")
        for word, pattern in self.case.parts:
            if word in ("c", "h") and not re.search(pattern, c if word == "c" else h):
                raise Wrong(f"{word} {pattern}: not found")
            if word == "not" and re.search(pattern, c + h):
                raise Wrong(f"not {pattern}: found")
            if word in ("same", "differs"):
                self.check_other(word, pattern, c, h)
        if self.case.all("again"):
            self.file = "sub/m.onnx"
            os.environ["LC_ALL"] = "de_DE.UTF-8"
            if self.compiled()[:2] != (c, h):
                raise Wrong("other C from another folder")
        for pattern in self.case.all("dump"):
            _, out, _ = self.onnxcc("-d p -o dump.c")
            if not re.search(pattern, out):
                raise Wrong(f"dump {pattern}: not found in\n{out}")
        if self.case.one("learn") is not None:
            apart(lambda: self.learn(h))
        elif self.case.one("by") is not None:
            apart(lambda: self.run_c(h))
        elif self.case.all("out"):
            names = self.values()
            self.check_results(names, self.by_eval(names))

    # ---- as C ------------------------------------------------------------------------------------------------------------

    def build(self):
        code, said, _ = self.onnxcc("-o s.c --prefix m --single")
        if code:
            raise Wrong(f"--single: exit {code}:\n{said}")
        first = [f"-include{h}" for h in self.case.one("includes", "").split()]
        if self.case.all("pedantic") or self.case.all("trigraphs"):
            first += ["-pedantic-errors", "-Werror=comment"] + ["-trigraphs", "-Werror=trigraphs"] * bool(self.case.all("trigraphs"))
        own = self.case.one("function", "")
        pathlib.Path(self.folder, "own.c").write_text(f'#include "s.h"\n{own}\n')
        command = ["gcc", "-std=c99", "-O0", "-w", "-shared", "-fPIC", *first, "s.c", *["own.c"] * bool(own), "-o", "s.so"]
        p = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if p.returncode:
            raise Wrong(f"the C does not compile:\n{p.stderr}")
        return ctypes.CDLL(os.path.join(self.folder, "s.so"))

    def learn(self, h):
        lib = self.build()
        exec(self.case.one("learn"), {"np": np, "equal": equal, "f": np.float32, "m": Learner(lib, h), "lib": lib, "h": h, **self.space})

    def run_c(self, h):
        lib = self.build()
        declared = re.search(r"\bint m_run\((.*?)\);", h, re.S)[1]
        parameters = re.findall(r"(const )?(?:struct )?(\w+) \*(\w+)", declared)
        fields = re.findall(r"^    int64_t (\w+);", h, flags=re.M)
        macros = dict(re.findall(r"^#define M_(\w+) (\d+)", h, flags=re.M))

        def run(*order, sizes=None, **given):
            """(status, {output: array}); sizes={...} sets the sizes of inputs, and afterwards has those of outputs."""
            sizes = {} if sizes is None else sizes
            given.update(zip([name for const, _, name in parameters if const], order))
            room = (ctypes.c_int64 * (len(fields) + 1))(*[sizes.get(f, 0) for f in fields])
            actual, results, keep = [], {}, []
            for const, kind, name in parameters:
                if kind == "m_sizes":
                    actual.append(ctypes.byref(room))
                elif const:
                    x = given[name]
                    keep.append(x if x is None else np.ascontiguousarray(x))
                    actual.append(x if x is None else ctypes.c_void_p(keep[-1].ctypes.data))
                else:
                    dtype = C_TYPES.get(kind) or np.dtype(kind.removesuffix("_t"))
                    results[name] = np.full(int(macros[name.upper() + "_BYTES"]) // np.dtype(dtype).itemsize, 77, dtype)
                    actual.append(ctypes.c_void_p(results[name].ctypes.data))
            status = lib.m_run(*actual)
            sizes.update(zip(fields, room))
            for v in self.m.graph.output:
                shape = [d.dim_value if d.HasField("dim_value") else sizes.get(f"{v.name}_dim{i}", sizes.get(d.dim_param))
                         for i, d in enumerate(v.type.tensor_type.shape.dim)]
                if not status and v.name in results and v.type.tensor_type.HasField("shape") and None not in shape:
                    results[v.name] = results[v.name][:int(np.prod(shape))].reshape(shape)
            return status, results

        run.lib, run.macros, run.prototype, run.fields, run.pointer = lib, macros, declared, fields, ctypes.c_void_p
        names = self.values()
        statuses = dict(re.findall(r"M_(\w+) = (\d+)", re.search(r"enum \{(.*?)\};", h)[1]))
        python = self.case.one("by")[1:].strip()
        if python:
            exec(python, {"np": np, **{k: int(v) for k, v in statuses.items()}, **names, "run": run, "m": self.m, "equal": equal, **self.space})
            return
        sizes = {d.dim_param: names[v.name].shape[i] for v in self.m.graph.input if v.type.HasField("tensor_type") and names[v.name] is not None
                 for i, d in enumerate(v.type.tensor_type.shape.dim) if d.dim_param}
        sizes.update({k: v for k, v in names.items() if k in fields})
        status, results = run(sizes=sizes, **{k: v for k, v in names.items() if k not in fields})
        if status != int(statuses[self.case.one("status", "OK")]):
            raise Wrong(f"the run returns {status}, not {self.case.one('status', 'OK')}")
        if not status:
            self.check_results({**names, **sizes}, results)

    # ---- all of it ----------------------------------------------------------------------------------------------------------

    def check(self):
        if self.case.all("error"):
            self.rejected()
        else:
            self.accepted()
        for want in self.case.all("strict"):
            code, said, _ = self.onnxcc("-o strict.c --strict")
            if code != bool(want):
                raise Wrong(f"--strict: exit {code}:\n{said}")
            self.expect([want] if want else [], said, "error")


def see(name):
    """What is wrong with the cases of tests/error whose names begin with `name`, or None."""
    found = [c for f in sorted((HERE.parent / "error").glob("*.case")) for c in errors.read_cases(f) if c.name.startswith(name)]
    wrong = [f"tests/error, {c.name}: " + "; ".join(p) for c in found for p in [errors.check(ONNXCC, c)[0]] if p]
    return "\n".join(wrong) if found else f"tests/error has no case {name}"


def problem(case):
    """What is wrong with a case, or None."""
    for name in case.all("see"):
        wrong = see(name)
        if wrong:
            return wrong
    if case.all("see") or case.all("none"):
        return None
    name, _, values = case.one("for", "_ in [0]").partition(" in ")
    for v in eval(values, {"np": np, "TensorProto": TensorProto}):
        space = dict(zip(name.split(", "), v)) if ", " in name else {name: v}
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                Trial(case, folder, space).check()
            except Wrong as e:
                return f"{name} = {v!r}: {e}" if case.one("for") else str(e)
            except Exception as e:
                return f"{name} = {v!r}: {type(e).__name__}: {e}"
            finally:
                os.chdir(here)
    return None


def rows_of(cases, word):
    return {c.row for c in cases if c.all(word)}


def main():
    patterns = sys.argv[1:] or ["*"]
    cases = [c for f in sorted(HERE.glob("*.spec")) for c in read_cases(f)]
    chosen = [c for c in cases if any(fnmatch.fnmatch(c.row, p) for p in patterns)]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        found = pool.map(problem, chosen, chunksize=4)
    for case, wrong in zip(chosen, found):
        if wrong:
            print(f"{case.file.name}:{case.line}: {case.row} {case.title}\n" + textwrap.indent(wrong.rstrip("\n"), "  "))
    covered = {c.row for c in chosen} - rows_of(cases, "none")
    held = covered - {c.row for c, wrong in zip(chosen, found) if wrong}
    missing = [i for i in IDS if i not in {c.row for c in cases}]
    if patterns == ["*"] and missing:
        print("no case for", *missing)
    print(f"rows covered {len(covered)} of {len(IDS) - len(rows_of(cases, 'none'))}, held {len(held)}; "
          f"{len(rows_of(cases, 'none'))} ask nothing of a compiler")
    failed = sum(map(bool, found))
    print(f"spec: {len(found) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
