/* ml_score.c - scores and labels of the classifiers and regressors of ai.onnx.ml. */
#include <string.h>

#include "ml.h"

Post ml_post_of(Node *n)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const Attr *a = node_attr(n, "post_transform");
    if (a && a->type == A_INT && a->i >= 0 && a->i < POST_WRONG)
        return (Post)a->i;
    for (int i = 0; i < POST_WRONG; i++)
        if (!a || (a->type == A_STRING && name_is(a->s, names[i])))
            return (Post)i;
    node_error(n, "post_transform is not one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT");
    return POST_WRONG;
}

static Value *along_rows(Node *n, const char *op, Value *v)
{
    static const int64_t axis = -1;
    return make(n, op, 2, v, make_ints(n, 1, &axis));
}

/* Softmax of the elements that are not 0, the others remain 0; 1/2 for all if the sum is 0. */
static Value *softmax_zero(Node *n, Value *v, Type t)
{
    Value *top = along_rows(n, "ReduceMax", v),
          *some = make(n, "Greater", 2, make(n, "Abs", 1, v), make_scalar(n, t, 1e-7));
    Value *e = make(n, "Where", 3, some, make(n, "Exp", 1, make(n, "Sub", 2, v, top)),
                    make(n, "Mul", 2, v, make(n, "Exp", 1, make(n, "Neg", 1, top))));
    Value *sum = along_rows(n, "ReduceSum", e), *none = make(n, "Equal", 2, sum, make_scalar(n, t, 0));
    return make(n, "Where", 3, none, make_scalar(n, t, 0.5), make(n, "Div", 2, e, sum));
}

/* sqrt(2) erfinv(2 v - 1), by Winitzki's approximation, as ONNX's reference has it. */
static Value *probit(Node *n, Value *v, Type t)
{
    Value *x = make(n, "Sub", 2, make(n, "Mul", 2, v, make_scalar(n, t, 2)), make_scalar(n, t, 1)),
          *one = make_scalar(n, t, 1);
    Value *l = make(n, "Log", 1, make(n, "Mul", 2, make(n, "Sub", 2, one, x), make(n, "Add", 2, one, x)));
    Value *a = make(n, "Add", 2, make_scalar(n, t, 2 / (3.14159265358979 * 0.147)),
                    make(n, "Mul", 2, l, make_scalar(n, t, 0.5)));
    Value *b = make(n, "Mul", 2, l, make_scalar(n, t, 1 / 0.147));
    Value *root = make(n, "Sqrt", 1, make(n, "Sub", 2, make(n, "Mul", 2, a, a), b));
    Value *y = make(n, "Mul", 2, make(n, "Sign", 1, x), make(n, "Sqrt", 1, make(n, "Sub", 2, root, a)));
    return make(n, "Mul", 2, y, make_scalar(n, t, 1.41421356));
}

Value *ml_post(Node *n, Value *scores, Type t, Post post)
{
    return post == POST_SOFTMAX        ? make(n, "Softmax", 1, scores)
           : post == POST_LOGISTIC     ? make(n, "Sigmoid", 1, scores)
           : post == POST_SOFTMAX_ZERO ? softmax_zero(n, scores, t)
           : post == POST_PROBIT       ? probit(n, scores, t)
                                       : scores;
}

Value *ml_pair(Node *n, Value *score, Value *before)
{
    return with_int(make(n, "Concat", 2, before, score), "axis", 1);
}

/* ---- labels ----------------------------------------------------------------------------------------------------- */

/* The list of labels, integers or strings; NULL: none. */
static const Attr *labels(const Node *n)
{
    static const char *const attrs[] = {"classlabels_strings", "classlabels_int64s", "classlabels_ints"};
    for (int i = 0; i < 3; i++) {
        const Attr *a = node_attr(n, attrs[i]);
        if (a && a->n)
            return a;
    }
    return NULL;
}

int ml_label_count(const Node *n) { return labels(n) ? labels(n)->n : 0; }

/* A constant of the labels with these numbers; for -1: 0 or ""; without labels: 1. */
static Value *label_table(Node *n, int64_t k, const int *of)
{
    const Attr *a = labels(n);
    bool strings = a && a->type == A_STRINGS;
    Tensor *t = tensor_new(strings ? STR : I64, 1, &k);
    for (int64_t i = 0; i < k; i++)
        if (strings)
            tensor_set_str(t, i, of[i] < 0 ? name("") : a->strings[of[i]]);
        else
            ((int64_t *)(uintptr_t)t->data)[i] = of[i] < 0 ? 0 : a ? a->ints[of[i]] : 1;
    return value_const(n->graph, t);
}

Value *ml_label_of_best(Node *n, Value *scores)
{
    const Attr *a = labels(n);
    bool plain = !a || a->type == A_INTS;
    int k = ml_label_count(n), *of = NEWS(int, k + 1);
    for (int i = 0; i < k; i++) {
        of[i] = i;
        plain = plain && a->ints[i] == i;
    }
    Value *best = with_int(make(n, "ArgMax", 1, scores), "axis", 1);
    attr_set_int(best->def, "keepdims", 0);
    return plain ? best : make(n, "Gather", 2, label_table(n, k, of), best);
}

Value *ml_label_by(Node *n, Value *question, int yes, int no)
{
    static const int64_t flat = -1;
    Value *which = make(n, "Reshape", 2, make_cast(n, question, I64), make_ints(n, 1, &flat));
    return make(n, "Gather", 2, label_table(n, 2, (int[]){no, yes}), which);
}

Value *ml_floats(Node *n, const char *what, Type t, int rank, const int64_t *dim, const double *v)
{
    Tensor *x = tensor_new(t, rank, dim);
    void *to = (void *)(uintptr_t)x->data;
    for (int64_t i = 0; i < tensor_count(x); i++)
        if (t == F64)
            ((double *)to)[i] = v[i];
        else
            ((float *)to)[i] = (float)v[i];
    Value *c = value_const(n->graph, x);
    c->name = name(what);
    return c;
}
