"""Writes the tests of older onnx packages, which have older versions of the operators: FOLDER/VERSION/NAME/model.onnx
and test_data_set_0. A test that several packages have is written once, for the first.

usage: old.py FOLDER       (does nothing when FOLDER is complete)
"""

import hashlib
import os
import subprocess
import sys
import zipfile

import onnx

from cache import generated

# For each version, the options with which pip finds a wheel; it need not run here.
VERSIONS = {
    "1.2.2": ("3.6", "manylinux1_x86_64"),
    "1.3.0": ("3.6", "manylinux1_x86_64"),
    "1.5.0": ("3.6", "manylinux1_x86_64"),
    "1.7.0": ("3.6", "manylinux1_x86_64"),
    "1.8.1": ("3.6", "manylinux2010_x86_64"),
    "1.10.2": ("3.8", "manylinux_2_12_x86_64"),
    "1.14.1": ("3.8", "manylinux_2_17_x86_64"),
    "1.16.2": ("3.8", "manylinux_2_17_x86_64"),
    "1.18.0": ("3.11", "manylinux_2_17_x86_64"),
}
DATA = "onnx/backend/test/data/"
KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")


def wheel(version, folder):
    """The wheel's file, downloaded unless it is there."""
    def there():
        return [name for name in os.listdir(folder) if name.startswith(f"onnx-{version}-")]

    os.makedirs(folder, exist_ok=True)
    if not there():
        python, platform = VERSIONS[version]
        abi = "cp" + python.replace(".", "") + ("m" if python == "3.6" else "")
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
             "--python-version", python, "--abi", abi, "--platform", platform, "-d", folder, f"onnx=={version}"],
            check=True,
        )
    return os.path.join(folder, there()[0])


def as_declared(files):
    """Gives bfloat16 data its declared type; older packages stored its bits as uint16."""
    graph = onnx.ModelProto.FromString(files["model.onnx"]).graph
    given = {t.name for t in graph.initializer}
    for kind, values in (("input", [v for v in graph.input if v.name not in given]), ("output", graph.output)):
        for i, v in enumerate(values):
            name = f"test_data_set_0/{kind}_{i}.pb"
            if v.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 and name in files:
                tensor = onnx.TensorProto.FromString(files[name])
                tensor.data_type = onnx.TensorProto.BFLOAT16
                files[name] = tensor.SerializeToString()


def tests_of(archive):
    """(name, {file: bytes}) of every test."""
    tests = {}
    for path in archive.namelist():
        parts = path.removeprefix(DATA).split("/")
        if path.startswith(DATA) and parts[0] in KINDS and len(parts) > 2 and parts[-1]:
            tests.setdefault(parts[1], {})["/".join(parts[2:])] = archive.read(path)
    return sorted(tests.items())


def write_all(folder, wheels):
    seen, all_tests = set(), 0
    for version in VERSIONS:
        with zipfile.ZipFile(wheel(version, wheels)) as archive:
            for name, files in tests_of(archive):
                all_tests += 1
                as_declared(files)
                digest = hashlib.sha256()
                for file in sorted(files):
                    digest.update(file.encode() + b"\0" + hashlib.sha256(files[file]).digest())
                if digest.digest() in seen:
                    continue
                seen.add(digest.digest())
                for file, data in files.items():
                    path = os.path.join(folder, version, name, file)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as f:
                        f.write(data)
    return len(seen), all_tests


def main():
    folder = os.path.abspath(sys.argv[1])
    with generated(folder, [__file__]) as new:
        if new:
            different, count = write_all(new, folder + "-wheels")
            print(f"old: {different} different ones among {count} tests of {len(VERSIONS)} older onnx packages")


main()
