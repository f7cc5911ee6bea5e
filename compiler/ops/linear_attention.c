/* linear_attention.c - LinearAttention. */
#include "../infer.h"
#include "../kernel.h"
#include "linear_attention.h"

/* Does the rule of the node use decay, and beta? False: there is no such rule, or it has not what it
 * needs; reported. */
static bool rule_fits(Node *n)
{
    bool decays = attr_is(n, "update_rule", "gated") || attr_is(n, "update_rule", "gated_delta");
    bool corrects = attr_is(n, "update_rule", "delta") || attr_is(n, "update_rule", "gated_delta");
    if (!decays && !corrects && !attr_is(n, "update_rule", "linear")) {
        node_error(n, "update_rule is \"%s\"", attr_string(n, "update_rule"));
        note_help("linear, gated, delta and gated_delta are possible");
    } else if (decays != (in(n, 4) != NULL))
        node_error(n, "the rule %s %s decay", attr_string(n, "update_rule"), decays ? "needs" : "has no");
    else if (corrects != (in(n, 5) != NULL))
        node_error(n, "the rule %s %s beta", attr_string(n, "update_rule"), corrects ? "needs" : "has no");
    else
        return true;
    return false;
}

static void read_sizes(Node *n, struct linear_attention_bind *p)
{
    Shape q = in_shape(n, 0), v = in_shape(n, 2), decay = in_shape(n, 4), beta = in_shape(n, 5);
    double scale = attr_float(n, "scale");
    *p = (struct linear_attention_bind){
        .batch = q.dim[0], .tokens = q.dim[1], .scale = scale, .default_scale = D(scale == 0)};
    p->q_heads = D(attr_int(n, "q_num_heads"));
    p->kv_heads = D(attr_int(n, "kv_num_heads"));
    p->size = dim_div(q.dim[2], p->q_heads);
    p->v_size = dim_div(v.dim[2], p->kv_heads);
    p->decay_step = in(n, 4) ? dim_sub(D(1), dim_equal(decay.dim[2], p->kv_heads)) : D(0);
    p->beta_heads = in(n, 5) ? beta.dim[2] : D(0);
}

static void linear_attention_infer(Node *n)
{
    int64_t q_heads = attr_int(n, "q_num_heads"), kv_heads = attr_int(n, "kv_num_heads");
    if (!rule_fits(n))
        return;
    if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads) {
        node_error(n, "%lld query heads are no multiple of %lld key heads", (long long)q_heads, (long long)kv_heads);
        return;
    }
    for (int i = 0; i < n->n_in; i++)
        if (in(n, i) && in_shape(n, i).rank != (i == 3 ? 4 : 3)) {
            node_error(n, "input %d, %s, must have %d dimensions", i, shape_text(in_shape(n, i)), i == 3 ? 4 : 3);
            return;
        }
    struct linear_attention_bind p;
    Shape y = in_shape(n, 0);
    read_sizes(n, &p);
    for (int i = 1; i < n->n_in; i++)
        if (in(n, i)) {
            require_dim(n, "batch of an input", in_shape(n, i).dim[0], p.batch);
            require_dim(n, i == 3 ? "heads of the state" : "tokens of an input", in_shape(n, i).dim[1],
                        i == 3 ? p.kv_heads : p.tokens);
        }
    require_dim(n, "elements of the queries in equal heads", dim_mul(p.q_heads, p.size), y.dim[2]);
    require_dim(n, "elements of the keys", in_shape(n, 1).dim[2], dim_mul(p.kv_heads, p.size));
    require_dim(n, "elements of the values in equal heads", dim_mul(p.kv_heads, p.v_size), in_shape(n, 2).dim[2]);
    if (in(n, 3)) {
        require_dim(n, "rows of the state", in_shape(n, 3).dim[2], p.size);
        require_dim(n, "columns of the state", in_shape(n, 3).dim[3], p.v_size);
    }
    if (in(n, 4))
        require_dim(n, "elements of decay", in_shape(n, 4).dim[2],
                    dim_mul(p.kv_heads, dim_select(p.decay_step, p.size, D(1))));
    if (in(n, 5))
        require_dim(n, "elements of beta", p.beta_heads, dim_select(dim_equal(p.beta_heads, D(1)), D(1), p.kv_heads));
    y.dim[2] = dim_mul(p.q_heads, p.v_size);
    set_out(n, 0, in_type(n, 0), y);
    set_out(n, 1, in(n, 3) ? in_type(n, 3) : in_type(n, 0), shape_list(4, p.batch, p.kv_heads, p.size, p.v_size));
}

static void linear_attention_bind(Node *n)
{
    struct linear_attention_bind p;
    read_sizes(n, &p);
    bind_kernel(n, "linear_attention", in_type(n, 0), in(n, 3) ? in_type(n, 3) : in_type(n, 0),
                linear_attention_fields(), &p, NULL, 0);
    bind_scratch(n, dim_mul(D(4), dim_mul(dim_add(p.size, D(1)), p.v_size)));
}

static const Op linear_attention_ops[] = {
    {"LinearAttention", 27, "query:T key:T value:T past_state?:S decay?:T beta?:T -> output:T present_state:S",
     "T=float|float16|bfloat16 S=float|float16|bfloat16",
     "chunk_size:int=64 kv_num_heads:int q_num_heads:int scale:float=0 update_rule:string=gated_delta",
     .infer = linear_attention_infer, .bind = linear_attention_bind},
};
OPS(linear_attention_ops);
