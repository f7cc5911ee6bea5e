"""Analyses the C of the networks of networks.py by gcc -fanalyzer, clang -Weverything and cppcheck's MISRA C:2012 addon: analysers.py
ONNXCC FOLDER DOCUMENT [NETWORK...]. Warnings are failures, except those of WARNINGS; so are rules, except advisory ones and deviations,
which are a table in DOCUMENT (docs/plain.md). Prints failures, then "plain-analysers: N passed, N failed"."""
import pathlib
import re
import subprocess
import sys

import networks

GCC = "gcc-12 -std=c99 -O0 -fanalyzer -Werror -c -o /dev/null".split()
# Not declarations among statements, which C99 allows; not structs with gaps; not err - err == 0, which is false for infinities and NaNs.
WARNINGS = "-Wno-declaration-after-statement -Wno-padded -Wno-float-equal".split()
CLANG = ["clang-14", "-std=c99", "-Weverything", *WARNINGS, "-Werror", "-c", "-o", "/dev/null"]
MISRA = "cppcheck --addon=misra --std=c99 -q".split()
ADVISORY = set("""1.2 2.3 2.4 2.5 2.6 2.7 4.2 5.9 8.7 8.9 8.11 8.13 10.5 11.4 11.5 12.1 12.3 12.4 13.3 13.4 15.1 15.4 15.5 17.5 17.8 18.4
18.5 19.2 20.1 20.5 21.12""".split())
MANDATORY = set("9.1 12.5 13.6 17.3 17.4 17.6 19.1 21.13 21.17 21.18 21.19 21.20 22.2 22.4 22.5 22.6".split())


def output(command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return result.returncode, result.stdout + result.stderr


def analyse(file):
    """The warnings in a file, each a line, and the places where it breaks rules that are not advisory: {rule: place}."""
    warnings = []
    for command in (GCC, CLANG):
        status, text = output([*command, file])
        if status:
            warnings += [line for line in text.splitlines() if re.search(r"(warning|error):", line)] or [text[:300]]
    status, text = output([*MISRA, file])
    rules = {rule: place for place, rule in re.findall(r"^(\S+?:\d+):.*\[misra-c2012-([\d.]+)\]", text, re.M)}
    if status:
        warnings.append(text[-300:])
    return warnings, {rule: place for rule, place in rules.items() if rule not in ADVISORY}


def main(onnxcc, folder, document, *names):
    folder = pathlib.Path(folder)
    networks.write(folder)
    rows = re.findall(r"^\| (\d+\.\d+(?:, \d+\.\d+)*) \|", pathlib.Path(document).read_text(), re.M)
    deviations = {rule for row in rows for rule in row.split(", ")}
    wrong = [f"{document}: {rule} is a mandatory rule" for rule in deviations & MANDATORY]
    passed, broken = 0, set()
    chosen = names or sorted(f.stem for f in folder.glob("*.onnx"))
    for name in chosen:
        c = folder / f"{name}.c"
        subprocess.run([onnxcc, folder / f"{name}.onnx", "-o", c, "--prefix", "m", "--target", "plain",
                        *networks.OPTIONS.get(name, [])], check=True, capture_output=True)
        warnings, rules = analyse(c)
        broken |= set(rules)
        warnings += [f"{place}: rule {rule}" for rule, place in rules.items() if rule not in deviations]
        passed += not warnings
        for line in warnings:
            print(f"{name}: {line}")
    if not names:
        wrong += [f"{document}: no network deviates from rule {rule}" for rule in deviations - broken]
    for line in wrong:
        print(line)
    print(f"plain-analysers: {passed} passed, {len(chosen) - passed + len(wrong)} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
