"""Cases of sequences, optionals and maps: models in ONNX's own text form. cases.py writes them."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx.reference import ReferenceEvaluator

ML = '<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1]>'
KINDS = {"float": np.float32, "double": np.float64, "int64": np.int64, "string": object}


def add(c, name, text, feed, by="runtime"):
    """The model `text` with the inputs `feed`; by: "runtime", "reference", or the results themselves."""
    model = onnx.parser.parse_model(text if text.lstrip().startswith("<") else f'<ir_version: 8, opset_import: ["": 17]> {text}')
    onnx.checker.check_model(model)
    names = [i.name for i in model.graph.input]
    if by == "runtime":
        run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        by = run.run(None, dict(zip(names, feed)))
    elif by == "reference":
        by = ReferenceEvaluator(model).run(None, dict(zip(names, feed)))
    c.write(name, model, feed, by)


def add_maps(c):
    # What ONNX Runtime's Python interface cannot take (values of int64, double and string) is worked out here.
    vocabularies = {"string": ('string_vocabulary = ["pear", "fig", "", "apple", "fig"]', ["fig", "kiwi", "apple", ""]),
                    "int64": ("int64_vocabulary = [30, -4, 0, 7, -4]", [-4, 5, 7, 0])}
    entries = {"float": [1.5, 2, -0.5, 8], "double": [1e300, 2, -0.5, 8], "int64": [2**60, 1, 3, -9], "string": ["one", "two", "", "four"]}
    for keys, (vocabulary, names) in vocabularies.items():
        for values, x in entries.items():
            if keys == values:
                continue
            text = f"{ML} g (map({keys}, {values}) x) => ({values}[1, 5] y) {{ y = ai.onnx.ml.DictVectorizer <{vocabulary}> (x) }}"
            row = ["" if values == "string" else 0, x[0], x[3], x[2], x[0]]
            by = "runtime" if values == "float" else [np.array([row], KINDS[values])]
            add(c, f"dict_vectorizer_{keys}_{values}", text, [dict(zip(names, x))], by)
    for form in "DENSE", "SPARSE":
        for to in "float", "int64", "string":
            for values, x in ("float", {5: 1.5, 2: -2.75, 0: 123456.5, 3: 0.1}), ("string", {5: "12", 2: "-7.0", 0: "9", 3: "250"}):
                size = "n" if form == "DENSE" else 7
                text = (f"{ML} g (map(int64, {values}) x) => ({to}[1, {size}] y) "
                        f'{{ y = ai.onnx.ml.CastMap <cast_to = "TO_{to.upper()}", map_form = "{form}", max_map = 7> (x) }}')
                kind = {"float": float, "int64": lambda s: int(float(s)), "string": str}[to]
                row = [kind(x[k]) if k in x else "0.f" if to == "string" else 0 for k in (sorted(x) if form == "DENSE" else range(7))]
                by = "runtime" if values == "float" and to != "string" else [np.array([row], KINDS[to])]
                add(c, f"cast_map_{form}_{values}_{to}", text, [x], by)
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
    for key, attribute, labels in ("string", 'strings = ["no", "", "yes"]', ["no", "", "yes"]), ("int64", "int64s = [3, -1, 2]", [3, -1, 2]):
        text = f"{ML} g (float[n, 3] x) => (seq(map({key}, float)) y) {{ y = ai.onnx.ml.ZipMap <classlabels_{attribute}> (x) }}"
        add(c, f"zip_map_{key}", text, [x], [[dict(zip(labels, row)) for row in x]])
