"""Builds the emitted C of many tests into one program for a machine of table.py and runs it there; suite/run calls it with
--elsewhere. usage: elsewhere.py MACHINE [--library] [--level='-O0 ...'] LIST

LIST: a file with the tests' folders; each gets out.elsewhere and verdict.elsewhere. --library: the kernels are called in a library
of every kernel in every type; otherwise they are inlined as in users' builds, or, with -O0, are functions of their own. Objects are cached
in OBJECTS by a hash of their sources and flags. A test that passed is not run again with the same object, library, input and machine:
its former results are compared."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess

from cache import contents, runtime, version
from table import MACHINES
from together import together, translation_unit

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ["B"]).resolve()
OBJECTS = BUILD / "machines" / "objects"
INCLUDES = [f"-I{BUILD / 'include'}", f"-I{HERE.parent / 'suite'}"]
STRICT = "-std=c99 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wvla".split()
STATUS = {"returned status": "error status", "wrote": "canary", "second call": "bits differ"}
CASE = HERE.parent / "suite" / "case.h"
CALLER = [HERE / "all.c", HERE / "board.c", HERE / "board.ld", CASE, HERE.parent / "suite" / "call.h", pathlib.Path(__file__)]
SECONDS = 4 * 3600  # the limit of a program
UNIT = 100, 4 << 20 # tests, and bytes of C, of a translation unit


class Builder:
    """Compiles objects for one machine, and caches them."""

    def __init__(self, machine):
        self.machine = machine
        self.cc = machine.tool("gcc")
        OBJECTS.mkdir(parents=True, exist_ok=True)

    def object(self, arguments, files):
        """(object, the compiler's messages)"""
        state = repr([version(self.cc), self.machine.flags, arguments, contents([*files, *self.machine.headers()]), runtime(files)])
        key = hashlib.sha256(state.encode()).hexdigest()[:20]
        o, said = OBJECTS / f"{key}.o", OBJECTS / f"{key}.log"
        if not said.exists():
            includes = [f"-isystem{h.parent}" for h in self.machine.headers()]
            new = OBJECTS / f"{key}.{os.getpid()}"   # another group of tests may write the same file
            p = subprocess.run([self.cc, *self.machine.flags, *includes, *arguments, *INCLUDES, "-c", "-o", new, files[0]],
                               capture_output=True, text=True, errors="replace", check=False)
            if p.returncode:
                new.unlink(missing_ok=True)
            else:
                new.rename(o)
            new.write_text(p.stderr)
            new.rename(said)
        return o, said.read_text()

    def library(self):
        """The objects of every kernel in every type, one for each header."""
        headers = [h for h in sorted((ROOT / "runtime-min").glob("*.h")) if re.search(r"^(REGISTER_KERNEL|REGISTER_FALLIBLE)", h.read_text(), re.M)]
        jobs = [POOL.submit(self.object, ["-O0", "-std=c99", "-ffreestanding", "-ffunction-sections", f'-DKERNELS="{h.name}"'],
                            [ROOT / "runtime-min" / "rt.c", h]) for h in headers]
        for h, (o, said) in zip(headers, (j.result() for j in jobs)):
            if said:
                print(f"FAILED {h.name}: {said}")
        return [j.result()[0] for j in jobs]


class Program:
    """A program with the tests of a list."""

    def __init__(self, machine, folders, library, level):
        self.machine, self.builder = machine, Builder(machine)
        self.work = BUILD / "machines" / "programs" / f"{machine.prefix}{'-'.join(machine.flags)}{'-library' * library}-{os.getpid()}"
        self.work.mkdir(parents=True, exist_ok=True)
        self.extra = self.builder.library() if library else []
        mode = ["-DONNXCC_LIBRARY"] if library else []
        self.arguments = [*STRICT, *level.split(), *mode, "-ffunction-sections", "-fdata-sections"]
        self.objects, self.tests, self.warned, self.made_of = [], [], {}, {}    # tests: (folder, the name of its description)
        for tests in POOL.map(self.compiled, together(folders, *UNIT)):
            self.objects += dict.fromkeys(o for _, o, *_ in tests if o.exists())
            for folder, o, name, said in tests:
                if o.exists():
                    self.warned[folder] = said
                    self.made_of[folder] = self.state(o, folder)
                    if self.has_passed(folder):
                        verdict(folder, *self.judged(folder))
                    else:
                        (folder / "elsewhere.key").unlink(missing_ok=True)
                        self.tests.append((folder, name))
                else:
                    verdict(folder, "C compile failed", first_line(said))

    def state(self, o, folder):
        """What the test's result depends on."""
        emulator = version(self.machine.run[0]) if self.machine.run else ""
        return repr([o.name, [e.name for e in self.extra], self.machine.board, self.machine.run, emulator, contents([*CALLER, folder / "in.bin"])])

    def has_passed(self, folder):
        """Did it pass in a former run of the same state?"""
        key = folder / "elsewhere.key"
        return key.exists() and (folder / "out.elsewhere").exists() and key.read_text() == self.made_of[folder]

    def compiled(self, folders):
        """[(test, object, name of the test's description, compiler's messages)] of a translation unit; if the compiler prints anything, each
        test gets a translation unit of its own."""
        name = "case_" + hashlib.sha256(" ".join(f.name for f in folders).encode()).hexdigest()[:12]
        source = self.work / f"{name}.c"
        source.write_text(translation_unit(folders, name))
        o, said = self.builder.object(self.arguments, [source, CASE, *(file for f in folders for file in (f / "case.c", *sorted(f.glob("m.*"))))])
        if said and len(folders) > 1:
            return [test for f in folders for test in self.compiled([f])]
        return [(f, o, f"{name}_{i}", said) for i, f in enumerate(folders)]

    def link(self):
        (self.work / "cases.def").write_text("".join(f"CASE({name})\n" for _, name in self.tests))
        main = [HERE / "all.c", self.work / "cases.def", HERE.parent / "suite" / "call.h", CASE]
        o, said = self.builder.object(["-O1", f"-I{self.work}"], main)
        program = self.work / "program"
        (self.work / "objects").write_text("\n".join(map(str, [o, *self.objects, *self.extra])))
        p = subprocess.run([self.builder.cc, *self.machine.flags, *self.links(), "-Wl,--gc-sections", "-o", program, f"@{self.work / 'objects'}"],
                           capture_output=True, text=True, check=False)
        if said or p.returncode:
            raise SystemExit(f"FAILED to link: {said}{p.stderr[-3000:]}")
        return program

    def links(self):
        if not self.machine.board:
            return ["-static"]
        board, _ = self.builder.object(["-O1"], [HERE / "board.c"])
        return [board, *self.machine.board]

    def run(self):
        """Runs the tests in as many processes as there are processors, each with a part of the tests."""
        program, parts = self.link(), os.cpu_count()
        list(POOL.map(lambda k: self.run_part(program, self.work / f"part{k}", list(range(k, len(self.tests), parts))), range(parts)))

    def run_part(self, program, work, left):
        """Runs tests in order; if a test ends the program, that is its verdict, and the program is restarted with the next test."""
        work.mkdir(exist_ok=True)
        while left:
            (work / "list").write_text("".join(f"{i} {self.tests[i][0]}\n" for i in left))
            begun, status, said = self.attempt(program, work)
            for i in begun if status == "done" else begun[:-1]:
                self.passed(self.tests[i][0])
            if status == "done":
                return
            if not begun:
                print(f"FAILED to run {program}: {status} {said}")
                return
            verdict(self.tests[begun[-1]][0], status, said)
            left = left[left.index(begun[-1]) + 1:]

    def judged(self, folder):
        """The verdict of a test that was run."""
        said = self.warned[folder]
        return "C compiler warns" if said else "passed", first_line(said)

    def passed(self, folder):
        verdict(folder, *self.judged(folder))
        (folder / "elsewhere.key").write_text(self.made_of[folder])

    def attempt(self, program, work):
        """(tests that were begun, done or a class of failure, messages)"""
        try:
            p = subprocess.run([*self.machine.run, program], cwd=work, capture_output=True, text=True, errors="replace",
                               timeout=SECONDS, check=False)
            out, said, code = p.stdout, p.stderr, p.returncode
        except subprocess.TimeoutExpired as e:
            out, said, code = (e.stdout or b"").decode(), f"more than {SECONDS} s", "timeout"
        lines = out.split()
        begun = [int(line) for line in lines if line.isdigit()]
        if lines[-1:] == ["done"] and code == 0:
            return begun, "done", ""
        status = next((s for words, s in STATUS.items() if words in said), "timeout" if code == "timeout" else "crash")
        return begun, status, f"{first_line(said)} (exit {code})"


def first_line(said):
    lines = said.splitlines()
    return next((line for line in lines if re.search(r"error:|warning:|call:", line)), lines[0] if lines else "")


def verdict(folder, status, why=""):
    (folder / "verdict.elsewhere").write_text(f"{status}: {why}\n" if why else f"{status}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("machine")
    parser.add_argument("--library", action="store_true")
    parser.add_argument("--level", default="-O2")
    parser.add_argument("list", type=pathlib.Path)
    args = parser.parse_args()
    folders = [pathlib.Path(line).resolve() for line in args.list.read_text().splitlines()]
    program = Program(MACHINES[args.machine], folders, args.library, args.level)
    if program.tests:
        program.run()


POOL = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
if __name__ == "__main__":
    main()
