/* place.c - offsets for buffers with lifetimes, in as little memory as possible: by sweeps over time, then by greedy
 * orders, then by search; each is tried only if the one before did not reach the lower bound. */
#include "base/place.h"
#include "base/place_search.h"
#include "base/util.h"

#include <stdlib.h>

enum { MAX_SEARCH = 2000, MAX_PAIRS = 500000 };
/* Work of the search, which takes some seconds: counted rather than timed, so that the result is deterministic. */
#define MAX_WORK 3000000000

/* ---- the bound --------------------------------------------------------------------------------------------------- */

int64_t place_bound(const Buffer *b, int n, int *when)
{
    Event *e = events(b, n);
    int64_t live = 0, max = 0;
    if (when)
        *when = 0;
    for (int i = 0; i < 2 * n; i++) {
        live += e[i].end ? -b[e[i].block].size : b[e[i].block].size;
        if (live > max) {
            max = live;
            if (when)
                *when = e[i].time;
        }
    }
    events_free(e, n);
    return max;
}

static int64_t top_of(const Buffer *b, int n)
{
    int64_t top = 0;
    for (int i = 0; i < n; i++)
        if (b[i].offset + b[i].size > top)
            top = b[i].offset + b[i].size;
    return top;
}

/* Copies b's offsets to `best` if they need fewer bytes than `have`; returns the bytes that `best` needs. */
static int64_t keep_better(Buffer *best, const Buffer *b, int n, int64_t have)
{
    int64_t top = top_of(b, n);
    if (top >= have)
        return have;
    for (int i = 0; i < n; i++)
        best[i].offset = b[i].offset;
    return top;
}

/* ---- sweep: in order of time, into the tightest gap, next to the neighbour that lives longer --------------------- */

typedef struct Live {
    int64_t from, to; /* bytes */
    int end;          /* last time */
    int block;
} Live;

/* The offset for a block of `size` bytes between the k live ones, which are sorted by offset; *slot: its index among
 * them. */
static int64_t tightest_gap(const Live *live, int k, int64_t size, int64_t cap, int *slot)
{
    int64_t best = INT64_MAX, at = -1;
    for (int i = 0; i <= k; i++) {
        int64_t low = i ? live[i - 1].to : 0, high = i < k ? live[i].from : low < cap ? cap : INT64_MAX;
        if (high - low < size || high - low >= best)
            continue;
        best = high - low;
        *slot = i;
        int below = i ? live[i - 1].end : INT32_MAX, above = i < k ? live[i].end : INT32_MAX;
        at = above > below && high < INT64_MAX ? high - size : low;
    }
    if (at < 0) { /* no gap within the bound: above all others */
        *slot = k;
        at = live[k - 1].to;
    }
    return at;
}

static void reverse_times(Buffer *b, int n)
{
    for (int i = 0; i < n; i++) {
        int from = b[i].from;
        b[i].from = -b[i].to;
        b[i].to = -from;
    }
}

static void sweep(Buffer *b, int n, int64_t cap, bool backwards)
{
    if (backwards)
        reverse_times(b, n);
    Event *e = events(b, n);
    Live *live = NEWS(Live, n + 1);
    int k = 0;
    for (int i = 0; i < 2 * n; i++) {
        Buffer *x = &b[e[i].block];
        int slot = 0;
        if (e[i].end) {
            while (live[slot].block != e[i].block)
                slot++;
            memmove(&live[slot], &live[slot + 1], sizeof *live * (size_t)(--k - slot));
        } else {
            x->offset = tightest_gap(live, k, x->size, cap, &slot);
            memmove(&live[slot + 1], &live[slot], sizeof *live * (size_t)(k++ - slot));
            live[slot] = (Live){x->offset, x->offset + x->size, x->to, e[i].block};
        }
    }
    events_free(e, n);
    pool_free(live, sizeof *live * (size_t)(n + 1));
    if (backwards)
        reverse_times(b, n);
}

/* ---- the interference graph: pairs that are alive at the same time ----------------------------------------------- */

/* False: more than MAX_PAIRS. */
static bool find_interference(const Buffer *b, int n, Interference *conflicts)
{
    const Event *e = events(b, n);
    int *live = NEWS(int, n + 1), *count = NEWS(int, n + 1);
    int64_t pairs = 0;
    for (int pass = 0; pass < 2; pass++) {
        int k = 0;
        for (int i = 0; i < 2 * n; i++) {
            int x = e[i].block;
            if (e[i].end) {
                int slot = 0;
                while (live[slot] != x)
                    slot++;
                live[slot] = live[--k];
                continue;
            }
            if ((pairs += pass ? 0 : k) > MAX_PAIRS)
                return false;
            for (int j = 0; j < k; j++) {
                if (pass) {
                    conflicts->at[count[x]++] = live[j];
                    conflicts->at[count[live[j]]++] = x;
                } else {
                    conflicts->start[x]++;
                    conflicts->start[live[j]]++;
                }
            }
            live[k++] = x;
        }
        if (pass)
            break;
        int sum = 0;
        for (int i = 0; i <= n; i++) {
            int c = conflicts->start[i];
            conflicts->start[i] = count[i] = sum;
            sum += c;
        }
        conflicts->at = NEWS(int, sum + 1);
    }
    return true;
}

/* ---- greedy: one block after the other, each at the lowest free offset ------------------------------------------- */

typedef struct Interval {
    int64_t from, to;
} Interval;

static int by_from(const void *a, const void *b)
{
    const Interval *x = a, *y = b;
    return compare_numbers(x->from, y->from);
}

static void greedy(Buffer *b, int n, const Interference *conflicts, const Ranked *order)
{
    Interval *taken = NEWS(Interval, n + 1);
    for (int i = 0; i < n; i++)
        b[i].offset = -1;
    for (int r = 0; r < n; r++) {
        Buffer *x = &b[order[r].block];
        int k = 0;
        for (int j = conflicts->start[order[r].block]; j < conflicts->start[order[r].block + 1]; j++) {
            const Buffer *y = &b[conflicts->at[j]];
            if (y->offset >= 0)
                taken[k++] = (Interval){y->offset, y->offset + y->size};
        }
        qsort(taken, (size_t)k, sizeof *taken, by_from);
        int64_t at = 0;
        for (int j = 0; j < k && taken[j].from - at < x->size; j++)
            if (taken[j].to > at)
                at = taken[j].to;
        x->offset = at;
    }
}

/* Per block: the peak of live bytes during its lifetime. */
static int64_t *pressures(const Buffer *b, int n, const Interference *conflicts)
{
    int64_t *pressure = NEWS(int64_t, n + 1);
    for (int i = 0; i < n; i++) {
        int first = conflicts->start[i], k = conflicts->start[i + 1] - first;
        Buffer *around = NEWS(Buffer, k + 1);
        for (int j = 0; j < k; j++) {
            around[j] = b[conflicts->at[first + j]];
            around[j].from = around[j].from < b[i].from ? b[i].from : around[j].from;
            around[j].to = around[j].to > b[i].to ? b[i].to : around[j].to;
        }
        pressure[i] = place_bound(around, k, NULL) + b[i].size;
    }
    return pressure;
}

/* ---- the strategies in turn -------------------------------------------------------------------------------------- */

enum { N_ORDERS = 4 };

static void find_orders(const Buffer *b, int n, const Interference *conflicts, Ranked **order)
{
    const int64_t *pressure = pressures(b, n, conflicts);
    for (int k = 0; k < N_ORDERS; k++) {
        order[k] = NEWS(Ranked, n);
        for (int i = 0; i < n; i++) {
            int64_t span = b[i].to - b[i].from + 1, area = span * (b[i].size >> 4);
            Ranked r[N_ORDERS] = {{{span, area, pressure[i]}, i},
                                  {{pressure[i], area, span}, i},
                                  {{pressure[i], span, area}, i},
                                  {{b[i].size, span, 0}, i}};
            order[k][i] = r[k];
        }
        qsort(order[k], (size_t)n, sizeof **order, by_key);
    }
}

/* Searches at the bound, then bisects between the bound and the best so far; a second round has eight times the
 * work. */
static void approach(Buffer *b, int n, const Interference *conflicts, Ranked *const *order, int64_t bound, int64_t work)
{
    Search *s = search_new(b, n, conflicts);
    int64_t top = top_of(b, n);
    for (int round = 0; round < 2; round++, work *= 8) {
        if (search(s, b, order, bound, work))
            return;
        for (int64_t low = bound; top - low > bound / 400;) {
            int64_t cap = low + (top - low) / 2;
            if (search(s, b, order, cap, work / 4))
                top = top_of(b, n);
            else
                low = cap;
        }
    }
}

/* Places buffers whose lifetimes are connected. Stops as soon as `bound` bytes suffice. */
static void place_part(Buffer *b, int n, int64_t bound, int64_t work)
{
    Buffer *best = NEWS(Buffer, n);
    memcpy(best, b, sizeof *b * (size_t)n);
    int64_t top = INT64_MAX;
    for (int back = 0; back < 2 && top > bound; back++) {
        sweep(b, n, bound, back);
        top = keep_better(best, b, n, top);
    }
    Interference conflicts = {.start = NEWS(int, n + 1)};
    if (top > bound && find_interference(b, n, &conflicts)) {
        Ranked *order[N_ORDERS];
        find_orders(b, n, &conflicts, order);
        for (int k = 0; k < N_ORDERS && top > bound; k++) {
            greedy(b, n, &conflicts, order[k]);
            top = keep_better(best, b, n, top);
        }
        if (top > bound && n <= MAX_SEARCH && work)
            approach(best, n, &conflicts, order, bound, work / 16);
    }
    memcpy(b, best, sizeof *b * (size_t)n);
    pool_free(best, sizeof *best * (size_t)n);
}

int64_t place(Buffer *b, int n)
{
    int64_t bound = place_bound(b, n, NULL);
    Event *e = events(b, n);
    Buffer *part = NEWS(Buffer, n + 1);
    int *from = NEWS(int, n + 1);
    for (int i = 0, live = 0, k = 0; i < 2 * n; i++) {
        if (!e[i].end) {
            from[k] = e[i].block;
            part[k++] = b[e[i].block];
        }
        live += e[i].end ? -1 : 1;
        if (live)
            continue;
        place_part(part, k, bound, MAX_WORK);
        for (int j = 0; j < k; j++)
            b[from[j]].offset = part[j].offset;
        k = 0;
    }
    events_free(e, n);
    pool_free(part, sizeof *part * (size_t)(n + 1));
    pool_free(from, sizeof *from * (size_t)(n + 1));
    return top_of(b, n);
}
