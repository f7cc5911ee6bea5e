"""Writes small networks of tests/models in the form of the official tests, with their tolerances: networks.py FOLDER"""
import json
import pathlib
import sys

import numpy as np

ROOM = pathlib.Path(__file__).parents[1] / "models"
sys.path.insert(0, str(ROOM))
import fetch  # noqa: E402
from common import load_tensor  # noqa: E402

NETWORKS = ["ds_cnn", "ds_cnn_qdq", "ds_cnn_qop", "resnet8_qdq", "autoencoder_qdq", "gru"]


def link(to, m):
    """Writes m in the form of an official test. Its tolerance, which is relative to the largest value, becomes absolute."""
    to.mkdir(parents=True, exist_ok=True)
    for name in "model.onnx", "test_data_set_0":
        (to / name).unlink(missing_ok=True)
        (to / name).symlink_to(m.folder / name)
    about = json.loads((m.folder / "model.json").read_text())
    largest = min(np.abs(load_tensor(m.folder / "test_data_set_0" / f"output_{i}.pb")).max() for i in range(len(about["outputs"])))
    (to / "rtol").write_text("0\n")
    (to / "atol").write_text(f"{m.tolerance * largest}\n")


def main(folder):
    for m in fetch.fetch(NETWORKS):
        link(folder / m.name, m)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve() / "tests")
