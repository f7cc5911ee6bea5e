"""Models of scikit-learn, converted by skl2onnx: every estimator that it supports, with each kind of labels, targets and inputs."""
import itertools

import numpy as np
from skl2onnx import convert_sklearn
from skl2onnx._supported_operators import sklearn_operator_name_map
from skl2onnx.common._registration import get_converter
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType
from skl2onnx.sklapi import CastRegressor, CastTransformer
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import kernels
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from reference import OPSETS
from column import models as columns
from text import models as texts

ROWS, WIDTH = 60, 5
TENSOR = {np.float32: FloatTensorType, np.float64: DoubleTensorType, np.int64: Int64TensorType}
FLOATS = np.float32, np.float64
LABELS = {"two": lambda k: k % 2, "three": lambda k: k % 3 * 4 - 3, "names": lambda k: np.array(["no", "perhaps", "yes"])[k % 3],
          "two_names": lambda k: np.array(["off", "on"])[k % 2]}


def few(n=5):
    return {"n_estimators": n, "random_state": 0}


def tree():
    return DecisionTreeClassifier(max_depth=3, random_state=0)


def kinds(name, *values, **more):
    return [{name: v, **more} for v in values]


FORESTS = [few(), {**few(), "max_depth": 3}]
# The arguments of an estimator, a dictionary for each variant; estimators that are not here have no arguments.
ARGUMENTS = {
    "AdaBoostClassifier": [few(), {**few(), "estimator": tree()}],
    "AdaBoostRegressor": [{**few(), "loss": v} for v in ("linear", "square", "exponential")],
    "BaggingClassifier": [few(3), {**few(3), "estimator": LogisticRegression()}, {**few(3), "max_features": 3}],
    "BaggingRegressor": [few(3), {**few(3), "estimator": Ridge()}, {**few(3), "max_features": 3}],
    "BayesianGaussianMixture": kinds("covariance_type", "full", "tied", "diag", "spherical", n_components=2, random_state=0, max_iter=20),
    "Binarizer": kinds("threshold", 0.0, 0.5),
    "BernoulliNB": kinds("binarize", 0.0, 0.3),
    "CalibratedClassifierCV": [{"estimator": e, "method": m, "cv": 2} for e in (GaussianNB(), LinearSVC(), tree()) for m in ("sigmoid", "isotonic")],
    "CastRegressor": [{"estimator": DecisionTreeRegressor(max_depth=3)}],
    "CastTransformer": kinds("dtype", np.float32, np.float64, np.int64),
    "DecisionTreeClassifier": [{}, {"max_depth": 2}], "DecisionTreeRegressor": [{}, {"max_depth": 2}],
    "ElasticNet": kinds("alpha", 0.01, 1.0),
    "ExtraTreesClassifier": FORESTS, "ExtraTreesRegressor": FORESTS, "RandomForestClassifier": FORESTS, "RandomForestRegressor": FORESTS,
    "FeatureUnion": [{"transformer_list": [("scale", StandardScaler()), ("pca", PCA(2))]}, {"transformer_list": [("scale", MinMaxScaler())]}],
    "FunctionTransformer": [{}],
    "GaussianMixture": kinds("covariance_type", "full", "tied", "diag", "spherical", n_components=2, random_state=0),
    "GaussianProcessClassifier": [{"kernel": k, "optimizer": None} for k in (kernels.RBF(2.0), kernels.DotProduct())],
    "GaussianProcessRegressor": [{"kernel": k, "optimizer": None, "alpha": 0.5} for k in (
        kernels.RBF(2.0), kernels.DotProduct() + kernels.WhiteKernel(1.0), kernels.RationalQuadratic(2.0),
        kernels.ConstantKernel(2.0) * kernels.RBF([2.0] * WIDTH) + kernels.WhiteKernel(0.1), kernels.Matern(2.0, nu=1.5),
        kernels.Matern(2.0, nu=0.5), kernels.Matern(2.0, nu=2.5))],
    "GaussianRandomProjection": [{"n_components": 3, "random_state": 0}],
    "GenericUnivariateSelect": kinds("mode", "percentile", "fpr", param=0.5) + [{"mode": "k_best", "param": 2}],
    "GradientBoostingClassifier": [few(), {**few(), "init": "zero"}, {**few(), "max_depth": 1}],
    "GradientBoostingRegressor": [{**few(), "loss": v} for v in ("squared_error", "absolute_error", "huber", "quantile")],
    "GridSearchCV": [{"estimator": e, "param_grid": {n: v}, "cv": 2} for e, n, v in (
        (LogisticRegression(), "C", [0.1, 1.0]), (Ridge(), "alpha", [0.1, 1.0]), (KNeighborsClassifier(), "n_neighbors", [2, 3]),
        (Pipeline([("scale", StandardScaler()), ("svc", SVC())]), "svc__C", [0.1, 1.0]))],
    "HistGradientBoostingClassifier": [{"max_iter": 4}, {"max_iter": 4, "max_depth": 2, "min_samples_leaf": 3}],
    "HistGradientBoostingRegressor": kinds("loss", "squared_error", "absolute_error", "gamma", max_iter=4),
    "IncrementalPCA": [{"n_components": 2}, {"n_components": 3, "whiten": True}],
    "IsolationForest": [few(5), {**few(5), "contamination": 0.2}],
    "KBinsDiscretizer": [{"n_bins": 3, "encode": e, "strategy": s, "quantile_method": "averaged_inverted_cdf"}
                         for e in ("onehot-dense", "ordinal") for s in ("uniform", "quantile", "kmeans")],
    "KMeans": kinds("n_clusters", 2, 5, n_init=1, random_state=0), "MiniBatchKMeans": kinds("n_clusters", 2, 5, n_init=1, random_state=0),
    "KNNImputer": [{"n_neighbors": 2}, {"n_neighbors": 3, "weights": "distance"}],
    "KNeighborsClassifier": [{"n_neighbors": 3, "weights": w, "metric": m} for w in ("uniform", "distance")
                             for m in ("euclidean", "manhattan", "minkowski")],
    "KNeighborsRegressor": [{"n_neighbors": 3, "weights": w, "metric": m} for w in ("uniform", "distance")
                            for m in ("euclidean", "manhattan")] + [{"n_neighbors": 1}, {"metric": "minkowski", "p": 3}],
    "KNeighborsTransformer": kinds("mode", "distance", "connectivity", n_neighbors=2),
    "KernelPCA": kinds("kernel", "linear", "poly", "rbf", "sigmoid", "cosine", n_components=2),
    "LinearSVC": [{}, {"penalty": "l1", "dual": False}], "LinearSVR": [{}, {"loss": "squared_epsilon_insensitive"}],
    "LocalOutlierFactor": [{"novelty": True, "n_neighbors": 5}, {"novelty": True, "n_neighbors": 5, "contamination": 0.2}],
    "LogisticRegression": [{}, {"C": 0.1}, {"solver": "liblinear"}],
    "MLPClassifier": kinds("activation", "relu", "tanh", "logistic", "identity", hidden_layer_sizes=(7, 4), max_iter=20, random_state=0),
    "MLPRegressor": kinds("activation", "relu", "tanh", "logistic", "identity", hidden_layer_sizes=(7,), max_iter=20, random_state=0),
    "MinMaxScaler": [{}, {"feature_range": (-1, 2), "clip": True}],
    "MultiOutputClassifier": [{"estimator": LogisticRegression()}, {"estimator": tree()}],
    "MultiOutputRegressor": [{"estimator": Ridge()}, {"estimator": SVR()}],
    "NearestNeighbors": kinds("n_neighbors", 1, 3, radius=None), "NeighborhoodComponentsAnalysis": [{"n_components": 2, "max_iter": 5, "random_state": 0}],
    "Normalizer": kinds("norm", "l1", "l2", "max"), "NuSVC": kinds("kernel", "poly", "rbf", "sigmoid", nu=0.7),
    "OneClassSVM": kinds("kernel", "linear", "poly", "rbf", "sigmoid", nu=0.3),
    "OneHotEncoder": [{"handle_unknown": "ignore"}, {"handle_unknown": "ignore", "drop": "first"}, {"handle_unknown": "ignore", "min_frequency": 8}],
    "OneVsOneClassifier": [{"estimator": LogisticRegression()}, {"estimator": LinearSVC()}],
    "OneVsRestClassifier": [{"estimator": LogisticRegression()}, {"estimator": tree()}, {"estimator": LinearSVC()}],
    "OrdinalEncoder": [{"handle_unknown": "use_encoded_value", "unknown_value": -1}],
    "PCA": [{"n_components": 2}, {"n_components": 3, "whiten": True}],
    "PLSRegression": kinds("n_components", 1, 2),
    "Pipeline": [{"steps": [("scale", StandardScaler()), ("last", e)]} for e in (LogisticRegression(), Ridge(), PCA(2), RandomForestClassifier(**few(3)))]
    + [{"steps": [("scale", MinMaxScaler()), ("union", FeatureUnion([("pca", PCA(2)), ("scale", StandardScaler())])), ("last", SVC(probability=True))]}],
    "PolynomialFeatures": [{"degree": d, "interaction_only": i, "include_bias": b} for d in (1, 2, 3) for i in (False, True) for b in (False, True)],
    "PowerTransformer": [{"method": "yeo-johnson", "standardize": s} for s in (False, True)],
    "QuantileTransformer": [{"n_quantiles": 10}, {"n_quantiles": 10, "output_distribution": "normal"}],
    "RANSACRegressor": [{"random_state": 0}],
    "RFE": [{"estimator": LinearRegression(), "n_features_to_select": 2}], "RFECV": [{"estimator": LinearRegression(), "cv": 2}],
    "RadiusNeighborsClassifier": [{"radius": 9.0, "weights": w, "outlier_label": "most_frequent"} for w in ("uniform", "distance")],
    "RadiusNeighborsRegressor": [{"radius": r, "weights": w} for r in (3.0, 9.0) for w in ("uniform", "distance")],
    "RandomTreesEmbedding": [{**few(3), "max_depth": 2}],
    "ReplaceTransformer": [{"from_value": 1.0, "to_value": 7.0}],
    "RobustScaler": [{}, {"with_centering": False}, {"with_scaling": False}],
    "SGDClassifier": kinds("loss", "hinge", "log_loss", "modified_huber", random_state=0),
    "SVC": [{"kernel": k, "probability": p} for k in ("linear", "poly", "rbf", "sigmoid") for p in (False, True)],
    "SVR": kinds("kernel", "linear", "poly", "rbf", "sigmoid"), "NuSVR": kinds("kernel", "linear", "poly", "rbf", "sigmoid"),
    "SelectFromModel": [{"estimator": LinearRegression()}, {"estimator": LinearRegression(), "threshold": -1.0}],
    "SelectKBest": kinds("k", 1, 3), "SelectPercentile": kinds("percentile", 30, 70),
    "SelectFdr": [{"alpha": 0.9}], "SelectFpr": [{"alpha": 0.9}], "SelectFwe": [{"alpha": 0.9}],
    "SimpleImputer": kinds("strategy", "mean", "median", "most_frequent") + [{"strategy": "constant", "fill_value": 3}, {"add_indicator": True}],
    "StackingClassifier": [{"estimators": [("a", LogisticRegression()), ("b", tree())], "passthrough": p, "cv": 2} for p in (False, True)],
    "StackingRegressor": [{"estimators": [("a", Ridge()), ("b", KNeighborsRegressor())], "passthrough": p, "cv": 2} for p in (False, True)],
    "StandardScaler": [{}, {"with_mean": False}, {"with_std": False}],
    "TargetEncoder": [{"cv": 2, "random_state": 0}, {"cv": 2, "smooth": 2.0, "random_state": 0}],
    "TruncatedSVD": [{"n_components": 2, "random_state": 0}],
    "TfidfTransformer": [{"norm": n, "sublinear_tf": s} for n in ("l1", "l2", None) for s in (False, True)],
    "TunedThresholdClassifierCV": [{"estimator": LogisticRegression(), "cv": 2}],
    "TweedieRegressor": kinds("power", 0, 1, 1.5, 2),
    "VotingClassifier": [{"estimators": [("a", LogisticRegression()), ("b", tree())], "voting": v, "weights": w, "flatten_transform": False}
                         for v in ("soft", "hard") for w in (None, np.array([1, 3]))],
    "VotingRegressor": [{"estimators": [("a", Ridge()), ("b", KNeighborsRegressor())], "weights": w} for w in (None, np.array([1, 3]))],
}
POSITIVE = ("CategoricalNB", "ComplementNB", "MultinomialNB", "GammaRegressor", "PoissonRegressor", "TweedieRegressor",
            "TfidfTransformer", "HistGradientBoostingRegressor", "OneClassSVM")
TWO = "GaussianProcessClassifier", "TunedThresholdClassifierCV"       # only two classes
COUNTED = ("CategoricalNB", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder")      # need columns of a few different values
MISSING = "KNNImputer", "SimpleImputer", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"
ELSEWHERE = ("ColumnTransformer", "CountVectorizer", "TfidfVectorizer", "DictVectorizer", "FeatureHasher", "LabelEncoder", "LabelBinarizer",
             "KernelCenterer", "_ConstantPredictor")     # in text.py and column.py
# What to_onnx can be asked for, beside the labels.
OPTIONS = {"GaussianProcessRegressor": [{}, {"return_std": True}], "KNeighborsClassifier": [{}, {"optim": "cdist"}],
           "KNeighborsRegressor": [{}, {"optim": "cdist"}], "LogisticRegression": [{}, {"raw_scores": True}], "SVC": [{}, {"raw_scores": True}],
           "LocalOutlierFactor": [{}, {"score_samples": True}], "IsolationForest": [{}, {"score_samples": True}],
           "RandomForestClassifier": [{}, {"decision_path": True}, {"decision_leaf": True}], "DecisionTreeClassifier": [{}, {"decision_path": True}],
           "DecisionTreeRegressor": [{}, {"decision_leaf": True}], "GaussianMixture": [{}, {"score_samples": True}]}


def data(name, seed):
    """Random inputs, to fit and to run on."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS + 7, WIDTH)) * [1, 2, 0.5, 3, 1]
    if name in COUNTED:
        x = rng.integers(0, 4, x.shape).astype(float)
    elif name in POSITIVE:
        x = np.abs(x) + 0.1
    if name in MISSING:
        x[rng.random(x.shape) < 0.15] = np.nan
    return x[:ROWS], x[ROWS:]


def target(name, seed, kind, x):
    """A target that depends on x, with noise."""
    rng = np.random.default_rng(seed + 1)
    y = np.nan_to_num(x) @ rng.standard_normal((WIDTH, 2)) + rng.standard_normal((ROWS, 2))
    if kind in LABELS or kind == "class":
        return LABELS.get(kind, LABELS["two"])(y[:, 0].argsort().argsort() * 6 // ROWS)
    y = y if kind == "targets" else y[:, 0]
    return np.abs(y) + 0.1 if name in POSITIVE else y


def fit(make, name, seed, kind, dtype):
    """(the fitted estimator, rows to run it on)"""
    x, more = data(name, seed)
    if dtype == np.int64:
        x, more = np.rint(x * 3), np.rint(more * 3)
    estimator = make()
    y = target(name, seed, kind, x)
    if name == "MultiOutputClassifier":
        y = np.stack([y, np.roll(y, 1)], 1)
    estimator.fit(x.astype(dtype), y)
    return estimator, more.astype(dtype)


def allowed(estimator):
    """The values of the option zipmap that the estimator's converter takes; some converters pass options on to inner ones."""
    options = get_converter(sklearn_operator_name_map[type(estimator)]).get_allowed_options()
    return [False] if options == "passthrough" else options.get("zipmap", [])


def export(make, name, seed, kind, dtype, batch, options):
    estimator, more = fit(make, name, seed, kind, dtype)
    of = [("x", TENSOR[dtype]([len(more) if batch else None, WIDTH]))]
    options = {k: v for k, v in options.items() if k != "zipmap" or v in allowed(estimator)}
    return convert_sklearn(estimator, initial_types=of, options={id(estimator): options} if options else None, target_opset=OPSETS), [more]


def cases(cls, name, arguments):
    """(kind of labels or targets, type of the inputs)"""
    one = cls(**arguments)
    if is_classifier(one):
        return itertools.product(["two"] if name in TWO else LABELS, FLOATS)
    if is_regressor(one):
        several = one.__sklearn_tags__().target_tags
        return itertools.product(["target"] * (not name.startswith("Multi")) + ["targets"] * several.multi_output, FLOATS)
    types = (*FLOATS, np.int64) if name not in MISSING else FLOATS
    return itertools.product(["class"] if "Select" in name or name == "NeighborhoodComponentsAnalysis" else ["target"], types)


def models():
    """(name, function that makes the model and its inputs)"""
    seed = 0
    zipmap = itertools.cycle([{}, {"zipmap": False}, {"zipmap": "columns"}])
    for cls in sorted(sklearn_operator_name_map, key=lambda c: c.__name__):
        name = cls.__name__
        for i, arguments in enumerate(ARGUMENTS.get(name, [{}]) if name not in ELSEWHERE else []):
            for (kind, dtype), more in itertools.product(cases(cls, name, arguments), OPTIONS.get(name, [{}])):
                if "optim" in more and arguments.get("metric") != "euclidean" or "return_std" in more and kind == "targets":
                    continue
                seed += 1
                apart = {} if kind not in LABELS else {"zipmap": False} if dtype == np.float64 or more else next(zipmap)   # ZipMap takes no double
                of = {**apart, **more}
                said = "_".join([name, str(i), kind, np.dtype(dtype).name, *map(str, itertools.chain(*of.items()))])
                yield said, (lambda c=cls, a=arguments, n=name, s=seed, k=kind, d=dtype, o=of:
                             export(lambda: c(**a), n, s, k, d, s % 4 == 0, o))
    yield from columns()
    yield from texts()
