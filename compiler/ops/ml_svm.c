/* ml_svm.c - LinearRegressor, LinearClassifier, SVMRegressor, SVMClassifier; all computed in float. */
#include <strings.h>

#include "base/options.h"
#include "ir/call.h"
#include "ml.h"
#include "ml_svm.h"

static int floats(Node *n, const char *attr, double **v)
{
    const float *f;
    int k = attr_is_given(n, attr) ? attr_floats(n, attr, &f) : 0;
    *v = NEWS(double, k + 1);
    for (int i = 0; i < k; i++)
        (*v)[i] = (double)f[i];
    return k < 0 ? 0 : k;
}

static Value *table(Node *n, const char *what, int64_t rows, int64_t columns, const double *v)
{
    return ml_floats(n, what, F32, rows ? 2 : 1, rows ? (int64_t[]){rows, columns} : &columns, v);
}

/* A list of `have` numbers may be longer than the node's sizes need: only the first ones are used, as by ONNX
 * Runtime. */
static void warn_unused(Node *n, const char *attr, int64_t have, int64_t used)
{
    if (have > used)
        warn_strict(node_place(n), "OPR-03", "%s has %lld numbers; only the first %lld are used", attr, (long long)have,
                    (long long)used);
}

/* The number of features of input 0, if known and less than `max`, for which there are coefficients; else `max`. */
static int64_t features_of(Node *n, int64_t max)
{
    Shape x = in_shape(n, 0);
    Dim have = x.rank ? x.dim[x.rank - 1] : D(0);
    return dim_is_const(have) && dim_value(have) > 0 && dim_value(have) < max ? dim_value(have) : max;
}

/* Input 0 as floats (rows, features), of which there must be `features`; NULL: wrong, and reported. */
static Value *rows(Node *n, int64_t features)
{
    Shape x = in_shape(n, 0);
    if (x.rank < 1 || x.rank > 2 || features < 1 || dim_is(dim_eq_expr(x.dim[x.rank - 1], D(features)), 0)) {
        node_error(n, "input 0 is %s, but there are coefficients for %lld features", shape_text(x),
                   (long long)features);
        return NULL;
    }
    assume_dim(n, x.dim[x.rank - 1], D(features));
    Value *v = make_cast(n, in(n, 0), F32);
    if (x.rank == 2 && dim_is_const(x.dim[1]))
        return v;
    return make_reshape(n, v, 2, (Dim[]){x.rank == 2 ? x.dim[0] : D(1), D(features)});
}

/* x (rows, features) times the transpose of w (k, features), plus a bias of k elements (or one). */
static Value *linear(Node *n, Value *x, int64_t k, int64_t features, const double *w, int64_t n_bias,
                     const double *bias)
{
    double *all = NEWS(double, k);
    for (int64_t i = 0; i < k; i++)
        all[i] = n_bias ? bias[n_bias == k ? i : 0] : 0;
    return with_int(make(n, "Gemm", 3, x, table(n, "coefficients", k, features, w),
                         n_bias ? table(n, "intercepts", 0, k, all) : NULL),
                    "transB", 1);
}

/* ---- linear ----------------------------------------------------------------------------------------------------- */

/* A single score is not transformed, except by probit: as ONNX Runtime does. */
static Value *post_of_targets(Node *n, Value *y, int64_t targets, Post post)
{
    return ml_post(n, y, F32, targets > 1 || post == POST_PROBIT ? post : POST_NONE);
}

static void linear_regressor_expand(Node *n)
{
    double *w, *bias;
    int64_t k = floats(n, "coefficients", &w), n_bias = floats(n, "intercepts", &bias),
            targets = attr_int(n, "targets");
    Post post = ml_post_of(n);
    if (targets < 1 || k < targets || (n_bias && n_bias != targets)) {
        node_error(n, "%lld coefficients and %lld intercepts for %lld targets", (long long)k, (long long)n_bias,
                   (long long)targets);
        return;
    }
    int64_t features = features_of(n, k / targets);
    Value *x = rows(n, features);
    if (!x || post == POST_WRONG)
        return;
    warn_unused(n, "coefficients", k, targets * features);
    expand_to(n, post_of_targets(n, linear(n, x, targets, features, w, n_bias, bias), targets, post));
}

static void linear_classifier_expand(Node *n)
{
    double *w, *bias;
    Shape s = in_shape(n, 0);
    int errors = error_count(), labels = ml_label_count(n);
    int64_t k = floats(n, "coefficients", &w), n_bias = floats(n, "intercepts", &bias);
    Post post = ml_post_of(n);
    Dim features = s.rank ? s.dim[s.rank - 1] : D(0);
    if (error_count() != errors)
        return;
    int64_t classes = n_bias                                          ? n_bias
                      : dim_is_const(features) && dim_value(features) ? k / dim_value(features)
                                                                      : labels;
    if (classes < 1 || k % classes || (classes > 1 && labels < classes) || (classes == 1 && labels > 2)) {
        node_error(n, "%lld coefficients and %lld intercepts for %d labels", (long long)k, (long long)n_bias, labels);
        return;
    }
    int64_t used = features_of(n, k / classes);
    Value *x = rows(n, used), *y, *z;
    if (!x)
        return;
    warn_unused(n, "coefficients", k, classes * used);
    z = linear(n, x, classes, used, w, n_bias, bias);
    if (classes > 1) {
        y = ml_label_of_best(n, z);
        z = ml_post(n, z, F32, post);
    } else {
        Value *yes = make(n, "Greater", 2, z, make_scalar(n, F32, 0));
        y = labels == 2 ? ml_label_by(n, yes, 1, 0) : ml_label_by(n, yes, 0, -1);
        z = labels == 2 ? ml_post(n, ml_pair(n, z, make(n, "Neg", 1, z)), F32, post) : post_of_targets(n, z, 1, post);
    }
    replace_out(n, 0, y);
    replace_out(n, 1, z);
    expand_done(n);
}

/* ---- support vectors -------------------------------------------------------------------------------------------- */

/* The kernel function of every row and support vector, (rows, vectors); NULL: wrong, reported. */
static Value *alike(Node *n, int64_t vectors)
{
    double *sv;
    int64_t k = floats(n, "support_vectors", &sv);
    if (vectors < 1 || k % vectors) {
        node_error(n, "%lld numbers are no %lld support vectors", (long long)k, (long long)vectors);
        return NULL;
    }
    Value *x = rows(n, k / vectors);
    if (!x)
        return NULL;
    Value *y = make(n, "onnxcc.SvmKernel", 2, x, table(n, "support_vectors", vectors, k / vectors, sv));
    attr_set_string(y->def, "kind", attr_string(n, "kernel_type"));
    const Attr *p = node_attr(n, "kernel_params");
    attr_set_float(y->def, "gamma", p && p->n > 0 ? (double)p->floats[0] : 0);
    attr_set_float(y->def, "coef0", p && p->n > 1 ? (double)p->floats[1] : 0);
    attr_set_float(y->def, "degree", p && p->n > 2 ? (double)p->floats[2] : 0);
    return y;
}

static int kind_of(Node *n)
{
    static const char *const kinds[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    for (int i = 0; i < 4; i++)
        if (!strcasecmp(attr_string(n, "kind"), kinds[i]))
            return i;
    node_error(n, "kernel_type is '%s'", attr_string(n, "kind"));
    return -1;
}

static void svm_kernel_infer(Node *n)
{
    if (kind_of(n) >= 0)
        set_out(n, 0, F32, shape_list(2, in_shape(n, 0).dim[0], in_shape(n, 1).dim[0]));
}

static void svm_kernel_bind(Node *n)
{
    Shape x = in_shape(n, 0), sv = in_shape(n, 1);
    BIND(n, svm_kernel, .rows = x.dim[0], .features = x.dim[1], .vectors = sv.dim[0], .kind = D(kind_of(n)),
         .gamma = attr_float(n, "gamma"), .coef0 = attr_float(n, "coef0"), .degree = attr_float(n, "degree"));
}

static void svm_regressor_expand(Node *n)
{
    double *w, *rho;
    int64_t k = floats(n, "coefficients", &w), n_rho = floats(n, "rho", &rho), supports = attr_int(n, "n_supports");
    Post post = ml_post_of(n);
    if (k < 1 || n_rho < 1 || supports > k) {
        node_error(n, "%lld coefficients and %lld rho for %lld support vectors", (long long)k, (long long)n_rho,
                   (long long)supports);
        return;
    }
    int64_t used = supports > 0 ? supports : features_of(n, k);
    Value *x = supports > 0 ? alike(n, supports) : rows(n, used);
    if (!x || post == POST_WRONG)
        return;
    warn_unused(n, "coefficients", k, used);
    Value *y = linear(n, x, 1, used, w, 1, rho);
    if (attr_int(n, "one_class"))
        y = make(n, "Where", 3, make(n, "Greater", 2, y, make_scalar(n, F32, 0)), make_scalar(n, F32, 1),
                 make_scalar(n, F32, -1));
    expand_to(n, post_of_targets(n, y, 1, post));
}

/* A node that computes the scores of all pairs of classes and the votes; false: wrong, reported. */
static bool contest(Node *n, int64_t classes, Value **score, Value **votes)
{
    double *w, *rho;
    const Attr *per_class = node_attr(n, "vectors_per_class");
    int64_t k = floats(n, "coefficients", &w), n_rho = floats(n, "rho", &rho), vectors = 0, one = classes + 1,
            pairs = classes * (classes - 1) / 2;
    Tensor *start = tensor_new(I32, 1, &one);
    for (int64_t i = 0; i < classes && per_class && i < per_class->n; i++) {
        ((int32_t *)(uintptr_t)start->data)[i] = (int32_t)vectors;
        vectors += per_class->ints[i];
    }
    ((int32_t *)(uintptr_t)start->data)[classes] = (int32_t)vectors;
    if (classes < 2 || !per_class || per_class->n != classes || k < (classes - 1) * vectors || n_rho < pairs)
        return node_error(n, "%lld coefficients and %lld rho for %lld classes with %lld support vectors", (long long)k,
                          (long long)n_rho, (long long)classes, (long long)vectors);
    Value *a = alike(n, vectors);
    if (!a)
        return false;
    warn_unused(n, "coefficients", k, (classes - 1) * vectors);
    warn_unused(n, "rho", n_rho, pairs);
    Value *in[] = {a, table(n, "coefficients", classes - 1, vectors, w), table(n, "rho", 0, pairs, rho),
                   value_const(n->graph, start)};
    Node *c = make_node(n, "onnxcc.SvmContest", 4, in, 2);
    *score = c->out[0];
    *votes = c->out[1];
    return true;
}

static void contest_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    set_out(n, 0, F32, shape_list(2, x.dim[0], in_shape(n, 2).dim[0]));
    set_out(n, 1, F32, shape_list(2, x.dim[0], dim_sub(in_shape(n, 3).dim[0], D(1))));
}

static void contest_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    BIND(n, svm_contest, .rows = x.dim[0], .classes = dim_sub(in_shape(n, 3).dim[0], D(1)), .vectors = x.dim[1]);
}

static void probability_infer(Node *n)
{
    set_out(n, 0, F32, shape_list(2, in_shape(n, 0).dim[0], D(attr_int(n, "classes"))));
}

static void probability_bind(Node *n)
{
    int64_t k = attr_int(n, "classes");
    BIND(n, svm_probability, .rows = in_shape(n, 0).dim[0], .classes = D(k));
    bind_scratch(n, D((2 * k * k + k) * 4));
}

/* The result from the pairs of classes: probabilities if the model has their parameters, otherwise the scores. */
static void svm_contest_expand(Node *n, int64_t classes, Post post)
{
    double *a, *b;
    Value *score = NULL, *votes = NULL;
    int64_t pairs = classes * (classes - 1) / 2, n_a = floats(n, "prob_a", &a), n_b = floats(n, "prob_b", &b);
    if (n_a != n_b || (n_a && n_a != pairs)) {
        node_error(n, "%lld prob_a and %lld prob_b for %lld pairs of classes", (long long)n_a, (long long)n_b,
                   (long long)pairs);
        return;
    }
    if (!contest(n, classes, &score, &votes))
        return;
    replace_out(n, 0, ml_label_of_best(n, votes));
    if (n_a) {
        score = with_int(make(n, "onnxcc.SvmProbability", 3, score, table(n, "prob_a", 0, pairs, a),
                              table(n, "prob_b", 0, pairs, b)),
                         "classes", classes);
    } else if (classes == 2)
        score = ml_pair(n, score, make(n, "Neg", 1, score));
    replace_out(n, 1, ml_post(n, score, F32, post));
    expand_done(n);
}

/* Without support vectors: a row of coefficients per class. */
static void svm_linear_expand(Node *n, int64_t classes, Post post)
{
    double *w, *rho;
    int64_t k = floats(n, "coefficients", &w), n_rho = floats(n, "rho", &rho);
    if (classes < 1 || k % classes || n_rho < 1) {
        node_error(n, "%lld coefficients and %lld rho for %lld classes", (long long)k, (long long)n_rho,
                   (long long)classes);
        return;
    }
    int64_t used = features_of(n, k / classes);
    Value *x = rows(n, used);
    if (!x)
        return;
    warn_unused(n, "coefficients", k, classes * used);
    Value *z = linear(n, x, classes, used, w, 1, rho);
    if (classes > 1)
        replace_out(n, 0, ml_label_of_best(n, z));
    else
        replace_out(n, 0, ml_label_by(n, make(n, "Greater", 2, z, make_scalar(n, F32, 0)), 0, -1));
    replace_out(n, 1, post_of_targets(n, z, classes, post));
    expand_done(n);
}

static void svm_classifier_expand(Node *n)
{
    int errors = error_count(), labels = ml_label_count(n);
    Post post = ml_post_of(n);
    const Attr *per_class = node_attr(n, "vectors_per_class");
    int64_t vectors = 0;
    for (int i = 0; per_class && i < per_class->n; i++) {
        if (per_class->ints[i] < 0 || per_class->ints[i] > INT32_MAX)
            node_error(n, "vectors_per_class[%d] is %lld", i, (long long)per_class->ints[i]);
        else
            vectors += per_class->ints[i];
    }
    if (error_count() != errors)
        return;
    if (vectors > 0)
        svm_contest_expand(n, labels ? labels : per_class->n, post);
    else
        svm_linear_expand(n, labels ? labels : 1, post);
}

#define ML_TYPES "=double|float|int32|int64"
#define SVM_ATTRS                                                                                                      \
    "coefficients:floats? kernel_params:floats? kernel_type:string=LINEAR post_transform:string=NONE rho:floats? "     \
    "support_vectors:floats? "

static const Op ml_svm_ops[] = {
    {"LinearRegressor", 1, "X:T -> Y:float", "T" ML_TYPES,
     "coefficients:floats? intercepts:floats? post_transform:string=NONE targets:int=1",
     .expand = linear_regressor_expand, .domain = "ai.onnx.ml"},
    {"LinearClassifier", 1, "X:T1 -> Y:T2 Z:float", "T1" ML_TYPES " T2=int64|string",
     "classlabels_ints:ints? classlabels_strings:strings? coefficients:floats intercepts:floats? multi_class:int=0 "
     "post_transform:string=NONE",
     .expand = linear_classifier_expand, .domain = "ai.onnx.ml"},
    {"SVMRegressor", 1, "X:T -> Y:float", "T" ML_TYPES, SVM_ATTRS "n_supports:int=0 one_class:int=0",
     .expand = svm_regressor_expand, .domain = "ai.onnx.ml"},
    {"SVMClassifier", 1, "X:T1 -> Y:T2 Z:float", "T1" ML_TYPES " T2=int64|string",
     SVM_ATTRS
     "classlabels_ints:ints? classlabels_strings:strings? prob_a:floats? prob_b:floats? vectors_per_class:ints?",
     .expand = svm_classifier_expand, .domain = "ai.onnx.ml"},
    {"SvmKernel", 1, "x:float vectors:float -> y:float", "", "kind:string gamma:float coef0:float degree:float",
     .infer = svm_kernel_infer, .bind = svm_kernel_bind, .domain = "onnxcc"},
    {"SvmContest", 1, "alike:float coefficients:float rho:float start:int32 -> score:float votes:float", "", "",
     .infer = contest_infer, .bind = contest_bind, .domain = "onnxcc"},
    {"SvmProbability", 1, "score:float a:float b:float -> y:float", "", "classes:int", .infer = probability_infer,
     .bind = probability_bind, .domain = "onnxcc"},
};
OPS(ml_svm_ops);
