/* reduce.c - ReduceSum, ReduceMean ... over sets of axes; ArgMax and ArgMin along one. */
#include "../infer.h"
#include "../kernel.h"
#include "reduce.h"

/* Which axes of input 0 go: gone[i] is 1 or 0, or an expression when the axes are known only at run time. All of them when
 * none is given, unless the node says that this means none. Returns how many; -1: an error. */
static int reduce_axes(Node *n, Dim *gone)
{
    int rank = in_shape(n, 0).rank, k = in(n, 1) ? 0 : -1;
    Dim axes[MAX_RANK];
    if (in(n, 1) && (k = in_dims(n, 1, axes, MAX_RANK)) < 0)
        return -1;
    bool all = k <= 0 && !attr_int(n, "noop_with_empty_axes");
    for (int i = 0; i < k; i++)
        if (dim_const(axes[i]))
            axes[i] = D(axis_of(n, dim_value(axes[i]), rank));
    for (int a = 0; a < rank; a++) {
        gone[a] = D(all);
        for (int i = 0; i < k; i++)
            gone[a] = dim_add(gone[a], dim_add(dim_equal(axes[i], D(a)), dim_equal(axes[i], D(a - rank))));
        if (dim_const(gone[a]) && dim_value(gone[a]) > 1) {
            node_error(n, "axis %d is listed twice", a);
            return -1;
        }
        gone[a] = dim_min(gone[a], D(1));
    }
    return all ? rank : k < 0 || rank == 0 ? 0 : k;
}

static bool axes_known(const Dim *gone, int rank)
{
    for (int i = 0; i < rank; i++)
        if (!dim_const(gone[i]))
            return false;
    return true;
}

static void reduce_infer(Node *n)
{
    Shape x = in_shape(n, 0), y = {0};
    Dim gone[MAX_RANK], before = D(0); /* kept axes so far */
    int k = reduce_axes(n, gone);
    if (k < 0)
        return;
    y.rank = attr_int(n, "keepdims") ? x.rank : x.rank - k;
    for (int i = 0; i < x.rank; i++) {
        if (attr_int(n, "keepdims"))
            y.dim[i] = dim_select(gone[i], D(1), x.dim[i]);
        for (int j = 0; !attr_int(n, "keepdims") && j < y.rank; j++)
            y.dim[j] = dim_select(dim_mul(dim_sub(D(1), gone[i]), dim_equal(before, D(j))), x.dim[i],
                                  i == 0 ? D(0) : y.dim[j]);
        before = dim_add(before, dim_sub(D(1), gone[i]));
    }
    if (!axes_known(gone, x.rank)) /* all different, and inside */
        assume_dim(n, before, D(x.rank - k));
    set_out(n, 0, in_type(n, 0), y);
}

/* Merges neighbours of one kind into the pattern keep axis keep ... keep, which stands at the end. */
static bool reduce_merge(Node *n, Shape s, const Dim *gone, struct reduce_sum_bind *p)
{
    int at = 8;
    for (int i = s.rank - 1; i >= 0; i--) {
        if (dim_is(s.dim[i], 1))
            continue;
        at -= at % 2 != dim_value(gone[i]);
        if (at < 0) {
            node_error(n, "the reduced axes of %s are in more than four separate groups", shape_text(s));
            return false;
        }
        Dim *merged = at % 2 ? &p->axis[at / 2] : &p->keep[at / 2];
        *merged = dim_mul(s.dim[i], *merged);
    }
    return true;
}

static void reduce_bind(Node *n)
{
    static const struct {
        const char *op, *kernel;
    } kernels[] = {{"ReduceSum", "reduce_sum"},        {"ReduceMean", "reduce_mean"},
                   {"ReduceL1", "reduce_l1"},          {"ReduceL2", "reduce_l2"},
                   {"ReduceLogSum", "reduce_log_sum"}, {"ReduceLogSumExp", "reduce_log_sum_exp"},
                   {"ReduceProd", "reduce_prod"},      {"ReduceSumSquare", "reduce_sum_square"},
                   {"ReduceMax", "reduce_max"},        {"ReduceMin", "reduce_min"}};
    struct reduce_sum_bind p = {.keep = {D(1), D(1), D(1), D(1), D(1)}, .axis = {D(1), D(1), D(1), D(1)}};
    Shape s = in_shape(n, 0);
    Dim gone[MAX_RANK];
    int k = 0;
    reduce_axes(n, gone);
    if (axes_known(gone, s.rank)) {
        if (!reduce_merge(n, s, gone, &p))
            return;
    } else if (s.rank > 4) {
        node_error(n, "axes known only at run time can be reduced in up to four dimensions, not in %s", shape_text(s));
        note_help("freeze them: --const %s=FILE.pb", printable(in(n, 1)->name));
        return;
    } else
        for (int i = 0; i < s.rank; i++) {
            p.keep[i] = dim_select(gone[i], D(1), s.dim[i]);
            p.axis[i] = dim_select(gone[i], s.dim[i], D(1));
        }
    while (strcmp(kernels[k].op, n->op->name))
        k++;
    bind_kernel(n, kernels[k].kernel, NO_TYPE, NO_TYPE, reduce_sum_fields(), &p, NULL, 0);
}

/* Axes that stay as ones may be reduced wherever they are. */
static bool reduce_permute(Node *n, const int *perm, int rank)
{
    Dim gone[MAX_RANK];
    int64_t axes[MAX_RANK];
    int k = 0;
    if (!attr_int(n, "keepdims") || reduce_axes(n, gone) < 0 || !axes_known(gone, rank))
        return false;
    for (int i = 0; i < rank; i++)
        if (dim_is(gone[perm[i]], 1))
            axes[k++] = i;
    if (k > 0 && k < rank)
        node_set_in(n, 1, make_ints(n, k, axes));
    return true;
}

/* What n is today; logarithms of integers are taken in double, and cut off. */
static void reduce_today(Node *n, Value *axes)
{
    Type t = in_type(n, 0), wide = strstr(n->op->name, "Log") && !type_is_float(t) ? F64 : t;
    Value *y = make(n, n->op->name, 2, make_cast(n, in(n, 0), wide), axes);
    attr_set_int(y->def, "keepdims", attr_int(n, "keepdims"));
    if (attr_given(n, "noop_with_empty_axes"))
        attr_set_int(y->def, "noop_with_empty_axes", attr_int(n, "noop_with_empty_axes"));
    replace_out(n, 0, wide == t ? y : make_cast(n, y, t));
    expand_done(n);
}

static void reduce_with_input(Node *n) { reduce_today(n, in(n, 1)); }

/* Until axes became an input. */
static void reduce_with_attribute(Node *n)
{
    const int64_t *axes;
    int k = attr_ints(n, "axes", &axes);
    reduce_today(n, k < 0 ? NULL : make_ints(n, k, axes));
}

static void arg_infer(Node *n)
{
    Shape x = in_shape(n, 0), y = {0};
    int a = attr_axis(n, "axis", x.rank);
    if (x.rank && dim_is(x.dim[a], 0)) {
        node_error(n, "axis %d of %s is empty: nothing is at an extreme", a, shape_text(x));
        return;
    }
    for (int i = 0; i < x.rank; i++)
        if (i != a || attr_int(n, "keepdims"))
            y.dim[y.rank++] = i == a ? D(1) : x.dim[i];
    set_out(n, 0, I64, y);
}

static bool arg_permute(Node *n, const int *perm, int rank)
{
    return attr_int(n, "keepdims") && permute_axis(n, perm, rank);
}

static void arg_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    int a = attr_axis(n, "axis", s.rank);
    struct arg_max_bind p = {.outer = shape_product(s, 0, a),
                             .axis = s.rank ? s.dim[a] : D(1),
                             .inner = shape_product(s, a + 1, s.rank),
                             .last = D(attr_int(n, "select_last_index") != 0)};
    bind_kernel(n, strcmp(n->op->name, "ArgMax") ? "arg_min" : "arg_max", NO_TYPE, NO_TYPE, arg_max_fields(), &p, NULL,
                0);
}

#define WIDE "uint32|uint64|int32|int64|"
#define BYTES "uint8|int8|"
#define WITH_INPUT "data:T axes?:int64 -> reduced:T"
#define WITH_INPUT_ATTRS "noop_with_empty_axes:int=0 keepdims:int=1"
#define NOW(name, since, types, older)                                                                                 \
    {name, since, WITH_INPUT, "T=" types, WITH_INPUT_ATTRS, reduce_infer, reduce_bind, .permute = reduce_permute,      \
     .was = older}
#define THEN(name, since, types, older)                                                                                \
    {name, since, "data:T -> reduced:T", "T=" types, "axes:ints? keepdims:int=1", .expand = reduce_with_attribute,     \
     .was = older}
#define THEN_13(name) THEN(name, 13, WIDE "FB", "11 T=" WIDE "F; 1 T=" WIDE "F")
#define REDUCE(name) NOW(name, 18, WIDE "FB", NULL), THEN_13(name)
#define EXTREME(name)                                                                                                  \
    NOW(name, 20, WIDE BYTES "bool|FB", "18 T=" WIDE BYTES "FB"),                                               \
    THEN(name, 13, WIDE BYTES "FB", "12 T=" WIDE BYTES "F; 11 T=" WIDE "F; 1 T=" WIDE "F")
#define LOGARITHM(name)                                                                                                \
    NOW(name, 28, "FB", NULL), {name, 18, WITH_INPUT, "T=" WIDE "FB", WITH_INPUT_ATTRS, .expand = reduce_with_input},        \
    THEN_13(name)
#define ARG(name)                                                                                                      \
    {name, 13, "data:T -> reduced:int64", "T=NB", "axis:int=0 keepdims:int=1 select_last_index:int=0",                 \
     .infer = arg_infer, .bind = arg_bind, .permute = arg_permute,                                                     \
     .was = "12 T=N; 11 T=N / axis:int=0 keepdims:int=1; 1 T=N / axis:int=0 keepdims:int=1"}

/* clang-format off */
static const Op reduce_ops[] = {
    NOW("ReduceSum", 13, WIDE "FB", NULL), THEN("ReduceSum", 11, WIDE "F", "1"),
    REDUCE("ReduceMean"), REDUCE("ReduceL1"), REDUCE("ReduceL2"), REDUCE("ReduceSumSquare"), REDUCE("ReduceProd"),
    EXTREME("ReduceMax"), EXTREME("ReduceMin"),
    LOGARITHM("ReduceLogSum"), LOGARITHM("ReduceLogSumExp"),
    ARG("ArgMax"), ARG("ArgMin"),
};
/* clang-format on */
OPS(reduce_ops);
