"""Random models of maps: CastMap, DictVectorizer, ZipMap. In Python a map is a vector of entries with fields `key` and `value`; a
sequence of maps with the same keys is a matrix of entries."""

import numpy as np

from operators import F32, F64, ML, Case, family

INT64, TEXT = np.dtype("int64"), np.dtype(object)
KEYS = {INT64: np.array([*range(-3, 9), -(2**63), 2**40]),
        TEXT: np.array(["fig", "Fig", "figs", "", "pear", "\u00e9", "z\U0001f34e", "7"], object)}
ATTRIBUTE = {INT64: "int64", TEXT: "string"}


def entries(keys, values):
    keys, values = np.broadcast_arrays(keys, values)
    x = np.empty(keys.shape, [("key", keys.dtype), ("value", values.dtype)])
    x["key"], x["value"] = keys, values
    return x


def is_map(x):
    return isinstance(x, np.ndarray) and x.dtype.names is not None


def as_maps(x):
    """Converts entries to a dictionary, or a list of dictionaries, for ONNX Runtime and files. Other values are unchanged."""
    if not is_map(x):
        return x
    return dict(x.tolist()) if x.ndim == 1 else [dict(row) for row in x.tolist()]


def as_entries(rows, attrs):
    """The entries of ZipMap's dictionaries, in the order of its labels; ONNX Runtime returns them in the order of the keys."""
    ((name, labels),) = attrs.items()
    values = np.array([[row[k] for k in labels] for row in rows], F32).reshape(-1, len(labels))
    return entries(np.array(labels, TEXT if "strings" in name else INT64), values)


def some(m, of, low=0):
    """Some elements of `of`, in random order, without duplicates."""
    return m.rng.permutation(of)[: m.int(low, len(of))]


@family(2)
def dict_vectorizer(m):
    k, v = m.one([(TEXT, F32), (TEXT, F64), (TEXT, INT64), (INT64, F32), (INT64, F32), (INT64, F64), (INT64, TEXT)])
    vocabulary, keys = some(m, KEYS[k], 1), some(m, KEYS[k])
    if m.chance(0.2):
        vocabulary = m.rng.choice(vocabulary, len(vocabulary))
    x = m.rng.choice(KEYS[TEXT], len(keys)) if v == TEXT else m.array(v, keys.shape, m.one([0, 0.2]))
    return Case("DictVectorizer", [entries(keys, x)], {f"{ATTRIBUTE[k]}_vocabulary": vocabulary.tolist()}, domain=ML)


@family(2)
def cast_map(m):
    to, form, size = m.one(["TO_FLOAT", "TO_INT64", "TO_STRING"]), m.one(["DENSE", "SPARSE"]), m.int(1, 9)
    keys = some(m, np.arange(size) if form == "SPARSE" else KEYS[INT64])
    x = m.array(F32, keys.shape, m.one([0, 0.2]) if to == "TO_FLOAT" else 0)
    if m.chance(0.5):  # numbers as texts
        x = np.array([str(int(v) if to == "TO_INT64" else v) for v in x], object)
    attrs = {"cast_to": to, "map_form": form, "max_map": size}
    defaults = {"cast_to": "TO_FLOAT", "map_form": "DENSE", "max_map": 1}
    return Case("CastMap", [entries(keys, x)], {a: v for a, v in attrs.items() if v != defaults[a] or m.chance(0.5)}, domain=ML)


@family(2)
def zip_map(m):
    k = m.one([INT64, TEXT])
    labels = some(m, KEYS[k], 1)
    x = m.array(F32, m.one([(len(labels),), (m.int(0, 4), len(labels))]), m.one([0, 0.2]))
    return Case("ZipMap", [x], {f"classlabels_{ATTRIBUTE[k]}s": labels.tolist()}, domain=ML)
