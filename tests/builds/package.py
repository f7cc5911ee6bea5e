"""--package: for each build system, a folder around a model with hostile names is built as that system builds it: by CMake; by
Arduino's builder for an Uno, which runs in simavr; by CMake functions with the signatures that ESP-IDF and Zephyr document. The results
are ONNX Runtime's."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import kconfiglib
import numpy as np
import onnx
import onnxruntime
import yaml
from onnx import helper, numpy_helper

from checks import check

BUILD = pathlib.Path(os.environ["B"]).resolve() / "builds"
HOME = BUILD / "packages"
ONNXCC = BUILD / "installed" / "bin" / "onnxcc"
HOSTILE = '"; ${x} @P@ $(y) #{z}\\ */ //'
RANDOM = np.random.default_rng(1)

# A program that runs the model on 0.25, -0.5, 0.75 ... and prints the outputs.
MAIN = """#include <stdio.h>
#include <%(p)s.h>
int main(void)
{
    static float x[4] = {0.25f, -0.5f, 0.75f, -1.0f}, y[3];
    int status = %(p)s_run(x, y);
    printf("%%d %%.9g %%.9g %%.9g\\n", status, y[0], y[1], y[2]);
    return 0;
}
"""
X = np.float32([[0.25, -0.5, 0.75, -1]])

IDF = """cmake_minimum_required(VERSION 3.16)
set(CONFIG_FILE "" CACHE FILEPATH "")
include(${CONFIG_FILE})
macro(idf_component_register)
    cmake_parse_arguments(_ "" "KCONFIG;KCONFIG_PROJBUILD" "SRCS;SRC_DIRS;INCLUDE_DIRS;PRIV_INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES" ${ARGN})
    if(__UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${__UNPARSED_ARGUMENTS}")
    endif()
    if(CMAKE_BUILD_EARLY_EXPANSION)
        message(STATUS "requires: ${__REQUIRES}")
        return()
    endif()
    set(COMPONENT_LIB __idf_component)
    add_library(${COMPONENT_LIB} STATIC ${__SRCS})
    target_include_directories(${COMPONENT_LIB} PUBLIC ${__INCLUDE_DIRS})
endmacro()
if(CMAKE_BUILD_EARLY_EXPANSION)
    include(component/CMakeLists.txt)
else()
    project(idf C)
    add_compile_options(-Og -Werror -Wall -Wextra -fmacro-prefix-map=${CMAKE_SOURCE_DIR}=/IDF)
    add_subdirectory(component)
    add_executable(app main.c)
    target_link_libraries(app __idf_component)
endif()
"""

ZEPHYR = """cmake_minimum_required(VERSION 3.20)
project(zephyr C)
set(CONFIG_FILE "" CACHE FILEPATH "")
include(${CONFIG_FILE})
add_library(zephyr_interface INTERFACE)
function(zephyr_include_directories)
    foreach(each ${ARGN})
        get_filename_component(each ${each} ABSOLUTE)
        target_include_directories(zephyr_interface INTERFACE ${each})
    endforeach()
endfunction()
macro(zephyr_library_named name)
    set(ZEPHYR_CURRENT_LIBRARY ${name})
    add_library(${name} STATIC)
    target_link_libraries(${name} PUBLIC zephyr_interface)
    set_property(GLOBAL APPEND PROPERTY ZEPHYR_LIBS ${name})
endmacro()
function(zephyr_library_sources source)
    target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${source} ${ARGN})
endfunction()
function(zephyr_library_include_directories)
    target_include_directories(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options_ifdef feature_toggle item)
    if(${${feature_toggle}})
        target_compile_options(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${item} ${ARGN})
    endif()
endfunction()
add_compile_options(-Os -Werror -Wall -Wextra -fmacro-prefix-map=${CMAKE_SOURCE_DIR}=CMAKE_SOURCE_DIR)
add_subdirectory(${MODULE_CMAKE} module)
get_property(libs GLOBAL PROPERTY ZEPHYR_LIBS)
if(libs)
    add_executable(app main.c)
    target_link_libraries(app -Wl,--whole-archive ${libs} -Wl,--no-whole-archive zephyr_interface)
endif()
"""


def run(*command, cwd=None, code=0):
    p = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, errors="replace", check=False)
    check(p.returncode == code, f"{command}: exit {p.returncode}\n{p.stdout[-2000:]}{p.stderr[-2000:]}")
    return p.stdout + p.stderr


def write_model(file):
    """Writes softmax(relu(x w) v), with hostile names and a large version; returns what ONNX Runtime computes for X."""
    x, y, a, b, c = (f"{n}{HOSTILE}" for n in "xyabc")
    weights = [numpy_helper.from_array(RANDOM.standard_normal(s).astype(np.float32), n) for n, s in (("w", (4, 8)), ("v", (8, 3)))]
    nodes = [helper.make_node("MatMul", [x, "w"], [a], name=a), helper.make_node("Relu", [a], [b], name=b),
             helper.make_node("MatMul", [b, "v"], [c], name=c), helper.make_node("Softmax", [c], [y], name=y)]
    info = [helper.make_tensor_value_info(n, 1, s) for n, s in ((x, [1, 4]), (y, [1, 3]))]
    model = helper.make_model(helper.make_graph(nodes, HOSTILE, info[:1], info[1:], weights), producer_name=HOSTILE, domain=HOSTILE,
                              model_version=7, doc_string=HOSTILE, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, file)
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, {x: X})[0][0]


def make(kind, name, *options):
    """Makes the folder twice: the second time no file changes. --check accepts it, and finds a change."""
    model, folder = HOME / f"{name}.onnx", HOME / kind
    expected = write_model(model)
    command = [ONNXCC, model, f"--package={kind}", "-o", folder, *options]
    said = run(*command, "--check", code=1)
    check("README.md: No such file" in said and not folder.exists(), f"{kind}: --check of no folder: {said}")
    run(*command)
    times = {f: f.stat().st_mtime_ns for f in folder.rglob("*") if f.is_file()}
    run(*command)
    check(times == {f: f.stat().st_mtime_ns for f in folder.rglob("*") if f.is_file()}, f"{kind}: made again, files change")
    check(run(*command, "--check") == "", f"{kind}: --check")
    header = next((folder / "src").glob("*.h"))
    for file in times:
        content = file.read_bytes()
        text = content.decode("latin-1")
        check("@" not in text or file.parent.name == "src", f"{file}: a hole is left")
        check(file.parent.name == "src" or HOSTILE[:4] not in text, f"{file}: a name of the model")
        file.write_bytes(content + b"\n")
        check("1 file is not what" in run(*command, "--check", code=1), f"{kind}: --check of {file}")
        file.write_bytes(content)
    banner = next(s for s in header.with_suffix(".c").read_text().splitlines() if " onnxcc " in s)
    check(f"--package={kind} -o {kind} " in banner and "--single" not in banner, f"{kind}: {banner}")
    return folder, header.stem, expected


def right(kind, printed, expected):
    numbers = [float(n) for n in printed.split()] if re.fullmatch(r"[-\d.e \n]+", printed) else []
    check(len(numbers) == 4 and numbers[0] == 0 and np.allclose(numbers[1:], expected, 1e-5, 1e-7), f"{kind}: {printed}, not {expected}")


def cmake():
    """As a part of a project; installed, moved and found. Prefixes that are names of CMake's targets, and a file of weights."""
    for name in "test", "all", "kws":
        folder, p, expected = make("cmake", name, "--target", "x86-64-v2", "--weights=incbin")
        check(p == name, f"cmake: prefix {p}")
        uses = {"part": f"add_subdirectory({folder} model)", "found": f"find_package({p} 7.0 REQUIRED)"}
        out = HOME / f"cmake of {name}"
        run("cmake", "-S", folder, "-B", out / "own", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", out / "own")
        run("cmake", "--install", out / "own", "--prefix", out / "first")
        (out / "first").rename(out / "moved")
        flags = (out / "own" / "CMakeCache.txt").read_text()
        check(f"ONNX_{p.upper()}_FLAGS:STRING=-march=x86-64-v2" in flags, "cmake: the target's flags")
        for how, line in uses.items():
            project = out / how
            project.mkdir()
            (project / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.14)\nproject(user C)\n{line}\nadd_executable(app main.c)\n"
                                                    f"target_link_libraries(app {p}::{p})\n")
            (project / "main.c").write_text(MAIN % {"p": p})
            run("cmake", "-S", project, "-B", project / "out", f"-DCMAKE_PREFIX_PATH={out / 'moved'}")
            run("cmake", "--build", project / "out")
            right(f"cmake, {name}, {how}", run(project / "out" / "app"), expected)
        run("cmake", "-S", out / "found", "-B", out / "other", f"-DCMAKE_PREFIX_PATH={out / 'moved'}", "-DCMAKE_FIND_DEBUG_MODE=OFF")
        shutil.rmtree(folder)


# The fields of Arduino's library specification.
PROPERTIES = {"name": r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", "version": r"\d+\.\d+\.\d+", "author": ".+", "maintainer": ".+", "sentence": ".+",
              "paragraph": ".*", "category": "Display|Communication|Signal Input/Output|Sensors|Device Control|Timing|Data Storage|Data Processing|Other",
              "url": r"\S+", "architectures": r"\*", "includes": r"\w+\.h"}


def arduino_sketch(folder, p, board="uno"):
    """What the example prints, in a simulator of the board's processor."""
    out = HOME / f"sketch {p}"
    out.mkdir()
    run("arduino-builder", "-compile", "-hardware", "/usr/share/arduino/hardware", "-hardware", "/usr/share/arduino-builder", "-tools",
        "/usr/bin", "-libraries", folder.parent, "-fqbn", f"arduino:avr:{board}", "-build-path", out,
        # Debian's core needs a name that its avr-gcc defines for C alone.
        "-prefs=runtime.tools.avr-gcc.path=/usr", "-prefs=compiler.cpp.extra_flags=-DDECIMAL_DIG=__DECIMAL_DIG__",
        folder / "examples" / p / f"{p}.ino")
    with subprocess.Popen(["simavr", "-m", "atmega328p", "-f", "16000000", out / f"{p}.ino.elf"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as simulator:
        lines = []
        for line in simulator.stdout:
            lines.append(re.sub(r"\x1b\[\d*m", "", line).strip(" .\r\n"))
            if sum(f"{p}: " in s for s in lines) == 2:
                break
        simulator.kill()
    return lines


def arduino():
    folder, p, _ = make("arduino", "net 1", "--prefix", "net_1")
    lines = (folder / "library.properties").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    check(len(fields) == len(lines) and fields.keys() == PROPERTIES.keys(), f"library.properties: {lines}")
    check(all(re.fullmatch(PROPERTIES[k], v) for k, v in fields.items()), f"library.properties: {fields}")
    check(fields["version"] == "7.0.0" and fields["includes"] == f"{p}.h", f"library.properties: {fields}")
    manifest = json.loads((folder / "library.json").read_text())
    check(manifest["name"] == p and manifest["version"] == "7.0.0" and manifest["headers"] == f"{p}.h" and len(manifest["description"]) <= 255,
          f"library.json: {manifest}")
    check(all((folder / e["base"] / f).is_file() for e in manifest["examples"] for f in e["files"]), f"library.json: {manifest}")
    words = [line.split("\t") for line in (folder / "keywords.txt").read_text().splitlines() if line[0] != "#"]
    text = (folder / "src" / f"{p}.h").read_text()
    check(all(re.search(rf"\b{w}\b", text) and k in ("KEYWORD2", "LITERAL1") for w, k in words), f"keywords.txt: {words}")
    printed = arduino_sketch(folder, p)
    one = f"{p}: ok, "
    check(any(line.startswith(one) for line in printed), f"the sketch on an Uno: {printed}")
    scores = [float(s) for s in printed if re.fullmatch(r"0\.\d+", s)]
    check(scores[:3] == [0.33, 0.33, 0.33], f"the sketch on an Uno: softmax of 0: {printed}")


def interfaces():
    """The examples compile as C++ for every form of call (on a processor with enough memory): sizes, states, a struct, strings, packed
    types, names that Arduino defines, no parameters."""
    stub = HOME / "stub"
    stub.mkdir()
    (stub / "Arduino.h").write_text("""#include <stdlib.h>
#define B1 1
#define INPUT 0
#define F(s) s
#define min(a, b) ((a) < (b) ? (a) : (b))
struct Stream { void begin(long) {} template <class T> void print(T) {} template <class T> void println(T) {} };
static Stream Serial; unsigned long micros(); void delay(unsigned long);
""")
    info = helper.make_tensor_value_info
    cases = {
        "sizes": ([helper.make_node("NonZero", ["B1"], ["setup"])], [info("B1", 1, ["N", "data"])], [info("setup", 7, [2, "K"])], ["--all-dims=<=4"]),
        "states": ([helper.make_node("Add", ["loop", "x"], ["INPUT"])], [info("loop", 1, [2]), info("x", 1, [2])], [info("INPUT", 1, [2])],
                   ["--state", "INPUT=loop"]),
        "struct": ([helper.make_node("Add", ["Serial", "x"], ["min"])], [info("Serial", 10, ["N"]), info("x", 10, ["N"])], [info("min", 10, ["N"])],
                   ["--struct", "--all-dims=<=4"]),
        "strings": ([helper.make_node("StringConcat", ["x", "x"], ["y"])], [info("x", 8, [3])], [info("y", 8, [3])], ["--dim", "x_text<=9"]),
        "packed": ([helper.make_node("Identity", ["x"], ["y"])], [info("x", 22, [3])], [info("y", 22, [3])], []),
        "empty": ([helper.make_node("Identity", ["x"], ["y"])], [info("x", 1, [0])], [info("y", 1, [0])], []),
        "constant": ([helper.make_node("Constant", [], ["y"], value_float=1.0)], [], [info("y", 1, [])], []),
        "scalar": ([helper.make_node("Neg", ["status"], ["start"])], [info("status", 11, [])], [info("start", 11, [])], ["--profile"]),
    }
    for name, (nodes, inputs, outputs, options) in cases.items():
        model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.save(model, HOME / f"{name}.onnx")
        folder = HOME / f"library {name}"
        run(ONNXCC, HOME / f"{name}.onnx", "--package=arduino", "-o", folder, *options)
        for compiler in "g++", "arm-none-eabi-g++":
            run(compiler, "-std=gnu++11", "-fpermissive", "-w", "-x", "c++", "-include", stub / "Arduino.h", f"-I{folder / 'src'}", "-c",
                *folder.glob("examples/*/*.ino"), "-o", HOME / "ino.o")
        run("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-c", *folder.glob("src/*.c"), "-o", HOME / "c.o")


def configured(file, **values):
    """The settings of a Kconfig file, as variables of CMake's, and their defaults."""
    k = kconfiglib.Kconfig(str(file), warn_to_stderr=False)
    for name, value in values.items():
        k.syms[name].set_value(value)
    check(not k.warnings, f"{file}: {k.warnings}")
    config = file.parent.parent / "config.cmake"
    config.write_text("".join(f"set(CONFIG_{s.name} {s.str_value})\n" for s in k.unique_defined_syms if s.str_value == "y"))
    return config, {s.name: s.str_value for s in k.unique_defined_syms}


def project_with(package, project, name):
    """A new project that has the package, of this kind, in the folder `name`."""
    folder, p, expected = make(package, "m", "--weights=incbin")
    project = HOME / project
    project.mkdir()
    return project, folder.rename(project / name), p, expected


def espidf():
    project, folder, p, expected = project_with("espidf", "idf", "component")
    config, settings = configured(folder / "Kconfig")
    check(settings == {f"ONNX_{p.upper()}_OPTIMIZE": "y"}, f"espidf: {settings}")
    manifest = yaml.safe_load((folder / "idf_component.yml").read_text())
    check(manifest["version"] == "7.0.0" and manifest["dependencies"] == {"idf": ">=4.4"} and p in manifest["description"], f"espidf: {manifest}")
    (project / "CMakeLists.txt").write_text(IDF)
    (project / "main.c").write_text(MAIN % {"p": p})
    early = run("cmake", "-DCMAKE_BUILD_EARLY_EXPANSION=1", f"-DCONFIG_FILE={config}", "-P", project / "CMakeLists.txt", cwd=project)
    check("requires: " in early, f"espidf: {early}")
    run("cmake", "-S", project, "-B", project / "out", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCONFIG_FILE={config}")
    run("cmake", "--build", project / "out")
    right("espidf", run(project / "out" / "app"), expected)
    check("-Og" in (commands := (project / "out" / "compile_commands.json").read_text()) and "-O2" in commands, f"espidf: {commands}")


def zephyr():
    project, folder, p, expected = project_with("zephyr", "zephyr project", "module")
    module = yaml.safe_load((folder / "zephyr" / "module.yml").read_text())
    check(module == {"name": p, "build": {"cmake": ".", "kconfig": "Kconfig"}}, f"zephyr: {module}")
    (project / "CMakeLists.txt").write_text(ZEPHYR)
    (project / "main.c").write_text(MAIN % {"p": p})
    on = {f"ONNX_{p.upper()}": "y"}
    for values in {}, on:
        config, settings = configured(folder / module["build"]["kconfig"], **values)
        check(settings == ({f"ONNX_{p.upper()}": "y", f"ONNX_{p.upper()}_OPTIMIZE": "y"} if values else
                           {f"ONNX_{p.upper()}": "n", f"ONNX_{p.upper()}_OPTIMIZE": "n"}), f"zephyr: {settings}")
        run("cmake", "-S", project, "-B", project / "out", f"-DMODULE_CMAKE={folder / module['build']['cmake']}", f"-DCONFIG_FILE={config}")
        run("cmake", "--build", project / "out")
        check((project / "out" / "app").exists() == bool(values), f"zephyr: built with {values}")
    right("zephyr", run(project / "out" / "app"), expected)


def refused():
    """A folder that is a file; a run that fails leaves no folder, and of one that was there nothing is removed."""
    write_model(HOME / "m.onnx")
    (HOME / "a file").write_text("")
    kept = HOME / "kept"
    kept.mkdir()
    (kept / "own.txt").write_text("own")
    for where, options, code, says in (
            ("a file", [], 3, "Not a directory"), ("none/below", [], 3, "none/below: cannot make a folder: No such file"),
            ("fails", ["--max-flash", "1"], 1, "more than --max-flash"), ("kept", ["--max-flash", "1"], 1, "more than --max-flash")):
        said = run(ONNXCC, "m.onnx", "--package=arduino", "-o", where, *options, cwd=HOME, code=code)
        check(says in said, f"{where} {options}: {said}")
    check(not (HOME / "fails").exists() and not (HOME / "none").exists(), "a run that fails leaves a folder")
    check([f.name for f in kept.iterdir()] == ["own.txt"], "a run that fails leaves files in a folder")
    run(ONNXCC, "m.onnx", "--package=cmake", "-MD", cwd=HOME)
    depends = (HOME / "m.d").read_text()
    check("m/CMakeLists.txt" in depends and "m/src/m.c" in depends and depends.endswith("m.onnx\n"), f"-MD: {depends}")


def packages():
    HOME.mkdir()
    cmake()
    arduino()
    interfaces()
    espidf()
    zephyr()
    refused()
