"""Models that once broke the compiler, or could: the files of found/ with a compiler under sanitizers and with the ordinary one,
one of LARGE_EVERY models of large.py with the ordinary one, and under sanitizers the TURNth of every EVERY of the operators' cases. Each must be
compiled, or refused with a message, within 10 seconds of processor time and 1 GB. Of attributes and constants at their extremes
(extremes.py), one of EXTREMES_EVERY. Each fuzzer mutates and takes FILES files. Prints failures, then "attack: N passed, N failed".

usage: run.py ONNXCC SANITIZED OPERATORS SEEDS FILES EVERY TURN EXTREMES_EVERY LARGE_EVERY FUZZER..."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import extremes
from large import LARGE

HERE = pathlib.Path(__file__).parent
SECONDS, MEGABYTES = 10, 1000


def run(command, folder):
    """(exit code, seconds, megabytes, messages)"""
    said = os.path.join(folder, "said")
    actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
               (os.POSIX_SPAWN_OPEN, 2, said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    pid = os.posix_spawn(command[0], command, dict(os.environ, ASAN_OPTIONS="detect_leaks=0"), file_actions=actions)
    watch = threading.Timer(120, os.kill, (pid, 9))
    watch.start()
    _, status, used = os.wait4(pid, 0)
    watch.cancel()
    text = pathlib.Path(said).read_text(errors="replace")
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3, text


def write(name, path):
    """Writes the model in a separate process, because this one's memory would be counted as its children's."""
    subprocess.run([sys.executable, HERE / "large.py", name, path], check=True)


def check(onnxcc, fill, arguments, says, sanitized):
    """What is wrong, or None. fill: writes the model to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        fill(path)
        code, seconds, megabytes, said = run([onnxcc, path, "-o", os.path.join(folder, "m.c"), *arguments], folder)
    said = said.strip()
    if code not in (0, 1) or (code and "error" not in said):
        return f"exit {code}: {said[-400:]}"
    if not sanitized and (seconds > SECONDS or megabytes > MEGABYTES):
        return f"{seconds:.1f} s, {megabytes:.0f} MB"
    if says != "?" and (says not in said or bool(code) != bool(says)):
        return f"exit {code}, expected {'1: ' + says if says else 0}: {said[:400]}"
    return None


def fuzz(fuzzer, seeds, files):
    """What is wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        for path in seeds:
            shutil.copy(path, os.path.join(folder, path.parent.name))
        done = subprocess.run([os.path.abspath(fuzzer), f"-runs={files}", "-seed=1", "-artifact_prefix=" + folder + os.sep, folder],
                              cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode or f"Done {files} runs" not in done.stderr or not re.search(r"parsed: [1-9]", done.stderr):
        return f"exit {done.returncode}: {done.stderr[-400:]}"
    return None


def main():
    onnxcc, sanitized = map(os.path.abspath, sys.argv[1:3])
    every, turn, extremes_every, large_every = map(int, sys.argv[6:10])
    todo = [(name, lambda n=name, v=v: check(onnxcc, lambda p: write(n, p), v[1], v[2], False))
            for name, v in list(LARGE.items())[turn % large_every::large_every]]
    for f in sorted((HERE / "found").glob("*.onnx")):
        todo += [(f.name, lambda f=f, o=o: check(o, lambda p: shutil.copy(f, p), [], "?", o == sanitized)) for o in (onnxcc, sanitized)]
    todo += [(f.parent.name, lambda f=f: check(sanitized, lambda p: os.symlink(f, p), ["--quiet", "--report=json"], "?", True))
             for f in sorted(pathlib.Path(sys.argv[3]).resolve().rglob("model.onnx"))[turn % every::every]]
    extreme = list(extremes.cases(sys.argv[3:5]))[turn % extremes_every::extremes_every]
    todo += [(f"{f.parent.name}: {name}", lambda f=f, v=v: extremes.wrong(sanitized, f, v)) for f, name, v in extreme]
    small = [f for f in sorted(pathlib.Path(sys.argv[4]).glob("*/*/model.onnx")) if f.stat().st_size <= 4096][::20]
    todo += [(os.path.basename(f), lambda f=f: fuzz(f, small, sys.argv[5])) for f in sys.argv[10:]]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, _), wrong in zip(todo, pool.map(lambda t: t[1](), todo)):
            failed += wrong is not None
            if wrong is not None:
                print(f"{name}: {wrong}")
    print(f"attack: {len(todo) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
