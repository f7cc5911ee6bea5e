"""Models of texts, dictionaries and labels of scikit-learn, converted by skl2onnx."""
import itertools

import numpy as np
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DictionaryType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, StandardScaler

from reference import OPSETS

TRAINING = ["The first document.", "This document is the second document.", "And this is the third one.", "Is this the first document?",
            "one, two: three; and-so on", "A MIXED Case of Words", "numbers 12 and 345 too", "the the the end"]
TESTED = ["this is the second one", "The THIRD document is here?", "", "two words", "12 of the first words, and one more end", "unseen", "a"]
VECTORIZERS = [
    {}, {"ngram_range": (1, 2)}, {"ngram_range": (2, 2)}, {"ngram_range": (1, 3)}, {"lowercase": False}, {"stop_words": ["the", "is"]},
    {"binary": True}, {"max_features": 5}, {"min_df": 2}, {"analyzer": "char"}, {"analyzer": "char", "ngram_range": (1, 2)},
    {"token_pattern": "[a-zA-Z]+"}, {"token_pattern": r"\b\w+\b"},
    {"vocabulary": ["document", "first", "the", "one"]}]
LOCALE = {"locale": "C"}      # the only one on every machine
TFIDF = [{"norm": "l1"}, {"norm": None}, {"use_idf": False}, {"smooth_idf": False}, {"sublinear_tf": True}]


def column(rows):
    return np.array(rows, object)[:, None]


def export(estimator, given, y, rows, of, batch=None, options=None):
    if isinstance(estimator, Pipeline):
        options = {id(e): LOCALE for _, e in estimator.steps if isinstance(e, CountVectorizer)}
    elif options:
        options = {id(estimator): options}
    estimator.fit(given, y) if y is not None else estimator.fit(given)
    model = convert_sklearn(estimator, initial_types=[("x", of(batch))], target_opset=OPSETS, options=options)
    return model, [rows]


def strings(batch):
    return StringTensorType([batch, 1])


def vectorizers():
    for kind, more in (CountVectorizer, VECTORIZERS), (TfidfVectorizer, VECTORIZERS + TFIDF):
        for arguments in more:
            for batch in None, len(TESTED):
                said = "_".join(str(v).replace(" ", "") for v in itertools.chain(*arguments.items()))
                name = f"{kind.__name__}_{said}_{'fixed' if batch else 'open'}"
                yield name, lambda k=kind, a=arguments, b=batch: export(k(**a), TRAINING, None, column(TESTED), strings, b, LOCALE)


def pipelines():
    lasts = [LogisticRegression(), MultinomialNB(), Ridge()]
    firsts = [[("words", CountVectorizer())], [("words", TfidfVectorizer())], [("words", CountVectorizer(binary=True)), ("tfidf", TfidfTransformer())],
              [("words", TfidfVectorizer(ngram_range=(1, 2))), ("scale", StandardScaler(with_mean=False))]]
    for (i, first), last in itertools.product(enumerate(firsts), lasts):
        for labels in (np.arange(8) % 3, np.array(["a", "b, c"] * 4)) if last is not lasts[2] else (np.arange(8.0),):
            name = f"words_{i}_{type(last).__name__}_{labels.dtype.kind}"
            yield name, lambda f=first, e=last, y=labels: export(Pipeline([*f, ("last", e)]), TRAINING, y, column(TESTED), strings)


def dictionaries():
    rows = [{"a": 1.0, "b, c": 2.0}, {"a": -3.0}, {"d": 4.0, "a": 0.5}]
    for i, given in enumerate(({"a": 2.5, "d": 7.0}, {"b, c": 1.0, "unseen": 3.0})):
        for key, fitted, row in (("s", rows, given), ("i", [{hash_of(k): v for k, v in r.items()} for r in rows], {hash_of(k): v for k, v in given.items()})):
            of = DictionaryType(StringTensorType([1]) if key == "s" else Int64TensorType([1]), FloatTensorType([1]))
            yield f"DictVectorizer_{key}_{i}", lambda g=fitted, r=row, t=of: export(DictVectorizer(sparse=False), g, None, r, lambda b: t)


def hash_of(key):
    return sum(map(ord, key))


def hashers():
    words = np.array([["red", "round"], ["green", "long"], ["red", ""], ["blau", "é"]], object)
    for size, signed in itertools.product((4, 16), (True, False)):
        yield f"FeatureHasher_{size}_{signed}", lambda n=size, s=signed: export(
            FeatureHasher(n_features=n, alternate_sign=s, input_type="string", dtype=np.float32), words, None, words, lambda b: StringTensorType([b, 2]))


def labels():
    for of, y, rows in ((StringTensorType, np.array(["b", "a, b", "c"], object), np.array(["c", "a, b", "b", "c"], object)),
                        (Int64TensorType, np.array([7, -2, 5]), np.array([5, 5, -2, 7]))):
        for batch in None, 4:
            end = f"{of.__name__}_{'fixed' if batch else 'open'}"
            yield f"LabelEncoder_{end}", lambda t=of, y=y, r=rows, b=batch: export(LabelEncoder(), y, None, r, lambda b: t([b]), b)
            for low, high in (0, 1), (-2, 3):
                yield f"LabelBinarizer_{low}_{high}_{end}", lambda t=of, y=y, r=rows, b=batch, v=(low, high): export(
                    LabelBinarizer(neg_label=v[0], pos_label=v[1]), y, None, r, lambda b: t([b]), b)


def models():
    return itertools.chain(vectorizers(), pipelines(), dictionaries(), hashers(), labels())
