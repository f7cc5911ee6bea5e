"""The emitted C of the official tests, for generic, through many C compilers: each result has the bits of the compiler's own
kernels. Prints what differs, then "compilers: N passed, N failed"."""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import subprocess

from cache import kept

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "compilers"
FLAGS = ["-shared", "-fPIC", f"-I{BUILD / 'include'}", f"-I{pathlib.Path(__file__).parents[1] / 'suite'}"]
SECONDS = 300
# name: the compiler and its flags, and that it gets one test of so many
MODES = {
    "tcc": (["tcc", "-std=c99", "-Wall", "-Werror"], 1),
}


def wrong(folder, mode):
    """What is wrong with a test's C in this mode; None: nothing."""
    compiler, *flags = MODES[mode][0]
    so, out, case = folder / f"{mode}.so", folder / f"out.{mode}", folder / "case.c"
    command = [compiler, *flags, *FLAGS, "-o", so, case]
    with kept(out, [compiler], flags,
              [*sorted(folder.glob("m.*")), case, folder / "in.bin", BUILD / "suite/call"]) as before:
        for step in () if before else (command, [BUILD / "suite/call", so, folder / "in.bin", out]):
            p = subprocess.run(step, capture_output=True, text=True, errors="replace", timeout=SECONDS)
            if p.returncode or p.stderr:
                out.unlink(missing_ok=True)
                return f"exit {p.returncode} {p.stderr[:500]}"
        so.unlink(missing_ok=True)
    return None if out.read_bytes() == (folder / "out.eval").read_bytes() else "other bits"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tests")
    arguments.add_argument("--compilers")
    a = arguments.parse_args()
    folders = sorted(c.parent for c in WORK.glob("*/case.c") if fnmatch.fnmatch(c.parent.name, a.tests))
    modes = [m for m in MODES if fnmatch.fnmatch(m, a.compilers)]
    todo = [(f, m) for k, m in enumerate(modes) for i, f in enumerate(folders) if (i + k) % MODES[m][1] == 0]
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
