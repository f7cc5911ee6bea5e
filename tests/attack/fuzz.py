"""Runs each fuzz target for SECONDS, from the official models as seeds. Prints the numbers of inputs tried and accepted, and the
findings; then the sums over all runs of this version of the compiler.

usage: fuzz.py FOLDER CACHE SECONDS TARGET..."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

LARGEST = {"parse": 2048, "whole": 4096}   # bytes of an input: small ones are fast, and hold every kind of message
# The sanitizer's strstr measures the whole of its first string, a C file of megabytes, for every comment in it.
ASAN = "quarantine_size_mb=8:intercept_strstr=0"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_seeds(cache, to, largest):
    to.mkdir(parents=True, exist_ok=True)
    for path in cache.glob("suite/*/*/model.onnx"):
        data = path.read_bytes()
        if len(data) <= largest:
            (to / hashlib.sha1(data).hexdigest()).write_bytes(data)


def code():
    """A hash of the compiler's sources."""
    h = hashlib.sha1()
    for path in sorted(p for d in ("compiler", "runtime-min", "templates", "proto") for p in (ROOT / d).rglob("*") if p.is_file()):
        h.update(path.read_bytes())
    return h.hexdigest()[:12]


def summed(folder, target, counts):
    """The counts plus those of earlier runs of the same code."""
    path, key = folder / "counts.json", f"{target} {code()}"
    sums = json.loads(path.read_text()) if path.exists() else {}
    sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(counts)), counts)]
    path.write_text(json.dumps(sums, indent=1))
    return sums[key]


def described(inputs, parsed, compiled, found):
    return f"{inputs} inputs, {parsed} parsed, {compiled} compiled, {found} found"


def fuzz(folder, cache, seconds, target):
    """True: no findings."""
    corpus, seeds, found = folder / f"corpus-{target}", folder / f"seeds-{target}", folder / "found"
    corpus.mkdir(exist_ok=True)
    found.mkdir(exist_ok=True)
    write_seeds(cache, seeds, LARGEST[target])
    before = set(os.listdir(found))
    limits = ["-timeout=100", "-rss_limit_mb=1024", "-malloc_limit_mb=1024", f"-max_len={LARGEST[target]}"]
    log = folder / f"{target}.log"
    with open(log, "w") as f:
        subprocess.run(["sh", "-c", 'ulimit -s 65536; exec "$@"', "sh", str(folder / target), *limits, "-reload=0", "-entropic=0",
                        f"-max_total_time={seconds}", f"-artifact_prefix={found}/{target}-", "-print_final_stats=1", str(corpus),
                        str(seeds)], stdout=subprocess.DEVNULL, stderr=f, env=dict(os.environ, ASAN_OPTIONS=ASAN))
    text = log.read_text(errors="replace")
    counts = [int((re.findall(word + r": (\d+)", text) or [0])[-1])
              for word in ("stat::number_of_executed_units", "parsed", "compiled")]
    new = sorted(f for f in set(os.listdir(found)) - before if "slow-unit" not in f)
    print(f"fuzz {target}: {described(*counts, len(new))} in {seconds} s;",
          "with this code:", described(*summed(folder, target, [*counts, len(new)])) + "".join(f"\n  {found / f}" for f in new))
    if new or not counts[0]:
        print("\n".join(line for line in text.splitlines() if re.search("ERROR|SUMMARY|exit |seconds|#[0-9]+ .*compiler/", line))[:3000])
    return not new and counts[0] > 0


def main():
    folder, cache, seconds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    return not all([fuzz(folder, cache, seconds, target) for target in sys.argv[4:]])


if __name__ == "__main__":
    sys.exit(main())
