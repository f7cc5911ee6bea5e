"""`python -m onnxcc` is the command `onnxcc` that was installed with this package."""
import os
import shutil
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACES = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), str(HERE.parent / "bin")]    # --user, --target
COMMAND = shutil.which("onnxcc", path=os.pathsep.join(PLACES))
if not COMMAND:
    sys.exit(f"the command onnxcc is not in {', '.join(PLACES)}")
os.execv(COMMAND, ["onnxcc", *sys.argv[1:]])
