/* coded.h - products of a matrix with weights that stay as they are stored: numbers of 2 to 16 bits, from which a zero
 * point is subtracted and which a scale multiplies. A few k of a panel at a time are expanded to floats, for the tiles
 * of tile.h; the results have the bits of a product with the weights expanded before. */
#ifndef ONNXCC_CODED_H
#define ONNXCC_CODED_H
#include "rt.h"
#include "codes.h"
#include "tile.h"

/* y (m, n) = x (m, k) w + b + r. w: panels of 16 columns (the last one: of those that remain) with `rows` rows each, a
 * row has a code of each column, or 2 or 4 of successive k from the low bits up. scale, zero: for each panel and block
 * of `block` k a row of as many (codes.h); scales, zeros: how they are stored; CODED_ALL: one for all, scale_all and
 * zero_all.
 * columns: a multiple of 16, of one pass over x; chunk: values of k that are expanded at a time; depth: values of k in
 * one sum. Scratch: chunk * columns floats, and if k > depth m * columns. */
#define dense_coded_PARAMS(X, V)                                                                                       \
    X(idx, m) X(idx, n) X(idx, k) X(idx, x_pitch) X(idx, y_pitch) X(idx, r_pitch) X(idx, columns) X(idx, chunk)        \
    X(idx, depth) X(f32, lo) X(f32, hi) CODED_PARAMS(X)
PARAMS(dense_coded)

#if RT_VEC > 1
/* c += x w for one row of x, four vectors of columns from panel `panel` on, and n values of k from `k` on. The weights
 * are expanded in registers. */
typedef void coded_dots_fn(vec *c, const f32 *x, const struct coded *w, idx panel, idx panels, idx k, idx n);
#define CODED_REST 8 /* values of k of the last panel that are expanded at a time */
#define CODED_PANEL(q) ((q) * RT_VEC / TILE_PANEL)
#define CODED_LANE(q) ((q) * RT_VEC % TILE_PANEL)
#define CODED_DOTS(kind, storage, each)                                                                                \
    SHARED void coded_dots_##kind(vec *c, const f32 *x, const struct coded *t, idx panel, idx panels, idx k, idx n)    \
    {                                                                                                                  \
        const idx end = k + n, zero_rows = (t->blocks + each - 1) / each;                                              \
        f32 factor[4 * RT_VEC < TILE_PANEL ? TILE_PANEL : 4 * RT_VEC], zero[sizeof factor / sizeof *factor];           \
        vec c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], a;                                                             \
        const storage *const w = (const storage *)t->w;                                                                \
        const idx last = panels - 1 - panel; /* absent panels: the last one again; the sums are dropped */             \
        const storage *const w0 = w + (panel + rt_min(CODED_PANEL(0), last)) * t->rows * TILE_PANEL + CODED_LANE(0);   \
        const storage *const w1 = w + (panel + rt_min(CODED_PANEL(1), last)) * t->rows * TILE_PANEL + CODED_LANE(1);   \
        const storage *const w2 = w + (panel + rt_min(CODED_PANEL(2), last)) * t->rows * TILE_PANEL + CODED_LANE(2);   \
        const storage *const w3 = w + (panel + rt_min(CODED_PANEL(3), last)) * t->rows * TILE_PANEL + CODED_LANE(3);   \
        idx scales[4], zeros[4];                                                                                       \
        const idx scale_step = t->scales < CODED_SPAN ? TILE_PANEL : 1;                                                \
        const idx zero_step = t->zeros < CODED_SPAN ? TILE_PANEL : 1;                                                  \
        for (idx q = 0; q * TILE_PANEL < 4 * RT_VEC; q++) {                                                            \
            const idx at = panel + rt_min(q, last), rows = at * t->blocks * TILE_PANEL;                                \
            scales[q] = coded_numbers(t, t->scales, rows, at);                                                         \
            zeros[q] = coded_numbers(t, t->zeros, rows, at);                                                           \
            if (t->zeros == CODED_ALL)                                                                                 \
                coded_row(zero + q * TILE_PANEL, NULL, CODED_ALL, 0, t->zero_all);                                     \
        }                                                                                                              \
        while (k < end) {                                                                                              \
            const idx b = k / t->block, stop = rt_min(end, (b + 1) * t->block);                                        \
            for (idx q = 0; q * TILE_PANEL < 4 * RT_VEC; q++) {                                                        \
                f32 *const to = zero + q * TILE_PANEL;                                                                 \
                coded_row(factor + q * TILE_PANEL, t->scale, t->scales, scales[q] + b * scale_step, t->scale_all);     \
                if (t->zeros == CODED_SAME)                                                                            \
                    coded_one_##kind(to,                                                                               \
                                     (const storage *)t->zero +                                                        \
                                         ((panel + rt_min(q, last)) * zero_rows + b / each) * TILE_PANEL,              \
                                     b % each, coded_none, coded_ones);                                                \
                else if (t->zeros == CODED_SPAN_SAME)                                                                  \
                    coded_splat_##kind(to, t->zero, zeros[q] + b);                                                     \
                else if (t->zeros != CODED_ALL)                                                                        \
                    coded_row(to, t->zero, t->zeros, zeros[q] + b * zero_step, 0);                                     \
            }                                                                                                          \
            const vec s0 = vec_load(factor), s1 = vec_load(factor + RT_VEC), s2 = vec_load(factor + 2 * RT_VEC);       \
            const vec s3 = vec_load(factor + 3 * RT_VEC), z0 = vec_load(zero), z1 = vec_load(zero + RT_VEC);           \
            const vec z2 = vec_load(zero + 2 * RT_VEC), z3 = vec_load(zero + 3 * RT_VEC);                              \
            for (; k < stop && (k % each || k + each > stop); k++)                                                     \
                CODED_ODD(kind, each)                                                                                  \
            for (; k + each <= stop; k += each) {                                                                      \
                const idx at = k / each * TILE_PANEL;                                                                  \
                CODED_STEP(kind, 0, k)                                                                                 \
                if (each > 1) {                                                                                        \
                    CODED_STEP(kind, 1 % each, k + 1)                                                                  \
                }                                                                                                      \
                if (each > 2) {                                                                                        \
                    CODED_STEP(kind, 2 % each, k + 2)                                                                  \
                    CODED_STEP(kind, 3 % each, k + 3)                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            for (; k < stop; k++)                                                                                      \
                CODED_ODD(kind, each)                                                                                  \
        }                                                                                                              \
        c[0] = c0, c[1] = c1, c[2] = c2, c[3] = c3;                                                                    \
    }
#define CODED_STEP(kind, i, l)                                                                                         \
    a = vec_splat(x[l]);                                                                                               \
    c0 = vec_fma(a, (coded_vec_##kind(w0 + at, i) - z0) * s0, c0);                                                     \
    c1 = vec_fma(a, (coded_vec_##kind(w1 + at, i) - z1) * s1, c1);                                                     \
    c2 = vec_fma(a, (coded_vec_##kind(w2 + at, i) - z2) * s2, c2);                                                     \
    c3 = vec_fma(a, (coded_vec_##kind(w3 + at, i) - z3) * s3, c3);
/* One k, whose position in its element of storage is known only at run time. */
#define CODED_ODD(kind, each)                                                                                          \
    {                                                                                                                  \
        const idx at = k / each * TILE_PANEL;                                                                          \
        if (k % each == 0) {                                                                                           \
            CODED_STEP(kind, 0, k)                                                                                     \
        } else if (k % each == 1) {                                                                                    \
            CODED_STEP(kind, 1 % each, k)                                                                              \
        } else if (k % each == 2) {                                                                                    \
            CODED_STEP(kind, 2 % each, k)                                                                              \
        } else {                                                                                                       \
            CODED_STEP(kind, 3 % each, k)                                                                              \
        }                                                                                                              \
    }
CODED_KINDS(CODED_DOTS)
#undef CODED_DOTS
#undef CODED_STEP
#undef CODED_ODD

TILE coded_dots_fn *coded_dots_of(const int kind)
{
#define CODED_CASE(name, storage, each) CODED_CHOICE(coded_dots_, name)
    CODED_KINDS(CODED_CASE)
#undef CODED_CASE
    return NULL;
}

/* The same for the columns of the last panel, if it has fewer than 16. */
SHARED void coded_rest(vec *c, const f32 *x, const struct coded *w, coded_fn *expand, idx k, idx n)
{
    f32 part[CODED_REST * TILE_PANEL];
    for (idx at = 0; at < n; at += CODED_REST) {
        const idx run = n - at < CODED_REST ? n - at : CODED_REST;
        expand(part, w, w->width / TILE_PANEL, k + at, run);
        for (idx i = 0; i < run; i++)
            for (idx j = 0; j < TILE_PANEL; j += RT_VEC)
                c[j / RT_VEC] = vec_fma(vec_splat(x[k + at + i]), vec_load(part + i * TILE_PANEL + j), c[j / RT_VEC]);
    }
}

/* One row: y = x w + b + r. */
SHARED void coded_single(const f32 *x, const f32 *b, const f32 *r, f32 *y, coded_dots_fn *dots, coded_fn *expand,
                         tile_epilogue *epilogue, const struct coded *w, const struct dense_coded *p)
{
    const vec low = vec_splat(p->lo), high = vec_splat(p->hi);
    const idx whole = p->n / TILE_PANEL * TILE_PANEL;
    for (idx c = 0, end; c < p->n; c = end) {
        const idx most = c < whole ? whole : p->n;
        vec sum[4], all[4];
        end = c + 4 * RT_VEC < most ? c + 4 * RT_VEC : most;
        for (idx q = 0; q < 4; q++) {
            const idx at = c + q * RT_VEC, some = end - at > 0 ? end - at : 0;
            sum[q] = b && some ? vec_load_some(b + at, some) : vec_splat(0);
            if (r && some)
                sum[q] += vec_load_some(r + at, some);
        }
        idx depth = 0;
        do {
            const idx run = p->k - depth < p->depth ? p->k - depth : p->depth;
            if (c < whole)
                dots(sum, x, w, c / TILE_PANEL, whole / TILE_PANEL, depth, run);
            else
                coded_rest(sum, x, w, expand, depth, run);
            for (idx q = 0; q < 4; q++) {
                all[q] = depth ? sum[q] + all[q] : sum[q];
                sum[q] = vec_splat(0);
            }
            depth += run;
        } while (depth < p->k);
        for (idx q = 0; q < 4 && c + q * RT_VEC < end; q++)
            vec_store_some(y + c + q * RT_VEC, vec_min(high, vec_max(low, all[q])), end - c - q * RT_VEC);
        if (epilogue)
            epilogue(y + c, p->y_pitch, 1, end - c);
    }
}
#endif

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* y = start + r + x w for n times R rows from x on and V vectors of columns, clamped; start: rows with `pitch` (0: one
 * for all), or NULL, as r may be. w: expanded. */
#ifdef ONNXCC_PLAIN
#define coded_tile_of(R, V) (V)
SHARED void coded_tile_run(const int V, const f32 *x, const f32 *w, const f32 *start, idx pitch, const f32 *r, f32 *y,
                           idx last, idx n, const struct tile_job *t)
{
    static const f32 zero[TILE_VECTORS * RT_VEC];
    vec c[TILE_VECTORS];
    for (idx i = 0; i < n; i++) {
        tile_load(c, 1, V, start ? start + i * pitch : zero, start ? pitch : 0, start ? last : RT_VEC);
        if (r)
            tile_add(c, 1, V, r + i * t->r_pitch, t->r_pitch, last);
        tile_mac(c, 1, V, x + i * t->step, w, t);
        tile_store(c, 1, V, y + i * t->y_pitch, t->y_pitch, last, t->lo, t->hi);
    }
}
#else
typedef void coded_tile(const f32 *x, const f32 *w, const f32 *start, idx pitch, const f32 *r, f32 *y, idx last, idx n,
                        const struct tile_job *t);
#define CODED_TILE(R, V)                                                                                               \
    SHARED void coded_##R##_##V(const f32 *x, const f32 *w, const f32 *start, idx pitch, const f32 *r, f32 *y,         \
                                idx last, idx n, const struct tile_job *t)                                             \
    {                                                                                                                  \
        static const f32 zero[TILE_VECTORS * RT_VEC];                                                                  \
        vec c[R * V];                                                                                                  \
        for (idx i = 0; i < n * R; i += R) {                                                                           \
            tile_load(c, R, V, start ? start + i * pitch : zero, start ? pitch : 0, start ? last : RT_VEC);            \
            if (r)                                                                                                     \
                tile_add(c, R, V, r + i * t->r_pitch, t->r_pitch, last);                                               \
            tile_mac(c, R, V, x + i * t->step, w, t);                                                                  \
            tile_store(c, R, V, y + i * t->y_pitch, t->y_pitch, last, t->lo, t->hi);                                   \
        }                                                                                                              \
    }
TILE_EACH(CODED_TILE)
#undef CODED_TILE

#define CODED_CASE(rows, vectors) TILE_IF(rows, vectors, coded_##rows##_##vectors)
TILE_OF(coded_tile, coded_tile_of, CODED_CASE)
#undef CODED_CASE
#endif

TILE_PLAN(coded_plan, coded_tile, coded_tile_of)

/* The state of one pass: some columns, the expanded weights of some k. */
struct coded_work {
    const f32 *x, *w, *start, *r;
    f32 *y;
    idx pitch, m, columns;
    struct tile_job t;
};

SHARED void coded_tiles(struct coded_work *k, const struct coded_plan *c)
{
    for (idx at = 0; at < k->columns;) {
        const int little = at >= c->across.bigs * RT_VEC;
        const idx V = little ? c->across.little : c->across.big, last = k->columns - at - (V - 1) * RT_VEC;
        const f32 *const w = k->w + at / TILE_PANEL * k->t.w_panel + at % TILE_PANEL;
        const f32 *const start = k->start ? k->start + at : NULL, *const r = k->r ? k->r + at : NULL;
        const idx big = c->rows.bigs;
        k->t.lane = at % TILE_PANEL;
        TILE_DO(coded_tile_run, c->tile[0][little], k->x, w, start, k->pitch, r, k->y + at, last, big / c->rows.big,
                &k->t);
        if (k->m > big)
            TILE_DO(coded_tile_run, c->tile[1][little], k->x + big * k->t.step, w,
                    start ? start + big * k->pitch : NULL, k->pitch, r ? r + big * k->t.r_pitch : NULL,
                    k->y + big * k->t.y_pitch + at, last, (k->m - big) / c->rows.little, &k->t);
        at += V * RT_VEC;
    }
}

/* All columns; plan: of p->columns of them, and of those that remain. */
SHARED void coded_run(const f32 *x, const f32 *b, const f32 *r, f32 *y, f32 *scratch, const struct coded_plan *plan,
                      CODED_REF expand, tile_epilogue *epilogue, const struct coded *w, const struct dense_coded *p)
{
    f32 *const part = scratch + p->chunk * p->columns;
    for (idx c = 0; c < p->n; c += p->columns) {
        const idx columns = p->n - c < p->columns ? p->n - c : p->columns;
        idx depth = 0;
        do { /* once even if the sum is empty: then y is the bias */
            const idx end = p->k - depth < p->depth ? p->k : depth + p->depth;
            const int first = depth == 0;
            struct coded_work k = {.m = p->m, .columns = columns, .w = scratch, .start = first && b ? b + c : NULL};
            k.y = first ? y + c : part;
            k.r = first && r ? r + c : NULL;
            tile_rows(&k.t, p->x_pitch);
            k.t.w_k = TILE_PANEL;
            k.t.w_panel = p->chunk * TILE_PANEL;
            k.t.y_pitch = first ? p->y_pitch : p->columns;
            k.t.r_pitch = p->r_pitch;
            do {
                k.t.run = end - depth < p->chunk ? end - depth : p->chunk;
                const int last = first && depth + k.t.run == p->k;
                k.t.lo = last ? p->lo : -RT_INF;
                k.t.hi = last ? p->hi : RT_INF;
                k.x = x + depth;
                for (idx at = 0; at < columns; at += TILE_PANEL)
                    TILE_DO(coded_expand, expand, scratch + at * p->chunk, w, (c + at) / TILE_PANEL, depth, k.t.run);
                coded_tiles(&k, plan + (columns < p->columns));
                depth += k.t.run;
                k.start = k.y; /* the sum goes on */
                k.pitch = k.t.y_pitch;
                k.r = NULL;
            } while (depth < end);
            if (!first)
                coded_add(y + c, p->y_pitch, part, p->columns, p->m, columns, depth == p->k ? p->lo : -RT_INF,
                          depth == p->k ? p->hi : RT_INF);
        } while (depth < p->k);
#ifndef ONNXCC_PLAIN
        if (epilogue)
            epilogue(y + c, p->y_pitch, p->m, columns);
#endif
    }
}
#endif

#define CODED_VECTOR_f32 1
#if defined T && !defined U
#if RT_TAKES(CODED_VECTOR_, T)
#ifdef EPI
#define CODED_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define CODED_KERNEL HELPER
#define CODED_EPILOGUE CODED_FN(coded_epilogue)
TILE_EPILOGUE(CODED_EPILOGUE, EPI)
#else
#define CODED_FN FN
#define CODED_KERNEL KERNEL
#define CODED_EPILOGUE NULL
#endif
CODED_KERNEL void CODED_FN(dense_coded)(const f32 *x, const void *w, const f32 *b, const f32 *r, const void *scale,
                                        const void *zero, f32 *y, f32 *scratch, struct dense_coded p)
{
    const struct dense_coded passed = p; /* p itself is not passed on, so that clang -O1 propagates its literals */
    const struct coded c = CODED_OF(p, w, scale, zero);
    const struct coded_plan plan[2] = {coded_plan(p.m, p.n < p.columns ? p.n : p.columns),
                                       coded_plan(p.m, p.n % p.columns)};
#if RT_VEC > 1
    if (p.m == 1) {
        coded_single(x, b, r, y, coded_dots_of(p.kind), coded_of(p.kind), CODED_EPILOGUE, &c, &passed);
        return;
    }
#endif
    coded_run(x, b, r, y, scratch, plan, coded_of(p.kind), TILE_POINTER(CODED_EPILOGUE), &c, &passed);
#if defined EPI && defined ONNXCC_PLAIN
    CODED_EPILOGUE(y, p.y_pitch, p.m, p.n);
#endif
}
#ifndef EPI
REGISTER_KERNEL(dense_coded, 8, 6, SCRATCH | EPILOGUES | RESIDUAL(3))
#endif
#undef CODED_FN
#undef CODED_KERNEL
#undef CODED_EPILOGUE
#endif
#endif
