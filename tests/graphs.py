"""Functions about the nodes of a model, for several tests."""


def names_read(node):
    """The values that a node reads, also in its graphs."""
    yield from node.input
    for a in node.attribute:
        for inner in a.g.node:
            yield from names_read(inner)
        yield from (v.name for v in a.g.output)
