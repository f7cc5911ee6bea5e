/* check.c - check: do nodes have the inputs, outputs and attributes of their schemas, are functions called as
 * declared, and is every value defined before its uses (check_order.c)? Reports all problems of a model at once.
 * Requires: resolved. Leaves: no omitted trailing arguments; every required input and attribute is present. */
#include "base/options.h"
#include "base/nearest.h"
#include "ir/opset.h"
#include "ir/schema.h"
#include "read/read.h"

/* ---- arguments ------------------------------------------------------------------------------------------------ */

static bool is_variadic(const Formal *f, int n) { return n && f[n - 1].variadic; }

/* The number of arguments without trailing omitted ones (""). Those of a variadic formal are kept: an omitted input
 * there is an error, an omitted output is unused. */
static int trimmed(Value *const *at, int n, const Formal *f, int n_formals)
{
    while (n && !at[n - 1] && !(is_variadic(f, n_formals) && n >= n_formals))
        n--;
    return n;
}

static int min_arguments(const Formal *f, int n)
{
    int min = 0;
    for (int i = 0; i < n; i++)
        if (!f[i].optional)
            min = i + 1;
    return min;
}

static void check_count(const Node *n, const char *what, int have, const Formal *f, int n_formals)
{
    int min = min_arguments(f, n_formals);
    if (have > n_formals && !is_variadic(f, n_formals))
        error_node(n, "NOD-08", "%s takes %s %d %s%s, the node has %d", n->op->name,
                   min < n_formals ? "at most" : "exactly", n_formals, what, n_formals == 1 ? "" : "s", have);
    else if (have < min)
        error_node(n,
                   is_variadic(f, n_formals) && have == n_formals - 1 ? what[0] == 'i' ? "OPT-09" : "OPT-10" : "NOD-09",
                   "%s needs %s %d %s%s, the node has %d", n->op->name,
                   min < n_formals || is_variadic(f, n_formals) ? "at least" : "exactly", min, what,
                   min == 1 ? "" : "s", have);
}

static void check_arguments(Node *n, const Signature *signature)
{
    if (n->op->flags & CUSTOM)
        return;
    const int given = n->n_in, min = min_arguments(signature->in, signature->n_in);
    n->n_in = trimmed(n->in, n->n_in, signature->in, signature->n_in);
    if (n->n_in < min) /* keep required inputs with empty names, which are reported below */
        n->n_in = given < min ? given : min;
    n->n_out = trimmed(n->out, n->n_out, signature->out, signature->n_out);
    check_count(n, "input", n->n_in, signature->in, signature->n_in);
    check_count(n, "output", n->n_out, signature->out, signature->n_out);
    for (int i = 0; i < n->n_in; i++) {
        const Formal *f = formal_in(signature, i);
        if (f && !n->in[i] && f->variadic)
            error_node(n, "OPT-13", "input %d (of '%s') is empty", i, f->name->s);
        else if (f && !n->in[i] && !f->optional)
            error_node(n, "OPT-04", "input %d ('%s') is required, but empty", i, f->name->s);
    }
    for (int i = 0; i < n->n_out; i++) {
        const Formal *f = formal_out(signature, i);
        if (f && !n->out[i] && !f->optional && !f->variadic)
            error_node(n, "OPT-05", "output %d ('%s') is required, but empty", i, f->name->s);
    }
}

/* ---- attributes ----------------------------------------------------------------------------------------------- */

static const char *attr_type_text(AttrType t)
{
    static const char *const text[] = {"nothing", "a float",         "an int",         "a string", "a tensor",
                                       "a graph", "floats",          "ints",           "strings",  "tensors",
                                       "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
    return text[t];
}

static void suggest_attr(const Signature *signature, Name given)
{
    Nearest near = nearest_to(given->s, given->n);
    for (int i = 0; i < signature->n_attr; i++)
        nearest_try(&near, signature->attr[i].name->s, signature->attr[i].name->n);
    if (nearest_help(&near))
        return;
    Text t = {0};
    for (int i = 0; i < signature->n_attr; i++)
        text_put(&t, "%s%s", i ? ", " : "", signature->attr[i].name->s);
    if (t.n)
        note_help("it has: %s", t.s);
}

static void check_attr(const Node *n, const Attr *a, const Signature *signature)
{
    const FormalAttr *f = formal_attr(signature, a->name->s);
    if (!f && a->name->n > 2 && a->name->s[0] == '_' && a->name->s[1] == '_')
        warn_strict(node_path(n), "ATT-13", "%s has no attribute '%s'; it is not used", n->op->name,
                    printable(a->name));
    else if (!f) {
        error_node(n, "ATT-13", "%s (since version %d) has no attribute '%s'", n->op->name, n->op->since_version,
                   printable(a->name));
        suggest_attr(signature, a->name);
    } else if (f->type != a->type)
        error_node(n, "ATT-13", "the attribute '%s' must be %s, not %s", printable(a->name), attr_type_text(f->type),
                   attr_type_text(a->type));
}

static void check_attrs(const Node *n, const Signature *signature)
{
    if (n->op->flags & CUSTOM)
        return;
    for (int i = 0; i < n->n_attr; i++)
        check_attr(n, &n->attr[i], signature);
    for (int i = 0; i < signature->n_attr; i++) {
        const FormalAttr *f = &signature->attr[i];
        if (!f->optional && !node_attr(n, f->name->s))
            error_node(n, "ATT-13", "the attribute '%s' (%s) is missing", f->name->s, attr_type_text(f->type));
    }
}

/* ---- calls of the model's functions --------------------------------------------------------------------------- */

static const Attr *default_of(const Function *f, Name n) { return attr_named(f->defaults.at, f->defaults.n, n); }

static bool declares(const Function *f, Name attr) { return vec_has(&f->attr, attr) || default_of(f, attr); }

static void check_call(Node *n, const Function *f)
{
    while (n->n_in && !n->in[n->n_in - 1])
        n->n_in--;
    while (n->n_out && !n->out[n->n_out - 1])
        n->n_out--;
    if (n->n_in > f->in.n)
        error_node(n, "FUN-17", "the function has %d inputs, the call %d", f->in.n, n->n_in);
    if (n->n_out > f->out.n)
        error_node(n, "FUN-17", "the function has %d outputs, the call %d", f->out.n, n->n_out);
    for (int i = 0; i < n->n_attr; i++) {
        const Attr *a = &n->attr[i], *d = default_of(f, a->name);
        if (!declares(f, a->name))
            warn_strict(node_path(n), "FUN-13", "the function '%s' has no attribute '%s'; it is not used",
                        printable(f->name), printable(a->name));
        else if (d && d->type != a->type)
            error_node(n, "FUN-12", "the attribute '%s' is %s, but the function's default is %s", printable(a->name),
                       attr_type_text(a->type), attr_type_text(d->type));
    }
}

/* ---- graphs --------------------------------------------------------------------------------------------------- */

typedef struct Check {
    Model *m;
    Map nodes, graphs; /* names so far */
    Map domains;       /* domains that nodes use */
    int odd_names;
    int refused; /* errors about single nodes, without which later stages go on */
    const Function *function;
} Check;

/* Warns if the operator in a function's body has another version than the model's own import gives it. */
static void check_import(const Check *c, const Node *n)
{
    EACH_AT (import, c->m->imports)
        if (import->domain == n->source->domain && !(n->op->flags & CUSTOM) &&
            op_find(n->source->domain->s, n->source->op_type->s, import->version) != n->op)
            warn_strict(c->function->path, "FUN-15",
                        "%s means another version here than in the model, which imports %s %lld", n->op->name,
                        domain_text(n->source->domain), (long long)import->version);
}

static void check_graph(Check *c, Graph *g);

static void check_node(Check *c, Node *n)
{
    const Function *f = n->op ? NULL : find_function(c->m, n);
    const int errors = error_count();
    map_put(&c->domains, n->source->domain, n);
    if (name_is(n->source->domain, "onnxcc") && !f)
        error_node(n, "OPS-05", "the domain 'onnxcc' is not for models");
    else if (n->op) {
        check_arguments(n, op_signature(n->op));
        check_attrs(n, op_signature(n->op));
        if (c->function)
            check_import(c, n);
    } else if (f)
        check_call(n, f);
    if (n->name->n && map_get(&c->nodes, n->name))
        warn_pedantic(node_path(n), "NAM-07", "two nodes are named '%s'", printable(n->name));
    map_put(&c->nodes, n->name, n);
    EACH_OUT (v, n)
        c->odd_names += !name_is_identifier(v->name);
    for (int i = 0; i < n->n_attr && c->function; i++) {
        const Name ref = n->attr[i].ref;
        if (ref && ref->n && !declares(c->function, ref))
            error_node(n, "ATT-21", "the attribute '%s' refers to '%s', which the function '%s' does not have",
                       printable(n->attr[i].name), printable(ref), printable(c->function->name));
    }
    if (error_count() > errors) {
        c->refused += error_count() - errors;
        refuse_node(n);
    }
    EACH_NESTED (g, n)
        check_graph(c, g);
}

static void check_graph(Check *c, Graph *g)
{
    if (map_get(&c->graphs, g->name))
        warn_pedantic(g->path, "NAM-09", "two graphs are named '%s'", printable(g->name));
    map_put(&c->graphs, g->name, g);
    for (Node *n = g->first; n; n = n->next)
        check_node(c, n);
}

/* Reports inputs of types that the format allows and the compiler does not support. */
static void check_forms(const Graph *g)
{
    EACH_OF (v, g->in) {
        if (v->form == SPARSE)
            error_value(v, "SPA-13", "inputs of the type sparse_tensor are not supported");
        else if (v->form == OPAQUE)
            error_value(v, "TYP-13", "inputs of opaque types are not supported");
    }
}

/* Checks a graph of the model or of a function, with its nested graphs. */
static void check_root(Check *c, Graph *g, const Function *f)
{
    if (!g)
        return;
    c->function = f;
    c->nodes = (Map){0};
    check_graph(c, g);
    check_order(g);
    if (!f)
        check_forms(g);
}

/* ---- recursion of functions ------------------------------------------------------------------------------------ */

typedef struct Frame {
    Function *f;
    VEC(Function *) calls;
    int next;
} Frame;

/* Adds the functions that g calls. */
static void list_calls(Frame *frame, const Graph *g)
{
    EACH_NODE (n, g) {
        Function *f = n->op ? NULL : find_function(g->model, n);
        if (f)
            vec_push(&frame->calls, f);
    }
}

/* Walks the calls from f on, iteratively; state: function -> &entered or &done. */
static void check_recursion(Function *f, Map *state)
{
    static const char entered = 1, done = 2;
    VEC(Frame) stack = {0};
    if (map_get(state, f))
        return;
    for (Function *enter = f; enter || stack.n;) {
        if (enter) {
            Frame frame = {.f = enter};
            map_put(state, enter, (char *)(uintptr_t)&entered);
            list_calls(&frame, enter->body);
            vec_push(&stack, frame);
            enter = NULL;
        }
        Frame *top = &stack.at[stack.n - 1];
        if (top->next == top->calls.n) {
            map_put(state, top->f, (char *)(uintptr_t)&done);
            stack.n--;
            continue;
        }
        Function *callee = top->calls.at[top->next++];
        const char *seen = map_get(state, callee);
        if (!seen)
            enter = callee;
        else if (seen == &entered) {
            Text t = {0};
            int i = stack.n - 1;
            while (stack.at[i].f != callee)
                i--;
            for (; i < stack.n; i++)
                text_put(&t, "%s -> ", printable(stack.at[i].f->name));
            error_at(callee->path, "FUN-24", "the function calls itself: %s%s", t.s, printable(callee->name));
        }
    }
}

/* ---- the model ------------------------------------------------------------------------------------------------ */

/* ONNX Runtime adds several such imports, so they are one message. */
static void check_unknown_imports(const Check *c)
{
    enum { SHOWN = 5 };
    Text t = {0};
    int n = 0;
    for (int i = 0; i < c->m->imports.n; i++) {
        const Name domain = c->m->imports.at[i].domain;
        if (!map_get(&c->domains, domain) && !domain_newest(domain) && n++ < SHOWN)
            text_put(&t, "%s'%s'", n > 1 ? ", " : "", printable(domain));
    }
    if (n == 1)
        warn_pedantic("opset_import", "OPS-04", "the operator set %s is not known, and not used", t.s);
    else if (n)
        warn_pedantic("opset_import", "OPS-04", "%d operator sets are not known, and not used: %s%s", n, t.s,
                      n > SHOWN ? " ..." : "");
}

static void check_imports(const Check *c)
{
    check_unknown_imports(c);
    EACH_AT (import, c->m->imports) {
        Name domain = import->domain;
        int64_t version = import->version, newest = domain_newest(domain);
        if (map_get(&c->domains, domain))
            continue;
        if (newest && version > newest)
            warn_at("opset_import", "OPS-10",
                    "operator set %s version %lld is newer than the newest supported one (%lld), and not used",
                    domain_text(domain), (long long)version, (long long)newest);
    }
}

void check_model(Model *m)
{
    Check c = {.m = m};
    Map state = {0};
    const int errors = error_count(); /* of earlier stages */
    check_root(&c, m->graph, NULL);
    EACH_OF (f, m->functions) {
        check_root(&c, f->body, f);
        map_put(&c.domains, f->domain, f);
        check_recursion(f, &state);
    }
    EACH_AT (t, m->training) {
        check_root(&c, t->init, NULL);
        check_root(&c, t->algorithm, NULL);
    }
    check_imports(&c);
    if (c.odd_names)
        warn_about(opt()->strict ? WARN_ORDINARY : WARN_HINT, "graph", "NAM-01",
                   "%d values have names that are not C identifiers", c.odd_names);
    map_free(&c.nodes);
    map_free(&c.graphs);
    map_free(&c.domains);
    stop_on_new_errors(errors + c.refused);
}

/* Checks a node copied from a function's body: the call may omit what the node requires. */
static void check_copy(Node *n)
{
    if (!n->source || !n->source->call || !n->op)
        return;
    check_arguments(n, op_signature(n->op));
    check_attrs(n, op_signature(n->op));
}

void check_inlined(Model *m)
{
    EACH_NODE (n, m->graph)
        check_copy(n);
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static TypeSet type_bit(const Value *v)
{
    switch (v->form) {
    case TENSOR: return v->type ? 1ull << v->type : 0;
    case SEQUENCE: return TYPE_SEQUENCE;
    case OPTIONAL: return TYPE_OPTIONAL;
    case MAP: return TYPE_MAP;
    default: return 1ull << 63;
    }
}

static const char *set_text(TypeSet set)
{
    Text t = {0};
    text_put(&t, "%s", "");
    for (Type k = F32; k < N_TYPES; k++)
        if (set >> k & 1)
            text_put(&t, "%s%s", t.n ? ", " : "", type_onnx(k));
    static const char *const forms[] = {"a sequence", "an optional", "a map"};
    for (int i = 0; i < 3; i++)
        if (set & TYPE_SEQUENCE << i)
            text_put(&t, "%s%s", t.n ? ", " : "", forms[i]);
    return t.s;
}

static const char *value_type_text(const Value *v)
{
    static const char *const forms[] = {"", "a sequence", "an optional", "a map", "a sparse tensor", "opaque"};
    return v->form == TENSOR ? type_onnx(v->type) : forms[v->form];
}

bool check_types(const Node *n)
{
    const Signature *signature = op_signature(n->op);
    const Value *of[MAX_VARIABLES] = {0}; /* the value that bound each type variable */
    int errors = error_count();
    for (int i = 0; i < n->n_in; i++) {
        const Formal *f = formal_in(signature, i);
        const Value *v = n->in[i];
        if (!f || !v || v->poisoned || !type_bit(v))
            continue;
        if (!(f->set & type_bit(v))) {
            error_node(n, "NOD-10", "input %d ('%s') is %s, but %s (since version %d) takes %s", i, f->name->s,
                       value_type_text(v), n->op->name, n->op->since_version, set_text(f->set));
            continue;
        }
        if (f->variable < 0 || f->mixed)
            continue;
        const Value **first = &of[f->variable];
        if (!*first)
            *first = v;
        else if (type_bit(*first) != type_bit(v))
            error_node(n, f->variadic ? "OPT-11" : "NOD-10",
                       "input %d ('%s') is %s, but must have the type of '%s', %s", i, f->name->s, value_type_text(v),
                       printable((*first)->name), value_type_text(*first));
    }
    return error_count() == errors;
}
