"""The emitted C of tests, for generic, compiled by many C compilers: each result has the bits of the compiler's own kernels. tcc compiles
official tests and those of the folder cover, which call every kernel in every type that a test has it in, each in a translation unit of
its own. gcc and clang compile those of cover at every level, in strict C99 and in their default dialect, and with flags for firmware.
Prints differences, then "compilers: N passed, N failed"."""
import argparse
import concurrent.futures
import contextlib
import fnmatch
import os
import pathlib
import re
import subprocess

from cache import kept
from together import together, translation_unit

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "compilers"
FLAGS = ["-shared", "-fPIC", f"-I{BUILD / 'include'}", f"-I{pathlib.Path(__file__).parents[1] / 'suite'}"]
SECONDS = 1800     # tcc's code of the largest network takes two minutes, on a processor of its own
CPU = pathlib.Path("/proc/cpuinfo").read_text()
LEVELS = "O0 Og O1 O2 O3 Os Oz".split()
# As users may compile it: after the standard headers, with the other sign of char, with a mapped path.
HEADERS = "assert complex ctype errno float inttypes limits math signal stdbool stdio stdlib string tgmath time unistd".split()
OWN = ["-funsigned-char", "-ffile-prefix-map=/=/mapped/", *(f"-include{h}.h" for h in HEADERS)]
STRICT = ["-std=c99", "-fsigned-char"]
# name: the compiler and its flags
LEVELLED = {f"{cc}-{level}{way}": [cc, f"-{level}", *flags]
            for cc in ("gcc", "clang-14") for level in LEVELS for way, flags in (("", STRICT), ("-own", OWN))}
# As firmware; hardened as by distributions; after headers with conflicting macros; with contraction of multiply-adds.
FIRMWARE = ["-O2", "-ffreestanding", "-fno-builtin", "-fshort-enums", "-fwrapv", "-ffunction-sections"]
GUARDED = ["-O2", "-includestring.h", "-D_FORTIFY_SOURCE=2", "-ftrapv", "-fstack-protector-all", "-fno-strict-aliasing",
           "-ftrivial-auto-var-init=pattern"]
MACROS = ["-O1", "-std=gnu2x", *(f"-D{m}" for m in ("min(a,b)=((a)<(b)?(a):(b))", "max(a,b)=((a)>(b)?(a):(b))", "near=", "far=",
                                                      "small=char", "interface=struct", "IN=", "OUT=", "TRUE=1", "ERROR=0")),
          *(f"-include{h}.h" for h in HEADERS)]
FUSED = ["-O2", "-march=x86-64-v3"]
LEVELLED |= {f"{cc}-{way}": [cc, *flags] for cc in ("gcc", "clang-14") for way, flags in (
    ("firmware", FIRMWARE), ("guarded", GUARDED), ("macros", MACROS), *[("fused", FUSED)] * (" fma " in CPU))}
LEVELLED |= {"gcc-lto": ["gcc", "-O2", "-flto=auto", "-std=c99"]}   # without auto a warning for large programs
MODES = {"tcc": ["tcc", "-std=c99", "-Wall", "-Werror"], **LEVELLED}


def run(*command):
    """Runs a command; returns how it failed or what it printed to stderr; None: neither."""
    try:
        p = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS} s"
    return f"exit {p.returncode} {p.stderr[:500]}" if p.returncode or p.stderr else None


def compiled(so, mode, source):
    compiler, *flags = MODES[mode]
    return run(compiler, *flags, *FLAGS, "-o", so, source)


def called(so, name, folder, mode):
    return run(BUILD / "suite/call", so, name, folder / "in.bin", folder / f"out.{mode}")


def call_all(folders, mode):
    """{test: what is wrong}; all tests are in one translation unit, or each in its own if the C compiler prints anything about that."""
    so, source = (folders[0] / f"{mode}{suffix}" for suffix in (".so", ".unit.c"))
    source.write_text(translation_unit(folders, "case"))
    if len(folders) == 1 or compiled(so, mode, source):
        said = {f: compiled(so, mode, f / "case.c") or called(so, "suite_case", f, mode) for f in folders}
    else:
        said = {f: called(so, f"case_{i}", f, mode) for i, f in enumerate(folders)}
    for file in so, source:
        file.unlink(missing_ok=True)
    return said


def wrong(folders, mode):
    """{test: what is wrong with its C in this mode; None: nothing}"""
    compiler, *flags = MODES[mode]
    with contextlib.ExitStack() as results:
        left, said = [], dict.fromkeys(folders)
        for f in folders:
            sources = [*sorted(f.glob("m.*")), f / "case.c", f / "in.bin", BUILD / "suite/call"]
            if not results.enter_context(kept(f / f"out.{mode}", [compiler], flags, sources)):
                left.append(f)
        said |= call_all(left, mode) if left else {}
    for f in folders:
        out = f / f"out.{mode}"
        if said[f]:
            out.unlink(missing_ok=True)
        elif out.read_bytes() != (f / "out.eval").read_bytes():
            said[f] = "other bits"
    return said


def emitted(suite, folder, tests=(), *options):
    """Writes the C of tests of a folder, or of those of these names, and the results of the compiler's own kernels: [folder of a test]"""
    folder.mkdir(parents=True, exist_ok=True)
    p = subprocess.run([BUILD / "suite/run", "--build", folder, "--include", BUILD / "include", "--single", "--ways", "e", *options, suite, *tests],
                       capture_output=True, text=True, errors="replace")
    if p.returncode:
        raise SystemExit(p.stdout + p.stderr)
    cases = sorted(c.parent for c in folder.glob("*/case.c"))
    return [c for c in cases if (c / "out.eval").exists() and (not tests or c.name in tests)]


def some(tests, a):
    """Of the official tests with these names those for tcc. Networks take many seconds without optimisation."""
    networks = [t.name for t in tests if t.parent.name == "light"]
    others = [t.name for t in tests if t.parent.name != "light"]
    return [*others[a.turn % a.official::a.official], *networks[a.turn % a.every::a.every]]


def is_portable(folder):
    """Has its call no more arguments than every C99 compiler accepts (5.2.4.1)? tcc accepts few more."""
    return len(re.findall(r"\b(?:in|out)\[\d", (folder / "case.c").read_text())) <= 127


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("suite", type=pathlib.Path)
    arguments.add_argument("cover", type=pathlib.Path)
    arguments.add_argument("--tests")
    arguments.add_argument("--compilers")
    arguments.add_argument("--every", type=int, help="of the tests of cover, each mode gets one of so many; of official networks, tcc")
    arguments.add_argument("--official", type=int, help="of the other official ones, tcc gets one of so many")
    arguments.add_argument("--turn", type=int, help="which")
    a = arguments.parse_args()
    modes = [m for m in MODES if fnmatch.fnmatch(m, a.compilers)]
    names = some(sorted(t for t in a.suite.glob("*/*") if fnmatch.fnmatch(t.name, a.tests)), a)
    official = emitted(a.suite, WORK, names, "--known", "tests/known.txt") if names else []
    cover = [f for f in emitted(a.cover, WORK / "cover") if fnmatch.fnmatch(f.name, a.tests)]
    alone = [([f], m) for m in modes if m not in LEVELLED for f in [*official, *filter(is_portable, cover)]]
    units = [(u, m) for k, m in enumerate(modes) if m in LEVELLED
             for u in together([f for i, f in enumerate(cover) if (i + k + a.turn) % a.every == 0])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [(f, m, what) for (_, m), said in zip(alone + units, pool.map(lambda x: wrong(*x), alone + units)) for f, what in said.items()]
    for folder, mode, what in results:
        if what:
            print(f"FAIL {folder.name}, {mode}: {what}")
    failed = sum(what is not None for *_, what in results)
    print(f"compilers: {len(results) - failed} passed, {failed or not results:d} failed")
    return failed or not results


if __name__ == "__main__":
    raise SystemExit(bool(main()))
