/* depthwise.h - Conv with few channels per group (mostly depthwise) on channels-last images. */
#ifndef ONNXCC_DEPTHWISE_H
#define ONNXCC_DEPTHWISE_H
#include "rt.h"
#include "channelwise.h"
#endif

#define DEPTHWISE_TYPE_f32 1
#if defined T && !defined U
#if RT_TAKES(DEPTHWISE_TYPE_, T)
#ifdef EPI
#define DEPTHWISE_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define DEPTHWISE_KERNEL HELPER
#define DEPTHWISE_EPILOGUE DEPTHWISE_FN(depthwise_epilogue)
TILE_EPILOGUE(DEPTHWISE_EPILOGUE, EPI)
#else
#define DEPTHWISE_FN FN
#define DEPTHWISE_KERNEL KERNEL
#define DEPTHWISE_EPILOGUE NULL
#endif
DEPTHWISE_KERNEL void DEPTHWISE_FN(conv_depthwise)(const f32 *x, const f32 *w, const f32 *b, f32 *y, i32 *scratch,
                                                   struct conv_depthwise p)
{
    const struct conv_depthwise passed = p; /* p itself is not passed on, so that clang -O1 propagates its literals */
    const struct depthwise_plan c = depthwise_plan(&p, TILE_POINTER(DEPTHWISE_EPILOGUE));
    depthwise_run(x, w, b, y, scratch, &c, &passed);
#if defined EPI && defined ONNXCC_PLAIN
    DEPTHWISE_EPILOGUE(y, p.y_pitch, p.n * p.out[0] * p.out[1] * p.out[2], p.channels);
#endif
}
#ifndef EPI
REGISTER_KERNEL(conv_depthwise, 5, 3, SCRATCH | EPILOGUES)
#endif
#undef DEPTHWISE_FN
#undef DEPTHWISE_KERNEL
#undef DEPTHWISE_EPILOGUE
#endif
#endif
