/* ml_tree.h - decision trees as tables: TreeEnsemble and its predecessors. */
#ifndef ONNXCC_ML_TREE_H
#define ONNXCC_ML_TREE_H
#include "rt.h"

/* x: (rows, features), y: (rows, targets), root: (trees), base: (targets) or NULL. Node i compares x[feature[i]] <=
 * value[i]: if true, link[i] is the next node, else i + 1. mode (NULL: all 0) is a set of TREE_EQUAL, the comparison is
 * ==, and TREE_MISSING, a NaN goes to link[i], too. feature[i] is negative at a leaf: with TREE_LEAF, value[i] is added
 * to target link[i]; with less, TREE_LEAF - 1 - feature[i] pairs of target and weight from link[i] on are added (both
 * lists are NULL if there are no such leaves). */
#define trees_PARAMS(X, V) X(idx, rows) X(idx, features) X(idx, trees) X(idx, targets) X(int, aggregate)
PARAMS(trees)

enum { TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX }; /* TreeEnsemble's numbers */
enum { TREE_LEAF = -1, TREE_EQUAL = 1, TREE_MISSING = 2 };
#define TREE_TYPE_f32 1
#define TREE_TYPE_f64 1
#define TREE_LINK_i16 1
#define TREE_LINK_i32 1
#endif

#if defined T && defined U
#if RT_TAKES(TREE_TYPE_, T) && RT_TAKES(TREE_LINK_, U)
HELPER void FN2(tree_count)(T *y, T v, int aggregate)
{
    *y = aggregate <= TREE_SUM ? *y + v : !(*y == *y) || (aggregate == TREE_MIN ? v < *y : v > *y) ? v : *y;
}

/* The leaf of x. */
HELPER idx FN2(tree_walk)(const T *x, idx i, const U *feature, const T *value, const U *link, const u8 *mode)
{
    while (feature[i] >= 0) {
        const T v = x[feature[i]];
        int yes = v <= value[i];
        if (mode && mode[i])
            yes = (mode[i] & TREE_EQUAL ? v == value[i] : yes) || (mode[i] & TREE_MISSING && v != v);
        i = yes ? link[i] : i + 1;
    }
    return i;
}

KERNEL void FN2(trees)(const T *x, const U *root, const U *feature, const T *value, const U *link, const u8 *mode,
                       const U *target, const T *weight, const T *base, T *y, struct trees p)
{
    for (idx r = 0; r < p.rows; r++, x += p.features, y += p.targets) {
        for (idx k = 0; k < p.targets; k++)
            y[k] = p.aggregate <= TREE_SUM ? 0 : (T)RT_NAN; /* nothing yet */
        for (idx t = 0; t < p.trees; t++) {
            const idx i = FN2(tree_walk)(x, root[t], feature, value, link, mode);
            if (feature[i] == TREE_LEAF)
                FN2(tree_count)(y + link[i], value[i], p.aggregate);
            for (idx k = link[i]; target && k < link[i] + TREE_LEAF - 1 - feature[i]; k++)
                FN2(tree_count)(y + target[k], weight[k], p.aggregate);
        }
        for (idx k = 0; k < p.targets; k++) {
            y[k] = p.aggregate == TREE_AVERAGE ? y[k] / (T)p.trees : p.aggregate == TREE_SUM || y[k] == y[k] ? y[k] : 0;
            y[k] += base ? base[k] : 0;
        }
    }
}
REGISTER_KERNEL2(trees, 10, 9, 0)
#endif
#endif
