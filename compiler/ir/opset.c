/* opset.c - resolve: finds the schema of every node by domain, operator and imported version; one message per
 * unresolved operator.
 * Requires: a parsed model. Leaves: n->op on every node except calls of model functions. */
#include "ir/opset.h"
#include "base/nearest.h"
#include "base/options.h"
#include "ir/schema.h"

/* The newest supported versions. In a newer one, operators may have other semantics. */
static const struct Known {
    const char *domain;
    int64_t newest;
} known[] = {
    {"", 28},
    {"ai.onnx.ml", 5},
    {"ai.onnx.training", 1},
    {"ai.onnx.preview", 1},
    {"ai.onnx.preview.training", 1},
    {"com.microsoft", 1},
    {"com.microsoft.nchwc", 1},
    {"onnxcc", 1},
};

int64_t domain_newest(Name d)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (name_is(d, known[i].domain))
            return known[i].newest;
    return 0;
}

const char *domain_text(Name d) { return d->n ? printable(d) : "ai.onnx"; }

Name domain_normal(Name d) { return !d || name_is(d, "ai.onnx") ? name("") : d; }

/* The highest imported version of a domain; 0: not imported. */
static int64_t import_version(const Imports *imports, Name domain)
{
    int64_t v = 0;
    for (int i = 0; i < imports->n; i++)
        if (domain_normal(imports->at[i].domain) == domain && imports->at[i].version > v)
            v = imports->at[i].version;
    return v;
}

Name function_key(Name domain, Name op, Name overload)
{
    Name parts[] = {domain, op, overload ? overload : name("")};
    return name_bytes((const char *)parts, sizeof parts);
}

Function *find_function(const Model *m, const Node *n)
{
    if (!m->functions.n)
        return NULL;
    return map_get(&m->function_of, function_key(n->source->domain, n->source->op_type, n->source->overload));
}

/* Is there a function of n's operator with an overload, whichever? */
static bool has_overload(const Model *m, const Node *n)
{
    EACH_OF (f, m->functions)
        if (f->domain == n->source->domain && f->name == n->source->op_type && f->overload->n)
            return true;
    return false;
}

/* An operator without a schema, and the nodes that need it. */
typedef struct Unresolved {
    Name domain, op;
    int64_t version;
    int count;
    const Node *first;
    struct Unresolved *next;
} Unresolved;

typedef struct Resolver {
    Model *model;
    const Imports *imports;
    Unresolved *unresolved, **last;
    Map unresolved_of; /* by domain, operator and version */
} Resolver;

static void resolve_graph(Resolver *r, Graph *g);
static void resolve_nested(Resolver *r, const Node *n);

void refuse_node(Node *n) { n->op = op_find("onnxcc", "Refused", 1); }

static void add_unresolved(Resolver *r, Node *n, Name domain, int64_t version)
{
    refuse_node(n);
    const struct {
        Name domain, op;
        int64_t version;
    } key = {domain, n->source->op_type, version};
    Name kind = name_bytes((const char *)&key, sizeof key);
    Unresolved *m = map_get(&r->unresolved_of, kind);
    if (m) {
        m->count++;
        return;
    }
    m = *r->last = NEW_COPY((Unresolved){domain, n->source->op_type, version, 1, n, NULL});
    r->last = &m->next;
    map_put(&r->unresolved_of, kind, m);
}

/* Resolves a function by its own imports, once. */
static void resolve_function(Resolver *r, Function *f)
{
    if (f->resolved)
        return;
    f->resolved = true;
    const Imports *outside = r->imports;
    r->imports = &f->imports;
    resolve_graph(r, f->body);
    r->imports = outside;
}

/* Is s DOMAIN.OPERATOR of n? Either may have a dot, and ai.onnx be left out. */
static bool is_called(const Node *n, const char *s)
{
    Name domain = n->source->domain, op = n->source->op_type;
    domain = domain->n ? domain : name("ai.onnx");
    size_t k = domain->n;
    return (strlen(s) > k && !memcmp(s, domain->s, k) && s[k] == '.' && name_is(op, s + k + 1)) ||
           (!n->source->domain->n && name_is(op, s));
}

/* Is n an operator that the user provides (--custom-op)? */
static bool is_custom(const Node *n)
{
    EACH_AT (o, opt()->customs)
        if (is_called(n, o->name))
            return o->used = true;
    return false;
}

static void refuse(Resolver *r, Node *n)
{
    refuse_node(n);
    resolve_nested(r, n);
}

static void resolve_node(Resolver *r, Node *n)
{
    if (is_custom(n)) {
        n->op = op_find("onnxcc", "Custom", 1);
        resolve_nested(r, n);
        return;
    }
    Name domain = n->source->domain;
    int64_t version = import_version(r->imports, domain);
    if (!version && r->model->ir_version < 3 && !r->imports->n && !domain->n)
        version = 1;
    Function *f = find_function(r->model, n);
    if (!version) {
        error_node(n, domain->n ? "OPS-06" : "OPS-03", "domain '%s' is not imported", domain_text(domain));
        note_help("the model's opset_import must name the domain and its version");
        refuse(r, n);
        return;
    }
    if (!f && n->source->overload->n) {
        error_node(n, "FUN-06", "there is no function %s of the domain '%s' with the overload '%s'",
                   printable(n->source->op_type), domain_text(domain), printable(n->source->overload));
        refuse(r, n);
        return;
    }
    if (!f && !op_find(domain->s, n->source->op_type->s, version) && has_overload(r->model, n)) {
        error_node(n, "FUN-06", "there is no function %s of the domain '%s' without an overload",
                   printable(n->source->op_type), domain_text(domain));
        refuse(r, n);
        return;
    }
    int64_t newest = domain_newest(domain);
    if (newest && version > newest && !f) {
        error_node(n, "OPS-10", "operator set %s version %lld is newer than the newest supported one (%lld)",
                   domain_text(domain), (long long)version, (long long)newest);
        refuse(r, n);
        return;
    }
    n->op = op_find(domain->s, n->source->op_type->s, version);
    if (n->op && (n->op->flags & DEPRECATED || (f && n->source->overload->n)))
        n->op = NULL;
    if (n->op && f) {
        warn_at(f->path, "FUN-29", "the function %s has the name of an operator, which is used instead",
                printable(f->name));
        f = NULL;
    }
    if (f)
        resolve_function(r, f);
    else if (!n->op)
        add_unresolved(r, n, domain, version);
    resolve_nested(r, n);
}

static void resolve_graph(Resolver *r, Graph *g)
{
    for (Node *n = g->first; n; n = n->next)
        resolve_node(r, n);
}

static void resolve_nested(Resolver *r, const Node *n)
{
    EACH_NESTED (g, n)
        resolve_graph(r, g);
}

/* A removed operator's schema names its replacement, after this prefix if the operator was experimental. */
static const char experiment[] = "experimental: ";

/* The start of ONNX Runtime's domains. */
static const char microsoft[] = "com.microsoft";

/* Names an operator of m's domain with a similar name. */
static void suggest_operator(const Unresolved *m)
{
    int n;
    const Op *const *schemas = ops_sorted(&n);
    Nearest near = nearest_to(m->op->s, m->op->n);
    for (int i = 0; i < n; i++)
        if (!strcmp(op_domain(schemas[i]), m->domain->s) && (!i || strcmp(schemas[i]->name, schemas[i - 1]->name)))
            nearest_try(&near, schemas[i]->name, strlen(schemas[i]->name)); /* once for all versions */
    nearest_help(&near);
}

/* Reports why (domain, op, version) has no schema: other versions, other domains, similar names. */
static void report_unresolved(const Unresolved *m)
{
    const char *domain = domain_text(m->domain), *op = printable(m->op);
    int n;
    const Op *const *schemas = ops_sorted(&n);
    const Op *later = NULL, *last = NULL, *ended = NULL;
    const bool has_versions = op_find(m->domain->s, m->op->s, INT64_MAX);
    for (int i = 0; i < n && has_versions; i++) {
        if (strcmp(op_domain(schemas[i]), m->domain->s) || strcmp(schemas[i]->name, m->op->s))
            continue;
        if (schemas[i]->since_version > m->version)
            later = later ? later : schemas[i];
        else if (schemas[i]->flags & DEPRECATED)
            ended = schemas[i];
        else
            last = schemas[i];
    }
    if (!domain_newest(m->domain)) {
        error_node(m->first, "OPS-05", "operator not supported: %s of the unknown domain '%s', version %lld", op,
                   domain, (long long)m->version);
        note_help("an operator of your own: --custom-op %s.%s calls a C function that you write", domain, op);
    } else if (ended && ended->body && !strncmp(ended->body, experiment, strlen(experiment)))
        error_node(m->first, "OPS-14", "operator %s (%s) was experimental, and was removed; the model imports %lld", op,
                   domain, (long long)m->version);
    else if (ended)
        error_node(m->first, "OPS-12", "operator %s (%s) was removed in version %d; the model imports %lld", op, domain,
                   ended->since_version, (long long)m->version);
    else if (later)
        error_node(m->first, "OPS-11", "operator %s (%s) appears in version %d; the model imports %lld", op, domain,
                   later->since_version, (long long)m->version);
    else
        error_node(m->first, "OPS-05", "operator not supported: %s (%s %lld)", op, domain, (long long)m->version);
    if (!strncmp(m->domain->s, microsoft, strlen(microsoft)))
        note_help("ONNX Runtime wrote it: with graph_optimization_level = ORT_ENABLE_BASIC, its optimiser keeps to "
                  "ONNX's operators");
    if (!ended && !later && !message_is_hidden())
        suggest_operator(m);
    if (ended && last)
        note_help("the last version that has it is %d", ended->since_version - 1);
    if (ended && ended->body)
        note_help("use %s instead", strncmp(ended->body, experiment, strlen(experiment))
                                        ? ended->body
                                        : ended->body + strlen(experiment));
    if (m->count > 1)
        note_help("%d nodes use it", m->count);
}

void resolve_ops(Model *m)
{
    Resolver r = {.model = m, .imports = &m->imports};
    r.last = &r.unresolved;
    resolve_graph(&r, m->graph);
    for (int i = 0; i < m->training.n && opt()->training; i++) {
        if (m->training.at[i].init)
            resolve_graph(&r, m->training.at[i].init);
        if (m->training.at[i].algorithm)
            resolve_graph(&r, m->training.at[i].algorithm);
    }
    for (int i = 0; i < m->functions.n; i++) /* including functions that are never called */
        resolve_function(&r, m->functions.at[i]);
    for (const Unresolved *unresolved = r.unresolved; unresolved; unresolved = unresolved->next)
        report_unresolved(unresolved);
    EACH_AT (o, opt()->customs)
        if (!o->used)
            error_at("", "ARG-08", "--custom-op %s: the model has no such operator", printable(name(o->name)));
    if (r.unresolved)
        note_help("`onnxcc --list-ops` shows every operator, version and type");
}
