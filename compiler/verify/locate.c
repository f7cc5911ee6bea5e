/* locate.c - finds the first node whose outputs differ: every tensor that a node computes becomes an output, here and
 * in ONNX Runtime. */
#include "verify/verify.h"

#include "base/options.h"

static bool differs(const Taps *t, const Value *v)
{
    Pair p;
    const bool any = find_pair(t, v->name, &p) && !is_alike(&p.difference);
    free_pair(&p);
    return any;
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

static void print_node(const Taps *t, const Node *n)
{
    printf("  first node that differs: %s\n", node_place(n));
    EACH_IN (v, n)
        print_value(t, "in: ", v);
    EACH_OUT (v, n)
        print_value(t, "out:", v);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* For a difference that disappears when every tensor is an output, as outputs prevent fusion: finds the first tensor
 * that differs when it alone is made an output. */
static void search_one_by_one(Taps *t, Attempt *p, int k)
{
    Names list = {0};
    for (const Node *n = t->m->graph->first; n; n = n->next)
        EACH_OUT (v, n)
            for (int i = 0; i < t->got.n; i++)
                if (t->got.at[i] == v->name)
                    vec_push(&list, v->name);
    int low = 0, high = list.n; /* the first that differs is one of low, ..., high; high: none */
    while (low < high) {
        const int middle = (low + high) / 2;
        const char *const taps[] = {list.at[middle]->s, NULL};
        Taps one = *t;
        Attempt now = *p;
        now.taps = taps;
        now.evaluate = false;
        now.folder = text_format("%s/%d", p->folder, k + 1000 + middle);
        if (!run_taps(&one, &now, NULL, k))
            break;
        one.folder = text_format("%s/%d", now.folder, k);
        Data *got = data_among(&one.got, list.at[middle], one.folder, "out");
        Data *expected = data_among(&t->expected, list.at[middle], t->folder, t->by);
        const bool wrong = got && expected && data_difference(got, expected, opt()->tolerance).count > 0;
        data_release(got);
        data_release(expected);
        high = wrong ? middle : high;
        low = wrong ? low : middle + 1;
    }
    const Value *v = low < list.n ? map_get(&t->m->graph->scope, list.at[low]) : NULL;
    if (v)
        printf(
            "  it differs only where nodes are fused: the first tensor that differs as the only tap is \"%s\", of %s\n",
            printable(v->name), node_place(v->def));
    else
        printf("  it differs only where nodes are fused: no inner tensor differs (--remarks=fuse)\n");
}

static void print_first(Taps *t, Attempt *p, Runtime *r, int k)
{
    for (const Node *n = t->m->graph->first; n; n = n->next)
        EACH_OUT (v, n)
            if (differs(t, v)) {
                if (!locate_inside(t, p, r, k, n))
                    print_node(t, n);
                return;
            }
    if (!strcmp(t->by, "eval"))
        printf(
            "  onnxcc's own evaluator has the values of the C in every tensor: with ONNX Runtime (--ort) the node would be "
            "found\n");
    else
        search_one_by_one(t, p, k);
}

void locate(const Attempt *base, Runtime *r, Model *m, int k)
{
    static const char *const all[] = {"all", NULL};
    Attempt p = *base;
    p.folder = text_format("%s-taps", base->folder);
    p.taps = all;
    p.only = k;
    p.quiet = p.outer = true;
    p.evaluate = r->missing != NULL;
    Taps t = {.m = m, .folder = text_format("%s/%d", p.folder, k)};
    bool done = run_taps(&t, &p, r, k);
    if (!done && !*p.failure && r->missing && !p.evaluate) {
        t.by = NULL;
        p.evaluate = true;
        done = run_taps(&t, &p, r, k);
    }
    if (done)
        print_first(&t, &p, r, k);
    else
        printf("  the node is not known: with every tensor as an output %s\n",
               *p.failure ? p.failure : "the model cannot be compiled (--tap all)");
}
