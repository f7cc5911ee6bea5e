/* lines.c - what each line of the C belongs to, for --map: marks in texts, which move with these into the C file. */
#include "emit/emit.h"

#include <stdlib.h>

#include "base/output.h"
#include "ir/provenance.h"

typedef struct LineMark { /* from this line on */
    const Output *in;     /* NULL: moved to another text */
    int64_t line;         /* from 0 */
    LineKind kind;
    const void *owner;
} LineMark;
typedef struct Lines {
    VEC(LineMark) marks;
    VEC(LineSpan) spans;
    Map shared[2]; /* Call -> its epilogue's name, its CallFunction */
    Map function;  /* Node -> what it calls */
    Map call;      /* Node -> the line of its call */
} Lines;
PART(Lines, lines)

enum { LINE_CALL = -1 }; /* of marks only: a node's call begins */

static int64_t line_of(const Text *t) { return output_lines(t->to) + count_lines(t->s, t->n); }

void line_is(Text *t, LineKind kind, const void *owner)
{
    if (provenance_is_on() && t->to)
        vec_push(&lines()->marks, ((LineMark){t->to, line_of(t), kind, owner}));
}

void line_shared(LineKind kind, const void *owner, const Call *c)
{
    if (provenance_is_on())
        map_put(&lines()->shared[kind == LINE_FUNCTION], c, (void *)(uintptr_t)owner);
}

const void *line_owner(LineKind kind, const Call *c) { return map_get(&lines()->shared[kind == LINE_FUNCTION], c); }

void step_called(Emitter *e, const Node *n, const char *function)
{
    if (!provenance_is_on())
        return;
    line_is(&e->body, (LineKind)LINE_CALL, n);
    map_put(&lines()->function, n, function ? (void *)(uintptr_t)name(function) : NULL);
}

void lines_move(Text *to, const Text *from, const int64_t *at)
{
    if (!provenance_is_on())
        return;
    const int64_t first = line_of(to);
    for (int i = 0, n = lines()->marks.n; i < n; i++) {
        LineMark m = lines()->marks.at[i];
        if (m.in != from->to)
            continue;
        lines()->marks.at[i].in = NULL;
        m.in = to->to;
        m.line = first + (at ? at[m.line] : m.line);
        vec_push(&lines()->marks, m);
    }
}

static int by_line(const void *a, const void *b)
{
    const LineMark *const *x = a, *const *y = b;
    if ((*x)->line != (*y)->line)
        return (*x)->line < (*y)->line ? -1 : 1;
    return *x < *y ? -1 : 1; /* the later one holds */
}

static void add_span(const LineMark *m, int64_t end)
{
    LineSpan *const before = lines()->spans.n ? &lines()->spans.at[lines()->spans.n - 1] : NULL;
    if (m->line >= end)
        return;
    if (before && before->kind == m->kind && before->owner == m->owner)
        before->last = end;
    else
        vec_push(&lines()->spans, ((LineSpan){m->line + 1, end, m->kind, m->owner}));
}

void lines_end(Text *t)
{
    if (!provenance_is_on())
        return;
    int n = 0;
    const LineMark **list = NEWS(const LineMark *, lines()->marks.n), *last = NULL;
    EACH_AT (mark, lines()->marks)
        if (mark->in == t->to)
            list[n++] = mark;
    qsort(list, (size_t)n, sizeof *list, by_line);
    for (int i = 0; i < n; i++) {
        if ((int)list[i]->kind == LINE_CALL) {
            map_put(&lines()->call, list[i]->owner, (void *)(intptr_t)(list[i]->line + 1));
            continue;
        }
        if (last)
            add_span(last, list[i]->line);
        last = list[i];
    }
    if (last)
        add_span(last, line_of(t));
}

int line_spans(const LineSpan **list)
{
    *list = lines()->spans.at;
    return lines()->spans.n;
}

int64_t line_of_call(const Node *n) { return (int64_t)(intptr_t)map_get(&lines()->call, n); }

const char *function_of_call(const Node *n)
{
    const Name s = map_get(&lines()->function, n);
    return s ? text_format("%s", c_comment(s)) : NULL;
}
