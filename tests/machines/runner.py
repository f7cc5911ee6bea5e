"""Runs suite/run for machines in turn, and adds up their counts."""
import os
import pathlib
import re
import subprocess
import sys

from table import IN_TURN, MACHINES

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["B"]).resolve()


class Sum:
    def __init__(self, name):
        self.name, self.passed, self.failed = name, 0, 0

    def run(self, machine, folder, tests=(), name=None, options=(), program=()):
        """Runs the tests of a folder on a machine of table.py. options: for suite/run; program: options for elsewhere.py."""
        name = name or machine
        work = BUILD / "machines" / name
        work.mkdir(parents=True, exist_ok=True)
        elsewhere = f"{sys.executable} {HERE / 'elsewhere.py'} {machine} {' '.join(program)}"
        p = subprocess.run([BUILD / "suite" / "run", "--own", name, "--build", work, "--include", BUILD / "include", *options,
                            "--elsewhere", elsewhere, folder, *tests], capture_output=True, text=True, errors="replace", check=False)
        for line in (p.stdout + p.stderr).splitlines():
            if line.startswith("FAILED"):
                print(f"FAILED {name}: {line[7:]}", flush=True)
        counts = re.search(rf"^{re.escape(name)}: (\d+) passed, (\d+) failed$", p.stdout, re.M)
        passed, failed = map(int, counts.groups()) if counts else (0, 1)
        if not counts:
            print(f"FAILED {name}: {p.stdout[-1000:]}{p.stderr[-1000:]}", flush=True)
        print(f"{name}: {passed} of {passed + failed} tests pass", flush=True)
        self.add(passed, failed)

    def each(self, machines, kind, folder, tests=(), own=False, turn=None, program=(), options=(), incbin=False):
        """Runs the tests on each of these machines, or on all. own: also with the machine's own --target, if any; turn, of this commit:
        one machine only of IN_TURN, and, with own, code for generic on one only of the machines that have a target; incbin: with
        --incbin where that is possible."""
        def not_now(names):
            return [m for i, m in enumerate(names) if turn is not None and i != turn % len(names)]
        later = not_now(IN_TURN)
        others = not_now([m for m in MACHINES if MACHINES[m].target and m not in IN_TURN]) if own else []
        for name in machines or MACHINES:
            machine = MACHINES[name]
            if name in later:
                continue
            if machine.lacks():
                print(f"{name}: skipped: this processor lacks {machine.lacks()}")
                continue
            some = [*options, "--incbin"] if incbin and not machine.big_endian else options
            if name not in others:
                self.run(name, folder, tests, f"{name}-{kind}", some, program)
            if own and machine.target:
                self.run(name, folder, tests, f"{name}-{kind}-own", [*some, "--target", machine.target], program)

    def add(self, passed, failed):
        self.passed += passed
        self.failed += failed

    def end(self):
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)
