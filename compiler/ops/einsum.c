/* einsum.c - Einsum: decomposed into diagonals, sums and products of two operands, which are matrix products if they
 * sum. */
#include <ctype.h>

#include "ir/spatial.h"
#include "ir/strided.h"

enum { LETTERS = 52, LABELS = LETTERS + MAX_RANK }; /* a letter, or a dimension of the ellipsis counted from its end */

/* An operand, or the result: a value with a label for every axis. */
typedef struct Subscripts {
    Value *v;
    int rank, label[MAX_RANK];
} Subscripts;

typedef struct Einsum {
    Node *n;
    Type t;
    int n_terms, rest; /* rest: dimensions of the longest ellipsis */
    Subscripts *term, y;
    Dim size[LABELS];
    bool seen[LABELS];
} Einsum;

/* ---- the equation ---------------------------------------------------------------------------------------------- */

static int find(const Subscripts *t, int label)
{
    for (int i = 0; i < t->rank; i++)
        if (t->label[i] == label)
            return i;
    return -1;
}

static int letter(char c) { return islower((unsigned char)c) ? c - 'a' : c - 'A' + 26; }

/* Reads the labels of one operand, up to a comma, an arrow or the end; rest: the number of axes of an ellipsis. */
static bool read_labels(Node *n, const char **s, Subscripts *t, int rest)
{
    bool dots = false;
    for (t->rank = 0; **s && **s != ',' && **s != '-'; ++*s) {
        bool ellipsis = !strncmp(*s, "...", 3);
        if (**s == ' ')
            continue;
        if (!(ellipsis && !dots) && !isalpha((unsigned char)**s))
            return node_error(n, "the equation \"%s\" is wrong at \"%s\"", attr_string(n, "equation"), *s);
        if (t->rank + (ellipsis ? rest : 1) > MAX_RANK)
            return node_error(n, "an operand of \"%s\" has more than %d axes", attr_string(n, "equation"), MAX_RANK);
        for (int i = 0; ellipsis && i < rest; i++)
            t->label[t->rank++] = LETTERS + rest - 1 - i;
        if (ellipsis)
            *s += 2;
        else
            t->label[t->rank++] = letter(**s);
        dots |= ellipsis;
    }
    return true;
}

/* The number of axes that the ellipsis represents for an operand of this rank. */
static int ellipsis_rank(const char *s, int rank)
{
    bool dots = false;
    for (; *s && *s != ',' && *s != '-'; s++) {
        rank -= isalpha((unsigned char)*s) != 0;
        dots |= *s == '.';
    }
    return dots && rank > 0 ? rank : 0;
}

static bool read_operands(Einsum *e, const char **s)
{
    Node *n = e->n;
    for (int i = 0; i < n->n_in; i++) {
        Subscripts *t = &e->term[e->n_terms++];
        Shape x = in_shape(n, i);
        int rest = ellipsis_rank(*s, x.rank);
        if (!read_labels(n, s, t, rest))
            return false;
        if (t->rank != x.rank || (i + 1 < n->n_in) != (**s == ','))
            return node_error(n, "the equation \"%s\" does not fit input %d, %s, of %d", attr_string(n, "equation"), i,
                              shape_text(x), n->n_in);
        *s += **s == ',';
        e->rest = rest > e->rest ? rest : e->rest;
        t->v = make_cast(n, n->in[i], e->t);
    }
    return true;
}

/* The output if there is no arrow: the ellipsis, then the letters that occur once, sorted. */
static void implied_output(Einsum *e)
{
    int count[LABELS] = {0};
    for (int i = 0; i < e->n_terms; i++)
        for (int k = 0; k < e->term[i].rank; k++)
            count[e->term[i].label[k]]++;
    for (int k = e->rest; k-- > 0;)
        e->y.label[e->y.rank++] = LETTERS + k;
    for (int c = 'A'; c <= 'z'; c++)
        if (isalpha(c) && count[letter((char)c)] == 1 && e->y.rank < MAX_RANK)
            e->y.label[e->y.rank++] = letter((char)c);
}

/* Sets the size of every label; a dimension of 1 is broadcast to another operand's. */
static bool read_sizes(Einsum *e)
{
    for (int i = 0; i < e->n_terms; i++)
        for (int k = 0; k < e->term[i].rank; k++) {
            int label = e->term[i].label[k];
            Dim d = in_shape(e->n, i).dim[k];
            if (!e->seen[label] || dim_is(e->size[label], 1))
                e->size[label] = d;
            else if (!dim_is(d, 1) && !require_dim(e->n, "dimensions of one name that differ", d, e->size[label]))
                return false;
            e->seen[label] = true;
        }
    return true;
}

static bool read_equation(Einsum *e)
{
    Node *n = e->n;
    const char *s = attr_string(n, "equation");
    if (!read_operands(e, &s))
        return false;
    bool arrow = s[0] == '-' && s[1] == '>';
    s += arrow ? 2 : 0;
    if (!arrow)
        implied_output(e);
    else if (!read_labels(n, &s, &e->y, e->rest))
        return false;
    if (!read_sizes(e))
        return false;
    bool fits = !*s;
    for (int i = 0; i < e->y.rank; i++)
        fits = fits && e->seen[e->y.label[i]] && find(&e->y, e->y.label[i]) == i;
    if (!fits)
        node_error(n, "the output of the equation \"%s\" is wrong", attr_string(n, "equation"));
    return fits;
}

/* ---- one operand ----------------------------------------------------------------------------------------------- */

/* Gives t->v the shape of its labels, which are distinct. */
static void set_shape(Einsum *e, Subscripts *t)
{
    Dim dim[MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dim[i] = e->size[t->label[i]];
    t->v = make_reshape(e->n, t->v, t->rank, dim);
}

static void drop_axis(Subscripts *t, int k)
{
    t->rank--;
    for (int i = k; i < t->rank; i++)
        t->label[i] = t->label[i + 1];
}

/* Reduces repeated labels to the diagonal and removes broadcast axes. */
static void clean_term(Einsum *e, Subscripts *t, Shape x)
{
    int64_t axis[MAX_RANK];
    bool diagonal = false, unit = false;
    Subscripts u = {.v = t->v};
    for (int i = 0; i < t->rank; i++) {
        int at = find(&u, t->label[i]);
        diagonal |= at >= 0;
        axis[i] = at >= 0 ? at : u.rank;
        if (at < 0)
            u.label[u.rank++] = t->label[i];
    }
    if (diagonal) {
        u.v = make(e->n, "onnxcc.Diagonal", 1, u.v);
        attr_set_ints(u.v->def, "axis", t->rank, axis);
    }
    for (int i = x.rank; i-- > 0;) {
        int k = find(&u, t->label[i]);
        if (k >= 0 && dim_is(x.dim[i], 1) && !dim_is(e->size[u.label[k]], 1)) {
            drop_axis(&u, k);
            unit = true;
        }
    }
    if (unit)
        set_shape(e, &u);
    *t = u;
}

/* Is the label needed in the output or in an operand other than a and b? */
static bool is_needed(const Einsum *e, int label, int a, int b)
{
    if (find(&e->y, label) >= 0)
        return true;
    for (int i = 0; i < e->n_terms; i++)
        if (i != a && i != b && find(&e->term[i], label) >= 0)
            return true;
    return false;
}

/* Sums over the labels that occur only in this operand. */
static void sum_term(Einsum *e, int at)
{
    Subscripts *t = &e->term[at], u = {.v = t->v};
    int64_t axes[MAX_RANK];
    int k = 0;
    for (int i = 0; i < t->rank; i++)
        if (is_needed(e, t->label[i], at, at))
            u.label[u.rank++] = t->label[i];
        else
            axes[k++] = i;
    if (!k)
        return;
    u.v = make(e->n, "ReduceSum", 2, t->v, make_ints(e->n, k, axes));
    attr_set_int(u.v->def, "keepdims", 0);
    *t = u;
}

/* t transposed to the order of the labels, which are all of its labels. */
static Value *in_order(Einsum *e, const Subscripts *t, int rank, const int *label)
{
    int64_t perm[MAX_RANK];
    bool same = true;
    for (int i = 0; i < rank; i++) {
        perm[i] = find(t, label[i]);
        same &= perm[i] == i;
    }
    if (same)
        return t->v;
    Value *v = make(e->n, "Transpose", 1, t->v);
    attr_set_ints(v->def, "perm", rank, perm);
    return v;
}

/* ---- two operands ---------------------------------------------------------------------------------------------- */

/* Labels of one kind, and the product of their sizes. */
typedef struct Group {
    int n, label[MAX_RANK];
    Dim size;
} Group;

static void group_add(const Einsum *e, Group *g, int label)
{
    g->label[g->n++] = label;
    g->size = dim_mul(g->size, e->size[label]);
}

static int append(int *to, int n, const Group *g)
{
    for (int i = 0; i < g->n; i++)
        to[n++] = g->label[i];
    return n;
}

/* t as matrices (batch, rows, columns); *trans: (batch, columns, rows), if that saves a transpose. */
static Value *as_matrices(Einsum *e, const Subscripts *t, const Group *batch, const Group *rows, const Group *columns,
                          bool *trans)
{
    int order[MAX_RANK], turned[MAX_RANK];
    int k = append(order, 0, batch), m = append(turned, 0, batch);
    k = append(order, append(order, k, rows), columns);
    m = append(turned, append(turned, m, columns), rows);
    *trans =
        !memcmp(turned, t->label, sizeof *turned * (size_t)m) && memcmp(order, t->label, sizeof *order * (size_t)k);
    Dim dim[] = {batch->size, *trans ? columns->size : rows->size, *trans ? rows->size : columns->size};
    return make_reshape(e->n, in_order(e, t, k, *trans ? turned : order), 3, dim);
}

/* The outer product, which keeps all labels. */
static void outer_product(Einsum *e, const Subscripts *a, const Subscripts *b, Subscripts *y)
{
    const Subscripts *const operand[2] = {a, b};
    Value *v[2];
    for (int i = 0; i < e->y.rank; i++)
        if (find(a, e->y.label[i]) >= 0 || find(b, e->y.label[i]) >= 0)
            y->label[y->rank++] = e->y.label[i];
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < operand[k]->rank && y->rank < MAX_RANK; i++)
            if (find(y, operand[k]->label[i]) < 0)
                y->label[y->rank++] = operand[k]->label[i];
    for (int k = 0; k < 2; k++) {
        Dim dim[MAX_RANK];
        int label[MAX_RANK], rank = 0;
        for (int i = 0; i < y->rank; i++) {
            bool has = find(operand[k], y->label[i]) >= 0;
            dim[i] = has ? e->size[y->label[i]] : D(1);
            if (has)
                label[rank++] = y->label[i];
        }
        v[k] = in_order(e, operand[k], rank, label);
        if (rank < y->rank)
            v[k] = make_reshape(e->n, v[k], y->rank, dim);
    }
    y->v = make(e->n, "Mul", 2, v[0], v[1]);
}

/* Contracts operands i and j. Labels that are not needed elsewhere are summed, by a matrix product; the operand with
 * the output's last label is the right factor. */
static void contract(Einsum *e, int i, int j)
{
    Subscripts *a = &e->term[i], *b = &e->term[j], y = {0};
    Group batch = {.size = D(1)}, sum = batch, rows = batch, columns = batch;
    if (e->y.rank && find(a, e->y.label[e->y.rank - 1]) >= 0) {
        Subscripts *c = a;
        a = b;
        b = c;
    }
    for (int k = 0; k < a->rank; k++) {
        int label = a->label[k];
        group_add(e, find(b, label) < 0 ? &rows : is_needed(e, label, i, j) ? &batch : &sum, label);
    }
    for (int k = 0; k < b->rank; k++)
        if (find(a, b->label[k]) < 0)
            group_add(e, &columns, b->label[k]);
    if (batch.n + rows.n + columns.n > MAX_RANK)
        node_error(e->n, "a product in \"%s\" has more than %d axes", attr_string(e->n, "equation"), MAX_RANK);
    else if (!sum.n)
        outer_product(e, a, b, &y);
    else {
        bool trans_a, trans_b;
        Value *left = as_matrices(e, a, &batch, &rows, &sum, &trans_a),
              *right = as_matrices(e, b, &batch, &sum, &columns, &trans_b);
        y.rank = append(y.label, append(y.label, append(y.label, 0, &batch), &rows), &columns);
        y.v = make(e->n, "onnxcc.Product", 2, left, right);
        attr_set_int(y.v->def, "trans_a", trans_a);
        attr_set_int(y.v->def, "trans_b", trans_b);
        set_shape(e, &y);
    }
    e->term[i] = y;
    e->term[j] = e->term[--e->n_terms];
}

/* The number of elements of the product of operands i and j; a run-time size counts as 1000. */
static double product_size(const Einsum *e, int i, int j)
{
    double size = 1;
    for (int k = 0; k < LABELS; k++)
        if ((find(&e->term[i], k) >= 0 || find(&e->term[j], k) >= 0) && is_needed(e, k, i, j))
            size *= dim_is_const(e->size[k]) ? (double)dim_value(e->size[k]) : 1000;
    return size;
}

/* Contracts the pair with the smallest product; with many operands the first two, since comparing all pairs would take
 * minutes. */
static void contract_smallest(Einsum *e)
{
    enum { MANY = 64 };
    int a = 0, b = 1;
    for (int i = 0; i < e->n_terms && e->n_terms <= MANY; i++)
        for (int j = i + 1; j < e->n_terms; j++)
            if (product_size(e, i, j) < product_size(e, a, b)) {
                a = i;
                b = j;
            }
    contract(e, a, b);
}

/* Integers narrower than 32 bits are computed in 32 and wrap at the end. */
static void einsum_expand(Node *n)
{
    Type t = in_type(n, 0);
    Einsum e = {.n = n, .t = type_is_int(t) && type_bits(t) < 32 ? (type_is_signed(t) ? I32 : U32) : t};
    e.term = NEWS(Subscripts, n->n_in);
    if (!read_equation(&e))
        return;
    for (int i = 0; i < e.n_terms; i++)
        clean_term(&e, &e.term[i], in_shape(n, i));
    int errors = error_count();
    for (int i = 0; i < e.n_terms; i++)
        sum_term(&e, i);
    while (e.n_terms > 1 && error_count() == errors)
        contract_smallest(&e);
    if (error_count() > errors)
        return;
    sum_term(&e, 0);
    Value *y = make_cast(n, in_order(&e, &e.term[0], e.y.rank, e.y.label), t);
    expand_to(n, y == n->in[0] ? make(n, "Identity", 1, y) : y);
}

/* ---- onnxcc.Diagonal: axis i of the input is axis[i] of the output --------------------------------------------- */

static void diagonal_infer(Node *n)
{
    const int64_t *axis;
    int k = attr_ints(n, "axis", &axis);
    Shape x = in_shape(n, 0), y = {0};
    for (int i = 0; i < k; i++)
        if (axis[i] == y.rank)
            y.dim[y.rank++] = x.dim[i];
        else if (!require_dim(n, "dimensions of a diagonal that differ", x.dim[i], y.dim[axis[i]]))
            return;
    set_out(n, 0, in_type(n, 0), y);
}

static void diagonal_bind(Node *n)
{
    const int64_t *axis;
    int k = attr_ints(n, "axis", &axis);
    Dim from[MAX_RANK], to[MAX_RANK], step[MAX_RANK];
    Shape y = *out(n, 0)->shape;
    Strided s = {0};
    shape_strides(in_shape(n, 0), from);
    shape_strides(y, to);
    for (int i = 0; i < y.rank; i++)
        step[i] = D(0);
    for (int i = 0; i < k; i++)
        step[axis[i]] = dim_add(step[axis[i]], from[i]);
    for (int i = 0; i < y.rank; i++)
        strided_axis(&s, y.dim[i], step[i], to[i]);
    strided_bind(n, s);
}

static const Op einsum_ops[] = {
    {"Einsum", 28, "Inputs*:T -> Output:T", "T=NB", "equation:string", .expand = einsum_expand, .compatible = "12 T=N"},
    {"Diagonal", 1, "x:T -> y:T", "T=NB", "axis:ints", .infer = diagonal_infer, .bind = diagonal_bind, .flags = MOVES,
     .domain = "onnxcc"},
};
OPS(einsum_ops);
