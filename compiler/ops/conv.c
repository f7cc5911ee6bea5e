/* conv.c - Conv, ConvTranspose, CausalConvWithState: in ONNX's layout, or channels last with weights packed by a node
 * that layout inserts and that folds. */
#include "base/options.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "ir/schema.h"
#include "ir/spatial.h"
#include "ir/strided.h"
#include "passes/infer.h"
#include "causal_conv.h"
#include "conv.h"
#include "convcoded.h"
#include "convtranspose.h"
#include "depthcoded.h"
#include "depthwise.h"
#include "stored.h"

/* Values of the attribute `pack`, which layout adds with the others that describe the original weights. */
enum { PACK_NONE, PACK_PANELS, PACK_DEPTHWISE };

/* A convolution, independent of the form of its weights. transposed: w is (inputs, outputs, kernel). */
typedef struct Conv {
    Image x;
    Windows w;
    bool transposed;
    int64_t group, cin, cout; /* cin, cout: of one group */
    int pack;
    bool splat; /* the packed weights are a splat, represented by 16 elements */
} Conv;

static bool read_pack(Node *n, Conv *c)
{
    c->pack = attr_is_given(n, "pack") ? (int)attr_int(n, "pack") : PACK_NONE;
    c->splat = attr_is_given(n, "splat");
    if (c->pack == PACK_NONE)
        return false;
    c->cout = attr_int(n, "cout");
    c->cin = attr_int(n, "cin");
    return true;
}

/* Checks that x and the weights have matching channels, and that the weights have a constant shape. */
static bool read_weights(Node *n, Conv *c, int64_t *kernel)
{
    Shape w = in_shape(n, 1);
    if (w.rank != c->x.axes + 2)
        return node_error(n, "the weights %s need %d dimensions like the input %s", shape_text(w), c->x.axes + 2,
                          shape_text(in_shape(n, 0)));
    if (!shape_is_const(w))
        return node_error(n, "the weights %s must have a fixed size", shape_text(w));
    for (int a = 0; a < c->x.axes; a++)
        kernel[a] = dim_value(w.dim[2 + a]);
    int64_t first = dim_value(w.dim[0]), second = dim_value(w.dim[1]);
    if (c->group < 1 || first % c->group || c->group > (first ? first : 1))
        return node_error(n, "%lld groups do not divide the %lld %s channels", (long long)c->group, (long long)first,
                          c->transposed ? "input" : "output");
    c->cout = c->transposed ? second : first / c->group;
    c->cin = c->transposed ? first / c->group : second;
    int64_t outputs = c->cout * c->group;
    if (dim_is_const(c->x.channels) && dim_value(c->x.channels) != c->cin * c->group)
        return node_error(n, "the input %s has %lld channels; %lld groups of weights %s need %lld",
                          shape_text(in_shape(n, 0)), (long long)dim_value(c->x.channels), (long long)c->group,
                          shape_text(w), (long long)(c->cin * c->group));
    Shape b = in_shape(n, 2);
    if (in(n, 2) && (b.rank != 1 || (dim_is_const(b.dim[0]) && dim_value(b.dim[0]) != outputs)))
        return node_error(n, "the bias is %s for %lld output channels", shape_text(b), (long long)outputs);
    return true;
}

static bool conv_read(Node *n, Conv *c)
{
    int64_t weights[AXES];
    c->group = attr_int(n, "group");
    c->transposed = !strcmp(n->op->name, "ConvTranspose");
    if (!image_read(n, 0, &c->x))
        return false;
    const int64_t *kernel = read_pack(n, c) ? NULL : weights;
    if (kernel && !read_weights(n, c, weights))
        return false;
    return c->transposed ? windows_read_transposed(n, &c->x, kernel, &c->w) : windows_read(n, &c->x, kernel, &c->w);
}

static void set_image(Node *n, const Conv *c)
{
    assume_dim(n, c->x.channels, D(c->cin * c->group));
    if (in(n, 2))
        assume_dim(n, shape_count(in_shape(n, 2)), D(c->group * c->cout));
    set_out(n, 0, in_type(n, 0), image_shape(n, &c->x, D(c->group * c->cout), c->w.out));
    image_in_steps(n, &c->x);
}

static void conv_infer(Node *n)
{
    Conv c;
    if (conv_read(n, &c))
        set_image(n, &c);
}

/* ---- channels last ----------------------------------------------------------------------------------------------- */

/* Is vectorising over all output channels better than looping over groups? */
static bool is_depthwise(const Conv *c)
{
    enum { FEW = 8 };
    int64_t lanes = opt()->target->vector / 4, few = lanes < FEW ? lanes : FEW;
    if (c->transposed || c->group == 1)
        return false;
    return c->cin == 1 || (c->cin <= c->cout && c->cout <= few && (c->cout & (c->cout - 1)) == 0);
}

/* The order of the taps of a transposed convolution: phase by phase, in each in reverse. */
static int64_t *order_of_phases(const Windows *w)
{
    const int64_t *k = w->kernel, *s = w->stride;
    int64_t *order = NEWS(int64_t, k[0] * k[1] * k[2] + 1), n = 0;
    for (int64_t phase = 0; phase < s[0] * s[1] * s[2]; phase++) {
        const int64_t at[3] = {phase / s[2] / s[1], phase / s[2] % s[1], phase % s[2]};
        struct conv_phase f[3];
        for (int a = 0; a < 3; a++)
            f[a] = conv_phase((idx)at[a], (idx)k[a], (idx)s[a], (idx)w->dilation[a]);
        for (int64_t i = 0; i < f[0].taps; i++)
            for (int64_t j = 0; j < f[1].taps; j++)
                for (int64_t l = 0; l < f[2].taps; l++)
                    order[n++] = ((f[0].last - i * f[0].every) * k[1] + f[1].last - j * f[1].every) * k[2] + f[2].last -
                                 l * f[2].every;
    }
    return order;
}

/* Makes n read its weights w as codes, if they are. */
static bool pack_codes(Node *n, const Conv *c, Value *w, int64_t pack)
{
    const int64_t taps = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
    Panels panels = {c->group, c->cout, c->cin, taps, c->cin * taps, taps, 1, 1, 0, NULL};
    Coded coded;
    if (pack == PACK_DEPTHWISE) {
        panels.cout *= panels.group;
        panels.group = 1;
    }
    if (c->transposed) {
        panels.w_out = taps;
        panels.w_in = c->cout * taps;
        panels.w_group = c->cin * c->cout * taps;
        panels.order = order_of_phases(&c->w);
    }
    if (!pack_coded_panels(n, w, &panels, &coded))
        return false;
    node_set_inputs(n, 5, (Value *[]){in(n, 0), coded.w, in(n, 2), coded.scale, coded.zero});
    coded_keep(n, &coded);
    n->op = op_find("onnxcc", n->op->name, 1);
    return true;
}

/* *w: the shape (outputs, inputs, kernel) of the weights that a ConvPack reads from a tensor of shape x, transposed by
 * `perm` if it is given; stride: the strides in x of outputs, of inputs, and of the kernel's elements as one axis.
 * False: those have no common stride. */
static bool packed_strides(Shape x, const int64_t *perm, Shape *w, Dim stride[3])
{
    Dim of[MAX_RANK];
    bool common = true;
    shape_strides(x, of);
    *w = x;
    for (int i = 0; perm && i < x.rank; i++)
        w->dim[i] = x.dim[perm[i]];
    for (int i = 0; i < 3; i++)
        stride[i] = i < 2 ? of[perm ? perm[i] : i] : D(1);
    Dim run = D(0);
    for (int i = x.rank; i-- > 2;) {
        const Dim each = of[perm ? perm[i] : i];
        if (dim_is(w->dim[i], 1))
            continue;
        common &= dim_is(run, 0) || dim_identical(each, run);
        stride[2] = dim_is(run, 0) ? each : stride[2];
        run = dim_mul(each, w->dim[i]);
    }
    return common;
}

/* Makes p, a ConvPack of a transposed tensor, read the tensor itself. */
static void pack_through_transpose(Node *p)
{
    int64_t perm[MAX_RANK];
    const Node *t = in(p, 0)->def;
    Shape w;
    Dim stride[3];
    if (in(p, 0)->data || attr_int(p, "depthwise") || !is_transpose(t, perm) || !shape_is_const(in_shape(t, 0)) ||
        !packed_strides(in_shape(t, 0), perm, &w, stride))
        return;
    attr_set_ints(p, "perm", w.rank, perm);
    node_set_in(p, 0, t->in[0]);
}

/* Inserts a node that packs the weights; splat weights are represented by 16 elements. */
static void pack_weights(Node *n, const Conv *c)
{
    Value *w = in(n, 1), *b = in(n, 2);
    int64_t kernel[3], pack = is_depthwise(c) ? PACK_DEPTHWISE : PACK_PANELS;
    int k = c->x.axes;
    (void)applies(REWRITE_PACK, n, "%s, %s%s", remark_value(w),
                  pack == PACK_DEPTHWISE ? "channel by channel" : "in panels",
                  w->data ? "" : ", at every run, as it is no constant");
    for (int a = 0; a < k; a++)
        kernel[a] = c->w.kernel[3 - k + a];
    attr_set_ints(n, "kernel_shape", k, kernel);
    if (b && b->data && b->data->splat && tensor_get(b->data, 0) == 0)
        node_set_in(n, 2, NULL);
    const bool coded = w->data && pack_codes(n, c, w, pack);
    if (w->data && w->data->splat) {
        Shape s = shape_list(1, D(TILE_PANEL));
        node_set_in(n, 1, value_const(n->graph, provenance_splat(tensor_new_fill(F32, s, w->data->data), w)));
        attr_set_int(n, "splat", 1);
    } else if (!coded) {
        Value *late = w->data ? unfolded(n, w) : NULL;
        w = late ? late : w;
        Node *p = node_new(n->graph, c->transposed ? "onnxcc.ConvTransposePack" : "onnxcc.ConvPack", 1, &w, 1);
        p->source = n->source;
        p->name = w->name;
        attr_set_int(p, "group", c->group);
        if (c->transposed) {
            attr_set_ints(p, "strides", k, c->w.stride + 3 - k);
            attr_set_ints(p, "dilations", k, c->w.dilation + 3 - k);
        } else
            attr_set_int(p, "depthwise", pack == PACK_DEPTHWISE);
        node_insert(p, n);
        if (!c->transposed)
            pack_through_transpose(p);
        node_set_in(n, 1, folded_node(p));
    }
    attr_set_int(n, "pack", pack);
    attr_set_int(n, "cin", c->cin);
    attr_set_int(n, "cout", c->cout);
}

static void conv_layout(Node *n)
{
    Conv c;
    if (conv_read(n, &c))
        pack_weights(n, &c);
}

/* The kernel loops over all phases of the stride, which should not be more than the results; packing the weights also
 * loops over the axes' taps in each, which takes MAX_PACK_STEPS at most. */
enum { MAX_PACK_STEPS = 1 << 24 };
static bool transpose_goes_last(Node *n)
{
    Conv c;
    if (!conv_read(n, &c))
        return false;
    int64_t steps = 1 + c.w.kernel[0] + c.w.kernel[1] + c.w.kernel[2];
    for (int a = 0; a < 3; a++) {
        if (c.w.stride[a] > 1 && c.w.stride[a] > dim_high(c.w.out[a]))
            return declines(REWRITE_CHANNELS_LAST, n, "its stride is longer than the result");
        if (c.w.stride[a] > MAX_PACK_STEPS / steps)
            return declines(REWRITE_CHANNELS_LAST, n, "its stride has too many phases");
        steps *= c.w.stride[a];
    }
    return true;
}

static int64_t pack_taps(Shape w) { return dim_value(shape_product(w, 2, w.rank)); }

/* The weights that ConvPack n reads, and their strides. */
static Shape read_packed(const Node *n, Dim stride[3])
{
    const int64_t *perm;
    Shape w;
    packed_strides(in_shape(n, 0), attr_ints(n, "perm", &perm) < 0 ? NULL : perm, &w, stride);
    return w;
}

static void pack_infer(Node *n)
{
    Dim stride[3];
    Shape w = read_packed(n, stride);
    int64_t group = attr_int(n, "group"), outputs = dim_value(w.dim[0]) / group;
    if (attr_int(n, "depthwise"))
        set_out(n, 0, F32, shape_list(3, D(pack_taps(w)), w.dim[1], w.dim[0]));
    else
        set_out(n, 0, F32,
                shape_list(4, D(group), D((outputs + TILE_PANEL - 1) / TILE_PANEL),
                           D(pack_taps(w) * dim_value(w.dim[1])), D(TILE_PANEL)));
}

static void pack_bind(Node *n)
{
    Dim stride[3];
    Shape w = read_packed(n, stride);
    int64_t group = attr_int(n, "group");
    if (attr_int(n, "depthwise")) {
        Strided s = {0};
        strided_axis(&s, w.dim[0], dim_mul(w.dim[1], D(pack_taps(w))), D(1));
        strided_axis(&s, w.dim[1], D(pack_taps(w)), w.dim[0]);
        strided_axis(&s, D(pack_taps(w)), D(1), dim_mul(w.dim[1], w.dim[0]));
        strided_bind(n, s);
    } else
        BIND(n, conv_pack, .group = D(group), .cout = D(dim_value(w.dim[0]) / group), .cin = w.dim[1],
             .taps = D(pack_taps(w)), .w_out = stride[0], .w_in = stride[1], .w_tap = stride[2]);
}

static void transpose_pack_infer(Node *n)
{
    Shape w = in_shape(n, 0);
    int64_t group = attr_int(n, "group"), panels = (dim_value(w.dim[1]) + TILE_PANEL - 1) / TILE_PANEL;
    set_out(n, 0, F32,
            shape_list(4, D(pack_taps(w)), D(group * panels), D(dim_value(w.dim[0]) / group), D(TILE_PANEL)));
}

static void transpose_pack_bind(Node *n)
{
    Shape w = in_shape(n, 0);
    const int64_t *stride, *dilation;
    Dim k[3] = {D(1), D(1), D(1)}, s[3] = {D(1), D(1), D(1)}, d[3] = {D(1), D(1), D(1)};
    int axes = attr_ints(n, "strides", &stride);
    attr_ints(n, "dilations", &dilation);
    for (int a = 0; a < axes; a++) {
        k[3 - axes + a] = w.dim[2 + a];
        s[3 - axes + a] = D(stride[a]);
        d[3 - axes + a] = D(dilation[a]);
    }
    BIND(n, conv_transpose_pack, .group = D(attr_int(n, "group")), .cin = D(dim_value(w.dim[0]) / attr_int(n, "group")),
         .cout = w.dim[1], .kernel = DIMS3(k), .stride = DIMS3(s), .dilation = DIMS3(d));
}

/* Reshapes the axes for the kernels: the width should be the longest one; a window as wide as the image turns its
 * pixels into channels; a 1x1 convolution with stride 1 and without pads is a product of matrices, with all pixels in
 * one row. */
static void straighten(Conv *c)
{
    Image *x = &c->x;
    Windows *w = &c->w;
    bool point = !w->padded;
    for (int a = 0; a < 3; a++)
        point &= w->kernel[a] == 1 && w->stride[a] == 1;
    if (point) {
        x->size[2] = w->out[2] = dim_mul(x->n, x->pixels);
        x->size[0] = x->size[1] = w->out[0] = w->out[1] = x->n = D(1);
        return;
    }
    if (!w->padded && c->group == 1 && w->dilation[2] == 1 && dim_is(x->size[2], w->kernel[2])) {
        c->cin *= w->kernel[2];
        w->kernel[2] = w->stride[2] = 1;
        x->size[2] = w->out[2] = D(1);
    }
    for (int pass = 0; pass < 2 && dim_is(x->size[2], 1) && dim_is(w->out[2], 1) && w->kernel[2] == 1; pass++)
        for (int a = 2; a > 0; a--) {
            Dim size = x->size[a], out = w->out[a], pad = w->pad[a];
            int64_t kernel = w->kernel[a], stride = w->stride[a], dilation = w->dilation[a];
            x->size[a] = x->size[a - 1], w->out[a] = w->out[a - 1], w->pad[a] = w->pad[a - 1];
            w->kernel[a] = w->kernel[a - 1], w->stride[a] = w->stride[a - 1], w->dilation[a] = w->dilation[a - 1];
            x->size[a - 1] = size, w->out[a - 1] = out, w->pad[a - 1] = pad;
            w->kernel[a - 1] = kernel, w->stride[a - 1] = stride, w->dilation[a - 1] = dilation;
        }
}

/* The part of the weights that is used in one pass over the pixels: it fits half of a second-level cache. */
typedef struct Passes {
    int64_t columns, taps, depth;
    bool several;
} Passes;

static Passes conv_passes(const Conv *c)
{
    enum { CACHE = 400000, COLUMNS = 64 };
    int64_t kernel = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2], k = kernel * c->cin;
    Passes p = {c->cout, kernel, c->cin * c->w.kernel[2], false};
    if (k * c->cout * 4 <= CACHE)
        return p;
    p.several = true;
    p.columns = CACHE / (k * 4) / COLUMNS * COLUMNS;
    if (p.columns)
        return p;
    p.columns = COLUMNS;
    if (kernel > 1) {
        p.taps = CACHE / (c->w.kernel[2] * c->cin * COLUMNS * 4);
        p.taps = p.taps > 0 ? p.taps : 1;
    } else
        p.depth = CACHE / (COLUMNS * 4);
    return p;
}

static Dim reach(const Windows *w, int a, Dim windows)
{
    return dim_add(dim_mul(dim_sub(windows, D(1)), D(w->stride[a])), D((w->kernel[a] - 1) * w->dilation[a] + 1));
}

/* Kernels point into the scratch even where there are no channels to copy. */
static void bind_padded(Node *n, const Conv *c, Dim bytes)
{
    if (c->w.padded)
        bind_scratch(n, c->cin > 0 ? bytes : D(sizeof(float)));
}

#define CONV_FIELDS(c)                                                                                                 \
    .n = (c).x.n, .group = D((c).group), .cin = D((c).cin), .cout = D((c).cout), .in = DIMS3((c).x.size),              \
    .out = DIMS3((c).w.out), .kernel = THREE((c).w.kernel), .stride = THREE((c).w.stride),                             \
    .dilation = THREE((c).w.dilation), .pad = DIMS3((c).w.pad)

/* ---- weights as codes -------------------------------------------------------------------------------------------- */

/* What is expanded at a time of weights that are codes: taps and inputs of `columns` outputs; room: values of k. */
typedef struct Part {
    int64_t taps[3], inputs, columns, room;
} Part;

/* kernel: the longest one; sum: values of k in one sum, of which a part is no more. */
static Part coded_part(const Conv *c, const int64_t *kernel, int64_t sum)
{
    enum { MOST = 16384 }; /* floats; the wider the vectors, the dearer small parts */
    const int64_t vector = opt()->target->vector, panels = (c->cout + TILE_PANEL - 1) / TILE_PANEL * TILE_PANEL;
    const int64_t widest = vector >= 64 ? 64 : TILE_PANEL, k = kernel[0] * kernel[1] * kernel[2] * c->cin;
    const int64_t columns = panels < widest ? panels : widest;
    const int64_t upper = (vector >= 32 ? MOST : coded_room()) / columns;
    const int64_t room = upper < sum ? upper : sum;
    int64_t length = c->cin;
    Part p = {.columns = columns, .inputs = length < room ? length : room};
    p.room = p.inputs;
    for (int a = 3; a-- > 0;) {
        length *= kernel[a];
        const bool fits = length <= room && (sum >= k || sum % length == 0);
        p.taps[a] = fits ? kernel[a] : 1;
        p.room = fits ? length : p.room;
    }
    return p;
}

/* Values of k in one sum of the convolution whose weights were expanded before. */
static int64_t values_in_sum(const Conv *c)
{
    const Passes p = conv_passes(c);
    const bool joined = (c->w.padded || c->group == 1) && c->w.dilation[2] == 1;
    const int64_t run = c->cin * (joined ? c->w.kernel[2] : 1), all = p.depth < run ? p.depth : p.taps * run;
    const int64_t k = c->cin * c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
    return all < k ? all : k;
}

static Dim patch_of(const Conv *c)
{
    const Windows *w = &c->w;
    return dim_mul(dim_mul(D(c->group * c->cin * 4), dim_mul(reach(w, 0, D(1)), reach(w, 1, D(1)))),
                   reach(w, 2, dim_min(D(TILE_MAX_ROWS), w->out[2])));
}

#define PART_FIELDS(p) .part = THREE((p).taps), .inputs = D((p).inputs), .room = D((p).room), .columns = D((p).columns)

static void bind_codes(Node *n, const Conv *c, const Coded *coded)
{
    const Image *x = &c->x;
    Conv part = *c;
    const int64_t k = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2] * c->cin, sum = values_in_sum(c);
    const Part p = coded_part(c, c->w.kernel, sum);
    memcpy(part.w.kernel, p.taps, sizeof p.taps);
    const Dim patch = patch_of(&part);
    Dim floats = D(p.columns * (1 + p.room));
    if (k > sum)
        floats = dim_add(floats,
                         dim_mul(D(p.columns), dim_mul(x->n, dim_mul(dim_mul(c->w.out[0], c->w.out[1]), c->w.out[2]))));
    BIND_ARGS(n, conv_coded, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), NULL, in(n, 3), in(n, 4), out(n, 0)),
              CONV_FIELDS(*c), .x_pitch = D(c->group * c->cin), .y_pitch = D(c->group * c->cout),
              .r_pitch = D(c->group * c->cout), CODED_FIELDS(*coded), PART_FIELDS(p), .sum = D(sum),
              .padded = D(c->w.padded), .lo = -__builtin_inf(), .hi = __builtin_inf());
    bind_scratch(n, dim_add(dim_mul(floats, D(4)), c->w.padded ? patch : D(0)));
    if (c->w.padded)
        n->call.scratch_pitch = dim_div(patch, D(c->group * c->cin));
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void bind_panels(Node *n, Conv c)
{
    enum { SMALL = 16 << 10 }; /* bytes: up to here, padding the whole image is cheap */
    Coded coded;
    straighten(&c);
    if (coded_read(n, &coded)) {
        bind_codes(n, &c, &coded);
        return;
    }
    Image *x = &c.x;
    Windows *w = &c.w;
    Passes p = conv_passes(&c);
    int64_t k = w->kernel[0] * w->kernel[1] * w->kernel[2] * c.cin, panels = (c.cout + TILE_PANEL - 1) / TILE_PANEL;
    Dim whole =
        dim_mul(D(c.cin * 4), dim_mul(reach(w, 0, w->out[0]), dim_mul(reach(w, 1, w->out[1]), reach(w, 2, w->out[2]))));
    Dim patch = patch_of(&c);
    bool all = w->padded && (p.several || dim_high(whole) <= SMALL);
    BIND_ARGS(n, conv, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), NULL, out(n, 0)), .n = x->n,
              .in = DIMS3(x->size), .out = DIMS3(w->out), .group = D(c.group), .cin = D(c.cin), .cout = D(c.cout),
              .kernel = THREE(w->kernel), .stride = THREE(w->stride), .dilation = THREE(w->dilation),
              .pad = DIMS3(w->pad), .x_pitch = D(c.group * c.cin), .y_pitch = D(c.group * c.cout),
              .r_pitch = D(c.group * c.cout), .w_k = D(c.splat ? 0 : TILE_PANEL),
              .w_panel = D(c.splat ? 0 : k * TILE_PANEL), .w_group = D(c.splat ? 0 : panels * k * TILE_PANEL),
              .columns = D(p.columns), .taps = D(p.taps), .depth = D(p.depth), .whole = D(all), .lo = -__builtin_inf(),
              .hi = __builtin_inf());
    bind_padded(n, &c, all ? whole : patch);
    if (w->padded && !all)
        n->call.scratch_pitch = dim_div(patch, D(c.group * c.cin));
}

static void bind_depthwise(Node *n, Conv c)
{
    const Windows *w = &c.w;
    const int64_t channels = c.group * c.cout, each = !c.splat, indices = c.cin > 1 || c.cout > 1;
    Coded coded;
#define DEPTHWISE                                                                                                      \
    .n = c.x.n, .in = DIMS3(c.x.size), .out = DIMS3(w->out), .cin = D(c.cin), .cout = D(c.cout), .channels = D(channels), \
    .kernel = THREE(w->kernel), .stride = THREE(w->stride), .dilation = THREE(w->dilation), .pad = DIMS3(w->pad),      \
    .x_pitch = D(c.group * c.cin), .y_pitch = D(channels), .lo = -__builtin_inf(), .hi = __builtin_inf()
    if (coded_read(n, &coded)) {
        const int64_t k = w->kernel[0] * w->kernel[1] * w->kernel[2] * c.cin;
        const int64_t groups = c.cout / gcd(c.cout, TILE_PANEL) * TILE_PANEL, fit = coded_room() / k / groups;
        const int64_t most = (channels + TILE_PANEL - 1) / TILE_PANEL * TILE_PANEL, some = (fit ? fit : 1) * groups;
        const int64_t columns = some < most ? some : most;
        BIND_ARGS(n, conv_depthwise_coded, F32, NO_TYPE,
                  ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 3), in(n, 4), out(n, 0)), DEPTHWISE, .columns = D(columns),
                  CODED_FIELDS(coded));
        bind_scratch(n, D((k * (columns + TILE_PANEL) + indices * columns) * 4));
        return;
    }
    BIND_ARGS(n, conv_depthwise, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), out(n, 0)), DEPTHWISE,
              .w_tap = D(each * c.cin * channels), .w_in = D(each * channels), .w_channel = D(each));
    if (indices)
        bind_scratch(n, D((channels + 15) / 16 * 64));
#undef DEPTHWISE
}

static void count_macs(Node *n, const Conv *c, int image, int64_t channels)
{
    Value *v = image ? out(n, 0) : in(n, 0);
    Dim macs = dim_mul(shape_count(*v->shape), D(channels * c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2]));
    n->macs = dim_high(macs) < INT64_MAX ? dim_high(macs) : 0; /* at the bounds */
}

static void conv_bind(Node *n)
{
    Conv c;
    if (!conv_read(n, &c))
        return;
    count_macs(n, &c, 1, c.cin);
    if (c.pack == PACK_DEPTHWISE)
        bind_depthwise(n, c);
    else if (c.pack == PACK_PANELS)
        bind_panels(n, c);
    else
        BIND_ARGS(n, conv_plain, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), out(n, 0)), CONV_FIELDS(c));
}

/* The kernels do a convolution for each phase of the stride: with a part of the taps, on all of x. */
static void bind_transposed(Node *n, Conv c)
{
    Conv phase = c; /* the largest one */
    int64_t every[3];
    Coded coded;
    for (int a = 0; a < 3; a++) {
        int64_t *k = &phase.w.kernel[a], s = c.w.stride[a], d = c.w.dilation[a], common = 1;
        for (int64_t f = 2; f <= s && f <= d; f++)
            common = s % f == 0 && d % f == 0 ? f : common;
        *k = (*k + s / common - 1) / (s / common);
        every[a] = d / common;
    }
    const int64_t sum = c.cin * phase.w.kernel[0] * phase.w.kernel[1] * phase.w.kernel[2];
    const bool is_coded = coded_read(n, &coded);
    const Part p = coded_part(&c, phase.w.kernel, sum);
    Dim patch = D(c.group * c.cin * 4), even = dim_eq_expr(dim_mod(c.w.out[2], D(c.w.stride[2])), D(0));
    for (int a = 0; a < 3; a++) {
        Dim reach = D(((is_coded ? p.taps : phase.w.kernel)[a] - 1) * every[a] + 1);
        patch = dim_mul(patch, a < 2 ? reach : dim_add(reach, dim_min(D(TILE_MAX_ROWS - 1), c.w.out[2])));
    }
    if (is_coded) {
        BIND_ARGS(n, conv_transpose_coded, F32, NO_TYPE,
                  ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 3), in(n, 4), out(n, 0)), CONV_FIELDS(c),
                  .w_k = D(TILE_PANEL), PART_FIELDS(p), .sum = D(sum), CODED_FIELDS(coded), .even = even,
                  .padded = D(c.w.padded), .lo = -__builtin_inf(), .hi = __builtin_inf());
        bind_scratch(n, dim_add(D(4 * p.columns * (1 + p.room)), c.w.padded ? patch : D(0)));
        return;
    }
    BIND_ARGS(n, conv_transpose, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), out(n, 0)), CONV_FIELDS(c),
              .w_k = D(c.splat ? 0 : TILE_PANEL), .columns = D(conv_passes(&phase).columns), .even = even,
              .lo = -__builtin_inf(), .hi = __builtin_inf());
    bind_padded(n, &c, patch);
}

/* Makes c, a transposed convolution, the equal plain one; its weights are packed with the taps in reverse order. False:
 * it has a stride, or would have negative pads. */
static bool make_convolution(Conv *c)
{
    bool may = true;
    for (int a = 0; a < 3; a++) {
        Dim pad = dim_sub(D((c->w.kernel[a] - 1) * c->w.dilation[a]), c->w.pad[a]);
        may &= c->w.stride[a] == 1 && dim_is_const(pad) && dim_value(pad) >= 0;
        c->w.pad[a] = pad;
    }
    for (int a = 0; a < 3; a++)
        c->w.padded |= !dim_is(c->w.pad[a], 0) || !dim_identical(reach(&c->w, a, c->w.out[a]), c->x.size[a]);
    return may;
}

static void transpose_bind(Node *n)
{
    Conv c, forward;
    if (!conv_read(n, &c))
        return;
    count_macs(n, &c, 0, c.cout);
    forward = c;
    if (c.pack && make_convolution(&forward))
        bind_panels(n, forward);
    else if (c.pack)
        bind_transposed(n, c);
    else
        BIND_ARGS(n, conv_transpose_plain, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), out(n, 0)),
                  CONV_FIELDS(c));
}

/* Folds a scale: w * factor along w's axis of output channels, (b or 0) * factor + offset. */
static bool fold_scale(Node *n, int axis, Value *factor, Value *offset)
{
    Value *w = in(n, 1), *b = in(n, 2);
    if (!in_is_const(n, 1) || (b && !in_is_const(n, 2)) || attr_is_given(n, "pack"))
        return declines(REWRITE_SCALE, n, "its weights or its bias are no constants");
    if (factor) {
        int64_t shape[MAX_RANK];
        for (int i = 0; i < w->shape->rank; i++)
            shape[i] = i == axis ? -1 : 1;
        Value *f = folded_node(make(n, "Reshape", 2, factor, make_ints(n, w->shape->rank, shape))->def);
        node_set_in(n, 1, weights_times(n, w, f));
        if (b)
            b = folded_node(make(n, "Mul", 2, b, factor)->def);
    }
    if (offset && b)
        b = folded_node(make(n, "Add", 2, b, offset)->def);
    else if (offset)
        b = offset;
    node_set_inputs(n, b ? 3 : 2, (Value *[]){in(n, 0), in(n, 1), b});
    return true;
}

static bool conv_fold_scale(Node *n, Value *factor, Value *offset) { return fold_scale(n, 0, factor, offset); }

/* With several groups, the axis has only the channels of one. */
static bool transpose_fold_scale(Node *n, Value *factor, Value *offset)
{
    if (attr_int(n, "group") != 1)
        return declines(REWRITE_SCALE, n, "its groups share an axis of the weights");
    return fold_scale(n, 1, factor, offset);
}

/* ---- CausalConvWithState ----------------------------------------------------------------------------------------- */

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
    Dim past = dim_sub(w.dim[2], D(1));
    if (!require_size(n, "number of past elements that the weights take", &past))
        return;
    Shape state = shape_list(3, x.dim[0], x.dim[1], past);
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

#define CONV_ATTRIBUTES                                                                                                \
    "auto_pad:string=NOTSET dilations:ints? group:int=1 kernel_shape:ints? pads:ints? strides:ints?"
#define CONV(name, more, ...)                                                                                          \
    {name, 22, "x:T w:T b?:T -> y:T", "T=FB",                                                                          \
     CONV_ATTRIBUTES more,                                                                                             \
     __VA_ARGS__, .compatible = "11 T=F; 1 T=F"}

/* The same of weights that stay as they are stored. */
#define CODED_CONV(name, more, ...)                                                                                    \
    {name, 1, "x:float w:W b?:float scale?:S zero?:Z -> y:float", CODED_TYPES,                                         \
     CONV_ATTRIBUTES more " pack:int cin:int cout:int", conv_infer, __VA_ARGS__, .flags = EPILOGUE | CHANNELS_LAST,    \
     .domain = "onnxcc"}

static const Op conv_ops[] = {
    CONV("Conv", "", conv_infer, conv_bind, .flags = EPILOGUE | CHANNELS_LAST, .layout = conv_layout,
         .fold_scale = conv_fold_scale),
    {"ConvPack", 1, "w:T -> y:T", "T=float", "group:int=1 depthwise:int=0 perm:ints?", pack_infer, pack_bind,
     .domain = "onnxcc"},
    CONV("ConvTranspose", " output_padding:ints? output_shape:ints?", conv_infer, transpose_bind,
         .flags = EPILOGUE | CHANNELS_LAST, .goes_last = transpose_goes_last, .layout = conv_layout,
         .fold_scale = transpose_fold_scale),
    CODED_CONV("Conv", "", conv_bind),
    CODED_CONV("ConvTranspose", " output_padding:ints? output_shape:ints?", transpose_bind),
    {"ConvTransposePack", 1, "w:T -> y:T", "T=float", "group:int=1 strides:ints dilations:ints", transpose_pack_infer,
     transpose_pack_bind, .domain = "onnxcc"},
    {"CausalConvWithState", 27, "input:T weight:T bias?:T past_state?:T -> output:T present_state:T",
     "T=float|float16|bfloat16", "activation:string=none", .infer = causal_conv_infer, .bind = causal_conv_bind},
};
OPS(conv_ops);
