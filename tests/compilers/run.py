"""The emitted C of tests, for generic, through many C compilers: each result has the bits of the compiler's own kernels. The
official ones go through tcc; those of cover, which call every kernel in every type that a test has it in, through gcc and clang
at every level, in strict C99 and in the compiler's own dialect, and in modes of firmware. Prints what differs, then "compilers: N
passed, N failed"."""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import subprocess

from cache import kept

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "compilers"
FLAGS = ["-shared", "-fPIC", f"-I{BUILD / 'include'}", f"-I{pathlib.Path(__file__).parents[1] / 'suite'}"]
SECONDS = 1800     # the largest network takes two minutes through tcc, on a processor of its own
CPU = pathlib.Path("/proc/cpuinfo").read_text()
LEVELS = "O0 Og O1 O2 O3 Os Oz".split()
# As users compile it: after the standard headers, with another signedness of char, with a mapped path.
HEADERS = "assert complex ctype errno float inttypes limits math signal stdbool stdio stdlib string tgmath time unistd".split()
OWN = ["-funsigned-char", "-ffile-prefix-map=/=/mapped/", *(f"-include{h}.h" for h in HEADERS)]
STRICT = ["-std=c99", "-fsigned-char"]
# name: the compiler and its flags
LEVELLED = {f"{cc}-{level}{way}": [cc, f"-{level}", *flags]
            for cc in ("gcc", "clang-14") for level in LEVELS for way, flags in (("", STRICT), ("-own", OWN))}
# As firmware is compiled; hardened as by distributions; after headers with conflicting macros; with contraction of multiply-adds.
FIRMWARE = ["-O2", "-ffreestanding", "-fno-builtin", "-fshort-enums", "-fwrapv", "-ffunction-sections"]
GUARDED = ["-O2", "-includestring.h", "-D_FORTIFY_SOURCE=2", "-ftrapv", "-fstack-protector-all", "-fno-strict-aliasing",
           "-ftrivial-auto-var-init=pattern"]
MACROS = ["-O1", "-std=gnu2x", *(f"-D{m}" for m in ("min(a,b)=((a)<(b)?(a):(b))", "max(a,b)=((a)>(b)?(a):(b))", "near=", "far=",
                                                      "small=char", "interface=struct", "IN=", "OUT=", "TRUE=1", "ERROR=0")),
          *(f"-include{h}.h" for h in HEADERS)]
FUSED = ["-O2", "-march=x86-64-v3"]
LEVELLED |= {f"{cc}-{way}": [cc, *flags] for cc in ("gcc", "clang-14") for way, flags in (
    ("firmware", FIRMWARE), ("guarded", GUARDED), ("macros", MACROS), *[("fused", FUSED)] * (" fma " in CPU))}
LEVELLED |= {"gcc-lto": ["gcc", "-O2", "-flto", "-std=c99"]}
MODES = {"tcc": ["tcc", "-std=c99", "-Wall", "-Werror"], **LEVELLED}


def wrong(folder, mode):
    """What is wrong with a test's C in this mode; None: nothing."""
    compiler, *flags = MODES[mode]
    so, out, case = folder / f"{mode}.so", folder / f"out.{mode}", folder / "case.c"
    command = [compiler, *flags, *FLAGS, "-o", so, case]
    with kept(out, [compiler], flags,
              [*sorted(folder.glob("m.*")), case, folder / "in.bin", BUILD / "suite/call"]) as before:
        for step in () if before else (command, [BUILD / "suite/call", so, folder / "in.bin", out]):
            try:
                p = subprocess.run(step, capture_output=True, text=True, errors="replace", timeout=SECONDS)
            except subprocess.TimeoutExpired:
                out.unlink(missing_ok=True)
                return f"more than {SECONDS} s"
            if p.returncode or p.stderr:
                out.unlink(missing_ok=True)
                return f"exit {p.returncode} {p.stderr[:500]}"
        so.unlink(missing_ok=True)
    return None if out.read_bytes() == (folder / "out.eval").read_bytes() else "other bits"


def is_slow(folder):
    """Unoptimised, it takes many seconds."""
    macs = re.search(r"^ \* (\d+) MAC", (folder / "m.c").read_text(), re.M)
    return macs and int(macs[1]) > 3e8


def found(folder, tests):
    cases = sorted(c.parent for c in folder.glob("*/case.c") if fnmatch.fnmatch(c.parent.name, tests))
    return [c for c in cases if (c / "out.eval").exists()]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tests")
    arguments.add_argument("--compilers")
    arguments.add_argument("--every", type=int, help="of the tests of cover, each mode gets one of so many; of slow official ones, tcc")
    arguments.add_argument("--turn", type=int, help="which")
    a = arguments.parse_args()
    modes = [m for m in MODES if fnmatch.fnmatch(m, a.compilers)]
    official = found(WORK, a.tests)
    slow = list(filter(is_slow, official))
    official = [f for f in official if f not in slow or (slow.index(f) + a.turn) % a.every == 0]
    todo = [(f, m) for m in modes if m not in LEVELLED for f in official]
    todo += [(f, m) for k, m in enumerate(modes) if m in LEVELLED for i, f in enumerate(found(WORK / "cover", a.tests))
             if (i + k + a.turn) % a.every == 0]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda x: wrong(*x), todo))
    for (folder, mode), what in zip(todo, results):
        if what:
            print(f"FAIL {folder.name}, {mode}: {what}")
    failed = sum(r is not None for r in results)
    print(f"compilers: {len(results) - failed} passed, {failed or not results:d} failed")
    return failed or not results


if __name__ == "__main__":
    raise SystemExit(bool(main()))
