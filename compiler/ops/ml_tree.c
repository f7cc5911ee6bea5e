/* ml_tree.c - TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor: trees become tables for one kernel. */
#include <math.h>

#include "ir/call.h"
#include "ml.h"
#include "ml_forest.h"
#include "ml_tree.h"

/* ---- the tables ------------------------------------------------------------------------------------------------- */

typedef struct Tables {
    VEC(int64_t) root;
    VEC(int64_t) feature;
    VEC(double) value;
    VEC(int64_t) link;
    VEC(int64_t) mode;
    VEC(struct Todo {
        int64_t node, from, n;
    }) todo;           /* nodes to be put, and the `n` rows from `from` on that link to them */
    bool modes, lists; /* some mode is not 0; some leaf has not exactly one entry */
} Tables;

static void put_row(Tables *t, int64_t feature, double value, int64_t link, int64_t mode)
{
    vec_push(&t->feature, feature);
    vec_push(&t->value, value);
    vec_push(&t->link, link);
    vec_push(&t->mode, mode);
    t->modes |= mode != 0;
}

/* The next smaller number of the type: x < v is x <= before(v). */
static double before(double v, Type t)
{
    return v == -INFINITY ? (double)NAN : t == F64 ? nextafter(v, -INFINITY) : (double)nextafterf((float)v, -INFINITY);
}

static void put_leaf(Tables *t, const Forest *f, Tree *x)
{
    x->row = t->feature.n + 1;
    t->lists |= x->n != 1;
    if (x->n == 1)
        put_row(t, TREE_LEAF, f->weight[x->first], f->target[x->first], 0);
    else
        put_row(t, TREE_LEAF - 1 - x->n, 0, x->first, 0);
}

/* Puts a node as rows: every mode becomes a comparison by <= or ==, a set a row per value. Returns the successor that
 * follows the rows; the other one is added to `todo`. */
static int64_t put_split(Tables *t, const Forest *f, const Tree *x)
{
    bool negated = x->mode == GT || x->mode == GTE || x->mode == NEQ; /* the complement, with yes and no exchanged */
    int mode = x->mode == EQ || x->mode == NEQ || x->mode == MEMBER ? TREE_EQUAL : 0;
    mode |= negated != x->missing ? TREE_MISSING : 0;
    double split = x->mode == LT || x->mode == GTE ? before(x->split, f->type) : x->split;
    struct Todo later = {negated ? x->no : x->yes, t->feature.n, x->mode == MEMBER ? x->n : 1};
    if (later.n == 0) { /* an empty set: no value is a member, except a NaN if `missing` */
        later.n = 1;
        split = (double)NAN;
    }
    for (int64_t i = 0; i < later.n; i++)
        put_row(t, x->feature, x->mode == MEMBER && x->n ? x->set[i] : split, 0, mode);
    vec_push(&t->todo, later);
    return negated ? x->yes : x->no;
}

/* An unconditional jump to row `to`: every value, NaN too, is at most infinity. */
static void put_jump(Tables *t, int64_t feature, int64_t to) { put_row(t, feature, INFINITY, to, TREE_MISSING); }

/* The row of a node; the next row if it is not put yet. */
static int64_t row_of(const Tables *t, const Tree *x) { return x->row ? x->row - 1 : t->feature.n; }

/* Puts a tree in depth-first order: one successor of a node follows it, a link leads to the other one. A node with
 * several parents is put once; where it should follow another parent, a jump leads to it. False: wrong, reported. */
static bool put_tree(Node *n, Tables *t, Forest *f, int64_t root)
{
    vec_push(&t->root, row_of(t, &f->node[root]));
    vec_push(&t->todo, ((struct Todo){root, 0, 0}));
    while (t->todo.n) {
        struct Todo next = t->todo.at[--t->todo.n];
        Tree *x = &f->node[next.node], *parent = NULL;
        for (int64_t i = 0; i < next.n; i++)
            t->link.at[next.from + i] = row_of(t, x);
        if (x->row)
            continue;
        for (; x->mode != LEAF && !x->row; parent = x, x = &f->node[put_split(t, f, x)]) {
            if (x->feature < 0 || x->feature > INT32_MAX)
                return node_error(n, "a node tests feature %lld", (long long)x->feature);
            x->row = t->feature.n + 1;
        }
        if (x->mode == LEAF)
            put_leaf(t, f, x);
        else
            put_jump(t, parent->feature, x->row - 1);
    }
    return true;
}

static Value *int_table(Node *n, const char *what, Type t, int64_t k, const int64_t *v)
{
    Tensor *x = tensor_new(t, 1, &k);
    void *to = (void *)(uintptr_t)x->data;
    for (int64_t i = 0; i < k; i++)
        if (t == I16)
            ((int16_t *)to)[i] = (int16_t)v[i];
        else if (t == I32)
            ((int32_t *)to)[i] = (int32_t)v[i];
        else
            ((uint8_t *)to)[i] = (uint8_t)v[i];
    Value *c = value_const(n->graph, x);
    c->name = name_format("tree_%s", what);
    return c;
}

static Value *float_table(Node *n, const char *what, Type t, int64_t k, const double *v)
{
    return ml_floats(n, name_format("tree_%s", what)->s, t, 1, &k, v);
}

static Type index_type(const Tables *t, const Forest *f)
{
    int64_t max = f->n_entries > t->feature.n ? f->n_entries : t->feature.n;
    EACH_OF (feature, t->feature) {
        int64_t v = feature < 0 ? -feature : feature;
        max = v > max ? v : max;
    }
    max = f->targets > max ? f->targets : max;
    return max <= INT16_MAX ? I16 : I32;
}

/* The sums over the trees for every row of x and every target; NULL: wrong, reported. */
static Value *make_trees(Node *n, Forest *f, int aggregate, Value *base)
{
    Tables t = {0};
    for (int64_t i = 0; i < f->n_roots; i++)
        if (!put_tree(n, &t, f, f->root[i]))
            return NULL;
    Type u = index_type(&t, f);
    int64_t k = t.feature.n;
    Value *in[] = {make_cast(n, n->in[0], f->type),
                   int_table(n, "root", u, t.root.n, t.root.at),
                   int_table(n, "feature", u, k, t.feature.at),
                   float_table(n, "value", f->type, k, t.value.at),
                   int_table(n, "link", u, k, t.link.at),
                   t.modes ? int_table(n, "mode", U8, k, t.mode.at) : NULL,
                   t.lists ? int_table(n, "target", u, f->n_entries, f->target) : NULL,
                   t.lists ? float_table(n, "weight", f->type, f->n_entries, f->weight) : NULL,
                   base};
    Node *y = make_node(n, "onnxcc.Trees", 9, in, 1);
    int64_t features = 0;
    for (int i = 0; i < k; i++)
        features = t.feature.at[i] >= features ? t.feature.at[i] + 1 : features;
    attr_set_int(y, "features", features);
    attr_set_int(y, "targets", f->targets);
    attr_set_int(y, "aggregate", aggregate);
    return y->out[0];
}

static void trees_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    Dim have = x.rank ? x.dim[x.rank - 1] : D(0), need = D(attr_int(n, "features"));
    if (x.rank < 1 || x.rank > 2 || dim_is(dim_less_expr(have, need), 1)) {
        node_error(n, "input 0 is %s, the trees test %lld features", shape_text(x), (long long)attr_int(n, "features"));
        return;
    }
    assume_dim(n, dim_max(have, need), have);
    set_out(n, 0, in_type(n, 0), shape_list(2, x.rank == 2 ? x.dim[0] : D(1), D(attr_int(n, "targets"))));
}

static void trees_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    BIND2(n, trees, in_type(n, 0), in_type(n, 1), .rows = y.dim[0], .features = x.dim[x.rank - 1],
          .trees = in_shape(n, 1).dim[0], .targets = y.dim[1], .aggregate = D(attr_int(n, "aggregate")));
}

/* ---- expansions ------------------------------------------------------------------------------------------------- */

static int aggregate_of(Node *n)
{
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX", NULL};
    return attr_choice(n, "aggregate_function", names);
}

/* With one target only the first entry of a leaf counts, as in ONNX Runtime. (skl2onnx writes the number of a leaf once
 * for each class.) */
static void use_first_entries(Forest *f)
{
    for (int64_t i = 0; i < f->n && f->targets == 1; i++)
        f->node[i].n = f->node[i].n > 1 ? 1 : f->node[i].n;
}

/* The sums for every target, base values added; NULL: wrong, and reported. */
static Value *sums(Node *n, Forest *f, const char *kind, int aggregate)
{
    double *base;
    int64_t k = forest_numbers(n, "base_values", &base);
    if (!forest_read(n, f, kind))
        return NULL;
    use_first_entries(f);
    if (k && k != f->targets) {
        node_error(n, "%lld base values for %lld targets", (long long)k, (long long)f->targets);
        return NULL;
    }
    return make_trees(n, f, aggregate, k ? float_table(n, "base", f->type, k, base) : NULL);
}

/* A single score is not transformed, except by probit: as ONNX Runtime does. */
static void give_targets(Node *n, Forest *f, Value *y, Type to, Post post)
{
    post = f->targets > 1 || post == POST_PROBIT ? post : POST_NONE;
    expand_to(n, make_cast(n, ml_post(n, y, f->type, post), to));
}

static int64_t targets_of(Node *n)
{
    int64_t k = attr_is_given(n, "n_targets") ? attr_int(n, "n_targets") : 1;
    if (k < 1 || k > INT32_MAX)
        node_error(n, "n_targets is %lld: it must be from 1 to %d", (long long)k, INT32_MAX);
    return k;
}

static void regressor_expand(Node *n)
{
    int errors = error_count();
    Forest f = {.targets = targets_of(n)};
    Post post = ml_post_of(n);
    int aggregate = aggregate_of(n);
    Value *y = error_count() == errors ? sums(n, &f, "target", aggregate) : NULL;
    if (y)
        give_targets(n, &f, y, F32, post);
}

static void ensemble_expand(Node *n)
{
    int errors = error_count();
    Forest f = {.targets = targets_of(n)};
    Post post = ml_post_of(n);
    int64_t aggregate = attr_int(n, "aggregate_function");
    if (aggregate < TREE_AVERAGE || aggregate > TREE_MAX)
        node_error(n, "aggregate_function is %lld: it must be from %d to %d", (long long)aggregate, TREE_AVERAGE,
                   TREE_MAX);
    if (error_count() != errors || !forest_read_5(n, &f))
        return;
    Value *y = make_trees(n, &f, (int)aggregate, NULL);
    if (y)
        give_targets(n, &f, y, in_type(n, 0), post);
}

/* Classification by one score s. With two classes the second one is chosen if s > 0 or, if no weight is negative, s >
 * 1/2; with one class, if s > 0. The scores are s for one class; for two (1 - s, s) or (-s, s) if the leaves are for
 * class 0, else (0, s). */
static void binary_expand(Node *n, Forest *f, Post post)
{
    double *base;
    bool positive = f->targets == 2, second = f->n_entries && f->target[0] == 1;
    int64_t k = forest_numbers(n, "base_values", &base), labels = f->targets;
    for (int64_t i = 0; i < f->n_entries; i++) {
        positive &= f->weight[i] >= 0;
        f->target[i] = 0;
    }
    f->targets = 1;
    Value *s = make_trees(n, f, TREE_SUM, k ? float_table(n, "base", f->type, 1, base + (second ? k - 1 : 0)) : NULL),
          *z;
    if (!s)
        return;
    Value *yes = make(n, "Greater", 2, s, make_scalar(n, f->type, positive ? 0.5 : 0));
    replace_out(n, 0, labels == 2 ? ml_label_by(n, yes, 1, 0) : ml_label_by(n, yes, 0, -1));
    s = make_cast(n, s, F32);
    if (labels == 1)
        z = post == POST_PROBIT ? ml_post(n, s, F32, post) : s;
    else if (second)
        z = ml_post(n, ml_pair(n, s, make(n, "Mul", 2, s, make_scalar(n, F32, 0))), F32, post);
    else if (post == POST_LOGISTIC)
        z = ml_post(n, ml_pair(n, s, make(n, "Neg", 1, s)), F32, post);
    else
        z = ml_pair(n, s, positive ? make(n, "Sub", 2, make_scalar(n, F32, 1), s) : make(n, "Neg", 1, s));
    replace_out(n, 1, z);
    expand_done(n);
}

static void classifier_expand(Node *n)
{
    int errors = error_count();
    Forest f = {.targets = ml_label_count(n)};
    Post post = ml_post_of(n);
    double *base;
    bool one = true;
    int64_t k = forest_numbers(n, "base_values", &base);
    if (error_count() != errors || !forest_read(n, &f, "class"))
        return;
    if (f.targets < 1 || (k && k != f.targets && !(f.targets == 2 && k == 1))) {
        node_error(n, "%lld classes, %lld base values", (long long)f.targets, (long long)k);
        return;
    }
    for (int64_t i = 0; i < f.n_entries; i++)
        one &= f.target[i] == f.target[0];
    use_first_entries(&f);
    if (f.targets <= 2 && one) {
        binary_expand(n, &f, post);
        return;
    }
    base = k == 1 ? (double[2]){base[0], 0} : base;
    Value *y = make_trees(n, &f, TREE_SUM, k ? float_table(n, "base", f.type, f.targets, base) : NULL);
    if (!y)
        return;
    replace_out(n, 0, ml_label_of_best(n, y));
    replace_out(n, 1, ml_post(n, make_cast(n, y, F32), F32, post));
    expand_done(n);
}

#define ML_TYPES "=double|float|int32|int64"
#define NODES_1                                                                                                        \
    "base_values:floats? nodes_falsenodeids:ints? nodes_featureids:ints? nodes_hitrates:floats? "                      \
    "nodes_missing_value_tracks_true:ints? nodes_modes:strings? nodes_nodeids:ints? nodes_treeids:ints? "              \
    "nodes_truenodeids:ints? nodes_values:floats? post_transform:string=NONE "
#define NODES_3 NODES_1 "base_values_as_tensor:tensor? nodes_hitrates_as_tensor:tensor? nodes_values_as_tensor:tensor? "
#define TARGETS_1                                                                                                      \
    "aggregate_function:string=SUM n_targets:int? target_ids:ints? target_nodeids:ints? target_treeids:ints? "         \
    "target_weights:floats?"
#define CLASSES_1                                                                                                      \
    "class_ids:ints? class_nodeids:ints? class_treeids:ints? class_weights:floats? classlabels_int64s:ints? "          \
    "classlabels_strings:strings?"
#define REGRESSOR(version, attrs, ...)                                                                                   \
    {                                                                                                                  \
        "TreeEnsembleRegressor", version, "X:T -> Y:float", "T" ML_TYPES, attrs, __VA_ARGS__, .domain = "ai.onnx.ml"     \
    }
#define CLASSIFIER(version, attrs, ...)                                                                                  \
    {                                                                                                                  \
        "TreeEnsembleClassifier", version, "X:T1 -> Y:T2 Z:float", "T1" ML_TYPES " T2=int64|string", attrs, __VA_ARGS__, \
            .domain = "ai.onnx.ml"                                                                                     \
    }

static const Op ml_tree_ops[] = {
    {"TreeEnsemble", 5, "X:T -> Y:T", "T=F",
     "aggregate_function:int=1 leaf_targetids:ints leaf_weights:tensor membership_values:tensor? n_targets:int? "
     "nodes_falseleafs:ints nodes_falsenodeids:ints nodes_featureids:ints nodes_hitrates:tensor? "
     "nodes_missing_value_tracks_true:ints? nodes_modes:tensor nodes_splits:tensor nodes_trueleafs:ints "
     "nodes_truenodeids:ints post_transform:int=0 tree_roots:ints",
     .expand = ensemble_expand, .domain = "ai.onnx.ml"},
    REGRESSOR(5, NODES_3 TARGETS_1 " target_weights_as_tensor:tensor?", .flags = DEPRECATED, .body = "TreeEnsemble"),
    REGRESSOR(3, NODES_3 TARGETS_1 " target_weights_as_tensor:tensor?", .expand = regressor_expand),
    REGRESSOR(1, NODES_1 TARGETS_1, .expand = regressor_expand),
    CLASSIFIER(5, NODES_3 CLASSES_1 " class_weights_as_tensor:tensor?", .flags = DEPRECATED, .body = "TreeEnsemble"),
    CLASSIFIER(3, NODES_3 CLASSES_1 " class_weights_as_tensor:tensor?", .expand = classifier_expand),
    CLASSIFIER(1, NODES_1 CLASSES_1, .expand = classifier_expand),
    {"Trees", 1, "x:T root:U feature:U value:T link:U mode?:uint8 target?:U weight?:T base?:T -> y:T",
     "T=float|double U=int16|int32", "features:int targets:int aggregate:int", .infer = trees_infer, .bind = trees_bind,
     .domain = "onnxcc"},
};
OPS(ml_tree_ops);
