/* schema.c - reads the rows of ops/: the register of operators, their signatures, type sets and attributes. */
#include "ir/schema.h"
#include "ir/kernel.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- the register ---------------------------------------------------------------------------------------- */

extern const Op *const __start_onnxcc_ops[], *const __stop_onnxcc_ops[];
extern const int __start_onnxcc_opn[];

const char *op_domain(const Op *op) { return op->domain ? op->domain : ""; }

static int compare_rows(const void *a, const void *b)
{
    const Op *x = *(const Op *const *)a, *y = *(const Op *const *)b;
    int c = strcmp(op_domain(x), op_domain(y));
    if (!c)
        c = strcmp(x->name, y->name);
    return c ? c : x->since - y->since;
}

typedef struct Register {
    VEC(const Op *) rows; /* sorted */
    struct Entry {
        const Op *op;
        Signature *sig;
    } *read; /* open addressing: what was read of rows */
    size_t cap;
} Register;
PART(Register, reg)

/* A row for each older version in op->was. A type variable that it does not name has the newest's types, which stand
 * behind its own. */
static void add_old_rows(const Op *op)
{
    for (const char *s = op->was; s && *s; s += strspn(s, "; ")) {
        int end = (int)strcspn(s, ";"), slash = (int)strcspn(s, ";/");
        size_t size = strlen(s) + strlen(op->types) + 3;
        Op *old = pool_alloc(sizeof *old + 2 * size);
        char *types, *attrs = (char *)(old + 1);
        *old = *op;
        old->since = (int)strtol(s, &types, 10);
        if (slash < end) {
            snprintf(attrs, size, "%.*s", end - slash - 1, s + slash + 1);
            old->attrs = attrs;
        }
        old->types = attrs + size;
        snprintf(attrs + size, size, "%.*s %s", (int)(s + slash - types), types, op->types);
        if (!op->expand && !op->body)
            old->expand = expand_same;
        vec_push(&reg()->rows, old);
        s += end;
    }
}

const Op *const *ops_sorted(int *n)
{
    Register *const r = reg();
    if (!r->rows.n) {
        /* The linker keeps both sections in the order of the objects, so table i has length i. */
        for (int i = 0; __start_onnxcc_ops + i < __stop_onnxcc_ops; i++)
            for (int k = 0; k < __start_onnxcc_opn[i]; k++) {
                vec_push(&r->rows, &__start_onnxcc_ops[i][k]);
                add_old_rows(&__start_onnxcc_ops[i][k]);
            }
        qsort(r->rows.at, (size_t)r->rows.n, sizeof *r->rows.at, compare_rows);
    }
    *n = r->rows.n;
    return r->rows.at;
}

const Op *op_find(const char *domain, const char *name, int64_t version)
{
    int n, lo = 0;
    const Op *const *t = ops_sorted(&n);
    int hi = n;
    while (lo < hi) { /* the first row after (domain, name, version) */
        int mid = (lo + hi) / 2;
        const Op *op = t[mid];
        int c = strcmp(op_domain(op), domain);
        if (!c)
            c = strcmp(op->name, name);
        if (c < 0 || (c == 0 && op->since <= version))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo || strcmp(t[lo - 1]->name, name) || strcmp(op_domain(t[lo - 1]), domain))
        return NULL;
    return t[lo - 1];
}

/* ---- type sets ------------------------------------------------------------------------------------------- */

static const struct Group {
    const char *name, *members;
} groups[] = {
    {"F", "float16|float|double"},
    {"FB", "F|bfloat16"},
    {"I", "int8|int16|int32|int64"},
    {"U", "uint8|uint16|uint32|uint64"},
    {"IU", "I|U"},
    {"N", "IU|F"},
    {"NB", "IU|FB"},
    {"F8", "float8e4m3fn|float8e4m3fnuz|float8e5m2|float8e5m2fnuz"},
    {"C", "complex64|complex128"},
    {"ALL", "N|bool|string|C"},    /* every tensor type before bfloat16 */
    {"ALLB", "ALL|bfloat16"},      /* opset 13 */
    {"ALL9", "ALLB|F8"},           /* IR 9 */
    {"ALL10", "ALL9|uint4|int4"},  /* IR 10 */
    {"ALL11", "ALL10|float4e2m1"}, /* IR 11 */
    {"ALL12", "ALL11|float8e8m0"}, /* IR 12 */
    {"ALL13", "ALL12|uint2|int2"}, /* IR 13 */
    {"ALL14", "ALL13|float6e2m3|float6e3m2"},
};

static TypeSet set_of(const char *s, size_t n)
{
    TypeSet set = 0;
    while (n) {
        size_t k = 0;
        while (k < n && s[k] != '|')
            k++;
        bool found = false;
        for (size_t i = 0; i < sizeof groups / sizeof *groups && !found; i++)
            if (strlen(groups[i].name) == k && !memcmp(groups[i].name, s, k)) {
                set |= set_of(groups[i].members, strlen(groups[i].members));
                found = true;
            }
        for (Type t = F32; t < N_TYPES && !found; t++)
            if (strlen(type_onnx(t)) == k && !memcmp(type_onnx(t), s, k)) {
                set |= 1ull << t;
                found = true;
            }
        if (!found && k == 3 && !memcmp(s, "seq", 3))
            set |= TYPE_SEQUENCE, found = true;
        if (!found && k == 3 && !memcmp(s, "opt", 3))
            set |= TYPE_OPTIONAL, found = true;
        if (!found && k == 3 && !memcmp(s, "map", 3))
            set |= TYPE_MAP, found = true;
        if (!found)
            bug("type set '%.*s' in a row", (int)k, s);
        s += k < n ? k + 1 : k;
        n -= k < n ? k + 1 : k;
    }
    return set;
}

/* "T=N|bool U=int64": the set of variable `v`; 0 when it is not there. */
static TypeSet variable_set(const char *types, const char *v, size_t n)
{
    for (const char *s = types; s && *(s += strspn(s, " "));) {
        const char *eq = strchr(s, '=');
        if (!eq)
            bug("types '%s' in a row", types);
        const char *end = strchr(eq, ' ');
        size_t k = end ? (size_t)(end - eq - 1) : strlen(eq + 1);
        if ((size_t)(eq - s) == n && !memcmp(s, v, n))
            return set_of(eq + 1, k);
        s = eq + 1 + k;
    }
    return 0;
}

/* ---- signatures ------------------------------------------------------------------------------------------ */

static void read_formal(const Op *op, Signature *sig, Formal *f, const char *s, size_t n)
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
        for (int i = 0; i < sig->n_var && f->variable < 0; i++)
            if (strlen(sig->var[i]) == tn && !memcmp(sig->var[i], t, tn))
                f->variable = i;
        if (f->variable < 0) {
            if (sig->n_var == MAX_VARIABLES)
                bug("too many type variables in %s", op->name);
            char *copy = pool_alloc(tn + 1);
            memcpy(copy, t, tn);
            copy[tn] = 0;
            f->variable = sig->n_var;
            sig->var[sig->n_var++] = copy;
        }
    } else
        f->set = set_of(t, tn);
}

static void read_attrs(const Op *op, Signature *sig)
{
    static const char *const kinds[] = {"",        "float",   "int",    "string", "tensor",  "graph", "floats", "ints",
                                        "strings", "tensors", "graphs", "sparse", "sparses", "type",  "types"};
    for (const char *s = op->attrs ? op->attrs : ""; *s;) {
        while (*s == ' ')
            s++;
        if (!*s)
            break;
        if (sig->n_attr == MAX_ATTRS)
            bug("too many attributes in %s", op->name);
        FormalAttr *a = &sig->attr[sig->n_attr++];
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

/* Where op is, or is to be. */
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
        return e->sig;
    Signature *sig = NEW(Signature);
    Formal *f = sig->in;
    for (const char *s = op->sig; *s;) {
        while (*s == ' ')
            s++;
        if (s[0] == '-' && s[1] == '>') {
            f = sig->out;
            s += 2;
            continue;
        }
        size_t n = strcspn(s, " ");
        if (!n)
            break;
        int *count = f == sig->in ? &sig->n_in : &sig->n_out;
        if (*count == MAX_FORMALS)
            bug("too many arguments in %s", op->name);
        read_formal(op, sig, &f[(*count)++], s, n);
        s += n;
    }
    read_attrs(op, sig);
    *e = (struct Entry){op, sig};
    return sig;
}

const FormalAttr *formal_attr(const Signature *sig, const char *name)
{
    for (int i = 0; i < sig->n_attr; i++)
        if (strlen(name) == (size_t)sig->attr[i].name_n && !memcmp(sig->attr[i].name, name, strlen(name)))
            return &sig->attr[i];
    return NULL;
}

const Formal *formal_in(const Signature *sig, int i)
{
    if (i < sig->n_in)
        return &sig->in[i];
    return sig->n_in && sig->in[sig->n_in - 1].variadic ? &sig->in[sig->n_in - 1] : NULL;
}

const Formal *formal_out(const Signature *sig, int i)
{
    if (i < sig->n_out)
        return &sig->out[i];
    return sig->n_out && sig->out[sig->n_out - 1].variadic ? &sig->out[sig->n_out - 1] : NULL;
}

void expand_same(Node *n)
{
    const Op *newest = op_find(op_domain(n->op), n->op->name, INT32_MAX);
    n->op = newest;
}
