"""Writes the tests that run on every machine: choose.py FOLDER SUITE CELLS OPERATORS

FOLDER/tests/cover has links to a few of the official tests, the support table's and our own, which together call every kernel and every
function of elements in every type in which any test calls it, and to the tests WIDE; FOLDER/small/cover has those that call the kernels
which only code for SMALL calls; FOLDER/uncalled lists the kernels that no test calls."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

from cache import contents, generated

BUILD = pathlib.Path(os.environ["B"]).resolve()
SMALL = "cortex-m3"     # a target whose code calls kernels of its own
SMALL_TESTS = "*quant*"     # the tests among which those that call them are found
AVR = {"load_u8"}       # only code for an AVR calls it: avr.py
WIDE = "own_scopes_wide_*"  # tests that only a machine whose sizes have 32 bits can fail
TAG = r"(?:b?f16|f32|f64|[iu](?:2|4|8|16|32|64)|b8|c64|c128|str|f8e\w+|f[46]e\w+)"
CALL = re.compile(rf"\b([a-z]\w*_{TAG})\(")


def kernels():
    """Every kernel in every type: the symbols of the library."""
    nm = subprocess.run(["nm", BUILD / "libonnxcc-rt.a"], capture_output=True, text=True, check=True).stdout
    return {f[2] for f in map(str.split, nm.splitlines()) if len(f) == 3 and f[1] == "T"}


def called(suite, target="generic", tests="*"):
    """{folder of a test: the kernels that its C calls, and the size of that C}"""
    name, suite = f"{pathlib.Path(suite).name}-{target}", pathlib.Path(suite).resolve()
    work = BUILD / "machines" / "pool" / name
    work.mkdir(parents=True, exist_ok=True)
    subprocess.run([BUILD / "suite" / "run", "--own", name, "--build", work, "--include", BUILD / "include", "--c-only",
                    "--target", target, suite, tests], check=False, capture_output=True)
    found = {}
    for test in sorted(suite.glob("*/*/model.onnx")):
        c = work / test.parent.name / "m.c"
        if c.exists() and "/light/" not in str(test):
            text = c.read_text(errors="replace")
            found[test.parent] = set(CALL.findall(text)), len(text) + 2000
    return found


def cover(tests):
    """A small set of tests that together call all kernels: greedily the test with the most new calls for its size."""
    left = set().union(*(calls for calls, _ in tests.values()))
    chosen, pool = [], dict(tests)
    while left:
        best = max(pool, key=lambda t: len(pool[t][0] & left) / pool[t][1])
        left -= pool.pop(best)[0]
        chosen.append(best)
    return chosen


def write_cover(folder, tests, always=()):
    """Writes links to a small set of the tests, and to those that are chosen always; returns the kernels that they call."""
    folder.mkdir(parents=True)
    for test in {*cover(tests), *always}:
        (folder / test.name).symlink_to(test)
    return set().union(*(calls for calls, _ in tests.values()))


def write_covers(folder, suites):
    """Writes both sets of links; returns the kernels that tests call."""
    tests = {}
    for suite in suites:
        tests |= called(suite)
    calls = write_cover(folder / "tests" / "cover", tests, [t for t in tests if fnmatch.fnmatch(t.name, WIDE)])
    left = kernels() - calls
    small = {t: (more & left, size) for t, (more, size) in called(suites[-1], SMALL, SMALL_TESTS).items() if more & left}
    return calls | write_cover(folder / "small" / "cover", small)


def uncalled(calls):
    there = kernels() - AVR
    print(f"cover: {len(there & calls)} kernels, each of its types apart, are called; by no test: {len(there - calls)}")
    return "".join(f"{k}\n" for k in sorted(there - calls))


def main():
    folder, suites = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    versions = contents([BUILD / "suite" / "run", BUILD / "libonnxcc-rt.a"]), *[contents([f"{s}/version"]) for s in suites]
    with generated(str(folder), [__file__], *versions) as new:
        if new:
            calls = write_covers(pathlib.Path(new), suites)
            (pathlib.Path(new) / "uncalled").write_text(uncalled(calls))


if __name__ == "__main__":
    main()
