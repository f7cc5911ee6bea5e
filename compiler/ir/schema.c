/* schema.c - the table of schemas of ops/, with their parsed signatures, type sets and attributes. */
#include "ir/schema.h"

#include <stdlib.h>

/* ---- the table of schemas ---------------------------------------------------------------------------------------- */

extern const Op *const __start_onnxcc_ops[], *const __stop_onnxcc_ops[];
extern const int __start_onnxcc_opn[];

const char *op_domain(const Op *op) { return op->domain ? op->domain : ""; }

static int compare_schemas(const void *a, const void *b)
{
    const Op *x = *(const Op *const *)a, *y = *(const Op *const *)b;
    int c = strcmp(op_domain(x), op_domain(y));
    if (!c)
        c = strcmp(x->name, y->name);
    return c ? c : x->since_version - y->since_version;
}

typedef struct Register {
    VEC(const Op *) schemas; /* sorted */
    Map signatures;          /* Op -> Signature, those parsed so far */
} Register;
PART(Register, reg)

/* Adds a schema for each version in op->compatible. Its types are followed by the newest's, for the type variables that
 * it does not name. */
static void add_old_rows(const Op *op)
{
    for (const char *s = op->compatible; s && *s; s += strspn(s, "; ")) {
        char *types;
        Op *old = NEW_COPY(*op);
        old->since_version = (int)strtol(s, &types, 10);
        s = types;
        old->types = text_format("%s %s", name_until(&s, ";/")->s, op->types);
        if (*s == '/') {
            s++;
            old->attrs = name_until(&s, ";")->s;
        }
        if (!op->expand && !op->body)
            old->expand = expand_same;
        vec_push(&reg()->schemas, old);
    }
}

const Op *const *ops_sorted(int *n)
{
    Register *const r = reg();
    if (!r->schemas.n) {
        /* The linker keeps both sections in the order of the objects: entry i of onnxcc_opn is the length of table
         * i. */
        for (int i = 0; __start_onnxcc_ops + i < __stop_onnxcc_ops; i++)
            for (int k = 0; k < __start_onnxcc_opn[i]; k++) {
                vec_push(&r->schemas, &__start_onnxcc_ops[i][k]);
                add_old_rows(&__start_onnxcc_ops[i][k]);
            }
        qsort(r->schemas.at, (size_t)r->schemas.n, sizeof *r->schemas.at, compare_schemas);
    }
    *n = r->schemas.n;
    return r->schemas.at;
}

const Op *op_find(const char *domain, const char *name, int64_t version)
{
    int lo = 0, hi;
    const Op *const *t = ops_sorted(&hi);
    const Op key = {.domain = domain, .name = name, .since_version = version < INT32_MAX ? (int)version : INT32_MAX};
    while (lo < hi) { /* the first schema after the key */
        int mid = (lo + hi) / 2;
        if (compare_schemas(&t[mid], &(const Op *){&key}) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo || strcmp(t[lo - 1]->name, name) || strcmp(op_domain(t[lo - 1]), domain))
        return NULL;
    return t[lo - 1];
}

/* ---- type sets ------------------------------------------------------------------------------------------- */

/* One member of a set: a group, a type, a container type. */
static TypeSet member_of(Name n)
{
    static const char *const forms[] = {"seq", "opt", "map"};
    for (int i = 0; i < 3; i++)
        if (name_is(n, forms[i]))
            return TYPE_SEQUENCE << i;
    for (Type t = F32; t < N_TYPES; t++)
        if (name_is(n, type_onnx(t)))
            return 1ull << t;
    TypeSet group = type_group(n->s, n->n);
    if (!group)
        bug("type set '%s' in a schema", n->s);
    return group;
}

/* "N|bool", up to a space. */
static TypeSet set_of(const char *s)
{
    TypeSet set = 0;
    for (; *s && *s != ' '; s += *s == '|')
        set |= member_of(name_until(&s, "| "));
    return set;
}

/* "T=N|bool U=int64": the type set of variable v; 0: not listed. */
static TypeSet variable_set(const char *types, Name v)
{
    for (const char *s = types; s && *(s += strspn(s, " ")); s += strcspn(s, " "))
        if (name_until(&s, "= ") == v && *s == '=')
            return set_of(s + 1);
    return 0;
}

/* ---- signatures ------------------------------------------------------------------------------------------ */

/* The index of type variable v, which is added if no formal had it before. */
static int variable_index(const Op *op, Signature *signature, Name v)
{
    for (int i = 0; i < signature->n_var; i++)
        if (signature->var[i] == v)
            return i;
    if (signature->n_var == MAX_VARIABLES)
        bug("too many type variables in %s", op->name);
    signature->var[signature->n_var] = v;
    return signature->n_var++;
}

/* Takes "rest*:T". */
static void read_formal(const Op *op, Signature *signature, Formal *f, const char **s)
{
    f->name = name_until(s, "?*: ");
    for (; **s == '?' || **s == '*'; ++*s) {
        f->optional |= **s == '?';
        f->mixed |= f->variadic && **s == '*';
        f->variadic |= **s == '*';
    }
    if (*(*s)++ != ':')
        bug("signature of %s", op->name);
    Name type = name_until(s, " ");
    f->set = variable_set(op->types, type);
    f->variable = f->set ? variable_index(op, signature, type) : -1;
    f->set = f->set ? f->set : set_of(type->s);
}

static void read_attrs(const Op *op, Signature *signature)
{
    static const char *const kinds[] = {"",        "float",   "int",    "string", "tensor",  "graph", "floats", "ints",
                                        "strings", "tensors", "graphs", "sparse", "sparses", "type",  "types"};
    for (const char *s = op->attrs; s && *(s += strspn(s, " "));) {
        if (signature->n_attr == MAX_ATTRS)
            bug("too many attributes in %s", op->name);
        FormalAttr *a = &signature->attr[signature->n_attr++];
        a->name = name_until(&s, ":");
        s += *s == ':';
        const Name kind = name_until(&s, "?= ");
        for (int i = 1; i < 15; i++)
            if (name_is(kind, kinds[i]))
                a->type = (AttrType)i;
        if (!a->type)
            bug("attribute type in %s: %s", op->name, kind->s);
        a->optional = *s == '?' || *s == '=';
        s += *s == '?';
        if (*s == '=') {
            s++;
            a->value = name_until(&s, " ");
        }
    }
}

const Signature *op_signature(const Op *op)
{
    Signature *signature = map_get(&reg()->signatures, op);
    if (signature)
        return signature;
    signature = NEW(Signature);
    map_put(&reg()->signatures, op, signature);
    Formal *f = signature->in;
    int *count = &signature->n_in;
    for (const char *s = op->signature; *(s += strspn(s, " "));) {
        if (!strncmp(s, "->", 2)) {
            f = signature->out;
            count = &signature->n_out;
            s += 2;
            continue;
        }
        if (*count == MAX_FORMALS)
            bug("too many arguments in %s", op->name);
        read_formal(op, signature, &f[(*count)++], &s);
    }
    read_attrs(op, signature);
    return signature;
}

const FormalAttr *formal_attr(const Signature *signature, const char *attr)
{
    for (int i = 0; i < signature->n_attr; i++)
        if (name_is(signature->attr[i].name, attr))
            return &signature->attr[i];
    return NULL;
}

static const Formal *formal_at(const Formal *f, int n, int i)
{
    return i < n ? &f[i] : n && f[n - 1].variadic ? &f[n - 1] : NULL;
}

const Formal *formal_in(const Signature *s, int i) { return formal_at(s->in, s->n_in, i); }
const Formal *formal_out(const Signature *s, int i) { return formal_at(s->out, s->n_out, i); }

void expand_same(Node *n) { n->op = op_find(op_domain(n->op), n->op->name, INT32_MAX); }
