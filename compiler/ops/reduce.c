/* reduce.c - ReduceSum, ReduceMean ... over sets of axes; ArgMax and ArgMin along one. */
#include "ir/schema.h"
#include "ir/spatial.h"
#include "reduce.h"

/* The axes to reduce: gone[i] is 1 or 0, or an expression if the axes are known only at run time. If none is given, all
 * of them, unless noop_with_empty_axes. Returns their number; -1: an error. */
static int reduce_axes(Node *n, Dim *gone)
{
    int rank = in_shape(n, 0).rank, k = in(n, 1) ? 0 : -1;
    Dim axes[MAX_RANK];
    if (in(n, 1) && (k = in_dims(n, 1, axes, MAX_RANK)) < 0)
        return -1;
    bool all = k <= 0 && !attr_int(n, "noop_with_empty_axes");
    bool listed[MAX_RANK] = {false};
    for (int i = 0; i < k; i++)
        if (dim_is_const(axes[i]) && !mark_axis(n, dim_value(axes[i]), rank, listed))
            return -1;
    for (int a = 0; a < rank; a++) {
        gone[a] = D(all);
        for (int i = 0; i < k; i++)
            gone[a] = dim_add(gone[a], dim_add(dim_eq_expr(axes[i], D(a)), dim_eq_expr(axes[i], D(a - rank))));
        gone[a] = dim_min(gone[a], D(1));
    }
    return all ? rank : k < 0 || rank == 0 ? 0 : k;
}

static bool are_axes_known(const Dim *gone, int rank)
{
    for (int i = 0; i < rank; i++)
        if (!dim_is_const(gone[i]))
            return false;
    return true;
}

/* Arranges the dimensions as keep axis keep ... keep, right-aligned: adjacent ones of the same kind are merged, unless
 * the kind is known only at run time. False: too many. */
static bool reduce_pattern(Shape s, const Dim *gone, struct reduce_sum_bind *p)
{
    *p = (struct reduce_sum_bind){.keep = {D(1), D(1), D(1), D(1), D(1)}, .axis = {D(1), D(1), D(1), D(1)}};
    bool known = are_axes_known(gone, s.rank);
    for (int i = s.rank - 1, at = 8; i >= 0; i--) {
        if (dim_is(s.dim[i], 1))
            continue;
        at -= !known ? 2 : at % 2 != dim_value(gone[i]);
        if (at < 0)
            return false;
        Dim *keep = &p->keep[at / 2], *axis = &p->axis[at / 2];
        if (!known) {
            *keep = dim_select(gone[i], D(1), s.dim[i]);
            *axis = dim_select(gone[i], s.dim[i], D(1));
        } else if (at % 2)
            *axis = dim_mul(s.dim[i], *axis);
        else
            *keep = dim_mul(s.dim[i], *keep);
    }
    return true;
}

static void reduce_infer(Node *n)
{
    Shape x = in_shape(n, 0), y = {0};
    Dim gone[MAX_RANK], before = D(0); /* number of kept axes so far */
    struct reduce_sum_bind p;
    int k = reduce_axes(n, gone);
    if (k < 0)
        return;
    y.rank = attr_int(n, "keepdims") ? x.rank : x.rank - k;
    for (int i = 0; i < x.rank; i++) {
        if (attr_int(n, "keepdims"))
            y.dim[i] = dim_select(gone[i], D(1), x.dim[i]);
        for (int j = 0; !attr_int(n, "keepdims") && j < y.rank; j++)
            y.dim[j] = dim_select(dim_mul(dim_sub(D(1), gone[i]), dim_eq_expr(before, D(j))), x.dim[i],
                                  i == 0 ? D(0) : y.dim[j]);
        before = dim_add(before, dim_sub(D(1), gone[i]));
    }
    if (!are_axes_known(gone, x.rank)) /* checks that they are distinct and in range */
        assume_dim(n, before, D(x.rank - k));
    set_out(n, 0, in_type(n, 0), y);
    if (!reduce_pattern(x, gone, &p)) {
        attr_set_string(n, "how", n->op->name);
        n->op = op_find("onnxcc", "ReduceInSteps", 1);
    }
}

/* Reduces one axis after the other, as (before, axis, 1, after): if an axis is kept, the dimension 1 is reduced
 * instead. */
static void reduce_in_steps(Node *n)
{
    static const struct {
        const char *how, *body;
    } words[] = {
        {"ReduceMean",
         "s = ReduceSum<keepdims=@keepdims>(data, axes) all = Size(data) kept = Size(s) k = onnxcc.Quotient(all, kept) "
         "count = CastLike(k, s) reduced = onnxcc.Quotient(s, count)"},
        {"ReduceL1", "a = Abs(data) reduced = ReduceSum<keepdims=@keepdims>(a, axes)"},
        {"ReduceL2",
         "a = Mul(data, data) s = ReduceSum<keepdims=@keepdims>(a, axes) wide = Cast<to=11>(s) r = Sqrt(wide) "
         "reduced = CastLike(r, s)"},
        {"ReduceSumSquare", "a = Mul(data, data) reduced = ReduceSum<keepdims=@keepdims>(a, axes)"},
        {"ReduceLogSum", "s = ReduceSum<keepdims=@keepdims>(data, axes) reduced = Log(s)"},
    };
    const char *how = attr_string(n, "how");
    Type t = in_type(n, 0), wide = type_wide(t);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (t == wide && !strcmp(words[i].how, how)) {
            expand_body(n, words[i].body);
            return;
        }
    Value *v = make_cast(n, in(n, 0), wide);
    if (t != wide) {
        expand_to(n, make_cast(n, with_int(make(n, how, 2, v, in(n, 1)), "keepdims", attr_int(n, "keepdims")), t));
        return;
    }
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    Dim gone[MAX_RANK], before = D(1);
    reduce_axes(n, gone);
    for (int i = 0; i < x.rank; i++) {
        if (!dim_is(gone[i], 0)) {
            Dim at = dim_sub(D(2), gone[i]), after = shape_product(x, i + 1, x.rank);
            v = make_reshape(n, v, 4, (Dim[]){before, x.dim[i], D(1), after});
            v = make(n, how, 2, v, make_dims(n, 1, &at));
        }
        before = dim_mul(before, dim_select(gone[i], D(1), x.dim[i]));
    }
    expand_to(n, make_reshape(n, v, y.rank, y.dim));
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
    struct reduce_sum_bind p;
    Dim gone[MAX_RANK];
    int k = 0;
    reduce_axes(n, gone);
    if (!reduce_pattern(in_shape(n, 0), gone, &p))
        bug("%s along more axes than its kernel has", n->op->name);
    while (strcmp(kernels[k].op, n->op->name))
        k++;
    bind_kernel(n, kernels[k].kernel, NO_TYPE, NO_TYPE, reduce_sum_fields(), &p, NULL, 0);
}

/* With keepdims the axes can be permuted. */
static bool reduce_permute(Node *n, const int64_t *perm, int rank)
{
    Dim gone[MAX_RANK];
    int64_t axes[MAX_RANK];
    int k = 0;
    if (!attr_int(n, "keepdims") || reduce_axes(n, gone) < 0 || !are_axes_known(gone, rank))
        return false;
    for (int i = 0; i < rank; i++)
        if (dim_is(gone[perm[i]], 1))
            axes[k++] = i;
    if (k > 0 && k < rank)
        node_set_in(n, 1, make_ints(n, k, axes));
    return true;
}

/* Replaces n by its newest version; logarithms of integers are computed in double and truncated. */
static void reduce_today(Node *n, Value *axes)
{
    Type t = in_type(n, 0), wide = strstr(n->op->name, "Log") && !type_is_float(t) ? F64 : t;
    Value *y =
        with_int(make(n, n->op->name, 2, make_cast(n, in(n, 0), wide), axes), "keepdims", attr_int(n, "keepdims"));
    if (attr_is_given(n, "noop_with_empty_axes"))
        attr_set_int(y->def, "noop_with_empty_axes", attr_int(n, "noop_with_empty_axes"));
    expand_to(n, wide == t ? y : make_cast(n, y, t));
}

static void reduce_with_input(Node *n) { reduce_today(n, in(n, 1)); }

/* Older versions: the axes are an attribute. */
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
    if (x.rank)
        assume_dim(n, dim_max(x.dim[a], D(1)), x.dim[a]);
    for (int i = 0; i < x.rank; i++)
        if (i != a || attr_int(n, "keepdims"))
            y.dim[y.rank++] = i == a ? D(1) : x.dim[i];
    set_out(n, 0, I64, y);
}

static bool arg_permute(Node *n, const int64_t *perm, int rank)
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
#define NOW_BY(name, version, types, older, by)                                                                          \
    {name, version, WITH_INPUT, "T=" types, WITH_INPUT_ATTRS, reduce_infer, reduce_bind, .permute = reduce_permute,      \
     .compatible = older, .reduces_by = by}
#define NOW(name, version, types, older) NOW_BY(name, version, types, older, NULL)
#define THEN(name, version, types, older)                                                                                \
    {name, version, "data:T -> reduced:T", "T=" types, "axes:ints? keepdims:int=1", .expand = reduce_with_attribute,     \
     .compatible = older}
#define THEN_13(name) THEN(name, 13, WIDE "FB", "11 T=" WIDE "F; 1 T=" WIDE "F")
#define REDUCE(name) NOW(name, 18, WIDE "FB", NULL), THEN_13(name)
#define EXTREME(name, by)                                                                                              \
    NOW_BY(name, 20, WIDE BYTES "bool|FB", "18 T=" WIDE BYTES "FB", by),                                               \
    THEN(name, 13, WIDE BYTES "FB", "12 T=" WIDE BYTES "F; 11 T=" WIDE "F; 1 T=" WIDE "F")
#define LOGARITHM(name)                                                                                                \
    NOW(name, 28, "FB", NULL), {name, 18, WITH_INPUT, "T=" WIDE "FB", WITH_INPUT_ATTRS, .expand = reduce_with_input},        \
    THEN_13(name)
#define ARG(name)                                                                                                      \
    {name, 13, "data:T -> reduced:int64", "T=NB", "axis:int=0 keepdims:int=1 select_last_index:int=0",                 \
     .infer = arg_infer, .bind = arg_bind, .permute = arg_permute,                                                     \
     .compatible = "12 T=N; 11 T=N / axis:int=0 keepdims:int=1; 1 T=N / axis:int=0 keepdims:int=1"}

/* clang-format off */
static const Op reduce_ops[] = {
    NOW_BY("ReduceSum", 13, WIDE "FB", NULL, "add"), THEN("ReduceSum", 11, WIDE "F", "1"),
    REDUCE("ReduceMean"), REDUCE("ReduceL1"), REDUCE("ReduceL2"), REDUCE("ReduceSumSquare"),
    NOW_BY("ReduceProd", 18, WIDE "FB", NULL, "mul"), THEN_13("ReduceProd"), EXTREME("ReduceMax", "max"), EXTREME("ReduceMin", "min"),
    LOGARITHM("ReduceLogSum"), LOGARITHM("ReduceLogSumExp"),
    ARG("ArgMax"), ARG("ArgMin"),
    {"ReduceInSteps", 1, WITH_INPUT, "T=" WIDE BYTES "bool|FB", WITH_INPUT_ATTRS " how:string", .expand = reduce_in_steps,
     .domain = "onnxcc"},
};
/* clang-format on */
OPS(reduce_ops);
