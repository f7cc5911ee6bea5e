/* transpose.c - Transpose, DepthToSpace, SpaceToDepth. */
#include "ir/spatial.h"
#include "ir/strided.h"

/* Reads perm: the axis of input 0 at each position of the output; false: wrong, reported. */
static bool read_perm(Node *n, int *perm)
{
    const int64_t *given;
    int rank = in_shape(n, 0).rank, k = attr_ints(n, "perm", &given);
    bool seen[MAX_RANK] = {false};
    if (k >= 0 && k != rank)
        return node_error(n, "perm has %d axes, the input %s has %d", k, shape_text(in_shape(n, 0)), rank);
    for (int i = 0; i < rank; i++) {
        if (k >= 0 && (given[i] < 0 || given[i] >= rank))
            return error_node(n, "ATT-13", "perm[%d] is %lld, which is outside [0, %d]", i, (long long)given[i],
                              rank - 1);
        perm[i] = k < 0 ? rank - 1 - i : (int)given[i];
        if (seen[perm[i]])
            return node_error(n, "axis %d is in perm twice", perm[i]);
        seen[perm[i]] = true;
    }
    return true;
}

static void transpose_infer(Node *n)
{
    Shape x = in_shape(n, 0), y = x;
    int perm[MAX_RANK];
    if (!read_perm(n, perm))
        return;
    for (int i = 0; i < x.rank; i++)
        y.dim[i] = x.dim[perm[i]];
    set_out(n, 0, in_type(n, 0), y);
}

static void transpose_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    Dim from[MAX_RANK], to[MAX_RANK];
    int perm[MAX_RANK];
    Strided s = {0};
    if (!read_perm(n, perm))
        return;
    shape_strides(x, from);
    shape_strides(y, to);
    for (int i = 0; i < y.rank; i++)
        strided_axis(&s, y.dim[i], from[perm[i]], to[i]);
    strided_bind(n, s);
}

/* ---- blocks of pixels and channels ------------------------------------------------------------------------- */

/* Checks rank 4, blocksize and mode; the block size, or 0. *crd: the block's own axes are the inner part of
 * channels. */
static int64_t read_block(Node *n, bool *crd)
{
    int64_t b = attr_int(n, "blocksize");
    *crd = attr_is(n, "mode", "CRD");
    if (in_shape(n, 0).rank != 4)
        node_error(n, "the input %s must have 4 dimensions", shape_text(in_shape(n, 0)));
    else if (b < 1 || b > INT32_MAX)
        node_error(n, "blocksize is %lld, and must be 1 or more", (long long)b);
    else if (!*crd && !attr_is(n, "mode", "DCR"))
        node_error(n, "mode '%s' is neither DCR nor CRD", printable(name(attr_string(n, "mode"))));
    else
        return b;
    return 0;
}

static Dim divide(Node *n, Dim d, int64_t by)
{
    if (dim_is_const(d) && dim_value(d) % by)
        node_error(n, "a dimension of %s is not a multiple of %lld", shape_text(in_shape(n, 0)), (long long)by);
    else
        assume_dim(n, dim_mod(d, D(by)), D(0));
    return dim_div(d, D(by));
}

static void depth_to_space_infer(Node *n)
{
    bool crd;
    int64_t b = read_block(n, &crd);
    Shape x = in_shape(n, 0);
    if (b)
        set_out(n, 0, in_type(n, 0),
                shape_list(4, x.dim[0], divide(n, x.dim[1], b * b), dim_mul(x.dim[2], D(b)), dim_mul(x.dim[3], D(b))));
}

static void space_to_depth_infer(Node *n)
{
    bool crd;
    int64_t b = read_block(n, &crd);
    Shape x = in_shape(n, 0);
    if (b)
        set_out(n, 0, in_type(n, 0),
                shape_list(4, x.dim[0], dim_mul(x.dim[1], D(b * b)), divide(n, x.dim[2], b), divide(n, x.dim[3], b)));
}

/* Binds both operators as a strided copy between `deep` (n, c b b, h, w) and `wide` (n, c, h b, w b). */
static void block_bind(Node *n, Shape deep, Shape wide, bool deep_to_wide)
{
    bool crd;
    int64_t b = read_block(n, &crd);
    if (!b)
        return;
    Dim h = deep.dim[2], w = deep.dim[3], c = wide.dim[1], area = dim_mul(h, w), big = dim_mul(area, D(b * b));
    Dim row =
        crd ? dim_mul(area, D(b))
            : dim_mul(dim_mul(area, c), D(b)); /* strides in deep of a block's rows and columns, and of channels */
    Dim column = crd ? area : dim_mul(area, c), channel = crd ? big : area;
    Dim wide_row = dim_mul(w, D(b));
    const Dim axes[6][3] = {/* size, stride in deep, stride in wide */
                            {deep.dim[0], dim_mul(big, c), dim_mul(big, c)},
                            {c, channel, big},
                            {h, w, dim_mul(wide_row, D(b))},
                            {D(b), row, wide_row},
                            {w, D(1), D(b)},
                            {D(b), column, D(1)}};
    static const int order[2][6] = {{0, 1, 2, 3, 4, 5}, {0, 3, 5, 1, 2, 4}}; /* axes in the order of the output */
    Strided s = {0};
    for (int i = 0; i < 6; i++) {
        const Dim *a = axes[order[!deep_to_wide][i]];
        strided_axis(&s, a[0], deep_to_wide ? a[1] : a[2], deep_to_wide ? a[2] : a[1]);
    }
    strided_bind(n, s);
}

static void depth_to_space_bind(Node *n) { block_bind(n, in_shape(n, 0), *out(n, 0)->shape, true); }
static void space_to_depth_bind(Node *n) { block_bind(n, *out(n, 0)->shape, in_shape(n, 0), false); }

bool is_transpose(const Node *n, int64_t *perm)
{
    if (!n || n->op->infer != transpose_infer)
        return false;
    const int rank = in_shape(n, 0).rank;
    const int64_t *given;
    const int k = attr_ints(n, "perm", &given);
    for (int i = 0; i < rank && perm; i++)
        perm[i] = k != rank ? rank - 1 - i : given[i] < 0 ? given[i] + rank : given[i];
    return true;
}

Node *make_transpose(Node *by, Value *v, const int64_t *perm)
{
    Node *t = node_new(by->graph, "Transpose", 1, &v, 1);
    t->source = by->source;
    attr_set_ints(t, "perm", v->shape->rank, perm);
    return t;
}

#define MODE "blocksize:int mode:string=DCR"

static const Op transpose_ops[] = {
    {"Transpose", 25, "data:T -> transposed:T", "T=ALL13", "perm:ints?", .infer = transpose_infer,
     .bind = transpose_bind, .flags = MOVES, .compatible = "24 T=ALL12; 23 T=ALL11; 21 T=ALL10; 13 T=ALLB; 1 T=ALL"},
    {"DepthToSpace", 28, "input:T -> output:T", "T=ALLB", MODE, .infer = depth_to_space_infer,
     .bind = depth_to_space_bind, .flags = MOVES, .compatible = "13; 11 T=ALL; 1 T=ALL / blocksize:int"},
    {"SpaceToDepth", 28, "input:T -> output:T", "T=ALLB", MODE, .infer = space_to_depth_infer,
     .bind = space_to_depth_bind, .flags = MOVES, .compatible = "13 / blocksize:int; 1 T=ALL / blocksize:int"},
};
OPS(transpose_ops);
