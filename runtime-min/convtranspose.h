/* convtranspose.h - ConvTranspose: on channels-last images with weights in panels (f32); in ONNX's layout (all floats). */
#ifndef ONNXCC_CONVTRANSPOSE_H
#define ONNXCC_CONVTRANSPOSE_H
#include "phases.h"

/* x: (n, group * cin, in[3]), w: (group * cin, cout, kernel[3]), y: (n, group * cout, out[3]). */
#define conv_transpose_plain_PARAMS(X, V) CONV_PLAIN_SIZES(X, V)
PARAMS(conv_transpose_plain)

/* w as ONNX has it -> (phases[3], group, panel, taps of the phase, cin, 16); the last panel repeats the last output. */
#define conv_transpose_pack_PARAMS(X, V)                                                                               \
    X(idx, group) X(idx, cin) X(idx, cout) V(idx, kernel, 3) V(idx, stride, 3) V(idx, dilation, 3)
PARAMS(conv_transpose_pack)

SHARED void conv_transpose_run(const f32 *x, const f32 *w, const f32 *b, f32 *y, f32 *scratch, struct conv_plan *c,
                               const struct conv_transpose *p)
{
    const idx phases = p->stride[0] * p->stride[1] * p->stride[2];
    struct conv q = CONV_OF_PHASES(p);
    conv_transpose_strides(c, p);
    for (idx phase = 0; phase < phases; phase++) {
        const idx first = conv_transpose_phase(phase, &q, p);
        q.w_panel = q.taps * p->cin * p->w_k;
        q.w_group = (p->cout + TILE_PANEL - 1) / TILE_PANEL * q.w_panel;
        if (c->along.little == 1)
            c->along.bigs = q.out[2] / c->along.big * c->along.big;
        if (q.out[0] > 0 && q.out[1] > 0 && q.out[2] > 0)
            conv_run(x, w, b, NULL, y + first, scratch, c, &q);
        w += p->group * q.w_group;
    }
}
#endif

#define CONVTRANSPOSE_VECTOR_f32 1
#if defined T && !defined U
#if RT_TAKES(CONVTRANSPOSE_VECTOR_, T)
#ifdef EPI
#define CONVTRANSPOSE_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define CONVTRANSPOSE_KERNEL HELPER
#define CONVTRANSPOSE_EPILOGUE CONVTRANSPOSE_FN(conv_transpose_epilogue)
TILE_EPILOGUE(CONVTRANSPOSE_EPILOGUE, EPI)
#else
#define CONVTRANSPOSE_FN FN
#define CONVTRANSPOSE_KERNEL KERNEL
#define CONVTRANSPOSE_EPILOGUE NULL
KERNEL void FN(conv_transpose_pack)(const f32 *restrict w, f32 *restrict y, struct conv_transpose_pack p)
{
    const idx panels = (p.cout + TILE_PANEL - 1) / TILE_PANEL, taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
    for (idx phase = 0; phase < p.stride[0] * p.stride[1] * p.stride[2]; phase++) {
        const idx at[3] = {phase / p.stride[2] / p.stride[1], phase / p.stride[2] % p.stride[1], phase % p.stride[2]};
        struct conv_phase f[3];
        for (int a = 0; a < 3; a++)
            f[a] = conv_phase(at[a], p.kernel[a], p.stride[a], p.dilation[a]);
        for (idx g = 0; g < p.group; g++)
            for (idx o = 0; o < panels * TILE_PANEL; o += TILE_PANEL)
                for (idx d = 0; d < f[0].taps; d++)
                    for (idx h = 0; h < f[1].taps; h++)
                        for (idx v = 0; v < f[2].taps; v++) {
                            const idx z = f[0].last - d * f[0].every, r = f[1].last - h * f[1].every,
                                      s = f[2].last - v * f[2].every;
                            const f32 *from = w + g * p.cin * p.cout * taps + (z * p.kernel[1] + r) * p.kernel[2] + s;
                            for (idx c = 0; c < p.cin; c++, from += p.cout * taps)
                                for (idx k = o; k < o + TILE_PANEL; k++)
                                    *y++ = from[(k < p.cout ? k : p.cout - 1) * taps];
                        }
    }
}
REGISTER_KERNEL(conv_transpose_pack, 2, 1, 0)
#endif

CONVTRANSPOSE_KERNEL void CONVTRANSPOSE_FN(conv_transpose)(const f32 *x, const f32 *w, const f32 *b, f32 *y,
                                                           f32 *scratch, struct conv_transpose p)
{
    struct conv_plan c = conv_plan(p.out[2] / p.stride[2], p.cout, p.even, TILE_POINTER(CONVTRANSPOSE_EPILOGUE));
    conv_transpose_run(x, w, b, y, scratch, &c, &p);
#if defined EPI && defined ONNXCC_PLAIN
    CONVTRANSPOSE_EPILOGUE(y, p.group * p.cout, p.n * p.out[0] * p.out[1] * p.out[2], p.group * p.cout);
#endif
}
#ifndef EPI
REGISTER_KERNEL(conv_transpose, 5, 3, SCRATCH | EPILOGUES)
#endif
#undef CONVTRANSPOSE_FN
#undef CONVTRANSPOSE_KERNEL
#undef CONVTRANSPOSE_EPILOGUE
#endif

#if RT_IS_FLOAT(T)
#ifndef EPI
KERNEL void FN(conv_transpose_plain)(const T *x, const T *w, const T *b, T *y, struct conv_transpose_plain p)
{
    const idx taps = p.kernel[0] * p.kernel[1] * p.kernel[2], plane = p.in[0] * p.in[1] * p.in[2];
    const idx pixels = p.out[0] * p.out[1] * p.out[2];
    for (idx o = 0; o < p.n * p.group * p.cout; o++) {
        const idx group = o / p.cout % p.group, from = (o / (p.group * p.cout) * p.group + group) * p.cin;
        for (idx i = 0; i < pixels; i++) {
            const idx d = i / (p.out[1] * p.out[2]) + p.pad[0], h = i / p.out[2] % p.out[1] + p.pad[1];
            const idx v = i % p.out[2] + p.pad[2];
            A sum = b ? LD(b, o % (p.group * p.cout)) : 0;
            for (idx k = 0; k < taps; k++) {
                const idx xd = d - k / (p.kernel[1] * p.kernel[2]) * p.dilation[0];
                const idx xh = h - k / p.kernel[2] % p.kernel[1] * p.dilation[1],
                          xv = v - k % p.kernel[2] * p.dilation[2];
                if (xd < 0 || xd % p.stride[0] || xd / p.stride[0] >= p.in[0] || xh < 0 || xh % p.stride[1] ||
                    xh / p.stride[1] >= p.in[1] || xv < 0 || xv % p.stride[2] || xv / p.stride[2] >= p.in[2])
                    continue;
                const idx pixel = (xd / p.stride[0] * p.in[1] + xh / p.stride[1]) * p.in[2] + xv / p.stride[2];
                for (idx c = 0; c < p.cin; c++)
                    sum += LD(x, (from + c) * plane + pixel) *
                           LD(w, ((group * p.cin + c) * p.cout + o % p.cout) * taps + k);
            }
            ST(y, o * pixels + i, sum);
        }
    }
}
REGISTER_KERNEL(conv_transpose_plain, 4, 3, 0)
#endif
#endif
#endif
