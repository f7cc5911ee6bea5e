"""Prints, for each version of each operator, the number of official, older, own and random tests that use it, and the versions that no
test uses.

usage: coverage.py FOLDER...
"""

import collections
import glob
import os
import sys

import onnx


def versions():
    """{(domain, operator): its versions}"""
    of = collections.defaultdict(list)
    for s in onnx.defs.get_all_schemas_with_history():
        if not s.deprecated:
            of[s.domain, s.name].append(s.since_version)
    return {key: sorted(set(v)) for key, v in of.items()}


def nodes(graph):
    for node in graph.node:
        yield node
        for a in node.attribute:
            for g in [a.g, *a.graphs]:
                yield from nodes(g)


def used(path, known):
    """The (domain, operator, version) that a model uses."""
    model = onnx.load(path, load_external_data=False)
    imports = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import}
    found = set()
    for graph in [model.graph, *model.functions]:
        for node in graph.node if graph is not model.graph else nodes(graph):
            domain = "" if node.domain == "ai.onnx" else node.domain
            before = [v for v in known.get((domain, node.op_type), []) if v <= imports.get(domain, 1)]
            if before:
                found.add((domain, node.op_type, before[-1]))
    return found


def main():
    known = versions()
    columns = []
    for folder in sys.argv[1:]:
        count = collections.Counter()
        for path in glob.glob(os.path.join(folder, "**", "model.onnx"), recursive=True):
            count.update(used(path, known))
        columns.append((os.path.basename(folder), count))
    print(f"{'':<45}" + "".join(f"{name:>12}" for name, _ in columns))
    without = []
    for (domain, op), of in sorted(known.items()):
        for v in of:
            counts = [count[domain, op, v] for _, count in columns]
            print(f"{domain + '.' if domain else ''}{op} {v}".ljust(45) + "".join(f"{c:>12}" for c in counts))
            if not any(counts):
                without.append(f"{domain + '.' if domain else ''}{op}-{v}")
    total = sum(map(len, known.values()))
    print(f"\n{total - len(without)} of {total} versions have a test; without one: {' '.join(without)}")


main()
