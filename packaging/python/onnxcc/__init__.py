"""onnxcc compiles ONNX models to C; this package builds that C with the machine's C compiler, and calls it with NumPy's arrays.

    f = onnxcc.compile("kws.onnx", dims={"batch": 1})
    scores = f(features)

The package contains the command `onnxcc`; get_include() is the folder of the headers that the command's C includes."""
from .function import Function, Outputs, Tensor, compile
from .library import Error, Message, ModelWarning, __version__, emit, get_include

__all__ = ["Error", "Function", "Message", "ModelWarning", "Outputs", "Tensor", "__version__", "compile", "emit", "get_include"]
