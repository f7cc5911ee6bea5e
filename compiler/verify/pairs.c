/* pairs.c - runs with tensors as outputs, and their values by the C and by ONNX Runtime or the evaluator. */
#include "verify/verify.h"

#include "base/options.h"

/* ---- a run ---------------------------------------------------------------------------------------------------- */

bool run_taps(Taps *t, Attempt *p, Runtime *r, int k)
{
    Names tensors = {0};
    if (attempt_run(p) || *p->failure)
        return false;
    t->got = (Names){0};
    read_names(text_format("%s/outputs", p->folder), &t->got);
    if (t->by)
        return true;
    for (int i = 0; i < t->got.n; i++) {
        const Value *v = map_get(&t->m->graph->scope, t->got.at[i]);
        if (!v || v->def) /* inside of a node, or computed */
            vec_push(&tensors, t->got.at[i]);
    }
    t->expected = p->evaluated ? t->got : tensors;
    t->by = p->evaluated ? "eval" : "ort";
    return p->evaluated || runtime_run(r, t->m, &p->data->set.at[k], p->folder, k, &tensors);
}

/* ---- a tensor ------------------------------------------------------------------------------------------------- */

static const char *reference(const Taps *t) { return strcmp(t->by, "ort") ? "the evaluator" : "ONNX Runtime"; }

bool find_pair(const Taps *t, Name n, Pair *p)
{
    p->got = data_among(&t->got, n, t->folder, "out");
    p->expected = p->got ? data_among(&t->expected, n, t->folder, t->by) : NULL;
    if (p->expected)
        p->difference = data_difference(p->got, p->expected, opt()->tolerance);
    return p->expected != NULL;
}

void free_pair(Pair *p)
{
    data_release(p->got);
    data_release(p->expected);
}

void print_pair(const Taps *t, const Value *v, const Pair *p)
{
    Text s = {0};
    text_put(&s, "%s \"%s\": %s, ", v->def ? "tensor" : "input", printable(v->name), data_text(p->got));
    put_difference(&s, &p->difference);
    if (p->difference.count)
        text_put(&s, "\n      first at %s: %s, but %s has %s", p->difference.first, p->difference.got, reference(t),
                 p->difference.expected);
    if (p->difference.count && p->difference.absolute <= 1 && type_bits(p->difference.type) <= 8)
        text_put(&s, "\n      by one step: the value before it is nearly between the two");
    printf("%s\n", s.s);
}

void print_value(const Taps *t, const char *role, const Value *v)
{
    Pair p;
    printf("    %s ", role);
    if (find_pair(t, v->name, &p))
        print_pair(t, v, &p);
    else if (v->data)
        printf("constant \"%s\": %s\n", printable(v->name), tensor_text(v->data));
    else if (v->def)
        printf("tensor \"%s\"\n", printable(v->name));
    else
        printf("\"%s\": an input of the model\n", printable(v->name));
    free_pair(&p);
}
