/* schema.c - the table of schemas of ops/, with their parsed signatures, type sets and attributes. */
#include "ir/schema.h"

#include <ctype.h>
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
    struct Entry {
        const Op *op;
        Signature *signature;
    } *read; /* open addressing: the signatures parsed so far */
    size_t cap;
} Register;
PART(Register, reg)

/* Adds a schema for each version in op->compatible. Its types are followed by the newest's, for the type variables that
 * it does not name. */
static void add_old_rows(const Op *op)
{
    for (const char *s = op->compatible; s && *s; s += strspn(s, "; ")) {
        int end = (int)strcspn(s, ";"), slash = (int)strcspn(s, ";/");
        size_t size = strlen(s) + strlen(op->types) + 3;
        Op *old = pool_alloc(sizeof *old + 2 * size);
        char *types, *attrs = (char *)(old + 1);
        *old = *op;
        old->since_version = (int)strtol(s, &types, 10);
        if (slash < end) {
            snprintf(attrs, size, "%.*s", end - slash - 1, s + slash + 1);
            old->attrs = attrs;
        }
        old->types = attrs + size;
        snprintf(attrs + size, size, "%.*s %s", (int)(s + slash - types), types, op->types);
        if (!op->expand && !op->body)
            old->expand = expand_same;
        vec_push(&reg()->schemas, old);
        s += end;
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
    int n, lo = 0;
    const Op *const *t = ops_sorted(&n);
    int hi = n;
    while (lo < hi) { /* the first schema after (domain, name, version) */
        int mid = (lo + hi) / 2;
        const Op *op = t[mid];
        int c = strcmp(op_domain(op), domain);
        if (!c)
            c = strcmp(op->name, name);
        if (c < 0 || (c == 0 && op->since_version <= version))
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
static TypeSet member_of(const char *s, size_t n)
{
    static const char *const forms[] = {"seq", "opt", "map"};
    for (int i = 0; i < 3; i++)
        if (n == 3 && !memcmp(forms[i], s, 3))
            return TYPE_SEQUENCE << i;
    for (Type t = F32; t < N_TYPES; t++)
        if (strlen(type_onnx(t)) == n && !memcmp(type_onnx(t), s, n))
            return 1ull << t;
    TypeSet group = type_group(s, n);
    if (!group)
        bug("type set '%.*s' in a schema", (int)n, s);
    return group;
}

/* "N|bool" */
static TypeSet set_of(const char *s, size_t n)
{
    TypeSet set = 0;
    for (size_t i = 0, end; i < n; i = end + 1) {
        for (end = i; end < n && s[end] != '|'; end++)
            ;
        set |= member_of(s + i, end - i);
    }
    return set;
}

/* "T=N|bool U=int64": the type set of variable `v`; 0: not listed. */
static TypeSet variable_set(const char *types, const char *v, size_t n)
{
    for (const char *s = types; s && *(s += strspn(s, " "));) {
        const char *eq = strchr(s, '=');
        if (!eq)
            bug("types '%s' in a schema", types);
        const char *end = strchr(eq, ' ');
        size_t k = end ? (size_t)(end - eq - 1) : strlen(eq + 1);
        if ((size_t)(eq - s) == n && !memcmp(s, v, n))
            return set_of(eq + 1, k);
        s = eq + 1 + k;
    }
    return 0;
}

/* ---- signatures ------------------------------------------------------------------------------------------ */

static void read_formal(const Op *op, Signature *signature, Formal *f, const char *s, size_t n)
{
    const char *colon = memchr(s, ':', n);
    if (!colon)
        bug("signature of %s", op->name);
    size_t k = (size_t)(colon - s);
    while (k && (s[k - 1] == '?' || s[k - 1] == '*')) {
        f->optional |= s[k - 1] == '?';
        f->mixed |= f->variadic && s[k - 1] == '*';
        f->variadic |= s[k - 1] == '*';
        k--;
    }
    f->name = s;
    f->name_n = (int)k;
    const char *t = colon + 1;
    size_t tn = n - k - (size_t)(colon - s - (ptrdiff_t)k) - 1;
    f->set = variable_set(op->types, t, tn);
    f->variable = -1;
    if (f->set) {
        for (int i = 0; i < signature->n_var && f->variable < 0; i++)
            if (strlen(signature->var[i]) == tn && !memcmp(signature->var[i], t, tn))
                f->variable = i;
        if (f->variable < 0) {
            if (signature->n_var == MAX_VARIABLES)
                bug("too many type variables in %s", op->name);
            char *copy = pool_alloc(tn + 1);
            memcpy(copy, t, tn);
            copy[tn] = 0;
            f->variable = signature->n_var;
            signature->var[signature->n_var++] = copy;
        }
    } else
        f->set = set_of(t, tn);
}

static void read_attrs(const Op *op, Signature *signature)
{
    static const char *const kinds[] = {"",        "float",   "int",    "string", "tensor",  "graph", "floats", "ints",
                                        "strings", "tensors", "graphs", "sparse", "sparses", "type",  "types"};
    for (const char *s = op->attrs ? op->attrs : ""; *s;) {
        while (*s == ' ')
            s++;
        if (!*s)
            break;
        if (signature->n_attr == MAX_ATTRS)
            bug("too many attributes in %s", op->name);
        FormalAttr *a = &signature->attr[signature->n_attr++];
        a->name = s;
        const char *colon = strchr(s, ':');
        a->name_n = (int)(colon - s);
        size_t k = 0;
        while (islower((unsigned char)colon[1 + k]))
            k++;
        for (int i = 1; i < 15; i++)
            if (strlen(kinds[i]) == k && !memcmp(kinds[i], colon + 1, k))
                a->type = (AttrType)i;
        if (!a->type)
            bug("attribute type in %s: %s", op->name, s);
        s = colon + 1 + k;
        if (*s == '?')
            a->optional = true, s++;
        if (*s == '=') {
            a->optional = true;
            a->value = ++s;
            while (*s && *s != ' ')
                s++;
            a->value_n = (int)(s - a->value);
        }
    }
}

/* The entry of op, or the free one for it. */
static struct Entry *find_entry(const Op *op)
{
    Register *const r = reg();
    if (!r->read) {
        int n;
        ops_sorted(&n);
        for (r->cap = 64; r->cap < 2 * (size_t)n; r->cap *= 2)
            ;
        r->read = NEWS(struct Entry, r->cap);
    }
    size_t i = ((uintptr_t)op >> 4) * 0x9E3779B97F4A7C15u >> 20 & (r->cap - 1);
    while (r->read[i].op && r->read[i].op != op)
        i = (i + 1) & (r->cap - 1);
    return &r->read[i];
}

const Signature *op_signature(const Op *op)
{
    struct Entry *const e = find_entry(op);
    if (e->op)
        return e->signature;
    Signature *signature = NEW(Signature);
    Formal *f = signature->in;
    for (const char *s = op->signature; *s;) {
        while (*s == ' ')
            s++;
        if (s[0] == '-' && s[1] == '>') {
            f = signature->out;
            s += 2;
            continue;
        }
        size_t n = strcspn(s, " ");
        if (!n)
            break;
        int *count = f == signature->in ? &signature->n_in : &signature->n_out;
        if (*count == MAX_FORMALS)
            bug("too many arguments in %s", op->name);
        read_formal(op, signature, &f[(*count)++], s, n);
        s += n;
    }
    read_attrs(op, signature);
    *e = (struct Entry){op, signature};
    return signature;
}

const FormalAttr *formal_attr(const Signature *signature, const char *name)
{
    for (int i = 0; i < signature->n_attr; i++)
        if (strlen(name) == (size_t)signature->attr[i].name_n && !memcmp(signature->attr[i].name, name, strlen(name)))
            return &signature->attr[i];
    return NULL;
}

const Formal *formal_in(const Signature *signature, int i)
{
    if (i < signature->n_in)
        return &signature->in[i];
    return signature->n_in && signature->in[signature->n_in - 1].variadic ? &signature->in[signature->n_in - 1] : NULL;
}

const Formal *formal_out(const Signature *signature, int i)
{
    if (i < signature->n_out)
        return &signature->out[i];
    return signature->n_out && signature->out[signature->n_out - 1].variadic ? &signature->out[signature->n_out - 1]
                                                                             : NULL;
}

void expand_same(Node *n)
{
    const Op *newest = op_find(op_domain(n->op), n->op->name, INT32_MAX);
    n->op = newest;
}
