"""Sequences and optionals of random programs: constructed, changed, concatenated, chosen by branches, carried by loops, mapped."""

from onnx import helper

from programs import MAX_DEPTH, B, F, Graph, I, Outside, Value, results_of, step, value_info


# ---- sequences ------------------------------------------------------------------------------------------------------------


@step(2)
def pieces(g):
    v = g.floats(1, 2)
    s = Value(g.program.name(), F, [None] * v.rank, True)
    by = g.do("Add", [g.number(2), g.constant(1)], (I, ()))
    g.nodes.append(helper.make_node("SplitToSequence", [v.name, by.name], [s.name], axis=0))
    add_sequence(g, s)


@step(2)
def collected(g):
    v = g.floats(1, 2)
    s = Value(g.program.name(), F, [None] * v.rank, True)
    others = [w for w in g.values if w.kind == F and w.rank == v.rank and not w.sequence and w.sizes[1:] == v.sizes[1:]]
    g.nodes.append(helper.make_node("SequenceConstruct", [v.name, *(g.m.one(others).name for _ in range(g.m.int(0, 2)))], [s.name]))
    add_sequence(g, s)


@step(2)
def from_sequence(g):
    fit = [v for v in g.values if v.sequence]
    if fit:
        read_sequence(g, g.m.one(fit))


def read_sequence(g, s):
    kind = g.m.one("at join length insert erase".split())
    place = g.constant(g.m.one([0, -1])) if g.m.chance(0.6) else g.constant(g.m.int(-2, 2)) if g.depth and g.m.chance(0.2) else g.number(2)
    if kind == "at":
        g.do("SequenceAt", [s, place], (F, [g.word() for _ in s.sizes]))
    elif kind == "join":
        g.do("ConcatFromSequence", [s], (F, [g.word() for _ in s.sizes]), axis=0)
    elif kind == "length":
        g.do("Cast", [g.do("SequenceLength", [s], (I, ()))], (F, ()), to=F)
    else:
        t, more = Value(g.program.name(), F, s.sizes, True), [g.floats(s.rank, s.rank).name] if kind == "insert" else []
        more += [place.name] if g.m.chance(0.5) else []
        g.nodes.append(helper.make_node("SequenceInsert" if kind == "insert" else "SequenceErase", [s.name, *more], [t.name]))
        add_sequence(g, t)


def add_sequence(g, s):
    g.values.append(s)
    if g.m.chance(0.8):
        read_sequence(g, s)


def one_of(g, condition, branch, arguments, rank, sequence):
    """The result of an If; branch(graph, name, argument) makes each of its graphs."""
    protos = {name: branch(Graph(g.program, g), name, a) for name, a in zip(("then_branch", "else_branch"), arguments)}
    y = Value(g.program.name(), F, [None] * rank, sequence)
    g.nodes.append(helper.make_node("If", [condition.name], [y.name], **protos))
    return y


@step(1)
def chosen(g):
    """A sequence whose length depends on a branch."""
    if g.depth == MAX_DEPTH:
        return
    v = g.floats(1, 2)

    def sequence(inside, branch, count):
        s = Value(g.program.name(), F, [None] * v.rank, True)
        inside.nodes.append(helper.make_node("SequenceConstruct", [inside.like(v).name for _ in range(count)], [s.name]))
        return inside.proto(branch, [], [s])

    add_sequence(g, one_of(g, g.condition(), sequence, (g.m.int(1, 2), g.m.int(1, 3)), v.rank, True))


@step(1)
def gathered(g):
    """A sequence that a loop extends in every iteration."""
    if g.depth == MAX_DEPTH:
        return
    v, turns = g.floats(1, 2), g.number(3)
    s = Value(g.program.name(), F, [None] * v.rank, True)
    g.nodes.append(helper.make_node("SequenceConstruct", [v.name], [s.name]))
    inside = Graph(g.program, g)
    turn, on, state = Value(g.program.name(), I, ()), Value(g.program.name(), B, ()), Value(g.program.name(), F, s.sizes, True)
    inside.values += [turn, on]
    inside.grow(g.m.int(0, 2))
    more = Value(g.program.name(), F, s.sizes, True)
    inside.nodes.append(helper.make_node("SequenceInsert", [state.name, inside.floats(v.rank, v.rank).name], [more.name]))
    body = inside.proto("body", [turn, on, state], [on, more])
    y = Value(g.program.name(), F, s.sizes, True)
    g.nodes.append(helper.make_node("Loop", [turns.name, "", s.name], [y.name], body=body))
    add_sequence(g, y)


@step(2)
def mapped(g):
    """SequenceMap from a sequence to one or two; the body reads outer tensors, and the elements of a second sequence."""
    fit = [v for v in g.values if v.sequence]
    if not fit or g.depth == MAX_DEPTH:
        return
    s = g.m.one(fit)
    more = [s if g.m.chance(0.3) else g.floats(0, 2) for _ in range(g.m.int(0, 1))]
    given = [Value(g.program.name(), F, [g.word() for _ in v.sizes] if v.sequence else v.sizes) for v in (s, *more)]
    inside = Graph(g.program, Outside(given[0]))
    inside.values, inside.depth = given[:], g.depth + 1
    inside.grow(g.m.int(0, 3))
    out = results_of(inside, [(F, g.m.int(1, 2)) for _ in range(g.m.int(1, 2))])
    body = inside.proto("body", given, out)
    made = [Value(g.program.name(), F, [None] * v.rank, True) for v in out]
    g.nodes.append(helper.make_node("SequenceMap", [v.name for v in (s, *more)], [v.name for v in made], body=body))
    for v in made:
        add_sequence(g, v)


# ---- optionals ------------------------------------------------------------------------------------------------------------


def type_of(v):
    t = helper.make_tensor_type_proto(v.kind, [None] * v.rank)
    return helper.make_sequence_type_proto(t) if v.sequence else t


def optional(g, v, full=True):
    """An optional of v's type, which holds v if `full`, otherwise no element."""
    o = Value(g.program.name(), v.kind, [None] * v.rank, v.sequence)
    g.nodes.append(helper.make_node("Optional", [v.name] if full else [], [o.name], **({} if full else {"type": type_of(v)})))
    return o


def read_optional(g, o):
    """Tests whether o has an element, or takes the element, or takes it in a branch only if there is one."""
    kind = g.m.one("has take guarded guarded".split())
    if kind != "take":
        has = g.do("OptionalHasElement", [o], (B, ()))
        if kind == "has" or o.sequence or g.depth == MAX_DEPTH:
            g.do("Cast", [has], (F, ()), to=F)
            return
        inside = Graph(g.program, g)
        x = inside.do("OptionalGetElement", [o], (F, [g.word() for _ in o.sizes]))
        otherwise = Graph(g.program, g)
        y = otherwise.identity(otherwise.floats(o.rank, o.rank))
        branches_of = {"then_branch": inside.proto("then_branch", [], [x]), "else_branch": otherwise.proto("else_branch", [], [y])}
        g.do("If", [has], (F, [g.word() for _ in o.sizes]), **branches_of)
    elif o.sequence:
        s = Value(g.program.name(), F, [None] * o.rank, True)
        g.nodes.append(helper.make_node("OptionalGetElement", [o.name], [s.name]))
        add_sequence(g, s)
    else:
        g.do("OptionalGetElement", [o], (F, [g.word() for _ in o.sizes]))


def add_optional(g, o):
    g.optionals.append(o)
    if g.m.chance(0.8):
        read_optional(g, o)


def held(g):
    fit = [v for v in g.values if v.sequence]
    return g.m.one(fit) if fit and g.m.chance(0.3) else g.floats(0, 2)


@step(1)
def wrapped(g):
    add_optional(g, optional(g, held(g)))


@step(1)
def from_optional(g):
    if g.optionals:
        read_optional(g, g.m.one(g.optionals))


@step(2)
def perhaps(g):
    """An optional that has an element or not, by a branch."""
    if g.depth == MAX_DEPTH:
        return
    v, condition = held(g), g.condition()
    full = g.m.int(1, 3)  # the branches in which it has one

    def part(inside, branch, has_element):
        o = optional(inside, v if v.sequence else inside.floats(v.rank, v.rank), has_element)
        return optional_graph(inside, branch, [], [o])

    add_optional(g, one_of(g, condition, part, (full & 1, full >> 1), v.rank, v.sequence))


@step(1)
def carried(g):
    """An optional that a loop carries: every iteration reads it, and replaces its element by another of the same sizes."""
    if g.depth == MAX_DEPTH:
        return
    v, turns = g.floats(1, 2), g.number(2)
    start = optional(g, v, g.m.chance(0.5))
    inside = Graph(g.program, g)
    turn, on, state = Value(g.program.name(), I, ()), Value(g.program.name(), B, ()), Value(g.program.name(), F, start.sizes)
    inside.values += [turn, on]
    inside.optionals.append(state)
    read_optional(inside, state)
    inside.grow(g.m.int(0, 2))
    more = optional(inside, inside.like(v))
    body = optional_graph(inside, "body", [turn, on, state], [inside.identity(on), more])
    o = Value(g.program.name(), F, start.sizes)
    g.nodes.append(helper.make_node("Loop", [turns.name, "", start.name], [o.name], body=body))
    add_optional(g, o)


def optional_graph(g, name, inputs, outputs):
    """A graph whose last input and last output are optionals."""
    declared = []
    for part in inputs, outputs:
        last = [helper.make_value_info(v.name, helper.make_optional_type_proto(type_of(v))) for v in part[-1:]]
        declared.append([value_info(v) for v in part[:-1]] + last)
    return helper.make_graph(g.nodes, name, *declared)
