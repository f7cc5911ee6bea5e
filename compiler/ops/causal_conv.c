/* causal_conv.c - CausalConvWithState. */
#include "../infer.h"
#include "../kernel.h"
#include "causal_conv.h"

static void causal_conv_infer(Node *n)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1);
    if (x.rank != 3 || w.rank != 3 || (in(n, 3) && in_shape(n, 3).rank != 3)) {
        node_error(n, "the input %s and the weights %s must have three dimensions, and so must past_state",
                   shape_text(x), shape_text(w));
        return;
    }
    if (!attr_is(n, "activation", "none") && !attr_is(n, "activation", "silu") && !attr_is(n, "activation", "swish")) {
        node_error(n, "activation is \"%s\"", attr_string(n, "activation"));
        note_help("none, silu and swish are possible");
        return;
    }
    Shape state = shape_list(3, x.dim[0], x.dim[1], dim_sub(w.dim[2], D(1)));
    require_dim(n, "channels of the weights", w.dim[0], x.dim[1]);
    require_dim(n, "weights for each channel beside the taps", w.dim[1], D(1));
    if (in(n, 2))
        require_dim(n, "channels of the bias", shape_count(in_shape(n, 2)), x.dim[1]);
    for (int i = 0; in(n, 3) && i < 3; i++)
        require_dim(n, "dimension of past_state", in_shape(n, 3).dim[i], state.dim[i]);
    infer_same(n);
    set_out(n, 1, in_type(n, 0), state);
}

static void causal_conv_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    BIND(n, causal_conv, .batch = x.dim[0], .channels = x.dim[1], .length = x.dim[2], .taps = in_shape(n, 1).dim[2],
         .silu = D(!attr_is(n, "activation", "none")));
}

static const Op causal_conv_ops[] = {
    {"CausalConvWithState", 27, "input:T weight:T bias?:T past_state?:T -> output:T present_state:T",
     "T=float|float16|bfloat16", "activation:string=none", .infer = causal_conv_infer, .bind = causal_conv_bind},
};
OPS(causal_conv_ops);
