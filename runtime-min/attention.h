/* attention.h - scaled dot-product attention, which stores the scores of only a few rows at a time. */
#ifndef ONNXCC_ATTENTION_H
#define ONNXCC_ATTENTION_H
#include "rt.h"
#include "math.h"
#include "tile.h"

/* q, y: (batch, q_heads, rows, size or v_size), or with packed_q (batch, rows, q_heads, ...); k, v the same with
 * kv_heads, keys and packed_kv; q_heads / kv_heads heads of q share one of k. Row i attends key j if, with at = offset
 * + i, at - left <= j <= at + right (negative: no limit), j < lens[b] (then offset is lens[b] - rows; NULL: no limit),
 * j < mask_keys, and mask (bool) is not 0; bias is added to the score. starts[b], if given, is the offset. mask_batch,
 * mask_head and mask_row are the strides of mask and bias; either may be NULL. A row that attends no key is 0. sink, if
 * given, is the score of a further key per query head, whose value is 0. default_scale: the scale is 1 / sqrt(size).
 * qk (may be NULL): mode 0 scores, 1 after the cap, 2 after bias and mask, 3 probabilities. Scratch: that of
 * attention_one or, for ATTENTION_MANY rows of a type that computes in f32, of attention_scratch. */
#define attention_PARAMS(X, V)                                                                                         \
    X(idx, batch) X(idx, q_heads) X(idx, kv_heads) X(idx, rows) X(idx, keys) X(idx, size) X(idx, v_size)               \
    X(int, packed_q) X(int, packed_kv) X(idx, mask_batch) X(idx, mask_head) X(idx, mask_row) X(idx, mask_keys)         \
    X(idx, offset) X(idx, left) X(idx, right) X(f64, scale) X(int, default_scale) X(f64, cap) X(int, mode)
PARAMS(attention)

enum {
    ATTENTION_LANES = 16,
    ATTENTION_BLOCK = 24, /* rows at a time, if there are ATTENTION_MANY or more; else one */
    ATTENTION_MANY = 4,
};
#define ATTENTION_ROUND(n) (((n) + ATTENTION_LANES - 1) / ATTENTION_LANES * ATTENTION_LANES)

/* y (m rows with y_pitch) = x (m rows of `run` values, with stride step) times `columns` columns of the panels w. */
HELPER void attention_columns(const int V, const f32 *x, idx step, idx m, const f32 *w, f32 *y, idx last,
                              const struct tile_job *t)
{
    enum { R = TILE_ROWS(TILE_VECTORS) };
    const idx whole = m / R * R;
    TILE_DO(tile_run, tile_of(R, V), x, w, NULL, NULL, y, last, m / R, t);
    if (m > whole)
        TILE_DO(tile_run, tile_of(1, V), x + whole * step, w, NULL, NULL, y + whole * t->y_pitch, last, m - whole, t);
}

SHARED void attention_product(const f32 *x, idx step, idx m, const f32 *w, idx w_panel, idx run, f32 *y, idx y_pitch,
                              idx columns)
{
    struct tile_job t = {.taps = 1,
                         .run = run,
                         .across = 1,
                         .rows = 1,
                         .w_k = TILE_PANEL,
                         .w_panel = w_panel,
                         .y_pitch = y_pitch,
                         .first = 1,
                         .last = 1,
                         .lo = -RT_INF,
                         .hi = RT_INF};
    tile_rows(&t, step);
    for (idx c = 0; c < columns;) {
        const int wide = columns - c >= TILE_VECTORS * RT_VEC;
        const f32 *const wc = w + c / TILE_PANEL * w_panel + c % TILE_PANEL;
        t.lane = c % TILE_PANEL;
        if (wide)
            attention_columns(TILE_VECTORS, x, step, m, wc, y + c, RT_VEC, &t);
        else
            attention_columns(1, x, step, m, wc, y + c, columns - c, &t);
        c += wide ? TILE_VECTORS * RT_VEC : RT_VEC;
    }
}

/* The maximum of s (without NaNs), and the sum, in 16 lanes on every processor; n: a multiple of 16. */
HELPER f32 attention_top_f32(const f32 *s, idx n)
{
    f32 lane[RT_VEC], top = -RT_INF;
    vec v = vec_splat(top);
    for (idx i = 0; i < n; i += RT_VEC)
        v = vec_max(v, vec_load(s + i));
    vec_store(lane, v);
    for (int j = 0; j < RT_VEC; j++)
        top = lane[j] > top ? lane[j] : top;
    return top;
}
HELPER f64 attention_top_f64(const f64 *s, idx n)
{
    f64 top = -RT_INF_F64;
    for (idx i = 0; i < n; i++)
        top = s[i] > top ? s[i] : top;
    return top;
}
HELPER f32 attention_sum_f32(const f32 *s, idx n)
{
    enum { PARTS = ATTENTION_LANES / RT_VEC };
    f32 lane[ATTENTION_LANES];
    vec sum[PARTS];
    for (int k = 0; k < PARTS; k++)
        sum[k] = vec_splat(0);
    for (idx i = 0; i < n; i += ATTENTION_LANES)
        for (int k = 0; k < PARTS; k++)
            sum[k] += vec_load(s + i + k * RT_VEC);
    for (int k = 0; k < PARTS; k++)
        vec_store(lane + k * RT_VEC, sum[k]);
    for (int w = ATTENTION_LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++)
            lane[j] += lane[j + w];
    return lane[0];
}
HELPER f64 attention_sum_f64(const f64 *s, idx n)
{
    f64 sum = 0;
    for (idx i = 0; i < n; i++)
        sum += s[i];
    return sum;
}
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
#define ATTENTION_TILES_f32 1
#define ATTENTION_TILES_f64 0
#define OUTSIDE (-(A)RT_INF)

/* One head of one sample: pointers to its first row and key; ..._step: the strides. */
struct FN(attention_head) {
    const T *q, *k, *v, *bias, *sink;
    const b8 *mask;
    T *y, *qk;
    idx q_step, k_step, v_step, y_step, offset, keys; /* keys: upper bound of the attended keys */
};

/* The keys [lo, hi) that row i may attend by their positions. */
HELPER void FN(attention_span)(const struct FN(attention_head) *h, const struct attention *p, idx i, idx *lo, idx *hi)
{
    const idx at = h->offset + i;
    *hi = p->right >= 0 && p->right < h->keys - at - 1 ? at + p->right + 1 : h->keys;
    *hi = *hi < 0 ? 0 : *hi;
    *lo = p->left >= 0 && p->left < at ? at - p->left : 0;
    *lo = *lo > *hi ? *hi : *lo;
}

/* Replaces s by softmax(s) up to a factor, which is returned; 0 if all are -infinity. n: a multiple of 16; sink: one
 * more score, or NULL. */
HELPER A FN(attention_softmax)(A *s, idx n, const T *sink)
{
    const A most = RT_CAT(attention_top_, A)(s, n), other = sink ? LD(sink, 0) : OUTSIDE;
    const A top = other > most ? other : most, upper = top > OUTSIDE ? top : 0;
    for (idx i = 0; i < n; i++)
        s[i] = M(exp)(s[i] - upper);
    A sum = RT_CAT(attention_sum_, A)(s, n);
    if (sink)
        sum += M(exp)(other - upper);
    return sum == 0 ? 0 : 1 / sum;
}

/* y = factor * s */
HELPER void FN(attention_store)(T *y, const A *s, A factor, idx n)
{
    for (idx j = 0; j < n; j++)
        ST(y, j, factor * s[j]);
}

/* Replaces s, the scores of the keys [from, to) in row i, by probabilities up to a factor, which is returned; s has
 * room for a multiple of 16. */
HELPER A FN(attention_weigh)(A *s, idx from, idx to, idx i, const struct FN(attention_head) *h,
                             const struct attention *p)
{
    const b8 *const mask = h->mask ? h->mask + i * p->mask_row + from : 0;
    const T *const bias = h->bias ? h->bias + i * p->mask_row + from : 0;
    T *const qk = h->qk ? h->qk + i * p->keys : 0;
    const A cap = (A)p->cap;
    const idx n = to - from, wide = ATTENTION_ROUND(n);
    idx lo, hi;
    FN(attention_span)(h, p, i, &lo, &hi);
    if (qk && p->mode == 0)
        FN(attention_store)(qk, s, 1, n);
    for (idx j = 0; cap > 0 && j < n; j++)
        s[j] = cap * M(tanh)(s[j] / cap);
    if (qk && p->mode == 1)
        FN(attention_store)(qk, s, 1, n);
    for (idx j = 0; j < lo - from; j++)
        s[j] = OUTSIDE;
    for (idx j = hi - from; j < wide; j++)
        s[j] = OUTSIDE;
    for (idx j = lo - from; bias && j < hi - from; j++) {
        const A b = LD(bias, j);
        s[j] = b > OUTSIDE || b != b ? s[j] + b : OUTSIDE;
    }
    for (idx j = lo - from; mask && j < hi - from; j++)
        s[j] = mask[j] ? s[j] : OUTSIDE;
    if (qk && p->mode == 2)
        FN(attention_store)(qk, s, 1, n);
    const A factor = FN(attention_softmax)(s, wide, h->sink);
    if (qk && p->mode == 3)
        FN(attention_store)(qk, s, factor, n);
    return factor;
}

/* The keys that rows [i, end) need: all if the scores are an output, else the panels with attended keys. */
HELPER void FN(attention_range)(const struct FN(attention_head) *h, const struct attention *p, idx i, idx end,
                                idx *from, idx *to)
{
    idx none;
    *from = 0;
    *to = p->keys;
    if (h->qk)
        return;
    FN(attention_span)(h, p, i, from, &none);
    FN(attention_span)(h, p, end - 1, &none, to);
    *from = *from / TILE_PANEL * TILE_PANEL;
}

HELPER A FN(attention_dot)(const T *x, const T *y, idx n)
{
    A lane[ATTENTION_LANES];
    idx i = 0;
    for (int j = 0; j < ATTENTION_LANES; j++)
        lane[j] = 0;
    for (; i + ATTENTION_LANES <= n; i += ATTENTION_LANES)
        for (int j = 0; j < ATTENTION_LANES; j++)
            lane[j] += LD(x, i + j) * LD(y, i + j);
    for (int j = 0; i < n; i++, j++)
        lane[j] += LD(x, i) * LD(y, i);
    for (int w = ATTENTION_LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++)
            lane[j] += lane[j + w];
    return lane[0];
}

/* Computes row i. Scratch: ROUND(keys), then v_size. */
HELPER void FN(attention_one)(const struct FN(attention_head) *h, A *s, idx i, A scale, const struct attention *p)
{
    A *const sum = s + ATTENTION_ROUND(p->keys);
    idx from, to;
    FN(attention_range)(h, p, i, i + 1, &from, &to);
    for (idx j = from; j < to; j++)
        s[j - from] = scale * FN(attention_dot)(h->q + i * h->q_step, h->k + j * h->k_step, p->size);
    const A factor = FN(attention_weigh)(s, from, to, i, h, p);
    for (idx c = 0; c < p->v_size; c++)
        sum[c] = 0;
    for (idx j = from; j < to; j++)
        for (idx c = 0; c < p->v_size; c++)
            sum[c] += s[j - from] * LD(h->v + j * h->v_step, c);
    FN(attention_store)(h->y + i * h->y_step, sum, factor, p->v_size);
}

#if RT_TAKES(ATTENTION_TILES_, A)
/* The scratch for blocks of rows. */
struct FN(attention_panels) {
    f32 *k, *v, *q, *s, *y;
};

HELPER struct FN(attention_panels) FN(attention_scratch)(f32 *at, const struct attention *p)
{
    struct FN(attention_panels) w;
    w.k = at;
    w.v = w.k + ATTENTION_ROUND(p->keys) * p->size;
    w.q = w.v + ATTENTION_ROUND(p->v_size) * p->keys;
    w.s = w.q + ATTENTION_BLOCK * p->size;
    w.y = w.s + ATTENTION_BLOCK * ATTENTION_ROUND(p->keys);
    return w;
}

/* Packs keys and values into panels of 16 columns: a column is a key, or an element of the values. */
HELPER void FN(attention_pack)(const struct FN(attention_head) *h, const struct FN(attention_panels) *w,
                               const struct attention *p)
{
    f32 *to = w->k;
    for (idx j = 0; j < p->keys; j += TILE_PANEL)
        for (idx d = 0; d < p->size; d++, to += TILE_PANEL)
            for (idx c = 0; c < TILE_PANEL; c++)
                to[c] = j + c < p->keys ? LD(h->k + (j + c) * h->k_step, d) : 0;
    to = w->v;
    for (idx d = 0; d < p->v_size; d += TILE_PANEL)
        for (idx j = 0; j < p->keys; j++, to += TILE_PANEL)
            for (idx c = 0; c < TILE_PANEL; c++)
                to[c] = d + c < p->v_size ? LD(h->v + j * h->v_step, d + c) : 0;
}

/* Computes rows [i, i + m). */
HELPER void FN(attention_block)(const struct FN(attention_head) *h, const struct FN(attention_panels) *w, idx i, idx m,
                                f32 scale, const struct attention *p)
{
    const idx s_step = ATTENTION_ROUND(p->keys), y_step = ATTENTION_ROUND(p->v_size);
    f32 factor[ATTENTION_BLOCK];
    idx from, to;
    FN(attention_range)(h, p, i, i + m, &from, &to);
    for (idx r = 0; r < m; r++)
        for (idx d = 0; d < p->size; d++)
            w->q[r * p->size + d] = scale * LD(h->q + (i + r) * h->q_step, d);
    attention_product(w->q, p->size, m, w->k + from * p->size, p->size * TILE_PANEL, p->size, w->s, s_step,
                      ATTENTION_ROUND(to - from));
    for (idx r = 0; r < m; r++)
        factor[r] = FN(attention_weigh)(w->s + r * s_step, from, to, i + r, h, p);
    attention_product(w->s, s_step, m, w->v + from * TILE_PANEL, p->keys * TILE_PANEL, to - from, w->y, y_step, y_step);
    for (idx r = 0; r < m; r++)
        FN(attention_store)(h->y + (i + r) * h->y_step, w->y + r * y_step, factor[r], p->v_size);
}
#endif

/* All rows of the heads of q that share head g of k, in sample b. */
HELPER void FN(attention_group)(const struct FN(attention_head) *all, A *scratch, idx b, idx g,
                                const struct attention *p)
{
    const idx heads = p->q_heads / p->kv_heads, at_q = b * p->q_heads * p->rows, at_k = b * p->kv_heads * p->keys;
    struct FN(attention_head) h = *all;
    h.k += at_k * p->size + g * (p->packed_kv ? p->size : p->keys * p->size);
    h.v += at_k * p->v_size + g * (p->packed_kv ? p->v_size : p->keys * p->v_size);
    const A scale = p->default_scale ? 1 / M(sqrt)((A)p->size) : (A)p->scale;
#if RT_TAKES(ATTENTION_TILES_, A)
    const struct FN(attention_panels) w = FN(attention_scratch)(scratch, p);
    if (p->rows >= ATTENTION_MANY)
        FN(attention_pack)(&h, &w, p);
#endif
    for (idx k = g * heads; k < (g + 1) * heads; k++) {
        h.q = all->q + at_q * p->size + k * (p->packed_q ? p->size : p->rows * p->size);
        h.y = all->y + at_q * p->v_size + k * (p->packed_q ? p->v_size : p->rows * p->v_size);
        h.qk = all->qk ? all->qk + (at_q + k * p->rows) * p->keys : 0;
        h.sink = all->sink ? all->sink + k : 0;
        h.mask = all->mask ? all->mask + b * p->mask_batch + k * p->mask_head : 0;
        h.bias = all->bias ? all->bias + b * p->mask_batch + k * p->mask_head : 0;
#if RT_TAKES(ATTENTION_TILES_, A)
        if (p->rows >= ATTENTION_MANY) {
            for (idx i = 0; i < p->rows; i += ATTENTION_BLOCK)
                FN(attention_block)(&h, &w, i, p->rows - i < ATTENTION_BLOCK ? p->rows - i : ATTENTION_BLOCK, scale, p);
            continue;
        }
#endif
        for (idx i = 0; i < p->rows; i++)
            FN(attention_one)(&h, scratch, i, scale, p);
    }
}

KERNEL void FN(attention)(const T *q, const T *k, const T *v, const b8 *mask, const T *bias, const i64 *lens,
                          const i64 *starts, const T *sink, T *y, T *qk, A *scratch, struct attention p)
{
    struct FN(attention_head) h = {.q = q, .k = k, .v = v, .bias = bias, .sink = sink, .mask = mask, .y = y, .qk = qk};
    h.q_step = p.packed_q ? p.q_heads * p.size : p.size;
    h.y_step = p.packed_q ? p.q_heads * p.v_size : p.v_size;
    h.k_step = p.packed_kv ? p.kv_heads * p.size : p.size;
    h.v_step = p.packed_kv ? p.kv_heads * p.v_size : p.v_size;
    for (idx b = 0; b < p.batch; b++) {
        const idx known = lens ? rt_size(rt_wide_max(0, rt_wide_min(lens[b], p.keys))) : p.keys;
        h.keys = rt_min(known, p.mask_keys);
        h.offset = starts ? rt_size(rt_wide_max(0, rt_wide_min(starts[b], p.keys))) : lens ? known - p.rows : p.offset;
        for (idx g = 0; g < p.kv_heads; g++)
            FN(attention_group)(&h, scratch, b, g, &p);
    }
}
REGISTER_KERNEL(attention, 11, 8, SCRATCH)
#undef OUTSIDE
#endif
#endif
