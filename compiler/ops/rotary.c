/* rotary.c - RotaryEmbedding. */
#include "../infer.h"
#include "../kernel.h"
#include "rotary.h"

/* x is (batch, heads, seq, size), or (batch, seq, heads * size). False: neither, and reported. */
static bool rotary_read(Node *n, struct rotary_bind *p)
{
    Shape x = in_shape(n, 0), c = in_shape(n, 1), s = in_shape(n, 2), ids = in_shape(n, 3);
    int64_t heads = attr_int(n, "num_heads"), turned = attr_int(n, "rotary_embedding_dim");
    if ((x.rank != 4 && x.rank != 3) || (x.rank == 3 && heads < 1)) {
        node_error(n, x.rank == 3 ? "num_heads is needed to split %s" : "the input %s has neither 3 nor 4 dimensions",
                   shape_text(x));
        return false;
    }
    bool packed = x.rank == 3;
    p->batch = x.dim[0];
    p->heads = packed ? D(heads) : x.dim[1];
    p->seq = x.dim[packed ? 1 : 2];
    p->size = packed ? dim_div(x.dim[2], p->heads) : x.dim[3];
    p->step = packed ? x.dim[2] : p->size;
    p->head_step = packed ? p->size : dim_mul(p->seq, p->size);
    p->half = turned ? D(turned / 2) : dim_div(p->size, D(2));
    p->interleaved = D(attr_int(n, "interleaved") != 0);
    int rank = in(n, 3) ? 2 : 3;
    if (c.rank != rank || s.rank != rank || (in(n, 3) && ids.rank != 2)) {
        node_error(n, "the caches %s and %s must have %d dimensions, position_ids two", shape_text(c), shape_text(s),
                   rank);
        return false;
    }
    p->rows = shape_product(c, 0, rank - 1);
    return true;
}

static void rotary_infer(Node *n)
{
    struct rotary_bind p;
    if (!rotary_read(n, &p))
        return;
    Shape x = in_shape(n, 0), c = in_shape(n, 1), s = in_shape(n, 2), rows = in(n, 3) ? in_shape(n, 3) : c;
    for (int i = 0; i < c.rank; i++)
        require_dim(n, "sin_cache is not shaped as cos_cache", s.dim[i], c.dim[i]);
    require_dim(n, "angles in a row of the caches", c.dim[c.rank - 1], p.half);
    require_dim(n, "elements of a head that the rotation needs", dim_max(p.size, dim_mul(p.half, D(2))), p.size);
    require_dim(n, "batch of the positions", rows.dim[0], p.batch);
    require_dim(n, "length of the positions", rows.dim[1], p.seq);
    if (x.rank == 3)
        require_dim(n, "elements in equal heads", dim_mul(p.size, p.heads), x.dim[2]);
    infer_same(n);
}

static void rotary_bind(Node *n)
{
    struct rotary_bind p;
    if (rotary_read(n, &p))
        bind_kernel(n, "rotary", NO_TYPE, NO_TYPE, rotary_fields(), &p, NULL, 0);
}

static const Op rotary_ops[] = {
    {"RotaryEmbedding", 23, "X:T cos_cache:T sin_cache:T position_ids?:int64 -> Y:T", "T=float|float16|bfloat16",
     "interleaved:int=0 num_heads:int=0 rotary_embedding_dim:int=0", .infer = rotary_infer, .bind = rotary_bind,
     .flags = INPLACE},
};
OPS(rotary_ops);
