/* matmul.h - products of two matrices known only at run time: of f32, and of any type (plain). */
#ifndef ONNXCC_MATMUL_H
#define ONNXCC_MATMUL_H
#include "rt.h"
#include "tile.h"

/* y (batch, m, n) = a b + bias + r: element (i, l) of a at i * a_row + l * a_k, (l, j) of b at l * b_k + j * b_column,
 * a_batch, b_batch: strides along the batch axes (0: broadcast); bias: n, r: as y. Scratch: 64 columns of min(k, depth)
 * values, then (a_k != 1) m * k. depth: values of k of one pass. direct: whole panels of b are read in place (b_column
 * is 1). */
#define matmul_PARAMS(X, V)                                                                                            \
    V(idx, batch, 4) X(idx, m) X(idx, n) X(idx, k) V(idx, a_batch, 4) V(idx, b_batch, 4) X(idx, a_row) X(idx, a_k)     \
    X(idx, b_k) X(idx, b_column) X(idx, y_pitch) X(idx, r_pitch) X(idx, depth) X(int, direct) X(f32, lo) X(f32, hi)
PARAMS(matmul)

#define matmul_plain_PARAMS(X, V)                                                                                      \
    V(idx, batch, 4) X(idx, m) X(idx, n) X(idx, k) V(idx, a_batch, 4) V(idx, b_batch, 4) X(idx, a_row) X(idx, a_k)     \
    X(idx, b_k) X(idx, b_column)
PARAMS(matmul_plain)

/* Packs `columns` columns of b (k rows) into panels of TILE_PANEL columns, padded with 0. */
SHARED void matmul_pack(f32 *to, const f32 *b, idx b_k, idx b_column, idx k, idx columns)
{
    for (idx c = 0; c < columns; c += TILE_PANEL) {
        const idx some = columns - c < TILE_PANEL ? columns - c : TILE_PANEL;
        for (idx l = 0; l < k; l++, to += TILE_PANEL) {
            const f32 *const from = b + l * b_k + c * b_column;
            if (b_column == 1)
                for (idx j = 0; j < TILE_PANEL; j += RT_VEC)
                    vec_store(to + j, j + RT_VEC <= some ? vec_load(from + j)
                                      : j < some         ? vec_load_some(from + j, some - j)
                                                         : vec_splat(0));
            else
                for (idx j = 0; j < TILE_PANEL; j++)
                    to[j] = j < some ? from[j * b_column] : 0;
        }
    }
}

/* Packs a (m rows of k) contiguously. */
SHARED void matmul_rows(f32 *to, const f32 *a, idx a_row, idx a_k, idx m, idx k)
{
    for (idx i = 0; i < m; i++)
        for (idx l = 0; l < k; l++)
            *to++ = a[i * a_row + l * a_k];
}

TILE_PLAN(matmul_plan, tile_fn, tile_of)
#endif

#define MATMUL_VECTOR_f32 1
#if defined T && !defined U
#if (RT_IS_FLOAT(T) || RT_IS_WIDE(T)) && !RT_TAKES(MATMUL_VECTOR_, T) && !defined EPI
/* Integers wrap: they are multiplied and added as unsigned. */
#define MATMUL_SUM_f32 f32
#define MATMUL_SUM_f64 f64
#define MATMUL_SUM_i32 u32
#define MATMUL_SUM_u32 u32
#define MATMUL_SUM_i64 u64
#define MATMUL_SUM_u64 u64
#define S RT_CAT(MATMUL_SUM_, A)
enum {
    FN(MATMUL_BLOCK) = 16,
    FN(MATMUL_RUN) = 128
}; /* sums of RUN products are added up, which reduces rounding errors */
KERNEL void FN(matmul_plain)(const T *a, const T *b, const T *bias, T *y, struct matmul_plain p)
{
    const idx matrices = p.batch[0] * p.batch[1] * p.batch[2] * p.batch[3];
    for (idx q = 0; q < matrices; q++) {
        idx at_a = 0, at_b = 0, left = q;
        for (int d = 3; d >= 0; d--) {
            at_a += left % p.batch[d] * p.a_batch[d];
            at_b += left % p.batch[d] * p.b_batch[d];
            left /= p.batch[d];
        }
        for (idx i = 0; i < p.m; i++)
            for (idx j = 0; j < p.n; j += FN(MATMUL_BLOCK)) {
                const idx some = p.n - j < FN(MATMUL_BLOCK) ? p.n - j : FN(MATMUL_BLOCK);
                S sum[FN(MATMUL_BLOCK)], part[FN(MATMUL_BLOCK)];
                for (idx c = 0; c < some; c++)
                    sum[c] = bias ? (S)LD(bias, j + c) : 0;
                for (idx l = 0; l < p.k;) {
                    const idx end = p.k - l < FN(MATMUL_RUN) ? p.k : l + FN(MATMUL_RUN);
                    for (idx c = 0; c < some; c++)
                        part[c] = 0;
                    for (; l < end; l++) {
                        const S v = (S)LD(a, at_a + i * p.a_row + l * p.a_k);
                        for (idx c = 0; c < some; c++)
                            part[c] += v * (S)LD(b, at_b + l * p.b_k + (j + c) * p.b_column);
                    }
                    for (idx c = 0; c < some; c++)
                        sum[c] += part[c];
                }
                for (idx c = 0; c < some; c++)
                    ST(y, (q * p.m + i) * p.n + j + c, (A)sum[c]);
            }
    }
}
REGISTER_KERNEL(matmul_plain, 4, 3, 0)
#undef S
#endif

#if RT_TAKES(MATMUL_VECTOR_, T)
#ifdef EPI
#define MATMUL_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define MATMUL_KERNEL HELPER
TILE_EPILOGUE(MATMUL_FN(matmul_epilogue), EPI)
#else
#define MATMUL_FN FN
#define MATMUL_KERNEL KERNEL
#endif

/* All rows of one group of columns, of c->across.little vectors or .big; little is a literal. */
HELPER void MATMUL_FN(matmul_group)(const struct matmul_plan *c, const int little, const f32 *x, const f32 *w,
                                    const f32 *b, const f32 *r, f32 *y, idx m, idx columns, const struct tile_job *t)
{
    const idx V = little ? c->across.little : c->across.big, last = columns - (V - 1) * RT_VEC, big = c->rows.bigs;
    TILE_DO(tile_run, c->tile[0][little], x, w, b, r, y, last, big / c->rows.big, t);
    if (m > big)
        TILE_DO(tile_run, c->tile[1][little], x + big * t->step, w, b, r ? r + big * t->r_pitch : r,
                y + big * t->y_pitch, last, (m - big) / c->rows.little, t);
#ifdef EPI
    if (t->last)
        MATMUL_FN(matmul_epilogue)(y, t->y_pitch, m, columns < V * RT_VEC ? columns : V * RT_VEC);
#endif
}

/* One product; x has rows with stride x_row, contiguous along k. */
HELPER void MATMUL_FN(matmul_one)(const struct matmul_plan *plan, const f32 *x, idx x_row, const f32 *b,
                                  const f32 *bias, const f32 *r, f32 *y, f32 *scratch, const struct matmul *p)
{
    const struct tile_cut across = plan->across;
    struct tile_job t = {.taps = p->k > 0, .across = 1, .rows = 1, .y_pitch = p->y_pitch, .r_pitch = p->r_pitch};
    tile_rows(&t, x_row);
    for (idx c = 0; c < p->n;) {
        const int little = c >= across.bigs * RT_VEC;
        const idx wide = (little ? across.little : across.big) * RT_VEC, columns = p->n - c;
        const f32 *const bc = bias ? bias + c : bias, *const rc = r ? r + c : r;
        idx l = 0;
        do {
            const f32 *w = p->k > 0 ? b + l * p->b_k + c * p->b_column : b;
            t.run = p->depth < p->k - l ? p->depth : p->k - l;
            t.first = l == 0;
            t.last = l + t.run == p->k;
            t.lo = t.last ? p->lo : -RT_INF;
            t.hi = t.last ? p->hi : RT_INF;
            t.w_k = p->b_k;
            t.w_panel = TILE_PANEL;
            if (t.run > 0 && (!p->direct || columns < wide)) {
                matmul_pack(scratch, w, p->b_k, p->b_column, t.run, columns < wide ? columns : wide);
                w = scratch;
                t.w_k = TILE_PANEL;
                t.w_panel = t.run * TILE_PANEL;
            }
            if (little)
                MATMUL_FN(matmul_group)(plan, 1, x + l, w, bc, rc, y + c, p->m, columns, &t);
            else
                MATMUL_FN(matmul_group)(plan, 0, x + l, w, bc, rc, y + c, p->m, columns, &t);
            l += t.run;
        } while (l < p->k);
        c += wide;
    }
}

MATMUL_KERNEL void MATMUL_FN(matmul)(const f32 *a, const f32 *b, const f32 *bias, const f32 *r, f32 *y, f32 *scratch,
                                     struct matmul p)
{
    const struct matmul_plan plan = matmul_plan(p.m, p.n);
    const idx matrices = p.batch[0] * p.batch[1] * p.batch[2] * p.batch[3];
    f32 *const straight = scratch ? scratch + 4 * TILE_PANEL * (p.depth < p.k ? p.depth : p.k) : scratch;
    for (idx q = 0; q < matrices; q++) {
        idx at_a = 0, at_b = 0, left = q;
        for (int d = 3; d >= 0; d--) {
            at_a += left % p.batch[d] * p.a_batch[d];
            at_b += left % p.batch[d] * p.b_batch[d];
            left /= p.batch[d];
        }
        const f32 *x = a + at_a;
        if (p.a_k != 1) {
            matmul_rows(straight, x, p.a_row, p.a_k, p.m, p.k);
            x = straight;
        }
        MATMUL_FN(matmul_one)(&plan, x, p.a_k != 1 ? p.k : p.a_row, b + at_b, bias, r ? r + q * p.m * p.r_pitch : r,
                              y + q * p.m * p.y_pitch, scratch, &p);
    }
}
#ifndef EPI
REGISTER_KERNEL(matmul, 6, 4, SCRATCH | EPILOGUES | RESIDUAL(3))
#endif
#undef MATMUL_FN
#undef MATMUL_KERNEL
#endif
#endif
