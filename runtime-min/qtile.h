/* qtile.h - the inner loop of products of matrices and convolutions in integers: as in tile.h, a tile of R rows
 * (pixels) by V vectors of columns (output channels) in registers, but k advances by pairs.
 *
 * Weights come in panels of 16 columns, as bytes: the zero points of the columns, each twice; 16 biases (i32); 16
 * scales (f32); then for each pair of k the two weights of every column. A last odd k has a zero point as its
 * partner. x is 16 bits wide, with its zero point already subtracted. */
#ifndef ONNXCC_QTILE_H
#define ONNXCC_QTILE_H
#include "dot.h"
#include "tile.h"

#define QTILE_PANEL 16
#define QTILE_PAIR (2 * QTILE_PANEL)    /* bytes of a panel for a pair of k */
#define QTILE_BIAS 32
#define QTILE_SCALE 96
#define QTILE_HEAD 160

/* The vectors in a row of a tile, and the maximal rows for v vectors. */
#if defined ONNXCC_PLAIN
#define QTILE_WIDTH 4
#define QTILE_ROWS(v) 1
#elif DOT == 1
#define QTILE_WIDTH 2
#define QTILE_ROWS(v) ((v) == 1 ? 4 : 2)
#define QTILE_FEW(X) X(1, 1) X(2, 1) X(1, 2) X(2, 2)
#define QTILE_FEW_APART(X) X(1) X(4)
#elif DOT == 2
#define QTILE_WIDTH 1
#define QTILE_ROWS(v) 3
#define QTILE_FEW(X) X(1, 1) X(3, 1)
#define QTILE_FEW_APART(X) X(1) X(3)
#elif DOT == 16 || defined __aarch64__
#define QTILE_WIDTH 2
#define QTILE_ROWS(v) ((v) == 1 ? 14 : 12)
#define QTILE_FEW(X) X(1, 1) X(12, 1) X(1, 2) X(12, 2)
#define QTILE_FEW_APART(X) X(1) X(14)
#else
#define QTILE_WIDTH 2
#define QTILE_ROWS(v) ((v) == 1 ? 8 : 5)
#define QTILE_FEW(X) X(1, 1) X(5, 1) X(1, 2) X(5, 2)
#define QTILE_FEW_APART(X) X(1) X(8)
#endif

/* The parameters of all tiles of a convolution. The sum is over planes, lines and `across` stretches of `pairs` pairs
 * of k: `right` is the stride of stretches in x, `dilation` that of lines in a ring of rows, and planes are in
 * successive rings. */
struct qtile_job {
    idx step; /* stride of pixels in x */
    idx on;   /* stride of pairs: 2, unless each column has an x of its own */
    idx planes, lines, across, right, ring, dilation, row;
    idx pairs, panel; /* panel: bytes */
    idx y_pitch;      /* bytes */
    f32 lo, hi;       /* limits of y - zero */
    i32 zero;
    int wide;  /* y is the 32-bit sums */
    int plain; /* all zero points of the weights are 0 */
};

/* Are the zero points of all columns 0? */
HELPER int qtile_plain(const i8 *w, idx panels, idx bytes)
{
    i8 any = 0;
    for (idx p = 0; p < panels; p++, w += bytes)
        for (idx c = 0; c < 2 * QTILE_PANEL; c++)
            any |= w[c];
    return any == 0;
}

/* The weights at p, minus their zero points unless `plain`. */
TILE dot_pairs qtile_weights(const i8 *p, const dot_pairs *zero, const int plain)
{
    return plain ? dot_widen(p) : dot_less(dot_widen(p), *zero);
}

/* c += x w for n pairs, those of w from pair `from` on: row r reads x[r * step]; apart: every column has an x of
 * its own; plain: see qtile_job. */
TILE void qtile_mac(dot_sums *c, const int R, const int V, const int apart, const int plain, const i16 *x, idx step,
                    idx on, const i8 *const w[4], idx from, const dot_pairs zero[4], idx n)
{
    const i16 *const x3 = R > 3 ? x + 3 * step : x, *const x6 = R > 6 ? x + 6 * step : x;
    const i16 *const x9 = R > 9 ? x + 9 * step : x, *const x12 = R > 12 ? x + 12 * step : x;
    const idx d1 = V > 1 ? w[1] - w[0] : 0, d2 = V > 2 ? w[2] - w[0] : 0, d3 = V > 3 ? w[3] - w[0] : 0;
    for (idx i = 0, l = 0; i < n; i++, l += on) {
        const i8 *const k = w[0] + (from + i) * QTILE_PAIR;
        const dot_pairs w0 = qtile_weights(k, &zero[0], plain);
        const dot_pairs w1 = V > 1 ? qtile_weights(k + d1, &zero[1], plain) : w0;
        const dot_pairs w2 = V > 2 ? qtile_weights(k + d2, &zero[2], plain) : w0;
        const dot_pairs w3 = V > 3 ? qtile_weights(k + d3, &zero[3], plain) : w0;
        const i16 *at;
        dot_pairs a;
#define QTILE_STEP(r)                                                                                                  \
    if (R > r) {                                                                                                       \
        at = (r < 3 ? x : r < 6 ? x3 : r < 9 ? x6 : r < 12 ? x9 : x12) + (l + r % 3 * step);                           \
        a = apart ? dot_load(at) : dot_spread(at);                                                                     \
        if (V == 1)                                                                                                    \
            c[r * V] = dot_add(c[r * V], a, w0);                                                                       \
        if (V > 1)                                                                                                     \
            dot_add_two(&c[r * V], &c[r * V + 1], a, w0, w1);                                                          \
        if (V > 2)                                                                                                     \
            c[r * V + 2] = dot_add(c[r * V + 2], a, w2);                                                               \
        if (V > 3)                                                                                                     \
            c[r * V + 3] = dot_add(c[r * V + 3], a, w3);                                                               \
    }
        TILE_ALL_ROWS(QTILE_STEP)
#undef QTILE_STEP
    }
}

/* c = the biases. */
TILE void qtile_start(dot_sums *c, const int R, const int V, const i8 *const head[4])
{
#define QTILE_ELEMENT(r, v)                                                                                            \
    if (R > r && V > v)                                                                                                \
        c[r * V + v] = dot_sums_at(head[v] + QTILE_BIAS);
    TILE_ALL_ELEMENTS(QTILE_ELEMENT)
#undef QTILE_ELEMENT
}

/* Stores one vector of sums, scaled or unchanged; `left` columns. */
TILE void qtile_store(dot_sums c, const i8 *head, u8 *y, idx left, const struct qtile_job *t)
{
    if (t->wide)
        dot_store_32(y, c, left);
    else
        dot_store_8(y, dot_scaled(c, dot_reals_at(head + QTILE_SCALE), t->lo, t->hi, t->zero), left);
}

#if TILE_SMALL && defined __OPTIMIZE__
/* One function for tiles of all shapes; it takes a copy of the sums, so that they can be in registers until then. */
SHARED void qtile_stores(const dot_sums *c, int R, int V, const i8 *const head[4], u8 *y, idx left,
                         const struct qtile_job *t)
{
    const idx size = t->wide ? 4 : 1;
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++)
            qtile_store(c[r * V + v], head[v], y + r * t->y_pitch + v * DOT * size, left - v * DOT, t);
}
#endif

/* Stores a tile. */
TILE void qtile_end(const dot_sums *c, const int R, const int V, const i8 *const head[4], u8 *y, idx left,
                    const struct qtile_job *t)
{
#if TILE_SMALL && defined __OPTIMIZE__
    dot_sums copy[TILE_MAX_ROWS * QTILE_WIDTH];
#define QTILE_ELEMENT(r, v)                                                                                            \
    if (R > r && V > v)                                                                                                \
        copy[r * V + v] = c[r * V + v];
    TILE_ALL_ELEMENTS(QTILE_ELEMENT)
    qtile_stores(copy, R, V, head, y, left, t);
#else
    const idx size = t->wide ? 4 : 1;
#define QTILE_ELEMENT(r, v)                                                                                            \
    if (R > r && V > v)                                                                                                \
        qtile_store(c[r * V + v], head[v], y + r * t->y_pitch + v * DOT * size, left - v * DOT, t);
    TILE_ALL_ELEMENTS(QTILE_ELEMENT)
#endif
#undef QTILE_ELEMENT
}

/* y = x w for R pixels and V vectors of columns from `column` on, of which `left` exist; x: the first pixel in slot 0
 * of the ring, whose slot `slot` has the first line. */
TILE void qtile_any(dot_sums *c, const int R, const int V, const int apart, const i16 *x, idx slot, const i8 *w,
                    idx column, u8 *y, idx left, const struct qtile_job *t)
{
    dot_pairs zero[4];
    const i8 *k[4], *head[4];
    for (int v = 0; v < V; v++) {
        const idx lane = (column + v * DOT) % QTILE_PANEL;
        const i8 *const panel = w + (column + v * DOT) / QTILE_PANEL * t->panel;
        zero[v] = dot_widen(panel + 2 * lane);
        head[v] = panel + 4 * lane;
        k[v] = panel + QTILE_HEAD + 2 * lane;
    }
    qtile_start(c, R, V, head);
    idx from = 0;
    for (idx plane = 0; plane < t->planes; plane++) {
        idx s = slot;
        for (idx line = 0; line < t->lines; line++) {
            for (idx i = 0; i < t->across; i++) {
                const i16 *const at = x + (plane * t->ring + s) * t->row + i * t->right;
                if (t->plain && !TILE_SMALL)
                    qtile_mac(c, R, V, apart, 1, at, t->step, apart ? t->on : 2, k, from, zero, t->pairs);
                else
                    qtile_mac(c, R, V, apart, 0, at, t->step, apart ? t->on : 2, k, from, zero, t->pairs);
                from += t->pairs;
            }
            s += t->dilation;
            s -= s >= t->ring ? t->ring : 0;
        }
    }
    qtile_end(c, R, V, head, y, left, t);
}

#ifdef ONNXCC_PLAIN
/* Tiles have one pixel. A tile is identified by its number of vectors; 0: one vector whose columns each have an x of
 * their own. */
#define qtile_of(R, V, apart) ((apart) ? 0 : (V))
SHARED void qtile_run(int tile, const i16 *x, idx slot, const i8 *w, idx column, u8 *y, idx left,
                      const struct qtile_job *t)
{
    dot_sums c[QTILE_WIDTH];
    qtile_any(c, 1, tile == 0 ? 1 : tile, tile == 0, x, slot, w, column, y, left, t);
}
#else
/* One function per shape, shared by all layers of a model; unused ones are removed by the C compiler. */
typedef void qtile_fn(const i16 *x, idx slot, const i8 *w, idx column, u8 *y, idx left, const struct qtile_job *t);
#define QTILE_DEFINE(R, V)                                                                                             \
    SHARED void qtile_##R##_##V(const i16 *x, idx slot, const i8 *w, idx column, u8 *y, idx left,                      \
                                const struct qtile_job *t)                                                             \
    {                                                                                                                  \
        dot_sums c[R * V];                                                                                             \
        qtile_any(c, R, V, 0, x, slot, w, column, y, left, t); \
    }
#define QTILE_DEFINE_APART(R)                                                                                          \
    SHARED void qtile_apart_##R(const i16 *x, idx slot, const i8 *w, idx column, u8 *y, idx left,                      \
                                const struct qtile_job *t)                                                             \
    {                                                                                                                  \
        dot_sums c[R]; \
        qtile_any(c, R, 1, 1, x, slot, w, column, y, left, t); \
    }
#if TILE_SMALL
#define QTILE_EACH QTILE_FEW
#define QTILE_EACH_APART QTILE_FEW_APART
#else
#define QTILE_EACH TILE_EACH
#define QTILE_EACH_APART(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#endif
QTILE_EACH(QTILE_DEFINE)
QTILE_EACH_APART(QTILE_DEFINE_APART)

/* The function for R rows and V vectors, or for columns with an x of their own; NULL: none. */
TILE qtile_fn *qtile_of(const int R, const int V, const int apart)
{
#define QTILE_CASE(rows, vectors)                                                                                      \
    if (!apart && R == rows && V == vectors)                                                                           \
        return qtile_##rows##_##vectors;
    QTILE_EACH(QTILE_CASE)
#undef QTILE_CASE
#define QTILE_CASE(rows)                                                                                               \
    if (apart && R == rows)                                                                                            \
        return qtile_apart_##rows;
    QTILE_EACH_APART(QTILE_CASE)
#undef QTILE_CASE
    return NULL;
}
#endif

/* The division of a convolution into tiles: across: vectors of channels, along: pixels of a row. tile[i][j]: i = 0 for
 * the big tiles along, 1 for the little ones; j the same across. */
struct qtile_plan {
    struct tile_cut across, along;
    TILE_REF(qtile_fn) tile[2][2];
};

/* All literals if the width and the channels are. even: all rows have this width. */
TILE struct qtile_plan qtile_plan_of(idx width, idx cout, int even, const int apart)
{
    const struct tile_cut across = tile_cut((cout + DOT - 1) / DOT, apart ? 1 : QTILE_WIDTH, 1);
    const struct tile_cut along = tile_cut(width, QTILE_ROWS(across.big), even);
    const struct qtile_plan c = {
        .across = across,
        .along = along,
        .tile = {{qtile_of(along.big, across.big, apart), qtile_of(along.big, across.little, apart)},
                 {qtile_of(along.little, across.big, apart), qtile_of(along.little, across.little, apart)}},
    };
    return c;
}

/* A row of y: `width` pixels. */
HELPER void qtile_line(TILE_REF(qtile_fn) big, TILE_REF(qtile_fn) little, const struct tile_cut *along, idx width,
                       const i16 *x, idx slot, const i8 *w, idx column, u8 *y, idx left, const struct qtile_job *t)
{
    idx i = 0;
    for (; i < along->bigs; i += along->big)
        TILE_DO(qtile_run, big, x + i * t->step, slot, w, column, y + i * t->y_pitch, left, t);
    for (; i < width; i += along->little)
        TILE_DO(qtile_run, little, x + i * t->step, slot, w, column, y + i * t->y_pitch, left, t);
}
#endif
