"""lines.py EVERY TURN FOLDER... - no line of code in the C of the folders' tests has more than 120 columns, with and without --single and a
long prefix; of the tests one of EVERY, which TURN selects. Prints failures, then "lines: N passed, N failed"."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

WORK = pathlib.Path(os.environ["B"]) / "lines"


def wide(text):
    """The lines of more than 120 columns. Those of nothing but a comment may have names of any length."""
    code = re.sub(r'(?s:/\*.*?\*/)', lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return [line for line, rest in zip(text.splitlines(), code.splitlines()) if len(line) > 120 and rest.strip()]


def misplaced(body):
    """Continuation lines that are not aligned to the innermost open parenthesis. In a list in braces, or if the parenthesis is right of
    column 60 or ends its line, they may be indented by 8 columns instead."""
    body = re.sub(r'(?s:/\*.*?\*/)|"(?:[^"\\\n]|\\.)*"|(?m:^#(?:.*\\\n)*.*)', lambda m: re.sub(r"[^\n]", " ", m[0]), body)
    within, first = [], 0     # columns after parentheses; LIST: in braces
    LIST = 999
    for line in map(str.rstrip, body.splitlines()):
        at = len(line) - len(line.lstrip())
        if within and line and at != (within[-1] if within[-1] <= 60 else first + 8):
            yield line
        first = first if within else at
        for i, c in enumerate(line, 1):
            if c == "(" or c == "{" and i < len(line):
                within.append(i if c == "(" and i < len(line) else LIST)
            elif within and (c == ")" or c == "}" and within[-1] == LIST):
                within.pop()


def emitted(model, *options):
    """The C; empty: refused."""
    c = WORK / model.parent.name / f"m{len(options)}.c"
    c.parent.mkdir(parents=True, exist_ok=True)
    p = subprocess.run([WORK.parent / "onnxcc", model, "-o", c, "--prefix", "m", *options], capture_output=True, timeout=600, check=False)
    return c.read_text() if p.returncode == 0 else ""


WAYS = (), ("--single",), ("--single", "--prefix", "person_detector")


def main(every, turn, *folders):
    models = [m for f in folders for m in sorted(pathlib.Path(f).resolve().glob("*/*/model.onnx"))[int(turn) % int(every)::int(every)]]
    jobs = [(m, *options) for m in models for options in WAYS]
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (model, *options), text in zip(jobs, pool.map(lambda job: emitted(*job), jobs)):
            for line in wide(text):
                print(f"FAIL {model.parent.name} {' '.join(options)}: {len(line)} columns: {line.strip()[:200]}")
            passed += bool(text) and not wide(text)
            failed += bool(wide(text))
    print(f"lines: {passed} passed, {failed or not passed:d} failed")
    return failed or not passed


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:])))
