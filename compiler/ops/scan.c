/* scan.c - Scan: expanded to a Loop whose body gathers the slices of the scan inputs. */
#include "ir/ops.h"
#include "passes/infer.h"

static int64_t list_item(Node *n, const char *attr, int i)
{
    const int64_t *v;
    int k = attr_ints(n, attr, &v);
    return i < k ? v[i] : 0;
}

/* Has the list, if given, k items from low to high? Reports otherwise. */
static bool list_fits(Node *n, const char *attr, int k, int64_t low, int64_t high)
{
    const int64_t *v;
    int have = attr_ints(n, attr, &v);
    if (have >= 0 && have != k)
        return node_error(n, "%s has %d items for %d inputs or outputs", attr, have, k);
    for (int i = 0; i < have; i++)
        if (v[i] < low || v[i] > high)
            return node_error(n, "%s[%d] is %lld", attr, i, (long long)v[i]);
    return true;
}

static bool lists_fit(Node *n, int scans, int outputs)
{
    return list_fits(n, "scan_input_directions", scans, 0, 1) &&
           list_fits(n, "scan_output_directions", outputs, 0, 1) &&
           list_fits(n, "scan_input_axes", scans, -MAX_RANK, MAX_RANK) &&
           list_fits(n, "scan_output_axes", outputs, -MAX_RANK, MAX_RANK);
}

/* The number of scanned inputs; 0: wrong, reported. */
static int scan_count(Node *n, int inputs)
{
    const int64_t scans = attr_int(n, "num_scan_inputs");
    if (scans >= 1 && scans <= inputs)
        return (int)scans;
    node_error(n, "num_scan_inputs is %lld, and there are %d inputs to scan or to start from", (long long)scans,
               inputs);
    return 0;
}

/* The slice of scan input x for iteration `iter`, computed at the start of the body. */
static Value *scan_slice(Node *first, Value *x, Value *iter, Value *count, int axis, bool backward)
{
    Value *at = iter;
    if (backward)
        at = make(first, "Sub", 2, make(first, "Sub", 2, count, make_int(first, 1)), iter);
    return with_int(make(first, "onnxcc.Gather", 2, x, at), "axis", axis);
}

static void scan_expand(Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    const int scans = scan_count(n, n->n_in), states = n->n_in - scans;
    if (!scans)
        return;
    if (g->in.n != n->n_in || g->out.n < states || n->n_out != g->out.n) {
        node_error(n, "the body has %d inputs and %d outputs; the node %d and %d", g->in.n, g->out.n, n->n_in,
                   n->n_out);
        return;
    }
    if (!lists_fit(n, scans, n->n_out - states))
        return;
    Value *x0 = n->in[states];
    int axis0 = axis_of(n, list_item(n, "scan_input_axes", 0), x0->shape->rank);
    Value *count = make(n, "Gather", 2, make(n, "Shape", 1, x0), make_int(n, axis0));
    Value *iter = value_new(g, name("iteration")), *cond = value_new(g, name("go_on"));
    Node *none = node_new(g, "onnxcc.Start", 0, NULL, 0); /* a position to insert before */
    node_insert(none, g->first);
    Value **in = NEWS(Value *, states + 2);
    in[0] = count;
    for (int i = 0; i < states; i++)
        in[i + 2] = n->in[i];
    for (int i = 0; i < scans; i++) {
        Value *x = n->in[states + i];
        int axis = axis_of(n, list_item(n, "scan_input_axes", i), x->shape->rank);
        const Shape step = shape_without(*x->shape, axis);
        if (!require_dim(n, "length of a scanned input", x->shape->dim[axis], x0->shape->dim[axis0]) ||
            !takes(n, g->in.at[states + i], x->type, &step))
            return;
        value_replace(g->in.at[states + i],
                      scan_slice(none, x, iter, count, axis, list_item(n, "scan_input_directions", i) == 1));
    }
    node_remove(none);
    VEC(Value *) body_in = {0};
    vec_push(&body_in, iter);
    vec_push(&body_in, cond);
    for (int i = 0; i < states; i++)
        vec_push(&body_in, g->in.at[i]);
    memcpy(&g->in, &body_in, sizeof g->in);
    graph_add_output(g, g->out.n ? g->out.at[g->out.n - 1] : cond);
    for (int i = g->out.n - 2; i > 0; i--)
        graph_set_output(g, i, g->out.at[i - 1]);
    graph_set_output(g, 0, cond);
    Node *loop = make_node(n, "Loop", states + 2, in, n->n_out);
    attr_set(loop, (Attr){.name = name("body"), .type = A_GRAPH, .g = g});
    g->owner = loop;
    for (int i = 0; i < n->n_out; i++) {
        if (!n->out[i])
            continue;
        Value *y = loop->out[i];
        if (i >= states) {
            int k = i - states;
            if (list_item(n, "scan_output_directions", k) == 1) {
                int64_t start = -1, end = INT64_MIN, axis = 0, step = -1;
                y = make(n, "Slice", 5, y, make_ints(n, 1, &start), make_ints(n, 1, &end), make_ints(n, 1, &axis),
                         make_ints(n, 1, &step));
            }
            int64_t to = list_item(n, "scan_output_axes", k);
            if (to)
                y = with_int(make(n, "onnxcc.MoveFirst", 1, y), "axis", to);
        }
        replace_out(n, i, y);
    }
    n->n_attr = 0; /* the body now belongs to the loop */
    expand_done(n);
}

/* Moves the first axis to position `axis`; a separate operator because the rank is known only after the loop is
 * inferred. */
static void move_first_expand(Node *n)
{
    int rank = in_shape(n, 0).rank, axis = attr_axis(n, "axis", rank);
    int64_t perm[MAX_RANK];
    for (int d = 0; d < rank; d++)
        perm[d] = d < axis ? d + 1 : d == axis ? 0 : d;
    Value *y = make(n, "Transpose", 1, n->in[0]);
    attr_set_ints(y->def, "perm", rank, perm);
    expand_to(n, y);
}

/* ---- Scan of version 8 ------------------------------------------------------------------------------------------- */

static Value *append(Graph *g, const char *op, int n_in, Value **in)
{
    Node *n = node_new(g, op, n_in, in, 1);
    node_insert(n, NULL);
    return n->out[0];
}

/* Makes the body keep its states and output zeros from step `length` on; adds the step as its last input. */
static void stop_after(Node *n, Graph *body, Value *length, int states)
{
    Value *step = value_new(body, NULL);
    vec_push(&body->in, step);
    Value *go = append(body, "Less", 2, (Value *[]){step, length}), *zero = make_scalar(n, I64, 0);
    for (int i = 0; i < body->out.n; i++) {
        Value *y = body->out.at[i];
        Value *old = i < states ? body->in.at[i] : append(body, "CastLike", 2, (Value *[]){zero, y});
        Value *kept = append(body, "Where", 3, (Value *[]){go, y, old});
        kept->desc = y->desc;
        graph_set_output(body, i, kept);
    }
}

/* Version 8 has a batch: expanded to a scan over the batch, whose body is the scan over the sequence. With
 * sequence_lens each scan ends at its length, where backward ones start. */
static void scan_8(Node *n)
{
    Graph *body = node_attr(n, "body")->g;
    Value *lengths = in(n, 0);
    const int64_t *direction;
    int k = n->n_in - 1, scans = scan_count(n, k), states = k - scans;
    if (!scans)
        return;
    bool directed = attr_ints(n, "directions", &direction) == scans;
    if (!list_fits(n, "directions", scans, 0, 1))
        return;
    Value **given = NEWS(Value *, k + 1), **each = NEWS(Value *, k + 1);
    int64_t *backwards = NEWS(int64_t, k + 1);
    for (int i = 0; i < k; i++) {
        given[i] = n->in[i + 1];
        bool back = i >= states && directed && direction[i - states];
        if (back && lengths) {
            given[i] = make(n, "ReverseSequence", 2, given[i], lengths);
            attr_set_int(given[i]->def, "batch_axis", 0);
            attr_set_int(given[i]->def, "time_axis", 1);
        } else if (back)
            backwards[i - states] = 1;
    }
    if (lengths) {
        Dim size = in_shape(n, 1 + states).dim[1];
        Value *end = make(n, "Reshape", 2, make_dims(n, 1, &size), make_ints(n, 0, NULL));
        each[k] = make(n, "Range", 3, make_scalar(n, I64, 0), end, make_scalar(n, I64, 1));
        given[k] = lengths;
    }
    Node *outer = make_node(n, "Scan", k + !!lengths, given, n->n_out);
    Graph *g = NEW_COPY(
        (Graph){.name = body->name, .model = body->model, .parent = n->graph, .owner = outer, .path = body->path});
    for (int i = 0; i < k + !!lengths; i++)
        vec_push(&g->in, value_new(g, NULL));
    memcpy(each, g->in.at, sizeof *each * (size_t)k);
    if (lengths)
        stop_after(n, body, g->in.at[k], states);
    Node *inner = node_new(g, "Scan", k + !!lengths, each, n->n_out);
    node_insert(inner, NULL);
    for (int i = 0; i < n->n_out; i++)
        graph_add_output(g, inner->out[i]);
    body->parent = g;
    body->owner = inner;
    attr_set(inner, (Attr){.name = name("body"), .type = A_GRAPH, .g = body});
    attr_set_int(inner, "num_scan_inputs", scans + !!lengths);
    attr_set_ints(inner, "scan_input_directions", scans + !!lengths, backwards);
    attr_set(outer, (Attr){.name = name("body"), .type = A_GRAPH, .g = g});
    attr_set_int(outer, "num_scan_inputs", k + !!lengths);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            replace_out(n, i, outer->out[i]);
    n->n_attr = 0; /* the body now belongs to the inner scan */
    expand_done(n);
}

/* clang-format off */
static const Op scan_ops[] = {
    {"Scan", 25, "initial_state_and_scan_inputs**:V -> final_state_and_scan_outputs**:V", "V=ALL13",
     "body:graph num_scan_inputs:int scan_input_axes:ints? scan_input_directions:ints? scan_output_axes:ints? "
     "scan_output_directions:ints?",
     .expand = scan_expand,
     .compatible = "24 V=ALL12; 23 V=ALL11; 21 V=ALL10; 19 V=ALL9; 16 V=ALLB; 11 V=ALL; 9 V=ALL"},
    {"Scan", 8, "sequence_lens?:I initial_state_and_scan_inputs**:V -> final_state_and_scan_outputs**:V", "I=int64 V=ALL",
     "body:graph num_scan_inputs:int directions:ints?", .expand = scan_8},
    {"MoveFirst", 1, "x:T -> y:T", "T=ALL14", "axis:int", .expand = move_first_expand, .domain = "onnxcc"},
};
/* clang-format on */
OPS(scan_ops);
