"""Runs every test of one subject: find.py CACHE WHAT. WHAT is one of
  test_softmax_axis_1, test_softmax*    official tests
  Softmax, com.microsoft.QGemm          an operator: the tests of models that use it, of its types, accuracy and messages, and of rows
                                        of the specification that name it
  read/external, read                   a part of the compiler, or a folder of it: the tests with `Parts: read/external` at the head
                                        of their file; ops/softmax: all operators in it
Each group's target runs its part, after what several of them need is built; tests/run adds up the counts."""
import collections
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import onnx

from cache import generated

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = HERE.parent / "compiler"
BUILD = pathlib.Path(os.environ["B"]).resolve()
NAME_OF = {"dumps": "{}/*", "error": "{}/*", "spec": "{}-*", "unit": "{}"}     # the tests of a file


def operators_of(model):
    """Every "DOMAIN.OPERATOR" of a model, without the domain where it is ai.onnx."""
    def walk(nodes):
        for n in nodes:
            yield n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}.{n.op_type}"
            for a in n.attribute:
                for g in [a.g, *a.graphs]:
                    yield from walk(g.node)
    return {o for nodes in [model.graph.node, *(f.node for f in model.functions)] for o in walk(nodes)}


def tests_by_operator(folder, generator):
    """{operator: names of the tests in a folder, which the generator writes, whose models use it}"""
    subprocess.run([sys.executable, HERE / generator, folder], check=True)
    with generated(str(folder) + "-operators", [__file__, folder / "version"]) as new:
        if new:
            found = collections.defaultdict(list)
            for path in sorted(folder.glob("*/*/model.onnx")):
                for o in operators_of(onnx.load(path, load_external_data=False)):
                    found[o].append(path.parent.name)
            (pathlib.Path(new) / "index.json").write_text(json.dumps(found))
    return json.loads(pathlib.Path(str(folder) + "-operators", "index.json").read_text())


def rows(names, file):
    """Those of `names` whose schemas the file defines."""
    found = set(re.findall(r'(?:\b[A-Z_0-9]+\(|\{)\{?"([A-Z][A-Za-z0-9]+)"', file.read_text()))
    return {n for n in names if n.rpartition(".")[2] in found}


def rows_of_part(names, part):
    """The operators of compiler/ops/FILE.c; of a file that has none, those of the files with the same beginning: ml_forest, ml_*."""
    file = COMPILER / f"{part}.c"
    return rows(names, file) or {o for f in file.parent.glob(f"{file.stem.split('_')[0]}_*.c") for o in rows(names, f)}


def cases_that_say(folder, pattern, heads, operators):
    """Names of cases in tests/FOLDER/*.PATTERN that mention one of the operators; heads: the keywords that begin a case."""
    word = re.compile(r"\b(?:" + "|".join(re.escape(o.rpartition(".")[2]) for o in operators) + r")\b")
    for file in sorted((HERE / folder).glob(pattern)):
        for case in re.split(rf"^(?={heads} )", file.read_text(), flags=re.M)[1:]:
            if word.search(case):
                yield re.sub(r"[^\w/-]", "?", re.match(rf"{heads} (.*)", case)[1])     # as a pattern, without quotes and blanks


def of_operators(cache, operators):
    if not operators:
        return []
    official, own = tests_by_operator(cache / "suite", "suite/generate.py"), tests_by_operator(cache / "operators", "operators/cases.py")
    short = [o.rpartition(".")[2] for o in operators]
    groups = [
        ("suite", "T", sorted({t for o in operators for t in official.get(o, [])})),
        ("operators", "O", sorted({t for o in operators for t in own.get(o, [])})),
        ("cells", "O", [f"*{s}_[0-9]*" for s in short]),
        ("bounds", "O", short),
        ("error", "CASE", sorted(set(cases_that_say("error", "*.case", "case", operators)))),
        ("spec", "O", sorted({n.split("?")[0] for n in cases_that_say("spec", "*.spec", "row", operators)}))]
    return [g for g in groups if g[2]]


def touches(parts, what):
    """Does a test of these parts, files or whole folders, test `what`, a file or a folder?"""
    return any(p == what or p.startswith(what + "/") or what.startswith(p + "/") for p in parts)


def parts_said(text):
    """The names in each `Parts: a/b, c.` of a text, with its position."""
    for m in re.finditer(r"Parts: ([\w/, \n#*]+)\.", text):
        yield m.start(), re.findall(r"[\w/]+", m[1].replace("#", " ").replace("*", " "))


def of_part(what):
    found = collections.defaultdict(list)
    for file in sorted(HERE.glob("*/*.mk")):
        text = file.read_text()
        for at, parts in parts_said(text):
            if touches(parts, what):
                found[re.search(r"^TESTS \+= (?:.*,)?([\w-]+)\)?$", text[at:], re.M)[1], ""] = []
    for folder, pattern, group, variable in (("error", "*.case", "error", "CASE"), ("spec", "*.spec", "spec", "O"),
                                             ("unit", "*.c", "unit", "U"), ("dumps", "*.dump", "dumps", "D")):
        for file in sorted((HERE / folder).glob(pattern)):
            if any(touches(parts, what) for _, parts in parts_said(file.read_text()[:1000])):
                found[group, variable].append(NAME_OF[group].format(file.stem))
    return [(group, variable, names) for (group, variable), names in found.items()]


def groups_of(cache, what):
    if what.startswith("test_"):
        return [("suite", "T", [what])]
    table = json.loads(subprocess.run([BUILD / "onnxcc", "--list-ops=json"], capture_output=True, text=True, check=True).stdout)
    names = {(f"{r['domain']}." if r["domain"] else "") + r["operator"] for r in table}
    room = what.split("/")[0]
    if (COMPILER / room).is_dir():
        if not list(COMPILER.glob(f"{what}.c")) and what != room:
            raise SystemExit(f"find.py: there is no compiler/{what}.c")
        if room == "gradient":
            return [("operators", "O", ["own_gradient*"])] + of_part(what)
        if room == "ops" and what != room:
            return of_operators(cache, sorted(rows_of_part(names, what))) + of_part(what)
        return of_part(what)
    chosen = sorted(fnmatch.filter(names, what)) or sorted(n for n in names if n.rpartition(".")[2] == what)
    if not chosen:
        raise SystemExit(f"find.py: {what} is no official test (test_*), no operator of --list-ops and no part of compiler/")
    return of_operators(cache, chosen)


def main(cache, what):
    groups = groups_of(pathlib.Path(cache), what)
    # T= clears the variable of `make test T=...`, which means something else to the groups' targets.
    words = [f"{group} T= {variable}={shlex.quote(' '.join(names))}" if names else f"{group} T=" for group, variable, names in groups]
    for w in words:
        print(f"make test-{w}" if len(w) < 200 else f"make test-{w[:200]}...", flush=True)
    if not words:
        raise SystemExit(f"find.py: no test says that it is of {what}")
    os.execv(HERE / "run", [HERE / "run", *words])


if __name__ == "__main__":
    main(*sys.argv[1:])
