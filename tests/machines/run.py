"""Runs the tests of choose.py and networks.py on machines of table.py: run.py TURN COVER NETWORKS [MACHINE...]. The tests of choose.py
call every kernel in every type, and their C contains the weights; to compile less, kernels are functions of their own there, on one
machine, another for every commit, those of a library. In the networks kernels are inlined as in users' builds, except AVX-512 as loops, and
the weights, whose text would take much of a C compiler's time, are in files except on big-endian machines. A kernel that no test calls is a
failure. Then runs weights.py. Prints failures, then "processors: N passed, N failed"."""
import pathlib
import sys

import weights
from choose import SMALL
from runner import Sum
from table import IN_TURN, MACHINES

OTHERS = ["x86-64", "avx"]  # other groups test these
FUNCTIONS, LIBRARY = ["--level=-O0"], ["--library", "--level=-O1"]


def main(turn, cover, networks, *machines):
    total = Sum("processors")
    for kernel in (pathlib.Path(cover) / "uncalled").read_text().split():
        print(f"FAILED {kernel}: no test calls it")
        total.add(0, 1)
    usual = [m for m in MACHINES if m not in OTHERS + IN_TURN]
    by_library = usual[int(turn) % len(usual)]
    turn = None if machines else int(turn)     # of this commit: see Sum.each
    machines = machines or [m for m in MACHINES if m not in OTHERS]
    for m in machines:
        program = LIBRARY if m == by_library else FUNCTIONS
        total.each([m], "cover", pathlib.Path(cover) / "tests", turn=turn, program=program)
        total.each([m], "small", pathlib.Path(cover) / "small", turn=turn, program=program, options=["--target", SMALL])
    for m in machines:
        program = FUNCTIONS if MACHINES[m].before else ()   # loops in place of vectors, inlined, take minutes to compile
        total.each([m], "networks", networks, own=True, turn=turn, program=program, incbin=True)
    weights.each(total, [m for m in weights.HERE if m in machines])
    total.end()


main(*sys.argv[1:])
