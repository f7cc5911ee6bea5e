/* flex_attention.c - FlexAttention: attention whose scores and probabilities the model's own graphs change. */
#include "../ops.h"

/* What the graph in the attribute makes of v: its nodes move before n, reading v; v itself without that attribute. */
static Value *changed(Node *n, const char *attr, Value *v)
{
    Attr *a = node_attr(n, attr);
    if (!a)
        return v;
    if (a->g->in.n != 1 || a->g->out.n != 1) {
        node_error(n, "%s has %d inputs and %d outputs instead of one each", attr, a->g->in.n, a->g->out.n);
        return v;
    }
    value_replace(a->g->in.at[0], v);
    while (a->g->first)
        node_move(a->g->first, n);
    return a->g->out.at[0];
}

/* Keys or values with an axis of 1 for the query heads that share one. */
static Value *shared(Node *n, int i, Type t)
{
    return make_cast(n, make(n, "Unsqueeze", 2, in(n, i), make_ints(n, 1, (int64_t[]){2})), t);
}

/* q * scale in the type of q; the scale is 1 / sqrt(size) if none is given. */
static Value *scaled_queries(Node *n)
{
    Type t = in_type(n, 0);
    if (attr_given(n, "scale"))
        return make(n, "Mul", 2, in(n, 0), make_scalar(n, t, attr_float(n, "scale")));
    Value *size = make(n, "Shape", 1, in(n, 0));
    attr_set_int(size->def, "start", 3);
    return make(n, "Div", 2, in(n, 0), make(n, "Sqrt", 1, make_cast(n, size, t)));
}

/* softmax(score_mod(q k^T)) changed by prob_mod, times v, with the queries as (batch, key heads, group, rows, size). */
static Value *by_parts(Node *n, Type precision)
{
    Shape q = in_shape(n, 0), k = in_shape(n, 1);
    Dim batch = q.dim[0], heads = k.dim[1], group = dim_div(q.dim[1], dim_max(heads, D(1))), rows = q.dim[2],
        keys = k.dim[2];
    const Dim grouped[] = {batch, heads, group, rows, q.dim[3]}, split[] = {batch, heads, group, rows, keys};
    Value *queries = make_reshape(n, scaled_queries(n), 5, grouped);
    Value *scores = make(n, "onnxcc.Product", 2, queries, shared(n, 1, in_type(n, 0)));
    attr_set_int(scores->def, "trans_b", 1);
    scores = make_cast(n, make_reshape(n, scores, 4, (Dim[]){batch, q.dim[1], rows, keys}), precision);
    Value *p = make(n, "Softmax", 1, changed(n, "score_mod", scores));
    p = make_reshape(n, changed(n, "prob_mod", p), 5, split);
    Value *y = make(n, "onnxcc.Product", 2, p, shared(n, 2, precision));
    return make_reshape(n, make_cast(n, y, in_type(n, 0)), 4, (Dim[]){batch, q.dim[1], rows, in_shape(n, 2).dim[3]});
}

/* Without such graphs it is the kernel of Attention. */
static void flex_attention_expand(Node *n)
{
    Type t = in_type(n, 0), precision = t == F64 ? F64 : F32;
    if (attr_given(n, "softmax_precision"))
        precision = attr_type(n, "softmax_precision", attr_int(n, "softmax_precision"));
    if (!precision)
        return;
    for (int i = 0; i < 3; i++)
        if (in_shape(n, i).rank != 4) {
            node_error(n, "input %d, %s, must have four dimensions", i, shape_text(in_shape(n, i)));
            return;
        }
    if (attr_given(n, "score_mod") || attr_given(n, "prob_mod"))
        replace_out(n, 0, by_parts(n, precision));
    else {
        Value *y = make(n, "Attention", 3, in(n, 0), in(n, 1), in(n, 2));
        attr_set_int(y->def, "softmax_precision", precision);
        if (attr_given(n, "scale"))
            attr_set_float(y->def, "scale", attr_float(n, "scale"));
        replace_out(n, 0, y);
    }
    expand_done(n);
}

static const Op flex_attention_ops[] = {
    {"FlexAttention", 1, "Q:T1 K:T1 V:T1 -> Y:T1", "T1=FB",
     "prob_mod:graph? scale:float? score_mod:graph? softmax_precision:int?", .expand = flex_attention_expand,
     .domain = "ai.onnx.preview"},
};
OPS(flex_attention_ops);
