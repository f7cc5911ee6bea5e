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
    # For values that ONNX Runtime's Python interface does not support (int64, double and string) the results are written here.
    vocabularies = {"string": ('string_vocabulary = ["pear", "fig", "", "apple", "fig"]', ["fig", "kiwi", "apple", ""]),
                    "int64": ("int64_vocabulary = [30, -4, 0, 7, -4]", [-4, 5, 7, 0])}
    entries = {"float": [1.5, 2, -0.5, 8], "double": [1e300, 2, -0.5, 8], "int64": [2**60, 1, 3, -9], "string": ["one", "two", "", "four"]}
    for keys, (vocabulary, names) in vocabularies.items():
        for values, x in entries.items():
            if keys == values:
                continue
            row = np.array(["" if values == "string" else 0, x[0], x[3], x[2], x[0]], KINDS[values])
            for form, size, by in ("", "5", [row]), ("_row", "1, 5", "runtime" if values == "float" else [row[None]]):
                text = f"{ML} g (map({keys}, {values}) x) => ({values}[{size}] y) {{ y = ai.onnx.ml.DictVectorizer <{vocabulary}> (x) }}"
                add(c, f"dict_vectorizer_{keys}_{values}{form}", text, [dict(zip(names, x))], by)
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


def rows(*lengths, columns=()):
    """A sequence of arrays of different lengths."""
    return [(np.arange(n * int(np.prod(columns)), dtype=np.float32) + 10 * i).reshape(n, *columns) for i, n in enumerate(lengths)]


def add_splits(c):
    x = np.arange(14, dtype=np.float32).reshape(2, 7)
    for axis, shape, given in (0, "float[n, 2]", x.T), (1, "float[2, n]", x):
        for keep in 0, 1:
            text = f"g ({shape} x) => (seq(float[]) y) {{ y = SplitToSequence <axis = {axis}, keepdims = {keep}> (x) }}"
            add(c, f"split_each_{axis}_{keep}", text, [given])
        for k in 1, 3, 9:
            text = f"g ({shape} x, int64 k) => (seq(float[]) y) {{ y = SplitToSequence <axis = {axis}> (x, k) }}"
            add(c, f"split_by_{axis}_{k}", text, [given, np.array(k)])
        text = f"g ({shape} x) => (seq(float[]) y) {{ k = Constant <value_int = 3> () y = SplitToSequence <axis = {axis}> (x, k) }}"
        add(c, f"split_by_constant_{axis}", text, [given])
        for kind in "int32", "int64":
            text = f"g ({shape} x, {kind}[k] k) => (seq(float[]) y) {{ y = SplitToSequence <axis = {axis}> (x, k) }}"
            add(c, f"split_list_{axis}_{kind}", text, [given, np.array([3, 0, 1, 3], kind)], [np.split(given, [3, 3, 4], axis)])
        text = f"g ({shape} x, int64[3] k) => (seq(float[]) y) {{ y = SplitToSequence <axis = {axis}> (x, k) }}"
        add(c, f"split_three_{axis}", text, [given, np.array([3, 0, 4])], [np.split(given, [3, 3], axis)])
    words = np.array([*"abcde"], object)
    text = "g (string[n] x) => (seq(string) y) { y = SplitToSequence <keepdims = 0> (x) }"
    add(c, "split_strings", text, [words], [[np.array(w, object) for w in words]])
    text = "g (float[n, 2] x, int64 i) => (float[a, 2] y, int64 k) { s = SplitToSequence (x) y = SequenceAt (s, i) k = SequenceLength (s) }"
    add(c, "split_at", text, [x.T, np.array(-2)], [x.T[-2:-1], np.array(7)])
    text = "g (float[n, 2] x) => (float[m, 2] y) { k = Constant <value_int = 2> () s = SplitToSequence (x, k) y = ConcatFromSequence <axis = 0> (s) }"
    add(c, "split_join", text, [x.T])


LOOP = "<body = b (int64 i, bool go, {}) => (bool on, {}) {{ on = Identity(go) {} }}>"


def add_sequences(c):
    x, scalar = np.array([1.5, -2], np.float32), np.array
    # positions known only at run time
    for at in 0, 2, -3, 3:
        text = "g (seq(float[n]) s, float[n] x, int64 p) => (seq(float[n]) y) { y = SequenceInsert (s, x, p) }"
        add(c, f"insert_at_{at % 4}", text, [rows(2, 2, 2), x, scalar(at)])
    for at in 0, 2, -2:
        text = "g (seq(float[n]) s, int32 p) => (seq(float[n]) y, float[m] z) { y = SequenceErase (s, p) z = SequenceAt (s, p) }"
        add(c, f"erase_at_{at % 3}", text, [rows(1, 4, 2), scalar(at, np.int32)])
    # joined
    for axis in 0, 1, 2:
        text = f"g (seq(float[2, 3]) s) => (float[a, b, d] y) {{ y = ConcatFromSequence <axis = {axis - 3}, new_axis = 1> (s) }}"
        add(c, f"stack_{axis}", text, [rows(2, 2, 2, 2, columns=(3,))])
    text = "g (seq(float[n, 2, 3]) s) => (float[a, b, d] y) { y = ConcatFromSequence <axis = 0> (s) }"
    add(c, "join_lengths", text, [rows(2, 0, 3, columns=(2, 3))])
    # a body applied to each element, whose shapes vary
    text = """g (seq(float[n]) s, seq(float[m]) t, float[2] x) => (seq(float[k]) y, seq(int64[1]) z) {
        y, z = SequenceMap <body = b (float[n] e, float[m] g, float[2] w) => (float[k] f, int64[1] q)
            { f = Concat <axis = 0> (e, w, g) q = Shape (f) }> (s, t, x) }"""
    add(c, "map_lengths", text, [rows(1, 3, 0), rows(2, 1, 4), x])
    text = """g (seq(float[n]) s) => (float[m] y) {
        t = SequenceMap <body = b (float[n] e) => (float[k] f) { f = Concat <axis = 0> (e, e) }> (s)
        y = ConcatFromSequence <axis = 0> (t) }"""
    add(c, "map_join", text, [rows(1, 3, 0)])
    # carried by loops
    push = LOOP.format("seq(float[n]) u", "seq(float[n]) v", "v = SequenceInsert (u, x)")
    start = "s = SequenceEmpty ()"
    add(c, "loop_turns", f"g (int64 m, float[2] x) => (seq(float[n]) t) {{ {start} t = Loop {push} (m, , s) }}", [scalar(3), x])
    add(c, "loop_input", f"g (int64 m, seq(float[n]) s, float[2] x) => (seq(float[n]) t) {{ t = Loop {push} (m, , s) }}",
        [scalar(2), rows(3, 1), x])
    text = f"g (int64[k] m, float[2] x) => (int64 l) {{ {start} p = ReduceMax <keepdims = 0> (m) t = Loop {push} (p, , s) l = SequenceLength (t) }}"
    add(c, "loop_turns_computed", text, [np.array([2, 5, 3]), x])
    text = f"""g (bool c, float[2] x) => (seq(float[2]) t) {{ {start} t = Loop <body = b (int64 i, bool go, seq(float[2]) u) => (bool on, seq(float[2]) v)
        {{ three = Constant <value_int = 3> () on = Less (i, three) v = SequenceInsert (u, x) }}> ( , c, s) }}"""
    add(c, "loop_until", text, [scalar(True), x])
    inner = LOOP.format("seq(float[2]) u2", "seq(float[2]) v2", "f = CastLike (i2, x) e = Add (x, f) v2 = SequenceInsert (u2, e)")
    inner = inner.replace("int64 i,", "int64 i2,").replace("go", "go2").replace("on", "on2").replace("on2e", "one")
    outer = LOOP.format("seq(float[2]) u", "seq(float[2]) v", f"v = Loop {inner} (i, , u)")
    add(c, "loop_nested", f"g (int64 m, float[2] x) => (seq(float[2]) t) {{ {start} t = Loop {outer} (m, , s) }}", [scalar(4), x])
    longer = LOOP.format("seq(float[n]) u", "seq(float[n]) v", """z = Constant <value_int = -1> () e = SequenceAt (u, z)
        f = Concat <axis = 0> (e, x) v = SequenceInsert (u, f)""")
    text = f"g (int64 m, float[2] x) => (seq(float[n]) t) {{ s = SequenceConstruct (x) t = Loop {longer} (m, , s) }}"
    add(c, "loop_longer", text, [scalar(4), x])
    pop = LOOP.format("seq(float[n]) u, float[n] a", "seq(float[n]) v, float[n] d", """z = Constant <value_int = 0> () e = SequenceAt (u, z)
        d = Add (a, e) v = SequenceErase (u, z)""")
    text = f"g (int64 m, seq(float[2]) s, float[2] x) => (seq(float[2]) t, float[2] y) {{ t, y = Loop {pop} (m, , s, x) }}"
    add(c, "loop_erase", text, [scalar(2), rows(2, 2, 2), x])
    over = LOOP.format("float[2] a", "float[2] d", "e = SequenceAt (s, i) f = ReduceSum <keepdims = 0> (e) d = Add (a, f)")
    text = f"g (float[6, 2] x, int64 k, float[2] z) => (float[2] y) {{ s = SplitToSequence (x, k) n = SequenceLength (s) y = Loop {over} (n, , z) }}"
    add(c, "loop_over_length", text, [rows(6, columns=(2,))[0], scalar(2), x])
    empty = "e = SequenceEmpty () y = SequenceMap <body = b (float[2] a) => (float[2] d) { d = Sin (a) }> (e) n = SequenceLength (y)"
    add(c, "map_empty", f"g (float[2] x) => (seq(float[2]) y, int64 n) {{ {empty} }}", [x], [[], scalar(0)])
    # branches
    for taken in False, True:
        text = """g (bool c, float[2] x, float[3] z) => (seq(float[n]) t) { t = If (c)
            <then_branch = a () => (seq(float[n]) p) { p = SequenceConstruct (x, z) },
             else_branch = b () => (seq(float[n]) q) { q = SequenceConstruct (x) }> }"""
        add(c, f"if_lengths_{int(taken)}", text, [scalar(taken), x, rows(3)[0]])
        text = """g (bool c, seq(float[n]) s, float[n] x) => (seq(float[n]) t, int64 l) { t = If (c)
            <then_branch = a () => (seq(float[n]) p) { p = Identity (s) }, else_branch = b () => (seq(float[n]) q) { q = SequenceInsert (s, x) }>
            l = SequenceLength (t) }"""
        add(c, f"if_insert_{int(taken)}", text, [scalar(taken), rows(2, 2), x])
        text = """<ir_version: 8, opset_import: ["": 18]> g (bool c, float[2] x) => (optional(seq(float[2])) t, bool h) { t = If (c)
            <then_branch = a () => (optional(seq(float[2])) p) { s = SequenceConstruct (x, x) p = Optional (s) },
             else_branch = b () => (optional(seq(float[2])) q) { q = Optional <type = seq(float[2])> () }> h = OptionalHasElement (t) }"""
        add(c, f"if_optional_{int(taken)}", text, [scalar(taken), x], [[x, x] if taken else None, scalar(taken)])
        text = """<ir_version: 8, opset_import: ["": 18]> g (optional(seq(float[n])) o, float[n] x) => (seq(float[n]) t) { c = OptionalHasElement (o) t = If (c)
            <then_branch = a () => (seq(float[n]) p) { s = OptionalGetElement (o) p = SequenceInsert (s, x) },
             else_branch = b () => (seq(float[n]) q) { q = SequenceConstruct (x) }> }"""
        add(c, f"optional_sequence_{int(taken)}", text, [rows(2, 2) if taken else None, x], [(rows(2, 2) if taken else []) + [x]])
    # strings
    words = [np.array([*"abc"], object), np.array(["d\u00e9", ""], object)]
    text = """g (seq(string[n]) s, string[n] x, int64 i) => (string[m] y, seq(string[k]) z, seq(string[k]) e)
        { y = SequenceAt (s, i) z = SequenceInsert (s, x, i) e = SequenceErase (s, i) }"""
    add(c, "sequence_strings", text, [words, words[0], scalar(1)], [words[1], [words[0], words[0], words[1]], words[:1]])
    text = "g (seq(string[n]) s) => (string[m] y) { y = ConcatFromSequence <axis = 0> (s) }"
    add(c, "sequence_strings_join", text, [words], [np.concatenate(words)])


def add_loops(c):
    head, x = '<ir_version: 9, opset_import: ["": 20]>', np.array([1.5, -2], np.float32)
    turned = LOOP.format("float[2] s, float[2] t", "float[2] t, float[2] s, float[2] s, float[2] u", "u = Add (s, t)")
    text = f"{head} g (int64 m, float[2] x, float[2] w) => (float[2] o, float[2] p, float[n, 2] q, float[n, 2] r) {{ o, p, q, r = Loop {turned} (m, , x, w) }}"
    add(c, "loop_turned", text, [np.array(3), x, x + 7])
    text = f"""{head} g (float[2] x) => (float[n, 2] z) {{ most = Constant <value_int = 9> () s, q, r, t = Loop
        <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] v, float[2] e, float[2] f, float[2] h) {{ v = Add (s, s) e = Mul (s, s)
        f = Neg (e) h = Add (e, v) k = ReduceMax <keepdims = 0> (v) ten = Constant <value_float = 10.0> () on = Less (k, ten) }}> (most, , x)
        z = Concat <axis = 0> (q, r) }}"""
    add(c, "loop_joined", text, [x])
    for name, goes_on in ("always", "on = Constant <value = bool {1}> ()"), ("outside", "on = Identity (w)"), ("outside_not", "on = Not (w)"):
        body = f"<body = b (int64 i, bool go) => (bool on, float[2] v) {{ {goes_on} v = Softmax (x) }}>"  # reads neither i nor go
        text = f"{head} g (int64 m, bool w, float[2] x) => (float[n, 2] y) {{ y = Loop {body} (m, w) }}"
        add(c, f"loop_unread_{name}", text, [np.array(3), np.array(True), x])


def add_resized_loops(c):
    """States whose sizes change in every iteration."""
    head, x = '<ir_version: 9, opset_import: ["": 20]>', np.arange(6, dtype=np.float32).reshape(2, 3)
    for name, body in (
        ("longer", "f = CastLike (i, s) v = Add (x, f) t = Concat <axis = 0> (s, v)"),
        ("shorter", "one = Constant <value_ints = [1]> () far = Constant <value_ints = [99]> () t = Slice (s, one, far)"),
        ("twice", "t = Concat <axis = 0> (s, s)"),
        ("first", "k = Constant <value = float[4, 1] {1, 2, 3, 4}> () row = Constant <value_ints = [0]> () a = ReduceSum (s, row) t = Add (a, k)"),
    ):
        turned = LOOP.format("float[rows, 3] s", "float[more, 3] t, float[3] e",
                             f"{body} zero = Constant <value_ints = [0]> () e = ReduceSum <keepdims = 0> (t, zero)")
        for turns in 0, 1, 3:
            text = f"{head} g (int64 m, float[2, 3] x) => (float[o, 3] y, float[n, 3] z) {{ y, z = Loop {turned} (m, , x) }}"
            add(c, f"loop_{name}_{turns}", text, [np.array(turns), x])
    turned = LOOP.format("float[3, 3] s, float[2, 3] t", "float[3, 3] u, float[2, 3] v",
                         "one = Constant <value_ints = [1]> () far = Constant <value_ints = [99]> () u = Tanh (s) v = Slice (s, one, far)")
    text = f"{head} g (int64 m, float[3, 3] x, float[2, 3] y) => (float[3, 3] z, float[2, 3] w) {{ z, w = Loop {turned} (m, , x, y) }}"
    add(c, "loop_part_of_state", text, [np.array(2), np.vstack([x, x[:1]]), x])


def add_string_loops(c):
    words = np.array(["ab", "", "d\u00e9"], object)
    head = '<ir_version: 9, opset_import: ["": 20]>'
    say = LOOP.format("seq(string) u", "seq(string) v", "k = Cast <to = 8> (i) e = StringConcat (a, k) v = SequenceInsert (u, e)")
    text = f"{head} g (int64 m, string a) => (seq(string) t) {{ s = SequenceEmpty <dtype = 8> () t = Loop {say} (m, , s) }}"
    add(c, "string_loop", text, [np.array(12), np.array("no ", object)], [[np.array(f"no {i}", object) for i in range(12)]])
    text = f"""{head} g (bool c, string a) => (seq(string) t) {{ s = SequenceEmpty <dtype = 8> () t = Loop
        <body = b (int64 i, bool go, seq(string) u) => (bool on, seq(string) v) {{ three = Constant <value_int = 3> () on = Less (i, three)
        k = Cast <to = 8> (i) e = StringConcat (a, k) v = SequenceInsert (u, e) }}> ( , c, s) }}"""
    add(c, "string_loop_until", text, [np.array(True), np.array("no ", object)], [[np.array(f"no {i}", object) for i in range(4)]])
    longer = LOOP.format("string[n] u", "string[n] v", "v = StringConcat (u, a)")
    text = f"{head} g (int64 m, string[n] a, string[n] s) => (string[n] t) {{ t = Loop {longer} (m, , s) }}"
    add(c, "string_loop_longer", text, [np.array(4), words, words[::-1]], [words[::-1] + words * 4])
    inner = "Loop <body = b2 (int64 i2, bool go2, seq(string) u2) => (bool on2, seq(string) v2) { on2 = Identity (go2) " \
            "k = Add (i, i2) w = Cast <to = 8> (k) v2 = SequenceInsert (u2, w) }>"
    outer = LOOP.format("seq(string) u", "seq(string) v", f"v = {inner} (i, , u)")
    text = f"{head} g (int64 m) => (seq(string) t) {{ s = SequenceEmpty <dtype = 8> () t = Loop {outer} (m, , s) }}"
    add(c, "string_loop_nested", text, [np.array(4)], [[np.array(str(i + k), object) for i in range(4) for k in range(i)]])
    grow = LOOP.format("seq(string) u", "seq(string) v", """z = Constant <value_int = -1> () e = SequenceAt (u, z) f = StringConcat (e, a)
        v = SequenceInsert (u, f)""")
    text = f"{head} g (int64 m, string a) => (seq(string) t) {{ s = SequenceConstruct (a) t = Loop {grow} (m, , s) }}"
    add(c, "string_loop_grow", text, [np.array(3), words[2]], [[np.array(words[2] * (i + 1), object) for i in range(4)]])
    text = f"{head} g (string[n] a) => (string[n] t) {{ t = Scan <num_scan_inputs = 1, body = b (string u) => (string v) {{ v = StringConcat (u, u) }}> (a) }}"
    add(c, "string_scan", text, [words], [words * 2])
    text = f"""{head} g (string[n,1,2,3] a) => (string[n,1,1,4] t) {{ i = Constant <value_ints = [4]> () b = Constant <value_ints = [2]> ()
        t = Scan <num_scan_inputs = 1, body = b (string[1,2,3] u) => (string[1,1,4] w) {{ v = Col2Im (u, i, b) w = StringConcat (v, v) }}> (a) }}"""
    x = np.array([*"abcdef", *"ghijkl"], object).reshape(2, 1, 2, 3)
    add(c, "string_scan_blocks", text, [x], [2 * np.array(["a", "bd", "ce", "f", "g", "hj", "ik", "l"], object).reshape(2, 1, 1, 4)])
    text = f"""{head} g (seq(string[n]) a) => (seq(string[n]) t) {{ t = SequenceMap
        <body = b (string[n] u) => (string[n] v) {{ v = StringNormalizer <case_change_action = "UPPER"> (u) }}> (a) }}"""
    add(c, "string_map", text, [[words, words[:1], words[1:]]], [[np.array([w.upper() for w in x], object) for x in (words, words[:1], words[1:])]])
    text = f"""{head} g (bool c, string[n] a) => (string[n] t) {{ t = If (c) <then_branch = a () => (string[n] p) {{ p = StringConcat (a, a) }},
        else_branch = b () => (string[n] q) {{ e = StringConcat (a, a) q = StringConcat (e, a) }}> }}"""
    add(c, "string_if", text, [np.array(False), words], [words * 3])
