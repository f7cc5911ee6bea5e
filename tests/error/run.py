"""Runs the cases of tests/error/*.case: makes the model, runs onnxcc on it, compares its messages and exit code, and
looks for files left behind. Prints differences, then "error: N passed, N failed".

A case file is text. A keyword at the start of a line begins a part, whose contents are indented by four spaces:
    case NAME       a new case
    model B1        what to start from, one of MODELS; or the text of a model (as of onnx.parser), indented
    edit            Python, run with the model as m: may change it, set data (bytes of m.onnx instead), or write files
    run ARGUMENTS   instead of `m.onnx -o m.c`; several lines are several runs; < FILE: its standard input
    limit BYTES     the largest size of a file
    exit N          the exit code (default 1)
    paste           with the options that the last help suggests, for all sizes or for the only one, the same command succeeds
    says            everything on standard error, exactly; empty: nothing
"""
import fnmatch
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap

import numpy
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
HEADER = '<ir_version: 8, opset_import: ["":17]>\n'
MODELS = {
    "B0": HEADER + "g (float[2,3] x) => (float[2,3] y) { y = Abs(x) }",
    "B1": HEADER + "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1,2,3}> { y = Add(x, w) }",
    "B2": HEADER + """g (bool c, float[2] x) => (float[2] y)
        { y = If (c) <then_branch = tb () => (float[2] t) { t = Neg(x) },
                      else_branch = eb () => (float[2] e) { e = Abs(x) }> }""",
    "B3": HEADER + """g (int64 M, float[2] v) => (float[2] r, float[K,2] s)
        { r, s = Loop (M, "", v) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] o, float[2] q)
                                  { co = Identity(ci)  o = Add(a, v)  q = Neg(a) }> }""",
    "B4": """<ir_version: 10, opset_import: ["":21, "f":1]>
        g (float[2] x) => (float[2] y) { y = f.Lrelu <alpha = 0.5> (x) }
        <domain: "f", opset_import: ["":21]>
        Lrelu <alpha> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }""",
    "B5": """<ir_version: 8, opset_import: ["":17, "com.microsoft":1]>
        g (int32[1,3] x) => (int32[1,6] y) <int32[1] n = {6}> { y = com.microsoft.GreedySearch <eos_token_id = 1, pad_token_id = 0,
        decoder = d (int32[b,s] input_ids, int32[b,s] position_ids, int32[b,t] attention_mask, float[2,b,1,p,1] past_0)
        => (float[b,s,4] logits, float[2,b,1,t,1] present_0) <float[4] w = {1,2,3,4}, int64[1] a = {2}, int64[3] c = {0,2,4}> {
        f = Cast <to = 1> (input_ids) u = Unsqueeze (f, a) logits = Mul (u, w) q = Unsqueeze (f, c) r = Concat <axis = 0> (q, q)
        present_0 = Concat <axis = 3> (past_0, r) }> (x, n) }""",
    "B6": """<ir_version: 8, opset_import: ["":17, "com.microsoft":1]>
        g (int32[1,3] x) => (int32[1,2,6] y) <int32[1] n = {6}, int32[1] k = {2}> { y = com.microsoft.BeamSearch <eos_token_id = 1,
        pad_token_id = 0, model_type = 1, decoder_start_token_id = 2,
        encoder = e (int32[b,n] encoder_input_ids, int32[b,n] encoder_attention_mask) => (float[b,1,n,1] present_key_cross_0,
        float[b,1,n,1] present_value_cross_0) <int64[2] c = {1,3}> { f = Cast <to = 1> (encoder_input_ids)
        present_key_cross_0 = Unsqueeze (f, c) present_value_cross_0 = Identity (present_key_cross_0) },
        decoder = d (int32[b,1] input_ids, int32[b,n] encoder_attention_mask, float[b,1,p,1] past_key_self_0,
        float[b,1,p,1] past_value_self_0, float[b,1,n,1] past_key_cross_0, float[b,1,n,1] past_value_cross_0) => (float[b,1,4] logits,
        float[b,1,q,1] present_key_self_0, float[b,1,q,1] present_value_self_0) <float[4] w = {1,2,3,4}, int64[1] a = {2},
        int64[2] c = {1,3}> { f = Cast <to = 1> (input_ids) u = Unsqueeze (f, a) logits = Mul (u, w) v = Unsqueeze (f, c)
        present_key_self_0 = Concat <axis = 2> (past_key_self_0, v) present_value_self_0 = Concat <axis = 2> (past_value_self_0, v) }>
        (x, n, "", k, k) }""",
}


class Case:
    def __init__(self, file, name, line):
        self.file, self.name, self.line = file, name, line
        self.model, self.edit, self.says = "B0", "", ""
        self.runs, self.exit, self.limit, self.paste = [], 1, None, False
        self.says_at = None     # lines of the file that hold the message


def read_cases(file):
    cases, part, lines = [], None, file.read_text().split("\n")
    for i, line in enumerate(lines):
        if line.startswith("    ") or not line:
            if part == "says" and line:
                cases[-1].says += line[4:] + "\n"
                cases[-1].says_at[1] = i + 1
            elif part in ("model", "edit"):
                setattr(cases[-1], part, getattr(cases[-1], part) + line + "\n")
            continue
        word, _, rest = line.partition(" ")
        part = word
        if word == "case":
            cases.append(Case(file, rest, i + 1))
        elif word == "model":
            cases[-1].model = rest
        elif word == "run":
            cases[-1].runs.append(rest)
        elif word in ("exit", "limit"):
            setattr(cases[-1], word, int(rest))
        elif word == "says":
            cases[-1].says_at = [i + 1, i + 1]
        elif word == "paste":
            cases[-1].paste = True
        elif word not in ("edit", "#"):
            raise SystemExit(f"{file}:{i + 1}: {word}?")
    return cases


def wire(field, kind, payload):
    """One protobuf field: kind 0 a number, 2 bytes, others raw bytes."""
    def number(v):
        out = b""
        while v > 127:
            out, v = out + bytes([v & 127 | 128]), v >> 7
        return out + bytes([v])
    body = number(payload & (1 << 64) - 1) if kind == 0 else number(len(payload)) + payload if kind == 2 else payload
    return number(field << 3 | kind) + body


def make(case, folder):
    text = MODELS.get(case.model.strip(), case.model)
    m = onnx.parser.parse_model(text)
    space = {"m": m, "g": m.graph, "data": None, "onnx": onnx, "helper": helper, "numpy": numpy, "wire": wire,
             "numpy_helper": numpy_helper, "TensorProto": TensorProto, "folder": folder, "os": os}
    here = os.getcwd()
    os.chdir(folder)
    try:
        exec(textwrap.dedent(case.edit), space)
        data = space["data"] if space["data"] is not None else space["m"].SerializeToString()
        if data is not False:
            (folder / "m.onnx").write_bytes(data)
    finally:
        os.chdir(here)


def run_one(onnxcc, case, folder, arguments):
    stdin = subprocess.DEVNULL
    words = shlex.split(arguments)
    if "<" in words:
        stdin = open(folder / words[words.index("<") + 1], "rb")
        del words[words.index("<"):]

    def limits():
        if case.limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.limit, case.limit))
    return subprocess.run(["onnxcc", *words], executable=onnxcc, cwd=folder, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, preexec_fn=limits)


def pasted(onnxcc, folder, arguments, said):
    """What a shell says to the command with each line of options that `said` suggests; "" if all succeed."""
    lines = re.findall(r"help: all of them, to begin with: (.*)", said)[-1:] or re.findall(r"help: give it a bound, (.*)", said)[-1:]
    lines += re.findall(r"help: or everything that is open: (.*)", said)
    if not lines:
        return "nothing to paste"
    for line in lines:
        p = subprocess.run(f"'{onnxcc}' {arguments} {line}", shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
        if p.returncode:
            return f"{line}\n{p.stderr}"
    return ""


def check(onnxcc, case):
    """What is wrong, or None; and the messages."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(case, folder)
        before = {p: p.lstat().st_mtime_ns for p in folder.rglob("*")}
        said, problems = "", []
        for arguments in case.runs or ["m.onnx -o m.c"]:
            p = run_one(onnxcc, case, folder, arguments)
            said += p.stderr.decode(errors="backslashreplace")
            if p.returncode != case.exit:
                problems.append(f"exit {p.returncode}, expected {case.exit}")
        after = {p: p.lstat().st_mtime_ns for p in folder.rglob("*")}
        if case.exit:
            problems += [f"left behind: {p.relative_to(folder)}" for p in sorted(after) if p not in before]
            problems += [f"changed: {p.relative_to(folder)}" for p in before
                         if not p.is_dir() and after.get(p) != before[p]]
        if case.paste and (fails := pasted(onnxcc, folder, (case.runs or ["m.onnx -o m.c"])[-1], said)):
            problems.append(f"what it suggests fails: {fails}")
        if said != case.says:
            problems.append("it says\n" + textwrap.indent(said or "(nothing)\n", "    ") + "  instead of\n"
                            + textwrap.indent(case.says or "(nothing)\n", "    "))
        return problems, said


def update(changes):
    for file in {case.file for case, _ in changes}:
        lines = file.read_text().split("\n")
        for case, said in sorted(changes, key=lambda c: -c[0].line):
            if case.file == file:
                new = ["    " + s for s in said.split("\n")[:-1]]
                if case.says_at is None:
                    raise SystemExit(f"{file}: case {case.name} has no 'says'")
                lines[case.says_at[0]:case.says_at[1]] = new
        file.write_text("\n".join(lines))


def main():
    words = sys.argv[1:]
    patterns = [w for w in words if w != "--update"] or ["*"]
    onnxcc = os.path.join(os.environ.get("B", "build"), "onnxcc")
    onnxcc = os.environ.get("ONNXCC", os.path.abspath(onnxcc))
    passed = failed = 0
    changes = []
    for file in sorted(HERE.glob("*.case")):
        for case in read_cases(file):
            if not any(fnmatch.fnmatch(n, p) for n in (case.name, f"{file.stem}/{case.name}") for p in patterns):
                continue
            try:
                problems, said = check(onnxcc, case)
            except Exception as e:
                problems, said = [f"{type(e).__name__}: {e}"], None
            if said is not None and said != case.says:
                changes.append((case, said))
            failed += bool(problems)
            passed += not problems
            if problems:
                print(f"{file.name}:{case.line}: {case.name}")
                for p in problems:
                    print("  " + p.rstrip("\n"))
    if "--update" in words:
        update(changes)
    print(f"error: {passed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
