/* rnn.c - LSTM, GRU, RNN, and DynamicQuantizeLSTM and AttnLSTM of com.microsoft: the products with the inputs are one
 * product for all steps; an internal operator does the recurrence, for AttnLSTM one step at a time. */
#include <strings.h>

#include "gradient/gradient.h"
#include "ir/call.h"
#include "microsoft_attention.h"
#include "passes/infer.h"
#include "rnn.h"
#include "stored.h"

/* The parameters of an LSTM, GRU or RNN. */
typedef struct Cell {
    const char *kind, *internal;
    int gates, functions; /* per direction */
    int directions;
    Dim steps, batch, width, hidden;
    Dim attention; /* elements that the cell reads beside the inputs */
    Type type;
    bool batch_first, transposed; /* transposed: the weights are (directions, inputs, gates) */
    int64_t act[6];
    float alpha[6], beta[6];
} Cell;

/* ---- activation functions ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool takes_alpha, takes_beta;
    float alpha, beta; /* defaults */
} activations[] = {
    [RNN_TANH] = {"Tanh", 0, 0, 0, 0},
    [RNN_SIGMOID] = {"Sigmoid", 0, 0, 0, 0},
    [RNN_RELU] = {"Relu", 0, 0, 0, 0},
    [RNN_AFFINE] = {"Affine", 1, 1, 1, 0},
    [RNN_LEAKY_RELU] = {"LeakyRelu", 1, 0, 0.01f, 0},
    [RNN_THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 0, 1, 0},
    [RNN_SCALED_TANH] = {"ScaledTanh", 1, 1, 1, 1},
    [RNN_HARD_SIGMOID] = {"HardSigmoid", 1, 1, 0.2f, 0.5f},
    [RNN_ELU] = {"Elu", 1, 0, 1, 0},
    [RNN_SOFTSIGN] = {"Softsign", 0, 0, 0, 0},
    [RNN_SOFTPLUS] = {"Softplus", 0, 0, 0, 0},
};
enum { N_ACTIVATIONS = sizeof activations / sizeof *activations };

static int find_activation(Node *n, const char *name)
{
    for (int i = 0; i < N_ACTIVATIONS; i++)
        if (!strcasecmp(activations[i].name, name))
            return i;
    node_error(n, "activation '%s' is none of %s ... %s", name, activations[0].name,
               activations[N_ACTIVATIONS - 1].name);
    return 0;
}

/* Reads the functions of every direction. Those with an alpha or beta consume the attributes' values in order. */
static void read_activations(Node *n, Cell *c)
{
    const Name *names;
    const float *alphas, *betas;
    int k = attr_strings(n, "activations", &names), want = c->functions * c->directions;
    int n_alpha = attr_floats(n, "activation_alpha", &alphas), n_beta = attr_floats(n, "activation_beta", &betas);
    bool given = k > 0;
    if (given && k < want) {
        node_error(n, "activations lists %d functions instead of %d", k, want);
        return;
    }
    for (int i = 0, a = 0, b = 0; i < want; i++) {
        bool gate = i % c->functions == 0 && c->functions > 1; /* f: of the gates; g and h: of the cell */
        int f = given ? find_activation(n, names[i]->s) : gate ? RNN_SIGMOID : RNN_TANH;
        c->act[i] = f;
        c->alpha[i] = activations[f].alpha;
        c->beta[i] = activations[f].beta;
        if (activations[f].takes_alpha && a < n_alpha)
            c->alpha[i] = alphas[a++];
        if (activations[f].takes_beta && b < n_beta)
            c->beta[i] = betas[b++];
    }
}

/* ---- reading a node ---------------------------------------------------------------------------------------------- */

static bool read_cell(Node *n, Cell *c)
{
    Shape x = in_shape(n, 0), r = in_shape(n, 2);
    c->type = in_type(n, 0);
    int errors = error_count();
    bool both = attr_is(n, "direction", "bidirectional");
    if (!both && !attr_is(n, "direction", "reverse") && !attr_is(n, "direction", "forward"))
        node_error(n, "direction is '%s' instead of forward, reverse or bidirectional", attr_string(n, "direction"));
    if (x.rank != 3 || r.rank != 3)
        return node_error(n, "inputs 0 and 2 are %s and %s: they need three axes", shape_text(x), shape_text(r));
    int64_t layout = n->op->since_version >= 14 ? attr_int(n, "layout") : 0;
    if (layout != 0 && layout != 1)
        node_error(n, "layout is %lld, not 0 or 1", (long long)layout);
    if (attr_is_given(n, "clip") && !(attr_float(n, "clip") > 0))
        node_error(n, "clip is %g, not above 0", attr_float(n, "clip"));
    c->directions = both ? 2 : 1;
    c->batch_first = n->op->since_version >= 14 && attr_int(n, "layout") != 0;
    c->steps = x.dim[c->batch_first ? 1 : 0];
    c->batch = x.dim[c->batch_first ? 0 : 1];
    c->width = x.dim[2];
    c->hidden = r.dim[c->transposed ? 1 : 2];
    if (!dim_is_const(c->hidden) || dim_is(c->hidden, 0))
        return node_error(n, "input 2 is %s: the number of hidden units is not known", shape_text(r));
    if (attr_is_given(n, "hidden_size") && attr_int(n, "hidden_size") != dim_value(c->hidden))
        node_error(n, "hidden_size is %lld, but input 2 is %s", (long long)attr_int(n, "hidden_size"), shape_text(r));
    Dim d = D(c->directions), gates = dim_mul(D(c->gates), c->hidden);
    for (int i = 1; i < 3; i++) {
        Dim inputs = i == 1 ? dim_add(c->width, c->attention) : c->hidden;
        require_shape(n, i, c->transposed ? shape_list(3, d, inputs, gates) : shape_list(3, d, gates, inputs));
    }
    require_shape(n, 3, shape_list(2, d, dim_mul(D(2), gates)));
    require_shape(n, 4, shape_list(1, c->batch));
    for (int i = 5; i < 7; i++)
        if (c->batch_first)
            require_shape(n, i, shape_list(3, c->batch, d, c->hidden));
        else
            require_shape(n, i, shape_list(3, d, c->batch, c->hidden));
    require_shape(n, 7, shape_list(2, d, dim_mul(D(3), c->hidden)));
    read_activations(n, c);
    return error_count() == errors;
}

/* ---- expansion --------------------------------------------------------------------------------------------------- */

/* Splits input 3, (directions, k), along axis 1 into parts of these sizes. */
static Node *split_bias(Node *n, int parts, const Dim *sizes)
{
    Value *inputs[] = {in(n, 3), value_const(n->graph, tensor_dims(parts, sizes))};
    Node *s = make_node(n, "Split", 2, inputs, parts);
    attr_set_int(s, "axis", 1);
    return s;
}

/* x W^T + the biases that can be added before the steps: (steps, batch, directions * gates * hidden). */
static Value *project(Node *n, const Cell *c, Value *x, Value *w, Value *bias)
{
    Dim columns = dim_mul(dim_mul(D(c->directions), D(c->gates)), c->hidden);
    x = make_reshape(n, x, 2, (Dim[]){dim_mul(c->steps, c->batch), c->width});
    w = make_reshape(n, w, 2, (Dim[]){columns, c->width});
    Value *y = with_int(make(n, "Gemm", 3, x, w, bias ? make_reshape(n, bias, 1, &columns) : NULL), "transB", 1);
    Dim first = c->batch_first ? c->batch : c->steps, second = c->batch_first ? c->steps : c->batch;
    return make_reshape(n, y, 3, (Dim[]){first, second, columns});
}

static void attr_set_floats(Node *n, const char *attr, int k, const float *v)
{
    float *copy = NEWS(float, k);
    memcpy(copy, v, sizeof *v * (size_t)k);
    attr_set(n, (Attr){.name = name(attr), .type = A_FLOATS, .n = k, .floats = copy});
}

static Value *packed(Node *n, Value *r) { return make(n, "onnxcc.RnnPack", 1, r); }

/* The internal node before `at` for the recurrence, or a part of it. */
static Node *steps_node(Node *at, const Node *n, const Cell *c, int n_in, Value **inputs, int n_out)
{
    Node *m = make_node(at, c->internal, n_in, inputs, n_out);
    int k = c->functions * c->directions;
    attr_set_int(m, "hidden", dim_value(c->hidden));
    attr_set_int(m, "directions", c->directions);
    attr_set_int(m, "reverse", attr_is(n, "direction", "reverse"));
    attr_set_int(m, "batch_first", c->batch_first);
    attr_set_float(m, "clip", attr_is_given(n, "clip") ? attr_float(n, "clip") : 0);
    attr_set_ints(m, "act", k, c->act);
    attr_set_floats(m, "alpha", k, c->alpha);
    attr_set_floats(m, "beta", k, c->beta);
    if (!strcmp(c->kind, "LSTM"))
        attr_set_int(m, "variant", attr_int(n, "input_forget") != 0);
    if (!strcmp(c->kind, "GRU") && n->op->since_version > 1)
        attr_set_int(m, "variant", attr_int(n, "linear_before_reset") != 0);
    return m;
}

/* Replaces n by the recurrence; products: of the inputs; r: the recurrent weights, (directions, gates * hidden,
 * hidden); extra: its inputs after the sequence lengths. */
static void make_steps(Node *n, const Cell *c, Value *products, Value *r, int n_extra, Value **extra)
{
    Value *inputs[8];
    inputs[0] = products;
    inputs[1] = packed(n, r);
    inputs[2] = make_within(n, in(n, 4), 0, c->steps, false);
    memcpy(inputs + 3, extra, sizeof *extra * (size_t)n_extra);
    Node *m = steps_node(n, n, c, 3 + n_extra, inputs, n->n_out);
    for (int i = 0; i < n->n_out; i++) {
        if (!out(n, i))
            m->out[i] = NULL;
        else
            replace_out(n, i, m->out[i]);
    }
    expand_done(n);
}

/* The sum of the biases of W and R. */
static Value *all_bias(Node *n, const Cell *c)
{
    if (!in(n, 3))
        return NULL;
    Dim half = dim_mul(D(c->gates), c->hidden);
    Node *s = split_bias(n, 2, (Dim[]){half, half});
    return make(n, "Add", 2, s->out[0], s->out[1]);
}

static void lstm_expand(Node *n)
{
    Cell c = {.kind = "LSTM", .internal = "onnxcc.LstmSteps", .gates = 4, .functions = 3};
    Value *extra[] = {in(n, 5), in(n, 6), in(n, 7)};
    if (read_cell(n, &c))
        make_steps(n, &c, project(n, &c, in(n, 0), in(n, 1), all_bias(n, &c)), in(n, 2), 3, extra);
}

/* With linear_before_reset the recurrent bias of gate h is inside a product, so the recurrence adds it. */
static void gru_expand(Node *n)
{
    Cell c = {.kind = "GRU", .internal = "onnxcc.GruSteps", .gates = 3, .functions = 2};
    Value *extra[] = {in(n, 5), NULL}, *bias;
    if (!read_cell(n, &c))
        return;
    if (in(n, 3) && n->op->since_version > 1 && attr_int(n, "linear_before_reset")) {
        Dim two = dim_mul(D(2), c.hidden);
        Node *s = split_bias(n, 4, (Dim[]){two, c.hidden, two, c.hidden});
        bias = with_int(make(n, "Concat", 2, make(n, "Add", 2, s->out[0], s->out[2]), s->out[1]), "axis", 1);
        extra[1] = s->out[3];
    } else {
        bias = all_bias(n, &c);
    }
    make_steps(n, &c, project(n, &c, in(n, 0), in(n, 1), bias), in(n, 2), 2, extra);
}

static void rnn_expand(Node *n)
{
    Cell c = {.kind = "RNN", .internal = "onnxcc.RnnSteps", .gates = 1, .functions = 1};
    Value *extra[] = {in(n, 5)};
    if (read_cell(n, &c))
        make_steps(n, &c, project(n, &c, in(n, 0), in(n, 1), all_bias(n, &c)), in(n, 2), 1, extra);
}

/* ---- DynamicQuantizeLSTM ----------------------------------------------------------------------------------------- */

/* Input i, a number per direction or per direction and gate, for every gate of every direction. */
static Value *per_gate(Node *n, const Cell *c, int i)
{
    Dim d = D(c->directions), gates = dim_mul(D(c->gates), c->hidden), all = dim_mul(d, gates);
    Value *v = in(n, i);
    if (v->shape->rank == 1)
        v = make(n, "Expand", 2, make(n, "Unsqueeze", 2, v, make_ints(n, 1, (int64_t[]){1})),
                 make_dims(n, 2, (Dim[]){d, gates}));
    return make_reshape(n, v, 1, &all);
}

/* The inputs as 8-bit integers. Their scale and zero point are those of the steps up to the end of the longest
 * sequence. */
static Node *quantize_inputs(Node *n)
{
    Value *x = in(n, 0), *zero = make_ints(n, 1, (int64_t[]){0});
    if (in(n, 4)) {
        Value *end = with_int(make(n, "ReduceMax", 1, in(n, 4)), "keepdims", 1);
        x = make(n, "Slice", 4, x, zero, make_cast(n, end, I64), zero);
    }
    return make_node(n, "DynamicQuantizeLinear", 1, &x, 3);
}

/* The same as project, of integers. */
static Value *project_quantized(Node *n, const Cell *c)
{
    static const int64_t inputs_first[] = {1, 0, 2};
    Node *q = quantize_inputs(n);
    Value *x = in(n, 4) ? make(n, "QuantizeLinear", 3, in(n, 0), q->out[1], q->out[2]) : q->out[0],
          *bias = all_bias(n, c);
    Value *w = make(n, "Transpose", 1, in(n, 1));
    attr_set_ints(w->def, "perm", 3, inputs_first);
    Dim columns = dim_mul(dim_mul(D(c->directions), D(c->gates)), c->hidden);
    w = make_reshape(n, w, 2, (Dim[]){c->width, columns});
    Value *y = make(n, "MatMulInteger", 4, x, w, q->out[2], per_gate(n, c, 9));
    y = make(n, "Mul", 2, make_cast(n, y, F32), make(n, "Mul", 2, q->out[1], per_gate(n, c, 8)));
    return bias ? make(n, "Add", 2, y, make_reshape(n, bias, 1, &columns)) : y;
}

/* v, 8-bit integers of the weights' type, shifted to those with a sign. */
static Value *as_signed(Node *n, Value *v)
{
    v = make_cast(n, v, I32);
    return in_type(n, 2) == U8 ? make(n, "Sub", 2, v, make_scalar(n, I32, 128)) : v;
}

static void dynamic_quantize_lstm_expand(Node *n)
{
    static const int64_t gates_first[] = {0, 2, 1};
    Cell c = {.kind = "LSTM", .internal = "onnxcc.QuantizedLstmSteps", .gates = 4, .functions = 3, .transposed = true};
    if (!read_cell(n, &c))
        return;
    Dim d = D(c.directions), gates = dim_mul(D(c.gates), c.hidden);
    for (int i = 8; i < 12; i++)
        if (!require_shape(n, i, in_shape(n, i).rank == 1 ? shape_list(1, d) : shape_list(2, d, gates)))
            return;
    Value *r = make(n, "Transpose", 1, make_cast(n, as_signed(n, in(n, 2)), I8));
    attr_set_ints(r->def, "perm", 3, gates_first);
    Value *extra[] = {in(n, 5), in(n, 6), in(n, 7), per_gate(n, &c, 10), as_signed(n, per_gate(n, &c, 11))};
    make_steps(n, &c, project_quantized(n, &c), r, 5, extra);
}

/* ---- AttnLSTM ---------------------------------------------------------------------------------------------------- */

enum { LENGTHS = 4, H0, C0, PEEPHOLES, QUERY_WEIGHTS, KEY_WEIGHTS, SCORES, MEMORY, MEMORY_LENGTHS, LAYER_WEIGHTS };

/* Checks the inputs that an LSTM lacks. */
static bool read_attention(Node *n, Cell *c)
{
    Shape x = in_shape(n, 0), r = in_shape(n, 2), k = in_shape(n, KEY_WEIGHTS), m = in_shape(n, MEMORY);
    Shape last = in(n, LAYER_WEIGHTS) ? in_shape(n, LAYER_WEIGHTS) : m;
    if (x.rank != 3 || r.rank != 3 || k.rank != 3 || m.rank != 3 || last.rank != 3)
        return node_error(n, "X %s, R %s, MW %s, M %s and AW must have three dimensions", shape_text(x), shape_text(r),
                          shape_text(k), shape_text(m));
    Dim d = r.dim[0], batch = x.dim[1];
    c->attention = last.dim[2];
    return require_dim(n, "elements of the memory", m.dim[1], dim_max(m.dim[1], D(1))) &&
           require_dim(n, "sequences of the memory", m.dim[0], batch) &&
           require_shape(n, MEMORY_LENGTHS, shape_list(1, batch)) &&
           require_shape(n, KEY_WEIGHTS, shape_list(3, d, m.dim[2], k.dim[2])) &&
           require_shape(n, QUERY_WEIGHTS, shape_list(3, d, r.dim[2], k.dim[2])) &&
           require_shape(n, SCORES, shape_list(2, d, k.dim[2])) &&
           require_shape(n, LAYER_WEIGHTS, shape_list(3, d, dim_add(r.dim[2], m.dim[2]), c->attention));
}

/* What the steps of one direction read. */
typedef struct Attention {
    Value *products, *attention_weights, *r, *peepholes; /* the cell */
    Value *lengths;                                      /* of the sequences, as a column; NULL: all are whole */
    Value *keys, *query_weights, *scores, *memory, *layer;
    Value *inside; /* (batch, memory): which elements count; NULL: all do */
} Attention;

/* Direction d of v without its axis; NULL: NULL. */
static Value *direction_of(Node *n, Value *v, int d)
{
    return v ? with_int(make(n, "Gather", 2, v, make_int(n, d)), "axis", 0) : NULL;
}

/* v, (steps, batch, ...), with each sequence in reverse. */
static Value *reversed(Node *n, const Cell *c, Value *v, Value *lengths)
{
    lengths = lengths ? make_cast(n, lengths, I64)
                      : make(n, "Expand", 2, make_dims(n, 1, &c->steps), make_dims(n, 1, &c->batch));
    return with_int(with_int(make(n, "ReverseSequence", 2, v, lengths), "time_axis", 0), "batch_axis", 1);
}

/* lengths as a column of I64. */
static Value *column(Node *n, const Cell *c, Value *lengths)
{
    return lengths ? make_reshape(n, make_cast(n, lengths, I64), 2, (Dim[]){c->batch, D(1)}) : NULL;
}

/* What a cell with the result h, (batch, hidden), attends to: the mean of the memory, weighted by the softmax of the
 * scores, and what the layer makes of it and h. */
static Value *attention_of(Node *at, const Cell *c, const Attention *a, Value *h, Shape memory)
{
    Value *query = make(at, "MatMul", 2, h, a->query_weights);
    query = make(at, "Unsqueeze", 2, query, make_ints(at, 1, (int64_t[]){1}));
    Value *e = make(at, "MatMul", 2, make(at, "Tanh", 1, make(at, "Add", 2, a->keys, query)), a->scores);
    if (a->inside)
        e = make(at, "Where", 3, a->inside, e, make_scalar(at, c->type, -__builtin_inf()));
    e = make_reshape(at, make(at, "Softmax", 1, e), 3, (Dim[]){c->batch, D(1), memory.dim[1]});
    Value *mean = make_reshape(at, make(at, "MatMul", 2, e, a->memory), 2, (Dim[]){c->batch, memory.dim[2]});
    return a->layer ? make(at, "MatMul", 2, with_int(make(at, "Concat", 2, h, mean), "axis", 1), a->layer) : mean;
}

/* The loop over the steps; its results: h and c, (1, batch, hidden), the attention, and (steps, 1, batch, hidden). */
static Node *attn_loop(Node *n, const Cell *c, const Attention *a, Value **from)
{
    Node *end = loop_begin(n, c->steps, 3, from);
    Value *const *in = end->graph->in.at, *h = in[2], *cell = in[3], *of[4];
    Value *g = make(end, "Gather", 2, a->products, in[0]);
    g = make(end, "Add", 2, g, make(end, "MatMul", 2, in[4], a->attention_weights));
    g = make(end, "Unsqueeze", 2, g, make_ints(end, 1, (int64_t[]){0}));
    Node *step = steps_node(end, n, c, 6, (Value *[]){g, a->r, NULL, h, cell, a->peepholes}, 3);
    step->out[0] = NULL;
    of[0] = of[3] = step->out[1];
    of[1] = step->out[2];
    if (a->lengths) {
        Value *on = make(end, "Less", 2, in[0], a->lengths);
        of[3] = make(end, "Where", 3, on, of[0], make_scalar(end, c->type, 0));
        of[0] = make(end, "Where", 3, on, of[0], h);
        of[1] = make(end, "Where", 3, on, of[1], cell);
    }
    Shape memory = in_shape(n, MEMORY);
    of[2] = attention_of(end, c, a, make_reshape(end, step->out[1], 2, (Dim[]){c->batch, c->hidden}), memory);
    return loop_end(end, 4, of);
}

/* Y, Y_h and Y_c of direction d; lengths: NULL, or input 4, checked. */
static void attn_direction(Node *n, const Cell *all, int d, Value *lengths, Value **y)
{
    Cell c = *all;
    c.directions = 1;
    for (int i = 0; i < c.functions; i++) {
        c.act[i] = all->act[d * c.functions + i];
        c.alpha[i] = all->alpha[d * c.functions + i];
        c.beta[i] = all->beta[d * c.functions + i];
    }
    bool reverse = d > 0 || attr_is(n, "direction", "reverse");
    Shape m = in_shape(n, MEMORY);
    Value *x = reverse ? reversed(n, &c, in(n, 0), lengths) : in(n, 0), *w = direction_of(n, in(n, 1), d), *from[3];
    Value *bias = all_bias(n, all), *to = column(n, &c, make_within(n, in(n, MEMORY_LENGTHS), 1, m.dim[1], false));
    Attention a = {
        .products = project(n, &c, x, part_of(n, w, 1, D(0), c.width), bias ? direction_of(n, bias, d) : NULL),
        .attention_weights = make(n, "Transpose", 1, part_of(n, w, 1, c.width, c.attention)),
        .r = packed(n, part_of(n, in(n, 2), 0, D(d), D(1))),
        .peepholes = in(n, PEEPHOLES) ? part_of(n, in(n, PEEPHOLES), 0, D(d), D(1)) : NULL,
        .lengths = column(n, &c, lengths),
        .keys = make(n, "MatMul", 2, in(n, MEMORY), direction_of(n, in(n, KEY_WEIGHTS), d)),
        .query_weights = direction_of(n, in(n, QUERY_WEIGHTS), d),
        .scores = direction_of(n, in(n, SCORES), d),
        .memory = in(n, MEMORY),
        .layer = direction_of(n, in(n, LAYER_WEIGHTS), d),
        .inside = to ? make(n, "Less", 2, iota(n, m.dim[1]), to) : NULL,
    };
    for (int i = 0; i < 2; i++)
        from[i] = in(n, H0 + i) ? part_of(n, in(n, H0 + i), 0, D(d), D(1))
                                : filled(n, c.type, 0, 3, (Dim[]){D(1), c.batch, c.hidden});
    from[2] = filled(n, c.type, 0, 2, (Dim[]){c.batch, c.attention});
    Node *loop = attn_loop(n, &c, &a, from);
    y[0] = loop->out[3];
    y[1] = loop->out[0];
    y[2] = loop->out[1];
    if (reverse && out(n, 0)) {
        y[0] = make_reshape(n, y[0], 3, (Dim[]){c.steps, c.batch, c.hidden});
        y[0] = make(n, "Unsqueeze", 2, reversed(n, &c, y[0], lengths), make_ints(n, 1, (int64_t[]){1}));
    }
}

static void attn_lstm_expand(Node *n)
{
    Cell c = {.kind = "LSTM", .internal = "onnxcc.LstmSteps", .gates = 4, .functions = 3};
    Value *y[2][3];
    if (!read_attention(n, &c) || !read_cell(n, &c))
        return;
    Value *lengths = make_within(n, in(n, LENGTHS), 1, c.steps, false);
    for (int d = 0; d < c.directions; d++)
        attn_direction(n, &c, d, lengths, y[d]);
    for (int i = 0; i < n->n_out; i++)
        if (out(n, i))
            replace_out(n, i,
                        c.directions == 1 ? y[0][i] : with_int(make(n, "Concat", 2, y[0][i], y[1][i]), "axis", i == 0));
    expand_done(n);
}

/* ---- the internal operators -------------------------------------------------------------------------------------- */

static void pack_infer(Node *n)
{
    Shape r = in_shape(n, 0);
    set_out(n, 0, in_type(n, 0), shape_list(4, r.dim[0], dim_ceil(r.dim[2], D(RNN_PANEL)), r.dim[1], D(RNN_PANEL)));
}

static void pack_bind(Node *n)
{
    Shape r = in_shape(n, 0);
    BIND(n, rnn_pack, .directions = r.dim[0], .gates = dim_div(r.dim[1], r.dim[2]), .hidden = r.dim[2]);
}

/* Recurrent weights that are codes stay as they are stored: inputs `scale` and the next one are scales and zero points. */
static void keep_codes(Node *n, int64_t gates, int scale)
{
    const Node *pack = in_is_const(n, 1) ? in(n, 1)->data->origin : NULL;
    const int64_t hidden = attr_int(n, "hidden");
    const Panels panels = {attr_int(n, "directions"), gates * hidden, hidden, 1, hidden, 1, 0, gates, 0, NULL};
    Coded c;
    if (!pack || !(pack->op->flags & PACKS) || in_type(n, 0) != F32)
        return;
    Value *r = pack->in[0], *late, *inputs[8] = {NULL};
    if (pack_coded_panels(n, r, &panels, &c)) {
        for (int i = 0; i < n->n_in; i++)
            inputs[i] = in(n, i);
        inputs[1] = c.w;
        inputs[scale] = c.scale;
        inputs[scale + 1] = c.zero;
        node_set_inputs(n, scale + 2, inputs);
        coded_keep(n, &c);
    } else if ((late = unfolded(n, r)) != NULL)
        node_set_in(n, 1, inferred(make(n, "onnxcc.RnnPack", 1, late)));
}

static void lstm_layout(Node *n) { keep_codes(n, 4, 6); }
static void gru_layout(Node *n) { keep_codes(n, 3, 5); }
static void rnn_layout(Node *n) { keep_codes(n, 1, 4); }

static void steps_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    bool first = attr_int(n, "batch_first");
    Dim d = D(attr_int(n, "directions")), h = D(attr_int(n, "hidden")), batch = x.dim[first ? 0 : 1];
    Shape state = first ? shape_list(3, batch, d, h) : shape_list(3, d, batch, h);
    set_out(n, 0, in_type(n, 0),
            first ? shape_list(4, x.dim[0], x.dim[1], d, h) : shape_list(4, x.dim[0], d, batch, h));
    set_out(n, 1, in_type(n, 0), state);
    set_out(n, 2, in_type(n, 0), state);
}

/* The fields that all three kernels have, and the activations. */
#define STEPS                                                                                                          \
    .steps = x.dim[first], .batch = batch, .hidden = D(attr_int(n, "hidden")),                                         \
    .directions = D(attr_int(n, "directions")), .reverse = D(attr_int(n, "reverse")), .batch_first = D(first),         \
    .clip = attr_float(n, "clip")
#define ACT(i) D(i < k ? act[i] : 0)
#define FLOAT(v, i) i < k ? (double)v[i] : 0
#define LSTM                                                                                                           \
    STEPS, .input_forget = D(attr_int(n, "variant")), .act = {ACT(0), ACT(1), ACT(2), ACT(3), ACT(4), ACT(5)},         \
           .alpha = {FLOAT(al, 0), FLOAT(al, 1), FLOAT(al, 2), FLOAT(al, 3), FLOAT(al, 4), FLOAT(al, 5)},              \
           .beta = {FLOAT(be, 0), FLOAT(be, 1), FLOAT(be, 2), FLOAT(be, 3), FLOAT(be, 4), FLOAT(be, 5)}
#define GRU                                                                                                            \
    STEPS, .linear_before_reset = D(attr_int(n, "variant")), .act = {ACT(0), ACT(1), ACT(2), ACT(3)},                  \
           .alpha = {FLOAT(al, 0), FLOAT(al, 1), FLOAT(al, 2), FLOAT(al, 3)},                                          \
           .beta = {FLOAT(be, 0), FLOAT(be, 1), FLOAT(be, 2), FLOAT(be, 3)}
#define RNN                                                                                                            \
    STEPS, .act = {ACT(0), ACT(1)}, .alpha = {FLOAT(al, 0), FLOAT(al, 1)}, .beta = {FLOAT(be, 0), FLOAT(be, 1)}

/* Scratch: the states of a direction for the whole batch, in the arithmetic type. */
static void steps_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    int first = attr_int(n, "batch_first") != 0, states = 3, gates = 4;
    Dim batch = x.dim[1 - first];
    const int64_t *act;
    const float *al, *be;
    int k = attr_ints(n, "act", &act);
    attr_floats(n, "alpha", &al);
    attr_floats(n, "beta", &be);
    Dim width = D(attr_int(n, "hidden")), elements = dim_mul(batch, width);
    Dim scratch = D(0); /* besides the states */
    const int64_t room = coded_room();
    Coded c;
    const bool coded = coded_read(n, &c);
    if (coded)
        scratch = D(room * 4);
    if (!strcmp(n->op->name, "QuantizedLstmSteps")) {
        scratch = dim_add(dim_mul(elements, D(2)), dim_mul(batch, D(4)));
        BIND(n, lstm_quantized, LSTM);
    } else if (!strcmp(n->op->name, "LstmSteps")) {
        if (coded)
            BIND2(n, lstm_coded, F32, U8, LSTM, CODED_FIELDS(c), .room = D(room));
        else
            BIND(n, lstm, LSTM);
    } else if (!strcmp(n->op->name, "GruSteps")) {
        states = 4;
        gates = 3;
        if (coded)
            BIND2(n, gru_coded, F32, U8, GRU, CODED_FIELDS(c), .room = D(room));
        else
            BIND(n, gru, GRU);
    } else {
        states = 2;
        gates = 1;
        if (coded)
            BIND2(n, rnn_coded, F32, U8, RNN, CODED_FIELDS(c), .room = D(room));
        else
            BIND(n, rnn, RNN);
    }
    bind_scratch(n, dim_add(dim_mul(elements, D(states * type_bits(type_arith(in_type(n, 0))) / 8)), scratch));
    Dim macs = dim_mul(dim_mul(dim_mul(elements, width), x.dim[first]), D(gates * attr_int(n, "directions")));
    n->macs = dim_high(macs) < INT64_MAX ? dim_high(macs) : 0; /* run-time sizes at their upper bounds */
}

#define ANY "activation_alpha:floats? activation_beta:floats? activations:strings? clip:float? hidden_size:int? "
#define FORWARD "direction:string=forward "
#define INPUTS "X:T W:T R:T B?:T sequence_lens?:T1 initial_h?:T "
#define INTERNAL                                                                                                       \
    "hidden:int directions:int reverse:int batch_first:int clip:float act:ints alpha:floats beta:floats variant:int=0"
#define CODED " scale?:S zero?:Z "
#define LAYER FORWARD "layout:int=0 "
#define LINEAR "linear_before_reset:int=0 "
#define LENGTH "output_sequence:int=0 "

static const Op rnn_ops[] = {
    {"LSTM", 22, INPUTS "initial_c?:T P?:T -> Y?:T Y_h?:T Y_c?:T", "T=FB T1=int32", ANY LAYER "input_forget:int=0",
     .expand = lstm_expand,
     .compatible =
         "14 T=F; 7 T=F / " ANY FORWARD "input_forget:int=0; 1 T=F / " ANY FORWARD LENGTH "input_forget:int=0"},
    {"GRU", 22, INPUTS "-> Y?:T Y_h?:T", "T=FB T1=int32", ANY LAYER LINEAR, .expand = gru_expand,
     .compatible =
         "14 T=F; 7 T=F / " ANY FORWARD LINEAR "; 3 T=F / " ANY FORWARD LINEAR LENGTH "; 1 T=F / " ANY FORWARD LENGTH},
    {"RNN", 22, INPUTS "-> Y?:T Y_h?:T", "T=FB T1=int32", ANY LAYER, .expand = rnn_expand,
     .compatible = "14 T=F; 7 T=F / " ANY FORWARD "; 1 T=F / " ANY FORWARD LENGTH},
    {"DynamicQuantizeLSTM", 1,
     "X:T W:T2 R:T2 B?:T sequence_lens?:T1 initial_h?:T initial_c?:T P?:T W_scale:T W_zero_point:T2 R_scale:T "
     "R_zero_point:T2 -> Y?:T Y_h?:T Y_c?:T",
     "T=float T1=int32 T2=int8|uint8", ANY FORWARD "input_forget:int=0", .expand = dynamic_quantize_lstm_expand,
     .domain = "com.microsoft"},
    {"AttnLSTM", 1, INPUTS "initial_c?:T P?:T QW:T MW:T V:T M:T memory_seq_lens?:T1 AW?:T -> Y?:T Y_h?:T Y_c?:T",
     "T=float|double T1=int32", ANY FORWARD "input_forget:int=0", .expand = attn_lstm_expand,
     .domain = "com.microsoft"},
    {"RnnPack", 1, "r:T -> y:T", "T=FB|int8", "", .infer = pack_infer, .bind = pack_bind, .flags = PACKS,
     .domain = "onnxcc"},
    {"LstmSteps", 1, "g:T r:W lengths?:int32 h0?:T c0?:T p?:T" CODED "-> y?:T y_h?:T y_c?:T", "T=FB " CODED_TYPES,
     INTERNAL, .infer = steps_infer, .bind = steps_bind, .layout = lstm_layout, .domain = "onnxcc"},
    {"QuantizedLstmSteps", 1,
     "g:float r:int8 lengths?:int32 h0?:float c0?:float p?:float scale:float zero:int32 -> y?:float y_h?:float "
     "y_c?:float",
     NULL, INTERNAL, .infer = steps_infer, .bind = steps_bind, .domain = "onnxcc"},
    {"GruSteps", 1, "g:T r:W lengths?:int32 h0?:T bias?:T" CODED "-> y?:T y_h?:T", "T=FB " CODED_TYPES, INTERNAL,
     .infer = steps_infer, .bind = steps_bind, .layout = gru_layout, .domain = "onnxcc"},
    {"RnnSteps", 1, "g:T r:W lengths?:int32 h0?:T" CODED "-> y?:T y_h?:T", "T=FB " CODED_TYPES, INTERNAL,
     .infer = steps_infer, .bind = steps_bind, .layout = rnn_layout, .domain = "onnxcc"},
};
OPS(rnn_ops);
