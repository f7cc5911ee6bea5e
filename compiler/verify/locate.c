/* locate.c - finds the first node whose outputs differ: every tensor that a node computes becomes an output, here and in
 * ONNX Runtime. */
#include "verify/verify.h"

#include "base/options.h"
#include "ir/opset.h"
#include "read/read.h"

/* Where the values of a data set with taps are. */
typedef struct Taps {
    const Model *m;
    const char *folder, *by; /* by: "ort" or "eval" */
    Names got, expected;     /* the tensors of out_I, and of ort_I or eval_I */
} Taps;

static const char *reference(const Taps *t) { return strcmp(t->by, "ort") ? "the evaluator" : "ONNX Runtime"; }

static Tensor *tensor_named(const Taps *t, const Names *names, const char *file, Name n)
{
    for (int i = 0; n && i < names->n; i++)
        if (names->at[i] == n)
            return tensor_from(text_format("%s/%s_%d", t->folder, file, i));
    return NULL;
}

typedef struct Pair {
    Tensor *got, *expected;
    Difference difference;
} Pair;

/* A tensor of both sides. False: one has none. */
static bool find_pair(const Taps *t, const Value *v, Pair *p)
{
    p->got = tensor_named(t, &t->got, "out", v->name);
    p->expected = p->got ? tensor_named(t, &t->expected, t->by, v->name) : NULL;
    if (p->expected)
        p->difference = tensor_difference(p->got, p->expected, opt()->tolerance);
    return p->expected != NULL;
}

static void free_pair(Pair *p)
{
    tensor_release(p->got);
    tensor_release(p->expected);
}

static bool differs(const Taps *t, const Value *v)
{
    Pair p;
    const bool any = find_pair(t, v, &p) && !is_alike(&p.difference);
    free_pair(&p);
    return any;
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

static void print_pair(const Taps *t, const Value *v, const Pair *p)
{
    Text s = {0};
    text_put(&s, "%s \"%s\": %s, ", v->def ? "tensor" : "input", printable(v->name), tensor_text(p->got));
    put_difference(&s, p->got, &p->difference);
    if (p->difference.count)
        text_put(&s, "\n      first at %s: %s, but %s has %s", element_index(p->got, p->difference.first),
                 element_text(p->got, p->difference.first), reference(t),
                 element_text(p->expected, p->difference.first));
    if (p->difference.count && p->difference.absolute <= 1 && type_bits(p->got->type) <= 8)
        text_put(&s, "\n      by one step: the value before it is nearly between the two");
    printf("%s\n", s.s);
}

static void print_value(const Taps *t, const char *role, const Value *v)
{
    Pair p;
    printf("    %s ", role);
    if (find_pair(t, v, &p))
        print_pair(t, v, &p);
    else if (v->data)
        printf("constant \"%s\": %s\n", printable(v->name), tensor_text(v->data));
    else if (v->def)
        printf("tensor \"%s\"\n", printable(v->name));
    else
        printf("\"%s\": an input of the model\n", printable(v->name));
    free_pair(&p);
}

static void print_node(const Taps *t, const Node *n)
{
    printf("  first node that differs: %s\n", node_place(n));
    EACH_IN (v, n)
        print_value(t, "in: ", v);
    EACH_OUT (v, n)
        print_value(t, "out:", v);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* Runs the C and ONNX Runtime, or --eval, with these tensors as outputs. False: one cannot be run. */
static bool run_taps(Taps *t, Pass *p, Runtime *r, int k)
{
    Names tensors = {0};
    if (pass_run(p) || *p->failure)
        return false;
    t->got = (Names){0};
    read_names(text_format("%s/outputs", p->folder), &t->got);
    if (t->by)
        return true;
    for (int i = 0; i < t->got.n; i++) {
        const Value *v = map_get(&t->m->graph->scope, t->got.at[i]);
        if (v && v->def) /* not a part of a sequence */
            vec_push(&tensors, v->name);
    }
    t->expected = p->evaluated ? t->got : tensors;
    t->by = p->evaluated ? "eval" : "ort";
    return p->evaluated || runtime_run(r, t->m, &p->data->set.at[k], p->folder, k, &tensors);
}

/* For a difference that disappears when every tensor is an output, as outputs prevent fusion: finds the first tensor that
 * differs when it alone is made an output. */
static void search_one_by_one(Taps *t, Pass *p, int k)
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
        Pass now = *p;
        now.taps = taps;
        now.evaluate = false;
        now.folder = text_format("%s/%d", p->folder, k + 1000 + middle);
        if (!run_taps(&one, &now, NULL, k))
            break;
        one.folder = text_format("%s/%d", now.folder, k);
        Tensor *got = tensor_named(&one, &one.got, "out", list.at[middle]);
        Tensor *expected = tensor_named(t, &t->expected, t->by, list.at[middle]);
        const bool wrong = got && expected && tensor_difference(got, expected, opt()->tolerance).first >= 0;
        tensor_release(got);
        tensor_release(expected);
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

static void make_sense(Taps *t, Pass *p, int k)
{
    for (const Node *n = t->m->graph->first; n; n = n->next)
        EACH_OUT (v, n)
            if (differs(t, v)) {
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

void locate(const Pass *base, Runtime *r, Model *m, int k)
{
    static const char *const all[] = {"all", NULL};
    Pass p = *base;
    p.folder = text_format("%s-taps", base->folder);
    p.taps = all;
    p.only = k;
    p.quiet = true;
    p.evaluate = r->missing != NULL;
    resolve_ops(m);
    check_model(m);
    Taps t = {.m = m, .folder = text_format("%s/%d", p.folder, k)};
    bool done = run_taps(&t, &p, r, k);
    if (!done && !*p.failure && r->missing && !p.evaluate) {
        t.by = NULL;
        p.evaluate = true;
        done = run_taps(&t, &p, r, k);
    }
    if (done)
        make_sense(&t, &p, k);
    else
        printf("  the node is not known: with every tensor as an output %s\n",
               *p.failure ? p.failure : "the model cannot be compiled (--tap all)");
}
