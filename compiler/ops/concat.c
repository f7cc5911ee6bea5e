/* concat.c - Concat: tensors concatenated along an axis. */
#include "ir/call.h"
#include "ir/schema.h"
#include "passes/infer.h"
#include "concat.h"

enum { LIMIT = 16 }; /* inputs of the largest kernel */

/* Concatenates groups of inputs first if there are more than a kernel takes. */
static void join_groups(Node *n)
{
    int k = 0;
    for (int i = 0; i < n->n_in; i += LIMIT) {
        int m = n->n_in - i < LIMIT ? n->n_in - i : LIMIT;
        Value *v = n->in[i];
        if (m > 1) {
            Node *group = make_node(n, "Concat", m, n->in + i, 1);
            attr_set_int(group, "axis", attr_int(n, "axis"));
            infer_node(group);
            v = group->out[0];
        }
        node_set_in(n, k++, v);
    }
    for (int i = k; i < n->n_in; i++)
        node_set_in(n, i, NULL);
    n->n_in = k;
}

/* With one input that has elements, as torch exports a cache that starts empty, it is an Identity. */
static void pass_single(Node *n, int axis)
{
    Value *only = NULL;
    for (int i = 0; i < n->n_in; i++) {
        if (dim_is(in_shape(n, i).dim[axis], 0) && (only || i < n->n_in - 1))
            continue;
        if (only)
            return;
        only = n->in[i];
    }
    node_set_inputs(n, 1, &only);
    n->op = op_find("", "Identity", INT32_MAX);
}

static void concat_infer(Node *n)
{
    while (n->n_in > LIMIT)
        join_groups(n);
    Shape y = in_shape(n, 0);
    int a = attr_axis(n, "axis", y.rank);
    if (!y.rank) {
        node_error(n, "scalars cannot be joined");
        return;
    }
    for (int i = 1; i < n->n_in; i++) {
        Shape x = in_shape(n, i);
        bool clash = x.rank != y.rank;
        for (int k = 0; k < x.rank && !clash; k++) {
            if (k == a) {
                y.dim[k] = dim_add(y.dim[k], x.dim[k]);
                continue;
            }
            clash = dim_is(dim_eq_expr(x.dim[k], y.dim[k]), 0);
            if (dim_is_const(x.dim[k]))
                assume_dim(n, y.dim[k], x.dim[k]), y.dim[k] = x.dim[k];
            else
                assume_dim(n, x.dim[k], y.dim[k]);
        }
        if (clash) {
            node_error(n, "inputs %s and %s do not fit beside each other along axis %d", shape_text(in_shape(n, 0)),
                       shape_text(x), a);
            return;
        }
    }
    set_out(n, 0, in_type(n, 0), y);
    pass_single(n, a);
}

static void concat_bind(Node *n)
{
    static const int arities[] = {2, 3, 4, 8, LIMIT};
    const Field *const fields[] = {concat2_fields(), concat3_fields(), concat4_fields(), concat8_fields(),
                                   concat16_fields()};
    Shape y = *out(n, 0)->shape;
    int a = attr_axis(n, "axis", y.rank), used = 0, k = 0;
    Value *args[LIMIT + 1] = {NULL};
    Dim size[LIMIT], p[2 + 2 * LIMIT] = {shape_product(y, 0, a), D(0)}; /* outer, y_pitch, size[], pitch[] */
    for (int i = 0; i < n->n_in; i++) {
        size[used] = shape_product(in_shape(n, i), a, y.rank);
        p[1] = dim_add(p[1], size[used]);
        if (!dim_is(size[used], 0))
            args[used++] = n->in[i];
    }
    while (arities[k] < used)
        k++;
    for (int i = 0; i < used; i++)
        p[2 + i] = p[2 + arities[k] + i] = size[i];
    args[arities[k]] = out(n, 0);
    bind_kernel(n, name_format("concat%d", arities[k])->s, type_storage(in_type(n, 0)), NO_TYPE, fields[k], p, args,
                arities[k] + 1);
}

static void concat_1(Node *n)
{
    if (!attr_is_given(n, "axis"))
        attr_set_int(n, "axis", 1);
    expand_same(n);
}

static const Op concat_ops[] = {
    {"Concat", 13, "inputs*:T -> concat_result:T", "T=ALLB", "axis:int", .infer = concat_infer, .bind = concat_bind,
     .flags = MOVES, .permute = permute_axis, .compatible = "11 T=ALL; 4 T=ALL"},
    {"Concat", 1, "inputs*:T -> concat_result:T", "T=F", "axis:int?", .expand = concat_1},
};
OPS(concat_ops);
