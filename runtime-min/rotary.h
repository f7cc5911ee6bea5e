/* rotary.h - RotaryEmbedding: pairs of elements rotated by an angle that depends on the position. */
#ifndef ONNXCC_ROTARY_H
#define ONNXCC_ROTARY_H
#include "rt.h"

/* x, y: (batch, seq, heads, size), with the strides step (seq) and head_step. The first 2 * half elements of each head
 * are rotated: i with half + i, or (interleaved) 2 i with 2 i + 1. cos, sin: (rows, half); row ids[b][s], or (ids NULL)
 * one for each b and s. */
#define rotary_PARAMS(X, V)                                                                                            \
    X(idx, batch) X(idx, seq) X(idx, heads) X(idx, size) X(idx, step) X(idx, head_step) X(idx, rows) X(idx, half)      \
    X(int, interleaved)
PARAMS(rotary)
#define ROTARY_TYPE_f32 1
#define ROTARY_TYPE_f16 1
#define ROTARY_TYPE_bf16 1
#endif

#if defined T && !defined U
#if RT_TAKES(ROTARY_TYPE_, T)
KERNEL int FN(rotary)(const T *x, const T *cosines, const T *sines, const i64 *ids, T *y, struct rotary p)
{
    const idx pair = p.interleaved ? 2 : 1, other = p.interleaved ? 1 : p.half;
    for (idx b = 0; b < p.batch; b++)
        for (idx s = 0; s < p.seq; s++) {
            const i64 row = ids ? ids[b * p.seq + s] : b * p.seq + s;
            if (row < 0 || row >= p.rows)
                return RT_BAD_INDEX;
            for (idx h = 0; h < p.heads; h++) {
                const idx at = b * p.seq * p.heads * p.size + s * p.step + h * p.head_step;
                for (idx i = 0; i < p.half; i++) {
                    const A c = LD(cosines, (idx)row * p.half + i), d = LD(sines, (idx)row * p.half + i);
                    const A v = LD(x, at + i * pair), w = LD(x, at + i * pair + other);
                    ST(y, at + i * pair, c * v - d * w);
                    ST(y, at + i * pair + other, d * v + c * w);
                }
                for (idx i = 2 * p.half; i < p.size; i++)
                    ST(y, at + i, LD(x, at + i));
            }
        }
    return RT_OK;
}
REGISTER_FALLIBLE(rotary, 5, 4, 0)
#endif
#endif
