"""Builds, installs, uses and removes the packages. Prints what is wrong, then "packages: N passed, N failed"."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

import onnx
from onnx.parser import parse_model

from checks import check, counts

ROOT, B = pathlib.Path(__file__).resolve().parents[2], os.environ["B"]
BUILD = pathlib.Path(B).resolve()
MODEL = """<ir_version: 8, opset_import: ["":17]> g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"""
MAIN = '#include "m.h"\nint main(void) { static float x[6], y[6]; return m_run(x, y) != 0 || y[5] < 0.3f || y[5] > 0.4f; }\n'


def run(*command, code=0, **options):
    """Runs a command, which must end with this code; returns its output."""
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", check=False, **options)
    check(p.returncode == code, f"{command}: exit {p.returncode}\n{p.stdout[-3000:]}{p.stderr[-3000:]}")
    return p.stdout + p.stderr


def version():
    return re.search(r'ONNXCC_VERSION "(.*)"', (ROOT / "compiler/base/util.h").read_text())[1]


def copy(to):
    """Copies the files in git, with their times, and the build folder, so that make has nothing to compile."""
    for name in run("git", "ls-files", cwd=ROOT).splitlines():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    if not os.path.isabs(B):
        (to / B).symlink_to(BUILD)


def use_c(home, onnxcc, include):
    """Compiles a model by the command, and its C with the headers that came with it."""
    onnx.save(parse_model(MODEL), home / "m.onnx")
    (home / "main.c").write_text(MAIN)
    run(onnxcc, "m.onnx", "-o", "m.c", cwd=home)
    run("cc", f"-I{include}", "-Wall", "-Werror", "m.c", "main.c", "-o", "main", cwd=home)
    run(home / "main")


def wheel(home):
    """The wheel, installed without network access into an environment with the packages of the tests' environment."""
    sources, env = home / "sources", home / "venv"
    copy(sources)
    run("make", "wheel", f"B={B}", f"PACKAGES={home}/made", f"PIP={sys.executable} -m pip", "PIP_FLAGS=--no-build-isolation --no-index", cwd=sources)
    made = list((home / "made").glob("*.whl"))
    if not check([w.name for w in made] == [f"onnxcc-{version()}-py3-none-linux_x86_64.whl"], f"wheels: {made}"):
        return
    names = zipfile.ZipFile(made[0]).namelist()
    check({f"onnxcc/include/onnxcc/{h.name}" for h in (ROOT / "runtime-min").iterdir()} < set(names), "the wheel has all headers")
    check(sum("opyright" in n or "LICENSE" in n for n in names) == 3, f"licences in {names}")
    said = run(sys.executable, "-m", "auditwheel", "show", made[0])
    check(re.search(r'"manylinux_2_\d+_x86_64"', said), said)
    run(sys.executable, "-m", "venv", env)
    own = sysconfig.get_path("purelib")
    (env / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages" / "own.pth").write_text(own)
    run(env / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", made[0])
    outside = {**{k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CC", "CFLAGS")}, "TMPDIR": str(home / "temporary")}
    (home / "temporary").mkdir()
    said = run(env / "bin" / "python", ROOT / "tests/packages/installed.py", env=outside, cwd=home, timeout=900)
    print("".join(line + "\n" for line in said.splitlines() if "FAIL" in line), end="")
    for good, bad in re.findall(r"^installed: (\d+) passed, (\d+) failed$", said, re.M):
        counts[True] += int(good)
        counts[False] += int(bad)
    check("installed: " in said, said)
    check(not list((home / "temporary").glob("onnxcc*")), "files are left in the temporary folder")
    check(f"onnxcc {version()}" in run(env / "bin" / "onnxcc", "--version"), "the command's version")
    check(f"onnxcc {version()}" in run(env / "bin" / "python", "-m", "onnxcc", "--version"), "python -m onnxcc")
    use_c(home, env / "bin" / "onnxcc", run(env / "bin" / "python", "-c", "import onnxcc; print(onnxcc.get_include())").strip())
    run(env / "bin" / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "onnxcc")
    left = [p for p in env.rglob("*onnxcc*") if p.is_file()]
    check(not left, f"uninstalled, but left: {left}")


def deb(home):
    """The Debian packages: lintian has no complaints; installed in a folder that stands for the root, used from there, removed."""
    said = run("make", "deb", f"B={B}", f"PACKAGES={B}/packages", "LINTIAN=lintian --allow-root", cwd=ROOT)
    check("Syntax:" not in said, f"lintian got no package: {said[-300:]}")
    made = sorted((BUILD / "packages").glob("*onnxcc*_amd64.deb"))
    made = [d for d in made if "dbgsym" not in d.name]
    check([d.name.split("_")[:2] for d in made] == [["libonnxcc-dev", version()], ["onnxcc", version()]], f"packages: {made}")
    root = home / "root"
    for folder in "info", "updates":
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ["fakeroot", "dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--log=/dev/null"]
    run(*dpkg, "--install", *made)
    usr = root / "usr"
    use_c(home, usr / "bin/onnxcc", usr / "include")
    (home / "library.c").write_text('#include <libonnxcc.h>\n#include <stdio.h>\nint main(void) { puts(onnxcc_version()); return 0; }\n')
    found = {**os.environ, "PKG_CONFIG_PATH": str(next(usr.glob("lib/*/pkgconfig")))}
    flags = run("pkg-config", "--cflags", "--libs", "--static", "libonnxcc", env=found).split()
    run("cc", "library.c", "-o", "library", f"-I{usr}/include", f"-L{next(usr.glob('lib/*-linux-*'))}", *flags, cwd=home)
    check(run(home / "library").strip() == version(), "the library's version")
    for file in "share/man/man1/onnxcc.1.gz", "share/bash-completion/completions/onnxcc", "share/zsh/vendor-completions/_onnxcc", \
            "share/fish/vendor_completions.d/onnxcc.fish", "share/doc/onnxcc/copyright", "share/onnxcc/onnxcc.mk":
        check((usr / file).is_file(), f"{file} is not installed")
    run(*dpkg, "--purge", "onnxcc", "libonnxcc-dev")
    left = [p for p in root.rglob("*onnxcc*")]
    check(not left, f"removed, but left: {left}")


with tempfile.TemporaryDirectory(prefix="packages-") as place:
    for part in wheel, deb:
        (pathlib.Path(place) / part.__name__).mkdir()
        part(pathlib.Path(place) / part.__name__)
print(f"packages: {counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
