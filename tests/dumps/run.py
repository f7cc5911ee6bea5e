"""Runs the cases of tests/dumps/*.dump: compares the output of -d and --remarks with the text of the file. Prints what
differs, then "dumps: N passed, N failed".

A file is about one rewrite, which its comments describe. Its cases are written as those of tests/error (run.py there); the
arguments follow `m.onnx -o m.c`. Values are renumbered from 1 in the order in which a run prints them, so
that a file changes only when its rewrite does.
"""
import fnmatch
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("cases", HERE.parent / "error" / "run.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)


def renumbered(text):
    """The text with values numbered in order: x_17:f32[2]@17 becomes x_1:f32[2]@1 if it is the first."""
    number = {}

    def new(old):
        return str(number.setdefault(old, len(number) + 1))
    text = re.sub(r"_(\d+)(?=:\w+\[)", lambda m: "_" + new(m[1]), text)
    return re.sub(r"(?<=@)(\d+)\b", lambda m: new(m[1]), text)


def says(onnxcc, case):
    """The output of a case's runs, and their exit codes if they are not the expected ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases.make(case, folder)
        said, wrong = "", []
        for arguments in case.runs:
            p = cases.run_one(onnxcc, case, folder, "m.onnx -o m.c " + arguments)
            said += renumbered(p.stderr.decode())
            if p.returncode:
                wrong.append(f"exit {p.returncode}")
        return said, wrong


def main():
    words = sys.argv[1:]
    patterns = [w for w in words if w != "--update"] or ["*"]
    passed = failed = 0
    changes = []
    for file in sorted(HERE.glob("*.dump")):
        for case in cases.read_cases(file):
            if not any(fnmatch.fnmatch(f"{file.stem}/{case.name}", p) for p in patterns):
                continue
            said, wrong = says(os.environ["ONNXCC"], case)
            if said != case.says:
                changes.append((case, said))
                wrong.append("it prints\n" + textwrap.indent(said, "    ") + "  instead of\n" + textwrap.indent(case.says, "    "))
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for w in wrong:
                print(f"{file.name}:{case.line}: {case.name}\n  {w.rstrip()}")
    if "--update" in words:
        cases.update(changes)
    print(f"dumps: {passed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
