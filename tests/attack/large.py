"""Models that are large, deep or repetitive: graphs that could take a compiler quadratic or exponential time, or exhaust its
stack. Each is written in the wire format directly. LARGE: name -> (bytes, arguments, expected part of the message or "").

usage: large.py NAME FILE       writes the model; by itself, as importing onnx takes longer"""
import pathlib
import sys

ONE_BYTE = [bytes([v]) for v in range(128)]


def varint(v):
    if 0 <= v < 128:
        return ONE_BYTE[v]
    out = b""
    v &= (1 << 64) - 1
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def field(number, payload):
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def numbered(n, message):
    """n messages, each with its number of 8 digits: message(digits) makes one."""
    mark = "#" * 8
    parts = message(mark).split(mark.encode())
    return b"".join((b"%08d" % i).join(parts) for i in range(n))


FLOAT, INT64, STRING, BOOL = 1, 7, 8, 9


def shape(dims):
    return b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)


def info(name, dims=None, elem=FLOAT):
    """A ValueInfoProto."""
    tensor = field(1, elem) + (b"" if dims is None else field(2, shape(dims)))
    return field(1, name) + field(2, field(1, tensor))


def tensor(name, dims, values=(), elem=FLOAT):
    import struct
    raw = struct.pack(f"<{len(values)}{'f' if elem == FLOAT else 'q'}", *values)
    return field(5, b"".join(field(1, d) for d in dims) + field(2, elem) + field(8, name) + field(9, raw))


def listed(name, field_number, payload, kind):
    """An attribute that is a list, its numbers packed."""
    return field(5, field(1, name) + field(field_number, payload) + field(20, kind))


def texts_listed(name, texts):
    return field(5, field(1, name) + field(20, 8) + b"".join(field(9, t) for t in texts))


def attr(name, value):
    if isinstance(value, int):
        return field(5, field(1, name) + field(3, value) + field(20, 2))
    if isinstance(value, str):
        return field(5, field(1, name) + field(4, value) + field(20, 3))
    return field(5, field(1, name) + field(6, value) + field(20, 5))    # a graph


def body(op, inputs, outputs, attrs=b"", domain=""):
    """A NodeProto."""
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) + attrs
            + (field(7, domain) if domain else b""))


def node(*args):
    return field(1, body(*args))


def graph(nodes, inputs=(), outputs=("y",), more=b""):
    return (field(2, "g") + b"".join(nodes) + b"".join(field(11, i) for i in inputs)
            + b"".join(field(12, o if isinstance(o, bytes) else info(o)) for o in outputs) + more)


def model(nodes, inputs=(info("x", [4]),), outputs=("y",), more=b"", functions=()):
    opsets = field(8, field(1, "") + field(2, 21)) + (field(8, field(1, "f") + field(2, 1)) if functions else b"")
    return field(1, 10) + opsets + field(7, graph(nodes, inputs, outputs, more)) + b"".join(field(25, f) for f in functions)


def function(name, nodes):
    """a -> b"""
    opsets = field(9, field(1, "") + field(2, 21)) + field(9, field(1, "f") + field(2, 1))
    return (field(1, name) + field(4, "a") + field(5, "b") + b"".join(field(7, n) for n in nodes) + opsets + field(10, "f"))


def chain(op, n, first="x", more=(), attrs=b"", last="y"):
    """n nodes, each reading the one before."""
    name = [first] + [f"v{i}" for i in range(1, n)] + [last]
    return [node(op, [name[i], *more], [name[i + 1]], attrs) for i in range(n)]


def tree(op, n):
    nodes, level, count = [], ["x"] * n, 0
    while len(level) > 1:
        above = []
        for i in range(0, len(level), 2):
            above.append(f"t{count}")
            nodes.append(node(op, level[i:i + 2], [above[-1]]))
            count += 1
        level = above
    return nodes + [node("Abs", level, ["y"])]


def doubling(depth):
    """Functions of which each calls the one before twice: 2^depth nodes."""
    return model([node(f"F{depth}", ["x"], ["y"], b"", "f")], functions=[function("F0", [body("Neg", ["a"], ["b"])])] + [
        function(f"F{i}", [body(f"F{i - 1}", ["a"], ["t"], b"", "f"), body(f"F{i - 1}", ["t"], ["b"], b"", "f")])
        for i in range(1, depth + 1)])


def doubling_if(depth):
    """The same through the branches of Ifs."""
    functions = [function("F0", [body("Neg", ["a"], ["b"])])]
    for i in range(1, depth + 1):
        branch = [graph([node(f"F{i - 1}", ["a"], [o], b"", "f")], (), (o,)) for o in "pq"]
        functions.append(function(f"F{i}", [
            body("ReduceMax", ["a"], ["s"], attr("keepdims", 0)), body("Cast", ["s"], ["c"], attr("to", BOOL)),
            body("If", ["c"], ["b"], attr("then_branch", branch[0]) + attr("else_branch", branch[1]))]))
    return model([node(f"F{depth}", ["x"], ["y"], b"", "f")], functions=functions)


def chained_functions(n):
    return model([node(f"F{n - 1}", ["x"], ["y"], b"", "f")], functions=[function("F0", [body("Neg", ["a"], ["b"])])] + [
        function(f"F{i}", [body(f"F{i - 1}", ["a"], ["b"], b"", "f")]) for i in range(1, n)])


def nested_if(depth):
    g = graph([node("Neg", ["x"], ["r0"])], (), ("r0",))
    for d in range(1, depth + 1):
        other = graph([node("Abs", ["x"], [f"e{d}"])], (), (f"e{d}",))
        g = graph([node("If", ["c"], [f"r{d}"], attr("then_branch", g) + attr("else_branch", other))], (), (f"r{d}",))
    return field(1, 10) + field(8, field(1, "") + field(2, 21)) + field(7, g + field(11, info("x", [4]))
                                                                        + field(11, info("c", [], BOOL)))


def nested_loop(depth):
    g = None
    for d in range(depth + 1):
        inner = (node("Loop", ["m", "", f"a{d}"], [f"o{d}"], attr("body", g)) if d else node("Neg", ["a0"], ["o0"]))
        g = graph([node("Identity", [f"k{d}"], [f"co{d}"]), inner],
                  (info(f"i{d}", [], INT64), info(f"k{d}", [], BOOL), info(f"a{d}", [4])),
                  (info(f"co{d}", [], BOOL), info(f"o{d}", [4])))
    return model([node("Loop", ["m", "", "x"], ["y"], attr("body", g))], (info("x", [4]), info("m", [], INT64)))


def nested_types(depth):
    t = field(1, field(1, FLOAT) + field(2, shape([4])))
    for _ in range(depth):
        t = field(4, field(1, t))
    return model([node("Identity", ["x"], ["y"])], (field(1, "x") + field(2, t),))


def ints(name, *values):
    return tensor(name, [len(values)], values, INT64)


def folded(nodes, more):
    """Constants that are computed when the model is compiled."""
    return model(nodes + [node("Add", ["x", "e"], ["y"])], (info("x", [1]),), more=more)


def symbolic_slices(n):
    nodes = []
    for i in range(n):
        at = f"v{i}" if i else "x"
        nodes += [node("Shape", [at], [f"s{i}"]), node("Div", [f"s{i}", "one"], [f"d{i}"]),
                  node("Slice", [at, "one", f"d{i}"], [f"w{i}"]), node("Concat", [f"w{i}", "x"], [f"v{i + 1}"], attr("axis", 0))]
    return model(nodes + [node("Abs", [f"v{n}"], ["y"])], (info("x", ["N"]),), more=ints("one", 1))


def matrices(n):
    """Each product reads the two before it: 2^n products if results are not kept."""
    nodes = [node("Abs", ["w"], ["v0"]), node("Neg", ["w"], ["v1"])]
    nodes += [node("MatMul", [f"v{i - 1}", f"v{i - 2}"], [f"v{i}" if i < n - 1 else "e"]) for i in range(2, n)]
    return folded(nodes, tensor("w", [150, 150], [.001] * 22500))


def heavy_product(n):
    nodes = [node("Expand", ["w", "s"], ["a"]), node("CumSum", ["a", "axis"], ["b"]), node("MatMul", ["b", "b"], ["e"])]
    return folded(nodes, tensor("w", [], [1]) + ints("s", n, n) + tensor("axis", [], [1], INT64))


def heavy_conv():
    nodes = [node("Expand", ["w", "s"], ["a"]), node("CumSum", ["a", "axis"], ["b"]),
             node("Expand", ["w", "t"], ["c"]), node("CumSum", ["c", "axis"], ["d"]), node("Conv", ["b", "d"], ["e"])]
    return folded(nodes, tensor("w", [], [1]) + ints("s", 1, 64, 400, 400) + ints("t", 128, 64, 7, 7)
                  + tensor("axis", [], [3], INT64))


def many_graphs(n):
    def branch(o):
        return graph([node("Neg", ["x"], [o])], (), (o,))
    ifs = [node("If", ["c"], [f"v{i}"], attr("then_branch", branch(f"t{i}")) + attr("else_branch", branch(f"e{i}")))
           for i in range(n)]
    return model(ifs + [node("Sum", [f"v{i}" for i in range(n)], ["y"])], (info("x", [4]), info("c", [], BOOL)))


def endless_loop():
    g = graph([node("Identity", ["k"], ["co"]), node("Neg", ["a"], ["o"]), node("Abs", ["a"], ["s"])],
              (info("i", [], INT64), info("k", [], BOOL), info("a", [4])),
              (info("co", [], BOOL), info("o", [4]), info("s", [4])))
    return model([node("Loop", ["m", "", "w"], ["q", "r"], attr("body", g)), node("Add", ["x", "q"], ["y"])],
                 outputs=("y", "r"), more=tensor("m", [], [1 << 40], INT64) + tensor("w", [4], [1, 2, 3, 4]))


def stacked(rank):
    """A loop with a scan output of this rank."""
    g = graph([node("Identity", ["k"], ["co"]), node("Neg", ["x"], ["s"])], (info("i", [], INT64), info("k", [], BOOL)),
              (info("co", [], BOOL), info("s", [1] * rank)))
    return model([node("Loop", ["m", ""], ["y"], attr("body", g))], (info("x", [1] * rank), info("m", [], INT64)))


def twice(n):
    names = ["x"] + [f"v{i}" for i in range(1, n)] + ["y"]
    return model([node("Concat", [names[i], names[i]], [names[i + 1]], attr("axis", 0)) for i in range(n)], (info("x", ["N"]),))


def nested(depth, numbers, inner):
    """Nested messages, by these field numbers from the innermost out."""
    heads, n = [], len(inner)
    for _ in range(depth):
        for number in numbers:
            heads.append(varint(number << 3 | 2) + varint(n))
            n += len(heads[-1])
    return b"".join(reversed(heads)) + inner


def sparse(dims, indices):
    import struct
    values = field(1, len(indices)) + field(2, FLOAT) + field(8, "w") + field(9, struct.pack(f"<{len(indices)}f", *indices))
    places = field(1, len(indices)) + field(2, INT64) + field(9, struct.pack(f"<{len(indices)}q", *indices))
    return field(15, field(1, values) + field(2, places) + b"".join(field(3, d) for d in dims))


def entries(number, n):
    return numbered(n, lambda i: field(number, field(1, "k" + i) + field(2, "v")))


def imports(domains):
    return b"".join(field(8, field(1, d) + field(2, 1)) for d in domains)


def labels(n):
    keys = texts_listed("keys_strings", (str(i) for i in range(n))) + listed("values_int64s", 8, b"\1" * n, 7)
    m = model([node("LabelEncoder", ["x"], ["v"], keys, "ai.onnx.ml"), node("Cast", ["v"], ["y"], attr("to", FLOAT))],
              (info("x", [4], STRING),))
    return m + field(8, field(1, "ai.onnx.ml") + field(2, 4))


def bound_outputs(n):
    """Training that binds every output of its graph."""
    algorithm = graph([node("Split", ["x"], [f"o{i}" for i in range(n)])], (), [f"o{i}" for i in range(n)])
    bindings = b"".join(field(4, field(1, "w") + field(2, f"o{i}")) for i in range(n))
    return model(chain("Abs", 1), more=tensor("w", [1], [1])) + field(20, field(2, algorithm) + bindings)


SQUARE = (info("x", [4, 4]),)
MILLION = 1000000
NEG = [body("Neg", ["a"], ["b"])]
N = 50000
LARGE = {
    "chain": (lambda: model(chain("Neg", 2 * N)), [], ""),
    "chain of kernels": (lambda: model(chain("Softmax", N)), [], ""),
    "chain of products": (lambda: model(chain("MatMul", N, more=["x"]), SQUARE), [], ""),
    "chain of views": (lambda: model(chain("Transpose", N), SQUARE), [], ""),
    "chain of slices": (lambda: model(chain("Slice", 20000, more=["a", "b", "a"]), more=ints("a", 0) + ints("b", 2)), [], ""),
    "chain of convolutions": (lambda: model(chain("Conv", 2000, more=["w"]), (info("x", [1, 4, 8, 8]),),
                                            more=tensor("w", [4, 4, 1, 1], [.1] * 16)), [], ""),
    "all alive at once": (lambda: model(
        chain("Softmax", 10000, last="v10000") + [node("Neg", ["v10000"], ["a1"])]
        + [node("MatMul", [f"a{i}", f"v{i}"], [f"a{i + 1}"]) for i in range(1, 9999)] + [node("Abs", ["a9999"], ["y"])],
        SQUARE), [], ""),
    "tree": (lambda: model(tree("Mul", 1 << 15)), [], ""),
    "tree of products": (lambda: model(tree("MatMul", 1 << 13), SQUARE), [], ""),
    "results without uses": (lambda: model([node("Neg", ["x"], [f"v{i}"]) for i in range(N)] + chain("Abs", 1)), [], ""),
    "the same again and again": (lambda: model([node("Abs", ["x"], [f"v{i}"]) for i in range(N)]
                                               + [node("Sum", [f"v{i}" for i in range(N)], ["y"])]), [], ""),
    "many inputs": (lambda: model([node("Sum", [f"x{i}" for i in range(5000)], ["y"])],
                                  [info(f"x{i}", [4]) for i in range(5000)]), [], ""),
    "many outputs": (lambda: model([node("Neg", ["x"], [f"v{i}"]) for i in range(5000)],
                                   outputs=[f"v{i}" for i in range(5000)]), [], ""),
    "a wide concat": (lambda: model([node("Softmax", ["x"], ["s"])] + [node("Concat", ["s"] * 10000 + ["x"], ["y"],
                                                                           attr("axis", 0))]), [], ""),
    "a wide split": (lambda: model([node("Split", ["x"], [f"v{i}" for i in range(5000)], attr("axis", 0)
                                         + attr("num_outputs", 5000)), node("Concat", [f"v{i}" for i in range(0, 5000, 2)],
                                                                            ["y"], attr("axis", 0))],
                                   (info("x", [5000]),)), [], ""),
    "a split into open sizes": (lambda: model([node("Split", ["x", "s"], [f"v{i}" for i in range(600)], attr("axis", 0))],
                                              (info("x", ["N", 3]), info("s", [600], INT64)),
                                              [f"v{i}" for i in range(600)]), ["--all-dims=<=4"], ""),
    "a sequence of open sizes": (lambda: model([node("SplitToSequence", ["x", "s"], ["y"], attr("axis", 0))],
                                               (info("x", ["N", "M", 3]), info("s", [600], INT64))), ["--all-dims=<=4"], ""),
    "a sequence of thousands of outputs": (lambda: model([node("SplitToSequence", ["x"], ["y"])], (info("x", [4096, "N"]),)),
                                           ["--all-dims=<=4"], ""),
    "the same sequence as several outputs": (lambda: model([node("SplitToSequence", ["x"], ["y"])], (info("x", [3000, "N"]),),
                                                           ["y"] * 100), ["--all-dims=<=4"], "more than 4096 outputs"),
    "a string out of thousands": (lambda: model([node("SplitToSequence", ["x"], ["s"]), node("SequenceAt", ["s", "z"], ["y"])],
                                                (info("x", [3000], STRING), info("z", [], INT64)),
                                                (info("y", [1], STRING),)), [], ""),
    "many graphs": (lambda: many_graphs(3000), [], ""),
    "graphs deep enough": (lambda: nested_if(98), [], ""),
    "loops deep enough": (lambda: nested_loop(97), ["--dim", "m<=4"], ""),
    "graphs too deep": (lambda: nested_if(5000), [], "graphs are nested more than 100 deep"),
    "types too deep": (lambda: nested_types(5000), [], "deep"),
    "empty initialisers": (lambda: model(chain("Abs", 1), more=numbered(200000, lambda i: tensor("w" + i, [0]))), [], ""),
    "more nodes than memory": (lambda: model(chain("Neg", 1000000)), [], "too large"),
    "doubling functions": (lambda: doubling(60), [], "functions expand to more"),
    "some doubling": (lambda: doubling(14), [], ""),
    "doubling branches": (lambda: doubling_if(60), [], "functions expand to more"),
    "a chain of functions": (lambda: chained_functions(9000), [], "nested more than 100 deep"),
    "constants in a chain": (lambda: folded(chain("Neg", 20000, "w", last="e"), tensor("w", [20000], [1.5] * 20000)), [], ""),
    "constants of constants": (lambda: matrices(60), [], ""),
    "a heavy constant product": (lambda: heavy_product(7000), [], "to compute the model's constants"),
    "a heavy constant convolution": (heavy_conv, [], "to compute the model's constants"),
    "a large constant": (lambda: folded([node("Expand", ["w", "s"], ["e"])],
                                        tensor("w", [2, 1], [1, 2]) + ints("s", 2, 500000000)), [], "more than onnxcc can fold"),
    "a constant range": (lambda: folded([node("Range", ["a", "b", "c"], ["e"])],
                                        tensor("a", [], [0]) + tensor("b", [], [1e12]) + tensor("c", [], [1])), [],
                         "more than onnxcc can fold"),
    "a loop without end": (endless_loop, [], ""),
    "many attributes": (lambda: model([node("Neg", ["x"], ["y"], b"".join(attr(f"a{i}", i) for i in range(N)))]), [],
                        "has no attribute"),
    "long names": (lambda: model([node("Neg", [f"v{i}" + "n" * 100000 if i else "x"],
                                       [f"v{i + 1}" + "n" * 100000 if i < 49 else "y"]) for i in range(50)]), [], ""),
    "names that become one": (lambda: model([
        node("Softmax", ["é_" + chr(0x4E00 + i // 1000) + chr(0x4E00 + i % 1000) if i else "x"],
             ["é_" + chr(0x4E00 + (i + 1) // 1000) + chr(0x4E00 + (i + 1) % 1000) if i < 20000 else "y"])
        for i in range(20001)]), [], ""),
    "sizes that double": (lambda: twice(3000), ["--dim", "N<=4"], "parts"),
    "sizes that grow": (lambda: symbolic_slices(300), ["--dim", "N<=4"], "parts"),
    "open sizes": (lambda: model([node("Concat", [f"x{i}" for i in range(2000)], ["y"], attr("axis", 0))],
                                 [info(f"x{i}", [f"N{i}"]) for i in range(2000)]), [], "SHP-11"),
    "many dimensions": (lambda: model(chain("Abs", 1), (info("x", [1] * N),)), [], "onnxcc allows 16"),
    "iterations of 16 dimensions": (lambda: stacked(16), ["--dim", "m<=4"], "more than 16 dimensions"),
    "iterations of 15 dimensions": (lambda: stacked(15), ["--dim", "m<=4"], ""),
    "pieces": (lambda: model([node("SplitToSequence", ["x"], ["s"]), node("SequenceAt", ["s", "z"], ["y"])],
                             (info("x", [1 << 30]),), more=tensor("z", [], [0], INT64)), [], "?"),
    "an einsum": (lambda: model([node("Einsum", ["x"] * 1000, ["y"], attr("equation", ",".join(["ab"] * 1000) + "->ab"))],
                                SQUARE), [], ""),
    "types declared": (lambda: model(chain("Abs", 1), more=b"".join(field(13, info(f"u{i}", [4, f"d{i}"]))
                                                                   for i in range(N))), [], ""),
    "ten million integers": (lambda: model([node("Abs", ["x"], ["y"], listed("axes", 8, b"\1" * 10 * MILLION, 7))]), [], "ATT-13"),
    "integers one by one": (lambda: model([node("Abs", ["x"], ["y"], field(5, field(1, "a") + field(20, 7) + field(8, 1) * 10 * MILLION))]),
                            [], "ATT-13"),
    "ten million floats": (lambda: model([node("Abs", ["x"], ["y"], listed("axes", 7, b"1234" * 10 * MILLION, 6))]), [], "ATT-13"),
    "ten million strings": (lambda: model([node("Abs", ["x"], ["y"], field(5, field(1, "a") + field(20, 8) + field(9, "a") * 10 * MILLION))]),
                            [], "ATT-13"),
    "more strings than fields": (lambda: model(chain("Abs", 1), more=field(5, field(2, STRING) + field(8, "w") + field(6, "a") * 20 * MILLION)),
                                 [], "PB-12"),
    "tensors as an attribute": (lambda: model([node("Abs", ["x"], ["y"], field(5, field(1, "a") + field(20, 9)
                                                                              + field(10, field(2, 1)) * MILLION))]), [], "?"),
    "graphs as an attribute": (lambda: model([node("Abs", ["x"], ["y"], field(5, field(1, "a") + field(20, 10)
                                                                             + field(11, field(2, "g")) * 5 * MILLION))]), [], "too large"),
    "a custom operator's integers": (lambda: model([node("Op", ["x"], ["y"], listed("axes", 8, b"\1" * MILLION, 7), "f")],
                                                   outputs=(info("y", [4]),)) + imports("f"), ["--custom-op", "f.Op"], ""),
    "a sparse tensor's far index": (lambda: model(chain("Abs", 1), more=sparse([1 << 40], [5, 1 << 39])), [], "SPA-06"),
    "a sparse tensor's farthest": (lambda: model(chain("Abs", 1), more=sparse([1 << 60], [5, 1 << 59])), [], "ENC-04"),
    "a sparse tensor's dimensions": (lambda: model(chain("Abs", 1), more=sparse([1] * MILLION, [0])), [], "onnxcc allows 16"),
    "a million dimensions": (lambda: model(chain("Abs", 1), (info("x", [1] * MILLION),)), [], "onnxcc allows 16"),
    "a million sizes": (lambda: model(chain("Abs", 1), (info("x", [f"d{i}" for i in range(MILLION)]),)), [], "onnxcc allows 16"),
    "a tensor's million dimensions": (lambda: model(chain("Abs", 1), more=field(5, field(1, b"\1" * MILLION) + field(2, 1) + field(8, "w"))),
                                      [], "onnxcc allows 16"),
    "nodes of nothing": (lambda: model([node("Abs", ["x"], ["y"])] + [field(1, b"")] * 20 * MILLION), [], "PB-12"),
    "a million nodes of nothing": (lambda: model([node("Abs", ["x"], ["y"])] + [field(1, b"")] * MILLION), [], "?"),
    "one node's million inputs": (lambda: model([field(1, field(1, "x") * MILLION + field(2, "y") + field(4, "Sum"))]), [], ""),
    "a million initialisers": (lambda: model(chain("Abs", 1), more=numbered(MILLION, lambda i: tensor("w" + i, [1], [1]))), [], "?"),
    "a million types": (lambda: model(chain("Abs", 1), more=numbered(MILLION, lambda i: field(13, info("u" + i, [4])))), [], "?"),
    "a million inputs": (lambda: model(chain("Abs", 1), more=numbered(MILLION, lambda i: field(11, info("x" + i, [4])))), [], "too large"),
    "a hundred thousand functions": (lambda: model(chain("Abs", 1), functions=[function(f"F{i}", NEG) for i in range(100000)]), [],
                                     "FUN-24"),
    "calls of many functions": (lambda: model([node(f"F{i % 9999}", ["x"], [f"v{i}"], b"", "f") for i in range(200000)] + chain("Abs", 1),
                                              functions=[function(f"F{i}", NEG) for i in range(9999)]), [], "?"),
    "every node an unknown operator": (lambda: model([node(f"Op{i}", ["x"], [f"v{i}"]) for i in range(200000)] + chain("Abs", 1)), [],
                                       "OPS-05"),
    "a function's long body": (lambda: model(chain("Abs", 1), functions=[function("F", NEG * MILLION)]), [], "GRA-04"),
    "doubling 40 times": (lambda: doubling(40), [], "functions expand to more"),
    "sequences of sequences": (lambda: model(chain("Identity", 1), (field(1, "x") + field(2, nested(MILLION, (1, 4), b"")),)), [], "PB-08"),
    "optionals of optionals": (lambda: model(chain("Identity", 1), (field(1, "x") + field(2, nested(MILLION, (1, 9), b"")),)), [], "PB-08"),
    "graphs of graphs": (lambda: field(1, 10) + field(8, field(2, 21)) + field(7, field(2, "g") + nested(100000, (6, 5, 1), field(2, "g"))),
                         [], "NOD-03"),
    "a name of 100 MB": (lambda: model([node("Neg", ["x"], ["n" * 100 * MILLION]), node("Neg", ["n" * 100 * MILLION], ["y"])]), [], ""),
    "a node's name of 100 MB in a report": (lambda: model([field(1, body("Neg", ["x"], ["y"]) + field(3, "n" * 100 * MILLION))]),
                                            ["--report=json"], ""),
    "an operator's name of 100 MB": (lambda: model([node("N" * 100 * MILLION, ["x"], ["y"])]), [], "OPS-05"),
    "a size's name of 100 MB": (lambda: model(chain("Abs", 1), (info("x", ["N" * 100 * MILLION]),)), [], "SHP-11"),
    "a string of 100 MB": (lambda: field(1, 10) + field(8, field(1, "") + field(2, 21)) + field(7, graph(
        [node("Concat", ["x", "w"], ["y"], attr("axis", 0))], (info("x", [1], STRING),), (info("y", [2], STRING),),
        field(5, field(1, 1) + field(2, STRING) + field(8, "w") + field(6, "a" * 100 * MILLION)))), ["--report"], ""),
    "an equation of 10 MB": (lambda: model([node("Einsum", ["x"], ["y"], attr("equation", "a" * 10 * MILLION + "->a"))]), [], "?"),
    "a doc string of 200 MB": (lambda: model(chain("Abs", 1)) + field(6, b"\1" * 200 * MILLION), [], ""),
    "metadata": (lambda: model(chain("Abs", 1)) + entries(14, 500000), [], ""),
    "metadata of a node": (lambda: model([node("Neg", ["x"], ["y"], entries(9, 500000))]), [], ""),
    "operator sets": (lambda: model(chain("Abs", 1)) + numbered(MILLION, lambda i: imports(["d" + i])), [], "operator sets are imported"),
    "labels": (lambda: labels(MILLION), [], ""),
    "bindings of outputs": (lambda: bound_outputs(200000), [], "TRN-10"),
}

if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_bytes(LARGE[sys.argv[1]][0]())
