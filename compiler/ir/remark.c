/* remark.c - remarks: a line for every node that a rewrite applied to or declined. */
#include "ir/remark.h"

SHARED_PART_IS(unsigned, remarks_wanted);

typedef struct Chosen {
    unsigned rewrites;  /* those that are printed */
    const char *quoted; /* a name that the remark must mention; NULL: any */
    Map said; /* the remarks so far, of which equal ones have one address: a stage may try a rewrite several times */
    bool keep;
    VEC(Remark) kept;
    Map kept_said; /* as `said` */
} Chosen;
PART(Chosen, chosen)

static const struct {
    const char *stage, *word, *done;
} texts[] = {
#define REWRITE_ROW(id, stage, word, done) {stage, word, done},
    REWRITES(REWRITE_ROW)};

void remarks_choose(const char *what)
{
    unsigned of = 0;
    for (int i = 0; what && i < REWRITE_COUNT; i++)
        if (!strcmp(what, texts[i].word) || !strcmp(what, texts[i].stage))
            of |= 1u << i;
    chosen()->rewrites = of ? of : REMARKS_ALL;
    chosen()->quoted = what && !of ? text_format("\"%s\"", printable(name(what))) : NULL;
    remarks_only(REMARKS_ALL);
}

void remarks_end(void)
{
    const Chosen *const c = chosen();
    if (c->said.n || !c->rewrites)
        return;
    if (c->quoted)
        note("no remark mentions %s\n", c->quoted);
    else
        note("no remark: there is no node that could be so rewritten\n");
}

void remarks_only(unsigned rewrites)
{
    *remarks_wanted() = (chosen()->keep ? REMARKS_ALL : chosen()->rewrites) & rewrites;
}

void remarks_keep(void)
{
    chosen()->keep = true;
    remarks_only(REMARKS_ALL);
}

int remarks_kept(const Remark **list)
{
    *list = chosen()->kept.at;
    return chosen()->kept.n;
}

const char *rewrite_name(Rewrite r) { return texts[r].word; }
const char *rewrite_done(Rewrite r) { return texts[r].done; }

/* Is the remark selected by --remarks, and new? */
static bool is_wanted(Rewrite r, const char *s)
{
    Chosen *const c = chosen();
    if (!(c->rewrites >> r & 1) || (c->quoted && !strstr(s, c->quoted)) || map_get(&c->said, s))
        return false;
    map_put(&c->said, s, c);
    return true;
}

static void keep(const char *s, const Remark *r)
{
    Chosen *const c = chosen();
    if (!c->keep || map_get(&c->kept_said, s))
        return;
    map_put(&c->kept_said, s, c);
    vec_push(&c->kept, *r);
}

void remark(Rewrite r, const Node *n, bool applied, const char *why)
{
    const TextMark mark = text_mark();
    const char *s = text_format("remark[%s]: %s: %s%s: %s", texts[r].word, node_place(n), applied ? "" : "not ",
                                texts[r].done, why);
    text_release(mark);
    keep(s, &(Remark){r, n->source, n->name, why, applied});
    if (is_wanted(r, s))
        note("%s\n", s);
}

const char *remark_node(const Node *n)
{
    const Name given = n->name && n->name->n ? n->name : n->source ? n->source->name : NULL;
    Text t = {0};
    if (given && given->n)
        text_put(&t, "\"%s\"", printable(given));
    else
        text_put(&t, "%s", node_path(n));
    text_put(&t, " (%s)", printable(node_op(n)));
    return t.s;
}

const char *remark_value(const Value *v)
{
    Text t = {0};
    if (v->name && v->name->n)
        text_put(&t, "\"%s\"", printable(v->name));
    else
        text_put(&t, "a value%s%s", v->def ? " of " : "", v->def ? remark_node(v->def) : "");
    return t.s;
}
