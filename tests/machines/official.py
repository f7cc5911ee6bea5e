"""Runs folders of tests on machines of table.py, with kernels inlined at -O2 as in users' builds: official.py NAME 'FOLDER ...'
'MACHINE ...' [TEST...]; no machine: all. Prints failures, then "NAME: N passed, N failed"."""
import pathlib
import sys

from runner import Sum

KNOWN = pathlib.Path(__file__).with_name("known.txt")


def main(name, folders, machines, *tests):
    total = Sum(name)
    for folder in folders.split():
        total.each(machines.split(), pathlib.Path(folder).name, folder, tests, options=["--known", KNOWN])
    total.end()


main(*sys.argv[1:])
