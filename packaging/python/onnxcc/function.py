"""A model as a function of NumPy arrays: its C, built as a shared library in a temporary folder, which is removed once it is loaded."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import platform
import shlex
import subprocess
import tempfile
import threading
import weakref
from typing import Any, Iterator, Mapping, NamedTuple, Sequence, Union

import _ctypes
import numpy as np

from .library import Error, Message, emit
from .tensors import Parameter, Sizes, decode, encode, form_text, from_python, to_python

Path = Union[str, "os.PathLike[str]"]
Number = Union[int, float]


class Tensor(NamedTuple):
    """An input or output."""
    name: str
    type: str
    """"float", "sequence(float)", "optional(float)", "map(int64, float)" """
    dtype: np.dtype[Any]
    """of the elements"""
    shape: tuple[int | str | None, ...] | None
    """A size that varies from call to call is a name or None. None: not a tensor."""


class Outputs(tuple):  # type: ignore[type-arg]
    """Several outputs: a tuple, whose elements are also y["name"] and, if the name is an identifier, y.name; dict(y) is a dict."""
    _fields: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[Any]) -> Outputs:
        self = super().__new__(cls, values)
        self._fields = tuple(names)
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self._fields, tuple(self)

    def keys(self) -> tuple[str, ...]:
        return self._fields

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self._fields:
            raise KeyError(key)
        return super().__getitem__(self._fields.index(key))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(name)
        return self[name]

    def __repr__(self) -> str:
        return f"Outputs({', '.join(f'{k}={v!r}' for k, v in zip(self._fields, self))})"


def _fail(name: str, text: str, *help: str) -> Error:
    return Error(Message("", name, text, help))


def _build(name: str, files: Mapping[str, bytes], cc: str | None, cflags: str | None, target_flags: str) -> ctypes.CDLL:
    """Builds the model's C as a shared library, loads that, and removes its files."""
    compiler = shlex.split(cc or os.environ.get("CC") or "cc")
    flags = shlex.split(os.environ.get("CFLAGS", "-O2") if cflags is None else cflags)
    with tempfile.TemporaryDirectory(prefix="onnxcc-") as folder:
        for file, contents in files.items():
            pathlib.Path(folder, file).write_bytes(contents)
        command = [*compiler, *flags, *target_flags.split(), "-shared", "-fPIC", "-o", "model.so", "model.c"]
        try:
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        except OSError as e:
            raise _fail(name, f"the C compiler {compiler[0]!r} cannot be started: {e.strerror}",
                        "install a C compiler, such as gcc or clang, or name yours: cc=..., or the environment variable CC") from e
        if done.returncode:
            raise _fail(name, f"the C compiler failed: {shlex.join(command)}\n{done.stderr.strip()[:3000]}")
        try:
            return ctypes.CDLL(str(pathlib.Path(folder, "model.so")))
        except OSError as e:
            raise _fail(name, f"the compiled model cannot be loaded: {e}",
                        "if programs may not be run in the temporary folder, name another: the environment variable TMPDIR") from e


class Function:
    """A compiled model. f(x, y) and f(a=x, b=y) call it, by the order or the names of its inputs; the result is the output or, if
    there are several, Outputs. Any number of threads may call it at once; if there are states, one call waits for another.

    Tensors are NumPy arrays, of strings with dtype object; the types that NumPy lacks are those of ml_dtypes, if that is installed,
    else integers with their bits. Sequences are lists, maps dicts, optionals None or their element; inputs with a default may be left
    out."""
    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    report: dict[str, Any]
    """what --report=json prints"""

    def __init__(self, name: str, files: Mapping[str, bytes], cc: str | None, cflags: str | None) -> None:
        files = dict(files)
        report = json.loads(files.pop("-", b"{}"))
        if "model.c" not in files or "parameters" not in report.get("interface", {}) or b"struct model_io" in files["model.h"]:
            raise _fail(name, "these options do not make a function of arrays")
        self.name, self.report = name, report
        interface = report["interface"]
        self._parameters = [Parameter.of(p) for p in interface["parameters"]]
        self._sizes = interface["sizes"]
        values = [(v, self._parameters[v["first"]:v["first"] + v["count"]]) for v in interface["values"]]
        self._in = [v for v in values if not v[0]["output"]]
        self._out = [v for v in values if v[0]["output"]]
        self.inputs, self.outputs = (tuple(self._describe(*v) for v in part) for part in (self._in, self._out))
        self._library = _build(name, files, cc, cflags, report["cflags"])
        weakref.finalize(self, _ctypes.dlclose, self._library._handle).atexit = False
        self._library.model_status.restype = ctypes.c_char_p
        self._arenas: list[np.ndarray[Any, Any]] = []
        self._state: np.ndarray[Any, Any] | None = None
        self._one = threading.Lock()
        if hasattr(self._library, "model_reset"):
            self._state = np.zeros(report["ram"].get("state", 0) // 8 + 8, np.uint64)
            self.reset()

    @staticmethod
    def _describe(value: Mapping[str, Any], parts: Sequence[Parameter]) -> Tensor:
        kind, first = value["type"], parts[0] if parts else None
        dtype = first.dtype if first else np.dtype(object)
        return Tensor(value["name"], form_text(kind, iter(parts)), dtype, first.dims if first and kind["form"] == "tensor" else None)

    def __repr__(self) -> str:
        def text(tensors: tuple[Tensor, ...]) -> str:
            return ", ".join(f"{t.name}: {t.type}" + ("" if t.shape is None else str(list(t.shape)).replace("'", "")) for t in tensors)
        return f"<onnxcc.Function {self.name}: ({text(self.inputs)}) -> ({text(self.outputs)})>"

    # ---- states

    def _must_have_state(self) -> np.ndarray[Any, Any]:
        if self._state is None:
            raise _fail(self.name, "the model was compiled without states")
        return self._state

    def reset(self) -> None:
        """Sets the states to their initial values."""
        block = self._must_have_state()
        with self._one:
            self._library.model_reset(ctypes.c_void_p(block.ctypes.data))

    @property
    def state(self) -> bytes:
        """The states as bytes, which can be assigned later to this function or to another one of the same model and options."""
        with self._one:
            return self._must_have_state().tobytes()

    @state.setter
    def state(self, contents: bytes) -> None:
        with self._one:
            self._must_have_state()[:] = np.frombuffer(contents, np.uint64)

    # ---- calls

    def _bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Iterator[Any]:
        """The inputs in the model's order; None: left out."""
        names = [t.name for t in self.inputs]
        if len(positional) > len(names):
            raise TypeError(f"{self.name}: {len(positional)} inputs, but the model has {len(names)}: {', '.join(names)}")
        given = dict(zip(names, positional))
        for k, v in named.items():
            if k not in names or k in given:
                raise TypeError(f"{self.name}: input {k!r} " + ("is given twice" if k in given else f"is none of the model's: {', '.join(names)}"))
            given[k] = v
        for value, parts in self._in:
            if given.get(value["name"]) is None and not (value["type"]["form"] == "optional" or all(p.default is not None for p in parts)):
                raise TypeError(f"{self.name}: input {value['name']!r} is missing")
            yield given.get(value["name"])

    def _arena(self) -> np.ndarray[Any, Any]:
        """An aligned block that no other thread uses."""
        try:
            return self._arenas.pop()
        except IndexError:
            align = self.report["interface"]["align"]
            block = np.empty(self.report["ram"]["arena"] + align, np.uint8)
            return block[-block.ctypes.data % align:]

    def __call__(self, *positional: Any, **named: Any) -> Any:
        sizes = Sizes(self._sizes)
        arrays: list[np.ndarray[Any, Any] | None] = []
        for (value, parts), x in zip(self._in, self._bind(positional, named)):
            arrays += from_python(value["type"], iter(parts), x, f"{self.name}: input {value['name']!r}", sizes)
        memory = [None if a is None else encode(p, a) for p, a in zip(self._parameters, arrays)]
        results = [np.empty(max(p.bytes, 1), np.uint8) for p in self._parameters[len(arrays):]]
        arena, fields = self._arena(), sizes.fields()
        pointers = [None if m is None else m[0].ctypes.data for m in memory] + [r.ctypes.data for r in results]
        pointers += [fields.ctypes.data] if len(fields) else []
        if self._state is None:
            status = self._run(arena, pointers)
        else:
            with self._one:
                status = self._run(arena, [self._state.ctypes.data, *pointers])
        if status:
            raise Error(Message("", self.name, f"the run returned status {status}: {self._library.model_status(status).decode()}"))
        sizes.take(fields)
        decoded = iter([decode(p, r, sizes) for p, r in zip(self._parameters[len(arrays):], results)])
        values = [to_python(value["type"], decoded) for value, _ in self._out]
        self._arenas.append(arena)      # the bytes of strings, which are in it, have been copied
        return values[0] if len(values) == 1 else Outputs([t.name for t in self.outputs], values)

    def _run(self, arena: np.ndarray[Any, Any], pointers: Sequence[int | None]) -> int:
        status: int = self._library.model_run_at(*map(ctypes.c_void_p, [arena.ctypes.data, *pointers]))
        return status


# ---- compile


def _native() -> str:
    """The target that suits this machine."""
    try:
        found = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        found = set()
    if platform.machine() in ("aarch64", "riscv64"):
        return platform.machine()
    for target, flags in (("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl avx2 fma bmi2"), ("x86-64-v3", "avx2 fma bmi2 f16c movbe"),
                          ("x86-64-v2", "sse4_2 ssse3 popcnt")):
        if platform.machine() == "x86_64" and found >= set(flags.split()):
            return target
    return "generic"


def _quoted(name: str, special: str = "*=<\\") -> str:
    return "".join("\\" + c if c in special else c for c in name)


def _sizes(given: Mapping[str, int] | int | None, sign: str) -> list[str]:
    if isinstance(given, Mapping):
        return [w for k, v in given.items() for w in ("--dim", f"{_quoted(k)}{sign}{int(v)}")]
    return [] if given is None else [f"--all-dims={sign.lstrip('=')}{int(given)}"]


def _constant(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return _quoted(os.fspath(value))
    return ",".join(repr(v) for v in np.asarray(value).ravel().tolist())


def compile(model: Any, *, dims: Mapping[str, int] | int | None = None, bounds: Mapping[str, int] | int | None = None,
            shapes: Mapping[str, Sequence[int]] | None = None, consts: Mapping[str, Number | Sequence[Number] | Path] | None = None,
            state: Mapping[str, str] | None = None, target: str = "generic", options: Sequence[str] = (), cc: str | None = None,
            cflags: str | None = None, folder: Path | None = None) -> Function:
    """Compiles a model to C, builds that with the machine's C compiler, and loads it.

    model: a path, the bytes of an .onnx file, or an onnx.ModelProto.
    dims, bounds: sizes that the model leaves open: {"batch": 1} fixes, bounds={"batch": 64} lets each call choose, up to 64; a
        number holds for all of them. Dimension 2 of an input x that has no name for it is "x_2".
    shapes: of inputs with several such dimensions: {"x": (1, 3, 320, 320)}; of a sequence: bounds of its length and
        its elements' sizes.
    consts: inputs that become constants: {"sr": 16000}, or a file with a tensor.
    state: outputs that the next call takes as inputs, {"stateN": "state"}, {"present_*": "past_*"}; Function.reset sets them to their initial values.
    target: the processor: "generic" has the same bits on every one; "native": this machine's; or as --target.
    options: further words of the command line.
    cc, cflags: the C compiler and its options; by default the environment variables CC and CFLAGS, else cc and -O2.
    folder: with the model's external data; by default that of the path.

    Raises Error, with the compiler's messages, and warns by ModelWarning."""
    words = [*_sizes(dims, "="), *_sizes(bounds, "<=")]
    words += [w for k, v in (shapes or {}).items() for w in ("--shape", f"{_quoted(k)}={','.join(str(int(d)) for d in v)}")]
    words += [w for k, v in (consts or {}).items() for w in ("--const", f"{_quoted(k)}={_constant(v)}")]
    words += [w for k, v in (state or {}).items() for w in ("--state", f"{_quoted(k, '=<')}={_quoted(v, '=<')}")]
    words += ["--target", _native() if target == "native" else target, *options]
    words += ["-o", "model.c", "--prefix", "model", "--single", "--weights=auto", "--report=json"]
    name = pathlib.Path(model).name if isinstance(model, (str, os.PathLike)) else "model.onnx"
    return Function(name, emit(model, words, folder=folder, stacklevel=2), cc, cflags)
