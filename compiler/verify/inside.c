/* inside.c - finds the first node that differs inside of a node: in its branches, in the iterations of its loops, in
 * the functions that it calls. The tensors there become outputs; those of a loop are stacked. */
#include "verify/verify.h"

#include "base/options.h"

/* A tensor inside of the node whose values differ. */
typedef struct Differs {
    const InnerTensor *t;
    int64_t iteration; /* the first that differs, of all loops around it as one number */
    VEC(int64_t) key;  /* its place in the order of execution */
} Differs;

/* ---- iterations -------------------------------------------------------------------------------------------------- */

/* The number of dimensions of an output that count iterations of the first n steps. */
static int loop_dims(const InnerTensor *t, int n)
{
    int dims = 0;
    for (int i = 0; i < n; i++)
        dims += step_dims(&t->step[i]);
    return dims;
}

/* The value in one iteration. False: it is no tensor, or shares a byte with another. */
static bool read_slice(const Data *d, int dims, int64_t iteration, Data *to)
{
    Tensor *t = NEW(Tensor);
    if (d->form != TENSOR || d->t->rank < dims)
        return false;
    *t = (Tensor){.type = d->t->type, .rank = d->t->rank - dims, .dim = d->t->dim + dims};
    const int64_t n = tensor_count(t);
    if (n * type_bits(t->type) % 8)
        return false;
    t->data = (const char *)tensor_data(d->t) + type_bytes(t->type, n) * (size_t)iteration;
    *to = data_tensor(t);
    return true;
}

static int64_t iterations_of(const Data *d, int dims)
{
    int64_t n = 1;
    for (int k = 0; k < dims && d->form == TENSOR && k < d->t->rank; k++)
        n *= d->t->dim[k];
    return n;
}

/* The first iteration in which the values differ; -1: in none. */
static int64_t first_iteration(const Pair *p, int dims)
{
    const int64_t n = iterations_of(p->got, dims), m = iterations_of(p->expected, dims);
    Data x, y;
    if (is_alike(&p->difference))
        return -1;
    for (int64_t i = 0; i < n && i < m; i++) {
        if (!read_slice(p->got, dims, i, &x) || !read_slice(p->expected, dims, i, &y))
            return 0;
        const Difference d = data_difference(&x, &y, opt()->tolerance);
        if (!is_alike(&d))
            return i;
    }
    return n < m ? n : m;
}

/* The iteration of the one loop whose iterations the output's dimension k counts. iteration: of all loops. */
static int64_t iteration_of(const Data *d, int dims, int64_t iteration, int k)
{
    int64_t inner = 1;
    for (int j = k + 1; j < dims && j < d->t->rank; j++)
        inner *= d->t->dim[j];
    return d->form == TENSOR && k < d->t->rank && d->t->dim[k] && inner ? iteration / inner % d->t->dim[k] : 0;
}

/* ---- the order of execution -------------------------------------------------------------------------------------- */

/* Sets f->key: the position of each node around it, with the iteration if that is a loop; then the position of its own
 * node. */
static void set_key(Differs *f, const Data *got)
{
    const int dims = loop_dims(f->t, f->t->n);
    for (int i = 0, k = 0; i < f->t->n; i++) {
        vec_push(&f->key, f->t->step[i].at);
        for (int end = k + step_dims(&f->t->step[i]); k < end; k++)
            vec_push(&f->key, iteration_of(got, dims, f->iteration, k));
    }
    vec_push(&f->key, f->t->at);
}

/* A node's results come after all that is inside of it. */
static bool is_before(const Differs *a, const Differs *b)
{
    for (int i = 0; i < a->key.n && i < b->key.n; i++)
        if (a->key.at[i] != b->key.at[i])
            return a->key.at[i] < b->key.at[i];
    return a->key.n > b->key.n;
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

/* Is `outer` in one of the graphs around t, or in the same one? */
static bool is_around(const InnerTensor *outer, const InnerTensor *t)
{
    for (int i = 0; i < outer->n; i++)
        if (i >= t->n || outer->step[i].node != t->step[i].node ||
            step_graph(&outer->step[i]) != step_graph(&t->step[i]))
            return false;
    return true;
}

/* The value that an output had in the iteration of f. */
static bool find_slice(const Taps *t, const InnerTensor *of, const Differs *f, Pair *p)
{
    const int dims = loop_dims(of, of->n), all = loop_dims(f->t, f->t->n);
    Pair whole;
    Data *const slice = NEWS(Data, 2);
    if (!find_pair(t, of->path, &whole))
        return false;
    int64_t iteration = f->iteration;
    const Data *own = data_among(&t->got, f->t->path, t->folder, "out");
    for (int k = dims; own && k < all; k++)
        iteration /= own->form == TENSOR && own->t->dim[k] ? own->t->dim[k] : 1;
    if (iteration >= iterations_of(whole.got, dims) || iteration >= iterations_of(whole.expected, dims) ||
        !read_slice(whole.got, dims, iteration, &slice[0]) || !read_slice(whole.expected, dims, iteration, &slice[1])) {
        *p = whole;
        return true;
    }
    *p = (Pair){&slice[0], &slice[1], data_difference(&slice[0], &slice[1], opt()->tolerance)};
    return true;
}

static void print_inner(const Taps *t, const Taps *outer, const InnerTensors *all, const Differs *f, const char *role,
                        const Value *v)
{
    Pair p;
    if (v->graph == t->m->graph) {
        print_value(outer, role, v);
        return;
    }
    for (int i = 0; i < all->n; i++)
        if (all->at[i].value == v && is_around(&all->at[i], f->t) && find_slice(t, &all->at[i], f, &p)) {
            printf("    %s ", role);
            print_pair(t, v, &p);
            return;
        }
    if (v->data || v->def)
        print_value(t, role, v);
    else
        printf("    %s \"%s\": an input of its %s\n", role, printable(v->name), v->graph->owner ? "graph" : "function");
}

static void print_place(const Taps *t, const Differs *f)
{
    const Data *got = data_among(&t->got, f->t->path, t->folder, "out");
    const int dims = loop_dims(f->t, f->t->n);
    printf("  first node that differs: %s\n", node_place(f->t->value->def));
    for (int i = f->t->n - 1; i >= 0; i--) {
        const TapStep *s = &f->t->step[i];
        const int k = loop_dims(f->t, i);
        for (int j = k; j < k + step_dims(s); j++)
            printf("    in iteration %lld of %s\n", (long long)iteration_of(got, dims, f->iteration, j),
                   node_place(s->node));
        if (s->call)
            printf("    in the call %s\n", node_place(s->node));
    }
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static Differs first_that_differs(const Taps *t, const InnerTensors *all, const Node *in)
{
    Differs first = {0};
    for (int i = 0; i < all->n; i++) {
        Differs now = {.t = &all->at[i]};
        Pair p;
        if (now.t->step->node != in || !find_pair(t, now.t->path, &p))
            continue;
        now.iteration = first_iteration(&p, loop_dims(now.t, now.t->n));
        if (now.iteration >= 0) {
            set_key(&now, p.got);
            if (!first.t || is_before(&now, &first))
                first = now;
        }
        free_pair(&p);
    }
    return first;
}

bool locate_inside(const Taps *outer, const Attempt *base, Runtime *r, int k, const Node *n)
{
    const InnerTensors all = inner_tensors(outer->m);
    VEC(const char *) taps = {0};
    Attempt p = *base;
    Taps t = {.m = outer->m};
    for (int i = 0; i < all.n; i++)
        if (all.at[i].step->node == n)
            vec_push(&taps, all.at[i].path->s);
    if (!taps.n)
        return false;
    vec_push(&taps, NULL);
    p.folder = text_format("%s-inside", base->folder);
    p.taps = taps.at;
    p.loose = true;
    t.folder = text_format("%s/%d", p.folder, k);
    if (!run_taps(&t, &p, r, k)) {
        printf("  which node inside of it is not known: with its tensors as outputs %s\n",
               *p.failure   ? p.failure
               : r->missing ? r->missing
                            : "the model cannot be compiled");
        return false;
    }
    const Differs first = first_that_differs(&t, &all, n);
    if (!first.t)
        return false;
    print_place(&t, &first);
    EACH_IN (v, first.t->value->def)
        print_inner(&t, outer, &all, &first, "in: ", v);
    EACH_OUT (v, first.t->value->def)
        print_inner(&t, outer, &all, &first, "out:", v);
    return true;
}
