"""The official suite on machines of table.py: official.py SUITE 'MACHINE ...' [TEST...]. Prints what fails, then "machines: N
passed, N failed"."""
import sys

from runner import Sum

if __name__ == "__main__":
    total = Sum("machines")
    for machine in sys.argv[2].split():
        total.run(machine, sys.argv[1], sys.argv[3:])
    total.end()
