/* place_search.c - exact search, with a limit of work, for a placement of buffers in a block of given size.
 * Buffers are placed in the order of their offsets, each at 0 or on top of another: every placement can be compacted
 * into such a one. Before each choice, propagation raises the lower bounds of the other offsets, and backtracks if the
 * blocks of some section cannot fit any more. Restarts use other orders, in which blocks that caused conflicts come
 * earlier. */
#include "base/place_search.h"
#include "base/util.h"

#include <stdlib.h>

enum { TRY_STEPS = 1000 };

static int by_time(const void *a, const void *b)
{
    const Event *x = a, *y = b;
    int order = compare_numbers(x->time, y->time);
    order = order ? order : compare_numbers(y->end, x->end);
    return order ? order : compare_numbers(x->block, y->block);
}

Event *events(const Buffer *b, int n)
{
    Event *e = NEWS(Event, 2 * n + 1);
    for (int i = 0; i < n; i++) {
        e[2 * i] = (Event){b[i].from, i, false};
        e[2 * i + 1] = (Event){b[i].to + 1, i, true};
    }
    qsort(e, (size_t)(2 * n), sizeof *e, by_time);
    return e;
}

void events_free(Event *e, int n) { pool_free(e, sizeof *e * (size_t)(2 * n + 1)); }

int by_key(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    int order = 0;
    for (int i = 0; i < 3 && !order; i++)
        order = compare_numbers(y->key[i], x->key[i]);
    return order ? order : compare_numbers(x->block, y->block);
}

typedef struct Item {
    int first, last; /* sections of time */
    int64_t size;
    int64_t at;     /* lowest offset above the blocks placed so far; the offset, once `pushed` */
    int64_t lower;  /* a tighter lower bound of the offset, by propagation */
    int64_t weight; /* conflicts that it took part in, decaying */
    int rank;
    int twin;    /* the previous one of the same lifetime and size, which is placed first; -1: none */
    bool pushed; /* it is placed, at `at` */
} Item;

typedef struct Section { /* a maximal set of blocks alive together */
    int64_t rest;        /* bytes of its blocks that are not placed yet */
    int64_t min, next;   /* the lowest and the second lowest top of these, each at its lower bound */
    int lowest;          /* the item with the lowest top */
    bool joined;         /* some listed block is alive here and in the next section */
} Section;

struct Search {
    Item *item;
    Section *section;
    int n, n_section;
    const Interference *conflicts;
    int64_t cap;
    int64_t work, limit; /* work done so far, and the limit of this try */
    int64_t step;        /* estimated work of one step */
    uint64_t random;
    int *space;        /* a stack for lists of items */
    int *done, n_done; /* items placed, in order */
    struct Trail {
        int item;
        int64_t at;
    } *trail;
    int n_trail;
    int *list;
    Ranked *ranked;
    Item **sorted;
};

/* The last block placed: the next one is later in the order of offset, then rank. */
typedef struct Last {
    int64_t at;
    int rank;
} Last;

static bool is_late(const Item *x, Last last) { return x->at < last.at || (x->at == last.at && x->rank < last.rank); }

static void find_tops(Search *s, const int *list, int n, int from, int to)
{
    for (int k = from; k <= to; k++) {
        s->section[k].min = s->section[k].next = INT64_MAX / 2;
        s->section[k].lowest = -1;
    }
    for (int i = 0; i < n; i++) {
        const Item *x = &s->item[list[i]];
        int64_t top = x->lower + x->size;
        for (Section *c = &s->section[x->first], *end = &s->section[x->last]; c <= end; c++)
            if (top < c->min) {
                c->next = c->min;
                c->min = top;
                c->lowest = list[i];
            } else if (top < c->next)
                c->next = top;
    }
}

/* Raises x->lower: in a section whose remaining blocks would not all fit above x, another one lies below x; and a block
 * that does not lie on a placed one lies on one that is placed later. */
static bool raise_lower(const Search *s, Item *x, int id, bool late)
{
    int64_t lower = x->lower, support = INT64_MAX / 2;
    for (const Section *c = &s->section[x->first], *end = &s->section[x->last]; c <= end; c++) {
        int64_t below = c->lowest == id ? c->next : c->min;
        if (below < support)
            support = below;
        if (x->lower + c->rest > s->cap && below > lower)
            lower = below;
    }
    if ((late || lower > x->at) && support > lower)
        lower = support;
    bool raised = lower > x->lower;
    x->lower = lower;
    return raised;
}

static void sort_by_least(const Item *item, int *list, int n)
{
    for (int i = 1; i < n; i++) {
        int x = list[i], k = i;
        for (; k && item[list[k - 1]].lower < item[x].lower; k--)
            list[k] = list[k - 1];
        list[k] = x;
    }
}

/* False: the blocks of the list cannot fit. Sorts the list by lower bound, highest first. */
static bool may_fit(Search *s, int *list, int n, Last last)
{
    int from = INT32_MAX, to = 0;
    int64_t width = 0;
    for (int i = 0; i < n; i++) {
        Item *x = &s->item[list[i]];
        x->lower = x->at;
        from = x->first < from ? x->first : from;
        to = x->last > to ? x->last : to;
        width += x->last - x->first + 8;
    }
    s->work += width;
    bool raised = true;
    for (int round = 0; raised && round < 2; round++) {
        find_tops(s, list, n, from, to);
        raised = false;
        for (int i = 0; i < n; i++) {
            Item *x = &s->item[list[i]];
            raised |= raise_lower(s, x, list[i], is_late(x, last));
            if (x->lower + x->size > s->cap) {
                x->weight += 1 << 10;
                return false;
            }
        }
        s->work += 2 * width;
    }
    sort_by_least(s->item, list, n);
    for (int k = from; k <= to; k++)
        s->section[k].min = 0; /* from here on: bytes of the blocks seen */
    for (int i = 0; i < n; i++) {
        const Item *x = &s->item[list[i]];
        int64_t room = s->cap - x->lower;
        for (int k = x->first; k <= x->last; k++) {
            if ((s->section[k].min += x->size) <= room)
                continue;
            for (int j = 0; j <= i; j++)
                if (s->item[list[j]].first <= k && k <= s->item[list[j]].last)
                    s->item[list[j]].weight += 1 << 10;
            return false;
        }
    }
    return true;
}

static void push(Search *s, int id)
{
    Item *x = &s->item[id];
    int64_t top = x->at + x->size;
    x->pushed = true;
    s->done[s->n_done++] = id;
    for (int k = x->first; k <= x->last; k++)
        s->section[k].rest -= x->size;
    for (int j = s->conflicts->start[id]; j < s->conflicts->start[id + 1]; j++) {
        Item *y = &s->item[s->conflicts->at[j]];
        if (!y->pushed && y->at < top) {
            s->trail[s->n_trail++] = (struct Trail){s->conflicts->at[j], y->at};
            y->at = top;
        }
    }
}

static void undo(Search *s, int n_done, int n_trail)
{
    while (s->n_trail > n_trail) {
        const struct Trail *t = &s->trail[--s->n_trail];
        s->item[t->item].at = t->at;
    }
    while (s->n_done > n_done) {
        Item *x = &s->item[s->done[--s->n_done]];
        x->pushed = false;
        for (int k = x->first; k <= x->last; k++)
            s->section[k].rest += x->size;
    }
}

static bool solve(Search *s, int *list, int n, Last last);

/* Splits the list into parts without a common section, and solves each alone. */
static bool solve_parts(Search *s, int *list, int n, Last last)
{
    int from = INT32_MAX, to = -1;
    for (int i = 0; i < n; i++) {
        const Item *x = &s->item[list[i]];
        from = x->first < from ? x->first : from;
        to = x->last > to ? x->last : to;
    }
    for (int k = from; k <= to; k++)
        s->section[k].joined = false;
    for (int i = 0; i < n; i++)
        for (int k = s->item[list[i]].first; k < s->item[list[i]].last; k++)
            s->section[k].joined = true;
    int *part = s->space;
    for (int k = from, end; k <= to; k = end + 1) {
        for (end = k; end < to && s->section[end].joined;)
            end++;
        if (k == from && end == to)
            return solve(s, list, n, last);
        int m = 0;
        for (int i = 0; i < n; i++)
            if (s->item[list[i]].first >= k && s->item[list[i]].last <= end)
                part[m++] = list[i];
        s->space = part + m;
        bool solved = !m || solve(s, part, m, last);
        s->space = part;
        if (!solved)
            return false;
    }
    return true;
}

/* The candidates for the next block, lowest first. */
static int find_next(const Search *s, const int *list, int n, Last last, int *next)
{
    int64_t ceiling = INT64_MAX; /* the lowest top: a block at or above it leaves room for another one below */
    for (int i = 0; i < n; i++) {
        const Item *x = &s->item[list[i]];
        if (x->at + x->size < ceiling)
            ceiling = x->at + x->size;
    }
    int m = 0;
    for (int i = 0; i < n; i++) {
        const Item *x = &s->item[list[i]], *y;
        if (x->at >= ceiling || x->lower > x->at || is_late(x, last) || (x->twin >= 0 && !s->item[x->twin].pushed))
            continue;
        int k = m++;
        for (; k && (y = &s->item[next[k - 1]], y->at > x->at || (y->at == x->at && y->rank > x->rank)); k--)
            next[k] = next[k - 1];
        next[k] = list[i];
    }
    return m;
}

/* Places all blocks of the list, or none. */
static bool solve(Search *s, int *list, int n, Last last)
{
    if (s->work > s->limit || !may_fit(s, list, n, last))
        return false;
    int *next = s->space, m = find_next(s, list, n, last, next), *rest = next + m;
    int n_done = s->n_done, n_trail = s->n_trail;
    bool solved = false;
    for (int i = 0; i < m && !solved && s->work <= s->limit; i++) {
        const Item *x = &s->item[next[i]];
        Last now = {x->at, x->rank};
        push(s, next[i]);
        int k = 0;
        for (int j = 0; j < n; j++)
            if (list[j] != next[i])
                rest[k++] = list[j];
        s->space = rest + k;
        solved = !k || solve_parts(s, rest, k, now);
        if (!solved)
            undo(s, n_done, n_trail);
    }
    s->space = next;
    return solved;
}

static void find_sections(Search *s, const Buffer *b)
{
    const Event *e = events(b, s->n);
    bool begun = false;
    for (int i = 0; i < 2 * s->n; i++) {
        Item *x = &s->item[e[i].block];
        if (!e[i].end)
            x->first = s->n_section;
        else {
            s->n_section += begun;
            x->last = s->n_section - 1;
        }
        begun = !e[i].end;
    }
    s->section = NEWS(Section, s->n_section + 1);
}

static int by_twin(const void *a, const void *b)
{
    const Item *x = *(const Item *const *)a, *y = *(const Item *const *)b;
    int order = compare_numbers(x->first, y->first);
    order = order ? order : compare_numbers(x->last, y->last);
    order = order ? order : compare_numbers(x->size, y->size);
    return order ? order : compare_numbers(x->rank, y->rank);
}

static void find_twins(Search *s, Item **sorted)
{
    for (int i = 0; i < s->n; i++)
        sorted[i] = &s->item[i];
    qsort(sorted, (size_t)s->n, sizeof *sorted, by_twin);
    for (int i = 0; i < s->n; i++) {
        const Item *y = i ? sorted[i - 1] : NULL;
        bool same = y && y->first == sorted[i]->first && y->last == sorted[i]->last && y->size == sorted[i]->size;
        sorted[i]->twin = same ? (int)(y - s->item) : -1;
    }
}

/* The rank of every block in one try: a fixed order, perturbed at random, with blocks that caused conflicts first. */
static void rank_items(Search *s, const Ranked *order, int try, Ranked *ranked)
{
    static const int trust[] = {0, 1024, 3072}; /* weight of the conflicts, in thousandths */
    int64_t max = 1;
    for (int i = 0; i < s->n; i++)
        if (s->item[i].weight > max)
            max = s->item[i].weight;
    for (int i = 0; i < s->n; i++) {
        Item *x = &s->item[order[i].block];
        s->random = s->random * 6364136223846793005u + 1442695040888963407u;
        int64_t shake = try < 3 ? 0 : (int64_t)(s->random >> 33) % ((try / 9 % 2 ? 150 : 30) * s->n + 1);
        int64_t blame = x->weight * 1000 / max * trust[try / 3 % 3] / 1000 * s->n;
        ranked[i] = (Ranked){{blame - shake - 1024 * i}, order[i].block};
        x->weight = x->weight * 19 / 20;
    }
    qsort(ranked, (size_t)s->n, sizeof *ranked, by_key);
    for (int i = 0; i < s->n; i++)
        s->item[ranked[i].block].rank = i;
}

/* The Luby sequence of restart lengths: 1 1 2 1 1 2 4 ... */
static int luby(int i)
{
    int k = 1;
    while ((1 << k) - 1 < i)
        k++;
    return (1 << k) - 1 == i ? 1 << (k - 1) : luby(i - (1 << (k - 1)) + 1);
}

Search *search_new(const Buffer *b, int n, const Interference *conflicts)
{
    Search *s = NEW_COPY((Search){.n = n, .conflicts = conflicts, .random = 3});
    s->item = NEWS(Item, n);
    s->done = NEWS(int, n);
    s->trail = NEWS(struct Trail, conflicts->start[n] + 1);
    s->space = NEWS(int, (size_t)n *((size_t)n + 4));
    s->list = NEWS(int, n);
    s->ranked = NEWS(Ranked, n);
    s->sorted = NEWS(Item *, n);
    find_sections(s, b);
    for (int i = 0; i < n; i++) {
        s->item[i].size = b[i].size;
        s->step += s->item[i].last - s->item[i].first + 8;
    }
    return s;
}

static void start_try(Search *s)
{
    for (int k = 0; k < s->n_section; k++)
        s->section[k].rest = 0;
    for (int i = 0; i < s->n; i++) {
        Item *x = &s->item[i];
        x->at = 0;
        x->pushed = false;
        for (int k = x->first; k <= x->last; k++)
            s->section[k].rest += x->size;
        s->list[i] = i;
    }
    s->n_done = s->n_trail = 0;
}

bool search(Search *s, Buffer *b, Ranked *const *order, int64_t cap, int64_t work)
{
    bool solved = false;
    int64_t end = s->work + work;
    s->cap = cap;
    for (int try = 0; s->work < end && !solved; try++) {
        rank_items(s, order[try % 3], try, s->ranked);
        find_twins(s, s->sorted);
        start_try(s);
        int64_t limit = s->work + (int64_t)luby(try / 3 + 1) * TRY_STEPS * s->step;
        s->limit = limit < end ? limit : end;
        int *space = s->space;
        solved = solve_parts(s, s->list, s->n, (Last){-1, -1});
        s->space = space;
        if (!solved && s->work <= s->limit)
            return false; /* exhausted: no placement exists */
    }
    for (int i = 0; solved && i < s->n; i++)
        b[i].offset = s->item[i].at;
    return solved;
}
