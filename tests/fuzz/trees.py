"""Random models of trees: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier."""

import dataclasses

import numpy as np
import onnx
from onnx import numpy_helper

from operators import F32, F64, ML, Case, family

MODES = "BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ".split()
POSTS = "NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT".split()
LABELS = [4, 2, 9, 1], ["a", "bb", "", "\u00e9"]


def samples(m, features, missing, types):
    """Inputs that are multiples of 1/4, so that they often equal a node's split value."""
    x = m.rng.integers(-8, 9, (m.int(1, 5), features)) / 4
    return np.where(m.rng.random(x.shape) < 0.2 * missing, np.nan, x).astype(m.one(types))


def weights(m, n, post):
    """Random weights of n leaves, or n base values, from 0 to 1 for PROBIT, which is defined only there."""
    return [float(v) for v in m.array(F32, (n,), low=0.0 if post == "PROBIT" else -1.0, high=0.15 if post == "PROBIT" else 1.0)]


def with_text(case):
    """The case for ONNX Runtime, where a NaN differs from everything, while by the specification missing_value_tracks_true decides:
    BRANCH_EQ with exchanged branches is equivalent, and correct there."""
    attrs = dict(case.attrs)
    if "nodes_missing_value_tracks_true" not in attrs:
        return case
    attrs.update(case.same.attrs if case.same else {})
    modes = attrs["nodes_modes"]
    if isinstance(modes, list):
        other = [mode == "BRANCH_NEQ" for mode in modes]
        attrs["nodes_modes"] = ["BRANCH_EQ" if turn else mode for mode, turn in zip(modes, other)]
    else:
        modes = numpy_helper.to_array(modes)
        other = modes == 5
        attrs["nodes_modes"] = numpy_helper.from_array(np.where(other, 4, modes).astype(np.uint8))
    for yes, no in ("truenodeids", "falsenodeids"), ("trueleafs", "falseleafs"):
        if f"nodes_{yes}" in attrs:
            pairs = [(b, a) if turn else (a, b) for a, b, turn in zip(attrs[f"nodes_{yes}"], attrs[f"nodes_{no}"], other)]
            attrs[f"nodes_{yes}"], attrs[f"nodes_{no}"] = map(list, zip(*pairs))
    tracks = attrs["nodes_missing_value_tracks_true"]
    attrs["nodes_missing_value_tracks_true"] = [1 - t if turn else t for t, turn in zip(tracks, other)]
    return dataclasses.replace(case, same=dataclasses.replace(case, attrs=attrs, same=None))


def unshared(attrs, kind):
    """The same trees with one parent per node, for ONNX Runtime, which accepts few shared nodes."""
    lists = [name for name in attrs if name.startswith("nodes_")]
    entries = [f"{kind}_{name}" for name in ("treeids", "nodeids", "ids", "weights")]
    at = {key: i for i, key in enumerate(zip(attrs["nodes_treeids"], attrs["nodes_nodeids"]))}
    new = {name: [] for name in lists + entries}

    def copy(tree, node):
        i, place = at[tree, node], len(new["nodes_nodeids"])
        for name in lists:
            new[name].append(attrs[name][i])
        new["nodes_nodeids"][place] = place
        for entry in zip(*(attrs[name] for name in entries)):
            if entry[:2] == (tree, node):
                for name, v in zip(entries, (tree, place, *entry[2:])):
                    new[name].append(v)
        if attrs["nodes_modes"][i] != "LEAF":
            for name in "nodes_truenodeids", "nodes_falsenodeids":
                new[name][place] = copy(tree, attrs[name][i])
        return place

    for tree in dict.fromkeys(attrs["nodes_treeids"]):
        copy(tree, attrs["nodes_nodeids"][attrs["nodes_treeids"].index(tree)])
    return {**attrs, **new}


def unshared_5(attrs, sets):
    """The same for version 5. sets: the members of each node's set."""
    lists = [name for name in attrs if name.startswith("nodes_")]
    arrays = {name: numpy_helper.to_array(a) for name, a in attrs.items() if isinstance(a, onnx.TensorProto)}
    old = {name: arrays.get(name, attrs[name]) for name in [*lists, "leaf_targetids", "leaf_weights"]}
    new, members = {name: [] for name in old}, []

    def copy_leaf(i):
        for name in "leaf_targetids", "leaf_weights":
            new[name].append(old[name][i])
        return len(new["leaf_weights"]) - 1

    def copy(i):
        place = len(new["nodes_modes"])
        for name in lists:
            new[name].append(old[name][i])
        if i in sets:
            members.extend((*sets[i], np.nan))
        for way in "true", "false":
            child, leaf = old[f"nodes_{way}nodeids"][i], old[f"nodes_{way}leafs"][i]
            new[f"nodes_{way}nodeids"][place] = copy_leaf(child) if leaf else copy(child)
        return place

    roots = [copy(i) for i in attrs["tree_roots"]]
    new = {name: numpy_helper.from_array(np.array(v, arrays[name].dtype)) if name in arrays else v for name, v in new.items()}
    if members:
        new["membership_values"] = numpy_helper.from_array(np.array(members, arrays["membership_values"].dtype))
    return {**attrs, **new, "tree_roots": roots}


@family(4)
def of_nodes(m):
    """Versions 1 and 3: a list of nodes, some of which are leaves, and a list of the leaves' weights."""
    kind = m.one(["target", "class"])
    features, targets, missing, post = m.int(1, 5), m.int(1, 4), m.chance(0.3), m.one(POSTS)
    each = m.chance(0.4)  # the tree has one target
    modes, nodes, leaves = m.one([MODES, [m.one(MODES)]]), [], []
    shares, done = m.chance(0.3), []  # nodes may have several parents

    def grow(tree, left):
        known = [node for of, node in done if of == tree]
        if known and shares and m.chance(0.4):
            return m.one(known)
        at = sum(n[0] == tree for n in nodes)
        leaf = left == 0 or m.chance(0.2)
        node = [tree, at, "LEAF" if leaf else m.one(modes), m.int(0, features - 1), m.int(-4, 4) / 2, 0, 0, m.int(0, 1)]
        nodes.append(node)
        if leaf:
            leaves.extend((tree, at, t) for t in range(targets) if not each or t == tree % targets)
        else:
            node[5:7] = grow(tree, left - 1), grow(tree, left - 1)
        done.append((tree, at))
        return at

    for tree in range(m.int(1, 2) * targets if each else m.int(1, 3)):
        grow(tree, m.int(1, 3))
    lists = "treeids nodeids modes featureids values truenodeids falsenodeids".split() + ["missing_value_tracks_true"] * missing
    attrs = {f"nodes_{name}": [n[i] for n in nodes] for i, name in enumerate(lists)}
    attrs.update({f"{kind}_{name}": [v[i] for v in leaves] for i, name in enumerate(("treeids", "nodeids", "ids"))})
    attrs.update({f"{kind}_weights": weights(m, len(leaves), post), "post_transform": post})
    if m.chance(0.3):
        attrs["base_values"] = weights(m, targets, post)
    x = samples(m, features, missing, [F32, F32, F64, np.int64] if not missing else [F32, F64])

    def case_of(op, wanted):
        same = Case(op, [x], unshared(attrs, kind), wanted=wanted, domain=ML) if shares else None
        return Case(op, [x], attrs, wanted=wanted, domain=ML, until=3, same=same)

    if kind == "target":
        attrs.update(n_targets=targets, aggregate_function=m.one("SUM AVERAGE MIN MAX".split()))
        return with_text(case_of("TreeEnsembleRegressor", (0,)))
    labels = m.one(LABELS)[: max(2, targets)]  # two of one target: below and above the middle
    attrs["classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"] = labels
    return with_text(case_of("TreeEnsembleClassifier", (0, 1)))


@family(4)
def ensemble(m):
    """Version 5: inner nodes, leaves of one weight each, and sets of members."""
    features, targets, missing, post = m.int(1, 5), m.int(1, 4), m.chance(0.3), m.int(0, 4)
    kinds = m.one([[m.int(0, 5)], range(6), range(7)])
    x = samples(m, features, missing, [F32, F32, F64])
    nodes, leaves, sets = [], [], {}
    shares, done = m.chance(0.3), []  # nodes and leaves may have several parents

    def grow(left):
        if done and shares and m.chance(0.4):
            return m.one(done)
        if left == 0:
            leaves.append(m.int(0, targets - 1))
            done.append((len(leaves) - 1, 1))
            return done[-1]
        at, mode = len(nodes), m.one(kinds)
        nodes.append(None)
        if mode == 6:
            sets[at] = [float(v) / 4 for v in m.rng.choice(np.arange(1, 9), m.int(1, 3), replace=False)]
        split = 0 if mode == 6 else m.int(-4, 4) / 2
        ways = [v for _ in "yn" for v in grow(0 if m.chance(0.2) else left - 1)]
        nodes[at] = (mode, split, m.int(0, features - 1), m.int(0, 1), *ways)
        done.append((at, 0))
        return done[-1]

    def tensor(values, kind=x.dtype):
        return numpy_helper.from_array(np.array(values, kind))

    roots = []
    for _ in range(m.int(1, 3)):
        at, leaf = grow(m.int(1, 3))
        roots += [] if leaf else [at]
    lists = "featureids missing_value_tracks_true truenodeids trueleafs falsenodeids falseleafs".split()
    attrs = {f"nodes_{name}": [n[i + 2] for n in nodes] for i, name in enumerate(lists) if missing or i != 1}
    attrs.update(tree_roots=roots, n_targets=targets, post_transform=post, aggregate_function=m.int(0, 3), leaf_targetids=leaves,
                 nodes_modes=tensor([n[0] for n in nodes], np.uint8), nodes_splits=tensor([n[1] for n in nodes]),
                 leaf_weights=tensor(weights(m, len(leaves), POSTS[post])))
    if sets:
        attrs["membership_values"] = tensor([v for at in sorted(sets) for v in (*sets[at], np.nan)])
    post = {1: 2, 2: 1}.get(post, post)  # ONNX Runtime has exchanged the numbers of SOFTMAX and LOGISTIC
    swapped = {**(unshared_5(attrs, sets) if shares else attrs), "post_transform": post}
    return with_text(Case("TreeEnsemble", [x], attrs, domain=ML, version=5, same=Case("TreeEnsemble", [x], swapped, domain=ML, version=5)))
