"""Boosted trees of LightGBM, XGBoost and CatBoost, by onnxmltools and by their own exporters."""
import itertools
import os
import tempfile

import catboost
import lightgbm
import numpy as np
import onnx
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm as lightgbm_converter
from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost as xgboost_converter
from skl2onnx import convert_sklearn, update_registered_converter
from skl2onnx.common.data_types import FloatTensorType as SklearnFloat
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes, calculate_linear_regressor_output_shapes
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from reference import OPSETS, rng_of

ROWS, WIDTH = 200, 6
TREES, DEPTH = 6, 3
NEWEST = 15     # the newest opset that onnxmltools writes


def data(name, kind):
    """Rows, whose last two columns are categories, and targets: classes, numbers or ranks."""
    rng = rng_of(name)
    x = rng.standard_normal((ROWS + 9, WIDTH))
    x[:, -2:] = rng.integers(0, 9, (ROWS + 9, 2))
    y = x[:, 0] * 2 - np.abs(x[:, 1]) + (x[:, -1] % 3) + rng.standard_normal(ROWS + 9)
    if kind == "missing":
        x[rng.random(x.shape) < 0.2] = np.nan
    order = y[:ROWS].argsort().argsort()
    classes = {"two": 2, "three": 3, "five": 5, "rank": 4}.get(kind)
    return x[:ROWS].astype(np.float32), order * classes // ROWS if classes else np.abs(y[:ROWS]), x[ROWS:].astype(np.float32)


def batch_of(name, rows):
    return len(rows) if len(name) % 3 == 0 else None


def lightgbm_model(name, kind, options, convert):
    x, y, rows = data(name, kind)
    cls = {"rank": lightgbm.LGBMRanker, "two": lightgbm.LGBMClassifier, "three": lightgbm.LGBMClassifier,
           "five": lightgbm.LGBMClassifier}.get(kind, lightgbm.LGBMRegressor)
    fit = {"group": [20] * (ROWS // 20)} if kind == "rank" else {}
    if options.pop("categories", False):
        fit["categorical_feature"] = [WIDTH - 2, WIDTH - 1]
    whole = options.pop("booster", False)
    of = cls(n_estimators=TREES, max_depth=DEPTH, verbose=-1, n_jobs=1, random_state=0, min_child_samples=5, **options).fit(x, y, **fit)
    return convert_lightgbm(of.booster_ if whole else of, initial_types=[("x", FloatTensorType([batch_of(name, rows), WIDTH]))],
                            target_opset=NEWEST, **convert), [rows]


def lightgbm_models():
    kinds = [{}, {"categories": True}, {"boosting_type": "dart"}, {"boosting_type": "goss"}, {"extra_trees": True}, {"booster": True},
             {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}, {"linear_tree": False, "num_leaves": 3}]
    for (i, options), kind, zipmap in itertools.product(enumerate(kinds), ("two", "three", "five", "rank", "numbers", "missing"), (True, False)):
        if zipmap or kind in ("two", "three", "five"):
            name = f"LightGBM_{i}_{kind}_{'' if zipmap else 'tensor'}"
            yield name, lambda n=name, k=kind, o=options, z=zipmap: lightgbm_model(n, k, dict(o), {"zipmap": z})
    for objective, kind in itertools.product(("regression_l1", "huber", "poisson", "quantile", "gamma", "tweedie", "mape"), ("numbers", "missing")):
        name = f"LightGBM_{objective}_{kind}"
        yield name, lambda n=name, k=kind, o=objective: lightgbm_model(n, k, {"objective": o}, {})
    for kind, objective in ("two", "cross_entropy"), ("three", "multiclassova"), ("two", "binary"):
        name = f"LightGBM_{objective}_{kind}"
        yield name, lambda n=name, k=kind, o=objective: lightgbm_model(n, k, {"objective": o}, {"zipmap": False})
    for split in 2, 4:
        name = f"LightGBM_split_{split}"
        yield name, lambda n=name, s=split: lightgbm_model(n, "numbers", {}, {"split": s})


def xgboost_model(name, kind, options):
    x, y, rows = data(name, kind)
    cls = {"rank": xgboost.XGBRanker, "two": xgboost.XGBClassifier, "three": xgboost.XGBClassifier,
           "five": xgboost.XGBClassifier}.get(kind, xgboost.XGBRegressor)
    fit = {"group": [20] * (ROWS // 20)} if kind == "rank" else {}
    if cls is xgboost.XGBRFRegressor or options.get("booster") == "gblinear":
        options = {k: v for k, v in options.items() if k != "max_depth"}
    of = cls(n_estimators=TREES, max_depth=DEPTH, n_jobs=1, random_state=0, **options).fit(x, y, **fit)
    return convert_xgboost(of, initial_types=[("x", FloatTensorType([batch_of(name, rows), WIDTH]))], target_opset=NEWEST), [rows]


def xgboost_models():
    kinds = [{}, {"booster": "dart"}, {"booster": "gblinear"}, {"grow_policy": "lossguide", "max_leaves": 4}, {"base_score": 0.3},
             {"subsample": 0.5, "num_parallel_tree": 2}, {"tree_method": "exact"}, {"learning_rate": 0.9, "min_child_weight": 9}]
    for (i, options), kind in itertools.product(enumerate(kinds), ("two", "three", "five", "rank", "numbers", "missing")):
        name = f"XGBoost_{i}_{kind}"
        yield name, lambda n=name, k=kind, o=options: xgboost_model(n, k, o)
    for objective in "reg:pseudohubererror", "reg:absoluteerror", "count:poisson", "reg:gamma", "reg:tweedie", "reg:squaredlogerror", "reg:logistic":
        name = f"XGBoost_{objective}"
        yield name, lambda n=name, o=objective: xgboost_model(n, "two" if o == "reg:logistic" else "numbers", {"objective": o})
    for objective in "binary:logistic", "binary:logitraw", "binary:hinge":
        name = f"XGBoost_{objective}"
        yield name, lambda n=name, o=objective: xgboost_model(n, "two", {"objective": o})
    for objective in "multi:softmax", "multi:softprob":
        name = f"XGBoost_{objective}"
        yield name, lambda n=name, o=objective: xgboost_model(n, "three", {"objective": o})


def catboost_model(name, kind, options):
    x, y, rows = data(name, kind)
    cls = {"rank": catboost.CatBoostRanker, "two": catboost.CatBoostClassifier, "three": catboost.CatBoostClassifier,
           "five": catboost.CatBoostClassifier, "names": catboost.CatBoostClassifier}.get(kind, catboost.CatBoostRegressor)
    fit = {"group_id": np.arange(ROWS) // 20} if kind == "rank" else {}
    if kind == "names":
        y = np.array(["no", "a, b", "yes"])[(y * 2).astype(int) % 3]
    of = cls(iterations=TREES, depth=DEPTH, verbose=False, thread_count=1, random_seed=0, allow_writing_files=False, **options).fit(x, y, **fit)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        of.save_model(path, format="onnx", export_parameters={"onnx_domain": "ai.catboost", "onnx_graph_name": name})
        return onnx.load(path), [rows]


def catboost_models():
    kinds = [{}, {"grow_policy": "Lossguide", "max_leaves": 5}, {"grow_policy": "Depthwise"}, {"boosting_type": "Ordered"}, {"learning_rate": 0.9}]
    for (i, options), kind in itertools.product(enumerate(kinds), ("two", "three", "five", "names", "rank", "numbers", "missing")):
        name = f"CatBoost_{i}_{kind}"
        yield name, lambda n=name, k=kind, o=options: catboost_model(n, k, o)
    for loss in "MAE", "Quantile:alpha=0.7", "Poisson", "MAPE", "Huber:delta=1.0":
        name = f"CatBoost_{loss}"
        yield name, lambda n=name, o=loss: catboost_model(n, "numbers", {"loss_function": o})


def pipeline(name, last, kind):
    """A scikit-learn pipeline that ends with another package's trees."""
    x, y, rows = data(name, kind)
    for cls, of, convert in ((lightgbm.LGBMClassifier, "LightGbmLGBMClassifier", lightgbm_converter),
                             (xgboost.XGBClassifier, "XGBoostXGBClassifier", xgboost_converter)):
        update_registered_converter(cls, of, calculate_linear_classifier_output_shapes, convert,
                                    options={"nocl": [True, False], "zipmap": [True, False, "columns"]})
    for cls, of, convert in ((lightgbm.LGBMRegressor, "LightGbmLGBMRegressor", lightgbm_converter),
                             (xgboost.XGBRegressor, "XGBoostXGBRegressor", xgboost_converter)):
        update_registered_converter(cls, of, calculate_linear_regressor_output_shapes, convert, options={"split": None} if "Light" in of else None)
    whole = Pipeline([("scale", StandardScaler()), ("last", last)]).fit(x, y)
    return convert_sklearn(whole, initial_types=[("x", SklearnFloat([batch_of(name, rows), WIDTH]))], target_opset={**OPSETS, "": NEWEST}), [rows]


def pipelines():
    for end, cls in ("LightGBM", lightgbm.LGBMClassifier), ("XGBoost", xgboost.XGBClassifier):
        for kind in "two", "three":
            name = f"pipeline_{end}_{kind}"
            yield name, lambda n=name, c=cls, k=kind: pipeline(n, c(n_estimators=TREES, max_depth=DEPTH, n_jobs=1), k)
    for end, cls in ("LightGBM", lightgbm.LGBMRegressor), ("XGBoost", xgboost.XGBRegressor):
        name = f"pipeline_{end}_numbers"
        yield name, lambda n=name, c=cls: pipeline(n, c(n_estimators=TREES, max_depth=DEPTH, n_jobs=1), "numbers")


def models():
    return itertools.chain(lightgbm_models(), xgboost_models(), catboost_models(), pipelines())
