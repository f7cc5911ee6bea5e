r"""Names with * = < and \ in options, where a \ is put before each of these characters; and names with characters special to a shell.
The command in the C's banner and the help in messages can be pasted into a shell."""
import re
import subprocess

import onnx
from onnx import TensorProto, helper

from message import quoted
from shared import HERE, check, onnxcc, same

HARD = ["plain", "it's", "*/ /* ??/", "\u00e9", "a*b", "a=b", "a<=4", "*", "=", "a\\", "a\\*b", "a\\=b\\\\", "a*b*c=d<", "<", "n<", "\\\\"]


def model_of(name):
    """A model in which every kind of name is `name` with a letter before and after."""
    x, k, s, t, y, z, n = (f"{c}{name}{c}" if name != "plain" else c for c in "xkstyzn")
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Mul", [x, k], [t]), helper.make_node("Neg", [t], [y]), helper.make_node("Add", [s, s], [z])]
    graph = helper.make_graph(nodes, "g", [info(x, 1, [n, 3]), info(k, 1, []), info(s, 1, [2])], [info(y, 1, [n, 3]), info(z, 1, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "q.onnx")
    return x, k, s, t, y, z, n


def words_of(line):
    """The words of a command, split by dash; by bash if they have escapes, which stand for unprintable bytes."""
    shell = "bash" if "$'" in line else "dash"
    p = subprocess.run([shell, "-c", f"set -- {line}; printf '%s\\0' \"$@\""], capture_output=True, text=True, check=True)
    return p.stdout.split("\0")[:-1]


def compiled(what, *options):
    p = onnxcc("q.onnx", "-o", "q.c", "--prefix", "q", *options)
    if not check(p.returncode == 0 and not p.stderr, f"{what}: {options}: {p.stderr}"):
        return ""
    files = [(HERE / f).read_bytes() for f in ("q.c", "q.h")]
    command = re.search(r"^ \*   onnxcc (.*)", files[0].decode(), re.M)[1]
    again = onnxcc(*words_of(command))
    check(again.returncode == 0 and [(HERE / f).read_bytes() for f in ("q.c", "q.h")] == files, f"{what}: other bytes by {command}: {again.stderr}")
    return files[1].decode()


def parameters(header):
    return len(re.search(r"int q_run\((.*?)\);", header, re.S)[1].split(",")) if header else 0


def options_of(name):
    x, k, s, t, y, z, n = model_of(name)
    open_size = ["--dim", f"{quoted(n)}<=4"]
    same(parameters(compiled("--dim", *open_size)), 6, f"--dim {n}: parameters")
    same(parameters(compiled("--dim", "--dim", f"{quoted(n)}=4")), 5, f"--dim {n}=4: parameters")
    same(parameters(compiled("--shape", "--shape", f"{quoted(x)}=4,3")), 5, f"--shape {x}: parameters")
    same(parameters(compiled("--const", *open_size, "--const", f"{quoted(k)}=2.5")), 5, f"--const {k}: parameters")
    (HERE / "d=1").mkdir(exist_ok=True)
    (HERE / "d=1/k*.pb").write_bytes(helper.make_tensor("k", TensorProto.FLOAT, [], [2]).SerializeToString())
    p = onnxcc("q.onnx", "-o", "q.c", *open_size, "--const", rf"{quoted(k)}=d\=1/k\*.pb")
    check(p.returncode == 0, f"--const {k}=FILE: {p.stderr}")
    header = compiled("--state", *open_size, "--state", f"{quoted(z)}={quoted(s)}")
    check("q_state" in header, f"--state {z}={s}: there is none")
    if name != "plain":
        p = onnxcc("q.onnx", "-o", "q.c", *open_size, "--state", f"{quoted(z[:-1])}*={quoted(s[:-1])}*")
        check("has no input" in p.stderr, f"--state {z[:-1]}*: {p.stderr}")
    same(parameters(compiled("--tap", *open_size, "--tap", quoted(t))), 7, f"--tap {t}: parameters")
    same(parameters(compiled("--until", *open_size, "--until", quoted(t))), 4, f"--until {t}: parameters")
    same(parameters(compiled("--from", *open_size, "--from", quoted(t))), 5, f"--from {t}: parameters")


def help_of(name):
    """The commands suggested in the help of a message can be pasted into a shell."""
    model_of(name)
    said = onnxcc("q.onnx", "-o", "q.c").stderr
    for help_ in re.findall(r"^help: (?:give it a value,|all of them, to begin with:)(.*?)(?:, or a bound,(.*))?$", said, re.M):
        for words in filter(None, help_):
            p = onnxcc("q.onnx", "-o", "q.c", *words_of(words))
            check(p.returncode == 0, f"the help of {name}: {words}: {p.stderr}")
    check("give it a value" in said, f"{name}: no help: {said}")


def main():
    for name in HARD:
        options_of(name)
        help_of(name)
