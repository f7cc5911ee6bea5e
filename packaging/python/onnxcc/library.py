"""The compiler, libonnxcc.so, by ctypes (its header: compiler/libonnxcc.h): a model in memory becomes C in memory."""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import warnings
from typing import Any, NamedTuple, Sequence

HERE = pathlib.Path(__file__).resolve().parent
ERROR, WARNING, HELP, INTERNAL_ERROR, OPTION_ERROR, NOTE = range(6)


class Message(NamedTuple):
    """A message of the compiler. `onnxcc --explain CODE` says more of its code."""
    code: str
    """"SHP-11"; empty: the summary of the errors, or a message of this package"""
    place: str
    """where in the model: 'kws.onnx: graph.node[3] "/head" (Conv)'; or empty"""
    text: str
    help: tuple[str, ...] = ()
    """what to do"""

    def __str__(self) -> str:
        code, place = f"[{self.code}] " if self.code else "", f"\n  --> {self.place}" if self.place else ""
        return "".join([code, self.text, place, *(f"\nhelp: {h}" for h in self.help)])


class Error(Exception):
    """The model cannot be compiled, or its C cannot be built, loaded or run. `code`, `place`, `text` and `help` are those of the
    first message; `messages` are all."""
    def __init__(self, *messages: Message) -> None:
        super().__init__("\n".join(map(str, messages)))
        self.messages = messages
        self.code, self.place, self.text, self.help = messages[0]


class ModelWarning(UserWarning):
    """A warning of the compiler: `message` is a Message."""
    def __init__(self, message: Message) -> None:
        super().__init__(str(message))
        self.message = message


class _Message(ctypes.Structure):
    _fields_ = [("severity", ctypes.c_int), ("code", ctypes.c_char_p), ("place", ctypes.c_char_p), ("text", ctypes.c_char_p)]


_OnMessage = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Message))
_OnFile = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


class _Request(ctypes.Structure):
    _fields_ = [("model", ctypes.c_char_p), ("model_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("folder", ctypes.c_char_p),
                ("options", ctypes.POINTER(ctypes.c_char_p)), ("message", _OnMessage), ("file", _OnFile), ("user", ctypes.c_void_p)]


_library = ctypes.CDLL(str(HERE / "libonnxcc.so"))
_library.onnxcc_compile.argtypes = [ctypes.POINTER(_Request)]
_library.onnxcc_version.restype = ctypes.c_char_p

__version__: str = _library.onnxcc_version().decode()


def get_include() -> str:
    """The folder for the C compiler's -I: the headers that the C of the command includes."""
    return str(HERE / "include")


def _contents(model: Any, folder: str | os.PathLike[str] | None) -> tuple[bytes, str, str | None]:
    """The bytes of a model, its name, and the folder of its external data."""
    if isinstance(model, (str, os.PathLike)):
        path = pathlib.Path(model)
        return path.read_bytes(), path.name, os.fspath(folder or path.resolve().parent)
    data = model.SerializeToString() if hasattr(model, "SerializeToString") else bytes(model)
    return data, "model.onnx", None if folder is None else os.fspath(folder)


def _collect(messages: list[tuple[int, Message]]) -> tuple[list[Message], list[Message]]:
    """The errors and the warnings, each with its help; notes are printed, the summary of the errors is left out."""
    errors: list[Message] = []
    found: list[Message] = []
    last = errors
    for severity, m in messages:
        if severity == NOTE:
            sys.stderr.write(m.text)
        elif severity == HELP and last:
            last[-1] = last[-1]._replace(help=(*last[-1].help, m.text))
        else:
            last = found if severity == WARNING else errors
            last.append(m)
    return [e for e in errors if e.code] or errors, found


def emit(model: Any, options: Sequence[str] = (), *, folder: str | os.PathLike[str] | None = None, stacklevel: int = 1) -> dict[str, bytes]:
    """Compiles a model to C: the contents of the files that the command would write, by their names; "-" is its standard output.

    model: a path, the bytes of an .onnx file, or an onnx.ModelProto. options: words of the command line, as ["--dim", "batch=1"].
    folder: with the model's external data; by default that of the path. The compiler's warnings become Python's (ModelWarning),
    its errors an Error."""
    data, name, where = _contents(model, folder)
    messages: list[tuple[int, Message]] = []
    files: dict[str, bytes] = {}

    def on_message(_: Any, message: Any) -> None:
        m = message.contents
        messages.append((m.severity, Message(*(s.decode("utf-8", "replace") for s in (m.code, m.place, m.text)))))

    def on_file(_: Any, file: bytes, contents: int, size: int) -> None:
        files[os.fsdecode(file)] = ctypes.string_at(contents, size)

    words = [os.fsencode(w) for w in options]
    request = _Request(data, len(data), os.fsencode(name), None if where is None else os.fsencode(where),
                       (ctypes.c_char_p * (len(words) + 1))(*words, None), _OnMessage(on_message), _OnFile(on_file), None)
    code = _library.onnxcc_compile(ctypes.byref(request))
    errors, found = _collect(messages)
    for m in found:
        warnings.warn(ModelWarning(m), stacklevel=stacklevel + 1)
    if code:
        raise Error(*errors or [Message("", name, f"the compiler ended with exit code {code}")])
    return files
