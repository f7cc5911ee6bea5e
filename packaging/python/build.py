"""The wheel's build hook: make builds the command and the library, which go into the wheel with the headers of the emitted C.
$B: make's build folder."""
import os
import pathlib
import subprocess
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LICENCES = "/usr/share/doc/libnanopb-dev/copyright", "/usr/share/doc/libxxhash-dev/copyright"     # of the libraries that are linked statically


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        root, build = pathlib.Path(self.root), os.environ.get("B", "build")
        own = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}   # nanopb's generator is Debian's Python
        subprocess.run(["make", f"-j{os.cpu_count()}", f"B={build}", "portable"], cwd=root, env=own, check=True)
        portable = root / build / "portable"
        headers = [p for p in sorted((root / "runtime-min").iterdir()) if p.suffix in (".h", ".def") or p.name == "rt.c"]
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["shared_scripts"][str(portable / "onnxcc")] = "onnxcc"
        build_data["force_include"].update(
            {str(portable / "libonnxcc.so"): "onnxcc/libonnxcc.so", **{str(p): f"onnxcc/include/onnxcc/{p.name}" for p in headers}})
        build_data["extra_metadata"].update({p: f"{pathlib.Path(p).parent.name}.copyright" for p in LICENCES if os.path.exists(p)})
