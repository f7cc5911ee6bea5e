/* microsoft_nchwc.c - the domain com.microsoft.nchwc: what ONNX Runtime's optimiser makes of convolutions and pools for
 * one processor. An image (N, C, H, W) is stored as (N, C / block, H, W, block) there, with C rounded up to whole
 * blocks of 8 or 16. Only operators of this domain see that order: between ReorderInput and ReorderOutput images are
 * plain here, with the additional channels, and only the weights are brought into the order of ONNX. */
#include "base/options.h"
#include "ir/opset.h"
#include "ir/spatial.h"
#include "microsoft.h"
#include "passes/infer.h"

#define NCHWC "com.microsoft.nchwc"

static bool is_nchwc(const Node *n, const char *op)
{
    return n && n->op && !strcmp(n->op->name, op) && n->op->domain && !strcmp(n->op->domain, NCHWC);
}

/* ---- channels in a block ----------------------------------------------------------------------------------------- */

PART(int, block) /* 0: not known yet */

/* The weights of n, if it is a convolution in blocks with constant ones. */
static const Tensor *weights_of(const Node *n)
{
    const Value *w = is_nchwc(n, "Conv") ? in(n, 1) : NULL;
    return w && w->data && w->data->rank == 4 ? w->data : NULL;
}

static bool keeps_channels(const Node *n)
{
    return is_nchwc(n, "MaxPool") || is_nchwc(n, "AveragePool") || is_nchwc(n, "GlobalMaxPool") ||
           is_nchwc(n, "GlobalAveragePool") || is_nchwc(n, "Upsample");
}

/* The channels of v, in whole blocks, by the convolution before it; 0: not known. */
static int64_t channels_after(const Value *v)
{
    const Node *n = v->def;
    while (keeps_channels(n) && in(n, 0))
        n = in(n, 0)->def;
    return weights_of(n) ? weights_of(n)->dim[0] : 0;
}

/* The channels of v before ReorderInput, if it is the result of that. 0: not known. */
static int64_t channels_before(const Value *v)
{
    const Node *n = v ? v->def : NULL;
    const Shape *x = is_nchwc(n, "ReorderInput") && in(n, 0) ? in(n, 0)->shape : NULL;
    int axis = x && attr_int(n, "channels_last") ? x->rank - 1 : 1;
    return x && axis >= 0 && x->rank > axis && dim_is_const(x->dim[axis]) ? dim_value(x->dim[axis]) : 0;
}

/* Are there at least 8 more channels than those? The numbers may be any integers. */
static bool are_8_more(Dim channels, Dim than) { return dim_low(dim_sub(channels, than)) >= 8; }

/* Sets of[0] to n if its numbers of channels exclude blocks of 16, or of[1] if they exclude blocks of 8, whose padding
 * is at most 7 channels. */
static void find_evidence(const Node *n, const Node **of)
{
    const Tensor *w = weights_of(n);
    if (w) {
        int64_t outputs = w->dim[0], inputs = w->dim[1], used = channels_before(in(n, 0));
        Dim all = dim_mul(D(inputs), D(attr_int(n, "group")));
        if (outputs % 16 || (inputs > 16 && inputs % 16))
            of[0] = n;
        if ((inputs > 8 && inputs < 16) || (used && are_8_more(all, D(used))))
            of[1] = n;
    }
    if (is_nchwc(n, "ReorderOutput") && in(n, 0) && are_8_more(D(channels_after(in(n, 0))), D(attr_int(n, "channels"))))
        of[1] = n;
}

/* Sets the block of the model: by the numbers of channels, or --channel-block. False: unknown, reported at n. */
static bool find_block(Node *n)
{
    const Node *of[2] = {NULL, NULL}; /* what shows that blocks have 8, 16 channels */
    int64_t given = opt()->channel_block;
    if (*block())
        return true;
    EACH_NODE (other, n->graph->model->graph)
        find_evidence(other, of);
    if (of[0] && of[1])
        return node_error(n, "%s has blocks of 8 channels, %s of 16", node_place(of[0]), node_place(of[1]));
    if (given && (of[0] || of[1]) && (given == 8) != (of[0] != NULL))
        return node_error(n, "--channel-block=%lld, but %s has blocks of %d channels", (long long)given,
                          node_place(of[0] ? of[0] : of[1]), of[0] ? 8 : 16);
    if (!of[0] && !of[1] && !given) {
        node_error(n, "channels are in blocks of 8 or of 16, as the processor has them on which the model was saved");
        note_help("if that was ARM's or had AVX-512: --channel-block=16; else --channel-block=8");
        note_help("a model saved with graph_optimization_level = ORT_ENABLE_EXTENDED is for all processors");
        return false;
    }
    *block() = of[0] ? 8 : of[1] ? 16 : (int)given;
    return true;
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

/* The weights (O, I, H, W), stored as (O / block, I / block, H, W, block of I, block of O); where every group has one
 * channel, or the image has fewer than a block, as (O / block, I, H, W, block of O). */
static Value *plain_weights(Node *n, int64_t b)
{
    Shape w = in_shape(n, 1);
    static const int64_t whole[] = {0, 5, 1, 4, 2, 3}, part[] = {0, 4, 1, 2, 3};
    bool single = dim_value(w.dim[1]) == 1 && attr_int(n, "group") == dim_value(w.dim[0]);
    bool inside = !single && dim_value(w.dim[1]) >= b; /* the image is in blocks, too */
    Dim outer = D(dim_value(w.dim[0]) / b), inner = D(dim_value(w.dim[1]) / b);
    Value *v = inferred(inside ? make_reshape(n, in(n, 1), 6, (Dim[]){outer, inner, w.dim[2], w.dim[3], D(b), D(b)})
                               : make_reshape(n, in(n, 1), 5, (Dim[]){outer, w.dim[1], w.dim[2], w.dim[3], D(b)}));
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", inside ? 6 : 5, inside ? whole : part);
    return inferred(make_reshape(n, inferred(v), 4, w.dim));
}

static void conv_expand(Node *n)
{
    Shape w = in_shape(n, 1);
    if (!find_block(n))
        return;
    int64_t b = *block(), inputs = 0;
    if (w.rank == 4 && shape_is_const(w))
        inputs = dim_value(w.dim[1]);
    if (!inputs || dim_value(w.dim[0]) % b || (inputs >= b && inputs % b)) {
        node_error(n, "the weights %s are not in blocks of %lld channels", shape_text(w), (long long)b);
        return;
    }
    expand_conv(n, plain_weights(n, b));
}

/* ---- pools and resizing ------------------------------------------------------------------------------------------ */

/* Replaces n by ONNX's operator of the same name. */
static void pool_expand(Node *n)
{
    Value *y = make(n, n->op->name, 1, in(n, 0));
    attrs_without(n, "storage_order", y->def);
    expand_to(n, y);
}

static void upsample_expand(Node *n)
{
    const int64_t *by;
    int k = attr_ints(n, "scales", &by);
    if (k != in_shape(n, 0).rank) {
        node_error(n, "%d scales for %s", k > 0 ? k : 0, shape_text(in_shape(n, 0)));
        return;
    }
    Value *y = make(n, "Resize", 3, in(n, 0), NULL, make_cast(n, make_ints(n, k, by), F32));
    attr_set_string(y->def, "mode", attr_string(n, "mode"));
    attr_set_string(y->def, "coordinate_transformation_mode", attr_string(n, "coordinate_transformation_mode"));
    attr_set_string(y->def, "nearest_mode", "floor");
    expand_to(n, y);
}

/* ---- into blocks and out of them --------------------------------------------------------------------------------- */

/* Fills the last block of channels with zeros. */
static void input_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    bool last = attr_int(n, "channels_last") != 0;
    if (x.rank < 3) {
        node_error(n, "%s is no image", shape_text(x));
        return;
    }
    if (!find_block(n))
        return;
    Value *y = last ? channels_moved(n, in(n, 0), x.rank, false) : in(n, 0);
    Dim channels = x.dim[last ? x.rank - 1 : 1], b = D(*block());
    Dim more[2 * MAX_RANK];
    for (int i = 0; i < 2 * x.rank; i++)
        more[i] = D(0);
    more[x.rank + 1] = dim_sub(dim_mul(dim_ceil(channels, b), b), channels);
    if (!dim_is(more[x.rank + 1], 0))
        y = make(n, "Pad", 2, y, make_dims(n, 2 * x.rank, more));
    expand_to(n, make(n, "Identity", 1, y));
}

/* Drops the channels that fill the last block. */
static void output_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    int64_t channels = attr_int(n, "channels"), zero = 0, one = 1;
    if (x.rank < 3 || channels < 1) {
        node_error(n, "%lld channels of %s", (long long)channels, shape_text(x));
        return;
    }
    if (!require_dim(n, "channels, with those that are used", dim_max(x.dim[1], D(channels)), x.dim[1]))
        return;
    Value *y = make(n, "Slice", 4, in(n, 0), make_ints(n, 1, &zero), make_ints(n, 1, &channels), make_ints(n, 1, &one));
    expand_to(n, attr_int(n, "channels_last") ? channels_moved(n, y, x.rank, true) : y);
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define WINDOWS "auto_pad:string=NOTSET dilations:ints? pads:ints? strides:ints? "

static const Op microsoft_nchwc_ops[] = {
    {"Conv", 1, "X:T W:T B?:T Sum?:T -> Y:T", "T=float",
     WINDOWS "activation:string? activation_params:floats? group:int=1 kernel_shape:ints?", .expand = conv_expand,
     .domain = NCHWC},
    {"MaxPool", 1, "X:T -> Y:T", "T=float", WINDOWS "ceil_mode:int=0 kernel_shape:ints storage_order:int=0",
     .expand = pool_expand, .domain = NCHWC},
    {"AveragePool", 1, "X:T -> Y:T", "T=float", WINDOWS "ceil_mode:int=0 count_include_pad:int=0 kernel_shape:ints",
     .expand = pool_expand, .domain = NCHWC},
    {"GlobalMaxPool", 1, "X:T -> Y:T", "T=float", "", .expand = pool_expand, .domain = NCHWC},
    {"GlobalAveragePool", 1, "X:T -> Y:T", "T=float", "", .expand = pool_expand, .domain = NCHWC},
    {"Upsample", 1, "X:T -> Y:T", "T=float",
     "coordinate_transformation_mode:string=asymmetric mode:string=nearest scales:ints?", .expand = upsample_expand,
     .domain = NCHWC},
    {"ReorderInput", 1, "X:T -> Y:T", "T=float", "channels_last:int=0", .expand = input_expand, .domain = NCHWC},
    {"ReorderOutput", 1, "X:T -> Y:T", "T=float", "channels:int=0 channels_last:int=0", .expand = output_expand,
     .domain = NCHWC},
};
OPS(microsoft_nchwc_ops);
