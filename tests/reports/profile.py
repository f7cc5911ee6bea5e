"""--profile: the ticks of each step if the C is compiled to count them, otherwise the same machine code as without the option."""
import json
import os
import pathlib
import shutil
import subprocess

import onnx
from onnx.parser import parse_model

import figures
from checks import check

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "reports" / "profile"
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror", f"-I{BUILD / 'include'}"]
AARCH64 = ["aarch64-linux-gnu-gcc", "-static"]
ARM = ["arm-none-eabi-gcc", "-mthumb"]

LOOP = """<ir_version: 8, opset_import: ["":17]> g (float[3] v) => (float[3] z) <int64 M = {7}, bool t = {1}> {
    [first] u = Softmax(v)
    [round] s = Loop (M, t, u) <body = b (int64 i, bool ci, float[3] a) => (bool co, float[3] o) {
        co = Identity(ci)  [inner] c = Softmax(a)  [second] o = CumSum(c, axis) }>
    [last] z = Softmax(s) }"""

MAIN = """#include <stdio.h>
#include "m.h"
#ifdef M_CLOCK
M_TICK m_clock(void)
{
    static M_TICK n;
    return ++n;
}
#endif
int main(void)
{
    float v[M_V_SIZE] = {0}, z[M_Z_SIZE];
    for (int i = 0; i < 3; i++)
        if (m_run(v, z))
            return 1;
    for (int i = 0; i < M_STEPS; i++)
        printf("%llu %s\\n", (unsigned long long)m_ticks[i], m_steps[i]);
    return m_runs != 3;
}
"""


def run(*command, cwd=None):
    return subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=300)


def emitted(folder, model, *options):
    """The C of the model, in a folder of its own but always with the same name, since the object contains it."""
    (WORK / folder).mkdir(parents=True, exist_ok=True)
    p = run(BUILD / "onnxcc", model, "-o", "m.c", "--prefix", "m", "--no-banner", *options, cwd=WORK / folder)
    check(p.returncode == 0, f"profile, {folder}: {p.stderr}")
    return WORK / folder


def counted(how, cc, *runner):
    """[(ticks, name)] of the steps after three runs."""
    p = run(*cc, *FLAGS, "-O1", "-DM_PROFILE", "m.c", "main.c", "-o", "main", cwd=WORK / "loop")
    if not check(p.returncode == 0, f"profile, {how}: {p.stderr}"):
        return []
    p = run(*runner, "./main", cwd=WORK / "loop")
    check(p.returncode == 0, f"profile, {how}: exit {p.returncode}")
    return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in p.stdout.splitlines()]


def shown(loop):
    """Checks the report with the ticks that the program in `loop` printed."""
    (loop / "ticks").write_text("runs 3\nunit ns\nby a test\n" + run("./main", cwd=loop).stdout)
    options = ["--prefix", "m", "--ticks", loop / "ticks"]
    r = json.loads(figures.report(WORK / "looping.onnx", "json", *options) or "{}")
    check(r and not list(figures.SCHEMA.iter_errors(r)), "--ticks: not by the schema")
    if r:
        check(r["profile"] == {"runs": 3, "unit": "ns", "by": "a test"}, f"--ticks: {r['profile']}")
        check([s["ticks"] for s in r["steps"]] == [6, 24, 21, 21, 3], f"--ticks: {[s['ticks'] for s in r['steps']]}")
    text = figures.report(WORK / "looping.onnx", "text", *options) or ""
    check("time    25.0ns, the mean of 3 runs, by a test" in text and all(len(line) <= 80 for line in text.splitlines()), f"--ticks: {text}")
    for bad, says in (("runs 0\n", "no runs"), ("1 a\n2 b\n", "2 steps, the C has 5"), ("one\n", "ticks:1: expected the ticks"),
                      ("-1\n", "ticks:1: expected"), ("9" * 40 + "\n", "ticks:1: expected")):
        (loop / "ticks").write_text(bad)
        p = run(BUILD / "onnxcc", WORK / "looping.onnx", "-o", "-", "--report", *options)
        check(p.returncode == 1 and says in p.stderr, f"--ticks {bad!r}: {p.returncode} {p.stderr}")


def command():
    """onnxcc profile builds, runs and reports: random inputs, and a loop's steps."""
    for cc, model in (("gcc", "looping"), ("clang-14", "known")):
        said = {}
        for form in ("text", "json", "html"):
            p = subprocess.run([BUILD / "onnxcc", "profile", WORK / f"{model}.onnx", f"--report={form}"], capture_output=True, text=True, timeout=300,
                               env={**os.environ, "CC": cc, "CFLAGS": "-O1"})
            check(p.returncode == 0 and not p.stderr, f"onnxcc profile, {form}: {p.stderr}")
            said[form] = p.stdout
        check(f" runs, by {cc} -O1" in said["text"], f"onnxcc profile: {said['text']}")
        r = json.loads(said["json"] or "{}")
        check(r and not list(figures.SCHEMA.iter_errors(r)) and r["profile"]["by"] == f"{cc} -O1" and r["profile"]["runs"] >= 3
              and sum(s["ticks"] for s in r["steps"]) > 0, f"onnxcc profile: {said['json']}")
        check('"profile": {"runs"' in said["html"] and "</html>" in said["html"], "onnxcc profile: no page")
    p = run(BUILD / "onnxcc", "profile", WORK / "looping.onnx", "--prefix", "other")
    check(p.returncode == 0 and "share" in p.stdout, f"onnxcc profile --prefix: {p.stderr}")


def profile():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    text = LOOP.replace("int64 M = {7}", "int64 M = {7}, int64 axis = {0}")
    for name, model in (("known", figures.KNOWN), ("looping", text)):
        onnx.save(parse_model(model), WORK / f"{name}.onnx")
        plain, other = emitted(f"{name}-plain", WORK / f"{name}.onnx"), emitted(f"{name}-counts", WORK / f"{name}.onnx", "--profile")
        for cc in ("gcc", "clang-14"):
            for folder in (plain, other):
                p = run(cc, *FLAGS, "-O2", "-c", "m.c", cwd=folder)
                check(p.returncode == 0, f"profile, {folder.name}, {cc}: {p.stderr}")
            check((plain / "m.o").read_bytes() == (other / "m.o").read_bytes(), f"--profile changes the code of {name} by {cc}")
    loop = emitted("loop", WORK / "looping.onnx", "--profile")
    (loop / "main.c").write_text(MAIN)
    ticks = {name.split(" ", 1)[1]: n for n, name in counted("a clock of the user", ["gcc", "-DM_CLOCK"])}
    # One tick passes at each change of the step: the first step also has the one before it, the loop one before and after each iteration.
    check(ticks == {"first": 6, "round": 3 * 8, "inner": 3 * 7, "second": 3 * 7, "last": 3}, f"--profile: {ticks}")
    narrow = counted("a clock of 32 bits", ["gcc", "-DM_CLOCK", "-DM_TICK=uint32_t"])
    check({n.split(" ", 1)[1]: k for k, n in narrow} == ticks, f"--profile, 32 bits: {narrow}")
    shown(loop)
    for how, cc, *runner in (("gcc", ["gcc"]), ("clang", ["clang-14"]), ("aarch64", AARCH64, "qemu-aarch64")):
        found = counted(how, cc, *runner)
        check(len(found) == 5 and sum(n for n, _ in found) > 0, f"--profile, {how}: {found}")
    p = run("g++", "-fsyntax-only", "-Wall", "-Werror", "-DM_PROFILE", "-x", "c++", "m.h", cwd=loop)
    check(p.returncode == 0, f"--profile, the header in C++: {p.stderr}")
    for processor in ("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m0", "cortex-m23"):
        good = processor not in ("cortex-m0", "cortex-m23")
        p = run(*ARM, f"-mcpu={processor}", *FLAGS, "-O1", "-DM_PROFILE", "-c", "m.c", cwd=loop)
        check((p.returncode == 0) == good and (good or "M_CLOCK" in p.stderr), f"--profile, {processor}: {p.stderr[:500]}")
        p = run(*ARM, f"-mcpu={processor}", *FLAGS, "-O1", "-DM_PROFILE", "-DM_CLOCK", "-c", "m.c", cwd=loop)
        check(p.returncode == 0, f"--profile, a clock of the user, {processor}: {p.stderr[:500]}")
    command()
