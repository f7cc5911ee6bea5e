/* ml_forest.c - reads decision trees: of versions 1 and 3, by ids of trees and nodes; of version 5, by indices. */
#include <math.h>
#include <stdlib.h>

#include "ml_forest.h"

static bool report_bad_index(Node *n, const char *what, int64_t i)
{
    return node_error(n, "%s[%lld] does not suit the other attributes", what, (long long)i);
}

/* Reads a list of integers; returns its length. */
static int64_t ints(Node *n, const char *attr, const int64_t **v)
{
    int k = attr_is_given(n, attr) ? attr_ints(n, attr, v) : -1;
    return k < 0 ? 0 : k;
}

int64_t forest_numbers(Node *n, const char *attr, double **v)
{
    char other[64];
    const float *f;
    snprintf(other, sizeof other, "%s_as_tensor", attr);
    const Attr *a = node_attr(n, other), *list = node_attr(n, attr);
    const Tensor *t = a && a->type == A_TENSOR ? a->t : list && list->type == A_TENSOR ? list->t : NULL;
    int64_t k = t ? tensor_count(t) : list && list->type == A_FLOATS ? attr_floats(n, attr, &f) : 0;
    *v = NEWS(double, k + 1);
    for (int64_t i = 0; i < k; i++)
        (*v)[i] = t ? tensor_get(t, i) : (double)f[i];
    return k;
}

static bool is_double(Node *n, const char *attr)
{
    const Attr *a = node_attr(n, attr);
    return a && a->type == A_TENSOR && a->t->type == F64;
}

/* Is a node its own descendant? Removes nodes without parents until none is left. */
static bool check_cycles(Node *n, const Forest *f)
{
    int64_t *parents = NEWS(int64_t, f->n + 1), *ready = NEWS(int64_t, f->n + 1), k = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (f->node[i].mode != LEAF) {
            parents[f->node[i].yes]++;
            parents[f->node[i].no]++;
        }
    for (int64_t i = 0; i < f->n; i++)
        if (!parents[i])
            ready[k++] = i;
    for (int64_t at = 0; at < k; at++) {
        const Tree *t = &f->node[ready[at]];
        if (t->mode == LEAF)
            continue;
        if (--parents[t->yes] == 0)
            ready[k++] = t->yes;
        if (--parents[t->no] == 0)
            ready[k++] = t->no;
    }
    return k == f->n || node_error(n, "its nodes form a cycle");
}

/* ---- versions 1 and 3: nodes identified by the ids of tree and node ---------------------------------------------- */

typedef struct Key {
    int64_t tree, node, at;
} Key;

static int compare_keys(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    return x->tree != y->tree ? (x->tree < y->tree ? -1 : 1) : x->node != y->node ? (x->node < y->node ? -1 : 1) : 0;
}

static int64_t find_node(const Key *keys, int64_t n, int64_t tree, int64_t node)
{
    const Key *k = bsearch(&(Key){.tree = tree, .node = node}, keys, (size_t)n, sizeof *keys, compare_keys);
    return k ? k->at : -1;
}

static int mode_of(Node *n, Name s)
{
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
    for (int m = 0; m <= LEAF; m++)
        if (name_is(s, modes[m]) && *modes[m])
            return m;
    node_error(n, "a node has the mode '%s'", printable(s));
    return LEAF;
}

/* The root of a tree is the first of its nodes in the lists. */
static void find_roots(Forest *f, const Key *keys)
{
    bool *is_root = NEWS(bool, f->n + 1);
    for (int64_t i = 0; i < f->n;) {
        int64_t tree = keys[i].tree, first = keys[i].at;
        for (; i < f->n && keys[i].tree == tree; i++)
            first = keys[i].at < first ? keys[i].at : first;
        is_root[first] = true;
    }
    for (int64_t i = 0; i < f->n; i++)
        if (is_root[i])
            f->root[f->n_roots++] = i;
}

/* Reads the lists of nodes; false: wrong, reported. */
static bool read_nodes(Node *n, Forest *f, const Key *keys, const int64_t *trees)
{
    const int64_t *feature, *yes, *no, *missing = NULL;
    const Name *modes;
    double *split;
    int64_t n_missing = ints(n, "nodes_missing_value_tracks_true", &missing);
    if (ints(n, "nodes_featureids", &feature) != f->n || ints(n, "nodes_truenodeids", &yes) != f->n ||
        ints(n, "nodes_falsenodeids", &no) != f->n || attr_strings(n, "nodes_modes", &modes) != f->n ||
        forest_numbers(n, "nodes_values", &split) != f->n || (n_missing && n_missing != f->n))
        return node_error(n, "the lists of nodes differ in length");
    for (int64_t i = 0; i < f->n; i++) {
        Tree *t = &f->node[i];
        *t = (Tree){
            .mode = mode_of(n, modes[i]), .feature = feature[i], .split = split[i], .missing = n_missing && missing[i]};
        if (t->mode == LEAF)
            continue;
        t->yes = find_node(keys, f->n, trees[i], yes[i]);
        t->no = find_node(keys, f->n, trees[i], no[i]);
        if (t->yes < 0 || t->no < 0)
            return report_bad_index(n, t->yes < 0 ? "nodes_truenodeids" : "nodes_falsenodeids", i);
    }
    find_roots(f, keys);
    return true;
}

/* Reads the lists of leaves, class_... or target_..., sorted by leaf. */
static bool read_leaves(Node *n, Forest *f, const Key *keys, const char *kind)
{
    char attr[4][32];
    const int64_t *trees, *nodes, *targets;
    double *weights;
    static const char *const lists[] = {"treeids", "nodeids", "ids", "weights"};
    for (int i = 0; i < 4; i++)
        snprintf(attr[i], sizeof attr[i], "%s_%s", kind, lists[i]);
    int64_t k = ints(n, attr[0], &trees);
    if (ints(n, attr[1], &nodes) != k || ints(n, attr[2], &targets) != k || forest_numbers(n, attr[3], &weights) != k)
        return node_error(n, "the lists %s_... differ in length", kind);
    int64_t *leaf = NEWS(int64_t, k + 1);
    for (int64_t i = 0; i < k; i++) {
        leaf[i] = find_node(keys, f->n, trees[i], nodes[i]);
        if (leaf[i] < 0)
            return report_bad_index(n, attr[1], i);
        if (targets[i] < 0 || targets[i] >= f->targets)
            return report_bad_index(n, attr[2], i);
        f->node[leaf[i]].n++;
    }
    for (int64_t i = 0, at = 0; i < f->n; i++) {
        f->node[i].first = at;
        at += f->node[i].n;
        if (f->node[i].mode != LEAF) /* its entries are not used */
            f->node[i].n = 0;
    }
    int64_t *next = NEWS(int64_t, f->n + 1);
    f->target = NEWS(int64_t, k + 1);
    f->weight = NEWS(double, k + 1);
    f->n_entries = k;
    for (int64_t i = 0; i < k; i++) {
        int64_t to = f->node[leaf[i]].first + next[leaf[i]]++;
        f->target[to] = targets[i];
        f->weight[to] = weights[i];
    }
    return true;
}

bool forest_read(Node *n, Forest *f, const char *kind)
{
    const int64_t *trees, *nodes;
    f->n = ints(n, "nodes_treeids", &trees);
    if (ints(n, "nodes_nodeids", &nodes) != f->n)
        return node_error(n, "the lists of nodes differ in length");
    Key *keys = NEWS(Key, f->n + 1);
    for (int64_t i = 0; i < f->n; i++)
        keys[i] = (Key){trees[i], nodes[i], i};
    qsort(keys, (size_t)f->n, sizeof *keys, compare_keys);
    for (int64_t i = 1; i < f->n; i++)
        if (compare_keys(&keys[i - 1], &keys[i]) == 0)
            return report_bad_index(n, "nodes_nodeids", keys[i].at);
    f->node = NEWS(Tree, f->n + 1);
    f->root = NEWS(int64_t, f->n + 1);
    f->type = in_type(n, 0) == F64 || is_double(n, "nodes_values_as_tensor") ? F64 : F32;
    return read_nodes(n, f, keys, trees) && check_cycles(n, f) && read_leaves(n, f, keys, kind);
}

/* ---- version 5: nodes and leaves identified by index ------------------------------------------------------------- */

/* Reads the sets, which are concatenated, each followed by a NaN. */
static bool read_sets(Node *n, Forest *f, int64_t nodes)
{
    double *v;
    int64_t k = forest_numbers(n, "membership_values", &v), at = 0;
    for (int64_t i = 0; i < nodes; i++) {
        Tree *t = &f->node[i];
        if (t->mode != MEMBER)
            continue;
        for (t->set = v + at; at < k && !isnan(v[at]); at++)
            t->n++;
        if (at++ >= k)
            return report_bad_index(n, "nodes_modes", i);
    }
    return true;
}

bool forest_read_5(Node *n, Forest *f)
{
    const int64_t *feature, *yes, *no, *yes_leaf, *no_leaf, *missing = NULL, *root, *target;
    double *split, *modes;
    int64_t k = ints(n, "nodes_featureids", &feature), n_missing = ints(n, "nodes_missing_value_tracks_true", &missing);
    f->n_roots = ints(n, "tree_roots", &root);
    f->n_entries = ints(n, "leaf_targetids", &target);
    if (ints(n, "nodes_truenodeids", &yes) != k || ints(n, "nodes_falsenodeids", &no) != k ||
        ints(n, "nodes_trueleafs", &yes_leaf) != k || ints(n, "nodes_falseleafs", &no_leaf) != k ||
        forest_numbers(n, "nodes_modes", &modes) != k || forest_numbers(n, "nodes_splits", &split) != k ||
        (n_missing && n_missing != k) || forest_numbers(n, "leaf_weights", &f->weight) != f->n_entries)
        return node_error(n, "the lists of nodes or leaves differ in length");
    f->n = k + f->n_entries;
    f->node = NEWS(Tree, f->n + 1);
    f->root = NEWS(int64_t, f->n_roots + 1);
    f->target = NEWS(int64_t, f->n_entries + 1);
    f->type = in_type(n, 0) == F64 || is_double(n, "nodes_splits") ? F64 : F32;
    for (int64_t i = 0; i < f->n_roots; i++)
        if ((f->root[i] = root[i]) < 0 || root[i] >= k)
            return report_bad_index(n, "tree_roots", i);
    for (int64_t i = 0; i < f->n_entries; i++) {
        if ((f->target[i] = target[i]) < 0 || target[i] >= f->targets)
            return report_bad_index(n, "leaf_targetids", i);
        f->node[k + i] = (Tree){.mode = LEAF, .first = i, .n = 1};
    }
    for (int64_t i = 0; i < k; i++) {
        if (yes[i] < 0 || yes[i] >= (yes_leaf[i] ? f->n_entries : k))
            return report_bad_index(n, "nodes_truenodeids", i);
        if (no[i] < 0 || no[i] >= (no_leaf[i] ? f->n_entries : k))
            return report_bad_index(n, "nodes_falsenodeids", i);
        if (modes[i] < LEQ || modes[i] > MEMBER)
            return report_bad_index(n, "nodes_modes", i);
        f->node[i] = (Tree){.mode = (int)modes[i],
                            .feature = feature[i],
                            .split = split[i],
                            .missing = n_missing && missing[i],
                            .yes = yes_leaf[i] ? k + yes[i] : yes[i],
                            .no = no_leaf[i] ? k + no[i] : no[i]};
    }
    return read_sets(n, f, k) && check_cycles(n, f);
}
