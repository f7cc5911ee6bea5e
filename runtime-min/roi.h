/* roi.h - RoiAlign, MaxRoiPool: regions of an image, reduced to a grid of bins; NonMaxSuppression: selection of
 * boxes. */
#ifndef ONNXCC_ROI_H
#define ONNXCC_ROI_H
#include "rt.h"
#include "math.h"

/* x: (batch, channels, in[0], in[1]), rois: (rois, x1 y1 x2 y2) times scale, y: (rois, channels, out[0], out[1]), of:
 * the image of each; sampling: positions along each axis of a bin, 0: the size of the bin in elements; shift: by half
 * an element. */
#define roi_align_PARAMS(X, V)                                                                                         \
    X(idx, batch)                                                                                                      \
    X(idx, channels) V(idx, in, 2) X(idx, rois) V(idx, out, 2) X(idx, sampling) X(f64, scale) X(int, shift)            \
        X(int, max)
/* rois: (rois, image x1 y1 x2 y2) */
#define max_roi_pool_PARAMS(X, V) X(idx, batch) X(idx, channels) V(idx, in, 2) X(idx, rois) V(idx, out, 2) X(f64, scale)
/* The same; y: the number of each maximum in x, from 1 on; 0: a bin without one. */
#define max_roi_place_PARAMS max_roi_pool_PARAMS
/* boxes: (batch, boxes, 4), by their corners or (center) as x y width height; scores: (batch, classes, boxes), y:
 * (found, batch class box), with room for `upper`. limit, overlap and score may be NULL: 0, 0, none. scratch: (boxes)
 * of i32. */
#define nms_PARAMS(X, V) X(idx, upper) X(idx, batch) X(idx, classes) X(idx, boxes) X(int, center)
PARAMS(roi_align)
PARAMS(max_roi_pool)
PARAMS(max_roi_place)
PARAMS(nms)

#define ROI_IS_f32 1
#define ROI_BLOCK 32     /* channels at a time */
#define ROI_PLACES 32768 /* maximum along an axis of a bin */

/* A box as x1 y1 x2 y2, x1 <= x2 and y1 <= y2. */
HELPER void nms_corners(const f32 *b, int center, f32 *c)
{
    const f32 w = b[2] / 2, h = b[3] / 2;
    c[0] = center ? b[0] - w : b[1] < b[3] ? b[1] : b[3];
    c[1] = center ? b[1] - h : b[0] < b[2] ? b[0] : b[2];
    c[2] = center ? b[0] + w : b[1] < b[3] ? b[3] : b[1];
    c[3] = center ? b[1] + h : b[0] < b[2] ? b[2] : b[0];
}

/* Sifts box v down from the free node `at` of a heap of n boxes, whose root has the highest score (the first box, if
 * equal). */
HELPER void nms_sink(const f32 *score, i32 *heap, idx n, idx at, i32 v)
{
    for (idx c; (c = 2 * at + 1) < n; at = c) {
        if (c + 1 < n &&
            (score[heap[c + 1]] > score[heap[c]] || (score[heap[c + 1]] == score[heap[c]] && heap[c + 1] < heap[c])))
            c++;
        if (score[v] > score[heap[c]] || (score[v] == score[heap[c]] && v < heap[c]))
            break;
        heap[at] = heap[c];
    }
    heap[at] = v;
}

/* Is the intersection over union of boxes a and b larger than `upper`? */
HELPER int nms_overlap(const f32 *a, const f32 *b, int center, f32 upper)
{
    f32 p[4], q[4];
    nms_corners(a, center, p);
    nms_corners(b, center, q);
    const f32 w = (p[2] < q[2] ? p[2] : q[2]) - (p[0] > q[0] ? p[0] : q[0]);
    const f32 h = (p[3] < q[3] ? p[3] : q[3]) - (p[1] > q[1] ? p[1] : q[1]);
    const f32 first = (p[2] - p[0]) * (p[3] - p[1]), second = (q[2] - q[0]) * (q[3] - q[1]), both = w * h;
    return w > 0 && h > 0 && both > 0 && first > 0 && second > 0 && first + second - both > 0 &&
           both / (first + second - both) > upper;
}
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* For a position on an axis of n elements: the two elements around it, and the weight of the second; 0: outside. */
HELPER int FN(roi_place)(A v, idx n, idx *at, A *weight)
{
    if (!(v >= -1 && v <= (A)n))
        return 0;
    v = v < 0 ? 0 : v;
    at[0] = (idx)v < n - 1 ? (idx)v : n - 1;
    at[1] = at[0] + 1 < n ? at[0] + 1 : at[0];
    *weight = at[1] == at[0] ? 0 : v - (A)at[0];
    return 1;
}

/* Sums a bin that begins at `from`, has `size` and `places` positions, along y and x, for `some` channels from x[base]
 * on. */
HELPER void FN(roi_bin)(const T *x, idx base, const A *from, const A *size, const idx *places, idx some, A *sum,
                        struct roi_align p)
{
    for (idx c = 0; c < some; c++)
        sum[c] = 0;
    for (idx i = 0; i < places[0]; i++)
        for (idx j = 0; j < places[1]; j++) {
            idx h[2] = {0, 0}, w[2] = {0, 0};
            A v = 0, u = 0;
            const int inside = FN(roi_place)(from[0] + ((A)i + (A)0.5) * size[0] / (A)places[0], p.in[0], h, &v) &
                               FN(roi_place)(from[1] + ((A)j + (A)0.5) * size[1] / (A)places[1], p.in[1], w, &u);
            for (idx c = 0; c < some; c++) {
                const idx at = base + c * p.in[0] * p.in[1];
                const A a = inside ? (1 - v) * (1 - u) * LD(x, at + h[0] * p.in[1] + w[0]) : 0;
                const A b = inside ? (1 - v) * u * LD(x, at + h[0] * p.in[1] + w[1]) : 0;
                const A d = inside ? v * (1 - u) * LD(x, at + h[1] * p.in[1] + w[0]) : 0;
                const A e = inside ? v * u * LD(x, at + h[1] * p.in[1] + w[1]) : 0;
                if (p.max) {
                    const A ab = a > b ? a : b, de = d > e ? d : e, top = ab > de ? ab : de;
                    sum[c] = (i == 0 && j == 0) || top > sum[c] ? top : sum[c];
                } else
                    sum[c] += a + b + d + e;
            }
        }
    const idx count = places[0] * places[1];
    for (idx c = 0; c < some && !p.max; c++)
        sum[c] /= (A)(count > 1 ? count : 1);
}

KERNEL int FN(roi_align)(const T *x, const T *rois, const i64 *of, T *y, struct roi_align p)
{
    A sum[ROI_BLOCK];
    for (idx r = 0; r < p.rois; r++) {
        A from[2], size[2];
        idx places[2];
        if (of[r] < 0 || of[r] >= p.batch)
            return RT_BAD_INDEX;
        for (int a = 0; a < 2; a++) {
            const A shift = p.shift ? (A)0.5 : 0;
            from[a] = LD(rois, r * 4 + 1 - a) * (A)p.scale - shift;
            size[a] = LD(rois, r * 4 + 3 - a) * (A)p.scale - shift - from[a];
            size[a] = (p.shift || size[a] > 1 ? size[a] : 1) / (A)p.out[a];
            if (!(p.sampling > 0 || size[a] <= ROI_PLACES))
                return RT_BAD_VALUE;
            places[a] = p.sampling > 0 ? p.sampling : size[a] > 0 ? (idx)M(ceil)(size[a]) : 0;
        }
        for (idx c = 0; c < p.channels; c += ROI_BLOCK)
            for (idx i = 0; i < p.out[0]; i++)
                for (idx j = 0; j < p.out[1]; j++) {
                    const idx some = p.channels - c < ROI_BLOCK ? p.channels - c : ROI_BLOCK;
                    const A at[2] = {from[0] + (A)i * size[0], from[1] + (A)j * size[1]};
                    FN(roi_bin)(x, ((idx)of[r] * p.channels + c) * p.in[0] * p.in[1], at, size, places, some, sum, p);
                    for (idx k = 0; k < some; k++)
                        ST(y, ((r * p.channels + c + k) * p.out[0] + i) * p.out[1] + j, sum[k]);
                }
    }
    return RT_OK;
}
REGISTER_FALLIBLE(roi_align, 4, 3, 0)

/* Bin i of n along an axis: the elements [range[0], range[1]) of `size`; the region has `length` from `first` on. */
HELPER void FN(roi_range)(A first, A length, idx i, idx n, idx size, idx *range)
{
    const A step = length / (A)n;
    const A from = M(floor)((A)i * step) + first, to = M(ceil)((A)(i + 1) * step) + first;
    range[0] = from > 0 ? from < (A)size ? (idx)from : size : 0;
    range[1] = to > 0 ? to < (A)size ? (idx)to : size : 0;
}

/* The first element and the length of a region along y and x; corners are rounded, half away from zero. */
HELPER void FN(roi_region)(const T *roi, f64 scale, A *first, A *length)
{
    for (int a = 0; a < 2; a++) {
        const A start = LD(roi, 2 - a) * (A)scale, end = LD(roi, 4 - a) * (A)scale;
        first[a] = M(trunc)(start + M(copysign)((A)0.5, start));
        length[a] = M(trunc)(end + M(copysign)((A)0.5, end)) - first[a] + 1;
        length[a] = length[a] > 1 ? length[a] : 1;
    }
}

/* The maximum of each bin, or, if there is no y, which element of x it is, from 1 on; 0: the bin is empty. */
HELPER int FN(max_roi)(const T *x, const T *rois, T *y, i64 *place, struct max_roi_pool p)
{
    idx to = 0;
    for (idx r = 0; r < p.rois; r++) {
        A first[2], length[2];
        const A of = LD(rois, r * 5);
        if (!(of >= 0 && of < (A)p.batch))
            return RT_BAD_INDEX;
        FN(roi_region)(rois + r * 5, p.scale, first, length);
        for (idx c = 0; c < p.channels; c++)
            for (idx i = 0; i < p.out[0]; i++)
                for (idx j = 0; j < p.out[1]; j++, to++) {
                    idx h[2], w[2], best = 0;
                    FN(roi_range)(first[0], length[0], i, p.out[0], p.in[0], h);
                    FN(roi_range)(first[1], length[1], j, p.out[1], p.in[1], w);
                    const idx base = ((idx)of * p.channels + c) * p.in[0];
                    A top = h[0] < h[1] && w[0] < w[1] ? -(A)RT_INF_F64 : 0;
                    for (idx a = h[0]; a < h[1]; a++)
                        for (idx b = w[0]; b < w[1]; b++) {
                            const A v = LD(x, (base + a) * p.in[1] + b);
                            best = v > top ? (base + a) * p.in[1] + b + 1 : best;
                            top = v > top ? v : top;
                        }
                    if (y)
                        ST(y, to, top);
                    else
                        place[to] = best;
                }
    }
    return RT_OK;
}

KERNEL int FN(max_roi_pool)(const T *x, const T *rois, T *y, struct max_roi_pool p)
{
    return FN(max_roi)(x, rois, y, NULL, p);
}
REGISTER_FALLIBLE(max_roi_pool, 3, 2, 0)

KERNEL int FN(max_roi_place)(const T *x, const T *rois, i64 *y, struct max_roi_place p)
{
    return FN(max_roi)(
        x, rois, NULL, y,
        (struct max_roi_pool){p.batch, p.channels, {p.in[0], p.in[1]}, p.rois, {p.out[0], p.out[1]}, p.scale});
}
REGISTER_FALLIBLE(max_roi_place, 3, 2, 0)
#endif

#if RT_TAKES(ROI_IS_, T)
/* Selects boxes in descending order of score, except those that overlap a selected one too much. */
KERNEL int FN(nms)(const f32 *boxes, const f32 *scores, const i64 *limit, const f32 *overlap, const f32 *score, i64 *y,
                   void *scratch, i64 *found, struct nms p)
{
    i32 *const heap = (i32 *)scratch;
    const f32 upper = overlap ? *overlap : 0;
    idx n = 0;
    for (idx b = 0; limit && b < p.batch; b++)
        for (idx c = 0; c < p.classes; c++) {
            const f32 *const s = scores + (b * p.classes + c) * p.boxes, *const box = boxes + b * p.boxes * 4;
            const idx first = n;
            idx left = 0;
            for (idx i = 0; i < p.boxes; i++)
                if (!score || s[i] > *score)
                    heap[left++] = (i32)i;
            for (idx i = left / 2; i-- > 0;)
                nms_sink(s, heap, left, i, heap[i]);
            while (left > 0 && n - first < *limit) {
                const i32 best = heap[0];
                idx k = first;
                left--;
                nms_sink(s, heap, left, 0, heap[left]);
                while (k < n && !nms_overlap(box + best * 4, box + y[k * 3 + 2] * 4, p.center, upper))
                    k++;
                if (k < n)
                    continue;
                if (n >= p.upper)
                    return RT_BAD_SIZE;
                y[n * 3] = b;
                y[n * 3 + 1] = c;
                y[n * 3 + 2] = best;
                n++;
            }
        }
    *found = n;
    return RT_OK;
}
REGISTER_FALLIBLE(nms, 8, 5, SCRATCH | SIZES(1))
#endif
#endif
