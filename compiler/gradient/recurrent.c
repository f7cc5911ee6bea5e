/* recurrent.c - LSTM, GRU and RNN decomposed into loops of ordinary nodes. rnn.c and runtime-min/rnn.h have the layouts
 * and the formulas. */
#include "gradient.h"
#include "rnn.h"

/* One direction of a recurrent node. Its matrices are (batch, hidden); gates are concatenated along rows. */
typedef struct Layer {
    Node *n;       /* nodes of a step are inserted before it, in the loop's body */
    Node *around;  /* nodes shared by all steps are inserted before it, outside of the loop */
    const Node *m; /* onnxcc.LstmSteps, GruSteps, RnnSteps */
    int d, gates, functions;
    bool backwards, batch_first;
    Dim steps, batch, hidden;
    Value *r;       /* (gates * hidden, hidden) */
    Value *lengths; /* NULL: all steps */
    Value *peephole, *bias;
} Layer;

/* Gate k of a row of gates. */
static Value *gate(const Layer *l, Value *v, int k)
{
    Node *n = v == l->peephole ? l->around : l->n;
    return part(n, v, 1, dim_mul(D(k), l->hidden), dim_mul(D(k + 1), l->hidden));
}

static Value *sum(const Layer *l, Value **v) { return v[1] ? make(l->n, "Add", 2, v[0], v[1]) : v[0]; }
#define add(l, a, b) sum(l, (Value *[2]){a, b})

#define mul(l, a, b) make((l)->n, "Mul", 2, a, b)

static Value *one_minus(const Layer *l, Value *v)
{
    return make(l->n, "Sub", 2, make_scalar(l->n, l->m->in[0]->type, 1), v);
}

/* h R' for the gates from k on. */
static Value *recurrent(const Layer *l, Value *h, int k, int gates)
{
    Value *r = part(l->around, l->r, 0, dim_mul(D(k), l->hidden), dim_mul(D(k + gates), l->hidden));
    Value *v = make(l->n, "onnxcc.Product", 2, h, r);
    attr_set_int(v->def, "trans_b", 1);
    return v;
}

/* The direction's activation function i of v, clipped before unless it is the last of an LSTM. */
static Value *activation(const Layer *l, int i, Value *v)
{
    static const struct {
        const char *op;
        bool alpha, beta; /* has it this attribute? */
    } ops[] = {
        [RNN_TANH] = {"Tanh", 0, 0},
        [RNN_SIGMOID] = {"Sigmoid", 0, 0},
        [RNN_RELU] = {"Relu", 0, 0},
        [RNN_AFFINE] = {"Identity", 0, 0},
        [RNN_LEAKY_RELU] = {"LeakyRelu", 1, 0},
        [RNN_THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 0},
        [RNN_SCALED_TANH] = {"Tanh", 0, 0},
        [RNN_HARD_SIGMOID] = {"HardSigmoid", 1, 1},
        [RNN_ELU] = {"Elu", 1, 0},
        [RNN_SOFTSIGN] = {"Softsign", 0, 0},
        [RNN_SOFTPLUS] = {"Softplus", 0, 0},
    };
    const int64_t *act;
    const float *alphas, *betas;
    int at = l->d * l->functions + i;
    attr_ints(l->m, "act", &act);
    attr_floats(l->m, "alpha", &alphas);
    attr_floats(l->m, "beta", &betas);
    Type t = l->m->in[0]->type;
    Value *alpha = make_scalar(l->n, t, (double)alphas[at]), *beta = make_scalar(l->n, t, (double)betas[at]);
    double clip = attr_float(l->m, "clip");
    if (clip > 0 && i < 2)
        v = make(l->n, "Clip", 3, v, make_scalar(l->n, t, -clip), make_scalar(l->n, t, clip));
    if (act[at] == RNN_SCALED_TANH)
        v = mul(l, v, beta);
    v = make(l->n, ops[act[at]].op, 1, v);
    if (ops[act[at]].alpha)
        attr_set_float(v->def, "alpha", (double)alphas[at]);
    if (ops[act[at]].beta)
        attr_set_float(v->def, "beta", (double)betas[at]);
    if (act[at] == RNN_SCALED_TANH || act[at] == RNN_AFFINE)
        v = mul(l, v, alpha);
    return act[at] == RNN_AFFINE ? add(l, v, beta) : v;
}

/* ---- cells: the next state of x, the products with the inputs, and h --------------------------------------------- */

static Value *peep(const Layer *l, int k, Value *c) { return l->peephole ? mul(l, gate(l, l->peephole, k), c) : NULL; }

static Value *lstm_cell(const Layer *l, Value *x, Value *h, Value **c)
{
    x = add(l, x, recurrent(l, h, 0, 4));
    Value *i = activation(l, 0, add(l, gate(l, x, 0), peep(l, 0, *c)));
    Value *f = attr_int(l->m, "variant") ? one_minus(l, i) : activation(l, 0, add(l, gate(l, x, 2), peep(l, 2, *c)));
    *c = add(l, mul(l, f, *c), mul(l, i, activation(l, 1, gate(l, x, 3))));
    Value *o = activation(l, 0, add(l, gate(l, x, 1), peep(l, 1, *c)));
    return mul(l, o, activation(l, 2, *c));
}

static Value *gru_cell(const Layer *l, Value *x, Value *h)
{
    Value *zr = recurrent(l, h, 0, 2);
    Value *z = activation(l, 0, add(l, gate(l, x, 0), gate(l, zr, 0)));
    Value *r = activation(l, 0, add(l, gate(l, x, 1), gate(l, zr, 1)));
    Value *next = attr_int(l->m, "variant") ? mul(l, r, add(l, recurrent(l, h, 2, 1), l->bias))
                                            : recurrent(l, mul(l, r, h), 2, 1);
    next = activation(l, 1, add(l, gate(l, x, 2), next));
    return add(l, mul(l, one_minus(l, z), next), mul(l, z, h));
}

static Value *rnn_cell(const Layer *l, Value *x, Value *h)
{
    return activation(l, 0, add(l, x, recurrent(l, h, 0, 1)));
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* v, (steps, batch, any), converted between the model's order of steps and the direction's, which is an involution. */
static Value *in_time(const Layer *l, Value *v)
{
    if (!l->backwards)
        return v;
    if (!l->lengths)
        return make(l->n, "Slice", 5, v, make_ints(l->n, 1, (int64_t[]){-1}),
                    make_ints(l->n, 1, (int64_t[]){INT64_MIN}), make_ints(l->n, 1, (int64_t[]){0}),
                    make_ints(l->n, 1, (int64_t[]){-1}));
    v = make(l->n, "ReverseSequence", 2, v, make_cast(l->n, l->lengths, I64));
    attr_set_int(v->def, "time_axis", 0);
    attr_set_int(v->def, "batch_axis", 1);
    return v;
}

/* (batch, 1): is the sequence longer than `steps`? */
static Value *runs(const Layer *l, Value *steps)
{
    steps = make(l->n, "CastLike", 2, steps, l->lengths);
    return make_reshape(l->n, make(l->n, "Less", 2, steps, l->lengths), 2, (Dim[]){l->batch, D(1)});
}

/* The direction's part of an initial state, (batch, hidden); zeros if it is absent, or for sequences without steps. */
static Value *begin(const Layer *l, Value *state)
{
    Value *zero = make_scalar(l->n, l->m->in[0]->type, 0);
    Dim shape[] = {l->batch, l->hidden};
    if (!state)
        return filled(l->n, l->m->in[0]->type, 0, 2, shape);
    Value *v = make_reshape(l->n, part(l->n, state, l->batch_first ? 1 : 0, D(l->d), D(l->d + 1)), 2, shape);
    return l->lengths ? make(l->n, "Where", 3, runs(l, make_int(l->n, 0)), v, zero) : v;
}

/* A step: computes the new states and the step's row of the result. */
static void step(Layer *l, Value *x, Value **state, Value **row)
{
    Value *iteration = l->n->graph->in.at[0], *x_t = make(l->n, "Gather", 2, x, iteration), *h = state[0],
          *c = state[1];
    bool lstm = l->functions == 3;
    state[0] = lstm ? lstm_cell(l, x_t, h, &state[1]) : l->gates == 3 ? gru_cell(l, x_t, h) : rnn_cell(l, x_t, h);
    *row = state[0];
    if (!l->lengths)
        return;
    Value *on = runs(l, iteration);
    *row = make(l->n, "Where", 3, on, state[0], make_scalar(l->n, l->m->in[0]->type, 0));
    state[0] = make(l->n, "Where", 3, on, state[0], h);
    if (lstm)
        state[1] = make(l->n, "Where", 3, on, state[1], c);
}

/* All steps of the direction: y (steps, batch, hidden), and the last states. */
static void steps(Layer *l, Value *x, Value *h0, Value *c0, Value **y, Value **h, Value **c)
{
    int states = l->functions == 3 ? 2 : 1;
    Value *state[] = {begin(l, h0), states > 1 ? begin(l, c0) : NULL, NULL};
    x = in_time(l, x);
    Node *n = l->n;
    l->n = loop_begin(n, l->steps, states, state);
    l->around = l->n->graph->owner;
    for (int i = 0; i < states; i++)
        state[i] = l->n->graph->in.at[i + 2];
    step(l, x, state, &state[states]);
    const Node *loop = loop_end(l->n, states + 1, state);
    l->n = n;
    *h = loop->out[0];
    *c = states > 1 ? loop->out[1] : NULL;
    *y = in_time(l, loop->out[states]);
}

/* RnnPack, backwards: (directions, gates * hidden, hidden). */
static Value *unpacked(Node *n, Value *r, Dim directions, Dim gates, Dim hidden)
{
    Dim panels = dim_ceil(hidden, D(RNN_PANEL)), wide = dim_mul(panels, D(RNN_PANEL));
    Value *v = make_reshape(n, r, 5, (Dim[]){directions, panels, gates, hidden, D(RNN_PANEL)});
    v = transpose(n, v, 5, (int64_t[]){0, 2, 1, 4, 3});
    v = part(n, make_reshape(n, v, 4, (Dim[]){directions, gates, wide, hidden}), 2, D(0), hidden);
    return make_reshape(n, v, 3, (Dim[]){directions, dim_mul(gates, hidden), hidden});
}

/* Output o of m, concatenated from the directions' results; NULL: not used. */
static Value *joined(const Layer *l, int o, int directions, Value **of)
{
    Node *n = l->n;
    if (!out(l->m, o))
        return NULL;
    Value *apart[2];
    for (int d = 0; d < directions; d++)
        apart[d] = o ? make_reshape(n, of[d], 3, (Dim[]){D(1), l->batch, l->hidden})
                     : make_reshape(n, of[d], 4, (Dim[]){l->steps, D(1), l->batch, l->hidden});
    Node *c = make_node(n, "Concat", directions, apart, 1);
    attr_set_int(c, "axis", o ? 0 : 1);
    if (!l->batch_first)
        return c->out[0];
    return o ? transpose(n, c->out[0], 3, (int64_t[]){1, 0, 2}) : transpose(n, c->out[0], 4, (int64_t[]){2, 0, 1, 3});
}

bool decompose_recurrent(Node *n, const Node *m, Value **in, Value **out)
{
    bool lstm = !strcmp(m->op->name, "LstmSteps"), gru = !strcmp(m->op->name, "GruSteps");
    if (!lstm && !gru && strcmp(m->op->name, "RnnSteps"))
        return false;
    int directions = (int)attr_int(m, "directions"), first = attr_int(m, "batch_first") != 0;
    Layer l = {.n = n,
               .m = m,
               .batch_first = first,
               .gates = lstm  ? 4
                        : gru ? 3
                              : 1,
               .functions = lstm  ? 3
                            : gru ? 2
                                  : 1};
    l.steps = m->in[0]->shape->dim[first];
    l.batch = m->in[0]->shape->dim[1 - first];
    l.hidden = D(attr_int(m, "hidden"));
    l.lengths = m->n_in > 2 ? in[2] : NULL;
    Dim row = dim_mul(D(l.gates), l.hidden);
    Value *x = first ? transpose(n, in[0], 3, (int64_t[]){1, 0, 2}) : in[0], *y[3][2];
    Value *r = unpacked(n, in[1], D(directions), D(l.gates), l.hidden), *h0 = m->n_in > 3 ? in[3] : NULL;
    for (l.d = 0; l.d < directions; l.d++) {
        Value *own = lstm && m->n_in > 5 ? in[5] : gru && m->n_in > 4 ? in[4] : NULL;
        own = own ? part(n, own, 0, D(l.d), D(l.d + 1)) : NULL;
        l.peephole = lstm ? own : NULL;
        l.bias = gru ? own : NULL;
        l.backwards = attr_int(m, "reverse") || l.d == 1;
        l.r = make_reshape(n, part(n, r, 0, D(l.d), D(l.d + 1)), 2, (Dim[]){row, l.hidden});
        steps(&l, part(n, x, 2, dim_mul(D(l.d), row), dim_mul(D(l.d + 1), row)), h0, lstm && m->n_in > 4 ? in[4] : NULL,
              &y[0][l.d], &y[1][l.d], &y[2][l.d]);
    }
    for (int o = 0; o < m->n_out; o++)
        out[o] = joined(&l, o, directions, y[o]);
    return true;
}
