"""Projects whose build compiles a model with an installed copy of onnxcc; and the command's options for builds. Prints failures, then
"builds: N passed, N failed"."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import package
from checks import check, counts

BUILD = pathlib.Path(os.environ["B"]).resolve() / "builds"
PREFIX = BUILD / "installed"
ONNXCC = PREFIX / "bin" / "onnxcc"
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "builds"


def found(prefix):
    """An environment in which builds find the copy that is installed there."""
    return {**os.environ, "CMAKE_PREFIX_PATH": str(prefix), "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}


def run(*command, cwd=None, code=0, env=found(PREFIX)):
    """Runs a command, which must end with this code (None: any); returns its output."""
    p = subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True, errors="replace", check=False)
    if code is not None and p.returncode != code:
        check(False, f"{command} in {cwd}: exit {p.returncode}\n{p.stdout[-2000:]}{p.stderr[-2000:]}")
    return p.stdout + p.stderr


def write_model(folder, width, external=False):
    """y = x w, with an open size; external: w in a file of its own."""
    w = numpy_helper.from_array(np.ones((4, width), np.float32), "w")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", width])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx", save_as_external_data=external, location="model.data", size_threshold=0)


def project(kind, configure, build, app, place):
    """Builds a project. The model is not compiled again without a change, but once for another model, for a touched one, and for other
    external data."""
    root = BUILD / f"a project with {kind}"
    shutil.copytree(SAMPLES, root)
    write_model(root, 3)
    if configure:
        run(*configure, cwd=root)

    def ran():
        """Has onnxcc run? Decided by the time of its output."""
        before = place(root).stat().st_mtime_ns if place(root).exists() else 0
        run(*build, cwd=root)
        return place(root).stat().st_mtime_ns != before

    check(ran(), f"{kind}: no first build")
    check("arena" in run(root / app), f"{kind}: the program")
    check(not ran(), f"{kind}: a second build runs onnxcc")
    time.sleep(0.02)
    write_model(root, 5)
    check(ran(), f"{kind}: the model has changed, and onnxcc does not run")
    check("[1,5]" in (place(root)).read_text(), f"{kind}: the C is the former model's")
    time.sleep(0.02)
    (root / "model.onnx").touch()
    run(*build, cwd=root)
    check(not ran(), f"{kind}: after a touched model onnxcc runs each time")
    write_model(root, 6, external=True)
    run(*build, cwd=root)
    check(not ran(), f"{kind}: with external data onnxcc runs each time")
    time.sleep(0.02)
    (root / "model.data").write_bytes(np.full((4, 6), 7, np.float32).tobytes())
    check(ran(), f"{kind}: external data have changed, and onnxcc does not run")


def projects():
    for generator in "Unix Makefiles", "Ninja":
        project(f"CMake and {generator}", ["cmake", "-S", "cmake", "-B", "out", "-G", generator], ["cmake", "--build", "out"], "out/app",
                lambda root: root / "out" / "app.onnxcc" / "model.c")
    project("make", None, ["make", "-C", "make"], "make/build/app", lambda root: root / "make" / "build" / "model.c")
    project("Meson", ["meson", "setup", "out", "meson"], ["ninja", "-C", "out"], "out/app", lambda root: root / "out" / "model.c")


def spaces():
    """A copy installed in a folder with a space in its name."""
    env, root = found(BUILD / "installed elsewhere"), BUILD / "found elsewhere"
    shutil.copytree(SAMPLES, root)
    write_model(root, 3)
    run("cmake", "-S", "cmake", "-B", "out", cwd=root, env=env)
    run("cmake", "--build", "out", cwd=root, env=env)
    check("arena" in run(root / "out" / "app"), "CMake: the program")
    c = 'out/app.onnxcc/model.c'
    run("sh", "-c", f'eval gcc $(pkg-config --cflags onnxcc) -fsyntax-only {c} && "$(pkg-config --variable=onnxcc onnxcc)" --version',
        cwd=root, env=env)


def library():
    """A program with libonnxcc, by pkg-config."""
    c = BUILD / "library.c"
    c.write_text('#include <libonnxcc.h>\n#include <stdio.h>\nint main(void) { puts(onnxcc_version()); return 0; }\n')
    flags = run("pkg-config", "--cflags", "--libs", "--static", "libonnxcc").replace("\\ ", "\0").split()
    run("gcc", c, "-o", BUILD / "library", *(f.replace("\0", " ") for f in flags))
    check(run(BUILD / "library").strip() in run(ONNXCC, "--version"), "the library's version is the command's")


def dependencies():
    """Names that make treats specially; files of weights, frozen inputs and external data."""
    home = BUILD / "dependencies"
    home.mkdir()
    write_model(home, 3, external=True)
    (home / "x $y#z.pb").write_bytes(numpy_helper.from_array(np.ones((2, 4), np.float32)).SerializeToString())
    run(ONNXCC, "model.onnx", "-o", "a b.c", "-MD", "--single", "--weights=incbin", "--const", "x=x $y#z.pb", cwd=home)
    text = (home / "a b.d").read_text()
    for word in "a\\ b.c", "a\\ b.c.weights", "a\\ b.h", "model.onnx", "model.data", "x\\ $$y\\#z.pb":
        check(word in text.split(" \\\n  ") or f"{word}:" in text or f"{word} " in text or text.rstrip().endswith(word), f"{word} is not in\n{text}")
    (home / "makefile").write_text("a\\ b.c:\n\t@echo made\ninclude a\\ b.d\n")
    time.sleep(0.02)
    check("made" not in run("make", cwd=home), "make runs, although nothing has changed")
    for name in "model.data", "x $y#z.pb", "model.onnx":
        os.utime(home / name, times=(time.time() + 10, time.time() + 10))
        check("made" in run("make", cwd=home), f"{name} has changed, and make does nothing")
        os.utime(home / name, times=(0, 0))
    run(ONNXCC, "model.onnx", "-o", "m.c", "-MFother", "--dim", "N=1", cwd=home)
    check((home / "other").exists(), "-MFother")
    for options in (["-MD"], ["--check"]):
        check("needs a C file" in run(ONNXCC, "model.onnx", "-o", "-", *options, cwd=home, code=2), f"{options} with -o -")


def checks():
    """--check compares, prints a diff, and writes nothing."""
    home = BUILD / "checks"
    home.mkdir()
    write_model(home, 300)
    command = [ONNXCC, "model.onnx", "-o", "m.c", "--dim", "N=2", "--weights=incbin", "--check"]
    said = run(*command, cwd=home, code=1)
    check("m.c: No such file" in said and "3 files are not what onnxcc writes" in said, f"no files: {said}")
    check(sorted(p.name for p in home.iterdir()) == ["model.onnx"], "--check writes files")
    run(*command[:-1], cwd=home)
    check(run(*command, cwd=home) == "", "--check says something of the files just written")
    for name, find in ("m.c", "-MARK\n"), ("m.h", "-MARK\n"), ("m.c.weights", "m.c.weights"):
        before = (home / name).read_bytes()
        (home / name).write_bytes(before.replace(b"\n", b"\nMARK\n", 1) if name != "m.c.weights" else b"?" + before[1:])
        changed = (home / name).read_bytes()
        said = run(*command, cwd=home, code=1)
        check(find in said and "1 file is not what onnxcc writes" in said, f"{name}: {said}")
        check((home / name).read_bytes() == changed, f"--check overwrites {name}")
        (home / name).write_bytes(before)
    report = run(*command, "--report", cwd=home)
    check("arena" in report, f"--check --report: {report}")
    read_only = BUILD / "read only"
    shutil.copytree(home, read_only)
    read_only.chmod(0o555)
    check(run(*command, cwd=read_only) == "", "--check in a folder that cannot be written")
    read_only.chmod(0o755)


def budgets():
    home = BUILD / "budgets"
    home.mkdir()
    write_model(home, 300)
    fits = ["--max-ram", "1M", "--max-flash", "1M", "--max-stack", "1M"]
    run(ONNXCC, "model.onnx", "--all-dims=2", *fits, cwd=home)
    for k, most in (1, "arena "), (3, "MatMul"), (5, "MatMul"):
        command = [ONNXCC, "model.onnx", "-o", "over.c", "--all-dims=2", *fits[:k], "16", *fits[k + 1:]]
        said = run(*command, cwd=home, code=1)
        check(f"more than {fits[k - 1]} 16" in said and most in said, f"{fits[k - 1]}: {said}")
        check(not (home / "over.c").exists(), f"{fits[k - 1]} is exceeded, and the C written")
    exact = int(run(ONNXCC, "model.onnx", "-o", "-", "--all-dims=2", "--max-ram", "16", cwd=home, code=1).split()[1])
    run(ONNXCC, "model.onnx", "-o", "m.c", "--all-dims=2", "--max-ram", exact, cwd=home)
    run(ONNXCC, "model.onnx", "-o", "m.c", "--all-dims=2", "--max-ram", exact - 1, cwd=home, code=1)


def banners():
    """The command in the banner writes the same bytes; with --no-banner the version is nowhere."""
    home = BUILD / "banners"
    home.mkdir()
    dim = "a 'b'*/?\\é\n\""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [dim, "M", 4])
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["K"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["t"]), helper.make_node("ReduceSum", ["z"], ["s"]),
                               helper.make_node("Add", ["t", "s"], ["y"])], "g", [x, z], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), home / "the model.onnx")
    (home / "k.pb").write_bytes(numpy_helper.from_array(np.ones(3, np.float32)).SerializeToString())
    other = home / "elsewhere"
    other.mkdir()
    for name in "the model.onnx", "k.pb":
        shutil.copy(home / name, other)
    for options in ([], ["--no-banner"], ["--single", "--prefix", "p", "--target", "x86-64-v3"], ["--weights=inline"]):
        sizes = ["--dim", f"{dim}<=5", "--const", f"z={home / 'k.pb'}", "--all-dims=<=7"]
        run(ONNXCC, home / "the model.onnx", "-o", home / "an output.c", *sizes, *options)
        c, h = (home / "an output.c").read_bytes(), (home / "an output.h").read_bytes()
        command = c.split(b"\n")[1].decode().removeprefix(" *   ")
        check(command.startswith("onnxcc ") and (b"onnxcc 0." in c) == (b"onnxcc 0." in h) == ("--no-banner" not in options), f"the banner {command}")
        run("bash", "-c", f"PATH='{ONNXCC.parent}':$PATH {command}", cwd=other)
        check((other / "an output.c").read_bytes() == c and (other / "an output.h").read_bytes() == h, f"{command}: other bytes")


def makefile():
    """`make all setup` builds nothing before the packages are installed."""
    p = run("make", "-n", "all", "setup", f"B={BUILD / 'not-built'}", cwd=SAMPLES.parents[1])
    check(0 <= p.find("tests/setup") < p.find(" -c -o "), f"not after setup: {p[:300]}")


projects()
makefile()
spaces()
library()
dependencies()
checks()
budgets()
banners()
package.packages()
print(f"builds: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
