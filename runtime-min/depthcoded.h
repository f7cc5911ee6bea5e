/* depthcoded.h - the convolutions of depthwise.h with weights that stay as they are stored: those of some channels at
 * a time are expanded to floats; the results have the bits of convolutions with the weights expanded before. */
#ifndef ONNXCC_DEPTHCODED_H
#define ONNXCC_DEPTHCODED_H
#include "channelwise.h"
#include "codes.h"

/* As conv_depthwise, and w, scale, zero as for dense_coded (coded.h), with a k for each tap and input of a group.
 * columns: channels that are expanded at a time, a multiple of 16, and, if not all, of cout. Scratch: for each of them
 * and 16 more a float for each k; an int for each of them, unless cout and cin are 1. */
#define conv_depthwise_coded_PARAMS(X, V)                                                                              \
    DEPTHWISE_SIZES(X, V) X(f32, lo) X(f32, hi) X(idx, columns) CODED_PARAMS(X)
PARAMS(conv_depthwise_coded)

SHARED void depthcoded_run(const f32 *x, const f32 *b, f32 *y, f32 *scratch, CODED_REF expand, const struct coded *w,
                           const struct depthwise_plan *plan, const struct conv_depthwise *p, idx columns)
{
    const idx k = p->kernel[0] * p->kernel[1] * p->kernel[2] * p->cin;
    f32 *const panel = scratch + k * columns, *const index = panel + k * TILE_PANEL;
    for (idx c = 0; c < p->channels; c += columns) {
        struct conv_depthwise q = *p;
        q.channels = rt_min(columns, p->channels - c);
        for (idx i = 0; i < q.channels; i += TILE_PANEL) {
            TILE_DO(coded_expand, expand, panel, w, (c + i) / TILE_PANEL, 0, k);
            for (idx l = 0; l < k; l++)
                for (idx j = 0; j < TILE_PANEL; j += RT_VEC)
                    vec_store(scratch + l * columns + i + j, vec_load(panel + l * TILE_PANEL + j));
        }
        depthwise_run(x + c / p->cout * p->cin, scratch, b ? b + c : NULL, y + c,
                      p->cin > 1 || p->cout > 1 ? (i32 *)(void *)index : NULL, plan, &q);
    }
}
#endif

#define DEPTHCODED_TYPE_f32 1
#if defined T && !defined U
#if RT_TAKES(DEPTHCODED_TYPE_, T)
#ifdef EPI
#define DEPTHCODED_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define DEPTHCODED_KERNEL HELPER
#define DEPTHCODED_EPILOGUE DEPTHCODED_FN(depthcoded_epilogue)
TILE_EPILOGUE(DEPTHCODED_EPILOGUE, EPI)
#else
#define DEPTHCODED_FN FN
#define DEPTHCODED_KERNEL KERNEL
#define DEPTHCODED_EPILOGUE NULL
#endif
DEPTHCODED_KERNEL void DEPTHCODED_FN(conv_depthwise_coded)(const f32 *x, const void *w, const f32 *b, const void *scale,
                                                           const void *zero, f32 *y, f32 *scratch,
                                                           struct conv_depthwise_coded p)
{
    struct conv_depthwise q = {0};
    DEPTHWISE_SIZES(CODED_COPY, CODED_COPY_ARRAY)
    q.lo = p.lo;
    q.hi = p.hi;
    q.w_tap = p.cin * p.columns;
    q.w_in = p.columns;
    q.w_channel = 1;
    const struct conv_depthwise passed = q; /* q itself is not passed on, so that clang -O1 propagates its literals */
    const struct coded c = CODED_OF(p, w, scale, zero);
    const struct depthwise_plan plan = depthwise_plan(&q, TILE_POINTER(DEPTHCODED_EPILOGUE));
    depthcoded_run(x, b, y, scratch, coded_of(p.kind), &c, &plan, &passed, p.columns);
#if defined EPI && defined ONNXCC_PLAIN
    DEPTHCODED_EPILOGUE(y, p.y_pitch, p.n * p.out[0] * p.out[1] * p.out[2], p.channels);
#endif
}
#ifndef EPI
REGISTER_KERNEL(conv_depthwise_coded, 7, 5, SCRATCH | EPILOGUES)
#endif
#undef DEPTHCODED_FN
#undef DEPTHCODED_KERNEL
#undef DEPTHCODED_EPILOGUE
#endif
#endif
