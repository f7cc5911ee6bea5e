/* list.c - the list of supported operators (--list-ops), as text, as JSON and as the table of docs/operators.md. */
#include "emit/emit.h"

#include "emit/report.h"
#include "ir/schema.h"

/* Prints the names of a set's members, each in `quote`; grouped: with the abbreviations of docs/operators.md. */
static void put_types(TypeSet set, bool grouped, const char *quote, const char *between)
{
    static const char *const forms[] = {"seq", "optional", "map"};
    static const char *const groups[][2] = {{"F", "FB"}, {"I", "I"}, {"U", "U"}, {"F8", "F8"}, {"C", "C"}};
    const char *comma = "";
    for (size_t i = 0; grouped && i < sizeof groups / sizeof *groups; i++) {
        const TypeSet group = type_group(groups[i][1], strlen(groups[i][1]));
        if ((set & group) == group) {
            printf("%s%s", comma, groups[i][0]);
            set &= ~group;
            comma = between;
        }
    }
    for (Type t = F32; t < N_TYPES; t++)
        if (set >> t & 1) {
            printf("%s%s%s%s", comma, quote, type_onnx(t), quote);
            comma = between;
        }
    for (int i = 0; i < 3; i++)
        if (set & TYPE_SEQUENCE << i) {
            printf("%s%s%s%s", comma, quote, forms[i], quote);
            comma = between;
        }
}

/* The type set of variable v, from the first formal that has it. */
static TypeSet variable_types(const Signature *s, int v)
{
    for (int i = 0; i < s->n_in; i++)
        if (s->in[i].variable == v)
            return s->in[i].set;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i].variable == v)
            return s->out[i].set;
    return 0;
}

/* "T: float16 float; Tind: int64"; for an operator without type variables, the types of its first input. */
static void put_variables(const Op *op, bool grouped)
{
    const Signature *s = op_signature(op);
    for (int v = 0; v < s->n_var; v++) {
        printf("%s%s: ", v ? "; " : "", c_comment(s->var[v]));
        put_types(variable_types(s, v), grouped, "", " ");
    }
    if (!s->n_var && s->n_in)
        put_types(s->in[0].set, grouped, "", " ");
}

static void put_formals(const Signature *s, const Formal *f, int n)
{
    for (int i = 0; i < n; i++) {
        printf("%s{\"name\": \"%s\", \"variable\": \"%s\", \"types\": [", i ? ", " : "", c_comment(f[i].name),
               f[i].variable < 0 ? "" : c_comment(s->var[f[i].variable]));
        put_types(f[i].set, false, "\"", ", ");
        printf("]}");
    }
}

/* A schema per line, as JSON. */
static void list_json(const Op *const *schemas, int n)
{
    const char *comma = "";
    printf("[");
    for (int i = 0; i < n; i++) {
        const Op *op = schemas[i];
        const Signature *s = op_signature(op);
        printf("%s\n{\"domain\": \"%s\", \"operator\": \"%s\", \"version\": %d, ", comma, op_domain(op), op->name,
               op->since_version);
        printf("\"removed\": %s, \"limit\": \"%s\", \"inputs\": [", op->flags & DEPRECATED ? "true" : "false",
               op->limit ? op->limit : "");
        put_formals(s, s->in, s->n_in);
        printf("], \"outputs\": [");
        put_formals(s, s->out, s->n_out);
        printf("]}");
        comma = ",";
    }
    printf("\n]\n");
}

/* A schema per line, as text. */
static void list_text(const Op *const *schemas, int n)
{
    for (int i = 0; i < n; i++) {
        const Op *op = schemas[i];
        printf("%-24s %-28s %2d  ", op->domain ? op->domain : "ai.onnx", op->name, op->since_version);
        if (op->flags & DEPRECATED)
            printf("removed");
        else
            put_variables(op, false);
        printf("%s%s%s\n", op->limit ? " (" : "", op->limit ? op->limit : "", op->limit ? ")" : "");
    }
}

/* An operator per line, with the types of its newest version. */
static void list_markdown(const Op *const *schemas, int n)
{
    printf("| domain | operator | versions | types | limits |\n|---|---|---|---|---|\n");
    for (int i = 0, end; i < n; i = end) {
        printf("| %s | %s | ", schemas[i]->domain ? schemas[i]->domain : "ai.onnx", schemas[i]->name);
        const Op *last = NULL;
        for (end = i; end < n && !strcmp(schemas[end]->name, schemas[i]->name) &&
                      !strcmp(op_domain(schemas[end]), op_domain(schemas[i]));
             end++) {
            bool removed = schemas[end]->flags & DEPRECATED;
            printf("%s%d%s", end > i ? " " : "", schemas[end]->since_version, removed ? " (removed)" : "");
            last = removed ? last : schemas[end];
        }
        printf(" | ");
        if (last)
            put_variables(last, true);
        printf(" | ");
        const char *between = "";
        for (int k = i; k < end; k++)
            if (schemas[k]->limit) {
                printf("%s%d: %s", between, schemas[k]->since_version, schemas[k]->limit);
                between = "; ";
            }
        printf(" |\n");
    }
}

void list_ops(const char *form)
{
    int n, kept = 0;
    const Op *const *all = ops_sorted(&n);
    const Op **schemas = NEWS(const Op *, n);
    for (int i = 0; i < n; i++)
        if (strcmp(op_domain(all[i]), "onnxcc")) /* internal operators */
            schemas[kept++] = all[i];
    if (!strcmp(form, "json"))
        list_json(schemas, kept);
    else if (!strcmp(form, "markdown"))
        list_markdown(schemas, kept);
    else
        list_text(schemas, kept);
}
