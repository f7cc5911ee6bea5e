"""Messages: their codes and explanations, as JSON, -W, --quiet, colours."""
import json
import os
import pty
import re
import subprocess

import onnx
import onnx.parser

from shared import HERE, ONNXCC, ROOT, check, onnxcc, same

CALL = (r"\b(error_at|error_node|error_value|error_path|error_null|message_at|warn_at|warn_strict|warn_pedantic|warn_hint|warn_about|"
        r"fail_as|usage_as|usage_near)\(")
KEYS = ["severity", "code", "warning", "file", "place", "message", "help"]


# ---- codes

def rows():
    """(code, name or "") of each row of codes.def."""
    text = (ROOT / "compiler/base/codes.def").read_text()
    return re.findall(r'^(?:CODE|WARNING)\("([A-Z]+-\d+)",(?: "([a-z0-9-]+)",)?', text, re.M)


def names():
    return [name for _, name in rows() if name]


def sources():
    for f in sorted((ROOT / "compiler").rglob("*.[ch]")):
        yield f, re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read_text(), flags=re.S)


def arguments(text, at):
    """The arguments of the call whose parenthesis is at text[at]."""
    found, depth, start, quoted = [], 0, at + 1, False
    while True:
        c = text[at]
        if c == '"' and text[at - 1] != "\\" or c == "\\" and text[at + 1] == '"' and not quoted:
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and (c in ")]}" or c == "," and depth == 1):
            depth -= c != ","
            if depth <= 1 and (c == "," or not depth):
                found.append(" ".join(text[start:at].split()))
                start = at + 1
            if not depth:
                return found
        at += 1


def codes():
    table = rows()
    all_codes = [c for c, _ in table]
    warnings = {c for c, name in table if name}
    same(all_codes, sorted(set(all_codes)), "codes.def: each code once, in order")
    check(len(names()) == len(set(names())), "codes.def: a name of two warnings")
    used = set()
    for file, text in sources():
        used |= set(re.findall(r'"([A-Z]{2,4}-\d{2})"', text))
        for call in re.finditer(CALL, text) if file.stem != "error" else ():
            words = arguments(text, call.end() - 1)
            where = f"{file.relative_to(ROOT)}: {call[0]}{', '.join(words)[:80]}"
            check('""' not in words[1:2] or "warn_at" not in call[0] and "error" not in call[0], f"{where}: no code")
            if call[0].startswith("warn"):
                of = re.findall(r'"([A-Z]{2,4}-\d{2})"', " ".join(words[1:3]))
                check("define" in text[max(0, call.start() - 200):call.start()].rpartition("\n")[2] or of and warnings.issuperset(of),
                      f"{where}: a warning without a name")
    same(used - set(all_codes), set(), "codes without an explanation")
    same(set(all_codes) - used, set(), "explanations of codes that no message has")
    whole = onnxcc("--explain=all").stdout
    for code, name in table:
        p = onnxcc("--explain", code)
        check(not p.returncode and p.stdout in whole and p.stdout.startswith(code) and len(p.stdout.splitlines()) >= 4, f"--explain {code}")
        if name:
            same(onnxcc("--explain", name).stdout, p.stdout, f"--explain {name}")
    p = onnxcc("--explain", "GRA-99")
    check(p.returncode == 2 and "did you mean 'GRA-0" in p.stderr, f"--explain GRA-99: {p.stderr}")


# ---- JSON

def objects(p):
    """The messages, each of which must be an object with these keys."""
    found = []
    for line in p.stderr.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError as e:
            check(False, f"no JSON: {line}: {e}")
            continue
        want = ["severity", "message"] if found[-1]["severity"] == "note" else KEYS
        same(list(found[-1]), want, f"the keys of {line}")
    return found


HOSTILE = 'a"b\\c\n\x1b[2J\u202ed\u00e9'


def as_json():
    text = '<ir_version: 8, opset_import: ["":17]> g (float[2,3] x) => (float[2,3] y) { t = Abs(x) y = Mine(u) }'
    m = onnx.parser.parse_model(text)
    m.graph.node[0].name = m.graph.node[1].name = HOSTILE
    m.graph.node[0].output[0] = m.graph.node[1].input[0] = HOSTILE
    onnx.save(m, HERE / "m.onnx")
    p = onnxcc("m.onnx", "--diagnostics=json", "-Wall", "-v")
    found = objects(p)
    error = next(o for o in found if o["severity"] == "error")
    same((p.returncode, error["code"], error["file"]), (1, "OPS-05", "m.onnx"), "an error as JSON")
    check(error["place"].startswith('graph.node[1] "a"b\\c\\x0A\\x1B[2J') and "\u202e" not in p.stderr, f"a hostile name: {error['place']}")
    check(any("--list-ops" in h for h in error["help"]), f"help in the object: {error}")
    same(found[-1]["severity"], "summary", "the last object")
    notes = [o["message"] for o in found if o["severity"] == "note"]
    check(notes and notes[0].startswith("parse "), f"notes: {notes}")
    p = onnxcc("m.onnx", "--dim", "--diagnostics=json", "--tartget=q")
    same([(o["severity"], o["code"]) for o in objects(p)], [("option error", "ARG-02"), ("option error", "ARG-01")], "options as JSON")
    p = onnxcc("none.onnx", "--diagnostics=json")
    same([(o["code"], o["message"]) for o in objects(p)], [("SYS-01", "cannot open 'none.onnx': No such file or directory")], "no file")


# ---- which warnings

def write_unsorted():
    """A model with three warnings: GRA-02, which --strict makes an error; OPS-10, an ordinary one; NAM-07, which most exporters cause."""
    text = '<ir_version: 8, opset_import: ["":17]> g (float[2] x) => (float[2] y) { y = Abs(t) t = Neg(x) }'
    m = onnx.parser.parse_model(text)
    m.domain, m.graph.node[0].name, m.graph.node[1].name = "d", "n", "n"
    m.opset_import.add(domain="ai.onnx.ml", version=99)
    onnx.save(m, HERE / "w.onnx")


def warned(*options):
    p = onnxcc("w.onnx", "-o", "w.c", *options)
    return p.returncode, re.findall(r"^(error|warning)\[(.*?)\]", p.stderr, re.M)


def warnings():
    write_unsorted()
    gra, ops, nam = ("warning", "GRA-02"), ("warning", "OPS-10"), ("warning", "NAM-07")
    same(warned(), (0, [gra, ops]), "warnings")
    same(warned("-Wall"), (0, [nam, gra, ops]), "-Wall")
    same(warned("-Wnode-name"), (0, [nam, gra, ops]), "-WNAME")
    same(warned("-Wno-unsorted-nodes"), (0, [ops]), "-Wno-NAME")
    same(warned("-Wno-GRA-02", "-W", "no-newer-opset"), (0, []), "-Wno-CODE")
    same(warned("--quiet"), (0, []), "--quiet")
    same(warned("-q", "-Werror=newer-opset"), (1, [("error", "OPS-10")]), "--quiet -Werror=NAME")
    same(warned("-Werror"), (1, [("error", "GRA-02"), ("error", "OPS-10")]), "-Werror")
    same(warned("-Werror", "-Wno-error=newer-opset"), (1, [("error", "GRA-02"), ops]), "-Wno-error=NAME")
    same(warned("-Werror=unsorted-nodes"), (1, [("error", "GRA-02"), ops]), "-Werror=NAME")
    same(warned("-Werror", "-Wno-error"), (0, [gra, ops]), "-Wno-error")
    same(warned("--strict", "-Wno-unsorted-nodes", "-Wno-node-name"), (0, [ops]), "--strict, but not these")
    p = onnxcc("w.onnx", "-Wno-unsorted-node")
    check(p.returncode == 2 and "did you mean 'unsorted-nodes'?" in p.stderr, f"-Wno-unsorted-node: {p.stderr}")
    p = onnxcc("w.onnx", "-Wno-GRA-07")
    check(p.returncode == 2 and "always an error" in p.stderr, f"-Wno-GRA-07: {p.stderr}")


# ---- colours

def on_terminal(**environment):
    """The messages when standard error is a terminal."""
    master, slave = pty.openpty()
    subprocess.run([ONNXCC, "w.onnx", "-o", "w.c"], cwd=HERE, stderr=slave, env={**os.environ, "TERM": "xterm", **environment}, check=True)
    os.close(slave)
    said = os.read(master, 65536).decode()
    os.close(master)
    return said


def colors():
    os.environ.pop("NO_COLOR", None)
    check("\x1b[1;35mwarning[GRA-02]\x1b[0m: " in on_terminal(), f"colours on a terminal: {on_terminal()!r}")
    check("\x1b" not in on_terminal(NO_COLOR="1"), "NO_COLOR")
    check("\x1b" in on_terminal(NO_COLOR=""), "an empty NO_COLOR is none")
    check("\x1b" not in on_terminal(TERM="dumb"), "a terminal without colours")
    check("\x1b" not in onnxcc("w.onnx", "-o", "w.c").stderr, "no terminal")


def standard_output():
    """One C file that needs nothing beside it."""
    p = onnxcc("w.onnx", "-o", "-", "-q")
    built = subprocess.run(["gcc", "-c", "-x", "c", "-", "-o", "w.o"], cwd=HERE, input=p.stdout, capture_output=True, text=True, check=False)
    check(not p.returncode and not built.returncode, f"-o -: {p.stderr}{built.stderr[:500]}")


def main():
    codes()
    as_json()
    warnings()
    standard_output()
    colors()
