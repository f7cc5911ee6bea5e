"""Tables of several columns, numbers and strings, as skl2onnx writes their pipelines."""
import itertools

import numpy as np
import pandas
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KBinsDiscretizer, KernelCenterer, OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from reference import OPSETS

ROWS = 50
NUMBERS, WORDS, TEXT = ["age", "pay"], ["city", "job"], "said"
TYPES = {"age": FloatTensorType, "pay": FloatTensorType, "city": StringTensorType, "job": StringTensorType, "said": StringTensorType,
         "rooms": Int64TensorType}


def table(seed, rows):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame({
        "age": rng.integers(18, 80, rows).astype(np.float32), "pay": rng.standard_normal(rows).astype(np.float32) * 100,
        "city": rng.choice(["Rome", "Oslo, N", "Bern", "\u00c5bo"], rows).astype(object), "job": rng.choice(["cook", "smith"], rows).astype(object),
        "said": rng.choice(["good day", "day by day", "so good"], rows).astype(object), "rooms": rng.integers(1, 5, rows)})


def steps():
    """(name, steps of a ColumnTransformer)"""
    one_hot = OneHotEncoder(handle_unknown="ignore")
    scaled = Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler())])
    yield "scale", [("numbers", StandardScaler(), NUMBERS)]
    yield "one_hot", [("words", one_hot, WORDS)]
    yield "both", [("numbers", StandardScaler(), NUMBERS), ("words", one_hot, WORDS)]
    yield "filled", [("numbers", scaled, NUMBERS), ("words", one_hot, ["city"])]
    yield "dropped", [("numbers", StandardScaler(), NUMBERS), ("words", "drop", WORDS)]
    yield "passed", [("numbers", "passthrough", NUMBERS), ("words", one_hot, WORDS)]
    yield "ordinal", [("numbers", StandardScaler(), ["age"]), ("words", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS)]
    yield "text", [("numbers", StandardScaler(), NUMBERS), ("text", TfidfVectorizer(), TEXT)]
    yield "all", [("numbers", scaled, NUMBERS), ("words", one_hot, WORDS), ("text", TfidfVectorizer(), TEXT), ("rooms", "passthrough", ["rooms"])]
    yield "bins", [("numbers", KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), NUMBERS), ("words", one_hot, WORDS)]
    yield "target", [("words", TargetEncoder(cv=2, random_state=0), WORDS), ("numbers", "passthrough", NUMBERS)]


def used(parts, frame):
    wanted = sum(([c] if isinstance(c, str) else c for _, what, c in parts if what != "drop"), [])
    return [c for c in frame.columns if c in wanted or any(what == "drop" and c in cs for _, what, cs in parts)]


def vectorizers(whole):
    """The fitted vectorizers in a ColumnTransformer, alone or in a pipeline."""
    columns = whole.steps[0][1] if isinstance(whole, Pipeline) else whole
    return [e for _, e, _ in columns.transformers_ if isinstance(e, TfidfVectorizer)]


def export(parts, last, labels, seed, batch):
    frame, more = table(seed, ROWS), table(seed + 1, 6)
    names = used(parts, frame)
    rng = np.random.default_rng(seed)
    whole = Pipeline([("columns", ColumnTransformer(parts)), ("last", last)]) if last is not None else ColumnTransformer(parts)
    whole.fit(frame[names], rng.choice(labels, ROWS))
    types = [(n, TYPES[n]([len(more) if batch else None, 1])) for n in names]
    options = {id(e): {"locale": "C"} for e in vectorizers(whole)}
    if hasattr(last, "predict_proba"):
        options[id(whole)] = {"zipmap": seed % 3 == 0}
    model = convert_sklearn(whole, initial_types=types, options=options, target_opset=OPSETS)
    return model, [more[i.name].to_numpy()[:, None] for i in model.graph.input]


def tables():
    lasts = {"none": None, "logistic": LogisticRegression(max_iter=500), "forest": RandomForestClassifier(4, random_state=0),
             "boosted": GradientBoostingClassifier(n_estimators=4, random_state=0), "hist": HistGradientBoostingClassifier(max_iter=4),
             "ridge": Ridge(), "trees": RandomForestRegressor(4, random_state=0)}
    for seed, ((name, parts), (end, last)) in enumerate(itertools.product(list(steps()), lasts.items())):
        labels = [0.5, 1.5, 4.0] if end in ("none", "ridge", "trees") else [3, 9] if seed % 2 else ["x", "y", "z, z"]
        if name == "target":
            labels = [0, 1]
        yield f"columns_{name}_{end}", lambda p=parts, e=last, y=labels, s=seed: export(p, e, y, s, s % 4 == 0)


def centred():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20, 4)).astype(np.float32)
    kernel = rbf_kernel(x).astype(np.float32)
    centre = KernelCenterer().fit(kernel)
    return convert_sklearn(centre, initial_types=[("x", FloatTensorType([None, 20]))], target_opset=OPSETS), [kernel[:6]]


def single():
    """Models with a class that no row has, whose part of the model is a constant."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((30, 4)).astype(np.float32), np.zeros((30, 3), int)
    y[::2, 0] = y[1::2, 1] = 1
    model = OneVsRestClassifier(LogisticRegression()).fit(x, y)
    return convert_sklearn(model, initial_types=[("x", FloatTensorType([None, 4]))], options={"zipmap": False}, target_opset=OPSETS), [x[:6]]


def models():
    yield from tables()
    yield "KernelCenterer", centred
    yield "ConstantPredictor", single
