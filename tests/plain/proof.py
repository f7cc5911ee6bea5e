"""Proves with Frama-C's EVA that the C of the networks of networks.py has no undefined behaviour, whatever the inputs, NaNs included:
proof.py ONNXCC FOLDER [NETWORK...]. Prints alarms, then "proof: N passed, N failed"."""
import pathlib
import re
import subprocess
import sys

import networks

LIMIT = 1800    # seconds for a network; resnet8_int8 takes two minutes of a processor
EVA = ("-eva -eva-precision 3 -eva-msg-key=-initial-state,-final-states,-summary -eva-auto-loop-unroll 64 -warn-special-float none "
       "-warn-invalid-pointer").split()
# Any bits of each input, then a run.
MAIN = """#include "{name}.h"
#include <string.h>
volatile unsigned char any_byte;
volatile int64_t any_number;
static void any(void *p, size_t n) {{ for (size_t i = 0; i < n; i++) ((unsigned char *)p)[i] = any_byte; }}
{buffers}
int main(void)
{{
{fill}
    return m_run({arguments});
}}
"""


def driver(folder, name):
    header = (folder / f"{name}.h").read_text()
    buffers, fill, arguments = [], [], []
    for p in re.search(r"int m_run\((.*?)\);", header, re.S).group(1).split(","):
        const, base, variable = re.fullmatch(r"\s*(const )?([\w ]+?) \*(\w+)\s*", p).groups()
        size = f"M_{variable.upper()}_SIZE" if base != "struct m_sizes" else "1"
        buffers.append(f"static {base} {variable}[{size}];")
        arguments.append(variable)
        if base == "struct m_sizes":
            fill += [f"    {variable}->{f} = any_number;" for f in re.findall(r"int64_t (\w+); /\* set by the caller", header)]
        elif const and base == "int64_t":
            fill.append(f"    for (int i = 0; i < {size}; i++) {variable}[i] = any_number;")
        elif const and base == "float":
            fill.append(f"    for (int i = 0; i < {size}; i++) {{\n        unsigned u;\n        any(&u, sizeof u);\n"
                        f"        memcpy(&{variable}[i], &u, sizeof u);\n    }}")
        elif const:
            fill.append(f"    any({variable}, sizeof {variable});")
    return MAIN.format(name=name, buffers="\n".join(buffers), fill="\n".join(fill), arguments=", ".join(arguments))


def prove(onnxcc, folder, name):
    """Analyses a network; returns the alarms."""
    subprocess.run([onnxcc, folder / f"{name}.onnx", "-o", folder / f"{name}.c", "--prefix", "m", "--target", "plain",
                    *networks.OPTIONS.get(name, [])], check=True, capture_output=True)
    (folder / f"{name}_main.c").write_text(driver(folder, name))
    result = subprocess.run(["frama-c", *EVA, f"-cpp-extra-args=-I{folder}", folder / f"{name}_main.c", folder / f"{name}.c"],
                            capture_output=True, text=True, timeout=LIMIT)
    if result.returncode or "done for function main" not in result.stdout:
        return [(result.stdout + result.stderr)[-500:]]
    return re.findall(r"\[(?:eva:alarm|kernel:annot-error)\] .*(?:\n  .*)*", result.stdout)


def main(onnxcc, folder, *names):
    folder = pathlib.Path(folder).resolve()
    networks.write(folder)
    passed = failed = 0
    for name in names or sorted(f.stem for f in folder.glob("*.onnx")):
        try:
            alarms = prove(pathlib.Path(onnxcc).resolve(), folder, name)
        except subprocess.TimeoutExpired:
            alarms = [f"not done in {LIMIT} s"]
        passed, failed = passed + (not alarms), failed + bool(alarms)
        for a in alarms:
            print(f"{name}: {a}")
    print(f"proof: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
