"""A folder of generated tests that is written once for each state of what it is made by."""
import contextlib
import fcntl
import hashlib
import os
import shutil


@contextlib.contextmanager
def generated(folder, sources, *versions):
    """with generated(folder, [__file__], versions of packages...) as stale: if stale: write the folder.

    stale: the folder is gone and has to be written, because a source or a version is another now. One process at a time;
    a folder whose writing failed stays stale."""
    digest = hashlib.sha256()
    for source in sources:
        with open(source, "rb") as f:
            digest.update(f.read())
    version = ", ".join([*map(str, versions), digest.hexdigest()]) + "\n"
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = os.path.join(folder, "version")
        if os.path.exists(stamp) and open(stamp).read() == version:
            yield False
            return
        shutil.rmtree(folder, ignore_errors=True)
        yield True
        os.makedirs(folder, exist_ok=True)
        with open(stamp, "w") as f:
            f.write(version)
