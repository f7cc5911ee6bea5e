"""Checks the repository's rules in the files and in what is built from them: walls.py MAKE. Prints each violation as
file:line: rule, then "lint: N passed, N failed" (a file or a build passes if it has no violation)."""
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys

from find import parts_said

ROOT = pathlib.Path(__file__).resolve().parents[2]
B = os.environ["B"]
FILE_LINES, FUNCTION_LINES, COLUMNS = 750, 100, 160     # limits; the aims are 500 lines, a screen, 120 columns
MAY_BE_ASKED = {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}
RUNTIME_INCLUDES = {"stddef.h", "stdint.h"}
FAMILIES = ("compiler/ops/", "compiler/gradient/")      # where operators' names are allowed
NAMES_SEEN = ("quote.c", "eval.c")                      # files of compiler/emit that may read names: one escapes them, one prints no C
# The folders of the compiler, numbered: each includes and calls only files of its own number or a lower one.
FOLDERS = {"base": 0, "ir": 1, "read": 2, "passes": 3, "ops": 3, "gradient": 3, "memory": 4, "plain": 1, "emit": 5, "": 6, "verify": 6}
# Pairs of files that call each other, because what they process is nested: a graph has nodes with attributes, which may be graphs; the
# gradient of a Loop or an If is that of the nodes in its graphs, which may be Loops and Ifs; a declaration in C has expressions (sizes,
# initial values), and an expression or a statement may have declarations. In one file each pair would have more than 500 lines.
RECURSIVE = ["read/parse_attr read/parse_graph", "gradient/control gradient/gradient", "plain/parse plain/parse_top"]
# Headers that declare functions of files in other folders: services of the passes that schemas may use (ops.h), and what the passes need
# from the files that may name operators.
SERVICES = {"ir/ops.h", "passes/alternatives.h", "passes/container.h"}
VECTOR_INCLUDES = re.compile(r"\w+intrin\.h|arm_(neon|mve|acle)\.h|wasm_simd128\.h")
found = {}


def tracked():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {n: (ROOT / n).read_text(errors="replace") for n in names if (ROOT / n).is_file()}


def find(file, line, what):
    found.setdefault(file, []).append(f"{file}:{line}: {what}")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def each_line(file, text, pattern, what):
    for i, line in enumerate(text.split("\n"), 1):
        for m in re.finditer(pattern, line):
            find(file, i, what.format(m[0]))


def operators():
    """The names of all operators, except internal ones."""
    table = subprocess.run([f"{B}/onnxcc", "--list-ops=json"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {row["operator"] for row in json.loads(table)}


def look_at(file, text, names):
    if not text.isprintable() and "\0" in text:
        return
    if file == "tests/lint/walls.py":   # it names the forbidden words
        return
    elsewhere = r"(?<![\w)}.])/(?:home|Users)/\w+|(?<!version )\bhttps?://(?!127\.0\.0\.1\b|www\.w3\.org/2000/svg\b|www\.debian\.org/doc/packaging-manuals/)"
    each_line(file, text, elsewhere, "a place on one machine or in the net: {}")
    if not file.endswith((".mk", ".mk.in", "debian/rules")) and "akefile" not in file and file != "LICENSE":
        each_line(file, text, r"\t", "a tab")
    if file.endswith((".c", ".h", ".py", ".mk")):
        each_line(file, text, r"[ \t]+$", "space at the end of a line")
        each_line(file, text, r"\b(TODO|FIXME|XXX)\b", "{}")
        each_line(file, text, rf"^.{{{COLUMNS + 1},}}", "a long line")
        if text.count("\n") > FILE_LINES:
            find(file, 1, f"{text.count(chr(10))} lines; split it")
    if file.endswith((".c", ".h")) and not re.match(rf"/\* {re.escape(file.rsplit('/', 1)[1])}\b.* - ", text):
        find(file, 1, "the first line says what the file is: /* name - ... */")
    if file.endswith((".c", ".h")):
        functions(file, text)
    if file.startswith("runtime-min/"):
        for i, line in enumerate(text.split("\n"), 1):
            m = re.match(r'#\s*include ([<"])([^>"]+)', line)
            if m and m[1] == "<" and m[2] not in RUNTIME_INCLUDES and not VECTOR_INCLUDES.fullmatch(m[2]):
                find(file, i, f"the runtime includes {m[2]}")
            if m and m[1] == '"' and not (ROOT / "runtime-min" / m[2]).exists() and m[2] != "ir/kernel.h":
                find(file, i, f"the runtime includes {m[2]}")
            if m and m[1] == '"' and re.search(r"^REGISTER_", files[f"runtime-min/{m[2]}"] if f"runtime-min/{m[2]}" in files else "", re.M):
                find(file, i, f"{m[2]} has kernels: a C file that calls those and these would have them twice")
        each_line(file, without_comments(text), r"\b(malloc|free|printf|assert|setjmp)\s*\(", "the runtime calls {}")
    if file.startswith("compiler/") and not file.startswith(FAMILIES):
        each_line(file, without_comments(text), rf'"({"|".join(names)})"', "{}: an operator's name outside compiler/ops")
        each_line(file, text, r'#include "(ops|gradient)/.*', "{}: a stage includes an operator")
    if file.startswith(FAMILIES):
        each_line(file, text, r'#include "(\.\./)?(emit|parse|place|output|check|compile)\.h"', "{}: a stage's header")
    if file.startswith("compiler/emit/") and file.endswith(".c") and file.rsplit("/", 1)[1] not in NAMES_SEEN:
        first = re.search(r'#include "(.*)"', text)
        if not first or first[1] != "emit/emit.h":
            find(file, 1, 'the first header is emit.h, which hides the bytes of names')
        each_line(file, text, r"NAMES_ARE_OPAQUE|QUOTE_C|struct NameBytes|#\s*pragma", "{}: only emit/quote.c sees a model's bytes")
    if file.startswith("compiler/") and not file.startswith(("compiler/emit/", "compiler/base/")):
        each_line(file, without_comments(text), r"\boutput_(open|write)\(", "{}: only emit/ writes files")
    if file.startswith("templates/") and not file.endswith(".html.in"):     # a page draws itself
        each_line(file, text, r"\b(for|while|if) \(", "a template with logic: {}")


def functions(file, text):
    start = None
    for i, line in enumerate(text.split("\n"), 1):
        if line.startswith("{"):
            start = i
        elif line.startswith("}") and start and not line.startswith("};"):
            if i - start > FUNCTION_LINES:
                find(file, start, f"a function of {i - start} lines")
            start = None


def build(name, command):
    p = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True)
    if p.returncode or "warning:" in p.stderr:
        found[name] = [f"{name}: {line}" for line in p.stderr.splitlines() if "warning:" in line or "error:" in line] or [name]


def layout(files):
    """The files have the layout of .clang-format; `make format` applies it."""
    p = subprocess.run([os.path.join(os.path.dirname(sys.executable), "clang-format"), "--dry-run", *files], cwd=ROOT,
                       capture_output=True, text=True)
    if p.returncode:
        found["clang-format"] = [p.stderr]
    for file, line in re.findall(r"^(.+?):(\d+):.*-Wclang-format-violations", p.stderr, re.M):
        find(file, line, "`make format` would change it")


def layer(file):
    """The number in FOLDERS of a file of the compiler."""
    parts = file.split("/")
    return FOLDERS[parts[1] if len(parts) == 3 else ""]


def includes_go_down(files):
    for file, text in files.items():
        if not re.fullmatch(r"compiler/(\w+/)?\w+\.[ch]", file):
            continue
        for i, line in enumerate(text.split("\n"), 1):
            m = re.match(r'#include "(\w+/\w+\.\w+|onnxcc\.h|compile\.h)"', line)
            if m and f"compiler/{m[1]}" in files and layer(f"compiler/{m[1]}") > layer(file):
                find(file, i, f"{m[1]} belongs to a folder that comes later")


def compiler_symbols(files):
    """The symbols that source files of the compiler define, {symbol: file}, and those that they leave undefined, [(file, symbol)]."""
    defined, asked = {}, []
    for source in files:
        if not re.fullmatch(r"compiler/(\w+/)?\w+\.c", source):
            continue
        lines = subprocess.run(["nm", f"{B}/{source[9:-2]}.o"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
        for *_, kind, symbol in map(str.split, lines):
            if kind == "U":
                asked.append((source, symbol))
            elif kind in "TDBRVC":
                defined[symbol] = source
    assert len(defined) > 400, len(defined)
    return defined, asked


def symbols_go_down(defined, asked):
    """No file refers to a symbol of a folder with a higher number."""
    for source, symbol in asked:
        if symbol in defined and layer(defined[symbol]) > layer(source):
            find(source, 1, f"refers to {symbol} of {defined[symbol]}, in a folder that comes later")


def circles(edges):
    """The cycles of a graph {node: its successors}: the sets of two or more nodes that reach each other."""
    def reached(start):
        seen, stack = set(), [start]
        while stack:
            new = edges.get(stack.pop(), set()) - seen
            seen |= new
            stack += new
        return seen
    reach = {n: reached(n) for n in edges}
    return {frozenset(m for m in reach[n] if n in reach.get(m, ())) for n in edges if n in reach[n]}


def no_circles(files, defined, asked):
    """No file includes itself through others; no file calls itself through others, except those of RECURSIVE."""
    includes, calls = {}, {}
    for file, text in files.items():
        if re.fullmatch(r"compiler/(\w+/)?\w+\.h", file):
            includes[file] = {f"compiler/{h}" for h in re.findall(r'^#include "(.+)"', text, re.M)}
    for source, symbol in asked:
        if defined.get(symbol, source) != source:
            calls.setdefault(source[9:-2], set()).add(defined[symbol][9:-2])
    assert len(calls) > 100, len(calls)
    for circle in circles(includes):
        find(min(circle), 1, f"a circle of includes: {sorted(circle)}")
    for circle in circles(calls):
        if not any(circle <= set(known.split()) for known in RECURSIVE):
            find(f"compiler/{min(circle)}.c", 1, f"a circle of files: {sorted(circle)}")


def headers_declare(files, defined):
    """Each function is declared in the header of its file or folder, or is the last word of a row of a table that such a header includes
    as declarations; wire_field is declared in the header that nanopb writes."""
    declared = {}
    for file, text in files.items():
        if re.fullmatch(r"compiler/(\w+/)?\w+\.(h|def)", file):
            for word in re.findall(r"\b(\w+)(?=\(|\[|;" + (r"|\)$)" if file.endswith(".def") else ")"), without_comments(text), re.M):
                declared.setdefault(word, set()).add(file)
    for symbol, file in defined.items():
        headers = declared.get(symbol, set())
        if not symbol.endswith(("_ops_n", "_ops_at", "_part")) and symbol not in ("main", "wire_field") and \
                not any(os.path.dirname(h) == os.path.dirname(file) or h[9:] in SERVICES for h in headers):
            find(file, 1, f"{symbol} is declared in {sorted(headers) or 'no header'}")


def headings_are_true(files, defined):
    """Under a heading /* file.c */ or /* file.c: ... */ a header declares what that file defines."""
    for file, text in files.items():
        current = None
        for i, line in enumerate(text.split("\n") if re.fullmatch(r"compiler/(\w+/)?\w+\.h", file) else (), 1):
            heading = re.match(r"/\* (\w+\.c)(?: \*/|:)", line)
            current = f"{os.path.dirname(file)}/{heading[1]}" if heading else current
            for name in re.findall(r"\b(\w+)\(", without_comments(line)) if current and not line.startswith((" *", "/*")) else ():
                if defined.get(name, current) != current:
                    find(file, i, f"{name} is under the heading of {current}, but in {defined[name]}")


def contents_are_whole(files):
    """onnxcc.h includes each header of a folder that a file of a later folder includes."""
    listed = re.findall(r'^#include "(.+)"', files["compiler/onnxcc.h"], re.M)
    for file, text in files.items():
        for header in re.findall(r'^#include "(\w+/\w+\.h)"', text, re.M) if re.fullmatch(r"compiler/(\w+/)?\w+\.[ch]", file) else ():
            if f"compiler/{header}" in files and layer(f"compiler/{header}") < layer(file) and header not in listed:
                find("compiler/onnxcc.h", 1, f"lacks {header}, which {file} includes")


def internals_are_whole(files, page):
    """The table of docs/internals.md names each file of the compiler, except those of ops and gradient, and no other file. In a cell a folder,
    as in `a/b.c` or `a/`:, also holds for the names after it, up to a semicolon; `a/` alone stands for all of its files."""
    there, named = {f[9:] for f in files if re.fullmatch(r"compiler/(\w+/)?\w+\.(c|h|def)", f)}, set()
    for cell in re.findall(r"^\| (`.*?) \|", page, re.M):
        for part in cell.split(";"):
            folder = ""
            for name, colon in re.findall(r"`(.+?)`(:?)", part):
                folder, of_it = (name[:name.index("/") + 1], name) if "/" in name else (folder, folder + name)
                found = fnmatch.filter(there, of_it + "*" * of_it.endswith("/"))
                named |= set() if colon else {re.sub(r"\.\w+$", "", f) for f in found}
                if not found and not name.startswith("runtime-"):
                    find("docs/internals.md", 1, f"there is no {of_it} in compiler/")
    for file in sorted(there):
        if file.endswith(".c") and file[:-2] not in named and not f"compiler/{file}".startswith(FAMILIES):
            find("docs/internals.md", 1, f"the table lacks {file}")


def runtime_symbols():
    """The undefined symbols of the library."""
    lines = subprocess.run(["nm", f"{B}/libonnxcc-rt.a"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in lines if line]
    defined = {f[2] for f in fields if len(f) == 3}
    bad = {f[1] for f in fields if len(f) == 2 and f[0] == "U"} - defined - MAY_BE_ASKED
    if bad or len(defined) < 100:
        found["libonnxcc-rt.a"] = [f"libonnxcc-rt.a: asks for {sorted(bad)}"]


def operators_table(page):
    """The page's table of operators is the output of onnxcc."""
    table = subprocess.run([f"{B}/onnxcc", "--list-ops=markdown"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if f"<!-- operators -->\n{table}<!-- end -->" not in page:
        find("docs/operators.md", page[:page.find("<!-- operators")].count("\n") + 1, "the table is old: make table")


def targets_are_run(rows, machines, readme):
    """Each row of target.def has a machine that runs its code (for plain: tests/plain, for avr: avr.py); the README mentions no other targets."""
    known = re.findall(r'^TARGET\("(.+?)"', rows, re.M)
    for name in known:
        if name not in ("generic", "plain", "avr") and f'"{name}": ' not in machines:
            find("compiler/base/target.def", 1, f"no machine of tests/machines/table.py runs {name}")
    for i, line in enumerate(readme.split("\n"), 1):
        for name in re.findall(r"`([^`]+)`", line) if "| `--target" in line else ():
            if name.removeprefix("--target ") not in known:
                find("README.md", i, f"{name}: not a target")


def types_have_one_meaning(files):
    """No two types of the compiler have the same name."""
    seen = {}
    for file, text in files.items():
        if not re.fullmatch(r"compiler/(\w+/)?\w+\.[ch]", file):
            continue
        for m in re.finditer(r"^(?:(?:typedef )?(?:struct|union|enum) (\w+) \{|\} (\w+);|typedef VEC\(.*\) (\w+);)", text, re.M):
            name = m[1] or m[2] or m[3]
            if seen.setdefault(name, file) != file:
                find(file, text[:m.start()].count("\n") + 1, f"{name} is a type of {seen[name]}, too")


def types_are_complete(rows, runtime, tested):
    """rt.c instantiates each row of types.def, as T and, unless it is only moved, as U; the test of element.h covers each."""
    kinds = {tag: kind for tag, kind in re.findall(r"^TYPE\(\d+, \w+, (\w+), .*?(\w+), \d+, \"\w+\", \w+\)$", rows, re.M) if tag != "c64"}
    numbers = {tag for tag, kind in kinds.items() if kind not in ("TEXT", "COMPLEX")}
    each = re.search(r"#define EACH_TYPE\(X\)(.*?[^\\])\n", tested, re.S)[1]
    for file, what, has, wants in [
            ("runtime-min/rt.c", "T", re.findall(r"^#define T (\w+)", runtime, re.M), set(kinds)),
            ("runtime-min/rt.c", "U", re.findall(r"^#define U (\w+)", runtime, re.M), numbers),
            ("tests/numbers/element.c", "EACH_TYPE", re.findall(r"X\((\w+)\)", each), numbers)]:
        if sorted(has) != sorted(wants):
            find(file, 1, f"{what} goes through other types than types.def has: {sorted(set(has) ^ wants)}")


def kernels_have_own_names(files):
    """No function of a runtime header has the name of a kernel in another header, as a model may use both."""
    kernels = {m[1]: f for f, text in files.items() if f.startswith("runtime-min/") for m in re.finditer(r"^REGISTER_\w+\((\w+),", text, re.M)}
    assert len(kernels) > 100, kernels
    for file, text in files.items():
        for m in re.finditer(r"^(?:HELPER|TILE|SHARED|static inline) .*?\b(?:FN2?\((\w+)\)|([a-z]\w*)_[biuf]\d\w*)\(", text, re.M) \
                if file.startswith("runtime-min/") else ():
            name = m[1] or m[2]
            if kernels.get(name, file) != file:
                find(file, text[:m.start()].count("\n") + 1, f"{name} is a kernel of {kernels[name]}")


def parts_have_tests(files):
    """Each file of the compiler, or its folder, is named in a test's `Parts:`, so that `make test T=PART` runs one; ops and gradient have
    the tests of their operators."""
    said = {p for f, text in files.items() if f.startswith("tests/") for _, parts in parts_said(text) for p in parts}
    for file in files:
        part = re.fullmatch(r"compiler/((?:(?!ops|gradient)\w+)/\w+)\.c", file)
        if part and not {part[1], part[1].split("/")[0]} & said:
            find(file, 1, "no test says `Parts:` with it")


def modules_have_one_place(files):
    """The name of a module that a test imports is unique in tests/ and the folders that the test's folder puts on its path (except run.py,
    the program of a folder)."""
    modules = {f: re.findall(r"^\s*(?:import|from) (\w+)", text, re.M) for f, text in files.items() if re.fullmatch(r"tests/(?:\w[\w-]*/)?\w+\.py", f)}
    rooms = {f.split("/")[1] for f in modules if f.count("/") == 2}
    for room in rooms:
        own = [f for f in files if f.startswith(f"tests/{room}/") and f.endswith((".py", ".mk"))]
        paths = "\n".join(line for f in own for line in files[f].splitlines() if "sys.path" in line or "PYTHONPATH" in line)
        there = [f"tests/{room}/", "tests/"] + [f"tests/{r}/" for r in rooms - {room} if re.search(rf'"{r}"|tests/{r}\b', paths)]
        imported = {name for f, names in modules.items() if any(f.startswith(p) and "/" not in f[len(p):] for p in there) for name in names}
        for name in sorted(imported - {"run"}):
            found = [p + name + ".py" for p in there if p + name + ".py" in modules]
            if len(found) > 1:
                find(found[0], 1, f"a program of tests/{room} that imports {name} may get this file, or {found[1]}")


files = tracked()
names = operators()
assert len(names) > 100, names
for f, t in files.items():
    look_at(f, t, sorted(names))
operators_table(files["docs/operators.md"])
types_have_one_meaning(files)
types_are_complete(files["compiler/ir/types.def"], files["runtime-min/rt.c"], files["tests/numbers/element.c"])
parts_have_tests(files)
kernels_have_own_names(files)
modules_have_one_place(files)
targets_are_run(files["compiler/base/target.def"], files["tests/machines/table.py"], files["README.md"])
layout([f for f in files if f.endswith((".c", ".h"))])
includes_go_down(files)
symbols, wanted = compiler_symbols(files)
symbols_go_down(symbols, wanted)
no_circles(files, symbols, wanted)
headers_declare(files, symbols)
headings_are_true(files, symbols)
contents_are_whole(files)
internals_are_whole(files, files["docs/internals.md"])
runtime_symbols()
for cc in ("gcc", "clang-14"):
    build(f"onnxcc by {cc}", f"{sys.argv[1]} B={B}/lint-{cc} CC={cc} {B}/lint-{cc}/onnxcc")
for lines in found.values():
    print("\n".join(lines))
print(f"lint: {len(files) + 3 - len(found)} passed, {len(found)} failed")
sys.exit(bool(found))
