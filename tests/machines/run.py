"""The tests of choose.py on machines of table.py: run.py FOLDER [MACHINE...]. Kernels come from the library, in every type.
Prints what fails, then "processors: N passed, N failed"."""
import pathlib
import sys

from runner import Sum
from table import MACHINES

QUICK = ["s390x", "cortex-m4"]  # big-endian; 32 bits and no operating system


def main():
    folder = pathlib.Path(sys.argv[1])
    total = Sum("processors")
    print((folder / "report").read_text(), end="")
    for name in sys.argv[2:] or QUICK:
        machine = MACHINES[name]
        if machine.lacks():
            print(f"{name}: skipped: this processor lacks {machine.lacks()}")
        else:
            total.run(name, folder / "tests", name=f"{name}-cover", program=["--library"])
    total.end()


main()
