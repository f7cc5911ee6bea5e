"""Caches of generated files, by the contents of their sources: folders of tests, object files."""
import contextlib
import fcntl
import functools
import glob
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import time

RUNTIME = pathlib.Path(__file__).resolve().parents[1] / "runtime-min"


DAY = 24 * 60 * 60


@contextlib.contextmanager
def locked(folder):
    """with locked(folder): one process at a time writes the folder."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def generated(folder, sources, *versions):
    """with generated(folder, [__file__], versions of packages...) as new: if new: write the folder `new`, which becomes `folder`.

    new: None if the folder was already written from these sources and versions. One process writes at a time; a folder whose writing
    failed is not kept. `folder` is a symbolic link: readers resolve it first, because another process may point it elsewhere meanwhile."""
    digest = hashlib.sha256()
    for source in sources:
        with open(source, "rb") as f:
            digest.update(f.read())
    version = ", ".join([*map(str, versions), digest.hexdigest()]) + "\n"
    whole = f"{folder}.{hashlib.sha256(version.encode()).hexdigest()[:16]}"
    with locked(folder):
        if os.path.exists(whole):
            yield None
        else:
            new = whole + ".new"
            shutil.rmtree(new, ignore_errors=True)
            os.mkdir(new)
            yield new
            with open(os.path.join(new, "version"), "w") as f:
                f.write(version)
            os.rename(new, whole)
        lead_to(folder, whole)
        drop_unused(folder)


def lead_to(link, whole):
    if os.path.isdir(link) and not os.path.islink(link):
        shutil.rmtree(link)
    os.symlink(os.path.basename(whole), link + ".link")
    os.replace(link + ".link", link)
    os.utime(whole)


def drop_unused(folder):
    for other in glob.glob(glob.escape(folder) + ".*"):
        if os.path.isdir(other) and os.path.getmtime(other) < time.time() - DAY:
            shutil.rmtree(other)


@functools.lru_cache
def version(*compiler):
    return subprocess.run([*compiler, "-v" if compiler[0] == "tcc" else "--version"], capture_output=True, text=True, check=True).stdout


def contents(files):
    """A hash of the files' names and contents."""
    digest = hashlib.sha256()
    for file in map(pathlib.Path, files):
        with open(file, "rb") as f:
            digest.update(file.name.encode() + b"\0" + hashlib.file_digest(f, "sha256").digest())
    return digest.hexdigest()


@functools.lru_cache
def included(file):
    """The files of the runtime that a file includes, directly or not."""
    found, left = set(), [pathlib.Path(file)]
    while left:
        text = left.pop().read_text(errors="replace")
        new = {RUNTIME / name for name in re.findall(r'^ *# *include [<"](?:onnxcc/)?([\w.]+)[>"]', text, re.M)} - found
        new = {f for f in new if f.exists()}
        found |= new
        left += new
    return frozenset(found)


@functools.lru_cache
def parts_of_runtime(files):
    return contents(sorted(files))


def runtime(files):
    """A hash of the runtime files that these files include."""
    return parts_of_runtime(frozenset().union(*map(included, files)))


@contextlib.contextmanager
def kept(out, compiler, arguments, files):
    """with kept(object, [gcc], arguments, files) as before: if not before: make it.

    before: the object exists, and was made by this compiler with these arguments from these files and the runtime files that
    they include. An object that is wrong must be removed."""
    state = repr([version(*compiler), [*map(str, arguments)], contents(files), runtime(files)])
    key = pathlib.Path(f"{out}.key")
    if out.exists() and key.exists() and key.read_text() == state:
        yield True
        return
    key.unlink(missing_ok=True)
    yield False
    key.write_text(state)
